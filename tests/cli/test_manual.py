# cli: the manual pages are sound and name every command and option that the program has.
import re
import shlex
import shutil
import subprocess

from program import ROOT, Folder, run, tap

MAN = ROOT / "man"
# Where a command's options are described; the rest is in trilha.1.
PAGES = {"init": "trilha-init", "publish": "trilha-publish", "events": "trilha-events", "registry": "trilha-registry",
         "keyring": "trilha-keyring", "schema": "trilha-schema", "consume": "trilha-consume",
         "consumers": "trilha-consumers", "guarantees": "trilha-consumers", "dlq": "trilha-dlq", "outbox": "trilha-outbox", "worker": "trilha-outbox", "inbox": "trilha-outbox", "service": "trilha-outbox", "purge": "trilha-outbox", "source": "trilha-outbox",
         "audit": "trilha-audit", "errors": "trilha-errors", "serve": "trilha-serve", "config": "trilha-serve", "token": "trilha-serve"}


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


def printed_examples():
    """(where, words) of every command that the manual pages, the documents and the help texts show; what it is piped into is left off."""
    for page in sorted(MAN.glob("*.1")):
        shown = re.search(r"^\.Sh EXAMPLES\n(.*?)(?=^\.Sh|\Z)", page.read_text(encoding="utf-8"), re.M | re.S)
        for line in re.findall(r"^\$ (trilha .*)$", shown.group(1) if shown else "", re.M):
            yield page.name, line
    documents = [ROOT / "README.md", ROOT / "LEIA-ME.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for document in documents:
        for block in re.findall(r"^```sh\n(.*?)^```", document.read_text(encoding="utf-8"), re.M | re.S):
            for line in re.findall(r"^(?:\$ )?(trilha [a-z-].*)$", block.replace("\\\n", " "), re.M):
                yield document.name, line.replace("…", "").rstrip(" &")
    for words in commands():
        shown = re.search(r"^examples:\n(.*?)\n\n", run(*words, "--help").out, re.M | re.S)
        for line in re.findall(r"^  (trilha .*)$", shown.group(1) if shown else "", re.M):
            yield " ".join(words) + " --help", line


def words_of(line):
    """The words of the line's first command, without what it is piped into or reads from."""
    found = []
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|<>")
    lexer.whitespace_split = True  # only these characters end a word beside blanks
    for word in lexer:
        if word[0] in "|<>":
            break
        found.append(word)
    return found


def test_every_printed_example_is_understood_by_the_program():
    found = list(printed_examples())
    assert len(found) >= 50, found
    for where, line in found:
        words = words_of(line)[1:]
        if words[:2] == ["events", "tail"] or words[0] == "serve" or any("postgresql://" in word for word in words):
            words.append("--help")  # would wait, or wants a server: --help is read with the other options
        with Folder() as folder:
            for index, word in enumerate(words):  # nothing is written outside of the scratch folder
                words[index] = word.replace("~", str(folder.path)).replace("$HOME", str(folder.path))
            outcome = folder.run(*words, TRILHA_KEYRING="", TMPDIR=str(folder.path))
        # A file that is not here is another matter; a usage error points at --help.
        assert "--help'" not in outcome.err, f"{where}: {line}\n{outcome}"


if __name__ == "__main__":
    tap.run(globals())
