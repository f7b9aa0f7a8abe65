# SPDX-License-Identifier: Apache-2.0
"""SRCNN as a PyTorch module and as ONNX graphs with the same weights.

The network: C. Dong, C. C. Loy, K. He, X. Tang, "Image Super-Resolution Using Deep Convolutional
Networks", 2015: bicubic up first, then convolutions 9x9, 1x1 and 5x5. Ours works on RGB and adds
the enlarged picture to the last convolution's output, so that it learns the difference alone.
Training is in train_srcnn.py.
"""

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

from photographs import enlarge

OPSET = 17
IR_VERSION = 8
CUBIC_COEFFICIENT = -0.75
LAYERS = (("conv1", 3, 64, 9), ("conv2", 64, 32, 1), ("conv3", 32, 3, 5))


class Srcnn(torch.nn.Module):
    def __init__(self):
        super().__init__()
        for name, inputs, outputs, kernel in LAYERS:
            setattr(self, name, torch.nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2))

    def refine(self, enlarged):
        """The three convolutions and the sum, on a picture that has its final size."""
        hidden = torch.relu(self.conv2(torch.relu(self.conv1(enlarged))))
        return enlarged + self.conv3(hidden)

    def forward(self, image, size):
        return self.refine(enlarge(image, size))


def weights_of_file(path):
    """The weights in one of our ONNX files, as a state that Srcnn.load_state_dict takes."""
    tensors = onnx.load(path).graph.initializer
    names = {f"{layer[0]}.{part}" for layer in LAYERS for part in ("weight", "bias")}
    return {t.name: torch.from_numpy(numpy_helper.to_array(t).copy())
            for t in tensors if t.name in names}


def load_srcnn(path):
    network = Srcnn()
    network.load_state_dict(weights_of_file(path))
    return network.eval()


def _convolutions(state):
    nodes, weights, previous = [], [], "enlarged"
    for name, _, _, kernel in LAYERS:
        for part in ("weight", "bias"):
            values = state[f"{name}.{part}"].numpy()
            weights.append(numpy_helper.from_array(values, f"{name}.{part}"))
        nodes.append(helper.make_node(
            "Conv", [previous, f"{name}.weight", f"{name}.bias"], [f"{name}_output"], name=name,
            kernel_shape=[kernel] * 2, pads=[kernel // 2] * 4, strides=[1, 1], dilations=[1, 1],
            group=1))
        previous = f"{name}_output"
        if name != "conv3":
            relu = name.replace("conv", "relu")
            nodes.append(helper.make_node("Relu", [previous], [f"{relu}_output"], name=relu))
            previous = f"{relu}_output"
    nodes.append(helper.make_node("Add", [previous, "enlarged"], ["output"], name="residual"))
    return nodes, weights


def _resize(sizes):
    return helper.make_node("Resize", ["image", "", "", sizes], ["enlarged"], name="resize",
                            mode="cubic", coordinate_transformation_mode="half_pixel",
                            cubic_coeff_a=CUBIC_COEFFICIENT)


def _write(path, nodes, inputs, output_shape, weights, domains=()):
    values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in inputs]
    output = helper.make_tensor_value_info("output", TensorProto.FLOAT, output_shape)
    opsets = [helper.make_opsetid("", OPSET)] + [helper.make_opsetid(d, 1) for d in domains]
    graph = helper.make_graph(nodes, "srcnn", values, [output], weights)
    model = helper.make_model(graph, opset_imports=opsets, producer_name="tenon-models")
    model.ir_version = IR_VERSION
    onnx.checker.check_model(model)
    onnx.save(model, path)


DYNAMIC_INPUTS = [("image", ["batch", 3, "height", "width"]),
                  ("size", [1, 1, "out_height", "out_width"])]
DYNAMIC_OUTPUT = ["batch", 3, "out_height", "out_width"]


def write_dynamic(path, state):
    """The first node is Test::DynamicTRTResize; of `size` only the last two dimensions are read."""
    resize = helper.make_node("DynamicTRTResize", ["image", "size"], ["enlarged"], name="resize",
                              domain="Test", align_corners=0)
    nodes, weights = _convolutions(state)
    _write(path, [resize] + nodes, DYNAMIC_INPUTS, DYNAMIC_OUTPUT, weights, domains=["Test"])


def write_resize(path, state):
    """The twin: the same inputs and results with ONNX's own Resize."""
    head = [
        helper.make_node("Shape", ["image"], ["batch_and_channels"], name="shape_image", end=2),
        helper.make_node("Shape", ["size"], ["height_and_width"], name="shape_size", start=2),
        helper.make_node("Concat", ["batch_and_channels", "height_and_width"], ["sizes"],
                         name="sizes", axis=0),
        _resize("sizes"),
    ]
    nodes, weights = _convolutions(state)
    _write(path, head + nodes, DYNAMIC_INPUTS, DYNAMIC_OUTPUT, weights)


def write_fixed(path, state, side=128, out_side=256):
    nodes, weights = _convolutions(state)
    sizes = numpy_helper.from_array(np.array([1, 3, out_side, out_side], np.int64), "sizes")
    _write(path, [_resize("sizes")] + nodes, [("image", [1, 3, side, side])],
           [1, 3, out_side, out_side], weights + [sizes])
