# SPDX-License-Identifier: Apache-2.0
"""tenon.debug.compare: planted mistakes are found, where they are and nowhere else."""

import contextlib
import io
import os
import subprocess
import sys
import unittest

import debug_layers as layers
import numpy as np
import tenon
import tenon.debug
from debug_layers import BAD, BAD_SCALE, SOUND, network, node, sample
from models import model, small_convolution
from onnx import TensorProto

try:
    import onnxruntime
except ImportError:
    onnxruntime = None
X = sample(3, 4)


def compare(made, inputs=X, against="reference", plugins=(BAD,), **options):
    return tenon.debug.compare(made, inputs, against, plugins=plugins, every_node=options.pop("every_node", True), show=False, timing=False,
                               **options)


class AgainstReferences(unittest.TestCase):
    def test_the_first_node_that_differs_is_found(self):
        for at in 0, 3, 5:
            found = compare(layers.chain(at=at))
            self.assertEqual((found.first.node, found.first.op, found.first.library, found.first.difference.wrong),
                             (f"node{at}", "Test::Bad", "Bad", 1))
            self.assertEqual([row.outcome for row in found], ["same"] * at + ["differs"] + ["follows"] * (5 - at))
            self.assertEqual(found.first.difference.at, (1, 1))
            self.assertFalse(found.ok)
            self.assertRegex(str(found), rf"first node that differs: 'node{at}' \(Test::Bad, kernel compiled of Bad\), tensor '\w+': 1 of 12 ")
            self.assertIn("<table>", found._repr_html_())

    def test_what_is_sound_is_the_same(self):
        found = compare(layers.chain("Test::Sound"), plugins=[SOUND])
        self.assertTrue(found.ok and found.first is None and len(found) == 6)
        self.assertTrue(compare(small_convolution(), sample(2, 3, 9, 7), plugins=[]).ok)

    def test_prints(self):
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            tenon.debug.compare(layers.chain(), X, "reference", plugins=[BAD], every_node=True, timing=False)
        self.assertIn("first node that differs: 'node3'", text.getvalue())

    def test_a_long_network_shows_the_rows_around_it(self):
        found = compare(layers.chain(count=150, at=90))
        self.assertEqual(found.first.node, "node90")
        self.assertLess(len(str(found).splitlines()), 40)
        self.assertIn("rows, around the first that differs", str(found))

    def test_without_nodes_the_outputs_alone(self):
        found = compare(layers.chain(), every_node=False)
        self.assertEqual([row.tensor for row in found], ["y"])
        self.assertEqual(found.first.node, "node5")

    def test_two_mistakes_in_branches_are_two(self):
        made = network([node("Test::Bad", "x", "a", "one"), node("Test::Bad", "x", "b", "two"), node("Add", "a b", "y", "add")])
        self.assertEqual([row.outcome for row in compare(made)], ["differs", "differs", "follows"])

    def test_dynamic_shapes(self):
        found = compare(layers.chain(), shapes={"x": [(1, 4), (2, 4), (9, 4)]})
        self.assertEqual(found.first.node, "node3")
        # One row only: the element with the mistake is not there.
        self.assertTrue(compare(layers.chain(), X[:1], shapes={"x": [(1, 4), (2, 4), (9, 4)]}).ok)

    def test_other_importers_and_graphs_have_outputs(self):
        graph = tenon.Graph(plugins=[BAD])
        x = graph.input("x", "f32", [3, 4])
        graph.output(graph.add("Neg", [graph.add(BAD, [x])]), "y")
        self.assertFalse(compare(graph, every_node=False).ok)
        with self.assertRaisesRegex(TypeError, "give an ONNX model"):
            compare(graph)

    def test_tolerances_are_the_callers(self):
        self.assertTrue(compare(layers.chain(at=5), atol=2.0).ok)
        self.assertFalse(compare(layers.chain(at=5), atol=0.5, rtol=0).ok)

    def test_shapes_types_and_special_values(self):
        difference = tenon.debug._table.difference
        self.assertEqual(str(difference(np.ones(2), np.ones(3), 0, 0, True)), "shape (2,) came, (3,) is wanted")
        special = np.array([np.nan, np.inf, -np.inf, 0])
        self.assertFalse(difference(special, special, 0, 0, True))
        self.assertEqual(difference(special, special[::-1], 0, 0, True).wrong, 4)
        self.assertEqual(difference(np.array(["a", "b"], object), np.array(["a", "c"], object), 0, 0, True).wrong, 1)
        self.assertEqual(difference(np.array([1, 2]), np.array([1, 3]), 1, 1, False).wrong, 1)
        self.assertFalse(difference(np.zeros((0, 2)), np.zeros((0, 2)), 0, 0, True))

    def test_sequences_are_left_out_and_said(self):
        made = network([node("Relu", "x", "a", "relu"), node("SequenceConstruct", "a x", "q", "sequence"),
                        node("ConcatFromSequence", "q", "b", "cat", axis=0), node("Test::Bad", "b", "y", "bad")])
        self.assertEqual(compare(made).first.node, "bad")


