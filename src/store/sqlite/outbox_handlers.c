/* store/sqlite/outbox_handlers: what the handlers of destinations promise. */
#include "store/sqlite/outbox.h"

enum { DECLARE_WAIT_MS = 1000 }; /* what a relay says of itself must not hold up what it delivers */

static void bind_declaration(sqlite3_stmt *statement, const void *values) {
  const trilha_handler_declaration *d = values;
  trilha_sqlite_bind(statement, 1, d->destination);
  trilha_sqlite_bind(statement, 2, d->guarantee);
  trilha_sqlite_bind(statement, 3, d->because);
}

static trilha_status declare_in(trilha_sqlite_connection *c, const char *prefix,
                                const trilha_handler_declaration *declaration, trilha_error *err) {
  TRILHA_SQLITE_SCOPED *declare = NULL;
  trilha_status status =
      trilha_sqlite_outbox_prepare(c, prefix, trilha_sql_sqlite_outbox_handler_declare, &declare, err);
  if (status != TRILHA_OK) return status;
  bind_declaration(declare, declaration);
  trilha_sqlite_bind(declare, 4, declaration->worker);
  sqlite3_bind_int64(declare, 5, trilha_clock_wall_us());
  return trilha_sqlite_outbox_run(c, declare, NULL, err);
}

static trilha_status tell_nothing(sqlite3_stmt *row, void *user) {
  return TRILHA_OK;
}

/* A look comes first, which takes no writer's lock: a relay that begins has seldom anything new to say. */
trilha_status trilha_sqlite_outbox_handler_declare(trilha_outbox_store *store,
                                                   const trilha_handler_declaration *declaration, trilha_error *err) {
  trilha_sqlite_outbox *o = trilha_sqlite_outbox_of(store);
  trilha_sqlite_connection *c = NULL;
  trilha_sqlite_reading look = {.query = trilha_sql_sqlite_outbox_handler_said,
                                .bind = bind_declaration,
                                .values = declaration,
                                .tell = tell_nothing};
  trilha_status status = trilha_sqlite_outbox_read(store, &look, err);
  if (status != TRILHA_OK || look.rows > 0) return status;
  status = trilha_sqlite_write_begin(o->s, trilha_deadline_in_ms(DECLARE_WAIT_MS), &c, err);
  if (status != TRILHA_OK) return status;
  return trilha_sqlite_outbox_end(o, declare_in(c, o->prefix, declaration, err), err);
}

typedef struct listener {
  trilha_outbox_handler_visit visit;
  void *user;
} listener;

static trilha_status tell_handler(sqlite3_stmt *row, void *user) {
  const listener *l = user;
  char at[TRILHA_TIMESTAMP_SIZE];
  const trilha_outbox_handler handler = {.destination = trilha_sqlite_borrow(row, 0),
                                         .guarantee = trilha_sqlite_borrow(row, 1),
                                         .because = trilha_sqlite_borrow(row, 2),
                                         .worker = trilha_sqlite_borrow(row, 3),
                                         .declared_at = trilha_sqlite_time_text(row, 4, at)};
  return l->visit(l->user, &handler);
}

trilha_status trilha_sqlite_outbox_handlers(trilha_outbox_store *store, trilha_outbox_handler_visit visit, void *user,
                                            trilha_error *err) {
  listener l = {visit, user};
  trilha_sqlite_reading r = {.query = trilha_sql_sqlite_outbox_handlers, .tell = tell_handler, .user = &l};
  return trilha_sqlite_outbox_read(store, &r, err);
}
