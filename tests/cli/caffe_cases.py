# SPDX-License-Identifier: Apache-2.0
"""Small Caffe networks, one for each kind of layer, with what Caffe computes: cases for check_caffe.py.

A case is (name, text of the network, weights, inputs, expected outputs). Networks of one layer are made by `one`.
"""

import numpy as np

import caffe_reference as caffe

random = np.random.default_rng(20260)


def data(*shape):
    return random.standard_normal(shape).astype(np.float32)


def input_text(name, shape):
    dims = " ".join(f"dim: {extent}" for extent in shape)
    return f'layer {{ name: "{name}" type: "Input" top: "{name}" input_param {{ shape {{ {dims} }} }} }}\n'


def one(name, kind, parameters, inputs, expected, arrays=()):
    """A network of one layer on inputs x0, x1, ... with tops y0, y1, ..."""
    inputs = inputs if isinstance(inputs, list) else [inputs]
    expected = expected if isinstance(expected, list) else [expected]
    text = "".join(input_text(f"x{i}", value.shape) for i, value in enumerate(inputs))
    ports = "".join(f' bottom: "x{i}"' for i in range(len(inputs)))
    ports += "".join(f' top: "y{i}"' for i in range(len(expected)))
    text += f'layer {{ name: "it" type: "{kind}"{ports} {parameters} }}\n'
    weights = [("it", kind, list(arrays))] if arrays else []
    return (name, text, weights, {f"x{i}": value for i, value in enumerate(inputs)},
            {f"y{i}": np.asarray(value, np.float32) for i, value in enumerate(expected)})


def window_cases():
    x, w, b = data(2, 4, 9, 8), data(6, 4, 3, 3), data(6)
    conv = "num_output: 6 kernel_size: 3"
    yield one("convolution", "Convolution", f"convolution_param {{ {conv} }}", x, caffe.convolve(x, w, b), (w, b))
    yield one("convolution without bias", "Convolution",
              f"convolution_param {{ {conv} bias_term: false pad: 1 stride: 2 }}", x,
              caffe.convolve(x, w, stride=(2, 2), pad=(1, 1)), (w,))
    wide = data(6, 2, 3, 2)
    yield one("convolution with groups, dilation and two extents", "Convolution",
              "convolution_param { num_output: 6 kernel_h: 3 kernel_w: 2 pad_h: 2 pad_w: 0 stride: [2, 1] group: 2 "
              "dilation: 2 dilation: 1 }", x,
              caffe.convolve(x, wide, b, stride=(2, 1), pad=(2, 0), dilation=(2, 1), group=2), (wide, b))
    deep, four = data(4, 1, 3, 3), data(4)
    yield one("depthwise convolution", "DepthwiseConvolution",
              "convolution_param { num_output: 4 kernel_size: 3 pad: 1 }", x,
              caffe.convolve(x, deep, four, pad=(1, 1), group=4), (deep, four))
    second = data(2, 4, 9, 8)
    yield one("convolution of two bottoms", "Convolution", f"convolution_param {{ {conv} }}", [x, second],
              [caffe.convolve(x, w, b), caffe.convolve(second, w, b)], (w, b))
    up = data(4, 3, 4, 4)
    yield one("deconvolution", "Deconvolution",
              "convolution_param { num_output: 6 kernel_size: 4 stride: 2 pad: 1 group: 2 }", x,
              caffe.deconvolve(x, up, b, stride=(2, 2), pad=(1, 1), group=2), (up, b))
    for kernel, stride, pad, size in ((2, 2, 0, (9, 8)), (3, 2, 0, (8, 9)), (3, 2, 1, (8, 8)), (3, 2, 1, (7, 10)),
                                      (2, 3, 1, (9, 8)), (4, 3, 2, (9, 11)), (3, 3, 2, (5, 6))):
        z = data(1, 3, *size)
        for method in ("MAX", "AVE"):
            yield one(f"pooling {method} kernel {kernel} stride {stride} pad {pad} of {size}", "Pooling",
                      f"pooling_param {{ pool: {method} kernel_size: {kernel} stride: {stride} pad: {pad} }}", z,
                      caffe.pool(z, method, (kernel,) * 2, (stride,) * 2, (pad,) * 2))
    z, seven = data(1, 3, 9, 10), data(1, 2, 7, 7)
    yield one("pooling rounded down", "Pooling",
              "pooling_param { pool: AVE kernel_h: 2 kernel_w: 3 stride: 2 round_mode: FLOOR }", z,
              caffe.pool(z, "AVE", (2, 3), (2, 2), up=False))
    yield one("pooling whose step is longer than its window", "Pooling",
              "pooling_param { pool: AVE kernel_size: 2 stride: 3 }", seven, caffe.pool(seven, "AVE", (2, 2), (3, 3)))
    yield one("global pooling AVE", "Pooling", "pooling_param { pool: AVE global_pooling: true }", z,
              z.mean(axis=(2, 3), keepdims=True))
    yield one("global pooling MAX", "Pooling", "pooling_param { pool: MAX global_pooling: true }", z,
              z.max(axis=(2, 3), keepdims=True))
    pyramid = [caffe.pool(z, "MAX", (9, 10), (9, 10)), caffe.pool(z, "MAX", (5, 5), (5, 5), (1, 0)),
               caffe.pool(z, "MAX", (3, 3), (3, 3), (2, 1))]
    yield one("pyramid of poolings", "SPP", "spp_param { pyramid_height: 3 }", z,
              np.concatenate([level.reshape(1, -1) for level in pyramid], 1))
    yield one("pyramid of one", "SPP", "spp_param { pyramid_height: 1 pool: AVE }", z, z.mean(axis=(2, 3), keepdims=True))
    indices = np.zeros((1, 3, 5, 5))
    for c in range(3):
        for i in range(5):
            for j in range(5):
                part = z[0, c, 2 * i:2 * i + 2, 2 * j:2 * j + 2]
                k, l = np.unravel_index(part.argmax(), part.shape)
                indices[0, c, i, j] = (2 * i + k) * 10 + 2 * j + l
    yield one("pooling with indices", "Pooling", "pooling_param { pool: MAX kernel_size: 2 stride: 2 }", z,
              [caffe.pool(z, "MAX", (2, 2), (2, 2)), indices])


