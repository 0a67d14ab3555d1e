# serve: the API's routes on both stores, who may use them, and what they never tell.
import json
import re
import shutil
import signal
import subprocess

from server import KIND, Server, program, tap, test_postgres
from stores import CORRELATION, order

NIL = "00000000-0000-0000-0000-000000000000"
PROBLEM = "application/problem+json"


def filled(server, count, **more):
    outcome = server.store.ndjson([order(n, timestamp=f"2026-06-15T10:00:{n % 60:02}Z", **more) for n in range(count)])
    assert outcome.status == 0, outcome


def failed(server, colony="D-4"):
    """One dead letter of the colony."""
    filled(server, 1)
    outcome = server.store.run("consume", "--colony", colony, "--type", "pedido.criado", "--from", "start", "--once",
                               "--each", "--shell", "exit 1")
    letters = server.store.run("dlq", "list", "--json").out
    assert colony in letters, (outcome, letters)
    return [json.loads(line) for line in letters.splitlines()]


def test_the_page_is_the_page_object_of_the_contract():
    with Server() as server:
        filled(server, 3)
        answer = server.get("/api/events")
        page = answer.json()
        assert answer.status == 200 and list(page) == ["linhas", "total", "limite", "deslocamento"], answer
        assert (page["total"], page["limite"], page["deslocamento"]) == (3, 100, 0)
        assert page == server.store.events(), "the API and the program answer alike"
        assert page["linhas"][0]["sequence_number"] == "1"
        assert answer.headers["content-type"] == "application/json" and answer.headers["cache-control"] == "no-store"


def test_filters_combine_and_both_ends_are_included():
    with Server() as server:
        filled(server, 10)
        filled(server, 2, origem="app", correlacao_id=CORRELATION)

        def total(query):
            answer = server.get("/api/events?" + query)
            assert answer.status == 200, (query, answer)
            return answer.json()["total"]
        assert total("timestamp_inicio=2026-06-15T10:00:02Z&timestamp_fim=2026-06-15T07:00:05-03:00") == 4
        assert total("sequence_inicio=3&sequence_fim=5") == 3 and total("sequence_inicio=0") == 12
        assert total("origem=app") == 2 and total("correlacao_id=" + CORRELATION.upper()) == 2
        assert total("tipo=pedido.criado&origem=app&sequence_fim=11") == 1 and total("tipo=nothing.here") == 0
        assert total("tipo=pedido%2Ecriado&%6Frigem=app") == 2


def test_a_limit_above_500_is_lowered_and_others_are_refused():
    with Server() as server:
        filled(server, 5)
        assert server.get("/api/events?limite=501").json()["limite"] == 500
        page = server.get("/api/events?limite=2&deslocamento=3").json()
        assert [row["sequence_number"] for row in page["linhas"]] == ["4", "5"] and page["deslocamento"] == 3
        for query in ("limite=0", "limite=-1", "limite=x", "limite=", "limite=1.5", "limite=1e2", "limite=+1",
                      "limite=99999999999999999999", "deslocamento=-1", "sequence_fim=0", "sequence_inicio=a",
                      "timestamp_inicio=2026-06-15", "timestamp_fim=yesterday", "correlacao_id=x", "unknown=1",
                      "limite=1&limite=2", "tipo=%", "tipo=%zz", "tipo=%00", "tipo=%ff", "apos=1&deslocamento=1"):
            answer = server.get("/api/events?" + query)
            assert answer.status == 400 and answer.headers["content-type"] == PROBLEM, (query, answer)
            assert set(answer.json()) == {"type", "title", "status", "code", "detail"}, answer


