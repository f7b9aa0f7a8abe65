# SPDX-License-Identifier: Apache-2.0
"""Networks whose output is an image: super-resolution, style transfer, generators, autoencoders, a diffusion's step, denoisers, flow."""

import numpy as np
from family import IMAGES, ROWS, Family
from net import F32, I64

FAMILY = Family()
BOTH = ((11, "script"), (18, "dynamo"))


def image(net):
    return net.input("input", ["batch", 3, "height", "width"], low=0)


@FAMILY.add(IMAGES, *BOTH, quick=True)
def espcn(net):
    x = net.conv(net.conv(image(net), 12, 5, act="tanh"), 12, act="tanh")
    x = net.DepthToSpace(net.conv(x, 12), blocksize=2, mode="CRD" if net.dialect == "script" else "DCR")
    net.output(net.clip(x, 0, 1), "output")


@FAMILY.add(IMAGES, *BOTH)
def esrgan(net):
    """Dense residual blocks with PRelu and scales, pixels shuffled by Reshape and Transpose; added to an enlarged input."""
    first = image(net)
    x = net.conv(first, 8, act="prelu")
    for _ in range(2):
        parts = [x]
        for _ in range(2):
            parts.append(net.conv(net.concat(*parts) if len(parts) > 1 else x, 8, act="leaky"))
        x = net.Add(net.Mul(net.conv(net.concat(*parts), 8), 0.2), x).of(8)
    x = net.conv(x, 12)
    n, h, w = (net.extent(x, i) for i in (0, 2, 3))
    y = net.Transpose(net.reshape(x, n, 3, 2, 2, h, w), perm=[0, 1, 4, 2, 5, 3])
    two = net.ints(2)
    y = net.reshape(y, n, 3, net.Mul(h, two), net.Mul(w, two))
    net.output(net.Add(y, net.resize(first, 2, mode="linear")), "output")


@FAMILY.add(IMAGES, (9, "script"), (10, "script"), (11, "script"), (17, "script"))
def style_transfer(net):
    """Reflection, InstanceNormalization, enlarged by nearest neighbours."""
    def normal(x, act="relu"):
        c = x.channels
        return net.act(net.InstanceNormalization(x, net.vector(c, 0.5, 1.5), net.vector(c), epsilon=1e-5).of(c), act)

    def conv(x, out, k, s=1, act="relu"):
        p = k // 2
        y = net.pad(x, (0, 0, p, p, 0, 0, p, p), mode="reflect").of(x.channels)
        return normal(net.conv(y, out, k, s, p=0), act)

    x = conv(conv(image(net), 8, 9), 12, 3, 2)
    for _ in range(2):
        x = net.Add(x, conv(conv(x, 12, 3), 12, 3, act=None)).of(12)
    x = net.resize(x, 2).of(12)
    net.output(conv(x, 3, 9, act="tanh"), "output")


@FAMILY.add(ROWS, (11, "script"), (16, "script"))
def dcgan(net):
    x = net.Reshape(net.input("z", ["batch", 16]), [-1, 16, 1, 1]).of(16)
    for width, k, s, p in ((16, (4, 4), 1, 0), (12, (4, 4), 2, 1), (8, (3, 3), 2, 1)):
        x = net.batch_norm(net.conv_transpose(x, width, k, s, p, op=1 if k == (3, 3) else 0), "relu")
    net.output(net.Tanh(net.conv_transpose(x, 3, (4, 4), 2, 1)), "image")


@FAMILY.add(ROWS, (13, "script"))
def stylegan(net):
    """Weights that each sample modulates: convolutions of one group a sample, noise, a filter that blurs."""
    z = net.input("z", ["batch", 16])
    z = net.Mul(z, net.Reciprocal(net.Sqrt(net.Add(net.mean(net.Mul(z, z), 1), 1e-8)))).of(16)
    style = net.linear(net.linear(z, 16, gemm=True, act="leaky"), 8, gemm=True)
    constant = net.constant(net.rng.uniform(-1, 1, (1, 8, 4, 4)).astype(np.float32))
    x = net.Expand(constant, net.Concat(net.extent(z, 0), net.ints(8, 4, 4), axis=0)).of(8)
    y = net.Mul(x, net.unsqueeze(net.unsqueeze(style, 2), 3)).of(8)
    y = net.conv(y, 8, bias=False)
    square = net.Sqrt(net.Add(net.mean(net.Pow(y, 2.0), 1), 1e-8))
    y = net.act(net.Div(y, square).of(8), "leaky")
    y = net.resize(y, 2, mode="linear").of(8)
    blur = np.outer((1, 3, 3, 1), (1, 3, 3, 1)).astype(np.float32) / 64
    y = net.Conv(net.pad(y, (0, 0, 2, 2, 0, 0, 1, 1)), net.constant(np.tile(blur, (8, 1, 1, 1))), group=8)
    net.output(net.conv(y.of(8), 3, 1), "image")


@FAMILY.add(IMAGES, *BOTH)
def autoencoder(net):
    """A variational one: the mean and the logarithm of the variance, and a given draw."""
    x = net.conv_bn(net.conv_bn(image(net), 8, 3, 2, act="silu"), 12, 3, 2, act="silu")
    mean, log_variance = net.split(net.conv(x, 8, 1), (4, 4), 1)
    noise = net.input("noise", ["batch", 4, 1, 1])
    z = net.Add(mean, net.Mul(net.Exp(net.Mul(net.clip(log_variance, -30, 20), 0.5)), noise)).of(4)
    x = net.conv_transpose(net.conv(z, 12, act="silu"), 8, (4, 4), 2, 1, act="silu")
    net.output(net.Sigmoid(net.conv_transpose(x, 3, (3, 3), 2, 1, op=1)), "output")


