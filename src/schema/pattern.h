/* schema/pattern: ECMA-262 regular expressions ("u" semantics, unanchored) on PCRE2, under limits. Room: schema,
 * inside.
 *
 * The pattern is parsed by our own parser of the ECMA-262 grammar and rewritten for PCRE2 (or answered without the
 * engine where it is a simple shape: a literal prefix, a class with bounds, a small DFA). A compiled pattern is
 * immutable and thread-safe; the scratch is not.
 */
#ifndef TRILHA_SCHEMA_PATTERN_H
#define TRILHA_SCHEMA_PATTERN_H

#include "base/text.h"

typedef struct trilha_pattern trilha_pattern;
typedef struct trilha_pattern_scratch trilha_pattern_scratch; /* match data, context, JIT stack: one a thread */

/* What the patterns of one schema may take together; each compilation takes its share out. */
typedef struct trilha_pattern_budget {
  size_t bytes;      /* held by the compiled patterns: beyond it LIMIT */
  size_t properties; /* \p{…} written in them: beyond it LIMIT */
  size_t work;       /* steps of making automata and machine code: beyond it PCRE2 interprets what is no simple shape */
} trilha_pattern_budget;

#define TRILHA_PATTERN_BUDGET ((trilha_pattern_budget){.bytes = (size_t)64 << 20, .properties = 5000, .work = 20000000})

/* INVALID, code SCHEMA_PATTERN: not ECMA-262 under "u" (old needless escapes such as \- and \@ are accepted), or a
 * construct we refuse (look-behind of variable length); LIMIT: longer than TRILHA_SCHEMA_PATTERN_SIZE_MAX, too deep,
 * or beyond the budget (NULL: one of its own), code SCHEMA_PATTERN_LIMIT. */
trilha_status trilha_pattern_compile(trilha_text pattern, trilha_pattern_budget *budget, trilha_pattern **ret_pattern,
                                     trilha_error *err) TRILHA_MUST_USE;
void trilha_pattern_free(trilha_pattern *pattern);
/* Bytes it holds. */
size_t trilha_pattern_size(const trilha_pattern *pattern);
trilha_status trilha_pattern_scratch_new(trilha_pattern_scratch **ret_scratch, trilha_error *err) TRILHA_MUST_USE;
void trilha_pattern_scratch_free(trilha_pattern_scratch *scratch);

typedef enum trilha_match { TRILHA_MATCH_NO = 0, TRILHA_MATCH_YES = 1, TRILHA_MATCH_UNDECIDED = 2 } trilha_match;

/* `subject` is valid UTF-8. UNDECIDED when a match, depth, heap or stack limit ran out: never NO and never YES. */
trilha_match trilha_pattern_match(const trilha_pattern *pattern, trilha_text subject, trilha_pattern_scratch *scratch);
/* Only the ECMA grammar is checked, as format "regex" asks. */
bool trilha_pattern_is_valid(trilha_text pattern);

#endif
