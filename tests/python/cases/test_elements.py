"""Single elements: read, written and updated wherever they are."""

import numpy as np
import pytest
import trireme

KINDS = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "c8", "c16"]


def all_positions(shape):
    return list(np.ndindex(*shape))


@pytest.mark.parametrize("dimensions", range(1, 7))
@pytest.mark.parametrize("kind", KINDS)
def test_values_arrive(kind, dimensions):
    shape = (3, 2, 3, 2, 2, 2)[:dimensions]
    a = trireme.global_array(shape, kind, tiles=(2, 1, 2, 1, 2, 1)[:dimensions])
    assert (a.shape, a.dtype, a.ndim, a.size) == (shape, np.dtype(kind), dimensions, np.prod(shape))
    model = (np.arange(a.size).reshape(shape) % 100 * (1 - 2j if kind[0] == "c" else 1)).astype(kind)
    assert not a[...].any()  # zeros
    trireme.barrier()
    for number, at in enumerate(all_positions(shape)):
        if number % trireme.pe_count() == trireme.pe():
            a[at] = model[at]
            assert a[at] == model[at]  # one's own writes are seen at once
    trireme.barrier()
    for at in all_positions(shape):
        value = a[at]
        assert type(value) is model.dtype.type and value == model[at]
    np.testing.assert_array_equal(np.asarray(a), model)
    trireme.barrier()
    a.free()


def test_indices_of_all_kinds():
    a = trireme.global_array((4, 5), "i8", tiles=(2, 2))
    b = trireme.global_array(7, "f4")
    trireme.barrier()
    if trireme.pe() == 0:
        a[-1, -5] = 7
        a[np.int32(0), np.uint8(4)] = 8
        b[-1] = 2.5
        b[(0,)] = 1.5
    trireme.barrier()
    assert a[3, 0] == 7 and a[0, -1] == 8 and a[np.array(3), 0] == 7
    assert b[6] == 2.5 and b[0] == 1.5 and len(b) == 7 and len(a) == 4
    for key, text in [((4, 0), "index 4 is out of bounds for axis 0 with size 4"),
                      ((0, -6), "index -6 is out of bounds for axis 1 with size 5"),
                      ((0, 2**70), "index|int")]:
        with pytest.raises(IndexError, match=text):
            a[key]
        with pytest.raises(IndexError, match=text):
            a[key] = 1
    for key in [(1, 2, 3), (..., ...)]:
        with pytest.raises(IndexError):
            a[key]
    for key in ["x", 1.5, None, True, ([1, 2], 0), (np.array([1, 2]), 0)]:
        with pytest.raises(TypeError):
            a[key]
    with pytest.raises(TypeError, match="iterable"):
        iter(a)
    with pytest.raises(ValueError):
        a[0, 0] = "text"
    trireme.barrier()
    a.free()
    b.free()


def test_updates_lose_nothing():
    pes, own = trireme.pe_count(), trireme.pe()
    a = trireme.global_array(8, "i8", tiles=1)
    tickets = []
    for round in range(50):
        a.accumulate(0, 2)
        tickets.append(int(a.fetch_add(1, 1)))
        a.fetch_max(2, own * 100 + round)
        a.fetch_min(3, -own * 100 - round)
        a.fetch_or(4, 1 << own)
        a.fetch_xor(5, own + 1)
        a.fetch_xor(5, own + 1)
    before = a[6]
    while (found := a.compare_exchange(6, before, before + 1)) != before:
        before = found
    trireme.barrier()
    assert sorted(sum(trireme.allgather(tickets), [])) == list(range(50 * pes))
    assert list(a[...]) == [100 * pes, 50 * pes, (pes - 1) * 100 + 49, -(pes - 1) * 100 - 49, (1 << pes) - 1, 0, pes, 0]
    trireme.barrier()
    assert a.fetch_and(4, 0) in (0, (1 << pes) - 1)
    trireme.barrier()
    assert a[4] == 0
    taken = [int(value) for value in trireme.allgather(a.exchange(7, own + 1))]
    trireme.barrier()
    assert sorted(taken + [int(a[7])]) == list(range(pes + 1))
    trireme.barrier()
    a.free()


def test_updates_by_type():
    values = trireme.global_array(trireme.pe_count(), "f4", tiles=1)
    mine = trireme.pe_count() - 1 - trireme.pe()  # perhaps of another host
    assert values.fetch_add(mine, 1.5) == 0
    assert values.fetch_max(mine, 3) == 1.5
    assert values.exchange(mine, -1) == 3
    assert values.compare_exchange(mine, -1, 4) == -1
    assert values[mine] == 4
    flags = trireme.global_array(2, bool)
    pairs = trireme.global_array(2, "c8")
    wide = trireme.global_array(2, "c16")
    trireme.barrier()
    flags.exchange(1, True)
    assert pairs.compare_exchange(1, 0, 1 + 2j) in (0, 1 + 2j)
    trireme.barrier()
    assert flags[1] and pairs[1] == 1 + 2j
    for call, text in [(lambda: values.fetch_xor(0, 1), "fetch_xor is for integers; this array has float32"),
                       (lambda: flags.fetch_add(0, 1), "this array has bool"),
                       (lambda: pairs.accumulate(0, 1), "accumulate is for integers and floating-point numbers"),
                       (lambda: wide.exchange(0, 1), "at most 8 bytes; this array has complex128"),
                       (lambda: wide.compare_exchange(0, 1, 2), "at most 8 bytes"),
                       (lambda: values.fetch_add(slice(0, 1), 1), "named by 1 integers")]:
        with pytest.raises(TypeError, match=text):
            call()
    trireme.barrier()
    for array in (values, flags, pairs, wide):
        array.free()


def test_owners():
    pes = trireme.pe_count()
    a = trireme.global_array((6, 9), tiles=(2, 3))
    for i, j in all_positions(a.shape):
        owner = (i // 2 * 3 + j // 3) % pes  # tiles in turn, in row-major order
        assert a.owner((i, j)) == owner
    trireme.barrier()
    for i, j in all_positions(a.shape):
        assert a.is_local((i, j)) == (a.owner((i, j)) in trireme.pes_of_host())
    assert a.tile_shape == (2, 3) and a.grid is None
    with pytest.raises(IndexError):
        a.owner((6, 0))
    a.free()
