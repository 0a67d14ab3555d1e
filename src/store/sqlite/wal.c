/* store/sqlite: keeping the write-ahead log small, and saying so when another program prevents it (field report B21).
 */
#include "base/diagnostics.h"
#include "base/error.h"
#include "store/sqlite/sqlite_internal.h"

enum {
  FRAME_BYTES = 4096 + 24 /* a page and its header in the -wal file; pages are 4 KiB unless someone changed them */
};

bool trilha_sqlite_wal_wants_restart(const trilha_sqlite_store *s) {
  if (s->writer->wal_pages < TRILHA_SQLITE_RESTART_PAGES) return false;
  int64_t pause_ns = (int64_t)TRILHA_SQLITE_RESTART_PAUSE_MS * 1000000;
  return s->restart_tried_ns == 0 || trilha_clock_monotonic_ns() - s->restart_tried_ns >= pause_ns;
}

static void say_checkpoint(const trilha_sqlite_store *s, int rc, int in_log, int copied) {
  trilha_fields f = {0};
  trilha_fields_i64(&f, "wal_bytes", (int64_t)in_log * FRAME_BYTES);
  trilha_fields_i64(&f, "wal_pages", in_log);
  trilha_fields_i64(&f, "copied_pages", copied);
  if (rc == SQLITE_OK || (rc & 0xff) == SQLITE_BUSY) {
    trilha_emit(&s->diagnostics, TRILHA_DEBUG, "sqlite.checkpoint", "the write-ahead log was copied into the database",
                &f);
    return;
  }
  trilha_error error = {0};
  trilha_sqlite_fail(s->writer, rc, &error, "copying the write-ahead log into the database");
  trilha_fields_error(&f, &error);
  trilha_emit(&s->diagnostics, TRILHA_WARNING, "sqlite.checkpoint_failed",
              "the write-ahead log could not be copied into the database; what was committed is safe in it", &f);
}

static void warn_when_large(trilha_sqlite_store *s) {
  int64_t bytes = (int64_t)s->writer->wal_pages * FRAME_BYTES;
  if (s->wal_warn_at_bytes == 0 || bytes < TRILHA_SQLITE_WAL_WARN_BYTES / 2)
    s->wal_warn_at_bytes = TRILHA_SQLITE_WAL_WARN_BYTES;
  if (bytes < s->wal_warn_at_bytes) return;
  trilha_fields f = {0};
  trilha_fields_i64(&f, "wal_bytes", bytes);
  trilha_fields_i64(&f, "warn_bytes", TRILHA_SQLITE_WAL_WARN_BYTES);
  trilha_emit(&s->diagnostics, TRILHA_WARNING, "sqlite.wal_large",
              "the write-ahead log grows because another program keeps an old snapshot of the database open", &f);
  while (s->wal_warn_at_bytes <= bytes) s->wal_warn_at_bytes *= 2;
}

/* PASSIVE copies what no reader needs any more and waits for nobody. RESTART also waits, while no writer can add to it
 * (`locked`: the lock file is held), until readers have left the log, so that the next commit starts it from its
 * beginning. */
void trilha_sqlite_wal_keep_small(trilha_sqlite_store *s, bool locked) {
  trilha_sqlite_connection *c = s->writer;
  warn_when_large(s);
  /* A log that readers keep from starting again is copied every so many pages, not at every commit: each copy syncs the
   * database. */
  if (c->wal_pages < TRILHA_SQLITE_CHECKPOINT_PAGES) s->checkpoint_at_pages = TRILHA_SQLITE_CHECKPOINT_PAGES;
  if (c->wal_pages < s->checkpoint_at_pages && !locked) return;
  s->checkpoint_at_pages = c->wal_pages + TRILHA_SQLITE_CHECKPOINT_PAGES;
  int in_log = 0, copied = 0;
  if (locked) {
    s->restart_tried_ns = trilha_clock_monotonic_ns();
    sqlite3_busy_timeout(c->db, TRILHA_SQLITE_RESTART_WAIT_MS);
  }
  int rc = sqlite3_wal_checkpoint_v2(c->db, NULL, locked ? SQLITE_CHECKPOINT_RESTART : SQLITE_CHECKPOINT_PASSIVE,
                                     &in_log, &copied);
  say_checkpoint(s, rc, in_log, copied);
}
