# SPDX-License-Identifier: Apache-2.0
"""Threads, asynchronous runs, forks, interpreter's exit, and objects that go while a run is under way."""

import asyncio
import gc
import os
import subprocess
import sys
import textwrap
import threading
import unittest
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import tenon
from models import model, small_convolution
from onnx import TensorProto, helper


def long_model(count=2000):
    """A run that takes long enough to be ended: many products, one after the other."""
    nodes = [helper.make_node("MatMul", [f"t{i}", "x"], [f"t{i + 1}"], f"step{i}") for i in range(count)]
    nodes[0].input[0], nodes[-1].output[0] = "x", "y"
    return model(nodes, [("x", TensorProto.FLOAT, (128, 128))], [("y", TensorProto.FLOAT, None)])


class Threads(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.network = tenon.load(small_convolution(), shapes={"x": (1, 3, 16, 16)}, threads=1, timing=False)
        cls.x = np.random.default_rng(2).standard_normal((1, 3, 16, 16), np.float32)
        cls.y = cls.network(cls.x)
        cls.long = tenon.load(long_model(), threads=1, timing=False)
        cls.zero = np.zeros((128, 128), np.float32)

    def test_calls_of_many_threads_do_not_mix(self):
        def work(seed):
            x = self.x * seed
            expected = tenon.load(self.network.plan)(x)
            return all(np.array_equal(self.network(x), expected) for _ in range(50))
        with ThreadPoolExecutor(4) as threads:
            self.assertTrue(all(threads.map(work, range(1, 9))))

    def test_other_threads_go_on_while_one_runs(self):
        thread, counts = threading.Thread(target=self.long, args=(self.zero,)), 0
        thread.start()
        while thread.is_alive():
            counts += 1
        self.assertGreater(counts, 100)

    def test_a_context_is_one_threads(self):
        context, codes = self.long.engine.context(), []
        thread = threading.Thread(target=context.run, args=((self.zero,),))
        thread.start()
        while thread.is_alive():
            try:
                context.run((np.ones((128, 128), np.float32),))
            except tenon.Error as error:
                codes.append(error.code)
        self.assertIn("TN_ERROR_STATE", codes)

    def test_cancel_ends_a_run(self):
        context, codes = self.long.engine.context(), []

        def run():
            try:
                context.run((self.zero,))
            except tenon.Error as error:
                codes.append(error.code)
        thread = threading.Thread(target=run)
        thread.start()
        while thread.is_alive() and not context.cancel():
            pass
        thread.join()
        self.assertEqual(codes, ["TN_ERROR_CANCELLED"])
        self.assertEqual(context.run((self.zero,))["y"].shape, (128, 128))

    def test_runs_are_awaited_and_cancelled(self):
        async def all_of_them():
            results = await asyncio.gather(*(self.network.run_async((self.x,)) for _ in range(8)))
            task = asyncio.ensure_future(self.long.run_async((self.zero,)))
            await asyncio.sleep(0.01)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            return results
        for result in asyncio.run(all_of_them()):
            np.testing.assert_array_equal(result, self.y)

    def test_what_a_run_reads_lives_until_its_end(self):
        array = self.zero.copy()
        gone = weakref.ref(array)
        thread = threading.Thread(target=self.long.engine.context().run, args=({"x": array},))
        thread.start()
        del array
        gc.collect()
        thread.join()
        del thread
        gc.collect()
        self.assertIsNone(gone())

    def test_outputs_outlive_their_network(self):
        y = tenon.load(small_convolution(), shapes={"x": (1, 3, 16, 16)}, threads=1, timing=False)(self.x)
        gc.collect()
        np.testing.assert_array_equal(y, self.y)

    def test_objects_go_in_any_order(self):
        plan = tenon.build(small_convolution(), shapes={"x": (1, 3, 16, 16)}, threads=1, timing=False,
                           runtime=tenon.Runtime(log_level=1))
        engine = plan.engine()
        context = engine.context()
        del plan, engine
        gc.collect()
        np.testing.assert_array_equal(context.run((self.x,))["y"], self.y)

    def test_nothing_leaks(self):
        def resident_kib():
            with open("/proc/self/statm", encoding="ascii") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024
        for attempt in range(4):
            before = resident_kib()
            for i in range(2000):
                self.network(self.x)
                try:
                    self.network(self.x[0])
                except tenon.Error:
                    pass
            if resident_kib() - before < 500:
                return
        self.fail(f"2000 calls take {resident_kib() - before} KiB")


class Processes(unittest.TestCase):
    PRELUDE = """
        import os, sys, threading
        import numpy as np, tenon
        from models import small_convolution
        x = np.ones((1, 3, 16, 16), np.float32)
        def load(threads):
            return tenon.load(small_convolution(), shapes={"x": (1, 3, 16, 16)}, threads=threads, timing=False)
        net = load(2)
        y = net(x)
    """

    def run_python(self, program):
        paths = os.pathsep.join(path for path in sys.path if path)
        done = subprocess.run([sys.executable, "-X", "dev", "-c", textwrap.dedent(self.PRELUDE) + textwrap.dedent(program)],
                              env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        return done.stdout

    def test_exits_during_runs(self):
        self.run_python("""
            def forever():
                while True:
                    net(x)
            for _ in range(4):
                threading.Thread(target=forever, daemon=True).start()
            import asyncio, time
            time.sleep(0.05)
        """)

    def test_a_child_of_a_fork_is_told_to_load_again(self):
        self.assertEqual(self.run_python("""
            import warnings
            warnings.simplefilter("ignore", DeprecationWarning) # of 3.12 about forks in general
            if (child := os.fork()) == 0:
                try:
                    net(x)
                except tenon.Error as error:
                    print(error.code, flush=True)
                os._exit(np.array_equal(load(2)(x), y) + 0)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
            assert np.array_equal(net(x), y)
        """), "TN_ERROR_STATE\n")


if __name__ == "__main__":
    unittest.main()
