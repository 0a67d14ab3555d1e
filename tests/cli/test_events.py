# cli: reading the log: list, show, trace, replay, tail.
import json
import signal

import program
from program import run, tap
from stores import CORRELATION, Store, order, parsed

ID = "0d5e8f0a-1c2b-4d3e-8f4a-5b6c7d8e9f01"


def filled(store, count, **more):
    outcome = store.ndjson([order(n, timestamp=f"2026-06-15T10:{n // 60:02}:{n % 60:02}Z", **more) for n in range(count)])
    assert outcome.status == 0, outcome


def test_list_is_the_page_object_of_the_contract():
    with Store() as store:
        filled(store, 3)
        page = store.events()
        assert list(page) == ["linhas", "total", "limite", "deslocamento"]
        assert (page["total"], page["limite"], page["deslocamento"]) == (3, 100, 0)
        row = page["linhas"][0]
        assert {"sequence_number", "event_id", "tipo", "versao_schema", "timestamp", "origem", "correlacao_id", "payload",
                "criado_em"} <= set(row)
        assert row["sequence_number"] == "1" and row["payload"] == {"pedido": "P-0"}


def test_list_filters_combine_and_include_both_ends():
    with Store() as store:
        filled(store, 10)
        filled(store, 2, origem="app", correlacao_id=CORRELATION)
        def total(*words):
            return store.events(*words)["total"]
        assert total("--from", "2026-06-15T10:00:02Z", "--to", "2026-06-15T07:00:05-03:00") == 4
        assert total("--from-sequence", "3", "--to-sequence", "5") == 3
        assert total("--origin", "app") == 2 and total("--correlation-id", CORRELATION.upper()) == 2
        assert total("--type", "pedido.criado", "--origin", "app", "--to-sequence", "11") == 1
        assert total("--type", "nothing.here") == 0


def test_list_pages_and_lowers_a_limit_above_500():
    with Store() as store:
        filled(store, 5)
        page = store.events("--limit", "2", "--offset", "3")
        assert [row["sequence_number"] for row in page["linhas"]] == ["4", "5"] and page["deslocamento"] == 3
        assert store.events("--limit", "501")["limite"] == 500


def test_wrong_numbers_are_usage_errors():
    for value, reason in (("0", "wants at least 1"), ("-1", "whole number"), ("x", "whole number"), ("1.5", "whole number"),
                          ("99999999999999999999", "whole number"), ("", "whole number")):
        outcome = run("events", "list", f"--limit={value}")
        assert outcome.status == 2 and reason in outcome.err, (value, outcome)


def test_wrong_times_and_ids_are_refused():
    with Store() as store:
        for words in (("events", "list", "--from", "2026-06-15"), ("events", "list", "--to", "2026-06-15T10:00:00"),
                      ("events", "show", "x"), ("events", "trace", "x"), ("events", "list", "--correlation-id", "x")):
            outcome = store.run(*words)
            assert outcome.status in (1, 2, 3) and outcome.out == "" and outcome.err.startswith("trilha: "), (words, outcome)


def test_table_for_people_has_a_foot_and_empty_results_say_so():
    with Store() as store:
        filled(store, 3)
        table = store.run("events", "list").out.splitlines()
        assert table[0].split() == ["SEQ", "TIMESTAMP", "TIPO", "ORIGEM", "EVENT_ID", "PAYLOAD"]
        assert table[1].split()[:4] == ["1", "2026-06-15T10:00:00Z", "pedido.criado", "loja"]
        assert table[-1] == "1–3 of 3"
        assert store.run("events", "list", "--type", "x").out == "no event matches\n"


def test_table_fits_the_terminal():
    with Store() as store:
        # The time of its own would be shorter, and every cell whole, whenever it fell on a whole second.
        assert store.publish({"pedido": "água e esgoto " * 20}, "--timestamp", "2026-06-15T10:00:00.125Z").status == 0
        for columns in (80, 120, 140):
            shown = store.run_in_terminal("events", "list", columns=columns, NO_COLOR="1").out
            assert max(len(line) for line in shown.splitlines()) <= columns, shown
            assert "…" in shown and "2026-06-15" in shown and ("PAYLOAD" in shown) == (columns > 100), shown


