/* bench/judge: figures as bench/record reads them. Each benchmark is one process with one thread that judges. */
#ifndef TRILHA_BENCH_JUDGE_H
#define TRILHA_BENCH_JUDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sorts; part 0.5 is the median. */
double trilha_judge_at_part(double *values, size_t count, double part);
double trilha_judge_seconds_since(int64_t begin_ns);

/* A figure and its bar; *missed becomes true when it is. */
void trilha_judge_figure(bool *missed, const char *name, double figure, double bar, bool at_most, const char *format,
                         ...) __attribute__((format(printf, 6, 7)));
/* A figure that nothing is asked of. */
void trilha_judge_told(const char *name, double figure, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
