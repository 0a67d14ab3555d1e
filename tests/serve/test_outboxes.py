# serve: how the registered outboxes stand, in metrics and in /statusz (requirement O15, ruling R35).
import shutil
import subprocess

from outboxes import Outbox
from server import Server, tap


def test_backlog_age_and_dead_lanes_are_told_by_source_and_destination():
    with Server() as server:
        outbox = Outbox(server)
        server.until(lambda: outbox.metric("outbox_up") == 1)
        server.until(lambda: outbox.metric("outbox_lanes_ready", ',destination="erp"') == 0)
        for key in ("refused", "refused", "1", "2"):
            outbox.say("acme", key)
        server.until(lambda: outbox.metric("outbox_backlog_messages", ',destination="erp"') == 4)
        server.until(lambda: outbox.metric("outbox_head_age_seconds", ',destination="erp"') > 0)
        outbox.work()
        server.until(lambda: outbox.metric("outbox_lanes_dead", ',destination="erp"') == 1)
        server.until(lambda: outbox.metric("outbox_messages_behind_dead", ',destination="erp"') == 1)
        server.until(lambda: (outbox.metric("outbox_sent_total"), outbox.metric("outbox_attempts_failed_total"),
                              outbox.metric("outbox_dead_letters_total"), outbox.metric("outbox_leases_fenced_total")) == (2, 1, 1, 0))
        assert outbox.metric("outbox_workers") == 0 and outbox.metric("inbox_conflicts") == 0
        assert b"outbox_tenant_lanes" not in server.status("/metrics").body
        billing, = server.status("/statusz").json()["outboxes"]
        assert billing["source"] == "billing" and billing["ready"] is True and {"name": "tenant", "of": "acme", "value": 1} in billing["gauges"]
        if shutil.which("promtool") is None:
            tap.skip("promtool is not installed; the rest held")
        done = subprocess.run(["promtool", "check", "metrics"], input=server.status("/metrics").body, capture_output=True, check=False)
        assert done.returncode == 0 and not done.stdout + done.stderr, done


def test_tenants_are_labels_only_where_that_was_asked_for():
    with Server() as server:
        outbox = Outbox(server, status=", tenant_metrics: true")
        outbox.say("acme", "1")
        outbox.say("acme", "2")
        outbox.say("other", "1")
        server.until(lambda: [outbox.metric("outbox_tenant_lanes", f',tenant="{tenant}"') for tenant in ("acme", "other")] == [2, 1])


def test_an_outbox_that_cannot_be_used_has_no_numbers_and_stops_nothing():
    with Server() as server:
        server.stop()
        server.settings["sources"] = f"[{{name: billing, store: 'sqlite:{server.store.path}/nowhere/app.db'}}]"
        server.configure()
        server.start()
        server.until(lambda: server.status("/statusz").json()["outboxes"][0]["error"])
        assert server.metric('trilha_outbox_up{source="billing"}') == 0
        assert server.metric('trilha_outbox_workers{source="billing"}') is None
        server.until(lambda: server.status("/readyz").status == 200)
        assert server.get("/api/events").status == 200
        assert server.stop() == 0


if __name__ == "__main__":
    tap.run(globals())
