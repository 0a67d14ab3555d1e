/* eventlog/read: queries, single events, the two replays. Specification 000, sections 4.3 and 4.4. */
#include <stdlib.h>

#include "base/error.h"
#include "base/uuid.h"
#include "eventlog/eventlog_internal.h"

static trilha_deadline read_deadline(void) {
  return trilha_deadline_in_ms(TRILHA_READ_TIMEOUT_MS);
}

/* --- gathering rows into one owned block ------------------------------------------------------------- */

typedef struct gathered {
  trilha_arena arena; /* first: the owner of everything, this struct's public part included */
  trilha_event *events;
  size_t count, capacity;
} gathered;

static trilha_status gather(void *user, const trilha_event_row *row, trilha_error *err) {
  gathered *g = user;
  if (g->count == g->capacity) {
    size_t capacity = g->capacity == 0 ? 64 : g->capacity * 2;
    trilha_event *events = realloc(g->events, capacity * sizeof *events);
    if (events == NULL) return trilha_error_no_memory(err);
    g->events = events;
    g->capacity = capacity;
  }
  trilha_status status = trilha_event_from_row(&g->arena, row, TRILHA_PAYLOAD_REDIGIDO, &g->events[g->count], err);
  if (status == TRILHA_OK) g->count++;
  return status;
}

static void gathered_free(gathered *g) {
  if (g == NULL) return;
  trilha_arena_done(&g->arena);
  free(g->events);
  free(g);
}

/* --- query ------------------------------------------------------------------------------------------- */

static trilha_status bad_filter(trilha_error *err, const char *name, const char *must) {
  return trilha_error_set(err, TRILHA_USAGE, "FILTER_INVALID", "%s must be %s", name, must);
}

static trilha_status filter_uuid(trilha_text text, const char *name, bool *ret_has, unsigned char out[16],
                                 trilha_error *err) {
  if (text.data == NULL) return TRILHA_OK;
  if (!trilha_uuid_parse(text, out))
    return bad_filter(err, name, "a UUID such as a1b2c3d4-e5f6-7890-abcd-ef1234567890");
  *ret_has = true;
  return TRILHA_OK;
}

static trilha_status filter_timestamp(trilha_text text, const char *name, bool *ret_has, int64_t *ret_us,
                                      trilha_error *err) {
  if (text.data == NULL) return TRILHA_OK;
  if (!trilha_timestamp_parse(text, ret_us))
    return bad_filter(err, name, "an ISO-8601 date and time with Z or an offset, such as 2026-06-15T10:30:00Z");
  *ret_has = true;
  return TRILHA_OK;
}

static trilha_status filter_text(trilha_text text, const char *name, trilha_text *ret, trilha_error *err) {
  if (text.data == NULL) return TRILHA_OK;
  if (!trilha_utf8_valid(text.data, text.size) || trilha_text_find(text, '\0') != NULL)
    return bad_filter(err, name, "UTF-8 text without U+0000");
  *ret = text;
  return TRILHA_OK;
}

static trilha_status filter_sequence(int64_t value, const char *name, bool *ret_has, int64_t *ret, trilha_error *err) {
  if (value < 0) return bad_filter(err, name, "positive");
  *ret_has = value > 0;
  *ret = value;
  return TRILHA_OK;
}

static trilha_status compile_filter(const trilha_events_filter *f, trilha_event_filter *out, trilha_error *err) {
  *out = (trilha_event_filter){0};
  trilha_status s = filter_text(f->tipo, "tipo", &out->tipo, err);
  if (s == TRILHA_OK) s = filter_text(f->origem, "origem", &out->origem, err);
  if (s == TRILHA_OK)
    s = filter_uuid(f->correlacao_id, "correlacao_id", &out->has_correlacao_id, out->correlacao_id, err);
  if (s == TRILHA_OK)
    s = filter_timestamp(f->timestamp_inicio, "timestamp_inicio", &out->has_timestamp_inicio, &out->timestamp_inicio_us,
                         err);
  if (s == TRILHA_OK)
    s = filter_timestamp(f->timestamp_fim, "timestamp_fim", &out->has_timestamp_fim, &out->timestamp_fim_us, err);
  if (s == TRILHA_OK)
    s = filter_sequence(f->sequence_inicio, "sequence_inicio", &out->has_sequence_inicio, &out->sequence_inicio, err);
  if (s == TRILHA_OK)
    s = filter_sequence(f->sequence_fim, "sequence_fim", &out->has_sequence_fim, &out->sequence_fim, err);
  if (s == TRILHA_OK && f->limite < 0) s = bad_filter(err, "limite", "positive");
  if (s == TRILHA_OK && f->deslocamento < 0) s = bad_filter(err, "deslocamento", "zero or positive");
  return s;
}

