/* cli/progress: one line that is redrawn while a long run goes on. */
#include "base/clock.h"
#include "cli/cli_internal.h"

#define SHOWN_AFTER_NS   INT64_C(1000000000)
#define REDRAWN_EVERY_NS INT64_C(200000000)

void trilha_cli_progress_begin(trilha_cli *cli) {
  int64_t now = trilha_clock_monotonic_ns();
  cli->progress = (trilha_cli_progress){.wanted = cli->err.terminal, .started_ns = now, .drawn_ns = now};
}

void trilha_cli_progress_show(trilha_cli *cli, int64_t count, trilha_cli_words what) {
  trilha_cli_progress *p = &cli->progress;
  if (!p->wanted) return;
  int64_t now = trilha_clock_monotonic_ns(), elapsed = now - p->started_ns;
  if (elapsed < SHOWN_AFTER_NS || (p->shown && now - p->drawn_ns < REDRAWN_EVERY_NS)) return;
  int64_t a_second = elapsed > 0 ? count * 1000 / (elapsed / 1000000) : 0;
  trilha_cli_putf(&cli->err, "\r\033[K%lld %s, %lld/s", (long long)count, trilha_cli_choose(cli, what),
                  (long long)a_second);
  trilha_cli_flush(&cli->err);
  p->drawn_ns = now;
  p->shown = true;
}

void trilha_cli_progress_hide(trilha_cli *cli) {
  if (!cli->progress.shown) return;
  trilha_cli_puts(&cli->err, "\r\033[K");
  trilha_cli_flush(&cli->err);
  cli->progress.shown = false;
}
