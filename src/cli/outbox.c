/* cli/outbox: a producer's outbox: installing, routes, and what operators see and do. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "cli/messages.h"
#include "cli/outbox_internal.h"
#include "cli/outbox_messages.h"
#include "serve/quota_holders.h"

enum { LANES_DEFAULT = 100 };

trilha_outbox_options trilha_cli_outbox_options(trilha_cli *cli, const trilha_cli_args *args) {
  trilha_options shared = trilha_cli_options(cli);
  return (trilha_outbox_options){.url = cli->store_url == NULL ? "sqlite:trilha.db" : cli->store_url,
                                 .schema = trilha_cli_value(args, "schema"),
                                 .diagnostics = shared.diagnostics};
}

int trilha_cli_with_outbox(trilha_cli *cli, const trilha_cli_args *args, trilha_cli_outbox_work work) {
  trilha_outbox_options options = trilha_cli_outbox_options(cli, args);
  trilha_outbox *outbox = NULL;
  trilha_error error = {0};
  trilha_status status = trilha_outbox_open(&options, &outbox, &error);
  if (status == TRILHA_OK) status = work(cli, args, outbox, &error);
  trilha_outbox_close(outbox);
  return status == TRILHA_OK ? TRILHA_EXIT_OK : trilha_cli_fail(cli, &error);
}

/* --- installing --------------------------------------------------------------------------------------------------- */

static void on_migration(void *user, const char *name, const char *what) {
  trilha_cli *cli = user;
  if (!cli->json) {
    trilha_cli_putf(&cli->out, "%s: %s\n", name, trilha_cli_choose(cli, trilha_cli_migration_words(what)));
    return;
  }
  trilha_cli_puts(&cli->out, "{");
  trilha_cli_put_json_member(&cli->out, true, "migration", trilha_text_of(name));
  trilha_cli_put_json_member(&cli->out, false, "what", trilha_text_of(what));
  trilha_cli_puts(&cli->out, "}\n");
}

static trilha_status install(trilha_cli *cli, const trilha_cli_args *args, trilha_outbox *outbox, trilha_error *error) {
  return trilha_outbox_install(outbox, cli->dry_run, on_migration, cli, error);
}

static int print_sql(trilha_cli *cli, const trilha_cli_args *args) {
  char *sql = NULL;
  trilha_error error = {0};
  bool postgres = cli->store_url != NULL && strncmp(cli->store_url, "postgres", 8) == 0;
  if (trilha_outbox_install_sql(postgres ? "postgresql" : "sqlite", trilha_cli_value(args, "schema"), &sql, &error) !=
      TRILHA_OK)
    return trilha_cli_fail(cli, &error);
  trilha_cli_puts(&cli->out, sql);
  trilha_free(sql);
  return TRILHA_EXIT_OK;
}

int trilha_cli_run_outbox_install(trilha_cli *cli, const trilha_cli_args *args) {
  return trilha_cli_has(args, "print-sql") ? print_sql(cli, args) : trilha_cli_with_outbox(cli, args, install);
}

static trilha_status grant(trilha_cli *cli, const trilha_cli_args *args, trilha_outbox *outbox, trilha_error *error) {
  const char *role = args->operands[0], *duty = trilha_cli_value(args, "duty");
  trilha_status status = trilha_outbox_grant(outbox, trilha_text_of(role), trilha_text_of(duty), error);
  if (status != TRILHA_OK) return status;
  trilha_cli_tell(cli, SAY_OUTBOX_GRANTED, role, duty);
  trilha_cli_puts(&cli->out, "\n");
  return TRILHA_OK;
}

int trilha_cli_run_outbox_grant(trilha_cli *cli, const trilha_cli_args *args) {
  if (!trilha_cli_has(args, "duty")) return trilha_cli_usage(cli, SAY_OPTION_MISSING, "duty");
  return trilha_cli_with_outbox(cli, args, grant);
}

/* --- routes ----------------------------------------------------------------------------------------------------------
 */

