/* schema/pattern_internal: what the parts of the regular-expression engine share. Room: schema, inside (only
 * pattern*.c).
 *
 * parse:    text -> items, a flat list in reading order where groups are OPEN … CLOSE pairs (no tree, so no pass
 * recurses) simple:   items -> a shape that needs no automaton (literal, class with bounds, sequence of classes) nfa,
 * dfa: items -> a table over bytes, linear in the subject engine:   items -> PCRE2 text, for what no automaton can say
 * (back-references, most look-around, too many states)
 */
#ifndef TRILHA_SCHEMA_PATTERN_INTERNAL_H
#define TRILHA_SCHEMA_PATTERN_INTERNAL_H

#include "base/arena.h"
#include "base/error.h"
#include "schema/pattern.h"

/* Limits; reasons in docs/patterns.md. */
#define TRILHA_PATTERN_DEPTH_MAX            100                /* nested groups */
#define TRILHA_PATTERN_CHECK_SIZE_MAX       ((size_t)1 << 16)  /* bytes that trilha_pattern_is_valid() looks at */
#define TRILHA_PATTERN_JIT_WORK             20000              /* what machine code takes out of a budget */
#define TRILHA_PATTERN_CHECK_PROPERTIES_MAX 1000               /* \p{…} that trilha_pattern_is_valid() looks at */
#define TRILHA_PATTERN_ARENA_MAX            ((size_t)64 << 20) /* working memory of one compilation */
#define TRILHA_PATTERN_NFA_MAX              16384              /* instructions */
#define TRILHA_PATTERN_DFA_STATES_MAX       2000
#define TRILHA_PATTERN_DFA_CELLS_MAX        65535   /* states × byte classes: offsets fit in 16 bits, 128 kB */
#define TRILHA_PATTERN_DFA_WORK_MAX         1000000 /* steps of the construction before it gives up */
#define TRILHA_PATTERN_SEQUENCE_MAX         48      /* elements of a sequence shape */
#define TRILHA_PATTERN_PARTS_MAX            16      /* leading look-aheads taken apart */
#define TRILHA_PATTERN_ENGINE_REPEAT_MAX    65535   /* PCRE2's own bound on {m,n} */
#define TRILHA_PATTERN_ENGINE_SUBJECT_MAX \
  ((size_t)128 << 10)                             /* bytes; longer ones are UNDECIDED when PCRE2 would have to look */
#define TRILHA_PATTERN_ENGINE_STEPS        100000 /* match_limit, and … */
#define TRILHA_PATTERN_ENGINE_STEPS_A_BYTE 16     /* … so much more for each byte of the subject */
#define TRILHA_PATTERN_ENGINE_DEPTH_MAX    100000 /* depth_limit */
#define TRILHA_PATTERN_ENGINE_HEAP_KIB     16384  /* heap_limit */
#define TRILHA_PATTERN_JIT_STACK_START     ((size_t)32 << 10)
#define TRILHA_PATTERN_JIT_STACK_MAX       ((size_t)1 << 20)

#define TRILHA_PATTERN_UNBOUNDED UINT32_MAX /* the n of {m,} */
#define TRILHA_CODE_POINT_MAX    0x10FFFFU

/* --- sets of code points ------------------------------------------------------------------------ */

typedef struct trilha_range {
  uint32_t low, high;
} trilha_range;

/* Sorted, disjoint and not adjacent once trilha_set_finish() has run. Surrogates, which no valid subject holds, are
 * then only found inside of a longer range, never at its ends. */
typedef struct trilha_set {
  trilha_range *ranges;
  size_t count, capacity;
  bool failed; /* out of memory */
} trilha_set;

void trilha_set_add(trilha_set *set, uint32_t low, uint32_t high, trilha_arena *arena);
void trilha_set_add_set(trilha_set *set, const trilha_set *other, trilha_arena *arena);
void trilha_set_finish(trilha_set *set);
void trilha_set_invert(trilha_set *set, trilha_arena *arena); /* of a finished set; finished again */
bool trilha_set_has(const trilha_set *set, uint32_t code_point);
bool trilha_set_has_all(const trilha_set *set, uint32_t low, uint32_t high);
bool trilha_set_has_any(const trilha_set *set, uint32_t low, uint32_t high);

