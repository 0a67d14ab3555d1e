/* cli/help: what there is and how it is used, from the table of verbs. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli_internal.h"
#include "cli/messages.h"

enum { NAME_COLUMNS = 26, TEXT_COLUMNS_MAX = 100 };

static void heading(trilha_cli *cli, trilha_cli_output *to, const char *en, const char *pt) {
  trilha_cli_puts(to, "\n");
  trilha_cli_style_set(to, TRILHA_STYLE_BOLD);
  trilha_cli_puts(to, cli->portuguese ? pt : en);
  trilha_cli_puts(to, ":");
  trilha_cli_style_set(to, TRILHA_STYLE_PLAIN);
  trilha_cli_puts(to, "\n");
}

static size_t word_end(const char *text) {
  return strcspn(text, " \n");
}

/* Wraps `text` at the terminal's width; every line begins at column `indent`, where the cursor is already for the
 * first. */
void trilha_cli_wrap(const trilha_cli *cli, trilha_cli_output *to, const char *text, size_t indent) {
  size_t room = cli->width < TEXT_COLUMNS_MAX ? cli->width : TEXT_COLUMNS_MAX, at = indent;
  while (*text != '\0') {
    size_t size = word_end(text), columns = trilha_cli_columns((trilha_text){text, size});
    if (at > indent && at + 1 + columns > room) {
      trilha_cli_putf(to, "\n%*s", (int)indent, "");
      at = indent;
    }
    if (at > indent) trilha_cli_puts(to, " ");
    trilha_cli_put(to, (trilha_text){text, size});
    at += columns + (at > indent ? 1 : 0);
    text += size;
    if (*text == '\n') {
      trilha_cli_putf(to, "\n%*s", (int)indent, "");
      at = indent;
    }
    if (*text != '\0') text++;
  }
  trilha_cli_puts(to, "\n");
}

static void entry(const trilha_cli *cli, trilha_cli_output *to, const char *name, const char *text) {
  size_t columns = trilha_cli_columns(trilha_text_of(name));
  trilha_cli_putf(to, "  %s", name);
  if (columns + 2 < NAME_COLUMNS) {
    trilha_cli_putf(to, "%*s", (int)(NAME_COLUMNS - columns - 2), "");
  } else {
    trilha_cli_putf(to, "\n%*s", NAME_COLUMNS, "");
  }
  trilha_cli_wrap(cli, to, text, NAME_COLUMNS);
}

static void verb_title(const trilha_cli_verb *verb, char *room, size_t size) {
  snprintf(room, size, "%s%s%s", verb->noun == NULL ? "" : verb->noun, verb->noun == NULL ? "" : " ", verb->name);
}

static void list_verbs(trilha_cli *cli, const char *noun, trilha_cli_output *to) {
  heading(cli, to, SAY_COMMANDS);
  for (size_t i = 0; i < trilha_cli_verb_count; i++) {
    const trilha_cli_verb *verb = &trilha_cli_verbs[i];
    char title[64];
    if (noun != NULL && (verb->noun == NULL || strcmp(verb->noun, noun) != 0)) continue;
    verb_title(verb, title, sizeof title);
    entry(cli, to, title, trilha_cli_choose(cli, verb->summary));
  }
}

static void list_options(const trilha_cli *cli, const trilha_cli_option *o, unsigned shared, trilha_cli_output *to) {
  for (; o != NULL && o->name != NULL; o++) {
    char title[64];
    unsigned bit = trilha_cli_shared_bit(o);
    if (bit != 0 && (shared & bit) == 0) continue;
    snprintf(title, sizeof title, "%c%c%s--%s%s%s", o->letter == 0 ? ' ' : '-', o->letter == 0 ? ' ' : o->letter,
             o->letter == 0 ? "  " : ", ", o->name, o->kind == TRILHA_CLI_FLAG ? "" : " ",
             o->kind == TRILHA_CLI_FLAG ? "" : o->argument);
    entry(cli, to, title, trilha_cli_choose(cli, o->help));
  }
}

static void usage_line(trilha_cli *cli, trilha_cli_output *to, const char *rest) {
  const char *usage = trilha_cli_choose(cli, (trilha_cli_words){SAY_USAGE});
  trilha_cli_putf(to, "%s: trilha %s\n", usage, rest);
}

