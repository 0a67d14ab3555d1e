-- Under which service credential a worker may dispatch what (specification 001, rule 8; requirements O10, O11; ruling R34).

-- Every grant and every revocation, insert-only: the last row of a key says how it stands, and the rows before it are its trail. A key is explicit, without a
-- wildcard: credential, destination, tenant, company ('': messages that name none) and operation, which is the message type that is dispatched. A file has no
-- logins: a credential is the name under which its worker was started.
CREATE TABLE {{p}}outbox_service_change (
    id          INTEGER NOT NULL PRIMARY KEY,
    at_us       INTEGER NOT NULL,
    action      TEXT    NOT NULL,
    credential  TEXT    NOT NULL,
    destination INTEGER NOT NULL REFERENCES {{p}}outbox_destination (destination),
    tenant_id   TEXT    NOT NULL,
    company_id  TEXT    NOT NULL,
    operation   TEXT    NOT NULL,
    user_name   TEXT    NOT NULL,
    reason      TEXT    NOT NULL,
    CONSTRAINT outbox_service_change_action_known CHECK (action IN ('trilha.service-grant.granted', 'trilha.service-grant.revoked')),
    CONSTRAINT outbox_service_change_reason_given CHECK (reason <> '' AND user_name <> '')
) STRICT;
CREATE INDEX {{p}}outbox_service_change_key ON {{p}}outbox_service_change (credential, destination, tenant_id, company_id, operation, id);
CREATE TRIGGER {{p}}outbox_service_change_no_update BEFORE UPDATE ON {{p}}outbox_service_change BEGIN
    SELECT RAISE(ABORT, 'outbox_service_change is insert-only: UPDATE refused');
END;
CREATE TRIGGER {{p}}outbox_service_change_no_delete BEFORE DELETE ON {{p}}outbox_service_change BEGIN
    SELECT RAISE(ABORT, 'outbox_service_change is insert-only: DELETE refused');
END;
