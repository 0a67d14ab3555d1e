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
-- ?1 destination, ?2 aggregate, ?3 head, ?4 limit. The content of the last revision. The last column: another path has its type (outbox_path, empty but
-- while one moves over), and it may not be sent. Indexes: outbox_message_pkey, outbox_revision_pkey.
SELECT m.aggregate_sequence, m.message_id, m.company_id, m.message_type, m.version, m.origin, m.correlation_id, m.causation_id, m.traceparent,
    m.occurred_us, coalesce(r.payload, m.payload), coalesce(r.revision, 1),
    (SELECT h.holder FROM {{p}}outbox_path h WHERE h.type_pattern = m.message_type OR (substr(h.type_pattern, -1) = '*'
        AND substr(m.message_type, 1, length(h.type_pattern) - 1) = substr(h.type_pattern, 1, length(h.type_pattern) - 1)) LIMIT 1)
FROM {{p}}outbox_message m LEFT JOIN {{p}}outbox_revision r ON r.message_id = m.message_id
    AND r.revision = (SELECT max(x.revision) FROM {{p}}outbox_revision x WHERE x.message_id = m.message_id)
WHERE m.aggregate_id = ?2 AND m.aggregate_sequence >= ?3 AND (m.destinations >> ?1) & 1 = 1
ORDER BY m.aggregate_sequence LIMIT ?4;

-- name: previous
-- ?1 destination, ?2 aggregate, ?3 head: what this destination was given before it; what was discarded is no gap. When none is kept, the last that was
-- purged. Indexes: outbox_message_pkey, outbox_purged_pkey.
SELECT coalesce((SELECT m.aggregate_sequence FROM {{p}}outbox_message m WHERE m.aggregate_id = ?2 AND m.aggregate_sequence < ?3 AND (m.destinations >> ?1) & 1 = 1
    AND NOT EXISTS (SELECT 1 FROM {{p}}outbox_operation o WHERE o.aggregate_id = m.aggregate_id AND o.aggregate_sequence = m.aggregate_sequence
        AND o.destination = ?1 AND o.action = 'trilha.outbox-message.discarded')
    ORDER BY m.aggregate_sequence DESC LIMIT 1),
    (SELECT g.last_sequence FROM {{p}}outbox_purged g WHERE g.aggregate_id = ?2 AND g.destination = ?1), 0);

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

-- name: held_by
-- ?1 aggregate, ?2 sequence: who else delivers its type; no row: nobody. Index: outbox_message_pkey.
SELECT h.holder FROM {{p}}outbox_message m JOIN {{p}}outbox_path h ON h.type_pattern = m.message_type OR (substr(h.type_pattern, -1) = '*'
    AND substr(m.message_type, 1, length(h.type_pattern) - 1) = substr(h.type_pattern, 1, length(h.type_pattern) - 1))
WHERE m.aggregate_id = ?1 AND m.aggregate_sequence = ?2 LIMIT 1;

-- name: path_put
-- ?1 pattern, ?2 holder, ?3 now_us, ?4 user, ?5 reason. No change: it is held.
INSERT INTO {{p}}outbox_path (type_pattern, holder, held_us, user_name, reason) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING;

-- name: path_holder
-- ?1 pattern.
SELECT holder FROM {{p}}outbox_path WHERE type_pattern = ?1;

-- name: path_drop
-- ?1 pattern.
DELETE FROM {{p}}outbox_path WHERE type_pattern = ?1;

-- name: paths
SELECT type_pattern, holder, held_us, user_name, reason FROM {{p}}outbox_path ORDER BY type_pattern;

-- name: path_importing
-- ?1 holder, ?2 1 while an import puts its rows in.
UPDATE {{p}}outbox_path SET importing = ?2 WHERE holder = ?1;

-- name: path_wake
-- ?1 now_us. Every lane that a relay put aside; reads all lanes once.
UPDATE {{p}}outbox_lane SET due_us = ?1, error_code = NULL, error_text = NULL WHERE state = 'R' AND error_code = 'PATH_HELD';

-- name: import_get
-- ?1 name.
SELECT holder, mapping, cut, position, total, imported, finished_us FROM {{p}}outbox_import WHERE name = ?1;

-- name: imports_of
-- ?1 holder.
SELECT name, finished_us, cut IS NULL, imported, recount FROM {{p}}outbox_import WHERE holder = ?1 ORDER BY name;

