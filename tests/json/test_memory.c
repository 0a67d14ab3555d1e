/* json: the Nth allocation fails, for every N until all succeed; and what a reader holds is bounded. */
#include <malloc.h>

#include "json_test.h"

/* The linker sends this program's allocations here (--wrap). */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *p, size_t size);
void __real_free(void *p);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *p, size_t size);
void __wrap_free(void *p);

static struct {
  long left;   /* allocations that still succeed; -1: all */
  size_t held; /* bytes now */
  size_t most;
  bool failed;
} heap = {.left = -1};

static bool fails(void) {
  if (heap.left < 0) return false;
  if (heap.left > 0) {
    heap.left--;
    return false;
  }
  heap.failed = true;
  return true;
}

static void *counted(void *p) {
  if (p == NULL) return NULL;
  heap.held += malloc_usable_size(p);
  if (heap.held > heap.most) heap.most = heap.held;
  return p;
}

void *__wrap_malloc(size_t size) {
  return fails() ? NULL : counted(__real_malloc(size));
}
void *__wrap_calloc(size_t count, size_t size) {
  return fails() ? NULL : counted(__real_calloc(count, size));
}

void *__wrap_realloc(void *p, size_t size) {
  if (fails()) return NULL;
  size_t before = p == NULL ? 0 : malloc_usable_size(p);
  void *moved = __real_realloc(p, size);
  if (moved == NULL) return NULL;
  heap.held -= before;
  return counted(moved);
}

void __wrap_free(void *p) {
  if (p != NULL) heap.held -= malloc_usable_size(p);
  __real_free(p);
}

/* An array that has to grow, an object that is sorted and hashed, numbers and escapes. */
static trilha_text busy_text(void) {
  enum { SIZE = 200000 };
  char *text = __real_malloc(SIZE);
  if (text == NULL) abort();
  size_t n = 0;
  n += (size_t)sprintf(text + n, "{\"a\":[");
  while (n < SIZE - 2000) n += (size_t)sprintf(text + n, "0,");
  n += (size_t)sprintf(text + n, "1.50],\"o\":{");
  for (int i = 0; i < 40; i++) n += (size_t)sprintf(text + n, "\"k\\u00e9%d\":%d,", (i * 7) % 40, (i * 7) % 40);
  n += (size_t)sprintf(text + n, "\"z\":{}}}");
  return (trilha_text){text, n};
}

/* The same value, its last object in another order. */
static trilha_text other_order(trilha_text text) {
  char *other = __real_malloc(text.size);
  if (other == NULL) abort();
  memcpy(other, text.data, text.size);
  char *last = memmem(other, text.size, "\"k\\u00e90\":0,", 13);
  char *next = last + 13;
  size_t next_size = (size_t)((char *)memchr(next, ',', 40) + 1 - next);
  char moved[64];
  memcpy(moved, next, next_size);
  memmove(last + next_size, "\"k\\u00e90\":0,", 13);
  memcpy(last, moved, next_size);
  return (trilha_text){other, text.size};
}

/* Everything that allocates. Returns the first status that is not OK. */
static trilha_status use_all(trilha_text text, trilha_text other, bool *ret_equal) {
  trilha_json_document *a = NULL, *b = NULL;
  trilha_json_keys *keys = NULL;
  TRILHA_BUFFER_SCOPED out;
  trilha_buffer_init(&out, 0);
  const trilha_text names[] = {TRILHA_TEXT("a"), TRILHA_TEXT("o")};
  trilha_error err = {0};
  trilha_status status = trilha_json_keys_new(names, 2, &keys, &err);
  if (status == TRILHA_OK) status = trilha_json_parse(text, NULL, &a, NULL, &err);
  if (status == TRILHA_OK) status = trilha_json_parse(other, NULL, &b, NULL, &err);
  if (status == TRILHA_OK) status = trilha_json_check_storable(a, text, NULL, &err);
  if (status == TRILHA_OK) status = trilha_json_write_canonical(&out, a->values, &err);
  if (status == TRILHA_OK) *ret_equal = trilha_json_equal(a->values, b->values);
  assert_int_equal(err.status, status);
  trilha_json_keys_free(keys);
  trilha_json_document_free(a);
  trilha_json_document_free(b);
  return status;
}

