/* fuzz: a schema and an instance drawn from the input (tests/schema/sketch.c): the passes of the engine never
 * contradict the reference evaluator. */
#include "fuzz/fuzz.h"
#include "schema/reference.h"
#include "schema/sketch.h"

enum { STEPS_MAX = 200000 };

static trilha_json_document *parse(const trilha_buffer *text) {
  trilha_json_limits limits = {1 << 20, 300, 400};
  trilha_json_document *document = NULL;
  CHECK(trilha_json_parse(trilha_buffer_text(text), &limits, &document, NULL, NULL) == TRILHA_OK);
  return document;
}

static void agree(const char *pass, trilha_verdict said, trilha_verdict reference) {
  if (said == reference || said == TRILHA_VERDICT_UNDECIDED || reference == TRILHA_VERDICT_UNDECIDED) return;
  fprintf(stderr, "%s says %d, the reference %d\n", pass, said, reference);
  CHECK(said == reference);
}

static trilha_status ignored(void *user, const trilha_annotation *annotation) {
  (void)user, (void)annotation;
  return TRILHA_OK;
}

static void judge(const trilha_schema *schema, const trilha_json_document *instance, trilha_verdict reference) {
  trilha_schema_scratch *scratch = NULL;
  trilha_violations violations = {0};
  CHECK(trilha_schema_scratch_new(&scratch, NULL) == TRILHA_OK);
  agree("validate", trilha_schema_validate(schema, instance, NULL, scratch), reference);
  CHECK(trilha_schema_report(schema, instance, NULL, true, scratch, &violations, NULL) == TRILHA_OK);
  agree("report", violations.verdict, reference);
  trilha_status status = trilha_schema_annotate(schema, instance, NULL, scratch, ignored, NULL, NULL);
  agree("annotate",
        status == TRILHA_OK        ? TRILHA_VERDICT_VALID
        : status == TRILHA_INVALID ? TRILHA_VERDICT_INVALID
                                   : TRILHA_VERDICT_UNDECIDED,
        reference);
  trilha_schema_scratch_free(scratch);
}

void trilha_fuzz(const char *data, size_t size) {
  trilha_buffer schema_text = {0}, instance_text = {0};
  sketch((const unsigned char *)data, size, &schema_text, &instance_text);
  trilha_json_document *document = parse(&schema_text), *instance = parse(&instance_text);
  trilha_schema *schema = NULL;
  trilha_schema_options options = {.assert_format = true, .run_steps_max = STEPS_MAX, .annotation = TRILHA_TEXT("x")};
  if (trilha_schema_compile(document, &options, &schema, NULL) == TRILHA_OK)
    judge(schema, instance, reference_verdict(document, instance, &(reference_options){.assert_format = true}));
  trilha_schema_free(schema);
  trilha_json_document_free(instance);
  trilha_json_document_free(document);
  trilha_buffer_done(&instance_text);
  trilha_buffer_done(&schema_text);
}
