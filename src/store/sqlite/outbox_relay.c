/* store/sqlite/outbox_relay: claim, fetch, renew, settle. Each is one transaction of the file's only writer, so a look
 * and what follows from it cannot be parted. Times are the wall clock of this machine, which all processes of the file
 * share. */
#include "base/uuid.h"
#include "store/sqlite/outbox.h"

static const int64_t LANE_ASIDE_US = INT64_C(253402214400000000); /* 9999-12-31: until a path is taken over */

/* --- claim ------------------------------------------------------------------------------------------------------- */

typedef struct claiming {
  trilha_sqlite_connection *c;
  const char *prefix;
  const trilha_claim *claim;
  int64_t destination, now_us;
  trilha_arena *arena;
  trilha_lane_lease *leases;
  size_t count;
} claiming;

/* Absent: there is none behind `after`. */
static trilha_status next_tenant(claiming *k, trilha_text after, trilha_text *ret_tenant, trilha_error *err) {
  TRILHA_SQLITE_SCOPED *find = NULL;
  bool row = false;
  trilha_status status =
      trilha_sqlite_outbox_prepare(k->c, k->prefix, trilha_sql_sqlite_outbox_next_tenant, &find, err);
  if (status != TRILHA_OK) return status;
  sqlite3_bind_int64(find, 1, k->destination);
  trilha_sqlite_bind(find, 2, after);
  status = trilha_sqlite_step(k->c, find, &row, err);
  *ret_tenant = (trilha_text){0};
  return status == TRILHA_OK && row ? trilha_sqlite_column(find, 0, k->arena, ret_tenant, err) : status;
}

static trilha_status in_flight(claiming *k, trilha_text tenant, int64_t *ret_count, trilha_error *err) {
  TRILHA_SQLITE_SCOPED *count = NULL;
  bool any = false;
  trilha_status status = trilha_sqlite_outbox_prepare(k->c, k->prefix, trilha_sql_sqlite_outbox_in_flight, &count, err);
  if (status != TRILHA_OK) return status;
  sqlite3_bind_int64(count, 1, k->destination);
  trilha_sqlite_bind(count, 2, tenant);
  sqlite3_bind_int64(count, 3, k->now_us);
  return trilha_sqlite_value(k->c, count, ret_count, &any, err);
}

static trilha_status read_due(claiming *k, sqlite3_stmt *due, trilha_lane_lease *out, trilha_error *err) {
  *out = (trilha_lane_lease){.aggregate_id = sqlite3_column_int64(due, 0),
                             .head_sequence = sqlite3_column_int64(due, 4),
                             .attempts = sqlite3_column_int64(due, 5),
                             .until_us = k->now_us + k->claim->lease_ms * 1000};
  trilha_status status = trilha_sqlite_column(due, 1, k->arena, &out->tenant_id, err);
  if (status == TRILHA_OK) status = trilha_sqlite_column(due, 2, k->arena, &out->aggregate_type, err);
  if (status == TRILHA_OK) status = trilha_sqlite_column(due, 3, k->arena, &out->aggregate_key, err);
  return status;
}

static trilha_status lease(claiming *k, trilha_lane_lease *l, trilha_error *err) {
  TRILHA_SQLITE_SCOPED *fence = NULL, *put = NULL;
  bool any = false;
  trilha_status status = trilha_sqlite_outbox_prepare(k->c, k->prefix, trilha_sql_sqlite_outbox_fence, &fence, err);
  if (status == TRILHA_OK) status = trilha_sqlite_step(k->c, fence, &any, err);
  if (status != TRILHA_OK) return status;
  l->token = sqlite3_column_int64(fence, 0);
  status = trilha_sqlite_execute(k->c, fence, err); /* to its end: an UPDATE with RETURNING is done then */
  if (status == TRILHA_OK)
    status = trilha_sqlite_outbox_prepare(k->c, k->prefix, trilha_sql_sqlite_outbox_lease, &put, err);
  if (status != TRILHA_OK) return status;
  sqlite3_bind_int64(put, 1, k->destination);
  sqlite3_bind_int64(put, 2, l->aggregate_id);
  trilha_sqlite_bind(put, 3, k->claim->owner);
  sqlite3_bind_int64(put, 4, l->token);
  sqlite3_bind_int64(put, 5, l->until_us);
  sqlite3_bind_int64(put, 6, l->attempts);
  return trilha_sqlite_outbox_run(k->c, put, NULL, err);
}

