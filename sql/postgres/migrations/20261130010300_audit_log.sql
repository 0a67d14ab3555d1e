-- Who did what (specification 001; rulings R9 and R28). Rows are never changed and never purged here.
CREATE TABLE core.audit_log (
    id          BIGSERIAL      NOT NULL,
    entity      TEXT           NOT NULL,
    entity_id   TEXT           NOT NULL,
    change_type VARCHAR(10)    NOT NULL,
    action      VARCHAR(80),
    user_name   TEXT           NOT NULL,
    metadata    JSONB          NOT NULL DEFAULT '{}',
    created_at  TIMESTAMPTZ(2) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT audit_log_pkey PRIMARY KEY (id),
    CONSTRAINT audit_log_change_type_check CHECK (change_type IN ('Created', 'Updated', 'Deleted', 'Accessed')),
    CONSTRAINT audit_log_metadata_check CHECK (jsonb_typeof(metadata) = 'object')
);
CREATE INDEX audit_log_entity_idx ON core.audit_log (entity, entity_id);
CREATE INDEX audit_log_action_idx ON core.audit_log (action, created_at);

CREATE TRIGGER audit_log_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON core.audit_log
    FOR EACH STATEMENT EXECUTE FUNCTION core.refuse_change();
ALTER TABLE core.audit_log ENABLE ALWAYS TRIGGER audit_log_append_only;
