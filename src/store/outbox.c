/* store/outbox: the names of a producer's tables: the SQL is written for no schema in particular. */
#include "store/outbox.h"

#include "base/assert.h"
#include "base/error.h"
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
