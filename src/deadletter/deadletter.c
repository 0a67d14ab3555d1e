/* deadletter: recording failures, settling retries, the gauge, and what operators read. */
#include "deadletter/deadletter.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/fault.h"
#include "base/uuid.h"
#include "deadletter/gauge.h"

enum { STORE_TIMEOUT_MS = 30000, LIST_DEFAULT = 100, LIST_MAX = 500 };

struct trilha_deadletter {
  trilha_store *store;
  trilha_diagnostics diagnostics;
  int64_t max_attempts;
  trilha_gauge gauge;
};

static trilha_deadline deadline(void) {
  return trilha_deadline_in_ms(STORE_TIMEOUT_MS);
}

trilha_status trilha_deadletter_new(trilha_store *store, const trilha_diagnostics *diagnostics, int64_t max_attempts,
                                    int64_t alert_at, trilha_deadletter **ret_deadletter, trilha_error *err) {
  trilha_deadletter *d = calloc(1, sizeof *d);
  if (d == NULL) return trilha_error_no_memory(err);
  d->store = store;
  d->diagnostics = *diagnostics;
  d->max_attempts = max_attempts > 0 ? max_attempts : TRILHA_DEAD_LETTER_ATTEMPTS_MAX;
  trilha_gauge_init(&d->gauge, store, diagnostics, alert_at > 0 ? alert_at : TRILHA_DEAD_LETTER_ALERT_AT);
  *ret_deadletter = d;
  return TRILHA_OK;
}

void trilha_deadletter_free(trilha_deadletter *d) {
  if (d == NULL) return;
  trilha_gauge_done(&d->gauge);
  free(d);
}

/* --- recording ------------------------------------------------------------------------------------------ */

/* The scrubbed texts of one failure, and what they are stored as. */
typedef struct scrubbed {
  trilha_buffer message, stack, handler;
  trilha_failure failure;
} scrubbed;

static void scrubbed_done(scrubbed *s) {
  trilha_buffer_done(&s->message);
  trilha_buffer_done(&s->stack);
  trilha_buffer_done(&s->handler);
}

/* handler_nome is at most 255 characters (ruling R2); an unnamed handler is "anônimo" (ruling R5). */
static void put_handler(trilha_buffer *out, trilha_text name) {
  if (name.size == 0) name = TRILHA_TEXT("anônimo");
  trilha_scrub(out, name, NULL, 4 * (size_t)255);
  size_t at = 0;
  for (int characters = 0; at < out->size && characters < 255; characters++)
    trilha_utf8_next(out->data, out->size, &at);
  out->size = at;
}

static trilha_status scrub(const trilha_failed_delivery *failed, scrubbed *s, trilha_error *err) {
  *s = (scrubbed){0};
  const trilha_event *event = failed->event;
  trilha_masked_words *words = NULL;
  trilha_status status =
      trilha_masked_words_new((trilha_text){event->payload, event->payload_size},
                              failed->stored_payload.data != NULL || event->payload_estado == TRILHA_PAYLOAD_COMPLETO
                                  ? failed->stored_payload
                                  : (trilha_text){event->payload, event->payload_size},
                              &words, err);
  if (status != TRILHA_OK) return status;
  trilha_scrub(&s->message, failed->message, words, TRILHA_FAILURE_MESSAGE_MAX);
  if (s->message.size == 0) trilha_buffer_add_string(&s->message, "the handler failed without saying why");
  if (failed->stack.size != 0) trilha_scrub(&s->stack, failed->stack, words, TRILHA_FAILURE_STACK_MAX);
  put_handler(&s->handler, failed->handler_nome);
  trilha_masked_words_free(words);
  status = trilha_buffer_check(&s->message, err);
  if (status == TRILHA_OK) status = trilha_buffer_check(&s->stack, err);
  if (status == TRILHA_OK) status = trilha_buffer_check(&s->handler, err);
  s->failure = (trilha_failure){.sequence_number = event->sequence_number,
                                .colonia = failed->colonia,
                                .lease = failed->lease,
                                .handler_nome = trilha_buffer_text(&s->handler),
                                .mensagem_erro = trilha_buffer_text(&s->message)};
  if (failed->stack.size != 0) s->failure.pilha_erro = trilha_buffer_text(&s->stack);
  if (status == TRILHA_OK && !trilha_uuid_parse(trilha_text_of(event->event_id), s->failure.event_id))
    status = trilha_error_set(err, TRILHA_USAGE, "UUID_INVALID", "event_id must be a UUID");
  return status;
}

