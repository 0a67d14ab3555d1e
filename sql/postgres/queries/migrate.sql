-- The book of migrations and what start-up checks.

-- name: migration_turn
-- Held until the migrating transaction ends: one migrates at a time in this database. The number is ours, at random.
-- Advisory, because the first migration has no table to lock yet.
SELECT pg_catalog.pg_advisory_xact_lock(7526741208934106113);

-- name: migration_schema
-- Under migration_turn.
CREATE SCHEMA IF NOT EXISTS core;

-- name: migration_book
-- Under migration_turn.
CREATE TABLE IF NOT EXISTS core.trilha_migration (
    name       TEXT        NOT NULL,
    checksum   TEXT        NOT NULL,
    applied_at TIMESTAMPTZ NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT trilha_migration_pkey PRIMARY KEY (name)
);

-- name: migration_state
-- No locks. Is there the schema; the book; the log; may this role use the schema (and, if the book is there, read it)?
WITH found AS (SELECT n.oid AS schema,
    (SELECT c.oid FROM pg_catalog.pg_class c WHERE c.relnamespace = n.oid AND c.relname = 'trilha_migration') AS book,
    (SELECT c.oid FROM pg_catalog.pg_class c WHERE c.relnamespace = n.oid AND c.relname = 'event_log') AS log
    FROM pg_catalog.pg_namespace n WHERE n.nspname = 'core')
SELECT count(f.schema) > 0, count(f.book) > 0, count(f.log) > 0,
    coalesce(bool_and(pg_catalog.has_schema_privilege(f.schema, 'USAGE')
        AND (f.book IS NULL OR pg_catalog.has_table_privilege(f.book, 'SELECT'))), true)
FROM found f;

-- name: migration_search_path
-- What the catalog functions print is then the same for everybody, and no object of another schema can stand in for ours.
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);

-- name: migration_list
-- No locks. The whole table, which is small.
SELECT m.name, m.checksum FROM core.trilha_migration m ORDER BY m.name COLLATE "C";

-- name: migration_record
-- $1 name, $2 checksum.
INSERT INTO core.trilha_migration (name, checksum) VALUES ($1::text, $2::text);

-- name: migration_record_printed
-- As migration_record, for people who run the SQL by hand: @NAME@ and @CHECKSUM@ are replaced when it is printed.
INSERT INTO core.trilha_migration (name, checksum) VALUES ('@NAME@', '@CHECKSUM@');

-- name: adoption_has_second
-- Whether another tool applied the second specified migration too. No locks.
SELECT count(*) > 0 FROM pg_catalog.pg_class c
WHERE c.relnamespace = pg_catalog.to_regnamespace('core') AND c.relname = 'dead_letter_queue_event_id_colonia_key';

-- name: adoption_differences
-- $1: the second migration is there too. What another tool made of the specified tables against the specification, one row per
-- difference: object, what it must be (NULL: it must not be there), what it is (NULL: missing). Further indexes that
-- are not unique change no answer and may stay; so may ON DELETE/ON UPDATE of the foreign key, since the log never
-- changes. No locks. A test compares this list with what the migrations make.
WITH wanted(object, definition) AS (VALUES
    ('column event_log.sequence_number', 'bigint NOT NULL DEFAULT nextval(''core.event_log_sequence_number_seq''::regclass)'),
    ('column event_log.event_id', 'uuid NOT NULL'),
    ('column event_log.tipo', 'character varying(255) NOT NULL'),
    ('column event_log.versao_schema', 'character varying(20) NOT NULL DEFAULT ''1.0.0''::character varying'),
    ('column event_log.timestamp', 'timestamp(2) with time zone NOT NULL DEFAULT CURRENT_TIMESTAMP'),
    ('column event_log.origem', 'character varying(100) NOT NULL'),
    ('column event_log.correlacao_id', 'uuid'),
    ('column event_log.payload', 'jsonb NOT NULL'),
    ('column event_log.criado_em', 'timestamp(2) with time zone NOT NULL DEFAULT CURRENT_TIMESTAMP'),
    ('column dead_letter_queue.id', 'bigint NOT NULL DEFAULT nextval(''core.dead_letter_queue_id_seq''::regclass)'),
    ('column dead_letter_queue.event_id', 'uuid NOT NULL'),
    ('column dead_letter_queue.sequence_number', 'bigint NOT NULL'),
    ('column dead_letter_queue.colonia', 'character varying(100) NOT NULL'),
    ('column dead_letter_queue.handler_nome', 'character varying(255)'),
    ('column dead_letter_queue.mensagem_erro', 'text NOT NULL'),
    ('column dead_letter_queue.pilha_erro', 'text'),
    ('column dead_letter_queue.tentativas', 'integer NOT NULL DEFAULT 1'),
    ('column dead_letter_queue.ultima_tentativa', 'timestamp(2) with time zone NOT NULL DEFAULT CURRENT_TIMESTAMP'),
    ('column dead_letter_queue.status', 'character varying(20) NOT NULL DEFAULT ''pendente''::character varying'),
    ('column dead_letter_queue.criado_em', 'timestamp(2) with time zone NOT NULL DEFAULT CURRENT_TIMESTAMP'),
    ('column dead_letter_queue.resolvido_em', 'timestamp(2) with time zone'),
    ('constraint event_log_pkey', 'PRIMARY KEY (sequence_number)'),
    ('constraint dead_letter_queue_pkey', 'PRIMARY KEY (id)'),
    ('constraint dead_letter_queue_event_id_fkey', 'FOREIGN KEY (event_id) REFERENCES core.event_log(event_id)'),
    ('index event_log_event_id_key', 'UNIQUE ON core.event_log USING btree (event_id)'),
    ('index event_log_tipo_idx', 'ON core.event_log USING btree (tipo)'),
    ('index event_log_correlacao_id_idx', 'ON core.event_log USING btree (correlacao_id)'),
    ('index event_log_timestamp_idx', 'ON core.event_log USING btree ("timestamp")'),
    ('index event_log_origem_idx', 'ON core.event_log USING btree (origem)'),
    ('index event_log_tipo_timestamp_idx', 'ON core.event_log USING btree (tipo, "timestamp")'),
    ('index dead_letter_queue_status_idx', 'ON core.dead_letter_queue USING btree (status)'),
    ('index dead_letter_queue_colonia_idx', 'ON core.dead_letter_queue USING btree (colonia)'),
    ('index dead_letter_queue_status_colonia_idx', 'ON core.dead_letter_queue USING btree (status, colonia)'),
    ('index dead_letter_queue_event_id_colonia_key',
        CASE WHEN $1::bool THEN 'UNIQUE ON core.dead_letter_queue USING btree (event_id, colonia)' END)),
