#!/usr/bin/env python3
"""Copies what the site of `make docs` shows into one folder: every tracked Markdown file at its place in the tree, and
the files of the repository to which they link.

usage: scripts/stage_docs.py FOLDER

The copies are changed where GitHub's Markdown and the site's differ: a list or table needs a blank line before it,
nested lists four blanks, and a bar in code in a table no backslash.
"""
import pathlib
import re
import shutil
import subprocess
import sys

LINK = re.compile(r"!?\[[^\]]*\]\(<?([^)\s>#]+)[^)]*\)")
FENCE = re.compile(r"^\s*(```|~~~)")
ITEM = re.compile(r"^(\s*)(?:[-*+]|\d+[.)])\s+")


def for_the_site(text):
    out = []
    in_code = False
    before = ""  # the kind of the line before: "", "text", "item", "table"
    for line in text.splitlines():
        if FENCE.match(line):
            in_code = not in_code
        if in_code or FENCE.match(line):
            out.append(line)
            before = "text"
            continue
        item = ITEM.match(line)
        if item and len(item[1]) < 4 and before in ("text", "table") and not line.startswith("    "):
            out.append("")
        if line.startswith("|"):
            if before in ("text", "item"):
                out.append("")
            line = re.sub(r"`[^`]*`", lambda code: code[0].replace("\\|", "|"), line)
        if item and item[1] and before in ("item", "nested"):
            line = "    " + line.lstrip()
        out.append(line)
        if not line.strip():
            before = "" if before != "item" else "item"
        elif item:
            before = "item"
        elif before == "item" and line.startswith(" "):
            before = "item"
        else:
            before = "table" if line.startswith("|") else "text"
    return "\n".join(out) + "\n"


def linked_files(root, document):
    """Files of the repository, other than Markdown, to which the document links."""
    for target in LINK.findall(document.read_text(encoding="utf-8")):
        file = (document.parent / target).resolve()
        if ":" not in target and file.is_file() and file.suffix != ".md" and file.is_relative_to(root):
            yield file


def main():
    if len(sys.argv) != 2:
        print("usage: scripts/stage_docs.py FOLDER", file=sys.stderr)
        return 2
    root = pathlib.Path(__file__).resolve().parent.parent
    folder = pathlib.Path(sys.argv[1]).resolve()
    listed = subprocess.run(["git", "ls-files", "-z", "-co", "--exclude-standard", "*.md"], cwd=root, check=True,
                            capture_output=True, text=True)
    documents = [root / name for name in listed.stdout.split("\0") if name and (root / name).exists()]
    shutil.rmtree(folder, ignore_errors=True)
    for document in documents:
        copy = folder / document.relative_to(root)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(for_the_site(document.read_text(encoding="utf-8")), encoding="utf-8")
        for file in linked_files(root, document):
            place = folder / file.relative_to(root)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, place)
    print(f"{len(documents)} documents staged")
    return 0


if __name__ == "__main__":
    sys.exit(main())
