# cli: the windows of registered sources, as workers and purges use them (requirements O9, O17, O20).
import signal
import time

import program
from program import tap
from stores import Producer, parsed

LINE = "  - {{name: {name}, store: 'sqlite:{name}.db', schema: {name}, destinations: [{to}]{more}}}\n"


class Sources(Producer):
    """Outboxes `billing` and `stock`, each in a file of its own, registered in trilha.yaml."""
    outboxes = ("billing", "stock")

    def register(self, billing="", stock="", to="log"):
        self.write("trilha.yaml", "sources:\n" + LINE.format(name="billing", to="log", more=billing) + LINE.format(name="stock", to=to, more=stock))

    def __enter__(self):
        super().__enter__()
        self.register()
        return self


def worker(sources, *words):
    return sources.run("worker", "run", "--destination", "log", "--stdout", "--once", *words)


def test_a_worker_delivers_the_source_that_is_named_or_all_of_them():
    with Sources() as sources:
        sources.say("billing")
        sources.say("stock")
        one = worker(sources, "--source", "stock")
        assert one.status == 0 and [m["origin"] for m in parsed(one.out)] == ["stock"] and "sent 1" in one.err, one
        sources.say("stock")
        both = worker(sources, "--all-sources")
        assert both.status == 0 and sorted(m["origin"] for m in parsed(both.out)) == ["billing", "stock"], both
        assert "sent 2" in both.err, both


def test_a_source_without_the_destination_is_left_out():
    with Sources() as sources:
        sources.register(to="erp")
        sources.say("billing")
        sources.say("stock")
        assert [m["origin"] for m in parsed(worker(sources, "--all-sources").out)] == ["billing"]
        none = worker(sources, "--source", "stock")
        assert none.status == 2 and "log" in none.err, none


def test_windows_that_do_not_fit_are_refused_at_the_start_with_their_numbers_and_the_source():
    with Sources() as sources:
        for more, said in ((", lease_ms: 15000", "more than 15000 ms"), (", inbox_days: 43", "3801600000 ms"), (", messages_days: 13", "1209600000 ms"),
                           (", attempts: 100000, backoff_ms: 86400000", "WINDOW_INVALID")):
            sources.register(stock=more)
            outcome = worker(sources, "--all-sources")
            assert outcome.status == 2 and said in outcome.err and "source stock" in outcome.err and outcome.out == "", (more, outcome)
        sources.register(stock=", lease_ms: 15000")
        assert worker(sources, "--all-sources", "--lease", "20").status == 0  # the command line goes before the file


def test_the_windows_of_a_source_are_the_relay_s():
    with Sources() as sources:
        sources.register(billing=", attempts: 2, backoff_ms: 1000, timeout_ms: 60000, lease_ms: 90000")
        sources.say("billing")
        end = time.monotonic() + program.TIMEOUT_S
        while not parsed(sources.outbox("billing", "lanes", "--json", "--status", "DeadLettered").out):  # a pause between attempts is at most a second
            assert time.monotonic() < end, "no dead letter came"
            outcome = sources.run("worker", "run", "--source", "billing", "--destination", "log", "--once", "--exec", "false")
            assert outcome.status == 0, outcome
            time.sleep(0.05)
        dead, = parsed(sources.run("outbox", "lanes", "--json", "--store", "sqlite:billing.db", "--schema", "billing").out)
        assert dead["status"] == "DeadLettered" and dead["attempts"] == 2, dead


def test_a_source_has_as_many_threads_as_its_weight_and_the_command_line_goes_before_it():
    with Sources() as sources:
        sources.register(billing=", weight: 3")
        for words, threads in (([], {"billing": 3, "stock": 1}), (["--weight", "2"], {"billing": 2, "stock": 2})):
            running = sources.start("worker", "run", "--all-sources", "--destination", "log", "--stdout", *words)
            try:
                for name in sources.outboxes:
                    sources.say(name)
                program.read_lines(running, 2)  # by then each has told of itself
                for name, expected in threads.items():
                    rows = parsed(sources.run("worker", "list", "--json", "--store", f"sqlite:{name}.db", "--schema", name).out)
                    assert [row["threads"] for row in rows if row["status"] != "silent"] == [expected], (words, rows)
            finally:
                running.send_signal(signal.SIGTERM)
                running.communicate(timeout=program.TIMEOUT_S)
        refused = worker(sources, "--all-sources", "--weight", "65")
        assert refused.status == 2 and "64" in refused.err, refused
        sources.register(billing=", weight: 0")
        assert worker(sources, "--all-sources").status == 3


