# SPDX-License-Identifier: Apache-2.0
"""Columns of rows by a network, against the network row by row; needs no cluster."""

import os
import tempfile
import unittest

import numpy as np
import serve_nets
import tenon
from tenon.ray._rows import Rows


class RowsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(tempfile.TemporaryDirectory())

    def engine(self, least=1, most=8):
        return tenon.Plan(serve_nets.scale(os.path.join(self.folder, "net.plan"), 3.0, least, most)).engine()

    def test_any_number_of_rows(self):
        for least, most in ((1, 8), (1, 1), (3, 8), (4, 4)):
            rows = Rows(self.engine(least, most))
            for count in (1, 2, 7, 8, 9, 33):
                x = np.random.default_rng(count).standard_normal((count, 4)).astype(np.float32)
                np.testing.assert_array_equal(rows({"x": x, "other": np.arange(count)})["y"], 3 * x)
        self.assertEqual(rows({"x": np.zeros((0, 4), np.float32)}), {})

    def test_rows_of_other_shapes(self):
        graph = tenon.Graph()
        graph.output(graph.input("x", "f32", ("n", "w")) * 2.0, "y")
        plan = graph.build({"x": [(1, 1), (4, 4), (8, 16)]}, timing=False)
        column = np.empty(9, object)
        column[:] = [np.full(width, width, np.float32) for width in (4, 4, 5, 5, 5, 16, 1, 1, 4)]
        y = Rows(plan.engine())({"x": column})["y"]
        self.assertEqual(y.dtype, object)
        for given, got in zip(column, y):
            np.testing.assert_array_equal(got, 2 * given)

    def test_what_is_wrong_is_said(self):
        x = np.zeros((2, 4), np.float32)
        rows = Rows(self.engine(), {"x": "image"})
        np.testing.assert_array_equal(rows({"image": x})["y"], x)
        with self.assertRaisesRegex(ValueError, "no column is called 'image': there are 'imag'; the nearest is 'imag'; input 'x' reads it"):
            rows({"imag": x})
        with self.assertRaisesRegex(ValueError, "no input is called 'z': there are 'x'"):
            Rows(self.engine(), {"z": "image"})
        with self.assertRaisesRegex(tenon.Error, "float64"):
            rows({"image": x.astype("d")})
        with self.assertRaisesRegex(tenon.Error, "shape"):
            rows({"image": x[:, :3]})
        graph = tenon.Graph()
        y = graph.input("x", "f32", ("n", 4))
        graph.output(graph.add("ReduceSum", [y, graph.constant([0, 1], "i64")], keepdims=0), "sum")
        whole = Rows(graph.build({"x": [(1, 4), (2, 4), (8, 4)]}, timing=False).engine())
        with self.assertRaisesRegex(ValueError, r"output 'sum' has shape \[\] for 2 rows"):
            whole({"x": x})


if __name__ == "__main__":
    unittest.main()
