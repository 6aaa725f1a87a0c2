"""What bench/report and bench/goals share: means of ratios, and documents with a generated section."""
import math
import sys


def geomean(values):
    """Of those values that there are."""
    values = [v for v in values if v]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def with_section(path, name, text):
    """The document at `path` with `text` between its marks <!-- name: begin --> and <!-- name: end -->."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    document = path.read_text()
    if begin not in document or end not in document:
        sys.exit(f"{path}: has no section between {begin} and {end}")
    head, rest = document.split(begin, 1)
    return f"{head}{begin}\n\n{text.rstrip()}\n\n{end}{rest.split(end, 1)[1]}"
