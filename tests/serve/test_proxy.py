# serve: behind a real nginx, configured as packaging/nginx-trilha.conf says.
import http.client
import json
import os
import random
import shutil
import ssl
import subprocess
import time

from server import Answer, Server, program, tap
from test_tls import make_certificate

AROUND = """
daemon off;
{user}
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log;
events {{ worker_connections 64; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/server.conf;
}}
"""


class Nginx:
    """The shipped configuration with this test's ports and certificate."""

    def __init__(self, server):
        self.server, self.folder = server, server.store.path

    def __enter__(self):
        make_certificate(self.folder, "proxy")
        user = "user root;" if os.getuid() == 0 else ""
        (self.folder / "nginx.conf").write_text(AROUND.format(folder=self.folder, user=user), encoding="utf-8")
        shipped = (program.ROOT / "packaging/nginx-trilha.conf").read_text(encoding="utf-8")
        for _ in range(20):  # another may take a port that looks free
            self.port = random.randrange(15000, 30000)
            text = shipped
            for old, new in (("listen 443 ssl", f"listen 127.0.0.1:{self.port} ssl"), ("/etc/trilha/proxy", f"{self.folder}/proxy"),
                             ("127.0.0.1:8080", f"127.0.0.1:{self.server.api_port}")):
                assert text.count(old) >= 1, old
                text = text.replace(old, new)
            (self.folder / "server.conf").write_text(text, encoding="utf-8")
            self.process = subprocess.Popen(  # pylint: disable=consider-using-with
                [NGINX, "-p", self.folder, "-e", self.folder / "nginx.log", "-c", self.folder / "nginx.conf"], stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if self.listens():
                return self
            self.process.wait(timeout=60)
        raise AssertionError((self.folder / "nginx.log").read_text(encoding="utf-8"))

    def listens(self):
        end = time.monotonic() + 60
        while self.process.poll() is None and time.monotonic() < end:
            try:
                self.ask("/nothing")
                return True
            except OSError:
                time.sleep(0.05)
        return False

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(timeout=60)

    def ask(self, path, method="GET", client="127.0.0.1", body=None, **headers):
        context = ssl.create_default_context(cafile=self.folder / "proxy.crt")
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=60, context=context, source_address=(client, 0))
        try:
            connection.request(method, path, body=body, headers={"Authorization": "Bearer " + self.server.token, **headers})
            response = connection.getresponse()
            return Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, response.read())
        finally:
            connection.close()


NGINX = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin")


def test_the_shipped_proxy_lets_operators_in_and_nobody_who_claims_to_be_one():
    if NGINX is None:
        tap.skip("nginx is not installed")
    with Server() as server:
        text = (server.store.path / "trilha.yaml").read_text()
        server.store.write("trilha.yaml", text.replace("allow: [127.0.0.0/8]", "allow: [127.0.0.2], trusted_proxies: [127.0.0.1]", 1))
        assert server.reload()
        with Nginx(server) as proxy:
            assert proxy.ask("/api/events", client="127.0.0.2").json()["total"] == 0
            claim = {"X-Forwarded-For": "127.0.0.2", "X-Real-IP": "127.0.0.2", "Forwarded": "for=127.0.0.2"}
            assert proxy.ask("/api/events", client="127.0.0.3", **claim).status == 403
            assert proxy.ask("/api/events", client="127.0.0.2", **{"X-Forwarded-For": "127.0.0.3"}).status == 200
            sent = {"method": "POST", "client": "127.0.0.2", "body": json.dumps({"colonia": "D-4"}), "Content-Type": "application/json"}
            assert [proxy.ask("/api/events/dlq/reprocessar", **sent).status for _ in range(2)] == [200, 429]
            trail = proxy.ask("/api/v1/audit-logs?action=trilha.dead-letter-queue.reprocessed", client="127.0.0.2").json()["linhas"]
            assert [row["metadata"]["address"] for row in trail] == ["127.0.0.2"], trail
            for path in ("/metrics", "/statusz", "/"):
                assert proxy.ask(path, client="127.0.0.2").status == 404, path
            assert proxy.ask("/api/events", "POST", client="127.0.0.2", body="x" * 70000).status == 413


if __name__ == "__main__":
    tap.run(globals())
