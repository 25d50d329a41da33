"""Sections: read, written and added to, against an array of NumPy that all PEs have."""

import gc
import sys
import threading

import numpy as np
import pytest
import trireme

SHAPES = [((23,), (4,)), ((13, 17), (3, 4)), ((5, 7, 6), (2, 3, 4)), ((4, 3, 5, 4), (2, 2, 2, 3)),
          ((3, 2, 4, 3, 3), (1, 2, 2, 2, 2)), ((3, 2, 2, 3, 2, 4), (2, 1, 2, 2, 1, 3))]


def random_key(random, shape):
    key = []
    for extent in shape:
        what = random.integers(6)
        if what == 0:
            key.append(int(random.integers(-extent, extent)))
        elif what == 1:
            key.append(slice(None))
        else:
            begin, end = (None if random.integers(5) == 0 else int(random.integers(-extent - 1, extent + 2))
                          for _ in range(2))
            step = int(random.choice([1, 1, 2, 3, -1, -2]))
            key.append(slice(begin, end, step))
    if random.integers(4) == 0:
        where = int(random.integers(len(key) + 1))
        key[where:where + int(random.integers(len(key) + 1))] = [...]
    return tuple(key)


def random_values(random, shape, dtype):
    values = random.integers(0, 100, shape).astype(dtype)
    return values * dtype.type(1 + 2j) if dtype.kind == "c" else values


@pytest.mark.parametrize("kind", ["i4", "f8", "c16", "u1", "?"])
@pytest.mark.parametrize("shape, tiles", SHAPES)
def test_random_sections(random, shape, tiles, kind):
    a = trireme.global_array(shape, kind, tiles=tiles)
    model = np.zeros(shape, kind)
    for _ in range(25):  # PEs take turns
        actor = int(random.integers(trireme.pe_count()))
        key = random_key(random, shape)
        values = random_values(random, model[key].shape, model.dtype)
        if kind in ("i4", "f8", "u1") and random.integers(2) == 0:
            if trireme.pe() == actor:
                a.accumulate(key, values)
            model[key] += values
        else:
            if trireme.pe() == actor:
                a[key] = values
            model[key] = values
        trireme.barrier()
        key = random_key(random, shape)
        found = a[key]
        assert found.shape == model[key].shape and found.dtype == model.dtype
        np.testing.assert_array_equal(found, model[key])
        trireme.barrier()
    a.free()


def test_values_are_broadcast_and_converted():
    a = trireme.global_array((6, 8), "i4", tiles=(4, 3))
    trireme.barrier()
    if trireme.pe() == 0:
        a[...] = 5
        a[1:3] = np.arange(8)
        a[::2, 1] = [1.9, 2.9, 3.9]  # to integers, as in NumPy
        a[4, 2:6] = a[1, 2:6] * 10
    trireme.barrier()
    model = np.full((6, 8), 5)
    model[1:3] = np.arange(8)
    model[::2, 1] = [1, 2, 3]
    model[4, 2:6] = [20, 30, 40, 50]
    np.testing.assert_array_equal(a[...], model)
    with pytest.raises(ValueError, match="broadcast"):
        a[1:3] = np.arange(7)
    trireme.barrier()
    a.free()


def test_transfers_under_way():
    a = trireme.global_array((40, 50), "f8", tiles=(8, 9))
    trireme.barrier()
    if trireme.pe() == trireme.pe_count() - 1:
        rows = [a.put((i, slice(None)), np.arange(50.0) + i) for i in range(40)]
        for row in rows:
            assert row.wait() is None
            assert row.ready()
    trireme.barrier()
    out = np.empty((40, 3))
    reading = [a.get((slice(None), j)) for j in range(50)]
    with_out = a.get((slice(None), slice(0, 3)), out=out)
    for j, column in enumerate(reading):
        np.testing.assert_array_equal(column.wait(), np.arange(40.0) + j)
        assert column.wait() is column.wait()
    assert with_out.wait() is out
    np.testing.assert_array_equal(out, np.add.outer(np.arange(40.0), np.arange(3)))
    stepped = np.empty((20, 50))
    assert a.get(np.s_[::-2], out=stepped).wait() is stepped
    np.testing.assert_array_equal(stepped[:, 0], np.arange(39.0, 0, -2))
    a.get(...)  # one that is dropped
    for wrong, text in [(np.empty((40, 4)), "shape"), (np.empty((40, 3), "f4"), "type"), (np.empty((3, 40)).T, "order"),
                        ([0.0], "array")]:
        with pytest.raises(ValueError, match=text):
            a.get((slice(None), slice(0, 3)), out=wrong)
    trireme.barrier()
    a.free()


