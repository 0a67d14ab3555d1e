-- Statements on a colony's own tables: {colony} becomes the prefix that core_colony_schema gives it. Specification 000, section 5.3.

-- name: offset_table
-- Needs the write transaction.
CREATE TABLE IF NOT EXISTS {colony}_consumer_offset (
    tipo_evento   TEXT NOT NULL CONSTRAINT {colony}_consumer_offset_tipo_evento_length CHECK (length(tipo_evento) <= 255),
    last_sequence INTEGER NOT NULL DEFAULT 0,
    updated_at    TEXT NOT NULL DEFAULT (substr(strftime('%Y-%m-%dT%H:%M:%f', 'now'), 1, 22) || 'Z'),
    CONSTRAINT {colony}_consumer_offset_pkey PRIMARY KEY (tipo_evento)
) STRICT;

-- name: offset_read
-- Index: the table's own.
SELECT last_sequence FROM {colony}_consumer_offset WHERE tipo_evento = ?1;

-- name: offset_seed
-- Needs the write transaction. Never overwrites.
INSERT INTO {colony}_consumer_offset (tipo_evento, last_sequence, updated_at) VALUES (?1, ?2, ?3)
ON CONFLICT (tipo_evento) DO NOTHING;

-- name: offset_advance
-- Needs the write transaction. Index: the table's own. Never back.
UPDATE {colony}_consumer_offset SET last_sequence = ?2, updated_at = ?3 WHERE tipo_evento = ?1 AND last_sequence < ?2;

-- name: offsets_all
-- The whole table, which is small.
SELECT tipo_evento, last_sequence, updated_at FROM {colony}_consumer_offset ORDER BY tipo_evento;
