# serve: a tool of other people's, which knows only docs/openapi.yaml, finds no answer that the document does not tell.
"""schemathesis 4 is no Debian package: it is taken from PATH, or from what TRILHA_SCHEMATHESIS names (a program in a virtual
environment, `pip install schemathesis`). Without it the test says so; test_openapi.py asks generated requests of our own."""
import os
import re
import shutil
import subprocess

from outboxes import Outbox, callback_of
from server import Server, program, tap
from stores import CORRELATION, order

SEED = os.environ.get("TRILHA_OPENAPI_SEED", "1")
EXAMPLES = os.environ.get("TRILHA_OPENAPI_ROUNDS", "25")
# What an answer is judged by. Others assume that a server must refuse every parameter that its document does not bound.
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance,ignored_auth"


def the_tool():
    tool = os.environ.get("TRILHA_SCHEMATHESIS") or shutil.which("schemathesis")
    if not tool:
        tap.skip("schemathesis is not installed (pip install schemathesis; TRILHA_SCHEMATHESIS names the program)")
    version = subprocess.run([tool, "--version"], capture_output=True, text=True, check=False).stdout
    if not re.search(r"version 4\.", version):
        tap.skip(f"schemathesis 4 is needed, not {version.strip() or 'what does not run'}")
    return tool


def test_every_answer_to_generated_requests_is_one_that_the_document_tells():
    tool = the_tool()
    with Server() as server:
        assert server.store.ndjson([order(n, timestamp=f"2026-06-15T10:00:{n:02}Z", correlacao_id=CORRELATION) for n in range(20)]).status == 0
        server.store.run("consume", "--colony", "D-4", "--type", "pedido.criado", "--from", "start", "--once", "--each", "--shell", "exit 1")
        outbox = Outbox(server, more=callback_of(server))
        outbox.say("acme", "refused")
        outbox.work("--exec", "sh", "-c", "exit 65")
        outbox.say("acme", "1")
        done = subprocess.run(
            [tool, "--no-color", "run", program.ROOT / "docs/openapi.yaml", "--url", f"http://127.0.0.1:{server.api_port}",
             "--header", "Authorization: Bearer " + server.token, "--checks", CHECKS, "--phases", "examples,coverage,fuzzing",
             "--max-examples", EXAMPLES, "--seed", SEED, "--generation-database", "none", "--suppress-health-check", "all",
             "--request-timeout", "60"],
            capture_output=True, text=True, cwd=server.store.path, check=False,
            env={"PATH": os.environ["PATH"], "HOME": str(server.store.path), "LC_ALL": "C.UTF-8", "NO_PROXY": "*"})
        said = done.stdout.replace(server.token, "…")
        for line in said.splitlines():
            if re.search(r"Test cases|generated|passed", line):
                print("# " + line.strip())
        assert done.returncode == 0, said[-6000:] + done.stderr[-2000:]
        assert server.get("/api/events").json()["total"] == 20 and outbox.messages() == 2 and server.stop() == 0


if __name__ == "__main__":
    tap.run(globals())
