"""The run of this process: its beginning and end, who and where its PE is, and the order between PEs."""

import atexit
import sys
import threading

from . import _trireme

_may_start = True


def start(arguments=None):
    """Joins the job; collective over its processes. Every other call does that when it has not been done.

    arguments: a list that begins with the name of the program; by default `sys.argv`. The options `--tri-*` are removed
    from it: call this before the script reads its other options. RuntimeError when it has begun, or cannot begin.
    """
    global _may_start
    if not _may_start:
        raise RuntimeError("trireme has been started already in this process")
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError("trireme is started by the main thread of the interpreter, which ends it, too")
    if arguments is None:
        arguments = sys.argv
    arguments[:] = _trireme.start(list(arguments) or ["python"])
    _may_start = False
    atexit.register(_end)
    _end_job_at_uncaught_exceptions()


def _end():
    if not _trireme.is_running():  # also in forked children
        return
    sys.stdout.flush()
    _trireme.end(0)


def _end_job_at_uncaught_exceptions():
    """The other PEs would wait for this one."""
    show = sys.excepthook

    def show_and_end(kind, error, trace):
        show(kind, error, trace)
        if hasattr(sys, "ps1") or not _trireme.is_running():
            return
        sys.stdout.flush()
        sys.stderr.flush()
        _trireme.fail(f"PE {_trireme.pe()} ends with an exception: {kind.__name__}: {error}")

    sys.excepthook = show_and_end


def ensure_started():
    if _may_start:
        start()


def is_running():
    """Whether this process has joined its job, and not left it."""
    return _trireme.is_running()


def pe():
    """The number of this process's PE, from 0 on."""
    ensure_started()
    return _trireme.pe()


def pe_count():
    """PEs of the job: one in each process."""
    ensure_started()
    return _trireme.pe_count()


def host():
    """The number of this PE's host. PEs of a host share memory."""
    ensure_started()
    return _trireme.host()


def host_count():
    """Hosts of the job."""
    ensure_started()
    return _trireme.host_count()


def host_of(pe):
    """The number of the host of a PE. IndexError, when there is no such PE."""
    ensure_started()
    return _trireme.host_of(pe)


def pes_of_host():
    """The numbers of the PEs of this host, as a range: those whose tiles can be shown here (GlobalArray.tiles_of)."""
    own = host()
    found = [pe for pe in range(pe_count()) if _trireme.host_of(pe) == own]
    return range(found[0], found[-1] + 1)


def fence():
    """Waits until all writes and updates that this PE made before have been carried out, wherever they went."""
    ensure_started()
    _trireme.fence()


def barrier():
    """A fence of every PE; returns when all PEs have called it. Collective."""
    ensure_started()
    _trireme.barrier()


def progress():
    """Serves requests of other hosts that wait for this PE, without waiting for any. For scripts that compute for long:
    a PE serves such requests while it waits in a call, and in this one.
    """
    ensure_started()
    _trireme.progress()


def exit(status=0):
    """Ends the whole job soon with this status, from any PE: raises SystemExit here, and in other PEs from the call in
    which they wait next.
    """
    ensure_started()
    _trireme.request_stop(status)
    raise SystemExit(status)


def fail(message):
    """Ends the whole job at once with status 1 and this message on stderr. Does not return."""
    ensure_started()
    sys.stdout.flush()
    sys.stderr.flush()
    _trireme.fail(str(message))