-- name: import_put
-- ?1 name, ?2 holder, ?3 mapping, ?4 cut, ?5 total, ?6 now_us, ?7 user, ?8 reason.
INSERT INTO {{p}}outbox_import (name, holder, mapping, cut, total, started_us, user_name, reason) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8);

-- name: import_cut
-- ?1 name, ?2 cut, ?3 total.
UPDATE {{p}}outbox_import SET cut = ?2, total = ?3 WHERE name = ?1;

-- name: import_at
-- ?1 name, ?2 position, ?3 rows more.
UPDATE {{p}}outbox_import SET position = ?2, imported = imported + ?3 WHERE name = ?1;

-- name: import_done
-- ?1 name, ?2 now_us, ?3 the query that counts again.
UPDATE {{p}}outbox_import SET finished_us = ?2, recount = ?3 WHERE name = ?1;

-- name: delivered
-- ?1 aggregate, ?2 destination, ?3 first sequence, ?4 last, ?5 now_us. In the transaction that settles it.
INSERT INTO {{p}}outbox_delivery (aggregate_id, destination, sequence_from, sequence_to, delivered_us) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT DO NOTHING;

-- name: status
-- ?1 now_us. A destination is held while each of its workers that is heard of leaves it alone.
WITH hold (name, code) AS MATERIALIZED (SELECT j.key, min(j.value) FROM {{p}}outbox_worker w, json_each(w.holds) j WHERE w.expected_us >= ?1
    GROUP BY j.key HAVING min(j.value) <> ''),
lane AS (SELECT d.name, l.state, l.attempts, l.aggregate_id, l.head_sequence,
        CASE WHEN l.state = 'R' THEN CASE WHEN l.due_us >= 253402214400000000 THEN l.error_code ELSE h.code END END AS held
    FROM {{p}}outbox_destination d LEFT JOIN hold h ON h.name = d.name LEFT JOIN {{p}}outbox_lane l ON l.destination = d.destination)
SELECT x.name, coalesce(sum(x.state = 'R' AND x.attempts = 0 AND x.held IS NULL), 0), coalesce(sum(x.state = 'R' AND x.attempts > 0 AND x.held IS NULL), 0),
    coalesce(sum(x.state = 'L'), 0), coalesce(sum(x.state = 'X'), 0),
    min((SELECT m.created_us FROM {{p}}outbox_message m WHERE m.aggregate_id = x.aggregate_id AND m.aggregate_sequence = x.head_sequence)),
    count(x.held), replace(group_concat(DISTINCT x.held), ',', ', ')
FROM lane x GROUP BY x.name ORDER BY x.name;

-- name: lanes
-- ?1 tenant, ?2 destination, ?3 status, NULL: any; ?4 limit, ?5 now_us; ?6 error code, ?7 failed before, NULL: any; ?8 by place, behind this;
-- NULL: by urgency. held: as in status.
WITH hold (name, code) AS MATERIALIZED (SELECT j.key, min(j.value) FROM {{p}}outbox_worker w, json_each(w.holds) j WHERE w.expected_us >= ?5
    GROUP BY j.key HAVING min(j.value) <> '')
SELECT x.name, x.tenant_id, a.aggregate_type, a.aggregate_key, x.status, x.head_sequence, m.message_id, m.message_type, x.attempts,
    CASE WHEN x.state <> 'X' AND NOT x.aside THEN x.due_us END, x.lease_owner, x.error_code, x.error_text,
    (SELECT count(*) FROM (SELECT 1 FROM {{p}}outbox_message b WHERE b.aggregate_id = x.aggregate_id AND b.aggregate_sequence > x.head_sequence
        AND (b.destinations >> x.destination) & 1 = 1 LIMIT 1000)), m.created_us, x.failed_us, x.place,
    x.held
FROM (SELECT l.*, d.name, l.state = 'R' AND l.due_us >= 253402214400000000 AS aside,
        CASE WHEN l.state = 'R' THEN CASE WHEN l.due_us >= 253402214400000000 THEN l.error_code ELSE h.code END END AS held, l.aggregate_id * 64 + l.destination AS place, CASE WHEN l.state = 'X' THEN 'DeadLettered' WHEN l.state = 'L' AND l.due_us > ?5 THEN 'Dispatching'
            WHEN l.attempts > 0 THEN 'Failed' ELSE 'Pending' END AS status
        FROM {{p}}outbox_lane l JOIN {{p}}outbox_destination d ON d.destination = l.destination LEFT JOIN hold h ON h.name = d.name) x
