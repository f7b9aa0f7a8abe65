# SPDX-License-Identifier: Apache-2.0
"""Image classifiers of convolutions: from AlexNet to ConvNeXt, with few layers and channels."""

import numpy as np
from family import IMAGES, Family

FAMILY = Family()
OLD_AND_NEW = ((11, "script"), (18, "dynamo"))


def image(net, channels=3):
    return net.input("input", ["batch", channels, "height", "width"])


@FAMILY.add(IMAGES, (9, "script"), (17, "script"))
def alexnet(net):
    x = net.conv(image(net), 8, 11, 4, p=2, act="relu")
    x = net.LRN(net.max_pool(x, 3, 2), size=5, alpha=1e-4, beta=0.75, bias=1.0)
    x = net.conv(x, 16, 5, g=2, act="relu")
    x = net.conv(x, 16, 3, act="relu")
    if net.opset < 10:
        x = net.flatten(net.GlobalAveragePool(x)).of(16)
    else:
        x = net.flatten(net.GlobalMaxPool(x)).of(16)
    x = net.Dropout(net.linear(x, 32, gemm=True, act="relu"))
    net.output(net.softmax(net.linear(x, 10, gemm=True), 1), "output")


def vgg(net, batch_norm):
    x = image(net)
    for width, count in ((8, 1), (16, 2)):
        for _ in range(count):
            x = net.conv_bn(x, width) if batch_norm else net.conv(x, width, act="relu")
        x = net.max_pool(x)
    net.output(net.classifier(x), "output")


