-- The log and its dead letters (specification 000, section 2), in the shape SQLite can hold.
--
-- How the specified types are kept, and why:
--   schema core      a prefix of the name (ruling R12): SQLite has one namespace per file, shared with the embedder's own tables.
--   BIGSERIAL        INTEGER PRIMARY KEY AUTOINCREMENT. AUTOINCREMENT keeps the largest number ever committed in sqlite_sequence, so a number
--                    is never given twice even if rows were removed by force. That mark is written in the inserting transaction itself: an
--                    aborted insert takes it back, which is harmless, for nobody can have seen a number that was not committed, and
--                    because there is one writer at a time numbers are committed in the order they are given.
--   UUID             TEXT, lower case, 8-4-4-4-12: twenty bytes more than a BLOB, but an operator with the sqlite3 shell reads, pastes and
--                    joins ids as they stand in every other output. The CHECK admits one spelling only, so byte equality is identity.
--   TIMESTAMPTZ(2)   TEXT of fixed width, RFC 3339 in UTC with exactly two digits of fraction (2026-06-15T10:30:00.25Z). With one width, one
--                    zone and years 0001 to 9999 the order of the bytes is the order of time, so the indexes serve ranges; a bound of finer
--                    precision is first moved inwards to the next 1/100 s, which selects the same rows. SQLite's date functions read it; in
--                    the CHECK the modifier '+0 days' makes them compute the day, so that 30 February is refused.
--   JSONB            TEXT; unlike JSONB it keeps the spelling it was given (ruling R8 promises the value only). The bus has parsed it before; the
--                    CHECK only stops a raw writer's slip. It is not json_valid(): SQLite before 3.41 does not count that function as
--                    innocuous, and connections that do not trust the schema, as Trilha's, could not insert at all.
--   VARCHAR(n)       TEXT with a CHECK on length(), which counts characters as PostgreSQL does.
-- STRICT makes SQLite refuse values of another type instead of keeping them.
CREATE TABLE core_event_log (
    sequence_number INTEGER PRIMARY KEY AUTOINCREMENT
        CONSTRAINT core_event_log_sequence_number_positive CHECK (sequence_number > 0),
    event_id        TEXT NOT NULL
        CONSTRAINT core_event_log_event_id_form
        CHECK (event_id GLOB '[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]-[0-9a-f][0-9a-f][0-9a-f][0-9a-f]-[0-9a-f][0-9a-f][0-9a-f][0-9a-f]-'
               || '[0-9a-f][0-9a-f][0-9a-f][0-9a-f]-[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]'),
    tipo            TEXT NOT NULL
        CONSTRAINT core_event_log_tipo_length CHECK (length(tipo) <= 255),
    versao_schema   TEXT NOT NULL DEFAULT '1.0.0'
        CONSTRAINT core_event_log_versao_schema_length CHECK (length(versao_schema) <= 20),
    timestamp       TEXT NOT NULL DEFAULT (substr(strftime('%Y-%m-%dT%H:%M:%f', 'now'), 1, 22) || 'Z')
        CONSTRAINT core_event_log_timestamp_form
        CHECK (timestamp GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-9][0-9]:[0-9][0-9]:[0-9][0-9].[0-9][0-9]Z'
               AND strftime('%Y-%m-%dT%H:%M:%S', timestamp, '+0 days') IS substr(timestamp, 1, 19) AND timestamp >= '0001'),
    origem          TEXT NOT NULL
        CONSTRAINT core_event_log_origem_length CHECK (length(origem) <= 100),
    correlacao_id   TEXT
        CONSTRAINT core_event_log_correlacao_id_form
        CHECK (correlacao_id GLOB '[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]-[0-9a-f][0-9a-f][0-9a-f][0-9a-f]-[0-9a-f][0-9a-f][0-9a-f][0-9a-f]-'
               || '[0-9a-f][0-9a-f][0-9a-f][0-9a-f]-[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]'),
    payload         TEXT NOT NULL
        CONSTRAINT core_event_log_payload_object CHECK (trim(payload, char(9, 10, 13, 32)) GLOB '{*}'),
    criado_em       TEXT NOT NULL DEFAULT (substr(strftime('%Y-%m-%dT%H:%M:%f', 'now'), 1, 22) || 'Z')
        CONSTRAINT core_event_log_criado_em_form
        CHECK (criado_em GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-9][0-9]:[0-9][0-9]:[0-9][0-9].[0-9][0-9]Z')
) STRICT;

CREATE UNIQUE INDEX core_event_log_event_id_key ON core_event_log (event_id);
CREATE INDEX core_event_log_tipo_idx           ON core_event_log (tipo);
CREATE INDEX core_event_log_correlacao_id_idx  ON core_event_log (correlacao_id);
CREATE INDEX core_event_log_timestamp_idx      ON core_event_log (timestamp);
CREATE INDEX core_event_log_origem_idx         ON core_event_log (origem);
CREATE INDEX core_event_log_tipo_timestamp_idx ON core_event_log (tipo, timestamp);

CREATE TABLE core_dead_letter_queue (
    id               INTEGER PRIMARY KEY AUTOINCREMENT,
    event_id         TEXT NOT NULL
        CONSTRAINT core_dead_letter_queue_event_id_fkey REFERENCES core_event_log (event_id),
    sequence_number  INTEGER NOT NULL,
    colonia          TEXT NOT NULL
        CONSTRAINT core_dead_letter_queue_colonia_length CHECK (length(colonia) <= 100),
    handler_nome     TEXT
        CONSTRAINT core_dead_letter_queue_handler_nome_length CHECK (length(handler_nome) <= 255),
    mensagem_erro    TEXT NOT NULL,
    pilha_erro       TEXT,
    tentativas       INTEGER NOT NULL DEFAULT 1,
    ultima_tentativa TEXT NOT NULL DEFAULT (substr(strftime('%Y-%m-%dT%H:%M:%f', 'now'), 1, 22) || 'Z')
        CONSTRAINT core_dead_letter_queue_ultima_tentativa_form
        CHECK (ultima_tentativa GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-9][0-9]:[0-9][0-9]:[0-9][0-9].[0-9][0-9]Z'),
    status           TEXT NOT NULL DEFAULT 'pendente'
        CONSTRAINT core_dead_letter_queue_status_length CHECK (length(status) <= 20),
    criado_em        TEXT NOT NULL DEFAULT (substr(strftime('%Y-%m-%dT%H:%M:%f', 'now'), 1, 22) || 'Z')
        CONSTRAINT core_dead_letter_queue_criado_em_form
        CHECK (criado_em GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-9][0-9]:[0-9][0-9]:[0-9][0-9].[0-9][0-9]Z'),
    resolvido_em     TEXT
        CONSTRAINT core_dead_letter_queue_resolvido_em_form
        CHECK (resolvido_em GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-9][0-9]:[0-9][0-9]:[0-9][0-9].[0-9][0-9]Z')
) STRICT;

CREATE INDEX core_dead_letter_queue_status_idx         ON core_dead_letter_queue (status);
CREATE INDEX core_dead_letter_queue_colonia_idx        ON core_dead_letter_queue (colonia);
CREATE INDEX core_dead_letter_queue_status_colonia_idx ON core_dead_letter_queue (status, colonia);