/* Without a total one row more than the page holds is asked for, to see whether more follow. */
static trilha_status fill_page(trilha_eventlog *log, const trilha_event_filter *filter, bool counted, gathered *g,
                               trilha_events_page *page, trilha_error *err) {
  trilha_status status =
      log->store->op->events_query(log->store, filter, page->limite + (counted ? 0 : 1), page->deslocamento,
                                   read_deadline(), gather, g, counted ? &page->total : NULL, err);
  if (status != TRILHA_OK) return status;
  size_t most = (size_t)page->limite;
  page->linhas = g->events;
  page->count = g->count > most ? most : g->count;
  page->more = counted ? page->deslocamento + (int64_t)page->count < page->total : g->count > most;
  if (!counted) page->total = -1;
  return TRILHA_OK;
}

trilha_status trilha_eventlog_query(trilha_eventlog *log, const trilha_events_filter *filter,
                                    trilha_events_page **ret_page, trilha_error *err) {
  trilha_event_filter compiled;
  trilha_status status = compile_filter(filter, &compiled, err);
  if (status != TRILHA_OK) return status;
  gathered *g = calloc(1, sizeof *g);
  trilha_events_page *page = calloc(1, sizeof *page);
  if (g == NULL || page == NULL) {
    free(g);
    free(page);
    return trilha_error_no_memory(err);
  }
  page->limite = filter->limite == 0 ? TRILHA_QUERY_LIMIT_DEFAULT : filter->limite;
  if (page->limite > TRILHA_QUERY_LIMIT_MAX) page->limite = TRILHA_QUERY_LIMIT_MAX;
  page->deslocamento = filter->deslocamento;
  page->memory = g;
  status = fill_page(log, &compiled, !filter->without_total, g, page, err);
  if (status != TRILHA_OK) {
    trilha_error_while(err, "querying events");
    trilha_eventlog_page_free(page);
    return status;
  }
  *ret_page = page;
  return TRILHA_OK;
}

void trilha_eventlog_page_free(trilha_events_page *page) {
  if (page == NULL) return;
  gathered_free(page->memory);
  free(page);
}

/* --- one event --------------------------------------------------------------------------------------- */

typedef struct single {
  trilha_event event; /* first: what the caller holds */
  trilha_arena arena;
} single;

static trilha_status take_single(void *user, const trilha_event_row *row, trilha_error *err) {
  single *one = user;
  return trilha_event_from_row(&one->arena, row, TRILHA_PAYLOAD_REDIGIDO, &one->event, err);
}

trilha_status trilha_eventlog_get(trilha_eventlog *log, trilha_text event_id, trilha_event **ret_event,
                                  trilha_error *err) {
  unsigned char id[16];
  if (event_id.data == NULL || !trilha_uuid_parse(event_id, id))
    return bad_filter(err, "event_id", "a UUID such as a1b2c3d4-e5f6-7890-abcd-ef1234567890");
  single *one = calloc(1, sizeof *one);
  if (one == NULL) return trilha_error_no_memory(err);
  trilha_status status = log->store->op->event_by_id(log->store, id, read_deadline(), take_single, one, err);
  if (status == TRILHA_OK) {
    *ret_event = &one->event;
    return TRILHA_OK;
  }
  trilha_eventlog_event_free(&one->event);
  if (status == TRILHA_NOT_FOUND) return trilha_error_set(err, status, "EVENT_NOT_FOUND", "Evento não encontrado");
  trilha_error_while(err, "reading an event");
  return status;
}

