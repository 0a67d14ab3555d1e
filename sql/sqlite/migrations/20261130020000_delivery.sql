-- Delivery: who consumes, who retries, what was asked for. The specified tables keep their exact shape; this stands beside them.
--
-- Leases end by the machine's own clock since its start (boot_us), which no step of the wall clock moves; after a restart of the machine
-- (another boot_id) every lease has ended.

-- Fencing tokens: every lease takes a larger one.
CREATE TABLE core_fencing (
    id    INTEGER PRIMARY KEY CONSTRAINT core_fencing_one_row CHECK (id = 1),
    token INTEGER NOT NULL
) STRICT;
INSERT INTO core_fencing (id, token) VALUES (1, 0);

-- The schema that a colony's tables stand in (ruling R12): here the prefix of their names.
CREATE TABLE core_colony_schema (
    colonia     TEXT PRIMARY KEY CONSTRAINT core_colony_schema_colonia_length CHECK (length(colonia) <= 100),
    schema_name TEXT NOT NULL UNIQUE CONSTRAINT core_colony_schema_name_form CHECK (schema_name NOT GLOB '*[^a-z0-9_]*')
) STRICT;

CREATE TABLE core_consumer_lease (
    colonia TEXT NOT NULL,
    grupo   TEXT NOT NULL,
    holder  TEXT NOT NULL,
    token   INTEGER NOT NULL,
    boot_id TEXT NOT NULL,
    boot_us INTEGER NOT NULL, -- ends then; 0: given back
    types   TEXT NOT NULL CONSTRAINT core_consumer_lease_types_form CHECK (types GLOB '[[]*]'), -- JSON array
    PRIMARY KEY (colonia, grupo)
) STRICT;

CREATE TABLE core_dead_letter_lease (
    dead_letter_id INTEGER PRIMARY KEY CONSTRAINT core_dead_letter_lease_fkey REFERENCES core_dead_letter_queue (id),
    holder         TEXT NOT NULL,
    token          INTEGER NOT NULL,
    boot_id        TEXT NOT NULL,
    boot_us        INTEGER NOT NULL
) STRICT;

-- A request is one row for each live lease of its colony: each holder runs the letters of its own types, and the answer is their sum.
CREATE TABLE core_reprocess_request (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    request       INTEGER NOT NULL, -- the same for all rows of one request: a fencing token
    colonia       TEXT NOT NULL,
    grupo         TEXT NOT NULL,
    user_name     TEXT NOT NULL,
    created_at    TEXT NOT NULL,
    status        TEXT NOT NULL DEFAULT 'open'
        CONSTRAINT core_reprocess_request_status_known CHECK (status IN ('open', 'taken', 'done', 'withdrawn')),
    token         INTEGER, -- of the lease that took it
    reprocessados INTEGER,
    failed        INTEGER,
    done_at       TEXT
) STRICT;
CREATE INDEX core_reprocess_request_request_idx ON core_reprocess_request (request);
CREATE INDEX core_reprocess_request_unfinished_idx ON core_reprocess_request (colonia, grupo) WHERE status IN ('open', 'taken');

-- What a page of due events must skip: the closed letters of one colony, by sequence.
CREATE INDEX core_dead_letter_queue_colonia_sequence_idx ON core_dead_letter_queue (colonia, sequence_number, status);
