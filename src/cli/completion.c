/* cli/completion: scripts for bash, zsh and fish, written from the table of verbs. */
#include <stdio.h>

#include "cli/cli_internal.h"
#include "cli/messages.h"

static bool takes(const trilha_cli_verb *verb, const trilha_cli_option *o) {
  unsigned bit = trilha_cli_shared_bit(o);
  return bit == 0 || (verb->shared & bit) != 0;
}

/* Calls `each` for every option the verb takes, its own first. */
static void for_options(trilha_cli *cli, const trilha_cli_verb *verb,
                        void (*each)(trilha_cli *cli, const trilha_cli_verb *verb, const trilha_cli_option *o)) {
  for (const trilha_cli_option *o = verb->options; o != NULL && o->name != NULL; o++) each(cli, verb, o);
  for (const trilha_cli_option *o = trilha_cli_shared_options; o->name != NULL; o++) {
    if (takes(verb, o)) each(cli, verb, o);
  }
}

static bool first_of_noun(size_t index) {
  const char *noun = trilha_cli_verbs[index].noun;
  for (size_t i = 0; i < index; i++) {
    if (trilha_cli_verbs[i].noun != NULL && strcmp(trilha_cli_verbs[i].noun, noun) == 0) return false;
  }
  return true;
}

static void first_words(trilha_cli *cli) {
  for (size_t i = 0; i < trilha_cli_verb_count; i++) {
    const trilha_cli_verb *verb = &trilha_cli_verbs[i];
    if (verb->noun == NULL) trilha_cli_putf(&cli->out, " %s", verb->name);
    if (verb->noun != NULL && first_of_noun(i)) trilha_cli_putf(&cli->out, " %s", verb->noun);
  }
}

static void second_words(trilha_cli *cli, const char *noun) {
  for (size_t i = 0; i < trilha_cli_verb_count; i++) {
    const trilha_cli_verb *verb = &trilha_cli_verbs[i];
    if (verb->noun != NULL && strcmp(verb->noun, noun) == 0) trilha_cli_putf(&cli->out, " %s", verb->name);
  }
}

/* Inside single quotes of a shell. */
static void put_quoted(trilha_cli *cli, const char *text) {
  for (; *text != '\0'; text++) {
    if (*text == '\'') {
      trilha_cli_puts(&cli->out, "'\\''");
    } else {
      trilha_cli_put(&cli->out, (trilha_text){text, 1});
    }
  }
}

/* --- bash ------------------------------------------------------------------------------------------------ */

static void bash_option(trilha_cli *cli, const trilha_cli_verb *verb, const trilha_cli_option *o) {
  (void)verb;
  trilha_cli_putf(&cli->out, " --%s", o->name);
}

static void bash_verb(trilha_cli *cli, const trilha_cli_verb *verb) {
  const char *noun = verb->noun == NULL ? "" : verb->noun;
  trilha_cli_putf(&cli->out, "    '%s%s%s') options='", noun, verb->noun == NULL ? "" : " ", verb->name);
  for_options(cli, verb, bash_option);
  trilha_cli_putf(&cli->out, "'; words='%s'; files=%d ;;\n", verb->operand_words == NULL ? "" : verb->operand_words,
                  verb->operand_kind == TRILHA_CLI_FILE || verb->operand_kind == TRILHA_CLI_FOLDER);
}

static void bash_nouns(trilha_cli *cli) {
  for (size_t i = 0; i < trilha_cli_verb_count; i++) {
    const char *noun = trilha_cli_verbs[i].noun;
    if (noun == NULL || !first_of_noun(i)) continue;
    trilha_cli_putf(&cli->out, "    '%s') words='", noun);
    second_words(cli, noun);
    trilha_cli_puts(&cli->out, "' ;;\n");
  }
}

/* Names of options with a value, by the kind of value asked for. */
static void bash_values(trilha_cli *cli, bool files) {
  for (size_t i = 0; i <= trilha_cli_verb_count; i++) {
    const trilha_cli_option *o = i == trilha_cli_verb_count ? trilha_cli_shared_options : trilha_cli_verbs[i].options;
    for (; o != NULL && o->name != NULL; o++) {
      bool is_file = o->kind == TRILHA_CLI_FILE || o->kind == TRILHA_CLI_FOLDER;
      if (o->kind != TRILHA_CLI_FLAG && is_file == files) trilha_cli_putf(&cli->out, "--%s|", o->name);
    }
  }
  trilha_cli_puts(&cli->out, files ? "--/file" : "--/text"); /* so that the list is never empty */
}

