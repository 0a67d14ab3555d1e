/* tests/conformance: what the suites share: one type, and short ways to publish. */
#ifndef TRILHA_TESTS_CONFORMANCE_PUBLISHING_H
#define TRILHA_TESTS_CONFORMANCE_PUBLISHING_H

#include "support/store_fixture.h"

/* A type whose fields cover keep, hash, round and removal. */
extern const char trilha_test_schema[];

/* Publishes {"n": number, "texto": …} of `tipo`; the test fails when it is refused. Returns the sequence. */
int64_t publish_number(trilha *handle, const char *tipo, int64_t number);
/* Publishes and expects a refusal with this code. */
void expect_refused(trilha *handle, const trilha_publication *publication, const char *code);

/* Where the cursor of D-4 for a type stands. */
int64_t cursor_of(const trilha_fixture *f, const char *tipo);
/* Dead letters with this status; NULL: any. */
size_t count_letters_with(trilha *handle, const char *status);

#endif
