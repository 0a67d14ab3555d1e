-- Who did what (ruling R28): only privileged actions write here, and nothing is ever changed or removed.
CREATE TABLE core_audit_log (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    entity      TEXT NOT NULL,
    entity_id   TEXT NOT NULL,
    change_type TEXT NOT NULL
        CONSTRAINT core_audit_log_change_type_known CHECK (change_type IN ('Created', 'Updated', 'Deleted', 'Accessed')),
    action      TEXT
        CONSTRAINT core_audit_log_action_length CHECK (length(action) <= 80),
    user_name   TEXT NOT NULL,
    metadata    TEXT NOT NULL DEFAULT '{}'
        CONSTRAINT core_audit_log_metadata_object CHECK (trim(metadata, char(9, 10, 13, 32)) GLOB '{*}'),
    created_at  TEXT NOT NULL DEFAULT (substr(strftime('%Y-%m-%dT%H:%M:%f', 'now'), 1, 22) || 'Z')
        CONSTRAINT core_audit_log_created_at_form
        CHECK (created_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-9][0-9]:[0-9][0-9]:[0-9][0-9].[0-9][0-9]Z')
) STRICT;

CREATE INDEX core_audit_log_action_idx     ON core_audit_log (action);
CREATE INDEX core_audit_log_entity_idx     ON core_audit_log (entity, entity_id);
CREATE INDEX core_audit_log_created_at_idx ON core_audit_log (created_at);

CREATE TRIGGER core_audit_log_refuse_update BEFORE UPDATE ON core_audit_log
BEGIN
    SELECT RAISE(ABORT, 'core_audit_log is append-only: UPDATE is refused');
END;

CREATE TRIGGER core_audit_log_refuse_delete BEFORE DELETE ON core_audit_log
BEGIN
    SELECT RAISE(ABORT, 'core_audit_log is append-only: DELETE is refused');
END;

CREATE TRIGGER core_audit_log_refuse_replace BEFORE INSERT ON core_audit_log
WHEN EXISTS (SELECT 1 FROM core_audit_log WHERE id = NEW.id)
BEGIN
    SELECT RAISE(ABORT, 'core_audit_log is append-only: a row with this id is already there');
END;
