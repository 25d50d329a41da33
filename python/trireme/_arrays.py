"""Global arrays in NumPy's notation, over the bytes that the module _trireme moves."""

import gc
import itertools
import math
import operator

import numpy

from . import _trireme
from ._job import ensure_started
from ._trireme import Direction, Update

_MOST_UNDER_WAY = 512  # parts of a section with steps


def global_array(shape, dtype=float, *, tiles=None, grid=None, host_tiles=None, halo=None, periodic=False):
    """A new array of zeros over all PEs. Collective: every PE makes it, in the same order, with the same arguments.
    That takes no message and does not wait.

    shape: 1 to 6 extents, or an integer for one dimension. dtype: bool, (u)int8 to (u)int64, float32, float64,
    complex64, complex128. tiles, grid, host_tiles: as tri::tiles, tri::grid and tri::host_tiles of C++, extents for
    each dimension; without tiles each PE of the grid gets one block, without a grid tiles are dealt in turn, and blocks
    over the grid with the shortest edges. halo: ghost cells around each tile, as many before and behind it along each
    dimension, or an integer for all (GlobalArray.exchange_halo fills them). periodic: whether those at the edges show
    elements of the opposite edge, for each dimension, or a bool for all. ValueError when they do not fit, MemoryError.
    """
    ensure_started()
    shape = _numbers(shape, "shape")
    kind = numpy.dtype(dtype)
    if not kind.isnative or kind.fields is not None:
        raise ValueError(f"global arrays have plain elements in this machine's byte order; {kind} was asked for")
    options = _distribution(len(shape), tiles, grid, host_tiles, halo, periodic)
    return GlobalArray(_trireme.make_array(kind.str[1:], shape, *options))


