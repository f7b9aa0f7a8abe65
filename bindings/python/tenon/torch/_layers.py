# SPDX-License-Identifier: Apache-2.0
"""Converters of convolutions, pooling, normalisation, resampling and attention."""

import math

import numpy as np

from tenon.torch._table import converter, pair


def _convolve(net, x, weight, bias, stride, padding, dilation, groups, count):
    fields = {"strides": pair(stride, count), "dilations": pair(dilation, count), "group": groups}
    if isinstance(padding, str):
        fields["auto_pad"] = {"same": "SAME_UPPER", "valid": "VALID"}[padding]
    else:
        fields["pads"] = pair(padding, count) * 2
    batched = x if x.rank == count + 2 else net.add("Unsqueeze", [x, net.axes([0])])
    made = net.add("Conv", [batched, weight, bias], fields)
    return made if x.rank == count + 2 else net.add("Squeeze", [made, net.axes([0])])


for _count in (1, 2, 3):
    converter(f"aten.conv{_count}d.default", f"aten.conv{_count}d.padding")(
        lambda net, x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, _count=_count: _convolve(
            net, x, weight, bias, stride, padding, dilation, groups, _count))


@converter("aten.conv_transpose1d", "aten.conv_transpose2d.input", "aten.conv_transpose3d.input")
def conv_transpose(net, x, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    count = weight.rank - 2
    return net.add("ConvTranspose", [x, weight, bias], {
        "strides": pair(stride, count), "pads": pair(padding, count) * 2, "output_padding": pair(output_padding, count), "group": groups,
        "dilations": pair(dilation, count)})


@converter("aten.convolution")
def convolution(net, x, weight, bias, stride, padding, dilation, is_transposed, output_padding, groups):
    if is_transposed:
        return conv_transpose(net, x, weight, bias, stride, padding, output_padding, groups, dilation)
    return _convolve(net, x, weight, bias, stride, padding, dilation, groups, weight.rank - 2)


@converter("aten.batch_norm", "aten._native_batch_norm_legit_no_training")
def batch_norm(net, x, weight, bias, mean, variance, *rest):
    if mean is None or rest and rest[0] is True:
        raise ValueError("batch normalisation by the batch's own mean: expected a module in eval mode, with running statistics")
    epsilon = [each for each in rest if isinstance(each, float)][-1]
    channels = int(mean.val.shape[0])
    weight = net.constant(np.ones(channels), x.dtype) if weight is None else weight
    bias = net.constant(np.zeros(channels), x.dtype) if bias is None else bias
    made = net.add("BatchNormalization", [x, weight, bias, mean, variance], epsilon=epsilon)
    return made if len(rest) != 2 else [made, None, None]


@converter("aten.layer_norm")
def layer_norm(net, x, shape, weight=None, bias=None, epsilon=1e-5, *_):
    weight = net.constant(np.ones([int(each) for each in shape]), x.dtype) if weight is None else weight
    return net.add("LayerNormalization", [x, weight, bias], axis=-len(shape), epsilon=float(epsilon))


@converter("aten.group_norm")
def group_norm(net, x, groups, weight=None, bias=None, epsilon=1e-5, *_):
    """By instance normalisation of each group, then the channels' factors; ONNX's GroupNormalization of opset 20 has one a group."""
    channels = int(x.val.shape[1])
    rows = net.add("Reshape", [x, net.axes([0, groups, -1])])
    made = net.add("InstanceNormalization", [rows, net.constant(np.ones(groups), x.dtype), net.constant(np.zeros(groups), x.dtype)],
                   epsilon=float(epsilon))
    made = net.add("Reshape", [made, net.add("Shape", [x])])
    for op, factor in (("Mul", weight), ("Add", bias)):
        if factor is not None:
            made = net.add(op, [made, net.add("Reshape", [factor, net.axes([1, channels] + [1] * (x.rank - 2))])])
    return made


@converter("aten.instance_norm")
def instance_norm(net, x, weight, bias, mean, variance, use_input_stats, momentum, epsilon, *_):
    if not use_input_stats:
        return batch_norm(net, x, weight, bias, mean, variance, False, momentum, epsilon, None)
    channels = int(x.val.shape[1])
    weight = net.constant(np.ones(channels), x.dtype) if weight is None else weight
    bias = net.constant(np.zeros(channels), x.dtype) if bias is None else bias
    return net.add("InstanceNormalization", [x, weight, bias], epsilon=float(epsilon))


# --- pooling --------------------------------------------------------------------------------------


def _max_pool(count):
    @converter(f"aten.max_pool{count}d")
    def convert(net, x, kernel, stride=(), padding=0, dilation=1, ceil_mode=False):
        return net.add("MaxPool", [x], {"kernel_shape": pair(kernel, count), "strides": pair(stride or kernel, count), "pads": pair(padding, count) * 2,
                                        "dilations": pair(dilation, count), "ceil_mode": int(ceil_mode)})


def _average_pool(count):
    @converter(f"aten.avg_pool{count}d")
    def convert(net, x, kernel, stride=(), padding=0, ceil_mode=False, count_include_pad=True, divisor=None):
        if divisor is not None:
            raise ValueError("avg_pool with a divisor of its own: expected none")
        return net.add("AveragePool", [x], {"kernel_shape": pair(kernel, count), "strides": pair(stride or kernel, count), "pads": pair(padding, count) * 2,
                                            "ceil_mode": int(ceil_mode), "count_include_pad": int(count_include_pad)})


def _adaptive(count, name, whole, pool):
    @converter(name)
    def convert(net, x, sizes):
        sizes = pair(sizes, count)
        if all(size == 1 for size in sizes):
            made = net.add(whole, [x])
            return made
        extents = x.val.shape[-count:]
        if not all(isinstance(extent, int) and extent % size == 0 for extent, size in zip(extents, sizes)):
            raise ValueError(f"{name} from {tuple(extents)} to {tuple(sizes)}: expected 1, or known extents that are multiples")
        kernel = [extent // size for extent, size in zip(extents, sizes)]
        return net.add(pool, [x], kernel_shape=kernel, strides=kernel)


for _count in (1, 2, 3):
    _max_pool(_count)
    _average_pool(_count)
    _adaptive(_count, f"aten.adaptive_avg_pool{_count}d", "GlobalAveragePool", "AveragePool")

# --- resampling -----------------------------------------------------------------------------------


def resize(net, x, sizes, factors, fields):
    """Resize of the last axes, to sizes, or by factors."""
    count = x.rank - 2
    axes = list(range(2, x.rank))
    if sizes is not None:
        return net.add("Resize", [x, None, None, net.extents(sizes)], {**fields, "axes": axes})
    return net.add("Resize", [x, None, net.constant(np.array(pair(factors, count), np.float32))], {**fields, "axes": axes})


@converter("aten.upsample_nearest1d.vec", "aten.upsample_nearest2d.vec", "aten.upsample_nearest3d.vec")
def nearest(net, x, sizes, factors):
    return resize(net, x, sizes, factors, {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"})


@converter("aten.upsample_linear1d.vec", "aten.upsample_bilinear2d.vec", "aten.upsample_trilinear3d.vec")
def linear(net, x, sizes, align_corners, factors):
    return resize(net, x, sizes, factors, {"mode": "linear", "coordinate_transformation_mode": _corners(align_corners)})


@converter("aten.upsample_bicubic2d.vec")
def bicubic(net, x, sizes, align_corners, factors):
    return resize(net, x, sizes, factors, {"mode": "cubic", "cubic_coeff_a": -0.75, "coordinate_transformation_mode": _corners(align_corners)})


def _corners(align_corners):
    return "align_corners" if align_corners else "pytorch_half_pixel"


@converter("aten.grid_sampler", "aten.grid_sampler_2d")
def grid_sampler(net, x, grid, mode, padding_mode, align_corners):
    return net.add("GridSample", [x, grid], mode=("linear", "nearest", "cubic")[mode], padding_mode=("zeros", "border", "reflection")[padding_mode],
                   align_corners=int(align_corners))


converter("aten.prelu")(lambda net, x, slope: net.add("PRelu", [x, net.add("Reshape", [slope, net.axes([-1] + [1] * (x.rank - 2))])]))
converter("aten.glu")(lambda net, x, axis=-1: _glu(net, x, axis))


def _glu(net, x, axis):
    first, second = net.add("Split", [x], {"axis": axis, "num_outputs": 2}, 2)
    return net.add("Mul", [first, net.add("Sigmoid", [second])])


@converter("aten.scaled_dot_product_attention")
def attention(net, query, key, value, mask=None, dropout=0.0, is_causal=False, scale=None, enable_gqa=False):
    if enable_gqa:
        raise ValueError("attention with grouped queries: expected as many heads of keys as of queries")
    scale = 1 / math.sqrt(int(query.val.shape[-1])) if scale is None else scale
    order = list(range(query.rank - 2)) + [query.rank - 1, query.rank - 2]
    scores = net.add("Mul", [net.add("MatMul", [query, net.add("Transpose", [key], perm=order)]), net.cast(float(scale), query.dtype)])
    low = net.cast(-math.inf, query.dtype)
    if is_causal:
        shape = [query.val.shape[-2], key.val.shape[-2]]
        if not all(isinstance(extent, int) for extent in shape):
            raise ValueError("causal attention of sequences whose length only a run knows: expected a mask")
        mask = net.constant(np.tril(np.ones([int(each) for each in shape], bool)))
    if mask is not None:
        scores = net.add("Where", [mask, scores, low]) if mask.dtype == "bool" else net.add("Add", [scores, mask])
    return net.add("MatMul", [net.add("Softmax", [scores], axis=-1), value])


# --- recurrent layers -----------------------------------------------------------------------------


def _directions(net, params, per_direction):
    """The weights of a layer's directions as ONNX has them: gates in the order i, o, f, c (PyTorch's is i, f, g, o), stacked."""
    hidden = int(params[1].val.shape[1])
    order = net.axes([gate * hidden + row for gate in (0, 3, 1, 2) for row in range(hidden)])
    ordered = [net.add("Gather", [each, order], axis=0) for each in params]
    directions = [ordered[at:at + per_direction] for at in range(0, len(ordered), per_direction)]

    def stacked(tensors):
        return net.add("Concat", [net.add("Unsqueeze", [each, net.axes([0])]) for each in tensors], axis=0)

    biases = [net.add("Concat", each[2:], axis=0) for each in directions if len(each) == 4]
    return hidden, stacked([each[0] for each in directions]), stacked([each[1] for each in directions]), stacked(biases) if biases else None


@converter("aten.lstm.input")
def lstm(net, x, states, params, has_biases, layers, dropout, train, bidirectional, batch_first):
    per_direction, count = 4 if has_biases else 2, 2 if bidirectional else 1
    if len(params) != per_direction * count * layers:
        raise ValueError("an LSTM with projections: expected proj_size=0")
    if train and dropout:
        raise ValueError("an LSTM with dropout in training: expected a module in eval mode")
    y = net.add("Transpose", [x], perm=[1, 0, 2]) if batch_first else x
    last = []
    for layer in range(layers):
        at = layer * per_direction * count
        hidden, weights, recurrent, biases = _directions(net, params[at:at + per_direction * count], per_direction)
        own = net.axes(range(layer * count, (layer + 1) * count))
        begin = [net.add("Gather", [state, own], axis=0) for state in states]
        y, *ends = net.add("LSTM", [y, weights, recurrent, biases, None, *begin], outputs=3, hidden_size=hidden,
                           direction="bidirectional" if bidirectional else "forward")
        y = net.add("Reshape", [net.add("Transpose", [y], perm=[0, 2, 1, 3]), net.axes([0, 0, -1])])
        last.append(ends)
    ends = [net.add("Concat", list(each), axis=0) for each in zip(*last)]
    return [net.add("Transpose", [y], perm=[1, 0, 2]) if batch_first else y, *ends]
