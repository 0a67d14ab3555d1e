# cli: init, registry and keyring.
import copy
import json
import os
import stat

from program import Folder, run, tap
from stores import ORDER_TYPE, TYPES, Store, parsed


def changed(**more):
    version = copy.deepcopy(ORDER_TYPE)
    version.update(more)
    return version


def test_init_prints_each_migration_and_running_it_again_does_no_harm():
    with Folder() as folder:
        pending = folder.run("init", "--dry-run")
        assert pending.status == 0 and set(line.split(": ")[1] for line in pending.out.splitlines()) == {"would be applied"}
        assert not (folder.path / "trilha.db").exists() or folder.run("events", "list").status == 4
        first = folder.run("init")
        assert first.status == 0 and "20260808112047_init_core: applied\n" in first.out
        again = folder.run("init")
        assert again.status == 0 and set(line.split(": ")[1] for line in again.out.splitlines()) == {"already there"}
        as_json = parsed(folder.run("init", "--json").out)
        assert {entry["what"] for entry in as_json} == {"present"}
        assert [entry["migration"] for entry in as_json] == [line.split(":")[0] for line in first.out.splitlines()]


def test_init_print_sql_is_sql_for_the_kind_of_store_and_touches_nothing():
    with Folder() as folder:
        sqlite = folder.run("init", "--print-sql")
        assert sqlite.status == 0 and "core_event_log" in sqlite.out
        postgres = folder.run("init", "--print-sql", "--store", "postgresql://nobody@nowhere.invalid/none")
        assert postgres.status == 0 and "core.event_log" in postgres.out and "GRANT" in postgres.out.upper()
        assert list(folder.path.iterdir()) == []


def test_init_dev_makes_a_store_to_develop_against_and_again_changes_nothing():
    with Folder() as folder:
        first = folder.run("init", "--dev")
        assert first.status == 0 and "export TRILHA_KEYRING=file:trilha.keyring" in first.err, first
        assert stat.S_IMODE(os.stat(folder.path / "trilha.keyring").st_mode) == 0o600
        again = folder.run("init", "--dev")
        assert again.status == 0 and again.err == "" and again.out.count("with the same content") == 3, again
        page = json.loads(folder.run("events", "list", "--json").out)
        assert [row["timestamp"] for row in page["linhas"]] == ["2026-06-15T10:30:00Z", "2026-06-15T10:30:05Z",
                                                               "2026-06-15T10:30:10Z"]
        assert "Rua das Flores" not in json.dumps(page, ensure_ascii=False)


def test_init_in_a_place_that_cannot_be_written_fails_with_a_reason():
    outcome = run("init", "--store", "sqlite:/proc/nowhere/trilha.db")
    assert outcome.status in (1, 4) and outcome.err.startswith("trilha: "), outcome
    with Folder() as folder:
        folder.write("trilha.db", b"this is no database, but long enough to look like a file of one" * 100)
        outcome = folder.run("init")
        assert outcome.status in (1, 4) and outcome.err.startswith("trilha: "), outcome


def test_apply_says_what_became_of_each_version_and_is_idempotent():
    with Folder() as folder:
        assert folder.run("init").status == 0
        dry = folder.run("registry", "apply", "--dry-run", TYPES)
        assert dry.status == 0 and dry.out.count("would be added") == 4
        assert folder.run("registry", "list", "--json").out == ""
        assert folder.run("registry", "apply", TYPES).out.count(": added\n") == 4
        assert folder.run("registry", "apply", TYPES).out.count(": unchanged\n") == 4
        listed = parsed(folder.run("registry", "list", "--json").out)
        assert {(t["tipo"], t["versao"]) for t in listed} == {("demanda.recebida", "1.0.0"), ("demanda.recebida", "1.1.0"),
                                                              ("demanda.normalizada", "1.0.0"), ("demanda.categorizada", "1.0.0")}


def test_published_version_never_changes_and_the_difference_is_shown():
    with Store() as store:
        other = changed()
        other["schema"]["properties"]["total"]["minimum"] = 5
        store.write("other.json", json.dumps(other))
        outcome = store.run("registry", "apply", "other.json")
        assert outcome.status == 1 and "pedido.criado@1.0.0: refused: " in outcome.out, outcome
        assert "/properties/total/minimum" in outcome.out and "nothing was registered" in outcome.err
        result, = parsed(store.run("registry", "apply", "other.json", "--json").out)
        assert result["change"] == "refused" and result["file"] == "other.json"
        other["schema"]["required"] = []
        store.write("other.json", json.dumps(other))
        both = store.run("registry", "apply", "other.json").out
        assert 'at "/required/0": removed' in both and "/properties/total/minimum" in both, both


