# serve: what operators see and do of registered outboxes over HTTP, on both stores (requirements O13, O16, O19; ruling R36).
import json
import urllib.parse

from outboxes import Outbox
from server import KIND, Server, tap

BASE = "/api/v1/outbox/billing"
NIL = "00000000-0000-0000-0000-000000000000"
PROBLEM = "application/problem+json"
REFUSAL = {"type", "title", "status"}
OTHERS = ("PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PUBLISH")
READS = ("/status", "/lanes", "/inbox", "/inbox/conflicts", "/workers")
OF_MESSAGE = ("", "/revisions", "/receipts")
ACTS = {"retry": {"destination": "erp", "reason": "again"}, "discard": {"destination": "erp", "reason": "gone", "override": True},
        "reveal": {"reason": "to see"}, "correct": {"payload": '{"a":1}', "reason": "wrong"}, "receipts": {"destination": "erp", "fact": "Applied"}}


def rows_of(server, path, **more):
    answer = server.get(path, **more)
    assert answer.status == 200 and answer.headers["content-type"] == "application/json", (path, answer)
    return answer.json()["linhas"]


def told(outbox, *words):
    """What the command line says to the same question."""
    outcome = outbox.server.store.run(*words, "--store", outbox.url, "--schema", "billing", "--json")
    assert outcome.status == 0, outcome
    return [json.loads(line) for line in outcome.out.splitlines()]


def dead(outbox, count=1, tenant="acme"):
    """Messages that erp has refused for good, one an aggregate."""
    ids = [outbox.say(tenant, f"refused-{n}", '{"state": "refused"}') for n in range(count)]
    outbox.work("--exec", "sh", "-c", "exit 65")
    return ids


def present(row):
    return {name: value for name, value in row.items() if value is not None}


def test_the_routes_and_the_command_line_tell_the_same():
    with Server() as server:
        outbox = Outbox(server)
        first, = dead(outbox)
        outbox.say("acme", "waits")
        assert rows_of(server, BASE + "/status") == told(outbox, "outbox", "status"), "status"
        lanes = rows_of(server, BASE + "/lanes")
        for row in lanes:
            row.pop("failed_at")
        listed = told(outbox, "outbox", "lanes")
        assert all(int(row.pop("place")) >= 0 for row in listed), listed  # the route's pages name theirs as `proximo`
        assert list(map(present, lanes)) == list(map(present, listed)) and lanes[0]["status"] == "DeadLettered", lanes
        answer = server.get(f"{BASE}/messages/{first.upper()}").json()
        delivery, = answer.pop("deliveries")
        shown, = told(outbox, "outbox", "show", first)
        assert present({**answer, **delivery}) == present(shown) and "payload" not in answer, (answer, delivery, shown)
        assert rows_of(server, f"{BASE}/messages/{first}/revisions")[0]["revision"] == 1
        assert rows_of(server, f"{BASE}/messages/{first}/receipts") == rows_of(server, BASE + "/workers") == rows_of(server, BASE + "/inbox") == []
        source, = rows_of(server, "/api/v1/outbox/sources")
        listed = json.loads(server.store.run("source", "list", "--json", "--config", "trilha.yaml").out)
        assert source.keys() == listed.keys() and source["batch"] == 16, (source, listed)
        assert source["source"] == "billing" and source["lease_ms"] == 30000 and source["destinations"] == [], source