class GlobalArray:
    """An array over all PEs; `trireme.global_array` makes one.

    `a[i, j]` reads an element, and waits for it where that is on another host. `a[i, j] = x` writes it without waiting:
    this PE sees it at once, others after a fence or barrier. `a[2:5, ::3]` is a copy of a section, as an array of
    NumPy; an assignment to a section returns when the elements have the new values. Keys are integers, slices and
    `...`; negative integers count from the end. Sections that another PE changes meanwhile are a data race.

    `a[i, j] += x` reads and writes: updates of other PEs between the two are lost. `accumulate` and `fetch_add` are
    atomic.
    """

    __iter__ = None  # it would read row by row, or element by element: iterate over own_tiles(), or over a[...]

    def __init__(self, array):
        self._array = array
        self._dtype = numpy.dtype(array.kind)
        self._shape = tuple(array.extents)

    shape = property(lambda self: self._shape, doc="extents")
    dtype = property(lambda self: self._dtype, doc="type of the elements")
    ndim = property(lambda self: len(self._shape), doc="number of dimensions")
    size = property(lambda self: math.prod(self._shape), doc="number of elements")
    nbytes = property(lambda self: self.size * self._dtype.itemsize, doc="bytes of all elements")
    tile_shape = property(lambda self: tuple(self._array.tile), doc="extents of a whole tile")
    grid = property(lambda self: tuple(self._array.grid) or None, doc="PEs along each dimension; None: dealt in turn")
    halo = property(lambda self: tuple(self._array.halo),
                    doc="ghost cells on each side of a tile, along each dimension; zeros: none")
    periodic = property(lambda self: tuple(map(bool, self._array.periodic)),
                        doc="along which dimensions ghost cells at the edges show the opposite edge")

    def __len__(self):
        return self._shape[0]

    def __repr__(self):
        state = "freed " if self._array.is_freed else ""
        return f"<{state}trireme.GlobalArray of shape {self._shape}, {self._dtype}, tiles {self.tile_shape}>"

    def __array__(self, dtype=None, copy=None):
        if copy is False:
            raise ValueError("a global array is shown without a copy by its tiles only: own_tiles(), tiles_of(pe)")
        whole = self[...]
        return whole if dtype is None else whole.astype(dtype, copy=False)

    # Elements and sections.

    def __getitem__(self, key):
        cell = numpy.empty((), self._dtype)
        if self._array.read(key, cell):
            return cell[()]
        return self.get(key).wait()

    def __setitem__(self, key, value):
        if self._array.is_element(key):
            self._array.write(key, self._cell(value))
        else:
            self.put(key, value).wait()

    def get(self, key, out=None):
        """Starts to read a section; returns a Transfer whose wait() returns the array.

        out: an array of the section's shape and this array's type that takes the elements, contiguous in C's order; it
        must stay untouched until wait() has returned. ValueError when it does not fit.
        """
        section = _Section(key, self._shape)
        if out is not None:
            _check_out(out, section.shape, self._dtype)
        direct = out is not None and section.is_plain and not self._is_shown_by(out)
        box = out if direct else numpy.empty(section.box_shape, self._dtype)
        under_way = [self._array.start(Direction.GET, section.first, section.last, box)] if section.size else []
        if direct:
            return Transfer(under_way, lambda: out)
        if out is None:
            return Transfer(under_way, lambda: section.part_of(box))

        def finish():
            out[...] = section.part_of(box)
            return out

        return Transfer(under_way, finish)

    def put(self, key, values):
        """Starts to write a section; returns a Transfer. `values` are broadcast to its shape; an array of that shape
        and of this array's type, contiguous in C's order, is not copied and must stay unchanged until wait() has
        returned: then the elements have the new values.
        """
        return self._send(Direction.PUT, key, values)

    def accumulate(self, key, values):
        """Adds, atomically for each element; integers and floating-point numbers only. To a single element: without
        waiting, in one message. To a section: returns when it is done."""
        self._check_number("accumulate")
        if self._array.is_element(key):
            self._array.update(Update.ADD, key, self._cell(values))
        else:
            self._send(Direction.ACCUMULATE, key, values).wait()

    def _send(self, direction, key, values):
        section = _Section(key, self._shape)
        if section.takes(values, self._dtype) and not self._is_shown_by(values):
            box = values
        else:
            box = section.box_of(values, self._dtype)
        under_way = []
        if section.size:
            for first, last, part in section.parts_of(box):
                under_way.append(self._array.start(direction, first, last, part))
                if len(under_way) == _MOST_UNDER_WAY:
                    Transfer(under_way).wait()
                    under_way = []
        return Transfer(under_way)

    def _is_shown_by(self, array):
        """Whether an array is a view of one of our tiles: a section from or to there might overlap itself."""
        while isinstance(array, numpy.ndarray):
            array = array.base
        memory = array.obj if isinstance(array, memoryview) else None
        return isinstance(memory, _trireme.TileMemory) and memory.array is self._array

    # Atomic updates of single elements, which return the value before.

    def fetch_add(self, key, value):
        """Adds to an element of numbers; returns the value before."""
        return self._fetch(Update.ADD, key, value, self._check_number, "fetch_add")

    def fetch_min(self, key, value):
        """Keeps the lesser; returns the value before."""
        return self._fetch(Update.MIN, key, value, self._check_number, "fetch_min")

    def fetch_max(self, key, value):
        """Keeps the greater; returns the value before."""
        return self._fetch(Update.MAX, key, value, self._check_number, "fetch_max")

    def fetch_and(self, key, value):
        """Bits of integers; returns the value before."""
        return self._fetch(Update.AND, key, value, self._check_bits, "fetch_and")

    def fetch_or(self, key, value):
        """Bits of integers; returns the value before."""
        return self._fetch(Update.OR, key, value, self._check_bits, "fetch_or")

    def fetch_xor(self, key, value):
        """Bits of integers; returns the value before."""
        return self._fetch(Update.XOR, key, value, self._check_bits, "fetch_xor")

    def exchange(self, key, value):
        """Writes an element of at most 8 bytes; returns the value before."""
        return self._fetch(Update.EXCHANGE, key, value, self._check_word, "exchange")

    def compare_exchange(self, key, expected, desired):
        """Writes `desired` to an element of at most 8 bytes if it is `expected`; returns the value before."""
        self._check_word("compare_exchange")
        before = numpy.empty((), self._dtype)
        self._array.compare_exchange(key, self._cell(expected), self._cell(desired), before)
        return before[()]

    def _fetch(self, what, key, value, check, name):
        check(name)
        before = numpy.empty((), self._dtype)
        self._array.fetch(what, key, self._cell(value), before)
        return before[()]

    def _cell(self, value):
        cell = numpy.empty((), self._dtype)
        cell[()] = value
        return cell

    def _check_number(self, name):
        if self._dtype.kind not in "iuf":
            raise TypeError(f"{name} is for integers and floating-point numbers; this array has {self._dtype}")

    def _check_bits(self, name):
        if self._dtype.kind not in "iu":
            raise TypeError(f"{name} is for integers; this array has {self._dtype}")

    def _check_word(self, name):
        if self._dtype.itemsize > 8:
            raise TypeError(f"{name} is for elements of at most 8 bytes; this array has {self._dtype}")

    # Where elements are.

    def owner(self, key):
        """The PE that has an element."""
        return self._array.owner(key)

    def is_local(self, key):
        """Whether an element is in the memory of this host, and directly accessible."""
        return self._array.is_local(key)

    def own_tiles(self):
        """The tiles of this PE, a list of Tile."""
        return self.tiles_of(_trireme.pe())

    def tiles_of(self, pe):
        """The tiles of a PE of this host, a list of Tile. RuntimeError for a PE of another host, or one that has not
        made the array yet: a barrier after the creation orders that. IndexError when there is no such PE.
        """
        return [Tile(memory, pe) for memory in self._array.tiles_of(pe)]

    def tile_at(self, key):
        """The Tile that has an element, of any PE of this host. RuntimeError for one of another host."""
        return Tile(self._array.tile_at(key), self._array.owner(key))

    # Ghost cells.

    def exchange_halo(self, width=None):
        """Fills the ghost cells of this PE's tiles with the elements that they show: faces, edges and corners. Every PE
        with tiles calls it; each sends one message to each neighbouring PE, with its elements as they are at the call.
        Returns when the own ghost cells are filled. No barrier is needed around it: ghost cells of a PE do not change
        before it calls this. Those behind the edge of an array that is not periodic keep what was written there.

        width: of a part of the halo, the same on all PEs; IndexError when the halo is narrower. RuntimeError when the
        array has no halo, or when it is freed before all cells have come.
        """
        self.exchange_halo_async(width).wait()

    def exchange_halo_async(self, width=None):
        """The same without waiting; returns a Transfer. Elements that are no ghost cells may be read and written
        meanwhile."""
        return Transfer([self._array.exchange_halo(width)])

    def get_halo(self):
        """Fills the ghost cells of this PE's tiles as exchange_halo does, without a call by others. The program orders
        that against the writes of its neighbours: a barrier before it, and one before they write again."""
        Transfer([self._array.get_halo()]).wait()

    def fill(self, value):
        """Sets the elements of this PE; called by every PE it sets all. Others see it after a barrier."""
        for tile in self.own_tiles():
            tile.array[...] = value

    def redistribute(self, *, tiles=None, grid=None, host_tiles=None, halo=None, periodic=False):
        """A new array with the same elements, dealt otherwise; see global_array. Collective; waits for all PEs."""
        return GlobalArray(self._array.redistribute(*_distribution(self.ndim, tiles, grid, host_tiles, halo, periodic)))

    def free(self):
        """Frees it; collective, waits for all PEs. Later accesses raise RuntimeError. Without it an array lives until
        the end of the job, also when its handles are gone. BufferError when NumPy views of its tiles are in use in this
        process.
        """
        if self._array.views:
            gc.collect()  # views in cycles, as of the frames of caught exceptions
        self._array.free()


