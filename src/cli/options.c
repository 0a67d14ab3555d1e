/* cli/options: the command line, read against the table of verbs. */
#include <errno.h>
#include <stdlib.h>

#include "base/assert.h"
#include "cli/cli_internal.h"
#include "cli/messages.h"

typedef struct parse {
  trilha_cli *cli;
  int argc, at;
  char **argv;
  const char *noun; /* a first word that is the noun of verbs still to come */
  trilha_cli_args *args;
  bool help;
} parse;

bool trilha_cli_whole_number(const char *text, int64_t *ret_number) {
  if (text == NULL || text[0] < '0' || text[0] > '9') return false;
  char *end = NULL;
  errno = 0;
  long long number = strtoll(text, &end, 10);
  if (errno != 0 || *end != '\0') return false;
  *ret_number = number;
  return true;
}

/* --- suggestions --------------------------------------------------------------------------------------- */

static const char *nth_option(const void *user, size_t i) {
  const trilha_cli_verb *verb = user;
  const trilha_cli_option *o = verb == NULL ? NULL : verb->options;
  for (; o != NULL && o->name != NULL; o++) {
    if (i-- == 0) return o->name;
  }
  for (o = trilha_cli_shared_options; o->name != NULL; o++) {
    unsigned bit = trilha_cli_shared_bit(o);
    if (verb != NULL && bit != 0 && (verb->shared & bit) == 0) continue;
    if (i-- == 0) return o->name;
  }
  return NULL;
}

static const char *nth_first_word(const void *user, size_t i) {
  (void)user;
  if (i >= trilha_cli_verb_count) return NULL;
  return trilha_cli_verbs[i].noun != NULL ? trilha_cli_verbs[i].noun : trilha_cli_verbs[i].name;
}

static const char *nth_second_word(const void *user, size_t i) {
  const char *noun = user;
  for (size_t v = 0; v < trilha_cli_verb_count; v++) {
    if (trilha_cli_verbs[v].noun == NULL || strcmp(trilha_cli_verbs[v].noun, noun) != 0) continue;
    if (i-- == 0) return trilha_cli_verbs[v].name;
  }
  return NULL;
}

/* A word of the second place typed in the first ("trilha replay"): the whole command is the answer. */
static const trilha_cli_verb *verb_named(const char *name) {
  for (size_t v = 0; v < trilha_cli_verb_count; v++) {
    if (strcmp(trilha_cli_verbs[v].name, name) == 0) return &trilha_cli_verbs[v];
  }
  return NULL;
}

static int unknown_word(parse *p, const char *word) {
  if (p->noun != NULL) {
    const char *near = trilha_cli_nearest(word, nth_second_word, p->noun);
    if (near != NULL) return trilha_cli_usage(p->cli, SAY_UNKNOWN_VERB_NEAR, p->noun, word, p->noun, near);
    return trilha_cli_usage(p->cli, SAY_UNKNOWN_VERB, p->noun, word);
  }
  const trilha_cli_verb *elsewhere = verb_named(word);
  if (elsewhere != NULL && elsewhere->noun != NULL) {
    return trilha_cli_usage(p->cli, SAY_UNKNOWN_WORD_NEAR_VERB, word, elsewhere->noun, elsewhere->name);
  }
  const char *near = trilha_cli_nearest(word, nth_first_word, NULL);
  if (near != NULL) return trilha_cli_usage(p->cli, SAY_UNKNOWN_WORD_NEAR, word, near);
  return trilha_cli_usage(p->cli, SAY_UNKNOWN_WORD, word);
}

static int unknown_option(parse *p, const char *typed, const char *bare) {
  const char *near = trilha_cli_nearest(bare, nth_option, p->cli->verb);
  if (near != NULL) return trilha_cli_usage(p->cli, SAY_UNKNOWN_OPTION_NEAR, typed, near);
  return trilha_cli_usage(p->cli, SAY_UNKNOWN_OPTION, typed);
}

/* --- options ------------------------------------------------------------------------------------------- */

static bool is_named(const trilha_cli_option *o, const char *name, size_t size) {
  return strlen(o->name) == size && memcmp(o->name, name, size) == 0;
}

static const trilha_cli_option *find_in(const trilha_cli_option *o, const char *name, size_t size, char letter) {
  for (; o != NULL && o->name != NULL; o++) {
    if (letter != '\0' ? o->letter == letter : is_named(o, name, size)) return o;
  }
  return NULL;
}

static const trilha_cli_option *find(const parse *p, const char *name, size_t size, char letter) {
  const trilha_cli_option *own = p->cli->verb == NULL ? NULL : find_in(p->cli->verb->options, name, size, letter);
  return own != NULL ? own : find_in(trilha_cli_shared_options, name, size, letter);
}

