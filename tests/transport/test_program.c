/* transport: the suite on what only the program has: `trilha worker run --exec`, whose command is this program in
 * another role, and `--stdout`. TRILHA_TEST_TRANSPORT: exec or stdout. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/text.h"
#include "conformance.h"

enum { LINE_BYTES_MAX = 1200000, ACCEPTED = 0, FAILED = 1, REFUSED = 65, PATH = 300 };

typedef struct program {
  char folder[64], command_path[PATH];
  char words[3][PATH];
  char *command[6];
} program;

/* --- the command: one message on standard input ----------------------------------------------------------------------
 */

typedef struct mood_file { /* how the destination is, for all processes: under a lock of its own */
  int mood, times;
} mood_file;

static int open_in(const char *folder, const char *name, int flags) {
  char path[PATH];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return open(path, flags | O_CREAT | O_CLOEXEC, 0600);
}

static mood_file read_mood(const char *folder, bool takes_one) {
  mood_file m = {TRANSPORT_ACCEPTS, 0};
  int fd = open_in(folder, "mood", O_RDWR);
  flock(fd, LOCK_EX);
  if (pread(fd, &m, sizeof m, 0) != (ssize_t)sizeof m) m = (mood_file){TRANSPORT_ACCEPTS, 0};
  if (takes_one && m.times > 0) {
    mood_file less = {m.mood, m.times - 1};
    if (pwrite(fd, &less, sizeof less, 0) < 0) abort();
  } else if (takes_one && m.mood != TRANSPORT_HOLDS) {
    m.mood = TRANSPORT_ACCEPTS;
  }
  close(fd);
  return m;
}

static void write_mood(const char *folder, mood_file m) {
  int fd = open_in(folder, "mood", O_RDWR);
  flock(fd, LOCK_EX);
  if (pwrite(fd, &m, sizeof m, 0) < 0) abort();
  close(fd);
}

/* The value of a member whose value is a string or a number; our own writer's form. */
static void member(const char *line, const char *name, char *out, size_t size) {
  char key[40];
  snprintf(key, sizeof key, "\"%s\":", name);
  const char *at = strstr(line, key);
  *out = '\0';
  if (at == NULL) return;
  at += strlen(key);
  if (*at == '"') at++;
  snprintf(out, size, "%.*s", (int)strcspn(at, "\","), at);
}

static transport_arrival parse(const char *line) {
  transport_arrival a = {.sequence = 0};
  char number[24];
  unsigned char digest[TRILHA_SHA256_SIZE];
  member(line, "message_id", a.message_id, sizeof a.message_id);
  member(line, "aggregate_key", a.aggregate_key, sizeof a.aggregate_key);
  member(line, "aggregate_sequence", number, sizeof number);
  a.sequence = strtoll(number, NULL, 10);
  member(line, "revision", number, sizeof number);
  a.revision = strtoll(number, NULL, 10);
  const char *payload = strstr(line, ",\"payload\":");
  if (payload == NULL) return a;
  payload += strlen(",\"payload\":");
  trilha_sha256((trilha_text){payload, strlen(payload) - 1}, digest); /* without the object's own brace */
  trilha_hex(digest, sizeof digest, a.payload_sha256);
  return a;
}

static void hold(const char *folder) {
  char path[PATH];
  snprintf(path, sizeof path, "%s/held-%ld", folder, (long)getpid());
  int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  while (read_mood(folder, false).mood == TRANSPORT_HOLDS) transport_sleep_ms(5);
  unlink(path);
  close(fd);
}

static int role_command(const char *folder) {
  char *line = NULL;
  size_t capacity = 0;
  ssize_t size = getline(&line, &capacity, stdin);
  if (size <= 0) return FAILED;
  if (line[size - 1] == '\n') line[size - 1] = '\0';
  transport_arrival a = parse(line);
  int fd = open_in(folder, "arrivals", O_WRONLY | O_APPEND);
  if (write(fd, &a, sizeof a) != (ssize_t)sizeof a) return FAILED;
  close(fd);
  free(line);
  mood_file m = read_mood(folder, true);
  if (m.mood == TRANSPORT_HOLDS) hold(folder);
  if (m.mood == TRANSPORT_IS_SILENT) pause();
  if (m.mood == TRANSPORT_REFUSES) return fprintf(stderr, "not this one\n"), REFUSED;
  if (m.mood == TRANSPORT_FAILS) return fprintf(stderr, "not now\n"), FAILED;
  return ACCEPTED;
}

