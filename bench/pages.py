"""What the scripts of bench/ share: means of ratios, machine and commit, documents with a generated section."""
import math
import os
import pathlib
import platform
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


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


def with_section(path, name, text):
    """The document at `path` with `text` between its marks <!-- name: begin --> and <!-- name: end -->."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    document = path.read_text()
    if begin not in document or end not in document:
        sys.exit(f"{path}: has no section between {begin} and {end}")
    head, rest = document.split(begin, 1)
    return f"{head}{begin}\n\n{text.rstrip()}\n\n{end}{rest.split(end, 1)[1]}"
