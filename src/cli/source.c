/* cli/source: `trilha source list|check`: the outboxes that the configuration registers, and whether each is as it must
 * be. */
#include <string.h>

#include "base/error.h"
#include "cli/messages.h"
#include "cli/outbox_internal.h"
#include "cli/outbox_messages.h"
#include "cli/serve_internal.h"
#include "cli/sources.h"

/* Each source that the command line means. */
typedef void (*of_source)(void *user, const trilha_config_source *source);

static int for_sources(trilha_cli *cli, const trilha_cli_args *args, of_source each, void *user) {
  trilha_config *config = NULL;
  size_t count = 0;
  int status = trilha_cli_load_config(cli, args, &config);
  if (status != TRILHA_EXIT_OK) return status;
  const trilha_config_source *all = trilha_config_outboxes(config, &count);
  const char *name = args->operand_count > 0 ? args->operands[0] : NULL;
  const trilha_config_source *one = name == NULL ? NULL : trilha_config_outbox(config, trilha_text_of(name));
  if (name != NULL && one == NULL) status = trilha_cli_source_unknown(cli, name);
  for (size_t i = 0; status == TRILHA_EXIT_OK && i < count; i++)
    if (one == NULL || one == &all[i]) each(user, &all[i]);
  trilha_config_free(config);
  return status;
}

/* --- list -------------------------------------------------------------------------------------------------------- */

static void put_destinations(trilha_buffer *out, const trilha_config_source *s) {
  for (size_t i = 0; i < s->destination_count; i++) {
    if (i > 0) trilha_buffer_add_string(out, ", ");
    trilha_buffer_add_text(out, s->destinations[i]);
  }
}

static void put_source_json(trilha_cli_output *out, const trilha_config_source *s, trilha_text store,
                            trilha_text destinations) {
  const char *name;
  int64_t number;
  trilha_cli_puts(out, "{");
  trilha_cli_put_json_member(out, true, "source", s->name);
  trilha_cli_put_json_member(out, false, "store", store);
  trilha_cli_put_json_member(out, false, "schema", s->schema);
  trilha_cli_put_json_member(out, false, "destinations", destinations);
  for (size_t i = 0; (name = trilha_config_source_number(s, i, &number)) != NULL; i++)
    trilha_cli_putf(out, ",\"%s\":%lld", name, (long long)number);
  trilha_cli_puts(out, "}\n");
}

static void put_source(void *user, const trilha_config_source *s) {
  trilha_cli_rows *r = user;
  TRILHA_BUFFER_SCOPED store, destinations;
  trilha_buffer_init(&store, 0);
  trilha_buffer_init(&destinations, 0);
  trilha_config_source_show(s, &store);
  put_destinations(&destinations, s);
  r->count++;
  if (r->cli->json) {
    put_source_json(&r->cli->out, s, trilha_buffer_text(&store), trilha_buffer_text(&destinations));
    return;
  }
  trilha_cli_table_add(&r->table, s->name);
  trilha_cli_table_add(&r->table, trilha_buffer_text(&store));
  trilha_cli_table_add(&r->table, s->schema);
  trilha_cli_table_add(&r->table, s->destination_count == 0 ? (trilha_text){0} : trilha_buffer_text(&destinations));
  trilha_cli_table_add_number(&r->table, s->timeout_ms);
  trilha_cli_table_add_number(&r->table, s->lease_ms);
  trilha_cli_table_add_number(&r->table, s->attempts);
}

int trilha_cli_run_source_list(trilha_cli *cli, const trilha_cli_args *args) {
  static const char *const headings[] = {"SOURCE",     "STORE",    "SCHEMA",  "DESTINATIONS",
                                         "TIMEOUT_MS", "LEASE_MS", "ATTEMPTS"};
  trilha_cli_rows r;
  trilha_cli_rows_begin(&r, cli, headings, sizeof headings / sizeof headings[0]);
  r.table.right[4] = r.table.right[5] = r.table.right[6] = true;
  int status = for_sources(cli, args, put_source, &r);
  trilha_cli_rows_end(&r, status == TRILHA_EXIT_OK ? TRILHA_OK : TRILHA_INVALID, (trilha_cli_words){SAY_NO_SOURCES});
  return status;
}

