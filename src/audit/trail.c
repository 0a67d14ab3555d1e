/* audit: reading the trail. */
#include <stdlib.h>

#include "audit/audit.h"
#include "base/clock.h"
#include "base/error.h"

enum { LIST_DEFAULT = 100, LIST_MAX = 500, READ_MS = 30000, DATE_SIZE = 10 };

typedef struct gathered {
  trilha_arena arena;
  trilha_audit_record *records;
  size_t count;
} gathered;

/* "2026-06-15" is its midnight in UTC; else a date and time as everywhere (ruling R28). */
static bool parse_moment(trilha_text text, int64_t *ret_us) {
  char whole[DATE_SIZE + 11];
  if (text.size != DATE_SIZE) return trilha_timestamp_parse(text, ret_us);
  memcpy(whole, text.data, DATE_SIZE);
  memcpy(whole + DATE_SIZE, "T00:00:00Z", 11);
  return trilha_timestamp_parse(trilha_text_of(whole), ret_us);
}

static trilha_status compile(const trilha_audit_filter *f, trilha_audit_query *query, trilha_error *err) {
  *query = (trilha_audit_query){.action = f->action,
                                .entity = f->entity,
                                .entity_id = f->entity_id,
                                .from_us = INT64_MIN,
                                .to_us = INT64_MAX,
                                .after_id = f->after_id};
  if ((f->from.data != NULL && !parse_moment(f->from, &query->from_us)) ||
      (f->to.data != NULL && !parse_moment(f->to, &query->to_us)))
    return trilha_error_set(err, TRILHA_USAGE, "FILTER_INVALID",
                            "from and to are dates (2026-06-15) or times with Z or an offset");
  if (f->after_id < 0 || f->limite < 0)
    return trilha_error_set(err, TRILHA_USAGE, "FILTER_INVALID", "ids and limits must not be negative");
  return TRILHA_OK;
}

static const char *keep(gathered *g, trilha_text text, bool *ok) {
  if (text.data == NULL) return NULL;
  char *copy = trilha_arena_copy(&g->arena, text);
  *ok = *ok && copy != NULL;
  return copy;
}

static trilha_status gather(void *user, const trilha_audit_stored *stored, trilha_error *err) {
  gathered *g = user;
  bool ok = true;
  char at[TRILHA_TIMESTAMP_SIZE];
  trilha_timestamp_format(stored->created_at_us, at);
  const trilha_audit_row *row = &stored->row;
  g->records[g->count++] = (trilha_audit_record){.id = stored->id,
                                                 .entity = keep(g, row->entity, &ok),
                                                 .entity_id = keep(g, row->entity_id, &ok),
                                                 .change_type = keep(g, row->change_type, &ok),
                                                 .action = keep(g, row->action, &ok),
                                                 .user = keep(g, row->user, &ok),
                                                 .metadata = keep(g, row->metadata, &ok),
                                                 .created_at = keep(g, trilha_text_of(at), &ok)};
  return ok ? TRILHA_OK : trilha_error_no_memory(err);
}

static trilha_status read_into(trilha_store *store, const trilha_audit_query *query, int64_t limit,
                               trilha_audit_records *records, trilha_error *err) {
  gathered *g = records->memory;
  g->records = trilha_arena_array(&g->arena, (size_t)limit, sizeof *g->records);
  if (g->records == NULL) return trilha_error_no_memory(err);
  trilha_status status = store->op->audit_list(store, query, limit, trilha_deadline_in_ms(READ_MS), gather, g, err);
  records->items = g->records;
  records->count = g->count;
  if (status == TRILHA_OK && (int64_t)g->count == limit) records->next_after = g->records[g->count - 1].id;
  return status;
}

trilha_status trilha_audit_trail_read(trilha_store *store, const trilha_audit_filter *filter,
                                      trilha_audit_records **ret_records, trilha_error *err) {
  trilha_audit_query query;
  trilha_status status = compile(filter, &query, err);
  if (status != TRILHA_OK) return status;
  int64_t limit = filter->limite == 0 ? LIST_DEFAULT : filter->limite > LIST_MAX ? LIST_MAX : filter->limite;
  trilha_audit_records *records = calloc(1, sizeof *records);
  gathered *g = calloc(1, sizeof *g);
  if (records == NULL || g == NULL) {
    free(records);
    free(g);
    return trilha_error_no_memory(err);
  }
  records->memory = g;
  status = read_into(store, &query, limit, records, err);
  if (status == TRILHA_OK) {
    *ret_records = records;
  } else {
    trilha_error_while(err, "reading the audit trail");
    trilha_audit_trail_free(records);
  }
  return status;
}

void trilha_audit_trail_free(trilha_audit_records *records) {
  if (records == NULL) return;
  gathered *g = records->memory;
  trilha_arena_done(&g->arena);
  free(g);
  free(records);
}
