"""scripts/check_docs.py: which lines are too long, and what --fix makes of them."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import check_docs  # noqa: E402

LONG = "word " * 40


def faults(text):
    return [number for number, _ in check_docs.long_lines_of(text)]


class ParagraphLength(unittest.TestCase):
    def test_a_paragraph_of_six_lines_is_reported_by_its_first_line(self):
        self.assertEqual(list(check_docs.long_paragraphs_of("head\n\n" + "words\n" * 5)), [])
        self.assertEqual(list(check_docs.long_paragraphs_of("head\n\n" + "words\n" * 6)), [(3, 6)])

    def test_items_of_a_list_are_paragraphs_of_their_own(self):
        self.assertEqual(list(check_docs.long_paragraphs_of("- item\n  more\n" * 6)), [])

    def test_code_and_tables_are_left_alone(self):
        for text in ("```\n" + "code\n" * 9 + "```\n", "| cell |\n" * 9):
            self.assertEqual(list(check_docs.long_paragraphs_of(text)), [], text)


class LineLength(unittest.TestCase):
    def test_a_long_line_of_prose_is_reported_by_its_number(self):
        self.assertEqual(faults(f"short\n\n{LONG}\n"), [3])

    def test_a_line_of_120_characters_is_not(self):
        self.assertEqual(faults("x" * 59 + " " + "y" * 60 + "\n"), [])
        self.assertEqual(faults("x" * 60 + " " + "y" * 60 + "\n"), [1])

    def test_tables_code_headings_and_comments_are_left_alone(self):
        for text in (f"| {LONG} |\n", f"```\n{LONG}\n```\n", f"para\n\n    {LONG}\n", f"# {LONG}\n", f"<!-- {LONG}\n{LONG} -->\n"):
            self.assertEqual(faults(text), [], text)

    def test_a_line_that_is_one_link_or_one_piece_of_code_is_allowed(self):
        self.assertEqual(faults(f"[{'long text ' * 12}](some/file.md)\n"), [])
        self.assertEqual(faults(f"`{'option ' * 25}`\n"), [])

    def test_characters_count_not_bytes(self):
        self.assertEqual(faults("µs " * 40 + "\n"), [])


class Fix(unittest.TestCase):
    def test_a_list_item_keeps_its_indentation(self):
        lines = check_docs.fixed(f"- {LONG}\n- short\n").splitlines()
        self.assertTrue(lines[0].startswith("- word") and lines[1].startswith("  word"))
        self.assertEqual(lines[-1], "- short")

    def test_no_line_begins_with_what_would_open_a_block(self):
        text = "x" * 117 + " - then a dash that must not become an item of a list\n"
        self.assertFalse(any(line.startswith("- ") for line in check_docs.fixed(text).splitlines()))

    def test_code_and_links_are_not_broken(self):
        text = LONG[:100] + " `a piece of code with many words` and [a link with words](file.md) behind it\n"
        self.assertIn("`a piece of code with many words`", check_docs.fixed(text))
        self.assertEqual(faults(check_docs.fixed(text)), [])

    def test_short_paragraphs_stay_as_they_are(self):
        text = "one\ntwo\n\n" + LONG + "\n"
        self.assertTrue(check_docs.fixed(text).startswith("one\ntwo\n\n"))

    def test_words_are_kept_in_order(self):
        words = [f"w{number}" for number in range(100)]
        self.assertEqual(check_docs.fixed(" ".join(words) + "\n").split(), words)


if __name__ == "__main__":
    unittest.main()
