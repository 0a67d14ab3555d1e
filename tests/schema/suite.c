/* Reads the official test suite and counts what a judge makes of it. */
#include "suite.h"

#include <dirent.h>
#include <sys/stat.h>

/* --- remotes -------------------------------------------------------------------------------------------------------
 */

static void load_remotes(suite_remotes *all, const char *folder, const char *uri) {
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
    suite_remote *item = &all->items[all->count++];
    memcpy(item->uri, child, sizeof(child));
    item->document = test_parse(text);
    free((char *)(uintptr_t)text.data);
  }
  closedir(directory);
}

const trilha_json_document *suite_find_remote(void *user, trilha_text uri) {
  const suite_remotes *all = user;
  for (size_t i = 0; i < all->count; i++) {
    if (trilha_text_is(uri, all->items[i].uri)) return all->items[i].document;
  }
  return NULL;
}

/* --- running -------------------------------------------------------------------------------------------------------
 */

typedef struct suite {
  suite_remotes remotes;
  const suite_judge *judge;
  const suite_exception *exceptions;
  const char *folder, *file;
  suite_count count;
} suite;

static bool is_listed(const suite *s, const char *group, const char *test) {
  for (const suite_exception *e = s->exceptions; e->file != NULL; e++) {
    if (strcmp(e->file, s->file) == 0 && strcmp(e->group, group) == 0 &&
        (e->test == NULL || strcmp(e->test, test) == 0))
      return true;
  }
  return false;
}

static char *copy_of(trilha_text text) {
  return strndup(text.data, text.size);
}

static void note_outcome(suite *s, const char *group, const char *test, bool passed) {
  s->count.tests++;
  s->count.passed += passed;
  bool listed = is_listed(s, group, test);
  s->count.listed += listed;
  if (passed == !listed) return;
  s->count.surprised = true;
  print_message("# %s: %s | %s | %s\n", passed ? "passes though it is listed" : "FAILS", s->file, group, test);
}

static bool judge_test(const suite *s, const trilha_json_value *test) {
  TRILHA_BUFFER_SCOPED text = {0};
  trilha_json_write(&text, trilha_json_member(test, "data"));
  trilha_verdict verdict = s->judge->verdict(s->judge->user, trilha_buffer_text(&text));
  bool valid = trilha_json_member(test, "valid")->type == TRILHA_JSON_TRUE;
  return verdict == (valid ? TRILHA_VERDICT_VALID : TRILHA_VERDICT_INVALID);
}

static void run_group(suite *s, const trilha_json_value *group) {
  char *name = copy_of(trilha_json_member_string(group, "description"));
  trilha_json_document *document = test_parse_value(trilha_json_member(group, "schema"));
  s->judge->begin(s->judge->user, document, &s->remotes, strcmp(s->folder, "optional/format") == 0);
  const trilha_json_value *tests = trilha_json_member(group, "tests"), *test = tests + 1;
  for (uint32_t i = 0; i < tests->size; i++, test = trilha_json_next(test)) {
    char *description = copy_of(trilha_json_member_string(test, "description"));
    note_outcome(s, name, description, judge_test(s, test));
    free(description);
  }
  if (s->judge->end != NULL) s->judge->end(s->judge->user);
  trilha_json_document_free(document);
  free(name);
}

static void run_file(suite *s, const char *path) {
  trilha_text text = test_file(path);
  trilha_json_document *document = test_parse(text);
  const trilha_json_value *group = document->values + 1;
  for (uint32_t i = 0; i < document->values->size; i++, group = trilha_json_next(group)) run_group(s, group);
  trilha_json_document_free(document);
  free((char *)(uintptr_t)text.data);
  s->count.files++;
}

suite_count suite_run(const char *folder, const suite_judge *by, const suite_exception *exceptions) {
  if (test_conformance() == NULL) {
    print_message("# skipped: ../shared/conformance is absent\n");
    skip();
  }
  suite *s = calloc(1, sizeof *s);
  assert_non_null(s);
  s->judge = by;
  s->exceptions = exceptions;
  s->folder = folder;
  char path[1024], file[1200], name[600];
  test_path(path, sizeof(path), "%s/json-schema-test-suite/remotes", test_conformance());
  load_remotes(&s->remotes, path, "http://localhost:1234");
  test_path(path, sizeof(path), "%s/json-schema-test-suite/tests/draft2020-12/%s", test_conformance(), folder);
  DIR *directory = opendir(path);
  assert_non_null(directory);
  for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
    if (strstr(entry->d_name, ".json") == NULL) continue;
    test_path(file, sizeof(file), "%s/%s", path, entry->d_name);
    test_path(name, sizeof(name), "%s%s%s", folder, folder[0] == '\0' ? "" : "/", entry->d_name);
    s->file = name;
    run_file(s, file);
  }
  closedir(directory);
  for (size_t i = 0; i < s->remotes.count; i++) trilha_json_document_free(s->remotes.items[i].document);
  suite_count count = s->count;
  free(s);
  print_message("# %s: %d files, %d of %d tests pass, %d listed as not passed\n",
                folder[0] == '\0' ? "required" : folder, count.files, count.passed, count.tests, count.listed);
  return count;
}
