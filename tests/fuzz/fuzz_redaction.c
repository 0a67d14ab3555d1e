/* fuzz: redaction of any payload: what is left is JSON, holds nothing that its rules do not let stay, is the same
 * however the payload was read, and redacting it again changes nothing. The first byte chooses the schema. */
#include <string.h>

#include "fuzz/fuzz.h"
#include "redaction/redaction.h"

#define HASH "{\"x-redacao\":\"hash\"}"
#define KEEP "{\"x-redacao\":\"manter\"}"
#define GONE "{\"x-redacao\":\"remover\"}"

enum { SCHEMAS = 4, MARKER_SIZE_MIN = 8, KEEPS_NOTHING = 2 };

/* The first KEEPS_NOTHING have no rule that lets a value stay. */
static const char *const SCHEMA_TEXTS[SCHEMAS] = {
    "{\"properties\":{\"a\":" HASH ",\"b\":" GONE
    ",\"c\":{\"$ref\":\"#\"},\"d\":{\"items\":{\"$ref\":\"#\"}},\"e\":{\"items\":" HASH "},\"f\":{}}}",
    "{\"anyOf\":[{\"properties\":{\"a\":" HASH ",\"b\":" HASH "}},{\"properties\":{\"b\":" GONE
    "}},{\"properties\":{\"c\":{\"$ref\":\"#\"}}}],"
    "\"additionalProperties\":" HASH ",\"patternProperties\":{\"^x\":" KEEP "}}",
    "{\"properties\":{\"a\":" KEEP
    ",\"b\":{\"x-redacao\":{\"arredondar\":2}},\"c\":{\"$ref\":\"#\"},\"d\":{\"items\":{\"$ref\":\"#\"}},"
    "\"e\":{\"items\":" KEEP "},\"f\":" HASH
    ",\"lat\":{\"x-redacao\":{\"arredondar\":2}},\"lng\":{\"x-redacao\":{\"arredondar\":2}}}}",
    "{\"x-redacao\":\"manter\",\"properties\":{\"a\":" GONE ",\"b\":" HASH ",\"c\":{\"$ref\":\"#\"},\"lat\":" GONE "}}",
};

static trilha_keyring *the_keyring(void) {
  static trilha_keyring *keyring;
  if (keyring != NULL) return keyring;
  setenv("TRILHA_FUZZ_KEYRING", "k1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8", 1);
  CHECK(trilha_keyring_load((trilha_text){"env:TRILHA_FUZZ_KEYRING", 23}, &keyring, NULL) == TRILHA_OK);
  return keyring;
}

static const trilha_schema *the_schema(unsigned n) {
  static trilha_schema *schemas[SCHEMAS];
  if (schemas[n] != NULL) return schemas[n];
  trilha_json_limits limits = TRILHA_JSON_LIMITS;
  trilha_json_document *document = NULL;
  trilha_schema_options options = {.check_metaschema = true, .annotation = TRILHA_TEXT(TRILHA_REDACTION_KEYWORD)};
  CHECK(trilha_json_parse(trilha_text_of(SCHEMA_TEXTS[n]), &limits, &document, NULL, NULL) == TRILHA_OK);
  CHECK(trilha_schema_compile(document, &options, &schemas[n], NULL) == TRILHA_OK);
  trilha_json_document_free(document);
  return schemas[n];
}

/* OK or LIMIT with the text in out; false when the payload is none that publish would redact. */
static bool redact(const trilha_schema *schema, trilha_text payload, bool with_keys, trilha_buffer *out) {
  trilha_json_reader *reader = NULL;
  trilha_schema_scratch *scratch = NULL;
  CHECK(trilha_json_reader_new(&reader, NULL) == TRILHA_OK && trilha_schema_scratch_new(&scratch, NULL) == TRILHA_OK);
  trilha_json_limits limits = {1 << 20, 255, 500};
  const trilha_json_keys *keys = with_keys ? trilha_schema_keys(schema) : NULL;
  const trilha_json_document *document = NULL;
  bool fine = trilha_json_read(reader, payload, &limits, keys, &document, NULL, NULL) == TRILHA_OK &&
              document->values[0].type == TRILHA_JSON_OBJECT &&
              trilha_json_check_storable(document, payload, NULL, NULL) == TRILHA_OK;
  if (fine) {
    trilha_redaction_counts counts = {0};
    trilha_error err = {0};
    trilha_status status =
        trilha_redact(schema, document, keys, scratch, TRILHA_TEXT("t"), the_keyring(), out, &counts, NULL, NULL, &err);
    fine = status == TRILHA_OK;
    CHECK(fine || status == TRILHA_LIMIT);
    CHECK(counts.removed_without_rule <= counts.removed);
  }
  trilha_schema_scratch_free(scratch);
  trilha_json_reader_free(reader);
  return fine;
}

/* Every string and number that is long enough to be told from chance must be gone. */
static void check_nothing_stayed(trilha_text payload, const trilha_buffer *out) {
  trilha_json_limits limits = TRILHA_JSON_LIMITS;
  trilha_json_document *document = NULL;
  CHECK(trilha_json_parse(payload, &limits, &document, NULL, NULL) == TRILHA_OK);
  for (size_t i = 0; i < document->count; i++) {
    const trilha_json_value *v = &document->values[i];
    if (v->type != TRILHA_JSON_STRING && v->type != TRILHA_JSON_NUMBER) continue;
    bool token = v->size > 3 && memcmp(v->u.text, "h1:", 3) == 0; /* the reserved form may stay */
    if (v->size >= MARKER_SIZE_MIN && !token && memchr(payload.data, ':', payload.size) != NULL)
      CHECK(memmem(payload.data, payload.size, "h1:", 3) != NULL ||
            memmem(out->data, out->size, v->u.text, v->size) == NULL);
  }
  trilha_json_document_free(document);
}

static void check_again(const trilha_schema *schema, const trilha_buffer *once) {
  trilha_buffer twice = {0};
  CHECK(redact(schema, trilha_buffer_text(once), true, &twice));
  CHECK(trilha_text_equal(trilha_buffer_text(once), trilha_buffer_text(&twice)));
  trilha_buffer_done(&twice);
}

void trilha_fuzz(const char *data, size_t size) {
  if (size == 0) return;
  unsigned n = (unsigned char)data[0] % SCHEMAS;
  const trilha_schema *schema = the_schema(n);
  trilha_text payload = {data + 1, size - 1};
  trilha_buffer with = {0}, without = {0};
  if (redact(schema, payload, true, &with)) {
    CHECK(trilha_utf8_valid(with.data, with.size));
    CHECK(redact(schema, payload, false, &without));
    CHECK(trilha_text_equal(trilha_buffer_text(&with), trilha_buffer_text(&without)));
    if (n < KEEPS_NOTHING) check_nothing_stayed(payload, &with);
    check_again(schema, &with);
  }
  trilha_buffer_done(&with);
  trilha_buffer_done(&without);
}