ours AS (SELECT c.oid, c.relname::text AS name FROM pg_catalog.pg_class c
    WHERE c.relnamespace = pg_catalog.to_regnamespace('core') AND c.relname IN ('event_log', 'dead_letter_queue')),
actual(object, definition, may_be_more) AS (
    SELECT 'column ' || o.name || '.' || a.attname,
        pg_catalog.format_type(a.atttypid, a.atttypmod) || CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END
            || coalesce(' DEFAULT ' || pg_catalog.pg_get_expr(d.adbin, d.adrelid), ''), false
    FROM ours o JOIN pg_catalog.pg_attribute a ON a.attrelid = o.oid AND a.attnum > 0 AND NOT a.attisdropped
    LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    UNION ALL
    SELECT 'constraint ' || k.conname,
        regexp_replace(pg_catalog.pg_get_constraintdef(k.oid), ' ON (UPDATE|DELETE) (CASCADE|RESTRICT|NO ACTION)', '', 'g'),
        false
    FROM ours o JOIN pg_catalog.pg_constraint k ON k.conrelid = o.oid
    UNION ALL
    SELECT 'index ' || x.relname, CASE WHEN i.indisunique THEN 'UNIQUE ' ELSE '' END
            || regexp_replace(pg_catalog.pg_get_indexdef(x.oid), '^.*? (ON core\.)', '\1'),
        NOT i.indisunique
    FROM ours o JOIN pg_catalog.pg_index i ON i.indrelid = o.oid JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid
    WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_constraint k WHERE k.conindid = i.indexrelid AND k.conrelid = o.oid)
    UNION ALL
    SELECT 'trigger ' || t.tgname, pg_catalog.pg_get_triggerdef(t.oid), false
    FROM ours o JOIN pg_catalog.pg_trigger t ON t.tgrelid = o.oid AND NOT t.tgisinternal)
SELECT coalesce(w.object, a.object), w.definition, a.definition
FROM wanted w FULL JOIN actual a ON a.object = w.object
WHERE w.definition IS DISTINCT FROM a.definition AND NOT (w.object IS NULL AND a.may_be_more)
ORDER BY 1;

-- name: store_alterations
-- What must be true of the log and can be undone by its owner without a migration: a sequence that caches numbers gives them
-- out of order, a disabled trigger lets raw SQL pass. One row per fault, in words; none when all is well. No locks.
SELECT 'the sequence of core.event_log has CACHE ' || s.seqcache || ', INCREMENT ' || s.seqincrement
    || CASE WHEN s.seqcycle THEN ', CYCLE' ELSE '' END
    || ': numbers would not follow the order of the log; ALTER SEQUENCE core.event_log_sequence_number_seq CACHE 1 INCREMENT 1 NO CYCLE'
FROM pg_catalog.pg_sequence s
JOIN pg_catalog.pg_class c ON c.oid = s.seqrelid AND c.relname = 'event_log_sequence_number_seq'
    AND c.relnamespace = pg_catalog.to_regnamespace('core')
WHERE s.seqcache <> 1 OR s.seqincrement <> 1 OR s.seqcycle
UNION ALL
SELECT 'trigger ' || w.name || ' of core.' || w.of_table || ' is missing or not ENABLE ALWAYS'
FROM (VALUES ('event_log', 'event_log_append_only'), ('event_log', 'event_log_turn'),
        ('audit_log', 'audit_log_append_only')) AS w(of_table, name)
WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_trigger t
    JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid AND c.relname = w.of_table
        AND c.relnamespace = pg_catalog.to_regnamespace('core')
    WHERE t.tgname = w.name AND t.tgenabled = 'A');
