/* fuzz: exact arithmetic on two JSON numbers, one a line: order, canonical spelling, rounding and multiples agree. */
#include <string.h>

#include "fuzz/fuzz.h"
#include "json/number.h"

enum { STEPS_MAX = 100000 };

static bool is_number(trilha_text text) {
  static const trilha_json_limits limits = {4096, 1, 500};
  trilha_json_document *document = NULL;
  if (trilha_json_parse(text, &limits, &document, NULL, NULL) != TRILHA_OK) return false;
  bool number = document->values[0].type == TRILHA_JSON_NUMBER && document->values[0].size == text.size;
  trilha_json_document_free(document);
  return number;
}

static bool canonical(trilha_buffer *out, trilha_text a) {
  trilha_error err = {0};
  return trilha_number_write_canonical(out, a, &err) == TRILHA_OK;
}

static void alone(trilha_text a) {
  int64_t value;
  trilha_buffer once = {0}, twice = {0};
  CHECK(trilha_number_compare(a, a) == 0);
  if (trilha_number_to_i64(a, &value)) CHECK(trilha_number_is_integer(a));
  if (canonical(&once, a)) {
    trilha_text spelled = trilha_buffer_text(&once);
    CHECK(is_number(spelled) && trilha_number_compare(a, spelled) == 0);
    CHECK(canonical(&twice, spelled) && trilha_text_equal(spelled, trilha_buffer_text(&twice)));
  }
  trilha_buffer_done(&once);
  trilha_buffer_done(&twice);
}

static void rounded(trilha_text a, unsigned places) {
  trilha_buffer once = {0}, twice = {0};
  trilha_error err = {0};
  if (trilha_number_write_rounded(&once, a, places, &err) == TRILHA_OK) {
    trilha_text spelled = trilha_buffer_text(&once);
    CHECK(is_number(spelled) && !trilha_text_is(spelled, "-0"));
    CHECK(trilha_number_write_rounded(&twice, spelled, places, &err) == TRILHA_OK);
    CHECK(trilha_text_equal(spelled, trilha_buffer_text(&twice)));
  }
  trilha_buffer_done(&once);
  trilha_buffer_done(&twice);
}

static void pair(trilha_text a, trilha_text b) {
  int order = trilha_number_compare(a, b), back = trilha_number_compare(b, a);
  CHECK((order < 0) == (back > 0) && (order == 0) == (back == 0));
  trilha_buffer one = {0}, other = {0};
  if (canonical(&one, a) && canonical(&other, b))
    CHECK((order == 0) == trilha_text_equal(trilha_buffer_text(&one), trilha_buffer_text(&other)));
  trilha_buffer_done(&one);
  trilha_buffer_done(&other);
  if (trilha_number_compare(b, TRILHA_TEXT("0")) <= 0) return;
  int multiple = trilha_number_is_multiple(a, b, STEPS_MAX);
  CHECK(multiple >= -1 && multiple <= 1);
  int64_t x, y;
  if (multiple >= 0 && trilha_number_to_i64(a, &x) && trilha_number_to_i64(b, &y))
    CHECK((x % y == 0) == (multiple == 1));
}

void trilha_fuzz(const char *data, size_t size) {
  const char *line = size == 0 ? NULL : memchr(data, '\n', size);
  trilha_text a = {data, line == NULL ? size : (size_t)(line - data)};
  trilha_text b = {line == NULL ? "" : line + 1, line == NULL ? 0 : size - a.size - 1};
  if (!is_number(a)) return;
  alone(a);
  for (unsigned places = 0; places < 8; places += 3) rounded(a, places);
  if (is_number(b)) pair(a, b);
}
