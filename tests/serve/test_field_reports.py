# serve: what people reported of systems like this one (field reports B27, B28, B31 to B34), as kinds of fault, seen from outside.
import base64
import hashlib
import hmac
import http.client
import json
import pathlib
import subprocess
import time

from server import KIND, Answer, Server, program, tap
from stores import order

IMAGE = "<img src=x onerror=alert(1)>"
MARK = "S3CR3T-M4RK"


def coded(part):
    raw = part if isinstance(part, bytes) else json.dumps(part).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=")


class Forger:
    """Signs with an RSA key, whose public half verifies, and by every other way."""

    def __init__(self, folder):
        self.key, self.public = pathlib.Path(folder) / "rsa.pem", pathlib.Path(folder) / "rsa.pub"
        subprocess.run(["openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", self.key], check=True, capture_output=True)
        subprocess.run(["openssl", "pkey", "-in", self.key, "-pubout", "-out", self.public], check=True, capture_output=True)
        self.claims = {"aud": "trilha", "sub": "ana", "role": "admin", "exp": int(time.time()) + 36000}

    def token(self, head, sign, **claims):
        text = coded(head) + b"." + coded({**self.claims, **claims})
        return (text + b"." + coded(sign(text))).decode()

    def rsa(self, digest="sha256"):
        return lambda text: subprocess.run(["openssl", "dgst", "-" + digest, "-sign", self.key], input=text, check=True, capture_output=True).stdout

    @staticmethod
    def shared(secret):
        return lambda text: hmac.new(secret, text, hashlib.sha256).digest()

    def forged(self):
        pem = self.public.read_bytes()
        for name in ("none", "None", "NONE"):
            yield self.token({"alg": name, "typ": "JWT"}, lambda text: b"")
        for secret in (pem, pem.rstrip(b"\n"), b""):
            yield self.token({"alg": "HS256"}, self.shared(secret))
            yield self.token({"alg": "RS256"}, self.shared(secret))
        yield self.token({"alg": "RS512"}, self.rsa("sha512"))
        yield self.token({"alg": "RS512"}, self.rsa())
        yield self.token({}, self.rsa())
        yield self.token({"typ": "JWT"}, lambda text: b"")
        own = {"kty": "oct", "k": coded(b"k" * 32).decode()}
        yield self.token({"alg": "HS256", "jwk": own, "jku": "https://127.0.0.1:9/keys", "kid": "../../dev/null"}, self.shared(b"k" * 32))
        yield self.token({"alg": "RS256", "crit": ["b64"], "b64": False}, self.rsa())


def test_B27_a_token_never_chooses_its_algorithm_or_its_key():
    with Server() as server:
        forger = Forger(server.store.path)
        server.settings["access"] = ", algorithms: [RS256]"
        server.configure()
        text = (server.store.path / "trilha.yaml").read_text()
        server.store.write("trilha.yaml", text.replace("dev.pem.pub", "rsa.pub"))
        assert server.reload()
        good = forger.token({"alg": "RS256"}, forger.rsa())
        assert server.get("/api/events", token=good).status == 200
        assert server.get("/api/events", token=forger.token({"alg": "RS256"}, forger.rsa(), role="reader")).status == 403
        answers = [server.get("/api/events", token=token) for token in forger.forged()]
        assert len(answers) > 10 and {answer.status for answer in answers} == {401}, answers
        assert len({answer.body for answer in answers}) == 1 and answers[0].body == server.get("/nothing", token=None).body, "all read the same"
        assert server.get("/api/events").status == 401, "the key of before is none any more"


def forwarded(server, method, path, *lines):
    """With a line of X-Forwarded-For for each word."""
    connection = http.client.HTTPConnection("127.0.0.1", server.api_port, timeout=60)
    try:
        body = b'{"colonia": "D-4"}' if method == "POST" else b""
        connection.putrequest(method, path)
        for name, value in (("Authorization", "Bearer " + server.token), ("Content-Type", "application/json"), ("Content-Length", str(len(body))),
                            *(("X-Forwarded-For", line) for line in lines)):
            connection.putheader(name, value)
        connection.endheaders(body)
        response = connection.getresponse()
        return Answer(response.status, {}, response.read())
    finally:
        connection.close()


def configured(server, allow, trusted):
    text = (server.store.path / "trilha.yaml").read_text()
    server.store.write("trilha.yaml", text.replace("allow: [127.0.0.0/8]", f"allow: [{allow}], trusted_proxies: [{trusted}]", 1))
    assert server.reload()