/* The class escapes d, D, w, W, s, S and '.' of ECMA-262. */
void trilha_set_add_escape(trilha_set *set, char escape, trilha_arena *arena);

/* --- Unicode properties -------------------------------------------------------------------------- */

typedef struct trilha_property {
  char engine[40];     /* what PCRE2 calls it inside \p{…} */
  uint32_t categories; /* bit set of utf8proc categories; 0: only PCRE2 knows the members */
  bool everything, ascii, assigned;
} trilha_property;

/* `text` is what stands between the braces. False when ECMA-262 has no such property. */
bool trilha_property_find(trilha_text text, trilha_property *ret_property);
/* Adds the members; false when only PCRE2 knows them. */
bool trilha_property_add(const trilha_property *property, bool negated, trilha_set *set, trilha_arena *arena);
bool trilha_property_is_identifier(uint32_t code_point, bool first);

/* --- items --------------------------------------------------------------------------------------- */

typedef enum trilha_item_kind {
  TRILHA_ITEM_SET,      /* one character of a class */
  TRILHA_ITEM_OPEN,     /* ( … */
  TRILHA_ITEM_CLOSE,    /* … ) */
  TRILHA_ITEM_OR,       /* | */
  TRILHA_ITEM_START,    /* ^ */
  TRILHA_ITEM_END,      /* $ */
  TRILHA_ITEM_WORD,     /* \b */
  TRILHA_ITEM_NOT_WORD, /* \B */
  TRILHA_ITEM_REFERENCE /* \1, \k<name> */
} trilha_item_kind;

typedef enum trilha_group {
  TRILHA_GROUP_PLAIN,
  TRILHA_GROUP_CAPTURE,
  TRILHA_GROUP_AHEAD,
  TRILHA_GROUP_NOT_AHEAD,
  TRILHA_GROUP_BEHIND,
  TRILHA_GROUP_NOT_BEHIND
} trilha_group;

/* A \p{…} or \P{…} whose members only PCRE2 knows, or that reads better as such there. */
typedef struct trilha_class_property {
  const char *engine;
  bool negated;
  struct trilha_class_property *next;
} trilha_class_property;

typedef struct trilha_class {
  trilha_set all;                    /* every member, inversion applied; only when `known` */
  trilha_set base;                   /* what was listed, without the properties; inversion not applied */
  trilha_class_property *properties; /* what else was listed */
  bool inverted, known;
} trilha_class;

typedef struct trilha_item {
  trilha_item_kind kind;
  trilha_group group;    /* OPEN and CLOSE */
  bool lazy;             /* of the quantifier */
  uint32_t min, max;     /* the quantifier; on OPEN and CLOSE alike */
  uint32_t link;         /* OPEN: index of CLOSE and back; OR: index of its OPEN; REFERENCE: group number */
  uint32_t capture;      /* OPEN of a CAPTURE: group number, from 1 */
  trilha_class *members; /* SET */
} trilha_item;

typedef struct trilha_items {
  trilha_item *list; /* the whole pattern stands in a PLAIN group: list[0] is its OPEN, list[count - 1] its CLOSE */
  size_t count;
  uint32_t captures;
  bool has_reference, has_word, has_look, has_unknown; /* unknown: a class with properties only PCRE2 knows */
} trilha_items;

/* INVALID (SCHEMA_PATTERN), LIMIT (SCHEMA_PATTERN_LIMIT) or NO_MEMORY. Everything lives in the arena. `properties` is
 * how many \p{…} there may be, and then how many are left. */
trilha_status trilha_pattern_parse(trilha_text pattern, size_t *properties, trilha_arena *arena,
                                   trilha_items *ret_items, trilha_error *err);

/* Whether the items from..to-1 (whole groups only) may match nothing; look-around and assertions count as nothing. */
bool trilha_items_nullable(const trilha_items *items, size_t from, size_t to);

/* --- shapes -------------------------------------------------------------------------------------- */

