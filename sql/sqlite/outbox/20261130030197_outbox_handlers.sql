-- What each destination's handler promises about a message that it accepted (rulings R34, R37). A row for each destination that a relay has served, written when a
-- relay begins that says something else than the one before. It tells operators what a repeat does there.
CREATE TABLE {{p}}outbox_handler (
    destination INTEGER NOT NULL PRIMARY KEY REFERENCES {{p}}outbox_destination (destination),
    guarantee   TEXT    NOT NULL, -- atomic: once; durable: at least once, and a repeat is known by its id; best effort: neither
    because     TEXT,             -- why no more than best effort
    worker      TEXT    NOT NULL, -- who declared it
    declared_us INTEGER NOT NULL,
    CONSTRAINT outbox_handler_guarantee_known CHECK (guarantee IN ('atomic', 'durable', 'best effort')),
    CONSTRAINT outbox_handler_reason_given CHECK (guarantee <> 'best effort' OR because <> '')
) STRICT;
