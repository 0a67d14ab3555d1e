-- A consumer's inbox, in the consumer's own schema (specification 001, rule 5; rulings R21, R31, R34).
CREATE TABLE {{p}}inbox_message (
    tenant_id      text        NOT NULL COLLATE "C",
    consumer       text        NOT NULL COLLATE "C",
    message_id     uuid        NOT NULL,
    payload_sha256 text        NOT NULL,
    accepted_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    result         text,
    CONSTRAINT inbox_message_pkey PRIMARY KEY (tenant_id, consumer, message_id),
    CONSTRAINT inbox_message_sha256_form CHECK (payload_sha256 ~ '^[0-9a-f]{64}$'),
    CONSTRAINT inbox_message_names CHECK (char_length(tenant_id) BETWEEN 1 AND 255 AND char_length(consumer) BETWEEN 1 AND 255)
);
CREATE INDEX inbox_message_accepted_at_idx ON {{p}}inbox_message (accepted_at);

-- Messages that came again after they were accepted, insert-only. It commits or not with the transaction that asked: whoever meets a conflict commits, so
-- that operators see it.
CREATE TABLE {{p}}inbox_repeat (
    id             bigint      NOT NULL GENERATED ALWAYS AS IDENTITY,
    tenant_id      text        NOT NULL COLLATE "C",
    consumer       text        NOT NULL COLLATE "C",
    message_id     uuid        NOT NULL,
    outcome        text        NOT NULL,
    payload_sha256 text        NOT NULL, -- as it came; what was accepted is in inbox_message
    at             timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT inbox_repeat_pkey PRIMARY KEY (id),
    CONSTRAINT inbox_repeat_outcome_known CHECK (outcome IN ('duplicate', 'conflict'))
);
CREATE INDEX inbox_repeat_message_idx ON {{p}}inbox_repeat (tenant_id, consumer, message_id, outcome);
CREATE INDEX inbox_repeat_conflict_idx ON {{p}}inbox_repeat (id) WHERE outcome = 'conflict';
CREATE INDEX inbox_repeat_at_idx ON {{p}}inbox_repeat (at);

-- For consumers that need order: the last sequence of each aggregate that was accepted.
CREATE TABLE {{p}}inbox_order (
    tenant_id      text   NOT NULL COLLATE "C",
    consumer       text   NOT NULL COLLATE "C",
    aggregate_type text   NOT NULL COLLATE "C",
    aggregate_key  text   NOT NULL COLLATE "C",
    last_sequence  bigint NOT NULL,
    CONSTRAINT inbox_order_pkey PRIMARY KEY (tenant_id, consumer, aggregate_type, aggregate_key)
);

