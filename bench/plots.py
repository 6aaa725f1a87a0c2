"""Pictures of benchmark tables: time of the best competitor over dmlref's, and fractions of the machine's limit."""
import math
import sys

from pages import ROOT, number, threads_text

sys.path.insert(0, str(ROOT / "docs" / "figures"))
from svg import Canvas  # noqa: E402

# Colours on a light and on a dark page, told apart by colour-blind readers too.
LIBRARIES = {"oneDNN": ("#0072b2", "#56b4e9"), "XNNPACK": ("#c78500", "#e69f00"), "Eigen": ("#009e73", "#2fc89b"),
             "loops": ("#8a929b", "#8a929b"), "ONNX Runtime": ("#d55e00", "#ff8a3d"), "PyTorch": ("#b8568c", "#cc79a7")}


def css(library):
    return library.replace(" ", "_")


RULES = "  .grid { stroke: $cell; }\n" + "".join(f"  .{css(name)} {{ fill: ${css(name)}; }}\n" for name in LIBRARIES)


def library(text):
    """'ONNX Runtime nchw, extended' → 'ONNX Runtime', '–' → None."""
    return next((name for name in LIBRARIES if text.startswith(name)), None)


def picture(title, rows):
    """`rows`: per case its name, the ratio and the library of the best competitor (or None), and {library: fraction of the
    limit} with dmlref's own under "dmlref"."""
    width, step, top = 940, 19, 92
    left, right = 345, 640  # the panel of ratios
    start, end = 690, 915  # the panel of fractions
    bottom = top + step * len(rows)
    canvas = Canvas(width, bottom + 40, title, RULES, {css(name): pair for name, pair in LIBRARIES.items()})
    canvas.text(16, 26, title, "title")

    used = [name for name in LIBRARIES if any(name == row[2] or name in row[3] for row in rows)]
    x = 16
    for name in ["dmlref", *used]:
        canvas.dot(x + 4, 46, "dot" if name == "dmlref" else css(name))
        canvas.text(x + 13, 50, name, "small")
        x += 30 + 8 * len(name)
    canvas.text(left, 74, "time of the best competitor / time of dmlref", "small soft")
    canvas.text(start, 74, "fraction of the limit", "small soft")

    ratios = [row[1] for row in rows if row[1]]
    low, high = min([0.8, *ratios]) / 1.25, max([2, *ratios]) * 1.6
    at = lambda ratio: left + (right - left) * math.log(ratio / low) / math.log(high / low)
    for tick in (tick for power in (0.1, 1, 10, 100, 1000) for tick in (power, 2 * power, 5 * power)):
        if low < tick < high:
            canvas.line(at(tick), top - 8, at(tick), bottom, "axis" if tick == 1 else "grid")
            canvas.text(at(tick), bottom + 18, f"{tick:g}×", "small soft middle")
    most = max([1, *(fraction for row in rows for fraction in row[3].values())])
    most = math.ceil(most * 5) / 5
    along = lambda fraction: start + (end - start) * fraction / most
    for tick in range(0, round(100 * most) + 1, 25 if most <= 1.5 else 50):
        canvas.line(along(tick / 100), top - 8, along(tick / 100), bottom, "axis" if tick == 100 else "grid")
        canvas.text(along(tick / 100), bottom + 18, f"{tick} %", "small soft middle")

    for index, (case, ratio, rival, fractions) in enumerate(rows):
        y = top + step * index
        canvas.text(left - 14, y + 10, case, "small end")
        if ratio:
            ends = sorted([at(1), at(ratio)])
            canvas.box(round(ends[0], 1), y + 1, round(max(ends[1] - ends[0], 1), 1), 10, css(rival))
            canvas.text(round(ends[1] + 5, 1), y + 10, f"{number(ratio)}×", "small")
        else:
            canvas.text(at(1) + 5, y + 10, "no competitor", "small soft")
        for name, fraction in [*((n, f) for n, f in fractions.items() if n != "dmlref"), ("dmlref", fractions["dmlref"])]:
            canvas.dot(round(along(fraction), 1), y + 6, "dot" if name == "dmlref" else css(name))
    return "".join(line.rstrip() + "\n" for line in canvas.svg().splitlines())


def of_page(page, operator, threads):
    """The picture of one table of a page, which has the best competitor's fraction alone."""
    rows = []
    for case, row in page.rows[operator, threads].items():
        rival = library(row["competitor"])
        fractions = {rival: row["limit"] / row["ratio"]} if rival and row["ratio"] else {}
        rows.append((case, row["ratio"], rival, {**fractions, "dmlref": row["limit"]}))
    return picture(f"{operator}, {threads_text(threads)}: {page.title}, commit {page.commit}", rows)
