# SPDX-License-Identifier: Apache-2.0
"""Networks with QuantizeLinear and DequantizeLinear: which nodes become operators of integers, and that these give the bytes
that sums of integers in NumPy give. Scales that are none, and zero points of other types, leave the nodes as they are. Dynamic
quantisation, and weights of 4 bits and of 8-bit floats, against sums in double precision.

Usage: check_quantized_networks.py TENON, where TENON is the program. Needs NumPy and onnx.
"""

import json
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from checks import ProgramChecks

F32, U8, I8, I32 = np.float32, np.uint8, np.int8, np.int32


class Net:
    """x, a quantised input, and nodes; the output y is quantised as well."""

    def __init__(self, shape, kind, opset=17):
        self.kind, self.opset, self.nodes, self.constants, self.count = kind, opset, [], [], 0
        self.input = helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(np.dtype(kind)), shape)

    def const(self, value):
        self.count += 1
        self.constants.append(numpy_helper.from_array(np.asarray(value), f"c{self.count}"))
        return f"c{self.count}"

    def node(self, op, *inputs, to=None, **fields):
        self.count += 1
        name = to or f"t{self.count}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], **fields))
        return name

    def real(self, name, scale, zero, **fields):
        return self.node("DequantizeLinear", name, self.const(F32(scale)), self.const(zero), **fields)

    def store(self, name, scale, zero, to=None):
        return self.node("QuantizeLinear", name, self.const(F32(scale)), self.const(zero), to=to)

    def model(self, kind=None):
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(kind or self.kind))
        graph = helper.make_graph(self.nodes, "net", [self.input], [helper.make_tensor_value_info("y", kind, None)], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8 if self.opset < 21 else 10)


def saturate(value, zero):
    """Rounded steps as bytes of the zero point's type."""
    bounds = np.iinfo(zero.dtype)
    return np.clip(np.rint(value) + int(zero), bounds.min, bounds.max).astype(zero.dtype)


def convolve(x, w, pads, stride):
    """Sums of 64 bits; x and w have their zero points taken off."""
    x = np.pad(x.astype(np.int64), ((0, 0), (0, 0), (pads, pads), (pads, pads)))
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], axis=(2, 3))[:, :, ::stride, ::stride]
    return np.einsum("nchwij,fcij->nfhw", windows, w.astype(np.int64))


def conv_case(kind, x_zero, y_zero, per_channel, act=None, bias="i32", seed=1):
    """The model, its input and the bytes that are right."""
    rng = np.random.RandomState(seed)
    info = np.iinfo(kind)
    x = rng.randint(info.min, info.max + 1, (2, 5, 9, 8)).astype(kind)
    w = rng.randint(-127, 128, (24, 5, 3, 3)).astype(I8)
    w_scale = rng.uniform(0.002, 0.01, 24 if per_channel else 1).astype(F32)
    x_scale, y_scale = F32(0.03), F32(0.11)
    step = x_scale * w_scale
    b = rng.randint(-9000, 9000, 24).astype(I32)
    net = Net(list(x.shape), kind)
    x_zero, y_zero = kind(x_zero), kind(y_zero)
    scale = net.const(w_scale if per_channel else w_scale[0])
    zero = net.const(np.zeros(24, I8) if per_channel else I8(0))
    of_axis = {"axis": 0} if per_channel else {}
    real_w = net.node("DequantizeLinear", net.const(w), scale, zero, **of_axis)
    inputs = [net.real("x", x_scale, x_zero), real_w]
    if bias == "i32":
        inputs.append(net.node("DequantizeLinear", net.const(b), net.const(step if per_channel else step[0]), **of_axis))
    elif bias == "f32":
        inputs.append(net.const((b * step).astype(F32)))
    v = net.node("Conv", *inputs, kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2])
    if act:
        v = net.node(act, v)
    net.store(v, y_scale, y_zero, to="y")
    sums = convolve(x.astype(np.int64) - int(x_zero), w, 1, 2) + (b[:, None, None] if bias else 0)
    factor = (step / y_scale).astype(F32).reshape(-1, 1, 1)
    return net.model(), x, saturate(sums.astype(F32) * factor, y_zero)


def sum_case(kind, relu=False):
    """Added to its own maximum pool of stride 1: DequantizeLinear serves both."""
    rng = np.random.RandomState(2)
    info = np.iinfo(kind)
    x = rng.randint(info.min, info.max + 1, (1, 16, 6, 7)).astype(kind)
    zero, y_zero = kind(3), kind(info.min if relu else 9)
    net = Net(list(x.shape), kind)
    real = net.real("x", 0.5, zero)
    pooled = net.real(net.store(net.node("MaxPool", real, kernel_shape=[3, 3], pads=[1, 1, 1, 1]), 0.5, zero), 0.5, zero)
    v = net.node("Add", real, pooled)
    net.store(net.node("Relu", v) if relu else v, 0.75, y_zero, to="y")
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=info.min)
    most = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3)).max(axis=(4, 5))
    factor = F32(0.5) / F32(0.75)
    a, b = ((t.astype(I32) - int(zero)).astype(F32) * factor for t in (x, most))
    return net.model(), x, saturate(a + b, y_zero)