static int check_value(parse *p, const trilha_cli_option *o, const char *value) {
  int64_t number = 0;
  if (o->kind != TRILHA_CLI_NUMBER) return TRILHA_EXIT_OK;
  if (!trilha_cli_whole_number(value, &number)) return trilha_cli_usage(p->cli, SAY_NOT_A_NUMBER, o->name, value);
  if (number < o->minimum) return trilha_cli_usage(p->cli, SAY_NUMBER_TOO_SMALL, o->name, o->minimum);
  return TRILHA_EXIT_OK;
}

static int give(parse *p, const trilha_cli_option *o, const char *value) {
  for (size_t i = 0; i < p->args->given_count && !o->repeats && o->kind != TRILHA_CLI_FLAG; i++) {
    if (p->args->given[i].option == o) return trilha_cli_usage(p->cli, SAY_OPTION_TWICE, o->name);
  }
  int status = check_value(p, o, value);
  if (status != TRILHA_EXIT_OK) return status;
  p->args->given[p->args->given_count++] = (trilha_cli_given){o, value};
  if (strcmp(o->name, "help") == 0) p->help = true;
  return TRILHA_EXIT_OK;
}

/* The words are taken as they are; options of ours may follow after "--". */
static int take_command(parse *p, const trilha_cli_option *o) {
  int first = p->at + 1, end = first;
  while (end < p->argc && strcmp(p->argv[end], "--") != 0) end++;
  if (end == first) return trilha_cli_usage(p->cli, SAY_OPTION_NEEDS_VALUE, o->name, o->argument);
  int status = give(p, o, p->argv[first]);
  if (status != TRILHA_EXIT_OK) return status;
  p->args->command = p->argv + first;
  p->args->command_count = (size_t)(end - first);
  p->at = end; /* at "--", or past the end */
  return TRILHA_EXIT_OK;
}

static int take_option(parse *p, const char *typed) {
  const char *name = typed[1] == '-' ? typed + 2 : typed + 1, *equals = strchr(name, '=');
  char letter = typed[1] == '-' ? '\0' : typed[1];
  size_t size = equals == NULL ? strlen(name) : (size_t)(equals - name);
  const trilha_cli_option *o = find(p, name, size, letter);
  if (o == NULL || (letter != '\0' && typed[2] != '\0' && o->kind == TRILHA_CLI_FLAG)) {
    return unknown_option(p, typed, name);
  }
  if (o->kind == TRILHA_CLI_FLAG) {
    return equals != NULL ? trilha_cli_usage(p->cli, SAY_OPTION_IS_A_FLAG, o->name) : give(p, o, "");
  }
  if (letter != '\0' && typed[2] != '\0') return give(p, o, typed[2] == '=' ? typed + 3 : typed + 2);
  if (equals != NULL && o->kind == TRILHA_CLI_COMMAND) return trilha_cli_usage(p->cli, SAY_COMMAND_AS_WORDS, o->name);
  if (equals != NULL) return give(p, o, equals + 1);
  if (p->at + 1 >= p->argc) return trilha_cli_usage(p->cli, SAY_OPTION_NEEDS_VALUE, o->name, o->argument);
  if (o->kind == TRILHA_CLI_COMMAND) return take_command(p, o);
  return give(p, o, p->argv[++p->at]);
}

/* --- words --------------------------------------------------------------------------------------------- */

static int take_word(parse *p, const char *word) {
  if (p->cli->verb != NULL) {
    p->args->operands[p->args->operand_count++] = word;
    return TRILHA_EXIT_OK;
  }
  p->cli->verb = trilha_cli_verb_find(p->noun, word);
  if (p->cli->verb != NULL) return TRILHA_EXIT_OK;
  if (p->noun == NULL && trilha_cli_noun_exists(word)) {
    p->noun = word;
    return TRILHA_EXIT_OK;
  }
  return unknown_word(p, word);
}

static int read_words(parse *p) {
  bool options_over = false;
  for (p->at = 1; p->at < p->argc; p->at++) {
    const char *word = p->argv[p->at];
    int status;
    if (!options_over && strcmp(word, "--") == 0) {
      options_over = true;
      continue;
    }
    if (!options_over && word[0] == '-' && word[1] != '\0') {
      status = take_option(p, word);
    } else {
      status = take_word(p, word);
    }
    if (status != TRILHA_EXIT_OK) return status;
  }
  return TRILHA_EXIT_OK;
}

/* --- what was read, checked as a whole ------------------------------------------------------------------ */

static int check_shared(parse *p) {
  const trilha_cli_verb *verb = p->cli->verb;
  for (size_t i = 0; i < p->args->given_count; i++) {
    const trilha_cli_option *o = p->args->given[i].option;
    unsigned bit = trilha_cli_shared_bit(o);
    if (bit != 0 && (verb->shared & bit) == 0) return trilha_cli_usage(p->cli, SAY_OPTION_NOT_FOR_VERB, o->name);
  }
  return TRILHA_EXIT_OK;
}

