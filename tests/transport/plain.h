/* tests/transport/plain: the smallest destination: an array in this process, behind a trilha_send or a trilha_begin;
 * and the mistakes that a transport can make, each of which some case must name. */
#ifndef TRILHA_TESTS_TRANSPORT_PLAIN_H
#define TRILHA_TESTS_TRANSPORT_PLAIN_H

#include "conformance.h"

typedef enum plain_flaw {
  PLAIN_HONEST,
  PLAIN_SWALLOWS_FAILURES, /* what the destination failed to take counts as sent */
  PLAIN_SENDS_TO_NOBODY,   /* the same where there is no destination */
  PLAIN_LOSES_ONE,         /* acknowledges the third message and forgets it */
  PLAIN_MAKES_NEW_IDS,     /* one for each attempt */
  PLAIN_SWAPS_NEIGHBOURS,  /* acknowledges before it has sent, and sends the next one first */
  PLAIN_REPEATS_REFUSALS,  /* takes a refusal for a failure that passes */
  PLAIN_SHOWS_PAYLOADS,    /* in its errors */
  PLAIN_FORGETS_THE_TIME,  /* that the destination named */
  PLAIN_CUTS_PAYLOADS,     /* after 64 KiB */
  PLAIN_SAYS_REVISION_ONE, /* whatever was corrected */
  PLAIN_HAS_NO_PATIENCE,   /* answers long after the time of a send */
  PLAIN_SENDS_ONE_AT_A_TIME,
  PLAIN_LEAVES_A_DESCRIPTOR
} plain_flaw;

/* The honest ones. */
extern const transport_subject plain_sender, plain_beginner;
/* With that mistake, impatient where only patience would show it. One at a time. */
transport_subject plain_with(plain_flaw flaw);

#endif
