-- A producer's outbox on SQLite: the tables of the PostgreSQL one, with its names (specification 001, rules 3, 4, 6 and 7; rulings R30, R31, R33).
--
-- A message's status is derived: behind the head of its lane it is Dispatched. outbox_lane has one row for each (aggregate, destination) that HAS WORK,
-- made here by the enqueue and taken away when it is drained; SQLite has one writer at a time, so a wake-up cannot be lost between the two.
-- Times are microseconds since 1970 by the machine's clock.
CREATE TABLE {{p}}outbox_fencing (
    id    INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    token INTEGER NOT NULL
) STRICT;
INSERT INTO {{p}}outbox_fencing (id, token) VALUES (1, 0);

CREATE TABLE {{p}}outbox_destination (
    destination INTEGER NOT NULL PRIMARY KEY,
    name        TEXT    NOT NULL UNIQUE,
    CONSTRAINT outbox_destination_range CHECK (destination BETWEEN 0 AND 62),
    CONSTRAINT outbox_destination_name_form CHECK (name GLOB '[a-z]*' AND name NOT GLOB '*[^a-z0-9-]*' AND length(name) <= 63)
) STRICT;

-- A type goes to every destination whose pattern takes it: the type itself, a beginning followed by *, or *.
CREATE TABLE {{p}}outbox_route (
    type_pattern TEXT    NOT NULL,
    destination  INTEGER NOT NULL REFERENCES {{p}}outbox_destination (destination),
    CONSTRAINT outbox_route_pkey PRIMARY KEY (type_pattern, destination),
    CONSTRAINT outbox_route_pattern_form CHECK (length(type_pattern) BETWEEN 1 AND 256
        AND instr(substr(type_pattern, 1, length(type_pattern) - 1), '*') = 0)
) STRICT, WITHOUT ROWID;

-- Types that another dispatcher still delivers, by pattern as in outbox_route: while the row stands nothing of them is born here or leaves here. A row only
-- while it is so; outbox_upkeep keeps who held and who took over.
CREATE TABLE {{p}}outbox_path (
    type_pattern TEXT    NOT NULL PRIMARY KEY,
    holder       TEXT    NOT NULL, -- what people call the other dispatcher
    held_us      INTEGER NOT NULL,
    user_name    TEXT    NOT NULL,
    reason       TEXT    NOT NULL,
    importing    INTEGER NOT NULL DEFAULT 0, -- 1 within the transaction of an import alone, which nobody else sees
    CONSTRAINT outbox_path_pattern_form CHECK (length(type_pattern) BETWEEN 1 AND 256
        AND instr(substr(type_pattern, 1, length(type_pattern) - 1), '*') = 0),
    CONSTRAINT outbox_path_holder_form CHECK (length(holder) BETWEEN 1 AND 100),
    CONSTRAINT outbox_path_reason_given CHECK (reason <> '' AND user_name <> '')
) STRICT, WITHOUT ROWID;

CREATE TABLE {{p}}outbox_aggregate (
    aggregate_id    INTEGER NOT NULL PRIMARY KEY,
    tenant_id       TEXT    NOT NULL,
    aggregate_type  TEXT    NOT NULL,
    aggregate_key   TEXT    NOT NULL,
    last_sequence   INTEGER NOT NULL,
    last_created_us INTEGER NOT NULL,
    CONSTRAINT outbox_aggregate_key UNIQUE (tenant_id, aggregate_type, aggregate_key)
) STRICT;

CREATE TABLE {{p}}outbox_lane (
    destination   INTEGER NOT NULL,
    aggregate_id  INTEGER NOT NULL,
    tenant_id     TEXT    NOT NULL,
    due_us        INTEGER NOT NULL, -- ready, next attempt, or end of lease
    head_sequence INTEGER NOT NULL,
    attempts      INTEGER NOT NULL DEFAULT 0, -- failures of the head, a lease that ran out included
    state         TEXT    NOT NULL DEFAULT 'R', -- R ready or waiting, L leased, X dead
    lease_owner   TEXT,
    lease_token   INTEGER NOT NULL DEFAULT 0,
    error_code    TEXT,
    error_text    TEXT,
    failed_us     INTEGER,
    CONSTRAINT outbox_lane_pkey PRIMARY KEY (destination, aggregate_id),
    CONSTRAINT outbox_lane_state_known CHECK (state IN ('R', 'L', 'X'))
) STRICT, WITHOUT ROWID;
CREATE INDEX {{p}}outbox_lane_due ON {{p}}outbox_lane (destination, tenant_id, due_us) WHERE state <> 'X';
CREATE INDEX {{p}}outbox_lane_soonest ON {{p}}outbox_lane (destination, due_us) WHERE state <> 'X'; -- is there anything to do?
CREATE INDEX {{p}}outbox_lane_leased ON {{p}}outbox_lane (destination, tenant_id) WHERE state = 'L';

