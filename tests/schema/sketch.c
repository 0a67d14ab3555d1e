/* Draws schemas and instances. Every keyword has a writer; which ones a schema has is a bit mask, so that none comes
 * twice. */
#include "sketch.h"

#include <stdbool.h>

enum { SCHEMA_DEPTH = 4, INSTANCE_DEPTH = 3, KEYWORDS_MAX = 4, TEXT_MAX = 1 << 14 };

typedef struct draw {
  const unsigned char *at, *end;
  bool backwards;
  trilha_buffer *out;
  bool comma; /* the next member needs one before it */
} draw;

static unsigned choose(draw *d, unsigned below) {
  if (d->at == d->end || d->out->size > TEXT_MAX) return 0;
  return (d->backwards ? *--d->end : *d->at++) % below;
}

static bool more(const draw *d) {
  return d->at != d->end && d->out->size <= TEXT_MAX;
}

static void put(draw *d, const char *text) {
  trilha_buffer_add_string(d->out, text);
}

#define ONE_OF(d, texts) put(d, (texts)[choose(d, sizeof(texts) / sizeof *(texts))])

/* --- instances -----------------------------------------------------------------------------------------------------
 */

static const char *const NAMES[] = {"\"a\"", "\"b\"", "\"c\"", "\"ab\"", "\"\""};
enum { NAME_COUNT = sizeof NAMES / sizeof *NAMES };
static const char *const SCALARS[] = {"0",
                                      "1",
                                      "2",
                                      "null",
                                      "true",
                                      "false",
                                      "\"a\"",
                                      "\"b\"",
                                      "\"ab\"",
                                      "\"\"",
                                      "-1",
                                      "1.0",
                                      "0.5",
                                      "1e1",
                                      "10",
                                      "1.5e0",
                                      "3",
                                      "-0",
                                      "1000000000000000000000",
                                      "\"\xC3\xA9\"",
                                      "\"2024-02-30\"",
                                      "\"a\\u0062\"",
                                      "0.1",
                                      "1e-3",
                                      "[]",
                                      "{}"};
enum { SCALAR_COUNT = sizeof SCALARS / sizeof *SCALARS };

/* The first few often, so that items are equal. */
static void scalar(draw *d) {
  unsigned n = choose(d, 2 * SCALAR_COUNT);
  put(d, SCALARS[n < SCALAR_COUNT ? n : n % 4]);
}

static void value(draw *d, int depth) {
  unsigned kind = depth == 0 || !more(d) ? 0 : depth == INSTANCE_DEPTH ? 1 + choose(d, 6) : choose(d, 4);
  if (kind < 2) {
    scalar(d);
  } else if (kind % 2 == 0) {
    put(d, "[");
    for (unsigned i = 0, count = choose(d, 5); i < count; i++) {
      if (i > 0) put(d, ",");
      value(d, depth - 1);
    }
    put(d, "]");
  } else {
    put(d, "{");
    for (unsigned i = 0, some = choose(d, 1U << NAME_COUNT), first = 1; i < NAME_COUNT; i++) {
      if ((some & 1U << i) == 0) continue;
      if (!first) put(d, ",");
      put(d, NAMES[i]);
      put(d, ":");
      value(d, depth - 1);
      first = 0;
    }
    put(d, "}");
  }
}

/* --- what stands in a keyword ----------------------------------------------------------------------------------------
 */

static void schema(draw *d, int depth);

static void list(draw *d, int depth) {
  put(d, "[");
  schema(d, depth);
  for (unsigned i = choose(d, 3); i > 0; i--) {
    put(d, ",");
    schema(d, depth);
  }
  put(d, "]");
}

static void map_of(draw *d, int depth, const char *const *names, unsigned count) {
  put(d, "{");
  for (unsigned i = 0, some = choose(d, 1U << count), first = 1; i < count; i++) {
    if ((some & 1U << i) == 0) continue;
    if (!first) put(d, ",");
    put(d, names[i]);
    put(d, ":");
    schema(d, depth);
    first = 0;
  }
  put(d, "}");
}

