/* store/postgres: reading the audit trail. */
#include "postgres_internal.h"

static void add_bound(trilha_pg_parameters *p, int64_t us, int64_t open) {
  if (us == open)
    trilha_pg_add_null(p, TRILHA_PG_TIMESTAMPTZ);
  else
    trilha_pg_add_time(p, us);
}

trilha_status trilha_pg_audit_list(trilha_store *store, const trilha_audit_query *query, int64_t limit,
                                   trilha_deadline deadline, trilha_audit_visit visit, void *user, trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  TRILHA_PG_RESULT_SCOPED *result = NULL;
  trilha_pg_parameters_init(&p);
  trilha_pg_add_i64(&p, query->after_id);
  trilha_pg_add_i64(&p, limit);
  trilha_pg_add_text(&p, query->action);
  trilha_pg_add_text(&p, query->entity);
  trilha_pg_add_text(&p, query->entity_id);
  add_bound(&p, query->from_us, INT64_MIN);
  add_bound(&p, query->to_us, INT64_MAX);
  const trilha_pg_step step = {.sql = trilha_sql_postgres_audit_list, .parameters = &p, .plan_anew = true};
  trilha_status status = trilha_pg_read(trilha_pg_of(store), &step, 1, deadline, &result, err);
  for (int i = 0; status == TRILHA_OK && i < PQntuples(result); i++) {
    const trilha_audit_stored stored = {.id = trilha_pg_get_i64(result, i, 0),
                                        .created_at_us = trilha_pg_get_time(result, i, 7),
                                        .row = {.entity = trilha_pg_get_text(result, i, 1),
                                                .entity_id = trilha_pg_get_text(result, i, 2),
                                                .change_type = trilha_pg_get_text(result, i, 3),
                                                .action = trilha_pg_get_text(result, i, 4),
                                                .user = trilha_pg_get_text(result, i, 5),
                                                .metadata = trilha_pg_get_text(result, i, 6)}};
    status = visit(user, &stored, err);
  }
  return status;
}
