-- How a connection is greeted and how transactions begin and end.

-- name: session_greeting
-- No locks. Tells a transaction-mode pooler (another process answers than the one that greeted) and what we need of the server.
SELECT pg_catalog.pg_backend_pid(), pg_catalog.current_setting('server_encoding'),
    pg_catalog.current_setting('server_version_num')::int4;

-- name: session_settings
-- Direct connections only: the server notices within about 25 s that a client's machine is gone. No locks.
SELECT pg_catalog.set_config('tcp_keepalives_idle', '10', false),
    pg_catalog.set_config('tcp_keepalives_interval', '5', false),
    pg_catalog.set_config('tcp_keepalives_count', '3', false),
    pg_catalog.set_config('tcp_user_timeout', '25000', false);

-- name: transaction_begin_read
-- No locks. One snapshot for all that follows.
BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY;

-- name: transaction_begin_write
-- No locks yet. Each statement sees what was committed before it, whatever the database's default is.
BEGIN ISOLATION LEVEL READ COMMITTED, READ WRITE;

-- name: transaction_settings
-- $1 statement timeout, $2 lock timeout, both ms; $3 plan_cache_mode. For the transaction only: behind a pooler the session
-- belongs to others too. No locks. The pins make every plan an index look-up: a plan made while the log was empty, or
-- without statistics, is otherwise a sequential scan, and stays it.
SELECT pg_catalog.set_config('statement_timeout', $1::int8::text, true),
    pg_catalog.set_config('lock_timeout', $2::int8::text, true),
    pg_catalog.set_config('plan_cache_mode', $3::text, true),
    pg_catalog.set_config('enable_seqscan', 'off', true), pg_catalog.set_config('enable_bitmapscan', 'off', true),
    pg_catalog.set_config('enable_hashjoin', 'off', true), pg_catalog.set_config('enable_mergejoin', 'off', true),
    pg_catalog.set_config('jit', 'off', true);

-- name: transaction_free_plans
-- Undoes the pins for a query that is planned anew each time with its values (events_count, events_page_filtered).
SELECT pg_catalog.set_config('enable_seqscan', 'on', true), pg_catalog.set_config('enable_bitmapscan', 'on', true),
    pg_catalog.set_config('enable_hashjoin', 'on', true), pg_catalog.set_config('enable_mergejoin', 'on', true);

-- name: transaction_durable
-- $1: false only for the unsafe mode. A role's or database's synchronous_commit = off must not weaken an acknowledgement.
SELECT pg_catalog.set_config('synchronous_commit', CASE WHEN NOT $1::bool THEN 'off'
    WHEN pg_catalog.current_setting('synchronous_commit') = 'off' THEN 'on'
    ELSE pg_catalog.current_setting('synchronous_commit') END, true);

-- name: transaction_commit
-- Releases every lock.
COMMIT;

-- name: transaction_rollback
-- Releases every lock.
ROLLBACK;

-- name: listen_mark
-- The session's own until it ends: by it publishers see that somebody listens (query notify). False: a publisher was looking at
-- that moment.
SELECT pg_catalog.pg_try_advisory_lock_shared(1953655148, 1);

-- name: listen
-- No locks; never through a pooler.
LISTEN trilha_event_log;

-- name: notify
-- $1: the largest sequence stored. A hint, sent after the commit and never from a producer's transaction. Tells whether somebody
-- listens; where nobody bears the mark nothing is sent, and the transaction takes no number and no lock of the cluster's.
SELECT CASE WHEN pg_catalog.pg_try_advisory_lock(1953655148, 1) AND pg_catalog.pg_advisory_unlock(1953655148, 1) THEN false
    ELSE pg_catalog.pg_notify('trilha_event_log', $1::int8::text) IS NOT NULL END;