def test_keyset_pages_meet_without_gap_or_overlap():
    with Server() as server:
        filled(server, 25)
        seen, after = [], "0"
        while after is not None:
            page = server.get(f"/api/events?limite=10&apos={after}").json()
            assert list(page) == ["linhas", "limite", "proximo"] and page["limite"] == 10, page
            seen += [row["sequence_number"] for row in page["linhas"]]
            after = page["proximo"]
        assert seen == [str(n) for n in range(1, 26)], seen
        assert server.get("/api/events?limite=5&apos=20").json()["proximo"] is None, "a full page that is the last one"
        assert server.get("/api/events?limite=4&apos=20").json()["proximo"] == "24"
        assert server.get("/api/events?limite=501&apos=25").json() == {"linhas": [], "limite": 500, "proximo": None}
        some = server.get("/api/events?limite=2&apos=3&sequence_inicio=9&sequence_fim=10").json()
        assert [row["sequence_number"] for row in some["linhas"]] == ["9", "10"] and some["proximo"] is None, some


def test_one_event_and_its_404_text():
    with Server() as server:
        filled(server, 1)
        event_id = server.store.events()["linhas"][0]["event_id"]
        assert server.get("/api/events/" + event_id.upper()).json()["event_id"] == event_id
        answer = server.get("/api/events/" + NIL)
        assert answer.status == 404 and answer.json()["detail"] == "Evento não encontrado", answer
        for path in ("x", "", "%2e%2e", NIL + "0", "trace", "trace/", "trace/x", "%00", "%", "' OR 1=1"):
            answer = server.get("/api/events/" + path.replace(" ", "%20"))
            assert answer.status == 400, (path, answer)


def test_a_trace_is_in_the_order_of_the_log_and_at_most_500():
    with Server() as server:
        filled(server, 3)
        filled(server, 501, correlacao_id=CORRELATION)
        page = server.get("/api/events/trace/" + CORRELATION).json()
        assert (page["total"], page["limite"], len(page["linhas"])) == (501, 500, 500)
        assert [row["sequence_number"] for row in page["linhas"]] == [str(n) for n in range(4, 504)]
        assert server.get("/api/events/trace/" + NIL).json()["linhas"] == []


def test_cloudevents_come_by_accept():
    with Server() as server:
        filled(server, 2, origem="loja nº 1", correlacao_id=CORRELATION, aggregate_key="P 7")
        answer = server.get("/api/events", Accept="text/html, application/cloudevents+json;q=0.9")
        assert answer.headers["content-type"] == "application/cloudevents-batch+json", answer
        first, second = answer.json()
        assert first["specversion"] == "1.0" and first["source"] == "loja%20n%C2%BA%201" and second["sequence"] == "2"
        assert first["dataschema"] == "urn:trilha:pedido.criado:1.0.0" and first["data"] == {"pedido": "P-0"}
        assert first["subject"] == first["partitionkey"] == "P 7" and first["correlationid"] == CORRELATION
        assert all(name.islower() and name.isalnum() for name in first), first
        answer = server.get("/api/events/" + first["id"], Accept="application/cloudevents+json")
        assert answer.headers["content-type"] == "application/cloudevents+json" and answer.json() == first
        for accept in ("application/json", "*/*", "application/cloudevents+json;q=0", "application/cloudevents+jsonx"):
            assert isinstance(server.get("/api/events", Accept=accept).json(), dict), accept


def test_no_method_on_any_path_publishes_or_changes_the_log():
    with Server() as server:
        filled(server, 2)
        body = {"tipo": "pedido.criado", "origem": "loja", "payload": {"pedido": "x"}, "colonia": "D-9"}
        event_id = server.store.events()["linhas"][0]["event_id"]
        paths = ["/", "/api", "/api/events", "/api/events/", f"/api/events/{event_id}", f"/api/events/trace/{CORRELATION}",
                 "/api/events/dlq", "/api/events/dlq/reprocessar", "/api/events/publish", "/api/v1/event-types",
                 "/api/v1/dead-letters", "/api/v1/dead-letters/1", "/api/v1/consumers", "/api/v1/events", "/metrics", "/livez",
                 "/openapi.yaml", "/api/docs", "/swagger"]
        for path in paths:
            for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PUBLISH"):
                answer = server.call(method, path, body=body)
                assert answer.status in (400, 404, 405), (method, path, answer)
        for path in paths:
            assert server.get(path).status in (200, 400, 404, 405)
        page = server.store.events()
        assert page["total"] == 2 and [row["event_id"] for row in page["linhas"]][0] == event_id


