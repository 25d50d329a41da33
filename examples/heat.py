"""Heat in a plate whose upper edge is hot, as heat.cpp: Jacobi's method on global arrays, with NumPy.

Each PE computes its own tiles; what lies around a tile is read from the array, whichever PE and host has it.
"""

import trireme

N = 48
STEPS = 200


def step(now, new):
    for tile in new.own_tiles():
        top, left = (max(first - 1, 0) for first in tile.first)
        bottom, right = tile.last
        old = now[top : bottom + 1, left : right + 1]  # the tile and the elements around it, as far as the array goes
        heat = old.copy()
        heat[1:-1, 1:-1] = (old[:-2, 1:-1] + old[2:, 1:-1] + old[1:-1, :-2] + old[1:-1, 2:]) / 4
        tile.array[...] = heat[tile.first[0] - top : bottom - top, tile.first[1] - left : right - left]


now, new = trireme.global_array((N, N)), trireme.global_array((N, N))  # one block for each PE
if trireme.pe() == 0:
    now[0] = 100
trireme.barrier()
for _ in range(STEPS):
    step(now, new)
    trireme.barrier()
    now, new = new, now
own = sum((tile.array.sum() for tile in now.own_tiles()), start=0.0)
total = trireme.allreduce(own)
if trireme.pe() == 0:
    print(f"heat of the plate after {STEPS} steps: {total:.6f}")
