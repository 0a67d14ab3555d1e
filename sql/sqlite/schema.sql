-- What the migrations make, for review; a test compares it with a freshly migrated database.

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

CREATE INDEX core_audit_log_created_at_idx ON core_audit_log (created_at);

CREATE INDEX core_audit_log_entity_idx     ON core_audit_log (entity, entity_id);

CREATE TRIGGER core_audit_log_refuse_delete BEFORE DELETE ON core_audit_log
BEGIN
    SELECT RAISE(ABORT, 'core_audit_log is append-only: DELETE is refused');
END;

CREATE TRIGGER core_audit_log_refuse_replace BEFORE INSERT ON core_audit_log
WHEN EXISTS (SELECT 1 FROM core_audit_log WHERE id = NEW.id)
BEGIN
    SELECT RAISE(ABORT, 'core_audit_log is append-only: a row with this id is already there');
END;

CREATE TRIGGER core_audit_log_refuse_update BEFORE UPDATE ON core_audit_log
BEGIN
    SELECT RAISE(ABORT, 'core_audit_log is append-only: UPDATE is refused');
END;

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

CREATE INDEX core_dead_letter_queue_colonia_idx        ON core_dead_letter_queue (colonia);

CREATE INDEX core_dead_letter_queue_colonia_sequence_idx ON core_dead_letter_queue (colonia, sequence_number, status);

CREATE UNIQUE INDEX core_dead_letter_queue_event_id_colonia_key ON core_dead_letter_queue (event_id, colonia);

CREATE INDEX core_dead_letter_queue_status_colonia_idx ON core_dead_letter_queue (status, colonia);

CREATE INDEX core_dead_letter_queue_status_idx         ON core_dead_letter_queue (status);

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
, tenant_id TEXT
    CONSTRAINT core_event_log_tenant_id_length CHECK (length(tenant_id) <= 255), company_id TEXT
    CONSTRAINT core_event_log_company_id_length CHECK (length(company_id) <= 255), aggregate_type TEXT
    CONSTRAINT core_event_log_aggregate_type_length CHECK (length(aggregate_type) <= 255), aggregate_key TEXT
    CONSTRAINT core_event_log_aggregate_key_length CHECK (length(aggregate_key) <= 255), aggregate_sequence INTEGER, causation_id TEXT
    CONSTRAINT core_event_log_causation_id_form
    CHECK (causation_id GLOB '[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]-[0-9a-f][0-9a-f][0-9a-f][0-9a-f]-[0-9a-f][0-9a-f][0-9a-f][0-9a-f]-'
               || '[0-9a-f][0-9a-f][0-9a-f][0-9a-f]-[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]'), traceparent TEXT, tracestate TEXT, digest TEXT) STRICT;

CREATE INDEX core_event_log_correlacao_id_idx  ON core_event_log (correlacao_id);

CREATE UNIQUE INDEX core_event_log_event_id_key ON core_event_log (event_id);

CREATE INDEX core_event_log_origem_idx         ON core_event_log (origem);

CREATE INDEX core_event_log_timestamp_idx      ON core_event_log (timestamp);

CREATE INDEX core_event_log_tipo_idx           ON core_event_log (tipo);

CREATE INDEX core_event_log_tipo_timestamp_idx ON core_event_log (tipo, timestamp);

CREATE TRIGGER core_event_log_refuse_delete BEFORE DELETE ON core_event_log
BEGIN
    SELECT RAISE(ABORT, 'core_event_log is append-only: DELETE is refused');
END;

CREATE TRIGGER core_event_log_refuse_disorder AFTER INSERT ON core_event_log
WHEN EXISTS (SELECT 1 FROM core_event_log WHERE sequence_number > NEW.sequence_number)
BEGIN
    SELECT RAISE(ABORT, 'core_event_log is append-only: sequence numbers only rise; leave sequence_number to the database');
END;

CREATE TRIGGER core_event_log_refuse_replace BEFORE INSERT ON core_event_log
WHEN EXISTS (SELECT 1 FROM core_event_log WHERE event_id = NEW.event_id)
  OR EXISTS (SELECT 1 FROM core_event_log WHERE sequence_number = NEW.sequence_number)
BEGIN
    SELECT RAISE(ABORT, 'core_event_log is append-only: a row with this event_id or sequence_number is already there');
END;

CREATE TRIGGER core_event_log_refuse_update BEFORE UPDATE ON core_event_log
BEGIN
    SELECT RAISE(ABORT, 'core_event_log is append-only: UPDATE is refused');
END;

CREATE TABLE core_event_type_version (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    tipo      TEXT NOT NULL
        CONSTRAINT core_event_type_version_tipo_length CHECK (length(tipo) BETWEEN 1 AND 255),
    versao    TEXT NOT NULL
        CONSTRAINT core_event_type_version_versao_length CHECK (length(versao) BETWEEN 1 AND 20),
    descricao TEXT,
    status    TEXT NOT NULL DEFAULT 'ativo'
        CONSTRAINT core_event_type_version_status_known CHECK (status IN ('ativo', 'deprecated')),
    schema    TEXT,
    criado_em TEXT NOT NULL DEFAULT (substr(strftime('%Y-%m-%dT%H:%M:%f', 'now'), 1, 22) || 'Z')
        CONSTRAINT core_event_type_version_criado_em_form
        CHECK (criado_em GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-9][0-9]:[0-9][0-9]:[0-9][0-9].[0-9][0-9]Z')
) STRICT;

CREATE UNIQUE INDEX core_event_type_version_tipo_versao_key ON core_event_type_version (tipo, versao);

CREATE TRIGGER core_event_type_version_refuse_change BEFORE UPDATE OF id, tipo, versao, schema, criado_em ON core_event_type_version
BEGIN
    SELECT RAISE(ABORT, 'core_event_type_version: a published version is immutable; register a new one');
END;

CREATE TABLE core_fencing (
    id    INTEGER PRIMARY KEY CONSTRAINT core_fencing_one_row CHECK (id = 1),
    token INTEGER NOT NULL
) STRICT;

CREATE TABLE core_handler_guarantee (
    colonia     TEXT NOT NULL,
    grupo       TEXT NOT NULL,
    guarantee   TEXT NOT NULL -- atomic: once; durable: at least once, and a repeat has the event's id; best effort: neither
        CONSTRAINT core_handler_guarantee_known CHECK (guarantee IN ('atomic', 'durable', 'best effort')),
    because     TEXT, -- why no more than best effort
    declared_at TEXT NOT NULL,
    PRIMARY KEY (colonia, grupo),
    CONSTRAINT core_handler_guarantee_reason_given CHECK (guarantee <> 'best effort' OR because <> '')
) STRICT;

CREATE TABLE core_registry_revision (
    id       INTEGER PRIMARY KEY CONSTRAINT core_registry_revision_single CHECK (id = 1),
    revision INTEGER NOT NULL
) STRICT;

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

CREATE TABLE core_trilha_migration (
    name       TEXT PRIMARY KEY,
    checksum   TEXT NOT NULL,
    applied_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

