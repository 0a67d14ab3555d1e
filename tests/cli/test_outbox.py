# cli: outbox and worker: a producer that speaks plain SQL, destinations that break and are repaired (specification 001, rules 3 to 7).
import json
import os
import re
import signal
import sqlite3

import program
from program import ROOT, Folder, tap
from stores import Store, parsed

STORE = ("--store", "sqlite:app.db", "--schema", "billing")
CORRELATION = "a8767a61-82e6-4978-b826-563ee88b6727"


class Producer(Folder):
    """An outbox `billing` with the routes invoice.* to erp and * to log."""

    def __enter__(self):
        super().__enter__()
        for words in (("install",), ("route", "invoice.*", "erp"), ("route", "*", "log")):
            outcome = self.outbox(*words)
            assert outcome.status == 0, outcome
        return self

    def outbox(self, verb, *words, **env):
        return self.run("outbox", verb, *words, *STORE, **env)

    def say(self, key="42", kind="invoice.issued", payload=None):
        """One message in a transaction of the business program's own."""
        with sqlite3.connect(self.path / "app.db", isolation_level="IMMEDIATE") as db:
            db.execute("INSERT INTO billing_outbox_enqueue (tenant_id, aggregate_type, aggregate_key, message_type, version, payload, origin, "
                       "correlation_id) VALUES ('acme', 'invoice', ?, ?, '1.0.0', ?, 'billing', ?)",
                       (key, kind, json.dumps(payload or {"total": 1}), CORRELATION))
        db.close()

    def work(self, destination, *how):
        outcome = self.run("worker", "run", *STORE, "--destination", destination, "--once", *how)
        assert outcome.status == 0, outcome
        return outcome

    def lanes(self, *words):
        return parsed(self.outbox("lanes", "--json", *words).out)


def test_messages_reach_standard_output_as_lines_in_order():
    with Producer() as producer:
        for n in range(3):
            producer.say(payload={"n": n, "text": "duas\nlinhas"})
        lines = parsed(producer.work("log", "--stdout").out)
        assert [line["payload"]["n"] for line in lines] == [0, 1, 2]
        assert [(line["aggregate_sequence"], line["previous_sequence"]) for line in lines] == [("1", "0"), ("2", "1"), ("3", "2")]
        assert lines[0]["tenant_id"] == "acme" and lines[0]["correlation_id"] == CORRELATION and lines[0]["attempt"] == 1
        assert producer.work("log", "--stdout").out == ""


def test_lanes_of_a_held_type_are_told_as_held_with_what_ends_it_and_page_by_place():
    with Producer() as producer:
        for key in ("41", "42", "43"):
            producer.say(key=key)
        held = producer.outbox("hold", "invoice.*", "--holder", "old-relay", "--reason", "moving over")
        assert held.status == 0, held
        producer.work("erp", "--exec", "false")
        lanes = producer.lanes("--destination", "erp")
        assert [(lane["held"], lane["attempts"], lane["due_at"]) for lane in lanes] == [("PATH_HELD", 0, None)] * 3
        assert len(producer.lanes("--code", "PATH_HELD")) == 3 and producer.lanes("--code", "COMMAND_REFUSED") == []
        status = next(row for row in parsed(producer.outbox("status", "--json").out) if row["destination"] == "erp")
        assert (status["ready"], status["waiting"], status["held"], status["held_because"]) == (0, 0, 3, "PATH_HELD")
        table = producer.outbox("lanes", "--destination", "erp")
        assert "PATH_HELD" in table.out and "trilha outbox take" in table.err and "--after" not in table.err
        first = producer.outbox("lanes", "--destination", "erp", "--limit", "2")
        assert "--after 0" in first.err
        pages, after = [], "0"
        for most in (2, 1, 0):
            page = producer.lanes("--destination", "erp", "--limit", "2", "--after", after)
            assert len(page) == most
            pages += [lane["aggregate_key"] for lane in page]
            after = page[-1]["place"] if page else after
        assert sorted(pages) == ["41", "42", "43"]
        assert "--after" not in producer.outbox("lanes", "--destination", "erp", "--limit", "2", "--after", after).err
        assert producer.outbox("lanes", "--after", "soon").status == 2
        taken = producer.outbox("take", "invoice.*", "--reason", "it is off")
        assert taken.status == 0, taken
        assert [lane["held"] for lane in producer.lanes("--destination", "erp")] == [None] * 3


