# cli: the mistakes that newcomers make: each is answered with what happened and with what to do next.
import os
import sqlite3
import subprocess

import test_postgres
from program import PROGRAM, TIMEOUT_S, environment, tap
from stores import Store

TYPE = """tipo: a.b
versao: "1.0.0"
schema:
  type: object
  required: [n]
  additionalProperties: false
  properties: {n: {type: number, x-redacao: manter}, c: {type: string, x-redacao: hash}}
"""
PUBLISH = ["publish", "--type", "a.b", "--origin", "x"]
UUID = "a1b2c3d4-e5f6-7890-abcd-ef1234567890"
LOCAL = "postgresql://127.0.0.1:1/shop"  # nobody listens on port 1


def sql(folder, name, *statements):
    """A copy of the store under another name, changed."""
    (folder.path / name).write_bytes((folder.path / "trilha.db").read_bytes())
    database = sqlite3.connect(folder.path / name)
    for statement in statements:
        database.execute(statement)
    database.commit()
    database.close()


def prepare(folder):
    folder.write("type.yaml", TYPE)
    assert folder.run("registry", "apply", "type.yaml").status == 0
    for name, old, new in (("rule", "manter", "keep"), ("norule", "x-redacao", "x-nothing"), ("schema", "type: number", "type: nmber"),
                           ("changed", "required: [n]", "required: []")):
        folder.write(name + ".yaml", TYPE.replace(old, new).replace("a.b", "a.b" if name == "changed" else "a.c"))
    folder.write("broken.yaml", "tipo: [")
    folder.write("broken.json", '{"tipo": "a.d"')
    folder.write("payload.json", '{"n": 1')
    folder.write("unknown.ndjson", '{"type": "a.b", "payload": {"n": 1}}\n')
    folder.write("garbage.db", b"this is no database, but as long as the beginning of one " * 100)
    folder.write("empty.db", b"")
    folder.write("open.keyring", "k1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n")
    folder.write("plain.txt", "no program")
    os.chmod(folder.path / "open.keyring", 0o644)
    folder.write("bad/trilha.yaml", "serve: {api: {prt: 1}}\n")
    folder.write("nokeys/trilha.yaml", "serve: {api: {port: 0, allow: [127.0.0.1]}}\n")
    (folder.path / "folder").mkdir()
    sql(folder, "newer.db", "INSERT INTO core_trilha_migration SELECT '29990101000000_from_the_future', checksum, applied_at "
        "FROM core_trilha_migration LIMIT 1")
    sql(folder, "older.db", "DELETE FROM core_trilha_migration WHERE name = (SELECT max(name) FROM core_trilha_migration)")
    sql(folder, "edited.db", "UPDATE core_trilha_migration SET checksum = 'x' WHERE name = (SELECT max(name) FROM core_trilha_migration)")


