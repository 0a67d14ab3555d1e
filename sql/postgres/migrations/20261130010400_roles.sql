-- Who may do what. Two roles without login, to be granted to the logins that need them:
--   trilha_writer  appends to the log, registers types, writes audit rows; all that trilha_reader may;
--   trilha_reader  reads the log, the registry and the dead letters.
-- The owner is the role that runs the migrations: a third role for it would have to be granted to that very login.
-- Colony roles get neither (ruling R12): core is closed to PUBLIC.
DO $$
DECLARE
    wanted  text;
    present pg_catalog.pg_roles%ROWTYPE;
BEGIN
    FOREACH wanted IN ARRAY ARRAY['trilha_reader', 'trilha_writer'] LOOP
        SELECT * INTO present FROM pg_catalog.pg_roles r WHERE r.rolname = wanted;
        IF FOUND THEN -- roles belong to the whole cluster: another database's migration made it, or an administrator
            IF present.rolsuper OR present.rolbypassrls OR present.rolcreaterole THEN
                RAISE EXCEPTION 'role % exists with SUPERUSER, BYPASSRLS or CREATEROLE: take these away first', wanted
                    USING ERRCODE = 'insufficient_privilege';
            END IF;
            CONTINUE;
        END IF;
        BEGIN
            EXECUTE pg_catalog.format('CREATE ROLE %I NOLOGIN NOINHERIT', wanted);
        EXCEPTION
            WHEN duplicate_object OR unique_violation THEN NULL; -- another database's migration was a moment faster
            WHEN insufficient_privilege THEN
                RAISE EXCEPTION '% may not create roles: let an administrator run "CREATE ROLE trilha_reader NOLOGIN; CREATE ROLE trilha_writer NOLOGIN; CREATE ROLE trilha_operator NOLOGIN;" once, then repeat',
                    current_user USING ERRCODE = 'insufficient_privilege';
        END;
    END LOOP;
END
$$;

REVOKE ALL ON SCHEMA core FROM PUBLIC;
REVOKE ALL ON ALL TABLES IN SCHEMA core FROM PUBLIC;
REVOKE ALL ON ALL SEQUENCES IN SCHEMA core FROM PUBLIC;
REVOKE ALL ON ALL ROUTINES IN SCHEMA core FROM PUBLIC;

GRANT USAGE ON SCHEMA core TO trilha_reader, trilha_writer;
GRANT SELECT ON core.trilha_migration, core.event_log, core.dead_letter_queue, core.event_type_version,
    core.registry_revision TO trilha_reader, trilha_writer;

-- By column: nobody but the owner may choose a sequence number.
GRANT INSERT (event_id, tipo, versao_schema, timestamp, origem, correlacao_id, payload, criado_em, tenant_id, company_id,
    aggregate_type, aggregate_key, aggregate_sequence, causation_id, traceparent, tracestate, digest)
    ON core.event_log TO trilha_writer;
GRANT USAGE ON SEQUENCE core.event_log_sequence_number_seq TO trilha_writer;
GRANT UPDATE ON core.event_log_turn TO trilha_writer; -- lets it lock; there is nothing to update
GRANT EXECUTE ON PROCEDURE core.event_append, core.event_append_one TO trilha_writer;
GRANT EXECUTE ON FUNCTION core.event_log_settle, core.event_log_flush TO trilha_writer;

GRANT INSERT (tipo, versao, descricao, status, schema), UPDATE (descricao, status) ON core.event_type_version
    TO trilha_writer;
GRANT USAGE ON SEQUENCE core.event_type_version_seq_seq TO trilha_writer;
GRANT UPDATE (revision) ON core.registry_revision TO trilha_writer;

GRANT INSERT (entity, entity_id, change_type, action, user_name, metadata) ON core.audit_log TO trilha_writer;
GRANT USAGE ON SEQUENCE core.audit_log_id_seq TO trilha_writer;
