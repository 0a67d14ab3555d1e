/* schema/pattern: what the shapes and automata answer is what PCRE2 answers, over random patterns and subjects. The
 * seed is printed; TRILHA_SEED sets it. */
#include <time.h>

#include "pattern_test.h"

enum { PATTERNS = 3000, SUBJECTS = 12, DEPTH = 2 };

typedef struct generator {
  uint64_t state;
  trilha_buffer out;
} generator;

static size_t below(generator *g, size_t n) {
  g->state = g->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (size_t)(g->state >> 33) % n;
}

#define PICK(g, list)       ((list)[below(g, sizeof(list) / sizeof((list)[0]))])
#define ADD_ONE_OF(g, list) trilha_buffer_add_string(&(g)->out, PICK(g, list))

/* Properties only of characters that every Unicode version of the last decade knows alike. */
static const char *const atoms[] = {"a",
                                    "b",
                                    "c",
                                    "0",
                                    "_",
                                    "-",
                                    "\xC3\xA9",
                                    "\xE6\x97\xA5",
                                    "\xF0\x9F\x98\x80",
                                    ".",
                                    "\\d",
                                    "\\D",
                                    "\\w",
                                    "\\W",
                                    "\\s",
                                    "\\S",
                                    "[ab]",
                                    "[^a]",
                                    "[a-c_]",
                                    "[\xC3\xA9-\xE6\x97\xA5]",
                                    "[^\xC3\xA9\xF0\x9F\x98\x80]",
                                    "[\\d_]",
                                    "[]",
                                    "[^]",
                                    "\\p{L}",
                                    "\\P{Lu}",
                                    "[\\p{Nd}a]",
                                    "[^\\p{L}]",
                                    "ab",
                                    "bc"};
static const char *const quantifiers[] = {"",      "",      "",     "",   "*",  "+",   "?",    "{2}",
                                          "{1,3}", "{0,2}", "{2,}", "*?", "+?", "{0}", "{3,7}"};
static const char *const assertions[] = {"^", "$", "\\b", "\\B"};
static const char *const opens[] = {"(?:", "(", "(?:", "(?:", "(?=", "(?!"};
static const char *const likely[] = {"a", "b", "c", "0", "_", "\xC3\xA9"};
static const char *const unlikely[] = {
    "\n",       "\r",       " ", "-", "A", "\xE2\x80\xA8", "\xC2\xA0", "\xE6\x97\xA5", "\xF0\x9F\x98\x80",
    "\xC3\x9F", "\xD9\xA3", "z"};

/* depth is at most DEPTH */
static void add_disjunction(generator *g, int depth);

static void add_term(generator *g, int depth) {
  size_t kind = below(g, 20);
  if (kind < 2) {
    ADD_ONE_OF(g, assertions);
  } else if (kind < 8 && depth > 0) {
    const char *open = PICK(g, opens);
    trilha_buffer_add_string(&g->out, open);
    add_disjunction(g, depth - 1);
    trilha_buffer_add_char(&g->out, ')');
    if (open[1] != '?' || open[2] == ':') ADD_ONE_OF(g, quantifiers);
  } else {
    ADD_ONE_OF(g, atoms);
    ADD_ONE_OF(g, quantifiers);
  }
}

static void add_disjunction(generator *g, int depth) {
  do {
    for (size_t terms = below(g, 4); terms > 0; terms--) add_term(g, depth);
  } while (below(g, 4) == 0 && (trilha_buffer_add_char(&g->out, '|'), true));
}

static void make_pattern(generator *g) {
  trilha_buffer_clear(&g->out);
  trilha_buffer_append(&g->out, "", 0);
  if (below(g, 2) == 0) trilha_buffer_add_char(&g->out, '^');
  add_disjunction(g, DEPTH);
  if (below(g, 2) == 0) trilha_buffer_add_char(&g->out, '$');
}

static void make_subject(generator *g) {
  trilha_buffer_clear(&g->out);
  trilha_buffer_append(&g->out, "", 0);
  for (size_t left = below(g, 9); left > 0; left--) {
    if (below(g, 3) > 0)
      ADD_ONE_OF(g, likely);
    else
      ADD_ONE_OF(g, unlikely);
  }
}

static void compare(generator *g, trilha_pattern_scratch *scratch, size_t ways[3], size_t *ret_yes) {
  char text[1024];
  make_pattern(g);
  assert_true(g->out.size < sizeof text);
  size_t size = g->out.size;
  memcpy(text, trilha_buffer_text(&g->out).data, size);
  trilha_pattern *pattern = must_compile((trilha_text){text, size}), *engine = NULL;
  assert_int_equal(trilha_pattern_compile_engine((trilha_text){text, size}, &engine, NULL), TRILHA_OK);
  ways[trilha_pattern_way_of(pattern)]++;
  for (int i = 0; i < SUBJECTS; i++) {
    make_subject(g);
    trilha_match ours = trilha_pattern_match(pattern, trilha_buffer_text(&g->out), scratch);
    trilha_match theirs = trilha_pattern_match(engine, trilha_buffer_text(&g->out), scratch);
    if (ours != theirs && theirs != TRILHA_MATCH_UNDECIDED)
      fail_msg("%.*s on \"%s\": %d, by the engine %d", (int)size, text, trilha_buffer_text(&g->out).data, (int)ours,
               (int)theirs);
    *ret_yes += ours == TRILHA_MATCH_YES;
  }
  trilha_pattern_free(engine);
  trilha_pattern_free(pattern);
}

static void shapes_and_automata_answer_as_the_engine_does(void **state) {
  (void)state;
  const char *chosen = getenv("TRILHA_SEED");
  uint64_t seed = chosen != NULL ? strtoull(chosen, NULL, 10) : (uint64_t)time(NULL);
  print_message("# TRILHA_SEED=%llu\n", (unsigned long long)seed);
  generator g = {.state = seed};
  size_t ways[3] = {0}, yes = 0;
  trilha_buffer_init(&g.out, 0);
  trilha_pattern_scratch *scratch = must_have_scratch();
  for (int i = 0; i < PATTERNS; i++) compare(&g, scratch, ways, &yes);
  /* the comparison is worth something only when both answers and all ways occur */
  assert_true(yes > PATTERNS && yes < (size_t)PATTERNS * (SUBJECTS - 1));
  assert_true(ways[TRILHA_WAY_SHAPE] > PATTERNS / 20 && ways[TRILHA_WAY_DFA] > PATTERNS / 4 &&
              ways[TRILHA_WAY_ENGINE] > PATTERNS / 100);
  trilha_pattern_scratch_free(scratch);
  trilha_buffer_done(&g.out);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(shapes_and_automata_answer_as_the_engine_does)};
  return cmocka_run_group_tests_name("schema pattern agreement", tests, NULL, NULL);
}
