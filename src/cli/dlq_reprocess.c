/* cli/dlq_reprocess: `trilha dlq reprocess`: by the colony's own consumer, or by a handler given here. */
#include <stdlib.h>

#include "base/error.h"
#include "cli/delivery_messages.h"
#include "cli/dlq_internal.h"
#include "cli/exec.h"
#include "cli/messages.h"

enum { WAIT_S = 30, WAIT_S_MAX = 86400, TIMEOUT_S_MAX = 100 }; /* a retry's lease is two minutes */

typedef struct reprocess {
  trilha_cli *cli;
  const trilha_cli_args *args;
  trilha *handle;
  trilha_text colony;
  trilha_cli_exec exec;
  int64_t *ids; /* what will be tried */
  size_t count, capacity;
  trilha_reprocessed done;
} reprocess;

/* --- which ones ------------------------------------------------------------------------------------------------ */

static bool keep_id(reprocess *r, int64_t id) {
  if (r->count == r->capacity) {
    size_t capacity = r->capacity == 0 ? 64 : 2 * r->capacity;
    int64_t *ids = realloc(r->ids, capacity * sizeof *ids);
    if (ids == NULL) return false;
    r->ids = ids;
    r->capacity = capacity;
  }
  r->ids[r->count++] = id;
  return true;
}

static bool is_wanted(const reprocess *r, int64_t id) {
  bool any = false;
  for (size_t i = 0; i < r->args->given_count; i++) {
    int64_t wanted = 0;
    if (strcmp(r->args->given[i].option->name, "id") != 0) continue;
    any = true;
    if (trilha_cli_whole_number(r->args->given[i].value, &wanted) && wanted == id) return true;
  }
  return !any;
}

static trilha_status take_page(reprocess *r, const trilha_dead_letters *page, trilha_error *error) {
  for (size_t i = 0; i < page->count; i++)
    if (is_wanted(r, page->items[i].id) && !keep_id(r, page->items[i].id)) return trilha_error_no_memory(error);
  return TRILHA_OK;
}

/* The colony's pending rows that the options name, with --dry-run shown. */
static trilha_status gather(reprocess *r, trilha_error *error) {
  trilha_dead_letters_filter filter = {.colonia = r->colony,
                                       .tipo = trilha_cli_text(r->args, "type"),
                                       .event_id = trilha_cli_text(r->args, "event-id"),
                                       .status = TRILHA_TEXT("pendente"),
                                       .limite = 500};
  do {
    trilha_dead_letters *page = NULL;
    trilha_status status = trilha_dead_letters_query(r->handle, &filter, &page, error);
    if (status != TRILHA_OK) return status;
    status = take_page(r, page, error);
    filter.after_id = page->next_after;
    trilha_dead_letters_free(page);
    if (status != TRILHA_OK) return status;
  } while (filter.after_id != 0);
  return TRILHA_OK;
}

/* --- running them ------------------------------------------------------------------------------------------------- */

static bool must_end(const reprocess *r) {
  return r->exec.broken || *trilha_cli_interrupted();
}

/* One at a time, so that a wish to stop is heard between two of them and no row is left half done. */
static trilha_status run_here(reprocess *r, trilha_error *error) {
  trilha_status status = gather(r, error);
  for (size_t i = 0; status == TRILHA_OK && i < r->count && !must_end(r); i++) {
    trilha_reprocessed one = {0};
    status = trilha_reprocess_with(r->handle, r->colony, &r->ids[i], 1, trilha_text_of(r->exec.name),
                                   trilha_cli_exec_handle, &r->exec, &one, error);
    r->done.reprocessados += one.reprocessados;
    r->done.failed += one.failed;
  }
  if (status == TRILHA_OK && r->exec.broken) status = trilha_error_copy(error, &r->exec.error);
  if (r->done.reprocessados + r->done.failed == 0)
    r->done.reason = *trilha_cli_interrupted() ? "stopped" : "nothing pending";
  return status;
}

static trilha_status run_there(reprocess *r, trilha_error *error) {
  char user[256];
  int64_t wait_s = trilha_cli_number(r->args, "wait", WAIT_S);
  return trilha_reprocess(r->handle, r->colony, trilha_cli_user(user, sizeof user), (unsigned)(wait_s * 1000), &r->done,
                          error);
}

/* --- telling --------------------------------------------------------------------------------------------------------
 */

static trilha_cli_words why(const char *reason) {
  static const struct {
    const char *reason;
    trilha_cli_words words;
  } known[] = {{"no live listener", {SAY_WHY_NO_LISTENER}},
               {"nothing pending", {SAY_WHY_NOTHING}},
               {"not finished in time", {SAY_WHY_IN_TIME}},
               {"stopped", {SAY_WHY_STOPPED}}};
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
    if (strcmp(known[i].reason, reason) == 0) return known[i].words;
  return (trilha_cli_words){reason, reason};
}

