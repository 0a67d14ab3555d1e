/* schema: the official test suite of draft 2020-12, required, optional and format. Skipped when ../shared is absent. */
#include <dirent.h>
#include <sys/stat.h>

#include "schema_test.h"

/* What does not pass, with the reason; docs/schema.md tells the same. A test that begins to pass must leave this table.
 */
static const struct {
  const char *file, *group, *test;
} not_passed[] = {
    {"optional/cross-draft.json", "refs to historic drafts are processed as historic drafts",
     NULL}, /* needs draft 2019-09 */
    {NULL, NULL, NULL},
};

/* --- remotes -------------------------------------------------------------------------------------------------------
 */

typedef struct remote {
  char uri[512];
  trilha_json_document *document;
} remote;
typedef struct remotes {
  remote items[64];
  size_t count;
} remotes;

static void load_remotes(remotes *all, const char *folder, const char *uri) {
  DIR *directory = opendir(folder);
  assert_non_null(directory);
  for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
    if (entry->d_name[0] == '.') continue;
    char path[1024], child[512];
    test_path(path, sizeof(path), "%s/%s", folder, entry->d_name);
    test_path(child, sizeof(child), "%s/%s", uri, entry->d_name);
    struct stat about;
    assert_int_equal(stat(path, &about), 0);
    if (S_ISDIR(about.st_mode)) {
      load_remotes(all, path, child);
      continue;
    }
    assert_in_range(all->count, 0, 63);
    trilha_text text = test_file(path);
    remote *item = &all->items[all->count++];
    memcpy(item->uri, child, sizeof(child));
    item->document = test_parse(text);
    free((char *)(uintptr_t)text.data);
  }
  closedir(directory);
}

static const trilha_json_document *find_remote(void *user, trilha_text uri) {
  const remotes *all = user;
  for (size_t i = 0; i < all->count; i++) {
    if (trilha_text_is(uri, all->items[i].uri)) return all->items[i].document;
  }
  return NULL;
}

/* --- running -------------------------------------------------------------------------------------------------------
 */

typedef struct suite {
  remotes remotes;
  judge judge;
  bool assert_format;
  const char *folder, *file;
  int files, tests, passed, listed;
  bool surprised;
} suite;

static bool is_listed(const suite *s, const char *group, const char *test) {
  for (size_t i = 0; not_passed[i].file != NULL; i++) {
    if (strcmp(not_passed[i].file, s->file) == 0 && strcmp(not_passed[i].group, group) == 0 &&
        (not_passed[i].test == NULL || strcmp(not_passed[i].test, test) == 0)) {
      return true;
    }
  }
  return false;
}

static char *copy_of(trilha_text text) {
  return strndup(text.data, text.size);
}

static void note_outcome(suite *s, const char *group, const char *test, bool passed) {
  s->tests++;
  s->passed += passed;
  bool listed = is_listed(s, group, test);
  s->listed += listed;
  if (passed == !listed) return;
  s->surprised = true;
  print_message("# %s: %s | %s | %s\n", passed ? "passes though it is listed" : "FAILS", s->file, group, test);
}

static bool judge_test(suite *s, const trilha_schema *schema, const trilha_json_value *test) {
  if (schema == NULL) return false;
  TRILHA_BUFFER_SCOPED text = {0};
  trilha_json_write(&text, trilha_json_member(test, "data"));
  trilha_verdict verdict = judge_text(&s->judge, schema, trilha_buffer_text(&text));
  bool valid = trilha_json_member(test, "valid")->type == TRILHA_JSON_TRUE;
  return verdict == (valid ? TRILHA_VERDICT_VALID : TRILHA_VERDICT_INVALID);
}

static void run_group(suite *s, const trilha_json_value *group) {
  char *name = copy_of(trilha_json_member_string(group, "description"));
  trilha_json_document *document = test_parse_value(trilha_json_member(group, "schema"));
  trilha_schema_options options = {.assert_format = s->assert_format, .check_metaschema = true, .resolve = find_remote};
  options.resolve_user = &s->remotes;
  trilha_schema *schema = NULL;
  trilha_error error = {0};
  if (trilha_schema_compile(document, &options, &schema, &error) != TRILHA_OK) {
    print_message("# %s | %s does not compile: %s %s\n", s->file, name, error.code, error.text);
  }
  trilha_json_document_free(document);
  const trilha_json_value *tests = trilha_json_member(group, "tests"), *test = tests + 1;
  for (uint32_t i = 0; i < tests->size; i++, test = trilha_json_next(test)) {
    char *description = copy_of(trilha_json_member_string(test, "description"));
    note_outcome(s, name, description, judge_test(s, schema, test));
    free(description);
  }
  trilha_schema_free(schema);
  free(name);
}

static void run_file(suite *s, const char *path) {
  trilha_text text = test_file(path);
  trilha_json_document *document = test_parse(text);
  const trilha_json_value *group = document->values + 1;
  for (uint32_t i = 0; i < document->values->size; i++, group = trilha_json_next(group)) run_group(s, group);
  trilha_json_document_free(document);
  free((char *)(uintptr_t)text.data);
  s->files++;
}

static void run_folder(suite *s) {
  if (test_conformance() == NULL) {
    print_message("# skipped: ../shared/conformance is absent\n");
    skip();
  }
  char path[1024], file[1200], name[600];
  test_path(path, sizeof(path), "%s/json-schema-test-suite/remotes", test_conformance());
  load_remotes(&s->remotes, path, "http://localhost:1234");
  judge_init(&s->judge);
  test_path(path, sizeof(path), "%s/json-schema-test-suite/tests/draft2020-12/%s", test_conformance(), s->folder);
  DIR *directory = opendir(path);
  assert_non_null(directory);
  for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
    if (strstr(entry->d_name, ".json") == NULL) continue;
    test_path(file, sizeof(file), "%s/%s", path, entry->d_name);
    test_path(name, sizeof(name), "%s%s%s", s->folder, s->folder[0] == '\0' ? "" : "/", entry->d_name);
    s->file = name;
    run_file(s, file);
  }
  closedir(directory);
  for (size_t i = 0; i < s->remotes.count; i++) trilha_json_document_free(s->remotes.items[i].document);
  judge_done(&s->judge);
  print_message("# %s: %d files, %d of %d tests pass, %d listed as not passed\n",
                s->folder[0] == '\0' ? "required" : s->folder, s->files, s->passed, s->tests, s->listed);
  assert_false(s->surprised);
}

static void every_required_test_passes(void **state) {
  (void)state;
  suite s = {.folder = ""};
  run_folder(&s);
  assert_int_equal(s.tests, 1299);
  assert_int_equal(s.passed, 1299);
}

static void optional_tests_pass_as_the_table_says(void **state) {
  (void)state;
  suite s = {.folder = "optional"};
  run_folder(&s);
  assert_int_equal(s.tests, 162);
  assert_int_equal(s.passed, s.tests - s.listed);
}

static void format_tests_pass_as_the_table_says(void **state) {
  (void)state;
  suite s = {.folder = "optional/format", .assert_format = true};
  run_folder(&s);
  assert_int_equal(s.tests, 764);
  assert_int_equal(s.passed, s.tests - s.listed);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_required_test_passes),
      cmocka_unit_test(optional_tests_pass_as_the_table_says),
      cmocka_unit_test(format_tests_pass_as_the_table_says),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
