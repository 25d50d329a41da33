#!/usr/bin/env python3
"""Checks the lines of every tracked Markdown file: at most 120 characters, outside tables, code, headings and comments.
A paragraph or list item has at most five lines.

A line that cannot be broken, because its long part is a link or inline code, is allowed. `--fix` wraps the paragraphs
that have longer lines and leaves all others as they are. Dead links are the matter of check_links.py.
"""
import pathlib
import re
import subprocess
import sys

LIMIT = 120
PARAGRAPH = 5
FENCE = re.compile(r"^\s*(```|~~~)")
MARKER = re.compile(r"^(\s*)((?:[-*+]|\d+[.)])\s+)")
ATOM = re.compile(r"(?:`+[^`]+`+|!?\[[^\]]*\]\([^)\s]*\)|\S)+")
OPENS_A_BLOCK = re.compile(r"^(?:[-*+]|\d+[.)]|#+|>.*|\|.*|```.*|~~~.*)$")


def apart(line):
    """Lines that belong to no paragraph: tables, headings, comments, raw HTML."""
    text = line.lstrip()
    return not text or text.startswith(("|", "#", "<!--", "<")) or re.match(r"^\[[^\]]+\]:", text) is not None


def paragraphs(lines):
    """Pairs (first, behind the last) of the lines of each paragraph or list item."""
    begin = None
    in_code = in_comment = False
    after_blank, in_list = True, False
    for number, line in enumerate(lines):
        fence = FENCE.match(line) is not None
        comment = in_comment or line.lstrip().startswith("<!--")
        in_comment = comment and "-->" not in line
        indented_code = after_blank and not in_list and line.startswith("    ")
        if in_code or fence or comment or indented_code or apart(line):
            if begin is not None:
                yield begin, number
                begin = None
            in_code = in_code != fence
            after_blank = not line.strip() or (indented_code and not in_code)
            if line.strip() and not line.startswith((" ", "\t")):
                in_list = False
            continue
        item = MARKER.match(line) is not None
        if item and begin is not None:
            yield begin, number
            begin = None
        if item:
            in_list = True
        elif after_blank and not line.startswith(" "):
            in_list = False
        if begin is None:
            begin = number
        after_blank = False
    if begin is not None:
        yield begin, len(lines)


def wrapped(block):
    found = MARKER.match(block[0])
    lead = found.group(0) if found else re.match(r"^\s*", block[0]).group(0)
    indent = " " * len(lead)
    atoms = ATOM.findall(" ".join(line.strip() for line in [block[0][len(lead):], *block[1:]]))
    out, current = [], ""
    for atom in atoms:
        if current and len(current) + 1 + len(atom) + len(indent) > LIMIT and not OPENS_A_BLOCK.match(atom):
            out.append(current)
            current = atom
        else:
            current = f"{current} {atom}" if current else atom
    out.append(current)
    return [(indent if number else lead) + text for number, text in enumerate(out)]


def too_long(block):
    """The paragraph has a long line, and wrapping makes it shorter."""
    longest = max(map(len, block))
    return longest > LIMIT and max(map(len, wrapped(block))) < longest


def long_lines_of(text):
    """Pairs of the number of a line that is too long, and its length."""
    lines = text.splitlines()
    for begin, end in paragraphs(lines):
        if too_long(lines[begin:end]):
            for number in range(begin, end):
                if len(lines[number]) > LIMIT:
                    yield number + 1, len(lines[number])


def long_paragraphs_of(text):
    """Pairs of the number of the first line of a paragraph that is too long, and its lines."""
    for begin, end in paragraphs(text.splitlines()):
        if end - begin > PARAGRAPH:
            yield begin + 1, end - begin


def faults_of(name, text):
    for number, length in long_lines_of(text):
        yield f"{name}:{number}: {length} characters; at most {LIMIT} (scripts/check_docs.py --fix wraps)"
    for number, length in long_paragraphs_of(text):
        yield f"{name}:{number}: a paragraph of {length} lines; at most {PARAGRAPH}: split it, or make it a list"


def fixed(text):
    lines = text.splitlines()
    for begin, end in reversed(list(paragraphs(lines))):
        if too_long(lines[begin:end]):
            lines[begin:end] = wrapped(lines[begin:end])
    return "\n".join(lines) + "\n"


def main():
    fix = sys.argv[1:] == ["--fix"]
    if sys.argv[1:] and not fix:
        print("usage: scripts/check_docs.py [--fix]", file=sys.stderr)
        return 2
    root = pathlib.Path(__file__).resolve().parent.parent
    listed = subprocess.run(["git", "ls-files", "-z", "*.md"], cwd=root, check=True, capture_output=True, text=True)
    documents = [root / name for name in listed.stdout.split("\0") if name and (root / name).exists()]
    if fix:
        for document in documents:
            text = document.read_text(encoding="utf-8")
            if any(long_lines_of(text)):
                document.write_text(fixed(text), encoding="utf-8")
    faults = [fault for document in documents
              for fault in faults_of(document.relative_to(root), document.read_text(encoding="utf-8"))]
    print("\n".join(faults) if faults else f"{len(documents)} documents, no line or paragraph that is too long")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