# What is typed, what is piped into it, the exit status, what the answer says of the mistake, what it says to do.
MISTAKES = [
    # The store.
    (["events", "list", "--store", "sqlite:other.db"], "", 4, "other.db does not exist", "run `trilha init`"),
    ([*PUBLISH, "--store", "sqlite:other.db"], '{"n":1}', 4, "other.db does not exist", "run `trilha init`"),
    (["events", "list", "--store", "sqlite:empty.db"], "", 4, "has no Trilha tables", "run `trilha init`"),
    (["events", "list", "--store", "sqlite:folder"], "", 2, "is a folder", "name the database file in it, as in sqlite:"),
    (["events", "list", "--store", "sqlite:garbage.db"], "", 4, "not an SQLite database", "choose another file with --store"),
    (["init", "--store", "sqlite:no/such/folder.db"], "", 1, "does not exist", "create it first"),
    (["init", "--store", "sqlite:/proc/trilha.db"], "", 4, "cannot create the database", "its folder must be writable"),
    (["init", "--store", "sqlite:"], "", 2, "names no file", "write sqlite:PATH, as in sqlite:trilha.db"),
    (["events", "list", "--store", "trilha.db"], "", 2, "the store must be given as", "give --store sqlite:PATH or postgresql://HOST/DATABASE"),
    (["events", "list", "--store", "mysql://x/y"], "", 2, "the store must be given as", "give --store sqlite:PATH or postgresql://HOST/DATABASE"),
    (["events", "list", "--store", "sqlite:older.db"], "", 4, "lacks migration", "make a backup, then run `trilha init`"),
    (["events", "list", "--store", "sqlite:newer.db"], "", 4, "from_the_future", "newer version"),
    (["events", "list", "--store", "sqlite:edited.db"], "", 4, "other content", "'trilha init --print-sql' prints what is expected"),
    # A server that is not there.
    (["events", "list", "--store", LOCAL], "", 4, "Connection refused", "check the host, port, database and role in --store"),
    ([*PUBLISH, "--store", LOCAL], '{"n":1}', 4, "Connection refused", "that the server runs: psql takes the same URL"),
    (["init", "--store", LOCAL], "", 4, "Connection refused", "check the host, port, database and role in --store"),
    # What is published.
    (PUBLISH, '{"n":1', 3, "line 1, column 7: the text ends too early", "correct the text at that place"),
    (PUBLISH, "", 3, "the text is empty", "must be one whole JSON value"),
    (PUBLISH, "[1]", 3, "Payload deve ser um objeto", "must be a JSON object"),
    (PUBLISH, '{"n":"1"}', 3, "Payload inválido para a.b@1.0.0", "/n  must be of type number"),
    (PUBLISH, '{"n":1,"c":"x"}', 3, "no redaction key was given", "make a keyring with 'trilha keyring add FILE'"),
    (["publish", "--type", "no.type", "--origin", "x"], '{"n":1}', 3, "Tipo de evento não registrado", "register it with 'trilha registry apply FILE'"),
    ([*PUBLISH, "--schema-version", "9.0.0"], '{"n":1}', 3, "Tipo de evento não registrado", "'trilha registry list' shows what there is"),
    (["publish", "--type", "a.b"], '{"n":1}', 2, "option --origin is needed", "see 'trilha publish --help'"),
    ([*PUBLISH, "--event-id", "7"], '{"n":1}', 3, "must be a UUID", "such as " + UUID),
    ([*PUBLISH, "--timestamp", "yesterday"], '{"n":1}', 3, "must be an ISO-8601 date and time", "such as 2026-06-15T10:30:00Z"),
    ([*PUBLISH, "nofile.json"], "", 1, "cannot open nofile.json", "check the name and its permissions"),
    ([*PUBLISH, "payload.json"], "", 3, "the text ends too early", "correct the text at that place"),
    (["publish", "--ndjson", "unknown.ndjson"], "", 1, "line 1: unknown member", "'trilha publish --help' lists the members of a request"),
    # Keys.
    ([*PUBLISH, "--keyring", "file:nokeys.txt"], '{"n":1,"c":"x"}', 4, "there is no keyring", "make a keyring with 'trilha keyring add FILE'"),
    ([*PUBLISH, "--keyring", "open.keyring"], '{"n":1,"c":"x"}', 2, "a keyring is given as file:PATH", "write 'file:' before the path"),
    ([*PUBLISH, "--keyring", "file:open.keyring"], '{"n":1,"c":"x"}', 4, "may be read or written by others", "chmod 600"),
    (["keyring", "add", "new.keyring", "--kid", "K 1"], "", 2, "a kid has", "1 to 16 characters of a-z, 0-9 and '-'"),
    (["keyring", "add", "/proc/keyring"], "", 1, "keyring", "check the name and its permissions"),
    # Types.
    (["registry", "apply", "nofile.yaml"], "", 1, "cannot open nofile.yaml", "names count from the folder you are in"),
    (["registry", "apply", "folder"], "", 1, "below folder", "no .json, .yaml or .yml file"),
    (["registry", "apply"], "", 2, "something is missing: PATH", "see 'trilha registry apply --help'"),
    (["registry", "apply", "broken.yaml"], "", 3, "broken.yaml, line 2, column 1", "without a closing bracket"),
    (["registry", "apply", "broken.json"], "", 3, "broken.json, line 1, column 15", "correct the text at that place"),
    (["registry", "apply", "rule.yaml"], "", 3, "/properties/n/x-redacao", '"hash"'),
    (["registry", "apply", "norule.yaml"], "", 3, "REDACTION_NO_RULES", "x-redacao"),
    (["registry", "apply", "schema.yaml"], "", 3, "/properties/n/type", "one of"),
    (["registry", "apply", "changed.yaml"], "", 1, "a published version is immutable", "register the change under a higher versao"),
    (["registry", "show", "no.type"], "", 1, "no.type is not registered", "'trilha registry list' shows what there is"),
    (["registry", "deprecate", "a.b", "9.9.9"], "", 1, "not registered", "'trilha registry list' shows what there is"),
    # Reading.
    (["events", "show", "1"], "", 2, "event_id must be a UUID", "such as " + UUID),
    (["events", "show", UUID], "", 1, "Evento não encontrado", "'trilha events list' shows what there is"),
    (["events", "list", "--limit", "many"], "", 2, "wants a whole number", "see 'trilha events list --help'"),
    (["audit", "list", "--from", "yesterday"], "", 2, "from and to are dates", "2026-06-15"),
    # Delivery.
    (["consume", "--colony", "D-4", "--type", "a.b", "--once"], "", 2, "say what handles the events", "--exec PROGRAM"),
    (["consume", "--colony", "D-4", "--once", "--exec", "cat"], "", 2, "option --type is needed", "see 'trilha consume --help'"),
    (["consume", "--colony", "D-4", "--type", "a.b", "--once", "--exec", "./nohandler"], "", 1, "there is no such program", "such as ./handler"),
    (["consume", "--colony", "D-4", "--type", "a.b", "--once", "--exec", "./plain.txt"], "", 1, "cannot run ./plain.txt", "may be executed"),
    (["dlq", "reprocess", "--colony", "D-9"], "", 1, "no live listener", "start the colony's consumer, or give the handler here with --exec"),
    (["dlq", "show", "7"], "", 1, "there is no dead letter 7", "'trilha dlq list' shows what there is"),
    (["dlq", "show", "seven"], "", 2, "is not the number of a dead letter", "see 'trilha dlq show --help'"),
    (["dlq", "retry", "7"], "", 2, "option --reason is needed", "see 'trilha dlq retry --help'"),
    # The outbox.
    (["outbox", "lanes"], "", 1, "has no outbox", "run `trilha outbox install`"),
    (["worker", "run", "--destination", "erp", "--once", "--stdout"], "", 1, "has no outbox", "run `trilha outbox install`"),
    (["outbox", "route", "invoice.*"], "", 2, "something is missing", "see 'trilha outbox route --help'"),
    # Configuration.
    (["config", "check", "--config", "bad/trilha.yaml"], "", 3, "bad/trilha.yaml:1:20", "/serve/api/prt is no setting"),
    (["serve", "--config", "nowhere.yaml"], "", 1, "cannot open nowhere.yaml", "check the name and its permissions"),
    (["serve", "--config", "nokeys/trilha.yaml"], "", 3, "names no file", "trilha token issue makes one"),
    (["token", "issue"], "", 2, "something is missing: FILE", "see 'trilha token issue --help'"),
    # Words.
    (["publsh"], "", 2, "unknown command 'publsh'", "did you mean 'trilha publish'?"),
    (["events", "lst"], "", 2, "has no command 'lst'", "did you mean 'trilha events list'?"),
    (["events", "list", "--limt", "3"], "", 2, "unknown option '--limt'", "did you mean '--limit'?"),
    (["help", "nothing"], "", 2, "unknown command 'nothing'", "--help"),
    (["completion", "tcsh"], "", 2, "no completion for 'tcsh'", "bash, zsh and fish are known"),
    (["schema", "validate", "payload.json"], "", 2, "option --schema is needed", "see 'trilha schema validate --help'"),
    (["schema", "validate", "-S", "noschema.json", "payload.json"], "", 2, "cannot open noschema.json", "check the name and its permissions"),
]