def linear_cases():
    x = data(2, 3, 4, 5)
    w, b = data(7, 60), data(7)
    yield one("inner product", "InnerProduct", "inner_product_param { num_output: 7 }", x,
              x.reshape(2, 60) @ w.T + b, (w, b))
    yield one("inner product, transposed, without bias", "InnerProduct",
              "inner_product_param { num_output: 7 bias_term: false transpose: true }", x, x.reshape(2, 60) @ w.T,
              (np.ascontiguousarray(w.T),))
    v = data(7, 20)
    yield one("inner product from axis 2", "InnerProduct", "inner_product_param { num_output: 7 axis: 2 }", x,
              x.reshape(2, 3, 20) @ v.T + b, (v, b))
    yield one("inner product from axis -1", "InnerProduct", "inner_product_param { num_output: 7 axis: -1 }", x,
              x @ v[:, :5].T + b, (np.ascontiguousarray(v[:, :5]), b))
    table, bias = data(9, 4), data(4)
    index = np.array([[0, 8, 3], [4, 4, 1]], np.float32)
    yield one("embed", "Embed", "embed_param { num_output: 4 input_dim: 9 }", index,
              table[index.astype(int)] + bias, (table, bias))
    yield ("parameter", input_text("x0", (2, 3)) + 'layer { name: "p" type: "Parameter" top: "p" parameter_param '
           '{ shape { dim: 2 dim: 3 } } } layer { name: "sum" type: "Eltwise" bottom: "x0" bottom: "p" top: "y0" }',
           [("p", "Parameter", [np.ones((2, 3), np.float32)])], {"x0": x[:, :, 0, 0]}, {"y0": x[:, :, 0, 0] + 1})


