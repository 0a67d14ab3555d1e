/* schema/pattern: what a pattern means (ECMA-262 with the flag "u", not anchored), what is refused, what is bounded. */
#include <pthread.h>
#include <time.h>

#include "pattern_test.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

typedef struct example {
  const char *pattern;
  trilha_text subject;
  bool matches;
} example;

static void check(const example *examples, size_t count) {
  trilha_pattern_scratch *scratch = must_have_scratch();
  for (size_t i = 0; i < count; i++) {
    const example *e = &examples[i];
    trilha_pattern *pattern = must_compile(trilha_text_of(e->pattern)), *engine = NULL;
    trilha_match wanted = e->matches ? TRILHA_MATCH_YES : TRILHA_MATCH_NO;
    if (trilha_pattern_match(pattern, e->subject, scratch) != wanted)
      fail_msg("%s on row %zu is not %d", e->pattern, i, (int)wanted);
    assert_int_equal(trilha_pattern_compile_engine(trilha_text_of(e->pattern), &engine, NULL), TRILHA_OK);
    if (trilha_pattern_match(engine, e->subject, scratch) != wanted)
      fail_msg("%s on row %zu is not %d by the engine", e->pattern, i, (int)wanted);
    trilha_pattern_free(engine);
    trilha_pattern_free(pattern);
  }
  trilha_pattern_scratch_free(scratch);
}

#define YES(pattern, subject) \
  { pattern, {subject, sizeof(subject) - 1}, true }
#define NO(pattern, subject) \
  { pattern, {subject, sizeof(subject) - 1}, false }

static void pattern_is_not_anchored_and_case_counts(void **state) {
  (void)state;
  static const example examples[] = {
      YES("a+", "xxaayy"), YES("", ""),        YES("", "x"),        NO("A", "a"),       YES("f.*o", "xfooy"),
      YES("^a", "ab"),     NO("^a", "ba"),     YES("a$", "ba"),     NO("a$", "ab"),     YES("^$", ""),
      NO("^$", "x"),       YES("a|b", "xbx"),  NO("^(?:a|b)$", ""), YES("^a|b$", "ax"), YES("^a|b$", "xb"),
      NO("^a|b$", "xbx"),  YES("(?:)", "any"), YES("a{0}", "b"),    NO("^a{0}$", "a"),  YES("(^)*x", "x"),
  };
  check(examples, COUNT_OF(examples));
}

static void dollar_does_not_match_before_a_final_line_feed(void **state) {
  (void)state;
  static const example examples[] = {NO("^abc$", "abc\n"), YES("^abc$", "abc"), NO("^a*$", "a\n"), NO("^(a|b)$", "a\n"),
                                     NO("(?!x)^a$", "a\n")};
  check(examples, COUNT_OF(examples));
}

static void dot_matches_all_but_the_four_line_terminators(void **state) {
  (void)state;
  static const example examples[] = {
      NO("^.$", "\n"),
      NO("^.$", "\r"),
      NO("^.$", "\xE2\x80\xA8"),
      NO("^.$", "\xE2\x80\xA9"),
      YES("^.$", "\xE2\x80\xA7"),
      YES("^.$", "\xC2\x85"),
      YES("^.$", "\0"),
      YES("^.$", "\xF0\x9F\x98\x80"),
      NO("^.{2}$", "\xF0\x9F\x98\x80"),
      YES("^.{1,2}$", "\xC3\xA9\xC3\xA9"),
      NO(".", "\n\r"),
      YES(".", "\na"),
      NO("^.+$", ""),
      NO("^(?=.*b).+$", "a\nb"),
  };
  check(examples, COUNT_OF(examples));
}