def residual_case(kind, taps, relu, zeros, swapped=False):
    """A convolution and x added to it; `zeros` are the zero points of the convolution, of x and of the sum."""
    rng = np.random.RandomState(11)
    info = np.iinfo(kind)
    x = rng.randint(info.min, info.max + 1, (2, 32, 9, 10)).astype(kind)
    w = rng.randint(-127, 128, (32, 32, taps, taps)).astype(I8)
    w_scale = rng.uniform(0.002, 0.01, 32).astype(F32)
    b = rng.randint(-9000, 9000, 32).astype(I32)
    v_zero, x_zero, y_zero = (kind(z) for z in zeros)
    x_scale, v_scale, y_scale = F32(0.03), F32(0.11), F32(0.13)
    net = Net(list(x.shape), kind)
    real = net.real("x", x_scale, x_zero)
    zero = net.const(np.zeros(32, I8))
    weights = net.node("DequantizeLinear", net.const(w), net.const(w_scale), zero, axis=0)
    bias = net.node("DequantizeLinear", net.const(b), net.const(x_scale * w_scale), axis=0)
    v = net.node("Conv", real, weights, bias, kernel_shape=[taps, taps], pads=[taps // 2] * 4)
    v = net.real(net.store(v, v_scale, v_zero), v_scale, v_zero)
    s = net.node("Add", *((real, v) if swapped else (v, real)))
    net.store(net.node("Relu", s) if relu else s, y_scale, y_zero, to="y")
    sums = convolve(x.astype(np.int64) - int(x_zero), w, taps // 2, 1) + b[:, None, None]
    inner = saturate(sums.astype(F32) * ((x_scale * w_scale) / v_scale).astype(F32).reshape(-1, 1, 1), v_zero)
    real_v = (inner.astype(I32) - int(v_zero)).astype(F32) * (v_scale / y_scale)
    return net.model(), x, saturate(real_v + (x.astype(I32) - int(x_zero)).astype(F32) * (x_scale / y_scale), y_zero)


def gemm_case():
    """Flatten, a product with transposed weights and a bias, and a table of a sigmoid."""
    rng = np.random.RandomState(3)
    x = rng.randint(0, 256, (3, 4, 2, 5)).astype(U8)
    w = rng.randint(-127, 128, (10, 40)).astype(I8)
    b = rng.randint(-900, 900, 10).astype(I32)
    zero, v_zero, y_zero = U8(100), U8(120), U8(0)
    net = Net(list(x.shape), U8)
    flat = net.real(net.store(net.node("Flatten", net.real("x", 0.02, zero)), 0.02, zero), 0.02, zero)
    step = F32(0.02) * F32(0.01)
    real_w = net.real(net.const(w), 0.01, I8(0))
    real_b = net.node("DequantizeLinear", net.const(b), net.const(step))
    v = net.real(net.store(net.node("Gemm", flat, real_w, real_b, transB=1), 0.05, v_zero), 0.05, v_zero)
    net.store(net.node("Sigmoid", v), 1 / 256, y_zero, to="y")
    sums = (x.reshape(3, 40).astype(np.int64) - 100) @ w.T.astype(np.int64) + b
    inner = saturate(sums.astype(F32) * (step / F32(0.05)), v_zero)
    real = (inner.astype(I32) - 120).astype(F32) * F32(0.05)
    return net.model(), x, saturate(1 / (1 + np.exp(-real.astype(np.float64))) * 256, y_zero)


def mat_mul_case(rows=6, depth=16):
    """Columns with scales of their own, then a product with the transposed result."""
    rng = np.random.RandomState(4)
    x = rng.randint(-128, 128, (2, rows, depth)).astype(I8)
    w = rng.randint(-127, 128, (depth, 16)).astype(I8)
    scales = rng.uniform(0.002, 0.01, 16).astype(F32)
    zero = I8(-7)
    net = Net(list(x.shape), I8)
    real_w = net.node("DequantizeLinear", net.const(w), net.const(scales), net.const(np.zeros(16, I8)), axis=1)
    v = net.real(net.store(net.node("MatMul", net.real("x", 0.05, zero), real_w), 0.1, I8(5)), 0.1, I8(5))
    turned = net.real(net.store(net.node("Transpose", v, perm=[0, 2, 1]), 0.1, I8(5)), 0.1, I8(5))
    net.store(net.node("MatMul", v, turned), 2, I8(0), to="y")
    sums = (x.astype(np.int64) - int(zero)) @ w.astype(np.int64)
    inner = saturate(sums.astype(F32) * ((F32(0.05) * scales) / F32(0.1)), I8(5)).astype(np.int64) - 5
    return net.model(), x, saturate((inner @ inner.transpose(0, 2, 1)).astype(F32) * (F32(0.1) * F32(0.1) / F32(2)), I8(0))


def real_of(x, scale, zero):
    return (x.astype(I32) - int(zero)).astype(F32) * F32(scale)


def selection_case(shape, op, values, right, **fields):
    """An operator that selects elements; `values` are its constant inputs, `right` what it does in NumPy."""
    rng = np.random.RandomState(5)
    x = rng.randint(0, 256, shape).astype(U8)
    net = Net(list(shape), U8)
    v = net.node(op, net.real("x", 0.5, U8(7)), *[net.const(value) if value is not None else "" for value in values], **fields)
    net.store(v, 0.5, U8(7), to="y")
    return net.model(), x, right(x)


def product_case(kind, constant=False):
    """By a constant of a factor a channel, or by its own maximum pool."""
    rng = np.random.RandomState(6)
    info = np.iinfo(kind)
    x = rng.randint(info.min, info.max + 1, (1, 16, 6, 7)).astype(kind)
    zero, y_zero, b_zero = kind(3), kind(9), kind(5)
    net = Net(list(x.shape), kind)
    real = net.real("x", 0.05, zero)
    if constant:
        b = rng.randint(info.min, info.max + 1, (1, 16, 1, 1)).astype(kind)
        factor = net.real(net.const(b), 0.02, b_zero)
        scale = F32(0.02)
    else:
        factor = net.real(net.store(net.node("MaxPool", real, kernel_shape=[3, 3], pads=[1, 1, 1, 1]), 0.05, zero), 0.05, zero)
        padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=info.min)
        b = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3)).max(axis=(4, 5))
        b_zero, scale = zero, F32(0.05)
    net.store(net.node("Mul", real, factor), 0.075, y_zero, to="y")
    products = (x.astype(I32) - int(zero)) * (b.astype(I32) - int(b_zero))
    return net.model(), x, saturate(products.astype(F32) * (F32(0.05) * scale / F32(0.075)), y_zero)


