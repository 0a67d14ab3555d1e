-- Calls of the functions in a producer's schema; {{p}} is its quoted name and a dot. Locks and indexes are told where the functions are made:
-- 20261130030000_outbox.sql, 20261130030100_inbox.sql.

-- name: turn
-- Held until the migrating transaction ends: one migrates at a time in this database.
SELECT pg_catalog.pg_advisory_xact_lock(7526741208934106114);

-- name: schema
-- $1 the schema's name. Is it there?
SELECT pg_catalog.to_regnamespace(pg_catalog.quote_ident($1::text)) IS NOT NULL;

-- name: create_schema
-- Under turn. {{s}} is the quoted name.
CREATE SCHEMA IF NOT EXISTS {{s}};

-- name: book
-- Under turn.
CREATE TABLE IF NOT EXISTS {{p}}outbox_migration (
    name       text        NOT NULL,
    checksum   text        NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT outbox_migration_pkey PRIMARY KEY (name)
);

-- name: has_book
-- $1 the schema's name.
SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_class c WHERE c.relname = 'outbox_migration'
    AND c.relnamespace = pg_catalog.to_regnamespace(pg_catalog.quote_ident($1::text)));

-- name: migrations_list
-- The whole table, which is small.
SELECT m.name, m.checksum FROM {{p}}outbox_migration m ORDER BY m.name COLLATE "C";

-- name: record
-- $1 name, $2 checksum.
INSERT INTO {{p}}outbox_migration (name, checksum) VALUES ($1::text, $2::text);

-- name: record_printed
-- As record, for people who run the SQL by hand: @NAME@ and @CHECKSUM@ are replaced when it is printed.
INSERT INTO {{p}}outbox_migration (name, checksum) VALUES ('@NAME@', '@CHECKSUM@');

-- name: grant
-- $1 role, $2 duty.
SELECT {{p}}outbox_grant($1::text, $2::text);

-- name: route_add
-- $1 pattern, $2 destination.
SELECT {{p}}outbox_route_add($1::text, $2::text);

-- name: route_remove
-- $1 pattern, $2 destination.
SELECT {{p}}outbox_route_remove($1::text, $2::text);

-- name: routes
SELECT r.type_pattern, r.destination FROM {{p}}outbox_routes() r;

-- name: claim
-- $1 destination, $2 owner, $3 after, $4 lanes, $5 quota, $6 lease in ms; arrays: $7 known tenants, $8 and $9 their floors.
SELECT c.aggregate_id, c.tenant_id, c.aggregate_type, c.aggregate_key, c.head_sequence, c.attempts, c.lease_token, c.due_at, c.since, c.leased_since, c.taken, c.more
FROM {{p}}outbox_claim({{p}}outbox_destination_number($1::text), $2::text, $3::text, $4::int8, $5::int8, $6::int8, $7::text[], $8::timestamptz[],
    $9::timestamptz[]) c;

-- name: fetch
-- $1 destination, $2 aggregates, $3 heads, $4 run, $5 bytes of a run.
SELECT f.lane, f.aggregate_sequence, f.previous_sequence, f.message_id, f.company_id, f.message_type, f.version, f.origin, f.correlation_id,
    f.causation_id, f.traceparent, f.occurred_at, f.payload, f.revision, (SELECT {{p}}outbox_service_guarded()), f.held_by
FROM {{p}}outbox_fetch({{p}}outbox_destination_number($1::text), $2::int8[], $3::int8[], $4::int8, $5::int8) f;

-- name: renew
-- $1 destination, $2 tenant, $3 due, $4 aggregate, $5 token, $6 lease in ms.
SELECT {{p}}outbox_renew({{p}}outbox_destination_number($1::text), $2::text, $3::timestamptz, $4::int8, $5::int8, $6::int8);

-- name: settle
-- $1 destination; arrays: $2 tenants, $3 dues, $4 aggregates, $5 tokens, $6 nexts, $7 drained, $8 delays, $9 codes, $10 texts.
SELECT s.settled FROM {{p}}outbox_settle({{p}}outbox_destination_number($1::text), $2::text[], $3::timestamptz[], $4::int8[], $5::int8[], $6::int8[],
    $7::int8[], $8::int8[], $9::text[], $10::text[]) s;

-- name: status
SELECT s.destination, s.ready, s.waiting, s.leased, s.dead, s.head_at, s.held, s.held_because FROM {{p}}outbox_status() s;

