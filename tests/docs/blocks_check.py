"""blocks_check.py: every C++, shell and JSON block of the pages is compiled, run, and its printed output compared.

Rules:

  cpp    with `int main(`: a program. Without: the body of main, after the library's headers and `using namespace dmlref`;
         its own #include lines go to the top. `<!-- before: code -->` above it adds code before it that readers do not see;
         `<!-- after: NAME -->` the page's block with `<!-- name: NAME -->`, once more.
  json   an object with `dispatchables`: a model that `dmlref run` runs. Anything else: parsed. With
         `<!-- part of: FILE -->` it must occur in that JSON file.
  sh     run by bash in a scratch folder that looks like the checkout, one folder per page; `dmlref` is on PATH.
         `<!-- exits 1 -->` expects that status. A line `$ command` in a `console` block is run, the lines below compared.
  output an unlabelled or `text` block after one that is run, with at most one paragraph between, is what that prints.

Marks above a block:
  <!-- not run: reason -->        skipped; the reason is printed
  <!-- run --> <!-- test -->      the README's two commands: .ci/run runs them
  <!-- file: NAME -->             saved in the scratch folder for the page's later blocks, not run by itself
  <!-- new: FILE -->              a header that changes_check.py adds
  <!-- output varies: reason -->  above an output block: not compared
"""

import argparse
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pages

LANGUAGES = {"cpp": "cpp", "c++": "cpp", "json": "json", "jsonc": "json", "sh": "sh", "bash": "sh", "console": "console"}
HEADERS = ["cstddef", "cstdint", "cstdio", "span", "string", "vector", "dmlref/directml.hpp", "dmlref/dmlref.hpp"]
BEYOND_THE_FOLDER = r"\b(?:sudo|apt|apt-get|dpkg -i|pip|npm|conan|vcpkg|curl|wget|git clone)\b"
TIMEOUT = 300  # of one program, on a busy machine


@dataclass
class Options:
    compiler: list[str]
    flags: list[str]
    libraries: list[str]
    command: Path
    jobs: int


@dataclass
class Case:
    block: pages.Block
    kind: str
    expected: pages.Block | None = None
    skipped: str = ""
    program: Path | None = None
    faults: list[str] = field(default_factory=list)
    seconds: float = 0.0


def is_output_of(block: pages.Block) -> bool:
    """At most one paragraph between: no blank line inside, no heading, no table, no list."""
    paragraph = block.between.strip()
    return block.language in ("", "text", "output") and "\n\n" not in paragraph and not re.match(r"[#|*-]", paragraph)


def reason_to_skip(block: pages.Block) -> str:
    if pages.is_unchecked("blocks", block.page):
        return "the page is not checked yet"
    for name in ("run", "test"):
        if block.mark(name) == "":
            return ".ci/run runs it"
    if block.mark("new"):
        return "changes_check.py makes that file"
    reason = block.mark("not run")
    return reason or ""


def cases_of(path: Path) -> list[Case]:
    cases: list[Case] = []
    last: Case | None = None  # the case whose output may follow
    for block in pages.read(path).blocks:
        kind = LANGUAGES.get(block.language)
        if kind is None:
            if last is not None and last.kind != "file" and is_output_of(block) and block.mark("not run") is None:
                last.expected = block
            last = None
            continue
        if block.mark("not run") == "":
            cases.append(Case(block, kind, faults=["expected a reason after `not run:`"]))
            continue
        last = Case(block, kind, skipped=reason_to_skip(block))
        if block.mark("file"):
            last.kind = "file"
        cases.append(last)
    return cases


def is_program(block: pages.Block) -> bool:
    return re.search(r"\bint main\(", block.text) is not None


