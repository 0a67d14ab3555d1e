/* bus/live_internal: the data of live delivery, shared by live.c and subscribe.c. Room: bus, inside. */
#ifndef TRILHA_BUS_LIVE_INTERNAL_H
#define TRILHA_BUS_LIVE_INTERNAL_H

#include "bus/live.h"

/* An event waiting in mailboxes: counted, since several colonies may wait for it. */
typedef struct trilha_live_event {
  size_t references;
  trilha_arena arena;
  trilha_event event;
  trilha_text stored_payload;
} trilha_live_event;

typedef struct trilha_live_entry {
  struct trilha_live_entry *next;
  trilha_live_event *event;
  trilha_ticket *ticket;
  unsigned depth;
} trilha_live_entry;

/* One a colony, kept as long as the bus: colonies are few. */
typedef struct trilha_mailbox {
  struct trilha_mailbox *next;
  char *colonia;
  trilha_live_entry *first, *last;
  bool busy; /* somebody runs a handler of this colony */
  pthread_t runner;
} trilha_mailbox;

typedef struct trilha_listener {
  int64_t id;
  char *tipo, *colonia, *nome;
  trilha_handler handler;
  void *user;
  size_t running; /* calls under way */
  bool gone;      /* unsubscribed: freed when running falls to 0 */
} trilha_listener;

struct trilha_live {
  trilha_bus *bus;
  pthread_mutex_t mutex; /* guards everything below; never held while a handler runs or across the store */
  pthread_cond_t changed;
  trilha_mailbox *mailboxes;
  trilha_listener **listeners; /* in the order of subscription */
  size_t listener_count, listener_capacity;
  int64_t last_id;
  struct trilha_delivery *running;
};

/* Mutex held. */
trilha_mailbox *trilha_mailbox_find(trilha_live *live, trilha_text colonia);
trilha_mailbox *trilha_mailbox_make(trilha_live *live, trilha_text colonia);
/* The n-th listener of (tipo, colonia) that is not gone, or NULL. Its running count is raised: give it back with
 * trilha_listener_release(). */
trilha_listener *trilha_listener_hold(trilha_live *live, trilha_text tipo, trilha_text colonia, int64_t after_id);
void trilha_listener_release(trilha_live *live, trilha_listener *listener);

#endif
