/* reaction: the memory transport (trilha/reaction.h). Room: reaction. Corridor header. */
#ifndef TRILHA_REACTION_REACTION_H
#define TRILHA_REACTION_REACTION_H

#include "store/reaction.h"
#include "trilha/reaction.h"

/* Opens a connection to the consumer's database. Called from any of the relay's threads. */
typedef trilha_status (*trilha_reaction_opener)(const trilha_outbox_options *options, trilha_reaction_store **ret_store,
                                                trilha_error *err);

/* Copies what it needs of the options, which are checked but for the name of the consumer. */
trilha_status trilha_reaction_make(const trilha_reaction_options *options, trilha_reaction_opener open,
                                   unsigned at_once, trilha_reaction **ret_reaction, trilha_error *err) TRILHA_MUST_USE;

#endif
