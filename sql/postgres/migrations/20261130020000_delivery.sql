-- Delivery: who consumes, who retries, what was asked for. The specified tables keep their exact shape; this stands beside them.
--
-- Everything is done through functions, which hold the rules of the states (rulings R12, R14 to R18) in one place: SECURITY DEFINER with a fixed
-- search_path, closed to PUBLIC. A colony whose own role moves its cursor inside its own transaction needs
--   GRANT USAGE ON SCHEMA core TO role; GRANT EXECUTE ON FUNCTION core.cursors_advance TO role;
-- and nothing else here. All times are this server's.

-- Fencing tokens: every lease takes a larger one. CACHE 1, so that a later one is larger whichever session takes it.
CREATE SEQUENCE core.fencing_token CACHE 1;

-- The schema that a colony's tables stand in.
CREATE TABLE core.colony_schema (
    colonia     VARCHAR(100) NOT NULL,
    schema_name TEXT         NOT NULL,
    CONSTRAINT colony_schema_pkey PRIMARY KEY (colonia),
    CONSTRAINT colony_schema_schema_name_key UNIQUE (schema_name),
    CONSTRAINT colony_schema_name_form CHECK (schema_name ~ '^[a-z][a-z0-9_]{0,62}$')
);

CREATE TABLE core.consumer_lease (
    colonia    VARCHAR(100) NOT NULL,
    grupo      VARCHAR(100) NOT NULL,
    holder     TEXT         NOT NULL,
    token      BIGINT       NOT NULL,
    expires_at TIMESTAMPTZ  NOT NULL,
    types      TEXT[]       NOT NULL,
    CONSTRAINT consumer_lease_pkey PRIMARY KEY (colonia, grupo)
);

CREATE TABLE core.dead_letter_lease (
    dead_letter_id BIGINT      NOT NULL,
    holder         TEXT        NOT NULL,
    token          BIGINT      NOT NULL,
    expires_at     TIMESTAMPTZ NOT NULL,
    CONSTRAINT dead_letter_lease_pkey PRIMARY KEY (dead_letter_id),
    CONSTRAINT dead_letter_lease_fkey FOREIGN KEY (dead_letter_id) REFERENCES core.dead_letter_queue (id)
);

-- A request is one row for each live lease of its colony: each holder runs the letters of its own types, and the answer is their sum.
CREATE TABLE core.reprocess_request (
    id            BIGINT         NOT NULL GENERATED ALWAYS AS IDENTITY,
    request       BIGINT         NOT NULL, -- the same for all rows of one request: a fencing token
    colonia       VARCHAR(100)   NOT NULL,
    grupo         VARCHAR(100)   NOT NULL,
    user_name     TEXT           NOT NULL,
    created_at    TIMESTAMPTZ(2) NOT NULL DEFAULT clock_timestamp(),
    status        VARCHAR(20)    NOT NULL DEFAULT 'open',
    token         BIGINT,
    reprocessados BIGINT,
    failed        BIGINT,
    done_at       TIMESTAMPTZ(2),
    CONSTRAINT reprocess_request_pkey PRIMARY KEY (id),
    CONSTRAINT reprocess_request_status_known CHECK (status IN ('open', 'taken', 'done', 'withdrawn'))
);
CREATE INDEX reprocess_request_request_idx ON core.reprocess_request (request);
CREATE INDEX reprocess_request_unfinished_idx ON core.reprocess_request (colonia, grupo) WHERE status IN ('open', 'taken');

-- What a page of due events must skip: the closed letters of one colony, by sequence.
CREATE INDEX dead_letter_queue_colonia_sequence_idx ON core.dead_letter_queue (colonia, sequence_number);

-- --- dead letters ---------------------------------------------------------------------------------------------------

-- Locks the row; a raced first failure waits on the unique index and finds the other's row. p_token NULL: delivered under no lease. NULL: the
-- token is not the current one, so another holder decides about this event, and nothing was changed.
CREATE FUNCTION core.dead_letter_fail(p_event_id uuid, p_sequence bigint, p_colonia text, p_handler text, p_message text, p_stack text,
    p_max bigint, p_grupo text, p_token bigint) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    d core.dead_letter_queue%ROWTYPE;
    retried_now boolean;
    state text := 'pendente';
