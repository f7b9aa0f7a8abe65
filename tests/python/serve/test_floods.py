# SPDX-License-Identifier: Apache-2.0
"""Ten thousand connections to each port: memory stays within a bound, and who comes after them is answered."""

import contextlib
import os
import resource
import socket
import tempfile
import time
import unittest

import numpy as np
import serve_nets
from server import Server, ones

CONNECTIONS = 10_000
RECEIVE_SECONDS = 5
MOST_MIB = 192  # of the server, above what it has before
HALF_A_REQUEST = b"POST /v2/models/net/infer HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n{"
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"  # of HTTP/2, with empty settings


class Floods(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard < CONNECTIONS + 200:
            raise unittest.SkipTest(f"this machine lets a process have {hard} files")
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        cls.addClassCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        cls.folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.net = serve_nets.scale(os.path.join(cls.folder, "net.plan"), 2.0)

    def flood(self, port_of, first_bytes, other):
        """Opens the connections, sends `first_bytes` on each, and asks by the `other` protocol meanwhile; (peak MiB above, seconds)."""
        with Server(f"net={self.net}", "--receive-seconds", str(RECEIVE_SECONDS)) as server, contextlib.ExitStack() as stack:
            for client in ("http", "grpc"):
                server.ask(client, ones())
            before, start, sockets, peak = server.resident_kib(), time.monotonic(), [], 0
            for i in range(CONNECTIONS):
                with contextlib.suppress(OSError):
                    each = stack.enter_context(socket.create_connection(("127.0.0.1", port_of(server)), timeout=10))
                    each.setblocking(False)
                    sockets.append(each)
                    each.send(first_bytes)
                if i % 500 == 0:
                    peak = max(peak, server.resident_kib())
                    self.assertTrue(np.array_equal(server.ask(other, ones()), 2 * ones()))
            peak = max(peak, server.resident_kib())
            seconds = time.monotonic() - start
            self.assertGreater(len(sockets), CONNECTIONS * 9 // 10)
            self.assertTrue(np.array_equal(server.ask(other, ones()), 2 * ones()))
            time.sleep(RECEIVE_SECONDS + 1)
            if not first_bytes:
                sockets[-1].settimeout(10)
                with contextlib.suppress(ConnectionResetError):
                    while sockets[-1].recv(4096):  # until it is closed; TimeoutError where it is kept
                        pass
            stack.close()
            for client in ("http", "grpc"):
                self.assertTrue(np.array_equal(server.ask(client, ones()), 2 * ones()), client)
            above = (peak - before) / 1024
            print(f"{len(sockets)} connections in {seconds:.1f} s: {above:.0f} MiB above {before / 1024:.0f} MiB")
            self.assertLess(above, MOST_MIB)

    def test_http_that_says_nothing(self):
        self.flood(lambda server: server.http_port, b"", "grpc")

    def test_http_with_half_a_request(self):
        self.flood(lambda server: server.http_port, HALF_A_REQUEST, "grpc")

    def test_grpc_that_says_nothing(self):
        self.flood(lambda server: server.grpc_port, b"", "http")

    def test_grpc_after_the_preface(self):
        self.flood(lambda server: server.grpc_port, PREFACE, "http")


if __name__ == "__main__":
    unittest.main()
