# A producer with an invoice and its outbox, and the inbox of a consumer.
{
  if [ -n "${TRILHA_STORE:-}" ]; then
    psql -X -q -v ON_ERROR_STOP=1 "$TRILHA_STORE" -c 'CREATE SCHEMA billing; CREATE SCHEMA shipping' \
      -c 'CREATE TABLE billing.invoice (id int PRIMARY KEY, state text)' -c "INSERT INTO billing.invoice VALUES (42, 'draft')"
    producer=$TRILHA_STORE
  else
    sqlite3 app.db "CREATE TABLE invoice (id INTEGER PRIMARY KEY, state TEXT); INSERT INTO invoice VALUES (42, 'draft')"
    producer=sqlite:app.db
  fi
  trilha outbox install --store "$producer" --schema billing
  trilha outbox install --store "$producer" --schema shipping
  trilha outbox route 'invoice.*' erp --store "$producer" --schema billing
  if [ -n "${TRILHA_STORE:-}" ]; then # what the page does in a file, because its credential would be a role of the whole server
    trilha outbox install --store sqlite:app.db --schema billing
    trilha outbox route 'invoice.*' erp --store sqlite:app.db --schema billing
  fi
} >/dev/null
