# docs: every command of README, the documents and the manual pages does what its page says, typed as it is printed.
import functools
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

sys.path[:0] = [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).parent.parent / "cli")]
import pages  # pylint: disable=wrong-import-position
import program  # pylint: disable=wrong-import-position
from program import PROGRAM, tap  # pylint: disable=wrong-import-position
from test_postgres import Database  # pylint: disable=wrong-import-position

BEFORE = pathlib.Path(__file__).parent / "before"
STORE = os.environ.get("TRILHA_TEST_STORE", "sqlite")
PRINTED_URL = "postgresql://app@localhost/app"  # what the pages call the reader's database
PAGE_SECONDS = 600
MARK = "\x1e"
TOOLS = ("jq", "curl", "sqlite3", "psql", "pg_dump")
FIRST_EFFECT = "docs/first-effect.md"
IN_NODE = 'shop="node node/shop.js" erp="node node/erp.js"'  # as that page prints it


def free_port():
    """Below the ports that systems hand out by themselves, so that nobody is given it in the meantime."""
    while True:
        port = random.randrange(15000, 30000)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
                return str(port)
            except OSError:
                continue


def before(page):
    """What the reader of this page has in the folder already, as a script."""
    own = BEFORE / (page.replace("/", "-") + ".sh")
    if own.exists():
        return own.read_text(encoding="utf-8")
    return (BEFORE / "man.sh").read_text(encoding="utf-8") if page.startswith("man/") else ""


def script_of(units, first):
    """One shell for the whole page; a mark before each unit, and its exit status after it."""
    text = ["exec 2>&1", "set -euo pipefail", first, "set +e"]
    for unit in units:
        text += [f"printf '{MARK}'", "(exit 0)", unit.text, f"printf '{MARK}%d{MARK}' $?"]
    return "\n".join([*text, ""])


def follow(units, page, replaced, env):
    """Types the units in a fresh home; what each gave, as (exit status, lines)."""
    home = tempfile.mkdtemp(prefix="trilha-docs-")
    text = script_of(units, before(page))
    for printed, real in replaced.items():
        text = text.replace(printed, real)
    env = {**program.environment(), "PATH": os.path.dirname(PROGRAM) + ":" + os.environ["PATH"], "HOME": home, "TMPDIR": home,
           "SOURCE": str(pages.ROOT), **env}
    if page.startswith("LEIA-ME"):
        env["LC_ALL"] = "pt_BR.UTF-8"
    shell = subprocess.Popen(["bash", "-c", text], cwd=home, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             text=True, errors="surrogateescape", start_new_session=True)
    try:
        out, _ = shell.communicate(timeout=PAGE_SECONDS)
    except subprocess.TimeoutExpired as late:
        raise AssertionError(f"{page}: no end; so far {(late.stdout or b'')[-4000:]}") from None
    finally:
        try:
            os.killpg(shell.pid, signal.SIGKILL)  # whatever a page left in the background
        except ProcessLookupError:
            pass
        shell.wait()
        shutil.rmtree(home, ignore_errors=True)
    assert shell.returncode in (0, *(unit.status for unit in units)) and MARK in out, f"before the page: {out[-4000:]}"
    parts = out.split(MARK)
    return [(int(parts[at + 1]), parts[at].splitlines()) for at in range(1, len(parts) - 1, 3)]


def check(units, found):
    for unit, (status, lines) in zip(units, found):
        seen = "\n".join(lines)[-4000:]
        assert status == unit.status, f"{unit.page}: status {status}, not {unit.status}, of\n{unit.text}\n{seen}"
        if unit.shown is not None:
            wrong = pages.difference(unit.shown, lines)
            assert wrong is None, f"{unit.page}: {unit.text}\n{wrong}"
    assert len(units) == len(found), f"the shell ended after {len(found)} of {len(units)} units"


