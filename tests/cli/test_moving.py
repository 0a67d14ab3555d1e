# cli: moving over from another dispatcher, and asking a destination (requirements O16, O25; rulings R31, R39).
import json
import sqlite3
import sys

from program import tap
from stores import FOREIGN_MAPPING, Producer, parsed


class Moving(Producer):
    """An outbox `billing` beside a foreign table with `rows` rows that wait."""

    def foreign(self, rows):
        db = sqlite3.connect(self.path / "billing.db")
        db.execute("CREATE TABLE old_outbox (id INTEGER PRIMARY KEY, entity TEXT, kind TEXT, body TEXT, status TEXT)")
        db.executemany("INSERT INTO old_outbox VALUES (?, ?, 'nota.emitida', ?, 'pending')", [(n, f"k{n % 3}", json.dumps({"n": n})) for n in range(1, rows + 1)])
        db.commit()
        db.close()
        self.write("old.yaml", FOREIGN_MAPPING)

    def worker(self, *words):
        return self.run("worker", "run", "--store", "sqlite:billing.db", "--schema", "billing", "--destination", "log", "--once", *words)


def test_a_backlog_moves_over_by_hold_import_and_take():
    with Moving() as moving:
        moving.foreign(20)
        assert moving.outbox("billing", "paths").out == "no other dispatcher holds a type\n"
        early = moving.outbox("billing", "import", "old.yaml")
        assert early.status == 1 and "IMPORT_PATH" in early.err and "trilha outbox hold" in early.err, early
        assert moving.outbox("billing", "hold", "nota.*", "--reason", "x").status == 2  # a holder is needed
        assert moving.outbox("billing", "hold", "nota.*", "--holder", "old-relay", "--reason", "moving").status == 0
        path, = parsed(moving.outbox("billing", "paths", "--json").out)
        assert (path["type_pattern"], path["holder"], path["reason"]) == ("nota.*", "old-relay", "moving") and path["user"], path
        try:
            moving.say("billing")
            raise AssertionError("a held type was enqueued")
        except sqlite3.IntegrityError as refused:
            assert "PATH_HELD" in str(refused) and "trilha outbox take" in str(refused), refused
        assert parsed(moving.outbox("billing", "import", "old.yaml", "--json").out) == [{"total": 20, "imported": 0, "finished": False, "dry_run": True}]
        assert moving.outbox("billing", "import", "old.yaml", "--yes").status == 2  # a reason is needed
        done = moving.outbox("billing", "import", "old.yaml", "--yes", "--reason", "moving", "--batch", "7")
        assert done.status == 0 and done.out == "20 imported, and nothing is left\n", done
        held = moving.worker("--stdout")
        assert held.status == 0 and held.out == "" and "relay.path_held" in held.err and held.err.count("old-relay") == 1, held
        lanes = parsed(moving.outbox("billing", "lanes", "--json").out)
        assert {(lane["error_code"], lane["attempts"]) for lane in lanes} == {("PATH_HELD", 0)} and "trilha outbox take" in lanes[0]["error_text"], lanes
        taken = moving.outbox("billing", "take", "nota.*", "--reason", "off")
        assert taken.status == 0 and "put aside: 3" in taken.out, taken
        sent = parsed(moving.worker("--stdout").out)
        for key in ("k0", "k1", "k2"):
            mine = [m for m in sent if m["aggregate_key"] == key]
            assert [int(m["aggregate_sequence"]) for m in mine] == list(range(1, len(mine) + 1)), mine
            assert [m["payload"]["n"] for m in mine] == sorted(m["payload"]["n"] for m in mine), mine
        assert len(sent) == 20
        again = moving.outbox("billing", "import", "old.yaml", "--yes", "--reason", "moving")
        assert again.status == 1 and "IMPORT_CLOSED" in again.err, again
        moving.say("billing")


def test_a_mapping_that_is_no_mapping_is_refused_with_what_is_wrong():
    with Moving() as moving:
        moving.foreign(1)
        for text, said in (("name: [", "old.yaml"), ("name: Old", "/name"), (FOREIGN_MAPPING.replace("payload: body", "payload: {value: x}"), "/fields/payload"),
                           (FOREIGN_MAPPING + "  sql: x\n", "/fields/sql is not known here"), (FOREIGN_MAPPING.replace("  message_id: {derive: id}\n", ""), "message_id")):
            moving.write("old.yaml", text)
            outcome = moving.outbox("billing", "import", "old.yaml")
            assert outcome.status == 3 and said in outcome.err, (text, outcome)
        moving.write("old.yaml", FOREIGN_MAPPING.replace("entity", "thing"))
        assert "no column thing" in moving.outbox("billing", "import", "old.yaml").err


# --- asking a destination -------------------------------------------------------------------------------------------------------

ASK = """#!/usr/bin/env python3
import json, sys
question = json.load(sys.stdin)
print(json.dumps(question), file=open("asked.ndjson", "a"))
print(json.dumps({"says": sys.argv[1], "operation": "erp-" + question["aggregate_sequence"], "note": sys.argv[2] if len(sys.argv) > 2 else "seen"}))
"""


