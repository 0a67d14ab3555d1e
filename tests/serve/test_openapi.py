# serve: docs/openapi.yaml and the running server agree: generated requests, right and wrong ones, get documented answers.
import json
import os
import random
import re
import urllib.parse

from outboxes import Outbox, callback_of, signed
from server import Server, program, tap
from stores import CORRELATION, order

try:
    import yaml
except ImportError:
    yaml = None

ROUNDS = int(os.environ.get("TRILHA_OPENAPI_ROUNDS", "25"))
SEED = int(os.environ.get("TRILHA_OPENAPI_SEED", "1"))
WRONG = ["", "0", "-1", "x", "1e3", "%00", "%", "%ff", "' OR 1=1 --", "../../etc/passwd", "\u202e", "9" * 30, "a" * 3000, "<script>", "null", "é",
         "2026-13-45T99:99:99Z", "0001-01-01T00:00:00Z", "NaN", "${x}", "{{7*7}}"]


def document():
    if yaml is None:
        tap.skip("PyYAML is not installed")
    return yaml.safe_load((program.ROOT / "docs/openapi.yaml").read_text(encoding="utf-8"))


def resolved(api, node):
    while "$ref" in node:
        found = api
        for part in node["$ref"][2:].split("/"):
            found = found[part]
        node = found
    return node


def operations(api):
    for path, methods in api["paths"].items():
        for method, operation in methods.items():
            yield path, method.upper(), operation


def good_value(chance, name, schema, event_id):
    if "enum" in schema:
        return chance.choice(schema["enum"])
    if schema.get("type") == "integer":
        return str(chance.randint(schema.get("minimum", 0), schema.get("minimum", 0) + 600))
    known = {"tipo": ["pedido.criado", "nothing"], "origem": ["loja", "app"], "colonia": ["D-4", "D-9"], "correlacao_id": [CORRELATION],
             "correlacaoId": [CORRELATION], "eventId": [event_id, CORRELATION], "event_id": [event_id],
             "action": ["trilha.event-type.registered", "x"], "entity": ["event-type"], "entity_id": ["a"], "from": ["2026-01-01"],
             "source": ["billing", "nowhere"], "messageId": [event_id, CORRELATION], "message_id": [event_id], "worker": ["host:1:x"],
             "destination": ["erp", "shop"], "tenant": ["acme"], "code": ["EXEC_REFUSED"], "consumer": ["stock"], "to": ["2099-01-01T00:00:00Z"],
             "apos": ["7", f"1767225600000000:{CORRELATION}:4:acmestock"], "timestamp_inicio": ["2026-06-15T10:00:02Z"], "timestamp_fim": ["2026-06-15T10:00:05-03:00"]}
    return chance.choice(known[name])


def generated(chance, api, path, operation, event_id):
    """A request's target: most parameters right, some wrong, some twice or unknown."""
    query = []
    for parameter in operation.get("parameters", []):
        schema = resolved(api, parameter["schema"])
        value = good_value(chance, parameter["name"], schema, event_id) if chance.random() < 0.8 else chance.choice(WRONG)
        encoded = value if value.startswith("%") else urllib.parse.quote(value, safe="")
        if parameter["in"] == "path":
            path = path.replace("{" + parameter["name"] + "}", encoded)
        elif chance.random() < 0.4:
            query.append(parameter["name"] + "=" + encoded)
    if chance.random() < 0.05:
        query.append(chance.choice(["unknown=1", "&&", "=", "limite=1&limite=1"]))
    return path + ("?" + "&".join(query) if query else "")


def bodies(chance, api, operation, event_id):
    """A body by the document's schema, or one that is wrong."""
    schema = resolved(api, operation["requestBody"]["content"]["application/json"]["schema"])
    known = {"colonia": ["D-4", "x" * 100], "destination": ["erp", "shop"], "reason": ["because", "por quê"], "tenant": ["acme"], "code": ["EXEC_REFUSED"],
             "before": ["2099-01-01T00:00:00Z"], "stated_at": ["2026-06-15T10:00:05-03:00"], "note": ["x"], "operation_id": ["op-7"],
             "reconciliation": ["they know it"], "message_id": [event_id, CORRELATION], "payload": ['{"a":1}', '{"b": "é"}']}

    def value(name, rule):
        rule = resolved(api, rule)
        if "enum" in rule:
            return chance.choice(rule["enum"])
        if rule.get("type") in ("integer", "boolean"):
            return chance.choice([True, False]) if rule["type"] == "boolean" else chance.randint(1, 3)
        return chance.choice(known[name])
    right = {name: value(name, rule) for name, rule in schema["properties"].items() if name in schema["required"] or chance.random() < 0.4}
    first = schema["required"][0]
    wrong = [None, {}, [], {first: None}, {first: ""}, {**right, "a": 1}, "D-4", 7, {first: {"$gt": ""}}, {**right, first: 7}]
    return json.dumps(right if chance.random() < 0.5 else chance.choice(wrong))