@FAMILY.add(({"batch": 1, "height": 16, "width": 16}, {"batch": 2, "height": 24, "width": 8}), (14, "script"), (17, "script"), (21, "dynamo"),
            quick=True)
def diffusion(net):
    """A step of a diffusion: the time's sine and cosine, blocks with GroupNorm, attention over pixels and over a text."""
    x, time = net.input("sample", ["batch", 4, "height", "width"]), net.input("timestep", ["batch"], I64, 0, 1000)
    text = net.input("encoder_hidden_states", ["batch", 5, 12], channels=12)
    rates = net.constant(np.exp(-np.log(1e4) * np.arange(8) / 8).astype(np.float32)[None])
    angle = net.Mul(net.unsqueeze(net.Cast(time, to=F32), 1), rates)
    time = net.Concat(net.Cos(angle), net.Sin(angle), axis=-1).of(16)
    time = net.linear(net.linear(time, 16, gemm=True, act="silu"), 16, gemm=True)

    def block(x, width):
        y = net.conv(net.act(net.group_norm(x, 4), "silu").of(x.channels), width)
        shift = net.linear(net.act(time, "silu").of(16), width, gemm=True)
        y = net.Add(y, net.unsqueeze(net.unsqueeze(shift, 2), 3)).of(width)
        y = net.conv(net.act(net.group_norm(y, 4), "silu").of(width), width)
        return net.Add(net.conv(x, width, 1) if x.channels != width else x, y).of(width)

    def transformer(x):
        c = x.channels
        y = net.conv(net.group_norm(x, 4), c, 1)
        size = net.Shape(y)
        y = net.Reshape(net.Transpose(y, perm=[0, 2, 3, 1]), net.Concat(net.slice(size, 0, 1), net.ints(-1, c), axis=0)).of(c)
        y = net.Add(net.attention(net.layer_norm(y), 2), y).of(c)
        q, k, v = (net.linear(s, c, bias=False) for s in (net.layer_norm(y), text, text))
        p = net.scores(net.heads(q, 2), net.heads(k, 2, keys=True), c // 2)
        y = net.Add(net.linear(net.join_heads(net.MatMul(p, net.heads(v, 2)), c), c), y).of(c)
        a, gate = net.split(net.linear(net.layer_norm(y), 4 * c), (2 * c, 2 * c), -1)
        y = net.Add(net.linear(net.Mul(a, net.gelu(gate)).of(2 * c), c), y).of(c)
        h, w = net.slice(size, 2, 3), net.slice(size, 3, 4)
        y = net.Transpose(net.Reshape(y, net.Concat(net.slice(size, 0, 1), h, w, net.ints(c), axis=0)), perm=[0, 3, 1, 2]).of(c)
        return net.Add(net.conv(y, c, 1), x).of(c)

    first = net.conv(x, 8)
    low = transformer(block(net.conv(first, 8, 3, 2), 16))
    up = net.conv(net.resize(low, 2).of(16), 16)
    y = block(net.concat(up, first), 8)
    net.output(net.conv(net.act(net.group_norm(y, 4), "silu").of(8), 4), "out_sample")


@FAMILY.add(IMAGES, (11, "script"), (16, "script"))
def optical_flow(net):
    """Warps features by a flow: a grid of coordinates, normalised; GridSample, or its four corners by GatherND."""
    first, second = (net.conv(net.input(name, ["batch", 3, "height", "width"]), 6, act="leaky") for name in ("first", "second"))
    flow = net.conv(net.concat(first, second), 2)
    h, w = (net.squeeze(net.extent(flow, i), 0) for i in (2, 3))
    zero, one = net.scalar(0, np.int64), net.scalar(1, np.int64)
    ys, xs = net.Range(zero, h, one), net.Range(zero, w, one)
    size = net.slice(net.Shape(flow), 2, 4)
    grid = [net.Cast(net.Expand(v, size), to=F32) for v in (net.unsqueeze(xs, 0), net.unsqueeze(ys, 1))]
    x, y = (net.Add(net.Gather(flow, net.scalar(i, np.int64), axis=1), g) for i, g in enumerate(grid))
    scales = [net.Sub(net.Cast(v, to=F32), 1.0) for v in (w, h)]
    if net.opset >= 16:
        pair = [net.Sub(net.Div(net.Mul(v, 2.0), s), 1.0) for v, s in zip((x, y), scales)]
        position = net.Concat(*[net.unsqueeze(v, 3) for v in pair], axis=3)
        warped = net.GridSample(second, position, mode="bilinear", padding_mode="border", align_corners=1)
    else:
        x, y = (net.Cast(net.Floor(net.Max(net.Min(v, s), 0.0)), to=I64) for v, s in zip((x, y), scales))
        n = net.squeeze(net.extent(flow, 0), 0)
        batch = net.Expand(net.unsqueeze(net.unsqueeze(net.Range(zero, n, one), 1), 2), net.Shape(x))
        index = net.Concat(*[net.unsqueeze(v, 3) for v in (batch, y, x)], axis=3)
        warped = net.Transpose(net.GatherND(net.Transpose(second, perm=[0, 2, 3, 1]), index), perm=[0, 3, 1, 2])
    cost = net.mean(net.Mul(first, warped), 1)
    net.output(net.Concat(flow, cost, axis=1), "flow")
