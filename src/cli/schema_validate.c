/* cli/schema_validate: `trilha schema validate`: instances against a schema, without a store. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/lines.h"
#include "cli/messages.h"
#include "cli/schema_files.h"
#include "schema/schema.h"

#define INSTANCE_BYTES_MAX TRILHA_JSON_BYTES_MAX

typedef struct validation {
  trilha_cli *cli;
  trilha_cli_schema_files files;
  trilha_json_document *document; /* the schema's */
  trilha_schema *schema;
  trilha_schema_scratch *scratch;
  trilha_json_reader *reader;
  int64_t valid, invalid;
  bool failed; /* an instance could not be opened or read */
} validation;

/* Where an instance came from; line 0: a file of its own. */
typedef struct place {
  const char *path;
  int64_t line;
} place;

/* --- telling -------------------------------------------------------------------------------------------- */

static void begin_json(validation *v, place at, bool valid) {
  trilha_cli_output *out = &v->cli->out;
  trilha_cli_putf(out, "{\"valid\":%s", valid ? "true" : "false");
  trilha_cli_put_json_member(out, false, "instance", trilha_text_of(at.path));
  if (at.line > 0) trilha_cli_putf(out, ",\"line\":%lld", (long long)at.line);
}

static void begin_people(validation *v, place at, bool valid, const char *word) {
  trilha_cli_output *out = &v->cli->out;
  trilha_cli_put_safe(out, trilha_text_of(at.path));
  if (at.line > 0) trilha_cli_putf(out, ":%lld", (long long)at.line);
  trilha_cli_puts(out, ": ");
  trilha_cli_style_set(out, valid ? TRILHA_STYLE_GOOD : TRILHA_STYLE_BAD);
  trilha_cli_puts(out, word);
  trilha_cli_style_set(out, TRILHA_STYLE_PLAIN);
}

static void tell_valid(validation *v, place at) {
  v->valid++;
  if (v->cli->json) {
    begin_json(v, at, true);
    trilha_cli_puts(&v->cli->out, "}\n");
  } else {
    begin_people(v, at, true, trilha_cli_choose(v->cli, (trilha_cli_words){SAY_INSTANCE_VALID}));
    trilha_cli_puts(&v->cli->out, "\n");
  }
}

/* What could not be read, or not be decided. */
static void tell_error(validation *v, place at, const trilha_error *error, const trilha_json_fault *fault) {
  trilha_cli_output *out = &v->cli->out;
  v->invalid++;
  if (!v->cli->json) {
    begin_people(v, at, false, "");
    trilha_cli_put_error(v->cli, out, error);
    trilha_cli_puts(out, "\n");
    return;
  }
  begin_json(v, at, false);
  trilha_cli_puts(out, ",\"keywordLocation\":\"\",\"instanceLocation\":\"\"");
  trilha_cli_put_json_member(out, false, "error", trilha_text_of(error->text));
  trilha_cli_put_json_member(out, false, "code", trilha_text_of(error->code));
  if (fault != NULL && fault->line > 0)
    trilha_cli_putf(out, ",\"errorLine\":%u,\"errorColumn\":%u", (unsigned)fault->line, (unsigned)fault->column);
  trilha_cli_puts(out, "}\n");
}

/* One unit of the flat list of 2020-12 core, section 12.4.2. */
static void put_unit(trilha_cli_output *out, bool first, const trilha_violation *violation) {
  trilha_cli_puts(out, first ? "{\"valid\":false" : ",{\"valid\":false");
  trilha_cli_put_json_member(out, false, "keywordLocation", violation->schema_pointer);
  bool absolute = violation->schema_location.size > 0 && violation->schema_location.data[0] != '#';
  if (absolute) trilha_cli_put_json_member(out, false, "absoluteKeywordLocation", violation->schema_location);
  trilha_cli_put_json_member(out, false, "instanceLocation", violation->instance_pointer);
  trilha_cli_put_json_member(out, false, "keyword", violation->keyword);
  trilha_cli_put_json_member(out, false, "error", violation->text);
  trilha_cli_puts(out, "}");
}

/* The same as a unit of the later drafts' "list" format, for tools that know that one. */
static void put_detail(trilha_cli_output *out, bool first, const trilha_violation *violation) {
  trilha_cli_puts(out, first ? "{\"valid\":false" : ",{\"valid\":false");
  trilha_cli_put_json_member(out, false, "evaluationPath", violation->schema_pointer);
  trilha_cli_put_json_member(out, false, "schemaLocation", violation->schema_location);
  trilha_cli_put_json_member(out, false, "instanceLocation", violation->instance_pointer);
  trilha_cli_puts(out, ",\"errors\":{");
  trilha_cli_put_json_string(out, violation->keyword);
  trilha_cli_puts(out, ":");
  trilha_cli_put_json_string(out, violation->text);
  trilha_cli_puts(out, "}}");
}

