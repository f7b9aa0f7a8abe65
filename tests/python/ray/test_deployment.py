# SPDX-License-Identifier: Apache-2.0
"""tenon.ray.deployment with Ray Serve: requests by handle and HTTP, replicas that are killed, another plan while requests come."""

import asyncio
import json
import os
import signal
import socket
import threading
import time
import unittest
import urllib.error
import urllib.request

import numpy as np
import ray
import tenon.ray
from cluster import OnCluster
from ray import serve
from tenon.serve import RequestError


def ones(rows=1):
    return np.ones((rows, 4), np.float32)


class Deployment(OnCluster):
    nodes, cpus = 2, 2

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            cls.port = unused.getsockname()[1]
        serve.start(http_options={"host": "127.0.0.1", "port": cls.port})
        cls.addClassCleanup(serve.shutdown)

    def run_plan(self, factor, **options):
        plan = self.scale(factor, f"{factor}.plan")
        return serve.run(tenon.ray.deployment(plan, name="net", **{"num_replicas": 2, "health_check_period_s": 1, **options}), name="app",
                         route_prefix="/net")

    def ask(self, handle, x=None, **options):
        return asyncio.run(tenon.ray.ask(handle, {"x": ones() if x is None else x}, **options))["y"]

    def post(self, table, body=b"", headers=None, path="/v2/models/net/infer"):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/net{path}", json.dumps(table).encode() + body, headers or {})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read(), answer.headers
        except urllib.error.HTTPError as error:
            return error.code, error.read(), {}

    def test_requests(self):
        handle = self.run_plan(2.0)
        np.testing.assert_array_equal(self.ask(handle, ones(5)), 2 * ones(5))
        x = np.arange(8, dtype=np.float32).reshape(2, 4)
        tensor = {"name": "x", "datatype": "FP32", "shape": [2, 4]}
        status, answer, _ = self.post({"inputs": [{**tensor, "data": x.tolist()}]})
        self.assertEqual((status, json.loads(answer)["outputs"][0]["data"]), (200, (2 * x).ravel().tolist()))
        table = {"inputs": [{**tensor, "parameters": {"binary_data_size": 32}}], "parameters": {"binary_data_output": True}}
        status, answer, headers = self.post(table, x.tobytes(), {"Inference-Header-Content-Length": str(len(json.dumps(table)))})
        length = int(headers["Inference-Header-Content-Length"])
        np.testing.assert_array_equal(np.frombuffer(answer[length:], np.float32), 2 * x.ravel())
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/net/v2/models/net") as metadata:
            self.assertEqual(json.load(metadata)["inputs"], [{"name": "x", "datatype": "FP32", "shape": [-1, 4]}])

    def test_wrong_requests(self):
        handle = self.run_plan(2.0)
        for x, words in ((ones(9), r"shape \[9, 4\] came, \[1..8, 4\] is wanted"),):
            with self.assertRaisesRegex(RequestError, words):
                self.ask(handle, x)
        with self.assertRaisesRegex(RequestError, "no input is called 'z': there are 'x'"):
            asyncio.run(tenon.ray.ask(handle, {"z": ones()}))
        for table, path, status in (({}, "/v2/models/net/infer", 400), ({}, "/v2/models/no/infer", 404), ({}, "/other", 404),
                                    ({"inputs": [{"name": "x", "datatype": "FP64", "shape": [1, 4], "data": [1] * 4}]}, "/v2/models/net/infer", 400)):
            code, answer, _ = self.post(table, path=path)
            self.assertEqual(code, status, answer)
            self.assertTrue(json.loads(answer)["error"])
        with self.assertRaisesRegex(ValueError, "contexts: 0 is not within"):
            tenon.ray.deployment(self.scale(2.0), contexts=0)

    def _under_load(self, handle, meanwhile):
        """Asks three at a time until `meanwhile` has returned and each has asked once more: (values, errors)."""
        values, errors, ends = [], [], threading.Event()

        async def work():
            is_last = False
            while not is_last:
                is_last = ends.is_set()
                try:
                    values.append(float((await tenon.ray.ask(handle, {"x": ones()}))["y"][0, 0]))
                except Exception as error:
                    errors.append(repr(error))
                await asyncio.sleep(0.02)

        async def main():
            await asyncio.gather(work(), work(), work())
        thread = threading.Thread(target=asyncio.run, args=(main(),))
        thread.start()
        try:
            meanwhile()
        finally:
            ends.set()
            thread.join()
        return values, errors

    def _replicas(self, count, without=(), node=None):
        """The processes of replicas, when there are `count` beside those of `without`."""
        ends = time.monotonic() + 180
        while time.monotonic() < ends:
            found = set(self.workers("ray::ServeReplica:app:", node)) - set(without)
            if len(found) >= count:
                return found
            time.sleep(0.2)
        raise AssertionError(f"{count} replicas did not come back")

    def test_killed_replicas_lose_no_request(self):
        handle, killed = self.run_plan(2.0), []

        def kill():
            for _ in range(3):
                killed.append(min(self._replicas(2, killed)))
                os.kill(killed[-1], signal.SIGKILL)
            self._replicas(2, killed)
        values, errors = self._under_load(handle, kill)
        self.assertEqual(len(set(killed)), 3)
        self.assertEqual(errors, [])
        self.assertEqual(set(values), {2.0})
        print(f"3 replicas killed: {len(values)} requests, none lost")

    def test_a_killed_node_loses_no_request(self):
        handle = self.run_plan(2.0, num_replicas=3)
        self._replicas(3)
        node = next(each for each in self.added if self.workers("ray::ServeReplica:app:", each))
        before = set(self.workers("ray::", node))
        lost = before & self._replicas(3)

        def kill():
            self.kill_node(node)
            self._replicas(3, before)
        values, errors = self._under_load(handle, kill)
        self.added.append(self.add_node())
        self.assertGreater(len(lost), 0)
        self.assertEqual(errors, [])
        self.assertEqual(set(values), {2.0})
        self.assertEqual(self.ask(handle)[0, 0], 2)
        print(f"a node with {len(lost)} of 3 replicas killed: {len(values)} requests, none lost")

    def test_another_plan_while_requests_come(self):
        handle = self.run_plan(2.0)
        self.assertEqual(self.ask(handle)[0, 0], 2)
        values, errors = self._under_load(handle, lambda: self.run_plan(3.0))
        self.assertEqual(errors, [])
        self.assertEqual(set(values), {2.0, 3.0})
        self.assertEqual(self.ask(handle)[0, 0], 3)

    def test_the_kept_plan_outlives_its_keeper(self):
        array = tenon.ray._plans.read(self.scale(5.0, "kept.plan"))
        digest = tenon.ray._plans.keep(array)
        keeper = ray.get_actor(tenon.ray._plans._name(digest), tenon.ray._plans.NAMESPACE)
        ray.kill(keeper, no_restart=False)
        ends, found = time.monotonic() + 60, None
        while found is None and time.monotonic() < ends:
            try:
                found = tenon.ray._plans.find(digest)
            except Exception:
                time.sleep(0.5)
        np.testing.assert_array_equal(found, array)
        self.assertTrue(tenon.ray.forget(self.path("kept.plan")))
        self.assertFalse(tenon.ray.forget(self.path("kept.plan")))
        with self.assertRaisesRegex(ValueError, "the cluster keeps no plan"):
            tenon.ray._plans.find(digest)


if __name__ == "__main__":
    unittest.main()
