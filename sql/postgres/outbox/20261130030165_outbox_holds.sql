-- What operators see of lanes, and which nobody sends now: put aside while another dispatcher has their type, or left alone by every worker of their destination.

-- Why a destination's lanes are left alone: the code that its workers say, while each of them that is heard of says one. NULL: they are not.
CREATE FUNCTION {{p}}outbox_hold(p_destination text) RETURNS text
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT nullif(min(w.holds ->> p_destination), '') FROM {{p}}outbox_worker w WHERE w.expected_by >= clock_timestamp()
$$;

-- How each destination stands. Reads the lanes, which are as many as aggregates with work; never the messages.
CREATE FUNCTION {{p}}outbox_status() RETURNS TABLE (destination text, ready bigint, waiting bigint, leased bigint, dead bigint, head_at timestamptz,
        held bigint, held_because text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    WITH hold AS MATERIALIZED (SELECT o.name, o.destination, {{p}}outbox_hold(o.name) AS hold FROM {{p}}outbox_destination o) -- once for each, not for each lane
    SELECT x.name, count(*) FILTER (WHERE x.state = 'R' AND x.attempts = 0 AND x.held IS NULL),
        count(*) FILTER (WHERE x.state = 'R' AND x.attempts > 0 AND x.held IS NULL),
        count(*) FILTER (WHERE x.state = 'L'), count(*) FILTER (WHERE x.state = 'X'),
        min((SELECT m.created_at FROM {{p}}outbox_message m WHERE m.aggregate_id = x.aggregate_id AND m.aggregate_sequence = x.head_sequence)),
        count(x.held), string_agg(DISTINCT x.held, ', ' ORDER BY x.held)
    FROM (SELECT h.name, l.state, l.attempts, l.aggregate_id, l.head_sequence,
            CASE WHEN l.state = 'R' THEN CASE WHEN l.due_at >= '9999-12-31 00:00:00+00' THEN l.error_code ELSE h.hold END END AS held
        FROM hold h
        LEFT JOIN {{p}}outbox_lane l ON l.destination = h.destination) x
    GROUP BY x.name ORDER BY x.name
$$;

-- Lanes with work, dead ones first, then by age of what fails. `behind`: messages of the lane that wait behind the head, counted up to 1,000.
CREATE FUNCTION {{p}}outbox_lanes(p_tenant text, p_destination text, p_state text, p_code text, p_before timestamptz, p_limit bigint,
    p_after bigint)
    RETURNS TABLE (destination text, tenant_id text, aggregate_type text, aggregate_key text, status text, head_sequence bigint, message_id uuid,
        message_type text, attempts bigint, due_at timestamptz, owner text, error_code text, error_text text, behind bigint, head_at timestamptz,
        failed_at timestamptz, place bigint, held text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    WITH hold AS MATERIALIZED (SELECT o.name, o.destination, {{p}}outbox_hold(o.name) AS hold FROM {{p}}outbox_destination o) -- once for each, not for each lane
    SELECT x.name, x.tenant_id, x.aggregate_type, x.aggregate_key, x.status, x.head_sequence, m.message_id, m.message_type, x.attempts::bigint,
        CASE WHEN x.state <> 'X' AND NOT x.aside THEN x.due_at END, x.lease_owner, x.error_code, x.error_text,
        (SELECT count(*) FROM (SELECT 1 FROM {{p}}outbox_message b WHERE b.aggregate_id = x.aggregate_id AND b.aggregate_sequence > x.head_sequence
            AND (b.destinations >> x.destination) & 1 = 1 LIMIT 1000) c), m.created_at, x.failed_at, x.place, x.held
    FROM (SELECT l.*, d.name, l.state = 'R' AND l.due_at >= '9999-12-31 00:00:00+00' AS aside,
            CASE WHEN l.state = 'R' THEN CASE WHEN l.due_at >= '9999-12-31 00:00:00+00' THEN l.error_code ELSE d.hold END END AS held,
            l.aggregate_id * 64 + l.destination AS place, CASE WHEN l.state = 'X' THEN 'DeadLettered' WHEN l.state = 'L' AND l.due_at > clock_timestamp() THEN 'Dispatching'
                WHEN l.attempts > 0 THEN 'Failed' ELSE 'Pending' END AS status
            FROM {{p}}outbox_lane l JOIN hold d ON d.destination = l.destination) x
    LEFT JOIN {{p}}outbox_message m ON m.aggregate_id = x.aggregate_id AND m.aggregate_sequence = x.head_sequence
    WHERE (p_tenant IS NULL OR x.tenant_id = p_tenant) AND (p_destination IS NULL OR x.name = p_destination)
        AND (p_state IS NULL OR x.status = p_state) AND (p_code IS NULL OR p_code IN (x.error_code, x.held)) AND (p_before IS NULL OR x.failed_at < p_before)
        AND (p_after IS NULL OR x.place > p_after)
    ORDER BY CASE WHEN p_after IS NOT NULL THEN x.place END, x.state = 'X' DESC, x.attempts > 0 DESC, x.failed_at, x.tenant_id, x.aggregate_type, x.aggregate_key, x.name LIMIT p_limit
$$;

-- One message; a row for each of its destinations. Of the payload only size and digest: it is the producer's own data (ruling R24). dispatched_revision
-- is the revision that was current when the destination acknowledged: a correction is refused while a lease on the message lives.
CREATE FUNCTION {{p}}outbox_message_get(p_message uuid)
    RETURNS TABLE (tenant_id text, company_id text, aggregate_type text, aggregate_key text, aggregate_sequence bigint, message_type text,
        version text, origin text, correlation_id uuid, causation_id uuid, traceparent text, occurred_at timestamptz, created_at timestamptz,
        payload_bytes bigint, payload_sha256 text, revision bigint, destination text, status text, attempts bigint,
        next_attempt_at timestamptz, lease_until timestamptz, dispatched_at timestamptz, dispatched_revision bigint, received_at timestamptz,
        applied_at timestamptz, said text, said_at timestamptz, held text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT m.tenant_id, m.company_id, m.aggregate_type, m.aggregate_key, m.aggregate_sequence, m.message_type, m.version, m.origin,
        m.correlation_id, m.causation_id, m.traceparent, m.occurred_at, m.created_at, octet_length(coalesce(c.payload, m.payload))::bigint,
        encode(sha256(convert_to(coalesce(c.payload, m.payload), 'UTF8')), 'hex'), coalesce(c.revision, 1),
        v.destination, v.status, v.attempts, CASE WHEN v.next_attempt_at < '9999-12-31 00:00:00+00' THEN v.next_attempt_at END, v.lease_until, a.delivered_at,
        CASE WHEN a.delivered_at IS NOT NULL THEN coalesce((SELECT max(r.revision) FROM {{p}}outbox_revision r
            WHERE r.message_id = m.message_id AND r.at <= a.delivered_at), 1) END,
        (SELECT min(f.stated_at) FROM {{p}}outbox_receipt f WHERE f.message_id = m.message_id AND f.destination = d.destination AND f.fact = 'Received'),
        (SELECT min(f.stated_at) FROM {{p}}outbox_receipt f WHERE f.message_id = m.message_id AND f.destination = d.destination AND f.fact = 'Applied'),
        s.fact, s.recorded_at,
        CASE WHEN v.next_attempt_at >= '9999-12-31 00:00:00+00' THEN 'PATH_HELD' WHEN v.next_attempt_at IS NOT NULL THEN {{p}}outbox_hold(d.name) END
    FROM {{p}}outbox_message m
    JOIN {{p}}producer_outbox v ON v.message_id = m.message_id
    JOIN {{p}}outbox_destination d ON d.name = v.destination
    LEFT JOIN LATERAL (SELECT r.payload, r.revision FROM {{p}}outbox_revision r WHERE r.message_id = m.message_id
        ORDER BY r.revision DESC LIMIT 1) c ON true
    LEFT JOIN LATERAL (SELECT x.delivered_at FROM {{p}}outbox_delivery x WHERE x.aggregate_id = m.aggregate_id AND x.destination = d.destination
        AND m.aggregate_sequence BETWEEN x.sequence_from AND x.sequence_to ORDER BY x.sequence_from DESC LIMIT 1) a ON true
    LEFT JOIN LATERAL (SELECT f.fact, f.recorded_at FROM {{p}}outbox_receipt f WHERE f.message_id = m.message_id
        AND f.destination = d.destination ORDER BY f.id DESC LIMIT 1) s ON true
    WHERE m.message_id = p_message ORDER BY v.destination
$$;
