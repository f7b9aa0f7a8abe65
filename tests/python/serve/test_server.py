# SPDX-License-Identifier: Apache-2.0
"""tenon-serve against an unchanged tritonclient: the protocol, versions, and input that is hostile."""

import concurrent.futures
import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import ml_dtypes
import numpy as np
import serve_nets
from server import PACKAGE, Server, free_ports, ones
from tritonclient.utils import InferenceServerException

BOTH = ("http", "grpc")


class Folder(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.net = serve_nets.scale(cls.path("net.plan"), 2.0)

    @classmethod
    def path(cls, *names):
        path = os.path.join(cls.folder, *names)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path


class Protocol(Folder):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = cls.enterClassContext(Server(f"net={cls.net}", "--contexts", "2", "--batch", "--max-request-mib", "1",
                                                  "--receive-seconds", "2", "--max-connections", "50"))

    def refused(self, words, function, *arguments, status=None, **options):
        with self.assertRaises(InferenceServerException) as caught:
            function(*arguments, **options)
        self.assertRegex(str(caught.exception), words)
        if status:
            self.assertIn(status, str(caught.exception.status()))

    def post(self, path, body, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.http_port, timeout=20)
        with contextlib.closing(connection):
            connection.request("POST", path, body, {name.replace("_", "-"): value for name, value in headers.items()})
            answer = connection.getresponse()
            return answer.status, answer.read()

    def test_infer(self):
        x = np.arange(8, dtype=np.float32).reshape(2, 4)
        for client, binary in (("http", None), ("http", False), ("grpc", None)):
            self.assertTrue(np.array_equal(self.server.ask(client, x, binary=binary), 2 * x), client)
            self.assertTrue(np.array_equal(self.server.ask(client, x, version="1"), 2 * x), client)

    def test_health_and_metadata(self):
        for client in (self.server.http, self.server.grpc):
            self.assertTrue(client.is_server_live() and client.is_server_ready())
            self.assertTrue(client.is_model_ready("net") and client.is_model_ready("net", "1"))
            self.assertFalse(self._is_ready(client, "no"))
        self.assertEqual(self.server.http.get_model_metadata("net")["inputs"], [{"name": "x", "datatype": "FP32", "shape": [-1, 4]}])
        self.assertEqual(list(self.server.grpc.get_model_metadata("net").inputs[0].shape), [-1, 4])
        self.assertEqual(self.server.http.get_server_metadata()["name"], "tenon")

    @staticmethod
    def _is_ready(client, name):
        try:
            return client.is_model_ready(name)
        except InferenceServerException:
            return False

    def test_wrong_requests_say_what_is_wanted(self):
        for client in BOTH:
            ask = self.server.ask
            self.refused("model 'no' is not served here: there are net", ask, client, ones(), name="no")
            self.refused("model 'net' has no version '7': there are 1", ask, client, ones(), version="7")
            self.refused("no input is called 'z': there are 'x'", ask, client, ones(), input_name="z")
            self.refused("FP64 came, FP32 is wanted", ask, client, ones().astype("f8"), datatype="FP64")
            self.refused(r"shape \[9, 4\] came, \[1..8, 4\] is wanted", ask, client, ones(9))
            self.refused(r"shape \[4\] came, \[1..8, 4\] is wanted", ask, client, ones()[0])
            self.refused("BF16 is not had here, FP32 is wanted", ask, client, ones().astype(ml_dtypes.bfloat16), datatype="BF16")
        self.assertTrue(np.array_equal(self.server.ask("http", ones()), 2 * ones()))

    def test_shared_memory_is_refused_by_name(self):
        for client in (self.server.http, self.server.grpc):
            self.refused("shared memory is not had here", client.get_system_shared_memory_status)
            self.refused("shared memory", client.register_system_shared_memory, "a", "/a", 16)
            self.refused("parameter|'config'", client.load_model, "net", config="{}")

    def test_bodies_that_are_no_requests(self):
        path = "/v2/models/net/infer"
        for body, headers in ((b"", {}), (b"{", {}), (b"[]", {}), (b"\0" * 100, {}), (b"{}", {"Inference_Header_Content_Length": "9"}),
                              (b"{}", {"Inference_Header_Content_Length": "x"}), (b"[" * 500_000, {}),
                              (json.dumps({"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 4], "data": ["a"] * 4}]}), {})):
            status, answer = self.post(path, body, **headers)
            self.assertEqual(status, 400, answer)
            self.assertTrue(json.loads(answer)["error"])
        self.assertEqual(self.post(path, b"{}", Content_Encoding="gzip")[0], 415)
        self.assertEqual(self.post("/v2/models/net/generate", b"{}")[0], 501)
        self.assertEqual(self.post("/other", b"{}")[0], 404)

    def test_bodies_that_are_too_long_or_never_end(self):
        path = "/v2/models/net/infer"
        status, answer = self.post(path, b"x" * (2 << 20))
        self.assertEqual((status, "at most 1048576" in json.loads(answer)["error"]), (413, True))

        def unending():
            while True:
                yield b"x" * 65536
        before = self.server.resident_kib()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.assertEqual(self.post(path, unending(), Transfer_Encoding="chunked")[0], 413)
        with socket.create_connection(("127.0.0.1", self.server.http_port), timeout=20) as slow:
            slow.sendall(b"POST /v2/models/net/infer HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nabc")
            self.assertIn(b"408", slow.recv(4096))
        self.assertLess(self.server.resident_kib() - before, 64 << 10)
        with self.assertRaisesRegex(InferenceServerException, "RESOURCE_EXHAUSTED|larger than max"):
            self.server.ask("grpc", np.ones((100_000, 4), np.float32))

    def test_many_connections(self):
        before = self.server.resident_kib()
        with contextlib.ExitStack() as stack:
            sockets = []
            for _ in range(400):
                with contextlib.suppress(OSError):
                    sockets.append(stack.enter_context(socket.create_connection(("127.0.0.1", self.server.http_port), timeout=5)))
            refused = 0
            for each in sockets:
                each.settimeout(0.02)
                with contextlib.suppress(OSError):
                    refused += b"503" in each.recv(200)
            self.assertGreater(refused, 300)
            self.assertTrue(np.array_equal(self.server.ask("grpc", ones()), 2 * ones()))
            self.assertLess(self.server.resident_kib() - before, 64 << 10)
            sockets[0].settimeout(10)  # those that say nothing are closed
            self.assertEqual(sockets[0].recv(10), b"")
        time.sleep(0.2)
        self.assertTrue(np.array_equal(self.server.ask("http", ones()), 2 * ones()))

    def test_what_is_counted(self):
        self.server.ask("http", ones())
        text = self.server.metrics()
        for name in ('tenon_requests_total{model="net",protocol="http",status="200",version="1"}', "tenon_run_seconds_bucket",
                     "tenon_queue_seconds_bucket", "tenon_batch_rows_bucket", "tenon_waiting_requests", "tenon_busy_contexts"):
            self.assertIn(name, text)
        self.assertNotIn('model="no"', text)

    def test_clients_that_run_side_by_side(self):
        def work(seed):
            x = np.random.default_rng(seed).standard_normal((1 + seed % 3, 4)).astype(np.float32)
            return all(np.array_equal(self.server.ask(client, x), 2 * x) for client in BOTH for _ in range(20))
        with concurrent.futures.ThreadPoolExecutor(6) as threads:
            self.assertTrue(all(threads.map(work, range(12))))


class Versions(Folder):
    def test_a_version_that_fails_leaves_the_served_one(self):
        folder = self.path("repository", "")
        serve_nets.scale(self.path("repository", "1", "net.plan"), 2.0)
        with Server(f"net={folder}") as server:
            for damage in (b"", b"no plan", None):
                path = self.path("repository", "2", "net.plan")
                if damage is None:
                    serve_nets.scale(path, 3.0)
                    with open(path, "r+b") as file:
                        file.truncate(os.path.getsize(path) // 2)
                else:
                    with open(path, "wb") as file:
                        file.write(damage)
                for client in (server.http, server.grpc):
                    with self.assertRaisesRegex(InferenceServerException, "what was served is served on"):
                        client.load_model("net")
                    self.assertEqual(server.ask("http", ones())[0, 0], 2)
            self.assertIn("plan", server.http.get_model_repository_index()[0]["reason"])
            serve_nets.scale(path, 3.0)
            server.http.load_model("net")
            self.assertEqual([server.ask(client, ones(), version=version)[0, 0] for client in BOTH for version in ("", "1", "2")],
                             [3, 2, 3] * 2)
            os.remove(self.path("repository", "1", "net.plan"))
            os.rmdir(self.path("repository", "1"))
            server.grpc.load_model("net")
            with self.assertRaisesRegex(InferenceServerException, "no version '1'"):
                server.ask("http", ones(), version="1")
            server.http.unload_model("net")
            with self.assertRaisesRegex(InferenceServerException, "not loaded"):
                server.ask("grpc", ones())
            self.assertEqual(server.http.get_model_repository_index()[0]["state"], "UNAVAILABLE")
            server.grpc.load_model("net")
            self.assertEqual(server.ask("grpc", ones())[0, 0], 3)

    def test_plans_are_swapped_under_load(self):
        path = serve_nets.scale(self.path("swapped.plan"), 1.0)
        plans = [serve_nets.scale(self.path(f"plan{factor}"), float(factor)) for factor in (1, 2)]
        wrong, asked = [], [0]

        def work(client, ends):
            while time.monotonic() < ends:
                try:
                    if server.ask(client, ones())[0, 0] not in (1, 2):
                        wrong.append("another result")
                except Exception as error:
                    wrong.append(str(error))
                asked[0] += 1
        with Server(f"net={path}", "--contexts", "2") as server:
            ends = time.monotonic() + float(os.environ.get("SWAP_SECONDS", "8"))
            threads = [threading.Thread(target=work, args=(client, ends)) for client in (*BOTH, *BOTH)]
            for thread in threads:
                thread.start()
            swaps = memory = 0
            while time.monotonic() < ends - 0.5:
                with open(plans[swaps % 2], "rb") as source, open(path + ".new", "wb") as target:
                    target.write(source.read())
                os.replace(path + ".new", path)
                server.http.load_model("net")
                swaps += 1
                memory = memory or server.resident_kib()
            for thread in threads:
                thread.join()
            self.assertEqual(wrong, [])
            self.assertGreater(min(asked[0], swaps), 10)
            self.assertLess(server.resident_kib() - memory, 64 << 10)


class Deadlines(Folder):
    def test_what_cannot_be_kept_is_refused(self):
        import tenon
        graph = tenon.Graph()
        x = y = graph.input("x", "f32", (512, 512))
        for _ in range(30):
            y = graph.add("MatMul", [y, x])
        graph.output(y, "y")
        path = self.path("slow.plan")
        graph.build(timing=False).save(path)
        x = np.eye(512, dtype=np.float32)
        with Server(f"net={path}", "--queue", "4", "--threads", "1") as server:
            server.ask("grpc", x)
            with self.assertRaisesRegex(InferenceServerException, "cannot be kept") as caught:
                server.ask("http", x, timeout=2000)
            self.assertEqual(caught.exception.status(), "429")
            with self.assertRaises(InferenceServerException) as caught:
                server.ask("grpc", x, timeout=2000)
            self.assertIn("RESOURCE_EXHAUSTED", caught.exception.status())

            def work(client):
                try:
                    return server.ask(client, x)[0, 0] == 1
                except InferenceServerException as error:
                    return "requests wait" in str(error)
            with concurrent.futures.ThreadPoolExecutor(16) as threads:
                answers = list(threads.map(work, BOTH * 8))
            self.assertTrue(all(answers))
            self.assertRegex(server.metrics(), r'status="429"')


class Starts(Folder):
    def refused(self, words, *arguments):
        run = subprocess.run([sys.executable, "-m", "tenon.serve", *arguments], capture_output=True, text=True,
                             env={**os.environ, "PYTHONPATH": PACKAGE}, timeout=60, check=False)
        self.assertEqual(run.returncode, 2, run.stderr)
        self.assertRegex(run.stderr.splitlines()[-1], "^tenon-serve: " + words)
        self.assertNotIn("Traceback", run.stderr)

    def test_a_port_in_use(self):
        with socket.socket() as used:
            used.bind(("127.0.0.1", 0))
            used.listen()
            port = used.getsockname()[1]
            for option in ("http_port", "grpc_port", "metrics_port"):
                self.refused(f"{option}: 127.0.0.1:{port} cannot be listened on: Address already in use", f"net={self.net}",
                             "--" + option.replace("_", "-"), str(port))
        self.refused("http_port: no such host:8080 cannot be listened on", f"net={self.net}", "--host", "no such host")

    def test_what_is_no_plan(self):
        path = self.path("net.onnx")
        with open(path, "wb") as file:
            file.write(b"a network")
        ports = [f"--{kind}-port={port}" for kind, port in zip(("http", "grpc", "metrics"), free_ports(3))]
        self.refused(f"model 'net' is not loaded: {path}: this is no plan; tenon build makes one", f"net={path}", *ports)
        self.refused(f"model 'net' is not loaded: {self.folder}: a folder for each version, as 1/net.plan", f"net={self.folder}", *ports)

    def test_a_signal_at_any_time_ends_it(self):
        """While modules are imported Python's own handlers end it; from then on it ends by itself, whether it loads, begins to listen or serves."""
        for number, delay in enumerate(np.linspace(0.3, 3, 10)):
            wanted = (signal.SIGINT, signal.SIGTERM)[number % 2]
            server = Server(f"net={self.net}")
            time.sleep(delay)
            server.process.send_signal(wanted)
            try:
                code = server.process.wait(40)
            finally:
                server.process.kill()
                server.grpc.close()
            text = server.text()
            server.log.close()
            if "loaded" in text:
                self.assertEqual(code, 0, text)
                self.assertNotIn("Traceback", text)
            else:
                self.assertIn(code, (0, 1, -wanted), text)

    def test_ipv6(self):
        with contextlib.suppress(OSError), socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
            with Server(f"net={self.net}", "--host", "::1", host="[::1]") as server:
                for client in BOTH:
                    self.assertTrue(np.array_equal(server.ask(client, ones()), 2 * ones()))
                self.assertIn("tenon_requests_total", server.metrics())
            return
        self.skipTest("this machine has no IPv6")


class Libraries(Folder):
    def test_plugins(self):
        layer = serve_nets.plugin()
        path = serve_nets.with_plugin(self.path("plugin.plan"), layer)
        folder = os.path.dirname(layer.path)
        run = subprocess.run([sys.executable, "-m", "tenon.serve", f"net={path}", "--plugin-dir", folder], capture_output=True, text=True,
                             env={**os.environ, "PYTHONPATH": PACKAGE}, timeout=60, check=False)
        self.assertEqual(run.returncode, 2)
        self.assertRegex(run.stderr, "tenon-serve: model 'net' is not loaded")
        with Server(f"net={path}", "--plugin-dir", folder, "--allow-plugin", folder) as server:
            self.assertEqual(server.ask("grpc", ones()).tolist(), [[2] * 4])


if __name__ == "__main__":
    unittest.main()