void trilha_eventlog_event_free(trilha_event *event) {
  if (event == NULL) return;
  single *one = (single *)event;
  trilha_arena_done(&one->arena);
  free(one);
}

trilha_status trilha_eventlog_last(trilha_eventlog *log, int64_t *ret_sequence, char ret_event_id[37], bool *ret_any,
                                   trilha_error *err) {
  unsigned char id[16];
  trilha_status status = log->store->op->last_event(log->store, read_deadline(), ret_sequence, id, ret_any, err);
  if (status == TRILHA_OK && *ret_any) trilha_uuid_format(id, ret_event_id);
  return status;
}

/* --- the specified replay ---------------------------------------------------------------------------- */

trilha_status trilha_replay_check(int64_t after, const trilha_text *types, size_t type_count, trilha_error *err) {
  if (after < 0) return bad_filter(err, "the sequence to start after", "zero or positive");
  for (size_t i = 0; i < type_count; i++) {
    trilha_text checked;
    if (types[i].data == NULL) return bad_filter(err, "tipo", "a text");
    trilha_status status = filter_text(types[i], "tipo", &checked, err);
    if (status != TRILHA_OK) return status;
  }
  return TRILHA_OK;
}

static void say_progress(const trilha_eventlog *log, size_t events, int64_t cursor) {
  trilha_fields fields = {0};
  trilha_fields_i64(&fields, "events", (int64_t)events);
  trilha_fields_i64(&fields, "cursor", cursor);
  trilha_emit(&log->diagnostics, TRILHA_INFO, "replay.progress", "replay in progress", &fields);
}

static void say_ceiling(const trilha_eventlog *log, size_t events, int64_t cursor) {
  trilha_fields fields = {0};
  trilha_fields_i64(&fields, "events", (int64_t)events);
  trilha_fields_i64(&fields, "cursor", cursor);
  trilha_emit(&log->diagnostics, TRILHA_WARNING, "replay.ceiling", "Teto de iterações do replay atingido", &fields);
}

static trilha_status replay_pages(trilha_eventlog *log, const trilha_text *types, size_t type_count, gathered *g,
                                  trilha_replayed *replayed, trilha_error *err) {
  for (int page = 1; page <= TRILHA_REPLAY_PAGES_MAX; page++) {
    size_t before = g->count;
    int64_t scanned_to;
    trilha_status status =
        log->store->op->events_after(log->store, replayed->cursor, types, type_count, TRILHA_REPLAY_PAGE,
                                     read_deadline(), gather, g, &scanned_to, err);
    if (status != TRILHA_OK) return status;
    if (g->count > before) replayed->cursor = g->events[g->count - 1].sequence_number;
    if (g->count - before < TRILHA_REPLAY_PAGE) return TRILHA_OK;
    say_progress(log, g->count, replayed->cursor);
  }
  replayed->ceiling_reached = true;
  say_ceiling(log, g->count, replayed->cursor);
  return TRILHA_OK;
}

trilha_status trilha_eventlog_replay(trilha_eventlog *log, int64_t after, const trilha_text *types, size_t type_count,
                                     trilha_replayed **ret_replayed, trilha_error *err) {
  trilha_status status = trilha_replay_check(after, types, type_count, err);
  if (status != TRILHA_OK) return status;
  gathered *g = calloc(1, sizeof *g);
  trilha_replayed *replayed = calloc(1, sizeof *replayed);
  if (g == NULL || replayed == NULL) {
    free(g);
    free(replayed);
    return trilha_error_no_memory(err);
  }
  replayed->cursor = after;
  replayed->memory = g;
  status = replay_pages(log, types, type_count, g, replayed, err);
  if (status != TRILHA_OK) {
    trilha_error_while(err, "replaying after sequence %lld", (long long)after);
    trilha_eventlog_replayed_free(replayed);
    return status;
  }
  replayed->events = g->events;
  replayed->count = g->count;
  *ret_replayed = replayed;
  return TRILHA_OK;
}

void trilha_eventlog_replayed_free(trilha_replayed *replayed) {
  if (replayed == NULL) return;
  gathered_free(replayed->memory);
  free(replayed);
}
