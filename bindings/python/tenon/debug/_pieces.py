# SPDX-License-Identifier: Apache-2.0
"""Parts of an ONNX model as models of their own: fewer nodes, other outputs, cut inputs."""

import numpy as np

from . import _bodies, _models


class Piece:
    """A model, the arrays that it is run on, and the values that its tensors have in that run, as far as they are known."""

    def __init__(self, model, inputs, values):
        self.model, self.inputs, self.values = model, inputs, values

    @property
    def nodes(self):
        return self.model.graph.node

    def count(self):
        """Nodes, those in bodies included."""
        def of(graph):
            return sum(1 + sum(of(body) for attribute in node.attribute for body in [attribute.g, *attribute.graphs])
                       for node in graph.node)
        return of(self.model.graph)

    def copy(self):
        made = type(self.model)()
        made.CopyFrom(self.model)
        return Piece(made, dict(self.inputs), self.values)


def _reads(node):
    """All that a node reads, what its bodies capture included."""
    return [name for name in node.input if name] + [name for attribute in node.attribute for body in [attribute.g, *attribute.graphs]
                                                    for name in _bodies.captured(body)]


def _replace(field, items):
    items = list(items)
    del field[:]
    field.extend(items)


def _port(piece, name):
    """A declared input, or one of the value's type and shape; None: nothing is known of it."""
    helper = _models.need("onnx", "tenon.debug.reduce").helper
    declared = next((port for port in piece.model.graph.input if port.name == name), None)
    if declared is not None or name not in piece.values:
        return declared
    array = np.asarray(piece.values[name])
    try:
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
    except (KeyError, ValueError, TypeError):
        return None  # no tensor


def part(piece, kept, outputs):
    """The nodes of these indices that the outputs need: what else they read becomes inputs. None: a value is not known, or nothing is
    left."""
    graph = piece.model.graph
    needed, chosen = set(outputs), []
    for index in sorted(kept, reverse=True):
        node = graph.node[index]
        if needed.intersection(node.output):
            chosen.insert(0, index)
            needed.update(_reads(node))
    computed = {name for index in chosen for name in graph.node[index].output}
    outputs = [name for name in outputs if name in computed]
    if not chosen or not outputs:
        return None
    constants = {tensor.name for tensor in graph.initializer} | {tensor.values.name for tensor in graph.sparse_initializer}
    read = list(dict.fromkeys(name for index in chosen for name in _reads(graph.node[index])))
    ports = [_port(piece, name) for name in read if name not in computed and name not in constants]
    if any(port is None for port in ports):
        return None
    made = piece.copy()
    _prune(made, chosen, ports, outputs, set(read))
    made.inputs = {port.name: np.asarray(piece.inputs.get(port.name, piece.values.get(port.name))) for port in ports}
    return made


def _output(piece, name):
    """Its type alone: shapes follow from the inputs, which may be cut."""
    port = _port(piece, name) or _models.need("onnx", "tenon.debug.reduce").ValueInfoProto(name=name)
    if port.type.HasField("tensor_type"):
        port.type.tensor_type.ClearField("shape")
    return port


def _prune(made, chosen, ports, outputs, read):
    graph = made.model.graph
    declared = {port.name: port for port in graph.output}
    types = {info.name: info for info in graph.value_info}
    _replace(graph.output, [declared.get(name) or types.get(name) or _output(made, name) for name in outputs])
    _replace(graph.node, [graph.node[index] for index in chosen])
    _replace(graph.input, ports)
    _replace(graph.initializer, [tensor for tensor in graph.initializer if tensor.name in read])
    _replace(graph.sparse_initializer, [tensor for tensor in graph.sparse_initializer if tensor.values.name in read])
    _replace(graph.value_info, [info for info in graph.value_info if info.name not in outputs and info.name in read])