static void bash(trilha_cli *cli) {
  trilha_cli_puts(&cli->out,
                  "# bash completion for trilha; made by 'trilha completion bash'\n"
                  "_trilha() {\n"
                  "  local current=\"${COMP_WORDS[COMP_CWORD]}\" previous=\"${COMP_WORDS[COMP_CWORD-1]}\"\n"
                  "  local first='' second='' options='--help --version' words='' files=0 i\n"
                  "  COMPREPLY=()\n"
                  "  case \"$previous\" in\n    ");
  bash_values(cli, true);
  trilha_cli_puts(&cli->out, ") mapfile -t COMPREPLY < <(compgen -f -- \"$current\"); return ;;\n    ");
  bash_values(cli, false);
  trilha_cli_puts(&cli->out,
                  ") return ;;\n  esac\n"
                  "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
                  "    case \"${COMP_WORDS[i]}\" in -*) continue ;; esac\n"
                  "    if [ -z \"$first\" ]; then first=\"${COMP_WORDS[i]}\"; "
                  "elif [ -z \"$second\" ]; then second=\"${COMP_WORDS[i]}\"; fi\n"
                  "  done\n"
                  "  case \"$first\" in\n    '') words='");
  first_words(cli);
  trilha_cli_puts(&cli->out, "' ;;\n");
  bash_nouns(cli);
  trilha_cli_puts(&cli->out, "  esac\n  for i in \"$first $second\" \"$first\"; do case \"$i\" in\n");
  for (size_t i = 0; i < trilha_cli_verb_count; i++) bash_verb(cli, &trilha_cli_verbs[i]);
  trilha_cli_puts(&cli->out,
                  "    *) continue ;;\n  esac; break; done\n"
                  "  case \"$current\" in\n"
                  "    -*) mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$current\") ;;\n"
                  "    *) mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
                  "       if [ \"$files\" = 1 ]; then mapfile -t COMPREPLY < <(compgen -f -- \"$current\"); fi ;;\n"
                  "  esac\n"
                  "}\n"
                  "complete -o filenames -F _trilha trilha\n");
}

/* --- zsh ------------------------------------------------------------------------------------------------- */

/* Inside '…[…]' of _arguments: brackets, colons and backslashes have a meaning there. */
static void zsh_text(trilha_cli *cli, const char *text) {
  for (; *text != '\0'; text++) {
    if (strchr("[]:\\", *text) != NULL) trilha_cli_puts(&cli->out, "\\");
    if (*text == '\'') trilha_cli_puts(&cli->out, "'\\'");
    trilha_cli_put(&cli->out, (trilha_text){text, 1});
  }
}

static void zsh_option(trilha_cli *cli, const trilha_cli_verb *verb, const trilha_cli_option *o) {
  (void)verb;
  trilha_cli_putf(&cli->out, " '%s--%s%s[", o->repeats ? "*" : "", o->name, o->kind == TRILHA_CLI_FLAG ? "" : "=");
  zsh_text(cli, trilha_cli_choose(cli, o->help));
  trilha_cli_puts(&cli->out, "]");
  if (o->kind != TRILHA_CLI_FLAG) {
    trilha_cli_puts(&cli->out, ":");
    zsh_text(cli, o->argument);
    trilha_cli_puts(&cli->out, o->kind == TRILHA_CLI_FILE     ? ":_files"
                               : o->kind == TRILHA_CLI_FOLDER ? ":_files -/"
                                                              : ":");
  }
  trilha_cli_puts(&cli->out, "'");
}

static void zsh_verb(trilha_cli *cli, const trilha_cli_verb *verb) {
  trilha_cli_putf(&cli->out, "    '%s%s%s') _arguments", verb->noun == NULL ? "" : verb->noun,
                  verb->noun == NULL ? "" : " ", verb->name);
  for_options(cli, verb, zsh_option);
  if (verb->operand_words != NULL) trilha_cli_putf(&cli->out, " '*:: :(%s)'", verb->operand_words);
  if (verb->operand_kind == TRILHA_CLI_FILE) trilha_cli_puts(&cli->out, " '*:: :_files'");
  trilha_cli_puts(&cli->out, " ;;\n");
}

static void zsh_words(trilha_cli *cli, const char *noun) {
  for (size_t i = 0; i < trilha_cli_verb_count; i++) {
    const trilha_cli_verb *verb = &trilha_cli_verbs[i];
    bool here = noun == NULL ? verb->noun == NULL : verb->noun != NULL && strcmp(verb->noun, noun) == 0;
    if (noun == NULL && verb->noun != NULL && first_of_noun(i)) trilha_cli_putf(&cli->out, " '%s'", verb->noun);
    if (!here) continue;
    trilha_cli_putf(&cli->out, " '%s:", verb->name);
    put_quoted(cli, trilha_cli_choose(cli, verb->summary));
    trilha_cli_puts(&cli->out, "'");
  }
}

