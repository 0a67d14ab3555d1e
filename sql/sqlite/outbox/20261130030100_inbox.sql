-- A consumer's inbox, in the consumer's own database (specification 001, rule 5; rulings R21, R31, R34). SQLite has no functions of its own to call: the rules
-- are in the library (trilha_inbox_accept_sqlite). In plain SQL: INSERT ... ON CONFLICT DO NOTHING, then look at changes() and at the row.
CREATE TABLE {{p}}inbox_message (
    tenant_id      TEXT    NOT NULL,
    consumer       TEXT    NOT NULL,
    message_id     TEXT    NOT NULL,
    payload_sha256 TEXT    NOT NULL,
    accepted_us    INTEGER NOT NULL,
    result         TEXT,
    CONSTRAINT inbox_message_pkey PRIMARY KEY (tenant_id, consumer, message_id),
    CONSTRAINT inbox_message_sha256_form CHECK (length(payload_sha256) = 64 AND payload_sha256 NOT GLOB '*[^0-9a-f]*'),
    CONSTRAINT inbox_message_names CHECK (length(tenant_id) BETWEEN 1 AND 255 AND length(consumer) BETWEEN 1 AND 255)
) STRICT, WITHOUT ROWID;
CREATE INDEX {{p}}inbox_message_accepted_idx ON {{p}}inbox_message (accepted_us);

-- Messages that came again after they were accepted, insert-only. It commits or not with the transaction that asked: whoever meets a conflict commits, so
-- that operators see it.
CREATE TABLE {{p}}inbox_repeat (
    id             INTEGER NOT NULL PRIMARY KEY,
    tenant_id      TEXT    NOT NULL,
    consumer       TEXT    NOT NULL,
    message_id     TEXT    NOT NULL,
    outcome        TEXT    NOT NULL,
    payload_sha256 TEXT    NOT NULL, -- as it came; what was accepted is in inbox_message
    at_us          INTEGER NOT NULL,
    CONSTRAINT inbox_repeat_outcome_known CHECK (outcome IN ('duplicate', 'conflict'))
) STRICT;
CREATE INDEX {{p}}inbox_repeat_message_idx ON {{p}}inbox_repeat (tenant_id, consumer, message_id, outcome);
CREATE INDEX {{p}}inbox_repeat_conflict_idx ON {{p}}inbox_repeat (id) WHERE outcome = 'conflict';
CREATE INDEX {{p}}inbox_repeat_at_idx ON {{p}}inbox_repeat (at_us);

-- For consumers that need order: the last sequence of each aggregate that was accepted. It never goes back.
CREATE TABLE {{p}}inbox_order (
    tenant_id      TEXT    NOT NULL,
    consumer       TEXT    NOT NULL,
    aggregate_type TEXT    NOT NULL,
    aggregate_key  TEXT    NOT NULL,
    last_sequence  INTEGER NOT NULL,
    CONSTRAINT inbox_order_pkey PRIMARY KEY (tenant_id, consumer, aggregate_type, aggregate_key)
) STRICT, WITHOUT ROWID;
