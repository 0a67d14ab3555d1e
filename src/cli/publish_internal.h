/* cli/publish_internal: one publish request as a line of text, and how its outcome is told. Room: cli. */
#ifndef TRILHA_CLI_PUBLISH_INTERNAL_H
#define TRILHA_CLI_PUBLISH_INTERNAL_H

#include "cli/cli_internal.h"
#include "json/json.h"

/* Bytes of one line of --ndjson: a payload of 1 MiB and as much again for everything around it. */
#define TRILHA_CLI_LINE_MAX ((size_t)2 << 20)
/* A batch of --ndjson is published when it holds this many lines or bytes, or when no more input is there at once. */
#define TRILHA_CLI_BATCH_LINES_MAX 500
#define TRILHA_CLI_BATCH_BYTES_MAX ((size_t)8 << 20)

/* One line and what was read from it. */
typedef struct trilha_cli_request {
  int64_t line;                   /* its number, from 1 */
  trilha_error error;             /* why it is no request; else the publication is set */
  trilha_publication publication; /* borrows from the two below */
  char *text;
  trilha_json_document *document;
} trilha_cli_request;

/* Reads one request (request.c): an object with the names of section 3.1 and Trilha's own; any other name is refused.
 * The payload's text is passed on as it was spelled. `text` is copied. Never fails: what is wrong is in
 * ret_request->error. */
void trilha_cli_request_read(int64_t line, trilha_text text, trilha_cli_request *ret_request);
void trilha_cli_request_done(trilha_cli_request *request);

/* Tells one outcome (outcome.c). line 0: a single publish, whose failure goes to standard error too. */
void trilha_cli_outcome_ok(trilha_cli *cli, int64_t line, const trilha_publish_result *result);
void trilha_cli_outcome_failed(trilha_cli *cli, int64_t line, const trilha_error *error,
                               const trilha_publish_result *result);

/* The error and every reason under it, for people. */
void trilha_cli_show_refusal(trilha_cli *cli, trilha_cli_output *to, const trilha_error *error,
                             const trilha_publish_result *result);

/* publish_stream.c */
int trilha_cli_publish_stream(trilha_cli *cli, trilha *handle, int fd);

#endif