-- name: lanes
-- $1 tenant, $2 destination, $3 status, $4 error code, NULL: any; $5 failed before, NULL: whenever; $6 limit; $7 by place, behind this; NULL: by
-- urgency.
SELECT l.destination, l.tenant_id, l.aggregate_type, l.aggregate_key, l.status, l.head_sequence, l.message_id, l.message_type, l.attempts, l.due_at,
    l.owner, l.error_code, l.error_text, l.behind, l.head_at, l.failed_at, l.place, l.held
FROM {{p}}outbox_lanes($1::text, $2::text, $3::text, $4::text, $5::timestamptz, $6::int8, $7::int8) l;

-- name: message
-- $1 its id.
SELECT m.tenant_id, m.company_id, m.aggregate_type, m.aggregate_key, m.aggregate_sequence, m.message_type, m.version, m.origin, m.correlation_id,
    m.causation_id, m.traceparent, m.occurred_at, m.created_at, m.payload_bytes, m.payload_sha256, m.revision, m.destination, m.status, m.attempts,
    m.next_attempt_at, m.lease_until, m.dispatched_at, m.dispatched_revision, m.received_at, m.applied_at, m.said, m.said_at, m.held
FROM {{p}}outbox_message_get($1::uuid) m;

-- name: revisions
-- $1 message.
SELECT r.revision, r.at, r.user_name, r.reason, r.payload_bytes, r.payload_sha256, r.diff, r.accepted FROM {{p}}outbox_revisions($1::uuid) r;

-- name: receipts
-- $1 message.
SELECT r.destination, r.fact, r.revision, r.operation_id, r.stated_at, r.recorded_at, r.source, r.user_name, r.note
FROM {{p}}outbox_receipts($1::uuid) r;

-- name: reveal
-- $1 message, $2 revision (NULL: the last), $3 user, $4 reason.
SELECT r.revision, r.payload FROM {{p}}outbox_reveal($1::uuid, $2::int8, $3::text, $4::text) r;

-- name: operate
-- $1 message, $2 destination, $3 discard, $4 user, $5 reason, $6 reconciliation, $7 override.
SELECT {{p}}outbox_operate($1::uuid, $2::text, $3::bool, $4::text, $5::text, $6::text, $7::bool);

-- name: correct
-- $1 message, $2 the revision it corrects, $3 payload, $4 diff, $5 user, $6 reason.
SELECT c.revision, c.revived, c.accepted FROM {{p}}outbox_correct($1::uuid, $2::int8, $3::text, $4::text, $5::text, $6::text) c;

-- name: receipt_add
-- $1 message, $2 destination, $3 fact, $4 revision, $5 operation, $6 stated at, $7 source, $8 user, $9 note.
SELECT {{p}}outbox_receipt_add($1::uuid, $2::text, $3::text, $4::int8, $5::text, $6::timestamptz, $7::text, $8::text, $9::text);

-- name: enqueue
-- In the caller's transaction. The columns of trilha_message in its order.
SELECT e.message_id, e.aggregate_sequence FROM {{p}}outbox_enqueue($1::text, $2::text, $3::text, $4::text, $5::text, $6::text, $7::text, $8::uuid,
    $9::uuid, $10::text, $11::uuid, $12::text, $13::timestamptz) e;

-- name: inbox_accept
-- In the caller's transaction. $1 tenant, $2 consumer, $3 message, $4 digest.
SELECT a.outcome, a.result FROM {{p}}inbox_accept($1::text, $2::text, $3::uuid, $4::text) a;

-- name: inbox_accept_ordered
-- In the caller's transaction. As inbox_accept; $5 aggregate type, $6 key, $7 sequence, $8 previous sequence.
SELECT a.outcome, a.result FROM {{p}}inbox_accept_ordered($1::text, $2::text, $3::uuid, $4::text, $5::text, $6::text, $7::int8, $8::int8) a;

-- name: inbox_finish
-- In the caller's transaction. $1 tenant, $2 consumer, $3 message, $4 result.
SELECT {{p}}inbox_finish($1::text, $2::text, $3::uuid, $4::text);

-- name: inbox_list
-- $1 tenant, $2 consumer, $3 message, NULL: any; $4 limit; behind $5 time, $6 tenant, $7 consumer, $8 message; $5 NULL: from the beginning.
SELECT i.tenant_id, i.consumer, i.message_id, i.payload_sha256, i.accepted_at, i.result_bytes, i.duplicates, i.conflicts
FROM {{p}}inbox_list($1::text, $2::text, $3::uuid, $4::int8, coalesce($5::timestamptz, 'infinity'), $6::text, $7::text, $8::uuid) i;

