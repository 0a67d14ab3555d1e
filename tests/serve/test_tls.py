# serve: TLS on the API's listener, and certificates that are renewed while clients are connected.
import contextlib
import http.client
import pathlib
import shutil
import socket
import ssl
import subprocess
import threading
import time

from server import Server, tap


def make_certificate(folder, name, days=30):
    """name.crt and name.key, for localhost."""
    folder = pathlib.Path(folder)
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
                    folder / f"{name}.key", "-out", folder / f"{name}.crt", "-days", str(days), "-subj", f"/CN={name}", "-addext",
                    "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    (folder / f"{name}.key").chmod(0o600)


class TlsServer(Server):
    """A server whose certificate is api.crt."""

    def __init__(self, **more):
        super().__init__(api=", certificate: api.crt, certificate_key: api.key", **more)

    def configure(self, **changes):
        self.use("first")
        super().configure(**changes)

    def path(self, name):
        return pathlib.Path(self.store.path) / name

    def use(self, name):
        """Puts that certificate where the configuration looks for it."""
        if not self.path(name + ".crt").exists():
            make_certificate(self.store.path, name)
        for kind in ("crt", "key"):
            shutil.copy(self.path(f"{name}.{kind}"), self.path(f"new.{kind}"))
            self.path(f"new.{kind}").replace(self.path(f"api.{kind}"))

    def connect(self, port=None, trust=None, **versions):
        if port == self.status_port:
            return super().connect(port)
        context = ssl.create_default_context(cafile=self.path(trust + ".crt") if trust else None)
        if not trust:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        for name, value in versions.items():
            setattr(context, name, value)
        return http.client.HTTPSConnection("127.0.0.1", self.api_port, timeout=60, context=context)


def ask(server, connection):
    connection.request("GET", "/api/events", headers={"Authorization": "Bearer " + server.token})
    response = connection.getresponse()
    response.read()
    return response


def test_the_api_speaks_tls_1_2_and_1_3_and_its_certificate_is_verified():
    with TlsServer() as server:
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            connection = server.connect(trust="first", minimum_version=version, maximum_version=version)
            assert ask(server, connection).status == 200
            assert connection.sock.version() == version.name.replace("_", "."), connection.sock.version()
            connection.close()
        make_certificate(server.store.path, "stranger")
        with contextlib.closing(server.connect(trust="stranger")) as connection:
            try:
                connection.connect()
                raise AssertionError("a certificate of somebody else was believed")
            except ssl.SSLCertVerificationError:
                pass
        expiry = server.metric("trilha_certificate_expiry_timestamp_seconds")
        assert 29 * 86400 < expiry - time.time() < 31 * 86400, expiry


def test_older_versions_and_plain_http_get_nothing():
    with TlsServer() as server:
        for version in ("-tls1", "-tls1_1"):
            outcome = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{server.api_port}", version, "-cipher",
                                      "DEFAULT@SECLEVEL=0"], input=b"", capture_output=True, check=False, timeout=60)
            assert outcome.returncode != 0 and b"Cipher is (NONE)" in outcome.stdout, outcome
        with contextlib.suppress(ConnectionError):
            answer = server.raw(b"GET /api/events HTTP/1.1\r\nHost: t\r\n\r\n")
            assert b"HTTP/" not in answer, answer
        assert server.get("/api/events").status == 200
        assert server.status("/livez").status == 200


def test_a_client_that_never_shakes_hands_is_ended_at_its_deadline():
    with TlsServer(limits=", request_ms: 1000") as server:
        with socket.create_connection(("127.0.0.1", server.api_port), timeout=60) as silent:
            assert silent.recv(100) == b""
        with socket.create_connection(("127.0.0.1", server.api_port), timeout=60) as half:
            half.sendall(bytes([22, 3, 1, 2, 0, 1]))
            with contextlib.suppress(ConnectionError):
                while half.recv(100):
                    pass

        def connections():
            with contextlib.suppress(ConnectionError, http.client.HTTPException):  # a request that was late itself
                return server.metric('trilha_http_connections{listener="api"}')
        server.until(lambda: connections() == 0)