def test_lanes_are_counted_by_tenant_the_most_first():
    with Producer() as producer:
        assert "nothing is waiting" in producer.outbox("status", "--tenants").out
        for key in ("41", "42"):
            producer.say(key=key)
        with sqlite3.connect(producer.path / "app.db", isolation_level="IMMEDIATE") as db:
            db.execute("INSERT INTO billing_outbox_enqueue (tenant_id, aggregate_type, aggregate_key, message_type, version, payload, origin, "
                       "correlation_id) VALUES ('small', 'invoice', '1', 'other.kind', '1.0.0', '{}', 'billing', ?)", (CORRELATION,))
        db.close()
        assert parsed(producer.outbox("status", "--tenants", "--json").out) == [{"tenant_id": "acme", "lanes": 4}, {"tenant_id": "small", "lanes": 1}]
        assert re.search(r"TENANT +LANES\n-*\s*acme +4\nsmall +1", producer.outbox("status", "--tenants").out)


def test_a_program_that_refuses_blocks_the_lane_until_an_operator_retries():
    with Producer() as producer:
        producer.say()
        producer.say()
        producer.say(key="43")
        refused = producer.work("erp", "--exec", "sh", "-c", 'grep -q "\\"42\\"" && echo "no such customer" >&2 && exit 65; exit 0')
        assert "dead letters 1" in refused.err
        lane, = producer.lanes("--destination", "erp")
        assert lane["status"] == "DeadLettered" and lane["error_code"] == "COMMAND_REFUSED" and lane["error_text"] == "no such customer"
        assert lane["aggregate_key"] == "42" and lane["behind"] == 1 and lane["head_sequence"] == "1"
        table = producer.outbox("lanes").out
        assert "DeadLettered" in table and "no such customer" in table
        message = lane["message_id"]
        assert producer.outbox("retry", message, "--destination", "erp").status == 2  # a reason is needed
        told = producer.outbox("retry", message, "--destination", "erp", "--reason", "customer made", "--dry-run")
        assert told.status == 0 and "would be changed" in told.out and producer.lanes("--status", "DeadLettered") == [lane]
        assert producer.outbox("retry", message, "--destination", "erp", "--reason", "customer made").status == 0
        assert producer.outbox("retry", message, "--destination", "erp", "--reason", "twice").status == 1
        sent = parsed(producer.work("erp", "--exec", "cat").out)
        assert [line["aggregate_sequence"] for line in sent] == ["1", "2"] and sent[0]["message_id"] == message
        assert producer.lanes("--destination", "erp") == []


def test_a_discard_names_reason_and_reconciliation_and_shows_as_discarded():
    with Producer() as producer:
        producer.say()
        producer.say()
        producer.work("erp", "--exec", "sh", "-c", 'grep -q "\\"aggregate_sequence\\":\\"1\\"" && exit 65; exit 0')
        message = producer.lanes("--destination", "erp")[0]["message_id"]
        words = ("discard", message, "--destination", "erp", "--reason", "cancelled")
        refused = producer.outbox(*words)
        assert refused.status == 1 and "RECONCILIATION_MISSING" in refused.err, refused
        assert producer.outbox(*words, "--reconciliation", "erp does not know it").status == 0
        shown = {row["destination"]: row for row in parsed(producer.outbox("show", message, "--json").out)}
        assert shown["erp"]["status"] == "Discarded" and shown["log"]["status"] == "Pending"
        assert shown["erp"]["payload_bytes"] == len('{"total": 1}') and "payload" not in shown["erp"]
        sent, = parsed(producer.work("erp", "--stdout").out)
        assert sent["aggregate_sequence"] == "2" and sent["previous_sequence"] == "0"


