# cli: publishing, one event and a stream of them, and every way in which that goes wrong.
import json
import os
import pty
import select
import signal
import subprocess
import time

import program
from program import Folder, run, tap
from stores import TYPES, Store, order, parsed

ID = "0d5e8f0a-1c2b-4d3e-8f4a-5b6c7d8e9f01"


def test_event_is_published_and_its_place_is_said():
    with Store() as store:
        outcome = store.publish({"pedido": "P-1"}, "--event-id", ID)
        assert outcome.status == 0 and outcome.err == "", outcome
        assert outcome.out == f"pedido.criado is on disk as sequence 1, event {ID}\n"


def test_json_result_has_the_stored_event_with_its_sequence_number_as_a_string():
    with Store() as store:
        outcome = store.publish({"pedido": "P-1", "cliente": "Maria"}, "--json", "--event-id", ID, "--timestamp",
                                "2026-06-15T10:30:00.256-03:00", "--tenant", "t1", "--aggregate-type", "pedido",
                                "--aggregate-key", "P-1", "--aggregate-sequence", "3")
        result = json.loads(outcome.out)
        assert result["status"] == "ok" and result["sequence_number"] == "1" and result["duplicate"] is False
        assert result["content"] == "new" and result["event_id"] == ID
        event = result["event"]
        assert event["payload"] == {"pedido": "P-1", "cliente": "Maria"} and event["payload_estado"] == "completo"
        assert event["timestamp"] == "2026-06-15T13:30:00.26Z" and event["correlacao_id"] == ID
        stored = store.events()["linhas"][0]
        assert stored["payload"] == {"pedido": "P-1"} and stored["payload_estado"] == "redigido"
        assert (stored["tenant_id"], stored["aggregate_key"]) == ("t1", "P-1")


def test_payload_may_come_from_a_file_given_either_way_but_not_both():
    with Store() as store:
        path = store.write("payload.json", '{"pedido":"P-1"}')
        assert store.publish("", "--file", path).status == 0
        assert store.publish("", path).status == 0
        outcome = store.publish("", "--file", path, path)
        assert outcome.status == 2 and "the file was given twice" in outcome.err


def test_repeated_id_is_told_apart_by_content_and_warned_of_in_the_contract_words():
    with Store() as store:
        store.run("keyring", "add", "keys")
        keyed = {"TRILHA_KEYRING": "file:keys"}
        assert store.publish({"pedido": "P-1"}, "--event-id", ID, **keyed).status == 0
        same = store.publish('{ "pedido" : "P-1" }', "--event-id", ID.upper(), **keyed)
        assert same.status == 0 and "with the same content" in same.out, same
        assert "Evento duplicado detectado, idempotência aplicada" in same.err
        other = store.publish({"pedido": "P-2"}, "--event-id", ID, "--json", **keyed)
        assert other.status == 0 and json.loads(other.out)["content"] == "different", other
        assert json.loads(other.out)["event"]["payload"] == {"pedido": "P-1"}
        assert store.events()["total"] == 1


def test_refused_payload_lists_every_error_with_its_place_and_ends_with_3():
    with Store() as store:
        outcome = store.publish({"total": -1, "cpf": "000.000.001-91"})
        assert outcome.status == 3 and outcome.out == "", outcome
        assert "Payload inválido para pedido.criado@1.0.0 [PAYLOAD_INVALID]" in outcome.err
        assert "/total  must be at least 0" in outcome.err and 'must have the member "pedido"' in outcome.err
        assert "000.000.001-91" not in outcome.err and "cpf" not in outcome.err
        assert store.events()["total"] == 0


def test_refused_payload_is_json_too():
    with Store() as store:
        result = json.loads(store.publish({"total": -1}, "--json").out)
        assert result["status"] == "invalid" and result["code"] == "PAYLOAD_INVALID"
        assert result["text"] == "Payload inválido para pedido.criado@1.0.0"
        places = {(e["instance_pointer"], e["keyword"]) for e in result["errors"]}
        assert places == {("", "required"), ("/total", "minimum")}


