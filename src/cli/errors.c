/* cli/errors: what an error of the library means to a person, and the exit status its kind asks for. */
#include "cli/cli_internal.h"
#include "cli/messages.h"

typedef struct explained {
  const char *code;
  const char *pt; /* what it means; NULL: the library's own text is the contract's (ruling R5) and is shown as it is */
  trilha_cli_words remedy; /* what to do about it, or empty */
} explained;

/* Sorted by nothing: a few dozen entries, looked at once per failure. */
static const explained explanations[] = {
    {"STORE_NOT_INITIALIZED", "não há nenhuma Trilha nesse armazenamento", {REMEDY_INIT}},
    {"STORE_NEWER", "o armazenamento foi criado por uma versão mais nova da Trilha", {REMEDY_NEWER}},
    {"STORE_OLDER", "o armazenamento foi criado por uma versão mais antiga da Trilha", {REMEDY_INIT}},
    {"STORE_URL_INVALID", "o endereço do armazenamento está errado", {REMEDY_URL}},
    {"EVENT_TYPE_NOT_FOUND", NULL, {REMEDY_REGISTER}},
    {"EVENT_TYPE_DEPRECATED", NULL, {REMEDY_DEPRECATED}},
    {"EVENT_TYPE_WITHOUT_SCHEMA", NULL, {REMEDY_REGISTER}},
    {"PAYLOAD_NOT_OBJECT", NULL, {REMEDY_PAYLOAD_OBJECT}},
    {"PAYLOAD_INVALID", NULL, {NULL, NULL}},
    {"REDACTION_KEY_MISSING", "falta a chave que protege os campos com a regra 'hash'", {REMEDY_KEYRING}},
    {"KEYRING_MODE", "o arquivo de chaves pode ser lido por outros", {REMEDY_KEYRING_MODE}},
    {"JSON_SYNTAX", "o texto não é JSON", {NULL, NULL}},
    {"JSON_UTF8", "o texto não é UTF-8 válido", {NULL, NULL}},
    {"JSON_DUPLICATE_KEY", "um nome aparece duas vezes no mesmo objeto JSON", {NULL, NULL}},
    {"JSON_NUL", "o JSON contém o caractere U+0000, que o armazenamento não guarda", {NULL, NULL}},
    {"JSON_SURROGATE", "o JSON contém meio par substituto (surrogate)", {NULL, NULL}},
    {"JSON_DEPTH", "o JSON tem níveis demais", {NULL, NULL}},
    {"JSON_SIZE", "o JSON é grande demais", {NULL, NULL}},
    {"JSON_NUMBER_SIZE", "um número do JSON tem dígitos demais", {NULL, NULL}},
    {"JSON_NUMBER_RANGE", "um número do JSON é grande demais para ser guardado", {NULL, NULL}},
    {"FILE_TOO_LARGE", "o arquivo é grande demais", {NULL, NULL}},
};

static const explained *explain(const char *code) {
  for (size_t i = 0; i < sizeof explanations / sizeof explanations[0]; i++) {
    if (strcmp(explanations[i].code, code) == 0) return &explanations[i];
  }
  return NULL;
}

const char *trilha_cli_error_text(const trilha_cli *cli, const trilha_error *error) {
  const explained *e = cli->portuguese ? explain(error->code) : NULL;
  return e != NULL && e->pt != NULL ? e->pt : error->text;
}

int trilha_cli_exit_of(const trilha_error *error) {
  switch (error->status) {
    case TRILHA_OK:
      return TRILHA_EXIT_OK;
    case TRILHA_INVALID:
    case TRILHA_LIMIT:
      return TRILHA_EXIT_REFUSED;
    case TRILHA_USAGE:
      return TRILHA_EXIT_USAGE;
    case TRILHA_UNAVAILABLE:
    case TRILHA_TIMEOUT:
      return TRILHA_EXIT_UNAVAILABLE;
    default:
      return TRILHA_EXIT_FAILED;
  }
}

int trilha_cli_fail(trilha_cli *cli, const trilha_error *error) {
  const explained *e = explain(error->code);
  if (cli->portuguese && e != NULL && e->pt != NULL) {
    trilha_cli_say(cli, SAY_ERROR_EXPLAINED, e->pt, error->text, error->code);
  } else {
    trilha_cli_say(cli, SAY_ERROR, error->text, error->code);
  }
  if (e != NULL && e->remedy.en != NULL && trilha_cli_choose(cli, e->remedy)[0] != '\0') {
    trilha_cli_hint(cli, SAY_PLAIN, trilha_cli_choose(cli, e->remedy));
  }
  return trilha_cli_exit_of(error);
}
