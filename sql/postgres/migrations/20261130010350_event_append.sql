-- The two doors by which Trilha appends: a batch, or one event, in one message, its whole transaction on the server's side.
--
-- All rows have arrived before anything runs, and the commit is in here, so a client that stops half-way, at any byte,
-- never holds the turn. Statements of a procedure see what was committed before each of them began: the turn is taken
-- as its own statement, the look-up for ids that are there already comes after it, and so a batch that waited behind
-- another one with the same id finds it. ON CONFLICT only guards against what must not happen; it would burn a number.
--
-- The turn is given back before the disk is waited for (ADR 0018): the first transaction commits asynchronously, the second
-- one, which holds nothing, ends when everything up to itself is on disk, the first included; then the call returns. Between
-- the two the rows are visible but a crash could lose them: Trilha's readers wait for the disk too (query log_is_durable).
-- The second runs also when nothing was stored: a repeated id is an acknowledgement of a row that may be as young.
-- With synchronous standbys the first commit waits for them under the turn: what is visible is then on a standby as well.
--
-- Plans are pinned: with the statistics of an empty or never-analysed log the planner prefers to read the log whole.
--
-- SECURITY INVOKER: a procedure that commits cannot be a definer's, and the caller's column grants should rule here.
-- The names it uses are all qualified, operators included in pg_catalog by default: it has no SET, for the same reason.

-- Settings of the transaction, then the turn; returns when it was taken, so that criado_em never runs against the order.
--
-- A publisher that finds the turn taken first tries again for a while, each time after a nap, before it joins the queue of
-- the lock. The queue hands the turn to a process that sleeps, and the log then stands still until the scheduler has woken
-- it; a turn that lies free is taken by whoever runs (measured, ADR 0018). The queue keeps the wait fair in the end.
CREATE FUNCTION core.event_log_enter(lock_timeout_ms bigint, durable boolean) RETURNS timestamptz
    LANGUAGE plpgsql AS $$
DECLARE
    naps CONSTANT int := least(lock_timeout_ms, 50); -- of 1 ms
BEGIN
    PERFORM pg_catalog.set_config('lock_timeout', lock_timeout_ms::text, true),
            pg_catalog.set_config('plan_cache_mode', 'force_generic_plan', true), -- planned once a session
            pg_catalog.set_config('enable_seqscan', 'off', true),
            pg_catalog.set_config('enable_bitmapscan', 'off', true),
            pg_catalog.set_config('enable_hashjoin', 'off', true),
            pg_catalog.set_config('enable_mergejoin', 'off', true),
            pg_catalog.set_config('jit', 'off', true);
    IF NOT durable OR pg_catalog.current_setting('synchronous_standby_names') = '' THEN
        PERFORM pg_catalog.set_config('synchronous_commit', 'off', true);
    ELSIF pg_catalog.current_setting('synchronous_commit') = 'off' THEN
        PERFORM pg_catalog.set_config('synchronous_commit', 'on', true);
    END IF;
    FOR i IN 1..naps LOOP
        BEGIN
            LOCK TABLE core.event_log_turn IN SHARE UPDATE EXCLUSIVE MODE NOWAIT;
            RETURN pg_catalog.clock_timestamp();
        EXCEPTION
            WHEN lock_not_available THEN NULL;
        END;
        PERFORM pg_catalog.pg_sleep(0.001);
    END LOOP;
    LOCK TABLE core.event_log_turn IN SHARE UPDATE EXCLUSIVE MODE;
    RETURN pg_catalog.clock_timestamp();
END
$$;

-- After the commit that gave the turn back: whoever commits next here returns with that commit on disk, whatever the role's
-- or the database's setting says. A transaction that wrote nothing would not wait; the message is the least one can write.
CREATE FUNCTION core.event_log_flush(durable boolean) RETURNS void
    LANGUAGE plpgsql AS $$
BEGIN
    IF NOT durable OR pg_catalog.current_setting('synchronous_standby_names') <> '' THEN
        RETURN;
    END IF;
    IF pg_catalog.current_setting('synchronous_commit') = 'off' THEN
        PERFORM pg_catalog.set_config('synchronous_commit', 'on', true);
    END IF;
    PERFORM pg_catalog.pg_logical_emit_message(true, 'trilha', '');
END
$$;

-- What was stored comes back as parallel arrays in the order of the batch; ids missing there were in the log before.
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
    stored_criado_em := core.event_log_enter(lock_timeout_ms, durable);

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
    COMMIT;

    SELECT r.revision INTO registry_revision FROM core.registry_revision r;
    stored_criado_em := stored_criado_em::timestamptz(2); -- as the column rounds it
    PERFORM core.event_log_flush(durable);
    COMMIT;
END
$$;
REVOKE EXECUTE ON PROCEDURE core.event_append FROM PUBLIC;

-- The same for one event, without the arrays: they cost a lone publisher more than the row itself (ADR 0018). No number: the id
-- was in the log before.
CREATE PROCEDURE core.event_append_one(
    IN new_event_id uuid, IN new_tipo text, IN new_versao_schema text, IN new_timestamp timestamptz, IN new_origem text,
    IN new_correlacao_id uuid, IN new_payload jsonb, IN new_tenant_id text, IN new_company_id text,
    IN new_aggregate_type text, IN new_aggregate_key text, IN new_aggregate_sequence bigint, IN new_causation_id uuid,
    IN new_traceparent text, IN new_tracestate text, IN new_digest text,
    IN lock_timeout_ms bigint, IN durable boolean,
    OUT stored_sequence bigint, OUT stored_criado_em timestamptz, OUT registry_revision bigint)
    LANGUAGE plpgsql AS $$
BEGIN
    IF pg_catalog.current_setting('transaction_isolation') <> 'read committed' THEN
        COMMIT;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    END IF;
    stored_criado_em := core.event_log_enter(lock_timeout_ms, durable);

    INSERT INTO core.event_log (event_id, tipo, versao_schema, timestamp, origem, correlacao_id, payload, criado_em,
        tenant_id, company_id, aggregate_type, aggregate_key, aggregate_sequence, causation_id, traceparent, tracestate,
        digest)
    SELECT new_event_id, new_tipo, new_versao_schema, new_timestamp, new_origem, new_correlacao_id, new_payload,
        stored_criado_em, new_tenant_id, new_company_id, new_aggregate_type, new_aggregate_key, new_aggregate_sequence,
        new_causation_id, new_traceparent, new_tracestate, new_digest
    WHERE NOT EXISTS (SELECT FROM core.event_log e WHERE e.event_id = new_event_id)
    ON CONFLICT (event_id) DO NOTHING
    RETURNING event_log.sequence_number INTO stored_sequence;
    COMMIT;

    SELECT r.revision INTO registry_revision FROM core.registry_revision r;
    stored_criado_em := stored_criado_em::timestamptz(2); -- as the column rounds it
    PERFORM core.event_log_flush(durable);
    COMMIT;
END
$$;
REVOKE EXECUTE ON PROCEDURE core.event_append_one FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION core.event_log_enter, core.event_log_flush FROM PUBLIC;
