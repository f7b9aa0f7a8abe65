# SPDX-License-Identifier: Apache-2.0
"""Requests that no client writes: each gets the protocol's own error, memory stays within a bound, and who comes after them is answered."""

import contextlib
import json
import os
import socket
import struct
import tempfile
import threading
import time
import unittest

import grpc
import numpy as np
import serve_nets
from server import Server, ones
from tritonclient.grpc import service_pb2 as pb

RECEIVE_SECONDS = 3
MOST_KIB = 64 << 10  # that the server may grow by
MOST_RESETS_KIB = 48 << 10  # by streams that are reset at once and who asks meanwhile: 30 MiB, once; without a bound on streams 60 in 3 s, and more
POST = b"POST /v2/models/net/infer HTTP/1.1\r\nHost: a\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"
LIVE = b"GET /v2/health/live HTTP/1.1\r\nHost: a\r\n\r\n"


def frame(kind, flags, stream, body=b""):
    """Of HTTP/2."""
    return struct.pack(">I", len(body))[1:] + bytes((kind, flags)) + struct.pack(">I", stream) + body


def literal(name, value):
    return b"\0" + bytes((len(name),)) + name + bytes((len(value),)) + value


PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0)
HEADERS = b"".join(literal(*pair) for pair in (
    (b":method", b"POST"), (b":scheme", b"http"), (b":path", b"/inference.GRPCInferenceService/ModelInfer"), (b":authority", b"a"),
    (b"te", b"trailers"), (b"content-type", b"application/grpc")))


class Hostile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        net = serve_nets.scale(os.path.join(folder, "net.plan"), 2.0)
        cls.server = cls.enterClassContext(Server(f"net={net}", "--max-request-mib", "1", "--receive-seconds", str(RECEIVE_SECONDS)))
        for client in ("http", "grpc"):
            cls.server.ask(client, ones())

    def setUp(self):
        self.before = self.server.resident_kib()

    def tearDown(self):
        for client in ("http", "grpc"):
            self.assertTrue(np.array_equal(self.server.ask(client, ones()), 2 * ones()), client)
        self.assertLess(self.server.resident_kib() - self.before, MOST_KIB)


