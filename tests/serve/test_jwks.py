# serve: keys of an identity provider, fetched over https, in every way such a provider can go wrong.
import base64
import contextlib
import http.server
import json
import pathlib
import ssl
import subprocess
import threading
import time

from server import Server, tap
from test_tls import make_certificate


def jwk_of(path, **more):
    """The public P-256 key of a PEM file as a JWK."""
    der = subprocess.run(["openssl", "pkey", "-pubin", "-in", path, "-outform", "DER"], check=True, capture_output=True).stdout
    x, y = (base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in (der[-64:-32], der[-32:]))
    return {"kty": "EC", "crv": "P-256", "x": x, "y": y, **more}


class Provider(http.server.ThreadingHTTPServer):
    """An identity provider on https://127.0.0.1; `answer` says what it answers and may be changed."""

    daemon_threads = True

    def __init__(self, folder):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):  # pylint: disable=invalid-name
                with self.server.lock:
                    self.server.asked += 1
                    status, headers, body = self.server.answer
                if status is None:  # hangs until the test ends
                    self.server.release.wait()
                    return
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                with contextlib.suppress(OSError):
                    self.wfile.write(body)

            def log_message(self, *_):  # pylint: disable=arguments-differ
                pass
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock, self.release, self.asked, self.answer = threading.Lock(), threading.Event(), 0, (200, {}, b'{"keys": []}')
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pathlib.Path(folder) / "provider.crt", pathlib.Path(folder) / "provider.key")
        self.socket = context.wrap_socket(self.socket, server_side=True)

    def handle_error(self, *_):  # clients that refuse its certificate
        pass

    def serve_keys(self, *keys):
        self.answer = (200, {"Content-Type": "application/json"}, json.dumps({"keys": keys}).encode())


class JwksServer(Server):
    """A server that knows no key but those of its provider."""

    def __init__(self, ca="provider.crt", **more):
        super().__init__(**more)
        self.ca, self.provider = ca, None

    def configure(self, **changes):
        if not self.provider:
            make_certificate(self.store.path, "provider")
            self.provider = Provider(self.store.path)
            threading.Thread(target=self.provider.serve_forever, daemon=True).start()
        self.settings["access"] = (f", keys: [], jwks_url: 'https://127.0.0.1:{self.provider.server_port}/keys'"
                                   + (f", jwks_ca: {self.ca}" if self.ca else ""))
        super().configure(**changes)
        text = self.store.path / "trilha.yaml"
        text.write_text(text.read_text(encoding="utf-8").replace("keys: [dev.pem.pub], keys: []", "keys: []"), encoding="utf-8")

    def start(self):
        super().start()
        # The look at the start is over, so that a test's own is the next one.
        self.until(lambda: self.log("serve.jwks_fetched") or self.log("serve.jwks_failed"))

    def __exit__(self, *_):
        if self.provider:
            self.provider.release.set()
        super().__exit__()
        if self.provider:
            self.provider.shutdown()
            self.provider.server_close()

    def key(self, **more):
        return jwk_of(self.store.path / "dev.pem.pub", **more)

    def looked(self, outcome):
        """Waits for the next such outcome after an operator asked for a new look."""
        name = "serve.jwks_failed" if outcome == "failed" else "serve.jwks_fetched"
        before = self.log(name)
        assert self.reload()
        self.until(lambda: len(self.log(name)) > len(before))
        return self.log(name)[-1]


def allowed(server, **more):
    return server.get("/api/events", **more).status


def unknown_key(server):
    """A token that names a key nobody has."""
    header, claims, signature = server.token.split(".")
    named = json.loads(base64.urlsafe_b64decode(header + "=" * (-len(header) % 4))) | {"kid": "nobody"}
    return ".".join([base64.urlsafe_b64encode(json.dumps(named).encode()).rstrip(b"=").decode(), claims, signature])


