#!/usr/bin/env python3
"""Nothing private is installed: every header below include/ is one that programs name (include/trireme/*), or one that
those include; and they include no header from elsewhere in this tree.

    installed_headers.py COMPILER
"""
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
INCLUDE = ROOT / "include"


def main():
    compiler = sys.argv[1]
    installed = {path.relative_to(INCLUDE) for path in INCLUDE.rglob("*") if path.suffix in (".hpp", ".h")}
    named = [path for path in installed if path.parent == pathlib.Path("trireme")]
    text = "".join(f"#include <{path}>\n" for path in sorted(named))
    listed = subprocess.run([compiler, "-std=c++20", f"-I{INCLUDE}", "-M", "-x", "c++", "-"], input=text, check=True,
                            capture_output=True, text=True).stdout
    paths = [pathlib.Path(word).resolve() for word in listed.replace("\\\n", " ").split() if word.startswith(str(ROOT))]
    reached = {path.relative_to(INCLUDE) for path in paths if path.is_relative_to(INCLUDE)}
    faults = [f"{path} is installed, and no public header includes it" for path in sorted(installed - reached)]
    faults += [f"a public header includes {path}, which is not installed" for path in paths
               if not path.is_relative_to(INCLUDE)]
    for fault in faults:
        print(fault)
    print(f"{len(named)} public headers, {len(reached) - len(named)} below trireme/detail")
    return 1 if faults or len(reached) <= len(named) else 0


if __name__ == "__main__":
    sys.exit(main())
