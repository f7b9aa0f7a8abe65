# SPDX-License-Identifier: Apache-2.0
"""An exported graph in parts that run one after the other, in Tenon and in PyTorch by turns: which node is in which, what each reads and
returns, and the parts of PyTorch as programs. _convert.py makes the networks of the others."""

import io
import operator
import warnings

import torch
from torch.export.graph_signature import InputKind


class Part:
    """Nodes that run together. inputs: what they read of the caller's tensors and of parts before, as nodes; outputs: their own nodes
    that others read."""

    def __init__(self, in_tenon):
        self.in_tenon, self.nodes, self.inputs, self.outputs = in_tenon, [], [], []


def users(exported):
    """The placeholders that are the caller's, in order; others are parameters, buffers and constants."""
    kinds = {spec.arg.name: spec.kind for spec in exported.graph_signature.input_specs if hasattr(spec.arg, "name")}
    return [node for node in exported.graph.nodes if node.op == "placeholder" and kinds[node.name] == InputKind.USER_INPUT]


def constant_of(exported, node):
    """The tensor of a placeholder that is not the caller's."""
    targets = {spec.arg.name: spec.target for spec in exported.graph_signature.input_specs if hasattr(spec.arg, "name")}
    target = targets[node.name]
    tensor = exported.state_dict.get(target)
    return exported.constants[target] if tensor is None else tensor


def decomposed(exported, table):
    """The program with operators decomposed, without the warnings of PyTorch 2.11 about its own copies of its own classes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return exported.run_decompositions(table)


def results(exported):
    return next(node for node in exported.graph.nodes if node.op == "output").args[0]


def is_number(node):
    """An extent or another number: it is computed anew in each part that needs it, and never passed on."""
    value = node.meta.get("val")
    return node.op == "call_function" and value is not None and not isinstance(value, (torch.Tensor, tuple, list))


def _reads(node):
    """The nodes that computing a node reads, those behind numbers included."""
    found, waiting = {}, list(node.all_input_nodes)
    while waiting:
        each = waiting.pop()
        if each not in found:
            found[each] = True
            waiting += each.all_input_nodes if is_number(each) else ()
    return found


def split(exported, is_known):
    """The parts of a graph of which is_known(node) says what Tenon has a converter for. Each node is in the first part that it can
    be in, so that there are as few as can be: those with even numbers are Tenon's."""
    stages, given = {}, set(users(exported))
    for node in exported.graph.nodes:
        if node.op != "call_function" or is_number(node) or node.meta.get("val") is None:  # None: of an assertion
            continue
        reads = _reads(node)
        if node.target is operator.getitem:
            stages[node] = stages[node.args[0]]
            continue
        in_tenon = is_known(node) and all(is_known(each) for each in reads if is_number(each))
        first = max((stages[each] for each in reads if each in stages), default=0)
        stages[node] = first + (first % 2 == in_tenon)
    parts = {stage: Part(stage % 2 == 0) for stage in sorted(set(stages.values()))}
    for node in exported.graph.nodes:
        if node not in stages:
            continue
        part = parts[stages[node]]
        for each in _reads(node):
            if (each in given or stages.get(each, stages[node]) != stages[node]) and each not in part.inputs:
                part.inputs.append(each)
    for stage, part in parts.items():
        own = {node for node in stages if stages[node] == stage}
        needed = own | {each for node in own for each in _reads(node) if is_number(each) or each.op == "get_attr"}
        part.nodes = [node for node in exported.graph.nodes if node in needed]
        read_elsewhere = {each for other in parts.values() if other is not part for each in other.inputs} | set(
            node for node in results(exported) if isinstance(node, torch.fx.Node))
        part.outputs = [node for node in part.nodes if node in own and node in read_elsewhere]
    return [part for part in parts.values() if part.outputs]


class Extents:
    """What the extents of a graph's tensors are at the least, the optimal and the greatest shapes of its inputs."""

    def __init__(self, exported, shapes):
        self.known = [{}, {}, {}]
        for node in users(exported):
            three = shapes.get(node.name) if shapes else None
            for axis, extent in enumerate(node.meta["val"].shape):
                if not isinstance(extent, int) and extent.node.expr.is_Symbol and three:
                    for known, shape in zip(self.known, three):
                        known[extent.node.expr] = shape[axis]

    def at(self, extent, point):
        """The extent at point 0, 1 or 2; None: only a run knows."""
        if isinstance(extent, int):
            return extent
        value = extent.node.expr.subs(self.known[point])
        return int(value) if value.is_number else None

    def three(self, tensor):
        """Three shapes of a tensor, the least, the optimal and the greatest, or None."""
        points = [[self.at(extent, point) for point in range(3)] for extent in tensor.shape]
        if any(None in extents for extents in points):
            return None
        return [tuple(min(extents) for extents in points), tuple(extents[1] for extents in points), tuple(max(extents) for extents in points)]


UNKNOWN_EXTENT = 5  # of an example's axis that no shape says


def program(exported, part, extents):
    """The bytes of an exported program, as torch.export.load takes them, of a part that runs in PyTorch."""
    graph, made, constants = torch.fx.Graph(), {}, {}
    for node in part.inputs:
        made[node] = graph.placeholder(node.name)
    for node in part.nodes:
        for each in node.all_input_nodes:
            if each not in made:  # a parameter, buffer or constant
                constants[each.name] = constant_of(exported, each).detach()
                made[each] = graph.get_attr(each.name)
        if node.op == "get_attr":
            constants[node.target] = getattr(exported.graph_module, node.target)
        made[node] = graph.node_copy(node, made.__getitem__)
    graph.output(tuple(made[node] for node in part.outputs))
    module, examples, dynamic = torch.fx.GraphModule(constants, graph), [], []
    for node in part.inputs:
        tensor = node.meta["val"]
        shape = [extents.at(extent, 1) or UNKNOWN_EXTENT for extent in tensor.shape]
        examples.append(torch.zeros(shape, dtype=tensor.dtype, device=tensor.device))
        dynamic.append({axis: torch.export.Dim.AUTO for axis, extent in enumerate(tensor.shape) if not isinstance(extent, int)})
    with torch.no_grad():
        again = torch.export.export(module, tuple(examples), dynamic_shapes=tuple(dynamic))
    data = io.BytesIO()
    torch.export.save(again, data)
    return data.getvalue()
