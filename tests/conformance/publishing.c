/* tests/conformance: what the suites share. */
#include "conformance/publishing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "trilha/delivery.h"

const char trilha_test_schema[] =
    "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"type\":\"object\","
    "\"properties\":{\"n\":{\"type\":\"number\",\"x-redacao\":\"manter\"},"
    "\"texto\":{\"type\":\"string\",\"x-redacao\":\"hash\"},\"nome\":{\"type\":\"string\",\"x-redacao\":\"remover\"},"
    "\"peso\":{\"type\":\"number\",\"x-redacao\":{\"arredondar\":1}},"
    "\"canal\":{\"enum\":[\"app\",\"web\"],\"x-redacao\":\"manter\"},"
    "\"livre\":{\"x-redacao\":\"remover\"}},"
    "\"required\":[\"n\"],\"additionalProperties\":false}";

int64_t publish_number(trilha *handle, const char *tipo, int64_t number) {
  char payload[128];
  snprintf(payload, sizeof payload, "{\"n\":%lld,\"texto\":\"Rua das Flores\"}", (long long)number);
  trilha_publication p = {
      .tipo = trilha_text_of(tipo), .origem = TRILHA_TEXT("D-1a"), .payload = trilha_text_of(payload)};
  trilha_publish_result result;
  trilha_error err = {0};
  if (trilha_publish(handle, &p, &result, &err) != TRILHA_OK) fail_msg("%s: %s", err.code, err.text);
  int64_t sequence = result.event->sequence_number;
  trilha_publish_result_done(&result);
  return sequence;
}

void expect_refused(trilha *handle, const trilha_publication *publication, const char *code) {
  trilha_publish_result result;
  trilha_error err = {0};
  assert_int_not_equal(trilha_publish(handle, publication, &result, &err), TRILHA_OK);
  assert_string_equal(err.code, code);
  assert_string_equal(result.error.code, code);
  assert_null(result.event);
  trilha_publish_result_done(&result);
}

int64_t cursor_of(const trilha_fixture *f, const char *tipo) {
  char sql[160];
  snprintf(sql, sizeof sql, "SELECT last_sequence FROM %s WHERE tipo_evento = '%s'",
           f->is_postgres ? "d4.consumer_offset" : "d4_consumer_offset", tipo);
  return trilha_fixture_count(f, sql);
}

size_t count_letters_with(trilha *handle, const char *status) {
  trilha_dead_letters *found = NULL;
  trilha_dead_letters_filter filter = {.status = trilha_text_of(status)};
  assert_int_equal(trilha_dead_letters_query(handle, &filter, &found, NULL), TRILHA_OK);
  size_t count = found->count;
  trilha_dead_letters_free(found);
  return count;
}
