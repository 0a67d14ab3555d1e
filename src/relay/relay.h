/* relay: delivering an outbox's messages (trilha/relay.h). Room: relay. Corridor header. */
#ifndef TRILHA_RELAY_RELAY_H
#define TRILHA_RELAY_RELAY_H

#include "store/outbox.h"
#include "trilha/relay.h"

/* Opens the outbox for one worker: each has a connection of its own. Called from any of the relay's threads. */
typedef trilha_status (*trilha_relay_opener)(const trilha_outbox_options *options, trilha_outbox_store **ret_store,
                                             trilha_error *err);

/* Copies what it needs of the options. */
trilha_status trilha_relay_make(const trilha_relay_options *options, trilha_relay_opener open, unsigned scan_ms,
                                trilha_relay **ret_relay, trilha_error *err) TRILHA_MUST_USE;
trilha_status trilha_relay_work(trilha_relay *relay, trilha_error *err) TRILHA_MUST_USE;
void trilha_relay_ask_to_stop(trilha_relay *relay);
void trilha_relay_ring(trilha_relay *relay);
void trilha_relay_count(const trilha_relay *relay, trilha_relay_counts *ret_counts);
void trilha_relay_release(trilha_relay *take_relay);
/* As trilha_envelope_to_json(), appended to out. */
void trilha_envelope_write_json(trilha_buffer *out, const trilha_envelope *envelope);

#endif
