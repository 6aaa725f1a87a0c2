"""What the scripts of bench/ share: figures as text, machine and commit, result pages, documents with a generated section."""
import math
import os
import pathlib
import platform
import re
import subprocess
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs" / "results"


def machine():
    """What the figures were measured on."""
    def first(pattern, path, default="unknown"):
        try:
            found = re.search(pattern, open(path).read(), re.M)
            return found.group(1).strip() if found else default
        except OSError:
            return default

    caches = []
    for index in sorted(pathlib.Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        try:
            read = lambda name: (index / name).read_text().strip()
            caches.append(f"L{read('level')}{read('type')[0].lower() if read('type') != 'Unified' else ''} {read('size')}")
        except OSError:
            pass
    info = "/proc/cpuinfo"
    return {
        "cpu": first(r"^model name\s*:\s*(.*)$", info),
        "family": first(r"^cpu family\s*:\s*(.*)$", info),
        "model": first(r"^model\s*:\s*(.*)$", info),
        "cpus": os.cpu_count(),
        "caches": ", ".join(caches),
        "system": first(r'^PRETTY_NAME="(.*)"$', "/etc/os-release") + ", Linux " + platform.release().split("-")[0],
        "virtual": "hypervisor" in first(r"^flags\s*:\s*(.*)$", info, ""),
    }


def commit(*paths):
    """The commit that is checked out, and whether `paths` (none: anything) differ from it."""
    def git(*words):
        try:
            result = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True)
        except FileNotFoundError:
            return ""
        return result.stdout.strip() if result.returncode == 0 else ""

    name = git("rev-parse", "--short", "HEAD") or "unknown"
    return name + (" with local changes" if git("status", "--porcelain", "--untracked-files=no", "--", *paths) else "")


def geomean(values):
    """Of those values that there are."""
    values = [v for v in values if v]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def median(values):
    values = sorted(values)
    return values[len(values) // 2] if values else None


def number(value, digits=3):
    if value is None:
        return "–"
    if value == 0:
        return "0"
    if abs(value) >= 10 ** digits - 0.5:
        return f"{value:.0f}"
    return f"{value:.{digits}g}"


def percent(value):
    return "–" if value is None else f"{100 * value:.0f} %" if value >= 0.1 else f"{100 * value:.1f} %"


def value(text):
    """'76 %' → 0.76, '×1.9' → 1.9, '**2.1**' → 2.1, '–' → None."""
    found = re.fullmatch(r"\**×?([0-9.]+(?:e[+-]?[0-9]+)?)( %)?\**", text.strip())
    return float(found.group(1)) / (100 if found.group(2) else 1) if found else None


def wrapped(prose):
    return textwrap.fill(prose, 100, break_long_words=False, break_on_hyphens=False)


def threads_text(threads):
    return f"{threads} thread{'s' if threads > 1 else ''}"


class Page:
    """The tables of one report: a page of docs/results, or a report.md of bench/report.

    `rows`: (operator, threads) → case → figures, as rounded as the page has them. All that is derived from a page is computed
    from these, so that two documents cannot differ by rounding.
    """

    # What `wrapped` made of bench/report's first sentence.
    ABOUT = re.compile(r"^(?P<date>\d{4}-\d\d-\d\d), (?P<cpu>.*?)\s\(family\s(?P<family>\d+),\smodel\s(?P<model>\d+).*?"
                       r";\sdmlref\s(?P<commit>[^;]*);", re.M | re.S)

    def __init__(self, path):
        text = path.read_text()
        self.path, self.rows, self.peaks = path, {}, {}
        self.title = text.split("\n", 1)[0].removeprefix("# ").removeprefix("Results with ")
        about = self.ABOUT.search(text)
        self.date, self.cpu, self.family, self.model, self.commit = (
            [" ".join(group.split()) for group in about.groups()] if about else [None] * 5)
        self.archived = path.resolve().parent.name == "archive"
        key, columns = None, []
        for line in text.splitlines():
            heading = re.match(r"#+ (.*)", line)
            cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
            if heading:
                speed = re.fullmatch(r"(\w+), (\d+) threads?", heading.group(1))
                key, columns = (speed.group(1), int(speed.group(2))) if speed else None, []
            elif not cells:
                columns = []
            elif not columns:
                columns = cells
            elif not cells[0].startswith("---"):
                row = dict(zip(columns, cells))
                if key:
                    self.rows.setdefault(key, {})[row["case"]] = {
                        "us": value(row["dmlref µs"]), "limit": value(row["of limit"]), "ratio": value(row["ratio"]),
                        "gain": value(row.get("of one thread", "")), "competitor": row["best competitor"]}
                elif "Gop/s per core" in row:
                    self.peaks[row["instruction set"]] = float(row["Gop/s per core"])

    def best_isa(self):
        """The best instruction set that the report names, None where it names none."""
        return list(self.peaks)[-1] if self.peaks else None

    def limit(self, operator, row):
        """A row's fraction of the limit. AMX is compared with the peak of the dot products that its tiles replace."""
        if operator == "QLC" and self.best_isa() == "amx_int8" and row["limit"] is not None:
            return row["limit"] * self.peaks["amx_int8"] / self.peaks["avx512vnni"]
        return row["limit"]


def result_pages():
    """The current pages, then the archive, each from the newest on."""
    pages = [Page(path) for path in sorted(RESULTS.rglob("*.md"))]
    for page in pages:
        if not page.rows or not page.date:
            sys.exit(f"{page.path}: has no report of bench/report table")
    pages.sort(key=lambda page: page.date, reverse=True)
    return sorted(pages, key=lambda page: page.archived)


def overview(page):
    """The figures of a page at a glance. Means and medians are of cases with competitors, which every page has."""
    lines = ["| operator | threads | cases with competitors | dmlref is fastest in | geometric mean of the ratios | median fraction "
             "of the limit | median gain over one thread | cases without competitors | their median fraction of the limit |",
             "|---" * 9 + "|"]
    for (operator, threads), rows in page.rows.items():
        rivals = [row for row in rows.values() if row["ratio"]]
        alone = [row for row in rows.values() if not row["ratio"]]
        gains = [row["gain"] for row in rivals if row["gain"] and row["us"] * row["gain"] > 100]
        mean = geomean([row["ratio"] for row in rivals])
        lines.append(f"| {operator} | {threads} | {len(rivals)} | {sum(row['ratio'] > 1 for row in rivals)} | "
                     f"{f'{mean:.2f}' if mean else '–'} | {percent(median(row['limit'] for row in rivals))} | "
                     f"{f'×{median(gains):.2f}' if gains else '–'} | {len(alone)} | "
                     f"{percent(median(row['limit'] for row in alone))} |")
    note = ("*ratio*: median time of the best competitor over dmlref's. A gain is of cases above 100 µs on one thread. Convolutions "
            "whose filter is bound at execute (`bound`, `io_bound`) have no competitor. Fractions of the limit compare only over "
            "the same cases.")
    return "\n".join([*lines, "", wrapped(note)])


def with_section(path, name, text, document=None):
    """The document at `path` with `text` between its marks <!-- name: begin --> and <!-- name: end -->."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    document = path.read_text() if document is None else document
    if begin not in document or end not in document:
        sys.exit(f"{path}: has no section between {begin} and {end}")
    head, rest = document.split(begin, 1)
    return f"{head}{begin}\n\n{text.rstrip()}\n\n{end}{rest.split(end, 1)[1]}"
