/* cli/child: starting, feeding, hearing and ending another process. */
#include "cli/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"

enum { PIECE = 16384, LOOK_MS = 10, TERM_MS = 2000, KILL_MS = 5000, FIRST_OWN_FD = 3 };

void trilha_cli_child_init(trilha_cli_child *child, int err_to) {
  *child = (trilha_cli_child){.pid_fd = -1, .in = -1, .out = -1, .err = -1, .err_to = err_to};
  trilha_buffer_init(&child->said, TRILHA_CHILD_LINE_MAX + PIECE);
  trilha_buffer_init(&child->tail, 2 * (size_t)TRILHA_CHILD_TAIL_MAX + PIECE);
}

void trilha_cli_child_done(trilha_cli_child *child) {
  trilha_buffer_done(&child->said);
  trilha_buffer_done(&child->tail);
}

static void shut(int *fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

/* --- starting ------------------------------------------------------------------------------------------- */

/* A pipe whose ends are never 0, 1 or 2, so that dup2 onto those cannot meet them, and never survive an exec. */
static bool make_pipe(int ends[2]) {
  int made[2];
  ends[0] = ends[1] = -1;
  if (pipe2(made, O_CLOEXEC) != 0) return false;
  for (int i = 0; i < 2; i++) ends[i] = fcntl(made[i], F_DUPFD_CLOEXEC, FIRST_OWN_FD);
  close(made[0]);
  close(made[1]);
  if (ends[0] >= 0 && ends[1] >= 0) return true;
  shut(&ends[0]);
  shut(&ends[1]);
  return false;
}

/* As a shell would start it: default signals, none blocked, a group of its own. */
static int set_attributes(posix_spawnattr_t *attributes) {
  sigset_t none, usual;
  sigemptyset(&none);
  sigemptyset(&usual);
  sigaddset(&usual, SIGPIPE);
  sigaddset(&usual, SIGXFSZ);
  sigaddset(&usual, SIGINT);
  sigaddset(&usual, SIGTERM);
  int failed = posix_spawnattr_setsigmask(attributes, &none);
  if (failed == 0) failed = posix_spawnattr_setsigdefault(attributes, &usual);
  if (failed == 0) failed = posix_spawnattr_setpgroup(attributes, 0);
  if (failed == 0)
    failed =
        posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  return failed;
}

static int spawn(pid_t *ret_pid, char *const *argv, int in, int out, int err) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  int failed = posix_spawn_file_actions_init(&actions);
  if (failed != 0) return failed;
  failed = posix_spawnattr_init(&attributes);
  if (failed != 0) {
    posix_spawn_file_actions_destroy(&actions);
    return failed;
  }
  failed = set_attributes(&attributes);
  if (failed == 0) failed = posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
  if (failed == 0 && out >= 0) failed = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  if (failed == 0) failed = posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
  if (failed == 0) failed = posix_spawnp(ret_pid, argv[0], &actions, &attributes, argv, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return failed;
}

trilha_status trilha_cli_child_start(trilha_cli_child *child, char *const *argv, bool answers, trilha_error *error) {
  int in[2] = {-1, -1}, out[2] = {-1, -1}, err[2] = {-1, -1};
  bool made = make_pipe(in) && (!answers || make_pipe(out)) && make_pipe(err);
  int failed = made ? spawn(&child->pid, argv, in[0], out[1], err[1]) : errno;
  shut(&in[0]);
  shut(&out[1]);
  shut(&err[1]);
  if (failed != 0) {
    shut(&in[1]);
    shut(&out[0]);
    shut(&err[0]);
    child->pid = 0;
    return trilha_error_set_errno(error, TRILHA_IO, "COMMAND_FAILED", failed, "cannot run %s", argv[0]);
  }
  child->in = in[1];
  child->out = out[0];
  child->err = err[0];
  int ours[] = {child->in, child->out, child->err};
  for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
    if (ours[i] >= 0) fcntl(ours[i], F_SETFL, O_NONBLOCK);
  child->pid_fd = (int)syscall(SYS_pidfd_open, child->pid, 0); /* close-on-exec by itself; an old kernel has none */
  trilha_buffer_clear(&child->said);
  trilha_buffer_clear(&child->tail);
  return TRILHA_OK;
}

/* --- moving bytes ----------------------------------------------------------------------------------------- */

static bool would_wait(void) {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

/* A child that reads no more is no failure here: its answer or its end decides. */
static void write_some(trilha_cli_child *child, trilha_text text, size_t *written) {
  while (child->in >= 0 && *written < text.size) {
    ssize_t n = write(child->in, text.data + *written, text.size - *written);
    if (n > 0) {
      *written += (size_t)n;
    } else if (n < 0 && would_wait()) {
      return;
    } else {
      shut(&child->in);
    }
  }
}

/* Keeps the last TAIL_MAX bytes at least. */
static void keep_tail(trilha_buffer *tail, const char *piece, size_t size) {
  if (tail->size + size > 2 * (size_t)TRILHA_CHILD_TAIL_MAX) {
    size_t gone = tail->size > TRILHA_CHILD_TAIL_MAX ? tail->size - TRILHA_CHILD_TAIL_MAX : 0;
    memmove(tail->data, tail->data + gone, tail->size - gone);
    tail->size -= gone;
  }
  trilha_buffer_append(tail, piece, size);
}

static void pass_on(int fd, const char *piece, size_t size) {
  while (size > 0) {
    ssize_t n = write(fd, piece, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return; /* nobody reads our diagnostics */
    piece += n;
    size -= (size_t)n;
  }
}

/* At most as much as a pipe holds, so that a child that never stops writing does not keep us from looking at the time.
 */
static void hear_errors(trilha_cli_child *child) {
  char piece[PIECE];
  for (int i = 0; child->err >= 0 && i < 8; i++) {
    ssize_t n = read(child->err, piece, sizeof piece);
    if (n < 0 && would_wait()) return;
    if (n <= 0) {
      shut(&child->err);
      return;
    }
    keep_tail(&child->tail, piece, (size_t)n);
    pass_on(child->err_to, piece, (size_t)n);
  }
}

static bool has_line(const trilha_cli_child *child) {
  return trilha_text_find(trilha_buffer_text(&child->said), '\n') != NULL;
}

static void hear_answer(trilha_cli_child *child) {
  char piece[PIECE];
  if (child->out < 0 || child->said.size > TRILHA_CHILD_LINE_MAX) return;
  ssize_t n = read(child->out, piece, sizeof piece);
  if (n < 0 && would_wait()) return;
  if (n <= 0) {
    shut(&child->out);
  } else {
    trilha_buffer_append(&child->said, piece, (size_t)n);
  }
}

static bool has_ended(const trilha_cli_child *child) {
  siginfo_t info = {0};
  if (waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0) return errno != EINTR;
  return info.si_pid == child->pid;
}

/* Until something can be read or written, the child ends, or the deadline. */
static void wait_for_it(const trilha_cli_child *child, bool write_wanted, trilha_deadline deadline) {
  struct pollfd fds[] = {{.fd = write_wanted ? child->in : -1, .events = POLLOUT},
                         {.fd = child->out, .events = POLLIN},
                         {.fd = child->err, .events = POLLIN},
                         {.fd = child->pid_fd, .events = POLLIN}};
  int64_t most = child->pid_fd >= 0 ? 60000 : LOOK_MS;
  (void)poll(fds, sizeof fds / sizeof fds[0], (int)trilha_deadline_left_ms(deadline, most));
}

/* --- asking ------------------------------------------------------------------------------------------------ */

trilha_cli_news trilha_cli_child_ask(trilha_cli_child *child, trilha_text text, trilha_deadline deadline,
                                     size_t *ret_written) {
  *ret_written = 0;
  for (;;) {
    bool ended = has_ended(child); /* before the last look at its pipes, which may hold its last words */
    write_some(child, text, ret_written);
    hear_answer(child);
    hear_errors(child);
    bool written = *ret_written == text.size;
    if (has_line(child) && (written || child->in < 0)) return TRILHA_CHILD_LINE;
    if (child->said.failed == TRILHA_NO_MEMORY) return TRILHA_CHILD_NO_MEMORY;
    if (child->said.size > TRILHA_CHILD_LINE_MAX) return TRILHA_CHILD_LONG_LINE;
    if (child->out < 0) return TRILHA_CHILD_CLOSED;
    if (ended) return TRILHA_CHILD_ENDED;
    if (trilha_deadline_passed(deadline)) return TRILHA_CHILD_LATE;
    wait_for_it(child, !written, deadline);
  }
}

/* What a child that has ended left in its pipe; grandchildren may hold it open, and are not waited for. */
static void hear_last_words(trilha_cli_child *child) {
  size_t before;
  do {
    before = child->said.size;
    hear_answer(child);
  } while (child->said.size > before);
}

trilha_cli_news trilha_cli_child_feed(trilha_cli_child *child, trilha_text text, trilha_deadline deadline) {
  size_t written = 0;
  for (;;) {
    bool ended = has_ended(child);
    write_some(child, text, &written);
    if (written == text.size) shut(&child->in);
    hear_answer(child);
    if (ended) hear_last_words(child);
    hear_errors(child);
    if (child->tail.failed == TRILHA_NO_MEMORY || child->said.failed == TRILHA_NO_MEMORY) return TRILHA_CHILD_NO_MEMORY;
    if (child->said.size > TRILHA_CHILD_LINE_MAX) return TRILHA_CHILD_LONG_LINE;
    if (ended) return TRILHA_CHILD_ENDED;
    if (trilha_deadline_passed(deadline)) return TRILHA_CHILD_LATE;
    wait_for_it(child, written < text.size, deadline);
  }
}

bool trilha_cli_child_is_quiet(trilha_cli_child *child) {
  bool ended = has_ended(child);
  hear_errors(child);
  hear_answer(child);
  return !ended && child->out >= 0 && child->said.size == 0;
}

trilha_text trilha_cli_child_line(trilha_cli_child *child) {
  const char *end = trilha_text_find(trilha_buffer_text(&child->said), '\n');
  if (end == NULL) return (trilha_text){0};
  return (trilha_text){child->said.data, (size_t)(end - child->said.data)};
}

void trilha_cli_child_line_done(trilha_cli_child *child) {
  size_t size = trilha_cli_child_line(child).size + 1;
  if (size > child->said.size) return;
  memmove(child->said.data, child->said.data + size, child->said.size - size);
  child->said.size -= size;
}

/* --- ending ------------------------------------------------------------------------------------------------- */

static bool ends_within(trilha_cli_child *child, int64_t ms) {
  trilha_deadline deadline = trilha_deadline_in_ms(ms);
  char piece[PIECE];
  while (!has_ended(child)) {
    if (trilha_deadline_passed(deadline)) return false;
    wait_for_it(child, false, deadline);
    hear_errors(child);
    if (child->out >= 0) { /* nobody wants its answers any more, but it must not wait for a reader */
      ssize_t n = read(child->out, piece, sizeof piece);
      if (n == 0 || (n < 0 && !would_wait())) shut(&child->out);
    }
  }
  return true;
}

int trilha_cli_child_end(trilha_cli_child *child, int64_t patience_ms) {
  int status = -1;
  if (child->pid == 0) return status;
  shut(&child->in);
  bool gently = ends_within(child, patience_ms);
  if (!gently) {
    kill(-child->pid, SIGTERM);
    (void)ends_within(child, TERM_MS);
    kill(-child->pid,
         SIGKILL); /* what is left of its group; the child itself is not reaped yet, so the number is its */
    (void)ends_within(child, KILL_MS);
  }
  hear_errors(child);
  while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR) continue;
  shut(&child->out);
  shut(&child->err);
  shut(&child->pid_fd);
  child->pid = 0;
  trilha_buffer_clear(&child->said);
  return status;
}
