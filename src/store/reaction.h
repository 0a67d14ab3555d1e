/* store/reaction: what the memory transport needs of a consumer's database: a connection whose transactions hold a
 * message's acceptance by the inbox and its effect. Room: store (ports). Corridor header. One owner, one thread at a
 * time. */
#ifndef TRILHA_STORE_REACTION_H
#define TRILHA_STORE_REACTION_H

#include "base/clock.h"
#include "store/outbox.h"
#include "store/store.h"
#include "trilha/transport.h"

struct pg_conn;
struct sqlite3;

typedef struct trilha_reaction_store trilha_reaction_store;

typedef struct trilha_reaction_operations {
  void (*close)(trilha_reaction_store *store);
  /* Connects where needed, opens a transaction in the message's scope and asks the inbox in it. Nothing in it waits
   * beyond the deadline. On failure no transaction is open, and nothing of the scope is left. */
  trilha_status (*begin)(trilha_reaction_store *store, const trilha_inbox_message *message,
                         const trilha_envelope *envelope, trilha_deadline deadline, trilha_inbox_answer *ret_answer,
                         trilha_error *err);
  trilha_status (*finish)(trilha_reaction_store *store, const trilha_inbox_message *message, trilha_text result,
                          trilha_error *err);
  /* Exactly one of commit and abort ends what begin opened, and leaves nothing of it to the next message.
   * OUTCOME_UNKNOWN: it may be stored. Any other failure: nothing is. */
  trilha_status (*commit)(trilha_reaction_store *store, trilha_error *err);
  void (*abort)(trilha_reaction_store *store);
} trilha_reaction_operations;

struct trilha_reaction_store { /* first member of an adapter's own struct */
  const trilha_reaction_operations *op;
  struct pg_conn *postgres; /* one of the two, while a transaction is open */
  struct sqlite3 *sqlite;
  const char *settings; /* borrowed: the beginning of the names of the scope's session settings, where there are any */
  int64_t closed;       /* connections that could not be cleared after a message */
};

#endif