typedef enum trilha_shape_kind {
  TRILHA_SHAPE_NONE,
  TRILHA_SHAPE_ALWAYS,
  TRILHA_SHAPE_NEVER,
  TRILHA_SHAPE_LITERAL, /* prefix, suffix, whole or anywhere */
  TRILHA_SHAPE_RUN,     /* every code point in a set, so many of them */
  TRILHA_SHAPE_ANY_OF,  /* at least one code point of a set somewhere (or first) */
  TRILHA_SHAPE_SEQUENCE /* elements of ASCII classes with bounds, decided greedily */
} trilha_shape_kind;

typedef struct trilha_shape_element {
  uint32_t min, max;
  uint8_t bit; /* in the table */
} trilha_shape_element;

typedef struct trilha_shape {
  trilha_shape_kind kind;
  bool at_start, at_end;
  char *literal; /* malloc'd */
  size_t literal_size;
  uint8_t table[256];   /* SEQUENCE: bit of the class; RUN and ANY_OF: what the first byte tells (TRILHA_LEAD_*) */
  trilha_range *ranges; /* RUN and ANY_OF: malloc'd, above ASCII */
  size_t range_count;
  uint32_t min, max;              /* RUN, in code points */
  trilha_shape_element *elements; /* malloc'd */
  size_t element_count;
} trilha_shape;

/* kind NONE when the items are no such shape. */
trilha_status trilha_shape_compile(const trilha_items *items, trilha_arena *arena, trilha_shape *ret_shape,
                                   trilha_error *err);
void trilha_shape_done(trilha_shape *shape);
bool trilha_shape_match(const trilha_shape *shape, trilha_text subject);

/* --- automaton ----------------------------------------------------------------------------------- */

typedef enum trilha_nfa_op {
  TRILHA_NFA_BYTES,
  TRILHA_NFA_SPLIT,
  TRILHA_NFA_JUMP,
  TRILHA_NFA_ASSERT,
  TRILHA_NFA_MATCH
} trilha_nfa_op;

/* Targets are relative to the instruction, so that a stretch of code can be copied and moved. */
typedef struct trilha_nfa_code {
  uint8_t op;
  uint8_t low, high;  /* BYTES */
  uint8_t assertion;  /* ASSERT: a trilha_item_kind */
  int32_t out, other; /* other: SPLIT */
} trilha_nfa_code;

typedef struct trilha_nfa {
  trilha_nfa_code *code;
  size_t count;
  bool has_assertion;
} trilha_nfa;

/* A search, as patterns are not anchored. ret_nfa->code stays NULL when the items are not regular or too many. */
trilha_status trilha_nfa_build(const trilha_items *items, trilha_arena *arena, trilha_nfa *ret_nfa, trilha_error *err);

typedef struct trilha_dfa {
  uint16_t *table; /* malloc'd; states are offsets into it; 0 is dead, `stride` has matched */
  size_t cells;
  uint16_t start, stride;
  uint8_t classes[256];
} trilha_dfa;

/* *ret_dfa stays without a table when there would be too many states. Takes its steps out of *work. */
trilha_status trilha_dfa_build(const trilha_nfa *nfa, size_t *work, trilha_arena *arena, trilha_dfa *ret_dfa,
                               trilha_error *err);
void trilha_dfa_done(trilha_dfa *dfa);
bool trilha_dfa_match(const trilha_dfa *dfa, trilha_text subject);

/* --- engine -------------------------------------------------------------------------------------- */

typedef struct trilha_engine trilha_engine;

/* Makes machine code while *work lasts. */
trilha_status trilha_engine_compile(const trilha_items *items, size_t *work, trilha_engine **ret_engine,
                                    trilha_error *err);
void trilha_engine_free(trilha_engine *engine);
size_t trilha_engine_size(const trilha_engine *engine);
trilha_match trilha_engine_match(const trilha_engine *engine, trilha_text subject, trilha_pattern_scratch *scratch);

/* Which way a compiled pattern takes; for tests. */
typedef enum trilha_pattern_way { TRILHA_WAY_SHAPE, TRILHA_WAY_DFA, TRILHA_WAY_ENGINE } trilha_pattern_way;
trilha_pattern_way trilha_pattern_way_of(const trilha_pattern *pattern);
/* As trilha_pattern_compile(), but always (or never) through PCRE2; for differential tests. */
trilha_status trilha_pattern_compile_engine(trilha_text pattern, trilha_pattern **ret_pattern, trilha_error *err);

#endif
