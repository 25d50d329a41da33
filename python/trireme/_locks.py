"""Locks of the whole job."""

from . import _trireme
from ._job import ensure_started


def global_lock():
    """A new lock of the whole job. Collective: every PE makes it, in the same order as its other locks. That takes no
    message and does not wait."""
    ensure_started()
    return GlobalLock(_trireme.make_lock())


class GlobalLock:
    """At most one PE of the job holds it, in the order in which they asked; `trireme.global_lock` makes one.

        with lock:
            a[0] = a[0] + 1     # the next holder sees what was written

    One PE keeps the queue (`home`), and answers while it waits in a call, or in trireme.progress(). RuntimeError for a
    lock that was freed.
    """

    def __init__(self, lock):
        self._lock = lock
        self._is_held = False

    home = property(lambda self: self._lock.home(), doc="the PE that keeps its queue")

    def acquire(self):
        """Waits until this PE holds it. RuntimeError when it does already: it would wait for itself."""
        if self._is_held:
            raise RuntimeError("this PE holds the lock already: it would wait for itself")
        self._lock.acquire()
        self._is_held = True

    def release(self):
        """Releases it: the next one has it as soon as all writes that this PE made before have been carried out. Does
        not wait. RuntimeError when this PE does not hold it."""
        self._lock.release()
        self._is_held = False

    def __enter__(self):
        self.acquire()
        return self

    def __exit__(self, kind, error, trace):
        self.release()

    def free(self):
        """Ends it, behind those that have asked before; later requests raise RuntimeError. Collective, waits for all
        PEs. RuntimeError while this PE holds it."""
        self._lock.free()
