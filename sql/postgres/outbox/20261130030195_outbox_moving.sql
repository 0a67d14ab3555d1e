-- Moving over from another dispatcher (requirement O25; ruling R39). The owner of the schema alone does this: its backlog is copied once, while that
-- dispatcher holds the path of its types, and afterwards no message can come in by this way.

-- What was copied from where. `cut`: the last position that belongs to the backlog; `position`: up to where it is copied, in the order of positions.
CREATE TABLE {{p}}outbox_import (
    name          text        NOT NULL,
    holder        text        NOT NULL,
    mapping       jsonb       NOT NULL,
    cut           text, -- NULL: the backlog is empty
    position      text, -- NULL: nothing is copied yet
    total         bigint      NOT NULL, -- rows up to the cut
    imported      bigint      NOT NULL DEFAULT 0,
    started_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    finished_at   timestamptz,
    user_name     text        NOT NULL,
    database_role text        NOT NULL DEFAULT session_user,
    reason        text        NOT NULL,
    CONSTRAINT outbox_import_pkey PRIMARY KEY (name),
    CONSTRAINT outbox_import_reason_given CHECK (reason <> '' AND user_name <> '')
);

-- Another dispatcher delivers these types: from its commit on none of them is accepted by enqueue or sent by a relay; what a relay has under way may
-- still arrive. A transaction that asked before may still enqueue one; it waits as all of them do. False: held by the same holder already.
CREATE FUNCTION {{p}}outbox_path_hold(p_pattern text, p_holder text, p_user text, p_reason text) RETURNS boolean
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    other text;
BEGIN
    INSERT INTO {{p}}outbox_path (type_pattern, holder, user_name, reason) VALUES (p_pattern, p_holder, p_user, p_reason) ON CONFLICT DO NOTHING;
    IF FOUND THEN
        INSERT INTO {{p}}outbox_upkeep (action, subject, user_name, reason)
        VALUES ('trilha.outbox-path.held', p_pattern || ' by ' || p_holder, p_user, p_reason);
        RETURN true;
    END IF;
    SELECT h.holder INTO other FROM {{p}}outbox_path h WHERE h.type_pattern = p_pattern;
    IF other IS DISTINCT FROM p_holder THEN
        RAISE EXCEPTION '% holds these types: take them over from it first', other USING ERRCODE = 'TL016';
    END IF;
    RETURN false;
END
$$;

