# cli: durable consumers that are other programs, their dead letters, and what an operator does about them.
import contextlib
import json
import os
import re
import signal
import sqlite3
import sys
import time

import program
from program import run, tap
from stores import Store, order, parsed
from test_postgres import SERVER, Database, PostgresStore, psql

TYPE = "pedido.criado"
CONSUME = ("consume", "--colony", "D-4", "--type", TYPE)

# A long-lived handler: notes every event in seen.txt and answers as its payload says.
HANDLER = r'''
import json, os, signal, sys, time
for line in sys.stdin:
    event = json.loads(line)
    sequence, order = event["sequence_number"], event["payload"]["pedido"]
    with open("seen.txt", "a") as seen:
        seen.write(f"{sequence} {os.getpid()}\n")
    if order in os.environ.get("REPAIRED", "").split(","):
        order = "good"
    if order.startswith("refuse"):
        print("error", sequence, "the order is refused", flush=True)
    elif order.startswith("hang"):
        print("about to hang", file=sys.stderr, flush=True)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(600)
    elif order.startswith("die"):
        print("last words", file=sys.stderr, flush=True)
        os._exit(7)
    elif order.startswith("babble"):
        print("hello", flush=True)
    elif order.startswith("other"):
        print("ok 999999", flush=True)
    elif order.startswith("long"):
        print("x" * 300000, flush=True)
    elif order.startswith("close"):
        os.close(1)
        time.sleep(600)
    else:
        while order.startswith("slow") and not os.path.exists(f"go-{sequence}"):
            time.sleep(0.02)
        print("ok", sequence, flush=True)
'''
PYTHON = sys.executable


def stores():
    """Each test's store, once on SQLite and once on PostgreSQL where there is a test server."""
    with Store() as store:
        store.write("handler.py", HANDLER)
        yield store
    if SERVER:
        with Database() as database, PostgresStore(database.url) as store:
            store.write("handler.py", HANDLER)
            yield store


def fill(store, *orders):
    outcome = store.ndjson([{**order(0), "payload": {"pedido": text}} for text in orders])
    assert outcome.status == 0, outcome


def consume(store, *words, **env):
    """Drains with the handler above."""
    return store.run(*CONSUME, "--once", *words, "--exec", PYTHON, "handler.py", **env)


def seen(store):
    path = store.path / "seen.txt"
    return [tuple(map(int, line.split())) for line in path.read_text().splitlines()] if path.exists() else []


def sequences(store):
    return [sequence for sequence, _ in seen(store)]


def letters(store, *words):
    outcome = store.run("dlq", "list", "--json", *words)
    assert outcome.status == 0, outcome
    return parsed(outcome.out)


def cursor(store):
    rows = parsed(store.run("consumers", "list", "--colony", "D-4", "--json").out)
    return int(rows[0]["last_sequence"]) if rows else None


def wait_until(condition, what, seconds=program.TIMEOUT_S):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"not within {seconds} s: {what}"
        time.sleep(0.02)


def finish(process):
    """Waits; the two streams and the status."""
    out, err = process.communicate(timeout=program.TIMEOUT_S)
    return program.Outcome(process.returncode, out.decode(), err.decode())


def end_leases(store):
    """What a dead consumer holds ends now: waiting for it would be the test's time."""
    if isinstance(store, PostgresStore):
        psql(store.url, "-c", "UPDATE core.consumer_lease SET expires_at = clock_timestamp()")
        return
    with contextlib.closing(sqlite3.connect(store.path / "trilha.db", timeout=60)) as database, database:
        database.execute("UPDATE core_consumer_lease SET boot_us = 0")


def has_taken(process, number):
    """Whether the program has taken the signal from the system."""
    status = open(f"/proc/{process.pid}/status", encoding="ascii").read()
    return not int(re.search(r"^ShdPnd:\s*(\w+)", status, re.M).group(1), 16) >> (number - 1) & 1


def is_gone(pid):
    try:
        return open(f"/proc/{pid}/stat", encoding="ascii").read().split()[2] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


# --- the protocol ---------------------------------------------------------------------------------------------


