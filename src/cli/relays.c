/* cli/relays: several relays in one process, each on a thread of its own. */
#include "cli/relays.h"

#include <pthread.h>

#include "base/error.h"

trilha_status trilha_cli_relays_add(trilha_cli_relays *relays, const trilha_relay_options *options, const char *source,
                                    trilha_error *error) {
  trilha_cli_one_relay *one = &relays->each[relays->count];
  *one = (trilha_cli_one_relay){.all = relays, .source = source};
  trilha_status status = trilha_relay_new(options, &one->relay, error);
  if (status == TRILHA_OK)
    relays->count++;
  else if (source != NULL)
    trilha_error_while(error, "making the relay of the source %s", source);
  return status;
}

void trilha_cli_relays_stop(void *user) {
  trilha_cli_relays *relays = user;
  for (size_t i = 0; i < relays->count; i++) trilha_relay_stop(relays->each[i].relay);
}

static void *run_one(void *user) {
  trilha_cli_one_relay *one = user;
  if (trilha_relay_run(one->relay, &one->error) == TRILHA_OK) return NULL;
  if (one->source != NULL) trilha_error_while(&one->error, "delivering the source %s", one->source);
  trilha_cli_relays_stop(one->all);
  return NULL;
}

trilha_status trilha_cli_relays_run(trilha_cli_relays *relays, trilha_error *error) {
  pthread_t threads[TRILHA_CONFIG_SOURCES_MAX];
  size_t started = 1;
  int failed = 0;
  while (failed == 0 && started < relays->count) {
    failed = pthread_create(&threads[started], NULL, run_one, &relays->each[started]);
    if (failed == 0) started++;
  }
  if (failed == 0)
    run_one(&relays->each[0]); /* the caller's thread is the first's */
  else
    trilha_cli_relays_stop(relays);
  for (size_t i = 1; i < started; i++) pthread_join(threads[i], NULL);
  for (size_t i = 0; i < relays->count; i++)
    if (relays->each[i].error.status != TRILHA_OK) return trilha_error_copy(error, &relays->each[i].error);
  if (failed == 0) return TRILHA_OK;
  return trilha_error_set_errno(error, TRILHA_UNAVAILABLE, "THREAD_FAILED", failed, "a source's relay has no thread");
}

void trilha_cli_relays_count(const trilha_cli_relays *relays, trilha_relay_counts *ret_counts) {
  *ret_counts = (trilha_relay_counts){0};
  for (size_t i = 0; i < relays->count; i++) {
    trilha_relay_counts one = {0};
    trilha_relay_counted(relays->each[i].relay, &one);
    ret_counts->sent += one.sent;
    ret_counts->failed += one.failed;
    ret_counts->dead += one.dead;
    ret_counts->leases_lost += one.leases_lost;
  }
}

void trilha_cli_relays_done(trilha_cli_relays *relays) {
  for (size_t i = 0; i < relays->count; i++) trilha_relay_free(relays->each[i].relay);
  relays->count = 0;
}
