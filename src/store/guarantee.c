/* store/guarantee: what guarantees are called where they are kept. */
#include "store/guarantee.h"

#include <stddef.h>

const char *trilha_guarantee_name(trilha_guarantee guarantee) {
  static const char *const names[] = {[TRILHA_GUARANTEE_UNDECLARED] = NULL,
                                      [TRILHA_GUARANTEE_ATOMIC] = "atomic",
                                      [TRILHA_GUARANTEE_DURABLE] = "durable",
                                      [TRILHA_GUARANTEE_BEST_EFFORT] = "best effort"};
  return (size_t)guarantee < sizeof names / sizeof names[0] ? names[guarantee] : NULL;
}

bool trilha_guarantee_is_declared(trilha_guarantee guarantee, trilha_text because) {
  return trilha_guarantee_name(guarantee) != NULL && (guarantee != TRILHA_GUARANTEE_BEST_EFFORT || because.size > 0);
}