def test_lanes_are_filtered_and_pages_by_place_meet_without_gap_or_overlap():
    with Server() as server:
        outbox = Outbox(server)
        dead(outbox, 3)
        for n in range(8):
            outbox.say("acme" if n % 2 else "other", f"waits-{n}")

        def keys(query):
            return [row["aggregate_key"] for row in rows_of(server, f"{BASE}/lanes?{query}")]
        assert len(keys("")) == 11 and keys("limite=3&status=DeadLettered") == keys("limite=3"), "what is dead comes first"
        assert len(keys("tenant=other")) == 4 and len(keys("tenant=acme&status=Pending&destination=erp")) == 4
        assert keys("destination=nowhere") == keys("code=NONE") == []
        code = rows_of(server, BASE + "/lanes?limite=1")[0]["error_code"]
        assert keys(f"code={code}") == keys("status=DeadLettered") and len(keys(f"code={code}&tenant=acme")) == 3, code
        seen, after = [], "0"
        while after is not None:
            page = server.get(f"{BASE}/lanes?limite=4&apos={after}").json()
            seen += [row["aggregate_key"] for row in page["linhas"]]
            after = page["proximo"]
            outbox.say("acme", f"late-{len(seen)}")  # what is new comes behind, and moves nothing
            assert len(seen) < 30
        assert len(seen) == len(set(seen)) and seen[:11] == [f"refused-{n}" for n in range(3)] + [f"waits-{n}" for n in range(8)], seen
        assert server.get(f"{BASE}/lanes?limite=1001").status == 200
        for query in ("limite=0", "limite=x", "apos=-1", "apos=1e3", "status=Dead", "tenant=a&tenant=b", "x=1", "tenant=%00", "tenant=%ff", "code=%"):
            answer = server.get(f"{BASE}/lanes?{query}")
            assert answer.status == 400 and answer.headers["content-type"] == PROBLEM, (query, answer)


def test_a_dead_head_is_retried_under_its_identity_and_place():
    with Server() as server:
        outbox = Outbox(server)
        first, = dead(outbox)
        outbox.say("acme", "refused-0")
        answer = server.call("POST", f"{BASE}/messages/{first}/retry", body={"destination": "erp", "reason": "mended"})
        assert answer.status == 200 and answer.json() == {"message_id": first, "destination": "erp", "done": "retried"}, answer
        lane, = rows_of(server, BASE + "/lanes")
        assert (lane["message_id"], lane["head_sequence"], lane["status"], lane["behind"]) == (first, "1", "Pending", 1), lane
        answer = server.call("POST", f"{BASE}/messages/{first}/retry", body={"destination": "erp", "reason": "again"})
        assert answer.status == 409 and answer.json()["code"] == "LANE_NOT_DEAD", answer
        outbox.work("--stdout")
        assert server.get(f"{BASE}/messages/{first}").json()["deliveries"][0]["status"] == "Dispatched"
        user = server.get("/api/v1/audit-logs?action=trilha.token.issued").json()["linhas"][0]["entity_id"]
        assert outbox.trail() == [("trilha.outbox-message.retried", user, "mended")] and outbox.messages() == 2


def test_a_discard_rests_on_what_the_destination_knows():
    with Server() as server:
        outbox = Outbox(server)
        ids = dead(outbox, 3)

        def discard(number, **more):
            return server.call("POST", f"{BASE}/messages/{ids[number]}/discard", body={"destination": "erp", "reason": "gone", **more})
        answer = discard(0)
        assert answer.status == 409 and answer.json()["code"] == "RECONCILIATION_MISSING" and outbox.trail() == [], answer
        said = server.call("POST", f"{BASE}/messages/{ids[0]}/receipts", body={"destination": "erp", "fact": "Unknown", "note": "asked by phone"})
        assert said.status == 200 and said.json() == {"recorded": True}, said
        assert discard(0).status == discard(1, reconciliation="they have never seen it").status == discard(2, override=True).status == 200
        reasons = outbox.ask("SELECT reconciliation FROM {p}outbox_operation ORDER BY id")
        assert [row[0] for row in reasons] == ["Unknown: asked by phone", "they have never seen it", "the destination was not asked (override)"], reasons
        assert [server.get(f"{BASE}/messages/{i}").json()["deliveries"][0]["status"] for i in ids] == ["Discarded"] * 3


