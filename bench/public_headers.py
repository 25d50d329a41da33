#!/usr/bin/env python3
"""What a program pays for our public headers: preprocessed lines, time and memory of the compiler.

    bench/public_headers.py                       a table of all public headers and of the example ring.cpp
    bench/public_headers.py --lines --most 60000  only lines; status 1 if one has more (a test of ours)

Times are medians of several runs; run it where nothing else does. Lines are those that are not empty, without line
markers, as the compiler sees them.
"""
import argparse
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
FLAGS = ["-std=c++20", f"-I{ROOT}/include"]


def preprocessed_lines(compiler, source):
    text = subprocess.run([compiler, *FLAGS, "-E", "-P", source], check=True, capture_output=True, text=True).stdout
    return sum(1 for line in text.splitlines() if line.strip())


def compile_once(compiler, arguments):
    """Seconds, and the most memory in MB, of one run of the compiler."""
    began = time.monotonic()
    process = subprocess.Popen([compiler, *FLAGS, *arguments, "-c", "-o", os.devnull])
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{compiler} failed for {arguments}")
    return time.monotonic() - began, usage.ru_maxrss / 1024


def measure(compiler, arguments, runs):
    results = [compile_once(compiler, arguments) for _ in range(runs)]
    return statistics.median(seconds for seconds, _ in results), max(memory for _, memory in results)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("headers", nargs="*", help="such as trireme/objects.hpp; all public headers by default")
    parser.add_argument("--compiler", default=os.environ.get("CXX", "g++"))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--lines", action="store_true", help="count lines, compile nothing")
    parser.add_argument("--most", type=int, help="lines that a header may have")
    wanted = parser.parse_args()
    headers = wanted.headers or sorted(f"trireme/{path.name}" for path in (ROOT / "include/trireme").glob("*.hpp"))
    too_long = []
    print(f"{'header':28} {'lines':>7}" + ("" if wanted.lines else f" {'s':>6} {'MB':>5}"))
    with tempfile.TemporaryDirectory() as folder:
        for header in headers:
            source = pathlib.Path(folder, "empty.cpp")
            source.write_text(f"#include <{header}>\nint main() {{}}\n")
            lines = preprocessed_lines(wanted.compiler, source)
            if wanted.most is not None and lines > wanted.most:
                too_long.append(f"{header} has {lines} preprocessed lines; at most {wanted.most} are wanted")
            row = f"{header:28} {lines:7}"
            if not wanted.lines:
                row += " {:6.2f} {:5.0f}".format(*measure(wanted.compiler, [str(source)], wanted.runs))
            print(row, flush=True)
    if not wanted.lines and not wanted.headers:
        example = str(ROOT / "examples/ring.cpp")
        row = "{:6.2f} {:5.0f}".format(*measure(wanted.compiler, ["-O2", example], wanted.runs))
        print(f"{'examples/ring.cpp, -O2':36} {row}")
    for problem in too_long:
        print(problem, file=sys.stderr)
    return 1 if too_long else 0


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.exit(main())