def test_one_bad_version_registers_none_of_them():
    with Store() as store:
        store.write("types/a.json", json.dumps(changed(tipo="a.b")))
        store.write("types/b.json", json.dumps(changed(tipo="b.c", schema={"type": "objekt", "x-redacao": "manter"})))
        outcome = store.run("registry", "apply", "types")
        assert outcome.status == 3 and "b.c@1.0.0: refused" in outcome.out, outcome
        assert "a.b" not in store.run("registry", "list").out


def test_what_no_store_could_keep_is_told_with_line_column_and_pointer():
    with Store() as store:
        store.write("nul.json", '{"tipo":"a.b","versao":"1.0.0",\n "schema":{"x-redacao":"manter","const":"\\u0000"}}')
        outcome = store.run("registry", "apply", "nul.json")
        assert outcome.status == 3 and 'nul.json, line 2, column ' in outcome.err, outcome
        assert ', at "/schema/const": ' in outcome.err and "[JSON_NUL]" in outcome.err, outcome


def test_list_of_versions_in_one_file_is_taken_whole():
    with Store() as store:
        store.write("list.json", json.dumps([changed(versao="1.1.0"), changed(versao="1.2.0")]))
        assert store.run("registry", "apply", "list.json").out.count(": added\n") == 2


def test_files_that_are_no_type_versions_are_named_with_line_and_column():
    with Store() as store:
        cases = {"broken.json": ('{"tipo": "a.b",\n "versao" "1.0.0"}', "broken.json, line 2, column 11"),
                 "member.json": (json.dumps(changed(verzao="1.0.0")), 'did you mean "versao"'),
                 "number.json": (json.dumps(changed(versao=1)), '"versao" must be a string'),
                 "missing.json": ('{"tipo":"a.b"}', '"versao" is missing'),
                 "text.json": ('"a.b"', "must be an object"),
                 "double.json": ('{"tipo":"a.b","tipo":"a.c","versao":"1.0.0","schema":{}}', "double.json, line 1")}
        for name, (content, reason) in cases.items():
            store.write(name, content)
            outcome = store.run("registry", "apply", name)
            assert outcome.status == 3 and reason in outcome.err, (name, outcome)
        assert "nowhere" in store.run("registry", "apply", "nowhere").err
        (store.path / "empty").mkdir()
        assert "no .json, .yaml or .yml file below empty" in store.run("registry", "apply", "empty").err


YAML_TYPE = """\
# A comment for people.
tipo: pedido.pago
versao: 1.0.0
descricao: Um pedido foi pago
schema:
  type: object
  required: [pedido]
  additionalProperties: false
  properties:
    pedido: &texto { type: string, x-redacao: manter }
    recibo: *texto
    valor: { type: number, multipleOf: 0.010, x-redacao: { arredondar: 2 } }
"""


def test_yaml_and_json_files_of_a_folder_are_registered_together_and_mean_the_same():
    with Store() as store:
        store.write("types/pago.yaml", YAML_TYPE)
        store.write("types/more/criado.yml", json.dumps(changed(versao="1.1.0")))
        store.write("types/notes.txt", "not a type")
        store.write("types/.hidden.json", "not a type either")
        outcome = store.run("registry", "apply", "types")
        assert outcome.status == 0 and outcome.out.count(": added\n") == 2, outcome
        version, = parsed(store.run("registry", "show", "pedido.pago", "1.0.0", "--json").out)
        assert version["schema"]["properties"]["recibo"] == {"type": "string", "x-redacao": "manter"}
        del version["criado_em"]
        store.write("again.json", json.dumps(version))
        assert store.run("registry", "apply", "again.json").out == "pedido.pago@1.0.0: unchanged\n"


def test_yaml_mistakes_are_located():
    with Store() as store:
        store.write("bad.yaml", "tipo: a.b\nversao: 1.0.0\nschema: {type: object\n")
        outcome = store.run("registry", "apply", "bad.yaml")
        assert outcome.status == 3 and "bad.yaml, line" in outcome.err, outcome
        store.write("twice.yaml", "tipo: a.b\ntipo: c.d\nversao: 1.0.0\n")
        outcome = store.run("registry", "apply", "twice.yaml")
        assert outcome.status == 3 and "twice.yaml, line 2" in outcome.err and "YAML_DUPLICATE_KEY" in outcome.err, outcome
        store.write("number.yaml", "tipo: a.b\nversao: 1.0\nschema: {}\n")
        outcome = store.run("registry", "apply", "number.yaml")
        assert outcome.status == 3 and "quote it" in outcome.err, outcome


