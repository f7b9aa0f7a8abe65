# SPDX-License-Identifier: Apache-2.0
"""tenon.build: its options, calibration, progress, and its end by Ctrl-C."""

import os
import signal
import tempfile
import threading
import unittest

import numpy as np
import tenon
from models import model, small_convolution
from onnx import TensorProto, helper

SHAPE = {"x": (1, 3, 16, 16)}


def build(model, **options):
    return tenon.build(model, **{"threads": 1, "timing": False, **options})


class Options(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = small_convolution()
        cls.x = np.random.default_rng(5).standard_normal((1, 3, 16, 16), np.float32)
        cls.y = tenon.load(build(cls.model, shapes=SHAPE))(cls.x)

    def test_shapes_are_one_or_three_or_several_profiles(self):
        three = [(1, 3, 8, 8), (1, 3, 16, 16), (2, 3, 32, 32)]
        engine = build(self.model, shapes=[{"x": three}, SHAPE]).engine()
        self.assertEqual(engine.profiles, [{"x": tuple(three)}, {"x": (SHAPE["x"],) * 3}])
        np.testing.assert_allclose(engine.context().run((self.x,))["y"], self.y, atol=1e-5)
        with self.assertRaisesRegex(tenon.Error, r"input 'x'") as caught:
            engine.context().run((np.zeros((1, 3, 64, 64), np.float32),))
        self.assertEqual(caught.exception.code, "TN_ERROR_RANGE")

    def test_wrong_options_say_what_is_wanted(self):
        cases = [({"shapes": {"x": [(1, 3, 8, 8), (1, 3, 9, 9)]}}, ValueError, "2 shapes came; one is wanted, or three"),
                 ({"shapes": {"x": "1x3"}}, TypeError, "a tuple of whole numbers"),
                 ({"shapes": {"y": (1, 3, 8, 8)}}, tenon.Error, "'y'"),
                 ({"precision": "half"}, ValueError, "one of fp32, tf32, bf16, fp16, int8"),
                 ({"precision": "int8"}, ValueError, "needs the range of every tensor"),
                 ({"keep": 3}, TypeError, "keep: a text or a list of texts is wanted"),
                 ({"pins": "frist=direct"}, tenon.Error, "the nearest is 'first'"),
                 ({"threads": -3}, ValueError, "a number of threads from 0 to 1024 .* not -3"),
                 ({"threads": 2**32 + 1}, ValueError, "a number of threads"),
                 ({"threads": 5000}, ValueError, "from 0 to 1024 is wanted, not 5000"),
                 ({"device": "tpu"}, tenon.Error, "tpu"),
                 ({"borders": {"x": "uint9"}}, ValueError, "a type, 'nhwc', or 'TYPE:nhwc' is wanted"),
                 ({"max_accuracy_loss": 0.1}, ValueError, "needs samples"),
                 ({"values": {"z": [1, 2, 3]}}, tenon.Error, "no input is called 'z'")]
        for options, kind, message in cases:
            with self.subTest(options), self.assertRaisesRegex(kind, message):
                build(self.model, **{"shapes": SHAPE, **options})

    def test_half_of_a_model_is_computed_in_32_bits_or_kept(self):
        nodes = [helper.make_node("Mul", ["x", "k"], ["big"]), helper.make_node("Div", ["big", "k"], ["y"])]
        half = model(nodes, [("x", TensorProto.FLOAT16, (3,))], [("y", TensorProto.FLOAT16, None)], {"k": np.full(1, 400, np.float16)})
        x = np.array([1, -0.5, 1000], np.float16)
        for keep, largest in ((False, 1000), (True, np.inf)):
            y = tenon.load(build(half, keep_half=keep))(x)
            self.assertEqual(y.dtype, np.float16)
            np.testing.assert_array_equal(y, np.array([1, -0.5, largest], np.float16))

    def test_counts_are_any_integers(self):
        build(self.model, shapes=SHAPE, threads=np.int64(1))

    def test_lower_precision_is_near(self):
        for precision in "bf16", "fp16":
            y = tenon.load(build(self.model, shapes=SHAPE, precision=precision))(self.x)
            np.testing.assert_allclose(y, self.y, atol=0.1 * np.abs(self.y).max())

    def test_calibrates_with_any_iterable(self):
        batches = [self.x * scale for scale in (0.5, 1, 0.25)]
        several = {"arrays": batches, "dicts": [{"x": x} for x in batches], "generator": (x for x in batches)}
        for name, samples in several.items():
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                table = os.path.join(folder, "table")
                plan = build(self.model, shapes=SHAPE, precision="int8", calibration=samples, calibrator="minmax",
                             write_calibration=table, max_accuracy_loss=0.5)
                np.testing.assert_allclose(tenon.load(plan)(self.x), self.y, atol=0.1 * np.abs(self.y).max())
                self.assertIn("accuracy", plan.report)
                self.assertAlmostEqual(tenon.Calibration(table)["x"], np.abs(self.x).max() / 127, delta=1e-6)

    def test_errors_of_batches_reach_the_caller(self):
        def broken():
            raise LookupError("no such sample")

        class Samples(list):
            def __getitem__(self, index):
                return broken()
        with self.assertRaisesRegex(LookupError, "no such sample"):
            tenon.calibrate(self.model, Samples([1]), shapes=SHAPE, threads=1)
        with self.assertRaisesRegex(tenon.Error, "calibration: input 'x': float64"):
            tenon.calibrate(self.model, [self.x.astype("d")], shapes=SHAPE, threads=1)
        with self.assertRaisesRegex(tenon.Error, "no input is called 'X'.*the nearest is 'x'"):
            tenon.calibrate(self.model, [{"X": self.x}], shapes=SHAPE, threads=1)

    def test_calibrations_are_tables(self):
        table = tenon.Calibration()
        table["x"] = 0.5
        self.assertEqual((len(table), table["x"], table.items()), (1, 0.5, [("x", 0.5)]))
        with self.assertRaises(KeyError):
            table["y"]

    def test_borders_change_types_and_axes(self):
        net = tenon.load(build(self.model, shapes={"x": (1, 16, 16, 3)}, borders={"x": "float16:nhwc"}))
        self.assertEqual(net.inputs[0].type, "f16")
        np.testing.assert_allclose(net(self.x.transpose(0, 2, 3, 1).astype(np.float16)), self.y, atol=0.02 * np.abs(self.y).max())

    def test_values_of_an_input_decide_shapes(self):
        expand = model([helper.make_node("Expand", ["x", "size"], ["y"])],
                       [("x", TensorProto.FLOAT, (1, 1)), ("size", TensorProto.INT64, (2,))], [("y", TensorProto.FLOAT, None)])
        net = tenon.load(build(expand, values={"size": [[1, 1], [3, 4], [12, 12]]}))
        self.assertTrue(net.inputs[1].is_value)
        self.assertEqual(net(np.ones((1, 1), np.float32), np.array([4, 3])).shape, (4, 3))
        with self.assertRaises(tenon.Error) as caught:
            net(np.ones((1, 1), np.float32), np.array([4, 30]))
        self.assertEqual(caught.exception.code, "TN_ERROR_RANGE")

    def test_reports_what_it_chose(self):
        report = build(self.model, shapes=SHAPE, pins="first=reference").report
        self.assertIn("reference", str([node for node in report["nodes"] if node["name"] == "first"]))


class Progress(unittest.TestCase):
    def test_stages_are_told_and_false_stops(self):
        stages = []
        build(small_convolution(), shapes=SHAPE, progress=lambda stage, done, count: stages.append(stage))
        self.assertLessEqual({"passes", "lower", "choose", "write"}, set(stages))
        with self.assertRaises(tenon.Error) as caught:
            build(small_convolution(), shapes=SHAPE, progress=lambda stage, done, count: False)
        self.assertEqual(caught.exception.code, "TN_ERROR_CANCELLED")

    def test_an_exception_of_the_callback_is_the_callers(self):
        def progress(stage, done, count):
            raise LookupError(stage)
        with self.assertRaisesRegex(LookupError, "passes"):
            build(small_convolution(), shapes=SHAPE, progress=progress)

    def test_a_bar_is_shown_or_left_out(self):
        self.assertGreater(len(build(small_convolution(), shapes=SHAPE, progress=True).tobytes()), 0)

    def test_control_c_stops_a_build(self):
        graph = tenon.Graph(small_convolution().SerializeToString(), format="onnx")

        def interrupt(stage, done, count):
            if stage == "lower":
                os.kill(os.getpid(), signal.SIGINT)
        before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background commands ignore it
        self.addCleanup(signal.signal, signal.SIGINT, before)
        with self.assertRaises(KeyboardInterrupt):
            build(graph, shapes=SHAPE, progress=interrupt)
        self.assertGreater(len(build(graph, shapes=SHAPE).tobytes()), 0)

    def test_a_graph_is_built_by_one_thread_at_a_time(self):
        graph, errors = tenon.Graph(small_convolution().SerializeToString(), format="onnx"), []

        def again():
            try:
                build(graph, shapes=SHAPE)
            except tenon.Error as error:
                errors.append(error.code)

        def progress(stage, done, count):
            if not errors:
                thread = threading.Thread(target=again)
                thread.start()
                thread.join()
        build(graph, shapes=SHAPE, progress=progress)
        self.assertEqual(errors, ["TN_ERROR_STATE"])


if __name__ == "__main__":
    unittest.main()
