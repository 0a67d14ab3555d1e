/* store/postgres/outbox_relay: claim, fetch, renew, settle. The rules are in sql/postgres/outbox. */
#include "base/error.h"
#include "base/uuid.h"
#include "outbox.h"

static trilha_status copy(trilha_arena *arena, trilha_text from, trilha_text *ret_text, trilha_error *err) {
  char *data = trilha_arena_copy(arena, from);
  if (data == NULL) return trilha_error_no_memory(err);
  *ret_text = (trilha_text){data, from.size};
  return TRILHA_OK;
}

static trilha_status read_lease(const PGresult *r, int row, trilha_arena *arena, trilha_lane_lease *out,
                                trilha_error *err) {
  *out = (trilha_lane_lease){.aggregate_id = trilha_pg_get_i64(r, row, 0),
                             .head_sequence = trilha_pg_get_i64(r, row, 4),
                             .attempts = trilha_pg_get_i64(r, row, 5),
                             .token = trilha_pg_get_i64(r, row, 6),
                             .until_us = trilha_pg_get_time(r, row, 7)};
  trilha_status status = copy(arena, trilha_pg_get_text(r, row, 1), &out->tenant_id, err);
  if (status == TRILHA_OK) status = copy(arena, trilha_pg_get_text(r, row, 2), &out->aggregate_type, err);
  if (status == TRILHA_OK) status = copy(arena, trilha_pg_get_text(r, row, 3), &out->aggregate_key, err);
  return status;
}

static void add_floor(trilha_pg_parameters *p, int64_t since_us) {
  if (since_us == INT64_MIN)
    trilha_pg_element_null(p);
  else
    trilha_pg_element_time(p, since_us);
}

static void add_known(trilha_pg_parameters *p, const trilha_claim *claim) {
  trilha_pg_array_begin(p, TRILHA_PG_TEXT, claim->known_count);
  for (size_t i = 0; i < claim->known_count; i++) trilha_pg_element_text(p, claim->known[i].tenant_id);
  trilha_pg_array_end(p);
  trilha_pg_array_begin(p, TRILHA_PG_TIMESTAMPTZ, claim->known_count);
  for (size_t i = 0; i < claim->known_count; i++) add_floor(p, claim->known[i].since_us);
  trilha_pg_array_end(p);
  trilha_pg_array_begin(p, TRILHA_PG_TIMESTAMPTZ, claim->known_count);
  for (size_t i = 0; i < claim->known_count; i++) add_floor(p, claim->known[i].leased_since_us);
  trilha_pg_array_end(p);
}

static int64_t read_floor(const PGresult *r, int row, int column) {
  return PQgetisnull(r, row, column) ? INT64_MIN : trilha_pg_get_time(r, row, column);
}

static void tell_look(const trilha_claim *claim, const PGresult *r, int row) {
  const trilha_tenant_look look = {.floor = {.tenant_id = trilha_pg_get_text(r, row, 1),
                                             .since_us = read_floor(r, row, 8),
                                             .leased_since_us = read_floor(r, row, 9)},
                                   .taken = trilha_pg_get_i64(r, row, 10),
                                   .more = trilha_pg_get_bool(r, row, 11)};
  if (claim->looked != NULL) claim->looked(claim->user, &look);
}

