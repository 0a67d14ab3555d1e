/* schema: the reference evaluator holds what the official suite says, and the engine says what the reference says. */
#include "reference.h"
#include "sketch.h"
#include "suite.h"

/* The same table as the engine's: a $ref to a draft 2019-09 schema. */
static const suite_exception not_passed[] = {
    {"optional/cross-draft.json", "refs to historic drafts are processed as historic drafts", NULL},
    {NULL, NULL, NULL}};

/* --- the reference against the official suite ----------------------------------------------------------------------
 */

typedef struct asked {
  const trilha_json_document *schema;
  reference_options options;
} asked;

static void begin(void *user, const trilha_json_document *schema, suite_remotes *remotes, bool assert_format) {
  asked *a = user;
  *a = (asked){schema, {.assert_format = assert_format, .resolve = suite_find_remote, .resolve_user = remotes}};
}

static trilha_verdict verdict(void *user, trilha_text instance) {
  asked *a = user;
  trilha_json_document *document = test_parse(instance);
  trilha_verdict said = reference_verdict(a->schema, document, &a->options);
  trilha_json_document_free(document);
  return said;
}

static void run_folder(const char *folder, int tests) {
  asked a = {0};
  suite_judge by = {begin, verdict, NULL, &a};
  suite_count count = suite_run(folder, &by, not_passed);
  assert_false(count.surprised);
  assert_int_equal(count.tests, tests);
  assert_int_equal(count.passed, count.tests - count.listed);
}

static void the_reference_passes_every_required_test(void **state) {
  (void)state;
  run_folder("", 1299);
}

static void the_reference_passes_the_optional_tests(void **state) {
  (void)state;
  run_folder("optional", 162);
}

static void the_reference_passes_the_format_tests(void **state) {
  (void)state;
  run_folder("optional/format", 764);
}

/* --- the engine against the reference --------------------------------------------------------------------------------
 */

enum { SKETCH_BYTES = 96, SKETCHES = 4000 };

typedef struct tally {
  int refused, undecided, valid, invalid;
} tally;

static uint64_t next(uint64_t *state) { /* splitmix64 */
  uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
  z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
  return z ^ z >> 31;
}

static trilha_status ignored(void *user, const trilha_annotation *annotation) {
  (void)user, (void)annotation;
  return TRILHA_OK;
}

static bool contradict(trilha_verdict a, trilha_verdict b) {
  return a != b && a != TRILHA_VERDICT_UNDECIDED && b != TRILHA_VERDICT_UNDECIDED;
}

/* The three passes spend their budgets differently, so that one may decide where another cannot. */
static void compare_passes(judge *j, const trilha_schema *schema, const trilha_json_document *instance,
                           trilha_verdict said[3]) {
  trilha_violations violations = {0};
  said[0] = trilha_schema_validate(schema, instance, NULL, j->scratch);
  assert_int_equal(trilha_schema_report(schema, instance, NULL, true, j->scratch, &violations, NULL), TRILHA_OK);
  said[1] = violations.verdict;
  trilha_status status = trilha_schema_annotate(schema, instance, NULL, j->scratch, ignored, NULL, NULL);
  said[2] = status == TRILHA_OK        ? TRILHA_VERDICT_VALID
            : status == TRILHA_INVALID ? TRILHA_VERDICT_INVALID
                                       : TRILHA_VERDICT_UNDECIDED;
}

static void compare(judge *j, const char *schema_text, trilha_text instance_text, tally *t) {
  trilha_error error = {0};
  trilha_schema_options options = {.assert_format = true, .check_metaschema = true};
  trilha_schema *schema = test_compile(schema_text, &options, &error);
  if (schema == NULL) {
    t->refused++;
    return;
  }
  trilha_json_document *document = test_parse(trilha_text_of(schema_text)), *instance = test_parse(instance_text);
  trilha_verdict reference = reference_verdict(document, instance, &(reference_options){.assert_format = true}),
                 said[3];
  compare_passes(j, schema, instance, said);
  for (int i = 0; i < 3; i++) {
    if (contradict(said[i], reference))
      fail_msg("pass %d says %d, the reference %d\n%s\n%.*s", i, said[i], reference, schema_text,
               (int)instance_text.size, instance_text.data);
  }
  bool undecided = said[0] == TRILHA_VERDICT_UNDECIDED || reference == TRILHA_VERDICT_UNDECIDED;
  t->undecided += undecided;
  t->valid += !undecided && reference == TRILHA_VERDICT_VALID;
  t->invalid += !undecided && reference == TRILHA_VERDICT_INVALID;
  trilha_json_document_free(instance);
  trilha_json_document_free(document);
  trilha_schema_free(schema);
}

