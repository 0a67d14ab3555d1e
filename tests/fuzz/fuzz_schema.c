/* fuzz: a schema, a line feed, and a document. Whatever they are, the passes end within their limits and agree, and the
 * keys that a document was read with never change a verdict. Where both are texts that a store would keep, the
 * reference evaluator says the same. */
#include <string.h>

#include "fuzz/fuzz.h"
#include "schema/reference.h"

enum { STEPS_MAX = 200000 };

static trilha_json_document *parse(const char *data, size_t size) {
  trilha_json_limits limits = {1 << 20, 300, 400};
  trilha_json_document *document = NULL;
  if (trilha_json_parse((trilha_text){data, size}, &limits, &document, NULL, NULL) != TRILHA_OK) return NULL;
  return document;
}

/* Budgets are spent differently by the passes, so that one may decide where another cannot; they may not contradict. */
static void check_agreement(trilha_verdict a, trilha_verdict b) {
  CHECK(a == b || a == TRILHA_VERDICT_UNDECIDED || b == TRILHA_VERDICT_UNDECIDED);
}

static trilha_status inside_the_document(void *user, const trilha_annotation *annotation) {
  const trilha_json_document *document = user;
  CHECK(annotation->instance >= document->values && annotation->instance < document->values + document->count);
  return TRILHA_OK;
}

static void check_report(const trilha_schema *schema, const trilha_json_document *document, trilha_verdict verdict,
                         trilha_schema_scratch *scratch) {
  trilha_violations violations = {0};
  CHECK(trilha_schema_report(schema, document, NULL, true, scratch, &violations, NULL) == TRILHA_OK);
  check_agreement(verdict, violations.verdict);
  CHECK(violations.count <= violations.total && violations.count <= TRILHA_SCHEMA_VIOLATIONS_MAX);
  CHECK(violations.verdict != TRILHA_VERDICT_VALID || violations.total == 0);
  CHECK(violations.verdict != TRILHA_VERDICT_INVALID || violations.total > 0);
  for (size_t i = 0; i < violations.count; i++) {
    const trilha_violation *v = &violations.items[i];
    CHECK(v->keyword.size > 0 && v->text.size > 0 && v->schema_location.size > 0);
    CHECK(trilha_utf8_valid(v->text.data, v->text.size));
    CHECK(v->instance_pointer.size == 0 || v->instance_pointer.data[0] == '/');
  }
}

static void judge(const trilha_schema *schema, const trilha_json_document *document, trilha_text text,
                  trilha_verdict reference) {
  trilha_schema_scratch *scratch = NULL;
  trilha_json_reader *reader = NULL;
  CHECK(trilha_schema_scratch_new(&scratch, NULL) == TRILHA_OK);
  CHECK(trilha_json_reader_new(&reader, NULL) == TRILHA_OK);
  trilha_verdict verdict = trilha_schema_validate(schema, document, NULL, scratch);
  const trilha_json_keys *keys = trilha_schema_keys(schema);
  const trilha_json_document *read = NULL;
  trilha_json_limits limits = TRILHA_JSON_LIMITS;
  CHECK(trilha_json_read(reader, text, &limits, keys, &read, NULL, NULL) == TRILHA_OK);
  CHECK(trilha_schema_validate(schema, read, keys, scratch) == verdict);
  check_report(schema, document, verdict, scratch);
  check_agreement(verdict, reference);
  trilha_status status =
      trilha_schema_annotate(schema, document, NULL, scratch, inside_the_document, (void *)(uintptr_t)document, NULL);
  CHECK(status == TRILHA_OK || status == TRILHA_INVALID || status == TRILHA_LIMIT);
  check_agreement(verdict, status == TRILHA_OK        ? TRILHA_VERDICT_VALID
                           : status == TRILHA_INVALID ? TRILHA_VERDICT_INVALID
                                                      : TRILHA_VERDICT_UNDECIDED);
  trilha_json_reader_free(reader);
  trilha_schema_scratch_free(scratch);
}

/* Names that come twice are judged, but which of the two a keyword means is nobody's promise. */
static trilha_verdict by_reference(const trilha_json_document *schema, trilha_text schema_text,
                                   const trilha_json_document *instance, trilha_text instance_text) {
  if (trilha_json_check_storable(schema, schema_text, NULL, NULL) != TRILHA_OK ||
      trilha_json_check_storable(instance, instance_text, NULL, NULL) != TRILHA_OK)
    return TRILHA_VERDICT_UNDECIDED;
  return reference_verdict(schema, instance, &(reference_options){.assert_format = true});
}

void trilha_fuzz(const char *data, size_t size) {
  const char *line = size == 0 ? NULL : memchr(data, '\n', size);
  if (line == NULL) return;
  trilha_text instance = {line + 1, size - (size_t)(line + 1 - data)};
  trilha_json_document *schema_document = parse(data, (size_t)(line - data));
  trilha_json_document *document = parse(instance.data, instance.size);
  trilha_schema *schema = NULL;
  trilha_verdict reference = TRILHA_VERDICT_UNDECIDED;
  trilha_schema_options options = {.assert_format = true, .run_steps_max = STEPS_MAX, .annotation = TRILHA_TEXT("x")};
  if (schema_document != NULL && document != NULL) {
    trilha_error error = {0};
    trilha_status status = trilha_schema_compile(schema_document, &options, &schema, &error);
    CHECK((status == TRILHA_OK) == (schema != NULL));
    if (status == TRILHA_OK)
      reference = by_reference(schema_document, (trilha_text){data, (size_t)(line - data)}, document, instance);
    CHECK(status == TRILHA_OK || (error.status == status && error.code[0] != '\0' && error.text[0] != '\0'));
  }
  trilha_json_document_free(schema_document);
  if (schema != NULL) judge(schema, document, instance, reference);
  trilha_schema_free(schema);
  trilha_json_document_free(document);
}