CREATE TABLE {{p}}outbox_message (
    aggregate_id       INTEGER NOT NULL,
    aggregate_sequence INTEGER NOT NULL, -- from 1, without gaps
    destinations       INTEGER NOT NULL, -- bits; decided by the routes as they were at enqueue
    created_us         INTEGER NOT NULL,
    message_id         TEXT    NOT NULL,
    tenant_id          TEXT    NOT NULL,
    company_id         TEXT,
    aggregate_type     TEXT    NOT NULL,
    aggregate_key      TEXT    NOT NULL,
    message_type       TEXT    NOT NULL,
    version            TEXT    NOT NULL,
    origin             TEXT    NOT NULL,
    correlation_id     TEXT    NOT NULL,
    causation_id       TEXT,
    traceparent        TEXT,
    occurred_us        INTEGER NOT NULL,
    payload            TEXT    NOT NULL,
    CONSTRAINT outbox_message_pkey PRIMARY KEY (aggregate_id, aggregate_sequence),
    CONSTRAINT outbox_message_message_id_key UNIQUE (message_id)
) STRICT;

-- What replaced a message's content, insert-only: the last row is what is sent, the first content stays in outbox_message (ruling R32).
CREATE TABLE {{p}}outbox_revision (
    message_id TEXT    NOT NULL,
    revision   INTEGER NOT NULL, -- from 2; 1 is the message as it was enqueued
    at_us      INTEGER NOT NULL,
    user_name  TEXT    NOT NULL,
    reason     TEXT    NOT NULL,
    diff       TEXT    NOT NULL, -- JSON: what was added, removed or replaced, by pointer, without a value
    accepted   TEXT,             -- destinations that hold an earlier revision
    payload    TEXT,             -- NULL once the message was purged: who, why and what differed stay
    CONSTRAINT outbox_revision_pkey PRIMARY KEY (message_id, revision),
    CONSTRAINT outbox_revision_from_two CHECK (revision >= 2),
    CONSTRAINT outbox_revision_reason_given CHECK (reason <> '' AND user_name <> '')
) STRICT;

-- When a destination acknowledged which messages of a lane: a row for each run, not for each message. That the destination has applied them is another
-- fact (outbox_receipt).
CREATE TABLE {{p}}outbox_delivery (
    aggregate_id  INTEGER NOT NULL,
    destination   INTEGER NOT NULL,
    sequence_from INTEGER NOT NULL,
    sequence_to   INTEGER NOT NULL,
    delivered_us  INTEGER NOT NULL,
    CONSTRAINT outbox_delivery_pkey PRIMARY KEY (aggregate_id, destination, sequence_from)
) STRICT, WITHOUT ROWID;

-- Up to where the messages of an aggregate were purged, by destination: the last that was delivered. Consumers that keep order are told it as the one
-- before, when no kept message is.
CREATE TABLE {{p}}outbox_purged (
    aggregate_id  INTEGER NOT NULL,
    destination   INTEGER NOT NULL,
    last_sequence INTEGER NOT NULL,
    CONSTRAINT outbox_purged_pkey PRIMARY KEY (aggregate_id, destination)
) STRICT, WITHOUT ROWID;