static void digits_and_words_are_ascii_and_spaces_are_all_of_unicode(void **state) {
  (void)state;
  static const example examples[] = {
      YES("^\\d$", "0"),
      NO("^\\d$", "\xD9\xA1"),
      YES("^\\D$", "\xD9\xA1"),
      NO("^\\w$", "\xC3\xA9"),
      YES("^\\W$", "\xC3\xA3"),
      YES("^\\w+$", "aZ_9"),
      YES("^\\s$", "\xC2\xA0"),
      YES("^\\s$", "\xEF\xBB\xBF"),
      YES("^\\s$", "\xE2\x80\xA9"),
      YES("^\\s$", "\xE3\x80\x80"),
      NO("^\\s$", "\xC2\x85"),
      NO("^\\s$", "\xE2\x80\x8B"),
      NO("^\\s$", "\xE1\xA0\x8E"),
      NO("^\\S$", "\xE2\x80\x83"),
      YES("^[\\s\\S]$", "\n"),
      NO("^[^\\s\\S]$", "a"),
      YES("^[^\\d]$", "\xE0\xA5\xA8"),
      YES("^[\\w-]+$", "a-b"),
      YES("^[\\W\\d]$", "5"),
  };
  check(examples, COUNT_OF(examples));
}

static void word_boundaries_know_ascii_words_only_and_no_inside_of_a_character(void **state) {
  (void)state;
  static const example examples[] = {
      YES("\\bfoo\\b", "a foo b"),
      NO("\\bfoo\\b", "afoo"),
      YES("\\bfoo\\b",
          "\xC3\xA9"
          "foo\xC3\xA9"),
      NO("\\B",
         "a\xC3\xA9"
         "a"),
      YES("\\B", "\xC3\xA9"),
      YES("\\B", ""),
      NO("\\b", ""),
      NO("^\\B", "a"),
      YES("a\\b", "a\xC3\xA9"),
      NO("a\\B", "a\xC3\xA9"),
      YES("\\b(?:x|\\By)", "x"),
      NO("\\b\\B", "a b"),
  };
  check(examples, COUNT_OF(examples));
}

static void escapes_name_one_character(void **state) {
  (void)state;
  static const example examples[] = {
      YES("^\\t\\n\\v\\f\\r$", "\t\n\v\f\r"),
      YES("^\\cC$", "\x03"),
      YES("^\\cc$", "\x03"),
      YES("^\\0$", "\0"),
      YES("^\\x41$", "A"),
      YES("^\\u00e9$", "\xC3\xA9"),
      YES("^\\u{1F600}$", "\xF0\x9F\x98\x80"),
      YES("^\\ud83d\\ude00$", "\xF0\x9F\x98\x80"),
      NO("\\ud83d", "\xF0\x9F\x98\x80"),
      YES("^[\\b]$", "\b"),
      YES("^[\\x00-\\x1f]$", "\x1e"),
      YES("^[\\ud83d\\ude00]$", "\xF0\x9F\x98\x80"),
      YES("^\\/\\.\\$$", "/.$"),
      YES("^[\\ud7ff-\\ue000]$", "\xED\x9F\xBF"),
      YES("^\\u{0000061}$", "a"),
  };
  check(examples, COUNT_OF(examples));
}

static void needless_escapes_of_old_schemas_are_taken(void **state) {
  (void)state;
  static const example examples[] = {YES("^\\-\\@\\\"\\ \\_$", "-@\" _"), YES("^[\\@\\.\\#]+$", "@.#"),
                                     YES("^\\\xC3\xA9$", "\xC3\xA9")};
  check(examples, COUNT_OF(examples));
}

static void classes_may_be_empty_or_everything(void **state) {
  (void)state;
  static const example examples[] = {NO("[]", "a"),
                                     NO("^[]?a$", "b"),
                                     YES("^[]?a$", "a"),
                                     YES("^[^]$", "\n"),
                                     NO("a[]", "a"),
                                     YES("^[a-]$", "-"),
                                     YES("^[-a]$", "-"),
                                     YES("^[a-z0-9-_]+$", "a-_9"),
                                     YES("^[.*+?(){}|$^]+$", "$^*"),
                                     NO("^[^a-z]+$", "1b"),
                                     YES("^[^\xC3\xA9]$", "\xC3\xA8")};
  check(examples, COUNT_OF(examples));
}