REFUSING = ("--exec", "sh", "-c", "exit 65")


def test_a_correction_shows_its_diff_and_is_what_the_destination_gets():
    with Producer() as producer:
        producer.say(payload={"total": 1, "customer": "nobody"})
        producer.work("erp", *REFUSING)
        message = producer.lanes("--destination", "erp")[0]["message_id"]
        assert producer.outbox("show", message, "--reveal").status == 2  # a reason is needed
        revealed = producer.outbox("show", message, "--reveal", "--reason", "ticket 7").out
        content = json.loads(revealed)
        content["customer"] = "ana"
        (producer.path / "new.json").write_text(json.dumps(content) + "\n", encoding="utf-8")
        words = ("correct", message, "new.json", "--reason", "no such customer")
        assert producer.outbox("correct", message, "new.json").status == 2
        told = producer.outbox(*words, "--dry-run")
        assert told.status == 0 and "/customer" in told.out and "would have revision 2" in told.out and "ana" not in told.out
        done = json.loads(producer.outbox(*words, "--json", "--revision", "1").out)
        assert done == {"revision": 2, "revived": 1, "diff": [{"op": "replace", "path": "/customer"}]}
        late = producer.outbox(*words, "--revision", "1")
        assert late.status == 1 and "REVISION_CHANGED" in late.err, late
        first, second = parsed(producer.outbox("show", message, "--revisions", "--json").out)
        assert first["reason"] is None and second["reason"] == "no such customer" and second["diff"] == done["diff"]
        sent, = parsed(producer.work("erp", "--stdout").out)
        assert sent["payload"] == content and sent["message_id"] == message
        assert producer.outbox("correct", message, "-", "--reason", "late", stdin="[1]").status == 3


def test_what_a_destination_says_is_kept_apart_from_its_acknowledgement():
    with Producer() as producer:
        producer.say()
        producer.work("erp", "--stdout")
        message = parsed(producer.work("log", "--stdout").out)[0]["message_id"]

        def shown():
            return {row["destination"]: row for row in parsed(producer.outbox("show", message, "--json").out)}["erp"]
        assert shown()["status"] == "Dispatched" and shown()["dispatched_at"] and shown()["applied_at"] is None
        words = ("applied", message, "--destination", "erp", "--operation", "OP-7")
        assert producer.outbox(*words, "--at", "2026-11-30T10:00:00Z").status == 0
        assert "was known" in producer.outbox(*words, "--at", "2027-01-01T00:00:00Z").out
        assert shown()["applied_at"].startswith("2026-11-30T10:00:00") and shown()["received_at"] is None
        assert producer.outbox("applied", message, "--destination", "erp", "--received").status == 0
        assert producer.outbox("reconcile", message, "--destination", "erp", "--says", "Conflict", "--note", "other total").status == 0
        facts = parsed(producer.outbox("show", message, "--receipts", "--json").out)
        assert [fact["fact"] for fact in facts] == ["Applied", "Received", "Conflict"] and facts[0]["operation_id"] == "OP-7"
        assert producer.outbox("reconcile", message, "--destination", "erp", "--says", "Perhaps").status == 2


