"""Runs peer_pattern.mjs (argv[2]) with the probe (argv[1]) when there is a node; else the test is skipped."""
import os
import shutil
import sys

node = shutil.which("node")
if node is None:
    print("1..0 # SKIP no node: patterns are not compared with ECMAScript's own")
    sys.exit(0)
os.execv(node, [node, sys.argv[2], sys.argv[1]])
