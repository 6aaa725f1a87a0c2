"""checks_test.py: the checks of pages refuse what they are there to refuse, and accept what is right."""

import contextlib
import io
import shutil
import tempfile
import unittest
from pathlib import Path

import blocks_check
import changes_check
import command_page
import comments_check
import errors_page
import links_check
import pages
import prose_check
import site_check
import testing_check

OPTIONS = blocks_check.Options(["false"], [], [], Path("/bin/false"), 1)


class PageOf:
    """A page of that text in a folder of its own."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __enter__(self) -> Path:
        self.folder = tempfile.TemporaryDirectory()
        path = Path(self.folder.name) / "page.md"
        path.write_text(self.text, encoding="utf-8")
        return path

    def __exit__(self, *_: object) -> None:
        self.folder.cleanup()


def faults_of_blocks(text: str) -> list[str]:
    with PageOf(text) as path:
        return [fault for case in blocks_check.check([path], OPTIONS) for fault in case.faults]


class Pages(unittest.TestCase):
    def test_reads_blocks_with_their_marks(self) -> None:
        with PageOf("words\n\n<!-- not run: because -->\n```cpp\nint x;\n```\n") as path:
            (block,) = pages.read(path).blocks
        self.assertEqual(("cpp", "int x;", 5), (block.language, block.text, block.line))
        self.assertEqual("because", block.mark("not run"))
        self.assertIsNone(block.mark("run"))

    def test_reads_anchors_as_github_makes_them(self) -> None:
        with PageOf("# `A_b`, c & d\n## Same\n## Same\n<a id=\"own\"></a>\n") as path:
            self.assertEqual({"a_b-c--d", "same", "same-1", "own"}, pages.anchors(pages.read(path)))

    def test_reads_links_that_are_wrapped(self) -> None:
        with PageOf("a [link that\nis wrapped](other.md) and `[no](link.md)`\n") as path:
            self.assertEqual([(1, "other.md")], pages.links(pages.read(path)))


class Links(unittest.TestCase):
    def faults(self, text: str) -> list[str]:
        with PageOf(text) as path:
            return links_check.faults_of(path, {})

    def test_accepts_what_exists(self) -> None:
        self.assertEqual([], self.faults("# One\n[a](page.md) [b](#one) [c](page.md#one) [d](https://host.invalid/x)\n"))

    def test_refuses_a_missing_file(self) -> None:
        self.assertEqual(1, len(self.faults("[a](missing.md)\n")))

    def test_refuses_a_missing_picture(self) -> None:
        self.assertEqual(1, len(self.faults("![a](missing.svg)\n")))

    def test_refuses_a_missing_heading(self) -> None:
        self.assertEqual(1, len(self.faults("# One\n[a](#two)\n")))

    def test_refuses_a_missing_page_that_a_comment_names(self) -> None:
        missing = "docs/" + "missing.md"
        self.assertEqual(1, len(links_check.faults_of_source(f"// see {missing}, and docs/faq.md\n", "a.hpp")))


class Prose(unittest.TestCase):
    def faults(self, text: str) -> list[str]:
        with PageOf(text) as path:
            return prose_check.faults_of(path, "page.md")

    def test_accepts_long_tables_blocks_and_targets(self) -> None:
        long = "x" * 120
        self.assertEqual([], self.faults(f"| {long} |\n```text\n{long}\n```\n[a]({long})\n"))

    def test_refuses_a_long_line(self) -> None:
        self.assertEqual(1, len(self.faults("x" * 101 + "\n")))

    def test_refuses_words_but_not_in_code(self) -> None:
        self.assertEqual(1, len(self.faults("The verdict.\nThe `verdict`.\n")))


class Blocks(unittest.TestCase):
    def test_compares_what_a_shell_block_prints(self) -> None:
        self.assertEqual([], faults_of_blocks("```sh\necho one\n```\nprints\n```\none\n```\n"))
        self.assertEqual(1, len(faults_of_blocks("```sh\necho one\n```\nprints\n```text\ntwo\n```\n")))

    def test_refuses_a_shell_block_that_fails(self) -> None:
        self.assertEqual(1, len(faults_of_blocks("```sh\nfalse\ntrue\n```\n")))
        self.assertEqual([], faults_of_blocks("<!-- exits 1 -->\n```sh\nfalse\n```\n"))

    def test_refuses_commands_that_install_or_download(self) -> None:
        self.assertEqual(1, len(faults_of_blocks("```sh\nsudo true\n```\n")))

    def test_runs_a_console_block_line_by_line(self) -> None:
        self.assertEqual([], faults_of_blocks("```console\n$ echo one\none\n$ echo two\ntwo\n```\n"))
        self.assertEqual(1, len(faults_of_blocks("```console\n$ echo one\none\n$ echo two\none\n```\n")))

    def test_refuses_what_does_not_compile(self) -> None:
        self.assertEqual(1, len(faults_of_blocks("```cpp\nint x\n```\n")))

    def test_refuses_json_that_cannot_be_read(self) -> None:
        self.assertEqual([], faults_of_blocks('```json\n{"a": [1, 2,], // why\n}\n```\n'))
        self.assertEqual(1, len(faults_of_blocks("```json\n{\n```\n")))

    def test_refuses_json_that_is_no_part_of_the_file_named(self) -> None:
        mark = "<!-- part of: examples/qlc_padding.json -->\n"
        self.assertEqual([], faults_of_blocks(mark + '```json\n{"type": "print", "resource": "output"}\n```\n'))
        self.assertEqual(1, len(faults_of_blocks(mark + '```json\n{"type": "print", "resource": "input"}\n```\n')))

    def test_skips_with_a_reason_only(self) -> None:
        self.assertEqual([], faults_of_blocks("<!-- not run: needs a GPU -->\n```sh\nfalse\n```\n"))
        self.assertEqual(1, len(faults_of_blocks("<!-- not run: -->\n```sh\nfalse\n```\n")))

    def test_saves_files_for_later_blocks(self) -> None:
        self.assertEqual([], faults_of_blocks("<!-- file: a.txt -->\n```json\n[1]\n```\n```sh\ncat a.txt\n```\n```\n[1]\n```\n"))


class Errors(unittest.TestCase):
    header = errors_page.HEADER.read_text(encoding="utf-8")
    messages = errors_page.MESSAGES.read_text(encoding="utf-8")
    fixes = errors_page.FIXES.read_text(encoding="utf-8")

    def test_shows_a_line_that_breaks_the_rule_alone(self) -> None:
        rule = next(rule for rule in errors_page.rules_of(self.header) if rule.name == "slice_bounds")
        entries = [("A", ["x [slice_bounds]", "y [other]"]), ("B", ["ok"]), ("C", ["z [slice_bounds]"]),
                   ("D", ["w [slice_bounds]"])]
        self.assertEqual(("C", ["z [slice_bounds]"]), errors_page.failing(rule, entries))

    def test_refuses_a_rule_that_no_line_breaks(self) -> None:
        with self.assertRaisesRegex(ValueError, "slice_bounds: no line"):
            errors_page.page_of(self.header, self.messages.replace("[slice_bounds]", "[other]"), self.fixes)

    def test_refuses_a_rule_without_a_fix(self) -> None:
        with self.assertRaisesRegex(ValueError, "slice_bounds"):
            errors_page.page_of(self.header, self.messages, self.fixes.replace("\nslice_bounds: ", "\n# "))

    def test_refuses_a_source_without_an_address(self) -> None:
        with self.assertRaisesRegex(ValueError, "no address of the source 'hearsay'"):
            errors_page.page_of(self.header.replace('"reading", 0)', '"hearsay", 0)'), self.messages, self.fixes)

    def test_notices_a_stale_page(self) -> None:
        page = errors_page.PAGE
        try:
            with PageOf("# Errors\n") as errors_page.PAGE, contextlib.redirect_stdout(io.StringIO()) as said:
                self.assertEqual(1, errors_page.main(["--check"]))
        finally:
            errors_page.PAGE = page
        self.assertIn("is stale", said.getvalue())


class Command(unittest.TestCase):
    helps = {(): "Usage: x\n\nCommands:\n  look                  Looks at a file\n\nFooter.\n",
             ("look",): "Looks at a file\nUsage: x look\n\nPositionals:\n  FILE REQUIRED         The file\n\nOptions:\n"
                        "  -h,--help             Print this\n  --at N REQUIRED       Where, or\n                        a|b\n"}

    def test_lists_commands_arguments_and_options(self) -> None:
        self.assertEqual("| command | does |\n|---|---|\n| `look` | Looks at a file |\n\n`x look FILE`\n\n"
                         "| argument, option | meaning |\n|---|---|\n| `FILE` | The file |\n"
                         "| `--at N` | Where, or a\\|b; required |\n".replace("x look", "dmlref look"),
                         command_page.part_of(lambda *command: self.helps[command]))

    def test_refuses_what_has_no_help(self) -> None:
        helps = {**self.helps, ("look",): "Options:\n  --at N\n"}
        with self.assertRaisesRegex(ValueError, "--at N has no help"):
            command_page.part_of(lambda *command: helps[command])

    def test_refuses_a_key_of_models_that_is_not_listed(self) -> None:
        page = "`$schema`\n## The model\n`{ \"one\" }`, `two`, three\n## Else\n`four`\n"
        source = 'expect_object({"$schema", "one", "two",\n  "three"}); expect_object({"four"}); fail("five");'
        self.assertEqual(["$schema", "three", "four"], command_page.unlisted_keys(page, source))

    def test_refuses_a_page_without_its_place(self) -> None:
        with self.assertRaisesRegex(ValueError, "expected the two lines"):
            command_page.page_of("# The command\n", "", "command.md", "help")

    def test_makes_levels_a_table(self) -> None:
        self.assertEqual("| level | in Windows |\n|---|---|\n| 1_0 | 10 1903, build 18362 |\n",
                         command_page.levels_of("level            in Windows\n1_0    10 1903, build 18362\n"))
        with self.assertRaisesRegex(ValueError, "different lengths"):
            command_page.levels_of("level  a  b\n1_0    c\n")


class Testing(unittest.TestCase):
    PAGE = ("# T\n## Labels\n\n| label | subject |\n|---|---|\n| `unit`, `odr` | x |\n\n"
            "## Continuous integration\n\n| step | what | default |\n|---|---|---|\n| `run` | x | yes |\n| `neon` | x | no |\n\n")

    def faults(self, labels: set[str], steps: dict[str, bool]) -> list[str]:
        return testing_check.faults_of(self.PAGE, labels, steps)

    def test_reads_labels_and_steps(self) -> None:
        cmake = "# LABELS word\nf(NAME a LABELS unit fuzz SOURCES b.cpp)\ng(LABELS \"unit;${isa};odr\")\n"
        self.assertEqual({"unit", "fuzz", "odr"}, testing_check.labels_of(cmake))
        script = "steps=${*:-run test}\nstep_run() {\n}\nstep_neon() {\n}\n"
        self.assertEqual({"run": True, "neon": False}, testing_check.steps_of(script))

    def test_accepts_what_is_listed(self) -> None:
        self.assertEqual([], self.faults({"unit", "odr"}, {"run": True, "neon": False}))

    def test_refuses_what_is_missing_unknown_or_wrong(self) -> None:
        self.assertEqual(1, len(self.faults({"unit", "odr", "docs"}, {"run": True, "neon": False})))
        self.assertEqual(1, len(self.faults({"unit"}, {"run": True, "neon": False})))
        self.assertEqual(1, len(self.faults({"unit", "odr"}, {"run": True})))
        self.assertEqual(1, len(self.faults({"unit", "odr"}, {"run": True, "neon": False, "tsan": True})))
        self.assertEqual(1, len(self.faults({"unit", "odr"}, {"run": True, "neon": True})))


class Changes(unittest.TestCase):
    def changed(self, text: str, lines: str) -> str:
        with PageOf(f"```diff\n--- file.hpp\n{lines}\n```\n") as path:
            file = path.with_name("file.hpp")
            file.write_text(text, encoding="utf-8")
            changes_check.change(pages.read(path).blocks[0], path.parent)
            return file.read_text(encoding="utf-8")

    def test_makes_the_change(self) -> None:
        self.assertEqual("a\nc\nd\n", self.changed("a\nb\nd\n", " a\n-b\n+c"))

    def test_refuses_lines_that_are_not_there_or_twice(self) -> None:
        for text in ("b\n", "a\na\n"):
            with self.assertRaisesRegex(ValueError, "expected once"):
                self.changed(text, " a\n+b")

    def test_makes_changes_one_after_the_other(self) -> None:
        self.assertEqual("a\nc\n\ne\n", self.changed("a\nb\n\n", "-b\n+c\n@@\n c\n\n+e"))

    def test_refuses_a_new_file_that_exists(self) -> None:
        with PageOf("<!-- new: page.md -->\n```cpp\n```\n") as path, self.assertRaisesRegex(ValueError, "exists already"):
            changes_check.add(pages.read(path).blocks[0], path.parent)

    @unittest.skipUnless(shutil.which("c++"), "needs a compiler")
    def test_refuses_a_page_whose_program_prints_something_else(self) -> None:
        page = '```cpp\n#include <cstdio>\nint main() { std::puts("a"); }\n```\n```text\nb\n```\n'
        with PageOf(page) as path, self.assertRaisesRegex(ValueError, "the program prints\na"):
            changes_check.check(path, "c++", path.parent / "copy")


@unittest.skipUnless(shutil.which("doxygen"), "needs doxygen")
class Comments(unittest.TestCase):
    def faults(self, header: str) -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "one.hpp").write_text(f"DMLREF_BEGIN\n{header}\nDMLREF_END\n", encoding="utf-8")
            return comments_check.faults_of(Path(folder), "one.hpp")

    def test_accepts_what_is_documented_or_not_public(self) -> None:
        self.assertEqual([], self.faults("/// One.\nstruct One {\n  int a;  ///< a\n private:\n  int b;\n};\n"
                                         "namespace detail { int helper(); }\n"))

    def test_refuses_structs_members_and_functions_without_comment(self) -> None:
        self.assertEqual(2, len(self.faults("struct One { int a; };")))
        self.assertEqual(1, len(self.faults("/// One.\nstruct One { int a; };")))
        self.assertEqual(1, len(self.faults("inline int one() { return 1; }")))


class StartPage(unittest.TestCase):
    headers = "".join(f'<a href="x">dmlref/{path.name}</a>' for path in (pages.ROOT / "include/dmlref").glob("*.hpp"))

    def test_accepts_names_that_are_links(self) -> None:
        html = self.headers + '<a class="el" href="x">dmlref::run()</a>, <a href="x">DML_ONE</a>'
        self.assertEqual([], site_check.faults_of_start_page(html, "dmlref::run(), ::DML_ONE."))

    def test_refuses_unknown_names_and_a_header_that_is_not_there(self) -> None:
        self.assertEqual(["api/index.html: dmlref::walk is no link", "api/index.html: DML_TWO is no link"],
                         site_check.faults_of_start_page(self.headers + "dmlref::walk()", "dmlref::walk() of ::DML_TWO"))
        self.assertEqual(["api/index.html: dmlref/slice.hpp is no link"],
                         site_check.faults_of_start_page(self.headers.replace("/slice.hpp", "/other.hpp"), ""))


@unittest.skipUnless(site_check.find_chromium(), "needs chromium")
class Site(unittest.TestCase):
    def faults(self, page: str) -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            site = Path(folder)
            (site / "index.html").write_text(page, encoding="utf-8")
            (site / "other.html").write_text('<h1 id="here">Other</h1>', encoding="utf-8")
            return site_check.visit(site, site_check.find_chromium())["faults"]

    def test_accepts_what_exists(self) -> None:
        self.assertEqual([], self.faults('<a href="other.html#here">a</a><a href="https://host.invalid/">b</a>'))

    def test_refuses_missing_files_headings_and_pictures(self) -> None:
        page = '<a href="missing.html">a</a><a href="other.html#there">b</a><img src="missing.svg">'
        self.assertEqual(3, len(self.faults(page)))


if __name__ == "__main__":
    with contextlib.redirect_stdout(io.StringIO()):
        unittest.main()