def test_one_child_handles_all_events_in_order_and_the_cursor_follows():
    for store in stores():
        fill(store, *[f"P-{n}" for n in range(50)])
        outcome = consume(store, "--from", "start")
        assert outcome.status == 0 and outcome.err == "", outcome
        assert sequences(store) == list(range(1, 51)) and len({pid for _, pid in seen(store)}) == 1
        assert cursor(store) == 50 and letters(store) == []
        assert consume(store).status == 0 and len(seen(store)) == 50


def test_event_is_one_line_of_json_and_its_payload_is_redigido():
    for store in stores():
        assert store.publish({"pedido": "P-1", "cliente": "Maria"}).status == 0
        outcome = store.run(*CONSUME, "--from", "start", "--once", "--each", "--exec", "cat")
        event, = parsed(outcome.out)
        assert event["payload"] == {"pedido": "P-1"} and event["payload_estado"] == "redigido"
        assert event["sequence_number"] == "1" and event["tipo"] == TYPE


def test_every_way_to_break_the_protocol_fails_its_event_alone_and_the_next_gets_a_new_child():
    wanted = {"refuse": "the order is refused", "die": "no answer: the command ended with status 7",
              "babble": 'the command answered neither "ok 4" nor "error 4 TEXT" but "hello"',
              "other": 'the command answered for another event than 5: "ok 999999"',
              "long": "the command answered with more than 65536 bytes"}
    for store in stores():
        fill(store, "good", *wanted, "good")
        outcome = consume(store, "--from", "start")
        assert outcome.status == 0, outcome
        assert sequences(store) == [1, 2, 3, 4, 5, 6, 7]
        rows = letters(store)
        assert {row["sequence_number"]: row["mensagem_erro"] for row in rows} == {
            str(n): message for n, message in enumerate(wanted.values(), 2)}
        assert all(row["status"] == "pendente" and row["tentativas"] == 1 and row["colonia"] == "D-4" for row in rows)
        pids = [pid for _, pid in seen(store)]
        assert pids[0] == pids[1] == pids[2] and len(set(pids)) == 5, pids
        assert rows[1]["pilha_erro"] == "last words" and rows[0]["pilha_erro"] is None
        assert cursor(store) == 7


def test_child_that_hangs_or_closes_its_output_is_ended_within_the_timeout():
    with Store() as store:
        store.write("handler.py", HANDLER)
        fill(store, "hang", "close", "good")
        outcome = consume(store, "--from", "start", "--timeout", "6")  # of 600 that it would hang
        assert outcome.status == 0, outcome
        late, closed = letters(store)
        assert late["mensagem_erro"] == "the command did not answer within 6 seconds" and late["pilha_erro"] == "about to hang"
        assert closed["mensagem_erro"].startswith("no answer: the command was ended by signal"), closed
        for _, pid in seen(store)[:2]:
            assert not os.path.exists(f"/proc/{pid}"), "the child is still there"


def test_child_that_never_reads_does_not_block_past_the_timeout():
    with Store() as store:
        assert store.publish({"pedido": "x" * 500000}).status == 0
        for words in (("--exec", "sleep", "600"), ("--each", "--exec", "sleep", "600")):
            outcome = store.run(*CONSUME, "--from", "start", "--once", "--timeout", "1", *words)  # of 600
            assert outcome.status == 0, outcome
            row, = letters(store)
            assert row["mensagem_erro"] == "the command did not answer within 1 seconds"


def test_children_of_the_child_are_ended_with_it():
    with Store() as store:
        fill(store, "P-1")
        store.run(*CONSUME, "--from", "start", "--once", "--timeout", "6",
                  "--shell", "sleep 600 & echo $! > grandchild; wait")
        pid = int((store.path / "grandchild").read_text())
        wait_until(lambda: is_gone(pid), "the grandchild ended")


def test_child_that_leaves_after_each_answer_is_started_again_without_a_failure():
    with Store() as store:
        fill(store, *[f"P-{n}" for n in range(20)])
        line = r"""read -r e; n=$(printf '%s' "$e" | sed 's/.*"sequence_number":"\([0-9]*\)".*/\1/'); echo "ok $n" """
        outcome = store.run(*CONSUME, "--from", "start", "--once", "--shell", line)
        assert outcome.status == 0 and letters(store) == [] and cursor(store) == 20, outcome