static void say_not_recorded(const trilha_deadletter *d, const trilha_failed_delivery *failed,
                             const trilha_error *error) {
  trilha_fields fields = {0};
  trilha_fields_string(&fields, "event_id", failed->event->event_id);
  trilha_fields_i64(&fields, "sequence_number", failed->event->sequence_number);
  trilha_fields_text(&fields, "colonia", failed->colonia);
  trilha_fields_error(&fields, error);
  trilha_emit(&d->diagnostics, TRILHA_ERROR, "dlq.write_failed", "Falha ao registrar na DLQ", &fields);
}

static int64_t attempts_of(const trilha_deadletter *d, const trilha_failed_delivery *failed) {
  return failed != NULL && failed->max_attempts > 0 ? failed->max_attempts : d->max_attempts;
}

trilha_status trilha_deadletter_record(trilha_deadletter *d, const trilha_failed_delivery *failed, trilha_error *err) {
  scrubbed s;
  trilha_error own = {0};
  int64_t attempts = 0;
  trilha_status status = scrub(failed, &s, &own);
  if (status == TRILHA_OK && TRILHA_FAULT("deadletter.record.before_store"))
    status = trilha_error_set(&own, TRILHA_UNAVAILABLE, "FAULT", "fault point");
  if (status == TRILHA_OK)
    status =
        d->store->delivery->dead_letter_fail(d->store, &s.failure, attempts_of(d, failed), deadline(), &attempts, &own);
  scrubbed_done(&s);
  if (status == TRILHA_OK && TRILHA_FAULT("deadletter.record.after_store"))
    status = trilha_error_set(&own, TRILHA_UNAVAILABLE, "FAULT", "fault point");
  if (status == TRILHA_OK) {
    trilha_deadletter_say_gauge(d);
    return TRILHA_OK;
  }
  say_not_recorded(d, failed, &own);
  return trilha_error_copy(err, &own);
}

trilha_status trilha_deadletter_settle(trilha_deadletter *d, int64_t id, int64_t token,
                                       const trilha_failed_delivery *failed, trilha_error *err) {
  scrubbed s = {0};
  trilha_error own = {0};
  trilha_status status = failed == NULL ? TRILHA_OK : scrub(failed, &s, &own);
  if (status == TRILHA_OK)
    status = d->store->delivery->dead_letter_settle(d->store, id, token, failed == NULL ? NULL : &s.failure,
                                                    attempts_of(d, failed), deadline(), &own);
  scrubbed_done(&s);
  if (status == TRILHA_OK)
    trilha_deadletter_say_gauge(d);
  else if (failed != NULL)
    say_not_recorded(d, failed, &own);
  return trilha_error_copy(err, &own);
}

void trilha_deadletter_say_gauge(trilha_deadletter *d) {
  trilha_gauge_say(&d->gauge);
}

void trilha_deadletter_say_owed_gauge(trilha_deadletter *d) {
  trilha_gauge_say_owed(&d->gauge);
}

/* --- what operators read ---------------------------------------------------------------------------------- */

typedef struct gathered {
  trilha_arena arena;
  trilha_dead_letter *letters;
  struct trilha_dead_letter_count *counts;
  size_t count, capacity;
  int64_t total;
} gathered;

static void gathered_free(gathered *g) {
  if (g == NULL) return;
  trilha_arena_done(&g->arena);
  free(g->letters);
  free(g->counts);
  free(g);
}

