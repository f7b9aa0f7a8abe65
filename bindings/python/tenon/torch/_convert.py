# SPDX-License-Identifier: Apache-2.0
"""tenon.torch.convert: from a torch module, by torch.export, to a network. _table.py has the converters by name, _parts.py what of a
graph runs in PyTorch."""

import io
import operator
import warnings

import numpy as np
import torch
from torch.utils import _pytree as pytree

from tenon import _build, _engine
from tenon.torch import _elements, _layers, _parts, _shapes  # noqa: F401: they register converters
from tenon.torch._module import Module
from tenon.torch._table import TYPES, Network, Value, find, name_of


class MissingConverters(NotImplementedError):
    """Operators of PyTorch that have no converter. `missing` is a list of (name, where): each with the module, and the line of code,
    that it comes from."""

    def __init__(self, missing):
        self.missing = missing
        lines = [f"  {name}: {where}" for name, where in missing]
        super().__init__("no converter for\n" + "\n".join(lines) + "\nWrite one, @tenon.torch.converter(\"" + missing[0][0].removesuffix(
            ".default") + "\"), or convert(..., fallback=\"torch\"), which runs these in PyTorch, or fallback=\"onnx\" by PyTorch's ONNX "
                         "exporter")


def convert(module, example_inputs, *, shapes=None, kwargs=None, plugins=(), runtime=None, fallback=None, **options):
    """A tenon.torch.Module, a torch.nn.Module that computes on Tenon what `module` computes in its eval mode.

    example_inputs: a tuple of tensors, as torch.export takes them; kwargs: those by name.
    shapes: {"x": [least, optimal, greatest]} of inputs whose shape changes, by the names of forward's parameters; others keep the
        example's shape. Axes that differ in the three are dynamic.
    plugins: layers that converters use.
    fallback: what is done where a converter is missing. "torch": these operators, and those that a converter refuses, run in PyTorch,
        between networks (the result's in_pytorch names them); "onnx": the whole module goes by torch.onnx.export.
    options: those of tenon.build. device is that of the example's tensors where it is not given.

    Raises MissingConverters, which names all of them; what torch.export refuses; tenon.Error."""
    if fallback not in (None, "onnx", "torch"):
        raise ValueError(f"fallback={fallback!r}: expected None, 'onnx' or 'torch'")
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
    original = exported
    exported, missing = _with_converters(exported)
    if missing and fallback is None:
        raise MissingConverters(missing)
    if options.get("device") is None:
        options["device"] = _device_of(example_inputs, kwargs or {})
    if missing and fallback == "onnx":
        return _by_onnx(original, shapes, plugins, runtime, options)
    common = {"plugins": plugins, "runtime": runtime, "options": options}
    return _mixed(exported, missing, shapes, **common) if fallback == "torch" else _whole(exported, shapes, **common)


def _device_of(inputs, kwargs):
    """"cuda:1" of the first tensor on a GPU; None: the processor."""
    tensors = [each for each in pytree.tree_leaves((inputs, kwargs)) if isinstance(each, torch.Tensor)]
    return next((f"cuda:{each.device.index or 0}" for each in tensors if each.is_cuda), None)


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


def _whole(exported, shapes, plugins, runtime, options):
    """The module of a torch.export.ExportedProgram whose operators all have converters."""
    users = _parts.users(exported)
    outputs = [(f"output{index}", each) for index, each in enumerate(_parts.results(exported))]
    profile = {node.name: shapes[node.name] for node in users if shapes and node.name in shapes} or None
    plan = _network(exported, exported.graph.nodes, users, outputs, plugins, runtime).build(profile, **options)
    return Module(plan, exported.call_spec.out_spec, plugins, device=options["device"])


def _mixed(exported, missing, shapes, **common):
    """The same where some run in PyTorch: those without a converter, and those that their converter refuses."""
    refused = {}
    while True:
        try:
            if not missing and not refused:
                return _whole(exported, shapes, **common)
            return _in_parts(exported, missing + list(refused.values()), refused, shapes, **common)
        except (_engine.Error, TypeError, ValueError, KeyError) as error:
            node = getattr(error, "refused", None)
            if node is None or node in refused:
                raise
            refused[node] = name_of(node.target), f"{_where(node)}: {error}"


