"""links_check.py: every relative link and picture of every page exists, and so does the heading that it names; and so does
every page of docs/ that a comment names."""

import re
import sys
from pathlib import Path

import pages


def faults_of(path: Path, cache: dict[Path, set[str]]) -> list[str]:
    faults = []
    if pages.is_unchecked("links", path):
        print(f"not checked yet: {path}")
        return []
    for line, target in pages.links(pages.read(path)):
        if "://" in target or target.startswith("mailto:"):
            continue
        name, _, anchor = target.partition("#")
        file = (path.parent / name).resolve() if name else path
        place = f"{path}:{line}"
        if not file.exists():
            faults.append(f"{place}: {target}: there is no such file")
        elif anchor and file.suffix == ".md":
            if file not in cache:
                cache[file] = pages.anchors(pages.read(file))
            if anchor not in cache[file]:
                faults.append(f"{place}: {target}: the page has no such heading")
    return faults


SOURCES = (".ci", "CMakeLists.txt", "bench", "cmake", "compiled", "examples", "include", "packaging", "tests", "tools")


def faults_of_source(text: str, place: str) -> list[str]:
    """Pages that a source names by their path from the top."""
    faults = []
    for number, line in enumerate(text.split("\n"), 1):
        for name in re.findall(r"(?<![\w./])docs/[\w./-]+\.md\b", line):
            if not (pages.ROOT / name).exists():
                faults.append(f"{place}:{number}: {name}: there is no such page")
    return faults


def sources() -> list[Path]:
    tops = [pages.ROOT / name for name in SOURCES]
    return [path for top in tops for path in ([top] if top.is_file() else sorted(top.rglob("*")))
            if path.is_file() and path.suffix not in (".pyc", ".png", ".npy", ".jpg")]


def main(arguments: list[str]) -> int:
    cache: dict[Path, set[str]] = {}
    listed = [Path(name).resolve() for name in arguments] or pages.all_pages()
    faults = [fault for path in listed for fault in faults_of(path, cache)]
    if not arguments:
        for path in sources():
            text = path.read_text(encoding="utf-8", errors="replace")
            faults += faults_of_source(text, path.relative_to(pages.ROOT).as_posix())
    print(*faults, f"links: {len(listed)} pages, {len(faults)} faults", sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
