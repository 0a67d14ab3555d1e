/* cli/worker_webhook: the options of `trilha worker run --webhook`. Secrets come from a file or the environment: what
 * stands in a command line is read by everybody. */
#include <stdlib.h>

#include "access/signature.h"
#include "base/error.h"
#include "cli/messages.h"
#include "cli/outbox_internal.h"
#include "cli/outbox_messages.h"

enum { SECRETS_BYTES_MAX = 4096 };

typedef struct words { /* of a text that they cut up in place */
  const char *list[TRILHA_WEBHOOK_SECRETS_MAX + 1];
  size_t count;
} words;

static int read_secrets(trilha_cli *cli, const trilha_cli_args *args, trilha_buffer *text, words *out) {
  const char *path = trilha_cli_value(args, "secret-file"), *given = getenv("TRILHA_WEBHOOK_SECRETS");
  trilha_error error = {0};
  trilha_status status = TRILHA_OK;
  if (path != NULL)
    status = trilha_cli_read_file(path, SECRETS_BYTES_MAX, text, &error);
  else if (given != NULL)
    trilha_buffer_add_string(text, given);
  trilha_buffer_add_char(text, '\n');
  if (status == TRILHA_OK) status = trilha_buffer_check(text, &error);
  if (status != TRILHA_OK) return trilha_cli_fail(cli, &error);
  out->count = trilha_signer_words(text->data, out->list);
  if (path != NULL && out->count == 0) return trilha_cli_usage(cli, SAY_SECRETS_NONE);
  return TRILHA_EXIT_OK;
}

int trilha_cli_webhook_open(trilha_cli *cli, const trilha_cli_args *args, trilha_webhook **ret_webhook) {
  static const trilha_event_mapper structured = {.map = trilha_map_cloudevents_structured};
  const char *networks[TRILHA_WEBHOOK_NETWORKS_MAX + 1];
  words secrets = {.count = 0};
  size_t given = 0;
  TRILHA_BUFFER_SCOPED text;
  trilha_buffer_init(&text, 0);
  int status = read_secrets(cli, args, &text, &secrets);
  trilha_text *list = trilha_cli_values(args, "allow-network", &given);
  size_t count = given > TRILHA_WEBHOOK_NETWORKS_MAX ? TRILHA_WEBHOOK_NETWORKS_MAX + 1 : given;
  for (size_t i = 0; i < count; i++) networks[i] = list[i].data; /* words of the command line: terminated */
  trilha_webhook_options options = {.url = trilha_cli_value(args, "webhook"),
                                    .secrets = secrets.list,
                                    .secret_count = secrets.count,
                                    .allow_networks = networks,
                                    .allow_network_count = count,
                                    .authorization = getenv("TRILHA_WEBHOOK_AUTHORIZATION"),
                                    .ca_file = trilha_cli_value(args, "ca-file"),
                                    .diagnostics = trilha_cli_outbox_options(cli, args).diagnostics};
  if (trilha_cli_has(args, "structured")) options.mapper = structured;
  trilha_error error = {0};
  if (status == TRILHA_EXIT_OK && trilha_webhook_new(&options, ret_webhook, &error) != TRILHA_OK)
    status = trilha_cli_fail(cli, &error);
  free(list);
  if (text.data != NULL) explicit_bzero(text.data, text.size);
  return status;
}
