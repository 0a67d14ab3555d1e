# serve: many operators and destinations at once: outboxes are shared, nothing is done twice, and others are still answered.
import concurrent.futures
import json
import time

from outboxes import CALLBACK, Outbox, callback_of, signed
from server import Server, tap

BASE = "/api/v1/outbox/billing"
AT_ONCE = 8


def patiently(ask):
    """Asks again while others use all the outboxes that may be used at once."""
    while True:
        answer = ask()
        if answer.status != 503:
            return answer
        time.sleep(0.05)
        assert answer.json()["code"] in ("OUTBOX_BUSY", "STORE_BUSY") and int(answer.headers["retry-after"]) >= 1, answer


def test_each_dead_head_is_retried_once_however_many_ask_for_it():
    with Server() as server:
        outbox = Outbox(server)
        ids = [outbox.say("acme", f"refused-{n}", '{"state": "refused"}') for n in range(AT_ONCE)]
        outbox.work("--exec", "sh", "-c", "exit 65")
        body = {"destination": "erp", "reason": "again"}

        def retry(number):
            answers = [patiently(lambda: server.call("POST", f"{BASE}/messages/{ids[(number + k) % AT_ONCE]}/retry", body=body)) for k in range(3)]
            assert patiently(lambda: server.get(BASE + "/lanes?tenant=acme")).status == 200
            return [answer.status for answer in answers]
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as crowd:
            running = [crowd.submit(retry, number) for number in range(AT_ONCE)]
            events = [server.get("/api/events").status for _ in range(20)]
            statuses = [status for done in running for status in done.result()]
        assert events == [200] * 20, events
        assert sorted(statuses) == [200] * AT_ONCE + [409] * (2 * AT_ONCE), statuses
        assert len(outbox.trail()) == outbox.messages() == AT_ONCE


def test_callbacks_go_on_while_secrets_and_allowlists_are_read_anew():
    with Server() as server:
        outbox = Outbox(server, more=callback_of(server))
        ids = [outbox.say("acme", str(n)) for n in range(AT_ONCE)]

        def call_back(message):
            for fact in ("Received", "Applied") * 3:
                body = json.dumps({"message_id": message, "fact": fact})
                answer = patiently(lambda body=body: server.call("POST", CALLBACK, body=body, token=None, **signed(body)))
                assert answer.status == 200, answer
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as crowd:
            running = [crowd.submit(call_back, message) for message in ids]
            assert all(server.reload() for _ in range(3))
            for done in running:
                done.result()
        kept = outbox.ask("SELECT count(*), count(DISTINCT message_id) FROM {p}outbox_receipt")
        assert kept == [(str(2 * AT_ONCE), str(AT_ONCE))], kept


if __name__ == "__main__":
    tap.run(globals())