def judge(outcome, words, status, happened, advice):
    shown = outcome.out + outcome.err
    wrong = [part for part in (happened, advice) if part not in shown]
    if outcome.status != status or wrong or "Traceback" in shown:
        return f"trilha {' '.join(words)}\n  missing: {wrong}, status {status} wanted\n{outcome}"
    return None


def test_every_mistake_is_answered_with_what_happened_and_what_to_do():
    with Store() as store:
        prepare(store)
        answers = [judge(store.run(*words, stdin=typed), words, *rest) for words, typed, *rest in MISTAKES]
    wrong = [answer for answer in answers if answer]
    assert not wrong, f"{len(wrong)} of {len(MISTAKES)}:\n" + "\n".join(wrong)


def test_every_mistake_is_answered_in_portuguese_with_the_same_status():
    """Advice too: the English one, told apart by its first words, must not come through where a remedy is translated."""
    with Store() as store:
        prepare(store)
        for words, typed, status, _, advice in MISTAKES:
            outcome = store.run(*words, stdin=typed, LC_ALL="pt_BR.UTF-8")
            assert outcome.status == status and outcome.out + outcome.err != "", (words, outcome)
            hints = [line.strip() for line in outcome.err.splitlines() if line.startswith("  ") and not line.startswith("   ")]
            assert advice not in hints, f"{words}: this line is English still: {hints}"


