-- Which workers deliver this outbox, and what operators do to the outbox as a whole (specification 001, rules 7 and 8). All times are this database's clock.

-- A row while a relay runs. `worker` is the owner of its leases. One that says nothing until expected_by has ended without a word, or cannot reach the
-- database; its leases run out by themselves, and its row goes away a day later.
CREATE TABLE {{p}}outbox_worker (
    worker       text        NOT NULL,
    destinations text        NOT NULL,
    threads      bigint      NOT NULL,
    started_at   timestamptz NOT NULL,
    seen_at      timestamptz NOT NULL,
    expected_by  timestamptz NOT NULL,
    drain_at     timestamptz, -- since when it is asked to finish what it holds and to take no more
    drain_user   text,
    drain_reason text,
    holds        jsonb       NOT NULL DEFAULT '{}', -- of each destination why its lanes are left alone, '' when they are not
    CONSTRAINT outbox_worker_pkey PRIMARY KEY (worker)
) WITH (fillfactor = 50); -- its updates stay HOT

-- What was done to the outbox as a whole, insert-only; what was done to one message is in outbox_operation.
CREATE TABLE {{p}}outbox_upkeep (
    id            bigint      NOT NULL GENERATED ALWAYS AS IDENTITY,
    at            timestamptz NOT NULL DEFAULT clock_timestamp(),
    action        text        NOT NULL,
    subject       text        NOT NULL, -- the worker, or what was purged
    older_than    timestamptz,          -- of a purge
    row_count     bigint,
    user_name     text        NOT NULL,
    database_role text        NOT NULL DEFAULT session_user,
    reason        text        NOT NULL,
    CONSTRAINT outbox_upkeep_pkey PRIMARY KEY (id),
    CONSTRAINT outbox_upkeep_action_known CHECK (action IN ('trilha.outbox-worker.drained', 'trilha.outbox-message.purged',
        'trilha.inbox-message.purged', 'trilha.outbox-path.held', 'trilha.outbox-path.taken', 'trilha.outbox-message.imported')),
    CONSTRAINT outbox_upkeep_purge_counted CHECK (action NOT LIKE '%.purged' OR (older_than IS NOT NULL AND row_count IS NOT NULL)),
    CONSTRAINT outbox_upkeep_reason_given CHECK (reason <> '' AND user_name <> '')
);
CREATE TRIGGER outbox_upkeep_insert_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {{p}}outbox_upkeep
    FOR EACH STATEMENT EXECUTE FUNCTION {{p}}outbox_refuse_change();
ALTER TABLE {{p}}outbox_upkeep ENABLE ALWAYS TRIGGER outbox_upkeep_insert_only;

-- What all workers have done since the outbox was made, as they told with their beats.
CREATE TABLE {{p}}outbox_total (
    id           smallint NOT NULL,
    sent         bigint   NOT NULL,
    failed       bigint   NOT NULL,
    dead_letters bigint   NOT NULL,
    fenced       bigint   NOT NULL,
    CONSTRAINT outbox_total_pkey PRIMARY KEY (id),
    CONSTRAINT outbox_total_one CHECK (id = 1)
) WITH (fillfactor = 50);
INSERT INTO {{p}}outbox_total (id, sent, failed, dead_letters, fenced) VALUES (1, 0, 0, 0, 0);

