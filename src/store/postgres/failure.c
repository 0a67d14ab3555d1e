/* store/postgres: PostgreSQL's errors as Trilha's. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "postgres_internal.h"

typedef struct failure_kind {
  const char *sqlstate; /* five characters, or a class of two */
  trilha_status status;
  const char *code;
  const char *advice;
} failure_kind;

/* The first match counts, so exact states stand before their class. */
static const failure_kind kinds[] = {
    {"55P03", TRILHA_TIMEOUT, "STORE_BUSY", "another writer held the lock for too long"},
    {"57014", TRILHA_TIMEOUT, "STORE_TIMEOUT", NULL},
    {"25006", TRILHA_UNAVAILABLE, "STORE_READ_ONLY", "the server is a standby or in read-only mode"},
    {"26000", TRILHA_UNAVAILABLE, "STORE_SESSION_CHANGED", "a pooler gave the session to somebody else"},
    {"42P05", TRILHA_UNAVAILABLE, "STORE_SESSION_CHANGED", "a pooler gave us somebody else's session"},
    {"0A000", TRILHA_UNAVAILABLE, "STORE_SESSION_CHANGED", "the schema changed under a prepared statement"},
    {"42501", TRILHA_DENIED, "STORE_DENIED", NULL},
    {"42P01", TRILHA_NOT_FOUND, "STORE_NOT_INITIALIZED", "run: trilha init"},
    {"3F000", TRILHA_NOT_FOUND, "STORE_NOT_INITIALIZED", "run: trilha init"},
    {"42883", TRILHA_CORRUPT, "STORE_ALTERED", "a routine of the schema is missing"},
    {"42703", TRILHA_CORRUPT, "STORE_ALTERED", "a column of the schema is missing"},
    {"53100", TRILHA_UNAVAILABLE, "STORE_FULL", NULL},
    {"53300", TRILHA_UNAVAILABLE, "STORE_CONNECTIONS", NULL},
    {"3B001", TRILHA_USAGE, "SAVEPOINT_UNKNOWN", "it was ended with SQL of the caller's own"},
    {"3D000", TRILHA_UNAVAILABLE, "STORE_NO_DATABASE", NULL},
    {"08", TRILHA_UNAVAILABLE, "STORE_UNAVAILABLE", NULL},
    {"57", TRILHA_UNAVAILABLE, "STORE_UNAVAILABLE", NULL},
    {"53", TRILHA_UNAVAILABLE, "STORE_UNAVAILABLE", NULL},
    {"58", TRILHA_UNAVAILABLE, "STORE_IO", NULL},
    {"40", TRILHA_UNAVAILABLE, "STORE_CONTENTION", NULL},
    {"28", TRILHA_DENIED, "STORE_DENIED", NULL},
    {"22", TRILHA_INVALID, "STORE_REFUSED", NULL},
    {"23", TRILHA_INVALID, "STORE_REFUSED", NULL},
    {"54", TRILHA_INVALID, "STORE_REFUSED", NULL},
    /* Raised by the functions of sql/postgres/outbox, in words without values. */
    {"TL001", TRILHA_INVALID, "MESSAGE_REFUSED", NULL},
    {"TL002", TRILHA_NOT_FOUND, "NO_ROUTE", NULL},
    {"TL004", TRILHA_NOT_FOUND, "DESTINATION_UNKNOWN", NULL},
    {"TL005", TRILHA_CONFLICT, "LANE_NOT_DEAD", NULL},
    {"TL006", TRILHA_NOT_FOUND, "MESSAGE_NOT_FOUND", NULL},
    {"TL007", TRILHA_NOT_FOUND, "NOT_ACCEPTED", NULL},
    {"TL008", TRILHA_CONFLICT, "RECONCILIATION_MISSING", NULL},
    {"TL009", TRILHA_CONFLICT, "MESSAGE_IN_FLIGHT", NULL},
    {"TL010", TRILHA_CONFLICT, "REVISION_CHANGED", NULL},
    {"TL011", TRILHA_CONFLICT, "MESSAGE_FINISHED", NULL},
    {"TL012", TRILHA_NOT_FOUND, "WORKER_NOT_FOUND", NULL},
    {"TL013", TRILHA_NOT_FOUND, "CREDENTIAL_UNKNOWN", NULL},
    {"TL014", TRILHA_NOT_FOUND, "GRANT_NOT_FOUND", NULL},
    {"TL015", TRILHA_CONFLICT, "PATH_HELD", NULL},
    {"TL016", TRILHA_CONFLICT, "PATH_HELD_BY_OTHER", NULL},
    {"TL017", TRILHA_INVALID, "IMPORT_TABLE", NULL},
    {"TL018", TRILHA_CONFLICT, "IMPORT_CLOSED", NULL},
    {"TL019", TRILHA_CONFLICT, "IMPORT_PATH", NULL},
    {"TL020", TRILHA_CONFLICT, "IMPORT_CHANGED", NULL},
    {"TL021", TRILHA_NOT_FOUND, "PATH_NOT_HELD", NULL},
    {"XX", TRILHA_CORRUPT, "STORE_CORRUPT", NULL},
};

