#!/usr/bin/env python3
"""Walks every interleaving of outbox.pml with spin, within bounds; then each mutant, which must fail: README.md."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import tap  # noqa: E402

MODEL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "outbox.pml")

# Bounds that together have every feature beside every other one, and end within a minute.
HOLDS = {
    "four_messages_and_a_late_relay_and_a_dead_head": dict(EACH=2, FAILURES=1, ATTEMPTS=1, CRASHES=0, LATE=1, ROLLBACKS=0),
    "four_messages_and_a_crash_and_a_rollback": dict(EACH=2, FAILURES=0, CRASHES=1, LATE=0, ROLLBACKS=1),
    "two_messages_and_all_that_can_go_wrong": dict(EACH=1, FAILURES=2, CRASHES=1, LATE=1, ROLLBACKS=0),
}
SMALL = dict(EACH=1, FAILURES=1, CRASHES=1, LATE=1, ROLLBACKS=0)
STUCK, BROKEN = "invalid end state", "assertion violated"
MUTANTS = {
    "NUMBER_WITHOUT_LOCK": BROKEN,   # numbers in the order of asking: a later one is seen first, and the head passes the earlier
    "WAKE_BEFORE_LOCK": STUCK,       # the producer looks at the bit before it has the row
    "PARK_WITHOUT_LOCK": STUCK,      # the relay lets the lane go beside a producer that saw it there
    "LOOK_BEFORE_LOCK": STUCK,       # the relay looks for messages, then takes the row
    "NO_SCAN": STUCK,                # only a wake-up wakes, and it may be lost
    "NO_TOKEN": BROKEN,              # a late relay settles the lease of another one
    "NO_INBOX": BROKEN,              # what is sent again happens again
    "GO_ON_AFTER_FAILURE": BROKEN,   # the run goes on behind a message that failed
}


def walk(bounds, mutant=None):
    """(whether all held, what spin said, the number of states)"""
    with tempfile.TemporaryDirectory(prefix="trilha-model-") as folder:
        defines = [f"-D{name}={value}" for name, value in bounds.items()] + ([f"-DMUTANT_{mutant}"] if mutant else [])
        subprocess.run(["spin", *defines, "-a", MODEL], cwd=folder, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        subprocess.run([os.environ.get("CC", "cc").split()[-1], "-O2", "-w", "-DSAFETY", "-DCOLLAPSE", "-DMEMLIM=2048", "-o", "walk", "pan.c"],
                       cwd=folder, check=True)
        said = subprocess.run(["./walk", "-m1000000", "-w22"], cwd=folder, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True).stdout
    states = re.search(r"^\s*(\d+) states, stored", said, re.M)
    errors = re.search(r"errors: (\d+)", said)
    assert states and errors, said
    whole = "Search not completed" not in said and "max search depth" not in said and "out of memory" not in said
    assert whole or errors[1] != "0", f"not every state was walked:\n{said}"
    return errors[1] == "0", said, int(states[1])


def holds(bounds):
    if not shutil.which("spin"):
        tap.skip("spin is not installed")
    right, said, states = walk(bounds)
    assert right, said
    assert states > 100_000, f"only {states} states: the bounds have become too small to say anything"
    print(f"# {states} states")


def fails(mutant, kind):
    if not shutil.which("spin"):
        tap.skip("spin is not installed")
    right, said, _ = walk(SMALL, mutant)
    assert not right, f"the mutant {mutant} was not found out:\n{said}"
    assert kind in said, f"the mutant {mutant} failed in another way than it should:\n{said}"


for _name, _bounds in HOLDS.items():
    globals()["test_" + _name] = lambda bounds=_bounds: holds(bounds)
for _mutant, _kind in MUTANTS.items():
    globals()["test_the_mutant_" + _mutant.lower() + "_is_found_out"] = lambda mutant=_mutant, kind=_kind: fails(mutant, kind)


if __name__ == "__main__":
    tap.run(globals())
