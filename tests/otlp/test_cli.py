# otlp: the program exports as OpenTelemetry's own variables say.
import contextlib
import http.server
import json
import pathlib
import socket
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "cli"))
from program import tap  # pylint: disable=wrong-import-position
from stores import Store  # pylint: disable=wrong-import-position


class Collector:
    """Keeps what is posted, by path."""

    def __enter__(self):
        self.requests = []
        kept = self.requests

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):  # pylint: disable=invalid-name
                body = self.rfile.read(int(self.headers["Content-Length"]))
                kept.append((self.path, dict(self.headers), json.loads(body)))
                self.send_response(200)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, format, *args):  # pylint: disable=redefined-builtin
                pass

        self.server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        self.endpoint = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def spans(self):
        return [span for path, _, body in self.requests if path == "/v1/traces"
                for resource in body["resourceSpans"] for scope in resource["scopeSpans"] for span in scope["spans"]]


def attributes(node):
    return {each["key"]: next(iter(each["value"].values())) for each in node["attributes"]}


@contextlib.contextmanager
def nobody():
    """An endpoint where nobody listens, and nobody else can meanwhile."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


def test_a_process_links_to_the_publish_of_another_program():
    with Store() as store, Collector() as collector:
        variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.endpoint, "OTEL_SERVICE_NAME": "loja",
                     "OTEL_EXPORTER_OTLP_HEADERS": "api-key=s3cret"}
        outcome = store.publish({"pedido": "P-1"}, **variables)
        assert outcome.status == 0 and outcome.err == "", outcome
        outcome = store.run("consume", "--colony", "D-4", "--type", "pedido.criado", "--from", "start", "--once", "--each", "--shell", "cat >/dev/null",
                            **variables)
        assert outcome.status == 0, outcome
        publish, process = collector.spans()
        assert (publish["name"], process["name"]) == ("event.publish", "event.process"), collector.requests
        assert [(link["traceId"], link["spanId"]) for link in process["links"]] == [(publish["traceId"], publish["spanId"])]
        assert attributes(process)["messaging.consumer.group.name"] == "D-4"
        assert store.events()["linhas"][0]["traceparent"] == f"00-{publish['traceId']}-{publish['spanId']}-01"
        assert {path for path, _, _ in collector.requests} == {"/v1/traces", "/v1/metrics"}
        for _, headers, body in collector.requests:
            resource = (body.get("resourceSpans") or body.get("resourceMetrics"))[0]["resource"]
            assert attributes(resource)["service.name"] == "loja" and headers["api-key"] == "s3cret", (headers, resource)


def test_who_only_reads_exports_nothing():
    with Store() as store, Collector() as collector:
        assert store.publish({"pedido": "P-1"}).status == 0
        outcome = store.run("events", "list", OTEL_EXPORTER_OTLP_ENDPOINT=collector.endpoint)
        assert outcome.status == 0 and collector.requests == [], (outcome, collector.requests)


def test_a_disabled_sdk_and_an_empty_endpoint_export_nothing():
    with Store() as store, Collector() as collector:
        assert store.publish({"pedido": "P-1"}, OTEL_EXPORTER_OTLP_ENDPOINT="").status == 0
        assert store.publish({"pedido": "P-1"}, OTEL_EXPORTER_OTLP_ENDPOINT=collector.endpoint, OTEL_SDK_DISABLED="true").status == 0
        assert collector.requests == []


def test_a_collector_that_is_away_is_told_and_fails_nothing():
    with Store() as store, nobody() as endpoint:
        outcome = store.publish({"pedido": "P-1"}, OTEL_EXPORTER_OTLP_ENDPOINT=endpoint)
        assert outcome.status == 0 and "otlp.export_failed" in outcome.err, outcome
        assert endpoint not in outcome.err


def test_an_endpoint_that_is_none_is_a_mistake_of_the_caller():
    with Store() as store:
        outcome = store.publish({"pedido": "P-1"}, OTEL_EXPORTER_OTLP_ENDPOINT="collector:4318/s3cret")
        assert outcome.status == 3 and "OTEL_EXPORTER_OTLP_ENDPOINT" in outcome.err and "s3cret" not in outcome.err, outcome
        assert store.events()["total"] == 0


def test_the_configuration_that_a_variable_names_says_where_to_and_others_are_not_read():
    with Store() as store, Collector() as collector:
        store.write("t.yaml", f"telemetry:\n  service_name: loja\n  otlp: {{endpoint: '{collector.endpoint}', headers: 'api-key=s3cret'}}\n")
        store.write("trilha.yaml", "telemetry: {otlp: {endpoint: 'http://127.0.0.1:9', wrong: 1}}\n")
        assert store.publish({"pedido": "P-1"}).status == 0 and collector.requests == [], "no file is read by chance"
        outcome = store.publish({"pedido": "P-2"}, TRILHA_CONFIG="t.yaml", TRILHA_SERVE_API_PORT="none of its business")
        assert outcome.status == 0 and outcome.err == "", outcome
        path, headers, body = collector.requests[0]
        assert path == "/v1/traces" and headers["api-key"] == "s3cret", collector.requests
        assert attributes(body["resourceSpans"][0]["resource"])["service.name"] == "loja"
        sent = len(collector.requests)
        assert store.publish({"pedido": "P-3"}, TRILHA_CONFIG="t.yaml", OTEL_SDK_DISABLED="true").status == 0
        assert len(collector.requests) == sent
        for name, status in (("trilha.yaml", 3), ("nowhere.yaml", 1)):
            outcome = store.publish({"pedido": "P-4"}, TRILHA_CONFIG=name)
            assert outcome.status == status and name in outcome.err and outcome.out == "", outcome
        assert store.events()["total"] == 3
        shown = store.run("config", "show", "--json", TRILHA_CONFIG="t.yaml")
        rows = {row["setting"]: row for row in map(json.loads, shown.out.splitlines())}
        assert rows["telemetry.otlp.headers"]["value"] == "****" and rows["telemetry.otlp.endpoint"]["origin"] == "file", shown


if __name__ == "__main__":
    tap.run(globals())
