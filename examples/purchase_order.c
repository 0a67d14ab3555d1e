/* purchase_order: an effective version of an order, the change of its obligation and the integration message in one
 * commit; a worker that sends exactly what was stored; what the ERP acknowledges, receives and applies as facts of
 * their own; and an order that the ERP refuses, corrected and reconciled.
 *
 *     purchase_order [STORE_URL [SCHEMA]]           default: sqlite:example.db; on PostgreSQL the schema of the outbox
 */
#include <trilha/relay.h>

#include "database.h"

static const char *const tables[] = {
    "CREATE TABLE purchase_order (id text NOT NULL, version integer NOT NULL, state text NOT NULL, total integer NOT "
    "NULL,"
    " PRIMARY KEY (id, version))",
    "CREATE TABLE obligation (order_id text NOT NULL, version integer NOT NULL, delta integer NOT NULL,"
    " PRIMARY KEY (order_id, version))",
    "INSERT INTO purchase_order VALUES ('P-7', 1, 'Draft', 100), ('P-7', 2, 'Draft', 140), ('P-7', 3, 'Draft', 90)"};

/* The other side, a service somewhere: it knows a message by its id and by nothing else. */
typedef struct erp {
  bool refuses_140;
  char last_id[40];
} erp;

/* --- making a version effective
 * --------------------------------------------------------------------------------------- */

static bool enqueue_version(database *db, const char *version, const char *total, trilha_error *error) {
  char payload[VALUE_SIZE];
  snprintf(payload, sizeof payload, "{\"order\":\"P-7\",\"version\":%.16s,\"total\":%.16s}", version, total);
  const trilha_message message = {.tenant_id = trilha_text_of("default"),
                                  .aggregate_type = trilha_text_of("purchase-order"),
                                  .aggregate_key = trilha_text_of("P-7"),
                                  .message_type = trilha_text_of("purchase-order.effective"),
                                  .version = trilha_text_of("1.0.0"),
                                  .payload = trilha_text_of(payload),
                                  .origin = trilha_text_of("purchasing"),
                                  .correlation_id = trilha_text_of("a8767a61-82e6-4978-b826-563ee88b6727")};
  return enqueue(db, &message, error) == TRILHA_OK;
}

/* State, obligation and message: all or nothing. The obligation moves by what differs from what is owed already. */
static bool make_effective_in(database *db, const char *version, char delta[VALUE_SIZE], trilha_error *error) {
  char sql[VALUE_SIZE], total[VALUE_SIZE], nothing[VALUE_SIZE];
  snprintf(sql, sizeof sql,
           "SELECT total FROM purchase_order WHERE id = 'P-7' AND CAST(version AS text) = $1 AND state = 'Draft'%s",
           locked(db));
  return ask(db, sql, VALUES(version), total) && total[0] != '\0' &&
         ask(db,
             "INSERT INTO obligation (order_id, version, delta) SELECT p.id, p.version, p.total - (SELECT "
             "coalesce(sum(o.delta), 0) FROM obligation o WHERE o.order_id = p.id) FROM purchase_order p WHERE p.id = "
             "'P-7' "
             "AND CAST(p.version AS text) = $1",
             VALUES(version), nothing) &&
         run(db, "UPDATE purchase_order SET state = 'Superseded' WHERE id = 'P-7' AND state = 'Effective'") &&
         ask(db, "UPDATE purchase_order SET state = 'Effective' WHERE id = 'P-7' AND CAST(version AS text) = $1",
             VALUES(version), nothing) &&
         enqueue_version(db, version, total, error) &&
         ask(db, "SELECT delta FROM obligation WHERE order_id = 'P-7' AND CAST(version AS text) = $1", VALUES(version),
             delta);
}

static bool make_effective(database *db, const char *version, bool fails_late, trilha_error *error) {
  char delta[VALUE_SIZE];
  if (!begin(db)) return false;
  if (!make_effective_in(db, version, delta, error)) {
    run(db, "ROLLBACK");
    return false;
  }
  printf("P-7 version %s: obligation %s%s%s\n", version, delta[0] == '-' ? "" : "+", delta,
         fails_late ? ", then a failure: nothing happened" : "");
  return run(db, fails_late ? "ROLLBACK" : "COMMIT");
}

/* --- the worker
 * ---------------------------------------------------------------------------------------------------------- */

static trilha_status send_to_erp(void *user, const trilha_envelope *envelope, trilha_error *error) {
  erp *there = user;
  bool refused = there->refuses_140 && strstr(envelope->payload.data, ":140") != NULL;
  printf("erp %s %.*s\n", refused ? "refuses" : "accepts", (int)envelope->payload.size, envelope->payload.data);
  snprintf(there->last_id, sizeof there->last_id, "%.*s", (int)envelope->message_id.size, envelope->message_id.data);
  if (!refused) return TRILHA_OK;
  snprintf(error->code, sizeof error->code, "TOTAL_REFUSED");
  snprintf(error->text, sizeof error->text, "the total is above the contract");
  return TRILHA_INVALID; /* repeating changes nothing: a dead letter, and its lane waits */
}

