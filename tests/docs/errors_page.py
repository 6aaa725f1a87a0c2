"""errors_page.py: docs/errors.md from the rule table, the catalogue of messages and rule_fixes.txt.

  errors_page.py --check    fails where the page is stale, or a rule has no fix or nothing that breaks it
  errors_page.py --write    makes the page anew
"""

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pages

HEADER = pages.ROOT / "include/dmlref/validate/rule_id.hpp"
MESSAGES = pages.ROOT / "tests/validate/messages.txt"
FIXES = Path(__file__).with_name("rule_fixes.txt")
PAGE = pages.ROOT / "docs/errors.md"

WIN32 = "https://learn.microsoft.com/en-us/windows/win32/api/directml/"
AI = "https://learn.microsoft.com/en-us/windows/ai/directml/api/"
GUIDE = "https://learn.microsoft.com/en-us/windows/ai/directml/"

# Documents that the rule table's column `source` names, beside the structs.
DOCUMENTS = {
    "IDMLBindingTable::BindInputs": WIN32 + "nf-directml-idmlbindingtable-bindinputs",
    "IDMLBindingTable::BindOutputs": WIN32 + "nf-directml-idmlbindingtable-bindoutputs",
    "DML_TENSOR_TYPE": WIN32 + "ne-directml-dml_tensor_type",
    "DML_BUFFER_BINDING": WIN32 + "ns-directml-dml_buffer_binding",
    "DML_TENSOR_FLAGS": WIN32 + "ne-directml-dml_tensor_flags",
    "DirectML constants": GUIDE + "directml-constants",
    "DirectML feature level history": GUIDE + "dml-feature-level-history",
    "DMLCalcBufferTensorSize": GUIDE + "dml-helper-functions",
    "Using fused operators": GUIDE + "dml-fused-activations",
    "DirectMLX": "https://github.com/microsoft/DirectML/blob/master/Libraries/DirectMLX.h",
    "the operators' pages": "#documents",
    "the operators' tensor support tables": "#documents",
    "the operators' tensor constraints": "#documents",
    "the normalizations' pages": "#documents",
    "the matrix products' pages": "#documents",
    "reading": "decisions/README.md",
}
OPERATORS = ["SLICE", "SLICE1", "QUANTIZED_LINEAR_CONVOLUTION", "MEAN_VARIANCE_NORMALIZATION",
             "MEAN_VARIANCE_NORMALIZATION1", "MEAN_VARIANCE_NORMALIZATION2", "ELEMENT_WISE_QUANTIZE_LINEAR",
             "ELEMENT_WISE_DEQUANTIZE_LINEAR", "CONVOLUTION_INTEGER", "MATRIX_MULTIPLY_INTEGER",
             "QUANTIZED_LINEAR_MATRIX_MULTIPLY"]

INTRODUCTION = """\
# Errors

<!-- Made by tests/docs/errors_page.py; the target update_pages makes it anew. -->

Every rule, with a change that breaks it, the report, and the fix. A line like
`SLICE 6_4: Offsets[1] = 3` names one of the [valid descriptors](../tests/validate/request.hpp), the
feature level and the change. Names are short: CONVOLUTION is QUANTIZED_LINEAR_CONVOLUTION,
CONVOLUTION_1D the one with one spatial dimension, NORMALIZATION is MEAN_VARIANCE_NORMALIZATION,
PRODUCT is MATRIX_MULTIPLY_INTEGER, QUANTIZED_PRODUCT is QUANTIZED_LINEAR_MATRIX_MULTIPLY. The
number -1 is 2^32 - 1.

[Validation](validation.md) explains reports. The tests of messages run every line, and the tests of
pages run every program.

## Documents

Rules are our paraphrase of Microsoft's pages. A "reading" is ours: no document decides, and
[a decision](decisions/README.md) says why.
"""


@dataclass
class Rule:
    name: str
    place: str
    condition: str
    source: str
    lifted_from: str
    group: str


@dataclass
class Fix:
    sentence: str
    hidden: list[str] = field(default_factory=list)
    code: list[str] = field(default_factory=list)
    output: list[str] = field(default_factory=list)
    varies: str = ""


def rules_of(header: str) -> list[Rule]:
    """The rows of the list of rules, each with the comment above it."""
    lines = re.search(r"#define DMLREF_RULES\(RULE\)(.*?)// clang-format on", header, re.DOTALL).group(1)
    string = r'((?:"(?:[^"\\]|\\.)*"\s*)+)'
    row = re.compile(r"/\* (.*?) \*/|RULE\((\w+),\s*" + r",\s*".join([string] * 3) + r",\s*(\w+)\)")
    rules = []
    group = ""
    for comment, name, *texts, lifted in row.findall(re.sub(r"\\\n", "\n", lines)):
        if comment:
            group = comment
            continue
        place, condition, source = ("".join(re.findall(r'"((?:[^"\\]|\\.)*)"', text)) for text in texts)
        level = f"{lifted[2]}_{lifted[3]}" if lifted != "0" else ""
        rules.append(Rule(name, place, condition, source, level, group))
    if len(rules) != lines.count("RULE("):
        raise ValueError(f"{HEADER.name}: not every rule could be read")
    return rules