static trilha_status claim_of(claiming *k, trilha_text tenant, trilha_error *err) {
  int64_t flying = 0, left = k->claim->lanes - (int64_t)k->count;
  trilha_status status = in_flight(k, tenant, &flying, err);
  int64_t share = k->claim->quota - flying < left ? k->claim->quota - flying : left;
  size_t first = k->count;
  if (status != TRILHA_OK || share <= 0) return status;
  TRILHA_SQLITE_SCOPED *due = NULL;
  bool row = false;
  status = trilha_sqlite_outbox_prepare(k->c, k->prefix, trilha_sql_sqlite_outbox_due, &due, err);
  if (status != TRILHA_OK) return status;
  sqlite3_bind_int64(due, 1, k->destination);
  trilha_sqlite_bind(due, 2, tenant);
  sqlite3_bind_int64(due, 3, k->now_us);
  sqlite3_bind_int64(due, 4, share);
  status = trilha_sqlite_step(k->c, due, &row, err);
  while (status == TRILHA_OK && row) {
    status = read_due(k, due, &k->leases[k->count++], err);
    if (status == TRILHA_OK) status = trilha_sqlite_step(k->c, due, &row, err);
  }
  /* Only now: the scan's own index is what changes. */
  for (size_t i = first; status == TRILHA_OK && i < k->count; i++) status = lease(k, &k->leases[i], err);
  return status;
}

/* Tenants take turns, as on PostgreSQL: see outbox_claim in sql/postgres/outbox. */
static trilha_status claim_round(claiming *k, trilha_text *ret_after, trilha_error *err) {
  bool wrapped = k->claim->after.size == 0;
  trilha_text tenant = k->claim->after;
  trilha_status status = TRILHA_OK;
  for (int64_t visits = 0;
       status == TRILHA_OK && (int64_t)k->count < k->claim->lanes && visits < 2 * k->claim->lanes;) {
    status = next_tenant(k, tenant, &tenant, err);
    if (status != TRILHA_OK) break;
    bool round =
        wrapped && k->claim->after.size > 0 && tenant.data != NULL && trilha_text_compare(tenant, k->claim->after) > 0;
    if (tenant.data == NULL || round) {
      tenant = TRILHA_TEXT("");
      if (wrapped) break;
      wrapped = true;
      continue;
    }
    visits++;
    status = claim_of(k, tenant, err);
  }
  *ret_after = tenant;
  return status;
}

static trilha_status look_in(trilha_sqlite_connection *c, const char *prefix, trilha_text destination, bool *ret_due,
                             trilha_error *err) {
  TRILHA_SQLITE_SCOPED *look = NULL;
  int64_t number = 0, one = 0;
  trilha_status status = trilha_sqlite_outbox_destination(c, prefix, destination, &number, err);
  if (status == TRILHA_OK)
    status = trilha_sqlite_outbox_prepare(c, prefix, trilha_sql_sqlite_outbox_anything_due, &look, err);
  if (status != TRILHA_OK) return status;
  sqlite3_bind_int64(look, 1, number);
  sqlite3_bind_int64(look, 2, trilha_clock_wall_us());
  return trilha_sqlite_value(c, look, &one, ret_due, err);
}

/* An idle relay takes no writer's lock and waits for no producer: readers and the writer do not meet. */
static trilha_status anything_due(trilha_sqlite_outbox *o, trilha_text destination, bool *ret_due, trilha_error *err) {
  trilha_sqlite_connection *c = NULL;
  trilha_status status = trilha_sqlite_read_begin(o->s, trilha_deadline_in_ms(o->s->lock_timeout_ms), &c, err);
  if (status != TRILHA_OK) return status;
  status = look_in(c, o->prefix, destination, ret_due, err);
  trilha_sqlite_read_end(o->s, c);
  return status;
}

trilha_status trilha_sqlite_outbox_claim(trilha_outbox_store *store, const trilha_claim *claim, trilha_arena *arena,
                                         trilha_lane_lease *leases, size_t *ret_count, trilha_text *ret_after,
                                         trilha_error *err) {
  trilha_sqlite_outbox *o = trilha_sqlite_outbox_of(store);
  claiming k = {.prefix = o->prefix, .claim = claim, .arena = arena, .leases = leases};
  bool due = false;
  trilha_status status = anything_due(o, claim->destination, &due, err);
  if (status == TRILHA_OK && !due) {
    *ret_count = 0;
    *ret_after = TRILHA_TEXT("");
  }
  if (status != TRILHA_OK || !due) return status;
  status = trilha_sqlite_outbox_begin(o, &k.c, err);
  if (status != TRILHA_OK) return status;
  k.now_us = trilha_clock_wall_us();
  status = trilha_sqlite_outbox_destination(k.c, o->prefix, claim->destination, &k.destination, err);
  if (status == TRILHA_OK) status = claim_round(&k, ret_after, err);
  status = trilha_sqlite_outbox_end(o, status, err);
  if (status == TRILHA_OK) *ret_count = k.count;
  return status;
}

