# fault: a served store that goes away and comes back (reliability 5).
"""The database server is killed with every process it has, or the SQLite file is taken away, under a running service. It
says that it is alive and not ready, refuses without telling why, and is ready again without a restart. The control asks
a service whose store is there: it must not be found unready."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TOOL = ROOT / "tools/private-postgres"
KIND = os.environ.get("TRILHA_TEST_STORE", "sqlite")


class PrivateServer:
    """A PostgreSQL server of our own to kill; there before the helpers look for one."""

    def __init__(self):
        self.parent = tempfile.mkdtemp(prefix="trilha-readiness-")
        os.chmod(self.parent, 0o755)
        self.folder = os.path.join(self.parent, "server")
        done = subprocess.run([TOOL, "start", self.folder, "--owner", str(os.getpid())], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
        os.environ["TRILHA_TEST_POSTGRES_URL"] = done.stdout.split()[0] if done.returncode == 0 else ""

    def tell(self, verb):
        subprocess.run([TOOL, verb, self.folder], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True, timeout=120)

    def close(self):
        self.tell("stop")
        shutil.rmtree(self.parent, ignore_errors=True)


PRIVATE = PrivateServer() if KIND == "postgresql" else None
sys.path.insert(0, str(ROOT / "tests/serve"))
from server import Server, tap  # pylint: disable=wrong-import-position
from stores import order  # pylint: disable=wrong-import-position


def take_away(server):
    if PRIVATE:
        PRIVATE.tell("crash")
        return
    for path in sorted(server.store.path.glob("trilha.db*")):
        path.rename(path.with_name("away-" + path.name))


def bring_back(server):
    if PRIVATE:
        PRIVATE.tell("resume")
        return
    for path in sorted(server.store.path.glob("away-*")):
        path.rename(path.with_name(path.name[len("away-"):]))


def test_a_service_whose_store_goes_away_is_alive_and_not_ready_and_ready_again_by_itself():
    with Server() as server:
        assert server.store.ndjson([order(1)]).status == 0
        server.until(lambda: server.status("/readyz").status == 200)
        for _ in range(2 * int(os.environ.get("TRILHA_FAULT_TIMES", "1"))):
            take_away(server)
            server.until(lambda: server.status("/readyz").status == 503)
            assert server.status("/livez").status == 200
            assert server.status("/readyz").body == b"not ready\n"
            statusz = server.status("/statusz").json()
            assert statusz["ready"] is False and statusz["store_error"].startswith("STORE_"), statusz
            answer = server.get("/api/events")
            assert answer.status == 503 and answer.headers["content-type"] == "application/problem+json", answer
            for secret in (b"127.0.0.1", b"trilha.db", b"trilha_test"):
                assert secret not in answer.body, answer
            bring_back(server)
            server.until(lambda: server.status("/readyz").status == 200)
            assert server.get("/api/events").json()["total"] == 1
        assert server.stop() == 0


def test_control_a_service_whose_store_stays_is_never_found_unready():
    with Server() as server:
        server.until(lambda: server.status("/readyz").status == 200)
        assert {server.status("/readyz").status for _ in range(200)} == {200}


try:
    tap.run(globals())
finally:
    if PRIVATE:
        PRIVATE.close()