-- What operators did, insert-only. A discarded message has its row here, and no other way past a dead head exists (ruling R31).
CREATE TABLE {{p}}outbox_operation (
    id                 INTEGER NOT NULL PRIMARY KEY,
    at_us              INTEGER NOT NULL,
    action             TEXT    NOT NULL,
    destination        INTEGER,          -- NULL: the message itself, for all of them
    aggregate_id       INTEGER NOT NULL,
    aggregate_sequence INTEGER NOT NULL,
    message_id         TEXT    NOT NULL,
    user_name          TEXT    NOT NULL,
    reason             TEXT    NOT NULL,
    reconciliation     TEXT, -- what the destination says about this message; needed for a discard
    CONSTRAINT outbox_operation_action_known CHECK (action IN ('trilha.outbox-message.retried', 'trilha.outbox-message.discarded',
        'trilha.outbox-message.corrected', 'trilha.outbox-message.revealed')),
    CONSTRAINT outbox_operation_destination_named CHECK (destination IS NOT NULL
        OR action IN ('trilha.outbox-message.corrected', 'trilha.outbox-message.revealed')),
    CONSTRAINT outbox_operation_discard_reconciled CHECK (action <> 'trilha.outbox-message.discarded' OR coalesce(reconciliation, '') <> ''),
    CONSTRAINT outbox_operation_reason_given CHECK (reason <> '' AND user_name <> '')
) STRICT;
CREATE UNIQUE INDEX {{p}}outbox_operation_discarded ON {{p}}outbox_operation (aggregate_id, aggregate_sequence, destination)
    WHERE action = 'trilha.outbox-message.discarded';

CREATE TRIGGER {{p}}outbox_operation_no_update BEFORE UPDATE ON {{p}}outbox_operation BEGIN
    SELECT RAISE(ABORT, 'outbox_operation is insert-only: UPDATE refused');
END;
CREATE TRIGGER {{p}}outbox_operation_no_delete BEFORE DELETE ON {{p}}outbox_operation BEGIN
    SELECT RAISE(ABORT, 'outbox_operation is insert-only: DELETE refused');
END;
-- A purge takes the content away, and nothing else ever changes.
CREATE TRIGGER {{p}}outbox_revision_no_update BEFORE UPDATE ON {{p}}outbox_revision
WHEN NEW.payload IS NOT NULL OR NEW.message_id IS NOT OLD.message_id OR NEW.revision IS NOT OLD.revision OR NEW.at_us IS NOT OLD.at_us
    OR NEW.user_name IS NOT OLD.user_name OR NEW.reason IS NOT OLD.reason OR NEW.diff IS NOT OLD.diff OR NEW.accepted IS NOT OLD.accepted BEGIN
    SELECT RAISE(ABORT, 'outbox_revision is insert-only: UPDATE refused');
END;
CREATE TRIGGER {{p}}outbox_revision_no_delete BEFORE DELETE ON {{p}}outbox_revision BEGIN
    SELECT RAISE(ABORT, 'outbox_revision is insert-only: DELETE refused');
END;
CREATE TRIGGER {{p}}outbox_message_no_update BEFORE UPDATE ON {{p}}outbox_message BEGIN
    SELECT RAISE(ABORT, 'outbox_message is insert-only: UPDATE refused');
END;

-- The door for any language: INSERT INTO outbox_enqueue (...) in one's own transaction. Without a message_id a UUIDv7 is made; who wants to know the sequence
-- gives an id and reads outbox_message. Every refusal is RAISE(ABORT): the statement has no effect, the transaction goes on. Nothing here depends on a
-- conflict clause, since INSERT OR REPLACE or OR IGNORE on the view would take its place.
CREATE VIEW {{p}}outbox_enqueue (tenant_id, aggregate_type, aggregate_key, message_type, version, payload, origin, correlation_id, message_id,
    company_id, causation_id, traceparent, occurred_at) AS
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL WHERE 0;