def test_many_are_told_first_and_changed_with_a_row_of_the_trail_each():
    with Server() as server:
        outbox = Outbox(server)
        dead(outbox, 3)
        dead(outbox, 1, "other")
        code = rows_of(server, BASE + "/lanes")[0]["error_code"]
        chosen = {"destination": "erp", "code": code, "reason": "erp was down"}

        def retry(**more):
            return server.call("POST", BASE + "/retry", body={**chosen, **more})
        answer = retry()
        assert answer.status == 200 and answer.json()["dry_run"] is True and answer.json()["count"] == len(answer.json()["linhas"]) == 4, answer
        assert outbox.trail() == [], "a dry run writes nothing"
        assert retry(tenant="other").json()["count"] == retry(limit=1).json()["count"] == 1
        assert retry(code="NOTHING").json()["count"] == retry(before="2001-01-01T00:00:00Z").json()["count"] == 0
        done = retry(dry_run=False, tenant="acme").json()
        assert (done["count"], done["dry_run"]) == (3, False) and len(outbox.trail()) == 3, done
        answer = server.call("POST", BASE + "/discard", body={**chosen, "dry_run": False, "override": True, "before": "2999-01-01T00:00:00Z"})
        assert answer.status == 200 and answer.json()["count"] == 1 and len(outbox.trail()) == 4, answer
        for body, status in (({"destination": "erp", "reason": "all of them"}, 400), ({**chosen, "before": "yesterday"}, 422),
                             ({"code": code, "reason": "x"}, 400), ({**chosen, "limit": 0}, 400), ({**chosen, "dry_run": "no"}, 400),
                             ({**chosen, "override": True}, 400)):
            assert server.call("POST", BASE + "/retry", body=body).status == status, body


def test_the_inbox_is_told_in_pages_that_meet():
    with Server() as server:
        outbox = Outbox(server)
        at, time = ("accepted_at", "'2026-01-01T00:00:00Z'") if KIND == "postgresql" else ("accepted_us", "1767225600000000")
        for number in range(5):
            outbox.ask("INSERT INTO {p}inbox_message (tenant_id, consumer, message_id, payload_sha256, " + at + ") VALUES ('acme', 'stock:" + str(number) +
                       f" é', '01a22b42-62b6-70d6-925b-e4ab243a1dc6', '{'0' * 64}', {time})")
        seen, query = [], "limite=2"
        while query:
            page = server.get(f"{BASE}/inbox?{query}").json()
            seen += [row["consumer"] for row in page["linhas"]]
            query = page["proximo"] and "limite=2&apos=" + urllib.parse.quote(page["proximo"])
        assert seen == [f"stock:{number} é" for number in range(5)], seen
        assert server.get(BASE + "/inbox/conflicts?apos=7").json() == {"linhas": [], "proximo": None}
        for path in ("/inbox?apos=x", "/inbox/conflicts?apos=x"):
            answer = server.get(BASE + path)
            assert answer.status == 400 and answer.json()["code"] == "PLACE_INVALID", answer


def test_one_of_many_that_is_refused_is_told_with_what_was_done():
    with Server() as server:
        outbox = Outbox(server)
        ids = [*dead(outbox, 3)]
        chosen = {"destination": "erp", "before": "2999-01-01T00:00:00Z", "reason": "erp is gone", "dry_run": False}
        for known in (ids[0], ids[2]):
            said = {"destination": "erp", "fact": "Refused"}
            assert server.call("POST", f"{BASE}/messages/{known}/receipts", body=said).status == 200
        answer = server.call("POST", BASE + "/discard", body=chosen)
        assert answer.status == 409 and answer.json()["code"] == "RECONCILIATION_MISSING", answer
        assert answer.json()["tally"] == {"selected": 3, "done": 2, "passed": 0, "failed": 1, "untried": 0, "first_failed": ids[1]}, answer
        assert len([row for row in outbox.trail() if "discarded" in row[0]]) == 2
        answer = server.call("POST", BASE + "/discard", body={**chosen, "override": True})
        assert answer.status == 200 and answer.json()["count"] == 1 and answer.json()["passed"] == 0, answer


