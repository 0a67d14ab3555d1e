/* cli/consume: `trilha consume`: a durable consumer whose handler is any program; `trilha consumers list`. */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "cli/delivery_messages.h"
#include "cli/exec.h"
#include "cli/messages.h"
#include "cli/stop.h"

enum { LEASE_S_MAX = 3600, BATCH_MAX = 1000 };

/* --- the options --------------------------------------------------------------------------------------------- */

static int take_from(trilha_cli *cli, const trilha_cli_args *args, trilha_consumer_options *options) {
  const char *from = trilha_cli_value(args, "from");
  options->from = TRILHA_FROM_NOW;
  if (from == NULL || strcmp(from, "end") == 0) return TRILHA_EXIT_OK;
  options->from = TRILHA_FROM_START;
  if (strcmp(from, "start") == 0) return TRILHA_EXIT_OK;
  options->from = TRILHA_FROM_SEQUENCE;
  if (trilha_cli_whole_number(from, &options->from_sequence) && options->from_sequence >= 1) return TRILHA_EXIT_OK;
  return trilha_cli_usage(cli, SAY_FROM_INVALID, from);
}

static int take_options(trilha_cli *cli, const trilha_cli_args *args, trilha_consumer_options *options) {
  int64_t lease_s = trilha_cli_number(args, "lease", 0), batch = trilha_cli_number(args, "batch", 1);
  *options = (trilha_consumer_options){.colonia = trilha_cli_text(args, "colony"),
                                       .grupo = trilha_cli_text(args, "group"),
                                       .once = trilha_cli_has(args, "once"),
                                       .lease_ms = (unsigned)(lease_s <= LEASE_S_MAX ? lease_s * 1000 : 0),
                                       .batch_max = (unsigned)(batch <= BATCH_MAX ? batch : 1)};
  if (options->colonia.data == NULL) return trilha_cli_usage(cli, SAY_OPTION_MISSING, "colony");
  if (!trilha_cli_has(args, "type")) return trilha_cli_usage(cli, SAY_OPTION_MISSING, "type");
  if (lease_s > LEASE_S_MAX) return trilha_cli_usage(cli, SAY_NUMBER_TOO_LARGE, "lease", LEASE_S_MAX);
  if (batch > BATCH_MAX) return trilha_cli_usage(cli, SAY_NUMBER_TOO_LARGE, "batch", BATCH_MAX);
  return take_from(cli, args, options);
}

/* --- running ---------------------------------------------------------------------------------------------------- */

static void stop_consumer(void *user) {
  trilha_consumer_stop(user);
}

static int run_consumer(trilha_cli *cli, trilha *handle, const trilha_consumer_options *options,
                        trilha_cli_exec *exec) {
  trilha_consumer *consumer = NULL;
  trilha_cli_stop stop = {.signals = -1, .wake = -1};
  trilha_error error = {0};
  trilha_status status = trilha_consumer_new(handle, options, &consumer, &error);
  if (status == TRILHA_OK) status = trilha_cli_stop_watch(&stop, stop_consumer, consumer, &error);
  if (status == TRILHA_OK) {
    exec->give_up = stop_consumer;
    exec->give_up_user = consumer;
    status = trilha_consumer_run(consumer, &error);
  }
  trilha_cli_stop_done(&stop);
  trilha_consumer_free(consumer);
  if (status == TRILHA_OK && exec->broken) status = trilha_error_copy(&error, &exec->error);
  return status == TRILHA_OK ? TRILHA_EXIT_OK : trilha_cli_fail(cli, &error);
}

/* A type that is not registered may be registered later; one that is misspelt never gets an event, silently. */
static void tell_unknown_types(trilha_cli *cli, trilha *handle, const trilha_consumer_options *options) {
  for (size_t i = 0; i < options->type_count; i++) {
    trilha_registered_types *found = NULL;
    if (trilha_registry_list(handle, options->types[i], &found, NULL) != TRILHA_OK) return; /* what follows tells */
    if (found->count == 0) {
      trilha_cli_say(cli, SAY_CONSUMED_UNKNOWN, (int)options->types[i].size, options->types[i].data);
    }
    trilha_registered_types_free(found);
  }
}

static int consume(trilha_cli *cli, trilha_consumer_options *options, trilha_cli_exec *exec) {
  trilha *handle = NULL;
  int status = trilha_cli_open(cli, &handle);
  if (status == TRILHA_EXIT_OK) status = trilha_cli_exec_begin(exec);
  options->handler = trilha_cli_exec_handle;
  options->user = exec;
  options->handler_nome = trilha_text_of(exec->name);
  if (status == TRILHA_EXIT_OK) tell_unknown_types(cli, handle, options);
  if (status == TRILHA_EXIT_OK) status = run_consumer(cli, handle, options, exec);
  trilha_close(handle);
  return status;
}

