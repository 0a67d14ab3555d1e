# cli: the demo shows what it promises, and every command that it prints can be run.
import json
import os
import re
import subprocess

import program
from program import PROGRAM, Folder, tap
from stores import parsed


def run_demo(folder, *words, **env):
    outcome = folder.run("demo", "--dir", "tour", *words, **env)
    assert outcome.status == 0, outcome
    return outcome


def test_demo_keeps_every_promise_and_says_so_in_json():
    with Folder() as folder:
        steps = parsed(run_demo(folder, "--json", "--events", "90").out)
        assert [step["name"] for step in steps[:-1]] == ["keyring", "init", "register", "seeds", "stream", "refused", "repeated",
                                                         "repeated_other", "trace", "stored", "replay", "delivery", "repair", "resume",
                                                         "search"]
        assert steps[-1] == {"folder": str(folder.path / "tour"), "as_promised": True}
        search = steps[-2]
        assert search["personal_texts_found"] == 0 and search["personal_texts"] > 200
        assert search["event_ids_found"] == search["event_ids"] == 90
        stored = steps[9]["payload"]
        assert stored["localizacao_bruta"] == {"lat": -23.55, "lng": -46.63} and stored["canal"] == "app"
        assert stored["texto_bruto"].startswith("h1:demo:")


def test_demo_stores_the_three_seed_events_with_their_ids_and_times():
    with Folder() as folder:
        run_demo(folder, "--events", "3")
        rows = json.loads(folder.run("events", "list", "--json", "--limit", "3", "--store", "sqlite:tour/trilha.db").out)["linhas"]
        assert [(row["event_id"], row["timestamp"], row["origem"]) for row in rows] == [
            ("a1b2c3d4-e5f6-7890-abcd-ef1234567890", "2026-06-15T10:30:00Z", "D-1a"),
            ("b2c3d4e5-f6a7-8901-bcde-f12345678901", "2026-06-15T10:30:05Z", "D-1b"),
            ("c3d4e5f6-a7b8-9012-cdef-123456789012", "2026-06-15T10:30:10Z", "D-3")]


def test_demo_is_the_same_for_the_same_seed_and_other_for_another():
    ids = []
    for seed in ("7", "7", "8"):
        with Folder() as folder:
            run_demo(folder, "--seed", seed, "--events", "30")
            ids.append([json.loads(line)["event_id"] for line in (folder.path / "tour/stream.ndjson").read_text().splitlines()])
    assert ids[0] == ids[1] != ids[2] and len(ids[0]) == 30


def test_every_command_that_the_demo_prints_can_be_run():
    with Folder() as folder:
        shown = run_demo(folder, "--events", "30").out
        commands = [command.split("  #")[0].strip() for command in re.findall(r"^   \$ (.*)$", shown, re.M)]
        assert len(commands) >= 14
        env = program.environment(TRILHA_KEYRING="file:trilha.keyring")
        env["PATH"] = os.path.dirname(PROGRAM) + ":" + env["PATH"]
        allowed = {"wrong.json": 3, "grep": 1, "keyring add": 3, "tail": 0}
        for command in commands:
            if command.startswith(("cd ", "export ")):
                continue
            if "tail" in command:
                command = f"timeout -s INT 1 {command}; test $? = 124 -o $? = 0"
            done = subprocess.run(["bash", "-c", command], cwd=folder.path / "tour", env=env, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, timeout=60, check=False)
            wanted = next((status for part, status in allowed.items() if part in command), 0)
            assert done.returncode == wanted, (command, done)


def test_search_of_the_demo_stays_quick_for_thousands_of_texts():
    with Folder() as folder:  # within the time that every run has
        search = parsed(run_demo(folder, "--json", "--events", "6000").out)[-2]
        assert search["personal_texts"] > 16000 and search["personal_texts_found"] == 0
        assert search["event_ids_found"] == 6000


def test_demo_refuses_a_folder_that_is_in_use():
    with Folder() as folder:
        run_demo(folder, "--events", "3")
        outcome = folder.run("demo", "--dir", "tour")
        assert outcome.status == 1 and "already holds a trilha.db" in outcome.err


def test_demo_without_a_folder_makes_one_below_tmpdir_and_names_it():
    with Folder() as folder:
        (folder.path / "scratch").mkdir()
        outcome = folder.run("demo", "--events", "3", TMPDIR=str(folder.path / "scratch"))
        made, = (folder.path / "scratch").iterdir()
        assert outcome.status == 0 and f"Everything is in {made}" in outcome.out


def test_demo_speaks_portuguese():
    with Folder() as folder:
        outcome = run_demo(folder, "--events", "3", LC_ALL="pt_BR.UTF-8")
        assert "O que está no arquivo, e o que não está" in outcome.out and "Para experimentar" in outcome.out
        assert "What is" not in outcome.out


if __name__ == "__main__":
    tap.run(globals())