static trilha_status route(trilha_cli *cli, const trilha_cli_args *args, trilha_outbox *outbox, trilha_error *error) {
  const char *pattern = args->operands[0], *destination = args->operands[1];
  bool remove = trilha_cli_has(args, "remove");
  trilha_status status =
      remove ? trilha_outbox_route_remove(outbox, trilha_text_of(pattern), trilha_text_of(destination), error)
             : trilha_outbox_route_add(outbox, trilha_text_of(pattern), trilha_text_of(destination), error);
  if (status != TRILHA_OK) return status;
  if (remove)
    trilha_cli_tell(cli, SAY_ROUTE_REMOVED, pattern, destination);
  else
    trilha_cli_tell(cli, SAY_ROUTE_ADDED, pattern, destination);
  trilha_cli_puts(&cli->out, "\n");
  return TRILHA_OK;
}

int trilha_cli_run_outbox_route(trilha_cli *cli, const trilha_cli_args *args) {
  return trilha_cli_with_outbox(cli, args, route);
}

static trilha_status put_route(void *user, trilha_text pattern, trilha_text destination) {
  static const char *const members[] = {"type_pattern", "destination"};
  const trilha_text texts[] = {pattern, destination};
  trilha_cli_rows_put(user, members, texts, 2);
  return TRILHA_OK;
}

static trilha_status routes(trilha_cli *cli, const trilha_cli_args *args, trilha_outbox *outbox, trilha_error *error) {
  static const char *const headings[] = {"TYPE", "DESTINATION"};
  trilha_cli_rows r;
  trilha_cli_rows_begin(&r, cli, headings, 2);
  trilha_status status = trilha_outbox_routes(outbox, put_route, &r, error);
  trilha_cli_rows_end(&r, status, (trilha_cli_words){SAY_NO_ROUTES});
  return status;
}

int trilha_cli_run_outbox_routes(trilha_cli *cli, const trilha_cli_args *args) {
  return trilha_cli_with_outbox(cli, args, routes);
}

/* --- how it stands ---------------------------------------------------------------------------------------------------
 */

/* Below the rows, for people: with --json each row says it. */
static void tell_quotas(trilha_cli *cli, const trilha_quota_holders *all) {
  for (size_t i = 0; i < all->count; i++) {
    const trilha_outbox_quota *q = &all->all[i];
    trilha_cli_hint(cli, SAY_AT_QUOTA, (int)q->tenant_id.size, q->tenant_id.data, (int)q->destination.size,
                    q->destination.data, (long long)q->leases, (long long)q->quota);
  }
}

typedef struct standing_rows {
  trilha_cli_rows rows;
  trilha_quota_holders quotas;
} standing_rows;

static trilha_status put_standing(void *user, const trilha_outbox_standing *s) {
  standing_rows *all = user;
  trilha_cli_rows *r = &all->rows;
  const int64_t numbers[] = {s->ready, s->waiting, s->held, s->leased, s->dead};
  r->count++;
  if (!r->cli->json) {
    trilha_cli_table_add(&r->table, s->destination);
    for (size_t i = 0; i < 5; i++) trilha_cli_table_add_number(&r->table, numbers[i]);
    trilha_cli_table_add(&r->table, s->head_at);
    trilha_cli_table_add(&r->table, s->held_because);
    return TRILHA_OK;
  }
  trilha_cli_puts(&r->cli->out, "{");
  trilha_cli_put_json_member(&r->cli->out, true, "destination", s->destination);
  trilha_cli_putf(&r->cli->out, ",\"ready\":%lld,\"waiting\":%lld,\"held\":%lld,\"leased\":%lld,\"dead\":%lld",
                  (long long)s->ready, (long long)s->waiting, (long long)s->held, (long long)s->leased,
                  (long long)s->dead);
  trilha_cli_put_json_member(&r->cli->out, false, "held_because", s->held_because);
  trilha_cli_put_json_member(&r->cli->out, false, "head_at", s->head_at);
  TRILHA_BUFFER_SCOPED holders;
  trilha_buffer_init(&holders, 0);
  trilha_quota_holders_write(&all->quotas, s->destination, &holders);
  trilha_cli_puts(&r->cli->out, ",\"at_quota\":");
  trilha_cli_put_json(&r->cli->out, trilha_buffer_text(&holders));
  trilha_cli_puts(&r->cli->out, "}\n");
  return holders.failed;
}