def silu_case():
    """The sigmoid is stored in 8 bits, too: one table of both."""
    x = np.arange(256, dtype=U8).reshape(2, 8, 16)
    net = Net(list(x.shape), U8)
    real = net.real("x", 0.05, U8(120))
    sigmoid = net.real(net.store(net.node("Sigmoid", real), 1 / 256, U8(0)), 1 / 256, U8(0))
    net.store(net.node("Mul", real, sigmoid), 0.03, U8(10), to="y")
    values = real_of(x, 0.05, U8(120))
    stored = saturate(1 / (1 + np.exp(-values.astype(np.float64))) * 256, U8(0))
    products = (x.astype(I32) - 120) * stored.astype(I32)
    return net.model(), x, saturate(products.astype(F32) * (F32(0.05) * F32(1 / 256) / F32(0.03)), U8(10))


def clip_case():
    """ReLU6."""
    x = np.arange(256, dtype=U8).reshape(2, 8, 16)
    net = Net(list(x.shape), U8)
    v = net.node("Clip", net.real("x", 0.05, U8(60)), net.const(F32(0)), net.const(F32(6)))
    net.store(v, 0.03, U8(10), to="y")
    return net.model(), x, saturate(np.clip(real_of(x, 0.05, U8(60)), F32(0), F32(6)) / F32(0.03), U8(10))


def concat_case(count, y_scale):
    """x and tables of it, joined along the channels; `y_scale` 0.05 is that of all inputs."""
    rng = np.random.RandomState(7)
    x = rng.randint(0, 256, (2, 4, 5, 3)).astype(U8)
    net = Net(list(x.shape), U8)
    floats, parts = [net.real("x", 0.05, U8(9))], [x]
    for i in range(1, count):
        stored = net.store(net.node("LeakyRelu", floats[0], alpha=0.25 * i), 0.05, U8(9))
        floats.append(net.real(stored, 0.05, U8(9)))
        value = real_of(x, 0.05, U8(9))
        parts.append(saturate(np.where(value < 0, value * F32(0.25 * i), value) / F32(0.05), U8(9)))
    net.store(net.node("Concat", *floats, axis=1), y_scale, U8(9), to="y")
    joined = np.concatenate(parts, axis=1)
    return net.model(), x, saturate(real_of(joined, 0.05, U8(9)) / F32(y_scale), U8(9))


def split_case(sizes):
    """Split along the channels, and joined in another order."""
    rng = np.random.RandomState(8)
    x = rng.randint(0, 256, (2, sum(sizes), 5, 3)).astype(U8)
    net = Net(list(x.shape), U8)
    names = [f"part{i}" for i in range(len(sizes))]
    net.nodes.append(helper.make_node("Split", [net.real("x", 0.5, U8(7)), net.const(np.array(sizes, np.int64))], names, axis=1))
    parts = [net.real(net.store(name, 0.5, U8(7)), 0.5, U8(7)) for name in names]
    net.store(net.node("Concat", *parts[::-1], axis=1), 0.5, U8(7), to="y")
    return net.model(), x, np.concatenate(np.split(x, np.cumsum(sizes)[:-1], axis=1)[::-1], axis=1)


def mean_case(kind, op, scales=(0.05, 0.05), zeros=(3, 9), **fields):
    """Means of windows of 3 x 3, or of whole planes: the quotient of exact sums, rounded once."""
    rng = np.random.RandomState(12)
    info = np.iinfo(kind)
    x = rng.randint(info.min, info.max + 1, (2, 37, 8, 6)).astype(kind)
    (x_scale, y_scale), (zero, y_zero) = (F32(s) for s in scales), (kind(z) for z in zeros)
    net = Net(list(x.shape), kind)
    net.store(net.node(op, net.real("x", x_scale, zero), **fields), y_scale, y_zero, to="y")
    steps = x.astype(np.int64) - int(zero)
    if op == "GlobalAveragePool":
        sums, counts = steps.sum(axis=(2, 3), keepdims=True), 48
    else:
        around = [(0, 0), (0, 0), (1, 1), (1, 1)]
        windows = [np.lib.stride_tricks.sliding_window_view(np.pad(t, around), (3, 3), axis=(2, 3)) for t in (steps, np.ones_like(steps))]
        sums, counts = (w[:, :, ::2, ::2].sum(axis=(4, 5)) for w in windows)
        counts = 9 if fields.get("count_include_pad") else counts
    return net.model(), x, saturate(sums * np.float64(x_scale) / (counts * np.float64(y_scale)), y_zero)