JOIN {{p}}outbox_aggregate a ON a.aggregate_id = x.aggregate_id
LEFT JOIN {{p}}outbox_message m ON m.aggregate_id = x.aggregate_id AND m.aggregate_sequence = x.head_sequence
WHERE (?1 IS NULL OR x.tenant_id = ?1) AND (?2 IS NULL OR x.name = ?2) AND (?3 IS NULL OR x.status = ?3)
    AND (?6 IS NULL OR x.error_code = ?6 OR x.held = ?6) AND (?7 IS NULL OR x.failed_us < ?7)
    AND (?8 IS NULL OR x.place > ?8)
ORDER BY CASE WHEN ?8 IS NOT NULL THEN x.place END, x.state = 'X' DESC, x.attempts > 0 DESC, x.failed_us, x.tenant_id, a.aggregate_type, a.aggregate_key, x.name LIMIT ?4;

-- name: message
-- ?1 its id, ?2 now_us. A row for each destination. The payload of the last revision, for its size and digest. dispatched_revision: the one that was current when the
-- destination acknowledged; a correction is refused while a lease on the message lives.
SELECT m.tenant_id, m.company_id, m.aggregate_type, m.aggregate_key, m.aggregate_sequence, m.message_type, m.version, m.origin, m.correlation_id,
    m.causation_id, m.traceparent, m.occurred_us, m.created_us,
    coalesce((SELECT r.payload FROM {{p}}outbox_revision r WHERE r.message_id = m.message_id ORDER BY r.revision DESC LIMIT 1), m.payload),
    coalesce((SELECT max(r.revision) FROM {{p}}outbox_revision r WHERE r.message_id = m.message_id), 1),
    v.destination, v.status, v.attempts, CASE WHEN v.next_attempt_us < 253402214400000000 THEN v.next_attempt_us END, v.lease_until_us, a.delivered_us,
    CASE WHEN a.delivered_us IS NOT NULL THEN coalesce((SELECT max(r.revision) FROM {{p}}outbox_revision r
        WHERE r.message_id = m.message_id AND r.at_us <= a.delivered_us), 1) END,
    (SELECT min(f.stated_us) FROM {{p}}outbox_receipt f WHERE f.message_id = m.message_id AND f.destination = d.destination AND f.fact = 'Received'),
    (SELECT min(f.stated_us) FROM {{p}}outbox_receipt f WHERE f.message_id = m.message_id AND f.destination = d.destination AND f.fact = 'Applied'),
    s.fact, s.recorded_us,
    CASE WHEN v.next_attempt_us >= 253402214400000000 THEN 'PATH_HELD' WHEN v.next_attempt_us IS NOT NULL
        THEN (SELECT nullif(min(j.value), '') FROM {{p}}outbox_worker w, json_each(w.holds) j WHERE w.expected_us >= ?2 AND j.key = d.name) END
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

-- name: fence_off
-- ?1 aggregate, ?2 sequence, ?3 now_us. Who held a lease that ran out may have sent what stood here before, and may wake up: nothing of it is
-- settled any more. Before corrected.
UPDATE {{p}}outbox_lane SET state = 'R', attempts = attempts + 1, lease_owner = NULL, due_us = ?3
WHERE aggregate_id = ?1 AND head_sequence <= ?2 AND state = 'L'
    AND ((SELECT m.destinations FROM {{p}}outbox_message m WHERE m.aggregate_id = ?1 AND m.aggregate_sequence = ?2) >> destination) & 1 = 1;

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
-- ?1 tenant, ?2 consumer, ?3 message, ?4 result. A result that was kept stays: repeats were told it.
UPDATE {{p}}inbox_message SET result = ?4 WHERE tenant_id = ?1 AND consumer = ?2 AND message_id = ?3 AND result IS NULL;

-- name: inbox_repeat
-- ?1 tenant, ?2 consumer, ?3 message, ?4 outcome, ?5 digest, ?6 now_us.
INSERT INTO {{p}}inbox_repeat (tenant_id, consumer, message_id, outcome, payload_sha256, at_us) VALUES (?1, ?2, ?3, ?4, ?5, ?6);

