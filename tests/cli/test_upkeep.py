# cli: inbox, workers and purge (requirements O5, O16, O17, O20).
import re
import signal
import sqlite3

import program
from program import Folder, tap
from stores import parsed

STORE = ("--store", "sqlite:app.db", "--schema", "billing")
CORRELATION = "a8767a61-82e6-4978-b826-563ee88b6727"
MESSAGE = "01a22b42-62b6-70d6-925b-e4ab243a1dc6"
FIRST, OTHER = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a", "0" * 64


class Producer(Folder):
    """An outbox `billing` whose messages go to `log`."""

    def __enter__(self):
        super().__enter__()
        for words in (("install",), ("route", "*", "log")):
            outcome = self.run("outbox", *words, *STORE)
            assert outcome.status == 0, outcome
        return self

    def sql(self, text, *values):
        db = sqlite3.connect(self.path / "app.db", isolation_level=None, timeout=30)
        try:
            return db.execute(text, values).fetchall()
        finally:
            db.close()

    def say(self, key="42"):
        self.sql("INSERT INTO billing_outbox_enqueue (tenant_id, aggregate_type, aggregate_key, message_type, version, payload, origin, correlation_id) "
                 "VALUES ('acme', 'invoice', ?, 'invoice.issued', '1.0.0', '{}', 'billing', ?)", key, CORRELATION)

    def accept(self, hours_ago=0):
        self.sql("INSERT INTO billing_inbox_message (tenant_id, consumer, message_id, payload_sha256, accepted_us, result) "
                 "VALUES ('acme', 'stock', ?, ?, (CAST(strftime('%s', 'now') AS INTEGER) - ? * 3600) * 1000000, 'r-7')", MESSAGE, FIRST, hours_ago)
        for outcome, digest in (("duplicate", FIRST), ("conflict", OTHER)):
            self.sql("INSERT INTO billing_inbox_repeat (tenant_id, consumer, message_id, outcome, payload_sha256, at_us) "
                     "VALUES ('acme', 'stock', ?, ?, ?, (CAST(strftime('%s', 'now') AS INTEGER) - ? * 3600) * 1000000)", MESSAGE, outcome, digest,
                     hours_ago)

    def verb(self, noun, name, *words):
        return self.run(noun, name, *words, *STORE)


def test_the_inbox_is_listed_with_its_repeats_and_its_conflicts():
    with Producer() as producer:
        assert producer.verb("inbox", "list").out == "nothing was accepted\n"
        assert producer.verb("inbox", "conflicts").out == "no conflicts\n"
        producer.accept()
        row, = parsed(producer.verb("inbox", "list", "--json").out)
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", row.pop("accepted_at"))
        place = row.pop("place")
        assert row == {"tenant_id": "acme", "consumer": "stock", "message_id": MESSAGE, "payload_sha256": FIRST, "result_bytes": 3, "duplicates": 1,
                       "conflicts": 1}
        conflict, = parsed(producer.verb("inbox", "conflicts", "--json", "--consumer", "stock", "--tenant", "acme", "--message", MESSAGE).out)
        assert (conflict["accepted_sha256"], conflict["received_sha256"]) == (FIRST, OTHER)
        assert MESSAGE in producer.verb("inbox", "conflicts").out and "r-7" not in producer.verb("inbox", "list").out
        assert producer.verb("inbox", "list", "--consumer", "freight").out == "nothing was accepted\n"
        assert producer.verb("inbox", "list", "--message", "seven").status == 3
        assert producer.verb("inbox", "list", "--after", place).out == "nothing was accepted\n"  # the next page
        assert producer.verb("inbox", "conflicts", "--after", conflict["place"]).out == "no conflicts\n"
        assert producer.verb("inbox", "list", "--after", "seven").status == 3


def test_a_worker_is_listed_and_ends_when_it_is_drained():
    with Producer() as producer:
        assert producer.verb("worker", "list").out == "no worker is registered\n"
        producer.say()
        running = producer.start("worker", "run", *STORE, "--destination", "log", "--stdout")
        try:
            program.read_lines(running, 1)
            worker, = parsed(producer.verb("worker", "list", "--json").out)
            assert worker["status"] == "running" and worker["destinations"] == "log" and worker["drain_at"] is None, worker
            assert f":{running.pid}:" in worker["worker"] and worker["worker"] in producer.verb("worker", "list").out
            assert producer.verb("worker", "drain", worker["worker"]).status == 2  # a reason is needed
            assert producer.verb("worker", "drain", "nobody:1:2", "--reason", "x").status == 1
            asked = producer.verb("worker", "drain", worker["worker"], "--reason", "new release")
            assert asked.status == 0 and "within 5 s" in asked.out, asked
            _, err = running.communicate(timeout=program.TIMEOUT_S)
            assert running.returncode == 0 and b"sent 1" in err and b"drain" in err, err
        finally:
            if running.poll() is None:
                running.send_signal(signal.SIGKILL)
                running.wait()
        assert producer.verb("worker", "list").out == "no worker is registered\n"
        assert producer.sql("SELECT action, subject, reason FROM billing_outbox_upkeep") == [
            ("trilha.outbox-worker.drained", worker["worker"], "new release")]


