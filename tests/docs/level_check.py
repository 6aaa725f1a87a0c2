"""level_check.py: docs/adding-a-level.md does what it says. Its changes are made to a copy of include/, and its program is
compiled with that and run.

  level_check.py COMPILER FOLDER    FOLDER is made anew
"""

import shutil
import subprocess
import sys
from pathlib import Path

import pages

PAGE = pages.ROOT / "docs/adding-a-level.md"


def change(block: pages.Block, folder: Path) -> None:
    """A block whose first line is `--- FILE`: its lines stand there, once and in this order."""
    name, *lines = block.text.split("\n")
    path = folder / name.removeprefix("--- ")
    text = path.read_text(encoding="utf-8")
    before = "".join(line[1:] + "\n" for line in lines if line[0] in " -")
    after = "".join(line[1:] + "\n" for line in lines if line[0] in " +")
    if text.count(before) != 1:
        raise ValueError(f"{block.place}: {path.name} has these lines {text.count(before)} times, expected once")
    path.write_text(text.replace(before, after), encoding="utf-8")


def check(compiler: str, folder: Path, page: Path = PAGE) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(pages.ROOT / "include", folder / "include")
    blocks = pages.read(page).blocks
    for block in blocks:
        if block.language == "diff":
            change(block, folder)
    (program,) = (block for block in blocks if block.language == "cpp")
    (expected,) = (block for block in blocks if block.language == "text")
    source = folder / "program.cpp"
    source.write_text(program.text + "\n", encoding="utf-8")
    subprocess.run([compiler, "-std=c++20", "-O0", "-Wall", "-Wextra", "-Werror", f"-I{folder / 'include'}", str(source),
                    "-o", str(folder / "program")], check=True)
    printed = subprocess.run([folder / "program"], check=True, capture_output=True, text=True).stdout
    if printed != expected.text + "\n":
        raise ValueError(f"{expected.place}: the program prints\n{printed}expected\n{expected.text}")


if __name__ == "__main__":
    try:
        check(sys.argv[1], Path(sys.argv[2]))
    except (ValueError, subprocess.CalledProcessError) as fault:
        sys.exit(f"level_check: {fault}")