def test_many_dead_messages_are_listed_before_any_is_touched():
    with Producer() as producer:
        for key in ("1", "2", "3"):
            producer.say(key=key)
        producer.work("erp", *REFUSING)
        words = ("retry", "--destination", "erp", "--reason", "repaired", "--code", "COMMAND_REFUSED")
        told = producer.outbox(*words)
        assert told.status == 0 and "3 would be changed" in told.out and len(producer.lanes("--status", "DeadLettered")) == 3
        assert "0 changed" in producer.outbox(*words, "--before", "2020-01-01T00:00:00Z", "--yes").out
        assert "3 changed" in producer.outbox(*words, "--yes").out and producer.lanes("--status", "DeadLettered") == []
        producer.work("erp", *REFUSING)
        words = ("discard", "--destination", "erp", "--reason", "shut down", "--code", "COMMAND_REFUSED", "--yes")
        dead = [lane["message_id"] for lane in producer.lanes("--status", "DeadLettered")]
        assert producer.outbox("reconcile", dead[1], "--destination", "erp", "--says", "Refused").status == 0
        part = producer.outbox(*words)  # nobody asked the destination of the other two
        assert part.status == 1 and "1 changed; 2 failed, the first " + dead[0] in part.out and "RECONCILIATION_MISSING" in part.err
        tally = parsed(producer.outbox(*words, "--json").out)[-1]
        assert (tally["selected"], tally["done"], tally["failed"], tally["untried"]) == (2, 0, 2, 0) and tally["first_failed"] == dead[0]
        assert "2 changed" in producer.outbox(*words, "--override").out
        assert producer.outbox("retry", "--destination", "erp", "--reason", "nothing named").status == 2


def test_a_program_that_fails_hangs_or_cannot_be_run_is_tried_again():
    for command, code in ((("sh", "-c", "exit 3"), "COMMAND_FAILED"), (("sleep", "60"), "COMMAND_LATE"), (("/nonexistent",), "COMMAND_FAILED")):
        with Producer() as producer:
            producer.say()
            producer.run("worker", "run", *STORE, "--destination", "erp", "--once", "--timeout", "1", "--attempts", "1", "--exec", *command)
            lane, = producer.lanes("--destination", "erp")
            assert lane["error_code"] == code and lane["attempts"] == 1, lane


def test_the_bus_publishes_into_another_store_s_log_once():
    with Store() as store, Producer() as producer:
        producer.say(kind="pedido.criado", payload={"pedido": "P-1", "cliente": "Ana"})
        log = f"sqlite:{store.path}/trilha.db"
        producer.work("log", "--bus", "--log", log)
        event, = store.events()["linhas"]
        assert event["payload"] == {"pedido": "P-1"} and event["aggregate_key"] == "42" and event["origem"] == "billing"
        assert producer.lanes("--destination", "log") == []


def test_sigterm_ends_an_idle_worker_cleanly():
    with Producer() as producer:
        producer.say()
        running = producer.start("worker", "run", *STORE, "--destination", "log", "--stdout")
        assert json.loads(running.stdout.readline())["aggregate_sequence"] == "1"
        running.send_signal(signal.SIGTERM)
        _, err = running.communicate(timeout=program.TIMEOUT_S)
        assert running.returncode == 0 and b"sent 1" in err


def test_usage_errors_say_what_is_needed():
    with Producer() as producer:
        for words, said in ((("--stdout",), "--destination"), (("-d", "erp"), "--exec"), (("-d", "erp", "--bus", "--stdout"), "--exec"),
                            (("-d", "erp", "--stdout", "--lease", "15"), "15000"), (("-d", "nobody", "--stdout", "--once"), "no such destination")):
            outcome = producer.run("worker", "run", *STORE, *words)
            assert outcome.status in (1, 2) and said in outcome.err, outcome
        assert producer.run("outbox", "status", "--store", "sqlite:app.db").status != 0  # another prefix: not installed
        assert producer.outbox("grant", "app", "--duty", "relay").status == 1  # SQLite has no roles
        assert producer.outbox("route", "a*b", "erp").status == 3


def test_printed_sql_for_postgresql_is_of_the_named_schema_alone():
    with Folder() as folder:
        sql = folder.run("outbox", "install", "--store", "postgresql:", "--schema", "billing", "--print-sql").out
        assert 'CREATE TABLE "billing".outbox_message' in sql and "{{" not in sql and "COMMIT" in sql
        assert folder.run("outbox", "install", "--store", "postgresql:", "--print-sql").status == 2
        assert os.listdir(folder.path) == []


