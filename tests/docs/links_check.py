"""links_check.py: every relative link and picture of every page exists, and so does the heading that it names."""

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


def main(arguments: list[str]) -> int:
    cache: dict[Path, set[str]] = {}
    listed = [Path(name).resolve() for name in arguments] or pages.all_pages()
    faults = [fault for path in listed for fault in faults_of(path, cache)]
    print(*faults, f"links: {len(listed)} pages, {len(faults)} faults", sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