static void put_line_for_people(trilha_cli *cli, const trilha_violation *violation) {
  trilha_cli_output *out = &cli->out;
  trilha_cli_puts(out, "    ");
  trilha_cli_style_set(out, TRILHA_STYLE_BOLD);
  trilha_cli_put_safe(out, violation->instance_pointer.size == 0 ? TRILHA_TEXT("\"\"") : violation->instance_pointer);
  trilha_cli_style_set(out, TRILHA_STYLE_PLAIN);
  trilha_cli_puts(out, "  ");
  trilha_cli_put_reason(cli, out, violation->text);
  trilha_cli_style_set(out, TRILHA_STYLE_DIM);
  trilha_cli_puts(out, "  (");
  trilha_cli_put_safe(out, violation->keyword);
  trilha_cli_puts(out, ": ");
  trilha_cli_put_safe(out, violation->schema_pointer);
  trilha_cli_puts(out, ")");
  trilha_cli_style_set(out, TRILHA_STYLE_PLAIN);
  trilha_cli_puts(out, "\n");
}

static void tell_violations(validation *v, place at, const trilha_violations *found) {
  trilha_cli_output *out = &v->cli->out;
  v->invalid++;
  if (v->cli->json) {
    begin_json(v, at, false);
    trilha_cli_putf(out, ",\"keywordLocation\":\"\",\"instanceLocation\":\"\",\"errorCount\":%zu,\"errors\":[",
                    found->total);
    for (size_t i = 0; i < found->count; i++) put_unit(out, i == 0, &found->items[i]);
    trilha_cli_puts(out, "],\"details\":[");
    for (size_t i = 0; i < found->count; i++) put_detail(out, i == 0, &found->items[i]);
    trilha_cli_puts(out, "]}\n");
    return;
  }
  begin_people(v, at, false, trilha_cli_choose(v->cli, (trilha_cli_words){SAY_INSTANCE_INVALID}));
  trilha_cli_puts(out, "\n");
  for (size_t i = 0; i < found->count; i++) put_line_for_people(v->cli, &found->items[i]);
  if (found->total > found->count) {
    trilha_cli_tell(v->cli, SAY_MORE_ERRORS, found->total - found->count);
    trilha_cli_puts(out, "\n");
  }
}

/* --- validating ------------------------------------------------------------------------------------------ */

static void validate_text(validation *v, place at, trilha_text text) {
  const trilha_json_document *document = NULL;
  trilha_json_fault fault = {0};
  trilha_error error = {0};
  trilha_violations found = {0};
  const trilha_json_keys *keys = trilha_schema_keys(v->schema);
  if (trilha_json_read(v->reader, text, &TRILHA_JSON_LIMITS, keys, &document, &fault, &error) != TRILHA_OK) {
    tell_error(v, at, &error, &fault);
    return;
  }
  trilha_verdict verdict = trilha_schema_validate(v->schema, document, keys, v->scratch);
  if (verdict == TRILHA_VERDICT_VALID) {
    tell_valid(v, at);
    return;
  }
  if (verdict == TRILHA_VERDICT_INVALID &&
      trilha_schema_report(v->schema, document, keys, false, v->scratch, &found, &error) == TRILHA_OK &&
      found.verdict == TRILHA_VERDICT_INVALID) {
    tell_violations(v, at, &found);
    return;
  }
  (void)trilha_error_set(&error, TRILHA_LIMIT, "INSTANCE_UNDECIDED",
                         "it could not be decided within the limits of a validation");
  tell_error(v, at, &error, NULL);
}

static bool is_blank(trilha_text line) {
  for (size_t i = 0; i < line.size; i++)
    if (memchr(" \t\r", line.data[i], 3) == NULL) return false;
  return true;
}

static void cannot_read(validation *v, place at, const trilha_error *error) {
  v->failed = true;
  tell_error(v, at, error, NULL);
}

static void validate_lines(validation *v, const char *path, int fd) {
  trilha_cli_lines lines;
  trilha_text line;
  trilha_status status = TRILHA_OK;
  trilha_cli_lines_init(&lines, fd, INSTANCE_BYTES_MAX);
  do {
    trilha_error error = {0};
    status = trilha_cli_lines_next(&lines, &line, &error);
    place at = {path, lines.line};
    if (status == TRILHA_LIMIT)
      tell_error(v, at, &error, NULL);
    else if (status != TRILHA_OK)
      cannot_read(v, (place){path, 0}, &error);
    else if (line.data != NULL && !is_blank(line))
      validate_text(v, at, line);
    trilha_cli_progress_show(v->cli, v->valid + v->invalid, (trilha_cli_words){SAY_LINES});
  } while (v->cli->out.os_errno == 0 && (status == TRILHA_LIMIT || (status == TRILHA_OK && line.data != NULL)));
  trilha_cli_lines_done(&lines);
}

