/* cli/cli_internal: what the verbs share: their table, their options, their output. Room: cli. One thread. */
#ifndef TRILHA_CLI_CLI_INTERNAL_H
#define TRILHA_CLI_CLI_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "trilha/trilha.h"

typedef enum trilha_cli_exit {
  TRILHA_EXIT_OK = 0,
  TRILHA_EXIT_FAILED = 1,
  TRILHA_EXIT_USAGE = 2,
  TRILHA_EXIT_REFUSED = 3,
  TRILHA_EXIT_UNAVAILABLE = 4
} trilha_cli_exit;

/* A text for people in both languages. The texts themselves are in messages.h. */
typedef struct trilha_cli_words {
  const char *en, *pt;
} trilha_cli_words;

/* A literal as the initialiser of a constant trilha_text. */
#define TRILHA_CLI_LITERAL(literal) \
  { (literal), sizeof(literal) - 1 }

/* --- output (output.c) --------------------------------------------------------------------------------- */

enum { TRILHA_CLI_OUTPUT_CHUNK = 64 << 10 }; /* bytes gathered before a write */

/* One stream. After the first failed write everything is dropped and os_errno says why; the program then ends with 1
 * (EPIPE: quietly with 0, the reader has seen enough). */
typedef struct trilha_cli_output {
  int fd;
  bool terminal, colour;
  int os_errno;
  trilha_buffer buffer;
} trilha_cli_output;

void trilha_cli_output_init(trilha_cli_output *o, int fd);
void trilha_cli_output_done(trilha_cli_output *o);
void trilha_cli_put(trilha_cli_output *o, trilha_text text);
void trilha_cli_puts(trilha_cli_output *o, const char *terminated);
void trilha_cli_putf(trilha_cli_output *o, const char *format, ...) TRILHA_PRINTF(2, 3);
/* Data from outside, for people: control, C1, bidirectional and line-breaking characters and invalid UTF-8 are shown
 * escaped. */
void trilha_cli_put_safe(trilha_cli_output *o, trilha_text text);
/* One JSON text (already valid, without raw control characters): on a terminal C1 and bidirectional characters, which
 * can only be inside strings, become \u escapes; elsewhere the bytes are untouched. */
void trilha_cli_put_json(trilha_cli_output *o, trilha_text json);
/* A JSON string (json_output.c); bytes that are not UTF-8 appear as \\xNN. */
void trilha_cli_put_json_string(trilha_cli_output *o, trilha_text text);
/* ,"name":"text" with an absent text as null. `name` needs no escaping. */
void trilha_cli_put_json_member(trilha_cli_output *o, bool first, const char *name, trilha_text text);
/* Writes what is gathered; false once the stream has failed. */
bool trilha_cli_flush(trilha_cli_output *o);

/* Appends `text` to `out` escaped as by trilha_cli_put_safe(). */
void trilha_cli_escape(trilha_buffer *out, trilha_text text);
/* Terminal columns of valid UTF-8 without control characters. */
size_t trilha_cli_columns(trilha_text text);
/* Bytes of the longest start of `cell` that takes at most `columns`. */
size_t trilha_cli_cut(trilha_text cell, size_t columns);

typedef enum trilha_cli_style {
  TRILHA_STYLE_PLAIN,
  TRILHA_STYLE_BOLD,
  TRILHA_STYLE_DIM,
  TRILHA_STYLE_GOOD,
  TRILHA_STYLE_BAD,
  TRILHA_STYLE_WARN
} trilha_cli_style;
/* Switches colour on a terminal that wants it; nothing elsewhere. */
void trilha_cli_style_set(trilha_cli_output *o, trilha_cli_style style);

/* --- the verbs' table (verbs.c) and their options (options.c) ------------------------------------------- */

typedef enum trilha_cli_kind {
  TRILHA_CLI_FLAG = 0, /* no argument */
  TRILHA_CLI_TEXT,
  TRILHA_CLI_NUMBER, /* a whole number from `minimum` */
  TRILHA_CLI_FILE,
  TRILHA_CLI_FOLDER,
  TRILHA_CLI_COMMAND /* a program and its arguments: all words up to the end or "--" */
} trilha_cli_kind;

typedef struct trilha_cli_option {
  const char *name; /* without the dashes */
  char letter;      /* 0: none */
  trilha_cli_kind kind;
  bool repeats;
  int minimum;
  const char *argument; /* as shown in help, e.g. "UUID" */
  trilha_cli_words help;
} trilha_cli_option;

