#!/usr/bin/env python3
"""Reads with NumPy what tri::dump has written, and lets tri::load read what NumPy has written.

usage: numpy_test.py FOLDER TRIREME PROGRAM. Exits with 77 where there is no NumPy.
"""
import pathlib
import shutil
import subprocess
import sys

try:
    import numpy
except ImportError:
    print("skipped: there is no NumPy")
    sys.exit(77)

folder = pathlib.Path(sys.argv[1])
shutil.rmtree(folder, ignore_errors=True)
folder.mkdir(parents=True)


def run(case, *options):
    subprocess.run([sys.argv[2], "run", *options, sys.argv[3], folder, case], check=True, timeout=120)


# As value_of() of the program has them.
number = numpy.arange(37 * 23).reshape(37, 23)
a = (number - 5) / 3
number = numpy.arange(5 * 6 * 7).reshape(5, 6, 7)
b = (number.astype("f4") / numpy.float32(7) - 1j * number.astype("f4")).astype("c8")
c = (numpy.arange(1001) * 37 - 20).astype("u2")

run("dump_all", "-n", "2", "--pes", "2")
for name, expected in ("a", a), ("b", b), ("c", c):
    found = numpy.load(folder / f"{name}.npy")
    assert found.dtype == expected.dtype and found.shape == expected.shape, (name, found.dtype, found.shape)
    assert (found == expected).all(), name
    text = numpy.loadtxt(folder / f"{name}.txt", dtype=expected.dtype)
    assert (text.reshape(expected.shape) == expected).all(), name

# Rows one behind the other, or columns.
for order in "C", "F":
    for name, values in ("a", a), ("b", b), ("c", c):
        numpy.save(folder / f"{name}.npy", numpy.asarray(values, order=order))
    run("load_all", "-n", "3")
print("ok")
