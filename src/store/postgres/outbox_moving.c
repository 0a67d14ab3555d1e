/* store/postgres/outbox_moving: paths that another dispatcher holds, and the import of its backlog. The rules are in
 * the functions of sql/postgres/outbox. */
#include "outbox.h"

static trilha_status call(trilha_outbox_store *store, const char *query, const trilha_pg_parameters *p,
                          PGresult **ret_result, trilha_error *err) {
  return trilha_pg_outbox_call(trilha_pg_outbox_of(store), query, p, ret_result, err);
}

trilha_status trilha_pg_outbox_path_hold(trilha_outbox_store *store, const trilha_outbox_path *path, bool *ret_new,
                                         trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  TRILHA_PG_RESULT_SCOPED *r = NULL;
  trilha_pg_parameters_init(&p);
  trilha_pg_add_text(&p, path->type_pattern);
  trilha_pg_add_text(&p, path->holder);
  trilha_pg_add_text(&p, path->user);
  trilha_pg_add_text(&p, path->reason);
  trilha_status status = call(store, trilha_sql_postgres_outbox_path_hold, &p, &r, err);
  if (status == TRILHA_OK) *ret_new = trilha_pg_get_bool(r, 0, 0);
  return status;
}

trilha_status trilha_pg_outbox_path_take(trilha_outbox_store *store, trilha_text pattern, bool override,
                                         trilha_text user, trilha_text reason, int64_t *ret_woken, trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  TRILHA_PG_RESULT_SCOPED *r = NULL;
  trilha_pg_parameters_init(&p);
  trilha_pg_add_text(&p, pattern);
  trilha_pg_add_bool(&p, override);
  trilha_pg_add_text(&p, user);
  trilha_pg_add_text(&p, reason);
  trilha_status status = call(store, trilha_sql_postgres_outbox_path_take, &p, &r, err);
  if (status == TRILHA_OK) *ret_woken = trilha_pg_get_i64(r, 0, 0);
  return status;
}

trilha_status trilha_pg_outbox_paths(trilha_outbox_store *store, trilha_outbox_path_visit visit, void *user,
                                     trilha_error *err) {
  TRILHA_PG_RESULT_SCOPED *r = NULL;
  trilha_status status = call(store, trilha_sql_postgres_outbox_paths, NULL, &r, err);
  for (int i = 0; status == TRILHA_OK && i < PQntuples(r); i++) {
    char held_at[TRILHA_TIMESTAMP_SIZE];
    trilha_timestamp_format(trilha_pg_get_time(r, i, 2), held_at);
    const trilha_outbox_path path = {.type_pattern = trilha_pg_get_text(r, i, 0),
                                     .holder = trilha_pg_get_text(r, i, 1),
                                     .held_at = trilha_text_of(held_at),
                                     .user = trilha_pg_get_text(r, i, 3),
                                     .reason = trilha_pg_get_text(r, i, 4)};
    status = visit(user, &path);
  }
  return status;
}

trilha_status trilha_pg_outbox_import_begin(trilha_outbox_store *store, trilha_outbox_import_step *step,
                                            trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  TRILHA_PG_RESULT_SCOPED *r = NULL;
  trilha_pg_parameters_init(&p);
  trilha_pg_add_text(&p, step->mapping->json);
  trilha_pg_add_bool(&p, step->dry_run);
  trilha_pg_add_text(&p, step->user);
  trilha_pg_add_text(&p, step->reason);
  trilha_status status = call(store, trilha_sql_postgres_outbox_import_begin, &p, &r, err);
  if (status != TRILHA_OK) return status;
  step->total = trilha_pg_get_i64(r, 0, 0);
  step->imported = trilha_pg_get_i64(r, 0, 1);
  return TRILHA_OK;
}

trilha_status trilha_pg_outbox_import_batch(trilha_outbox_store *store, trilha_outbox_import_step *step,
                                            trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  TRILHA_PG_RESULT_SCOPED *r = NULL;
  trilha_pg_parameters_init(&p);
  trilha_pg_add_text(&p, step->mapping->name);
  trilha_pg_add_i64(&p, step->rows_max);
  trilha_pg_add_text(&p, step->user);
  trilha_pg_add_text(&p, step->reason);
  trilha_status status = call(store, trilha_sql_postgres_outbox_import_batch, &p, &r, err);
  if (status != TRILHA_OK) return status;
  step->copied = trilha_pg_get_i64(r, 0, 0);
  step->ended = trilha_pg_get_bool(r, 0, 1);
  return TRILHA_OK;
}
