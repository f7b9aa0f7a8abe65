# SPDX-License-Identifier: Apache-2.0
"""Writes models/lenet_nhwc.uff: models/lenet.onnx as a TensorFlow user would have had it in UFF.

Data and kernels are N, H, W, C and H, W, C, K; the input's shape lacks the batch axis; biases are
nodes of their own; the second pooling is a custom layer, MaxPool, with the fields that a TensorFlow
node has, as in the sample network of NVIDIA's plugin example.
"""

import os

import numpy as np
import onnx
from onnx import numpy_helper

import uff

MODELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "models")


def read_weights(path):
    return {tensor.name: numpy_helper.to_array(tensor)
            for tensor in onnx.load(path).graph.initializer}


def write_lenet(path, weights):
    net = uff.Network()
    net.input("input", [1, 28, 28])
    image, channels, matrix = net.orders("N+C", "+CK"), net.orders("N+C"), net.orders("NC", "CK")

    def with_bias(name, bias):
        net.const(name + "/bias", weights[bias])
        return net.node(name + "/add", "Binary", [name, name + "/bias"], func="add")

    def convolution(name, source, kernel, bias):
        net.const(name + "/kernel", weights[kernel].transpose(2, 3, 1, 0))
        net.node(name, "Conv", [source, name + "/kernel"], inputs_orders=image, strides=[1, 1])
        return with_bias(name, bias)

    def dense(name, source, matrix_of, bias):
        net.const(name + "/kernel", matrix_of)
        net.node(name, "FullyConnected", [source, name + "/kernel"], inputs_orders=matrix)
        return with_bias(name, bias)

    last = convolution("conv1", "input", "conv1.weight", "conv1.bias")
    last = net.node("pool1", "Pool", [last], func="max", kernel=[2, 2], strides=[2, 2],
                    inputs_orders=channels)
    last = convolution("conv2", last, "conv2.weight", "conv2.bias")
    last = net.node("pool2", "_MaxPool", [last], T=uff.element_type(uff.FLOAT32),
                    data_format="b'NHWC'", ksize=[1, 2, 2, 1], padding="b'VALID'",
                    strides=[1, 2, 2, 1])
    extents = net.const("flatten/shape", np.array([-1, 800], np.int32))
    last = net.node("flatten", "Reshape", [last, extents])
    # the ONNX network flattens C, H, W: rows of its matrix are put in the order H, W, C
    rows = weights["fc1.weight"].reshape(500, 50, 4, 4).transpose(2, 3, 1, 0).reshape(800, 500)
    last = dense("fc1", last, rows, "fc1.bias")
    last = net.node("relu", "Activation", [last], func="relu")
    last = dense("fc2", last, weights["fc2.weight"].T, "fc2.bias")
    net.output(net.node("output", "Softmax", [last], axis=0, inputs_orders=channels)).write(path)


def main():
    path = os.path.join(MODELS, "lenet_nhwc.uff")
    write_lenet(path, read_weights(os.path.join(MODELS, "lenet.onnx")))
    print(path, os.path.getsize(path))


if __name__ == "__main__":
    main()
