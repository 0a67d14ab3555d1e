/* lib/outbox: an open outbox, and the checks of its street door. Room: lib, inside. */
#ifndef TRILHA_LIB_OUTBOX_H
#define TRILHA_LIB_OUTBOX_H

#include "store/outbox.h"

struct trilha_outbox {
  trilha_outbox_store *store;
};

/* USAGE: `what` must not be NULL. */
trilha_status trilha_outbox_missing(trilha_error *error, const char *what);
/* INVALID (MESSAGE_ID_INVALID) unless a UUID. */
trilha_status trilha_outbox_read_id(trilha_text text, unsigned char id[16], trilha_error *error) TRILHA_MUST_USE;
/* USAGE (REASON_MISSING) unless both are there. */
trilha_status trilha_outbox_check_who(trilha_text user, trilha_text reason, trilha_error *error) TRILHA_MUST_USE;
/* INVALID (PATTERN_INVALID). */
trilha_status trilha_outbox_check_pattern(trilha_text pattern, trilha_error *error) TRILHA_MUST_USE;
trilha_status trilha_outbox_check_destination(trilha_text name, trilha_error *error) TRILHA_MUST_USE;

#endif
