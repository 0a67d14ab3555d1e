# tools: a private server crashes and comes back where nobody asks for processes that ended, as in a container whose first
# process is a shell.
import ctypes
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
import tap  # pylint: disable=wrong-import-position

TOOL = pathlib.Path(__file__).parent.parent.parent / "tools" / "private-postgres"
SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER, <sys/prctl.h>
SECONDS = 100


def tool(verb, folder, *words):
    return subprocess.run([TOOL, verb, folder, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=True,
                          timeout=SECONDS).stdout.strip()


def state_of(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0]


def postmaster(folder):
    return int((folder / "data/postmaster.pid").read_text(encoding="utf-8").split()[0])


def test_a_server_crashes_and_comes_back_where_its_processes_are_never_asked_for():
    if not os.environ.get("TRILHA_TEST_POSTGRES_URL"):
        tap.skip("needs PostgreSQL")
    # From now on the orphans below are this process's, which asks for none of them.
    assert ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0) == 0
    parent = pathlib.Path(tempfile.mkdtemp(prefix="trilha-private-"))
    parent.chmod(0o755)
    folder = parent / "server"
    try:
        tool("start", folder, "--no-fsync")
        first = postmaster(folder)
        tool("crash", folder)
        assert state_of(first) == "Z", "the case is not the one that is meant"
        tool("resume", folder)
        assert postmaster(folder) != first and state_of(postmaster(folder)) != "Z"
        tool("stop", folder)
        assert not folder.exists()
    finally:
        tool("stop", folder)
        shutil.rmtree(parent)


tap.run(globals())
