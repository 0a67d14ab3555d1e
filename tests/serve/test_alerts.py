# serve: the program that is told when an alert begins and ends.
from server import KIND, Server, tap
from stores import order

SAY = """{command: [/bin/sh, -c, 'echo "$TRILHA_ALERT $TRILHA_ALERT_STATE $TRILHA_ALERT_VALUE $TRILHA_ALERT_AT" >> told']}"""


def told(server):
    path = server.store.path / "told"
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def fail_some(server, count):
    assert server.store.ndjson([order(n) for n in range(count)]).status == 0
    server.store.run("consume", "--colony", "D-4", "--type", "pedido.criado", "--from", "start", "--once", "--each", "--shell", "exit 1")


def test_a_threshold_is_told_when_it_is_reached_and_when_it_is_left():
    with Server(dead_letters="{alert_at: 2}", alerts=SAY) as server:
        fail_some(server, 2)
        server.until(lambda: told(server) == ["dead_letters firing 2 2"])
        assert server.store.run("dlq", "reprocess", "--colony", "D-4", "--each", "--shell", "true").status == 0
        # One of the two may have been seen alone.
        server.until(lambda: told(server)[1:] in (["dead_letters resolved 0 2"], ["dead_letters resolved 1 2"]))
        server.until(lambda: [(line["alert"], line["state"]) for line in server.log("serve.alert_told")]
                     == [("dead_letters", "firing"), ("dead_letters", "resolved")])


def test_a_command_that_fails_is_told_and_one_that_hangs_holds_nothing_up():
    with Server(dead_letters="{alert_at: 1}", alerts="{command: [/nowhere/at-all]}") as server:
        fail_some(server, 1)
        server.until(lambda: server.log("serve.alert_failed"))
        assert server.get("/api/events").status == 200
        server.stop()
        server.settings["alerts"] = "{command: [/bin/sh, -c, 'touch hangs; while :; do sleep 1; done']}"
        server.configure()
        server.start()
        server.until(lambda: (server.store.path / "hangs").exists())
        assert server.get("/api/events").status == 200 and server.status("/readyz").status == 200
        assert server.stop() == 0


def a_store_that_is_gone_is_told_without_it():
    with Server(alerts=SAY) as server:
        server.until(lambda: server.status("/readyz").status == 200)
        with server.unreachable():
            server.until(lambda: told(server)[-1:] == ["store firing 1 1"])
        server.until(lambda: told(server)[-1] == "store resolved 0 1")


if KIND == "postgresql":
    test_a_store_that_is_gone_is_told_without_it = a_store_that_is_gone_is_told_without_it


if __name__ == "__main__":
    tap.run(globals())