static const char *keep(gathered *g, trilha_text text, bool *ok) {
  if (text.data == NULL) return NULL;
  const char *copy = trilha_arena_copy(&g->arena, text);
  *ok &= copy != NULL;
  return copy;
}

static const char *keep_time(gathered *g, int64_t us, bool *ok) {
  char text[TRILHA_TIMESTAMP_SIZE];
  if (us == INT64_MIN) return NULL;
  trilha_timestamp_format(us, text);
  return keep(g, trilha_text_of(text), ok);
}

static bool room_for_letter(gathered *g) {
  if (g->count < g->capacity) return true;
  size_t capacity = g->capacity == 0 ? 32 : g->capacity * 2;
  trilha_dead_letter *letters = realloc(g->letters, capacity * sizeof *letters);
  if (letters == NULL) return false;
  g->letters = letters;
  g->capacity = capacity;
  return true;
}

static trilha_status gather_letter(void *user, const trilha_dead_letter_row *row, trilha_error *err) {
  gathered *g = user;
  if (!room_for_letter(g)) return trilha_error_no_memory(err);
  char id[TRILHA_UUID_TEXT_SIZE];
  bool ok = true;
  trilha_uuid_format(row->event_id, id);
  g->letters[g->count++] = (trilha_dead_letter){.id = row->id,
                                                .sequence_number = row->sequence_number,
                                                .event_id = keep(g, trilha_text_of(id), &ok),
                                                .tipo = keep(g, row->tipo, &ok),
                                                .colonia = keep(g, row->colonia, &ok),
                                                .handler_nome = keep(g, row->handler_nome, &ok),
                                                .mensagem_erro = keep(g, row->mensagem_erro, &ok),
                                                .pilha_erro = keep(g, row->pilha_erro, &ok),
                                                .tentativas = row->tentativas,
                                                .ultima_tentativa = keep_time(g, row->ultima_tentativa_us, &ok),
                                                .status = keep(g, row->status, &ok),
                                                .criado_em = keep_time(g, row->criado_em_us, &ok),
                                                .resolvido_em = keep_time(g, row->resolvido_em_us, &ok)};
  return ok ? TRILHA_OK : trilha_error_no_memory(err);
}

static trilha_status compile_filter(const trilha_dead_letters_filter *f, trilha_dead_letter_filter *out,
                                    trilha_error *err) {
  static const char *const states[] = {"pendente", "retrying", "resolved", "failed_permanent"};
  *out = (trilha_dead_letter_filter){.colonia = f->colonia, .tipo = f->tipo, .status = f->status, .id = f->id};
  bool known = f->status.data == NULL;
  for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) known |= trilha_text_is(f->status, states[i]);
  if (!known)
    return trilha_error_set(err, TRILHA_USAGE, "FILTER_INVALID",
                            "status must be pendente, retrying, resolved or failed_permanent");
  if (f->event_id.data != NULL) {
    out->has_event_id = trilha_uuid_parse(f->event_id, out->event_id);
    if (!out->has_event_id) return trilha_error_set(err, TRILHA_USAGE, "FILTER_INVALID", "event_id must be a UUID");
  }
  if (f->limite < 0 || f->after_id < 0 || f->id < 0)
    return trilha_error_set(err, TRILHA_USAGE, "FILTER_INVALID", "ids and limits must not be negative");
  return TRILHA_OK;
}

trilha_status trilha_deadletter_query(trilha_deadletter *d, const trilha_dead_letters_filter *filter,
                                      trilha_dead_letters **ret_letters, trilha_error *err) {
  trilha_dead_letter_filter compiled;
  trilha_status status = compile_filter(filter, &compiled, err);
  if (status != TRILHA_OK) return status;
  int64_t limit = filter->limite == 0 ? LIST_DEFAULT : filter->limite > LIST_MAX ? LIST_MAX : filter->limite;
  gathered *g = calloc(1, sizeof *g);
  trilha_dead_letters *letters = calloc(1, sizeof *letters);
  if (g == NULL || letters == NULL) {
    free(g);
    free(letters);
    return trilha_error_no_memory(err);
  }
  letters->memory = g;
  status = d->store->delivery->dead_letters_list(d->store, &compiled, filter->after_id, limit, deadline(),
                                                 gather_letter, g, err);
  if (status != TRILHA_OK) {
    trilha_error_while(err, "listing dead letters");
    trilha_deadletter_letters_free(letters);
    return status;
  }
  letters->items = g->letters;
  letters->count = g->count;
  if ((int64_t)g->count == limit) letters->next_after = g->letters[g->count - 1].id;
  *ret_letters = letters;
  return TRILHA_OK;
}

