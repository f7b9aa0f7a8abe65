# SPDX-License-Identifier: Apache-2.0
"""tenon.operator and tenon.Graph: operators in Python, and networks that are built by hand."""

import atexit
import gc
import signal
import tempfile
import threading
import unittest
import warnings

import numpy as np
import tenon

CACHE = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
atexit.register(CACHE.cleanup)


@tenon.operator("Test::RunningSum")
def running_sum(x, axis=-1):
    "The running sum along an axis."
    return np.cumsum(x, axis, dtype=x.dtype)


@tenon.operator("Test::Windows", shape=lambda x, size: (x.shape[0] - size + 1, size), inputs={"x": "T:f32|i64"}, outputs={"y": "T"})
def windows(x, size=2):
    return np.lib.stride_tricks.sliding_window_view(x, size)


def load(graph, **shapes):
    return graph.load(shapes or None, timing=False)


class Operators(unittest.TestCase):
    def setUp(self):
        catching = warnings.catch_warnings()
        catching.__enter__()
        self.addCleanup(catching.__exit__, None, None, None)
        warnings.simplefilter("ignore", RuntimeWarning)

    def test_runs_alone_by_any_type(self):
        for dtype in np.float32, np.int64, np.uint8:
            x = np.arange(6).astype(dtype).reshape(2, 3)
            np.testing.assert_array_equal(running_sum(x, axis=0), np.cumsum(x, 0))
        self.assertEqual(windows(np.arange(4), size=3).tolist(), [[0, 1, 2], [1, 2, 3]])

    def test_warns_once_that_it_is_slow(self):
        @tenon.operator("Test::Slow")
        def slow(x):
            return x

        with self.assertWarnsRegex(RuntimeWarning, "Test::Slow runs as a Python function"):
            slow([1.0])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            slow([1.0])

    def test_runs_in_a_network_of_dynamic_shapes_on_threads(self):
        graph = tenon.Graph()
        x = graph.input("x", "f32", ["n"])
        graph.output(graph.add("Relu", [graph.add(windows, [x * 2], size=3) - 1]), "y")
        net = graph.load({"x": [(3,), (5,), (64,)]}, timing=False)
        results, errors = {}, []

        def run(count):
            try:
                for _ in range(20):
                    results[count] = net(np.arange(count, dtype=np.float32))
            except Exception as error:
                errors.append(error)

        threads = [threading.Thread(target=run, args=[count]) for count in (3, 8, 64, 5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        self.assertFalse(errors or any(thread.is_alive() for thread in threads))
        for count, y in results.items():
            wanted = np.maximum(np.lib.stride_tricks.sliding_window_view(np.arange(count) * 2.0, 3) - 1, 0)
            np.testing.assert_array_equal(y, wanted)

    def test_the_function_may_run_networks_itself(self):
        inner = tenon.Graph()
        inner.output(inner.add("Neg", [inner.input("x", "f32", ["n"])]), "y")
        inner = inner.load({"x": [(1,), (4,), (9,)]}, timing=False)

        @tenon.operator("Test::Nested")
        def nested(x):
            return inner(x)

        self.assertEqual(nested(np.float32([1, 2])).tolist(), [-1, -2])

    def test_inputs_that_the_function_keeps_stay(self):
        kept = []

        @tenon.operator("Test::Keeps")
        def keeps(x):
            kept.append(x)
            if x.size > 8:
                raise ValueError("too large")
            return x + 1

        graph = tenon.Graph()
        graph.output(graph.add(keeps, [graph.add("Neg", [graph.input("x", "f32", ["n"])])]), "y")
        net = graph.load({"x": [(1,), (4,), (4096,)]}, timing=False)
        for count in 4, 8:
            net(np.full(count, count, np.float32))
        with self.assertRaisesRegex(tenon.Error, "too large"):
            net(np.full(4096, 9, np.float32))
        del net
        gc.collect()
        self.assertEqual([set(each.tolist()) for each in kept], [{-4.0}, {-8.0}, {-9.0}])
        # A debugger shows what the frames have: the engine's memory is no more in them.
        frame = keeps.exception.__traceback__
        while frame:
            for value in frame.tb_frame.f_locals.values():
                for view in value if isinstance(value, list) else ():
                    if isinstance(view, tuple) and isinstance(view[-1], memoryview):
                        with self.assertRaisesRegex(ValueError, "released"):
                            view[-1].tobytes()
            frame = frame.tb_next

    def test_what_ends_programs_ends_the_run(self):
        # Programs that a shell starts in the background ignore the signal, as theirs do.
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))

        @tenon.operator("Test::Ends")
        def ends(x):
            raise (KeyboardInterrupt if x[0] else SystemExit(3))

        with self.assertRaisesRegex(tenon.Error, "its Python function failed: SystemExit: 3"):
            ends([0.0])
        with self.assertRaises(KeyboardInterrupt):
            ends([1.0])
        self.assertEqual(running_sum([1.0, 2.0]).tolist(), [1, 3])

    def test_a_failing_function_is_an_error_with_its_reason(self):
        with self.assertRaisesRegex(tenon.Error, "Test::RunningSum.*its Python function failed: AxisError: axis 7 is out of bounds"):
            running_sum([1.0], axis=7)
        with self.assertRaisesRegex(tenon.Error, "its Python shape rule failed: IndexError"):
            windows(np.float32(1))
        self.assertIsInstance(windows.exception, IndexError)

        @tenon.operator("Test::Longer")
        def longer(x):
            return np.concatenate([x, x])

        with self.assertRaisesRegex(tenon.Error, r"output 'y' has shape \(2,\), and its shape rule says \(1,\)"):
            longer([1.0])

        @tenon.operator("Test::Writes")
        def writes(x):
            x[0] = 1
            return x

        with self.assertRaisesRegex(tenon.Error, "read-only"):
            writes([1.0])

    def test_check_finds_what_differs_between_runs(self):
        self.assertFalse(running_sum.check(np.ones((2, 3), np.float32), axis=0).failed)
        count = iter(range(100))

        @tenon.operator("Test::Counts")
        def counts(x):
            return x + next(count)

        with self.assertRaisesRegex(tenon.CheckFailed, "same-each-time"):
            counts.check(np.zeros(2, np.float32))

    def test_a_kernel_in_c_is_compared_with_the_function(self):
        @tenon.operator("Test::Doubled", directory=CACHE.name, inputs={"x": "f32"}, outputs={"y": "f32"}, forward="""
            for (int64_t i = 0; i < tn_layer_count(x); i++) ((float *)y->data)[i] = 2 * ((const float *)x->data)[i];""")
        def doubled(x):
            return x * 2

        self.assertEqual(doubled([1, 2]).tolist(), [2, 4])
        self.assertIn("matches-python-reference", [each.rule for each in doubled.check(rules=["matches-reference"]).passed])

    def test_values_that_decide_shapes(self):
        @tenon.operator("Test::Zeros", inputs={"shape": "i64 value"}, outputs={"y": "f32"}, shape=lambda shape: shape.value.tolist())
        def zeros(shape):
            return np.zeros(shape, np.float32)

        self.assertEqual(zeros(np.int64([2, 3])).shape, (2, 3))

    def test_wrong_declarations(self):
        with self.assertRaisesRegex(TypeError, "for a compiled kernel"):
            tenon.operator("Test::A", setup="x")(lambda x: x)
        with self.assertRaisesRegex(ValueError, "expected the same"):
            tenon.operator("Test::A", inputs={"a": "f32"})(lambda x: x)
        with self.assertRaisesRegex(TypeError, "shape is str"):
            tenon.operator("Test::A", shape="x")(lambda x: x)

    def test_operators_and_runtimes_go_in_any_order(self):
        for _ in range(3):
            runtime = tenon.Runtime()

            @tenon.operator("Test::Gone")
            def gone(x):
                return x

            graph = tenon.Graph(runtime=runtime)
            graph.output(graph.add(gone, [graph.input("x", "f32", [2])]), "y")
            net = load(graph)
            del runtime, gone, graph
            gc.collect()
            self.assertEqual(net(np.float32([1, 2])).tolist(), [1, 2])
            del net
            gc.collect()


