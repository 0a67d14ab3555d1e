-- What operators do, and what a destination says (specification 001, rules 7 and 8; rulings R24, R31, R32). None of it makes a message.

-- What a destination states about a message, insert-only. An acknowledgement of the transport (outbox_delivery) says that it has the bytes; Received and
-- Applied are the destination's own words, each with its own time, and each kept once for a revision.
CREATE TABLE {{p}}outbox_receipt (
    id           bigint      NOT NULL GENERATED ALWAYS AS IDENTITY,
    message_id   uuid        NOT NULL,
    destination  smallint    NOT NULL,
    revision     bigint      NOT NULL,
    fact         text        NOT NULL,
    operation_id text,                 -- the destination's own name for what it did
    stated_at    timestamptz NOT NULL, -- when it became true, as the destination says
    recorded_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    source       text        NOT NULL,
    user_name    text        NOT NULL,
    note         text,
    CONSTRAINT outbox_receipt_pkey PRIMARY KEY (id),
    CONSTRAINT outbox_receipt_fact_known CHECK (fact IN ('Received', 'Applied', 'Refused', 'Unknown', 'Conflict')),
    CONSTRAINT outbox_receipt_source_known CHECK (source IN ('operator', 'query', 'callback', 'correction')),
    CONSTRAINT outbox_receipt_user_given CHECK (user_name <> '')
);
CREATE INDEX outbox_receipt_message ON {{p}}outbox_receipt (message_id, destination, id);
CREATE UNIQUE INDEX outbox_receipt_once ON {{p}}outbox_receipt (message_id, destination, revision, fact) WHERE fact IN ('Received', 'Applied');
CREATE TRIGGER outbox_receipt_insert_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {{p}}outbox_receipt
    FOR EACH STATEMENT EXECUTE FUNCTION {{p}}outbox_refuse_change();
ALTER TABLE {{p}}outbox_receipt ENABLE ALWAYS TRIGGER outbox_receipt_insert_only;

-- --- looking ------------------------------------------------------------------------------------------------------------