def check(api, server, kept, where, operation, answer):
    assert str(answer.status) in operation["responses"], (where, answer)
    content = resolved(api, operation["responses"][str(answer.status)])["content"]
    kind = answer.headers["content-type"]
    assert kind in content, (where, answer)
    kept.setdefault(json.dumps(content[kind]["schema"]), []).append((where, answer.json()))


def validated(api, server, kept):
    """Every body against its schema, by our own validator."""
    for number, (schema, found) in enumerate(kept.items()):
        server.store.write("answer.schema.json", json.dumps({**json.loads(schema), "components": api["components"]}))
        server.store.write("answers.jsonl", "".join(json.dumps(body) + "\n" for _, body in found))
        outcome = server.store.run("schema", "validate", "--schema", "answer.schema.json", "answers.jsonl")
        assert outcome.status == 0, (number, schema, [where for where, _ in found][:5], outcome)


def test_generated_requests_get_documented_answers():
    api, chance, kept = document(), random.Random(SEED), {}
    print(f"# seed {SEED}, {ROUNDS} rounds")
    with Server() as server:
        assert server.store.ndjson([order(n, timestamp=f"2026-06-15T10:00:{n:02}Z", correlacao_id=CORRELATION) for n in range(20)]).status == 0
        server.store.run("consume", "--colony", "D-4", "--type", "pedido.criado", "--from", "start", "--once", "--each", "--shell", "exit 1")
        outbox = Outbox(server, more=callback_of(server))
        outbox.say("acme", "refused")
        outbox.work("--exec", "sh", "-c", "exit 65")
        for tenant in ("acme", "other"):
            outbox.say(tenant, "1")
        event_id = server.store.events()["linhas"][0]["event_id"]
        message_id = outbox.ask("SELECT message_id FROM {p}outbox_message ORDER BY aggregate_id, aggregate_sequence LIMIT 1")[0][0]
        seen = set()
        for path, method, operation in operations(api):
            for _ in range(ROUNDS):
                an_id = message_id if "/outbox/" in path else event_id
                target = generated(chance, api, path, operation, an_id)
                body = bodies(chance, api, operation, an_id) if method == "POST" else None
                more = {"Content_Type": "application/json" if chance.random() < 0.8 else "text/plain"} if body else {}
                if "callbacks" in path and chance.random() < 0.8:
                    more = {**signed(body), **more}
                if chance.random() < 0.2:
                    more["Accept"] = "application/cloudevents+json"
                token = chance.choice([True] * 9 + [None])
                answer = server.call(method, target, body=body, token=token, **more)
                check(api, server, kept, (method, target, body), operation, answer)
                seen.add((path, answer.status))
        validated(api, server, kept)
        for path, method, operation in operations(api):
            if method == "GET":
                assert (path, 200) in seen and (path, 401) in seen, (path, sorted(seen))


def test_the_document_and_the_routes_name_each_other():
    api = document()
    source = (program.ROOT / "src/serve/api.c").read_text(encoding="utf-8")
    text_of = {}
    for name, base, text in re.findall(r'#define (\w+) +(\w+ )?"([^"]*)"', source):
        text_of[name] = text_of.get(base.strip(), "") + text
    table = source[source.index("ROUTES[] = {"):source.index("};", source.index("ROUTES[] = {"))]
    routes = {(text_of.get(macro.strip(), "") + text, method)
              for macro, text, method in re.findall(r'\{(\w* ?)(?:"([^"]*)")?, "([A-Z]+)", TRILHA_ROUTE', table)}
    told = {(re.sub(r"\{\w+\}", "*", path), method) for path, method, _ in operations(api)}
    assert told - routes == {("/api/v1/outbox/*/callbacks/*", "POST")}, "it is judged by its signature, beside the table"
    assert routes - told == {("/api/events/trace", "GET")}, "the route without its id"
    specified = [operation for path, _, operation in operations(api) if not path.startswith("/api/v1")]
    assert len(specified) == 4 and all(operation["x-internal"] for operation in specified)


if __name__ == "__main__":
    tap.run(globals())
