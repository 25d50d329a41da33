"""scripts/stage_docs.py: what changes on the way from GitHub's Markdown to the site's."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import stage_docs  # noqa: E402


class ForTheSite(unittest.TestCase):
    def check(self, before, after):
        self.assertEqual(stage_docs.for_the_site(before), after)

    def test_a_list_or_table_gets_a_blank_line_before_it(self):
        self.check("text:\n- a\n- b\n", "text:\n\n- a\n- b\n")
        self.check("text:\n| a |\n|---|\n", "text:\n\n| a |\n|---|\n")

    def test_items_stay_together(self):
        self.check("- a\n  more of a\n- b\n", "- a\n  more of a\n- b\n")

    def test_nested_items_get_four_blanks(self):
        self.check("1. a\n   - b\n   - c\n", "1. a\n    - b\n    - c\n")

    def test_a_bar_in_code_in_a_table_loses_its_backslash(self):
        self.check("| `a\\|b` | c \\| d |\n", "| `a|b` | c \\| d |\n")

    def test_code_is_left_alone(self):
        self.check("```\ntext\n- a\n| b |\n```\n", "```\ntext\n- a\n| b |\n```\n")
        self.check("text\n\n    - code\n", "text\n\n    - code\n")


if __name__ == "__main__":
    unittest.main()
