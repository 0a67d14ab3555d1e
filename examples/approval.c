/* approval: the last vote on a request. The decision, its budget entry and its notice commit together; too little
 * budget is a result, not an error: the request is returned with its reason and its notice, and the vote stays. A
 * technical failure undoes everything, the vote too.
 *
 *     approval [STORE_URL [SCHEMA]]           default: sqlite:example.db; on PostgreSQL the schema of the outbox
 */
#include <trilha/relay.h>

#include "database.h"

typedef enum outcome {
  RECORDED,
  APPROVED,
  RETURNED_FOR_BUDGET,
  VERSION_CONFLICT,
  REVISION_CONFLICT,
  NOT_A_VOTER,
  FAILED /* nothing of it happened */
} outcome;

static const char *const outcome_names[] = {
    "Recorded", "Approved", "ReturnedForBudget", "VersionConflict", "RevisionConflict", "NotAVoter", "Failed"};

typedef struct ballot {
  const char *request, *voter;
  const char *expected_version; /* of the request, as the voter saw it */
  const char *revision;         /* of the content that was voted on */
} ballot;

static const char *const tables[] = {
    "CREATE TABLE budget (name text PRIMARY KEY, ceiling integer NOT NULL)",
    "CREATE TABLE consumption (request text PRIMARY KEY, budget text NOT NULL, amount integer NOT NULL CHECK (amount "
    "<> 13))",
    "CREATE TABLE request (id text PRIMARY KEY, state text NOT NULL, version integer NOT NULL, revision integer NOT "
    "NULL,"
    " votes_needed integer NOT NULL, budget text NOT NULL, amount integer NOT NULL, reason text)",
    "CREATE TABLE voter (name text PRIMARY KEY)",
    "CREATE TABLE vote (request text NOT NULL, revision integer NOT NULL, voter text NOT NULL,"
    " PRIMARY KEY (request, revision, voter))",
    "INSERT INTO budget VALUES ('travel', 100)",
    "INSERT INTO voter VALUES ('ana'), ('bia')",
    "INSERT INTO request VALUES ('R-1', 'InApproval', 1, 1, 2, 'travel', 60, NULL),"
    " ('R-2', 'InApproval', 1, 1, 2, 'travel', 60, NULL), ('R-3', 'InApproval', 1, 1, 1, 'travel', 13, NULL)"};

/* --- one vote, inside the open transaction ------------------------------------------------------------------------ */

static bool notify(database *db, const char *request, const char *type, const char *payload) {
  const trilha_message message = {.tenant_id = trilha_text_of("default"),
                                  .aggregate_type = trilha_text_of("request"),
                                  .aggregate_key = trilha_text_of(request),
                                  .message_type = trilha_text_of(type),
                                  .version = trilha_text_of("1.0.0"),
                                  .payload = trilha_text_of(payload),
                                  .origin = trilha_text_of("approvals"),
                                  .correlation_id = trilha_text_of("a8767a61-82e6-4978-b826-563ee88b6727")};
  trilha_error error = {0};
  if (enqueue(db, &message, &error) == TRILHA_OK) return true;
  snprintf(db->fault, sizeof db->fault, "%.255s", error.text);
  return false;
}

static bool number(database *db, const char *sql, const char *value, long *ret) {
  char text[VALUE_SIZE];
  if (!ask(db, sql, VALUES(value), text)) return false;
  *ret = strtol(text, NULL, 10);
  return true;
}

static bool change_state(database *db, const char *request, const char *state, const char *reason) {
  char nothing[VALUE_SIZE];
  return ask(db, "UPDATE request SET state = $2, reason = nullif($3, ''), version = version + 1 WHERE id = $1",
             VALUES(request, state, reason), nothing);
}

