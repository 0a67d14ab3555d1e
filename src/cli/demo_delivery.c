/* cli/demo_delivery: the demo's consumers: one that fails, its repair, one that is killed. */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/child.h"
#include "cli/demo_internal.h"
#include "cli/demo_messages.h"
#include "cli/dlq_internal.h"
#include "trilha/delivery.h"

#define TYPE "demanda.categorizada"
enum { BATCH = 500, RESUME_EVENTS = 60, KILL_AFTER = 20, PATIENCE_MS = 60000, LOOK_MS = 5 };

/* --- two colonies ------------------------------------------------------------------------------------------------ */

typedef struct colony {
  const char *name;
  bool broken; /* fails on the third seed */
  int64_t handled, failed;
} colony;

static trilha_status on_event(void *user, const trilha_event *event, trilha_delivery *delivery) {
  colony *c = user;
  if (c->broken && event->sequence_number == TRILHA_DEMO_SEEDS) {
    c->failed++;
    return trilha_delivery_fail_with_stack(delivery, TRILHA_TEXT("no team is known for categoria_id 1.1"),
                                           (trilha_text){0});
  }
  c->handled++;
  return TRILHA_OK;
}

static trilha_status consume(trilha_demo *d, colony *c, trilha_error *error) {
  static const trilha_text types[] = {TRILHA_CLI_LITERAL(TYPE)};
  trilha_consumer_options options = {.colonia = trilha_text_of(c->name),
                                     .types = types,
                                     .type_count = 1,
                                     .handler = on_event,
                                     .handler_nome = TRILHA_TEXT("demo"),
                                     .user = c,
                                     .from = TRILHA_FROM_START,
                                     .batch_max = BATCH,
                                     .once = true};
  trilha_consumer *consumer = NULL;
  trilha_status status = trilha_consumer_new(d->handle, &options, &consumer, error);
  if (status == TRILHA_OK) status = trilha_consumer_run(consumer, error);
  trilha_consumer_free(consumer);
  if (status != TRILHA_OK || d->cli->json) return status;
  trilha_cli_puts(&d->cli->out, "   ");
  trilha_cli_tell(d->cli, DEMO_DELIVER_DONE, c->name, (long long)c->handled, (long long)c->failed);
  return status;
}

/* The colony's only dead letter is in that state; it is shown. */
static trilha_status show_letter(trilha_demo *d, const char *wanted, int64_t *ret_id, trilha_error *error) {
  trilha_dead_letters *letters = NULL;
  trilha_dead_letters_filter filter = {.colonia = TRILHA_TEXT("D-6")};
  trilha_status status = trilha_dead_letters_query(d->handle, &filter, &letters, error);
  if (status != TRILHA_OK) return status;
  trilha_demo_expect(d, letters->count == 1 && strcmp(letters->items[0].status, wanted) == 0);
  *ret_id = letters->count == 0 ? 0 : letters->items[0].id;
  if (!d->cli->json) trilha_cli_show_letters(d->cli, letters);
  trilha_dead_letters_free(letters);
  return TRILHA_OK;
}

trilha_status trilha_demo_deliver(trilha_demo *d, trilha_error *error) {
  colony good = {.name = "D-4"}, bad = {.name = "D-6", .broken = true};
  int64_t id = 0;
  bool told = d->cli->results_told;
  trilha_demo_begin(d, "delivery", (trilha_cli_words){DEMO_DELIVER_TITLE}, (trilha_cli_words){DEMO_DELIVER},
                    "trilha dlq list --colony D-6");
  d->cli->results_told = true; /* the failure is the point here and is shown below */
  trilha_status status = consume(d, &good, error);
  if (status == TRILHA_OK) status = consume(d, &bad, error);
  d->cli->results_told = told;
  if (status == TRILHA_OK) status = show_letter(d, "pendente", &id, error);
  if (status != TRILHA_OK) return status;
  trilha_demo_expect(d, good.failed == 0 && bad.failed == 1 && good.handled == bad.handled + 1);
  trilha_demo_fact(d, "handled", good.handled);
  trilha_demo_fact(d, "failed", bad.failed);
  trilha_demo_end(d);
  return TRILHA_OK;
}

trilha_status trilha_demo_repair(trilha_demo *d, trilha_error *error) {
  colony repaired = {.name = "D-6"};
  trilha_reprocessed done = {0};
  int64_t id = 0;
  trilha_demo_begin(d, "repair", (trilha_cli_words){DEMO_REPAIR_TITLE}, (trilha_cli_words){DEMO_REPAIR},
                    "trilha dlq reprocess --colony D-6 --each --exec true");
  trilha_status status = trilha_reprocess_with(d->handle, TRILHA_TEXT("D-6"), NULL, 0, TRILHA_TEXT("demo"), on_event,
                                               &repaired, &done, error);
  if (status == TRILHA_OK) status = show_letter(d, "resolved", &id, error);
  if (status != TRILHA_OK) return status;
  trilha_demo_expect(d, done.reprocessados == 1 && done.failed == 0);
  trilha_demo_fact(d, "reprocessados", done.reprocessados);
  trilha_demo_end(d);
  return TRILHA_OK;
}

/* --- killed and resumed --------------------------------------------------------------------------------------------
 */

static const char loop[] =
    "while read -r e; do n=${e#*'\"sequence_number\":\"'}; n=${n%%'\"'*}; echo $n >> seen-by-D-8; echo ok $n; done";

typedef struct arrivals {
  int64_t total, distinct, repeated; /* of lines; distinct assumes an order in which only the last may come again */
} arrivals;

