#!/usr/bin/env python3
"""refused.py FILE COMPILER FLAG...: FILE compiles as it stands; with REFUSED=1 each of its forbidden lines is an error.

A forbidden line stands between `#if REFUSED  // part of the error` and `#endif`. Its error must have that part: a line that
is refused for another reason shows nothing.
"""
import os
import re
import subprocess
import sys

path, compiler, *flags = sys.argv[1:]
lines = open(path, encoding="utf-8").read().split("\n")
forbidden = {i + 2: line.split("  // ", 1)[1] for i, line in enumerate(lines) if line.startswith("#if REFUSED  // ")}
assert forbidden and all(lines[number] == "#endif" for number in forbidden), "one line between #if REFUSED and #endif"


def errors(refused):
    command = [compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", f"-DREFUSED={refused}", *flags, path]
    command.append("-ferror-limit=0" if "clang" in compiler else "-fmax-errors=0")
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}).stderr


faults = []
twin = errors(0)
if "error" in twin:
    faults.append(f"without its forbidden lines:\n{twin}")
found = errors(1)
for number, part in forbidden.items():
    here = re.findall(rf"^{re.escape(path)}:{number}:\d+: error: (.*)$", found, re.M)
    if not any(re.search(part, error) for error in here):
        faults.append(f"line {number} has the errors {here}, expected: {part}")
print("\n".join([f"{path}: {fault}" for fault in faults] + [f"{len(forbidden)} lines, {len(faults)} faults"]))
sys.exit(1 if faults else 0)