def source_of(block: pages.Block, named: dict[str, pages.Block]) -> str:
    """The program: the block as it stands, or wrapped into main; the prelude is included by the compiler's option."""
    name = block.page.as_posix()
    if is_program(block):
        return f'#line {block.line} "{name}"\n{block.text}\n'
    includes = [line for line in block.text.split("\n") if line.startswith("#include")]
    body = "\n".join("" if line.startswith("#include") else line for line in block.text.split("\n"))
    before = block.mark("before") or ""
    if block.mark("after"):
        first = named[block.mark("after")]
        before = f'#line {first.line} "{name}"\n{first.text}\n{before}'
    return "\n".join(includes + ["using namespace dmlref;", "int main() {", before, f'#line {block.line} "{name}"', body,
                                 "}", ""])


def make_prelude(options: Options, folder: Path) -> list[str]:
    """The headers of wrapped blocks, compiled once. Returns the options that include them."""
    prelude = folder / "prelude.hpp"
    prelude.write_text("".join(f"#include <{header}>\n" for header in HEADERS), encoding="utf-8")
    run(options.compiler + ["-std=c++20", "-O0", *options.flags, "-x", "c++-header", str(prelude), "-o",
                            f"{prelude}.gch"], folder, dict(os.environ))
    return ["-include", str(prelude)]


