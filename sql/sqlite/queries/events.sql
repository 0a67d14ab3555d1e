-- The event log. Rows never change once committed (triggers refuse it), so a query may choose numbers in one snapshot and fetch the rows
-- in later ones: the answer is the same, and no snapshot is held while rows are handed out.
--
-- Every query that lists numbers names the condition that drives it as a plain comparison, so that its index is certain on a table that was
-- never analysed, and the rest as "absent or equal". Parameters are the same everywhere:
--   ?1 tipo  ?2 origem  ?3 correlacao_id  ?4 ?5 timestamp from, to  ?6 ?7 sequence_number from, to  ?8 limit  ?9 offset

-- name: event_insert
-- Needs the write transaction. Unique index: core_event_log_event_id_key (the ids were looked up before, in the same transaction).
INSERT INTO core_event_log (event_id, tipo, versao_schema, timestamp, origem, correlacao_id, payload, criado_em, tenant_id, company_id,
                            aggregate_type, aggregate_key, aggregate_sequence, causation_id, traceparent, tracestate, digest)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17);

-- name: event_by_id
-- Index: core_event_log_event_id_key.
SELECT sequence_number, event_id, tipo, versao_schema, timestamp, origem, correlacao_id, payload, criado_em, tenant_id, company_id,
       aggregate_type, aggregate_key, aggregate_sequence, causation_id, traceparent, tracestate, digest
FROM core_event_log WHERE event_id = ?1;

-- name: event_by_sequence
-- Index: the table itself.
SELECT sequence_number, event_id, tipo, versao_schema, timestamp, origem, correlacao_id, payload, criado_em, tenant_id, company_id,
       aggregate_type, aggregate_key, aggregate_sequence, causation_id, traceparent, tracestate, digest
FROM core_event_log WHERE sequence_number = ?1;

-- name: events_after_all
-- Index: the table itself, from the cursor on.
SELECT sequence_number, event_id, tipo, versao_schema, timestamp, origem, correlacao_id, payload, criado_em, tenant_id, company_id,
       aggregate_type, aggregate_key, aggregate_sequence, causation_id, traceparent, tracestate, digest
FROM core_event_log WHERE sequence_number > ?1 ORDER BY sequence_number LIMIT ?2;

-- name: events_after_type
-- Index: core_event_log_tipo_idx, which ends with sequence_number; covering, so a rare type costs one seek whatever the size of the log.
SELECT sequence_number FROM core_event_log
WHERE tipo = ?1 AND sequence_number > ?2 AND sequence_number < ?3 ORDER BY sequence_number LIMIT ?4;

-- name: event_last_sequence
-- Index: the table itself, last entry. NULL for an empty log.
SELECT max(sequence_number) FROM core_event_log;

-- name: event_last
-- Index: the table itself, last entry.
SELECT sequence_number, event_id FROM core_event_log WHERE sequence_number = (SELECT max(sequence_number) FROM core_event_log);

-- name: events_count_all
-- Counts the entries of the smallest index: the one query here whose cost grows with the log.
SELECT count(*) FROM core_event_log;

-- name: events_count_by_sequence
-- Index: the table itself.
SELECT count(*) FROM core_event_log WHERE sequence_number BETWEEN ?6 AND ?7;

-- name: events_list_by_sequence
-- Index: the table itself.
SELECT sequence_number FROM core_event_log WHERE sequence_number BETWEEN ?6 AND ?7
ORDER BY sequence_number LIMIT ?8 OFFSET ?9;

-- name: events_count_by_correlacao
-- Index: core_event_log_correlacao_id_idx.
SELECT count(*) FROM core_event_log INDEXED BY core_event_log_correlacao_id_idx
WHERE correlacao_id = ?3 AND sequence_number BETWEEN ?6 AND ?7 AND (?1 IS NULL OR +tipo = ?1) AND (?2 IS NULL OR +origem = ?2)
  AND (?4 IS NULL OR +timestamp >= ?4) AND (?5 IS NULL OR +timestamp <= ?5);

