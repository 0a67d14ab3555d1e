# cli: the manual pages are sound and name every command and option that the program has.
import re
import shutil
import subprocess

from program import ROOT, run, tap

MAN = ROOT / "man"
# Where a command's options are described; the rest is in trilha.1.
PAGES = {"init": "trilha-init", "publish": "trilha-publish", "events": "trilha-events", "registry": "trilha-registry",
         "keyring": "trilha-keyring", "schema": "trilha-schema", "consume": "trilha-consume",
         "consumers": "trilha-consumers", "dlq": "trilha-dlq"}


def commands():
    """Every command as its words, from the program's own overview."""
    listed = re.search(r"^commands:\n(.*?)\n\n", run("--help").out, re.M | re.S).group(1)
    return [match.group(1).split() for match in re.finditer(r"^  ([a-z]+(?: [a-z]+)?)(?:\s{2,}|$)", listed, re.M)]


def options(words):
    return re.findall(r"^  (?:-\w, |    )--([a-z-]+)", run(*words, "--help").out, re.M)


def test_manual_pages_are_clean_to_mandoc():
    if shutil.which("mandoc") is None:
        tap.skip("mandoc is not installed")
    for page in sorted(MAN.glob("*.1")):
        done = subprocess.run(["mandoc", "-Tlint", "-W", "warning", page], stdout=subprocess.PIPE, text=True, check=False)
        assert done.returncode == 0 and done.stdout == "", done.stdout


def test_every_command_is_in_a_manual_page():
    found = commands()
    assert len(found) >= 15, found
    for words in found:
        page = (MAN / f"{PAGES.get(words[0], 'trilha')}.1").read_text(encoding="utf-8")
        assert re.search(rf"\b{words[-1]}\b", page), words


def test_every_option_is_in_a_manual_page():
    common = (MAN / "trilha.1").read_text(encoding="utf-8")
    for words in commands():
        page = (MAN / f"{PAGES.get(words[0], 'trilha')}.1").read_text(encoding="utf-8")
        for option in options(words):
            assert f"-{option}" in page or f"-{option}" in common, (words, option)


def test_every_command_has_help_in_both_languages():
    for words in commands():
        english, portuguese = run(*words, "--help"), run(*words, "--help", LC_ALL="pt_BR.UTF-8")
        assert english.status == portuguese.status == 0
        assert english.out.startswith("usage: trilha " + " ".join(words)), english
        assert portuguese.out.startswith("uso: trilha " + " ".join(words)) and portuguese.out != english.out


if __name__ == "__main__":
    tap.run(globals())