def test_show_gives_every_field_and_a_missing_event_the_contract_words():
    with Store() as store:
        assert store.publish({"pedido": "P-1"}, "--event-id", ID, "--causation-id", CORRELATION).status == 0
        shown = store.run("events", "show", ID)
        assert shown.status == 0
        for part in ("sequence_number     1", f"causation_id        {CORRELATION}", "payload_estado      redigido",
                     '  {\n    "pedido": "P-1"\n  }'):
            assert part in shown.out, part
        assert json.loads(store.run("events", "show", ID.upper(), "--json").out)["event_id"] == ID
        missing = store.run("events", "show", CORRELATION)
        assert missing.status == 1 and "Evento não encontrado" in missing.err


def test_trace_is_the_page_object_in_order():
    with Store() as store:
        filled(store, 2, correlacao_id=CORRELATION)
        filled(store, 1)
        page = json.loads(store.run("events", "trace", CORRELATION, "--json").out)
        assert [row["sequence_number"] for row in page["linhas"]] == ["1", "2"] and page["total"] == 2


def test_replay_streams_one_event_a_line_in_order():
    with Store() as store:
        filled(store, 2500)
        everything = parsed(store.run("events", "replay").out)
        assert [row["sequence_number"] for row in everything] == [str(n) for n in range(1, 2501)]
        some = parsed(store.run("events", "replay", "--after", "10", "--until", "12", "--json").out)
        assert [row["sequence_number"] for row in some] == ["11", "12"]
        assert store.run("events", "replay", "--type", "x", "--type", "y").out == ""
        both = parsed(store.run("events", "replay", "--type", "x", "--type", "pedido.criado", "--after", "2499").out)
        assert len(both) == 1
        bounded = parsed(store.run("events", "replay", "--specified", "--after", "2000").out)
        assert [row["sequence_number"] for row in bounded] == [str(n) for n in range(2001, 2501)]


def test_replay_options_that_exclude_each_other_are_refused():
    outcome = run("events", "replay", "--specified", "--until", "3")
    assert outcome.status == 2 and "--specified and --until cannot be given together" in outcome.err


def test_tail_sees_what_another_process_publishes():
    with Store() as store:
        filled(store, 3)
        process = store.start("events", "tail", "--json")
        for attempt in range(200):  # the first ones may come before it looks
            assert store.publish({"pedido": f"T-{attempt}"}).status == 0
            if program.select.select([process.stdout], [], [], 0.2)[0]:
                break
        line, = program.read_lines(process, 1)
        row = json.loads(line)
        assert row["payload"]["pedido"].startswith("T-") and int(row["sequence_number"]) > 3
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=program.TIMEOUT_S)
        assert process.returncode == 0 and err == b"", err


def test_tail_from_the_start_gives_everything_and_goes_on():
    with Store() as store:
        filled(store, 3)
        process = store.start("events", "tail", "--from-start")
        assert [json.loads(line)["sequence_number"] for line in program.read_lines(process, 3)] == ["1", "2", "3"]
        assert store.publish({"pedido": "P-9"}).status == 0
        line, = program.read_lines(process, 1)
        assert json.loads(line)["sequence_number"] == "4"
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=program.TIMEOUT_S)
        assert process.returncode == 0


def test_tail_after_a_number_starts_there():
    with Store() as store:
        filled(store, 5)
        process = store.start("events", "tail", "--after", "3")
        assert [json.loads(line)["sequence_number"] for line in program.read_lines(process, 2)] == ["4", "5"]
        process.terminate()
        process.communicate(timeout=program.TIMEOUT_S)
    outcome = run("events", "tail", "--after", "3", "--from-start")
    assert outcome.status == 2 and "cannot be given together" in outcome.err


def test_tail_whose_reader_went_away_ends_quietly_at_the_next_event():
    with Store() as store:
        process = store.start("events", "tail", "--from-start")
        process.stdout.close()
        assert store.publish({"pedido": "P-1"}).status == 0
        assert process.wait(program.TIMEOUT_S) == 0
        assert process.stderr.read() == b""
        process.stderr.close()
        process.stdin.close()


