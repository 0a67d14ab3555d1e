-- A producer's outbox, in the producer's own schema (specification 001, rules 3, 4, 6 and 7; rulings R30, R31, R33, R40).
--
--   outbox_message    what was said, insert-only. Its status is derived: behind the head of its lane it is Dispatched.
--   outbox_aggregate  where producers of one aggregate take turns. `awake` has one bit a destination: set means that a lane row exists.
--   outbox_lane       one row for each (tenant, aggregate, destination) that HAS WORK. A relay touches lanes, never messages; a lane that is
--                     waiting, leased or dead blocks what is behind its head by its mere position, and what is blocked costs nothing.
--   due_at            one column for ready, next attempt and end of lease: an expired lease comes back through the same scan.
--
-- A relay addresses its lane by the exact (destination, tenant, due_at, aggregate) that it was given, and its token: a probe of one index entry, even
-- where thousands of dead versions of the lane exist. There is on purpose no index on the aggregate alone.
-- Lost wake-up: "is there work" changes hands in the aggregate's row only. See outbox_settle.
CREATE SEQUENCE {{p}}outbox_lease_token CACHE 1; -- fencing tokens: a later lease has a larger one, whichever session takes it

CREATE TABLE {{p}}outbox_destination (
    destination smallint NOT NULL,
    name        text     NOT NULL,
    CONSTRAINT outbox_destination_pkey PRIMARY KEY (destination),
    CONSTRAINT outbox_destination_name_key UNIQUE (name),
    CONSTRAINT outbox_destination_range CHECK (destination BETWEEN 0 AND 62), -- a bit of a bigint each
    CONSTRAINT outbox_destination_name_form CHECK (name ~ '^[a-z][a-z0-9-]{0,62}$')
);

-- A type goes to every destination whose pattern takes it: the type itself, a beginning followed by *, or *.
CREATE TABLE {{p}}outbox_route (
    type_pattern text     NOT NULL,
    destination  smallint NOT NULL,
    CONSTRAINT outbox_route_pkey PRIMARY KEY (type_pattern, destination),
    CONSTRAINT outbox_route_destination_fkey FOREIGN KEY (destination) REFERENCES {{p}}outbox_destination (destination),
    CONSTRAINT outbox_route_pattern_form CHECK (type_pattern ~ '^[^*]{0,255}\*?$' AND type_pattern <> '')
);

CREATE TABLE {{p}}outbox_aggregate (
    aggregate_id    bigint      NOT NULL GENERATED ALWAYS AS IDENTITY,
    tenant_id       text        NOT NULL COLLATE "C",
    aggregate_type  text        NOT NULL COLLATE "C",
    aggregate_key   text        NOT NULL COLLATE "C",
    last_sequence   bigint      NOT NULL,
    last_created_at timestamptz NOT NULL,
    awake           bigint      NOT NULL,
    woken           bigint      NOT NULL, -- bits that the last enqueue set: PostgreSQL 15 cannot return the old row
    CONSTRAINT outbox_aggregate_pkey PRIMARY KEY (tenant_id, aggregate_type, aggregate_key)
) WITH (fillfactor = 60); -- its updates stay HOT: no column that changes is indexed

