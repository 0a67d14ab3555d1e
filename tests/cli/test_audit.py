# cli: the audit trail, and the vocabulary of its actions, our own constants among them.
import re

from program import ROOT, run, tap
from stores import Store, parsed


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


def test_every_action_that_the_program_writes_is_of_the_vocabulary():
    written = set()
    for path in (ROOT / "src").rglob("*.c"):
        written |= set(re.findall(r'"(trilha\.[a-z-]+\.[a-z-]+)"', path.read_text(encoding="utf-8")))
    assert len(written) >= 4, written
    outcome = run("audit", "lint", *sorted(written))
    assert outcome.status == 0, outcome


if __name__ == "__main__":
    tap.run(globals())
