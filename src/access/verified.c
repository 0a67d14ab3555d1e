/* access: tokens that were verified before. */
#include <string.h>

#include "access/token_internal.h"

static bool holds(const trilha_verified *v, const unsigned char token[TRILHA_SHA256_SIZE]) {
  trilha_text wanted = {(const char *)token, TRILHA_SHA256_SIZE};
  for (size_t i = 0; i < v->count; i++)
    if (trilha_secret_equal((trilha_text){(const char *)v->tokens[i], TRILHA_SHA256_SIZE}, wanted)) return true;
  return false;
}

bool trilha_verified_holds(trilha_verified *verified, const unsigned char token[TRILHA_SHA256_SIZE]) {
  pthread_mutex_lock(&verified->mutex);
  bool found = holds(verified, token);
  pthread_mutex_unlock(&verified->mutex);
  return found;
}

void trilha_verified_add(trilha_verified *verified, const unsigned char token[TRILHA_SHA256_SIZE]) {
  pthread_mutex_lock(&verified->mutex);
  if (!holds(verified, token)) { /* two requests may have verified it at once */
    memcpy(verified->tokens[verified->next], token, TRILHA_SHA256_SIZE);
    verified->next = (verified->next + 1) % TRILHA_VERIFIED_MAX;
    if (verified->count < TRILHA_VERIFIED_MAX) verified->count++;
  }
  pthread_mutex_unlock(&verified->mutex);
}
