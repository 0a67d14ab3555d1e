/* fuzz: the rules of any schema are judged; one that registration would accept redacts a payload that fits it, to JSON.
 */
#include <string.h>

#include "fuzz/fuzz.h"
#include "redaction/redaction.h"

static const char PAYLOAD[] =
    "{\"a\":\"x\",\"b\":[1.255,{\"a\":null}],\"lat\":-23.5505,\"lng\":-46.6333,\"c\":{\"d\":true,\"12345678909\":1}}";

static void redact(const trilha_schema *schema) {
  trilha_json_limits limits = TRILHA_JSON_LIMITS;
  trilha_json_document *payload = NULL, *left = NULL;
  trilha_schema_scratch *scratch = NULL;
  trilha_buffer out = {0};
  trilha_error err = {0};
  CHECK(trilha_json_parse(trilha_text_of(PAYLOAD), &limits, &payload, NULL, NULL) == TRILHA_OK);
  CHECK(trilha_schema_scratch_new(&scratch, NULL) == TRILHA_OK);
  trilha_status status =
      trilha_redact(schema, payload, NULL, scratch, TRILHA_TEXT("t"), NULL, &out, NULL, NULL, NULL, &err);
  CHECK(status == TRILHA_OK || status == TRILHA_LIMIT || status == TRILHA_INVALID);
  if (status == TRILHA_OK) CHECK(trilha_json_parse(trilha_buffer_text(&out), &limits, &left, NULL, NULL) == TRILHA_OK);
  trilha_json_document_free(left);
  trilha_json_document_free(payload);
  trilha_schema_scratch_free(scratch);
  trilha_buffer_done(&out);
}

void trilha_fuzz(const char *data, size_t size) {
  trilha_json_limits limits = {1 << 16, 255, 500};
  trilha_json_document *document = NULL;
  trilha_text text = {data, size};
  if (trilha_json_parse(text, &limits, &document, NULL, NULL) != TRILHA_OK) return;
  bool needs_key = false;
  trilha_error err = {0};
  if (trilha_json_check_storable(document, text, NULL, NULL) == TRILHA_OK) {
    trilha_status rules = trilha_redaction_check(document, &needs_key, &err);
    CHECK(rules == TRILHA_OK || (rules == TRILHA_INVALID && strncmp(err.code, "REDACTION_", 10) == 0));
    trilha_schema *schema = NULL;
    trilha_schema_options options = {.check_metaschema = true, .annotation = TRILHA_TEXT(TRILHA_REDACTION_KEYWORD)};
    if (trilha_schema_compile(document, &options, &schema, NULL) == TRILHA_OK) redact(schema);
    trilha_schema_free(schema);
  }
  trilha_json_document_free(document);
}