class Bodies(unittest.TestCase):
    def test_a_loop_is_looked_into(self):
        found = compare(layers.loop())
        self.assertEqual((found.first.node, found.inside.first.node), ("loop", "inner"))
        self.assertIn("iteration 0 of 'loop'", str(found))

    def test_a_branch_is_looked_into(self):
        found = compare(layers.branch(), np.abs(X))
        self.assertEqual((found.first.node, found.inside.first.node), ("if", "inner"))
        self.assertIn("the else_branch of 'if'", str(found))

    def test_a_scan_is_looked_into(self):
        found = compare(layers.scan(), sample(3, 8))
        self.assertEqual((found.first.node, found.inside.first.node), ("scan", "inner"))

    def test_a_later_iteration(self):
        late = layers.layer("Late", "v + (v > 3 && i == 0)", "v")
        made = layers.loop("Test::Late", 6)
        found = compare(made, np.full((3, 4), 1.0, np.float32), plugins=[late])
        self.assertEqual((found.first.node, found.inside.first.node), ("loop", "inner"))
        self.assertRegex(str(found), "iteration [23] of 'loop'")


class Others(unittest.TestCase):
    def test_another_precision(self):
        weights = {"w": sample(64, 64, seed=1)}
        made = network([node("MatMul", "x w", "y", "product")], (8, 64), weights)
        options = {"plugins": [], "precision": "int8", "pins": "product=int8", "calibration": [sample(8, 64)],
                   "calibrator": "minmax"}
        found = compare(made, sample(8, 64), "fp32", rtol=1e-7, atol=0.0, **options)
        self.assertGreater(found.first.difference.loss, 1e-4)
        self.assertTrue(compare(made, sample(8, 64), "fp32", **options).ok)

    def test_plans_functions_and_arrays(self):
        bad = tenon.build(layers.chain(at=5), [BAD], {"x": (3, 4)}, timing=False)
        right = tenon.build(layers.chain("Identity", at=5), (), {"x": (3, 4)}, timing=False)
        for against in right, tenon.load(right), right.engine(), tenon.load(right).run_named({"x": X}), lambda inputs: {
                "y": np.asarray(tenon.load(right)(inputs["x"]))}:
            for made in bad, tenon.load(bad):
                found = tenon.debug.compare(made, X, against, show=False)
                self.assertEqual((found.first.tensor, found.first.difference.wrong), ("y", 1))
            self.assertFalse(compare(layers.chain(at=5), X, against, every_node=False).ok)
        self.assertTrue(tenon.debug.compare(right, X, right, show=False).ok)

    def test_wrong_arguments(self):
        for call, error, text in (
                (lambda: compare(layers.chain(), against="onxruntime"), ValueError, "against: 'onxruntime' came"),
                (lambda: compare(layers.chain(), against={"y": X}), ValueError, "every_node: given arrays has outputs alone"),
                (lambda: compare(layers.chain(), {"z": X}), tenon.Error, "no input is called 'z'"),
                (lambda: compare(layers.chain(), X.astype(np.float64)), tenon.Error, "float64"),
                (lambda: compare(tenon.build(layers.chain(), [BAD], {"x": (3, 4)}, timing=False)), TypeError, "for models"),
                (lambda: compare(layers.chain(), nonsense=1), TypeError, "nonsense")):
            with self.assertRaisesRegex(error, text):
                call()

    def test_without_the_packages_it_says_which(self):
        code = ("import sys; sys.modules['onnx'] = sys.modules['onnxruntime'] = None\n"
                "import numpy as np, tenon.debug\n"
                "try: tenon.debug.compare(sys.argv[1], np.zeros((1, 3, 4, 4), np.float32))\n"
                "except ImportError as error: print(error)\n"
                "found = tenon.debug.compare(sys.argv[1], np.zeros((1, 3, 4, 4), np.float32), 'reference', every_node=True, show=False, "
                "timing=False)\n"
                "print(found.ok, len(found))")
        path = os.path.join(layers.CACHE.name, "model.onnx")
        with open(path, "wb") as file:
            file.write(small_convolution().SerializeToString())
        done = subprocess.run([sys.executable, "-c", code, path], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, text=True,
                              capture_output=True, check=True)
        self.assertEqual(done.stdout.splitlines(), ['against="onnxruntime" needs the package onnx: pip install onnx', "True 3"])