class Http(Hostile):
    def connect(self):
        return contextlib.closing(socket.create_connection(("127.0.0.1", self.server.http_port), timeout=20))

    def answer(self, request):
        """(status, error) of bytes."""
        with self.connect() as connection:
            connection.sendall(request)
            answer = b""
            while b"\r\n\r\n" not in answer or not answer.endswith(b"}"):
                part = connection.recv(65536)
                self.assertTrue(part, answer)
                answer += part
        head, _, body = answer.partition(b"\r\n\r\n")
        self.assertIn(b"application/json", head)
        return int(head.split()[1]), json.loads(body).get("error", "")

    def infer(self, change=None, text=None):
        table = {"name": "x", "datatype": "FP32", "shape": [1, 4], "data": [1, 2, 3, 4], **(change or {})}
        body = text or json.dumps({"inputs": [table]}).encode()
        return self.answer(POST + b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def test_what_is_no_http(self):
        for request in (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", POST + b"Content-Length: -5\r\n\r\nabc",
                        POST + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", POST + b"Content-Length: 3\r\n" + CHUNKED + b"0\r\n\r\n",
                        POST + CHUNKED + b"zz\r\n\r\n"):
            self.assertEqual(self.answer(request), (400, "this is no request of HTTP/1.1"), request)

    def test_values_that_are_none(self):
        for change in ({"shape": [0, 4], "data": []}, {"shape": [2**39] * 8, "data": []}, {"shape": [10**30, 1]}, {"shape": [-1, 4]}, {"name": "\0"},
                       {"parameters": [1]}, {"datatype": "X" * 100_000}, {"data": [1, 2, 3, None]}, {"data": [1, 2, 3, 1e300]}):
            status, error = self.infer(change)
            self.assertEqual(status, 400, change)
            self.assertLess(len(error), 1000)
        for text in (b"NaN", b"1e999", b"Infinity"):
            self.assertEqual(self.infer(text=json.dumps({"inputs": []}).encode().replace(b"[]", text))[0], 400, text)
        for text in (b'{"inputs": [], "id": "\\ud800"}', b'{"inputs": [], "id": "\xff"}', b'{"inputs": [], "parameters": {"timeout": 1e400}}'):
            self.assertEqual(self.infer(text=text)[0], 400, text)
        self.assertEqual(self.answer(b"GET /v2/models/%00%ff%0d%0a HTTP/1.1\r\nHost: a\r\n\r\n")[0], 404)
        self.assertEqual(self.answer(b"POST /v2/repository/models/..%2f..%2fetc/load HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")[0], 404)

    def test_what_never_ends_around_a_body(self):
        for first, again in ((b"GET /", b"a" * 65536), (b"GET / HTTP/1.1\r\nHost: ", b"a" * 65536), (b"GET / HTTP/1.1\r\n", b"a: b\r\n" * 10_000),
                             (b"", b"\r\n" * 30_000), (POST + CHUNKED + b"0\r\n", b"a: b\r\n" * 10_000), (POST + CHUNKED + b"1", b";a" * 30_000),
                             (b"POST /no HTTP/1.1\r\nHost: a\r\n" + CHUNKED, b"10000\r\n" + b"a" * 65536 + b"\r\n")):
            with self.connect() as connection, self.assertRaises((ConnectionError, BrokenPipeError), msg=first):
                ends = time.monotonic() + 10 * RECEIVE_SECONDS
                connection.sendall(first)
                while time.monotonic() < ends:
                    connection.sendall(again)
            self.assertLess(self.server.resident_kib() - self.before, MOST_KIB, first)
        status, error = self.answer(b"GET /" + b"a" * 70_000)
        self.assertEqual(status, 431)
        self.assertIn("at most 65536 bytes", error)

    def test_half_a_request_behind_a_whole_one(self):
        with self.connect() as connection:
            connection.sendall(LIVE)
            self.assertIn(b" 200 ", connection.recv(4096))
            connection.sendall(LIVE[:10])
            self.assertEqual(connection.recv(4096), b"")

    def test_small_chunks_and_requests_in_a_row_are_no_flood(self):
        body = json.dumps({"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 4], "data": [1] * 4}], "id": "a" * 20_000}).encode()
        self.assertEqual(self.answer(POST + CHUNKED + b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n")[0], 200)
        with self.connect() as connection:
            connection.sendall(LIVE * 3000)
            answers = b""
            while answers.count(b"HTTP/1.1 200") < 3000:
                part = connection.recv(1 << 20)
                self.assertTrue(part, answers.count(b"HTTP/1.1 200"))
                answers += part


class Grpc(Hostile):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        channel = cls.enterClassContext(grpc.insecure_channel(f"127.0.0.1:{cls.server.grpc_port}", options=[("grpc.max_send_message_length", -1)]))
        cls.infer = channel.unary_unary("/inference.GRPCInferenceService/ModelInfer")

    @staticmethod
    def message(raw=bytes(16), shape=(1, 4), datatype="FP32", name="x", times=1, **more):
        message = pb.ModelInferRequest(model_name="net", **more)
        for _ in range(times):
            message.inputs.add(name=name, datatype=datatype, shape=shape)
            if raw is not None:
                message.raw_input_contents.append(raw)
        return message

    def refused(self, message, words, status="INVALID_ARGUMENT", **options):
        with self.assertRaises(grpc.RpcError) as caught:
            self.infer(message if isinstance(message, bytes) else message.SerializeToString(), timeout=30, **options)
        self.assertEqual(caught.exception.code().name, status, caught.exception.details())
        self.assertRegex(caught.exception.details(), words)

    def test_inputs(self):
        message = self.message
        self.refused(message(times=2), "input 'x' came twice")
        for shape in ((-1, 4), (1 << 62, 4), (1,) * 1000):
            self.refused(message(shape=shape), "a list of at most 8 whole numbers")
        self.refused(message(shape=(1 << 39,) * 8), "16 bytes came, FP32 .* has 33374797")
        self.refused(message(raw=b"", shape=(0, 4)), r"shape \[0, 4\] came")
        self.refused(message(datatype="INT32"), "INT32 came, FP32 is wanted")
        self.refused(message(datatype="X" * 100_000), "X came, FP32 is wanted")
        self.refused(message(name="z" * 900_000), "no input is called 'zzz")
        self.refused(message(raw=b"abc"), "3 bytes came, FP32 .* has 16")
        self.refused(message(raw=bytes(64)), "64 bytes came, FP32 .* has 16")
        self.refused(message(raw=None), r"data is of shape \[0\]")
        both, other, more, infinite = message(), message(raw=None), message(), message(raw=None)
        both.inputs[0].contents.fp32_contents.extend([1] * 4)
        self.refused(both, "raw_input_contents and fp32_contents: one is wanted")
        other.inputs[0].contents.int_contents.extend([1] * 4)
        self.refused(other, "int_contents came")
        more.raw_input_contents.append(b"a")
        self.refused(more, "2 raw_input_contents came for 1 inputs")
        infinite.inputs[0].contents.fp32_contents.extend([float("nan"), 1, 2, 3])
        self.refused(infinite, "out of its range")

    def test_messages_that_are_none(self):
        for data in (b"\xff" * 100, self.message().SerializeToString().replace(b"FP32", b"\xff\xfeAA"), b"\x0a\xff\xff\xff\xff\x0f"):
            self.refused(data, "a message of inference.GRPCInferenceService is wanted")
        self.refused(b"", "model '' is not served here", "NOT_FOUND")
        timeout = self.message()
        timeout.parameters["timeout"].string_param = "1"
        self.refused(timeout, "timeout: whole microseconds")
        many = self.message(id="a" * 100_000)
        for i in range(20_000):
            many.parameters[str(i)].int64_param = i
        self.assertEqual(pb.ModelInferResponse.FromString(self.infer(many.SerializeToString())).id, "a" * 100_000)

    def test_a_bomb(self):
        bomb = self.message(raw=bytes(64 << 20)).SerializeToString()
        self.refused(bomb, "larger than max", "RESOURCE_EXHAUSTED", compression=grpc.Compression.Gzip)

    def test_messages_that_never_come(self):
        with contextlib.ExitStack() as stack:
            for _ in range(8):
                connection = stack.enter_context(socket.create_connection(("127.0.0.1", self.server.grpc_port)))
                connection.sendall(PREFACE + b"".join(frame(1, 4, 2 * i + 1, HEADERS) for i in range(60)))
            ends = time.monotonic() + 10 * RECEIVE_SECONDS
            while True:  # refused while all 256 wait for their messages, answered when these have had their time
                try:
                    self.infer(self.message().SerializeToString(), timeout=30)
                    break
                except grpc.RpcError as error:
                    self.assertEqual(error.code().name, "RESOURCE_EXHAUSTED")
                    self.assertLess(time.monotonic(), ends)
                    time.sleep(0.1)

    def reset_streams(self):
        with socket.create_connection(("127.0.0.1", self.server.grpc_port)) as connection, contextlib.suppress(OSError):
            connection.settimeout(3)  # the server reads no more than it serves
            connection.sendall(PREFACE)
            ends, stream = time.monotonic() + 3, 1
            while time.monotonic() < ends:
                pairs = (frame(1, 4, stream + 2 * i, HEADERS) + frame(3, 0, stream + 2 * i, struct.pack(">I", 8)) for i in range(100))
                connection.sendall(b"".join(pairs))
                stream += 200

    def test_streams_that_are_reset_at_once(self):
        flood = threading.Thread(target=self.reset_streams)
        flood.start()
        while flood.is_alive():
            self.infer(self.message().SerializeToString(), timeout=10)
            time.sleep(0.05)
        self.assertLess(self.server.resident_kib() - self.before, MOST_RESETS_KIB)


del Hostile

if __name__ == "__main__":
    unittest.main()