CREATE TRIGGER {{p}}outbox_enqueue_insert INSTEAD OF INSERT ON {{p}}outbox_enqueue BEGIN
    -- length(), GLOB and the reader of JSON end at a NUL, so that what is behind it would pass every rule below.
    SELECT RAISE(ABORT, 'MESSAGE_REFUSED: no text may hold the character NUL')
    WHERE instr(NEW.payload, char(0)) OR instr(NEW.tenant_id || NEW.aggregate_type || NEW.aggregate_key || NEW.message_type || NEW.version || NEW.origin
        || NEW.correlation_id || coalesce(NEW.message_id, '') || coalesce(NEW.company_id, '') || coalesce(NEW.causation_id, '')
        || coalesce(NEW.traceparent, '') || coalesce(NEW.occurred_at, ''), char(0));
    SELECT RAISE(ABORT, 'MESSAGE_REFUSED: tenant_id must have 1 to 255 characters')
    WHERE typeof(NEW.tenant_id) <> 'text' OR length(NEW.tenant_id) NOT BETWEEN 1 AND 255;
    SELECT RAISE(ABORT, 'MESSAGE_REFUSED: aggregate_type must have 1 to 255 characters')
    WHERE typeof(NEW.aggregate_type) <> 'text' OR length(NEW.aggregate_type) NOT BETWEEN 1 AND 255;
    SELECT RAISE(ABORT, 'MESSAGE_REFUSED: aggregate_key must have 1 to 255 characters')
    WHERE typeof(NEW.aggregate_key) <> 'text' OR length(NEW.aggregate_key) NOT BETWEEN 1 AND 255;
    -- What an index of PostgreSQL takes.
    SELECT RAISE(ABORT, 'MESSAGE_REFUSED: tenant_id, aggregate_type and aggregate_key must have at most 2400 bytes together')
    WHERE length(CAST(NEW.tenant_id || NEW.aggregate_type || NEW.aggregate_key AS BLOB)) > 2400;
    SELECT RAISE(ABORT, 'MESSAGE_REFUSED: message_type must have 1 to 255 characters')
    WHERE typeof(NEW.message_type) <> 'text' OR length(NEW.message_type) NOT BETWEEN 1 AND 255;
    SELECT RAISE(ABORT, 'MESSAGE_REFUSED: origin must have 1 to 100 characters')
    WHERE typeof(NEW.origin) <> 'text' OR length(NEW.origin) NOT BETWEEN 1 AND 100;
    SELECT RAISE(ABORT, 'MESSAGE_REFUSED: company_id must have 1 to 255 characters or be NULL')
    WHERE NEW.company_id IS NOT NULL AND (typeof(NEW.company_id) <> 'text' OR length(NEW.company_id) NOT BETWEEN 1 AND 255);
    -- core: the three numbers; tail and build: what follows a first - and a first +, with it.
    SELECT RAISE(ABORT, 'MESSAGE_REFUSED: version must be a semantic version of at most 20 characters, as 1.0.0')
    FROM (SELECT substr(w.main, 1, instr(w.main || '-', '-') - 1) AS core, substr(w.main, instr(w.main || '-', '-')) AS tail, w.build
        FROM (SELECT substr(NEW.version, 1, instr(NEW.version || '+', '+') - 1) AS main, substr(NEW.version, instr(NEW.version || '+', '+')) AS build) w) v
    WHERE typeof(NEW.version) <> 'text' OR length(NEW.version) > 20
        OR v.core NOT GLOB '[0-9]*.[0-9]*.*[0-9]' OR v.core GLOB '*[^0-9.]*' OR length(v.core) - length(replace(v.core, '.', '')) <> 2
        OR v.core GLOB '*..*' OR '.' || v.core GLOB '*.0[0-9]*'
        OR (v.tail <> '' AND (substr(v.tail, 2) GLOB '*[^0-9A-Za-z.-]*' OR '.' || substr(v.tail, 2) || '.' GLOB '*..*'))
        OR (v.build <> '' AND (substr(v.build, 2) GLOB '*[^0-9A-Za-z.-]*' OR '.' || substr(v.build, 2) || '.' GLOB '*..*'));
    SELECT RAISE(ABORT, 'MESSAGE_REFUSED: correlation_id must be a UUID')
    WHERE typeof(NEW.correlation_id) <> 'text' OR length(NEW.correlation_id) <> 36 OR NEW.correlation_id GLOB '*[^0-9a-fA-F-]*' OR length(replace(NEW.correlation_id, '-', '')) <> 32
        OR substr(NEW.correlation_id, 9, 1) || substr(NEW.correlation_id, 14, 1) || substr(NEW.correlation_id, 19, 1) || substr(NEW.correlation_id, 24, 1) <> '----';
    SELECT RAISE(ABORT, 'MESSAGE_REFUSED: message_id must be a UUID')
    WHERE NEW.message_id IS NOT NULL AND (typeof(NEW.message_id) <> 'text' OR length(NEW.message_id) <> 36 OR NEW.message_id GLOB '*[^0-9a-fA-F-]*' OR length(replace(NEW.message_id, '-', '')) <> 32
        OR substr(NEW.message_id, 9, 1) || substr(NEW.message_id, 14, 1) || substr(NEW.message_id, 19, 1) || substr(NEW.message_id, 24, 1) <> '----');
    SELECT RAISE(ABORT, 'MESSAGE_REFUSED: causation_id must be a UUID')
    WHERE NEW.causation_id IS NOT NULL AND (typeof(NEW.causation_id) <> 'text' OR length(NEW.causation_id) <> 36 OR NEW.causation_id GLOB '*[^0-9a-fA-F-]*' OR length(replace(NEW.causation_id, '-', '')) <> 32
        OR substr(NEW.causation_id, 9, 1) || substr(NEW.causation_id, 14, 1) || substr(NEW.causation_id, 19, 1) || substr(NEW.causation_id, 24, 1) <> '----');
    SELECT RAISE(ABORT, 'MESSAGE_REFUSED: traceparent must be as W3C Trace Context says')
    WHERE NEW.traceparent IS NOT NULL AND (length(NEW.traceparent) <> 55 OR NEW.traceparent GLOB '*[^0-9a-f-]*'
        OR length(replace(NEW.traceparent, '-', '')) <> 52
        OR substr(NEW.traceparent, 3, 1) || substr(NEW.traceparent, 36, 1) || substr(NEW.traceparent, 53, 1) <> '---');
    SELECT RAISE(ABORT, 'MESSAGE_REFUSED: payload must have at most 1048576 bytes') WHERE length(CAST(NEW.payload AS BLOB)) > 1048576;
    SELECT RAISE(ABORT, 'MESSAGE_REFUSED: payload must be a JSON object')
    WHERE typeof(NEW.payload) <> 'text' OR CASE WHEN json_valid(NEW.payload) THEN json_type(NEW.payload) END IS NOT 'object';
    -- julianday() reads more than that: now, a bare number, a time, the 31st of any month. Its days of the years 1 to 9999.
    SELECT RAISE(ABORT, 'MESSAGE_REFUSED: occurred_at must be an ISO-8601 date and time in the years 1 to 9999')
    WHERE NEW.occurred_at IS NOT NULL AND (typeof(NEW.occurred_at) <> 'text'
        OR NEW.occurred_at NOT GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9][T ][0-2][0-9]:[0-5][0-9]*' OR substr(NEW.occurred_at, 12, 2) > '23'
        OR date(substr(NEW.occurred_at, 1, 10), '+0 days') IS NOT substr(NEW.occurred_at, 1, 10) -- which makes 30 February the 2nd of March
        OR julianday(NEW.occurred_at) IS NULL OR julianday(NEW.occurred_at) NOT BETWEEN 1721425.5 AND 5373484.49999999);
    SELECT RAISE(ABORT, 'PATH_HELD: another dispatcher still delivers this message_type: stop it, then `trilha outbox take`') WHERE EXISTS (
        SELECT 1 FROM {{p}}outbox_path h WHERE h.importing = 0 AND (h.type_pattern = NEW.message_type OR (substr(h.type_pattern, -1) = '*'
            AND substr(NEW.message_type, 1, length(h.type_pattern) - 1) = substr(h.type_pattern, 1, length(h.type_pattern) - 1))));
    SELECT RAISE(ABORT, 'NO_ROUTE: no route takes this message_type: add one with trilha outbox route') WHERE NOT EXISTS (
        SELECT 1 FROM {{p}}outbox_route r WHERE r.type_pattern = NEW.message_type OR (substr(r.type_pattern, -1) = '*'
            AND substr(NEW.message_type, 1, length(r.type_pattern) - 1) = substr(r.type_pattern, 1, length(r.type_pattern) - 1)));
    SELECT RAISE(ABORT, 'MESSAGE_ID_TAKEN: a message with this message_id is in the outbox already')
    WHERE EXISTS (SELECT 1 FROM {{p}}outbox_message m WHERE m.message_id = lower(NEW.message_id));

    INSERT INTO {{p}}outbox_aggregate (tenant_id, aggregate_type, aggregate_key, last_sequence, last_created_us)
    SELECT NEW.tenant_id, NEW.aggregate_type, NEW.aggregate_key, 0, 0 WHERE NOT EXISTS (SELECT 1 FROM {{p}}outbox_aggregate a WHERE a.tenant_id = NEW.tenant_id AND a.aggregate_type = NEW.aggregate_type AND a.aggregate_key = NEW.aggregate_key);
    UPDATE {{p}}outbox_aggregate SET last_sequence = last_sequence + 1, last_created_us = max(last_created_us, CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000)
    WHERE tenant_id = NEW.tenant_id AND aggregate_type = NEW.aggregate_type AND aggregate_key = NEW.aggregate_key;
    INSERT INTO {{p}}outbox_message (aggregate_id, aggregate_sequence, destinations, created_us, message_id, tenant_id, company_id, aggregate_type,
        aggregate_key, message_type, version, origin, correlation_id, causation_id, traceparent, occurred_us, payload)
    SELECT a.aggregate_id, a.last_sequence, (SELECT sum(1 << x.destination) FROM (SELECT DISTINCT r.destination FROM {{p}}outbox_route r
            WHERE r.type_pattern = NEW.message_type OR (substr(r.type_pattern, -1) = '*'
            AND substr(NEW.message_type, 1, length(r.type_pattern) - 1) = substr(r.type_pattern, 1, length(r.type_pattern) - 1))) x),
        a.last_created_us,
        coalesce(lower(NEW.message_id), (SELECT substr(v.t, 1, 8) || '-' || substr(v.t, 9, 4) || '-7' || substr(v.r, 1, 3) || '-'
            || substr('89ab', 1 + (random() & 3), 1) || substr(v.r, 4, 3) || '-' || substr(v.r, 7, 12)
            FROM (SELECT printf('%012x', CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 / 1000) AS t, lower(hex(randomblob(9))) AS r) v)),
        NEW.tenant_id, NEW.company_id, NEW.aggregate_type, NEW.aggregate_key, NEW.message_type, NEW.version, NEW.origin,
        lower(NEW.correlation_id), lower(NEW.causation_id), NEW.traceparent,
        coalesce(CAST(round((julianday(NEW.occurred_at) - 2440587.5) * 86400000) AS INTEGER) * 1000, a.last_created_us), NEW.payload
    FROM {{p}}outbox_aggregate a WHERE a.tenant_id = NEW.tenant_id AND a.aggregate_type = NEW.aggregate_type AND a.aggregate_key = NEW.aggregate_key;
    INSERT INTO {{p}}outbox_lane (destination, aggregate_id, tenant_id, due_us, head_sequence)
    SELECT d.destination, a.aggregate_id, a.tenant_id, a.last_created_us, a.last_sequence
    FROM {{p}}outbox_aggregate a JOIN {{p}}outbox_message m ON m.aggregate_id = a.aggregate_id AND m.aggregate_sequence = a.last_sequence
    JOIN {{p}}outbox_destination d ON (m.destinations >> d.destination) & 1 = 1
    WHERE a.tenant_id = NEW.tenant_id AND a.aggregate_type = NEW.aggregate_type AND a.aggregate_key = NEW.aggregate_key
        AND NOT EXISTS (SELECT 1 FROM {{p}}outbox_lane l WHERE l.destination = d.destination AND l.aggregate_id = a.aggregate_id);