def _in_parts(exported, missing, refused, shapes, plugins, runtime, options):
    profile = {name: _build.three_shapes(name, shape) for name, shape in (shapes or {}).items()}
    extents, split, parts = _parts.Extents(exported, profile), [], []
    for part in _parts.split(exported, lambda node: _is_known(node) and node not in refused):
        outputs = [(node.name, node) for node in part.outputs]
        split.append((part, _network(exported, part.nodes, part.inputs, outputs, plugins, runtime) if part.in_tenon else None))
    for part, net in split:  # a plan takes time: only when no converter has refused
        made = net.build(_profile(part, extents), **options) if net else _parts.program(exported, part, extents)
        parts.append((made, [node.name for node in part.inputs], [node.name for node in part.outputs]))
    names, constants = [], {}
    for index, each in enumerate(_parts.results(exported)):
        is_node = isinstance(each, torch.fx.Node)
        if is_node and not isinstance(each.meta["val"], torch.Tensor):
            raise TypeError(f"output {index} is a number that a run computes: with fallback='torch' outputs are tensors")
        names.append(each.name if is_node else f"constant{index}")
        if not is_node:
            constants[names[-1]] = each if each is None else torch.as_tensor(each)
        elif each.op == "placeholder" and each not in _parts.users(exported):
            constants[each.name] = _parts.constant_of(exported, each).detach()
    module = Module(None, exported.call_spec.out_spec, plugins, programs=True, device=options["device"])
    module._set_parts([node.name for node in _parts.users(exported)], names, parts, constants)
    module.in_pytorch = missing
    return module


def _profile(part, extents):
    """The shapes of a part's inputs where the caller's shapes say them; others have any."""
    three = {node.name: extents.three(node.meta["val"]) for node in part.inputs}
    return {name: shapes for name, shapes in three.items() if shapes and len(set(shapes)) > 1} or None


def _with_converters(exported):
    """Operators without a converter are decomposed into others, as PyTorch says; what is left then is missing, as (name, where)."""
    table = torch.export.default_decompositions()
    for _ in range(4):
        missing = _missing(exported)
        decomposed = {node.target: table[node.target] for node in missing if node.target in table}
        if not missing:
            return exported, []
        if not decomposed:
            break
        exported = _parts.decomposed(exported, decomposed)
    if _missing(exported):
        exported = _parts.decomposed(exported, {})  # without operators that write to their inputs
    return exported, [(name_of(node.target), _where(node)) for node in _missing(exported)]


def _missing(exported):
    return [node for node in exported.graph.nodes if node.op == "call_function" and not _is_known(node) and not _is_idle(node)]


def _is_idle(node):
    """Whether a number is computed for an assertion alone, which a network has not."""
    return _parts.is_number(node) and all(user.target in IGNORED or _is_idle(user) for user in node.users)


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


def _network(exported, nodes, inputs, outputs, plugins, runtime):
    """A Network of nodes of an exported graph. outputs: (name, node or a number)."""
    net, values = Network(runtime=runtime, plugins=plugins, opset=20), {}
    for node in inputs:
        values[node] = _input(net, node)

    def value(argument):
        if not isinstance(argument, torch.fx.Node):
            return argument
        if argument not in values and argument.op == "placeholder":  # a parameter: a constant on its first use
            tensor = _parts.constant_of(exported, argument)
            if isinstance(tensor, torch.Tensor):
                tensor = net.value(net.tensor(tensor, argument.name), tensor)
            values[argument] = tensor
        return values[argument]

    for node in nodes:
        if node.op != "call_function" or node.target in IGNORED or _is_idle(node):
            continue
        if node.target is operator.getitem:
            values[node] = values[node.args[0]][node.args[1]]
            continue
        values[node] = _one(net, node, value)
    for name, each in outputs:
        tensor = value(each)
        net.output(net.add("Identity", [tensor]) if isinstance(tensor, Value) else net.constant(np.asarray(tensor)), name)
    return net


def _input(net, node):
    val = node.meta.get("val")
    if not isinstance(val, torch.Tensor):
        raise TypeError(f"input '{node.name}' is {type(val).__name__}: expected tensors; others are constants of the module")
    if val.dtype not in TYPES:
        raise TypeError(f"input '{node.name}' is {val.dtype}: expected one of {', '.join(map(str, TYPES))}")
    extents = [int(extent) if isinstance(extent, int) else str(extent) for extent in val.shape]
    return net.value(net.input(node.name, TYPES[val.dtype], extents), val)


def _one(net, node, value):
    arguments = _arguments(node)
    try:
        made = find(node.target)(net, *pytree.tree_map(value, arguments, is_leaf=lambda leaf: isinstance(leaf, torch.fx.Node)))
    except (_engine.Error, TypeError, ValueError, KeyError) as error:
        error.add_note(f"{name_of(node.target)} of {_where(node)}")
        error.refused = node
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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of PyTorch 2.11's own classes
        program = torch.onnx.export(exported, dynamo=True, verbose=False)
    data = io.BytesIO()
    program.save(data)
    plan = _build.build(data.getvalue(), plugins, shapes, runtime=runtime, format="onnx", **options)
    return Module(plan, exported.call_spec.out_spec, plugins, device=options["device"])
