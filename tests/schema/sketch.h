/* schema tests: a schema and an instance drawn from bytes, small, well formed and prone to collide: few names, few
 * values, every keyword. Equal bytes draw equal texts. */
#ifndef TRILHA_TESTS_SCHEMA_SKETCH_H
#define TRILHA_TESTS_SCHEMA_SKETCH_H

#include "base/text.h"

/* The schema is drawn from the front of the bytes, the instance from their end backwards. */
void sketch(const unsigned char *bytes, size_t size, trilha_buffer *ret_schema, trilha_buffer *ret_instance);
/* The keywords that are drawn, by number; NULL past the last. */
const char *sketch_keyword(unsigned n);

#endif
