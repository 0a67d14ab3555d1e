-- Purging what is settled (requirement O17; rulings R24, R28): messages that every destination accepted or an operator gave up, and what the inbox keeps
-- to recognise repeats. The trail (outbox_operation, outbox_receipt, outbox_upkeep; outbox_revision without its content) is never purged here.

-- One batch of messages, in the order of (aggregate, sequence) from behind the given place on. A message goes when it, and every earlier one of its
-- aggregate, is settled for all of its destinations and was so p_older_ms ago. With it go the content of its revisions and the rows that say when runs
-- were delivered; outbox_purged keeps its number, so that consumers that keep order still learn what came before. `ended`: nothing is behind.
-- Of an aggregate that keeps a message the rest is passed over: a backlog behind a dead head costs one batch at most. Purges take turns; a relay and a producer
-- wait for none. Indexes: outbox_message_pkey, outbox_delivery_pkey, outbox_operation_discarded; the lanes are read once.
CREATE FUNCTION {{p}}outbox_purge_messages(p_older_ms bigint, p_aggregate bigint, p_sequence bigint, p_batch bigint, p_dry_run boolean,
    p_user text, p_reason text)
    RETURNS TABLE (purged bigint, oldest timestamptz, newest timestamptz, next_aggregate bigint, next_sequence bigint, ended boolean)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    older timestamptz := clock_timestamp() - p_older_ms * interval '1 ms';
    seen bigint;
    last_goes boolean;
BEGIN
    IF NOT p_dry_run THEN LOCK TABLE {{p}}outbox_purged IN SHARE ROW EXCLUSIVE MODE; END IF;
    WITH page AS MATERIALIZED (
        SELECT m.aggregate_id, m.aggregate_sequence, m.destinations, m.created_at, m.message_id FROM {{p}}outbox_message m
        WHERE (m.aggregate_id, m.aggregate_sequence) > (p_aggregate, p_sequence)
        ORDER BY m.aggregate_id, m.aggregate_sequence LIMIT p_batch),
    floors AS MATERIALIZED (
        SELECT l.aggregate_id, min(l.head_sequence) AS head FROM {{p}}outbox_lane l
        WHERE l.aggregate_id IN (SELECT p.aggregate_id FROM page p) GROUP BY l.aggregate_id),
    judged AS MATERIALIZED (
        SELECT p.*, bool_and(coalesce(p.aggregate_sequence < f.head, true) AND NOT EXISTS (
                SELECT 1 FROM {{p}}outbox_destination d WHERE (p.destinations >> d.destination) & 1 = 1 AND coalesce(
                    (SELECT o.at FROM {{p}}outbox_operation o WHERE o.aggregate_id = p.aggregate_id AND o.aggregate_sequence = p.aggregate_sequence
                        AND o.destination = d.destination AND o.action = 'trilha.outbox-message.discarded'),
                    (SELECT y.delivered_at FROM {{p}}outbox_delivery y WHERE y.aggregate_id = p.aggregate_id AND y.destination = d.destination
                        AND y.sequence_from <= p.aggregate_sequence AND y.sequence_to >= p.aggregate_sequence
                        ORDER BY y.sequence_from DESC LIMIT 1),
                    p.created_at) >= older)) OVER (PARTITION BY p.aggregate_id ORDER BY p.aggregate_sequence) AS goes
        FROM page p LEFT JOIN floors f ON f.aggregate_id = p.aggregate_id),
    gone AS (
        DELETE FROM {{p}}outbox_message m USING judged j
        WHERE m.aggregate_id = j.aggregate_id AND m.aggregate_sequence = j.aggregate_sequence AND j.goes AND NOT p_dry_run
        RETURNING m.aggregate_id, m.aggregate_sequence, m.destinations, m.message_id),
    marked AS (
        INSERT INTO {{p}}outbox_purged (aggregate_id, destination, last_sequence)
        SELECT g.aggregate_id, d.destination, max(g.aggregate_sequence) FROM gone g
        JOIN {{p}}outbox_destination d ON (g.destinations >> d.destination) & 1 = 1
        WHERE NOT EXISTS (SELECT 1 FROM {{p}}outbox_operation o WHERE o.aggregate_id = g.aggregate_id
            AND o.aggregate_sequence = g.aggregate_sequence AND o.destination = d.destination AND o.action = 'trilha.outbox-message.discarded')
        GROUP BY g.aggregate_id, d.destination
        ON CONFLICT (aggregate_id, destination) DO UPDATE SET last_sequence = excluded.last_sequence),
    emptied AS (
        UPDATE {{p}}outbox_revision r SET payload = NULL FROM gone g WHERE r.message_id = g.message_id AND r.payload IS NOT NULL),
    forgotten AS (
        DELETE FROM {{p}}outbox_delivery y USING (SELECT g.aggregate_id, max(g.aggregate_sequence) AS last FROM gone g GROUP BY g.aggregate_id) g
        WHERE y.aggregate_id = g.aggregate_id AND y.sequence_to <= g.last)
    SELECT count(*) FILTER (WHERE j.goes), min(j.created_at) FILTER (WHERE j.goes), max(j.created_at) FILTER (WHERE j.goes), count(*),
        (array_agg(j.aggregate_id ORDER BY j.aggregate_id DESC, j.aggregate_sequence DESC))[1],
        (array_agg(j.aggregate_sequence ORDER BY j.aggregate_id DESC, j.aggregate_sequence DESC))[1],
        (array_agg(j.goes ORDER BY j.aggregate_id DESC, j.aggregate_sequence DESC))[1]
    INTO purged, oldest, newest, seen, next_aggregate, next_sequence, last_goes FROM judged j;
    IF NOT last_goes THEN next_sequence := 9223372036854775807; END IF;
    ended := seen < p_batch;
    IF purged > 0 AND NOT p_dry_run THEN
        INSERT INTO {{p}}outbox_upkeep (action, subject, older_than, row_count, user_name, reason)
        VALUES ('trilha.outbox-message.purged', 'outbox_message', older, purged, p_user, p_reason);
    END IF;
    RETURN NEXT;