def test_unknown_type_says_how_types_are_registered():
    with Store() as store:
        outcome = store.run("publish", "--type", "pedido.pago", "--origin", "loja", stdin="{}")
        assert outcome.status == 3
        assert "Tipo de evento não registrado no Registry [EVENT_TYPE_NOT_FOUND]" in outcome.err
        assert "trilha registry apply" in outcome.err


def test_bad_json_is_located_by_line_and_column():
    with Store() as store:
        outcome = store.publish('{"pedido": "P-1",\n  "total": 01}')
        assert outcome.status == 3 and "line 2, column 13" in outcome.err, outcome
        outcome = store.publish("")
        assert outcome.status == 3 and "[JSON_SYNTAX]" in outcome.err, outcome


def test_payload_that_is_no_object_is_refused_in_the_contract_words():
    with Store() as store:
        for payload in ("null", "[]", "1"):
            outcome = store.publish(payload)
            assert outcome.status == 3 and "Payload deve ser um objeto não nulo [PAYLOAD_NOT_OBJECT]" in outcome.err


def test_payload_beyond_the_limit_is_refused_and_one_within_it_is_not():
    with Store() as store:
        def of_size(size):
            frame = len('{"pedido":""}')
            return '{"pedido":"' + "x" * (size - frame) + '"}'
        assert store.publish(of_size(1 << 20)).status == 0
        over = store.publish(of_size((1 << 20) + 1))
        assert over.status == 3 and "[PAYLOAD_TOO_LARGE]" in over.err, over
        far_over = store.publish(b"[" * (9 << 20))
        assert far_over.status == 3 and "[FILE_TOO_LARGE]" in far_over.err, far_over


def test_binary_garbage_and_huge_numbers_are_refused_with_their_own_codes():
    with Store() as store:
        cases = {b"\x00\xff\xfe{}": "JSON_", b'{"pedido":"\xff"}': "JSON_UTF8", b'{"pedido":"\\u0000"}': "JSON_NUL",
                 b'{"pedido":"a","total":1e400}': "JSON_NUMBER_RANGE", b'{"pedido":"a","pedido":"b"}': "JSON_DUPLICATE_KEY",
                 b'{"pedido":"\\ud800"}': "JSON_SURROGATE"}
        for payload, code in cases.items():
            outcome = store.publish(payload)
            assert outcome.status == 3 and f"[{code}" in outcome.err, (payload, outcome)
        assert store.events()["total"] == 0


def test_missing_type_and_origin_are_usage_errors():
    with Store() as store:
        assert "option --type is needed" in store.run("publish", "--origin", "x", stdin="{}").err
        outcome = store.run("publish", "--type", "x.y", stdin="{}")
        assert outcome.status == 2 and "option --origin is needed" in outcome.err


def test_no_store_yet_says_trilha_init_and_ends_with_4():
    outcome = run("publish", "--type", "a.b", "--origin", "x", stdin="{}")
    assert outcome.status == 4 and "trilha init" in outcome.err, outcome
    spoken = run("events", "list", LC_ALL="pt_BR.UTF-8")
    assert spoken.status == 4 and "rode antes 'trilha init'" in spoken.err, spoken


def test_bad_store_address_is_a_usage_error_that_never_repeats_a_password():
    for url in ("oracle://u:hunter2@h/d", "trilha.db", "postgresql://u:hunter2@127.0.0.1:notaport/d",
                "postgresql://u:hunter2%zz@127.0.0.1:1/d", "postgresql://u:hunter2@127.0.0.1:1/d"):
        outcome = run("events", "list", "--store", url)
        assert outcome.status in (2, 4), (url, outcome)
        assert "hunter2" not in outcome.err + outcome.out, outcome


def test_hash_rule_without_a_keyring_says_how_to_make_one():
    with Folder() as folder:
        assert folder.run("init").status == 0 and folder.run("registry", "apply", TYPES).status == 0
        payload = {"demanda_id": ID, "texto_bruto": "x", "localizacao_bruta": {"lat": 1, "lng": 2}, "cidadao_id": "u1",
                   "canal": "app"}
        outcome = folder.run("publish", "--type", "demanda.recebida", "--origin", "D-1a", stdin=json.dumps(payload))
        assert outcome.status in (1, 3) and "trilha keyring add" in outcome.err, outcome


