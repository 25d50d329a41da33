"""Tiles as NumPy views, how arrays are dealt, and how they end."""

import math

import numpy as np
import pytest
import trireme


def test_own_tiles_are_views():
    a = trireme.global_array((7, 10), "f8", tiles=(3, 4))
    for tile in a.own_tiles():
        assert tile.pe == trireme.pe() and tile.array.shape == tile.shape and tile.array.dtype == a.dtype
        assert tile.array.flags.writeable and not tile.array.flags.owndata
        tile.array[...] = np.add.outer(np.arange(tile.first[0], tile.last[0]) * 100,
                                       np.arange(tile.first[1], tile.last[1]))
    trireme.barrier()
    np.testing.assert_array_equal(a[...], np.add.outer(np.arange(7) * 100, np.arange(10)))
    trireme.barrier()
    for i, j in np.ndindex(7, 10):
        if a.owner((i, j)) == trireme.pe():
            a[i, j] = -1
    for tile in a.own_tiles():
        assert (tile.array == -1).all()  # the same memory
        np.testing.assert_array_equal(a[tile.region], np.asarray(tile))
    covered = trireme.allreduce(sum(tile.array.size for tile in a.own_tiles()))
    assert covered == a.size
    a.free()


def test_tiles_of_this_host_are_shared():
    a = trireme.global_array((8, 6), "i4", tiles=(2, 6))
    a.fill(trireme.pe())
    trireme.barrier()
    for pe in range(trireme.pe_count()):
        if pe in trireme.pes_of_host():
            assert all((tile.array == pe).all() and tile.pe == pe for tile in a.tiles_of(pe))
        else:
            with pytest.raises(RuntimeError, match=f"tiles of PE {pe} are not accessible here"):
                a.tiles_of(pe)
    trireme.barrier()
    if trireme.pe() == trireme.pes_of_host()[0]:
        for pe in trireme.pes_of_host():
            for tile in a.tiles_of(pe):
                tile.array[0, 0] = 100 + pe
    trireme.barrier()
    for tile in a.own_tiles():
        assert tile.array[0, 0] == 100 + trireme.pe() and tile.array[0, 1] == trireme.pe()
    with pytest.raises(IndexError, match="no PE"):
        a.tiles_of(-1)
    trireme.barrier()
    a.free()


@pytest.mark.parametrize("kind", ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "c8", "c16"])
def test_views_have_the_type(kind):
    a = trireme.global_array((2, trireme.pe_count()), kind, tiles=(2, 1))
    (tile,) = a.own_tiles()
    assert tile.array.dtype == np.dtype(kind) and tile.array.shape == (2, 1)
    tile.array[1, 0] = 1
    assert a[1, trireme.pe()] == 1
    a.free()


def test_partial_tiles_have_strides():
    a = trireme.global_array((5, 5), "i2", tiles=(5, 8) if trireme.pe_count() == 1 else (5, 3))
    b = trireme.global_array((2, 3, 4), "u1", tiles=(2, 2, 3))
    trireme.barrier()
    seen = set()
    for array in (a, b):
        # Elements of a whole tile behind one another, whichever part of it the array has.
        steps = [math.prod(array.tile_shape[axis + 1:]) for axis in range(array.ndim)]
        for pe in trireme.pes_of_host():
            for tile in array.tiles_of(pe):
                assert tile.array.strides == tuple(step * array.dtype.itemsize for step in steps)
                has_no_gaps = all(extent == 1 or math.prod(tile.shape[axis + 1:]) == steps[axis]
                                  for axis, extent in enumerate(tile.shape))
                assert tile.array.flags.c_contiguous == has_no_gaps
                seen.add(has_no_gaps)
                view = memoryview(tile._memory)
                assert view.shape == tile.shape and view.strides == tile.array.strides and not view.readonly
                assert view.nbytes == tile.array.nbytes
    assert set().union(*trireme.allgather(seen)) == {False, True}
    del view
    a.free()
    b.free()


