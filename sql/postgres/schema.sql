-- What the migrations make, as pg_dump 15 tells it, for review; a test compares it with a fresh store.
CREATE SCHEMA core;
CREATE PROCEDURE core.event_append(IN event_ids uuid[], IN tipos text[], IN versoes_schema text[], IN timestamps timestamp with time zone[], IN origens text[], IN correlacao_ids uuid[], IN payloads jsonb[], IN tenant_ids text[], IN company_ids text[], IN aggregate_types text[], IN aggregate_keys text[], IN aggregate_sequences bigint[], IN causation_ids uuid[], IN traceparents text[], IN tracestates text[], IN digests text[], IN lock_timeout_ms bigint, IN durable boolean, OUT stored_ids uuid[], OUT stored_sequences bigint[], OUT stored_criado_em timestamp with time zone, OUT registry_revision bigint)
    LANGUAGE plpgsql
    AS $$
BEGIN
    -- In a stricter isolation level the look-up would see the log as it was before the wait for the turn.
    IF pg_catalog.current_setting('transaction_isolation') <> 'read committed' THEN
        COMMIT;
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    END IF;
    PERFORM pg_catalog.set_config('lock_timeout', lock_timeout_ms::text, true),
            pg_catalog.set_config('plan_cache_mode', 'force_generic_plan', true), -- planned once a session
            pg_catalog.set_config('enable_seqscan', 'off', true),
            pg_catalog.set_config('enable_bitmapscan', 'off', true),
            pg_catalog.set_config('enable_hashjoin', 'off', true),
            pg_catalog.set_config('enable_mergejoin', 'off', true),
            pg_catalog.set_config('jit', 'off', true);
    -- An acknowledged event is on disk, whatever the role's or the database's setting says.
    IF NOT durable THEN
        PERFORM pg_catalog.set_config('synchronous_commit', 'off', true);
    ELSIF pg_catalog.current_setting('synchronous_commit') = 'off' THEN
        PERFORM pg_catalog.set_config('synchronous_commit', 'on', true);
    END IF;
    LOCK TABLE core.event_log_turn IN SHARE UPDATE EXCLUSIVE MODE;
    stored_criado_em := pg_catalog.clock_timestamp(); -- after the wait: it never runs against the order of the log
    SELECT r.revision INTO registry_revision FROM core.registry_revision r;
    WITH fresh AS (
        INSERT INTO core.event_log (event_id, tipo, versao_schema, timestamp, origem, correlacao_id, payload, criado_em,
            tenant_id, company_id, aggregate_type, aggregate_key, aggregate_sequence, causation_id, traceparent,
            tracestate, digest)
        SELECT i.event_id, i.tipo, i.versao_schema, i.timestamp, i.origem, i.correlacao_id, i.payload, stored_criado_em,
            i.tenant_id, i.company_id, i.aggregate_type, i.aggregate_key, i.aggregate_sequence, i.causation_id,
            i.traceparent, i.tracestate, i.digest
        FROM unnest(event_ids, tipos, versoes_schema, timestamps, origens, correlacao_ids, payloads, tenant_ids,
                company_ids, aggregate_types, aggregate_keys, aggregate_sequences, causation_ids, traceparents,
                tracestates, digests) WITH ORDINALITY AS i(event_id, tipo, versao_schema, timestamp, origem,
                correlacao_id, payload, tenant_id, company_id, aggregate_type, aggregate_key, aggregate_sequence,
                causation_id, traceparent, tracestate, digest, n)
        WHERE NOT EXISTS (SELECT FROM core.event_log e WHERE e.event_id = i.event_id)
        ORDER BY i.n
        ON CONFLICT (event_id) DO NOTHING
        RETURNING event_log.event_id, event_log.sequence_number)
    SELECT array_agg(f.event_id), array_agg(f.sequence_number) INTO stored_ids, stored_sequences FROM fresh f;
    stored_criado_em := stored_criado_em::timestamptz(2); -- as the column rounds it
    COMMIT;
END
$$;
CREATE FUNCTION core.refuse_change() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
    RAISE EXCEPTION '%.% is append-only: % is refused', TG_TABLE_SCHEMA, TG_TABLE_NAME, TG_OP
        USING ERRCODE = 'insufficient_privilege';
END
$$;
CREATE FUNCTION core.take_event_log_turn() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
DECLARE
    quiet CONSTANT interval := current_setting('idle_in_transaction_session_timeout')::interval;
