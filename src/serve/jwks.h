/* serve inside: keys from an identity provider's URL. Room: serve. Thread-safe. */
#ifndef TRILHA_SERVE_JWKS_H
#define TRILHA_SERVE_JWKS_H

#include <pthread.h>
#include <stdatomic.h>

#include "access/token.h"
#include "trilha/diagnostics.h"

typedef struct trilha_jwks trilha_jwks;
/* Begins to fetch and returns at once; texts are copied, the sink outlives it. */
trilha_status trilha_jwks_start(trilha_text url, trilha_text ca_file, const trilha_diagnostics *diagnostics,
                                trilha_jwks **ret_jwks, trilha_error *err) TRILHA_MUST_USE;
/* Looks again at once (an operator asked). NULL: nothing. */
void trilha_jwks_refresh(trilha_jwks *jwks);
/* As trilha_token_verify() with the set as it is now. A key that is not in it is looked for, at most once a minute. */
trilha_token_verdict trilha_jwks_verify(trilha_jwks *jwks, const trilha_token_rules *rules, trilha_text token,
                                        int64_t now_us, trilha_token_identity *ret_identity);
/* Unix time of the last set that was taken over; 0: none yet. */
int64_t trilha_jwks_fetched_s(const trilha_jwks *jwks);
/* Ends a fetch under way too. */
void trilha_jwks_stop(trilha_jwks *jwks);

#endif