END;

-- The status of every message for every destination it goes to (ruling R30). Overall a message is Dispatched when all of its rows are.
CREATE VIEW {{p}}producer_outbox AS
SELECT m.tenant_id, m.aggregate_type, m.aggregate_key, m.aggregate_sequence, m.message_id, m.message_type, d.name AS destination,
    CASE WHEN o.id IS NOT NULL THEN 'Discarded'
        WHEN l.aggregate_id IS NULL OR m.aggregate_sequence < l.head_sequence THEN 'Dispatched'
        WHEN m.aggregate_sequence > l.head_sequence THEN 'Pending'
        WHEN l.state = 'X' THEN 'DeadLettered'
        WHEN l.state = 'L' AND l.due_us > CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 THEN 'Dispatching'
        WHEN l.attempts > 0 THEN 'Failed'
        ELSE 'Pending' END AS status,
    CASE WHEN m.aggregate_sequence = l.head_sequence THEN l.attempts END AS attempts,
    CASE WHEN m.aggregate_sequence = l.head_sequence AND l.state = 'R' THEN l.due_us END AS next_attempt_us,
    CASE WHEN m.aggregate_sequence = l.head_sequence AND l.state = 'L' THEN l.due_us END AS lease_until_us,
    m.created_us
FROM {{p}}outbox_message m
JOIN {{p}}outbox_destination d ON (m.destinations >> d.destination) & 1 = 1
LEFT JOIN {{p}}outbox_lane l ON l.destination = d.destination AND l.aggregate_id = m.aggregate_id
LEFT JOIN {{p}}outbox_operation o ON o.aggregate_id = m.aggregate_id AND o.aggregate_sequence = m.aggregate_sequence
    AND o.destination = d.destination AND o.action = 'trilha.outbox-message.discarded';