CREATE TABLE {{p}}outbox_lane (
    destination    smallint    NOT NULL,
    tenant_id      text        NOT NULL COLLATE "C",
    due_at         timestamptz NOT NULL,
    aggregate_id   bigint      NOT NULL,
    aggregate_type text        NOT NULL COLLATE "C",
    aggregate_key  text        NOT NULL COLLATE "C",
    head_sequence  bigint      NOT NULL,
    attempts       integer     NOT NULL DEFAULT 0, -- failures of the head, a lease that ran out included
    empty_polls    integer     NOT NULL DEFAULT 0,
    state          "char"      NOT NULL DEFAULT 'R', -- R ready or waiting, L leased, X dead
    lease_owner    text,
    lease_token    bigint      NOT NULL DEFAULT 0,
    error_code     text,
    error_text     text,
    failed_at      timestamptz,
    CONSTRAINT outbox_lane_state_known CHECK (state IN ('R', 'L', 'X'))
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
CREATE UNIQUE INDEX outbox_lane_due ON {{p}}outbox_lane (destination, tenant_id, due_at, aggregate_id) WHERE state <> 'X';
CREATE UNIQUE INDEX outbox_lane_dead ON {{p}}outbox_lane (destination, tenant_id, aggregate_id) WHERE state = 'X';
CREATE INDEX outbox_lane_leased ON {{p}}outbox_lane (destination, tenant_id) WHERE state = 'L'; -- the quota's count

CREATE TABLE {{p}}outbox_message (
    aggregate_id       bigint      NOT NULL,
    aggregate_sequence bigint      NOT NULL, -- from 1, without gaps, in the order of commits
    destinations       bigint      NOT NULL, -- bits; decided by the routes as they were at enqueue
    created_at         timestamptz NOT NULL,
    message_id         uuid        NOT NULL,
    tenant_id          text        NOT NULL COLLATE "C",
    company_id         text,
    aggregate_type     text        NOT NULL COLLATE "C",
    aggregate_key      text        NOT NULL COLLATE "C",
    message_type       text        NOT NULL,
    version            text        NOT NULL,
    origin             text        NOT NULL,
    correlation_id     uuid        NOT NULL,
    causation_id       uuid,
    traceparent        text,
    occurred_at        timestamptz NOT NULL,
    payload            text        NOT NULL, -- the text as it was given: the relay sends exactly these bytes
    CONSTRAINT outbox_message_pkey PRIMARY KEY (aggregate_id, aggregate_sequence),
    CONSTRAINT outbox_message_message_id_key UNIQUE (message_id)
);

-- What replaced a message's content, insert-only: the last row is what is sent, the first content stays in outbox_message (ruling R32).
CREATE TABLE {{p}}outbox_revision (
    message_id    uuid        NOT NULL,
    revision      bigint      NOT NULL, -- from 2; 1 is the message as it was enqueued
    at            timestamptz NOT NULL DEFAULT clock_timestamp(),
    user_name     text        NOT NULL,
    database_role text        NOT NULL DEFAULT session_user,
    reason        text        NOT NULL,
    diff          text        NOT NULL, -- JSON: what was added, removed or replaced, by pointer, without a value
    accepted      text,                 -- destinations that hold an earlier revision
    payload       text,                 -- NULL once the message was purged: who, why and what differed stay
    CONSTRAINT outbox_revision_pkey PRIMARY KEY (message_id, revision),
    CONSTRAINT outbox_revision_from_two CHECK (revision >= 2),
    CONSTRAINT outbox_revision_reason_given CHECK (reason <> '' AND user_name <> '')
);

-- When a destination acknowledged which messages of a lane: a row for each run, not for each message. That the destination has applied them is another
-- fact (outbox_receipt).
CREATE TABLE {{p}}outbox_delivery (
    aggregate_id   bigint      NOT NULL,
    destination    smallint    NOT NULL,
    sequence_from  bigint      NOT NULL,
    sequence_to    bigint      NOT NULL,
    delivered_at   timestamptz NOT NULL,
    CONSTRAINT outbox_delivery_pkey PRIMARY KEY (aggregate_id, destination, sequence_from)
);

-- Up to where the messages of an aggregate were purged, by destination: the last that was delivered. Consumers that keep order are told it as the one
-- before, when no kept message is.
CREATE TABLE {{p}}outbox_purged (
    aggregate_id  bigint   NOT NULL,
    destination   smallint NOT NULL,
    last_sequence bigint   NOT NULL,
    CONSTRAINT outbox_purged_pkey PRIMARY KEY (aggregate_id, destination)
);

-- What operators did, insert-only. A discarded message has its row here, and no other way past a dead head exists (ruling R31).
CREATE TABLE {{p}}outbox_operation (
    id                 bigint      NOT NULL GENERATED ALWAYS AS IDENTITY,
    at                 timestamptz NOT NULL DEFAULT clock_timestamp(),
    action             text        NOT NULL,
    destination        smallint,             -- NULL: the message itself, for all of them
    aggregate_id       bigint      NOT NULL,
    aggregate_sequence bigint      NOT NULL,
    message_id         uuid        NOT NULL,
    user_name          text        NOT NULL,
    database_role      text        NOT NULL DEFAULT session_user,
    reason             text        NOT NULL,
    reconciliation     text, -- what the destination says about this message; needed for a discard
    CONSTRAINT outbox_operation_pkey PRIMARY KEY (id),
    CONSTRAINT outbox_operation_action_known CHECK (action IN ('trilha.outbox-message.retried', 'trilha.outbox-message.discarded',
        'trilha.outbox-message.corrected', 'trilha.outbox-message.revealed')),
    CONSTRAINT outbox_operation_destination_named CHECK (destination IS NOT NULL
        OR action IN ('trilha.outbox-message.corrected', 'trilha.outbox-message.revealed')),
    CONSTRAINT outbox_operation_discard_reconciled CHECK (action <> 'trilha.outbox-message.discarded' OR reconciliation <> ''),
    CONSTRAINT outbox_operation_reason_given CHECK (reason <> '' AND user_name <> '')
);
CREATE UNIQUE INDEX outbox_operation_discarded ON {{p}}outbox_operation (aggregate_id, aggregate_sequence, destination)
    WHERE action = 'trilha.outbox-message.discarded';

CREATE FUNCTION {{p}}outbox_refuse_change() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION '% is insert-only: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'TL001';
END
$$;
CREATE TRIGGER outbox_operation_insert_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {{p}}outbox_operation
    FOR EACH STATEMENT EXECUTE FUNCTION {{p}}outbox_refuse_change();
ALTER TABLE {{p}}outbox_operation ENABLE ALWAYS TRIGGER outbox_operation_insert_only;
CREATE TRIGGER outbox_revision_insert_only BEFORE DELETE OR TRUNCATE ON {{p}}outbox_revision
    FOR EACH STATEMENT EXECUTE FUNCTION {{p}}outbox_refuse_change();
ALTER TABLE {{p}}outbox_revision ENABLE ALWAYS TRIGGER outbox_revision_insert_only;
-- A purge takes the content away, and nothing else ever changes.
CREATE TRIGGER outbox_revision_content_only BEFORE UPDATE ON {{p}}outbox_revision FOR EACH ROW
    WHEN (NEW.payload IS NOT NULL OR (NEW.message_id, NEW.revision, NEW.at, NEW.user_name, NEW.database_role, NEW.reason, NEW.diff, NEW.accepted)
        IS DISTINCT FROM (OLD.message_id, OLD.revision, OLD.at, OLD.user_name, OLD.database_role, OLD.reason, OLD.diff, OLD.accepted))
    EXECUTE FUNCTION {{p}}outbox_refuse_change();
ALTER TABLE {{p}}outbox_revision ENABLE ALWAYS TRIGGER outbox_revision_content_only;
CREATE TRIGGER outbox_message_never_changed BEFORE UPDATE ON {{p}}outbox_message
    FOR EACH STATEMENT EXECUTE FUNCTION {{p}}outbox_refuse_change();
ALTER TABLE {{p}}outbox_message ENABLE ALWAYS TRIGGER outbox_message_never_changed;

-- UUIDv7 (ruling R4): the version's two bits are set in a random id whose first 48 bits are the time in milliseconds.
CREATE FUNCTION {{p}}outbox_message_id() RETURNS uuid LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
    SELECT encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid()) PLACING
        substring(int8send((extract(epoch FROM clock_timestamp()) * 1000)::bigint) FROM 3) FROM 1 FOR 6), 52, 1), 53, 1), 'hex')::uuid
