-- The unit of work on a handle of the caller's. {{p}} is the name of a savepoint, trilha_savepoint_NUMBER. The mark is kept in
-- a temporary table of the handle, which goes back with ROLLBACK TO and is kept by RELEASE. The table has no rowid, so that neither
-- sqlite3_last_insert_rowid() nor an update hook of the caller's notices it.

-- name: unit_table
-- Locks nothing of the database: the temporary one belongs to the handle.
CREATE TEMPORARY TABLE IF NOT EXISTS trilha_unit_of_work (token TEXT PRIMARY KEY, mark INTEGER NOT NULL) WITHOUT ROWID;

-- name: unit_clear
-- No locks. What earlier transactions left.
DELETE FROM temp.trilha_unit_of_work;

-- name: unit_mark
-- ?1 token of the transaction, ?2 mark. No locks. Primary key.
INSERT INTO temp.trilha_unit_of_work (token, mark) VALUES (?1, ?2) ON CONFLICT (token) DO UPDATE SET mark = excluded.mark;

-- name: unit_last_mark
-- ?1 token. No locks. Primary key.
SELECT mark FROM temp.trilha_unit_of_work WHERE token = ?1;

-- name: unit_of_handle
-- ?1 a place of ours. No locks. The function exists on a handle that has, or had, a unit of work.
SELECT trilha_unit_of_work(?1);

-- name: unit_savepoint
-- No locks.
SAVEPOINT {{p}};

-- name: unit_rollback_to
-- Releases nothing: SQLite keeps its locks to the end.
ROLLBACK TO {{p}};

-- name: unit_release
-- No locks.
RELEASE {{p}};
