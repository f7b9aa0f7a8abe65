# SPDX-License-Identifier: Apache-2.0
"""Writes models/lenet.prototxt and models/lenet.caffemodel from models/lenet.onnx: the same network with the same
weights in Caffe's format. Other forms of the files are made of the functions here, by the tests.

Field numbers: BVLC's caffe.proto (2020).
"""

import argparse
import os

import numpy as np

import protobuf_writer as wire

MODELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "models")

# Types in the older form of a layer, by number.
OLD_TYPES = {"Convolution": 4, "InnerProduct": 14, "Pooling": 17, "ReLU": 18, "Softmax": 20}
OLD_WORDS = {"Convolution": "CONVOLUTION", "InnerProduct": "INNER_PRODUCT", "Pooling": "POOLING", "ReLU": "RELU",
             "Softmax": "SOFTMAX"}

# name, type, bottom, top, parameters as text
LENET = (
    ("conv1", "Convolution", "input", "conv1", "convolution_param { num_output: 20 kernel_size: 5 }"),
    ("pool1", "Pooling", "conv1", "pool1", "pooling_param { pool: MAX kernel_size: 2 stride: 2 }"),
    ("conv2", "Convolution", "pool1", "conv2", "convolution_param { num_output: 50 kernel_size: 5 }"),
    ("pool2", "Pooling", "conv2", "pool2", "pooling_param { pool: MAX kernel_size: 2 stride: 2 }"),
    ("fc1", "InnerProduct", "pool2", "fc1", "inner_product_param { num_output: 500 }"),
    ("relu1", "ReLU", "fc1", "fc1", ""),
    ("fc2", "InnerProduct", "fc1", "fc2", "inner_product_param { num_output: 10 }"),
    ("softmax", "Softmax", "fc2", "output", ""),
)


def blob(array, form="shape"):
    """A BlobProto. `form`: shape; legacy (four extents, padded on the left); double; unpacked; half (NVIDIA's)."""
    array = np.asarray(array)
    if form == "legacy":
        extents = [1] * (4 - array.ndim) + list(array.shape)
        shape = b"".join(wire.integer(1 + i, extent) for i, extent in enumerate(extents))
    else:
        shape = wire.part(7, wire.integers(1, array.shape))
    if form == "double":
        return shape + wire.doubles(8, array)
    if form == "unpacked":
        return shape + b"".join(wire.real(5, value) for value in array.ravel())
    if form == "half":
        return shape + wire.integer(10, 2) + wire.part(12, array.astype("<f2").tobytes())
    return wire.floats(5, array) + shape


def model(layers, form="shape", old=False, name="network"):
    """A NetParameter with weights. `layers`: name, type and arrays of each."""
    out = wire.text(1, name)
    for layer_name, layer_type, arrays in layers:
        if old:
            fields = wire.text(4, layer_name) + wire.integer(5, OLD_TYPES[layer_type])
            fields += b"".join(wire.part(6, blob(array, form)) for array in arrays)
            out += wire.part(2, fields)
        else:
            fields = wire.text(1, layer_name) + wire.text(2, layer_type)
            fields += b"".join(wire.part(7, blob(array, form)) for array in arrays)
            out += wire.part(100, fields + wire.integer(10, 0))
    return out


def mean(array):
    """A mean image: a BlobProto of its own, with four extents."""
    return blob(array, "legacy")


def lenet_text(old=False):
    """The description of models/lenet.onnx."""
    lines = ['name: "lenet"']
    if old:
        lines += ['input: "input"'] + [f"input_dim: {extent}" for extent in (64, 1, 28, 28)]
    else:
        lines += ['layer {', '  name: "input"', '  type: "Input"', '  top: "input"',
                  "  input_param { shape { dim: 64 dim: 1 dim: 28 dim: 28 } }", "}"]
    for name, kind, bottom, top, parameters in LENET:
        word = OLD_WORDS[kind] if old else f'"{kind}"'
        lines += ["layers {" if old else "layer {", f'  name: "{name}"', f"  type: {word}", f'  bottom: "{bottom}"',
                  f'  top: "{top}"'] + ([f"  {parameters}"] if parameters else []) + ["}"]
    return "\n".join(lines) + "\n"


def lenet_weights():
    """The arrays of models/lenet.onnx: name, type and arrays of each layer."""
    import onnx
    from onnx import numpy_helper

    graph = onnx.load(os.path.join(MODELS, "lenet.onnx")).graph
    arrays = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    return [(name, kind, [arrays[f"{name}.{part}"] for part in ("weight", "bias")])
            for name, kind, *_ in LENET if f"{name}.weight" in arrays]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", default=MODELS)
    folder = parser.parse_args().folder
    with open(os.path.join(folder, "lenet.prototxt"), "w", encoding="utf-8") as file:
        file.write(lenet_text())
    with open(os.path.join(folder, "lenet.caffemodel"), "wb") as file:
        file.write(model(lenet_weights(), name="lenet"))


if __name__ == "__main__":
    main()
