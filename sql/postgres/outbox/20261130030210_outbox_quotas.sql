-- Which tenants hold the whole of what one tenant may have in flight (ruling R35). For an outbox of before, too: workers of an earlier version go on telling
-- of themselves as they did, and what they allow is not known.
ALTER TABLE {{p}}outbox_worker ADD COLUMN tenant_quota bigint; -- most lanes of one tenant in flight for one destination; NULL: it did not say

-- As the one without p_quota, which workers of an earlier version call.
CREATE FUNCTION {{p}}outbox_worker_beat(p_worker text, p_destinations text, p_threads bigint, p_expected_ms bigint, p_sent bigint,
    p_failed bigint, p_dead_letters bigint, p_fenced bigint, p_holds text, p_quota bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    drained boolean := {{p}}outbox_worker_beat(p_worker, p_destinations, p_threads, p_expected_ms, p_sent, p_failed, p_dead_letters, p_fenced, p_holds);
BEGIN
    UPDATE {{p}}outbox_worker w SET tenant_quota = p_quota WHERE w.worker = p_worker AND w.tenant_quota IS DISTINCT FROM p_quota;
    RETURN drained;
END
$$;

-- Of each destination that a worker takes lanes for the smallest quota of its workers, and how many tenants hold it while more of theirs is due; then those tenants,
-- up to 100, those with the most leases first. Indexes: outbox_lane_leased, an entry for each lane in flight; outbox_lane_due, the first of a tenant that holds
-- its quota. Never what waits behind it.
CREATE FUNCTION {{p}}outbox_quotas() RETURNS TABLE (destination text, quota bigint, tenants bigint, tenant_id text, leases bigint)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off AS $$
    WITH quota AS MATERIALIZED (
        SELECT d.destination AS number, d.name, min(w.tenant_quota) AS quota
        FROM {{p}}outbox_worker w CROSS JOIN LATERAL jsonb_each_text(w.holds) h JOIN {{p}}outbox_destination d ON d.name = h.key
        WHERE w.expected_by >= statement_timestamp() AND w.drain_at IS NULL AND h.value = '' AND w.tenant_quota IS NOT NULL GROUP BY d.destination, d.name),
    full_hand AS MATERIALIZED (
        SELECT q.number, q.quota, l.tenant_id, count(*) AS leases
        FROM quota q JOIN {{p}}outbox_lane l ON l.destination = q.number AND l.state = 'L' AND l.due_at > statement_timestamp()
        GROUP BY q.number, q.quota, l.tenant_id HAVING count(*) >= q.quota),
    at_quota AS MATERIALIZED (
        SELECT f.number, f.tenant_id, f.leases FROM full_hand f WHERE (SELECT l.due_at FROM {{p}}outbox_lane l WHERE l.destination = f.number
            AND l.tenant_id = f.tenant_id AND l.state <> 'X' AND l.due_at <= statement_timestamp() ORDER BY l.due_at LIMIT 1) IS NOT NULL),
    told AS (
        SELECT q.name, q.quota, count(a.tenant_id) AS tenants, NULL::text AS tenant_id, coalesce(sum(a.leases), 0)::bigint AS leases
        FROM quota q LEFT JOIN at_quota a ON a.number = q.number GROUP BY q.name, q.quota
        UNION ALL
        (SELECT q.name, q.quota, 1, a.tenant_id, a.leases FROM at_quota a JOIN quota q ON q.number = a.number ORDER BY a.leases DESC, a.tenant_id LIMIT 100))
    SELECT t.name, t.quota, t.tenants, t.tenant_id, t.leases FROM told t ORDER BY t.name, t.tenant_id NULLS FIRST
$$;

-- As it was, and how many tenants there are beyond those that are told.
CREATE OR REPLACE FUNCTION {{p}}outbox_gauges() RETURNS TABLE (name text, label text, value bigint)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    WITH hold AS MATERIALIZED (SELECT o.name, o.destination, {{p}}outbox_hold(o.name) AS hold FROM {{p}}outbox_destination o),
    lane AS MATERIALIZED (
        SELECT d.name AS destination, l.tenant_id, l.state, l.attempts, l.due_at > clock_timestamp() AS ahead,
            l.state = 'R' AND (l.due_at >= '9999-12-31 00:00:00+00' OR d.hold IS NOT NULL) AS held, a.last_sequence - l.head_sequence AS behind,
            (SELECT m.created_at FROM {{p}}outbox_message m WHERE m.aggregate_id = l.aggregate_id AND m.aggregate_sequence >= l.head_sequence
                AND (m.destinations >> l.destination) & 1 = 1 ORDER BY m.aggregate_sequence LIMIT 1) AS head_at
        FROM hold d LEFT JOIN {{p}}outbox_lane l ON l.destination = d.destination
        LEFT JOIN {{p}}outbox_aggregate a ON a.tenant_id = l.tenant_id AND a.aggregate_type = l.aggregate_type AND a.aggregate_key = l.aggregate_key),
    place AS (
        SELECT l.destination, count(*) FILTER (WHERE l.state = 'R' AND l.attempts = 0 AND NOT l.held) AS ready, count(*) FILTER (WHERE l.held) AS held,
            count(*) FILTER (WHERE l.state = 'R' AND l.attempts > 0 AND NOT l.held) AS waiting, count(*) FILTER (WHERE l.state = 'L' AND l.ahead) AS leased,
            count(*) FILTER (WHERE l.state = 'L' AND NOT l.ahead) AS expired, count(*) FILTER (WHERE l.state = 'X') AS dead,
            coalesce(sum(l.behind) FILTER (WHERE l.state = 'X'), 0)::bigint AS behind_dead,
            coalesce(sum(l.behind + 1) FILTER (WHERE l.head_at IS NOT NULL), 0)::bigint AS backlog,
            coalesce(extract(epoch FROM clock_timestamp() - min(l.head_at)) * 1000000, 0)::bigint AS head_age_us
        FROM lane l GROUP BY l.destination)
    SELECT x.name, p.destination, x.value FROM place p CROSS JOIN LATERAL (VALUES ('ready', p.ready), ('waiting', p.waiting), ('held', p.held), ('leased', p.leased),
        ('expired', p.expired), ('dead', p.dead), ('behind_dead', p.behind_dead), ('backlog', p.backlog), ('head_age_us', p.head_age_us)) x (name, value)
    UNION ALL
    (SELECT 'tenant', l.tenant_id, count(*) FROM lane l WHERE l.tenant_id IS NOT NULL GROUP BY l.tenant_id ORDER BY 3 DESC, 2 LIMIT 100)
    UNION ALL
    SELECT 'tenants_rest', NULL, greatest(count(DISTINCT l.tenant_id) - 100, 0) FROM lane l
    UNION ALL
    SELECT x.name, NULL, x.value FROM {{p}}outbox_total t CROSS JOIN LATERAL (VALUES ('sent', t.sent), ('failed', t.failed),
        ('dead_letters', t.dead_letters), ('fenced', t.fenced)) x (name, value)
    UNION ALL
    SELECT 'workers', NULL, count(*) FROM {{p}}outbox_worker w WHERE w.expected_by >= clock_timestamp()
    UNION ALL
    SELECT 'workers_silent', NULL, count(*) FROM {{p}}outbox_worker w WHERE w.expected_by < clock_timestamp()
    UNION ALL
    SELECT 'inbox_duplicates', NULL, count(*) FROM (SELECT 1 FROM {{p}}inbox_repeat r WHERE r.outcome = 'duplicate' LIMIT 10000) r
    UNION ALL
    SELECT 'inbox_conflicts', NULL, count(*) FROM (SELECT 1 FROM {{p}}inbox_repeat r WHERE r.outcome = 'conflict' LIMIT 10000) r
    UNION ALL
    SELECT 'applied_us', NULL, m.median FROM (SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY
            greatest(extract(epoch FROM f.stated_at - m.created_at) * 1000000, 0)::bigint) AS median
        FROM (SELECT r.message_id, r.stated_at FROM {{p}}outbox_receipt r WHERE r.fact = 'Applied' ORDER BY r.id DESC LIMIT 1000) f
        JOIN {{p}}outbox_message m ON m.message_id = f.message_id) m WHERE m.median IS NOT NULL
