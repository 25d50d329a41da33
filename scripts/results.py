#!/usr/bin/env python3
"""Writes the tables of docs/results.md and its plots from files of `trireme bench --json`.

usage: scripts/results.py [--check] [--no-plots] [--root FOLDER] [FILE.json ...]

Without files it reads bench/results/*.json. What the tables show, row by row, is in bench/results/results.toml: a row
takes its figures from the newest file that has them (in the words of `measured` and `beside`, where it has these), else
it shows what is recorded there. Plots need matplotlib
(Debian: python3-matplotlib). --check changes nothing and fails when the tables are not what the files say.
"""
import argparse
import json
import pathlib
import re
import sys
import tomllib

BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"
COLUMNS = ("measure", "target", "measured", "peer", "met", "command")
MOST_IN_A_CELL = 8  # rows of the benchmark in one cell


DIFFERENCE = re.compile(r"([+-][0-9.]+) \w+ to [^,]*, target ([+-][0-9.]+)")


class Fault(Exception):
    """A file that cannot be used; the text names it."""


def number(value):
    """Three significant digits, without an exponent: 0.106, 23.7, 4,000."""
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def ratio_text(value):
    """Two decimals, as far as they say anything: 1.02, 0.99, 0.045."""
    return f"{value:.2f}" if 0.1 <= value < 10 else number(value)


class Report:
    """One file of `trireme bench --json`."""

    def __init__(self, path):
        self.name = path.name
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            self.context, self.rows = content["context"], {row["name"]: row for row in content["rows"]}
        except (OSError, ValueError, KeyError, TypeError) as fault:
            raise Fault(f"{path}: not a file of `trireme bench --json`: {fault!r}") from fault
        self.date = self.context.get("date") or ""

    def origin(self):
        machine = self.context.get("machine") or {}
        load = self.context.get("load_average") or []
        cells = (self.name, self.date or "not kept", machine.get("cpu") or "unknown",
                 str(machine.get("cpus_online") or "?"), self.context.get("compiler") or "unknown",
                 self.context.get("commit") or "not kept", number(load[0]) if load else "?")
        return "| " + " | ".join(cells) + " |"


def usable(row):
    return row.get("median") is not None and not row.get("error")


def rows_matching(reports, expression):
    """Rows of the newest report that has any, with that report's name."""
    wanted = re.compile(expression)
    for report in reports:
        found = [row for name, row in report.rows.items() if wanted.search(name) and usable(row)]
        if found:
            return found
    return []


def figure_of(row):
    text = f"`{row['name']}` {number(row['median'])} {row['unit']}"
    if row.get("p10") is not None and row.get("p90") is not None:
        text += f" ({number(row['p10'])} to {number(row['p90'])})"
    if ratio := row.get("ratio"):
        text += f", {number(ratio['median'])} of {row.get('reference') or 'the hand-off'}"
    return text


def peers_of(row):
    return ", ".join(f"{name} {number(value)}" for name, value in sorted((row.get("peers") or {}).items()))


FIGURE = re.compile(r"\{([^{}:]+)(?::(\w+)(?: ([^{}]+))?)?\}")


def filled(template, reports):
    """The text with the figures of the newest report that has all rows it names, and those rows; None without one.

    {row} is its median, {row:p10} and {row:p90} its percentiles, {row:ratio} what results.toml compares it with, and
    {row:peer NAME} another software's figure, {row:count NAME} what was counted for an operation.
    """
    names = {found[0] for found in FIGURE.findall(template)}
    for report in reports:
        rows = {name: report.rows[name] for name in names if name in report.rows and usable(report.rows[name])}
        if len(rows) < len(names):
            continue

        def value(found):
            row, what = rows[found[1]], found[2] or "median"
            try:
                if what == "ratio":
                    return ratio_text(row["ratio"]["median"])
                return number(row[f"{what}s"][found[3]] if what in ("peer", "count") else row[what])
            except (KeyError, TypeError) as fault:
                raise Fault(f"results.toml: {found[0]}: {report.name} has no such figure ({fault})") from fault

        return FIGURE.sub(value, template), list(rows.values())
    return None


def met(row):
    """True, False, or None where the row has no target."""
    verdicts = []
    if row.get("target") is not None:
        lower = row.get("better", "lower") == "lower"
        verdicts.append(row["median"] <= row["target"] if lower else row["median"] >= row["target"])
    if row.get("target_ratio") is not None and row.get("ratio"):
        verdicts.append(row["ratio"]["median"] <= row["target_ratio"])
    # A target that is a difference stands in the note.
    if found := DIFFERENCE.search(row.get("note", "")):
        verdicts.append(float(found[1]) <= float(found[2]))
    return all(verdicts) if verdicts else None