-- name: inbox_list
-- ?1 tenant, ?2 consumer, ?3 message, NULL: any; ?4 limit; behind ?5 time, ?6 tenant, ?7 consumer, ?8 message; ?5 past all times: from the
-- beginning. Index: inbox_message_accepted_idx; a message's id alone is looked up under every (tenant, consumer)
-- by inbox_message_pkey, an entry or two for each of those. Of the result only its size.
WITH RECURSIVE place (tenant_id, consumer) AS (
    SELECT * FROM (SELECT m.tenant_id, m.consumer FROM {{p}}inbox_message m WHERE ?3 IS NOT NULL ORDER BY m.tenant_id, m.consumer LIMIT 1)
    UNION ALL
    SELECT (SELECT m.tenant_id FROM {{p}}inbox_message m WHERE (m.tenant_id, m.consumer) > (q.tenant_id, q.consumer)
            ORDER BY m.tenant_id, m.consumer LIMIT 1),
        (SELECT m.consumer FROM {{p}}inbox_message m WHERE (m.tenant_id, m.consumer) > (q.tenant_id, q.consumer)
            ORDER BY m.tenant_id, m.consumer LIMIT 1)
    FROM place q WHERE q.tenant_id IS NOT NULL),
found AS (
    SELECT * FROM (SELECT m.* FROM {{p}}inbox_message m WHERE ?3 IS NULL AND (?1 IS NULL OR m.tenant_id = ?1) AND (?2 IS NULL OR m.consumer = ?2)
            AND m.accepted_us <= ?5 AND (m.accepted_us < ?5 OR (m.tenant_id, m.consumer, m.message_id) > (?6, ?7, ?8))
        ORDER BY m.accepted_us DESC, m.tenant_id, m.consumer, m.message_id LIMIT ?4)
    UNION ALL
    SELECT * FROM (SELECT m.* FROM place q CROSS JOIN {{p}}inbox_message m ON m.tenant_id = q.tenant_id AND m.consumer = q.consumer AND m.message_id = ?3
        WHERE (?1 IS NULL OR q.tenant_id = ?1) AND (?2 IS NULL OR q.consumer = ?2)
            AND m.accepted_us <= ?5 AND (m.accepted_us < ?5 OR (m.tenant_id, m.consumer, m.message_id) > (?6, ?7, ?8))
        ORDER BY m.accepted_us DESC, m.tenant_id, m.consumer LIMIT ?4))
SELECT i.tenant_id, i.consumer, i.message_id, i.payload_sha256, i.accepted_us, length(CAST(i.result AS BLOB)),
    (SELECT count(*) FROM {{p}}inbox_repeat r WHERE r.tenant_id = i.tenant_id AND r.consumer = i.consumer AND r.message_id = i.message_id
        AND r.outcome = 'duplicate'),
    (SELECT count(*) FROM {{p}}inbox_repeat r WHERE r.tenant_id = i.tenant_id AND r.consumer = i.consumer AND r.message_id = i.message_id
        AND r.outcome = 'conflict')
FROM found i ORDER BY i.accepted_us DESC, i.tenant_id, i.consumer, i.message_id;

-- name: inbox_conflicts
-- ?1 tenant, ?2 consumer, ?3 message, NULL: any; ?4 limit; ?5 ids below this. Index: inbox_repeat_conflict_idx; a message's id alone as in inbox_list, by
-- inbox_repeat_message_idx.
WITH RECURSIVE place (tenant_id, consumer) AS (
    SELECT * FROM (SELECT m.tenant_id, m.consumer FROM {{p}}inbox_repeat m WHERE ?3 IS NOT NULL ORDER BY m.tenant_id, m.consumer LIMIT 1)
    UNION ALL
    SELECT (SELECT m.tenant_id FROM {{p}}inbox_repeat m WHERE (m.tenant_id, m.consumer) > (q.tenant_id, q.consumer)
            ORDER BY m.tenant_id, m.consumer LIMIT 1),
        (SELECT m.consumer FROM {{p}}inbox_repeat m WHERE (m.tenant_id, m.consumer) > (q.tenant_id, q.consumer)
            ORDER BY m.tenant_id, m.consumer LIMIT 1)
    FROM place q WHERE q.tenant_id IS NOT NULL),
found AS (
    SELECT * FROM (SELECT r.* FROM {{p}}inbox_repeat r WHERE ?3 IS NULL AND r.outcome = 'conflict' AND (?1 IS NULL OR r.tenant_id = ?1)
        AND (?2 IS NULL OR r.consumer = ?2) AND r.id < ?5 ORDER BY r.id DESC LIMIT ?4)
    UNION ALL
    SELECT * FROM (SELECT r.* FROM place q CROSS JOIN {{p}}inbox_repeat r ON r.tenant_id = q.tenant_id AND r.consumer = q.consumer AND r.message_id = ?3
            AND r.outcome = 'conflict'
        WHERE (?1 IS NULL OR q.tenant_id = ?1) AND (?2 IS NULL OR q.consumer = ?2) AND r.id < ?5 ORDER BY r.id DESC LIMIT ?4))