void trilha_deadletter_letters_free(trilha_dead_letters *letters) {
  if (letters == NULL) return;
  gathered_free(letters->memory);
  free(letters);
}

static trilha_status gather_count(void *user, trilha_text colonia, int64_t open, trilha_error *err) {
  gathered *g = user;
  struct trilha_dead_letter_count *counts = realloc(g->counts, (g->count + 1) * sizeof *counts);
  if (counts == NULL) return trilha_error_no_memory(err);
  bool ok = true;
  g->counts = counts;
  counts[g->count++] = (struct trilha_dead_letter_count){keep(g, colonia, &ok), open};
  g->total += open;
  return ok ? TRILHA_OK : trilha_error_no_memory(err);
}

trilha_status trilha_deadletter_stats(trilha_deadletter *d, trilha_dead_letter_statistics **ret_statistics,
                                      trilha_error *err) {
  gathered *g = calloc(1, sizeof *g);
  trilha_dead_letter_statistics *statistics = calloc(1, sizeof *statistics);
  if (g == NULL || statistics == NULL) {
    free(g);
    free(statistics);
    return trilha_error_no_memory(err);
  }
  statistics->memory = g;
  trilha_status status = d->store->delivery->dead_letter_stats(d->store, deadline(), gather_count, g, err);
  if (status != TRILHA_OK) {
    trilha_error_while(err, "counting dead letters");
    trilha_deadletter_statistics_free(statistics);
    return status;
  }
  statistics->pendentes_por_colonia = g->counts;
  statistics->count = g->count;
  statistics->total_pendentes = g->total;
  *ret_statistics = statistics;
  return TRILHA_OK;
}

void trilha_deadletter_statistics_free(trilha_dead_letter_statistics *statistics) {
  if (statistics == NULL) return;
  gathered_free(statistics->memory);
  free(statistics);
}

trilha_status trilha_deadletter_reopen(trilha_deadletter *d, int64_t id, trilha_text user, trilha_text reason,
                                       trilha_error *err) {
  TRILHA_BUFFER_SCOPED metadata, entity;
  trilha_buffer_init(&metadata, 0);
  trilha_buffer_init(&entity, 0);
  if (reason.size == 0 || !trilha_utf8_valid(reason.data, reason.size))
    return trilha_error_set(err, TRILHA_USAGE, "REASON_MISSING",
                            "say why, in UTF-8: the reason goes to the audit trail");
  trilha_buffer_add_string(&metadata, "{\"reason\":");
  trilha_json_write_string(&metadata, reason);
  trilha_buffer_add_char(&metadata, '}');
  trilha_buffer_add_i64(&entity, id);
  trilha_status status = trilha_buffer_check(&metadata, err);
  if (status == TRILHA_OK) status = trilha_buffer_check(&entity, err);
  if (status != TRILHA_OK) return status;
  trilha_audit_row audit = {.entity = TRILHA_TEXT("DeadLetter"),
                            .entity_id = trilha_buffer_text(&entity),
                            .change_type = TRILHA_TEXT("Updated"),
                            .action = TRILHA_TEXT("trilha.dead-letter.retried"),
                            .user = user,
                            .metadata = trilha_buffer_text(&metadata)};
  status = d->store->delivery->dead_letter_reopen(d->store, id, &audit, deadline(), err);
  if (status == TRILHA_OK) trilha_deadletter_say_gauge(d);
  return status;
}
