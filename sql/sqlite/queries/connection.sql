-- What each connection is told before its first use, and transactions.

-- name: begin_write
-- Always IMMEDIATE: a transaction that reads first and writes later cannot wait for its turn (its snapshot would be too old).
BEGIN IMMEDIATE;

-- name: begin_read
-- Takes no lock: the snapshot is that of the first statement.
BEGIN;

-- name: commit
-- Writes and syncs the write-ahead log; releases what begin_write took.
COMMIT;

-- name: rollback
-- Releases what begin_write or begin_read took.
ROLLBACK;

-- name: journal_mode_wal
-- Readers never wait for the writer, nor it for them. Kept in the file.
PRAGMA journal_mode = WAL;

-- name: journal_mode
-- Tells the mode kept in the file.
PRAGMA journal_mode;

-- name: synchronous_full
-- In WAL mode: the commit is on disk before it is acknowledged (NORMAL would sync at checkpoints only).
PRAGMA synchronous = FULL;

-- name: synchronous_off
-- Only for unsafe_no_fsync.
PRAGMA synchronous = OFF;

-- name: foreign_keys_on
-- core_dead_letter_queue refers to core_event_log; each connection must ask for it.
PRAGMA foreign_keys = ON;

-- name: autocheckpoint_off
-- Checkpoints are made by wal.c after a commit, when the writers' lock is free again, and their failures are reported there.
PRAGMA wal_autocheckpoint = 0;

-- name: journal_size_limit
-- Cuts a -wal file that grew beyond 16 MiB when it is next reset; below that its blocks are kept, so that a commit
-- overwrites instead of extending the file (one journal entry of the filesystem less per commit).
PRAGMA journal_size_limit = 16777216;

-- name: writer_cache
-- 16 MiB: the index over random event ids is what a commit touches everywhere.
PRAGMA cache_size = -16384;

-- name: reader_cache
-- 4 MiB for each read connection.
PRAGMA cache_size = -4096;

-- name: query_only
-- A read connection cannot write, whatever it is asked.
PRAGMA query_only = ON;

-- name: no_temporary_files
-- Sorters and the statement journals that triggers make necessary stay in memory. In files they would be a quarter cheaper for each row (measured), but an
-- append of many rows would need a writable folder for temporary files, and pages of the log would be written there.
PRAGMA temp_store = MEMORY;
