/* deadletter: what may be kept of a failure, and the queue's states. Room: deadletter. Corridor header.
 *
 * Thread-safe. Specification 000, sections 2 (core.dead_letter_queue), 3.5, 4.2, 4.5; rulings R11, R15, R16; field
 * report B29.
 */
#ifndef TRILHA_DEADLETTER_DEADLETTER_H
#define TRILHA_DEADLETTER_DEADLETTER_H

#include "json/json.h"
#include "store/delivery.h"
#include "trilha/delivery.h"

/* Limits (docs/limits.md), bytes after scrubbing, cut at a character boundary. */
#define TRILHA_FAILURE_MESSAGE_MAX      ((size_t)4096)
#define TRILHA_FAILURE_STACK_MAX        ((size_t)65536)
#define TRILHA_DEAD_LETTER_ALERT_AT     100 /* default of dead_letter_alert_at (requirement E18) */
#define TRILHA_DEAD_LETTER_ATTEMPTS_MAX 5   /* default of dead_letters.max_attempts (ruling R16) */

/* --- scrubbing --------------------------------------------------------------------------------------------- */

/* The words of a payload that must not appear in a failure's text: those of the payload as delivered that are not in
 * the redacted one. Building costs one walk; an empty set masks nothing. */
typedef struct trilha_masked_words trilha_masked_words;

/* `delivered` and `stored` are JSON texts; stored may be absent: then every word of `delivered` is masked. A text that
 * cannot be read masks every word. */
trilha_status trilha_masked_words_new(trilha_text delivered, trilha_text stored, trilha_masked_words **ret_words,
                                      trilha_error *err) TRILHA_MUST_USE;
void trilha_masked_words_free(trilha_masked_words *words);

/* Appends `text` as it may be stored: invalid UTF-8 and control characters (line feed and tab excepted) become U+FFFD,
 * masked words become "[…]", at most `max` bytes. `text` of any size: work is bounded by max. words may be NULL. */
void trilha_scrub(trilha_buffer *out, trilha_text text, const trilha_masked_words *words, size_t max);

/* --- the queue ---------------------------------------------------------------------------------------------- */

typedef struct trilha_deadletter trilha_deadletter;

trilha_status trilha_deadletter_new(trilha_store *store, const trilha_diagnostics *diagnostics, int64_t max_attempts,
                                    int64_t alert_at, trilha_deadletter **ret_deadletter,
                                    trilha_error *err) TRILHA_MUST_USE;
void trilha_deadletter_free(trilha_deadletter *deadletter);

/* One failed delivery as it came, unscrubbed. */
typedef struct trilha_failed_delivery {
  const trilha_event *event;
  trilha_text stored_payload; /* the redacted one, absent when the event's own payload is it */
  trilha_text colonia, handler_nome, message, stack;
  const trilha_lease *lease; /* of the durable consumer that delivered it; NULL: none */
  int64_t max_attempts;      /* before failed_permanent; 0: the handle's */
} trilha_failed_delivery;

/* Scrubs and stores (ruling R16), then says the new gauge. A failure to store is said ("Falha ao registrar na DLQ") and
 * returned: the caller must not pass the event. */
trilha_status trilha_deadletter_record(trilha_deadletter *deadletter, const trilha_failed_delivery *failed,
                                       trilha_error *err) TRILHA_MUST_USE;
/* Ends one retry (failed NULL: success). */
trilha_status trilha_deadletter_settle(trilha_deadletter *deadletter, int64_t id, int64_t token,
                                       const trilha_failed_delivery *failed, trilha_error *err) TRILHA_MUST_USE;
/* Emits the gauge dead_letter_queue_pending{colonia} as the diagnostic dlq.pending; failures are said, never returned.
 * With so many open letters that counting is slow, most changes only owe it: who has time says what is owed. */
void trilha_deadletter_say_gauge(trilha_deadletter *deadletter);
void trilha_deadletter_say_owed_gauge(trilha_deadletter *deadletter);

/* Public contracts of trilha/delivery.h. */
trilha_status trilha_deadletter_query(trilha_deadletter *deadletter, const trilha_dead_letters_filter *filter,
                                      trilha_dead_letters **ret_letters, trilha_error *err) TRILHA_MUST_USE;
void trilha_deadletter_letters_free(trilha_dead_letters *letters);
trilha_status trilha_deadletter_stats(trilha_deadletter *deadletter, trilha_dead_letter_statistics **ret_statistics,
                                      trilha_error *err) TRILHA_MUST_USE;
void trilha_deadletter_statistics_free(trilha_dead_letter_statistics *statistics);
trilha_status trilha_deadletter_reopen(trilha_deadletter *deadletter, int64_t id, trilha_text user, trilha_text reason,
                                       trilha_error *err) TRILHA_MUST_USE;

#endif
