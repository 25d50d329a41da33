"""Who is where, collectives, and the limits of a run."""

import os
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import trireme


def test_every_pe_has_a_number_of_its_own():
    assert trireme.allgather(trireme.pe()) == list(range(trireme.pe_count()))


def test_hosts_are_runs_of_pes():
    hosts = trireme.allgather(trireme.host())
    assert hosts == sorted(hosts) and set(hosts) == set(range(trireme.host_count()))
    assert hosts == [trireme.host_of(pe) for pe in range(trireme.pe_count())]
    assert list(trireme.pes_of_host()) == [pe for pe, host in enumerate(hosts) if host == trireme.host()]
    with pytest.raises(IndexError, match="no PE"):
        trireme.host_of(trireme.pe_count())


def test_allreduce_of_numbers():
    pes = trireme.pe_count()
    own = trireme.pe() + 1
    assert trireme.allreduce(own) == pes * (pes + 1) // 2
    assert isinstance(trireme.allreduce(own), int)
    assert trireme.allreduce(own, "product") == np.prod(np.arange(1, pes + 1))
    assert trireme.allreduce(own / 2, "min") == 0.5
    assert trireme.allreduce(own / 2, "max") == pes / 2
    assert trireme.allreduce(1 << trireme.pe(), "or") == (1 << pes) - 1
    assert trireme.allreduce(1 << trireme.pe(), "xor") == (1 << pes) - 1
    assert trireme.allreduce(~(1 << trireme.pe()), "and") == ~((1 << pes) - 1)
    assert trireme.allreduce(1j * own) == 1j * pes * (pes + 1) / 2
    assert trireme.allreduce(True) == pes
    assert np.isnan(trireme.allreduce(float("nan") if trireme.pe() == 0 else 1.0, "min"))


@pytest.mark.parametrize("kind", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "c8", "c16"])
def test_allreduce_of_arrays(kind):
    own = (np.arange(6).reshape(2, 3) + trireme.pe()).astype(kind)
    expected = sum((np.arange(6).reshape(2, 3) + pe).astype(kind) for pe in range(trireme.pe_count()))
    reduced = trireme.allreduce(own)
    assert reduced.dtype == np.dtype(kind) and reduced.shape == (2, 3)
    np.testing.assert_array_equal(reduced, expected)
    reduced[0, 0] = 1  # an array of its own
    assert trireme.allreduce(own[:0]).shape == (0, 3)


def test_integers_wrap():
    assert trireme.allreduce(np.int8(127), "max") == 127
    assert trireme.allreduce(np.uint64(2**63 + trireme.pe()), "max") == 2**63 + trireme.pe_count() - 1
    expected = (2**62 * trireme.pe_count() + 2**63) % 2**64 - 2**63
    assert trireme.allreduce(2**62) == expected


def test_faults_of_allreduce():
    with pytest.raises(ValueError, match="'mean' was asked for"):
        trireme.allreduce(1, "mean")
    with pytest.raises(TypeError, match="float64 have no 'xor'"):
        trireme.allreduce(1.0, "xor")
    with pytest.raises(TypeError, match="complex128 have no 'min'"):
        trireme.allreduce(1j, "min")
    with pytest.raises(TypeError, match="numbers"):
        trireme.allreduce("text")
    if trireme.pe_count() > 1:
        with pytest.raises(RuntimeError, match="24 bytes of f8|8 bytes of f8"):  # on all PEs
            trireme.allreduce(np.zeros(1 if trireme.pe() == 0 else 3))


def test_broadcast_and_allgather_take_objects():
    for root in range(trireme.pe_count()):
        value = {"root": root, "data": np.arange(1000)}
        come = trireme.broadcast(value if trireme.pe() == root else None, root)
        assert come["root"] == root and come["data"].sum() == 499500
    assert trireme.allgather("x" * trireme.pe()) == ["x" * pe for pe in range(trireme.pe_count())]
    with pytest.raises(IndexError):
        trireme.broadcast(1, trireme.pe_count())


def test_a_second_start_is_refused():
    with pytest.raises(RuntimeError, match="started already"):
        trireme.start()


def test_other_threads_are_refused():
    caught = []

    def use():
        try:
            trireme.pe()
        except RuntimeError as error:
            caught.append(str(error))

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    assert len(caught) == 1 and "another thread" in caught[0]


def test_other_threads_run_while_a_call_waits():
    # The first PE of a host comes to the barrier when threads of the others, which wait there, have run.
    gates = trireme.global_array(trireme.pe_count(), "i8", tiles=1)
    trireme.barrier()
    pes = trireme.pes_of_host()
    if trireme.pe() == pes[0]:
        views = [gates.tiles_of(pe)[0].array for pe in pes[1:]]
        while not all(view[0] for view in views):
            trireme.progress()
        del views
        trireme.barrier()
    else:
        view = gates.own_tiles()[0].array
        enters = threading.Event()

        def open_gate():
            enters.wait()
            view[0] = 1

        thread = threading.Thread(target=open_gate)
        thread.start()
        enters.set()
        trireme.barrier()
        thread.join()
        del view, open_gate
    gates.free()


def test_a_pe_that_computes_has_let_the_others_go():
    """What another PE needs for its way out of a collective has left, also if this one makes no call from then on."""
    folder = Path(trireme.broadcast(tempfile.mkdtemp() if trireme.pe() == 0 else None))
    arrays = [trireme.global_array((20, 20), "f4", tiles=(3, 3))]
    collectives = [trireme.barrier, lambda: trireme.allreduce(trireme.pe()), lambda: trireme.broadcast("x", 0),
                   lambda: trireme.allgather("x"), lambda: arrays.append(arrays[0].redistribute(tiles=(4, 5))),
                   lambda: arrays.append(trireme.global_array(100, "u1")), lambda: arrays.pop().free()]
    for number, collective in enumerate(collectives * 3):
        collective()
        (folder / f"{number}_{trireme.pe()}").touch()
        for pe in range(trireme.pe_count()):
            while not (folder / f"{number}_{pe}").exists():
                time.sleep(0.001)
    trireme.barrier()
    if trireme.pe() == 0:
        shutil.rmtree(folder)
    for array in arrays:
        array.free()


def test_forked_children_are_refused():
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        try:
            trireme.pe()
        except RuntimeError as error:
            os._exit(0 if "forked" in str(error) else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_progress_returns():
    for _ in range(10):
        trireme.progress()
    trireme.fence()
