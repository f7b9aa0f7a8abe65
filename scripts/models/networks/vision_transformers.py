# SPDX-License-Identifier: Apache-2.0
"""Vision transformers: ViT, DeiT, Swin, MaxViT, MobileViT and a DETR, of 2 layers."""

import numpy as np
from family import FIXED, IMAGES, Family
from net import I64

FAMILY = Family()
ALL = ((12, "script"), (17, "script"), (20, "dynamo"))
SQUARES = ({"batch": 1}, {"batch": 3})


def patches(net, x, width, k):
    """[batch, patches, width]."""
    y = net.conv(x, width, k, k, p=0)
    if net.dialect == "script":
        y = net.reshape(y, net.extent(y, 0), net.extent(y, 1), -1)
    else:
        y = net.Reshape(y, [0, width, -1])
    return net.Transpose(y, perm=[0, 2, 1]).of(width)


def table(net, *shape):
    return net.constant(net.rng.uniform(-0.5, 0.5, shape).astype(np.float32))


def with_token(net, x, width, count=1):
    """Puts the class tokens in front: expanded to the batch by Where and ConstantOfShape, as exports have `expand`."""
    token = table(net, 1, count, width)
    if net.dialect == "script":
        wanted = net.Concat(net.extent(x, 0), net.ints(-1, -1), axis=0)
        ones = net.ConstantOfShape(net.Shape(wanted), value=net_ones())
        shape = net.Where(net.Equal(wanted, net.Mul(ones, net.scalar(-1, np.int64))), ones, wanted)
        token = net.Expand(token, shape)
    else:
        token = net.Expand(token, net.Concat(net.Shape(x, start=0, end=1), net.ints(1, 1), axis=0))
    return net.Concat(token, x, axis=1).of(width)


def net_ones():
    from onnx import numpy_helper
    return numpy_helper.from_array(np.ones(1, np.int64))


def vit(net, distilled=False, act="gelu"):
    x = patches(net, net.input("pixel_values", ["batch", 3, 32, 32]), 24, 8)
    count = 2 if distilled else 1
    x = net.Add(with_token(net, x, 24, count), table(net, 1, 16 + count, 24)).of(24)
    for _ in range(2):
        x = net.encoder_layer(x, 3, 48, act)
    x = net.layer_norm(x)
    heads = [net.linear(net.Gather(x, net.scalar(i, np.int64), axis=1).of(24), 10, gemm=True) for i in range(count)]
    net.output(net.Div(net.Add(*heads), 2.0) if distilled else heads[0], "logits")


@FAMILY.add(IMAGES, (17, "script"), (20, "dynamo"))
def vit_interpolated(net):
    """Position embeddings resized to the image's grid of patches."""
    image = net.input("pixel_values", ["batch", 3, "height", "width"])
    y = net.conv(image, 16, 8, 8, p=0)
    grid = table(net, 1, 16, 4, 4)
    y = net.Add(y, net.resize(grid.of(16), like=y, mode="cubic")).of(16)
    x = net.Transpose(net.Reshape(y, [0, 16, -1]), perm=[0, 2, 1]).of(16)
    x = net.encoder_layer(x, 2, 32)
    net.output(net.linear(net.mean(net.layer_norm(x), 1, keepdims=0).of(16), 10), "logits")