def verdict_of(rows):
    verdicts = [met(row) for row in rows if met(row) is not None]
    if not verdicts:
        return ""
    if all(verdicts):
        return "yes"
    return f"**missed** in {verdicts.count(False)} of {len(verdicts)}" if any(verdicts) else "**missed**"


def listed(texts):
    texts = [text for text in texts if text]
    rest = len(texts) - MOST_IN_A_CELL
    return "<br>".join(texts[:MOST_IN_A_CELL] + ([f"and {rest} more"] if rest > 0 else []))


def cells_of(entry, reports):
    suite = entry.get("suite", "")
    command = entry.get("command") or f"trireme bench {suite + ' ' if suite else ''}--filter '{entry['rows']}'"
    rows = rows_matching(reports, entry["rows"]) if "rows" in entry else []
    if text := filled(entry["measured"], reports) if "measured" in entry else None:
        beside = filled(entry["beside"], reports) if "beside" in entry else None
        shown = (text[0], beside[0] if beside else "", verdict_of(text[1]))
    elif rows and "measured" not in entry:
        shown = (listed(figure_of(row) for row in rows), listed(peers_of(row) for row in rows), verdict_of(rows))
    else:
        shown = (entry["recorded"], entry.get("peer", ""), entry.get("met", ""))
    return entry["measure"], entry.get("target", ""), *shown, f"`{command.replace('|', chr(92) + '|')}`"


def table(lines):
    return ["| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)] + ["| " + " | ".join(line) + " |" for line in lines]


def document(definitions, reports):
    out = ["", definitions["recorded"]["text"].strip(), ""]
    if reports:
        out += ["| file | date | processor | CPUs | compiler | commit | load |", "|---|---|---|---|---|---|---|"]
        out += [report.origin() for report in reports] + [""]
    for subject in definitions["subject"]:
        out += [f"## {subject['title']}", ""] + ([subject["text"], ""] if "text" in subject else [])
        out += table(cells_of(entry, reports) for entry in subject["row"]) + [""]
        causes = [entry for entry in subject["row"] if "cause" in entry]
        out += [f"- *{entry['measure']}*: {entry['cause']}" for entry in causes] + ([""] if causes else [])
    return wrapped("\n".join(out + missed_rows(reports)))


def missed_rows(reports):
    """A table of all rows that miss their targets in the newest file that has them, those that no row above speaks of
    included."""
    newest = {}
    for report in reversed(reports):
        newest.update(report.rows)
    missed = [row for row in newest.values() if usable(row) and met(row) is False]
    if not missed:
        return []

    def target(row):
        texts = []
        if row.get("target_ratio") is not None:
            texts.append(f"{number(row['target_ratio'])} of {row.get('reference') or 'the hand-off'}")
        elif row.get("target") is not None:
            texts.append(f"{number(row['target'])} {row['unit']}")
        return ", ".join(texts)

    lines = [f"| `{row['name']}` | {number(row['median'])} {row['unit']} ({number(row['p10'])} to {number(row['p90'])}) | "
             f"{ratio_text(row['ratio']['median']) if row.get('ratio') else ''} | {target(row)} |" for row in missed]
    return ["", "## All rows that miss their targets", "",
            "| row | measured (10th to 90th percentile) | ratio | target |", "|---|---|---|---|", *lines, ""]


def wrapped(text):
    """Lines of prose and lists at most 120 characters long; tables and headings stay as they are."""
    lines = []
    for line in text.split("\n"):
        if line.startswith("|") or len(line) <= 120:
            lines.append(line)
            continue
        indent = "  " if line.startswith("- ") else ""
        current = ""
        for word in line.split(" "):
            if current and len(current) + 1 + len(word) > 120:
                lines.append(current)
                current = indent + word
            else:
                current = f"{current} {word}" if current else word
        lines.append(current)
    return "\n".join(lines)


def between_marks(page, text):
    begin, end = page.find(BEGIN), page.find(END)
    if begin < 0 or end < begin:
        raise Fault(f"docs/results.md has no '{BEGIN}' with '{END}' behind it")
    return page[:begin + len(BEGIN)] + "\n" + text.strip("\n") + "\n" + page[end:]


def plotter():
    """matplotlib's pyplot, set up so that equal figures give equal files."""
    try:
        import matplotlib
    except ImportError as fault:
        raise Fault("the plots need matplotlib (Debian: python3-matplotlib); --no-plots leaves them") from fault
    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "trireme", "font.size": 9, "axes.grid": True, "grid.alpha": 0.3,
                                "axes.spines.top": False, "axes.spines.right": False})
    import matplotlib.pyplot
    return matplotlib.pyplot


