-- The log is append-only and its order is the order in which events become visible (architecture, invariant 2).
--
-- ENABLE ALWAYS: the triggers also fire for a session in replica role. Nobody passes them, the tables' owner included;
-- a superuser can still drop them, which start-up notices (query store_alterations).

CREATE FUNCTION core.refuse_change() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION '%.% is append-only: % is refused', TG_TABLE_SCHEMA, TG_TABLE_NAME, TG_OP
        USING ERRCODE = 'insufficient_privilege';
END
$$;

CREATE TRIGGER event_log_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON core.event_log
    FOR EACH STATEMENT EXECUTE FUNCTION core.refuse_change();
ALTER TABLE core.event_log ENABLE ALWAYS TRIGGER event_log_append_only;

-- Whoever inserts into the log holds this table's lock from before the first nextval until its transaction ends. Numbers
-- are then given and made visible in one order, and a reader that follows the largest number never skips an event.
-- The table stays empty; its lock needs the UPDATE privilege on it. An advisory lock could be taken by any role.
CREATE TABLE core.event_log_turn ();
COMMENT ON TABLE core.event_log_turn IS 'Empty: its lock is the turn to insert into core.event_log.';

-- SECURITY DEFINER, so that whoever may insert obeys without holding a privilege on the turn itself. A statement trigger
-- runs before the statement's first row and so before nextval, for INSERT and COPY alike.
-- The time limit frees the turn of a raw SQL session that went quiet inside its transaction; a shorter one is kept.
-- It runs for every event: it has no SET search_path (that costs more than the lock), so every name and operator in it is
-- qualified, and a session that brought the limit along (Trilha's own) gives no work.
CREATE FUNCTION core.take_event_log_turn() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    quiet  CONSTANT pg_catalog.text := pg_catalog.current_setting('idle_in_transaction_session_timeout');
    unused pg_catalog.text;
BEGIN
    LOCK TABLE core.event_log_turn IN SHARE UPDATE EXCLUSIVE MODE;
    IF quiet OPERATOR(pg_catalog.<>) '30s' AND (quiet OPERATOR(pg_catalog.=) '0'
        OR quiet::pg_catalog.interval OPERATOR(pg_catalog.>) pg_catalog.make_interval(secs => 30)) THEN
        unused := pg_catalog.set_config('idle_in_transaction_session_timeout', '30s', true);
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER event_log_turn BEFORE INSERT ON core.event_log
    FOR EACH STATEMENT EXECUTE FUNCTION core.take_event_log_turn();
ALTER TABLE core.event_log ENABLE ALWAYS TRIGGER event_log_turn;
