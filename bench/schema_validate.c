/* bench: nanoseconds to read and judge one document, for each folder of schema.json and instances.jsonl given.
 *
 *   schema_validate [--assert-format] [--rounds N] [--loop N] [--cpu] [--json] [--rules FILE] SET_DIR…
 *
 * Printed for each set: the median and the lowest round of reading (with the schema's keys), of judging a document that
 * is already read, and of both, from bytes to verdict; with --rules, a schema of the same set with x-redacao rules,
 * also of both and redaction, from bytes to what may be stored, with a key; and the schema's compile time. A round
 * takes about 4 ms; the rounds of all are interleaved. A document that is already read is judged N times in a row
 * before the next one with --loop, as peers do that ask the same of themselves: else, with thousands of documents, each
 * is found cold in the caches. With --cpu the clock is the process's processor time, for
 * machines that are busy with other work. Every document must be valid. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "redaction/redaction.h"
#include "schema/schema.h"

enum { ROUNDS_MAX = 201, ROUND_NS = 4000000, PATH_SIZE = 4096 };

typedef struct set {
  const char *folder;
  char *data;
  trilha_text *lines;
  size_t count, bytes;
  trilha_schema *schema, *ruled; /* ruled: NULL without --rules */
  trilha_keyring *keyring;
  trilha_buffer stored;
  trilha_json_reader **readers; /* one a document, so that all stay read */
  const trilha_json_document **read;
  trilha_json_reader *reader;
  trilha_schema_scratch *scratch;
} set;

typedef struct options {
  bool assert_format, json, cpu;
  const char *rules;
  int rounds, loops;
} options;

typedef enum mode { MODE_PARSE, MODE_VALIDATE, MODE_BOTH, MODE_STORED, MODE_COUNT } mode;

static _Noreturn void die(const char *what, const char *name) {
  fprintf(stderr, "schema_validate: %s: %s\n", what, name);
  exit(1);
}

static int64_t now(const options *o) {
  struct timespec at;
  if (!o->cpu) return trilha_clock_monotonic_ns();
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
  return (int64_t)at.tv_sec * 1000000000 + at.tv_nsec;
}

static void *claim(size_t count, size_t size) {
  void *memory = calloc(count + 1, size);
  if (memory == NULL) die("out of memory", "");
  return memory;
}

static char *read_file(const char *path, size_t *ret_size) {
  FILE *f = fopen(path, "rb");
  if (f == NULL) die("cannot open", path);
  fseek(f, 0, SEEK_END);
  long size = ftell(f);
  rewind(f);
  char *data = claim((size_t)size, 1);
  if (fread(data, 1, (size_t)size, f) != (size_t)size) die("cannot read", path);
  fclose(f);
  *ret_size = (size_t)size;
  return data;
}

static void split_lines(set *s) {
  size_t size = 0, capacity = 0;
  char path[PATH_SIZE];
  snprintf(path, sizeof(path), "%s/instances.jsonl", s->folder);
  s->data = read_file(path, &size);
  for (size_t start = 0; start < size;) {
    const char *end = memchr(s->data + start, '\n', size - start);
    size_t length = end == NULL ? size - start : (size_t)(end - s->data) - start;
    if (s->count == capacity) {
      capacity = capacity * 2 + 64;
      s->lines = realloc(s->lines, capacity * sizeof(*s->lines));
      if (s->lines == NULL) die("out of memory", s->folder);
    }
    if (length > 0) s->lines[s->count++] = (trilha_text){s->data + start, length};
    s->bytes += length;
    start += length + 1;
  }
}

/* How long it took. */
static int64_t compile(const char *path, const options *o, const char *annotation, trilha_schema **ret_schema) {
  size_t size = 0;
  char *text = read_file(path, &size);
  trilha_json_document *document = NULL;
  trilha_error error = {0};
  trilha_json_limits limits = TRILHA_JSON_LIMITS;
  if (trilha_json_parse((trilha_text){text, size}, &limits, &document, NULL, &error) != TRILHA_OK) {
    die(error.text, path);
  }
  trilha_schema_options schema_options = {
      .assert_format = o->assert_format, .check_metaschema = true, .annotation = trilha_text_of(annotation)};
  int64_t start = now(o);
  if (trilha_schema_compile(document, &schema_options, ret_schema, &error) != TRILHA_OK) die(error.text, path);
  int64_t took = now(o) - start;
  trilha_json_document_free(document);
  free(text);
  return took;
}

