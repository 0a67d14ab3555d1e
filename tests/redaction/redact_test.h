/* redaction tests: a schema, a payload and what is left of it. */
#ifndef TRILHA_TESTS_REDACT_TEST_H
#define TRILHA_TESTS_REDACT_TEST_H

#include "redaction_test.h"

typedef struct outcome {
  trilha_status status;
  trilha_error err;
  trilha_redaction_counts counts;
  char text[16384];   /* the redacted payload */
  char unruled[4096]; /* pointers of leaves without a rule, one a line */
} outcome;

static inline void note_unruled(void *user, trilha_text pointer) {
  outcome *o = user;
  size_t used = strlen(o->unruled);
  if (used + pointer.size + 2 < sizeof o->unruled)
    snprintf(o->unruled + used, sizeof o->unruled - used, "%.*s\n", (int)pointer.size, pointer.data);
}

static inline trilha_schema *schema_of(const char *text) {
  trilha_json_document *document = document_of(text);
  trilha_schema_options options = {
      .assert_format = true, .check_metaschema = true, .annotation = TRILHA_TEXT(TRILHA_REDACTION_KEYWORD)};
  trilha_schema *schema = NULL;
  trilha_error err = {0};
  if (trilha_schema_compile(document, &options, &schema, &err) != TRILHA_OK) fail_msg("%s: %s", text, err.text);
  trilha_json_document_free(document);
  return schema;
}

/* Redacts `payload` as an event of type "t". `read_with_keys`: as publish does. */
static inline void redact_with(const char *schema_text, trilha_text payload, const trilha_keyring *keyring,
                               bool read_with_keys, outcome *ret) {
  memset(ret, 0, sizeof *ret);
  trilha_schema *schema = schema_of(schema_text);
  trilha_schema_scratch *scratch = NULL;
  trilha_json_reader *reader = NULL;
  const trilha_json_document *document = NULL;
  assert_int_equal(trilha_schema_scratch_new(&scratch, NULL), TRILHA_OK);
  assert_int_equal(trilha_json_reader_new(&reader, NULL), TRILHA_OK);
  const trilha_json_keys *keys = read_with_keys ? trilha_schema_keys(schema) : NULL;
  trilha_json_limits limits = TRILHA_JSON_LIMITS;
  if (trilha_json_read(reader, payload, &limits, keys, &document, NULL, &ret->err) != TRILHA_OK)
    fail_msg("%s", ret->err.text);
  trilha_buffer out = {0};
  ret->status = trilha_redact(schema, document, keys, scratch, TRILHA_TEXT("t"), keyring, &out, &ret->counts,
                              note_unruled, ret, &ret->err);
  if (out.data != NULL) snprintf(ret->text, sizeof ret->text, "%s", out.data);
  trilha_buffer_done(&out);
  trilha_json_reader_free(reader);
  trilha_schema_scratch_free(scratch);
  trilha_schema_free(schema);
}

static inline void redact(const char *schema, const char *payload, const trilha_keyring *keyring, outcome *ret) {
  redact_with(schema, trilha_text_of(payload), keyring, true, ret);
  if (ret->status != TRILHA_OK) fail_msg("%s under %s: %s", payload, schema, ret->err.text);
}

static inline void expect(const char *schema, const char *payload, const char *left) {
  outcome o;
  redact(schema, payload, NULL, &o);
  if (strcmp(o.text, left) != 0) fail_msg("%s under %s gave %s, not %s", payload, schema, o.text, left);
}

#endif
