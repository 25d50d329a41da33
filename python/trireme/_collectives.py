"""Collectives over all PEs. Each PE calls the same ones in the same order."""

import pickle

import numpy

from . import _trireme
from ._job import ensure_started

_OPERATIONS = ("sum", "product", "min", "max", "and", "or", "xor")
# Elements are reduced as those of the widest type of their kind.
_REDUCED_AS = {"b": "i8", "i": "i8", "u": "u8", "f": "f8", "c": "c16"}


def allreduce(value, operation="sum"):
    """The sum of the values of all PEs, or their "product", "min", "max", or their bits' "and", "or", "xor".

    value: a number, or an array of NumPy whose elements are reduced one by one: of the same shape and type on all PEs.
    Returns the same on every PE: a number for a number, an array of the same type for an array. Integers wrap at 64
    bits, and then at those of their type. ValueError for another operation, TypeError for other elements, RuntimeError
    when PEs gave something else.
    """
    ensure_started()
    if operation not in _OPERATIONS:
        raise ValueError(f"allreduce has the operations {', '.join(_OPERATIONS)}; '{operation}' was asked for")
    given = numpy.asarray(value)
    kind = _REDUCED_AS.get(given.dtype.kind)
    if kind is None or given.dtype.itemsize > numpy.dtype(kind).itemsize:
        raise TypeError(f"allreduce is for numbers of up to 64 bits, or complex ones of them; this is {given.dtype}")
    if (kind == "c16" and operation not in ("sum", "product")) or (kind == "f8" and operation in ("and", "or", "xor")):
        raise TypeError(f"elements of {given.dtype} have no '{operation}'")
    own = numpy.ascontiguousarray(given, dtype=kind)
    reduced = numpy.frombuffer(_trireme.allreduce(kind, operation, own.tobytes()), dtype=kind).reshape(given.shape)
    if given.dtype == bool and operation in ("sum", "product"):
        return reduced[()] if given.ndim == 0 else reduced.copy()  # a number of them, as NumPy's sum
    reduced = reduced.astype(given.dtype)
    if given.ndim != 0:
        return reduced
    return reduced[()] if isinstance(value, (numpy.generic, numpy.ndarray)) else reduced[()].item()


def broadcast(value, root=0):
    """The root's value, on all PEs; that of the others is ignored. Any object that pickle takes."""
    ensure_started()
    is_root = _trireme.pe() == root
    come = _trireme.broadcast(pickle.dumps(value, pickle.HIGHEST_PROTOCOL) if is_root else b"", root)
    return value if is_root else pickle.loads(come)


def allgather(value):
    """A list of the values of all PEs, by number. Any objects that pickle takes."""
    ensure_started()
    return [pickle.loads(one) for one in _trireme.allgather(pickle.dumps(value, pickle.HIGHEST_PROTOCOL))]
