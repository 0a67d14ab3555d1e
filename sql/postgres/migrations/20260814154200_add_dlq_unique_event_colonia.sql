-- Specification 000, section 2: one dead letter per event and colony.
CREATE UNIQUE INDEX dead_letter_queue_event_id_colonia_key ON core.dead_letter_queue (event_id, colonia);
