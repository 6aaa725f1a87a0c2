"""pictures_test.py --command DMLREF: every SVG of the repository draws, in colour, with text that can be read.

librsvg draws it, as most programs but browsers do, once as it is and once with its colours for dark pages. Exit status 77,
and the reason, where rsvg-convert (Debian: librsvg2-bin) is missing.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pages

COMMAND = Path(sys.argv[2] if sys.argv[1:2] == ["--command"] else "dmlref").resolve()  # decodes PNG
ZOOM = 2  # a stroke of small text covers whole pixels
BEHIND = (255, 0, 255)  # what shows through
SAMPLE = 5  # one pixel of so many is counted
CODE = 77  # the blue of numbered texts
CONTRAST = 4.5  # WCAG 2, level AA
TEXT = re.compile(r"<text\b([^>]*)>(.*?)</text>", re.DOTALL)
DARK = re.compile(r"@media \(prefers-color-scheme: dark\) \{((?:[^{}]*\{[^{}]*\})*\s*)\}")

Colour = tuple[int, ...]


@dataclass
class Picture:
    width: int
    height: int
    planes: list[bytes]  # red, green, blue

    def at(self, index: int) -> Colour:
        return tuple(plane[index] for plane in self.planes)


def draw(svg: str) -> Picture:
    """The picture by librsvg, decoded by the command."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        done = subprocess.run(["rsvg-convert", f"--zoom={ZOOM}", f"--background-color=rgb{BEHIND}".replace(" ", "")],
                              input=svg.encode(), capture_output=True, check=False)
        if done.returncode != 0:
            raise ValueError(done.stderr.decode().strip())
        (folder / "drawn.png").write_bytes(done.stdout)
        width, height = (int.from_bytes(done.stdout[at : at + 4], "big") for at in (16, 20))
        (folder / "model.json").write_text(json.dumps({
            "resources": {"drawn": {"initialValuesDataType": "UINT8", "initialValues": {"sourcePath": "drawn.png"}}},
            "dispatchables": {}, "commands": [{"type": "writeFile", "resource": "drawn", "targetPath": "planes.bin"}]}))
        subprocess.run([COMMAND, "run", "model.json"], cwd=folder, check=True)
        planes = (folder / "planes.bin").read_bytes()
    return Picture(width, height, [planes[width * height * plane :][: width * height] for plane in range(3)])