def test_a_purge_is_planned_then_run_and_leaves_its_trail():
    with Producer() as producer:
        for key in ("1", "2", "2"):
            producer.say(key)
        assert producer.run("worker", "run", *STORE, "--destination", "log", "--once", "--stdout").status == 0
        producer.say("3")
        producer.accept(hours_ago=5)
        words = ("--messages", "0s", "--inbox", "2h", "--retry", "90m", "--restore", "0s")
        plan = parsed(producer.verb("purge", "plan", "--json", *words).out)
        assert [(part["what"], part["rows"]) for part in plan] == [("messages", 3), ("inbox", 1)]
        assert producer.verb("purge", "run", *words).status == 2  # a reason is needed
        done = parsed(producer.verb("purge", "run", "--json", *words, "--batch", "1", "--reason", "monthly").out)
        assert done == plan
        assert producer.sql("SELECT aggregate_key FROM billing_outbox_message") == [("3",)]
        assert producer.sql("SELECT count(*) FROM billing_inbox_message") == [(0,)]
        assert producer.sql("SELECT action, sum(row_count) FROM billing_outbox_upkeep WHERE reason = 'monthly' GROUP BY action ORDER BY action") == [
            ("trilha.inbox-message.purged", 1), ("trilha.outbox-message.purged", 3)]
        table = producer.verb("purge", "plan", *words).out
        assert table.splitlines()[0].split() == ["WHAT", "ROWS", "OLDEST", "NEWEST"] and table.splitlines()[1].split() == ["messages", "0", "-", "-"]


def test_a_purge_that_is_interrupted_says_so_by_its_exit_status():
    with Producer() as producer:
        for _ in range(3):
            producer.say()
        assert producer.run("worker", "run", *STORE, "--destination", "log", "--once", "--stdout").status == 0
        # Somebody holds the writers' turn: the purge waits in its first transaction until it was interrupted.
        db = sqlite3.connect(producer.path / "app.db", isolation_level=None)
        db.execute("BEGIN IMMEDIATE")
        running = producer.start("purge", "run", *STORE, "--messages", "0s", "--restore", "0s", "--batch", "1", "--reason", "monthly")
        try:
            program.wait_until_caught(running.pid, signal.SIGTERM)
            running.send_signal(signal.SIGTERM)
            program.wait_until_handled_once(running.pid, signal.SIGTERM)
            db.execute("COMMIT")
            out, err = running.communicate(timeout=program.TIMEOUT_S)
        finally:
            db.close()
            if running.poll() is None:
                running.send_signal(signal.SIGKILL)
                running.wait()
        assert running.returncode == 1 and b"stopped as asked" in err and b"messages" in out, (running.returncode, out, err)
        assert producer.sql("SELECT count(*) FROM billing_outbox_message") == [(2,)]
        assert producer.verb("purge", "run", "--messages", "0s", "--restore", "0s", "--reason", "monthly").status == 0
        assert producer.sql("SELECT count(*) FROM billing_outbox_message") == [(0,)]


def test_a_purge_says_which_windows_do_not_fit_and_what_is_missing():
    with Producer() as producer:
        for words, status, said in (
                ((), 2, "--messages"), (("--messages", "30d"), 2, "--restore"), (("--inbox", "30d", "--restore", "1d"), 2, "--retry"),
                (("--messages", "thirty", "--restore", "1d"), 2, "--messages takes"), (("--messages", "99999999d", "--restore", "1d"), 2, "36500d"),
                (("--messages", "1d", "--restore", "2d"), 2, "172800000 ms"),
                (("--inbox", "1d", "--restore", "2d", "--retry", "1h"), 2, "176400000 ms")):
            outcome = producer.verb("purge", "plan", *words)
            assert outcome.status == status and said in outcome.err, (words, outcome)


def sources(producer, text):
    producer.write("trilha.yaml", "sources:\n" + text)


def test_registered_sources_are_listed_without_their_passwords():
    with Producer() as producer:
        assert producer.run("source", "list").out == "the configuration registers no source\n"
        sources(producer, "  - {name: billing, store: 'sqlite:app.db', schema: billing, destinations: [log]}\n"
                          "  - {name: stock, store: 'postgresql://u:secret@h/app', schema: stock, lease_ms: 45000}\n")
        billing, stock = parsed(producer.run("source", "list", "--json").out)
        assert billing["schema"] == "billing" and billing["destinations"] == "log" and billing["lease_ms"] == 30000
        assert stock["store"] == "postgresql://u:****@h/app" and stock["lease_ms"] == 45000
        assert "secret" not in producer.run("source", "list").out
        assert len(parsed(producer.run("source", "list", "stock", "--json").out)) == 1
        unknown = producer.run("source", "list", "nobody")
        assert unknown.status == 1 and "SOURCE_NOT_FOUND" in unknown.err, unknown


def findings(producer, *words):
    outcome = producer.run("source", "check", "--json", *words)
    return outcome.status, {row["check"]: row["text"] for row in parsed(outcome.out) if not row["ok"]}


def test_a_source_check_says_what_is_wrong_and_what_mends_it():
    with Producer() as producer:
        sources(producer, "  - {name: billing, store: 'sqlite:app.db', schema: billing, destinations: [log]}\n")
        assert findings(producer) == (0, {})
        assert "ok" in producer.run("source", "check").out
        for setting, check, said in (
                ("lease_ms: 15000", "delivery windows", "more than 15000 ms"), ("inbox_days: 43", "retention windows", "3801600000 ms"),
                ("messages_days: 13", "retention windows", "1209600000 ms"), ("destinations: [log, erp]", "destinations", "trilha outbox route PATTERN erp"),
                ("schema: other", "version", "trilha outbox install --schema other"), ("store: 'sqlite:/nowhere/app.db'", "reachable", "")):
            line = {"name": "name: billing", "store": "store: 'sqlite:app.db'", "schema": "schema: billing"}
            line[setting.split(":")[0]] = setting
            sources(producer, "  - {" + ", ".join(line.values()) + "}\n")
            status, found = findings(producer)
            assert status == 1 and list(found) == [check] and said in found[check], (setting, status, found)


if __name__ == "__main__":
    tap.run(globals())
