#!/usr/bin/env python3
"""Checks that code in the documents is the text of the program that it says it is, which the tests build and run.

Such code stands between the lines `<!-- example: begin (the text of FILE, ...) -->` and `<!-- example: end -->`.
"""
import difflib
import pathlib
import re
import subprocess
import sys

EXAMPLE = re.compile(r"<!-- example: begin \(the text of (\S+?),?[ )].*?-->\n+```\w*\n(.*?)```\n+<!-- example: end -->", re.S)
MARK = "<!-- example: begin"


def faults_of(root, document):
    text = document.read_text(encoding="utf-8")
    examples = EXAMPLE.findall(text)
    if len(examples) != text.count(MARK):
        yield f"{document.relative_to(root)}: an example has no end, names no file, or is no code block"
    for name, shown in examples:
        if not (root / name).exists():
            yield f"{document.relative_to(root)}: no such file: {name}"
            continue
        real = (root / name).read_text(encoding="utf-8")
        yield from difflib.unified_diff(shown.splitlines(), real.splitlines(), str(document.relative_to(root)), name,
                                        n=0, lineterm="")


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    listed = subprocess.run(["git", "ls-files", "-z", "*.md"], cwd=root, check=True, capture_output=True, text=True)
    documents = [root / name for name in listed.stdout.split("\0") if name and (root / name).exists()]
    marked = [document for document in documents if MARK in document.read_text(encoding="utf-8")]
    faults = [fault for document in marked for fault in faults_of(root, document)]
    print("\n".join(faults) if faults else f"{len(marked)} documents with examples, all as the programs are")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
