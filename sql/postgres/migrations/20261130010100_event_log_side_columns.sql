-- Ruling R22: what the outbox and tracing carry along. All nullable: the specified INSERT still works.
-- digest (ruling R21): "<kid>:<base64url>", an HMAC over the event as published; NULL for rows that raw SQL wrote.
ALTER TABLE core.event_log
    ADD COLUMN tenant_id          TEXT,
    ADD COLUMN company_id         TEXT,
    ADD COLUMN aggregate_type     TEXT,
    ADD COLUMN aggregate_key      TEXT,
    ADD COLUMN aggregate_sequence BIGINT,
    ADD COLUMN causation_id       UUID,
    ADD COLUMN traceparent        TEXT,
    ADD COLUMN tracestate         TEXT,
    ADD COLUMN digest             TEXT;

-- Ruling R3 for raw SQL too: a year outside 0001-9999 could be stored but not told. NOT VALID: rows that another tool
-- wrote before are not scanned, and new ones are checked.
ALTER TABLE core.event_log ADD CONSTRAINT event_log_timestamp_range CHECK (
    timestamp >= TIMESTAMPTZ '0001-01-01 00:00:00+00' AND timestamp < TIMESTAMPTZ '10000-01-01 00:00:00+00') NOT VALID;