def test_B28_a_forwarding_header_counts_from_a_trusted_proxy_alone_and_from_the_right():
    with Server() as server:
        configured(server, "10.0.0.5, 10.0.0.6", "")
        assert forwarded(server, "GET", "/api/events", "10.0.0.5").status == 403, "a direct call"
        server.configure()
        configured(server, "10.0.0.5, 10.0.0.6", "127.0.0.1")
        for lines in (("10.0.0.5, 203.0.113.9",), ("10.0.0.5", "203.0.113.9"), ("10.0.0.5", "203.0.113.9", ""), ("10.0.0.5,,",), ()):
            assert forwarded(server, "GET", "/api/events", *lines).status == 403, lines
        for lines in (("203.0.113.9, 10.0.0.5",), ("203.0.113.9", "10.0.0.5"), ("10.0.0.5, 127.0.0.1",)):
            assert forwarded(server, "GET", "/api/events", *lines).status == 200, lines
        again = [forwarded(server, "POST", "/api/events/dlq/reprocessar", "203.0.113.9, " + client).status for client in ("10.0.0.5", "10.0.0.5", "10.0.0.6")]
        assert again == [200, 429, 200], "each client has its own minute"
        trail = forwarded(server, "GET", "/api/v1/audit-logs?action=trilha.dead-letter-queue.reprocessed", "10.0.0.5").json()["linhas"]
        assert [row["metadata"]["address"] for row in trail] == ["10.0.0.5", "10.0.0.6"], trail


def test_B31_names_that_a_metric_cannot_hold_are_refused_and_all_others_come_back_whole():
    with Server() as server:
        names = ['quote"', "back\\slash", "brace{}", "comma,=", "ação", "日本", IMAGE]
        for number, name in enumerate(names):
            server.store.write("t.json", json.dumps({"tipo": name, "versao": "1.0.0", "schema": {"x-redacao": "manter"}}))
            assert server.store.run("registry", "apply", "t.json").status == 0, name
            outcome = server.store.run("consume", "--colony", f"C-{number}", "--group", "g", "--type", name, "--once", "--each", "--shell", "cat")
            assert outcome.status == 0, outcome
        for name in ("line\nfeed", "nul\x01", "tab\t"):
            server.store.write("t.json", json.dumps({"tipo": name, "versao": "1.0.0", "schema": {"x-redacao": "manter"}}))
            assert server.store.run("registry", "apply", "t.json").status != 0, name

        def told():
            body = server.status("/metrics").body.decode()
            assert body.endswith("\n"), body[-80:]
            lines = [line for line in body.splitlines() if line.startswith("trilha_consumer_lag_events{")]
            return {json.loads('"' + line.split('tipo="', 1)[1].rsplit('"} ', 1)[0] + '"') for line in lines}
        server.until(lambda: told() == set(names))


def everything_said(server):
    """Each answer that could carry what somebody wrote."""
    event = server.get("/api/events").json()["linhas"][0]
    letter = server.get("/api/v1/dead-letters").json()["linhas"][0]
    search = "?tipo=" + IMAGE.replace(" ", "%20").replace("<", "%3C").replace(">", "%3E")
    for path in ("/api/events", "/api/events" + search, "/api/events?apos=0", "/api/events/" + event["event_id"],
                 "/api/events/trace/" + event["correlacao_id"], "/api/v1/dead-letters", "/api/v1/dead-letters" + search,
                 "/api/v1/dead-letters/" + letter["id"], "/api/v1/event-types" + search, "/api/v1/consumers", "/api/v1/audit-logs",
                 "/api/events" + search + "&limite=0", "/api/events" + search + "&unknown=1", "/api/events/" + search[6:], "/nothing/" + search[6:]):
        yield path, server.get(path)
        yield path, server.get(path, Accept="application/cloudevents+json")
        yield path, server.get(path, Accept="text/html", token=None)
    for path in ("/metrics", "/statusz", "/livez", "/nothing"):
        yield path, server.status(path)


