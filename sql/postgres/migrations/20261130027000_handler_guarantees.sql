-- What each durable consumer's handler promises about an event that it has handled (rulings R34, R37). A row for each colony and group whose consumer ever had its
-- lease, written when a holder begins that says something else than the one before. None: its holder is of an earlier version, and a consumer that says
-- nothing is durable.
CREATE TABLE core.handler_guarantee (
    colonia     VARCHAR(100)   NOT NULL,
    grupo       VARCHAR(100)   NOT NULL,
    guarantee   TEXT           NOT NULL, -- atomic: once; durable: at least once, and a repeat has the event's id; best effort: neither
    because     TEXT,                    -- why no more than best effort
    declared_at TIMESTAMPTZ(2) NOT NULL,
    CONSTRAINT handler_guarantee_pkey PRIMARY KEY (colonia, grupo),
    CONSTRAINT handler_guarantee_known CHECK (guarantee IN ('atomic', 'durable', 'best effort')),
    CONSTRAINT handler_guarantee_reason_given CHECK (guarantee <> 'best effort' OR because <> '')
);

-- False: the token is not the current one. Writes nothing where it was said before.
CREATE FUNCTION core.lease_declare(p_colonia text, p_grupo text, p_token bigint, p_guarantee text, p_because text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM 1 FROM core.consumer_lease WHERE colonia = p_colonia AND grupo = p_grupo AND token = p_token FOR SHARE;
    IF NOT FOUND THEN RETURN false; END IF;
    INSERT INTO core.handler_guarantee AS g (colonia, grupo, guarantee, because, declared_at)
    VALUES (p_colonia, p_grupo, p_guarantee, p_because, clock_timestamp())
    ON CONFLICT (colonia, grupo) DO UPDATE SET guarantee = excluded.guarantee, because = excluded.because, declared_at = excluded.declared_at
    WHERE (g.guarantee, g.because) IS DISTINCT FROM (excluded.guarantee, excluded.because);
    RETURN true;
END
$$;

-- For operators: every type of every durable consumer that ever held its lease, and of every process that runs now and subscribed.
CREATE FUNCTION core.handlers_list() RETURNS TABLE (colonia text, grupo text, tipo text, holder text, live boolean, guarantee text, because text,
    declared_at timestamptz)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT l.colonia, l.grupo, t.tipo, l.holder, l.expires_at > clock_timestamp(), g.guarantee, g.because, g.declared_at
    FROM core.consumer_lease l CROSS JOIN LATERAL unnest(l.types) t (tipo)
    LEFT JOIN core.handler_guarantee g ON g.colonia = l.colonia AND g.grupo = l.grupo
    WHERE left(l.grupo, 5) <> 'live ' OR l.expires_at > clock_timestamp()
    ORDER BY l.colonia COLLATE "C", l.grupo COLLATE "C", t.tipo COLLATE "C"
$$;

REVOKE ALL ON core.handler_guarantee FROM PUBLIC;
REVOKE ALL ON FUNCTION core.lease_declare(text, text, bigint, text, text), core.handlers_list() FROM PUBLIC;
GRANT SELECT ON core.handler_guarantee TO trilha_reader, trilha_writer, trilha_operator;
GRANT EXECUTE ON FUNCTION core.lease_declare(text, text, bigint, text, text) TO trilha_writer;
GRANT EXECUTE ON FUNCTION core.handlers_list() TO trilha_reader, trilha_writer, trilha_operator;
