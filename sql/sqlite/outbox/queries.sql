-- A producer's outbox and inbox; {{p}} is the prefix of its tables, "" or "billing_". ?now_us: microseconds since 1970.

-- name: has_book
SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = '{{p}}outbox_migration';

-- name: book
CREATE TABLE IF NOT EXISTS {{p}}outbox_migration (name TEXT NOT NULL PRIMARY KEY, checksum TEXT NOT NULL, applied_us INTEGER NOT NULL) STRICT;

-- name: migrations_list
SELECT name, checksum FROM {{p}}outbox_migration ORDER BY name;

-- name: record
-- ?1 name, ?2 checksum, ?3 now_us.
INSERT INTO {{p}}outbox_migration (name, checksum, applied_us) VALUES (?1, ?2, ?3);

-- name: record_printed
-- As record, for people who run the SQL by hand: @NAME@ and @CHECKSUM@ are replaced when it is printed.
INSERT INTO {{p}}outbox_migration (name, checksum, applied_us) VALUES ('@NAME@', '@CHECKSUM@', CAST(strftime('%s', 'now') AS INTEGER) * 1000000);

-- name: destination
-- ?1 name.
SELECT destination FROM {{p}}outbox_destination WHERE name = ?1;

-- name: destination_add
-- ?1 name. With the smallest number that is free; none is left: no row.
WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 62)
INSERT INTO {{p}}outbox_destination (destination, name)
SELECT min(i), ?1 FROM n WHERE i NOT IN (SELECT destination FROM {{p}}outbox_destination) HAVING min(i) IS NOT NULL;

-- name: route_add
-- ?1 pattern, ?2 destination.
INSERT INTO {{p}}outbox_route (type_pattern, destination) VALUES (?1, ?2) ON CONFLICT DO NOTHING;

-- name: route_remove
-- ?1 pattern, ?2 destination's name.
DELETE FROM {{p}}outbox_route WHERE type_pattern = ?1 AND destination = (SELECT destination FROM {{p}}outbox_destination WHERE name = ?2);

-- name: routes
SELECT r.type_pattern, d.name FROM {{p}}outbox_route r JOIN {{p}}outbox_destination d ON d.destination = r.destination ORDER BY 1, 2;

-- name: anything_due
-- ?1 destination, ?2 now_us. Index: outbox_lane_soonest, one entry.
SELECT 1 FROM {{p}}outbox_lane INDEXED BY {{p}}outbox_lane_soonest WHERE destination = ?1 AND state <> 'X' AND due_us <= ?2 LIMIT 1;

-- name: next_tenant
-- ?1 destination, ?2 tenant behind which. Index: outbox_lane_due, one entry.
SELECT tenant_id FROM {{p}}outbox_lane INDEXED BY {{p}}outbox_lane_due WHERE destination = ?1 AND state <> 'X' AND tenant_id > ?2
ORDER BY tenant_id LIMIT 1;

-- name: in_flight
-- ?1 destination, ?2 tenant, ?3 now_us. Index: outbox_lane_leased.
SELECT count(*) FROM {{p}}outbox_lane INDEXED BY {{p}}outbox_lane_leased WHERE destination = ?1 AND tenant_id = ?2 AND state = 'L' AND due_us > ?3;

-- name: due
-- ?1 destination, ?2 tenant, ?3 now_us, ?4 limit. Index: outbox_lane_due: what is blocked is not in the range.
SELECT l.aggregate_id, l.tenant_id, a.aggregate_type, a.aggregate_key, l.head_sequence, l.attempts + (l.state = 'L')
FROM {{p}}outbox_lane l INDEXED BY {{p}}outbox_lane_due CROSS JOIN {{p}}outbox_aggregate a ON a.aggregate_id = l.aggregate_id
WHERE l.destination = ?1 AND l.tenant_id = ?2 AND l.state <> 'X' AND l.due_us <= ?3 ORDER BY l.due_us LIMIT ?4;

-- name: fence
-- A larger fencing token. One row.
UPDATE {{p}}outbox_fencing SET token = token + 1 WHERE id = 1 RETURNING token;

-- name: lease
-- ?1 destination, ?2 aggregate, ?3 owner, ?4 token, ?5 end of the lease, ?6 attempts.
UPDATE {{p}}outbox_lane SET state = 'L', attempts = ?6, lease_owner = ?3, lease_token = ?4, due_us = ?5
WHERE destination = ?1 AND aggregate_id = ?2;

