-- Dead letters, leases, requests. Times of leases: ?boot_id and microseconds since the machine's start.

-- name: fencing_raise
-- Needs the write transaction. One row.
UPDATE core_fencing SET token = token + 1 WHERE id = 1 RETURNING token;

-- name: dead_letter_find
-- Index: core_dead_letter_queue_event_id_colonia_key, core_dead_letter_lease's own.
SELECT d.id, d.status, d.tentativas, l.boot_id IS ?3 AND l.boot_us > ?4
FROM core_dead_letter_queue d LEFT JOIN core_dead_letter_lease l ON l.dead_letter_id = d.id
WHERE d.event_id = ?1 AND d.colonia = ?2;

-- name: dead_letter_insert
-- Needs the write transaction.
INSERT INTO core_dead_letter_queue (event_id, sequence_number, colonia, handler_nome, mensagem_erro, pilha_erro, tentativas,
    ultima_tentativa, status, criado_em)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, 1, ?7, 'pendente', ?7);

-- name: dead_letter_renew
-- Needs the write transaction. Index: the table's own.
UPDATE core_dead_letter_queue
SET handler_nome = ?2, mensagem_erro = ?3, pilha_erro = ?4, ultima_tentativa = ?5, status = ?6, tentativas = ?7, resolvido_em = ?8
WHERE id = ?1;

-- name: dead_letter_resolve
-- Needs the write transaction. Index: core_dead_letter_queue_event_id_colonia_key.
UPDATE core_dead_letter_queue SET status = 'resolved', resolvido_em = ?3
WHERE event_id = ?1 AND colonia = ?2 AND status IN ('pendente', 'retrying', 'failed_permanent');

-- name: dead_letter_close
-- Needs the write transaction. Index: the table's own.
UPDATE core_dead_letter_queue SET status = 'resolved', resolvido_em = ?2 WHERE id = ?1;

-- name: dead_letter_retrying
-- Needs the write transaction. Index: the table's own. Conditional: a row that is not pending any more is not taken.
UPDATE core_dead_letter_queue SET status = 'retrying', tentativas = tentativas + 1, ultima_tentativa = ?2
WHERE id = ?1 AND status = 'pendente';

-- name: dead_letter_under_token
-- Index: both tables' own.
SELECT d.tentativas FROM core_dead_letter_queue d JOIN core_dead_letter_lease l ON l.dead_letter_id = d.id
WHERE d.id = ?1 AND d.status = 'retrying' AND l.token = ?2;

-- name: dead_letter_lease_put
-- Needs the write transaction.
INSERT OR REPLACE INTO core_dead_letter_lease (dead_letter_id, holder, token, boot_id, boot_us) VALUES (?1, ?2, ?3, ?4, ?5);

-- name: dead_letter_lease_extend
-- Needs the write transaction. Index: the table's own.
UPDATE core_dead_letter_lease SET boot_id = ?3, boot_us = ?4 WHERE dead_letter_id = ?1 AND token = ?2;

-- name: dead_letter_lease_drop
-- Needs the write transaction. Index: the table's own.
DELETE FROM core_dead_letter_lease WHERE dead_letter_id = ?1;

-- name: dead_letter_lease_drop_of_event
-- Needs the write transaction. Index: core_dead_letter_queue_event_id_colonia_key.
DELETE FROM core_dead_letter_lease
WHERE dead_letter_id = (SELECT id FROM core_dead_letter_queue WHERE event_id = ?1 AND colonia = ?2);

-- name: dead_letters_abandoned
-- Index: core_dead_letter_queue_status_idx. Rows whose retry has outlived its lease.
SELECT d.id FROM core_dead_letter_queue d LEFT JOIN core_dead_letter_lease l ON l.dead_letter_id = d.id
WHERE d.status = 'retrying' AND (l.dead_letter_id IS NULL OR l.boot_id <> ?1 OR l.boot_us <= ?2);

-- name: dead_letter_pending_again
-- Needs the write transaction. Index: the table's own.
UPDATE core_dead_letter_queue SET status = 'pendente' WHERE id = ?1 AND status = 'retrying';

-- name: dead_letter_reopen
-- Needs the write transaction. Index: the table's own.
UPDATE core_dead_letter_queue SET status = 'pendente', resolvido_em = NULL WHERE id = ?1 AND status = 'failed_permanent';

-- name: dead_letter_exists
-- Index: the table's own.
SELECT 1 FROM core_dead_letter_queue WHERE id = ?1;

