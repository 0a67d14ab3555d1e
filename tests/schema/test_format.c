/* schema/format: the formats of 2020-12 against the official tests (../shared/conformance/json-schema-test-suite,
 * skipped when absent) and at their edges. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "json/json.h"
#include "schema/format.h"

enum { SUITE_FILE_MAX = 1 << 20 };

/* --- the official tests ------------------------------------------------------------------------------ */

typedef struct tally {
  size_t strings, others, wrong;
} tally;

static void judge(const char *file, trilha_text format, const trilha_json_value *test, tally *t) {
  const trilha_json_value *data = trilha_json_member(test, "data"), *valid = trilha_json_member(test, "valid");
  trilha_format_check check = trilha_format_find(format);
  bool passes = true;
  if (data->type == TRILHA_JSON_STRING) {
    /* a copy of exactly that size, so that a sanitizer sees a read past its end */
    char *copy = malloc(data->size + (data->size == 0));
    assert_non_null(copy);
    if (data->size > 0) memcpy(copy, data->u.text, data->size);
    passes = check == NULL || check((trilha_text){copy, data->size});
    free(copy);
    t->strings++;
  } else {
    t->others++;
  }
  if (passes == (valid->type == TRILHA_JSON_TRUE)) return;
  trilha_text described = trilha_json_member_string(test, "description");
  print_message("# wrong: %s: %.*s\n", file, (int)described.size, described.data);
  t->wrong++;
}

static void run_file(const char *folder, const char *file, tally *t) {
  char path[4096];
  (void)snprintf(path, sizeof path, "%s/%s", folder, file);
  FILE *stream = fopen(path, "rb");
  assert_non_null(stream);
  char *text = malloc(SUITE_FILE_MAX);
  assert_non_null(text);
  size_t size = fread(text, 1, SUITE_FILE_MAX, stream);
  fclose(stream);
  trilha_json_document *document = NULL;
  assert_int_equal(trilha_json_parse((trilha_text){text, size}, &TRILHA_JSON_LIMITS, &document, NULL, NULL), TRILHA_OK);
  const trilha_json_value *group = document->values + 1;
  for (size_t g = 0; g < document->values->size; g++, group = trilha_json_next(group)) {
    trilha_text format = trilha_json_member_string(trilha_json_member(group, "schema"), "format");
    const trilha_json_value *tests = trilha_json_member(group, "tests"), *test = tests + 1;
    for (size_t i = 0; i < tests->size; i++, test = trilha_json_next(test)) judge(file, format, test, t);
  }
  trilha_json_document_free(document);
  free(text);
}

static int is_json(const struct dirent *entry) {
  return strstr(entry->d_name, ".json") != NULL;
}

static void all_764_official_tests_of_formats_pass(void **state) {
  (void)state;
  const char *shared = getenv("TRILHA_SHARED");
  char folder[2048];
  struct dirent **names = NULL;
  tally t = {0};
  (void)snprintf(folder, sizeof folder, "%s/conformance/json-schema-test-suite/tests/draft2020-12/optional/format",
                 shared == NULL ? "../shared" : shared);
  int count = scandir(folder, &names, is_json, alphasort);
  if (count < 0) {
    print_message("skipped: no %s\n", folder);
    skip();
  }
  for (int i = 0; i < count; i++) {
    run_file(folder, names[i]->d_name, &t);
    free(names[i]);
  }
  free(names);
  assert_int_equal(t.wrong, 0);
  assert_int_equal(t.strings + t.others, 764);
}

/* --- edges -------------------------------------------------------------------------------------------- */

typedef struct row {
  const char *format, *text;
  bool valid;
} row;

static void rows_hold(const row *rows, size_t count) {
  for (size_t i = 0; i < count; i++) {
    trilha_format_check check = trilha_format_find(trilha_text_of(rows[i].format));
    assert_non_null(check);
    if (check(trilha_text_of(rows[i].text)) != rows[i].valid) fail_msg("%s: %s", rows[i].format, rows[i].text);
  }
}

#define ROWS_HOLD(rows) rows_hold(rows, sizeof(rows) / sizeof((rows)[0]))

static void times_and_durations_hold_at_their_edges(void **state) {
  (void)state;
  static const row rows[] = {
      {"time", "23:59:60.999z", true},
      {"time", "00:59:60+01:00", true},
      {"time", "00:00:60Z", false},
      {"time", "12:00:00.Z", false},
      {"time", "12:00:00+24:00", false},
      {"time", "12:00Z", false},
      {"date", "0000-02-29", true},
      {"date", "1900-02-29", false},
      {"date", "2000-02-29", true},
      {"date-time", "2016-12-31T20:59:60-03:00", true},
      {"date-time", "2016-12-31 20:59:59Z", false},
      {"date-time", "2016-12-31t20:59:59-03:00", true},
      {"date-time", "2016-12-31T20:59:59", false},
      {"duration", "P1W", true},
      {"duration", "PT1M30S", true},
      {"duration", "P1DT", false},
      {"duration", "P1D1D", false},
      {"duration", "p1D", false},
      {"duration", "P1WT1H", false},
      {"duration", "P1Y1D", false},
      {"duration", "T1H", false},
      {"duration", "PTT1H", false},
  };
  ROWS_HOLD(rows);
}