def test_reprocessing_is_audited_once_a_minute_and_says_why_nothing_was_done():
    with Server() as server:
        failed(server)
        wrong = [None, [], {}, {"colonia": ""}, {"colonia": 5}, {"colonia": "x" * 101}, {"colonia": "D-4", "tipo": "a"},
                 {"colony": "D-4"}]
        for body in wrong:
            answer = server.call("POST", "/api/events/dlq/reprocessar", body=json.dumps(body), Content_Type="application/json")
            assert answer.status == 400, (body, answer)
        assert server.call("POST", "/api/events/dlq/reprocessar", body="colonia=D-4",
                           Content_Type="application/x-www-form-urlencoded").status == 415
        answer = server.call("POST", "/api/events/dlq/reprocessar", body={"colonia": "D-4"})
        assert answer.status == 200, answer
        assert answer.json() == {"reprocessados": 0, "falhas": 0, "motivo": "no live listener"}
        answer = server.call("POST", "/api/events/dlq/reprocessar", body={"colonia": "D-4"})
        assert answer.status == 429 and 1 <= int(answer.headers["retry-after"]) <= 60, answer
        assert server.get("/api/events").status == 200, "the other routes go on"
        trail = server.get("/api/v1/audit-logs?action=trilha.dead-letter-queue.reprocessed").json()["linhas"]
        assert [(row["entity_id"], row["metadata"]) for row in trail] == [("D-4", {"address": "127.0.0.1"})], trail
        letter = server.get("/api/v1/dead-letters").json()["linhas"][0]
        assert (letter["status"], letter["tentativas"]) == ("pendente", 1), letter


def test_a_live_consumer_answers_a_reprocess():
    with Server() as server:
        failed(server)
        consumer = server.store.start("consume", "--colony", "D-4", "--type", "pedido.criado", "--each", "--shell", "cat >/dev/null")
        try:
            server.until(lambda: any(row["holder"] for row in server.get("/api/v1/consumers").json()["linhas"]))
            answer = server.call("POST", "/api/events/dlq/reprocessar", body={"colonia": "D-4"})
            assert answer.status == 200 and answer.json()["reprocessados"] in (0, 1), answer
            server.until(lambda: server.get("/api/v1/dead-letters").json()["linhas"][0]["status"] == "resolved")
            server.until(lambda: server.metric('dead_letter_queue_pending{colonia="D-4"}') == 0)
        finally:
            consumer.send_signal(signal.SIGTERM)
            consumer.communicate(timeout=60)


def test_operators_see_dead_letters_types_and_consumers():
    with Server() as server:
        letters = failed(server, "D-4") and failed(server, "L-1")
        page = server.get("/api/v1/dead-letters").json()
        assert page == {"linhas": letters, "proximo": None}, (page, letters)
        first = server.get("/api/v1/dead-letters?limite=1").json()
        assert [row["id"] for row in first["linhas"]] == [letters[0]["id"]]
        rest = server.get(f"/api/v1/dead-letters?apos={first['proximo']}").json()
        assert rest["linhas"] == letters[1:]
        assert server.get("/api/v1/dead-letters?colonia=L-1&status=pendente").json()["linhas"] == \
            [row for row in letters if row["colonia"] == "L-1"]
        assert server.get(f"/api/v1/dead-letters/{letters[0]['id']}").json() == letters[0]
        for path, status in (("999999", 404), ("0", 400), ("-1", 400), ("x", 400), ("", 400), ("1" * 40, 400)):
            assert server.get("/api/v1/dead-letters/" + path).status == status, path
        stats = server.get("/api/v1/dead-letter-stats").json()
        assert stats == json.loads(server.store.run("dlq", "stats", "--json").out), stats
        types = server.get("/api/v1/event-types?tipo=pedido.criado").json()["linhas"]
        assert [(row["tipo"], row["versao"], row["status"]) for row in types] == [("pedido.criado", "1.0.0", "ativo")]
        assert types[0]["schema"]["type"] == "object"
        consumers = server.get("/api/v1/consumers?colonia=D-4").json()["linhas"]
        assert [row["colonia"] for row in consumers] == ["D-4"], consumers