-- name: dead_letter_by_id
-- Index: both tables' own.
SELECT d.id, d.event_id, d.sequence_number, e.tipo, d.colonia, d.handler_nome, d.mensagem_erro, d.pilha_erro, d.tentativas,
       d.ultima_tentativa, d.status, d.criado_em, d.resolvido_em
FROM core_dead_letter_queue d JOIN core_event_log e ON e.event_id = d.event_id WHERE d.id = ?1;

-- name: dead_letters_pending
-- Index: core_dead_letter_queue_colonia_sequence_idx.
SELECT d.id, e.tipo FROM core_dead_letter_queue d CROSS JOIN core_event_log e ON e.event_id = d.event_id
WHERE d.colonia = ?1 AND d.status = 'pendente' ORDER BY d.sequence_number;

-- name: dead_letter_pending
-- Index: both tables' own.
SELECT e.tipo FROM core_dead_letter_queue d CROSS JOIN core_event_log e ON e.event_id = d.event_id
WHERE d.id = ?1 AND d.colonia = ?2 AND d.status = 'pendente';

-- name: dead_letters_list
-- The table's own order from ?1 on: an operator's page of a small table. CROSS JOIN keeps the letters outside, whatever the statistics say.
SELECT d.id, d.event_id, d.sequence_number, e.tipo, d.colonia, d.handler_nome, d.mensagem_erro, d.pilha_erro, d.tentativas,
       d.ultima_tentativa, d.status, d.criado_em, d.resolvido_em
FROM core_dead_letter_queue d CROSS JOIN core_event_log e ON e.event_id = d.event_id
WHERE d.id > ?1 AND (?2 = 0 OR d.id = ?2) AND (?3 IS NULL OR d.colonia = ?3) AND (?4 IS NULL OR e.tipo = ?4)
  AND (?5 IS NULL OR d.status = ?5) AND (?6 IS NULL OR d.event_id = ?6)
ORDER BY d.id LIMIT ?7;

-- name: dead_letter_stats
-- Index: core_dead_letter_queue_status_colonia_idx (specification 000, section 4.5).
SELECT colonia, count(*) FROM core_dead_letter_queue WHERE status IN ('pendente', 'retrying') GROUP BY colonia ORDER BY colonia;

-- name: dead_letters_between
-- Index: core_dead_letter_queue_colonia_sequence_idx. Whether each is closed, and how often it was tried.
SELECT sequence_number, status IN ('resolved', 'failed_permanent'), tentativas FROM core_dead_letter_queue
WHERE colonia = ?1 AND sequence_number BETWEEN ?2 AND ?3 ORDER BY sequence_number;

-- name: lease_find
-- Index: core_consumer_lease's own.
SELECT holder, token, boot_id IS ?3 AND boot_us > ?4 FROM core_consumer_lease WHERE colonia = ?1 AND grupo = ?2;

-- name: lease_put
-- Needs the write transaction.
INSERT INTO core_consumer_lease (colonia, grupo, holder, token, boot_id, boot_us, types) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT (colonia, grupo) DO UPDATE
SET holder = excluded.holder, token = excluded.token, boot_id = excluded.boot_id, boot_us = excluded.boot_us, types = excluded.types;

-- name: lease_extend
-- Needs the write transaction. Index: core_consumer_lease's own. Only under the token; boot_us 0 gives it back.
UPDATE core_consumer_lease SET boot_id = ?4, boot_us = ?5 WHERE colonia = ?1 AND grupo = ?2 AND token = ?3;

-- name: lease_declare
-- Needs the write transaction, under the lease's token. Index: core_handler_guarantee's own. Writes nothing where it was said before.
INSERT INTO core_handler_guarantee (colonia, grupo, guarantee, because, declared_at) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (colonia, grupo) DO UPDATE SET guarantee = excluded.guarantee, because = excluded.because, declared_at = excluded.declared_at
WHERE guarantee IS NOT excluded.guarantee OR because IS NOT excluded.because;

-- name: handlers_list
-- Reads the leases, one a colony and group: every type of every durable consumer that ever held its lease, and of every process that runs now and subscribed.
SELECT l.colonia, l.grupo, t.value, l.holder, l.boot_id IS ?1 AND l.boot_us > ?2 AS live, g.guarantee, g.because, g.declared_at
FROM core_consumer_lease l JOIN json_each(l.types) t LEFT JOIN core_handler_guarantee g ON g.colonia = l.colonia AND g.grupo = l.grupo
WHERE substr(l.grupo, 1, 5) <> 'live ' OR (l.boot_id IS ?1 AND l.boot_us > ?2)
ORDER BY l.colonia, l.grupo, t.value;

