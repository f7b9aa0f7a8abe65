# SPDX-License-Identifier: Apache-2.0
"""Models for the tests of tenon.onnxruntime: those whose shapes, or extents, a session does not know when it is made."""

import numpy as np
import onnx
from onnx import TensorProto, helper

RANDOM = np.random.default_rng(7)


def model(nodes, inputs, outputs, initializers=(), metadata=None):
    """The bytes of an ONNX model; ports are (name, type, shape)."""
    def ports(them):
        return [helper.make_tensor_value_info(*port) for port in them]
    graph = helper.make_graph(nodes, "test", ports(inputs), ports(outputs), [onnx.numpy_helper.from_array(a, n) for n, a in initializers])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10, producer_name="the tests")
    helper.set_model_props(made, metadata or {})
    return made.SerializeToString()


def open_network():
    """Shapes follow from a value that only a run knows: how often rows are repeated."""
    return model([helper.make_node("Tile", ["x", "times"], ["t"]), helper.make_node("MatMul", ["t", "w"], ["m"]),
                  helper.make_node("Relu", ["m"], ["y"])],
                 [("x", TensorProto.FLOAT, [None, 6]), ("times", TensorProto.INT64, [2])], [("y", TensorProto.FLOAT, None)],
                 [("w", RANDOM.standard_normal((6, 4), np.float32))])


def unnamed_network():
    """A window that needs height 12 exactly, so that the extents of the input are not guessed."""
    return model([helper.make_node("Conv", ["x", "w"], ["c"], kernel_shape=[12, 3], strides=[12, 1], pads=[0, 1, 0, 1]),
                  helper.make_node("Squeeze", ["c", "axis"], ["s"]), helper.make_node("Relu", ["s"], ["y"])],
                 [("x", TensorProto.FLOAT, [None, 2, None, None])], [("y", TensorProto.FLOAT, None)],
                 [("w", RANDOM.standard_normal((5, 2, 12, 3), np.float32)), ("axis", np.array([2], np.int64))])


def network_of_two_rates():
    """A condition between two networks, each of which returns what its input's shape alone does not say."""
    def branch(name, factor):
        value = helper.make_tensor(f"{name}_w", TensorProto.FLOAT, [6, factor], RANDOM.standard_normal(6 * factor).astype(np.float32))
        return helper.make_graph([helper.make_node("Constant", [], [f"{name}_c"], value=value),
                                  helper.make_node("MatMul", ["x", f"{name}_c"], [f"{name}_m"]),
                                  helper.make_node("Tanh", [f"{name}_m"], [f"{name}_y"])], name, [],
                                 [helper.make_tensor_value_info(f"{name}_y", TensorProto.FLOAT, None)])
    return model([helper.make_node("Equal", ["rate", "sixteen"], ["is_first"]),
                  helper.make_node("If", ["is_first"], ["y"], then_branch=branch("a", 3), else_branch=branch("b", 5))],
                 [("x", TensorProto.FLOAT, [None, 6]), ("rate", TensorProto.INT64, [])], [("y", TensorProto.FLOAT, None)],
                 [("sixteen", np.array(16000))])