def test_answers_of_five_megabytes_and_bytes_that_are_not_text_are_kept_bounded_and_readable():
    with Store() as store:
        fill(store, "a", "b")
        code = ("import sys\nfor line in sys.stdin.buffer:\n"
                " sys.stderr.buffer.write(b'E' * 5000000 + b'\\xff\\x00\\x1b[31m end\\n'); sys.stderr.flush()\n"
                " s = line.split(b'\"')[3]\n"
                " sys.stdout.buffer.write(b'error ' + s + b' bad \\xff\\x00 bytes\\n'); sys.stdout.flush()\n")
        store.write("loud.py", code)
        outcome = store.run(*CONSUME, "--from", "start", "--once", "--exec", PYTHON, "loud.py")
        assert outcome.status == 0
        for row in letters(store):
            assert row["mensagem_erro"] == "bad �� bytes", row["mensagem_erro"]
            assert len(row["pilha_erro"].encode()) <= 65536 and row["pilha_erro"].endswith("��[31m end")
        shown = store.run_in_terminal("dlq", "show", "1").out
        assert "\x1b[31m end" not in shown


# --- a process for each event ------------------------------------------------------------------------------------


def test_each_gives_every_event_a_process_whose_exit_status_and_standard_error_decide():
    for store in stores():
        fill(store, "one", "two", "three", "four")
        line = ("read -r e; case $e in *two*) echo first >&2; echo 'cannot do two' >&2; exit 1;; "
                "*three*) exit 9;; *four*) kill -KILL $$;; esac; echo $$ >> pids")
        outcome = store.run(*CONSUME, "--from", "start", "--once", "--each", "--name", "cozinha", "--shell", line)
        assert outcome.status == 0 and "cannot do two" in outcome.err, outcome
        rows = letters(store)
        assert [row["mensagem_erro"] for row in rows] == [
            "first\ncannot do two", "the command ended with status 9", "the command was ended by signal 9"]
        assert rows[0]["handler_nome"] == "cozinha" and cursor(store) == 1


def test_each_passes_the_standard_output_on():
    with Store() as store:
        fill(store, "P-1", "P-2")
        outcome = store.run(*CONSUME, "--from", "start", "--once", "--each", "--shell", "cat >/dev/null; echo done")
        assert outcome.out == "done\ndone\n"


# --- where it begins, and options -----------------------------------------------------------------------------------


def test_from_says_where_a_type_without_a_cursor_begins_and_never_moves_one():
    for store in stores():
        fill(store, *[f"P-{n}" for n in range(10)])
        assert consume(store).status == 0 and seen(store) == [] and cursor(store) == 10
        assert consume(store, "--from", "start").status == 0 and seen(store) == []
        outcome = store.run("consume", "--colony", "D-5", "--type", TYPE, "--from", "7", "--once", "--exec", PYTHON,
                            "handler.py")
        assert outcome.status == 0 and sequences(store) == [7, 8, 9, 10]


def test_batch_moves_the_cursor_for_all_of_its_successes():
    for store in stores():
        fill(store, *[f"P-{n}" for n in range(25)])
        assert consume(store, "--from", "start", "--batch", "10").status == 0
        assert sequences(store) == list(range(1, 26)) and cursor(store) == 25


def test_command_is_a_vector_up_to_two_dashes_and_is_never_read_by_a_shell():
    with Store() as store:
        store.write("handler.py", HANDLER)
        fill(store, "P-1")
        outcome = store.run(*CONSUME, "--exec", PYTHON, "handler.py", "--type", "$(touch evil)", "a b", "--", "--once",
                            "--from", "start")
        assert outcome.status == 0 and sequences(store) == [1] and not (store.path / "evil").exists()


