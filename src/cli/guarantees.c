/* cli/guarantees: what handlers promise: of messages, as relays said; of events, as durable consumers and processes
 * with subscriptions did. */
#include "base/error.h"
#include "cli/messages.h"
#include "cli/outbox_internal.h"
#include "cli/outbox_messages.h"
#include "cli/serve_internal.h"
#include "config/config.h"
#include "trilha/delivery.h"

/* --- of one outbox --------------------------------------------------------------------------------------------------
 */

static trilha_status put_destination(void *user, const trilha_outbox_handler *h) {
  static const char *const members[] = {"destination", "guarantee", "because", "worker", "declared_at"};
  enum { COUNT = sizeof members / sizeof members[0] };
  const trilha_text cells[COUNT] = {h->destination, h->guarantee, h->because, h->worker, h->declared_at};
  trilha_cli_rows_put(user, members, cells, COUNT);
  return TRILHA_OK;
}

static trilha_status list(trilha_cli *cli, const trilha_cli_args *args, trilha_outbox *outbox, trilha_error *error) {
  static const char *const headings[] = {"DESTINATION", "GUARANTEE", "BECAUSE", "DECLARED_BY", "SINCE"};
  trilha_cli_rows r;
  trilha_cli_rows_begin(&r, cli, headings, sizeof headings / sizeof headings[0]);
  r.table.firm[0] = r.table.spare[2] = true;
  trilha_status status = trilha_outbox_handlers(outbox, put_destination, &r, error);
  trilha_cli_rows_end(&r, status, (trilha_cli_words){SAY_NO_DESTINATIONS});
  return status;
}

int trilha_cli_run_outbox_guarantees(trilha_cli *cli, const trilha_cli_args *args) {
  return trilha_cli_with_outbox(cli, args, list);
}

/* --- of all ---------------------------------------------------------------------------------------------------------
 */

typedef struct listing {
  trilha_cli_rows rows;
  trilha_text source; /* of the outbox that is read now; absent: the store's own */
} listing;

typedef struct handler {
  trilha_text kind, of, tipo, guarantee, because, by, at;
  const trilha_outbox_handler *relay; /* one of the two */
  const trilha_handler_guarantee *consumer;
} handler;

static void put_json(listing *l, const handler *h) {
  trilha_cli_output *out = &l->rows.cli->out;
  trilha_cli_puts(out, "{");
  trilha_cli_put_json_member(out, true, "handler", h->kind);
  if (h->relay != NULL) {
    trilha_cli_put_json_member(out, false, "source", l->source);
    trilha_cli_put_json_member(out, false, "destination", h->relay->destination);
  } else {
    trilha_cli_put_json_member(out, false, "colonia", h->consumer->colonia);
    trilha_cli_put_json_member(out, false, "grupo", h->consumer->grupo);
    trilha_cli_put_json_member(out, false, "tipo", h->consumer->tipo);
    trilha_cli_puts(out, h->consumer->running ? ",\"running\":true" : ",\"running\":false");
  }
  trilha_cli_put_json_member(out, false, "guarantee", h->guarantee);
  trilha_cli_put_json_member(out, false, "because", h->because);
  trilha_cli_put_json_member(out, false, "declared_by", h->by);
  trilha_cli_put_json_member(out, false, "declared_at", h->at);
  trilha_cli_puts(out, "}\n");
}

static void put(listing *l, const handler *h) {
  l->rows.count++;
  if (l->rows.cli->json) {
    put_json(l, h);
    return;
  }
  const trilha_text cells[] = {h->kind, h->of, h->tipo, h->guarantee, h->because, h->by, h->at};
  for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) trilha_cli_table_add(&l->rows.table, cells[i]);
}

/* "a", or "a/b" where there is a second name. */
static void join(trilha_buffer *out, trilha_text first, trilha_text second) {
  trilha_buffer_add_text(out, first);
  if (second.size == 0) return;
  trilha_buffer_add_char(out, '/');
  trilha_buffer_add_text(out, second);
}

static trilha_status put_consumer(void *user, const trilha_handler_guarantee *g) {
  TRILHA_BUFFER_SCOPED of;
  trilha_buffer_init(&of, 0);
  join(&of, g->colonia, g->grupo);
  const handler h = {.kind = g->handler,
                     .of = trilha_buffer_text(&of),
                     .tipo = g->tipo,
                     .guarantee = g->guarantee,
                     .because = g->because,
                     .by = g->holder,
                     .at = g->declared_at,
                     .consumer = g};
  if (of.failed != TRILHA_OK) return TRILHA_NO_MEMORY;
  put(user, &h);
  return TRILHA_OK;
}