def save(plot, figure, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, format="svg", metadata={"Date": None}, bbox_inches="tight")
    plot.close(figure)


def source_line(report):
    machine = (report.context.get("machine") or {}).get("cpu") or "unknown processor"
    return ", ".join(part for part in (machine, report.context.get("commit") or "", report.date[:10]) if part)


def latency_by_size(report):
    """{name: [(bytes, us)]}: both libraries alone and under the drop-in."""
    curves = {}
    for name, row in report.rows.items():
        found = re.fullmatch(r"mpi/(openmpi|mpich)/latency/(\d+)", name)
        if not found or not usable(row):
            continue
        shown = {"openmpi": "Open MPI", "mpich": "MPICH"}
        curves.setdefault(f"{shown[found[1]]} + trireme exec", {})[int(found[2])] = row["median"]
        for peer, value in (row.get("peers") or {}).items():
            curves.setdefault(shown.get(peer, peer), {})[int(found[2])] = value
    return {name: sorted(points.items()) for name, points in curves.items()}


def size_text(size):
    for unit, factor in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= factor:
            return f"{size / factor:g} {unit}"
    return f"{size} B"


def plot_latency(report, path):
    plot = plotter()
    figure, axes = plot.subplots(figsize=(6.4, 3.4))
    for name, points in sorted(latency_by_size(report).items()):
        ours = "trireme" in name
        axes.plot(*zip(*points), marker="o" if ours else "s", markersize=4, linestyle="-" if ours else "--", label=name)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    sizes = sorted({size for points in latency_by_size(report).values() for size, _ in points})
    axes.set_xticks(sizes, [size_text(size) for size in sizes], rotation=30)
    axes.set_xlabel("size of the message")
    axes.set_ylabel("µs, half of a round trip")
    axes.set_title(f"MPI latency between two ranks of a host ({source_line(report)})", fontsize=8)
    axes.legend(frameon=False)
    save(plot, figure, path)


def loops_beside_ideal(report):
    """{loop: {schedule: time / reference}} for rows that are judged by a reference of the same batches."""
    found = {}
    for name, row in report.rows.items():
        matched = re.fullmatch(r"loop/(\w+)/automatic", name)
        if matched and usable(row) and row.get("ratio") and row["ratio"]["median"]:
            ideal = row["median"] / row["ratio"]["median"]
            found[matched[1]] = {"automatic (Trireme)": row["ratio"]["median"],
                                 **{peer: value / ideal for peer, value in (row.get("peers") or {}).items() if "/" in peer}}
    return found


def plot_loops(report, path):
    plot = plotter()
    loops = loops_beside_ideal(report)
    schedules = sorted({schedule for times in loops.values() for schedule in times})
    figure, axes = plot.subplots(figsize=(6.4, 3.0))
    width = 0.8 / len(schedules)
    for place, schedule in enumerate(schedules):
        bars = [(at, times[schedule]) for at, times in enumerate(loops.values()) if schedule in times]
        axes.bar([at + place * width for at, _ in bars], [value for _, value in bars], width, label=schedule)
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set_ylim(bottom=0.9)
    axes.set_xticks([at + 0.4 - width / 2 for at in range(len(loops))], list(loops))
    axes.set_ylabel("time / reference")
    axes.set_title(f"Loops beside their reference ({source_line(report)})", fontsize=8)
    axes.legend(frameon=False, fontsize=8)
    save(plot, figure, path)


PLOTS = (("mpi_latency.svg", latency_by_size, plot_latency), ("loops_beside_ideal.svg", loops_beside_ideal, plot_loops))


def draw(root, reports):
    for name, figures, plot in PLOTS:
        for report in reports:
            if figures(report):
                plot(report, root / "docs" / "pictures" / name)
                break


def newest_first(paths):
    return sorted((Report(path) for path in paths), key=lambda report: report.date, reverse=True)


def run(arguments):
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--check", action="store_true")
    options.add_argument("--no-plots", action="store_true")
    options.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    options.add_argument("files", nargs="*", type=pathlib.Path)
    given = options.parse_args(arguments)
    folder = given.root / "bench" / "results"
    definitions = tomllib.loads((folder / "results.toml").read_text(encoding="utf-8"))
    reports = newest_first(given.files or folder.glob("*.json"))
    page = given.root / "docs" / "results.md"
    before = page.read_text(encoding="utf-8")
    after = between_marks(before, document(definitions, reports))
    if given.check:
        if before != after:
            raise Fault("docs/results.md is not what bench/results says; run scripts/results.py")
        return
    page.write_text(after, encoding="utf-8")
    if not given.no_plots:
        draw(given.root, reports)


def main():
    try:
        run(sys.argv[1:])
    except Fault as fault:
        print(f"scripts/results.py: {fault}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