-- name: fetch
-- ?1 destination, ?2 aggregate, ?3 head, ?4 limit. The content of the last revision. Indexes: outbox_message_pkey, outbox_revision_pkey.
SELECT m.aggregate_sequence, m.message_id, m.company_id, m.message_type, m.version, m.origin, m.correlation_id, m.causation_id, m.traceparent,
    m.occurred_us, coalesce(r.payload, m.payload), coalesce(r.revision, 1)
FROM {{p}}outbox_message m LEFT JOIN {{p}}outbox_revision r ON r.message_id = m.message_id
    AND r.revision = (SELECT max(x.revision) FROM {{p}}outbox_revision x WHERE x.message_id = m.message_id)
WHERE m.aggregate_id = ?2 AND m.aggregate_sequence >= ?3 AND (m.destinations >> ?1) & 1 = 1
ORDER BY m.aggregate_sequence LIMIT ?4;

-- name: previous
-- ?1 destination, ?2 aggregate, ?3 head: what this destination was given before it; what was discarded is no gap. Index: outbox_message_pkey.
SELECT m.aggregate_sequence FROM {{p}}outbox_message m WHERE m.aggregate_id = ?2 AND m.aggregate_sequence < ?3 AND (m.destinations >> ?1) & 1 = 1
    AND NOT EXISTS (SELECT 1 FROM {{p}}outbox_operation o WHERE o.aggregate_id = m.aggregate_id AND o.aggregate_sequence = m.aggregate_sequence
        AND o.destination = ?1 AND o.action = 'trilha.outbox-message.discarded')
ORDER BY m.aggregate_sequence DESC LIMIT 1;

-- name: renew
-- ?1 destination, ?2 aggregate, ?3 token, ?4 end of the lease. No row: the lease is somebody else's.
UPDATE {{p}}outbox_lane SET due_us = ?4 WHERE destination = ?1 AND aggregate_id = ?2 AND lease_token = ?3 AND state = 'L';

-- name: left
-- ?1 destination, ?2 aggregate, ?3 next. Is a message left for the lane?
SELECT 1 FROM {{p}}outbox_message WHERE aggregate_id = ?2 AND aggregate_sequence >= ?3 AND (destinations >> ?1) & 1 = 1 LIMIT 1;

-- name: park
-- ?1 destination, ?2 aggregate, ?3 token. The next enqueue makes the lane again.
DELETE FROM {{p}}outbox_lane WHERE destination = ?1 AND aggregate_id = ?2 AND lease_token = ?3 AND state = 'L';

-- name: settle
-- ?1 destination, ?2 aggregate, ?3 token, ?4 state, ?5 next, ?6 failed, ?7 due, ?8 code, ?9 text, ?10 now_us. No row: the lease is somebody else's.
UPDATE {{p}}outbox_lane SET state = ?4, attempts = CASE WHEN head_sequence = ?5 THEN attempts ELSE 0 END + ?6, head_sequence = ?5, due_us = ?7,
    lease_owner = NULL, error_code = ?8, error_text = ?9, failed_us = CASE WHEN ?6 THEN ?10 END
WHERE destination = ?1 AND aggregate_id = ?2 AND lease_token = ?3 AND state = 'L';

-- name: delivered
-- ?1 aggregate, ?2 destination, ?3 first sequence, ?4 last, ?5 now_us. In the transaction that settles it.
INSERT INTO {{p}}outbox_delivery (aggregate_id, destination, sequence_from, sequence_to, delivered_us) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT DO NOTHING;

-- name: status
SELECT d.name, coalesce(sum(l.state = 'R' AND l.attempts = 0), 0), coalesce(sum(l.state = 'R' AND l.attempts > 0), 0), coalesce(sum(l.state = 'L'), 0),
    coalesce(sum(l.state = 'X'), 0), min((SELECT m.created_us FROM {{p}}outbox_message m
        WHERE m.aggregate_id = l.aggregate_id AND m.aggregate_sequence = l.head_sequence))
FROM {{p}}outbox_destination d LEFT JOIN {{p}}outbox_lane l ON l.destination = d.destination GROUP BY d.name ORDER BY d.name;