def test_an_array_that_is_shown_is_not_freed():
    a = trireme.global_array((4, trireme.pe_count()), "i8", tiles=(4, 1))
    (tile,) = a.own_tiles()
    view = tile.array
    part = view[1:, 0]
    with pytest.raises(BufferError, match="NumPy views of its tiles are in use"):
        a.free()
    part[0] = 5
    assert a[1, trireme.pe()] == 5  # nothing has happened
    del view
    with pytest.raises(BufferError):
        a.free()
    del part
    a.free()
    for use in (lambda: tile.array, lambda: np.asarray(tile)):
        with pytest.raises(BufferError, match="was freed"):
            use()
    for use in (lambda: a[0, 0], lambda: a[...], lambda: a.own_tiles(), lambda: a.free(), lambda: a.fill(1),
                lambda: a.accumulate((0, 0), 1)):
        with pytest.raises(RuntimeError, match="was freed"):
            use()
    assert "freed" in repr(a)


def test_views_in_cycles_do_not_keep_it():
    a = trireme.global_array(trireme.pe_count(), "i8", tiles=1)
    cycle = [a.own_tiles()[0].array]
    cycle.append(cycle)
    del cycle
    a.free()


def test_layouts():
    pes = trireme.pe_count()
    blocks = trireme.global_array((6, 9), "i4")
    assert sum(len(tiles) for tiles in trireme.allgather([tile.first for tile in blocks.own_tiles()])) <= pes
    on_grid = trireme.global_array((6, 9), "i4", tiles=(2, 3), grid=(1, pes))
    assert on_grid.grid == (1, pes)
    assert [on_grid.owner((0, 3 * j)) for j in range(3)] == [j % pes for j in range(3)]
    assert on_grid.owner((5, 0)) == 0
    in_levels = trireme.global_array((8, 8), "i4", tiles=(2, 2), host_tiles=(4, 4))
    hosts = trireme.host_count()
    for number, (i, j) in enumerate([(0, 0), (0, 4), (4, 0), (4, 4)]):
        assert trireme.host_of(in_levels.owner((i, j))) == number % hosts
    for array in (blocks, on_grid, in_levels):
        array.free()


@pytest.mark.parametrize("kind", ["f8", "?", "c16"])
def test_redistribution(kind, random):
    a = trireme.global_array((11, 13), kind, tiles=(2, 3))
    model = random.integers(0, 2, (11, 13)).astype(kind)
    if trireme.pe() == 0:
        a[...] = model
    b = a.redistribute(tiles=(4, 5), grid=(trireme.pe_count(), 1))
    assert b.tile_shape == (4, 5) and b.grid == (trireme.pe_count(), 1) and b.dtype == a.dtype
    np.testing.assert_array_equal(b[...], model)
    trireme.barrier()
    a.free()
    np.testing.assert_array_equal(b[...], model)
    trireme.barrier()
    b.free()


def test_bad_arguments():
    for arguments, text in [(dict(shape=(2, 3, 4, 5, 6, 7, 8)), "1 to 6 dimensions; 7 were asked for"),
                            (dict(shape=()), "1 to 6 dimensions; 0"),
                            (dict(shape=(-1, 3)), "-1"),
                            (dict(shape=(4, 4), tiles=(2,)), "tiles has 1 numbers; the array has 2 dimensions"),
                            (dict(shape=(4, 4), tiles=(0, 2)), "0"),
                            (dict(shape=(4, 4), grid=(1000, 1)), "1000"),
                            (dict(shape=4, dtype="U5"), "'U5' was asked for"),
                            (dict(shape=4, dtype="f2"), "'f2' was asked for"),
                            (dict(shape=4, dtype=object), "was asked for"),
                            (dict(shape=4, dtype=">i4"), "byte order"),
                            (dict(shape=4, dtype=[("x", "i4")]), "plain elements")]:
        with pytest.raises(ValueError, match=text):
            trireme.global_array(**arguments)
    with pytest.raises(TypeError):
        trireme.global_array(2.5)
    a = trireme.global_array(4, "i4")  # PEs still agree on names
    trireme.barrier()
    assert a[0] == 0
    trireme.barrier()
    a.free()


def test_more_than_the_memory():
    with pytest.raises((MemoryError, ValueError)):
        trireme.global_array((2**20, 2**20, trireme.pe_count()), "c16")


def test_an_array_is_no_view():
    a = trireme.global_array((2, 2), "i4")
    with pytest.raises(ValueError, match="tiles only"):
        a.__array__(copy=False)
    assert np.asarray(a, dtype="f8").dtype == np.float64
    trireme.barrier()
    a.free()
