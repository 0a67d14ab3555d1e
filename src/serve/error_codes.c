/* serve: which status a code of an answer has, and by which rule: what `trilha errors list` prints, without the
 * reasons, which are for those who read the code. */
#include "json/json.h"
#include "serve/serve_internal.h"

enum { OTHERWISE = 400 };

static void add_row(trilha_buffer *out, bool first, const char *code, unsigned status, const char *rule) {
  trilha_buffer_add_string(out, first ? "{" : ",{");
  trilha_add_member(out, true, "code", code);
  trilha_buffer_add_format(out, ",\"status\":%u", status);
  trilha_add_member(out, false, "rule", rule);
  trilha_buffer_add_char(out, '}');
}

void trilha_api_error_codes(trilha_call *call) {
  trilha_buffer *out = &call->answer->body;
  const trilha_error_mapping *mapping = NULL;
  const char *suffix = NULL;
  unsigned status = 0;
  if (!trilha_api_no_parameters(call)) return;
  trilha_buffer_add_string(out, "{\"linhas\":[");
  size_t rows = 0;
  for (size_t i = 0; (mapping = trilha_error_map_at(call->serve->errors, i)) != NULL; i++)
    add_row(out, rows++ == 0, mapping->code, mapping->status, "exact");
  for (size_t i = 0; (suffix = trilha_error_suffix_at(i, &status)) != NULL; i++)
    add_row(out, rows++ == 0, suffix, status, "suffix");
  add_row(out, rows == 0, "*", OTHERWISE, "otherwise");
  trilha_buffer_add_string(out, "]}\n");
  call->answer->status = 200;
  call->answer->content_type = "application/json";
}