SELECT c.tenant_id, c.consumer, c.message_id, i.payload_sha256, i.accepted_us, c.payload_sha256, c.at_us, c.id
FROM found c LEFT JOIN {{p}}inbox_message i ON i.tenant_id = c.tenant_id AND i.consumer = c.consumer AND i.message_id = c.message_id
ORDER BY c.id DESC;

-- name: worker_seen
-- ?1 worker, ?2 now_us, ?3 by when the next beat is expected, ?4 what it holds. No row: it is not registered. drain_us as it is: SQLite 3.40 gives 1 for
-- RETURNING drain_us IS NOT NULL, whatever it is.
UPDATE {{p}}outbox_worker SET seen_us = ?2, expected_us = ?3, holds = ?4 WHERE worker = ?1 RETURNING drain_us;

-- name: worker_forget
-- ?1 silent since before this.
DELETE FROM {{p}}outbox_worker WHERE expected_us < ?1;

-- name: worker_begin
-- ?1 worker, ?2 its destinations, ?3 threads, ?4 now_us, ?5 by when the next beat is expected, ?6 what it holds.
INSERT INTO {{p}}outbox_worker (worker, destinations, threads, started_us, seen_us, expected_us, holds) VALUES (?1, ?2, ?3, ?4, ?4, ?5, ?6);

-- name: worker_quota
-- ?1 worker, ?2 its quota for one tenant. An outbox that was not installed anew since has no such column.
UPDATE {{p}}outbox_worker SET tenant_quota = ?2 WHERE worker = ?1 AND tenant_quota IS NOT ?2;

-- name: quotas
-- ?1 now_us. Of each destination that a worker takes lanes for the smallest quota of its workers, and how many tenants hold it while more of theirs is due; then
-- those tenants, up to 100, those with the most leases first. Indexes: outbox_lane_leased, an entry for each lane in flight; outbox_lane_due, the first of a tenant
-- that holds its quota. Never what waits behind it.
WITH quota AS MATERIALIZED (SELECT d.destination, d.name, min(w.tenant_quota) AS quota FROM {{p}}outbox_worker w, json_each(w.holds) j
        JOIN {{p}}outbox_destination d ON d.name = j.key
        WHERE w.expected_us >= ?1 AND w.drain_us IS NULL AND j.value = '' AND w.tenant_quota IS NOT NULL GROUP BY d.destination, d.name),
full_hand AS MATERIALIZED (SELECT q.destination, q.quota, l.tenant_id, count(*) AS leases
    FROM quota q CROSS JOIN {{p}}outbox_lane l INDEXED BY {{p}}outbox_lane_leased ON l.destination = q.destination AND l.state = 'L' AND l.due_us > ?1
    GROUP BY q.destination, q.quota, l.tenant_id HAVING count(*) >= q.quota),
at_quota AS MATERIALIZED (SELECT f.destination, f.tenant_id, f.leases FROM full_hand f
    WHERE EXISTS (SELECT 1 FROM {{p}}outbox_lane l INDEXED BY {{p}}outbox_lane_due WHERE l.destination = f.destination AND l.tenant_id = f.tenant_id
        AND l.state <> 'X' AND l.due_us <= ?1)),
told (name, quota, tenants, tenant_id, leases) AS (
    SELECT q.name, q.quota, count(a.tenant_id), NULL, coalesce(sum(a.leases), 0) FROM quota q LEFT JOIN at_quota a ON a.destination = q.destination
        GROUP BY q.name, q.quota
    UNION ALL
    SELECT * FROM (SELECT q.name, q.quota, 1, a.tenant_id, a.leases FROM at_quota a JOIN quota q ON q.destination = a.destination
        ORDER BY a.leases DESC, a.tenant_id LIMIT 100))
SELECT name, quota, tenants, tenant_id, leases FROM told ORDER BY name, tenant_id; -- NULL before all names

-- name: worker_end
-- ?1 worker.
DELETE FROM {{p}}outbox_worker WHERE worker = ?1;

-- name: workers
-- ?1 now_us. Lanes in flight are counted once.
SELECT w.worker, CASE WHEN w.expected_us < ?1 THEN 'silent' WHEN w.drain_us IS NOT NULL THEN 'draining' ELSE 'running' END, w.destinations, w.threads,
    coalesce(h.leases, 0), w.started_us, w.seen_us, w.expected_us, w.drain_us, w.drain_user, w.drain_reason
