# SPDX-License-Identifier: Apache-2.0
"""Networks as exporters write them, which rewrites turn into single operators: each is recognised, counted, and gives the
numbers that the onnx package's reference gives; what is nearly one of them is left alone.

Usage: check_rewrites.py TENON FUSIONS STUB, where TENON is the program, FUSIONS the library of tests/rewrites and STUB that of
the stub device. Needs NumPy and onnx.
"""

import json
import math
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, inliner, numpy_helper
from onnx.reference import ReferenceEvaluator

from checks import ProgramChecks


ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


class Net:
    """A network under construction: node() answers the name of its result."""

    def __init__(self, opset=17):
        self.nodes, self.inputs, self.constants, self.opset, self.count = [], [], [], opset, 0

    def name(self):
        self.count += 1
        return f"t{self.count}"

    def input(self, name, *shape):
        self.inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape)))
        return name

    def const(self, value, dtype=np.float32):
        name = self.name()
        self.constants.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def ints(self, *values):
        return self.const(values, np.int64)

    def node(self, op, *inputs, outputs=1, **fields):
        made = [self.name() for _ in range(outputs)]
        inputs = [self.const(i) if isinstance(i, float) else i for i in inputs]
        self.nodes.append(helper.make_node(op, inputs, made, **fields))
        return made[0] if outputs == 1 else made

    def model(self, *outputs):
        graph = helper.make_graph(self.nodes, "net", self.inputs,
                                  [helper.make_tensor_value_info(o, TensorProto.FLOAT, None) for o in outputs], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=10)


def random(seed, *shape):
    return np.random.RandomState(seed).randn(*shape).astype(np.float32)


# --- the networks: name, model, {rewrite: how often}, without the library of fusions

def mean(net, x, axes):
    if net.opset >= 18:
        return net.node("ReduceMean", x, net.ints(*axes))
    return net.node("ReduceMean", x, axes=axes)


def layer_norm(net, x, channels, axes=(-1,), twice=False, square="Pow", epsilon=1e-5, exported="whole"):
    axes = list(axes)
    m = mean(net, x, axes)
    d = net.node("Sub", x, m)
    again = net.node("Sub", x, m) if twice else d
    q = net.node("Pow", again, 2.0) if square == "Pow" else net.node("Mul", again, again)
    e = net.const(epsilon)
    s = net.node("Sqrt", net.node("Add", mean(net, q, axes), e))
    shape = channels if isinstance(channels, tuple) else (channels,)
    scale, bias = net.const(random(1, *shape)), net.const(random(2, *shape))
    if exported == "tensorflow":
        k = net.node("Mul", net.node("Reciprocal", s), scale)
        return net.node("Add", net.node("Mul", x, k), net.node("Sub", bias, net.node("Mul", m, k)))
    n = net.node("Div", d, s)
    return n if exported == "plain" else net.node("Add", net.node("Mul", n, scale), bias)


def one(build, *shape, opset=17):
    net = Net(opset)
    return net.model(build(net, net.input("x", *shape)))


def gelu_erf(order):
    def build(net, x):
        root = net.node("Div", x, math.sqrt(2)) if order < 3 else net.node("Mul", x, math.sqrt(0.5))
        n = net.node("Add", net.node("Erf", root), 1.0)
        if order % 3 == 0:
            return net.node("Mul", net.node("Mul", x, n), 0.5)
        if order % 3 == 1:
            return net.node("Mul", x, net.node("Mul", 0.5, n))
        return net.node("Mul", net.node("Mul", 0.5, x), n)
    return build


def gelu_tanh(net, x, cube="Pow", factor=0.044715):
    c = net.node("Pow", x, 3.0) if cube == "Pow" else net.node("Mul", x, net.node("Mul", x, x))
    s = net.node("Mul", net.node("Add", x, net.node("Mul", c, factor)), math.sqrt(2 / math.pi))
    return net.node("Mul", net.node("Mul", x, 0.5), net.node("Add", net.node("Tanh", s), 1.0))


def gelu_fast(net, x):
    inner = net.node("Add", 1.0, net.node("Mul", net.node("Mul", x, 0.044715), x))
    t = net.node("Tanh", net.node("Mul", net.node("Mul", x, 0.7978845608), inner))
    return net.node("Mul", net.node("Mul", 0.5, x), net.node("Add", 1.0, t))


