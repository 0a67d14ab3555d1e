# cli: `trilha schema validate`: verdicts, places, output for programs, references, exit statuses, and the official test suite.
import json
import os
import pathlib
import sys

import program
from program import Folder, run, tap

SHARED = pathlib.Path(os.environ.get("TRILHA_SHARED", program.ROOT.parent / "shared"))
SUITE = SHARED / "conformance/json-schema-test-suite"
PERSON = {"$id": "https://example.org/person", "type": "object", "required": ["nome"], "additionalProperties": False,
          "properties": {"nome": {"type": "string", "pattern": "^[A-Z]"}, "idade": {"minimum": 18}, "desde": {"format": "date"}}}


def folder_with(**files):
    folder = Folder()
    for name, content in files.items():
        folder.write(name.replace("__", "/") + ".json", json.dumps(content))
    return folder


def validate(folder, *words, **more):
    return folder.run("schema", "validate", "--schema", "schema.json", *words, **more)


def lines_of(outcome):
    return [json.loads(line) for line in outcome.out.splitlines()]


def test_valid_document_ends_with_0():
    with folder_with(schema=PERSON, a={"nome": "Ana"}) as folder:
        outcome = validate(folder, "a.json")
    assert (outcome.status, outcome.out, outcome.err) == (0, "a.json: valid\n", ""), outcome


def test_every_error_has_its_place_its_keyword_and_its_place_in_the_schema_and_ends_with_3():
    with folder_with(schema=PERSON, a={"nome": "ana", "idade": 3, "cpf": "123"}) as folder:
        outcome = validate(folder, "a.json")
    assert outcome.status == 3 and outcome.err == "", outcome
    first, *errors = outcome.out.splitlines()
    assert first == "a.json: invalid"
    assert len(errors) == 3, outcome
    assert errors[0].startswith("    /nome  ") and errors[0].endswith("(pattern: /properties/nome/pattern)")
    assert errors[1].startswith("    /idade  ") and errors[1].endswith("(minimum: /properties/idade/minimum)")
    assert errors[2].startswith("    /cpf  ") and errors[2].endswith("/additionalProperties)")


def test_values_of_a_document_are_never_shown():
    with folder_with(schema={"properties": {"a": {"enum": [1]}, "b": {"const": "x"}, "c": {"maxLength": 2}}},
                     a={"a": "segredo-1", "b": "segredo-2", "c": "segredo-3"}) as folder:
        for words in ((), ("--json",)):
            outcome = validate(folder, "a.json", *words)
            assert outcome.status == 3 and "segredo" not in outcome.out + outcome.err, outcome


def test_json_is_one_line_a_document_in_the_list_output_format():
    with folder_with(schema=PERSON, a={"nome": "Ana"}, b={"nome": "Bia", "idade": 1}) as folder:
        outcome = validate(folder, "--json", "a.json", "b.json")
    good, bad = lines_of(outcome)
    assert outcome.status == 3
    assert good == {"valid": True, "instance": "a.json"}
    assert bad["valid"] is False and bad["instance"] == "b.json" and bad["errorCount"] == 1
    (unit,) = bad["errors"]
    (detail,) = bad["details"]
    assert detail["evaluationPath"] == unit["keywordLocation"] and detail["instanceLocation"] == unit["instanceLocation"]
    assert list(detail["errors"]) == [unit["keyword"]] and detail["valid"] is False
    assert unit.pop("error")
    assert unit == {"valid": False, "keywordLocation": "/properties/idade/minimum", "instanceLocation": "/idade", "keyword": "minimum",
                    "absoluteKeywordLocation": "https://example.org/person#/properties/idade/minimum"}


def test_schema_without_an_address_has_no_absolute_locations():
    with folder_with(schema={"minimum": 3}, a=1) as folder:
        (line,) = lines_of(validate(folder, "--json", "a.json"))
    assert "absoluteKeywordLocation" not in line["errors"][0] and line["errors"][0]["instanceLocation"] == ""


def test_standard_input_is_a_document():
    with folder_with(schema=PERSON) as folder:
        assert validate(folder, "-", stdin='{"nome":"Ana"}').out == "-: valid\n"
        assert validate(folder, "-", stdin='{"nome":1}').status == 3


