# SPDX-License-Identifier: Apache-2.0
"""Networks of 8 and 16 bits: pairs of QuantizeLinear and DequantizeLinear, QLinear operators, ranges found by run, halves between Casts."""

import numpy as np
from family import IMAGES, TEXTS, Family
from net import F16, F32, I64, Net
from onnx import TensorProto

FAMILY = Family()
ROUNDED = 2e-2  # a rounding step of 8 bits that falls to the other side


def scale_of(net, value):
    return net.constant(np.float32(value))


def fake(net, x, scale=0.05, zero=128, kind=np.uint8):
    """Quantised and back."""
    s, z = scale_of(net, scale), net.constant(np.array(zero, kind))
    return net.DequantizeLinear(net.QuantizeLinear(x, s, z), s, z).of(x.channels)


def weights(net, *shape, axis=0):
    """8-bit weights with a scale for each index of the axis, dequantised."""
    w = net.constant(net.rng.integers(-64, 65, shape).astype(np.int8))
    s = net.constant(net.rng.uniform(0.5, 1, shape[axis]).astype(np.float32) / 127 / np.float32(np.sqrt(np.prod(shape) / shape[axis])))
    z = net.constant(np.zeros(shape[axis], np.int8))
    return net.DequantizeLinear(w, s, z, axis=axis)


def bias(net, count):
    b = net.constant(net.rng.integers(-500, 500, count).astype(np.int32))
    return net.DequantizeLinear(b, scale_of(net, 2e-4))