def test_mistakes_write_nothing():
    with Store() as store:
        prepare(store)
        before = store.run("events", "list", "--json").out, store.run("registry", "list", "--json").out
        for words, typed, *_ in MISTAKES:
            store.run(*words, stdin=typed)
        assert before == (store.run("events", "list", "--json").out, store.run("registry", "list", "--json").out)


def unprivileged(folder, *words):
    """As a user who owns nothing here; skips where that cannot be tried."""
    if os.geteuid() != 0:
        tap.skip("needs root, to become somebody else")
    done = subprocess.run([PROGRAM, *words], cwd=folder.path, env=environment(), user=65534, group=65534, extra_groups=[], timeout=TIMEOUT_S,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_somebody_without_permission_is_told_what_lacks_it():
    with Store() as store:
        store.write("secret.json", "{}")
        os.chmod(store.path / "secret.json", 0o600)
        os.chmod(store.path / "trilha.db", 0o644)
        os.chmod(store.path, 0o755)
        try:
            found = [unprivileged(store, *words) for words in (
                [*PUBLISH, "secret.json"], ["init", "--store", "sqlite:mine.db"], ["events", "list"], ["keyring", "add", "mine.keyring"])]
        except PermissionError:
            tap.skip("the program's own folder is closed to others")
        for (status, shown), happened, advice in zip(found, (
                "cannot open secret.json", "cannot create the database", "the database cannot be written", "cannot open keyring"), (
                "check the name and its permissions", "its folder must be writable", "check the permissions of the file",
                "check the name and its permissions")):
            assert status in (1, 4) and happened in shown and advice in shown, shown


def test_a_database_that_another_program_holds_is_named_as_the_reason():
    """As long as a user waits: until the lock's deadline of half a minute."""
    with Store() as store:
        prepare(store)
        holder = sqlite3.connect(store.path / "trilha.db", isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        try:
            wrong = judge(store.run(*PUBLISH, stdin='{"n":1}'), PUBLISH, 4, "another program held the database until the deadline",
                          "nothing was stored; try again")
            assert wrong is None and store.run("events", "list").status == 0, wrong
        finally:
            holder.execute("ROLLBACK")
            holder.close()
        assert store.run(*PUBLISH, stdin='{"n":1}').status == 0


def test_mistakes_on_postgresql_are_answered_too():
    with test_postgres.Database() as database, Store() as store:
        server, _, name = database.url.partition("?")[0].rpartition("/")
        absent = database.url.replace("/" + name, "/" + name + "_absent")
        stranger = database.url.replace(server.split("//")[1].split("@")[0] + "@", "nobody_" + name + ":x@")
        cases = [
            (["events", "list", "--store", database.url], 4, "there is no Trilha schema", "run `trilha init`"),
            (["events", "list", "--store", absent], 4, "does not exist", "check the host, port, database and role in --store"),
            (["outbox", "install", "--store", database.url], 2, "an outbox is in a schema", "give --schema NAME")]
        if stranger != database.url:
            cases.append((["events", "list", "--store", stranger], 4, "nobody_" + name, "check the host, port, database and role in --store"))
        wrong = [answer for answer in (judge(store.run(*words), words, *rest) for words, *rest in cases) if answer]
        assert not wrong, "\n".join(wrong)
        assert "Trilha" in store.run("events", "list", "--store", database.url, LC_ALL="pt_BR.UTF-8").err


if __name__ == "__main__":
    tap.run(globals())
