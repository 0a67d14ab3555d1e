/* cli/purge: taking settled messages and old rows of the inbox away. */
#include "cli/messages.h"
#include "cli/outbox_internal.h"
#include "cli/outbox_messages.h"

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

static int take_windows(trilha_cli *cli, const trilha_cli_args *args, trilha_purge_options *o) {
  *o = (trilha_purge_options){.messages_ms = -1, .inbox_ms = -1, .batch = trilha_cli_number(args, "batch", 0)};
  const struct {
    const char *name;
    int64_t *ms;
  } ages[] = {
      {"messages", &o->messages_ms}, {"inbox", &o->inbox_ms}, {"retry", &o->retry_ms}, {"restore", &o->restore_ms}};
  if (!trilha_cli_has(args, "messages") && !trilha_cli_has(args, "inbox"))
    return trilha_cli_usage(cli, SAY_PURGE_NOTHING);
  if (!trilha_cli_has(args, "restore")) return trilha_cli_usage(cli, SAY_OPTION_MISSING, "restore");
  if (trilha_cli_has(args, "inbox") && !trilha_cli_has(args, "retry"))
    return trilha_cli_usage(cli, SAY_OPTION_MISSING, "retry");
  for (size_t i = 0; i < sizeof ages / sizeof ages[0]; i++) {
    if (!trilha_cli_has(args, ages[i].name)) continue;
    *ages[i].ms = read_age(trilha_cli_text(args, ages[i].name));
    if (*ages[i].ms < 0) return trilha_cli_usage(cli, SAY_AGE_INVALID, ages[i].name);
  }
  return TRILHA_EXIT_OK;
}

/* --- what went --------------------------------------------------------------------------------------------------- */

static void put_part(trilha_cli_rows *r, const char *what, const trilha_purge_part *part) {
  trilha_cli_output *out = &r->cli->out;
  trilha_text oldest = part->rows > 0 ? trilha_text_of(part->oldest) : (trilha_text){0};
  trilha_text newest = part->rows > 0 ? trilha_text_of(part->newest) : (trilha_text){0};
  r->count++;
  if (!r->cli->json) {
    trilha_cli_table_add(&r->table, trilha_text_of(what));
    trilha_cli_table_add_number(&r->table, part->rows);
    trilha_cli_table_add(&r->table, oldest);
    trilha_cli_table_add(&r->table, newest);
    return;
  }
  trilha_cli_puts(out, "{");
  trilha_cli_put_json_member(out, true, "what", trilha_text_of(what));
  trilha_cli_putf(out, ",\"rows\":%lld", (long long)part->rows);
  trilha_cli_put_json_member(out, false, "oldest", oldest);
  trilha_cli_put_json_member(out, false, "newest", newest);
  trilha_cli_puts(out, "}\n");
}

/* After a failure too: what was purged by then is gone. */
static void put_purged(trilha_cli *cli, const trilha_purge_options *o, const trilha_purged *purged) {
  static const char *const headings[] = {"WHAT", "ROWS", "OLDEST", "NEWEST"};
  trilha_cli_rows r;
  trilha_cli_rows_begin(&r, cli, headings, sizeof headings / sizeof headings[0]);
  r.table.right[1] = true;
  if (o->messages_ms >= 0) put_part(&r, "messages", &purged->messages);
  if (o->inbox_ms >= 0) put_part(&r, "inbox", &purged->inbox);
  trilha_cli_rows_end(&r, TRILHA_OK, (trilha_cli_words){SAY_PURGE_ROWS});
}

static bool show_progress(void *user, const trilha_purged *so_far) {
  trilha_cli *cli = user;
  trilha_cli_progress_show(cli, so_far->messages.rows + so_far->inbox.rows, (trilha_cli_words){SAY_PURGE_ROWS});
  return !*trilha_cli_interrupted();
}

static int purge(trilha_cli *cli, const trilha_cli_args *args, trilha_purge_options *o) {
  char name[256];
  trilha_outbox_options where = trilha_cli_outbox_options(cli, args);
  trilha_outbox *outbox = NULL;
  trilha_purged purged = {0};
  trilha_error error = {0};
  o->user = trilha_cli_user(name, sizeof name);
  o->reason = trilha_cli_text(args, "reason");
  trilha_cli_interrupt_install();
  trilha_cli_progress_begin(cli);
  trilha_status status = trilha_outbox_open(&where, &outbox, &error);
  if (status == TRILHA_OK) status = trilha_outbox_purge(outbox, o, show_progress, cli, &purged, &error);
  trilha_cli_progress_hide(cli);
  trilha_outbox_close(outbox);
  if (status == TRILHA_OK || purged.messages.rows + purged.inbox.rows > 0) put_purged(cli, o, &purged);
  return status == TRILHA_OK ? TRILHA_EXIT_OK : trilha_cli_fail(cli, &error);
}

int trilha_cli_run_purge_plan(trilha_cli *cli, const trilha_cli_args *args) {
  trilha_purge_options options;
  int status = take_windows(cli, args, &options);
  options.dry_run = true;
  return status == TRILHA_EXIT_OK ? purge(cli, args, &options) : status;
}

int trilha_cli_run_purge_run(trilha_cli *cli, const trilha_cli_args *args) {
  trilha_purge_options options;
  int status = take_windows(cli, args, &options);
  if (status != TRILHA_EXIT_OK) return status;
  if (trilha_cli_text(args, "reason").size == 0) return trilha_cli_usage(cli, SAY_OPTION_MISSING, "reason");
  return purge(cli, args, &options);
}