def test_a_correction_keeps_identity_and_place_and_every_revision():
    with Server() as server:
        outbox = Outbox(server)
        first, = dead(outbox)
        outbox.say("acme", "refused-0")
        path = f"{BASE}/messages/{first}"

        def correct(payload, **more):
            return server.call("POST", path + "/correct", body={"payload": payload, "reason": "wrong state", **more})
        told_only = correct('{"state": "open"}', dry_run=True).json()
        assert told_only["dry_run"] is True and told_only["diff"] == [{"op": "replace", "path": "/state"}], told_only
        assert len(rows_of(server, path + "/revisions")) == 1
        done = correct('{"state":  "open"}', revision=1)
        assert done.status == 200 and done.json() == {"revision": 2, "revived": 1, "dry_run": False, "accepted": None,
                                                      "diff": [{"op": "replace", "path": "/state"}]}, done
        assert correct('{"state": "x"}', revision=1).json()["code"] == "REVISION_CHANGED"
        assert correct('{"state":  "open"}').json()["code"] == "CONTENT_SAME"
        for wrong in ("[]", "null", "{", '{"a":1}x'):
            assert correct(wrong).status == 422, wrong
        revisions = rows_of(server, path + "/revisions")
        assert [(row["revision"], row["reason"]) for row in revisions] == [(1, None), (2, "wrong state")] and "open" not in json.dumps(revisions)
        shown = server.call("POST", path + "/reveal", body={"reason": "to check"}).json()
        assert shown == {"revision": 2, "payload": '{"state":  "open"}'}, "byte for byte"
        assert server.call("POST", path + "/reveal", body={"reason": "to check", "revision": 1}).json()["payload"] == '{"state": "refused"}'
        assert server.call("POST", path + "/reveal", body={"reason": "to check", "revision": 9}).status == 404
        lane, = rows_of(server, BASE + "/lanes")
        assert (lane["message_id"], lane["head_sequence"], lane["behind"]) == (first, "1", 1) and outbox.messages() == 2, lane
        assert len(outbox.ask("SELECT 1 FROM {p}outbox_operation WHERE action = 'trilha.outbox-message.corrected'")) == 1
        outbox.work("--stdout")
        assert correct('{"state": "late"}').json()["code"] == "MESSAGE_FINISHED"


def test_the_content_is_shown_for_a_reason_alone_and_the_trail_keeps_it():
    with Server() as server:
        outbox = Outbox(server)
        message = outbox.say("acme", "1", '{"secret": "rosebud"}')
        for path in [f"{BASE}/messages/{message}{part}" for part in OF_MESSAGE] + [BASE + part for part in READS]:
            assert b"rosebud" not in server.get(path).body, path
        for body in ({}, {"reason": ""}, {"reason": None}, {"reason": "x" * 2001}):
            assert server.call("POST", f"{BASE}/messages/{message}/reveal", body=body).status == 400, body
        assert outbox.trail() == []
        answer = server.call("POST", f"{BASE}/messages/{message}/reveal", body={"reason": "the customer asks"})
        assert answer.json() == {"revision": 1, "payload": '{"secret": "rosebud"}'}, answer
        assert [(row[0], row[2]) for row in outbox.trail()] == [("trilha.outbox-message.revealed", "the customer asks")]
        assert "rosebud" not in (server.store.path / "serve.log").read_text(encoding="utf-8")


