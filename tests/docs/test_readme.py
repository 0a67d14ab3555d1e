# docs: the program that README shows compiles, both languages tell the same, and every link of the documents leads somewhere.
import pathlib
import re
import shutil
import subprocess
import sys

sys.path[:0] = [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).parent.parent / "support")]
import pages  # pylint: disable=wrong-import-position
import tap  # pylint: disable=wrong-import-position
from pages import ROOT  # pylint: disable=wrong-import-position


def test_both_readmes_lead_through_the_same_steps():
    english, portuguese = pages.read("README.md"), pages.read("LEIA-ME.md")
    assert len(re.findall("^## ", english, re.M)) == len(re.findall("^## ", portuguese, re.M))
    assert re.findall(r"^\*\*(\d)\.", english, re.M) == re.findall(r"^\*\*(\d)\.", portuguese, re.M) == list("123456")
    verbs = [[re.findall(r"^(?:  )?(?:.*\| )?(trilha [a-z]+)", block, re.M) for kind, block in pages.blocks_of(page) if kind == "sh"]
             for page in ("README.md", "LEIA-ME.md")]
    assert verbs[0] == verbs[1], verbs


def test_readme_program_compiles_without_a_warning():
    compiler = shutil.which("cc")
    if compiler is None:
        tap.skip("there is no C compiler")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```c\n(.*?)^```", readme, re.M | re.S)
    assert blocks, "README.md shows no C"
    for block in blocks:
        includes = [line for line in block.splitlines() if line.startswith("#include")]
        rest = [line for line in block.splitlines() if not line.startswith("#include")]
        source = "\n".join([*includes, "int main(void) {", *rest, "return 0;", "}", ""])
        done = subprocess.run([compiler, "-std=c99", "-Wall", "-Wextra", "-Werror", f"-I{ROOT}/include", "-fsyntax-only",
                               "-x", "c", "-"], input=source, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)
        assert done.returncode == 0, done.stdout


def test_the_page_on_performance_shows_the_stored_results():
    done = subprocess.run([ROOT / "bench/figures", "--check", ROOT / "docs/performance.md", "against_ajv", "sqlite_append"], stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_page_on_benchmarks_shows_the_stored_results():
    done = subprocess.run([ROOT / "bench/figures", "--check", ROOT / "docs/benchmarks.md"], stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_link_of_the_documents_leads_somewhere():
    documents = [path for path in ROOT.rglob("*.md") if not path.relative_to(ROOT).parts[0].startswith((".", "build"))
                 and "node_modules" not in path.parts]
    assert len(documents) >= 20, documents
    missing = []
    for document in documents:
        text = re.sub(r"^```.*?^```", "", document.read_text(encoding="utf-8"), flags=re.M | re.S)
        for link in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
            if "://" not in link and not (document.parent / link).exists():
                missing.append((document.relative_to(ROOT).as_posix(), link))
    assert not missing, missing


if __name__ == "__main__":
    tap.run(globals())
