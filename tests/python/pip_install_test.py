"""`pip install .` into a fresh virtual environment, and a program with what it has installed. Skipped where PyPI cannot
be reached. usage: pip_install_test.py SOURCES FOLDER

The needs of the build, those that pyproject.toml names, are in that environment instead of one that pip makes for each
build: so what was compiled before is found in the compiler's cache.
"""

import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

PROGRAM = """
import numpy, trireme
a = trireme.global_array((6, 6), "i8", tiles=(2, 2))
if trireme.pe() == 0:
    a[...] = numpy.arange(36).reshape(6, 6)
trireme.barrier()
total = trireme.allreduce(sum(int(tile.array.sum()) for tile in a.own_tiles()))
if trireme.pe() == 0:
    print(trireme.__file__, total)
"""


def run(*command, **options):
    return subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          stdin=subprocess.DEVNULL, **options)


def main(sources, folder):
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, with_pip=True)
    pip = [folder / "bin" / "python", "-m", "pip", "--disable-pip-version-check"]
    project = (sources / "pyproject.toml").read_text(encoding="utf-8")
    named = re.findall(r'"([^"]+)"', re.search(r"^requires = \[(.*?)\]", project, re.M | re.S).group(1))
    needs = run(*pip, "install", *named, "numpy")
    if needs.returncode != 0:
        print(f"SKIPPED, for now: PyPI cannot be reached: {needs.stdout.splitlines()[-1]}")
        return 0
    installed = run(*pip, "install", "--no-build-isolation", "--check-build-dependencies", sources)
    if installed.returncode != 0:
        print(installed.stdout, "`pip install .` failed", sep="\n")
        return 1
    program = folder / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    for options in ([], ["--tri-hosts=3"]):
        done = run(folder / "bin" / "trireme", "run", "-n", "3", *options, folder / "bin" / "python", program,
                   cwd=folder, env=environment)
        place, total = done.stdout.split() if len(done.stdout.split()) == 2 else (done.stdout, "")
        if done.returncode != 0 or total != "630" or not Path(place).is_relative_to(folder):
            print(f"the program with the options {options} ended with {done.returncode}:\n{done.stdout}")
            return 1
    print("installed by pip, and it works")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