def luminance(colour: Colour) -> float:
    """WCAG's relative luminance, 0 to 1."""
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in (value / 255 for value in colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@cache
def contrast(one: Colour, other: Colour) -> float:
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


def faults_of_texts(svg: str, drawn: Picture) -> list[str]:
    """Each text is drawn anew in a colour of its own: where that covers a pixel, the text's colour meets what is behind."""
    texts = [f"'{text}'" for _, text in TEXT.findall(svg)]
    numbers = iter(range(1, len(texts) + 1))
    code = lambda number: (number >> 8, number & 255, CODE)
    numbered = draw(TEXT.sub(lambda text: f'<text{text[1]} style="fill:rgb{code(next(numbers))}">{text[2]}</text>', svg))
    behind = draw(TEXT.sub("", svg))
    best: dict[Colour, float] = {code(number): 0.0 for number in range(1, len(texts) + 1)}  # 0: not seen yet
    index = -1
    while (index := numbered.planes[2].find(CODE, index + 1)) >= 0:
        if (colour := numbered.at(index)) in best:
            best[colour] = max(best[colour], contrast(drawn.at(index), behind.at(index)))
    found = [f"the text {text} has a contrast of {value:.2f}, expected {CONTRAST} at least" if value else
             f"the text {text} is not to be seen" for text, value in zip(texts, best.values()) if value < CONTRAST]
    return list(dict.fromkeys(found))


def faults_of_scheme(svg: str, is_dark: bool) -> list[str]:
    drawn = draw(svg)
    counts = Counter(zip(*(plane[::SAMPLE] for plane in drawn.planes)))
    faults = []
    if counts[BEHIND] > sum(counts.values()) / 100:
        faults.append("what is behind shows through: expected a page of its own")
    page = luminance(counts.most_common(1)[0][0])
    if is_dark != (page < 0.5):
        faults.append(f"most of it has a luminance of {page:.2f}, expected a {'dark' if is_dark else 'light'} page")
    large = [colour for colour, count in counts.items() if count >= 10 and colour != BEHIND]
    if len(large) < 4:
        faults.append(f"has {len(large)} colours, expected 4 at least")
    if not any(max(colour) - min(colour) > 60 for colour in large):
        faults.append("is gray, expected a colour")
    return faults + faults_of_texts(svg, drawn)


def faults_of(svg: str) -> list[str]:
    dark = DARK.search(svg)
    faults = [f"light: {fault}" for fault in faults_of_scheme(DARK.sub("", svg), False)]
    if dark is None:
        return faults + ["has no colours for dark pages"]
    return faults + [f"dark: {fault}" for fault in faults_of_scheme(DARK.sub(dark[1], svg), True)]


class Checked(unittest.TestCase):
    def test_every_picture(self) -> None:
        paths = [path for path in sorted(pages.ROOT.rglob("*.svg"))
                 if not {"build", "out", "node_modules"} & set(path.relative_to(pages.ROOT).parts)]
        self.assertGreater(len(paths), 5)
        for path in paths:
            with self.subTest(path.relative_to(pages.ROOT).as_posix()):
                self.assertEqual([], faults_of(path.read_text(encoding="utf-8")))


class Refused(unittest.TestCase):
    """What the check is there to refuse, and what is right."""

    right = """<svg xmlns="http://www.w3.org/2000/svg" width="200" height="100"><style>
      text { font: 14px sans-serif; fill: #000; } .page { fill: #fff; } .a { fill: #fa0; } .b { fill: #5af; stroke: #333; }
      @media (prefers-color-scheme: dark) { text { fill: #fff; } .page { fill: #111; } .a { fill: #740; } }
      </style><rect class="page" width="200" height="100"/><rect class="a" x="20" y="20" width="40" height="40"/>
      <rect class="b" x="120" y="20" width="40" height="40"/><text x="25" y="45">12</text><text x="20" y="80">below</text></svg>"""

    def faults(self, *changes: tuple[str, str]) -> str:
        svg = self.right
        for old, new in changes:
            self.assertIn(old, svg)
            svg = svg.replace(old, new)
        return "\n".join(faults_of(svg))

    def test_accepts_what_is_right(self) -> None:
        self.assertEqual("", self.faults())

    def test_refuses_variables(self) -> None:
        self.assertIn("light: most of it has a luminance of 0.00",
                      self.faults((".page { fill: #fff; }", ":root { --page: #fff; } .page { fill: var(--page); }")))

    def test_refuses_a_picture_without_a_page(self) -> None:
        self.assertIn("shows through", self.faults(('<rect class="page" width="200" height="100"/>', "")))

    def test_refuses_text_like_what_is_behind_it(self) -> None:
        self.assertIn("light: the text 'below' has a contrast of 1.00", self.faults(("sans-serif; fill: #000;", "sans-serif; fill: #fff;")))
        self.assertIn("dark: the text 'below' has a contrast of", self.faults(("dark) { text { fill: #fff; }", "dark) {")))
        self.assertIn("light: the text '12' has a contrast of", self.faults((".a { fill: #fa0; }", ".a { fill: #420; }")))

    def test_refuses_text_that_is_covered_or_outside(self) -> None:
        self.assertIn("the text 'below' is not to be seen", self.faults(('y="80"', 'y="180"')))
        self.assertIn("the text '12' is not to be seen",
                      self.faults(("</svg>", '<rect class="b" x="20" y="20" width="40" height="40"/></svg>')))

    def test_refuses_a_picture_without_colour(self) -> None:
        self.assertIn("is gray", self.faults((".a { fill: #fa0; }", ".a { fill: #aaa; }"), (".b { fill: #5af;", ".b { fill: #555;")))

    def test_refuses_a_picture_for_light_pages_alone(self) -> None:
        self.assertIn("has no colours for dark pages", self.faults(("@media (prefers-color-scheme: dark)", "@media print")))

    def test_refuses_what_is_no_svg(self) -> None:
        with self.assertRaises(ValueError):
            self.faults(("</svg>", ""))


if __name__ == "__main__":
    if shutil.which("rsvg-convert") is None:
        print("skipped: needs rsvg-convert (Debian: librsvg2-bin)")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
