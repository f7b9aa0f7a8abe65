# SPDX-License-Identifier: Apache-2.0
"""Detection and segmentation: SSD, RetinaNet, Faster R-CNN, YOLO with its decoding, FCN, DeepLab, LRASPP, U-Net."""

import numpy as np
from family import FIXED, IMAGES, Family
from net import F32, I64

FAMILY = Family()
BOTH = ((11, "script"), (17, "script"), (18, "dynamo"))


def image(net):
    return net.input("images", ["batch", 3, "height", "width"], low=0)


def backbone(net, x, widths=(8, 16, 24), act="relu"):
    """Features at an eighth, a sixteenth and so on."""
    x, levels = net.conv_bn(net.conv_bn(x, 8, 3, 2, act=act), 8, 3, 2, act=act), []
    for width in widths:
        x = net.conv_bn(x, width, 3, 2, act=act)
        levels.append(x)
    return levels


def rows(net, x, per):
    """[batch, anchors * per, height, width] to [batch, all anchors, per], as SSD and RetinaNet have it."""
    n, h, w = (net.extent(x, i) for i in (0, 2, 3))
    y = net.Transpose(net.reshape(x, n, -1, per, h, w), perm=[0, 3, 4, 1, 2])
    return net.reshape(y, n, -1, per)


def grid_of(net, feature):
    """Coordinates of each cell, [height * width, 2]: two ranges, expanded and stacked."""
    h, w = (net.squeeze(net.extent(feature, i), 0) for i in (2, 3))
    zero, one = net.scalar(0, np.int64), net.scalar(1, np.int64)
    ys, xs = net.Range(zero, h, one), net.Range(zero, w, one)
    size = net.Concat(net.unsqueeze(h, 0), net.unsqueeze(w, 0), axis=0)
    ys, xs = net.Expand(net.unsqueeze(ys, 1), size), net.Expand(net.unsqueeze(xs, 0), size)
    pair = net.Concat(*[net.unsqueeze(net.Reshape(v, [-1]), 1) for v in (xs, ys)], axis=1)
    return net.Cast(pair, to=F32)


def decode(net, deltas, anchors):
    """Boxes from differences to anchors: of centres, and of logarithms of sizes."""
    first, last = net.slice(deltas, 0, 2, (-1,)), net.slice(deltas, 2, 4, (-1,))
    size = net.Sub(net.slice(anchors, 2, 4, (-1,)), net.slice(anchors, 0, 2, (-1,)))
    centre = net.Add(net.slice(anchors, 0, 2, (-1,)), net.Mul(size, 0.5))
    centre = net.Add(net.Mul(net.Div(first, 10.0), size), centre)
    half = net.Mul(net.Mul(net.Exp(net.clip(net.Div(last, 5.0), -4, 4.135)), size), 0.5)
    return net.Concat(net.Sub(centre, half), net.Add(centre, half), axis=-1)


def suppressed(net, boxes, scores, count=5):
    """Of [batch, boxes, 4] and [batch, classes, boxes]: what NonMaxSuppression keeps, with its boxes and scores."""
    kept = net.NonMaxSuppression(boxes, scores, np.array([count], np.int64), np.array([0.5], np.float32), np.array([0.3], np.float32))
    box_index = net.Concat(net.slice(kept, 0, 1, (1,)), net.slice(kept, 2, 3, (1,)), axis=1)
    net.output(net.GatherND(boxes, box_index), "boxes")
    net.output(net.GatherND(scores, kept), "scores")
    net.output(net.squeeze(net.slice(kept, 1, 2, (1,)), 1), "labels", I64)


@FAMILY.add(IMAGES, *BOTH)
def ssd(net):
    levels, boxes, scores, anchors = backbone(net, image(net)), [], [], []
    for level in levels:
        boxes.append(rows(net, net.conv(level, 8), 4))
        scores.append(rows(net, net.conv(level, 10), 5))
        corner = net.Div(grid_of(net, level), 8.0)
        anchors += [net.Concat(corner, net.Add(corner, 0.3), axis=1), net.Concat(corner, net.Add(corner, 0.2), axis=1)]
    boxes = decode(net, net.Concat(*boxes, axis=1), net.unsqueeze(net.Concat(*anchors, axis=0), 0))
    scores = net.Transpose(net.softmax(net.Concat(*scores, axis=1), 2), perm=[0, 2, 1])
    suppressed(net, boxes, scores)


