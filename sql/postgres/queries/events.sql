-- The event log. Row queries give the columns in the order in which row.c reads them.

-- name: event_append
-- Takes the log's turn, see the procedure's migration. Index: event_log_event_id_key.
CALL core.event_append($1::uuid[], $2::text[], $3::text[], $4::timestamptz[], $5::text[], $6::uuid[], $7::jsonb[],
    $8::text[], $9::text[], $10::text[], $11::text[], $12::int8[], $13::uuid[], $14::text[], $15::text[], $16::text[],
    $17::int8, $18::bool, $19::bool, $20::bool, NULL, NULL, NULL, NULL);

-- name: event_append_one
-- As event_append, for one event.
CALL core.event_append_one($1::uuid, $2::text, $3::text, $4::timestamptz, $5::text, $6::uuid, $7::jsonb, $8::text, $9::text,
    $10::text, $11::text, $12::int8, $13::uuid, $14::text, $15::text, $16::text, $17::int8, $18::bool, $19::bool, $20::bool,
    NULL, NULL, NULL);

-- name: log_position
-- No locks. In a transaction, after its snapshot was used: 0 when all it can see is on disk, else the position in the WAL up to which
-- it must be. The commit of what is visible lies before the end of the WAL. What a standby shows, its primary had written to disk before
-- sending it.
SELECT CASE WHEN pg_catalog.pg_is_in_recovery() OR pg_catalog.pg_current_wal_flush_lsn() >= pg_catalog.pg_current_wal_insert_lsn() THEN 0
    ELSE pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_current_wal_insert_lsn(), '0/0')::int8 END;

-- name: log_reached
-- $1: a position from log_position. No locks. Whether the WAL is on disk up to there.
SELECT pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_current_wal_flush_lsn(), '0/0') >= $1::int8;

-- name: log_make_durable
-- No locks. The COMMIT after it returns once everything written before is on disk.
SELECT pg_catalog.pg_logical_emit_message(true, 'trilha', '');

-- name: events_by_ids
-- No locks. Index: event_log_event_id_key, one descent per id. In no order.
SELECT e.sequence_number, e.event_id, e.tipo, e.versao_schema, e.timestamp, e.origem, e.correlacao_id, e.payload,
    e.criado_em, e.tenant_id, e.company_id, e.aggregate_type, e.aggregate_key, e.aggregate_sequence, e.causation_id,
    e.traceparent, e.tracestate, e.digest
FROM core.event_log e WHERE e.event_id = ANY ($1::uuid[]);

-- name: events_last
-- No locks. Index: event_log_pkey, its right end.
SELECT e.sequence_number, e.event_id FROM core.event_log e ORDER BY e.sequence_number DESC LIMIT 1;

-- name: events_after
-- $1 after, $2 limit. No locks. Index: event_log_pkey.
SELECT e.sequence_number, e.event_id, e.tipo, e.versao_schema, e.timestamp, e.origem, e.correlacao_id, e.payload,
    e.criado_em, e.tenant_id, e.company_id, e.aggregate_type, e.aggregate_key, e.aggregate_sequence, e.causation_id,
    e.traceparent, e.tracestate, e.digest
FROM core.event_log e WHERE e.sequence_number > $1::int8 ORDER BY e.sequence_number LIMIT $2::int8;

-- name: events_after_of_types
-- $1 after, $2 limit, $3 types. No locks. Index: event_log_tipo_sequence_idx, one descent per type, then event_log_pkey.
-- Each type gives at most a page of numbers; the page is the smallest of them. A rare type costs its descent, not the log.
SELECT e.sequence_number, e.event_id, e.tipo, e.versao_schema, e.timestamp, e.origem, e.correlacao_id, e.payload,
    e.criado_em, e.tenant_id, e.company_id, e.aggregate_type, e.aggregate_key, e.aggregate_sequence, e.causation_id,
    e.traceparent, e.tracestate, e.digest
