/* serve: the parameters of a route. */
#include "serve/serve_internal.h"

static bool refuse(trilha_call *call, const char *why) {
  trilha_answer_problem(call->answer, 400, "PARAMETER_INVALID", why);
  return false;
}

/* Digits alone, in 64 bits. */
static bool number_of(trilha_text text, int64_t *ret_number) {
  if (text.size == 0 || text.size > 18) return false;
  int64_t number = 0;
  for (size_t i = 0; i < text.size; i++) {
    if (text.data[i] < '0' || text.data[i] > '9') return false;
    number = number * 10 + (text.data[i] - '0');
  }
  *ret_number = number;
  return true;
}

static trilha_parameter *find(trilha_parameter *parameters, size_t count, trilha_text name) {
  for (size_t i = 0; i < count; i++)
    if (trilha_text_is(name, parameters[i].name)) return &parameters[i];
  return NULL;
}

/* `memory` never moves: room for the whole query was made beforehand, and decoding only shortens. */
static bool decode(trilha_text text, trilha_buffer *memory, trilha_text *ret_text) {
  size_t from = memory->size;
  if (!trilha_http_decode(text, true, memory)) return false;
  *ret_text = (trilha_text){memory->data + from, memory->size - from};
  trilha_buffer_add_char(memory, '\n');
  return true;
}

bool trilha_api_no_parameters(trilha_call *call) {
  return call->request->query.size == 0 || refuse(call, "this route knows no parameters");
}

bool trilha_api_parameters(trilha_call *call, trilha_parameter *parameters, size_t count, trilha_buffer *memory) {
  trilha_text query = call->request->query, name, value;
  size_t at = 0;
  if (!trilha_buffer_reserve(memory, 2 * query.size + 16)) return refuse(call, "the query is too long");
  while (trilha_http_query_next(query, &at, &name, &value)) {
    if (!decode(name, memory, &name) || !decode(value, memory, &value))
      return refuse(call, "the query is not percent-encoded UTF-8");
    trilha_parameter *p = find(parameters, count, name);
    if (p == NULL) return refuse(call, "the query has a parameter that this route does not know");
    if (p->given) return refuse(call, "a parameter was given twice");
    p->given = true;
    p->text = value;
    if (p->is_number && (!number_of(value, &p->number) || p->number < p->least))
      return refuse(call, "a parameter that wants a whole number has another value, or one that is too small");
  }
  return true;
}