FROM {{p}}outbox_worker w LEFT JOIN (SELECT l.lease_owner, count(*) AS leases FROM {{p}}outbox_lane l WHERE l.state = 'L' AND l.due_us > ?1
    GROUP BY l.lease_owner) h ON h.lease_owner = w.worker
ORDER BY w.started_us, w.worker;

-- name: worker_drain
-- ?1 worker, ?2 now_us, ?3 user, ?4 reason. No row: no such worker. One that was asked before keeps who asked first.
UPDATE {{p}}outbox_worker SET drain_user = CASE WHEN drain_us IS NULL THEN ?3 ELSE drain_user END,
    drain_reason = CASE WHEN drain_us IS NULL THEN ?4 ELSE drain_reason END, drain_us = coalesce(drain_us, ?2) WHERE worker = ?1;

-- name: upkeep
-- ?1 now_us, ?2 action, ?3 subject, ?4 older than, ?5 rows, ?6 user, ?7 reason.
INSERT INTO {{p}}outbox_upkeep (at_us, action, subject, older_than_us, row_count, user_name, reason) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7);

-- name: purge_page
-- ?1 aggregate, ?2 sequence behind which, ?3 batch, ?4 settled before this. The last column: it goes, as every earlier one of its aggregate. Indexes:
-- outbox_message_pkey, outbox_lane_pkey, outbox_delivery_pkey, outbox_operation_discarded.
SELECT p.aggregate_id, p.aggregate_sequence, p.created_us, p.message_id,
    min(p.settled) OVER (PARTITION BY p.aggregate_id ORDER BY p.aggregate_sequence)
FROM (SELECT m.aggregate_id, m.aggregate_sequence, m.created_us, m.message_id,
        coalesce(m.aggregate_sequence < (SELECT min(l.head_sequence) FROM {{p}}outbox_lane l WHERE l.aggregate_id = m.aggregate_id
            AND l.destination IN (SELECT t.destination FROM {{p}}outbox_destination t)), 1) AND NOT EXISTS (
            SELECT 1 FROM {{p}}outbox_destination d WHERE (m.destinations >> d.destination) & 1 = 1 AND coalesce(
                (SELECT o.at_us FROM {{p}}outbox_operation o WHERE o.aggregate_id = m.aggregate_id AND o.aggregate_sequence = m.aggregate_sequence
                    AND o.destination = d.destination AND o.action = 'trilha.outbox-message.discarded'),
                (SELECT y.delivered_us FROM {{p}}outbox_delivery y WHERE y.aggregate_id = m.aggregate_id AND y.destination = d.destination
                    AND y.sequence_from <= m.aggregate_sequence AND y.sequence_to >= m.aggregate_sequence ORDER BY y.sequence_from DESC LIMIT 1),
                m.created_us) >= ?4) AS settled
    FROM {{p}}outbox_message m WHERE (m.aggregate_id, m.aggregate_sequence) > (?1, ?2) ORDER BY m.aggregate_id, m.aggregate_sequence LIMIT ?3) p
ORDER BY p.aggregate_id, p.aggregate_sequence;

-- name: purge_mark
-- ?1 aggregate, ?2 sequence. Before its message goes; what was discarded leaves no mark.
INSERT INTO {{p}}outbox_purged (aggregate_id, destination, last_sequence)
SELECT m.aggregate_id, d.destination, m.aggregate_sequence FROM {{p}}outbox_message m
JOIN {{p}}outbox_destination d ON (m.destinations >> d.destination) & 1 = 1
WHERE m.aggregate_id = ?1 AND m.aggregate_sequence = ?2 AND NOT EXISTS (SELECT 1 FROM {{p}}outbox_operation o WHERE o.aggregate_id = m.aggregate_id
    AND o.aggregate_sequence = m.aggregate_sequence AND o.destination = d.destination AND o.action = 'trilha.outbox-message.discarded')
ON CONFLICT (aggregate_id, destination) DO UPDATE SET last_sequence = excluded.last_sequence;

-- name: purge_message
-- ?1 aggregate, ?2 sequence.
DELETE FROM {{p}}outbox_message WHERE aggregate_id = ?1 AND aggregate_sequence = ?2;

-- name: purge_content
-- ?1 message.
UPDATE {{p}}outbox_revision SET payload = NULL WHERE message_id = ?1 AND payload IS NOT NULL;

-- name: purge_runs
-- ?1 aggregate, ?2 sequence: runs that ended before or there.
DELETE FROM {{p}}outbox_delivery WHERE aggregate_id = ?1 AND sequence_to <= ?2;