/* The limit is looked at again under its lock: what the screen showed is long gone. */
static outcome decide(database *db, const char *request) {
  char sql[VALUE_SIZE], budget[VALUE_SIZE], payload[VALUE_SIZE], nothing[VALUE_SIZE];
  long ceiling = 0, used = 0, amount = 0;
  snprintf(sql, sizeof sql, "SELECT ceiling FROM budget WHERE name = $1%s", locked(db));
  if (!ask(db, "SELECT budget FROM request WHERE id = $1", VALUES(request), budget) ||
      !number(db, sql, budget, &ceiling) ||
      !number(db, "SELECT coalesce(sum(amount), 0) FROM consumption WHERE budget = $1", budget, &used) ||
      !number(db, "SELECT amount FROM request WHERE id = $1", request, &amount))
    return FAILED;
  if (used + amount > ceiling) {
    snprintf(payload, sizeof payload, "{\"request\":\"%s\",\"reason\":\"%ld of %ld left\"}", request, ceiling - used,
             ceiling);
    return change_state(db, request, "Returned", "not enough budget") &&
                   notify(db, request, "request.returned", payload)
               ? RETURNED_FOR_BUDGET
               : FAILED;
  }
  snprintf(payload, sizeof payload, "{\"request\":\"%s\",\"amount\":%ld}", request, amount);
  bool ok =
      change_state(db, request, "Approved", "") && notify(db, request, "request.approved", payload) &&
      ask(db, "INSERT INTO consumption (request, budget, amount) SELECT id, budget, amount FROM request WHERE id = $1",
          VALUES(request), nothing);
  return ok ? APPROVED : FAILED;
}

static outcome check(database *db, const ballot *b) {
  char sql[VALUE_SIZE], seen[VALUE_SIZE];
  snprintf(sql, sizeof sql, "SELECT version FROM request WHERE id = $1 AND state = 'InApproval'%s", locked(db));
  if (!ask(db, sql, VALUES(b->request), seen)) return FAILED; /* from here on votes on this request take turns */
  if (strcmp(seen, b->expected_version) != 0) return VERSION_CONFLICT;
  if (!ask(db, "SELECT revision FROM request WHERE id = $1", VALUES(b->request), seen)) return FAILED;
  if (strcmp(seen, b->revision) != 0) return REVISION_CONFLICT;
  if (!ask(db, "SELECT name FROM voter WHERE name = $1", VALUES(b->voter), seen)) return FAILED;
  return seen[0] == '\0' ? NOT_A_VOTER : RECORDED;
}

static outcome count_vote(database *db, const ballot *b) {
  char nothing[VALUE_SIZE];
  long votes = 0, needed = 0;
  outcome checked = check(db, b);
  if (checked != RECORDED) return checked;
  if (!ask(db, "INSERT INTO vote (request, revision, voter) SELECT id, revision, $2 FROM request WHERE id = $1",
           VALUES(b->request, b->voter), nothing) ||
      !number(
          db,
          "SELECT count(*) FROM vote v JOIN request r ON r.id = v.request AND r.revision = v.revision WHERE r.id = $1",
          b->request, &votes) ||
      !number(db, "SELECT votes_needed FROM request WHERE id = $1", b->request, &needed))
    return FAILED;
  if (votes >= needed) return decide(db, b->request);
  return change_state(db, b->request, "InApproval", "") ? RECORDED : FAILED;
}

/* The transaction. A business result commits; a conflict has written nothing; a failure undoes all of it. */
static bool vote(database *db, const ballot *b) {
  if (!begin(db)) return false;
  outcome result = count_vote(db, b);
  bool keeps = result == RECORDED || result == APPROVED || result == RETURNED_FOR_BUDGET;
  printf("%s by %s at version %s: %s\n", b->request, b->voter, b->expected_version, outcome_names[result]);
  return run(db, keeps ? "COMMIT" : "ROLLBACK");
}

/* --- around it ------------------------------------------------------------------------------------------------------
 */