def test_received_and_applied_are_facts_of_their_own_and_kept_once():
    with Server() as server:
        outbox = Outbox(server)
        message = outbox.say("acme", "1")
        path = f"{BASE}/messages/{message}/receipts"
        for fact, at in (("Received", "2026-06-01T10:00:00Z"), ("Applied", "2026-06-01T10:00:05Z")):
            said = {"destination": "erp", "fact": fact, "stated_at": at, "operation_id": "op-7"}
            assert [server.call("POST", path, body=said).json()["recorded"] for _ in range(2)] == [True, False], fact
        delivery, = server.get(f"{BASE}/messages/{message}").json()["deliveries"]
        assert delivery["received_at"] < delivery["applied_at"] and delivery["dispatched_at"] is None and delivery["said"] == "Applied", delivery
        facts = rows_of(server, path)
        assert [(row["fact"], row["source"], row["operation_id"]) for row in facts] == [("Received", "operator", "op-7"), ("Applied", "operator", "op-7")]
        for body, status in (({"destination": "erp", "fact": "Eaten"}, 400), ({"destination": "shop", "fact": "Applied"}, 404),
                             ({"destination": "erp"}, 400), ({"destination": "ERP", "fact": "Applied"}, 422),
                             ({"destination": "erp", "fact": "Applied", "revision": 7}, 404), ({"destination": "erp", "fact": "Applied", "stated_at": "x"}, 422)):
            assert server.call("POST", path, body=body).status == status, body


def test_a_worker_that_is_not_there_cannot_be_drained():
    with Server() as server:
        Outbox(server)
        answer = server.call("POST", f"{BASE}/workers/host:1:abc/drain", body={"reason": "deploy"})
        assert answer.status == 404 and answer.json()["code"] == "WORKER_NOT_FOUND", answer
        assert server.call("POST", f"{BASE}/workers/host:1:abc/drain", body={}).status == 400


def test_a_running_worker_is_told_and_ends_when_it_is_asked_to():
    with Server() as server:
        outbox = Outbox(server)
        worker = server.store.start("worker", "run", "--store", outbox.url, "--schema", "billing", "--destination", "erp", "--stdout")
        try:
            row, = server.until(lambda: rows_of(server, BASE + "/workers"))
            assert (row["status"], row["destinations"]) == ("running", "erp"), row
            name = urllib.parse.quote(row["worker"], safe="")
            answer = server.call("POST", f"{BASE}/workers/{name}/drain", body={"reason": "deploy"})
            assert answer.status == 200 and answer.json()["worker"] == row["worker"], answer
            worker.communicate(timeout=180)
            assert worker.returncode == 0 and rows_of(server, BASE + "/workers") == []
        finally:
            if worker.poll() is None:
                worker.kill()
                worker.communicate()
        asked = outbox.ask("SELECT reason FROM {p}outbox_upkeep WHERE action = 'trilha.outbox-worker.drained'")
        assert asked == [("deploy",)], asked


def test_no_method_on_any_path_makes_a_message_and_no_stranger_learns_a_route():
    with Server() as server:
        outbox = Outbox(server)
        message, = dead(outbox)
        new = {"tenant_id": "acme", "aggregate_type": "invoice", "aggregate_key": "new", "message_type": "invoice.issued", "version": "1.0.0",
               "payload": "{}", "origin": "billing", "correlation_id": NIL, "message_id": NIL, "destination": "erp", "reason": "x"}
        paths = ["/api/v1/outbox", "/api/v1/outbox/", "/api/v1/outbox/sources", BASE, BASE + "/", BASE + "/messages", BASE + "/messages/",
                 BASE + "/enqueue", BASE + "/callbacks/erp", f"{BASE}/messages/{NIL}"]
        paths += [BASE + part for part in READS + ("/retry", "/discard", "/workers/x/drain")]
        paths += [f"{BASE}/messages/{message}{part}" for part in OF_MESSAGE + tuple("/" + act for act in ACTS)]
        for path in paths:
            for method in ("POST",) + OTHERS:
                answer = server.call(method, path, body=new)
                assert answer.status in (400, 404, 405), (method, path, answer)
            for token, status in ((None, 401), ("x", 401), (server.issue("--role", "user"), 403)):
                refused = server.get(path, token=token), server.call("POST", path, body=new, token=token)
                for answer in refused:
                    assert answer.status == status and set(answer.json()) == REFUSAL, (path, answer)
                assert refused[0].body == server.get("/nothing", token=token).body
        assert outbox.messages() == 1 and outbox.trail() == []
        assert server.call("GET", f"{BASE}/messages/{message}/retry").headers["allow"] == "POST"
        assert server.call("PUT", f"{BASE}/messages/{message}/receipts").headers["allow"] == "GET, HEAD, POST"