def interpolate(x, factor, axis):
    """Linear interpolation in double precision between the centres of elements."""
    extent = x.shape[axis]
    at = (np.arange(extent * factor) + 0.5) / factor - 0.5
    left = np.floor(at).astype(int)
    share = (at - left).reshape([-1 if i == axis else 1 for i in range(x.ndim)])
    low, high = (np.take(x, np.clip(left + i, 0, extent - 1), axis) for i in (0, 1))
    return (1 - share) * low + share * high


def resize_case(kind, factors, channels=5, scales=(0.05, 0.05), zeros=(3, 9), opset=17):
    """Rows first, then columns, rounded once."""
    rng = np.random.RandomState(13)
    info = np.iinfo(kind)
    x = rng.randint(info.min, info.max + 1, (2, channels, 7, 6)).astype(kind)
    (x_scale, y_scale), (zero, y_zero) = (F32(s) for s in scales), (kind(z) for z in zeros)
    net = Net(list(x.shape), kind, opset=opset)
    sizes = net.const(np.array([1, 1, *factors], F32))
    net.store(net.node("Resize", net.real("x", x_scale, zero), "", sizes, mode="linear"), y_scale, y_zero, to="y")
    real = interpolate(interpolate(x.astype(np.float64) - int(zero), factors[0], 2), factors[1], 3)
    return net.model(), x, saturate(real * (np.float64(x_scale) / np.float64(y_scale)), y_zero)


def ints(*values):
    return np.array(values, np.int64)


def hostile_products(kind, y_kind):
    """Columns of scales that are 0, negative, infinite or no number, and zero points at the ends of their types: NaN is 0 before the zero
    point, all else saturates."""
    rng = np.random.RandomState(12)
    info = np.iinfo(kind)
    x = rng.randint(info.min, info.max + 1, (30, 68)).astype(kind)
    w = rng.randint(-128, 128, (68, 70)).astype(I8)
    w[:, 3] = 0
    scale = rng.uniform(0.002, 0.01, 70).astype(F32)
    scale[:8] = [0, -0.01, np.inf, np.inf, np.nan, 1e-45, 3e38, -np.inf]
    x_zero, y_zero = kind(info.max), y_kind(np.iinfo(y_kind).min)
    net = Net(list(x.shape), kind)
    one = [net.const(value) for value in (F32(0.5), x_zero, w, scale, np.zeros(70, I8), F32(0.7), y_zero)]
    net.node("QLinearMatMul", "x", *one, to="y")
    with np.errstate(all="ignore"):
        sums = (x.astype(np.int64) - int(x_zero)) @ w.astype(np.int64)
        steps = sums.astype(F32) * (F32(0.5) * scale / F32(0.7))
    return net.model(y_kind), x, saturate(np.where(np.isnan(steps), 0, steps), y_zero)


def lines_case(kind, x_zero, taps, stride, pads, extents):
    """Channels in whole fours, so that windows are read as lines: with padding of zeros, which is left out, and of other bytes."""
    rng = np.random.RandomState(13)
    info = np.iinfo(kind)
    x = rng.randint(info.min, info.max + 1, (2, 8, *extents)).astype(kind)
    w = rng.randint(-127, 128, (40, 8, taps, taps)).astype(I8)
    x_scale, y_scale, w_scale = F32(0.03), F32(0.9), rng.uniform(0.002, 0.01, 40).astype(F32)
    zero, y_zero = kind(x_zero), kind(3)
    net = Net(list(x.shape), kind)
    real_w = net.node("DequantizeLinear", net.const(w), net.const(w_scale), net.const(np.zeros(40, I8)), axis=0)
    net.store(net.node("Conv", net.real("x", x_scale, zero), real_w, pads=[pads] * 4, strides=[stride] * 2), y_scale, y_zero, to="y")
    factor = ((x_scale * w_scale) / y_scale).astype(F32).reshape(-1, 1, 1)
    sums = convolve(x.astype(np.int64) - int(x_zero), w, pads, stride)
    return net.model(), x, saturate(sums.astype(F32) * factor, y_zero)


