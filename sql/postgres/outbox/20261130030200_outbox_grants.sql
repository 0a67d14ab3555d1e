-- Who may do what. Everything is done through functions that run as the tables' owner, so no role needs a right on a table, and none but the owner has
-- one: a message is born in outbox_enqueue or not at all (requirement O19).

-- duty: producer (enqueues), relay (claims and settles, never enqueues), consumer (accepts into the inbox), operator (looks, retries, corrects, discards,
-- records what destinations say).
-- Runs with the caller's own rights: only the owner of the functions can give them away.
CREATE FUNCTION {{p}}outbox_grant(role_name text, duty text) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    home oid := (SELECT c.relnamespace FROM pg_class c WHERE c.oid = '{{p}}outbox_lane'::regclass);
    wanted text[] := CASE duty
        WHEN 'producer' THEN ARRAY['outbox_enqueue']
        WHEN 'relay' THEN ARRAY['outbox_destination_number', 'outbox_claim', 'outbox_fetch', 'outbox_renew', 'outbox_settle',
            'outbox_worker_beat', 'outbox_worker_end', 'outbox_service_guarded', 'outbox_service_may', 'outbox_handler_declare']
        WHEN 'consumer' THEN ARRAY['inbox_accept', 'inbox_accept_ordered', 'inbox_finish']
        WHEN 'operator' THEN ARRAY['outbox_destination_number', 'outbox_routes', 'outbox_status', 'outbox_lanes', 'outbox_message_get', 'outbox_revisions',
            'outbox_receipts', 'outbox_reveal', 'outbox_operate', 'outbox_correct', 'outbox_receipt_add', 'outbox_workers', 'outbox_worker_drain',
            'outbox_gauges', 'outbox_paths', 'outbox_service_grants', 'outbox_handlers', 'outbox_purge_messages', 'inbox_purge', 'inbox_list', 'inbox_conflicts']
    END;
    routine record;
BEGIN
    IF wanted IS NULL THEN RAISE EXCEPTION 'a duty is producer, relay, consumer or operator' USING ERRCODE = 'TL001'; END IF;
    EXECUTE format('GRANT USAGE ON SCHEMA %s TO %I', home::regnamespace, role_name);
    FOR routine IN SELECT p.oid::regprocedure AS name FROM pg_proc p WHERE p.pronamespace = home AND p.proname = ANY (wanted) LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %I', routine.name, role_name);
    END LOOP;
    IF duty = 'operator' THEN EXECUTE format('GRANT SELECT ON {{p}}producer_outbox TO %I', role_name); END IF;
END
$$;

-- Last of all, so that nothing is left out. Rights that PUBLIC has on functions, and those that the owner's default privileges gave away with the objects, are
-- taken back; of tables by their names: one that another dispatcher's outbox
-- calls outbox_something is none of ours.
DO $$
DECLARE
    home oid := (SELECT c.relnamespace FROM pg_catalog.pg_class c WHERE c.oid = '{{p}}outbox_lane'::pg_catalog.regclass);
    master oid := (SELECT c.relowner FROM pg_catalog.pg_class c WHERE c.oid = '{{p}}outbox_lane'::pg_catalog.regclass);
    ours text[] := ARRAY['outbox_migration', 'outbox_destination', 'outbox_route', 'outbox_path', 'outbox_aggregate', 'outbox_lane', 'outbox_message',
        'outbox_revision', 'outbox_delivery', 'outbox_purged', 'outbox_operation', 'outbox_receipt', 'outbox_worker', 'outbox_upkeep', 'outbox_total',
        'outbox_service_change', 'outbox_import', 'outbox_handler', 'inbox_message', 'inbox_repeat', 'inbox_order', 'producer_outbox'];
    given record;
BEGIN
    FOR given IN
        SELECT DISTINCT o.name, CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(a.grantee)) END AS role_name
        FROM (SELECT 'FUNCTION ' || p.oid::pg_catalog.regprocedure AS name, coalesce(p.proacl, pg_catalog.acldefault('f', p.proowner)) AS rights
            FROM pg_catalog.pg_proc p WHERE p.pronamespace = home AND p.proowner = master
                AND (pg_catalog.starts_with(p.proname, 'outbox_') OR pg_catalog.starts_with(p.proname, 'inbox_'))
            UNION ALL
            SELECT CASE c.relkind WHEN 'S' THEN 'SEQUENCE ' ELSE 'TABLE ' END || c.oid::pg_catalog.regclass, c.relacl
            FROM pg_catalog.pg_class c WHERE c.relnamespace = home AND c.relowner = master AND (c.relname = ANY (ours) OR c.relname = 'outbox_lease_token'
                OR (c.relkind = 'S' AND EXISTS (SELECT 1 FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_class t ON t.oid = d.refobjid
                    WHERE d.objid = c.oid AND d.deptype = 'i' AND t.relnamespace = home AND t.relname = ANY (ours))))) o
        CROSS JOIN LATERAL pg_catalog.aclexplode(o.rights) a WHERE a.grantee <> master LOOP
        EXECUTE pg_catalog.format('REVOKE ALL ON %s FROM %s', given.name, given.role_name);
    END LOOP;
END
$$;