/* --- fetch ------------------------------------------------------------------------------------------------------- */

static void copy_id(sqlite3_stmt *row, int column, char out[TRILHA_UUID_TEXT_SIZE]) {
  const char *text = (const char *)sqlite3_column_text(row, column);
  out[0] = '\0';
  if (text != NULL && strlen(text) == TRILHA_UUID_TEXT_SIZE - 1) memcpy(out, text, TRILHA_UUID_TEXT_SIZE);
}

static void read_row(sqlite3_stmt *row, trilha_outbox_row *out) {
  out->aggregate_sequence = sqlite3_column_int64(row, 0);
  copy_id(row, 1, out->message_id);
  out->company_id = trilha_sqlite_borrow(row, 2);
  out->message_type = trilha_sqlite_borrow(row, 3);
  out->version = trilha_sqlite_borrow(row, 4);
  out->origin = trilha_sqlite_borrow(row, 5);
  copy_id(row, 6, out->correlation_id);
  copy_id(row, 7, out->causation_id);
  out->traceparent = trilha_sqlite_borrow(row, 8);
  out->occurred_at_us = trilha_timestamp_clamp(sqlite3_column_int64(row, 9));
  out->payload = trilha_sqlite_borrow(row, 10);
  out->revision = sqlite3_column_int64(row, 11);
  out->held_by = trilha_sqlite_borrow(row, 12);
}

typedef struct fetching {
  trilha_sqlite_connection *c;
  const char *prefix;
  int64_t destination, run, run_bytes;
  bool guarded;
  trilha_outbox_row_visit visit;
  void *user;
} fetching;

static void bind_lane(const fetching *f, sqlite3_stmt *s, const trilha_lane_lease *lease) {
  sqlite3_bind_int64(s, 1, f->destination);
  sqlite3_bind_int64(s, 2, lease->aggregate_id);
  sqlite3_bind_int64(s, 3, lease->head_sequence);
}

static trilha_status fetch_lane(const fetching *f, size_t lane, const trilha_lane_lease *lease, trilha_error *err) {
  TRILHA_SQLITE_SCOPED *previous = NULL, *fetch = NULL;
  trilha_outbox_row message = {.lane = lane, .guarded = f->guarded};
  bool row = false;
  int64_t bytes = 0;
  trilha_status status =
      trilha_sqlite_outbox_prepare(f->c, f->prefix, trilha_sql_sqlite_outbox_previous, &previous, err);
  if (status == TRILHA_OK)
    status = trilha_sqlite_outbox_prepare(f->c, f->prefix, trilha_sql_sqlite_outbox_fetch, &fetch, err);
  if (status != TRILHA_OK) return status;
  bind_lane(f, previous, lease);
  bind_lane(f, fetch, lease);
  sqlite3_bind_int64(fetch, 4, f->run);
  status = trilha_sqlite_value(f->c, previous, &message.previous_sequence, &row, err);
  if (status == TRILHA_OK) status = trilha_sqlite_step(f->c, fetch, &row, err);
  for (bool first = true; status == TRILHA_OK && row; first = false) {
    read_row(fetch, &message);
    bytes += (int64_t)message.payload.size;
    if (!first && bytes > f->run_bytes) break;
    status = f->visit(f->user, &message, err);
    message.previous_sequence = message.aggregate_sequence;
    if (status == TRILHA_OK) status = trilha_sqlite_step(f->c, fetch, &row, err);
  }
  return status;
}

static trilha_status look_for_guard(fetching *f, trilha_error *err) {
  TRILHA_SQLITE_SCOPED *look = NULL;
  int64_t one = 0;
  trilha_status status =
      trilha_sqlite_outbox_prepare(f->c, f->prefix, trilha_sql_sqlite_outbox_service_guarded, &look, err);
  return status == TRILHA_OK ? trilha_sqlite_value(f->c, look, &one, &f->guarded, err) : status;
}