def test_the_documentation_s_sql_for_sqlite_is_accepted():
    text = (ROOT / "docs/outbox.md").read_text(encoding="utf-8")
    block = re.search(r"^INSERT INTO billing_outbox_enqueue.*?;", text, re.M | re.S).group(0)
    with Producer() as producer:
        db = sqlite3.connect(producer.path / "app.db")
        db.execute(block)
        db.commit()
        db.close()
        assert parsed(producer.work("erp", "--stdout").out)[0]["payload"] == {"total": "10.50"}


def service(producer, verb, *words, credential="billing-relay", tenant="acme", operation="invoice.issued"):
    return producer.run("service", verb, credential, *STORE, "--destination", "erp", "--tenant", tenant, "--operation", operation, "--reason", "contract 7",
                        *words)


def test_a_closed_outbox_sends_only_what_a_service_may_dispatch():
    with Producer() as producer:
        assert producer.run("service", "list", *STORE).out == "no grants: workers dispatch without a credential\n"
        assert service(producer, "grant", tenant="other").out == "billing-relay may now dispatch invoice.issued\n"
        producer.say()
        assert producer.work("erp", "--stdout", "--service", "billing-relay").out == ""
        lane, = producer.lanes("--destination", "erp")
        assert lane["status"] == "DeadLettered" and lane["error_code"] == "SERVICE_FORBIDDEN" and "trilha service grant" in lane["error_text"], lane
        assert service(producer, "grant").status == 0
        retried = producer.outbox("retry", "--destination", "erp", "--code", "SERVICE_FORBIDDEN", "--reason", "granted", "--yes")
        assert retried.status == 0, retried
        assert len(parsed(producer.work("erp", "--stdout", "--service", "billing-relay").out)) == 1
        producer.say()
        assert service(producer, "revoke").out == "billing-relay may no longer dispatch invoice.issued\n"
        assert service(producer, "revoke").out == "it stood so already: nothing was changed\n"
        assert producer.work("erp", "--stdout", "--service", "billing-relay").out == ""
        assert producer.work("erp", "--stdout").out == ""


def test_grants_are_listed_with_who_and_why():
    with Producer() as producer:
        assert service(producer, "grant").status == service(producer, "grant", "--company", "north").status == service(producer, "revoke").status == 0
        rows = parsed(producer.run("service", "list", *STORE, "--json").out)
        assert [(row["company_id"], row["status"], row["reason"]) for row in rows] == [(None, "revoked", "contract 7"), ("north", "granted", "contract 7")]
        assert all(row["user"] and row["at"].endswith("Z") and row["credential"] == "billing-relay" for row in rows), rows
        assert "invoice.issued" in producer.run("service", "list", *STORE).out


def test_a_grant_that_is_not_explicit_is_refused():
    with Producer() as producer:
        assert service(producer, "grant", operation="invoice.*").status == 3
        assert service(producer, "revoke").status == 1  # it was never given
        for missing in ("--tenant", "--destination", "--operation", "--reason"):
            words = ["--tenant", "acme", "--destination", "erp", "--operation", "invoice.issued", "--reason", "x"]
            at = words.index(missing)
            outcome = producer.run("service", "grant", "billing-relay", *STORE, *words[:at], *words[at + 2:])
            assert outcome.status == 2 and missing in outcome.err, outcome
        assert producer.run("service", "list", *STORE, "--json").out == ""


def test_what_a_destination_guarantees_is_listed():
    with Producer() as producer:
        assert [(row["destination"], row["guarantee"]) for row in parsed(producer.outbox("guarantees", "--json").out)] == [("erp", None), ("log", None)]
        producer.work("log", "--stdout")
        producer.work("erp", "--exec", "true")
        erp, log = parsed(producer.outbox("guarantees", "--json").out)
        assert erp["guarantee"] == "durable" and erp["because"] is None and log["guarantee"] == "best effort" and log["because"], (erp, log)
        assert "best effort" in producer.outbox("guarantees").out


if __name__ == "__main__":
    tap.run(globals())
