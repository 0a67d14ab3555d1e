# cli: the five minutes of README and LEIA-ME, run as they stand.
import os
import re
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


def test_leia_me_leads_to_a_thousand_and_one_events():
    shown = follow("LEIA-ME.md", "Cinco minutos", 1001)
    assert "Payload inválido para pedido.criado@1.0.0" in shown and "status 3" in shown, shown[-2000:]


if __name__ == "__main__":
    tap.run(globals())
