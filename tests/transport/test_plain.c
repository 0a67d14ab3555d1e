/* transport: the suite on the smallest transport, in both forms. TRILHA_TEST_TRANSPORT: send or begin. */
#include <stdlib.h>
#include <string.h>

#include "plain.h"

int main(void) {
  const char *form = getenv("TRILHA_TEST_TRANSPORT");
  return transport_conformance(form != NULL && strcmp(form, "begin") == 0 ? &plain_beginner : &plain_sender);
}
