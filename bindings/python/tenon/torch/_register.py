# SPDX-License-Identifier: Apache-2.0
"""tenon.torch.register: a layer of Tenon as an operator of PyTorch."""

import os
import re
import warnings

import numpy as np
import torch

from tenon import _engine, _fields, _types
from tenon._plugin import Operator
from tenon._runtime import default_runtime, load_plugins
from tenon.torch._table import TYPES, Value, converter

KINDS = {number: name for name, number in _fields.FIELD_TYPES.items()}
SCHEMA_TYPES = {"bool": "bool", "i32": "int", "i64": "int", "f32": "float", "f64": "float", "string": "str", "enum": "str", "type": "str",
                "i64s": "int[]", "f32s": "float[]", "f64s": "float[]", "strings": "str[]"}
OF_TYPES = {name: dtype for dtype, name in TYPES.items()}
_libraries = []  # torch.library's objects: an operator lives as long as its library


class Registered(Operator):
    """An operator of a loaded library, by what its table says."""

    def __init__(self, description, runtime, plugin):
        self.domain, self.op = description["domain"], description["name"]
        self.name = f"{self.domain}::{self.op}" if self.domain else self.op
        self.inputs, self.outputs = ([_fields.Port(*port) for port in description[side]] for side in ("inputs", "outputs"))
        self.rows = description["fields"]
        self.fields = {row[2]: row for row in self.rows}
        self.runtime, self.plugin, self._operations = runtime, plugin, {}

    def load_into(self, runtime):
        load_plugins(runtime, self.plugin)

    def schema(self):
        parts = [f"{'Tensor[]' if port.has('variadic') else 'Tensor?' if port.has('optional') else 'Tensor'} {port.name}" for port in self.inputs]
        named = []
        for type, flags, name, fallback, *_ in self.rows:
            kind = SCHEMA_TYPES.get(KINDS.get(type))
            if kind is None:
                raise ValueError(f"{self.name}: its field '{name}' is {KINDS.get(type, 'a graph')}, which PyTorch's operators have not")
            named.append(f"{kind} {name}" if flags & _fields.REQUIRED else f"{kind}? {name}=None")
        results = ", ".join("Tensor" for _ in self.outputs)
        return f"({', '.join(parts + (['*'] if named else []) + named)}) -> {results if len(self.outputs) == 1 else f'({results})'}"

    def flat(self, inputs):
        """The inputs in a row, variadic ones behind the others."""
        return [each for port, given in zip(self.inputs, inputs) for each in (given if port.has("variadic") else [given])]


def register(library, *, namespace=None, runtime=None):
    """Makes the operators of a library (a path, or a tenon.Plugin) operators of PyTorch, and answers their names:

        tenon.torch.register("libmy_layer.so")
        y = torch.ops.Mine.SoftClip(x, high=8.0)

    They compute by Tenon's kernels, or by the reference where there is none, on the processor; torch.compile and torch.export see
    through by the shape rule; convert() makes nodes of them. They have no gradient: torch.library.register_autograd gives them
    one. Fields are keywords. `namespace` is that of torch.ops (default: the operators' domain)."""
    runtime = runtime or default_runtime()
    load_plugins(runtime, [library])
    if isinstance(library, Operator):
        found = [each for each in _engine.describe_operators(runtime) if (each["domain"], each["name"]) == (library.domain, library.op)]
    else:
        path = os.path.realpath(library)
        found = [each for each in _engine.describe_operators(runtime) if each["path"] and os.path.realpath(each["path"]) == path]
    newest = {(each["domain"], each["name"]): each for each in sorted(found, key=lambda each: each["version"])}
    if not newest:
        raise ValueError(f"{library!r} has no operators that could be registered")
    return [_register(Registered(each, runtime, library), namespace) for each in newest.values()]


def _register(operator, namespace):
    space = namespace or re.sub(r"\W", "_", operator.domain) or "tenon"
    made = torch.library.Library(space, "FRAGMENT")
    if not hasattr(getattr(torch.ops, space), operator.op):
        made.define(operator.op + operator.schema())
    name = f"{space}::{operator.op}"

    def compute(*inputs, **fields):
        arrays = [None if each is None else each.detach().contiguous().numpy() for each in operator.flat(inputs)]
        given = {key: value for key, value in fields.items() if value is not None}
        results = [torch.from_numpy(each) for each in operator._compute(operator._arrays(arrays), given)]
        return results[0] if len(results) == 1 else tuple(results)

    def describe(*inputs, **fields):
        results = _described(operator, operator.flat(inputs), {key: value for key, value in fields.items() if value is not None})
        return results[0] if len(results) == 1 else tuple(results)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of PyTorch 2.11, that a later registration takes the part of an earlier one
        made.impl(operator.op, compute, "CPU", allow_override=True)
        torch.library.register_fake(name, describe, lib=made, allow_override=True)
    _libraries.append(made)
    names = list(operator.fields)

    @converter(f"{space}.{operator.op}")
    def convert(net, *arguments):
        inputs = operator.flat(arguments[:len(operator.inputs)])
        fields = dict(zip(names, arguments[len(operator.inputs):]))
        operator.load_into(net.runtime)
        return net.add(operator.name, [each if isinstance(each, Value) or each is None else net.constant(each) for each in inputs],
                       {key: value for key, value in fields.items() if value is not None}, len(operator.outputs))

    return name


def _described(operator, tensors, fields):
    """Empty tensors of the outputs' shapes. Where extents are symbols, the shape rule is asked with two sets of numbers for them: what is
    the number of a symbol in both is that symbol, what is the same in both is known, and others are sizes that only a run knows."""
    symbols = {}
    for tensor in tensors:
        for extent in tensor.shape if tensor is not None else ():
            if not isinstance(extent, int):
                symbols.setdefault(str(extent), extent)
    trials = [[None if tensor is None else _view(tensor, symbols, add) for tensor in tensors]
              for add in ((7, 5), (11, 3))[:2 if symbols else 1]]
    operation = operator._operation(len(tensors), fields)
    answers = [_engine.operation_run(operation, trial, len(operator.outputs), False) for trial in trials]
    like = next(tensor for tensor in tensors if tensor is not None)
    results = []
    for index, (type, extents, _) in enumerate(answers[0]):
        pairs = zip(extents, answers[-1][index][1])
        values = [_extent(pair, symbols) if symbols else pair[0] for pair in pairs]
        results.append(like.new_empty(values, dtype=OF_TYPES[_types.NAMES[type]]))
    return results


def _number(position, add):
    return 64 + add[0] * position + add[1]


def _view(tensor, symbols, add):
    """The tensor as the extension takes one, without elements that anybody reads."""
    names = list(symbols)
    extents = [extent if isinstance(extent, int) else _number(names.index(str(extent)), add) for extent in tensor.shape]
    array = np.broadcast_to(np.zeros((), _types.DTYPES[TYPES[tensor.dtype]]), extents)
    return _types.NUMBERS[TYPES[tensor.dtype]], tuple(extents), np.ascontiguousarray(array)


def _extent(pair, symbols):
    for position, symbol in enumerate(symbols.values()):
        if pair == (_number(position, (7, 5)), _number(position, (11, 3))):
            return symbol
    return pair[0] if pair[0] == pair[1] else torch.library.get_ctx().new_dynamic_size()
