# cli: worker run --webhook against receivers on loopback, kind and hostile (requirement O24, field reports B22, B23).
import base64
import contextlib
import hashlib
import hmac
import json
import shutil
import socket
import sqlite3
import ssl
import struct
import subprocess
import threading
import urllib.parse

from program import Folder, tap
from stores import parsed

STORE = ("--store", "sqlite:app.db", "--schema", "billing")
CORRELATION = "a8767a61-82e6-4978-b826-563ee88b6727"
SECRETS = ("whsec_" + base64.b64encode(b"n" * 24).decode(), "whsec_" + base64.b64encode(b"o" * 32).decode())


class Producer(Folder):
    """An outbox `billing` whose messages go to `shop`, and a worker that delivers them."""

    def __enter__(self):
        super().__enter__()
        for words in (("install",), ("route", "*", "shop")):
            assert self.run("outbox", *words, *STORE).status == 0
        return self

    def say(self, key="42", payload='{"total": 1}', tenant="acme"):
        with contextlib.closing(sqlite3.connect(self.path / "app.db", isolation_level="IMMEDIATE")) as db, db:
            db.execute("INSERT INTO billing_outbox_enqueue (tenant_id, aggregate_type, aggregate_key, message_type, version, payload, origin, "
                       "correlation_id) VALUES (?, 'invoice', ?, 'invoice.issued', '1.0.0', ?, 'billing', ?)",
                       (tenant, key, payload, CORRELATION))

    def work(self, url, *more, allowed="127.0.0.0/8", **env):
        words = ("--allow-network", allowed) if allowed else ()
        outcome = self.run("worker", "run", *STORE, "--destination", "shop", "--once", "--webhook", url, *words, *more, **env)
        assert outcome.status == 0, outcome
        return outcome

    def lane(self):
        """The only lane with work."""
        lane, = parsed(self.run("outbox", "lanes", "--json", *STORE).out)
        return lane


class Receiver:
    """Accepts connections one after another, reads one request from each and lets `answer(socket, request)` do the rest."""

    def __init__(self, answer=None, context=None):
        self.answer, self.context, self.requests = answer or reply(204), context, []
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.url = f"http{'s' if context else ''}://127.0.0.1:{self.port}/hook"
        self.thread = threading.Thread(target=self.serve)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.socket.close()

    def serve(self):
        while True:
            try:
                peer, _ = self.socket.accept()
            except OSError:  # closed
                return
            with contextlib.suppress(OSError):  # what the other side does is its own affair; what was heard is judged
                with peer:
                    peer.settimeout(30)
                    self.hear(self.context.wrap_socket(peer, server_side=True) if self.context else peer)

    def hear(self, peer):
        with contextlib.suppress(OSError), peer:
            data = b""
            while b"\r\n\r\n" not in data:
                piece = peer.recv(65536)
                if not piece:
                    return
                data += piece
            head, _, body = data.partition(b"\r\n\r\n")
            lines = head.decode("ascii").split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
            while len(body) < int(headers["content-length"]):
                body += peer.recv(65536)
            self.requests.append((lines[0], headers, body))
            self.answer(peer, len(self.requests))


def reply(status, *headers, body=b""):
    lines = (f"HTTP/1.1 {status} Whatever", f"Content-Length: {len(body)}", "Connection: close", *headers, "", "")
    return lambda peer, _: peer.sendall("\r\n".join(lines).encode() + body)


def signature(secret, headers, body):
    key = base64.b64decode(secret.removeprefix("whsec_"))
    said = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, said, hashlib.sha256).digest()).decode()


def fails_with(answer, code, *more, context=None, **env):
    """One message, one attempt: the lane says why."""
    with Producer() as producer, Receiver(answer, context) as receiver:
        producer.say()
        producer.work(receiver.url, "--attempts", "1", *more, **env)
        lane = producer.lane()
        assert lane["status"] == "DeadLettered" and lane["error_code"] == code, lane
        return receiver


