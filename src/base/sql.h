/* base/sql: what tools/embed-sql makes of .sql files at build time. Room: base. Constant data. */
#ifndef TRILHA_BASE_SQL_H
#define TRILHA_BASE_SQL_H

#include <stddef.h>

/* One "-- name: NAME" section of a file below sql/<store>/queries/. */
typedef struct trilha_sql_query {
  const char *name;
  const char *sql;
} trilha_sql_query;

/* One file of sql/<store>/migrations/, byte for byte. */
typedef struct trilha_sql_migration {
  const char *name; /* of the file, without ".sql" */
  const char *sql;
  const char *sha256; /* of the file's bytes, 64 lower-case hexadecimal digits */
} trilha_sql_migration;

#endif
