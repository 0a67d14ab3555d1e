/* tests/outbox/producer: see producer.h. */
#include "outbox/producer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <libpq-fe.h>
#include <sqlite3.h>

#include "base/text.h"
#include "support/expect.h"

trilha_outbox_options trilha_producer_options(const trilha_fixture *f) {
  return (trilha_outbox_options){.url = f->url, .schema = "billing"};
}

trilha_outbox *trilha_producer_outbox(const trilha_fixture *f) {
  trilha_outbox *outbox = NULL;
  trilha_error err = {0};
  trilha_outbox_options options = trilha_producer_options(f);
  if (trilha_outbox_open(&options, &outbox, &err) != TRILHA_OK) fail_msg("%s: %s", err.code, err.text);
  return outbox;
}

static void install(const trilha_fixture *f) {
  trilha_outbox *outbox = trilha_producer_outbox(f);
  trilha_error err = {0};
  if (trilha_outbox_install(outbox, false, NULL, NULL, &err) != TRILHA_OK ||
      trilha_outbox_route_add(outbox, TRILHA_TEXT("*"), TRILHA_TEXT("everything"), &err) != TRILHA_OK)
    fail_msg("%s: %s", err.code, err.text);
  trilha_outbox_close(outbox);
}

trilha_producer trilha_producer_open(const trilha_fixture *f, bool with_install) {
  trilha_producer p = {.f = f};
  if (with_install) install(f);
  if (f->is_postgres) {
    p.pg = PQconnectdb(f->url);
    if (PQstatus(p.pg) != CONNECTION_OK) fail_msg("%s", PQerrorMessage(p.pg));
  } else {
    assert_int_equal(sqlite3_open_v2(f->url + strlen("sqlite:"), &p.db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    sqlite3_busy_timeout(p.db, 30000);
  }
  if (with_install) trilha_producer_run(&p, "CREATE TABLE effect (name text NOT NULL)");
  return p;
}

void trilha_producer_close(trilha_producer *p) {
  if (p->pg != NULL) PQfinish(p->pg);
  if (p->db != NULL) sqlite3_close(p->db);
  *p = (trilha_producer){0};
}

static void name_tables(const trilha_producer *p, const char *sql, char *out, size_t size) {
  size_t at = 0;
  for (const char *mark; (mark = strstr(sql, "{p}")) != NULL; sql = mark + 3)
    at += (size_t)snprintf(out + at, size - at, "%.*s%s", (int)(mark - sql), sql,
                           p->pg != NULL ? "billing." : "billing_");
  snprintf(out + at, size - at, "%s", sql);
}

/* The first column of the last row in `out` (may be NULL). */
static bool ask(const trilha_producer *p, const char *sql, char *out, size_t size, char *ret_message,
                size_t message_size) {
  char named[4096];
  name_tables(p, sql, named, sizeof named);
  if (p->pg != NULL) {
    PGresult *r = PQexec(p->pg, named);
    ExecStatusType status = PQresultStatus(r);
    bool ok = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
    if (!ok) snprintf(ret_message, message_size, "%s", PQresultErrorMessage(r));
    if (ok && out != NULL) snprintf(out, size, "%s", PQntuples(r) > 0 ? PQgetvalue(r, PQntuples(r) - 1, 0) : "");
    PQclear(r);
    return ok;
  }
  sqlite3_stmt *s = NULL;
  int rc = sqlite3_prepare_v2(p->db, named, -1, &s, NULL);
  if (out != NULL) out[0] = '\0';
  while (rc == SQLITE_OK || rc == SQLITE_ROW) {
    rc = sqlite3_step(s);
    const char *text = rc == SQLITE_ROW ? (const char *)sqlite3_column_text(s, 0) : NULL;
    if (text != NULL && out != NULL) snprintf(out, size, "%s", text);
  }
  if (rc != SQLITE_DONE) snprintf(ret_message, message_size, "%s", sqlite3_errmsg(p->db));
  sqlite3_finalize(s);
  return rc == SQLITE_DONE;
}

bool trilha_producer_try(const trilha_producer *p, const char *sql, char *ret_message, size_t size) {
  return ask(p, sql, NULL, 0, ret_message, size);
}

void trilha_producer_text(const trilha_producer *p, const char *sql, char *out, size_t size) {
  char message[512];
  if (!ask(p, sql, out, size, message, sizeof message)) fail_msg("%s: %s", sql, message);
}

void trilha_producer_run(const trilha_producer *p, const char *sql) {
  trilha_producer_text(p, sql, NULL, 0);
}

int64_t trilha_producer_count(const trilha_producer *p, const char *sql) {
  char text[64];
  trilha_producer_text(p, sql, text, sizeof text);
  return strtoll(text, NULL, 10);
}

trilha_message trilha_producer_message(const char *tenant, const char *key) {
  return (trilha_message){.tenant_id = trilha_text_of(tenant),
                          .aggregate_type = TRILHA_TEXT("nota"),
                          .aggregate_key = trilha_text_of(key),
                          .message_type = TRILHA_TEXT("nota.emitida"),
                          .version = TRILHA_TEXT("1.0.0"),
                          .payload = TRILHA_TEXT("{\"valor\": 10.50}"),
                          .origin = TRILHA_TEXT("faturamento"),
                          .correlation_id = TRILHA_TEXT("A8767A61-82E6-4978-B826-563EE88B6727")};
}

trilha_status trilha_producer_enqueue(const trilha_producer *p, const trilha_message *message, trilha_enqueued *ret,
                                      trilha_error *err) {
  return p->pg != NULL ? trilha_outbox_enqueue_postgres(p->pg, "billing", message, ret, err)
                       : trilha_outbox_enqueue_sqlite(p->db, "billing", message, ret, err);
}

trilha_enqueued trilha_producer_say(const trilha_producer *p, const char *tenant, const char *key) {
  trilha_enqueued said = {0};
  trilha_error err = {0};
  trilha_message message = trilha_producer_message(tenant, key);
  trilha_producer_run(p, p->pg != NULL ? "BEGIN" : "BEGIN IMMEDIATE");
  if (trilha_producer_enqueue(p, &message, &said, &err) != TRILHA_OK) fail_msg("%s: %s", err.code, err.text);
  trilha_producer_run(p, "COMMIT");
  return said;
}

trilha_status trilha_producer_accept(const trilha_producer *p, const trilha_inbox_message *message,
                                     trilha_inbox_answer *ret, trilha_error *err) {
  return p->pg != NULL ? trilha_inbox_accept_postgres(p->pg, "billing", message, ret, err)
                       : trilha_inbox_accept_sqlite(p->db, "billing", message, ret, err);
}

trilha_status trilha_producer_finish(const trilha_producer *p, const trilha_inbox_message *message, const char *result,
                                     trilha_error *err) {
  return p->pg != NULL ? trilha_inbox_finish_postgres(p->pg, "billing", message, trilha_text_of(result), err)
                       : trilha_inbox_finish_sqlite(p->db, "billing", message, trilha_text_of(result), err);
}

void trilha_producer_deliver(const trilha_fixture *f, const char *destination, trilha_send send, void *user) {
  const trilha_transport transport = {trilha_text_of(destination), send, user, .at_once = 1,
                                      .guarantee = TRILHA_GUARANTEE_DURABLE};
  const trilha_relay_options options = {.outbox = trilha_producer_options(f),
                                        .transports = &transport,
                                        .transport_count = 1,
                                        .scan_ms = 20,
                                        .once = true};
  trilha_relay *relay = NULL;
  CHECKED(trilha_relay_new(&options, &relay, error));
  CHECKED(trilha_relay_run(relay, error));
  trilha_relay_free(relay);
}
