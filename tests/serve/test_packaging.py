# serve: the unit, the alerts and the dashboard that are shipped are sound, and name metrics that the server has.
import json
import re
import shutil
import subprocess
import tempfile

from server import program, tap
from test_tls import TlsServer

PACKAGING = program.ROOT / "packaging"


def test_the_alerts_are_sound_to_prometheus():
    if shutil.which("promtool") is None:
        tap.skip("promtool is not installed")
    done = subprocess.run(["promtool", "check", "rules", PACKAGING / "prometheus-rules.yaml"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done


# Of two destinations, one at its quota whenever it is looked at but for moments, one now and then.
RULES_TEST = """
rule_files: ["{rules}"]
evaluation_interval: 30s
tests:
  - interval: 30s
    input_series:
      - series: 'trilha_outbox_tenants_at_quota{{source="billing",destination="erp"}}'
        values: '0x9 1 0 1 1 0 1x60 0x30'
      - series: 'trilha_outbox_tenants_at_quota{{source="billing",destination="log"}}'
        values: '0 0 1 0 0 0 0 0 1 0x60 1 1 0x40'
    alert_rule_test:
      - {{eval_time: 19m, alertname: TrilhaOutboxTenantAtQuota, exp_alerts: []}}
      - eval_time: 22m
        alertname: TrilhaOutboxTenantAtQuota
        exp_alerts:
          - exp_labels: {{source: billing, destination: erp, severity: warning}}
            exp_annotations:
              summary: 1 tenants of billing hold their whole quota of erp
              description: More of theirs is due all the while. trilha outbox status tells who; trilha outbox lanes --tenant tells what.
      - {{eval_time: 44m, alertname: TrilhaOutboxTenantAtQuota, exp_alerts: []}}
"""


def test_a_tenant_that_stays_at_its_quota_is_told_and_one_that_was_there_for_moments_is_not():
    if shutil.which("promtool") is None:
        tap.skip("promtool is not installed")
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/test.yaml"
        with open(path, "w", encoding="utf-8") as test:
            test.write(RULES_TEST.format(rules=PACKAGING / "prometheus-rules.yaml"))
        done = subprocess.run(["promtool", "test", "rules", path], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_alerts_and_dashboard_name_metrics_that_the_server_has():
    dashboard = json.loads((PACKAGING / "grafana-dashboard.json").read_text())
    texts = re.findall(r"expr: (.*)", (PACKAGING / "prometheus-rules.yaml").read_text())
    texts += [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    used = {name for text in texts for name in re.findall(r"\b(?:trilha_\w+|dead_letter_queue_pending)", text)}
    with TlsServer() as server:
        server.until(lambda: server.metric("trilha_store_up") == 1)
        known = set(re.findall(r"^# TYPE (\w+)", server.status("/metrics").body.decode(), re.M))
    assert len(used) >= 10 and {re.sub("_bucket$", "", name) for name in used} <= known, used - known


def test_the_unit_is_sound_to_systemd():
    if shutil.which("systemd-analyze") is None:
        tap.skip("systemd-analyze is not installed")
    with tempfile.TemporaryDirectory() as folder:
        text = (PACKAGING / "trilha-serve.service").read_text().replace("/usr/local/bin/trilha", program.PROGRAM)
        path = folder + "/trilha-serve.service"
        with open(path, "w", encoding="utf-8") as unit:
            unit.write(text)
        done = subprocess.run(["systemd-analyze", "verify", path], capture_output=True, text=True, check=False)
        ours = [line for line in done.stderr.splitlines() if "trilha-serve" in line and "man trilha-serve" not in line]
        assert not ours, done.stderr


if __name__ == "__main__":
    tap.run(globals())
