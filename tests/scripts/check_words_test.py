"""scripts/check_words.py: what it finds, what it leaves alone, and lists that are wrong."""
import os
import subprocess
import sys
import tempfile
import unittest

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts", "check_words.py")


def run_on(files, words="silence_watch\tpeer_timeouts\ncrew\tthread team\n"):
    with tempfile.TemporaryDirectory() as root:
        subprocess.run(["git", "init", "-q", root], check=True)
        for name, text in {**files, "scripts/words.txt": words}.items():
            path = os.path.join(root, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        ended = subprocess.run([sys.executable, SCRIPT, root], capture_output=True, text=True)
        return ended.returncode, ended.stdout + ended.stderr


class CheckWords(unittest.TestCase):
    def test_clean_files_pass(self):
        status, said = run_on({"src/a.cpp": "int peer_timeouts;\n"})
        self.assertEqual(status, 0, said)
        self.assertIn("none of 2 home-made words", said)

    def test_whole_words_and_parts_of_identifiers(self):
        status, said = run_on({"src/a.cpp": "int x;\nint my_crew_size;\n", "docs/b.md": "The Crew waits.\n"})
        self.assertEqual(status, 1)
        self.assertIn("src/a.cpp:2: 'crew'; write thread team", said)
        self.assertIn("docs/b.md:1: 'Crew'; write thread team", said)

    def test_longer_words_are_others(self):
        status, said = run_on({"src/a.cpp": "int crewless; // screw\n"})
        self.assertEqual(status, 0, said)

    def test_names_of_files(self):
        status, said = run_on({"src/silence_watch.hpp": "\n"})
        self.assertEqual(status, 1)
        self.assertIn("src/silence_watch.hpp: the name has 'silence_watch'; write peer_timeouts", said)

    def test_history_and_marked_lines_are_left_alone(self):
        status, said = run_on({"docs/dev/decisions/1.md": "crew\n", "CHANGELOG.md": "crew\n",
                               "src/a.cpp": "// the crew of a ship, words: ok\n"})
        self.assertEqual(status, 0, said)

    def test_wrong_lists_are_refused(self):
        status, said = run_on({"src/a.cpp": "\n"}, words="crew thread team\n")
        self.assertNotEqual(status, 0)
        self.assertIn("words.txt:1: a line is a word, a tab, and what to write instead", said)


if __name__ == "__main__":
    unittest.main()
