#!/usr/bin/env python3
"""Runs nbody and draws two pictures into a folder: errors of forces over theta, and time per step over ranks.

usage: apps/nbody/pictures.py [--bodies N] [--ranks 1,2,4] [--steps K] [--launcher mpirun.openmpi] PROGRAM FOLDER

errors.svg: median and 99th percentile of the relative errors, beside what --verify permits, and how many terms a force
has. times.svg: the phases of a step under the MPI library alone and under `trireme exec --mpi`, which must be in PATH
(or --trireme FILE). Needs matplotlib (Debian: python3-matplotlib).
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import results  # noqa: E402 (how plots of this project are set up and saved)

THETAS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1)
PHASES = ("exchange", "tree", "forces", "motion")
VERIFIED = re.compile(r"median (\S+) \(at most (\S+)\), 99 % of bodies (\S+) \((\S+)\)")


def output_of(command):
    # Open MPI lets root start programs, and more ranks than cores, when it is told so.
    told = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                OMPI_MCA_rmaps_base_oversubscribe="1")
    ended = subprocess.run([str(word) for word in command], env=told, capture_output=True, text=True)
    if ended.returncode != 0:
        raise results.Fault(f"{' '.join(map(str, command))}: status {ended.returncode}\n{ended.stdout}{ended.stderr}")
    return ended.stdout


def errors_over_theta(start, bodies):
    """[(theta, median, its bound, 99th percentile, its bound, terms)]"""
    found = []
    for theta in THETAS:
        said = output_of([*start, "--bodies", bodies, "--steps", 0, "--theta", theta, "--verify"])
        # Without a step no terms are counted; one step is enough for those.
        counted = output_of([*start, "--bodies", bodies, "--steps", 1, "--theta", theta])
        terms = re.search(r"(\S+) terms per body", counted)[1]
        found.append((theta, *map(float, VERIFIED.search(said).groups()), float(terms)))
    return found


def draw_errors(plot, found, bodies, path):
    figure, axes = plot.subplots(figsize=(5.5, 3.6))
    thetas = [row[0] for row in found]
    axes.semilogy(thetas, [row[3] for row in found], "o-", color="C1", label="99 % of the bodies are below")
    axes.semilogy(thetas, [row[4] for row in found], ":", color="C1", label="its bound in --verify")
    axes.semilogy(thetas, [row[1] for row in found], "o-", color="C0", label="median")
    axes.semilogy(thetas, [row[2] for row in found], ":", color="C0", label="its bound in --verify")
    axes.set_xlabel("opening angle theta")
    axes.set_ylabel("relative error of forces")
    axes.set_title(f"{bodies} bodies, beside direct summation")
    terms = axes.twinx()
    terms.semilogy(thetas, [row[5] for row in found], "--", color="0.6", label="terms per force")
    terms.set_ylabel("terms per force")
    terms.grid(False)
    lines = axes.get_lines() + terms.get_lines()
    axes.legend(lines, [line.get_label() for line in lines], fontsize=7, framealpha=1, loc="lower right")
    results.save(plot, figure, path)


def times_over_ranks(launcher, wrapper, program, ranks, arguments):
    """{ranks: {phase: mean ms per step}}"""
    found = {}
    for count in ranks:
        said = output_of([launcher, "-n", count, *wrapper, program, *arguments])
        found[count] = {phase: float(re.search(rf"^{phase} +\S+ +(\S+)", said, re.M)[1]) for phase in PHASES}
    return found


def draw_times(plot, times, title, path):
    """times: {name: {ranks: {phase: ms}}}"""
    figure, axes = plot.subplots(figsize=(5.5, 3.6))
    width = 0.8 / len(times)
    for place, (name, of) in enumerate(times.items()):
        below = [0.0] * len(of)
        at = [number - 0.4 + width * (place + 0.5) for number in range(len(of))]
        for color, phase in enumerate(PHASES):
            heights = [of[count][phase] for count in of]
            axes.bar(at, heights, 0.92 * width, below, color=f"C{color}", label=phase if place == 0 else None)
            below = [a + b for a, b in zip(below, heights)]
        for x, height in zip(at, below):
            axes.annotate(name, (x, height), ha="center", va="bottom", fontsize=6)
    counts = list(next(iter(times.values())))
    axes.set_xticks(range(len(counts)), counts)
    axes.set_xlabel("ranks")
    axes.set_ylabel("ms per step, mean of the ranks")
    axes.set_title(title)
    axes.legend(fontsize=7)
    results.save(plot, figure, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bodies", type=int, default=10000)
    parser.add_argument("--steps", type=int, default=20, help="of each run for the picture of times")
    parser.add_argument("--ranks", default="1,2,4,8")
    parser.add_argument("--launcher", default="mpirun.openmpi", help="of the MPI with which PROGRAM was built")
    parser.add_argument("--trireme", default="trireme")
    parser.add_argument("program")
    parser.add_argument("folder", type=pathlib.Path)
    asked = parser.parse_args()
    ranks = [int(count) for count in asked.ranks.split(",")]
    arguments = ["--bodies", asked.bodies, "--steps", asked.steps]
    try:
        plot = results.plotter()
        start = [asked.launcher, "-n", max(ranks), asked.program]
        draw_errors(plot, errors_over_theta(start, asked.bodies), asked.bodies, asked.folder / "errors.svg")
        times = {name: times_over_ranks(asked.launcher, wrapper, asked.program, ranks, arguments)
                 for name, wrapper in (("alone", []), ("trireme", [asked.trireme, "exec", "--mpi", "--"]))}
        draw_times(plot, times, f"{asked.bodies} bodies, {asked.launcher}", asked.folder / "times.svg")
    except (results.Fault, OSError) as fault:
        print(f"pictures.py: {fault}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
