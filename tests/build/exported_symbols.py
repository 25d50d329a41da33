#!/usr/bin/env python3
"""The shared library exports what include/ declares: every exported name is ours, none belongs to a class or a namespace
that only src/ knows, and the functions of the public classes are there.

    exported_symbols.py NM LIBRARY
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CLASS = re.compile(r"^\s*(?:class|struct)\s+(?:\[\[\w+\]\]\s*)?(?:alignas\(\d+\)\s*)?(\w+)[^;]*\{", re.MULTILINE)
TABLE = re.compile(r"^(vtable|typeinfo|typeinfo name|VTT) for ")
WANTED = ["tri::objects::run_program(", "tri::quiescence(", "tri::sched::pe::", "tri::loops::", "tri::schedules::", "tri::objects::", "tri_forall_start"]


def classes_below(folder):
    found = set()
    for path in (ROOT / folder).rglob("*.hpp"):
        found |= set(CLASS.findall(path.read_text()))
    return found


def scope_of(name):
    """The qualified name without arguments: of "vtable for a::b" a::b, of "a::f(b::c)" a::f."""
    name = re.sub(r"^(vtable|typeinfo|typeinfo name|VTT|guard variable|TLS (init|wrapper) function) for ", "", name)
    name = re.sub(r"^(non-)?virtual thunk to ", "", name)
    while (shorter := re.sub(r"<[^<>]*>", "", name)) != name:
        name = shorter
    name = name.split("(")[0]
    return name.split(" ")[-1].split("::")


def main():
    nm, library = sys.argv[1:]
    listed = subprocess.run([nm, "--dynamic", "--defined-only", "--demangle", "--format=posix", library], check=True,
                            capture_output=True, text=True).stdout
    names = [re.sub(r" [A-Za-z] [0-9a-f]+( [0-9a-f]+)?$", "", line).strip() for line in listed.splitlines()]
    private = classes_below("src") - classes_below("include")
    faults = []
    for name in names:
        scope = scope_of(name)
        if scope[0] != "tri" and not scope[0].startswith("tri_"):
            faults.append(f"{name} is exported and not ours")
        # the last part of a table's name is a class, of other names mostly a function
        for part in scope[1:] if TABLE.match(name) else scope[1:-1]:
            if part in private:
                faults.append(f"{name} is exported, but only src/ declares {part}")
    faults += [f"nothing that begins with {wanted} is exported" for wanted in WANTED
               if not any(name.startswith(wanted) for name in names)]
    for fault in faults:
        print(fault)
    print(f"{len(names)} exported names, {len(private)} private classes")
    return 1 if faults or len(private) < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
