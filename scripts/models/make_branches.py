# SPDX-License-Identifier: Apache-2.0
"""Writes models/branches.onnx: convolutions with random weights that need nothing of each other, as residual networks have them.

Blocks whose input goes through a window of 3x3 and, beside it, one of 1x1 in steps of two; and two windows of 1x1 of one tensor that are
joined: what scripts/gpu-test compares with the processor, where a graph has such kernels beside each other."""
from make_separable import Writer

SHAPE = (1, 3, 64, 80)
BLOCKS = [(32, 2), (48, 2), (48, 1)]  # filters, step


def main():
    w = Writer()
    x, channels = w.convolution("image", SHAPE[1], 16, 3, 2, activation="Relu"), 16
    for filters, stride in BLOCKS:
        y = w.convolution(x, channels, filters, 3, stride, activation="Relu")
        shortcut = w.convolution(x, channels, filters, 1, stride) if stride > 1 else x
        x, channels = w.node("Relu", w.node("Add", w.convolution(y, filters, filters, 3), shortcut)), filters
    a, b = (w.convolution(x, channels, 32, 1, activation="Relu") for _ in range(2))
    w.convolution(w.node("Concat", a, b, axis=1), 64, 24, 3)
    w.save("branches", SHAPE, (SHAPE[0], 24, 8, 10))


main()