-- A worker says that it is there and what it has done since, and is told whether to drain. One row, and one of outbox_total; those that were silent for a day go when another begins.
CREATE FUNCTION {{p}}outbox_worker_beat(p_worker text, p_destinations text, p_threads bigint, p_expected_ms bigint, p_sent bigint,
    p_failed bigint, p_dead_letters bigint, p_fenced bigint, p_holds text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    drained boolean;
BEGIN
    UPDATE {{p}}outbox_worker w SET seen_at = clock_timestamp(), expected_by = clock_timestamp() + p_expected_ms * interval '1 ms',
        holds = p_holds::jsonb
    WHERE w.worker = p_worker RETURNING w.drain_at IS NOT NULL INTO drained;
    IF p_sent + p_failed + p_dead_letters + p_fenced > 0 THEN
        UPDATE {{p}}outbox_total t SET sent = t.sent + p_sent, failed = t.failed + p_failed, dead_letters = t.dead_letters + p_dead_letters,
            fenced = t.fenced + p_fenced WHERE t.id = 1;
    END IF;
    IF drained IS NOT NULL THEN RETURN drained; END IF;
    DELETE FROM {{p}}outbox_worker w WHERE w.worker IN (SELECT o.worker FROM {{p}}outbox_worker o
        WHERE o.expected_by < clock_timestamp() - interval '1 day' ORDER BY o.worker FOR UPDATE SKIP LOCKED);
    INSERT INTO {{p}}outbox_worker (worker, destinations, threads, started_at, seen_at, expected_by, holds)
    VALUES (p_worker, p_destinations, p_threads, clock_timestamp(), clock_timestamp(), clock_timestamp() + p_expected_ms * interval '1 ms', p_holds::jsonb)
    ON CONFLICT (worker) DO NOTHING;
    RETURN false;
END
$$;

-- A worker has come to its end, and tells what it has done since its last beat.
CREATE FUNCTION {{p}}outbox_worker_end(p_worker text, p_sent bigint, p_failed bigint, p_dead_letters bigint, p_fenced bigint) RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    UPDATE {{p}}outbox_total t SET sent = t.sent + p_sent, failed = t.failed + p_failed, dead_letters = t.dead_letters + p_dead_letters,
        fenced = t.fenced + p_fenced WHERE t.id = 1 AND p_sent + p_failed + p_dead_letters + p_fenced > 0;
    DELETE FROM {{p}}outbox_worker w WHERE w.worker = p_worker
$$;

-- Who runs. leases: lanes it holds now. Index: outbox_lane_leased, which has an entry for each lane in flight.
CREATE FUNCTION {{p}}outbox_workers()
    RETURNS TABLE (worker text, status text, destinations text, threads bigint, leases bigint, started_at timestamptz, seen_at timestamptz,
        expected_by timestamptz, drain_at timestamptz, drain_user text, drain_reason text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT w.worker, CASE WHEN w.expected_by < clock_timestamp() THEN 'silent' WHEN w.drain_at IS NOT NULL THEN 'draining' ELSE 'running' END,
        w.destinations, w.threads, coalesce(h.leases, 0), w.started_at, w.seen_at, w.expected_by, w.drain_at, w.drain_user, w.drain_reason
    FROM {{p}}outbox_worker w
    LEFT JOIN (SELECT l.lease_owner, count(*) AS leases FROM {{p}}outbox_lane l WHERE l.state = 'L' AND l.due_at > clock_timestamp()
        GROUP BY l.lease_owner) h ON h.lease_owner = w.worker
    ORDER BY w.started_at, w.worker
$$;

-- Asks a worker to finish what it holds, to take no more and to end. It hears of it at its next beat. Asking again changes nothing.
CREATE FUNCTION {{p}}outbox_worker_drain(p_worker text, p_user text, p_reason text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM 1 FROM {{p}}outbox_worker w WHERE w.worker = p_worker FOR UPDATE;
    IF NOT FOUND THEN RAISE EXCEPTION 'no worker of this name is registered; `trilha worker list` names them' USING ERRCODE = 'TL012'; END IF;
    UPDATE {{p}}outbox_worker w SET drain_at = clock_timestamp(), drain_user = p_user, drain_reason = p_reason
    WHERE w.worker = p_worker AND w.drain_at IS NULL;
    INSERT INTO {{p}}outbox_upkeep (action, subject, user_name, reason) VALUES ('trilha.outbox-worker.drained', p_worker, p_user, p_reason);
END
$$;
