# cli: running the built program as a person or another program would.
"""Helpers of the command line's tests. The program is the first argument of every test file."""
import os
import pathlib
import pty
import select
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
import tap  # pylint: disable=wrong-import-position,unused-import

PROGRAM = os.path.abspath(sys.argv[1])
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TIMEOUT_S = 180  # liveness only


def environment(**more):
    """A clean English environment: nothing of the caller's reaches the program."""
    kept = {name: value for name, value in os.environ.items()
            if name in ("PATH", "HOME", "TMPDIR") or name.startswith(("ASAN_", "UBSAN_", "TSAN_", "LSAN_"))}
    return {**kept, "LC_ALL": "C.UTF-8", **more}


class Outcome:
    """What a run left: its exit status and its two streams, as text."""

    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err

    def __repr__(self):
        return f"status {self.status}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"


class Folder:
    """A scratch folder to run in; gone afterwards."""

    def __init__(self):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="trilha-cli-"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for _ in range(100):  # a child of a killed program may write its last words meanwhile
            shutil.rmtree(self.path, ignore_errors=True)
            if not self.path.exists():
                return
            time.sleep(0.1)

    def run(self, *words, stdin=b"", stdout=None, **env):
        if isinstance(stdin, str):
            stdin = stdin.encode()
        done = subprocess.run([PROGRAM, *words], input=stdin, stdout=stdout or subprocess.PIPE, stderr=subprocess.PIPE,
                              cwd=self.path, env=environment(**env), timeout=TIMEOUT_S, check=False)
        return Outcome(done.returncode, (done.stdout or b"").decode("utf-8", "surrogateescape"),
                       done.stderr.decode("utf-8", "surrogateescape"))

    def start(self, *words, stderr=None, **env):
        """stderr: name of a file in the folder; else a pipe."""
        target = open(self.path / stderr, "ab") if stderr else subprocess.PIPE  # pylint: disable=consider-using-with
        try:
            return subprocess.Popen([PROGRAM, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=target,
                                    cwd=self.path, env=environment(**env))
        finally:
            if stderr:
                target.close()

    def run_in_terminal(self, *words, columns=80, **env):
        """Runs on a pseudo-terminal and returns everything it showed, both streams as they came."""
        master, slave = pty.openpty()
        process = subprocess.Popen([PROGRAM, *words], stdin=slave, stdout=slave, stderr=slave, cwd=self.path,
                                   env=environment(TERM="xterm", COLUMNS=str(columns), **env))
        os.close(slave)
        shown = b""
        while True:
            try:
                piece = os.read(master, 65536)
            except OSError:  # the other side is closed
                break
            if not piece:
                break
            shown += piece
        os.close(master)
        status = process.wait(TIMEOUT_S)
        return Outcome(status, shown.decode("utf-8", "surrogateescape").replace("\r\n", "\n"), "")

    def write(self, name, content):
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)


def _signals(pid, which):
    """A set of signals of a process as the kernel tells it: SigCgt (has a handler), SigPnd, ShdPnd (wait to be delivered)."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(which + ":"):
            return int(line.split()[1], 16)
    raise AssertionError(f"/proc/{pid}/status has no {which}")


def wait_until_caught(pid, number):
    """Until the process has a handler for the signal."""
    end = time.monotonic() + TIMEOUT_S
    while not _signals(pid, "SigCgt") >> (number - 1) & 1:
        assert time.monotonic() < end, "no handler came"
        time.sleep(0.01)


def wait_until_handled_once(pid, number):
    """After a signal was sent to a handler that is for one time: until it has run."""
    end = time.monotonic() + TIMEOUT_S
    while _signals(pid, "SigCgt") >> (number - 1) & 1:
        assert time.monotonic() < end, "the signal was not handled"
        time.sleep(0.01)


def run(*words, **more):
    """Runs in a scratch folder of its own."""
    with Folder() as folder:
        return folder.run(*words, **more)


def read_lines(process, count, seconds=TIMEOUT_S):
    """The next `count` lines of a running program's standard output; what came with them is kept for the next call."""
    end = time.monotonic() + seconds
    come = getattr(process, "come", b"")
    while come.count(b"\n") < count:
        left = end - time.monotonic()
        assert left > 0, f"only {come!r} instead of {count} lines in {seconds} s"
        if not select.select([process.stdout], [], [], left)[0]:
            continue
        piece = os.read(process.stdout.fileno(), 65536)
        assert piece, f"ended after {come!r} instead of {count} lines"
        come += piece
    *lines, process.come = come.split(b"\n", count)
    return lines