def neuron_cases():
    x = data(2, 3, 4, 5)
    positive = np.abs(x) + 0.5
    slopes = data(3)
    wide = x.astype(np.float64)
    for name, kind, parameters, value, expected in (
            ("relu", "ReLU", "", x, np.maximum(x, 0)),
            ("leaky relu", "ReLU", "relu_param { negative_slope: 0.1 }", x, np.where(x > 0, x, 0.1 * x)),
            ("relu6", "ReLU6", "", 4 * x, np.clip(4 * x, 0, 6)),
            ("elu", "ELU", "elu_param { alpha: 0.7 }", x, np.where(x > 0, x, 0.7 * np.expm1(x))),
            ("sigmoid", "Sigmoid", "", x, 1 / (1 + np.exp(-wide))),
            ("tanh", "TanH", "", x, np.tanh(wide)),
            ("absolute value", "AbsVal", "", x, np.abs(x)),
            ("bnll", "BNLL", "", 9 * x, np.logaddexp(0, 9 * wide)),
            ("power", "Power", "power_param { power: 2 scale: 3 shift: -0.5 }", x, (3 * wide - 0.5) ** 2),
            ("power of a line", "Power", "power_param { scale: 3 shift: -0.5 }", x, 3 * wide - 0.5),
            ("power that does nothing", "Power", "", x, x),
            ("power 0", "Power", "power_param { power: 0 shift: 3 }", x, np.ones_like(x)),
            ("power of a constant", "Power", "power_param { power: 2 scale: 0 shift: 3 }", x, np.full_like(x, 9)),
            ("exp", "Exp", "exp_param { scale: 0.5 shift: 1 }", x, np.exp(1 + 0.5 * wide)),
            ("exp of base 2", "Exp", "exp_param { base: 2 scale: 0.5 }", x, 2 ** (0.5 * wide)),
            ("log", "Log", "log_param { scale: 2 shift: 1 }", positive, np.log(1 + 2.0 * positive)),
            ("log of base 10", "Log", "log_param { base: 10 }", positive, np.log10(positive)),
            ("threshold", "Threshold", "threshold_param { threshold: 0.25 }", x, x > 0.25),
            ("clip", "Clip", "clip_param { min: -0.5 max: 0.75 }", x, np.clip(x, -0.5, 0.75)),
            ("swish", "Swish", "swish_param { beta: 2 }", x, x / (1 + np.exp(-2 * wide))),
            ("dropout", "Dropout", "dropout_param { dropout_ratio: 0.4 }", x, x)):
        yield one(name, kind, parameters, value, expected)
    yield one("prelu", "PReLU", "", x, np.where(x > 0, x, slopes.reshape(3, 1, 1) * x), (slopes,))
    yield one("prelu, shared", "PReLU", "prelu_param { channel_shared: true }", x, np.where(x > 0, x, slopes[0] * x),
              (slopes[0],))