int trilha_cli_run_consume(trilha_cli *cli, const trilha_cli_args *args) {
  trilha_consumer_options options;
  trilha_cli_exec exec;
  int status = take_options(cli, args, &options);
  if (status != TRILHA_EXIT_OK) return status;
  trilha_cli_stop_hold();
  status = trilha_cli_exec_init(&exec, cli, args);
  if (status == TRILHA_EXIT_OK && exec.argv == NULL) status = trilha_cli_usage(cli, SAY_COMMAND_MISSING);
  trilha_text *types = trilha_cli_values(args, "type", &options.type_count);
  options.types = types;
  if (status == TRILHA_EXIT_OK) status = consume(cli, &options, &exec);
  trilha_cli_exec_done(&exec);
  free(types);
  return status;
}

/* --- who consumes ------------------------------------------------------------------------------------------------- */

static void put_state_json(trilha_cli *cli, const trilha_consumer_state *state) {
  trilha_cli_output *out = &cli->out;
  trilha_cli_puts(out, "{");
  trilha_cli_put_json_member(out, true, "colonia", trilha_text_of(state->colonia));
  trilha_cli_put_json_member(out, false, "grupo", trilha_text_of(state->grupo));
  trilha_cli_put_json_member(out, false, "tipo", trilha_text_of(state->tipo));
  trilha_cli_putf(out, ",\"last_sequence\":\"%lld\",\"lag_events\":%lld,\"lag_seconds\":%lld",
                  (long long)state->last_sequence, (long long)state->lag_events, (long long)state->lag_seconds);
  trilha_cli_put_json_member(out, false, "state", trilha_text_of(state->state));
  trilha_cli_put_json_member(out, false, "holder", trilha_text_of(state->holder));
  trilha_cli_put_json_member(out, false, "updated_at", trilha_text_of(state->updated_at));
  trilha_cli_puts(out, "}\n");
}

static trilha_cli_words state_words(const char *state) {
  static const struct {
    const char *state;
    trilha_cli_words words;
  } known[] = {{"live", {SAY_STATE_LIVE}},
               {"catching-up", {SAY_STATE_CATCHING_UP}},
               {"behind", {SAY_STATE_BEHIND}},
               {"stopped", {SAY_STATE_STOPPED}}};
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
    if (strcmp(known[i].state, state) == 0) return known[i].words;
  return (trilha_cli_words){state, state};
}

static void add_number(trilha_cli_table *table, int64_t number) {
  char text[24];
  snprintf(text, sizeof text, "%lld", (long long)number);
  trilha_cli_table_add(table, trilha_text_of(text));
}

static void states_table(trilha_cli *cli, const trilha_consumer_states *states) {
  static const char *const headings[] = {"COLONIA", "GRUPO", "TIPO", "CURSOR", "LAG", "LAG_S", "STATE", "HOLDER"};
  enum { COLUMNS = sizeof headings / sizeof headings[0] };
  trilha_cli_table table;
  trilha_cli_table_init(&table, COLUMNS);
  table.right[3] = table.right[4] = table.right[5] = true;
  for (size_t i = 0; i < COLUMNS; i++) trilha_cli_table_add(&table, trilha_text_of(headings[i]));
  for (size_t i = 0; i < states->count; i++) {
    const trilha_consumer_state *state = &states->items[i];
    trilha_cli_table_add(&table, trilha_text_of(state->colonia));
    trilha_cli_table_add(&table, state->grupo[0] == '\0' ? (trilha_text){0} : trilha_text_of(state->grupo));
    trilha_cli_table_add(&table, trilha_text_of(state->tipo));
    add_number(&table, state->last_sequence);
    add_number(&table, state->lag_events);
    add_number(&table, state->lag_seconds);
    trilha_cli_table_add(&table, trilha_text_of(trilha_cli_choose(cli, state_words(state->state))));
    trilha_cli_table_add(&table, trilha_text_of(state->holder));
  }
  trilha_cli_table_print(cli, &table);
  trilha_cli_table_done(&table);
}

int trilha_cli_run_consumers_list(trilha_cli *cli, const trilha_cli_args *args) {
  trilha *handle = NULL;
  trilha_consumer_states *states = NULL;
  trilha_error error = {0};
  int status = trilha_cli_open(cli, &handle);
  if (status != TRILHA_EXIT_OK) return status;
  if (trilha_consumers_list(handle, trilha_cli_text(args, "colony"), &states, &error) != TRILHA_OK) {
    status = trilha_cli_fail(cli, &error);
  } else if (cli->json) {
    for (size_t i = 0; i < states->count; i++) put_state_json(cli, &states->items[i]);
  } else if (states->count == 0) {
    trilha_cli_tell(cli, SAY_NO_CONSUMERS);
    trilha_cli_puts(&cli->out, "\n");
  } else {
    states_table(cli, states);
  }
  trilha_consumer_states_free(states);
  trilha_close(handle);
  return status;
}