-- name: events_list_by_correlacao
-- Index: core_event_log_correlacao_id_idx, in order of sequence_number.
SELECT sequence_number FROM core_event_log INDEXED BY core_event_log_correlacao_id_idx
WHERE correlacao_id = ?3 AND sequence_number BETWEEN ?6 AND ?7 AND (?1 IS NULL OR +tipo = ?1) AND (?2 IS NULL OR +origem = ?2)
  AND (?4 IS NULL OR +timestamp >= ?4) AND (?5 IS NULL OR +timestamp <= ?5)
ORDER BY sequence_number LIMIT ?8 OFFSET ?9;

-- name: events_count_by_tipo
-- Index: core_event_log_tipo_idx.
SELECT count(*) FROM core_event_log INDEXED BY core_event_log_tipo_idx
WHERE tipo = ?1 AND sequence_number BETWEEN ?6 AND ?7 AND (?2 IS NULL OR +origem = ?2);

-- name: events_list_by_tipo
-- Index: core_event_log_tipo_idx, in order of sequence_number.
SELECT sequence_number FROM core_event_log INDEXED BY core_event_log_tipo_idx
WHERE tipo = ?1 AND sequence_number BETWEEN ?6 AND ?7 AND (?2 IS NULL OR +origem = ?2)
ORDER BY sequence_number LIMIT ?8 OFFSET ?9;

-- name: events_count_by_tipo_timestamp
-- Index: core_event_log_tipo_timestamp_idx; an absent bound is below or above every timestamp.
SELECT count(*) FROM core_event_log INDEXED BY core_event_log_tipo_timestamp_idx
WHERE tipo = ?1 AND timestamp BETWEEN coalesce(?4, '') AND coalesce(?5, ':') AND +sequence_number BETWEEN ?6 AND ?7
  AND (?2 IS NULL OR +origem = ?2);

-- name: events_list_by_tipo_timestamp
-- Index: core_event_log_tipo_timestamp_idx; the numbers found are sorted (limit + offset of them are kept).
SELECT sequence_number FROM core_event_log INDEXED BY core_event_log_tipo_timestamp_idx
WHERE tipo = ?1 AND timestamp BETWEEN coalesce(?4, '') AND coalesce(?5, ':') AND +sequence_number BETWEEN ?6 AND ?7
  AND (?2 IS NULL OR +origem = ?2)
ORDER BY sequence_number LIMIT ?8 OFFSET ?9;

-- name: events_count_by_timestamp
-- Index: core_event_log_timestamp_idx; an absent bound is below or above every timestamp.
SELECT count(*) FROM core_event_log INDEXED BY core_event_log_timestamp_idx
WHERE timestamp BETWEEN coalesce(?4, '') AND coalesce(?5, ':') AND +sequence_number BETWEEN ?6 AND ?7
  AND (?2 IS NULL OR +origem = ?2);

-- name: events_list_by_timestamp
-- Index: core_event_log_timestamp_idx; the numbers found are sorted (limit + offset of them are kept).
SELECT sequence_number FROM core_event_log INDEXED BY core_event_log_timestamp_idx
WHERE timestamp BETWEEN coalesce(?4, '') AND coalesce(?5, ':') AND +sequence_number BETWEEN ?6 AND ?7
  AND (?2 IS NULL OR +origem = ?2)
ORDER BY sequence_number LIMIT ?8 OFFSET ?9;

-- name: events_count_by_origem
-- Index: core_event_log_origem_idx.
SELECT count(*) FROM core_event_log INDEXED BY core_event_log_origem_idx
WHERE origem = ?2 AND sequence_number BETWEEN ?6 AND ?7;

-- name: events_list_by_origem
-- Index: core_event_log_origem_idx, in order of sequence_number.
SELECT sequence_number FROM core_event_log INDEXED BY core_event_log_origem_idx
WHERE origem = ?2 AND sequence_number BETWEEN ?6 AND ?7
ORDER BY sequence_number LIMIT ?8 OFFSET ?9;
