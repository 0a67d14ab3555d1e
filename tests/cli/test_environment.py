# cli: places and settings that a service manager, a container or another country gives: no home, a working directory that
# cannot be written, a strict umask, few files, little memory, a decimal comma.
import json
import os
import resource
import stat
import subprocess

from program import PROGRAM, ROOT, TIMEOUT_S, Folder, Outcome, environment, tap

SCHEMA = {"tipo": "ambiente.medido", "versao": "1.0.0", "schema": {
    "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "required": ["peso"],
    "properties": {"peso": {"type": "number", "x-redacao": {"arredondar": 1}}}}}
PAYLOAD = '{"peso":61.25}'


def run_in(cwd, words, prepare=None, remove=(), **more):
    env = environment(**more)
    for name in remove:
        env.pop(name, None)
    done = subprocess.run([PROGRAM, *words], input=PAYLOAD.encode(), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, cwd=cwd, env=env, timeout=TIMEOUT_S, preexec_fn=prepare, check=False)
    return Outcome(done.returncode, done.stdout.decode("utf-8", "surrogateescape"), done.stderr.decode("utf-8", "surrogateescape"))


def life_of_an_event(cwd, store, types, **how):
    """init, register, publish, read: what the program showed of the stored event."""
    outcome = None
    for words in (["init"], ["registry", "apply", types],
                  ["publish", "--type", "ambiente.medido", "--origin", "D-1a"], ["events", "list", "--json"]):
        outcome = run_in(cwd, [*words, "--store", f"sqlite:{store}"], **how)
        assert outcome.status == 0, f"{words}: {outcome}"
    page = json.loads(outcome.out)
    assert page["total"] == 1, outcome
    payload = page["linhas"][0]["payload"]
    return json.loads(payload) if isinstance(payload, str) else payload


def prepared(folder):
    return folder.write("types.json", json.dumps(SCHEMA)), folder.path / "log.db"


def test_an_event_lives_without_a_home_or_any_other_variable():
    with Folder() as folder:
        types, store = prepared(folder)
        assert life_of_an_event(folder.path, store, types, remove=("HOME", "PATH", "LC_ALL")) == {"peso": 61.3}


def test_an_event_lives_where_the_working_directory_cannot_be_written():
    with Folder() as folder:
        types, store = prepared(folder)
        assert life_of_an_event("/proc/self", store, types) == {"peso": 61.3}


def test_a_store_that_cannot_be_made_here_says_where_and_why():
    outcome = run_in("/proc", ["init"])
    assert outcome.status not in (0, 2) and outcome.out == "", outcome
    assert "trilha.db" in outcome.err or "/proc" in outcome.err, outcome


def test_an_event_lives_under_a_strict_umask_and_its_files_are_its_owners_alone():
    with Folder() as folder:
        types, store = prepared(folder)
        assert life_of_an_event(folder.path, store, types, prepare=lambda: os.umask(0o077)) == {"peso": 61.3}
        for path in folder.path.glob("log.db*"):
            assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, (path, oct(path.stat().st_mode))


def test_an_event_lives_with_sixteen_open_files():
    with Folder() as folder:
        types, store = prepared(folder)
        assert life_of_an_event(folder.path, store, types,
                                prepare=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (16, 16))) == {"peso": 61.3}


def skip_when_sanitized():
    with open(PROGRAM, "rb") as program:
        if b"__asan_init" in program.read():
            tap.skip("a sanitizer needs files and address space of its own")


def test_too_few_open_files_are_an_error_and_not_a_crash():
    skip_when_sanitized()
    with Folder() as folder:
        types, store = prepared(folder)
        life_of_an_event(folder.path, store, types)
        met = 0
        for files in range(4, 12):
            outcome = run_in(folder.path, ["events", "list", "--store", f"sqlite:{store}"],
                             prepare=lambda files=files: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files)))
            if outcome.status == 0 or outcome.status == 127:  # 127: the loader found no file for a library
                continue
            met += 1
            assert outcome.status in (1, 4) and outcome.err.startswith("trilha: "), outcome
        assert met > 0, "no limit was low enough"


def test_too_little_memory_is_an_error_and_the_store_stays_whole():
    skip_when_sanitized()
    with Folder() as folder:
        types, store = prepared(folder)
        life_of_an_event(folder.path, store, types)
        line = json.dumps({"tipo": "ambiente.medido", "origem": "D-1a", "payload": {"peso": 1, "x": "a" * 900000}})
        events = folder.write("events.ndjson", (line + "\n") * 40)
        statuses = set()
        for megabytes in range(24, 120, 8):
            size = megabytes << 20
            outcome = run_in(folder.path, ["publish", "--ndjson", events, "--store", f"sqlite:{store}"],
                             prepare=lambda size=size: resource.setrlimit(resource.RLIMIT_AS, (size, size)))
            statuses.add(outcome.status)
            assert outcome.status in (0, 1, 4, 127), outcome
        assert len(statuses) > 1, statuses
        checked = subprocess.run(["python3", "-c", "import sqlite3,sys; print(sqlite3.connect(sys.argv[1]).execute("
                                  "'pragma integrity_check').fetchone()[0])", store], stdout=subprocess.PIPE, text=True, check=True)
        assert checked.stdout == "ok\n", checked.stdout


def test_a_decimal_comma_changes_no_number():
    with Folder() as folder:
        subprocess.run([ROOT / "tests/json/comma-locale", folder.path / "locales"], check=True)
        if not (folder.path / "locales" / "comma").is_dir():
            tap.skip("no locale with a decimal comma can be made here")
        types, store = prepared(folder)
        locale = {"LOCPATH": str(folder.path / "locales"), "LC_ALL": "comma"}
        assert life_of_an_event(folder.path, store, types, **locale) == {"peso": 61.3}


if __name__ == "__main__":
    tap.run(globals())
