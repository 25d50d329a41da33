"""scripts/run_tests.py: which tests run again after which change, in a project of three tests and a fixture."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts", "run_tests.py")

PRESETS = """{"version": 6, "configurePresets": [{"name": "release", "generator": "Ninja",
  "binaryDir": "${sourceDir}/build/${presetName}"}],
  "testPresets": [{"name": "release", "configurePreset": "release"}]}"""
LISTS = """cmake_minimum_required(VERSION 3.25)
project(three_tests LANGUAGES NONE)
enable_testing()
add_test(NAME plain COMMAND "${CMAKE_BINARY_DIR}/tests/plain")
add_test(NAME starts_another COMMAND "${CMAKE_BINARY_DIR}/tests/starts_another")
add_test(NAME script COMMAND sh "${CMAKE_SOURCE_DIR}/script.sh")
add_test(NAME begins COMMAND sh -c "echo >>${CMAKE_BINARY_DIR}/Testing/begun")
set_tests_properties(begins PROPERTIES FIXTURES_SETUP begun)
set_tests_properties(plain PROPERTIES FIXTURES_REQUIRED begun)
"""


class Project:
    """Programs are copies of true and false with something behind: what a program names and a linker writes."""

    def __init__(self, folder):
        self.folder = folder
        for place in ("scripts", "build/release/tests", "build/release/lib", "build/release/bin"):
            os.makedirs(os.path.join(folder, place))
        shutil.copy(SCRIPT, os.path.join(folder, "scripts"))
        self.write("CMakePresets.json", PRESETS)
        self.write("CMakeLists.txt", LISTS)
        self.write("script.sh", "exit 0\n")
        self.program("bin/started", b"first")
        self.program("tests/plain", b"\x14\0\0\0\3\0\0\0GNU\0" + b"a" * 20 + b"recorded commit: " + b"1" * 40 + b"code")
        self.program("tests/starts_another", os.fsencode(self.built("bin/started")) + b"\0")
        subprocess.run(["cmake", "--preset", "release"], cwd=folder, check=True, capture_output=True)

    def built(self, name):
        return os.path.join(self.folder, "build", "release", name)

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    def program(self, name, behind, like="true"):
        with open(shutil.which(like), "rb") as file:
            content = file.read()
        with open(self.built(name), "wb") as file:
            file.write(content + behind)
        os.chmod(self.built(name), 0o755)

    def run(self, *options, path=os.environ["PATH"]):
        return subprocess.run([sys.executable, os.path.join(self.folder, "scripts", "run_tests.py"), *options],
                              capture_output=True, text=True, check=False, env={**os.environ, "PATH": path})

    def would_run(self):
        lines = self.run("--list").stdout.splitlines()
        return {line.split(": ")[0]: line.split(": ")[1] for line in lines[:-1]}


class RunTests(unittest.TestCase):
    def setUp(self):
        if shutil.which("cmake") is None or shutil.which("ninja") is None:
            self.skipTest("cmake or ninja is not installed")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.project = Project(os.path.realpath(folder.name))

    def pass_all(self):
        ended = self.project.run()
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        self.assertIn("100% tests passed, 0 tests failed out of 4", ended.stdout)  # and what sets up the fixture
        self.assertEqual(self.project.would_run(), {})

    def test_what_has_passed_runs_again_when_asked_only(self):
        self.pass_all()
        self.assertIn("all 3 tests have passed with these programs and sources", self.project.run().stdout)
        self.assertIn("out of 4", self.project.run("--all").stdout)

    def test_a_program_concerns_its_tests(self):
        self.pass_all()
        self.project.program("tests/plain", b"other code")
        self.assertEqual(self.project.would_run(), {"plain": "tests/plain"})
        ended = self.project.run()
        self.assertIn("1 of 3 tests run", ended.stdout)
        self.assertIn("100% tests passed, 0 tests failed out of 2", ended.stdout)
        self.assertEqual(self.project.would_run(), {})

    def test_programs_that_a_test_starts(self):
        self.pass_all()
        self.project.program("bin/started", b"second")
        self.assertEqual(self.project.would_run(), {"starts_another": "bin/started"})

    def test_libraries_that_a_program_of_bin_may_load(self):
        self.pass_all()
        self.project.program("lib/libloaded.so", b"")
        self.assertEqual(self.project.would_run(), {"starts_another": "lib/libloaded.so"})

    def test_libraries_that_a_program_names(self):
        self.project.program("lib/libnamed.so.1", b"")
        self.project.program("tests/plain", b"\0libnamed.so.1\0")
        self.pass_all()
        self.project.program("lib/libnamed.so.1", b"changed")
        self.assertEqual(set(self.project.would_run()), {"plain", "starts_another"})

    def test_libraries_whose_names_a_program_puts_together(self):
        self.project.program("lib/libplug-in-mpich.so", b"")
        self.project.program("tests/plain", b"\0libplug-in-{}.so\0")
        self.pass_all()
        self.project.program("lib/libplug-in-mpich.so", b"changed")
        self.assertIn("plain", self.project.would_run())

    def test_paths_in_the_definitions_of_a_program(self):
        self.project.write("data.txt", "1")
        self.project.write("build/release/compile_commands.json", json.dumps([{"command": (
            f'c++ -DDATA=\\"{self.project.folder}/data.txt\\" -o tests/CMakeFiles/plain.dir/plain.cpp.o -c plain.cpp'),
            "directory": self.project.built(""), "file": "plain.cpp"}]))
        self.pass_all()
        self.project.write("data.txt", "2")
        self.assertEqual(self.project.would_run(), {"plain": "data.txt", "script": "data.txt"})

    def test_programs_that_start_scripts_concern_all_scripts(self):
        self.project.write("first.sh", "")
        self.project.write("second.sh", "")
        self.project.program("tests/plain", os.fsencode(self.project.folder + "/first.sh") + b"\0")
        self.pass_all()
        self.project.write("second.sh", "exit 1")
        self.assertEqual(set(self.project.would_run()), {"plain", "script"})

    def test_the_environment(self):
        self.pass_all()
        os.environ["CONFORMANCE_ALL_RANKS"] = "1"
        self.addCleanup(os.environ.pop, "CONFORMANCE_ALL_RANKS")
        self.assertEqual(set(self.project.would_run().values()), {"machine"})

    def test_what_was_skipped_for_the_moment(self):
        self.project.write("script.sh", "echo 'for now: others use the cores'\n")
        self.assertEqual(self.project.run().returncode, 0)
        self.assertEqual(self.project.would_run(), {"script": "never passed here"})

    def test_build_ids_and_the_recorded_commit_are_no_change(self):
        self.pass_all()
        self.project.program("tests/plain", b"\x14\0\0\0\3\0\0\0GNU\0" + b"b" * 20 + b"recorded commit: " + b"2" * 40 +
                             b"code")
        self.assertEqual(self.project.would_run(), {})

    def test_sources_concern_scripts(self):
        self.pass_all()
        self.project.write("another.txt", "a new file")
        self.assertEqual(self.project.would_run(), {"script": "another.txt"})

    def test_failed_tests_run_again(self):
        self.project.program("tests/plain", b"", like="false")
        self.assertNotEqual(self.project.run().returncode, 0)
        self.assertEqual(self.project.would_run(), {"plain": "never passed here"})
        self.assertNotEqual(self.project.run().returncode, 0)

    def test_the_command_of_a_test(self):
        self.pass_all()
        self.project.write("CMakeLists.txt", LISTS.replace('tests/plain"', 'tests/plain" --twice'))
        subprocess.run(["cmake", "--preset", "release"], cwd=self.project.folder, check=True, capture_output=True)
        self.assertEqual(self.project.would_run(), {"plain": "command", "script": "CMakeLists.txt"})

    def test_without_a_build(self):
        shutil.rmtree(os.path.join(self.project.folder, "build"))
        ended = self.project.run()
        self.assertNotEqual(ended.returncode, 0)
        self.assertIn("there is no build in", ended.stderr)

    def test_git_need_not_be_installed(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        programs = folder.name
        for folder in reversed(os.environ["PATH"].split(os.pathsep)):
            for name in os.listdir(folder) if os.path.isdir(folder) else []:
                if name == "git":
                    continue
                place = os.path.join(programs, name)
                if os.path.lexists(place):
                    os.remove(place)
                os.symlink(os.path.join(folder, name), place)
        run = self.project.run(path=programs)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertIn("100% tests passed", run.stdout)


if __name__ == "__main__":
    unittest.main()
