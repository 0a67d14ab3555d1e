/* cli/keyring: `trilha keyring add|list`: the file of redaction keys. */
#include <stdio.h>

#include "base/clock.h"
#include "base/error.h"
#include "cli/cli_internal.h"
#include "cli/messages.h"
#include "redaction/redaction.h"

#define KEYRING_BYTES_MAX ((size_t)1 << 20)
enum { KID_MAX = 16 };

/* "file:PATH" is accepted as well as PATH, so that one value serves --keyring and this verb. */
static const char *path_of(const char *operand) {
  return strncmp(operand, "file:", 5) == 0 ? operand + 5 : operand;
}

/* k20260615: the day the key was made says which is newer. */
static void kid_of_today(char kid[KID_MAX + 1]) {
  char today[TRILHA_TIMESTAMP_SIZE];
  trilha_timestamp_format(trilha_clock_wall_us(), today);
  snprintf(kid, KID_MAX + 1, "k%.4s%.2s%.2s", today, today + 5, today + 8);
}

int trilha_cli_run_keyring_add(trilha_cli *cli, const trilha_cli_args *args) {
  const char *path = path_of(args->operands[0]), *kid = trilha_cli_value(args, "kid");
  char today[KID_MAX + 1];
  trilha_error error = {0};
  kid_of_today(today);
  if (kid == NULL) kid = today;
  bool dry = cli->dry_run;
  trilha_status status = dry ? trilha_keyring_add_check(trilha_text_of(path), trilha_text_of(kid), &error)
                             : trilha_keyring_add(trilha_text_of(path), trilha_text_of(kid), &error);
  if (status != TRILHA_OK) return trilha_cli_fail(cli, &error);
  if (cli->json) {
    trilha_cli_puts(&cli->out, "{");
    trilha_cli_put_json_member(&cli->out, true, "kid", trilha_text_of(kid));
    trilha_cli_put_json_member(&cli->out, false, "file", trilha_text_of(path));
    trilha_cli_puts(&cli->out, dry ? ",\"dry_run\":true}\n" : "}\n");
    return TRILHA_EXIT_OK;
  }
  if (dry)
    trilha_cli_tell(cli, SAY_KEY_WOULD_ADD, kid, path);
  else
    trilha_cli_tell(cli, SAY_KEY_ADDED, kid, path);
  trilha_cli_puts(&cli->out, "\n");
  if (!dry) trilha_cli_hint(cli, SAY_KEY_KEEP, path);
  return TRILHA_EXIT_OK;
}

static void list_kid(trilha_cli *cli, trilha_text kid, bool newest) {
  if (cli->json) {
    trilha_cli_puts(&cli->out, "{");
    trilha_cli_put_json_member(&cli->out, true, "kid", kid);
    trilha_cli_putf(&cli->out, ",\"newest\":%s}\n", newest ? "true" : "false");
    return;
  }
  trilha_cli_put_safe(&cli->out, kid);
  if (newest) trilha_cli_tell(cli, SAY_KEY_NEWEST);
  trilha_cli_puts(&cli->out, "\n");
}

/* The next line that names a key, from *at on; absent at the end. Only what stands before the colon ever leaves this
 * function. */
static trilha_text next_kid(trilha_text text, size_t *at) {
  while (*at < text.size) {
    const char *line = text.data + *at, *end = memchr(line, '\n', text.size - *at);
    size_t size = end == NULL ? text.size - *at : (size_t)(end - line);
    *at += size + 1;
    const char *colon = memchr(line, ':', size);
    if (colon != NULL && line[0] != '#') return (trilha_text){line, (size_t)(colon - line)};
  }
  return (trilha_text){NULL, 0};
}

int trilha_cli_run_keyring_list(trilha_cli *cli, const trilha_cli_args *args) {
  TRILHA_BUFFER_SCOPED text, source;
  const char *path = path_of(args->operands[0]);
  trilha_keyring *keyring = NULL;
  trilha_error error = {0};
  size_t at = 0;
  trilha_buffer_init(&text, 0);
  trilha_buffer_init(&source, 0);
  trilha_buffer_add_format(&source, "file:%s", path);
  trilha_status status = trilha_keyring_load(trilha_buffer_text(&source), &keyring, &error); /* is it sound? */
  if (status == TRILHA_OK) status = trilha_cli_read_file(path, KEYRING_BYTES_MAX, &text, &error);
  trilha_keyring_free(keyring);
  if (status != TRILHA_OK) return trilha_cli_fail(cli, &error);
  for (trilha_text kid = next_kid(trilha_buffer_text(&text), &at); kid.data != NULL;) {
    trilha_text next = next_kid(trilha_buffer_text(&text), &at);
    list_kid(cli, kid, next.data == NULL);
    kid = next;
  }
  explicit_bzero(text.data, text.capacity);
  return TRILHA_EXIT_OK;
}
