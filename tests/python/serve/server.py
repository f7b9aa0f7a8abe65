# SPDX-License-Identifier: Apache-2.0
"""A tenon-serve that a test starts, and its two clients."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np
import tenon
import tritonclient.grpc
import tritonclient.http

PACKAGE = os.path.dirname(os.path.dirname(tenon.__file__))


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


class Server:
    """`arguments`: of tenon-serve, `program`: how it is started. Stops with a with-statement's end."""

    def __init__(self, *arguments, stops_with=0, program=None, host="127.0.0.1"):
        self.http_port, self.grpc_port, self.metrics_port = free_ports(3)
        self.log = tempfile.TemporaryFile("w+")
        self.stops_with = stops_with
        self.host = host
        self.process = subprocess.Popen(
            [*(program or [sys.executable, "-m", "tenon.serve"]), *arguments, "--http-port", str(self.http_port), "--grpc-port", str(self.grpc_port),
             "--metrics-port", str(self.metrics_port)], stdout=self.log, stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONPATH": PACKAGE})
        self._local = threading.local()
        self.grpc = tritonclient.grpc.InferenceServerClient(f"{host}:{self.grpc_port}")

    @property
    def http(self):
        """The thread's own: tritonclient's sockets are gevent's, which belong to one thread."""
        if not hasattr(self._local, "client"):
            self._local.client = tritonclient.http.InferenceServerClient(f"{self.host}:{self.http_port}")
        return self._local.client

    def __enter__(self):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise RuntimeError(self.text())
            with contextlib.suppress(Exception):
                if self.http.is_server_ready() and self.grpc.is_server_ready():
                    return self
            time.sleep(0.05)
        raise RuntimeError("the server does not listen: " + self.text())

    def __exit__(self, *_):
        self.http.close()
        self.grpc.close()
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(40)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise
        finally:
            text = self.text()
            self.log.close()
        assert self.process.returncode == self.stops_with, text
        assert "Traceback" not in text, text

    def text(self):
        self.log.seek(0)
        return self.log.read()

    def resident_kib(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))

    def metrics(self):
        import urllib.request
        with urllib.request.urlopen(f"http://{self.host}:{self.metrics_port}/metrics") as answer:
            return answer.read().decode()

    def ask(self, client, x, *, name="net", version="", input_name="x", datatype="FP32", output="y", binary=None, **options):
        """y of x by "http" or "grpc"."""
        module = getattr(tritonclient, client)
        tensor = module.InferInput(input_name, x.shape, datatype)
        tensor.set_data_from_numpy(x) if binary is None else tensor.set_data_from_numpy(x, binary_data=binary)
        outputs = None
        if binary is False:
            outputs = [module.InferRequestedOutput(output, binary_data=False)]
        return getattr(self, client).infer(name, [tensor], version, outputs=outputs, **options).as_numpy(output)


def ones(rows=1):
    return np.ones((rows, 4), np.float32)
