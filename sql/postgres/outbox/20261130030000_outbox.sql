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
    CONSTRAINT outbox_route_pattern_form CHECK (type_pattern ~ '^[^*]{0,255}[*]?$' AND type_pattern <> '')
);

-- Types that another dispatcher still delivers, by pattern as in outbox_route: while the row stands nothing of them is born here or leaves here. A row only
-- while it is so; outbox_upkeep keeps who held and who took over. See outbox_path_hold.
CREATE TABLE {{p}}outbox_path (
    type_pattern text        NOT NULL,
    holder       text        NOT NULL, -- what people call the other dispatcher
    held_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    user_name    text        NOT NULL,
    reason       text        NOT NULL,
    importing    boolean     NOT NULL DEFAULT false, -- true within the transaction of an import alone, which nobody else sees
    CONSTRAINT outbox_path_pkey PRIMARY KEY (type_pattern),
    CONSTRAINT outbox_path_pattern_form CHECK (type_pattern ~ '^[^*]{0,255}[*]?$' AND type_pattern <> ''),
    CONSTRAINT outbox_path_holder_form CHECK (char_length(holder) BETWEEN 1 AND 100),
    CONSTRAINT outbox_path_reason_given CHECK (reason <> '' AND user_name <> '')
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
    aggregate_id   bigint      NOT NULL,
    destination    smallint    NOT NULL,
    tenant_id      text        NOT NULL COLLATE "C",
    aggregate_type text        NOT NULL COLLATE "C",
    aggregate_key  text        NOT NULL COLLATE "C",
    head_sequence  bigint      NOT NULL,
    attempts       integer     NOT NULL DEFAULT 0, -- failures of the head, a lease that ran out included
    empty_polls    integer     NOT NULL DEFAULT 0,
    -- From here on a claim changes it; the log of an update leaves out the columns before the first that differs.
    due_at         timestamptz NOT NULL,
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
CREATE INDEX outbox_lane_leased ON {{p}}outbox_lane (destination, tenant_id, due_at) WHERE state = 'L'; -- the quota's count

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

-- UUIDv7 (ruling R4): the version's two bits are set in a random id whose first 48 bits are the time in milliseconds. Without a search path of its own and
-- so part of the caller's plan: a call costs as much as the whole INSERT of a message.
CREATE FUNCTION {{p}}outbox_message_id() RETURNS uuid LANGUAGE sql VOLATILE AS $$
    SELECT pg_catalog.encode(pg_catalog.set_bit(pg_catalog.set_bit(pg_catalog.overlay(pg_catalog.uuid_send(pg_catalog.gen_random_uuid()),
        pg_catalog.substring(pg_catalog.int8send((pg_catalog.date_part('epoch', pg_catalog.clock_timestamp()) OPERATOR(pg_catalog.*) 1000)::pg_catalog.int8), 3),
        1, 6), 52, 1), 53, 1), 'hex')::pg_catalog.uuid
$$;

-- What is wrong with a payload, or NULL. Called inside functions that have set their search path.
CREATE FUNCTION {{p}}outbox_payload_fault(payload text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF payload IS NULL THEN RETURN 'payload is needed'; END IF;
    IF pg_catalog.octet_length(payload) > 1048576 THEN RETURN 'payload must have at most 1048576 bytes'; END IF;
    RETURN CASE WHEN pg_catalog.json_typeof(payload::pg_catalog.json) <> 'object' THEN 'payload must be a JSON object' END;
EXCEPTION
    WHEN data_exception THEN RETURN 'payload must be a JSON object';
    WHEN statement_too_complex THEN RETURN 'payload nests too deeply';
END
$$;

-- --- for producers --------------------------------------------------------------------------------------------------

-- In the caller's own transaction, which decides whether it ever happened; a savepoint too. The aggregate's row stays locked until the caller's
-- commit, so sequences have no gaps and follow the order of commits. Whoever touches several aggregates in one transaction takes them in the order of
-- (tenant, type, key), or repeats its transaction on 40P01. clock_timestamp(), after the lock: never behind an earlier message of the aggregate.
-- The caller's settings hold in here, and the text of a function is read under them: no text of these functions holds a backslash, which
-- standard_conforming_strings would give another meaning.
CREATE FUNCTION {{p}}outbox_enqueue(tenant_id text, aggregate_type text, aggregate_key text, message_type text, version text, payload text,
    origin text, correlation_id uuid, INOUT message_id uuid DEFAULT NULL, company_id text DEFAULT NULL, causation_id uuid DEFAULT NULL,
    traceparent text DEFAULT NULL, occurred_at timestamptz DEFAULT NULL, OUT aggregate_sequence bigint)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    targets bigint; -- parameters are read as outbox_enqueue.NAME: bare names are columns
    elsewhere text;
    a record;
    fault text;
BEGIN
    -- PL/pgSQL makes each expression ready once a transaction, which costs more than to look: nearly all messages are known to be fine by the short one.
    IF octet_length(outbox_enqueue.tenant_id || outbox_enqueue.aggregate_type || outbox_enqueue.aggregate_key || outbox_enqueue.message_type) <= 255
        AND '' NOT IN (outbox_enqueue.tenant_id, outbox_enqueue.aggregate_type, outbox_enqueue.aggregate_key, outbox_enqueue.message_type, outbox_enqueue.origin)
        AND octet_length(outbox_enqueue.origin) <= 100 AND octet_length(outbox_enqueue.version) <= 20 AND outbox_enqueue.version ~ '^(0|[1-9][0-9]*)([.](0|[1-9][0-9]*)){2}$'
        AND outbox_enqueue.correlation_id IS NOT NULL AND coalesce(octet_length(outbox_enqueue.company_id) BETWEEN 1 AND 255, true)
        AND coalesce(outbox_enqueue.traceparent ~ '^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$', true)
        AND coalesce(date_part('year', outbox_enqueue.occurred_at) BETWEEN 2 AND 9998, true) THEN
        fault := {{p}}outbox_payload_fault(outbox_enqueue.payload);
    ELSE
        fault := CASE
            WHEN coalesce(char_length(outbox_enqueue.tenant_id), 0) NOT BETWEEN 1 AND 255 THEN 'tenant_id must have 1 to 255 characters'
            WHEN coalesce(char_length(outbox_enqueue.aggregate_type), 0) NOT BETWEEN 1 AND 255 THEN 'aggregate_type must have 1 to 255 characters'
            WHEN coalesce(char_length(outbox_enqueue.aggregate_key), 0) NOT BETWEEN 1 AND 255 THEN 'aggregate_key must have 1 to 255 characters'
            WHEN octet_length(outbox_enqueue.tenant_id || outbox_enqueue.aggregate_type || outbox_enqueue.aggregate_key) > 2400
                THEN 'tenant_id, aggregate_type and aggregate_key must have at most 2400 bytes together' -- an entry of an index has at most 2704
            WHEN coalesce(char_length(outbox_enqueue.message_type), 0) NOT BETWEEN 1 AND 255 THEN 'message_type must have 1 to 255 characters'
            WHEN coalesce(char_length(outbox_enqueue.version), 0) NOT BETWEEN 1 AND 20 OR outbox_enqueue.version
                    !~ '^(0|[1-9][0-9]*)([.](0|[1-9][0-9]*)){2}(-[0-9A-Za-z-]+([.][0-9A-Za-z-]+)*)?([+][0-9A-Za-z-]+([.][0-9A-Za-z-]+)*)?$'
                THEN 'version must be a semantic version of at most 20 characters, as 1.0.0'
            WHEN coalesce(char_length(outbox_enqueue.origin), 0) NOT BETWEEN 1 AND 100 THEN 'origin must have 1 to 100 characters'
            WHEN outbox_enqueue.correlation_id IS NULL THEN 'correlation_id is needed'
            WHEN char_length(outbox_enqueue.company_id) NOT BETWEEN 1 AND 255 THEN 'company_id must have 1 to 255 characters or be NULL'
            WHEN outbox_enqueue.traceparent !~ '^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$' THEN 'traceparent must be as W3C Trace Context says'
            WHEN outbox_enqueue.occurred_at NOT BETWEEN '0001-01-01 00:00:00+00' AND '9999-12-31 23:59:59.999999+00'
                THEN 'occurred_at must be in the years 1 to 9999'
            ELSE {{p}}outbox_payload_fault(outbox_enqueue.payload)
        END;
    END IF;
    IF fault IS NOT NULL THEN RAISE EXCEPTION '%', fault USING ERRCODE = 'TL001'; END IF;

    SELECT bit_or(1::bigint << r.destination), (SELECT h.holder FROM {{p}}outbox_path h WHERE NOT h.importing
            AND (h.type_pattern = outbox_enqueue.message_type OR (right(h.type_pattern, 1) = '*'
                AND starts_with(outbox_enqueue.message_type, left(h.type_pattern, -1)))) LIMIT 1)
    INTO targets, elsewhere FROM {{p}}outbox_route r
    WHERE r.type_pattern = outbox_enqueue.message_type
        OR (right(r.type_pattern, 1) = '*' AND starts_with(outbox_enqueue.message_type, left(r.type_pattern, -1)));
    IF elsewhere IS NOT NULL THEN
        RAISE EXCEPTION '% still delivers this message_type: stop it, then `trilha outbox take`', elsewhere USING ERRCODE = 'TL015';
    END IF;
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
-- tried for ever. Rows without an aggregate: one for each tenant that was looked at, with its floors, how many
-- lanes it gave and whether more of it may be due; and the last one, whose tenant_id is where the next claim begins, '' after a whole round. Locks: lanes, skipping locked ones, so that nobody waits for anybody. Index: outbox_lane_due
-- (about 4 pages a tenant), outbox_lane_leased.
--
-- Floors (docs/adr/0023-floors.md): while a snapshot is held open somewhere, index entries of settled lanes stay, and a scan from a tenant's first lane walks them
-- all. So whoever claimed before gives back what it was told: p_tenants, in the order of this round (those behind p_after, then the others), and from where on
-- they are to be looked at; NULL: from the first. Other tenants are looked for between those, and from their first lane. `since`: whatever is due, and was
-- stamped a quarter of a second before the look, was seen or is at or behind it; what was not visible then (a transaction that commits later, a claim that was
-- rolled back) may be before it, so that a look from the first is needed now and then. Losing floors costs buffers, never a message.
CREATE FUNCTION {{p}}outbox_claim(p_destination smallint, p_owner text, p_after text, p_limit bigint, p_quota bigint, p_lease_ms bigint,
    p_tenants text[] DEFAULT NULL, p_since timestamptz[] DEFAULT NULL, p_leased_since timestamptz[] DEFAULT NULL)
    RETURNS TABLE (aggregate_id bigint, tenant_id text, aggregate_type text, aggregate_key text, head_sequence bigint, attempts bigint,
        lease_token bigint, due_at timestamptz, since timestamptz, leased_since timestamptz, taken bigint, more boolean)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off
    SET enable_sort = off SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
    slack constant interval := interval '250 ms'; -- between an enqueue and its commit, mostly
    t text COLLATE "C" := p_after;
    known integer := 1; -- the place in p_tenants of the next one
    known_count integer := coalesce(cardinality(p_tenants), 0);
    next_known text COLLATE "C";
    found_tenant text COLLATE "C";
    wrapped boolean := p_after = '';
    left_over bigint := p_limit;
    visits bigint := 0;
    lowest timestamptz;       -- from where on this tenant is looked at
    lowest_leased timestamptz;
    begun timestamptz;
    in_flight bigint;
    oldest_lease timestamptz;
    share bigint;
    last_due timestamptz;
BEGIN
    WHILE left_over > 0 AND visits < 2 * p_limit LOOP
        -- The next tenant: one that is not known, between here and the next known one; or that one; or the end of the list, or of the round.
        next_known := CASE WHEN known <= known_count AND (wrapped OR p_tenants[known] COLLATE "C" > p_after) THEN p_tenants[known] END;
        found_tenant := NULL;
        IF next_known IS NOT NULL THEN
            SELECT l.tenant_id INTO found_tenant FROM {{p}}outbox_lane l
            WHERE l.destination = p_destination AND l.state <> 'X' AND l.tenant_id > t AND l.tenant_id < next_known ORDER BY l.tenant_id, l.due_at LIMIT 1;
        ELSIF wrapped AND p_after <> '' THEN
            SELECT l.tenant_id INTO found_tenant FROM {{p}}outbox_lane l
            WHERE l.destination = p_destination AND l.state <> 'X' AND l.tenant_id > t AND l.tenant_id <= p_after ORDER BY l.tenant_id, l.due_at LIMIT 1;
        ELSE
            SELECT l.tenant_id INTO found_tenant FROM {{p}}outbox_lane l
            WHERE l.destination = p_destination AND l.state <> 'X' AND l.tenant_id > t ORDER BY l.tenant_id, l.due_at LIMIT 1;
        END IF;
        lowest := '-infinity';
        lowest_leased := '-infinity';
        IF found_tenant IS NOT NULL THEN
            t := found_tenant;
        ELSIF next_known IS NOT NULL THEN
            t := next_known;
            lowest := coalesce(p_since[known], lowest);
            lowest_leased := coalesce(p_leased_since[known], lowest_leased);
            known := known + 1;
        ELSE
            t := '';
            EXIT WHEN wrapped;
            wrapped := true;
            CONTINUE;
        END IF;
        visits := visits + 1;
        begun := clock_timestamp();
        SELECT count(*), min(l.due_at) INTO in_flight, oldest_lease FROM {{p}}outbox_lane l
        WHERE l.destination = p_destination AND l.tenant_id = t AND l.state = 'L' AND l.due_at > begun AND l.due_at >= lowest_leased;
        share := least(left_over, greatest(p_quota - in_flight, 0));
        taken := 0;
        last_due := NULL;
        FOR aggregate_id, tenant_id, aggregate_type, aggregate_key, head_sequence, attempts, lease_token, due_at, since IN
            WITH pick AS MATERIALIZED (
                SELECT l.ctid AS place, l.due_at AS was_due FROM {{p}}outbox_lane l
                WHERE l.destination = p_destination AND l.tenant_id = t AND l.state <> 'X' AND l.due_at >= lowest AND l.due_at <= clock_timestamp()
                ORDER BY l.due_at LIMIT share FOR UPDATE SKIP LOCKED)
            UPDATE {{p}}outbox_lane l SET state = 'L', attempts = l.attempts + (l.state = 'L')::int, lease_owner = p_owner,
                lease_token = nextval('{{p}}outbox_lease_token'), due_at = clock_timestamp() + p_lease_ms * interval '1 ms'
            FROM pick WHERE l.ctid = pick.place -- locked, so it stays there; by any other condition a plan might walk every lane of the tenant
            RETURNING l.aggregate_id, l.tenant_id, l.aggregate_type, l.aggregate_key, l.head_sequence, l.attempts::bigint, l.lease_token, l.due_at, pick.was_due
        LOOP
            taken := taken + 1;
            last_due := greatest(last_due, since);
            RETURN NEXT;
        END LOOP;
        left_over := left_over - taken;
        -- Cut short by its share: the rest begins at the last that was taken. Else whatever was due is taken, as far as it could be seen.
        RETURN QUERY SELECT NULL::bigint, t, NULL::text, NULL::text, NULL::bigint, NULL::bigint, NULL::bigint, NULL::timestamptz,
            nullif(CASE WHEN share = 0 THEN lowest WHEN taken < share THEN greatest(lowest, begun - slack)
                ELSE greatest(lowest, least(last_due, begun - slack)) END, '-infinity'),
            greatest(lowest_leased, least(oldest_lease, begun + p_lease_ms * interval '1 ms')), taken, taken = share;
    END LOOP;
    RETURN QUERY SELECT NULL::bigint, t, NULL::text, NULL::text, NULL::bigint, NULL::bigint, NULL::bigint, NULL::timestamptz, NULL::timestamptz,
        NULL::timestamptz, NULL::bigint, NULL::boolean;
END
$$;

-- The messages of leased lanes from their heads on, at most p_run of each and, beyond the first, p_bytes of payload. Outside the claim's transaction and
-- before any sending. previous_sequence: the one before it that this destination was given, purged ones included (0: none); numbers that went elsewhere or
-- were discarded are no gap to a consumer that keeps order. The content is that of the last revision. held_by: another path has its type, and it may not
-- be sent (outbox_path, empty but while one moves over). Indexes: outbox_message_pkey, and an entry of outbox_revision_pkey for each message.
CREATE FUNCTION {{p}}outbox_fetch(p_destination smallint, p_aggregates bigint[], p_heads bigint[], p_run bigint, p_bytes bigint)
    RETURNS TABLE (lane bigint, aggregate_sequence bigint, previous_sequence bigint, message_id uuid, company_id text, message_type text,
        version text, origin text, correlation_id uuid, causation_id uuid, traceparent text, occurred_at timestamptz, payload text, revision bigint,
        held_by text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off
    SET enable_hashjoin = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
    any_revision boolean := EXISTS (SELECT 1 FROM {{p}}outbox_revision); -- mostly there is none, and then none is looked for
    any_path boolean := EXISTS (SELECT 1 FROM {{p}}outbox_path);
BEGIN
    RETURN QUERY SELECT x.lane - 1, m.aggregate_sequence, coalesce(m.previous, b.previous, g.last_sequence, 0), m.message_id, m.company_id, m.message_type,
        m.version, m.origin, m.correlation_id, m.causation_id, m.traceparent, m.occurred_at, m.content, m.revision,
        CASE WHEN any_path THEN (SELECT h.holder FROM {{p}}outbox_path h WHERE h.type_pattern = m.message_type
            OR (right(h.type_pattern, 1) = '*' AND starts_with(m.message_type, left(h.type_pattern, -1))) LIMIT 1) END
    FROM unnest(p_aggregates, p_heads) WITH ORDINALITY x (aggregate_id, head, lane)
    CROSS JOIN LATERAL (SELECT o.*, sum(octet_length(o.content)) OVER w AS weight, lag(o.aggregate_sequence) OVER w AS previous
        FROM (SELECT i.*, coalesce(c.payload, i.payload) AS content, coalesce(c.revision, 1) AS revision
                FROM (SELECT j.aggregate_sequence, j.message_id, j.company_id, j.message_type, j.version, j.origin, j.correlation_id, j.causation_id,
                        j.traceparent, j.occurred_at, j.payload
                    FROM {{p}}outbox_message j WHERE j.aggregate_id = x.aggregate_id AND j.aggregate_sequence >= x.head
                    AND (j.destinations >> p_destination) & 1 = 1 ORDER BY j.aggregate_sequence LIMIT p_run) i
                LEFT JOIN LATERAL (SELECT r.payload, r.revision FROM {{p}}outbox_revision r WHERE any_revision AND r.message_id = i.message_id
                    ORDER BY r.revision DESC LIMIT 1) c ON true) o
        WINDOW w AS (ORDER BY o.aggregate_sequence ROWS UNBOUNDED PRECEDING)) m
    LEFT JOIN LATERAL (SELECT i.aggregate_sequence AS previous FROM {{p}}outbox_message i
        WHERE m.previous IS NULL AND i.aggregate_id = x.aggregate_id AND i.aggregate_sequence < x.head AND (i.destinations >> p_destination) & 1 = 1
            AND NOT EXISTS (SELECT 1 FROM {{p}}outbox_operation d WHERE d.aggregate_id = i.aggregate_id
                AND d.aggregate_sequence = i.aggregate_sequence AND d.destination = p_destination AND d.action = 'trilha.outbox-message.discarded')
        ORDER BY i.aggregate_sequence DESC LIMIT 1) b ON true
    LEFT JOIN LATERAL (SELECT p.last_sequence FROM {{p}}outbox_purged p
        WHERE m.previous IS NULL AND p.aggregate_id = x.aggregate_id AND p.destination = p_destination) g ON true
    WHERE m.previous IS NULL OR m.weight <= p_bytes
    ORDER BY x.lane, m.aggregate_sequence;
END
$$;

-- NULL: the lease is somebody else's by now. The new end of the lease is part of the lane's address.
CREATE FUNCTION {{p}}outbox_renew(p_destination smallint, p_tenant text, p_due timestamptz, p_aggregate bigint, p_token bigint, p_lease_ms bigint)
    RETURNS timestamptz LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
    UPDATE {{p}}outbox_lane SET due_at = clock_timestamp() + p_lease_ms * interval '1 ms'
    WHERE destination = p_destination AND tenant_id = p_tenant AND due_at = p_due AND aggregate_id = p_aggregate AND lease_token = p_token
        AND state <> 'X' AND state <> 'R' RETURNING due_at -- not = 'L': see outbox_settle
$$;

-- Ends leases. p_nexts: the first sequence that was not delivered. p_drained: the run held fewer messages than were asked for. p_delays: NULL for
-- success, else milliseconds to the next attempt of the message p_nexts; -1: it is dead; -2: another path has its type, so the lane is put aside until
-- outbox_path_take() and no attempt is counted. Answers per lane in the given order: false when its token is
-- not the current one; then nothing of it was changed, and its messages will be sent again by whoever has it.
-- Parking: the lane's row goes away when the aggregate's row can be locked at once and no message is left. Relay first: a producer waits for this
-- transaction and then finds the bit cleared, and makes a lane. Producer first: the row is locked, the lane stays and is looked at again 5 ms to 1 s
-- later. The look comes after the lock as a statement of its own, so it sees whatever was committed before the lock was had: READ COMMITTED is needed.
-- All lanes of a batch in a few statements, each of which sees what the one before it locked.
CREATE FUNCTION {{p}}outbox_settle(p_destination smallint, p_tenants text[], p_dues timestamptz[], p_aggregates bigint[], p_tokens bigint[],
    p_nexts bigint[], p_drained bigint[], p_delays bigint[], p_codes text[], p_errors text[]) RETURNS TABLE (settled boolean)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off
    SET enable_hashjoin = off SET enable_mergejoin = off SET enable_memoize = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    n integer := coalesce(array_length(p_tenants, 1), 0);
    done boolean[] := array_fill(false, ARRAY[n]);
    i bigint;
    places bigint[]; -- of those that are still ours, in the arrays that were given
    rows_at tid[];   -- and where their lanes lie: locked, so they stay there
    types text[];
    keys text[];
    heads bigint[];
    idle bigint[];   -- places whose aggregates nobody is writing to
    idle_at tid[];
    asleep_at tid[]; -- where the aggregates lie whose lanes go
    asleep_count bigint;
    asides bigint[] := '{}';
BEGIN
    -- In the order of aggregates: two that settle at once never wait for each other in a circle. Each is looked up by its address, whatever a plan thinks of the
    -- table: a subquery that locks is not turned around. 'L' is looked at afterwards: in the look-up it would let a plan walk the leases of the tenant.
    SELECT array_agg(x.place), array_agg(o.row_at), array_agg(o.aggregate_type), array_agg(o.aggregate_key), array_agg(o.head_sequence)
    INTO places, rows_at, types, keys, heads
    FROM (SELECT u.* FROM unnest(p_tenants, p_dues, p_aggregates, p_tokens) WITH ORDINALITY u (tenant_id, due_at, aggregate_id, token, place)
        ORDER BY u.aggregate_id) x
    CROSS JOIN LATERAL (SELECT l.ctid AS row_at, l.aggregate_type, l.aggregate_key, l.head_sequence, l.state::text AS state FROM {{p}}outbox_lane l
        WHERE l.destination = p_destination AND l.tenant_id = x.tenant_id AND l.due_at = x.due_at AND l.aggregate_id = x.aggregate_id
            AND l.lease_token = x.token AND l.state <> 'X' FOR UPDATE OFFSET 0) o
    WHERE o.state = 'L';
    FOREACH i IN ARRAY coalesce(places, '{}') LOOP done[i] := true; END LOOP;
    IF places IS NULL THEN
        RETURN QUERY SELECT unnest(done);
        RETURN;
    END IF;
    INSERT INTO {{p}}outbox_delivery (aggregate_id, destination, sequence_from, sequence_to, delivered_at)
    SELECT p_aggregates[x.place], p_destination, x.head, p_nexts[x.place] - 1, clock_timestamp() FROM unnest(places, heads) x (place, head)
    WHERE p_nexts[x.place] > x.head ON CONFLICT DO NOTHING;
    IF 1 = ANY (p_drained) THEN
        SELECT array_agg(x.place), array_agg(x.row_at), array_agg(a.row_at) INTO idle, idle_at, asleep_at
        FROM unnest(places, rows_at, types, keys) x (place, row_at, aggregate_type, aggregate_key)
        CROSS JOIN LATERAL (SELECT g.ctid AS row_at FROM {{p}}outbox_aggregate g
            WHERE p_drained[x.place] = 1 AND p_delays[x.place] IS NULL AND g.tenant_id = p_tenants[x.place] AND g.aggregate_type = x.aggregate_type
                AND g.aggregate_key = x.aggregate_key FOR UPDATE SKIP LOCKED) a;
        WITH parked AS (
            DELETE FROM {{p}}outbox_lane o USING unnest(idle, idle_at, asleep_at) x (place, row_at, aggregate_at)
            WHERE o.ctid = x.row_at AND NOT EXISTS (SELECT 1 FROM {{p}}outbox_message m WHERE m.aggregate_id = p_aggregates[x.place]
                AND m.aggregate_sequence >= p_nexts[x.place] AND (m.destinations >> p_destination) & 1 = 1)
            RETURNING x.aggregate_at)
        SELECT array_agg(p.aggregate_at) INTO asleep_at FROM parked p;
        UPDATE {{p}}outbox_aggregate a SET awake = a.awake & ~(1::bigint << p_destination) WHERE a.ctid = ANY (asleep_at);
        GET DIAGNOSTICS asleep_count = ROW_COUNT;
        IF asleep_count <> coalesce(cardinality(asleep_at), 0) THEN -- a lane that is gone while its bit says that it is there would never be made again
            RAISE EXCEPTION 'an aggregate moved while it was locked' USING ERRCODE = 'serialization_failure';
        END IF;
    END IF;
    IF -2 = ANY (p_delays) THEN
        FOREACH i IN ARRAY places LOOP
            CONTINUE WHEN p_delays[i] IS DISTINCT FROM -2;
            -- The path's row stays locked, so that whoever takes over wakes this lane too; a row that is gone by now lets it go on.
            PERFORM 1 FROM {{p}}outbox_path h JOIN {{p}}outbox_message m ON h.type_pattern = m.message_type
                OR (right(h.type_pattern, 1) = '*' AND starts_with(m.message_type, left(h.type_pattern, -1)))
            WHERE m.aggregate_id = p_aggregates[i] AND m.aggregate_sequence = p_nexts[i] FOR KEY SHARE OF h;
            IF FOUND THEN asides := asides || i; END IF;
        END LOOP;
    END IF;
    -- The others: parked ones are gone.
    UPDATE {{p}}outbox_lane o SET
        state = CASE WHEN p_delays[x.place] = -1 THEN 'X' ELSE 'R' END,
        head_sequence = p_nexts[x.place],
        attempts = CASE WHEN p_nexts[x.place] = o.head_sequence THEN o.attempts ELSE 0 END + coalesce(p_delays[x.place] >= -1, false)::int,
        empty_polls = CASE WHEN p_delays[x.place] IS NULL AND p_drained[x.place] = 1 AND p_nexts[x.place] = o.head_sequence THEN o.empty_polls + 1 ELSE 0 END,
        due_at = CASE WHEN x.place = ANY (asides) THEN '9999-12-31 00:00:00+00' ELSE clock_timestamp() END + interval '1 ms' * CASE
            WHEN p_delays[x.place] IS NOT NULL THEN greatest(p_delays[x.place], 0)
            WHEN p_drained[x.place] <> 1 THEN 0 ELSE least(1000, 5 * 2 ^ least(o.empty_polls, 8)) END,
        lease_owner = NULL, error_code = p_codes[x.place], error_text = p_errors[x.place],
        failed_at = CASE WHEN p_delays[x.place] >= -1 THEN clock_timestamp() END
    FROM unnest(places, rows_at) x (place, row_at) WHERE o.ctid = x.row_at;
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
