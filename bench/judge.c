/* bench/judge: see judge.h. */
#include "judge.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double trilha_judge_at_part(double *values, size_t count, double part) {
  qsort(values, count, sizeof *values, ascending);
  return values[(size_t)(part * (double)(count - 1) + 0.5)];
}

double trilha_judge_seconds_since(int64_t begin_ns) {
  return (double)(trilha_clock_monotonic_ns() - begin_ns) / 1e9;
}

void trilha_judge_figure(bool *missed, const char *name, double figure, double bar, bool at_most, const char *format,
                         ...) {
  bool met = at_most ? figure <= bar : figure >= bar;
  *missed = *missed || !met;
  printf("%-44s %8.3f  bar %s %.2f  %s  ", name, figure, at_most ? "<=" : ">=", bar, met ? "met   " : "MISSED");
  va_list arguments;
  va_start(arguments, format);
  vprintf(format, arguments);
  va_end(arguments);
  puts("");
  fflush(stdout);
}

void trilha_judge_told(const char *name, double figure, const char *format, ...) {
  printf("%-44s %8.3f  no bar  ", name, figure);
  va_list arguments;
  va_start(arguments, format);
  vprintf(format, arguments);
  va_end(arguments);
  puts("");
  fflush(stdout);
}