def test_connections_above_the_limit_read_an_alert():
    with TlsServer(limits=", connections: 1, request_ms: 60000") as server:
        with contextlib.closing(server.connect()) as first:
            assert ask(server, first).status == 200
            with socket.create_connection(("127.0.0.1", server.api_port), timeout=60) as second:
                assert second.recv(100) == bytes([21, 3, 3, 0, 2, 2, 80])
            assert ask(server, first).status == 200
        server.until(lambda: server.metric('trilha_http_connections{listener="api"}') == 0)
        assert server.get("/api/events").status == 200


def test_a_renewed_certificate_is_taken_over_and_open_connections_end_with_an_answer():
    with TlsServer(limits=", request_ms: 60000") as server:
        with contextlib.closing(server.connect(trust="first")) as before:
            assert ask(server, before).headers["Connection"] is None
            server.use("second")
            assert server.reload()
            with contextlib.closing(server.connect(trust="second")) as after:
                assert ask(server, after).status == 200
            response = ask(server, before)
            assert response.status == 200 and response.headers["Connection"] == "close", response.headers
        assert [entry["certificate"] for entry in server.log("serve.reloaded")] == ["renewed"]
        assert server.reload()
        assert server.log("serve.reloaded")[-1]["certificate"] == "same"


def test_what_cannot_be_used_changes_nothing():
    with TlsServer() as server:
        server.use("second")
        server.path("api.key").write_bytes(server.path("first.key").read_bytes())
        assert not server.reload(), "a key of another certificate"
        server.path("api.crt").write_text("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", encoding="ascii")
        assert not server.reload(), "no certificate"
        server.path("api.crt").unlink()
        assert not server.reload(), "no file"
        codes = [entry["code"] for entry in server.log("serve.reload_failed")]
        assert codes == ["CERTIFICATE_INVALID", "CERTIFICATE_INVALID", "KEY_FILE"], codes
        with contextlib.closing(server.connect(trust="first")) as connection:
            assert ask(server, connection).status == 200
        server.settings["api"] = ""
        server.configure()
        assert not server.reload(), "TLS does not go away while it runs"
        assert server.log("serve.reload_failed")[-1]["code"] == "CERTIFICATE_SWITCHED"
        rows = server.get("/api/v1/audit-logs?action=trilha.configuration.reloaded").json()["linhas"]
        assert not rows, rows


def test_no_request_fails_while_certificates_are_renewed_again_and_again():
    with TlsServer() as server:
        failures, served, ended = [], [0] * 3, threading.Event()

        def keep_asking(at):
            connection = server.connect()
            while not ended.is_set():
                try:
                    if ask(server, connection).status != 200:
                        failures.append("status")
                    served[at] += 1
                except (OSError, http.client.HTTPException) as error:
                    failures.append(repr(error))
            connection.close()
        threads = [threading.Thread(target=keep_asking, args=(at,)) for at in range(len(served))]
        for thread in threads:
            thread.start()
        for n in range(10):
            seen = list(served)
            server.use("second" if n % 2 == 0 else "first")
            assert server.reload()
            # Every client has been answered twice since: by the old certificate's last answer, then by the new one.
            server.until(lambda: failures or all(now >= then + 2 for now, then in zip(served, seen)))  # pylint: disable=cell-var-from-loop
        ended.set()
        for thread in threads:
            thread.join()
        assert not failures, failures[:5]


def test_a_start_without_a_whole_and_private_pair_is_refused():
    with TlsServer() as server:
        server.stop()
        server.path("api.key").chmod(0o644)
        outcome = server.store.run("serve", "--config", "trilha.yaml")
        assert outcome.status != 0 and "chmod 600 api.key" in outcome.err, outcome
        server.settings["api"] = ", certificate: api.crt"
        server.configure()
        outcome = server.store.run("serve", "--config", "trilha.yaml")
        assert outcome.status != 0 and "given together" in outcome.err, outcome
        server.settings["api"] = ""
        server.configure()
        server.start()


if __name__ == "__main__":
    tap.run(globals())