$$;

-- What is wrong with a payload, or NULL. Called inside functions that have set their search path.
CREATE FUNCTION {{p}}outbox_payload_fault(payload text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF payload IS NULL THEN RETURN 'payload is needed'; END IF;
    IF pg_catalog.octet_length(payload) > 1048576 THEN RETURN 'payload must have at most 1048576 bytes'; END IF;
    RETURN CASE WHEN pg_catalog.json_typeof(payload::pg_catalog.json) <> 'object' THEN 'payload must be a JSON object' END;
EXCEPTION WHEN data_exception THEN
    RETURN 'payload must be a JSON object';
END
$$;

-- --- for producers --------------------------------------------------------------------------------------------------

-- In the caller's own transaction, which decides whether it ever happened; a savepoint too. The aggregate's row stays locked until the caller's
-- commit, so sequences have no gaps and follow the order of commits. Whoever touches several aggregates in one transaction takes them in the order of
-- (tenant, type, key), or repeats its transaction on 40P01. clock_timestamp(), after the lock: never behind an earlier message of the aggregate.
CREATE FUNCTION {{p}}outbox_enqueue(tenant_id text, aggregate_type text, aggregate_key text, message_type text, version text, payload text,
    origin text, correlation_id uuid, INOUT message_id uuid DEFAULT NULL, company_id text DEFAULT NULL, causation_id uuid DEFAULT NULL,
    traceparent text DEFAULT NULL, occurred_at timestamptz DEFAULT NULL, OUT aggregate_sequence bigint)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    targets bigint; -- parameters are read as outbox_enqueue.NAME: bare names are columns
    a record;
    fault text;
BEGIN
    fault := CASE
        WHEN coalesce(char_length(outbox_enqueue.tenant_id), 0) NOT BETWEEN 1 AND 255 THEN 'tenant_id must have 1 to 255 characters'
        WHEN coalesce(char_length(outbox_enqueue.aggregate_type), 0) NOT BETWEEN 1 AND 255 THEN 'aggregate_type must have 1 to 255 characters'
        WHEN coalesce(char_length(outbox_enqueue.aggregate_key), 0) NOT BETWEEN 1 AND 255 THEN 'aggregate_key must have 1 to 255 characters'
        WHEN coalesce(char_length(outbox_enqueue.message_type), 0) NOT BETWEEN 1 AND 255 THEN 'message_type must have 1 to 255 characters'
        WHEN coalesce(char_length(outbox_enqueue.version), 0) NOT BETWEEN 1 AND 20 OR outbox_enqueue.version !~ '^\d+\.\d+\.\d+'
            THEN 'version must be a semantic version of at most 20 characters, as 1.0.0'
        WHEN coalesce(char_length(outbox_enqueue.origin), 0) NOT BETWEEN 1 AND 100 THEN 'origin must have 1 to 100 characters'
        WHEN outbox_enqueue.correlation_id IS NULL THEN 'correlation_id is needed'
        WHEN char_length(outbox_enqueue.company_id) NOT BETWEEN 1 AND 255 THEN 'company_id must have 1 to 255 characters or be NULL'
        WHEN outbox_enqueue.traceparent !~ '^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$' THEN 'traceparent must be as W3C Trace Context says'
        ELSE {{p}}outbox_payload_fault(outbox_enqueue.payload)
    END;
    IF fault IS NOT NULL THEN RAISE EXCEPTION '%', fault USING ERRCODE = 'TL001'; END IF;

    SELECT bit_or(1::bigint << r.destination) INTO targets FROM {{p}}outbox_route r
    WHERE r.type_pattern = outbox_enqueue.message_type
        OR (right(r.type_pattern, 1) = '*' AND starts_with(outbox_enqueue.message_type, left(r.type_pattern, -1)));
    IF targets IS NULL THEN
        RAISE EXCEPTION 'no route takes this message_type: add one with outbox_route_add' USING ERRCODE = 'TL002';
    END IF;

    outbox_enqueue.message_id := coalesce(outbox_enqueue.message_id, {{p}}outbox_message_id());
    INSERT INTO {{p}}outbox_aggregate AS k (tenant_id, aggregate_type, aggregate_key, last_sequence, last_created_at, awake, woken)
    VALUES (outbox_enqueue.tenant_id, outbox_enqueue.aggregate_type, outbox_enqueue.aggregate_key, 1, clock_timestamp(), targets, targets)
    ON CONFLICT (tenant_id, aggregate_type, aggregate_key) DO UPDATE SET last_sequence = k.last_sequence + 1,
        last_created_at = greatest(k.last_created_at, clock_timestamp()), woken = targets & ~k.awake, awake = k.awake | targets
    RETURNING k.aggregate_id, k.last_sequence, k.last_created_at, k.woken INTO a;
    IF a.woken <> 0 THEN
        INSERT INTO {{p}}outbox_lane (destination, tenant_id, due_at, aggregate_id, aggregate_type, aggregate_key, head_sequence)
        SELECT d.destination, outbox_enqueue.tenant_id, a.last_created_at, a.aggregate_id, outbox_enqueue.aggregate_type,
            outbox_enqueue.aggregate_key, a.last_sequence
        FROM {{p}}outbox_destination d WHERE (a.woken >> d.destination) & 1 = 1;
    END IF;
    INSERT INTO {{p}}outbox_message (aggregate_id, aggregate_sequence, destinations, created_at, message_id, tenant_id, company_id, aggregate_type,
        aggregate_key, message_type, version, origin, correlation_id, causation_id, traceparent, occurred_at, payload)
    VALUES (a.aggregate_id, a.last_sequence, targets, a.last_created_at, outbox_enqueue.message_id, outbox_enqueue.tenant_id,
        outbox_enqueue.company_id, outbox_enqueue.aggregate_type, outbox_enqueue.aggregate_key, outbox_enqueue.message_type,
        outbox_enqueue.version, outbox_enqueue.origin, outbox_enqueue.correlation_id, outbox_enqueue.causation_id, outbox_enqueue.traceparent,
        coalesce(outbox_enqueue.occurred_at, a.last_created_at), outbox_enqueue.payload);
    outbox_enqueue.aggregate_sequence := a.last_sequence;
END
$$;

-- --- routes -----------------------------------------------------------------------------------------------------------

-- Messages that are in the outbox keep the destinations they were enqueued with.
CREATE FUNCTION {{p}}outbox_route_add(type_pattern text, destination_name text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    d smallint;
BEGIN
    LOCK TABLE {{p}}outbox_destination IN SHARE ROW EXCLUSIVE MODE; -- two that add a destination at once
    SELECT t.destination INTO d FROM {{p}}outbox_destination t WHERE t.name = outbox_route_add.destination_name;
    IF d IS NULL THEN
        SELECT min(n) INTO d FROM generate_series(0, 62) n WHERE NOT EXISTS (SELECT 1 FROM {{p}}outbox_destination t WHERE t.destination = n);
        IF d IS NULL THEN RAISE EXCEPTION 'an outbox has at most 63 destinations' USING ERRCODE = 'TL001'; END IF;
        INSERT INTO {{p}}outbox_destination (destination, name) VALUES (d, outbox_route_add.destination_name);
    END IF;
    INSERT INTO {{p}}outbox_route (type_pattern, destination) VALUES (outbox_route_add.type_pattern, d) ON CONFLICT DO NOTHING;
END
$$;

-- The destination stays: messages may still be on their way to it. False: there was no such route.
CREATE FUNCTION {{p}}outbox_route_remove(type_pattern text, destination_name text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    DELETE FROM {{p}}outbox_route r USING {{p}}outbox_destination d
    WHERE d.destination = r.destination AND r.type_pattern = outbox_route_remove.type_pattern AND d.name = outbox_route_remove.destination_name;
    RETURN FOUND;
END
$$;

CREATE FUNCTION {{p}}outbox_routes() RETURNS TABLE (type_pattern text, destination text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT r.type_pattern, d.name FROM {{p}}outbox_route r JOIN {{p}}outbox_destination d ON d.destination = r.destination ORDER BY 1, 2
$$;

-- --- for relays ---------------------------------------------------------------------------------------------------------

CREATE FUNCTION {{p}}outbox_destination_number(p_name text) RETURNS smallint
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    d smallint;
BEGIN
    SELECT destination INTO d FROM {{p}}outbox_destination WHERE name = p_name;
    IF d IS NULL THEN RAISE EXCEPTION 'this outbox has no such destination: a route makes it known' USING ERRCODE = 'TL004'; END IF;
    RETURN d;
END
$$;

-- A short transaction of its own. Tenants take turns: beginning behind p_after, each gives up to p_quota lanes, those in flight included, until there
-- are p_limit; the quota cuts before the limit does. A lane whose lease ran out counts a failed attempt: a message that kills its workers is not
-- tried for ever. The last row holds no lane: its tenant_id is where the next claim begins, '' after a whole round. Locks: lanes, skipping locked
-- ones, so that nobody waits for anybody. Index: outbox_lane_due (about 4 pages a tenant), outbox_lane_leased.
CREATE FUNCTION {{p}}outbox_claim(p_destination smallint, p_owner text, p_after text, p_limit bigint, p_quota bigint, p_lease_ms bigint)
    RETURNS TABLE (aggregate_id bigint, tenant_id text, aggregate_type text, aggregate_key text, head_sequence bigint, attempts bigint,
        lease_token bigint, due_at timestamptz)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off
    SET enable_sort = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
    t text := p_after;
    wrapped boolean := p_after = '';
    left_over bigint := p_limit;
    visits bigint := 0;
    share bigint;
    taken bigint;
BEGIN
    WHILE left_over > 0 AND visits < 2 * p_limit LOOP
        SELECT l.tenant_id INTO t FROM {{p}}outbox_lane l WHERE l.destination = p_destination AND l.state <> 'X' AND l.tenant_id > t
        ORDER BY l.tenant_id, l.due_at LIMIT 1;
        IF t IS NULL OR (wrapped AND p_after <> '' AND t > p_after) THEN -- the end of the list, or of the round
            t := '';
            EXIT WHEN wrapped;
            wrapped := true;
            CONTINUE;
        END IF;
        visits := visits + 1;
        SELECT least(left_over, greatest(p_quota - count(*), 0)) INTO share FROM {{p}}outbox_lane l
        WHERE l.destination = p_destination AND l.tenant_id = t AND l.state = 'L' AND l.due_at > clock_timestamp();
        RETURN QUERY WITH pick AS MATERIALIZED (
            SELECT l.due_at, l.aggregate_id FROM {{p}}outbox_lane l
            WHERE l.destination = p_destination AND l.tenant_id = t AND l.state <> 'X' AND l.due_at <= clock_timestamp()
            ORDER BY l.due_at LIMIT share FOR UPDATE SKIP LOCKED)
        UPDATE {{p}}outbox_lane l SET state = 'L', attempts = l.attempts + (l.state = 'L')::int, lease_owner = p_owner,
            lease_token = nextval('{{p}}outbox_lease_token'), due_at = clock_timestamp() + p_lease_ms * interval '1 ms'
        FROM pick WHERE l.destination = p_destination AND l.tenant_id = t AND l.due_at = pick.due_at AND l.aggregate_id = pick.aggregate_id
            AND l.state <> 'X'
        RETURNING l.aggregate_id, l.tenant_id, l.aggregate_type, l.aggregate_key, l.head_sequence, l.attempts::bigint, l.lease_token, l.due_at;
        GET DIAGNOSTICS taken = ROW_COUNT;
        left_over := left_over - taken;
    END LOOP;
    RETURN QUERY SELECT NULL::bigint, t, NULL::text, NULL::text, NULL::bigint, NULL::bigint, NULL::bigint, NULL::timestamptz;
END
$$;

-- The messages of leased lanes from their heads on, at most p_run of each and, beyond the first, p_bytes of payload. Outside the claim's transaction and
-- before any sending. previous_sequence: the one before it that this destination was given, purged ones included (0: none); numbers that went elsewhere or
-- were discarded are no gap to a consumer that keeps order. The content is that of the last revision. Indexes: outbox_message_pkey, and an
-- entry of outbox_revision_pkey for each message.
CREATE FUNCTION {{p}}outbox_fetch(p_destination smallint, p_aggregates bigint[], p_heads bigint[], p_run bigint, p_bytes bigint)
    RETURNS TABLE (lane bigint, aggregate_sequence bigint, previous_sequence bigint, message_id uuid, company_id text, message_type text,
        version text, origin text, correlation_id uuid, causation_id uuid, traceparent text, occurred_at timestamptz, payload text, revision bigint)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off
    SET enable_hashjoin = off SET enable_mergejoin = off AS $$
    SELECT x.lane - 1, m.aggregate_sequence, coalesce(lag(m.aggregate_sequence) OVER w, b.previous, g.last_sequence, 0), m.message_id, m.company_id, m.message_type,
        m.version, m.origin, m.correlation_id, m.causation_id, m.traceparent, m.occurred_at, m.content, m.revision
    FROM unnest(p_aggregates, p_heads) WITH ORDINALITY x (aggregate_id, head, lane)
    CROSS JOIN LATERAL (SELECT o.*, sum(octet_length(o.content)) OVER (ORDER BY o.aggregate_sequence) AS weight,
            row_number() OVER (ORDER BY o.aggregate_sequence) AS place
        FROM (SELECT i.*, coalesce(c.payload, i.payload) AS content, coalesce(c.revision, 1) AS revision
                FROM (SELECT * FROM {{p}}outbox_message j WHERE j.aggregate_id = x.aggregate_id AND j.aggregate_sequence >= x.head
                    AND (j.destinations >> p_destination) & 1 = 1 ORDER BY j.aggregate_sequence LIMIT p_run) i
                LEFT JOIN LATERAL (SELECT r.payload, r.revision FROM {{p}}outbox_revision r WHERE r.message_id = i.message_id
                    ORDER BY r.revision DESC LIMIT 1) c ON true) o) m
    LEFT JOIN LATERAL (SELECT i.aggregate_sequence AS previous FROM {{p}}outbox_message i
        WHERE m.place = 1 AND i.aggregate_id = x.aggregate_id AND i.aggregate_sequence < x.head AND (i.destinations >> p_destination) & 1 = 1
            AND NOT EXISTS (SELECT 1 FROM {{p}}outbox_operation d WHERE d.aggregate_id = i.aggregate_id
                AND d.aggregate_sequence = i.aggregate_sequence AND d.destination = p_destination AND d.action = 'trilha.outbox-message.discarded')
        ORDER BY i.aggregate_sequence DESC LIMIT 1) b ON true
    LEFT JOIN LATERAL (SELECT p.last_sequence FROM {{p}}outbox_purged p
        WHERE m.place = 1 AND p.aggregate_id = x.aggregate_id AND p.destination = p_destination) g ON true
    WHERE m.place = 1 OR m.weight <= p_bytes
    WINDOW w AS (PARTITION BY x.lane ORDER BY m.aggregate_sequence)
    ORDER BY x.lane, m.aggregate_sequence
$$;

-- NULL: the lease is somebody else's by now. The new end of the lease is part of the lane's address.
CREATE FUNCTION {{p}}outbox_renew(p_destination smallint, p_tenant text, p_due timestamptz, p_aggregate bigint, p_token bigint, p_lease_ms bigint)
    RETURNS timestamptz LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
    UPDATE {{p}}outbox_lane SET due_at = clock_timestamp() + p_lease_ms * interval '1 ms'
    WHERE destination = p_destination AND tenant_id = p_tenant AND due_at = p_due AND aggregate_id = p_aggregate AND lease_token = p_token
        AND state = 'L' RETURNING due_at
$$;

-- Ends leases. p_nexts: the first sequence that was not delivered. p_drained: the run held fewer messages than were asked for. p_delays: NULL for
-- success, else milliseconds to the next attempt of the message p_nexts; -1: it is dead. Answers per lane in the given order: false when its token is
-- not the current one; then nothing of it was changed, and its messages will be sent again by whoever has it.
-- Parking: the lane's row goes away when the aggregate's row can be locked at once and no message is left. Relay first: a producer waits for this
-- transaction and then finds the bit cleared, and makes a lane. Producer first: the row is locked, the lane stays and is looked at again 5 ms to 1 s
-- later. The look comes after the lock as a statement of its own, so it sees whatever was committed before the lock was had: READ COMMITTED is needed.
CREATE FUNCTION {{p}}outbox_settle(p_destination smallint, p_tenants text[], p_dues timestamptz[], p_aggregates bigint[], p_tokens bigint[],
    p_nexts bigint[], p_drained bigint[], p_delays bigint[], p_codes text[], p_errors text[]) RETURNS TABLE (settled boolean)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off
    SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    n integer := coalesce(array_length(p_tenants, 1), 0);
    done boolean[] := array_fill(false, ARRAY[n]);
    i integer;
    l {{p}}outbox_lane%ROWTYPE;
BEGIN
    -- In the order of aggregates: two that settle at once never wait for each other in a circle.
    FOR i IN SELECT x.place FROM unnest(p_aggregates) WITH ORDINALITY x (aggregate_id, place) ORDER BY x.aggregate_id LOOP
        SELECT * INTO l FROM {{p}}outbox_lane o WHERE o.destination = p_destination AND o.tenant_id = p_tenants[i] AND o.due_at = p_dues[i]
            AND o.aggregate_id = p_aggregates[i] AND o.lease_token = p_tokens[i] AND o.state = 'L' FOR UPDATE;
        CONTINUE WHEN NOT FOUND;
        done[i] := true;
        IF p_nexts[i] > l.head_sequence THEN
            INSERT INTO {{p}}outbox_delivery (aggregate_id, destination, sequence_from, sequence_to, delivered_at)
            VALUES (l.aggregate_id, p_destination, l.head_sequence, p_nexts[i] - 1, clock_timestamp()) ON CONFLICT DO NOTHING;
        END IF;
        IF p_delays[i] IS NULL AND p_drained[i] = 1 THEN
            PERFORM 1 FROM {{p}}outbox_aggregate a WHERE a.tenant_id = l.tenant_id AND a.aggregate_type = l.aggregate_type
                AND a.aggregate_key = l.aggregate_key FOR UPDATE SKIP LOCKED;
            IF FOUND AND NOT EXISTS (SELECT 1 FROM {{p}}outbox_message m WHERE m.aggregate_id = l.aggregate_id
                    AND m.aggregate_sequence >= p_nexts[i] AND (m.destinations >> p_destination) & 1 = 1) THEN
                DELETE FROM {{p}}outbox_lane o WHERE o.destination = l.destination AND o.tenant_id = l.tenant_id AND o.due_at = l.due_at
                    AND o.aggregate_id = l.aggregate_id AND o.state <> 'X';
                UPDATE {{p}}outbox_aggregate a SET awake = a.awake & ~(1::bigint << p_destination)
                WHERE a.tenant_id = l.tenant_id AND a.aggregate_type = l.aggregate_type AND a.aggregate_key = l.aggregate_key;
                CONTINUE;
            END IF;
        END IF;
        UPDATE {{p}}outbox_lane o SET
            state = CASE WHEN p_delays[i] = -1 THEN 'X' ELSE 'R' END,
            head_sequence = p_nexts[i],
            attempts = CASE WHEN p_nexts[i] = l.head_sequence THEN l.attempts ELSE 0 END + (p_delays[i] IS NOT NULL)::int,
            empty_polls = CASE WHEN p_delays[i] IS NULL AND p_drained[i] = 1 AND p_nexts[i] = l.head_sequence THEN l.empty_polls + 1 ELSE 0 END,
            due_at = clock_timestamp() + interval '1 ms' * CASE WHEN p_delays[i] IS NOT NULL THEN greatest(p_delays[i], 0)
                WHEN p_drained[i] <> 1 THEN 0 ELSE least(1000, 5 * 2 ^ least(l.empty_polls, 8)) END,
            lease_owner = NULL, error_code = p_codes[i], error_text = p_errors[i],
            failed_at = CASE WHEN p_delays[i] IS NOT NULL THEN clock_timestamp() END
        WHERE o.destination = l.destination AND o.tenant_id = l.tenant_id AND o.due_at = l.due_at AND o.aggregate_id = l.aggregate_id
            AND o.state <> 'X';
    END LOOP;
    RETURN QUERY SELECT unnest(done);
END
$$;

-- --- for operators ------------------------------------------------------------------------------------------------------

-- The status of every message for every destination it goes to (ruling R30). Overall a message is Dispatched when all of its rows are.
CREATE VIEW {{p}}producer_outbox AS
SELECT m.tenant_id, m.aggregate_type, m.aggregate_key, m.aggregate_sequence, m.message_id, m.message_type, d.name AS destination,
    CASE WHEN o.id IS NOT NULL THEN 'Discarded'
        WHEN l.aggregate_id IS NULL OR m.aggregate_sequence < l.head_sequence THEN 'Dispatched'
        WHEN m.aggregate_sequence > l.head_sequence THEN 'Pending'
        WHEN l.state = 'X' THEN 'DeadLettered'
        WHEN l.state = 'L' AND l.due_at > clock_timestamp() THEN 'Dispatching'
        WHEN l.attempts > 0 THEN 'Failed'
        ELSE 'Pending' END AS status,
    CASE WHEN m.aggregate_sequence = l.head_sequence THEN l.attempts::bigint END AS attempts,
    CASE WHEN m.aggregate_sequence = l.head_sequence AND l.state = 'R' THEN l.due_at END AS next_attempt_at,
    CASE WHEN m.aggregate_sequence = l.head_sequence AND l.state = 'L' THEN l.due_at END AS lease_until,
    m.created_at
FROM {{p}}outbox_message m
JOIN {{p}}outbox_destination d ON (m.destinations >> d.destination) & 1 = 1
LEFT JOIN {{p}}outbox_lane l ON l.destination = d.destination AND l.tenant_id = m.tenant_id AND l.aggregate_id = m.aggregate_id
LEFT JOIN {{p}}outbox_operation o ON o.aggregate_id = m.aggregate_id AND o.aggregate_sequence = m.aggregate_sequence
    AND o.destination = d.destination AND o.action = 'trilha.outbox-message.discarded';

-- How each destination stands. Reads the lanes, which are as many as aggregates with work; never the messages.
CREATE FUNCTION {{p}}outbox_status() RETURNS TABLE (destination text, ready bigint, waiting bigint, leased bigint, dead bigint, head_at timestamptz)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT d.name, count(*) FILTER (WHERE l.state = 'R' AND l.attempts = 0), count(*) FILTER (WHERE l.state = 'R' AND l.attempts > 0),
        count(*) FILTER (WHERE l.state = 'L'), count(*) FILTER (WHERE l.state = 'X'),
        min((SELECT m.created_at FROM {{p}}outbox_message m WHERE m.aggregate_id = l.aggregate_id AND m.aggregate_sequence = l.head_sequence))
    FROM {{p}}outbox_destination d LEFT JOIN {{p}}outbox_lane l ON l.destination = d.destination
    GROUP BY d.name ORDER BY d.name
$$;

-- Lanes with work, dead ones first, then by age of what fails. `behind`: messages of the lane that wait behind the head, counted up to 1,000.
CREATE FUNCTION {{p}}outbox_lanes(p_tenant text, p_destination text, p_state text, p_code text, p_before timestamptz, p_limit bigint)
    RETURNS TABLE (destination text, tenant_id text, aggregate_type text, aggregate_key text, status text, head_sequence bigint, message_id uuid,
        message_type text, attempts bigint, due_at timestamptz, owner text, error_code text, error_text text, behind bigint, head_at timestamptz,
        failed_at timestamptz)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT x.name, x.tenant_id, x.aggregate_type, x.aggregate_key, x.status, x.head_sequence, m.message_id, m.message_type, x.attempts::bigint,
        CASE WHEN x.state <> 'X' THEN x.due_at END, x.lease_owner, x.error_code, x.error_text,
        (SELECT count(*) FROM (SELECT 1 FROM {{p}}outbox_message b WHERE b.aggregate_id = x.aggregate_id AND b.aggregate_sequence > x.head_sequence
            AND (b.destinations >> x.destination) & 1 = 1 LIMIT 1000) c), m.created_at, x.failed_at
    FROM (SELECT l.*, d.name, CASE WHEN l.state = 'X' THEN 'DeadLettered' WHEN l.state = 'L' AND l.due_at > clock_timestamp() THEN 'Dispatching'
                WHEN l.attempts > 0 THEN 'Failed' ELSE 'Pending' END AS status
            FROM {{p}}outbox_lane l JOIN {{p}}outbox_destination d ON d.destination = l.destination) x
    LEFT JOIN {{p}}outbox_message m ON m.aggregate_id = x.aggregate_id AND m.aggregate_sequence = x.head_sequence
    WHERE (p_tenant IS NULL OR x.tenant_id = p_tenant) AND (p_destination IS NULL OR x.name = p_destination)
        AND (p_state IS NULL OR x.status = p_state) AND (p_code IS NULL OR x.error_code = p_code) AND (p_before IS NULL OR x.failed_at < p_before)
    ORDER BY x.state = 'X' DESC, x.attempts > 0 DESC, x.failed_at, x.tenant_id, x.aggregate_type, x.aggregate_key, x.name LIMIT p_limit
$$;