static trilha_status standing(trilha_cli *cli, const trilha_cli_args *args, trilha_outbox *outbox,
                              trilha_error *error) {
  static const char *const headings[] = {"DESTINATION", "READY", "WAITING",     "HELD",
                                         "LEASED",      "DEAD",  "OLDEST_HEAD", "HELD_BECAUSE"};
  standing_rows all = {0};
  trilha_cli_rows_begin(&all.rows, cli, headings, sizeof headings / sizeof headings[0]);
  for (size_t i = 1; i <= 5; i++) all.rows.table.right[i] = true;
  trilha_status status = trilha_quota_holders_read(outbox, &all.quotas, error);
  if (status == TRILHA_OK) status = trilha_outbox_status(outbox, put_standing, &all, error);
  trilha_cli_rows_end(&all.rows, status, (trilha_cli_words){SAY_NO_DESTINATIONS});
  if (status == TRILHA_OK && !cli->json) tell_quotas(cli, &all.quotas);
  trilha_quota_holders_done(&all.quotas);
  return status;
}

typedef struct tenant_rows {
  trilha_cli_rows rows;
  int64_t rest; /* tenants that are not told */
} tenant_rows;

static trilha_status put_tenant(void *user, const trilha_outbox_gauge *gauge) {
  tenant_rows *all = user;
  trilha_cli_rows *r = &all->rows;
  if (trilha_text_is(gauge->name, "tenants_rest")) all->rest = gauge->value;
  if (!trilha_text_is(gauge->name, "tenant")) return TRILHA_OK;
  r->count++;
  if (!r->cli->json) {
    trilha_cli_table_add(&r->table, gauge->label);
    trilha_cli_table_add_number(&r->table, gauge->value);
    return TRILHA_OK;
  }
  trilha_cli_puts(&r->cli->out, "{");
  trilha_cli_put_json_member(&r->cli->out, true, "tenant_id", gauge->label);
  trilha_cli_putf(&r->cli->out, ",\"lanes\":%lld}\n", (long long)gauge->value);
  return TRILHA_OK;
}

/* The most first, as many as the gauges tell (ruling R35). */
static trilha_status tenants(trilha_cli *cli, const trilha_cli_args *args, trilha_outbox *outbox, trilha_error *error) {
  static const char *const headings[] = {"TENANT", "LANES"};
  tenant_rows all = {.rest = 0};
  trilha_cli_rows_begin(&all.rows, cli, headings, sizeof headings / sizeof headings[0]);
  all.rows.table.right[1] = true;
  trilha_status status = trilha_outbox_gauges(outbox, put_tenant, &all, error);
  trilha_cli_rows_end(&all.rows, status, (trilha_cli_words){SAY_NO_LANES});
  if (status == TRILHA_OK && !cli->json && all.rest > 0) trilha_cli_hint(cli, SAY_TENANTS_REST, (long long)all.rest);
  return status;
}

int trilha_cli_run_outbox_status(trilha_cli *cli, const trilha_cli_args *args) {
  return trilha_cli_with_outbox(cli, args, trilha_cli_has(args, "tenants") ? tenants : standing);
}

static void put_lane_json(trilha_cli *cli, const trilha_outbox_lane *lane) {
  trilha_cli_output *out = &cli->out;
  trilha_cli_puts(out, "{");
  trilha_cli_put_json_member(out, true, "destination", lane->destination);
  trilha_cli_put_json_member(out, false, "tenant_id", lane->tenant_id);
  trilha_cli_put_json_member(out, false, "aggregate_type", lane->aggregate_type);
  trilha_cli_put_json_member(out, false, "aggregate_key", lane->aggregate_key);
  trilha_cli_put_json_member(out, false, "status", lane->status);
  trilha_cli_putf(out, ",\"head_sequence\":\"%lld\"", (long long)lane->head_sequence);
  trilha_cli_put_json_member(out, false, "message_id", lane->message_id);
  trilha_cli_put_json_member(out, false, "message_type", lane->message_type);
  trilha_cli_putf(out, ",\"attempts\":%lld", (long long)lane->attempts);
  trilha_cli_put_json_member(out, false, "due_at", lane->due_at);
  trilha_cli_put_json_member(out, false, "owner", lane->owner);
  trilha_cli_put_json_member(out, false, "error_code", lane->error_code);
  trilha_cli_put_json_member(out, false, "error_text", lane->error_text);
  trilha_cli_putf(out, ",\"behind\":%lld", (long long)lane->behind);
  trilha_cli_put_json_member(out, false, "head_at", lane->head_at);
  trilha_cli_put_json_member(out, false, "held", lane->held);
  trilha_cli_putf(out, ",\"place\":\"%lld\"}\n", (long long)lane->place);
}

