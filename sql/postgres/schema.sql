-- What the migrations make, as pg_dump 15 tells it, for review; a test compares it with a fresh store.
CREATE SCHEMA core;
CREATE FUNCTION core.consumers_list(p_colonia text) RETURNS TABLE(colonia text, grupo text, holder text, live boolean, token bigint, tipo text, last_sequence bigint, updated_at timestamp with time zone, lag bigint, oldest timestamp with time zone)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
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
$_$;
CREATE FUNCTION core.cursors_advance(p_colonia text, p_grupo text, p_token bigint, p_types text[], p_sequences bigint[], p_resolved uuid[]) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
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
$_$;
CREATE FUNCTION core.cursors_prepare(p_colonia text, p_schema text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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
CREATE FUNCTION core.cursors_read(p_colonia text, p_types text[]) RETURNS TABLE(last_sequence bigint)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
BEGIN
    RETURN QUERY EXECUTE format('SELECT o.last_sequence FROM unnest($1) WITH ORDINALITY t(tipo, n) '
        'LEFT JOIN %I.consumer_offset o ON o.tipo_evento = t.tipo ORDER BY t.n',
        (SELECT s.schema_name FROM core.colony_schema s WHERE s.colonia = p_colonia)) USING p_types;
END
$_$;
CREATE FUNCTION core.cursors_seed(p_colonia text, p_grupo text, p_token bigint, p_types text[], p_sequences bigint[], p_entity text, p_entity_id text, p_change text, p_action text, p_user text, p_metadata jsonb) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
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
$_$;
CREATE FUNCTION core.dead_letter_extend(p_id bigint, p_token bigint, p_lease_ms bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    UPDATE core.dead_letter_lease SET expires_at = clock_timestamp() + p_lease_ms * interval '1 millisecond'
    WHERE dead_letter_id = p_id AND token = p_token;
    RETURN FOUND;
END
$$;
CREATE FUNCTION core.dead_letter_fail(p_event_id uuid, p_sequence bigint, p_colonia text, p_handler text, p_message text, p_stack text, p_max bigint, p_grupo text, p_token bigint) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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
CREATE FUNCTION core.dead_letter_reopen(p_id bigint, p_entity text, p_entity_id text, p_change text, p_action text, p_user text, p_metadata jsonb) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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
CREATE FUNCTION core.dead_letter_resolve(p_event_id uuid, p_colonia text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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
CREATE FUNCTION core.dead_letter_settle(p_id bigint, p_token bigint, p_failed boolean, p_handler text, p_message text, p_stack text, p_max bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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
CREATE FUNCTION core.dead_letters_recover() RETURNS bigint
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    WITH abandoned AS MATERIALIZED (
        SELECT d.id FROM core.dead_letter_queue d LEFT JOIN core.dead_letter_lease l ON l.dead_letter_id = d.id
        WHERE d.status = 'retrying' AND (l.dead_letter_id IS NULL OR l.expires_at <= clock_timestamp())
        FOR UPDATE OF d SKIP LOCKED),
    dropped AS (DELETE FROM core.dead_letter_lease l USING abandoned a WHERE l.dead_letter_id = a.id),
    back AS (UPDATE core.dead_letter_queue d SET status = 'pendente' FROM abandoned a WHERE d.id = a.id RETURNING 1)
    SELECT count(*) FROM back
$$;
CREATE FUNCTION core.dead_letters_take(p_colonia text, p_types text[], p_ids bigint[], p_limit bigint, p_holder text, p_lease_ms bigint) RETURNS TABLE(id bigint, token bigint, tentativas integer, ultima_tentativa timestamp with time zone, status character varying)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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
CREATE PROCEDURE core.event_append(IN event_ids uuid[], IN tipos text[], IN versoes_schema text[], IN timestamps timestamp with time zone[], IN origens text[], IN correlacao_ids uuid[], IN payloads jsonb[], IN tenant_ids text[], IN company_ids text[], IN aggregate_types text[], IN aggregate_keys text[], IN aggregate_sequences bigint[], IN causation_ids uuid[], IN traceparents text[], IN tracestates text[], IN digests text[], IN lock_timeout_ms bigint, IN durable boolean, IN stay boolean, IN flush_late boolean, OUT stored_ids uuid[], OUT stored_sequences bigint[], OUT stored_criado_em timestamp with time zone, OUT registry_revision bigint)
    LANGUAGE plpgsql
    AS $$
DECLARE
    late   CONSTANT boolean := flush_late AND pg_catalog.current_setting('synchronous_standby_names') = '';
    unused text;
BEGIN
    IF lock_timeout_ms IS NOT NULL THEN
        -- In a stricter isolation level the look-up would see the log as it was before the wait for the turn.
        IF pg_catalog.current_setting('transaction_isolation') <> 'read committed' THEN
            COMMIT;
            SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
        END IF;
        PERFORM core.event_log_settle(lock_timeout_ms, durable, stay);
    END IF;
    IF late THEN
        unused := pg_catalog.set_config('synchronous_commit', 'off', true);
    END IF;
    LOCK TABLE core.event_log_turn IN SHARE UPDATE EXCLUSIVE MODE;
    stored_criado_em := pg_catalog.clock_timestamp(); -- under the turn, so that criado_em never runs against the order
    WITH fresh AS (
        INSERT INTO core.event_log (event_id, tipo, versao_schema, timestamp, origem, correlacao_id, payload, criado_em,
            tenant_id, company_id, aggregate_type, aggregate_key, aggregate_sequence, causation_id, traceparent,
            tracestate, digest)
        SELECT i.event_id, i.tipo, i.versao_schema, i.timestamp, i.origem, i.correlacao_id, i.payload, stored_criado_em,
            i.tenant_id, i.company_id, i.aggregate_type, i.aggregate_key, i.aggregate_sequence, i.causation_id,
            i.traceparent, i.tracestate, i.digest
        FROM unnest(event_ids, tipos, versoes_schema, timestamps, origens, correlacao_ids, payloads, tenant_ids,
                company_ids, aggregate_types, aggregate_keys, aggregate_sequences, causation_ids, traceparents,
                tracestates, digests) WITH ORDINALITY AS i(event_id, tipo, versao_schema, timestamp, origem,
                correlacao_id, payload, tenant_id, company_id, aggregate_type, aggregate_key, aggregate_sequence,
                causation_id, traceparent, tracestate, digest, n)
        WHERE NOT EXISTS (SELECT FROM core.event_log e WHERE e.event_id = i.event_id)
        ORDER BY i.n
        RETURNING event_log.event_id, event_log.sequence_number)
    SELECT array_agg(f.event_id), array_agg(f.sequence_number) INTO stored_ids, stored_sequences FROM fresh f;
    COMMIT;
    SELECT r.revision INTO registry_revision FROM core.registry_revision r;
    stored_criado_em := stored_criado_em::timestamptz(2); -- as the column rounds it
    IF late THEN
        PERFORM core.event_log_flush();
    END IF;
END
$$;
CREATE PROCEDURE core.event_append_one(IN new_event_id uuid, IN new_tipo text, IN new_versao_schema text, IN new_timestamp timestamp with time zone, IN new_origem text, IN new_correlacao_id uuid, IN new_payload jsonb, IN new_tenant_id text, IN new_company_id text, IN new_aggregate_type text, IN new_aggregate_key text, IN new_aggregate_sequence bigint, IN new_causation_id uuid, IN new_traceparent text, IN new_tracestate text, IN new_digest text, IN lock_timeout_ms bigint, IN durable boolean, IN stay boolean, IN flush_late boolean, OUT stored_sequence bigint, OUT stored_criado_em timestamp with time zone, OUT registry_revision bigint)
    LANGUAGE plpgsql
    AS $$
DECLARE
    late   CONSTANT boolean := flush_late AND pg_catalog.current_setting('synchronous_standby_names') = '';
    unused text;
BEGIN
    IF lock_timeout_ms IS NOT NULL THEN
        IF pg_catalog.current_setting('transaction_isolation') <> 'read committed' THEN
            COMMIT;
            SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
        END IF;
        PERFORM core.event_log_settle(lock_timeout_ms, durable, stay);
    END IF;
    IF late THEN
        unused := pg_catalog.set_config('synchronous_commit', 'off', true);
    END IF;
    LOCK TABLE core.event_log_turn IN SHARE UPDATE EXCLUSIVE MODE;
    INSERT INTO core.event_log (event_id, tipo, versao_schema, timestamp, origem, correlacao_id, payload, criado_em,
        tenant_id, company_id, aggregate_type, aggregate_key, aggregate_sequence, causation_id, traceparent, tracestate,
        digest)
    SELECT new_event_id, new_tipo, new_versao_schema, new_timestamp, new_origem, new_correlacao_id, new_payload,
        pg_catalog.clock_timestamp(), new_tenant_id, new_company_id, new_aggregate_type, new_aggregate_key,
        new_aggregate_sequence, new_causation_id, new_traceparent, new_tracestate, new_digest
    WHERE NOT EXISTS (SELECT FROM core.event_log e WHERE e.event_id = new_event_id)
    RETURNING event_log.sequence_number, event_log.criado_em, (SELECT r.revision FROM core.registry_revision r)
        INTO stored_sequence, stored_criado_em, registry_revision;
    COMMIT;
    IF stored_sequence IS NULL THEN
        SELECT r.revision INTO registry_revision FROM core.registry_revision r;
    END IF;
    IF late THEN -- core.event_log_flush, without the price of a call
        IF pg_catalog.current_setting('synchronous_commit') = 'off' THEN
            unused := pg_catalog.set_config('synchronous_commit', 'on', true);
        END IF;
        unused := pg_catalog.pg_logical_emit_message(true, 'trilha', '');
    END IF;
END
$$;
CREATE FUNCTION core.event_log_flush() RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    unused text;
BEGIN
    IF pg_catalog.current_setting('synchronous_commit') = 'off' THEN
        unused := pg_catalog.set_config('synchronous_commit', 'on', true);
    END IF;
    unused := pg_catalog.pg_logical_emit_message(true, 'trilha', '');
END
$$;
CREATE FUNCTION core.event_log_settle(lock_timeout_ms bigint, durable boolean, stay boolean) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM pg_catalog.set_config('lock_timeout', lock_timeout_ms::text, NOT stay),
            pg_catalog.set_config('plan_cache_mode', 'force_generic_plan', NOT stay), -- planned once a session
            pg_catalog.set_config('enable_seqscan', 'off', NOT stay),
            pg_catalog.set_config('enable_bitmapscan', 'off', NOT stay),
            pg_catalog.set_config('enable_hashjoin', 'off', NOT stay),
            pg_catalog.set_config('enable_mergejoin', 'off', NOT stay),
            pg_catalog.set_config('jit', 'off', NOT stay),
            pg_catalog.set_config('synchronous_commit', CASE WHEN NOT durable THEN 'off'
                WHEN pg_catalog.current_setting('synchronous_commit') = 'off' THEN 'on'
                ELSE pg_catalog.current_setting('synchronous_commit') END, NOT stay);
    IF stay THEN
        PERFORM pg_catalog.set_config('default_transaction_isolation', 'read committed', false),
                pg_catalog.set_config('idle_in_transaction_session_timeout', '30s', false); -- the trigger need not
    END IF;
END
$$;
CREATE FUNCTION core.handlers_list() RETURNS TABLE(colonia text, grupo text, tipo text, holder text, live boolean, guarantee text, because text, declared_at timestamp with time zone)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT l.colonia, l.grupo, t.tipo, l.holder, l.expires_at > clock_timestamp(), g.guarantee, g.because, g.declared_at
    FROM core.consumer_lease l CROSS JOIN LATERAL unnest(l.types) t (tipo)
    LEFT JOIN core.handler_guarantee g ON g.colonia = l.colonia AND g.grupo = l.grupo
    WHERE left(l.grupo, 5) <> 'live ' OR l.expires_at > clock_timestamp()
    ORDER BY l.colonia COLLATE "C", l.grupo COLLATE "C", t.tipo COLLATE "C"
$$;
CREATE FUNCTION core.lease_acquire(p_colonia text, p_grupo text, p_holder text, p_types text[], p_lease_ms bigint, OUT token bigint, OUT held_by text) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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
CREATE FUNCTION core.lease_declare(p_colonia text, p_grupo text, p_token bigint, p_guarantee text, p_because text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    PERFORM 1 FROM core.consumer_lease WHERE colonia = p_colonia AND grupo = p_grupo AND token = p_token FOR SHARE;
    IF NOT FOUND THEN RETURN false; END IF;
    INSERT INTO core.handler_guarantee AS g (colonia, grupo, guarantee, because, declared_at)
    VALUES (p_colonia, p_grupo, p_guarantee, p_because, clock_timestamp())
    ON CONFLICT (colonia, grupo) DO UPDATE SET guarantee = excluded.guarantee, because = excluded.because, declared_at = excluded.declared_at
    WHERE (g.guarantee, g.because) IS DISTINCT FROM (excluded.guarantee, excluded.because);
    RETURN true;
END
$$;
CREATE FUNCTION core.lease_extend(p_colonia text, p_grupo text, p_token bigint, p_lease_ms bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    UPDATE core.consumer_lease SET expires_at =
        CASE WHEN p_lease_ms = 0 THEN '-infinity' ELSE clock_timestamp() + p_lease_ms * interval '1 millisecond' END
    WHERE colonia = p_colonia AND grupo = p_grupo AND token = p_token;
    RETURN FOUND;
END
$$;
CREATE FUNCTION core.refuse_change() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    RAISE EXCEPTION '%.% is append-only: % is refused', TG_TABLE_SCHEMA, TG_TABLE_NAME, TG_OP
        USING ERRCODE = 'insufficient_privilege';
END
$$;
CREATE FUNCTION core.request_create(p_colonia text, p_user text, OUT request bigint, OUT listening boolean) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    request := nextval('core.fencing_token');
    INSERT INTO core.reprocess_request (request, colonia, grupo, user_name)
    SELECT request_create.request, l.colonia, l.grupo, p_user FROM core.consumer_lease l
    WHERE l.colonia = p_colonia AND l.expires_at > clock_timestamp();
    listening := FOUND;
END
$$;
CREATE FUNCTION core.request_settle(p_colonia text, p_grupo text, p_token bigint, p_reprocessados bigint, p_failed bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    PERFORM 1 FROM core.consumer_lease WHERE colonia = p_colonia AND grupo = p_grupo AND token = p_token FOR SHARE;
    IF NOT FOUND THEN RETURN false; END IF;
    UPDATE core.reprocess_request SET status = 'done', reprocessados = p_reprocessados, failed = p_failed, done_at = clock_timestamp()
    WHERE colonia = p_colonia AND grupo = p_grupo AND status IN ('open', 'taken') AND status = 'taken' AND token = p_token;
    RETURN true;
END
$$;
CREATE FUNCTION core.request_take(p_colonia text, p_grupo text, p_token bigint) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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
CREATE FUNCTION core.request_waiting(p_colonia text, p_grupo text, p_token bigint) RETURNS bigint
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    SELECT max(r.request) FROM core.reprocess_request r
    WHERE r.colonia = p_colonia AND r.grupo = p_grupo AND r.status IN ('open', 'taken') AND (r.status = 'open' OR r.token <> p_token)
$$;
CREATE FUNCTION core.request_withdraw(p_request bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    UPDATE core.reprocess_request r SET status = 'withdrawn' WHERE r.request = p_request AND r.status = 'open';
    RETURN FOUND;
END
$$;
CREATE FUNCTION core.take_event_log_turn() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    AS $$
DECLARE
    quiet  CONSTANT pg_catalog.text := pg_catalog.current_setting('idle_in_transaction_session_timeout');
    unused pg_catalog.text;
BEGIN
    LOCK TABLE core.event_log_turn IN SHARE UPDATE EXCLUSIVE MODE;
    IF quiet OPERATOR(pg_catalog.<>) '30s' AND (quiet OPERATOR(pg_catalog.=) '0'
        OR quiet::pg_catalog.interval OPERATOR(pg_catalog.>) pg_catalog.make_interval(secs => 30)) THEN
        unused := pg_catalog.set_config('idle_in_transaction_session_timeout', '30s', true);
    END IF;
    RETURN NULL;
END
$$;
CREATE TABLE core.audit_log (
    id bigint NOT NULL,
    entity text NOT NULL,
    entity_id text NOT NULL,
    change_type character varying(10) NOT NULL,
    action character varying(80),
    user_name text NOT NULL,
    metadata jsonb DEFAULT '{}'::jsonb NOT NULL,
    created_at timestamp(2) with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL,
    CONSTRAINT audit_log_change_type_check CHECK (((change_type)::text = ANY ((ARRAY['Created'::character varying, 'Updated'::character varying, 'Deleted'::character varying, 'Accessed'::character varying])::text[]))),
    CONSTRAINT audit_log_metadata_check CHECK ((jsonb_typeof(metadata) = 'object'::text))
);
CREATE SEQUENCE core.audit_log_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE core.audit_log_id_seq OWNED BY core.audit_log.id;
CREATE TABLE core.colony_schema (
    colonia character varying(100) NOT NULL,
    schema_name text NOT NULL,
    CONSTRAINT colony_schema_name_form CHECK ((schema_name ~ '^[a-z][a-z0-9_]{0,62}$'::text))
);
CREATE TABLE core.consumer_lease (
    colonia character varying(100) NOT NULL,
    grupo character varying(100) NOT NULL,
    holder text NOT NULL,
    token bigint NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    types text[] NOT NULL
);
CREATE TABLE core.dead_letter_lease (
    dead_letter_id bigint NOT NULL,
    holder text NOT NULL,
    token bigint NOT NULL,
    expires_at timestamp with time zone NOT NULL
);
CREATE TABLE core.dead_letter_queue (
    id bigint NOT NULL,
    event_id uuid NOT NULL,
    sequence_number bigint NOT NULL,
    colonia character varying(100) NOT NULL,
    handler_nome character varying(255),
    mensagem_erro text NOT NULL,
    pilha_erro text,
    tentativas integer DEFAULT 1 NOT NULL,
    ultima_tentativa timestamp(2) with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL,
    status character varying(20) DEFAULT 'pendente'::character varying NOT NULL,
    criado_em timestamp(2) with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL,
    resolvido_em timestamp(2) with time zone
);
CREATE SEQUENCE core.dead_letter_queue_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE core.dead_letter_queue_id_seq OWNED BY core.dead_letter_queue.id;
CREATE TABLE core.event_log (
    sequence_number bigint NOT NULL,
    event_id uuid NOT NULL,
    tipo character varying(255) NOT NULL,
    versao_schema character varying(20) DEFAULT '1.0.0'::character varying NOT NULL,
    "timestamp" timestamp(2) with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL,
    origem character varying(100) NOT NULL,
    correlacao_id uuid,
    payload jsonb NOT NULL,
    criado_em timestamp(2) with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL,
    tenant_id text,
    company_id text,
    aggregate_type text,
    aggregate_key text,
    aggregate_sequence bigint,
    causation_id uuid,
    traceparent text,
    tracestate text,
    digest text
);
CREATE SEQUENCE core.event_log_sequence_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE core.event_log_sequence_number_seq OWNED BY core.event_log.sequence_number;
CREATE TABLE core.event_log_turn (
);
COMMENT ON TABLE core.event_log_turn IS 'Empty: its lock is the turn to insert into core.event_log.';
CREATE TABLE core.event_type_version (
    tipo character varying(255) NOT NULL,
    versao character varying(20) NOT NULL,
    descricao text DEFAULT ''::text NOT NULL,
    status character varying(20) DEFAULT 'ativo'::character varying NOT NULL,
    schema text,
    criado_em timestamp(2) with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL,
    seq bigint NOT NULL,
    CONSTRAINT event_type_version_status_check CHECK (((status)::text = ANY ((ARRAY['ativo'::character varying, 'deprecated'::character varying])::text[])))
);
CREATE SEQUENCE core.event_type_version_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE core.event_type_version_seq_seq OWNED BY core.event_type_version.seq;
CREATE SEQUENCE core.fencing_token
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
CREATE TABLE core.handler_guarantee (
    colonia character varying(100) NOT NULL,
    grupo character varying(100) NOT NULL,
    guarantee text NOT NULL,
    because text,
    declared_at timestamp(2) with time zone NOT NULL,
    CONSTRAINT handler_guarantee_known CHECK ((guarantee = ANY (ARRAY['atomic'::text, 'durable'::text, 'best effort'::text]))),
    CONSTRAINT handler_guarantee_reason_given CHECK (((guarantee <> 'best effort'::text) OR (because <> ''::text)))
);
CREATE TABLE core.registry_revision (
    only_row boolean DEFAULT true NOT NULL,
    revision bigint NOT NULL,
    CONSTRAINT registry_revision_only_row_check CHECK (only_row)
);
CREATE TABLE core.reprocess_request (
    id bigint NOT NULL,
    request bigint NOT NULL,
    colonia character varying(100) NOT NULL,
    grupo character varying(100) NOT NULL,
    user_name text NOT NULL,
    created_at timestamp(2) with time zone DEFAULT clock_timestamp() NOT NULL,
    status character varying(20) DEFAULT 'open'::character varying NOT NULL,
    token bigint,
    reprocessados bigint,
    failed bigint,
    done_at timestamp(2) with time zone,
    CONSTRAINT reprocess_request_status_known CHECK (((status)::text = ANY ((ARRAY['open'::character varying, 'taken'::character varying, 'done'::character varying, 'withdrawn'::character varying])::text[])))
);
ALTER TABLE core.reprocess_request ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME core.reprocess_request_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE core.trilha_migration (
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamp with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL
);
ALTER TABLE ONLY core.audit_log ALTER COLUMN id SET DEFAULT nextval('core.audit_log_id_seq'::regclass);
ALTER TABLE ONLY core.dead_letter_queue ALTER COLUMN id SET DEFAULT nextval('core.dead_letter_queue_id_seq'::regclass);
ALTER TABLE ONLY core.event_log ALTER COLUMN sequence_number SET DEFAULT nextval('core.event_log_sequence_number_seq'::regclass);
ALTER TABLE ONLY core.event_type_version ALTER COLUMN seq SET DEFAULT nextval('core.event_type_version_seq_seq'::regclass);
ALTER TABLE ONLY core.audit_log
    ADD CONSTRAINT audit_log_pkey PRIMARY KEY (id);
ALTER TABLE ONLY core.colony_schema
    ADD CONSTRAINT colony_schema_pkey PRIMARY KEY (colonia);
ALTER TABLE ONLY core.colony_schema
    ADD CONSTRAINT colony_schema_schema_name_key UNIQUE (schema_name);
ALTER TABLE ONLY core.consumer_lease
    ADD CONSTRAINT consumer_lease_pkey PRIMARY KEY (colonia, grupo);
ALTER TABLE ONLY core.dead_letter_lease
    ADD CONSTRAINT dead_letter_lease_pkey PRIMARY KEY (dead_letter_id);
ALTER TABLE ONLY core.dead_letter_queue
    ADD CONSTRAINT dead_letter_queue_pkey PRIMARY KEY (id);
ALTER TABLE ONLY core.event_log
    ADD CONSTRAINT event_log_pkey PRIMARY KEY (sequence_number);
ALTER TABLE core.event_log
    ADD CONSTRAINT event_log_timestamp_range CHECK ((("timestamp" >= '0001-01-01 00:00:00+00'::timestamp with time zone) AND ("timestamp" < '10000-01-01 00:00:00+00'::timestamp with time zone))) NOT VALID;
ALTER TABLE ONLY core.event_type_version
    ADD CONSTRAINT event_type_version_pkey PRIMARY KEY (tipo, versao);
ALTER TABLE ONLY core.event_type_version
    ADD CONSTRAINT event_type_version_seq_key UNIQUE (seq);
ALTER TABLE ONLY core.handler_guarantee
    ADD CONSTRAINT handler_guarantee_pkey PRIMARY KEY (colonia, grupo);
ALTER TABLE ONLY core.registry_revision
    ADD CONSTRAINT registry_revision_pkey PRIMARY KEY (only_row);
ALTER TABLE ONLY core.reprocess_request
    ADD CONSTRAINT reprocess_request_pkey PRIMARY KEY (id);
ALTER TABLE ONLY core.trilha_migration
    ADD CONSTRAINT trilha_migration_pkey PRIMARY KEY (name);
CREATE INDEX audit_log_action_idx ON core.audit_log USING btree (action, created_at);
CREATE INDEX audit_log_entity_idx ON core.audit_log USING btree (entity, entity_id);
CREATE INDEX dead_letter_queue_colonia_idx ON core.dead_letter_queue USING btree (colonia);
CREATE INDEX dead_letter_queue_colonia_sequence_idx ON core.dead_letter_queue USING btree (colonia, sequence_number);
CREATE UNIQUE INDEX dead_letter_queue_event_id_colonia_key ON core.dead_letter_queue USING btree (event_id, colonia);
CREATE INDEX dead_letter_queue_status_colonia_idx ON core.dead_letter_queue USING btree (status, colonia);
CREATE INDEX dead_letter_queue_status_idx ON core.dead_letter_queue USING btree (status);
CREATE INDEX event_log_correlacao_id_idx ON core.event_log USING btree (correlacao_id);
CREATE UNIQUE INDEX event_log_event_id_key ON core.event_log USING btree (event_id);
CREATE INDEX event_log_origem_idx ON core.event_log USING btree (origem);
CREATE INDEX event_log_timestamp_idx ON core.event_log USING btree ("timestamp");
CREATE INDEX event_log_tipo_idx ON core.event_log USING btree (tipo);
CREATE INDEX event_log_tipo_sequence_idx ON core.event_log USING btree (tipo, sequence_number);
CREATE INDEX event_log_tipo_timestamp_idx ON core.event_log USING btree (tipo, "timestamp");
CREATE INDEX reprocess_request_request_idx ON core.reprocess_request USING btree (request);
CREATE INDEX reprocess_request_unfinished_idx ON core.reprocess_request USING btree (colonia, grupo) WHERE ((status)::text = ANY ((ARRAY['open'::character varying, 'taken'::character varying])::text[]));
CREATE TRIGGER audit_log_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON core.audit_log FOR EACH STATEMENT EXECUTE FUNCTION core.refuse_change();
ALTER TABLE core.audit_log ENABLE ALWAYS TRIGGER audit_log_append_only;
CREATE TRIGGER event_log_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON core.event_log FOR EACH STATEMENT EXECUTE FUNCTION core.refuse_change();
ALTER TABLE core.event_log ENABLE ALWAYS TRIGGER event_log_append_only;
CREATE TRIGGER event_log_turn BEFORE INSERT ON core.event_log FOR EACH STATEMENT EXECUTE FUNCTION core.take_event_log_turn();
ALTER TABLE core.event_log ENABLE ALWAYS TRIGGER event_log_turn;
ALTER TABLE ONLY core.dead_letter_lease
    ADD CONSTRAINT dead_letter_lease_fkey FOREIGN KEY (dead_letter_id) REFERENCES core.dead_letter_queue(id);
ALTER TABLE ONLY core.dead_letter_queue
    ADD CONSTRAINT dead_letter_queue_event_id_fkey FOREIGN KEY (event_id) REFERENCES core.event_log(event_id);
GRANT USAGE ON SCHEMA core TO trilha_reader;
GRANT USAGE ON SCHEMA core TO trilha_writer;
GRANT USAGE ON SCHEMA core TO trilha_operator;
REVOKE ALL ON FUNCTION core.consumers_list(p_colonia text) FROM PUBLIC;
GRANT ALL ON FUNCTION core.consumers_list(p_colonia text) TO trilha_reader;
GRANT ALL ON FUNCTION core.consumers_list(p_colonia text) TO trilha_writer;
GRANT ALL ON FUNCTION core.consumers_list(p_colonia text) TO trilha_operator;
REVOKE ALL ON FUNCTION core.cursors_advance(p_colonia text, p_grupo text, p_token bigint, p_types text[], p_sequences bigint[], p_resolved uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION core.cursors_advance(p_colonia text, p_grupo text, p_token bigint, p_types text[], p_sequences bigint[], p_resolved uuid[]) TO trilha_writer;
REVOKE ALL ON FUNCTION core.cursors_prepare(p_colonia text, p_schema text) FROM PUBLIC;
GRANT ALL ON FUNCTION core.cursors_prepare(p_colonia text, p_schema text) TO trilha_writer;
REVOKE ALL ON FUNCTION core.cursors_read(p_colonia text, p_types text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION core.cursors_read(p_colonia text, p_types text[]) TO trilha_reader;
GRANT ALL ON FUNCTION core.cursors_read(p_colonia text, p_types text[]) TO trilha_writer;
GRANT ALL ON FUNCTION core.cursors_read(p_colonia text, p_types text[]) TO trilha_operator;
REVOKE ALL ON FUNCTION core.cursors_seed(p_colonia text, p_grupo text, p_token bigint, p_types text[], p_sequences bigint[], p_entity text, p_entity_id text, p_change text, p_action text, p_user text, p_metadata jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION core.cursors_seed(p_colonia text, p_grupo text, p_token bigint, p_types text[], p_sequences bigint[], p_entity text, p_entity_id text, p_change text, p_action text, p_user text, p_metadata jsonb) TO trilha_writer;
REVOKE ALL ON FUNCTION core.dead_letter_extend(p_id bigint, p_token bigint, p_lease_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION core.dead_letter_extend(p_id bigint, p_token bigint, p_lease_ms bigint) TO trilha_writer;
REVOKE ALL ON FUNCTION core.dead_letter_fail(p_event_id uuid, p_sequence bigint, p_colonia text, p_handler text, p_message text, p_stack text, p_max bigint, p_grupo text, p_token bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION core.dead_letter_fail(p_event_id uuid, p_sequence bigint, p_colonia text, p_handler text, p_message text, p_stack text, p_max bigint, p_grupo text, p_token bigint) TO trilha_writer;
REVOKE ALL ON FUNCTION core.dead_letter_reopen(p_id bigint, p_entity text, p_entity_id text, p_change text, p_action text, p_user text, p_metadata jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION core.dead_letter_reopen(p_id bigint, p_entity text, p_entity_id text, p_change text, p_action text, p_user text, p_metadata jsonb) TO trilha_writer;
GRANT ALL ON FUNCTION core.dead_letter_reopen(p_id bigint, p_entity text, p_entity_id text, p_change text, p_action text, p_user text, p_metadata jsonb) TO trilha_operator;
REVOKE ALL ON FUNCTION core.dead_letter_resolve(p_event_id uuid, p_colonia text) FROM PUBLIC;
GRANT ALL ON FUNCTION core.dead_letter_resolve(p_event_id uuid, p_colonia text) TO trilha_writer;
REVOKE ALL ON FUNCTION core.dead_letter_settle(p_id bigint, p_token bigint, p_failed boolean, p_handler text, p_message text, p_stack text, p_max bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION core.dead_letter_settle(p_id bigint, p_token bigint, p_failed boolean, p_handler text, p_message text, p_stack text, p_max bigint) TO trilha_writer;
REVOKE ALL ON FUNCTION core.dead_letters_recover() FROM PUBLIC;
GRANT ALL ON FUNCTION core.dead_letters_recover() TO trilha_writer;
REVOKE ALL ON FUNCTION core.dead_letters_take(p_colonia text, p_types text[], p_ids bigint[], p_limit bigint, p_holder text, p_lease_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION core.dead_letters_take(p_colonia text, p_types text[], p_ids bigint[], p_limit bigint, p_holder text, p_lease_ms bigint) TO trilha_writer;
REVOKE ALL ON PROCEDURE core.event_append(IN event_ids uuid[], IN tipos text[], IN versoes_schema text[], IN timestamps timestamp with time zone[], IN origens text[], IN correlacao_ids uuid[], IN payloads jsonb[], IN tenant_ids text[], IN company_ids text[], IN aggregate_types text[], IN aggregate_keys text[], IN aggregate_sequences bigint[], IN causation_ids uuid[], IN traceparents text[], IN tracestates text[], IN digests text[], IN lock_timeout_ms bigint, IN durable boolean, IN stay boolean, IN flush_late boolean, OUT stored_ids uuid[], OUT stored_sequences bigint[], OUT stored_criado_em timestamp with time zone, OUT registry_revision bigint) FROM PUBLIC;
GRANT ALL ON PROCEDURE core.event_append(IN event_ids uuid[], IN tipos text[], IN versoes_schema text[], IN timestamps timestamp with time zone[], IN origens text[], IN correlacao_ids uuid[], IN payloads jsonb[], IN tenant_ids text[], IN company_ids text[], IN aggregate_types text[], IN aggregate_keys text[], IN aggregate_sequences bigint[], IN causation_ids uuid[], IN traceparents text[], IN tracestates text[], IN digests text[], IN lock_timeout_ms bigint, IN durable boolean, IN stay boolean, IN flush_late boolean, OUT stored_ids uuid[], OUT stored_sequences bigint[], OUT stored_criado_em timestamp with time zone, OUT registry_revision bigint) TO trilha_writer;
REVOKE ALL ON PROCEDURE core.event_append_one(IN new_event_id uuid, IN new_tipo text, IN new_versao_schema text, IN new_timestamp timestamp with time zone, IN new_origem text, IN new_correlacao_id uuid, IN new_payload jsonb, IN new_tenant_id text, IN new_company_id text, IN new_aggregate_type text, IN new_aggregate_key text, IN new_aggregate_sequence bigint, IN new_causation_id uuid, IN new_traceparent text, IN new_tracestate text, IN new_digest text, IN lock_timeout_ms bigint, IN durable boolean, IN stay boolean, IN flush_late boolean, OUT stored_sequence bigint, OUT stored_criado_em timestamp with time zone, OUT registry_revision bigint) FROM PUBLIC;
GRANT ALL ON PROCEDURE core.event_append_one(IN new_event_id uuid, IN new_tipo text, IN new_versao_schema text, IN new_timestamp timestamp with time zone, IN new_origem text, IN new_correlacao_id uuid, IN new_payload jsonb, IN new_tenant_id text, IN new_company_id text, IN new_aggregate_type text, IN new_aggregate_key text, IN new_aggregate_sequence bigint, IN new_causation_id uuid, IN new_traceparent text, IN new_tracestate text, IN new_digest text, IN lock_timeout_ms bigint, IN durable boolean, IN stay boolean, IN flush_late boolean, OUT stored_sequence bigint, OUT stored_criado_em timestamp with time zone, OUT registry_revision bigint) TO trilha_writer;
REVOKE ALL ON FUNCTION core.event_log_flush() FROM PUBLIC;
GRANT ALL ON FUNCTION core.event_log_flush() TO trilha_writer;
REVOKE ALL ON FUNCTION core.event_log_settle(lock_timeout_ms bigint, durable boolean, stay boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION core.event_log_settle(lock_timeout_ms bigint, durable boolean, stay boolean) TO trilha_writer;
REVOKE ALL ON FUNCTION core.handlers_list() FROM PUBLIC;
GRANT ALL ON FUNCTION core.handlers_list() TO trilha_reader;
GRANT ALL ON FUNCTION core.handlers_list() TO trilha_writer;
GRANT ALL ON FUNCTION core.handlers_list() TO trilha_operator;
REVOKE ALL ON FUNCTION core.lease_acquire(p_colonia text, p_grupo text, p_holder text, p_types text[], p_lease_ms bigint, OUT token bigint, OUT held_by text) FROM PUBLIC;
GRANT ALL ON FUNCTION core.lease_acquire(p_colonia text, p_grupo text, p_holder text, p_types text[], p_lease_ms bigint, OUT token bigint, OUT held_by text) TO trilha_writer;
REVOKE ALL ON FUNCTION core.lease_declare(p_colonia text, p_grupo text, p_token bigint, p_guarantee text, p_because text) FROM PUBLIC;
GRANT ALL ON FUNCTION core.lease_declare(p_colonia text, p_grupo text, p_token bigint, p_guarantee text, p_because text) TO trilha_writer;
REVOKE ALL ON FUNCTION core.lease_extend(p_colonia text, p_grupo text, p_token bigint, p_lease_ms bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION core.lease_extend(p_colonia text, p_grupo text, p_token bigint, p_lease_ms bigint) TO trilha_writer;
REVOKE ALL ON FUNCTION core.refuse_change() FROM PUBLIC;
REVOKE ALL ON FUNCTION core.request_create(p_colonia text, p_user text, OUT request bigint, OUT listening boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION core.request_create(p_colonia text, p_user text, OUT request bigint, OUT listening boolean) TO trilha_writer;
GRANT ALL ON FUNCTION core.request_create(p_colonia text, p_user text, OUT request bigint, OUT listening boolean) TO trilha_operator;
REVOKE ALL ON FUNCTION core.request_settle(p_colonia text, p_grupo text, p_token bigint, p_reprocessados bigint, p_failed bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION core.request_settle(p_colonia text, p_grupo text, p_token bigint, p_reprocessados bigint, p_failed bigint) TO trilha_writer;
REVOKE ALL ON FUNCTION core.request_take(p_colonia text, p_grupo text, p_token bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION core.request_take(p_colonia text, p_grupo text, p_token bigint) TO trilha_writer;
REVOKE ALL ON FUNCTION core.request_waiting(p_colonia text, p_grupo text, p_token bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION core.request_waiting(p_colonia text, p_grupo text, p_token bigint) TO trilha_writer;
REVOKE ALL ON FUNCTION core.request_withdraw(p_request bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION core.request_withdraw(p_request bigint) TO trilha_writer;
GRANT ALL ON FUNCTION core.request_withdraw(p_request bigint) TO trilha_operator;
REVOKE ALL ON FUNCTION core.take_event_log_turn() FROM PUBLIC;
GRANT SELECT ON TABLE core.audit_log TO trilha_operator;
GRANT INSERT(entity) ON TABLE core.audit_log TO trilha_writer;
GRANT INSERT(entity) ON TABLE core.audit_log TO trilha_operator;
GRANT INSERT(entity_id) ON TABLE core.audit_log TO trilha_writer;
GRANT INSERT(entity_id) ON TABLE core.audit_log TO trilha_operator;
GRANT INSERT(change_type) ON TABLE core.audit_log TO trilha_writer;
GRANT INSERT(change_type) ON TABLE core.audit_log TO trilha_operator;
GRANT INSERT(action) ON TABLE core.audit_log TO trilha_writer;
GRANT INSERT(action) ON TABLE core.audit_log TO trilha_operator;
GRANT INSERT(user_name) ON TABLE core.audit_log TO trilha_writer;
GRANT INSERT(user_name) ON TABLE core.audit_log TO trilha_operator;
GRANT INSERT(metadata) ON TABLE core.audit_log TO trilha_writer;
GRANT INSERT(metadata) ON TABLE core.audit_log TO trilha_operator;
GRANT USAGE ON SEQUENCE core.audit_log_id_seq TO trilha_writer;
GRANT USAGE ON SEQUENCE core.audit_log_id_seq TO trilha_operator;
GRANT SELECT ON TABLE core.colony_schema TO trilha_reader;
GRANT SELECT ON TABLE core.colony_schema TO trilha_writer;
GRANT SELECT ON TABLE core.colony_schema TO trilha_operator;
GRANT SELECT ON TABLE core.consumer_lease TO trilha_reader;
GRANT SELECT ON TABLE core.consumer_lease TO trilha_writer;
GRANT SELECT ON TABLE core.consumer_lease TO trilha_operator;
GRANT SELECT ON TABLE core.dead_letter_lease TO trilha_reader;
GRANT SELECT ON TABLE core.dead_letter_lease TO trilha_writer;
GRANT SELECT ON TABLE core.dead_letter_lease TO trilha_operator;
GRANT SELECT ON TABLE core.dead_letter_queue TO trilha_reader;
GRANT SELECT ON TABLE core.dead_letter_queue TO trilha_writer;
GRANT SELECT ON TABLE core.dead_letter_queue TO trilha_operator;
GRANT SELECT ON TABLE core.event_log TO trilha_reader;
GRANT SELECT ON TABLE core.event_log TO trilha_writer;
GRANT SELECT ON TABLE core.event_log TO trilha_operator;
GRANT INSERT(event_id) ON TABLE core.event_log TO trilha_writer;
GRANT INSERT(tipo) ON TABLE core.event_log TO trilha_writer;
GRANT INSERT(versao_schema) ON TABLE core.event_log TO trilha_writer;
GRANT INSERT("timestamp") ON TABLE core.event_log TO trilha_writer;
GRANT INSERT(origem) ON TABLE core.event_log TO trilha_writer;
GRANT INSERT(correlacao_id) ON TABLE core.event_log TO trilha_writer;
GRANT INSERT(payload) ON TABLE core.event_log TO trilha_writer;
GRANT INSERT(criado_em) ON TABLE core.event_log TO trilha_writer;
GRANT INSERT(tenant_id) ON TABLE core.event_log TO trilha_writer;
GRANT INSERT(company_id) ON TABLE core.event_log TO trilha_writer;
GRANT INSERT(aggregate_type) ON TABLE core.event_log TO trilha_writer;
GRANT INSERT(aggregate_key) ON TABLE core.event_log TO trilha_writer;
GRANT INSERT(aggregate_sequence) ON TABLE core.event_log TO trilha_writer;
GRANT INSERT(causation_id) ON TABLE core.event_log TO trilha_writer;
GRANT INSERT(traceparent) ON TABLE core.event_log TO trilha_writer;
GRANT INSERT(tracestate) ON TABLE core.event_log TO trilha_writer;
GRANT INSERT(digest) ON TABLE core.event_log TO trilha_writer;
GRANT USAGE ON SEQUENCE core.event_log_sequence_number_seq TO trilha_writer;
GRANT UPDATE ON TABLE core.event_log_turn TO trilha_writer;
GRANT SELECT ON TABLE core.event_type_version TO trilha_reader;
GRANT SELECT ON TABLE core.event_type_version TO trilha_writer;
GRANT SELECT ON TABLE core.event_type_version TO trilha_operator;
GRANT INSERT(tipo) ON TABLE core.event_type_version TO trilha_writer;
GRANT INSERT(versao) ON TABLE core.event_type_version TO trilha_writer;
GRANT INSERT(descricao),UPDATE(descricao) ON TABLE core.event_type_version TO trilha_writer;
GRANT INSERT(status),UPDATE(status) ON TABLE core.event_type_version TO trilha_writer;
GRANT INSERT(schema) ON TABLE core.event_type_version TO trilha_writer;
GRANT USAGE ON SEQUENCE core.event_type_version_seq_seq TO trilha_writer;
GRANT SELECT ON TABLE core.handler_guarantee TO trilha_reader;
GRANT SELECT ON TABLE core.handler_guarantee TO trilha_writer;
GRANT SELECT ON TABLE core.handler_guarantee TO trilha_operator;
GRANT SELECT ON TABLE core.registry_revision TO trilha_reader;
GRANT SELECT ON TABLE core.registry_revision TO trilha_writer;
GRANT SELECT ON TABLE core.registry_revision TO trilha_operator;
GRANT UPDATE(revision) ON TABLE core.registry_revision TO trilha_writer;
GRANT SELECT ON TABLE core.reprocess_request TO trilha_reader;
GRANT SELECT ON TABLE core.reprocess_request TO trilha_writer;
GRANT SELECT ON TABLE core.reprocess_request TO trilha_operator;
GRANT SELECT ON TABLE core.trilha_migration TO trilha_reader;
GRANT SELECT ON TABLE core.trilha_migration TO trilha_writer;
GRANT SELECT ON TABLE core.trilha_migration TO trilha_operator;
