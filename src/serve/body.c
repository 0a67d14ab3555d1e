/* serve: bodies of requests: one JSON object with the members that a route knows. */
#include <stdio.h>
#include <strings.h>

#include "serve/serve_internal.h"

enum { DETAIL_SIZE = 200, DEPTH_MOST = 8, NUMBER_SIZE_MOST = 32 };

static bool is_json(const trilha_http_request *request) {
  static const char json[] = "application/json";
  trilha_text type = trilha_http_header_value(request, "Content-Type");
  size_t size = sizeof json - 1;
  return type.size >= size && strncasecmp(type.data, json, size) == 0 &&
         (type.size == size || type.data[size] == ';' || type.data[size] == ' ');
}

static bool refuse(trilha_call *call, const char *name, const char *why) {
  char detail[DETAIL_SIZE];
  snprintf(detail, sizeof detail, "%s %s", name, why);
  trilha_answer_problem(call->answer, 400, "REQUEST_INVALID", detail);
  return false;
}

static bool refuse_text(trilha_call *call, const trilha_member *member, size_t most) {
  char why[64];
  snprintf(why, sizeof why, "must be a text of 1 to %zu characters", most);
  return refuse(call, member->name, why);
}

static bool take(trilha_call *call, const trilha_json_value *value, trilha_member *member) {
  size_t most = member->chars_max == 0 ? TRILHA_SERVE_TEXT_CHARS_MAX : member->chars_max;
  member->given = true;
  switch (member->kind) {
    case TRILHA_MEMBER_TEXT:
      if (value->type != TRILHA_JSON_STRING || value->size == 0 || trilha_json_string_length(value) > most)
        return refuse_text(call, member, most);
      member->text = trilha_json_text(value);
      return true;
    case TRILHA_MEMBER_NUMBER:
      if (value->type != TRILHA_JSON_NUMBER || (value->flags & TRILHA_JSON_SMALL) == 0 || trilha_json_small(value) < 1)
        return refuse(call, member->name, "must be a whole number from 1");
      member->number = trilha_json_small(value);
      return true;
    default:
      if (value->type != TRILHA_JSON_TRUE && value->type != TRILHA_JSON_FALSE)
        return refuse(call, member->name, "must be true or false");
      member->truth = value->type == TRILHA_JSON_TRUE;
      return true;
  }
}

static trilha_member *find(trilha_member *members, size_t count, trilha_text name) {
  for (size_t i = 0; i < count; i++)
    if (trilha_text_is(name, members[i].name)) return &members[i];
  return NULL;
}

static bool take_all(trilha_call *call, const trilha_json_value *root, trilha_member *members, size_t count) {
  const trilha_json_value *key = root + 1;
  for (size_t i = 0; i < root->size; i++, key = trilha_json_next(key + 1)) {
    trilha_member *member = find(members, count, trilha_json_text(key));
    if (member == NULL) return refuse(call, "the body", "has a member that this route does not know");
    if (!take(call, key + 1, member)) return false;
  }
  for (size_t i = 0; i < count; i++)
    if (members[i].needed && !members[i].given) return refuse(call, members[i].name, "is needed in the body");
  return true;
}

bool trilha_api_body(trilha_call *call, trilha_member *members, size_t count, trilha_json_document **ret_document) {
  trilha_text body = call->request->body;
  const trilha_json_limits limits = {body.size + 1, DEPTH_MOST, NUMBER_SIZE_MOST};
  if (!is_json(call->request)) {
    trilha_answer_problem(call->answer, 415, "CONTENT_TYPE_UNSUPPORTED", "the body is application/json");
    return false;
  }
  if (trilha_json_parse(body, &limits, ret_document, NULL, NULL) != TRILHA_OK ||
      trilha_json_check_storable(*ret_document, body, NULL, NULL) != TRILHA_OK ||
      (*ret_document)->values->type != TRILHA_JSON_OBJECT)
    return refuse(call, "the body", "must be one JSON object in which no name stands twice");
  return take_all(call, (*ret_document)->values, members, count);
}
