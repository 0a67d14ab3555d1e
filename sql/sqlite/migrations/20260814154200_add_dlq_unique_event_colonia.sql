-- One dead letter per event and colony (specification 000, section 2; ruling R13).
CREATE UNIQUE INDEX core_dead_letter_queue_event_id_colonia_key ON core_dead_letter_queue (event_id, colonia);
