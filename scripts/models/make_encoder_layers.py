# SPDX-License-Identifier: Apache-2.0
"""Writes models/encoder_layers.onnx: products, activations and normalisations with random weights, as layers of encoders have them.

Pairs of products with an activation between them, single products, with and without biases, residuals and the normalisation of rows
behind them, of rows, widths and depths that fill no tile, and rows of a table before them, as tokens become rows: what scripts/gpu-test
compares with the processor."""

import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

IR_VERSION, OPSET = 8, 17
SHAPE = (2, 19, 24)
# columns between two products, 0: one product alone; columns; activation; biases; whether the input is added; whether rows are normalised
BLOCKS = [(416, 24, "Gelu", True, True, True), (0, 40, None, True, False, True), (200, 40, "Relu", False, True, True),
          (0, 72, None, False, False, True), (100, 68, "Sigmoid", True, False, False), (0, 68, None, True, True, True)]


class Writer:
    def __init__(self):
        self.random, self.nodes, self.constants = np.random.default_rng(7), [], []

    def constant(self, value, kind=np.float32):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value, kind), name))
        return name

    def node(self, operator, *inputs, **fields):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [name], name=f"{operator}_{len(self.nodes)}", **fields))
        return name

    def product(self, x, depth, columns, has_bias):
        y = self.node("MatMul", x, self.constant(self.random.normal(0, depth**-0.5, (depth, columns))))
        return self.node("Add", y, self.constant(self.random.normal(0, 0.2, columns))) if has_bias else y

    def activation(self, x, name):
        if name != "Gelu":
            return self.node(name, x)
        erf = self.node("Erf", self.node("Div", x, self.constant(2.0**0.5)))
        return self.node("Mul", self.node("Mul", x, self.node("Add", erf, self.constant(1.0))), self.constant(0.5))

    def norm(self, x, width, has_bias):
        more = [self.constant(self.random.normal(0, 0.2, width))] if has_bias else []
        return self.node("LayerNormalization", x, self.constant(self.random.normal(1, 0.2, width)), *more, axis=-1, epsilon=1e-5)

    def tokens(self, x, width):
        """Rows of a table, the first one after another, with positions added and their normalisation. That x is above -1 is what no build
        knows."""
        ones = self.node("GreaterOrEqual", self.node("ReduceMin", x, axes=[-1], keepdims=0), self.constant(-1.0))
        picks = self.node("CumSum", self.node("Cast", ones, to=TensorProto.INT64), self.constant(1, np.int64))
        picked = self.node("Gather", self.constant(self.random.normal(0, 1, (width, width))), picks)
        return self.norm(self.node("Add", picked, self.constant(self.random.normal(0, 0.5, (SHAPE[1], width)))), width, True)


def main():
    w = Writer()
    x, width = "rows", SHAPE[2]
    x = w.node("Add", x, w.tokens(x, width))
    for middle, columns, activation, has_bias, is_residual, is_normal in BLOCKS:
        y = w.activation(w.product(x, width, middle, has_bias), activation) if middle else x
        y = w.product(y, middle or width, columns, has_bias)
        if is_residual:
            y = w.node("Add", x, y)
        x, width = w.norm(y, columns, has_bias) if is_normal else y, columns
    w.nodes[-1].output[0] = "output"
    graph = helper.make_graph(w.nodes, "encoder_layers", [helper.make_tensor_value_info("rows", TensorProto.FLOAT, SHAPE)],
                              [helper.make_tensor_value_info("output", TensorProto.FLOAT, (*SHAPE[:2], width))], w.constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="tenon-models")
    model.ir_version = IR_VERSION
    onnx.checker.check_model(model)
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "models")
    onnx.save(model, os.path.join(folder, "encoder_layers.onnx"))


main()