def bodies(piece):
    """Bodies of the nodes with control flow as models of their own: the branch that is taken, the first iteration."""
    values = {**_bodies.constants(piece.model.graph), **piece.values, **piece.inputs}
    for node in piece.nodes:
        if node.op_type not in _bodies.NAMES or any(name and name not in values for name in node.input):
            continue
        if node.op_type == "If":
            branch = "then_branch" if bool(np.asarray(values[node.input[0]])) else "else_branch"
            yield _body(piece, _bodies.attribute_of(node, branch), values, {})
        else:
            body = _bodies.attribute_of(node, "body")
            inputs = next(_bodies.iterations(node, body, values), None)
            if inputs is not None:
                yield _body(piece, body, values, inputs)


def _body(piece, body, values, inputs):
    free = [name for name in _bodies.captured(body) if name in values and name not in _bodies.constants(piece.model.graph)]
    inputs = {**inputs, **{name: np.asarray(values[name]) for name in free}}
    model = _bodies.body_model(piece.model, body, {name: values[name] for name in values if name not in inputs}, inputs)
    return Piece(model, inputs, {})


def without_details(piece):
    """Copies of the model, each without one attribute, without the last optional input of a node, or with a node of a body bypassed."""
    for path in _graphs(piece.model.graph):
        for index, node in enumerate(_at(piece.model.graph, path).node):
            for position, attribute in enumerate(node.attribute):
                if not attribute.HasField("g") and not attribute.graphs:
                    made = piece.copy()
                    del _at(made.model.graph, path).node[index].attribute[position]
                    yield made
            if len(node.input) > 1:
                made = piece.copy()
                del _at(made.model.graph, path).node[index].input[-1]
                yield made
            for source in node.input if path else ():
                if source:
                    yield _bypassed(piece, path, index, source)


def _bypassed(piece, path, index, source):
    made = piece.copy()
    graph = _at(made.model.graph, path)
    node = graph.node[index]
    name = node.output[0]
    if any(port.name == name for port in graph.output):
        replacement = _models.need("onnx", "tenon.debug.reduce").helper.make_node("Identity", [source], [name], node.name)
        if node.op_type == "Identity":
            return None
        node.CopyFrom(replacement)
        return made
    del graph.node[index]
    for other in graph.node:
        for position, read in enumerate(other.input):
            if read == name:
                other.input[position] = source
    return made


def _graphs(graph, path=()):
    """Paths of (node, attribute) to a graph and all bodies in it."""
    yield path
    for index, node in enumerate(graph.node):
        for position, attribute in enumerate(node.attribute):
            if attribute.HasField("g"):
                yield from _graphs(attribute.g, (*path, (index, position)))


def _at(graph, path):
    for index, position in path:
        graph = graph.node[index].attribute[position].g
    return graph


def smaller(piece):
    """Copies whose inputs are cut to 1 or to half: every axis of one extent, and one axis alone."""
    axes = [(name, axis, extent) for name, array in piece.inputs.items() for axis, extent in enumerate(array.shape) if extent > 1]
    extents = sorted({extent for _, _, extent in axes}, reverse=True)
    groups = [[each for each in axes if each[2] == extent] for extent in extents]
    for group in groups + [[each] for each in axes]:
        for less in dict.fromkeys((1, group[0][2] // 2)):
            yield _cut(piece, {(name, axis) for name, axis, _ in group}, less)


def _cut(piece, axes, less):
    made = piece.copy()
    for name, array in made.inputs.items():
        made.inputs[name] = array[tuple(slice(less if (name, axis) in axes else None) for axis in range(array.ndim))]
    for port in made.model.graph.input:
        for axis, dimension in enumerate(port.type.tensor_type.shape.dim):
            if (port.name, axis) in axes and dimension.HasField("dim_value"):
                dimension.dim_value = less
    del made.model.graph.value_info[:]
    for port in made.model.graph.output:
        port.type.tensor_type.ClearField("shape")
    made.values = {}
    return made
