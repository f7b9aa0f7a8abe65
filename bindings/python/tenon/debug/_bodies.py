# SPDX-License-Identifier: Apache-2.0
"""Into the bodies of a node with control flow: each is a model of its own, on the values that it gets."""

import copy

import numpy as np

from . import _models

MOST_ITERATIONS = 32  # of a loop that are compared, each by itself
NAMES = {"If", "Loop", "Scan"}


def captured(graph, outer=()):
    """Names that a graph reads and does not define, its own bodies' included."""
    known = {port.name for port in graph.input} | {tensor.name for tensor in graph.initializer} | set(outer)
    found = []
    for node in graph.node:
        names = [name for name in node.input if name and name not in known]
        for attribute in node.attribute:
            for body in [attribute.g, *attribute.graphs]:
                names += captured(body, known)
        found += [name for name in names if name not in found]
        known.update(node.output)
    return found + [port.name for port in graph.output if port.name not in known and port.name not in found]


def constants(graph):
    """Constant tensors by name: initializers, and what nodes called Constant have."""
    numpy_helper = _models.need("onnx", "every_node").numpy_helper
    found = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    for node in graph.node:
        for attribute in node.attribute if node.op_type == "Constant" else ():
            if attribute.name == "value":
                found[node.output[0]] = numpy_helper.to_array(attribute.t)
    return found


def body_model(model, body, values, inputs):
    """The body as a model: its inputs are those arrays, what it captures its constants."""
    onnx = _models.need("onnx", "every_node")
    made = onnx.ModelProto()
    made.CopyFrom(model)
    graph = made.graph
    graph.CopyFrom(body)
    del graph.input[:]
    graph.input.extend(onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
                       for name, array in inputs.items())
    graph.initializer.extend(onnx.numpy_helper.from_array(np.asarray(values[name]), name) for name in captured(body) if name in values)
    return made


def attribute_of(node, name, default=None):
    onnx = _models.need("onnx", "every_node")
    return next((onnx.helper.get_attribute_value(attribute) for attribute in node.attribute if attribute.name == name), default)


def body_compare(sides, body, values, inputs):
    """(Comparison, values that are right) of one run of a body."""
    from ._compare import Sides
    model = body_model(sides.onnx_model, body, values, inputs)
    settings = copy.copy(sides.settings)
    settings.shapes = None
    inner = Sides(model, sides.against, settings, *sides.given, True)
    inner.onnx_model = model
    found, wanted = inner.run(inputs)
    if found.first is not None:
        found.inside = inside(inner, found.first, {**wanted, **inputs})
    return found, wanted


def iterations(node, body, values):
    """Generator of each iteration's inputs, which is sent the body's outputs: of Loop and Scan."""
    given = [np.asarray(values[name]) if name else None for name in node.input]
    names = [port.name for port in body.input]
    if node.op_type == "Loop":
        count, condition = given[0], given[1]
        carried, iteration = given[2:], 0
        while (count is None or iteration < int(count)) and (condition is None or bool(condition)):
            outputs = yield dict(zip(names, [np.int64(iteration).reshape(()), np.asarray(True), *carried]))
            condition, carried, iteration = outputs[0], list(map(np.asarray, outputs[1:1 + len(carried)])), iteration + 1
        return
    scanned = attribute_of(node, "num_scan_inputs")
    axes = attribute_of(node, "scan_input_axes") or [0] * scanned
    backwards = attribute_of(node, "scan_input_directions") or [0] * scanned
    states, lists = given[:-scanned], given[-scanned:]
    for i in range(lists[0].shape[axes[0]]):
        slices = [np.take(array, -1 - i if back else i, axis) for array, axis, back in zip(lists, axes, backwards)]
        outputs = yield dict(zip(names, map(np.asarray, [*states, *slices])))
        states = outputs[:len(states)]


def inside(sides, first, values):
    """The comparison of the body of the node that differs first, in the first iteration where it does; None: it has no bodies, or
    they agree."""
    if not hasattr(sides, "onnx_model"):
        sides.onnx_model = _models.onnx_model(sides.model, "every_node")
    graph = sides.onnx_model.graph
    node = next((node for node in graph.node if first.tensor in node.output), None)
    if node is None or node.op_type not in NAMES or node.domain not in ("", "ai.onnx"):
        return None
    values = {**constants(graph), **values}
    if any(name and name not in values for name in node.input):
        return None
    if node.op_type == "If":
        branch = "then_branch" if bool(np.asarray(values[node.input[0]])) else "else_branch"
        found, _ = body_compare(sides, attribute_of(node, branch), values, {})
        found.notes.insert(0, f"the {branch} of '{node.name}'")
        return found
    body = attribute_of(node, "body")
    steps = iterations(node, body, values)
    inputs = next(steps, None)
    for iteration in range(MOST_ITERATIONS):
        if inputs is None:
            break
        found, wanted = body_compare(sides, body, values, inputs)
        if not found.ok:
            found.notes.insert(0, f"iteration {iteration} of '{node.name}'")
            return found
        try:
            inputs = steps.send([wanted.get(port.name, inputs.get(port.name)) for port in body.output])
        except StopIteration:
            break
    return None
