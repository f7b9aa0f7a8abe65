# SPDX-License-Identifier: Apache-2.0
"""Small ONNX models that the tests make."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper


def model(nodes, inputs, outputs, constants=(), opset=20):
    """A model of nodes; ports are (name, type, shape), constants arrays by name."""
    def ports(them):
        return [helper.make_tensor_value_info(*port) for port in them]
    return helper.make_model(
        helper.make_graph(nodes, "test", ports(inputs), ports(outputs),
                          [numpy_helper.from_array(array, name) for name, array in dict(constants).items()]),
        opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def small_convolution():
    """x (batch, 3, height, width) to y: two convolutions with a Relu between."""
    random = np.random.default_rng(3)
    weights = {"w1": random.standard_normal((8, 3, 3, 3), np.float32), "w2": random.standard_normal((4, 8, 1, 1), np.float32)}
    nodes = [helper.make_node("Conv", ["x", "w1"], ["a"], "first", pads=[1, 1, 1, 1]), helper.make_node("Relu", ["a"], ["b"], "relu"),
             helper.make_node("Conv", ["b", "w2"], ["y"], "second")]
    return model(nodes, [("x", TensorProto.FLOAT, ("batch", 3, "height", "width"))], [("y", TensorProto.FLOAT, None)], weights)