def run(command: list[str], folder: Path, environment: dict[str, str]) -> tuple[int, str, str]:
    """Status, output and errors. What takes too long is ended with all that it started."""
    process = subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        out, error = process.communicate(timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    return process.returncode, out, error


def compile_block(case: Case, options: Options, folder: Path, named: dict[str, pages.Block], prelude: list[str]) -> None:
    start = time.monotonic()
    source = folder / f"block_{case.block.line}.cpp"
    case.program = source.with_suffix("")
    extra = ["-Wall", "-Wextra", "-Werror"] if is_program(case.block) else prelude
    try:
        source.write_text(source_of(case.block, named), encoding="utf-8")
        status, out, error = run(options.compiler + ["-std=c++20", "-O0", *extra, *options.flags, str(source), "-o",
                                                     str(case.program), *options.libraries], folder, dict(os.environ))
        if status != 0:
            case.faults.append(f"does not compile:\n{out}{error}")
    except KeyError as error:
        case.faults.append(f"the page has no block named {error}")
    except subprocess.TimeoutExpired:
        case.faults.append(f"does not compile in {TIMEOUT} s")
    case.seconds += time.monotonic() - start


def without_comments(text: str) -> str:
    """JSON without // and /* */ comments and without commas before a closing bracket, as the command reads it."""
    kept = re.sub(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', lambda m: m.group(1) or "", text, flags=re.DOTALL)
    return re.sub(r'("(?:\\.|[^"\\])*")|,(?=\s*[\]}])', lambda m: m.group(1) or "", kept)


def contains(whole: object, part: object) -> bool:
    if whole == part:
        return True
    inside = whole.values() if isinstance(whole, dict) else whole if isinstance(whole, list) else ()
    return any(contains(value, part) for value in inside)


def tidy(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().split("\n")]


def compare(case: Case, printed: str, expected: str) -> None:
    if tidy(printed) != tidy(expected):
        case.faults.append(f"prints\n{printed.rstrip()}\nexpected\n{expected.rstrip()}")


def run_console(case: Case, options: Options, folder: Path, environment: dict[str, str]) -> None:
    for chunk in re.split(r"^\$ ", case.block.text, flags=re.MULTILINE)[1:]:
        line, _, expected = chunk.partition("\n")
        _, out, error = run(["bash", "-c", line], folder, environment)
        compare(case, out + error, expected)


def run_case(case: Case, options: Options, folder: Path, environment: dict[str, str]) -> None:
    block = case.block
    if case.kind == "console":
        run_console(case, options, folder, environment)
        return
    if case.kind == "file":
        (folder / (block.mark("file") or "")).write_text(block.text + "\n", encoding="utf-8")
        return
    if case.kind == "cpp":
        command = [str(case.program)]
    elif case.kind == "sh":
        if re.search(BEYOND_THE_FOLDER, block.text):
            case.faults.append("installs or downloads: expected the mark `not run: reason`")
            return
        command = ["bash", "-eu", "-o", "pipefail", "-c", block.text]
    else:
        try:
            model = json.loads(without_comments(block.text))
        except json.JSONDecodeError as error:
            case.faults.append(f"is not JSON: {error}")
            return
        whole = block.mark("part of")
        if whole and not contains(json.loads(without_comments((pages.ROOT / whole).read_text(encoding="utf-8"))), model):
            case.faults.append(f"does not occur in {whole}")
        if not isinstance(model, dict) or "dispatchables" not in model:
            return
        (folder / "block.json").write_text(block.text, encoding="utf-8")
        command = [str(options.command), "run", "block.json"]
    status, out, error = run(command, folder, environment)
    expected_status = next((int(m.split()[1]) for m in block.marks if re.fullmatch(r"exits \d+", m)), 0)
    if status != expected_status:
        case.faults.append(f"exits with {status}, expected {expected_status}:\n{out}{error}")
    elif case.expected is not None and case.expected.mark("output varies") is None:
        compare(case, out + (error if expected_status != 0 else ""), case.expected.text)


def scratch_of(folder: Path) -> Path:
    """A folder that looks like the checkout, to write to."""
    folder.mkdir()
    for entry in pages.ROOT.iterdir():
        if entry.name not in ("build", "out", ".git"):
            (folder / entry.name).symlink_to(entry)
    return folder


def check(paths: list[Path], options: Options) -> list[Case]:
    environment = dict(os.environ, PATH=f"{options.command.parent}{os.pathsep}{os.environ.get('PATH', '')}")
    environment.pop("DMLREF_ISA", None)
    cases: list[Case] = []
    with tempfile.TemporaryDirectory() as scratch:
        work = []
        for number, path in enumerate(paths):
            page_cases = cases_of(path)
            cases += page_cases
            work.append((page_cases, scratch_of(Path(scratch) / str(number)) if page_cases else None))
        wrapped = any(case.kind == "cpp" and not case.skipped and not is_program(case.block) for case in cases)
        prelude = make_prelude(options, Path(scratch)) if wrapped else []
        waiting = []
        with ThreadPoolExecutor(options.jobs) as pool:
            for page_cases, folder in work:
                named = {case.block.mark("name"): case.block for case in page_cases if case.block.mark("name")}
                for case in page_cases:
                    if case.kind == "cpp" and not case.skipped and not case.faults:
                        waiting.append(pool.submit(compile_block, case, options, folder, named, prelude))
        for each in waiting:
            each.result()
        for page_cases, folder in work:
            for case in page_cases:
                if case.skipped or case.faults:
                    continue
                start = time.monotonic()
                try:
                    run_case(case, options, folder, environment)
                except subprocess.TimeoutExpired:
                    case.faults.append(f"does not end in {TIMEOUT} s")
                case.seconds += time.monotonic() - start
    return cases


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--compiler", required=True, help="the compiler's command")
    parser.add_argument("--flags", default="", help="what a program with dmlref::compiled is compiled with")
    parser.add_argument("--libraries", default="", help="what it is linked with")
    parser.add_argument("--command", required=True, type=Path, help="dmlref")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("pages", nargs="*")
    given = parser.parse_args()
    options = Options(shlex.split(given.compiler), shlex.split(given.flags), shlex.split(given.libraries),
                      given.command.resolve(), given.jobs)
    cases = check([Path(name).resolve() for name in given.pages] or pages.all_pages(), options)
    failed = 0
    for case in cases:
        if case.skipped:
            print(f"skipped {case.block.place} {case.kind}: {case.skipped}")
        elif case.faults:
            failed += 1
            print(f"FAILED  {case.block.place} {case.kind}", *case.faults, sep="\n")
        else:
            compared = " and its output" if case.expected is not None else ""
            print(f"ok      {case.block.place} {case.kind}{compared} ({case.seconds:.1f} s)")
    print(f"blocks: {len(cases)}, {failed} failed, {sum(1 for case in cases if case.skipped)} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
