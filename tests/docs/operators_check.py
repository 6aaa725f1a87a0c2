"""operators_check.py: every operator of the library has a page with all its parts, and the README, the API's start page,
the errors' page and the changelog name it."""

import re
import sys

import pages

PARTS = [r"Computation", r"Figures?", r"Parameters", r"Tensor types by level", r"Constraints", r"Worked example",
         r"Layouts and strides.*", r"(Numerics|Layouts and strides, numerics.*)", r"(Performance|.*performance)", r"Errors",
         r"The same call in four forms", r"Traps of the original documents"]
FORMS = ["Typed views", "Native desc", "Microsoft's struct", "JSON"]


def operators() -> list[str]:
    """Those of the playground's schema, which a test holds against the library's."""
    text = (pages.ROOT / "docs/playground/src/schema.js").read_text(encoding="utf-8")
    return re.findall(r"^  ([A-Z][A-Z0-9_]+): \[$", text, re.MULTILINE)


def faults_of(operator: str) -> list[str]:
    path = pages.ROOT / f"docs/operators/{operator.lower()}.md"
    if not path.exists():
        return [f"{operator} has no page docs/operators/{path.name}"]
    text = path.read_text(encoding="utf-8")
    place = path.relative_to(pages.ROOT)
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    faults = [f"{place}: no heading {part}" for part in PARTS if not any(re.fullmatch(part, each) for each in headings)]
    faults += [f"{place}: no form {form}" for form in FORMS if f"\n### {form}\n" not in text]
    figure = re.search(r"^## Figures?\n(.*?)^## ", text, re.MULTILINE | re.DOTALL)
    if figure and not re.search(r"\]\(\.\./figures/\w+\.svg\)", figure.group(1)):
        faults.append(f"{place}: no figure")
    if not re.search(r"^\| .*\n\|[-|]+\|\n|^```", text.split("\n## Worked example\n")[-1], re.MULTILINE):
        faults.append(f"{place}: no numbers in the worked example")
    words = operator.split("_")
    desc = "".join(word.capitalize() for word in words) + "Desc"
    for name, wanted in {"README.md": f"[{operator}](docs/operators/{path.name})", "CHANGELOG.md": operator,
                         "docs/errors.md": f"(operators/{path.name}", "docs/site/api.dox": f"dmlref::{desc} |"}.items():
        if wanted not in (pages.ROOT / name).read_text(encoding="utf-8"):
            faults.append(f"{name}: does not have {wanted}")
    return faults


def main() -> int:
    names = operators()
    faults = [fault for name in names for fault in faults_of(name)]
    print(*faults, f"operators: {len(names)} pages", sep="\n")
    return 1 if faults or len(names) < 11 else 0


if __name__ == "__main__":
    sys.exit(main())