def test_the_audit_trail_is_read_by_action_time_and_page():
    with Server() as server:
        day = server.get("/api/v1/audit-logs").json()["linhas"][0]["created_at"][:10]
        assert server.store.run("registry", "deprecate", "pedido.criado").status == 0
        rows = server.get("/api/v1/audit-logs").json()["linhas"]
        actions = [row["action"] for row in rows]
        assert actions == ["trilha.event-type.registered", "trilha.token.issued", "trilha.event-type.deprecated"], rows

        def found(query):
            answer = server.get("/api/v1/audit-logs?" + query)
            assert answer.status == 200, (query, answer)
            return [row["id"] for row in answer.json()["linhas"]]
        ids = [row["id"] for row in rows]
        assert found("action=" + actions[2]) == ids[2:] and found("action=x") == []
        assert found("entity=event-type&entity_id=pedido.criado%401.0.0") == [ids[0], ids[2]]
        assert found("from=" + day) == ids and found("to=" + day) == [] and found("from=2099-01-01") == []
        assert found(f"from={rows[2]['created_at']}&to={rows[2]['created_at']}")[-1] == ids[2]
        first = server.get("/api/v1/audit-logs?limite=1").json()
        assert found("apos=" + first["proximo"]) == ids[1:]
        for query in ("from=yesterday", "to=2026-13-01", "limite=0", "apos=-1", "user=x"):
            assert server.get("/api/v1/audit-logs?" + query).status == 400, query
        listed = [json.loads(line) for line in server.store.run("audit", "list", "--json").out.splitlines()]
        assert listed == rows, (listed, rows)


def test_the_error_codes_are_those_of_the_program():
    with Server() as server:
        answer = server.get("/api/v1/error-codes")
        printed = [json.loads(line) for line in server.store.run("errors", "list", "--json").out.splitlines()]
        assert answer.status == 200 and len(printed) > 20, answer
        assert answer.json()["linhas"] == [{name: row[name] for name in ("code", "status", "rule")} for row in printed], answer
        assert [row["rule"] for row in printed].count("suffix") == 10 and printed[-1]["code"] == "*"
        assert server.get("/api/v1/error-codes?x=1").status == 400


def test_without_a_good_token_nothing_is_told():
    with Server() as server:
        expired = server.issue("--minutes", "30")
        strangers = {None: 401, "": 401, "x": 401, "a.b.c": 401, server.token[:-2]: 401, server.issue(key="other.pem"): 401,
                     server.issue("--role", "user"): 403, server.issue("--audience", "other"): 401, expired: 200}
        for token, status in strangers.items():
            known = server.get("/api/events", token=token)
            unknown = server.get("/nothing/here", token=token)
            assert known.status == status, (token, known)
            if status != 200:
                assert known.body == unknown.body and unknown.status == status, "a stranger learns no route"
                assert set(known.json()) == {"type", "title", "status"}, known
        assert server.get("/api/events", token=None).headers["www-authenticate"] == "Bearer"
        for value in (server.token, "Basic " + server.token, "bearer", "Bearer  " + server.token, "Bearer " + server.token + " x"):
            assert server.call("GET", "/api/events", token=None, Authorization=value).status == 401, value
        assert server.call("GET", "/api/events", token=None, Authorization="bEaReR " + server.token).status == 200


