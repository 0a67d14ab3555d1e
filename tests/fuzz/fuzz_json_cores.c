/* fuzz: JSON texts: the cores agree; what is read can be written, read again and is equal; pointers find what they
 * point to. */
#include <string.h>

#include "fuzz/fuzz.h"
#include "json/json_internal.h"

static trilha_json_keys *some_keys(void) {
  const trilha_text names[] = {TRILHA_TEXT("a"), TRILHA_TEXT("b"), TRILHA_TEXT("canal"), TRILHA_TEXT(""),
                               TRILHA_TEXT("a name of more than sixteen bytes")};
  trilha_json_keys *keys = NULL;
  CHECK(trilha_json_keys_new(names, sizeof names / sizeof names[0], &keys, NULL) == TRILHA_OK);
  return keys;
}

/* A document is a tree that its extents describe: every container ends where its last child ends. */
static void check_layout(const trilha_json_document *d, const trilha_json_keys *keys) {
  for (size_t i = 0; i < d->count; i++) {
    const trilha_json_value *v = &d->values[i];
    if (v->type == TRILHA_JSON_STRING) {
      CHECK(trilha_utf8_valid(v->u.text, v->size));
      size_t length = trilha_utf8_length(v->u.text, v->size);
      CHECK(trilha_json_string_length(v) == length);
      CHECK(((v->flags & TRILHA_JSON_ASCII) != 0) == (length == v->size));
      CHECK(((v->flags & TRILHA_JSON_NUL) != 0) == (memchr(v->u.text, 0, v->size) != NULL));
    }
    if (v->type < TRILHA_JSON_ARRAY) continue;
    const trilha_json_value *child = v + 1, *end = trilha_json_next(v);
    CHECK(end <= d->values + d->count);
    for (uint32_t k = 0; k < v->size; k++) {
      if (v->type == TRILHA_JSON_OBJECT) {
        CHECK(child->type == TRILHA_JSON_STRING);
        CHECK(child->key == trilha_json_keys_find(keys, child->u.text, child->size));
        child++;
      }
      child = trilha_json_next(child);
    }
    CHECK(child == end);
  }
}

static void same_document(const trilha_json_document *a, const trilha_json_document *b) {
  CHECK(a->count == b->count && a->depth == b->depth);
  for (size_t i = 0; i < a->count; i++) {
    const trilha_json_value *v = &a->values[i], *w = &b->values[i];
    CHECK(v->type == w->type && v->flags == w->flags && v->key == w->key && v->size == w->size);
    if (v->type == TRILHA_JSON_STRING || v->type == TRILHA_JSON_NUMBER)
      CHECK(v->u.text - a->text == w->u.text - b->text && (v->size == 0 || memcmp(v->u.text, w->u.text, v->size) == 0));
    else
      CHECK(v->u.extent == w->u.extent);
  }
}

void trilha_fuzz(const char *data, size_t size) {
  trilha_json_keys *keys = some_keys();
  trilha_json_reader *readers[3] = {NULL};
  const trilha_json_document *documents[3] = {NULL};
  trilha_json_fault faults[3] = {{{0}}};
  trilha_text text = {data, size};
  size_t first = TRILHA_JSON_PORTABLE;
  for (size_t i = first; i <= TRILHA_JSON_AVX2; i++) {
    CHECK(trilha_json_reader_new(&readers[i], NULL) == TRILHA_OK);
    if (!trilha_json_reader_use(readers[i], (trilha_json_isa)i)) continue;
    trilha_status status = trilha_json_read(readers[i], text, NULL, keys, &documents[i], &faults[i], NULL);
    CHECK((status == TRILHA_OK) == (documents[first] != NULL));
    CHECK((status == TRILHA_OK) == (documents[i] != NULL));
    if (status == TRILHA_OK)
      same_document(documents[first], documents[i]);
    else
      CHECK(strcmp(faults[i].code, faults[first].code) == 0 && faults[i].offset == faults[first].offset &&
            faults[i].offset <= size && faults[i].line >= 1 && faults[i].column >= 1);
  }
  if (documents[first] != NULL) check_layout(documents[first], keys);
  for (size_t i = 0; i < 3; i++) trilha_json_reader_free(readers[i]);
  trilha_json_keys_free(keys);
}
