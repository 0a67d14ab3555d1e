/* cli/registry: `trilha registry apply|list|show|deprecate`. */
#include <stdlib.h>

#include "base/error.h"
#include "cli/messages.h"
#include "cli/registry_files.h"

static trilha_cli_words words_of(trilha_registry_change change, bool dry_run) {
  switch (change) {
    case TRILHA_REGISTRY_ADDED:
      return dry_run ? (trilha_cli_words){SAY_TYPE_WOULD_ADD} : (trilha_cli_words){SAY_TYPE_ADDED};
    case TRILHA_REGISTRY_STATUS_CHANGED:
      return dry_run ? (trilha_cli_words){SAY_TYPE_WOULD_CHANGE} : (trilha_cli_words){SAY_TYPE_CHANGED};
    case TRILHA_REGISTRY_UNCHANGED:
      return (trilha_cli_words){SAY_TYPE_UNCHANGED};
    default:
      return (trilha_cli_words){SAY_TYPE_REFUSED};
  }
}

static const char *change_name(trilha_registry_change change) {
  static const char *const names[] = {"unchanged", "added", "status_changed", "refused"};
  size_t i = (size_t)change;
  return i < sizeof names / sizeof names[0] ? names[i] : "refused";
}

static void tell_json(trilha_cli *cli, const char *path, const trilha_type_version *version,
                      const trilha_registry_result *result) {
  trilha_cli_puts(&cli->out, "{");
  trilha_cli_put_json_member(&cli->out, true, "tipo", version->tipo);
  trilha_cli_put_json_member(&cli->out, false, "versao", version->versao);
  trilha_cli_put_json_member(&cli->out, false, "file", trilha_text_of(path));
  trilha_cli_put_json_member(&cli->out, false, "change", trilha_text_of(change_name(result->change)));
  if (result->change == TRILHA_REGISTRY_REFUSED) {
    trilha_cli_put_json_member(&cli->out, false, "code", trilha_text_of(result->error.code));
    trilha_cli_put_json_member(&cli->out, false, "text", trilha_text_of(result->error.text));
  }
  trilha_cli_puts(&cli->out, "}\n");
}

static void tell_people(trilha_cli *cli, const trilha_type_version *version, const trilha_registry_result *result) {
  bool refused = result->change == TRILHA_REGISTRY_REFUSED;
  trilha_cli_put_safe(&cli->out, version->tipo);
  trilha_cli_puts(&cli->out, "@");
  trilha_cli_put_safe(&cli->out, version->versao);
  trilha_cli_puts(&cli->out, ": ");
  if (refused) trilha_cli_style_set(&cli->out, TRILHA_STYLE_BAD);
  trilha_cli_puts(&cli->out, trilha_cli_choose(cli, words_of(result->change, cli->dry_run)));
  if (refused) {
    trilha_cli_style_set(&cli->out, TRILHA_STYLE_PLAIN);
    trilha_cli_puts(&cli->out, ": ");
    trilha_cli_tell(cli, SAY_ERROR, result->error.text, result->error.code);
  }
  trilha_cli_puts(&cli->out, "\n");
}

/* Applies and tells; `files` may come from anywhere. */
int trilha_cli_apply_types(trilha_cli *cli, trilha *handle, const trilha_cli_type_files *files) {
  char user[64];
  trilha_error error = {0};
  trilha_registry_result *results = calloc(files->count + 1, sizeof *results);
  if (results == NULL) {
    trilha_error_no_memory(&error);
    return trilha_cli_fail(cli, &error);
  }
  trilha_status status = trilha_registry_apply(handle, files->versions, files->count, cli->dry_run,
                                               trilha_cli_user(user, sizeof user), results, &error);
  bool refused = false;
  for (size_t i = 0; i < files->count; i++) refused = refused || results[i].change == TRILHA_REGISTRY_REFUSED;
  for (size_t i = 0; (status == TRILHA_OK || refused) && i < files->count; i++) {
    if (refused && results[i].change != TRILHA_REGISTRY_REFUSED) continue; /* all or none: nothing became of it */
    if (cli->json) {
      tell_json(cli, files->paths[i], &files->versions[i], &results[i]);
    } else {
      tell_people(cli, &files->versions[i], &results[i]);
    }
  }
  free(results);
  if (status == TRILHA_OK) return TRILHA_EXIT_OK;
  if (!refused) return trilha_cli_fail(cli, &error);
  trilha_cli_say(cli, SAY_NOTHING_REGISTERED);
  trilha_cli_hint_remedy(cli, &error);
  return trilha_cli_exit_of(&error);
}