typedef struct trilha_cli_example {
  const char *command;
  trilha_cli_words says;
} trilha_cli_example;

typedef struct trilha_cli trilha_cli;
typedef struct trilha_cli_args trilha_cli_args;

enum { /* trilha_cli_verb.shared: which of the shared options it takes besides --help and --verbose */
       TRILHA_CLI_STORE = 1,
       TRILHA_CLI_KEYRING = 2,
       TRILHA_CLI_JSON = 4,
       TRILHA_CLI_DRY_RUN = 8,
       TRILHA_CLI_TOP = 16 /* --version, which stands for a command */
};

enum { TRILHA_CLI_EXAMPLES_MAX = 5, TRILHA_CLI_OPERANDS_ANY = 1 << 20 };

typedef struct trilha_cli_verb {
  const char *noun; /* NULL for a verb that stands alone */
  const char *name;
  trilha_cli_words summary;  /* one line, no full stop */
  trilha_cli_words explains; /* paragraphs for --help */
  const char *operands;      /* as shown in the usage line, "" for none */
  trilha_cli_kind operand_kind;
  const char *operand_words; /* for completion: the only words possible, separated by blanks, or NULL */
  int operands_min, operands_max;
  unsigned shared;
  const trilha_cli_option *options; /* ended by a NULL name */
  trilha_cli_example examples[TRILHA_CLI_EXAMPLES_MAX];
  int (*run)(trilha_cli *cli, const trilha_cli_args *args);
} trilha_cli_verb;

extern const trilha_cli_verb trilha_cli_verbs[];
extern const size_t trilha_cli_verb_count;
extern const trilha_cli_option trilha_cli_shared_options[]; /* ended by a NULL name */
extern const trilha_cli_option trilha_cli_publish_options[];
extern const size_t trilha_cli_publish_option_count;
/* delivery_options.c */
extern const trilha_cli_option trilha_cli_consume_options[];
extern const trilha_cli_option trilha_cli_consumers_options[];
extern const trilha_cli_option trilha_cli_dlq_list_options[];
extern const trilha_cli_option trilha_cli_dlq_reprocess_options[];
extern const trilha_cli_option trilha_cli_dlq_retry_options[];

/* Which TRILHA_CLI_* bit a shared option needs; 0: every verb takes it. */
unsigned trilha_cli_shared_bit(const trilha_cli_option *option);
const trilha_cli_verb *trilha_cli_verb_find(const char *noun, const char *name);
bool trilha_cli_noun_exists(const char *noun);

typedef struct trilha_cli_given {
  const trilha_cli_option *option;
  const char *value;
} trilha_cli_given;

struct trilha_cli_args {
  trilha_cli_given *given;
  size_t given_count;
  const char **operands;
  size_t operand_count;
  char *const *command; /* the words of a COMMAND option, in argv */
  size_t command_count;
};

/* Parses argv into cli->verb and args; false: a usage error was reported (the exit status is then 2) or help was asked
 * for and shown
 * (*ret_status says which). */
bool trilha_cli_parse(trilha_cli *cli, int argc, char **argv, trilha_cli_args *ret_args, int *ret_status);
void trilha_cli_args_done(trilha_cli_args *args);
bool trilha_cli_has(const trilha_cli_args *args, const char *name);
/* The (first) value, or NULL. */
const char *trilha_cli_value(const trilha_cli_args *args, const char *name);
/* The value as an absent-able text. */
trilha_text trilha_cli_text(const trilha_cli_args *args, const char *name);
/* A NUMBER option's value (checked while parsing), or `otherwise`. */
int64_t trilha_cli_number(const trilha_cli_args *args, const char *name, int64_t otherwise);
/* All values of a repeating option: the caller's array, freed with free(); *ret_count 0 and NULL when none. */
trilha_text *trilha_cli_values(const trilha_cli_args *args, const char *name, size_t *ret_count);
/* A whole number in decimal, nothing else around it. */
bool trilha_cli_whole_number(const char *text, int64_t *ret_number);

/* The candidate nearest to a mistyped word, or NULL when none is near (suggest.c). `next` gives the i-th candidate,
 * NULL at the end. */
const char *trilha_cli_nearest(const char *typed, const char *(*next)(const void *user, size_t i), const void *user);

/* --- the program's state (main.c) ------------------------------------------------------------------------ */

