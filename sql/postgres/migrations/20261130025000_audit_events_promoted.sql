-- Rows that GrydFiles wrote before there were actions have an Event in their metadata and no action (specification 001, "Migração"; ruling R28).
-- The event becomes the action, with the module before it, where the name is of the vocabulary; the others stay NULL. How many of each, and which
-- ones were left, is itself an entry of the trail. No such row: nothing is written.
ALTER TABLE core.audit_log DISABLE TRIGGER audit_log_append_only;

WITH named AS (
    SELECT a.id, CASE jsonb_typeof(a.metadata -> 'Event') WHEN 'string' THEN 'gryd-files.' || (a.metadata ->> 'Event') END AS action
    FROM core.audit_log a WHERE a.action IS NULL AND a.metadata ? 'Event'
), fitting AS (
    SELECT n.id, n.action, split_part(n.action, '.', 3) AS verb FROM named n
    WHERE length(n.action) <= 80 AND n.action ~ '^[a-z][a-z0-9-]*\.[a-z][a-z0-9-]*\.[a-z][a-z0-9-]*$'
), past AS (
    SELECT f.id, f.action FROM fitting f
    WHERE EXISTS (SELECT FROM unnest(string_to_array(f.verb, '-')) word
        WHERE (word ~ '..ed$' AND word NOT IN ('bleed', 'breed', 'embed', 'exceed', 'feed', 'heed', 'need', 'proceed', 'reed', 'seed', 'speed',
                'succeed', 'weed'))
            OR word IN ('built', 'found', 'given', 'held', 'hidden', 'kept', 'left', 'lost', 'made', 'overridden', 'put', 'read', 'rebuilt', 'resent',
                'reset', 'rewritten', 'seen', 'sent', 'set', 'shown', 'split', 'taken', 'undone', 'withdrawn', 'withheld', 'written'))
), promoted AS (
    UPDATE core.audit_log a SET action = p.action FROM past p WHERE a.id = p.id RETURNING a.id
)
INSERT INTO core.audit_log (entity, entity_id, change_type, action, user_name, metadata)
SELECT 'audit-log', 'gryd-files', 'Updated', 'trilha.audit-log.promoted', 'trilha migrate', jsonb_build_object(
    'promoted', (SELECT count(*) FROM promoted)::text,
    'left', (SELECT count(*) FROM named WHERE id NOT IN (SELECT id FROM promoted))::text,
    'left_ids', coalesce((SELECT string_agg(l.id::text, ',' ORDER BY l.id)
        FROM (SELECT id FROM named WHERE id NOT IN (SELECT id FROM promoted) ORDER BY id LIMIT 100) l), ''))
WHERE EXISTS (SELECT FROM named);

ALTER TABLE core.audit_log ENABLE ALWAYS TRIGGER audit_log_append_only;