@FAMILY.add(IMAGES, *BOTH, quick=True)
def retinanet(net):
    """A pyramid of features, heads shared by its levels, the best of all by TopK."""
    c3, c4, c5 = backbone(net, image(net))
    p5 = net.conv(c5, 16, 1)
    p4 = net.Add(net.conv(c4, 16, 1), net.resize(p5, like=c4)).of(16)
    p3 = net.Add(net.conv(c3, 16, 1), net.resize(p4, like=c3)).of(16)
    w, b = net.weight(12, 16, 3, 3), net.vector(12)
    scores = []
    for level in (p3, p4, p5):
        head = net.Conv(net.Relu(net.conv(level, 16)), w, b, kernel_shape=[3, 3], pads=[1] * 4).of(12)
        scores.append(rows(net, head, 4))
    scores = net.Reshape(net.Sigmoid(net.Concat(*scores, axis=1)), [0, -1])
    size = net.Gather(net.Shape(scores), net.scalar(1, np.int64), axis=0)
    count = net.Min(net.unsqueeze(size, 0), net.ints(20)) if net.opset >= 12 else net.ints(20)
    best, index = net.TopK(scores, count, axis=1, largest=1, sorted=1, outputs=2)
    net.output(best, "scores")
    net.output(net.Mod(index, net.scalar(4, np.int64)), "labels", I64)
    net.output(net.Div(index, net.scalar(4, np.int64)), "anchors", I64)


@FAMILY.add(FIXED, (11, "script"), (16, "script"), quick=True)
def faster_rcnn(net):
    """Proposals by TopK and NonMaxSuppression, RoiAlign of each, two fully connected layers, suppression again."""
    x = net.input("image", [1, 3, 64, 64], low=0)
    feature = backbone(net, x, (16,))[0]
    y = net.conv(feature, 16, act="relu")
    objectness = net.Reshape(net.Sigmoid(net.conv(y, 3, 1)), [-1])
    deltas = net.Reshape(net.Transpose(net.Reshape(net.conv(y, 12, 1), [3, 4, 8, 8]), perm=[2, 3, 0, 1]), [-1, 4])
    grid = np.stack(np.meshgrid(np.arange(8), np.arange(8)), -1).reshape(-1, 1, 2) * 8.0
    sizes = np.array([[8, 8], [16, 12], [24, 30]])
    anchors = np.concatenate((grid - sizes / 2, grid + sizes / 2), -1).reshape(-1, 4).astype(np.float32)
    boxes = net.clip(decode(net, deltas, net.constant(anchors)), 0, 64)
    best, index = net.TopK(objectness, net.ints(30), axis=0, outputs=2)
    boxes = net.Gather(boxes, index, axis=0)
    sides = net.Sub(net.slice(boxes, 2, 4, (1,)), net.slice(boxes, 0, 2, (1,)))
    large = net.ReduceMin(sides, axes=[1], keepdims=0)
    kept = net.squeeze(net.Transpose(net.NonZero(net.Greater(large, 0.01)), perm=[1, 0]), 1)
    boxes, best = net.Gather(boxes, kept, axis=0), net.Gather(best, kept, axis=0)
    picked = net.NonMaxSuppression(net.unsqueeze(boxes, 0), net.unsqueeze(net.unsqueeze(best, 0), 0), net.ints(10),
                                   np.array([0.6], np.float32))
    boxes = net.Gather(boxes, net.squeeze(net.Gather(picked, net.ints(2), axis=1), 1), axis=0)
    zeros = net.ConstantOfShape(net.extent(boxes, 0), value=zero_int())
    pooled = net.RoiAlign(feature, boxes, zeros, output_height=4, output_width=4, sampling_ratio=2, spatial_scale=0.125)
    y = net.linear(net.Flatten(pooled, axis=1).of(16 * 16), 32, gemm=True, act="relu")
    net.output(net.softmax(net.linear(y, 5, gemm=True), 1), "scores")
    net.output(boxes, "boxes")


def zero_int():
    from onnx import numpy_helper
    return numpy_helper.from_array(np.zeros(1, np.int64))


