/* json: readers and documents: their memory, limits and the choice of a scanning core. */
#include <stdlib.h>

#include "base/assert.h"
#include "base/error.h"
#include "json/json_internal.h"

/* A reader keeps its memory between documents as long as it is about what documents of this size need. */
enum { KEEP_TEXT = 1 << 20, KEEP_VALUES = 1 << 16, FIRST_VALUES = 1 << 11 };

struct trilha_json_reader {
  char *memory;           /* pad, private copy, pad */
  size_t memory_capacity; /* bytes of text it has room for */
  trilha_json_value *values;
  size_t capacity;
  trilha_json_isa isa;
  trilha_json_document document;
};

/* --- cores ---------------------------------------------------------------------------------------------- */

trilha_json_isa trilha_json_isa_best(void) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2"))
    return TRILHA_JSON_AVX2;
  return TRILHA_JSON_SSE2;
#else
  return TRILHA_JSON_PORTABLE;
#endif
}

bool trilha_json_reader_use(trilha_json_reader *reader, trilha_json_isa isa) {
  if (isa > trilha_json_isa_best()) return false;
  reader->isa = isa;
  return true;
}

static void run_core(trilha_json_isa isa, trilha_json_run *run) {
#if defined(__x86_64__)
  if (isa == TRILHA_JSON_AVX2) {
    trilha_json_core_avx2(run);
    return;
  }
  if (isa == TRILHA_JSON_SSE2) {
    trilha_json_core_sse2(run);
    return;
  }
#endif
  trilha_json_core_portable(run);
}

/* --- memory --------------------------------------------------------------------------------------------- */

static bool reserve_text(trilha_json_reader *r, size_t size) {
  bool too_big = r->memory_capacity > KEEP_TEXT && size < r->memory_capacity / 4;
  if (size <= r->memory_capacity && !too_big && r->memory != NULL) return true;
  free(r->memory);
  r->memory_capacity = 0;
  /* Room to spare for the next, slightly longer text; not for large ones. */
  size_t capacity = size < KEEP_TEXT ? size + size / 2 + 1024 : size;
  r->memory = malloc(TRILHA_JSON_PAD_FRONT + capacity + TRILHA_JSON_PAD_BACK);
  if (r->memory == NULL) return false;
  memset(r->memory, 0, TRILHA_JSON_PAD_FRONT);
  r->memory_capacity = capacity;
  return true;
}

/* Values that a text can need. A closed container takes two bytes at least and a scalar one, each but the last followed
 * by a comma; an open one takes a byte. Two more are slack for the core. */
static size_t values_bound(size_t size, uint32_t depth_max) {
  return size / 2 + depth_max + 4;
}

static bool reserve_values(trilha_json_reader *r, size_t size, size_t bound) {
  bool too_big = r->capacity > KEEP_VALUES && size < r->capacity;
  if (r->values != NULL && !too_big) return true;
  free(r->values);
  r->capacity = 0;
  size_t capacity = size / 8 < FIRST_VALUES ? FIRST_VALUES : size / 8;
  if (capacity > bound) capacity = bound;
  r->values = malloc(capacity * sizeof(trilha_json_value));
  if (r->values == NULL) return false;
  r->capacity = capacity;
  return true;
}

bool trilha_json_run_grow(trilha_json_run *run) {
  size_t capacity = run->capacity * 2;
  if (capacity > run->capacity_bound) capacity = run->capacity_bound;
  TRILHA_ASSERT(capacity > run->capacity);
  trilha_json_value *values = realloc(run->values, capacity * sizeof(trilha_json_value));
  if (values == NULL) {
    trilha_json_run_fault(run, run->text, TRILHA_NO_MEMORY, "NO_MEMORY", "out of memory");
    return false;
  }
  run->values = values;
  run->capacity = capacity;
  return true;
}

/* --- reading -------------------------------------------------------------------------------------------- */

trilha_status trilha_json_reader_new(trilha_json_reader **ret_reader, trilha_error *err) {
  trilha_json_reader *reader = calloc(1, sizeof *reader);
  if (reader == NULL) return trilha_error_no_memory(err);
  reader->isa = trilha_json_isa_best();
  *ret_reader = reader;
  return TRILHA_OK;
}