static void properties_have_their_ecma_names(void **state) {
  (void)state;
  static const example examples[] = {
      YES("\\p{Letter}cole",
          "l'\xC3\xA9"
          "cole"),
      NO("\\p{Letter}cole",
         "L'\xC3\x89"
         "COLE"),
      YES("^\\p{digit}+$", "42\xE0\xA7\xAA"),
      YES("^\\p{L}$", "\xCF\x80"),
      NO("^\\p{L}$", "1"),
      YES("^\\P{L}$", "1"),
      YES("^\\p{Lu}$", "\xC3\x89"),
      YES("^\\p{LC}$", "a"),
      YES("^\\p{gc=Nd}$", "5"),
      YES("^\\p{General_Category=Uppercase_Letter}$", "A"),
      YES("^\\p{Script=Greek}$", "\xCF\x80"),
      NO("^\\p{sc=Grek}$", "a"),
      YES("^\\p{Script_Extensions=Latin}$", "a"),
      YES("^\\p{scx=Deva}$", "\xE0\xA5\xA4"),
      NO("^\\p{sc=Deva}$", "\xE0\xA5\xA4"),
      YES("^\\p{Alphabetic}$", "\xC3\xA9"),
      YES("^\\p{White_Space}$", " "),
      YES("^\\p{ASCII}$", "a"),
      NO("^\\p{ASCII}$", "\xC3\xA9"),
      YES("^\\P{ASCII}$", "\xC3\xA9"),
      YES("^\\p{Any}$", "\n"),
      NO("\\P{Any}", "a"),
      YES("^\\p{Assigned}$", "a"),
      NO("^\\p{Assigned}$", "\xCD\xB8"),
      YES("^\\P{Assigned}$", "\xCD\xB8"),
      YES("^[\\p{Lu}\\p{Nd}]+$", "A1"),
      NO("^[^\\p{L}]$", "a"),
      YES("^[^\\p{L}]$", "1"),
      YES("^[\\P{L}a]$", "a"),
      NO("^[^\\P{L}]$", "1"),
      YES("^\\p{Emoji_Presentation}$", "\xF0\x9F\x98\x80"),
      NO("^[^\\p{sc=Greek}\\d]$", "5"),
      YES("^[^\\p{sc=Greek}\\d]$", "a"),
  };
  check(examples, COUNT_OF(examples));
}

static void look_around_and_back_references_work(void **state) {
  (void)state;
  static const example examples[] = {
      YES("^(?=.*[A-Z])(?=.*\\d)(?!.*\\s).{8,}$", "Senha1234"),
      NO("^(?=.*[A-Z])(?=.*\\d)(?!.*\\s).{8,}$", "senha1234"),
      NO("^(?=.*[A-Z])(?=.*\\d)(?!.*\\s).{8,}$", "Senha 1234"),
      YES("^(?!foo|bar)\\w+$", "baz"),
      NO("^(?!foo|bar)\\w+$", "barn"),
      YES("^(?!(?:a|b)$)[ab]+$", "ab"),
      NO("^(?!(?:a|b)$)[ab]+$", "b"),
      YES("(?<=a)b", "ab"),
      NO("(?<=a)b", "cb"),
      YES("(?<!a)b", "cb"),
      NO("(?<!a)b", "ab"),
      YES("a(?=b)", "ab"),
      NO("a(?!b)", "ab"),
      YES("^(a|b)\\1$", "aa"),
      NO("^(a|b)\\1$", "ab"),
      YES("^(?<x>a)\\k<x>$", "aa"),
      YES("^\\1(a)$", "a"),
      YES("^(?:(a)|b)\\1$", "b"),
      YES("^(?:(a|b)\\1)+$", "aabb"),
      NO("^(?:(a|b)\\1)+$", "aab"),
      YES("(?:(a)){0}\\1", ""),
      YES("^(?<\\u0061>x)\\k<a>$", "xx"),
  };
  check(examples, COUNT_OF(examples));
}

