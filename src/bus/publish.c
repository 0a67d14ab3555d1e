/* bus/publish: steps 7 to 9 of a publish, and what is said about each one. */
#include <stdlib.h>

#include "base/error.h"
#include "base/uuid.h"
#include "bus/live.h"

/* --- diagnostics: identifiers only ------------------------------------------------------------------ */

static void say_span(const trilha_bus *bus, const trilha_preparation *p, int64_t took_ns) {
  if (bus->diagnostics.emit == NULL) return;
  trilha_fields fields = {0};
  const trilha_event *event = p->result->event;
  if (event != NULL) {
    trilha_fields_string(&fields, "tipo", event->tipo);
    trilha_fields_string(&fields, "event_id", event->event_id);
  }
  trilha_fields_i64(&fields, "duration_us", took_ns / 1000);
  trilha_fields_string(&fields, "status", p->result->status == TRILHA_OK ? "success" : "failure");
  trilha_emit(&bus->diagnostics, TRILHA_DEBUG, "event.publish", "a publication ended", &fields);
}

static trilha_text text_or_none(const char *terminated) {
  return terminated == NULL ? (trilha_text){0} : trilha_text_of(terminated);
}

static void export_span(const trilha_bus *bus, const trilha_preparation *p, int64_t took_ns) {
  const trilha_publish_result *result = p->result;
  const trilha_event *event = result->event;
  trilha_span_facts facts = {.kind = TRILHA_SPAN_PUBLISH, .took_ns = took_ns, .duplicate = result->duplicate};
  if (!p->span.recorded) return;
  /* An unknown type's name is whatever somebody sent: only a registered one is repeated. */
  if (p->registered) facts.tipo = p->publication->tipo;
  if (event != NULL) {
    facts.event_id = trilha_text_of(event->event_id);
    facts.correlacao_id = text_or_none(event->correlacao_id);
    facts.origem = trilha_text_of(event->origem);
    facts.sequence_number = event->sequence_number;
    facts.tracestate = p->publication->tracestate;
  } else {
    facts.error_code = trilha_text_of(result->error.code);
  }
  trilha_span_end(bus->telemetry, &p->span, &facts);
}

/* The span event.publish (requirement E18), whatever the outcome. */
static void end_span(const trilha_bus *bus, const trilha_preparation *p, trilha_publish_outcome outcome) {
  int64_t took_ns = trilha_clock_monotonic_ns() - p->began_ns;
  say_span(bus, p, took_ns);
  export_span(bus, p, took_ns);
  trilha_measure_publish(bus->telemetry, outcome, took_ns);
  if (p->result->content == TRILHA_CONTENT_DIFFERENT) trilha_measure_divergence(bus->telemetry);
}

/* A child of the context that was given, or of the handler that runs on this thread. */
static void begin_span(const trilha_bus *bus, trilha_preparation *p, const trilha_nesting *nesting) {
  trilha_trace given;
  const trilha_trace *parent = nesting->traced ? &nesting->trace : NULL;
  if (bus->telemetry == NULL) return;
  if (trilha_trace_parse(p->publication->traceparent, &given)) parent = &given;
  trilha_span_begin(bus->telemetry, parent, &p->span);
}

/* The row carries the span, so that whoever processes the event links to its publish. Without memory for that it
 * carries what was given. */
static void store_context(trilha_preparation *p) {
  if (!p->span.recorded) return;
  char *text = trilha_arena_alloc(p->item->arena, TRILHA_TRACEPARENT_SIZE);
  if (text == NULL) return;
  trilha_trace_format(&p->span.own, text);
  p->item->row.traceparent = trilha_text_of(text);
}

static void say_refused(const trilha_bus *bus, const trilha_preparation *p) {
  trilha_fields fields = {0};
  /* An unknown type's name is whatever somebody sent: only a registered one is repeated. */
  if (p->type != NULL) {
    trilha_fields_text(&fields, "tipo", p->type->tipo);
    trilha_fields_text(&fields, "versao_schema", p->type->versao);
  }
  trilha_fields_string(&fields, "code", p->result->error.code);
  trilha_fields_i64(&fields, "payload_errors", (int64_t)p->result->payload_error_count);
  trilha_emit(&bus->diagnostics, TRILHA_WARNING, "event.refused", "a publication was refused", &fields);
}