class Dead(Moving):
    """Two lanes whose heads `log` refused for good."""

    def __enter__(self):
        super().__enter__()
        for key in ("a", "b"):
            self.say("billing", key)
        assert "dead letters 2" in self.worker("--exec", "sh", "-c", "cat >/dev/null; exit 65").err
        (self.path / "ask").write_text(ASK.replace("/usr/bin/env python3", sys.executable))
        (self.path / "ask").chmod(0o755)
        self.ids = [lane["message_id"] for lane in parsed(self.outbox("billing", "lanes", "--json").out)]
        return self

    def receipts(self):
        return self.sql("billing", "SELECT fact, operation_id, source, note FROM billing_outbox_receipt ORDER BY id")


def reconcile(dead, words, command):
    return dead.run("outbox", "reconcile", *words, "--store", "sqlite:billing.db", "--schema", "billing", "--destination", "log", "--exec", *command)


def test_a_command_is_asked_and_its_answer_is_recorded_for_a_discard():
    with Dead() as dead:
        outcome = reconcile(dead, (dead.ids[0],), ("./ask", "Unknown", "; touch nobody $(touch nobody)"))
        assert outcome.status == 0 and outcome.out == f"{dead.ids[0]} Unknown\n", outcome
        question, = parsed((dead.path / "asked.ndjson").read_text())
        assert question["message_id"] == dead.ids[0] and question["tenant_id"] == "acme" and question["destination"] == "log", question
        assert question["operation_ids"] == [] and question["status"] == "DeadLettered" and len(question["payload_sha256"]) == 64, question
        assert "payload" not in question
        assert dead.receipts() == [("Unknown", "erp-1", "query", "; touch nobody $(touch nobody)")]
        assert not (dead.path / "nobody").exists()  # no shell was there
        reconcile(dead, (dead.ids[0],), ("./ask", "Refused"))
        assert parsed((dead.path / "asked.ndjson").read_text())[1]["operation_ids"] == ["erp-1"]
        assert dead.outbox("billing", "discard", dead.ids[0], "--destination", "log", "--reason", "it is refused there").status == 0
        assert dead.sql("billing", "SELECT reconciliation FROM billing_outbox_operation") == [("Refused: seen",)]


def test_a_selection_is_asked_message_by_message():
    with Dead() as dead:
        outcome = reconcile(dead, ("--code", "COMMAND_REFUSED"), ("./ask", "Applied"))
        assert outcome.status == 0 and outcome.out.splitlines()[-1] == "2 recorded, 0 known, 0 not answered", outcome
        assert reconcile(dead, ("--code", "COMMAND_REFUSED"), ("./ask", "Applied")).out.splitlines()[-1] == "0 recorded, 2 known, 0 not answered"
        assert reconcile(dead, ("--code", "OTHER"), ("false",)).out == "0 recorded, 0 known, 0 not answered\n"
        failed = reconcile(dead, ("--code", "COMMAND_REFUSED"), ("false",))
        assert failed.status != 0 and "2 not answered" in failed.out and "exit status 1" in failed.err, failed


def test_an_answer_that_is_late_long_or_not_understood_records_nothing():
    with Dead() as dead:
        for command, code in ((("false",), "COMMAND_FAILED"), (("/nowhere/ask",), "COMMAND_FAILED"), (("sh", "-c", "echo '{\"says\": \"Applied\"}'; exit 3"), "COMMAND_FAILED"),
                              (("echo", "Applied"), "ANSWER_INVALID"), (("echo", "[]"), "ANSWER_INVALID"), (("true",), "ANSWER_INVALID"),
                              (("echo", '{"says": "Perhaps"}'), ""), (("yes",), "ANSWER_INVALID"), (("sh", "-c", "kill -9 $$"), "COMMAND_FAILED"),
                              (("sleep", "3600"), "COMMAND_LATE")):
            outcome = reconcile(dead, (dead.ids[0], "--timeout", "1" if command[0] == "sleep" else "60"), command)
            assert outcome.status != 0 and code in outcome.err, (command, outcome)
        assert dead.receipts() == []
        refused = dead.outbox("billing", "discard", dead.ids[0], "--destination", "log", "--reason", "x")
        assert refused.status == 1 and "RECONCILIATION_MISSING" in refused.err, refused


def test_what_is_said_and_what_is_asked_are_not_mixed():
    with Dead() as dead:
        for words, command in (((dead.ids[0], "--says", "Applied"), ("true",)), ((dead.ids[0], "--note", "x"), ("true",)), ((), ("true",)),
                               ((dead.ids[0], "--code", "X"), ("true",)), ((dead.ids[0], "--timeout", "3601"), ("true",)),
                               ((dead.ids[0], "--timeout", "9223372036854775807"), ("true",))):
            assert reconcile(dead, words, command).status == 2, words
        assert dead.outbox("billing", "reconcile", dead.ids[0], "--destination", "log").status == 2
        assert dead.outbox("billing", "reconcile", "--destination", "log", "--says", "Applied").status == 2
        assert dead.outbox("billing", "reconcile", dead.ids[0], "--destination", "log", "--says", "Applied").status == 0


if __name__ == "__main__":
    tap.run(globals())