def spp(net, x):
    """SPPF: three pools one behind the other."""
    y = net.conv_bn(x, x.channels // 2, 1, act="silu")
    parts = [y]
    for _ in range(3):
        parts.append(net.max_pool(parts[-1], 5, 1, 2).of(y.channels))
    return net.conv_bn(net.concat(*parts), x.channels, 1, act="silu")


def c2f(net, x, width):
    y = net.conv_bn(x, width, 1, act="silu")
    parts = net.split(y, (width // 2, width // 2), 1)
    parts.append(net.Add(parts[-1], net.conv_bn(net.conv_bn(parts[-1], width // 2, act="silu"), width // 2, act="silu")).of(width // 2))
    return net.conv_bn(net.concat(*parts), width, 1, act="silu")


@FAMILY.add(IMAGES, *BOTH, quick=True)
def yolo_v8(net):
    """Distances as expectations over 8 bins, anchors from the features' sizes."""
    x = image(net)
    levels = backbone(net, x, (16, 24), "silu")
    levels[0], levels[1] = c2f(net, levels[0], 16), spp(net, levels[1])
    top = c2f(net, net.concat(net.resize(levels[1], like=levels[0]), levels[0]), 16)
    low = c2f(net, net.concat(net.conv_bn(top, 16, 3, 2, act="silu"), levels[1]), 24)
    flat, points, strides = [], [], []
    for level, stride in ((top, 8.0), (low, 16.0)):
        head = net.concat(net.conv(net.conv_bn(level, 16, act="silu"), 32, 1), net.conv(net.conv_bn(level, 16, act="silu"), 4, 1))
        flat.append(net.reshape(head, net.extent(head, 0), 36, -1))
        points.append(net.Add(grid_of(net, level), 0.5))
        strides.append(net.Add(net.Mul(net.slice(points[-1], 0, 1, (1,)), 0.0), stride))
    boxes, scores = net.split(net.Concat(*flat, axis=2), (32, 4), 1)
    bins = net.Transpose(net.reshape(boxes, net.extent(boxes, 0), 4, 8, -1), perm=[0, 2, 1, 3])
    w = net.constant(np.arange(8, dtype=np.float32).reshape(1, 8, 1, 1))
    distances = net.Conv(net.Transpose(net.softmax(net.Transpose(bins, perm=[0, 3, 2, 1]), 3), perm=[0, 3, 2, 1]), w)
    distances = net.Reshape(distances, [0, 4, -1])
    points, strides = (net.unsqueeze(net.Transpose(net.Concat(*p, axis=0), perm=[1, 0]), 0) for p in (points, strides))
    first = net.Sub(points, net.slice(distances, 0, 2, (1,)))
    last = net.Add(points, net.slice(distances, 2, 4, (1,)))
    box = net.Concat(net.Div(net.Add(first, last), 2.0), net.Sub(last, first), axis=1)
    net.output(net.Concat(net.Mul(box, strides), net.Sigmoid(scores), axis=1), "output0")


@FAMILY.add(IMAGES, (11, "script"), (14, "script"))
def yolo_v5(net):
    """Three anchors a cell; grids and anchors multiplied by Slice, Pow and Concat; the first convolution over 2x2 slices (Focus)."""
    x = image(net)
    parts = [net.slice(net.slice(x, i, 2**63 - 1, (2,), 2), j, 2**63 - 1, (3,), 2) for j in (0, 1) for i in (0, 1)]
    x = net.conv_bn(net.Concat(*parts, axis=1).of(12), 8, act="silu")
    results = []
    for stride in (8.0, 16.0):
        x = net.conv_bn(net.conv_bn(x, 16, 3, 2, act="silu"), 16, 3, 2 if stride == 8.0 else 1, act="silu")
        head = net.conv(spp(net, x), 27, 1)
        n, h, w = (net.extent(head, i) for i in (0, 2, 3))
        y = net.Sigmoid(net.Transpose(net.reshape(head, n, 3, 9, h, w), perm=[0, 1, 3, 4, 2]))
        grid = net.reshape(grid_of(net, head), 1, 1, h, w, 2)
        anchors = net.constant(net.rng.uniform(8, 30, (1, 3, 1, 1, 2)).astype(np.float32))
        xy, wh, rest = net.split(y, (2, 2, 5), -1)
        xy = net.Mul(net.Add(net.Sub(net.Mul(xy, 2.0), 0.5), grid), stride)
        wh = net.Mul(net.Pow(net.Mul(wh, 2.0), 2.0), anchors)
        results.append(net.reshape(net.Concat(xy, wh, rest, axis=-1), n, -1, 9))
    y = net.Concat(*results, axis=1)
    net.output(y, "output")
    xy, half = net.slice(y, 0, 2, (2,)), net.Mul(net.slice(y, 2, 4, (2,)), 0.5)
    boxes = net.Concat(net.Sub(xy, half), net.Add(xy, half), axis=2)
    scores = net.Mul(net.slice(y, 5, 9, (2,)), net.slice(y, 4, 5, (2,)))
    suppressed(net, boxes, net.Transpose(scores, perm=[0, 2, 1]))


@FAMILY.add(({"batch": 1, "height": 64, "width": 96},), (11, "script"))
def yolo_v3(net):
    """Darknet: leaky convolutions, Upsample by a factor, one output a scale."""
    x = image(net)
    for width in (8, 16):
        x = net.conv_bn(x, width, 3, 2, act="leaky")
        x = net.Add(x, net.conv_bn(net.conv_bn(x, width // 2, 1, act="leaky"), width, act="leaky")).of(width)
    low = net.conv_bn(x, 24, 3, 2, act="leaky")
    net.output(net.conv(low, 27, 1), "small")
    up = net.resize(net.conv_bn(low, 8, 1, act="leaky"), 2)
    net.output(net.conv(net.concat(up, x), 27, 1), "large")


def segmentation(net, head):
    x = image(net)
    feature = backbone(net, x, (16, 24))
    y = head(net, feature)
    y = net.resize(y, like=x, mode="linear")
    net.output(y, "out")
    net.output(net.ArgMax(y, axis=1, keepdims=1), "classes", I64)


def fcn(net, feature):
    return net.conv(net.Dropout(net.conv_bn(feature[-1], 8)), 5, 1)


def deeplab(net, feature):
    """Dilated convolutions side by side, and the whole image's average."""
    x = feature[-1]
    parts = [net.conv_bn(x, 8, 1)] + [net.conv_bn(x, 8, 3, p=d, d=d) for d in (2, 4)]
    parts.append(net.resize(net.conv_bn(net.GlobalAveragePool(x).of(24), 8, 1), like=x, mode="linear"))
    x = net.conv_bn(net.concat(*parts), 8, 1)
    low = net.conv_bn(feature[0], 4, 1)
    return net.conv(net.conv_bn(net.concat(low, net.resize(x, like=low, mode="linear")), 8), 5, 1)


def lraspp(net, feature):
    scale = net.Sigmoid(net.conv(net.GlobalAveragePool(feature[-1]).of(24), 8, 1, bias=False))
    x = net.Mul(net.conv_bn(feature[-1], 8, 1), scale).of(8)
    x = net.resize(x, like=feature[0], mode="linear")
    return net.Add(net.conv(x, 5, 1), net.conv(feature[0], 5, 1))


@FAMILY.add(IMAGES, *BOTH, quick=True)
def unet(net):
    """Transposed convolutions; what does not fit is padded by what shapes say, as torch's F.pad exports."""
    x, skips = image(net), []
    for width in (8, 12):
        x = net.conv_bn(net.conv_bn(x, width), width)
        skips.append(x)
        x = net.max_pool(x)
    x = net.conv_bn(x, 16)
    for skip in reversed(skips):
        x = net.conv_transpose(x, skip.channels, (2, 2), 2)
        missing = net.Sub(net.slice(net.Shape(skip), 2, 4), net.slice(net.Shape(x), 2, 4))
        pads = net.Concat(net.ints(0, 0, 0, 0), net.ints(0, 0), missing, axis=0)
        c = x.channels
        x = net.Pad(x, pads, 0.0, mode="constant").of(c)
        x = net.conv_bn(net.concat(skip, x), skip.channels)
    net.output(net.Sigmoid(net.conv(x, 1, 1)), "mask")


FAMILY.each(IMAGES, *BOTH, fcn=(segmentation, fcn), deeplab=(segmentation, deeplab), lraspp=(segmentation, lraspp))