def test_a_loop_until_it_is_ready():
    a = trireme.global_array((trireme.pe_count(), 100), "i4", tiles=(1, 100))
    a.fill(trireme.pe())
    trireme.barrier()
    transfer = a.get(...)
    while not transfer.ready():
        pass
    np.testing.assert_array_equal(transfer.wait()[:, 0], np.arange(trireme.pe_count()))
    trireme.barrier()
    a.free()


def on_another_thread(function):
    thread = threading.Thread(target=function)
    thread.start()
    thread.join()


def filled_array():
    a = trireme.global_array((trireme.pe_count(), 1000), "i4", tiles=(1, 1000))
    a.fill(trireme.pe() + 1)
    trireme.barrier()
    return a, np.repeat(np.arange(1, trireme.pe_count() + 1), 1000).reshape(a.shape)


def test_another_thread_does_not_wait_for_a_transfer():
    a, model = filled_array()
    out = np.zeros(a.shape, a.dtype)
    transfer = a.get(..., out=out)
    caught = []

    def use():
        for call in (transfer.wait, transfer.ready, transfer.wait):
            with pytest.raises(RuntimeError, match="another thread"):
                call()
            caught.append(call)

    on_another_thread(use)
    assert len(caught) == 3
    assert transfer.wait() is out  # it is still under way, and its own
    np.testing.assert_array_equal(out, model)
    on_another_thread(lambda: caught.append(transfer.wait()))  # there is nothing to wait for any more
    assert caught[-1] is out
    trireme.barrier()
    a.free()


@pytest.mark.parametrize("is_in_a_cycle", [False, True])
def test_another_thread_drops_a_transfer(is_in_a_cycle):
    a, model = filled_array()
    out = np.zeros(a.shape, a.dtype)
    alone = sys.getrefcount(out)
    gc.disable()
    kept = [a.get(..., out=out)]
    if is_in_a_cycle:
        kept.append(kept)
        del kept
        on_another_thread(gc.collect)
    else:
        on_another_thread(kept.clear)
    gc.enable()
    assert sys.getrefcount(out) > alone  # the buffer stays until the answers have come
    trireme.fence()  # the next call that may wait
    assert sys.getrefcount(out) == alone
    np.testing.assert_array_equal(out, model)
    trireme.barrier()
    a.free()


def test_what_another_thread_drops_does_not_keep_an_array():
    a, _ = filled_array()
    b = trireme.global_array((1000, trireme.pe_count()), "i4", tiles=(1000, 1))
    (tile,) = b.own_tiles()
    kept = [a.get((0, slice(None)), out=tile.array[:, 0])]
    on_another_thread(kept.clear)
    b.free()  # waits for the transfer, which writes there
    trireme.barrier()
    a.free()


def test_sections_may_overlap_what_they_come_from():
    size = 1000 * trireme.pe_count()
    a = trireme.global_array(size, "i8", tiles=1000)
    tile = a.own_tiles()[0]
    begin = tile.first[0]
    tile.array[...] = np.arange(1000)
    a[begin + 1:begin + 1000] = tile.array[:999]
    np.testing.assert_array_equal(tile.array[1:], np.arange(999))
    tile.array[...] = np.arange(1000)
    a.accumulate(slice(begin + 1, begin + 1000), tile.array[:999])
    np.testing.assert_array_equal(tile.array[1:], np.arange(1, 1000) + np.arange(999))
    tile.array[...] = np.arange(1000)
    a.get(slice(begin, begin + 999), out=tile.array[1:]).wait()
    np.testing.assert_array_equal(tile.array[1:], np.arange(999))
    trireme.barrier()
    a.free()


def test_empty_sections_and_arrays():
    a = trireme.global_array((4, 0), "i2")
    assert a[...].shape == (4, 0) and a.size == 0 and a.own_tiles() == []
    a[...] = 1
    b = trireme.global_array((4, 5), "i2")
    assert b[2:2].shape == (0, 5) and b[10:, 1].shape == (0,)
    b[3:1] = 7
    trireme.barrier()
    assert not b[...].any()
    with pytest.raises(IndexError):
        a[0, 0]
    trireme.barrier()
    a.free()
    b.free()