BEGIN
    LOCK TABLE core.event_log_turn IN SHARE UPDATE EXCLUSIVE MODE;
    IF quiet = interval '0' OR quiet > interval '30 seconds' THEN
        PERFORM set_config('idle_in_transaction_session_timeout', '30s', true);
    END IF;
    RETURN NULL;
END
$$;
CREATE TABLE core.audit_log (
    id bigint NOT NULL,
    entity text NOT NULL,
    entity_id text NOT NULL,
    change_type character varying(10) NOT NULL,
    action character varying(80),
    user_name text NOT NULL,
    metadata jsonb DEFAULT '{}'::jsonb NOT NULL,
    created_at timestamp(2) with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL,
    CONSTRAINT audit_log_change_type_check CHECK (((change_type)::text = ANY ((ARRAY['Created'::character varying, 'Updated'::character varying, 'Deleted'::character varying, 'Accessed'::character varying])::text[]))),
    CONSTRAINT audit_log_metadata_check CHECK ((jsonb_typeof(metadata) = 'object'::text))
);
CREATE SEQUENCE core.audit_log_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE core.audit_log_id_seq OWNED BY core.audit_log.id;
CREATE TABLE core.dead_letter_queue (
    id bigint NOT NULL,
    event_id uuid NOT NULL,
    sequence_number bigint NOT NULL,
    colonia character varying(100) NOT NULL,
    handler_nome character varying(255),
    mensagem_erro text NOT NULL,
    pilha_erro text,
    tentativas integer DEFAULT 1 NOT NULL,
    ultima_tentativa timestamp(2) with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL,
    status character varying(20) DEFAULT 'pendente'::character varying NOT NULL,
    criado_em timestamp(2) with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL,
    resolvido_em timestamp(2) with time zone
);
CREATE SEQUENCE core.dead_letter_queue_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE core.dead_letter_queue_id_seq OWNED BY core.dead_letter_queue.id;
CREATE TABLE core.event_log (
    sequence_number bigint NOT NULL,
    event_id uuid NOT NULL,
    tipo character varying(255) NOT NULL,
    versao_schema character varying(20) DEFAULT '1.0.0'::character varying NOT NULL,
    "timestamp" timestamp(2) with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL,
    origem character varying(100) NOT NULL,
    correlacao_id uuid,
    payload jsonb NOT NULL,
    criado_em timestamp(2) with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL,
    tenant_id text,
    company_id text,
    aggregate_type text,
    aggregate_key text,
    aggregate_sequence bigint,
    causation_id uuid,
    traceparent text,
    tracestate text,
    digest text
);
CREATE SEQUENCE core.event_log_sequence_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE core.event_log_sequence_number_seq OWNED BY core.event_log.sequence_number;
CREATE TABLE core.event_log_turn (
);
COMMENT ON TABLE core.event_log_turn IS 'Empty: its lock is the turn to insert into core.event_log.';
CREATE TABLE core.event_type_version (
    tipo character varying(255) NOT NULL,
    versao character varying(20) NOT NULL,
    descricao text DEFAULT ''::text NOT NULL,
    status character varying(20) DEFAULT 'ativo'::character varying NOT NULL,
    schema text,
    criado_em timestamp(2) with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL,
    seq bigint NOT NULL,
    CONSTRAINT event_type_version_status_check CHECK (((status)::text = ANY ((ARRAY['ativo'::character varying, 'deprecated'::character varying])::text[])))
);
CREATE SEQUENCE core.event_type_version_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE core.event_type_version_seq_seq OWNED BY core.event_type_version.seq;
CREATE TABLE core.registry_revision (
    only_row boolean DEFAULT true NOT NULL,
    revision bigint NOT NULL,
    CONSTRAINT registry_revision_only_row_check CHECK (only_row)
);
CREATE TABLE core.trilha_migration (
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamp with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL
);
ALTER TABLE ONLY core.audit_log ALTER COLUMN id SET DEFAULT nextval('core.audit_log_id_seq'::regclass);
ALTER TABLE ONLY core.dead_letter_queue ALTER COLUMN id SET DEFAULT nextval('core.dead_letter_queue_id_seq'::regclass);
ALTER TABLE ONLY core.event_log ALTER COLUMN sequence_number SET DEFAULT nextval('core.event_log_sequence_number_seq'::regclass);
ALTER TABLE ONLY core.event_type_version ALTER COLUMN seq SET DEFAULT nextval('core.event_type_version_seq_seq'::regclass);
ALTER TABLE ONLY core.audit_log
    ADD CONSTRAINT audit_log_pkey PRIMARY KEY (id);
