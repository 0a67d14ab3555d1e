/* tests/support/loud: part of every C test; loud.c tells why. */
#ifndef TRILHA_TESTS_SUPPORT_LOUD_H
#define TRILHA_TESTS_SUPPORT_LOUD_H

/* Assertions that have failed in this program so far. Thread-safe. */
unsigned test_failures(void);

#endif
