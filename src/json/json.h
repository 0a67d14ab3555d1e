/* json: RFC 8259 documents as flat arrays of 16-byte values. Room: json. Corridor header.
 *
 * A document is one arena-like block: a private copy of the input (strings are unescaped in place inside it) and one
 * array of values in document order. Reading never recurses and never allocates per value. A document is
 * immutable once read and may then be shared between threads; the reader object itself has one owner.
 *
 * Layout of the value array (values[0] is the root; `extent` lets a walker skip a whole subtree):
 *   array   [A extent=k+1][item 1 …][item 2 …]…            size = number of items
 *   object  [O extent=…][key][value …][key][value …]…      size = number of members; a key is a string value
 * Numbers are not converted while reading: their exact spelling is kept (text/size) with flags that say
 * what it is; json/number.h compares and converts exactly.
 */
#ifndef TRILHA_JSON_JSON_H
#define TRILHA_JSON_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "trilha/error.h"

typedef enum trilha_json_type {
  TRILHA_JSON_NULL = 0,
  TRILHA_JSON_FALSE = 1,
  TRILHA_JSON_TRUE = 2,
  TRILHA_JSON_NUMBER = 3,
  TRILHA_JSON_STRING = 4,
  TRILHA_JSON_ARRAY = 5,
  TRILHA_JSON_OBJECT = 6
} trilha_json_type;

enum {                           /* trilha_json_value.flags */
       TRILHA_JSON_ASCII = 1,    /* string: every byte < 0x80, so size is also its length in code points */
       TRILHA_JSON_NUL = 2,      /* string: holds U+0000 */
       TRILHA_JSON_ESCAPED = 4,  /* string: its source spelling had escapes, so text differs from the source */
       TRILHA_JSON_INTEGER = 8,  /* number: spelled without fraction and exponent */
       TRILHA_JSON_SMALL = 16,   /* number: INTEGER with at most 18 digits: trilha_json_small() gives it */
       TRILHA_JSON_NEGATIVE = 32 /* number: begins with '-' */
};

typedef struct trilha_json_value {
  uint8_t type;  /* trilha_json_type */
  uint8_t flags; /* above */
  uint16_t key;  /* key of an object: its number in the key table given to the reader (1…), 0 for a name not in it */
  uint32_t size; /* string, number: bytes of text; array: items; object: members */
  union {
    const char *text; /* string (unescaped) or number (as spelled); inside the document, not terminated */
    uint64_t extent;  /* array, object: values of this subtree, itself included; a scalar's is 1 */
  } u;
} trilha_json_value;

_Static_assert(sizeof(trilha_json_value) == 16, "a JSON value is 16 bytes");

typedef struct trilha_json_document {
  const trilha_json_value *values; /* values[0] is the root */
  size_t count;                    /* values */
  const char *text;                /* the private copy; a value's source offset is u.text - text */
  size_t text_size;
  uint32_t depth; /* deepest nesting of arrays and objects: 0 for a scalar root, 1 for [] */
} trilha_json_document;

/* --- limits (docs/limits.md) ------------------------------------------------------------------------ */

typedef struct trilha_json_limits {
  size_t bytes_max;         /* of the text */
  uint32_t depth_max;       /* nested arrays and objects */
  uint32_t number_size_max; /* characters of one number */
} trilha_json_limits;

#define TRILHA_JSON_BYTES_MAX       ((size_t)64 << 20)
#define TRILHA_JSON_DEPTH_MAX       1000
#define TRILHA_JSON_NUMBER_SIZE_MAX 4096
#define TRILHA_JSON_LIMITS \
  ((trilha_json_limits){TRILHA_JSON_BYTES_MAX, TRILHA_JSON_DEPTH_MAX, TRILHA_JSON_NUMBER_SIZE_MAX})

/* --- key tables ------------------------------------------------------------------------------------- */

/* An immutable set of names with numbers 1…count in the order given, looked up while reading so that a validator
 * needs no string compare. Thread-safe once built. At most 65,535 names; duplicates are refused (TRILHA_CONFLICT). */
typedef struct trilha_json_keys trilha_json_keys;

trilha_status trilha_json_keys_new(const trilha_text *names, size_t count, trilha_json_keys **ret_keys,
                                   trilha_error *err) TRILHA_MUST_USE;
void trilha_json_keys_free(trilha_json_keys *keys);
/* 1…count, or 0 when the name is not in the table. */
uint16_t trilha_json_keys_find(const trilha_json_keys *keys, const char *name, size_t size);

/* --- reading ---------------------------------------------------------------------------------------- */

/* Where and why reading or checking failed. line and column count from 1, column in code points. */
typedef struct trilha_json_fault {
  char code[TRILHA_ERROR_CODE_MAX]; /* JSON_SYNTAX, JSON_UTF8, JSON_DEPTH, JSON_SIZE, JSON_NUMBER_SIZE, JSON_SURROGATE,
                                       JSON_DUPLICATE_KEY, JSON_NUL, JSON_NUMBER_RANGE, JSON_EXPANDED_SIZE */
  size_t offset;                    /* bytes from the start */
  uint32_t line, column;
  char pointer[512]; /* JSON Pointer of the value (storable check only; cut with "…" when longer), else "" */
  char text[160];    /* for people, in English; never quotes the input */
} trilha_json_fault;

/* A reader owns the memory of the document it read last and reuses it: one a thread, reset between events. */
typedef struct trilha_json_reader trilha_json_reader;

trilha_status trilha_json_reader_new(trilha_json_reader **ret_reader, trilha_error *err) TRILHA_MUST_USE;
void trilha_json_reader_free(trilha_json_reader *reader);

