# SPDX-License-Identifier: Apache-2.0
"""Networks as torch modules with random weights, for benchmarks beside PyTorch: convolutional ones of torchvision's, a detector of many
small layers, and an encoder of six layers."""
import torch
import torch.nn.functional as F
from torch import nn


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(1, 20, 5), nn.Conv2d(20, 50, 5)
        self.c, self.d = nn.Linear(800, 500), nn.Linear(500, 10)

    def forward(self, x):
        x = F.max_pool2d(self.a(x), 2)
        x = torch.flatten(F.max_pool2d(self.b(x), 2), 1)
        return torch.softmax(self.d(F.relu(self.c(x))), 1)


class SRCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Conv2d(3, 64, 9, padding=4), nn.Conv2d(64, 32, 1), nn.Conv2d(32, 3, 5, padding=2)

    def forward(self, x):
        x = F.interpolate(x, size=(512, 512), mode="bicubic", align_corners=False)
        return self.c(F.relu(self.b(F.relu(self.a(x)))))


class Bicubic(nn.Module):
    def forward(self, x):
        return F.interpolate(x, size=(1024, 1024), mode="bicubic", align_corners=False)


class Pool(nn.Module):
    def forward(self, x):
        return F.max_pool2d(x, 2)


class ElementwiseChain(nn.Module):
    def forward(self, x):
        return torch.tanh(torch.sigmoid(torch.exp(-torch.abs(x))) * 2 + 1)


def of_torchvision(name):
    """A function that makes torchvision's network `name` with the statistics of random pictures, so that activations neither vanish
    nor explode."""

    def make():
        import torchvision
        net = getattr(torchvision.models, name)()
        for module in net.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.momentum = None  # the mean of all that it sees
        net(torch.rand((4, 3, 224, 224), generator=torch.Generator().manual_seed(2)))
        return net.eval()

    return make


def convolution(inputs, outputs, size=1, stride=1):
    conv = nn.Conv2d(inputs, outputs, size, stride, size // 2)
    nn.init.normal_(conv.weight, std=(2.5 / (inputs * size * size)) ** 0.5)
    return nn.Sequential(conv, nn.SiLU())


class C2f(nn.Module):
    """A block of a detector: half of the channels go through a chain of 3x3 convolutions, and every step of it is kept."""

    def __init__(self, inputs, outputs, depth, is_residual):
        super().__init__()
        half = outputs // 2
        self.first, self.last = convolution(inputs, outputs), convolution(half * (2 + depth), outputs)
        self.chain = nn.ModuleList(nn.Sequential(convolution(half, half, 3), convolution(half, half, 3)) for _ in range(depth))
        self.is_residual = is_residual

    def forward(self, x):
        parts = list(self.first(x).chunk(2, 1))
        for step in self.chain:
            y = step(parts[-1])
            parts.append(parts[-1] + y if self.is_residual else y)
        return self.last(torch.cat(parts, 1))


class Detector(nn.Module):
    """Shaped as YOLOv8n (Ultralytics, 2023): backbone, pyramid pooling, path aggregation, a head for each of three strides; its raw
    answer, 64 numbers of boxes and 80 of classes a position."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(convolution(3, 16, 3, 2), convolution(16, 32, 3, 2), C2f(32, 32, 1, True))
        self.p3 = nn.Sequential(convolution(32, 64, 3, 2), C2f(64, 64, 2, True))
        self.p4 = nn.Sequential(convolution(64, 128, 3, 2), C2f(128, 128, 2, True))
        self.p5 = nn.Sequential(convolution(128, 256, 3, 2), C2f(256, 256, 1, True))
        self.narrow, self.pooled = convolution(256, 128), convolution(512, 256)
        self.up4, self.up3 = C2f(384, 128, 1, False), C2f(192, 64, 1, False)
        self.down4, self.down5 = convolution(64, 64, 3, 2), convolution(128, 128, 3, 2)
        self.out4, self.out5 = C2f(192, 128, 1, False), C2f(384, 256, 1, False)
        self.heads = nn.ModuleList(nn.ModuleList((self.head(width, 64), self.head(width, 80))) for width in (64, 128, 256))

    @staticmethod
    def head(inputs, outputs):
        return nn.Sequential(convolution(inputs, outputs, 3), convolution(outputs, outputs, 3), nn.Conv2d(outputs, outputs, 1))

    def forward(self, x):
        p3 = self.p3(self.stem(x))
        p4 = self.p4(p3)
        pools = [self.narrow(self.p5(p4))]
        for _ in range(3):
            pools.append(F.max_pool2d(pools[-1], 5, 1, 2))
        p5 = self.pooled(torch.cat(pools, 1))
        n4 = self.up4(torch.cat((F.interpolate(p5, scale_factor=2.0), p4), 1))
        n3 = self.up3(torch.cat((F.interpolate(n4, scale_factor=2.0), p3), 1))
        m4 = self.out4(torch.cat((self.down4(n3), n4), 1))
        m5 = self.out5(torch.cat((self.down5(m4), p5), 1))
        answers = [torch.flatten(torch.cat([head(y) for head in heads], 1), 2) for heads, y in zip(self.heads, (n3, m4, m5))]
        return torch.cat(answers, 2)


class Encoder(nn.Module):
    """Six layers of an encoder (Vaswani et al., 2017) of width 384 with 12 heads, from token ids to a vector each."""

    def __init__(self, vocabulary=30522, width=384, heads=12, layers=6, longest=512):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(longest, width)
        self.norm, self.heads = nn.LayerNorm(width), heads
        self.layers = nn.ModuleList(nn.ModuleDict({
            "qkv": nn.Linear(width, 3 * width), "out": nn.Linear(width, width), "norm1": nn.LayerNorm(width),
            "up": nn.Linear(width, 4 * width), "down": nn.Linear(4 * width, width), "norm2": nn.LayerNorm(width)})
            for _ in range(layers))

    def forward(self, ids):
        batch, length = ids.shape
        x = self.norm(self.tokens(ids) + self.positions(torch.arange(length, device=ids.device)))
        for layer in self.layers:
            q, k, v = (t.reshape(batch, length, self.heads, -1).transpose(1, 2) for t in layer["qkv"](x).chunk(3, -1))
            y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(batch, length, -1)
            x = layer["norm1"](x + layer["out"](y))
            x = layer["norm2"](x + layer["down"](F.gelu(layer["up"](x))))
        return x