def test_a_message_arrives_as_a_binary_cloudevent_with_a_signature_for_each_secret():
    payload = '{"total": "10.50", "texto": "ção"}'
    with Producer() as producer, Receiver() as receiver:
        producer.say(key='número 1 "50%"', payload=payload, tenant="São Paulo")
        producer.write("hook.secret", "\n".join(SECRETS) + "\n")
        producer.work(receiver.url, "--secret-file", "hook.secret", TRILHA_WEBHOOK_AUTHORIZATION="Bearer t0k3n")
        (line, headers, body), = receiver.requests
        assert line == "POST /hook HTTP/1.1" and body == payload.encode() and headers["content-type"] == "application/json"
        assert headers["ce-specversion"] == "1.0" and headers["ce-type"] == "invoice.issued" and headers["ce-source"] == "billing"
        assert headers["ce-dataschema"] == "urn:trilha:invoice.issued:1.0.0" and headers["ce-correlationid"] == CORRELATION
        assert headers["ce-sequence"] == "1" and headers["ce-previoussequence"] == "0" and headers["ce-revision"] == "1"
        assert headers["ce-subject"] == headers["ce-partitionkey"] == "n%C3%BAmero%201%20%2250%25%22"  # encoded once, as the binding says
        assert urllib.parse.unquote(headers["ce-tenantid"]) == "São Paulo"
        assert headers["webhook-id"] == headers["ce-id"] and headers["authorization"] == "Bearer t0k3n"
        assert headers["webhook-signature"].split(" ") == [signature(secret, headers, body) for secret in SECRETS]
        assert "expect" not in headers and "accept-encoding" not in headers


def test_a_structured_event_is_one_object_and_secrets_may_come_from_the_environment():
    with Producer() as producer, Receiver() as receiver:
        producer.say()
        producer.work(receiver.url, "--structured", TRILHA_WEBHOOK_SECRETS=SECRETS[0])
        (_, headers, body), = receiver.requests
        event = json.loads(body)
        assert headers["content-type"].startswith("application/cloudevents+json")
        assert event["id"] == headers["webhook-id"] and event["data"] == {"total": 1} and event["tenantid"] == "acme"
        assert event["specversion"] == "1.0" and event["datacontenttype"] == "application/json" and event["sequence"] == "1"
        assert headers["webhook-signature"] == signature(SECRETS[0], headers, body)


def test_a_repeat_has_the_same_id_and_the_same_bytes():
    with Producer() as producer, Receiver(lambda peer, n: reply(500 if n == 1 else 200)(peer, n)) as receiver:
        producer.say()
        running = producer.start("worker", "run", *STORE, "--destination", "shop", "--webhook", receiver.url, "--allow-network", "127.0.0.1",
                                 "--backoff", "1", stderr="worker.log")
        while len(receiver.requests) < 2:
            assert running.poll() is None
            threading.Event().wait(0.02)
        running.terminate()
        running.communicate(timeout=60)
        first, second = receiver.requests
        assert first[2] == second[2] and first[1]["webhook-id"] == second[1]["webhook-id"] and len(receiver.requests) == 2


def test_answers_are_told_apart():
    for status, code in ((400, "WEBHOOK_REFUSED"), (413, "WEBHOOK_REFUSED"), (422, "WEBHOOK_REFUSED"), (403, "WEBHOOK_FORBIDDEN"),
                         (404, "WEBHOOK_NOT_FOUND"), (500, "WEBHOOK_STATUS"), (503, "WEBHOOK_STATUS")):
        fails_with(reply(status), code)
    with Producer() as producer, Receiver(reply(422)) as receiver:  # for good: one attempt, whatever --attempts says
        producer.say()
        producer.work(receiver.url)
        assert producer.lane()["status"] == "DeadLettered" and len(receiver.requests) == 1


def test_a_redirect_is_a_failure_and_is_not_followed():
    for status in (301, 302, 303, 307, 308):
        with Receiver() as inner:
            fails_with(reply(status, f"Location: {inner.url}"), "WEBHOOK_REDIRECT")
            assert inner.requests == []


