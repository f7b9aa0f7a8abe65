# SPDX-License-Identifier: Apache-2.0
"""tenon.torch.convert: from a torch module, by torch.export, to a network. _table.py has the converters by name."""

import io
import operator

import numpy as np
import torch
from torch.utils import _pytree as pytree

from tenon import _build, _engine
from tenon.torch import _elements, _layers, _shapes  # noqa: F401: they register converters
from tenon.torch._module import Module
from tenon.torch._table import TYPES, Network, Value, find, name_of


class MissingConverters(NotImplementedError):
    """Operators of PyTorch that have no converter. `missing` is a list of (name, where): each with the module, and the line of code,
    that it comes from."""

    def __init__(self, missing):
        self.missing = missing
        lines = [f"  {name}: {where}" for name, where in missing]
        super().__init__("no converter for\n" + "\n".join(lines) + "\nWrite one, @tenon.torch.converter(\"" + missing[0][0].removesuffix(
            ".default") + "\"), or convert(..., fallback=\"onnx\") by PyTorch's ONNX exporter")


def convert(module, example_inputs, *, shapes=None, kwargs=None, plugins=(), runtime=None, fallback=None, **options):
    """A tenon.torch.Module, a torch.nn.Module that computes on Tenon what `module` computes in its eval mode.

    example_inputs: a tuple of tensors, as torch.export takes them; kwargs: those by name.
    shapes: {"x": [least, optimal, greatest]} of inputs whose shape changes, by the names of forward's parameters; others keep the
        example's shape. Axes that differ in the three are dynamic.
    plugins: layers that converters use. fallback: "onnx": where a converter is missing, the whole module goes by torch.onnx.export.
    options: those of tenon.build.

    Raises MissingConverters, which names all of them; what torch.export refuses; tenon.Error."""
    if fallback not in (None, "onnx"):
        raise ValueError(f"fallback={fallback!r}: expected None or 'onnx'")
    if not isinstance(example_inputs, (tuple, list)):
        raise TypeError(f"example_inputs is {type(example_inputs).__name__}: expected a tuple of the forward's inputs, like (x,)")
    was_training = module.training
    module.eval()
    try:
        with torch.no_grad():
            exported = torch.export.export(module, tuple(example_inputs), kwargs or {},
                                           dynamic_shapes=_dynamic(module, example_inputs, kwargs or {}, shapes))
    finally:
        module.train(was_training)
    try:
        return of_exported(exported, shapes, plugins, runtime, options)
    except MissingConverters:
        if fallback is None:
            raise
    return _by_onnx(exported, shapes, plugins, runtime, options)


def _dynamic(module, inputs, kwargs, shapes):
    """What torch.export takes as dynamic shapes: the axes whose extents differ in `shapes`."""
    if not shapes:
        return None
    names, values = _bind(module, inputs, kwargs)
    unknown = [name for name in shapes if name not in names]
    if unknown:
        raise ValueError(f"shapes names '{unknown[0]}', and forward has {', '.join(names)}")
    result = {}
    for name, value in zip(names, values):
        three = _build.three_shapes(name, shapes[name]) if name in shapes else ()
        extents = list(zip(*three))
        if three and (not isinstance(value, torch.Tensor) or len(extents) != value.dim()):
            raise ValueError(f"shapes['{name}'] has {len(extents)} extents, and the example {getattr(value, 'shape', value)}")
        axes = {axis: torch.export.Dim.DYNAMIC for axis, extent in enumerate(extents) if len(set(extent)) > 1}
        result[name] = axes or None
    return result


def _bind(module, inputs, kwargs):
    """The names of forward's parameters that are given, and their values; those of *args by numbers."""
    import inspect
    bound = inspect.signature(module.forward).bind(*inputs, **kwargs)
    return list(bound.arguments), list(bound.arguments.values())


def of_exported(exported, shapes, plugins, runtime, options):
    """The module of a torch.export.ExportedProgram."""
    exported = _with_converters(exported)
    net, names, symbols = Network(runtime=runtime, plugins=plugins, opset=20), [], {}
    values = {node: value for node, value in _placeholders(exported, net, names, symbols)}
    outputs = _nodes(exported, net, values)
    for index, tensor in enumerate(outputs):
        net.output(net.add("Identity", [tensor]) if isinstance(tensor, Value) else net.constant(np.asarray(tensor)), f"output{index}")
    profile = {name: shapes[name] for name in names if shapes and name in shapes} or None
    if options.get("device", None) is None:
        options.pop("device", None)
    plan = _build.build(net._graph, (), profile, runtime=net.runtime, **options)
    return Module(plan, exported.call_spec.out_spec, plugins)


