-- The unit of work on a connection of the caller's. {{p}} is the name of a savepoint, trilha_savepoint_NUMBER. A transaction is
-- known by when it began: one connection begins no two in the same microsecond. The setting trilha.unit_of_work is local to the
-- transaction: it goes back with ROLLBACK TO SAVEPOINT and is kept by RELEASE.

-- name: unit_begin
-- No locks. As a script: one round trip.
BEGIN;
SELECT (extract(epoch FROM pg_catalog.transaction_timestamp()) * 1000000)::pg_catalog.int8;

-- name: unit_adopt
-- No locks.
SELECT (extract(epoch FROM pg_catalog.transaction_timestamp()) * 1000000)::pg_catalog.int8;

-- name: unit_may_ask
-- No locks. Whether the session may ask what unit_server asks: an error there would cost an adopted transaction its life.
SELECT pg_catalog.has_function_privilege('pg_catalog.pg_control_system()', 'EXECUTE')
    AND pg_catalog.has_function_privilege('pg_catalog.pg_current_wal_lsn()', 'EXECUTE')
    AND pg_catalog.has_function_privilege('pg_catalog.pg_walfile_name(pg_lsn)', 'EXECUTE')
    AND NOT pg_catalog.pg_is_in_recovery();

-- name: unit_server
-- No locks. Which cluster this is, and on which timeline.
SELECT (SELECT system_identifier FROM pg_catalog.pg_control_system()),
    pg_catalog.left(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 8);

-- name: unit_mark
-- $1: the new mark. No locks. The first column is the mark before: the common table is read before its row is used.
WITH earlier AS MATERIALIZED (SELECT pg_catalog.current_setting('trilha.unit_of_work', true) AS mark)
SELECT earlier.mark, (extract(epoch FROM pg_catalog.transaction_timestamp()) * 1000000)::pg_catalog.int8,
    pg_catalog.set_config('trilha.unit_of_work', $1, true) FROM earlier;

-- name: unit_last_mark
-- No locks. With it the transaction's number, NULL when it has written nothing.
SELECT pg_catalog.current_setting('trilha.unit_of_work', true),
    (extract(epoch FROM pg_catalog.transaction_timestamp()) * 1000000)::pg_catalog.int8,
    pg_catalog.pg_current_xact_id_if_assigned();

-- name: unit_savepoint
-- No locks.
SAVEPOINT {{p}};

-- name: unit_rollback_to
-- Releases the locks taken since.
ROLLBACK TO SAVEPOINT {{p}};

-- name: unit_release
-- No locks.
RELEASE SAVEPOINT {{p}};

-- name: unit_verdict
-- $1: the number of a transaction whose answer was lost. No locks. On another session of the same cluster.
SELECT (SELECT system_identifier FROM pg_catalog.pg_control_system()),
    CASE WHEN pg_catalog.pg_is_in_recovery() THEN NULL
        ELSE pg_catalog.left(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 8) END,
    pg_catalog.pg_xact_status($1::pg_catalog.text::pg_catalog.xid8);