ALTER TABLE ONLY core.dead_letter_queue
    ADD CONSTRAINT dead_letter_queue_pkey PRIMARY KEY (id);
ALTER TABLE ONLY core.event_log
    ADD CONSTRAINT event_log_pkey PRIMARY KEY (sequence_number);
ALTER TABLE core.event_log
    ADD CONSTRAINT event_log_timestamp_range CHECK ((("timestamp" >= '0001-01-01 00:00:00+00'::timestamp with time zone) AND ("timestamp" < '10000-01-01 00:00:00+00'::timestamp with time zone))) NOT VALID;
ALTER TABLE ONLY core.event_type_version
    ADD CONSTRAINT event_type_version_pkey PRIMARY KEY (tipo, versao);
ALTER TABLE ONLY core.event_type_version
    ADD CONSTRAINT event_type_version_seq_key UNIQUE (seq);
ALTER TABLE ONLY core.registry_revision
    ADD CONSTRAINT registry_revision_pkey PRIMARY KEY (only_row);
ALTER TABLE ONLY core.trilha_migration
    ADD CONSTRAINT trilha_migration_pkey PRIMARY KEY (name);
CREATE INDEX audit_log_action_idx ON core.audit_log USING btree (action, created_at);
CREATE INDEX audit_log_entity_idx ON core.audit_log USING btree (entity, entity_id);
CREATE INDEX dead_letter_queue_colonia_idx ON core.dead_letter_queue USING btree (colonia);
CREATE UNIQUE INDEX dead_letter_queue_event_id_colonia_key ON core.dead_letter_queue USING btree (event_id, colonia);
CREATE INDEX dead_letter_queue_status_colonia_idx ON core.dead_letter_queue USING btree (status, colonia);
CREATE INDEX dead_letter_queue_status_idx ON core.dead_letter_queue USING btree (status);
CREATE INDEX event_log_correlacao_id_idx ON core.event_log USING btree (correlacao_id);
CREATE UNIQUE INDEX event_log_event_id_key ON core.event_log USING btree (event_id);
CREATE INDEX event_log_origem_idx ON core.event_log USING btree (origem);
CREATE INDEX event_log_timestamp_idx ON core.event_log USING btree ("timestamp");
CREATE INDEX event_log_tipo_idx ON core.event_log USING btree (tipo);
CREATE INDEX event_log_tipo_sequence_idx ON core.event_log USING btree (tipo, sequence_number);
CREATE INDEX event_log_tipo_timestamp_idx ON core.event_log USING btree (tipo, "timestamp");
CREATE TRIGGER audit_log_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON core.audit_log FOR EACH STATEMENT EXECUTE FUNCTION core.refuse_change();
ALTER TABLE core.audit_log ENABLE ALWAYS TRIGGER audit_log_append_only;
CREATE TRIGGER event_log_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON core.event_log FOR EACH STATEMENT EXECUTE FUNCTION core.refuse_change();
ALTER TABLE core.event_log ENABLE ALWAYS TRIGGER event_log_append_only;
CREATE TRIGGER event_log_turn BEFORE INSERT ON core.event_log FOR EACH STATEMENT EXECUTE FUNCTION core.take_event_log_turn();
ALTER TABLE core.event_log ENABLE ALWAYS TRIGGER event_log_turn;
ALTER TABLE ONLY core.dead_letter_queue
    ADD CONSTRAINT dead_letter_queue_event_id_fkey FOREIGN KEY (event_id) REFERENCES core.event_log(event_id);
