/* store/postgres/outbox_service: what a worker may dispatch in whose name. The rules are in sql/postgres/outbox. */
#include <stdio.h>

#include "outbox.h"

static void add_key(trilha_pg_parameters *p, const trilha_service_grant *key) {
  trilha_pg_add_text(p, key->credential);
  trilha_pg_add_text(p, key->destination);
  trilha_pg_add_text(p, key->tenant_id);
  trilha_pg_add_text(p, key->company_id);
  trilha_pg_add_text(p, key->operation);
}

static trilha_service_answer read_answer(const PGresult *r, int row) {
  trilha_service_answer answer = {.proven = trilha_pg_get_bool(r, row, 1), .granted = trilha_pg_get_bool(r, row, 2)};
  trilha_text credential = trilha_pg_get_text(r, row, 0);
  snprintf(answer.credential, sizeof answer.credential, "%.*s", (int)credential.size, credential.data);
  return answer;
}

trilha_status trilha_pg_outbox_service_may(trilha_outbox_store *store, const trilha_service_grant *asked, size_t count,
                                           trilha_service_answer *ret_answers, trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  TRILHA_PG_RESULT_SCOPED *r = NULL;
  trilha_pg_parameters_init(&p);
  trilha_pg_add_text(&p, asked[0].credential);
  trilha_pg_add_text(&p, asked[0].destination);
  trilha_pg_array_begin(&p, TRILHA_PG_TEXT, count);
  for (size_t i = 0; i < count; i++) trilha_pg_element_text(&p, asked[i].tenant_id);
  trilha_pg_array_end(&p);
  trilha_pg_array_begin(&p, TRILHA_PG_TEXT, count);
  for (size_t i = 0; i < count; i++) trilha_pg_element_text(&p, asked[i].company_id);
  trilha_pg_array_end(&p);
  trilha_pg_array_begin(&p, TRILHA_PG_TEXT, count);
  for (size_t i = 0; i < count; i++) trilha_pg_element_text(&p, asked[i].operation);
  trilha_pg_array_end(&p);
  trilha_status status =
      trilha_pg_outbox_call(trilha_pg_outbox_of(store), trilha_sql_postgres_outbox_service_may, &p, &r, err);
  for (size_t i = 0; status == TRILHA_OK && i < count; i++)
    ret_answers[i] = (int)i < PQntuples(r) ? read_answer(r, (int)i) : (trilha_service_answer){0};
  return status;
}

trilha_status trilha_pg_outbox_service_set(trilha_outbox_store *store, bool grant, const trilha_service_grant *key,
                                           trilha_text user, trilha_text reason, bool *ret_changed, trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  TRILHA_PG_RESULT_SCOPED *r = NULL;
  trilha_pg_parameters_init(&p);
  trilha_pg_add_bool(&p, grant);
  add_key(&p, key);
  trilha_pg_add_text(&p, user);
  trilha_pg_add_text(&p, reason);
  trilha_status status =
      trilha_pg_outbox_call(trilha_pg_outbox_of(store), trilha_sql_postgres_outbox_service_set, &p, &r, err);
  if (status == TRILHA_OK) *ret_changed = trilha_pg_get_bool(r, 0, 0);
  return status;
}

trilha_status trilha_pg_outbox_service_grants(trilha_outbox_store *store, trilha_service_visit visit, void *user,
                                              trilha_error *err) {
  TRILHA_PG_RESULT_SCOPED *r = NULL;
  trilha_status status =
      trilha_pg_outbox_call(trilha_pg_outbox_of(store), trilha_sql_postgres_outbox_service_grants, NULL, &r, err);
  for (int i = 0; status == TRILHA_OK && i < PQntuples(r); i++) {
    char at[TRILHA_TIMESTAMP_SIZE];
    trilha_timestamp_format(trilha_pg_get_time(r, i, 6), at);
    const trilha_service_standing standing = {.grant = {.credential = trilha_pg_get_text(r, i, 0),
                                                        .destination = trilha_pg_get_text(r, i, 1),
                                                        .tenant_id = trilha_pg_get_text(r, i, 2),
                                                        .company_id = trilha_pg_get_text(r, i, 3),
                                                        .operation = trilha_pg_get_text(r, i, 4)},
                                              .granted = trilha_pg_get_bool(r, i, 5),
                                              .at = trilha_text_of(at),
                                              .user = trilha_pg_get_text(r, i, 7),
                                              .reason = trilha_pg_get_text(r, i, 8)};
    status = visit(user, &standing);
  }
  return status;
}
