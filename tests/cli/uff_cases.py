# SPDX-License-Identifier: Apache-2.0
"""Small UFF networks, each with an input and the result that TensorFlow's meaning of it gives, by NumPy.

For check_foreign_models.py. A case is a function that answers (network, inputs by name, results by name); its
attributes `plugin` and `options` say what the command line needs.
"""

import numpy as np

import uff

CASES = []


def case(plugin=False, options=()):
    def keep(function):
        CASES.append((function.__name__, function, plugin, options))
        return function
    return keep


def numbers(*shape, seed=1, low=-2.0, high=2.0):
    return np.random.default_rng(seed).uniform(low, high, shape).astype(np.float32)


def int32(*values):
    return np.array(values, np.int32)


# --- what TensorFlow computes, on N, H, W, C ---

def same_padding(extent, kernel, stride, dilation=1):
    total = max((-(-extent // stride) - 1) * stride + (kernel - 1) * dilation + 1 - extent, 0)
    return total // 2, total - total // 2


def windows(x, kernel, stride, padding, dilation=(1, 1), fill=0.0):
    """[n, out_h, out_w, kh, kw, c]"""
    x = np.pad(x, ((0, 0), *padding, (0, 0)), constant_values=fill)
    out = [(x.shape[i + 1] - (kernel[i] - 1) * dilation[i] - 1) // stride[i] + 1 for i in range(2)]
    result = np.empty((x.shape[0], *out, *kernel, x.shape[3]), np.float64)
    for i in range(out[0]):
        for j in range(out[1]):
            rows = i * stride[0] + np.arange(kernel[0]) * dilation[0]
            columns = j * stride[1] + np.arange(kernel[1]) * dilation[1]
            result[:, i, j] = x[:, rows][:, :, columns]
    return result


def conv(x, w, stride=(1, 1), padding=((0, 0), (0, 0)), dilation=(1, 1)):
    return np.einsum("nijabc,abck->nijk", windows(x, w.shape[:2], stride, padding, dilation), w)


def same(x, kernel, stride=(1, 1), dilation=(1, 1)):
    return [same_padding(x.shape[i + 1], kernel[i], stride[i], dilation[i]) for i in range(2)]


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def image_net(shape=(-1, 7, 6, 3)):
    net = uff.Network()
    net.input("x", shape)
    return net


# --- windows ---

def conv_case(w, operation_fields, expected, shape=(-1, 7, 6, 3), x=None):
    net = image_net(shape)
    x = numbers(2, *shape[1:]) if x is None else x
    net.const("w", w)
    net.node("y", "Conv", ["x", "w"], inputs_orders=net.orders("N+C", "+CK"), **operation_fields)
    return net.output("y"), {"x": x}, {"y": expected(x)}


@case()
def conv_valid():
    w = numbers(3, 2, 3, 4, seed=2)
    return conv_case(w, {"strides": [2, 1]}, lambda x: conv(x, w, (2, 1)))


@case()
def conv_same():
    w = numbers(3, 4, 3, 4, seed=2)
    return conv_case(w, {"strides": [2, 2], "implicit_padding": "same"},
                     lambda x: conv(x, w, (2, 2), same(x, (3, 4), (2, 2))))


@case()
def conv_dilated_with_explicit_padding():
    w = numbers(3, 3, 3, 2, seed=2)
    return conv_case(w, {"dilation": [2, 1], "padding": [2, 1]},
                     lambda x: conv(x, w, (1, 1), ((2, 2), (1, 1)), (2, 1)))


@case()
def conv_depthwise_with_two_filters_a_channel():
    w = numbers(3, 3, 3, 2, seed=2)

    def expected(x):
        parts = [conv(x[..., c:c + 1], w[:, :, c:c + 1], (1, 1), same(x, (3, 3))) for c in range(3)]
        return np.concatenate(parts, 3)
    return conv_case(w, {"number_groups": 3, "implicit_padding": "same"}, expected)


@case()
def conv_in_groups():
    w = numbers(3, 3, 2, 6, seed=2)

    def expected(x):
        return np.concatenate([conv(x[..., :2], w[..., :3]), conv(x[..., 2:], w[..., 3:])], 3)
    return conv_case(w, {"number_groups": 2}, expected, (-1, 7, 6, 4))


@case()
def conv_in_channels_first_order():
    net = uff.Network()
    net.input("x", [-1, 3, 7, 6])
    x, w = numbers(2, 3, 7, 6), numbers(4, 3, 3, 3, seed=2)
    net.const("w", w)
    net.node("y", "Conv", ["x", "w"], inputs_orders=net.orders("NC+", "KC+"))
    y = conv(x.transpose(0, 2, 3, 1), w.transpose(2, 3, 1, 0)).transpose(0, 3, 1, 2)
    return net.output("y"), {"x": x}, {"y": y}


@case(options=("--shape", "x=2x3x7x6"))
def conv_fed_in_channels_first_order():
    net = image_net()
    x, w = numbers(2, 7, 6, 3), numbers(3, 3, 3, 4, seed=2)
    net.const("w", w)
    net.node("y", "Conv", ["x", "w"], inputs_orders=net.orders("N+C", "+CK"))
    return (net.output("y"), {"x": x.transpose(0, 3, 1, 2)},
            {"y": conv(x, w).transpose(0, 3, 1, 2)})


@case(options=("--shape", "x=2x3x7x6"))
def conv_of_an_input_without_batch_axis():
    net = uff.Network()
    net.input("x", [3, 7, 6])
    x, w = numbers(2, 7, 6, 3), numbers(3, 3, 3, 4, seed=2)
    net.const("w", w)
    net.node("y", "Conv", ["x", "w"], inputs_orders=net.orders("N+C", "+CK"))
    net.node("flat", "Flatten", ["y"])
    y = conv(x, w)
    return (net.output("y", "flat"), {"x": x.transpose(0, 3, 1, 2)},
            {"y": y.transpose(0, 3, 1, 2), "flat": y.reshape(2, -1)})


def conv_transpose_case(kernel, stride, out, fields, channels=(3, 4), shape=(2, 4, 5)):
    x, w = numbers(*shape, channels[0]), numbers(*kernel, channels[1], channels[0], seed=2)
    full = np.zeros((shape[0], *[(shape[i + 1] - 1) * stride[i] + kernel[i] for i in range(2)],
                     channels[1]))
    for i in range(shape[1]):
        for j in range(shape[2]):
            full[:, i * stride[0]:i * stride[0] + kernel[0],
                 j * stride[1]:j * stride[1] + kernel[1]] += np.einsum("nc,abkc->nabk", x[:, i, j], w)
    if "implicit_padding" in fields:
        cut = [max(full.shape[i + 1] - out[i], 0) // 2 for i in range(2)]
    else:
        cut = fields.get("padding", [0, 0])
    y = np.zeros((shape[0], *out, channels[1]))
    piece = full[:, cut[0]:cut[0] + out[0], cut[1]:cut[1] + out[1]]
    y[:, :piece.shape[1], :piece.shape[2]] = piece
    net = image_net((-1, *shape[1:], channels[0]))
    net.const("w", w)
    net.const("extents", int32(shape[0], *out, channels[1]))
    net.node("y", "ConvTranspose", ["x", "w", "extents"], inputs_orders=net.orders("N+C", "+KC"),
             strides=list(stride), **fields)
    return net.output("y"), {"x": x}, {"y": y}


@case()
def conv_transpose_same():
    return conv_transpose_case((3, 4), (2, 2), (8, 10), {"implicit_padding": "same"})


@case()
def conv_transpose_same_of_odd_extents():
    return conv_transpose_case((3, 3), (2, 2), (7, 9), {"implicit_padding": "same"})


@case()
def conv_transpose_valid():
    return conv_transpose_case((3, 2), (2, 3), (9, 14), {})


@case()
def conv_transpose_larger_than_its_reach():
    return conv_transpose_case((3, 2), (2, 3), (10, 16), {})


@case()
def pool_max_same():
    net, x = image_net(), numbers(2, 7, 6, 3)
    net.node("y", "Pool", ["x"], func="max", kernel=[3, 2], strides=[2, 2], implicit_padding="same",
             inputs_orders=net.orders("N+C"))
    padded = windows(x, (3, 2), (2, 2), same(x, (3, 2), (2, 2)), fill=-np.inf)
    return net.output("y"), {"x": x}, {"y": padded.max((3, 4))}


@case()
def pool_average_counts_real_elements():
    net, x = image_net(), numbers(2, 7, 6, 3)
    net.node("y", "Pool", ["x"], func="avg", kernel=[3, 3], strides=[2, 2], implicit_padding="same",
             inputs_orders=net.orders("N+C"))
    padded = windows(x, (3, 3), (2, 2), same(x, (3, 3), (2, 2)), fill=np.nan)
    return net.output("y"), {"x": x}, {"y": np.nanmean(padded, (3, 4))}


@case()
def pool_average_valid():
    net, x = image_net(), numbers(2, 7, 6, 3)
    net.node("y", "Pool", ["x"], func="avg", kernel=[7, 6], inputs_orders=net.orders("N+C"))
    net.node("z", "Squeeze", ["y"], axes=[1, 2])
    mean = x.mean((1, 2), dtype=np.float64)
    return net.output("y", "z"), {"x": x}, {"y": mean[:, None, None], "z": mean}


@case()
def lrn():
    net, x = image_net((-1, 3, 2, 8)), numbers(2, 3, 2, 8)
    net.node("y", "LRN", ["x"], window_size=2, alpha=0.3, beta=0.75, k=1.5,
             inputs_orders=net.orders("N+C"))
    padded = np.pad(x.astype(np.float64) ** 2, ((0, 0),) * 3 + ((2, 2),))
    total = sum(padded[..., i:i + 8] for i in range(5))
    return net.output("y"), {"x": x}, {"y": x / (1.5 + 0.3 * total) ** 0.75}


@case()
def batch_norm():
    net, x = image_net(), numbers(2, 7, 6, 3)
    gamma, beta, mean, variance = (numbers(3, seed=i, low=0.5, high=1.5) for i in range(2, 6))
    for name, array in (("g", gamma), ("b", beta), ("m", mean), ("v", variance)):
        net.const(name, array)
    net.node("y", "BatchNorm", ["x", "g", "b", "m", "v"], epsilon=0.01,
             inputs_orders=net.orders("N+C"))
    net.node("z", "Conv", ["y", net.const("w", numbers(1, 1, 3, 2, seed=9))],
             inputs_orders=net.orders("N+C", "+CK"))
    y = gamma * (x - mean) / np.sqrt(variance + 0.01) + beta
    return net.output("y", "z"), {"x": x}, {"y": y, "z": conv(y, numbers(1, 1, 3, 2, seed=9))}


# --- products ---

def product_case(data_order, weights_order):
    net = uff.Network()
    x, w = numbers(2, 5), numbers(5, 4, seed=2)
    net.input("x", [-1, 5] if data_order == "NC" else [5, -1])
    net.const("w", w if weights_order == "CK" else w.T)
    net.node("y", "FullyConnected", ["x", "w"], inputs_orders=net.orders(data_order, weights_order))
    return net.output("y"), {"x": x if data_order == "NC" else x.T}, {"y": x @ w}


@case()
def fully_connected():
    return product_case("NC", "CK")


@case()
def fully_connected_of_transposed_weights():
    return product_case("NC", "KC")


@case(options=("--shape", "x=5x2"))
def fully_connected_of_transposed_data():
    return product_case("CN", "CK")


@case(options=("--shape", "x=2x5"))
def fully_connected_of_an_input_without_batch_axis():
    net = uff.Network()
    x, w = numbers(2, 5), numbers(5, 4, seed=2)
    net.input("x", [5])
    net.const("w", w)
    net.node("y", "FullyConnected", ["x", "w"], inputs_orders=net.orders("NC", "CK"))
    return net.output("y"), {"x": x}, {"y": x @ w}


def flatten_case(weights_order, seen):
    """Weights' rows follow the data when it is flattened; others still see it in the file's order."""
    net, x = image_net(), numbers(2, 7, 6, 3)
    k, w = numbers(3, 3, 3, 4, seed=2), numbers(80, 6, seed=3)
    net.const("k", k)
    net.const("w", w if weights_order == "CK" else w.T)
    net.node("c", "Conv", ["x", "k"], inputs_orders=net.orders("N+C", "+CK"))
    net.node("f", "Flatten", ["c"])
    net.node("y", "FullyConnected", ["f", "w"], inputs_orders=net.orders("NC", weights_order))
    flat = conv(x, k).reshape(2, -1)
    results = {"y": flat @ w, **({"f": flat} if seen else {})}
    return net.output(*results), {"x": x}, results


@case()
def flatten_before_weights():
    return flatten_case("CK", False)


@case()
def flatten_before_transposed_weights():
    return flatten_case("KC", False)


@case()
def flatten_that_others_see():
    return flatten_case("CK", True)


# --- elementwise ---

FUNCTIONS = {
    "neg": lambda x: -x, "exp": np.exp, "log": np.log, "abs": np.abs, "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x), "square": np.square, "sin": np.sin, "cos": np.cos,
    "tan": np.tan, "sinh": np.sinh, "cosh": np.cosh, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "asinh": np.arcsinh, "acosh": lambda x: np.arccosh(x + 1),
    "atanh": np.arctanh, "ceil": np.ceil, "floor": np.floor}


@case()
def unary_functions():
    net, x = image_net((-1, 4)), numbers(3, 4, low=0.05, high=0.95)
    results = {}
    net.const("one", np.float32(1))
    net.node("above_one", "Binary", ["x", "one"], func="add")
    for name, function in FUNCTIONS.items():
        net.node(name, "Unary", ["above_one" if name == "acosh" else "x"], func=name)
        results[name] = function(x.astype(np.float64))
    return net.output(*results), {"x": x}, results


@case()
def activations():
    net, x = image_net((-1, 4)), numbers(3, 4, low=-8, high=8)
    d = x.astype(np.float64)
    results = {"relu": np.maximum(d, 0), "relu6": np.clip(d, 0, 6), "sigmoid": 1 / (1 + np.exp(-d)),
               "tanh": np.tanh(d), "elu": np.where(d < 0, np.expm1(d), d),
               "selu": 1.05070099 * np.where(d < 0, 1.67326324 * np.expm1(d), d),
               "softsign": d / (1 + np.abs(d)), "softplus": np.log1p(np.exp(d))}
    for name in results:
        net.node(name, "Activation", ["x"], func=name)
    net.node("leaky", "LeakyRelu", ["x"], alpha=0.2)
    results["leaky"] = np.where(d < 0, 0.2 * d, d)
    return net.output(*results), {"x": x}, results


BINARY = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide,
          "min": np.minimum, "max": np.maximum, "pow": np.power}


@case()
def binary_functions_with_broadcast_constants():
    """On data that lies in another order than the file's: what a convolution gave."""
    net, x = image_net((-1, 5, 4, 3)), numbers(2, 5, 4, 3, low=0.1)
    k = np.abs(numbers(1, 1, 3, 2, seed=2))
    net.const("k", k)
    net.node("c", "Conv", ["x", "k"], inputs_orders=net.orders("N+C", "+CK"))
    net.node("p", "Activation", ["c"], func="softplus")
    p, results = np.log1p(np.exp(conv(x, k))), {}
    for index, shape in enumerate(((2,), (4, 1), (5, 4, 2), (1, 5, 1, 2), ())):
        constant = np.abs(numbers(*shape, seed=index + 3)) + np.float32(0.5)
        net.const(f"constant{index}", constant)
        for name, function in BINARY.items():
            results[f"{name}{index}"] = function(p, constant)
            net.node(f"{name}{index}", "Binary", ["p", f"constant{index}"], func=name)
        results[f"from{index}"] = constant - p
        net.node(f"from{index}", "Binary", [f"constant{index}", "p"], func="sub")
    return net.output(*results), {"x": x}, results


@case()
def binary_of_two_orders():
    net, x = image_net((-1, 5, 4, 3)), numbers(2, 5, 4, 3)
    k = numbers(1, 1, 3, 3, seed=2)
    net.const("k", k)
    net.node("c", "Conv", ["x", "k"], inputs_orders=net.orders("N+C", "+CK"))
    net.node("y", "Binary", ["x", "c"], func="sub")
    net.node("m", "Reduce", ["c"], func="max", axes=[0, 1], keepdims=False)
    net.node("z", "Binary", ["m", "c"], func="add")
    c = conv(x, k)
    return net.output("y", "z"), {"x": x}, {"y": x - c, "z": c.max((0, 1)) + c}


@case()
def softmax_axes():
    net, x = image_net((-1, 5, 4, 3)), numbers(2, 5, 4, 3)
    k = numbers(1, 1, 3, 3, seed=2)
    net.const("k", k)
    net.node("c", "Conv", ["x", "k"], inputs_orders=net.orders("N+C", "+CK"))
    net.node("y", "Softmax", ["c"], axis=0, inputs_orders=net.orders("NC+"))
    net.node("z", "Softmax", ["c"], axis=2)
    c = conv(x, k)
    return net.output("y", "z"), {"x": x}, {"y": softmax(c), "z": softmax(c, 2)}


# --- shapes ---

def convolved(shape=(5, 4, 3), filters=2):
    net, x = image_net((-1, *shape)), numbers(2, *shape)
    k = numbers(1, 1, shape[2], filters, seed=2)
    net.const("k", k)
    net.node("c", "Conv", ["x", "k"], inputs_orders=net.orders("N+C", "+CK"))
    return net, x, conv(x, k)


@case()
def transposes_of_an_image():
    net, x, c = convolved()
    results = {}
    for index, order in enumerate(([0, 3, 1, 2], [0, 2, 1, 3], [3, 0, 2, 1], [0, 1, 2, 3])):
        net.node(f"t{index}", "Transpose", ["c"], permutation=order)
        results[f"t{index}"] = c.transpose(order)
    net.node("back", "Transpose", ["t0"], permutation=[0, 2, 3, 1])
    net.node("again", "Conv", ["back", net.const("k2", numbers(2, 2, 2, 3, seed=5))],
             inputs_orders=net.orders("N+C", "+CK"))
    net.node("first", "Pool", ["t0"], func="max", kernel=[2, 2], inputs_orders=net.orders("NC+"))
    results["again"] = conv(c, numbers(2, 2, 2, 3, seed=5))
    results["first"] = windows(c, (2, 2), (1, 1), ((0, 0), (0, 0))).max((3, 4)).transpose(0, 3, 1, 2)
    return net.output(*results), {"x": x}, results


@case()
def reshapes_of_an_image():
    net, x, c = convolved()
    net.const("s1", int32(-1, 20, 2))
    net.const("s2", int32(-1, 10))
    net.node("y", "Reshape", ["c", "s1"])
    net.node("z", "Reshape", ["c", "s2"])
    net.node("f", "Flatten", ["c"])
    return (net.output("y", "z", "f"), {"x": x},
            {"y": c.reshape(2, 20, 2), "z": c.reshape(-1, 10), "f": c.reshape(2, -1)})


@case()
def reshape_by_a_computed_shape():
    """Shape, a slice of it, a stack: known to be the batch and what is left."""
    net, x, c = convolved()
    net.node("shape", "Shape", ["c"])
    for name, value in (("zero", int32(0)), ("one", int32(1)), ("left", np.int32(-1))):
        net.const(name, value)
    net.node("batch", "StridedSlice", ["shape", "zero", "one", "one"], begin_mask=0, end_mask=0,
             shrink_axis_mask=1)
    net.node("new", "Stack", ["batch", "left"], axis=0)
    net.node("y", "Reshape", ["c", "new"])
    return net.output("y"), {"x": x}, {"y": c.reshape(2, -1)}


@case()
def shape_arithmetic():
    net, x, c = convolved()
    net.node("shape", "Shape", ["c"])
    for name, value in (("begin", int32(1)), ("end", int32(4)), ("one", int32(1)),
                        ("left", int32(-1)), ("two", np.int32(2)), ("indices", int32(1, 2))):
        net.const(name, value)
    net.node("image", "StridedSlice", ["shape", "begin", "end", "one"], begin_mask=0, end_mask=0,
             shrink_axis_mask=0)
    net.node("size", "Reduce", ["image"], func="prod", axes=[0], keepdims=False)
    net.node("half", "Binary", ["size", "two"], func="div")
    net.node("expanded", "ExpandDims", ["half"], axis=0)
    net.node("new", "Concat", ["left", "expanded"], axis=0)
    net.node("y", "Reshape", ["c", "new"])
    net.node("sides", "Gather", ["shape", "indices"])
    net.node("area", "Reduce", ["sides"], func="prod", axes=[0], keepdims=True)
    net.node("newer", "Concat", ["left", "area"], axis=0)
    net.node("z", "Reshape", ["c", "newer"])
    return net.output("y", "z"), {"x": x}, {"y": c.reshape(-1, 20), "z": c.reshape(-1, 20)}


@case(options=("--shape", "x=1x2x3x3:2x5x4x3:3x9x9x3"))
def shapes_known_only_at_run_time():
    net, x = image_net((-1, -1, -1, 3)), numbers(2, 5, 4, 3)
    k = numbers(1, 1, 3, 2, seed=2)
    net.const("k", k)
    net.node("c", "Conv", ["x", "k"], inputs_orders=net.orders("N+C", "+CK"))
    net.node("shape", "Shape", ["c"])
    for name, value in (("zero", int32(0)), ("two", int32(2)), ("one", int32(1)),
                        ("left", np.int32(-1))):
        net.const(name, value)
    for which, begin in (("batch", "zero"), ("height", "one")):
        net.const(which + "/end", int32(1 if which == "batch" else 2))
        net.node(which, "StridedSlice", ["shape", begin, which + "/end", "one"],
                 begin_mask=0, end_mask=0, shrink_axis_mask=1)
    net.node("new", "Stack", ["batch", "height", "left"], axis=0)
    net.node("y", "Reshape", ["c", "new"])
    c = conv(x, k)
    return net.output("y"), {"x": x}, {"y": c.reshape(2, 5, 8)}


@case()
def squeeze_and_expand_images():
    net, x, c = convolved((1, 4, 3))
    net.node("s", "Squeeze", ["c"], axes=[1])
    net.node("all", "Squeeze", ["c"])
    net.node("e", "ExpandDims", ["c"], axis=1)
    net.node("last", "ExpandDims", ["c"], axis=-1)
    net.node("t", "Transpose", ["e"], permutation=[4, 1, 0, 3, 2])
    e = c[:, None]
    return (net.output("s", "all", "e", "last", "t"), {"x": x},
            {"s": c[:, 0], "all": c.squeeze(1), "e": e, "last": c[..., None],
             "t": e.transpose(4, 1, 0, 3, 2)})


@case()
def concat_and_stack_images():
    net, x, c = convolved((5, 4, 3), 3)
    results = {}
    for axis in (0, 1, 2, 3, -1):
        name = f"c{axis}" if axis >= 0 else "last"
        net.node(name, "Concat", ["c", "x", "c"], axis=axis)
        results[name] = np.concatenate([c, x, c], axis)
        name = f"s{axis}" if axis >= 0 else "stacked_last"
        net.node(name, "Stack", ["x", "c"], axis=axis)
        results[name] = np.stack([x, c], axis)
    return net.output(*results), {"x": x}, results


@case()
def strided_slices_of_an_image():
    net, x, c = convolved()

    def take(name, begin, end, strides, begin_mask=0, end_mask=0, shrink=0):
        for part, values in (("begin", begin), ("end", end), ("strides", strides)):
            net.const(f"{name}/{part}", np.array(values, np.int32))
        net.node(name, "StridedSlice",
                 ["c", name + "/begin", name + "/end", name + "/strides"], begin_mask=begin_mask,
                 end_mask=end_mask, shrink_axis_mask=shrink)
    take("a", [0, 1, 0, 0], [2, 5, 4, 1], [1, 2, 1, 1])
    take("b", [0, -1, 3, 0], [0, 0, 0, 0], [1, -1, -2, 1], 0b1011, 0b1111)
    take("c1", [0, 2], [0, 0], [1, 1], 1, 1, 0b10)
    take("d", [0, 0, -1, -1], [0, 9, 0, 0], [1, 1, 1, 1], 0b0011, 0b0001, 0b1100)
    take("e", [0, 0, 0, 1], [0, 0, 0, 2], [1, 1, 1, 1], 0b0111, 0b0111)
    return (net.output("a", "b", "c1", "d", "e"), {"x": x},
            {"a": c[0:2, 1:5:2, :, 0:1], "b": c[:, ::-1, 3::-2, :], "c1": c[:, 2],
             "d": c[:, :, -1, -1], "e": c[..., 1:2]})


@case(options=("--shape", "x=2x5x4x3"))
def constants_of_the_unnamed_type():
    net, x, c = convolved()
    factors = np.array([0.1, -2.5])
    net.const("factors", factors)  # float64
    net.const("new", np.array([2, 1, c[0].size], np.uint8))
    net.const("zero", np.zeros(1, np.uint64))
    net.const("one", np.array([1], np.uint16))
    net.const("two", np.array([2], np.uint64))
    net.node("scaled", "Binary", ["c", "factors"], func="mul")
    net.node("rows", "Reshape", ["c", "new"])
    net.node("first", "StridedSlice", ["c", "one", "two", "one"], begin_mask=0, end_mask=0, shrink_axis_mask=1)
    return (net.output("scaled", "rows", "first"), {"x": x},
            {"scaled": c * factors.astype(np.float32), "rows": c.reshape(2, 1, -1), "first": c[1]})


@case(options=("--shape", "x=1x2x3x3:2x6x4x3:3x9x9x3"))
def strided_slices_with_bounds_of_run_time():
    net, x = image_net((-1, -1, -1, 3)), numbers(2, 6, 4, 3)
    net.node("shape", "Shape", ["x"])
    for name, value in (("zero", int32(0)), ("one", int32(1)), ("two", int32(2)), ("three", int32(3)),
                        ("minus", np.int32(-1)), ("half", np.int32(2)), ("begin", int32(0, 0, 0, 0)),
                        ("steps", int32(1, 1, 1, 1)), ("ones", np.int32(1)), ("no", np.int32(0))):
        net.const(name, value)
    for name, begin, end in (("height", "one", "two"), ("width", "two", "three")):
        net.node(name, "StridedSlice", ["shape", begin, end, "one"], begin_mask=0, end_mask=0, shrink_axis_mask=1)
    net.node("middle", "Binary", ["height", "half"], func="div")
    net.node("before", "Binary", ["width", "ones"], func="sub")
    net.node("end", "Stack", ["no", "middle", "before", "ones"], axis=0)
    net.node("top", "StridedSlice", ["x", "begin", "end", "steps"], begin_mask=0, end_mask=0b1001,
             shrink_axis_mask=0)
    net.node("start", "Stack", ["no", "middle", "minus", "no"], axis=0)
    net.node("row", "StridedSlice", ["x", "start", "end", "steps"], begin_mask=0b1001, end_mask=0b1001,
             shrink_axis_mask=0b0110)
    net.node("back", "Binary", ["no", "ones"], func="sub")
    net.node("last", "Binary", ["middle", "middle"], func="sub")
    net.node("end_of_all", "Binary", ["last", "ones"], func="sub")
    net.node("ends", "Stack", ["no", "end_of_all"], axis=0)
    net.const("two_steps", int32(1, 1))
    net.node("bottom", "StridedSlice", ["x", "ends", "ends", "two_steps"], begin_mask=0b01, end_mask=0b01,
             shrink_axis_mask=0b10)
    return (net.output("top", "row", "bottom"), {"x": x},
            {"top": x[:, :3, :3], "row": x[:, 3, -1], "bottom": x[:, -1]})


@case(options=("--shape", "x=2x5x4x3"))
def strided_slice_from_where_the_data_says():
    net, x = image_net((-1, 5, 4, 3)), numbers(2, 5, 4, 3)
    net.const("steps", int32(1))
    net.node("flat", "Reduce", ["x"], func="max", axes=[1, 2, 3], keepdims=False)
    net.node("best", "ArgMax", ["flat"], axis=0)
    net.node("first", "ExpandDims", ["best"], axis=0)
    net.node("y", "StridedSlice", ["x", "first", "first", "steps"], begin_mask=0, end_mask=0, shrink_axis_mask=1)
    return net.output("y"), {"x": x}, {"y": x[np.argmax(x.max((1, 2, 3)))]}


@case()
def pad_an_image():
    net, x, c = convolved()
    net.const("p", int32([0, 0], [1, 2], [3, 0], [0, 1]))
    net.node("y", "Pad", ["c", "p"])
    return net.output("y"), {"x": x}, {"y": np.pad(c, ((0, 0), (1, 2), (3, 0), (0, 1)))}


@case()
def reductions_of_an_image():
    net, x, c = convolved()
    functions = {"sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min, "mean": np.mean}
    results = {}
    for name, function in functions.items():
        for kept in (True, False):
            for axes in ([1, 2], [3], [-1, 0]):
                node = f"{name}{kept}{axes[0]}"
                net.node(node, "Reduce", ["c"], func=name, axes=axes, keepdims=kept)
                results[node] = function(c, axis=tuple(axes), keepdims=kept)
    return net.output(*results), {"x": x}, results


@case()
def largest_and_smallest_indices():
    net, x, c = convolved((5, 4, 3), 6)
    results = {}
    for axis in (1, 3, -1):
        for operation, function in (("ArgMax", np.argmax), ("ArgMin", np.argmin)):
            name = f"{operation}{axis}" if axis >= 0 else operation
            net.node(name, operation, ["c"], axis=axis)
            results[name] = function(c, axis)
    return net.output(*results), {"x": x}, results


@case()
def gathers():
    net, x, c = convolved()
    table = numbers(9, 4, seed=4)
    net.const("table", table)
    net.const("indices", int32([1, 0], [8, 3]))
    net.const("sides", int32(3, 1))
    net.node("rows", "Gather", ["table", "indices"], validate_indices=True)
    net.node("y", "GatherV2", ["c", "sides"], axis=2)
    net.node("z", "Binary", ["rows", "rows"], func="add")
    rows = table[[[1, 0], [8, 3]]]
    return net.output("y", "z"), {"x": x}, {"y": c[:, :, [3, 1]], "z": rows + rows}


# --- the graph ---

@case()
def identities_and_dead_nodes():
    net, x = image_net((-1, 4)), numbers(3, 4)
    net.node("same", "Identity", ["x"])
    net.node("y", "Activation", ["same"], func="relu")
    net.node("again", "Identity", ["y"])
    net.node("dead", "_NobodyHasThis", ["y"], anything=1)
    return net.output("again", "same"), {"x": x}, {"again": np.maximum(x, 0), "same": x}


@case(options=("--output", "inner=inner.npy"))
def an_inner_node_as_output():
    net, x = image_net((-1, 4)), numbers(3, 4)
    net.node("inner", "Activation", ["x"], func="relu")
    net.node("y", "_NobodyHasThis", ["inner"])
    return net.output("y"), {"x": x}, {"inner": np.maximum(x, 0)}


# --- layers of libraries ---

@case(plugin=True)
def custom_pool_on_an_image():
    net, x, c = convolved()
    net.node("p", "_MaxPool", ["c"], T=uff.element_type(uff.FLOAT32), data_format="b'NHWC'",
             ksize=[1, 2, 2, 1], strides=[1, 2, 1, 1], padding='b"VALID"')
    net.node("f", "Flatten", ["p"])
    net.node("y", "FullyConnected", ["f", net.const("w", numbers(12, 3, seed=7))],
             inputs_orders=net.orders("NC", "CK"))
    p = windows(c, (2, 2), (2, 1), ((0, 0), (0, 0))).max((3, 4))
    return net.output("p", "y"), {"x": x}, {"p": p, "y": p.reshape(2, -1) @ numbers(12, 3, seed=7)}


@case(plugin=True)
def custom_layer_with_two_outputs_and_suffixes():
    net, x, c = convolved()
    net.node("parts", "_TwoParts", ["c"], scale_u_float=2.5, flip_u_int=1,
             offsets_u_flist=[0.5, 0.25], mode_u_str="plain", _output_shapes=[1, 2],
             dtype=uff.element_type(uff.FLOAT32), data_format="NHWC")
    net.node("y", "Binary", ["parts", "parts_1"], func="sub")
    net.node("z", "Reduce", ["parts_1"], func="max", axes=[3], keepdims=False)
    return (net.output("y", "z", "parts_1"), {"x": x},
            {"y": -2.5 * c - (c + 0.75), "z": (c + 0.75).max(3), "parts_1": c + 0.75})


@case(plugin=True)
def custom_layer_without_underscore():
    net, x = image_net((-1, 4)), numbers(3, 4)
    net.node("y", "TwoParts", ["x"], scale=3, offsets=uff.integers([1, 2]))
    net.node("z", "Activation", ["y_1"], func="relu")
    return net.output("y", "z"), {"x": x}, {"y": 3 * x, "z": np.maximum(x + 3, 0)}
