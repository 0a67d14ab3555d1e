-- Bookkeeping of migrations, and what adopting an existing database compares.

-- name: migration_table
-- Needs the write transaction.
CREATE TABLE IF NOT EXISTS core_trilha_migration (
    name       TEXT PRIMARY KEY,
    checksum   TEXT NOT NULL,
    applied_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- name: migration_list
-- The whole table, which is small.
SELECT name, checksum FROM core_trilha_migration ORDER BY name;

-- name: migration_record
-- Needs the write transaction.
INSERT INTO core_trilha_migration (name, checksum, applied_at) VALUES (?1, ?2, ?3);

-- name: migration_record_text
-- For `init --print-sql`, where ?name? and ?checksum? are replaced by text that needs no quoting.
INSERT INTO core_trilha_migration (name, checksum, applied_at)
VALUES ('?name?', '?checksum?', strftime('%Y-%m-%dT%H:%M:%SZ', 'now'));

-- name: schema_has_table
-- Reads the list of objects, which is small.
SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1;

-- name: schema_objects
-- The text of every object of the two specified tables, in an order that both sides of a comparison share.
SELECT type, name, sql FROM sqlite_master
WHERE tbl_name IN ('core_event_log', 'core_dead_letter_queue') AND sql IS NOT NULL ORDER BY type, name;