$$;

-- Who might call what stood here before may call what takes its place, and nobody else.
DO $$
DECLARE
    home oid := (SELECT c.relnamespace FROM pg_catalog.pg_class c WHERE c.oid = '{{p}}outbox_lane'::pg_catalog.regclass);
    may record;
BEGIN
    -- First what PUBLIC has and default privileges gave, as for all others (20261130030200_outbox_grants).
    FOR may IN SELECT DISTINCT p.oid::pg_catalog.regprocedure AS routine,
                CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(a.grantee)) END AS role
            FROM pg_catalog.pg_proc p CROSS JOIN LATERAL pg_catalog.aclexplode(coalesce(p.proacl, pg_catalog.acldefault('f', p.proowner))) a
            WHERE p.pronamespace = home AND a.grantee <> p.proowner
                AND (p.proname = 'outbox_quotas' OR (p.proname = 'outbox_worker_beat' AND p.pronargs = 10)) LOOP
        EXECUTE pg_catalog.format('REVOKE ALL ON FUNCTION %s FROM %s', may.routine, may.role);
    END LOOP;
    FOR may IN SELECT CASE p.proname WHEN 'outbox_gauges' THEN '{{p}}outbox_quotas()'
                ELSE '{{p}}outbox_worker_beat(text, text, bigint, bigint, bigint, bigint, bigint, bigint, text, bigint)' END AS routine, r.rolname AS role
            FROM pg_catalog.pg_proc p CROSS JOIN LATERAL pg_catalog.aclexplode(p.proacl) a JOIN pg_catalog.pg_roles r ON r.oid = a.grantee
            WHERE p.pronamespace = home AND a.privilege_type = 'EXECUTE' AND a.grantee <> p.proowner
                AND (p.proname = 'outbox_gauges' OR (p.proname = 'outbox_worker_beat' AND p.pronargs = 9)) LOOP
        EXECUTE pg_catalog.format('GRANT EXECUTE ON FUNCTION %s TO %I', may.routine, may.role);
    END LOOP;
