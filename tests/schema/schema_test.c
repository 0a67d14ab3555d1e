/* Support for the tests of the schema room. */
#include "schema_test.h"

#include <unistd.h>

trilha_text test_file(const char *path) {
  trilha_text none = {0};
  FILE *file = fopen(path, "rb");
  if (file == NULL) return none;
  size_t size = 0, capacity = 1 << 16;
  char *data = malloc(capacity);
  for (size_t got; (got = fread(data + size, 1, capacity - size, file)) > 0;) {
    size += got;
    if (size == capacity) data = realloc(data, capacity *= 2);
  }
  fclose(file);
  return (trilha_text){data, size};
}

void test_path(char *out, size_t size, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int written = vsnprintf(out, size, format, arguments);
  va_end(arguments);
  assert_in_range(written, 1, size - 1);
}

const char *test_conformance(void) {
  static char path[1024];
  const char *shared = getenv("TRILHA_SHARED");
  if (shared == NULL) return NULL;
  test_path(path, sizeof(path), "%s/conformance", shared);
  return access(path, R_OK) == 0 ? path : NULL;
}

trilha_json_document *test_parse(trilha_text text) {
  trilha_json_document *document = NULL;
  trilha_error error = {0};
  trilha_json_limits limits = TRILHA_JSON_LIMITS;
  if (trilha_json_parse(text, &limits, &document, NULL, &error) != TRILHA_OK)
    fail_msg("%s: %s", error.code, error.text);
  return document;
}

trilha_json_document *test_parse_value(const trilha_json_value *value) {
  TRILHA_BUFFER_SCOPED text = {0};
  trilha_json_write(&text, value);
  return test_parse(trilha_buffer_text(&text));
}

trilha_schema *test_compile(const char *schema, const trilha_schema_options *options, trilha_error *err) {
  trilha_json_document *document = test_parse(trilha_text_of(schema));
  trilha_schema *compiled = NULL;
  trilha_status status = trilha_schema_compile(document, options, &compiled, err);
  trilha_json_document_free(document);
  assert_true((status == TRILHA_OK) == (compiled != NULL));
  return compiled;
}

void judge_init(judge *j) {
  trilha_error error = {0};
  assert_int_equal(trilha_json_reader_new(&j->reader, &error), TRILHA_OK);
  assert_int_equal(trilha_schema_scratch_new(&j->scratch, &error), TRILHA_OK);
}

void judge_done(judge *j) {
  trilha_json_reader_free(j->reader);
  trilha_schema_scratch_free(j->scratch);
}

static const trilha_json_document *read_with(judge *j, trilha_text text, const trilha_json_keys *keys) {
  const trilha_json_document *document = NULL;
  trilha_error error = {0};
  trilha_json_limits limits = TRILHA_JSON_LIMITS;
  if (trilha_json_read(j->reader, text, &limits, keys, &document, NULL, &error) != TRILHA_OK) {
    fail_msg("instance: %s", error.text);
  }
  return document;
}

static trilha_status ignore_annotation(void *user, const trilha_annotation *annotation) {
  (void)user;
  assert_non_null(annotation->instance);
  return TRILHA_OK;
}

static trilha_json_keys *foreign_keys(void) {
  static const trilha_text names[] = {{"foreign", 7}, {"a", 1}, {"foo", 3}, {"bar", 3}};
  trilha_json_keys *keys = NULL;
  trilha_error error = {0};
  assert_int_equal(trilha_json_keys_new(names, 4, &keys, &error), TRILHA_OK);
  return keys;
}

static bool slow_passes_agree(judge *j, const trilha_schema *schema, const trilha_json_document *document,
                              trilha_verdict verdict) {
  const trilha_json_keys *keys = trilha_schema_keys(schema);
  trilha_violations violations = {0};
  trilha_error error = {0};
  assert_int_equal(trilha_schema_report(schema, document, keys, true, j->scratch, &violations, &error), TRILHA_OK);
  bool agree = violations.verdict == verdict && (violations.total > 0) == (verdict == TRILHA_VERDICT_INVALID);
  trilha_status status = trilha_schema_annotate(schema, document, keys, j->scratch, ignore_annotation, NULL, &error);
  trilha_status expected = verdict == TRILHA_VERDICT_VALID     ? TRILHA_OK
                           : verdict == TRILHA_VERDICT_INVALID ? TRILHA_INVALID
                                                               : TRILHA_LIMIT;
  if (!agree || status != expected) {
    print_message("# validate says %d, report %d with %zu violations, annotate %d\n", verdict, violations.verdict,
                  violations.total, status);
  }
  return agree && status == expected;
}

trilha_verdict judge_text(judge *j, const trilha_schema *schema, trilha_text instance) {
  const trilha_json_keys *keys = trilha_schema_keys(schema);
  trilha_verdict verdict = trilha_schema_validate(schema, read_with(j, instance, keys), keys, j->scratch);
  trilha_verdict without = trilha_schema_validate(schema, read_with(j, instance, NULL), NULL, j->scratch);
  trilha_json_keys *foreign = foreign_keys();
  trilha_verdict other = trilha_schema_validate(schema, read_with(j, instance, foreign), foreign, j->scratch);
  trilha_json_keys_free(foreign);
  if (verdict != without || verdict != other) {
    print_message("# with keys %d, without %d, with foreign ones %d\n", verdict, without, other);
    return JUDGES_DISAGREE;
  }
  return slow_passes_agree(j, schema, read_with(j, instance, keys), verdict) ? verdict : JUDGES_DISAGREE;
}
