/* store/postgres/delivery: dead letters, leases and requests. The rules of their states stand in the database's
 * functions. */
#include "delivery.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

trilha_status trilha_pg_lease_lost(trilha_error *err) {
  return trilha_error_set(err, TRILHA_CONFLICT, "LEASE_LOST",
                          "the lease was taken over or ended; nothing was changed under its token");
}

/* --- writing in one round trip --------------------------------------------------------------------------------- */

trilha_status trilha_pg_write_step(trilha_pg_store *s, const trilha_pg_step *step, trilha_deadline deadline,
                                   PGresult **ret_result, trilha_error *err) {
  enum { STEPS = 5 };
  trilha_pg_write_transaction w;
  trilha_pg_step steps[STEPS];
  PGresult *results[STEPS] = {NULL};
  trilha_pg_begin_writing(s, deadline, &w, steps);
  steps[3] = *step;
  steps[4] = (trilha_pg_step){.sql = trilha_sql_postgres_transaction_commit};
  trilha_pg_connection *c = NULL;
  trilha_pg_reach reach = TRILHA_PG_NOT_SENT;
  trilha_status status = trilha_pg_take_writer(s, deadline, &c, err);
  if (status == TRILHA_OK) {
    status = trilha_pg_run(c, steps, STEPS, deadline, results, &reach, err);
    trilha_pg_give_back(s, c);
    status = trilha_pg_after_commit(status, reach, err);
  }
  trilha_pg_write_transaction_done(&w);
  if (status == TRILHA_OK) {
    *ret_result = results[3];
    results[3] = NULL;
  }
  for (size_t i = 0; i < STEPS; i++) trilha_pg_clear(&results[i]);
  return status;
}

trilha_status trilha_pg_write_one(trilha_pg_store *s, const char *sql, const trilha_pg_parameters *p,
                                  trilha_deadline deadline, PGresult **ret_result, trilha_error *err) {
  const trilha_pg_step step = {.sql = sql, .parameters = p};
  return trilha_pg_write_step(s, &step, deadline, ret_result, err);
}

trilha_status trilha_pg_write_under_token(trilha_store *store, const char *sql, const trilha_pg_parameters *parameters,
                                          trilha_deadline deadline, trilha_error *err) {
  TRILHA_PG_RESULT_SCOPED *result = NULL;
  trilha_status status = trilha_pg_write_one(trilha_pg_of(store), sql, parameters, deadline, &result, err);
  if (status == TRILHA_OK && !trilha_pg_get_bool(result, 0, 0)) status = trilha_pg_lease_lost(err);
  return status;
}

void trilha_pg_add_audit_row(trilha_pg_parameters *p, const trilha_audit_row *audit) {
  static const trilha_audit_row none = {0};
  const trilha_audit_row *row = audit == NULL ? &none : audit;
  const trilha_text columns[] = {row->entity, row->entity_id, row->change_type, row->action, row->user, row->metadata};
  for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) trilha_pg_add_text(p, columns[i]);
}

/* --- dead letters ------------------------------------------------------------------------------------------------ */

static trilha_status dead_letter_fail(trilha_store *store, const trilha_failure *f, int64_t max_attempts,
                                      trilha_deadline deadline, int64_t *ret_attempts, trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  TRILHA_PG_RESULT_SCOPED *result = NULL;
  trilha_pg_parameters_init(&p);
  trilha_pg_add_uuid(&p, f->event_id);
  trilha_pg_add_i64(&p, f->sequence_number);
  trilha_pg_add_text(&p, f->colonia);
  trilha_pg_add_text(&p, f->handler_nome);
  trilha_pg_add_text(&p, f->mensagem_erro);
  trilha_pg_add_text(&p, f->pilha_erro);
  trilha_pg_add_i64(&p, max_attempts);
  trilha_pg_add_text(&p, f->lease == NULL ? (trilha_text){0} : f->lease->grupo);
  if (f->lease == NULL)
    trilha_pg_add_null(&p, TRILHA_PG_INT8);
  else
    trilha_pg_add_i64(&p, f->lease->token);
  trilha_status status =
      trilha_pg_write_one(trilha_pg_of(store), trilha_sql_postgres_dead_letter_fail, &p, deadline, &result, err);
  if (status == TRILHA_OK && PQgetisnull(result, 0, 0)) status = trilha_pg_lease_lost(err);
  if (status == TRILHA_OK) *ret_attempts = trilha_pg_get_i64(result, 0, 0);
  return status;
}

