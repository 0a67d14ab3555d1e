-- Dead letters, leases, cursors and requests: calls of the functions of migration 20261130020000_delivery, which say their locks.

-- name: dead_letter_fail
-- Share-locks the lease's row when delivered under one, locks the letter's row. Index: dead_letter_queue_event_id_colonia_key.
SELECT core.dead_letter_fail($1::uuid, $2::int8, $3::text, $4::text, $5::text, $6::text, $7::int8, $8::text, $9::int8);

-- name: dead_letter_resolve
-- Locks the letter's row. Index: dead_letter_queue_event_id_colonia_key.
SELECT core.dead_letter_resolve($1::uuid, $2::text);

-- name: dead_letters_take
-- Locks the rows it takes, skips locked ones. Index: dead_letter_queue_colonia_sequence_idx. In the order of their sequence. $7 to $12: the audit row,
-- written when any was taken; a NULL action: none.
WITH t AS MATERIALIZED (SELECT * FROM core.dead_letters_take($1::text, $2::text[], $3::int8[], $4::int8, $5::text, $6::int8)),
told AS (INSERT INTO core.audit_log (entity, entity_id, change_type, action, user_name, metadata)
    SELECT $7::text, $8::text, $9::text, $10::text, $11::text, $12::text::jsonb WHERE $10::text IS NOT NULL AND EXISTS (SELECT FROM t))
SELECT d.id, d.event_id, d.sequence_number, e.tipo, d.colonia, d.handler_nome, d.mensagem_erro, d.pilha_erro, t.tentativas,
    t.ultima_tentativa, t.status, d.criado_em, d.resolvido_em, t.token
FROM t
JOIN core.dead_letter_queue d ON d.id = t.id JOIN core.event_log e ON e.event_id = d.event_id
ORDER BY d.sequence_number;

-- name: dead_letter_settle
-- Locks the letter's row. Index: dead_letter_queue_pkey.
SELECT core.dead_letter_settle($1::int8, $2::int8, $3::bool, $4::text, $5::text, $6::text, $7::int8);

-- name: dead_letter_extend
-- Locks the lease's row. Index: dead_letter_lease_pkey.
SELECT core.dead_letter_extend($1::int8, $2::int8, $3::int8);

-- name: dead_letters_abandoned
-- No locks. Index: dead_letter_queue_status_idx. Asked before dead_letters_recover, so that the common case writes nothing.
SELECT count(*) FROM core.dead_letter_queue d LEFT JOIN core.dead_letter_lease l ON l.dead_letter_id = d.id
WHERE d.status = 'retrying' AND (l.dead_letter_id IS NULL OR l.expires_at <= clock_timestamp());

-- name: dead_letters_recover
-- Locks the rows it returns. Index: dead_letter_queue_status_idx.
SELECT core.dead_letters_recover();

-- name: dead_letter_reopen
-- Locks the letter's row. Index: dead_letter_queue_pkey.
SELECT core.dead_letter_reopen($1::int8, $2::text, $3::text, $4::text, $5::text, $6::text, $7::text::jsonb);

-- name: dead_letters_list
-- $1 after id, $2 limit, $3 id (0: any), $4 colonia, $5 tipo, $6 status, $7 event_id (NULL: any). No locks. Index: dead_letter_queue_pkey, or what the
-- values ask for: planned anew.
SELECT d.id, d.event_id, d.sequence_number, e.tipo, d.colonia, d.handler_nome, d.mensagem_erro, d.pilha_erro, d.tentativas,
    d.ultima_tentativa, d.status, d.criado_em, d.resolvido_em
FROM core.dead_letter_queue d JOIN core.event_log e ON e.event_id = d.event_id
WHERE d.id > $1::int8 AND ($3::int8 = 0 OR d.id = $3) AND ($4::text IS NULL OR d.colonia = $4) AND ($5::text IS NULL OR e.tipo = $5)
    AND ($6::text IS NULL OR d.status = $6) AND ($7::uuid IS NULL OR d.event_id = $7)
ORDER BY d.id LIMIT $2::int8;

-- name: dead_letter_stats
-- No locks. Index: dead_letter_queue_status_colonia_idx (specification 000, section 4.5).
SELECT d.colonia, count(*) FROM core.dead_letter_queue d WHERE d.status IN ('pendente', 'retrying') GROUP BY d.colonia
ORDER BY d.colonia COLLATE "C";

-- name: lease_acquire
-- Locks the lease's row. Index: consumer_lease_pkey.
SELECT a.token, a.held_by FROM core.lease_acquire($1::text, $2::text, $3::text, $4::text[], $5::int8) a;

-- name: lease_extend
-- Locks the lease's row. Index: consumer_lease_pkey.
SELECT core.lease_extend($1::text, $2::text, $3::int8, $4::int8);

