/* access/signature: the signatures of Standard Webhooks 1.0.0: HMAC-SHA-256 of "id.timestamp.body", one for each key,
 * so that whoever knows any of them is content. Room: access. Corridor. A signer is immutable: any threads at once. */
#ifndef TRILHA_ACCESS_SIGNATURE_H
#define TRILHA_ACCESS_SIGNATURE_H

#include "base/hash.h"
#include "trilha/webhook.h"

enum {
  TRILHA_SIGNATURE_TOLERANCE_S = 300, /* how far a signature's time may be from ours */
  TRILHA_SIGNATURES_MAX = 16,         /* of one request */
  TRILHA_SIGNATURE_ID_BYTES_MAX = 256 /* of its webhook-id */
};

typedef struct trilha_signer {
  trilha_hmac_key *keys[TRILHA_WEBHOOK_SECRETS_MAX];
  size_t count;
} trilha_signer;
/* USAGE (WEBHOOK_SECRET): too many, or not of their form; nothing of a secret is in the message. Afterwards, also on
 * failure, trilha_signer_done(). */
trilha_status trilha_signer_init(trilha_signer *signer, const char *const *secrets, size_t count,
                                 trilha_error *err) TRILHA_MUST_USE;
void trilha_signer_done(trilha_signer *signer);
/* Cuts a text up at its white space, in place; returns how many words, at most one more than a signer takes, so that
 * there being too many is seen. */
size_t trilha_signer_words(char *text, const char *words[TRILHA_WEBHOOK_SECRETS_MAX + 1]);

/* "v1,…", one for each key, blanks between; "" without keys. */
void trilha_signer_sign(const trilha_signer *signer, trilha_text id, int64_t at_s, trilha_text body,
                        trilha_buffer *out);
/* Whether one of `signatures` (as above, from somebody else; other versions are passed over) is by one of the keys.
 * Their content is compared in constant time. When they were made is the caller's to judge. */
bool trilha_signer_verify(const trilha_signer *signer, trilha_text id, int64_t at_s, trilha_text body,
                          trilha_text signatures);
/* Whether a request with these headers (each the one value of its name) and this body was signed at a time that is near
 * ours. The time has one spelling: its decimal digits without a leading zero, for they are what was signed. */
bool trilha_signer_accepts(const trilha_signer *signer, trilha_text id, trilha_text timestamp, trilha_text signatures,
                           trilha_text body, int64_t now_s);

#endif