BEGIN
    IF p_token IS NOT NULL THEN
        PERFORM 1 FROM core.consumer_lease WHERE colonia = p_colonia AND grupo = p_grupo AND token = p_token FOR SHARE;
        IF NOT FOUND THEN RETURN NULL; END IF;
    END IF;
    INSERT INTO core.dead_letter_queue (event_id, sequence_number, colonia, handler_nome, mensagem_erro, pilha_erro, ultima_tentativa, criado_em)
    VALUES (p_event_id, p_sequence, p_colonia, p_handler, p_message, p_stack, clock_timestamp(), clock_timestamp())
    ON CONFLICT (event_id, colonia) DO NOTHING;
    IF FOUND THEN RETURN 1; END IF;
    SELECT * INTO STRICT d FROM core.dead_letter_queue WHERE event_id = p_event_id AND colonia = p_colonia FOR UPDATE;
    retried_now := d.status = 'retrying' AND EXISTS (SELECT 1 FROM core.dead_letter_lease l
        WHERE l.dead_letter_id = d.id AND l.expires_at > clock_timestamp());
    IF retried_now THEN
        state := 'retrying'; -- whoever retries decides; only the words are newer
    ELSE
        d.tentativas := d.tentativas + 1;
        IF d.status IN ('pendente', 'retrying') AND d.tentativas >= p_max THEN state := 'failed_permanent'; END IF;
        DELETE FROM core.dead_letter_lease WHERE dead_letter_id = d.id;
    END IF;
    UPDATE core.dead_letter_queue SET handler_nome = p_handler, mensagem_erro = p_message, pilha_erro = p_stack,
        ultima_tentativa = clock_timestamp(), status = state, tentativas = d.tentativas,
        resolvido_em = CASE WHEN state = 'failed_permanent' THEN clock_timestamp() END
    WHERE id = d.id;
    RETURN d.tentativas;
END
$$;

