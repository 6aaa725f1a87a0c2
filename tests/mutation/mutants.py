"""The mutants of a C++ header: places in its code, and what to write there instead."""

import re
from typing import Iterator, NamedTuple


class Mutant(NamedTuple):
    path: str  # below include/dmlref
    kind: str
    start: int  # the characters of the file that are replaced
    end: int
    text: str

    def apply(self, source: str) -> str:
        return source[: self.start] + self.text + source[self.end :]

    def lines(self, source: str) -> tuple[int, str, str]:
        """The line's number, the lines that change, and what they become; without indentation."""
        first = source.rfind("\n", 0, self.start) + 1
        last = source.find("\n", self.end)
        before = source[first:last]
        after = source[first : self.start] + self.text + source[self.end : last]
        return source.count("\n", 0, self.start) + 1, squeezed(before), squeezed(after)


def squeezed(text: str) -> str:
    return " ".join(text.split())


CODE, TEXT, OTHER = "c", "t", "o"


def classes(source: str) -> str:
    """For each character: code, inside a string literal, or a comment, a character literal or a preprocessor line."""
    kinds = []
    token = re.compile(
        r"(?P<other>//[^\n]*|/\*.*?\*/|'(?:\\.|[^'\\\n])+'(?!\w)|^[ \t]*#(?:[^\n\\]|\\\n|\\.)*)"
        r'|"(?P<text>(?:\\.|[^"\\\n])*)"|(?P<code>\d[\'\w.]*|.)',
        re.S | re.M,
    )
    for match in token.finditer(source):
        length = len(match.group())
        if match.group("other") is not None:
            kinds.append(OTHER * length)
        elif match.group("text") is not None:
            kinds.append(OTHER + TEXT * (length - 2) + OTHER)
        else:
            kinds.append(CODE * length)
    return "".join(kinds)


# Operators that clang-format sets between blanks, so that no bracket of a template and no pointer is one of them.
OPERATORS = {
    "<": ("<=", ">="),
    "<=": ("<", ">"),
    ">": (">=", "<="),
    ">=": (">", "<"),
    "==": ("!=",),
    "!=": ("==",),
    "+": ("-",),
    "-": ("+",),
    "*": ("+",),
    "/": ("*",),
    "%": ("/",),
    "<<": (">>",),
    ">>": ("<<",),
    "&": ("|",),
    "|": ("&",),
    "^": ("|",),
    "&&": ("||",),
    "||": ("&&",),
    "+=": ("-=",),
    "-=": ("+=",),
    "*=": ("+=",),
    "/=": ("*=",),
    "|=": ("&=",),
    "&=": ("|=",),
}
NUMBER = re.compile(r"(?<![\w.])(?:0x[\d.A-Fa-f]+(?:p[-+]?\d+)?|\d+(?:\.\d*)?(?:e[-+]?\d+)?)(?:[uUlLfF]*)(?![\w.'])")
STATEMENT = re.compile(
    r"(?<=[;{}:)\n])\s*\n[ ]+(?P<statement>(?:continue|break)|(?:\+\+|--)[\w.]+"
    r"|[\w.:\[\]>-]+(?:<\w+>)?\s(?:[-+*/|&^%]|<<|>>)?=\s[^;{}]*|[\w.:>-]+\([^;{}]*(?:\{[^;{}]*\}[^;{}]*)*\));"
)
CALL = re.compile(r"(?<![\w.])\w+\((?P<a>[\w.\[\]]+), (?P<b>[\w.\[\]]+)\)")


def is_code(kinds: str, start: int, end: int) -> bool:
    return kinds[start:end] == CODE * (end - start)


def other_numbers(literal: str) -> tuple[str, ...]:
    if "p" in literal:  # twice and half
        head, tail = literal.split("p")
        suffix = tail[-1] if tail[-1] in "fF" else ""
        exponent = int(tail.rstrip("fF"))
        return tuple(f"{head}p{exponent + change}{suffix}" for change in (1, -1))
    if re.match(r"0x", literal):
        digits = literal.rstrip("uUlL")
        return tuple(f"0x{int(digits, 16) + change:X}{literal[len(digits):]}" for change in (1, -1))
    digits = literal.rstrip("uUlLfF")
    suffix = literal[len(digits) :]
    if "." in digits or "e" in digits:
        return (f"{float(digits) + 1!r}{suffix}", f"{float(digits) * 1.25!r}{suffix}" if float(digits) else f"0.25{suffix}")
    value = int(digits, 8 if len(digits) > 1 and digits[0] == "0" else 10)
    return tuple(f"{value + change}{suffix}" for change in (1, -1) if value + change >= 0)


def closing(source: str, opening: int) -> int:
    """Where the bracket at `opening` is closed."""
    depth = 0
    for place in range(opening, len(source)):
        depth += (source[place] == "(") - (source[place] == ")")
        if depth == 0:
            return place
    raise ValueError("unbalanced brackets")


def mutants(path: str, source: str) -> Iterator[Mutant]:
    kinds = classes(source)
    operators = "|".join(re.escape(operator) for operator in sorted(OPERATORS, key=len, reverse=True))
    for match in re.finditer(f"(?<= )(?:{operators})(?= )", source):
        if is_code(kinds, *match.span()) and source[: match.start()].rstrip()[-8:] != "operator":
            for text in OPERATORS[match.group()]:
                yield Mutant(path, "operator", *match.span(), text)
    for match in re.finditer(r"(?<=[(\s,])(?:!(?=[\w(])|-(?=[\w(]))", source):
        if is_code(kinds, *match.span()):
            yield Mutant(path, "operator", *match.span(), "")
    for match in NUMBER.finditer(source):
        if is_code(kinds, *match.span()):
            for text in other_numbers(match.group()):
                yield Mutant(path, "constant", *match.span(), text)
    for match in re.finditer(r"\b(?:true|false)\b", source):
        if is_code(kinds, *match.span()):
            yield Mutant(path, "constant", *match.span(), "false" if match.group() == "true" else "true")
    for match in re.finditer(r"t+", kinds):
        words = source[match.start() : match.end()]
        line = source[source.rfind("\n", 0, match.start()) + 1 : match.start()]
        if re.search("[A-Za-z]", words) and "static_assert" not in line and "__asm__" not in line:
            yield Mutant(path, "text", match.start(), match.start() + 1, "")
    for match in re.finditer(r"\bif (?:constexpr )?(?=\()", source):
        if is_code(kinds, *match.span()):
            start, end = match.end() + 1, closing(source, match.end())
            for text in (f"!({source[start:end]})", "true", "false"):
                yield Mutant(path, "condition", start, end, text)
    for match in STATEMENT.finditer(source):
        start = match.start("statement")
        if kinds[start] == CODE:
            yield Mutant(path, "statement", start, match.end(), ";")
    for match in CALL.finditer(source):
        if is_code(kinds, *match.span()) and match["a"] != match["b"]:
            yield Mutant(path, "arguments", match.start("a"), match.end("b"), f"{match['b']}, {match['a']}")
