"""testing_check.py: docs/testing.md lists every label of tests, and every step of .ci/run with whether it runs by default."""

import re
import sys

import pages

PAGE = pages.ROOT / "docs/testing.md"


def labels_of(cmake: str) -> set[str]:
    """The labels that a CMakeLists.txt gives to tests. Names of instruction sets come from a variable; a label that ends
    with one is given up to there, "on_"."""
    found: set[str] = set()
    code = re.sub(r"^\s*#.*", "", cmake, flags=re.MULTILINE)
    for match in re.finditer(r"\bLABELS((?:\s+(?:\"[^\"]*\"|[a-z_]+\b))+)", code):
        found.update(re.findall(r"\b[a-z][a-z_]*\b", re.sub(r"\$\{[^}]*\}", "", match.group(1))))
    return found


def steps_of(script: str) -> dict[str, bool]:
    """The steps of .ci/run, and whether they run by default."""
    default = re.search(r"^steps=\$\{\*:-(.*)\}$", script, re.MULTILINE).group(1).split()
    return {name: name in default for name in re.findall(r"^step_(\w+)\(\)", script, re.MULTILINE)}


def rows_of(page: str, heading: str) -> list[list[str]]:
    """The cells of the first table below a heading, without its head."""
    text = re.split(r"^#", page.split(f"\n## {heading}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]
    table = re.search(r"(?:^\|.*\n)+", text, re.MULTILINE).group(0)
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in table.splitlines()[2:]]


def faults_of(page: str, labels: set[str], steps: dict[str, bool]) -> list[str]:
    listed = {name for row in rows_of(page, "Labels") for name in re.findall(r"`(\w+)`", row[0])}
    begun = tuple(label for label in labels if label.endswith("_"))
    completed = {name for name in listed if name.startswith(begun)}
    faults = [f"no row of the label {label}" for label in sorted(labels - listed)
              if not any(name.startswith(label) for name in completed)]
    sets = {"scalar", "avx2", "neon", "s390x"}
    faults += [f"no test has the label {label}" for label in sorted(listed - labels - completed - sets)]
    described = {name: row[-1] for row in rows_of(page, "Continuous integration") for name in re.findall(r"`(\w+)`", row[0])}
    faults += [f"no row of the step {step}" for step in sorted(steps.keys() - described.keys())]
    faults += [f".ci/run has no step {step}" for step in sorted(described.keys() - steps.keys())]
    for step in sorted(steps.keys() & described.keys()):
        expected = "yes" if steps[step] else "no"
        if described[step] != expected:
            faults.append(f"the step {step} is part of plain .ci/run: \"{described[step]}\", expected \"{expected}\"")
    return faults


def main() -> int:
    texts = [path.read_text(encoding="utf-8") for top in ("tests", "bench", "examples")
             for path in sorted((pages.ROOT / top).rglob("CMakeLists.txt"))]
    labels = set().union(*(labels_of(text) for text in texts))
    steps = steps_of((pages.ROOT / ".ci/run").read_text(encoding="utf-8"))
    faults = faults_of(PAGE.read_text(encoding="utf-8"), labels, steps)
    print(*(f"docs/testing.md: {fault}" for fault in faults), f"testing: {len(labels)} labels, {len(steps)} steps", sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
