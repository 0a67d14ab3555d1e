# serve: an outbox that a running server knows as a registered source.
import base64
import hashlib
import hmac
import sqlite3
import time

from server import KIND, test_postgres

CORRELATION = "a8767a61-82e6-4978-b826-563ee88b6727"
REFUSING = ("--exec", "sh", "-c", 'grep -q "\\"refused\\"" && exit 65; exit 0')


SECRET = "whsec_" + base64.b64encode(b"0123456789abcdef0123456789abcdef").decode()
CALLBACK = "/api/v1/outbox/billing/callbacks/erp"


def signed(body, *secrets, message="msg_1", at=None):
    """The headers of Standard Webhooks for this body."""
    at = str(int(time.time()) if at is None else at)
    signatures = []
    for secret in secrets or (SECRET,):
        key = base64.b64decode(secret[len("whsec_"):])
        digest = hmac.new(key, f"{message}.{at}.".encode() + body.encode(), hashlib.sha256).digest()
        signatures.append("v1," + base64.b64encode(digest).decode())
    return {"webhook_id": message, "webhook_timestamp": at, "webhook_signature": " ".join(signatures), "Content_Type": "application/json"}


def callback_of(server, *secrets, allow="127.0.0.0/8"):
    """What lets erp call back: for `more` of an Outbox. The secrets are in erp.secret."""
    path = server.store.write("erp.secret", "\n".join(secrets or (SECRET,)) + "\n")
    (server.store.path / "erp.secret").chmod(0o600)
    return f", callbacks: [{{destination: erp, secret_file: '{path}', allow: [{allow}]}}]"


class Outbox:
    """An outbox `billing` in the server's own database, whose messages go to `erp`, registered there."""

    def __init__(self, server, status="", more=""):
        self.server, store = server, server.store
        self.url = server.database.url if server.database else f"sqlite:{store.path}/trilha.db"
        for words in (("install",), ("route", "*", "erp")):
            outcome = store.run("outbox", *words, "--store", self.url, "--schema", "billing")
            assert outcome.status == 0, outcome
        server.stop()
        server.settings["sources"] = f"[{{name: billing, store: '{self.url}', schema: billing{more}}}]"
        server.settings["status"] = status
        server.configure()
        server.start()

    def say(self, tenant, key, payload="{}"):
        """Enqueues as a producer would; the message's id."""
        values = f"('{tenant}', 'invoice', '{key}', 'invoice.issued', '1.0.0', '{payload}', 'billing', '{CORRELATION}'"
        if KIND == "postgresql":
            return test_postgres.psql(self.url, "-At", "-c", f"SELECT message_id FROM billing.outbox_enqueue{values}::uuid)").strip()
        db = sqlite3.connect(self.url[len("sqlite:"):], isolation_level=None, timeout=30)
        db.execute("INSERT INTO billing_outbox_enqueue (tenant_id, aggregate_type, aggregate_key, message_type, version, payload, origin, "
                   f"correlation_id) VALUES {values})")
        message_id, = db.execute("SELECT message_id FROM billing_outbox_message ORDER BY rowid DESC LIMIT 1").fetchone()
        db.close()
        return message_id

    def say_for_many(self, tenants):
        """One message of each: tenant-1 and so on."""
        values = f"'invoice', '1', 'invoice.issued', '1.0.0', '{{}}', 'billing', '{CORRELATION}'"
        if KIND == "postgresql":
            test_postgres.psql(self.url, "-At", "-c", f"SELECT count(*) FROM generate_series(1, {tenants}) i, "
                               f"LATERAL billing.outbox_enqueue('tenant-' || i, {values}::uuid)")
            return
        db = sqlite3.connect(self.url[len("sqlite:"):], timeout=30)
        for i in range(tenants):
            db.execute("INSERT INTO billing_outbox_enqueue (tenant_id, aggregate_type, aggregate_key, message_type, version, payload, origin, "
                       f"correlation_id) VALUES ('tenant-{i}', {values})")
        db.commit()
        db.close()

    def ask(self, sql):
        """Rows of a query on the producer's tables, as texts; {p} stands before their names."""
        if KIND == "postgresql":
            rows = test_postgres.psql(self.url, "-At", "-F", "\t", "-c", sql.format(p="billing."))
            return [tuple(line.split("\t")) for line in rows.splitlines()]
        db = sqlite3.connect(self.url[len("sqlite:"):], isolation_level=None, timeout=30)
        rows = [tuple("" if value is None else str(value) for value in row) for row in db.execute(sql.format(p="billing_"))]
        db.close()
        return rows

    def trail(self):
        """What operators did, in order: (action, user, reason)."""
        return self.ask("SELECT action, user_name, reason FROM {p}outbox_operation ORDER BY id")

    def messages(self):
        return int(self.ask("SELECT count(*) FROM {p}outbox_message")[0][0])

    def work(self, *words):
        outcome = self.server.store.run("worker", "run", "--store", self.url, "--schema", "billing", "--destination", "erp", "--once",
                                        *(words or REFUSING))
        assert outcome.status == 0, outcome

    def metric(self, name, labels=""):
        return self.server.metric(f'trilha_{name}{{source="billing"{labels}}}')
