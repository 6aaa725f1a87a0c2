"""command_page.py: the commands and options in docs/command.md, from the command's own help, and the levels in
docs/differences.md, from `dmlref info --levels`.

  command_page.py --command DMLREF --check    fails where a page is stale, something has no help, or a key of models that
                                              tools/model reads is not on the page of the command
  command_page.py --command DMLREF --write    makes those parts of the pages anew
"""

import argparse
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pages

PAGE = pages.ROOT / "docs/command.md"
LEVELS_PAGE = pages.ROOT / "docs/differences.md"


def marks_of(part: str) -> tuple[str, str]:
    """The lines between which a part stands."""
    return (f"<!-- {part} of the command: begin (made by tests/docs/command_page.py) -->\n",
            f"<!-- {part} of the command: end -->\n")


@dataclass
class Entry:
    name: str  # "--isa NAME"
    help: str

    @property
    def is_required(self) -> bool:
        return self.name.endswith(" REQUIRED")


def sections_of(text: str) -> dict[str, list[Entry]]:
    """The lists of CLI11's help by their lower-case headings. A help that is wrapped is one line."""
    sections: dict[str, list[Entry]] = {}
    entries: list[Entry] = []
    for line in text.split("\n"):
        heading = re.fullmatch(r"([A-Za-z]+):", line)
        entry = re.fullmatch(r"  (\S.*?)(?:  +(.*))?", line)
        if heading:
            entries = sections.setdefault(heading[1].lower(), [])
        elif entry:
            entries.append(Entry(entry[1], entry[2] or ""))
        elif line.startswith("   ") and entries:
            entries[-1].help = f"{entries[-1].help} {line.strip()}".strip()
    return sections


def row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def table_of(entries: list[Entry]) -> str:
    text = ""
    for entry in entries:
        if entry.name.startswith("-h,"):
            continue
        if not entry.help:
            raise ValueError(f"{entry.name} has no help")
        name = entry.name.removesuffix(" REQUIRED")
        # An argument is required, and looks it.
        text += row(f"`{name}`", entry.help + ("; required" if entry.is_required and name.startswith("-") else ""))
    return text


def part_of(help_of) -> str:
    """`help_of(*command)` is what `dmlref [command] --help` prints."""
    commands = sections_of(help_of()).get("commands", [])
    if not commands:
        raise ValueError("dmlref --help lists no commands")
    text = "| command | does |\n|---|---|\n" + table_of(commands)
    for command in commands:
        sections = sections_of(help_of(command.name))
        arguments = sections.get("positionals", [])
        rows = table_of(arguments) + table_of(sections.get("options", []))
        line = " ".join(["dmlref", command.name, *(entry.name.removesuffix(" REQUIRED") for entry in arguments)])
        if rows:
            text += f"\n`{line}`\n\n| argument, option | meaning |\n|---|---|\n{rows}"
    return text


def levels_of(text: str) -> str:
    """What `dmlref info --levels` prints as a table of a page; columns are two blanks apart, or more."""
    lines = [re.split(r"  +", line.strip()) for line in text.splitlines()]
    if not lines or any(len(cells) != len(lines[0]) for cells in lines):
        raise ValueError("info --levels prints lines of different lengths")
    return row(*lines[0]) + "|---" * len(lines[0]) + "|\n" + "".join(row(*cells) for cells in lines[1:])


def page_of(text: str, part: str, name: str, which: str) -> str:
    """The text of the page `name` with `part` between its marks."""
    begin, end = marks_of(which)
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        raise ValueError(f"{name}: expected the two lines {begin}{end}")
    return text[: text.index(begin) + len(begin)] + "\n" + part + "\n" + text[text.index(end) :]


def unlisted_keys(text: str, source: str) -> list[str]:
    """Keys that the parser accepts, which the page's part on models does not name in code."""
    keys = re.findall(r'"([^"]+)"', " ".join(re.findall(r"expect_object\(\{(.*?)\}\)", source, re.DOTALL)))
    code = re.findall(r"`[^`]+`", text.partition("\n## The model\n")[2].partition("\n## ")[0])
    return [key for key in dict.fromkeys(keys) if not any(re.search(rf"(?<![\w$]){re.escape(key)}(?!\w)", one) for one in code)]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--command", required=True, type=Path)
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument("--check", action="store_true")
    mode.add_argument("--write", action="store_true")
    given = parser.parse_args(arguments)

    def output_of(*line: str) -> str:
        return subprocess.run([given.command, *line], check=True, capture_output=True, text=True).stdout

    text = PAGE.read_text(encoding="utf-8")
    levels_text = LEVELS_PAGE.read_text(encoding="utf-8")
    try:
        fresh = page_of(text, part_of(lambda *command: output_of(*command, "--help")), PAGE.name, "help")
        fresh_levels = page_of(levels_text, levels_of(output_of("info", "--levels")), LEVELS_PAGE.name, "levels")
    except ValueError as fault:
        print(f"command_page: {fault}")
        return 1
    source = "".join(path.read_text(encoding="utf-8") for path in sorted((pages.ROOT / "tools/model").glob("*.cpp")))
    if unlisted := unlisted_keys(text, source):
        print(f"command_page: {PAGE.name}: 'The model' does not name the keys {', '.join(unlisted)}")
        return 1
    stale = False
    for page, old, new in ((PAGE, text, fresh), (LEVELS_PAGE, levels_text, fresh_levels)):
        if given.write:
            page.write_text(new, encoding="utf-8")
        elif old != new:
            print(f"command_page: {page.name} is stale; the target update_pages makes it anew")
            stale = True
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