def _with_converters(exported):
    """Operators without a converter are decomposed into others, as PyTorch says; what is left then is missing."""
    table = torch.export.default_decompositions()
    for _ in range(4):
        missing = {node.target for node in exported.graph.nodes if node.op == "call_function" and not _is_known(node)}
        decomposed = {target: table[target] for target in missing if target in table}
        if not missing:
            return exported
        if not decomposed:
            break
        exported = exported.run_decompositions(decomposed)
    nodes = [node for node in exported.graph.nodes if node.op == "call_function" and not _is_known(node)]
    if nodes:
        raise MissingConverters([(name_of(node.target), _where(node)) for node in nodes])
    return exported


def _is_known(node):
    return node.target is operator.getitem or find(node.target) is not None or node.target in IGNORED


IGNORED = {torch.ops.aten._assert_scalar.default, torch.ops.aten._assert_tensor_metadata.default, torch.ops.aten.sym_constrain_range.default,
           torch.ops.aten.sym_constrain_range_for_size.default}


def _where(node):
    """'layer1.conv (model.py:12)'."""
    stack = [path for path, _ in (node.meta.get("nn_module_stack") or {}).values()]
    frames = [line for line in (node.meta.get("stack_trace") or "").splitlines() if line.strip().startswith("File ")]
    line = ""
    if frames:
        words = frames[-1].strip().split('"')
        line = f" ({words[1]}:{words[2].split('line ')[1].split(',')[0]})" if len(words) > 2 and "line " in words[2] else ""
    return (stack[-1].removeprefix("L['self'].") if stack and stack[-1] else "the module itself") + line


def _placeholders(exported, net, names, symbols):
    """Inputs become inputs; parameters, buffers and constants are made when a node asks for them."""
    specs = {spec.arg.name: spec for spec in exported.graph_signature.input_specs if hasattr(spec.arg, "name")}
    for node in exported.graph.nodes:
        if node.op != "placeholder":
            continue
        spec, val = specs[node.name], node.meta.get("val")
        if spec.kind == torch.export.graph_signature.InputKind.USER_INPUT:
            if not isinstance(val, torch.Tensor):
                raise TypeError(f"input '{node.name}' is {type(val).__name__}: expected tensors; others are constants of the module")
            if val.dtype not in TYPES:
                raise TypeError(f"input '{node.name}' is {val.dtype}: expected one of {', '.join(map(str, TYPES))}")
            extents = [int(extent) if isinstance(extent, int) else str(extent) for extent in val.shape]
            yield node, net.value(net.input(node.name, TYPES[val.dtype], extents), val)
            names.append(node.name)
        else:
            tensor = exported.state_dict.get(spec.target)
            yield node, exported.constants[spec.target] if tensor is None else tensor


def _nodes(exported, net, values):
    constants = {}

    def value(argument):
        if not isinstance(argument, torch.fx.Node):
            return argument
        found = values[argument]
        if isinstance(found, torch.Tensor):  # a parameter: a constant on its first use
            if argument not in constants:
                array = found.detach().cpu().contiguous()
                if array.dtype not in TYPES:
                    raise TypeError(f"'{argument.name}' is {array.dtype}: expected one of {', '.join(map(str, TYPES))}")
                constants[argument] = net.value(net.constant(array.numpy(), name=argument.name), found)
            return constants[argument]
        return found

    for node in exported.graph.nodes:
        if node.op == "output":
            return [value(each) for each in node.args[0]]
        if node.op != "call_function" or node.target in IGNORED:
            continue
        if node.target is operator.getitem:
            values[node] = values[node.args[0]][node.args[1]]
            continue
        values[node] = _one(net, node, value)
    raise AssertionError("a graph without outputs")


def _one(net, node, value):
    arguments = _arguments(node)
    try:
        made = find(node.target)(net, *pytree.tree_map(value, arguments, is_leaf=lambda leaf: isinstance(leaf, torch.fx.Node)))
    except (_engine.Error, TypeError, ValueError, KeyError) as error:
        error.add_note(f"{name_of(node.target)} of {_where(node)}")
        raise
    vals = node.meta.get("val")
    if isinstance(made, (list, tuple)):
        return [net.value(each, val) if each is not None else None for each, val in zip(made, vals)]
    return net.value(made, vals) if hasattr(made, "number") else made


def _arguments(node):
    """The arguments in the schema's order, defaults filled in."""
    if not isinstance(node.target, torch._ops.OpOverload):
        return list(node.args)
    result = list(node.args)
    for argument in node.target._schema.arguments[len(result):]:
        result.append(node.kwargs.get(argument.name, argument.default_value))
    return result


def _by_onnx(exported, shapes, plugins, runtime, options):
    """By PyTorch's exporter to ONNX (it needs the package onnxscript)."""
    program = torch.onnx.export(exported, dynamo=True, verbose=False)
    data = io.BytesIO()
    program.save(data)
    plan = _build.build(data.getvalue(), plugins, shapes, runtime=runtime, format="onnx", **options)
    return Module(plan, exported.call_spec.out_spec, plugins)
