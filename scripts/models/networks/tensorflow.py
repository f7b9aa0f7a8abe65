# SPDX-License-Identifier: Apache-2.0
"""Networks as tf2onnx and Paddle write them: channels last with Transposes around each convolution, shapes cast to 32 bits and back,
batch normalisation as Mul and Add, Pad by a constant, while loops."""

import numpy as np
from family import Family
from net import BOOL, F32, I32, I64

FAMILY = Family()
IMAGES = ({"unk__1": 1, "unk__2": 32, "unk__3": 32}, {"unk__1": 2, "unk__2": 40, "unk__3": 24})
BATCHES = ({"unk__1": 1}, {"unk__1": 3})
VARIANTS = ((9, "keras"), (13, "keras"), (15, "keras"))


def conv(net, x, out, k=3, s=1, act=None, g=1, same=True):
    """Of NHWC: the Transposes remain where exporters could not remove them."""
    c, k = x.channels, (k, k) if isinstance(k, int) else k
    y = net.Transpose(x, perm=[0, 3, 1, 2])
    w = net.weight(out, c // g, *k)
    y = net.Conv(y, w, auto_pad="SAME_UPPER" if same else "VALID", kernel_shape=list(k), strides=[s, s], dilations=[1, 1], group=g)
    y = net.Transpose(y, perm=[0, 2, 3, 1])
    y = net.Add(y, net.vector(out)).of(out)
    if act == "relu6":
        return net.Min(net.Max(y, 0.0), 6.0).of(out) if net.opset > 7 else y
    return net.act(y, act)


def normalise(net, x):
    return net.Add(net.Mul(x, net.vector(x.channels, 0.5, 1.5)), net.vector(x.channels))


def image(net, channels=3):
    return net.input("input_1:0", ["unk__1", "unk__2", "unk__3", channels], low=0, channels=channels)


def shape32(net, x, *parts):
    """A shape of 32-bit integers, packed from a strided slice of the shape, and cast back for Reshape."""
    size = net.Cast(net.Shape(x), to=I32)
    first = net.squeeze(net.slice(size, 0, 1, (0,)), 0)
    items = [net.unsqueeze(first, 0)] + [net.constant(np.array([n], np.int32)) for n in parts]
    return net.Cast(net.Concat(*items, axis=0), to=I64)


@FAMILY.add(IMAGES, *VARIANTS, quick=True)
def keras_mobilenet(net):
    x = net.Sub(net.Mul(image(net), 2.0), 1.0).of(3)
    padded = net.pad(x, (0, 0, 0, 0, 0, 1, 1, 0)).of(3)
    x = normalise(net, conv(net, padded, 8, 3, 2, "relu6", same=False))
    for width, s in ((12, 1), (16, 2)):
        y = normalise(net, conv(net, x, x.channels, 3, s, "relu6", g=x.channels))
        x = normalise(net, conv(net, y, width, 1, 1, "relu6"))
    x = net.mean(x, 1, 2, keepdims=0).of(16)
    x = net.MatMul(x, net.weight(16, 10))
    net.output(net.softmax(net.Add(x, net.vector(10)), 1), "Identity:0")


@FAMILY.add(IMAGES, *VARIANTS)
def keras_unet(net):
    x, skips = image(net, 1), []
    for width in (6, 8):
        x = conv(net, x, width, 3, act="relu")
        skips.append(x)
        y = net.MaxPool(net.Transpose(x, perm=[0, 3, 1, 2]), kernel_shape=[2, 2], strides=[2, 2], auto_pad="VALID")
        x = net.Transpose(y, perm=[0, 2, 3, 1]).of(width)
    x = conv(net, x, 12, act="elu")
    for skip in reversed(skips):
        y = net.resize(net.Transpose(x, perm=[0, 3, 1, 2]), 2)
        x = conv(net, net.Transpose(y, perm=[0, 2, 3, 1]).of(x.channels), skip.channels, 2, act="relu")
        x = net.Concat(skip, x, axis=-1 if net.opset > 10 else 3).of(2 * skip.channels)
    net.output(net.Sigmoid(conv(net, x, 1, 1)), "Identity:0")


@FAMILY.add(IMAGES, (12, "keras"), (15, "keras"))
def efficientdet(net):
    """Fused features by weights that are made positive and normalised; swish; boxes and classes reshaped by 32-bit shapes."""
    x = conv(net, conv(net, image(net), 8, 3, 2, "silu"), 12, 3, 2, "silu")
    y = net.MaxPool(net.Transpose(x, perm=[0, 3, 1, 2]), kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_UPPER")
    low = net.Transpose(y, perm=[0, 2, 3, 1]).of(12)
    weights = [net.Relu(net.constant(np.float32(w))) for w in (0.7, 1.3)]
    total = net.Add(net.Add(*weights), 1e-4)
    up = net.Transpose(net.resize(net.Transpose(low, perm=[0, 3, 1, 2]), 2), perm=[0, 2, 3, 1])
    size = net.Cast(net.slice(net.Shape(x), 1, 3, (0,)), to=I32)
    up = net.slice(up, net.ints(0, 0), net.Cast(size, to=I64), (1, 2))
    x = net.Add(*[net.Mul(v, net.Div(w, total)) for v, w in zip((x, up), weights)]).of(12)
    x = conv(net, conv(net, net.act(x, "silu").of(12), 12, 3, g=12), 12, 1)
    boxes = net.Reshape(conv(net, x, 12, 3), shape32(net, x, -1, 4))
    scores = net.Sigmoid(net.Reshape(conv(net, x, 9, 3), shape32(net, x, -1, 3)))
    net.output(boxes, "boxes:0")
    net.output(net.ReduceMax(scores, axes=[2], keepdims=0), "scores:0")
    net.output(net.Cast(net.ArgMax(scores, axis=2, keepdims=0), to=I32), "classes:0", I32)


@FAMILY.add(({"unk__1": 1, "unk__2": 5}, {"unk__1": 3, "unk__2": 9}), (11, "keras"), (15, "keras"), quick=True)
def keras_while(net):
    """A recurrent layer that became a Loop over time with the cell written out, its results gathered by index and transposed."""
    x = net.input("input_1:0", ["unk__1", "unk__2", 6], channels=6)
    steps = net.Cast(net.Gather(net.Shape(x), net.scalar(1, np.int64), axis=0), to=I32)
    zeros = net.Expand(0.0, net.Concat(net.extent(x, 0), net.ints(8), axis=0))
    turned = net.Transpose(x, perm=[1, 0, 2])
    w, r, b = net.weight(6, 32, fan=6), net.weight(8, 32, fan=8), net.vector(32)
    first = net.constant(np.array(0, np.int32))
    body = net.body("while_body")
    body.input("iteration", [], I64)
    body.input("go", [], BOOL)
    time, h, c = body.input("time", [], I32), body.input("h", [None, 8]), body.input("c", [None, 8])
    now = body.Gather(turned, time, axis=0)
    gates = body.Add(body.Add(body.MatMul(now, w), body.MatMul(h, r)), b)
    i, f, g, o = body.split(gates, (8,) * 4, 1)
    new_c = body.Add(body.Mul(body.Sigmoid(f), c), body.Mul(body.Sigmoid(i), body.Tanh(g)))
    new_h = body.Mul(body.Sigmoid(o), body.Tanh(new_c))
    later = body.Add(time, body.constant(np.array(1, np.int32)))
    less = body.Less(body.Cast(later, to=F32), body.Cast(steps, to=F32)) if net.opset < 9 else body.Less(later, steps)
    for value, kind, shape in ((less, BOOL, []), (later, I32, []), (new_h, F32, [None, 8]), (new_c, F32, [None, 8]), (new_h, F32, [None, 8])):
        body.output(body.Identity(value), kind=kind, shape=shape)
    go = net.Less(first, steps)
    _, _, _, rows = net.Loop(None, go, first, zeros, zeros, body=body.graph(), outputs=4)
    y = net.Transpose(rows, perm=[1, 0, 2]).of(8)
    net.output(net.Add(net.MatMul(y, net.weight(8, 4)), net.vector(4)), "Identity:0")


@FAMILY.add(({"unk__1": 1, "unk__2": 5}, {"unk__1": 2, "unk__2": 12}), (12, "keras"))
def keras_gru(net):
    """GRUs whose outputs are transposed and squeezed, a mask by the token 0, the last valid step by a sum."""
    tokens = net.input("input_1:0", ["unk__1", "unk__2"], I32, 0, 20)
    x = net.Gather(net.weight(20, 8), tokens).of(8)
    mask = net.Cast(net.Not(net.Equal(tokens, net.constant(np.array(0, np.int32)))), to=F32)
    y, _ = net.recurrent("GRU", net.Transpose(x, perm=[1, 0, 2]).of(8), 10, directions=2, linear_before_reset=1)
    y = net.Mul(net.Transpose(y, perm=[1, 0, 2]), net.unsqueeze(mask, 2))
    total = net.Max(net.ReduceSum(mask, axes=[1], keepdims=1), 1.0)
    y = net.Div(net.ReduceSum(y, axes=[1], keepdims=0), total).of(20)
    net.output(net.Sigmoid(net.Add(net.MatMul(y, net.weight(20, 1, fan=20)), net.vector(1))), "Identity:0")


@FAMILY.add(BATCHES, (12, "keras"), (15, "keras"))
def keras_bert(net):
    """Attention by Einsum and 4-dimensional weights; layer normalisation as TensorFlow's batch normalisation of moments."""
    def normal(x):
        mean = net.mean(x, 2)
        centred = net.Sub(x, mean)
        variance = net.mean(net.Mul(centred, centred), 2)
        scale = net.Mul(net.Reciprocal(net.Sqrt(net.Add(variance, 1e-12))), net.vector(12, 0.5, 1.5))
        return net.Add(net.Mul(x, scale), net.Sub(net.vector(12), net.Mul(mean, scale))).of(12)

    tokens = net.input("input_ids:0", ["unk__1", 7], I32, 0, 30)
    x = normal(net.Gather(net.weight(30, 12, scale=3), tokens))
    q, k, v = (net.Add(net.Einsum(x, net.weight(12, 3, 4, fan=12), equation="abc,cde->abde"), net.vector((3, 4))) for _ in range(3))
    scores = net.Einsum(k, net.Mul(q, 0.5), equation="aecd,abcd->acbe")
    y = net.Einsum(net.softmax(scores, 3), v, equation="acbe,aecd->abcd")
    y = net.Add(net.Einsum(y, net.weight(3, 4, 12, fan=12), equation="abcd,cde->abe"), net.vector(12))
    x = normal(net.Add(x, y))
    y = net.gelu(net.Add(net.MatMul(net.Reshape(x, shape32(net, x, 7, 12)), net.weight(12, 24, fan=12)), net.vector(24)))
    x = normal(net.Add(x, net.Add(net.MatMul(y, net.weight(24, 12, fan=24)), net.vector(12))))
    net.output(x, "Identity:0")


@FAMILY.add(IMAGES, (13, "keras"))
def depth_to_space(net):
    """Channels-last DepthToSpace and SpaceToDepth, ResizeBilinear to a size, ResizeNearestNeighbor with half-pixel centres."""
    x = conv(net, image(net), 8, act="relu")
    y = net.SpaceToDepth(net.Transpose(x, perm=[0, 3, 1, 2]), blocksize=2).of(32)
    y = net.Conv(y, net.weight(8, 32, 1, 1)).of(8)
    y = net.Resize(y, None, None, net.Concat(net.slice(net.Shape(y), 0, 2), net.Mul(net.slice(net.Shape(y), 2, 4), net.ints(2, 2)), axis=0),
                   mode="linear", coordinate_transformation_mode="half_pixel")
    z = net.DepthToSpace(net.Conv(y, net.weight(12, 8, 3, 3), auto_pad="SAME_LOWER"), blocksize=2, mode="DCR")
    net.output(net.Transpose(z, perm=[0, 2, 3, 1]), "Identity:0")


@FAMILY.add(({"N": 1, "H": 64, "W": 64}, {"N": 2, "H": 96, "W": 32}), (11, "paddle"), (14, "paddle"))
def paddle_detector(net):
    """A text detector: hard swish and gates by HardSigmoid with slope 0.2, enlarged by nearest neighbours, two transposed convolutions."""
    x = net.conv_bn(net.input("x", ["N", 3, "H", "W"]), 8, 3, 2, act="hard_swish")
    levels = []
    for width in (12, 16, 24):
        y = net.conv_bn(net.conv_bn(x, 2 * x.channels, 1, act="hard_swish"), 2 * x.channels, 3, 2, g=2 * x.channels, act="hard_swish")
        gate = net.conv(net.conv(net.GlobalAveragePool(y).of(y.channels), 4, 1, act="relu"), y.channels, 1)
        gate = net.clip(net.Add(net.Mul(gate, 0.2), 0.5), 0, 1) if net.opset < 14 else net.HardSigmoid(gate, alpha=0.2, beta=0.5)
        x = net.conv_bn(net.Mul(y, gate).of(y.channels), width, 1, act=None)
        levels.append(net.conv(x, 12, 1, bias=False))
    a, b, c = levels
    b = net.Add(b, net.resize(c, 2)).of(12)
    a = net.Add(a, net.resize(b, 2)).of(12)
    parts = [net.resize(net.conv(v, 4, bias=False), n).of(4) if n > 1 else net.conv(v, 4, bias=False) for v, n in ((c, 4), (b, 2), (a, 1))]
    y = net.conv_bn(net.concat(*parts), 4)
    y = net.batch_norm(net.conv_transpose(y, 4, (2, 2), 2), "relu")
    net.output(net.Sigmoid(net.conv_transpose(y, 1, (2, 2), 2)), "save_infer_model/scale_0.tmp_0")
