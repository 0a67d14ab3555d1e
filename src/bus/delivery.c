/* bus/delivery: the protected call of a handler (executarProtegido, specification 000, section 4.2) and what a handler
 * may ask of its context. */
#include <execinfo.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "bus/live.h"

enum {
  STACK_FRAMES = 64,
  FAIL_TEXT_MAX = 1 << 16,
  COLONIA_ROOM = 4 * TRILHA_COLONIA_CHARS_MAX + 1 /* bytes of the longest name, terminated */
};

void trilha_outcome_done(trilha_outcome *outcome) {
  trilha_buffer_done(&outcome->message);
  trilha_buffer_done(&outcome->stack);
}

const char *trilha_delivery_colonia(const trilha_delivery *delivery) {
  return delivery->colonia;
}
/* NULL for a batch of several: there is no one event that runs. */
static const trilha_event *running(const trilha_delivery *delivery) {
  return delivery->attempt->count > 1 ? NULL : delivery->attempt->event;
}

const char *trilha_delivery_event_id(const trilha_delivery *delivery) {
  const trilha_event *event = running(delivery);
  return event == NULL ? NULL : event->event_id;
}
const char *trilha_delivery_correlacao_id(const trilha_delivery *delivery) {
  const trilha_event *event = running(delivery);
  return event == NULL ? NULL : event->correlacao_id;
}
const char *trilha_delivery_traceparent(const trilha_delivery *delivery) {
  const trilha_event *event = running(delivery);
  if (delivery->traceparent[0] != '\0') return delivery->traceparent;
  return event == NULL ? NULL : event->traceparent;
}
int64_t trilha_delivery_attempt(const trilha_delivery *delivery) {
  return delivery->attempt->attempt;
}

/* --- failing -------------------------------------------------------------------------------------------- */

/* The stack as it stands, `skip` innermost frames left out: one frame a line. */
static void capture_stack(trilha_buffer *out, int skip) {
  void *frames[STACK_FRAMES];
  int count = backtrace(frames, STACK_FRAMES);
  char **names = backtrace_symbols(frames, count);
  for (int i = skip; names != NULL && i < count; i++) {
    if (out->size != 0) trilha_buffer_add_char(out, '\n');
    trilha_buffer_add_string(out, names[i]);
  }
  free(names);
}

trilha_status trilha_delivery_fail(trilha_delivery *delivery, const char *format, ...) {
  trilha_outcome *outcome = delivery->outcome;
  if (outcome->message.size != 0) return TRILHA_INVALID; /* the first cause wins */
  va_list args;
  va_start(args, format);
  trilha_buffer_add_arguments(&outcome->message, format, args);
  va_end(args);
  if (outcome->message.size > FAIL_TEXT_MAX) outcome->message.size = FAIL_TEXT_MAX;
  capture_stack(&outcome->stack, 1);
  return TRILHA_INVALID;
}

trilha_status trilha_delivery_fail_with_stack(trilha_delivery *delivery, trilha_text message, trilha_text stack) {
  trilha_outcome *outcome = delivery->outcome;
  if (outcome->message.size != 0) return TRILHA_INVALID; /* the first cause wins */
  if (message.size > FAIL_TEXT_MAX) message.size = FAIL_TEXT_MAX;
  if (stack.size > FAIL_TEXT_MAX) stack.size = FAIL_TEXT_MAX;
  trilha_buffer_add_text(&outcome->message, message);
  trilha_buffer_add_text(&outcome->stack, stack);
  return TRILHA_INVALID;
}

/* --- the context's publish ------------------------------------------------------------------------------- */

trilha_status trilha_delivery_publish(trilha_delivery *delivery, const trilha_publication *publication,
                                      trilha_publish_result *ret_result, trilha_error *error) {
  trilha_publication with_context = *publication;
  const trilha_event *event = running(delivery);
  if (event != NULL && with_context.correlacao_id.data == NULL)
    with_context.correlacao_id = trilha_text_of(event->correlacao_id);
  if (event != NULL && with_context.causation_id.data == NULL)
    with_context.causation_id = trilha_text_of(event->event_id);
  return trilha_bus_publish(delivery->bus, &with_context, 1, ret_result, error);
}

