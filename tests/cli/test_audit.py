# cli: the audit trail, and the vocabulary of its actions, our own constants among them.
import json
import re
import sqlite3

from program import ROOT, run, tap
from stores import Store, order, parsed


def test_list_shows_who_did_what():
    with Store() as store:
        entry = parsed(store.run("audit", "list", "--json").out)[0]
        assert entry["action"] == "trilha.event-type.registered" and entry["entity_id"] == "pedido.criado@1.0.0", entry
        assert entry["user"] and isinstance(entry["metadata"], dict)
        shown = store.run("audit", "list", "--action", entry["action"])
        assert shown.status == 0 and "trilha.event-type.registered" in shown.out, shown
        assert parsed(store.run("audit", "list", "--json", "--to", "2020-01-01").out) == []
        assert store.run("audit", "list", "--from", "soon").status == 2


def test_lint_tells_what_is_of_the_vocabulary():
    good = ["nexio.approval.granted", "nexio.bank-account.authorized", "gryd-messaging.outbox.retried", "a.b.sent"]
    outcome = run("audit", "lint", *good)
    assert outcome.status == 0 and outcome.out.count(": ok") == len(good), outcome
    for wrong in ("nexio.approval.grant", "nexio.granted", "Nexio.approval.granted", "a.b.c.granted", "", "a." + "b" * 80 + ".sent"):
        assert run("audit", "lint", wrong).status == 3, wrong
    rows = parsed(run("audit", "lint", "--json", "a.b.sent", "a.b.send").out)
    assert [row["valid"] for row in rows] == [True, False], rows


def test_a_token_is_audited_before_it_is_shown():
    with Store() as store:
        outcome = store.run("token", "issue", "dev.pem", "--subject", "ana", "--role", "viewer")
        assert outcome.status == 0 and outcome.out.count(".") == 2, outcome
        entry = parsed(store.run("audit", "list", "--json", "--action", "trilha.token.issued").out)[0]
        assert (entry["entity"], entry["entity_id"], entry["change_type"]) == ("token", "ana", "Created"), entry
        assert entry["metadata"]["role"] == "viewer" and entry["metadata"]["key"] == "dev.pem", entry
        assert outcome.out.strip() not in json.dumps(entry)
        outcome = store.run("token", "issue", "dev.pem", "--store", "sqlite:elsewhere.db")
        assert outcome.status != 0 and outcome.out == "", "a token that cannot be audited is not handed out"
        assert len(parsed(store.run("audit", "list", "--json", "--action", "trilha.token.issued").out)) == 1


def failed_letters(store, count):
    """That many dead letters of D-4."""
    assert store.ndjson([order(n) for n in range(count)]).status == 0
    store.run("consume", "--colony", "D-4", "--type", "pedido.criado", "--from", "start", "--once", "--each", "--shell", "exit 1")
    return [letter["id"] for letter in parsed(store.run("dlq", "list", "--json").out)]


def reprocesses(store):
    return parsed(store.run("audit", "list", "--json", "--action", "trilha.dead-letter-queue.reprocessed").out)


def test_a_reprocess_is_audited_when_it_takes_something():
    with Store() as store:
        run_it = ("dlq", "reprocess", "--colony", "D-4", "--each", "--shell", "true")
        assert store.run(*run_it).status == 0 and not reprocesses(store), "nothing was there to take"
        letters = failed_letters(store, 2)
        assert len(letters) == 2
        outcome = store.run(*run_it)
        assert outcome.status == 0, outcome
        rows = reprocesses(store)
        assert [row["metadata"]["dead_letter"] for row in rows] == letters, rows
        assert {row["entity_id"] for row in rows} == {"D-4"} and {row["user"] for row in rows} != {"unknown"}, rows
        assert store.run(*run_it).status == 0 and len(reprocesses(store)) == 2


def test_what_cannot_be_audited_is_not_reprocessed():
    with Store() as store:
        failed_letters(store, 1)
        with sqlite3.connect(store.path / "trilha.db") as database:
            database.execute("CREATE TRIGGER full BEFORE INSERT ON core_audit_log BEGIN SELECT RAISE(ABORT, 'no room'); END")
        database.close()
        outcome = store.run("dlq", "reprocess", "--colony", "D-4", "--each", "--shell", "touch ran")
        assert outcome.status != 0 and not (store.path / "ran").exists(), outcome
        outcome = store.run("dlq", "reprocess", "--colony", "D-4")
        assert outcome.status != 0, "nor is the request stored"
        letter = parsed(store.run("dlq", "list", "--json").out)[0]
        assert (letter["status"], letter["tentativas"]) == ("pendente", 1), letter
        outcome = store.run("token", "issue", "dev.pem")
        assert outcome.status != 0 and outcome.out == "", outcome


def test_every_action_that_the_program_writes_is_of_the_vocabulary():
    written = set()
    for folder in ("src", "examples", "include"):
        for path in (ROOT / folder).rglob("*.[ch]*"):
            if path.is_relative_to(ROOT / "src/otlp"): # names of metrics look alike
                continue
            text = path.read_text(encoding="utf-8")
            # Constants by their look, and whatever an entry's action is set to, so that a wrong form is not overlooked.
            written |= set(re.findall(r'"(trilha\.[a-z-]+\.[a-z-]+)"', text))
            written |= set(re.findall(r'\.action\s*=\s*TRILHA_TEXT\("([^"]*)"', text))
    for path in (ROOT / "sql").rglob("*.sql"):
        written |= set(re.findall(r"'(trilha\.[a-z-]+\.[a-z-]+)'", path.read_text(encoding="utf-8")))
    assert len(written) >= 15 and "trilha.outbox-message.discarded" in written, written
    outcome = run("audit", "lint", *sorted(written))
    assert outcome.status == 0, outcome


if __name__ == "__main__":
    tap.run(globals())
