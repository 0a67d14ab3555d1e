/* reaction: one message after another through inbox, handler and commit, on as many connections as calls come at once.
 */
#include "reaction/reaction.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fault.h"
#include "base/text.h"

enum { IDLE_MAX = 64 /* connections that are kept */, CONSUMER_CHARACTERS_MAX = 255, SETTINGS_BYTES_MAX = 40 };
static const char SETTINGS_DEFAULT[] = "trilha";

struct trilha_reaction {
  trilha_reaction_options options; /* its texts are this object's own */
  char *url, *schema, *consumer, *settings;
  trilha_reaction_opener open;
  unsigned at_once;

  pthread_mutex_t lock; /* guards idle; never held across I/O */
  trilha_reaction_store *idle[IDLE_MAX];
  size_t idle_count;

  _Atomic int64_t effects, duplicates, conflicts, held, failed, closed;
};

struct trilha_reaction_call {
  trilha_reaction_store *store;
  const trilha_inbox_message *message;
  trilha_scope scope;
};

struct pg_conn *trilha_reaction_postgres(const trilha_reaction_call *call) {
  return call == NULL ? NULL : call->store->postgres;
}

struct sqlite3 *trilha_reaction_sqlite(const trilha_reaction_call *call) {
  return call == NULL ? NULL : call->store->sqlite;
}

const trilha_scope *trilha_reaction_scope(const trilha_reaction_call *call) {
  return call == NULL ? NULL : &call->scope;
}

trilha_status trilha_reaction_result(trilha_reaction_call *call, trilha_text result, trilha_error *error) {
  if (call == NULL || result.data == NULL)
    return trilha_error_set(error, TRILHA_USAGE, "ARGUMENT_MISSING", "the call and its result must not be NULL");
  return call->store->op->finish(call->store, call->message, result, error);
}

/* --- connections ------------------------------------------------------------------------------------------------- */

static trilha_status take_connection(trilha_reaction *r, trilha_reaction_store **ret_store, trilha_error *err) {
  pthread_mutex_lock(&r->lock);
  trilha_reaction_store *store = r->idle_count > 0 ? r->idle[--r->idle_count] : NULL;
  pthread_mutex_unlock(&r->lock);
  if (store != NULL) {
    *ret_store = store;
    return TRILHA_OK;
  }
  trilha_status status = r->open(&r->options.inbox, ret_store, err);
  if (status == TRILHA_OK) (*ret_store)->settings = r->settings == NULL ? SETTINGS_DEFAULT : r->settings;
  return status;
}

static void give_back(trilha_reaction *r, trilha_reaction_store *store) {
  atomic_fetch_add(&r->closed, store->closed);
  store->closed = 0;
  pthread_mutex_lock(&r->lock);
  bool kept = r->idle_count < IDLE_MAX;
  if (kept) r->idle[r->idle_count++] = store;
  pthread_mutex_unlock(&r->lock);
  if (!kept) store->op->close(store);
}

/* --- one message -------------------------------------------------------------------------------------------------- */

/* What the database says of its own state is no verdict on the message: it is tried again. */
static trilha_status not_for_good(trilha_status status) {
  return status == TRILHA_INVALID || status == TRILHA_CONFLICT ? TRILHA_UNAVAILABLE : status;
}

static trilha_status fail(trilha_reaction *r, trilha_status status) {
  atomic_fetch_add(&r->failed, 1);
  return status;
}

static trilha_status handle_new(trilha_reaction *r, const trilha_envelope *e, trilha_reaction_call *call,
                                trilha_error *err) {
  trilha_reaction_store *store = call->store;
  trilha_status status = r->options.react(r->options.user, e, call, err);
  if (status == TRILHA_OK && TRILHA_FAULT("reaction.commit.before"))
    status = trilha_error_set(err, TRILHA_UNAVAILABLE, "FAULT", "fault point reaction.commit.before");
  if (status != TRILHA_OK) {
    store->op->abort(store);
    return fail(r, status);
  }
  status = not_for_good(store->op->commit(store, err));
  if (status != TRILHA_OK) return fail(r, status);
  atomic_fetch_add(&r->effects, 1);
  if (TRILHA_FAULT("reaction.commit.after"))
    return trilha_error_set(err, TRILHA_OUTCOME_UNKNOWN, "FAULT", "fault point reaction.commit.after");
  return TRILHA_OK;
}

static trilha_status obey(trilha_reaction *r, trilha_inbox_outcome outcome, const trilha_envelope *e,
                          trilha_reaction_call *call, trilha_error *err) {
  if (outcome == TRILHA_INBOX_NEW) return handle_new(r, e, call, err);
  call->store->op->abort(call->store); /* nothing was written */
  switch (outcome) {
    case TRILHA_INBOX_DUPLICATE:
      atomic_fetch_add(&r->duplicates, 1);
      return TRILHA_OK;
    case TRILHA_INBOX_HELD:
      atomic_fetch_add(&r->held, 1);
      return trilha_error_set(err, TRILHA_UNAVAILABLE, "INBOX_HELD",
                              "a message before this one of its aggregate has not been handled yet");
    default:
      atomic_fetch_add(&r->conflicts, 1);
      return trilha_error_set(err, TRILHA_CONFLICT, "INBOX_CONFLICT",
                              "the inbox holds this message with other content: its effect, if any, is of that one");
  }
}