static void every_failed_allocation_is_reported_and_leaks_nothing(void **state) {
  (void)state;
  trilha_text text = busy_text(), other = other_order(text);
  size_t before = heap.held;
  long n = 0;
  for (;; n++) {
    bool equal = false;
    heap.left = n;
    heap.failed = false;
    trilha_status status = use_all(text, other, &equal);
    heap.left = -1;
    assert_int_equal(heap.held, before);
    if (status == TRILHA_OK) {
      /* Equality has no way to fail: without memory it is slower, and right. */
      assert_true(equal);
      if (!heap.failed) break;
    } else {
      assert_int_equal(status, TRILHA_NO_MEMORY);
    }
    assert_true(n < 1000);
  }
  assert_true(n > 15);
  __real_free((void *)(uintptr_t)text.data);
  __real_free((void *)(uintptr_t)other.data);
}

static void a_reader_survives_a_failed_allocation(void **state) {
  (void)state;
  trilha_text text = busy_text();
  trilha_json_reader *reader = NULL;
  assert_int_equal(trilha_json_reader_new(&reader, NULL), TRILHA_OK);
  const trilha_json_document *d = NULL;
  assert_int_equal(trilha_json_read(reader, TRILHA_TEXT("[1]"), NULL, NULL, &d, NULL, NULL), TRILHA_OK);
  for (long n = 0; n < 3; n++) {
    heap.left = n;
    trilha_status status = trilha_json_read(reader, text, NULL, NULL, &d, NULL, NULL);
    heap.left = -1;
    if (n < 2) assert_int_equal(status, TRILHA_NO_MEMORY);
    assert_int_equal(trilha_json_read(reader, TRILHA_TEXT("[1]"), NULL, NULL, &d, NULL, NULL), TRILHA_OK);
    assert_int_equal(d->count, 2);
  }
  trilha_json_reader_free(reader);
  __real_free((void *)(uintptr_t)text.data);
}

/* docs/json.md: nine bytes for each byte of the text, and 64 KiB. */
static void hostile_texts_stay_within_the_documented_memory(void **state) {
  (void)state;
  static const char *const pieces[] = {"[],", "1,", "{},", "\"\",", "{\"\":0},"};
  enum { SIZE = 4 << 20 };
  char *text = __real_malloc(SIZE);
  assert_non_null(text);
  for (size_t k = 0; k < sizeof pieces / sizeof pieces[0]; k++) {
    size_t piece = strlen(pieces[k]), n = 1;
    text[0] = '[';
    for (; n + piece < SIZE; n += piece) memcpy(text + n, pieces[k], piece);
    text[n - 1] = ']';
    trilha_json_reader *reader = NULL;
    assert_int_equal(trilha_json_reader_new(&reader, NULL), TRILHA_OK);
    size_t before = heap.held;
    heap.most = 0;
    const trilha_json_document *d = NULL;
    assert_int_equal(trilha_json_read(reader, (trilha_text){text, n}, NULL, NULL, &d, NULL, NULL), TRILHA_OK);
    assert_true(heap.most - before <= 9 * n + 65536);
    /* A small text afterwards gives it back. */
    assert_int_equal(trilha_json_read(reader, TRILHA_TEXT("[1]"), NULL, NULL, &d, NULL, NULL), TRILHA_OK);
    assert_true(heap.held - before < 100000);
    trilha_json_reader_free(reader);
  }
  __real_free(text);
}

static void a_reader_that_is_reused_allocates_nothing(void **state) {
  (void)state;
  trilha_json_reader *reader = NULL;
  assert_int_equal(trilha_json_reader_new(&reader, NULL), TRILHA_OK);
  const trilha_json_document *d = NULL;
  static const char text[] = "{\"a\":[1,2,{\"b\":\"\\u00e9\"}],\"c\":null}";
  assert_int_equal(trilha_json_read(reader, TRILHA_TEXT(text), NULL, NULL, &d, NULL, NULL), TRILHA_OK);
  heap.left = 0;
  for (int i = 0; i < 100; i++) {
    trilha_status status = trilha_json_read(reader, TRILHA_TEXT(text), NULL, NULL, &d, NULL, NULL);
    if (status == TRILHA_OK) status = trilha_json_check_storable(d, TRILHA_TEXT(text), NULL, NULL);
    if (status != TRILHA_OK) {
      heap.left = -1;
      fail_msg("it allocated");
    }
  }
  heap.left = -1;
  trilha_json_reader_free(reader);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_failed_allocation_is_reported_and_leaks_nothing),
      cmocka_unit_test(a_reader_survives_a_failed_allocation),
      cmocka_unit_test(hostile_texts_stay_within_the_documented_memory),
      cmocka_unit_test(a_reader_that_is_reused_allocates_nothing),
  };
  return cmocka_run_group_tests_name("json memory", tests, NULL, NULL);
}
