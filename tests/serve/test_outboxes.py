# serve: how the registered outboxes stand, in metrics and in /statusz (requirement O15, ruling R35).
import json
import re
import shutil
import subprocess

from outboxes import Outbox
from server import Server, program, tap


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


# Answers when it is let: the file `go` is there.
WAITING = ("--exec", "sh", "-c", "cat >/dev/null; until test -e go; do sleep 0.05; done")


def status_of(server, outbox, *words):
    return server.store.run("outbox", "status", "--store", outbox.url, "--schema", "billing", *words)


def at_its_quota(server, outbox, check):
    """Calls `check` while a worker has the one lane in flight that acme may have, of two."""
    outbox.say("acme", "1")
    outbox.say("acme", "2")
    words = [program.PROGRAM, "worker", "run", "--store", outbox.url, "--schema", "billing", "--destination", "erp", "--quota", "1", *WAITING]
    with subprocess.Popen(words, cwd=server.store.path, stdout=subprocess.DEVNULL) as worker:
        try:
            server.until(lambda: outbox.metric("outbox_tenants_at_quota", ',destination="erp"') == 1, seconds=60)
            check()
        finally:
            (server.store.path / "go").touch()
            worker.terminate()


def test_a_tenant_at_its_quota_is_told_and_tenants_are_named_to_operators_alone():
    with Server() as server:
        outbox = Outbox(server)
        outbox.say_for_many(102)
        server.until(lambda: outbox.metric("outbox_lanes_ready", ',destination="erp"') == 102)
        assert outbox.metric("outbox_tenants_at_quota", ',destination="erp"') is None  # nobody takes lanes

        def check():
            assert outbox.metric("outbox_tenant_quota", ',destination="erp"') == 1
            # Neither label nor value: nowhere in what is scraped without opt-in.
            assert not re.search(b"acme|tenant-", server.status("/metrics").body)
            billing, = server.status("/statusz").json()["outboxes"]
            assert {"name": "tenant_at_quota", "of": "erp", "tenant": "acme", "value": 1} in billing["gauges"], billing
            assert len([gauge for gauge in billing["gauges"] if gauge["name"] == "tenant"]) == 100
            assert {"name": "tenants_rest", "of": None, "value": 3} in billing["gauges"]
            told = status_of(server, outbox)
            assert "acme holds its quota of erp: 1 lanes in flight, of 1 that one tenant may have" in told.err, told
            row = json.loads(status_of(server, outbox, "--json").out)
            assert row["at_quota"] == [{"tenant_id": "acme", "leased": 1, "quota": 1}], row
            told = status_of(server, outbox, "--tenants")
            assert "3 tenants more have lanes with messages" in told.err and len(told.out.splitlines()) == 101, told

        at_its_quota(server, outbox, check)
        assert json.loads(status_of(server, outbox, "--json").out)["at_quota"] == []


def test_tenants_are_labels_only_where_that_was_asked_for():
    with Server() as server:
        outbox = Outbox(server, status=", tenant_metrics: true")
        outbox.say("other", "1")
        at_its_quota(server, outbox, lambda: server.until(lambda: (
            outbox.metric("outbox_tenant_at_quota_lanes", ',destination="erp",tenant="acme"'), outbox.metric("outbox_tenant_lanes", ',tenant="acme"'),
            outbox.metric("outbox_tenant_lanes", ',tenant="other"')) == (1, 2, 1)))


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
