# serve: no privileged action succeeds unaudited (specification 001; field report G7): where the trail takes no row, nothing of the action is
# done, and once it does the same action is done and leaves its row. On either store, by the program and by the API.
import contextlib
import functools
import json
import re
import resource
import signal
import sqlite3
import subprocess

import server as serving
from server import KIND, Server, program, tap, test_postgres
from stores import FOREIGN_MAPPING, ORDER_TYPE, order, parsed

POSTGRES = KIND == "postgresql"
OUTBOX = ("--schema", "billing")
CORRELATION = "a8767a61-82e6-4978-b826-563ee88b6727"
ACCEPTED = "01a22b42-62b6-70d6-925b-e4ab243a1dc6"
TRAILS = ("core.audit_log", "billing.outbox_operation", "billing.outbox_upkeep", "billing.outbox_service_change")
VIEWED = {"lanes": "trilha.outbox-lane.viewed", "inbox": "trilha.inbox-message.viewed", "inbox/conflicts": "trilha.inbox-conflict.viewed"}
# That somebody works here, which is no action of an operator's: workers, how far an import is, a consumer's lease, what it promises and the place for its
# cursors.
PRESENCE = ("billing.outbox_worker", "billing.outbox_import", "core.consumer_lease", "core.handler_guarantee", "core.colony_schema", "core.fencing")
REASON = ("--reason", "ticket 7")
# Written by a migration, which is no operator's action; by a function of the library, in tests/conformance/test_delivery.c; when the trail is
# written again, below.
ELSEWHERE = {"trilha.audit-log.promoted", "trilha.event.redelivered", "trilha.audit-log.restored"}


def named(table):
    return table if POSTGRES else table.replace(".", "_")