def test_hostile_paths_queries_and_bodies_are_refused_and_change_nothing():
    with Server() as server:
        outbox = Outbox(server)
        message, = dead(outbox)
        assert server.get("/api/v1/outbox/nowhere/status").json() == {"type": "about:blank", "title": "Not Found", "status": 404, "code": "SOURCE_NOT_FOUND",
                                                                      "detail": "no outbox is registered by this name"}
        for word in ("x", "", "%2e%2e", NIL + "0", "%00", "%", "%zz", "%ff", "' OR 1=1 --".replace(" ", "%20"), "a" * 3000, "%F0%9F%92%A5", "1%3B%20DROP"):
            for path in (f"{BASE}/messages/{word}", f"{BASE}/messages/{word}/revisions", f"/api/v1/outbox/{word}/status", f"{BASE}/{word}"):
                answer = server.get(path)
                assert answer.status in (400, 404) and answer.headers["content-type"] == PROBLEM, (path, answer)
            answer = server.call("POST", f"{BASE}/messages/{word}/retry", body=ACTS["retry"])
            assert answer.status in (400, 404), (word, answer)
        for act, good in ACTS.items():
            path = f"{BASE}/messages/{message}/{act}"
            first = next(iter(good))
            wrong = ["", "null", "[]", "7", '"x"', "{", "{}", json.dumps(good)[:-1], json.dumps({**good, "more": 1}), json.dumps({**good, first: None}),
                     json.dumps({**good, first: {"$gt": ""}}), json.dumps({**good, first: ""}), json.dumps({**good, first: "a\x00b"}),
                     json.dumps(good)[:-1] + ', "reason": "a", "reason": "b"}', "[" * 5000, '{"a":' * 100 + "1" + "}" * 100]
            for body in wrong:
                answer = server.call("POST", path, body=body, Content_Type="application/json")
                assert answer.status == 400, (act, body[:80], answer)
            for kind in ("text/plain", "application/x-www-form-urlencoded", "application/jsonx", ""):
                assert server.call("POST", path, body=json.dumps(good), Content_Type=kind).status == 415, kind
            assert server.call("POST", path + "?x=1", body=good).status == 400
            unknown = server.call("POST", f"{BASE}/messages/{NIL}/{act}", body=good)
            assert unknown.status == 404 and unknown.json()["code"] == "MESSAGE_NOT_FOUND", (act, unknown)
        assert server.call("POST", f"{BASE}/messages/{message}/correct", body={"payload": '{"a":"' + "x" * 70000 + '"}', "reason": "r"}).status == 413
        assert [row for row in outbox.trail() if not row[0].endswith("revealed")] == []


