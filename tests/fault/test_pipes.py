# fault: readers of the program's output go away, or its output can no longer be written (reliability 5).
"""A closed pipe and a full device at standard output and standard error. Whatever was said is stored, what was to be done
is done, and the process ends by itself. The control is a program that does not expect it, which the signal ends."""
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/cli"))
import program  # pylint: disable=wrong-import-position
from program import tap  # pylint: disable=wrong-import-position
from stores import Store, order, parsed  # pylint: disable=wrong-import-position
from test_postgres import SERVER, Database, PostgresStore  # pylint: disable=wrong-import-position

EVENTS = 300
SEED = int(os.environ.get("TRILHA_FAULT_SEED", time.time_ns() % 1000000))
ROUNDS = 3 * int(os.environ.get("TRILHA_FAULT_TIMES", "1"))
CONSUME = ("consume", "--colony", "D-4", "--type", "pedido.criado", "--from", "start")

# Says more on standard error than a pipe holds, and refuses every fifth event.
CHATTY = r'''
import json, sys
for line in sys.stdin:
    sequence = json.loads(line)["sequence_number"]
    print("about to handle", sequence, "x" * 1000, file=sys.stderr, flush=True)
    print("error" if int(sequence) % 5 == 0 else "ok", sequence, "refused" if int(sequence) % 5 == 0 else "", flush=True)
'''


def stores():
    """Each test's store, once on SQLite and once on PostgreSQL where there is a test server."""
    with Store() as store:
        yield store
    if SERVER:
        with Database() as database, PostgresStore(database.url) as store:
            yield store


def without_reader(count, draw):
    """A pipe whose reader leaves after some bytes: its writing end, and a thread-free way to read and leave."""
    reading, writing = os.pipe()
    return reading, writing, draw.randrange(count)


def start(store, words, **streams):
    where = {"TRILHA_STORE": store.url} if isinstance(store, PostgresStore) else {}
    return subprocess.Popen([program.PROGRAM, *words], cwd=store.path, env=program.environment(**where), stdin=subprocess.PIPE, **streams)


def ndjson(count):
    return b"".join(json.dumps(order(number)).encode() + b"\n" for number in range(count))


def ended_by_itself(process, seconds=program.TIMEOUT_S):
    status = process.wait(seconds)
    assert status >= 0, f"ended by {signal.Signals(-status).name}"
    return status


def test_publishing_goes_on_to_its_end_when_the_reader_of_its_answers_leaves():
    draw = random.Random(SEED)
    print(f"# seed {SEED} (TRILHA_FAULT_SEED={SEED} draws the same again)")
    for store in stores():
        before = 0
        for _ in range(ROUNDS):
            reading, writing, wanted = without_reader(20000, draw)
            process = start(store, ["publish", "--ndjson", "--json"], stdout=writing, stderr=subprocess.DEVNULL)
            os.close(writing)
            process.stdin.write(ndjson(EVENTS))
            process.stdin.close()
            said = b""
            while len(said) < wanted and (piece := os.read(reading, 4096)):
                said += piece
            os.close(reading)
            ended_by_itself(process)
            whole = said[:said.rfind(b"\n") + 1].decode()
            answered = {int(row["sequence_number"]) for row in parsed(whole) if "sequence_number" in row}
            stored = {int(row["sequence_number"]) for row in parsed(store.run("events", "replay", "--json").out)}
            assert answered <= stored, f"answered and not stored: {sorted(answered - stored)}"
            assert len(stored) - before in range(len(answered), EVENTS + 1)
            before = len(stored)


def test_consuming_goes_on_when_the_reader_of_its_log_leaves():
    for store in stores():
        assert store.ndjson([order(number) for number in range(50)]).status == 0
        store.write("chatty.py", CHATTY)
        reading, writing = os.pipe()
        process = start(store, [*CONSUME, "--verbose", "--once", "--exec", sys.executable, "chatty.py"], stdout=subprocess.DEVNULL,
                        stderr=writing)
        os.close(writing)
        os.read(reading, 1)  # it has begun to speak
        os.close(reading)
        status = ended_by_itself(process)
        letters = parsed(store.run("dlq", "list", "--json").out)
        cursor = parsed(store.run("consumers", "list", "--colony", "D-4", "--json").out)[0]["last_sequence"]
        assert (status, len(letters), int(cursor)) == (0, 10, 49), (status, len(letters), cursor)


def test_output_that_cannot_be_written_is_told_by_the_exit_status():
    for store in stores():
        with open("/dev/full", "w", encoding="ascii") as full:
            outcome = store.run("publish", "--ndjson", "--json", stdin=ndjson(5), stdout=full)
        assert outcome.status == 1, outcome
        assert "No space left" in outcome.err, outcome
        with open("/dev/full", "w", encoding="ascii") as full:
            process = start(store, ["publish", "--type", "none", "--origin", "loja"], stdout=subprocess.PIPE, stderr=full)
            process.communicate(b"{}", timeout=program.TIMEOUT_S)
        assert process.returncode == 3, process.returncode  # what it had to say about the refusal is lost, the refusal is not


def test_following_ends_when_its_reader_leaves():
    for store in stores():
        assert store.ndjson([order(number) for number in range(3)]).status == 0
        process = store.start("events", "tail", "--json", "--from-start")
        program.read_lines(process, 3)
        process.stdout.close()
        deadline = time.monotonic() + program.TIMEOUT_S
        while process.poll() is None and time.monotonic() < deadline:
            assert store.ndjson([order(9)]).status == 0
            time.sleep(0.1)
        assert process.poll() == 0, process.poll()
        process.stdin.close()
        process.stderr.close()


def test_control_a_program_that_does_not_expect_it_is_ended_by_the_signal():
    reading, writing = os.pipe()
    with subprocess.Popen(["sh", "-c", "while echo words; do :; done"], stdout=writing, stdin=subprocess.DEVNULL) as process:
        os.close(writing)
        os.read(reading, 1)
        os.close(reading)
        assert process.wait(program.TIMEOUT_S) == -signal.SIGPIPE, process.returncode


tap.run(globals())
