# serve: a real Prometheus scrapes /metrics, keeps what it said, and judges the alerts that are shipped.
import json
import shutil
import socket
import subprocess
import urllib.error
import urllib.parse
import urllib.request

from server import Server, program, tap

CONFIG = """
global: {{scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}}
rule_files: ["{rules}"]
scrape_configs:
  - job_name: trilha
    static_configs: [{{targets: ["127.0.0.1:{port}"]}}]
"""


class Prometheus:
    """A server of this test's own on loopback, its data in the store's folder."""

    def __init__(self, running):
        self.running = running

    def __enter__(self):
        folder = self.running.store.path
        # The alerts as they are shipped, without the time that a person is given before being woken.
        rules = (program.ROOT / "packaging/prometheus-rules.yaml").read_text(encoding="utf-8")
        (folder / "rules.yaml").write_text("\n".join(line for line in rules.splitlines() if not line.strip().startswith("for:")), encoding="utf-8")
        (folder / "prometheus.yaml").write_text(CONFIG.format(rules=folder / "rules.yaml", port=self.running.status_port), encoding="utf-8")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        with open(folder / "prometheus.log", "wb") as log:
            self.process = subprocess.Popen(  # pylint: disable=consider-using-with
                ["prometheus", "--config.file", folder / "prometheus.yaml", "--storage.tsdb.path", folder / "prometheus",
                 "--web.listen-address", f"127.0.0.1:{self.port}", "--log.level=warn"], stdout=log, stderr=log, cwd=folder,
                env={"PATH": "/usr/bin:/bin", "HOME": str(folder), "GOMAXPROCS": "1"})
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(timeout=60)

    def get(self, path, **query):
        assert self.process.poll() is None, (self.running.store.path / "prometheus.log").read_text()
        url = f"http://127.0.0.1:{self.port}{path}?" + urllib.parse.urlencode(query)
        try:
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=30) as answer:
                return json.load(answer)["data"]
        except (urllib.error.URLError, ConnectionError):
            return None

    def value(self, expression):
        """Of the only series that the expression gives; None without one."""
        data = self.get("/api/v1/query", query=expression)
        return float(data["result"][0]["value"][1]) if data and len(data["result"]) == 1 else None

    def firing(self):
        data = self.get("/api/v1/rules")
        return {rule["name"] for group in (data or {"groups": []})["groups"] for rule in group["rules"] if rule["state"] == "firing"}


def test_a_prometheus_scrapes_what_the_server_says_and_alerts_on_it():
    if shutil.which("prometheus") is None:
        tap.skip("prometheus is not installed")
    with Server(dead_letters="{alert_at: 1}") as server:
        assert server.store.publish({"pedido": "P-1"}).status == 0
        assert server.get("/api/events").status == 200
        server.until(lambda: server.metric("trilha_event_log_last_sequence") == 1)
        with Prometheus(server) as prometheus:
            server.until(lambda: prometheus.value('up{job="trilha"}') == 1, seconds=120)
            server.until(lambda: prometheus.value("trilha_event_log_last_sequence") == 1, seconds=60)
            assert prometheus.value('trilha_http_requests_total{route="events",code="200"}') == 1
            assert prometheus.value('trilha_http_request_duration_seconds_bucket{route="events",le="+Inf"}') == 1
            assert prometheus.value("histogram_quantile(0.5, trilha_http_request_duration_seconds_bucket{route=\"events\"})") > 0
            scrape = prometheus.get("/api/v1/targets")["activeTargets"][0]
            assert (scrape["health"], scrape["lastError"]) == ("up", ""), scrape
            rules = [rule for group in prometheus.get("/api/v1/rules")["groups"] for rule in group["rules"]]
            assert rules and all(rule["health"] != "err" for rule in rules), rules
            assert "TrilhaDeadLetters" not in prometheus.firing()
            server.store.run("consume", "--colony", "D-4", "--type", "pedido.criado", "--from", "start", "--once", "--each", "--shell", "exit 1")
            server.until(lambda: prometheus.value('dead_letter_queue_pending{colonia="D-4"}') == 1, seconds=60)
            server.until(lambda: "TrilhaDeadLetters" in prometheus.firing(), seconds=60)


if __name__ == "__main__":
    tap.run(globals())