static trilha_status dead_letter_resolve(trilha_store *store, const unsigned char event_id[16], trilha_text colonia,
                                         trilha_deadline deadline, bool *ret_resolved, trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  TRILHA_PG_RESULT_SCOPED *result = NULL;
  trilha_pg_parameters_init(&p);
  trilha_pg_add_uuid(&p, event_id);
  trilha_pg_add_text(&p, colonia);
  trilha_status status =
      trilha_pg_write_one(trilha_pg_of(store), trilha_sql_postgres_dead_letter_resolve, &p, deadline, &result, err);
  if (status == TRILHA_OK) *ret_resolved = trilha_pg_get_bool(result, 0, 0);
  return status;
}

static int64_t time_or_min(const PGresult *result, int row, int column) {
  return PQgetisnull(result, row, column) ? INT64_MIN : trilha_pg_get_time(result, row, column);
}

static void get_letter(const PGresult *r, int i, trilha_dead_letter_row *out) {
  *out = (trilha_dead_letter_row){.id = trilha_pg_get_i64(r, i, 0),
                                  .sequence_number = trilha_pg_get_i64(r, i, 2),
                                  .tipo = trilha_pg_get_text(r, i, 3),
                                  .colonia = trilha_pg_get_text(r, i, 4),
                                  .handler_nome = trilha_pg_get_text(r, i, 5),
                                  .mensagem_erro = trilha_pg_get_text(r, i, 6),
                                  .pilha_erro = trilha_pg_get_text(r, i, 7),
                                  .tentativas = trilha_pg_get_i64(r, i, 8),
                                  .ultima_tentativa_us = time_or_min(r, i, 9),
                                  .status = trilha_pg_get_text(r, i, 10),
                                  .criado_em_us = time_or_min(r, i, 11),
                                  .resolvido_em_us = time_or_min(r, i, 12)};
  trilha_pg_get_uuid(r, i, 1, out->event_id);
}

static void add_texts(trilha_pg_parameters *p, const trilha_text *texts, size_t count) {
  trilha_pg_array_begin(p, TRILHA_PG_TEXT, count);
  for (size_t i = 0; i < count; i++) trilha_pg_element_text(p, texts[i]);
  trilha_pg_array_end(p);
}

static trilha_status visit_letters(const PGresult *result, trilha_dead_letter_visit visit, void *user,
                                   trilha_error *err) {
  trilha_status status = TRILHA_OK;
  for (int i = 0; i < PQntuples(result) && status == TRILHA_OK; i++) {
    trilha_dead_letter_row row;
    get_letter(result, i, &row);
    status = visit(user, &row, err);
  }
  return status;
}

static trilha_status dead_letters_take(trilha_store *store, trilha_text colonia, const trilha_text *types,
                                       size_t type_count, const int64_t *ids, size_t id_count, int64_t limit,
                                       trilha_text holder, int64_t lease_ms, const trilha_audit_row *audit,
                                       trilha_deadline deadline, trilha_dead_letter_visit visit, void *user,
                                       int64_t *ret_token, trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  TRILHA_PG_RESULT_SCOPED *result = NULL;
  trilha_pg_parameters_init(&p);
  trilha_pg_add_text(&p, colonia);
  add_texts(&p, types, type_count);
  trilha_pg_array_begin(&p, TRILHA_PG_INT8, id_count);
  for (size_t i = 0; i < id_count; i++) trilha_pg_element_i64(&p, ids[i]);
  trilha_pg_array_end(&p);
  trilha_pg_add_i64(&p, limit);
  trilha_pg_add_text(&p, holder);
  trilha_pg_add_i64(&p, lease_ms);
  trilha_pg_add_audit_row(&p, audit);
  trilha_status status =
      trilha_pg_write_one(trilha_pg_of(store), trilha_sql_postgres_dead_letters_take, &p, deadline, &result, err);
  if (status != TRILHA_OK) return status;
  *ret_token = PQntuples(result) > 0 ? trilha_pg_get_i64(result, 0, 13) : 0;
  return visit_letters(result, visit, user, err);
}