static void map(draw *d, int depth) {
  map_of(d, depth, NAMES, NAME_COUNT);
}

static void patterns(draw *d, int depth) {
  static const char *const texts[] = {"\"^a\"", "\"b$\"", "\"\"", "\"^[ab]+$\""};
  map_of(d, depth, texts, sizeof texts / sizeof *texts);
}

static void names(draw *d, int depth) {
  (void)depth;
  put(d, "[");
  for (unsigned i = 0, some = choose(d, 1U << NAME_COUNT), first = 1; i < NAME_COUNT; i++) {
    if ((some & 1U << i) == 0) continue;
    if (!first) put(d, ",");
    put(d, NAMES[i]);
    first = 0;
  }
  put(d, "]");
}

static void names_of_names(draw *d, int depth) {
  put(d, "{\"a\":");
  names(d, depth);
  put(d, ",\"b\":");
  names(d, depth);
  put(d, "}");
}

static void constant(draw *d, int depth) {
  value(d, depth < INSTANCE_DEPTH ? depth : INSTANCE_DEPTH);
}

static void constants(draw *d, int depth) {
  put(d, "[");
  constant(d, depth);
  for (unsigned i = choose(d, 4); i > 0; i--) {
    put(d, ",");
    constant(d, depth);
  }
  put(d, "]");
}

static void type(draw *d, int depth) {
  static const char *const texts[] = {"\"null\"",
                                      "\"boolean\"",
                                      "\"object\"",
                                      "\"array\"",
                                      "\"number\"",
                                      "\"string\"",
                                      "\"integer\"",
                                      "[\"array\",\"object\"]",
                                      "[\"integer\",\"string\"]",
                                      "[\"null\",\"object\",\"number\"]"};
  (void)depth;
  ONE_OF(d, texts);
}

static void count(draw *d, int depth) {
  static const char *const texts[] = {"0", "1", "2", "3", "1.0", "2e0"};
  (void)depth;
  ONE_OF(d, texts);
}

static void number(draw *d, int depth) {
  static const char *const texts[] = {"0", "1", "-1", "1.5", "10", "0.1", "1e1", "999999999999999999999"};
  (void)depth;
  ONE_OF(d, texts);
}

static void divisor(draw *d, int depth) {
  static const char *const texts[] = {"1", "2", "0.5", "0.1", "1e-3", "3", "1.0", "1e20"};
  (void)depth;
  ONE_OF(d, texts);
}

static void pattern(draw *d, int depth) {
  static const char *const texts[] = {"\"^a\"", "\"b$\"", "\"\"", "\"^.$\"", "\"^(a|b)*$\"", "\"[^a]\""};
  (void)depth;
  ONE_OF(d, texts);
}

static void format(draw *d, int depth) {
  static const char *const texts[] = {"\"date\"", "\"uri\"", "\"regex\"", "\"unknown\""};
  (void)depth;
  ONE_OF(d, texts);
}

static void flag(draw *d, int depth) {
  (void)depth;
  put(d, choose(d, 4) == 0 ? "false" : "true");
}

static void reference(draw *d, int depth) {
  /* Those that always lead somewhere more often than those that may not. */
  static const char *const texts[] = {"\"#\"",
                                      "\"root\"",
                                      "\"root#/$defs/a\"",
                                      "\"root#/$defs/b\"",
                                      "\"root#/$defs/c\"",
                                      "\"root#/$defs/a\"",
                                      "\"root#/$defs/b\"",
                                      "\"root#/$defs/c\"",
                                      "\"#n\"",
                                      "\"#m\"",
                                      "\"r1\"",
                                      "\"r2\"",
                                      "\"r1#n\"",
                                      "\"r2#n\""};
  (void)depth;
  ONE_OF(d, texts);
}

/* --- schemas ---------------------------------------------------------------------------------------------------------
 */