static int check_operands(parse *p) {
  const trilha_cli_verb *verb = p->cli->verb;
  if (p->args->operand_count < (size_t)verb->operands_min) {
    return trilha_cli_usage(p->cli, SAY_OPERAND_MISSING, verb->operands);
  }
  if (p->args->operand_count > (size_t)verb->operands_max) {
    return trilha_cli_usage(p->cli, SAY_OPERAND_TOO_MANY, p->args->operands[verb->operands_max]);
  }
  return TRILHA_EXIT_OK;
}

static const char *environment(const char *name) {
  const char *value = getenv(name);
  return value == NULL || value[0] == '\0' ? NULL : value;
}

static void settle_shared(parse *p) {
  trilha_cli *cli = p->cli;
  cli->json = trilha_cli_has(p->args, "json");
  cli->verbose = trilha_cli_has(p->args, "verbose");
  cli->dry_run = trilha_cli_has(p->args, "dry-run");
  cli->store_url = trilha_cli_value(p->args, "store");
  cli->keyring = trilha_cli_value(p->args, "keyring");
  if (cli->store_url == NULL) cli->store_url = environment("TRILHA_STORE");
  if (cli->keyring == NULL) cli->keyring = environment("TRILHA_KEYRING");
}

/* Without a verb there is only help to show. */
static int without_verb(parse *p) {
  trilha_cli *cli = p->cli;
  if (trilha_cli_has(p->args, "version")) {
    cli->verb = trilha_cli_verb_find(NULL, "version");
    return TRILHA_EXIT_OK;
  }
  trilha_cli_output *to = p->help ? &cli->out : &cli->err;
  if (p->noun != NULL) {
    trilha_cli_help_noun(cli, p->noun, to);
  } else {
    trilha_cli_help_overview(cli, to);
  }
  return p->help ? TRILHA_EXIT_OK : TRILHA_EXIT_USAGE;
}

bool trilha_cli_parse(trilha_cli *cli, int argc, char **argv, trilha_cli_args *ret_args, int *ret_status) {
  size_t room = argc > 0 ? (size_t)argc : 1;
  *ret_args =
      (trilha_cli_args){.given = calloc(room, sizeof *ret_args->given), .operands = calloc(room, sizeof(char *))};
  if (ret_args->given == NULL || ret_args->operands == NULL) {
    trilha_cli_say(cli, SAY_NO_MEMORY);
    *ret_status = TRILHA_EXIT_FAILED;
    return false;
  }
  parse p = {.cli = cli, .argc = argc, .argv = argv, .args = ret_args};
  *ret_status = read_words(&p);
  if (*ret_status != TRILHA_EXIT_OK) return false;
  if (cli->verb == NULL) *ret_status = without_verb(&p);
  if (cli->verb == NULL) return false;
  if (p.help) {
    trilha_cli_help_verb(cli, cli->verb);
    return false;
  }
  *ret_status = check_shared(&p);
  if (*ret_status == TRILHA_EXIT_OK) *ret_status = check_operands(&p);
  settle_shared(&p);
  return *ret_status == TRILHA_EXIT_OK;
}

void trilha_cli_args_done(trilha_cli_args *args) {
  free(args->given);
  free(args->operands);
  *args = (trilha_cli_args){0};
}

/* --- asking ---------------------------------------------------------------------------------------------- */

static const trilha_cli_given *given(const trilha_cli_args *args, const char *name) {
  for (size_t i = 0; i < args->given_count; i++) {
    if (strcmp(args->given[i].option->name, name) == 0) return &args->given[i];
  }
  return NULL;
}

bool trilha_cli_has(const trilha_cli_args *args, const char *name) {
  return given(args, name) != NULL;
}

const char *trilha_cli_value(const trilha_cli_args *args, const char *name) {
  const trilha_cli_given *found = given(args, name);
  return found == NULL ? NULL : found->value;
}

trilha_text trilha_cli_text(const trilha_cli_args *args, const char *name) {
  return trilha_text_of(trilha_cli_value(args, name));
}

int64_t trilha_cli_number(const trilha_cli_args *args, const char *name, int64_t otherwise) {
  const char *value = trilha_cli_value(args, name);
  int64_t number = otherwise;
  if (value != NULL) TRILHA_ASSERT(trilha_cli_whole_number(value, &number));
  return number;
}

trilha_text *trilha_cli_values(const trilha_cli_args *args, const char *name, size_t *ret_count) {
  *ret_count = 0;
  trilha_text *values = calloc(args->given_count + 1, sizeof *values);
  for (size_t i = 0; values != NULL && i < args->given_count; i++) {
    if (strcmp(args->given[i].option->name, name) != 0) continue;
    values[(*ret_count)++] = trilha_text_of(args->given[i].value);
  }
  return values;
}
