"""tests/support/expect_output.sh: exit status and output both count."""
import os
import subprocess
import unittest

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "expect_output.sh")


def run(*arguments):
    """Its exit status, output and errors."""
    done = subprocess.run([SCRIPT, *arguments], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


class ExpectOutput(unittest.TestCase):
    def test_both_as_expected(self):
        for expression in ("a.*b", "^a\nb$", "x|b", "a", "; *[0-9]|b"):
            self.assertEqual(run(expression, "sh", "-c", "echo a; echo b"), (0, "a\nb\n", ""), expression)
        self.assertEqual(run("out.*err", "sh", "-c", "echo out; echo err >&2"), (0, "out\nerr\n", ""))
        self.assertEqual(run("a.*b", "sh", "-c", r"printf 'a\0b'")[0], 0)

    def test_another_output(self):
        status, output, errors = run("a.*c", "sh", "-c", "echo a; echo b")
        self.assertEqual((status, output), (1, "a\nb\n"))
        self.assertIn("the output does not have 'a.*c'", errors)

    def test_another_status(self):
        status, _, errors = run("a", "sh", "-c", "echo a; exit 3")
        self.assertEqual(status, 1)
        self.assertIn("the exit status is 3; it must be 0", errors)
        self.assertEqual(run("--status", "3", "a", "sh", "-c", "echo a; exit 3"), (0, "a\n", ""))
        self.assertEqual(run("--status", "3", "a", "echo", "a")[0], 1)
        status, _, errors = run("a", "sh", "-c", "echo a; kill -KILL $$")
        self.assertEqual(status, 1)
        self.assertIn("the exit status is 137; it must be 0", errors)

    def test_wrong_calls(self):
        self.assertEqual(run("(", "echo", "a")[0], 2)
        for arguments in ([], ["a"], ["--status"], ["--status", "x", "a", "echo", "a"]):
            status, _, errors = run(*arguments)
            self.assertEqual(status, 2)
            self.assertIn("Usage: expect_output.sh", errors)


if __name__ == "__main__":
    unittest.main()
