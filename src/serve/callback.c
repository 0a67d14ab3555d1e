/* serve: what a destination says of a message it was sent: received, applied. A route for no operator: its signature
 * (Standard Webhooks) stands for a token, and it has an allowlist of its own. It records a receipt and nothing else.
 * Where no secret is configured, or for any other address, there is no such route: the request is judged as any other.
 */
#include <stdlib.h>
#include <strings.h>

#include "access/signature.h"
#include "base/clock.h"
#include "base/error.h"
#include "serve/serve_internal.h"

#define PATH "/api/v1/outbox/*/callbacks/*"
enum { NAME_CHARS_MOST = 255, TIME_CHARS_MOST = 64 };

typedef struct callback {
  char *source, *destination;
  trilha_networks *allow;
  trilha_signer signer;
} callback;

struct trilha_callbacks {
  callback *items;
  size_t count;
};

/* --- reading the configuration ----------------------------------------------------------------------------------- */

static trilha_status read_secrets(const char *path, trilha_signer *signer, trilha_error *err) {
  const char *words[TRILHA_WEBHOOK_SECRETS_MAX + 1];
  bool is_private = false;
  TRILHA_BUFFER_SCOPED text;
  trilha_buffer_init(&text, 0);
  trilha_status status = trilha_key_file_read(path, &text, &is_private, err);
  trilha_buffer_add_char(&text, '\0');
  if (status == TRILHA_OK) status = trilha_buffer_check(&text, err);
  if (status == TRILHA_OK && !is_private)
    status = trilha_error_set(err, TRILHA_DENIED, "KEY_FILE_OPEN_TO_OTHERS",
                              "%s may be read by others: chmod 600, and use other secrets", path);
  size_t count = status == TRILHA_OK ? trilha_signer_words(text.data, words) : 0;
  if (status == TRILHA_OK && count == 0)
    status = trilha_error_set(err, TRILHA_INVALID, "WEBHOOK_SECRET", "%s holds no secret: without one nobody can sign",
                              path);
  if (status == TRILHA_OK) status = trilha_signer_init(signer, words, count, err);
  if (text.data != NULL) explicit_bzero(text.data, text.capacity);
  return status;
}

static trilha_status take(callback *c, const trilha_config_source *source, const trilha_config_callback *from,
                          trilha_error *err) {
  c->source = strndup(source->name.data, source->name.size);
  c->destination = strndup(from->destination.data, from->destination.size);
  if (c->source == NULL || c->destination == NULL) return trilha_error_no_memory(err);
  trilha_status status = trilha_networks_new(from->allow, from->allow_count, &c->allow, err);
  if (status == TRILHA_OK) status = read_secrets(from->secret_file.data, &c->signer, err);
  if (status != TRILHA_OK)
    trilha_error_while(err, "reading the callback %s of the source %s", c->destination, c->source);
  return status;
}

trilha_status trilha_callbacks_new(const trilha_config *config, trilha_callbacks **ret_callbacks, trilha_error *err) {
  size_t sources = 0, room = 0;
  const trilha_config_source *source = trilha_config_outboxes(config, &sources);
  for (size_t i = 0; i < sources; i++) room += source[i].callback_count;
  trilha_callbacks *all = calloc(1, sizeof *all);
  if (all == NULL) return trilha_error_no_memory(err);
  all->items = calloc(room + 1, sizeof *all->items);
  trilha_status status = all->items == NULL ? trilha_error_no_memory(err) : TRILHA_OK;
  for (size_t i = 0; i < sources; i++)
    for (size_t k = 0; status == TRILHA_OK && k < source[i].callback_count; k++)
      status = take(&all->items[all->count++], &source[i], &source[i].callbacks[k], err);
  if (status == TRILHA_OK)
    *ret_callbacks = all;
  else
    trilha_callbacks_free(all);
  return status;
}

void trilha_callbacks_free(trilha_callbacks *all) {
  if (all == NULL) return;
  for (size_t i = 0; i < all->count; i++) {
    free(all->items[i].source);
    free(all->items[i].destination);
    trilha_networks_free(all->items[i].allow);
    trilha_signer_done(&all->items[i].signer);
  }
  free(all->items);
  free(all);
}

/* --- who it is --------------------------------------------------------------------------------------------------- */

static const callback *find(const trilha_callbacks *all, const trilha_text operands[TRILHA_OPERANDS_MAX]) {
  for (size_t i = 0; i < all->count; i++)
    if (trilha_text_is(operands[0], all->items[i].source) && trilha_text_is(operands[1], all->items[i].destination))
      return &all->items[i];
  return NULL;
}

