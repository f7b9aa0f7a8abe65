# SPDX-License-Identifier: Apache-2.0
"""Networks of single nodes and of bodies with random values, each a model and its inputs: node_cases.py names them."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET, IR_VERSION = 20, 10
MICROSOFT = "com.microsoft"


def rng():
    return np.random.default_rng(1)


def floats(*shape):
    return rng().standard_normal(shape, np.float32)


def integers(limit, *shape, kind=np.int64):
    return rng().integers(0, limit, shape).astype(kind)


def masks(*shape):
    return rng().random(shape) > 0.5


def port(name, value):
    value = np.asarray(value)
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)


def constants_of(constants):
    return [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()]


def model_of(nodes, feed, outputs, constants, opset=OPSET):
    """Outputs: names, whose types the reader infers, or value infos."""
    graph = helper.make_graph(nodes, "nodes", [port(*item) for item in feed.items()],
                              [helper.make_empty_tensor_value_info(item) if isinstance(item, str) else item for item in outputs],
                              constants_of(constants))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid(MICROSOFT, 1)], ir_version=IR_VERSION)


def typed(name, kind, *shape):
    return helper.make_tensor_value_info(name, kind, shape)


def node(operator, inputs, constants=None, outputs=("y",), domain="", opset=OPSET, **fields):
    """One node: its inputs in order, those of `constants` are known. An input of no value is left out."""
    constants, names, feed = constants or {}, [], {}
    for name, value in inputs.items():
        names.append("" if value is None else name)
        if value is not None and name not in constants:
            feed[name] = value
    known = {name: inputs[name] for name in constants}
    outputs = list(outputs)
    written = [item if isinstance(item, str) else item.name for item in outputs]
    made = helper.make_node(operator, names, written, name=operator, domain=domain, **fields)
    return model_of([made], feed, [item for item in outputs if not isinstance(item, str) or item], known, opset), feed


# ----------------------------------------------------------------------------------------------------------------------------------
# bodies


def graph_of(nodes, inputs, outputs, constants=None):
    return helper.make_graph(nodes, "body", inputs, outputs, constants_of(constants or {}))


BOOL, INT64, FLOAT = TensorProto.BOOL, TensorProto.INT64, TensorProto.FLOAT


def small_loop(steps, width, wanted=True):
    """As tf2onnx writes a while loop over time: a state, a slice of the input at each iteration, a scan output."""
    body = graph_of([helper.make_node("Identity", ["go"], ["go_on"]),
                     helper.make_node("Gather", ["x", "i"], ["now"], axis=0),
                     helper.make_node("Mul", ["state", "decay"], ["kept"]),
                     helper.make_node("Add", ["kept", "now"], ["sum"]),
                     helper.make_node("Tanh", ["sum"], ["state_out"]),
                     helper.make_node("Identity", ["state_out"], ["row"])],
                    [typed("i", INT64), typed("go", BOOL), typed("state", FLOAT, 1, width)],
                    [typed("go_on", BOOL), typed("state_out", FLOAT, 1, width)] + ([typed("row", FLOAT, 1, width)] if wanted else []),
                    {"decay": np.float32(0.9)})
    if not wanted:
        del body.node[-1]
    made = helper.make_node("Loop", ["count", "true", "first"], ["last"] + (["rows"] if wanted else []), body=body)
    feed = {"x": floats(steps, 1, width), "first": floats(1, width)}
    return model_of([made], feed, [typed("last", FLOAT, 1, width)] + ([typed("rows", FLOAT, steps, 1, width)] if wanted else []),
                    {"count": np.int64(steps), "true": np.array(True)}), feed


def cell_loop(steps=100, depth=64, hidden=128):
    """An LSTM cell of single nodes in a Loop, as tf2onnx has it where it finds no LSTM."""
    constants = {"weights": floats(depth + hidden, 4 * hidden) / np.float32(16), "bias": floats(4 * hidden), "one": np.int64(1)}
    nodes = [("Less", ["i", "last_step"], ["go_on"], {}), ("Gather", ["x", "i"], ["now"], {"axis": 0}),
             ("Concat", ["now", "h"], ["both"], {"axis": 1}), ("MatMul", ["both", "weights"], ["product"], {}),
             ("Add", ["product", "bias"], ["gates"], {}),
             ("Split", ["gates"], ["gi", "gc", "gf", "go_"], {"axis": 1, "num_outputs": 4}),
             ("Sigmoid", ["gi"], ["si"], {}), ("Tanh", ["gc"], ["tc"], {}), ("Sigmoid", ["gf"], ["sf"], {}), ("Sigmoid", ["go_"], ["so"], {}),
             ("Mul", ["sf", "c"], ["kept"], {}), ("Mul", ["si", "tc"], ["new"], {}), ("Add", ["kept", "new"], ["c_out"], {}),
             ("Tanh", ["c_out"], ["tanh_c"], {}), ("Mul", ["so", "tanh_c"], ["h_out"], {}), ("Identity", ["h_out"], ["row"], {})]
    body = graph_of([helper.make_node(o, i, m, **f) for o, i, m, f in nodes],
                    [typed("i", INT64), typed("go", BOOL), typed("h", FLOAT, 1, hidden), typed("c", FLOAT, 1, hidden)],
                    [typed("go_on", BOOL), typed("h_out", FLOAT, 1, hidden), typed("c_out", FLOAT, 1, hidden), typed("row", FLOAT, 1, hidden)])
    made = helper.make_node("Loop", ["", "true", "h0", "c0"], ["h_last", "c_last", "rows"], body=body)
    feed = {"x": floats(steps, 1, depth), "h0": floats(1, hidden), "c0": floats(1, hidden)}
    return model_of([made], feed, [typed("h_last", FLOAT, 1, hidden), typed("rows", FLOAT, "steps", 1, hidden)],
                    constants | {"true": np.array(True), "last_step": np.int64(steps - 1)}), feed


def counting_loop(limit=1000):
    """A scripted `while`: scalars alone."""
    nodes = [("Add", ["n", "one"], ["n_out"], {}), ("Mul", ["total", "factor"], ["scaled"], {}),
             ("Add", ["scaled", "shift"], ["total_out"], {}), ("Less", ["n_out", "limit"], ["go_on"], {})]
    body = graph_of([helper.make_node(o, i, m, **f) for o, i, m, f in nodes],
                    [typed("i", INT64), typed("go", BOOL), typed("n", INT64), typed("total", FLOAT)],
                    [typed("go_on", BOOL), typed("n_out", INT64), typed("total_out", FLOAT)],
                    {"one": np.int64(1), "factor": np.float32(0.5), "shift": np.float32(1)})
    made = helper.make_node("Loop", ["", "true", "n0", "total0"], ["n_last", "total_last"], body=body)
    feed = {"n0": np.int64(0), "total0": np.float32(0), "limit": np.int64(limit)}
    return model_of([made], feed, [typed("total_last", FLOAT)], {"true": np.array(True)}), feed


def scan(steps, width):
    body = graph_of([helper.make_node("Add", ["state", "now"], ["sum"]), helper.make_node("Tanh", ["sum"], ["state_out"]),
                     helper.make_node("Relu", ["sum"], ["row"])],
                    [typed("state", FLOAT, 1, width), typed("now", FLOAT, 1, width)],
                    [typed("state_out", FLOAT, 1, width), typed("row", FLOAT, 1, width)])
    made = helper.make_node("Scan", ["first", "x"], ["last", "rows"], body=body, num_scan_inputs=1)
    feed = {"first": floats(1, width), "x": floats(steps, 1, width)}
    return model_of([made], feed, [typed("last", FLOAT, 1, width), typed("rows", FLOAT, steps, 1, width)], {}), feed


def branches(count=50, width=64):
    """If after If, whose condition is an input."""
    nodes, last = [], "x"
    for i in range(count):
        sides = [graph_of([helper.make_node(operator, [last], [f"{side}{i}"])], [], [typed(f"{side}{i}", FLOAT, 1, width)])
                 for side, operator in (("a", "Tanh"), ("b", "Relu"))]
        nodes.append(helper.make_node("If", ["condition"], [f"t{i}"], then_branch=sides[0], else_branch=sides[1]))
        last = f"t{i}"
    feed = {"x": floats(1, width), "condition": np.array(True)}
    return model_of(nodes, feed, [typed(last, FLOAT, 1, width)], {}), feed


# ----------------------------------------------------------------------------------------------------------------------------------
# quantised


def bytes_of(*shape, kind=np.uint8):
    return rng().integers(0, 256, shape).astype(np.uint8).view(kind)


def weights_of(*shape, bits=7):
    """Weights of 7 bits, as quantisation with `reduce_range` writes them, or of 8. Of 8 bits onnxruntime's products saturate on
    processors with AVX2 alone, and its results differ."""
    return rng().integers(-(1 << (bits - 1)), 1 << (bits - 1), shape).astype(np.int8)


def qlinear_conv(channels, size, filters, window, groups=1, stride=1, per_channel=False, bits=7):
    pad = window // 2
    inputs = {"x": bytes_of(1, channels, size, size), "xs": np.float32(0.02), "xz": np.uint8(120),
              "w": weights_of(filters, channels // groups, window, window, bits=bits),
              "ws": np.full(filters, 0.01, np.float32) if per_channel else np.float32(0.01),
              "wz": np.zeros(filters, np.int8) if per_channel else np.int8(0), "ys": np.float32(0.5), "yz": np.uint8(128),
              "b": integers(1000, filters, kind=np.int32)}
    return node("QLinearConv", inputs, list(inputs)[1:], pads=[pad] * 4, group=groups, strides=[stride] * 2)


def conv_integer(channels, size, filters, window):
    pad = window // 2
    inputs = {"x": bytes_of(1, channels, size, size), "w": bytes_of(filters, channels, window, window), "xz": np.uint8(120),
              "wz": np.uint8(128)}
    return node("ConvInteger", inputs, ["w", "xz", "wz"], pads=[pad] * 4)


def mat_mul_integer(rows, depth, columns, known=True, bits=7):
    inputs = {"a": bytes_of(rows, depth), "b": weights_of(depth, columns, bits=bits), "az": np.uint8(120), "bz": np.int8(0)}
    return node("MatMulInteger", inputs, ["b", "az", "bz"] if known else ["az", "bz"])


def qlinear_mat_mul(rows, depth, columns):
    inputs = {"a": bytes_of(rows, depth), "as": np.float32(0.02), "az": np.uint8(120), "b": weights_of(depth, columns),
              "bs": np.float32(0.01), "bz": np.int8(0), "ys": np.float32(0.5), "yz": np.uint8(128)}
    return node("QLinearMatMul", inputs, list(inputs)[1:])


def dynamic_linear(rows, depth, columns):
    """A linear layer as onnxruntime's dynamic quantisation writes it."""
    nodes = [helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
             helper.make_node("MatMulInteger", ["q", "w", "z", "wz"], ["sum"]), helper.make_node("Cast", ["sum"], ["f"], to=FLOAT),
             helper.make_node("Mul", ["s", "ws"], ["scale"]), helper.make_node("Mul", ["f", "scale"], ["scaled"]),
             helper.make_node("Add", ["scaled", "bias"], ["y"])]
    feed = {"x": floats(rows, depth)}
    return model_of(nodes, feed, ["y"], {"w": weights_of(depth, columns), "wz": np.int8(0), "ws": np.float32(0.01),
                                         "bias": floats(columns)}), feed


