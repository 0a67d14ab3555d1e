/* cli/purge: taking settled messages and old rows of the inbox away. */
#include "base/error.h"
#include "cli/messages.h"
#include "cli/outbox_internal.h"
#include "cli/outbox_messages.h"
#include "cli/sources.h"

static const int64_t AGE_MS_MAX = INT64_C(36500) * 86400000;

/* "30d", "12h", "90m", "45s" in milliseconds; -1: it is none. */
static int64_t read_age(trilha_text text) {
  static const struct {
    char unit;
    int64_t ms;
  } units[] = {{'d', 86400000}, {'h', 3600000}, {'m', 60000}, {'s', 1000}};
  int64_t value = 0;
  if (text.size < 2) return -1;
  for (size_t i = 0; i + 1 < text.size; i++) {
    if (text.data[i] < '0' || text.data[i] > '9') return -1;
    value = value * 10 + (text.data[i] - '0');
    if (value > AGE_MS_MAX / 1000) return -1;
  }
  for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
    if (text.data[text.size - 1] == units[i].unit) return value <= AGE_MS_MAX / units[i].ms ? value * units[i].ms : -1;
  return -1;
}

/* The windows of the source (NULL: none), under what the command line says. */
static int take_windows(trilha_cli *cli, const trilha_cli_args *args, const trilha_config_source *source,
                        trilha_purge_options *o) {
  *o = (trilha_purge_options){.messages_ms = -1, .inbox_ms = -1, .batch = trilha_cli_number(args, "batch", 0)};
  const struct {
    const char *name;
    int64_t *ms;
  } ages[] = {
      {"messages", &o->messages_ms}, {"inbox", &o->inbox_ms}, {"retry", &o->retry_ms}, {"restore", &o->restore_ms}};
  if (source != NULL) {
    trilha_cli_source_purge(source, o);
  } else if (!trilha_cli_has(args, "messages") && !trilha_cli_has(args, "inbox")) {
    return trilha_cli_usage(cli, SAY_PURGE_NOTHING);
  } else if (!trilha_cli_has(args, "restore")) {
    return trilha_cli_usage(cli, SAY_OPTION_MISSING, "restore");
  } else if (trilha_cli_has(args, "inbox") && !trilha_cli_has(args, "retry")) {
    return trilha_cli_usage(cli, SAY_OPTION_MISSING, "retry");
  }
  for (size_t i = 0; i < sizeof ages / sizeof ages[0]; i++) {
    if (!trilha_cli_has(args, ages[i].name)) continue;
    *ages[i].ms = read_age(trilha_cli_text(args, ages[i].name));
    if (*ages[i].ms < 0) return trilha_cli_usage(cli, SAY_AGE_INVALID, ages[i].name);
  }
  return TRILHA_EXIT_OK;
}

/* --- what went --------------------------------------------------------------------------------------------------- */

typedef struct purging {
  trilha_cli *cli;
  const trilha_cli_args *args;
  trilha_cli_rows rows;
  bool named; /* the rows say which source they are of */
  bool dry_run;
  int64_t gone_before; /* of earlier sources, for the line of progress */
} purging;

static void put_part(purging *p, const trilha_config_source *source, const char *what, const trilha_purge_part *part) {
  trilha_cli_rows *r = &p->rows;
  trilha_cli_output *out = &r->cli->out;
  trilha_text oldest = part->rows > 0 ? trilha_text_of(part->oldest) : (trilha_text){0};
  trilha_text newest = part->rows > 0 ? trilha_text_of(part->newest) : (trilha_text){0};
  r->count++;
  if (!r->cli->json) {
    if (p->named) trilha_cli_table_add(&r->table, source->name);
    trilha_cli_table_add(&r->table, trilha_text_of(what));
    trilha_cli_table_add_number(&r->table, part->rows);
    trilha_cli_table_add(&r->table, oldest);
    trilha_cli_table_add(&r->table, newest);
    return;
  }
  trilha_cli_puts(out, "{");
  if (p->named) trilha_cli_put_json_member(out, true, "source", source->name);
  trilha_cli_put_json_member(out, !p->named, "what", trilha_text_of(what));
  trilha_cli_putf(out, ",\"rows\":%lld", (long long)part->rows);
  trilha_cli_put_json_member(out, false, "oldest", oldest);
  trilha_cli_put_json_member(out, false, "newest", newest);
  trilha_cli_puts(out, "}\n");
}

