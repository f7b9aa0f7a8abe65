# SPDX-License-Identifier: Apache-2.0
"""Writes ONNX networks node by node, as exporters do: the class Net, with which the families beside this file define theirs.

`net.Relu(x)` adds a node of that type; arrays and numbers among its inputs become constants. What an operator set defines otherwise
(axes as an attribute or an input, LayerNormalization as one node or as six) the methods in lower case write as the network's opset
has it. `dialect` is whose export it resembles: "script", the older exporter of PyTorch, computes shapes from Shape, Gather, Unsqueeze
and Concat, by Constant nodes; "dynamo", the newer one, knows them and names its values otherwise.
"""

import math

import numpy as np
from onnx import TensorProto, helper, numpy_helper

F32, F16, I64, I32, BOOL, U8, STRING = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL,
                                        TensorProto.UINT8, TensorProto.STRING)
IR_OF_OPSET = {7: 3, 8: 3, 9: 4, 10: 5, 11: 6, 12: 7, 13: 7, 14: 7, 15: 8, 16: 8, 17: 8, 18: 8, 19: 9, 20: 9, 21: 10, 22: 10, 23: 11}
NAMES = {"script": "/net/{0}_{1}/{0}_output_0", "dynamo": "{2}_{1}", "paddle": "{2}_{1}.tmp_0", "keras": "model/{2}_{1}/{0}:0"}


class Value(str):
    """A tensor's name. `channels` is the extent along the axis of its features, where that is known."""

    channels = None

    def of(self, channels):
        value = Value(self)
        value.channels = channels
        return value