-- name: lanes
-- ?1 tenant, ?2 destination, ?3 status, NULL: any; ?4 limit, ?5 now_us; ?6 error code, ?7 failed before, NULL: any.
SELECT x.name, x.tenant_id, a.aggregate_type, a.aggregate_key, x.status, x.head_sequence, m.message_id, m.message_type, x.attempts,
    CASE WHEN x.state <> 'X' THEN x.due_us END, x.lease_owner, x.error_code, x.error_text,
    (SELECT count(*) FROM (SELECT 1 FROM {{p}}outbox_message b WHERE b.aggregate_id = x.aggregate_id AND b.aggregate_sequence > x.head_sequence
        AND (b.destinations >> x.destination) & 1 = 1 LIMIT 1000)), m.created_us, x.failed_us
FROM (SELECT l.*, d.name, CASE WHEN l.state = 'X' THEN 'DeadLettered' WHEN l.state = 'L' AND l.due_us > ?5 THEN 'Dispatching'
            WHEN l.attempts > 0 THEN 'Failed' ELSE 'Pending' END AS status
        FROM {{p}}outbox_lane l JOIN {{p}}outbox_destination d ON d.destination = l.destination) x
JOIN {{p}}outbox_aggregate a ON a.aggregate_id = x.aggregate_id
LEFT JOIN {{p}}outbox_message m ON m.aggregate_id = x.aggregate_id AND m.aggregate_sequence = x.head_sequence
WHERE (?1 IS NULL OR x.tenant_id = ?1) AND (?2 IS NULL OR x.name = ?2) AND (?3 IS NULL OR x.status = ?3)
    AND (?6 IS NULL OR x.error_code = ?6) AND (?7 IS NULL OR x.failed_us < ?7)
ORDER BY x.state = 'X' DESC, x.attempts > 0 DESC, x.failed_us, x.tenant_id, a.aggregate_type, a.aggregate_key, x.name LIMIT ?4;

-- name: message
-- ?1 its id. A row for each destination. The payload of the last revision, for its size and digest. dispatched_revision: the one that was current when the
-- destination acknowledged; a correction is refused while a lease on the message lives.
SELECT m.tenant_id, m.company_id, m.aggregate_type, m.aggregate_key, m.aggregate_sequence, m.message_type, m.version, m.origin, m.correlation_id,
    m.causation_id, m.traceparent, m.occurred_us, m.created_us,
    coalesce((SELECT r.payload FROM {{p}}outbox_revision r WHERE r.message_id = m.message_id ORDER BY r.revision DESC LIMIT 1), m.payload),
    coalesce((SELECT max(r.revision) FROM {{p}}outbox_revision r WHERE r.message_id = m.message_id), 1),
    v.destination, v.status, v.attempts, v.next_attempt_us, v.lease_until_us, a.delivered_us,
    CASE WHEN a.delivered_us IS NOT NULL THEN coalesce((SELECT max(r.revision) FROM {{p}}outbox_revision r
        WHERE r.message_id = m.message_id AND r.at_us <= a.delivered_us), 1) END,
    (SELECT min(f.stated_us) FROM {{p}}outbox_receipt f WHERE f.message_id = m.message_id AND f.destination = d.destination AND f.fact = 'Received'),
    (SELECT min(f.stated_us) FROM {{p}}outbox_receipt f WHERE f.message_id = m.message_id AND f.destination = d.destination AND f.fact = 'Applied'),
    s.fact, s.recorded_us
FROM {{p}}outbox_message m
JOIN {{p}}producer_outbox v ON v.message_id = m.message_id
JOIN {{p}}outbox_destination d ON d.name = v.destination
LEFT JOIN {{p}}outbox_delivery a ON a.aggregate_id = m.aggregate_id AND a.destination = d.destination
    AND m.aggregate_sequence BETWEEN a.sequence_from AND a.sequence_to
LEFT JOIN {{p}}outbox_receipt s ON s.id = (SELECT max(f.id) FROM {{p}}outbox_receipt f WHERE f.message_id = m.message_id
    AND f.destination = d.destination)
WHERE m.message_id = ?1 ORDER BY v.destination;