static void reader_done(trilha_json_reader *reader) {
  free(reader->memory);
  free(reader->values);
}

void trilha_json_reader_free(trilha_json_reader *reader) {
  if (reader == NULL) return;
  reader_done(reader);
  free(reader);
}

static trilha_status report(const trilha_json_run *run, trilha_json_fault *ret_fault, trilha_error *err) {
  if (run->status == TRILHA_NO_MEMORY) return trilha_error_no_memory(err);
  return trilha_json_fault_set(ret_fault, err, run->status, run->code, run->message,
                               (trilha_text){run->input, run->size}, run->offset, (trilha_text){"", 0});
}

trilha_status trilha_json_read(trilha_json_reader *reader, trilha_text input, const trilha_json_limits *limits,
                               const trilha_json_keys *keys, const trilha_json_document **ret_document,
                               trilha_json_fault *ret_fault, trilha_error *err) {
  const trilha_json_limits usual = TRILHA_JSON_LIMITS;
  if (limits == NULL) limits = &usual;
  trilha_json_run run = {
      .input = input.data == NULL ? "" : input.data,
      .size = input.size,
      .keys = keys,
      .depth_max = limits->depth_max < TRILHA_JSON_STACK_MAX ? limits->depth_max : TRILHA_JSON_STACK_MAX,
      .number_size_max = limits->number_size_max};
  size_t bytes_max = limits->bytes_max < TRILHA_JSON_BYTES_CEILING ? limits->bytes_max : TRILHA_JSON_BYTES_CEILING;
  if (input.size > bytes_max) {
    run.status = TRILHA_LIMIT;
    run.code = "JSON_SIZE";
    run.message = "the text is larger than its limit";
    run.offset = bytes_max;
    return report(&run, ret_fault, err);
  }
  run.capacity_bound = values_bound(input.size, run.depth_max);
  if (!reserve_text(reader, input.size) || !reserve_values(reader, input.size, run.capacity_bound))
    return trilha_error_no_memory(err);
  run.text = reader->memory + TRILHA_JSON_PAD_FRONT;
  run.values = reader->values;
  run.capacity = reader->capacity;
  run_core(reader->isa, &run);
  reader->values = run.values;
  reader->capacity = run.capacity;
  if (TRILHA_JSON_UNLIKELY(run.status != TRILHA_OK)) return report(&run, ret_fault, err);
  reader->document = (trilha_json_document){
      .values = run.values, .count = run.count, .text = run.text, .text_size = run.size, .depth = run.depth};
  *ret_document = &reader->document;
  return TRILHA_OK;
}

/* --- documents of their own ----------------------------------------------------------------------------- */

/* A document of its own is a reader that reads once and never again; the caller holds the address of its document. */
trilha_status trilha_json_parse(trilha_text input, const trilha_json_limits *limits,
                                trilha_json_document **ret_document, trilha_json_fault *ret_fault, trilha_error *err) {
  trilha_json_reader *reader = NULL;
  trilha_status status = trilha_json_reader_new(&reader, err);
  if (status != TRILHA_OK) return status;
  const trilha_json_document *document = NULL;
  status = trilha_json_read(reader, input, limits, NULL, &document, ret_fault, err);
  if (status != TRILHA_OK) {
    trilha_json_reader_free(reader);
    return status;
  }
  /* It may be kept for long: give back what it does not need. */
  trilha_json_value *fitting = realloc(reader->values, reader->document.count * sizeof(trilha_json_value));
  if (fitting != NULL) {
    reader->values = fitting;
    reader->document.values = fitting;
    reader->capacity = reader->document.count;
  }
  *ret_document = &reader->document;
  return TRILHA_OK;
}

void trilha_json_document_free(trilha_json_document *document) {
  if (document == NULL) return;
  trilha_json_reader_free((trilha_json_reader *)(void *)((char *)document - offsetof(trilha_json_reader, document)));
}