-- name: inbox_old
-- ?1 accepted before this. Index: inbox_message_accepted_idx.
SELECT count(*), min(accepted_us), max(accepted_us) FROM {{p}}inbox_message WHERE accepted_us < ?1;

-- name: inbox_old_batch
-- ?1 accepted before this, ?2 batch: how many of the oldest go.
SELECT count(*), min(o.accepted_us), max(o.accepted_us) FROM (SELECT accepted_us FROM {{p}}inbox_message WHERE accepted_us < ?1
    ORDER BY accepted_us LIMIT ?2) o;

-- name: purge_inbox
-- ?1 accepted before this, ?2 batch.
DELETE FROM {{p}}inbox_message WHERE (tenant_id, consumer, message_id) IN (SELECT o.tenant_id, o.consumer, o.message_id FROM {{p}}inbox_message o
    WHERE o.accepted_us < ?1 ORDER BY o.accepted_us LIMIT ?2);

-- name: purge_repeats
-- ?1 before this, ?2 batch.
DELETE FROM {{p}}inbox_repeat WHERE id IN (SELECT o.id FROM {{p}}inbox_repeat o WHERE o.at_us < ?1 ORDER BY o.at_us LIMIT ?2);

-- name: total
-- ?1 sent, ?2 failed, ?3 dead letters, ?4 fenced.
UPDATE {{p}}outbox_total SET sent = sent + ?1, failed = failed + ?2, dead_letters = dead_letters + ?3, fenced = fenced + ?4 WHERE id = 1;

-- name: gauges
-- ?1 now_us. A row for each number: its name, what it is of, its value. What it costs grows with the lanes that have work, an entry of two indexes each,
-- and never with the messages.
WITH hold (name) AS MATERIALIZED (SELECT j.key FROM {{p}}outbox_worker w, json_each(w.holds) j WHERE w.expected_us >= ?1
    GROUP BY j.key HAVING min(j.value) <> ''),
lane AS MATERIALIZED (
    SELECT d.name AS destination, l.tenant_id, l.state, l.attempts, l.due_us > ?1 AS ahead,
        l.state = 'R' AND (l.due_us >= 253402214400000000 OR h.name IS NOT NULL) AS held, a.last_sequence - l.head_sequence AS behind,
        (SELECT m.created_us FROM {{p}}outbox_message m WHERE m.aggregate_id = l.aggregate_id AND m.aggregate_sequence >= l.head_sequence
            AND (m.destinations >> l.destination) & 1 = 1 ORDER BY m.aggregate_sequence LIMIT 1) AS head_us
    FROM {{p}}outbox_destination d LEFT JOIN hold h ON h.name = d.name LEFT JOIN {{p}}outbox_lane l ON l.destination = d.destination
    LEFT JOIN {{p}}outbox_aggregate a ON a.aggregate_id = l.aggregate_id),
place AS MATERIALIZED (
    SELECT destination, count(*) FILTER (WHERE state = 'R' AND attempts = 0 AND held IS NOT 1) AS ready,
        count(*) FILTER (WHERE state = 'R' AND attempts > 0 AND held IS NOT 1) AS waiting, count(*) FILTER (WHERE held) AS held,
        count(*) FILTER (WHERE state = 'L' AND ahead) AS leased, count(*) FILTER (WHERE state = 'L' AND NOT ahead) AS expired,
        count(*) FILTER (WHERE state = 'X') AS dead, coalesce(sum(behind) FILTER (WHERE state = 'X'), 0) AS behind_dead,
        coalesce(sum(behind + 1) FILTER (WHERE head_us IS NOT NULL), 0) AS backlog, max(coalesce(?1 - min(head_us), 0), 0) AS head_age_us
    FROM lane GROUP BY destination),
applied AS MATERIALIZED (
    SELECT max(f.stated_us - m.created_us, 0) AS us FROM (SELECT r.message_id, r.stated_us FROM {{p}}outbox_receipt r WHERE r.fact = 'Applied'
        ORDER BY r.id DESC LIMIT 1000) f JOIN {{p}}outbox_message m ON m.message_id = f.message_id)