static void add_event(trilha_fields *fields, const trilha_event *event) {
  trilha_fields_string(fields, "event_id", event->event_id);
  trilha_fields_string(fields, "tipo", event->tipo);
  trilha_fields_string(fields, "versao_schema", event->versao_schema);
  trilha_fields_string(fields, "origem", event->origem);
  if (event->correlacao_id != NULL) trilha_fields_string(fields, "correlacao_id", event->correlacao_id);
  trilha_fields_i64(fields, "sequence_number", event->sequence_number);
}

static void say_outcome(const trilha_bus *bus, const trilha_publish_result *result) {
  static const char *const contents[] = {"new", "same", "different", "unknown"};
  trilha_fields fields = {0};
  if (result->status != TRILHA_OK) {
    trilha_fields_error(&fields, &result->error);
    trilha_emit(&bus->diagnostics, TRILHA_ERROR, "event.append_failed", "an event could not be stored", &fields);
    return;
  }
  add_event(&fields, result->event);
  if (!result->duplicate) {
    trilha_emit(&bus->diagnostics, TRILHA_INFO, "event.published", "an event was published", &fields);
    return;
  }
  trilha_fields_string(&fields, "content", contents[result->content]);
  trilha_emit(&bus->diagnostics, TRILHA_WARNING, "event.duplicate", "Evento duplicado detectado, idempotência aplicada",
              &fields);
}

/* --- steps 7 to 9 ----------------------------------------------------------------------------------- */

/* Ruling R1: the first publish answers with the full payload, a duplicate with the stored, redacted one. */
static trilha_status answer(trilha_bus *bus, trilha_preparation *p) {
  trilha_publish_result *result = p->result;
  trilha_append_item *item = p->item;
  if (item->status != TRILHA_OK) {
    trilha_error_copy(&result->error, &item->error);
    return item->status;
  }
  trilha_result_memory *memory = result->memory;
  trilha_payload_state state = TRILHA_PAYLOAD_REDIGIDO;
  if (item->stored) {
    item->got.payload = p->publication->payload;
    state = TRILHA_PAYLOAD_COMPLETO;
  } else {
    result->duplicate = true;
    result->content = trilha_compare_content(bus, p);
  }
  trilha_status status = trilha_event_from_row(&memory->arena, &item->got, state, &memory->event, &result->error);
  if (status == TRILHA_OK) result->event = &memory->event;
  return status;
}

static trilha_status begin_result(trilha_publish_result *result, trilha_error *err) {
  *result = (trilha_publish_result){0};
  trilha_result_memory *memory = calloc(1, sizeof *memory);
  if (memory == NULL) return trilha_error_no_memory(err);
  result->memory = memory;
  return TRILHA_OK;
}

/* Steps 1 to 6 for one; true when its row waits to be appended. */
static bool prepare(trilha_bus *bus, trilha_workbench *bench, trilha_preparation *p) {
  trilha_publish_result *result = p->result;
  result->status = begin_result(result, &result->error);
  if (result->status == TRILHA_OK) {
    p->item->arena = &((trilha_result_memory *)result->memory)->arena;
    result->status = trilha_prepare(bus, bench, p, &result->error);
    if (result->status != TRILHA_OK) say_refused(bus, p);
  }
  p->registered = p->type != NULL;
  if (p->type != NULL) trilha_registry_release(bus->registry, p->type);
  p->type = NULL;
  return result->status == TRILHA_OK;
}

/* Steps 7 to 9 for what passed. The owners tell the commit hook whose ticket the deliveries count on. */
static trilha_publish_outcome outcome_of(const trilha_publish_result *result) {
  if (result->status != TRILHA_OK) return TRILHA_PUBLISH_FAILED;
  return result->duplicate ? TRILHA_PUBLISH_DUPLICATE : TRILHA_PUBLISH_STORED;
}

