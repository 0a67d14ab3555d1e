/* serve/quota_holders: the tenants that hold their quota of a destination (ruling R35), as the API and the program tell
 * them beside how the destination stands. Room: serve. Corridor header. */
#ifndef TRILHA_SERVE_QUOTA_HOLDERS_H
#define TRILHA_SERVE_QUOTA_HOLDERS_H

#include "base/arena.h"
#include "trilha/outbox.h"

enum { TRILHA_QUOTA_HOLDERS_MAX = 100 }; /* as the library's own */

typedef struct trilha_quota_holders {
  trilha_arena arena; /* the texts */
  trilha_outbox_quota all[TRILHA_QUOTA_HOLDERS_MAX];
  size_t count;
} trilha_quota_holders;

/* Into one that is all zero; read before the rows that they are shown in, and given back by the second whatever came of
 * it. An outbox that an earlier version installed has none. */
trilha_status trilha_quota_holders_read(trilha_outbox *outbox, trilha_quota_holders *holders,
                                        trilha_error *err) TRILHA_MUST_USE;
void trilha_quota_holders_done(trilha_quota_holders *holders);
/* Those of a destination, as the value of a JSON member: a list of objects. */
void trilha_quota_holders_write(const trilha_quota_holders *holders, trilha_text destination, trilha_buffer *out);

#endif