def table_case(kind, filters, taps):
    """A function of what a convolution stores: looked up as its bytes are stored, where there is a kernel that does."""
    rng = np.random.RandomState(14)
    info = np.iinfo(kind)
    x = rng.randint(info.min, info.max + 1, (2, 12, 7, 9)).astype(kind)
    w = rng.randint(-127, 128, (filters, 12, taps, taps)).astype(I8)
    x_scale, v_scale, y_scale, w_scale = F32(0.03), F32(0.7), F32(0.4), rng.uniform(0.002, 0.01, filters).astype(F32)
    x_zero, v_zero, y_zero = kind(5), kind(info.min + 100), kind(info.max - 150)
    net = Net(list(x.shape), kind)
    real_w = net.node("DequantizeLinear", net.const(w), net.const(w_scale), net.const(np.zeros(filters, I8)), axis=0)
    v = net.store(net.node("Conv", net.real("x", x_scale, x_zero), real_w, pads=[taps // 2] * 4), v_scale, v_zero)
    net.store(net.node("LeakyRelu", net.real(v, v_scale, v_zero), alpha=0.25), y_scale, y_zero, to="y")
    factor = ((x_scale * w_scale) / v_scale).astype(F32).reshape(-1, 1, 1)
    inner = saturate(convolve(x.astype(np.int64) - int(x_zero), w, taps // 2, 1).astype(F32) * factor, v_zero)
    value = real_of(inner, v_scale, v_zero)
    return net.model(), x, saturate(np.where(value < 0, value * F32(0.25), value) / y_scale, y_zero)


CASES = [
    ("slice", selection_case((2, 6, 9), "Slice", [ints(1, 8), ints(5, 0), ints(1, 2), ints(2, -3)], lambda x: x[:, 1:5:2, 8:0:-3]),
     {"quantized.slice": 1}),
    ("pad with 0", selection_case((2, 4, 5, 6), "Pad", [ints(0, 1, 2, 0, 0, 0, 1, 3)],
                                  lambda x: np.pad(x, ((0, 0), (1, 0), (2, 1), (0, 3)), constant_values=7)), {"quantized.pad": 1}),
    ("pad by reflection", selection_case((2, 4, 5), "Pad", [ints(0, 1, 2, 0, 0, 3)],
                                         lambda x: np.pad(x, ((0, 0), (1, 0), (2, 3)), mode="reflect"), mode="reflect"),
     {"quantized.pad": 1}),
    ("resize to the nearest", selection_case((1, 24, 4, 5), "Resize", [None, np.array([1, 1, 2, 3], F32)],
                                             lambda x: x.repeat(2, axis=2).repeat(3, axis=3), mode="nearest",
                                             coordinate_transformation_mode="asymmetric", nearest_mode="floor"),
     {"quantized.resize": 1}),
    ("mean of planes of u8", mean_case(U8, "GlobalAveragePool"), {"quantized.global_average_pool": 1}),
    ("mean of planes of i8, another scale", mean_case(I8, "GlobalAveragePool", (0.05, 0.02), (-3, 100)),
     {"quantized.global_average_pool": 1}),
    ("mean of windows of u8", mean_case(U8, "AveragePool", kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4),
     {"quantized.average_pool": 1}),
    ("mean of windows of i8, padding counts", mean_case(I8, "AveragePool", (0.05, 0.03), (0, -128), kernel_shape=[3, 3],
                                                        strides=[2, 2], pads=[1] * 4, count_include_pad=1),
     {"quantized.average_pool": 1}),
    ("linear resize of u8", resize_case(U8, (2, 2)), {"quantized.resize.linear": 1}),
    ("linear resize of i8, many channels", resize_case(I8, (2, 4), channels=70, zeros=(-128, 0)), {"quantized.resize.linear": 1}),
    ("linear resize of u8, another scale", resize_case(U8, (3, 2), scales=(0.05, 0.03), opset=18),
     {"quantized.resize.linear.axes": 1}),
    ("gather", selection_case((5, 8), "Gather", [ints(3, 0, 4)], lambda x: x[[3, 0, 4]], axis=0), {"quantized.gather": 1}),
    ("expand", selection_case((4, 1), "Expand", [ints(3, 4, 5)], lambda x: np.broadcast_to(x, (3, 4, 5))), {"quantized.expand": 1}),
    ("squeeze", selection_case((4, 1, 5), "Squeeze", [ints(1)], lambda x: x.reshape(4, 5)), {"quantized.squeeze": 1}),
    ("unsqueeze", selection_case((4, 5), "Unsqueeze", [ints(1)], lambda x: x.reshape(4, 1, 5)), {"quantized.unsqueeze": 1}),
    ("space to depth", selection_case((1, 2, 4, 6), "SpaceToDepth", [], lambda x: x.reshape(1, 2, 2, 2, 3, 2).transpose(
        0, 3, 5, 1, 2, 4).reshape(1, 8, 2, 3), blocksize=2), {"quantized.space_to_depth": 1}),
    ("depth to space", selection_case((1, 8, 2, 3), "DepthToSpace", [], lambda x: x.reshape(1, 2, 2, 2, 2, 3).transpose(
        0, 3, 4, 1, 5, 2).reshape(1, 2, 4, 6), blocksize=2), {"quantized.depth_to_space": 1}),
    ("product of u8", product_case(U8), {"quantized.mul": 1, "quantized.max_pool": 1}),
    ("product of i8", product_case(I8), {"quantized.mul": 1, "quantized.max_pool": 1}),
    ("product by a constant", product_case(U8, constant=True), {"quantized.mul": 1}),
    ("x * sigmoid(x)", silu_case(), {"quantized.mul": 1, "quantized.sigmoid": 1, "quantized.silu": 1}),
    ("ReLU6", clip_case(), {"quantized.clip": 1}),
    *[(f"concat of {n}", concat_case(n, 0.05), {f"quantized.concat.{n}": 1, "quantized.leaky_relu": n - 1}) for n in (2, 3, 4, 5)],
    *[(f"concat of {n}, another scale", concat_case(n, 0.075), {f"quantized.concat.tables.{n}": 1, "quantized.leaky_relu": n - 1})
      for n in (2, 3, 4, 5)],
    ("split in two", split_case([3, 5]), {"quantized.split.2": 1, "quantized.concat.2": 1}),
    ("split in three", split_case([3, 1, 5]), {"quantized.split.3": 1, "quantized.concat.3": 1}),
    ("conv of u8, a scale a channel", conv_case(U8, 120, 131, True), {"quantized.conv": 1}),
    ("conv of u8, one scale", conv_case(U8, 0, 128, False), {"quantized.conv": 1}),
    ("conv of i8", conv_case(I8, 0, 0, True), {"quantized.conv": 1}),
    ("conv of i8, zero points", conv_case(I8, -128, 3, True), {"quantized.conv": 1}),
    ("conv without a bias", conv_case(U8, 7, 128, True, bias=None), {"quantized.conv": 1}),
    ("conv with a bias of floats", conv_case(U8, 7, 128, True, bias="f32"), {"quantized.conv": 1}),
    ("conv, ReLU in the saturation", conv_case(U8, 3, 0, True, act="Relu"), {"quantized.conv.relu": 1}),
    ("sum and pool of u8", sum_case(U8), {"quantized.add": 1, "quantized.max_pool": 1}),
    ("sum and pool of i8", sum_case(I8), {"quantized.add": 1, "quantized.max_pool": 1}),
    ("sum and ReLU of u8", sum_case(U8, relu=True), None),
    ("residual of u8", residual_case(U8, 1, True, (117, 0, 0)), None),
    ("residual of u8, zero points", residual_case(U8, 3, False, (131, 7, 120)), None),
    ("residual of i8, the other way round", residual_case(I8, 1, False, (-3, 0, 5), swapped=True), None),
    ("flatten, gemm and sigmoid", gemm_case(), {"quantized.flatten": 1, "quantized.gemm.transposed": 1, "quantized.sigmoid": 1}),
    *[(f"conv by lines, {kind.__name__}, zero point {zero}, {taps} x {taps}, stride {stride}, padding {pads}, {extents}",
       lines_case(kind, zero, taps, stride, pads, extents), {"quantized.conv": 1})
      for kind, zero in ((U8, 0), (U8, 120), (I8, 0), (I8, -7))
      for taps, stride, pads, extents in ((3, 1, 1, (7, 8)), (3, 2, 1, (15, 17)), (1, 2, 0, (15, 17)), (5, 1, 2, (3, 29)), (3, 1, 1, (9, 3)))],
    *[(f"conv and a table, {kind.__name__}, {filters} filters of {taps} x {taps}", table_case(kind, filters, taps),
       {"quantized.conv": 1, "quantized.leaky_relu": 1}) for kind in (U8, I8) for filters, taps in ((32, 1), (75, 3))],
    *[(f"hostile scales of products, {kind.__name__} to {y_kind.__name__}", hostile_products(kind, y_kind), None)
      for kind in (U8, I8) for y_kind in (U8, I8)],
    *[(f"products of matrices of {rows} x {depth}", mat_mul_case(rows, depth),
       {"quantized.mat_mul": 1, "quantized.mat_mul.both": 1, "quantized.transpose": 1}) for rows, depth in ((6, 16), (37, 16), (70, 150))],
]


def dynamic_model(rows, per_column, bias):
    """As onnxruntime's quantize_dynamic writes a MatMul, and what it computes."""
    rng = np.random.RandomState(9)
    x = rng.standard_normal((2, rows, 40)).astype(F32)
    w, b = rng.randint(-127, 128, (40, 24)).astype(I8), rng.standard_normal(24).astype(F32)
    w_scale = rng.uniform(0.002, 0.01, 24).astype(F32) if per_column else F32(0.007)
    w_zero = rng.randint(-5, 6, 24).astype(I8) if per_column else I8(3)
    net = Net(list(x.shape), F32)
    net.nodes.append(helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "q_scale", "q_zero"]))
    sums = net.node("MatMulInteger", "q", net.const(w), "q_zero", net.const(w_zero))
    scale = net.node("Mul", "q_scale", net.const(w_scale))
    net.nodes.append(helper.make_node("Cast", [sums], ["wide"], to=TensorProto.FLOAT))
    net.node("Mul", "wide", scale, to="v" if bias else "y")
    if bias:
        net.node("Add", net.const(b), "v", to="y")
    low, high = min(F32(0), x.min()), max(F32(0), x.max())
    q_scale = (high - low) / F32(255)
    zero = np.rint(np.clip(-low / q_scale, 0, 255))
    q = np.clip(np.rint(x / q_scale) + zero, 0, 255)
    right = (q - zero).astype(np.int64) @ (w.astype(np.int64) - w_zero) * (q_scale * w_scale).astype(np.float64)
    return net.model(), x, right + (b if bias else 0)


def mixed_model(kind):
    """A pair of 16 bits, and a convolution of unsigned bytes by signed weights, as quantize_dynamic writes them."""
    rng = np.random.RandomState(11)
    net = Net([1, 16, 12, 12], F32, opset=21)
    pair = net.real(net.store("x", 2.0 ** -12, kind(100)), 2.0 ** -12, kind(100))
    net.nodes.append(helper.make_node("DynamicQuantizeLinear", [pair], ["q", "q_scale", "q_zero"]))
    net.node("ConvInteger", "q", net.const(rng.randint(-127, 128, (8, 16, 3, 3)).astype(I8)), "q_zero", net.const(I8(0)), to="y")
    return net.model(I32)


def packed(codes):
    """Integers of 4 bits, two a byte."""
    flat = codes.reshape(-1).astype(np.uint8) & 15
    return (flat[::2] | flat[1::2] << 4).tobytes()


def block_model(kind, turned, zeros, rows=18):
    """A product with weights of 4 bits in blocks, or of 8-bit floats of a scale a column."""
    rng = np.random.RandomState(10)
    depth, columns, block = 64, 22, 16
    x = rng.standard_normal((rows, depth)).astype(F32)
    is_float = kind == TensorProto.FLOAT8E4M3FN
    if is_float:
        raw = rng.randint(0, 0x70, (depth, columns)).astype(U8)
        exponent, mantissa = raw >> 3, raw & 7
        values = np.where(exponent == 0, mantissa / 8 * 2.0 ** -6, (1 + mantissa / 8) * 2.0 ** (exponent.astype(int) - 7))
        scale = rng.uniform(0.5, 1, (1, columns)).astype(F32)
        offsets = np.zeros((1, columns))
        block = depth
    else:
        low = 0 if kind == TensorProto.UINT4 else -8
        values = rng.randint(low, low + 16, (depth, columns))
        scale = rng.uniform(0.01, 0.1, (depth // block, columns)).astype(F32)
        offsets = rng.randint(low, low + 16, scale.shape) if zeros else np.zeros(scale.shape, int)
    weights = (values - offsets.repeat(block, axis=0)) * scale.repeat(block, axis=0).astype(np.float64)
    swap = (lambda m: np.ascontiguousarray(m.T)) if turned else (lambda m: m)
    net = Net(list(x.shape), F32, opset=21)
    data = swap(raw).tobytes() if is_float else packed(swap(values))
    net.constants.append(helper.make_tensor("w", kind, swap(values).shape, data, raw=True))
    inputs = ["w", net.const(scale[0] if is_float else swap(scale))]
    if zeros:
        net.constants.append(helper.make_tensor("z", kind, swap(offsets).shape, packed(swap(offsets)), raw=True))
        inputs.append("z")
    fields = {"axis": 0 if turned else 1} if is_float else {"axis": 1 if turned else 0, "block_size": block}
    real = net.node("DequantizeLinear", *inputs, **fields)
    net.node("MatMul", "x", net.node("Transpose", real, perm=[1, 0]) if turned else real, to="y")
    return net.model(), x, x.astype(np.float64) @ weights


def damaged(of, value):
    """The convolution with another value in the constant that is `of`: its scale, ..."""
    model, x, _ = conv_case(U8, 120, 131, True)
    store = next(n for n in model.graph.node if n.op_type == "QuantizeLinear")
    read = next(n for n in model.graph.node if n.op_type == "DequantizeLinear" and n.input[0] == "x")
    name = {"scale": store.input[1], "zero": store.input[2], "x zero": read.input[2]}[of]
    for constant in model.graph.initializer:
        if constant.name == name:
            constant.CopyFrom(numpy_helper.from_array(np.asarray(value), name))
    return model, x


class Checks(ProgramChecks):
    prints_passes = False

    def build(self, model, *options):
        """What rewrites were applied; null where it failed, with the reason."""
        onnx.save(model, self.path("net.onnx"))
        done = self.program("build", "net.onnx", "-o", "net.plan", "--no-timing", "--json", *options)
        if done.returncode:
            return None, done.stderr
        return {r["name"]: r["count"] for r in json.loads(done.stdout)["rewrites"]}, ""

    def run(self, x, *options):
        np.save(self.path("x.npy"), x)
        done = self.program("run", "net.plan", "--input", "x=x.npy", "--output", "y=y.npy", *options)
        return np.load(self.path("y.npy")) if done.returncode == 0 else done.stderr

    def case(self, name, case, wanted):
        model, x, right = case
        for libraries in ([], ["--no-kernel-libraries"]):
            applied, why = self.build(model, *libraries)
            if wanted is not None:
                self.report(f"{name}: rewrites", applied == wanted, f"{applied}, expected {wanted} {why}")
            found = self.run(x)
            same = isinstance(found, np.ndarray) and found.dtype == right.dtype and np.array_equal(found, right)
            off = found if isinstance(found, str) else f"{np.count_nonzero(found != right)} of {right.size} bytes differ"
            self.report(f"{name}: bytes {libraries}", same, off)

    def tiles(self):
        """The kernels on tiles, where the processor has them: bytes, with zero points, padding, strides and rests of tiles. Tables are
        looked up by all kernels of ours."""
        features = self.program("doctor").stdout
        for level in ("baseline", "avx2", "avx512vnni"):
            if level == "baseline" or level in features:
                self.kernel_of(f"integer_{level}", ("conv and a table",))
        for kernel, feature in (("tiles_amx", "amx_int8"), ("tiles_avx512vnni", "avx512vnni")):
            if feature in features:
                self.kernel_of(kernel, ("conv", "residual", "products", "hostile"))

    def kernel_of(self, kernel, beginnings):
        cases = {name: case for name, case, _ in CASES if name.startswith(beginnings)}
        for name, (model, x, right) in cases.items():
            self.build(model, "--report", "net.json")
            with open(self.path("net.json"), encoding="utf-8") as file:
                nodes = json.load(file)["nodes"]
            pins = [n["name"] for n in nodes if any(c["kernel"] == kernel for c in n.get("candidates", []))]
            applied, why = self.build(model, "--report", "net.json", *[word for pin in pins for word in ("--pin", f"{pin}={kernel}")])
            self.report(f"{name} by {kernel}: a kernel", pins and applied is not None, f"{pins} {why}")
            with open(self.path("net.json"), encoding="utf-8") as file:
                absorbed = [n.get("absorbed_ops", []) for n in json.load(file)["nodes"]]
            self.report(f"{name} by {kernel}: a table", "table" not in name or ["LookUp"] in absorbed, f"absorbed: {absorbed}")
            for threads in ("1", "2"):
                found = self.run(x, "--threads", threads)
                same = isinstance(found, np.ndarray) and np.array_equal(found, right)
                self.report(f"{name} by {kernel}, {threads} threads", same, found if isinstance(found, str) else "other bytes")

    def inside(self):
        """Weights stay in 8 bits, and so does what lies between the nodes."""
        model, _, _ = conv_case(U8, 120, 131, True)
        self.build(model)
        text = self.program("inspect", "net.plan").stdout
        self.say("QLinearConv" in text and "Conv " not in text.replace("QLinearConv ", ""), f"inspect: {text[:600]}")

    def near(self, name, case, wanted, inside, absent):
        """Sums of floats: near those of doubles. The plan has what is in `inside`, and not what is in `absent`."""
        model, x, right = case
        applied, why = self.build(model)
        self.report(f"{name}: rewrites", applied == {wanted: 1}, f"{applied}, expected {wanted} {why}")
        text = self.program("inspect", "net.plan").stdout
        self.report(f"{name}: the plan", inside in text and absent not in text, text[:600])
        for threads in ("1", "2"):
            found = self.run(x, "--threads", threads)
            near = isinstance(found, np.ndarray) and np.allclose(found, right, rtol=1e-5, atol=1e-5 * np.abs(right).max())
            self.report(f"{name}: numbers on {threads} threads", near, str(found)[:200])

    def no_reference(self):
        """What is mixed in a quantised network has kernels of its own."""
        for kind in (np.uint16, np.int16):
            self.build(mixed_model(kind), "--report", "net.json")
            with open(self.path("net.json"), encoding="utf-8") as file:
                kernels = {node["op"]: node["kernel"] for node in json.load(file)["nodes"]}
            named = {"QuantizeLinear", "DequantizeLinear", "ConvInteger"} <= set(kernels)
            self.report(f"{kind.__name__}: kernels", named and "reference" not in kernels.values(), str(kernels))

    def floats(self):
        for rows in (1, 30):
            for per_column in (False, True):
                for bias in (False, True):
                    self.near(f"dynamic, {rows} rows, per column {per_column}, bias {bias}", dynamic_model(rows, per_column, bias),
                              "dynamic.mat_mul.bias" if bias else "dynamic.mat_mul", "MatMulIntegerToFloat", "Cast")
        for kind, name in ((TensorProto.UINT4, "u4"), (TensorProto.INT4, "i4"), (TensorProto.FLOAT8E4M3FN, "f8e4m3")):
            for turned in (False, True):
                for zeros in (False, True) if name != "f8e4m3" else (False,):
                    self.near(f"weights of {name}, transposed {turned}, zero points {zeros}", block_model(kind, turned, zeros),
                              "dequantize.mat_mul.transposed" if turned else "dequantize.mat_mul", "DequantizeMatMul",
                              "DequantizeLinear")
        for rows, pin in ((1, "packed"), (1, "blocks"), (30, "packed"), (30, "blocks")):
            model, x, right = block_model(TensorProto.UINT4, False, True, rows=rows)
            self.build(model, "--report", "net.json")
            with open(self.path("net.json"), encoding="utf-8") as file:
                node = json.load(file)["nodes"][0]
            kernel = next((c["kernel"] for c in node["candidates"] if c["kernel"].startswith(pin)), None)
            applied, why = self.build(model, "--pin", f"{node['name']}={kernel}")
            found = self.run(x)
            near = isinstance(found, np.ndarray) and np.allclose(found, right, rtol=1e-5, atol=1e-5 * np.abs(right).max())
            self.report(f"weights of u4, {rows} rows, {pin}", near, f"{kernel} {applied} {why} {str(found)[:200]}")

    def hostile(self):
        for name, value in (("0", F32(0)), ("negative", F32(-0.1)), ("NaN", F32("nan")), ("subnormal", F32(1e-41)), ("infinite", F32("inf"))):
            model, x = damaged("scale", value)
            applied, why = self.build(model)
            self.report(f"scale {name}: left as it is", applied == {}, f"{applied} {why}")
            found = self.run(x)
            self.build(model, "--no-fusion")
            self.report(f"scale {name}: bytes", np.array_equal(found, self.run(x)), "other than those without rewrites")
        model, x = damaged("zero", np.full(24, 3, U8))
        applied, why = self.build(model)
        self.report("24 zero points for one scale", applied is None and "zero_point" in why, f"{applied} {why}")
        model, x = damaged("x zero", I8(3))
        applied, why = self.build(model)
        self.report("a zero point of another type than x", applied is None and "zero_point" in why, f"{applied} {why}")

    def shared(self):
        """Where somebody else reads the real values, DequantizeLinear stays for them alone."""
        model, x, right = conv_case(U8, 120, 131, True)
        real = next(n for n in model.graph.node if n.op_type == "DequantizeLinear" and n.input[0] == "x")
        model.graph.output.append(helper.make_tensor_value_info(real.output[0], TensorProto.FLOAT, None))
        applied, why = self.build(model)
        self.report("real values that are an output too", applied == {"quantized.conv": 1}, f"{applied} {why}")
        self.report("real values that are an output too: bytes", np.array_equal(self.run(x), right), "others")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory(prefix="tenon-quantized.") as folder:
        checks = Checks(sys.argv[1], folder)
        for name, case, wanted in CASES:
            checks.case(name, case, wanted)
        checks.tiles()
        checks.inside()
        checks.floats()
        checks.no_reference()
        checks.hostile()
        checks.shared()
        return checks.end()


if __name__ == "__main__":
    sys.exit(main())
