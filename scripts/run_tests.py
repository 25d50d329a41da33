#!/usr/bin/env python3
"""Runs the tests of a build folder whose inputs have changed since they last passed; `make test` calls it.

Inputs are found, not declared, and compared by content. Those of a test are
- its command and its properties, and the files and folders of the project that these name;
- what its programs name in turn, in their compile definitions or in their code (tests know by path what they start);
- the libraries in lib/ that a program names, or whose names begin as one that it puts together; for a program in bin/,
  which finds what it loads, all of lib/;
- all sources, if it is a script (of a compile-fail test: its source and all headers), and all scripts, if its program
  starts one;
- the installed packages, the kernel, the cores, limits and rights of the process, and the variables that tests read.
A program that was linked again from the same objects is the same, so its tests do not run. A test that failed, that
skipped something for the moment, or whose run was interrupted runs again.
"""
import argparse
import glob
import hashlib
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

# In each link of the same objects another: the build id, and the commit that the benchmarks record.
CHANGING = re.compile(rb"(?<=\x14\x00\x00\x00\x03\x00\x00\x00GNU\x00).{20}|(?<=recorded commit: ).{40}", re.DOTALL)
LIBRARY = re.compile(rb"lib[\w+-]+\.so[.\d]*|lib[\w+-]+(?=\{|%s)")
SCRIPT = re.compile(r"\.(sh|py|cmake|pl)$")
# What tests and the programs under test read.
VARIABLES = re.compile(r"^(TRIREME_|CONFORMANCE_|LOCATION_TEST_|OMP_|OMPI_|MPICH_|UCX_|GTEST_|PATH$|LD_)")
SKIPPED_FOR_NOW = re.compile(r"\bfor now: ")
STATE = "passed_tests.json"  # {"files": {path: [size, mtime, digest, names]}, "passed": {test: {input: digest}}}


def digest_of(content):
    return hashlib.blake2b(content, digest_size=16).hexdigest()


