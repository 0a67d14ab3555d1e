/* schema: the pitfalls of public reports and the nine benchmark sets, every verdict. Skipped when ../shared is absent.
 */
#include "schema_test.h"

static const char *conformance_or_skip(void) {
  if (test_conformance() == NULL) {
    print_message("# skipped: ../shared/conformance is absent\n");
    skip();
  }
  return test_conformance();
}

static trilha_schema *compile_text(trilha_text text, bool assert_format) {
  trilha_json_document *document = test_parse(text);
  trilha_schema_options options = {.assert_format = assert_format, .check_metaschema = true};
  trilha_schema *schema = NULL;
  trilha_error error = {0};
  if (trilha_schema_compile(document, &options, &schema, &error) != TRILHA_OK)
    fail_msg("%s %s", error.code, error.text);
  trilha_json_document_free(document);
  return schema;
}

static void every_pitfall_is_judged_rightly(void **state) {
  (void)state;
  char path[1200];
  test_path(path, sizeof(path), "%s/pitfalls.json", conformance_or_skip());
  trilha_text text = test_file(path);
  trilha_json_document *document = test_parse(text);
  judge j;
  judge_init(&j);
  const trilha_json_value *entry = document->values + 1;
  int wrong = 0;
  for (uint32_t i = 0; i < document->values->size; i++, entry = trilha_json_next(entry)) {
    TRILHA_BUFFER_SCOPED schema_text = {0}, instance = {0};
    trilha_json_write(&schema_text, trilha_json_member(entry, "schema"));
    trilha_json_write(&instance, trilha_json_member(entry, "instance"));
    trilha_schema *schema = compile_text(trilha_buffer_text(&schema_text), false);
    bool valid = trilha_json_member(entry, "valid")->type == TRILHA_JSON_TRUE;
    trilha_verdict verdict = judge_text(&j, schema, trilha_buffer_text(&instance));
    if (verdict != (valid ? TRILHA_VERDICT_VALID : TRILHA_VERDICT_INVALID)) {
      trilha_text description = trilha_json_member_string(entry, "description");
      print_message("# wrong: %.*s\n", (int)description.size, description.data);
      wrong++;
    }
    trilha_schema_free(schema);
  }
  assert_int_equal(document->values->size, 10);
  assert_int_equal(wrong, 0);
  judge_done(&j);
  trilha_json_document_free(document);
  free((char *)(uintptr_t)text.data);
}

/* --- benchmark sets --------------------------------------------------------------------------------------------------
 */

typedef struct set {
  char folder[1200];
  trilha_schema *annotated, *asserted; /* format as an annotation, format asserted */
  judge judge;
  int judged, wrong;
} set;

typedef void each_line(set *s, trilha_text line, size_t number);

static void for_each_line(set *s, const char *file, each_line *each) {
  char path[1300];
  test_path(path, sizeof(path), "%s/%s", s->folder, file);
  trilha_text text = test_file(path);
  assert_non_null(text.data);
  size_t start = 0, number = 0;
  while (start < text.size) {
    const char *end = memchr(text.data + start, '\n', text.size - start);
    size_t size = end == NULL ? text.size - start : (size_t)(end - text.data) - start;
    if (size > 0) each(s, (trilha_text){text.data + start, size}, ++number);
    start += size + 1;
  }
  free((char *)(uintptr_t)text.data);
}

static void expect(set *s, const trilha_schema *schema, trilha_text instance, bool valid, size_t number) {
  s->judged++;
  if (judge_text(&s->judge, schema, instance) == (valid ? TRILHA_VERDICT_VALID : TRILHA_VERDICT_INVALID)) return;
  s->wrong++;
  print_message("# wrong: %s, line %zu should be %s\n", s->folder, number, valid ? "valid" : "invalid");
}

static void expect_valid(set *s, trilha_text line, size_t number) {
  expect(s, s->annotated, line, true, number);
  expect(s, s->asserted, line, true, number);
}

static void expect_mutant(set *s, trilha_text line, size_t number) {
  trilha_json_document *document = test_parse(line);
  TRILHA_BUFFER_SCOPED instance = {0};
  trilha_json_write(&instance, trilha_json_member(document->values, "instance"));
  bool valid = trilha_json_member(document->values, "valid")->type == TRILHA_JSON_TRUE;
  expect(s, s->annotated, trilha_buffer_text(&instance), valid, number);
  trilha_json_document_free(document);
}

static void expect_invalid(set *s, trilha_text line, size_t number) {
  expect(s, s->annotated, line, false, number);
  expect(s, s->asserted, line, false, number);
}

static void expect_invalid_format(set *s, trilha_text line, size_t number) {
  expect(s, s->annotated, line, true, number);
  expect(s, s->asserted, line, false, number);
}

static void judge_set(const char *name, bool has_invalid) {
  set s = {.judged = 0};
  char path[1300];
  test_path(s.folder, sizeof(s.folder), "%s/benchmark/%s", conformance_or_skip(), name);
  test_path(path, sizeof(path), "%s/schema.json", s.folder);
  trilha_text text = test_file(path);
  s.annotated = compile_text(text, false);
  s.asserted = compile_text(text, true);
  judge_init(&s.judge);
  for_each_line(&s, "instances.jsonl", expect_valid);
  for_each_line(&s, "mutants.jsonl", expect_mutant);
  if (has_invalid) {
    for_each_line(&s, "invalid.jsonl", expect_invalid);
    for_each_line(&s, "invalid-format-only.jsonl", expect_invalid_format);
  }
  print_message("# %s: %d verdicts, %d wrong\n", name, s.judged, s.wrong);
  assert_in_range(s.judged, 200, 1000000);
  assert_int_equal(s.wrong, 0);
  judge_done(&s.judge);
  trilha_schema_free(s.annotated);
  trilha_schema_free(s.asserted);
  free((char *)(uintptr_t)text.data);
}

static void every_verdict_of_the_demanda_sets_is_right(void **state) {
  (void)state;
  judge_set("demanda-recebida", true);
  judge_set("demanda-normalizada", true);
  judge_set("demanda-categorizada", true);
}

static void every_verdict_of_the_public_sets_is_right(void **state) {
  (void)state;
  static const char *const names[] = {"cql2", "cmake-presets", "fabric-mod", "pulumi", "ui5", "vercel"};
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) judge_set(names[i], false);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_pitfall_is_judged_rightly),
      cmocka_unit_test(every_verdict_of_the_demanda_sets_is_right),
      cmocka_unit_test(every_verdict_of_the_public_sets_is_right),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
