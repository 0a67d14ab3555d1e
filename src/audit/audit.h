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
#include "trilha/audit.h"

enum { TRILHA_AUDIT_ACTION_SIZE_MAX = 80 };

/* trilha_audit_action_check() (trilha/audit.h): the past tense is a heuristic. Some word of the segment ("rolled" of
 * rolled-back) ends in -ed and is none of the bare verbs that do (need, feed, proceed…), or is in a list of irregular
 * forms (sent, begun, withdrawn…). A word missing there is added to the list, with a test. */

/* What trilha_audit_list() answers with; the caller's, freed with trilha_audit_trail_free(). */
trilha_status trilha_audit_trail_read(trilha_store *store, const trilha_audit_filter *filter,
                                      trilha_audit_records **ret_records, trilha_error *err) TRILHA_MUST_USE;
void trilha_audit_trail_free(trilha_audit_records *records);

/* Builds the row; its texts live in `arena`. INVALID (AUDIT_ACTION_INVALID, AUDIT_ENTRY_INVALID) or NO_MEMORY. */
trilha_status trilha_audit_row_build(const trilha_audit_entry *entry, trilha_arena *arena, trilha_audit_row *ret_row,
                                     trilha_error *err) TRILHA_MUST_USE;

#endif