-- Every revision of a message, the enqueued one first; never a payload.
CREATE FUNCTION {{p}}outbox_revisions(p_message uuid)
    RETURNS TABLE (revision bigint, at timestamptz, user_name text, reason text, payload_bytes bigint, payload_sha256 text, diff text, accepted text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT 1, m.created_at, NULL, NULL, octet_length(m.payload)::bigint, encode(sha256(convert_to(m.payload, 'UTF8')), 'hex'), NULL, NULL
    FROM {{p}}outbox_message m WHERE m.message_id = p_message
    UNION ALL
    SELECT r.revision, r.at, r.user_name, r.reason, octet_length(r.payload)::bigint, encode(sha256(convert_to(r.payload, 'UTF8')), 'hex'), r.diff,
        r.accepted
    FROM {{p}}outbox_revision r WHERE r.message_id = p_message ORDER BY 1
$$;

-- What destinations stated about a message, in the order in which it became known.
CREATE FUNCTION {{p}}outbox_receipts(p_message uuid)
    RETURNS TABLE (destination text, fact text, revision bigint, operation_id text, stated_at timestamptz, recorded_at timestamptz, source text,
        user_name text, note text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT d.name, f.fact, f.revision, f.operation_id, f.stated_at, f.recorded_at, f.source, f.user_name, f.note
    FROM {{p}}outbox_receipt f JOIN {{p}}outbox_destination d ON d.destination = f.destination WHERE f.message_id = p_message ORDER BY f.id
$$;

-- The content of one revision (NULL: the last) for an operator who says why; the trail keeps that it was looked at.
CREATE FUNCTION {{p}}outbox_reveal(p_message uuid, p_revision bigint, p_user text, p_reason text)
    RETURNS TABLE (revision bigint, payload text)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    m {{p}}outbox_message%ROWTYPE;
BEGIN
    SELECT * INTO m FROM {{p}}outbox_message o WHERE o.message_id = p_message;
    IF NOT FOUND THEN RAISE EXCEPTION 'this outbox has no message with this id' USING ERRCODE = 'TL006'; END IF;
    INSERT INTO {{p}}outbox_operation (action, aggregate_id, aggregate_sequence, message_id, user_name, reason)
    VALUES ('trilha.outbox-message.revealed', m.aggregate_id, m.aggregate_sequence, p_message, p_user, p_reason);
    RETURN QUERY SELECT x.revision, x.payload FROM (SELECT 1::bigint, m.payload
            UNION ALL SELECT r.revision, r.payload FROM {{p}}outbox_revision r WHERE r.message_id = p_message) x (revision, payload)
        WHERE p_revision IS NULL OR x.revision = p_revision ORDER BY x.revision DESC LIMIT 1;
    IF NOT FOUND THEN RAISE EXCEPTION 'the message has no such revision' USING ERRCODE = 'TL006'; END IF;
END
$$;

-- --- acting ---------------------------------------------------------------------------------------------------------------

-- A second chance for the message at the head of a dead lane, under the same identity; or its end. Nothing else passes a dead head. A message is given
-- up knowing what its destination says: in the operator's words, as a receipt that came after the failure, or, knowingly, not at all. The trail is
-- written in the same transaction.
CREATE FUNCTION {{p}}outbox_operate(p_message uuid, p_destination text, p_discard boolean, p_user text, p_reason text, p_reconciliation text,
    p_override boolean)
    RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    m {{p}}outbox_message%ROWTYPE;
    l {{p}}outbox_lane%ROWTYPE;
    said text := nullif(p_reconciliation, '');
BEGIN
    SELECT * INTO m FROM {{p}}outbox_message o WHERE o.message_id = p_message;
    IF NOT FOUND THEN RAISE EXCEPTION 'this outbox has no message with this id' USING ERRCODE = 'TL006'; END IF;
    SELECT * INTO l FROM {{p}}outbox_lane o WHERE o.destination = {{p}}outbox_destination_number(p_destination) AND o.tenant_id = m.tenant_id
        AND o.aggregate_id = m.aggregate_id AND o.state = 'X' FOR UPDATE;
    IF NOT FOUND OR l.head_sequence <> m.aggregate_sequence THEN
        RAISE EXCEPTION 'the message is not a dead letter at the head of its lane: only such a one can be retried or discarded' USING ERRCODE = 'TL005';
    END IF;
    IF p_discard AND said IS NULL THEN
        SELECT f.fact || coalesce(': ' || f.note, '') INTO said FROM {{p}}outbox_receipt f
        WHERE f.message_id = p_message AND f.destination = l.destination AND f.recorded_at >= l.failed_at ORDER BY f.id DESC LIMIT 1;
        IF said IS NULL AND p_override THEN said := 'the destination was not asked (override)'; END IF;
        IF said IS NULL THEN
            RAISE EXCEPTION 'nothing says what the destination knows of this message since it failed: reconcile it, state it, or override'
                USING ERRCODE = 'TL008';
        END IF;
    END IF;
    UPDATE {{p}}outbox_lane o SET state = 'R', attempts = 0, due_at = clock_timestamp(), error_code = NULL, error_text = NULL, failed_at = NULL,
        head_sequence = l.head_sequence + p_discard::int
    WHERE o.destination = l.destination AND o.tenant_id = l.tenant_id AND o.aggregate_id = l.aggregate_id AND o.state = 'X';
    INSERT INTO {{p}}outbox_operation (action, destination, aggregate_id, aggregate_sequence, message_id, user_name, reason, reconciliation)
    VALUES (CASE WHEN p_discard THEN 'trilha.outbox-message.discarded' ELSE 'trilha.outbox-message.retried' END, l.destination, l.aggregate_id,
        l.head_sequence, p_message, p_user, p_reason, said);
END
$$;

-- New content under the same id, in the same place of its lanes; the earlier ones stay. Refused while a live lease covers the message (it may be on its
-- way), and when no destination waits for it. A destination that acknowledged an earlier revision gets a receipt Conflict: whoever reconciles sees
-- that it holds other content. Dead and failing heads become due at once; a lease that ran out is over for good. Locks: the aggregate's lanes, in the order of destinations.
CREATE FUNCTION {{p}}outbox_correct(p_message uuid, p_revision bigint, p_payload text, p_diff text, p_user text, p_reason text,
    OUT revision bigint, OUT revived bigint, OUT accepted text)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    m {{p}}outbox_message%ROWTYPE;
    fault text := {{p}}outbox_payload_fault(p_payload);
    waiting bigint;
BEGIN
    IF fault IS NOT NULL THEN RAISE EXCEPTION '%', fault USING ERRCODE = 'TL001'; END IF;
    SELECT * INTO m FROM {{p}}outbox_message o WHERE o.message_id = p_message;
    IF NOT FOUND THEN RAISE EXCEPTION 'this outbox has no message with this id' USING ERRCODE = 'TL006'; END IF;
    PERFORM 1 FROM {{p}}outbox_aggregate a WHERE a.tenant_id = m.tenant_id AND a.aggregate_type = m.aggregate_type
        AND a.aggregate_key = m.aggregate_key FOR UPDATE; -- corrections of one aggregate take turns
    PERFORM 1 FROM {{p}}outbox_lane l WHERE l.tenant_id = m.tenant_id AND l.aggregate_id = m.aggregate_id
        AND l.destination IN (SELECT d.destination FROM {{p}}outbox_destination d) ORDER BY l.destination FOR UPDATE;
    IF EXISTS (SELECT 1 FROM {{p}}outbox_lane l WHERE l.tenant_id = m.tenant_id AND l.aggregate_id = m.aggregate_id AND l.state = 'L'
            AND l.due_at > clock_timestamp() AND l.head_sequence <= m.aggregate_sequence AND (m.destinations >> l.destination) & 1 = 1) THEN
        RAISE EXCEPTION 'a worker has the message under its lease: correct it when the attempt is over' USING ERRCODE = 'TL009';
    END IF;
    outbox_correct.revision := coalesce((SELECT max(r.revision) FROM {{p}}outbox_revision r WHERE r.message_id = p_message), 1);
    IF outbox_correct.revision <> p_revision THEN
        RAISE EXCEPTION 'the message has another revision by now: look at it again' USING ERRCODE = 'TL010';
    END IF;
    SELECT count(*) FILTER (WHERE v.status NOT IN ('Dispatched', 'Discarded')),
        string_agg(v.destination, ', ' ORDER BY v.destination) FILTER (WHERE v.status = 'Dispatched') INTO waiting, outbox_correct.accepted
    FROM {{p}}producer_outbox v WHERE v.message_id = p_message;
    IF waiting = 0 THEN RAISE EXCEPTION 'no destination waits for this message any more' USING ERRCODE = 'TL011'; END IF;
    INSERT INTO {{p}}outbox_receipt (message_id, destination, revision, fact, stated_at, source, user_name, note)
    SELECT p_message, d.destination, outbox_correct.revision, 'Conflict', clock_timestamp(), 'correction', p_user,
        'acknowledged an earlier revision'
    FROM {{p}}producer_outbox v JOIN {{p}}outbox_destination d ON d.name = v.destination
    WHERE v.message_id = p_message AND v.status = 'Dispatched';
    outbox_correct.revision := outbox_correct.revision + 1;
    INSERT INTO {{p}}outbox_revision (message_id, revision, user_name, reason, diff, accepted, payload)
    VALUES (p_message, outbox_correct.revision, p_user, p_reason, p_diff, outbox_correct.accepted, p_payload);
    -- Who held a lease that ran out may have sent what stood here before, and may wake up: nothing of it is settled any more.
    UPDATE {{p}}outbox_lane l SET state = 'R', attempts = l.attempts + 1, lease_owner = NULL, due_at = clock_timestamp()
    WHERE l.tenant_id = m.tenant_id AND l.aggregate_id = m.aggregate_id AND l.state = 'L' AND l.head_sequence <= m.aggregate_sequence
        AND (m.destinations >> l.destination) & 1 = 1;
    UPDATE {{p}}outbox_lane l SET state = 'R', attempts = 0, due_at = clock_timestamp(), error_code = NULL, error_text = NULL, failed_at = NULL
    WHERE l.tenant_id = m.tenant_id AND l.aggregate_id = m.aggregate_id AND l.head_sequence = m.aggregate_sequence
        AND (m.destinations >> l.destination) & 1 = 1 AND (l.state = 'X' OR (l.state = 'R' AND l.attempts > 0));
    GET DIAGNOSTICS outbox_correct.revived = ROW_COUNT;
    INSERT INTO {{p}}outbox_operation (action, aggregate_id, aggregate_sequence, message_id, user_name, reason)
    VALUES ('trilha.outbox-message.corrected', m.aggregate_id, m.aggregate_sequence, p_message, p_user, p_reason);
END
$$;

-- What a destination states about a message. p_revision NULL: the last; p_stated_at NULL: now. False: that was known.
CREATE FUNCTION {{p}}outbox_receipt_add(p_message uuid, p_destination text, p_fact text, p_revision bigint, p_operation text,
    p_stated_at timestamptz, p_source text, p_user text, p_note text)
    RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    d smallint := {{p}}outbox_destination_number(p_destination);
    last bigint;
BEGIN
    SELECT coalesce((SELECT max(r.revision) FROM {{p}}outbox_revision r WHERE r.message_id = p_message), 1) INTO last
    FROM {{p}}outbox_message m WHERE m.message_id = p_message AND (m.destinations >> d) & 1 = 1;
    IF last IS NULL THEN RAISE EXCEPTION 'this outbox has no message with this id for this destination' USING ERRCODE = 'TL006'; END IF;
    IF p_revision NOT BETWEEN 1 AND last THEN RAISE EXCEPTION 'the message has no such revision' USING ERRCODE = 'TL006'; END IF;
    INSERT INTO {{p}}outbox_receipt (message_id, destination, revision, fact, operation_id, stated_at, source, user_name, note)
    VALUES (p_message, d, coalesce(p_revision, last), p_fact, p_operation, coalesce(p_stated_at, clock_timestamp()), p_source, p_user, p_note)
    ON CONFLICT DO NOTHING;
    RETURN FOUND;
END
$$;