static const trilha_json_document *read_line(trilha_json_reader *reader, const set *s, const trilha_schema *schema,
                                             size_t i) {
  const trilha_json_document *document = NULL;
  trilha_json_limits limits = TRILHA_JSON_LIMITS;
  if (trilha_json_read(reader, s->lines[i], &limits, trilha_schema_keys(schema), &document, NULL, NULL) != TRILHA_OK) {
    die("not JSON", s->folder);
  }
  return document;
}

static void load_key(set *s) {
  trilha_error error = {0};
  setenv("TRILHA_BENCH_KEY", "k1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", 1);
  trilha_buffer_init(&s->stored, TRILHA_REDACTED_BYTES_MAX);
  if (trilha_keyring_load(TRILHA_TEXT("env:TRILHA_BENCH_KEY"), &s->keyring, &error) != TRILHA_OK)
    die(error.text, "key");
}

static void prepare(set *s) {
  if (trilha_json_reader_new(&s->reader, NULL) != TRILHA_OK) die("out of memory", s->folder);
  if (trilha_schema_scratch_new(&s->scratch, NULL) != TRILHA_OK) die("out of memory", s->folder);
  s->readers = claim(s->count, sizeof(trilha_json_reader *));
  s->read = claim(s->count, sizeof(trilha_json_document *));
  for (size_t i = 0; i < s->count; i++) {
    if (trilha_json_reader_new(&s->readers[i], NULL) != TRILHA_OK) die("out of memory", s->folder);
    s->read[i] = read_line(s->readers[i], s, s->schema, i);
  }
}

/* As a publish does it: read, judge, write what may be stored. */
static size_t pass_stored(set *s) {
  size_t stored = 0;
  const trilha_json_keys *keys = trilha_schema_keys(s->ruled);
  for (size_t i = 0; i < s->count; i++) {
    const trilha_json_document *document = read_line(s->reader, s, s->ruled, i);
    if (trilha_schema_validate(s->ruled, document, keys, s->scratch) != TRILHA_VERDICT_VALID) continue;
    trilha_redaction_counts counts;
    trilha_error error = {0};
    trilha_buffer_clear(&s->stored);
    if (trilha_redact(s->ruled, document, keys, s->scratch, TRILHA_TEXT("bench"), s->keyring, &s->stored, &counts, NULL,
                      NULL, &error) != TRILHA_OK)
      die(error.text, s->folder);
    stored++;
  }
  return stored;
}

/* Those that are valid each time. */
static size_t pass_again(set *s, int loops) {
  size_t valid = 0;
  const trilha_json_keys *keys = trilha_schema_keys(s->schema);
  for (size_t i = 0; i < s->count; i++) {
    int found = 0;
    for (int k = 0; k < loops; k++)
      found += trilha_schema_validate(s->schema, s->read[i], keys, s->scratch) == TRILHA_VERDICT_VALID;
    valid += found == loops;
  }
  return valid;
}

static size_t pass(set *s, const options *o, mode m) {
  if (m == MODE_STORED) return pass_stored(s);
  if (m == MODE_VALIDATE) return pass_again(s, o->loops);
  size_t valid = 0;
  const trilha_json_keys *keys = trilha_schema_keys(s->schema);
  for (size_t i = 0; i < s->count; i++) {
    const trilha_json_document *document = read_line(s->reader, s, s->schema, i);
    if (m == MODE_PARSE)
      valid += document->count > 0;
    else
      valid += trilha_schema_validate(s->schema, document, keys, s->scratch) == TRILHA_VERDICT_VALID;
  }
  return valid;
}