trilha_status trilha_sqlite_outbox_fetch(trilha_outbox_store *store, trilha_text destination,
                                         const trilha_lane_lease *leases, size_t count, int64_t run, int64_t run_bytes,
                                         trilha_outbox_row_visit visit, void *user, trilha_error *err) {
  trilha_sqlite_outbox *o = trilha_sqlite_outbox_of(store);
  fetching f = {.prefix = o->prefix, .run = run, .run_bytes = run_bytes, .visit = visit, .user = user};
  trilha_status status = trilha_sqlite_read_begin(o->s, trilha_deadline_in_ms(o->s->lock_timeout_ms), &f.c, err);
  if (status != TRILHA_OK) return status;
  status = trilha_sqlite_outbox_destination(f.c, o->prefix, destination, &f.destination, err);
  if (status == TRILHA_OK) status = look_for_guard(&f, err);
  for (size_t i = 0; status == TRILHA_OK && i < count; i++) status = fetch_lane(&f, i, &leases[i], err);
  trilha_sqlite_read_end(o->s, f.c);
  return status;
}

/* --- renew, settle ----------------------------------------------------------------------------------------------- */

static trilha_status renew_in(trilha_sqlite_connection *c, const char *prefix, trilha_text destination,
                              const trilha_lane_lease *lease_now, int64_t until_us, trilha_error *err) {
  TRILHA_SQLITE_SCOPED *renew = NULL;
  int64_t number = 0;
  int changes = 0;
  trilha_status status = trilha_sqlite_outbox_destination(c, prefix, destination, &number, err);
  if (status == TRILHA_OK)
    status = trilha_sqlite_outbox_prepare(c, prefix, trilha_sql_sqlite_outbox_renew, &renew, err);
  if (status != TRILHA_OK) return status;
  sqlite3_bind_int64(renew, 1, number);
  sqlite3_bind_int64(renew, 2, lease_now->aggregate_id);
  sqlite3_bind_int64(renew, 3, lease_now->token);
  sqlite3_bind_int64(renew, 4, until_us);
  status = trilha_sqlite_outbox_run(c, renew, &changes, err);
  if (status != TRILHA_OK || changes == 1) return status;
  return trilha_error_set(err, TRILHA_CONFLICT, "LEASE_LOST", "the lease of the lane is somebody else's by now");
}

trilha_status trilha_sqlite_outbox_renew(trilha_outbox_store *store, trilha_text destination,
                                         trilha_lane_lease *lease_now, int64_t lease_ms, trilha_error *err) {
  trilha_sqlite_outbox *o = trilha_sqlite_outbox_of(store);
  trilha_sqlite_connection *c = NULL;
  trilha_status status = trilha_sqlite_outbox_begin(o, &c, err);
  if (status != TRILHA_OK) return status;
  int64_t until_us = trilha_clock_wall_us() + lease_ms * 1000;
  status = trilha_sqlite_outbox_end(o, renew_in(c, o->prefix, destination, lease_now, until_us, err), err);
  if (status == TRILHA_OK) lease_now->until_us = until_us;
  return status;
}

/* *ret_parked false: messages are left for the lane, or the lease is lost. */
static trilha_status try_park(trilha_sqlite_connection *c, const char *prefix, int64_t destination,
                              trilha_lane_outcome *outcome, bool *ret_parked, trilha_error *err) {
  TRILHA_SQLITE_SCOPED *left = NULL, *park = NULL;
  int64_t one = 0;
  bool any = true;
  int changes = 0;
  trilha_status status = trilha_sqlite_outbox_prepare(c, prefix, trilha_sql_sqlite_outbox_left, &left, err);
  if (status == TRILHA_OK) status = trilha_sqlite_outbox_prepare(c, prefix, trilha_sql_sqlite_outbox_park, &park, err);
  if (status != TRILHA_OK) return status;
  sqlite3_stmt *const both[] = {left, park};
  for (size_t i = 0; i < 2; i++) {
    sqlite3_bind_int64(both[i], 1, destination);
    sqlite3_bind_int64(both[i], 2, outcome->lease->aggregate_id);
  }
  sqlite3_bind_int64(left, 3, outcome->next_sequence);
  sqlite3_bind_int64(park, 3, outcome->lease->token);
  status = trilha_sqlite_value(c, left, &one, &any, err);
  if (status != TRILHA_OK || any) return status;
  status = trilha_sqlite_outbox_run(c, park, &changes, err);
  *ret_parked = outcome->settled = status == TRILHA_OK && changes == 1;
  return status;
}

