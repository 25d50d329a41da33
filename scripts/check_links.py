#!/usr/bin/env python3
"""Checks every relative link of every tracked Markdown file: the file must exist, and so must the heading after '#'.

Links to the web are not visited. Links inside code blocks and inline code are not links.
"""
import pathlib
import re
import subprocess
import sys

LINK = re.compile(r"!?\[[^\]]*\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)")
FENCE = re.compile(r"^\s*(```|~~~)")


def prose_lines(path):
    in_code = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if FENCE.match(line):
            in_code = not in_code
        elif not in_code:
            yield number, line


def anchor_of(heading):
    """The anchor that the usual Markdown viewers give a heading."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchors(path):
    return {anchor_of(line.lstrip("#")) for _, line in prose_lines(path) if line.startswith("#")}


def broken_links(root, document):
    for number, line in prose_lines(document):
        for target in LINK.findall(re.sub(r"`[^`]*`", "", line)):
            if re.match(r"[a-z][a-z+.-]*:", target):
                continue
            name, _, anchor = target.partition("#")
            file = (root / name.lstrip("/")) if name.startswith("/") else (document.parent / name)
            file = file if name else document
            if not file.exists():
                yield f"{document.relative_to(root)}:{number}: no such file: {target}"
            elif anchor and file.suffix == ".md" and anchor not in anchors(file):
                yield f"{document.relative_to(root)}:{number}: no such heading: {target}"


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    listed = subprocess.run(["git", "ls-files", "-z", "*.md"], cwd=root, check=True, capture_output=True, text=True)
    documents = [root / name for name in listed.stdout.split("\0") if name]
    faults = [fault for document in documents if document.exists() for fault in broken_links(root, document)]
    print("\n".join(faults) if faults else f"{len(documents)} documents, no broken link")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
