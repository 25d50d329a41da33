"""Global arrays in files that NumPy and others read and write."""

import os
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
import trireme


@pytest.fixture
def folder():
    """One for all PEs."""
    path = Path(trireme.broadcast(tempfile.mkdtemp() if trireme.pe() == 0 else None))
    yield path
    trireme.barrier()
    if trireme.pe() == 0:
        shutil.rmtree(path)


def filled(shape, kind, tiles):
    a = trireme.global_array(shape, kind, tiles=tiles)
    model = (np.arange(a.size).reshape(shape) % 100 * (1 - 2j if np.dtype(kind).kind == "c" else 1)).astype(kind)
    for tile in a.own_tiles():
        tile.array[...] = model[tile.region]
    return a, model


@pytest.mark.parametrize("kind", ["?", "i1", "i8", "u2", "u4", "f4", "f8", "c8", "c16"])
def test_numpy_reads_what_was_dumped(folder, kind):
    a, model = filled((7, 10), kind, (3, 4))
    trireme.dump(a, folder / "a.npy")
    there = np.load(folder / "a.npy")
    assert there.dtype == a.dtype
    np.testing.assert_array_equal(there, model)
    b = trireme.load(folder / "a.npy", tiles=(2, 5), halo=1)
    assert b.dtype == a.dtype and b.shape == a.shape and b.tile_shape == (2, 5) and b.halo == (1, 1)
    np.testing.assert_array_equal(b[...], model)
    trireme.barrier()
    for array in (a, b):
        array.free()


@pytest.mark.parametrize("shape, tiles", [((30,), (7,)), ((3, 4, 5), (2, 2, 2)), ((0, 4), None), ((2,) * 6, None)])
def test_shapes(folder, shape, tiles):
    a, model = filled(shape, "f8", tiles)
    trireme.dump(a, folder / "a.npy", bytes_at_once=64)
    b = trireme.load(folder / "a.npy")
    assert b.shape == shape
    np.testing.assert_array_equal(b[...], model)
    trireme.barrier()
    for array in (a, b):
        array.free()


def test_numpys_files_are_loaded(folder):
    model = np.arange(77.0).reshape(7, 11)
    if trireme.pe() == 0:
        np.save(folder / "rows.npy", model)
        np.save(folder / "columns.npy", np.asfortranarray(model))
        np.savetxt(folder / "plain.txt", model)
    trireme.barrier()
    for name in ("rows.npy", "columns.npy"):
        a = trireme.load(str(folder / name), grid=(trireme.pe_count(), 1))
        assert a.grid == (trireme.pe_count(), 1)
        np.testing.assert_array_equal(a[...], model)
        trireme.barrier()
        a.free()
    a = trireme.global_array((7, 11), tiles=(2, 2))
    with pytest.raises(OSError, match="does not say what its extents are"):
        trireme.load(folder / "plain.txt")
    assert trireme.load(os.fsencode(folder / "plain.txt"), out=a) is a
    np.testing.assert_array_equal(a[...], model)
    trireme.barrier()
    a.free()


def test_text(folder):
    a, model = filled((5, 6), "i4", (2, 4))
    trireme.dump(a, folder / "a.txt")
    np.testing.assert_array_equal(np.loadtxt(folder / "a.txt", dtype="i4"), model)
    trireme.dump(a, folder / "a.data", format="txt")
    assert (folder / "a.data").read_bytes() == (folder / "a.txt").read_bytes()
    b = trireme.load(folder / "a.txt")
    assert b.dtype == a.dtype
    np.testing.assert_array_equal(b[...], model)
    trireme.barrier()
    for array in (a, b):
        array.free()


def test_hdf5(folder):
    a, model = filled((5, 6), "f4", (2, 4))
    try:
        trireme.dump(a, folder / "a.h5", data_set="group/heat")
    except OSError as error:
        if "HDF5" not in str(error):
            raise
        pytest.skip(f"without HDF5: {error}")
    b = trireme.load(folder / "a.h5", data_set="group/heat")
    assert b.dtype == a.dtype
    np.testing.assert_array_equal(b[...], model)
    with pytest.raises(OSError, match="no data set 'array'"):
        trireme.load(folder / "a.h5")
    trireme.barrier()
    for array in (a, b):
        array.free()


def test_what_others_have_written_is_in_the_file(folder):
    a = trireme.global_array(10 * trireme.pe_count(), "i8", tiles=10)
    neighbour = (trireme.pe() + 1) % trireme.pe_count()
    a[10 * neighbour + 3] = 5  # without a fence
    trireme.dump(a, folder / "a.npy")
    assert (np.load(folder / "a.npy") == 5).sum() == trireme.pe_count()
    trireme.barrier()
    a.free()


def test_faults_are_errors_on_all_pes(folder):
    a, model = filled((4, 4), "f8", (2, 2))
    trireme.dump(a, folder / "a.npy")
    if trireme.pe() == 0:
        np.save(folder / "text.npy", np.array(["a", "b"]))
        np.save(folder / "scalar.npy", np.float64(1))
        np.save(folder / "half.npy", np.zeros(3, "f2"))
        (folder / "short.npy").write_bytes((folder / "a.npy").read_bytes()[:-8])
    trireme.barrier()
    other = trireme.global_array((4, 4), "f4")
    wrong = trireme.global_array((4, 5), "f8")
    for call, text in [(lambda: trireme.load(folder / "no.npy"), "no.npy: cannot be read: No such file"),
                       (lambda: trireme.load(folder / "a.npy", out=other), "elements are float64.* are float32"),
                       (lambda: trireme.load(folder / "a.npy", out=wrong), r"\(4, 4\); this one has \(4, 5\)"),
                       (lambda: trireme.load(folder / "short.npy"), "120 bytes behind its header; 16 elements"),
                       (lambda: trireme.load(folder / "text.npy"), "text.npy"),
                       (lambda: trireme.load(folder / "scalar.npy"), "0 dimensions; global arrays have 1 to 6"),
                       (lambda: trireme.dump(a, folder / "no" / "a.npy"), "cannot be written"),
                       (lambda: trireme.dump(a, folder / "a.dat"), "says no format"),
                       (lambda: trireme.dump(a, folder / "b.npy", bytes_at_once=0), "must be at least 1")]:
        with pytest.raises(OSError, match=text):
            call()
    with pytest.raises((OSError, ValueError), match="half.npy|'f2' was asked for"):
        trireme.load(folder / "half.npy")
    with pytest.raises(ValueError, match="'png' was asked for"):
        trireme.dump(a, folder / "a.npy", format="png")
    with pytest.raises(ValueError, match="dealt already"):
        trireme.load(folder / "a.npy", out=wrong, tiles=(2, 2))
    with pytest.raises(ValueError, match="tiles has 1 numbers"):
        trireme.load(folder / "a.npy", tiles=(2,))
    for call in (lambda: trireme.dump(model, folder / "b.npy"), lambda: trireme.load(folder / "a.npy", out=model)):
        with pytest.raises(TypeError, match="for global arrays; numpy"):
            call()
    assert not (folder / "b.npy").exists()
    trireme.barrier()
    for array in (a, other, wrong):
        array.free()
    with pytest.raises(RuntimeError, match="was freed"):
        trireme.dump(a, folder / "b.npy")
