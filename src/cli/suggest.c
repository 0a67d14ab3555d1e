/* cli/suggest: the word a mistyped one was probably meant to be. */
#include <ctype.h>

#include "cli/cli_internal.h"

enum { WORD_MAX = 40 }; /* longer words are nobody's typing slip */

static size_t least(size_t a, size_t b, size_t c) {
  size_t m = a < b ? a : b;
  return m < c ? m : c;
}

static char lower(char c) {
  return (char)tolower((unsigned char)c);
}

/* Insertions, deletions, substitutions and swaps of neighbours (optimal string alignment), letter case ignored. */
static size_t distance(const char *a, size_t na, const char *b, size_t nb) {
  size_t rows[3][WORD_MAX + 1];
  size_t *before = rows[0], *last = rows[1], *row = rows[2];
  for (size_t j = 0; j <= nb; j++) last[j] = j;
  for (size_t i = 1; i <= na; i++) {
    row[0] = i;
    for (size_t j = 1; j <= nb; j++) {
      size_t change = lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1;
      row[j] = least(last[j] + 1, row[j - 1] + 1, last[j - 1] + change);
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1])) {
        size_t swapped = before[j - 2] + 1;
        if (swapped < row[j]) row[j] = swapped;
      }
    }
    size_t *spare = before;
    before = last;
    last = row;
    row = spare;
  }
  return last[nb];
}

const char *trilha_cli_nearest(const char *typed, const char *(*next)(const void *user, size_t i), const void *user) {
  size_t size = strlen(typed);
  const char *best = NULL;
  size_t best_distance = size < 4 ? 1 : size < 8 ? 2 : 3;
  if (size == 0 || size > WORD_MAX) return NULL;
  for (size_t i = 0;; i++) {
    const char *candidate = next(user, i);
    if (candidate == NULL) return best;
    size_t n = strlen(candidate);
    if (n > WORD_MAX) continue;
    size_t d = distance(typed, size, candidate, n);
    if (size >= 3 && n > size && strncmp(candidate, typed, size) == 0) d = d < 1 ? d : 1; /* an unfinished word */
    if (d < best_distance || (d == best_distance && best == NULL)) {
      best = candidate;
      best_distance = d;
    }
  }
}
