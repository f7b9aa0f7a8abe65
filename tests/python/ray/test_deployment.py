# SPDX-License-Identifier: Apache-2.0
"""tenon.ray.deployment with Ray Serve: requests by handle and HTTP, replicas that are killed or fail, another plan while requests come."""

import asyncio
import contextlib
import json
import os
import re
import time
import unittest
import urllib.request

import numpy as np
import ray
import serve_nets
import tenon.ray
from ray import serve
from service import OnServe, ones, table
from tenon.serve import RequestError

ROOT = os.environ.get("TENON_SOURCE", os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))))


def private_bytes(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        return 1024 * sum(int(line.split()[1]) for line in file if line.startswith("Private"))


class Deployment(OnServe):
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

    def test_killed_replicas_lose_no_request(self):
        handle, killed = self.run_plan(2.0), []
        values, errors = self.under_load(self.by_handle(handle), lambda: self.kill_replicas(3, killed))
        self.assertEqual(len(set(killed)), 3)
        self.assertEqual(errors, [])
        self.assertEqual(set(values), {2.0})
        print(f"3 replicas killed: {len(values)} requests, none lost")

    def test_a_killed_node_loses_no_request(self):
        handle = self.run_plan(2.0, num_replicas=3)
        self.replicas(3)
        node = next(each for each in self.added if self.workers("ray::ServeReplica:app:", each))
        before = set(self.workers("ray::", node))
        lost = before & self.replicas(3)

        def kill():
            self.kill_node(node)
            self.replicas(3, before)
        values, errors = self.under_load(self.by_handle(handle), kill)
        self.added.append(self.add_node())
        self.assertGreater(len(lost), 0)
        self.assertEqual(errors, [])
        self.assertEqual(set(values), {2.0})
        self.assertEqual(self.ask(handle)[0, 0], 2)
        print(f"a node with {len(lost)} of 3 replicas killed: {len(values)} requests, none lost")

    def test_another_plan_while_requests_come(self):
        handle = self.run_plan(2.0)
        self.assertEqual(self.ask(handle)[0, 0], 2)
        values, errors = self.under_load(self.by_handle(handle), lambda: self.run_plan(3.0))
        self.assertEqual(errors, [])
        self.assertEqual(set(values), {2.0, 3.0})
        self.assertEqual(self.ask(handle)[0, 0], 3)

    def test_a_plan_that_fails_on_the_nodes_leaves_replicas_of_the_last(self):
        handle = self.run_plan(2.0)
        plan = serve_nets.with_plugin(self.path("lacking.plan"), serve_nets.plugin())  # of a library that no node is told of

        def run_it():
            with self.assertRaisesRegex(RuntimeError, "failed"):
                self.run_path(plan)
        values, errors = self.under_load(self.by_handle(handle), run_it)
        self.assertEqual(errors, [])
        self.assertEqual(set(values), {2.0})
        self.assertEqual(self.ask(self.run_plan(3.0))[0, 0], 3)

    def wait_for_one(self, app):
        ends = time.monotonic() + 120
        while len(self.replicas(1, app=app)) > 1 and time.monotonic() < ends:
            time.sleep(0.5)
        self.assertEqual(len(self.replicas(1, app=app)), 1)

    def test_replicas_come_and_go_with_requests_and_lose_none(self):
        layer = serve_nets.trouble()
        scaling = {"min_replicas": 1, "max_replicas": 2, "target_ongoing_requests": 1, "upscale_delay_s": 1, "downscale_delay_s": 1}
        path = serve_nets.with_plugin(self.path("slow.plan"), layer)
        options = {"plugins": [layer.path], "num_replicas": None, "autoscaling_config": scaling}
        self.run_plan(2.0, app="scaled")  # had a fixed number before
        self.addCleanup(serve.delete, "scaled")
        handle = self.run_path(path, app="scaled", **options)
        self.wait_for_one("scaled")
        # All clients use the handle for the first time at once.
        values, errors = self.under_load(self.by_handle(handle), lambda: self.replicas(2, app="scaled"), clients=6)
        again, errors_then = self.under_load(self.by_handle(handle), lambda: self.wait_for_one("scaled"), clients=1)
        self.assertEqual(errors + errors_then, [])
        self.assertEqual(set(values + again), {2.0})

    def test_a_replica_with_a_context_that_fails_is_replaced(self):
        layer = serve_nets.trouble()
        options = {"plugins": [layer.path], "contexts": 2, "num_replicas": 1, "health_check_timeout_s": 2, "graceful_shutdown_timeout_s": 2}
        handle = self.run_path(serve_nets.with_plugin(self.path("trouble.plan"), layer), **options)
        for value in (666, 777):  # fails from now on; never returns, in one of two contexts
            before = self.replicas(1)

            async def ask():
                with contextlib.suppress(Exception):
                    await asyncio.wait_for(handle.infer.remote({"x": value * ones()}), 5)
            asyncio.run(ask())
            self.replicas(1, before)
            self.assertEqual(self.ask(handle)[0, 0], 2)

    def test_a_plan_is_in_memory_once_a_node(self):
        # What replicas of a plan of 64 MiB have of their own is not more than what those of a small one have.
        owned = []
        for count in (1, 1 << 14):
            graph = tenon.Graph()
            weights = graph.constant(np.ones((count, 1024), np.float32))
            graph.output(graph.add("Gather", [weights, graph.input("x", "i64", (1,))]), "y")
            path = self.path("table.plan")
            graph.build(timing=False).save(path)
            self.run_path(path, num_replicas=3)
            owned.append([private_bytes(pid) >> 20 for pid in self.replicas(3)])
        print("MiB of a replica's own, small plan and 64 MiB:", owned)
        self.assertLess(max(owned[1]), max(owned[0]) + 32)

    def test_the_client_of_the_document(self):
        # Over HTTP, without http_retries: what a client sees of killed replicas, and the document's client, which sees nothing.
        with open(os.path.join(ROOT, "docs", "scaling.md"), encoding="utf-8") as file:
            block = next(block for block in re.findall(r"```python\n(.*?)```", file.read(), re.S) if "HTTPAdapter" in block)
        names = {}
        exec(block.split("answer =")[0], names)
        layer = serve_nets.trouble()
        self.run_path(serve_nets.with_plugin(self.path("trouble.plan"), layer), plugins=[layer.path])
        url, killed = f"http://127.0.0.1:{self.port}/net/v2/models/net/infer", []

        def by_document():
            answer = names["session"].post(url, json=table(ones()), timeout=60)
            answer.raise_for_status()
            return answer.json()["outputs"][0]["data"][0]
        values, errors = self.under_load(by_document, lambda: self.kill_replicas(3, killed))
        self.assertEqual(errors, [])
        self.assertEqual(set(values), {2.0})
        _, errors = self.under_load(self.post_one, lambda: self.kill_replicas(3, killed))
        print(f"3 replicas killed: {len(values)} requests by the document's client, none lost; a plain client saw {errors}")
        for error in errors:
            self.assertRegex(error, "OSError..50[03] ")

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