static void publish_prepared(trilha_bus *bus, trilha_preparation *waiting, trilha_append_item *items, size_t count,
                             trilha_live_owner *owners) {
  for (size_t i = 0; i < count; i++) {
    owners[i].publication = waiting[i].publication;
    items[i].owner = &owners[i];
  }
  int64_t revision = trilha_eventlog_append(bus->log, items, count);
  if (revision >= 0) trilha_registry_note_revision(bus->registry, revision);
  for (size_t i = 0; i < count; i++) {
    waiting[i].item = &items[i];
    waiting[i].result->status = answer(bus, &waiting[i]);
    say_outcome(bus, waiting[i].result);
    end_span(bus, &waiting[i], outcome_of(waiting[i].result));
  }
}

/* What one call of trilha_bus_publish works with, a chunk at a time. */
typedef struct chunk_room {
  trilha_preparation *waiting;
  trilha_append_item *items;
  trilha_live_owner *owners;
  trilha_preparation one_waiting;
  trilha_append_item one_item;
  trilha_live_owner one_owner;
} chunk_room;

static trilha_status chunk_room_init(chunk_room *room, size_t places, trilha_error *err) {
  room->waiting = &room->one_waiting;
  room->items = &room->one_item;
  room->owners = &room->one_owner;
  if (places <= 1) return TRILHA_OK;
  room->waiting = malloc(places * sizeof *room->waiting);
  room->items = malloc(places * sizeof *room->items);
  room->owners = malloc(places * sizeof *room->owners);
  bool ok = room->waiting != NULL && room->items != NULL && room->owners != NULL;
  return ok ? TRILHA_OK : trilha_error_no_memory(err);
}

static void chunk_room_done(chunk_room *room) {
  if (room->waiting != &room->one_waiting) free(room->waiting);
  if (room->items != &room->one_item) free(room->items);
  if (room->owners != &room->one_owner) free(room->owners);
}

/* Refused publications leave no hole: item n belongs to waiting n. */
static void publish_chunk(trilha_bus *bus, trilha_workbench *bench, const trilha_publication *publications,
                          size_t count, trilha_publish_result *results, chunk_room *room, trilha_ticket *ticket,
                          const trilha_nesting *nesting) {
  size_t n = 0;
  for (size_t i = 0; i < count; i++) {
    room->items[n] = (trilha_append_item){0};
    room->owners[n] = (trilha_live_owner){.ticket = ticket, .depth = nesting->depth};
    room->waiting[n] = (trilha_preparation){.publication = &publications[i],
                                            .began_ns = trilha_clock_monotonic_ns(),
                                            .result = &results[i],
                                            .item = &room->items[n]};
    begin_span(bus, &room->waiting[n], nesting);
    if (!prepare(bus, bench, &room->waiting[n])) {
      end_span(bus, &room->waiting[n], TRILHA_PUBLISH_REFUSED);
      continue;
    }
    store_context(&room->waiting[n]);
    n++;
  }
  if (n != 0) publish_prepared(bus, room->waiting, room->items, n, room->owners);
}

static trilha_status first_failure(const trilha_publish_result *results, size_t count, trilha_error *err) {
  for (size_t i = 0; i < count; i++)
    if (results[i].status != TRILHA_OK) {
      trilha_error_copy(err, &results[i].error);
      return results[i].status;
    }
  return TRILHA_OK;
}

static trilha_status fail_all(trilha_publish_result *results, size_t count, const trilha_error *error,
                              trilha_error *err) {
  for (size_t i = 0; i < count; i++) results[i] = (trilha_publish_result){.status = error->status, .error = *error};
  return trilha_error_copy(err, error);
}

static trilha_status check_depth(unsigned depth, trilha_error *err) {
  if (depth <= TRILHA_NESTED_PUBLISH_MAX) return TRILHA_OK;
  return trilha_error_set(err, TRILHA_LIMIT, "NESTED_TOO_DEEP",
                          "handlers caused events that caused handlers %d times over: is a handler answering itself?",
                          TRILHA_NESTED_PUBLISH_MAX);
}

