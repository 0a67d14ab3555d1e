-- What Trilha keeps beside the specified columns (rulings R21 and R22). All nullable, so the specified INSERT still works.
ALTER TABLE core_event_log ADD COLUMN tenant_id TEXT
    CONSTRAINT core_event_log_tenant_id_length CHECK (length(tenant_id) <= 255);
ALTER TABLE core_event_log ADD COLUMN company_id TEXT
    CONSTRAINT core_event_log_company_id_length CHECK (length(company_id) <= 255);
ALTER TABLE core_event_log ADD COLUMN aggregate_type TEXT
    CONSTRAINT core_event_log_aggregate_type_length CHECK (length(aggregate_type) <= 255);
ALTER TABLE core_event_log ADD COLUMN aggregate_key TEXT
    CONSTRAINT core_event_log_aggregate_key_length CHECK (length(aggregate_key) <= 255);
ALTER TABLE core_event_log ADD COLUMN aggregate_sequence INTEGER;
ALTER TABLE core_event_log ADD COLUMN causation_id TEXT
    CONSTRAINT core_event_log_causation_id_form
    CHECK (causation_id GLOB '[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]-[0-9a-f][0-9a-f][0-9a-f][0-9a-f]-[0-9a-f][0-9a-f][0-9a-f][0-9a-f]-'
               || '[0-9a-f][0-9a-f][0-9a-f][0-9a-f]-[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]');
ALTER TABLE core_event_log ADD COLUMN traceparent TEXT;
ALTER TABLE core_event_log ADD COLUMN tracestate TEXT;
-- "<kid>:<base64url>", an HMAC over the value as published.
ALTER TABLE core_event_log ADD COLUMN digest TEXT;