def windows(net, x, side, size, width):
    """[batch, side, side, width] to [batch * windows, size * size, width]."""
    if net.dialect == "script":
        y = net.reshape(x, net.extent(x, 0), side // size, size, side // size, size, net.extent(x, 3))
    else:
        y = net.Reshape(x, [-1, side // size, size, side // size, size, width])
    return net.Reshape(net.Transpose(y, perm=[0, 1, 3, 2, 4, 5]), [-1, size * size, width]).of(width)


def from_windows(net, x, side, size, width):
    y = net.Reshape(x, [-1, side // size, side // size, size, size, width])
    return net.Reshape(net.Transpose(y, perm=[0, 1, 3, 2, 4, 5]), [-1, side, side, width]).of(width)


def roll(net, x, shift):
    """torch.roll of both axes: each is two slices and a Concat."""
    for axis in (1, 2):
        if shift < 0:
            first, last = net.slice(x, -shift, 2**63 - 1, (axis,)), net.slice(x, 0, -shift, (axis,))
        else:
            first, last = net.slice(x, -shift, 2**63 - 1, (axis,)), net.slice(x, 0, -shift, (axis,))
        x = net.Concat(first, last, axis=axis)
    return x


def window_attention(net, x, count, size, windows_count, masked):
    """With a bias by relative position, gathered from a table, and a mask for shifted windows."""
    width, length = x.channels, size * size
    depth = width // count
    qkv = net.linear(x, 3 * width)
    qkv = net.Transpose(net.Reshape(qkv, [0, length, 3, count, depth]), perm=[2, 0, 3, 1, 4])
    q, k, v = (net.Gather(qkv, net.scalar(i, np.int64), axis=0) for i in range(3))
    scores = net.MatMul(net.Mul(q, depth**-0.5), net.Transpose(k, perm=[0, 1, 3, 2]))
    index = net.constant(net.rng.integers(0, (2 * size - 1)**2, length * length))
    bias = net.Gather(table(net, (2 * size - 1)**2, count), index, axis=0)
    bias = net.unsqueeze(net.Transpose(net.Reshape(bias, [length, length, -1]), perm=[2, 0, 1]), 0)
    scores = net.Add(scores, bias)
    if masked:
        mask = np.where(net.rng.random((windows_count, length, length)) < 0.3, -100, 0).astype(np.float32)
        mask = net.unsqueeze(net.unsqueeze(net.constant(mask), 1), 0)
        scores = net.Add(net.Reshape(scores, [-1, windows_count, count, length, length]), mask)
        scores = net.Reshape(scores, [-1, count, length, length])
    y = net.Transpose(net.MatMul(net.softmax(scores), v), perm=[0, 2, 1, 3])
    return net.linear(net.Reshape(y, [0, length, width]).of(width), width)


@FAMILY.add(SQUARES, *ALL, quick=True)
def swin(net):
    side, size, width = 8, 4, 16
    x = net.conv(net.input("input", ["batch", 3, 32, 32]), width, 4, 4, p=0)
    x = net.layer_norm(net.Transpose(x, perm=[0, 2, 3, 1]).of(width))
    for shift in (0, 2):
        y = net.layer_norm(x)
        y = roll(net, y, -shift) if shift else y
        y = window_attention(net, windows(net, y, side, size, width), 2, size, (side // size)**2, shift > 0)
        y = from_windows(net, y, side, size, width)
        y = roll(net, y, shift) if shift else y
        x = net.Add(x, y).of(width)
        x = net.Add(x, net.feed_forward(net.layer_norm(x), 32)).of(width)
    corners = [net.slice(net.slice(x, i, 2**31 - 1, (1,), 2), j, 2**31 - 1, (2,), 2) for j in (0, 1) for i in (0, 1)]
    x = net.Concat(*corners, axis=-1).of(4 * width)
    x = net.linear(net.layer_norm(x), 32, bias=False)
    net.output(net.linear(net.mean(net.layer_norm(x), 1, 2, keepdims=0).of(32), 10), "output")


@FAMILY.add(({"batch": 1, "height": 16, "width": 24}, {"batch": 3, "height": 8, "width": 32}), (17, "script"))
def open_windows(net):
    """Windows of 8 x 8 in an image of any size: the extents that a build tries, of which 8 is a divisor, make tensors of many gigabytes."""
    x = net.conv(net.input("input", ["batch", 3, "height", "width"]), 16, 3, 1, p=1)
    shape = net.Shape(x)
    height, width = (net.Div(net.Gather(shape, net.constant(np.array([axis])), axis=0), net.constant(np.array([8]))) for axis in (2, 3))
    cut = net.Concat(net.constant(np.array([-1, 16])), height, net.constant(np.array([8])), width, net.constant(np.array([8])), axis=0)
    y = net.Reshape(net.Transpose(net.Reshape(x, cut), perm=[0, 2, 4, 3, 5, 1]), [-1, 64, 16]).of(16)
    y = net.linear(net.act(net.linear(y, 64), "gelu"), 16)
    net.output(net.Softmax(net.MatMul(y, net.Transpose(y, perm=[0, 2, 1])), axis=-1), "output")


@FAMILY.add(SQUARES, (17, "script"), (18, "dynamo"))
def maxvit(net):
    """Blocks of inverted convolutions, then attention within windows and over a grid."""
    side, size, width = 8, 4, 16
    x = net.conv_bn(net.input("input", ["batch", 3, 16, 16]), width, 3, 2, act="gelu")
    y = net.conv_bn(net.conv_bn(net.batch_norm(x), 32, 1, act="gelu"), 32, 3, g=32, act="gelu")
    x = net.Add(x, net.conv(net.squeeze_excite(y, 4, "silu"), width, 1)).of(width)
    x = net.Transpose(x, perm=[0, 2, 3, 1]).of(width)
    for grid in (False, True):
        if grid:
            y = net.Reshape(x, [-1, size, side // size, size, side // size, width])
            y = net.Reshape(net.Transpose(y, perm=[0, 2, 4, 1, 3, 5]), [-1, size * size, width]).of(width)
        else:
            y = windows(net, x, side, size, width)
        y = net.Add(y, window_attention(net, net.layer_norm(y), 2, size, 4, False)).of(width)
        y = net.Add(y, net.feed_forward(net.layer_norm(y), 32)).of(width)
        if grid:
            y = net.Reshape(y, [-1, side // size, side // size, size, size, width])
            x = net.Reshape(net.Transpose(y, perm=[0, 3, 1, 4, 2, 5]), [-1, side, side, width]).of(width)
        else:
            x = from_windows(net, y, side, size, width)
    x = net.Transpose(x, perm=[0, 3, 1, 2]).of(width)
    net.output(net.classifier(x), "output")


@FAMILY.add(SQUARES, (13, "script"))
def mobilevit(net):
    x = net.conv_bn(net.input("input", ["batch", 3, 32, 32]), 16, 3, 2, act="silu")
    y = net.conv(net.conv_bn(x, 16, act="silu"), 24, 1, bias=False)
    y = net.Transpose(net.Reshape(y, [-1, 2, 8, 2]), perm=[0, 2, 1, 3])
    y = net.Transpose(net.Reshape(y, [-1, 24, 64, 4]), perm=[0, 3, 2, 1])
    y = net.encoder_layer(net.Reshape(y, [-1, 64, 24]).of(24), 2, 48, "silu")
    y = net.Reshape(net.layer_norm(y), [-1, 4, 64, 24])
    y = net.Transpose(net.Reshape(net.Transpose(y, perm=[0, 3, 2, 1]), [-1, 8, 2, 2]), perm=[0, 2, 1, 3])
    y = net.conv_bn(net.Reshape(y, [-1, 24, 16, 16]).of(24), 16, 1, act="silu")
    net.output(net.classifier(net.conv_bn(net.concat(x, y), 16, act="silu")), "output")


@FAMILY.add(IMAGES, (14, "script"))
def detr(net):
    """An encoder of the image with sine positions, computed from its size by CumSum, and a decoder of learnt queries."""
    x = net.conv_bn(net.input("input", ["batch", 3, "height", "width"]), 16, 8, 8, p=0)
    ones = net.Cast(net.ConstantOfShape(net.Concat(net.extent(x, 0), net.slice(net.Shape(x), 2, 4), axis=0), value=net_ones()), to=1)
    codes = []
    for axis in (1, 2):
        position = net.CumSum(ones, net.scalar(axis, np.int64))
        last = net.slice(position, -1, 2**63 - 1, (axis,))
        position = net.Mul(net.Div(position, net.Add(last, 1e-6)), 6.283185)
        angle = net.Div(net.unsqueeze(position, -1), net.constant(np.array([1, 1, 10, 10, 100, 100, 1000, 1000], np.float32)))
        even, odd = (net.slice(angle, i, 2**63 - 1, (3,), 2) for i in (0, 1))
        pair = net.Concat(net.unsqueeze(net.Sin(even), 4), net.unsqueeze(net.Cos(odd), 4), axis=4)
        codes.append(net.Reshape(pair, [0, 0, 0, -1]))
    code = net.Transpose(net.Concat(*codes, axis=3), perm=[0, 3, 1, 2])
    memory = net.Transpose(net.Reshape(net.Add(x, code), [0, 16, -1]), perm=[0, 2, 1]).of(16)
    memory = net.encoder_layer(memory, 2, 32, "relu", before=False)
    shape = net.Concat(net.extent(x, 0), net.ints(5, 16), axis=0)
    queries = net.Expand(table(net, 1, 5, 16), shape).of(16)
    y = net.layer_norm(net.Add(queries, net.attention(queries, 2, memory)).of(16))
    net.output(net.linear(y, 6), "logits")
    net.output(net.Sigmoid(net.linear(net.linear(y, 16, act="relu"), 4)), "boxes")


@FAMILY.add(FIXED, (14, "script"))
def clip(net):
    """An image's and texts' embeddings, normalised, and their products; the end of a text is the largest token."""
    image = patches(net, net.input("pixel_values", [2, 3, 16, 16]), 16, 8)
    image = net.encoder_layer(net.Add(image, table(net, 1, 4, 16)).of(16), 2, 32, "quick_gelu")
    image = net.linear(net.mean(image, 1, keepdims=0).of(16), 12, bias=False)
    tokens = net.input("input_ids", [3, 7], I64, 0, 50)
    text = net.Add(net.Gather(table(net, 50, 16), tokens), table(net, 7, 16)).of(16)
    mask = net.constant(np.triu(np.full((7, 7), np.finfo(np.float32).min, np.float32), 1))
    text = net.layer_norm(net.encoder_layer(text, 2, 32, "quick_gelu", mask=mask))
    last = net.ArgMax(tokens, axis=1, keepdims=0)
    rows = net.Range(net.scalar(0, np.int64), net.scalar(3, np.int64), net.scalar(1, np.int64))
    text = net.GatherND(text, net.Concat(net.unsqueeze(rows, 1), net.unsqueeze(last, 1), axis=1))
    text = net.linear(text.of(16), 12, bias=False)
    image, text = (net.Div(x, net.ReduceL2(x, axes=[-1], keepdims=1)) for x in (image, text))
    scale = net.Exp(net.scalar(2.5))
    logits = net.Mul(net.MatMul(text, net.Transpose(image, perm=[1, 0])), scale)
    net.output(net.Transpose(logits, perm=[1, 0]), "logits_per_image")


FAMILY.each(SQUARES, *ALL, quick=("vit",), vit=(vit,), deit=(vit, True), vit_tanh=(vit, False, "gelu_tanh"))
