# SPDX-License-Identifier: Apache-2.0
"""Caffe's layers in NumPy, written for clarity, in double precision: what check_caffe.py compares with."""

import itertools

import numpy as np


def pool_extents(shape, kernel, stride, pad, up=True):
    extents = []
    for i in range(2):
        available = shape[2 + i] + 2 * pad[i] - kernel[i]
        extent = (-(-available // stride[i]) if up else available // stride[i]) + 1
        if max(pad) and (extent - 1) * stride[i] >= shape[2 + i] + pad[i]:
            extent -= 1
        extents.append(extent)
    return extents


def pool(x, method, kernel, stride=(1, 1), pad=(0, 0), up=True):
    """Pooling; the divisor of AVE counts padding, but not what lies behind it."""
    height, width = pool_extents(x.shape, kernel, stride, pad, up)
    y = np.zeros(x.shape[:2] + (height, width))
    for i, j in itertools.product(range(height), range(width)):
        top, left = i * stride[0] - pad[0], j * stride[1] - pad[1]
        bottom, right = min(top + kernel[0], x.shape[2] + pad[0]), min(left + kernel[1], x.shape[3] + pad[1])
        divisor = (bottom - top) * (right - left)
        window = x[:, :, max(top, 0):min(bottom, x.shape[2]), max(left, 0):min(right, x.shape[3])]
        y[:, :, i, j] = window.max(axis=(2, 3)) if method == "MAX" else window.sum(axis=(2, 3)) / divisor
    return y


def convolve(x, w, b=None, stride=(1, 1), pad=(0, 0), dilation=(1, 1), group=1):
    x = np.pad(x, ((0, 0), (0, 0), (pad[0],) * 2, (pad[1],) * 2))
    extents = [(x.shape[2 + i] - dilation[i] * (w.shape[2 + i] - 1) - 1) // stride[i] + 1 for i in range(2)]
    y = np.zeros((x.shape[0], w.shape[0], *extents))
    inputs, outputs = x.shape[1] // group, w.shape[0] // group
    for g, ky, kx in itertools.product(range(group), range(w.shape[2]), range(w.shape[3])):
        part = x[:, g * inputs:(g + 1) * inputs, ky * dilation[0]:, kx * dilation[1]:]
        part = part[:, :, :(extents[0] - 1) * stride[0] + 1:stride[0], :(extents[1] - 1) * stride[1] + 1:stride[1]]
        y[:, g * outputs:(g + 1) * outputs] += np.einsum("nchw,oc->nohw", part, w[g * outputs:(g + 1) * outputs, :, ky, kx])
    return y if b is None else y + b.reshape(-1, 1, 1)


def deconvolve(x, w, b=None, stride=(1, 1), pad=(0, 0), group=1):
    """Weights: input channels, output channels of a group, kernel."""
    extents = [stride[i] * (x.shape[2 + i] - 1) + w.shape[2 + i] for i in range(2)]
    inputs, outputs = x.shape[1] // group, w.shape[1]
    y = np.zeros((x.shape[0], outputs * group, *extents))
    for g, i, j in itertools.product(range(group), range(x.shape[2]), range(x.shape[3])):
        channels = slice(g * inputs, (g + 1) * inputs)
        piece = np.einsum("nc,cokl->nokl", x[:, channels, i, j], w[channels])
        y[:, g * outputs:(g + 1) * outputs, i * stride[0]:i * stride[0] + w.shape[2],
          j * stride[1]:j * stride[1] + w.shape[3]] += piece
    y = y[:, :, pad[0]:extents[0] - pad[0], pad[1]:extents[1] - pad[1]]
    return y if b is None else y + b.reshape(-1, 1, 1)


def lrn_across(x, size, alpha, beta, k):
    y = np.empty_like(x)
    for c in range(x.shape[1]):
        window = x[:, max(0, c - size // 2):c + size // 2 + 1]
        y[:, c] = x[:, c] * (k + alpha / size * (window ** 2).sum(axis=1)) ** -beta
    return y


def lrn_within(x, size, alpha, beta):
    half = (size - 1) // 2
    return x * (1 + alpha * pool(x ** 2, "AVE", (size, size), pad=(half, half))) ** -beta


def softmax(x, axis):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def mvn(x, across, variance, eps):
    axes = tuple(range(1 if across else 2, x.ndim))
    y = x - x.mean(axis=axes, keepdims=True)
    return y / (np.sqrt((y ** 2).mean(axis=axes, keepdims=True)) + eps) if variance else y


def normalize(x, scale, across, eps=1e-10):
    axes = (1, 2, 3) if across else (1,)
    return x / np.sqrt((x ** 2).sum(axis=axes, keepdims=True) + eps) * scale.reshape(-1, 1, 1)


def interp(x, height, width):
    """Bilinear, corners on corners."""
    for axis, extent in ((2, height), (3, width)):
        position = np.arange(extent) * (x.shape[axis] - 1) / max(extent - 1, 1)
        low = np.minimum(position.astype(int), x.shape[axis] - 1)
        high = np.minimum(low + 1, x.shape[axis] - 1)
        part = (position - low).reshape([-1 if i == axis else 1 for i in range(4)])
        x = np.take(x, low, axis) * (1 - part) + np.take(x, high, axis) * part
    return x


def sequences(x, cont, weights, step, static=None, state=None):
    """Recurrent layers, one stream after the other: outputs [T, N, H] and the states after the last step [1, N, H].
    `step` makes an output and new states from the sum of inputs, the states before and cont; a stream's states begin at
    zero where `state` is not given."""
    flat = x.reshape(*x.shape[:2], -1).astype(np.float64)
    outputs, last = [], []
    for n in range(x.shape[1]):
        states = [part[0, n].astype(np.float64) for part in state] if state else None
        rows = []
        for t in range(x.shape[0]):
            gates = weights["x"] @ flat[t, n] + weights["b"]
            if static is not None:
                gates = gates + weights["static"] @ static[n].reshape(-1)
            output, states = step(gates, states, float(cont[t, n]))
            rows.append(output)
        outputs.append(rows)
        last.append(states)
    return np.array(outputs).transpose(1, 0, 2), [np.array(part)[None] for part in zip(*last)]


def lstm(x, cont, weights, static=None, state=None):
    """The gates are input, forget, output, candidate; state: hidden, cell."""
    hidden = weights["h"].shape[1]

    def step(gates, states, cont):
        h, c = states or (np.zeros(hidden), np.zeros(hidden))
        gates = gates + weights["h"] @ (cont * h)
        i, f, o = (1 / (1 + np.exp(-gates[k * hidden:(k + 1) * hidden])) for k in range(3))
        c = cont * f * c + i * np.tanh(gates[3 * hidden:])
        h = o * np.tanh(c)
        return h, (h, c)

    return sequences(x, cont, weights, step, static, state)


def rnn(x, cont, weights, static=None, state=None):
    """State: hidden."""

    def step(gates, states, cont):
        h, = states or (np.zeros(weights["h"].shape[1]),)
        h = np.tanh(gates + weights["h"] @ (cont * h))
        return np.tanh(weights["o"] @ h + weights["bo"]), (h,)

    return sequences(x, cont, weights, step, static, state)