def test_B32_what_somebody_wrote_is_never_anything_but_data():
    with Server() as server:
        server.store.write("t.json", json.dumps({"tipo": IMAGE, "versao": "1.0.0", "schema": {
            "type": "object", "properties": {IMAGE: {"type": "string", "x-redacao": "manter"}}}}))
        assert server.store.run("registry", "apply", "t.json").status == 0
        assert server.store.run("publish", "--type", IMAGE, "--origin", IMAGE, stdin=json.dumps({IMAGE: IMAGE})).status == 0
        server.store.run("consume", "--colony", "D-4", "--type", IMAGE, "--from", "start", "--once", "--each", "--shell",
                         f"echo '{IMAGE}' >&2; exit 1")
        server.until(lambda: server.metric('dead_letter_queue_pending{colonia="D-4"}') == 1)
        row = server.get("/api/events").json()["linhas"][0]
        assert row["tipo"] == row["origem"] == IMAGE and row["payload"] == {IMAGE: IMAGE}, row
        letter = server.get("/api/v1/dead-letters").json()["linhas"][0]
        assert IMAGE in letter["mensagem_erro"] + (letter["pilha_erro"] or ""), letter
        for path, answer in everything_said(server):
            kind = answer.headers["content-type"].partition(";")[0]
            assert kind in ("text/plain",) or kind.endswith("json"), (path, answer)
            assert answer.headers["x-content-type-options"] == "nosniff", (path, answer)
            assert answer.headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'", (path, answer)
            if kind.endswith("json"):
                answer.json()
            if answer.status >= 400:
                assert b"onerror" not in answer.body, "what was searched for is not repeated"


def test_B33_pages_by_apos_lose_and_repeat_nothing_of_one_instant_while_others_publish():
    at = "2026-06-15T10:30:00.12Z"
    window = f"timestamp_inicio={at}&timestamp_fim={at}&limite=100"
    with Server() as server:
        assert server.store.ndjson([order(n, timestamp=at) for n in range(1000)]).status == 0
        writer = server.store.start("publish", "--ndjson", "-")
        writer.stdin.write(b"".join(json.dumps(order(n, timestamp="2026-06-15T10:30:00.13Z")).encode() + b"\n" for n in range(500)))
        writer.stdin.close()
        writer.stdin = None
        seen, after = [], "0"
        while after is not None:
            page = server.get(f"/api/events?{window}&apos={after}").json()
            seen += [row["event_id"] for row in page["linhas"]]
            after = page["proximo"]
        writer.communicate(timeout=program.TIMEOUT_S)
        assert len(seen) == len(set(seen)) == 1000
        by_offset = [row["event_id"] for skipped in range(0, 1000, 100)
                     for row in server.get(f"/api/events?{window}&deslocamento={skipped}").json()["linhas"]]
        assert by_offset == seen
        row = server.get("/api/events/" + seen[17]).json()
        own = server.get(f"/api/events?timestamp_inicio={row['timestamp']}&timestamp_fim={row['timestamp']}").json()
        assert own["total"] == 1000, own["total"]


def test_B34_no_output_of_the_service_shows_a_password():
    bad = f"postgresql://u:{MARK}@127.0.0.1:1/app?password={MARK}&options={MARK}"
    with Server() as server:
        server.settings["sources"] = f"[{{name: billing, store: '{bad}', schema: billing}}]"
        server.stop()
        server.configure()
        server.start()
        server.until(lambda: server.metric('trilha_outbox_up{source="billing"}') == 0)
        said = [server.status(path).body.decode() for path in ("/metrics", "/statusz")]
        said += [pathlib.Path(f"/proc/{server.process.pid}/cmdline").read_bytes().decode()]
        assert server.stop() == 0
        for words, status in ((("config", "show"), 0), (("config", "show", "--json"), 0), (("source", "list", "--json"), 0), (("source", "check"), None),
                              (("serve", "--store", bad), 4), (("serve", "--store", f"postgresql://u:{MARK}@127.0.0.1:port/app"), None),
                              (("serve", "--store", f"postgresql://u:{MARK}%zz@127.0.0.1/app"), None),
                              (("serve", "--store", f"postgresql://u:{MARK}@nowhere.invalid/app"), 4)):
            outcome = server.store.run(*words)
            assert outcome.status == status if status is not None else outcome.status != 0, (words, outcome)
            assert status == 0 or outcome.err or outcome.out, words
            said += [outcome.out, outcome.err]
        said.append((server.store.path / "serve.log").read_text())
        assert not any(MARK in text for text in said), [text for text in said if MARK in text]


if __name__ == "__main__":
    assert KIND in ("sqlite", "postgresql")
    tap.run(globals())
