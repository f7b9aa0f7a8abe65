# SPDX-License-Identifier: Apache-2.0
"""A cluster with Ray Serve on a free port, and its clients by handle and over HTTP."""

import asyncio
import json
import os
import signal
import socket
import threading
import time
import urllib.error
import urllib.request

import numpy as np
import tenon.ray
from cluster import OnCluster
from ray import serve


def ones(rows=1):
    return np.ones((rows, 4), np.float32)


def table(x):
    """A request's JSON."""
    return {"inputs": [{"name": "x", "datatype": "FP32", "shape": list(x.shape), "data": x.ravel().tolist()}]}


class OnServe(OnCluster):
    nodes, cpus = 2, 2

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            cls.port = unused.getsockname()[1]
        # A proxy on each node would listen on one port of this machine, and connections of a killed one's be lost.
        serve.start(proxy_location="HeadOnly", http_options={"host": "127.0.0.1", "port": cls.port})
        cls.addClassCleanup(serve.shutdown)

    def run_plan(self, factor, **options):
        return self.run_path(self.scale(factor, f"{factor}.plan"), **options)

    def run_path(self, plan, app="app", **options):
        return serve.run(tenon.ray.deployment(plan, name="net", **{"num_replicas": 2, "health_check_period_s": 1, **options}), name=app,
                         route_prefix="/net" if app == "app" else f"/{app}")

    def ask(self, handle, x=None, **options):
        return asyncio.run(tenon.ray.ask(handle, {"x": ones() if x is None else x}, **options))["y"]

    def post(self, content, body=b"", headers=None, path="/v2/models/net/infer"):
        """(status, body, headers). content: what is sent as JSON, before `body`."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/net{path}", json.dumps(content).encode() + body, headers or {})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read(), answer.headers
        except urllib.error.HTTPError as error:
            return error.code, error.read(), error.headers

    def post_one(self):
        """The first value over HTTP. Raises OSError where there is none."""
        status, answer, _ = self.post(table(ones()))
        if status != 200:
            raise OSError(f"{status} {answer[:80]!r}")
        return json.loads(answer)["outputs"][0]["data"][0]

    @staticmethod
    def under_load(ask, meanwhile, clients=3):
        """Calls ask() on several threads until `meanwhile` has returned and each has asked once more: (values, errors)."""
        values, errors, ends = [], [], threading.Event()

        def work():
            is_last = False
            while not is_last:
                is_last = ends.is_set()
                try:
                    values.append(ask())
                except Exception as error:
                    errors.append(repr(error))
                time.sleep(0.02)
        threads = [threading.Thread(target=work) for _ in range(clients)]
        for thread in threads:
            thread.start()
        try:
            meanwhile()
        finally:
            ends.set()
            for thread in threads:
                thread.join()
        return values, errors

    def by_handle(self, handle):
        """A function that asks it once."""
        return lambda: float(self.ask(handle)[0, 0])

    def replicas(self, count, without=(), node=None, app="app"):
        """The processes of an application's replicas, when there are `count` beside those of `without`."""
        ends = time.monotonic() + 180
        while time.monotonic() < ends:
            found = set(self.workers(f"ray::ServeReplica:{app}:", node)) - set(without)
            if len(found) >= count:
                return found
            time.sleep(0.2)
        raise AssertionError(f"{count} replicas did not come back")

    def kill_replicas(self, times, killed):
        """One after the other, each when `killed` are replaced."""
        for _ in range(times):
            killed.append(min(self.replicas(2, killed)))
            os.kill(killed[-1], signal.SIGKILL)
        self.replicas(2, killed)
