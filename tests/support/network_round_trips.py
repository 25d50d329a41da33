"""Round trips between two of network_hosts.sh's hosts, and large transfers both ways whose bytes must arrive intact.
Prints the shortest and the median round trip in microseconds.
Usage: network_round_trips.py   (on the first of the hosts; starts its other half on the second)"""
import hashlib
import os
import socket
import statistics
import subprocess
import sys
import threading
import time

PORT = 7000
BYTES = 32 << 20
TRIPS = 200


def receive(link, count):
    parts = []
    while count > 0:
        part = link.recv(min(count, 1 << 20))
        if not part:
            sys.exit("the other host closed the connection")
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def data_of(seed):
    return hashlib.shake_128(seed).digest(BYTES)


def exchange(link, mine, other):
    """Both directions at the same time."""
    sender = threading.Thread(target=link.sendall, args=(data_of(mine),))
    sender.start()
    same = receive(link, BYTES) == data_of(other)
    sender.join()
    return same


def answer():
    with socket.create_server(("", PORT)) as server:
        link, _ = server.accept()
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for _ in range(TRIPS):
        link.sendall(receive(link, 8))
    if not exchange(link, b"answer", b"ask"):
        sys.exit("bytes were changed on their way")


def connected(host):
    for _ in range(500):
        try:
            return socket.create_connection((host, PORT))
        except ConnectionRefusedError:
            time.sleep(0.02)
    sys.exit("the other host does not listen")


def ask(host):
    link = connected(host)
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    times = []
    for trip in range(TRIPS):
        begin = time.monotonic()
        link.sendall(trip.to_bytes(8, "little"))
        if receive(link, 8) != trip.to_bytes(8, "little"):
            sys.exit("bytes were changed on their way")
        times.append((time.monotonic() - begin) * 1e6)
    if not exchange(link, b"ask", b"answer"):
        sys.exit("bytes were changed on their way")
    print(f"{min(times):.1f} {statistics.median(times):.1f}")


if sys.argv[1:] == ["answer"]:
    answer()
else:
    second = os.environ["HOSTS"].split(",")[1]
    other = subprocess.Popen([os.environ["HOST_SHELL"], second, sys.executable, os.path.abspath(__file__), "answer"])
    ask(second)
    sys.exit(other.wait())