trilha_status trilha_pg_outbox_claim(trilha_outbox_store *store, const trilha_claim *claim, trilha_arena *arena,
                                     trilha_lane_lease *leases, size_t *ret_count, trilha_text *ret_after,
                                     trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  TRILHA_PG_RESULT_SCOPED *r = NULL;
  trilha_pg_parameters_init(&p);
  trilha_pg_add_text(&p, claim->destination);
  trilha_pg_add_text(&p, claim->owner);
  trilha_pg_add_text(&p, claim->after);
  trilha_pg_add_i64(&p, claim->lanes);
  trilha_pg_add_i64(&p, claim->quota);
  trilha_pg_add_i64(&p, claim->lease_ms);
  add_known(&p, claim);
  trilha_status status =
      trilha_pg_outbox_call(trilha_pg_outbox_of(store), trilha_sql_postgres_outbox_claim, &p, &r, err);
  if (status != TRILHA_OK) return status;
  size_t count = 0;
  int last = PQntuples(r) - 1; /* where the next claim begins */
  for (int row = 0; row < last && status == TRILHA_OK; row++) {
    if (PQgetisnull(r, row, 0))
      tell_look(claim, r, row);
    else
      status = read_lease(r, row, arena, &leases[count++], err);
  }
  if (status == TRILHA_OK) status = copy(arena, trilha_pg_get_text(r, last, 1), ret_after, err);
  if (status == TRILHA_OK) *ret_count = count;
  return status;
}

static void read_id(const PGresult *r, int row, int column, char out[TRILHA_UUID_TEXT_SIZE]) {
  unsigned char id[16];
  out[0] = '\0';
  if (trilha_pg_get_uuid(r, row, column, id)) trilha_uuid_format(id, out);
}

static void read_row(const PGresult *r, int row, trilha_outbox_row *out) {
  *out = (trilha_outbox_row){.lane = (size_t)trilha_pg_get_i64(r, row, 0),
                             .aggregate_sequence = trilha_pg_get_i64(r, row, 1),
                             .previous_sequence = trilha_pg_get_i64(r, row, 2),
                             .company_id = trilha_pg_get_text(r, row, 4),
                             .message_type = trilha_pg_get_text(r, row, 5),
                             .version = trilha_pg_get_text(r, row, 6),
                             .origin = trilha_pg_get_text(r, row, 7),
                             .traceparent = trilha_pg_get_text(r, row, 10),
                             .occurred_at_us = trilha_pg_get_time(r, row, 11),
                             .payload = trilha_pg_get_text(r, row, 12),
                             .revision = trilha_pg_get_i64(r, row, 13),
                             .guarded = trilha_pg_get_bool(r, row, 14),
                             .held_by = trilha_pg_get_text(r, row, 15)};
  read_id(r, row, 3, out->message_id);
  read_id(r, row, 8, out->correlation_id);
  read_id(r, row, 9, out->causation_id);
}

trilha_status trilha_pg_outbox_fetch(trilha_outbox_store *store, trilha_text destination,
                                     const trilha_lane_lease *leases, size_t count, int64_t run, int64_t run_bytes,
                                     trilha_outbox_row_visit visit, void *user, trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  TRILHA_PG_RESULT_SCOPED *r = NULL;
  trilha_pg_parameters_init(&p);
  trilha_pg_add_text(&p, destination);
  trilha_pg_array_begin(&p, TRILHA_PG_INT8, count);
  for (size_t i = 0; i < count; i++) trilha_pg_element_i64(&p, leases[i].aggregate_id);
  trilha_pg_array_end(&p);
  trilha_pg_array_begin(&p, TRILHA_PG_INT8, count);
  for (size_t i = 0; i < count; i++) trilha_pg_element_i64(&p, leases[i].head_sequence);
  trilha_pg_array_end(&p);
  trilha_pg_add_i64(&p, run);
  trilha_pg_add_i64(&p, run_bytes);
  trilha_status status =
      trilha_pg_outbox_call(trilha_pg_outbox_of(store), trilha_sql_postgres_outbox_fetch, &p, &r, err);
  for (int row = 0; status == TRILHA_OK && row < PQntuples(r); row++) {
    trilha_outbox_row message;
    read_row(r, row, &message);
    status = visit(user, &message, err);
  }
  return status;
}

