/* store/postgres/outbox_handlers: what the handlers of destinations promise. */
#include "outbox.h"

trilha_status trilha_pg_outbox_handler_declare(trilha_outbox_store *store,
                                               const trilha_handler_declaration *declaration, trilha_error *err) {
  TRILHA_PG_PARAMETERS_SCOPED p;
  TRILHA_PG_RESULT_SCOPED *r = NULL;
  trilha_pg_parameters_init(&p);
  trilha_pg_add_text(&p, declaration->destination);
  trilha_pg_add_text(&p, declaration->guarantee);
  trilha_pg_add_text(&p, declaration->because);
  trilha_pg_add_text(&p, declaration->worker);
  return trilha_pg_outbox_call(trilha_pg_outbox_of(store), trilha_sql_postgres_outbox_handler_declare, &p, &r, err);
}

trilha_status trilha_pg_outbox_handlers(trilha_outbox_store *store, trilha_outbox_handler_visit visit, void *user,
                                        trilha_error *err) {
  TRILHA_PG_RESULT_SCOPED *r = NULL;
  trilha_status status =
      trilha_pg_outbox_call(trilha_pg_outbox_of(store), trilha_sql_postgres_outbox_handlers, NULL, &r, err);
  for (int i = 0; status == TRILHA_OK && i < PQntuples(r); i++) {
    char at[TRILHA_TIMESTAMP_SIZE] = "";
    bool said = !PQgetisnull(r, i, 4);
    if (said) trilha_timestamp_format(trilha_pg_get_time(r, i, 4), at);
    const trilha_outbox_handler handler = {.destination = trilha_pg_get_text(r, i, 0),
                                           .guarantee = trilha_pg_get_text(r, i, 1),
                                           .because = trilha_pg_get_text(r, i, 2),
                                           .worker = trilha_pg_get_text(r, i, 3),
                                           .declared_at = said ? trilha_text_of(at) : (trilha_text){0}};
    status = visit(user, &handler);
  }
  return status;
}
