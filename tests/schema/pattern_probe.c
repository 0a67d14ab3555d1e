/* Answers for peer_pattern.mjs. A line is a pattern and its subjects in hexadecimal, separated by tabs; the answer has
 * a letter for the way (S shape, D automaton, P engine, or ! when refused, with V or X for whether the grammar allows
 * it) and one for each subject. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema/pattern_internal.h"

static int hex_value(char c) {
  return c <= '9' ? c - '0' : c - 'a' + 10;
}

static trilha_text decode(char *hex) {
  size_t size = strlen(hex) / 2;
  for (size_t i = 0; i < size; i++) hex[i] = (char)(hex_value(hex[2 * i]) * 16 + hex_value(hex[2 * i + 1]));
  return (trilha_text){hex, size};
}

static void answer(char *line, trilha_pattern_scratch *scratch) {
  char *rest = NULL;
  trilha_text text = decode(strtok_r(line, "\t\n", &rest));
  trilha_pattern *pattern = NULL;
  if (trilha_pattern_compile(text, NULL, &pattern, NULL) != TRILHA_OK) {
    printf("!%c\n", trilha_pattern_is_valid(text) ? 'V' : 'X');
    return;
  }
  putchar("SDP"[trilha_pattern_way_of(pattern)]);
  for (char *hex = strtok_r(NULL, "\t\n", &rest); hex != NULL; hex = strtok_r(NULL, "\t\n", &rest))
    putchar("NYU"[trilha_pattern_match(pattern, decode(hex), scratch)]);
  putchar('\n');
  trilha_pattern_free(pattern);
}

int main(void) {
  trilha_pattern_scratch *scratch = NULL;
  char *line = NULL;
  size_t capacity = 0;
  if (trilha_pattern_scratch_new(&scratch, NULL) != TRILHA_OK) return 1;
  while (getline(&line, &capacity, stdin) > 1) answer(line, scratch);
  free(line);
  trilha_pattern_scratch_free(scratch);
  return 0;
}