static int tell(const reprocess *r) {
  trilha_cli *cli = r->cli;
  const trilha_reprocessed *done = &r->done;
  bool nothing = done->reason != NULL && strcmp(done->reason, "nothing pending") == 0;
  if (cli->json) {
    trilha_cli_putf(&cli->out, "{\"reprocessados\":%lld,\"failed\":%lld", (long long)done->reprocessados,
                    (long long)done->failed);
    trilha_cli_put_json_member(&cli->out, false, "reason", trilha_text_of(done->reason));
    trilha_cli_puts(&cli->out, "}\n");
  } else if (done->reason != NULL) {
    trilha_cli_tell(cli, SAY_REPROCESSED_WHY, (long long)done->reprocessados,
                    trilha_cli_choose(cli, why(done->reason)));
    trilha_cli_puts(&cli->out, "\n");
  } else {
    trilha_cli_tell(cli, SAY_REPROCESSED, (long long)done->reprocessados, (long long)done->failed);
    trilha_cli_puts(&cli->out, "\n");
  }
  return done->failed == 0 && (done->reason == NULL || nothing) ? TRILHA_EXIT_OK : TRILHA_EXIT_FAILED;
}

static int tell_dry(const reprocess *r) {
  trilha_cli *cli = r->cli;
  if (cli->json) {
    trilha_cli_putf(&cli->out, "{\"reprocessados\":0,\"failed\":0,\"reason\":\"dry run\",\"would_try\":[");
    for (size_t i = 0; i < r->count; i++)
      trilha_cli_putf(&cli->out, "%s\"%lld\"", i == 0 ? "" : ",", (long long)r->ids[i]);
    trilha_cli_puts(&cli->out, "]}\n");
    return TRILHA_EXIT_OK;
  }
  for (size_t i = 0; i < r->count; i++) trilha_cli_putf(&cli->out, "%lld\n", (long long)r->ids[i]);
  trilha_cli_tell(cli, SAY_WOULD_REPROCESS, (long long)r->count);
  trilha_cli_puts(&cli->out, "\n");
  return TRILHA_EXIT_OK;
}

/* --- the verb -------------------------------------------------------------------------------------------------------
 */

/* Only a handler given here can choose among the rows: the colony's own consumer runs all of its types. */
static int check(reprocess *r) {
  static const char *const choosing[] = {"id", "type", "event-id", "each", "timeout", "name"};
  bool here = r->exec.argv != NULL;
  if (r->colony.data == NULL) return trilha_cli_usage(r->cli, SAY_OPTION_MISSING, "colony");
  for (size_t i = 0; !here && !r->cli->dry_run && i < sizeof choosing / sizeof choosing[0]; i++)
    if (trilha_cli_has(r->args, choosing[i])) return trilha_cli_usage(r->cli, SAY_OPTION_NEEDS, choosing[i], "exec");
  if (here && trilha_cli_has(r->args, "wait")) return trilha_cli_usage(r->cli, SAY_NOT_TOGETHER, "exec", "wait");
  if (trilha_cli_number(r->args, "wait", 0) > WAIT_S_MAX)
    return trilha_cli_usage(r->cli, SAY_NUMBER_TOO_LARGE, "wait", WAIT_S_MAX);
  if (trilha_cli_number(r->args, "timeout", 0) > TIMEOUT_S_MAX)
    return trilha_cli_usage(r->cli, SAY_NUMBER_TOO_LARGE, "timeout", TIMEOUT_S_MAX);
  return TRILHA_EXIT_OK;
}

static int run(reprocess *r) {
  trilha_error error = {0};
  trilha_status status = TRILHA_OK;
  trilha_cli_interrupt_install();
  if (r->cli->dry_run) {
    status = gather(r, &error);
  } else if (r->exec.argv != NULL) {
    int began = trilha_cli_exec_begin(&r->exec);
    if (began != TRILHA_EXIT_OK) return began;
    status = run_here(r, &error);
  } else {
    status = run_there(r, &error);
  }
  if (status != TRILHA_OK) return trilha_cli_fail(r->cli, &error);
  return r->cli->dry_run ? tell_dry(r) : tell(r);
}

int trilha_cli_run_dlq_reprocess(trilha_cli *cli, const trilha_cli_args *args) {
  reprocess r = {.cli = cli, .args = args, .colony = trilha_cli_text(args, "colony")};
  int status = trilha_cli_exec_init(&r.exec, cli, args);
  if (status == TRILHA_EXIT_OK) status = check(&r);
  if (status == TRILHA_EXIT_OK) status = trilha_cli_open(cli, &r.handle);
  if (status == TRILHA_EXIT_OK) status = run(&r);
  trilha_cli_exec_done(&r.exec);
  trilha_close(r.handle);
  free(r.ids);
  return status;
}
