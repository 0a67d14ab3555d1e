/* audit: who did what. The vocabulary of actions and rows for the trail (specification 001, section on audit; ruling
 * R28). Room: audit. Corridor.
 *
 * Nothing here stores: a row goes to the store with the change it tells of, in one transaction, or by audit_insert.
 * Thread-safe.
 */
#ifndef TRILHA_AUDIT_AUDIT_H
#define TRILHA_AUDIT_AUDIT_H

#include "base/arena.h"
#include "base/text.h"
#include "store/store.h"

enum { TRILHA_AUDIT_ACTION_SIZE_MAX = 80 };

/* OK for an action of the vocabulary {module}.{aggregate}.{past-verb}: three segments of [a-z][a-z0-9-]*, at most 80
 * characters, the last one in the past tense. Else INVALID, code AUDIT_ACTION_INVALID, and the text says what is wrong.
 *
 * The past tense is a heuristic: some word of the segment ("rolled" of rolled-back) ends in -ed and is none of the bare
 * verbs that do (need, feed, proceed…), or is in a list of irregular forms (sent, begun, withdrawn…). A word missing
 * there is added to the list, with a test. */
trilha_status trilha_audit_action_check(trilha_text action, trilha_error *err) TRILHA_MUST_USE;

/* One pair of an entry's metadata; both borrowed. Values are identifiers and settings, never payload values. */
typedef struct trilha_audit_pair {
  const char *name;
  trilha_text value; /* absent: JSON null */
} trilha_audit_pair;

/* What an entry says; texts are borrowed. */
typedef struct trilha_audit_entry {
  trilha_text entity, entity_id; /* "event-type", "demanda.recebida@1.0.0" */
  trilha_text change_type;       /* Created, Updated, Deleted, Accessed */
  trilha_text action;            /* of the vocabulary */
  trilha_text user;              /* absent: "unknown" */
  const trilha_audit_pair *pairs;
  size_t pair_count;
} trilha_audit_entry;

/* Builds the row; its texts live in `arena`. INVALID (AUDIT_ACTION_INVALID, AUDIT_ENTRY_INVALID) or NO_MEMORY. */
trilha_status trilha_audit_row_build(const trilha_audit_entry *entry, trilha_arena *arena, trilha_audit_row *ret_row,
                                     trilha_error *err) TRILHA_MUST_USE;

#endif