GRANT USAGE ON SCHEMA core TO trilha_reader;
GRANT USAGE ON SCHEMA core TO trilha_writer;
REVOKE ALL ON PROCEDURE core.event_append(IN event_ids uuid[], IN tipos text[], IN versoes_schema text[], IN timestamps timestamp with time zone[], IN origens text[], IN correlacao_ids uuid[], IN payloads jsonb[], IN tenant_ids text[], IN company_ids text[], IN aggregate_types text[], IN aggregate_keys text[], IN aggregate_sequences bigint[], IN causation_ids uuid[], IN traceparents text[], IN tracestates text[], IN digests text[], IN lock_timeout_ms bigint, IN durable boolean, OUT stored_ids uuid[], OUT stored_sequences bigint[], OUT stored_criado_em timestamp with time zone, OUT registry_revision bigint) FROM PUBLIC;
GRANT ALL ON PROCEDURE core.event_append(IN event_ids uuid[], IN tipos text[], IN versoes_schema text[], IN timestamps timestamp with time zone[], IN origens text[], IN correlacao_ids uuid[], IN payloads jsonb[], IN tenant_ids text[], IN company_ids text[], IN aggregate_types text[], IN aggregate_keys text[], IN aggregate_sequences bigint[], IN causation_ids uuid[], IN traceparents text[], IN tracestates text[], IN digests text[], IN lock_timeout_ms bigint, IN durable boolean, OUT stored_ids uuid[], OUT stored_sequences bigint[], OUT stored_criado_em timestamp with time zone, OUT registry_revision bigint) TO trilha_writer;
REVOKE ALL ON FUNCTION core.refuse_change() FROM PUBLIC;
REVOKE ALL ON FUNCTION core.take_event_log_turn() FROM PUBLIC;
GRANT INSERT(entity) ON TABLE core.audit_log TO trilha_writer;
GRANT INSERT(entity_id) ON TABLE core.audit_log TO trilha_writer;
GRANT INSERT(change_type) ON TABLE core.audit_log TO trilha_writer;
GRANT INSERT(action) ON TABLE core.audit_log TO trilha_writer;
GRANT INSERT(user_name) ON TABLE core.audit_log TO trilha_writer;
GRANT INSERT(metadata) ON TABLE core.audit_log TO trilha_writer;
GRANT USAGE ON SEQUENCE core.audit_log_id_seq TO trilha_writer;
GRANT SELECT ON TABLE core.dead_letter_queue TO trilha_reader;
GRANT SELECT ON TABLE core.dead_letter_queue TO trilha_writer;
GRANT SELECT ON TABLE core.event_log TO trilha_reader;
GRANT SELECT ON TABLE core.event_log TO trilha_writer;
GRANT INSERT(event_id) ON TABLE core.event_log TO trilha_writer;
GRANT INSERT(tipo) ON TABLE core.event_log TO trilha_writer;
GRANT INSERT(versao_schema) ON TABLE core.event_log TO trilha_writer;
GRANT INSERT("timestamp") ON TABLE core.event_log TO trilha_writer;
GRANT INSERT(origem) ON TABLE core.event_log TO trilha_writer;
GRANT INSERT(correlacao_id) ON TABLE core.event_log TO trilha_writer;
GRANT INSERT(payload) ON TABLE core.event_log TO trilha_writer;
GRANT INSERT(criado_em) ON TABLE core.event_log TO trilha_writer;
GRANT INSERT(tenant_id) ON TABLE core.event_log TO trilha_writer;
GRANT INSERT(company_id) ON TABLE core.event_log TO trilha_writer;
GRANT INSERT(aggregate_type) ON TABLE core.event_log TO trilha_writer;
GRANT INSERT(aggregate_key) ON TABLE core.event_log TO trilha_writer;
GRANT INSERT(aggregate_sequence) ON TABLE core.event_log TO trilha_writer;
GRANT INSERT(causation_id) ON TABLE core.event_log TO trilha_writer;
GRANT INSERT(traceparent) ON TABLE core.event_log TO trilha_writer;
GRANT INSERT(tracestate) ON TABLE core.event_log TO trilha_writer;
GRANT INSERT(digest) ON TABLE core.event_log TO trilha_writer;
GRANT USAGE ON SEQUENCE core.event_log_sequence_number_seq TO trilha_writer;
GRANT UPDATE ON TABLE core.event_log_turn TO trilha_writer;
GRANT SELECT ON TABLE core.event_type_version TO trilha_reader;
GRANT SELECT ON TABLE core.event_type_version TO trilha_writer;
GRANT INSERT(tipo) ON TABLE core.event_type_version TO trilha_writer;
GRANT INSERT(versao) ON TABLE core.event_type_version TO trilha_writer;
GRANT INSERT(descricao),UPDATE(descricao) ON TABLE core.event_type_version TO trilha_writer;
GRANT INSERT(status),UPDATE(status) ON TABLE core.event_type_version TO trilha_writer;
GRANT INSERT(schema) ON TABLE core.event_type_version TO trilha_writer;
GRANT USAGE ON SEQUENCE core.event_type_version_seq_seq TO trilha_writer;
GRANT SELECT ON TABLE core.registry_revision TO trilha_reader;
GRANT SELECT ON TABLE core.registry_revision TO trilha_writer;
GRANT UPDATE(revision) ON TABLE core.registry_revision TO trilha_writer;
GRANT SELECT ON TABLE core.trilha_migration TO trilha_reader;
GRANT SELECT ON TABLE core.trilha_migration TO trilha_writer;
