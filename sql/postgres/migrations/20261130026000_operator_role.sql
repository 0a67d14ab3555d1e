-- A third role without login, for the service of the operators' side (trilha serve) and whoever works as an operator: reads the log, the
-- registry, the dead letters, the consumers and the audit trail, asks a colony to run its dead letters again, gives one another chance, and
-- writes rows of the audit trail. It appends no event, registers no type and moves no cursor.
DO $$
DECLARE
    present pg_catalog.pg_roles%ROWTYPE;
BEGIN
    SELECT * INTO present FROM pg_catalog.pg_roles r WHERE r.rolname = 'trilha_operator';
    IF FOUND THEN -- roles belong to the whole cluster: another database's migration made it, or an administrator
        IF present.rolsuper OR present.rolbypassrls OR present.rolcreaterole THEN
            RAISE EXCEPTION 'role trilha_operator exists with SUPERUSER, BYPASSRLS or CREATEROLE: take these away first'
                USING ERRCODE = 'insufficient_privilege';
        END IF;
        RETURN;
    END IF;
    BEGIN
        CREATE ROLE trilha_operator NOLOGIN NOINHERIT;
    EXCEPTION
        WHEN duplicate_object OR unique_violation THEN NULL; -- another database's migration was a moment faster
        WHEN insufficient_privilege THEN
            RAISE EXCEPTION '% may not create roles: let an administrator run "CREATE ROLE trilha_operator NOLOGIN;" once, then repeat', current_user
                USING ERRCODE = 'insufficient_privilege';
    END;
END
$$;

GRANT USAGE ON SCHEMA core TO trilha_operator;
GRANT SELECT ON core.trilha_migration, core.event_log, core.dead_letter_queue, core.event_type_version, core.registry_revision, core.audit_log,
    core.colony_schema, core.consumer_lease, core.dead_letter_lease, core.reprocess_request TO trilha_operator;
GRANT EXECUTE ON FUNCTION core.cursors_read, core.consumers_list, core.request_create, core.request_withdraw, core.dead_letter_reopen
    TO trilha_operator;
GRANT INSERT (entity, entity_id, change_type, action, user_name, metadata) ON core.audit_log TO trilha_operator;
GRANT USAGE ON SEQUENCE core.audit_log_id_seq TO trilha_operator;
