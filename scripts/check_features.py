#!/usr/bin/env python3
"""Checks docs/dev/features.md: what a row in state `done` or `part` names as its test must exist, and the count must be right.

The cell "test" names, in any prose: ctest names (every word with an underscore), rows of `trireme bench` (in backquotes,
with a slash, `*` for any), and in parentheses behind a ctest name the cases of tests/system, arrays or objects (`case`,
`cases`; the tests system_*, arrays_* and objects_* run them) or the GoogleTest suites and tests of that program. Takes a build folder in which the command `trireme` is built.
"""
import fnmatch
import json
import pathlib
import re
import subprocess
import sys

STATES = {"open", "part", "done", "left out"}
GOOGLE_TEST = re.compile(r"\b(?:TYPED_)?TEST(?:_[FP])?\(\s*(\w+)\s*,\s*(\w+)\s*\)")
SYSTEM_CASE = re.compile(r'\w+_case\{"(\w+)"|\bcase_entry \w+\{"(\w+)"')
OBJECTS_CASE = re.compile(r'TRIREME_CASE\((\w+)\)|case_entry \w+\{"(\w+)"')
ARRAY_CASE = re.compile(r'\{"(\w+)", &(\w+)\}')


class known_tests:
    """What exists: ctest names with the folder of their sources, rows of the benchmarks, cases of the system program."""

    def __init__(self, root, build):
        self.root = root
        listed = json.loads(output_of("ctest", "--test-dir", str(build), "--show-only=json-v1"))
        self.folder_of = {}
        for test in listed["tests"]:
            folder = pathlib.Path(next(p["value"] for p in test["properties"] if p["name"] == "WORKING_DIRECTORY"))
            self.folder_of[test["name"]] = root / folder.relative_to(build) if folder.is_relative_to(build) else folder
        rows = [line.split()[:2] for line in output_of(str(build / "bin" / "trireme"), "bench", "--list").splitlines()]
        self.suites = {suite for suite, _ in rows}
        self.rows = [row for _, row in rows]
        self.cases = {
            folder: {name for text in sources(root / "tests" / folder) for found in case.findall(text) for name in found}
            for folder, case in (("system", SYSTEM_CASE), ("arrays", ARRAY_CASE), ("objects", OBJECTS_CASE))
        }

    def google_tests(self, ctest_name):
        names = set()
        for text in sources(self.folder_of[ctest_name]):
            for suite, test in GOOGLE_TEST.findall(text):
                names |= {suite, test, f"{suite}.{test}"}
        return names


def output_of(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def sources(folder):
    return [file.read_text(encoding="utf-8") for file in sorted(folder.rglob("*.cpp"))]


def faults_of_parentheses(text, ctest_name, known):
    """`text` stands in parentheses behind a ctest name: cases of the system program, or GoogleTest names."""
    names = re.findall(r"`([\w.]+)`", text)
    if re.match(r"cases?\b", text):
        folder = ctest_name.split("_")[0]
        if folder not in known.cases:
            yield f"{ctest_name} has no cases; the tests system_*, arrays_* and objects_* have"
            return
        for name in names:
            if name not in known.cases[folder]:
                yield f"no case '{name}' in tests/{folder}"
        return
    for name in names:
        if name not in known.google_tests(ctest_name):
            folder = known.folder_of[ctest_name].relative_to(known.root)
            yield f"{ctest_name}: no GoogleTest suite or test '{name}' in {folder}"


def faults_of_cell(cell, known):
    found = 0
    ctest_name = ""
    for word in re.finditer(r"\(([^)]*)\)|`trireme bench(?: (\w+))?`|`([^`]*/[^`]*)`|(\w*_\w+)", cell):
        parentheses, suite, row, name = word.groups()
        if name is not None:
            found += 1
            if name not in known.folder_of:
                yield f"no ctest '{name}'"
            ctest_name = name if name in known.folder_of else ""
        elif row is not None:
            found += 1
            if not any(fnmatch.fnmatchcase(each, row) for each in known.rows):
                yield f"no row '{row}' in `trireme bench --list`"
        elif suite is not None:
            if suite not in known.suites:
                yield f"no suite '{suite}' of `trireme bench`"
        elif parentheses is not None and ctest_name:
            yield from faults_of_parentheses(parentheses, ctest_name, known)
    if not found:
        yield "names no test"


def faults_of(document, known):
    ids = set()
    text = document.read_text(encoding="utf-8")
    for number, line in enumerate(text.splitlines(), 1):
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) != 5 or cells[0] == "id" or not cells[0].strip("-"):
            continue
        feature, _, _, test, state = cells
        faults = [f"'{state}' is no state; {', '.join(sorted(STATES))} are"] if state not in STATES else []
        if feature in ids:
            faults.append("a second row of this id")
        ids.add(feature)
        if state in ("part", "done"):
            faults += faults_of_cell(test, known)
        for fault in faults:
            yield f"{document.name}:{number}: {feature}: {fault}"
    said = re.search(r"(\d+) in all", text)
    if not said or int(said.group(1)) != len(ids):
        yield f"{document.name}: there are {len(ids)} features, and it says '{said.group(0) if said else 'nothing'}'"


def main():
    if len(sys.argv) != 2:
        print("usage: scripts/check_features.py BUILD_FOLDER", file=sys.stderr)
        return 2
    root = pathlib.Path(__file__).resolve().parent.parent
    build = pathlib.Path(sys.argv[1]).resolve()
    if not (build / "bin" / "trireme").exists():
        print(f"scripts/check_features.py: {build}/bin/trireme is missing; build it first (make build)", file=sys.stderr)
        return 2
    faults = list(faults_of(root / "docs" / "dev" / "features.md", known_tests(root, build)))
    print("\n".join(faults) if faults else "every test that docs/dev/features.md names exists")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