def test_special_addresses_are_refused_on_the_address_that_is_connected_to():
    with Receiver() as receiver:
        for host in ("127.0.0.1", "localhost", "0", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]", "[::1]"):
            with Producer() as producer:
                producer.say()
                producer.work(f"http://{host}:{receiver.port}/", "--attempts", "1", allowed="10.0.0.0/8")
                assert producer.lane()["error_code"] == "WEBHOOK_ADDRESS", (host, producer.lane())
        assert receiver.requests == []


def test_proxies_of_the_environment_are_not_asked():
    with Receiver() as proxy, Receiver() as receiver, Producer() as producer:
        producer.say()
        producer.work(receiver.url, http_proxy=f"http://127.0.0.1:{proxy.port}", ALL_PROXY=f"http://127.0.0.1:{proxy.port}")
        assert len(receiver.requests) == 1 and proxy.requests == []


def drip(peer, _):
    """Headers that never end, slowly."""
    with contextlib.suppress(OSError):
        peer.sendall(b"HTTP/1.1 200 OK\r\n")
        while True:
            peer.sendall(b"x-slow: y\r\n")
            threading.Event().wait(0.1)


def flood(head, piece):
    def answer(peer, _):
        with contextlib.suppress(OSError):
            peer.sendall(head)
            while True:
                peer.sendall(piece)
    return answer


def reset(peer, _):
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    peer.close()


def test_receivers_that_are_slow_endless_or_gone_cost_an_attempt_and_no_more():
    fails_with(drip, "WEBHOOK_LATE", "--timeout", "1")
    fails_with(lambda peer, _: peer.recv(1), "WEBHOOK_LATE", "--timeout", "1")  # silence
    fails_with(reset, "WEBHOOK_FAILED")
    fails_with(lambda peer, _: None, "WEBHOOK_FAILED")  # closed without an answer
    fails_with(lambda peer, _: peer.sendall(b"\x16\x03\x01 this is no HTTP\r\n\r\n"), "WEBHOOK_FAILED")
    fails_with(flood(b"HTTP/1.1 200 OK\r\n", b"x-many: " + b"y" * 8000 + b"\r\n"), "WEBHOOK_ANSWER")
    fails_with(flood(b"HTTP/1.1 500 Oh\r\nTransfer-Encoding: chunked\r\n\r\n", b"1000\r\n" + b"z" * 4096 + b"\r\n"), "WEBHOOK_STATUS")
    with Producer() as producer, socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # nobody listens there
        producer.say()
        producer.work(f"http://127.0.0.1:{unused.getsockname()[1]}/", "--attempts", "1")
        assert producer.lane()["error_code"] == "WEBHOOK_FAILED"