CREATE FUNCTION {{p}}outbox_paths() RETURNS TABLE (type_pattern text, holder text, held_at timestamptz, user_name text, reason text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT h.type_pattern, h.holder, h.held_at, h.user_name, h.reason FROM {{p}}outbox_path h ORDER BY h.type_pattern
$$;

-- --- the foreign table -------------------------------------------------------------------------------------------------------

-- The quoted name of the table of a mapping, which the library has checked.
CREATE FUNCTION {{p}}outbox_import_table(p_mapping jsonb) RETURNS text LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT format('%I.%I', coalesce(p_mapping->>'schema', 'public'), p_mapping->>'table')
$$;

-- `"schema"."table" AS f WHERE …`. Names are quoted, values are literals; values are compared as text.
CREATE FUNCTION {{p}}outbox_import_rows(p_mapping jsonb) RETURNS text LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT {{p}}outbox_import_table(p_mapping) || ' AS f WHERE true' || coalesce((SELECT string_agg(format(' AND f.%I::text IS NOT DISTINCT FROM %L', c.key, c.value), '' ORDER BY c.key)
            FROM jsonb_each_text(p_mapping->'where') c), '')
$$;

-- The expression of one field: a column's text, a constant, or an id derived from a column. NULL: the mapping has no such field.
CREATE FUNCTION {{p}}outbox_import_field(p_mapping jsonb, p_field text) RETURNS text LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE jsonb_typeof(f) WHEN 'string' THEN format('f.%I::text', f #>> '{}')
        WHEN 'object' THEN CASE WHEN f ? 'value' THEN format('%L::text', f->>'value')
            ELSE format('{{p}}outbox_import_id(%L, f.%I::text)::text', p_mapping->>'name', f->>'derive') END
        ELSE 'NULL::text' END
    FROM (SELECT p_mapping->'fields'->p_field AS f) x
$$;

-- A UUIDv8 of an import's name and a row's own key: the same each time.
CREATE FUNCTION {{p}}outbox_import_id(p_name text, p_key text) RETURNS uuid LANGUAGE sql IMMUTABLE STRICT SET search_path = pg_catalog, pg_temp AS $$
    SELECT encode(set_byte(set_byte(h, 6, (get_byte(h, 6) & 15) | 128), 8, (get_byte(h, 8) & 63) | 128), 'hex')::uuid
    FROM (SELECT substring(sha256(convert_to(p_name || ':' || p_key, 'UTF8')) FROM 1 FOR 16) AS h) x
$$;

-- The type of the position's column, and that every named column is there.
CREATE FUNCTION {{p}}outbox_import_check(p_mapping jsonb) RETURNS text LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    place regclass := to_regclass({{p}}outbox_import_table(p_mapping));
    missing text;
BEGIN
    IF place IS NULL THEN
        RAISE EXCEPTION 'there is no table %', {{p}}outbox_import_table(p_mapping) USING ERRCODE = 'TL017';
    END IF;
    SELECT string_agg(n.name, ', ' ORDER BY n.name) INTO missing FROM (
        SELECT p_mapping->>'position' AS name
        UNION SELECT c.key FROM jsonb_object_keys(coalesce(p_mapping->'where', '{}')) c (key)
        UNION SELECT CASE jsonb_typeof(f.value) WHEN 'string' THEN f.value #>> '{}' ELSE f.value->>'derive' END FROM jsonb_each(p_mapping->'fields') f) n
    WHERE n.name IS NOT NULL AND NOT EXISTS (SELECT 1 FROM pg_attribute a WHERE a.attrelid = place AND a.attname = n.name AND a.attnum > 0
        AND NOT a.attisdropped);
    IF missing IS NOT NULL THEN RAISE EXCEPTION 'the table % has no column %', place, missing USING ERRCODE = 'TL017'; END IF;
    RETURN (SELECT format_type(a.atttypid, a.atttypmod) FROM pg_attribute a WHERE a.attrelid = place AND a.attname = p_mapping->>'position');
END
$$;

-- How many rows of the backlog there are up to the cut and behind it; the position of the last one, and whether positions are there and unique.
CREATE FUNCTION {{p}}outbox_import_count(p_mapping jsonb, p_cut text, OUT upto bigint, OUT behind bigint, OUT last_position text,
    OUT is_ordered boolean)
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    kind text := {{p}}outbox_import_check(p_mapping);
    rows_of text := {{p}}outbox_import_rows(p_mapping);
    place text := format('f.%I', p_mapping->>'position');
BEGIN
    EXECUTE format('SELECT count(*) FILTER (WHERE $1 IS NULL OR %1$s <= $1::%2$s), count(*) FILTER (WHERE %1$s > $1::%2$s), '
            'count(*) = count(DISTINCT %1$s) FROM %3$s', place, kind, rows_of) INTO upto, behind, is_ordered USING p_cut;
    EXECUTE format('SELECT %1$s::text FROM %2$s AND %1$s IS NOT NULL ORDER BY %1$s DESC LIMIT 1', place, rows_of) INTO last_position;
END
$$;

-- --- the import ------------------------------------------------------------------------------------------------------------------

-- Decides what is to be copied, or says how far an import that was interrupted came; with p_dry_run nothing is kept. Writers of the foreign table are waited
-- for: what they commit belongs to the cut. An import whose cut is copied and that was not finished since rows came behind it gets a new cut.
CREATE FUNCTION {{p}}outbox_import_begin(p_mapping jsonb, p_dry_run boolean, p_user text, p_reason text)
    RETURNS TABLE (total bigint, imported bigint) LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    i {{p}}outbox_import%ROWTYPE;
    n record;
    unheld text;
BEGIN
    SELECT * INTO i FROM {{p}}outbox_import o WHERE o.name = p_mapping->>'name' FOR UPDATE;
    IF i.finished_at IS NOT NULL THEN
        RAISE EXCEPTION 'this import was finished at %: a backlog comes over once', i.finished_at USING ERRCODE = 'TL018';
    END IF;
    IF i.mapping <> p_mapping THEN
        RAISE EXCEPTION 'this import was begun with another mapping: go on with that one' USING ERRCODE = 'TL018';
    END IF;
    PERFORM {{p}}outbox_import_check(p_mapping);
    IF NOT p_dry_run THEN
        EXECUTE format('LOCK TABLE %s IN SHARE MODE', {{p}}outbox_import_table(p_mapping));
    END IF;
    SELECT * INTO n FROM {{p}}outbox_import_count(p_mapping, NULL);
    IF NOT n.is_ordered THEN
        RAISE EXCEPTION 'the column % has NULLs or repeats: positions must be unique', p_mapping->>'position' USING ERRCODE = 'TL017';
    END IF;
    EXECUTE format('SELECT x.t FROM (SELECT DISTINCT %s AS t FROM %s) x WHERE NOT EXISTS (SELECT 1 FROM {{p}}outbox_path h WHERE h.holder = $1 '
            'AND (h.type_pattern = x.t OR (right(h.type_pattern, 1) = ''*'' AND starts_with(x.t, left(h.type_pattern, -1))))) LIMIT 1',
        {{p}}outbox_import_field(p_mapping, 'message_type'), {{p}}outbox_import_rows(p_mapping)) INTO unheld USING p_mapping->>'holder';
    IF unheld IS NOT NULL THEN
        RAISE EXCEPTION '% does not hold the path of %: `trilha outbox hold` first, or its cut is closed', p_mapping->>'holder', unheld USING ERRCODE = 'TL019';
    END IF;
    IF i.name IS NULL AND NOT p_dry_run THEN
        INSERT INTO {{p}}outbox_import (name, holder, mapping, cut, total, user_name, reason)
        VALUES (p_mapping->>'name', p_mapping->>'holder', p_mapping, n.last_position, n.upto, p_user, p_reason);
    ELSIF i.cut IS NOT DISTINCT FROM i.position AND NOT p_dry_run THEN
        UPDATE {{p}}outbox_import o SET cut = n.last_position, total = n.upto WHERE o.name = i.name;
    ELSIF i.name IS NOT NULL THEN
        n.upto := i.total;
    END IF;
    RETURN QUERY SELECT n.upto, coalesce(i.imported, 0);
END
$$;

-- Copies the next p_batch rows, each by the rules of outbox_enqueue and in the order of positions, in one transaction with the place it came to. When
-- none is left, which is a transaction of its own, the foreign table is counted once more, its writers waited for: had it changed since the cut, the import is not finished.
CREATE FUNCTION {{p}}outbox_import_batch(p_name text, p_batch bigint, p_user text, p_reason text)
    RETURNS TABLE (copied bigint, ended boolean) LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    i {{p}}outbox_import%ROWTYPE;
    kind text;
    r record;
    n record;
    done bigint := 0;
    place text;
BEGIN
    SELECT * INTO STRICT i FROM {{p}}outbox_import o WHERE o.name = p_name FOR UPDATE; -- imports of one name take turns
    kind := {{p}}outbox_import_check(i.mapping);
    place := format('f.%I', i.mapping->>'position');
    UPDATE {{p}}outbox_path h SET importing = true WHERE h.holder = i.holder;
    FOR r IN EXECUTE format('SELECT %1$s::text AS position, %2$s AS tenant_id, %3$s AS aggregate_type, %4$s AS aggregate_key, %5$s AS message_type, '
            '%6$s AS version, %7$s AS payload, %8$s AS origin, %9$s AS correlation_id, %10$s AS message_id, %11$s AS company_id, '
            '%12$s AS causation_id, %13$s AS traceparent, %14$s AS occurred_at FROM %15$s AND %1$s <= $1::%16$s%17$s ORDER BY %1$s LIMIT $3',
        place, {{p}}outbox_import_field(i.mapping, 'tenant_id'), {{p}}outbox_import_field(i.mapping, 'aggregate_type'),
        {{p}}outbox_import_field(i.mapping, 'aggregate_key'), {{p}}outbox_import_field(i.mapping, 'message_type'),
        {{p}}outbox_import_field(i.mapping, 'version'), {{p}}outbox_import_field(i.mapping, 'payload'),
        {{p}}outbox_import_field(i.mapping, 'origin'), {{p}}outbox_import_field(i.mapping, 'correlation_id'),
        {{p}}outbox_import_field(i.mapping, 'message_id'), {{p}}outbox_import_field(i.mapping, 'company_id'),
        {{p}}outbox_import_field(i.mapping, 'causation_id'), {{p}}outbox_import_field(i.mapping, 'traceparent'),
        {{p}}outbox_import_field(i.mapping, 'occurred_at'), {{p}}outbox_import_rows(i.mapping), kind,
        CASE WHEN i.position IS NOT NULL THEN format(' AND %s > $2::%s', place, kind) END) USING i.cut, i.position, p_batch LOOP
        IF r.message_id IS NULL THEN
            RAISE EXCEPTION 'the row at position % has no message_id', r.position USING ERRCODE = 'TL001';
        END IF;
        i.position := r.position; -- for the message when the row is refused, too
        PERFORM {{p}}outbox_enqueue(tenant_id => r.tenant_id, aggregate_type => r.aggregate_type, aggregate_key => r.aggregate_key,
            message_type => r.message_type, version => r.version, payload => r.payload, origin => r.origin,
            correlation_id => coalesce(r.correlation_id, r.message_id)::uuid, message_id => r.message_id::uuid, company_id => r.company_id,
            causation_id => r.causation_id::uuid, traceparent => r.traceparent, occurred_at => r.occurred_at::timestamptz);
        done := done + 1;
    END LOOP;
    UPDATE {{p}}outbox_path h SET importing = false WHERE h.holder = i.holder;
    UPDATE {{p}}outbox_import o SET position = i.position, imported = o.imported + done WHERE o.name = p_name RETURNING * INTO i;
    IF done > 0 THEN
        INSERT INTO {{p}}outbox_upkeep (action, subject, row_count, user_name, reason)
        VALUES ('trilha.outbox-message.imported', p_name, done, p_user, p_reason);
    ELSE
        EXECUTE format('LOCK TABLE %s IN SHARE MODE', {{p}}outbox_import_table(i.mapping));
        PERFORM {{p}}outbox_import_still(p_name);
        UPDATE {{p}}outbox_import o SET finished_at = clock_timestamp() WHERE o.name = p_name;
    END IF;
    RETURN QUERY SELECT done, done = 0;
EXCEPTION WHEN data_exception OR SQLSTATE 'TL001' OR SQLSTATE 'TL002' OR unique_violation THEN
    RAISE EXCEPTION 'the row at position %: %', i.position, CASE WHEN SQLSTATE LIKE 'TL%' THEN SQLERRM
            WHEN SQLSTATE = '23505' THEN 'its message_id is in the outbox already' ELSE 'an id or a time in it has not the form that is needed' END
        USING ERRCODE = CASE WHEN SQLSTATE = 'TL002' THEN 'TL002' ELSE 'TL001' END;
END
$$;

-- Refuses when the foreign table is no longer what was copied: somebody writes there.
CREATE FUNCTION {{p}}outbox_import_still(p_name text) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    i {{p}}outbox_import%ROWTYPE;
    came bigint;
    kept bigint;
BEGIN
    SELECT * INTO STRICT i FROM {{p}}outbox_import o WHERE o.name = p_name;
    SELECT CASE WHEN i.cut IS NULL THEN n.upto ELSE n.behind END, CASE WHEN i.cut IS NULL THEN 0 ELSE n.upto END INTO came, kept
    FROM {{p}}outbox_import_count(i.mapping, i.cut) n;
    IF came = 0 AND kept = i.imported THEN RETURN; END IF;
    RAISE EXCEPTION 'since the cut % rows came into the table of %, and % of those up to it are no longer what was copied: stop its writers and its dispatcher, then import again',
        came, i.holder, abs(i.imported - kept) USING ERRCODE = 'TL020';
END
$$;

-- From the commit on this outbox accepts and delivers these types, and the cut is closed. Refused while the holder's backlog is being copied, or when its
-- table changed since (p_override: knowingly not). Lanes that a relay put aside are woken; returns how many. Locks: the path's row, which a relay that puts a
-- lane aside holds for its settle; reads every lane once.
CREATE FUNCTION {{p}}outbox_path_take(p_pattern text, p_override boolean, p_user text, p_reason text) RETURNS bigint
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    taken text;
    woken bigint;
    i record;
BEGIN
    DELETE FROM {{p}}outbox_path h WHERE h.type_pattern = p_pattern RETURNING h.holder INTO taken;
    IF taken IS NULL THEN RAISE EXCEPTION 'nobody holds this path: `trilha outbox paths` lists those that are held' USING ERRCODE = 'TL021'; END IF;
    FOR i IN SELECT o.name, o.finished_at FROM {{p}}outbox_import o WHERE o.holder = taken AND NOT p_override LOOP
        IF i.finished_at IS NULL THEN
            RAISE EXCEPTION 'the import % is not finished: go on with it, or override', i.name USING ERRCODE = 'TL020';
        END IF;
        PERFORM {{p}}outbox_import_still(i.name);
    END LOOP;
    UPDATE {{p}}outbox_lane l SET due_at = clock_timestamp(), error_code = NULL, error_text = NULL WHERE l.state = 'R' AND l.error_code = 'PATH_HELD';
    GET DIAGNOSTICS woken = ROW_COUNT;
    INSERT INTO {{p}}outbox_upkeep (action, subject, row_count, user_name, reason)
    VALUES ('trilha.outbox-path.taken', p_pattern || ' from ' || taken || CASE WHEN p_override THEN ' (override)' ELSE '' END, woken, p_user, p_reason);
    RETURN woken;
END
$$;
