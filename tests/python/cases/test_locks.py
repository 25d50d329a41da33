"""Locks of the whole job."""

import pytest
import trireme


def test_updates_under_a_lock_are_whole():
    lock = trireme.global_lock()
    a = trireme.global_array((2, 3), "i8", tiles=(1, 1))
    trireme.barrier()
    for _ in range(50):
        with lock as held:
            assert held is lock
            first = a[0, 0]
            assert first == a[1, 2]
            a[0, 0] = first + 1
            a[1, 2] = first + 1
    trireme.barrier()
    assert a[0, 0] == 50 * trireme.pe_count() == a[1, 2]
    trireme.barrier()
    lock.free()
    a.free()


def test_each_lock_is_one_of_its_own():
    locks = [trireme.global_lock() for _ in range(trireme.pe_count() + 1)]
    assert all(0 <= lock.home < trireme.pe_count() for lock in locks)
    assert len(set(trireme.allgather(tuple(lock.home for lock in locks)))) == 1  # the same on all PEs
    with locks[trireme.pe()]:  # no other PE asks for this one
        trireme.barrier()
    locks[-1].acquire()
    locks[-1].release()
    for lock in locks:
        lock.free()


def test_an_exception_releases_it():
    lock = trireme.global_lock()
    with pytest.raises(KeyError):
        with lock:
            raise KeyError("gone")
    with lock:
        pass
    lock.free()


def test_faults():
    lock = trireme.global_lock()
    with pytest.raises(RuntimeError, match=f"is not held by PE {trireme.pe()}"):
        lock.release()
    with lock:
        with pytest.raises(RuntimeError, match="would wait for itself"):
            lock.acquire()
        with pytest.raises(RuntimeError, match=f"is freed while PE {trireme.pe()} holds it"):
            lock.free()
    trireme.barrier()
    lock.free()
    for use in (lock.acquire, lock.free):
        with pytest.raises(RuntimeError, match="was freed"):
            use()
    with pytest.raises(RuntimeError):
        lock.release()