int trilha_cli_run_registry_apply(trilha_cli *cli, const trilha_cli_args *args) {
  trilha *handle = NULL;
  trilha_error error = {0};
  trilha_cli_type_files files = {0};
  int status = TRILHA_EXIT_OK;
  for (size_t i = 0; i < args->operand_count && status == TRILHA_EXIT_OK; i++) {
    if (trilha_cli_type_files_read(args->operands[i], &files, &error) != TRILHA_OK)
      status = trilha_cli_fail(cli, &error);
  }
  if (status == TRILHA_EXIT_OK) status = trilha_cli_open(cli, &handle);
  if (status == TRILHA_EXIT_OK) status = trilha_cli_apply_types(cli, handle, &files);
  trilha_close(handle);
  trilha_cli_type_files_done(&files);
  return status;
}

static void type_json(trilha_cli *cli, const trilha_registered_type *type, bool schema) {
  trilha_cli_puts(&cli->out, "{");
  trilha_cli_put_json_member(&cli->out, true, "tipo", trilha_text_of(type->tipo));
  trilha_cli_put_json_member(&cli->out, false, "versao", trilha_text_of(type->versao));
  trilha_cli_put_json_member(&cli->out, false, "descricao", trilha_text_of(type->descricao));
  trilha_cli_put_json_member(&cli->out, false, "status", trilha_text_of(type->status));
  trilha_cli_put_json_member(&cli->out, false, "criado_em", trilha_text_of(type->criado_em));
  if (schema) {
    trilha_cli_puts(&cli->out, ",\"schema\":");
    trilha_cli_put_json(&cli->out, trilha_text_of(type->schema == NULL ? "null" : type->schema));
  }
  trilha_cli_puts(&cli->out, "}\n");
}

static void list_table(trilha_cli *cli, const trilha_registered_types *types) {
  static const char *const headings[] = {"TIPO", "VERSAO", "STATUS", "CRIADO_EM", "DESCRICAO"};
  enum { COLUMNS = sizeof headings / sizeof headings[0] };
  trilha_cli_table table;
  trilha_cli_table_init(&table, COLUMNS);
  table.firm[1] = table.firm[2] = table.firm[3] = table.spare[3] = table.spare[4] = true;
  for (size_t i = 0; i < COLUMNS; i++) trilha_cli_table_add(&table, trilha_text_of(headings[i]));
  for (size_t i = 0; i < types->count; i++) {
    const trilha_registered_type *type = &types->items[i];
    trilha_cli_table_add(&table, trilha_text_of(type->tipo));
    trilha_cli_table_add(&table, trilha_text_of(type->versao));
    trilha_cli_table_add(&table, trilha_text_of(type->status));
    trilha_cli_table_add(&table, trilha_text_of(type->criado_em));
    trilha_cli_table_add(&table, trilha_text_of(type->descricao));
  }
  trilha_cli_table_print(cli, &table);
  trilha_cli_table_done(&table);
}

int trilha_cli_run_registry_list(trilha_cli *cli, const trilha_cli_args *args) {
  (void)args;
  trilha *handle = NULL;
  trilha_registered_types *types = NULL;
  trilha_error error = {0};
  int status = trilha_cli_open(cli, &handle);
  if (status != TRILHA_EXIT_OK) return status;
  if (trilha_registry_list(handle, (trilha_text){NULL, 0}, &types, &error) != TRILHA_OK) {
    status = trilha_cli_fail(cli, &error);
  } else if (cli->json) {
    for (size_t i = 0; i < types->count; i++) type_json(cli, &types->items[i], false);
  } else if (types->count == 0) {
    trilha_cli_hint(cli, SAY_NO_TYPES);
  } else {
    list_table(cli, types);
  }
  trilha_registered_types_free(types);
  trilha_close(handle);
  return status;
}