static void valid_patterns_are_valid(void **state) {
  (void)state;
  static const char *const valid[] = {"",
                                      "([abc])+\\s+$",
                                      "(?<name>x)",
                                      "(?<n>a)\\k<n>",
                                      "(?<=a+)b",
                                      "[]",
                                      "[^]",
                                      "\\cA",
                                      "(?:a){2,3}?",
                                      "(?!a)|b",
                                      "\\p{Script=Greek}",
                                      "(?<$_\xC3\xA9>x)",
                                      "a{2147483648}",
                                      "^",
                                      "(?:)",
                                      "(|a)",
                                      "[\\d-]",
                                      "\\1(a)",
                                      "[a-z&&[b]",
                                      "\\p{Changes_When_NFKC_Casefolded}"};
  for (size_t i = 0; i < COUNT_OF(valid); i++)
    if (!trilha_pattern_is_valid(trilha_text_of(valid[i]))) fail_msg("%s is valid", valid[i]);
}

static const char *const invalid[] = {
    "^(abc]",
    "\\a",
    "\\Z",
    "\\A",
    "\\h",
    "\\G",
    "\\Q",
    "(?P<name>x)",
    "(?P<n>a)(?P=n)",
    "(?#comment)a",
    "(?i)abc",
    "(?ims)abc",
    "(?i:a)",
    "(?>a)",
    "a++",
    "a*+",
    "(?R)",
    "(?1)",
    "(?|a)",
    "\\K",
    "*a",
    "+",
    "a**",
    "a{2}{3}",
    "(",
    ")",
    "a)",
    "[a",
    "]",
    "}",
    "a{,3}",
    "{",
    "a{1",
    "a{2,1}",
    "[z-a]",
    "[\\d-z]",
    "[a-\\d]",
    "\\",
    "\\1",
    "(a)\\2",
    "\\01",
    "\\8",
    "[\\1]",
    "[\\B]",
    "\\x4",
    "\\u12",
    "\\u{}",
    "\\u{110000}",
    "\\u{12",
    "\\c1",
    "\\p",
    "\\pL",
    "\\p{}",
    "\\p{Greek}",
    "\\p{letter}",
    "\\p{sc=greek}",
    "\\p{Script=}",
    "\\p{foo=L}",
    "\\p{L",
    "\\P{InGreek}",
    "\\k",
    "\\k<a>",
    "(?<a>x)(?<a>y)",
    "(?<1a>x)",
    "(?<>x)",
    "(?<a",
    "^*",
    "$+",
    "\\b?",
    "(?=a)*",
    "(?<=a)?",
    "\\e",
    "\\_\\X",
    "(?'n'a)",
    "(*ACCEPT)",
    "\xFF",
    "a\xC3",
};

static void what_is_not_ecma_262_is_refused(void **state) {
  (void)state;
  for (size_t i = 0; i < COUNT_OF(invalid); i++) {
    trilha_pattern *pattern = NULL;
    trilha_error err = {0};
    if (trilha_pattern_is_valid(trilha_text_of(invalid[i]))) fail_msg("%s is not valid", invalid[i]);
    assert_int_equal(trilha_pattern_compile(trilha_text_of(invalid[i]), NULL, &pattern, &err), TRILHA_INVALID);
    assert_string_equal(err.code, "SCHEMA_PATTERN");
    assert_null(pattern);
  }
}

static void what_the_engine_would_answer_otherwise_is_refused_though_valid(void **state) {
  (void)state;
  static const char *const refused[] = {"(?<=a+)b",   "(?<=a{1,2})b",   "(?:(a)|b)*\\1",   "(?:\\w(a)?)*\\1",
                                        "(a?)*\\1",   "(?=(|ab)?)\\1c", "(?:(a)|\\b)?\\1", "(?<=(a))\\1",
                                        "(?!(a))\\1", "(?<!a|bc*)x",    "\\p{CWKCF}"};
  for (size_t i = 0; i < COUNT_OF(refused); i++) {
    trilha_pattern *pattern = NULL;
    trilha_error err = {0};
    assert_true(trilha_pattern_is_valid(trilha_text_of(refused[i])));
    if (trilha_pattern_compile(trilha_text_of(refused[i]), NULL, &pattern, &err) != TRILHA_INVALID)
      fail_msg("%s is taken", refused[i]);
    assert_string_equal(err.code, "SCHEMA_PATTERN");
    assert_non_null(strstr(err.text, "not supported"));
  }
}

