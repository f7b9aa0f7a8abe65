# SPDX-License-Identifier: Apache-2.0
"""A server at four fifths of what it can do, its plan swapped again and again: no error, no other value, no memory that grows.

SERVE_SOAK_SECONDS: how long (60). The plan is swapped every 30 s, at least ten times.
"""

import os
import tempfile
import threading
import time
import unittest

import numpy as np
import serve_nets
from server import Server, ones

SECONDS = float(os.environ.get("SERVE_SOAK_SECONDS", "60"))
SWAP_SECONDS = min(30.0, SECONDS / 10)
CLIENTS = ("http", "grpc") * 2
CAPACITY_SECONDS, LOAD = 5.0, 0.8
MOST_KIB_A_MINUTE = 64 + 4096 * 60 / SECONDS  # of a short run the slope is noise of the allocator
VALUES = (1.0, 2.0)


class Client(threading.Thread):
    """Asks one request after the other: at once, or `interval` seconds apart where it keeps up with that."""

    def __init__(self, server, kind, ends, interval=0.0):
        super().__init__()
        self.server, self.kind, self.ends, self.interval = server, kind, ends, interval
        self.seconds, self.errors = [], []

    def run(self):
        due = time.monotonic()
        while time.monotonic() < self.ends:
            start = time.monotonic()
            try:
                value = self.server.ask(self.kind, ones())[0, 0]
                if value not in VALUES:
                    self.errors.append(f"the value is {value}")
            except Exception as error:
                self.errors.append(str(error))
            now = time.monotonic()
            self.seconds.append(now - start)
            due = max(due + self.interval, now - 1)  # what a second of other work took is made up for, more is not
            if due > now:
                time.sleep(due - now)


def ask(server, seconds, interval, meanwhile=lambda ends: None):
    """The clients, when they are done."""
    ends = time.monotonic() + seconds
    clients = [Client(server, kind, ends, interval) for kind in CLIENTS]
    for client in clients:
        client.start()
    meanwhile(ends)
    for client in clients:
        client.join()
    return clients


class Soak(unittest.TestCase):
    def test_swaps_at_four_fifths_of_the_load(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        plans = [serve_nets.scale(os.path.join(folder, f"{factor}.plan"), factor) for factor in VALUES]
        path = serve_nets.scale(os.path.join(folder, "net.plan"), VALUES[0])
        resident = []  # (seconds, KiB)

        def swap(ends):
            swaps, due, start = 0, time.monotonic() + SWAP_SECONDS, time.monotonic()
            while time.monotonic() < ends:
                time.sleep(min(0.5, SWAP_SECONDS / 4))
                resident.append((time.monotonic() - start, server.resident_kib()))
                if time.monotonic() >= due:
                    swaps, due = swaps + 1, due + SWAP_SECONDS
                    with open(plans[swaps % 2], "rb") as source, open(path + ".new", "wb") as target:
                        target.write(source.read())
                    os.replace(path + ".new", path)
                    server.http.load_model("net")
            self.swaps = swaps
        with Server(f"net={path}", "--contexts", "2") as server:
            full = ask(server, CAPACITY_SECONDS, 0.0)
            rate = sum(len(client.seconds) for client in full) / CAPACITY_SECONDS
            clients = ask(server, SECONDS, len(CLIENTS) / (rate * LOAD), swap)
        times = np.concatenate([client.seconds for client in clients])
        half = np.array(resident[len(resident) // 4:])  # the first quarter is the allocator's
        slope = np.polyfit(half[:, 0], half[:, 1], 1)[0] * 60
        p50, p99 = np.percentile(times, (50, 99)) * 1e3
        print(f"{len(times)} requests in {SECONDS:.0f} s, {len(times) / SECONDS / rate:.2f} of {rate:.0f} a second, {self.swaps} swaps: "
              f"p50 {p50:.2f} ms, p99 {p99:.2f} ms; memory {half[0, 1] / 1024:.0f} to {half[-1, 1] / 1024:.0f} MiB, {slope:+.0f} KiB a minute")
        self.assertEqual([error for client in (*full, *clients) for error in client.errors][:10], [])
        self.assertGreaterEqual(self.swaps, 8)
        self.assertGreater(len(times), SECONDS)
        self.assertLess(slope, MOST_KIB_A_MINUTE)


if __name__ == "__main__":
    unittest.main()
