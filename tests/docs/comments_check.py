"""comments_check.py: every public declaration of the headers that docs/site/Doxyfile names has a doc comment.

Exit status 77, and the reason, where doxygen is missing. Members of activation structs need none: the struct's comment has
the formula.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pages

# Doxygen looks at members of namespaces and files only where these are documented.
DOCUMENTED = "/*! \\namespace dmlref\n    The library. */\n/*! \\file directml_types.hpp\n    Microsoft's names. */\n"
EXCEPTIONS = re.compile(r"Member \w+ \(variable\) of struct DML_ACTIVATION_\w+ is not documented")


def faults_of(root: Path, headers: str = "") -> list[str]:
    """What Doxygen warns of in `root`; `headers`: its INPUT, the Doxyfile's if empty."""
    settings = (pages.ROOT / "docs/site/Doxyfile").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "warnings"
        (Path(folder) / "documented.dox").write_text(DOCUMENTED, encoding="utf-8")
        settings += f"""
            {f'INPUT = {headers}' if headers else f'INPUT += {" ".join(pages.operator_headers())}'}
            INPUT += {folder}/documented.dox
            FILE_PATTERNS += *.dox
            OUTPUT_DIRECTORY = {folder}
            GENERATE_HTML = NO
            EXTRACT_ALL = NO
            WARN_IF_UNDOCUMENTED = YES
            WARN_FORMAT = "$file:$line: $text"
            WARN_LOGFILE = {log}
        """
        subprocess.run(["doxygen", "-"], input=settings, text=True, check=True, cwd=root, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        lines = log.read_text(encoding="utf-8").split("\n") if log.exists() else []
    return [line.replace(f"{root}/", "") for line in lines
            if "warning:" in line and not EXCEPTIONS.search(line) and "documented.dox" not in line]


def main() -> int:
    if shutil.which("doxygen") is None:
        print("skipped: needs doxygen")
        return 77
    faults = faults_of(pages.ROOT)
    print(*faults, f"comments: {len(faults)} faults", sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