static void show_type(trilha_cli *cli, const trilha_registered_type *type) {
  trilha_cli_style_set(&cli->out, TRILHA_STYLE_BOLD);
  trilha_cli_put_safe(&cli->out, trilha_text_of(type->tipo));
  trilha_cli_puts(&cli->out, "@");
  trilha_cli_put_safe(&cli->out, trilha_text_of(type->versao));
  trilha_cli_style_set(&cli->out, TRILHA_STYLE_PLAIN);
  trilha_cli_putf(&cli->out, "  %s  %s\n", type->status, type->criado_em == NULL ? "" : type->criado_em);
  if (type->descricao != NULL) trilha_cli_put_safe(&cli->out, trilha_text_of(type->descricao));
  if (type->descricao != NULL) trilha_cli_puts(&cli->out, "\n");
  trilha_cli_put_indented(cli, trilha_text_of(type->schema == NULL ? "null" : type->schema), 0);
  trilha_cli_puts(&cli->out, "\n");
}

/* How many versions matched and were shown. */
static size_t show_types(trilha_cli *cli, const trilha_registered_types *types, const char *versao) {
  size_t shown = 0;
  for (size_t i = 0; i < types->count; i++) {
    if (versao != NULL && strcmp(types->items[i].versao, versao) != 0) continue;
    if (cli->json) {
      type_json(cli, &types->items[i], true);
    } else {
      if (shown > 0) trilha_cli_puts(&cli->out, "\n");
      show_type(cli, &types->items[i]);
    }
    shown++;
  }
  return shown;
}

int trilha_cli_run_registry_show(trilha_cli *cli, const trilha_cli_args *args) {
  trilha *handle = NULL;
  trilha_registered_types *types = NULL;
  trilha_error error = {0};
  const char *tipo = args->operands[0], *versao = args->operand_count > 1 ? args->operands[1] : NULL;
  int status = trilha_cli_open(cli, &handle);
  if (status != TRILHA_EXIT_OK) return status;
  if (trilha_registry_list(handle, trilha_text_of(tipo), &types, &error) != TRILHA_OK) {
    status = trilha_cli_fail(cli, &error);
  } else if (show_types(cli, types, versao) == 0) {
    trilha_cli_say(cli, SAY_NO_SUCH_TYPE, tipo, versao == NULL ? "" : "@", versao == NULL ? "" : versao);
    trilha_cli_hint(cli, REMEDY_REGISTER);
    status = TRILHA_EXIT_FAILED;
  }
  trilha_registered_types_free(types);
  trilha_close(handle);
  return status;
}

int trilha_cli_run_registry_deprecate(trilha_cli *cli, const trilha_cli_args *args) {
  trilha *handle = NULL;
  trilha_error error = {0};
  char user[64];
  trilha_text tipo = trilha_text_of(args->operands[0]);
  trilha_text versao = trilha_text_of(args->operand_count > 1 ? args->operands[1] : NULL);
  int status = trilha_cli_open(cli, &handle);
  if (status != TRILHA_EXIT_OK) return status;
  if (trilha_registry_deprecate(handle, tipo, versao, cli->dry_run, trilha_cli_user(user, sizeof user), &error) !=
      TRILHA_OK) {
    status = trilha_cli_fail(cli, &error);
  } else if (cli->json) {
    trilha_cli_puts(&cli->out, "{");
    trilha_cli_put_json_member(&cli->out, true, "tipo", tipo);
    trilha_cli_put_json_member(&cli->out, false, "versao", versao);
    trilha_cli_puts(&cli->out, ",\"status\":\"deprecated\"}\n");
  } else {
    const char *at = versao.data == NULL ? "" : "@", *which = versao.data == NULL ? "" : versao.data;
    if (cli->dry_run) {
      trilha_cli_tell(cli, SAY_WOULD_DEPRECATE, tipo.data, at, which);
    } else {
      trilha_cli_tell(cli, SAY_DEPRECATED, tipo.data, at, which);
    }
    trilha_cli_puts(&cli->out, "\n");
  }
  trilha_close(handle);
  return status;
}