class Tile:
    """A tile in the memory of this host.

    `array` shows it to NumPy, without a copy; as long as such a view is in use its array is not freed. Views must not
    be used while the interpreter exits, after the run has ended.
    """

    def __init__(self, memory, pe):
        self._memory = memory
        self._pe = pe

    pe = property(lambda self: self._pe, doc="the PE that has it")
    first = property(lambda self: tuple(self._memory.first), doc="position of its first element in the global array")
    last = property(lambda self: tuple(self._memory.last), doc="the position behind its last, in each dimension")
    shape = property(lambda self: tuple(map(operator.sub, self.last, self.first)), doc="extents, without padding")
    region = property(lambda self: tuple(map(slice, self.first, self.last)),
                      doc="where it lies, as slices: a[tile.region] is a copy of tile.array")
    # memoryview: where it is refused, NumPy would make an array of one object.
    array = property(lambda self: numpy.asarray(memoryview(self._memory)), doc="its elements, a view without a copy")
    with_halo = property(lambda self: numpy.asarray(memoryview(self._memory.with_halo())),
                         doc="its elements and the ghost cells around them, a view without a copy")

    def __array__(self, dtype=None, copy=None):
        shown = self.array if dtype is None else self.array.astype(dtype, copy=False)
        if copy is False and shown.dtype != self.array.dtype:
            raise ValueError("another type of elements needs a copy")
        return shown.copy() if copy else shown

    def __repr__(self):
        return f"<trireme.Tile {self.first} to {self.last} of PE {self._pe}>"


