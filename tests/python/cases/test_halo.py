"""Ghost cells: what tiles show of their neighbours."""

import numpy as np
import pytest
import trireme

# extents, tiles, widths, which dimensions are rings
SHAPES = [((20,), (3,), (2,), (True,)),
          ((7, 10), (3, 4), (1, 1), (False, False)),
          ((7, 10), (3, 4), (2, 0), (True, False)),
          ((6, 5), None, (3, 5), (True, True)),
          ((4, 3, 5), (2, 2, 2), (1, 2, 1), (False, True, True))]


def expected(model, tile, widths, rings, missing):
    """The elements of a tile and around it; `missing` where there are none."""
    axes, present = [], np.ones((), bool)
    for first, last, width, extent, is_ring in zip(tile.first, tile.last, widths, model.shape, rings):
        axis = np.arange(first - width, last + width)
        present = present[..., None] & (is_ring | ((axis >= 0) & (axis < extent)))
        axes.append(axis % extent)
    return np.where(present, model[np.ix_(*axes)], missing)


def filled(shape, tiles, widths, rings, kind="f8"):
    a = trireme.global_array(shape, kind, tiles=tiles, halo=widths, periodic=rings)
    model = np.arange(a.size, dtype=kind).reshape(shape)
    for tile in a.own_tiles():
        tile.with_halo[...] = 99
        tile.array[...] = model[tile.region]
    return a, model


@pytest.mark.parametrize("shape, tiles, widths, rings", SHAPES)
def test_an_exchange_fills_all_of_them(shape, tiles, widths, rings):
    a, model = filled(shape, tiles, widths, rings)
    assert a.halo == widths and a.periodic == rings
    for _ in range(3):  # without barriers
        a.exchange_halo()
        for tile in a.own_tiles():
            np.testing.assert_array_equal(tile.with_halo, expected(model, tile, widths, rings, 99))
            tile.array[...] += 1
        model += 1
    trireme.barrier()
    np.testing.assert_array_equal(a[...], model)  # ghost cells are none of its elements
    trireme.barrier()
    a.free()


@pytest.mark.parametrize("shape, tiles, widths, rings", SHAPES)
def test_one_pe_gets_them(shape, tiles, widths, rings):
    a, model = filled(shape, tiles, widths, rings)
    trireme.barrier()
    if trireme.pe() == trireme.pe_count() - 1:
        a.get_halo()
        for tile in a.own_tiles():
            np.testing.assert_array_equal(tile.with_halo, expected(model, tile, widths, rings, 99))
    trireme.barrier()
    a.free()


def test_a_part_of_the_halo():
    a, model = filled((9, 8), (3, 4), (2, 1), (True, True), "i4")
    a.exchange_halo(1)
    for tile in a.own_tiles():
        np.testing.assert_array_equal(tile.with_halo[1:-1], expected(model, tile, (1, 1), (True, True), 99))
        assert (tile.with_halo[[0, -1]] == 99).all()
    for width in (3, -1):
        with pytest.raises(IndexError, match=rf"width {width} was asked for; it has one of \(2, 1\)"):
            a.exchange_halo(width)
    trireme.barrier()
    a.free()


def test_it_is_under_way_while_a_pe_computes():
    a, model = filled((12, 12), (3, 3), (1, 1), (False, False))
    transfer = a.exchange_halo_async()
    inner = [tile.array[1:-1, 1:-1].sum() for tile in a.own_tiles()]
    while not transfer.ready():
        pass
    assert transfer.wait() is None
    for tile, own in zip(a.own_tiles(), inner):
        np.testing.assert_array_equal(tile.with_halo, expected(model, tile, (1, 1), (False, False), 99))
        assert own == model[tile.region][1:-1, 1:-1].sum()
    trireme.barrier()
    a.free()


def test_views_of_tiles_with_ghost_cells():
    a = trireme.global_array((4 * trireme.pe_count(), 5), "i2", tiles=(4, 5), halo=(1, 2))
    (tile,) = a.own_tiles()
    view = tile.with_halo
    assert tile.shape == (4, 5) and tile.array.shape == (4, 5) and view.shape == (6, 9)
    assert tile.array.strides == view.strides == (18, 2) and not tile.array.flags.c_contiguous
    view[0, 0] = 7
    view[1, 2] = 8
    assert tile.array[0, 0] == 8 and tile.with_halo[0, 0] == 7
    with pytest.raises(BufferError, match="views of its tiles are in use"):
        a.free()
    del view
    trireme.barrier()
    assert a[4 * trireme.pe(), 0] == 8
    trireme.barrier()
    a.free()
    plain = trireme.global_array((4, 4), "i2")
    assert plain.halo == (0, 0) and plain.periodic == (False, False)
    for tile in plain.own_tiles():
        np.testing.assert_array_equal(tile.with_halo, tile.array)
    with pytest.raises(RuntimeError, match="no ghost cells"):
        plain.exchange_halo()
    with pytest.raises(RuntimeError, match="no ghost cells"):
        plain.get_halo()
    trireme.barrier()
    plain.free()


def test_the_tile_that_has_an_element():
    a, model = filled((7, 10), (3, 4), (1, 1), (False, False), "i8")
    trireme.barrier()
    for i, j in np.ndindex(7, 10):
        if a.owner((i, j)) in trireme.pes_of_host():
            tile = a.tile_at((i, j))
            assert tile.pe == a.owner((i, j)) and tile.array[i - tile.first[0], j - tile.first[1]] == model[i, j]
        else:
            with pytest.raises(RuntimeError, match="is not accessible here"):
                a.tile_at((i, j))
    assert a.tile_at((-7, -10)).first == (0, 0) if a.is_local((0, 0)) else True
    with pytest.raises(IndexError):
        a.tile_at((7, 0))
    with pytest.raises(TypeError, match="2 integers"):
        a.tile_at(3)
    del tile
    trireme.barrier()
    a.free()


def test_options():
    a = trireme.global_array((6, 6), tiles=(3, 3), halo=2, periodic=True)
    assert a.halo == (2, 2) and a.periodic == (True, True)
    b = a.redistribute(tiles=(2, 2), halo=(0, 1), periodic=(False, True))
    assert b.halo == (0, 1) and b.periodic == (False, True) and a.redistribute(tiles=(2, 2)).halo == (0, 0)
    trireme.barrier()
    for array in (a, b):
        array.free()
    for options, text in [(dict(halo=(1, 1, 1)), "halo has 3 numbers; the array has 2 dimensions"),
                          (dict(halo=-1), "its halo is"),
                          (dict(halo=(1, 7)), "at most the extent"),
                          (dict(periodic=(True,)), "periodic has 1 numbers")]:
        with pytest.raises(ValueError, match=text):
            trireme.global_array((6, 6), **options)