def hard_swish(net, x):
    c = net.node("Clip", net.node("Add", x, 3.0), net.const(0), net.const(6))
    return net.node("Div", net.node("Mul", x, c), 6.0)


def pixel_unshuffle(perm, blocks):
    def build(net, x):
        r = net.node("Reshape", x, net.ints(*blocks))
        return net.node("Reshape", net.node("Transpose", r, perm=perm), net.ints(0, -1, blocks[2], blocks[4]))
    return build


def attention(exported, masked=True, opset=17):
    net = Net(opset)
    q, k, v = net.input("q", 2, 3, 4, 8), net.input("k", 2, 3, 5, 8), net.input("v", 2, 3, 5, 6)
    kt = net.node("Transpose", k, perm=[0, 1, 3, 2])
    if exported == "torchscript":    # scaled_dot_product_attention of PyTorch's exporter
        root = float(8 ** -0.25)
        s = net.node("MatMul", net.node("Mul", q, root), net.node("Mul", kt, root))
    elif exported == "dynamo":       # the same by the newer exporter, which transposes a batch of matrices
        flat = net.node("Transpose", net.node("Reshape", k, net.ints(-1, 5, 8)), perm=[0, 2, 1])
        kt = net.node("Reshape", flat, net.ints(2, 3, 8, 5))
        root = float(8 ** -0.25)
        s = net.node("MatMul", net.node("Mul", q, root), net.node("Mul", kt, root))
    elif exported == "bert":         # Transformers
        s = net.node("Div", net.node("MatMul", q, kt), math.sqrt(8))
    else:                            # Transformers' ViT: a factor
        s = net.node("Mul", net.node("MatMul", q, kt), 8 ** -0.5)
    if masked:
        s = net.node("Add", s, net.input("mask", 2, 1, 1, 5))
    return net.model(net.node("MatMul", net.node("Softmax", s, axis=-1), v))


def rotary(net, x, exported="slice", first=0, middle=4):
    cos, sin = net.const(random(3, 4, 8)), net.const(random(4, 4, 8))
    if exported == "split":
        low, high = net.node("Split", x, net.ints(4, 4), outputs=2, axis=-1)
    else:
        low = net.node("Slice", x, net.ints(first), net.ints(middle), net.ints(3), net.ints(1))
        high = net.node("Slice", x, net.ints(middle), net.ints(2 ** 63 - 1), net.ints(3), net.ints(1))
    r = net.node("Concat", net.node("Neg", high), low, axis=-1)
    return net.node("Add", net.node("Mul", x, cos), net.node("Mul", r, sin))


def quantized(weights="initializer", zero=True, shared=False):
    """A MatMul of 8 bits: DequantizeLinear before both inputs, QuantizeLinear behind it. PyTorch's exporter writes scales as
    Constant nodes, others as initializers."""
    net = Net(21)
    x = net.input("x", 3, 8)

    def const(value, dtype=np.float32):
        value = numpy_helper.from_array(np.asarray(value, dtype), net.name())
        if weights == "initializer":
            net.constants.append(value)
        else:
            net.nodes.append(helper.make_node("Constant", [], [value.name], value=value))
        return value.name

    def points(scale, offset, dtype):
        return [const(scale)] + ([const(offset, dtype)] if zero else [])

    a, b, y = points(0.02, 128, np.uint8), points(0.01, 0, np.int8), points(0.05, 100, np.uint8)
    table = const(np.random.RandomState(5).randint(-127, 128, (8, 5)), np.int8)
    q = net.node("DequantizeLinear", net.node("QuantizeLinear", x, *a), *a)
    w = net.node("DequantizeLinear", table, *b)
    m = net.node("QuantizeLinear", net.node("MatMul", q, w), *y)
    y = net.node("DequantizeLinear", m, *y)
    return net.model(y, net.node("Add", x, net.node("Transpose", net.node("MatMul", w, net.input("r", 5, 3)), perm=[1, 0]))) \
        if shared else net.model(y)