/* Whatever the destination acknowledged of a lane that was settled. */
static trilha_status note_delivered(trilha_sqlite_connection *c, const char *prefix, int64_t destination,
                                    int64_t now_us, const trilha_lane_outcome *outcome, trilha_error *err) {
  TRILHA_SQLITE_SCOPED *delivered = NULL;
  if (!outcome->settled || outcome->next_sequence <= outcome->lease->head_sequence) return TRILHA_OK;
  trilha_status status = trilha_sqlite_outbox_prepare(c, prefix, trilha_sql_sqlite_outbox_delivered, &delivered, err);
  if (status != TRILHA_OK) return status;
  sqlite3_bind_int64(delivered, 1, outcome->lease->aggregate_id);
  sqlite3_bind_int64(delivered, 2, destination);
  sqlite3_bind_int64(delivered, 3, outcome->lease->head_sequence);
  sqlite3_bind_int64(delivered, 4, outcome->next_sequence - 1);
  sqlite3_bind_int64(delivered, 5, now_us);
  return trilha_sqlite_outbox_run(c, delivered, NULL, err);
}

/* Whether another path still has the type of the message at which the lane stopped. */
static trilha_status is_held(trilha_sqlite_connection *c, const char *prefix, const trilha_lane_outcome *outcome,
                             bool *ret_held, trilha_error *err) {
  TRILHA_SQLITE_SCOPED *look = NULL;
  *ret_held = false;
  if (!outcome->held) return TRILHA_OK;
  trilha_status status = trilha_sqlite_outbox_prepare(c, prefix, trilha_sql_sqlite_outbox_held_by, &look, err);
  if (status != TRILHA_OK) return status;
  sqlite3_bind_int64(look, 1, outcome->lease->aggregate_id);
  sqlite3_bind_int64(look, 2, outcome->next_sequence);
  return trilha_sqlite_step(c, look, ret_held, err);
}

/* A lane that was put aside is woken by whoever takes the path over; else it is due now, or after its pause. */
static int64_t due_after(const trilha_lane_outcome *outcome, bool aside, int64_t now_us) {
  if (aside) return LANE_ASIDE_US;
  return now_us + (outcome->failed ? outcome->delay_ms * 1000 : 0);
}

static trilha_status settle_one(trilha_sqlite_connection *c, const char *prefix, int64_t destination, int64_t now_us,
                                trilha_lane_outcome *outcome, trilha_error *err) {
  TRILHA_SQLITE_SCOPED *settle = NULL;
  bool parked = false, aside = false, told = outcome->failed || outcome->held;
  int changes = 0;
  outcome->settled = false;
  trilha_status status = is_held(c, prefix, outcome, &aside, err);
  if (status == TRILHA_OK && outcome->drained && !told)
    status = try_park(c, prefix, destination, outcome, &parked, err);
  if (status != TRILHA_OK || parked) return status;
  status = trilha_sqlite_outbox_prepare(c, prefix, trilha_sql_sqlite_outbox_settle, &settle, err);
  if (status != TRILHA_OK) return status;
  sqlite3_bind_int64(settle, 1, destination);
  sqlite3_bind_int64(settle, 2, outcome->lease->aggregate_id);
  sqlite3_bind_int64(settle, 3, outcome->lease->token);
  trilha_sqlite_bind(settle, 4, outcome->failed && outcome->dead ? TRILHA_TEXT("X") : TRILHA_TEXT("R"));
  sqlite3_bind_int64(settle, 5, outcome->next_sequence);
  sqlite3_bind_int64(settle, 6, outcome->failed ? 1 : 0);
  sqlite3_bind_int64(settle, 7, due_after(outcome, aside, now_us));
  trilha_sqlite_bind(settle, 8, told ? outcome->code : (trilha_text){0});
  trilha_sqlite_bind(settle, 9, told ? outcome->text : (trilha_text){0});
  sqlite3_bind_int64(settle, 10, now_us);
  status = trilha_sqlite_outbox_run(c, settle, &changes, err);
  outcome->settled = status == TRILHA_OK && changes == 1;
  return status;
}

trilha_status trilha_sqlite_outbox_settle(trilha_outbox_store *store, trilha_text destination,
                                          trilha_lane_outcome *outcomes, size_t count, trilha_error *err) {
  trilha_sqlite_outbox *o = trilha_sqlite_outbox_of(store);
  trilha_sqlite_connection *c = NULL;
  int64_t number = 0;
  trilha_status status = trilha_sqlite_outbox_begin(o, &c, err);
  if (status != TRILHA_OK) return status;
  int64_t now_us = trilha_clock_wall_us();
  status = trilha_sqlite_outbox_destination(c, o->prefix, destination, &number, err);
  for (size_t i = 0; status == TRILHA_OK && i < count; i++) {
    status = settle_one(c, o->prefix, number, now_us, &outcomes[i], err);
    if (status == TRILHA_OK) status = note_delivered(c, o->prefix, number, now_us, &outcomes[i], err);
  }
  return trilha_sqlite_outbox_end(o, status, err);
}
