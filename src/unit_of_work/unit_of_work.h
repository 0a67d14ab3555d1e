/* unit_of_work: a unit of work on a connection that an adapter gives. Room: unit_of_work. Corridor header. */
#ifndef TRILHA_UNIT_OF_WORK_UNIT_OF_WORK_H
#define TRILHA_UNIT_OF_WORK_UNIT_OF_WORK_H

#include "store/unit_of_work.h"

/* The options have been checked. */
trilha_status trilha_unit_of_work_new(trilha_unit_store *take_store, const trilha_unit_of_work_options *options,
                                      trilha_unit_of_work **ret_unit, trilha_error *err) TRILHA_MUST_USE;

#endif
