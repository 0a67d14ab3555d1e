/* store/sqlite/reaction: a consumer's handle. One writer at a time: a handler's transaction has the file's turn. */
#include "store/reaction.h"

#include <stdio.h>
#include <stdlib.h>

#include "store/sqlite/outbox.h"

typedef struct reaction {
  trilha_reaction_store port; /* first */
  trilha_sqlite_store *s;
  bool prefixed;
  char schema[TRILHA_OUTBOX_SCHEMA_BYTES_MAX + 1];
} reaction;

static reaction *of(trilha_reaction_store *store) {
  return (reaction *)(void *)store;
}

static const char *schema_of(const reaction *r) {
  return r->prefixed ? r->schema : NULL;
}

static void close_reaction(trilha_reaction_store *store) {
  reaction *r = of(store);
  r->s->base.op->close(&r->s->base);
  free(r);
}

static trilha_status begin(trilha_reaction_store *store, const trilha_inbox_message *message,
                           const trilha_envelope *envelope, trilha_deadline deadline, trilha_inbox_answer *ret_answer,
                           trilha_error *err) {
  reaction *r = of(store);
  trilha_sqlite_connection *c = NULL;
  (void)envelope; /* SQLite has no session that could carry the scope */
  trilha_status status = trilha_sqlite_write_begin(r->s, deadline, &c, err);
  if (status != TRILHA_OK) return status;
  status = trilha_sqlite_inbox_accept(c->db, schema_of(r), message, ret_answer, err);
  if (status == TRILHA_OK)
    store->sqlite = c->db;
  else
    trilha_sqlite_write_abort(r->s);
  return status;
}

static trilha_status finish(trilha_reaction_store *store, const trilha_inbox_message *message, trilha_text result,
                            trilha_error *err) {
  return trilha_sqlite_inbox_finish(store->sqlite, schema_of(of(store)), message, result, err);
}

static bool is_ours(const trilha_sqlite_connection *c, const sqlite3_stmt *statement) {
  for (size_t i = 0; i < TRILHA_SQLITE_QUERIES; i++)
    if (c->statements[i] == statement) return true;
  return false;
}

/* Statements that a handler left would keep the transaction's snapshot, or the handle, open for ever. */
static void end_statements(reaction *r) {
  sqlite3_stmt *next = NULL;
  for (sqlite3_stmt *at = sqlite3_next_stmt(r->port.sqlite, NULL); at != NULL; at = next) {
    next = sqlite3_next_stmt(r->port.sqlite, at);
    if (!is_ours(r->s->writer, at)) sqlite3_finalize(at);
  }
}

static void abort_reaction(trilha_reaction_store *store) {
  reaction *r = of(store);
  end_statements(r);
  store->sqlite = NULL;
  trilha_sqlite_write_abort(r->s);
}

static trilha_status commit(trilha_reaction_store *store, trilha_error *err) {
  reaction *r = of(store);
  if (sqlite3_get_autocommit(store->sqlite)) {
    abort_reaction(store);
    return trilha_error_set(err, TRILHA_OUTCOME_UNKNOWN, "REACTION_TRANSACTION",
                            "the handler ended the transaction of its effect, or an error of the database did");
  }
  end_statements(r);
  store->sqlite = NULL;
  return trilha_sqlite_write_commit(r->s, err);
}

static const trilha_reaction_operations operations = {
    .close = close_reaction, .begin = begin, .finish = finish, .commit = commit, .abort = abort_reaction};

trilha_status trilha_sqlite_reaction_open(const trilha_store_options *options, const char *schema,
                                          trilha_reaction_store **ret_store, trilha_error *err) {
  trilha_store_options unmigrated = *options;
  unmigrated.allow_unmigrated = true; /* the consumer's file need hold no Trilha store */
  trilha_store *store = NULL;
  reaction *r = calloc(1, sizeof *r);
  if (r == NULL) return trilha_error_no_memory(err);
  trilha_status status = trilha_sqlite_open(&unmigrated, &store, err);
  if (status != TRILHA_OK) {
    free(r);
    return status;
  }
  r->port.op = &operations;
  r->s = trilha_sqlite_of(store);
  r->prefixed = schema != NULL;
  if (schema != NULL) snprintf(r->schema, sizeof r->schema, "%s", schema);
  *ret_store = &r->port;
  return TRILHA_OK;
}
