/* redaction: where keys come from, how they are guarded, and the content digest. */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "redaction_test.h"

typedef struct scratch {
  char folder[64], path[128], source[160];
} scratch;

static int set_up(void **state) {
  scratch *s = calloc(1, sizeof *s);
  snprintf(s->folder, sizeof s->folder, "/tmp/trilha-keyring-XXXXXX");
  if (mkdtemp(s->folder) == NULL) return -1;
  snprintf(s->path, sizeof s->path, "%s/keys", s->folder);
  snprintf(s->source, sizeof s->source, "file:%s", s->path);
  *state = s;
  return 0;
}

static int tear_down(void **state) {
  scratch *s = *state;
  char path[512];
  DIR *folder = opendir(s->folder);
  for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
    snprintf(path, sizeof path, "%s/%s", s->folder, entry->d_name);
    unlink(path);
  }
  if (folder != NULL) closedir(folder);
  rmdir(s->folder);
  free(s);
  return 0;
}

static void write_file(const char *path, const char *content, mode_t mode) {
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  assert_true(fd >= 0);
  assert_int_equal(write(fd, content, strlen(content)), (ssize_t)strlen(content));
  assert_int_equal(fchmod(fd, mode), 0);
  close(fd);
}

static trilha_status load(const char *source, trilha_keyring **ret, trilha_error *err) {
  *err = (trilha_error){0};
  return trilha_keyring_load(trilha_text_of(source), ret, err);
}

static void keyring_file_that_others_may_read_is_refused(void **state) {
  scratch *s = *state;
  trilha_keyring *keyring = NULL;
  trilha_error err;
  static const mode_t bad[] = {0640, 0604, 0620, 0602, 0601, 0610, 0777};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    write_file(s->path, "k1:" KEY_A "\n", bad[i]);
    assert_int_equal(load(s->source, &keyring, &err), TRILHA_DENIED);
    assert_string_equal(err.code, "KEYRING_MODE");
    assert_null(keyring);
  }
  write_file(s->path, "k1:" KEY_A "\n", 0600);
  assert_int_equal(load(s->source, &keyring, &err), TRILHA_OK);
  trilha_keyring_free(keyring);
  write_file(s->path, "k1:" KEY_A "\n", 0400);
  assert_int_equal(load(s->source, &keyring, &err), TRILHA_OK);
  trilha_keyring_free(keyring);
}

static void keyring_sources_that_are_missing_or_odd_say_so(void **state) {
  scratch *s = *state;
  trilha_keyring *keyring = NULL;
  trilha_error err;
  assert_int_equal(load(s->source, &keyring, &err), TRILHA_NOT_FOUND);
  unsetenv("TRILHA_NO_SUCH");
  assert_int_equal(load("env:TRILHA_NO_SUCH", &keyring, &err), TRILHA_NOT_FOUND);
  unsetenv("CREDENTIALS_DIRECTORY");
  assert_int_equal(load("credential:keys", &keyring, &err), TRILHA_NOT_FOUND);
  static const char *const odd[] = {"", "keys", "file:", "vault:x", "credential:../keys", "credential:.."};
  for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) assert_int_equal(load(odd[i], &keyring, &err), TRILHA_USAGE);
  char folder[128];
  snprintf(folder, sizeof folder, "file:%s", s->folder);
  assert_int_equal(load(folder, &keyring, &err), TRILHA_DENIED); /* a folder is no keyring */
  assert_int_equal(mkfifo(s->path, 0600), 0);
  assert_int_equal(load(s->source, &keyring, &err), TRILHA_DENIED); /* and a pipe does not make us wait */
  assert_null(keyring);
}

static void systemd_credential_is_read_from_its_folder(void **state) {
  scratch *s = *state;
  write_file(s->path, "k1:" KEY_A, 0440); /* as an access list shows it */
  setenv("CREDENTIALS_DIRECTORY", s->folder, 1);
  trilha_keyring *keyring = NULL;
  trilha_error err;
  assert_int_equal(load("credential:keys", &keyring, &err), TRILHA_OK);
  assert_true(trilha_keyring_has(keyring, TRILHA_TEXT("k1")));
  trilha_keyring_free(keyring);
  unsetenv("CREDENTIALS_DIRECTORY");
}