def rms_norm(net, x, axes=(-1,)):
    s = net.node("Sqrt", net.node("Add", mean(net, net.node("Pow", x, 2.0), list(axes)), 1e-6))
    return net.node("Mul", net.const(random(5, 8)), net.node("Mul", x, net.node("Div", 1.0, s)))


def expansion(op, opset, *shapes, **fields):
    """An operator of ONNX's by its function's body."""
    inputs = [helper.make_tensor_value_info(f"i{n}", TensorProto.FLOAT, shape) for n, shape in enumerate(shapes)]
    graph = helper.make_graph([helper.make_node(op, [i.name for i in inputs], ["y"], **fields)], "net", inputs,
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    model = onnx.shape_inference.infer_shapes(model)
    return inliner.inline_selected_functions(model, [("", op)], exclude=False, inline_schema_functions=True)


def read_elsewhere(net, x):
    """The inner value of a SiLU is an output, too."""
    inner = net.node("Sigmoid", x)
    return net.node("Mul", x, inner), inner


NORM, TF, PLAIN = "layer-normalization", "layer-normalization.tensorflow", "layer-normalization.plain"


def networks():
    for opset in (13, 17, 18):
        yield f"PyTorch's layer norm, opset {opset}", one(lambda n, x: layer_norm(n, x, 8), 2, 3, 8, opset=opset), {NORM: 1}
    yield "older PyTorch's layer norm", one(lambda n, x: layer_norm(n, x, 8, twice=True), 2, 3, 8), {NORM: 1}
    yield "layer norm by a product", one(lambda n, x: layer_norm(n, x, 8, square="Mul"), 2, 3, 8), {NORM: 1}
    yield "layer norm of two axes", one(lambda n, x: layer_norm(n, x, (3, 8), (1, 2)), 2, 3, 8), {NORM: 1}
    yield "TensorFlow's layer norm", one(lambda n, x: layer_norm(n, x, 8, square="Mul", exported="tensorflow"), 2, 3, 8), {TF: 1}
    yield "layer norm without factors", one(lambda n, x: layer_norm(n, x, 8, exported="plain"), 2, 3, 8), {PLAIN: 1}
    yield "layer norm of a free batch", one(lambda n, x: layer_norm(n, x, 8), "batch", 3, 8), {NORM: 1}
    for order in range(6):
        yield f"GELU {order}", one(gelu_erf(order), 2, 7), {"gelu.erf": 1}
    for count in (2, 1):
        yield f"ONNX's layer norm, {'scale alone' if count == 1 else 'with bias'}", expansion(
            "LayerNormalization", 17, [2, 3, 8], *[[8]] * count, axis=-1), {PLAIN: 1}
    yield "ONNX's layer norm of two axes", expansion("LayerNormalization", 17, [2, 3, 8], [3, 8], [3, 8], axis=1), {PLAIN: 1}
    yield "Mish of PyTorch", one(lambda n, x: n.node("Mul", x, n.node("Tanh", n.node("Softplus", x))), 2, 7), {"mish": 1}
    yield "ONNX's Mish", expansion("Mish", 18, [2, 7]), {"mish": 1}
    yield "Mish by a logarithm", one(lambda n, x: n.node("Mul", n.node("Tanh", n.node("Log", n.node(
        "Add", n.node("Exp", x), 1.0))), x), 2, 7), {"mish": 1}
    yield "GELU by tanh", one(gelu_tanh, 2, 7), {"gelu.tanh": 1}
    yield "GELU by tanh and products", one(lambda n, x: gelu_tanh(n, x, "Mul"), 2, 7), {"gelu.tanh": 1}
    yield "Transformers' fast GELU", one(gelu_fast, 2, 7), {"gelu.fast": 1}
    yield "ONNX's GELU", expansion("Gelu", 20, [2, 7]), {"gelu.erf": 1}
    yield "ONNX's GELU by tanh", expansion("Gelu", 20, [2, 7], approximate="tanh"), {"gelu.tanh": 1}
    yield "ONNX's HardSwish", expansion("HardSwish", 14, [2, 7]), {"hard-swish.hard-sigmoid": 1}
    yield "HardSwish", one(hard_swish, 2, 7), {"hard-swish": 1}
    yield "SiLU twice", one(lambda n, x: silu(n, silu(n, x)), 2, 7), {"silu": 2}
    yield "Swish of 1.702", one(lambda n, x: n.node("Mul", x, n.node("Sigmoid", n.node("Mul", x, 1.702))), 2, 7), {"swish": 1}
    yield "TensorFlow's space to depth", one(pixel_unshuffle([0, 3, 5, 1, 2, 4], [2, 3, 2, 2, 3, 2]), 2, 3, 4, 6), {
        "space-to-depth": 1}
    yield "pixel_unshuffle", one(pixel_unshuffle([0, 1, 3, 5, 2, 4], [2, 3, 2, 2, 3, 2]), 2, 3, 4, 6), {
        "space-to-depth.channels": 1}
    for exported in ("torchscript", "dynamo", "bert", "vit"):
        yield f"attention of {exported}", attention(exported), {"attention.masked": 1}
        yield f"attention of {exported} without mask", attention(exported, False), {"attention": 1}
    shapes = [2, 3, 4, 8], [2, 3, 5, 8], [2, 3, 5, 6]
    yield "ONNX's attention", expansion("Attention", 23, *shapes), {"attention.known_mask": 1}
    yield "ONNX's attention with a mask", expansion("Attention", 23, *shapes, [4, 5]), {"attention.expanded": 1}
    yield "rotary embedding of Transformers", one(rotary, 2, 3, 4, 8), {"rotary": 1}
    yield "rotary embedding by Split", one(lambda n, x: rotary(n, x, "split"), 2, 3, 4, 8), {"rotary.split": 1}
    yield "ONNX's rotary embedding", expansion("RotaryEmbedding", 23, [2, 3, 4, 8], [2, 4, 4], [2, 4, 4]), {
        "rotary.expanded": 1}
    for weights in ("initializer", "node"):
        yield f"MatMul between DQ and Q, {weights}", quantized(weights), {"quantized.mat_mul": 1}
    yield "a head's only pixel", one(detections, 1, 3, 2, 2), {"transpose.before_reshape": 1}
    yield "RMS norm of Llama", one(rms_norm, 2, 3, 8), {"rms-normalization": 1}
    yield "ONNX's RMS norm", expansion("RMSNormalization", 23, [2, 3, 8], [8], axis=-1), {"rms-normalization": 1}


def silu(net, x):
    return net.node("Mul", x, net.node("Sigmoid", x))


def near_misses():
    yield "layer norm along another axis", one(lambda n, x: layer_norm(n, x, 8, (1,)), 2, 3, 8), {}
    yield "an epsilon for each channel", one(lambda n, x: layer_norm(n, x, 8, epsilon=[1e-3] * 8), 2, 3, 8), {}
    net = Net()
    x = net.input("x", 2, 3, 8)
    d = net.node("Sub", x, mean(net, x, [-1]))
    v = mean(net, net.node("Pow", d, 2.0), [-1])
    yield "epsilon after the root", net.model(net.node("Div", d, net.node("Add", net.node("Sqrt", v), 1e-5))), {}
    net = Net()
    x = net.input("x", 2, 3, 8)
    d = net.node("Sub", x, mean(net, x, [-1]))
    s = net.node("Sqrt", net.node("Add", mean(net, net.node("Pow", d, 2.0), [-1]), 1e-5))
    yield "the difference is an output", net.model(net.node("Div", d, s), d), {}
    net = Net()
    x = net.input("x", 2, 7)
    yield "the sigmoid is an output", net.model(*read_elsewhere(net, x)), {}
    yield "quantised without zero points", quantized(zero=False), {"quantized.mat_mul": 1}
    yield "dequantised weights that another node reads", quantized(shared=True), {"quantized.mat_mul": 1}
    yield "another GELU", one(lambda n, x: gelu_tanh(n, x, factor=0.0447), 2, 7), {}
    yield "unequal blocks", one(pixel_unshuffle([0, 1, 3, 5, 2, 4], [2, 3, 2, 2, 2, 3]), 2, 3, 4, 6), {}
    yield "slices that are no halves", one(lambda n, x: rotary(n, x, middle=3), 2, 3, 4, 8), {}
    yield "RMS norm of two axes", one(lambda n, x: rms_norm(n, x, (1, 2)), 2, 3, 8), {}
    net = Net()
    q, kt, v = net.input("q", 2, 3, 4, 5), net.input("kt", 1, 3, 5, 4), net.input("v", 2, 3, 4, 6)
    s = net.node("Mul", net.node("MatMul", q, kt), 0.5)
    yield "keys that broadcast", net.model(net.node("MatMul", net.node("Softmax", s, axis=-1), v)), {}
    net = Net()
    q, kt, v = net.input("q", "a", 3, 4, 5), net.input("kt", "b", 3, 5, 4), net.input("v", "a", 3, 4, 6)
    s = net.node("Mul", net.node("MatMul", q, kt), 0.5)
    yield "batches of two names", net.model(net.node("MatMul", net.node("Softmax", s, axis=-1), v)), {}
    net = Net()
    q, kt, v = net.input("q", "a", 3, 4, 5), net.input("kt", "a", 3, 5, 4), net.input("v", "a", 3, 4, 6)
    s = net.node("Mul", net.node("MatMul", q, kt), 0.5)
    yield "batches of one name", net.model(net.node("MatMul", net.node("Softmax", s, axis=-1), v)), {"attention": 1}


def heads(*batches):
    """Attention whose q, keys and v have batches of these names; None: an open extent without one."""
    net = Net()
    q, kt, v = net.input("q", batches[0], 3, 4, 5), net.input("kt", batches[1], 3, 5, 4), net.input("v", batches[2], 3, 4, 6)
    s = net.node("Mul", net.node("MatMul", q, kt), 0.5)
    return net.model(net.node("MatMul", net.node("Softmax", s, axis=-1), v))


def detections(net, x):
    """[1, anchors * 4, height, width] to [1, all anchors, 4], behind strides of 32: of small images there is one pixel."""
    for index, (channels, stride) in enumerate(((3, 16), (12, 2))):
        x = net.node("Conv", x, net.const(random(index, 12, channels, 1, 1)), strides=[stride, stride])
    n, h, w = (net.node("Gather", net.node("Shape", x), net.ints(axis), axis=0) for axis in (0, 2, 3))
    cut = net.node("Reshape", x, net.node("Concat", n, net.ints(-1, 4), h, w, axis=0))
    return net.node("Reshape", net.node("Transpose", cut, perm=[0, 3, 4, 1, 2]), net.node("Concat", n, net.ints(-1, 4), axis=0))


def without_profile():
    """Networks of open extents that are built without a profile: what a guard asks must be proved for any shape."""
    for opset in (13, 18):
        yield f"layer norm, opset {opset}", one(lambda n, x: layer_norm(n, x, 8), "n", "m", 8, opset=opset), {NORM: 1}
    yield "SiLU of any shape", one(lambda n, x: silu(n, silu(n, x)), "a", "b", "c"), {"silu": 2}
    yield "GELU of extents without names", one(gelu_erf(0), None, None), {"gelu.erf": 1}
    yield "RMS norm", one(rms_norm, "n", None, 8), {"rms-normalization": 1}
    yield "layer norm along an open axis", one(lambda n, x: layer_norm(n, x, 8, exported="plain"), "n", 3, "c"), {}
    yield "rotary embedding", one(rotary, "n", 3, 4, 8), {"rotary": 1}
    yield "one name", heads("n", "n", "n"), {"attention": 1}
    yield "two names", heads("n", "m", "n"), {}
    yield "a name and none", heads("n", "n", None), {}
    yield "no names", heads(None, None, None), {}
    yield "a pixel or more", one(detections, 1, 3, "h", "w"), {}
    yield "even extents of four axes", one(lambda n, x: silu(n, n.node("Reshape", x, n.ints(-1, 2))), "n", "c", "h", "w"), {"silu": 1}


def attend(kind="add", least=-3e38, rank=4, keys="last", zeros=False, axis=-1):
    """Attention as exporters write it, with a mask of one kind, and keys that come to lie transposed in one way."""
    net = Net()
    lead = (2, 3)[:rank - 2]
    q, v = net.input("q", *lead, 4, 8), net.input("v", *lead, 5, 6)
    if keys == "heads":
        kt = net.node("Transpose", net.input("k", 2, 5, 3, 8), perm=[0, 2, 3, 1])
    elif keys == "any":
        kt = net.input("k", *lead, 8, 5)
    else:
        kt = net.node("Transpose", net.input("k", *lead, 5, 8), perm=[0, 1, 3, 2] if rank == 4 else [0, 2, 1])
    s = net.node("Mul", net.node("MatMul", q, kt), 0.35)
    hidden = net.const([[0, 1, 0, 0, 1], [1, 1, 1, 1, 1], [0, 0, 0, 1, 1], [0, 0, 0, 0, 0]], bool)
    if kind == "add":
        s = net.node("Add", s, net.input("mask", 4, 5))
    elif kind == "hidden":
        s = net.node("Where", hidden, net.const(least), s)
    elif kind == "expanded":
        whole = net.node("Cast", net.node("Expand", net.node("Cast", hidden, to=TensorProto.FLOAT), net.node("Shape", s)),
                         to=TensorProto.BOOL)
        s = net.node("Where", whole, net.const(least), s)
    elif kind == "seen":
        s = net.node("Where", net.node("Not", hidden), s, net.const(least))
    p = net.node("Softmax", s, axis=axis)
    if zeros:
        p = net.node("Where", net.node("IsNaN", p), 0.0, p)
    return net.model(net.node("MatMul", p, v))


def heads_of_rows(joined=True, groups=1, past=False, cut=(0, -1, 4, 6)):
    """A layer's attention between rows of all heads; heads of keys for `groups` of queries; keys and values of before."""
    net = Net()
    q, kv = net.input("q", "b", "n", 24), [net.input(name, "b", "n", 24 // groups) for name in "kv"]
    q = net.node("Transpose", net.node("Reshape", q, net.ints(*cut)), perm=[0, 2, 1, 3])
    kv = [net.node("Transpose", net.node("Reshape", x, net.ints(*cut[:2], cut[2] // groups, cut[3])), perm=[0, 2, 1, 3]) for x in kv]
    outputs = []
    if past:
        outputs = kv = [net.node("Concat", net.input(f"past_{n}", "b", 4 // groups, "p", 6), x, axis=-2) for n, x in zip("kv", kv)]
    if groups > 1:
        size = net.node("Shape", kv[0])
        wide = net.node("Concat", net.node("Slice", size, net.ints(0), net.ints(2)), net.ints(groups),
                        net.node("Slice", size, net.ints(2), net.ints(4)), axis=0)
        kv = [net.node("Expand", net.node("Unsqueeze", x, net.ints(2)), wide) for x in kv]
        joint = net.node("Concat", net.node("Slice", size, net.ints(0), net.ints(1)), net.ints(4),
                         net.node("Slice", size, net.ints(2), net.ints(4)), axis=0)
        kv = [net.node("Reshape", x, joint) for x in kv]
    s = net.node("Mul", net.node("MatMul", q, net.node("Transpose", kv[0], perm=[0, 1, 3, 2])), 0.4)
    y = net.node("MatMul", net.node("Softmax", s, axis=-1), kv[1])
    if joined:
        y = net.node("Reshape", net.node("Transpose", y, perm=[0, 2, 1, 3]), net.ints(0, -1, 24))
    return net.model(y, *outputs)


def own_networks():
    """Attention by the built-in rewrites, without the library of fusions."""
    name = "attention.products"
    for exported, keys in ("torchscript", ""), ("dynamo", ".matrices"), ("bert", ""), ("vit", ""):
        yield f"attention of {exported}", attention(exported), {f"{name}.masked{keys}": 1}
        yield f"attention of {exported} without mask", attention(exported, False), {name + keys: 1}
    for keys, found in ("last", ""), ("heads", ".heads"), ("any", ".any"):
        for kind, mask in ("none", ""), ("add", ".masked"), ("hidden", ".hidden"), ("expanded", ".hidden"), ("seen", ".seen"):
            yield f"keys {keys}, mask {kind}", attend(kind, keys=keys), {f"{name}{mask}{found}": 1}
    yield "matrices without heads", attend("add", rank=3), {f"{name}.masked": 1}
    yield "zeros where no key is seen", attend("hidden", zeros=True), {f"{name}.hidden": 1}
    yield "a softmax along the queries", attend("add", axis=-2), {}
    yield "hidden keys that show", attend("hidden", least=-1e4), {}
    rows = {name: 1, "attention.rows": 1}
    yield "heads of rows", heads_of_rows(), rows
    yield "heads of rows that are not joined", heads_of_rows(joined=False), {name: 1}
    yield "repeated heads", heads_of_rows(groups=2), {name: 1, "attention.groups": 1}
    yield "a past", heads_of_rows(past=True), {name: 1, "attention.past": 1}
    yield "repeated heads with a past", heads_of_rows(groups=2, past=True), {name: 1, "attention.groups": 1, "attention.past": 1}
    yield "a head's only pixel", one(detections, 1, 3, 2, 2), {"transpose.before_reshape": 1}
    yield "RMS norm of Llama", one(rms_norm, 2, 3, 8), {"rms-normalization": 1}
    yield "RMS norm of two axes", one(lambda n, x: rms_norm(n, x, (0, 2)), 2, 3, 8), {}


class Checks(ProgramChecks):
    def __init__(self, tenon, fusions, folder):
        super().__init__(tenon, folder)
        self.fusions = fusions
        shown = json.loads(self.program("plugin", "show", "Attention", "--json").stdout)["rewrites"]
        self.off = [option for r in shown if r["name"].startswith("attention.") for option in ("--without-rewrite", r["name"])]

    def build(self, model, *options, profiles=True):
        """The rewrites that a build applied, by name, and what it said where it failed."""
        onnx.save(model, os.path.join(self.folder, "net.onnx"))
        shapes = []
        for item in model.graph.input:
            extents = [d.dim_value for d in item.type.tensor_type.shape.dim]
            if 0 in extents and profiles:
                low, best, high = ("x".join(str(e or free) for e in extents) for free in (1, 2, 5))
                shapes += ["--shape", f"{item.name}={low}:{best}:{high}"]
        # those of the library recognise what built-in ones do
        library = ["--plugin", self.fusions, *([] if "--no-fusion" in options else self.off)] if self.fusions else []
        done = self.program("build", "net.onnx", "-o", "net.plan", "--no-timing", "--json", *library, *shapes, *options)
        if done.returncode != 0:
            return None, done.stderr.strip()
        return {r["name"]: r["count"] for r in json.loads(done.stdout)["rewrites"]}, ""

    def run(self, model):
        """The largest difference from the reference of the onnx package, for inputs that are drawn."""
        values = {}
        for index, item in enumerate(model.graph.input):
            extents = [d.dim_value or 2 for d in item.type.tensor_type.shape.dim]
            values[item.name] = random(10 + index, *extents)
            np.save(os.path.join(self.folder, f"{item.name}.npy"), values[item.name])
        done = self.program("run", "net.plan", *(["--plugin", self.fusions] if self.fusions else []), "--output-dir", ".",
                            *(a for name in values for a in ("--input", f"{name}={name}.npy")))
        if done.returncode != 0:
            return done.stderr.strip()
        expected = ReferenceEvaluator(model).run(None, values)
        worst = 0.0
        for item, wanted in zip(model.graph.output, expected):
            found = np.load(os.path.join(self.folder, f"{item.name}.npy"))
            if found.shape != wanted.shape:
                return f"{found.shape} instead of {wanted.shape}"
            worst = max(worst, float(np.abs(found - wanted).max()))
        return worst

    def network(self, name, model, wanted, profiles=True):
        found, why = self.build(model, profiles=profiles)
        if found != wanted:
            return self.say(False, f"{name}: {found} instead of {wanted} {why}")
        difference = self.run(model)
        return self.say(isinstance(difference, float) and difference < 2e-5, f"{name}: {found}, off by {difference}")

    def options(self):
        model = one(lambda n, x: silu(n, layer_norm(n, x, 8)), 2, 3, 8)
        for options, wanted in ([], {NORM: 1, "silu": 1}), (["--without-rewrite", "silu"], {NORM: 1}), \
                (["--without-rewrite", "silu", "--without-rewrite", NORM], {"rms-normalization": 1}), (["--no-fusion"], {}):
            found, why = self.build(model, *options)
            self.say(found == wanted, f"{' '.join(options)}: {found} {why}")
        _, why = self.build(model, "--without-rewrite", "sulu")
        self.say("there is no rewrite 'sulu'; the nearest is 'silu'" in why, f"a slip: {why}")
        done = self.program("build", "net.onnx", "-o", "net.plan", "--no-timing")
        text, document = self.program("inspect", "net.plan").stdout, json.loads(self.program("inspect", "net.plan", "--json").stdout)
        self.say(f"\nrewrites: {NORM} 1, silu 1\n" in text, f"inspect: {text.splitlines()[:3]}")
        found = sorted(node["rewrite"] for node in document["nodes"])
        self.say(found == [NORM, "silu"], f"inspect --json: {found}")
        self.say("  rewrites: silu 1, layer-normalization 1" in done.stdout, f"in words: {done.stdout}")

    def elsewhere(self, stub):
        """The library under another domain; a device that has kernels for the pattern and none for what would replace it."""
        fusions, self.fusions = self.fusions, self.fusions + "@Elsewhere"
        self.network("a library in another domain", one(rms_norm, 2, 3, 8), {"rms-normalization": 1})
        self.fusions = fusions
        model = one(silu, 2, 7)
        for options, wanted in ([], {"silu": 1}), (["--plugin", stub, "--device", "stub"], {}):
            found, why = self.build(model, *options)
            self.say(found == wanted, f"SiLU, {options[2:] or 'on the processor'}: {found} {why}")

    def page(self):
        """The library that docs/rewrites.md shows: its mistake is found, and without it the library is sound and used."""
        with open(os.path.join(ROOT, "docs", "rewrites.md"), encoding="utf-8") as file:
            source = re.search(r"```c\n(.*?)```", file.read(), re.S).group(1)
        mended = source.replace(" | Sub(s, ?less)", "").replace(" less=0.25", "")
        for name, text, wanted in ("shown", source, "form 2: the replacement computes something else"), ("mended", mended, ""):
            with open(os.path.join(self.folder, f"{name}.c"), "w", encoding="utf-8") as file:
                file.write(text)
            done = subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"{name}.c", "-o",
                                   f"lib{name}.so", "-I", os.path.join(ROOT, "include")],
                                  capture_output=True, text=True, cwd=self.folder, timeout=120)
            self.say(done.returncode == 0, f"docs/rewrites.md, {name}: cc {done.stderr.strip()}")
            done = self.program("plugin", "check", f"./lib{name}.so", "--rule", "rewrite")
            self.say((done.returncode == 0) == (not wanted) and wanted in done.stdout, f"plugin check of what is {name}: "
                     f"{done.stdout.strip().splitlines()[-1:]}")
        fusions, self.fusions = self.fusions, "./libmended.so"
        self.network("the page's rewrite", one(lambda n, x: n.node("Add", 0.5, n.node("Mul", x, 2.0)), 3, 5), {"line": 1})
        self.fusions = fusions

    def show(self):
        done = self.program("plugin", "show", self.fusions, "--json")
        found = [r["name"] for r in json.loads(done.stdout)["rewrites"]]
        wanted = ["attention", "attention.expanded", "attention.known_mask", "attention.masked", "quantized-matmul", "rms-normalization", "rotary", "rotary.expanded",
                  "rotary.split"]
        self.say(sorted(found) == wanted, f"plugin show --json: {found}")
        done = self.program("plugin", "show", "Swish")
        self.say("rewrite silu, library builtin" in done.stdout and "y = Mul(x, Sigmoid(x))" in done.stdout, "plugin show Swish")


def main():
    if len(sys.argv) != 4:
        print(__doc__, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="tenon-rewrites.") as folder:
        checks = Checks(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), folder)
        for name, model, wanted in networks():
            checks.network(name, model, wanted)
        for name, model, wanted in near_misses():
            checks.network(name, model, wanted)
        for name, model, wanted in without_profile():
            checks.network(f"{name}, without a profile", model, wanted, profiles=False)
        for extent, wanted in ("n", {"attention": 1}), ("m", {}):
            checks.network(f"batches n and {extent}", heads("n", extent, "n"), wanted)
        checks.options()
        checks.page()
        checks.elsewhere(os.path.abspath(sys.argv[3]))
        checks.show()
        checks.fusions = None
        for name, model, wanted in own_networks():
            checks.network(name, model, wanted)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