/* Reads one document. `keys` may be NULL. The document lives until the next read or the reader's end.
 * OK; INVALID with *ret_fault (may be NULL) and err set (its text says line and column); LIMIT likewise for
 * JSON_SIZE, JSON_DEPTH, JSON_NUMBER_SIZE; NO_MEMORY. Strict RFC 8259: no BOM, UTF-8 checked, lone \u surrogates
 * refused; duplicate keys and U+0000 pass here (see trilha_json_check_storable). Trailing white space is fine. */
trilha_status trilha_json_read(trilha_json_reader *reader, trilha_text input, const trilha_json_limits *limits,
                               const trilha_json_keys *keys, const trilha_json_document **ret_document,
                               trilha_json_fault *ret_fault, trilha_error *err) TRILHA_MUST_USE;

/* As above into memory of its own: the caller's, freed with trilha_json_document_free(). */
trilha_status trilha_json_parse(trilha_text input, const trilha_json_limits *limits,
                                trilha_json_document **ret_document, trilha_json_fault *ret_fault,
                                trilha_error *err) TRILHA_MUST_USE;
void trilha_json_document_free(trilha_json_document *document);

/* What a store could not keep faithfully (ruling R8): duplicate names in one object, U+0000 in a string or name, a
 * number of more than 400 digits once expanded, nesting above 255, more than 2 MiB once numbers are expanded. The first
 * one in document order is the fault. `source` is the text the document was read from, for line and column. */
trilha_status trilha_json_check_storable(const trilha_json_document *document, trilha_text source,
                                         trilha_json_fault *ret_fault, trilha_error *err) TRILHA_MUST_USE;

/* --- walking ---------------------------------------------------------------------------------------- */

static inline const trilha_json_value *trilha_json_next(const trilha_json_value *v) {
  return v + (v->type >= TRILHA_JSON_ARRAY ? v->u.extent : 1);
}
static inline trilha_text trilha_json_text(const trilha_json_value *v) {
  return (trilha_text){v->u.text, v->size};
}
static inline bool trilha_json_is(const trilha_json_value *v, const char *terminated) {
  return v != NULL && v->type == TRILHA_JSON_STRING && trilha_text_is(trilha_json_text(v), terminated);
}
/* The value of a SMALL number. */
int64_t trilha_json_small(const trilha_json_value *v);
/* Linear in the members. NULL when v is NULL, no object, or has no such member. With duplicates: the last. */
const trilha_json_value *trilha_json_member(const trilha_json_value *v, const char *name);
const trilha_json_value *trilha_json_member_text(const trilha_json_value *v, trilha_text name);
/* A string member's text, or an absent text. */
trilha_text trilha_json_member_string(const trilha_json_value *v, const char *name);
size_t trilha_json_string_length(const trilha_json_value *v); /* code points */
const char *trilha_json_type_name(trilha_json_type type);     /* "null", "boolean", "number", … */

/* Appends the JSON Pointer of `target` below `root`; a member's name has its value's pointer. */
void trilha_json_pointer_to(const trilha_json_value *root, const trilha_json_value *target, trilha_buffer *out);
/* Resolves a JSON Pointer ("" is root); NULL when there is no such value. */
const trilha_json_value *trilha_json_pointer_find(const trilha_json_value *root, trilha_text pointer);
/* Appends one reference token, '~' and '/' escaped; the '/' before it is the caller's. */
void trilha_json_pointer_add(trilha_buffer *out, trilha_text token);

/* --- writing ---------------------------------------------------------------------------------------- */

/* Appends a string with quotes, escaped minimally (", \, controls); bytes are the same under every locale.
 * `text` must be valid UTF-8. */
void trilha_json_write_string(trilha_buffer *out, trilha_text text);
/* Appends the value compactly; numbers as they were spelled; no recursion. */
void trilha_json_write(trilha_buffer *out, const trilha_json_value *value);
/* Appends the canonical form: members sorted by their names' bytes, numbers in one canonical decimal spelling
 * (equal values give equal bytes: 1, 1.0, 1e0, -0 and 0), strings escaped minimally, no white space. Documents that
 * passed trilha_json_check_storable only. Equal JSON values give equal bytes and different ones different bytes. */
trilha_status trilha_json_write_canonical(trilha_buffer *out, const trilha_json_value *value,
                                          trilha_error *err) TRILHA_MUST_USE;

/* --- equality (JSON Schema core 4.2.2) -------------------------------------------------------------- */

/* Mathematical equality of numbers, 1 = 1.0, 1 is not true, member order never counts; no recursion beyond the
 * document's depth limit. Iterative; bounded by the smaller document. */
bool trilha_json_equal(const trilha_json_value *a, const trilha_json_value *b);
/* What has to be done to `a` to make `b`, appended as a JSON array of {"op":"add"|"remove"|"replace","path":POINTER}
 * without any value; after TRILHA_JSON_DIFF_MAX of them one {"more":N}. Members by name, items by index; numbers by
 * their spelling, so 1 and 1.0 differ. *ret_count: differences. Iterative, n log n in the members. */
#define TRILHA_JSON_DIFF_MAX 1000
trilha_status trilha_json_diff(const trilha_json_document *a, const trilha_json_document *b, trilha_buffer *out,
                               size_t *ret_count, trilha_error *err) TRILHA_MUST_USE;
/* Equal values give equal hashes. Where the values come from outside, use a random seed: otherwise their author can
 * choose values that share a hash. The plain form is the one with seed 0. */
uint64_t trilha_json_hash_seeded(const trilha_json_value *v, uint64_t seed);
uint64_t trilha_json_hash(const trilha_json_value *v);

#endif