static const struct {
  const char *name;
  void (*write)(draw *d, int depth);
} KEYWORDS[] = {
    {"type", type},
    {"const", constant},
    {"enum", constants},
    {"multipleOf", divisor},
    {"maximum", number},
    {"exclusiveMinimum", number},
    {"minLength", count},
    {"maxLength", count},
    {"pattern", pattern},
    {"format", format},
    {"minItems", count},
    {"maxItems", count},
    {"uniqueItems", flag},
    {"minProperties", count},
    {"maxProperties", count},
    {"required", names},
    {"dependentRequired", names_of_names},
    {"properties", map},
    {"patternProperties", patterns},
    {"additionalProperties", schema},
    {"propertyNames", schema},
    {"items", schema},
    {"prefixItems", list},
    {"contains", schema},
    {"minContains", count},
    {"maxContains", count},
    {"unevaluatedItems", schema},
    {"unevaluatedProperties", schema},
    {"allOf", list},
    {"anyOf", list},
    {"oneOf", list},
    {"not", schema},
    {"if", schema},
    {"then", schema},
    {"else", schema},
    {"dependentSchemas", map},
    {"$ref", reference},
    {"$dynamicRef", reference},
    {"dependencies", map},
};
enum { KEYWORD_COUNT = sizeof KEYWORDS / sizeof *KEYWORDS };

const char *sketch_keyword(unsigned n) {
  return n < KEYWORD_COUNT ? KEYWORDS[n].name : NULL;
}

static void member(draw *d, const char *name) {
  if (d->comma) put(d, ",");
  put(d, "\"");
  put(d, name);
  put(d, "\":");
}

static void keywords(draw *d, int depth) {
  uint64_t written = 0;
  for (unsigned left = 1 + choose(d, KEYWORDS_MAX); left > 0; left--) {
    unsigned k = choose(d, KEYWORD_COUNT);
    if ((written & UINT64_C(1) << k) != 0) continue;
    written |= UINT64_C(1) << k;
    member(d, KEYWORDS[k].name);
    KEYWORDS[k].write(d, depth - 1);
    d->comma = true;
  }
}

static void schema(draw *d, int depth) {
  unsigned kind = depth <= 0 || !more(d) ? choose(d, 3) : 3 + choose(d, 9);
  if (kind < 3) {
    put(d, kind == 0 ? "true" : kind == 1 ? "false" : "{}");
    return;
  }
  put(d, "{");
  d->comma = false;
  keywords(d, depth);
  put(d, "}");
  d->comma = true;
}

/* A definition is sometimes a resource or has an anchor, and may meet the others' names. */
static void definition(draw *d, const char *name) {
  static const char *const heads[] = {"",
                                      "",
                                      "",
                                      "\"$dynamicAnchor\":\"n\"",
                                      "\"$anchor\":\"m\"",
                                      "\"$id\":\"r1\"",
                                      "\"$id\":\"r2\"",
                                      "\"$id\":\"r1\",\"$dynamicAnchor\":\"n\"",
                                      "\"$id\":\"r2\",\"$dynamicAnchor\":\"n\""};
  put(d, "\"");
  put(d, name);
  put(d, "\":{");
  unsigned head = choose(d, sizeof heads / sizeof *heads);
  put(d, heads[head]);
  d->comma = heads[head][0] != '\0';
  keywords(d, SCHEMA_DEPTH - 1);
  put(d, "}");
}

void sketch(const unsigned char *bytes, size_t size, trilha_buffer *ret_schema, trilha_buffer *ret_instance) {
  draw d = {bytes, bytes + size, true, ret_instance, false};
  value(&d, INSTANCE_DEPTH);
  d.backwards = false;
  d.out = ret_schema;
  put(&d, "{\"$id\":\"http://t.test/root\"");
  static const char *const heads[] = {"", ",\"$dynamicAnchor\":\"n\"", ",\"$anchor\":\"m\""};
  ONE_OF(&d, heads);
  d.comma = true;
  keywords(&d, SCHEMA_DEPTH);
  put(&d, ",\"$defs\":{");
  definition(&d, "a");
  put(&d, ",");
  definition(&d, "b");
  put(&d, ",");
  definition(&d, "c");
  put(&d, "}}");
}