def qdq_convs(channels=64, size=56):
    """Two convolutions between QuantizeLinear and DequantizeLinear, as static quantisation writes them."""
    constants = {"s": np.float32(0.05), "z": np.uint8(128), "ws": np.float32(0.01), "wz": np.int8(0),
                 "w": weights_of(channels, channels, 3, 3), "bs": np.float32(0.0005), "bz": np.int32(0),
                 "b": integers(1000, channels, kind=np.int32)}
    nodes, last = [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q0"])], "q0"
    for i in range(2):
        nodes += [helper.make_node("DequantizeLinear", [last, "s", "z"], [f"d{i}"]),
                  helper.make_node("DequantizeLinear", ["w", "ws", "wz"], [f"w{i}"]),
                  helper.make_node("DequantizeLinear", ["b", "bs", "bz"], [f"b{i}"]),
                  helper.make_node("Conv", [f"d{i}", f"w{i}", f"b{i}"], [f"c{i}"], pads=[1] * 4),
                  helper.make_node("Relu", [f"c{i}"], [f"r{i}"]), helper.make_node("QuantizeLinear", [f"r{i}", "s", "z"], [f"q{i + 1}"])]
        last = f"q{i + 1}"
    nodes.append(helper.make_node("DequantizeLinear", [last, "s", "z"], ["y"]))
    feed = {"x": floats(1, channels, size, size)}
    return model_of(nodes, feed, ["y"], constants), feed


def mat_mul_bits(rows, depth, columns, bits=4, block=32):
    blocks = depth // block
    inputs = {"a": floats(rows, depth), "b": bytes_of(columns, blocks, block * bits // 8), "scales": floats(columns * blocks) / np.float32(64)}
    return node("MatMulNBits", inputs, ["b", "scales"], [typed("y", FLOAT, rows, columns)], MICROSOFT, K=depth, N=columns, bits=bits,
                block_size=block)


# ----------------------------------------------------------------------------------------------------------------------------------
# attention


def attention(length, hidden=768, heads=12):
    inputs = {"x": floats(1, length, hidden), "w": floats(hidden, 3 * hidden) / np.float32(32), "b": floats(3 * hidden)}
    return node("Attention", inputs, ["w", "b"], [typed("y", FLOAT, 1, length, hidden)], MICROSOFT, num_heads=heads)


def multi_head(length, hidden=768, heads=12):
    inputs = {name: floats(1, length, hidden) for name in "qkv"}
    return node("MultiHeadAttention", inputs, [], [typed("y", FLOAT, 1, length, hidden)], MICROSOFT, num_heads=heads)


def grouped_query(length, past, heads=16, key_heads=4, size=64):
    inputs = {"q": floats(1, length, heads * size), "k": floats(1, length, key_heads * size), "v": floats(1, length, key_heads * size),
              "pk": floats(1, key_heads, past, size), "pv": floats(1, key_heads, past, size),
              "n": np.array([past + length - 1], np.int32), "total": np.int32(past + length)}
    return node("GroupQueryAttention", inputs, [],
                [typed("y", FLOAT, 1, length, heads * size)] + [typed(n, FLOAT, 1, key_heads, past + length, size) for n in ("nk", "nv")],
                MICROSOFT, num_heads=heads, kv_num_heads=key_heads)


def rotary(length, heads=16, size=64):
    inputs = {"x": floats(1, heads, length, size), "p": np.arange(length, dtype=np.int64)[None], "cos": floats(2048, size // 2),
              "sin": floats(2048, size // 2)}
    return node("RotaryEmbedding", inputs, ["cos", "sin"], [typed("y", FLOAT, 1, heads, length, size)], MICROSOFT)


def skip_normalization(rows, hidden=768, kind="SkipLayerNormalization"):
    inputs = {"x": floats(1, rows, hidden), "skip": floats(1, rows, hidden), "gamma": floats(hidden), "beta": floats(hidden), "bias": floats(hidden)}
    if "Simplified" in kind:
        del inputs["beta"]
    return node(kind, inputs, list(inputs)[2:], [typed("y", FLOAT, 1, rows, hidden)], MICROSOFT)


# ----------------------------------------------------------------------------------------------------------------------------------
# selections


def conv_transpose(channels, extent, filters, window, stride=2, **fields):
    weights = floats(channels, filters, window, window) / np.float32(8)
    return node("ConvTranspose", {"x": floats(1, channels, extent, extent), "w": weights}, ["w"], strides=[stride] * 2, **fields)


def pad(channels, extent, width, mode):
    """Planes padded on all sides."""
    return node("Pad", {"x": floats(1, channels, extent, extent), "p": np.array([0, 0, width, width] * 2, np.int64)}, ["p"], mode=mode)


def scatter_nd(rows=1000, width=64, count=500):
    chosen = rng().permutation(rows)[:count].reshape(count, 1)
    return node("ScatterND", {"x": floats(rows, width), "i": chosen.astype(np.int64), "u": floats(count, width)})


def equal_text(kind):
    return node("Equal", {"a": integers(4, 64, 1024, kind=kind), "b": integers(3, 64, 1024, kind=kind)})


def cast(of, to):
    values = floats(64, 1024) if of == np.float32 else floats(64, 1024).astype(of) if of in (np.float16, np.float64) else integers(2, 64, 1024, kind=of)
    return node("Cast", {"x": values}, to=helper.np_dtype_to_tensor_dtype(np.dtype(to)))


def pair(operator, kind=np.float32, other=None, shape=(64, 1024), **fields):
    a = floats(*shape).astype(kind) if np.issubdtype(kind, np.floating) else integers(1000, *shape, kind=kind) + kind(1)
    b = (floats(*(other or shape)) + np.float32(3)).astype(kind) if np.issubdtype(kind, np.floating) else \
        integers(9, *(other or shape), kind=kind) + kind(1)
    return node(operator, {"a": a, "b": b}, **fields)


def single(operator, kind=np.float32, shape=(64, 1024), **fields):
    return node(operator, {"x": floats(*shape).astype(kind)}, **fields)


def reduced(operator, kind=np.float32, shape=(64, 1024), axes=(1,), **fields):
    x = floats(*shape).astype(kind) if np.issubdtype(kind, np.floating) else integers(100, *shape, kind=kind)
    return node(operator, {"x": x, "axes": np.array(axes, np.int64)}, ["axes"], keepdims=0, **fields)