static void malformed_lines_are_refused_by_number_and_never_quoted(void **state) {
  (void)state;
  static const char *const bad[] = {
      "# only a comment\n",           "", "k1", ":" KEY_A, "K1:" KEY_A, "key_1:" KEY_A, "seventeen-letters:" KEY_A,
      "k1:c2VjcmV0bWFya2Vy",       /* too short */
      "k1:" KEY_A "secretmarker!", /* no base64 */
      "k1:" KEY_A "\nk1:" KEY_B,   /* the same kid twice */
      "k1:" KEY_A "\nsecretmarker\n",
  };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    setenv("TRILHA_TEST_KEYRING", bad[i], 1);
    trilha_keyring *keyring = NULL;
    trilha_error err;
    assert_int_equal(load("env:TRILHA_TEST_KEYRING", &keyring, &err), TRILHA_INVALID);
    assert_null(keyring);
    assert_null(strstr(err.text, "secretmarker"));
    assert_null(strstr(err.text, "c2VjcmV0"));
    assert_null(strstr(err.text, "AAEC"));
  }
  setenv("TRILHA_TEST_KEYRING", "# two\r\n\n k1 :x", 1);
  trilha_keyring *keyring = NULL;
  trilha_error err;
  assert_int_equal(load("env:TRILHA_TEST_KEYRING", &keyring, &err), TRILHA_INVALID);
  assert_non_null(strstr(err.text, "line 3"));
  unsetenv("TRILHA_TEST_KEYRING");
}

static void comments_blank_lines_and_carriage_returns_are_fine(void **state) {
  (void)state;
  trilha_keyring *keyring = keyring_of("# keys\r\n\r\n  k1:" KEY_A "=\r\n\tk-2: " KEY_B " \n");
  assert_true(trilha_keyring_has(keyring, TRILHA_TEXT("k1")));
  assert_true(trilha_keyring_has(keyring, TRILHA_TEXT("k-2")));
  assert_false(trilha_keyring_has(keyring, TRILHA_TEXT("k2")));
  assert_false(trilha_keyring_has(NULL, TRILHA_TEXT("k1")));
  trilha_keyring_free(keyring);
}

static void added_keys_keep_the_others_and_the_mode(void **state) {
  scratch *s = *state;
  trilha_error err = {0};
  assert_int_equal(trilha_keyring_add(trilha_text_of(s->path), TRILHA_TEXT("k1"), &err), TRILHA_OK);
  struct stat st;
  assert_int_equal(stat(s->path, &st), 0);
  assert_int_equal(st.st_mode & 07777, 0600);
  /* a last line without its end is ended first */
  FILE *f = fopen(s->path, "a");
  fputs("# by hand", f);
  fclose(f);
  assert_int_equal(trilha_keyring_add(trilha_text_of(s->path), TRILHA_TEXT("k2"), &err), TRILHA_OK);
  trilha_keyring *keyring = NULL;
  assert_int_equal(load(s->source, &keyring, &err), TRILHA_OK);
  assert_true(trilha_keyring_has(keyring, TRILHA_TEXT("k1")) && trilha_keyring_has(keyring, TRILHA_TEXT("k2")));
  trilha_keyring_free(keyring);
  assert_int_equal(stat(s->path, &st), 0);
  assert_int_equal(st.st_mode & 07777, 0600);
  assert_int_equal(trilha_keyring_add(trilha_text_of(s->path), TRILHA_TEXT("k2"), &err), TRILHA_INVALID);
  err = (trilha_error){0};
  assert_int_equal(trilha_keyring_add(trilha_text_of(s->path), TRILHA_TEXT("K 3"), &err), TRILHA_USAGE);
  err = (trilha_error){0};
  assert_int_equal(chmod(s->path, 0644), 0);
  assert_int_equal(trilha_keyring_add(trilha_text_of(s->path), TRILHA_TEXT("k3"), &err), TRILHA_DENIED);
}

static void *add_one(void *argument) {
  char **a = argument;
  trilha_error err = {0};
  return trilha_keyring_add(trilha_text_of(a[0]), trilha_text_of(a[1]), &err) == TRILHA_OK ? NULL : argument;
}

static void keys_added_at_the_same_time_are_all_kept(void **state) {
  scratch *s = *state;
  enum { MANY = 8 };
  pthread_t threads[MANY];
  char kids[MANY][8];
  char *arguments[MANY][2];
  for (int i = 0; i < MANY; i++) {
    snprintf(kids[i], sizeof kids[i], "k%d", i);
    arguments[i][0] = s->path;
    arguments[i][1] = kids[i];
    assert_int_equal(pthread_create(&threads[i], NULL, add_one, arguments[i]), 0);
  }
  for (int i = 0; i < MANY; i++) {
    void *failed = NULL;
    pthread_join(threads[i], &failed);
    assert_null(failed);
  }
  trilha_keyring *keyring = NULL;
  trilha_error err;
  assert_int_equal(load(s->source, &keyring, &err), TRILHA_OK);
  for (int i = 0; i < MANY; i++) assert_true(trilha_keyring_has(keyring, trilha_text_of(kids[i])));
  trilha_keyring_free(keyring);
  DIR *folder = opendir(s->folder);
  int files = 0;
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;) files += entry->d_name[0] != '.';
  closedir(folder);
  assert_int_equal(files, 1); /* no temporary file is left */
}