class Project:
    def __init__(self, build, files):
        self.build = os.path.realpath(build)
        with open(os.path.join(self.build, "CMakeCache.txt"), encoding="utf-8") as cache:
            source = re.search(r"^CMAKE_HOME_DIRECTORY:INTERNAL=(.*)$", cache.read(), re.MULTILINE).group(1)
        self.source = os.path.realpath(source)
        spellings = {self.build, os.path.abspath(build), self.source, source}
        self.path = re.compile(b"(?:%s)(?:/[\\w.+@-]+)*" % b"|".join(
            re.escape(os.fsencode(each)) for each in sorted(spellings, key=len, reverse=True)))
        self.lib = os.path.join(self.build, "lib")
        self.libraries = sorted(os.listdir(self.lib)) if os.path.isdir(self.lib) else []
        self.files = files  # what is known of files, by path; names of libraries are looked up at each use
        self.seen = {}
        self.defined = self.read_definitions()
        self.sources = self.list_sources()
        self.scripts = [path for path in self.sources if SCRIPT.search(path)]

    def read_definitions(self):
        """{program or library: paths in the compile definitions of its objects}. Compilers take short texts apart, so
        that these paths need not be in a program."""
        found = {}
        try:
            with open(os.path.join(self.build, "compile_commands.json"), encoding="utf-8") as file:
                commands = json.load(file)
        except FileNotFoundError:
            return found
        for each in commands:
            if target := re.search(r" -o (\S*?)CMakeFiles/([^/]+)\.dir/", each["command"]):
                definitions = " ".join(re.findall(r" -D.*?(?= -[A-Za-z])", each["command"]))
                program = os.path.join(self.build, target[1] + target[2])
                found.setdefault(program, set()).update(self.names_in(self.path.findall(definitions.encode())))
        return found

    def list_sources(self):
        command = ["git", "-C", self.source, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        try:
            names = subprocess.run(command, capture_output=True, check=True).stdout.split(b"\0")
            found = [os.path.join(self.source, os.fsdecode(name)) for name in names if name]
        except (OSError, subprocess.CalledProcessError):  # git is not installed, or this is an unpacked archive
            found = self.walk(self.source)
        return sorted(path for path in found if os.path.isfile(path) and not self.is_built(path))

    def is_built(self, path):
        return path == self.build or path.startswith(self.build + "/")

    def names_in(self, found):
        """Of the paths that were found in a text or a program, as they are called here; without ctest's own files."""
        found = {os.path.realpath(os.path.normpath(os.fsdecode(name))) for name in set(found)}
        return {name for name in found if not name.startswith(self.build + "/Testing")}

    @staticmethod
    def walk(folder):
        found = []
        for place, folders, names in os.walk(folder):
            folders[:] = [name for name in folders if name not in ("CMakeFiles", "Testing", ".git")]
            found += [os.path.join(place, name) for name in names]
        return sorted(path for path in found if os.path.isfile(path))

    def read(self, path):
        """Of a file: the digest of its content, and what it names."""
        if path in self.seen:
            return self.seen[path]
        status = os.stat(path)
        known = self.files.get(path)
        if known is None or known[:2] != [status.st_size, status.st_mtime_ns]:
            with open(path, "rb") as file:
                content = file.read()
            names = set()
            is_program = content.startswith(b"\x7fELF")
            if is_program or (self.is_built(path) and content.startswith(b"#!")):
                found = self.path.findall(content)
                names = self.names_in(found)
                if found.count(os.fsencode(self.lib)) == 1:  # where the loader looks, for all programs
                    names.discard(self.lib)
            if is_program:
                content = CHANGING.sub(b"", content)
                names |= {os.fsdecode(name) for name in LIBRARY.findall(content)}
            known = [status.st_size, status.st_mtime_ns, digest_of(content), sorted(names)]
            self.files[path] = known
        self.seen[path] = known[2], known[3]
        return self.seen[path]

    def named_by(self, path, names):
        """The files and folders that a file stands for besides itself."""
        found = set(self.defined.get(path, ()))
        for name in names:
            if name.startswith("/"):
                found.add(name)
            else:
                found |= {os.path.join(self.lib, library) for library in self.libraries
                          if library == name or (".so" not in name and library.startswith(name))}
        if os.path.dirname(path) == os.path.join(self.build, "bin"):
            found.add(self.lib)
        if any(SCRIPT.search(name) and not self.is_built(name) for name in found):
            found |= set(self.scripts)  # scripts start others
        return found

    def files_of(self, path):
        """The files that a name stands for. The two top folders stand for all sources and for all programs."""
        if os.path.isfile(path):
            return [path]
        if path == self.source:
            return self.sources
        if path == self.build:
            return self.walk(os.path.join(self.build, "bin")) + self.walk(self.lib)
        if os.path.isdir(path):
            if self.is_built(path):
                return self.walk(path)
            return [name for name in self.sources if name.startswith(path + "/")] or self.walk(path)
        # The beginning of names, perhaps.
        return [name for name in sorted(glob.glob(glob.escape(path) + "*")) if os.path.isfile(name)]

    def inputs_of(self, test):
        """{path: digest} of a test of `ctest --show-only=json-v1`."""
        command = test.get("command", [])
        properties = [each for each in test.get("properties", []) if each["name"] != "WORKING_DIRECTORY"]
        text = json.dumps([command, properties], sort_keys=True)
        inputs = {"command": digest_of(text.encode())}
        to_visit = self.names_in(self.path.findall(os.fsencode("\n".join(command) + text)))
        if "TriremeCompileFail.cmake" in text:
            to_visit |= {name for name in self.sources if name.endswith(".hpp")}
        elif any(SCRIPT.search(word) for word in command) or not any(self.is_program(word) for word in command):
            # Folders of the build that it names are made of the sources, or its own.
            to_visit = {name for name in to_visit if not os.path.isdir(name) or not self.is_built(name)}
            to_visit |= set(self.sources)
        while to_visit:
            for path in self.files_of(to_visit.pop()):
                if path not in inputs:
                    inputs[path], names = self.read(path)
                    to_visit |= self.named_by(path, names) - inputs.keys()
        return inputs

    def is_program(self, path):
        if not (self.is_built(path) and os.path.isfile(path)):
            return False
        with open(path, "rb") as file:
            return file.read(4) == b"\x7fELF"


def machine_state():
    state = [os.uname().release, os.uname().machine, sorted(os.sched_getaffinity(0)), os.geteuid(),
             {name: value for name, value in sorted(os.environ.items()) if VARIABLES.search(name)},
             [resource.getrlimit(limit) for limit in (resource.RLIMIT_CORE, resource.RLIMIT_NOFILE, resource.RLIMIT_AS,
                                                      resource.RLIMIT_NPROC, resource.RLIMIT_MEMLOCK)]]
    for path in ("/proc/sys/kernel/core_pattern", "/proc/sys/kernel/perf_event_paranoid",
                 "/proc/sys/kernel/yama/ptrace_scope"):
        try:
            with open(path, encoding="utf-8") as file:
                state.append(file.read())
        except OSError:
            state.append(None)
    try:
        status = os.stat("/var/lib/dpkg/status")
        state += [status.st_size, status.st_mtime_ns]
    except OSError:
        pass  # not a Debian
    return digest_of(json.dumps(state).encode())


def list_tests(build, preset):
    listed = subprocess.run(["ctest", "--preset", preset, "--show-only=json-v1"], capture_output=True, check=False,
                            text=True)
    if listed.returncode != 0:
        sys.exit(f"scripts/run_tests.py: ctest lists no tests of {build}:\n{listed.stderr}")
    tests = json.loads(listed.stdout)["tests"]
    for number, test in enumerate(tests, start=1):
        test["number"] = number
    # What sets up fixtures runs when a test needs it.
    return [test for test in tests
            if not any(each["name"].startswith("FIXTURES_") and each["name"] != "FIXTURES_REQUIRED"
                       for each in test.get("properties", []))]


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
    """Those that passed with all that they have, and the exit status of ctest."""
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.xml")
        command = ["ctest", "--preset", preset, "--parallel", str(jobs), "--output-junit", report,
                   "--test-output-size-passed", "10000000"]
        if len(chosen) < len(tests):
            command += ["-I", "0,0,0," + ",".join(str(test["number"]) for test in tests if test["name"] in chosen)]
        status = subprocess.run(command, check=False).returncode
        passed = set()
        if os.path.exists(report):
            for case in xml.etree.ElementTree.parse(report).getroot().iter("testcase"):
                if case.get("status") == "run" and not SKIPPED_FOR_NOW.search(case.findtext("system-out") or ""):
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
            print(name + ": " + describe({name: reasons}, project.build, project.source))
        print(f"{len(chosen)} of {len(tests)} tests would run")
        return 0
    if not chosen:
        print(f"all {len(tests)} tests have passed with these programs and sources (make test ALL=1 runs them again)")
        return 0
    if len(chosen) < len(tests):
        print(f"{len(chosen)} of {len(tests)} tests run; the others have passed with the same inputs (ALL=1 runs them). "
              f"Changed: {describe(chosen, project.build, project.source)}", flush=True)
    # What runs has not passed until it is over, in a run that is interrupted, too.
    kept = {name: before for name, before in passed.items() if name in inputs and name not in chosen}
    files = {path: known for path, known in files.items() if os.path.exists(path)}
    write_state(state, files, kept)
    now_passed, status = run(asked.preset, asked.jobs, tests, chosen)
    write_state(state, files, {**kept, **{name: inputs[name] for name in now_passed if name in inputs}})
    return status


if __name__ == "__main__":
    sys.exit(main())
