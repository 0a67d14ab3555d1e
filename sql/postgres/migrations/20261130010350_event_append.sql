-- The two doors by which Trilha appends: a batch, or one event, in one message, its whole transaction on the server's side.
--
-- All rows have arrived before anything runs, and the commit is in here, so a client that stops half-way, at any byte,
-- never holds the turn. Statements of a procedure see what was committed before each of them began: the turn is taken
-- as its own statement, the look-up for ids that are there already comes after it, and so a batch that waited behind
-- another one with the same id finds it. An id that is there after that look-up is an error, not a row to skip.
--
-- With flush_late the turn is given back before the disk is waited for (ADR 0018): the first transaction commits
-- asynchronously, the second one, which holds nothing, ends when everything up to itself is on disk, the first included; then
-- the call returns. Between the two the rows are visible but a crash could lose them: Trilha's readers wait for the disk
-- too (query log_position). The second runs also when nothing was stored: a repeated id is an acknowledgement of a row
-- that may be as young. A publisher that was alone lately asks for one plain commit instead: nobody waits for its turn.
-- With synchronous standbys the commit waits for them under the turn: what is visible is then on a standby as well.
--
-- Every expression here runs once for each event published alone, hence: settings are made once a session where the
-- session is the caller's own (lock_timeout_ms NULL: they were made), and what needs no query is an assignment, which
-- PL/pgSQL evaluates without one.
--
-- SECURITY INVOKER: a procedure that commits cannot be a definer's, and the caller's column grants should rule here.
-- The names it uses are all qualified, operators included in pg_catalog by default: it has no SET, for the same reason.

-- What a transaction that appends relies on; with `stay` for the session. Plans are pinned: with the statistics of an
-- empty or never-analysed log the planner prefers to read the log whole.
CREATE FUNCTION core.event_log_settle(lock_timeout_ms bigint, durable boolean, stay boolean) RETURNS void
    LANGUAGE plpgsql AS $$
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

-- After the commit that gave the turn back: whoever commits next here returns with that commit on disk, whatever the role's
-- or the database's setting says. A transaction that wrote nothing would not wait; the message is the least one can write.
-- The caller's statement ends this transaction.
CREATE FUNCTION core.event_log_flush() RETURNS void
    LANGUAGE plpgsql AS $$
DECLARE
    unused text;
BEGIN
    IF pg_catalog.current_setting('synchronous_commit') = 'off' THEN
        unused := pg_catalog.set_config('synchronous_commit', 'on', true);
    END IF;
    unused := pg_catalog.pg_logical_emit_message(true, 'trilha', '');
END
$$;

-- What was stored comes back as parallel arrays in the order of the batch; ids missing there were in the log before.
CREATE PROCEDURE core.event_append(
    IN event_ids uuid[], IN tipos text[], IN versoes_schema text[], IN timestamps timestamptz[], IN origens text[],
    IN correlacao_ids uuid[], IN payloads jsonb[], IN tenant_ids text[], IN company_ids text[],
    IN aggregate_types text[], IN aggregate_keys text[], IN aggregate_sequences bigint[], IN causation_ids uuid[],
    IN traceparents text[], IN tracestates text[], IN digests text[],
    IN lock_timeout_ms bigint, IN durable boolean, IN stay boolean, IN flush_late boolean,
    OUT stored_ids uuid[], OUT stored_sequences bigint[], OUT stored_criado_em timestamptz, OUT registry_revision bigint)
    LANGUAGE plpgsql AS $$
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
REVOKE EXECUTE ON PROCEDURE core.event_append FROM PUBLIC;

-- The same for one event, without the arrays: they cost a lone publisher more than the row itself (ADR 0018). No number: the id
-- was in the log before.
CREATE PROCEDURE core.event_append_one(
    IN new_event_id uuid, IN new_tipo text, IN new_versao_schema text, IN new_timestamp timestamptz, IN new_origem text,
    IN new_correlacao_id uuid, IN new_payload jsonb, IN new_tenant_id text, IN new_company_id text,
    IN new_aggregate_type text, IN new_aggregate_key text, IN new_aggregate_sequence bigint, IN new_causation_id uuid,
    IN new_traceparent text, IN new_tracestate text, IN new_digest text,
    IN lock_timeout_ms bigint, IN durable boolean, IN stay boolean, IN flush_late boolean,
    OUT stored_sequence bigint, OUT stored_criado_em timestamptz, OUT registry_revision bigint)
    LANGUAGE plpgsql AS $$
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
REVOKE EXECUTE ON PROCEDURE core.event_append_one FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION core.event_log_settle, core.event_log_flush FROM PUBLIC;