/* --- digests (ruling R21, field report B12) ------------------------------------------------------------------ */

static void digest_of(const trilha_keyring *keyring, trilha_text kid, trilha_text fields, const char *payload,
                      char *ret, size_t size) {
  trilha_json_document *document = document_of(payload);
  trilha_buffer out = {0};
  trilha_error err = {0};
  assert_int_equal(trilha_keyring_digest(keyring, kid, fields, document->values, &out, &err), TRILHA_OK);
  snprintf(ret, size, "%s", out.data == NULL ? "" : out.data);
  trilha_buffer_done(&out);
  trilha_json_document_free(document);
}

static void digest_is_over_the_value_and_tells_other_content_apart(void **state) {
  (void)state;
  trilha_keyring *keyring = keyring_of("k1:" KEY_A);
  trilha_text none = {NULL, 0}, fields = {
                                    "t\0"
                                    "1.0.0",
                                    7};
  char a[128], b[128];
  digest_of(keyring, none, fields, "{\"x\":1,\"y\":[1e2,\"\\u00e9\"]}", a, sizeof a);
  digest_of(keyring, none, fields, " { \"y\" : [100.0, \"é\"], \"x\" : 1.0 } ", b, sizeof b);
  assert_string_equal(a, b);
  assert_int_equal(strlen(a), 3 + 43);
  assert_memory_equal(a, "k1:", 3);
  static const char *const others[] = {"{\"x\":2,\"y\":[1e2,\"\\u00e9\"]}", "{\"x\":1,\"y\":[\"\\u00e9\",1e2]}",
                                       "{\"x\":true,\"y\":[1e2,\"\\u00e9\"]}", "{\"x\":1}", "{}"};
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
    digest_of(keyring, none, fields, others[i], b, sizeof b);
    assert_string_not_equal(a, b);
  }
  digest_of(keyring, none,
            (trilha_text){"t\0"
                          "1.0.1",
                          7},
            "{\"x\":1,\"y\":[1e2,\"\\u00e9\"]}", b, sizeof b);
  assert_string_not_equal(a, b);
  trilha_keyring_free(keyring);
}

static void digest_uses_the_rows_key_and_a_destroyed_one_cannot_tell(void **state) {
  (void)state;
  trilha_keyring *old = keyring_of("k1:" KEY_A), *both = keyring_of("k1:" KEY_A "\nk2:" KEY_B),
                 *rotated = keyring_of("k2:" KEY_B);
  trilha_text none = {NULL, 0}, fields = TRILHA_TEXT("t");
  char a[128], b[128];
  digest_of(old, none, fields, "{}", a, sizeof a);
  digest_of(both, TRILHA_TEXT("k1"), fields, "{}", b, sizeof b);
  assert_string_equal(a, b);
  digest_of(both, none, fields, "{}", b, sizeof b);
  assert_memory_equal(b, "k2:", 3); /* the newest writes */
  digest_of(NULL, none, fields, "{}", b, sizeof b);
  assert_string_equal(b, "");
  trilha_json_document *document = document_of("{}");
  trilha_buffer out = {0};
  trilha_error err = {0};
  assert_int_equal(trilha_keyring_digest(rotated, TRILHA_TEXT("k1"), fields, document->values, &out, &err),
                   TRILHA_NOT_FOUND);
  assert_int_equal(out.size, 0);
  trilha_json_document_free(document);
  trilha_buffer_done(&out);
  trilha_keyring_free(old);
  trilha_keyring_free(both);
  trilha_keyring_free(rotated);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(keyring_file_that_others_may_read_is_refused, set_up, tear_down),
      cmocka_unit_test_setup_teardown(keyring_sources_that_are_missing_or_odd_say_so, set_up, tear_down),
      cmocka_unit_test_setup_teardown(systemd_credential_is_read_from_its_folder, set_up, tear_down),
      cmocka_unit_test(malformed_lines_are_refused_by_number_and_never_quoted),
      cmocka_unit_test(comments_blank_lines_and_carriage_returns_are_fine),
      cmocka_unit_test_setup_teardown(added_keys_keep_the_others_and_the_mode, set_up, tear_down),
      cmocka_unit_test_setup_teardown(keys_added_at_the_same_time_are_all_kept, set_up, tear_down),
      cmocka_unit_test(digest_is_over_the_value_and_tells_other_content_apart),
      cmocka_unit_test(digest_uses_the_rows_key_and_a_destroyed_one_cannot_tell),
  };
  return cmocka_run_group_tests_name("keyring", tests, NULL, NULL);
}
