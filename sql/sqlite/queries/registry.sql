-- Event types, their revision, and the audit rows written with them.

-- name: registry_revision
-- Index: the table itself (one row).
SELECT revision FROM core_registry_revision WHERE id = 1;

-- name: registry_revision_raise
-- Needs the write transaction.
UPDATE core_registry_revision SET revision = revision + 1 WHERE id = 1;

-- name: type_find
-- Index: core_event_type_version_tipo_versao_key.
SELECT schema FROM core_event_type_version WHERE tipo = ?1 AND versao = ?2;

-- name: type_insert
-- Needs the write transaction.
INSERT INTO core_event_type_version (tipo, versao, descricao, status, schema, criado_em) VALUES (?1, ?2, ?3, ?4, ?5, ?6);

-- name: type_update
-- Needs the write transaction. Index: core_event_type_version_tipo_versao_key. Never the schema: a trigger would refuse it.
UPDATE core_event_type_version SET descricao = ?3, status = ?4 WHERE tipo = ?1 AND versao = ?2;

-- name: types_all
-- The whole table, which is small: types by the order of their bytes, versions by insertion.
SELECT tipo, versao, descricao, status, schema, criado_em FROM core_event_type_version ORDER BY tipo, id;

-- name: types_of
-- Index: core_event_type_version_tipo_versao_key; the versions of one type are sorted by insertion.
SELECT tipo, versao, descricao, status, schema, criado_em FROM core_event_type_version WHERE tipo = ?1 ORDER BY id;

-- name: audit_insert
-- Needs the write transaction.
INSERT INTO core_audit_log (entity, entity_id, change_type, action, user_name, metadata, created_at)
VALUES (?1, ?2, ?3, ?4, ?5, coalesce(?6, '{}'), ?7);

-- name: audit_list
-- The table's own order from ?1 on: an operator's page. ?2 limit, ?3 action, ?4 entity, ?5 entity id (NULL: any), ?6 from, ?7 to (inclusive; NULL: open).
SELECT id, entity, entity_id, change_type, action, user_name, metadata, created_at FROM core_audit_log
WHERE id > ?1 AND (?3 IS NULL OR action = ?3) AND (?4 IS NULL OR entity = ?4) AND (?5 IS NULL OR entity_id = ?5)
  AND (?6 IS NULL OR created_at >= ?6) AND (?7 IS NULL OR created_at <= ?7)
ORDER BY id LIMIT ?2;
