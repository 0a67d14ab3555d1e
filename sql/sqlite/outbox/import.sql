-- Pieces of the statements that read a foreign outbox. What stands in {{…}} is put in by src/store/sqlite/outbox_import.c: {{p}} the prefix, {{table}}, {{position}}
-- and {{column}} quoted names of the mapping, {{number}} a parameter's, and {{rows}}, {{fields}}, {{behind}} such pieces.

-- name: has_column
-- ?1 table, ?2 column. SQLite takes a quoted name that is no column for a text, so each is looked for.
SELECT count(*) FROM pragma_table_info(?1) WHERE name = ?2 COLLATE NOCASE;

-- name: rows
-- The backlog: every condition of the mapping holds.
FROM {{table}} AS f WHERE 1{{conditions}}

-- name: condition
-- A value is compared as text, and NULL is equal to NULL.
 AND CAST(f.{{column}} AS TEXT) IS ?{{number}}

-- name: field_column
CAST(f.{{column}} AS TEXT)

-- name: field_value
?{{number}}

-- name: behind
 AND f.{{position}} > ?2

-- name: page
-- ?1 cut, ?2 position, ?3 rows. In the order of positions: its index serves when the foreign table has one.
SELECT f.{{position}}, {{fields}} {{rows}} AND f.{{position}} <= ?1{{behind}} ORDER BY f.{{position}} LIMIT ?3;

-- name: count
-- ?1 cut. How many up to it, how many behind it, and whether positions are there and unique.
SELECT count(*) FILTER (WHERE ?1 IS NULL OR f.{{position}} <= ?1), count(*) FILTER (WHERE f.{{position}} > ?1), count(*) = count(DISTINCT f.{{position}}) {{rows}};

-- name: last
SELECT f.{{position}} {{rows}} AND f.{{position}} IS NOT NULL ORDER BY f.{{position}} DESC LIMIT 1;

-- name: unheld
-- ?1 holder. A type of the backlog whose path that holder does not hold.
SELECT x.t FROM (SELECT DISTINCT {{fields}} AS t {{rows}}) x WHERE NOT EXISTS (SELECT 1 FROM {{p}}outbox_path h WHERE h.holder = ?1
    AND (h.type_pattern = x.t OR (substr(h.type_pattern, -1) = '*' AND substr(x.t, 1, length(h.type_pattern) - 1)
        = substr(h.type_pattern, 1, length(h.type_pattern) - 1)))) LIMIT 1;