def test_replay_into_a_reader_that_has_enough_ends_quietly():
    with Store() as store:
        filled(store, 3000)
        process = store.start("events", "replay")
        assert program.read_lines(process, 1)
        process.stdout.close()
        err = process.stderr.read()
        assert process.wait(program.TIMEOUT_S) == 0 and err == b"", err
        process.stderr.close()
        process.stdin.close()


def test_full_disk_is_never_reported_as_success():
    with Store() as store:
        filled(store, 300)
        for words in (("events", "list", "--json"), ("events", "replay"), ("events", "show", store.events()["linhas"][0]["event_id"]),
                      ("registry", "list"), ("registry", "show", "pedido.criado"), ("init",), ("version",)):
            with open("/dev/full", "wb") as full:
                outcome = store.run(*words, stdout=full)
            assert outcome.status == 1 and "No space left on device" in outcome.err, (words, outcome)


def test_closed_streams_are_errors_and_never_become_files_of_the_store():
    with Store() as store:
        filled(store, 3)
        for closing in (">&-", "<&- >&- 2>&-"):
            done = program.subprocess.run(["bash", "-c", f'"$0" events list {closing}', program.PROGRAM], cwd=store.path,
                                          env=program.environment(), timeout=program.TIMEOUT_S, check=False,
                                          stdout=program.subprocess.PIPE, stderr=program.subprocess.PIPE)
            assert done.returncode == 1, (closing, done)
        assert store.events()["total"] == 3


HOSTILE = "\x1b]0;owned\x07\x1b[2J\u009b31m\u202egnp.exe\u2066\u200f\u2028\u061c"


def test_terminal_never_receives_control_or_direction_characters_from_data():
    with Store() as store:
        assert store.publish({"pedido": HOSTILE}, "--event-id", ID).status == 0
        shows = [("events", "list"), ("events", "list", "--json"), ("events", "show", ID), ("events", "show", ID, "--json"),
                 ("events", "trace", ID), ("events", "replay"), ("events", "replay", "--json")]
        for words in shows:
            shown = store.run_in_terminal(*words, columns=400, NO_COLOR="1").out
            for bad in "\x1b\x07\u009b\u202e\u2066\u200f\u2028\u061c":
                assert bad not in shown, (words, hex(ord(bad)))
            assert "\\u202E" in shown, words
        # In a pipe JSON keeps its bytes, and both spell the same value.
        piped = json.loads(store.run("events", "show", ID, "--json").out)
        on_terminal = json.loads(store.run_in_terminal("events", "show", ID, "--json", columns=400).out)
        assert piped["payload"] == on_terminal["payload"] == {"pedido": HOSTILE}


def test_tables_in_a_pipe_are_escaped_too_so_that_a_row_stays_a_row():
    with Store() as store:
        assert store.publish({"pedido": "a"}, "--origin", "evil\norigin").status in (0, 2, 3)
        outcome = store.run("publish", "--type", "pedido.criado", "--origin", "evil\norigin", stdin='{"pedido":"a"}')
        if outcome.status == 0:
            assert "evil\\u000Aorigin" in store.run("events", "list").out


def test_numbers_keep_their_spelling_whatever_the_locale():
    with Store() as store:
        assert store.publish('{"pedido":"P-1","total":23.55}').status == 0
        for locale in ("pt_BR.UTF-8", "de_DE.UTF-8", "C"):
            shown = store.run("events", "list", "--json", LC_ALL=locale, LC_NUMERIC=locale).out
            assert '"total":23.55' in shown


def test_store_can_come_from_the_environment_or_the_option_and_the_option_wins():
    with Store() as store:
        filled(store, 1)
        assert store.run("init", "--store", "sqlite:other.db").status == 0
        count = lambda *words, **env: json.loads(store.run("events", "list", "--json", *words, **env).out)["total"]
        assert count(TRILHA_STORE="sqlite:other.db") == 0 and count(TRILHA_STORE="") == 1
        assert count("--store", "sqlite:trilha.db", TRILHA_STORE="sqlite:other.db") == 1


if __name__ == "__main__":
    tap.run(globals())