class Graphs(unittest.TestCase):
    def test_builds_a_network_with_constants_and_several_outputs(self):
        graph = tenon.Graph(name="net")
        x = graph.input("x", "f32", ["batch", 6])
        weights = graph.constant(np.ones((6, 4), np.float32), name="weights")
        first, second = graph.add("Split", [graph.add("MatMul", [x, weights])], {"axis": 1, "num_outputs": 2}, 2)
        graph.output(first, "first")
        graph.output(1 - second / 2, "second")
        self.assertEqual([port.name for port in graph.inputs + graph.outputs], ["x", "first", "second"])
        net = load(graph, x=[(1, 6), (2, 6), (4, 6)])
        y = net(np.ones((3, 6), np.float32))
        self.assertEqual((y["first"].tolist(), y["second"].tolist()), ([[6, 6]] * 3, [[-2, -2]] * 3))

    def test_fields_of_every_kind(self):
        graph = tenon.Graph()
        x = graph.input("x", "f32", [1, 1, 4, 4])
        y = graph.add("MaxPool", [x], kernel_shape=[2, 2], strides=[2, 2], auto_pad="NOTSET")
        y = graph.add("Clip", [y, None, 9.0])
        graph.output(graph.add("Add", [y, graph.add("Constant", [], value=np.float32([1]))]), "y")
        self.assertEqual(load(graph)(np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)).ravel().tolist(), [6, 8, 10, 10])

    def test_wrong_nodes(self):
        graph = tenon.Graph()
        x = graph.input("x", "f32", [2])
        for call, text in [
                (lambda: graph.add("Rellu", [x]), "Relu"), (lambda: graph.add("Relu", [x], alhpa=1), "alhpa"),
                (lambda: graph.input("x", "f32", [2]), "'x'"), (lambda: graph.input("z", "f33", [2]), "f33"),
                (lambda: graph.add("LeakyRelu", [x], alpha="big"), "alpha"), (lambda: graph.constant(["a"]), "an array of"),
                (lambda: tenon.Graph().add("Relu", [x]), "another graph"), (lambda: graph.add("Relu", [x], alpha={}), "alpha"),
                (lambda: graph.input("w", "f32", [1] * 9), "9"), (lambda: graph.add("A::b c", [x]), "letters, digits")]:
            with self.subTest(text), self.assertRaisesRegex((tenon.Error, TypeError, ValueError), text):
                call()

    def test_reads_a_model_too(self):
        import os
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        self.assertEqual([port.name for port in tenon.Graph(os.path.join(root, "models", "lenet.onnx")).inputs], ["input"])
