# outbox: every test that tests/outbox/README.md names exists, and every clause names one.
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/support"))
import tap  # pylint: disable=wrong-import-position

ROWS = re.findall(r"^\| (?!clause|report|---)(.+?) \| (.+?) \|$", (ROOT / "tests/outbox/README.md").read_text(encoding="utf-8"), re.M)


def existing():
    names = set()
    for folder in ("outbox", "relay", "unit_of_work", "reaction", "webhook", "transport", "fault"):
        for source in (ROOT / "tests" / folder).glob("*.c"):
            names |= set(re.findall(r"\b(?:TEST|ON_A_FRESH_DATABASE|cmocka_unit_test)\((\w+)\)|^    {\"(\w+)\", \w+},$",
                                    source.read_text(encoding="utf-8"), re.M))
    names = {name for pair in names for name in pair if name}
    webhook = (ROOT / "tests/cli/test_webhook.py").read_text(encoding="utf-8")
    examples = (ROOT / "tests/examples/test_examples.py").read_text(encoding="utf-8")
    return names | set(re.findall(r"^def (test_\w+)\(", webhook, re.M)) | set(re.findall(r"^def test_(\w+)\(", examples, re.M))


def test_every_clause_names_tests_that_exist():
    assert len(ROWS) >= 34, ROWS
    known = existing()
    for clause, cell in ROWS:
        tests = re.findall(r"`(\w+)`", cell)
        assert tests and set(tests) <= known, (clause, set(tests) - known)


if __name__ == "__main__":
    tap.run(globals())