static bool work(const trilha_outbox_options *outbox, erp *there, trilha_error *error) {
  const trilha_transport transport = {trilha_text_of("erp"), send_to_erp, there, .at_once = 1,
                                      .guarantee = TRILHA_GUARANTEE_DURABLE};
  const trilha_relay_options options = {
      .outbox = *outbox, .transports = &transport, .transport_count = 1, .once = true};
  trilha_relay *relay = NULL;
  bool ok = trilha_relay_new(&options, &relay, error) == TRILHA_OK && trilha_relay_run(relay, error) == TRILHA_OK;
  trilha_relay_free(relay);
  return ok;
}

/* --- what the ERP says, and what an operator does
 * -------------------------------------------------------------------------- */

static bool record(trilha_outbox *outbox, const char *id, const char *fact, const char *operation,
                   trilha_error *error) {
  const trilha_outbox_receipt receipt = {.message_id = trilha_text_of(id),
                                         .destination = trilha_text_of("erp"),
                                         .fact = trilha_text_of(fact),
                                         .operation_id = trilha_text_of(operation),
                                         .source = trilha_text_of("query"),
                                         .user = trilha_text_of("nightly reconciliation")};
  return trilha_outbox_record(outbox, &receipt, NULL, error) == TRILHA_OK;
}

static trilha_status print_entry(void *user, const trilha_outbox_entry *entry) {
  (void)user;
  printf("%.*s, revision %lld: acknowledged %s, received %s, applied %s\n", (int)entry->status.size, entry->status.data,
         (long long)entry->revision, entry->dispatched_at.size > 0 ? "yes" : "no",
         entry->received_at.size > 0 ? "yes" : "no", entry->applied_at.size > 0 ? "yes" : "no");
  return TRILHA_OK;
}

static bool show(trilha_outbox *outbox, const char *id, trilha_error *error) {
  return trilha_outbox_message(outbox, trilha_text_of(id), print_entry, NULL, error) == TRILHA_OK;
}

/* The ERP knows nothing of the message (asked, so it is no guess): its content is corrected, under its id. */
static bool correct(trilha_outbox *outbox, const char *id, trilha_error *error) {
  const trilha_outbox_correction correction = {
      .message_id = trilha_text_of(id),
      .payload = trilha_text_of("{\"order\":\"P-7\",\"version\":2,\"total\":140,\"contract\":\"C-9\"}"),
      .user = trilha_text_of("ana"),
      .reason = trilha_text_of("the contract was missing")};
  trilha_outbox_corrected corrected = {0};
  if (trilha_outbox_correct(outbox, &correction, &corrected, error) != TRILHA_OK) return false;
  printf("corrected: %s\n", corrected.diff);
  trilha_outbox_corrected_done(&corrected);
  return true;
}

static bool install(trilha_outbox *outbox, trilha_error *error) {
  return trilha_outbox_install(outbox, false, NULL, NULL, error) == TRILHA_OK &&
         trilha_outbox_route_add(outbox, trilha_text_of("purchase-order.*"), trilha_text_of("erp"), error) == TRILHA_OK;
}

static bool prepare(database *db) {
  bool ok = true;
  for (size_t i = 0; ok && i < sizeof tables / sizeof tables[0]; i++) ok = run(db, tables[i]);
  return ok;
}

static bool play(database *db, trilha_outbox *outbox, const trilha_outbox_options *options, trilha_error *error) {
  erp there = {.refuses_140 = true};
  char first[40];
  bool ok = make_effective(db, "1", false, error) &&
            /* edited after the commit: what is sent is what was stored */
            run(db, "UPDATE purchase_order SET total = 999 WHERE id = 'P-7' AND version = 1") &&
            work(options, &there, error);
  memcpy(first, there.last_id, sizeof first);
  ok = ok && show(outbox, first, error) && record(outbox, first, "Received", "ERP-1", error) &&
       show(outbox, first, error) && record(outbox, first, "Applied", "ERP-1", error) && show(outbox, first, error);
  ok = ok && make_effective(db, "2", true, error) && make_effective(db, "2", false, error) &&
       make_effective(db, "3", false, error) && work(options, &there, error) && show(outbox, there.last_id, error);
  ok = ok && record(outbox, there.last_id, "Unknown", "ERP-2", error) && correct(outbox, there.last_id, error);
  there.refuses_140 = false;
  return ok && work(options, &there, error);
}

int main(int argc, char **argv) {
  const char *url = argc > 1 ? argv[1] : "sqlite:example.db", *schema = argc > 2 ? argv[2] : "purchasing";
  const trilha_outbox_options options = {.url = url, .schema = strncmp(url, "sqlite:", 7) == 0 ? NULL : schema};
  trilha_error error = {0};
  trilha_outbox *outbox = NULL;
  database db = {0};
  bool ok = trilha_outbox_open(&options, &outbox, &error) == TRILHA_OK && install(outbox, &error) &&
            database_open(&db, url, schema) && prepare(&db) && play(&db, outbox, &options, &error);
  if (!ok) fprintf(stderr, "%s: %s\n", error.code, error.status == TRILHA_OK ? db.fault : error.text);
  database_close(&db);
  trilha_outbox_close(outbox);
  return ok ? 0 : 1;
}
