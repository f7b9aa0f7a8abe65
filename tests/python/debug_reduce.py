# SPDX-License-Identifier: Apache-2.0
"""tenon.debug.reduce: what is left of a model is the planted mistake and little else, and still fails."""

import os
import subprocess
import tempfile
import unittest

import debug_layers as layers
import numpy as np
import onnx
import tenon
import tenon.debug
from debug_layers import BAD, CRASHING, F, network, node, sample
from models import model

try:
    import onnxruntime
except ImportError:
    onnxruntime = None
X = sample(3, 4)


def reduce(made, inputs=X, failure="differs from reference", plugins=(BAD,), **options):
    return tenon.debug.reduce(made, inputs, failure, plugins=plugins, show=False, **options)


def ops(found):
    return [each.op_type for each in found.model.graph.node]


def wide():
    """Branches and two outputs around one mistake."""
    nodes = [node("Relu", "x", "a", "relu"), node("Sigmoid", "x", "b", "sigmoid"), node("Add", "a b", "c", "add"),
             node("Test::Bad", "c", "d", "bad"), node("Mul", "d w", "e", "mul"), node("Concat", "e a", "y", "concat", axis=0),
             node("Tanh", "b", "z", "tanh")]
    return network(nodes, ("n", 4), {"w": np.ones(4, np.float32)}, ("y", "z"))


class Differs(unittest.TestCase):
    def test_one_node_is_left(self):
        for made in layers.chain(), layers.chain(count=40, at=29), wide():
            found = reduce(made)
            self.assertEqual((ops(found), found.nodes), (["Bad"], 1))
            self.assertEqual(len(found.model.graph.initializer), 0)
            self.assertEqual(list(found.inputs), [port.name for port in found.model.graph.input])
            again = tenon.debug.compare(found.model, found.inputs, "reference", plugins=[BAD], show=False, timing=False)
            self.assertFalse(again.ok)
            self.assertRegex(str(found), r"^1 of \d+ nodes are left, after \d+ tries: output '\w+' differs from reference: 1 of \d+ elements")

    def test_a_mistake_in_a_body_comes_out_of_it(self):
        for made, inputs in (layers.loop(), X), (layers.branch(), np.abs(X)), (layers.scan(), sample(3, 8)):
            found = reduce(made, inputs)
            self.assertEqual(ops(found), ["Bad"])

    def test_extents_are_as_small_as_the_mistake_lets(self):
        found = reduce(layers.chain(), sample(64, 4))
        (array,) = found.inputs.values()
        self.assertEqual(array.shape, (2, 4))  # element 5 must be there

    def test_two_nodes_that_fail_only_together_stay(self):
        def fails(made, inputs):
            kinds = [each.op_type for each in made.graph.node]
            return "Sigmoid" in kinds and "Tanh" in kinds
        found = reduce(layers.chain(), failure=fails)
        self.assertEqual(sorted(ops(found))[-2:], ["Sigmoid", "Tanh"])
        self.assertLessEqual(found.nodes, 3)

    def test_attributes_go(self):
        made = network([node("LeakyRelu", "x", "y", "leaky", alpha=0.5)])
        found = reduce(made, failure=lambda made, inputs: made.graph.node[0].op_type == "LeakyRelu")
        self.assertEqual(len(found.model.graph.node[0].attribute), 0)

    def test_saves_a_test_that_the_command_line_runs(self):
        found = reduce(layers.chain())
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "reduced")
            self.assertEqual(found.save(path), os.path.join(path, "model.onnx"))
            onnx.checker.check_model(os.path.join(path, "model.onnx"))
            self.assertEqual(sorted(os.listdir(os.path.join(path, "test_data_set_0"))), ["input_0.pb", "output_0.pb"])
            done = subprocess.run([tenon.program(), "test", path, "--plugin", BAD.path], capture_output=True, text=True)
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            self.assertIn("FAIL", done.stdout)

    def test_a_bound_on_time_is_held(self):
        found = reduce(layers.chain(count=30, at=15), seconds=0.0)
        self.assertEqual((found.nodes, found.tries), (30, 0))

    @unittest.skipIf(onnxruntime is None, "no onnxruntime")
    def test_from_onnxruntime(self):
        for made in layers.chain(), wide(), layers.loop():
            self.assertEqual(ops(reduce(made, failure="differs from onnxruntime")), ["Bad"])


class Builds(unittest.TestCase):
    def test_an_operator_that_is_missing(self):
        made = network([node("Relu", "x", "a", "relu"), node("Test::Absent", "a", "b", "absent"), node("Neg", "b", "y", "neg")])
        found = reduce(made, failure="fails to build", plugins=())
        self.assertEqual(ops(found), ["Absent"])
        self.assertIn("Absent", str(found))

    def test_shapes_that_do_not_fit(self):
        made = model([node("Relu", "x", "a", "relu"), node("Sigmoid", "a", "b", "sigmoid"), node("MatMul", "b w", "c", "product"),
                      node("Neg", "c", "y", "neg")], [("x", F, (3, 4))], [("y", F, None)], {"w": np.ones((5, 2), np.float32)})
        found = reduce(made, failure="fails to build", plugins=())
        self.assertEqual(ops(found), ["MatMul"])
        self.assertIn("product", found.why)

    def test_random_inputs_where_none_are_given(self):
        made = network([node("Relu", "x", "a", "relu"), node("Test::Absent", "a", "y", "absent")])
        self.assertEqual(ops(reduce(made, None, "fails to build", ())), ["Absent"])

    def test_a_layer_that_crashes(self):
        found = reduce(layers.chain("Test::Crashing", 4, 2), failure="crashes", plugins=[CRASHING])
        self.assertEqual(ops(found), ["Crashing"])
        self.assertIn("it ends by signal 4", found.why)


class Wrong(unittest.TestCase):
    def test_a_model_without_the_failure(self):
        for failure, text in (("differs from reference", "does not differ from reference"), ("fails to build", "the model builds"),
                              (lambda made, inputs: False, "the function is false"), ("crashes", "neither crashes nor hangs")):
            with self.assertRaisesRegex(ValueError, text):
                reduce(layers.chain("Identity"), failure=failure)

    def test_arguments(self):
        with self.assertRaisesRegex(ValueError, "failure: 'explodes' came; one of 'differs from onnxruntime'"):
            reduce(layers.chain(), failure="explodes")
        with self.assertRaisesRegex(TypeError, "takes an ONNX model"):
            reduce(tenon.Graph())
        with self.assertRaisesRegex(tenon.Error, "no input is called 'z'"):
            reduce(layers.chain(), {"z": X})
        with self.assertRaises(ZeroDivisionError):  # on the whole model the function's own error is the caller's
            reduce(layers.chain(), failure=lambda made, inputs: 1 / 0)


if __name__ == "__main__":
    unittest.main()
