-- The one door by which Trilha appends: a batch in one message, its whole transaction on the server's side.
--
-- All rows have arrived before anything runs, and the commit is in here, so a client that stops half-way, at any byte,
-- never holds the turn. Statements of a procedure see what was committed before each of them began: the turn is taken
-- as its own statement, the look-up for ids that are there already comes after it, and so a batch that waited behind
-- another one with the same id finds it. ON CONFLICT only guards against what must not happen; it would burn a number.
--
-- Plans are pinned: with the statistics of an empty or never-analysed log the planner prefers to read the log whole.
--
-- What was stored comes back as parallel arrays in the order of the batch; ids missing there were in the log before.
-- SECURITY INVOKER: a procedure that commits cannot be a definer's, and the caller's column grants should rule here.
-- The names it uses are all qualified, operators included in pg_catalog by default: it has no SET, for the same reason.
CREATE PROCEDURE core.event_append(
    IN event_ids uuid[], IN tipos text[], IN versoes_schema text[], IN timestamps timestamptz[], IN origens text[],
    IN correlacao_ids uuid[], IN payloads jsonb[], IN tenant_ids text[], IN company_ids text[],
    IN aggregate_types text[], IN aggregate_keys text[], IN aggregate_sequences bigint[], IN causation_ids uuid[],
    IN traceparents text[], IN tracestates text[], IN digests text[],
    IN lock_timeout_ms bigint, IN durable boolean,
    OUT stored_ids uuid[], OUT stored_sequences bigint[], OUT stored_criado_em timestamptz, OUT registry_revision bigint)
    LANGUAGE plpgsql AS $$
BEGIN
    -- In a stricter isolation level the look-up would see the log as it was before the wait for the turn.
    IF pg_catalog.current_setting('transaction_isolation') <> 'read committed' THEN
        COMMIT;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    END IF;
    PERFORM pg_catalog.set_config('lock_timeout', lock_timeout_ms::text, true),
            pg_catalog.set_config('plan_cache_mode', 'force_generic_plan', true), -- planned once a session
            pg_catalog.set_config('enable_seqscan', 'off', true),
            pg_catalog.set_config('enable_bitmapscan', 'off', true),
            pg_catalog.set_config('enable_hashjoin', 'off', true),
            pg_catalog.set_config('enable_mergejoin', 'off', true),
            pg_catalog.set_config('jit', 'off', true);
    -- An acknowledged event is on disk, whatever the role's or the database's setting says.
    IF NOT durable THEN
        PERFORM pg_catalog.set_config('synchronous_commit', 'off', true);
    ELSIF pg_catalog.current_setting('synchronous_commit') = 'off' THEN
        PERFORM pg_catalog.set_config('synchronous_commit', 'on', true);
    END IF;

    LOCK TABLE core.event_log_turn IN SHARE UPDATE EXCLUSIVE MODE;

    stored_criado_em := pg_catalog.clock_timestamp(); -- after the wait: it never runs against the order of the log
    SELECT r.revision INTO registry_revision FROM core.registry_revision r;

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
        ON CONFLICT (event_id) DO NOTHING
        RETURNING event_log.event_id, event_log.sequence_number)
    SELECT array_agg(f.event_id), array_agg(f.sequence_number) INTO stored_ids, stored_sequences FROM fresh f;

    stored_criado_em := stored_criado_em::timestamptz(2); -- as the column rounds it
    COMMIT;
END
$$;
REVOKE EXECUTE ON PROCEDURE core.event_append FROM PUBLIC;
