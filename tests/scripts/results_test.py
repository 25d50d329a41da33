"""scripts/results.py: tables and plots from files of `trireme bench --json`. Class Plots needs matplotlib."""
import importlib.util
import json
import pathlib
import shutil
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import results  # noqa: E402

SKIPPED = 77  # of ctest

DEFINITIONS = """
[recorded]
text = "Recorded on a machine."
[[subject]]
title = "Messages"
[[subject.row]]
measure = "one way"
target = "250 ns"
recorded = "106 ns"
peer = "other 300 ns"
met = "yes"
rows = "handler/(threads|processes)/one_way"
suite = "messages"
cause = "A reason."
[[subject.row]]
measure = "a program"
recorded = "1 s"
command = "make demo"
"""


def bench_file(date, rows):
    machine = {"cpu": "Some CPU", "cpus_online": 2}
    return {"context": {"date": date, "commit": "abc1234", "compiler": "g++ 12", "machine": machine,
                        "load_average": [0.1, 0, 0]}, "rows": rows}


def row(name, median, **more):
    return {"name": name, "unit": "ns", "median": median, "p10": median - 1, "p90": median + 1, "better": "lower",
            "target": None, "limit": None, "peers": {}, **more}


class Folder(unittest.TestCase):
    """A folder like the repository, as far as the script looks at it."""

    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.root)
        (self.root / "bench" / "results").mkdir(parents=True)
        (self.root / "docs").mkdir()
        (self.root / "bench" / "results" / "results.toml").write_text(DEFINITIONS)
        self.page = self.root / "docs" / "results.md"
        self.page.write_text(f"before\n{results.BEGIN}\nold\n{results.END}\nbehind\n")

    def keep(self, name, content):
        (self.root / "bench" / "results" / name).write_text(json.dumps(content))

    def run_script(self, *arguments):
        results.run(["--root", str(self.root), *arguments])
        return self.page.read_text()


class Tables(Folder):
    def test_without_files_what_was_recorded_is_shown(self):
        page = self.run_script("--no-plots")
        self.assertIn(r"| one way | 250 ns | 106 ns | other 300 ns | yes | `trireme bench messages --filter "
                      r"'handler/(threads\|processes)/one_way'` |", page)
        self.assertIn("| a program |  | 1 s |  |  | `make demo` |", page)
        self.assertIn("- *one way*: A reason.", page)

    def test_text_outside_the_marks_stays(self):
        page = self.run_script("--no-plots")
        self.assertTrue(page.startswith("before\n") and page.endswith("\nbehind\n"))
        self.assertNotIn("old", page)

    def test_a_file_gives_figures_peers_verdict_and_origin(self):
        self.keep("a.json", bench_file("2026-01-02T03:04:05Z", [
            row("handler/threads/one_way", 100, target=250, peers={"other": 300}),
            row("handler/processes/one_way", 400, target=250),
            row("unrelated", 1)]))
        page = self.run_script("--no-plots")
        self.assertIn("`handler/threads/one_way` 100 ns (99 to 101)<br>`handler/processes/one_way` 400 ns (399 to 401)", page)
        self.assertIn("| other 300 | **missed** in 1 of 2 |", page)
        self.assertIn("| a.json | 2026-01-02T03:04:05Z | Some CPU | 2 | g++ 12 | abc1234 | 0.1 |", page)
        self.assertNotIn("unrelated", page)

    def test_the_newest_file_counts(self):
        self.keep("a.json", bench_file("2026-02-01T00:00:00Z", [row("handler/threads/one_way", 222)]))
        self.keep("b.json", bench_file("2026-01-01T00:00:00Z", [row("handler/threads/one_way", 111)]))
        self.assertIn("222 ns", self.run_script("--no-plots"))

    def test_rows_that_failed_or_are_not_available_do_not_count(self):
        self.keep("a.json", bench_file("2026-01-01T00:00:00Z", [
            {"name": "handler/threads/one_way", "unit": "ns", "error": "no cores"},
            row("handler/processes/one_way", 1) | {"median": None, "not_available": "not built"}]))
        self.assertIn("| 106 ns |", self.run_script("--no-plots"))

    def test_more_is_better_and_ratios_are_judged(self):
        self.assertTrue(results.met(row("a", 20, better="higher", target=10)))
        self.assertFalse(results.met(row("a", 20, target=30, ratio={"median": 2}, target_ratio=1.5)))
        self.assertIsNone(results.met(row("a", 20)))

    def test_all_rows_that_miss_their_targets_are_listed(self):
        self.keep("a.json", bench_file("2026-01-01T00:00:00Z", [
            row("met", 100, target=250), row("late", 400, target=250), row("beside/peer", 100, target=90,
                target_ratio=1.1, reference="the best peer, other", ratio={"median": 1.25})]))
        page = self.run_script("--no-plots")
        self.assertIn("| `late` | 400 ns (399 to 401) |  | 250 ns |", page)
        self.assertIn("| `beside/peer` | 100 ns (99 to 101) | 1.25 | 1.1 of the best peer, other |", page)
        self.assertNotIn("| `met` |", page)

    def test_a_row_has_words_of_its_own_for_its_figures(self):
        definitions = DEFINITIONS.replace('suite = "messages"', """suite = "messages"
measured = "{handler/threads/one_way} and {handler/processes/one_way} ns; {handler/threads/one_way:ratio} hand-offs"
beside = "{handler/threads/one_way:peer other} ns\"""")
        (self.root / "bench" / "results" / "results.toml").write_text(definitions)
        self.keep("a.json", bench_file("2026-01-01T00:00:00Z", [
            row("handler/threads/one_way", 100, target=250, ratio={"median": 2.004}, peers={"other": 300}),
            row("handler/processes/one_way", 400, target=250)]))
        self.assertIn("| 100 and 400 ns; 2.00 hand-offs | 300 ns | **missed** in 1 of 2 |", self.run_script("--no-plots"))

    def test_words_whose_rows_no_file_has_leave_what_was_recorded(self):
        definitions = DEFINITIONS.replace('suite = "messages"', 'measured = "{handler/threads/one_way}, {missing} ns"')
        (self.root / "bench" / "results" / "results.toml").write_text(definitions)
        self.keep("a.json", bench_file("2026-01-01T00:00:00Z", [row("handler/threads/one_way", 100)]))
        self.assertIn("| 106 ns | other 300 ns | yes |", self.run_script("--no-plots"))

    def test_words_that_name_a_figure_which_a_row_lacks_are_refused(self):
        definitions = DEFINITIONS.replace('suite = "messages"', 'measured = "{handler/threads/one_way:peer none}"')
        (self.root / "bench" / "results" / "results.toml").write_text(definitions)
        self.keep("a.json", bench_file("2026-01-01T00:00:00Z", [row("handler/threads/one_way", 100)]))
        with self.assertRaisesRegex(results.Fault, "handler/threads/one_way:peer none.*a.json has no such figure"):
            self.run_script("--no-plots")

    def test_check_tells_whether_the_tables_are_current(self):
        with self.assertRaisesRegex(results.Fault, "run scripts/results.py"):
            self.run_script("--check")
        before = self.run_script("--no-plots")
        self.assertEqual(self.run_script("--check"), before)

    def test_a_file_of_something_else_is_refused_by_name(self):
        self.keep("other.json", {"rows": 1})
        with self.assertRaisesRegex(results.Fault, "other.json: not a file of `trireme bench --json`"):
            self.run_script("--no-plots")

    def test_a_page_without_marks_is_refused(self):
        self.page.write_text("nothing\n")
        with self.assertRaisesRegex(results.Fault, "results: begin"):
            self.run_script("--no-plots")

    def test_the_page_of_the_repository_is_current(self):
        results.run(["--check"])


