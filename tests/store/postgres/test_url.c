/* store/postgres: field report B34. No server is needed: nothing of these URLs may come back. */
#include <stdio.h>
#include <string.h>

#include "postgres_fixture.h"

static void expect_secret_kept(const char *url, trilha_status expected, const char *shown) {
  trilha_store *store = NULL;
  trilha_error err = {0};
  const trilha_store_options options = {.url = trilha_text_of(url), .connect_timeout_ms = FIXTURE_PATIENCE_MS};
  trilha_status status = trilha_postgres_open(&options, &store, &err);
  if (status != expected) fail_msg("%s: %s %s", url, err.code, err.text);
  if (strstr(err.text, "S3CR") != NULL || strstr(err.text, "RET9") != NULL) fail_msg("shown: %s", err.text);
  if (strstr(err.text, shown) == NULL) fail_msg("'%s' is not in: %s", shown, err.text);
}

static void B34_a_malformed_url_is_refused_without_repeating_it(void **state) {
  (void)state;
  static const char *const urls[] = {
      "postgresql://user:S3CRET9@127.0.0.1:54x2/db",     /* bad port */
      "postgresql://user:S3CR%zzRET9@127.0.0.1:5432/db", /* bad escape */
      "postgresql://user:S3CRET9%@127.0.0.1/db",         /* cut escape */
      "postgresql://user:S3CR%00RET9@127.0.0.1/db",      /* NUL */
      "postgresql://user:S3CR/RET9@127.0.0.1/db",        /* unescaped: libpq would call S3CR a port */
      "postgresql://user:S3CR?RET9@127.0.0.1/db",        /* and here options */
      "postgresql://user:S3CR@RET9@127.0.0.1/db",        /* and here RET9@127.0.0.1 a host */
      "postgresql://user:S3CR#@RET9@h/db",
      "postgresql://user:S3CRET9",                   /* no host: the password reads as a port */
      "postgresql://user:S3CRET9@h1:1,h2:RET9/db",   /* a bad port in a list */
      "postgresql://user:S3CRET9@[::1:RET9/db",      /* an open bracket */
      "postgresql://u:S3CRET9@h/db?pasword=S3CRET9", /* an unknown option */
      "postgresql://u:S3CRET9@h/db?passfile=S3CR@RET9",
      "postgresq://user:S3CRET9@127.0.0.1/db",
      "S3CRET9",
      "",
  };
  for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) expect_secret_kept(urls[i], TRILHA_USAGE, "URL is malformed");
}

static void B34_an_unreachable_server_is_named_without_the_password(void **state) {
  (void)state;
  expect_secret_kept("postgresql://user:S3CRET9@no-such-host.invalid:5432/db", TRILHA_UNAVAILABLE,
                     "no-such-host.invalid");
  expect_secret_kept("postgresql://user:S3CR%2FRET9@127.0.0.1:1/db", TRILHA_UNAVAILABLE, "127.0.0.1");
  expect_secret_kept("postgresql:///db?host=/no/such/folder&password=S3CRET9", TRILHA_UNAVAILABLE, "/no/such/folder");
}

static void B34_a_refused_password_is_not_in_the_error_nor_in_the_display_url(void **state) {
  fixture *f = *state;
  char url[FIXTURE_URL_SIZE];
  snprintf(url, sizeof url, "postgresql://trilha_test:S3CRET9@127.0.0.1:%d/%s", fixture_port(f->url), f->database);
  expect_secret_kept(url, TRILHA_UNAVAILABLE, "password authentication failed");
  const char *shown = f->store->op->display_url(f->store), *at = strchr(f->url + 13, ':');
  char password[64];
  snprintf(password, sizeof password, "%.*s", (int)strcspn(at + 1, "@"), at + 1);
  assert_null(strstr(shown, password));
  assert_non_null(strstr(shown, f->database));
  assert_string_equal(f->store->op->kind(f->store), "postgresql");
}

static void a_good_url_of_every_form_is_accepted(void **state) {
  fixture *f = *state;
  char url[FIXTURE_URL_SIZE + 64];
  snprintf(url, sizeof url, "postgres%s?application_name=t%%20t&connect_timeout=60", f->url + strlen("postgresql"));
  trilha_store *store = fixture_open(url);
  store->op->close(store);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(B34_a_malformed_url_is_refused_without_repeating_it),
      cmocka_unit_test(B34_an_unreachable_server_is_named_without_the_password),
      cmocka_unit_test_setup_teardown(B34_a_refused_password_is_not_in_the_error_nor_in_the_display_url,
                                      fixture_migrated, fixture_teardown),
      cmocka_unit_test_setup_teardown(a_good_url_of_every_form_is_accepted, fixture_migrated, fixture_teardown),
  };
  if (fixture_skips()) return 0;
  return fixture_end(cmocka_run_group_tests_name("store/postgres url", tests, NULL, NULL));
}
