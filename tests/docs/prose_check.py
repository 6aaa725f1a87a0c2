"""prose_check.py: lines of prose end at column 100, and use the field's words.

Tables, blocks and the targets of links may be longer. `unchecked.txt` beside this file lists pages that are not checked yet.
"""

import re
import sys
from pathlib import Path

import pages

COLUMNS = 100

# What is unambiguous in prose, outside code; and the word to use.
WORDS = [
    (r"\bset of instructions\b", "instruction set"),
    (r"\bjudg(?:e|es|ed|ing)\b", "validate, report, diagnose"),
    (r"\bverdicts?\b", "report, diagnose"),
    (r"\baccused?\b", "report"),
    (r"\bpeers?\b", "competing library"),
    (r"\bask(?:s|ed|ing)? ahead\b|\basked for ahead\b", "prefetch"),
    (r"\b(?:past|around) the caches\b", "non-temporal store"),
    (r"\b(?:first|second|third|last) caches?\b", "L1d, L2, last-level cache"),
    (r"\b(?:in|takes?) turns\b", "interleaved, round-robin"),
    (r"\brow ahead\b", "pipelined with the next row"),
    (r"\bwhat binds\b", "bottleneck, limited by"),
    (r"\b(?:busy|noisy) neighbours?\b", "host contention, noise"),
    (r"\bdoubt(?:ful)?\b", "near tie, ill-conditioned, exact fallback"),
    (r"\bwide weights\b|\bsecond parts\b", "high part of a 9-bit weight"),
    (r"\bwindow sums\b|\bsums of pixels\b", "activation row sums"),
    (r"\bspare slots?\b", "padding lane"),
    (r"\boffsets table\b|\btable of offsets\b", "indirection offsets"),
    (r"\bfolded constants\b", "precomputed constants"),
    (r"\b(?:full|half) width\b|\btwo pipes\b", "tuning for zen5, zen4, xeon"),
    (r"\d us\b", "µs"),
    (r"\bnot at hand\b", "can no longer access"),
    (r"\bstrangers?\b", "independent consumer project"),
    (r"\bhostile\b", "malformed"),
    (r"\bbent\b", "corrupted"),
    (r"\b(?:second|one|plainer) text\b", "independent implementation, one source, simpler version"),
    (r"\bone's own\b", "your own"),
    (r"\b(?:nobody|everybody|anybody)\b", "the subject by its name"),
]

# bench/report writes these.
GENERATED = ("docs/results/",)

# History keeps its words; two pages list the words.
NO_WORDS = ("docs/tuning-log.md", "docs/glossary.md", "CHANGELOG.md", "CONTRIBUTING.md")


def width(line: str) -> int:
    return len(re.sub(r"\]\([^)]*\)", "]()", re.sub(r"https?://\S+", "", line)))


def faults_of(path: Path, name: str) -> list[str]:
    faults = []
    if name.startswith(GENERATED):
        return faults
    for number, line in pages.read(path).prose:
        table = line.lstrip().startswith("|")
        if not table and not line.startswith("<") and width(line) > COLUMNS:
            faults.append(f"{name}:{number}: {width(line)} columns, expected at most {COLUMNS}")
        if name.startswith(NO_WORDS):
            continue
        text = re.sub(r"\]\([^)]*\)", "]", pages.without_code(line))
        for pattern, instead in WORDS:
            for match in re.finditer(pattern, text, re.IGNORECASE):
                faults.append(f"{name}:{number}: \"{match.group()}\", expected: {instead}")
    return faults


def main(arguments: list[str]) -> int:
    count = 0
    failed = False
    for path in [Path(name).resolve() for name in arguments] or pages.all_pages():
        name = path.relative_to(pages.ROOT).as_posix() if path.is_relative_to(pages.ROOT) else path.name
        faults = faults_of(path, name)
        count += 1
        if pages.is_unchecked("prose", path) and not arguments:
            print(f"not checked yet: {name}: {len(faults)} faults")
        elif faults:
            failed = True
            print(*faults, sep="\n")
    print(f"prose: {count} pages")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
