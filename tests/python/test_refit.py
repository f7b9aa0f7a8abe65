# SPDX-License-Identifier: Apache-2.0
"""Other data for the constants of an engine and of a plan, from arrays and from another checkpoint."""

import os
import tempfile
import unittest

import numpy as np
import tenon
from models import small_convolution
from onnx import numpy_helper

SHAPE = {"x": [(1, 3, 8, 8), (1, 3, 8, 8), (2, 3, 8, 8)]}
X = np.random.default_rng(5).standard_normal((1, 3, 8, 8), np.float32)


def checkpoint(factor):
    """The model with w2 multiplied, whose output is the product, too."""
    model = small_convolution()
    for initializer in model.graph.initializer:
        if initializer.name == "w2":
            initializer.CopyFrom(numpy_helper.from_array(factor * numpy_helper.to_array(initializer), "w2"))
    return model


def weights(model, name):
    return next(numpy_helper.to_array(each) for each in model.graph.initializer if each.name == name)


class Refit(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.plan = tenon.build(small_convolution(), shapes=SHAPE, refit=["w2"], timing=False, threads=1)
        cls.engine = cls.plan.engine()
        cls.y = cls.run_engine(cls.engine)

    @staticmethod
    def run_engine(engine):
        return engine.context().run({"x": X})["y"]

    def test_engine_names_its_constants(self):
        self.assertEqual([(port.name, port.type, port.shape) for port in self.engine.constants], [("w2", "f32", (4, 8, 1, 1))])

    def test_arrays_by_name_make_another_engine(self):
        twice = 2 * weights(small_convolution(), "w2")
        with_gaps = np.zeros((4, 8, 1, 2), np.float32)
        with_gaps[..., :1] = twice
        for given in (twice, with_gaps[..., :1], twice.tolist()):
            context = self.engine.context()
            engine = self.engine.refit({"w2": given})
            np.testing.assert_allclose(self.run_engine(engine), 2 * self.y, rtol=1e-5, atol=1e-5)
            np.testing.assert_array_equal(context.run({"x": X})["y"], self.y)  # the old one stays as it is
        again = engine.refit({"w2": twice / 2})
        np.testing.assert_allclose(self.run_engine(again), self.y, rtol=1e-5, atol=1e-5)

    def test_another_checkpoint_is_read(self):
        np.testing.assert_allclose(self.run_engine(self.engine.refit(checkpoint(3))), 3 * self.y, rtol=1e-5, atol=1e-5)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "other.onnx")
            with open(path, "wb") as file:
                file.write(checkpoint(4).SerializeToString())
            np.testing.assert_allclose(self.run_engine(self.engine.refit(path)), 4 * self.y, rtol=1e-5, atol=1e-5)

    def test_plan_is_written_with_other_data(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "twice.plan")
            made = self.plan.refit({"w2": 2 * weights(small_convolution(), "w2")}, path)
            self.assertEqual(made.path, path)
            np.testing.assert_allclose(self.run_engine(tenon.Plan(path).engine()), 2 * self.y, rtol=1e-5, atol=1e-5)
            again = made.refit(checkpoint(1), os.path.join(folder, "once.plan"))
            np.testing.assert_allclose(self.run_engine(again.engine()), self.y, rtol=1e-5, atol=1e-5)

    def test_network_is_refitted_and_saved(self):
        net = tenon.load(self.plan)
        twice = {"w2": 2 * weights(small_convolution(), "w2")}
        made = net.refit(twice)
        twice["w2"][:] = 0  # it was copied
        np.testing.assert_allclose(made(X), 2 * self.y, rtol=1e-5, atol=1e-5)
        np.testing.assert_array_equal(net(X), self.y)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "net.plan")
            for other, factor in ((made, 2), (net.refit(checkpoint(3)), 3), (made.refit(checkpoint(5)).refit({}), 5), (net, 1)):
                other.save(path)
                np.testing.assert_allclose(tenon.load(path)(X), factor * self.y, rtol=1e-5, atol=1e-5)

    def test_wrong_data_is_refused_and_nothing_written(self):
        right = weights(small_convolution(), "w2")
        with self.assertRaisesRegex(tenon.Error, "w2"):  # the nearest name
            self.engine.refit({"w3": right})
        with self.assertRaisesRegex(tenon.Error, "constant 'w2': float64"):
            self.engine.refit({"w2": right.astype(np.float64)})
        with self.assertRaisesRegex(tenon.Error, "w2"):
            self.engine.refit({"w2": right[:3]})
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "wrong.plan")
            with self.assertRaises(tenon.Error):
                self.plan.refit({"w2": right[:3]}, path)
            self.assertEqual(os.listdir(folder), [])
        with self.assertRaises(tenon.Error) as caught:
            tenon.build(small_convolution(), shapes=SHAPE, timing=False).engine().refit({"w2": right})
        self.assertEqual(caught.exception.code, "TN_ERROR_UNSUPPORTED")
        np.testing.assert_array_equal(self.run_engine(self.engine), self.y)


if __name__ == "__main__":
    unittest.main()