/* The rows of a list of lanes, where it ends, and which holds were among them. */
typedef struct lane_rows {
  trilha_cli_rows rows;
  int64_t last;
  bool path, gone, open, other;
} lane_rows;

static void note_hold(lane_rows *l, trilha_text held) {
  if (held.data == NULL) return;
  bool *seen = trilha_text_is(held, "PATH_HELD")       ? &l->path
               : trilha_text_is(held, "ENDPOINT_GONE") ? &l->gone
               : trilha_text_is(held, "BREAKER_OPEN")  ? &l->open
                                                       : &l->other;
  *seen = true;
}

/* Why held lanes are, and what ends it. */
static void tell_holds(trilha_cli *cli, const lane_rows *l) {
  if (l->path) trilha_cli_hint(cli, SAY_HELD_PATH);
  if (l->gone) trilha_cli_hint(cli, SAY_HELD_GONE);
  if (l->open) trilha_cli_hint(cli, SAY_HELD_OPEN);
  if (l->other) trilha_cli_hint(cli, SAY_HELD_OTHER);
}

static trilha_status put_lane(void *user, const trilha_outbox_lane *lane) {
  lane_rows *l = user;
  trilha_cli_rows *r = &l->rows;
  r->count++;
  l->last = lane->place;
  note_hold(l, lane->held);
  if (r->cli->json) {
    put_lane_json(r->cli, lane);
    return TRILHA_OK;
  }
  trilha_cli_table_add(&r->table, lane->status);
  trilha_cli_table_add(&r->table, lane->destination);
  trilha_cli_table_add(&r->table, lane->tenant_id);
  trilha_cli_table_add(&r->table, lane->aggregate_type);
  trilha_cli_table_add(&r->table, lane->aggregate_key);
  trilha_cli_table_add_number(&r->table, lane->head_sequence);
  trilha_cli_table_add_number(&r->table, lane->behind);
  trilha_cli_table_add_number(&r->table, lane->attempts);
  trilha_cli_table_add(&r->table, lane->message_id);
  trilha_cli_table_add(&r->table, lane->held);
  trilha_cli_table_add(&r->table, lane->error_code);
  trilha_cli_table_add(&r->table, lane->error_text);
  return TRILHA_OK;
}

static trilha_status lanes(trilha_cli *cli, const trilha_cli_args *args, trilha_outbox *outbox, trilha_error *error) {
  static const char *const headings[] = {"STATUS", "DESTINATION", "TENANT",     "AGGREGATE", "KEY",  "HEAD",
                                         "BEHIND", "ATTEMPTS",    "MESSAGE_ID", "HELD",      "CODE", "ERROR"};
  const trilha_outbox_lanes_filter filter = {.tenant_id = trilha_cli_text(args, "tenant"),
                                             .destination = trilha_cli_text(args, "destination"),
                                             .status = trilha_cli_text(args, "status"),
                                             .error_code = trilha_cli_text(args, "code"),
                                             .limit = trilha_cli_number(args, "limit", LANES_DEFAULT),
                                             .by_place = trilha_cli_has(args, "after"),
                                             .after_place = trilha_cli_number(args, "after", 0)};
  lane_rows l = {0};
  trilha_cli_rows_begin(&l.rows, cli, headings, sizeof headings / sizeof headings[0]);
  l.rows.table.right[5] = l.rows.table.right[6] = l.rows.table.right[7] = l.rows.table.firm[8] = true;
  trilha_status status = trilha_outbox_lanes(outbox, &filter, put_lane, &l, error);
  trilha_cli_rows_end(&l.rows, status, (trilha_cli_words){SAY_NO_LANES});
  if (status != TRILHA_OK || cli->json) return status;
  tell_holds(cli, &l);
  int64_t most = filter.limit < TRILHA_OUTBOX_LANES_MAX ? filter.limit : TRILHA_OUTBOX_LANES_MAX;
  if ((int64_t)l.rows.count >= most) trilha_cli_hint(cli, SAY_LANES_NEXT, (long long)(filter.by_place ? l.last : 0));
  return status;
}