static void zsh(trilha_cli *cli) {
  trilha_cli_puts(&cli->out,
                  "#compdef trilha\n# zsh completion for trilha; made by 'trilha completion zsh'\n"
                  "_trilha() {\n  local -a list\n  local command=\"${words[2]}\" shift_by=1\n"
                  "  if (( CURRENT == 2 )); then\n    list=(");
  zsh_words(cli, NULL);
  trilha_cli_puts(&cli->out, ")\n    _describe command list\n    return\n  fi\n  case \"$command\" in\n");
  for (size_t i = 0; i < trilha_cli_verb_count; i++) {
    if (trilha_cli_verbs[i].noun == NULL || !first_of_noun(i)) continue;
    trilha_cli_putf(&cli->out, "    '%s')\n      if (( CURRENT == 3 )); then list=(", trilha_cli_verbs[i].noun);
    zsh_words(cli, trilha_cli_verbs[i].noun);
    trilha_cli_puts(&cli->out,
                    "); _describe command list; return; fi\n"
                    "      command=\"$command ${words[3]}\"; shift_by=2 ;;\n");
  }
  trilha_cli_puts(&cli->out, "  esac\n  shift $shift_by words; (( CURRENT -= shift_by ))\n  case \"$command\" in\n");
  for (size_t i = 0; i < trilha_cli_verb_count; i++) zsh_verb(cli, &trilha_cli_verbs[i]);
  trilha_cli_puts(&cli->out, "  esac\n}\n_trilha \"$@\"\n");
}

/* --- fish ------------------------------------------------------------------------------------------------ */

static void fish_condition(trilha_cli *cli, const trilha_cli_verb *verb) {
  trilha_cli_puts(&cli->out, "complete -c trilha -n '");
  if (verb->noun != NULL) trilha_cli_putf(&cli->out, "__fish_seen_subcommand_from %s; and ", verb->noun);
  trilha_cli_putf(&cli->out, "__fish_seen_subcommand_from %s' ", verb->name);
}

static void fish_option(trilha_cli *cli, const trilha_cli_verb *verb, const trilha_cli_option *o) {
  fish_condition(cli, verb);
  trilha_cli_putf(&cli->out, "-l %s", o->name);
  if (o->letter != 0) trilha_cli_putf(&cli->out, " -s %c", o->letter);
  if (o->kind != TRILHA_CLI_FLAG) {
    bool file = o->kind == TRILHA_CLI_FILE || o->kind == TRILHA_CLI_FOLDER;
    trilha_cli_puts(&cli->out, file ? " -r -F" : " -x");
  }
  trilha_cli_puts(&cli->out, " -d '");
  put_quoted(cli, trilha_cli_choose(cli, o->help));
  trilha_cli_puts(&cli->out, "'\n");
}

static void fish_word(trilha_cli *cli, size_t index) {
  const trilha_cli_verb *verb = &trilha_cli_verbs[index];
  if (verb->noun != NULL && first_of_noun(index)) {
    trilha_cli_putf(&cli->out, "complete -c trilha -n __fish_use_subcommand -a %s\n", verb->noun);
  }
  if (verb->noun == NULL) {
    trilha_cli_puts(&cli->out, "complete -c trilha -n __fish_use_subcommand");
  } else {
    trilha_cli_putf(&cli->out,
                    "complete -c trilha -n '__fish_seen_subcommand_from %s; and not "
                    "__fish_seen_subcommand_from",
                    verb->noun);
    second_words(cli, verb->noun);
    trilha_cli_puts(&cli->out, "'");
  }
  trilha_cli_putf(&cli->out, " -a %s -d '", verb->name);
  put_quoted(cli, trilha_cli_choose(cli, verb->summary));
  trilha_cli_puts(&cli->out, "'\n");
}

static void fish(trilha_cli *cli) {
  trilha_cli_puts(&cli->out, "# fish completion for trilha; made by 'trilha completion fish'\ncomplete -c trilha -f\n");
  for (size_t i = 0; i < trilha_cli_verb_count; i++) fish_word(cli, i);
  for (size_t i = 0; i < trilha_cli_verb_count; i++) {
    const trilha_cli_verb *verb = &trilha_cli_verbs[i];
    for_options(cli, verb, fish_option);
    if (verb->operand_words == NULL && verb->operand_kind != TRILHA_CLI_FILE) continue;
    fish_condition(cli, verb);
    trilha_cli_putf(&cli->out, verb->operand_words != NULL ? "-a '%s'\n" : "-F%s\n",
                    verb->operand_words != NULL ? verb->operand_words : "");
  }
}

int trilha_cli_run_completion(trilha_cli *cli, const trilha_cli_args *args) {
  static const struct {
    const char *name;
    void (*write)(trilha_cli *cli);
  } shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};
  for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++) {
    if (strcmp(args->operands[0], shells[i].name) != 0) continue;
    shells[i].write(cli);
    return TRILHA_EXIT_OK;
  }
  return trilha_cli_usage(cli, SAY_UNKNOWN_SHELL, args->operands[0]);
}
