# serve: a running `trilha serve` on free ports, with a token, for tests that speak to it as a client would.
"""The program is the first argument of every test file; TRILHA_TEST_STORE says which store (sqlite or postgresql)."""
import contextlib
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "cli"))
import program  # pylint: disable=wrong-import-position,unused-import
from program import tap  # pylint: disable=wrong-import-position,unused-import
from stores import Store  # pylint: disable=wrong-import-position
import test_postgres  # pylint: disable=wrong-import-position

KIND = os.environ.get("TRILHA_TEST_STORE", "sqlite")


class Answer:
    """Status, headers (lower case) and body of one answer."""

    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"{self.status} {self.headers} {self.body[:500]!r}"


class Server:
    """A store with the type pedido.criado and a server on it; both gone afterwards."""

    def __init__(self, api="", access="", limits="", dead_letters="", alerts="", sources="", status=""):
        self.settings = {"api": api, "access": access, "limits": limits, "dead_letters": dead_letters, "alerts": alerts, "sources": sources,
                         "status": status}
        self.database = None
        self.process = None

    def __enter__(self):
        if KIND == "postgresql":
            self.database = test_postgres.Database().__enter__()
            self.store = test_postgres.PostgresStore(self.database.url)
        else:
            self.store = Store()
        self.store.__enter__()
        self.token = self.issue()
        self.configure()
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()
        self.store.__exit__()
        if self.database:
            self.database.__exit__()

    def issue(self, *words, key="dev.pem"):
        outcome = self.store.run("token", "issue", key, *words)
        assert outcome.status == 0, outcome
        return outcome.out.strip()

    def configure(self, **changes):
        settings = {**self.settings, **changes}
        self.store.write("trilha.yaml", "serve:\n"
                         f"  api: {{port: 0, allow: [127.0.0.0/8], requests_per_minute: 100000, burst: 10000{settings['api']}}}\n"
                         f"  status: {{port: 0{settings['status']}}}\n"
                         f"  access: {{keys: [dev.pem.pub]{settings['access']}}}\n"
                         f"  limits: {{stop_ms: 5000{settings['limits']}}}\n"
                         + (f"  alerts: {settings['alerts']}\n" if settings["alerts"] else "")
                         + (f"dead_letters: {settings['dead_letters']}\n" if settings["dead_letters"] else "")
                         + (f"sources: {settings['sources']}\n" if settings["sources"] else ""))

    def start(self):
        """Runs the server as it is configured now."""
        # Its diagnostics go to a file: nobody reads a pipe while a test runs.
        self.process = self.store.start("serve", "--config", "trilha.yaml", stderr="serve.log")
        line = program.read_lines(self.process, 1)[0].decode()
        self.api_port, self.status_port = (int(port) for port in re.findall(r"port (\d+)", line))

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.communicate(timeout=program.TIMEOUT_S)
        return self.process.returncode

    def connect(self, port=None):
        """A connection to the API, or to another port of the server."""
        return http.client.HTTPConnection("127.0.0.1", port or self.api_port, timeout=60)

    def log(self, name):
        """The diagnostics of that name so far."""
        whole, _, _ = (pathlib.Path(self.store.path) / "serve.log").read_text(encoding="utf-8").rpartition("\n")
        return [entry for entry in map(json.loads, filter(lambda line: line.startswith("{"), whole.splitlines())) if entry["name"] == name]

    def reload(self):
        """SIGHUP; returns when it was taken over or refused, and says which."""
        before = len(self.log("serve.reloaded")), len(self.log("serve.reload_failed"))
        self.process.send_signal(signal.SIGHUP)
        self.until(lambda: (len(self.log("serve.reloaded")), len(self.log("serve.reload_failed"))) != before)
        return len(self.log("serve.reloaded")) > before[0]

    def call(self, method, path, body=None, token=True, port=None, **headers):
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if token is not None:
            sent["Authorization"] = "Bearer " + (self.token if token is True else token)
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
            sent.setdefault("Content-Type", "application/json")
        connection = self.connect(port)
        try:
            connection.request(method, path, body=body, headers=sent)
            response = connection.getresponse()
            return Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, response.read())
        finally:
            connection.close()

    def get(self, path, **more):
        return self.call("GET", path, **more)

    def status(self, path, **more):
        return self.call("GET", path, token=None, port=self.status_port, **more)

    def raw(self, text):
        """What comes back for these bytes, up to the end of the connection."""
        with socket.create_connection(("127.0.0.1", self.api_port), timeout=60) as connection:
            answer = b""
            with contextlib.suppress(ConnectionError):  # a server that has heard enough closes before it has read all
                connection.sendall(text)
            with contextlib.suppress(ConnectionError):
                while piece := connection.recv(65536):
                    answer += piece
            return answer

    @contextlib.contextmanager
    def unreachable(self):
        """The database lets nobody in for a while, and ends who is."""
        name = self.database.name
        allow = f"UPDATE pg_database SET datallowconn = {{}} WHERE datname = '{name}'"
        test_postgres.psql(test_postgres.SERVER, "-c", allow.format("false"))
        test_postgres.psql(test_postgres.SERVER, "-c", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = "
                           f"'{name}'")
        try:
            yield
        finally:
            test_postgres.psql(test_postgres.SERVER, "-c", allow.format("true"))

    def until(self, ask, seconds=program.TIMEOUT_S):
        """Asks again until it is true."""
        end = time.monotonic() + seconds
        while not (answer := ask()):
            assert time.monotonic() < end, "never came true"
            time.sleep(0.05)
        return answer

    def metric(self, name):
        """Value of a metric with its labels as written, or None."""
        for line in self.status("/metrics").body.decode().splitlines():
            if line.startswith(name + " "):
                return float(line.rsplit(" ", 1)[1])
        return None
