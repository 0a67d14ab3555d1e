/* cli/request: one publish request from one line of JSON. */
#include <stdlib.h>

#include "base/error.h"
#include "cli/publish_internal.h"

/* Members that are texts, by the place they go to. */
static const struct {
  const char *name;
  size_t offset;
} members[] = {
    {"tipo", offsetof(trilha_publication, tipo)},
    {"origem", offsetof(trilha_publication, origem)},
    {"event_id", offsetof(trilha_publication, event_id)},
    {"versao_schema", offsetof(trilha_publication, versao_schema)},
    {"timestamp", offsetof(trilha_publication, timestamp)},
    {"correlacao_id", offsetof(trilha_publication, correlacao_id)},
    {"tenant_id", offsetof(trilha_publication, tenant_id)},
    {"company_id", offsetof(trilha_publication, company_id)},
    {"aggregate_type", offsetof(trilha_publication, aggregate_type)},
    {"aggregate_key", offsetof(trilha_publication, aggregate_key)},
    {"causation_id", offsetof(trilha_publication, causation_id)},
    {"traceparent", offsetof(trilha_publication, traceparent)},
    {"tracestate", offsetof(trilha_publication, tracestate)},
    {"payload", 0},            /* not a text: see take_member() */
    {"aggregate_sequence", 0}, /* likewise */
};
enum { MEMBERS = sizeof members / sizeof members[0] };

static const char *nth_member(const void *user, size_t i) {
  (void)user;
  return i < MEMBERS ? members[i].name : NULL;
}

static bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Where a key's string begins in the source, its opening quote included. */
static size_t key_start(const trilha_json_document *document, const trilha_json_value *key) {
  return (size_t)(key->u.text - document->text) - 1;
}

/* Behind the closing quote of the string whose opening quote is at `at`. */
static size_t string_end(trilha_text source, size_t at) {
  for (at++; source.data[at] != '"'; at++) {
    if (source.data[at] == '\\') at++;
  }
  return at + 1;
}

/* The source text of a member's value. The document is valid, so only blanks, one ':' and one ',' or '}' surround it.
 * `next` is the following key or NULL. */
static trilha_text value_source(const trilha_json_document *document, trilha_text source, const trilha_json_value *key,
                                const trilha_json_value *next) {
  size_t start = string_end(source, key_start(document, key)),
         end = next == NULL ? source.size : key_start(document, next);
  while (is_blank(source.data[start])) start++;
  start++; /* the colon */
  while (is_blank(source.data[start])) start++;
  while (is_blank(source.data[end - 1])) end--;
  end--; /* the comma, or the brace that ends the request */
  while (is_blank(source.data[end - 1])) end--;
  return (trilha_text){source.data + start, end - start};
}

static uint32_t column_of(trilha_text source, size_t offset) {
  return (uint32_t)trilha_utf8_length(source.data, offset) + 1;
}

/* The name itself is not repeated: a line that is no request may hold anything. */
static trilha_status unknown(trilha_text source, size_t offset, trilha_text name, trilha_error *error) {
  char typed[64];
  const char *near = NULL;
  if (name.size > 0 && name.size < sizeof typed && trilha_text_find(name, '\0') == NULL) {
    memcpy(typed, name.data, name.size);
    typed[name.size] = '\0';
    near = trilha_cli_nearest(typed, nth_member, NULL);
  }
  if (near != NULL) {
    return trilha_error_set(error, TRILHA_INVALID, "REQUEST_MEMBER_UNKNOWN",
                            "unknown member at column %u; did you mean \"%s\"?", column_of(source, offset), near);
  }
  return trilha_error_set(error, TRILHA_INVALID, "REQUEST_MEMBER_UNKNOWN", "unknown member at column %u of the request",
                          column_of(source, offset));
}