static trilha_status put_relay(void *user, const trilha_outbox_handler *d) {
  listing *l = user;
  TRILHA_BUFFER_SCOPED of;
  trilha_buffer_init(&of, 0);
  if (l->source.size > 0)
    join(&of, l->source, d->destination);
  else
    trilha_buffer_add_text(&of, d->destination);
  const handler h = {.kind = TRILHA_TEXT("relay"),
                     .of = trilha_buffer_text(&of),
                     .guarantee = d->guarantee,
                     .because = d->because,
                     .by = d->worker,
                     .at = d->declared_at,
                     .relay = d};
  if (of.failed != TRILHA_OK) return TRILHA_NO_MEMORY;
  put(l, &h);
  return TRILHA_OK;
}

static trilha_status list_outbox(const trilha_outbox_options *where, listing *l, trilha_error *error) {
  trilha_outbox *outbox = NULL;
  trilha_status status = trilha_outbox_open(where, &outbox, error);
  if (status == TRILHA_OK) status = trilha_outbox_handlers(outbox, put_relay, l, error);
  trilha_outbox_close(outbox);
  return status;
}

/* The exit status. A source that cannot be read is told, and the list is not taken for whole. */
static int list_sources(trilha_cli *cli, const trilha_cli_args *args, listing *l) {
  trilha_config *config = NULL;
  size_t count = 0;
  int status = trilha_cli_load_config(cli, args, &config);
  if (status != TRILHA_EXIT_OK) return status;
  const trilha_config_source *all = trilha_config_outboxes(config, &count);
  for (size_t i = 0; i < count; i++) {
    const trilha_outbox_options where = {
        .url = all[i].store.data, .schema = all[i].schema.data, .diagnostics = trilha_cli_options(cli).diagnostics};
    trilha_error error = {0};
    l->source = all[i].name;
    if (list_outbox(&where, l, &error) != TRILHA_OK) status = trilha_cli_fail(cli, &error);
  }
  trilha_config_free(config);
  l->source = (trilha_text){0};
  return status;
}

/* What handles this store's events, then what is served of the outbox in the same database, then the registered ones.
 */
static int list_all(trilha_cli *cli, const trilha_cli_args *args, trilha *handle, listing *l) {
  trilha_error error = {0};
  trilha_status status = trilha_handlers_list(handle, put_consumer, l, &error);
  if (status == TRILHA_OK && trilha_cli_has(args, "schema")) {
    const trilha_outbox_options where = trilha_cli_outbox_options(cli, args);
    l->source = trilha_cli_text(args, "schema");
    status = list_outbox(&where, l, &error);
  }
  if (status != TRILHA_OK) return trilha_cli_fail(cli, &error);
  return trilha_cli_has(args, "all-sources") ? list_sources(cli, args, l) : TRILHA_EXIT_OK;
}

int trilha_cli_run_guarantees(trilha_cli *cli, const trilha_cli_args *args) {
  static const char *const headings[] = {"HANDLER", "OF", "TIPO", "GUARANTEE", "BECAUSE", "DECLARED_BY", "SINCE"};
  trilha *handle = NULL;
  listing l = {.source = {0}};
  if (trilha_cli_has(args, "config") && !trilha_cli_has(args, "all-sources"))
    return trilha_cli_usage(cli, SAY_CONFIG_WITHOUT_ALL);
  int status = trilha_cli_open(cli, &handle);
  if (status != TRILHA_EXIT_OK) return status;
  trilha_cli_rows_begin(&l.rows, cli, headings, sizeof headings / sizeof headings[0]);
  l.rows.table.firm[1] = l.rows.table.spare[4] = l.rows.table.spare[6] = true;
  status = list_all(cli, args, handle, &l);
  trilha_cli_rows_end(&l.rows, status == TRILHA_EXIT_OK || l.rows.count > 0 ? TRILHA_OK : TRILHA_INVALID,
                      (trilha_cli_words){SAY_NO_HANDLERS});
  trilha_close(handle);
  return status;
}
