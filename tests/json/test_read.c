/* json: reading: layout, flags, limits, reuse, and that every core reads alike. */
#include "json_test.h"

static void document_is_a_flat_array_in_document_order(void **state) {
  (void)state;
  trilha_json_document *d = must_parse(TRILHA_TEXT(" {\"a\": [1, \"x\\u00e9\", null], \"b\": {}, \"c\": true} "));
  assert_int_equal(d->count, 10);
  assert_int_equal(d->depth, 2);
  const trilha_json_value *v = d->values;
  assert_int_equal(v->type, TRILHA_JSON_OBJECT);
  assert_int_equal(v->size, 3);
  assert_int_equal(v->u.extent, 10);
  const trilha_json_value *a = trilha_json_member(v, "a");
  assert_int_equal(a->type, TRILHA_JSON_ARRAY);
  assert_int_equal(a->size, 3);
  assert_int_equal(a->u.extent, 4);
  assert_int_equal(trilha_json_small(a + 1), 1);
  assert_true(trilha_json_is(a + 2, "x\xC3\xA9"));
  assert_int_equal(a[2].flags, TRILHA_JSON_ESCAPED);
  assert_int_equal(trilha_json_string_length(a + 2), 2);
  assert_int_equal(trilha_json_member(v, "c")->type, TRILHA_JSON_TRUE);
  assert_null(trilha_json_member(v, "d"));
  trilha_json_document_free(d);
}

static void scalars_are_documents_of_depth_zero(void **state) {
  (void)state;
  static const char *const texts[] = {"null", "true", "false", "0", "\"\"", " -1e5 "};
  static const trilha_json_type types[] = {TRILHA_JSON_NULL,   TRILHA_JSON_TRUE,   TRILHA_JSON_FALSE,
                                           TRILHA_JSON_NUMBER, TRILHA_JSON_STRING, TRILHA_JSON_NUMBER};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    trilha_json_document *d = must_parse(trilha_text_of(texts[i]));
    assert_int_equal(d->count, 1);
    assert_int_equal(d->depth, 0);
    assert_int_equal(d->values->type, types[i]);
    trilha_json_document_free(d);
  }
}