SELECT 'ready', destination, ready FROM place
UNION ALL SELECT 'waiting', destination, waiting FROM place
UNION ALL SELECT 'held', destination, held FROM place
UNION ALL SELECT 'leased', destination, leased FROM place
UNION ALL SELECT 'expired', destination, expired FROM place
UNION ALL SELECT 'dead', destination, dead FROM place
UNION ALL SELECT 'behind_dead', destination, behind_dead FROM place
UNION ALL SELECT 'backlog', destination, backlog FROM place
UNION ALL SELECT 'head_age_us', destination, head_age_us FROM place
UNION ALL SELECT * FROM (SELECT 'tenant', tenant_id, count(*) FROM lane WHERE tenant_id IS NOT NULL GROUP BY tenant_id ORDER BY 3 DESC, 2 LIMIT 100)
UNION ALL SELECT 'tenants_rest', NULL, max(count(DISTINCT tenant_id) - 100, 0) FROM lane
UNION ALL SELECT 'sent', NULL, sent FROM {{p}}outbox_total
UNION ALL SELECT 'failed', NULL, failed FROM {{p}}outbox_total
UNION ALL SELECT 'dead_letters', NULL, dead_letters FROM {{p}}outbox_total
UNION ALL SELECT 'fenced', NULL, fenced FROM {{p}}outbox_total
UNION ALL SELECT 'workers', NULL, count(*) FROM {{p}}outbox_worker WHERE expected_us >= ?1
UNION ALL SELECT 'workers_silent', NULL, count(*) FROM {{p}}outbox_worker WHERE expected_us < ?1
UNION ALL SELECT 'inbox_duplicates', NULL, count(*) FROM (SELECT 1 FROM {{p}}inbox_repeat WHERE outcome = 'duplicate' LIMIT 10000)
UNION ALL SELECT 'inbox_conflicts', NULL, count(*) FROM (SELECT 1 FROM {{p}}inbox_repeat WHERE outcome = 'conflict' LIMIT 10000)
UNION ALL SELECT 'applied_us', NULL, us FROM (SELECT us FROM applied ORDER BY us LIMIT 1 OFFSET (SELECT (count(*) - 1) / 2 FROM applied));

-- name: service_guarded
-- Whether dispatching needs a grant: from the first one on. One entry.
SELECT 1 FROM {{p}}outbox_service_change WHERE id > 0 LIMIT 1;

-- name: service_stands
-- ?1 credential, ?2 destination, ?3 tenant, ?4 company ('': none), ?5 operation. No row: never granted. Index: outbox_service_change_key, one entry.
SELECT action = 'trilha.service-grant.granted' FROM {{p}}outbox_service_change INDEXED BY {{p}}outbox_service_change_key
WHERE credential = ?1 AND destination = ?2 AND tenant_id = ?3 AND company_id = ?4 AND operation = ?5 ORDER BY id DESC LIMIT 1;

-- name: service_change
-- ?1 to ?5 as service_stands, ?6 action, ?7 now_us, ?8 user, ?9 reason.
INSERT INTO {{p}}outbox_service_change (credential, destination, tenant_id, company_id, operation, action, at_us, user_name, reason)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9);

-- name: service_grants
-- How each key stands, and who made it so.
SELECT c.credential, d.name, c.tenant_id, nullif(c.company_id, ''), c.operation, c.action = 'trilha.service-grant.granted', c.at_us, c.user_name, c.reason
FROM {{p}}outbox_service_change c JOIN {{p}}outbox_destination d ON d.destination = c.destination
WHERE c.id IN (SELECT max(id) FROM {{p}}outbox_service_change GROUP BY credential, destination, tenant_id, company_id, operation)
ORDER BY 1, 2, 3, 4, 5;

-- name: handler_said
-- ?1 destination, ?2 guarantee, ?3 because or NULL. A row: it was said before, or the destination is not known here.
SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM {{p}}outbox_destination WHERE name = ?1)
    OR EXISTS (SELECT 1 FROM {{p}}outbox_handler h JOIN {{p}}outbox_destination d ON d.destination = h.destination
        WHERE d.name = ?1 AND h.guarantee = ?2 AND h.because IS ?3);

-- name: handler_declare
-- ?1 to ?3 as handler_said, ?4 worker, ?5 now_us.
INSERT INTO {{p}}outbox_handler (destination, guarantee, because, worker, declared_us)
SELECT destination, ?2, ?3, ?4, ?5 FROM {{p}}outbox_destination WHERE name = ?1
ON CONFLICT (destination) DO UPDATE SET guarantee = excluded.guarantee, because = excluded.because, worker = excluded.worker,
    declared_us = excluded.declared_us;

-- name: handlers
SELECT d.name, h.guarantee, h.because, h.worker, h.declared_us
FROM {{p}}outbox_destination d LEFT JOIN {{p}}outbox_handler h ON h.destination = d.destination ORDER BY 1;
