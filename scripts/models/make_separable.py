# SPDX-License-Identifier: Apache-2.0
"""Writes models/separable.onnx: a network of separable convolutions with random weights, as networks for phones have them.

Windows of 1x1, of single channels, and of 1x1 again, in one and two steps, with and without a residual, of odd extents,
channels that are no multiple of 16, and activations of four kinds: what scripts/gpu-test compares with the processor."""

import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

IR_VERSION, OPSET = 8, 17
SHAPE = (2, 3, 37, 45)
# channels between, filters, step of the window, activation, whether the input is added; 0 channels: no expansion
BLOCKS = [(0, 24, 1, "Clip", False), (96, 40, 2, "Clip", False), (64, 40, 1, "Relu", True), (80, 56, 1, "HardSwish", False),
          (160, 48, 2, "Clip", False), (128, 48, 1, None, True)]


class Writer:
    def __init__(self):
        self.random, self.nodes, self.constants = np.random.default_rng(5), [], []

    def constant(self, value):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value, np.float32), name))
        return name

    def node(self, operator, *inputs, **fields):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [name], name=f"{operator}_{len(self.nodes)}", **fields))
        return name

    def convolution(self, x, channels, filters, kernel, stride=1, group=1, activation=None):
        taps = channels // group * kernel * kernel
        weights = self.random.normal(0, (1.5 / taps) ** 0.5, (filters, channels // group, kernel, kernel))
        bias = self.random.normal(0, 0.2, filters)
        y = self.node("Conv", x, self.constant(weights), self.constant(bias), kernel_shape=[kernel] * 2,
                      pads=[kernel // 2] * 4, strides=[stride] * 2, group=group)
        if activation == "Clip":
            return self.node("Clip", y, self.constant(0.0), self.constant(1.5))
        return self.node(activation, y) if activation else y

    def save(self, name, shape, output_shape):
        """The network up to its last node, as models/NAME.onnx."""
        self.nodes[-1].output[0] = "output"
        graph = helper.make_graph(self.nodes, name, [helper.make_tensor_value_info("image", TensorProto.FLOAT, shape)],
                                  [helper.make_tensor_value_info("output", TensorProto.FLOAT, output_shape)], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="tenon-models")
        model.ir_version = IR_VERSION
        onnx.checker.check_model(model)
        folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "models")
        onnx.save(model, os.path.join(folder, f"{name}.onnx"))


def main():
    w = Writer()
    x, channels = w.convolution("image", SHAPE[1], 16, 3, 2, activation="Clip"), 16
    for middle, filters, stride, activation, is_residual in BLOCKS:
        y = w.convolution(x, channels, middle, 1, activation=activation) if middle else x
        y = w.convolution(y, middle or channels, middle or channels, 3, stride, middle or channels, activation)
        y = w.convolution(y, middle or channels, filters, 1)
        x, channels = w.node("Add", x, y) if is_residual else y, filters
    w.save("separable", SHAPE, (SHAPE[0], channels, 5, 6))


if __name__ == "__main__":
    main()