static char *repeated(const char *before, const char *each, size_t times, const char *behind, size_t *ret_size) {
  TRILHA_BUFFER_SCOPED out;
  trilha_buffer_init(&out, 0);
  trilha_buffer_add_string(&out, before);
  for (size_t i = 0; i < times; i++) trilha_buffer_add_string(&out, each);
  trilha_buffer_add_string(&out, behind);
  return trilha_buffer_take(&out, ret_size);
}

static void limit_is_said_for(const char *before, const char *each, size_t times, const char *behind) {
  trilha_pattern *pattern = NULL;
  trilha_error err = {0};
  size_t size = 0;
  char *text = repeated(before, each, times, behind, &size);
  assert_int_equal(trilha_pattern_compile((trilha_text){text, size}, NULL, &pattern, &err), TRILHA_LIMIT);
  assert_string_equal(err.code, "SCHEMA_PATTERN_LIMIT");
  free(text);
}

static void limits_of_length_depth_and_repetition_are_said(void **state) {
  (void)state;
  limit_is_said_for("", "a", TRILHA_SCHEMA_PATTERN_SIZE_MAX + 1, "");
  limit_is_said_for("", "(", TRILHA_PATTERN_DEPTH_MAX + 1, "");
  limit_is_said_for("(a)\\1", "(?:", 0, "{100000}");
  limit_is_said_for("(a)\\1((((a{1,100}){1,100}){1,100}){1,100}){1,100}", "", 0, "");
  size_t size = 0;
  char *text = repeated("", "(?:", TRILHA_PATTERN_DEPTH_MAX - 1, "a", &size);
  char *whole = repeated(text, ")*", TRILHA_PATTERN_DEPTH_MAX - 1, "", &size);
  trilha_pattern_free(must_compile((trilha_text){whole, size}));
  free(whole);
  free(text);
}

static void a_budget_bounds_what_the_patterns_of_a_schema_take_together(void **state) {
  (void)state;
  trilha_pattern_scratch *scratch = must_have_scratch();
  trilha_pattern_budget budget = TRILHA_PATTERN_BUDGET;
  trilha_pattern *pattern = NULL;
  trilha_error err = {0};
  const trilha_text text = TRILHA_TEXT("^(?:a|bc)+$");
  assert_int_equal(trilha_pattern_compile(text, &budget, &pattern, NULL), TRILHA_OK);
  assert_true(budget.work < TRILHA_PATTERN_BUDGET.work);
  assert_int_equal(budget.bytes, TRILHA_PATTERN_BUDGET.bytes - trilha_pattern_size(pattern));
  assert_int_equal(trilha_pattern_way_of(pattern), TRILHA_WAY_DFA);
  trilha_pattern_free(pattern);

  budget.work = 0;
  assert_int_equal(trilha_pattern_compile(text, &budget, &pattern, NULL), TRILHA_OK);
  assert_int_equal(trilha_pattern_way_of(pattern), TRILHA_WAY_ENGINE);
  assert_int_equal(trilha_pattern_match(pattern, TRILHA_TEXT("abca"), scratch), TRILHA_MATCH_YES);
  assert_int_equal(trilha_pattern_match(pattern, TRILHA_TEXT("abb"), scratch), TRILHA_MATCH_NO);
  trilha_pattern_free(pattern);
  trilha_pattern_scratch_free(scratch);

  pattern = NULL;
  budget.bytes = 100;
  assert_int_equal(trilha_pattern_compile(text, &budget, &pattern, &err), TRILHA_LIMIT);
  assert_string_equal(err.code, "SCHEMA_PATTERN_LIMIT");
  budget = TRILHA_PATTERN_BUDGET;
  budget.properties = 2;
  assert_int_equal(trilha_pattern_compile(TRILHA_TEXT("\\p{L}\\p{N}\\p{P}"), &budget, &pattern, NULL), TRILHA_LIMIT);
  assert_null(pattern);
}

