# examples: every program of examples/ runs and prints what examples/expected says.
"""test_examples.py FOLDER_OF_PROGRAMS"""
import os
import pathlib
import secrets
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/support"))
import tap  # pylint: disable=wrong-import-position

PROGRAMS = pathlib.Path(sys.argv[1]).resolve()
EXPECTED = ROOT / "examples/expected"


def run(*words):
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60, check=False)


def check(name):
    with tempfile.TemporaryDirectory(prefix="trilha-example-") as folder:
        compare(name, run(PROGRAMS / name, f"sqlite:{folder}/example.db"))


def check_on_postgres(name):
    """In a database of its own, gone afterwards."""
    server = os.environ.get("TRILHA_TEST_POSTGRES_URL", "")
    if not server or shutil.which("psql") is None:
        tap.skip("no test server (TRILHA_TEST_POSTGRES_URL) or no psql")
    database = "example_" + secrets.token_hex(6)
    base, _, query = server.partition("?")
    made = run("psql", "-X", "-q", server, "-c", f"CREATE DATABASE {database}")
    assert made.returncode == 0, made.stderr
    try:
        compare(name, run(PROGRAMS / name, base.rsplit("/", 1)[0] + "/" + database + ("?" + query if query else "")))
    finally:
        run("psql", "-X", "-q", server, "-c", f"DROP DATABASE {database} WITH (FORCE)")


def compare(name, done):
    wanted = (EXPECTED / f"{name}.txt").read_text(encoding="utf-8")
    assert done.returncode == 0 and done.stderr == "", (done.returncode, done.stderr, done.stdout)
    assert done.stdout == wanted, f"printed:\n{done.stdout}\nexpected:\n{wanted}"


def test_every_example_has_its_expected_output_and_its_test():
    sources = {path.stem for path in [*(ROOT / "examples").glob("*.c"), *(ROOT / "examples").glob("*.cc")]}
    assert sources == {path.stem for path in EXPECTED.glob("*.txt")}
    for name in sources:
        globals()[f"test_example_{name}"]  # pylint: disable=expression-not-assigned


def test_example_publish():
    check("publish")


def test_example_publish_many():
    check("publish_many")


def test_example_batch():
    check("batch")


def test_example_unit_of_work():
    check("unit_of_work")


def test_example_query():
    check("query")


def test_example_trace():
    check("trace")


def test_example_replay():
    check("replay")


def test_example_tail():
    check("tail")


def test_example_registry():
    check("registry")


def test_example_errors():
    check("errors")


def test_example_subscribe():
    check("subscribe")


def test_example_consumer():
    check("consumer")


def test_example_outbox():
    check("outbox")


def test_example_approval():
    check("approval")


def test_example_approval_on_postgresql():
    check_on_postgres("approval")


def test_example_purchase_order():
    check("purchase_order")


def test_example_purchase_order_on_postgresql():
    check_on_postgres("purchase_order")


def test_example_handler():
    check("handler")


def test_example_embed():
    check("embed")


tap.run(globals())