def test_an_endless_or_compressed_body_after_a_2xx_is_not_read_and_changes_nothing():
    endless = flood(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1000\r\n" + b"z" * 4096 + b"\r\n")
    bomb = reply(200, "Content-Encoding: gzip", body=base64.b64decode("H4sIAAAAAAAC/+3BMQEAAADCIPuntsYOYAAAAAAAAAAAAAAAAAAA4G0=") * 1000)
    for answer in (endless, bomb):
        with Producer() as producer, Receiver(answer) as receiver:
            producer.say()
            outcome = producer.work(receiver.url)
            assert "sent 1" in outcome.err and len(receiver.requests) == 1
            assert parsed(producer.run("outbox", "lanes", "--json", *STORE).out) == []


def test_retry_after_is_heeded_and_capped_and_nonsense_is_ignored():
    for value, least, most in (("1800", 1000, 1800), ("999999999999", 2000, 3600), ("99999999999999999999999", -60, 3600),
                               ("Fri, 31 Dec 9998 23:59:59 GMT", 2000, 3600), ("-5", -60, 2), ("soon", -60, 2),
                               ("Fri, 31 Dec 1999 23:59:59 GMT", -60, 2)):
        with Producer() as producer, Receiver(reply(429, f"Retry-After: {value}")) as receiver:
            producer.say()
            producer.say(key="43")  # another lane: the endpoint as a whole is left alone
            producer.work(receiver.url, "--backoff", "1", "--attempts", "2")
            lanes = parsed(producer.run("outbox", "lanes", "--json", *STORE).out)
            assert all(lane["error_code"] in ("WEBHOOK_STATUS", None) for lane in lanes), lanes
            if least > 0:
                with contextlib.closing(sqlite3.connect(producer.path / "app.db")) as db:
                    due, = db.execute("SELECT max(due_us) / 1000000 - CAST(strftime('%s', 'now') AS INTEGER) FROM billing_outbox_lane").fetchone()
                assert least <= due <= most + 1, (value, due)
            assert len(receiver.requests) >= 1


def test_a_410_holds_the_destination_without_using_attempts():
    with Producer() as producer, Receiver(reply(410)) as receiver:
        for key in ("1", "2", "3"):
            producer.say(key=key)
        outcome = producer.work(receiver.url, "--attempts", "1")
        lanes = parsed(producer.run("outbox", "lanes", "--json", *STORE).out)
        assert [lane["status"] for lane in lanes] == ["Pending"] * 3 and [lane["attempts"] for lane in lanes] == [0] * 3, lanes
        assert "failed attempts 0" in outcome.err, outcome


def test_a_401_holds_the_destination_without_using_attempts_until_we_are_known():
    known = threading.Event()
    with Producer() as producer, Receiver(lambda peer, n: reply(200 if known.is_set() else 401)(peer, n)) as receiver:
        for key in ("1", "2", "3"):
            producer.say(key=key)
        outcome = producer.work(receiver.url, "--attempts", "1")
        lanes = parsed(producer.run("outbox", "lanes", "--json", *STORE).out)
        assert [lane["status"] for lane in lanes] == ["Pending"] * 3 and [lane["attempts"] for lane in lanes] == [0] * 3, lanes
        assert "failed attempts 0" in outcome.err and "webhook.credentials" in outcome.err and "401" in outcome.err, outcome
        known.set()
        producer.work(receiver.url, "--attempts", "1")
        assert parsed(producer.run("outbox", "lanes", "--json", *STORE).out) == []


def certificate(folder, name):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", f"{folder}/key.pem",
                    "-out", f"{folder}/cert.pem", "-days", "2", "-subj", "/CN=test", "-addext", f"subjectAltName={name}"],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{folder}/cert.pem", f"{folder}/key.pem")
    return context


def test_certificates_are_checked_for_trust_and_for_the_name():
    if shutil.which("openssl") is None:
        tap.skip("no openssl program")
    with Folder() as folder:
        context = certificate(folder.path, "IP:127.0.0.1")
        trusted = ("--ca-file", str(folder.path / "cert.pem"))
        with Producer() as producer, Receiver(context=context) as receiver:
            producer.say()
            assert "sent 1" in producer.work(receiver.url, *trusted).err and len(receiver.requests) == 1
        assert fails_with(reply(200), "WEBHOOK_TLS", context=context).requests == []  # nobody vouches for it
        other = certificate(folder.path, "DNS:other.example")
        assert fails_with(reply(200), "WEBHOOK_TLS", *trusted, context=other).requests == []


def test_wrong_options_are_said_and_a_secret_is_never_shown():
    with Producer() as producer:
        producer.write("bad", "whsec_bm90bG9uZ2Vub3VnaA==")
        producer.write("empty", "\n")
        for words, said in ((("ftp://x/",), "http"), (("http://x/", "--secret-file", "bad"), "whsec_"), (("http://x/", "--secret-file", "empty"), "--secret-file"),
                            (("http://x/", "--allow-network", "10.0.0.1/8"), "10.0.0.0/8"), (("http://x/", "--secret-file", "none"), "none"),
                            (("http://x/", "--stdout"), "--webhook")):
            outcome = producer.run("worker", "run", *STORE, "--destination", "shop", "--once", "--webhook", *words)
            assert outcome.status in (1, 2) and said in outcome.err and "bm90bG9uZ" not in outcome.err, outcome


if __name__ == "__main__":
    tap.run(globals())