-- name: revisions
-- ?1 message. The enqueued content first.
SELECT 1, m.created_us, NULL, NULL, m.payload, NULL, NULL FROM {{p}}outbox_message m WHERE m.message_id = ?1
UNION ALL
SELECT r.revision, r.at_us, r.user_name, r.reason, r.payload, r.diff, r.accepted FROM {{p}}outbox_revision r WHERE r.message_id = ?1 ORDER BY 1;

-- name: receipts
-- ?1 message.
SELECT d.name, f.fact, f.revision, f.operation_id, f.stated_us, f.recorded_us, f.source, f.user_name, f.note
FROM {{p}}outbox_receipt f JOIN {{p}}outbox_destination d ON d.destination = f.destination WHERE f.message_id = ?1 ORDER BY f.id;

-- name: content
-- ?1 message, ?2 revision (NULL: the last).
SELECT x.revision, x.payload FROM (SELECT 1 AS revision, m.payload FROM {{p}}outbox_message m WHERE m.message_id = ?1
    UNION ALL SELECT r.revision, r.payload FROM {{p}}outbox_revision r WHERE r.message_id = ?1) x
WHERE ?2 IS NULL OR x.revision = ?2 ORDER BY x.revision DESC LIMIT 1;

-- name: place
-- ?1 message, ?2 now_us: where it stands; its last revision; whether a live lease covers it; how many destinations wait for it; those that have it.
SELECT m.aggregate_id, m.aggregate_sequence, coalesce((SELECT max(r.revision) FROM {{p}}outbox_revision r WHERE r.message_id = m.message_id), 1),
    EXISTS (SELECT 1 FROM {{p}}outbox_lane l WHERE l.aggregate_id = m.aggregate_id AND l.state = 'L' AND l.due_us > ?2
        AND l.head_sequence <= m.aggregate_sequence AND (m.destinations >> l.destination) & 1 = 1),
    (SELECT count(*) FROM {{p}}producer_outbox v WHERE v.message_id = m.message_id AND v.status NOT IN ('Dispatched', 'Discarded')),
    (SELECT group_concat(v.destination, ', ') FROM (SELECT x.destination FROM {{p}}producer_outbox x WHERE x.message_id = m.message_id
        AND x.status = 'Dispatched' ORDER BY 1) v)
FROM {{p}}outbox_message m WHERE m.message_id = ?1;

-- name: conflicts
-- ?1 message, ?2 its revision, ?3 now_us, ?4 user. Destinations that acknowledged it hold other content from now on. Before revise.
INSERT INTO {{p}}outbox_receipt (message_id, destination, revision, fact, stated_us, recorded_us, source, user_name, note)
SELECT ?1, d.destination, ?2, 'Conflict', ?3, ?3, 'correction', ?4, 'acknowledged an earlier revision'
FROM {{p}}producer_outbox v JOIN {{p}}outbox_destination d ON d.name = v.destination WHERE v.message_id = ?1 AND v.status = 'Dispatched';

-- name: revise
-- ?1 message, ?2 revision, ?3 now_us, ?4 user, ?5 reason, ?6 diff, ?7 accepted, ?8 payload. No row: it breaks a rule of enqueue.
INSERT INTO {{p}}outbox_revision (message_id, revision, at_us, user_name, reason, diff, accepted, payload)
SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8 WHERE length(CAST(?8 AS BLOB)) <= 1048576
    AND CASE WHEN json_valid(?8) THEN json_type(?8) END IS 'object';

-- name: corrected
-- ?1 aggregate, ?2 sequence, ?3 now_us. Its dead and failing heads become due.
UPDATE {{p}}outbox_lane SET state = 'R', attempts = 0, due_us = ?3, error_code = NULL, error_text = NULL, failed_us = NULL
WHERE aggregate_id = ?1 AND head_sequence = ?2 AND (state = 'X' OR (state = 'R' AND attempts > 0))
    AND ((SELECT m.destinations FROM {{p}}outbox_message m WHERE m.aggregate_id = ?1 AND m.aggregate_sequence = ?2) >> destination) & 1 = 1;

