# cli: the same commands on a PostgreSQL database.
import contextlib
import json
import os
import secrets
import shutil
import subprocess
import time

import program
from program import tap
from stores import Store, order, parsed

SERVER = os.environ.get("TRILHA_TEST_POSTGRES_URL", "")


def psql(url, *words, **more):
    return subprocess.run(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", url, *words], check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=program.TIMEOUT_S, **more).stdout


def psql_patiently(*words):
    """Making and dropping databases is refused while the server has not ended a session of them in time."""
    for _ in range(20):
        with contextlib.suppress(subprocess.CalledProcessError):
            return psql(*words)
        time.sleep(0.5)
    return psql(*words)


class Database:
    """An empty database of the test server; gone afterwards."""

    def __enter__(self):
        if not SERVER or shutil.which("psql") is None:
            tap.skip("no test server (TRILHA_TEST_POSTGRES_URL) or no psql")
        self.name = "cli_" + secrets.token_hex(6)
        psql_patiently(SERVER, "-c", f"CREATE DATABASE {self.name}")
        base, _, query = SERVER.partition("?")
        self.url = base.rsplit("/", 1)[0] + "/" + self.name + ("?" + query if query else "")
        return self

    def __exit__(self, *_):
        psql_patiently(SERVER, "-c", f"DROP DATABASE {self.name} WITH (FORCE)")


class PostgresStore(Store):
    """The scene of the other test files, with every command sent to the database."""

    def __init__(self, url):
        super().__init__()
        self.url = url

    def run(self, *words, **more):
        return super().run(*words, TRILHA_STORE=self.url, **more)

    def start(self, *words, **more):
        return super().start(*words, TRILHA_STORE=self.url, **more)


def test_main_job_works_on_postgresql():
    with Database() as database, PostgresStore(database.url) as store:
        assert store.publish({"pedido": "P-1", "cliente": "Maria"}, "--json").status == 0
        assert store.ndjson([order(n) for n in range(1500)], "--json").status == 0
        assert store.publish({"total": -1}).status == 3
        assert store.events("--limit", "1")["linhas"][0]["payload"] == {"pedido": "P-1"}
        replayed = parsed(store.run("events", "replay").out)
        assert [row["sequence_number"] for row in replayed] == [str(n) for n in range(1, 1502)]
        assert "already there" in store.run("init").out


def test_tail_sees_what_another_process_publishes_on_postgresql():
    with Database() as database, PostgresStore(database.url) as store:
        process = store.start("events", "tail", "--from-start")
        assert store.publish({"pedido": "P-1"}).status == 0
        line, = program.read_lines(process, 1)
        assert json.loads(line)["sequence_number"] == "1"
        process.terminate()
        process.communicate(timeout=program.TIMEOUT_S)
        assert process.returncode == 0


def test_printed_sql_makes_a_store_that_init_finds_complete():
    with Database() as database, program.Folder() as folder:
        sql = folder.run("init", "--print-sql", "--store", database.url)
        assert sql.status == 0
        folder.write("trilha.sql", sql.out)
        psql(database.url, "-f", str(folder.path / "trilha.sql"))
        outcome = folder.run("init", "--store", database.url)
        assert outcome.status == 0 and "applied" not in outcome.out.replace("compared and adopted", ""), outcome
        assert folder.run("events", "list", "--store", database.url).status == 0


def test_database_without_a_schema_says_trilha_init():
    with Database() as database, program.Folder() as folder:
        outcome = folder.run("events", "list", "--store", database.url)
        assert outcome.status == 4 and "trilha init" in outcome.err, outcome


if __name__ == "__main__":
    tap.run(globals())
