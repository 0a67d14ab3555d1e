# tools: run-tests counts subtests, and whatever did not say that it passed has failed.
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "support"))
import tap  # pylint: disable=wrong-import-position


def run(programs, *arguments):
    """The last line and exit status of run-tests over TAP programs given as {name: shell script}."""
    folder = pathlib.Path(tempfile.mkdtemp())
    try:
        lines = ["project('x')", "sh = find_program('sh')"]
        for name, script in programs.items():
            (folder / f"{name}.sh").write_text(script + "\n", encoding="utf-8")
            kind = "exitcode" if name.startswith("code") else "tap"
            lines.append(f"test('{name}', sh, args : files('{name}.sh'), protocol : '{kind}', timeout : {3 if name == 'hangs' else 120})")
        (folder / "meson.build").write_text("\n".join(lines) + "\n", encoding="utf-8")
        done = subprocess.run([sys.executable, str(ROOT / "tools/run-tests"), "b", *arguments], cwd=folder, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, check=False)
        return done.stdout.rstrip("\n").split("\n"), done.returncode
    finally:
        shutil.rmtree(folder)


def test_passed_failed_and_skipped_subtests_are_counted_one_by_one():
    lines, status = run({"good": "echo 1..3; echo ok 1 - a; echo ok 2 - b; echo 'ok 3 - c # SKIP no server'",
                         "bad": "echo 1..2; echo ok 1 - a; echo not ok 2 - wrong", "code": "exit 0"})
    assert lines[-1] == "4 passed, 1 failed" and "1 skipped" in lines, lines
    assert "failed: bad: wrong" in lines and "skipped: good: c (no server)" in lines, lines
    assert status == 1


def test_everything_passed_ends_with_zero():
    lines, status = run({"good": "echo 1..1; echo ok 1 - a"})
    assert (lines[-1], status) == ("1 passed, 0 failed", 0), lines


def test_program_that_crashes_hangs_stops_short_or_says_nothing_has_failed():
    lines, status = run({"good": "echo 1..1; echo ok 1 - a", "crashes": "echo 1..2; echo ok 1 - a; kill -9 $$",
                         "hangs": "echo 1..2; echo ok 1 - a; sleep 600", "short": "echo 1..3; echo ok 1 - a", "silent": "exit 0",
                         "status": "echo 1..1; echo ok 1 - a; exit 3"})
    assert (lines[-1], status) == ("5 passed, 5 failed", 1), lines
    failed = {line.split(":")[1].strip() for line in lines if line.startswith("failed: ")}
    assert failed == {"crashes", "hangs", "short", "silent", "status"}, lines


def test_run_in_which_nothing_ran_has_failed():
    for programs in ({}, {"skips": "echo '1..0 # SKIP no server'", "code": "exit 77"}):
        lines, status = run(programs)
        assert lines[-1] == "0 passed, 1 failed" and status == 1, (programs, lines)


def test_project_that_does_not_build_has_failed():
    lines, status = run({"good": "echo 1..1; echo ok 1 - a"}, "--setup=-Dno_such_option=true")
    assert lines[-1] == "0 passed, 1 failed" and status == 1, lines


tap.run(globals())
