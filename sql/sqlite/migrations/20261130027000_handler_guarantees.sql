-- What each durable consumer's handler promises about an event that it has handled (rulings R34, R37). A row for each colony and group whose consumer ever had its
-- lease, written when a holder begins that says something else than the one before. None: its holder is of an earlier version, and a consumer that says
-- nothing is durable.
CREATE TABLE core_handler_guarantee (
    colonia     TEXT NOT NULL,
    grupo       TEXT NOT NULL,
    guarantee   TEXT NOT NULL -- atomic: once; durable: at least once, and a repeat has the event's id; best effort: neither
        CONSTRAINT core_handler_guarantee_known CHECK (guarantee IN ('atomic', 'durable', 'best effort')),
    because     TEXT, -- why no more than best effort
    declared_at TEXT NOT NULL,
    PRIMARY KEY (colonia, grupo),
    CONSTRAINT core_handler_guarantee_reason_given CHECK (guarantee <> 'best effort' OR because <> '')
) STRICT;
