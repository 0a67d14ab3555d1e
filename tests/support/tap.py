# support: tests written in Python print the Test Anything Protocol that Meson reads.
"""run(globals()) runs every function named test_*, in order of the source, and exits with 1 if one failed.

A test fails by raising; skip("why") skips it. TRILHA_TEST=part runs only tests whose name holds the part."""
import os
import sys
import traceback


class Skipped(Exception):
    pass


def skip(reason):
    raise Skipped(reason)


def run(names):
    wanted = os.environ.get("TRILHA_TEST", "")
    tests = [(name[5:], value) for name, value in names.items()
             if name.startswith("test_") and callable(value) and wanted in name]
    print(f"1..{len(tests)}", flush=True)
    failed = 0
    for number, (name, test) in enumerate(tests, 1):
        try:
            test()
            print(f"ok {number} - {name}", flush=True)
        except Skipped as reason:
            print(f"ok {number} - {name} # SKIP {reason}", flush=True)
        except Exception:  # pylint: disable=broad-except
            failed += 1
            for line in traceback.format_exc().splitlines():
                print(f"# {line}")
            print(f"not ok {number} - {name}", flush=True)
    sys.exit(1 if failed else 0)