trilha_status trilha_bus_publish(trilha_bus *bus, const trilha_publication *publications, size_t count,
                                 trilha_publish_result *ret_results, trilha_error *err) {
  trilha_error own = {0};
  chunk_room room;
  trilha_ticket local = {0};
  trilha_nesting nesting = trilha_live_nesting(bus->live);
  bool drains = nesting.ticket == NULL;
  trilha_ticket *ticket = drains ? &local : nesting.ticket;
  size_t chunk = count < TRILHA_EVENTLOG_BATCH_MAX ? count : TRILHA_EVENTLOG_BATCH_MAX;
  trilha_workbench *bench = NULL;
  trilha_status status = chunk_room_init(&room, chunk, &own);
  if (status == TRILHA_OK) status = check_depth(nesting.depth, &own);
  if (status == TRILHA_OK) bench = trilha_workbench_take(bus, &own);
  if (bench == NULL) {
    status = fail_all(ret_results, count, &own, err);
  } else {
    for (size_t at = 0; at < count; at += chunk)
      publish_chunk(bus, bench, publications + at, count - at < chunk ? count - at : chunk, ret_results + at, &room,
                    ticket, &nesting);
    trilha_workbench_give(bus, bench);
    if (drains) trilha_live_drain(bus->live, ticket);
    status = first_failure(ret_results, count, err);
  }
  chunk_room_done(&room);
  return status;
}

/* What the row to append would be read as. */
static trilha_status preview(trilha_preparation *p) {
  trilha_publish_result *result = p->result;
  trilha_result_memory *memory = result->memory;
  trilha_status status =
      trilha_event_from_row(&memory->arena, &p->item->row, TRILHA_PAYLOAD_REDIGIDO, &memory->event, &result->error);
  if (status != TRILHA_OK) return status;
  memory->event.criado_em = NULL; /* it never was */
  result->event = &memory->event;
  return TRILHA_OK;
}

trilha_status trilha_bus_check(trilha_bus *bus, const trilha_publication *publication,
                               trilha_publish_result *ret_result, trilha_error *err) {
  trilha_error own = {0};
  trilha_append_item item = {0};
  trilha_preparation p = {.publication = publication, .result = ret_result, .item = &item};
  trilha_workbench *bench = trilha_workbench_take(bus, &own);
  if (bench == NULL) return fail_all(ret_result, 1, &own, err);
  if (prepare(bus, bench, &p)) ret_result->status = preview(&p);
  trilha_workbench_give(bus, bench);
  return ret_result->status == TRILHA_OK ? TRILHA_OK : trilha_error_copy(err, &ret_result->error);
}

void trilha_bus_result_done(trilha_publish_result *result) {
  trilha_result_memory *memory = result->memory;
  if (memory != NULL) {
    trilha_arena_done(&memory->arena);
    free(memory);
  }
  *result = (trilha_publish_result){0};
}

/* --- life ------------------------------------------------------------------------------------------- */

trilha_status trilha_bus_new(trilha_eventlog *log, trilha_registry *registry, const trilha_keyring *keyring,
                             trilha_deadletter *deadletter, trilha_telemetry *telemetry,
                             const trilha_diagnostics *diagnostics, trilha_bus **ret_bus, trilha_error *err) {
  trilha_bus *bus = calloc(1, sizeof *bus);
  if (bus == NULL) return trilha_error_no_memory(err);
  bus->log = log;
  bus->registry = registry;
  bus->keyring = keyring;
  bus->deadletter = deadletter;
  bus->telemetry = telemetry;
  bus->diagnostics = *diagnostics;
  if (trilha_live_new(bus, &bus->live, err) != TRILHA_OK) {
    free(bus);
    return TRILHA_NO_MEMORY;
  }
  trilha_eventlog_on_commit(log, trilha_live_committed, bus->live);
  pthread_mutex_init(&bus->mutex, NULL);
  *ret_bus = bus;
  return TRILHA_OK;
}

void trilha_bus_free(trilha_bus *bus) {
  if (bus == NULL) return;
  trilha_live_free(bus->live);
  trilha_workbenches_free(bus);
  pthread_mutex_destroy(&bus->mutex);
  free(bus);
}
