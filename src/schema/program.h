/* schema/program: what a schema is compiled into. Room: schema, inside. Immutable once compiled; thread-safe.
 *
 * A subschema becomes a block: instructions that must all pass for one instance value. Children are named by block, so
 * code has no jumps and can be copied. Each schema is compiled twice: the fast program fuses, reorders and inlines; the
 * plain one has one instruction a keyword in the order of the schema text and serves reports and annotations.
 */
#ifndef TRILHA_SCHEMA_PROGRAM_H
#define TRILHA_SCHEMA_PROGRAM_H

#include "base/arena.h"
#include "schema/format.h"
#include "schema/keywords.h"
#include "schema/pattern.h"
#include "schema/schema.h"

/* A bit a JSON type, by trilha_json_type; INTEGER lets integral numbers pass where NUMBER is absent. */
enum {
  TYPE_NULL = 1 << TRILHA_JSON_NULL,
  TYPE_BOOLEAN = 1 << TRILHA_JSON_FALSE | 1 << TRILHA_JSON_TRUE,
  TYPE_NUMBER = 1 << TRILHA_JSON_NUMBER,
  TYPE_STRING = 1 << TRILHA_JSON_STRING,
  TYPE_ARRAY = 1 << TRILHA_JSON_ARRAY,
  TYPE_OBJECT = 1 << TRILHA_JSON_OBJECT,
  TYPE_INTEGER = 1 << 7,
  TYPE_ANY = 0x7f
};

typedef enum schema_op {
  OP_END, /* every block's last */
  /* Leaves look at one value and have no children. */
  OP_FALSE,
  OP_TYPE,
  OP_STRING,
  OP_NUMBER,
  OP_ENUM,
  OP_ARRAY_SIZE,
  OP_OBJECT_SIZE,
  OP_UNIQUE,
  OP_REQUIRED,
  OP_DEPENDENT_REQUIRED,
  /* The rest run other blocks. */
  OP_OBJECT,          /* members by name alone */
  OP_OBJECT_PATTERNS, /* members by name and pattern */
  OP_NAMES,
  OP_ITEMS,
  OP_CONTAINS,
  OP_CALL,
  OP_ANY_OF,
  OP_ONE_OF,
  OP_NOT,
  OP_IF,
  OP_DEPENDENT_SCHEMAS,
  OP_DYNAMIC,
  OP_TRACK, /* runs `block` with an empty set of evaluated members or items */
  OP_UNEVALUATED_PROPERTIES,
  OP_UNEVALUATED_ITEMS,
  OP_ANNOTATION
} schema_op;

#define OP_LAST_LEAF OP_DEPENDENT_REQUIRED

enum {                     /* schema_instr.flags */
       INSTR_TRACKED = 1,  /* marks what it evaluates in the set of the enclosing OP_TRACK */
       INSTR_IN_ALL_OF = 2 /* OP_CALL from allOf: `index` says which */
};

typedef struct schema_block schema_block;
typedef struct schema_string schema_string;
typedef struct schema_number schema_number;
typedef struct schema_enum schema_enum;
typedef struct schema_size schema_size;
typedef struct schema_names schema_names;
typedef struct schema_dependent schema_dependent;
typedef struct schema_object schema_object;
typedef struct schema_items schema_items;
typedef struct schema_contains schema_contains;
typedef struct schema_branches schema_branches;
typedef struct schema_condition schema_condition;
typedef struct schema_dynamic schema_dynamic;

typedef struct schema_instr {
  uint8_t op;
  uint8_t types; /* other types fail; checked before anything else by every op from OP_TYPE to OP_CONTAINS */
  uint8_t keyword;
  uint8_t flags;
  uint32_t index;
  union {
    const void *any;
    const schema_string *string;
    const schema_number *number;
    const schema_enum *values;
    const schema_size *size;
    const schema_names *names;
    const schema_dependent *dependent;
    schema_object *object;
    schema_items *items;
    schema_contains *contains;
    schema_branches *branches;
    schema_condition *condition;
    schema_dynamic *dynamic;
    const schema_block *block;
    const trilha_json_value *rule;
  } u;
} schema_instr;

struct schema_block {
  const schema_instr *code;       /* up to OP_END */
  uint32_t count;                 /* instructions, OP_END not counted */
  uint32_t resource;              /* index of the schema resource it belongs to */
  const trilha_json_value *value; /* the subschema, in the schema's own copy */
  uint8_t flat;                   /* may run by bounded native recursion (link.c) */
  uint8_t leaf;                   /* has leaves only */
  uint8_t types;                  /* values of other types certainly fail */
  const struct schema_tag *tag;   /* an object that does not have it certainly fails; or NULL */
};

/* A member that must have one of some values. */
typedef struct schema_tag {
  uint16_t key;
  bool required;
  uint32_t count;
  const schema_enum **values; /* any of them will do */
} schema_tag;