-- name: inbox_conflicts
-- $1 tenant, $2 consumer, $3 message, NULL: any; $4 limit; $5 those below.
SELECT c.tenant_id, c.consumer, c.message_id, c.accepted_sha256, c.accepted_at, c.received_sha256, c.received_at, c.place
FROM {{p}}inbox_conflicts($1::text, $2::text, $3::uuid, $4::int8, $5::int8) c;

-- name: worker_beat
-- $1 worker, $2 its destinations, $3 threads, $4 by when the next beat is expected, in ms; since the last: $5 sent, $6 failed, $7 dead letters, $8 fenced; $9 what it
-- holds; $10 its quota for one tenant.
SELECT {{p}}outbox_worker_beat($1::text, $2::text, $3::int8, $4::int8, $5::int8, $6::int8, $7::int8, $8::int8, $9::text, $10::int8);

-- name: worker_beat_before
-- worker_beat, of an outbox that was not installed anew since workers tell their quota.
SELECT {{p}}outbox_worker_beat($1::text, $2::text, $3::int8, $4::int8, $5::int8, $6::int8, $7::int8, $8::int8, $9::text);

-- name: quotas
SELECT q.destination, q.quota, q.tenants, q.tenant_id, q.leases FROM {{p}}outbox_quotas() q;

-- name: worker_end
-- $1 worker; since its last beat: $2 sent, $3 failed, $4 dead letters, $5 fenced.
SELECT {{p}}outbox_worker_end($1::text, $2::int8, $3::int8, $4::int8, $5::int8);

-- name: workers
SELECT w.worker, w.status, w.destinations, w.threads, w.leases, w.started_at, w.seen_at, w.expected_by, w.drain_at, w.drain_user, w.drain_reason
FROM {{p}}outbox_workers() w;

-- name: worker_drain
-- $1 worker, $2 user, $3 reason.
SELECT {{p}}outbox_worker_drain($1::text, $2::text, $3::text);

-- name: path_hold
-- $1 pattern, $2 holder, $3 user, $4 reason.
SELECT {{p}}outbox_path_hold($1::text, $2::text, $3::text, $4::text);

-- name: path_take
-- $1 pattern, $2 override, $3 user, $4 reason.
SELECT {{p}}outbox_path_take($1::text, $2::bool, $3::text, $4::text);

-- name: paths
SELECT h.type_pattern, h.holder, h.held_at, h.user_name, h.reason FROM {{p}}outbox_paths() h;

-- name: import_begin
-- $1 mapping, $2 dry run, $3 user, $4 reason.
SELECT i.total, i.imported FROM {{p}}outbox_import_begin($1::text::jsonb, $2::bool, $3::text, $4::text) i;

-- name: import_batch
-- $1 the import's name, $2 batch, $3 user, $4 reason.
SELECT i.copied, i.ended FROM {{p}}outbox_import_batch($1::text, $2::int8, $3::text, $4::text) i;

-- name: purge_messages
-- $1 settled longer ago, in ms; $2 aggregate, $3 sequence behind which; $4 batch, $5 dry run, $6 user, $7 reason.
SELECT p.purged, p.oldest, p.newest, p.next_aggregate, p.next_sequence, p.ended
FROM {{p}}outbox_purge_messages($1::int8, $2::int8, $3::int8, $4::int8, $5::bool, $6::text, $7::text) p;

-- name: purge_inbox
-- $1 accepted longer ago, in ms; $2 batch, $3 dry run, $4 user, $5 reason.
SELECT p.purged, p.oldest, p.newest, p.ended FROM {{p}}inbox_purge($1::int8, $2::int8, $3::bool, $4::text, $5::text) p;