static trilha_status take_sequence(trilha_publication *p, const trilha_json_value *value, trilha_error *error) {
  bool small = value->type == TRILHA_JSON_NUMBER && (value->flags & TRILHA_JSON_SMALL) != 0;
  if (value->type == TRILHA_JSON_STRING && value->size < 20) { /* as it is written in answers */
    char digits[20];
    memcpy(digits, value->u.text, value->size);
    digits[value->size] = '\0';
    if (trilha_cli_whole_number(digits, &p->aggregate_sequence) && p->aggregate_sequence > 0) return TRILHA_OK;
  } else if (small && trilha_json_small(value) > 0) {
    p->aggregate_sequence = trilha_json_small(value);
    return TRILHA_OK;
  }
  return trilha_error_set(error, TRILHA_INVALID, "REQUEST_MEMBER_TYPE",
                          "member \"aggregate_sequence\" must be a whole number from 1");
}

static trilha_status take_member(trilha_publication *p, size_t which, const trilha_json_value *value,
                                 trilha_text source, trilha_error *error) {
  const char *name = members[which].name;
  if (strcmp(name, "payload") == 0) {
    p->payload = source;
    return TRILHA_OK;
  }
  if (value->type == TRILHA_JSON_NULL) return TRILHA_OK; /* as if it were absent */
  if (strcmp(name, "aggregate_sequence") == 0) return take_sequence(p, value, error);
  if (value->type != TRILHA_JSON_STRING) {
    return trilha_error_set(error, TRILHA_INVALID, "REQUEST_MEMBER_TYPE", "member \"%s\" must be a string", name);
  }
  *(trilha_text *)(void *)((char *)p + members[which].offset) = trilha_json_text(value);
  return TRILHA_OK;
}

static trilha_status take_members(trilha_cli_request *request, trilha_text source, trilha_error *error) {
  const trilha_json_document *document = request->document;
  const trilha_json_value *root = document->values, *key = root + 1, *end = root + root->u.extent;
  bool seen[MEMBERS] = {false};
  while (key < end) {
    const trilha_json_value *value = key + 1, *next = trilha_json_next(value);
    size_t which = 0;
    while (which < MEMBERS && !trilha_json_is(key, members[which].name)) which++;
    size_t at = key_start(document, key);
    if (which == MEMBERS) return unknown(source, at, trilha_json_text(key), error);
    if (seen[which]) {
      return trilha_error_set(error, TRILHA_INVALID, "JSON_DUPLICATE_KEY",
                              "member \"%s\" appears twice, again at column %u", members[which].name,
                              column_of(source, at));
    }
    seen[which] = true;
    trilha_text spelled = value_source(document, source, key, next < end ? next : NULL);
    trilha_status status = take_member(&request->publication, which, value, spelled, error);
    if (status != TRILHA_OK) return status;
    key = next;
  }
  return TRILHA_OK;
}

void trilha_cli_request_read(int64_t line, trilha_text text, trilha_cli_request *ret_request) {
  *ret_request = (trilha_cli_request){.line = line, .text = malloc(text.size + 1)};
  trilha_error *error = &ret_request->error;
  if (ret_request->text == NULL) {
    trilha_error_no_memory(error);
    return;
  }
  memcpy(ret_request->text, text.data, text.size);
  ret_request->text[text.size] = '\0';
  trilha_text source = {ret_request->text, text.size};
  while (source.size > 0 && is_blank(source.data[source.size - 1])) source.size--;
  trilha_json_limits limits = TRILHA_JSON_LIMITS;
  if (trilha_json_parse(source, &limits, &ret_request->document, NULL, error) != TRILHA_OK) return;
  if (ret_request->document->values[0].type != TRILHA_JSON_OBJECT) {
    trilha_error_set(error, TRILHA_INVALID, "REQUEST_NOT_OBJECT", "a request must be a JSON object");
    return;
  }
  (void)take_members(ret_request, source, error);
}

void trilha_cli_request_done(trilha_cli_request *request) {
  trilha_json_document_free(request->document);
  free(request->text);
  *request = (trilha_cli_request){0};
}
