-- Which workers deliver this outbox, and what operators do to the outbox as a whole (specification 001, rules 7 and 8). Times are the machine's clock.

-- A row while a relay runs. `worker` is the owner of its leases. One that says nothing until expected_us has ended without a word, or cannot use the
-- file; its leases run out by themselves, and its row goes away a day later.
CREATE TABLE {{p}}outbox_worker (
    worker       TEXT    NOT NULL PRIMARY KEY,
    destinations TEXT    NOT NULL,
    threads      INTEGER NOT NULL,
    started_us   INTEGER NOT NULL,
    seen_us      INTEGER NOT NULL,
    expected_us  INTEGER NOT NULL,
    drain_us     INTEGER, -- since when it is asked to finish what it holds and to take no more
    drain_user   TEXT,
    drain_reason TEXT,
    holds        TEXT NOT NULL DEFAULT '{}' -- JSON: of each destination why its lanes are left alone, '' when they are not
) STRICT, WITHOUT ROWID;

-- What was done to the outbox as a whole, insert-only; what was done to one message is in outbox_operation.
CREATE TABLE {{p}}outbox_upkeep (
    id            INTEGER NOT NULL PRIMARY KEY,
    at_us         INTEGER NOT NULL,
    action        TEXT    NOT NULL,
    subject       TEXT    NOT NULL, -- the worker, or what was purged
    older_than_us INTEGER,          -- of a purge
    row_count     INTEGER,
    user_name     TEXT    NOT NULL,
    reason        TEXT    NOT NULL,
    CONSTRAINT outbox_upkeep_action_known CHECK (action IN ('trilha.outbox-worker.drained', 'trilha.outbox-message.purged',
        'trilha.inbox-message.purged', 'trilha.outbox-path.held', 'trilha.outbox-path.taken', 'trilha.outbox-message.imported')),
    CONSTRAINT outbox_upkeep_purge_counted CHECK (action NOT LIKE '%.purged' OR (older_than_us IS NOT NULL AND row_count IS NOT NULL)),
    CONSTRAINT outbox_upkeep_reason_given CHECK (reason <> '' AND user_name <> '')
) STRICT;
CREATE TRIGGER {{p}}outbox_upkeep_no_update BEFORE UPDATE ON {{p}}outbox_upkeep BEGIN
    SELECT RAISE(ABORT, 'outbox_upkeep is insert-only: UPDATE refused');
END;
CREATE TRIGGER {{p}}outbox_upkeep_no_delete BEFORE DELETE ON {{p}}outbox_upkeep BEGIN
    SELECT RAISE(ABORT, 'outbox_upkeep is insert-only: DELETE refused');
END;

-- What all workers have done since the outbox was made, as they told with their beats.
CREATE TABLE {{p}}outbox_total (
    id           INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    sent         INTEGER NOT NULL,
    failed       INTEGER NOT NULL,
    dead_letters INTEGER NOT NULL,
    fenced       INTEGER NOT NULL
) STRICT;
INSERT INTO {{p}}outbox_total (id, sent, failed, dead_letters, fenced) VALUES (1, 0, 0, 0, 0);
