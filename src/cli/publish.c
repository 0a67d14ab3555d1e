/* cli/publish: `trilha publish`: one event, or with --ndjson a stream of them. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "cli/messages.h"
#include "cli/publish_internal.h"

/* Beyond the bus's own limit of 1 MiB, so that the bus is who refuses it. */
#define PAYLOAD_READ_MAX ((size_t)4 << 20)

static trilha_publication publication_of(const trilha_cli_args *args, trilha_text payload) {
  return (trilha_publication){
      .tipo = trilha_cli_text(args, "type"),
      .origem = trilha_cli_text(args, "origin"),
      .payload = payload,
      .event_id = trilha_cli_text(args, "event-id"),
      .versao_schema = trilha_cli_text(args, "schema-version"),
      .timestamp = trilha_cli_text(args, "timestamp"),
      .correlacao_id = trilha_cli_text(args, "correlation-id"),
      .tenant_id = trilha_cli_text(args, "tenant"),
      .company_id = trilha_cli_text(args, "company"),
      .aggregate_type = trilha_cli_text(args, "aggregate-type"),
      .aggregate_key = trilha_cli_text(args, "aggregate-key"),
      .aggregate_sequence = trilha_cli_number(args, "aggregate-sequence", 0),
      .causation_id = trilha_cli_text(args, "causation-id"),
      .traceparent = trilha_cli_text(args, "traceparent"),
      .tracestate = trilha_cli_text(args, "tracestate"),
  };
}

static int publish_one(trilha_cli *cli, const trilha_cli_args *args, const char *path) {
  TRILHA_BUFFER_SCOPED payload;
  trilha *handle = NULL;
  trilha_error error = {0};
  trilha_publish_result result = {0};
  if (strcmp(path, "-") == 0 && isatty(STDIN_FILENO) == 1) trilha_cli_hint(cli, SAY_READING_TERMINAL);
  if (trilha_cli_read_file(path, PAYLOAD_READ_MAX, &payload, &error) != TRILHA_OK) return trilha_cli_fail(cli, &error);
  int status = trilha_cli_open(cli, &handle);
  if (status != TRILHA_EXIT_OK) return status;
  trilha_publication publication = publication_of(args, trilha_buffer_text(&payload));
  trilha_status outcome = cli->dry_run ? trilha_publish_check(handle, &publication, &result, &error)
                                       : trilha_publish(handle, &publication, &result, &error);
  if (outcome == TRILHA_OK) {
    trilha_cli_outcome_ok(cli, 0, &result);
  } else {
    trilha_cli_outcome_failed(cli, 0, &error, &result);
    status = trilha_cli_exit_of(&error);
  }
  trilha_publish_result_done(&result);
  trilha_close(handle);
  return status;
}

static int publish_many(trilha_cli *cli, const char *path) {
  trilha *handle = NULL;
  bool standard = strcmp(path, "-") == 0;
  int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    trilha_cli_say(cli, SAY_OPEN_FAILED, path, strerror(errno));
    return TRILHA_EXIT_FAILED;
  }
  cli->results_told = true;
  int status = trilha_cli_open(cli, &handle);
  if (status == TRILHA_EXIT_OK) {
    status = trilha_cli_publish_stream(cli, handle, fd);
    trilha_close(handle);
  }
  if (!standard) close(fd);
  return status;
}

/* With --ndjson every request carries these itself. */
static const char *first_single_option(const trilha_cli_args *args) {
  for (size_t i = 0; i < args->given_count; i++) {
    const trilha_cli_option *o = args->given[i].option;
    bool of_the_verb =
        o >= trilha_cli_publish_options && o < trilha_cli_publish_options + trilha_cli_publish_option_count;
    if (of_the_verb && strcmp(o->name, "ndjson") != 0 && strcmp(o->name, "file") != 0) return o->name;
  }
  return NULL;
}

int trilha_cli_run_publish(trilha_cli *cli, const trilha_cli_args *args) {
  const char *path = trilha_cli_value(args, "file");
  if (path != NULL && args->operand_count > 0) return trilha_cli_usage(cli, SAY_FILE_TWICE);
  if (args->operand_count > 0) path = args->operands[0];
  if (path == NULL) path = "-";
  if (trilha_cli_has(args, "ndjson")) {
    const char *single = first_single_option(args);
    return single != NULL ? trilha_cli_usage(cli, SAY_NOT_TOGETHER, "ndjson", single) : publish_many(cli, path);
  }
  if (!trilha_cli_has(args, "type")) return trilha_cli_usage(cli, SAY_OPTION_MISSING, "type");
  if (!trilha_cli_has(args, "origin")) return trilha_cli_usage(cli, SAY_OPTION_MISSING, "origin");
  return publish_one(cli, args, path);
}