def residual(net, x, width, stride, kind, groups=1):
    """A block of ResNet (basic, bottleneck), of ResNeXt or of RegNet (with squeeze and excitation)."""
    shortcut = x if stride == 1 and x.channels == width else net.conv_bn(x, width, 1, stride, act=None)
    if kind == "basic":
        y = net.conv_bn(net.conv_bn(x, width, 3, stride), width, act=None)
    else:
        y = net.conv_bn(net.conv_bn(x, width // 2, 1), width // 2, 3, stride, g=groups)
        y = net.squeeze_excite(y, 4) if kind == "excited" else y
        y = net.conv_bn(y, width, 1, act=None)
    return net.Relu(net.Add(y, shortcut)).of(width)


def resnet(net, kind="basic", groups=1):
    x = net.max_pool(net.conv_bn(image(net), 16, 7, 2), 3, 2, 1)
    for width, stride in ((16, 1), (32, 2)):
        for i in range(2):
            x = residual(net, x, width, stride if i == 0 else 1, kind, groups)
    net.output(net.classifier(x), "output")


@FAMILY.add(IMAGES, *OLD_AND_NEW)
def densenet(net):
    x = net.conv_bn(image(net), 12, 3, 2)
    for last in (False, True):
        parts = [x]
        for _ in range(3):
            y = net.batch_norm(net.concat(*parts) if len(parts) > 1 else parts[0], "relu")
            y = net.conv(net.batch_norm(net.conv(y, 16, 1, bias=False), "relu"), 6, bias=False)
            parts.append(y)
        x = net.batch_norm(net.concat(*parts), "relu")
        if not last:
            x = net.average_pool(net.conv(x, 12, 1, bias=False))
    net.output(net.classifier(x), "output")


def inception_block(net, x, act="relu"):
    a = net.conv_bn(x, 8, 1, act=act)
    b = net.conv_bn(net.conv_bn(x, 6, 1), 8, (1, 7), act=act)
    b = net.conv_bn(b, 8, (7, 1), act=act)
    c = net.conv_bn(net.conv_bn(x, 6, 1), 8, 5, act=act)
    d = net.conv_bn(net.average_pool(x, 3, 1, 1, include=1), 8, 1)
    return net.concat(a, b, c, d)


@FAMILY.add(IMAGES, *OLD_AND_NEW)
def googlenet(net):
    x = image(net)
    if net.dialect == "script":  # transform_input: each channel by its own factor
        channels = [net.unsqueeze(net.Gather(x, net.scalar(i, np.int64), axis=1), 1) for i in range(3)]
        x = net.Concat(*[net.Add(net.Mul(c, 0.458), -0.03) for c in channels], axis=1).of(3)
    x = net.max_pool(net.conv_bn(x, 16, 7, 2), 3, 2, ceil=1)
    x = inception_block(net, inception_block(net, x))
    x = net.max_pool(x, 3, 2, ceil=1)
    x = net.concat(net.conv_bn(x, 16, 1), x)
    net.output(net.classifier(x), "output")


@FAMILY.add(IMAGES, (9, "script"), (17, "script"))
def squeezenet(net):
    x = net.max_pool(net.conv(image(net), 16, 3, 2, p=0, act="relu"), 3, 2, ceil=1 if net.opset >= 10 else 0)
    for _ in range(2):
        y = net.conv(x, 8, 1, act="relu")
        x = net.concat(net.conv(y, 12, 1, act="relu"), net.conv(y, 12, 3, act="relu"))
    x = net.conv(net.Dropout(x), 10, 1, act="relu")
    net.output(net.flatten(net.GlobalAveragePool(x)), "output")


def inverted(net, x, width, hidden, stride, k=3, act="relu6", excite=None):
    """A block of MobileNet, MNASNet or EfficientNet."""
    y = net.conv_bn(x, hidden, 1, act=act)
    y = net.conv_bn(y, hidden, k, stride, g=hidden, act=act)
    if excite:
        y = net.squeeze_excite(y, 8, *excite)
    y = net.conv_bn(y, width, 1, act=None)
    return net.Add(x, y).of(width) if stride == 1 and x.channels == width else y


def mobile(net, act="relu6", excite=None, k=3):
    x = net.conv_bn(image(net), 8, 3, 2, act=act)
    for width, stride in ((16, 2), (16, 1), (24, 2), (24, 1)):
        x = inverted(net, x, width, x.channels * 4, stride, k, act, excite)
    x = net.conv_bn(x, 48, 1, act=act)
    x = net.linear(net.flatten(net.GlobalAveragePool(x)).of(48), 32, gemm=True, act=act)
    net.output(net.linear(x, 10, gemm=True), "output")


def shuffle(net, x, groups=2):
    """Exchanges the groups of channels: the extents are computed in exports of dynamic sizes."""
    c = x.channels
    if net.dialect == "script":
        n, h, w = (net.extent(x, i) for i in (0, 2, 3))
        y = net.Transpose(net.reshape(x, n, groups, c // groups, h, w), perm=[0, 2, 1, 3, 4])
        return net.reshape(y, n, -1, h, w).of(c)
    size = net.Shape(x)
    y = net.Reshape(x, net.Concat(net.slice(size, 0, 1), net.ints(groups, c // groups), net.slice(size, 2, 4), axis=0))
    return net.Reshape(net.Transpose(y, perm=[0, 2, 1, 3, 4]), size).of(c)


@FAMILY.add(IMAGES, *OLD_AND_NEW, quick=True)
def shufflenet(net):
    x = net.max_pool(net.conv_bn(image(net), 24, 3, 2), 3, 2, 1)
    a = net.conv_bn(net.conv_bn(x, 24, 3, 2, act=None, g=24), 24, 1)
    b = net.conv_bn(net.conv_bn(net.conv_bn(x, 24, 1), 24, 3, 2, act=None, g=24), 24, 1)
    x = shuffle(net, net.concat(a, b))
    for _ in range(2):
        a, b = net.split(x, (24, 24), 1)
        b = net.conv_bn(net.conv_bn(net.conv_bn(b, 24, 1), 24, 3, act=None, g=24), 24, 1)
        x = shuffle(net, net.concat(a, b))
    x = net.conv_bn(x, 32, 1)
    net.output(net.linear(net.mean(x, 2, 3, keepdims=0).of(32), 10, gemm=True), "output")


@FAMILY.add(IMAGES, (11, "script"), (17, "script"), (20, "dynamo"), quick=True)
def convnext(net):
    x = net.conv(image(net), 16, 4, 4, p=0)
    x = net.Transpose(net.layer_norm(net.Transpose(x, perm=[0, 2, 3, 1]), 1e-6), perm=[0, 3, 1, 2])
    for _ in range(2):
        y = net.Transpose(net.conv(x, 16, 7, g=16), perm=[0, 2, 3, 1])
        y = net.feed_forward(net.layer_norm(y, 1e-6), 64)
        gamma = net.constant(net.rng.uniform(0.1, 1, (16, 1, 1)).astype(np.float32))
        x = net.Add(net.Mul(gamma, net.Transpose(y, perm=[0, 3, 1, 2])), x).of(16)
    y = net.Transpose(net.GlobalAveragePool(x), perm=[0, 2, 3, 1]).of(16)
    net.output(net.linear(net.Flatten(net.layer_norm(y), axis=1).of(16), 10, gemm=True), "output")


@FAMILY.add(IMAGES, (13, "script"))
def ghostnet(net):
    x = net.conv_bn(image(net), 16, 3, 2)
    for width in (16, 24):
        primary = net.conv_bn(x, width // 2, 1)
        x = net.concat(primary, net.conv_bn(primary, width // 2, 3, g=width // 2))
        x = net.slice(x, 0, width, axes=(1,)).of(width)
        x = net.squeeze_excite(x, 8, "relu", "hard_sigmoid")
    net.output(net.classifier(x), "output")


@FAMILY.add(IMAGES, (17, "script"))
def res2net(net):
    """Chunks of channels, each convolved with the sum of the one before."""
    x = net.conv_bn(image(net), 16, 3, 2)
    pieces, done = net.split(net.conv_bn(x, 32, 1), (8, 8, 8, 8), 1), []
    last = None
    for piece in pieces[:3]:
        last = net.conv_bn(piece if last is None else net.Add(last, piece).of(8), 8)
        done.append(last)
    y = net.conv_bn(net.concat(*done, net.average_pool(pieces[3], 3, 1, 1).of(8)), 16, 1, act=None)
    net.output(net.classifier(net.Relu(net.Add(x, y)).of(16)), "output")


@FAMILY.add(IMAGES, (14, "script"))
def hrnet(net):
    """Two resolutions that exchange what they know."""
    x = net.conv_bn(image(net), 16, 3, 2)
    low = net.conv_bn(x, 32, 3, 2)
    for _ in range(2):
        x, low = net.conv_bn(x, 16), net.conv_bn(low, 32)
        up = net.resize(net.conv_bn(low, 16, 1, act=None), 2)
        x, low = (net.Relu(net.Add(x, up)).of(16), net.Relu(net.Add(low, net.conv_bn(x, 32, 3, 2, act=None))).of(32))
    net.output(net.classifier(net.concat(x, net.resize(low, like=x, mode="linear"))), "output")


FAMILY.each(IMAGES, *OLD_AND_NEW, quick=("resnet18",), vgg11=(vgg, False), vgg11_bn=(vgg, True), resnet18=(resnet,),
            resnet50=(resnet, "bottleneck"), resnext50=(resnet, "bottleneck", 4), regnet=(resnet, "excited", 2))
FAMILY.each(IMAGES, (11, "script"), (14, "paddle"), (18, "dynamo"), quick=("mobilenet_v3",), mobilenet_v2=(mobile,),
            mobilenet_v3=(mobile, "hard_swish", ("relu", "hard_sigmoid")), efficientnet=(mobile, "silu", ("silu", "sigmoid")),
            mnasnet=(mobile, "relu", None, 5))