def normal_cases():
    x = data(2, 6, 7, 5)
    mean, variance = data(6), np.abs(data(6)) + 0.1
    for factor in (1.0, 999.98, 0.0):
        f = 0 if factor == 0 else 1 / factor
        expected = ((x - f * mean.reshape(-1, 1, 1).astype(np.float64)) /
                    np.sqrt(f * variance.reshape(-1, 1, 1) + 2e-5))
        yield one(f"batch norm with factor {factor}", "BatchNorm", "batch_norm_param { eps: 2e-5 }", x, expected,
                  (mean, variance, np.array([factor], np.float32)))
    gamma, beta = data(6), data(6)
    expected = (x - mean.reshape(-1, 1, 1)) / np.sqrt(variance.reshape(-1, 1, 1) + 1e-5)
    yield one("batch norm of five blobs", "BatchNorm", "", x,
              expected * gamma.reshape(-1, 1, 1) + beta.reshape(-1, 1, 1),
              (mean, variance, np.array([7], np.float32), gamma, beta))
    for top in "yz":  # in place, which is one node, and not
        layers = (f'layer {{ name: "n" type: "BatchNorm" bottom: "x0" top: "{top}0" }}\n'
                  f'layer {{ name: "s" type: "Scale" bottom: "{top}0" top: "y0" scale_param {{ bias_term: true }} }}\n')
        yield (f"batch norm and scale, {top}", input_text("x0", x.shape) + layers,
               [("n", "BatchNorm", [mean, variance, np.ones(1, np.float32)]), ("s", "Scale", [gamma, beta])], {"x0": x},
               {"y0": expected * gamma.reshape(-1, 1, 1) + beta.reshape(-1, 1, 1)})
    yield one("scale", "Scale", "", x, x * gamma.reshape(-1, 1, 1), (gamma,))
    yield one("scale with bias", "Scale", "scale_param { bias_term: true }", x,
              x * gamma.reshape(-1, 1, 1) + beta.reshape(-1, 1, 1), (gamma, beta))
    rows = data(6, 7)
    yield one("scale over two axes", "Scale", "scale_param { axis: 1 num_axes: 2 }", x, x * rows[:, :, None], (rows,))
    columns = data(7, 5)
    yield one("scale to the end", "Scale", "scale_param { axis: -2 num_axes: -1 }", x, x * columns, (columns,))
    yield one("scale by one number", "Scale", "scale_param { num_axes: 0 }", x, x * gamma[0], (gamma[0],))
    per_image = data(2, 6)
    yield one("scale by a second bottom", "Scale", "scale_param { axis: 0 }", [x, per_image],
              x * per_image[:, :, None, None])
    yield one("bias", "Bias", "", x, x + beta.reshape(-1, 1, 1), (beta,))
    yield one("bias by a second bottom", "Bias", "bias_param { axis: 0 }", [x, per_image],
              x + per_image[:, :, None, None])
    wide = x.astype(np.float64)
    yield one("lrn across channels", "LRN", "lrn_param { local_size: 3 alpha: 0.3 beta: 0.6 k: 2 }", x,
              caffe.lrn_across(wide, 3, 0.3, 0.6, 2))
    yield one("lrn within channels", "LRN",
              "lrn_param { local_size: 3 alpha: 0.3 beta: 0.6 norm_region: WITHIN_CHANNEL }", x,
              caffe.lrn_within(wide, 3, 0.3, 0.6))
    for across in (False, True):
        for variance_too in (False, True):
            yield one(f"mvn, across {across}, variance {variance_too}", "MVN",
                      f"mvn_param {{ across_channels: {str(across).lower()} normalize_variance: "
                      f"{str(variance_too).lower()} eps: 1e-3 }}", x, caffe.mvn(wide, across, variance_too, 1e-3))
    yield one("softmax", "Softmax", "", x, caffe.softmax(wide, 1))
    yield one("softmax of the last axis", "Softmax", "softmax_param { axis: -1 }", x, caffe.softmax(wide, 3))
    yield one("normalize, spatial", "Normalize", "", x, caffe.normalize(wide, gamma[:1], True), (gamma[0],))
    yield one("normalize, channels", "Normalize", "norm_param { across_spatial: false channel_shared: false }", x,
              caffe.normalize(wide, gamma, False), (gamma,))