/* --- the subject
 * ------------------------------------------------------------------------------------------------------ */

static void *open_program(const char *folder) {
  program *p = calloc(1, sizeof *p);
  if (p == NULL) return NULL;
  snprintf(p->folder, sizeof p->folder, "%s", folder);
  snprintf(p->command_path, sizeof p->command_path, "%s/command", folder);
  write_mood(folder, (mood_file){TRANSPORT_ACCEPTS, 0});
  return p;
}

static void *open_exec(const char *folder) {
  char self[PATH];
  program *p = open_program(folder);
  ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
  if (p == NULL || size < 0) return p;
  self[size] = '\0';
  unlink(p->command_path);
  assert_int_equal(symlink(self, p->command_path), 0); /* where there is nothing, the destination is away */
  snprintf(p->words[0], PATH, "--exec");
  snprintf(p->words[1], PATH, "--role");
  p->command[0] = p->words[0];
  p->command[1] = p->command_path;
  p->command[2] = p->words[1];
  p->command[3] = p->folder;
  return p;
}

static void *open_stdout(const char *folder) {
  program *p = open_program(folder);
  if (p == NULL) return NULL;
  snprintf(p->words[0], PATH, "--stdout");
  p->command[0] = p->words[0];
  return p;
}

static char **command(void *self) {
  program *p = self;
  return p->command;
}

static bool set_exec(void *self, transport_mood mood, int times) {
  program *p = self;
  char away[PATH + 8];
  if (mood == TRANSPORT_NAMES_A_TIME) return false;
  snprintf(away, sizeof away, "%s.away", p->command_path);
  if (mood == TRANSPORT_IS_AWAY)
    assert_int_equal(rename(p->command_path, away), 0);
  else if (rename(away, p->command_path) != 0)
    assert_int_equal(errno, ENOENT); /* it was not away */
  write_mood(p->folder, (mood_file){(int)mood, times});
  return true;
}

static bool set_stdout(void *self, transport_mood mood, int times) {
  (void)self;
  (void)times;
  return mood == TRANSPORT_ACCEPTS;
}

static size_t arrivals_of_exec(void *self, transport_arrival *out, size_t max) {
  const program *p = self;
  int fd = open_in(p->folder, "arrivals", O_RDONLY);
  ssize_t size = pread(fd, out, max * sizeof *out, 0);
  close(fd);
  return size < 0 ? 0 : (size_t)size / sizeof *out;
}

static size_t arrivals_of_stdout(void *self, transport_arrival *out, size_t max) {
  const program *p = self;
  char path[PATH], *line = NULL;
  size_t count = 0, capacity = 0;
  snprintf(path, sizeof path, "%s/output", p->folder);
  FILE *file = fopen(path, "r");
  while (file != NULL && count < max && getline(&line, &capacity, file) > 0) {
    line[strcspn(line, "\n")] = '\0';
    out[count++] = parse(line);
  }
  free(line);
  if (file != NULL) fclose(file);
  return count;
}

static size_t holding(void *self) {
  const program *p = self;
  char pattern[PATH];
  glob_t found = {0};
  snprintf(pattern, sizeof pattern, "%s/held-*", p->folder);
  size_t count = glob(pattern, 0, NULL, &found) == 0 ? found.gl_pathc : 0;
  globfree(&found);
  return count;
}

int main(int argc, char **argv) {
  if (argc > 2 && strcmp(argv[1], "--role") == 0) return role_command(argv[2]);
  const transport_subject exec = {.name = "exec",
                                  .open = open_exec,
                                  .close = free,
                                  .command = command,
                                  .set = set_exec,
                                  .arrivals = arrivals_of_exec,
                                  .holding = holding};
  const transport_subject output = {.name = "stdout",
                                    .open = open_stdout,
                                    .close = free,
                                    .command = command,
                                    .set = set_stdout,
                                    .arrivals = arrivals_of_stdout};
  const char *form = getenv("TRILHA_TEST_TRANSPORT");
  return transport_conformance(form != NULL && strcmp(form, "stdout") == 0 ? &output : &exec);
}
