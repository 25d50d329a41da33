"""Global arrays for NumPy: one array over all PEs of all hosts, in SPMD style.

    import trireme

    a = trireme.global_array((1000, 1000), float)
    for tile in a.own_tiles():            # views without copies
        tile.array[...] = trireme.pe()
    trireme.barrier()
    print(a[10, 20], a[5, ::2].sum())     # any element or section, wherever it is

    trireme run -n 4 python script.py

Every process of the job runs the script; each has one PE (processing element). The run begins at the first call, or at
`trireme.start()`, and ends when the interpreter exits. Calls are for the thread that has begun it. While a call waits,
other threads of the interpreter run.

Errors: IndexError outside of an array, ValueError for arguments that do not fit, TypeError for keys and elements of
another type, BufferError for an array that views still show, OSError for files, MemoryError, and RuntimeError for
everything else that the runtime refuses. An exception that leaves the script ends the whole job.
"""

from ._arrays import GlobalArray, Tile, Transfer, global_array
from ._collectives import allgather, allreduce, broadcast
from ._files import dump, load
from ._job import (
    barrier,
    exit,
    fail,
    fence,
    host,
    host_count,
    host_of,
    is_running,
    pe,
    pe_count,
    pes_of_host,
    progress,
    start,
)
from ._locks import GlobalLock, global_lock

__all__ = [
    "GlobalArray",
    "GlobalLock",
    "Tile",
    "Transfer",
    "allgather",
    "allreduce",
    "barrier",
    "broadcast",
    "dump",
    "exit",
    "fail",
    "fence",
    "global_array",
    "global_lock",
    "host",
    "host_count",
    "host_of",
    "is_running",
    "load",
    "pe",
    "pe_count",
    "pes_of_host",
    "progress",
    "start",
]
