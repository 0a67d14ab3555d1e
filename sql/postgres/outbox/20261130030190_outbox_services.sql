-- Under which service credential a worker may dispatch what (specification 001, rule 8; requirements O10, O11; ruling R34).

-- Every grant and every revocation, insert-only: the last row of a key says how it stands, and the rows before it are its trail. A key is explicit, without a
-- wildcard: credential, destination, tenant, company ('': messages that name none) and operation, which is the message type that is dispatched.
CREATE TABLE {{p}}outbox_service_change (
    id            bigint      NOT NULL GENERATED ALWAYS AS IDENTITY,
    at            timestamptz NOT NULL DEFAULT clock_timestamp(),
    action        text        NOT NULL,
    credential    text        NOT NULL, -- a role of the database: the worker's login, or one that it is a member of
    destination   smallint    NOT NULL,
    tenant_id     text        NOT NULL COLLATE "C",
    company_id    text        NOT NULL COLLATE "C",
    operation     text        NOT NULL COLLATE "C",
    user_name     text        NOT NULL,
    database_role text        NOT NULL DEFAULT session_user,
    reason        text        NOT NULL,
    CONSTRAINT outbox_service_change_pkey PRIMARY KEY (id),
    CONSTRAINT outbox_service_change_destination_fkey FOREIGN KEY (destination) REFERENCES {{p}}outbox_destination (destination),
    CONSTRAINT outbox_service_change_action_known CHECK (action IN ('trilha.service-grant.granted', 'trilha.service-grant.revoked')),
    CONSTRAINT outbox_service_change_reason_given CHECK (reason <> '' AND user_name <> '')
);
CREATE INDEX outbox_service_change_key ON {{p}}outbox_service_change (credential, destination, tenant_id, company_id, operation, id);
CREATE TRIGGER outbox_service_change_insert_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {{p}}outbox_service_change
    FOR EACH STATEMENT EXECUTE FUNCTION {{p}}outbox_refuse_change();
ALTER TABLE {{p}}outbox_service_change ENABLE ALWAYS TRIGGER outbox_service_change_insert_only;

-- Whether dispatching needs a grant: from the first grant on, whatever is revoked since. Reads one row: none ever goes away.
CREATE FUNCTION {{p}}outbox_service_guarded() RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN EXISTS (SELECT 1 FROM {{p}}outbox_service_change);
END
$$;

-- Whether each of these messages may be dispatched now, in their order. A name proves nothing: the session has logged in as the credential, or as a member of
-- it (p_credential NULL: as itself). Index: one entry of outbox_service_change_key a message, in the snapshot of this statement, so a revocation binds
-- the next message.
CREATE FUNCTION {{p}}outbox_service_may(p_credential text, p_destination smallint, p_tenants text[], p_companies text[], p_operations text[])
    RETURNS TABLE (credential text, proven boolean, granted boolean)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
    asked text := coalesce(p_credential, session_user);
    is_proven boolean := EXISTS (SELECT 1 FROM pg_roles r WHERE r.rolname = asked AND pg_has_role(session_user, r.oid, 'MEMBER'));
BEGIN
    RETURN QUERY SELECT asked, is_proven, is_proven AND coalesce((SELECT c.action = 'trilha.service-grant.granted' FROM {{p}}outbox_service_change c
        WHERE c.credential = asked AND c.destination = p_destination AND c.tenant_id = x.tenant_id
            AND c.company_id = coalesce(x.company_id, '') AND c.operation = x.operation ORDER BY c.id DESC LIMIT 1), false)
    FROM unnest(p_tenants, p_companies, p_operations) WITH ORDINALITY x (tenant_id, company_id, operation, place) ORDER BY x.place;
END
$$;

-- How each key stands, and who made it so.
CREATE FUNCTION {{p}}outbox_service_grants()
    RETURNS TABLE (credential text, destination text, tenant_id text, company_id text, operation text, granted boolean, at timestamptz, user_name text,
        reason text)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT DISTINCT ON (c.credential, d.name, c.tenant_id, c.company_id, c.operation) c.credential, d.name, c.tenant_id, nullif(c.company_id, ''),
        c.operation, c.action = 'trilha.service-grant.granted', c.at, c.user_name, c.reason
    FROM {{p}}outbox_service_change c JOIN {{p}}outbox_destination d ON d.destination = c.destination
    ORDER BY c.credential, d.name, c.tenant_id, c.company_id, c.operation, c.id DESC
$$;

-- Grants or revokes one key. False: it stood so already, and nothing was written. Runs with the caller's own rights: only the owner of the outbox gives
-- away what is done in its name. Changes take turns.
CREATE FUNCTION {{p}}outbox_service_set(p_grant boolean, p_credential text, p_destination text, p_tenant text, p_company text, p_operation text,
    p_user text, p_reason text) RETURNS boolean LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    d smallint := {{p}}outbox_destination_number(p_destination);
    wanted text := CASE WHEN p_grant THEN 'trilha.service-grant.granted' ELSE 'trilha.service-grant.revoked' END;
    stands text;
BEGIN
    IF p_grant AND NOT EXISTS (SELECT 1 FROM pg_roles r WHERE r.rolname = p_credential) THEN
        RAISE EXCEPTION 'a service credential is a role of the database, under which its workers log in, and there is none of this name'
            USING ERRCODE = 'TL013';
    END IF;
    LOCK TABLE {{p}}outbox_service_change IN SHARE ROW EXCLUSIVE MODE;
    SELECT c.action INTO stands FROM {{p}}outbox_service_change c WHERE c.credential = p_credential AND c.destination = d AND c.tenant_id = p_tenant
        AND c.company_id = coalesce(p_company, '') AND c.operation = p_operation ORDER BY c.id DESC LIMIT 1;
    IF NOT p_grant AND stands IS NULL THEN
        RAISE EXCEPTION 'there is no such grant; `trilha service list` shows them' USING ERRCODE = 'TL014';
    END IF;
    IF stands = wanted THEN RETURN false; END IF;
    INSERT INTO {{p}}outbox_service_change (action, credential, destination, tenant_id, company_id, operation, user_name, reason)
    VALUES (wanted, p_credential, d, p_tenant, coalesce(p_company, ''), p_operation, p_user, p_reason);
    RETURN true;
END
$$;
