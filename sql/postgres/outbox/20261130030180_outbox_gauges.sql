-- What operators watch (requirement O15): a row for each number. What it costs grows with the lanes that have work, an entry of three indexes each, and
-- never with the messages; whoever asks often asks seldom enough.
CREATE INDEX outbox_receipt_applied ON {{p}}outbox_receipt (id) WHERE fact = 'Applied';

CREATE FUNCTION {{p}}outbox_gauges() RETURNS TABLE (name text, label text, value bigint)
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
