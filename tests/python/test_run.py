# SPDX-License-Identifier: Apache-2.0
"""tenon.load and a network's calls: inputs of every kind, outputs, and what wrong inputs are told."""

import asyncio
import os
import sys
import tempfile
import unittest

import numpy as np
import tenon
from models import model
from onnx import TensorProto, helper

ROOT = os.environ.get("TENON_SOURCE", os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
LENET = os.path.join(ROOT, "models", "lenet.onnx")


class Foreign:
    """An array that is known by DLPack alone, like another library's tensor."""

    def __init__(self, array):
        self.array, self.count = array, 0

    def __dlpack__(self, **options):
        self.count += 1
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def load(*arguments, **options):
    return tenon.load(*arguments, timing=False, threads=1, **options)


class Calls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.network = load(LENET)
        cls.x = np.random.default_rng(1).standard_normal((1, 1, 28, 28), np.float32)
        cls.y = cls.network(cls.x)

    def test_computes_a_softmax_of_ten(self):
        self.assertEqual((self.y.shape, self.y.dtype), ((1, 10), np.float32))
        self.assertAlmostEqual(float(self.y.sum()), 1, delta=1e-5)

    def test_takes_inputs_by_position_dict_and_keyword(self):
        for result in self.network({"input": self.x}), self.network(input=self.x), self.network.run((self.x,)), \
                self.network.run(self.x), asyncio.run(self.network.run_async(self.x)):
            np.testing.assert_array_equal(result, self.y)

    def test_takes_views_lists_and_read_only_arrays(self):
        frozen = self.x.copy()
        frozen.setflags(write=False)
        transposed = np.ascontiguousarray(self.x.transpose(0, 1, 3, 2)).transpose(0, 1, 3, 2)
        for x in frozen, transposed, self.x.tolist(), np.flip(np.flip(self.x, 3).copy(), 3), memoryview(self.x):
            np.testing.assert_array_equal(self.network(x), self.y)

    def test_takes_tensors_by_dlpack(self):
        # copies, since a run of another test that was not awaited may still hold self.x
        tensor, transposed = Foreign(self.x.copy()), Foreign(np.ascontiguousarray(self.x.transpose(0, 1, 3, 2)).transpose(0, 1, 3, 2))
        for given in tensor, transposed:
            before = sys.getrefcount(given.array)
            np.testing.assert_array_equal(self.network(given), self.y)
            self.assertEqual((given.count, sys.getrefcount(given.array)), (1, before))
        with self.assertRaisesRegex(tenon.Error, "float64 .* came, float32 is wanted"):
            self.network(Foreign(self.x.astype("d")))
        kept = Foreign(np.zeros((1, 10), np.float32))
        self.network.run({"input": self.x}, out={"output": kept})
        np.testing.assert_array_equal(kept.array, self.y)

    def test_refuses_arrays_that_cannot_be_written(self):
        frozen = np.zeros((1, 10), np.float32)
        frozen.setflags(write=False)
        cases = [(frozen, "output 'output': the array is read-only"), (np.zeros((1, 10)), "float64 .* came, float32 is wanted"),
                 (np.zeros((1, 9), np.float32), "'output'"), (np.zeros((1, 10), np.float32)[:, ::-1], "negative strides"),
                 ([0.0] * 10, "list came")]
        for given, message in cases:
            with self.subTest(message), self.assertRaisesRegex(tenon.Error, message):
                self.network.run({"input": self.x}, out={"output": given})
        with self.assertRaisesRegex(tenon.Error, "the nearest is 'output'"):
            self.network.run({"input": self.x}, out={"outptu": frozen})
        np.testing.assert_array_equal(self.network(self.x), self.y)

    def test_logs_to_logging(self):
        with self.assertLogs("tenon", "WARNING") as logs:
            self.network.plan.engine(threads=2)
        self.assertIn("chosen again", str(logs.output))

    def test_reading_misnamed_operators_names_node_and_operator(self):
        broken = model([helper.make_node("Rleu", ["x"], ["y"], "first")], [("x", TensorProto.FLOAT, (1,))],
                       [("y", TensorProto.FLOAT, None)])
        with self.assertRaisesRegex(tenon.Error, "Relu") as caught:
            load(broken)
        self.assertEqual(caught.exception.code, "TN_ERROR_UNSUPPORTED")

    def test_writes_to_given_arrays(self):
        whole, wide = np.zeros((1, 10), np.float32), np.zeros((1, 20), np.float32)
        self.assertIs(self.network.run({"input": self.x}, out={"output": whole}), whole)
        self.assertIs(self.network.run(self.x, out=whole), whole)
        self.network.run({"input": self.x}, out={"output": wide[:, ::2]})
        np.testing.assert_array_equal(whole, self.y)
        np.testing.assert_array_equal(wide[:, ::2], self.y)
        self.assertEqual(wide[:, 1::2].any(), False)

    def test_saves_and_loads_the_plan(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "lenet.plan")
            self.network.save(path)
            with open(path, "rb") as file:
                data = file.read()
            tenon.load(path).save(path + "2")
            for source in path, path + "2", data, tenon.Plan(path):
                np.testing.assert_array_equal(tenon.load(source)(self.x), self.y)

    def test_borrows_the_bytes_of_a_plan(self):
        data = self.network.plan.tobytes()
        whole = np.zeros(len(data) + 128, np.uint8)
        start = -whole.ctypes.data % 64
        plan = whole[start:start + len(data)]
        plan[:] = np.frombuffer(data, np.uint8)
        plan.flags.writeable = False
        references = sys.getrefcount(plan)
        engine = tenon.Plan(plan, borrow=True).engine()
        self.assertGreater(sys.getrefcount(plan), references)  # the engine keeps what it reads
        np.testing.assert_array_equal(engine.context().run({"input": self.x})["output"], self.y)
        copied = tenon.Plan(plan).engine()
        np.testing.assert_array_equal(copied.context().run({"input": self.x})["output"], self.y)
        del engine
        self.assertEqual(sys.getrefcount(plan), references)
        with self.assertRaisesRegex(ValueError, "not aligned to 64 bytes"):
            tenon.Plan(whole[start + 1:], borrow=True)
        with self.assertRaisesRegex(ValueError, "borrow=True is for the bytes of a plan"):
            tenon.Plan("net.plan", borrow=True)

    def test_errors_say_what_came_and_what_is_wanted(self):
        cases = [
            (self.x.astype("d"), "TN_ERROR_TYPE", r"input 'input': float64 \(1, 1, 28, 28\) came, float32 is wanted; array.astype"),
            (self.x[0], "TN_ERROR_SHAPE", r"input 'input' has shape \[1, 28, 28\]: expected"),
            (self.x.astype(">f4"), "TN_ERROR_TYPE", "of the other byte order came"),
            (None, "TN_ERROR_TYPE", "input 'input': NoneType came"),
            ({"inptu": self.x}, "TN_ERROR_NOT_FOUND", "no input is called 'inptu'.*the nearest is 'input'"),
            ({}, "TN_ERROR_ARGUMENT", "input 'input' is missing"),
        ]
        for given, code, message in cases:
            with self.assertRaisesRegex(tenon.Error, message) as caught:
                self.network(given)
            self.assertEqual(caught.exception.code, code)
        np.testing.assert_array_equal(self.network(self.x), self.y)

    def test_errors_of_shapes_say_what_would_fit(self):
        free = load(model([helper.make_node("Relu", ["x"], ["y"])], [("x", TensorProto.FLOAT, ["n", 3, "h", "w"])],
                          [("y", TensorProto.FLOAT, None)]), shapes={"x": [(1, 3, 8, 8), (1, 3, 16, 16), (2, 3, 64, 64)]})
        for net, shape, mend in [(self.network, (1, 28, 28), "array[None]"), (self.network, (28, 28), "array.reshape(1, 1, 28, 28)"),
                                 (free, (1, 8, 9, 3), "array.transpose(0, 3, 1, 2)"), (free, (8, 9, 3), "array.transpose(2, 0, 1)[None]"),
                                 (free, (1, 3, 4, 99), "the nearest shape is (1, 3, 8, 64)"), (free, (3, 9, 9), "array[None]"),
                                 (free, (2, 2, 3, 8, 8), None), (free, (5,), None)]:
            array = np.ones(shape, np.float32)
            with self.subTest(shape=shape), self.assertRaises(tenon.Error) as caught:
                net(array)
            found = caught.exception
            self.assertIn(found.code, ("TN_ERROR_SHAPE", "TN_ERROR_RANGE"))
            self.assertTrue(found.mend.startswith(mend) if mend else found.mend is None, found.mend)
            if mend:
                self.assertTrue(str(found).endswith(found.mend))
                if mend.startswith("array"):  # and it is so
                    net(eval(mend, {"array": array}))

    def test_outputs_that_share_memory_are_refused(self):
        network = load(model([helper.make_node("Neg", ["x"], ["y"]), helper.make_node("Abs", ["x"], ["z"])],
                             [("x", TensorProto.FLOAT, (4,))], [("y", TensorProto.FLOAT, None), ("z", TensorProto.FLOAT, None)]))
        x, memory = np.ones(4, np.float32), np.zeros(8, np.float32)
        for y, z in (memory[:4], memory[:4]), (memory[:4], memory[3:7]), (memory[::2], memory[::2]):
            with self.assertRaisesRegex(tenon.Error, "outputs 'y' and 'z': their arrays share memory"):
                network.run({"x": x}, out={"y": y, "z": z})
        self.assertFalse(memory.any())
        for y, z in (memory[:4], memory[4:]), (memory[::2], memory[1::2]):
            network.run({"x": x}, out={"y": y, "z": z})
            self.assertEqual((y.tolist(), z.tolist()), ([-1] * 4, [1] * 4))

    def test_errors_of_reading_have_the_file(self):
        with self.assertRaisesRegex(tenon.Error, "cannot open 'none.onnx'") as caught:
            load("none.onnx")
        self.assertEqual((caught.exception.code, caught.exception.file), ("TN_ERROR_NOT_FOUND", "none.onnx"))


class Shapes(unittest.TestCase):
    def test_arrays_without_elements_and_scalars(self):
        relu = load(model([helper.make_node("Relu", ["x"], ["y"])], [("x", TensorProto.FLOAT, ("n", 3))],
                          [("y", TensorProto.FLOAT, None)]))
        self.assertEqual(relu(np.zeros((0, 3), np.float32)).shape, (0, 3))
        scalar = load(model([helper.make_node("Add", ["x", "x"], ["y"])], [("x", TensorProto.FLOAT, ())],
                            [("y", TensorProto.FLOAT, None)]))
        self.assertEqual((scalar(1.5), scalar(1.5).shape), (3, ()))

    def test_outputs_that_are_inputs_or_the_same_tensor(self):
        network = load(model([helper.make_node("Identity", ["x"], ["y"]), helper.make_node("Identity", ["x"], ["z"])],
                             [("x", TensorProto.FLOAT, (2,))], [("y", TensorProto.FLOAT, None), ("z", TensorProto.FLOAT, None)]))
        x = np.array([1, 2], np.float32)
        results = network(x)
        results["y"][0] = 7
        self.assertEqual((x[0], results["z"][0]), (1, 1))

    def test_shapes_of_outputs_that_the_model_does_not_say(self):
        for shapes, expected in ({"x": [(1, 3, 8), (2, 3, 8), (4, 3, 8)]}, (None, 8, 3)), ({"x": (2, 3, 8)}, (2, 8, 3)), (None, (None, None, 3)):
            network = load(model([helper.make_node("Transpose", ["x"], ["y"], perm=[0, 2, 1])], [("x", TensorProto.FLOAT, ("n", 3, "w"))],
                                 [("y", TensorProto.FLOAT, None)]), shapes=shapes)
            self.assertEqual(network.outputs[0].shape, expected)

    def test_outputs_sized_by_their_data(self):
        network = load(model([helper.make_node("NonZero", ["x"], ["y"])], [("x", TensorProto.FLOAT, ("n",))],
                             [("y", TensorProto.INT64, None)]))
        for n in 0, 5, 3:
            np.testing.assert_array_equal(network(np.ones(n, np.float32)), [np.arange(n)])


class Types(unittest.TestCase):
    def identity(self, onnx_type, x):
        network = load(model([helper.make_node("Concat", ["x", "x"], ["y"], axis=0)], [("x", onnx_type, x.shape)],
                             [("y", onnx_type, None)]))
        y = network(x)
        self.assertEqual(y.dtype, x.dtype)
        np.testing.assert_array_equal(y, np.concatenate([x, x]))

    def test_numbers_keep_their_type(self):
        for name in "double float float16 int64 int32 int16 int8 uint64 uint32 uint16 uint8 bool".split():
            x = np.arange(6).reshape(2, 3).astype({"double": "f8", "float": "f4"}.get(name, name))
            self.identity(getattr(TensorProto, name.upper()), x)

    def test_bfloat16_is_that_of_ml_dtypes(self):
        import ml_dtypes
        self.identity(TensorProto.BFLOAT16, np.arange(6).reshape(2, 3).astype(ml_dtypes.bfloat16))

    def test_strings_are_objects(self):
        self.identity(TensorProto.STRING, np.array([["a", ""], ["zwölf", "c\0d"]], object))


if __name__ == "__main__":
    unittest.main()