static const failure_kind *kind_of(const char *sqlstate) {
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (strncmp(sqlstate, kinds[i].sqlstate, strlen(kinds[i].sqlstate)) == 0) return &kinds[i];
  return NULL;
}

static const char *field(const PGresult *result, int code) {
  const char *value = PQresultErrorField(result, code);
  return value == NULL ? "" : value;
}

/* DETAIL and HINT are never shown: they repeat rows and keys. A data exception's own message repeats the value. */
static void tell(const PGresult *result, const failure_kind *kind, const char *sqlstate, trilha_error *err) {
  trilha_status status = kind == NULL ? TRILHA_INTERNAL : kind->status;
  const char *code = kind == NULL ? "STORE_FAILED" : kind->code;
  const char *advice = kind == NULL || kind->advice == NULL ? "" : kind->advice;
  const char *gap = *advice == '\0' ? "" : "; ";
  if (strncmp(sqlstate, "22", 2) == 0) {
    const char *column = field(result, PG_DIAG_COLUMN_NAME);
    trilha_error_set(err, status, code, "PostgreSQL refused a value%s%s (SQLSTATE %s)", *column ? " of column " : "",
                     column, sqlstate);
  } else {
    trilha_error_set(err, status, code, "PostgreSQL: %s%s%s (SQLSTATE %s)", field(result, PG_DIAG_MESSAGE_PRIMARY), gap,
                     advice, sqlstate);
  }
}

trilha_status trilha_pg_failure(const PGresult *result, trilha_error *err) {
  const char *sqlstate = field(result, PG_DIAG_SQLSTATE);
  if (*sqlstate == '\0') /* libpq's own: the connection broke, or it ran out of memory */
    return trilha_error_set(err, TRILHA_UNAVAILABLE, "STORE_UNAVAILABLE", "the connection to PostgreSQL was lost");
  const failure_kind *kind = kind_of(sqlstate);
  trilha_status status = kind == NULL ? TRILHA_INTERNAL : kind->status;
  if (err != NULL && err->status == TRILHA_OK) {
    tell(result, kind, sqlstate, err);
    snprintf(err->sqlstate, sizeof err->sqlstate, "%s", sqlstate);
  }
  return status;
}

/* Every occurrence becomes "***". The URL was checked, so libpq has no reason to repeat the password; this is the
 * second fence. */
static void mask(char *text, const char *secret) {
  size_t size = secret == NULL ? 0 : strlen(secret);
  if (size < 3) return; /* masking every "a" would tell more than it hides */
  for (char *at = strstr(text, secret); at != NULL; at = strstr(at, secret)) {
    memmove(at + 3, at + size, strlen(at + size) + 1);
    memcpy(at, "***", 3);
    at += 3;
  }
}

static void join_lines(char *text) {
  size_t size = strlen(text);
  while (size > 0 && (text[size - 1] == '\n' || text[size - 1] == ' ')) text[--size] = '\0';
  for (size_t i = 0; i < size; i++)
    if (text[i] == '\n' || text[i] == '\t') text[i] = ' ';
}

trilha_status trilha_pg_lost(const PGconn *pg, const char *password, trilha_status status, const char *code,
                             trilha_error *err) {
  char text[TRILHA_ERROR_TEXT_MAX];
  snprintf(text, sizeof text, "%s", pg == NULL ? "out of memory" : PQerrorMessage(pg));
  join_lines(text);
  mask(text, password);
  size_t size = strlen(text);
  if (!trilha_utf8_valid(text, size)) /* cut inside a character, or a server that speaks another encoding */
    for (size_t i = 0; i < size; i++)
      if ((unsigned char)text[i] >= 0x80) text[i] = '?';
  return trilha_error_set(err, status, code, "PostgreSQL: %s", *text == '\0' ? "the connection was lost" : text);
}
