#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Networks that cut and join tensors, with random weights, as ONNX: joined_networks.py FOLDER [--batch N]. One in the manner of SqueezeNet
(two branches joined), one of DenseNet (each layer reads all before it), one of YOLO (split, a chain, all of it joined) and one that updates
rows of a tensor eight times. Time them by before_after.py. Needs onnx and numpy."""
import argparse
import os

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save


class Network:
    def __init__(self, name):
        self.name, self.nodes, self.weights = name, [], []
        self.random = np.random.default_rng(1)

    def add(self, op, inputs, outputs=1, **fields):
        names = [f"t{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, name=f"{op.lower()}{len(self.nodes)}", **fields))
        return names if outputs > 1 else names[0]

    def constant(self, values, kind=np.float32):
        self.weights.append(numpy_helper.from_array(values.astype(kind), f"w{len(self.weights)}"))
        return self.weights[-1].name

    def conv(self, x, channels, filters, kernel, stride=1):
        w = self.random.standard_normal((filters, channels, kernel, kernel)) / np.sqrt(channels * kernel * kernel)
        y = self.add("Conv", [x, self.constant(w), self.constant(self.random.standard_normal(filters) / 10)],
                     kernel_shape=[kernel] * 2, pads=[kernel // 2] * 4, strides=[stride] * 2)
        return self.add("Relu", [y])

    def save(self, y, shape, folder):
        graph = helper.make_graph(self.nodes, self.name, [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                                  [helper.make_tensor_value_info(y, TensorProto.FLOAT, None)], self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        model.ir_version = 8
        save(model, os.path.join(folder, f"{self.name}.onnx"))


def squeeze(n):
    x, channels = n.add("MaxPool", [n.conv("x", 3, 64, 3, 2)], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4), 64
    for narrow, wide in [(16, 64), (16, 64), (32, 128), (32, 128), (48, 192), (64, 256)]:
        s = n.conv(x, channels, narrow, 1)
        x, channels = n.add("Concat", [n.conv(s, narrow, wide, 1), n.conv(s, narrow, wide, 3)], axis=1), 2 * wide
    return x, 224


def dense(n):
    parts = [n.conv("x", 3, 64, 3, 2)]
    for i in range(12):
        x = parts[0] if i == 0 else n.add("Concat", parts, axis=1)
        parts.append(n.conv(n.conv(x, 64 + 32 * i, 64, 1), 64, 32, 3))
    return n.add("Concat", parts, axis=1), 56


def yolo(n):
    x = n.conv("x", 3, 64, 3, 2)
    for _ in range(4):
        parts = n.add("Split", [n.conv(x, 64, 64, 1)], 2, axis=1)
        for _ in range(2):
            parts.append(n.add("Add", [parts[-1], n.conv(n.conv(parts[-1], 32, 32, 3), 32, 32, 3)]))
        x = n.conv(n.add("Concat", parts, axis=1), 128, 64, 1)
    return x, 80


def update(n):
    x = n.add("Relu", ["x"])
    for i in range(8):
        at = n.constant(np.array([[0, c, 16 * i + r] for c in range(3) for r in range(4)]), np.int64)
        x = n.add("ScatterND", [x, at, n.constant(n.random.standard_normal((12, 512)))])
    return x, 512


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--batch", type=int, default=1)
    arguments = parser.parse_args()
    for name, layers in {"squeeze": squeeze, "dense": dense, "yolo": yolo, "update": update}.items():
        network = Network(f"{name}_{arguments.batch}")
        x, size = layers(network)
        network.save(network.add("GlobalAveragePool", [x]), [arguments.batch, 3, size, size], arguments.folder)


if __name__ == "__main__":
    main()
