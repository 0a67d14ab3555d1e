/* cli/json_output: JSON strings on an output. */
#include "cli/cli_internal.h"
#include "json/json.h"

void trilha_cli_put_json_string(trilha_cli_output *o, trilha_text text) {
  TRILHA_BUFFER_SCOPED json, escaped;
  trilha_buffer_init(&json, 0);
  trilha_buffer_init(&escaped, 0);
  if (!trilha_utf8_valid(text.data, text.size)) { /* a file's name, say: JSON has no bytes */
    trilha_cli_escape(&escaped, text);
    text = trilha_buffer_text(&escaped);
  }
  trilha_json_write_string(&json, text);
  trilha_cli_put_json(o, trilha_buffer_text(&json));
}

void trilha_cli_put_json_member(trilha_cli_output *o, bool first, const char *name, trilha_text text) {
  trilha_cli_putf(o, "%s\"%s\":", first ? "" : ",", name);
  if (text.data == NULL) {
    trilha_cli_puts(o, "null");
  } else {
    trilha_cli_put_json_string(o, text);
  }
}