def test_an_address_that_is_not_allowed_is_refused_before_the_token_is_read():
    with Server(api=", allow: [10.0.0.0/8]".replace("allow", "trusted_proxies")) as server:
        server.stop()
        for allowed, header, status in (("[]", None, 403), ("[10.0.0.0/8]", None, 403),
                                        ("[10.0.0.0/8]", "10.1.1.1", 403)):
            text = (server.store.path / "trilha.yaml").read_text().replace("[127.0.0.0/8]", allowed)
            server.store.write("trilha.yaml", text.replace("trusted_proxies: [10.0.0.0/8]", "trusted_proxies: []"))
            server.start()
            more = {"X_Forwarded_For": header} if header else {}
            answer = server.get("/api/events", **more)
            assert answer.status == status and set(answer.json()) == {"type", "title", "status"}, answer
            server.stop()
            server.configure()


def test_behind_a_trusted_proxy_the_client_is_the_last_stranger():
    with Server(api=", trusted_proxies: [127.0.0.1]") as server:
        assert server.get("/api/events", X_Forwarded_For="127.0.0.9").status == 200
        assert server.get("/api/events", X_Forwarded_For="127.0.0.9, 203.0.113.5").status == 403
        assert server.get("/api/events", X_Forwarded_For="203.0.113.5, 127.0.0.9").status == 200
        assert server.get("/api/events", X_Forwarded_For="rubbish").status == 403


def test_requests_above_the_rate_are_429_with_a_time():
    with Server() as server:
        server.stop()
        text = (server.store.path / "trilha.yaml").read_text()
        server.store.write("trilha.yaml", text.replace("100000", "1").replace("10000", "3"))
        server.start()
        statuses = [server.get("/api/events").status for _ in range(5)]
        assert statuses == [200, 200, 200, 429, 429], statuses
        answer = server.get("/api/events", token=None)
        assert answer.status == 429 and int(answer.headers["retry-after"]) >= 1 and set(answer.json()) == \
            {"type", "title", "status"}, answer


def test_without_keys_the_api_does_not_start():
    with Server() as server:
        server.stop()
        text = (server.store.path / "trilha.yaml").read_text()
        for keys, code in (("[]", "ACCESS_KEYS_MISSING"), ("[nowhere.pem]", "KEY_FILE"), ("[dev.pem]", "KEY_PRIVATE"),
                           ("[trilha.yaml]", "KEY_INVALID")):
            server.store.write("trilha.yaml", text.replace("[dev.pem.pub]", keys))
            outcome = server.store.run("serve")
            assert outcome.status in (1, 3) and code in outcome.err, (keys, outcome)


def test_in_development_the_error_codes_are_listed_at_the_start():
    with Server() as server:
        listed = server.store.run("errors", "list").out
        server.stop()
        server.process = server.store.start("serve", "--dev", stderr="serve.log")
        lines = program.read_lines(server.process, 1 + len(listed.splitlines()))
        assert b"\n".join(lines[1:]).decode() + "\n" == listed and "_NOT_FOUND" in listed, lines
        server.process.send_signal(signal.SIGTERM)
        rest, _ = server.process.communicate(timeout=60)
        assert rest == b"" and server.process.returncode == 0, "the table and nothing more"


def test_hup_takes_new_keys_and_addresses_and_keeps_the_old_ones_when_they_are_wrong():
    with Server() as server:
        other = server.issue(key="other.pem")
        assert server.get("/api/events", token=other).status == 401
        text = (server.store.path / "trilha.yaml").read_text()
        server.store.write("trilha.yaml", text.replace("dev.pem.pub", "nowhere.pub"))
        server.process.send_signal(signal.SIGHUP)
        server.store.write("ready", "")
        server.until(lambda: server.get("/api/events").status == 200)
        server.store.write("trilha.yaml", text.replace("dev.pem.pub", "other.pem.pub"))
        server.process.send_signal(signal.SIGHUP)
        server.until(lambda: server.get("/api/events", token=other).status == 200)
        assert server.get("/api/events").status == 401
        assert server.stop() == 0