def test_a_worker_of_several_sources_ends_all_of_them_when_it_is_stopped_or_one_fails():
    with Sources() as sources:
        running = sources.start("worker", "run", "--all-sources", "--destination", "log", "--stdout")
        try:
            for name in sources.outboxes:
                sources.say(name)
            program.read_lines(running, 2)
            running.send_signal(signal.SIGTERM)
            _, err = running.communicate(timeout=program.TIMEOUT_S)
            assert running.returncode == 0 and b"sent 2" in err, err
        finally:
            if running.poll() is None:
                running.send_signal(signal.SIGKILL)
                running.wait()
        (sources.path / "stock.db").unlink()
        failed = sources.run("worker", "run", "--all-sources", "--destination", "log", "--stdout")
        assert failed.status != 0 and "source stock" in failed.err, failed


def test_a_purge_takes_the_windows_of_its_sources():
    with Sources() as sources:
        sources.say("billing")
        sources.say("stock")
        assert worker(sources, "--all-sources").status == 0
        sources.register(billing=", messages_days: 0, restore_days: 0")
        plan = parsed(sources.run("purge", "plan", "--all-sources", "--json").out)
        assert [(row["source"], row["what"], row["rows"]) for row in plan] == [
            ("billing", "messages", 1), ("billing", "inbox", 0), ("stock", "messages", 0), ("stock", "inbox", 0)]
        done = sources.run("purge", "run", "--source", "billing", "--json", "--reason", "nightly")
        assert done.status == 0 and parsed(done.out)[0]["rows"] == 1, done
        heading = sources.run("purge", "plan", "--source", "billing").out.splitlines()[0].split()
        assert heading == ["SOURCE", "WHAT", "ROWS", "OLDEST", "NEWEST"]
        sources.register(stock=", inbox_days: 43")
        refused = sources.run("purge", "plan", "--all-sources")
        assert refused.status == 2 and "3801600000 ms" in refused.err and "source stock" in refused.err, refused


def test_sources_are_not_mixed_with_a_store_of_the_command_line():
    with Sources() as sources:
        for words, status, said in ((("--source", "billing", "--all-sources"), 2, "all-sources"), (("--source", "billing", "--store", "sqlite:a.db"), 2, "store"),
                                    (("--all-sources", "--schema", "billing"), 2, "schema"), (("--config", "trilha.yaml"), 2, "--source"),
                                    (("--source", "nobody"), 1, "SOURCE_NOT_FOUND")):
            outcome = worker(sources, *words)
            assert outcome.status == status and said in outcome.err, (words, outcome)
            assert sources.run("purge", "plan", *words).status == status, words


def test_with_sources_the_log_is_the_configuration_s_own_store():
    with Sources() as sources:
        sources.register()
        yaml = (sources.path / "trilha.yaml").read_text()
        sources.write("trilha.yaml", "store: sqlite:log.db\n" + yaml)
        assert sources.run("init", "--store", "sqlite:log.db").status == 0
        sources.write("type.json", '{"tipo": "nota.emitida", "versao": "1.0.0", "descricao": "x", "status": "ativo", "schema": {"type": "object", "x-redacao": "manter"}}')
        assert sources.run("registry", "apply", "type.json", "--store", "sqlite:log.db").status == 0
        sources.say("billing")
        outcome = sources.run("worker", "run", "--source", "billing", "--destination", "log", "--bus", "--once")
        assert outcome.status == 0 and "sent 1" in outcome.err, outcome
        assert len(parsed(sources.run("events", "list", "--store", "sqlite:log.db", "--json").out)[0]["linhas"]) == 1


if __name__ == "__main__":
    tap.run(globals())
