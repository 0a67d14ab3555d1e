/* fuzz: a text that reads can be written, read again and compared; every value is found by its pointer. */
#include <string.h>

#include "fuzz/fuzz.h"
#include "json/json.h"

enum { POINTERS_MAX = 64, BYTES_MAX = 1 << 16 };

static const trilha_json_limits limits = {BYTES_MAX, 300, 500};

static void refused(const char *data, size_t size, const trilha_json_fault *fault, const trilha_error *err) {
  CHECK(err->status == TRILHA_INVALID || err->status == TRILHA_LIMIT || err->status == TRILHA_NO_MEMORY);
  CHECK(err->code[0] != '\0' && err->text[0] != '\0');
  if (err->status == TRILHA_NO_MEMORY) return;
  CHECK(strcmp(fault->code, err->code) == 0 && fault->offset <= size);
  CHECK(fault->line >= 1 && fault->column >= 1);
  uint32_t lines = 1;
  for (size_t i = 0; i < fault->offset; i++) lines += data[i] == '\n';
  CHECK(lines == fault->line);
}

static void find_by_pointer(const trilha_json_document *document) {
  trilha_buffer pointer = {0};
  for (size_t i = 0; i < document->count && i < POINTERS_MAX; i++) {
    trilha_buffer_clear(&pointer);
    trilha_json_pointer_to(document->values, &document->values[i], &pointer);
    const trilha_json_value *found = trilha_json_pointer_find(document->values, trilha_buffer_text(&pointer));
    /* A name has the pointer of its value, which stands right behind it. */
    CHECK(found == &document->values[i] || found == &document->values[i] + 1);
  }
  trilha_buffer_done(&pointer);
}

static trilha_json_document *read_again(const trilha_buffer *written) {
  /* Minimal escapes never make a text longer than twice what was written before; the bound only has to be there. */
  trilha_json_limits wide = {(size_t)16 << 20, limits.depth_max, limits.number_size_max};
  trilha_json_document *document = NULL;
  trilha_error err = {0};
  CHECK(trilha_json_parse(trilha_buffer_text(written), &wide, &document, NULL, &err) == TRILHA_OK);
  return document;
}

static void written_text_is_stable(const trilha_json_document *document) {
  trilha_buffer first = {0}, second = {0};
  trilha_json_write(&first, document->values);
  CHECK(first.failed == TRILHA_OK && trilha_utf8_valid(first.data, first.size));
  trilha_json_document *again = read_again(&first);
  CHECK(again->count == document->count && again->depth == document->depth);
  CHECK(trilha_json_equal(document->values, again->values));
  CHECK(trilha_json_hash_seeded(document->values, 7) == trilha_json_hash_seeded(again->values, 7));
  trilha_json_write(&second, again->values);
  CHECK(trilha_text_equal(trilha_buffer_text(&first), trilha_buffer_text(&second)));
  trilha_json_document_free(again);
  trilha_buffer_done(&second);
  trilha_buffer_done(&first);
}

static void canonical_text_is_one(const trilha_json_document *document) {
  trilha_buffer first = {0}, second = {0};
  trilha_error err = {0};
  if (trilha_json_write_canonical(&first, document->values, &err) == TRILHA_OK) {
    trilha_json_document *again = read_again(&first);
    CHECK(trilha_json_equal(document->values, again->values));
    CHECK(trilha_json_write_canonical(&second, again->values, &err) == TRILHA_OK);
    CHECK(trilha_text_equal(trilha_buffer_text(&first), trilha_buffer_text(&second)));
    trilha_json_document_free(again);
  } else {
    CHECK(err.code[0] != '\0');
  }
  trilha_buffer_done(&second);
  trilha_buffer_done(&first);
}

void trilha_fuzz(const char *data, size_t size) {
  trilha_json_document *document = NULL;
  trilha_json_fault fault = {0};
  trilha_error err = {0};
  trilha_text text = {data, size};
  if (trilha_json_parse(text, &limits, &document, &fault, &err) != TRILHA_OK) {
    CHECK(document == NULL);
    refused(data, size, &fault, &err);
    return;
  }
  CHECK(err.status == TRILHA_OK && document->count >= 1);
  written_text_is_stable(document);
  if (trilha_json_check_storable(document, text, &fault, &err) == TRILHA_OK) {
    find_by_pointer(document);
    canonical_text_is_one(document);
  } else {
    refused(data, size, &fault, &err);
  }
  trilha_json_document_free(document);
}
