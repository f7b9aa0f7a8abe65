# SPDX-License-Identifier: Apache-2.0
"""tenon.debug.bisect: the nodes that cost the accuracy are found among those that do not."""

import unittest

import debug_layers as layers
import numpy as np
import tenon
import tenon.debug
from debug_layers import network, node, sample


def products(count, costly):
    """Products by orthogonal matrices in a row; before a costly one stands a factor that 8 bits cannot hold: a channel of 1000 times the
    others, which the product takes back."""
    nodes, constants, name = [], {}, "x"
    for i in range(count):
        matrix = np.linalg.qr(np.random.default_rng(i).standard_normal((32, 32)))[0].astype(np.float32)
        if i in costly:
            factor = np.ones(32, np.float32)
            factor[0] = 1000
            constants[f"f{i}"] = factor
            nodes.append(node("Mul", f"{name} f{i}", f"m{i}", f"factor{i}"))
            name, matrix = f"m{i}", matrix / factor[:, None]
        constants[f"w{i}"] = matrix
        nodes.append(node("MatMul", f"{name} w{i}", "y" if i == count - 1 else f"t{i}", f"product{i}"))
        name = f"t{i}"
    return network(nodes, ("n", 32), constants)


def bisect(made, inputs, **options):
    return tenon.debug.bisect(made, inputs, "int8", show=False, timing=False, **options)


class Bisect(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.batches = [sample(16, 32, seed=seed) for seed in range(3)]

    def test_costly_nodes_are_found(self):
        for costly in [2], [1, 6]:
            made = products(8, costly)
            found = bisect(made, self.batches, max_loss=0.08, calibrator="minmax")
            self.assertGreater(found.loss, 0.2)
            self.assertLessEqual(found.kept_loss, 0.08)
            self.assertTrue(found.ok)
            self.assertEqual({name for name in found.keep if name.startswith("product")}, {f"product{i}" for i in costly})
            self.assertIn("product", found[0].node)
            self.assertIn(f"with keep={found.keep!r}", str(found))
            # What it says holds in a build.
            right = tenon.load(made, shapes={"x": (16, 32)}, timing=False)(self.batches[0])
            kept = tenon.load(made, shapes={"x": (16, 32)}, timing=False, precision="int8", calibration=self.batches, calibrator="minmax",
                              keep=found.keep)(self.batches[0])
            self.assertLess(np.abs(kept - right).sum() / np.abs(right).sum(), 0.1)

    def test_within_the_bound_nothing_is_kept(self):
        found = bisect(products(3, []), self.batches, max_loss=0.2)
        self.assertEqual((found.keep, found.ok, found.builds), ([], True, 1))
        self.assertEqual(found.loss, found.kept_loss)

    def test_a_bound_that_cannot_be_held_is_said(self):
        found = bisect(products(2, []), self.batches, max_loss=-1.0)
        self.assertFalse(found.ok)
        self.assertIn("more than the bound with every node kept", str(found))

    def test_wrong_arguments(self):
        for options, error, text in (({"precision": "fp32"}, ValueError, "a lower one is wanted"),
                                     ({"precision": "fp8"}, ValueError, "precision: 'fp8' came"),
                                     ({"keep": ["a"]}, TypeError, "keep is what bisect finds")):
            with self.assertRaisesRegex(error, text):
                tenon.debug.bisect(products(2, []), self.batches, **{"precision": "int8", **options})
        with self.assertRaisesRegex(ValueError, "no batch"):
            tenon.debug.bisect(products(2, []), [], "bf16")
        with self.assertRaisesRegex(tenon.Error, "no input is called 'z'"):
            bisect(products(2, []), {"z": self.batches[0]})


if __name__ == "__main__":
    unittest.main()
