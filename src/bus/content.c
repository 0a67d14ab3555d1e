/* bus/content: whether a repeated id came with the content that is stored (ruling R21). */
#include "base/error.h"
#include "base/uuid.h"
#include "bus/bus_internal.h"

/* name U+0000 value U+0000; no value holds U+0000, so no two lists of fields give the same bytes. */
static void add(trilha_buffer *out, const char *name, trilha_text value) {
  if (value.data == NULL) return;
  trilha_buffer_append(out, name, strlen(name) + 1);
  trilha_buffer_add_text(out, value);
  trilha_buffer_add_char(out, '\0');
}

static void add_uuid(trilha_buffer *out, const char *name, trilha_text given, const unsigned char id[16]) {
  char text[TRILHA_UUID_TEXT_SIZE];
  if (given.data == NULL) return;
  trilha_uuid_format(id, text);
  add(out, name, trilha_text_of(text));
}

/* Type, version and origin always; the rest only where the publisher gave it: a default is not content. */
static void add_fields(trilha_buffer *out, const trilha_publication *p, const trilha_event_row *row) {
  char stamp[TRILHA_TIMESTAMP_SIZE];
  add(out, "tipo", row->tipo);
  add(out, "versao_schema", row->versao_schema);
  add(out, "origem", row->origem);
  if (p->timestamp.data != NULL) {
    trilha_timestamp_format(row->timestamp_us, stamp);
    add(out, "timestamp", trilha_text_of(stamp));
  }
  add_uuid(out, "correlacao_id", p->correlacao_id, row->correlacao_id);
  add_uuid(out, "causation_id", p->causation_id, row->causation_id);
  add(out, "tenant_id", row->tenant_id);
  add(out, "company_id", row->company_id);
  add(out, "aggregate_type", row->aggregate_type);
  add(out, "aggregate_key", row->aggregate_key);
  if (p->aggregate_sequence > 0) {
    trilha_buffer_append(out, "aggregate_sequence", sizeof "aggregate_sequence");
    trilha_buffer_add_i64(out, p->aggregate_sequence);
    trilha_buffer_add_char(out, '\0');
  }
  add(out, "traceparent", p->traceparent); /* not the row's, which may be that of our own span */
  add(out, "tracestate", p->tracestate);
}

trilha_status trilha_digest(const trilha_bus *bus, const trilha_publication *publication, const trilha_event_row *row,
                            const trilha_json_value *payload, trilha_text kid, trilha_arena *arena,
                            trilha_text *ret_digest, trilha_error *err) {
  if (bus->keyring == NULL) return TRILHA_OK;
  TRILHA_BUFFER_SCOPED fields, digest;
  trilha_buffer_init(&fields, 0);
  trilha_buffer_init(&digest, 0);
  add_fields(&fields, publication, row);
  trilha_status status = trilha_buffer_check(&fields, err);
  if (status == TRILHA_OK)
    status = trilha_keyring_digest(bus->keyring, kid, trilha_buffer_text(&fields), payload, &digest, err);
  if (status == TRILHA_OK) status = trilha_buffer_check(&digest, err);
  if (status != TRILHA_OK) return status;
  char *copy = trilha_arena_copy(arena, trilha_buffer_text(&digest));
  if (copy == NULL) return trilha_error_no_memory(err);
  *ret_digest = (trilha_text){copy, digest.size};
  return TRILHA_OK;
}

static trilha_text kid_of(trilha_text digest) {
  const char *colon = trilha_text_find(digest, ':');
  return (trilha_text){digest.data, colon == NULL ? 0 : (size_t)(colon - digest.data)};
}

trilha_content trilha_compare_content(trilha_bus *bus, const trilha_preparation *p) {
  trilha_text stored = p->item->got.digest, sent = p->item->row.digest;
  if (stored.data == NULL || bus->keyring == NULL) return TRILHA_CONTENT_UNKNOWN;
  if (trilha_text_equal(stored, sent)) return TRILHA_CONTENT_SAME;
  trilha_text kid = kid_of(stored);
  if (kid.size == 0 || !trilha_keyring_has(bus->keyring, kid)) return TRILHA_CONTENT_UNKNOWN;
  if (sent.data != NULL && trilha_text_equal(kid, kid_of(sent))) return TRILHA_CONTENT_DIFFERENT;
  /* The row was signed by an older key: sign what was sent by that one. */
  trilha_json_document *document = NULL;
  trilha_json_limits limits = TRILHA_JSON_LIMITS;
  if (trilha_json_parse(p->publication->payload, &limits, &document, NULL, NULL) != TRILHA_OK)
    return TRILHA_CONTENT_UNKNOWN;
  trilha_arena *arena = &((trilha_result_memory *)p->result->memory)->arena;
  trilha_text again = {0};
  trilha_status status = trilha_digest(bus, p->publication, &p->item->row, document->values, kid, arena, &again, NULL);
  trilha_json_document_free(document);
  if (status != TRILHA_OK || again.data == NULL) return TRILHA_CONTENT_UNKNOWN;
  return trilha_text_equal(stored, again) ? TRILHA_CONTENT_SAME : TRILHA_CONTENT_DIFFERENT;
}
