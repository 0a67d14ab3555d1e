-- Moving over from another dispatcher (requirement O25; ruling R39): its backlog is copied once, while that dispatcher holds the path of its types, and
-- afterwards no message can come in by this way. The steps are in the library, since SQLite has no functions of its own.

-- What was copied from where. `cut`: the last position that belongs to the backlog; `position`: up to where it is copied, in the order of positions.
CREATE TABLE {{p}}outbox_import (
    name        TEXT    NOT NULL PRIMARY KEY,
    holder      TEXT    NOT NULL,
    mapping     TEXT    NOT NULL, -- JSON in its canonical form
    cut         ANY,              -- NULL: the backlog is empty
    position    ANY,              -- NULL: nothing is copied yet
    total       INTEGER NOT NULL, -- rows up to the cut
    imported    INTEGER NOT NULL DEFAULT 0,
    recount     TEXT,             -- when it is finished: the query that counts the rows up to the cut and behind it once more
    started_us  INTEGER NOT NULL,
    finished_us INTEGER,
    user_name   TEXT    NOT NULL,
    reason      TEXT    NOT NULL,
    CONSTRAINT outbox_import_reason_given CHECK (reason <> '' AND user_name <> '')
) STRICT, WITHOUT ROWID;