void trilha_cli_help_overview(trilha_cli *cli, trilha_cli_output *to) {
  usage_line(cli, to, cli->portuguese ? "COMANDO [opções]" : "COMMAND [options]");
  trilha_cli_puts(to, "\n");
  trilha_cli_wrap(cli, to, trilha_cli_choose(cli, (trilha_cli_words){SAY_PROGRAM_SUMMARY}), 0);
  list_verbs(cli, NULL, to);
  heading(cli, to, SAY_OPTIONS);
  list_options(cli, trilha_cli_shared_options, ~0U, to);
  trilha_cli_puts(to, "\n");
  trilha_cli_wrap(cli, to, trilha_cli_choose(cli, (trilha_cli_words){SAY_ENVIRONMENT}), 0);
  trilha_cli_wrap(cli, to, trilha_cli_choose(cli, (trilha_cli_words){SAY_EXITS}), 0);
  trilha_cli_wrap(cli, to, trilha_cli_choose(cli, (trilha_cli_words){SAY_MORE_HELP}), 0);
}

void trilha_cli_help_noun(trilha_cli *cli, const char *noun, trilha_cli_output *to) {
  char rest[64];
  snprintf(rest, sizeof rest, "%s %s", noun, cli->portuguese ? "COMANDO [opções]" : "COMMAND [options]");
  usage_line(cli, to, rest);
  list_verbs(cli, noun, to);
}

static void list_examples(trilha_cli *cli, const trilha_cli_verb *verb) {
  if (verb->examples[0].command == NULL) return;
  heading(cli, &cli->out, SAY_EXAMPLES);
  for (size_t i = 0; i < TRILHA_CLI_EXAMPLES_MAX && verb->examples[i].command != NULL; i++) {
    trilha_cli_puts(&cli->out, "  ");
    trilha_cli_style_set(&cli->out, TRILHA_STYLE_GOOD);
    trilha_cli_puts(&cli->out, verb->examples[i].command);
    trilha_cli_style_set(&cli->out, TRILHA_STYLE_PLAIN);
    trilha_cli_puts(&cli->out, "\n      ");
    trilha_cli_wrap(cli, &cli->out, trilha_cli_choose(cli, verb->examples[i].says), 6);
  }
}

void trilha_cli_help_verb(trilha_cli *cli, const trilha_cli_verb *verb) {
  char title[64], rest[200];
  verb_title(verb, title, sizeof title);
  snprintf(rest, sizeof rest, "%s %s%s%s", title, cli->portuguese ? "[opções]" : "[options]",
           verb->operands[0] == '\0' ? "" : " ", verb->operands);
  usage_line(cli, &cli->out, rest);
  trilha_cli_puts(&cli->out, "\n");
  trilha_cli_wrap(cli, &cli->out, trilha_cli_choose(cli, verb->explains), 0);
  heading(cli, &cli->out, SAY_OPTIONS);
  list_options(cli, verb->options, verb->shared, &cli->out);
  list_options(cli, trilha_cli_shared_options, verb->shared, &cli->out);
  list_examples(cli, verb);
  trilha_cli_puts(&cli->out, "\n");
  trilha_cli_wrap(cli, &cli->out, trilha_cli_choose(cli, (trilha_cli_words){SAY_EXITS}), 0);
}

int trilha_cli_run_help(trilha_cli *cli, const trilha_cli_args *args) {
  const char *first = args->operand_count > 0 ? args->operands[0] : NULL;
  const char *second = args->operand_count > 1 ? args->operands[1] : NULL;
  if (first == NULL) {
    trilha_cli_help_overview(cli, &cli->out);
    return TRILHA_EXIT_OK;
  }
  const trilha_cli_verb *verb =
      second == NULL ? trilha_cli_verb_find(NULL, first) : trilha_cli_verb_find(first, second);
  if (verb != NULL) {
    trilha_cli_help_verb(cli, verb);
  } else if (second == NULL && trilha_cli_noun_exists(first)) {
    trilha_cli_help_noun(cli, first, &cli->out);
  } else {
    return trilha_cli_usage(cli, SAY_UNKNOWN_WORD, second == NULL ? first : second);
  }
  return TRILHA_EXIT_OK;
}
