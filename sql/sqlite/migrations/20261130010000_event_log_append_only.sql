-- The log is append-only by the database itself: whoever opens this file with any tool meets these triggers.
--
-- The order of writers, which PostgreSQL needs a lock table for, is SQLite's own: one write transaction at a time per file, so what is
-- visible is complete and a cursor never skips a row (architecture, invariant 2).
--
-- DELETE and UPDATE are refused as such. INSERT OR REPLACE would remove the old row without firing a DELETE trigger, so a row whose id or
-- number is already there is refused before conflict handling begins; and a number below one that readers may have passed is refused,
-- because a cursor would never see it.
CREATE TRIGGER core_event_log_refuse_update BEFORE UPDATE ON core_event_log
BEGIN
    SELECT RAISE(ABORT, 'core_event_log is append-only: UPDATE is refused');
END;

CREATE TRIGGER core_event_log_refuse_delete BEFORE DELETE ON core_event_log
BEGIN
    SELECT RAISE(ABORT, 'core_event_log is append-only: DELETE is refused');
END;

CREATE TRIGGER core_event_log_refuse_replace BEFORE INSERT ON core_event_log
WHEN EXISTS (SELECT 1 FROM core_event_log WHERE event_id = NEW.event_id)
  OR EXISTS (SELECT 1 FROM core_event_log WHERE sequence_number = NEW.sequence_number)
BEGIN
    SELECT RAISE(ABORT, 'core_event_log is append-only: a row with this event_id or sequence_number is already there');
END;

CREATE TRIGGER core_event_log_refuse_disorder AFTER INSERT ON core_event_log
WHEN EXISTS (SELECT 1 FROM core_event_log WHERE sequence_number > NEW.sequence_number)
BEGIN
    SELECT RAISE(ABORT, 'core_event_log is append-only: sequence numbers only rise; leave sequence_number to the database');
END;