trilha_status trilha_delivery_advance_in(trilha_delivery *delivery, void *connection, trilha_error *error) {
  const trilha_attempt *attempt = delivery->attempt;
  if (connection == NULL) return trilha_error_set(error, TRILHA_USAGE, "ARGUMENT_MISSING", "the connection is NULL");
  if (attempt->advance == NULL)
    return trilha_error_set(error, TRILHA_UNSUPPORTED, "NO_CURSOR",
                            "this delivery has no cursor: only a durable consumer's does");
  return attempt->advance(attempt->advance_user, connection, error);
}

/* --- the protected call ----------------------------------------------------------------------------------- */

static void say_outcome(const trilha_bus *bus, const trilha_attempt *attempt, bool success, int64_t took_ns) {
  if (bus->diagnostics.emit == NULL) return;
  trilha_fields fields = {0};
  trilha_fields_string(&fields, "tipo", attempt->event->tipo);
  trilha_fields_text(&fields, "colonia", attempt->colonia);
  trilha_fields_string(&fields, "event_id", attempt->event->event_id);
  trilha_fields_i64(&fields, "sequence_number", attempt->event->sequence_number);
  if (attempt->count > 1) trilha_fields_i64(&fields, "events", (int64_t)attempt->count);
  trilha_fields_i64(&fields, "attempt", attempt->attempt);
  trilha_fields_i64(&fields, "duration_us", took_ns / 1000);
  trilha_fields_string(&fields, "status", success ? "success" : "failure");
  trilha_emit(&bus->diagnostics, TRILHA_INFO, "event.process", "a handler ran", &fields);
  if (success) return;
  trilha_fields_text(&fields, "handler_nome", attempt->handler_nome);
  trilha_emit(&bus->diagnostics, TRILHA_ERROR, "event.handler_failed", "Falha em manipulador de evento", &fields);
}

/* --- the span ----------------------------------------------------------------------------------------------- */

static size_t count_of(const trilha_attempt *attempt) {
  return attempt->count == 0 ? 1 : attempt->count;
}

/* Where the events came from; *ret_sampled: whether any of them is sampled or carries no context. */
static size_t gather_links(const trilha_attempt *attempt, trilha_trace links[TRILHA_SPAN_LINKS_MAX],
                           bool *ret_sampled) {
  size_t n = 0, count = count_of(attempt);
  *ret_sampled = false;
  for (size_t i = 0; i < count && n < TRILHA_SPAN_LINKS_MAX; i++) {
    const char *text = attempt->event[i].traceparent;
    if (text != NULL && trilha_trace_parse(trilha_text_of(text), &links[n]))
      *ret_sampled |= links[n++].sampled;
    else
      *ret_sampled = true;
  }
  return n;
}

/* A trace of its own: a delivery may come days after its publish, and many times. It is linked, never a child. */
static void begin_span(const trilha_bus *bus, const trilha_attempt *attempt, struct trilha_delivery *delivery) {
  trilha_trace links[TRILHA_SPAN_LINKS_MAX];
  bool sampled;
  if (bus->telemetry == NULL) return;
  size_t count = gather_links(attempt, links, &sampled);
  if (sampled) trilha_span_begin(bus->telemetry, NULL, &delivery->span);
  delivery->traced = delivery->span.recorded || count > 0;
  delivery->trace = delivery->span.recorded || count == 0 ? delivery->span.own : links[0];
  if (delivery->span.recorded) trilha_trace_format(&delivery->span.own, delivery->traceparent);
}