def combine_cases():
    a, b, c = data(2, 3, 4, 5), data(2, 3, 4, 5), data(2, 3, 4, 5)
    for name, parameters, expected in (
            ("sum", "", a + b + c), ("product", "eltwise_param { operation: PROD }", a * b * c),
            ("maximum", "eltwise_param { operation: MAX }", np.maximum(np.maximum(a, b), c)),
            ("difference", "eltwise_param { coeff: 1 coeff: -1 coeff: 1 }", a - b + c),
            ("weighed sum", "eltwise_param { coeff: [-1, 0.5, 2] }", -a + 0.5 * b + 2 * c)):
        yield one(f"eltwise {name}", "Eltwise", parameters, [a, b, c], expected)
    wide = data(2, 6, 4, 5)
    yield one("concat", "Concat", "", [a, wide], np.concatenate([a, wide], 1))
    yield one("concat by its older name", "Concat", "concat_param { concat_dim: 3 }", [a, b], np.concatenate([a, b], 3))
    yield one("concat from the end", "Concat", "concat_param { axis: -2 }", [a, b], np.concatenate([a, b], 2))
    yield one("slice in equal parts", "Slice", "", wide, [wide[:, :2], wide[:, 2:4], wide[:, 4:]])
    yield one("slice at points", "Slice", "slice_param { axis: 1 slice_point: 1 slice_point: 4 }", wide,
              [wide[:, :1], wide[:, 1:4], wide[:, 4:]])
    yield one("split", "Split", "", a, [a, a])
    for operation, expected in (("SUM", a.sum(axis=(2, 3))), ("ASUM", np.abs(a).sum(axis=(2, 3))),
                                ("SUMSQ", (a ** 2).sum(axis=(2, 3))), ("MEAN", a.mean(axis=(2, 3)))):
        yield one(f"reduction {operation}", "Reduction",
                  f"reduction_param {{ operation: {operation} axis: 2 coeff: 0.5 }}", a, 0.5 * expected)
    yield one("reduction to a number", "Reduction", "", a, a.sum())
    ties = np.array([[1, 5, 5, 2], [7, 7, 7, 7]], np.float32).reshape(2, 2, 2, 1)
    yield one("argmax", "ArgMax", "", ties, np.array([2, 3]).reshape(2, 1, 1))
    yield one("argmax with values", "ArgMax", "argmax_param { out_max_val: true }", ties,
              np.array([[2, 5], [3, 7]]).reshape(2, 2, 1))
    yield one("argmax along an axis", "ArgMax", "argmax_param { axis: 1 }", a, a.argmax(1)[:, None])
    yield one("argmax along an axis, values", "ArgMax", "argmax_param { axis: -1 out_max_val: true }", a,
              a.max(axis=3, keepdims=True))
    flat = np.argsort(-a.reshape(2, -1), axis=1)[:, :3]
    yield one("argmax, the first three", "ArgMax", "argmax_param { top_k: 3 }", a, flat[:, None])
    yield one("argmax, the first three with values", "ArgMax", "argmax_param { top_k: 3 out_max_val: true }", a,
              np.stack([flat, np.take_along_axis(a.reshape(2, -1), flat, 1)], 1))
    yield one("argmax, the last of equals first", "ArgMax", "argmax_param { top_k: 3 out_max_val: true }", ties,
              np.array([[[2, 1, 3], [5, 5, 2]], [[3, 2, 1], [7, 7, 7]]]))
    channels = np.argsort(-a, axis=1)[:, :2]
    yield one("argmax of two along an axis", "ArgMax", "argmax_param { axis: 1 top_k: 2 }", a, channels)
    yield one("argmax of two along an axis, values", "ArgMax", "argmax_param { axis: -3 top_k: 2 out_max_val: true }",
              a, np.take_along_axis(a, channels, 1))


def shape_cases():
    x = data(2, 3, 4, 5)
    yield one("flatten", "Flatten", "", x, x.reshape(2, 60))
    yield one("flatten two axes", "Flatten", "flatten_param { axis: 1 end_axis: 2 }", x, x.reshape(2, 12, 5))
    yield one("flatten from the end", "Flatten", "flatten_param { axis: -2 }", x, x.reshape(2, 3, 20))
    yield one("reshape", "Reshape", "reshape_param { shape { dim: 0 dim: -1 dim: 2 } }", x, x.reshape(2, 30, 2))
    yield one("reshape of some axes", "Reshape", "reshape_param { axis: 1 num_axes: 2 shape { dim: 2 dim: 6 } }", x,
              x.reshape(2, 2, 6, 5))
    yield one("reshape that adds an axis", "Reshape", "reshape_param { axis: -1 num_axes: 0 shape { dim: 1 } }", x,
              x.reshape(2, 3, 4, 5, 1))
    yield one("permute", "Permute", "permute_param { order: 0 order: 2 order: 3 order: 1 }", x, x.transpose(0, 2, 3, 1))
    yield one("permute of one axis", "Permute", "permute_param { order: 2 }", x, x.transpose(2, 0, 1, 3))
    yield one("crop", "Crop", "crop_param { axis: 2 offset: 1 offset: 2 }", [x, data(2, 3, 2, 3)], x[:, :, 1:3, 2:5])
    yield one("tile", "Tile", "tile_param { axis: 1 tiles: 3 }", x, np.tile(x, (1, 3, 1, 1)))