def test_stream_says_once_what_to_do_about_its_failures():
    with Store() as store:
        outcome = store.ndjson([{"tipo": "pedido.pago", "origem": "loja", "payload": {}}] * 3)
        assert outcome.status == 1 and outcome.err.count("trilha registry apply") == 1, outcome
        assert outcome.err.index("3 failed") < outcome.err.index("trilha registry apply"), outcome
        assert "trilha registry apply" not in store.ndjson(["{"]).err


def test_keyring_without_file_before_its_path_says_how_it_is_written():
    with Store() as store:
        outcome = store.publish({"pedido": "P-1"}, TRILHA_KEYRING="trilha.keyring")
        assert outcome.status == 2 and "--keyring file:trilha.keyring" in outcome.err, outcome


def test_store_that_cannot_be_used_says_what_to_do():
    with Store() as store:
        store.write("notes.txt", "no database " * 100)
        outcome = store.run("events", "list", "--store", "sqlite:notes.txt")
        assert outcome.status == 4 and "choose another file with --store" in outcome.err, outcome
        outcome = store.run("events", "list", "--store", "postgresql://u@127.0.0.1:1/x", LC_ALL="pt_BR.UTF-8")
        assert outcome.status == 4 and "confira servidor, porta, banco e usuário em --store" in outcome.err, outcome


def test_keyring_that_others_can_read_is_refused():
    with Store() as store:
        assert store.run("keyring", "add", "keys").status == 0
        os.chmod(store.path / "keys", 0o644)
        outcome = store.publish({"pedido": "P-1"}, "--keyring", "file:keys")
        assert outcome.status != 0 and "chmod 600" in outcome.err, outcome


def test_dry_run_says_what_would_be_stored_and_stores_nothing():
    with Store() as store:
        outcome = store.publish({"pedido": "P-1", "cliente": "Maria"}, "--dry-run")
        assert outcome.status == 0, outcome
        assert outcome.out == 'pedido.criado@1.0.0 would be accepted; stored would be {"pedido":"P-1"}\n', outcome
        result = json.loads(store.publish({"pedido": "P-1", "cliente": "Maria"}, "--dry-run", "--json").out)
        assert result["dry_run"] is True and result["event"]["payload"] == {"pedido": "P-1"}
        assert store.publish({"total": -1}, "--dry-run").status == 3
        stream = store.ndjson([order(1), order(2, payload={}), "{"], "--dry-run")
        assert stream.status == 1 and stream.err.startswith("  1 would be accepted, 2 refused\n"), stream
        assert store.events()["total"] == 0


# --- streams ---


def test_stream_publishes_every_line_and_ends_with_0():
    with Store() as store:
        outcome = store.ndjson([order(n) for n in range(1200)], "--json")
        assert outcome.status == 0, outcome.err
        results = parsed(outcome.out)
        assert [r["line"] for r in results] == list(range(1, 1201))
        assert [r["sequence_number"] for r in results] == [str(n) for n in range(1, 1201)]
        assert store.events("--limit", "1")["total"] == 1200


def test_bad_lines_are_reported_with_their_number_and_the_rest_is_published():
    with Store() as store:
        lines = [order(1), "{not json", order(2, payload={"total": -1}), "", order(3, tipo="pedido.pago"), "[]",
                 order(4, preco=1), {**order(5), "event_id": "x"}, order(6)]
        outcome = store.ndjson(lines, "--json")
        assert outcome.status == 1
        results = {r["line"]: r for r in parsed(outcome.out)}
        assert sorted(results) == [1, 2, 3, 5, 6, 7, 8, 9]  # the empty line is passed over
        codes = {line: r.get("code", "ok") for line, r in results.items()}
        assert codes == {1: "ok", 2: "JSON_SYNTAX", 3: "PAYLOAD_INVALID", 5: "EVENT_TYPE_NOT_FOUND", 6: "REQUEST_NOT_OBJECT",
                         7: "REQUEST_MEMBER_UNKNOWN", 8: "UUID_INVALID", 9: "ok"}, codes
        assert {e["keyword"] for e in results[3]["errors"]} == {"required", "minimum"}
        assert store.events()["total"] == 2