def test_health_needs_no_token_and_metrics_an_address():
    with Server() as server:
        assert server.status("/livez").body == b"ok\n" and server.status("/livez").status == 200
        server.until(lambda: server.status("/readyz").status == 200)
        statusz = server.status("/statusz").json()
        assert statusz["ready"] is True and statusz["last_sequence"] == "0", statusz
        for path, status in (("/", 404), ("/api/events", 404), ("/metrics/", 404)):
            assert server.status(path).status == status
        assert server.call("POST", "/metrics", token=None, port=server.status_port).status == 405
        server.stop()
        text = (server.store.path / "trilha.yaml").read_text()
        server.store.write("trilha.yaml", text.replace("status: {port: 0}", "status: {port: 0, allow: []}"))
        server.start()
        assert [server.status(path).status for path in ("/livez", "/metrics", "/statusz")] == [200, 403, 403]


def test_B31_metrics_are_sound_to_prometheus_with_hostile_names():
    with Server(dead_letters="{alert_at: 1}") as server:
        hostile = 'a"b\\c{}é'
        server.store.write("hostile.json", json.dumps({"tipo": hostile, "versao": "1.0.0", "schema": {"x-redacao": "manter"}}))
        assert server.store.run("registry", "apply", "hostile.json").status == 0
        failed(server)
        consumed = server.store.run("consume", "--colony", "D-4", "--type", hostile, "--group", "g", "--once", "--each", "--shell", "cat")
        server.until(lambda: server.metric('dead_letter_queue_pending{colonia="D-4"}') == 1)
        lag = 'trilha_consumer_lag_events{colonia="D-4",grupo="g",tipo="a\\"b\\\\c{}é"}'
        assert consumed.status == 0, consumed
        server.until(lambda: server.metric(lag) == 0)
        server.until(lambda: server.metric("trilha_dead_letters_alert") == 1 and server.metric("trilha_store_up") == 1)
        server.until(lambda: server.metric("trilha_event_log_last_sequence") == 1)
        assert server.get("/api/events").status == 200 and server.get("/api/events", token=None).status == 401
        server.until(lambda: server.metric('trilha_http_requests_total{route="events",code="200"}') == 1)
        server.until(lambda: server.metric('trilha_access_refused_total{reason="token"}') == 1)
        if shutil.which("promtool") is None:
            tap.skip("promtool is not installed; the rest held")
        done = subprocess.run(["promtool", "check", "metrics"], input=server.status("/metrics").body, capture_output=True,
                              check=False)
        assert done.returncode == 0 and not done.stdout + done.stderr, done


def a_store_that_is_gone_is_not_ready_and_comes_back():
    with Server() as server:
        failed(server)
        server.until(lambda: server.metric('dead_letter_queue_pending{colonia="D-4"}') == 1)
        with server.unreachable():
            server.until(lambda: server.status("/readyz").status == 503)
            assert server.status("/livez").status == 200
            assert server.metric("trilha_store_up") == 0 and server.metric('dead_letter_queue_pending{colonia="D-4"}') is None
            assert server.status("/statusz").json()["store_error"].startswith("STORE_")
            answer = server.get("/api/events")
            assert answer.status == 503 and set(answer.json()) == {"type", "title", "status", "code"}, answer
            answer = server.call("POST", "/api/events/dlq/reprocessar", body={"colonia": "D-4"})
            assert answer.status == 503, "what cannot be audited is not done"
        server.until(lambda: server.status("/readyz").status == 200)
        server.until(lambda: server.metric('dead_letter_queue_pending{colonia="D-4"}') == 1)
        assert server.get("/api/events").status == 200


