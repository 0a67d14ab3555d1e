/* relay/grant: whether a message may be dispatched in the name of this relay's service. Asked for each message of an
 * outbox that asks for grants, in the turn in which it is begun: what was revoked meanwhile binds the next message of a
 * run that was read long ago. One question for all that begin together. Nothing that the payload says is looked at. */
#include <stdio.h>

#include "base/error.h"
#include "relay/relay_internal.h"

enum { NAME_BYTES_SHOWN = 80 }; /* of a tenant, so that the advice behind it is never cut off */

static trilha_text absent_when_null(const char *text) {
  return text == NULL ? (trilha_text){0} : trilha_text_of(text);
}

static int shown(trilha_text text) {
  return (int)(text.size <= NAME_BYTES_SHOWN ? text.size : trilha_utf8_boundary(text.data, NAME_BYTES_SHOWN));
}

static trilha_status refuse(const trilha_service_grant *asked, const trilha_service_answer *answer, trilha_error *err) {
  if (answer->credential[0] == '\0')
    return trilha_error_set(err, TRILHA_INVALID, "SERVICE_FORBIDDEN",
                            "this outbox asks for a service credential and the worker has none: start it with one, "
                            "then `trilha outbox retry --code SERVICE_FORBIDDEN`");
  if (!answer->proven)
    return trilha_error_set(err, TRILHA_INVALID, "SERVICE_UNPROVEN",
                            "the worker's login is neither the service credential %s nor a member of it: give it the "
                            "membership or another login, then `trilha outbox retry --code SERVICE_UNPROVEN`",
                            answer->credential);
  bool company = asked->company_id.data != NULL;
  return trilha_error_set(err, TRILHA_INVALID, "SERVICE_FORBIDDEN",
                          "the service credential %s has no grant for %.*s in tenant %.*s%s%.*s: `trilha service "
                          "grant`, then `trilha outbox retry --code SERVICE_FORBIDDEN`",
                          answer->credential, shown(asked->operation), asked->operation.data, shown(asked->tenant_id),
                          asked->tenant_id.data, company ? ", company " : " (without company)",
                          company ? shown(asked->company_id) : 0, company ? asked->company_id.data : "");
}

static bool needs_one(const trilha_sending *lane) {
  const trilha_outbox_row *row = &lane->messages[lane->at];
  return row->guarded && row->held_by.data == NULL;
}

static trilha_service_grant question_of(const trilha_sending *lane) {
  const trilha_outbox_row *row = &lane->messages[lane->at];
  return (trilha_service_grant){.credential = absent_when_null(lane->round->worker->relay->options.credential),
                                .destination = lane->round->transport->destination,
                                .tenant_id = lane->lease->tenant_id,
                                .company_id = row->company_id,
                                .operation = row->message_type};
}

static trilha_status judge(trilha_sending *lane, const trilha_service_grant *asked,
                           const trilha_service_answer *answer) {
  lane->result = (trilha_send_result){0};
  if (!answer->proven || !answer->granted) return refuse(asked, answer, &lane->result.error);
  memcpy(lane->credential, answer->credential, sizeof lane->credential);
  return TRILHA_OK;
}

/* The outbox could not be asked, which is no message's own fault. */
static trilha_status blame_the_store(trilha_sending *lane, const trilha_error *why) {
  lane->result = (trilha_send_result){0};
  trilha_error_copy(&lane->result.error, why);
  return why->status == TRILHA_INVALID || why->status == TRILHA_CONFLICT ? TRILHA_UNAVAILABLE : why->status;
}

void trilha_relay_ask_for_grants(trilha_relay_round *round, size_t lanes) {
  trilha_outbox_store *store = round->worker->store;
  trilha_error why = {0};
  trilha_sending *lane = round->waiting.head;
  size_t count = 0;
  for (size_t i = 0; i < lanes; i++, lane = lane->next) {
    lane->credential[0] = '\0';
    lane->granted = TRILHA_OK;
    if (needs_one(lane)) round->asked[count++] = question_of(lane);
  }
  if (count == 0) return;
  trilha_status status = store->op->service_may(store, round->asked, count, round->answers, &why);
  lane = round->waiting.head;
  for (size_t i = 0, at = 0; i < lanes; i++, lane = lane->next) {
    if (!needs_one(lane)) continue;
    lane->granted =
        status == TRILHA_OK ? judge(lane, &round->asked[at], &round->answers[at]) : blame_the_store(lane, &why);
    lane->result.status = lane->granted;
    at++;
  }
}