static void add_settlement(trilha_pg_parameters *p, int64_t id, int64_t token, const trilha_failure *failure,
                           int64_t max_attempts) {
  static const trilha_failure success = {0};
  const trilha_failure *f = failure == NULL ? &success : failure;
  trilha_pg_add_i64(p, id);
  trilha_pg_add_i64(p, token);
  trilha_pg_add_bool(p, failure != NULL);
  trilha_pg_add_text(p, f->handler_nome);
  trilha_pg_add_text(p, f->mensagem_erro);
  trilha_pg_add_text(p, f->pilha_erro);
  trilha_pg_add_i64(p, max_attempts);
}

static trilha_status dead_letter_resolve_in(trilha_store *store, void *connection, int64_t id, int64_t token,
                                            trilha_error *err) {
  (void)store;
  TRILHA_PG_PARAMETERS_SCOPED p;
  trilha_pg_parameters_init(&p);
  add_settlement(&p, id, token, NULL, 0);
  return trilha_pg_take_part(connection, trilha_sql_postgres_dead_letter_settle, &p, err);
}

static trilha_status dead_letter_settle(trilha_store *store, int64_t id, int64_t token, const trilha_failure *failure,
                                        int64_t max_attempts, trilha_deadline deadline, trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  trilha_pg_parameters_init(&p);
  add_settlement(&p, id, token, failure, max_attempts);
  return trilha_pg_write_under_token(store, trilha_sql_postgres_dead_letter_settle, &p, deadline, err);
}

static trilha_status dead_letter_extend(trilha_store *store, int64_t id, int64_t token, int64_t lease_ms,
                                        trilha_deadline deadline, trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  trilha_pg_parameters_init(&p);
  trilha_pg_add_i64(&p, id);
  trilha_pg_add_i64(&p, token);
  trilha_pg_add_i64(&p, lease_ms);
  return trilha_pg_write_under_token(store, trilha_sql_postgres_dead_letter_extend, &p, deadline, err);
}

static trilha_status dead_letters_recover(trilha_store *store, trilha_deadline deadline, int64_t *ret_count,
                                          trilha_error *err) {
  const trilha_pg_step look = {.sql = trilha_sql_postgres_dead_letters_abandoned};
  TRILHA_PG_RESULT_SCOPED *seen = NULL;
  TRILHA_PG_RESULT_SCOPED *result = NULL;
  *ret_count = 0;
  trilha_status status = trilha_pg_read(trilha_pg_of(store), &look, 1, deadline, &seen, err);
  if (status != TRILHA_OK || trilha_pg_get_i64(seen, 0, 0) == 0) return status;
  status =
      trilha_pg_write_one(trilha_pg_of(store), trilha_sql_postgres_dead_letters_recover, NULL, deadline, &result, err);
  if (status == TRILHA_OK) *ret_count = trilha_pg_get_i64(result, 0, 0);
  return status;
}

static trilha_status dead_letter_reopen(trilha_store *store, int64_t id, const trilha_audit_row *audit,
                                        trilha_deadline deadline, trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  TRILHA_PG_RESULT_SCOPED *result = NULL;
  trilha_pg_parameters_init(&p);
  trilha_pg_add_i64(&p, id);
  trilha_pg_add_audit_row(&p, audit);
  trilha_status status =
      trilha_pg_write_one(trilha_pg_of(store), trilha_sql_postgres_dead_letter_reopen, &p, deadline, &result, err);
  if (status != TRILHA_OK) return status;
  if (PQgetisnull(result, 0, 0))
    return trilha_error_set(err, TRILHA_NOT_FOUND, "DEAD_LETTER_NOT_FOUND", "there is no dead letter %lld",
                            (long long)id);
  if (trilha_pg_get_bool(result, 0, 0)) return TRILHA_OK;
  return trilha_error_set(err, TRILHA_CONFLICT, "DEAD_LETTER_STATE", "dead letter %lld is not failed_permanent",
                          (long long)id);
}

