# SPDX-License-Identifier: Apache-2.0
"""tenon.Graph: a network that is read from a model or built by hand, node by node."""

import numpy as np

from . import _engine, _fields, _types
from ._runtime import default_runtime, load_plugins


class Tensor:
    """A tensor of a tenon.Graph: an input, a constant, or what a node computes. + - * / with tensors, arrays and numbers add nodes."""

    __slots__ = ("graph", "number", "name", "dtype")
    __array_ufunc__ = None  # array + tensor is the tensor's

    def __init__(self, graph, number, name="", dtype=None):
        self.graph, self.number, self.name, self.dtype = graph, number, name, dtype

    def __repr__(self):
        return f"<tenon.Tensor {self.number}{' ' + self.name if self.name else ''}>"

    def _with(self, op, other, is_swapped=False):
        if not isinstance(other, Tensor):
            other = self.graph.constant(np.asarray(other, None if hasattr(other, "dtype") else _types.DTYPES[self.dtype or "f32"]))
        return self.graph.add(op, [other, self] if is_swapped else [self, other], dtype=self.dtype)

    def __add__(self, other):
        return self._with("Add", other)

    def __sub__(self, other):
        return self._with("Sub", other)

    def __mul__(self, other):
        return self._with("Mul", other)

    def __truediv__(self, other):
        return self._with("Div", other)

    def __radd__(self, other):
        return self._with("Add", other, True)

    def __rsub__(self, other):
        return self._with("Sub", other, True)

    def __rmul__(self, other):
        return self._with("Mul", other, True)

    def __rtruediv__(self, other):
        return self._with("Div", other, True)

    def __neg__(self):
        return self.graph.add("Neg", [self], dtype=self.dtype)


class Graph:
    """A network as nodes and tensors; tenon.build and tenon.load take it in place of a model.

        net = tenon.Graph()
        x = net.input("x", "f32", ["batch", 3, 64, 64])
        y = net.add("Mine::Op", [x, net.constant(weights)], {"k": 3})
        net.output(y, "y")

    Graph(model) reads a model instead: a file, its bytes, or an onnx.ModelProto; `options` are those of tenon.build that are for
    models. opset: the version of ONNX's operators that nodes without a version mean (default: the newest)."""

    def __init__(self, model=None, runtime=None, *, name=None, plugins=(), opset=None, **options):
        self.runtime = runtime or default_runtime()
        load_plugins(self.runtime, plugins)
        if model is None:
            self._graph = _engine.graph_create(self.runtime, name)
        else:
            from ._build import graph_of
            self._graph = graph_of(model, self.runtime, **options)
        if opset is not None:
            _engine.graph_opset(self._graph, "", opset)
        self._constants = {}

    @property
    def inputs(self):
        return self._graph.inputs

    @property
    def outputs(self):
        return self._graph.outputs

    def input(self, name, dtype="f32", shape=()):
        """Adds an input. An extent is a number, None (known at run time), or a name: the same name is the same extent."""
        extents, names = [], []
        for extent in shape:
            is_known = extent is not None and not isinstance(extent, str) and int(extent) >= 0
            extents.append(int(extent) if is_known else -1)
            names.append(extent if isinstance(extent, str) else None)
        dtype = _types.name_of(dtype)
        return Tensor(self, _engine.graph_input(self._graph, name, _types.NUMBERS[dtype], extents, names), name, dtype)

    def constant(self, value, dtype=None, name=None):
        """Adds a constant: an array, a number or a list of them. Floating-point numbers that have no dtype are f32."""
        if dtype is None and not hasattr(value, "dtype"):
            found = np.asarray(value)
            dtype = "f32" if found.dtype == np.float64 else None
        tensor = _types.as_tensor(value, dtype)
        return Tensor(self, _engine.graph_constant(self._graph, name, tensor), name or "", _types.NAMES[tensor[0]])

    def add(self, op, inputs=(), fields=None, outputs=1, *, name=None, version=0, dtype=None, **more_fields):
        """Adds a node and answers its output, or the list of them where `outputs` is another number than 1 or a list of names.

        op: "Mine::Op", or an operator of ONNX's domain, "Relu"; or a tenon.Plugin, which is loaded. inputs: tensors, arrays or
        numbers, which become constants, and None for an absent one. fields: by name; keywords are fields, too."""
        if not isinstance(op, str):
            op.load_into(self.runtime)
            op = op.name
        domain, operator = _fields.split_name(op)
        numbers = [each if each is None else self._tensor(each).number for each in ([inputs] if isinstance(inputs, Tensor) else inputs)]
        names = [None] * outputs if isinstance(outputs, int) else list(outputs)
        attributes = _fields.attributes({**(fields or {}), **more_fields})
        made = _engine.graph_node(self._graph, domain, operator, version, name, numbers, names, attributes)
        tensors = [Tensor(self, number, text or "", dtype) for number, text in zip(made, names)]
        return tensors[0] if outputs == 1 else tensors

    def _tensor(self, value):
        if not isinstance(value, Tensor):
            return self.constant(value)
        if value.graph is not self:
            raise ValueError(f"{value!r} belongs to another graph")
        return value

    def output(self, tensor, name=None):
        """Makes a tensor an output, after those before."""
        _engine.graph_output(self._graph, self._tensor(tensor).number, name)
        return tensor

    def build(self, shapes=None, **options):
        """tenon.build of this graph: a tenon.Plan."""
        from ._build import build
        return build(self._graph, shapes=shapes, runtime=self.runtime, **options)

    def load(self, shapes=None, **options):
        """tenon.load of this graph: a tenon.Network."""
        from ._network import load
        return load(self._graph, shapes=shapes, runtime=self.runtime, **options)