static bool show_progress(void *user, const trilha_purged *so_far) {
  purging *p = user;
  trilha_cli_progress_show(p->cli, p->gone_before + so_far->messages.rows + so_far->inbox.rows,
                           (trilha_cli_words){SAY_PURGE_ROWS});
  return !*trilha_cli_interrupted();
}

/* --- one outbox after the other ------------------------------------------------------------------------------------
 */

/* After a failure too what was purged by then is gone, and is told. */
static int purge_one(purging *p, const trilha_config_source *source) {
  char name[256];
  trilha_purge_options o;
  trilha_outbox_options where = trilha_cli_outbox_options(p->cli, p->args);
  trilha_outbox *outbox = NULL;
  trilha_purged purged = {0};
  trilha_error error = {0};
  int taken = take_windows(p->cli, p->args, source, &o);
  if (taken != TRILHA_EXIT_OK) return taken;
  o.dry_run = p->dry_run;
  o.user = trilha_cli_user(name, sizeof name);
  o.reason = trilha_cli_text(p->args, "reason");
  if (source != NULL) where.url = source->store.data;
  if (source != NULL) where.schema = source->schema.data;
  trilha_status status = trilha_outbox_open(&where, &outbox, &error);
  if (status == TRILHA_OK) status = trilha_outbox_purge(outbox, &o, show_progress, p, &purged, &error);
  trilha_cli_progress_hide(p->cli);
  trilha_outbox_close(outbox);
  int64_t gone = purged.messages.rows + purged.inbox.rows;
  p->gone_before += gone;
  if ((status == TRILHA_OK || gone > 0) && o.messages_ms >= 0) put_part(p, source, "messages", &purged.messages);
  if ((status == TRILHA_OK || gone > 0) && o.inbox_ms >= 0) put_part(p, source, "inbox", &purged.inbox);
  if (status == TRILHA_OK) return TRILHA_EXIT_OK;
  if (source != NULL) trilha_error_while(&error, "purging the source %s", source->name.data);
  return trilha_cli_fail(p->cli, &error);
}

/* Whoever starts it by a schedule must not take half of it for the whole. */
static int tell_stopped(trilha_cli *cli) {
  trilha_cli_say(cli, SAY_STOPPED);
  trilha_cli_hint(cli, SAY_PURGE_STOPPED);
  return TRILHA_EXIT_FAILED;
}

static int purge(trilha_cli *cli, const trilha_cli_args *args, bool dry_run) {
  static const char *const headings[] = {"SOURCE", "WHAT", "ROWS", "OLDEST", "NEWEST"};
  trilha_cli_sources sources;
  int status = trilha_cli_sources_take(cli, args, &sources);
  if (status != TRILHA_EXIT_OK) {
    trilha_cli_sources_done(&sources);
    return status;
  }
  purging p = {.cli = cli, .args = args, .named = sources.count > 0, .dry_run = dry_run};
  trilha_cli_interrupt_install();
  trilha_cli_progress_begin(cli);
  trilha_cli_rows_begin(&p.rows, cli, p.named ? headings : headings + 1, p.named ? 5 : 4);
  p.rows.table.right[p.named ? 2 : 1] = true;
  if (!p.named) status = purge_one(&p, NULL);
  for (size_t i = 0; status == TRILHA_EXIT_OK && i < sources.count && !*trilha_cli_interrupted(); i++)
    status = purge_one(&p, sources.list[i]);
  trilha_cli_rows_end(&p.rows, p.rows.count > 0 ? TRILHA_OK : TRILHA_INVALID, (trilha_cli_words){SAY_PURGE_ROWS});
  trilha_cli_sources_done(&sources);
  return status == TRILHA_EXIT_OK && *trilha_cli_interrupted() ? tell_stopped(cli) : status;
}

int trilha_cli_run_purge_plan(trilha_cli *cli, const trilha_cli_args *args) {
  return purge(cli, args, true);
}

int trilha_cli_run_purge_run(trilha_cli *cli, const trilha_cli_args *args) {
  if (trilha_cli_text(args, "reason").size == 0) return trilha_cli_usage(cli, SAY_OPTION_MISSING, "reason");
  return purge(cli, args, false);
}
