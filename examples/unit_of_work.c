/* unit_of_work: events that leave after the commit of the transaction that raised them, and never otherwise.
 *
 *     unit_of_work [STORE_URL]     default: sqlite:example.db
 */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <trilha/unit_of_work.h>

/* Runs after the commit. What must not be lost when the process dies here is a message of the outbox instead. */
static trilha_status refresh_screen(void *user, const trilha_post_commit_event *event) {
  (void)user;
  printf("  %.*s: %.*s\n", (int)event->type.size, event->type.data, (int)event->payload.size, event->payload.data);
  return TRILHA_OK;
}

static trilha_status insert(sqlite3 *db, const char *sql) {
  return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK ? TRILHA_OK : TRILHA_IO;
}

static trilha_status raise_event(trilha_unit_of_work *unit, const char *type, const char *payload,
                                 trilha_error *error) {
  const trilha_post_commit_event event = {.type = trilha_text_of(type), .payload = trilha_text_of(payload)};
  return trilha_unit_of_work_raise(unit, &event, NULL, error);
}

/* An order with a gift that may fail by itself: what was raised for it goes with it. */
static trilha_status place_order(void *user, trilha_unit_of_work *unit, trilha_error *error) {
  sqlite3 *db = user;
  int64_t before_gift;
  trilha_status status = insert(db, "INSERT INTO item VALUES ('table')");
  if (status == TRILHA_OK) status = raise_event(unit, "order.placed", "table", error);
  if (status == TRILHA_OK) status = trilha_unit_of_work_savepoint(unit, &before_gift, error);
  if (status == TRILHA_OK) status = raise_event(unit, "gift.added", "tray", error);
  if (status == TRILHA_OK && insert(db, "INSERT INTO item VALUES (NULL)") != TRILHA_OK)
    status = trilha_unit_of_work_rollback_to(unit, before_gift, error);
  return status == TRILHA_OK ? raise_event(unit, "order.priced", "120.00", error) : status;
}

static trilha_status change_of_mind(void *user, trilha_unit_of_work *unit, trilha_error *error) {
  trilha_status status = place_order(user, unit, error);
  return status == TRILHA_OK ? TRILHA_CANCELLED : status;
}

static void tell(const char *what, trilha_status status, const trilha_unit_of_work_result *result) {
  printf("%s: %s, %zu events left, %zu undone\n", what, trilha_status_name(status), result->left, result->undone);
}

int main(int argc, char **argv) {
  sqlite3 *db = NULL;
  trilha_unit_of_work *unit = NULL;
  trilha_error error = {0};
  trilha_unit_of_work_result result;
  const trilha_unit_of_work_options options = {.handler = refresh_screen};
  const char *url = argc > 1 ? argv[1] : "sqlite:example.db";
  if (sqlite3_open(url + strlen("sqlite:"), &db) != SQLITE_OK ||
      insert(db, "CREATE TABLE IF NOT EXISTS item (name TEXT NOT NULL)") != TRILHA_OK ||
      trilha_unit_of_work_open_sqlite(db, &options, &unit, &error) != TRILHA_OK) {
    fprintf(stderr, "%s\n", error.text[0] != '\0' ? error.text : "the database cannot be used");
    sqlite3_close(db);
    return 1;
  }
  trilha_status status = trilha_unit_of_work_run(unit, 0, place_order, db, &result, &error);
  tell("placed", status, &result);
  status = trilha_unit_of_work_run(unit, 0, change_of_mind, db, &result, &error);
  tell("changed my mind", status, &result);
  trilha_unit_of_work_close(unit);
  sqlite3_close(db);
  return 0;
}
