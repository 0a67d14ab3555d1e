/* store/sqlite/outbox_service: what a worker may dispatch in whose name. A file has no logins: a credential is the name
 * that its worker was given. */
#include <stdio.h>

#include "base/error.h"
#include "store/sqlite/outbox.h"

static trilha_text or_empty(trilha_text text) {
  return text.data == NULL ? TRILHA_TEXT("") : text;
}

static void bind_key(sqlite3_stmt *statement, const trilha_service_grant *key, int64_t destination) {
  trilha_sqlite_bind(statement, 1, or_empty(key->credential));
  sqlite3_bind_int64(statement, 2, destination);
  trilha_sqlite_bind(statement, 3, key->tenant_id);
  trilha_sqlite_bind(statement, 4, or_empty(key->company_id));
  trilha_sqlite_bind(statement, 5, key->operation);
}

/* *ret_known false: it was never granted. */
static trilha_status look_up(trilha_sqlite_connection *c, const char *prefix, const trilha_service_grant *key,
                             int64_t destination, bool *ret_known, bool *ret_granted, trilha_error *err) {
  TRILHA_SQLITE_SCOPED *stands = NULL;
  int64_t granted = 0;
  trilha_status status = trilha_sqlite_outbox_prepare(c, prefix, trilha_sql_sqlite_outbox_service_stands, &stands, err);
  if (status != TRILHA_OK) return status;
  bind_key(stands, key, destination);
  status = trilha_sqlite_value(c, stands, &granted, ret_known, err);
  *ret_granted = *ret_known && granted != 0;
  return status;
}

trilha_status trilha_sqlite_outbox_service_may(trilha_outbox_store *store, const trilha_service_grant *asked,
                                               size_t count, trilha_service_answer *ret_answers, trilha_error *err) {
  trilha_sqlite_outbox *o = trilha_sqlite_outbox_of(store);
  trilha_sqlite_connection *c = NULL;
  int64_t destination = 0;
  trilha_status status = trilha_sqlite_read_begin(o->s, trilha_deadline_in_ms(o->s->lock_timeout_ms), &c, err);
  if (status != TRILHA_OK) return status;
  status = trilha_sqlite_outbox_destination(c, o->prefix, asked[0].destination, &destination, err);
  for (size_t i = 0; status == TRILHA_OK && i < count; i++) {
    trilha_service_answer answer = {.proven = asked[i].credential.size > 0};
    bool known = false;
    snprintf(answer.credential, sizeof answer.credential, "%.*s", (int)asked[i].credential.size,
             or_empty(asked[i].credential).data);
    status = look_up(c, o->prefix, &asked[i], destination, &known, &answer.granted, err);
    ret_answers[i] = answer;
  }
  trilha_sqlite_read_end(o->s, c);
  return status;
}

static trilha_status write_change(trilha_sqlite_connection *c, const char *prefix, bool grant,
                                  const trilha_service_grant *key, int64_t destination, trilha_text user,
                                  trilha_text reason, trilha_error *err) {
  TRILHA_SQLITE_SCOPED *change = NULL;
  trilha_status status = trilha_sqlite_outbox_prepare(c, prefix, trilha_sql_sqlite_outbox_service_change, &change, err);
  if (status != TRILHA_OK) return status;
  bind_key(change, key, destination);
  trilha_sqlite_bind(change, 6,
                     grant ? TRILHA_TEXT("trilha.service-grant.granted") : TRILHA_TEXT("trilha.service-grant.revoked"));
  sqlite3_bind_int64(change, 7, trilha_clock_wall_us());
  trilha_sqlite_bind(change, 8, user);
  trilha_sqlite_bind(change, 9, reason);
  return trilha_sqlite_outbox_run(c, change, NULL, err);
}

static trilha_status set_in(trilha_sqlite_connection *c, const char *prefix, bool grant,
                            const trilha_service_grant *key, trilha_text user, trilha_text reason, bool *ret_changed,
                            trilha_error *err) {
  int64_t destination = 0;
  bool known = false, granted = false;
  trilha_status status = trilha_sqlite_outbox_destination(c, prefix, key->destination, &destination, err);
  if (status == TRILHA_OK) status = look_up(c, prefix, key, destination, &known, &granted, err);
  if (status != TRILHA_OK) return status;
  if (!grant && !known)
    return trilha_error_set(err, TRILHA_NOT_FOUND, "GRANT_NOT_FOUND",
                            "there is no such grant; `trilha service list` shows them");
  *ret_changed = granted != grant;
  return granted == grant ? TRILHA_OK : write_change(c, prefix, grant, key, destination, user, reason, err);
}

trilha_status trilha_sqlite_outbox_service_set(trilha_outbox_store *store, bool grant, const trilha_service_grant *key,
                                               trilha_text user, trilha_text reason, bool *ret_changed,
                                               trilha_error *err) {
  trilha_sqlite_outbox *o = trilha_sqlite_outbox_of(store);
  trilha_sqlite_connection *c = NULL;
  trilha_status status = trilha_sqlite_outbox_begin(o, &c, err);
  if (status != TRILHA_OK) return status;
  return trilha_sqlite_outbox_end(o, set_in(c, o->prefix, grant, key, user, reason, ret_changed, err), err);
}

typedef struct listener {
  trilha_service_visit visit;
  void *user;
} listener;

static trilha_status tell_standing(sqlite3_stmt *row, void *user) {
  const listener *l = user;
  char at[TRILHA_TIMESTAMP_SIZE];
  const trilha_service_standing standing = {.grant = {.credential = trilha_sqlite_borrow(row, 0),
                                                      .destination = trilha_sqlite_borrow(row, 1),
                                                      .tenant_id = trilha_sqlite_borrow(row, 2),
                                                      .company_id = trilha_sqlite_borrow(row, 3),
                                                      .operation = trilha_sqlite_borrow(row, 4)},
                                            .granted = sqlite3_column_int64(row, 5) != 0,
                                            .at = trilha_sqlite_time_text(row, 6, at),
                                            .user = trilha_sqlite_borrow(row, 7),
                                            .reason = trilha_sqlite_borrow(row, 8)};
  return l->visit(l->user, &standing);
}

trilha_status trilha_sqlite_outbox_service_grants(trilha_outbox_store *store, trilha_service_visit visit, void *user,
                                                  trilha_error *err) {
  listener l = {visit, user};
  trilha_sqlite_reading r = {.query = trilha_sql_sqlite_outbox_service_grants, .tell = tell_standing, .user = &l};
  return trilha_sqlite_outbox_read(store, &r, err);
}