/* The line that shows how far a long run is (progress.c): on a terminal only, from the first second on, on standard
 * error. */
typedef struct trilha_cli_progress {
  bool wanted, shown;
  int64_t started_ns, drawn_ns;
} trilha_cli_progress;

struct trilha_cli {
  trilha_cli_output out, err;
  bool portuguese;
  bool json, verbose, dry_run;
  bool results_told;               /* the verb tells every single result, so that no diagnostic has to */
  unsigned width;                  /* columns of the terminal */
  char user[64];                   /* the login, for audit rows */
  const char *store_url, *keyring; /* as given or from the environment; NULL: default */
  const trilha_cli_verb *verb;
  trilha_cli_progress progress;
};

static inline const char *trilha_cli_choose(const trilha_cli *cli, trilha_cli_words words) {
  return cli->portuguese ? words.pt : words.en;
}

void trilha_cli_init(trilha_cli *cli);
/* Ends the streams and settles the exit status: an output that could not be written turns success into failure. */
int trilha_cli_done(trilha_cli *cli, int status);

/* --- saying things to people (say.c). `en` and `pt` come together from messages.h and are both checked by the compiler
 * ------ */

/* A line on standard error, after "trilha: ". */
void trilha_cli_say(trilha_cli *cli, const char *en, const char *pt, ...) TRILHA_PRINTF(2, 4) TRILHA_PRINTF(3, 4);
/* A hint under it. */
void trilha_cli_hint(trilha_cli *cli, const char *en, const char *pt, ...) TRILHA_PRINTF(2, 4) TRILHA_PRINTF(3, 4);
/* Text on standard output. */
void trilha_cli_tell(trilha_cli *cli, const char *en, const char *pt, ...) TRILHA_PRINTF(2, 4) TRILHA_PRINTF(3, 4);
/* A usage error: says it, points at --help, returns TRILHA_EXIT_USAGE. */
int trilha_cli_usage(trilha_cli *cli, const char *en, const char *pt, ...) TRILHA_PRINTF(2, 4) TRILHA_PRINTF(3, 4);
/* An error of the library, with what to do about it where that is known; returns the exit status that its kind asks
 * for. */
int trilha_cli_fail(trilha_cli *cli, const trilha_error *error);
int trilha_cli_exit_of(const trilha_error *error);
/* Only what to do about it, as a hint; says nothing where that is not known. */
bool trilha_cli_has_remedy(const trilha_error *error);
void trilha_cli_hint_remedy(trilha_cli *cli, const trilha_error *error);
/* The error on one line without its end: in Portuguese what its code means, with the library's own text behind it. */
void trilha_cli_put_error(const trilha_cli *cli, trilha_cli_output *to, const trilha_error *error);

/* What a failed keyword asks for, in the chosen language (reasons.c). */
void trilha_cli_put_reason(const trilha_cli *cli, trilha_cli_output *to, trilha_text text);

/* --- common steps ---------------------------------------------------------------------------------------- */

/* Copies the words that hold a store's URL and blanks in the originals what may be a password: those are what the
 * process list shows. The copies live as long as the process (arguments.c). */
void trilha_cli_hide_secrets(int argc, char **argv);
/* The options as the command line asks (store.c); diagnostics go to standard error. */
trilha_options trilha_cli_options(trilha_cli *cli);
/* Opens the store; on failure says why and gives the exit status. */
int trilha_cli_open(trilha_cli *cli, trilha **ret_handle);
/* Who runs the program, for the audit trail: the login name, else "uid N". */
trilha_text trilha_cli_user(char *room, size_t room_size);

/* Reads a whole file ("-": standard input), at most `max` bytes (LIMIT, code FILE_TOO_LARGE). `ret_text` is initialised
 * by the call. */
trilha_status trilha_cli_read_file(const char *path, size_t max, trilha_buffer *ret_text, trilha_error *error);

/* SIGINT and SIGTERM ask to stop (interrupt.c): the first sets this flag, a second one ends the process as usual. */
void trilha_cli_interrupt_install(void);
const volatile bool *trilha_cli_interrupted(void);

void trilha_cli_progress_begin(trilha_cli *cli);
/* Draws when it is time: "<count> <what>". */
void trilha_cli_progress_show(trilha_cli *cli, int64_t count, trilha_cli_words what);
/* Takes the line away, so that something else can be printed. */
void trilha_cli_progress_hide(trilha_cli *cli);