-- What is wrong with the key of a message, or NULL. Called inside functions that have set their search path.
CREATE FUNCTION {{p}}inbox_fault(tenant_id text, consumer text, message_id uuid, payload_sha256 text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN coalesce(pg_catalog.char_length(tenant_id), 0) NOT BETWEEN 1 AND 255 THEN 'tenant_id must have 1 to 255 characters'
        WHEN coalesce(pg_catalog.char_length(consumer), 0) NOT BETWEEN 1 AND 255 THEN 'consumer must have 1 to 255 characters'
        WHEN message_id IS NULL THEN 'message_id is needed'
        WHEN coalesce(payload_sha256, '') !~ '^[0-9a-f]{64}$' THEN 'payload_sha256 must be the 64 lower-case hexadecimal digits of the payload''s SHA-256'
    END
$$;

-- In the transaction of the effect. 'new': do the effect, give its result to inbox_finish, commit. 'duplicate': it was done, here is what it gave.
-- 'conflict': this key came before with other content; nothing may be done. Two that accept one message at once: the second waits for the
-- first's end, and is a duplicate, or new when that one rolled back. Index: inbox_message_pkey.
CREATE FUNCTION {{p}}inbox_accept(tenant_id text, consumer text, message_id uuid, payload_sha256 text, OUT outcome text, OUT result text)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    seen record;
    fault text := {{p}}inbox_fault(inbox_accept.tenant_id, inbox_accept.consumer, inbox_accept.message_id, inbox_accept.payload_sha256);
BEGIN
    IF fault IS NOT NULL THEN RAISE EXCEPTION '%', fault USING ERRCODE = 'TL001'; END IF;
    INSERT INTO {{p}}inbox_message AS i (tenant_id, consumer, message_id, payload_sha256)
    VALUES (inbox_accept.tenant_id, inbox_accept.consumer, inbox_accept.message_id, inbox_accept.payload_sha256) ON CONFLICT DO NOTHING;
    IF FOUND THEN
        inbox_accept.outcome := 'new';
        RETURN;
    END IF;
    SELECT i.payload_sha256 = inbox_accept.payload_sha256 AS same, i.result INTO STRICT seen FROM {{p}}inbox_message i
    WHERE i.tenant_id = inbox_accept.tenant_id AND i.consumer = inbox_accept.consumer AND i.message_id = inbox_accept.message_id;
    inbox_accept.outcome := CASE WHEN seen.same THEN 'duplicate' ELSE 'conflict' END;
    inbox_accept.result := CASE WHEN seen.same THEN seen.result END;
    INSERT INTO {{p}}inbox_repeat (tenant_id, consumer, message_id, outcome, payload_sha256)
    VALUES (inbox_accept.tenant_id, inbox_accept.consumer, inbox_accept.message_id, inbox_accept.outcome, inbox_accept.payload_sha256);
END
$$;

-- The same for a consumer that needs the order of each aggregate. 'held' besides: the message previous_sequence has not been accepted yet; nothing was
-- kept, and the message has to come again. A number that is no place behind previous_sequence is refused, since each of the two answers would lose its
-- effect without a word. A number that is behind the last one and is no longer in the inbox is a 'duplicate' without a result:
-- the inbox may be purged, the last sequence never goes back. The aggregate's row in inbox_order stays locked until the caller's commit.
CREATE FUNCTION {{p}}inbox_accept_ordered(tenant_id text, consumer text, message_id uuid, payload_sha256 text, aggregate_type text,
    aggregate_key text, aggregate_sequence bigint, previous_sequence bigint, OUT outcome text, OUT result text)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    last bigint;
    known boolean;
    fault text := CASE
        WHEN coalesce(char_length(inbox_accept_ordered.aggregate_type), 0) NOT BETWEEN 1 AND 255 THEN 'aggregate_type must have 1 to 255 characters'
        WHEN coalesce(char_length(inbox_accept_ordered.aggregate_key), 0) NOT BETWEEN 1 AND 255 THEN 'aggregate_key must have 1 to 255 characters'
        WHEN octet_length(inbox_accept_ordered.tenant_id || inbox_accept_ordered.consumer || inbox_accept_ordered.aggregate_type
                || inbox_accept_ordered.aggregate_key) > 2640
            THEN 'tenant_id, consumer, aggregate_type and aggregate_key must have at most 2640 bytes together' -- an entry of an index has at most 2704
        WHEN coalesce(inbox_accept_ordered.previous_sequence, -1) < 0 OR inbox_accept_ordered.previous_sequence >= inbox_accept_ordered.aggregate_sequence
                OR inbox_accept_ordered.aggregate_sequence IS NULL
            THEN 'aggregate_sequence must be at least 1, and previous_sequence from 0 to the number before it'
        ELSE {{p}}inbox_fault(inbox_accept_ordered.tenant_id, inbox_accept_ordered.consumer, inbox_accept_ordered.message_id,
            inbox_accept_ordered.payload_sha256)
    END;
BEGIN
    IF fault IS NOT NULL THEN RAISE EXCEPTION '%', fault USING ERRCODE = 'TL001'; END IF;
    INSERT INTO {{p}}inbox_order AS o (tenant_id, consumer, aggregate_type, aggregate_key, last_sequence)
    VALUES (inbox_accept_ordered.tenant_id, inbox_accept_ordered.consumer, inbox_accept_ordered.aggregate_type,
        inbox_accept_ordered.aggregate_key, 0)
    ON CONFLICT (tenant_id, consumer, aggregate_type, aggregate_key) DO UPDATE SET last_sequence = o.last_sequence
    RETURNING o.last_sequence INTO last;
    SELECT EXISTS (SELECT 1 FROM {{p}}inbox_message i WHERE i.tenant_id = inbox_accept_ordered.tenant_id
        AND i.consumer = inbox_accept_ordered.consumer AND i.message_id = inbox_accept_ordered.message_id) INTO known;
    IF NOT known AND inbox_accept_ordered.aggregate_sequence <= last THEN
        inbox_accept_ordered.outcome := 'duplicate';
        INSERT INTO {{p}}inbox_repeat (tenant_id, consumer, message_id, outcome, payload_sha256)
        VALUES (inbox_accept_ordered.tenant_id, inbox_accept_ordered.consumer, inbox_accept_ordered.message_id, 'duplicate',
            inbox_accept_ordered.payload_sha256);
    ELSIF NOT known AND inbox_accept_ordered.previous_sequence > last THEN
        inbox_accept_ordered.outcome := 'held';
    ELSE
        SELECT a.outcome, a.result INTO inbox_accept_ordered.outcome, inbox_accept_ordered.result
        FROM {{p}}inbox_accept(inbox_accept_ordered.tenant_id, inbox_accept_ordered.consumer, inbox_accept_ordered.message_id,
            inbox_accept_ordered.payload_sha256) a;
        IF inbox_accept_ordered.outcome = 'new' THEN
            UPDATE {{p}}inbox_order o SET last_sequence = inbox_accept_ordered.aggregate_sequence
            WHERE o.tenant_id = inbox_accept_ordered.tenant_id AND o.consumer = inbox_accept_ordered.consumer
                AND o.aggregate_type = inbox_accept_ordered.aggregate_type AND o.aggregate_key = inbox_accept_ordered.aggregate_key;
        END IF;
    END IF;
END
$$;

-- Keeps what the effect gave, for those who come with the same message again. In the same transaction.
CREATE FUNCTION {{p}}inbox_finish(tenant_id text, consumer text, message_id uuid, result text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    UPDATE {{p}}inbox_message i SET result = inbox_finish.result WHERE i.tenant_id = inbox_finish.tenant_id
        AND i.consumer = inbox_finish.consumer AND i.message_id = inbox_finish.message_id AND i.result IS NULL;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the inbox has not accepted this message, or keeps its result already: call inbox_accept first, and this once'
            USING ERRCODE = 'TL007';
    END IF;
END
$$;

-- --- for operators ------------------------------------------------------------------------------------------------------

-- What was accepted, the last first, and how often it came again. Of the result only its size: it is the consumer's own data. Index:
-- inbox_message_accepted_at_idx. A message's id alone is looked up under every (tenant, consumer): an entry or two of inbox_message_pkey for each of those,
-- whatever the inbox holds.
CREATE FUNCTION {{p}}inbox_list(p_tenant text, p_consumer text, p_message uuid, p_limit bigint,
    p_after_at timestamptz DEFAULT 'infinity', p_after_tenant text DEFAULT NULL, p_after_consumer text DEFAULT NULL, p_after_message uuid DEFAULT NULL)
    RETURNS TABLE (tenant_id text, consumer text, message_id uuid, payload_sha256 text, accepted_at timestamptz, result_bytes bigint,
        duplicates bigint, conflicts bigint)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off
    SET enable_hashjoin = off SET enable_mergejoin = off AS $$
    WITH RECURSIVE place (tenant_id, consumer) AS (
        (SELECT m.tenant_id, m.consumer FROM {{p}}inbox_message m WHERE p_message IS NOT NULL ORDER BY m.tenant_id, m.consumer LIMIT 1)
        UNION ALL
        SELECT n.tenant_id, n.consumer FROM place q CROSS JOIN LATERAL (SELECT m.tenant_id, m.consumer FROM {{p}}inbox_message m
            WHERE (m.tenant_id, m.consumer) > (q.tenant_id, q.consumer) ORDER BY m.tenant_id, m.consumer LIMIT 1) n),
    found AS (
        (SELECT m.* FROM {{p}}inbox_message m WHERE p_message IS NULL AND (p_tenant IS NULL OR m.tenant_id = p_tenant)
                AND (p_consumer IS NULL OR m.consumer = p_consumer)
                AND m.accepted_at <= p_after_at AND (m.accepted_at < p_after_at
                    OR (m.tenant_id, m.consumer, m.message_id) > (p_after_tenant, p_after_consumer, p_after_message))
            ORDER BY m.accepted_at DESC, m.tenant_id, m.consumer, m.message_id LIMIT p_limit)
        UNION ALL
        (SELECT m.* FROM place q JOIN {{p}}inbox_message m ON m.tenant_id = q.tenant_id AND m.consumer = q.consumer AND m.message_id = p_message
            WHERE (p_tenant IS NULL OR q.tenant_id = p_tenant) AND (p_consumer IS NULL OR q.consumer = p_consumer)
                AND m.accepted_at <= p_after_at AND (m.accepted_at < p_after_at
                    OR (m.tenant_id, m.consumer, m.message_id) > (p_after_tenant, p_after_consumer, p_after_message))
            ORDER BY m.accepted_at DESC, m.tenant_id, m.consumer LIMIT p_limit))
    SELECT i.tenant_id, i.consumer, i.message_id, i.payload_sha256, i.accepted_at, octet_length(i.result)::bigint,
        (SELECT count(*) FROM {{p}}inbox_repeat r WHERE r.tenant_id = i.tenant_id AND r.consumer = i.consumer AND r.message_id = i.message_id
            AND r.outcome = 'duplicate'),
        (SELECT count(*) FROM {{p}}inbox_repeat r WHERE r.tenant_id = i.tenant_id AND r.consumer = i.consumer AND r.message_id = i.message_id
            AND r.outcome = 'conflict')
    FROM found i ORDER BY i.accepted_at DESC, i.tenant_id, i.consumer, i.message_id
$$;

-- What came under a known key with other content, the last first. accepted_sha256 is NULL once the accepted row was purged. Index:
-- inbox_repeat_conflict_idx; a message's id alone is looked up as in inbox_list, by inbox_repeat_message_idx.
CREATE FUNCTION {{p}}inbox_conflicts(p_tenant text, p_consumer text, p_message uuid, p_limit bigint,
    p_below bigint DEFAULT 9223372036854775807)
    RETURNS TABLE (tenant_id text, consumer text, message_id uuid, accepted_sha256 text, accepted_at timestamptz, received_sha256 text,
        received_at timestamptz, place bigint)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off
    SET enable_hashjoin = off SET enable_mergejoin = off AS $$
    WITH RECURSIVE place (tenant_id, consumer) AS (
        (SELECT m.tenant_id, m.consumer FROM {{p}}inbox_repeat m WHERE p_message IS NOT NULL ORDER BY m.tenant_id, m.consumer LIMIT 1)
        UNION ALL
        SELECT n.tenant_id, n.consumer FROM place q CROSS JOIN LATERAL (SELECT m.tenant_id, m.consumer FROM {{p}}inbox_repeat m
            WHERE (m.tenant_id, m.consumer) > (q.tenant_id, q.consumer) ORDER BY m.tenant_id, m.consumer LIMIT 1) n),
    found AS (
        (SELECT r.* FROM {{p}}inbox_repeat r WHERE p_message IS NULL AND r.outcome = 'conflict' AND (p_tenant IS NULL OR r.tenant_id = p_tenant)
                AND (p_consumer IS NULL OR r.consumer = p_consumer) AND r.id < p_below ORDER BY r.id DESC LIMIT p_limit)
        UNION ALL
        (SELECT r.* FROM place q JOIN {{p}}inbox_repeat r ON r.tenant_id = q.tenant_id AND r.consumer = q.consumer AND r.message_id = p_message
                AND r.outcome = 'conflict'
            WHERE (p_tenant IS NULL OR q.tenant_id = p_tenant) AND (p_consumer IS NULL OR q.consumer = p_consumer)
                AND r.id < p_below ORDER BY r.id DESC LIMIT p_limit))
    SELECT c.tenant_id, c.consumer, c.message_id, i.payload_sha256, i.accepted_at, c.payload_sha256, c.at, c.id
    FROM found c LEFT JOIN {{p}}inbox_message i ON i.tenant_id = c.tenant_id AND i.consumer = c.consumer AND i.message_id = c.message_id
    ORDER BY c.id DESC
$$;