static trilha_status dead_letters_list(trilha_store *store, const trilha_dead_letter_filter *f, int64_t after_id,
                                       int64_t limit, trilha_deadline deadline, trilha_dead_letter_visit visit,
                                       void *user, trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  TRILHA_PG_RESULT_SCOPED *result = NULL;
  trilha_pg_parameters_init(&p);
  trilha_pg_add_i64(&p, after_id);
  trilha_pg_add_i64(&p, limit);
  trilha_pg_add_i64(&p, f->id);
  trilha_pg_add_text(&p, f->colonia);
  trilha_pg_add_text(&p, f->tipo);
  trilha_pg_add_text(&p, f->status);
  if (f->has_event_id)
    trilha_pg_add_uuid(&p, f->event_id);
  else
    trilha_pg_add_null(&p, TRILHA_PG_UUID);
  const trilha_pg_step query = {.sql = trilha_sql_postgres_dead_letters_list, .parameters = &p, .plan_anew = true};
  trilha_status status = trilha_pg_read(trilha_pg_of(store), &query, 1, deadline, &result, err);
  return status == TRILHA_OK ? visit_letters(result, visit, user, err) : status;
}

static trilha_status dead_letter_stats(trilha_store *store, trilha_deadline deadline,
                                       trilha_status (*visit)(void *user, trilha_text colonia, int64_t open,
                                                              trilha_error *err),
                                       void *user, trilha_error *err) {
  const trilha_pg_step query = {.sql = trilha_sql_postgres_dead_letter_stats};
  TRILHA_PG_RESULT_SCOPED *result = NULL;
  trilha_status status = trilha_pg_read(trilha_pg_of(store), &query, 1, deadline, &result, err);
  for (int i = 0; status == TRILHA_OK && i < PQntuples(result); i++)
    status = visit(user, trilha_pg_get_text(result, i, 0), trilha_pg_get_i64(result, i, 1), err);
  return status;
}

/* --- leases ------------------------------------------------------------------------------------------------------- */

static trilha_status lease_acquire(trilha_store *store, trilha_lease *lease, const trilha_text *types,
                                   size_t type_count, int64_t lease_ms, char *ret_holder, trilha_deadline deadline,
                                   trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  TRILHA_PG_RESULT_SCOPED *result = NULL;
  trilha_pg_parameters_init(&p);
  trilha_pg_add_text(&p, lease->colonia);
  trilha_pg_add_text(&p, lease->grupo);
  trilha_pg_add_text(&p, lease->holder);
  add_texts(&p, types, type_count);
  trilha_pg_add_i64(&p, lease_ms);
  trilha_status status =
      trilha_pg_write_one(trilha_pg_of(store), trilha_sql_postgres_lease_acquire, &p, deadline, &result, err);
  if (status != TRILHA_OK) return status;
  if (!PQgetisnull(result, 0, 0)) {
    lease->token = trilha_pg_get_i64(result, 0, 0);
    return TRILHA_OK;
  }
  trilha_text holder = trilha_pg_get_text(result, 0, 1);
  snprintf(ret_holder, 128, "%.*s", (int)holder.size, holder.size == 0 ? "" : holder.data);
  return trilha_error_set(err, TRILHA_CONFLICT, "LEASE_HELD", "%s consumes for this colony now", ret_holder);
}

static trilha_status extend(trilha_store *store, const trilha_lease *lease, int64_t lease_ms, trilha_deadline deadline,
                            trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  trilha_pg_parameters_init(&p);
  trilha_pg_add_text(&p, lease->colonia);
  trilha_pg_add_text(&p, lease->grupo);
  trilha_pg_add_i64(&p, lease->token);
  trilha_pg_add_i64(&p, lease_ms);
  return trilha_pg_write_under_token(store, trilha_sql_postgres_lease_extend, &p, deadline, err);
}

static trilha_status lease_release(trilha_store *store, const trilha_lease *lease, trilha_deadline deadline,
                                   trilha_error *err) {
  return extend(store, lease, 0, deadline, err);
}