def entries_of(messages: str) -> list[tuple[str, list[str]]]:
    """The catalogue's lines, each with the lines of its report."""
    entries: list[tuple[str, list[str]]] = []
    for line in messages.split("\n"):
        if line.startswith("  "):
            entries[-1][1].append(line[2:])
        elif line and not line.startswith("#"):
            entries.append((line, []))
    return entries


def failing(rule: Rule, entries: list[tuple[str, list[str]]]) -> tuple[str, list[str]] | None:
    """The first line that breaks this rule alone; if there is none, the first that breaks it."""
    breaking = [entry for entry in entries if any(f"[{rule.name}]" in line for line in entry[1])]
    return min(breaking, key=lambda entry: len(entry[1]), default=None)


def fixes_of(text: str) -> dict[str, Fix]:
    fixes: dict[str, Fix] = {}
    name = ""
    for line in text.split("\n"):
        if not line or line.startswith("#"):
            continue
        if line[0] in "<|>~":
            rest = line[2:]
            fix = fixes[name]
            if line[0] == "~":
                fix.varies = rest
            else:
                {"<": fix.hidden, "|": fix.code, ">": fix.output}[line[0]].append(rest)
            continue
        name, _, sentence = line.partition(": ")
        if name in fixes or not sentence:
            raise ValueError(f"{FIXES.name}: expected one `rule: sentence` of each rule: {line}")
        fixes[name] = Fix(sentence)
    return fixes


def linked(source: str) -> str:
    """The documents, separated by `, ` or `; `, with their links. A note like "MVN1: reading" keeps its words."""
    parts = []
    for part in re.split(r"[,;] ", source):
        note, _, document = part.rpartition(": ") if not part.startswith("IDML") else ("", "", part)
        address = DOCUMENTS.get(document)
        if address is None and re.fullmatch(r"DML_\w+_DESC", document):
            # What only the redistributable has stands elsewhere.
            base = AI if "NORMALIZATION2" in document else WIN32
            address = f"{base}ns-directml-{document.lower()}"
        if address is None:
            raise ValueError(f"{HEADER.name}: no address of the source {document!r}")
        parts.append((f"{note}: " if note else "") + f"[{document}]({address})")
    return "; ".join(parts)


def example(rule: Rule, fix: Fix, entries: list[tuple[str, list[str]]]) -> str:
    if fix.code:
        hidden = "<!-- before:\n" + "\n".join(fix.hidden) + "\n-->\n" if fix.hidden else ""
        varies = f"<!-- output varies: {fix.varies} -->\n" if fix.varies else ""
        lines = "\n".join(fix.code), "\n".join(fix.output)
        if f"[{rule.name}]" not in lines[1]:
            raise ValueError(f"{FIXES.name}: the output of {rule.name} does not name it")
        return f"{hidden}```cpp\n{lines[0]}\n```\n\n{varies}```text\n{lines[1]}\n```\n"
    entry = failing(rule, entries)
    if entry is None:
        raise ValueError(f"{rule.name}: no line of {MESSAGES.name} breaks it, and {FIXES.name} has no code that does")
    return "\n".join(["```text", entry[0], *("  " + line for line in entry[1]), "```", ""])


def page_of(header: str, messages: str, fixes_text: str) -> str:
    rules = rules_of(header)
    fixes = fixes_of(fixes_text)
    entries = entries_of(messages)
    names = [rule.name for rule in rules]
    if sorted(fixes) != sorted(names):
        raise ValueError(f"{FIXES.name}: expected each rule once: {sorted(set(fixes) ^ set(names))}")
    text = INTRODUCTION + "\n| operator | page here | Microsoft's |\n|---|---|---|\n"
    for operator in OPERATORS:
        struct = f"DML_{operator}_OPERATOR_DESC"
        text += f"| {operator} | [page](operators/{operator.lower()}.md) | {linked(struct)} |\n"
    group = ""
    for rule in rules:
        if rule.group != group:
            group = rule.group
            text += f"\n## {group}\n"
        fix = fixes[rule.name]
        rows = [("what must hold", rule.condition.replace("|", "\\|")), ("field", f"`{rule.place}`"),
                ("document", linked(rule.source)), ("fix", fix.sentence)]
        if rule.lifted_from:
            rows.insert(2, ("until", f"level {rule.lifted_from}, which has no such rule"))
        text += f"\n### `{rule.name}`\n\n| {rows[0][0]} | {rows[0][1]} |\n|---|---|\n"
        text += "".join(f"| {name} | {value} |\n" for name, value in rows[1:])
        text += "\n" + example(rule, fix, entries)
    return text


def main(arguments: list[str]) -> int:
    if arguments not in (["--check"], ["--write"]):
        print("errors_page: expected --check or --write")
        return 2
    try:
        fresh = page_of(*(path.read_text(encoding="utf-8") for path in (HEADER, MESSAGES, FIXES)))
    except ValueError as fault:
        print(f"errors_page: {fault}")
        return 1
    if arguments == ["--write"]:
        PAGE.write_text(fresh, encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != fresh:
        print(f"errors_page: {PAGE.name} is stale; the target update_pages makes it anew")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