static void draw_sketch(uint64_t *seed, trilha_buffer *schema, trilha_buffer *instance) {
  unsigned char bytes[SKETCH_BYTES];
  for (size_t at = 0; at < sizeof bytes; at++) bytes[at] = (unsigned char)next(seed);
  trilha_buffer_clear(schema);
  trilha_buffer_clear(instance);
  sketch(bytes, sizeof bytes, schema, instance);
}

static trilha_verdict reference_on(const char *schema, const char *instance) {
  trilha_json_document *document = test_parse(trilha_text_of(schema)), *value = test_parse(trilha_text_of(instance));
  trilha_verdict said = reference_verdict(document, value, &(reference_options){.assert_format = true});
  trilha_json_document_free(value);
  trilha_json_document_free(document);
  return said;
}

/* Makes every occurrence of the keyword one that nobody knows; false when there is none. */
static bool blind(char *schema, const char *keyword) {
  char wanted[64];
  int size = snprintf(wanted, sizeof wanted, "\"%s\":", keyword);
  bool found = false;
  for (char *at = strstr(schema, wanted); at != NULL; at = strstr(at + size, wanted)) {
    at[size - 3] = '_';
    found = true;
  }
  return found;
}

/* The control: an engine that did not know one of the keywords would be caught. */
static void every_keyword_decides_some_sketch(void **state) {
  (void)state;
  uint64_t seed = 1;
  int decided[64] = {0};
  TRILHA_BUFFER_SCOPED schema = {0};
  TRILHA_BUFFER_SCOPED instance = {0};
  for (int i = 0; i < SKETCHES; i++) {
    draw_sketch(&seed, &schema, &instance);
    trilha_verdict whole = reference_on(schema.data, instance.data);
    for (unsigned k = 0; sketch_keyword(k) != NULL; k++) {
      char *changed = strdup(schema.data);
      if (blind(changed, sketch_keyword(k)) && contradict(whole, reference_on(changed, instance.data))) decided[k]++;
      free(changed);
    }
  }
  for (unsigned k = 0; sketch_keyword(k) != NULL; k++) {
    if (decided[k] == 0) fail_msg("no sketch depends on %s", sketch_keyword(k));
  }
}

static void the_engine_says_what_the_reference_says(void **state) {
  (void)state;
  const char *given = getenv("TRILHA_TEST_SEED"), *times = getenv("TRILHA_TEST_SKETCHES");
  uint64_t seed = given == NULL ? 1 : strtoull(given, NULL, 10);
  long wanted = times == NULL ? SKETCHES : strtol(times, NULL, 10);
  tally t = {0};
  judge j;
  judge_init(&j);
  TRILHA_BUFFER_SCOPED schema = {0};
  TRILHA_BUFFER_SCOPED instance = {0};
  for (long i = 0; i < wanted; i++) {
    draw_sketch(&seed, &schema, &instance);
    compare(&j, schema.data, trilha_buffer_text(&instance), &t);
  }
  judge_done(&j);
  print_message("# %d valid, %d invalid, %d undecided, %d refused\n", t.valid, t.invalid, t.undecided, t.refused);
  /* Draws that say nothing would prove nothing. */
  assert_true(t.valid > wanted / 20 && t.invalid > wanted / 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_reference_passes_every_required_test),
      cmocka_unit_test(the_reference_passes_the_optional_tests),
      cmocka_unit_test(the_reference_passes_the_format_tests),
      cmocka_unit_test(every_keyword_decides_some_sketch),
      cmocka_unit_test(the_engine_says_what_the_reference_says),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
