-- Event types, one row per version (specification 000, section 5.5). The schema is text, exactly as registered: what was
-- published under it must stay comparable byte by byte.
CREATE TABLE core.event_type_version (
    tipo      VARCHAR(255)   NOT NULL,
    versao    VARCHAR(20)    NOT NULL,
    descricao TEXT           NOT NULL DEFAULT '',
    status    VARCHAR(20)    NOT NULL DEFAULT 'ativo',
    schema    TEXT,
    criado_em TIMESTAMPTZ(2) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    seq       BIGSERIAL      NOT NULL,

    CONSTRAINT event_type_version_pkey PRIMARY KEY (tipo, versao),
    CONSTRAINT event_type_version_seq_key UNIQUE (seq),
    CONSTRAINT event_type_version_status_check CHECK (status IN ('ativo', 'deprecated'))
);

-- One row, raised by every change of the registry: a process compares it to know whether its copy is stale.
CREATE TABLE core.registry_revision (
    only_row BOOLEAN NOT NULL DEFAULT true,
    revision BIGINT  NOT NULL,

    CONSTRAINT registry_revision_pkey PRIMARY KEY (only_row),
    CONSTRAINT registry_revision_only_row_check CHECK (only_row)
);
INSERT INTO core.registry_revision (revision) VALUES (0);
