# late: which libraries a process has in its memory, and what it says when one that it needs is missing.
"""test_mapped.py PROGRAM"""
import json
import pathlib
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "cli"))
import program  # pylint: disable=wrong-import-position
from program import Folder, tap  # pylint: disable=wrong-import-position
from stores import Store, order  # pylint: disable=wrong-import-position

LATE = ("libcurl", "libmicrohttpd", "libgnutls", "libpq", "libfyaml", "libpcre2-8")
# What only those need in turn.
THEIRS = ("libssl", "libldap", "libkrb5", "libp11-kit", "libnettle", "libssh2")


def mapped(pid):
    """Names of the shared libraries that a process has in its memory now, without folder and version."""
    lines = pathlib.Path(f"/proc/{pid}/maps").read_text(encoding="utf-8").splitlines()
    return {pathlib.Path(line.split(maxsplit=5)[5]).name.split(".so")[0] for line in lines if ".so" in line}


def keeps_for_checkers():
    """A leak is told by the library it comes from, so the one that may go stays where leaks are looked for."""
    return b"__asan_init" in pathlib.Path(program.PROGRAM).read_bytes()


def wait_until(holds):
    end = time.monotonic() + program.TIMEOUT_S
    while not holds():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.01)


def server(store):
    store.write("trilha.yaml", "serve:\n  api: {port: 0, allow: [127.0.0.1]}\n  status: {port: 0}\n  access: {keys: [dev.pem.pub]}\n")
    assert store.run("token", "issue", "dev.pem").status == 0


def test_process_that_has_published_on_sqlite_has_none_of_the_late_libraries():
    with Store() as store:
        process = store.start("publish", "--ndjson", "--json", stderr="log")
        process.stdin.write(json.dumps(order(1)).encode() + b"\n")
        process.stdin.flush()
        answer = json.loads(program.read_lines(process, 1)[0])
        assert answer["status"] == "ok", answer
        have = mapped(process.pid)
        process.stdin.close()
        assert process.wait(program.TIMEOUT_S) == 0
        process.stdout.close()
        assert "libsqlite3" in have, have
        assert not have & set(LATE + THEIRS), have & set(LATE + THEIRS)


def test_server_on_sqlite_without_certificate_has_neither_the_client_of_http_nor_that_of_postgresql():
    with Store() as store:
        server(store)
        process = store.start("serve", stderr="log")
        program.read_lines(process, 1)
        have = mapped(process.pid)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=program.TIMEOUT_S)
        assert process.returncode == 0
        assert "libmicrohttpd" in have, have
        assert not have & {"libcurl", "libpq"}, have


def test_server_has_given_the_reader_of_yaml_back_and_reads_its_configuration_again_when_told():
    with Store() as store:
        server(store)
        process = store.start("serve", stderr="log")
        program.read_lines(process, 1)
        assert keeps_for_checkers() or "libfyaml" not in mapped(process.pid), mapped(process.pid)
        store.write("trilha.yaml", "serve: {api: {prot: 0}}\n")
        process.send_signal(signal.SIGHUP)
        wait_until(lambda: "prot" in (store.path / "log").read_text(encoding="utf-8"))  # it was read, and refused
        wait_until(lambda: keeps_for_checkers() or "libfyaml" not in mapped(process.pid))
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=program.TIMEOUT_S)
        assert process.returncode == 0


def hidden(folder, *names):
    """A folder that the dynamic linker looks into first, in which these libraries are no libraries."""
    for name in names:
        folder.write(f"hidden/{name}", b"")
    return {"LD_LIBRARY_PATH": str(folder.path / "hidden")}


def sonames(pattern):
    """The names under which the loader may look for a library: the versions that this system has."""
    import ctypes.util  # pylint: disable=import-outside-toplevel
    return [ctypes.util.find_library(pattern)]


def test_server_without_its_library_names_the_package_and_ends():
    with Store() as store:
        server(store)
        outcome = store.run("serve", **hidden(store, *sonames("microhttpd")))
        assert outcome.status == 1, outcome
        assert "libmicrohttpd12" in outcome.err and "LIBRARY_MISSING" in outcome.err and "`trilha serve`" in outcome.err, outcome


def test_postgresql_store_without_its_library_names_the_package():
    with Folder() as folder:
        outcome = folder.run("events", "list", "--store", "postgresql://nobody@127.0.0.1:1/none", **hidden(folder, *sonames("pq")))
        assert outcome.status == 4, outcome
        assert "libpq5" in outcome.err and "LIBRARY_MISSING" in outcome.err, outcome


def test_configuration_without_the_reader_of_yaml_names_the_package():
    with Store() as store:
        server(store)
        outcome = store.run("config", "check", **hidden(store, *sonames("fyaml")))
        assert outcome.status == 1, outcome
        assert "libfyaml0" in outcome.err and "LIBRARY_MISSING" in outcome.err, outcome


def test_pattern_that_only_pcre2_can_match_names_its_package():
    with Folder() as folder:
        folder.write("schema.json", json.dumps({"type": "string", "pattern": "^(a|b)\\1$"}))
        folder.write("value.json", '"aa"')
        words = ("schema", "validate", "--schema", "schema.json", "value.json")
        assert folder.run(*words).status == 0
        outcome = folder.run(*words, **hidden(folder, *sonames("pcre2-8")))
        assert outcome.status != 0 and "libpcre2-8-0" in outcome.err and "LIBRARY_MISSING" in outcome.err, outcome


def test_sqlite_goes_on_where_every_late_library_is_missing():
    with Store() as store:
        names = [name for late in LATE for name in sonames(late[3:])]
        outcome = store.publish({"pedido": "P-1"}, **hidden(store, *names))
        assert outcome.status == 0, outcome


tap.run(globals())
