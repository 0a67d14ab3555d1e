/* store/postgres: parameters in PostgreSQL's binary format: no escaping, each payload is copied once. */
#include <limits.h>

#include "base/assert.h"
#include "postgres_internal.h"

static const int64_t epoch_2000_us = INT64_C(946684800) * 1000000; /* PostgreSQL counts from 2000-01-01T00:00Z */

void trilha_pg_parameters_init(trilha_pg_parameters *p) {
  *p = (trilha_pg_parameters){0};
  trilha_buffer_init(&p->bytes, TRILHA_PG_BATCH_BYTES_MAX);
}

void trilha_pg_parameters_done(trilha_pg_parameters *p) {
  trilha_buffer_done(&p->bytes);
}

static void put_u32(trilha_pg_parameters *p, uint32_t value) {
  unsigned char bytes[4];
  for (int i = 0; i < 4; i++) bytes[i] = (unsigned char)(value >> (24 - 8 * i));
  trilha_buffer_append(&p->bytes, bytes, sizeof bytes);
}

static void put_i64(trilha_pg_parameters *p, int64_t value) {
  unsigned char bytes[8];
  for (int i = 0; i < 8; i++) bytes[i] = (unsigned char)((uint64_t)value >> (56 - 8 * i));
  trilha_buffer_append(&p->bytes, bytes, sizeof bytes);
}

static Oid array_of(trilha_pg_type element) {
  switch (element) {
    case TRILHA_PG_BOOL:
      return 1000;
    case TRILHA_PG_INT8:
      return 1016;
    case TRILHA_PG_TEXT:
      return 1009;
    case TRILHA_PG_TIMESTAMPTZ:
      return 1185;
    case TRILHA_PG_UUID:
      return 2951;
    case TRILHA_PG_JSONB:
      return 3807;
  }
  return 0;
}

static const char jsonb_wire_version = 1; /* the first byte of a jsonb's binary form */

static void begin(trilha_pg_parameters *p, Oid type) {
  TRILHA_ASSERT(p->count < TRILHA_PG_PARAMETERS_MAX);
  TRILHA_ASSERT(p->array_left == 0);
  p->types[p->count] = type;
  p->starts[p->count] = p->bytes.size;
}

static void end(trilha_pg_parameters *p) {
  size_t size = p->bytes.size - p->starts[p->count];
  p->sizes[p->count++] = (int)size; /* the buffer's bound is below INT_MAX */
}

void trilha_pg_add_null(trilha_pg_parameters *p, trilha_pg_type type) {
  begin(p, (Oid)type);
  p->sizes[p->count++] = -1;
}

void trilha_pg_add_bool(trilha_pg_parameters *p, bool value) {
  begin(p, TRILHA_PG_BOOL);
  trilha_buffer_add_char(&p->bytes, value ? 1 : 0);
  end(p);
}

void trilha_pg_add_i64(trilha_pg_parameters *p, int64_t value) {
  begin(p, TRILHA_PG_INT8);
  put_i64(p, value);
  end(p);
}

void trilha_pg_add_text(trilha_pg_parameters *p, trilha_text value) {
  if (value.data == NULL) {
    trilha_pg_add_null(p, TRILHA_PG_TEXT);
    return;
  }
  begin(p, TRILHA_PG_TEXT);
  trilha_buffer_add_text(&p->bytes, value);
  end(p);
}

void trilha_pg_add_jsonb(trilha_pg_parameters *p, trilha_text json) {
  if (json.data == NULL) {
    trilha_pg_add_null(p, TRILHA_PG_JSONB);
    return;
  }
  begin(p, TRILHA_PG_JSONB);
  trilha_buffer_add_char(&p->bytes, jsonb_wire_version);
  trilha_buffer_add_text(&p->bytes, json);
  end(p);
}

void trilha_pg_add_time(trilha_pg_parameters *p, int64_t unix_us) {
  begin(p, TRILHA_PG_TIMESTAMPTZ);
  put_i64(p, unix_us - epoch_2000_us);
  end(p);
}

void trilha_pg_add_uuid(trilha_pg_parameters *p, const unsigned char id[16]) {
  begin(p, TRILHA_PG_UUID);
  trilha_buffer_append(&p->bytes, id, 16);
  end(p);
}

void trilha_pg_array_begin(trilha_pg_parameters *p, trilha_pg_type element, size_t count) {
  TRILHA_ASSERT(count <= INT_MAX);
  begin(p, array_of(element));
  put_u32(p, count == 0 ? 0 : 1); /* dimensions */
  put_u32(p, 1);                  /* may hold NULLs */
  put_u32(p, (uint32_t)element);
  if (count == 0) return;
  put_u32(p, (uint32_t)count);
  put_u32(p, 1); /* lower bound */
  p->array_left = (uint32_t)count;
}

static void element(trilha_pg_parameters *p, uint32_t size) {
  TRILHA_ASSERT(p->array_left > 0);
  p->array_left--;
  put_u32(p, size);
}

void trilha_pg_element_null(trilha_pg_parameters *p) {
  element(p, UINT32_MAX);
}

void trilha_pg_element_i64(trilha_pg_parameters *p, int64_t value) {
  element(p, 8);
  put_i64(p, value);
}

static bool fits(trilha_pg_parameters *p, trilha_text value) {
  if (value.size < TRILHA_PG_BATCH_BYTES_MAX) return true;
  p->bytes.failed = TRILHA_LIMIT;
  return false;
}

void trilha_pg_element_text(trilha_pg_parameters *p, trilha_text value) {
  if (value.data == NULL || !fits(p, value)) {
    trilha_pg_element_null(p);
    return;
  }
  element(p, (uint32_t)value.size);
  trilha_buffer_add_text(&p->bytes, value);
}

void trilha_pg_element_jsonb(trilha_pg_parameters *p, trilha_text json) {
  if (json.data == NULL || !fits(p, json)) {
    trilha_pg_element_null(p);
    return;
  }
  element(p, (uint32_t)json.size + 1);
  trilha_buffer_add_char(&p->bytes, jsonb_wire_version);
  trilha_buffer_add_text(&p->bytes, json);
}

void trilha_pg_element_time(trilha_pg_parameters *p, int64_t unix_us) {
  element(p, 8);
  put_i64(p, unix_us - epoch_2000_us);
}

void trilha_pg_element_uuid(trilha_pg_parameters *p, const unsigned char id[16]) {
  element(p, 16);
  trilha_buffer_append(&p->bytes, id, 16);
}

void trilha_pg_array_end(trilha_pg_parameters *p) {
  end(p);
}