/* Processor time, so that other processes do not count. */
static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void catastrophic_patterns_are_decided_in_linear_time(void **state) {
  (void)state;
  static const char *const patterns[] = {
      "^(a+)+$",      "^(a|a)*$", "^(a|aa)+$",    "(a*)*b",  "(?:a*)*c", "^(([a-z])+.)+[A-Z]([a-z])+$",
      "^(a|b|ab)*c$", "(x+x+)+y", "^(?=(a+)+$)a", "(.*)*=.*"};
  trilha_pattern_scratch *scratch = must_have_scratch();
  size_t size = 0;
  char *subject = repeated("", "a", 1000000, "!", &size);
  for (size_t i = 0; i < COUNT_OF(patterns); i++) {
    trilha_pattern *pattern = must_compile(trilha_text_of(patterns[i]));
    double from = seconds();
    assert_int_equal(trilha_pattern_match(pattern, (trilha_text){subject, size}, scratch), TRILHA_MATCH_NO);
    if (seconds() - from > 1.0) fail_msg("%s took %.3f s", patterns[i], seconds() - from);
    trilha_pattern_free(pattern);
  }
  free(subject);
  trilha_pattern_scratch_free(scratch);
}

static void catastrophic_patterns_beyond_the_automata_are_undecided_soon(void **state) {
  (void)state;
  static const char *const patterns[] = {"^(a+)+\\1$", "^(?:(a+)+\\1)+b", "(?:(?:a|a)*(?<=a))+b",
                                         "^(?:a(?=a)|a)+\\b!!(?<=!)"};
  trilha_pattern_scratch *scratch = must_have_scratch();
  size_t size = 0, undecided = 0;
  char *subject = repeated("", "a", 40, "!", &size);
  for (size_t i = 0; i < COUNT_OF(patterns); i++) {
    trilha_pattern *pattern = must_compile(trilha_text_of(patterns[i]));
    assert_int_equal(trilha_pattern_way_of(pattern), TRILHA_WAY_ENGINE);
    double from = seconds();
    trilha_match match = trilha_pattern_match(pattern, (trilha_text){subject, size}, scratch);
    if (match == TRILHA_MATCH_YES) fail_msg("%s matches", patterns[i]);
    undecided += match == TRILHA_MATCH_UNDECIDED;
    if (seconds() - from > 1.0) fail_msg("%s took %.3f s", patterns[i], seconds() - from);
    trilha_pattern_free(pattern);
  }
  assert_true(undecided > 0); /* the engine's own short cuts decide some */
  free(subject);
  trilha_pattern_scratch_free(scratch);
}

static void a_match_that_exhausts_the_jit_stack_is_still_found(void **state) {
  (void)state;
  trilha_pattern_scratch *scratch = must_have_scratch();
  trilha_pattern *pattern = NULL;
  size_t size = 0;
  char *subject = repeated("", "ab", 10000, "", &size);
  assert_int_equal(trilha_pattern_compile_engine(TRILHA_TEXT("^(a|b)*$"), &pattern, NULL), TRILHA_OK);
  assert_int_equal(trilha_pattern_match(pattern, (trilha_text){subject, size}, scratch), TRILHA_MATCH_YES);
  trilha_pattern_free(pattern);
  free(subject);
  trilha_pattern_scratch_free(scratch);
}

static void a_subject_too_long_for_the_engine_is_undecided(void **state) {
  (void)state;
  trilha_pattern_scratch *scratch = must_have_scratch();
  trilha_pattern *pattern = must_compile(TRILHA_TEXT("(a)\\1"));
  size_t size = 0;
  char *subject = repeated("", "ab", TRILHA_PATTERN_ENGINE_SUBJECT_MAX / 2, "", &size);
  assert_int_equal(trilha_pattern_match(pattern, (trilha_text){subject, size}, scratch), TRILHA_MATCH_NO);
  free(subject);
  subject = repeated("aa", "ab", TRILHA_PATTERN_ENGINE_SUBJECT_MAX / 2, "", &size);
  assert_int_equal(trilha_pattern_match(pattern, (trilha_text){subject, size}, scratch), TRILHA_MATCH_UNDECIDED);
  free(subject);
  trilha_pattern_free(pattern);
  trilha_pattern_scratch_free(scratch);
}

