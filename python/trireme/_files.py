"""Global arrays in files, which all PEs write and read at once."""

import os

from . import _trireme
from ._arrays import GlobalArray, _distribution
from ._job import ensure_started
from ._trireme import FileFormat, ProgressLine

_FORMATS = {None: FileFormat.BY_NAME, "npy": FileFormat.NPY, "txt": FileFormat.TEXT, "hdf5": FileFormat.HDF5}
_PROGRESS = {None: ProgressLine.ON_TERMINALS, True: ProgressLine.ALWAYS, False: ProgressLine.NEVER}


def dump(array, path, *, format=None, data_set="array", bytes_at_once=4 << 20, progress=None):
    """Writes a global array into a file, which all hosts must see at this path. Collective; waits, and what other PEs
    have written before they called it is in the file. A file that is there is replaced when the new one is complete;
    after an error it is as it was.

    path: str, bytes or os.PathLike. format: "npy" (numpy.load reads it), "txt" (numpy.loadtxt) or "hdf5"; None: by the
    end of the name, .npy, .txt, .h5 or .hdf5. data_set: its name in a file of HDF5. bytes_at_once: what each PE writes
    in one piece. progress: whether PE 0 writes a line on stderr that says how far it has come; None: on terminals, when
    it takes longer than a second. OSError with the path and what is wrong, on all PEs; RuntimeError when the array was
    freed.
    """
    _check_array(array, "dump")
    options = _options(format, data_set, bytes_at_once, progress)
    _trireme.dump(array._array, os.fsencode(path), options)


def load(path, *, out=None, tiles=None, grid=None, host_tiles=None, halo=None, periodic=False, format=None,
         data_set="array", bytes_at_once=4 << 20, progress=None):
    """A new global array with the type, the extents and the elements of a file; or, with `out`, that array filled with
    its elements: it must have the same extents and type, because types are not converted. Collective; waits for all
    PEs.

    tiles, grid, host_tiles, halo, periodic: as of global_array, for a new one. format, data_set, bytes_at_once,
    progress: as of dump. OSError with the path and what is wrong, on all PEs; after an error some elements of `out` may
    be those of the file.
    """
    options = _options(format, data_set, bytes_at_once, progress)
    path = os.fsencode(path)
    if out is not None:
        _check_array(out, "load")
        if any(given is not None for given in (tiles, grid, host_tiles, halo)) or periodic is not False:
            raise ValueError("load: `out` is dealt already; tiles, grid, host_tiles, halo and periodic are for new "
                             "arrays")
        _trireme.load(out._array, path, options)
        return out
    ensure_started()
    kind, extents = _trireme.inspect_file(path, options)
    new = GlobalArray(_trireme.make_array(kind, extents,
                                          *_distribution(len(extents), tiles, grid, host_tiles, halo, periodic)))
    try:
        _trireme.load(new._array, path, options)
    except OSError:  # on all PEs
        new.free()
        raise
    return new


def _check_array(array, name):
    if not isinstance(array, GlobalArray):
        of_numpy = "save" if name == "dump" else "load"
        raise TypeError(f"{name} is for global arrays; numpy.{of_numpy} is for those of NumPy")


def _options(format, data_set, bytes_at_once, progress):
    if format not in _FORMATS:
        raise ValueError(f"files have the formats 'npy', 'txt' and 'hdf5'; {format!r} was asked for")
    if progress not in _PROGRESS:
        raise ValueError(f"progress is True, False or None; {progress!r} was given")
    return _trireme.FileOptions(_FORMATS[format], data_set, bytes_at_once, _PROGRESS[progress])