def test_jsonl_is_a_document_a_line_blank_lines_apart():
    with folder_with(schema=PERSON) as folder:
        folder.write("l.jsonl", '{"nome":"Ana"}\r\n\n  \n{"nome":1}\n{"nome":"B"}')
        outcome = validate(folder, "l.jsonl", "--json")
        piped = validate(folder, "-", "--jsonl", stdin='{"nome":"Ana"}\n{"nome":1}\n')
    assert [(line["line"], line["valid"]) for line in lines_of(outcome)] == [(1, True), (4, False), (5, True)]
    assert piped.out.startswith("-:1: valid\n-:2: invalid\n") and piped.status == 3


def test_unreadable_document_is_a_line_with_its_json_error_and_the_rest_goes_on():
    with folder_with(schema=PERSON) as folder:
        folder.write("l.jsonl", b'{"nome":\n{"nome":"\xff"}\n{"nome":"Ana"}\n')
        syntax, utf8, good = lines_of(validate(folder, "--json", "l.jsonl"))
        people = validate(folder, "l.jsonl")
    assert (syntax["valid"], syntax["code"], syntax["errorLine"], syntax["errorColumn"]) == (False, "JSON_SYNTAX", 1, 9)
    assert utf8["valid"] is False and utf8["code"] == "JSON_UTF8" and utf8["line"] == 2
    assert good == {"valid": True, "instance": "l.jsonl", "line": 3}
    assert people.status == 3 and "[JSON_SYNTAX]" in people.out


def test_file_that_cannot_be_opened_ends_with_1_and_the_rest_goes_on():
    with folder_with(schema=PERSON, a={"nome": "Ana"}) as folder:
        outcome = validate(folder, "missing.json", "missing.jsonl", "a.json")
    assert outcome.status == 1 and outcome.out.count("[FILE_OPEN]") == 2 and outcome.out.endswith("a.json: valid\n"), outcome


def test_format_is_asserted_only_when_asked():
    with folder_with(schema=PERSON, a={"nome": "Ana", "desde": "2023-02-29"}) as folder:
        assert validate(folder, "a.json").status == 0
        outcome = validate(folder, "a.json", "--assert-format")
    assert outcome.status == 3 and "(format: /properties/desde/format)" in outcome.out


def test_references_reach_files_by_base_and_path_and_by_id():
    schema = {"allOf": [{"$ref": "https://a.example/s/deep/one.json"}, {"$ref": "urn:two"}, {"$ref": "https://b.example/three%20x.json#/$defs/n"}]}
    with folder_with(schema=schema, good=7, bad=1, s__deep__one={"minimum": 2}, s__two={"$id": "urn:two", "minimum": 3}) as folder:
        folder.write("t/three x.json", '{"$defs":{"n":{"minimum":4}}}')
        folder.write("t/note.txt", "this is no JSON")
        folders = ("--ref-dir", "https://a.example/s=s", "--ref-dir", "https://b.example/=t")
        outcome = validate(folder, "good.json", "bad.json", *folders)
    assert outcome.status == 3 and outcome.out.startswith("good.json: valid\nbad.json: invalid\n") and outcome.out.count("minimum:") == 3, outcome


def test_schema_below_a_ref_dir_has_its_address():
    with folder_with(s__schema={"$ref": "other.json"}, s__other={"type": "integer"}, a="x") as folder:
        outcome = folder.run("schema", "validate", "--schema", "s/schema.json", "--ref-dir", "https://a.example=s", "--json", "a.json")
    (line,) = lines_of(outcome)
    assert line["errors"][0]["absoluteKeywordLocation"] == "https://a.example/other.json#/type"


def test_yaml_serves_as_schema_as_reference_and_as_document():
    with Folder() as folder:
        folder.write("s.yaml", "# a comment\ntype: object\nproperties:\n  n: {$ref: 'https://a.example/n.yml'}\n")
        folder.write("d/n.yml", "minimum: 2\n")
        folder.write("a.yaml", "n: 2\n")
        folder.write("b.yml", "n: 1\n")
        folder.write("c.yml", "n: [1\n")
        outcome = folder.run("schema", "validate", "--schema", "s.yaml", "--ref-dir", "https://a.example/=d", "a.yaml", "b.yml", "c.yml")
    assert outcome.status == 3, outcome
    assert outcome.out.startswith("a.yaml: valid\nb.yml: invalid\n    /n ") and "c.yml: " in outcome.out and "[YAML_SYNTAX]" in outcome.out