class Fused(unittest.TestCase):
    def test_a_mistake_that_only_fusion_shows(self):
        # As if a kernel did the activation wrong that it has absorbed: a source of the right values that fusion alone disagrees with.
        made = model([node("Conv", "x w", "a", "conv"), node("Relu", "a", "b", "relu"), node("Neg", "b", "y", "neg")],
                     [("x", TensorProto.FLOAT, (1, 3, 8, 8))], [("y", TensorProto.FLOAT, None)], {"w": sample(4, 3, 3, 3)})
        sides = tenon.debug._compare.Sides(made, "reference", tenon.debug._models.Settings((), None, None, 1, None, {"timing": False}), None,
                                           None, True)
        plain = sides.network.load

        class Wrong:
            def __init__(self, network):
                self.network, self.plan, self.inputs = network, network.plan, network.inputs

            def run_named(self, inputs):
                fused = any(step["absorbed"] for step in self.plan.report["nodes"])
                return {name: array + np.float32(fused and name in "by") for name, array in self.network.run_named(inputs).items()}
        sides.network.load = lambda *arguments, **options: Wrong(plain(*arguments, **options))
        found, _ = sides.run({"x": sample(1, 3, 8, 8)})
        self.assertEqual((found.first.tensor, found.first.node), ("b", "relu"))
        self.assertIn("with 'relu' fused into it", str(found))


@unittest.skipIf(onnxruntime is None, "no onnxruntime")
class AgainstOnnxruntime(unittest.TestCase):
    def test_layers_that_it_has_not_are_held_against_their_references(self):
        found = compare(layers.chain(), against="onnxruntime")
        self.assertEqual([row.outcome for row in found], ["same"] * 3 + ["differs"] + ["same"] * 2)
        self.assertEqual((found.first.node, found.first.against), ("node3", "reference"))

    def test_a_reference_in_numpy(self):
        made = layers.network([node("Relu", "x", "a", "relu"), node("Test::BadScale", "a", "b", "scale", k=3.0), node("Neg", "b", "y", "neg")])
        found = compare(made, against="onnxruntime", plugins=[BAD_SCALE])
        self.assertEqual((found.first.node, found.first.difference.wrong), ("scale", 1))

    def test_a_kernel_of_an_operator_that_it_has(self):
        self.assertTrue(compare(small_convolution(), sample(2, 3, 9, 7), "onnxruntime", plugins=[]).ok)
        made = layers.chain("Identity")
        changed = layers.chain("Neg")
        found = compare(made, X, lambda inputs: dict(zip("y", onnxruntime.InferenceSession(changed.SerializeToString()).run(None, inputs))),
                        every_node=False, plugins=[])
        self.assertFalse(found.ok)

    def test_bodies(self):
        for made, inputs in (layers.loop(), X), (layers.branch(), np.abs(X)), (layers.scan(), sample(3, 8)):
            found = compare(made, inputs, "onnxruntime")
            self.assertEqual(found.inside.first.node, "inner")


if __name__ == "__main__":
    unittest.main()
