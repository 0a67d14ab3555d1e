/* store/guarantee: what guarantees are called where they are kept. Room: store (ports). Corridor header. Thread-safe.
 */
#ifndef TRILHA_STORE_GUARANTEE_H
#define TRILHA_STORE_GUARANTEE_H

#include "trilha/trilha.h"

/* "atomic", "durable" or "best effort"; NULL for another value. */
const char *trilha_guarantee_name(trilha_guarantee guarantee);
/* Whether it can be declared: best effort needs to say why. */
bool trilha_guarantee_is_declared(trilha_guarantee guarantee, trilha_text because);

#endif