def test_nothing_is_fetched_and_an_unknown_reference_is_a_bad_schema():
    with folder_with(schema={"$ref": "http://127.0.0.1:9/x.json"}, a=1, d__x={}) as folder:
        folder.write("d/broken.json", "{")
        bare = validate(folder, "a.json")
        with_folder = validate(folder, "a.json", "--ref-dir", "http://127.0.0.1:8/=d")
    assert bare.status == 2 and bare.out == "" and "SCHEMA_REF_UNRESOLVED" in bare.err and "--ref-dir" in bare.err
    assert with_folder.status == 2 and "d/broken.json was left out" in with_folder.err


def test_bad_schemas_end_with_2_and_say_where():
    for schema in ({"type": "strnig"}, {"pattern": "("}, {"properties": []}, 3):
        with folder_with(schema=schema, a=1) as folder:
            outcome = validate(folder, "a.json")
        assert outcome.status == 2 and outcome.out == "" and outcome.err.startswith("trilha: "), (schema, outcome)
    with Folder() as folder:
        folder.write("schema.json", "{")
        assert validate(folder, "a.json").status == 2
        assert folder.run("schema", "validate", "--schema", "none.json", "a.json").status == 2


def test_wrong_usage_ends_with_2():
    with folder_with(schema=True, a=1) as folder:
        assert folder.run("schema", "validate", "a.json").status == 2
        assert validate(folder).status == 2
        for wrong in ("x", "=d", "https://x=", "https://x=none", "https://x=schema.json"):
            outcome = validate(folder, "a.json", "--ref-dir", wrong)
            assert outcome.status == 2 and "REF_DIR" in outcome.err, (wrong, outcome)


def test_control_characters_of_names_reach_no_terminal():
    with folder_with(schema={"additionalProperties": False}, a={"\u001b[31mx\u202e": 1}) as folder:
        outcome = folder.run_in_terminal("schema", "validate", "--schema", "schema.json", "a.json", NO_COLOR="1")
    assert "\x1b[31mx" not in outcome.out and "\u202e" not in outcome.out, outcome


def test_a_thousand_lines_and_a_very_long_one_pass_through():
    with folder_with(schema={"type": "string"}) as folder:
        folder.write("l.jsonl", '"a"\n' * 1000 + '"' + "b" * 3000000 + '"\n1\n')
        outcome = validate(folder, "l.jsonl", "--json")
    lines = lines_of(outcome)
    assert len(lines) == 1002 and [line["line"] for line in lines if not line["valid"]] == [1002]


def test_document_that_cannot_be_decided_is_not_valid():
    with folder_with(schema={"not": {"pattern": "^(a+)+\\1$"}}, a="a" * 60 + "!") as folder:
        outcome = validate(folder, "a.json", "--json")
    (line,) = lines_of(outcome)
    assert outcome.status == 3 and line["valid"] is False and line["code"] == "INSTANCE_UNDECIDED", outcome


def run_suite_file(folder, path):
    """The descriptions whose verdict is wrong."""
    wrong = []
    for number, group in enumerate(json.loads(path.read_text())):
        folder.write("schema.json", json.dumps(group["schema"]))
        folder.write("l.jsonl", "".join(json.dumps(test["data"]) + "\n" for test in group["tests"]))
        outcome = validate(folder, "--json", "--ref-dir", f"http://localhost:1234/={SUITE}/remotes", "l.jsonl")
        verdicts = [line["valid"] for line in lines_of(outcome)]
        wanted = [test["valid"] for test in group["tests"]]
        if verdicts != wanted or outcome.status != (0 if all(wanted) else 3):
            wrong.append(f"{path.name} {number} {group['description']}: {verdicts} instead of {wanted}; {outcome.err}")
    return wrong


def test_required_part_of_the_official_suite_has_every_verdict_right():
    folder_of_tests = SUITE / "tests/draft2020-12"
    if not folder_of_tests.is_dir():
        tap.skip(f"no {folder_of_tests}")
    with Folder() as folder:
        wrong = [line for path in sorted(folder_of_tests.glob("*.json")) for line in run_suite_file(folder, path)]
    assert not wrong, "\n".join(wrong)


if __name__ == "__main__":
    assert len(sys.argv) > 1
    tap.run(globals())