def test_people_see_one_result_a_line_and_a_summary():
    with Store() as store:
        outcome = store.ndjson([order(1), order(2, payload={"total": -1}), order(3, event_id=ID), order(3, event_id=ID)])
        assert outcome.status == 1
        assert "line 1: pedido.criado is on disk as sequence 1" in outcome.out
        assert "line 2: Payload inválido para pedido.criado@1.0.0 [PAYLOAD_INVALID]\n    /total" in outcome.out or \
               "line 2: Payload inválido para pedido.criado@1.0.0 [PAYLOAD_INVALID]\n    (payload)" in outcome.out
        assert "line 4: already there as sequence 2" in outcome.out
        assert outcome.err == "  2 published, 1 repeated, 1 failed\n", outcome.err


def test_payload_text_is_passed_on_as_it_was_spelled():
    with Store() as store:
        line = '{"payload" : { "pedido" : "\\u00e1gua", "total":1E2 } , "origem":"loja","tipo":"pedido.criado"}'
        assert store.ndjson([line], "--json").status == 0
        single = store.publish('{ "pedido" : "\\u00e1gua", "total":1E2 }', "--json")
        assert single.status == 0
        # A key spelled with escapes and a payload in the last place are found as well.
        other = '{"tipo":"pedido.criado","origem":"loja","p\\u0061yload":{"pedido":"x, } ]","total":0.10}  }  '
        assert store.ndjson([other]).status == 0
        rows = store.events()["linhas"]
        assert [row["payload"] for row in rows] == [{"pedido": "água", "total": 100}] * 2 + [{"pedido": "x, } ]", "total": 0.1}]


def test_member_of_a_request_that_is_unknown_gets_a_suggestion_and_is_not_repeated():
    with Store() as store:
        outcome = store.ndjson([order(1, correlacaoid=ID), order(2, **{"000.000.001-91": 1})], "--json")
        first, second = parsed(outcome.out)
        assert 'did you mean \\"correlacao_id\\"' in json.dumps(first["text"])
        assert "000.000" not in outcome.out and second["code"] == "REQUEST_MEMBER_UNKNOWN"


def test_members_of_the_wrong_kind_and_twice_are_refused():
    with Store() as store:
        lines = [order(1, origem=7), order(2, aggregate_sequence="x"), order(3, aggregate_sequence=0),
                 '{"tipo":"pedido.criado","tipo":"pedido.criado","origem":"a","payload":{}}',
                 order(4, aggregate_type="a", aggregate_key="b", aggregate_sequence="7"), order(5, event_id=None)]
        outcome = store.ndjson(lines, "--json")
        codes = [r.get("code", "ok") for r in parsed(outcome.out)]
        assert codes == ["REQUEST_MEMBER_TYPE"] * 3 + ["JSON_DUPLICATE_KEY", "ok", "ok"], codes


def test_line_that_is_too_long_is_skipped_and_reported():
    with Store() as store:
        long = b'{"tipo":"pedido.criado","origem":"loja","payload":{"pedido":"' + b"x" * (5 << 20) + b'"}}'
        outcome = store.ndjson([order(1), long, order(2)], "--json")
        results = parsed(outcome.out)
        assert outcome.status == 1 and [r["line"] for r in results] == [1, 2, 3]
        assert results[1]["code"] == "LINE_TOO_LONG" and results[2]["status"] == "ok"


def test_endless_line_is_read_in_bounded_memory():
    with Store() as store:
        process = store.start("publish", "--ndjson", "--json")
        for _ in range(100):
            process.stdin.write(b"x" * (1 << 20))
        process.stdin.flush()
        peak = [line for line in open(f"/proc/{process.pid}/status", encoding="ascii") if line.startswith("VmHWM")]
        process.stdin.write(b"\n" + json.dumps(order(1)).encode())  # and the last line has no end
        out, _ = process.communicate(timeout=program.TIMEOUT_S)
        results = parsed(out.decode())
        assert [r["line"] for r in results] == [1, 2] and results[1]["status"] == "ok"
        limit_kb = (200 if "ASAN_OPTIONS" in os.environ else 64) << 10
        assert int(peak[0].split()[1]) < limit_kb, peak


