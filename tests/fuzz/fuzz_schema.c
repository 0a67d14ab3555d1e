/* fuzz: a schema in the first line, an instance in the rest. Compiling ends; the passes agree on the verdict. */
#include <string.h>

#include "fuzz/fuzz.h"
#include "schema/schema.h"

enum { RUN_STEPS_MAX = 200000, INSTANCE_DEPTH_MAX = 300 };

static trilha_json_document *parsed(trilha_text text) {
  trilha_json_limits limits = {1 << 16, INSTANCE_DEPTH_MAX, 500};
  trilha_json_document *document = NULL;
  return trilha_json_parse(text, &limits, &document, NULL, NULL) == TRILHA_OK ? document : NULL;
}

static void same_with_its_key_table(const trilha_schema *schema, trilha_text text, trilha_verdict expected,
                                    trilha_schema_scratch *scratch) {
  trilha_json_reader *reader = NULL;
  const trilha_json_document *document = NULL;
  trilha_json_limits limits = {1 << 16, INSTANCE_DEPTH_MAX, 500};
  const trilha_json_keys *keys = trilha_schema_keys(schema);
  if (trilha_json_reader_new(&reader, NULL) != TRILHA_OK) return;
  CHECK(trilha_json_read(reader, text, &limits, keys, &document, NULL, NULL) == TRILHA_OK);
  CHECK(trilha_schema_validate(schema, document, keys, scratch) == expected);
  trilha_json_reader_free(reader);
}

static void passes_agree(const trilha_schema *schema, const trilha_json_document *instance, trilha_text text) {
  trilha_schema_scratch *scratch = NULL;
  trilha_violations found = {0};
  trilha_error err = {0};
  if (trilha_schema_scratch_new(&scratch, NULL) != TRILHA_OK) return;
  trilha_verdict verdict = trilha_schema_validate(schema, instance, NULL, scratch);
  CHECK(trilha_schema_validate(schema, instance, NULL, scratch) == verdict);
  if (verdict != TRILHA_VERDICT_UNDECIDED) same_with_its_key_table(schema, text, verdict, scratch);
  trilha_status status = trilha_schema_report(schema, instance, NULL, true, scratch, &found, &err);
  /* The reporting pass looks at more, so that its budget may run out where the fast pass came to an end. */
  if (status == TRILHA_OK && verdict != TRILHA_VERDICT_UNDECIDED && found.verdict != TRILHA_VERDICT_UNDECIDED) {
    CHECK(found.verdict == verdict);
    CHECK((found.total > 0) == (verdict == TRILHA_VERDICT_INVALID));
    CHECK(found.count <= found.total && found.count <= TRILHA_SCHEMA_VIOLATIONS_MAX);
    for (size_t i = 0; i < found.count; i++) {
      CHECK(found.items[i].keyword.size > 0 && found.items[i].text.size > 0);
      CHECK(trilha_utf8_valid(found.items[i].instance_pointer.data, found.items[i].instance_pointer.size));
    }
  }
  trilha_schema_scratch_free(scratch);
}

void trilha_fuzz(const char *data, size_t size) {
  const char *line = size == 0 ? NULL : memchr(data, '\n', size);
  if (line == NULL) return;
  trilha_text schema_text = {data, (size_t)(line - data)};
  trilha_text instance_text = {line + 1, size - schema_text.size - 1};
  trilha_json_document *schema_document = parsed(schema_text), *instance = parsed(instance_text);
  trilha_schema *schema = NULL;
  trilha_error err = {0};
  trilha_schema_options options = {.assert_format = true, .run_steps_max = RUN_STEPS_MAX};
  if (schema_document != NULL) {
    trilha_status status = trilha_schema_compile(schema_document, &options, &schema, &err);
    CHECK((status == TRILHA_OK) == (schema != NULL));
    if (status != TRILHA_OK) CHECK(err.status == status && err.code[0] != '\0' && err.text[0] != '\0');
  }
  trilha_json_document_free(schema_document); /* a compiled schema keeps nothing of it */
  if (schema != NULL && instance != NULL) passes_agree(schema, instance, instance_text);
  trilha_schema_free(schema);
  trilha_json_document_free(instance);
}