class Net:
    def __init__(self, name, opset=17, dialect="script", ir=None, seed=0, outer=None):
        self.name, self.opset, self.dialect, self.ir, self.outer = name, opset, dialect, ir, outer
        self.rng = outer.rng if outer else np.random.default_rng(seed)
        self.nodes, self.constants, self.inputs, self.outputs, self.functions = [], [], [], [], []
        self.domains = outer.domains if outer else {}
        self.counter = outer.counter if outer else [0]
        self.values = {}  # of inputs: how they are drawn

    # Names, constants and nodes.

    def fresh(self, kind):
        self.counter[0] += 1
        return Value(NAMES[self.dialect].format(kind, self.counter[0], kind.lower()))

    def input(self, name, shape, kind=F32, low=-1.0, high=1.0, values=None, channels=None):
        """`values` draws them: a function of the generator and the shape."""
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        self.values[name] = (kind, low, high, values)
        return Value(name).of(channels or (shape[1] if shape and len(shape) > 1 and isinstance(shape[1], int) else None))

    def output(self, value, name=None, kind=F32, shape=None):
        if name and name != value:
            self.nodes.append(helper.make_node("Identity", [value], [name]))
        self.outputs.append(helper.make_tensor_value_info(name or value, kind, shape))

    def constant(self, array, name=None, node=False):
        """An initializer, or a node Constant."""
        array = np.asarray(array)
        if array.dtype == np.float64:
            array = array.astype(np.float32)
        name = name or self.fresh("Constant" if node else "weight")
        if node:
            self.nodes.append(helper.make_node("Constant", [], [name], value=numpy_helper.from_array(array)))
        else:
            self.constants.append(numpy_helper.from_array(array, name))
        return Value(name).of(array.shape[-1] if array.ndim else None)

    def packed(self, kind, numbers):
        """An initializer of 4 bits an element."""
        name = self.fresh("weight")
        self.constants.append(helper.make_tensor(name, kind, numbers.shape, numbers.ravel().tolist()))
        return Value(name)

    def ints(self, *numbers):
        return self.constant(np.array(numbers, np.int64), node=self.dialect == "script")

    def scalar(self, number, kind=np.float32):
        return self.constant(np.array(number, kind), node=self.dialect == "script")

    def weight(self, *shape, fan=None, scale=1.0):
        fan = fan or int(np.prod(shape[1:])) or 1
        return self.constant((self.rng.standard_normal(shape) * scale / math.sqrt(fan)).astype(np.float32))

    def vector(self, count, low=-0.1, high=0.1):
        return self.constant(self.rng.uniform(low, high, count).astype(np.float32))

    def op(self, kind, *inputs, outputs=1, domain="", **attributes):
        names, channels = [], None
        for item in inputs:
            if item is None:
                item = ""
            elif not isinstance(item, str):
                item = self.scalar(item) if isinstance(item, float) else self.ints(*item) if isinstance(item, (tuple, list)) \
                    else self.constant(item)
            elif channels is None:
                channels = getattr(item, "channels", None)
            names.append(item)
        while names and not names[-1]:
            names.pop()
        results = [self.fresh(kind).of(channels) for _ in range(outputs)]
        attributes = {name: value for name, value in attributes.items() if value is not None}
        self.nodes.append(helper.make_node(kind, names, results, name=f"{results[0]}_node", domain=domain, **attributes))
        if domain:
            self.domains.setdefault(domain, 1)
        return results[0] if outputs == 1 else results

    def __getattr__(self, kind):
        if not kind[0].isupper():
            raise AttributeError(kind)
        return lambda *inputs, **attributes: self.op(kind, *inputs, **attributes)

    def body(self, name="body"):
        """A graph for an attribute of Loop, If or Scan: its nodes see this network's values."""
        return Net(name, self.opset, self.dialect, outer=self)

    def graph(self):
        return helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.constants)

    def call(self, name, build, *inputs, domain="pkg.onnxscript.torch_lib", outputs=1, **attributes):
        """A call of a local function, which `build(net, *names)` defines where it is called first."""
        if not any(function.name == name for function in self.functions):
            inner = Net(name, self.opset, self.dialect, outer=self)
            parameters = [Value(f"in_{i}") for i in range(len(inputs))]
            result = build(inner, *parameters)
            results = result if isinstance(result, list) else [result]
            for constant in inner.constants:
                inner.nodes.insert(0, helper.make_node("Constant", [], [constant.name], value=constant))
            self.functions.append(helper.make_function(domain, name, parameters, results, inner.nodes,
                                                       [helper.make_opsetid("", self.opset)], list(attributes)))
        return self.op(name, *inputs, domain=domain, outputs=outputs, **attributes)

    def model(self):
        sets = [helper.make_opsetid("", self.opset)] + [helper.make_opsetid(domain, version) for domain, version in self.domains.items()]
        model = helper.make_model(self.graph(), opset_imports=sets, functions=self.functions, producer_name="tenon-models")
        model.ir_version = self.ir or max(IR_OF_OPSET[self.opset], 8 if self.functions else 3)
        if model.ir_version < 4:  # each initializer is an input too
            model.graph.input.extend(helper.make_tensor_value_info(it.name, it.data_type, it.dims) for it in model.graph.initializer)
        return model

    # Operators that the opsets define otherwise.

    def along(self, kind, x, axes, since=13, **attributes):
        """An operator whose axes are an attribute before the opset `since`, and an input after."""
        if self.opset < since:
            return self.op(kind, x, axes=list(axes), **attributes)
        return self.op(kind, x, list(axes), **attributes)

    def unsqueeze(self, x, *axes):
        return self.along("Unsqueeze", x, axes)

    def squeeze(self, x, *axes):
        return self.along("Squeeze", x, axes)

    def mean(self, x, *axes, keepdims=1):
        return self.along("ReduceMean", x, axes, 18, keepdims=keepdims)

    def sum(self, x, *axes, keepdims=1):
        return self.along("ReduceSum", x, axes, keepdims=keepdims)

    def maximum(self, x, *axes, keepdims=1):
        return self.along("ReduceMax", x, axes, 18, keepdims=keepdims)

    def slice(self, x, starts, ends, axes=(0,), steps=None):
        def item(value):
            return value if isinstance(value, str) else list(value) if isinstance(value, (tuple, list)) else [value]
        starts, ends, axes = item(starts), item(ends), item(axes)
        if self.opset < 10:
            return self.Slice(x, starts=starts, ends=ends, axes=axes)
        return self.Slice(x, starts, ends, axes, item(steps) if steps else None)

    def split(self, x, sizes, axis):
        """Pieces of the given sizes."""
        if self.opset < 13:
            parts = self.Split(x, axis=axis, split=list(sizes), outputs=len(sizes))
        else:
            parts = self.Split(x, list(sizes), axis=axis, outputs=len(sizes))
        return [part.of(size) for part, size in zip(parts, sizes)]

    def pad(self, x, pads, value=0.0, mode="constant"):
        if self.opset < 11:
            return self.Pad(x, pads=list(pads), value=value, mode=mode)
        return self.Pad(x, list(pads), value if mode == "constant" else None, mode=mode)

    def clip(self, x, low, high):
        if self.opset < 11:
            return self.Clip(x, min=low, max=high)
        return self.Clip(x, float(low), float(high))

    def softmax(self, x, axis=-1):
        return self.Softmax(x, axis=axis)

    def concat(self, *values, axis=1):
        known = [getattr(value, "channels", None) for value in values]
        result = self.Concat(*values, axis=axis)
        return result.of(sum(known)) if axis in (1, -1) and None not in known else result

    def extent(self, x, axis):
        """One extent of a tensor, as a tensor of one element."""
        size = self.Gather(self.Shape(x), self.scalar(axis, np.int64), axis=0)
        return self.unsqueeze(size, 0)

    def reshape(self, x, *extents):
        """To what numbers and tensors of one element say; a number alone is a constant shape."""
        if all(isinstance(extent, int) for extent in extents):
            return self.Reshape(x, list(extents))
        parts = [extent if isinstance(extent, str) else self.ints(extent) for extent in extents]
        return self.Reshape(x, self.Concat(*parts, axis=0))

    def flatten(self, x):
        """To a row for each sample: what `x.view(x.size(0), -1)` is exported to."""
        if self.dialect == "script" and self.opset < 14:
            return self.reshape(x, self.extent(x, 0), -1)
        return self.Flatten(x, axis=1)

    def resize(self, x, factor=None, like=None, mode="nearest"):
        """By a factor, or to the height and width of another tensor."""
        half = "asymmetric" if mode == "nearest" else "half_pixel"
        empty = np.zeros(0, np.float32) if self.opset < 13 else None  # exports have it though it is not read
        more = {"nearest_mode": "floor"} if mode == "nearest" else {"cubic_coeff_a": -0.75} if mode == "cubic" else {}
        if like is None:
            scales = np.array([1, 1, factor, factor], np.float32)
            if self.opset < 11:
                return self.op("Upsample" if self.opset < 10 else "Resize", x, scales, mode=mode)
            return self.Resize(x, empty, scales, mode=mode, coordinate_transformation_mode=half, **more)
        size = self.slice(self.Shape(like), 2, 4)
        size = self.Concat(self.slice(self.Shape(x), 0, 2), self.Cast(size, to=I64), axis=0)
        return self.Resize(x, empty, empty, size, mode=mode, coordinate_transformation_mode=half, **more)

    # Layers.

    def conv(self, x, out, k=3, s=1, p=None, d=1, g=1, bias=True, act=None, pads=None):
        k = (k, k) if isinstance(k, int) else k
        s = [s] * len(k) if isinstance(s, int) else list(s)
        pads = pads or [(n // 2) * d if p is None else p for n in k] * 2
        w = self.weight(out, x.channels // g, *k, scale=1.3)
        y = self.Conv(x, w, self.vector(out) if bias else None, kernel_shape=list(k), strides=s, pads=pads, dilations=[d] * len(k), group=g)
        return self.act(y.of(out), act)

    def conv_transpose(self, x, out, k, s, p=0, op=0, act=None, g=1):
        k = (k,) if isinstance(k, int) else k
        w = self.weight(x.channels, out // g, *k, fan=x.channels * int(np.prod(k)) // s)
        y = self.ConvTranspose(x, w, self.vector(out), kernel_shape=list(k), strides=[s] * len(k), pads=[p] * 2 * len(k), group=g,
                               output_padding=[op] * len(k) if op else None)
        return self.act(y.of(out), act)

    def batch_norm(self, x, act=None):
        c = x.channels
        y = self.BatchNormalization(x, self.vector(c, 0.5, 1.5), self.vector(c), self.vector(c), self.vector(c, 0.5, 1.5), epsilon=1e-5)
        return self.act(y, act)

    def conv_bn(self, x, out, k=3, s=1, act="relu", **more):
        return self.batch_norm(self.conv(x, out, k, s, bias=False, **more), act)

    def max_pool(self, x, k=2, s=2, p=0, ceil=0):
        return self.MaxPool(x, kernel_shape=[k, k], strides=[s, s], pads=[p] * 4, ceil_mode=ceil or None)

    def average_pool(self, x, k=2, s=2, p=0, include=0, ceil=0):
        return self.AveragePool(x, kernel_shape=[k, k], strides=[s, s], pads=[p] * 4, count_include_pad=include or None,
                                ceil_mode=ceil or None)

    def act(self, x, kind):
        simple = {"relu": "Relu", "sigmoid": "Sigmoid", "tanh": "Tanh", "elu": "Elu", "softplus": "Softplus"}
        if kind is None:
            return x
        if kind in simple:
            return self.op(simple[kind], x)
        if kind == "relu6":
            return self.clip(x, 0, 6)
        if kind == "leaky":
            return self.LeakyRelu(x, alpha=0.1)
        if kind == "prelu":
            return self.PRelu(x, self.constant(self.rng.uniform(0, 0.3, (x.channels, 1, 1)).astype(np.float32)))
        if kind == "silu":
            return self.Mul(x, self.Sigmoid(x))
        if kind == "hard_swish":
            return self.HardSwish(x) if self.opset >= 14 else self.Div(self.Mul(x, self.clip(self.Add(x, 3.0), 0, 6)), 6.0)
        if kind == "hard_sigmoid":
            return self.HardSigmoid(x, alpha=1 / 6)
        if kind == "mish":
            return self.Mul(x, self.Tanh(self.Softplus(x)))
        return self.gelu(x, kind)

    def gelu(self, x, kind="gelu"):
        if kind == "gelu_tanh":
            cube = self.Pow(x, 3.0)
            inner = self.Mul(self.Add(x, self.Mul(cube, 0.044715)), math.sqrt(2 / math.pi))
            return self.Mul(self.Mul(x, 0.5), self.Add(self.Tanh(inner), 1.0))
        if kind == "quick_gelu":
            return self.Mul(x, self.Sigmoid(self.Mul(x, 1.702)))
        if self.opset >= 20 and self.dialect == "dynamo":
            return self.Gelu(x)
        return self.Mul(self.Mul(x, self.Add(self.Erf(self.Div(x, math.sqrt(2))), 1.0)), 0.5)

    def linear(self, x, out, bias=True, act=None, gemm=False, scale=1.0):
        """Gemm of a matrix, else MatMul and Add."""
        if gemm:
            y = self.Gemm(x, self.weight(out, x.channels, scale=scale), self.vector(out) if bias else None, transB=1, alpha=1.0, beta=1.0)
        else:
            y = self.MatMul(x, self.weight(x.channels, out, fan=x.channels, scale=scale))
            y = self.Add(self.vector(out), y.of(out)) if bias else y
        return self.act(y.of(out), act)

    def layer_norm(self, x, epsilon=1e-5, scale=True):
        c = x.channels
        gain, shift = self.vector(c, 0.5, 1.5), self.vector(c)
        if self.opset >= 17:
            return self.LayerNormalization(x, gain, shift if scale else None, axis=-1, epsilon=epsilon)
        centred = self.Sub(x, self.mean(x, -1))
        deviation = self.Sqrt(self.Add(self.mean(self.Pow(centred, 2.0), -1), epsilon))
        return self.Add(self.Mul(self.Div(centred, deviation), gain), shift).of(c)

    def rms_norm(self, x, epsilon=1e-6):
        gain = self.vector(x.channels, 0.5, 1.5)
        if self.opset >= 23:
            return self.RMSNormalization(x, gain, axis=-1, epsilon=epsilon)
        y = self.Cast(x, to=F32)
        square = self.Sqrt(self.Add(self.mean(self.Pow(y, 2.0), -1), epsilon))
        y = self.Mul(y, self.Reciprocal(square) if self.opset >= 18 else self.Div(1.0, square))
        return self.Mul(gain, y).of(x.channels)

    def group_norm(self, x, groups):
        """Of NCHW or NCL."""
        c = x.channels
        if self.opset >= 21:
            return self.GroupNormalization(x, self.vector(c, 0.5, 1.5), self.vector(c), num_groups=groups, epsilon=1e-5)
        ones, zeros = np.ones(groups, np.float32), np.zeros(groups, np.float32)
        y = self.InstanceNormalization(self.Reshape(x, [0, groups, -1]), ones, zeros, epsilon=1e-5)
        y = self.Reshape(y, self.Shape(x))
        shape = (c, 1, 1)
        gain, shift = (self.constant(self.rng.uniform(0.5, 1.5, shape).astype(np.float32)) for _ in range(2))
        return self.Add(self.Mul(y, gain), shift).of(c)

    def squeeze_excite(self, x, reduced, act="relu", gate="sigmoid"):
        y = self.GlobalAveragePool(x) if self.dialect != "keras" else self.mean(x, 2, 3)
        y = self.conv(self.conv(y.of(x.channels), reduced, 1, act=act), x.channels, 1, act=gate)
        return self.Mul(x, y).of(x.channels)

    def classifier(self, x, classes=10):
        """Global average, a row a sample, a linear layer."""
        return self.linear(self.flatten(self.GlobalAveragePool(x)).of(x.channels), classes, gemm=True)

    # Attention.

    def heads(self, x, count, keys=False):
        """[batch, length, count*depth] to [batch, count, length, depth], or with the last two exchanged."""
        depth = x.channels // count
        if self.dialect == "script":
            y = self.reshape(x, self.extent(x, 0), self.extent(x, 1), count, depth)
        else:
            y = self.Reshape(x, [0, -1, count, depth])
        return self.Transpose(y, perm=[0, 2, 3, 1] if keys else [0, 2, 1, 3]).of(depth)

    def join_heads(self, x, width):
        y = self.Transpose(x, perm=[0, 2, 1, 3])
        if self.dialect == "script":
            return self.reshape(y, self.extent(y, 0), self.extent(y, 1), width).of(width)
        return self.Reshape(y, [0, -1, width]).of(width)

    def scores(self, q, k, depth, bias=None, mask=None):
        """Softmax of q k' / sqrt(depth), plus a bias, plus a mask."""
        y = self.Div(self.MatMul(q, k), math.sqrt(depth))
        for more in (bias, mask):
            y = self.Add(y, more) if more is not None else y
        return self.softmax(y)

    def attention(self, x, count, memory=None, bias=None, mask=None, out=True):
        """Of a sequence over itself or over another."""
        width, memory = x.channels, x if memory is None else memory
        q, k, v = (self.linear(source, width) for source in (x, memory, memory))
        depth = width // count
        p = self.scores(self.heads(q, count), self.heads(k, count, keys=True), depth, bias, mask)
        y = self.join_heads(self.MatMul(p, self.heads(v, count)), width)
        return self.linear(y, width) if out else y

    def feed_forward(self, x, hidden, act="gelu"):
        return self.linear(self.linear(x, hidden, act=act), x.channels)

    def encoder_layer(self, x, count, hidden, act="gelu", before=True, **more):
        """A transformer's layer with the normalisation before its parts, or after."""
        if before:
            x = self.Add(x, self.attention(self.layer_norm(x), count, **more)).of(x.channels)
            return self.Add(x, self.feed_forward(self.layer_norm(x), hidden, act)).of(x.channels)
        x = self.layer_norm(self.Add(self.attention(x, count, **more), x).of(x.channels))
        return self.layer_norm(self.Add(self.feed_forward(x, hidden, act), x).of(x.channels))

    def recurrent(self, kind, x, hidden, directions=1, lengths=None, state=True, **fields):
        """Of [length, batch, features] -> [length, batch, directions*hidden], and the last states."""
        rows = {"LSTM": 4, "GRU": 3, "RNN": 1}[kind] * hidden
        w, r = (self.weight(directions, rows, n, fan=hidden) for n in (x.channels, hidden))
        b = self.constant(self.rng.uniform(-0.1, 0.1, (directions, 2 * rows)).astype(np.float32))
        first = None
        if state and self.dialect == "script":
            zero = numpy_helper.from_array(np.zeros(1, np.float32))
            first = self.ConstantOfShape(self.Concat(self.ints(directions), self.extent(x, 1), self.ints(hidden), axis=0), value=zero)
        inputs = [x, w, r, b, lengths, first] + ([first] if kind == "LSTM" else [])
        direction = fields.pop("direction", "bidirectional" if directions == 2 else "forward")
        y, *last = self.op(kind, *inputs, outputs=3 if kind == "LSTM" else 2, hidden_size=hidden, direction=direction, **fields)
        if directions == 1:
            y = self.squeeze(y, 1)
        else:
            y = self.Reshape(self.Transpose(y, perm=[0, 2, 1, 3]), [0, 0, -1])
        return y.of(directions * hidden), last
