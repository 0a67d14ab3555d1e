/* otlp/headers: the option's headers, and the collector's answer. */
#include <stdlib.h>

#include "base/error.h"
#include "json/json.h"
#include "otlp/otlp_internal.h"

/* --- headers: W3C Baggage's form, "name=value,name=value" ---------------------------------------------------- */

static trilha_status bad(trilha_error *err) { /* the text may hold a secret: none of it is repeated */
  return trilha_error_set(err, TRILHA_USAGE, "OTLP_HEADERS",
                          "headers are given as name=value,name=value with percent-encoded values, at most %d of them",
                          TRILHA_OTLP_HEADERS_MAX);
}

static trilha_text trimmed(trilha_text text) {
  while (text.size > 0 && text.data[0] == ' ') text.data++, text.size--;
  while (text.size > 0 && text.data[text.size - 1] == ' ') text.size--;
  return text;
}

static bool is_token(trilha_text name) { /* RFC 9110, section 5.6.2 */
  static const char others[] = "!#$%&'*+-.^_`|~";
  for (size_t i = 0; i < name.size; i++) {
    char c = name.data[i];
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!letter && (c == '\0' || strchr(others, c) == NULL)) return false;
  }
  return name.size > 0;
}

static int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* False: a broken escape, or a byte that a header cannot hold. */
static bool add_decoded(trilha_buffer *line, trilha_text value) {
  for (size_t i = 0; i < value.size; i++) {
    int c = (unsigned char)value.data[i];
    if (c == '%') {
      int high = value.size - i > 2 ? hex(value.data[i + 1]) : -1, low = high < 0 ? -1 : hex(value.data[i + 2]);
      if (low < 0) return false;
      c = high << 4 | low;
      i += 2;
    }
    if (c < ' ' || c > '~') return false;
    trilha_buffer_add_char(line, (char)c);
  }
  return true;
}

static trilha_status read_one(trilha_text pair, char **ret_line, trilha_error *err) {
  const char *equals = trilha_text_find(pair, '=');
  if (equals == NULL) return bad(err);
  trilha_text name = trimmed((trilha_text){pair.data, (size_t)(equals - pair.data)});
  trilha_text value = trimmed((trilha_text){equals + 1, pair.size - (size_t)(equals + 1 - pair.data)});
  TRILHA_BUFFER_SCOPED line;
  trilha_buffer_init(&line, 0);
  trilha_buffer_add_text(&line, name);
  trilha_buffer_add_string(&line, ": ");
  if (!is_token(name) || value.size == 0 || !add_decoded(&line, value)) return bad(err);
  trilha_status status = trilha_buffer_check(&line, err);
  if (status != TRILHA_OK) return status;
  *ret_line = trilha_buffer_take(&line, NULL);
  return *ret_line == NULL ? trilha_error_no_memory(err) : TRILHA_OK;
}

trilha_status trilha_otlp_read_headers(const char *text, char *lines[TRILHA_OTLP_HEADERS_MAX], size_t *ret_count,
                                       trilha_error *err) {
  *ret_count = 0;
  trilha_text left = trilha_text_of(text);
  while (left.size > 0) {
    const char *comma = trilha_text_find(left, ',');
    trilha_text pair = {left.data, comma == NULL ? left.size : (size_t)(comma - left.data)};
    left.data += pair.size + (comma != NULL);
    left.size -= pair.size + (comma != NULL);
    if (trimmed(pair).size == 0) continue;
    if (*ret_count == TRILHA_OTLP_HEADERS_MAX) return bad(err);
    trilha_status status = read_one(pair, &lines[*ret_count], err);
    if (status != TRILHA_OK) return status;
    ++*ret_count;
  }
  return TRILHA_OK;
}

/* --- the answer -------------------------------------------------------------------------------------------------- */

int64_t trilha_otlp_rejected(trilha_text answer) {
  trilha_json_limits limits = {TRILHA_OTLP_ANSWER_BYTES_MAX, 16, 32};
  trilha_json_document *document = NULL;
  int64_t rejected = 0;
  if (trilha_json_parse(answer, &limits, &document, NULL, NULL) != TRILHA_OK) return 0;
  const trilha_json_value *partial = trilha_json_member(document->values, "partialSuccess");
  const trilha_json_value *count = trilha_json_member(partial, "rejectedSpans");
  if (count != NULL && (count->type == TRILHA_JSON_STRING || count->type == TRILHA_JSON_NUMBER))
    for (size_t i = 0; i < count->size && i < 9; i++) {
      char c = count->u.text[i];
      rejected = c >= '0' && c <= '9' && rejected >= 0 ? rejected * 10 + (c - '0') : -1;
    }
  trilha_json_document_free(document);
  return rejected > 0 ? rejected : 0;
}