static void numbers_carry_flags_and_keep_their_spelling(void **state) {
  (void)state;
  static const struct {
    const char *text;
    unsigned flags;
  } cases[] = {
      {"0", TRILHA_JSON_INTEGER | TRILHA_JSON_SMALL},
      {"-0", TRILHA_JSON_INTEGER | TRILHA_JSON_SMALL | TRILHA_JSON_NEGATIVE},
      {"999999999999999999", TRILHA_JSON_INTEGER | TRILHA_JSON_SMALL},
      {"-999999999999999999", TRILHA_JSON_INTEGER | TRILHA_JSON_SMALL | TRILHA_JSON_NEGATIVE},
      {"1000000000000000000", TRILHA_JSON_INTEGER},
      {"1.0", 0},
      {"-1.0", TRILHA_JSON_NEGATIVE},
      {"1e2", 0},
      {"-1E+2", TRILHA_JSON_NEGATIVE},
      {"123456789012345678901234567890", TRILHA_JSON_INTEGER},
      {"0.1e-7", 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    trilha_json_document *d = must_parse(trilha_text_of(cases[i].text));
    assert_int_equal(d->values->flags, cases[i].flags);
    assert_true(trilha_text_is(trilha_json_text(d->values), cases[i].text));
    trilha_json_document_free(d);
  }
  trilha_json_document *d = must_parse(TRILHA_TEXT("[-999999999999999999, -0, 42]"));
  assert_true(trilha_json_small(d->values + 1) == INT64_C(-999999999999999999));
  assert_true(trilha_json_small(d->values + 2) == 0);
  assert_true(trilha_json_small(d->values + 3) == 42);
  trilha_json_document_free(d);
}

static void strings_carry_flags_and_are_unescaped(void **state) {
  (void)state;
  static const struct {
    const char *text, *is;
    size_t size;
    unsigned flags;
  } cases[] = {
      {"\"abc\"", "abc", 3, TRILHA_JSON_ASCII},
      {"\"\"", "", 0, TRILHA_JSON_ASCII},
      {"\"a\xC3\xA7\"", "a\xC3\xA7", 3, 0},
      {"\"\\u0041\"", "A", 1, TRILHA_JSON_ASCII | TRILHA_JSON_ESCAPED},
      {"\"\\u00e9\"", "\xC3\xA9", 2, TRILHA_JSON_ESCAPED},
      {"\"\\ud83d\\uDE00!\"", "\xF0\x9F\x98\x80!", 5, TRILHA_JSON_ESCAPED},
      {"\"\\uFFFF\"", "\xEF\xBF\xBF", 3, TRILHA_JSON_ESCAPED},
      {"\"a\\u0000b\"", "a\0b", 3, TRILHA_JSON_ASCII | TRILHA_JSON_ESCAPED | TRILHA_JSON_NUL},
      {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8, TRILHA_JSON_ASCII | TRILHA_JSON_ESCAPED},
      {"\"\x7F\"", "\x7F", 1, TRILHA_JSON_ASCII},
      {"\"\xEF\xBB\xBF\"", "\xEF\xBB\xBF", 3, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    trilha_json_document *d = must_parse(trilha_text_of(cases[i].text));
    assert_int_equal(d->values->flags, cases[i].flags);
    assert_int_equal(d->values->size, cases[i].size);
    assert_memory_equal(d->values->u.text, cases[i].is, cases[i].size);
    assert_ptr_equal(d->values->u.text, d->text + 1);
    trilha_json_document_free(d);
  }
}

/* A string of every length around the strides of the cores, with an escape, a character or nothing at every place. */
static void strings_of_every_length_are_read_whole(void **state) {
  (void)state;
  static const char *const inserts[] = {"", "\\n", "\\u00e7", "\xC3\xA7", "\xF0\x9F\x98\x80", "\\ud83d\\ude00"};
  static const char *const outcomes[] = {"", "\n", "\xC3\xA7", "\xC3\xA7", "\xF0\x9F\x98\x80", "\xF0\x9F\x98\x80"};
  char text[512], wanted[512];
  for (size_t length = 0; length < 80; length++) {
    for (size_t at = 0; at <= length; at++) {
      for (size_t k = 0; k < 6; k++) {
        size_t n = (size_t)snprintf(
            text, sizeof text, "[\"%.*s%s%.*s\",7]", (int)at,
            "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzab", inserts[k],
            (int)(length - at), "0123456789012345678901234567890123456789012345678901234567890123456789012345678901");
        snprintf(wanted, sizeof wanted, "%.*s%s%.*s", (int)at,
                 "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzab", outcomes[k],
                 (int)(length - at),
                 "0123456789012345678901234567890123456789012345678901234567890123456789012345678901");
        trilha_json_document *d = must_parse((trilha_text){text, n});
        assert_true(trilha_json_is(d->values + 1, wanted));
        assert_int_equal(trilha_json_small(d->values + 2), 7);
        assert_int_equal((d->values[1].flags & TRILHA_JSON_ASCII) != 0, k < 2);
        trilha_json_document_free(d);
      }
    }
  }
}

static void code_points_are_counted(void **state) {
  (void)state;
  trilha_json_document *d =
      must_parse(TRILHA_TEXT("[\"\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x9A\x80\",\"a\xC3\xA7\xC3\xA3o de d\xE2\x82\xAC"
                             "bito\"]"));
  assert_int_equal(trilha_json_string_length(d->values + 1), 3);
  assert_int_equal(trilha_json_string_length(d->values + 2), 14);
  trilha_json_document_free(d);
}

static void members_are_numbered_from_the_key_table(void **state) {
  (void)state;
  const trilha_text names[] = {TRILHA_TEXT("canal"), TRILHA_TEXT("a name longer than sixteen bytes"), TRILHA_TEXT(""),
                               TRILHA_TEXT("\xC3\xA9")};
  trilha_json_keys *keys = NULL;
  assert_int_equal(trilha_json_keys_new(names, 4, &keys, NULL), TRILHA_OK);
  trilha_json_reader *reader = NULL;
  assert_int_equal(trilha_json_reader_new(&reader, NULL), TRILHA_OK);
  static const char text[] =
      "{\"canal\":1,\"a name longer than sixteen bytes\":2,\"\":3,\"\\u00e9\":4,\"cana\":5,\"x\":\"canal\","
      "\"c\\u0061nal\":7}";
  for (int isa = TRILHA_JSON_PORTABLE; isa <= TRILHA_JSON_AVX2; isa++) {
    if (!trilha_json_reader_use(reader, (trilha_json_isa)isa)) continue;
    const trilha_json_document *d = NULL;
    assert_int_equal(trilha_json_read(reader, TRILHA_TEXT(text), NULL, keys, &d, NULL, NULL), TRILHA_OK);
    static const uint16_t wanted[] = {1, 2, 3, 4, 0, 0, 1};
    for (size_t i = 0; i < 7; i++) {
      assert_int_equal(d->values[1 + 2 * i].key, wanted[i]);
      assert_int_equal(d->values[2 + 2 * i].key, 0);
    }
  }
  trilha_json_reader_free(reader);
  trilha_json_keys_free(keys);
}

static void a_reader_is_reused_for_texts_of_any_size(void **state) {
  (void)state;
  trilha_json_reader *reader = NULL;
  assert_int_equal(trilha_json_reader_new(&reader, NULL), TRILHA_OK);
  enum { LARGE = 8 << 20 };
  char *large = malloc(LARGE);
  assert_non_null(large);
  for (size_t i = 0; i < LARGE; i += 2) memcpy(large + i, ",1", 2);
  large[0] = '[';
  large[LARGE - 1] = ']';
  large[LARGE - 2] = '1';
  const trilha_json_document *d = NULL;
  for (int round = 0; round < 3; round++) {
    assert_int_equal(trilha_json_read(reader, TRILHA_TEXT("[1,2]"), NULL, NULL, &d, NULL, NULL), TRILHA_OK);
    assert_int_equal(d->count, 3);
    assert_int_equal(trilha_json_read(reader, (trilha_text){large, LARGE}, NULL, NULL, &d, NULL, NULL), TRILHA_OK);
    assert_int_equal(d->count, LARGE / 2);
    assert_int_equal(trilha_json_read(reader, TRILHA_TEXT("[1,2"), NULL, NULL, &d, NULL, NULL), TRILHA_INVALID);
  }
  trilha_json_reader_free(reader);
  free(large);
}

/* Texts that make the most values of their bytes: the array of values must hold them all. */
static void densest_texts_fit_the_array_of_values(void **state) {
  (void)state;
  static const char *const pieces[] = {"1,", "[],", "{},", "[[]],", "{\"\":1},", "\"\",", "[[[[]]]],"};
  for (size_t k = 0; k < sizeof pieces / sizeof pieces[0]; k++) {
    for (size_t times = 1; times < 40000; times = times * 3 + 1) {
      size_t piece = strlen(pieces[k]), size = piece * times + 3, at = 0;
      char *text = malloc(size);
      assert_non_null(text);
      text[at++] = '[';
      for (size_t i = 0; i < times; i++, at += piece) memcpy(text + at, pieces[k], piece);
      text[at++] = '0';
      text[at++] = ']';
      trilha_json_document *d = must_parse((trilha_text){text, size});
      assert_int_equal(d->values->size, times + 1);
      assert_int_equal(d->values->u.extent, d->count);
      trilha_json_document_free(d);
      free(text);
    }
  }
}

static void opening_brackets_cost_no_memory_beyond_the_depth_limit(void **state) {
  (void)state;
  size_t size = TRILHA_JSON_BYTES_MAX;
  char *text = malloc(size);
  assert_non_null(text);
  memset(text, '[', size);
  trilha_json_reader *reader = NULL;
  assert_int_equal(trilha_json_reader_new(&reader, NULL), TRILHA_OK);
  const trilha_json_document *d = NULL;
  trilha_json_fault fault = {0};
  trilha_error err = {0};
  assert_int_equal(trilha_json_read(reader, (trilha_text){text, size}, NULL, NULL, &d, &fault, &err), TRILHA_LIMIT);
  assert_string_equal(fault.code, "JSON_DEPTH");
  assert_int_equal(fault.offset, TRILHA_JSON_DEPTH_MAX);
  trilha_json_reader_free(reader);
  free(text);
}

static void nesting_up_to_the_limit_is_read(void **state) {
  (void)state;
  char text[2 * TRILHA_JSON_DEPTH_MAX + 4];
  trilha_json_limits limits = TRILHA_JSON_LIMITS;
  limits.depth_max = UINT32_MAX; /* lowered to the documented limit */
  memset(text, '[', TRILHA_JSON_DEPTH_MAX);
  memset(text + TRILHA_JSON_DEPTH_MAX, ']', TRILHA_JSON_DEPTH_MAX);
  trilha_json_document *d = NULL;
  assert_int_equal(trilha_json_parse((trilha_text){text, 2 * TRILHA_JSON_DEPTH_MAX}, &limits, &d, NULL, NULL),
                   TRILHA_OK);
  assert_int_equal(d->depth, TRILHA_JSON_DEPTH_MAX);
  assert_int_equal(d->count, TRILHA_JSON_DEPTH_MAX);
  trilha_json_document_free(d);
  memset(text, '[', TRILHA_JSON_DEPTH_MAX + 1);
  memset(text + TRILHA_JSON_DEPTH_MAX + 1, ']', TRILHA_JSON_DEPTH_MAX + 1);
  assert_int_equal(trilha_json_parse((trilha_text){text, 2 * TRILHA_JSON_DEPTH_MAX + 2}, &limits, &d, NULL, NULL),
                   TRILHA_LIMIT);
}

/* --- cores compared --------------------------------------------------------------------------------------- */

static uint64_t next_random(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return *state >> 33;
}

static const char *const seeds[] = {
    "{\"canal\":\"aplicativo\",\"texto\":\"Falta d'\\u00e1gua na rua "
    "\xC3\xA7\xC3\xA3o\",\"n\":[1,-2.5e+10,0.001,1e5],\"x\":{}}",
    "[\"\\ud83d\\ude00\",\"\xF0\x9F\x98\x80 um texto mais longo que trinta e dois bytes, com \\\"aspas\\\" e \\\\ "
    "barras\",[[[]]],{\"\":null}]",
    " {\n  \"a\" : true ,\r\n\t\"b\" : false , \"c\" : null\n}                                             ",
    "[\"\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC"
    "\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC\",0,-0,12345678901234567890]",
};

static size_t mutate(char *text, size_t size, uint64_t *random) {
  static const char bytes[] =
      "\"\\{}[],:0123456789.eE+-tfnu \n\t\0\x1F\x7F\x80\xBF\xC0\xC3\xE0\xED\xEF\xF0\xF4\xF5\xFF"
      "ad8";
  size_t changes = next_random(random) % 4;
  for (size_t i = 0; i < changes && size > 1; i++) {
    size_t at = next_random(random) % size;
    char byte = bytes[next_random(random) % (sizeof bytes - 1)];
    switch (next_random(random) % 4) {
      case 0:
        text[at] = byte;
        break;
      case 1:
        memmove(text + at, text + at + 1, size - at - 1);
        size--;
        break;
      case 2:
        memmove(text + at + 1, text + at, size - at);
        text[at] = byte;
        size++;
        break;
      default:
        size = at + 1;
    }
  }
  return size;
}

typedef struct outcome {
  trilha_status status;
  trilha_json_fault fault;
  const trilha_json_document *document;
} outcome;

static void assert_same_document(const trilha_json_document *a, const trilha_json_document *b) {
  assert_int_equal(a->count, b->count);
  assert_int_equal(a->depth, b->depth);
  for (size_t i = 0; i < a->count; i++) {
    const trilha_json_value *v = &a->values[i], *w = &b->values[i];
    assert_int_equal(v->type, w->type);
    assert_int_equal(v->flags, w->flags);
    assert_int_equal(v->size, w->size);
    if (v->type != TRILHA_JSON_NUMBER && v->type != TRILHA_JSON_STRING) {
      assert_true(v->u.extent == w->u.extent);
      continue;
    }
    assert_int_equal(v->u.text - a->text, w->u.text - b->text);
    if (v->size != 0) assert_memory_equal(v->u.text, w->u.text, v->size);
  }
}

static void cores_agree_on_mutated_texts(void **state) {
  (void)state;
  trilha_json_reader *readers[3] = {NULL};
  size_t count = 0, accepted = 0, refused = 0;
  for (int isa = TRILHA_JSON_PORTABLE; isa <= TRILHA_JSON_AVX2; isa++) {
    assert_int_equal(trilha_json_reader_new(&readers[count], NULL), TRILHA_OK);
    if (trilha_json_reader_use(readers[count], (trilha_json_isa)isa))
      count++;
    else
      trilha_json_reader_free(readers[count]);
  }
  uint64_t random = 20260608;
  print_message("# seed %llu, %zu cores\n", (unsigned long long)random, count);
  for (int i = 0; i < 40000; i++) {
    const char *seed = seeds[next_random(&random) % 4];
    size_t size = strlen(seed);
    char *text = malloc(size + 8), *exact;
    assert_non_null(text);
    memcpy(text, seed, size);
    size = mutate(text, size, &random);
    exact = realloc(text, size); /* so that the sanitizers see a read past the end */
    assert_non_null(exact);
    outcome outcomes[3] = {{0}};
    for (size_t k = 0; k < count; k++) {
      outcome *o = &outcomes[k];
      o->status = trilha_json_read(readers[k], (trilha_text){exact, size}, NULL, NULL, &o->document, &o->fault, NULL);
      assert_int_equal(o->status, outcomes[0].status);
      assert_string_equal(o->fault.code, outcomes[0].fault.code);
      assert_string_equal(o->fault.text, outcomes[0].fault.text);
      assert_int_equal(o->fault.offset, outcomes[0].fault.offset);
      if (o->status == TRILHA_OK) assert_same_document(outcomes[0].document, o->document);
    }
    if (outcomes[0].status == TRILHA_OK)
      accepted++;
    else
      refused++;
    free(exact);
  }
  assert_true(accepted > 1000 && refused > 1000);
  for (size_t k = 0; k < count; k++) trilha_json_reader_free(readers[k]);
}

/* Every pair of bytes, and every pair after E0, ED, F0 and F4, at places around a block's end: each core must say of
 * UTF-8 what the plain check says. */
static void cores_agree_on_utf8(void **state) {
  (void)state;
  static const char *const leads[] = {"",     "\xE0", "\xE1",     "\xED",     "\xEE",    "\xF0",
                                      "\xF1", "\xF4", "\xF0\x90", "\xF4\x8F", "\xF1\x80"};
  static const size_t places[] = {0, 27, 28, 29, 30, 31, 60};
  trilha_json_reader *reader = NULL;
  assert_int_equal(trilha_json_reader_new(&reader, NULL), TRILHA_OK);
  char text[96];
  for (int isa = TRILHA_JSON_PORTABLE; isa <= TRILHA_JSON_AVX2; isa++) {
    if (!trilha_json_reader_use(reader, (trilha_json_isa)isa)) continue;
    for (size_t l = 0; l < sizeof leads / sizeof leads[0]; l++) {
      for (unsigned pair = 0; pair < 65536; pair++) {
        unsigned char x = (unsigned char)(pair >> 8), y = (unsigned char)pair;
        if (x < 0x70 || (y < 0x70 && y != 'a') || (y > 0xC3 && y < 0xF0)) continue;
        size_t n = 0;
        text[n++] = '"';
        for (size_t i = 0; i < places[(pair + l) % 7]; i++) text[n++] = 'a';
        memcpy(text + n, leads[l], strlen(leads[l]));
        n += strlen(leads[l]);
        text[n++] = (char)x;
        text[n++] = (char)y;
        bool valid = trilha_utf8_valid(text, n);
        text[n++] = '"';
        const trilha_json_document *d = NULL;
        trilha_json_fault fault = {0};
        trilha_status status = trilha_json_read(reader, (trilha_text){text, n}, NULL, NULL, &d, &fault, NULL);
        assert_int_equal(status, valid ? TRILHA_OK : TRILHA_INVALID);
        if (!valid) assert_string_equal(fault.code, "JSON_UTF8");
      }
    }
  }
  trilha_json_reader_free(reader);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(document_is_a_flat_array_in_document_order),
      cmocka_unit_test(scalars_are_documents_of_depth_zero),
      cmocka_unit_test(numbers_carry_flags_and_keep_their_spelling),
      cmocka_unit_test(strings_carry_flags_and_are_unescaped),
      cmocka_unit_test(strings_of_every_length_are_read_whole),
      cmocka_unit_test(code_points_are_counted),
      cmocka_unit_test(members_are_numbered_from_the_key_table),
      cmocka_unit_test(a_reader_is_reused_for_texts_of_any_size),
      cmocka_unit_test(densest_texts_fit_the_array_of_values),
      cmocka_unit_test(opening_brackets_cost_no_memory_beyond_the_depth_limit),
      cmocka_unit_test(nesting_up_to_the_limit_is_read),
      cmocka_unit_test(cores_agree_on_mutated_texts),
      cmocka_unit_test(cores_agree_on_utf8),
  };
  return cmocka_run_group_tests_name("json read", tests, NULL, NULL);
}