-- name: lease_declare
-- Share-locks the lease's row. Index: consumer_lease_pkey, handler_guarantee_pkey.
SELECT core.lease_declare($1::text, $2::text, $3::int8, $4::text, $5::text);

-- name: handlers_list
-- No locks. Reads the leases, one a colony and group.
SELECT h.colonia, h.grupo, h.tipo, h.holder, h.live, h.guarantee, h.because, h.declared_at FROM core.handlers_list() h;

-- name: cursors_prepare
-- Makes schema and table once. Index: colony_schema_pkey.
SELECT core.cursors_prepare($1::text, $2::text);

-- name: cursors_read
-- No locks. Index: consumer_offset_pkey.
SELECT c.last_sequence FROM core.cursors_read($1::text, $2::text[]) c;

-- name: cursors_seed
-- Share-locks the lease's row. Index: consumer_lease_pkey.
SELECT core.cursors_seed($1::text, $2::text, $3::int8, $4::text[], $5::int8[], $6::text, $7::text, $8::text, $9::text, $10::text,
    $11::text::jsonb);

-- name: cursors_advance
-- Share-locks the lease's row, locks the cursors' and the letters'. Index: consumer_lease_pkey, consumer_offset_pkey.
SELECT core.cursors_advance($1::text, $2::text, $3::int8, $4::text[], $5::int8[], $6::uuid[]);

-- name: events_due
-- $1 colonia, $2 types, $3 their cursors, $4 limit. No locks. Index: event_log_tipo_sequence_idx, one descent per type, then event_log_pkey and
-- dead_letter_queue_event_id_colonia_key per row of the page. A rare type costs its descent, not the log.
SELECT e.sequence_number, e.event_id, e.tipo, e.versao_schema, e.timestamp, e.origem, e.correlacao_id, e.payload,
    e.criado_em, e.tenant_id, e.company_id, e.aggregate_type, e.aggregate_key, e.aggregate_sequence, e.causation_id,
    e.traceparent, e.tracestate, e.digest,
    coalesce(d.status IN ('resolved', 'failed_permanent'), false), coalesce(d.tentativas, 0)
FROM (SELECT s.sequence_number
        FROM (SELECT pg_catalog.unnest($2::text[]) AS tipo, pg_catalog.unnest($3::int8[]) AS after) t
        CROSS JOIN LATERAL (SELECT l.sequence_number FROM core.event_log l
            WHERE l.tipo = t.tipo AND l.sequence_number > t.after ORDER BY l.sequence_number LIMIT $4::int8) s
        ORDER BY s.sequence_number LIMIT $4::int8) page
JOIN core.event_log e ON e.sequence_number = page.sequence_number
LEFT JOIN core.dead_letter_queue d ON d.event_id = e.event_id AND d.colonia = $1::text
ORDER BY page.sequence_number;

-- name: consumers_list
-- $1 colonia, NULL: all. No locks. Index: event_log_tipo_sequence_idx, at most 10,000 entries a cursor.
SELECT c.colonia, c.grupo, c.holder, c.live, c.token, c.tipo, c.last_sequence, c.updated_at, c.lag, c.oldest
FROM core.consumers_list($1::text) c;

-- name: request_create
-- Index: consumer_lease_pkey. $3 to $8: the audit row; a NULL action: none.
WITH told AS (INSERT INTO core.audit_log (entity, entity_id, change_type, action, user_name, metadata)
    SELECT $3::text, $4::text, $5::text, $6::text, $7::text, $8::text::jsonb WHERE $6::text IS NOT NULL)
SELECT r.request, r.listening FROM core.request_create($1::text, $2::text) r;

-- name: request_waiting
-- No locks. Index: reprocess_request_unfinished_idx.
SELECT core.request_waiting($1::text, $2::text, $3::int8);

-- name: request_take
-- Share-locks the lease's row, locks the requests'. Index: reprocess_request_unfinished_idx.
SELECT core.request_take($1::text, $2::text, $3::int8);

-- name: request_settle
-- Share-locks the lease's row, locks the requests'. Index: reprocess_request_unfinished_idx.
SELECT core.request_settle($1::text, $2::text, $3::int8, $4::int8, $5::int8);

-- name: request_read
-- No locks. Index: reprocess_request_request_idx. Rows, rows done, and what they did so far.
SELECT count(*), count(*) FILTER (WHERE r.status = 'done'), coalesce(sum(r.reprocessados), 0)::int8, coalesce(sum(r.failed), 0)::int8
FROM core.reprocess_request r WHERE r.request = $1::int8;

-- name: request_withdraw
-- Locks the request's rows. Index: reprocess_request_request_idx.
SELECT core.request_withdraw($1::int8);
