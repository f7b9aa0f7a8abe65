# SPDX-License-Identifier: Apache-2.0
"""Networks of one operator behind a Compress, so that a run alone knows how many rows its input has: cases() yields them."""

import numpy as np
from onnx import helper

from nodes import MICROSOFT, floats, integers, masks, model_of

OPSET = 23


def bytes_of(*shape, kind=np.uint8):
    return integers(120, *shape, kind=kind)


def scalar(value, kind=np.float32):
    return np.asarray(value, kind)


def indices(size, *shape):
    return integers(size, *shape)


# Name, operator, X at the sizes of a test and of a measurement, the other inputs (constant arrays; "X" is the one behind the Compress),
# fields. Where X has no default kind of values a function makes them.
def table():
    image, pixels = (2, 8, 6, 5), (4, 64, 56, 56)
    rows, tokens = (5, 3, 16), (16, 128, 384)
    per_channel = {"scale": 1, "b": 0, "mean": 0, "variance": 1}

    def channels(count, kind=np.float32):
        return [floats(count).astype(kind) ** 2 + value for value in per_channel.values()]

    def filters(of, *kernel, kind=np.float32):
        return (floats(*of, *kernel) * 20).astype(kind)

    def case(name, operator, small, large, inputs, make=floats, domain="", **fields):
        return name, operator, small, large, inputs, make, domain, fields

    def halves(*shape):
        return floats(*shape).astype(np.float16)

    def last(shape, *extents):
        return floats(shape[-1], *extents) / 8

    scales, sizes = np.array([1, 1, 2, 2], np.float32), np.array([9, 12])
    third, half = scalar(0.03), scalar(0.01)
    yield case("LayerNormalization", "LayerNormalization", rows, tokens, lambda x: ["X", last(x), last(x)])
    yield case("LayerNormalization of f16", "LayerNormalization", rows, (4, 128, 384),
               lambda x: ["X", last(x).astype(np.float16)], halves)
    yield case("RMSNormalization", "RMSNormalization", rows, tokens, lambda x: ["X", last(x)])
    yield case("BatchNormalization", "BatchNormalization", image, pixels, lambda x: ["X", *channels(x[1])])
    yield case("BatchNormalization of f16", "BatchNormalization", image, pixels, lambda x: ["X", *channels(x[1], np.float16)], halves)
    yield case("InstanceNormalization", "InstanceNormalization", image, pixels, lambda x: ["X", floats(x[1]), floats(x[1])])
    yield case("GroupNormalization", "GroupNormalization", image, pixels, lambda x: ["X", floats(x[1]), floats(x[1])], num_groups=4)
    yield case("LRN", "LRN", image, pixels, lambda x: ["X"], size=5)
    yield case("Resize, nearest", "Resize", image, pixels, lambda x: ["X", "", scales])
    yield case("Resize, linear", "Resize", image, pixels, lambda x: ["X", "", scales], mode="linear")
    yield case("Resize to sizes, cubic", "Resize", image, pixels, lambda x: ["X", "", "", sizes], mode="cubic", axes=[2, 3])
    yield case("Resize of f16", "Resize", image, pixels, lambda x: ["X", "", scales], halves, mode="linear")
    yield case("Resize of u8", "Resize", image, pixels, lambda x: ["X", "", scales], bytes_of)
    yield case("Conv, depthwise", "Conv", image, pixels, lambda x: ["X", floats(x[1], 1, 3, 3)], group="channels", pads=[1] * 4)
    yield case("DeformConv", "DeformConv", image, (2, 32, 28, 28),
               lambda x: ["X", floats(16, x[1], 3, 3), floats(x[0], 18, *x[2:])], pads=[1] * 4)
    yield case("GridSample", "GridSample", image, pixels, lambda x: ["X", floats(x[0], 7, 9, 2) / 2])
    yield case("MaxPool of u8", "MaxPool", image, pixels, lambda x: ["X"], bytes_of, kernel_shape=[3, 3], strides=[2, 2])
    yield case("Einsum", "Einsum", rows, tokens, lambda x: ["X", last(x, 4, 16)], equation="bsd,dhk->bhsk")
    yield case("Einsum of f16", "Einsum", rows, tokens, lambda x: ["X", last(x, 20).astype(np.float16)], halves, equation="bsd,dk->bsk")
    yield case("MatMul, B in batches", "MatMul", rows, tokens, lambda x: ["X", floats(x[0], x[2], 24) / 8])
    yield case("MatMul, constant A", "MatMul", rows, tokens, lambda x: [floats(24, x[1]) / 8, "X"])
    yield case("Transpose", "Transpose", rows, (64, 56, 96), lambda x: ["X"], perm=[2, 1, 0])
    yield case("QuantizeLinear", "QuantizeLinear", rows, tokens, lambda x: ["X", third, scalar(7, np.uint8)])
    yield case("QuantizeLinear, an axis", "QuantizeLinear", rows, tokens,
               lambda x: ["X", np.full(x[2], 0.03, np.float32), np.ones(x[2], np.int8)], axis=-1)
    yield case("DequantizeLinear", "DequantizeLinear", rows, tokens, lambda x: ["X", third, scalar(7, np.uint8)], bytes_of)
    yield case("MatMulInteger", "MatMulInteger", rows, tokens,
               lambda x: ["X", filters((x[2], 24), kind=np.int8), scalar(9, np.uint8)], bytes_of)
    yield case("QLinearMatMul", "QLinearMatMul", rows, tokens,
               lambda x: ["X", third, scalar(9, np.uint8), filters((x[2], 24), kind=np.int8), half, scalar(0, np.int8),
                          scalar(0.2), scalar(128, np.uint8)], bytes_of)
    yield case("MatMulIntegerToFloat", "MatMulIntegerToFloat", rows, tokens,
               lambda x: ["X", filters((x[2], 24), kind=np.int8), third, half, scalar(9, np.uint8)], bytes_of, MICROSOFT)
    yield case("ConvInteger", "ConvInteger", image, (2, 32, 28, 28),
               lambda x: ["X", filters((16, x[1]), 3, 3, kind=np.int8), scalar(9, np.uint8)], bytes_of, pads=[1] * 4)
    yield case("QLinearConv", "QLinearConv", image, (2, 32, 28, 28),
               lambda x: ["X", third, scalar(9, np.uint8), filters((16, x[1]), 3, 3, kind=np.int8), half, scalar(0, np.int8),
                          scalar(0.3), scalar(128, np.uint8)], bytes_of, pads=[1] * 4)
    yield case("QLinearAdd", "QLinearAdd", rows, tokens,
               lambda x: ["X", third, scalar(9, np.uint8), bytes_of(x[2]), half, scalar(1, np.uint8), half, scalar(128, np.uint8)],
               bytes_of, MICROSOFT)
    yield case("Where", "Where", rows, tokens, lambda x: ["X", floats(x[2]), scalar(0)], masks)
    yield case("Equal of i64", "Equal", rows, tokens, lambda x: ["X", scalar(3, np.int64)], lambda *shape: indices(9, *shape))
    yield case("Less", "Less", rows, tokens, lambda x: ["X", scalar(0)])
    yield case("Add of i32", "Add", rows, tokens, lambda x: ["X", integers(9, x[2], kind=np.int32)], lambda *shape: indices(9, *shape).astype(np.int32))
    yield case("Mod", "Mod", rows, tokens, lambda x: ["X", scalar(0.7)], fmod=1)
    yield case("Shrink", "Shrink", rows, tokens, lambda x: ["X"], lambd=0.3)
    yield case("Gemm", "Gemm", (5, 16), (300, 384), lambda x: ["X", floats(24, x[1]), floats(24)], transB=1)
    yield case("CumSum", "CumSum", rows, tokens, lambda x: ["X", scalar(2, np.int64)])
    yield case("TopK", "TopK", rows, tokens, lambda x: ["X", np.array([3])])
    yield case("Pad", "Pad", image, pixels, lambda x: ["X", np.array([0, 0, 1, 1, 0, 0, 1, 2])])
    yield case("Softmax", "Softmax", rows, tokens, lambda x: ["X"])


def model(operator, shape, inputs, make, domain, fields):
    """Its inputs are x and the mask that the Compress has."""
    names, constants = [], {}
    for at, value in enumerate(inputs):
        names.append("kept" if isinstance(value, str) and value == "X" else value if isinstance(value, str) else f"c{at}")
        if not isinstance(value, str):
            constants[names[-1]] = value
    fields = {**fields, **({"group": shape[1]} if fields.get("group") == "channels" else {})}
    outputs = ["y"] + (["i"] if operator == "TopK" else [])
    nodes = [helper.make_node("Compress", ["x", "mask"], ["kept"], "keeps", axis=0),
             helper.make_node(operator, names, outputs, "it", domain=domain, **fields)]
    feed = {"x": make(*shape), "mask": np.ones(shape[0], bool)}
    return model_of(nodes, feed, ["y"], constants, OPSET), feed


def cases(is_large=False):
    """Name, operator, shape of X, model, feed."""
    for name, operator, small, large, inputs, make, domain, fields in table():
        shape = large if is_large else small
        yield name, operator, shape, *model(operator, shape, inputs(shape), make, domain, fields)