enum { STRING_HAS_LENGTH = 1, STRING_HAS_PATTERN = 2, STRING_HAS_FORMAT = 4 };
struct schema_string {
  uint32_t min, max; /* code points; max UINT32_MAX: none */
  uint32_t has;
  const trilha_pattern *pattern;
  trilha_format_check format;
  trilha_text format_name;
};

/* A decimal m / 10^scale when `small`; `text` is always there. */
typedef struct schema_decimal {
  trilha_text text;
  int64_t m;
  uint32_t scale;
  bool small;
} schema_decimal;

typedef enum schema_bound_kind { BOUND_MIN, BOUND_ABOVE, BOUND_MAX, BOUND_BELOW, BOUND_MULTIPLE } schema_bound_kind;
typedef struct schema_bound {
  schema_decimal at;
  schema_bound_kind kind;
} schema_bound;
struct schema_number {
  /* When every bound is an integer: low * 10^scale + low_add <= m <= high * 10^scale + high_add for a number m /
   * 10^scale of scale up to scale_max; the add is 1 and -1 for exclusive bounds, the end of the range for absent ones.
   */
  bool ranged;
  uint32_t scale_max;
  int64_t low, low_add, high, high_add;
  uint32_t count;
  schema_bound bounds[5];
};

typedef struct schema_enum_string {
  uint64_t head; /* first eight bytes, zero-filled */
  const char *text;
  uint32_t size;
} schema_enum_string;
struct schema_enum {
  uint8_t types; /* of null, false, true: listed; of number, array, object: some are listed */
  bool decimals; /* every listed number is among `numbers` */
  uint32_t string_count, number_count, other_count, slot_count;
  uint32_t size_mask;                /* bit min(size, 31) of each string */
  const schema_enum_string *strings; /* sorted by size, then head */
  const schema_decimal *numbers;
  const trilha_json_value *const *others; /* numbers, arrays and objects */
  const uint32_t *slots;                  /* by hash, index + 1; NULL for few */
};

struct schema_size {
  uint32_t min, max; /* members or items */
};

struct schema_names {
  uint32_t count;
  const uint16_t *keys;
  const trilha_text *names;
};

struct schema_dependent {
  uint32_t count;
  const uint16_t *keys; /* what triggers */
  const trilha_text *names;
  const schema_names *needs;   /* OP_DEPENDENT_REQUIRED */
  const schema_block **blocks; /* OP_DEPENDENT_SCHEMAS */
};

enum { ENTRY_LISTED = 1 };
enum { WATCHED_MAX = 64 };
typedef struct schema_entry {
  const schema_block *block; /* NULL: anything passes */
  uint64_t watch;            /* its bit in the set of seen names, or 0 */
  uint16_t key;              /* 0: no name here */
  uint8_t flags;             /* LISTED: in `properties`; else only watched */
} schema_entry;

typedef struct schema_pattern_entry {
  const trilha_pattern *pattern;
  const schema_block *block;
  trilha_text text;
} schema_pattern_entry;

typedef struct schema_watch {
  uint64_t trigger, need;
} schema_watch;

struct schema_object {
  bool few;   /* open, with one or two names: looked for instead of looked up */
  bool dense; /* entries[key - first]; else hashed, entry_count is a power of two */
  uint16_t first;
  uint32_t entry_count; /* places, some without a name */
  schema_entry *entries;
  schema_pattern_entry *patterns;
  uint32_t pattern_count;
  const schema_block *additional; /* NULL: anything passes */
  bool has_additional;            /* the keyword is there, perhaps true: it evaluates all */
  uint64_t required;
  const schema_watch *watches;
  uint32_t watch_count;
};

struct schema_items {
  const schema_block **prefix; /* an entry may be NULL: anything passes */
  uint32_t prefix_count;
  const schema_block *rest; /* NULL: anything passes */
  bool has_rest;            /* `items` is there, perhaps true: it evaluates all */
};

struct schema_contains {
  const schema_block *block;
  uint32_t min, max;
};

struct schema_branches {
  const schema_block **blocks;
  uint32_t count;
};

struct schema_condition {
  const schema_block *test, *then, *otherwise; /* then, otherwise may be NULL */
};

typedef struct schema_dynamic_target {
  uint32_t resource;
  const schema_block *block;
} schema_dynamic_target;
struct schema_dynamic {
  trilha_text anchor;
  const schema_block *fallback; /* the static target */
  schema_dynamic_target *targets;
  uint32_t target_count;
};

typedef struct schema_program {
  const schema_block *root;
  bool dynamic; /* some OP_DYNAMIC remains: frames must know their resources */
} schema_program;

typedef struct schema_resource_name {
  trilha_text uri;
  const trilha_json_value *root;
} schema_resource_name;

struct trilha_schema {
  trilha_arena arena; /* everything below */
  trilha_json_keys *keys;
  uint32_t key_count;
  schema_program fast, plain;
  const schema_resource_name *resources;
  trilha_pattern **patterns; /* to free */
  uint32_t pattern_count;
  uint64_t run_steps_max;
};

#endif