def detection_cases():
    yield one("prior box", "PriorBox",
              "prior_box_param { min_size: 4 max_size: 9 aspect_ratio: 4 flip: false variance: [0.1, 0.1, 0.2, 0.2] "
              "offset: 0.5 }", [data(1, 2, 1, 1), data(1, 3, 20, 10)],
              [[[[3 / 10, 8 / 20, 7 / 10, 12 / 20, 2 / 10, 7 / 20, 8 / 10, 13 / 20, 1 / 10, 9 / 20, 9 / 10, 11 / 20],
                [0.1, 0.1, 0.2, 0.2] * 3]]])
    priors = np.array([[[0.1, 0.1, 0.3, 0.3, 0.12, 0.1, 0.32, 0.3, 0.6, 0.6, 0.9, 0.9], [0.1] * 12]], np.float32)
    conf = np.array([[0.1, 0.9, 0.2, 0.8, 0.3, 0.7]], np.float32)
    yield one("detection output", "DetectionOutput",
              "detection_output_param { num_classes: 2 nms_param { nms_threshold: 0.45 top_k: 10 } keep_top_k: 5 "
              "confidence_threshold: 0.5 }", [np.zeros((1, 12), np.float32), conf, priors],
              [[[[[0, 1, 0.9, 0.1, 0.1, 0.3, 0.3], [0, 1, 0.7, 0.6, 0.6, 0.9, 0.9]]]]])


def resize_cases():
    x = data(2, 3, 5, 4)
    for parameters, height, width in (("height: 9 width: 3", 9, 3), ("zoom_factor: 2", 9, 7),
                                      ("shrink_factor: 2 zoom_factor: 3", 7, 4)):
        yield one(f"interp {parameters}", "Interp", f"interp_param {{ {parameters} }}", x, caffe.interp(x, height, width))


def recurrent_weights(kind, inputs, hidden, static=0):
    """Weights by name, and the same as blobs in Caffe's order."""
    rows = hidden * (4 if kind == "LSTM" else 1)
    shapes = {"x": (rows, inputs), "b": (rows,), "static": (rows, static), "h": (rows, hidden)}
    if kind == "RNN":
        shapes.update({"o": (hidden, hidden), "bo": (hidden,)})
    weights = {name: data(*shape) / 2 for name, shape in shapes.items() if name != "static" or static}
    return weights, tuple(weights.values())


def recurrent_cases():
    begins = np.array([[0, 0, 1], [1, 1, 1], [1, 0, 1], [1, 1, 0], [1, 1, 1]], np.float32)
    for kind, compute, states in (("LSTM", caffe.lstm, 2), ("RNN", caffe.rnn, 1)):
        x = data(5, 3, 4)
        weights, blobs = recurrent_weights(kind, 4, 6)
        yield one(kind, kind, "recurrent_param { num_output: 6 }", [x, begins], compute(x, begins, weights)[0], blobs)
        parts = np.abs(data(5, 3))
        yield one(f"{kind} with parts of the state", kind, "recurrent_param { num_output: 6 weight_filler { type: 'xavier' } "
                  "bias_filler { type: 'constant' } debug_info: false }", [x, parts], compute(x, parts, weights)[0], blobs)
        weights, blobs = recurrent_weights(kind, 12, 17, 10)
        x, static, before = data(4, 2, 3, 4), data(2, 5, 2), [data(1, 2, 17) for _ in range(states)]
        cont = np.array([[1, 0], [1, 1], [0, 1], [1, 1]], np.float32)
        yield one(f"{kind} with a static input", kind, "recurrent_param { num_output: 17 }", [x, cont, static],
                  compute(x, cont, weights, static)[0], blobs)
        output, last = compute(x, cont, weights, static, before)
        yield one(f"{kind} with everything", kind, "recurrent_param { num_output: 17 expose_hidden: true }",
                  [x, cont, static, *before], [output, *last], blobs)
        weights, blobs = recurrent_weights(kind, 12, 17)
        output, last = compute(x, cont, weights, None, before)
        yield one(f"{kind} with its states", kind, "recurrent_param { num_output: 17 expose_hidden: true }",
                  [x, cont, *before], [output, *last], blobs)


