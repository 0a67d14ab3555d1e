/* schema/pattern: which way patterns take, and that public ones are quick on long texts. The schemas are those of
 * ../shared/conformance/benchmark; skipped when they are absent. */
#include <dirent.h>
#include <time.h>

#include "json/json.h"
#include "pattern_test.h"

typedef void (*pattern_found)(void *user, const char *schema, trilha_text pattern);

static char *read_file(const char *path, size_t *ret_size) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) return NULL;
  char *data = malloc(TRILHA_SCHEMA_BYTES_MAX);
  assert_non_null(data);
  *ret_size = fread(data, 1, TRILHA_SCHEMA_BYTES_MAX, file);
  fclose(file);
  return data;
}

static void patterns_of(const char *schema, trilha_text text, pattern_found found, void *user) {
  trilha_json_document *document = NULL;
  assert_int_equal(trilha_json_parse(text, &TRILHA_JSON_LIMITS, &document, NULL, NULL), TRILHA_OK);
  for (size_t i = 0; i < document->count; i++) {
    const trilha_json_value *value = &document->values[i];
    const trilha_json_value *one = trilha_json_member(value, "pattern"),
                            *many = trilha_json_member(value, "patternProperties");
    if (one != NULL && one->type == TRILHA_JSON_STRING) found(user, schema, trilha_json_text(one));
    if (many == NULL || many->type != TRILHA_JSON_OBJECT) continue;
    const trilha_json_value *name = many + 1;
    for (size_t m = 0; m < many->size; m++, name = trilha_json_next(name + 1))
      found(user, schema, trilha_json_text(name));
  }
  trilha_json_document_free(document);
}

static int is_folder_name(const struct dirent *entry) {
  return entry->d_name[0] != '.' && strchr(entry->d_name, '.') == NULL;
}

static void for_each_public_pattern(pattern_found found, void *user) {
  const char *shared = getenv("TRILHA_SHARED");
  char folder[2048], path[4096];
  struct dirent **names = NULL;
  (void)snprintf(folder, sizeof folder, "%s/conformance/benchmark", shared == NULL ? "../shared" : shared);
  int count = scandir(folder, &names, is_folder_name, alphasort);
  if (count < 0) {
    print_message("skipped: no %s\n", folder);
    skip();
  }
  for (int i = 0; i < count; i++) {
    size_t size = 0;
    (void)snprintf(path, sizeof path, "%s/%s/schema.json", folder, names[i]->d_name);
    char *text = read_file(path, &size);
    if (text != NULL) patterns_of(names[i]->d_name, (trilha_text){text, size}, found, user);
    free(text);
    free(names[i]);
  }
  free(names);
}

/* --- ways ------------------------------------------------------------------------------------------- */

static void takes_no_engine(void *user, const char *schema, trilha_text text) {
  trilha_pattern *pattern = must_compile(text);
  if (trilha_pattern_way_of(pattern) == TRILHA_WAY_ENGINE)
    fail_msg("%s: %.*s needs the engine", schema, (int)text.size, text.data);
  if (trilha_pattern_size(pattern) > 8192) fail_msg("%s: %.*s is large", schema, (int)text.size, text.data);
  trilha_pattern_free(pattern);
  (*(size_t *)user)++;
}

static void no_public_pattern_needs_the_engine(void **state) {
  (void)state;
  size_t count = 0;
  for_each_public_pattern(takes_no_engine, &count);
  assert_true(count >= 30);
}

static void each_pattern_takes_the_cheapest_way(void **state) {
  (void)state;
  static const struct {
    const char *pattern;
    trilha_pattern_way way;
  } rows[] = {
      {".*", TRILHA_WAY_SHAPE},
      {".+", TRILHA_WAY_SHAPE},
      {"^.*", TRILHA_WAY_SHAPE},
      {"^.+$", TRILHA_WAY_SHAPE},
      {"^.{1,100000}$", TRILHA_WAY_SHAPE},
      {"^x-", TRILHA_WAY_SHAPE},
      {"\\.json$", TRILHA_WAY_SHAPE},
      {"a{3}", TRILHA_WAY_SHAPE},
      {"^[0-9a-f]{64}$", TRILHA_WAY_SHAPE},
      {"^[\\p{L}' -]{2,80}$", TRILHA_WAY_SHAPE},
      {"^[a-z]+-[0-9]{3,8}(?:)$", TRILHA_WAY_DFA},
      {"^(a|b)$", TRILHA_WAY_DFA},
      {"^[0-9]{1,3}[0-9a-f]$", TRILHA_WAY_DFA},
      {"^\\p{L}+( \\p{L}+)*$", TRILHA_WAY_DFA},
      {"\\bfoo\\b", TRILHA_WAY_DFA},
      {"^(?=.*a)(?!.*b).{2,9}$", TRILHA_WAY_DFA},
      {"(a)\\1", TRILHA_WAY_ENGINE},
      {"(?<=a)b", TRILHA_WAY_ENGINE},
      {"a(?!b)", TRILHA_WAY_ENGINE},
      {"(a|b)*a(a|b){12}", TRILHA_WAY_ENGINE},
      {"\\p{Script=Greek}", TRILHA_WAY_ENGINE},
      {"(?:[^a]{0,90}b){60}", TRILHA_WAY_ENGINE},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    trilha_pattern *pattern = must_compile(trilha_text_of(rows[i].pattern));
    if (trilha_pattern_way_of(pattern) != rows[i].way)
      fail_msg("%s takes way %d", rows[i].pattern, (int)trilha_pattern_way_of(pattern));
    trilha_pattern_free(pattern);
  }
}

