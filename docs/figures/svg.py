"""svg.py: a small canvas that writes SVG for light and dark pages, with no font or style from outside."""

from html import escape
from string import Template

# Each colour, on a light and on a dark page.
COLOURS = {"page": ("#ffffff", "#15191f"), "ink": ("#1f2328", "#e6e9ed"), "soft": ("#59636e", "#a3abb5"),
           "line": ("#b3bac2", "#4d5661"), "cell": ("#f2f4f7", "#232a33"), "a": ("#ffd8a8", "#7a4a12"),
           "b": ("#a5d8ff", "#1c4f7d"), "c": ("#b2f2bb", "#23602f"), "d": ("#eebefa", "#67317a"),
           "strong": ("#c2410c", "#ffa657")}

SHAPES = """
  text { font: 14px ui-sans-serif, system-ui, 'DejaVu Sans', sans-serif; }
  .small { font-size: 12px; }
  .strong, .title { font-weight: 600; }
  .middle { text-anchor: middle; }
  .end { text-anchor: end; }
  .hole, .frame, .arrow, .tie { fill: none; }
  .hole { stroke-dasharray: 3 3; }
  .frame { stroke-width: 2; }
  .arrow { stroke-width: 1.5; marker-end: url(#head); }
  .tie { stroke-width: 2; marker-end: url(#tie-head); }
"""

RULES = """
  text, .dot { fill: $ink; }
  .soft { fill: $soft; }
  .strong, .tie-dot { fill: $strong; }
  .page { fill: $page; }
  .cell { fill: $cell; stroke: $line; }
  .hole { stroke: $line; }
  .frame { stroke: $ink; }
  .axis, .arrow { stroke: $soft; }
  .tie { stroke: $strong; }
""" + "".join(f"  .{name} {{ fill: ${name}; stroke: $line; }}\n" for name in "abcd")

HEADS = """<defs>
  <marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse">
    <path d="M0 0L8 4L0 8z" class="soft"/></marker>
  <marker id="tie-head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto-start-reverse">
    <path d="M0 0L8 4L0 8z" class="strong"/></marker>
</defs>"""


def style(rules: str, colours: dict[str, tuple[str, str]]) -> str:
    """`rules` with the colours of a light page, then with those of a dark one. No variables: many viewers know none."""
    light, dark = (Template(rules).substitute({name: pair[page] for name, pair in colours.items()}) for page in (0, 1))
    return f"{SHAPES}{light}  @media (prefers-color-scheme: dark) {{{dark}  }}\n"


def number(value: float) -> str:
    return f"{value:g}"


class Canvas:
    def __init__(self, width: int, height: int, title: str, rules: str = "",
                 colours: dict[str, tuple[str, str]] | None = None) -> None:
        """`rules` and `colours`: what a figure adds to RULES and COLOURS."""
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            f'role="img">', f"<title>{escape(title)}</title>",
            f"<style>{style(RULES + rules, COLOURS | (colours or {}))}</style>", HEADS,
            f'<rect class="page" width="{width}" height="{height}" rx="8"/>']

    def text(self, x: float, y: float, text: object, style: str = "") -> None:
        self.parts.append(f'<text x="{number(x)}" y="{number(y)}" class="{style}">{escape(str(text))}</text>')

    def box(self, x: float, y: float, width: float, height: float, style: str, text: object = "",
            text_style: str = "") -> None:
        self.parts.append(f'<rect x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}" '
                          f'class="{style}"/>')
        if text != "":
            self.text(x + width / 2, y + height / 2 + 5, text, f"middle {text_style}".strip())

    def line(self, x1: float, y1: float, x2: float, y2: float, style: str = "axis") -> None:
        self.parts.append(f'<line x1="{number(x1)}" y1="{number(y1)}" x2="{number(x2)}" y2="{number(y2)}" '
                          f'class="{style}"/>')

    def dot(self, x: float, y: float, style: str = "dot") -> None:
        self.parts.append(f'<circle cx="{number(x)}" cy="{number(y)}" r="4" class="{style}"/>')

    def svg(self) -> str:
        return "\n".join(self.parts + ["</svg>"]) + "\n"