int trilha_cli_run_outbox_lanes(trilha_cli *cli, const trilha_cli_args *args) {
  return trilha_cli_with_outbox(cli, args, lanes);
}

/* --- one message
 * ------------------------------------------------------------------------------------------------------ */

typedef struct shown {
  trilha_cli *cli;
  bool any;
} shown;

static void put_field(trilha_cli *cli, const char *name, trilha_text value) {
  if (value.data == NULL) return;
  trilha_cli_style_set(&cli->out, TRILHA_STYLE_DIM);
  trilha_cli_putf(&cli->out, "%-20s", name);
  trilha_cli_style_set(&cli->out, TRILHA_STYLE_PLAIN);
  trilha_cli_put_safe(&cli->out, value);
  trilha_cli_puts(&cli->out, "\n");
}

static void put_number_field(trilha_cli *cli, const char *name, int64_t number) {
  char text[24];
  snprintf(text, sizeof text, "%lld", (long long)number);
  put_field(cli, name, trilha_text_of(text));
}

typedef struct named_text {
  const char *name;
  trilha_text value;
} named_text;

static trilha_status put_entry(void *user, const trilha_outbox_entry *e) {
  shown *s = user;
  trilha_cli *cli = s->cli;
  const named_text message[] = {{"tenant_id", e->tenant_id},
                                {"company_id", e->company_id},
                                {"aggregate_type", e->aggregate_type},
                                {"aggregate_key", e->aggregate_key},
                                {"message_type", e->message_type},
                                {"version", e->version},
                                {"origin", e->origin},
                                {"correlation_id", e->correlation_id},
                                {"causation_id", e->causation_id},
                                {"traceparent", e->traceparent},
                                {"occurred_at", e->occurred_at},
                                {"created_at", e->created_at},
                                {"payload_sha256", e->payload_sha256}};
  const named_text delivery[] = {{"destination", e->destination},
                                 {"status", e->status},
                                 {"held", e->held},
                                 {"next_attempt_at", e->next_attempt_at},
                                 {"lease_until", e->lease_until},
                                 {"dispatched_at", e->dispatched_at},
                                 {"received_at", e->received_at},
                                 {"applied_at", e->applied_at},
                                 {"said", e->said},
                                 {"said_at", e->said_at}};
  enum { MESSAGE = sizeof message / sizeof message[0], DELIVERY = sizeof delivery / sizeof delivery[0] };
  if (cli->json) {
    trilha_cli_putf(&cli->out,
                    "{\"aggregate_sequence\":\"%lld\",\"payload_bytes\":%lld,\"attempts\":%lld,\"revision\":%lld,"
                    "\"dispatched_revision\":%lld",
                    (long long)e->aggregate_sequence, (long long)e->payload_bytes, (long long)e->attempts,
                    (long long)e->revision, (long long)e->dispatched_revision);
    for (size_t i = 0; i < MESSAGE; i++)
      trilha_cli_put_json_member(&cli->out, false, message[i].name, message[i].value);
    for (size_t i = 0; i < DELIVERY; i++)
      trilha_cli_put_json_member(&cli->out, false, delivery[i].name, delivery[i].value);
    trilha_cli_puts(&cli->out, "}\n");
    return TRILHA_OK;
  }
  for (size_t i = 0; !s->any && i < MESSAGE; i++) put_field(cli, message[i].name, message[i].value);
  if (!s->any) put_number_field(cli, "aggregate_sequence", e->aggregate_sequence);
  if (!s->any) put_number_field(cli, "payload_bytes", e->payload_bytes);
  if (!s->any) put_number_field(cli, "revision", e->revision);
  s->any = true;
  trilha_cli_puts(&cli->out, "\n");
  for (size_t i = 0; i < DELIVERY; i++) put_field(cli, delivery[i].name, delivery[i].value);
  if (e->dispatched_revision > 0) put_number_field(cli, "dispatched_revision", e->dispatched_revision);
  put_number_field(cli, "attempts", e->attempts);
  return TRILHA_OK;
}

