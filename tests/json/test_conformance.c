/* json: the files of JSONTestSuite, read by every core. Skipped when ../shared is absent. */
#include <dirent.h>

#include "json_test.h"

/* What this reader does with the texts that RFC 8259 leaves open; NULL for acceptance. The table is in docs/json.md. */
static const struct {
  const char *name, *code;
} left_open[] = {
    {"i_number_double_huge_neg_exp.json", NULL},
    {"i_number_huge_exp.json", NULL},
    {"i_number_neg_int_huge_exp.json", NULL},
    {"i_number_pos_double_huge_exp.json", NULL},
    {"i_number_real_neg_overflow.json", NULL},
    {"i_number_real_pos_overflow.json", NULL},
    {"i_number_real_underflow.json", NULL},
    {"i_number_too_big_neg_int.json", NULL},
    {"i_number_too_big_pos_int.json", NULL},
    {"i_number_very_big_negative_int.json", NULL},
    {"i_object_key_lone_2nd_surrogate.json", "JSON_SURROGATE"},
    {"i_string_1st_surrogate_but_2nd_missing.json", "JSON_SURROGATE"},
    {"i_string_1st_valid_surrogate_2nd_invalid.json", "JSON_SURROGATE"},
    {"i_string_UTF-16LE_with_BOM.json", "JSON_UTF8"},
    {"i_string_UTF-8_invalid_sequence.json", "JSON_UTF8"},
    {"i_string_UTF8_surrogate_U+D800.json", "JSON_UTF8"},
    {"i_string_incomplete_surrogate_and_escape_valid.json", "JSON_SURROGATE"},
    {"i_string_incomplete_surrogate_pair.json", "JSON_SURROGATE"},
    {"i_string_incomplete_surrogates_escape_valid.json", "JSON_SURROGATE"},
    {"i_string_invalid_lonely_surrogate.json", "JSON_SURROGATE"},
    {"i_string_invalid_surrogate.json", "JSON_SURROGATE"},
    {"i_string_invalid_utf-8.json", "JSON_UTF8"},
    {"i_string_inverted_surrogates_U+1D11E.json", "JSON_SURROGATE"},
    {"i_string_iso_latin_1.json", "JSON_UTF8"},
    {"i_string_lone_second_surrogate.json", "JSON_SURROGATE"},
    {"i_string_lone_utf8_continuation_byte.json", "JSON_UTF8"},
    {"i_string_not_in_unicode_range.json", "JSON_UTF8"},
    {"i_string_overlong_sequence_2_bytes.json", "JSON_UTF8"},
    {"i_string_overlong_sequence_6_bytes.json", "JSON_UTF8"},
    {"i_string_overlong_sequence_6_bytes_null.json", "JSON_UTF8"},
    {"i_string_truncated-utf-8.json", "JSON_UTF8"},
    {"i_string_utf16BE_no_BOM.json", "JSON_SYNTAX"},
    {"i_string_utf16LE_no_BOM.json", "JSON_SYNTAX"},
    {"i_structure_500_nested_arrays.json", NULL},
    {"i_structure_UTF-8_BOM_empty_object.json", "JSON_SYNTAX"},
};

typedef struct counts {
  int accepted, refused, open;
} counts;

static const char *left_open_code(const char *name) {
  for (size_t i = 0; i < sizeof left_open / sizeof left_open[0]; i++)
    if (strcmp(left_open[i].name, name) == 0) return left_open[i].code;
  fail_msg("%s has no row in the table", name);
  return NULL;
}

static void check_text(trilha_json_reader *reader, const char *name, trilha_text text, counts *n) {
  const trilha_json_document *document = NULL;
  trilha_json_fault fault = {0};
  trilha_status status = trilha_json_read(reader, text, &TRILHA_JSON_LIMITS, NULL, &document, &fault, NULL);
  const char *code = NULL;
  if (name[0] == 'i') {
    code = left_open_code(name);
    n->open++;
  }
  if (name[0] == 'y' || (name[0] == 'i' && code == NULL)) {
    n->accepted++;
    if (status != TRILHA_OK) fail_msg("%s refused: %s %s", name, fault.code, fault.text);
    return;
  }
  n->refused++;
  if (status == TRILHA_OK) fail_msg("%s accepted", name);
  assert_true(fault.line >= 1 && fault.column >= 1 && fault.offset <= text.size);
  if (code != NULL && strcmp(code, fault.code) != 0) fail_msg("%s: %s, not %s", name, fault.code, code);
}

static void check_folder(trilha_json_reader *reader) {
  const char *shared = getenv("TRILHA_SHARED");
  char folder[1024], path[2048];
  snprintf(folder, sizeof folder, "%s/conformance/json-parsing/test_parsing", shared == NULL ? "../shared" : shared);
  DIR *dir = opendir(folder);
  if (dir == NULL) {
    print_message("# skipped: %s is not there\n", folder);
    skip();
  }
  counts n = {0};
  for (struct dirent *e = readdir(dir); e != NULL; e = readdir(dir)) {
    if (e->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
    size_t size = 0;
    char *data = read_file(path, &size);
    assert_non_null(data);
    check_text(reader, e->d_name, (trilha_text){data, size}, &n);
    free(data);
  }
  closedir(dir);
  assert_int_equal(n.accepted + n.refused, 317);
  assert_int_equal(n.open, 35);
}

/* The one file that is not kept because of its size. */
static void check_deep_objects(trilha_json_reader *reader) {
  enum { TIMES = 50000 };
  char *data = malloc(TIMES * 5 + 1);
  assert_non_null(data);
  for (size_t i = 0; i < TIMES; i++) memcpy(data + i * 5, "[{\"\":", 5);
  data[TIMES * 5] = '\n';
  counts n = {0};
  check_text(reader, "n_structure_open_array_object.json", (trilha_text){data, TIMES * 5 + 1}, &n);
  free(data);
}

static void run_with(trilha_json_isa isa) {
  trilha_json_reader *reader = NULL;
  assert_int_equal(trilha_json_reader_new(&reader, NULL), TRILHA_OK);
  if (!trilha_json_reader_use(reader, isa)) {
    trilha_json_reader_free(reader);
    print_message("# skipped: this processor has no such instructions\n");
    skip();
  }
  check_folder(reader);
  check_deep_objects(reader);
  trilha_json_reader_free(reader);
}

static void suite_is_passed_by_the_portable_core(void **state) {
  (void)state;
  run_with(TRILHA_JSON_PORTABLE);
}

static void suite_is_passed_by_the_sse2_core(void **state) {
  (void)state;
  run_with(TRILHA_JSON_SSE2);
}

static void suite_is_passed_by_the_avx2_core(void **state) {
  (void)state;
  run_with(TRILHA_JSON_AVX2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(suite_is_passed_by_the_portable_core),
      cmocka_unit_test(suite_is_passed_by_the_sse2_core),
      cmocka_unit_test(suite_is_passed_by_the_avx2_core),
  };
  return cmocka_run_group_tests_name("json conformance", tests, NULL, NULL);
}