def test_a_token_for_some_tenants_sees_and_changes_nothing_of_others():
    with Server(access=", tenant_claim: tenant") as server:
        outbox = Outbox(server)
        own, = dead(outbox)
        other, = dead(outbox, 1, "other")
        acme, two, nobody = server.issue("--tenant", "acme"), server.issue("--tenant", "acme", "--tenant", "third"), server.issue()
        everyone = server.issue("--tenant", "*")
        issued = server.get("/api/v1/audit-logs?action=trilha.token.issued").json()["linhas"]
        assert [row["metadata"].get("tenants") for row in issued] == [None, "acme", "acme, third", None, "*"], issued
        assert [row["tenant_id"] for row in rows_of(server, BASE + "/lanes", token=acme)] == ["acme"]
        assert server.get(BASE + "/lanes", token=two).json()["code"] == "TENANT_MISSING"
        assert len(rows_of(server, BASE + "/lanes?tenant=acme", token=two)) == 1 and rows_of(server, BASE + "/lanes?tenant=third", token=two) == []
        assert len(rows_of(server, BASE + "/lanes", token=everyone)) == len(rows_of(server, BASE + "/lanes?tenant=other", token=everyone)) + 1
        for path in ("/lanes?tenant=other", "/inbox?tenant=other", "/inbox/conflicts?tenant=other", "/status", "/workers"):
            answer = server.get(BASE + path, token=acme)
            assert answer.status == 403 and set(answer.json()) == REFUSAL, (path, answer)
        for path in (BASE + "/lanes", BASE + "/lanes?tenant=acme", "/api/v1/outbox/sources"):
            assert server.get(path, token=nobody).status == 403, path
        for part in OF_MESSAGE:
            hidden, absent = (server.get(f"{BASE}/messages/{i}{part}", token=acme) for i in (other, NIL))
            assert hidden.status == 404 and hidden.body == absent.body, (part, hidden)
            assert server.get(f"{BASE}/messages/{own}{part}", token=acme).status == 200
        for act, body in ACTS.items():
            hidden, absent = (server.call("POST", f"{BASE}/messages/{i}/{act}", body=body, token=acme) for i in (other, NIL))
            assert hidden.status == 404 and hidden.body == absent.body, (act, hidden)
        many = {"destination": "erp", "before": "2999-01-01T00:00:00Z", "reason": "all", "dry_run": False}
        assert server.call("POST", BASE + "/retry", body={**many, "tenant": "other"}, token=acme).status == 403
        assert outbox.trail() == []
        assert server.call("POST", BASE + "/retry", body=many, token=acme).json()["count"] == 1 and len(outbox.trail()) == 1
        assert server.call("POST", f"{BASE}/workers/x/drain", body={"reason": "r"}, token=acme).status == 403


def test_looking_at_all_tenants_at_once_is_audited():
    with Server() as server:
        outbox = Outbox(server)
        outbox.say("acme", "1")
        for path in ("/lanes", "/inbox", "/inbox/conflicts", "/lanes?tenant=acme", "/inbox?tenant=acme", "/lanes?status=wrong&x=1"):
            server.get(BASE + path)
        rows = server.get("/api/v1/audit-logs?entity=outbox").json()["linhas"]
        assert [(row["action"], row["entity_id"], row["change_type"]) for row in rows] == [
            ("trilha.outbox-lane.viewed", "billing", "Accessed"), ("trilha.inbox-message.viewed", "billing", "Accessed"),
            ("trilha.inbox-conflict.viewed", "billing", "Accessed")], rows
        assert server.get("/api/v1/outbox/nowhere/lanes").status == 404
        assert len(server.get("/api/v1/audit-logs?entity=outbox").json()["linhas"]) == 3


def test_an_outbox_that_is_not_there_or_cannot_be_reached_is_503_and_the_rest_goes_on():
    with Server() as server:
        server.stop()
        assert server.store.run("init", "--store", "sqlite:plain.db").status == 0
        server.settings["sources"] = (f"[{{name: away, store: 'sqlite:{server.store.path}/nowhere/app.db'}}, "
                                      f"{{name: none, store: 'sqlite:{server.store.path}/nothing.db'}}, "
                                      f"{{name: empty, store: 'sqlite:{server.store.path}/plain.db', schema: nothing}}]")
        server.configure()
        server.start()
        for source, code in (("away", "S"), ("none", "S"), ("empty", "OUTBOX_NOT_INSTALLED")):
            answer = server.get(f"/api/v1/outbox/{source}/status")
            assert answer.status == 503 and answer.json()["code"].startswith(code) and set(answer.json()) == REFUSAL | {"code"}, answer
        assert server.get("/api/events").status == 200 and len(rows_of(server, "/api/v1/outbox/sources")) == 3


if __name__ == "__main__":
    tap.run(globals())
