"""pages.py: a Markdown page as the checks see it: fenced blocks with their marks, prose lines, headings, links."""

import re
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

FENCE = re.compile(r"^( *)(```+|~~~+) *([A-Za-z0-9_+-]*) *$")
COMMENT = re.compile(r"<!--(.*?)-->", re.DOTALL)


@dataclass
class Block:
    """A fenced block. `marks` are the comments directly above it; `between` is the text since the block before."""

    page: Path
    line: int  # of its first line of text
    language: str
    text: str
    marks: list[str] = field(default_factory=list)
    between: str = ""

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT) if self.page.is_relative_to(ROOT) else self.page}:{self.line}"

    def mark(self, name: str) -> str | None:
        """The text of the mark `<!-- name: text -->`, or "" of `<!-- name -->`."""
        for mark in self.marks:
            if mark == name:
                return ""
            if mark.startswith(name + ":"):
                return mark[len(name) + 1 :].strip("\n ")
        return None


@dataclass
class Page:
    path: Path
    lines: list[str]
    blocks: list[Block]
    prose: list[tuple[int, str]]  # lines outside blocks and comments, with their numbers


def read(path: Path) -> Page:
    lines = path.read_text(encoding="utf-8").split("\n")
    page = Page(path, lines, [], [])
    outside: list[str] = []  # since the last block, comments included
    i = 0
    in_comment = False
    while i < len(lines):
        fence = None if in_comment else FENCE.match(lines[i])
        if fence is None:
            outside.append(lines[i])
            opened = "<!--" in lines[i]
            if not in_comment and not opened:
                page.prose.append((i + 1, lines[i]))
            in_comment = (in_comment or opened) and "-->" not in lines[i]
            i += 1
            continue
        indent, ticks, language = fence.groups()
        end = i + 1
        while end < len(lines) and lines[end].strip() != ticks:
            end += 1
        text = "\n".join(line[len(indent) :] if line.startswith(indent) else line for line in lines[i + 1 : end])
        marks, between = split_marks("\n".join(outside))
        page.blocks.append(Block(path, i + 2, language, text, marks, between))
        outside = []
        i = end + 1
    return page


def split_marks(text: str) -> tuple[list[str], str]:
    """The comments that end `text`, in their order, and what is before them, without comments."""
    marks: list[str] = []
    rest = text.rstrip()
    while rest.endswith("-->"):
        start = rest.rfind("<!--")
        marks.insert(0, rest[start + 4 : -3].strip())
        rest = rest[:start].rstrip()
    return marks, COMMENT.sub("", rest)


def without_code(line: str) -> str:
    return re.sub(r"`[^`]*`", "", line)


LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(<?([^)\s>]+)>?(?: \"[^\"]*\")?\)")
HTML_LINK = re.compile(r"(?:src|srcset|href)=\"([^\"]+)\"")


def links(page: Page) -> list[tuple[int, str]]:
    """Targets of the page's links and pictures. Links may be wrapped over lines, so the prose is read as one text."""
    text = ""
    starts = []
    for number, line in page.prose:
        starts.append((len(text), number))
        text += without_code(line) + "\n"
    found = []
    for pattern in (LINK, HTML_LINK):
        for match in pattern.finditer(text):
            number = max((start, number) for start, number in starts if start <= match.start())[1]
            found.append((number, match.group(1)))
    return sorted(found)


def anchors(page: Page) -> set[str]:
    """The anchors of its headings as GitHub makes them, and of its <a id="…">."""
    found: set[str] = set()
    for _, line in page.prose:
        found.update(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", line))
        heading = re.match(r"^#{1,6} +(.*?) *#*$", line)
        if heading is None:
            continue
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.group(1)).replace("`", "")
        slug = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        number = 0
        while (slug if number == 0 else f"{slug}-{number}") in found:
            number += 1
        found.add(slug if number == 0 else f"{slug}-{number}")
    return found


def is_unchecked(kind: str, path: Path) -> bool:
    """Whether `unchecked.txt` has the line `KIND PAGE`, or `KIND FOLDER/`: not checked yet."""
    name = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name
    for line in Path(__file__).with_name("unchecked.txt").read_text(encoding="utf-8").split("\n"):
        listed_kind, _, listed = line.partition(" ")
        if listed_kind == kind and (name == listed or listed.endswith("/") and name.startswith(listed)):
            return True
    return False


def all_pages() -> list[Path]:
    """Every Markdown page of the project that readers see."""
    tops = [path for path in sorted(ROOT.glob("*.md"))]
    docs = [path for path in sorted((ROOT / "docs").rglob("*.md")) if "node_modules" not in path.parts]
    return tops + docs + sorted((ROOT / "examples").glob("*.md"))


def operator_headers() -> list[str]:
    """The headers of operators/ that are a part of the API: what docs/site/Doxyfile cannot name by folders."""
    found = []
    for name in ("desc", "call"):
        headers = sorted(ROOT.glob(f"include/dmlref/operators/*/{name}.hpp"))
        if not headers:
            raise ValueError(f"no include/dmlref/operators/*/{name}.hpp")
        found += [str(header.relative_to(ROOT)) for header in headers]
    return found