def test_slow_stream_is_not_held_back():
    with Store() as store:
        process = store.start("publish", "--ndjson", "--json")
        for number in range(3):
            process.stdin.write(json.dumps(order(number)).encode() + b"\n")
            process.stdin.flush()
            line, = program.read_lines(process, 1)
            assert json.loads(line)["sequence_number"] == str(number + 1)
        process.stdin.close()
        assert process.wait(program.TIMEOUT_S) == 0
        process.stdout.close()
        process.stderr.close()


def test_interrupted_stream_stops_cleanly_and_says_where():
    with Store() as store:
        process = store.start("publish", "--ndjson", "--json")
        process.stdin.write(json.dumps(order(1)).encode() + b"\n")
        process.stdin.flush()
        program.read_lines(process, 1)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=program.TIMEOUT_S)
        assert process.returncode == 1 and b"stopped at line 2" in err and b"1 published" in err, err
        assert store.events()["total"] == 1


def test_results_that_cannot_be_written_end_the_stream_with_1():
    with Store() as store:
        with open("/dev/full", "wb") as full:
            outcome = store.ndjson([order(n) for n in range(2000)], "--json", stdout=full)
        assert outcome.status == 1 and "No space left on device" in outcome.err and "stopped at line" in outcome.err, outcome


def test_stream_options_and_single_options_do_not_mix():
    with Store() as store:
        outcome = store.ndjson([], "--type", "a.b")
        assert outcome.status == 2 and "--ndjson and --type cannot be given together" in outcome.err


def test_missing_file_is_named():
    with Store() as store:
        outcome = store.run("publish", "--ndjson", "nowhere.ndjson")
        assert outcome.status == 1 and "cannot open nowhere.ndjson: No such file or directory" in outcome.err
        outcome = store.publish("", "nowhere.json")
        assert outcome.status == 1 and "nowhere.json" in outcome.err, outcome


def test_progress_shows_on_a_terminal_after_a_second():
    with Store() as store:
        os.mkfifo(store.path / "slow.ndjson")
        terminal, its = pty.openpty()
        with subprocess.Popen([program.PROGRAM, "publish", "--ndjson", "slow.ndjson", "--json"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=its, cwd=store.path, env=program.environment(TERM="xterm")) as process:
            os.close(its)
            shown, end = b"", time.monotonic() + program.TIMEOUT_S
            with open(store.path / "slow.ndjson", "wb", buffering=0) as lines:
                while b" lines, " not in shown or b"/s" not in shown:
                    assert time.monotonic() < end, shown
                    lines.write(json.dumps(order(1)).encode() + b"\n")
                    if select.select([terminal], [], [], 0.02)[0]:
                        shown += os.read(terminal, 65536)
            assert process.wait(program.TIMEOUT_S) == 0
        os.close(terminal)


def test_portuguese_locale_translates_results_but_never_the_contract_words():
    with Store() as store:
        good = store.publish({"pedido": "P-1"}, "--event-id", ID, LC_ALL="pt_BR.UTF-8")
        assert good.out == f"pedido.criado está em disco com a sequência 1, evento {ID}\n", good
        bad = store.publish({}, LC_ALL="pt_BR.UTF-8")
        assert "Payload inválido para pedido.criado@1.0.0 [PAYLOAD_INVALID]" in bad.err
        assert "/pedido" not in bad.err and 'deve ter o membro "pedido"' in bad.err, bad
        bad = store.publish({"pedido": "a", "total": -1}, LC_ALL="pt_BR.UTF-8")
        assert "/total  deve ser no mínimo 0" in bad.err, bad
        broken = store.publish('{"pedido":', LC_ALL="pt_BR.UTF-8")
        assert "o texto não é JSON (" in broken.err and "line 1, column 11" in broken.err, broken
        repeated = store.publish({"pedido": "P-1"}, "--event-id", ID, LC_ALL="pt_BR.UTF-8")
        assert "Evento duplicado detectado, idempotência aplicada" in repeated.err


if __name__ == "__main__":
    tap.run(globals())