static void validate_document(validation *v, const char *path) {
  TRILHA_BUFFER_SCOPED text;
  trilha_error error = {0};
  place at = {path, 0};
  if (strcmp(path, "-") == 0 && isatty(STDIN_FILENO) == 1) trilha_cli_hint(v->cli, SAY_READING_TERMINAL);
  trilha_status status = trilha_cli_read_json_file(path, INSTANCE_BYTES_MAX, &text, &error);
  if (status == TRILHA_OK)
    validate_text(v, at, trilha_buffer_text(&text));
  else if (status == TRILHA_LIMIT || status == TRILHA_INVALID)
    tell_error(v, at, &error, NULL);
  else
    cannot_read(v, at, &error);
}

static bool holds_lines(const char *path) {
  const char *dot = strrchr(path, '.');
  return dot != NULL && (strcmp(dot, ".jsonl") == 0 || strcmp(dot, ".ndjson") == 0);
}

static void validate_file(validation *v, const char *path, bool lines) {
  if (!lines && !holds_lines(path)) {
    validate_document(v, path);
    return;
  }
  bool standard = strcmp(path, "-") == 0;
  int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    trilha_error error = {0};
    (void)trilha_error_set_errno(&error, TRILHA_IO, "FILE_OPEN", errno, "cannot open %s", path);
    cannot_read(v, (place){path, 0}, &error);
    return;
  }
  validate_lines(v, path, fd);
  if (!standard) close(fd);
}

/* --- the schema ------------------------------------------------------------------------------------------- */

static trilha_status read_folders(validation *v, const trilha_cli_args *args, trilha_error *error) {
  size_t count = 0;
  trilha_text *folders = trilha_cli_values(args, "ref-dir", &count);
  trilha_status status = TRILHA_OK;
  for (size_t i = 0; status == TRILHA_OK && i < count; i++)
    status = trilha_cli_schema_files_add(&v->files, folders[i], error);
  free(folders);
  return status;
}

static trilha_status read_schema(validation *v, const trilha_cli_args *args, trilha_error *error) {
  TRILHA_BUFFER_SCOPED text;
  const char *path = trilha_cli_value(args, "schema");
  trilha_status status = trilha_cli_read_json_file(path, TRILHA_CLI_SCHEMA_FILE_BYTES_MAX, &text, error);
  if (status == TRILHA_OK)
    status = trilha_json_parse(trilha_buffer_text(&text), &TRILHA_JSON_LIMITS, &v->document, NULL, error);
  if (status != TRILHA_OK) return status;
  trilha_schema_options options = {.assert_format = trilha_cli_has(args, "assert-format"),
                                   .check_metaschema = true,
                                   .base_uri = trilha_cli_schema_files_uri_of(&v->files, path),
                                   .resolve = trilha_cli_schema_files_resolve,
                                   .resolve_user = &v->files};
  return trilha_schema_compile(v->document, &options, &v->schema, error);
}

static trilha_status prepare(validation *v, const trilha_cli_args *args, trilha_error *error) {
  trilha_status status = read_folders(v, args, error);
  if (status == TRILHA_OK) status = read_schema(v, args, error);
  if (status == TRILHA_OK) status = trilha_schema_scratch_new(&v->scratch, error);
  if (status == TRILHA_OK) status = trilha_json_reader_new(&v->reader, error);
  return status;
}

static void done(validation *v) {
  trilha_json_reader_free(v->reader);
  trilha_schema_scratch_free(v->scratch);
  trilha_schema_free(v->schema);
  trilha_json_document_free(v->document);
  trilha_cli_schema_files_done(&v->files);
}

/* What a reference may have been meant to reach. */
static void explain_unresolved(validation *v, const trilha_error *error) {
  if (strcmp(error->code, "SCHEMA_REF_UNRESOLVED") != 0) return;
  if (v->files.count == 0) trilha_cli_hint(v->cli, SAY_USE_REF_DIR);
  for (size_t i = 0; i < v->files.count; i++) {
    const trilha_cli_schema_file *file = &v->files.list[i];
    if (file->document == NULL) trilha_cli_hint(v->cli, SAY_LEFT_OUT, file->path, file->error.text);
  }
}

int trilha_cli_run_schema_validate(trilha_cli *cli, const trilha_cli_args *args) {
  validation v = {.cli = cli};
  trilha_error error = {0};
  if (!trilha_cli_has(args, "schema")) return trilha_cli_usage(cli, SAY_OPTION_MISSING, "schema");
  int exit_status = TRILHA_EXIT_USAGE;
  if (prepare(&v, args, &error) != TRILHA_OK) {
    (void)trilha_cli_fail(cli, &error);
    explain_unresolved(&v, &error);
    if (error.status == TRILHA_NO_MEMORY) exit_status = TRILHA_EXIT_FAILED;
  } else {
    trilha_cli_progress_begin(cli);
    for (size_t i = 0; i < args->operand_count; i++)
      validate_file(&v, args->operands[i], trilha_cli_has(args, "jsonl"));
    trilha_cli_progress_hide(cli);
    exit_status = v.failed ? TRILHA_EXIT_FAILED : v.invalid > 0 ? TRILHA_EXIT_REFUSED : TRILHA_EXIT_OK;
  }
  done(&v);
  return exit_status;
}