static trilha_status count_arrivals(arrivals *a, trilha_error *error) {
  TRILHA_BUFFER_SCOPED text;
  trilha_error own = {0};
  int64_t last = 0;
  *a = (arrivals){0};
  trilha_status status = trilha_cli_read_file("seen-by-D-8", (size_t)1 << 20, &text, &own);
  if (status != TRILHA_OK && own.os_errno != 0) return TRILHA_OK; /* nothing arrived yet */
  if (status != TRILHA_OK) return trilha_error_copy(error, &own);
  for (const char *line = text.data; line != NULL && strchr(line, '\n') != NULL; line = strchr(line, '\n') + 1) {
    int64_t number = strtoll(line, NULL, 10);
    a->total++;
    if (number > last) a->distinct++;
    if (number <= last) a->repeated++;
    last = number;
  }
  return TRILHA_OK;
}

static trilha_status start(trilha_cli_child *child, int64_t from, bool once, trilha_error *error) {
  char program[PATH_MAX], sequence[24];
  ssize_t size = readlink("/proc/self/exe", program, sizeof program - 1);
  program[size < 0 ? 0 : size] = '\0';
  snprintf(sequence, sizeof sequence, "%lld", (long long)from);
  const char *words[] = {program,
                         "consume",
                         "--store",
                         "sqlite:trilha.db",
                         "--colony",
                         "D-8",
                         "--type",
                         TYPE,
                         "--from",
                         sequence,
                         "--lease",
                         "1",
                         "--shell",
                         loop,
                         once ? "--once" : NULL,
                         NULL};
  char *argv[sizeof words / sizeof words[0]];
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) argv[i] = (char *)(uintptr_t)words[i];
  setenv("TRILHA_KEYRING", "file:trilha.keyring", 1); /* whatever the caller's points to is of another store */
  return trilha_cli_child_start(child, argv, false, error);
}

/* Until `enough` events have arrived. */
static trilha_status wait_for_arrivals(int64_t enough, arrivals *a, trilha_error *error) {
  trilha_deadline deadline = trilha_deadline_in_ms(PATIENCE_MS);
  trilha_status status = count_arrivals(a, error);
  while (status == TRILHA_OK && a->total < enough && !trilha_deadline_passed(deadline)) {
    trilha_clock_sleep_ms(LOOK_MS);
    status = count_arrivals(a, error);
  }
  return status;
}

static trilha_status run_killed(int64_t from, int64_t enough, arrivals *a, int err, trilha_error *error) {
  trilha_cli_child child;
  trilha_cli_child_init(&child, err);
  trilha_status status = start(&child, from, false, error);
  if (status == TRILHA_OK) {
    status = wait_for_arrivals(enough, a, error);
    kill(child.pid, SIGKILL);
    (void)trilha_cli_child_end(&child, PATIENCE_MS);
  }
  trilha_cli_child_done(&child);
  return status;
}

static trilha_status run_to_end(int64_t from, arrivals *a, int err, trilha_error *error) {
  trilha_cli_child child;
  trilha_cli_child_init(&child, err);
  trilha_status status = start(&child, from, true, error);
  if (status == TRILHA_OK) {
    (void)trilha_cli_child_end(&child, PATIENCE_MS);
    status = count_arrivals(a, error);
  }
  trilha_cli_child_done(&child);
  return status;
}

/* How many events of the type there are from a sequence on. */
static trilha_status count_events(trilha_demo *d, int64_t from, int64_t *ret_count, trilha_error *error) {
  trilha_events_page *page = NULL;
  trilha_events_filter filter = {.tipo = TRILHA_TEXT(TYPE), .sequence_inicio = from, .limite = 1};
  trilha_status status = trilha_events_query(d->handle, &filter, &page, error);
  if (status == TRILHA_OK) *ret_count = page->total;
  trilha_events_page_free(page);
  return status;
}

trilha_status trilha_demo_resume(trilha_demo *d, trilha_error *error) {
  int64_t last = 0, count = 0;
  arrivals first = {0}, all = {0};
  trilha_demo_begin(d, "resume", (trilha_cli_words){DEMO_RESUME_TITLE}, (trilha_cli_words){DEMO_RESUME},
                    "trilha consumers list --colony D-8");
  trilha_status status = trilha_last_sequence(d->handle, &last, error);
  int64_t from = last > 3 * RESUME_EVENTS ? last - 3 * RESUME_EVENTS : 1;
  if (status == TRILHA_OK) status = count_events(d, from, &count, error);
  int64_t enough = count < 2 * KILL_AFTER ? (count + 1) / 2 : KILL_AFTER;
  if (status == TRILHA_OK) status = run_killed(from, enough, &first, d->cli->err.fd, error);
  if (status == TRILHA_OK) status = run_to_end(from, &all, d->cli->err.fd, error);
  if (status != TRILHA_OK) return status;
  trilha_demo_expect(d, all.distinct == count && all.repeated <= 1);
  if (!d->cli->json) {
    trilha_cli_puts(&d->cli->out, "   ");
    trilha_cli_tell(d->cli, DEMO_RESUME_DONE, (long long)first.total, (long long)all.distinct, (long long)count,
                    (long long)all.repeated);
  }
  trilha_demo_fact(d, "events", count);
  trilha_demo_fact(d, "arrived", all.distinct);
  trilha_demo_fact(d, "twice", all.repeated);
  trilha_demo_end(d);
  return TRILHA_OK;
}