def test_wrong_command_lines_are_refused_before_the_store_is_touched():
    cases = {("consume", "--type", "x", "--exec", "cat"): "option --colony is needed",
             ("consume", "--colony", "D-4", "--exec", "cat"): "option --type is needed",
             CONSUME: "--exec PROGRAM",
             (*CONSUME, "--exec"): "option --exec needs a value",
             (*CONSUME, "--exec="): "as words of their own",
             (*CONSUME, "--shell", "x", "--exec", "cat"): "cannot be given together",
             (*CONSUME, "--from", "0", "--exec", "cat"): "--from wants start, end or a sequence number",
             (*CONSUME, "--from", "yesterday", "--exec", "cat"): "--from wants start, end",
             (*CONSUME, "--timeout", "0", "--exec", "cat"): "--timeout wants at least 1",
             (*CONSUME, "--batch", "1001", "--exec", "cat"): "--batch wants at most 1000",
             ("dlq", "reprocess"): "option --colony is needed",
             ("dlq", "reprocess", "--colony", "D-4", "--id", "1"): "option --id needs --exec",
             ("dlq", "reprocess", "--colony", "D-4", "--wait", "1", "--exec", "cat"): "cannot be given together",
             ("dlq", "retry", "1"): "option --reason is needed",
             ("dlq", "show"): "something is missing: ID"}
    for words, reason in cases.items():
        outcome = run(*words)
        assert outcome.status == 2 and reason in outcome.err and outcome.out == "", (words, outcome)


def test_program_that_cannot_be_run_fails_no_event():
    with Store() as store:
        fill(store, "P-1")
        store.write("no-program", "text")
        for words in (("nosuchprogram",), ("./no-program",), ("/",)):
            for each in ((), ("--each",)):
                outcome = store.run(*CONSUME, "--from", "start", "--once", *each, "--exec", *words)
                assert outcome.status == 1 and "cannot run" in outcome.err, outcome
        assert letters(store) == [] and cursor(store) is None


def test_program_that_vanishes_ends_the_consumer_instead_of_failing_the_whole_log():
    with Store() as store:
        fill(store, *["P"] * 10)
        path = store.write("once", "#!/bin/sh\nrm once\n")
        os.chmod(path, 0o755)
        outcome = store.run(*CONSUME, "--from", "start", "--once", "--each", "--exec", "./once")
        assert outcome.status == 1 and "cannot run ./once" in outcome.err and len(letters(store)) == 1


def test_type_that_is_not_registered_is_told_and_waited_for():
    with Store() as store:
        outcome = store.run("consume", "--colony", "D-4", "--type", "pedido.criad", "--type", TYPE, "--once", "--exec", "true")
        assert outcome.status == 0 and "pedido.criad is not registered (yet)" in outcome.err, outcome
        assert f"{TYPE} is not" not in outcome.err, outcome


def test_names_of_colonies_that_cannot_be_schemas_are_refused():
    with Store() as store:
        for colony in ("core", "public", "pg_x", "-"):
            outcome = store.run("consume", "--colony", colony, "--type", TYPE, "--once", "--exec", "cat")
            assert outcome.status != 0 and outcome.err.startswith("trilha: "), (colony, outcome)


# --- stopping, dying, taking over ---------------------------------------------------------------------------------------


def test_sigterm_finishes_the_running_event_and_loses_and_repeats_nothing():
    for store in stores():
        for last, number in ((2, signal.SIGTERM), (5, signal.SIGINT)):
            fill(store, "good", "slow", "good")
            process = store.start(*CONSUME, "--from", "start", "--exec", PYTHON, "handler.py")
            wait_until(lambda wanted=last: wanted in sequences(store), "the slow event began")
            process.send_signal(number)
            wait_until(lambda running=process, sent=number: has_taken(running, sent), "the signal was taken")
            time.sleep(0.2)  # from the thread that took it to the one that stops
            store.write(f"go-{last}", "")
            outcome = finish(process)
            assert outcome.status == 0 and outcome.err == "", outcome
            assert sequences(store)[-1] == cursor(store) == last and letters(store) == []
        assert consume(store).status == 0
        assert sequences(store) == [1, 2, 3, 4, 5, 6]
        row, = parsed(store.run("consumers", "list", "--json").out)
        assert row["holder"] is None and row["state"] == "stopped"


def test_sigterm_closes_the_childs_input_and_waits_for_it():
    with Store() as store:
        fill(store, "P-1")
        store.write("tidy.py", HANDLER + "\nopen('left', 'w').close()\n")
        process = store.start(*CONSUME, "--from", "start", "--exec", PYTHON, "tidy.py")
        wait_until(lambda: cursor(store) == 1, "the event passed")
        process.terminate()
        assert finish(process).status == 0 and (store.path / "left").exists()