/* A table for people (table.c): cells are escaped; on a terminal the widest cells are cut with "…" until the row fits.
 */
enum { TRILHA_CLI_COLUMNS_MAX = 12 };
typedef struct trilha_cli_table {
  trilha_buffer cells;                /* each terminated by U+0000 */
  size_t columns, added;              /* cells a row; cells so far */
  bool right[TRILHA_CLI_COLUMNS_MAX]; /* numbers */
  bool firm[TRILHA_CLI_COLUMNS_MAX];  /* never cut: ids that people copy */
  bool spare[TRILHA_CLI_COLUMNS_MAX]; /* left out when the terminal is too narrow; never the first */
} trilha_cli_table;
void trilha_cli_table_init(trilha_cli_table *table, size_t columns);
void trilha_cli_table_done(trilha_cli_table *table);
/* The next cell, row by row; the first row is the heading. An absent text shows "-". */
void trilha_cli_table_add(trilha_cli_table *table, trilha_text text);
void trilha_cli_table_add_number(trilha_cli_table *table, int64_t number);
void trilha_cli_table_print(trilha_cli *cli, const trilha_cli_table *table);

/* Rows of a list: lines of JSON at once, or a table at the end. Who adds a row counts it. */
typedef struct trilha_cli_rows {
  trilha_cli *cli;
  trilha_cli_table table;
  size_t count;
} trilha_cli_rows;
void trilha_cli_rows_begin(trilha_cli_rows *rows, trilha_cli *cli, const char *const *headings, size_t columns);
/* A row of texts alone: `members` names them in JSON. Counts it. */
void trilha_cli_rows_put(trilha_cli_rows *rows, const char *const *members, const trilha_text *texts, size_t count);
/* Prints what was gathered, or `none` when there was nothing; nothing after a failure. */
void trilha_cli_rows_end(trilha_cli_rows *rows, trilha_status status, trilha_cli_words none);

/* --- events (show.c): the exit status is not 0 when one could not be written as JSON ------------------------ */

int trilha_cli_put_event_json(trilha_cli *cli, const trilha_event *event);
/* A page: R6's page object with --json, else a table. */
int trilha_cli_show_page(trilha_cli *cli, const trilha_events_page *page);
/* All fields, one a line. */
void trilha_cli_show_event(trilha_cli *cli, const trilha_event *event);
/* One line: JSON, or on a terminal without --json a short form. */
int trilha_cli_put_event_line(trilha_cli *cli, const trilha_event *event);
/* JSON text over several lines, two blanks a level, for people. */
void trilha_cli_put_indented(trilha_cli *cli, trilha_text json, int indent);

/* A key, the demanda.* types and the seed events (dev.c). */
int trilha_cli_fill_for_development(trilha_cli *cli);
/* Registers the versions and tells what became of each (registry.c). */
struct trilha_cli_type_files;
/* "applied", "present", … in the chosen language (init.c). */
trilha_cli_words trilha_cli_migration_words(const char *what);
int trilha_cli_apply_types(trilha_cli *cli, trilha *handle, const struct trilha_cli_type_files *files);

/* --- help (help.c) --------------------------------------------------------------------------------------- */

/* Wraps `text` at the terminal's width; every line begins at column `indent`, where the cursor is already for the
 * first. */
void trilha_cli_wrap(const trilha_cli *cli, trilha_cli_output *to, const char *text, size_t indent);
void trilha_cli_help_overview(trilha_cli *cli, trilha_cli_output *to);
void trilha_cli_help_noun(trilha_cli *cli, const char *noun, trilha_cli_output *to);
void trilha_cli_help_verb(trilha_cli *cli, const trilha_cli_verb *verb);

/* --- the verbs -------------------------------------------------------------------------------------------- */

int trilha_cli_run_init(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_publish(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_events_list(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_events_show(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_events_trace(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_events_replay(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_events_tail(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_registry_apply(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_registry_list(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_registry_show(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_registry_deprecate(trilha_cli *cli, const trilha_cli_args *args);
/* schema_validate.c */
int trilha_cli_run_schema_validate(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_keyring_add(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_keyring_list(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_consume(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_consumers_list(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_dlq_stats(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_dlq_list(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_dlq_show(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_dlq_reprocess(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_dlq_retry(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_demo(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_version(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_completion(trilha_cli *cli, const trilha_cli_args *args);
int trilha_cli_run_help(trilha_cli *cli, const trilha_cli_args *args);

#endif
