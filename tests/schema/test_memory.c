/* schema: the Nth allocation fails, for every N until all succeed: compiling and every pass say so, and nothing is lost
 * or kept. */
#include <malloc.h>

#include "schema_test.h"

/* The linker sends this program's allocations here (--wrap). */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *p, size_t size);
void __real_free(void *p);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *p, size_t size);
void __wrap_free(void *p);

static struct {
  long left; /* allocations that still succeed; -1: all */
  long blocks;
  bool failed;
} heap = {.left = -1};

static bool fails(void) {
  if (heap.left < 0) return false;
  if (heap.left > 0) {
    heap.left--;
    return false;
  }
  heap.failed = true;
  return true;
}

void *__wrap_malloc(size_t size) {
  if (fails()) return NULL;
  heap.blocks++;
  return __real_malloc(size);
}
void *__wrap_calloc(size_t count, size_t size) {
  if (fails()) return NULL;
  heap.blocks++;
  return __real_calloc(count, size);
}
void *__wrap_realloc(void *p, size_t size) {
  if (fails()) return NULL;
  heap.blocks += p == NULL;
  return __real_realloc(p, size);
}
void __wrap_free(void *p) {
  heap.blocks -= p != NULL;
  __real_free(p);
}

static const char busy_schema[] =
    "{\"$id\":\"https://example.org/busy\",\"$defs\":{\"n\":{\"$anchor\":\"n\",\"minimum\":1},\"m\":{\"$ref\":"
    "\"https://json-schema.org/draft/2020-12/meta/validation#/$defs/"
    "stringArray\"}},\"properties\":{\"a\":{\"items\":{\"$ref\":\"#n\"},"
    "\"uniqueItems\":true},\"b\":{\"pattern\":\"^(a|b)+\\\\1?x$\",\"x\":1},\"c\":{\"$ref\":\"#/$defs/"
    "m\"}},\"patternProperties\":{\"^z[0-9]\":"
    "{\"x\":2}},\"anyOf\":[{\"required\":[\"a\"]},{\"properties\":{\"q\":{\"enum\":[1,\"s\",[2]]}}}],"
    "\"unevaluatedProperties\":false}";
static const char busy_instance[] =
    "{\"a\":[1,2,3,4,5,6,7,8,9,10,11,12],\"b\":\"abx\",\"c\":[\"s\"],\"z1\":0,\"q\":[2]}";
static const char wrong_instance[] = "{\"a\":[0,1,1],\"b\":\"y\",\"c\":[1],\"z\":{\"k\":0},\"q\":3}";

/* Whatever cannot be had, the verdict is never wrong. */
static trilha_status count_rules(void *user, const trilha_annotation *annotation) {
  *(int *)user += annotation->rule != NULL;
  return TRILHA_OK;
}

static void run_passes(const trilha_schema *schema, const trilha_json_document *document, trilha_verdict expected) {
  trilha_schema_scratch *scratch = NULL;
  trilha_error error = {0};
  if (trilha_schema_scratch_new(&scratch, &error) != TRILHA_OK) {
    assert_int_equal(error.status, TRILHA_NO_MEMORY);
    return;
  }
  trilha_verdict verdict = trilha_schema_validate(schema, document, NULL, scratch);
  assert_true(verdict == expected || (verdict == TRILHA_VERDICT_UNDECIDED && heap.failed));
  trilha_violations violations = {0};
  trilha_status status = trilha_schema_report(schema, document, NULL, true, scratch, &violations, &error);
  assert_true(status == TRILHA_NO_MEMORY
                  ? heap.failed
                  : violations.verdict == expected || violations.verdict == TRILHA_VERDICT_UNDECIDED);
  int rules = 0;
  status = trilha_schema_annotate(schema, document, NULL, scratch, count_rules, &rules, NULL);
  trilha_status right = expected == TRILHA_VERDICT_VALID ? TRILHA_OK : TRILHA_INVALID;
  assert_true(status == right || (heap.failed && (status == TRILHA_NO_MEMORY || status == TRILHA_LIMIT)));
  if (status == TRILHA_OK) assert_int_equal(rules, 2);
  trilha_schema_scratch_free(scratch);
}

static void compiling_survives_every_failing_allocation(void **state) {
  (void)state;
  trilha_json_document *document = test_parse(trilha_text_of(busy_schema));
  trilha_schema_options options = {.check_metaschema = true, .annotation = TRILHA_TEXT("x")};
  bool compiled = false;
  long before = heap.blocks, n = 0;
  for (; !compiled && n < 20000; n++) {
    trilha_schema *schema = NULL;
    trilha_error error = {0};
    heap.left = n;
    heap.failed = false;
    trilha_status status = trilha_schema_compile(document, &options, &schema, &error);
    heap.left = -1;
    compiled = status == TRILHA_OK;
    if (!compiled && (status != TRILHA_NO_MEMORY || !heap.failed))
      fail_msg("allocation %ld: %s %s", n, error.code, error.text);
    trilha_schema_free(schema);
    if (heap.blocks != before) fail_msg("allocation %ld: %ld blocks are left", n, heap.blocks - before);
  }
  assert_true(compiled);
  print_message("# %ld allocations failed, one after the other\n", n - 1);
  trilha_json_document_free(document);
}

static void every_pass_survives_every_failing_allocation(void **state) {
  (void)state;
  trilha_error error = {0};
  trilha_schema_options options = {.annotation = TRILHA_TEXT("x")};
  trilha_schema *schema = test_compile(busy_schema, &options, &error);
  if (schema == NULL) fail_msg("%s", error.text);
  trilha_json_document *valid = test_parse(trilha_text_of(busy_instance)),
                       *wrong = test_parse(trilha_text_of(wrong_instance));
  long before = heap.blocks;
  heap.failed = true;
  for (long n = 0; heap.failed && n < 20000; n++) {
    heap.left = n;
    heap.failed = false;
    run_passes(schema, valid, TRILHA_VERDICT_VALID);
    run_passes(schema, wrong, TRILHA_VERDICT_INVALID);
    heap.left = -1;
    assert_int_equal(heap.blocks, before);
  }
  assert_false(heap.failed);
  trilha_json_document_free(valid);
  trilha_json_document_free(wrong);
  trilha_schema_free(schema);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(compiling_survives_every_failing_allocation),
      cmocka_unit_test(every_pass_survives_every_failing_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
