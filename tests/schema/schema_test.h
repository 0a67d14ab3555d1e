/* schema tests: files, schemas from text, and one document judged by every pass. */
#ifndef TRILHA_TESTS_SCHEMA_TEST_H
#define TRILHA_TESTS_SCHEMA_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "schema/schema.h"

/* A whole file, freed with free(); data NULL when it cannot be read. */
trilha_text test_file(const char *path);
/* The conformance folder (TRILHA_SHARED/conformance), or NULL when it is absent. */
const char *test_conformance(void);
void test_path(char *out, size_t size, const char *format, ...) TRILHA_PRINTF(3, 4);

trilha_json_document *test_parse(trilha_text text);
trilha_json_document *test_parse_value(const trilha_json_value *value);
/* NULL with the error filled when the schema is refused. */
trilha_schema *test_compile(const char *schema, const trilha_schema_options *options, trilha_error *err);

typedef struct judge {
  trilha_json_reader *reader;
  trilha_schema_scratch *scratch;
} judge;
void judge_init(judge *j);
void judge_done(judge *j);
/* The verdict of a text read with the schema's keys. The same document read without keys and with foreign ones, the
 * reporting pass and the annotation pass must agree; else it is JUDGES_DISAGREE. */
#define JUDGES_DISAGREE ((trilha_verdict)99)
trilha_verdict judge_text(judge *j, const trilha_schema *schema, trilha_text instance);

#endif