/* The one value of a header, not empty. */
static bool one_value(const trilha_http_request *request, const char *name, trilha_text *ret_value) {
  trilha_text values[TRILHA_HTTP_HEADERS_MAX];
  if (trilha_http_header_values(request, name, values) != 1) return false;
  *ret_value = values[0];
  return values[0].size > 0;
}

static bool is_signed(const trilha_http_request *request, const trilha_signer *signer) {
  trilha_text id, at, signatures;
  return one_value(request, "webhook-id", &id) && one_value(request, "webhook-timestamp", &at) &&
         one_value(request, "webhook-signature", &signatures) &&
         trilha_signer_accepts(signer, id, at, signatures, request->body, trilha_clock_wall_us() / 1000000);
}

static bool check(trilha_gate *gate, trilha_call *call, trilha_refusal *ret_refusal) {
  trilha_caller *caller = &call->caller;
  const callback *c = find(gate->rules->callbacks, call->operands);
  if (c == NULL || !trilha_gate_client(gate, call->request, &caller->client) ||
      !trilha_networks_hold(c->allow, &caller->client))
    return false;
  trilha_address counted = trilha_address_client(&caller->client);
  if (!trilha_rate_take(gate->requests, &counted, trilha_clock_monotonic_ns(), &caller->retry_s))
    *ret_refusal = TRILHA_REFUSAL_RATE;
  else if (!is_signed(call->request, &c->signer))
    *ret_refusal = TRILHA_REFUSAL_SIGNATURE;
  memcpy(caller->identity.subject, c->destination, strlen(c->destination) + 1); /* at most 63 bytes */
  return true;
}

bool trilha_callback_check(trilha_call *call, trilha_buffer *memory, trilha_refusal *ret_refusal) {
  trilha_gate *gate = &call->serve->gate;
  call->caller = (trilha_caller){.retry_s = 1};
  if (!trilha_text_is(call->request->method, "POST") || !trilha_path_fits(PATH, call->request->path, call->operands) ||
      !trilha_operands_decode(call->operands, memory))
    return false;
  pthread_rwlock_rdlock(&gate->lock);
  bool is_callback = check(gate, call, ret_refusal);
  pthread_rwlock_unlock(&gate->lock);
  return is_callback;
}

/* --- what it says ------------------------------------------------------------------------------------------------ */

enum { MESSAGE_ID, FACT, REVISION, OPERATION_ID, STATED_AT, NOTE, COUNT };

/* The facts that are kept once, so that the same callback, repeated by anybody, adds nothing. */
static trilha_status record(trilha_call *call, trilha_outbox *outbox, void *user, trilha_error *error) {
  const trilha_member *m = user;
  bool is_new = false;
  const trilha_outbox_receipt receipt = {.message_id = m[MESSAGE_ID].text,
                                         .destination = call->operands[1],
                                         .fact = m[FACT].text,
                                         .revision = m[REVISION].number,
                                         .operation_id = m[OPERATION_ID].text,
                                         .stated_at = m[STATED_AT].text,
                                         .source = TRILHA_TEXT("callback"),
                                         .user = call->operands[1],
                                         .note = m[NOTE].text};
  if (!trilha_text_is(receipt.fact, "Received") && !trilha_text_is(receipt.fact, "Applied"))
    return trilha_error_set(error, TRILHA_USAGE, "FACT_UNKNOWN", "a callback states Received or Applied");
  trilha_status status = trilha_outbox_record(outbox, &receipt, &is_new, error);
  if (status == TRILHA_OK)
    trilha_buffer_add_format(&call->answer->body, "{\"recorded\":%s}", is_new ? "true" : "false");
  return status;
}

void trilha_api_outbox_callback(trilha_call *call) {
  trilha_member m[COUNT] = {
      [MESSAGE_ID] = {.name = "message_id", .needed = true, .chars_max = TIME_CHARS_MOST},
      [FACT] = {.name = "fact", .needed = true, .chars_max = NAME_CHARS_MOST},
      [REVISION] = {.name = "revision", .kind = TRILHA_MEMBER_NUMBER},
      [OPERATION_ID] = {.name = "operation_id", .chars_max = NAME_CHARS_MOST},
      [STATED_AT] = {.name = "stated_at", .chars_max = TIME_CHARS_MOST},
      [NOTE] = {.name = "note"},
  };
  trilha_json_document *document = NULL;
  if (!trilha_api_no_parameters(call)) return;
  if (trilha_api_body(call, m, COUNT, &document)) trilha_api_with_outbox(call, record, m);
  trilha_json_document_free(document);
}
