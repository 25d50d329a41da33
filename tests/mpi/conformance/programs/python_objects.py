"""A program of mpi4py: objects, numpy arrays, requests, collective operations and windows. Prints one line."""

import sys

import numpy
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, ranks = world.Get_rank(), world.Get_size()
after, before = (rank + 1) % ranks, (rank - 1) % ranks
checks = 0


def check(holds, what):
    global checks
    checks += 1
    if not holds:
        print(f"rank {rank}: {what}", flush=True)
        world.Abort(1)


# Objects, small and large: sizes are found by probing.
for size in (0, 1, 100, 10_000, 300_000):
    thing = {"from": rank, "list": list(range(size)), "text": "ä" * size}
    request = world.isend(thing, after, tag=size)
    status = MPI.Status()
    got = world.recv(source=MPI.ANY_SOURCE, tag=size, status=status)
    request.wait()
    check(got["from"] == before == status.Get_source() and len(got["list"]) == size == len(got["text"]), "an object")

# Arrays, also with gaps, and begun all at once.
for count in (1, 1000, 200_000):
    out = numpy.arange(count, dtype="d") + rank
    into = [numpy.zeros(count) for _ in range(ranks)]
    requests = [world.Irecv(into[other], other, 7) for other in range(ranks)]
    requests += [world.Isend(out, other, 7) for other in range(ranks)]
    MPI.Request.Waitall(requests)
    for other in range(ranks):
        check((into[other] == numpy.arange(count) + other).all(), "an array")
    column = MPI.DOUBLE.Create_vector(count, 1, 2).Commit()
    spread = numpy.full(2 * count, -1.0)
    spread[::2] = out
    received = numpy.zeros(2 * count)
    world.Sendrecv([spread, 1, column], after, 8, [received, 1, column], before, 8)
    check((received[::2] == numpy.arange(count) + before).all() and (received[1::2] == 0).all(), "a column")
    column.Free()

# What is there for everybody.
check(world.allreduce(rank) == ranks * (ranks - 1) // 2, "allreduce of objects")
check(world.alltoall([(rank, other) for other in range(ranks)]) == [(other, rank) for other in range(ranks)], "alltoall")
check(world.bcast({"root": rank}, root=ranks - 1) == {"root": ranks - 1}, "bcast")
total = numpy.zeros(5000)
world.Allreduce(numpy.full(5000, rank + 1.0), total)
check((total == ranks * (ranks + 1) / 2).all(), "Allreduce of arrays")
half = world.Split(rank % 2, rank)
check(half.allgather(rank) == list(range(rank % 2, ranks, 2)), "a communicator of every second")
half.Free()

# A persistent request, started again and again.
cell = numpy.zeros(3)
send, receive = world.Send_init(numpy.full(3, rank, dtype="d"), after, 9), world.Recv_init(cell, before, 9)
for _ in range(20):
    MPI.Prequest.Startall([receive, send])
    MPI.Request.Waitall([receive, send])
    check((cell == before).all(), "a persistent request")
send.Free()
receive.Free()

# Windows: of our memory and of theirs.
memory = numpy.zeros(ranks)
for window in (MPI.Win.Create(memory, memory.itemsize, comm=world),
               MPI.Win.Allocate(memory.nbytes, memory.itemsize, comm=world)):
    window.Fence()
    for other in range(ranks):
        window.Put(numpy.array([rank + 1.0]), other, rank)
    window.Fence()
    seen = numpy.frombuffer(window.tomemory(), dtype="d")
    check((seen == numpy.arange(ranks) + 1).all(), "a window")
    window.Fence()
    one = numpy.ones(1)
    for _ in range(50):
        window.Lock(0)
        window.Accumulate(one, 0, 0)
        window.Unlock(0)
    world.Barrier()
    value = numpy.zeros(1)
    window.Lock(0, MPI.LOCK_SHARED)
    window.Get(value, 0, 0)
    window.Unlock(0)
    check(value[0] == 1 + 50 * ranks, "accumulates")
    world.Barrier()
    window.Free()

everybodys = world.allreduce(checks)
if rank == 0:
    print(f"python ok ({everybodys} checks)")
sys.exit(0)