def test_keys_of_the_provider_let_in_and_go_with_it():
    with JwksServer() as server:
        assert allowed(server) == 401
        server.provider.serve_keys(server.key(kid="a", use="sig", alg="ES256"))
        server.looked("fetched")
        assert allowed(server) == 200 and allowed(server, token=unknown_key(server)) == 401
        assert server.metric("trilha_jwks_last_success_timestamp_seconds") > 0
        server.provider.serve_keys()
        server.looked("fetched")
        assert allowed(server) == 401, "a key that the provider took back"


def test_what_is_no_sound_set_changes_nothing():
    with JwksServer() as server:
        good = server.key(kid="a")
        server.provider.serve_keys(good)
        server.looked("fetched")
        secret = {"kty": "oct", "k": base64.urlsafe_b64encode(b"s" * 32).decode().rstrip("=")}
        as_set = lambda *keys: json.dumps({"keys": keys}).encode()  # pylint: disable=unnecessary-lambda-assignment
        wrong = {
            "a shared secret": (200, {}, as_set(good, secret)),
            "a private key": (200, {}, as_set({**good, "d": good["x"]})),
            "a point off the curve": (200, {}, as_set({**good, "y": good["x"]})),
            "a single key": (200, {}, json.dumps(good).encode()),
            "a single secret": (200, {}, json.dumps(secret).encode()),
            "PEM": (200, {}, (server.store.path / "dev.pem.pub").read_bytes()),
            "no JSON": (200, {}, b"<html>"),
            "nothing": (200, {}, b""),
            "65 keys": (200, {}, as_set(*[good] * 65)),
            "256 KiB and more": (200, {}, b" " * (256 * 1024) + as_set(good)),
            "a redirect": (302, {"Location": f"https://127.0.0.1:{server.provider.server_port}/keys"}, as_set(good)),
            "an error": (500, {}, as_set(good)),
        }
        for what, answer in wrong.items():
            server.provider.answer = answer
            failed = server.looked("failed")
            assert failed["level"] == "warning" and failed["code"], (what, failed)
            assert allowed(server) == 200, what
        server.provider.serve_keys(good, {"kty": "OKP", "crv": "Ed25519", "x": good["x"]}, {"kty": "EC", "crv": "P-521"})
        server.looked("fetched")
        assert allowed(server) == 200, "keys of other kinds are passed over"


def test_tokens_with_unknown_keys_cause_at_most_one_fetch_a_minute():
    with JwksServer() as server:
        server.provider.serve_keys(server.key(kid="a"))
        began = time.monotonic()
        server.looked("fetched")
        asked = server.provider.asked
        token = unknown_key(server)
        for _ in range(50):
            assert allowed(server, token=token) == 401
        minutes = int((time.monotonic() - began) // 60)
        assert server.provider.asked - asked <= minutes, "one a minute, and none before the first has passed"


def test_a_provider_that_hangs_holds_nobody_up():
    with JwksServer() as server:
        server.provider.serve_keys(server.key())
        server.looked("fetched")
        asked = server.provider.asked
        server.provider.answer = (None, {}, b"")
        assert server.reload()
        server.until(lambda: server.provider.asked > asked)
        for _ in range(20):
            assert allowed(server) == 200
        assert server.stop() == 0, "nor does it hold up the end"


def test_a_provider_that_nobody_vouches_for_is_not_believed():
    with JwksServer(ca=None) as server:
        server.provider.serve_keys(server.key())
        failed = server.looked("failed")
        assert failed["code"] == "FETCH_FAILED" and server.provider.asked == 0, failed
        assert allowed(server) == 401


def test_only_https_without_a_user_is_a_url():
    with Server() as server:
        for url in ("http://127.0.0.1/keys", "file:///etc/passwd", "https://ana:secret@127.0.0.1/keys", "ftp://x/keys", "https://"):
            server.settings["access"] = f", jwks_url: '{url}'"
            server.configure()
            outcome = server.store.run("config", "check")
            assert outcome.status == 3 and "secret" not in outcome.out + outcome.err, (url, outcome)


if __name__ == "__main__":
    tap.run(globals())
