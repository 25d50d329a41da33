"""Messages that docs/user/troubleshooting.md quotes must be those of the code.

A quoted message is the code in the first column of a table with the heading "message". Placeholders (N, X, ... and "...")
stand for values; every part between them must be in a string of the sources.
"""
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLACEHOLDERS = re.compile(r"\.\.\.|(?<![\w-])(?:N|M|X|Y|T|APP|HOST|LIBRARY|OBJECT|ELEMENT)(?![\w-])|--tri-[XY]|TRIREME_X")
SHORTEST = 8  # characters; shorter parts say nothing


def quoted_messages(text):
    in_table = False
    for line in text.splitlines():
        if not line.startswith("|"):
            in_table = False
        elif line.startswith("| message |"):
            in_table = True
        elif in_table:
            yield from re.findall(r"`([^`]+)`", line.split(" | ")[0])


def parts(message):
    return [part for part in (each.strip(" ()'`,:;") for each in PLACEHOLDERS.split(message)) if len(part) >= SHORTEST]


def strings_of_the_sources():
    """All string literals, adjacent ones joined, with what fmt and printf put in replaced by a newline."""
    listed = subprocess.run(["git", "ls-files", "-z", "src/*.?pp", "tools/*.?pp", "include/*.?pp"], cwd=ROOT, check=True,
                            capture_output=True, text=True)
    literal = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
    out = []
    for name in filter(None, listed.stdout.split("\0")):
        source = (ROOT / name).read_text(encoding="utf-8")
        joined = re.sub(r'(?<!\\)"\s*\n?\s*"', "", source)
        out += literal.findall(joined)
    text = "\n".join(out).replace('\\"', '"').replace("\\n", "\n")
    return re.sub(r"\{[^{}]*\}|%[a-z]+", "\n", text)


class Troubleshooting(unittest.TestCase):
    def test_every_quoted_message_is_in_the_code(self):
        known = strings_of_the_sources()
        text = (ROOT / "docs" / "user" / "troubleshooting.md").read_text(encoding="utf-8")
        messages = list(quoted_messages(text))
        self.assertGreater(len(messages), 40)
        missing = [(message, part) for message in messages for part in parts(message) if part not in known]
        self.assertEqual(missing, [])


if __name__ == "__main__":
    unittest.main()
