# SPDX-License-Identifier: Apache-2.0
"""A server at four fifths of what it can do, its plan swapped again and again: no error, no other value, no memory that grows.

SERVE_SOAK_SECONDS: how long (60). The plan is swapped every 30 s, at least ten times. Each such round begins with a tenth in which the clients ask as
fast as they are answered; in the rest each asks at four fifths of the rate that it had then, so that the load follows the machine's speed. The
share of the load and the slope of memory are the machine's and the allocator's in a short run: they are bounds from 5 minutes on, before which
memory has a bound on what it grows by.
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
IS_LONG = SECONDS >= 300
ROUND_SECONDS = min(30.0, SECONDS / 10)
ROUNDS = round(SECONDS / ROUND_SECONDS)
CLIENTS = ("http", "grpc") * 2
FULL, LOAD = 0.1, 0.8  # of a round at full speed; of that speed in the rest
MOST_KIB_A_MINUTE = 64 + 4096 * 60 / SECONDS
MOST_KIB = 8 << 10  # that a short run grows by, from its second quarter to its last one
VALUES = (1.0, 2.0)


class Client(threading.Thread):
    """Asks one request after the other until `start` + SECONDS, and on until `ends` is set: rounds[k] is [requests a second at full speed, the
    same in the rest]."""

    def __init__(self, server, kind, start, ends):
        super().__init__()
        self.server, self.kind, self.start_time, self.ends = server, kind, start, ends
        self.seconds, self.errors, self.rounds = [], [], []

    def run(self):
        for number in range(ROUNDS):
            begin = self.start_time + number * ROUND_SECONDS
            full = self.ask(begin, begin + ROUND_SECONDS * FULL, 0.0, []) or 1 / ROUND_SECONDS
            self.rounds.append([full, self.ask(begin + ROUND_SECONDS * FULL, begin + ROUND_SECONDS, 1 / (full * LOAD), self.seconds)])
        while not self.ends.is_set():  # swaps that came late
            self.ask(time.monotonic(), time.monotonic() + ROUND_SECONDS / 4, 1 / (full * LOAD), self.seconds)

    def ask(self, begin, ends, interval, seconds):
        """Requests a second."""
        due, count = max(begin, time.monotonic()), 0
        while time.monotonic() < ends:
            start = time.monotonic()
            try:
                value = self.server.ask(self.kind, ones())[0, 0]
                if value not in VALUES:
                    self.errors.append(f"the value is {value}")
            except Exception as error:
                self.errors.append(str(error))
            now = time.monotonic()
            count += 1
            seconds.append(now - start)
            due = max(due + interval, now - 1)  # what a second of other work took is made up for, more is not
            if due > now:
                time.sleep(max(min(due, ends) - now, 0))
        return count / (ends - begin)


def loads(clients):
    """(requests a second at full speed, the share of it that was asked) of each round; full speed is the mean of before and after."""
    rounds = np.sum([client.rounds for client in clients], axis=0)
    full = (rounds[:, 0] + np.append(rounds[1:, 0], rounds[-1, 0])) / 2
    return full, rounds[:, 1] / full


class Soak(unittest.TestCase):
    def test_swaps_at_four_fifths_of_the_load(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        plans = [serve_nets.scale(os.path.join(folder, f"{factor}.plan"), factor) for factor in VALUES]
        path = serve_nets.scale(os.path.join(folder, "net.plan"), VALUES[0])
        resident = []  # (seconds, KiB)

        def watch(until):
            while True:
                resident.append((time.monotonic() - start, server.resident_kib()))
                if time.monotonic() >= until:
                    return
                time.sleep(min(0.5, ROUND_SECONDS / 4))

        def swap(number):
            with open(plans[number % 2], "rb") as source, open(path + ".new", "wb") as target:
                target.write(source.read())
            os.replace(path + ".new", path)
            server.http.load_model("net")
            for kind in ("http", "grpc"):
                self.assertEqual(server.ask(kind, ones())[0, 0], VALUES[number % 2])
        with Server(f"net={path}", "--contexts", "2") as server:
            start, ends = time.monotonic(), threading.Event()
            clients = [Client(server, kind, start, ends) for kind in CLIENTS]
            for client in clients:
                client.start()
            try:
                for number in range(ROUNDS):
                    watch(start + (number + 0.5) * ROUND_SECONDS)
                    swap(number + 1)
                watch(start + SECONDS)
            finally:
                ends.set()
                for client in clients:
                    client.join()
        self.assertEqual([error for client in clients for error in client.errors][:10], [])
        times = np.concatenate([client.seconds for client in clients])
        full, share = loads(clients)
        settled = np.array(resident[len(resident) // 4:])  # the first quarter is the allocator's
        slope = np.polyfit(settled[:, 0], settled[:, 1], 1)[0] * 60
        p50, p99 = np.percentile(times, (50, 99)) * 1e3
        print(f"{len(times)} requests in {SECONDS:.0f} s, {np.median(share):.2f} ({share.min():.2f} to {share.max():.2f}) of "
              f"{np.median(full):.0f} a second ({full.min():.0f} to {full.max():.0f}), {ROUNDS} swaps, 0 errors: p50 {p50:.2f} ms, p99 {p99:.2f} ms; "
              f"memory {settled[0, 1] / 1024:.0f} to {settled[-1, 1] / 1024:.0f} MiB, {slope:+.0f} KiB a minute")
        if IS_LONG:
            self.assertGreater(np.median(share), 0.7)  # beside other work some rounds are slower than both of their measurements
            self.assertLess(slope, MOST_KIB_A_MINUTE)
        quarter = max(len(settled) // 3, 1)
        self.assertLess(np.median(settled[-quarter:, 1]) - np.median(settled[:quarter, 1]), MOST_KIB + MOST_KIB_A_MINUTE * SECONDS / 60 * IS_LONG)


if __name__ == "__main__":
    unittest.main()