static void absent_and_empty_texts_are_alike(void **state) {
  (void)state;
  static const char *const patterns[] = {"", "^$", "^a?$", "^(a|b)?$", "^\\w{0,3}$", ".*", "(?<!a)$"};
  trilha_pattern_scratch *scratch = must_have_scratch();
  for (size_t i = 0; i < COUNT_OF(patterns); i++) {
    trilha_pattern *pattern = must_compile(trilha_text_of(patterns[i]));
    assert_int_equal(trilha_pattern_match(pattern, (trilha_text){NULL, 0}, scratch), TRILHA_MATCH_YES);
    trilha_pattern_free(pattern);
  }
  trilha_pattern_free(must_compile((trilha_text){NULL, 0}));
  trilha_pattern_scratch_free(scratch);
}

/* --- threads ---------------------------------------------------------------------------------------- */

typedef struct shared {
  const trilha_pattern *patterns[3];
  bool right;
} shared;

static void *match_many(void *user) {
  shared *s = user;
  trilha_pattern_scratch *scratch = NULL;
  if (trilha_pattern_scratch_new(&scratch, NULL) != TRILHA_OK) return NULL;
  s->right = true;
  for (int i = 0; i < 2000; i++)
    for (size_t p = 0; p < COUNT_OF(s->patterns); p++) {
      s->right &= trilha_pattern_match(s->patterns[p], TRILHA_TEXT("aa"), scratch) == TRILHA_MATCH_YES;
      s->right &= trilha_pattern_match(s->patterns[p], TRILHA_TEXT("ab"), scratch) == TRILHA_MATCH_NO;
    }
  trilha_pattern_scratch_free(scratch);
  return NULL;
}

static void one_compiled_pattern_serves_many_threads(void **state) {
  (void)state;
  trilha_pattern *patterns[] = {must_compile(TRILHA_TEXT("^a{2}$")), must_compile(TRILHA_TEXT("^(?:aa|c)$")),
                                must_compile(TRILHA_TEXT("^(a)\\1$"))};
  shared shares[4];
  pthread_t threads[4];
  for (size_t i = 0; i < COUNT_OF(threads); i++) {
    shares[i] = (shared){{patterns[0], patterns[1], patterns[2]}, false};
    assert_int_equal(pthread_create(&threads[i], NULL, match_many, &shares[i]), 0);
  }
  for (size_t i = 0; i < COUNT_OF(threads); i++) {
    assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_true(shares[i].right);
  }
  for (size_t i = 0; i < COUNT_OF(patterns); i++) trilha_pattern_free(patterns[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pattern_is_not_anchored_and_case_counts),
      cmocka_unit_test(dollar_does_not_match_before_a_final_line_feed),
      cmocka_unit_test(dot_matches_all_but_the_four_line_terminators),
      cmocka_unit_test(digits_and_words_are_ascii_and_spaces_are_all_of_unicode),
      cmocka_unit_test(word_boundaries_know_ascii_words_only_and_no_inside_of_a_character),
      cmocka_unit_test(escapes_name_one_character),
      cmocka_unit_test(needless_escapes_of_old_schemas_are_taken),
      cmocka_unit_test(classes_may_be_empty_or_everything),
      cmocka_unit_test(properties_have_their_ecma_names),
      cmocka_unit_test(look_around_and_back_references_work),
      cmocka_unit_test(valid_patterns_are_valid),
      cmocka_unit_test(what_is_not_ecma_262_is_refused),
      cmocka_unit_test(what_the_engine_would_answer_otherwise_is_refused_though_valid),
      cmocka_unit_test(limits_of_length_depth_and_repetition_are_said),
      cmocka_unit_test(a_budget_bounds_what_the_patterns_of_a_schema_take_together),
      cmocka_unit_test(catastrophic_patterns_are_decided_in_linear_time),
      cmocka_unit_test(catastrophic_patterns_beyond_the_automata_are_undecided_soon),
      cmocka_unit_test(a_match_that_exhausts_the_jit_stack_is_still_found),
      cmocka_unit_test(a_subject_too_long_for_the_engine_is_undecided),
      cmocka_unit_test(absent_and_empty_texts_are_alike),
      cmocka_unit_test(one_compiled_pattern_serves_many_threads),
  };
  return cmocka_run_group_tests_name("schema pattern", tests, NULL, NULL);
}