static trilha_status lease_declare(trilha_store *store, const trilha_lease *lease, trilha_text guarantee,
                                   trilha_text because, trilha_deadline deadline, trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  trilha_pg_parameters_init(&p);
  trilha_pg_add_text(&p, lease->colonia);
  trilha_pg_add_text(&p, lease->grupo);
  trilha_pg_add_i64(&p, lease->token);
  trilha_pg_add_text(&p, guarantee);
  trilha_pg_add_text(&p, because);
  return trilha_pg_write_under_token(store, trilha_sql_postgres_lease_declare, &p, deadline, err);
}

static trilha_status handlers_list(trilha_store *store, trilha_deadline deadline, trilha_handler_visit visit,
                                   void *user, trilha_error *err) {
  TRILHA_PG_RESULT_SCOPED *r = NULL;
  const trilha_pg_step query = {.sql = trilha_sql_postgres_handlers_list};
  trilha_status status = trilha_pg_read(trilha_pg_of(store), &query, 1, deadline, &r, err);
  for (int i = 0; status == TRILHA_OK && i < PQntuples(r); i++) {
    const trilha_handler_row row = {.colonia = trilha_pg_get_text(r, i, 0),
                                    .grupo = trilha_pg_get_text(r, i, 1),
                                    .tipo = trilha_pg_get_text(r, i, 2),
                                    .holder = trilha_pg_get_text(r, i, 3),
                                    .live = trilha_pg_get_bool(r, i, 4),
                                    .guarantee = trilha_pg_get_text(r, i, 5),
                                    .because = trilha_pg_get_text(r, i, 6),
                                    .declared_at_us = PQgetisnull(r, i, 7) ? INT64_MIN : trilha_pg_get_time(r, i, 7)};
    status = visit(user, &row, err);
  }
  return status;
}

/* --- requests ------------------------------------------------------------------------------------------------------
 */

static trilha_status request_create(trilha_store *store, trilha_text colonia, trilha_text user_name,
                                    const trilha_audit_row *audit, trilha_deadline deadline, int64_t *ret_request,
                                    bool *ret_listening, trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  TRILHA_PG_RESULT_SCOPED *result = NULL;
  trilha_pg_parameters_init(&p);
  trilha_pg_add_text(&p, colonia);
  trilha_pg_add_text(&p, user_name.data == NULL ? TRILHA_TEXT("?") : user_name);
  trilha_pg_add_audit_row(&p, audit);
  trilha_status status =
      trilha_pg_write_one(trilha_pg_of(store), trilha_sql_postgres_request_create, &p, deadline, &result, err);
  if (status != TRILHA_OK) return status;
  *ret_request = trilha_pg_get_i64(result, 0, 0);
  *ret_listening = trilha_pg_get_bool(result, 0, 1);
  return TRILHA_OK;
}

static trilha_status request_take(trilha_store *store, const trilha_lease *lease, trilha_deadline deadline,
                                  int64_t *ret_request, trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED look;
  TRILHA_PG_PARAMETERS_SCOPED p;
  TRILHA_PG_RESULT_SCOPED *seen = NULL;
  TRILHA_PG_RESULT_SCOPED *result = NULL;
  trilha_pg_parameters_init(&look);
  trilha_pg_parameters_init(&p);
  trilha_pg_add_text(&look, lease->colonia);
  trilha_pg_add_text(&look, lease->grupo);
  trilha_pg_add_i64(&look, lease->token);
  const trilha_pg_step query = {.sql = trilha_sql_postgres_request_waiting, .parameters = &look};
  trilha_status status = trilha_pg_read(trilha_pg_of(store), &query, 1, deadline, &seen, err);
  if (status != TRILHA_OK) return status;
  if (PQgetisnull(seen, 0, 0)) return TRILHA_NOT_FOUND;
  trilha_pg_add_text(&p, lease->colonia);
  trilha_pg_add_text(&p, lease->grupo);
  trilha_pg_add_i64(&p, lease->token);
  status = trilha_pg_write_one(trilha_pg_of(store), trilha_sql_postgres_request_take, &p, deadline, &result, err);
  if (status != TRILHA_OK) return status;
  if (PQgetisnull(result, 0, 0)) return trilha_pg_lease_lost(err);
  *ret_request = trilha_pg_get_i64(result, 0, 0);
  return *ret_request == 0 ? TRILHA_NOT_FOUND : TRILHA_OK;
}

