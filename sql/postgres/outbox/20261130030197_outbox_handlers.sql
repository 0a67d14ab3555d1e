-- What each destination's handler promises about a message that it accepted (rulings R34, R37). A row for each destination that a relay has served, written when a
-- relay begins that says something else than the one before. It tells operators what a repeat does there.
CREATE TABLE {{p}}outbox_handler (
    destination smallint    NOT NULL,
    guarantee   text        NOT NULL, -- atomic: once; durable: at least once, and a repeat is known by its id; best effort: neither
    because     text,                 -- why no more than best effort
    worker      text        NOT NULL, -- who declared it
    declared_at timestamptz NOT NULL,
    CONSTRAINT outbox_handler_pkey PRIMARY KEY (destination),
    CONSTRAINT outbox_handler_destination_fkey FOREIGN KEY (destination) REFERENCES {{p}}outbox_destination (destination),
    CONSTRAINT outbox_handler_guarantee_known CHECK (guarantee IN ('atomic', 'durable', 'best effort')),
    CONSTRAINT outbox_handler_reason_given CHECK (guarantee <> 'best effort' OR because <> '')
);

-- Writes nothing where it was said before. Lock: the destination's row.
CREATE FUNCTION {{p}}outbox_handler_declare(p_destination text, p_guarantee text, p_because text, p_worker text) RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    INSERT INTO {{p}}outbox_handler AS h (destination, guarantee, because, worker, declared_at)
    VALUES ({{p}}outbox_destination_number(p_destination), p_guarantee, p_because, p_worker, clock_timestamp())
    ON CONFLICT (destination) DO UPDATE SET guarantee = excluded.guarantee, because = excluded.because, worker = excluded.worker,
        declared_at = excluded.declared_at
    WHERE (h.guarantee, h.because) IS DISTINCT FROM (excluded.guarantee, excluded.because)
$$;

-- Every destination; guarantee NULL: no relay has served it yet.
CREATE FUNCTION {{p}}outbox_handlers() RETURNS TABLE (destination text, guarantee text, because text, worker text, declared_at timestamptz)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT d.name, h.guarantee, h.because, h.worker, h.declared_at
    FROM {{p}}outbox_destination d LEFT JOIN {{p}}outbox_handler h ON h.destination = d.destination ORDER BY d.name
$$;
