-- What operators watch (requirement O15): see the query gauges.
CREATE INDEX {{p}}outbox_receipt_applied ON {{p}}outbox_receipt (id) WHERE fact = 'Applied';