def run_page(page, change=lambda text: text, node_path=None):
    """`change`: what the reader types instead of a printed text; `node_path`: where the driver of a Node program is."""
    units = [unit._replace(text=change(unit.text)) for unit in pages.units_of(page) if STORE in unit.stores]
    if not units:
        tap.skip(f"nothing to type on {STORE}")
    absent = [tool for tool in TOOLS if shutil.which(tool) is None and any(re.search(rf"\b{tool}\b", unit.text) for unit in units)]
    if STORE == "postgresql" and any("/usr/bin/python3" in unit.text for unit in units) and \
            subprocess.run(["/usr/bin/python3", "-c", "import psycopg2"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
        absent.append("python3-psycopg2")
    if absent:
        tap.skip("not installed: " + ", ".join(absent))
    ports = {name: free_port() for name in ("api", "status", "collector")}
    replaced = {"127.0.0.1:8080": "127.0.0.1:" + ports["api"], "127.0.0.1:9464": "127.0.0.1:" + ports["status"],
                "127.0.0.1:4318": "127.0.0.1:" + ports["collector"]}
    env = {"TRILHA_SERVE_API_PORT": ports["api"], "TRILHA_SERVE_STATUS_PORT": ports["status"], **({"NODE_PATH": node_path} if node_path else {})}
    if STORE == "sqlite":
        check(units, follow(units, page, replaced, env))
        return
    with Database() as database:
        replaced[PRINTED_URL] = database.url
        check(units, follow(units, page, replaced, {**env, "TRILHA_STORE": database.url}))


def test_pages_with_commands_are_found():
    found = {page: len(pages.units_of(page)) for page in pages.names()}
    assert found["README.md"] >= 5 and found["LEIA-ME.md"] >= 5 and sum(found.values()) >= 50, found


def test_ids_and_times_may_differ_and_nothing_else():
    shown = ["on disk as sequence 1, event 7d6b32b7-47c3-4597-a94f-5343151756dd", "at  2026-11-30T09:36:35.4Z, h1:k1:X0gAhNSK0o5_9c5KfFiiy9"]
    same = ["on disk as sequence 1, event a8da6b86-fa3c-435a-8a55-26bfd4e43c19", "at 2027-01-01T00:00:00Z, h1:k1:oQWv-ZCw6t0oskcVpIAuNk"]
    assert pages.difference(shown, same) is None
    assert pages.difference(shown, [same[0].replace("sequence 1", "sequence 2"), same[1]]) is not None
    assert pages.difference(shown, [same[0], same[1].replace("k1", "k2")]) is not None
    assert pages.difference(shown, same[:1]) is not None and pages.difference(shown, [*same, "more"]) is not None
    assert pages.difference(["a …z", "…", "end"], ["a b z", "x", "y", "end"]) is None
    assert pages.difference(["a …z", "end"], ["a b", "z", "end"]) is not None


def test_a_page_that_says_something_wrong_is_found():
    unit = pages.Unit("page", "echo 1", ["2"], ("sqlite",), 0)
    for wrong in (unit, unit._replace(text="false", shown=None), unit._replace(text="exit 3", shown=None), unit._replace(status=1, shown=None)):
        try:
            check([wrong], follow([wrong], "page", {}, {}))
        except AssertionError:
            continue
        raise AssertionError(f"nobody noticed {wrong}")


def test_every_exception_still_matches_and_tells_its_reason():
    for each in pages.exceptions():
        typed = "\n".join(text for kind, text in pages.blocks_of(each.page) if kind in ("sh", "console"))
        lines = [line.removeprefix("$ ").lstrip() for line in typed.splitlines()]
        assert any(line.startswith(each.start) for line in lines), f"nothing to {each.kind} any more: {each}"


def test_no_command_hides_in_a_block_that_is_not_followed():
    for page in pages.names():
        for kind, text in pages.blocks_of(page):
            if kind in ("sh", "console") or kind.startswith("sql "):
                continue
            hidden = [line for line in text.splitlines() if pages.COMMAND.match(line)]
            assert kind != "sql" and not hidden, f"{page}: the fence of this block must say sh, console or sql STORE: {hidden or text}"


def test_the_first_effect_works_from_node_as_printed():
    """Without a registry: the driver is there or it is not (NODE_PATH, the example's own folder, bench/peers, a package of the system)."""
    if STORE != "postgresql":
        tap.skip("Node has no driver of its own for SQLite")
    assert IN_NODE in pages.read(FIRST_EFFECT), "the page names the programs otherwise"
    path = os.pathsep.join([*filter(None, [os.environ.get("NODE_PATH")]), *(str(pages.ROOT / folder / "node_modules") for folder in ("examples/foreign/node", "bench/peers"))])
    node = shutil.which("node")
    if node is None or subprocess.run([node, "-e", "require('pg')"], env={**os.environ, "NODE_PATH": path}, stderr=subprocess.DEVNULL,
                                      check=False).returncode != 0:
        tap.skip("no node, or none that finds the driver pg")
    printed = {f'{name}="/usr/bin/python3 python/{name}.py"': each for name, each in zip(("shop", "erp"), re.findall(r'\w+="[^"]*"', IN_NODE))}
    texts = [unit.text for unit in pages.units_of(FIRST_EFFECT)]
    assert len(printed) == 2 and all(any(line in text for text in texts) for line in printed), printed

    def in_node(text):
        for line, instead in printed.items():
            text = text.replace(line, instead)
        return text

    run_page(FIRST_EFFECT, in_node, path)


def test_code_that_the_first_effect_shows_stands_in_the_example():
    def squeezed(text):
        return re.sub(r"\s+", " ", text).strip()

    for language, program in (("js", "node/shop.js"), ("python", "python/erp.py")):
        shown = [text for kind, text in pages.blocks_of(FIRST_EFFECT) if kind == language]
        assert shown and all(squeezed(text) in squeezed(pages.read(f"examples/foreign/{program}")) for text in shown), (program, shown)


# --- what prose names ---------------------------------------------------------------------------------------------

@functools.lru_cache(maxsize=None)
def help_of(words):
    outcome = program.run(*words, "--help")
    return outcome.out if outcome.status == 0 else ""


def command_of(span):
    """The command's words: letters only, as far as there is such a command."""
    words = re.match(r"trilha((?: [a-z]+)*)", span).group(1).split()[:2]
    return next((tuple(words[:n]) for n in (2, 1) if len(words) >= n and help_of(tuple(words[:n]))), ())


def test_every_command_and_option_in_prose_exists():
    wrong, count = [], 0
    for page in pages.names():
        if page.endswith(".1"):
            continue  # mandoc's macros: tests/cli/test_manual.py
        prose = re.sub(r"^```.*?^```", "", pages.read(page), flags=re.M | re.S)
        for span in re.findall(r"`(trilha [a-z][^`]*)`", prose):
            if span == "trilha digest v1":
                continue  # what a key is derived for
            words = command_of(span)
            count += 1
            own = span.split(" --exec ")[0]
            missing = [option for option in re.findall(r"--[a-z-]+", own) if option not in help_of(words)]
            if not words or missing:
                wrong.append((page, span, missing))
    assert count >= 40 and not wrong, (count, wrong)


def test_every_make_target_and_tool_in_prose_exists():
    targets = set(re.findall(r"^([a-z-]+):", pages.read("Makefile"), re.M))
    wrong = []
    for page in [*pages.names(), "CONTRIBUTING.md"]:
        text = pages.read(page)
        wrong += [(page, name) for name in re.findall(r"`make ([a-z-]+)", text) if name not in targets]
        wrong += [(page, name) for name in re.findall(r"`((?:tools|bench)/[a-z][a-z-]*)[ `]", text) if not (pages.ROOT / name).exists()]
    assert not wrong, wrong


# --- one test a page ------------------------------------------------------------------------------------------------

for name in pages.names():
    if any(kind in ("sh", "console") or kind.startswith("sql ") for kind, _ in pages.blocks_of(name)):
        title = "test_commands_of_" + re.sub(r"\W+", "_", name) + "_work_as_printed"
        globals()[title] = functools.partial(run_page, name)

if __name__ == "__main__":
    tap.run(dict(globals()))
