/* outbox: a fact and the message that tells of it in one transaction; a relay that delivers it; a consumer whose inbox
 * makes the effect single.
 *
 *     outbox [STORE_URL]           default: sqlite:example.db
 */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <trilha/relay.h>
#include <trilha/sqlite.h>

static const char business_tables[] =
    "CREATE TABLE invoice (number INTEGER PRIMARY KEY, total TEXT NOT NULL);"
    "CREATE TABLE ledger (invoice TEXT NOT NULL, payload TEXT NOT NULL);";

static bool run(sqlite3 *db, const char *sql) {
  return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK;
}

/* The tables of outbox and inbox, and who gets what. In production: `trilha outbox install`, `trilha outbox route`. */
static bool install(const char *url, trilha_error *error) {
  trilha_outbox_options options = {.url = url};
  trilha_outbox *outbox = NULL;
  bool ok =
      trilha_outbox_open(&options, &outbox, error) == TRILHA_OK &&
      trilha_outbox_install(outbox, false, NULL, NULL, error) == TRILHA_OK &&
      trilha_outbox_route_add(outbox, trilha_text_of("invoice.*"), trilha_text_of("accounting"), error) == TRILHA_OK;
  trilha_outbox_close(outbox);
  return ok;
}

/* Both, or neither. */
static bool issue(sqlite3 *db, int number, bool change_of_mind, trilha_error *error) {
  char sql[96], key[16], payload[64];
  snprintf(sql, sizeof sql, "INSERT INTO invoice VALUES (%d, '%d.50')", number, 10 * number);
  snprintf(key, sizeof key, "%d", number);
  snprintf(payload, sizeof payload, "{\"number\":%d,\"total\":\"%d.50\"}", number, 10 * number);
  const trilha_message message = {.tenant_id = trilha_text_of("default"),
                                  .aggregate_type = trilha_text_of("invoice"),
                                  .aggregate_key = trilha_text_of(key),
                                  .message_type = trilha_text_of("invoice.issued"),
                                  .version = trilha_text_of("1.0.0"),
                                  .payload = trilha_text_of(payload),
                                  .origin = trilha_text_of("billing"),
                                  .correlation_id = trilha_text_of("a8767a61-82e6-4978-b826-563ee88b6727")};
  trilha_enqueued enqueued;
  if (!run(db, "BEGIN IMMEDIATE") || !run(db, sql)) return false;
  if (trilha_outbox_enqueue_sqlite(db, NULL, &message, &enqueued, error) != TRILHA_OK) {
    run(db, "ROLLBACK");
    return false;
  }
  printf("invoice %d: message %lld of its aggregate%s\n", number, (long long)enqueued.aggregate_sequence,
         change_of_mind ? ", rolled back" : "");
  return run(db, change_of_mind ? "ROLLBACK" : "COMMIT");
}

/* The consumer: acceptance and effect in one transaction. Its first answer is lost, so the message comes again. */
typedef struct accounting {
  sqlite3 *db;
  bool answer_lost;
} accounting;

static bool book(accounting *a, const trilha_envelope *envelope, trilha_error *error) {
  const trilha_inbox_message message = {.tenant_id = envelope->tenant_id,
                                        .consumer = trilha_text_of("accounting"),
                                        .message_id = envelope->message_id,
                                        .payload = envelope->payload};
  trilha_inbox_answer answer = {0};
  char sql[160];
  if (trilha_inbox_accept_sqlite(a->db, NULL, &message, &answer, error) != TRILHA_OK) return false;
  printf("accounting: invoice %.*s, attempt %lld: %s\n", (int)envelope->aggregate_key.size,
         envelope->aggregate_key.data, (long long)envelope->attempt,
         answer.outcome == TRILHA_INBOX_NEW ? "new, booked" : "known, nothing done");
  trilha_free(answer.result);
  if (answer.outcome != TRILHA_INBOX_NEW) return answer.outcome == TRILHA_INBOX_DUPLICATE;
  snprintf(sql, sizeof sql, "INSERT INTO ledger VALUES ('%.*s', '%.*s')", (int)envelope->aggregate_key.size,
           envelope->aggregate_key.data, (int)envelope->payload.size, envelope->payload.data);
  return run(a->db, sql);
}

static trilha_status deliver(void *user, const trilha_envelope *envelope, trilha_error *error) {
  accounting *a = user;
  if (!run(a->db, "BEGIN IMMEDIATE")) return TRILHA_UNAVAILABLE;
  bool ok = book(a, envelope, error);
  if (!run(a->db, ok ? "COMMIT" : "ROLLBACK") || !ok) return TRILHA_UNAVAILABLE;
  if (!a->answer_lost) {
    a->answer_lost = true;
    return TRILHA_TIMEOUT;
  }
  return TRILHA_OK;
}

static bool relay(const char *url, accounting *a, trilha_error *error) {
  const trilha_transport transport = {trilha_text_of("accounting"), deliver, a, .at_once = 1,
                                      .guarantee = TRILHA_GUARANTEE_ATOMIC}; /* one connection */
  const trilha_relay_options options = {.outbox = {.url = url},
                                        .transports = &transport,
                                        .transport_count = 1,
                                        .backoff_ms = 1,
                                        .backoff_max_ms = 1,
                                        .once = true};
  trilha_relay *made = NULL;
  trilha_relay_counts counts = {0};
  bool ok = trilha_relay_new(&options, &made, error) == TRILHA_OK;
  for (int64_t sent = 0; ok && sent < 2;
       sent = counts.sent) { /* a service leaves `once` out and runs until it is stopped */
    ok = trilha_relay_run(made, error) == TRILHA_OK;
    trilha_relay_counted(made, &counts);
  }
  if (ok) printf("relay: %lld accepted, %lld failed\n", (long long)counts.sent, (long long)counts.failed);
  trilha_relay_free(made);
  return ok;
}

int main(int argc, char **argv) {
  const char *url = argc > 1 ? argv[1] : "sqlite:example.db";
  trilha_error error = {0};
  accounting a = {0};
  bool ok = install(url, &error) &&
            sqlite3_open_v2(url + strlen("sqlite:"), &a.db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK &&
            sqlite3_busy_timeout(a.db, 10000) == SQLITE_OK && run(a.db, business_tables) &&
            issue(a.db, 1, false, &error) && issue(a.db, 2, true, &error) && issue(a.db, 2, false, &error) &&
            relay(url, &a, &error);
  if (!ok) fprintf(stderr, "%s: %s\n", error.code, error.status == TRILHA_OK ? sqlite3_errmsg(a.db) : error.text);
  sqlite3_close(a.db);
  return ok ? 0 : 1;
}
