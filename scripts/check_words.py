#!/usr/bin/env python3
"""Finds home-made words: those of scripts/words.txt, in code, tests and documents, with what the field says instead.

usage: check_words.py [FOLDER]      the repository, by default the one of this script

A word counts as a whole word or as a part of an identifier between underscores, in any case. Not read: CHANGELOG.md and
the decisions, which tell of the past, and the list itself. A line that ends in `words: ok` is left alone.
"""
import os
import re
import subprocess
import sys

FOLDERS = ("src/", "include/", "tests/", "tools/", "bench/", "apps/", "examples/", "docs/", "scripts/", "cmake/",
           "packaging/", "README.md", "CONTRIBUTING.md", "Makefile")
NOT_READ = ("docs/dev/decisions/", "scripts/words.txt", "tests/scripts/check_words_test.py")


def read_words(path):
    words = {}
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            line = line.rstrip("\n")
            if not line or line.startswith("#"):
                continue
            word, tab, instead = line.partition("\t")
            if not tab or not word or not instead:
                raise SystemExit(f"{path}:{number}: a line is a word, a tab, and what to write instead")
            words[word] = instead
    return words


def findings(root, files, words):
    pattern = re.compile(r"(?<![A-Za-z0-9])(" + "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True)) +
                         r")(?![A-Za-z0-9])", re.IGNORECASE)
    for name in files:
        if not name.startswith(FOLDERS) or name.startswith(NOT_READ):
            continue
        for match in pattern.finditer(os.path.splitext(os.path.basename(name))[0]):
            yield f"{name}: the name has '{match[1]}'; write {words[match[1].lower()]}"
        try:
            with open(os.path.join(root, name), encoding="utf-8") as text:
                lines = text.read().split("\n")
        except (UnicodeDecodeError, IsADirectoryError, FileNotFoundError):
            continue
        for number, line in enumerate(lines, 1):
            if line.rstrip().endswith("words: ok"):
                continue
            for match in pattern.finditer(line):
                yield f"{name}:{number}: '{match[1]}'; write {words[match[1].lower()]}"


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    root = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else os.path.dirname(here)
    words = read_words(os.path.join(root, "scripts", "words.txt"))
    listed = subprocess.run(["git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard"],
                            check=True, capture_output=True, text=True)
    files = listed.stdout.splitlines()
    found = list(findings(root, files, words))
    for line in found:
        print(line)
    if found:
        raise SystemExit(f"{len(found)} home-made words (scripts/words.txt)")
    print(f"{len(files)} files, none of {len(words)} home-made words")


if __name__ == "__main__":
    main()