static trilha_status put_revision(void *user, const trilha_outbox_revision *r) {
  trilha_cli *cli = user;
  const named_text texts[] = {{"at", r->at},
                              {"user", r->user},
                              {"reason", r->reason},
                              {"payload_sha256", r->payload_sha256},
                              {"accepted", r->accepted},
                              {"diff", r->diff}};
  enum { DIFF = sizeof texts / sizeof texts[0] - 1 };
  if (!cli->json) {
    trilha_cli_puts(&cli->out, "\n");
    put_number_field(cli, "revision", r->revision);
    put_number_field(cli, "payload_bytes", r->payload_bytes);
    for (size_t i = 0; i <= DIFF; i++) put_field(cli, texts[i].name, texts[i].value);
    return TRILHA_OK;
  }
  trilha_cli_putf(&cli->out, "{\"revision\":%lld,\"payload_bytes\":%lld", (long long)r->revision,
                  (long long)r->payload_bytes);
  for (size_t i = 0; i < DIFF; i++) trilha_cli_put_json_member(&cli->out, false, texts[i].name, texts[i].value);
  if (r->diff.data != NULL) {
    trilha_cli_puts(&cli->out, ",\"diff\":");
    trilha_cli_put(&cli->out, r->diff); /* JSON that the library wrote */
  }
  trilha_cli_puts(&cli->out, "}\n");
  return TRILHA_OK;
}

static trilha_status put_receipt(void *user, const trilha_outbox_receipt *r) {
  trilha_cli *cli = user;
  const named_text texts[] = {{"destination", r->destination},
                              {"fact", r->fact},
                              {"operation_id", r->operation_id},
                              {"stated_at", r->stated_at},
                              {"recorded_at", r->recorded_at},
                              {"source", r->source},
                              {"user", r->user},
                              {"note", r->note}};
  enum { TEXTS = sizeof texts / sizeof texts[0] };
  if (cli->json) {
    trilha_cli_putf(&cli->out, "{\"revision\":%lld", (long long)r->revision);
    for (size_t i = 0; i < TEXTS; i++) trilha_cli_put_json_member(&cli->out, false, texts[i].name, texts[i].value);
    trilha_cli_puts(&cli->out, "}\n");
    return TRILHA_OK;
  }
  trilha_cli_puts(&cli->out, "\n");
  for (size_t i = 0; i < TEXTS; i++) put_field(cli, texts[i].name, texts[i].value);
  put_number_field(cli, "revision", r->revision);
  return TRILHA_OK;
}

static trilha_status reveal(trilha_cli *cli, const trilha_cli_args *args, trilha_outbox *outbox, trilha_error *error) {
  char name[256], *payload = NULL;
  trilha_status status =
      trilha_outbox_reveal(outbox, trilha_text_of(args->operands[0]), trilha_cli_number(args, "revision", 0),
                           trilha_cli_user(name, sizeof name), trilha_cli_text(args, "reason"), &payload, NULL, error);
  if (status != TRILHA_OK) return status;
  if (cli->out.terminal)
    trilha_cli_put_safe(&cli->out, trilha_text_of(payload));
  else
    trilha_cli_puts(&cli->out, payload); /* byte for byte, so that it can be corrected */
  trilha_cli_puts(&cli->out, "\n");
  trilha_free(payload);
  return TRILHA_OK;
}

static trilha_status show(trilha_cli *cli, const trilha_cli_args *args, trilha_outbox *outbox, trilha_error *error) {
  const trilha_text id = trilha_text_of(args->operands[0]);
  shown s = {.cli = cli};
  if (trilha_cli_has(args, "reveal")) return reveal(cli, args, outbox, error);
  if (trilha_cli_has(args, "revisions")) return trilha_outbox_revisions(outbox, id, put_revision, cli, error);
  if (trilha_cli_has(args, "receipts")) return trilha_outbox_receipts(outbox, id, put_receipt, cli, error);
  return trilha_outbox_message(outbox, id, put_entry, &s, error);
}

int trilha_cli_run_outbox_show(trilha_cli *cli, const trilha_cli_args *args) {
  if (trilha_cli_has(args, "reveal") && trilha_cli_text(args, "reason").size == 0)
    return trilha_cli_usage(cli, SAY_OPTION_MISSING, "reason");
  return trilha_cli_with_outbox(cli, args, show);
}