def test_killed_consumer_resumes_without_a_gap_and_repeats_at_most_the_one_in_flight():
    for store in stores():
        count = 300
        fill(store, *[f"P-{n}" for n in range(count)])
        kills = 0
        for pause in (40, 90, 150, 220):
            process = store.start(*CONSUME, "--from", "start", "--lease", "1", "--exec", PYTHON, "handler.py")
            wait_until(lambda wanted=pause: len(set(sequences(store))) >= wanted, "some events passed")
            process.kill()
            finish(process)
            kills += 1
        assert consume(store, "--lease", "1").status == 0
        everything = sequences(store)
        assert sorted(set(everything)) == list(range(1, count + 1)), "a gap"
        assert len(everything) <= count + kills, f"{len(everything) - count} repeats after {kills} kills"
        assert letters(store) == [] and cursor(store) == count


def test_second_consumer_of_a_colony_stands_by_and_takes_over_when_the_holder_is_killed():
    for store in stores():
        words = (*CONSUME, "--from", "start", "--exec", PYTHON, "handler.py")
        fill(store, "P-1")
        first = store.start("consume", "--lease", "60", *words[1:])
        wait_until(lambda: sequences(store) == [1], "the first consumes")
        second = store.start("consume", "--lease", "1", *words[1:])  # looks often
        fill(store, *["P"] * 5)
        wait_until(lambda: len(seen(store)) == 6, "the first goes on")
        assert len({pid for _, pid in seen(store)}) == 1, "both consumed"
        row, = parsed(store.run("consumers", "list", "--json").out)
        assert f":{first.pid}:" in row["holder"] and row["state"] == "live"
        first.kill()
        finish(first)
        end_leases(store)
        fill(store, *["P"] * 5)
        wait_until(lambda: len(set(sequences(store))) == 11, "the second took over")
        row, = parsed(store.run("consumers", "list", "--json").out)
        assert f":{second.pid}:" in row["holder"]
        second.terminate()
        assert finish(second).status == 0
        assert sequences(store) == list(range(1, 12))


def test_groups_of_one_colony_consume_side_by_side():
    with Store() as store:
        store.write("handler.py", HANDLER)
        processes = [store.start("consume", "--colony", "D-4", "--type", "tipo." + name, "--group", name, "--exec", "cat")
                     for name in ("a", "b")]
        wait_until(lambda: {(row["grupo"], row["tipo"]) for row in parsed(store.run("consumers", "list", "--json").out)
                            if row["holder"]} == {("a", "tipo.a"), ("b", "tipo.b")}, "both hold their group")
        for process in processes:
            process.terminate()
            assert finish(process).status == 0


# --- dead letters -----------------------------------------------------------------------------------------------------------


def test_dead_letter_is_seen_repaired_reprocessed_and_resolved_without_moving_the_cursor():
    for store in stores():
        fill(store, "good", "refuse-1", "good", "refuse-2")
        assert consume(store, "--from", "start").status == 0
        stats = json.loads(store.run("dlq", "stats", "--json").out)
        assert stats == {"pendentes_por_colonia": {"D-4": 2}, "total_pendentes": 2}
        before = cursor(store)
        dry = json.loads(store.run("dlq", "reprocess", "--colony", "D-4", "--dry-run", "--json").out)
        ids = [row["id"] for row in letters(store)]
        assert dry == {"reprocessados": 0, "failed": 0, "reason": "dry run", "would_try": ids}
        outcome = store.run("dlq", "reprocess", "--colony", "D-4", "--json", "--exec", PYTHON, "handler.py",
                            REPAIRED="refuse-1")
        assert outcome.status == 1 and json.loads(outcome.out) == {"reprocessados": 1, "failed": 1, "reason": None}
        first, second = letters(store)
        assert first["status"] == "resolved" and first["resolvido_em"] and first["tentativas"] == 2
        assert second["status"] == "pendente" and second["resolvido_em"] is None and second["tentativas"] == 2
        outcome = store.run("dlq", "reprocess", "--colony", "D-4", "--id", second["id"], "--exec", PYTHON, "handler.py",
                            REPAIRED="refuse-2")
        assert outcome.status == 0 and outcome.out == "1 reprocessed, 0 failed again\n", outcome
        assert cursor(store) == before
        assert json.loads(store.run("dlq", "stats", "--json").out) == {"pendentes_por_colonia": {}, "total_pendentes": 0}
        again = store.run("dlq", "reprocess", "--colony", "D-4", "--json", "--exec", PYTHON, "handler.py")
        assert again.status == 0 and json.loads(again.out)["reason"] == "nothing pending"


