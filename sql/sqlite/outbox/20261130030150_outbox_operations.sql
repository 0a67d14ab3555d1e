-- What operators do, and what a destination says (specification 001, rules 7 and 8; rulings R24, R31, R32). None of it makes a message.

-- What a destination states about a message, insert-only. An acknowledgement of the transport (outbox_delivery) says that it has the bytes; Received and
-- Applied are the destination's own words, each with its own time, and each kept once for a revision.
CREATE TABLE {{p}}outbox_receipt (
    id           INTEGER NOT NULL PRIMARY KEY,
    message_id   TEXT    NOT NULL,
    destination  INTEGER NOT NULL,
    revision     INTEGER NOT NULL,
    fact         TEXT    NOT NULL,
    operation_id TEXT,             -- the destination's own name for what it did
    stated_us    INTEGER NOT NULL, -- when it became true, as the destination says
    recorded_us  INTEGER NOT NULL,
    source       TEXT    NOT NULL,
    user_name    TEXT    NOT NULL,
    note         TEXT,
    CONSTRAINT outbox_receipt_fact_known CHECK (fact IN ('Received', 'Applied', 'Refused', 'Unknown', 'Conflict')),
    CONSTRAINT outbox_receipt_source_known CHECK (source IN ('operator', 'query', 'callback', 'correction')),
    CONSTRAINT outbox_receipt_user_given CHECK (user_name <> '')
) STRICT;
CREATE INDEX {{p}}outbox_receipt_message ON {{p}}outbox_receipt (message_id, destination, id);
CREATE UNIQUE INDEX {{p}}outbox_receipt_once ON {{p}}outbox_receipt (message_id, destination, revision, fact) WHERE fact IN ('Received', 'Applied');
CREATE TRIGGER {{p}}outbox_receipt_no_update BEFORE UPDATE ON {{p}}outbox_receipt BEGIN
    SELECT RAISE(ABORT, 'outbox_receipt is insert-only: UPDATE refused');
END;
CREATE TRIGGER {{p}}outbox_receipt_no_delete BEFORE DELETE ON {{p}}outbox_receipt BEGIN
    SELECT RAISE(ABORT, 'outbox_receipt is insert-only: DELETE refused');
END;