FROM (SELECT s.sequence_number
        FROM (SELECT DISTINCT pg_catalog.unnest($3::text[]) AS tipo) t
        CROSS JOIN LATERAL (SELECT l.sequence_number FROM core.event_log l
            WHERE l.tipo = t.tipo AND l.sequence_number > $1::int8 ORDER BY l.sequence_number LIMIT $2::int8) s
        ORDER BY s.sequence_number LIMIT $2::int8) page
JOIN core.event_log e ON e.sequence_number = page.sequence_number
ORDER BY page.sequence_number;

-- name: events_count
-- $1 tipo, $2 origem, $3 correlacao_id, $4 and $5 timestamps from and to, $6 and $7 sequence from and to; NULL: any. No locks.
-- Planned anew each time with its values, so that the absent filters fold away and the fitting index is chosen.
SELECT count(*) FROM core.event_log e
WHERE ($1::text IS NULL OR e.tipo = $1) AND ($2::text IS NULL OR e.origem = $2)
    AND ($3::uuid IS NULL OR e.correlacao_id = $3)
    AND ($4::timestamptz IS NULL OR e.timestamp >= $4) AND ($5::timestamptz IS NULL OR e.timestamp <= $5)
    AND ($6::int8 IS NULL OR e.sequence_number >= $6) AND ($7::int8 IS NULL OR e.sequence_number <= $7);

-- name: events_count_all
-- No locks. The whole log, by whichever of its indexes or itself is smallest.
SELECT count(*) FROM core.event_log;

-- name: events_page_in_order
-- As events_count, $8 limit, $9 offset; only for filters by type and sequence, which an index gives in the order of the log.
-- No locks. Index: event_log_tipo_sequence_idx or event_log_pkey. Planned anew each time.
SELECT e.sequence_number, e.event_id, e.tipo, e.versao_schema, e.timestamp, e.origem, e.correlacao_id, e.payload,
    e.criado_em, e.tenant_id, e.company_id, e.aggregate_type, e.aggregate_key, e.aggregate_sequence, e.causation_id,
    e.traceparent, e.tracestate, e.digest
FROM core.event_log e
WHERE ($1::text IS NULL OR e.tipo = $1) AND ($2::text IS NULL OR e.origem = $2)
    AND ($3::uuid IS NULL OR e.correlacao_id = $3)
    AND ($4::timestamptz IS NULL OR e.timestamp >= $4) AND ($5::timestamptz IS NULL OR e.timestamp <= $5)
    AND ($6::int8 IS NULL OR e.sequence_number >= $6) AND ($7::int8 IS NULL OR e.sequence_number <= $7)
ORDER BY e.sequence_number LIMIT $8::int8 OFFSET $9::int8;

-- name: events_page_filtered
-- As events_page_in_order, for any filter. No locks. The "+ 0" hides that event_log_pkey gives the order: walking the whole
-- log in order until a page of rare matches is full is what a planner without statistics chooses. So the matches are
-- found by their own index (as the count finds them) and sorted, numbers only. Planned anew each time.
SELECT e.sequence_number, e.event_id, e.tipo, e.versao_schema, e.timestamp, e.origem, e.correlacao_id, e.payload,
    e.criado_em, e.tenant_id, e.company_id, e.aggregate_type, e.aggregate_key, e.aggregate_sequence, e.causation_id,
    e.traceparent, e.tracestate, e.digest
FROM (SELECT h.sequence_number FROM core.event_log h
        WHERE ($1::text IS NULL OR h.tipo = $1) AND ($2::text IS NULL OR h.origem = $2)
            AND ($3::uuid IS NULL OR h.correlacao_id = $3)
            AND ($4::timestamptz IS NULL OR h.timestamp >= $4) AND ($5::timestamptz IS NULL OR h.timestamp <= $5)
            AND ($6::int8 IS NULL OR h.sequence_number >= $6) AND ($7::int8 IS NULL OR h.sequence_number <= $7)
        ORDER BY h.sequence_number + 0 LIMIT $8::int8 OFFSET $9::int8) page
JOIN core.event_log e ON e.sequence_number = page.sequence_number
ORDER BY page.sequence_number;