CREATE FUNCTION core.dead_letter_resolve(p_event_id uuid, p_colonia text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    closed bigint;
BEGIN
    UPDATE core.dead_letter_queue SET status = 'resolved', resolvido_em = clock_timestamp()
    WHERE event_id = p_event_id AND colonia = p_colonia AND status IN ('pendente', 'retrying', 'failed_permanent') RETURNING id INTO closed;
    IF closed IS NULL THEN RETURN false; END IF;
    DELETE FROM core.dead_letter_lease WHERE dead_letter_id = closed;
    RETURN true;
END
$$;

-- Conditional: SKIP LOCKED and the status in the condition, so that two runs never take one row. Returns ids, in order, and their token.
CREATE FUNCTION core.dead_letters_take(p_colonia text, p_types text[], p_ids bigint[], p_limit bigint, p_holder text, p_lease_ms bigint)
    RETURNS TABLE (id bigint, token bigint, tentativas integer, ultima_tentativa timestamptz, status varchar)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    fresh bigint;
    chosen bigint[];
BEGIN
    -- Two statements: one plan for both would walk all that is pending to find one id.
    IF cardinality(p_ids) = 0 THEN
        SELECT array_agg(c.id) INTO chosen FROM (
            SELECT d.id FROM core.dead_letter_queue d
            WHERE d.colonia = p_colonia AND d.status = 'pendente'
                AND (cardinality(p_types) = 0
                    OR (SELECT e.tipo FROM core.event_log e WHERE e.event_id = d.event_id) = ANY (p_types))
            ORDER BY d.sequence_number LIMIT p_limit FOR UPDATE OF d SKIP LOCKED) c;
    ELSE
        SELECT array_agg(c.id) INTO chosen FROM (
            SELECT d.id FROM core.dead_letter_queue d
            WHERE d.id = ANY (p_ids) AND d.colonia = p_colonia AND d.status = 'pendente'
                AND (cardinality(p_types) = 0
                    OR (SELECT e.tipo FROM core.event_log e WHERE e.event_id = d.event_id) = ANY (p_types))
            LIMIT p_limit FOR UPDATE OF d SKIP LOCKED) c;
    END IF;
    IF chosen IS NULL THEN RETURN; END IF;
    fresh := nextval('core.fencing_token');
    UPDATE core.dead_letter_queue d SET status = 'retrying', tentativas = d.tentativas + 1, ultima_tentativa = clock_timestamp()
    WHERE d.id = ANY (chosen);
    INSERT INTO core.dead_letter_lease (dead_letter_id, holder, token, expires_at)
    SELECT c, p_holder, fresh, clock_timestamp() + p_lease_ms * interval '1 millisecond' FROM unnest(chosen) c
    ON CONFLICT (dead_letter_id) DO UPDATE SET holder = excluded.holder, token = excluded.token, expires_at = excluded.expires_at;
    -- What changed goes out from here: the statement that calls this has the rows of its own snapshot, as they were before.
    RETURN QUERY SELECT d.id, fresh, d.tentativas, d.ultima_tentativa, d.status FROM core.dead_letter_queue d WHERE d.id = ANY (chosen) ORDER BY d.sequence_number;
END
$$;

-- False: the row is not being retried under this token.
CREATE FUNCTION core.dead_letter_settle(p_id bigint, p_token bigint, p_failed boolean, p_handler text, p_message text, p_stack text,
    p_max bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    d core.dead_letter_queue%ROWTYPE;
BEGIN
    SELECT q.* INTO d FROM core.dead_letter_queue q WHERE q.id = p_id AND q.status = 'retrying' FOR UPDATE;
    IF NOT FOUND THEN RETURN false; END IF;
    -- A statement of its own: joined above, a lease as it stood before the row's lock was waited for would pass.
    PERFORM 1 FROM core.dead_letter_lease l WHERE l.dead_letter_id = p_id AND l.token = p_token;
    IF NOT FOUND THEN RETURN false; END IF;
    DELETE FROM core.dead_letter_lease WHERE dead_letter_id = p_id;
    IF NOT p_failed THEN
        UPDATE core.dead_letter_queue SET status = 'resolved', resolvido_em = clock_timestamp() WHERE id = p_id;
    ELSIF d.tentativas >= p_max THEN
        UPDATE core.dead_letter_queue SET status = 'failed_permanent', resolvido_em = clock_timestamp(), handler_nome = p_handler,
            mensagem_erro = p_message, pilha_erro = p_stack, ultima_tentativa = clock_timestamp() WHERE id = p_id;
    ELSE
        UPDATE core.dead_letter_queue SET status = 'pendente', handler_nome = p_handler, mensagem_erro = p_message,
            pilha_erro = p_stack, ultima_tentativa = clock_timestamp() WHERE id = p_id;
    END IF;
    RETURN true;
END
$$;

-- False: the row is not being retried under this token. A letter is retrying exactly as long as it has a lease; who recovers it takes the lease away,
-- and waits for this row while it is being extended.
CREATE FUNCTION core.dead_letter_extend(p_id bigint, p_token bigint, p_lease_ms bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE core.dead_letter_lease SET expires_at = clock_timestamp() + p_lease_ms * interval '1 millisecond'
    WHERE dead_letter_id = p_id AND token = p_token;
    RETURN FOUND;
END
$$;

CREATE FUNCTION core.dead_letters_recover() RETURNS bigint
    LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    WITH abandoned AS MATERIALIZED (
        SELECT d.id FROM core.dead_letter_queue d LEFT JOIN core.dead_letter_lease l ON l.dead_letter_id = d.id
        WHERE d.status = 'retrying' AND (l.dead_letter_id IS NULL OR l.expires_at <= clock_timestamp())
        FOR UPDATE OF d SKIP LOCKED),
    dropped AS (DELETE FROM core.dead_letter_lease l USING abandoned a WHERE l.dead_letter_id = a.id),
    back AS (UPDATE core.dead_letter_queue d SET status = 'pendente' FROM abandoned a WHERE d.id = a.id RETURNING 1)
    SELECT count(*) FROM back
$$;

-- NULL: no such row; false: in another state.
CREATE FUNCTION core.dead_letter_reopen(p_id bigint, p_entity text, p_entity_id text, p_change text, p_action text, p_user text,
    p_metadata jsonb) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE core.dead_letter_queue SET status = 'pendente', resolvido_em = NULL WHERE id = p_id AND status = 'failed_permanent';
    IF FOUND THEN
        INSERT INTO core.audit_log (entity, entity_id, change_type, action, user_name, metadata)
        VALUES (p_entity, p_entity_id, p_change, p_action, p_user, p_metadata);
        RETURN true;
    END IF;
    PERFORM 1 FROM core.dead_letter_queue WHERE id = p_id;
    RETURN CASE WHEN FOUND THEN false END;
END
$$;

-- --- leases ---------------------------------------------------------------------------------------------------------

-- token NULL: held_by has a live lease.
CREATE FUNCTION core.lease_acquire(p_colonia text, p_grupo text, p_holder text, p_types text[], p_lease_ms bigint, OUT token bigint, OUT held_by text)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    -- What handles with plain subscriptions left behind.
    DELETE FROM core.consumer_lease l WHERE l.colonia = p_colonia AND l.grupo LIKE 'live %' AND l.expires_at <= clock_timestamp()
        AND l.grupo <> p_grupo;
    -- Two groups of one colony that share a type would share its cursor and lose events: the lock decides who is first.
    IF p_grupo NOT LIKE 'live %' THEN
        LOCK TABLE core.consumer_lease IN SHARE ROW EXCLUSIVE MODE;
        SELECT l.holder INTO held_by FROM core.consumer_lease l WHERE l.colonia = p_colonia AND l.grupo <> p_grupo
            AND l.grupo NOT LIKE 'live %' AND l.expires_at > clock_timestamp() AND l.types && p_types LIMIT 1;
        IF FOUND THEN RETURN; END IF;
    END IF;
    INSERT INTO core.consumer_lease AS l (colonia, grupo, holder, token, expires_at, types)
    VALUES (p_colonia, p_grupo, p_holder, nextval('core.fencing_token'), clock_timestamp() + p_lease_ms * interval '1 millisecond', p_types)
    ON CONFLICT (colonia, grupo) DO UPDATE
        SET holder = excluded.holder, token = nextval('core.fencing_token'), types = excluded.types,
            expires_at = clock_timestamp() + p_lease_ms * interval '1 millisecond'
        WHERE l.expires_at <= clock_timestamp() OR l.holder = excluded.holder
    RETURNING l.token INTO token;
    IF token IS NULL THEN
        SELECT l.holder INTO held_by FROM core.consumer_lease l WHERE l.colonia = p_colonia AND l.grupo = p_grupo;
    END IF;
END
$$;

-- p_lease_ms 0 gives it back. False: the token is not the current one.
CREATE FUNCTION core.lease_extend(p_colonia text, p_grupo text, p_token bigint, p_lease_ms bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE core.consumer_lease SET expires_at =
        CASE WHEN p_lease_ms = 0 THEN '-infinity' ELSE clock_timestamp() + p_lease_ms * interval '1 millisecond' END
    WHERE colonia = p_colonia AND grupo = p_grupo AND token = p_token;
    RETURN FOUND;
END
$$;

-- --- cursors --------------------------------------------------------------------------------------------------------

-- False: another colony has that schema. The table is that of specification 000, section 5.3.
CREATE FUNCTION core.cursors_prepare(p_colonia text, p_schema text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM 1 FROM core.colony_schema WHERE colonia = p_colonia;
    IF FOUND THEN RETURN true; END IF;
    BEGIN
        INSERT INTO core.colony_schema (colonia, schema_name) VALUES (p_colonia, p_schema) ON CONFLICT (colonia) DO NOTHING;
    EXCEPTION WHEN unique_violation THEN
        RETURN false;
    END;
    IF to_regnamespace(quote_ident(p_schema)) IS NULL THEN EXECUTE format('CREATE SCHEMA IF NOT EXISTS %I', p_schema); END IF;
    IF to_regclass(format('%I.consumer_offset', p_schema)) IS NULL THEN
        EXECUTE format('CREATE TABLE IF NOT EXISTS %I.consumer_offset ('
            'tipo_evento VARCHAR(255) NOT NULL, last_sequence BIGINT NOT NULL DEFAULT 0, '
            'updated_at TIMESTAMPTZ(2) NOT NULL DEFAULT CURRENT_TIMESTAMP, '
            'CONSTRAINT consumer_offset_pkey PRIMARY KEY (tipo_evento))', p_schema);
    END IF;
    RETURN true;
END
$$;

-- One row a type, in the given order; last_sequence NULL: no cursor.
CREATE FUNCTION core.cursors_read(p_colonia text, p_types text[]) RETURNS TABLE (last_sequence bigint)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY EXECUTE format('SELECT o.last_sequence FROM unnest($1) WITH ORDINALITY t(tipo, n) '
        'LEFT JOIN %I.consumer_offset o ON o.tipo_evento = t.tipo ORDER BY t.n',
        (SELECT s.schema_name FROM core.colony_schema s WHERE s.colonia = p_colonia)) USING p_types;
END
$$;

-- How many were absent and are there now; NULL: the token is not the current one. Never overwrites. p_action NULL: not audited.
CREATE FUNCTION core.cursors_seed(p_colonia text, p_grupo text, p_token bigint, p_types text[], p_sequences bigint[], p_entity text,
    p_entity_id text, p_change text, p_action text, p_user text, p_metadata jsonb) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    seeded bigint;
BEGIN
    PERFORM 1 FROM core.consumer_lease WHERE colonia = p_colonia AND grupo = p_grupo AND token = p_token FOR SHARE;
    IF NOT FOUND THEN RETURN NULL; END IF;
    EXECUTE format('INSERT INTO %I.consumer_offset (tipo_evento, last_sequence, updated_at) '
        'SELECT t.tipo, t.last_sequence, clock_timestamp() FROM unnest($1, $2) t(tipo, last_sequence) ON CONFLICT (tipo_evento) DO NOTHING',
        (SELECT s.schema_name FROM core.colony_schema s WHERE s.colonia = p_colonia)) USING p_types, p_sequences;
    GET DIAGNOSTICS seeded = ROW_COUNT;
    IF seeded > 0 AND p_action IS NOT NULL THEN
        INSERT INTO core.audit_log (entity, entity_id, change_type, action, user_name, metadata)
        VALUES (p_entity, p_entity_id, p_change, p_action, p_user, p_metadata);
    END IF;
    RETURN seeded;
END
$$;

-- False: the token is not the current one, and nothing was changed. FOR SHARE holds the lease's row until the caller's commit, so a take-over
-- waits for it or comes before it. Cursors never go back.
CREATE FUNCTION core.cursors_advance(p_colonia text, p_grupo text, p_token bigint, p_types text[], p_sequences bigint[], p_resolved uuid[])
    RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    closed bigint[];
BEGIN
    PERFORM 1 FROM core.consumer_lease WHERE colonia = p_colonia AND grupo = p_grupo AND token = p_token FOR SHARE;
    IF NOT FOUND THEN RETURN false; END IF;
    EXECUTE format('UPDATE %I.consumer_offset o SET last_sequence = t.last_sequence, updated_at = clock_timestamp() '
        'FROM unnest($1, $2) t(tipo, last_sequence) WHERE o.tipo_evento = t.tipo AND o.last_sequence < t.last_sequence',
        (SELECT s.schema_name FROM core.colony_schema s WHERE s.colonia = p_colonia)) USING p_types, p_sequences;
    WITH resolved AS (UPDATE core.dead_letter_queue d SET status = 'resolved', resolvido_em = clock_timestamp()
        WHERE d.event_id = ANY (p_resolved) AND d.colonia = p_colonia AND d.status IN ('pendente', 'retrying', 'failed_permanent') RETURNING d.id)
    SELECT array_agg(r.id) INTO closed FROM resolved r;
    IF closed IS NOT NULL THEN DELETE FROM core.dead_letter_lease l WHERE l.dead_letter_id = ANY (closed); END IF;
    RETURN true;
END
$$;

-- For operators. lag is counted up to 10,000.
CREATE FUNCTION core.consumers_list(p_colonia text) RETURNS TABLE (colonia text, grupo text, holder text, live boolean, token bigint,
    tipo text, last_sequence bigint, updated_at timestamptz, lag bigint, oldest timestamptz)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    c record;
BEGIN
    FOR c IN SELECT s.colonia, s.schema_name FROM core.colony_schema s WHERE p_colonia IS NULL OR s.colonia = p_colonia
        ORDER BY s.colonia COLLATE "C" LOOP
        RETURN QUERY EXECUTE format('SELECT $1::text, coalesce(l.grupo, '''')::text, l.holder, coalesce(l.expires_at > clock_timestamp(), false), '
            'coalesce(l.token, 0), o.tipo_evento::text, o.last_sequence, o.updated_at::timestamptz, '
            '(SELECT count(*) FROM (SELECT 1 FROM core.event_log e WHERE e.tipo = o.tipo_evento AND e.sequence_number > o.last_sequence LIMIT 10000) n), '
            '(SELECT e.criado_em::timestamptz FROM core.event_log e WHERE e.tipo = o.tipo_evento AND e.sequence_number > o.last_sequence '
            'ORDER BY e.sequence_number LIMIT 1) '
            'FROM %I.consumer_offset o LEFT JOIN LATERAL (SELECT x.* FROM core.consumer_lease x WHERE x.colonia = $1 AND left(x.grupo, 5) <> ''live '' AND o.tipo_evento = ANY (x.types) '
            'ORDER BY x.expires_at DESC LIMIT 1) l ON true ORDER BY o.tipo_evento COLLATE "C"', c.schema_name) USING c.colonia;
    END LOOP;
END
$$;

-- --- reprocess requests ---------------------------------------------------------------------------------------------

CREATE FUNCTION core.request_create(p_colonia text, p_user text, OUT request bigint, OUT listening boolean)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    request := nextval('core.fencing_token');
    INSERT INTO core.reprocess_request (request, colonia, grupo, user_name)
    SELECT request_create.request, l.colonia, l.grupo, p_user FROM core.consumer_lease l
    WHERE l.colonia = p_colonia AND l.expires_at > clock_timestamp();
    listening := FOUND;
END
$$;

-- NULL: nothing waits. Those that an earlier holder of the group took and did not finish wait again.
CREATE FUNCTION core.request_waiting(p_colonia text, p_grupo text, p_token bigint) RETURNS bigint
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT max(r.request) FROM core.reprocess_request r
    WHERE r.colonia = p_colonia AND r.grupo = p_grupo AND r.status IN ('open', 'taken') AND (r.status = 'open' OR r.token <> p_token)
$$;

-- NULL: the token is not the current one.
CREATE FUNCTION core.request_take(p_colonia text, p_grupo text, p_token bigint) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    newest bigint;
BEGIN
    PERFORM 1 FROM core.consumer_lease WHERE colonia = p_colonia AND grupo = p_grupo AND token = p_token FOR SHARE;
    IF NOT FOUND THEN RETURN NULL; END IF;
    WITH taken AS (UPDATE core.reprocess_request r SET status = 'taken', token = p_token
        WHERE r.colonia = p_colonia AND r.grupo = p_grupo AND r.status IN ('open', 'taken') RETURNING r.request)
    SELECT coalesce(max(t.request), 0) INTO newest FROM taken t;
    RETURN newest;
END
$$;

CREATE FUNCTION core.request_settle(p_colonia text, p_grupo text, p_token bigint, p_reprocessados bigint, p_failed bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM 1 FROM core.consumer_lease WHERE colonia = p_colonia AND grupo = p_grupo AND token = p_token FOR SHARE;
    IF NOT FOUND THEN RETURN false; END IF;
    UPDATE core.reprocess_request SET status = 'done', reprocessados = p_reprocessados, failed = p_failed, done_at = clock_timestamp()
    WHERE colonia = p_colonia AND grupo = p_grupo AND status IN ('open', 'taken') AND status = 'taken' AND token = p_token;
    RETURN true;
END
$$;

CREATE FUNCTION core.request_withdraw(p_request bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE core.reprocess_request r SET status = 'withdrawn' WHERE r.request = p_request AND r.status = 'open';
    RETURN FOUND;
END
$$;

REVOKE ALL ON core.colony_schema, core.consumer_lease, core.dead_letter_lease, core.reprocess_request FROM PUBLIC;
REVOKE ALL ON SEQUENCE core.fencing_token FROM PUBLIC;
REVOKE ALL ON ALL ROUTINES IN SCHEMA core FROM PUBLIC;
GRANT SELECT ON core.colony_schema, core.consumer_lease, core.dead_letter_lease, core.reprocess_request TO trilha_reader, trilha_writer;
GRANT EXECUTE ON FUNCTION core.cursors_read, core.consumers_list TO trilha_reader, trilha_writer;
GRANT EXECUTE ON FUNCTION core.dead_letter_fail, core.dead_letter_resolve, core.dead_letters_take, core.dead_letter_settle, core.dead_letter_extend,
    core.dead_letters_recover, core.dead_letter_reopen, core.lease_acquire, core.lease_extend, core.cursors_prepare, core.cursors_seed,
    core.cursors_advance, core.request_create, core.request_waiting, core.request_take, core.request_settle, core.request_withdraw
    TO trilha_writer;