-- name: receipt_add
-- ?1 message, ?2 destination, ?3 fact, ?4 revision (NULL: the last), ?5 operation, ?6 stated_us, ?7 now_us, ?8 source, ?9 user, ?10 note. No row: it was
-- known, or the message does not go there.
INSERT INTO {{p}}outbox_receipt (message_id, destination, revision, fact, operation_id, stated_us, recorded_us, source, user_name, note)
SELECT m.message_id, ?2, coalesce(?4, (SELECT max(r.revision) FROM {{p}}outbox_revision r WHERE r.message_id = ?1), 1), ?3, ?5, ?6, ?7, ?8, ?9, ?10
FROM {{p}}outbox_message m WHERE m.message_id = ?1 AND (m.destinations >> ?2) & 1 = 1
ON CONFLICT DO NOTHING;

-- name: goes_to
-- ?1 message, ?2 destination: its last revision, when it goes there.
SELECT coalesce((SELECT max(r.revision) FROM {{p}}outbox_revision r WHERE r.message_id = ?1), 1)
FROM {{p}}outbox_message m WHERE m.message_id = ?1 AND (m.destinations >> ?2) & 1 = 1;

-- name: said
-- ?1 message, ?2 destination, ?3 since. What the destination says of it since then.
SELECT f.fact || coalesce(': ' || f.note, '') FROM {{p}}outbox_receipt f WHERE f.message_id = ?1 AND f.destination = ?2 AND f.recorded_us >= ?3
ORDER BY f.id DESC LIMIT 1;

-- name: find
-- ?1 message, ?2 destination: its lane's head and state, when it is at the head; NULLs otherwise.
SELECT m.aggregate_id, m.aggregate_sequence, l.state, l.failed_us FROM {{p}}outbox_message m
LEFT JOIN {{p}}outbox_lane l ON l.destination = ?2 AND l.aggregate_id = m.aggregate_id AND l.head_sequence = m.aggregate_sequence
WHERE m.message_id = ?1;

-- name: revive
-- ?1 destination, ?2 aggregate, ?3 head, ?4 now_us.
UPDATE {{p}}outbox_lane SET state = 'R', attempts = 0, due_us = ?4, error_code = NULL, error_text = NULL, failed_us = NULL, head_sequence = ?3
WHERE destination = ?1 AND aggregate_id = ?2 AND state = 'X';

-- name: operation
-- ?1 now_us, ?2 action, ?3 destination, ?4 aggregate, ?5 sequence, ?6 message, ?7 user, ?8 reason, ?9 reconciliation.
INSERT INTO {{p}}outbox_operation (at_us, action, destination, aggregate_id, aggregate_sequence, message_id, user_name, reason, reconciliation)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9);

-- name: enqueue
-- In the caller's transaction. The columns of trilha_message in its order.
INSERT INTO {{p}}outbox_enqueue (tenant_id, aggregate_type, aggregate_key, message_type, version, payload, origin, correlation_id, message_id, company_id,
    causation_id, traceparent, occurred_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13);

-- name: enqueued
-- ?1 message.
SELECT aggregate_sequence FROM {{p}}outbox_message WHERE message_id = ?1;

-- name: inbox_find
-- ?1 tenant, ?2 consumer, ?3 message.
SELECT payload_sha256, result FROM {{p}}inbox_message WHERE tenant_id = ?1 AND consumer = ?2 AND message_id = ?3;

-- name: inbox_put
-- ?1 tenant, ?2 consumer, ?3 message, ?4 digest, ?5 now_us.
INSERT INTO {{p}}inbox_message (tenant_id, consumer, message_id, payload_sha256, accepted_us) VALUES (?1, ?2, ?3, ?4, ?5);

-- name: inbox_last
-- ?1 tenant, ?2 consumer, ?3 aggregate type, ?4 key.
SELECT last_sequence FROM {{p}}inbox_order WHERE tenant_id = ?1 AND consumer = ?2 AND aggregate_type = ?3 AND aggregate_key = ?4;

-- name: inbox_advance
-- ?1 tenant, ?2 consumer, ?3 aggregate type, ?4 key, ?5 sequence.
INSERT INTO {{p}}inbox_order (tenant_id, consumer, aggregate_type, aggregate_key, last_sequence) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (tenant_id, consumer, aggregate_type, aggregate_key) DO UPDATE SET last_sequence = excluded.last_sequence;

-- name: inbox_result
-- ?1 tenant, ?2 consumer, ?3 message, ?4 result.
UPDATE {{p}}inbox_message SET result = ?4 WHERE tenant_id = ?1 AND consumer = ?2 AND message_id = ?3;
