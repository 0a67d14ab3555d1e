-- Event types and their versions (the Registry's own tables; no foreign key joins them to the log, section 2).
-- id gives the order of insertion; it is explicit because VACUUM may renumber rows that have no INTEGER PRIMARY KEY.
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

-- A published version never changes: events were judged by it.
CREATE TRIGGER core_event_type_version_refuse_change BEFORE UPDATE OF id, tipo, versao, schema, criado_em ON core_event_type_version
BEGIN
    SELECT RAISE(ABORT, 'core_event_type_version: a published version is immutable; register a new one');
END;

-- Read with every append: a larger number than the one a process holds tells it to read the registry again.
CREATE TABLE core_registry_revision (
    id       INTEGER PRIMARY KEY CONSTRAINT core_registry_revision_single CHECK (id = 1),
    revision INTEGER NOT NULL
) STRICT;

INSERT INTO core_registry_revision (id, revision) VALUES (1, 0);
