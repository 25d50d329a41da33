#!/usr/bin/env python3
"""Runs the tests of a build folder whose inputs have changed since they last passed; `make test` calls it.

Inputs are found, not declared, and compared by content. Those of a test are
- its command and its properties, and the files and folders of the project that these name;
- the files and folders that these programs and scripts name in turn (tests know by path what they start);
- the libraries in lib/ that a program names; for a program in bin/, which finds what it loads, all of lib/;
- all sources, if it is a script (of a compile-fail test: its source and all headers);
- the installed packages, the kernel and the number of cores.
A program that was linked again from the same objects is the same, so its tests do not run. A test that failed or was
skipped, or whose run was interrupted, runs again.
"""
import argparse
import glob
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

# In each link of the same objects another: the build id, and the commit that the benchmarks record.
CHANGING = re.compile(rb"(?<=\x14\x00\x00\x00\x03\x00\x00\x00GNU\x00).{20}|(?<=recorded commit: ).{40}", re.DOTALL)
LIBRARY = re.compile(rb"lib[\w+-]+\.so[.\d]*")
STATE = "passed_tests.json"  # {"files": {path: [size, mtime, digest, references]}, "passed": {test: {input: digest}}}


class Project:
    def __init__(self, build, files):
        self.build = os.path.realpath(build)
        with open(os.path.join(self.build, "CMakeCache.txt"), encoding="utf-8") as cache:
            self.source = re.search(r"^CMAKE_HOME_DIRECTORY:INTERNAL=(.*)$", cache.read(), re.MULTILINE).group(1)
        self.path = re.compile(b"(?:%s|%s)(?:/[\\w.+@-]+)*" % (re.escape(os.fsencode(self.build)),
                                                           re.escape(os.fsencode(self.source))))
        self.lib = os.path.join(self.build, "lib")
        self.libraries = {name: os.path.join(self.lib, name) for name in os.listdir(self.lib)}
        self.files = files  # what is known of files, by path
        self.seen = {}
        self.sources = self.list_sources()

    def list_sources(self):
        listed = subprocess.run(["git", "-C", self.source, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                                capture_output=True, check=False)
        found = self.walk(self.source)  # an unpacked archive
        if listed.returncode == 0:
            found = [os.path.join(self.source, os.fsdecode(name)) for name in listed.stdout.split(b"\0") if name]
        return sorted(path for path in found if os.path.isfile(path) and not self.is_built(path))

    def is_built(self, path):
        return path == self.build or path.startswith(self.build + "/")

    @staticmethod
    def walk(folder):
        found = []
        for place, folders, names in os.walk(folder):
            folders[:] = [name for name in folders if name not in ("CMakeFiles", ".git")]
            found += [os.path.join(place, name) for name in names]
        return sorted(path for path in found if os.path.isfile(path))

    def digest(self, path):
        """Of the content, and what it names: (digest, references)."""
        if path in self.seen:
            return self.seen[path]
        status = os.stat(path)
        known = self.files.get(path)
        if known is None or known[:2] != [status.st_size, status.st_mtime_ns]:
            with open(path, "rb") as file:
                content = file.read()
            is_program = content.startswith(b"\x7fELF")
            references = set()
            if is_program or (self.is_built(path) and content.startswith(b"#!")):
                named = [os.fsdecode(found) for found in self.path.findall(content)]
                if self.lib in named:  # the search path of the loader, which every program has
                    named.remove(self.lib)
                references = set(named)
            if is_program:
                content = CHANGING.sub(b"", content)
                references |= {self.libraries[name] for name in map(os.fsdecode, LIBRARY.findall(content))
                               if name in self.libraries}
                if os.path.dirname(path) == self.build + "/bin":
                    references.add(self.lib)
            known = [status.st_size, status.st_mtime_ns, hashlib.blake2b(content, digest_size=16).hexdigest(),
                     sorted(references)]
            self.files[path] = known
        self.seen[path] = known[2], known[3]
        return self.seen[path]

    def files_of(self, path):
        """The files that a name stands for. The two top folders stand for all sources and for all programs."""
        if os.path.isfile(path):
            return [path]
        if path == self.source:
            return self.sources
        if path == self.build:
            return self.walk(self.build + "/bin") + self.walk(self.lib)
        if os.path.isdir(path):
            return self.walk(path) if self.is_built(path) else [name for name in self.sources
                                                                if name.startswith(path + "/")]
        # The beginning of names, perhaps.
        return [name for name in sorted(glob.glob(glob.escape(path) + "*")) if os.path.isfile(name)]

    def inputs_of(self, test):
        """{path: digest} of a test of `ctest --show-only=json-v1`."""
        command = test.get("command", [])
        properties = [each for each in test.get("properties", []) if each["name"] != "WORKING_DIRECTORY"]
        text = json.dumps([command, properties], sort_keys=True)
        inputs = {"command": hashlib.blake2b(text.encode(), digest_size=16).hexdigest()}
        to_visit = {os.fsdecode(found) for found in self.path.findall(os.fsencode("\n".join(command) + text))}
        if "TriremeCompileFail.cmake" in text:
            to_visit |= {name for name in self.sources if name.endswith(".hpp")}
        elif not any(self.is_program(word) for word in command):
            # Folders of the build that it names are made of the sources, or its own.
            to_visit = {name for name in to_visit if not os.path.isdir(name)} | set(self.sources)
        while to_visit:
            for path in self.files_of(to_visit.pop()):
                if path not in inputs:
                    inputs[path], references = self.digest(path)
                    to_visit |= {name for name in references if name not in inputs}
        return inputs

    def is_program(self, path):
        if not (self.is_built(path) and os.path.isfile(path)):
            return False
        with open(path, "rb") as file:
            return file.read(4) == b"\x7fELF"


def machine_state():
    state = [os.uname().release, os.uname().machine, str(os.cpu_count())]
    try:
        status = os.stat("/var/lib/dpkg/status")
        state += [str(status.st_size), str(status.st_mtime_ns)]
    except OSError:
        pass  # no Debian
    return " ".join(state)


def list_tests(build, preset):
    listed = subprocess.run(["ctest", "--preset", preset, "--show-only=json-v1"], capture_output=True, check=False,
                            text=True)
    if listed.returncode != 0:
        sys.exit(f"scripts/run_tests.py: ctest lists no tests of {build}:\n{listed.stderr}")
    tests = json.loads(listed.stdout)["tests"]
    for number, test in enumerate(tests, start=1):
        test["number"] = number
    return tests


def read_state(path):
    try:
        with open(path, encoding="utf-8") as file:
            state = json.load(file)
        return state["files"], state["passed"]
    except (OSError, ValueError, KeyError):
        return {}, {}


def write_state(path, files, passed):
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump({"files": files, "passed": passed}, file)
    os.replace(path + ".new", path)


def changes(inputs, before):
    if before is None:
        return ["never passed here"]
    return sorted(name for name in inputs.keys() | before.keys() if inputs.get(name) != before.get(name))


def describe(chosen, build, source):
    """The inputs whose change concerns most tests."""
    counts = {}
    for reasons in chosen.values():
        for reason in reasons:
            counts[reason] = counts.get(reason, 0) + 1
    most = sorted(counts, key=lambda name: (-counts[name], name))
    named = [os.path.relpath(name, build if name.startswith(build) else source) if name.startswith("/") else name
             for name in most[:4]]
    return ", ".join(named) + (f" and {len(most) - 4} more" if len(most) > 4 else "")


def run(preset, jobs, tests, chosen):
    """Those that passed, and the exit status of ctest."""
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.xml")
        command = ["ctest", "--preset", preset, "--parallel", str(jobs), "--output-junit", report]
        if len(chosen) < len(tests):
            command += ["-I", "0,0,0," + ",".join(str(test["number"]) for test in tests if test["name"] in chosen)]
        status = subprocess.run(command, check=False).returncode
        passed = set()
        if os.path.exists(report):
            for case in xml.etree.ElementTree.parse(report).getroot().iter("testcase"):
                if case.get("status") == "run":
                    passed.add(case.get("name"))
        return passed, status


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    options.add_argument("--preset", default="release", help="of CMakePresets.json (default: %(default)s)")
    options.add_argument("--jobs", type=int, default=os.cpu_count(), help="tests at a time (default: %(default)s)")
    options.add_argument("--all", action="store_true", help="run tests whose inputs have not changed, too")
    options.add_argument("--list", action="store_true", help="print what would run and which inputs changed; run nothing")
    asked = options.parse_args()
    source = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    os.chdir(source)
    build = os.path.join(source, "build", asked.preset)
    if not os.path.exists(os.path.join(build, "CMakeCache.txt")):
        sys.exit(f"scripts/run_tests.py: there is no build in {build}; make test makes one")
    state = os.path.join(build, STATE)
    files, passed = read_state(state)
    machine = machine_state()

    tests = list_tests(build, asked.preset)
    project = Project(build, files)
    inputs = {test["name"]: {**project.inputs_of(test), "machine": machine} for test in tests}
    chosen = {name: changes(now, passed.get(name)) for name, now in inputs.items()}
    if not asked.all:
        chosen = {name: reasons for name, reasons in chosen.items() if reasons}
    if asked.list:
        for name, reasons in chosen.items():
            print(name + ": " + describe({name: reasons}, build, source))
        print(f"{len(chosen)} of {len(tests)} tests would run")
        return 0
    if not chosen:
        print(f"all {len(tests)} tests have passed with these programs and sources (make test ALL=1 runs them again)")
        return 0
    if len(chosen) < len(tests):
        print(f"{len(chosen)} of {len(tests)} tests run; the others have passed with the same inputs (ALL=1 runs them). "
              f"Changed: {describe(chosen, build, source)}", flush=True)
    # What runs has not passed until it is over, in a run that is interrupted, too.
    kept = {name: before for name, before in passed.items() if name in inputs and name not in chosen}
    files = {path: known for path, known in files.items() if os.path.exists(path)}
    write_state(state, files, kept)
    now_passed, status = run(asked.preset, asked.jobs, tests, chosen)
    write_state(state, files, {**kept, **{name: inputs[name] for name in now_passed if name in inputs}})
    return status


if __name__ == "__main__":
    sys.exit(main())
