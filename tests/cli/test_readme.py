# cli: the five minutes of README and LEIA-ME, run as they stand, and the program that README shows, compiled.
import os
import re
import shutil
import subprocess

import program
from program import PROGRAM, ROOT, Folder, tap


def blocks_of(document, heading):
    """The shell blocks of the section whose heading begins so."""
    text = (ROOT / document).read_text(encoding="utf-8")
    section = re.search(rf"^## {heading}.*?(?=^## |\Z)", text, re.M | re.S)
    assert section, f"{document} has no section '{heading}'"
    blocks = re.findall(r"^```sh\n(.*?)^```", section.group(0), re.M | re.S)
    assert len(blocks) >= 3, f"{document}: only {len(blocks)} blocks"
    return blocks


def follow(document, heading, events):
    """Everything but the build, which is done: the folder it enters becomes a scratch folder."""
    with Folder() as folder:
        lines = [line for line in "\n".join(blocks_of(document, heading)).splitlines()
                 if not line.startswith(("make ", "export PATH=", "git clone", "mkdir -p /tmp/", "cd "))]
        env = program.environment()
        env["PATH"] = os.path.dirname(PROGRAM) + ":" + env["PATH"]
        done = subprocess.run(["bash", "-euxo", "pipefail", "-c", "\n".join(lines)], cwd=folder.path, env=env,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stdout[-4000:]
        page = folder.run("events", "list", "--json", "--limit", "1")
        assert f'"total":{events},' in page.out, page
        return done.stdout


def test_readme_leads_to_a_thousand_and_one_events():
    shown = follow("README.md", "Five minutes", 1001)
    assert "PAYLOAD_INVALID" in shown and "exit status 3" in shown, shown[-2000:]
    assert "order.placed@1.0.0: added" in shown and "1000 published, 0 repeated, 0 failed" in shown, shown[-4000:]
    assert "1–3 of 1001" in shown and '"sequence_number":"991"' in shown, shown[-4000:]
    # What the last look shows is what was stored: no name, no note, a rounded number.
    stored = next(line for line in shown.splitlines() if line.startswith('{"linhas":[{"sequence_number":"1"'))
    assert '"total":12,' in stored and '"customer":"h1:k1:' in stored and '"total":1,"limite"' in stored, stored
    assert "Ana Souza" not in stored and "ring twice" not in stored, stored


def test_leia_me_leads_to_a_thousand_and_one_events():
    shown = follow("LEIA-ME.md", "Cinco minutos", 1001)
    assert "Payload inválido para pedido.criado@1.0.0" in shown and "status 3" in shown, shown[-2000:]


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


def test_every_file_that_the_readmes_link_to_is_there():
    for document in ("README.md", "LEIA-ME.md"):
        links = re.findall(r"\]\(([^)#]+)\)", (ROOT / document).read_text(encoding="utf-8"))
        local = [link for link in links if "://" not in link]
        assert local, document
        missing = [link for link in local if not (ROOT / link).exists()]
        assert not missing, f"{document}: {missing}"


if __name__ == "__main__":
    tap.run(globals())