-- name: lease_forget
-- Needs the write transaction. Index: core_consumer_lease's own. What handles with plain subscriptions left behind.
DELETE FROM core_consumer_lease WHERE colonia = ?1 AND grupo >= 'live ' AND grupo < 'live!' AND (boot_id <> ?2 OR boot_us <= ?3);

-- name: lease_rival
-- Index: core_consumer_lease's own. A live lease of another group of the colony that shares a type with ?5, a JSON array; plain subscriptions
-- hold no cursor.
SELECT l.holder FROM core_consumer_lease l
WHERE l.colonia = ?1 AND l.grupo <> ?2 AND substr(l.grupo, 1, 5) <> 'live ' AND l.boot_id IS ?3 AND l.boot_us > ?4
  AND EXISTS (SELECT 1 FROM json_each(l.types) t WHERE t.value IN (SELECT m.value FROM json_each(?5) m)) ORDER BY l.grupo LIMIT 1;

-- name: lease_of_type
-- Index: core_consumer_lease's own. Who has the cursor of a type, or had it last.
SELECT l.grupo, l.holder, l.token, l.boot_id IS ?2 AND l.boot_us > ?3 AS live FROM core_consumer_lease l
WHERE l.colonia = ?1 AND substr(l.grupo, 1, 5) <> 'live ' AND EXISTS (SELECT 1 FROM json_each(l.types) t WHERE t.value = ?4)
ORDER BY live DESC, l.token DESC LIMIT 1;

-- name: colony_schema_find
-- Index: the table's own.
SELECT schema_name FROM core_colony_schema WHERE colonia = ?1;

-- name: colony_schema_insert
-- Needs the write transaction.
INSERT INTO core_colony_schema (colonia, schema_name) VALUES (?1, ?2);

-- name: colonies_all
-- The whole table, which is small.
SELECT colonia, schema_name FROM core_colony_schema WHERE ?1 IS NULL OR colonia = ?1 ORDER BY colonia;

-- name: lag_count
-- Index: core_event_log_tipo_idx, covering; never counts past ?3.
SELECT count(*) FROM (SELECT 1 FROM core_event_log WHERE tipo = ?1 AND sequence_number > ?2 LIMIT ?3);

-- name: lag_oldest
-- Index: core_event_log_tipo_idx.
SELECT criado_em FROM core_event_log WHERE tipo = ?1 AND sequence_number > ?2 ORDER BY sequence_number LIMIT 1;

-- name: request_insert
-- Needs the write transaction. Index: core_consumer_lease's own. One row for each live lease of the colony.
INSERT INTO core_reprocess_request (request, colonia, grupo, user_name, created_at)
SELECT ?1, l.colonia, l.grupo, ?3, ?4 FROM core_consumer_lease l WHERE l.colonia = ?2 AND l.boot_id IS ?5 AND l.boot_us > ?6;

-- name: request_waiting
-- Index: core_reprocess_request_unfinished_idx. Open ones, and those that an earlier holder of this group took and did not finish.
SELECT max(request) FROM core_reprocess_request
WHERE colonia = ?1 AND grupo = ?2 AND status IN ('open', 'taken') AND (status = 'open' OR token <> ?3);

-- name: request_take
-- Needs the write transaction. Index: core_reprocess_request_unfinished_idx.
UPDATE core_reprocess_request SET status = 'taken', token = ?3 WHERE colonia = ?1 AND grupo = ?2 AND status IN ('open', 'taken');

-- name: request_settle
-- Needs the write transaction. Index: core_reprocess_request_unfinished_idx.
UPDATE core_reprocess_request SET status = 'done', reprocessados = ?4, failed = ?5, done_at = ?6
WHERE colonia = ?1 AND grupo = ?2 AND status IN ('open', 'taken') AND status = 'taken' AND token = ?3;

-- name: request_read
-- Index: core_reprocess_request_request_idx. Rows, rows done, and what they did so far.
SELECT count(*), coalesce(sum(status = 'done'), 0), coalesce(sum(reprocessados), 0), coalesce(sum(failed), 0)
FROM core_reprocess_request WHERE request = ?1;

-- name: request_withdraw
-- Needs the write transaction. Index: core_reprocess_request_request_idx.
UPDATE core_reprocess_request SET status = 'withdrawn' WHERE request = ?1 AND status = 'open';
