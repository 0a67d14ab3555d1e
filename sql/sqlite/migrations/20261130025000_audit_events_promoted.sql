-- Rows that GrydFiles wrote before there were actions have an Event in their metadata and no action (specification 001, "Migração"; ruling R28).
-- The event becomes the action, with the module before it, where the name is of the vocabulary; the others stay NULL. How many of each, and which
-- ones were left, is itself an entry of the trail. No such row: nothing is written.
DROP TRIGGER core_audit_log_refuse_update;

CREATE TEMP TABLE audit_named AS
SELECT id, CASE json_type(metadata, '$.Event') WHEN 'text' THEN 'gryd-files.' || json_extract(metadata, '$.Event') END AS action
FROM core_audit_log WHERE action IS NULL AND json_valid(metadata) AND json_type(metadata, '$.Event') IS NOT NULL;

-- Words of the verb between hyphens, both ends included, so that each can be looked for whole.
CREATE TEMP TABLE audit_past AS
SELECT id, action FROM (
    SELECT id, action, substr(action, 12) AS event, '-' || substr(action, 12 + instr(substr(action, 12), '.')) || '-' AS verb FROM audit_named
    WHERE length(action) <= 80 AND action NOT GLOB '*[^a-z0-9.-]*' AND length(action) - length(replace(action, '.', '')) = 2)
WHERE event GLOB '[a-z]*' AND verb GLOB '-[a-z]*' AND (
    (verb GLOB '*[a-z0-9][a-z0-9]ed-*' AND verb NOT IN ('-bleed-', '-breed-', '-embed-', '-exceed-', '-feed-', '-heed-', '-need-', '-proceed-', '-reed-',
        '-seed-', '-speed-', '-succeed-', '-weed-'))
    OR EXISTS (SELECT 1 FROM json_each('["built","found","given","held","hidden","kept","left","lost","made","overridden","put","read","rebuilt","resent",
        "reset","rewritten","seen","sent","set","shown","split","taken","undone","withdrawn","withheld","written"]') w
        WHERE instr(verb, '-' || w.value || '-') > 0));

UPDATE core_audit_log SET action = (SELECT p.action FROM audit_past p WHERE p.id = core_audit_log.id)
WHERE id IN (SELECT id FROM audit_past);

INSERT INTO core_audit_log (entity, entity_id, change_type, action, user_name, metadata)
SELECT 'audit-log', 'gryd-files', 'Updated', 'trilha.audit-log.promoted', 'trilha migrate', json_object(
    'promoted', CAST((SELECT count(*) FROM audit_past) AS TEXT),
    'left', CAST((SELECT count(*) FROM audit_named WHERE id NOT IN (SELECT id FROM audit_past)) AS TEXT),
    'left_ids', coalesce((SELECT group_concat(id, ',')
        FROM (SELECT id FROM audit_named WHERE id NOT IN (SELECT id FROM audit_past) ORDER BY id LIMIT 100)), ''))
WHERE EXISTS (SELECT 1 FROM audit_named);

DROP TABLE audit_past;
DROP TABLE audit_named;

CREATE TRIGGER core_audit_log_refuse_update BEFORE UPDATE ON core_audit_log
BEGIN
    SELECT RAISE(ABORT, 'core_audit_log is append-only: UPDATE is refused');
END;
