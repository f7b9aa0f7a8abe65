# SPDX-License-Identifier: Apache-2.0
"""Writes models/tiny: networks of a few kilobytes with random weights, for quick tests.

They have the shape of the real ones (a resize whose size is a tensor's shape, then a convolution;
LeNet with 4 and 6 channels), learnt nothing, and come with PyTorch's results for one input each.
"""

import argparse
import os

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

import train_lenet
from photographs import enlarge
from srcnn import CUBIC_COEFFICIENT, IR_VERSION, OPSET
from train_srcnn import MODELS

CHANNELS = 2
IMAGE_SIZE, OUTPUT_SIZE = (5, 6), (9, 13)


def write_resize_and_convolution(path, weight, bias, custom):
    """image [batch, 2, height, width], size [1, 1, out_height, out_width] -> output."""
    if custom:
        head = [helper.make_node("DynamicTRTResize", ["image", "size"], ["enlarged"], name="resize",
                                 domain="Test", align_corners=0)]
    else:
        head = [
            helper.make_node("Shape", ["image"], ["batch_and_channels"], name="shape_image", end=2),
            helper.make_node("Shape", ["size"], ["height_and_width"], name="shape_size", start=2),
            helper.make_node("Concat", ["batch_and_channels", "height_and_width"], ["sizes"],
                             name="sizes", axis=0),
            helper.make_node("Resize", ["image", "", "", "sizes"], ["enlarged"], name="resize",
                             mode="cubic", coordinate_transformation_mode="half_pixel",
                             cubic_coeff_a=CUBIC_COEFFICIENT),
        ]
    nodes = head + [
        helper.make_node("Conv", ["enlarged", "weight", "bias"], ["conv_output"], name="conv",
                         kernel_shape=[3, 3], pads=[1] * 4, strides=[1, 1], dilations=[1, 1],
                         group=1),
        helper.make_node("Relu", ["conv_output"], ["output"], name="relu"),
    ]
    inputs = [helper.make_tensor_value_info("image", TensorProto.FLOAT,
                                            ["batch", CHANNELS, "height", "width"]),
              helper.make_tensor_value_info("size", TensorProto.FLOAT,
                                            [1, 1, "out_height", "out_width"])]
    output = helper.make_tensor_value_info("output", TensorProto.FLOAT,
                                           ["batch", CHANNELS, "out_height", "out_width"])
    opsets = [helper.make_opsetid("", OPSET)] + ([helper.make_opsetid("Test", 1)] if custom else [])
    graph = helper.make_graph(nodes, "tiny", inputs, [output],
                              [numpy_helper.from_array(weight, "weight"),
                               numpy_helper.from_array(bias, "bias")])
    model = helper.make_model(graph, opset_imports=opsets, producer_name="tenon-models")
    model.ir_version = IR_VERSION
    onnx.checker.check_model(model)
    onnx.save(model, path)


def write_dynamic(folder, random):
    weight = random.uniform(-0.4, 0.4, (CHANNELS, CHANNELS, 3, 3)).astype(np.float32)
    bias = random.uniform(0.0, 0.2, CHANNELS).astype(np.float32)
    image = random.uniform(0.0, 1.0, (1, CHANNELS) + IMAGE_SIZE).astype(np.float32)
    write_resize_and_convolution(os.path.join(folder, "tiny_dynamic.onnx"), weight, bias, True)
    write_resize_and_convolution(os.path.join(folder, "tiny_resize.onnx"), weight, bias, False)
    output = torch.relu(torch.nn.functional.conv2d(
        enlarge(torch.from_numpy(image), OUTPUT_SIZE), torch.from_numpy(weight),
        torch.from_numpy(bias), padding=1))
    np.save(os.path.join(folder, "tiny_dynamic_image.npy"), image)
    np.save(os.path.join(folder, "tiny_dynamic_size.npy"),
            np.zeros((1, 1) + OUTPUT_SIZE, np.float32))
    np.save(os.path.join(folder, "tiny_dynamic_output.npy"), output.numpy())


def write_lenet(folder, random):
    network = train_lenet.LeNet(maps1=4, maps2=6, hidden=16)
    with torch.no_grad():
        for value in network.parameters():
            values = random.uniform(-0.25, 0.25, tuple(value.shape)).astype(np.float32)
            value.copy_(torch.from_numpy(values))
        digits = torch.from_numpy(random.uniform(0.0, 1.0, (2, 1, 28, 28)).astype(np.float32))
        output = network(digits)
    train_lenet.write_onnx(os.path.join(folder, "tiny_lenet.onnx"), network, "tiny_lenet")
    np.save(os.path.join(folder, "tiny_lenet_input.npy"), digits.numpy())
    np.save(os.path.join(folder, "tiny_lenet_output.npy"), output.numpy())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", default=os.path.join(MODELS, "tiny"), help="folder to write to")
    parser.add_argument("--seed", type=int, default=3)
    options = parser.parse_args()
    os.makedirs(options.output, exist_ok=True)
    random = np.random.RandomState(options.seed)
    write_dynamic(options.output, random)
    write_lenet(options.output, random)


if __name__ == "__main__":
    main()