static bool show(database *db, const char *request) {
  char state[VALUE_SIZE], votes[VALUE_SIZE], entries[VALUE_SIZE];
  bool ok =
      ask(db, "SELECT state || ', version ' || version || coalesce(', ' || reason, '') FROM request WHERE id = $1",
          VALUES(request), state) &&
      ask(db, "SELECT count(*) FROM vote WHERE request = $1", VALUES(request), votes) &&
      ask(db, "SELECT count(*) FROM consumption WHERE request = $1", VALUES(request), entries);
  if (ok) printf("%s: %s, %s votes, %s entries\n", request, state, votes, entries);
  return ok;
}

static trilha_status print_message(void *user, const trilha_envelope *envelope, trilha_error *error) {
  (void)user;
  (void)error;
  printf("%.*s %.*s\n", (int)envelope->message_type.size, envelope->message_type.data, (int)envelope->payload.size,
         envelope->payload.data);
  return TRILHA_OK;
}

static bool deliver(const trilha_outbox_options *outbox, trilha_error *error) {
  const trilha_transport transport = {
      trilha_text_of("notices"), print_message, NULL, .at_once = 1, .guarantee = TRILHA_GUARANTEE_BEST_EFFORT,
      .because = "it is printed"};
  const trilha_relay_options options = {
      .outbox = *outbox, .transports = &transport, .transport_count = 1, .once = true};
  trilha_relay *relay = NULL;
  bool ok = trilha_relay_new(&options, &relay, error) == TRILHA_OK && trilha_relay_run(relay, error) == TRILHA_OK;
  trilha_relay_free(relay);
  return ok;
}

static bool install(const trilha_outbox_options *options, trilha_error *error) {
  trilha_outbox *outbox = NULL;
  bool ok = trilha_outbox_open(options, &outbox, error) == TRILHA_OK &&
            trilha_outbox_install(outbox, false, NULL, NULL, error) == TRILHA_OK &&
            trilha_outbox_route_add(outbox, trilha_text_of("request.*"), trilha_text_of("notices"), error) == TRILHA_OK;
  trilha_outbox_close(outbox);
  return ok;
}

static bool prepare(database *db) {
  bool ok = true;
  for (size_t i = 0; ok && i < sizeof tables / sizeof tables[0]; i++) ok = run(db, tables[i]);
  return ok;
}

static bool play(database *db) {
  static const ballot ballots[] = {
      {"R-1", "ana", "1", "1"},                            /* the first of two votes */
      {"R-1", "bia", "1", "1"},                            /* looked at before ana voted */
      {"R-1", "bia", "2", "2"},                            /* a revision that does not exist */
      {"R-1", "carl", "2", "1"},                           /* nobody's voter */
      {"R-1", "bia", "2", "1"},                            /* the last vote: 60 of 100 */
      {"R-2", "ana", "1", "1"},  {"R-2", "bia", "2", "1"}, /* the last vote: 60, and 40 are left */
      {"R-3", "ana", "1", "1"}, /* its entry fails after the vote, state and notice were written */
  };
  bool ok = true;
  for (size_t i = 0; ok && i < sizeof ballots / sizeof ballots[0]; i++) ok = vote(db, &ballots[i]);
  return ok && show(db, "R-1") && show(db, "R-2") && show(db, "R-3");
}

int main(int argc, char **argv) {
  const char *url = argc > 1 ? argv[1] : "sqlite:example.db", *schema = argc > 2 ? argv[2] : "approvals";
  const trilha_outbox_options options = {.url = url, .schema = strncmp(url, "sqlite:", 7) == 0 ? NULL : schema};
  trilha_error error = {0};
  database db = {0};
  bool ok = install(&options, &error) && database_open(&db, url, schema) && prepare(&db) && play(&db) &&
            deliver(&options, &error);
  if (!ok) fprintf(stderr, "%s: %s\n", error.code, error.status == TRILHA_OK ? db.fault : error.text);
  database_close(&db);
  return ok ? 0 : 1;
}