def test_schema_without_a_redaction_rule_is_refused():
    with Store() as store:
        store.write("bare.json", json.dumps(changed(tipo="a.b", schema={"type": "object"})))
        outcome = store.run("registry", "apply", "bare.json")
        assert outcome.status == 3 and "REDACTION_NO_RULES" in outcome.out, outcome


def test_show_gives_the_schema_and_json_that_apply_takes_again():
    with Store() as store:
        shown = store.run("registry", "show", "pedido.criado")
        assert shown.status == 0 and '"x-redacao": "remover"' in shown.out
        version, = parsed(store.run("registry", "show", "pedido.criado", "1.0.0", "--json").out)
        assert version["schema"] == ORDER_TYPE["schema"]
        del version["criado_em"]
        store.write("again.json", json.dumps(version))
        assert store.run("registry", "apply", "again.json").out == "pedido.criado@1.0.0: unchanged\n"
        for words in (("x.y",), ("pedido.criado", "9.9.9")):
            missing = store.run("registry", "show", *words)
            assert missing.status == 1 and "is not registered" in missing.err, missing


def test_deprecated_type_is_no_longer_published_and_still_read():
    with Store() as store:
        assert store.publish({"pedido": "P-1"}).status == 0
        assert "would be deprecated" in store.run("registry", "deprecate", "pedido.criado", "--dry-run").out
        assert store.publish({"pedido": "P-2"}).status == 0
        assert store.run("registry", "deprecate", "pedido.criado", "1.0.0").out == "pedido.criado@1.0.0 is deprecated now\n"
        outcome = store.publish({"pedido": "P-3"})
        assert outcome.status == 3 and "[EVENT_TYPE_DEPRECATED]" in outcome.err
        assert store.events()["total"] == 2
        assert store.run("registry", "deprecate", "x.y").status == 1


def test_keyring_is_made_private_and_lists_names_only():
    with Folder() as folder:
        assert folder.run("keyring", "add", "keys", "--kid", "first").status == 0
        assert stat.S_IMODE(os.stat(folder.path / "keys").st_mode) == 0o600
        assert folder.run("keyring", "add", "file:keys", "--kid", "second").status == 0
        listed = folder.run("keyring", "list", "keys")
        assert listed.out.splitlines() == ["first", "second  (newest: used for new events)"]
        assert parsed(folder.run("keyring", "list", "keys", "--json").out) == [{"kid": "first", "newest": False},
                                                                             {"kid": "second", "newest": True}]
        content = (folder.path / "keys").read_text(encoding="ascii")
        secrets = [line.split(":")[1] for line in content.splitlines() if ":" in line]
        assert len(secrets) == 2 and not any(secret in listed.out for secret in secrets)
        again = folder.run("keyring", "add", "keys", "--kid", "first")
        assert again.status != 0 and (folder.path / "keys").read_text(encoding="ascii") == content
        assert folder.run("keyring", "add", "keys", "--kid", "No Good").status != 0


def test_keyring_dry_run_checks_and_writes_nothing():
    with Folder() as folder:
        dry = folder.run("keyring", "add", "keys", "--kid", "first", "--dry-run")
        assert dry.status == 0 and dry.out == "key first would be added to keys\n", dry
        assert not (folder.path / "keys").exists()
        assert folder.run("keyring", "add", "keys", "--kid", "first").status == 0
        before = (folder.path / "keys").read_bytes()
        told = parsed(folder.run("keyring", "add", "keys", "--kid", "second", "--dry-run", "--json").out)
        assert told == [{"kid": "second", "file": "keys", "dry_run": True}], told
        assert folder.run("keyring", "add", "keys", "--kid", "first", "--dry-run").status != 0
        assert folder.run("keyring", "add", "keys", "--kid", "No Good", "--dry-run").status != 0
        assert (folder.path / "keys").read_bytes() == before and list(folder.path.iterdir()) == [folder.path / "keys"]


def test_keyring_list_refuses_what_is_no_keyring():
    with Folder() as folder:
        folder.write("keys", "nonsense\n")
        os.chmod(folder.path / "keys", 0o600)
        outcome = folder.run("keyring", "list", "keys")
        assert outcome.status != 0 and "nonsense" not in outcome.err, outcome
        assert folder.run("keyring", "list", "nowhere").status != 0


if __name__ == "__main__":
    tap.run(globals())
