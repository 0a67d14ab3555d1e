/* cli/dev: `trilha init --dev`: a store to develop against: a key, the demanda.* types and the specification's seed
 * events. */
#include <errno.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/demo_internal.h"
#include "cli/messages.h"
#include "cli/publish_internal.h"
#include "cli/registry_files.h"
#include "demo_types.h"
#include "redaction/redaction.h"

#define DEV_KEYRING "trilha.keyring"

/* Without a keyring of the developer's own, one in the working folder. */
static trilha_status find_key(trilha_cli *cli, trilha_error *error) {
  if (cli->keyring != NULL) return TRILHA_OK;
  cli->keyring = "file:" DEV_KEYRING;
  if (access(DEV_KEYRING, F_OK) == 0) return TRILHA_OK;
  trilha_status status = trilha_keyring_add(TRILHA_TEXT(DEV_KEYRING), TRILHA_TEXT("dev"), error);
  if (status == TRILHA_OK) trilha_cli_hint(cli, SAY_KEY_MADE, DEV_KEYRING, DEV_KEYRING);
  return status;
}

static int register_types(trilha_cli *cli, trilha *handle) {
  trilha_cli_type_files files = {0};
  trilha_error error = {0};
  trilha_status status = TRILHA_OK;
  for (size_t i = 0; i < TRILHA_DEMO_TYPE_FILE_COUNT && status == TRILHA_OK; i++) {
    const trilha_embedded_file *file = &trilha_demo_type_files[i];
    status = trilha_cli_type_files_take(&files, file->name, (trilha_text){file->data, file->size}, &error);
  }
  int code = status == TRILHA_OK ? trilha_cli_apply_types(cli, handle, &files) : trilha_cli_fail(cli, &error);
  trilha_cli_type_files_done(&files);
  return code;
}

static int publish_seeds(trilha_cli *cli, trilha *handle) {
  int code = TRILHA_EXIT_OK;
  for (size_t i = 0; i < TRILHA_DEMO_SEEDS && code == TRILHA_EXIT_OK; i++) {
    trilha_publish_result result = {0};
    trilha_error error = {0};
    if (trilha_publish(handle, &trilha_demo_seeds[i], &result, &error) == TRILHA_OK) {
      trilha_cli_outcome_ok(cli, 0, &result);
    } else {
      code = trilha_cli_fail(cli, &error);
    }
    trilha_publish_result_done(&result);
  }
  return code;
}

int trilha_cli_fill_for_development(trilha_cli *cli) {
  trilha *handle = NULL;
  trilha_error error = {0};
  cli->results_told = true;
  if (find_key(cli, &error) != TRILHA_OK) return trilha_cli_fail(cli, &error);
  int code = trilha_cli_open(cli, &handle);
  if (code == TRILHA_EXIT_OK) code = register_types(cli, handle);
  if (code == TRILHA_EXIT_OK) code = publish_seeds(cli, handle);
  trilha_close(handle);
  return code;
}