END
$$;

-- duty: producer (enqueues), relay (claims and settles, never enqueues), consumer (accepts into the inbox), operator (looks, retries, corrects, discards,
-- records what destinations say).
-- Runs with the caller's own rights: only the owner of the functions can give them away.
CREATE OR REPLACE FUNCTION {{p}}outbox_grant(role_name text, duty text) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    home oid := (SELECT c.relnamespace FROM pg_class c WHERE c.oid = '{{p}}outbox_lane'::regclass);
    wanted text[] := CASE duty
        WHEN 'producer' THEN ARRAY['outbox_enqueue']
        WHEN 'relay' THEN ARRAY['outbox_destination_number', 'outbox_claim', 'outbox_fetch', 'outbox_renew', 'outbox_settle',
            'outbox_worker_beat', 'outbox_worker_end', 'outbox_service_guarded', 'outbox_service_may', 'outbox_handler_declare']
        WHEN 'consumer' THEN ARRAY['inbox_accept', 'inbox_accept_ordered', 'inbox_finish']
        WHEN 'operator' THEN ARRAY['outbox_destination_number', 'outbox_routes', 'outbox_status', 'outbox_lanes', 'outbox_message_get', 'outbox_revisions',
            'outbox_receipts', 'outbox_reveal', 'outbox_operate', 'outbox_correct', 'outbox_receipt_add', 'outbox_workers', 'outbox_worker_drain',
            'outbox_gauges', 'outbox_quotas', 'outbox_paths', 'outbox_service_grants', 'outbox_handlers', 'outbox_purge_messages', 'inbox_purge', 'inbox_list', 'inbox_conflicts']
    END;
    routine record;
BEGIN
    IF wanted IS NULL THEN RAISE EXCEPTION 'a duty is producer, relay, consumer or operator' USING ERRCODE = 'TL001'; END IF;
    EXECUTE format('GRANT USAGE ON SCHEMA %s TO %I', home::regnamespace, role_name);
    FOR routine IN SELECT p.oid::regprocedure AS name FROM pg_proc p WHERE p.pronamespace = home AND p.proname = ANY (wanted) LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %I', routine.name, role_name);
    END LOOP;
    IF duty = 'operator' THEN EXECUTE format('GRANT SELECT ON {{p}}producer_outbox TO %I', role_name); END IF;
END
$$;
