/* bench: nanoseconds of processor time to read one document, for each set of documents given.
 *
 *   json_read [--core portable|sse2|avx2] [--keys NAME,NAME,…] [--rounds N] FILE.jsonl…
 *
 * Each file holds one document a line. Printed: the median and the lowest round, and bytes of a document. A round reads
 * the whole set often enough to take about 5 ms, with one reader that keeps its memory, as a publisher does. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "json/json_internal.h"

enum { ROUNDS_MAX = 101 };

typedef struct set {
  char *data;
  trilha_text *lines;
  size_t count, bytes;
} set;

typedef struct options {
  trilha_json_isa isa;
  trilha_json_keys *keys;
  int rounds;
} options;

/* Time this program had the processor for: what other programs do then disturbs less. */
static int64_t processor_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void die(const char *what, const char *name) {
  fprintf(stderr, "json_read: %s: %s\n", what, name);
  exit(1);
}

static char *read_all(const char *path, size_t *ret_size) {
  FILE *f = fopen(path, "rb");
  if (f == NULL) die("cannot open", path);
  fseek(f, 0, SEEK_END);
  long size = ftell(f);
  rewind(f);
  char *data = malloc((size_t)size + 1);
  if (data == NULL || fread(data, 1, (size_t)size, f) != (size_t)size) die("cannot read", path);
  fclose(f);
  data[size] = '\n';
  *ret_size = (size_t)size;
  return data;
}

static set set_of(const char *path) {
  size_t size = 0;
  set s = {.data = read_all(path, &size)};
  size_t capacity = 0;
  for (char *p = s.data, *end = s.data + size; p < end;) {
    char *stop = memchr(p, '\n', (size_t)(end - p) + 1);
    if (s.count == capacity) {
      capacity = capacity * 2 + 64;
      s.lines = realloc(s.lines, capacity * sizeof *s.lines);
      if (s.lines == NULL) die("out of memory", path);
    }
    if (stop > p) s.lines[s.count++] = (trilha_text){p, (size_t)(stop - p)};
    s.bytes += (size_t)(stop - p);
    p = stop + 1;
  }
  if (s.count == 0) die("no documents", path);
  return s;
}

static void read_set(trilha_json_reader *reader, const set *s, const trilha_json_keys *keys) {
  static const trilha_json_limits limits = {TRILHA_JSON_BYTES_MAX, TRILHA_JSON_DEPTH_MAX, TRILHA_JSON_NUMBER_SIZE_MAX};
  trilha_error err = {0};
  for (size_t i = 0; i < s->count; i++) {
    const trilha_json_document *document = NULL;
    if (trilha_json_read(reader, s->lines[i], &limits, keys, &document, NULL, &err) != TRILHA_OK)
      die("a document is refused", err.text);
  }
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void measure(const options *o, const char *path) {
  set s = set_of(path);
  trilha_json_reader *reader = NULL;
  if (trilha_json_reader_new(&reader, NULL) != TRILHA_OK || !trilha_json_reader_use(reader, o->isa))
    die("no such core", path);
  read_set(reader, &s, o->keys);
  int64_t start = processor_ns();
  read_set(reader, &s, o->keys);
  int64_t once = processor_ns() - start;
  int64_t times = 5000000 / (once + 1) + 1;
  double results[ROUNDS_MAX];
  for (int round = 0; round < o->rounds; round++) {
    start = processor_ns();
    for (int64_t i = 0; i < times; i++) read_set(reader, &s, o->keys);
    results[round] = (double)(processor_ns() - start) / (double)times / (double)s.count;
  }
  qsort(results, (size_t)o->rounds, sizeof results[0], by_value);
  printf("%8.0f ns  lowest %8.0f ns  %6zu bytes  %s\n", results[o->rounds / 2], results[0], s.bytes / s.count, path);
  trilha_json_reader_free(reader);
  free(s.lines);
  free(s.data);
}

static trilha_json_keys *keys_of(char *list) {
  trilha_text names[256];
  size_t count = 0;
  char *rest = NULL;
  for (char *name = strtok_r(list, ",", &rest); name != NULL && count < 256; name = strtok_r(NULL, ",", &rest))
    names[count++] = trilha_text_of(name);
  trilha_json_keys *keys = NULL;
  trilha_error err = {0};
  if (trilha_json_keys_new(names, count, &keys, &err) != TRILHA_OK) die("keys", err.text);
  return keys;
}

static trilha_json_isa core_of(const char *name) {
  static const char *const names[] = {"portable", "sse2", "avx2"};
  for (size_t i = 0; i < 3; i++)
    if (strcmp(name, names[i]) == 0) return (trilha_json_isa)i;
  die("no such core", name);
  return TRILHA_JSON_PORTABLE;
}

int main(int argc, char **argv) {
  options o = {.isa = trilha_json_isa_best(), .rounds = 51};
  int at = 1;
  for (; at + 1 < argc && strncmp(argv[at], "--", 2) == 0; at += 2) {
    if (strcmp(argv[at], "--core") == 0) o.isa = core_of(argv[at + 1]);
    if (strcmp(argv[at], "--keys") == 0) o.keys = keys_of(argv[at + 1]);
    if (strcmp(argv[at], "--rounds") == 0) o.rounds = atoi(argv[at + 1]);
  }
  if (o.rounds < 1 || o.rounds > ROUNDS_MAX) o.rounds = 51;
  for (; at < argc; at++) measure(&o, argv[at]);
  trilha_json_keys_free(o.keys);
  return 0;
}