def the_role_for_operators_is_enough_for_the_service():
    with Server() as server:
        failed(server)
        server.stop()
        role, owner = "ops_" + server.database.name, server.store.url
        test_postgres.psql(owner, "-c", f"CREATE ROLE {role} LOGIN PASSWORD 'pw' IN ROLE trilha_operator")
        try:
            server.store.url = re.sub("//[^@/]*@", f"//{role}:pw@", owner)
            assert role in server.store.url
            server.start()
            server.until(lambda: server.metric('dead_letter_queue_pending{colonia="D-4"}') == 1)
            event = server.get("/api/events").json()["linhas"][0]
            letter = server.get("/api/v1/dead-letters").json()["linhas"][0]
            for path in ("/api/events?apos=0", "/api/events/" + event["event_id"], "/api/events/trace/" + event["correlacao_id"],
                         "/api/v1/dead-letters/" + letter["id"], "/api/v1/dead-letter-stats", "/api/v1/event-types", "/api/v1/consumers",
                         "/api/v1/audit-logs", "/api/v1/error-codes"):
                assert server.get(path).status == 200, (path, server.get(path))
            answer = server.call("POST", "/api/events/dlq/reprocessar", body={"colonia": "D-4"})
            assert answer.status == 200, answer
            assert server.reload() and server.issue()
            assert server.store.publish({"pedido": "P-1"}).status != 0, "and for no more than that"
            assert server.stop() == 0
        finally:
            server.store.url = owner
            test_postgres.psql(owner, "-c", f"DROP OWNED BY {role}", "-c", f"DROP ROLE {role}")


if KIND == "postgresql":  # a database that refuses connections; a file has no such state
    test_the_role_for_operators_is_enough_for_the_service = the_role_for_operators_is_enough_for_the_service
    test_a_store_that_is_gone_is_not_ready_and_comes_back = a_store_that_is_gone_is_not_ready_and_comes_back


def test_smuggling_and_slow_answers_do_not_reach_a_route():
    with Server() as server:
        head = f"Host: t\r\nAuthorization: Bearer {server.token}\r\n".encode()
        answer = server.raw(b"POST /api/events HTTP/1.1\r\n" + head + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"
                            b"0\r\n\r\nGET /api/events HTTP/1.1\r\n" + head + b"\r\n")
        assert answer.startswith(b"HTTP/1.1 400 ") and answer.count(b"HTTP/1.1") == 1, answer
        answer = server.raw(b"GET /api/events?tipo=" + b"a" * 20000 + b" HTTP/1.1\r\n" + head + b"\r\n")
        assert answer == b"" or answer.startswith((b"HTTP/1.1 414", b"HTTP/1.1 431")), answer[:100]


def test_diagnostics_are_json_lines_without_tokens():
    with Server() as server:
        server.get("/api/events?tipo=secret-word")
        server.get("/api/events", token="a.b.c")
        assert server.stop() == 0
        err = (server.store.path / "serve.log").read_text()
        lines = [json.loads(line) for line in err.splitlines() if line.startswith("{")]
        names = [line["name"] for line in lines]
        assert "serve.started" in names and "serve.answered" in names and "serve.refused" in names, names
        assert server.token not in err and "secret-word" not in err and "a.b.c" not in err
        served = next(line for line in lines if line["name"] == "serve.answered")
        assert served["route"] == "events" and served["status"] == 200 and served["address"] == "127.0.0.1", served


def test_a_log_that_nobody_reads_stops_nothing():
    with Server() as server:
        server.stop()
        server.process = server.store.start("serve")
        line = program.read_lines(server.process, 1)[0].decode()
        server.api_port = int(line.split(" port ")[1].split(",")[0])
        for _ in range(600):  # the pipe is full after some 250 of them
            assert server.get("/api/events?limite=1").status == 200
        err = server.process.stderr
        while b"serve.log_lost" not in err.readline():
            server.get("/api/events?limite=1")


if __name__ == "__main__":
    tap.run(globals())