class Transfer:
    """A section under way. Its buffers stay until it is done: one that is dropped waits for that. The PE waits for one
    that another thread drops, in its next call that may wait.
    """

    def __init__(self, under_way, finish=None):
        self._under_way = under_way
        self._finish = finish
        self._result = None

    def ready(self):
        """Whether wait() would return at once. Serves requests meanwhile, as trireme.progress()."""
        if all(part.ready() for part in self._under_way):
            return True
        _trireme.progress()
        return all(part.ready() for part in self._under_way)

    def wait(self):
        """Waits for the end of it. Returns the array that was read; None for a write."""
        while self._under_way:
            self._under_way[-1].wait()
            self._under_way.pop()
        if self._finish is not None:
            self._result = self._finish()
            self._finish = None
        return self._result


class _Section:
    """What a key of NumPy's notation names: a box, steps in it, directions, and dimensions that integers take away."""

    def __init__(self, key, extents):
        keys = _expanded(key, len(extents))
        self.first, self.last, self._steps, self._picks = [], [], [], []
        self.shape = ()
        for axis, (one, extent) in enumerate(zip(keys, extents)):
            if isinstance(one, slice):
                indices = range(*one.indices(extent))
                rising = indices if indices.step > 0 else indices[::-1]
                step = rising.step if len(rising) > 1 else 1
                self._picks.append(slice(None, None, -1 if indices.step < 0 else 1))
                self.shape += (len(rising),)
            else:
                rising, step = range(_index(one, axis, extent), _index(one, axis, extent) + 1), 1
                self._picks.append(0)
            self.first.append(rising[0] if rising else 0)
            self.last.append(rising[-1] + 1 if rising else 0)
            self._steps.append(step)
        self.size = math.prod(self.shape)
        self.box_shape = tuple(map(operator.sub, self.last, self.first))
        self._lengths = tuple(-(-length // step) for length, step in zip(self.box_shape, self._steps))
        self._has_steps = any(step != 1 for step in self._steps)
        self.is_plain = not self._has_steps and all(pick == slice(None, None, 1) for pick in self._picks)

    def part_of(self, box):
        """The elements that the key names, of all in the box."""
        picked = box[tuple(slice(None, None, step) for step in self._steps)][tuple(self._picks)]
        return picked.copy() if self._has_steps else picked  # the box may be much larger

    def takes(self, values, dtype):
        """Whether values are an array that is the box as it is."""
        return (self.is_plain and type(values) is numpy.ndarray and values.dtype == dtype
                and values.shape == self.shape and values.flags.c_contiguous)

    def box_of(self, values, dtype):
        """A new array of the values in the order of the global array, without steps."""
        box = numpy.empty(self._lengths, dtype)
        box[tuple(self._picks)] = values
        return box

    def parts_of(self, box):
        """Boxes without steps in between, with the values for each."""
        if not self._has_steps:
            yield self.first, self.last, box
            return
        strided = [axis for axis, step in enumerate(self._steps) if step != 1]
        for at in itertools.product(*(range(self._lengths[axis]) for axis in strided)):
            first, last, part = list(self.first), list(self.last), [slice(None)] * box.ndim
            for axis, number in zip(strided, at):
                first[axis] += number * self._steps[axis]
                last[axis] = first[axis] + 1
                part[axis] = slice(number, number + 1)
            yield first, last, numpy.ascontiguousarray(box[tuple(part)])


def _expanded(key, dimensions):
    """One integer or slice for each dimension."""
    keys = key if isinstance(key, tuple) else (key,)
    for one in keys:
        if one is not Ellipsis and not isinstance(one, slice) and (isinstance(one, (bool, numpy.bool_)) or
                                                                   not hasattr(type(one), "__index__") or
                                                                   numpy.ndim(one) != 0):
            raise TypeError(f"global arrays are indexed by integers, slices and '...', not by {type(one).__name__}; "
                            "for others read a section, and index that")
    ellipses = sum(one is Ellipsis for one in keys)
    if ellipses > 1:
        raise IndexError("a key can only have one ellipsis ('...')")
    given = len(keys) - ellipses
    if given > dimensions:
        raise IndexError(f"too many indices: the array has {dimensions} dimensions, and {given} were given")
    missing = (slice(None),) * (dimensions - given)
    if not ellipses:
        return keys + missing
    where = next(number for number, one in enumerate(keys) if one is Ellipsis)
    return keys[:where] + missing + keys[where + 1:]


def _index(index, axis, extent):
    at = operator.index(index)
    if not -extent <= at < extent:
        raise IndexError(f"index {at} is out of bounds for axis {axis} with size {extent}")
    return at % extent


def _distribution(dimensions, tiles, grid, host_tiles, halo, periodic):
    """The options of a creation, a list of numbers each; empty: not given."""
    if hasattr(type(halo), "__index__") and numpy.ndim(halo) == 0:
        halo = (halo,) * dimensions
    if isinstance(periodic, (bool, numpy.bool_)):
        periodic = (periodic,) * dimensions
    return [[] if given is None else _numbers(given, name, dimensions)
            for name, given in (("tiles", tiles), ("grid", grid), ("host_tiles", host_tiles), ("halo", halo),
                                ("periodic", tuple(map(bool, periodic))))]


def _numbers(given, name, dimensions=None):
    numbers = [operator.index(given)] if hasattr(type(given), "__index__") and numpy.ndim(given) == 0 else \
        [operator.index(one) for one in given]
    if dimensions is not None and len(numbers) != dimensions:
        raise ValueError(f"{name} has {len(numbers)} numbers; the array has {dimensions} dimensions")
    return numbers


def _check_out(out, shape, dtype):
    if not isinstance(out, numpy.ndarray) or out.shape != shape or out.dtype != dtype:
        raise ValueError(f"out must be an array of shape {shape} and type {dtype}")
    if not (out.flags.c_contiguous and out.flags.writeable):
        raise ValueError("out must be contiguous in C's order, and writable")
