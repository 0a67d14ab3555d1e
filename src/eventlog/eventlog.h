/* eventlog: appending with group commit, querying, replaying. Room: eventlog. Corridor header.
 *
 * One trilha_eventlog per open store; every function may be called from any thread. Specification 000, sections 3.3
 * (step 7), 4.3, 4.4.
 */
#ifndef TRILHA_EVENTLOG_EVENTLOG_H
#define TRILHA_EVENTLOG_EVENTLOG_H

#include "base/arena.h"
#include "store/store.h"
#include "trilha/trilha.h"

/* Limits (docs/limits.md). */
#define TRILHA_EVENTLOG_BATCH_MAX 1000 /* rows of one group commit */
#define TRILHA_EVENTLOG_BATCH_BYTES_MAX \
  ((size_t)8 << 20)                      /* payload bytes of one group commit; one larger row goes alone */
#define TRILHA_QUERY_LIMIT_DEFAULT   100 /* specification 000, section 4.3 */
#define TRILHA_QUERY_LIMIT_MAX       500
#define TRILHA_REPLAY_PAGE           1000 /* section 4.4 */
#define TRILHA_REPLAY_PAGES_MAX      100
#define TRILHA_STREAM_PAGE_BYTES_MAX ((size_t)4 << 20) /* memory of one page of a streaming replay, one event more */

typedef struct trilha_eventlog trilha_eventlog;

trilha_status trilha_eventlog_new(trilha_store *store, unsigned batch_max, int64_t lock_timeout_ms,
                                  const trilha_diagnostics *diagnostics, trilha_eventlog **ret_log,
                                  trilha_error *err) TRILHA_MUST_USE;
void trilha_eventlog_free(trilha_eventlog *log);

/* One row on its way into the log, owned by the caller that waits for it. */
typedef struct trilha_append_item {
  trilha_event_row row; /* in */
  trilha_arena *arena;  /* in: where a duplicate's texts are copied to */
  void *owner;          /* in: the caller's own, for trilha_eventlog_on_commit() */
  trilha_status status; /* out */
  trilha_error error;   /* out, when status is not OK */
  bool stored;          /* out: this call inserted it */
  trilha_event_row got; /* out, on OK: the row as it stands in the log; of a stored one the texts are row's own */
} trilha_append_item;

/* Appends the items in their order and returns when each one's fate is known. Concurrent calls share transactions:
 * whoever finds no leader leads, takes what waits and commits it; leadership is handed on before this returns. A row
 * that the database refuses fails alone. Returns the registry revision seen last, or -1. */
int64_t trilha_eventlog_append(trilha_eventlog *log, trilha_append_item *items, size_t count);

/* Called by the leader after each commit with the items that were stored, in the order of their sequence, before any
 * waiting caller goes on and before leadership is handed on: so calls never overlap and never go back. It must not call
 * the log. Set once, before the first append. */
typedef void (*trilha_eventlog_committed)(void *user, trilha_append_item *const *items, size_t count);
void trilha_eventlog_on_commit(trilha_eventlog *log, trilha_eventlog_committed committed, void *user);

/* --- events as objects --------------------------------------------------------------------------------- */

/* Fills `event` with texts in `arena`. */
trilha_status trilha_event_from_row(trilha_arena *arena, const trilha_event_row *row, trilha_payload_state state,
                                    trilha_event *event, trilha_error *err) TRILHA_MUST_USE;
/* Appends {"sequence_number":"1",…}: names of specification 000, section 3.2; sequence numbers as strings; absent
 * fields of ours left out. */
void trilha_event_write_json(trilha_buffer *out, const trilha_event *event);

/* --- reading; contracts as in trilha/trilha.h ----------------------------------------------------------- */

trilha_status trilha_eventlog_query(trilha_eventlog *log, const trilha_events_filter *filter,
                                    trilha_events_page **ret_page, trilha_error *err) TRILHA_MUST_USE;
void trilha_eventlog_page_free(trilha_events_page *page);
trilha_status trilha_eventlog_get(trilha_eventlog *log, trilha_text event_id, trilha_event **ret_event,
                                  trilha_error *err) TRILHA_MUST_USE;
void trilha_eventlog_event_free(trilha_event *event);
trilha_status trilha_eventlog_replay(trilha_eventlog *log, int64_t after, const trilha_text *types, size_t type_count,
                                     trilha_replayed **ret_replayed, trilha_error *err) TRILHA_MUST_USE;
void trilha_eventlog_replayed_free(trilha_replayed *replayed);
trilha_status trilha_eventlog_stream(trilha_eventlog *log, const trilha_stream_options *options,
                                     trilha_event_handler handler, void *user, int64_t *ret_cursor,
                                     trilha_error *err) TRILHA_MUST_USE;
trilha_status trilha_eventlog_last(trilha_eventlog *log, int64_t *ret_sequence, char ret_event_id[37], bool *ret_any,
                                   trilha_error *err) TRILHA_MUST_USE;

#endif
