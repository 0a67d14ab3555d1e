/* batch: many events in one call, and one transaction for their effect and the cursor. What the handler writes to its
 * own table of the same database is there once for every event, whatever crashes.
 *
 *     batch [STORE_URL]            default: sqlite:example.db
 */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <trilha/delivery.h>

static const char orders_schema[] =
    "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\","
    "\"type\":\"object\",\"required\":[\"pedido\"],\"additionalProperties\":false,\"properties\":{"
    "\"pedido\":{\"type\":\"integer\",\"x-redacao\":\"manter\"}}}";

static bool register_orders(trilha *handle, trilha_error *error) {
  trilha_type_version version = {.tipo = trilha_text_of("pedido.criado"),
                                 .versao = trilha_text_of("1.0.0"),
                                 .descricao = trilha_text_of("An order was placed"),
                                 .schema = trilha_text_of(orders_schema)};
  return trilha_registry_apply(handle, &version, 1, false, trilha_text_of("example"), NULL, error) == TRILHA_OK;
}

static bool publish_orders(trilha *handle, int count, trilha_error *error) {
  for (int i = 1; i <= count; i++) {
    char payload[64];
    snprintf(payload, sizeof payload, "{\"pedido\":%d}", i);
    trilha_publication order = {
        .tipo = trilha_text_of("pedido.criado"), .origem = trilha_text_of("loja"), .payload = trilha_text_of(payload)};
    trilha_publish_result result = {0};
    trilha_status status = trilha_publish(handle, &order, &result, error);
    trilha_publish_result_done(&result);
    if (status != TRILHA_OK) return false;
  }
  return true;
}

static bool insert(sqlite3 *db, const trilha_event *event) {
  char sql[96];
  snprintf(sql, sizeof sql, "INSERT INTO shipments (sequence_number) VALUES (%lld)", (long long)event->sequence_number);
  return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK;
}

/* BEGIN, the effect, the cursor, COMMIT: on the application's own connection to the store's file. */
static trilha_status ship(void *user, const trilha_event *events, size_t count, trilha_delivery *delivery) {
  sqlite3 *db = user;
  trilha_error error = {0};
  if (sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
    return trilha_delivery_fail(delivery, "%s", sqlite3_errmsg(db));
  bool ok = true;
  for (size_t i = 0; i < count && ok; i++) ok = insert(db, &events[i]);
  if (ok) ok = trilha_delivery_advance_in(delivery, db, &error) == TRILHA_OK;
  if (ok && sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK) {
    printf("shipped %zu together: %lld to %lld\n", count, (long long)events[0].sequence_number,
           (long long)events[count - 1].sequence_number);
    return TRILHA_OK;
  }
  trilha_delivery_fail(delivery, "%s", error.status == TRILHA_OK ? sqlite3_errmsg(db) : error.text);
  sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
  return TRILHA_INVALID;
}

static bool consume(trilha *handle, sqlite3 *db, trilha_error *error) {
  const trilha_text types[] = {trilha_text_of("pedido.criado")};
  trilha_consumer_options options = {.colonia = trilha_text_of("D-4"),
                                     .types = types,
                                     .type_count = 1,
                                     .batch_handler = ship,
                                     .batch_max = 8, /* events of one call, at most */
                                     .handler_nome = trilha_text_of("ship"),
                                     .user = db,
                                     .from = TRILHA_FROM_START,
                                     .once = true};
  trilha_consumer *consumer = NULL;
  if (trilha_consumer_new(handle, &options, &consumer, error) != TRILHA_OK) return false;
  trilha_status status = trilha_consumer_run(consumer, error);
  trilha_consumer_free(consumer);
  return status == TRILHA_OK;
}

static int print_count(void *user, int columns, char **values, char **names) {
  (void)user;
  (void)columns;
  (void)names;
  printf("shipments: %s\n", values[0]);
  return 0;
}

static bool run(trilha *handle, sqlite3 *db, trilha_error *error) {
  if (sqlite3_exec(db, "CREATE TABLE IF NOT EXISTS shipments (sequence_number INTEGER NOT NULL)", NULL, NULL, NULL) !=
      SQLITE_OK)
    return false;
  return register_orders(handle, error) && publish_orders(handle, 20, error) && consume(handle, db, error) &&
         sqlite3_exec(db, "SELECT count(*) FROM shipments", print_count, NULL, NULL) == SQLITE_OK;
}

int main(int argc, char **argv) {
  static const char scheme[] = "sqlite:";
  const char *url = argc > 1 ? argv[1] : "sqlite:example.db";
  if (strncmp(url, scheme, sizeof scheme - 1) != 0) {
    fprintf(stderr, "this example's effect is a table in SQLite: give sqlite:FILE\n");
    return 2;
  }
  const char *file = url + sizeof scheme - 1;
  trilha_options options = {.store_url = url, .create = true};
  trilha *handle = NULL;
  sqlite3 *db = NULL;
  trilha_error error = {0};
  bool done = trilha_open(&options, &handle, &error) == TRILHA_OK && sqlite3_open(file, &db) == SQLITE_OK &&
              sqlite3_busy_timeout(db, 5000) == SQLITE_OK && run(handle, db, &error);
  if (!done) fprintf(stderr, "%s [%s]\n", error.text, error.code);
  sqlite3_close(db);
  trilha_close(handle);
  return done ? 0 : 1;
}
