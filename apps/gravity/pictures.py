#!/usr/bin/env python3
"""Draws the collision of two clusters: runs gravity, and puts snapshots side by side into an SVG file.

usage: apps/gravity/pictures.py [--bodies N] [--steps K] [--panels P] PROGRAM FILE.svg
       apps/gravity/pictures.py --snapshots PREFIX FILE.svg      draws what a run has written with --snapshots PREFIX

Each panel shows the plane of the motion. The colour says from which cluster a body comes: the first half of the bodies
is the left one. At most --points bodies of a panel are drawn, every n-th. Needs Python alone.
"""
import argparse
import pathlib
import struct
import subprocess
import sys
import tempfile

HEADER = struct.Struct("=8sIIQ")
BODY = struct.Struct("=7d")
MAGIC, BYTE_ORDER = b"TRIGRAV1", 0x01020304
PANEL, GAP, COLUMNS = 240, 6, 3
COLOURS = ("#c2410c", "#1d4ed8")


class Fault(Exception):
    pass


def read_places(path):
    """[(x, y)] of all bodies."""
    contents = path.read_bytes()
    if len(contents) < HEADER.size:
        raise Fault(f"{path}: is too short for a file of bodies")
    magic, order, _, count = HEADER.unpack_from(contents)
    if magic != MAGIC or order != BYTE_ORDER or len(contents) != HEADER.size + count * BODY.size:
        raise Fault(f"{path}: is not a binary file of bodies as gravity writes it")
    return [BODY.unpack_from(contents, HEADER.size + i * BODY.size)[:2] for i in range(count)]


def snapshots_of(prefix):
    """[(step, file)] in the order of steps."""
    prefix = pathlib.Path(prefix)
    found = sorted((int(path.name[len(prefix.name) + 1:-len(".bodies")]), path)
                   for path in prefix.parent.glob(prefix.name + ".*.bodies"))
    if not found:
        raise Fault(f"there are no files {prefix}.*.bodies")
    return found


def dots(places, half_width):
    """A path with a dot for each body in the panel."""
    scale = PANEL / (2 * half_width)
    marks = []
    for x, y in places:
        across, down = (x + half_width) * scale, (half_width - y) * scale
        if 1 <= across <= PANEL - 1 and 1 <= down <= PANEL - 1:
            marks.append(f"M{across:.1f} {down:.1f}h0")
    return "".join(marks)


def panel(places, caption, number, half_width, points):
    left, top = number % COLUMNS * (PANEL + GAP), number // COLUMNS * (PANEL + GAP)
    middle = (len(places) + 1) // 2
    every = max(1, -(-len(places) // points))
    lines = [f'<g transform="translate({left} {top})">',
             f'<rect width="{PANEL}" height="{PANEL}" fill="#fafaf9" stroke="#d6d3d1"/>']
    for colour, of in zip(COLOURS, (places[:middle:every], places[middle::every])):
        lines.append(f'<path d="{dots(of, half_width)}" stroke="{colour}" stroke-opacity="0.8"/>')
    lines.append(f'<text x="8" y="{PANEL - 8}">{caption}</text></g>')
    return lines


def draw(shown, half_width, points, path):
    """shown: [(caption, places)]"""
    rows = -(-len(shown) // COLUMNS)
    width, height = COLUMNS * (PANEL + GAP) - GAP, rows * (PANEL + GAP) - GAP
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
             'font-family="sans-serif" font-size="13" fill="none" stroke-width="1.4" stroke-linecap="round">',
             "<style>text{fill:#292524;stroke:none}</style>"]
    for number, (caption, places) in enumerate(shown):
        lines += panel(places, caption, number, half_width, points)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines + ["</svg>"]) + "\n", encoding="utf-8")


def run_collision(asked, folder):
    every = max(1, asked.steps // max(1, asked.panels - 1))
    command = [asked.program, "--input", "collision", "--bodies", asked.bodies, "--steps", asked.steps, "--print-every", 0,
               "--time-step", asked.time_step, "--theta", 0.7, "--softening", 0.02, "--snapshots", folder / "at",
               "--snapshot-every", every]
    ended = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if ended.returncode != 0:
        raise Fault(f"{' '.join(map(str, command))}: status {ended.returncode}\n{ended.stdout}{ended.stderr}")
    return snapshots_of(folder / "at")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bodies", type=int, default=20000)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--time-step", type=float, default=0.01)
    parser.add_argument("--panels", type=int, default=6)
    parser.add_argument("--points", type=int, default=1500, help="most bodies that a panel shows")
    parser.add_argument("--half-width", type=float, default=3.2, help="of a panel, in the units of the bodies")
    parser.add_argument("--snapshots", metavar="PREFIX", help="draw these files, without a run")
    parser.add_argument("program", nargs="?")
    parser.add_argument("file", type=pathlib.Path)
    asked = parser.parse_args()
    if (asked.program is None) == (asked.snapshots is None):
        parser.error("give either PROGRAM or --snapshots PREFIX")
    try:
        with tempfile.TemporaryDirectory() as folder:
            found = snapshots_of(asked.snapshots) if asked.snapshots else run_collision(asked, pathlib.Path(folder))
            shown = []
            for step, path in found[:asked.panels]:
                caption = f"step {step}" if asked.snapshots else f"t = {step * asked.time_step:g}"
                shown.append((caption, read_places(path)))
        draw(shown, asked.half_width, asked.points, asked.file)
    except (Fault, OSError) as fault:
        print(f"pictures.py: {fault}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
