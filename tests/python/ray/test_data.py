# SPDX-License-Identifier: Apache-2.0
"""tenon.ray.predictor with Ray Data on several nodes: the same values as in a plain loop, also when workers and nodes are killed."""

import os
import signal
import unittest

import numpy as np
import ray
import tenon.ray
from cluster import Counter, OnCluster

ROWS, BLOCKS = 240, 24


def rows():
    return np.random.default_rng(0).standard_normal((ROWS, 4)).astype(np.float32)


def dataset():
    return ray.data.from_items([{"id": i, "x": x} for i, x in enumerate(rows())], override_num_blocks=BLOCKS)


def workers(count):
    return ray.data.ActorPoolStrategy(size=count)


class Data(OnCluster):
    def check(self, results, factor=2.0):
        """Each row once, with its value."""
        results = sorted(results, key=lambda row: row["id"])
        self.assertEqual([row["id"] for row in results], list(range(ROWS)))
        np.testing.assert_array_equal(np.stack([row["y"] for row in results]), factor * rows())

    def test_values(self):
        predictor = tenon.ray.predictor(self.scale(2.0))
        self.check(dataset().map_batches(predictor, batch_size=7, compute=workers(2)).take_all())

    def test_columns(self):
        predictor = tenon.ray.predictor(self.scale(2.0), inputs={"x": "image"}, outputs={"y": "label"}, keep=["id"])
        row = dataset().rename_columns({"x": "image"}).map_batches(predictor, batch_size=8, compute=workers(1)).take(1)[0]
        self.assertEqual(sorted(row), ["id", "label"])

    def test_wrong_names_are_said_before_workers_start(self):
        plan = self.scale(2.0)
        with self.assertRaisesRegex(ValueError, "no input is called 'z': there are 'x'"):
            tenon.ray.predictor(plan, inputs={"z": "image"})
        with self.assertRaisesRegex(ValueError, "no output is called 'z': there are 'y'"):
            tenon.ray.predictor(plan, outputs={"z": "image"})
        with self.assertRaisesRegex(ValueError, "is no plan"):
            tenon.ray.predictor(b"no plan at all")
        with self.assertRaises(FileNotFoundError):
            tenon.ray.predictor(self.path("none.plan"))

    def test_the_plan_is_read_from_the_object_store_without_a_copy(self):
        graph = tenon.Graph()
        x = graph.input("x", "f32", (1, 1024))
        graph.output(graph.add("MatMul", [x, graph.constant(np.eye(1024, dtype=np.float32))]), "y")
        array = tenon.ray._plans.read(graph.build(timing=False))
        self.assertGreater(array.nbytes, 1 << 20)
        reference = tenon.ray._plans.put_for_job(array)

        @ray.remote(num_cpus=1)
        def private_growth():
            """(kilobytes of the process's own that engines of the plan take, whether the bytes lie in the object store)."""
            array = ray.get(reference)

            def own():
                with open("/proc/self/smaps_rollup", encoding="ascii") as file:
                    return sum(int(line.split()[1]) for line in file if line.startswith("Private"))
            address = array.ctypes.data
            with open("/proc/self/maps", encoding="ascii") as file:
                maps = [line for line in file if "plasma" in line]
            ranges = [[int(end, 16) for end in line.split()[0].split("-")] for line in maps]
            tenon.ray._plans.load(array).engine()
            before = own()
            engines = [tenon.ray._plans.load(array).engine() for _ in range(4)]
            return own() - before, any(low <= address < high for low, high in ranges), len(engines)
        grown, is_shared, _ = ray.get(private_growth.remote())
        self.assertTrue(is_shared)
        self.assertLess(grown, 4096)

    def _killing(self, times):
        """A predictor that kills its own worker `times` times, at blocks apart; (class, counter of batches that began)."""
        counter = Counter.remote()
        base = tenon.ray.predictor(self.scale(2.0))

        class Killing(base):
            def __call__(self, batch):
                began = ray.get(counter.add.remote(int(batch["id"][0])))
                if began % 6 == 0 and began // 6 <= times:
                    os.kill(os.getpid(), signal.SIGKILL)
                return super().__call__(batch)
        return Killing, counter

    def test_killed_workers_lose_nothing(self):
        predictor, counter = self._killing(3)
        size = ROWS // BLOCKS
        self.check(dataset().map_batches(predictor, batch_size=size, compute=workers(2)).take_all())
        began = ray.get(counter.all.remote())
        self.assertGreater(len(began), BLOCKS)  # it did happen
        repeated = len(began) - BLOCKS
        print(f"3 workers killed: {repeated} of {BLOCKS} blocks run again")
        self.assertLessEqual(repeated, 3 * 2)  # the one that ran, and one that waited for the same worker

    def test_a_killed_node_loses_nothing(self):
        node = self.add_node()
        self.added.append(node)
        counter, base = Counter.remote(), tenon.ray.predictor(self.scale(2.0))

        class Slow(base):
            def __call__(self, batch):
                import time
                time.sleep(0.2)
                ray.get(counter.add.remote(ray.get_runtime_context().get_node_id()))
                return super().__call__(batch)
        found = []
        lost = node.node_id
        for row in dataset().map_batches(Slow, batch_size=ROWS // BLOCKS, compute=workers(6)).iter_rows():
            found.append(row)
            if node is not None and lost in ray.get(counter.all.remote()):
                self.kill_node(node)
                node = None
        self.assertIsNone(node, "the node that was to be killed had no work")
        self.check(found)


if __name__ == "__main__":
    unittest.main()