trilha_status trilha_pg_outbox_renew(trilha_outbox_store *store, trilha_text destination, trilha_lane_lease *lease,
                                     int64_t lease_ms, trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  TRILHA_PG_RESULT_SCOPED *r = NULL;
  trilha_pg_parameters_init(&p);
  trilha_pg_add_text(&p, destination);
  trilha_pg_add_text(&p, lease->tenant_id);
  trilha_pg_add_time(&p, lease->until_us);
  trilha_pg_add_i64(&p, lease->aggregate_id);
  trilha_pg_add_i64(&p, lease->token);
  trilha_pg_add_i64(&p, lease_ms);
  trilha_status status =
      trilha_pg_outbox_call(trilha_pg_outbox_of(store), trilha_sql_postgres_outbox_renew, &p, &r, err);
  if (status != TRILHA_OK) return status;
  if (PQgetisnull(r, 0, 0)) return trilha_pg_lease_lost(err);
  lease->until_us = trilha_pg_get_time(r, 0, 0);
  return TRILHA_OK;
}

typedef int64_t (*number_of)(const trilha_lane_outcome *outcome);

static int64_t aggregate_of(const trilha_lane_outcome *o) {
  return o->lease->aggregate_id;
}
static int64_t token_of(const trilha_lane_outcome *o) {
  return o->lease->token;
}
static int64_t next_of(const trilha_lane_outcome *o) {
  return o->next_sequence;
}
static int64_t drained_of(const trilha_lane_outcome *o) {
  return o->drained ? 1 : 0;
}

static void add_numbers(trilha_pg_parameters *p, const trilha_lane_outcome *outcomes, size_t count, number_of number) {
  trilha_pg_array_begin(p, TRILHA_PG_INT8, count);
  for (size_t i = 0; i < count; i++) trilha_pg_element_i64(p, number(&outcomes[i]));
  trilha_pg_array_end(p);
}

static void add_failures(trilha_pg_parameters *p, const trilha_lane_outcome *outcomes, size_t count) {
  trilha_pg_array_begin(p, TRILHA_PG_INT8, count);
  for (size_t i = 0; i < count; i++) {
    if (outcomes[i].held)
      trilha_pg_element_i64(p, -2);
    else if (outcomes[i].failed)
      trilha_pg_element_i64(p, outcomes[i].dead ? -1 : outcomes[i].delay_ms);
    else
      trilha_pg_element_null(p);
  }
  trilha_pg_array_end(p);
  for (int texts = 0; texts < 2; texts++) {
    trilha_pg_array_begin(p, TRILHA_PG_TEXT, count);
    for (size_t i = 0; i < count; i++)
      trilha_pg_element_text(p, !outcomes[i].failed && !outcomes[i].held ? (trilha_text){0}
                                : texts == 0                             ? outcomes[i].code
                                                                         : outcomes[i].text);
    trilha_pg_array_end(p);
  }
}

trilha_status trilha_pg_outbox_settle(trilha_outbox_store *store, trilha_text destination,
                                      trilha_lane_outcome *outcomes, size_t count, trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  TRILHA_PG_RESULT_SCOPED *r = NULL;
  trilha_pg_parameters_init(&p);
  trilha_pg_add_text(&p, destination);
  trilha_pg_array_begin(&p, TRILHA_PG_TEXT, count);
  for (size_t i = 0; i < count; i++) trilha_pg_element_text(&p, outcomes[i].lease->tenant_id);
  trilha_pg_array_end(&p);
  trilha_pg_array_begin(&p, TRILHA_PG_TIMESTAMPTZ, count);
  for (size_t i = 0; i < count; i++) trilha_pg_element_time(&p, outcomes[i].lease->until_us);
  trilha_pg_array_end(&p);
  add_numbers(&p, outcomes, count, aggregate_of);
  add_numbers(&p, outcomes, count, token_of);
  add_numbers(&p, outcomes, count, next_of);
  add_numbers(&p, outcomes, count, drained_of);
  add_failures(&p, outcomes, count);
  trilha_status status =
      trilha_pg_outbox_call(trilha_pg_outbox_of(store), trilha_sql_postgres_outbox_settle, &p, &r, err);
  for (size_t i = 0; status == TRILHA_OK && i < count; i++)
    outcomes[i].settled = (int)i < PQntuples(r) && trilha_pg_get_bool(r, (int)i, 0);
  return status;
}
