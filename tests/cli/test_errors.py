# cli: error codes, their HTTP statuses and the reasons.
import os

from program import ROOT, run, tap
from stores import parsed

DOCUMENT = ROOT / "docs/errors.md"
HEAD = """# Error codes and HTTP statuses

A code's status is its exact mapping, else that of its suffix, else 400. Why a mapping is exact is for readers of this page and of the code; an answer never
carries it (ruling R27). An embedder adds its own with `trilha_error_map_add()` ([trilha/errors.h](../include/trilha/errors.h)), under the same rule.
Made from `trilha errors list`; a test compares (`TRILHA_UPDATE_DOCS=1` writes it anew).

| code | status | because |
| --- | --- | --- |
"""


def test_list_has_exact_mappings_with_reasons_then_ten_suffixes_then_400():
    rows = parsed(run("errors", "list", "--json").out)
    exact = [row for row in rows if row["rule"] == "exact"]
    assert len(exact) >= 10 and all(row["because"] for row in exact)
    assert [row["code"] for row in exact] == sorted(row["code"] for row in exact)
    assert [row["rule"] for row in rows[len(exact):]] == ["suffix"] * 10 + ["otherwise"] and rows[-1]["status"] == 400
    shown = run("errors", "list").out
    assert all(row["code"] in shown for row in rows), shown


def test_explain_names_status_rule_and_remedy():
    def explained(code):
        row = parsed(run("errors", "explain", "--json", code).out)[0]
        return row["status"], row["rule"]
    assert explained("EVENT_NOT_FOUND") == (404, "_NOT_FOUND")
    assert explained("FILTER_INVALID") == (400, "exact") and explained("AUDIT_ENTRY_INVALID") == (422, "_INVALID")
    assert explained("NOBODY_KNOWS") == (400, "otherwise")
    outcome = run("errors", "explain", "STORE_URL_INVALID")
    assert outcome.status == 0 and "--store" in outcome.err, outcome
    assert run("errors", "explain", "X" * 500).status == 0
    assert run("errors", "explain").status == 2


def test_the_documentation_is_the_table():
    rows = parsed(run("errors", "list", "--json").out)
    text = HEAD + "".join(f"| `{'…' if row['rule'] == 'suffix' else ''}{row['code']}` | {row['status']} | {row['because'] or ''} |\n"
                          for row in rows)
    if os.environ.get("TRILHA_UPDATE_DOCS"):
        DOCUMENT.write_text(text, encoding="utf-8")
    assert DOCUMENT.read_text(encoding="utf-8") == text, "TRILHA_UPDATE_DOCS=1 writes docs/errors.md anew"


if __name__ == "__main__":
    tap.run(globals())
