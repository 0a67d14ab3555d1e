/* store/outbox: the names of a producer's tables: the SQL is written for no schema in particular. Where a list goes on.
 */
#include "store/outbox.h"

#include <stdio.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/uuid.h"
#include "store/colony.h"

trilha_status trilha_outbox_schema_check(const char *schema, trilha_error *err) {
  char same[TRILHA_COLONY_SCHEMA_SIZE];
  size_t size = strlen(schema);
  bool is_public = strcmp(schema, "public") == 0;
  if (size <= TRILHA_OUTBOX_SCHEMA_BYTES_MAX &&
      (is_public ||
       (trilha_colony_schema_name(trilha_text_of(schema), same, NULL) == TRILHA_OK && strcmp(schema, same) == 0)))
    return TRILHA_OK;
  return trilha_error_set(
      err, TRILHA_USAGE, "SCHEMA_INVALID_NAME",
      "the producer's schema must be lower-case letters, digits and underscores, at most %d, begin with a letter, "
      "and not be one of the database's or Trilha's own",
      TRILHA_OUTBOX_SCHEMA_BYTES_MAX);
}

void trilha_outbox_sql(trilha_buffer *out, const char *sql, const char *prefix) {
  static const char mark[] = "{{p}}";
  for (const char *at; (at = strstr(sql, mark)) != NULL; sql = at + sizeof mark - 1) {
    trilha_buffer_append(out, sql, (size_t)(at - sql));
    trilha_buffer_add_string(out, prefix);
  }
  trilha_buffer_add_string(out, sql);
}

void trilha_outbox_sql_record(trilha_buffer *out, const char *sql, const trilha_sql_migration *migration,
                              const char *prefix) {
  TRILHA_BUFFER_SCOPED text;
  trilha_buffer_init(&text, 0);
  const char *name = strstr(sql, "@NAME@"), *sum = strstr(sql, "@CHECKSUM@");
  TRILHA_ASSERT(name != NULL && sum != NULL && name < sum);
  trilha_buffer_append(&text, sql, (size_t)(name - sql));
  trilha_buffer_add_string(&text, migration->name);
  name += strlen("@NAME@");
  trilha_buffer_append(&text, name, (size_t)(sum - name));
  trilha_buffer_add_string(&text, migration->sha256);
  trilha_buffer_add_string(&text, sum + strlen("@CHECKSUM@"));
  if (text.failed != TRILHA_OK) out->failed = text.failed;
  trilha_outbox_sql(out, trilha_buffer_text(&text).data, prefix);
  trilha_buffer_add_string(out, ";\n\n");
}

/* --- places in the inbox ----------------------------------------------------------------------------------------- */

/* The time, the id, the length of the tenant's name, and both names: none of them needs to be free of any character. */
trilha_text trilha_inbox_place_write(int64_t accepted_us, trilha_text message_id, trilha_text tenant_id,
                                     trilha_text consumer, char out[TRILHA_INBOX_PLACE_SIZE]) {
  int size =
      snprintf(out, TRILHA_INBOX_PLACE_SIZE, "%lld:%.*s:%zu:%.*s%.*s", (long long)accepted_us, (int)message_id.size,
               message_id.data, tenant_id.size, (int)tenant_id.size, tenant_id.data, (int)consumer.size, consumer.data);
  if (size < 0 || size >= TRILHA_INBOX_PLACE_SIZE) return (trilha_text){0};
  return (trilha_text){out, (size_t)size};
}

/* The part up to the next colon; absent: there is none. */
static trilha_text next_part(trilha_text *rest) {
  const char *end = rest->size == 0 ? NULL : memchr(rest->data, ':', rest->size);
  if (end == NULL) return (trilha_text){0};
  trilha_text part = {rest->data, (size_t)(end - rest->data)};
  *rest = (trilha_text){end + 1, rest->size - part.size - 1};
  return part;
}

bool trilha_inbox_place_number(trilha_text text, int64_t *ret_number) {
  enum { DIGITS_MAX = 18 };
  *ret_number = 0;
  for (size_t i = 0; i < text.size; i++) {
    if (text.data[i] < '0' || text.data[i] > '9' || i == DIGITS_MAX) return false;
    *ret_number = *ret_number * 10 + (text.data[i] - '0');
  }
  return text.size > 0;
}

trilha_status trilha_inbox_place_refuse(trilha_error *err) {
  return trilha_error_set(err, TRILHA_INVALID, "PLACE_INVALID",
                          "this is not the place of a row of this list: take it from the last row of the page before");
}

trilha_status trilha_inbox_place_read(trilha_text text, trilha_inbox_place *ret_place, trilha_error *err) {
  trilha_text rest = text;
  trilha_text at = next_part(&rest), id = next_part(&rest), size = next_part(&rest);
  int64_t tenant = 0;
  *ret_place = (trilha_inbox_place){0};
  if (at.data == NULL || id.data == NULL || size.data == NULL ||
      !trilha_inbox_place_number(at, &ret_place->accepted_us) || !trilha_uuid_parse(id, ret_place->message_id) ||
      !trilha_inbox_place_number(size, &tenant) || tenant <= 0 || (uint64_t)tenant >= rest.size)
    return trilha_inbox_place_refuse(err);
  ret_place->tenant_id = (trilha_text){rest.data, (size_t)tenant};
  ret_place->consumer = (trilha_text){rest.data + tenant, rest.size - (size_t)tenant};
  return TRILHA_OK;
}
