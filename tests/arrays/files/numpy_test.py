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

# HDF5, where the build has it and Python, too: as our data sets are, and as others make them.
if (folder / "a.h5").exists():
    try:
        import h5py
    except ImportError:
        print("ok, without h5py")
        sys.exit(0)
    for name, expected in ("a", a), ("b", b), ("c", c):
        with h5py.File(folder / f"{name}.h5") as file:
            found = file["array"]
            assert found.dtype == expected.dtype and found.shape == expected.shape, (name, found.dtype, found.shape)
            assert (found[...] == expected).all(), name
    for options in {}, {"chunks": True}, {"chunks": True, "compression": "gzip", "shuffle": True}:
        for order in "<", ">":
            for name, values in ("a", a), ("b", b), ("c", c):
                with h5py.File(folder / f"{name}.h5", "w") as file:
                    file.create_dataset("array", data=values.astype(values.dtype.newbyteorder(order)), **options)
            run("load_all", "-n", "2", "--pes", "2")
print("ok")
