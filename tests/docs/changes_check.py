"""changes_check.py: a page that shows changes to include/ does what it says. They are made to a copy of include/, and the
page's program is compiled with that and run, with its kernels in every unit and separate ones.

  changes_check.py PAGE COMPILER FOLDER    FOLDER is made anew

Changes, in the page's order:

  diff                      `--- FILE`, then lines of which the removed and the context stand in FILE once, in this order;
                            `@@` and `--- FILE` begin further ones
  <!-- new: FILE --> cpp    a whole file that is not there yet

The program is the one other block of C++, the text block what it prints. Blanks at the ends of lines do not count.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import pages

# Kernels of one instruction set take a fraction of the time to compile, and results are the same on all.
FLAGS = ["-std=c++20", "-O0", "-Wall", "-Wextra", "-Werror", "-DDMLREF_TARGETS=scalar"]
WAYS = [[], ["-DDMLREF_IMPLEMENTATION"]]


def replace(block: pages.Block, path: Path, lines: list[str]) -> None:
    text = path.read_text(encoding="utf-8")
    before = "".join(line[1:] + "\n" for line in lines if line[:1] in ("", " ", "-"))
    after = "".join(line[1:] + "\n" for line in lines if line[:1] in ("", " ", "+"))
    if text.count(before) != 1:
        raise ValueError(f"{block.place}: {path.name} has these lines {text.count(before)} times, expected once:\n{before}")
    path.write_text(text.replace(before, after), encoding="utf-8")


def change(block: pages.Block, folder: Path) -> None:
    path: Path | None = None
    lines: list[str] = []
    for line in [*block.text.split("\n"), "@@"]:
        if not line.startswith(("--- ", "@@")):
            lines.append(line)
            continue
        if lines and path is None:
            raise ValueError(f"{block.place}: expected `--- FILE` first")
        if lines:
            replace(block, path, lines)
        lines = []
        if line.startswith("--- "):
            path = folder / line.removeprefix("--- ")


def add(block: pages.Block, folder: Path) -> None:
    path = folder / block.mark("new")
    if path.exists():
        raise ValueError(f"{block.place}: {block.mark('new')} exists already")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(block.text + "\n", encoding="utf-8")


def printed_by(program: Path, compiler: str, way: list[str]) -> list[str]:
    binary = program.with_suffix("")
    subprocess.run([compiler, *FLAGS, *way, f"-I{program.parent / 'include'}", str(program), "-o", str(binary)], check=True)
    printed = subprocess.run([binary], check=True, capture_output=True, text=True).stdout
    return [line.rstrip() for line in printed.rstrip().split("\n")]


def changed_copy(page: Path, folder: Path, parts: tuple[str, ...] = ("include",)) -> list[pages.Block]:
    """Copies parts of the repository to `folder`, which is made anew, and makes the page's changes there. Its blocks."""
    shutil.rmtree(folder, ignore_errors=True)
    for part in parts:
        (shutil.copytree if (pages.ROOT / part).is_dir() else shutil.copy)(pages.ROOT / part, folder / part)
    blocks = pages.read(page).blocks
    for block in blocks:
        if block.language == "diff":
            change(block, folder)
        elif block.mark("new"):
            add(block, folder)
    return blocks


def check(page: Path, compiler: str, folder: Path) -> None:
    blocks = changed_copy(page, folder)
    (program,) = (block for block in blocks if block.language == "cpp" and not block.mark("new"))
    (expected,) = (block for block in blocks if block.language == "text")
    source = folder / "program.cpp"
    source.write_text(program.text + "\n", encoding="utf-8")
    for way in WAYS:
        printed = printed_by(source, compiler, way)
        if printed != expected.text.split("\n"):
            raise ValueError("\n".join([f"{expected.place}: the program prints", *printed, "expected", expected.text]))


if __name__ == "__main__":
    try:
        check(Path(sys.argv[1]).resolve(), sys.argv[2], Path(sys.argv[3]))
    except (ValueError, subprocess.CalledProcessError) as fault:
        sys.exit(f"changes_check: {fault}")
