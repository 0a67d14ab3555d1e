/* relay/wire: what a mapper makes of a message: headers and a body, checked before any of it goes out. */
#include <stdlib.h>

#include "base/error.h"
#include "relay/relay.h"

typedef struct piece { /* of `text`, whose memory may move while it grows */
  size_t at, size;
} piece;

struct trilha_wire {
  trilha_buffer text;
  piece names[TRILHA_WIRE_HEADERS_MAX], values[TRILHA_WIRE_HEADERS_MAX];
  piece content_type, body;
  size_t count;
  bool has_body, invalid;
};

trilha_wire *trilha_wire_new(void) {
  trilha_wire *wire = calloc(1, sizeof *wire);
  if (wire != NULL) trilha_buffer_init(&wire->text, 0);
  return wire;
}

void trilha_wire_free(trilha_wire *wire) {
  if (wire == NULL) return;
  trilha_buffer_done(&wire->text);
  free(wire);
}

static piece keep(trilha_wire *wire, trilha_text text) {
  piece kept = {wire->text.size, text.size};
  trilha_buffer_append(&wire->text, text.data, text.size);
  return kept;
}

static trilha_text text_of(const trilha_wire *wire, piece p) {
  return (trilha_text){trilha_buffer_text(&wire->text).data + p.at, p.size};
}

/* A line feed or a byte outside ASCII in a header would be another header, or another value, at the other end. */
static bool is_name(trilha_text name) {
  for (size_t i = 0; i < name.size; i++) {
    char c = name.data[i];
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-')) return false;
  }
  return name.size > 0;
}

static bool is_value(trilha_text value) {
  for (size_t i = 0; i < value.size; i++)
    if (value.data[i] < ' ' || value.data[i] > '~') return false;
  return true;
}

void trilha_wire_header(trilha_wire *wire, trilha_text name, trilha_text value) {
  if (wire == NULL) return;
  if (wire->count == TRILHA_WIRE_HEADERS_MAX || !is_name(name) || !is_value(value)) {
    wire->invalid = true;
    return;
  }
  wire->names[wire->count] = keep(wire, name);
  wire->values[wire->count++] = keep(wire, value);
}

void trilha_wire_body(trilha_wire *wire, trilha_text content_type, trilha_text body) {
  if (wire == NULL) return;
  if (wire->has_body || !is_value(content_type) || content_type.size == 0) {
    wire->invalid = true;
    return;
  }
  wire->content_type = keep(wire, content_type);
  wire->body = keep(wire, body);
  wire->has_body = true;
}

trilha_text trilha_wire_header_at(const trilha_wire *wire, size_t index, trilha_text *ret_value) {
  if (wire == NULL || index >= wire->count) return (trilha_text){0};
  if (ret_value != NULL) *ret_value = text_of(wire, wire->values[index]);
  return text_of(wire, wire->names[index]);
}

trilha_text trilha_wire_content(const trilha_wire *wire, trilha_text *ret_content_type) {
  if (wire == NULL || !wire->has_body) return (trilha_text){0};
  if (ret_content_type != NULL) *ret_content_type = text_of(wire, wire->content_type);
  return text_of(wire, wire->body);
}

/* A form that a message does not fit into now, it does not fit into later: only what is the machine's passes. */
static trilha_status refuse(trilha_status status, trilha_error *own, trilha_error *err) {
  if (own->code[0] == '\0') {
    trilha_error_clear(own);
    trilha_error_set(own, status, "MAPPING_REFUSED", "the mapper refused the message (%s) and gave no reason",
                     trilha_status_name(status));
  }
  own->status = status == TRILHA_NO_MEMORY || status == TRILHA_UNAVAILABLE ? status : TRILHA_INVALID;
  return trilha_error_copy(err, own);
}

trilha_status trilha_event_mapper_apply(const trilha_event_mapper *mapper, const trilha_envelope *envelope,
                                        trilha_wire *wire, trilha_error *err) {
  if (envelope == NULL || wire == NULL)
    return trilha_error_set(err, TRILHA_USAGE, "ARGUMENT_MISSING", "the envelope and the wire are needed");
  bool named = mapper != NULL && mapper->map != NULL;
  trilha_buffer_clear(&wire->text);
  wire->count = 0;
  wire->has_body = wire->invalid = false;
  trilha_error own = {0};
  trilha_status status = named ? mapper->map(mapper->user, envelope, wire, &own)
                               : trilha_map_cloudevents_binary(NULL, envelope, wire, &own);
  if (status != TRILHA_OK) return refuse(status, &own, err);
  status = trilha_buffer_check(&wire->text, err);
  if (status != TRILHA_OK) return status;
  if (!wire->invalid && wire->has_body) return TRILHA_OK;
  return trilha_error_set(err, TRILHA_INVALID, "MAPPING_INVALID",
                          "the mapper must give one body and at most %d headers, with names of lower-case letters, "
                          "digits and hyphens and values of printable ASCII",
                          TRILHA_WIRE_HEADERS_MAX);
}