static int compare(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

static double round_of(set *s, const options *o, mode m, int passes) {
  int64_t start = now(o);
  for (int i = 0; i < passes; i++) {
    if (pass(s, o, m) != s->count) die("some document is not valid", s->folder);
  }
  const int loops = m == MODE_VALIDATE ? o->loops : 1;
  return (double)(now(o) - start) / passes / loops / (double)s->count;
}

static void measure(set *s, const options *o, int64_t compile_ns) {
  double rounds[MODE_COUNT][ROUNDS_MAX];
  int passes[MODE_COUNT];
  mode modes = s->ruled == NULL ? MODE_STORED : MODE_COUNT;
  for (mode m = 0; m < modes; m++) {
    for (int warm = 0; warm < 3; warm++) (void)round_of(s, o, m, 1);
    const double documents = (double)s->count * (m == MODE_VALIDATE ? o->loops : 1);
    passes[m] = 1 + (int)(ROUND_NS / (round_of(s, o, m, 1) * documents + 1));
  }
  for (int i = 0; i < o->rounds; i++) {
    for (mode m = 0; m < modes; m++) rounds[m][i] = round_of(s, o, m, passes[m]);
  }
  for (mode m = 0; m < modes; m++) qsort(rounds[m], (size_t)o->rounds, sizeof(double), compare);
  const char *name = strrchr(s->folder, '/') == NULL ? s->folder : strrchr(s->folder, '/') + 1;
  const char *format = o->json
                           ? "{\"set\":\"%s\",\"documents\":%zu,\"bytes\":%zu,\"parse_ns\":%.0f,\"parse_ns_min\":%.0f,"
                             "\"validate_ns\":%.0f,\"validate_ns_min\":%.0f,\"parse_validate_ns\":%.0f,"
                             "\"parse_validate_ns_min\":%.0f,\"compile_us\":%.0f"
                           : "%-22s %5zu docs %5zu B | parse %6.0f (%.0f) | validate %6.0f (%.0f) | both %6.0f (%.0f) "
                             "ns | compile %.0f us";
  int middle = o->rounds / 2;
  printf(format, name, s->count, s->bytes / s->count, rounds[0][middle], rounds[0][0], rounds[1][middle], rounds[1][0],
         rounds[2][middle], rounds[2][0], (double)compile_ns / 1000);
  if (modes == MODE_COUNT)
    printf(o->json ? ",\"stored_ns\":%.0f,\"stored_ns_min\":%.0f" : " | and redacted %6.0f (%.0f) ns",
           rounds[3][middle], rounds[3][0]);
  puts(o->json ? "}" : "");
}

static void release(set *s) {
  for (size_t i = 0; i < s->count; i++) trilha_json_reader_free(s->readers[i]);
  trilha_json_reader_free(s->reader);
  trilha_schema_scratch_free(s->scratch);
  trilha_schema_free(s->schema);
  trilha_schema_free(s->ruled);
  trilha_keyring_free(s->keyring);
  trilha_buffer_done(&s->stored);
  free(s->readers);
  free(s->read);
  free(s->lines);
  free(s->data);
}

static void judge(const char *folder, const options *o) {
  set s = {.folder = folder};
  char path[PATH_SIZE];
  snprintf(path, sizeof(path), "%s/schema.json", folder);
  split_lines(&s);
  int64_t compile_ns = compile(path, o, "", &s.schema);
  if (o->rules != NULL) {
    (void)compile(o->rules, o, TRILHA_REDACTION_KEYWORD, &s.ruled);
    load_key(&s);
  }
  prepare(&s);
  measure(&s, o, compile_ns);
  release(&s);
}

int main(int argc, char **argv) {
  options o = {.rounds = 15, .loops = 1};
  int sets = 0;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--assert-format") == 0)
      o.assert_format = true;
    else if (strcmp(argv[i], "--json") == 0)
      o.json = true;
    else if (strcmp(argv[i], "--cpu") == 0)
      o.cpu = true;
    else if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc)
      o.rounds = atoi(argv[++i]);
    else if (strcmp(argv[i], "--loop") == 0 && i + 1 < argc)
      o.loops = atoi(argv[++i]);
    else if (strcmp(argv[i], "--rules") == 0 && i + 1 < argc)
      o.rules = argv[++i];
    else if (argv[i][0] == '-')
      die("unknown option", argv[i]);
    else
      sets++;
  }
  if (sets == 0 || o.rounds < 1 || o.rounds > ROUNDS_MAX || o.loops < 1)
    die("usage", "[--assert-format] [--rounds N] [--loop N] [--cpu] [--json] [--rules FILE] SET_DIR…");
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--rounds") == 0 || strcmp(argv[i], "--loop") == 0 || strcmp(argv[i], "--rules") == 0)
      i++;
    else if (argv[i][0] != '-')
      judge(argv[i], &o);
  }
  return 0;
}