/* --- long texts --------------------------------------------------------------------------------------- */

#define LONG_TEXT_SIZE    ((size_t)100 << 10)
#define LONG_TEXT_SECONDS 0.5 /* a hundred times what it takes, so that a sanitizer's build passes too */

typedef struct long_texts {
  char *texts[5];
  size_t sizes[5];
  trilha_pattern_scratch *scratch;
} long_texts;

static void fill(long_texts *l, size_t index, const char *piece) {
  TRILHA_BUFFER_SCOPED out;
  trilha_buffer_init(&out, 0);
  while (out.size < LONG_TEXT_SIZE) trilha_buffer_add_string(&out, piece);
  l->texts[index] = trilha_buffer_take(&out, &l->sizes[index]);
  assert_non_null(l->texts[index]);
}

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void is_quick_on_long_texts(void *user, const char *schema, trilha_text text) {
  long_texts *l = user;
  trilha_pattern *pattern = must_compile(text);
  for (size_t i = 0; i < sizeof l->texts / sizeof l->texts[0]; i++) {
    double from = seconds();
    trilha_match match = trilha_pattern_match(pattern, (trilha_text){l->texts[i], l->sizes[i]}, l->scratch);
    double took = seconds() - from;
    if (match == TRILHA_MATCH_UNDECIDED) fail_msg("%s: %.*s is undecided", schema, (int)text.size, text.data);
    if (took > LONG_TEXT_SECONDS) fail_msg("%s: %.*s took %.3f s", schema, (int)text.size, text.data, took);
  }
  trilha_pattern_free(pattern);
}

static void what_citizens_write_at_length_is_decided_at_once(void **state) {
  (void)state;
  static const char *const hard[] = {"^\\p{L}+( \\p{L}+)*$",
                                     "(?:[a-z]+\\s?)+$",
                                     "^(\\w+\\s?)*$",
                                     "\\bprefeitura\\b.*\\burgente\\b",
                                     "^(?!.*<script)(?=.*\\S).{1,200000}$",
                                     "[\\s\\S]*\\d{3}\\.\\d{3}\\.\\d{3}-\\d{2}[\\s\\S]*x$",
                                     "^([^@]+)@([^@]+)$",
                                     "(.*,){5,}z$"};
  long_texts l = {.scratch = must_have_scratch()};
  fill(&l, 0,
       "A ilumina\xC3\xA7\xC3\xA3o da Rua S\xC3\xA3o Jo\xC3\xA3o est\xC3\xA1 apagada h\xC3\xA1 tr\xC3\xAAs semanas; "
       "j\xC3\xA1 reclamei na prefeitura.\n");
  fill(&l, 1, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
  fill(&l, 2, "\xC3\xA7\xC3\xA3\xC3\xA3\xC3\xB5");
  fill(&l, 3, "1.2.3-4+5.6,7/8:9@x_y ");
  fill(&l, 4, "0000000000-0000000000.");
  for (size_t i = 0; i < sizeof hard / sizeof hard[0]; i++) is_quick_on_long_texts(&l, "hard", trilha_text_of(hard[i]));
  for_each_public_pattern(is_quick_on_long_texts, &l);
  for (size_t i = 0; i < sizeof l.texts / sizeof l.texts[0]; i++) free(l.texts[i]);
  trilha_pattern_scratch_free(l.scratch);
}

static void thousands_of_hard_patterns_are_compiled_or_refused_in_bounded_time(void **state) {
  (void)state;
  static const char *const shapes[] = {"^\\p{L}+( \\p{L}+)*-%d$", "^(?:[^a]{0,20}b){3}%d$", "(a|b)*a(a|b){11}%d",
                                       "(?=a)(?:(?:x{1,200}){1,100}%d)"};
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
    trilha_pattern_budget budget = TRILHA_PATTERN_BUDGET;
    trilha_status status = TRILHA_OK;
    double from = seconds();
    for (int n = 0; status == TRILHA_OK && n < 10000; n++) {
      TRILHA_BUFFER_SCOPED text;
      trilha_pattern *pattern = NULL;
      trilha_buffer_init(&text, 0);
      for (const char *c = shapes[i]; *c != '\0'; c++) {
        if (*c == '%')
          trilha_buffer_add_i64(&text, n), c++;
        else
          trilha_buffer_add_char(&text, *c);
      }
      status = trilha_pattern_compile(trilha_buffer_text(&text), &budget, &pattern, NULL);
      trilha_pattern_free(pattern);
    }
    assert_true(status == TRILHA_OK || status == TRILHA_LIMIT);
    if (seconds() - from > 20.0) fail_msg("%s took %.1f s", shapes[i], seconds() - from);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_pattern_takes_the_cheapest_way),
      cmocka_unit_test(no_public_pattern_needs_the_engine),
      cmocka_unit_test(what_citizens_write_at_length_is_decided_at_once),
      cmocka_unit_test(thousands_of_hard_patterns_are_compiled_or_refused_in_bounded_time),
  };
  return cmocka_run_group_tests_name("schema pattern ways", tests, NULL, NULL);
}