static void end_span(const trilha_bus *bus, const trilha_attempt *attempt, const struct trilha_delivery *delivery,
                     bool success, int64_t took_ns) {
  trilha_trace links[TRILHA_SPAN_LINKS_MAX];
  bool sampled;
  trilha_measure_process(bus->telemetry, attempt->colonia, success, took_ns);
  if (!delivery->span.recorded) return;
  trilha_span_facts facts = {.kind = TRILHA_SPAN_PROCESS,
                             .took_ns = took_ns,
                             .colonia = attempt->colonia,
                             .attempt = attempt->attempt,
                             .events = count_of(attempt),
                             .links = links,
                             .link_count = gather_links(attempt, links, &sampled)};
  const trilha_event *event = attempt->event;
  if (facts.events == 1) {
    facts.tipo = trilha_text_of(event->tipo);
    facts.event_id = trilha_text_of(event->event_id);
    facts.origem = trilha_text_of(event->origem);
    facts.sequence_number = event->sequence_number;
    if (event->correlacao_id != NULL) facts.correlacao_id = trilha_text_of(event->correlacao_id);
  }
  /* Not the handler's own words: they may hold what redaction removed. */
  if (!success) facts.error_code = TRILHA_TEXT("HANDLER_FAILED");
  trilha_span_end(bus->telemetry, &delivery->span, &facts);
}

static trilha_status call_handler(const trilha_attempt *attempt, trilha_delivery *delivery) {
  if (attempt->handler != NULL) return attempt->handler(attempt->user, attempt->event, delivery);
  return attempt->batch_handler(attempt->user, attempt->event, count_of(attempt), delivery);
}

/* The innermost context of this thread is the handler's while it runs. A turn is in the list already and is this
 * thread's own, so it takes over the trace without the mutex; anything else is put there for the call. */
static trilha_status call_in_context(trilha_bus *bus, const trilha_attempt *attempt, struct trilha_delivery *turn,
                                     struct trilha_delivery *delivery, int64_t *ret_took_ns) {
  if (turn == NULL) {
    trilha_delivery_enter(bus->live, delivery);
  } else {
    turn->traced = delivery->traced;
    turn->trace = delivery->trace;
  }
  int64_t from = trilha_clock_monotonic_ns();
  trilha_status status = call_handler(attempt, delivery);
  *ret_took_ns = trilha_clock_monotonic_ns() - from;
  if (turn == NULL)
    trilha_delivery_leave(bus->live, delivery);
  else
    turn->traced = false;
  return status;
}

void trilha_protected_call_in_turn(trilha_bus *bus, const trilha_attempt *attempt, struct trilha_delivery *turn,
                                   trilha_outcome *ret_outcome) {
  char room[COLONIA_ROOM];
  *ret_outcome = (trilha_outcome){0};
  char *colonia = attempt->colonia.size < sizeof room ? room : malloc(attempt->colonia.size + 1);
  if (colonia == NULL) {
    trilha_buffer_add_string(&ret_outcome->message, "out of memory before the handler was called");
    return;
  }
  memcpy(colonia, attempt->colonia.data, attempt->colonia.size);
  colonia[attempt->colonia.size] = '\0';
  struct trilha_delivery delivery = {.bus = bus, .attempt = attempt, .outcome = ret_outcome, .colonia = colonia};
  begin_span(bus, attempt, &delivery);
  int64_t took = 0;
  trilha_status status = call_in_context(bus, attempt, turn, &delivery, &took);
  ret_outcome->success = status == TRILHA_OK;
  if (!ret_outcome->success && ret_outcome->message.size == 0) {
    trilha_buffer_add_format(&ret_outcome->message, "the handler returned \"%s\" without saying why",
                             trilha_status_name(status));
    capture_stack(&ret_outcome->stack, 0);
  }
  if (colonia != room) free(colonia);
  say_outcome(bus, attempt, ret_outcome->success, took);
  end_span(bus, attempt, &delivery, ret_outcome->success, took);
}

void trilha_protected_call(trilha_bus *bus, const trilha_attempt *attempt, trilha_outcome *ret_outcome) {
  trilha_protected_call_in_turn(bus, attempt, NULL, ret_outcome);
}
