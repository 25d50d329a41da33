"""Heat in a plate whose upper edge is hot, as heat.cpp: Jacobi's method on global arrays, with NumPy.

Each PE computes its own tiles; the elements around a tile are in its ghost cells, whichever PE and host has them.
"""

import trireme

N = 48
STEPS = 200


def step(now, new):
    now.exchange_halo()
    for tile in new.own_tiles():
        old = now.tile_at(tile.first).with_halo
        heat = (old[:-2, 1:-1] + old[2:, 1:-1] + old[1:-1, :-2] + old[1:-1, 2:]) / 4
        inner = tuple(slice(max(1 - first, 0), min(N - 1, last) - first) for first, last in zip(tile.first, tile.last))
        tile.array[...] = old[1:-1, 1:-1]  # the edges of the plate stay as they are
        tile.array[inner] = heat[inner]


now, new = (trireme.global_array((N, N), halo=1) for _ in range(2))  # one block for each PE
if trireme.pe() == 0:
    now[0] = 100
trireme.barrier()
for _ in range(STEPS):
    step(now, new)
    now, new = new, now
own = sum((tile.array.sum() for tile in now.own_tiles()), start=0.0)
total = trireme.allreduce(own)
if trireme.pe() == 0:
    print(f"heat of the plate after {STEPS} steps: {total:.6f}")