END
$$;

-- One batch of the inbox, the oldest first; what came again goes with it. A dry run counts all there is. The last sequences of ordered consumers stay
-- for good (inbox_order). Rows that somebody else purges now are passed over. Indexes: inbox_message_accepted_at_idx, inbox_repeat_at_idx.
CREATE FUNCTION {{p}}inbox_purge(p_older_ms bigint, p_batch bigint, p_dry_run boolean, p_user text, p_reason text)
    RETURNS TABLE (purged bigint, oldest timestamptz, newest timestamptz, ended boolean)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    older timestamptz := clock_timestamp() - p_older_ms * interval '1 ms';
    repeats bigint;
BEGIN
    IF p_dry_run THEN
        SELECT count(*), min(i.accepted_at), max(i.accepted_at), true INTO purged, oldest, newest, ended
        FROM {{p}}inbox_message i WHERE i.accepted_at < older;
        RETURN NEXT;
        RETURN;
    END IF;
    WITH gone AS (
        DELETE FROM {{p}}inbox_message i USING (SELECT o.tenant_id, o.consumer, o.message_id FROM {{p}}inbox_message o WHERE o.accepted_at < older
            ORDER BY o.accepted_at LIMIT p_batch FOR UPDATE SKIP LOCKED) o
        WHERE i.tenant_id = o.tenant_id AND i.consumer = o.consumer AND i.message_id = o.message_id RETURNING i.accepted_at)
    SELECT count(*), min(g.accepted_at), max(g.accepted_at) INTO purged, oldest, newest FROM gone g;
    DELETE FROM {{p}}inbox_repeat r USING (SELECT o.id FROM {{p}}inbox_repeat o WHERE o.at < older ORDER BY o.at LIMIT p_batch FOR UPDATE SKIP LOCKED) o
    WHERE r.id = o.id;
    GET DIAGNOSTICS repeats = ROW_COUNT;
    ended := purged < p_batch AND repeats < p_batch;
    IF purged > 0 THEN
        INSERT INTO {{p}}outbox_upkeep (action, subject, older_than, row_count, user_name, reason)
        VALUES ('trilha.inbox-message.purged', 'inbox_message', older, purged, p_user, p_reason);
    END IF;
    RETURN NEXT;
END
$$;
