# SPDX-License-Identifier: Apache-2.0
"""The converters by the names of PyTorch's operators, and the graph that they add nodes to."""

import numpy as np
import torch

from tenon import _engine, _graph, _types

TYPES = {torch.float64: "f64", torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16", torch.int64: "i64", torch.int32: "i32",
         torch.int16: "i16", torch.int8: "i8", torch.uint8: "u8", torch.bool: "bool"}
FLOATS = {name for dtype, name in TYPES.items() if dtype.is_floating_point}
converters = {}


def converter(*names):
    """Says how an operator of PyTorch becomes nodes of a network:

        @tenon.torch.converter("aten.grid_sampler_2d")
        def grid_sampler(net, x, grid, interpolation_mode, padding_mode, align_corners):
            return net.add("GridSample", [x, grid], mode="linear", align_corners=int(align_corners))

    A name is "NAMESPACE.NAME", or with an overload, "aten.add.Tensor". The function gets the graph and the operator's arguments in the
    order of its schema, defaults filled in: tensors as tensors of the graph, each with `val`, PyTorch's own description of it (shape,
    dtype), and extents that only a run knows as tensors, too; net.extents(list) makes one tensor of a list of extents. It answers a
    tensor, or a list of them. A later converter takes the part of an earlier one."""
    for name in names:
        if not isinstance(name, str) or name.count(".") not in (1, 2):
            raise ValueError(f"a converter for {name!r}: expected NAMESPACE.NAME, like 'aten.grid_sampler_2d'")

    def decorate(function):
        converters.update({name: function for name in names})
        return function

    return decorate


def find(target):
    """The converter of an operator, by its name with the overload or without; None."""
    name = name_of(target)
    return converters.get(name) or converters.get(name.rpartition(".")[0]) or converters.get(name.removesuffix(".default"))


def name_of(target):
    return str(target) if isinstance(target, torch._ops.OpOverload) else f"python.{getattr(target, '__name__', target)}"


class Value(_graph.Tensor):
    """A tensor of the graph with PyTorch's description of it as `val`; of an extent a torch.SymInt."""

    __slots__ = ("val",)

    @property
    def rank(self):
        return self.val.dim() if isinstance(self.val, torch.Tensor) else 0

    def axis(self, axis):
        """A number from 0 on, of one that may count from the end."""
        return axis + self.rank if axis < 0 else axis


class Network(_graph.Graph):
    """A tenon.Graph with what converters need."""

    def value(self, tensor, val):
        """The tensor with PyTorch's description."""
        made = Value(self, tensor.number, tensor.name, TYPES.get(val.dtype) if isinstance(val, torch.Tensor) else "i64")
        made.val = val
        return made

    def tensor(self, tensor, name=None):
        """A constant of a torch tensor."""
        if tensor.dtype not in TYPES:
            raise TypeError(f"'{name}' is {tensor.dtype}: expected one of {', '.join(map(str, TYPES))}")
        kind, array = TYPES[tensor.dtype], tensor.detach().cpu().contiguous()
        if kind == "bf16":  # which NumPy has not by itself
            array = array.view(torch.int16)
        number = _engine.graph_constant(self._graph, name, (_types.NUMBERS[kind], tuple(array.shape), array.numpy()))
        return _graph.Tensor(self, number, name or "", kind)

    def constant(self, value, dtype=None, name=None):
        """As tenon.Graph.constant; of type "bf16", too."""
        if dtype == "bf16":
            return self.tensor(torch.as_tensor(np.asarray(value, np.float64)).to(torch.bfloat16), name)
        return super().constant(value, dtype, name)

    def cast(self, tensor, dtype):
        """The tensor, or a number, in PyTorch's or Tenon's type."""
        name = TYPES.get(dtype, dtype)
        if not isinstance(tensor, _graph.Tensor):
            return self.constant(np.asarray(tensor), name)
        if tensor.dtype == name:
            return tensor
        return self.add("Cast", [tensor], {"to": name}, dtype=name)

    def extents(self, items):
        """One tensor of i64 of a list of numbers and of extents that only a run knows."""
        items = list(items) if isinstance(items, (list, tuple, torch.Size)) else [items]
        if not any(isinstance(item, _graph.Tensor) for item in items):
            return self.constant(np.array([int(item) for item in items], np.int64))
        parts = [self.add("Unsqueeze", [item, self.constant(np.int64([0]))]) if isinstance(item, _graph.Tensor) else
                 self.constant(np.int64([item])) for item in items]
        return parts[0] if len(parts) == 1 else self.add("Concat", parts, axis=0)

    def axes(self, items):
        return self.constant(np.array(items, np.int64))

    def promoted(self, *values, dtype=None):
        """Tensors and numbers in one type: `dtype`, or what PyTorch's rules say."""
        if dtype is None:
            kinds = [value.val if isinstance(value, Value) else value for value in values]
            kinds = [torch.empty((), dtype=kind.dtype) if isinstance(kind, torch.Tensor) and kind.dim() == 0 else
                     torch.empty(1, dtype=kind.dtype) if isinstance(kind, torch.Tensor) else kind for kind in kinds]
            numbers = [kind if isinstance(kind, (int, float, bool, torch.Tensor)) else 1 for kind in kinds]
            dtype = torch.result_type(*numbers) if len(numbers) == 2 else numbers[0].dtype
        return [self.cast(value, dtype) for value in values]


def pair(value, count=2):
    """A list of `count` numbers of one number or of a list of one."""
    items = list(value) if isinstance(value, (list, tuple)) else [value]
    return items * count if len(items) == 1 else items
