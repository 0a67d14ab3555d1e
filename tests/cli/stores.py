# cli: a folder with a store in it, ready for the tests of the verbs.
"""Scenes that several test files start from."""
import json
import sqlite3

from program import ROOT, Folder

TYPES = str(ROOT / "examples/types")
CORRELATION = "a1b2c3d4-e5f6-7890-abcd-ef1234567890"

ORDER_TYPE = {
    "tipo": "pedido.criado", "versao": "1.0.0", "descricao": "Um pedido", "status": "ativo",
    "schema": {
        "type": "object", "required": ["pedido"], "additionalProperties": False,
        "properties": {"pedido": {"type": "string", "x-redacao": "manter"},
                       "total": {"type": "number", "minimum": 0, "x-redacao": "manter"},
                       "cliente": {"type": "string", "x-redacao": "remover"}},
    },
}
# Another dispatcher's table, and what its columns mean.
FOREIGN_MAPPING = """
name: old-outbox
holder: old-relay
table: old_outbox
position: id
where: {status: pending}
fields:
  tenant_id: {value: acme}
  aggregate_type: {value: nota}
  aggregate_key: entity
  message_type: kind
  version: {value: 1.0.0}
  payload: body
  origin: {value: faturas}
  message_id: {derive: id}
"""


class Store(Folder):
    """An initialised SQLite store with the type pedido.criado, which needs no key."""

    def __enter__(self):
        super().__enter__()
        assert self.run("init").status == 0
        self.write("pedido.json", json.dumps(ORDER_TYPE))
        outcome = self.run("registry", "apply", "pedido.json")
        assert outcome.status == 0, outcome
        return self

    def publish(self, payload, *words, **more):
        if not isinstance(payload, (str, bytes)):
            payload = json.dumps(payload)
        return self.run("publish", "--type", "pedido.criado", "--origin", "loja", *words, stdin=payload, **more)

    def ndjson(self, lines, *words, **more):
        text = b"".join((line if isinstance(line, bytes) else
                         (line if isinstance(line, str) else json.dumps(line)).encode()) + b"\n" for line in lines)
        return self.run("publish", "--ndjson", *words, stdin=text, **more)

    def events(self, *words):
        """The rows of `events list`, parsed."""
        outcome = self.run("events", "list", "--json", *words)
        assert outcome.status == 0, outcome
        return json.loads(outcome.out)


class Producer(Folder):
    """SQLite outboxes, each NAME in NAME.db under the prefix NAME, whose messages go to `log`."""
    outboxes = ("billing",)

    def __enter__(self):
        super().__enter__()
        for name in self.outboxes:
            for words in (("install",), ("route", "*", "log")):
                outcome = self.outbox(name, *words)
                assert outcome.status == 0, outcome
        return self

    def outbox(self, name, *words, **more):
        return self.run("outbox", *words, "--store", f"sqlite:{name}.db", "--schema", name, **more)

    def sql(self, name, text, *values):
        db = sqlite3.connect(self.path / f"{name}.db", isolation_level=None, timeout=30)
        try:
            return db.execute(text, values).fetchall()
        finally:
            db.close()

    def say(self, name, key="42", kind="nota.emitida"):
        self.sql(name, f"INSERT INTO {name}_outbox_enqueue (tenant_id, aggregate_type, aggregate_key, message_type, version, payload, origin, "
                 "correlation_id) VALUES ('acme', 'nota', ?, ?, '1.0.0', '{}', ?, ?)", key, kind, name, CORRELATION)


def order(number, **more):
    return {"tipo": "pedido.criado", "origem": "loja", "payload": {"pedido": f"P-{number}"}, **more}


def parsed(text):
    """Every line of NDJSON."""
    return [json.loads(line) for line in text.splitlines()]
