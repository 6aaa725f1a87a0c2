"""svg.py: a small canvas that writes SVG for light and dark pages, with no font or style from outside."""

from html import escape

STYLE = """
  :root { --page: #ffffff; --ink: #1f2328; --soft: #59636e; --line: #b3bac2; --cell: #f2f4f7;
          --a: #ffd8a8; --b: #a5d8ff; --c: #b2f2bb; --d: #eebefa; --strong: #c2410c; }
  @media (prefers-color-scheme: dark) {
    :root { --page: #15191f; --ink: #e6e9ed; --soft: #a3abb5; --line: #4d5661; --cell: #232a33;
            --a: #7a4a12; --b: #1c4f7d; --c: #23602f; --d: #67317a; --strong: #ffa657; } }
  text { font: 14px ui-sans-serif, system-ui, 'DejaVu Sans', sans-serif; fill: var(--ink); }
  .small { font-size: 12px; }
  .soft { fill: var(--soft); }
  .strong { fill: var(--strong); font-weight: 600; }
  .title { font-weight: 600; }
  .middle { text-anchor: middle; }
  .end { text-anchor: end; }
  .page { fill: var(--page); }
  .cell { fill: var(--cell); stroke: var(--line); }
  .hole { fill: none; stroke: var(--line); stroke-dasharray: 3 3; }
  .frame { fill: none; stroke: var(--ink); stroke-width: 2; }
  .axis { stroke: var(--soft); }
  .arrow { stroke: var(--soft); stroke-width: 1.5; fill: none; marker-end: url(#head); }
  .tie { stroke: var(--strong); stroke-width: 2; fill: none; marker-end: url(#tie-head); }
  .dot { fill: var(--ink); }
  .tie-dot { fill: var(--strong); }
  .a { fill: var(--a); stroke: var(--line); } .b { fill: var(--b); stroke: var(--line); }
  .c { fill: var(--c); stroke: var(--line); } .d { fill: var(--d); stroke: var(--line); }
"""

HEADS = """<defs>
  <marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse">
    <path d="M0 0L8 4L0 8z" style="fill: var(--soft)"/></marker>
  <marker id="tie-head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto-start-reverse">
    <path d="M0 0L8 4L0 8z" style="fill: var(--strong)"/></marker>
</defs>"""


def number(value: float) -> str:
    return f"{value:g}"


class Canvas:
    def __init__(self, width: int, height: int, title: str, style: str = "") -> None:
        """`style`: what a figure adds to STYLE."""
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            f'role="img">', f"<title>{escape(title)}</title>", f"<style>{STYLE}{style}</style>", HEADS,
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
