/* cli/stop: the thread that reads the signals of a consumer or a worker. */
#include "cli/stop.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/error.h"

static void stop_signals(sigset_t *set) {
  sigemptyset(set);
  sigaddset(set, SIGINT);
  sigaddset(set, SIGTERM);
}

void trilha_cli_stop_hold(void) {
  sigset_t set;
  stop_signals(&set);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
}

/* As if nobody had held the signal. */
static void die_of(int number) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, number);
  signal(number, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
  kill(getpid(), number);
}

static void *watch(void *user) {
  trilha_cli_stop *stop = user;
  bool asked = false;
  for (;;) {
    struct pollfd fds[] = {{.fd = stop->signals, .events = POLLIN}, {.fd = stop->wake, .events = POLLIN}};
    struct signalfd_siginfo signal_info;
    if (poll(fds, 2, -1) < 0 && errno != EINTR) return NULL;
    if (fds[1].revents != 0) return NULL;
    if (fds[0].revents == 0 || read(stop->signals, &signal_info, sizeof signal_info) != sizeof signal_info) continue;
    if (asked) die_of((int)signal_info.ssi_signo);
    asked = true;
    stop->end(stop->user);
  }
}

trilha_status trilha_cli_stop_watch(trilha_cli_stop *stop, trilha_cli_stop_end end, void *user, trilha_error *error) {
  sigset_t set;
  stop_signals(&set);
  *stop = (trilha_cli_stop){
      .signals = signalfd(-1, &set, SFD_CLOEXEC), .wake = eventfd(0, EFD_CLOEXEC), .end = end, .user = user};
  int failed = stop->signals < 0 || stop->wake < 0 ? errno : pthread_create(&stop->thread, NULL, watch, stop);
  stop->running = failed == 0;
  if (failed == 0) return TRILHA_OK;
  return trilha_error_set_errno(error, TRILHA_IO, "THREAD_FAILED", failed, "signals cannot be watched");
}

void trilha_cli_stop_done(trilha_cli_stop *stop) {
  static const uint64_t one = 1;
  if (stop->running) {
    (void)!write(stop->wake, &one, sizeof one);
    pthread_join(stop->thread, NULL);
  }
  if (stop->signals >= 0) close(stop->signals);
  if (stop->wake >= 0) close(stop->wake);
}
