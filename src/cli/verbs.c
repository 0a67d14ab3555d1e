/* cli/verbs: the table of everything that the program can do. Parser, help, completion and manual follow it. */
#include "cli/cli_internal.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

const trilha_cli_option trilha_cli_shared_options[] = {
    {"store",
     's',
     TRILHA_CLI_TEXT,
     false,
     0,
     "URL",
     {"where the events are: sqlite:PATH or postgresql://…; default: $TRILHA_STORE, else sqlite:trilha.db",
      "onde estão os eventos: sqlite:CAMINHO ou postgresql://…; padrão: $TRILHA_STORE, senão sqlite:trilha.db"}},
    {"keyring",
     'k',
     TRILHA_CLI_TEXT,
     false,
     0,
     "SOURCE",
     {"redaction keys: file:PATH, env:NAME or credential:NAME; default: $TRILHA_KEYRING",
      "chaves de redação: file:CAMINHO, env:NOME ou credential:NOME; padrão: $TRILHA_KEYRING"}},
    {"json",
     'j',
     TRILHA_CLI_FLAG,
     false,
     0,
     NULL,
     {"output for programs: JSON, one value a line", "saída para programas: JSON, um valor por linha"}},
    {"dry-run", 'n', TRILHA_CLI_FLAG, false, 0, NULL, {"only say what would be done", "só dizer o que seria feito"}},
    {"verbose",
     'v',
     TRILHA_CLI_FLAG,
     false,
     0,
     NULL,
     {"also show informative diagnostics", "mostrar também diagnósticos informativos"}},
    {"help", 'h', TRILHA_CLI_FLAG, false, 0, NULL, {"this text", "este texto"}},
    {"version", 'V', TRILHA_CLI_FLAG, false, 0, NULL, {"which version this is", "qual versão é esta"}},
    {NULL, 0, TRILHA_CLI_FLAG, false, 0, NULL, {NULL, NULL}},
};

unsigned trilha_cli_shared_bit(const trilha_cli_option *option) {
  static const struct {
    const char *name;
    unsigned bit;
  } bits[] = {{"store", TRILHA_CLI_STORE},
              {"keyring", TRILHA_CLI_KEYRING},
              {"json", TRILHA_CLI_JSON},
              {"dry-run", TRILHA_CLI_DRY_RUN},
              {"version", TRILHA_CLI_TOP}};
  for (size_t i = 0; i < COUNT(bits); i++) {
    bool is_shared =
        option >= trilha_cli_shared_options && option < trilha_cli_shared_options + COUNT(trilha_cli_shared_options);
    if (is_shared && strcmp(bits[i].name, option->name) == 0) return bits[i].bit;
  }
  return 0;
}

const trilha_cli_verb trilha_cli_verbs[] = {
    {.name = "version",
     .summary = {"which version this is", "qual versão é esta"},
     .explains = {"Prints the version of the program.", "Mostra a versão do programa."},
     .operands = "",
     .shared = TRILHA_CLI_JSON | TRILHA_CLI_TOP,
     .run = trilha_cli_run_version},
    {.name = "completion",
     .summary = {"completion for bash, zsh or fish", "autocompletar para bash, zsh ou fish"},
     .explains = {"Prints a script that teaches a shell the commands and options of trilha.",
                  "Mostra um script que ensina ao shell os comandos e opções da trilha."},
     .operands = "bash|zsh|fish",
     .operand_words = "bash zsh fish",
     .operands_min = 1,
     .operands_max = 1,
     .examples = {{"source <(trilha completion bash)", {"in this bash, now", "neste bash, agora"}},
                  {"trilha completion fish > ~/.config/fish/completions/trilha.fish",
                   {"in every fish from now on", "em todo fish daqui em diante"}}},
     .run = trilha_cli_run_completion},
    {.name = "help",
     .summary = {"explain a command", "explicar um comando"},
     .explains = {"Explains the program, a group of commands or one command.",
                  "Explica o programa, um grupo de comandos ou um comando."},
     .operands = "[COMMAND…]",
     .operands_max = 2,
     .run = trilha_cli_run_help},
};
const size_t trilha_cli_verb_count = COUNT(trilha_cli_verbs);

const trilha_cli_verb *trilha_cli_verb_find(const char *noun, const char *name) {
  for (size_t i = 0; i < trilha_cli_verb_count; i++) {
    const trilha_cli_verb *verb = &trilha_cli_verbs[i];
    bool same_noun = noun == NULL ? verb->noun == NULL : verb->noun != NULL && strcmp(verb->noun, noun) == 0;
    if (same_noun && strcmp(verb->name, name) == 0) return verb;
  }
  return NULL;
}

bool trilha_cli_noun_exists(const char *noun) {
  for (size_t i = 0; i < trilha_cli_verb_count; i++) {
    if (trilha_cli_verbs[i].noun != NULL && strcmp(trilha_cli_verbs[i].noun, noun) == 0) return true;
  }
  return false;
}
