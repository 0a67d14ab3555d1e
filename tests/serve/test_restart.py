# serve: PostgreSQL is killed under load and comes back: every request is answered meanwhile, /readyz says how it is, and
# nobody has to restart the server.
import http.client
import json
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

import server as serving
from server import program, tap
from stores import order

TOOL = program.ROOT / "tools/private-postgres"
CLIENTS = 4
ROUNDS = 2


class OwnPostgres:
    """A database server of this test's own, in /tmp so that its user reaches it."""

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="trilha-restart-", dir="/tmp")
        pathlib.Path(self.folder).chmod(0o755)
        self.data = self.folder + "/server"
        done = subprocess.run([TOOL, "start", self.data, "--no-fsync"], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            tap.skip("no PostgreSQL server can be started: " + done.stderr.strip()[-200:])
        self.url = done.stdout.splitlines()[0]
        return self

    def __exit__(self, *_):
        self.do("stop")
        pathlib.Path(self.folder).rmdir()

    def do(self, verb):
        subprocess.run([TOOL, verb, self.data], stdout=subprocess.DEVNULL, check=True)


class Client:
    """Asks again and again on one connection, and counts what it hears."""

    def __init__(self, running):
        self.running, self.answers, self.codes, self.wrong, self.ended = running, {}, set(), [], False
        self.thread = threading.Thread(target=self.ask)
        self.thread.start()

    def ask(self):
        connection = None
        while not self.ended:
            try:
                connection = connection or self.running.connect()
                connection.request("GET", "/api/events?limite=5", headers={"Authorization": "Bearer " + self.running.token})
                answer = connection.getresponse()
                body = json.loads(answer.read())
            except (OSError, http.client.HTTPException, ValueError) as error:
                self.wrong.append(repr(error))
                return
            self.answers[answer.status] = self.answers.get(answer.status, 0) + 1
            if answer.status == 503:
                self.codes.add(body["code"])
                time.sleep(0.02)

    def end(self):
        self.ended = True
        self.thread.join()


def test_a_database_that_is_killed_under_load_is_told_and_found_again():
    with OwnPostgres() as postgres:
        serving.KIND = "postgresql"
        serving.test_postgres.SERVER = postgres.url
        with serving.Server() as running:
            assert running.store.ndjson([order(n) for n in range(20)]).status == 0
            clients = [Client(running) for _ in range(CLIENTS)]
            try:
                for _ in range(ROUNDS):
                    running.until(lambda: running.status("/readyz").status == 200)
                    heard = [client.answers.get(200, 0) for client in clients]
                    running.until(lambda seen=heard: all(c.answers.get(200, 0) > n for c, n in zip(clients, seen)))
                    postgres.do("crash")
                    running.until(lambda: running.status("/readyz").status == 503)
                    assert running.status("/livez").status == 200, "a store that is away is no reason to be restarted"
                    heard = [client.answers.get(503, 0) for client in clients]
                    running.until(lambda seen=heard: all(c.answers.get(503, 0) > n for c, n in zip(clients, seen)))
                    postgres.do("resume")
            finally:
                if running.process.poll() is None:
                    served = running.until(lambda: running.status("/readyz").status == 200, seconds=60)
                    heard = [client.answers.get(200, 0) for client in clients]
                    served = served and running.until(
                        lambda seen=heard: all(c.wrong or c.answers.get(200, 0) > n for c, n in zip(clients, seen)), seconds=60)
                for client in clients:
                    client.end()
            for client in clients:
                assert not client.wrong and set(client.answers) == {200, 503}, (client.wrong, client.answers)
                assert all(code.startswith("STORE_") for code in client.codes), client.codes
            assert running.stop() == 0


if __name__ == "__main__":
    tap.run(globals())
    sys.exit(0)