def test_running_consumer_reprocesses_on_request_and_without_one_the_reason_is_named():
    for store in stores():
        fill(store, "refuse-1")
        assert consume(store, "--from", "start").status == 0
        outcome = store.run("dlq", "reprocess", "--colony", "D-4", "--json")
        assert outcome.status == 1
        assert json.loads(outcome.out) == {"reprocessados": 0, "failed": 0, "reason": "no live listener"}
        assert letters(store)[0]["status"] == "pendente"
        process = store.start(*CONSUME, "--exec", PYTHON, "handler.py", REPAIRED="refuse-1")
        wait_until(lambda: parsed(store.run("consumers", "list", "--json").out)[0]["holder"], "it holds the colony")
        outcome = store.run("dlq", "reprocess", "--colony", "D-4", "--json")
        process.terminate()
        assert finish(process).status == 0
        assert outcome.status in (0, 1), outcome  # boot replay may have been faster
        assert letters(store)[0]["status"] == "resolved"


def test_given_up_dead_letter_gets_another_chance_with_a_reason():
    for store in stores():
        fill(store, "refuse")
        assert consume(store, "--from", "start").status == 0
        for _ in range(4):
            assert store.run("dlq", "reprocess", "--colony", "D-4", "--exec", PYTHON, "handler.py").status == 1
        row, = letters(store, "--status", "failed_permanent")
        assert row["tentativas"] == 5 and row["resolvido_em"]
        assert json.loads(store.run("dlq", "stats", "--json").out)["total_pendentes"] == 0
        dry = store.run("dlq", "retry", row["id"], "--reason", "mended", "--dry-run")
        assert dry.status == 0 and letters(store)[0]["status"] == "failed_permanent"
        assert store.run("dlq", "retry", row["id"], "--reason", "mended").status == 0
        assert letters(store)[0]["status"] == "pendente" and letters(store)[0]["resolvido_em"] is None
        refused = store.run("dlq", "retry", row["id"], "--reason", "mended")
        assert refused.status == 1 and "only a failed_permanent one" in refused.err
        outcome = store.run("dlq", "reprocess", "--colony", "D-4", "--exec", PYTHON, "handler.py", REPAIRED="refuse")
        assert outcome.status == 0 and letters(store)[0]["status"] == "resolved"


def test_two_reprocesses_at_once_never_try_one_twice():
    for store in stores():
        fill(store, *["refuse"] * 20)
        assert consume(store, "--from", "start").status == 0
        (store.path / "seen.txt").unlink()
        both = [store.start("dlq", "reprocess", "--colony", "D-4", "--json", "--exec", PYTHON, "handler.py",
                            REPAIRED="refuse") for _ in range(2)]
        done = [json.loads(finish(process).out)["reprocessados"] for process in both]
        assert sum(done) == 20 and sorted(sequences(store)) == list(range(1, 21)), done


def test_list_filters_pages_and_shows_the_columns_of_the_table():
    for store in stores():
        fill(store, "refuse", "refuse", "die")
        assert consume(store, "--from", "start").status == 0
        rows = letters(store)
        assert list(rows[0]) == ["id", "event_id", "sequence_number", "tipo", "colonia", "handler_nome", "mensagem_erro",
                                 "pilha_erro", "tentativas", "ultima_tentativa", "status", "criado_em", "resolvido_em"]
        assert letters(store, "--event-id", rows[1]["event_id"]) == [rows[1]]
        assert letters(store, "--colony", "D-9") == letters(store, "--type", "x") == letters(store, "--status", "resolved") == []
        page = store.run("dlq", "list", "--json", "--limit", "2")
        assert parsed(page.out) == rows[:2] and f"--after {rows[1]['id']}" in page.err
        assert letters(store, "--after", rows[1]["id"]) == rows[2:]
        assert json.loads(store.run("dlq", "show", rows[0]["id"], "--json").out) == rows[0]
        shown = store.run("dlq", "show", rows[2]["id"]).out
        assert "pilha_erro        last words" in shown
        assert store.run("dlq", "show", "999").status == 1 and store.run("dlq", "show", "x").status == 2
        assert "--status" in store.run("dlq", "list", "--help").out
        assert store.run("dlq", "list", "--status", "open").status == 2