/* --- check ------------------------------------------------------------------------------------------------------- */

typedef struct checking {
  trilha_cli_rows rows;
  const trilha_config_source *source;
  bool all_fine;
} checking;

/* text: what is wrong and what mends it; "": nothing is. */
static void tell(checking *c, const char *check, trilha_text text) {
  trilha_cli *cli = c->rows.cli;
  bool fine = text.size == 0;
  c->rows.count++;
  if (!fine) c->all_fine = false;
  if (!cli->json) {
    trilha_cli_table_add(&c->rows.table, c->source->name);
    trilha_cli_table_add(&c->rows.table, trilha_text_of(check));
    trilha_cli_table_add(&c->rows.table, fine ? TRILHA_TEXT("ok") : TRILHA_TEXT("wrong"));
    trilha_cli_table_add(&c->rows.table, fine ? (trilha_text){0} : text);
    return;
  }
  trilha_cli_puts(&cli->out, "{");
  trilha_cli_put_json_member(&cli->out, true, "source", c->source->name);
  trilha_cli_put_json_member(&cli->out, false, "check", trilha_text_of(check));
  trilha_cli_putf(&cli->out, ",\"ok\":%s", fine ? "true" : "false");
  trilha_cli_put_json_member(&cli->out, false, "text", fine ? (trilha_text){0} : text);
  trilha_cli_puts(&cli->out, "}\n");
}

static void tell_error(checking *c, const char *check, trilha_status status, const trilha_error *error) {
  tell(c, check, status == TRILHA_OK ? TRILHA_TEXT("") : trilha_text_of(error->text));
}

static void check_windows(checking *c) {
  trilha_error error = {0};
  trilha_status status = trilha_cli_source_check_delivery(c->source, &error);
  tell_error(c, "delivery windows", status, &error);
  error = (trilha_error){0};
  status = trilha_cli_source_check_retention(c->source, &error);
  tell_error(c, "retention windows", status, &error);
}

typedef struct pending {
  trilha_buffer names;
} pending;

static void note_migration(void *user, const char *name, const char *what) {
  pending *p = user;
  if (strcmp(what, "pending") != 0) return;
  if (p->names.size > 0) trilha_buffer_add_string(&p->names, ", ");
  trilha_buffer_add_string(&p->names, name);
}

/* A role that only delivers may not look into the book of migrations; whether it can deliver is told by its grants.
 * True: nothing is wrong. */
static bool check_version(checking *c, trilha_outbox *outbox) {
  pending p = {{0}};
  trilha_error error = {0};
  TRILHA_BUFFER_SCOPED text;
  trilha_buffer_init(&p.names, 0);
  trilha_buffer_init(&text, 0);
  trilha_status status = trilha_outbox_install(outbox, true, note_migration, &p, &error);
  if (status == TRILHA_OK && p.names.size > 0)
    trilha_buffer_add_format(&text, "not installed: %s: run `trilha outbox install --schema %s`",
                             trilha_buffer_text(&p.names).data,
                             c->source->schema.data == NULL ? "NAME" : c->source->schema.data);
  else if (status != TRILHA_OK && status != TRILHA_DENIED)
    trilha_buffer_add_string(&text, error.text);
  tell(c, "version", trilha_buffer_text(&text));
  trilha_buffer_done(&p.names);
  return text.size == 0;
}

