/* cli/outbox_moving: moving over from another dispatcher: which types it holds, its backlog, and taking over. */
#include "base/error.h"
#include "cli/messages.h"
#include "cli/outbox_internal.h"
#include "cli/outbox_messages.h"
#include "config/yaml.h"

/* --- paths ------------------------------------------------------------------------------------------------------- */

static trilha_status hold(trilha_cli *cli, const trilha_cli_args *args, trilha_outbox *outbox, trilha_error *error) {
  char user[256];
  bool is_new = false;
  const trilha_outbox_path path = {.type_pattern = trilha_text_of(args->operands[0]),
                                   .holder = trilha_cli_text(args, "holder"),
                                   .user = trilha_cli_user(user, sizeof user),
                                   .reason = trilha_cli_text(args, "reason")};
  trilha_status status = trilha_outbox_path_hold(outbox, &path, &is_new, error);
  if (status != TRILHA_OK) return status;
  if (is_new)
    trilha_cli_tell(cli, SAY_PATH_HELD, args->operands[0], path.holder.data);
  else
    trilha_cli_tell(cli, SAY_PATH_HELD_BEFORE, args->operands[0], path.holder.data);
  trilha_cli_puts(&cli->out, "\n");
  return TRILHA_OK;
}

int trilha_cli_run_outbox_hold(trilha_cli *cli, const trilha_cli_args *args) {
  static const char *const needed[] = {"holder", "reason"};
  for (size_t i = 0; i < 2; i++)
    if (trilha_cli_text(args, needed[i]).size == 0) return trilha_cli_usage(cli, SAY_OPTION_MISSING, needed[i]);
  return trilha_cli_with_outbox(cli, args, hold);
}

static trilha_status take(trilha_cli *cli, const trilha_cli_args *args, trilha_outbox *outbox, trilha_error *error) {
  char user[256];
  int64_t woken = 0;
  trilha_status status =
      trilha_outbox_path_take(outbox, trilha_text_of(args->operands[0]), trilha_cli_has(args, "override"),
                              trilha_cli_user(user, sizeof user), trilha_cli_text(args, "reason"), &woken, error);
  if (status != TRILHA_OK) return status;
  trilha_cli_tell(cli, SAY_PATH_TAKEN, args->operands[0], (long long)woken);
  trilha_cli_puts(&cli->out, "\n");
  return TRILHA_OK;
}

int trilha_cli_run_outbox_take(trilha_cli *cli, const trilha_cli_args *args) {
  if (trilha_cli_text(args, "reason").size == 0) return trilha_cli_usage(cli, SAY_OPTION_MISSING, "reason");
  return trilha_cli_with_outbox(cli, args, take);
}

static trilha_status put_path(void *user, const trilha_outbox_path *path) {
  static const char *const members[] = {"type_pattern", "holder", "held_at", "user", "reason"};
  const trilha_text texts[] = {path->type_pattern, path->holder, path->held_at, path->user, path->reason};
  trilha_cli_rows_put(user, members, texts, sizeof texts / sizeof texts[0]);
  return TRILHA_OK;
}

static trilha_status paths(trilha_cli *cli, const trilha_cli_args *args, trilha_outbox *outbox, trilha_error *error) {
  static const char *const headings[] = {"TYPE", "HOLDER", "HELD_AT", "USER", "REASON"};
  trilha_cli_rows r;
  trilha_cli_rows_begin(&r, cli, headings, sizeof headings / sizeof headings[0]);
  trilha_status status = trilha_outbox_paths(outbox, put_path, &r, error);
  trilha_cli_rows_end(&r, status, (trilha_cli_words){SAY_NO_PATHS});
  return status;
}

int trilha_cli_run_outbox_paths(trilha_cli *cli, const trilha_cli_args *args) {
  return trilha_cli_with_outbox(cli, args, paths);
}

/* --- the backlog -------------------------------------------------------------------------------------------------- */

/* YAML, of which JSON is a part. */
static trilha_status read_mapping(const char *path, trilha_buffer *json, trilha_error *error) {
  TRILHA_BUFFER_SCOPED yaml;
  trilha_status status = trilha_cli_read_file(path, TRILHA_IMPORT_MAPPING_MAX, &yaml, error);
  if (status == TRILHA_OK) status = trilha_yaml_to_json(trilha_buffer_text(&yaml), json, NULL, error);
  if (status != TRILHA_OK) trilha_error_while(error, "reading the mapping %s", path);
  return status;
}

static bool show_progress(void *user, const trilha_imported *so_far) {
  trilha_cli *cli = user;
  trilha_cli_progress_show(cli, so_far->rows, (trilha_cli_words){SAY_IMPORT_ROWS});
  return !*trilha_cli_interrupted();
}

static void tell_import(trilha_cli *cli, const trilha_imported *imported, bool dry_run) {
  if (cli->json)
    trilha_cli_putf(&cli->out, "{\"total\":%lld,\"imported\":%lld,\"finished\":%s,\"dry_run\":%s}",
                    (long long)imported->total, (long long)imported->rows, imported->finished ? "true" : "false",
                    dry_run ? "true" : "false");
  else if (dry_run)
    trilha_cli_tell(cli, SAY_IMPORT_WOULD, (long long)(imported->total - imported->rows), (long long)imported->rows);
  else if (imported->finished)
    trilha_cli_tell(cli, SAY_IMPORT_DONE, (long long)imported->rows);
  else
    trilha_cli_tell(cli, SAY_IMPORT_STOPPED, (long long)imported->rows, (long long)imported->total);
  trilha_cli_puts(&cli->out, "\n");
}

static int import(trilha_cli *cli, const trilha_cli_args *args, trilha_text mapping) {
  char user[256];
  const trilha_outbox_options where = trilha_cli_outbox_options(cli, args);
  const trilha_import_options options = {.mapping = mapping,
                                         .batch = trilha_cli_number(args, "batch", 0),
                                         .dry_run = cli->dry_run || !trilha_cli_has(args, "yes"),
                                         .user = trilha_cli_user(user, sizeof user),
                                         .reason = trilha_cli_text(args, "reason")};
  trilha_outbox *outbox = NULL;
  trilha_imported imported = {0};
  trilha_error error = {0};
  trilha_cli_interrupt_install();
  trilha_cli_progress_begin(cli);
  trilha_status status = trilha_outbox_open(&where, &outbox, &error);
  if (status == TRILHA_OK) status = trilha_outbox_import(outbox, &options, show_progress, cli, &imported, &error);
  trilha_cli_progress_hide(cli);
  trilha_outbox_close(outbox);
  if (status == TRILHA_OK || imported.rows > 0) tell_import(cli, &imported, options.dry_run);
  if (status != TRILHA_OK) return trilha_cli_fail(cli, &error);
  return options.dry_run || imported.finished ? TRILHA_EXIT_OK : TRILHA_EXIT_FAILED;
}

int trilha_cli_run_outbox_import(trilha_cli *cli, const trilha_cli_args *args) {
  bool copies = trilha_cli_has(args, "yes") && !cli->dry_run;
  TRILHA_BUFFER_SCOPED json;
  trilha_error error = {0};
  trilha_buffer_init(&json, TRILHA_YAML_JSON_BYTES_MAX);
  if (copies && trilha_cli_text(args, "reason").size == 0) return trilha_cli_usage(cli, SAY_OPTION_MISSING, "reason");
  if (read_mapping(args->operands[0], &json, &error) != TRILHA_OK) return trilha_cli_fail(cli, &error);
  return import(cli, args, trilha_buffer_text(&json));
}