def test_consumers_list_has_the_names_that_programs_read():
    for store in stores():
        assert store.run("consumers", "list", "--json").out == ""
        assert "no consumer has a cursor yet" in store.run("consumers", "list").out
        assert consume(store).status == 0
        fill(store, "P-1", "P-2")
        row, = parsed(store.run("consumers", "list", "--json").out)
        assert list(row) == ["colonia", "grupo", "tipo", "last_sequence", "lag_events", "lag_seconds", "state", "holder",
                             "updated_at"]
        assert (row["colonia"], row["grupo"], row["tipo"], row["last_sequence"], row["lag_events"], row["state"]) == (
            "D-4", "", TYPE, "0", 2, "stopped")
        assert store.run("consumers", "list").out.splitlines()[0].split()[:4] == ["COLONIA", "GRUPO", "TIPO", "CURSOR"]


def guarantees(store, *words):
    outcome = store.run("guarantees", *words, "--json")
    assert outcome.status == 0, outcome
    return parsed(outcome.out)


def test_one_verb_lists_what_every_handler_guarantees():
    for store in stores():
        assert guarantees(store) == [] and "no handlers" in store.run("guarantees").out
        assert consume(store).status == 0
        row, = guarantees(store)
        assert list(row) == ["handler", "colonia", "grupo", "tipo", "running", "guarantee", "because", "declared_by", "declared_at"]
        assert (row["handler"], row["colonia"], row["tipo"], row["running"], row["guarantee"], row["because"]) == (
            "consumer", "D-4", TYPE, False, "durable", None)
        url = store.url if hasattr(store, "url") else f"sqlite:{store.path}/trilha.db"
        for words in (("install",), ("route", "*", "erp"), ("route", "*", "log")):
            assert store.run("outbox", *words, "--store", url, "--schema", "billing").status == 0
        assert store.run("worker", "run", "--store", url, "--schema", "billing", "--destination", "erp", "--once", "--exec", "true").status == 0
        for words in (("--schema", "billing"), ("--all-sources", "--config", "sources.yaml")):
            store.write("sources.yaml", f"store: '{url}'\nsources: [{{name: billing, store: '{url}', schema: billing}}]\n")
            consumer, erp, log = guarantees(store, "--store", url, *words)
            assert consumer == row
            assert list(erp) == ["handler", "source", "destination", "guarantee", "because", "declared_by", "declared_at"]
            assert [(h["handler"], h["source"], h["destination"], h["guarantee"]) for h in (erp, log)] == [
                ("relay", "billing", "erp", "durable"), ("relay", "billing", "log", None)], (erp, log)
            table = store.run("guarantees", "--store", url, *words).out.splitlines()
            assert table[0].split() == ["HANDLER", "OF", "TIPO", "GUARANTEE", "BECAUSE", "DECLARED_BY", "SINCE"] and "billing/erp" in table[2], table
        assert store.run("guarantees", "--config", "sources.yaml").status == 2
        # What cannot be asked is told, and the list is not taken for whole.
        store.write("sources.yaml", f"store: '{url}'\nsources: [{{name: away, store: 'sqlite:{store.path}/nowhere/x.db'}}]\n")
        partly = store.run("guarantees", "--store", url, "--all-sources", "--config", "sources.yaml", "--json")
        assert partly.status != 0 and parsed(partly.out) == [row] and partly.err, partly


def test_messages_are_portuguese_under_a_portuguese_locale():
    with Store() as store:
        outcome = store.run("dlq", "reprocess", "--colony", "D-4", LC_ALL="pt_BR.UTF-8")
        assert "nenhum consumidor vivo" in outcome.out
        assert "diga o que trata os eventos" in store.run(*CONSUME, LC_ALL="pt_BR.UTF-8").err
        assert "redigido" in store.run("consume", "--help", LC_ALL="pt_BR.UTF-8").out
        assert "redigido" in store.run("consume", "--help").out


if __name__ == "__main__":
    tap.run(globals())
