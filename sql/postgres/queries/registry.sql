-- Event types and the audit trail.

-- name: registry_revision
-- No locks.
SELECT r.revision FROM core.registry_revision r;

-- name: registry_revision_raise
-- Locks the one row until commit: changes of the registry queue here, so a version and its revision become visible together.
UPDATE core.registry_revision SET revision = revision + 1;

-- name: types_list
-- $1 tipo, NULL: all. Byte order, so that both stores list alike. Index: event_type_version_pkey.
SELECT t.tipo, t.versao, t.descricao, t.status, t.schema, t.criado_em FROM core.event_type_version t
WHERE $1::text IS NULL OR t.tipo = $1 ORDER BY t.tipo COLLATE "C", t.seq;

-- name: types_conflicting
-- $1 tipos, $2 versoes, $3 schemas. The versions that stand there with another schema: a published version is immutable.
SELECT t.tipo, t.versao FROM unnest($1::text[], $2::text[], $3::text[]) AS i(tipo, versao, schema)
JOIN core.event_type_version t ON t.tipo = i.tipo AND t.versao = i.versao
WHERE t.schema IS DISTINCT FROM i.schema ORDER BY t.tipo COLLATE "C", t.seq;

-- name: types_apply
-- $1 tipos, $2 versoes, $3 descricoes, $4 status, $5 schemas. Run while registry_revision's row is held. In the given order.
INSERT INTO core.event_type_version AS t (tipo, versao, descricao, status, schema)
SELECT i.tipo, i.versao, i.descricao, i.status, i.schema
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[]) WITH ORDINALITY
    AS i(tipo, versao, descricao, status, schema, n)
ORDER BY i.n
ON CONFLICT (tipo, versao) DO UPDATE SET descricao = excluded.descricao, status = excluded.status;

-- name: audit_insert
-- $1 entities, $2 entity ids, $3 change types, $4 actions, $5 users, $6 metadata. In the given order. No locks beyond its rows.
INSERT INTO core.audit_log (entity, entity_id, change_type, action, user_name, metadata)
SELECT i.entity, i.entity_id, i.change_type, i.action, i.user_name, i.metadata
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::jsonb[]) WITH ORDINALITY
    AS i(entity, entity_id, change_type, action, user_name, metadata, n)
ORDER BY i.n;

-- name: audit_list
-- $1 after id, $2 limit, $3 action, $4 entity, $5 entity id (NULL: any), $6 from, $7 to (inclusive; NULL: open). No locks. Index: audit_log_action_idx,
-- audit_log_entity_idx or audit_log_pkey, what the values ask for: planned anew.
SELECT a.id, a.entity, a.entity_id, a.change_type, a.action, a.user_name, a.metadata::text, a.created_at
FROM core.audit_log a
WHERE a.id > $1::int8 AND ($3::text IS NULL OR a.action = $3) AND ($4::text IS NULL OR a.entity = $4)
    AND ($5::text IS NULL OR a.entity_id = $5) AND ($6::timestamptz IS NULL OR a.created_at >= $6)
    AND ($7::timestamptz IS NULL OR a.created_at <= $7)
ORDER BY a.id LIMIT $2::int8;
