# serve: destinations that record over HTTP what they received and applied, signed, on both stores (requirement O12).
import json
import time
import uuid

from outboxes import CALLBACK, SECRET, Outbox, callback_of, signed
from server import Server, tap

NEWER = "whsec_" + "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo0NTY3ODk="
REFUSAL = {"type", "title", "status"}


def call(server, body, path=CALLBACK, **headers):
    return server.call("POST", path, body=body, token=None, **headers)


def say(message, fact="Applied", **more):
    return json.dumps({"message_id": message, "fact": fact, **more})


def receipts(outbox):
    return outbox.ask("SELECT fact, source, user_name FROM {p}outbox_receipt ORDER BY id")


def with_callback(server, *secrets, **more):
    return Outbox(server, more=callback_of(server, *secrets, **more))


def test_what_a_destination_signs_is_recorded_once_whoever_repeats_it():
    with Server() as server:
        outbox = with_callback(server)
        message = outbox.say("acme", "1")
        received, applied = say(message, "Received", stated_at="2026-06-01T10:00:00Z"), say(message, stated_at="2026-06-01T10:00:05Z", operation_id="op-7")
        headers = signed(received)
        assert call(server, received, **headers).json() == {"recorded": True}
        assert [call(server, received, **headers).json()["recorded"] for _ in range(3)] == [False] * 3, "the same callback again"
        assert call(server, received, **signed(received, message="msg_2")).json() == {"recorded": False}, "the same fact in a new one"
        assert call(server, applied, **signed(applied)).json() == {"recorded": True}
        assert receipts(outbox) == [("Received", "callback", "erp"), ("Applied", "callback", "erp")]
        delivery, = server.get(f"/api/v1/outbox/billing/messages/{message}").json()["deliveries"]
        assert delivery["received_at"].startswith("2026-06-01T10:00:00") and delivery["applied_at"].startswith("2026-06-01T10:00:05"), delivery
        assert (delivery["status"], delivery["dispatched_at"]) == ("Pending", None), "neither is an acknowledgement"
        assert outbox.messages() == 1 and outbox.trail() == []


def test_without_a_configured_secret_there_is_no_such_route():
    with Server() as server:
        outbox = Outbox(server)
        body = say(outbox.say("acme", "1"))
        headers = signed(body)
        for path in (CALLBACK, CALLBACK + "x", "/api/v1/outbox/nowhere/callbacks/erp"):
            answer, unknown = call(server, body, path, **headers), call(server, body, "/nothing", **headers)
            assert answer.status == 401 and (answer.body, answer.headers["www-authenticate"]) == (unknown.body, "Bearer"), answer
            answer = server.call("POST", path, body=body, **headers)
            assert answer.status == 404 and set(answer.json()) == REFUSAL, "nor for an operator"
        assert receipts(outbox) == []


def test_only_the_own_path_method_and_addresses_of_a_callback_are_open_to_it():
    with Server() as server:
        outbox = with_callback(server, allow="10.9.8.7")
        body = say(outbox.say("acme", "1"))
        headers = signed(body)
        answer = call(server, body, **headers)
        assert answer.status == 401 and answer.headers["www-authenticate"] == "Bearer", "from elsewhere it is any path"
        assert server.call("POST", CALLBACK, body=body, **headers).status == 404
        server.stop()
        server.settings["sources"] = server.settings["sources"].replace("10.9.8.7", "127.0.0.0/8")
        server.configure()
        server.start()
        for path in ("/api/v1/outbox/billing/callbacks/shop", "/api/v1/outbox/billing/callbacks/", CALLBACK + "/", "/api/v1/outbox/x/callbacks/erp"):
            assert call(server, body, path, **headers).status == 401, path
        for method in ("GET", "PUT", "DELETE", "PATCH", "HEAD"):
            assert server.call(method, CALLBACK, body=body, token=None, **headers).status == 401, method
        for path in ("/api/events", "/api/v1/outbox/billing/lanes", "/api/v1/outbox/billing/retry"):
            assert call(server, body, path, **headers).status == 401, "a signature opens nothing else"
        assert receipts(outbox) == [] and call(server, body, CALLBACK + "?a=b", **headers).status == 400
        assert call(server, body, "/api/v1/outbox/billing/callbacks/%65rp", **headers).status == 200


def test_a_signature_that_is_not_right_learns_nothing():
    with Server() as server:
        outbox = with_callback(server)
        body = say(outbox.say("acme", "1"))
        good, now = signed(body), int(time.time())
        wrong = [{}, {**good, "webhook_id": "msg_2"}, {**good, "webhook_timestamp": str(now - 1)}, {**good, "webhook_signature": "v1," + "A" * 43 + "="},
                 {**good, "webhook_signature": good["webhook_signature"][3:]}, {**good, "webhook_signature": good["webhook_signature"].replace("v1", "v2")},
                 {**good, "webhook_signature": good["webhook_signature"][:-1]}, {**good, "webhook_signature": " "},
                 {**good, "webhook_signature": "v1,x " * 20 + good["webhook_signature"]}, signed(body, NEWER), signed(body + " "),
                 signed(body, at=now - 3600), signed(body, at=now + 3600), signed(body, at=f"0{now}"), signed(body, at="-1"), signed(body, at="1e9"),
                 signed(body, at="9" * 30), signed(body, message="m" * 257)]
        wrong += [{name: value for name, value in good.items() if name != left_out} for left_out in ("webhook_id", "webhook_timestamp", "webhook_signature")]
        for headers in wrong:
            answer = call(server, body, **{"Content_Type": "application/json", **headers})
            assert answer.status == 401 and set(answer.json()) == REFUSAL and answer.headers["www-authenticate"] == "Webhook-Signature", (headers, answer)
        assert call(server, body, **{**good, "webhook_signature": "v1a,abc " + good["webhook_signature"]}).status == 200, "one of several is enough"
        server.until(lambda: server.metric('trilha_access_refused_total{reason="signature"}') == len(wrong))
        assert len(receipts(outbox)) == 1
        log = (server.store.path / "serve.log").read_text(encoding="utf-8")
        assert SECRET not in log and good["webhook_signature"] not in log