-- name: duties
-- $1 the schema. What the session's role may call; whether it is superuser; who besides the owner may write tables. The catalog alone.
SELECT coalesce(bool_or(p.proname = 'outbox_enqueue' AND pg_catalog.has_function_privilege(p.oid, 'EXECUTE')), false),
    coalesce(bool_or(p.proname = 'outbox_claim' AND pg_catalog.has_function_privilege(p.oid, 'EXECUTE')), false),
    coalesce(bool_or(p.proname = 'inbox_accept' AND pg_catalog.has_function_privilege(p.oid, 'EXECUTE')), false),
    coalesce(bool_or(p.proname = 'outbox_workers' AND pg_catalog.has_function_privilege(p.oid, 'EXECUTE')), false),
    coalesce((SELECT r.rolsuper FROM pg_catalog.pg_roles r WHERE r.rolname = current_user), false),
    (SELECT string_agg(DISTINCT CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE pg_catalog.pg_get_userbyid(a.grantee)::text END, ', ')
        FROM pg_catalog.pg_class c CROSS JOIN LATERAL pg_catalog.aclexplode(c.relacl) a
        WHERE c.relnamespace = pg_catalog.to_regnamespace(pg_catalog.quote_ident($1::text)) AND c.relkind IN ('r', 'p')
            AND (pg_catalog.starts_with(c.relname, 'outbox_') OR pg_catalog.starts_with(c.relname, 'inbox_')) AND a.grantee <> c.relowner
            AND a.privilege_type IN ('INSERT', 'UPDATE', 'DELETE', 'TRUNCATE'))
FROM pg_catalog.pg_proc p WHERE p.pronamespace = pg_catalog.to_regnamespace(pg_catalog.quote_ident($1::text));

-- name: gauges
-- And the oldest transaction that this role may see; of other roles' only with pg_read_all_stats.
SELECT g.name, g.label, g.value FROM {{p}}outbox_gauges() g
UNION ALL
SELECT 'transaction_us', NULL, coalesce(max(extract(epoch FROM pg_catalog.clock_timestamp() - a.xact_start) * 1000000), 0)::bigint
FROM pg_catalog.pg_stat_activity a WHERE a.datname = pg_catalog.current_database() AND a.pid <> pg_catalog.pg_backend_pid();

-- name: reaction_scope
-- In the transaction of a reaction, for it alone. $1 statement and lock time-out in ms; $2 the beginning of the names, else "trilha"; $3 tenant,
-- $4 company, $5 correlation, $6 causation, $7 trace, $8 credential ("": none), for policies that ask nullif(current_setting('trilha.tenant_id', true), '').
-- No locks.
SELECT pg_catalog.set_config('statement_timeout', $1::text, true), pg_catalog.set_config('lock_timeout', $1::text, true),
    pg_catalog.set_config($2::text || '.tenant_id', $3::text, true), pg_catalog.set_config($2::text || '.company_id', $4::text, true),
    pg_catalog.set_config($2::text || '.correlation_id', $5::text, true), pg_catalog.set_config($2::text || '.causation_id', $6::text, true),
    pg_catalog.set_config($2::text || '.traceparent', $7::text, true), pg_catalog.set_config($2::text || '.credential', $8::text, true);

-- name: reaction_clear
-- A script, after the transaction of a reaction: what a handler left in the session is not the next message's. Its plans stay, and so does what
-- session_settings said. Releases the session's advisory locks.
RESET SESSION AUTHORIZATION;
RESET ROLE;
RESET ALL;
UNLISTEN *;
CLOSE ALL;
SELECT pg_catalog.pg_advisory_unlock_all();
DISCARD TEMP;
SELECT pg_catalog.set_config('tcp_keepalives_idle', '10', false), pg_catalog.set_config('tcp_keepalives_interval', '5', false),
    pg_catalog.set_config('tcp_keepalives_count', '3', false), pg_catalog.set_config('tcp_user_timeout', '25000', false);

-- name: service_may
-- $1 credential (NULL: the login), $2 destination; arrays: $3 tenants, $4 companies or NULL, $5 operations.
SELECT m.credential, m.proven, m.granted
FROM {{p}}outbox_service_may($1::text, {{p}}outbox_destination_number($2::text), $3::text[], $4::text[], $5::text[]) m;

-- name: service_set
-- $1 grant or revoke, $2 credential, $3 destination, $4 tenant, $5 company or NULL, $6 operation, $7 user, $8 reason.
SELECT {{p}}outbox_service_set($1::bool, $2::text, $3::text, $4::text, $5::text, $6::text, $7::text, $8::text);

-- name: service_grants
SELECT g.credential, g.destination, g.tenant_id, g.company_id, g.operation, g.granted, g.at, g.user_name, g.reason FROM {{p}}outbox_service_grants() g;

-- name: handler_declare
-- $1 destination, $2 guarantee, $3 because or NULL, $4 worker.
SELECT {{p}}outbox_handler_declare($1::text, $2::text, $3::text, $4::text);

-- name: handlers
SELECT h.destination, h.guarantee, h.because, h.worker, h.declared_at FROM {{p}}outbox_handlers() h;