static trilha_status request_settle(trilha_store *store, const trilha_lease *lease, int64_t request,
                                    int64_t reprocessados, int64_t failed, trilha_deadline deadline,
                                    trilha_error *err) {
  (void)request; /* all that this token took */
  TRILHA_PG_PARAMETERS_SCOPED p;
  trilha_pg_parameters_init(&p);
  trilha_pg_add_text(&p, lease->colonia);
  trilha_pg_add_text(&p, lease->grupo);
  trilha_pg_add_i64(&p, lease->token);
  trilha_pg_add_i64(&p, reprocessados);
  trilha_pg_add_i64(&p, failed);
  return trilha_pg_write_under_token(store, trilha_sql_postgres_request_settle, &p, deadline, err);
}

static trilha_status request_read(trilha_store *store, int64_t request, trilha_deadline deadline, bool *ret_done,
                                  int64_t *ret_reprocessados, int64_t *ret_failed, trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  TRILHA_PG_RESULT_SCOPED *result = NULL;
  trilha_pg_parameters_init(&p);
  trilha_pg_add_i64(&p, request);
  const trilha_pg_step query = {.sql = trilha_sql_postgres_request_read, .parameters = &p};
  trilha_status status = trilha_pg_read(trilha_pg_of(store), &query, 1, deadline, &result, err);
  if (status != TRILHA_OK) return status;
  int64_t rows = trilha_pg_get_i64(result, 0, 0);
  if (rows == 0)
    return trilha_error_set(err, TRILHA_NOT_FOUND, "REQUEST_NOT_FOUND", "there is no such reprocess request");
  *ret_done = trilha_pg_get_i64(result, 0, 1) == rows;
  *ret_reprocessados = trilha_pg_get_i64(result, 0, 2);
  *ret_failed = trilha_pg_get_i64(result, 0, 3);
  return TRILHA_OK;
}

static trilha_status request_withdraw(trilha_store *store, int64_t request, trilha_deadline deadline,
                                      bool *ret_withdrawn, trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  TRILHA_PG_RESULT_SCOPED *result = NULL;
  trilha_pg_parameters_init(&p);
  trilha_pg_add_i64(&p, request);
  trilha_status status =
      trilha_pg_write_one(trilha_pg_of(store), trilha_sql_postgres_request_withdraw, &p, deadline, &result, err);
  if (status == TRILHA_OK) *ret_withdrawn = trilha_pg_get_bool(result, 0, 0);
  return status;
}

const trilha_delivery_operations trilha_postgres_delivery = {
    .dead_letter_fail = dead_letter_fail,
    .dead_letter_resolve = dead_letter_resolve,
    .dead_letters_take = dead_letters_take,
    .dead_letter_settle = dead_letter_settle,
    .dead_letter_extend = dead_letter_extend,
    .dead_letters_recover = dead_letters_recover,
    .dead_letter_reopen = dead_letter_reopen,
    .dead_letters_list = dead_letters_list,
    .dead_letter_stats = dead_letter_stats,
    .lease_acquire = lease_acquire,
    .lease_renew = extend,
    .lease_release = lease_release,
    .lease_declare = lease_declare,
    .handlers_list = handlers_list,
    .cursors_prepare = trilha_pg_cursors_prepare,
    .cursors_read = trilha_pg_cursors_read,
    .cursors_seed = trilha_pg_cursors_seed,
    .cursors_advance = trilha_pg_cursors_advance,
    .events_due = trilha_pg_events_due,
    .consumers_list = trilha_pg_consumers_list,
    .request_create = request_create,
    .request_take = request_take,
    .request_settle = request_settle,
    .request_read = request_read,
    .request_withdraw = request_withdraw,
    .cursors_advance_in = trilha_pg_cursors_advance_in,
    .dead_letter_resolve_in = dead_letter_resolve_in,
};