class Scene:
    """A store with an outbox beside the log, seen from behind."""

    def __init__(self, server):
        self.server, self.store = server, server.store
        for words in (("install",), ("route", "*", "erp")):
            self.verb("outbox", *words)

    def sql(self, text):
        """Rows as tuples of texts."""
        if POSTGRES:
            out = test_postgres.psql(self.server.database.url, "-A", "-t", "-F", "\x1f", "-R", "\x1e", "-c", text)
            return [tuple(row.split("\x1f")) for row in out.rstrip("\n").split("\x1e") if row]
        with contextlib.closing(sqlite3.connect(self.store.path / "trilha.db", isolation_level=None, timeout=60)) as database:
            return [tuple(map(str, row)) for row in database.execute(text).fetchall()]

    def run(self, *words, **more):
        return self.store.run(*words, **more)

    def verb(self, noun, name, *words, status=0, **more):
        outcome = self.run(noun, name, *OUTBOX, *words, **more)
        assert outcome.status == status, outcome
        return outcome

    def say(self, key):
        values = f"('acme', 'invoice', '{key}', 'invoice.issued', '1.0.0', '{{\"total\": 1}}', 'billing', '{CORRELATION}'"
        if POSTGRES:
            self.sql(f"SELECT * FROM billing.outbox_enqueue{values}::uuid)")
        else:
            self.sql("INSERT INTO billing_outbox_enqueue (tenant_id, aggregate_type, aggregate_key, message_type, version, payload, origin, "
                     f"correlation_id) VALUES {values})")

    def dead_message(self, key):
        """The id of a message that its destination refused."""
        self.say(key)
        self.verb("worker", "run", "--destination", "erp", "--once", "--exec", "sh", "-c", "exit 65")
        return next(lane["message_id"] for lane in parsed(self.verb("outbox", "lanes", "--json").out) if lane["aggregate_key"] == key)

    def accept(self):
        when = "clock_timestamp() - interval '5 hours'" if POSTGRES else "(CAST(strftime('%s', 'now') AS INTEGER) - 18000) * 1000000"
        column = "accepted_at" if POSTGRES else "accepted_us"
        self.sql(f"INSERT INTO {named('billing.inbox_message')} (tenant_id, consumer, message_id, payload_sha256, {column}, result) "
                 f"VALUES ('acme', 'stock', '{ACCEPTED}', '{'0' * 64}', {when}, 'r-7')")

    def tables(self):
        if POSTGRES:
            known = self.sql("SELECT schemaname || '.' || tablename FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')")
        else:
            known = self.sql("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
        return sorted({row[0] for row in known} - set(map(named, PRESENCE)))

    def everything(self):
        """What every table holds, empty ones left out."""
        if POSTGRES:
            rows = self.sql(" UNION ALL ".join(f"SELECT '{table}', t::text FROM {table} t" for table in self.tables()))
        else:
            rows = [(table, row) for table in self.tables() for row in self.sql(f"SELECT * FROM {table}")]
        held = {}
        for table, row in rows:
            held.setdefault(table, []).append(row)
        return {table: sorted(rows) for table, rows in held.items()}

    def trail(self):
        """How often each action was written."""
        rows = self.sql(" UNION ALL ".join(f"SELECT action, count(*) FROM {named(table)} GROUP BY action" for table in TRAILS))
        return {action: int(count) for action, count in rows}

    @contextlib.contextmanager
    def full(self):
        """The trail takes no row."""
        if POSTGRES:
            self.sql("CREATE FUNCTION public.no_room() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no room' USING ERRCODE = "
                     "'53100'; END $$; " + "; ".join(f"CREATE TRIGGER no_room BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION "
                                                     "public.no_room()" for table in TRAILS))
        else:
            for table in map(named, TRAILS):
                self.sql(f"CREATE TRIGGER no_room_{table} BEFORE INSERT ON {table} BEGIN SELECT RAISE(ABORT, 'no room'); END")
        try:
            yield
        finally:
            if POSTGRES:
                self.sql("DROP FUNCTION public.no_room() CASCADE")
            else:
                for table in map(named, TRAILS):
                    self.sql(f"DROP TRIGGER no_room_{table}")


def refused_then_done(scene, action, act, unseen=lambda: True):
    """`act` says whether it was done."""
    before = scene.trail()
    with scene.full():
        held = scene.everything()
        assert not act(), f"{action} was done without its row"
        now = scene.everything()
        assert now == held and unseen(), (action, [table for table in now.keys() | held.keys() if now.get(table) != held.get(table)])
    assert act(), (f"{action} is not done even with room for its row", getattr(act, "said", None))
    after = scene.trail()
    assert after.get(action, 0) > before.get(action, 0), (action, before, after)
    return action


def command(scene, *words, unseen=None, **more):
    """A run of the program; what it says when refused tells nothing that `unseen` names."""
    def act():
        outcome = scene.run(*words, **more)
        act.said = outcome
        assert outcome.status == 0 or unseen is None or unseen not in outcome.out, outcome
        return outcome.status == 0
    return act


def outbox_actions(scene):
    message = scene.dead_message("42")
    at = (message, "--destination", "erp", *REASON, *OUTBOX)
    yield "trilha.outbox-message.revealed", command(scene, "outbox", "show", message, "--reveal", *REASON, *OUTBOX, unseen="total")
    scene.store.write("new.json", '{"total": 2}\n')
    yield "trilha.outbox-message.corrected", command(scene, "outbox", "correct", message, "new.json", *REASON, *OUTBOX)
    scene.verb("worker", "run", "--destination", "erp", "--once", "--exec", "sh", "-c", "exit 65")
    yield "trilha.outbox-message.retried", command(scene, "outbox", "retry", *at)
    scene.verb("worker", "run", "--destination", "erp", "--once", "--exec", "sh", "-c", "exit 65")
    yield "trilha.outbox-message.discarded", command(scene, "outbox", "discard", *at, "--reconciliation", "erp does not know it")
    scene.say("43")
    scene.verb("worker", "run", "--destination", "erp", "--once", "--stdout")
    yield "trilha.outbox-message.purged", command(scene, "purge", "run", "--messages", "0s", "--restore", "0s", *REASON, *OUTBOX)
    scene.accept()
    yield "trilha.inbox-message.purged", command(scene, "purge", "run", "--inbox", "2h", "--retry", "90m", "--restore", "0s", *REASON, *OUTBOX)


def registry_actions(scene):
    def applied(**changes):
        scene.store.write("other.json", json.dumps({**ORDER_TYPE, "tipo": "pedido.outro", **changes}))
        return command(scene, "registry", "apply", "other.json")
    yield "trilha.event-type.registered", applied()
    yield "trilha.event-type.described", applied(descricao="Outro pedido")
    yield "trilha.event-type.deprecated", command(scene, "registry", "deprecate", "pedido.outro")
    yield "trilha.event-type.reactivated", applied(descricao="Outro pedido", status="ativo")


def delivery_actions(scene):
    assert scene.store.ndjson([order(n) for n in range(3)]).status == 0
    failing = ("--each", "--shell", "touch called; exit 1")
    called, said = scene.store.path / "called", scene.store.path / "consume.log"

    def position():  # a consumer that finds the disk full goes on trying
        said.write_text("")
        running = scene.store.start("consume", "--type", "pedido.criado", "--from", "start", "--once", *failing, "--colony", "D-4",
                                    stderr="consume.log")
        try:
            scene.server.until(lambda: running.poll() is not None or "STORE_" in said.read_text())
        finally:
            running.terminate()
            running.communicate(timeout=program.TIMEOUT_S)
        return called.exists()
    yield "trilha.consumer.positioned", position
    called.unlink()
    reprocess = ("dlq", "reprocess", "--colony", "D-4")

    def attempt():
        scene.run(*reprocess, *failing)
        return called.exists()
    yield "trilha.dead-letter-queue.reprocessed", attempt

    def ask():  # nobody listens, which the program says in its own way
        asked = scene.trail()
        scene.run(*reprocess)
        return scene.trail() != asked
    yield "trilha.dead-letter-queue.reprocessed", ask
    scene.server.until(lambda: attempt() and parsed(scene.run("dlq", "list", "--json").out)[0]["status"] == "failed_permanent")
    letter = parsed(scene.run("dlq", "list", "--json").out)[0]
    yield "trilha.dead-letter.retried", command(scene, "dlq", "retry", letter["id"], *REASON)


def moving_actions(scene):
    scene.sql("CREATE TABLE old_outbox (id bigint PRIMARY KEY, entity text, kind text, body text, status text)")
    scene.sql("INSERT INTO old_outbox VALUES (1, 'k1', 'nota.emitida', '{}', 'pending')")
    scene.store.write("old.yaml", FOREIGN_MAPPING)
    yield "trilha.outbox-path.held", command(scene, "outbox", "hold", "nota.*", "--holder", "old-relay", *REASON, *OUTBOX)
    yield "trilha.outbox-message.imported", command(scene, "outbox", "import", "old.yaml", "--yes", *REASON, *OUTBOX)
    yield "trilha.outbox-path.taken", command(scene, "outbox", "take", "nota.*", *REASON, *OUTBOX)


def service_actions(scene):
    """The row is the grant; the outbox takes no message without one from then on."""
    credential = scene.sql("SELECT current_user")[0][0] if POSTGRES else "billing_relay"
    terms = (credential, "--destination", "erp", "--tenant", "acme", "--operation", "invoice.issued", *REASON, *OUTBOX)
    yield "trilha.service-grant.granted", command(scene, "service", "grant", *terms)
    yield "trilha.service-grant.revoked", command(scene, "service", "revoke", *terms)


def drain_action(scene):
    """Its worker beats meanwhile, so its row is looked at by itself."""
    scene.say("44")
    running = scene.store.start("worker", "run", "--destination", "erp", "--stdout", *OUTBOX)
    try:
        program.read_lines(running, 1)
        worker = parsed(scene.verb("worker", "list", "--json").out)[0]["worker"]

        def act():
            return scene.run("worker", "drain", worker, *REASON, *OUTBOX).status == 0

        def undrained():
            return parsed(scene.verb("worker", "list", "--json").out)[0]["drain_at"] is None and running.poll() is None
        with scene.full():
            assert not act() and undrained()
        assert undrained() and act()
        running.communicate(timeout=program.TIMEOUT_S)
    finally:
        if running.poll() is None:
            running.kill()
            running.communicate()
    assert scene.trail()["trilha.outbox-worker.drained"] == 1
    return "trilha.outbox-worker.drained"


def test_an_action_of_the_program_is_not_done_when_its_row_cannot_be_written():
    done = set()
    with Server() as server:
        server.stop()
        scene = Scene(server)
        for actions in (outbox_actions, registry_actions, delivery_actions, moving_actions):
            for each in actions(scene):
                done.add(refused_then_done(scene, *each))
        done.add(drain_action(scene))
        done.add(refused_then_done(scene, "trilha.token.issued", command(scene, "token", "issue", "dev.pem", unseen="ey")))
        for each in service_actions(scene):
            done.add(refused_then_done(scene, *each))
    written = set(re.findall(r"trilha\.[a-z-]+\.[a-z-]+(?=['\"])", "\n".join(
        path.read_text(encoding="utf-8") for folder in ("src", "sql") for path in (program.ROOT / folder).rglob("*.[chs]*")
        if not path.is_relative_to(program.ROOT / "src/otlp"))))
    assert done | ELSEWHERE | {"trilha.configuration.reloaded"} | set(VIEWED.values()) == written, (written ^ done)


def test_an_action_of_the_api_or_a_signal_is_not_done_when_its_row_cannot_be_written():
    with Server() as server:
        scene = Scene(server)
        url = server.database.url if POSTGRES else f"sqlite:{server.store.path}/trilha.db"
        server.stop()
        server.settings["sources"] = f"[{{name: billing, store: '{url}', schema: billing}}]"
        server.configure()
        server.start()
        for place, action in VIEWED.items():  # of all tenants at once
            refused_then_done(scene, action, functools.partial(lambda path: server.get(path).status == 200, "/api/v1/outbox/billing/" + place))
        assert server.store.ndjson([order(1)]).status == 0
        server.store.run("consume", "--colony", "D-4", "--type", "pedido.criado", "--from", "start", "--once", "--each", "--shell", "exit 1")
        text = (server.store.path / "trilha.yaml").read_text()
        server.store.write("trilha.yaml", text.replace("allow: [127.0.0.0/8]", "allow: []", 1))

        def reprocess():  # each from an address of its own: one a minute
            reprocess.client += 1
            connection = serving.http.client.HTTPConnection("127.0.0.1", server.api_port, timeout=60, source_address=(f"127.0.0.{reprocess.client}", 0))
            with contextlib.closing(connection):
                connection.request("POST", "/api/events/dlq/reprocessar", body='{"colonia": "D-4"}',
                                   headers={"Content-Type": "application/json", "Authorization": "Bearer " + server.token})
                answer = connection.getresponse()
                body = answer.read()
                assert answer.status == 200 or b'"STORE_' in body, (answer.status, body)
                return answer.status == 200
        reprocess.client = 1
        refused_then_done(scene, "trilha.dead-letter-queue.reprocessed", reprocess)
        refused_then_done(scene, "trilha.configuration.reloaded", server.reload,
                          unseen=lambda: server.get("/api/events").status == 200)
        assert server.get("/api/events").status == 403, "the new allowlist is in force"


@contextlib.contextmanager
def full_disk(scene, pid):
    """On SQLite no file of the server's grows any more, its log neither; a PostgreSQL server says that its disk is full."""
    if POSTGRES:
        with scene.full():
            yield
        return
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


class Patient(Server):
    """A server that is not killed for writing beyond its limit: it is told, as by a full disk."""

    def start(self):
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        run, subprocess.Popen = subprocess.Popen, functools.partial(subprocess.Popen, restore_signals=False)
        try:
            super().start()
        finally:
            subprocess.Popen = run


def test_G7_a_full_disk_does_nothing_unaudited_is_not_ready_and_needs_no_restart_afterwards():
    with Patient() as server:
        scene = Scene(server)
        server.until(lambda: server.status("/readyz").status == 200)
        with full_disk(scene, server.process.pid):
            held = scene.everything()
            answer = server.call("POST", "/api/events/dlq/reprocessar", body={"colonia": "D-4"})
            assert answer.status == 503 and answer.json()["code"] in ("STORE_FULL", "STORE_IO", "STORE_COMMIT_UNKNOWN"), answer
            assert server.status("/readyz").status == 503 and server.status("/livez").status == 200
            statusz = server.status("/statusz").json()
            assert server.metric("trilha_audit_writable") == 0 and server.metric("trilha_store_up") == 1
            assert statusz["ready"] is False and statusz["audit_error"] == answer.json()["code"] and statusz["store_error"] is None, statusz
            assert server.get("/api/events").status == 200, "what is there can be read"
            assert scene.everything() == held
        server.until(lambda: server.status("/readyz").status == 200)
        restored = server.get("/api/v1/audit-logs?action=trilha.audit-log.restored").json()["linhas"]
        assert [row["metadata"] for row in restored] == [{"error": answer.json()["code"]}], restored
        assert server.status("/statusz").json()["audit_error"] is None
        assert server.reload() and scene.trail()["trilha.configuration.reloaded"] == 1
        assert server.stop() == 0


if __name__ == "__main__":
    tap.run(globals())