def test_secrets_rotate_without_a_restart_and_wrong_files_change_nothing():
    with Server() as server:
        outbox = with_callback(server)
        path = server.store.path / "erp.secret"

        def answers(*secrets):
            body = say(outbox.say("acme", "1"), "Received")
            return call(server, body, **signed(body, *secrets)).status
        assert (answers(SECRET), answers(NEWER)) == (200, 401)
        path.write_text(f"{NEWER}\n{SECRET}\n", encoding="utf-8")
        assert server.reload() and (answers(SECRET), answers(NEWER), answers(NEWER, SECRET)) == (200, 200, 200)
        path.write_text(NEWER, encoding="utf-8")
        assert server.reload() and (answers(SECRET), answers(NEWER)) == (401, 200)
        for text, mode in (("", 0o600), ("whsec_short", 0o600), (SECRET[6:], 0o600), (SECRET, 0o644)):
            path.write_text(text, encoding="utf-8")
            path.chmod(mode)
            assert not server.reload(), (text, mode)
            path.chmod(0o600)
        path.unlink()
        assert not server.reload() and (answers(SECRET), answers(NEWER)) == (401, 200)
        refused = server.log("serve.reload_failed")
        assert len(refused) == 5 and SECRET not in json.dumps(refused)
        server.stop()
        outcome = server.store.run("serve")
        assert outcome.status != 0 and "KEY_FILE" in outcome.err, outcome


def test_a_signed_body_that_is_wrong_records_nothing():
    with Server() as server:
        outbox = with_callback(server)
        message = outbox.say("acme", "1")
        for body, status, code in (("", 400, "REQUEST_INVALID"), ("{}", 400, "REQUEST_INVALID"), ("[]", 400, "REQUEST_INVALID"),
                                   (say(message, "Refused"), 400, "FACT_UNKNOWN"), (say(message, "applied"), 400, "FACT_UNKNOWN"),
                                   (say(message, tenant_id="acme"), 400, "REQUEST_INVALID"), (say(message, payload="{}"), 400, "REQUEST_INVALID"),
                                   (say("x"), 400, "MESSAGE_ID_INVALID"), (say(str(uuid.UUID(int=0))), 404, "MESSAGE_NOT_FOUND"),
                                   (say(message, revision=2), 404, "MESSAGE_NOT_FOUND"), (say(message, revision=0), 400, "REQUEST_INVALID"),
                                   (say(message, stated_at="yesterday"), 422, "TIMESTAMP_INVALID"), (say(message, note="x" * 2001), 400, "REQUEST_INVALID"),
                                   (say(message)[:-1] + ', "fact": "Received"}', 400, "REQUEST_INVALID")):
            answer = call(server, body, **signed(body))
            assert answer.status == status and answer.json()["code"] == code, (body, answer)
        body = say(message)
        assert call(server, body, **{**signed(body), "Content_Type": "text/plain"}).status == 415
        long = say(message, note="x" * 70000)
        assert call(server, long, **signed(long)).status == 413
        assert receipts(outbox) == []


def test_a_destination_speaks_of_its_own_messages_alone():
    with Server() as server:
        outbox = with_callback(server)
        outcome = server.store.run("outbox", "route", "invoice.*", "shop", "--store", outbox.url, "--schema", "billing")
        assert outcome.status == 0, outcome
        assert server.store.run("outbox", "route", "*", "erp", "--remove", "--store", outbox.url, "--schema", "billing").status == 0
        body = say(outbox.say("acme", "1"))
        answer = call(server, body, **signed(body))
        assert answer.status == 404 and answer.json()["code"] == "MESSAGE_NOT_FOUND" and receipts(outbox) == [], answer


def test_callbacks_share_the_rate_of_their_address():
    with Server() as server:
        outbox = with_callback(server)
        body = say(outbox.say("acme", "1"))
        server.stop()
        text = (server.store.path / "trilha.yaml").read_text(encoding="utf-8")
        server.store.write("trilha.yaml", text.replace("100000", "1").replace("10000", "2"))
        server.start()
        assert call(server, body, **signed(body)).status == 200
        answer = server.until(lambda: next((a for a in (call(server, body, **signed(body)),) if a.status != 200), None))
        assert answer.status == 429 and int(answer.headers["retry-after"]) >= 1 and set(answer.json()) == REFUSAL, answer


if __name__ == "__main__":
    tap.run(globals())
