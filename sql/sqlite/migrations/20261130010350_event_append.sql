-- On PostgreSQL a procedure appends a batch on the server's side, so that the log's turn never waits for a client. Here appending runs in the same process as the
-- database: there is nothing to do. Recorded, so that both stores carry the same numbers.
SELECT 1;
