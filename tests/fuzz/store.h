/* fuzz: one throw-away store of this process, in a folder that goes when the process ends. */
#ifndef TRILHA_TESTS_FUZZ_STORE_H
#define TRILHA_TESTS_FUZZ_STORE_H

#include "trilha/trilha.h"

/* The types "t" (rules of redaction, closed) and "free" (takes any object), version 1.0.0. */
#define FUZZ_SCHEMA_T                                                                                   \
  "{\"type\":\"object\",\"required\":[\"n\"],\"properties\":{\"n\":{\"type\":\"number\",\"x-redacao\":" \
  "\"manter\"},\"cpf\":{\"type\":\"string\",\"x-redacao\":\"hash\"},\"nome\":{\"type\":\"string\","     \
  "\"x-redacao\":\"remover\"}},\"additionalProperties\":false}"

/* The same handle each time, with a key. */
trilha *fuzz_store_open(void);
/* Its database file. */
const char *fuzz_store_path(void);

#endif