static trilha_status react_to(trilha_reaction *r, trilha_reaction_store *store, const trilha_envelope *e,
                              trilha_error *err) {
  trilha_inbox_message message = {.tenant_id = e->tenant_id,
                                  .consumer = r->consumer == NULL ? e->destination : trilha_text_of(r->consumer),
                                  .message_id = e->message_id,
                                  .payload = e->payload};
  if (r->options.ordered) {
    message.aggregate_type = e->aggregate_type;
    message.aggregate_key = e->aggregate_key;
    message.aggregate_sequence = e->aggregate_sequence;
    message.previous_sequence = e->previous_sequence;
  }
  trilha_reaction_call call = {.store = store, .message = &message, .scope = trilha_envelope_scope(e)};
  trilha_inbox_answer answer = {0};
  trilha_deadline deadline = trilha_deadline_in_ms(e->timeout_ms);
  trilha_status status = not_for_good(store->op->begin(store, &message, e, deadline, &answer, err));
  if (status != TRILHA_OK) return fail(r, status);
  free(answer.result); /* a relay has no use for it */
  status = obey(r, answer.outcome, e, &call, err);
  call = (trilha_reaction_call){0}; /* whoever kept it finds nothing of this message */
  return status;
}

static trilha_status send(void *user, const trilha_envelope *envelope, trilha_error *error) {
  trilha_reaction *r = user;
  trilha_reaction_store *store = NULL;
  trilha_status status = not_for_good(take_connection(r, &store, error));
  if (status != TRILHA_OK) return fail(r, status);
  status = react_to(r, store, envelope, error);
  give_back(r, store);
  return status;
}

/* --- making and ending ---------------------------------------------------------------------------------------------
 */

trilha_transport trilha_reaction_transport(trilha_reaction *reaction, trilha_text destination) {
  return (trilha_transport){.destination = destination,
                            .send = send,
                            .user = reaction,
                            .at_once = reaction == NULL ? 0 : reaction->at_once,
                            .guarantee = TRILHA_GUARANTEE_ATOMIC};
}

void trilha_reaction_counted(const trilha_reaction *reaction, trilha_reaction_counts *ret_counts) {
  if (reaction == NULL || ret_counts == NULL) return;
  *ret_counts = (trilha_reaction_counts){.effects = atomic_load(&reaction->effects),
                                         .duplicates = atomic_load(&reaction->duplicates),
                                         .conflicts = atomic_load(&reaction->conflicts),
                                         .held = atomic_load(&reaction->held),
                                         .failed = atomic_load(&reaction->failed),
                                         .closed = atomic_load(&reaction->closed)};
}

/* set_config takes no other names; the text is a parameter all the same. */
static bool is_setting(const char *name) {
  size_t size = strlen(name);
  if (size == 0 || size > SETTINGS_BYTES_MAX || (name[0] >= '0' && name[0] <= '9')) return false;
  return strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == size;
}

static trilha_status check(const trilha_reaction_options *o, trilha_error *err) {
  size_t characters = o->consumer == NULL ? 1 : trilha_utf8_length(o->consumer, strlen(o->consumer));
  if (o->react == NULL) return trilha_error_set(err, TRILHA_USAGE, "REACTION_OPTIONS", "a handler is needed");
  if (characters == 0 || characters > CONSUMER_CHARACTERS_MAX)
    return trilha_error_set(err, TRILHA_USAGE, "REACTION_OPTIONS", "the consumer's name has 1 to %d characters",
                            CONSUMER_CHARACTERS_MAX);
  if (o->settings != NULL && !is_setting(o->settings))
    return trilha_error_set(err, TRILHA_USAGE, "REACTION_OPTIONS",
                            "the settings' names begin with lower-case letters, digits and _, at most %d, and no digit "
                            "first",
                            SETTINGS_BYTES_MAX);
  if (o->at_once > TRILHA_TRANSPORT_AT_ONCE_MAX)
    return trilha_error_set(err, TRILHA_USAGE, "REACTION_OPTIONS", "at most %d messages are handled at once",
                            TRILHA_TRANSPORT_AT_ONCE_MAX);
  return TRILHA_OK;
}

static bool copy(const char *text, char **ret_copy) {
  *ret_copy = text == NULL ? NULL : strdup(text);
  return text == NULL || *ret_copy != NULL;
}

trilha_status trilha_reaction_make(const trilha_reaction_options *options, trilha_reaction_opener open,
                                   unsigned at_once, trilha_reaction **ret_reaction, trilha_error *err) {
  trilha_status status = check(options, err);
  if (status != TRILHA_OK) return status;
  trilha_reaction *r = calloc(1, sizeof *r);
  if (r == NULL) return trilha_error_no_memory(err);
  pthread_mutex_init(&r->lock, NULL);
  r->options = *options;
  r->open = open;
  r->at_once = options->at_once > 0 ? options->at_once : at_once;
  if (!copy(options->inbox.url, &r->url) || !copy(options->inbox.schema, &r->schema) ||
      !copy(options->consumer, &r->consumer) || !copy(options->settings, &r->settings)) {
    trilha_reaction_free(r);
    return trilha_error_no_memory(err);
  }
  r->options.inbox.url = r->url;
  r->options.inbox.schema = r->schema;
  *ret_reaction = r;
  return TRILHA_OK;
}

void trilha_reaction_free(trilha_reaction *reaction) {
  trilha_reaction *r = reaction;
  if (r == NULL) return;
  for (size_t i = 0; i < r->idle_count; i++) r->idle[i]->op->close(r->idle[i]);
  pthread_mutex_destroy(&r->lock);
  if (r->url != NULL) explicit_bzero(r->url, strlen(r->url)); /* it may hold a password */
  free(r->url);
  free(r->schema);
  free(r->consumer);
  free(r->settings);
  free(r);
}