static void check_grants(checking *c, trilha_outbox *outbox) {
  trilha_outbox_duties duties = {0};
  trilha_error error = {0};
  TRILHA_BUFFER_SCOPED text;
  trilha_buffer_init(&text, 0);
  trilha_status status = trilha_outbox_duties_of_caller(outbox, &duties, &error);
  if (status != TRILHA_OK)
    trilha_buffer_add_string(&text, error.text);
  else if (!duties.relays && !duties.operates)
    trilha_buffer_add_string(&text,
                             "this role may neither deliver nor operate: `trilha outbox grant ROLE --duty relay`, "
                             "or --duty operator, as the owner of the schema");
  else if (duties.writers[0] != '\0')
    trilha_buffer_add_format(&text, "may write the tables past their functions: %s: REVOKE ALL ON ALL TABLES IN SCHEMA",
                             duties.writers);
  else if (duties.superuser)
    trilha_buffer_add_string(&text, "this role is a superuser, which no grant binds: name another in the store's URL");
  tell(c, "grants", trilha_buffer_text(&text));
}

typedef struct sought {
  const trilha_config_source *source;
  uint64_t found; /* a bit for each destination */
} sought;

static trilha_status note_destination(void *user, const trilha_outbox_standing *standing) {
  sought *s = user;
  for (size_t i = 0; i < s->source->destination_count; i++)
    if (trilha_text_equal(s->source->destinations[i], standing->destination)) s->found |= UINT64_C(1) << i;
  return TRILHA_OK;
}

static void check_destinations(checking *c, trilha_outbox *outbox) {
  sought s = {.source = c->source};
  trilha_error error = {0};
  TRILHA_BUFFER_SCOPED text;
  trilha_buffer_init(&text, 0);
  if (c->source->destination_count == 0) return;
  trilha_status status = trilha_outbox_status(outbox, note_destination, &s, &error);
  if (status != TRILHA_OK) trilha_buffer_add_string(&text, error.text);
  for (size_t i = 0; status == TRILHA_OK && i < c->source->destination_count; i++) {
    if ((s.found >> i & 1) != 0) continue;
    if (text.size > 0) trilha_buffer_add_string(&text, "; ");
    trilha_buffer_add_format(&text, "no route goes to %s: `trilha outbox route PATTERN %s`",
                             c->source->destinations[i].data, c->source->destinations[i].data);
  }
  tell(c, "destinations", trilha_buffer_text(&text));
}

static void check_source(void *user, const trilha_config_source *source) {
  checking *c = user;
  const trilha_outbox_options where = {.url = source->store.data, .schema = source->schema.data};
  trilha_outbox *outbox = NULL;
  trilha_outbox_duties duties = {0};
  trilha_error error = {0};
  c->source = source;
  check_windows(c);
  trilha_status status = trilha_outbox_open(&where, &outbox, &error);
  if (status == TRILHA_OK) status = trilha_outbox_duties_of_caller(outbox, &duties, &error);
  bool reached = status == TRILHA_OK || strcmp(error.code, "OUTBOX_NOT_INSTALLED") == 0;
  tell_error(c, "reachable", reached ? TRILHA_OK : status, &error);
  if (reached && check_version(c, outbox) && status == TRILHA_OK) {
    check_grants(c, outbox);
    check_destinations(c, outbox);
  }
  trilha_outbox_close(outbox);
}

int trilha_cli_run_source_check(trilha_cli *cli, const trilha_cli_args *args) {
  static const char *const headings[] = {"SOURCE", "CHECK", "STATUS", "WHAT_TO_DO"};
  checking c = {.all_fine = true};
  trilha_cli_rows_begin(&c.rows, cli, headings, sizeof headings / sizeof headings[0]);
  c.rows.table.firm[3] = true;
  int status = for_sources(cli, args, check_source, &c);
  trilha_cli_rows_end(&c.rows, status == TRILHA_EXIT_OK ? TRILHA_OK : TRILHA_INVALID,
                      (trilha_cli_words){SAY_NO_SOURCES});
  return status != TRILHA_EXIT_OK || c.all_fine ? status : TRILHA_EXIT_FAILED;
}
