# cli: the table of a dead letter's states in docs/delivery.md is what the program does.
import json
import re
import sqlite3
import sys

from program import PROGRAM, ROOT, tap
from stores import Store, parsed

TEXT = (ROOT / "docs/delivery.md").read_text(encoding="utf-8")

# --- the table of states ------------------------------------------------------------------------------------------

HANDLER = """
import json, os, subprocess, sys
for line in sys.stdin:
    sequence = json.loads(line)["sequence_number"]
    mode = open("mode").read()
    if mode == "die-with-parent":
        os.kill(int(open("parent").read()), 9)
        os._exit(0)
    if mode == "look":
        open("looked", "w").write(subprocess.run([sys.argv[1], "dlq", "list", "--json"], stdout=subprocess.PIPE, text=True).stdout)
    print("ok" if mode in ("good", "look") else "error", sequence, flush=True)
"""


class Scene(Store):
    """One event and the colony D-4, whose handler does what the file `mode` says."""

    def __enter__(self):
        super().__enter__()
        self.write("handler.py", HANDLER)
        assert self.publish({"pedido": "P-1"}).status == 0
        return self

    def deliver(self, mode, anew=False):
        self.write("mode", mode)
        if anew:
            self.sql("DELETE FROM d4_consumer_offset")
        outcome = self.run("consume", "--colony", "D-4", "--type", "pedido.criado", "--from", "start", "--once", "--exec",
                           sys.executable, "handler.py", PROGRAM)
        assert outcome.status == 0, outcome

    def retry(self, mode):
        self.write("mode", mode)
        self.run("dlq", "reprocess", "--colony", "D-4", "--exec", sys.executable, "handler.py", PROGRAM)

    def letter(self):
        rows = parsed(self.run("dlq", "list", "--json").out)
        return rows[0] if rows else None

    def sql(self, text):
        with sqlite3.connect(self.path / "trilha.db") as database:
            database.execute(text)

    def give_up(self):
        """Up to the last attempt but one."""
        self.deliver("bad")
        for _ in range(3):
            self.retry("bad")
        assert self.letter()["tentativas"] == 4 and self.letter()["status"] == "pendente"

    def die_in_a_retry(self):
        """A process that is killed while its handler runs leaves the row `retrying`."""
        self.write("mode", "die-with-parent")
        process = self.start("dlq", "reprocess", "--colony", "D-4", "--exec", sys.executable, "handler.py", PROGRAM)
        self.write("parent", str(process.pid))
        process.communicate(timeout=60)
        assert process.returncode == -9 and self.letter()["status"] == "retrying", self.letter()


def delivery_fails(scene):
    scene.deliver("bad")
    assert scene.letter()["tentativas"] == 1


def retry_begins(scene):
    scene.deliver("bad")
    scene.retry("look")
    row, = parsed((scene.path / "looked").read_text())
    assert row["tentativas"] == 2
    return row["status"]


def delivery_fails_again(scene):
    scene.deliver("bad")
    scene.deliver("bad")
    assert scene.letter()["tentativas"] == 2


def delivery_fails_the_last_time(scene):
    scene.give_up()
    scene.deliver("bad")


def delivery_succeeds(scene):
    scene.deliver("bad")
    scene.deliver("good")


def retry_succeeds(scene):
    scene.deliver("bad")
    scene.retry("good")


def retry_fails(scene):
    scene.deliver("bad")
    scene.retry("bad")
    assert scene.letter()["tentativas"] == 2


def retry_fails_the_last_time(scene):
    scene.give_up()
    scene.retry("bad")
    assert scene.letter()["tentativas"] == 5


def process_dies(scene):
    scene.deliver("bad")
    scene.die_in_a_retry()
    scene.retry("good")
    assert scene.letter()["status"] == "retrying", "its lease has not passed"
    scene.sql("UPDATE core_dead_letter_lease SET boot_us = 0")
    # Whoever consumes next for any colony finds the row; this one is of another colony and leaves its event alone.
    assert scene.run("consume", "--colony", "D-5", "--type", "x", "--once", "--exec", "cat").status == 0


def resolved_fails_again(scene):
    scene.deliver("bad")
    scene.retry("good")
    scene.deliver("bad", anew=True)


def given_up_fails_again(scene):
    scene.give_up()
    scene.retry("bad")
    scene.deliver("bad", anew=True)


def given_up_succeeds(scene):
    scene.give_up()
    scene.retry("bad")
    scene.deliver("good", anew=True)


def operator_retries(scene):
    scene.give_up()
    scene.retry("bad")
    outcome = scene.run("dlq", "retry", scene.letter()["id"], "--reason", "mended", "--json")
    assert json.loads(outcome.out)["status"] == "pendente"


DRIVERS = {
    ("(none)", "a delivery fails"): delivery_fails,
    ("pendente", "a retry begins"): retry_begins,
    ("pendente", "a delivery fails again, attempts left"): delivery_fails_again,
    ("pendente", "a delivery fails again, the last attempt"): delivery_fails_the_last_time,
    ("pendente", "a delivery succeeds"): delivery_succeeds,
    ("retrying", "the retry succeeds"): retry_succeeds,
    ("retrying", "the retry fails, attempts left"): retry_fails,
    ("retrying", "the retry fails, the last attempt"): retry_fails_the_last_time,
    ("retrying", "the process dies and the lease passes"): process_dies,
    ("resolved", "a delivery fails again"): resolved_fails_again,
    ("failed_permanent", "a delivery fails again"): given_up_fails_again,
    ("failed_permanent", "a delivery succeeds"): given_up_succeeds,
    ("failed_permanent", "an operator says trilha dlq retry"): operator_retries,
}


def documented():
    table = TEXT.split("<!-- transitions -->\n")[1].split("\n\n")[0]
    rows = [tuple(cell.strip().replace("`", "") for cell in line.strip("|").split("|")) for line in table.splitlines()[2:]]
    return {(before, what): after for before, what, after in rows}


def test_every_transition_of_a_dead_letter_is_driven_and_ends_where_the_document_says():
    wanted = documented()
    assert set(wanted) == set(DRIVERS), set(wanted) ^ set(DRIVERS)
    for (before, what), after in wanted.items():
        with Scene() as scene:
            reached = DRIVERS[before, what](scene) or scene.letter()["status"]
            assert reached == after, f"{before}, {what}: {reached}, not {after}"
            closed = scene.letter()["resolvido_em"] is not None
            if what != "a retry begins":
                assert closed == (after in ("resolved", "failed_permanent")), (before, what, scene.letter())


def test_closed_dead_letters_stay_as_they_are_and_a_retry_takes_only_pending_ones():
    with Scene() as scene:
        scene.give_up()
        scene.retry("bad")
        given_up = scene.letter()
        scene.retry("good")
        scene.deliver("good")
        assert scene.letter() == given_up
        assert scene.run("dlq", "retry", given_up["id"], "--reason", "mended").status == 0
        scene.retry("good")
        resolved = scene.letter()
        assert resolved["status"] == "resolved"
        scene.retry("bad")
        scene.deliver("bad")
        assert scene.letter() == resolved
        assert scene.run("dlq", "retry", resolved["id"], "--reason", "again").status == 1 and scene.letter() == resolved


if __name__ == "__main__":
    tap.run(globals())