def reader_case():
    """Words to chances of the next word: Embed, LSTM, InnerProduct of each step."""
    words = random.integers(0, 20, (7, 2)).astype(np.float32)
    cont = np.array([[0, 0], [1, 1], [1, 1], [1, 0], [1, 1], [0, 1], [1, 1]], np.float32)
    table, (weights, blobs), matrix, bias = data(20, 8), recurrent_weights("LSTM", 8, 32), data(20, 32), data(20)
    text = input_text("words", words.shape) + input_text("cont", cont.shape) + """
layer { name: "embedding" type: "Embed" bottom: "words" top: "embedded" embed_param { num_output: 8 input_dim: 20 bias_term: false } }
layer { name: "lstm" type: "LSTM" bottom: "embedded" bottom: "cont" top: "states" recurrent_param { num_output: 32 } }
layer { name: "predict" type: "InnerProduct" bottom: "states" top: "scores" inner_product_param { num_output: 20 axis: 2 } }
layer { name: "prob" type: "Softmax" bottom: "scores" top: "chances" softmax_param { axis: 2 } }
"""
    states = caffe.lstm(table[words.astype(int)], cont, weights)[0]
    model = [("embedding", "Embed", [table]), ("lstm", "LSTM", list(blobs)), ("predict", "InnerProduct", [matrix, bias])]
    return "reader of words", text, model, {"words": words, "cont": cont}, {"chances": caffe.softmax(states @ matrix.T + bias, 2)}


def whole_cases():
    """Rules, names and forms rather than layers."""
    x, z, w, b = data(2, 3, 4, 5), data(2, 3, 4, 4), data(2, 48), data(2)
    # in place three times over; the blob's last value is the output
    yield ("in place", input_text("x0", x.shape) +
           'layer { name: "a" type: "Power" bottom: "x0" top: "y0" power_param { scale: 2 } }\n'
           'layer { name: "b" type: "ReLU" bottom: "y0" top: "y0" }\n'
           'layer { name: "c" type: "Dropout" bottom: "y0" top: "y0" }\n'
           'layer { name: "d" type: "Power" bottom: "y0" top: "y0" power_param { shift: 1 } }\n',
           [], {"x0": x}, {"y0": np.maximum(2 * x, 0) + 1})
    yield ("in place on an input", input_text("x0", x.shape) +
           'layer { name: "a" type: "ReLU" bottom: "x0" top: "x0" }\n', [], {"x0": x}, {"x0": np.maximum(x, 0)})
    yield ("training and testing in one text",
           'layer { name: "train" type: "Data" top: "x0" top: "label" include { phase: TRAIN } }\n'
           'layer { name: "test" type: "Data" top: "x0" top: "label" include: < phase: TEST > transform_param '
           '{ crop_size: 4 } }\n'
           'layer { name: "only" type: "ReLU" bottom: "x0" top: "x0" exclude { phase: TEST } what { is: "this" } }\n'
           'layer { name: "ip" type: "InnerProduct" bottom: "x0" top: "y0" inner_product_param { num_output: 2 } }\n'
           'layer { name: "staged" type: "ReLU" bottom: "y0" top: "y0" include { stage: "deploy" } }\n'
           'layer { name: "accuracy" type: "Accuracy" bottom: "y0" bottom: "label" top: "accuracy" }\n'
           'layer { name: "loss" type: "SoftmaxWithLoss" bottom: "y0" bottom: "label" top: "loss" }\n',
           [("ip", "InnerProduct", [w, b])], {"x0": z},
           {"loss": caffe.softmax(z.reshape(2, 48) @ w.T.astype(np.float64) + b, 1)})
    # neither a top nor a name: what it computes is called as its type
    yield ("a loss of no name", input_text("x0", x.shape) + 'layer { type: "SoftmaxWithLoss" bottom: "x0" bottom: "label" }\n',
           [], {"x0": x}, {"SoftmaxWithLoss": caffe.softmax(x, 1)})
    yield ("all spellings", '# a comment\nname: "it\\x27s" \'two\' input: "x0", input_shape < dim: [2, 0x3] dim: 04; '
           'dim: 5 > force_backward: false\nlayer: { name: "a" type: "Power" bottom: "x0" top: "y0"\n'
           '  power_param: { power: 1., scale: .5e1f shift: - 2 } } # the end',
           [], {"x0": x}, {"y0": 5 * x - 2})


def all_cases():
    for cases in (window_cases, linear_cases, neuron_cases, normal_cases, combine_cases, shape_cases, detection_cases,
                  resize_cases, whole_cases, recurrent_cases):
        yield from cases()
    yield reader_case()