def conv(net, x, out, k=3, s=1, g=1, act="relu"):
    y = net.Conv(x, weights(net, out, x.channels // g, k, k), bias(net, out), kernel_shape=[k, k], strides=[s, s], pads=[k // 2] * 4, group=g)
    return fake(net, net.act(y.of(out), act))


@FAMILY.add(IMAGES, (13, "script"), (17, "script"), (21, "dynamo"), quick=True, loose=ROUNDED)
def qdq_resnet(net):
    x = fake(net, net.input("input", ["batch", 3, "height", "width"]), 1 / 127)
    x = fake(net, net.max_pool(conv(net, x, 8, 3, 2)))
    y = conv(net, conv(net, x, 8), 8, act=None)
    x = fake(net, net.Relu(net.Add(x, y)).of(8))
    x = conv(net, conv(net, x, 16, 1), 16, 3, 2, g=16)
    x = fake(net, net.concat(x, conv(net, x, 8, 1)))
    y = net.Flatten(fake(net, net.GlobalAveragePool(x).of(24)), axis=1)
    net.output(net.Gemm(y, weights(net, 10, 24), bias(net, 10), transB=1), "output")


@FAMILY.add(TEXTS, (13, "script"), loose=ROUNDED)
def qdq_transformer(net):
    """Quantised products in an encoder's layer; normalisation and softmax in 32 bits."""
    x = net.input("hidden", ["batch", "length", 24], channels=24)

    def linear(x, out):
        y = net.MatMul(fake(net, x, 0.02), weights(net, x.channels, out, axis=1))
        return net.Add(y, net.vector(out)).of(out)

    q, k, v = (net.heads(linear(x, 24), 3, keys=i == 1) for i in range(3))
    p = net.softmax(net.Div(net.MatMul(fake(net, q, 0.02), fake(net, k, 0.02)), 8**0.5))
    y = net.join_heads(net.MatMul(fake(net, p, 1 / 255, 0), fake(net, v, 0.02)), 24)
    x = net.layer_norm(net.Add(x, linear(y, 24)).of(24))
    net.output(linear(net.gelu(linear(x, 48)).of(48), 24), "output")


@FAMILY.add(({"batch": 1}, {"batch": 3}), (13, "script"), quick=True, loose=ROUNDED)
def qdq_deep(net):
    """Rewrites turn the weights of each product, so that the graph has many tensors of which no shapes are known yet."""
    x, step, zero = fake(net, net.input("input", ["batch", 8], channels=8), 1 / 128), scale_of(net, 1 / 128), net.constant(np.array(0, np.int8))
    for _ in range(150):
        w = net.constant((128 * np.eye(8) + net.rng.integers(-4, 5, (8, 8)) - 1).clip(-128, 127).astype(np.int8))
        b = net.constant(net.rng.integers(-99, 99, 8).astype(np.int32))
        y = net.Gemm(x, net.DequantizeLinear(w, step, zero), net.DequantizeLinear(b, scale_of(net, 1 / 128 ** 2)))
        x = fake(net, y.of(8), 1 / 128)
    net.output(x, "output")


@FAMILY.add(IMAGES, (11, "script"), (13, "script"), loose=ROUNDED)
def qlinear_convolutions(net):
    """QLinearConv, QLinearMatMul, and onnxruntime's sums and averages of 8 bits."""
    def pair(scale, zero):
        return [scale_of(net, scale), net.constant(np.array(zero, np.uint8))]

    def qconv(x, before, out, after, s=1, g=1):
        w = net.constant(net.rng.integers(-64, 65, (out, x.channels // g, 3, 3)).astype(np.int8))
        ws, wz = net.constant(net.rng.uniform(0.001, 0.004, out).astype(np.float32)), net.constant(np.zeros(out, np.int8))
        b = net.constant(net.rng.integers(-900, 900, out).astype(np.int32))
        return net.QLinearConv(x, *before, w, ws, wz, *after, b, strides=[s, s], pads=[1] * 4, kernel_shape=[3, 3], group=g).of(out)

    one, two = pair(1 / 127, 128), pair(0.03, 100)
    x = net.QuantizeLinear(net.input("input", ["batch", 3, "height", "width"]), *one).of(3)
    x = qconv(x, one, 8, two, 2)
    y = qconv(qconv(x, two, 8, two, g=8), two, 8, two)
    x = net.QLinearAdd(x, *two, y, *two, *two, domain="com.microsoft").of(8)
    x = net.MaxPool(x, kernel_shape=[2, 2], strides=[2, 2]).of(8) if net.opset >= 12 else x
    x = net.QLinearGlobalAveragePool(x, *two, *two, domain="com.microsoft", channels_last=0)
    x = net.Reshape(x, [-1, 8])
    w = net.constant(net.rng.integers(-64, 65, (8, 10)).astype(np.int8))
    y = net.QLinearMatMul(x, *two, w, scale_of(net, 0.01), net.constant(np.array(0, np.int8)), *two)
    net.output(net.DequantizeLinear(y, *two), "output")


@FAMILY.add(TEXTS, (11, "script"), (17, "script"), loose=ROUNDED)
def dynamic_quantization(net):
    """As onnxruntime quantises transformers without samples: DynamicQuantizeLinear, MatMulInteger, Cast, Mul."""
    x = net.input("hidden", ["batch", "length", 16], channels=16)
    for out, act in ((32, "gelu"), (16, None)):
        q, s, z = net.DynamicQuantizeLinear(x, outputs=3)
        w = net.constant(net.rng.integers(-64, 65, (x.channels, out)).astype(np.int8))
        y = net.Cast(net.MatMulInteger(q, w, z, net.constant(np.array(0, np.int8))), to=F32)
        y = net.Mul(y, net.Mul(s, scale_of(net, 0.004)))
        x = net.act(net.Add(y, net.vector(out)).of(out), act)
    net.output(net.layer_norm(x.of(16)), "output")


@FAMILY.add(IMAGES, (11, "script"), loose=ROUNDED)
def convinteger(net):
    """Convolutions quantised without samples: ConvInteger."""
    x = net.input("input", ["batch", 3, "height", "width"])
    for out in (8, 12):
        q, s, z = net.DynamicQuantizeLinear(x, outputs=3)
        w = net.constant(net.rng.integers(0, 256, (out, x.channels, 3, 3)).astype(np.uint8))
        y = net.ConvInteger(q, w, z, net.constant(np.array(128, np.uint8)), pads=[1] * 4, strides=[2, 2])
        y = net.Mul(net.Cast(y, to=F32), net.Mul(s, scale_of(net, 0.003)))
        x = net.Relu(net.Add(y, net.constant(net.rng.uniform(-0.1, 0.1, (1, out, 1, 1)).astype(np.float32)))).of(out)
    net.output(net.classifier(x), "output")


class HalfNet(Net):
    """Constants and inputs of 16-bit floats."""

    def constant(self, array, name=None, node=False):
        array = np.asarray(array)
        return super().constant(array.astype(np.float16) if array.dtype.kind == "f" else array, name, node)

    def scalar(self, number, kind=np.float32):
        return super().scalar(number, np.float16 if kind is np.float32 and isinstance(number, float) else kind)


@FAMILY.add(IMAGES, (11, "script"), (17, "script"), loose=1e-2)
def half_convolutions(net):
    """16 bits between Casts at the border, as converters leave inputs and outputs."""
    net.__class__ = HalfNet
    x = net.Cast(net.input("input", ["batch", 3, "height", "width"]), to=F16).of(3)
    x = net.max_pool(net.conv(x, 8, 3, 2, act="relu")).of(8)
    x = net.Add(x, net.conv(net.conv(x, 8, act="silu"), 8)).of(8)
    net.output(net.Cast(net.classifier(x), to=F32), "output")


@FAMILY.add(TEXTS, (17, "script"), loose=1e-2, quick=True)
def half_transformer(net):
    """16 bits, but normalisation and softmax between Casts to 32."""
    net.__class__ = HalfNet
    tokens = net.input("input_ids", ["batch", "length"], I64, 0, 30)
    x = net.Gather(net.weight(30, 24, scale=2), tokens).of(24)
    q, k, v = (net.heads(net.linear(x, 24), 3, keys=i == 1) for i in range(3))
    p = net.softmax(net.Cast(net.Mul(net.MatMul(q, k), 8**-0.5), to=F32))
    x = net.Add(x, net.linear(net.join_heads(net.MatMul(net.Cast(p, to=F16), v), 24), 24)).of(24)
    x = net.layer_norm(x)
    net.output(net.linear(net.linear(x, 48, act="gelu"), 24), "output", F16)


@FAMILY.add(TEXTS, (21, "dynamo"))
def blocked_weights(net):
    """Weights of 8 bits with a scale for each block of 8 rows."""
    x = net.input("hidden", ["batch", "length", 16], channels=16)
    w = net.constant(net.rng.integers(-128, 128, (16, 12)).astype(np.int8))
    scales = net.constant(net.rng.uniform(0.001, 0.006, (2, 12)).astype(np.float32))
    w = net.DequantizeLinear(w, scales, None, axis=0, block_size=8)
    net.output(net.Add(net.MatMul(x, w), net.vector(12)), "output")


@FAMILY.add(TEXTS, (21, "dynamo"), quick=True, loose=1e-2)
def four_bit_weights(net):
    """Weights of 4 bits, two a byte, an odd number of them: scales by blocks and zero points, by columns, and without a sign.
    onnxruntime's optimizer multiplies by them with activations of 8 bits; without it its numbers are those here."""
    x = net.input("hidden", ["batch", "length", 15], channels=15)
    w = net.packed(TensorProto.INT4, net.rng.integers(-8, 8, (15, 9)))
    zero = net.packed(TensorProto.INT4, net.rng.integers(-2, 3, (3, 9)))
    scales = net.constant(net.rng.uniform(0.01, 0.06, (3, 9)).astype(np.float32))
    x = net.Relu(net.MatMul(x, net.DequantizeLinear(w, scales, zero, axis=0, block_size=5)))
    w = net.packed(TensorProto.UINT4, net.rng.integers(0, 16, (7, 9)))
    scales, zero = net.constant(net.rng.uniform(0.01, 0.06, 7).astype(np.float32)), net.packed(TensorProto.UINT4, np.full(7, 8))
    w = net.Transpose(net.DequantizeLinear(w, scales, zero, axis=0), perm=[1, 0])
    net.output(net.Add(net.MatMul(x, w), net.vector(7)), "output")


@FAMILY.add(IMAGES, (21, "script"), loose=1e-3)
def wide_activations(net):
    """Activations of 16 bits beside weights of 8."""
    x = net.input("input", ["batch", 3, "height", "width"])
    for out in (8, 12):
        x = fake(net, x, 1e-4, 32768, np.uint16)
        x = net.Relu(net.Conv(x, weights(net, out, x.channels, 3, 3), bias(net, out), pads=[1] * 4, strides=[2, 2])).of(out)
    net.output(net.classifier(x), "output")
