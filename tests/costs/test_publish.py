# costs: instructions and allocations of a publish whose store keeps nothing, compared with bench/results/instructions.json.
#
#   test_publish.py PUBLISH_COST
#
# Counted are the instructions of Trilha's own code: those of the C library, of libcrypto and of the loader depend on the processor (they choose
# their code by it) and are only shown. Our own depend on the compiler, the build's options and the JSON reader in use, so the file keeps a number
# for each kind of build that was recorded; for another kind nothing is compared. TRILHA_UPDATE_COSTS=1 records what is counted.
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "support"))
import tap  # pylint: disable=wrong-import-position

PROGRAM = os.path.realpath(sys.argv[1])
KEPT = ROOT / "bench/results/instructions.json"
FEW, MANY = 200, 700
MORE_MAX = 0.03
KEY = "k1:MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=\n"


def published(way, count, keyring, *before):
    done = subprocess.run([*before, PROGRAM, way, str(count), keyring], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def own_instructions(profile):
    """(of our program's own code, of everything) in a file of callgrind's."""
    own = everything = 0
    ours = called = False
    names = {}
    for line in profile.read_text(encoding="utf-8").splitlines():
        word = re.match(r"ob=\((\d+)\)(?: (.*))?$", line)
        if word:
            names.setdefault(word[1], word[2])
            ours = names[word[1]] == PROGRAM
            continue
        word = re.match(r"cob=\((\d+)\)(?: (.*))?$", line)
        if word:
            names.setdefault(word[1], word[2])
        elif line.startswith("calls="):
            called = True
        elif re.match(r"[0-9+*-]", line):
            cost = int(line.split()[1])
            if not called:
                everything += cost
                own += cost if ours else 0
            called = False
    return own, everything


def counted(way, keyring, folder):
    """Of one publish: a run of MANY less a run of FEW."""
    sums, about = [], None
    for count in (FEW, MANY):
        profile = pathlib.Path(folder) / f"{way}-{count}"
        about = published(way, count, keyring, "valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}", "--quiet")
        sums.append(own_instructions(profile))
    return [(many - few) / (MANY - FEW) for few, many in zip(*sums)], about


def with_keyring(work):
    with tempfile.TemporaryDirectory(prefix="trilha-costs-") as folder:
        keyring = pathlib.Path(folder) / "keys"
        keyring.touch(mode=0o600)
        keyring.write_text(KEY, encoding="utf-8")
        work(str(keyring), folder)


def kept():
    return json.loads(KEPT.read_text(encoding="utf-8"))


def kind_of(about):
    return f"{about['compiler']}, {about['build']}, {about['reader']}"


def record(about, way, numbers):
    stored = kept()
    stored["builds"].setdefault(kind_of(about), {})[way] = {"own": round(numbers[0]), "all": round(numbers[1])}
    KEPT.write_text(json.dumps(stored, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def compare(way):
    def work(keyring, folder):
        numbers, about = counted(way, keyring, folder)
        print(f"# {way}: {numbers[0]:.0f} instructions of ours, {numbers[1]:.0f} in all ({kind_of(about)})")
        if os.environ.get("TRILHA_UPDATE_COSTS"):
            record(about, way, numbers)
        before = kept()["builds"].get(kind_of(about), {}).get(way)
        if before is None:
            tap.skip(f"nothing is recorded for {kind_of(about)}")
        assert numbers[0] <= before["own"] * (1 + MORE_MAX), \
            f"a publish takes {numbers[0]:.0f} instructions, {before['own']} were recorded; if that is worth it: TRILHA_UPDATE_COSTS=1"
    if shutil.which("valgrind") is None:
        tap.skip("valgrind is not installed")
    with_keyring(work)


def test_a_publish_takes_no_more_instructions_than_were_recorded():
    compare("plain")


def test_a_publish_that_redacts_takes_no_more_instructions_than_were_recorded():
    compare("redacted")


def test_a_publish_allocates_no_more_than_was_recorded():
    def work(keyring, _):
        for way, most in kept()["allocations"].items():
            found = published(way, MANY, keyring)["allocations"]
            print(f"# {way}: {found} allocations")
            assert found <= most, f"{way}: {found} allocations, at most {most}"
    with_keyring(work)


if __name__ == "__main__":
    tap.run(globals())
