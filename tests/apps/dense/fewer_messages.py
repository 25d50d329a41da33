"""Panels and operands go along rows and columns of the grid by broadcasts: runs a program over hosts of one PE each, and
checks that the busiest PE sends O(log P) messages a step by the version `tuned` where by `blas`, which gets tiles from their
owners, it sends O(P).

usage: fewer_messages.py TRIREME PROGRAM
"""
import math
import subprocess
import sys

TILES = 8  # in a row: so many steps


def messages(trireme, program, hosts):
    output = subprocess.run([trireme, "run", "-n", str(hosts), program, f"--tri-hosts={hosts}", "--n", str(TILES * 8), "--nb", "8",
                             "--p", "1", "--q", str(hosts), "--versions", "blas,tuned"],
                            check=True, capture_output=True, text=True, timeout=200).stdout
    found = {line.split()[0]: int(line.split()[4]) for line in output.splitlines() if line.startswith(("blas ", "tuned "))}
    print(f"{hosts} hosts: {found}")
    return found


def main():
    trireme, program = sys.argv[1:]
    few, many = messages(trireme, program, 2), messages(trireme, program, 8)
    # A broadcast over 2 hosts is one message of its root; over 8 it is log2(8) of them.
    most = few["tuned"] * int(math.log2(8))
    if many["tuned"] > most:
        raise SystemExit(f"tuned: the busiest of 8 PEs has sent {many['tuned']} messages; at most {most} are expected")
    if many["blas"] < 7 * TILES:
        raise SystemExit(f"blas: the busiest of 8 PEs has sent {many['blas']} messages; 7 others ask it for {TILES} tiles")


if __name__ == "__main__":
    main()