static void addresses_and_hosts_hold_at_their_edges(void **state) {
  (void)state;
  static const row rows[] = {
      {"ipv4", "0.0.0.0", true},
      {"ipv4", "1.2.3.04", false},
      {"ipv4", "1.2.3.", false},
      {"ipv6", "1::", true},
      {"ipv6", "1:2:3:4:5:6:7::", true},
      {"ipv6", "1:2:3:4:5:6:7:8::", false},
      {"ipv6", "::1:2:3:4:5:6:7:8", false},
      {"ipv6", ":", false},
      {"ipv6", ":::", false},
      {"ipv6", "1:2:3:4:5:6:1.2.3.4", true},
      {"ipv6", "1:2:3:4:5:6:7:1.2.3.4", false},
      {"ipv6", "::1.2.3.4", true},
      {"ipv6", "1.2.3.4::", false},
      {"ipv6", "1:", false},
      {"ipv6", "", false},
      {"hostname", "a.b-c.d", true},
      {"hostname", "a..b", false},
      {"hostname", "xn--", false},
      {"hostname", "xn--caf-dma.com", true},
      {"hostname", "XN--CAF-DMA.com", true},
      {"hostname", "xn--cafe-yvc", false},
      {"idn-hostname", "caf\xC3\xA9.com.br", true},
      {"idn-hostname", "cafe\xCC\x81.com", false},
      {"idn-hostname", "EXAMPLE.com", true},
      {"idn-hostname", "s\xC3\xA3o-paulo.sp.gov.br", true},
      {"idn-hostname", "\xF0\x9F\x98\x80.com", false},
      {"email", "a@b", true},
      {"email", "\"a\\\"b\"@c.d", true},
      {"email", "\"a@b", false},
      {"email", "a@b@c", false},
      {"email", "a@-b.c", false},
      {"email", "a@[IPv6:::1", false},
      {"email", "jo\xC3\xA3o@x.br", false},
      {"idn-email", "jo\xC3\xA3o@s\xC3\xA3o.br", true},
      {"email", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa@x.br", false},
  };
  ROWS_HOLD(rows);
}

static void uris_and_templates_hold_at_their_edges(void **state) {
  (void)state;
  static const row rows[] = {
      {"uri", "a:", true},
      {"uri", "http://", true},
      {"uri", "http://a:/", true},
      {"uri", "http://[::1]x", false},
      {"uri", "http://[v1.a:b]", true},
      {"uri", "http://[v.a]", false},
      {"uri", "http://[fe80::1%25eth0]", false},
      {"uri", "http://a@b@c", false},
      {"uri", "a:b#c#d", false},
      {"uri", "a:?#", true},
      {"uri", "http://a/%2", false},
      {"uri", "", false},
      {"uri-reference", "a/b:c", true},
      {"uri-reference", "?a:b", true},
      {"uri-reference", "%zz", false},
      {"iri", "http://a/\xEE\x80\x80", false},
      {"iri", "http://a/?\xEE\x80\x80", true},
      {"iri", "http://a/#\xEE\x80\x80", false},
      {"iri", "http://a/\xEF\xBF\xBE", false},
      {"uri", "urn:trilha:demanda.recebida:1", true},
      {"uri-template", "{a:9999}{b*}", true},
      {"uri-template", "{a:b}", false},
      {"uri-template", "{", false},
      {"uri-template", "{=a}", true},
      {"uri-template", "{a*:1}", false},
      {"uri-template", "%4", false},
      {"json-pointer", "/~", false},
      {"relative-json-pointer", "0", true},
      {"relative-json-pointer", "00", false},
      {"uuid", "2eb8aa08-aa98-11ea-b4aa-73b441d1638g", false},
      {"regex", "^a{2,1}$", false},
      {"regex", "(?<=a+)b", true},
  };
  ROWS_HOLD(rows);
}

static void unknown_formats_have_no_check(void **state) {
  (void)state;
  static const char *const names[] = {"", "unknown", "Date", "date-tim", "date-timee", "color"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) assert_null(trilha_format_find(trilha_text_of(names[i])));
}

static void every_prefix_and_every_byte_is_read_within_bounds(void **state) {
  (void)state;
  static const char *const names[] = {
      "date-time", "date",          "time", "duration",     "email",        "idn-email",
      "hostname",  "idn-hostname",  "ipv4", "ipv6",         "uri",          "uri-reference",
      "iri",       "iri-reference", "uuid", "uri-template", "json-pointer", "relative-json-pointer",
      "regex"};
  static const char *const texts[] = {"2016-12-31T23:59:60.1-00:00",
                                      "P1Y2M3DT4H5M6S",
                                      "\"q\\\"\"@[IPv6:1::2]",
                                      "xn--caf-dma.xn--zca",
                                      "u://a@[::1]:8/%20?#",
                                      "2eb8aa08-aa98-11ea-b4aa-73b441d16380",
                                      "{+a:12,b*}%41",
                                      "12/~0/~1#",
                                      "(?<a>[b-c]{1,2}\\k<a>)",
                                      "caf\xC3\xA9\xE3\x80\x82\xC3\xA9"};
  for (size_t n = 0; n < sizeof names / sizeof names[0]; n++)
    for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++)
      for (size_t size = 0; size <= strlen(texts[t]); size++) {
        if (trilha_utf8_boundary(texts[t], size) != size) continue;
        char *copy = malloc(size + (size == 0));
        assert_non_null(copy);
        memcpy(copy, texts[t], size);
        (void)trilha_format_find(trilha_text_of(names[n]))((trilha_text){copy, size});
        free(copy);
      }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_764_official_tests_of_formats_pass),
      cmocka_unit_test(times_and_durations_hold_at_their_edges),
      cmocka_unit_test(addresses_and_hosts_hold_at_their_edges),
      cmocka_unit_test(uris_and_templates_hold_at_their_edges),
      cmocka_unit_test(unknown_formats_have_no_check),
      cmocka_unit_test(every_prefix_and_every_byte_is_read_within_bounds),
  };
  return cmocka_run_group_tests_name("schema format", tests, NULL, NULL);
}
