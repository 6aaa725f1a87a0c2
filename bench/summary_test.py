"""summary_test.py: what result pages say is derived from their tables, and pages lie where their commits put them."""
import contextlib
import importlib.machinery
import importlib.util
import json
import pathlib
import sys
import tempfile
import types
import unittest

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import pages  # noqa: E402
import plots  # noqa: E402


def load(name):
    loader = importlib.machinery.SourceFileLoader(name, str(HERE / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


report, summary = load("report"), load("summary")


def row(case, ours, best=None):
    peers = [{"who": "oneDNN", "how": "nchw", "rival": True, "limit_fraction": 0.25, "wrong": 0}] if best else []
    return {"operator": "quantized_linear_convolution", "case": case, "type": "u8", "threads": 1, "isa": "avx2", "ours_us": ours,
            "limit_fraction": 0.5, "best_peer": "oneDNN nchw" if best else "", "best_peer_us": best,
            "ratio": best / ours if best else None, "peers": peers, "temporary_bytes": 0, "persistent_bytes": 0}


REPORT = {"date": "2026-01-02", "commit": "abcdef0", "versions": {"g++": "12"}, "errors": [], "accuracy": [], "copy_bandwidths": {},
          "machine": {"cpu": "CPU", "family": "6", "model": "1", "cpus": 2, "caches": "L1d 32K", "system": "Linux", "virtual": True},
          "int8_peaks": [{"instruction": "vpmaddwd ymm", "isa": "avx2", "gops": 100.0}],
          "rows": [row("ahead", 1.0, 2.0), row("behind", 2.0, 1.0), row("tie", 1000.0, 1000.4), row("alone", 1.0)]}


@contextlib.contextmanager
def page_of(rep):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "page.md"
        path.write_text("# Results with AVX2 on a CPU\n\n<!-- report: begin -->\n<!-- report: end -->\n")
        report.fill(path, rep)
        yield path


def place(family, commit, date, archived):
    return types.SimpleNamespace(path=f"{family}.md", family=family, model="1", commit=commit, date=date, archived=archived)


class Pages(unittest.TestCase):
    def test_reads_what_it_wrote(self):
        for figure in (None, 0, 0.000012, 0.0625, 1, 99.96, 999.7, 123456):
            self.assertAlmostEqual(figure or 0, pages.value(pages.number(figure)) or 0, delta=0.005 * (figure or 0))

    def test_counts_cases_without_competitors_apart_and_ties_as_level(self):
        with page_of(REPORT) as path:
            text, page = path.read_text(), pages.Page(path)
        self.assertIn("| QLC | 1 | 3 | 1 | 1.00 | 50 % | – | 1 | 50 % |", text)
        self.assertIn("| tie/u8 | 1000 | 50 % | oneDNN nchw | 1000 | 1 |", text)
        self.assertEqual(("2026-01-02", "abcdef0", "6", "1", False), (page.date, page.commit, page.family, page.model, page.archived))

    def test_renews_a_page_to_the_same_text(self):
        with page_of(REPORT) as path:
            before = path.read_text()
            report.fill(path, json.loads(json.dumps(REPORT)))
            self.assertEqual(before, path.read_text())

    def test_refuses_a_report_of_another_cpu(self):
        with page_of(REPORT) as path:
            other = path.with_name("report.json")
            other.write_text(json.dumps({**REPORT, "machine": {**REPORT["machine"], "model": "2"}}))
            with self.assertRaises(SystemExit):
                report.insert_table(types.SimpleNamespace(report=other, page=path))

    def test_draws_a_table_with_each_case(self):
        with page_of(REPORT) as path:
            page = pages.Page(path)
            picture = plots.of_page(page, "QLC", 1)
            self.assertEqual(picture, plots.of_page(page, "QLC", 1))
        for text in ("ahead/u8", "2×", "0.5×", "no competitor", "QLC, 1 thread: AVX2 on a CPU, commit abcdef0"):
            self.assertIn(f">{text}</text>", picture)


class Places(unittest.TestCase):
    CURRENT = place("6", "b", "2026-02-02", False)

    def refuses(self, page):
        with self.assertRaises(SystemExit):
            summary.check_places([self.CURRENT, page])

    def test_accepts_an_older_page_of_another_cpu_in_the_archive(self):
        summary.check_places([self.CURRENT, place("25", "a", "2026-01-01", True)])

    def test_refuses_an_older_page_beside_the_current_one(self):
        self.refuses(place("25", "a", "2026-01-01", False))

    def test_refuses_a_newer_page_in_the_archive(self):
        self.refuses(place("25", "c", "2026-03-03", True))

    def test_refuses_two_pages_of_one_cpu(self):
        self.refuses(place("6", "a", "2026-01-01", True))


if __name__ == "__main__":
    unittest.main()