class Plots(Folder):
    def test_curves_have_both_libraries_with_and_without(self):
        self.keep("a.json", bench_file("2026-01-01T00:00:00Z", [
            row("mpi/openmpi/latency/8", 0.2, peers={"openmpi": 0.3, "mpich": 0.4}),
            row("mpi/openmpi/latency/1024", 0.5, peers={"openmpi": 0.6, "mpich": 0.7})]))
        curves = results.latency_by_size(results.Report(self.root / "bench" / "results" / "a.json"))
        self.assertEqual(curves, {"Open MPI + trireme exec": [(8, 0.2), (1024, 0.5)], "Open MPI": [(8, 0.3), (1024, 0.6)],
                                  "MPICH": [(8, 0.4), (1024, 0.7)]})

    def test_equal_figures_give_equal_pictures(self):
        self.keep("a.json", bench_file("2026-01-01T00:00:00Z", [
            row("mpi/openmpi/latency/8", 0.2, peers={"openmpi": 0.3}),
            row("loop/linear/automatic", 100, ratio={"median": 1.01}, reference="ideal", peers={"libgomp/static": 150})]))
        self.run_script()
        pictures = self.root / "docs" / "pictures"
        first = {path.name: path.read_bytes() for path in pictures.iterdir()}
        self.assertEqual(set(first), {"mpi_latency.svg", "loops_beside_ideal.svg"})
        self.run_script()
        self.assertEqual(first, {path.name: path.read_bytes() for path in pictures.iterdir()})


class WithoutMatplotlib(unittest.TestCase):
    def test_the_message_says_what_to_install(self):
        kept = sys.modules.get("matplotlib")
        sys.modules["matplotlib"] = None
        try:
            with self.assertRaisesRegex(results.Fault, "python3-matplotlib"):
                results.plotter()
        finally:
            sys.modules.pop("matplotlib")
            if kept is not None:
                sys.modules["matplotlib"] = kept


if __name__ == "__main__":
    if "Plots" in sys.argv and importlib.util.find_spec("matplotlib") is None:
        print("SKIPPED: python3-matplotlib is not installed")
        sys.exit(SKIPPED)
    unittest.main()
