#!/usr/bin/env python3
"""Makes a release of two files from the headers: dmlref.hpp, the API, and dmlref.cpp, the kernels.

    packaging/two_files.py OUT_DIR

Both are include/dmlref/dmlref.hpp with each #include of ours replaced by the text of the file it names: dmlref.hpp as
DMLREF_SEPARATE reads it, dmlref.cpp as DMLREF_IMPLEMENTATION does. Needs nothing but Python.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
KERNELS = "#if DMLREF_HAS_KERNELS"  # what is included after this line is in dmlref.cpp alone
INCLUDE = re.compile(r'\s*#\s*include\s*(?:"(dmlref/[^"]+)"|(DMLREF_\w+))')
NAMED = re.compile(r'\s*#\s*define\s+(DMLREF_\w+)\s+"(dmlref/[^"]+)"')  # a file that is included by that name
CONDITION = re.compile(r"\s*#\s*(if|ifdef|ifndef|elif|else|endif)\b")


def expand(name, conditions, kernels, given, named):
    """The lines of a file and of those it includes. `conditions`: the #if lines around it; `given`: of each file that has
    been written, the conditions under which it was; `named`: the files that macros name."""
    source = (ROOT / "include" / name).read_text()
    once = "#pragma once" in source
    if once:
        if any(set(earlier) <= set(conditions) for earlier in given.get(name, [])):
            return []
        given.setdefault(name, []).append(conditions)
    inner = list(conditions)
    lines = []
    for line in source.splitlines():
        included = INCLUDE.match(line)
        if (macro := NAMED.match(line)) is not None:
            named[macro[1]] = macro[2]
        if included is None:
            if line != "#pragma once":
                lines.append(line)
        elif kernels or KERNELS not in inner:
            lines += expand(included[1] or named[included[2]], list(inner), kernels, given, named)
        directive = CONDITION.match(line)
        if directive is None:
            continue
        if directive[1] == "endif":
            inner.pop()
        elif directive[1].startswith("if"):
            inner.append(line.strip())
        else:  # another branch: the opposite of what stood here
            inner[-1] = f"{line.strip()} of {inner[-1]}"
    assert inner == conditions, name
    if not once:  # a text for several targets, included once for each
        return lines
    guard = "DMLREF_TEXT_OF_" + re.sub(r"\W", "_", name.removeprefix("dmlref/")).upper()
    return [f"#ifndef {guard}", f"#define {guard}", *lines, f"#endif  // {guard}"]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    licence = ["// " + line if line else "//" for line in (ROOT / "LICENSE").read_text().splitlines()]
    for name, what, macro, kernels in [
        ("dmlref.hpp", "the API of dmlref; dmlref.cpp has its kernels", "DMLREF_SEPARATE", False),
        ("dmlref.cpp", "the kernels of dmlref; dmlref.hpp has its API", "DMLREF_IMPLEMENTATION", True),
    ]:
        lines = [f"// {name}: {what}. Made by packaging/two_files.py.", "//", *licence]
        lines += [] if kernels else ["#pragma once"]
        lines += [f"#ifndef {macro}", f"#define {macro}", "#endif"]
        lines += expand("dmlref/dmlref.hpp", [], kernels, {}, {})
        (out / name).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
