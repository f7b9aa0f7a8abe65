# SPDX-License-Identifier: Apache-2.0
"""What a network is compared with: onnxruntime, the operators' references, a plan, another precision, a function."""

import numpy as np

import tenon
from tenon import _plan
from tenon._build import PRECISIONS

from . import _models, _tensors

# Domains whose operators onnxruntime has by itself.
KNOWN = {"", "ai.onnx", "ai.onnx.ml", "com.microsoft", "ai.onnx.preview", "ai.onnx.preview.training"}


def session(model):
    """An onnxruntime.InferenceSession that computes what the model says, node by node."""
    runtime = _models.need("onnxruntime", 'against="onnxruntime"')
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def is_foreign(node, functions):
    """Whether onnxruntime has no operator for a node, or for one in its bodies."""
    if node.domain not in KNOWN and (node.domain, node.op_type) not in functions:
        return True
    return any(is_foreign(inner, functions) for attribute in node.attribute for body in [attribute.g, *attribute.graphs]
               for inner in body.node)


def with_outputs(model, names):
    """Makes tensors outputs, after those that there are."""
    onnx = _models.need("onnx", "every_node")
    have = {port.name for port in model.graph.output}
    types = {info.name: info for info in model.graph.value_info}
    model.graph.output.extend(types.get(name) or onnx.ValueInfoProto(name=name) for name in names if name not in have)


def cut(model, values):
    """Takes the nodes out that onnxruntime does not have; what they compute becomes inputs, of the values that are known. Answers
    these inputs' names."""
    helper = _models.need("onnx", 'against="onnxruntime"').helper
    functions = {(function.domain, function.name) for function in model.functions}
    foreign = [node for node in model.graph.node if is_foreign(node, functions)]
    given = []
    for node in foreign:
        for name in node.output:
            if name:
                kind = helper.np_dtype_to_tensor_dtype(np.asarray(values[name]).dtype)
                model.graph.input.append(helper.make_tensor_value_info(name, kind, values[name].shape))
                given.append(name)
        model.graph.node.remove(node)
    kept = [port for port in model.graph.output if port.name not in given]
    del model.graph.output[:]
    model.graph.output.extend(kept)
    return given


def by_onnxruntime(model, inputs, names, values):
    """Values of tensors by onnxruntime, of those among `names` that it computes, and the names that it was given."""
    model = _models.onnx_model(model, 'against="onnxruntime"')
    own = {name for node in model.graph.node for name in node.output if name}
    with_outputs(model, [name for name in names if name in own])
    given = cut(model, values)
    if not model.graph.node or not model.graph.output:
        return {}, given
    ready = session(model)
    feeds = {port.name: np.asarray(inputs[port.name] if port.name in inputs else values[port.name]) for port in ready.get_inputs()}
    outputs = [port.name for port in ready.get_outputs()]
    return dict(zip(outputs, ready.run(outputs, feeds))), given


def function_for(node, plugins):
    """The tenon.Plugin of a node that has a reference in NumPy; None: there is none."""
    name = f"{node.domain}::{node.op_type}"
    return next((plugin for plugin in plugins if getattr(plugin, "python_reference", None) and plugin.name == name), None)


def by_functions(model, plugins, values):
    """Outputs of nodes whose tenon.Plugin has a reference in NumPy, from what the nodes read."""
    helper = _models.need("onnx", 'against="onnxruntime"').helper
    found = {}
    for node in model.graph.node:
        plugin = function_for(node, plugins)
        if plugin is None or any(name and name not in values for name in node.input):
            continue
        fields = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
        fields = {name: field.default for name, field in plugin.fields.items() if field.row(name)[3] is not None} | {
            name: value.decode() if isinstance(value, bytes) else value for name, value in fields.items()}
        results = plugin.python_reference(*(values[name] if name else None for name in node.input), **fields)
        results = results if isinstance(results, (list, tuple)) else [results]
        found.update((name, np.asarray(result)) for name, result in zip(node.output, results) if name)
    return found


def function_of(against):
    """(name, function from inputs to a dict of outputs) of what has only outputs; None: it is not such a thing."""
    if isinstance(against, dict):
        return "given arrays", lambda inputs: against
    if isinstance(against, tenon.Plan) or not callable(against) and not isinstance(against, str) and _plan.is_plan(against):
        against = tenon.load(against)
    elif isinstance(against, str) and against not in PRECISIONS and _plan.is_plan(against):
        against = tenon.load(against)
    if isinstance(against, tenon.Engine):
        context = against.context()
        return "another engine", context.run
    if isinstance(against, tenon.Network):
        return "another plan", lambda inputs: _tensors.values(against, inputs)
    return (getattr(against, "__name__", "a function"), against) if callable(against) else None


def precision_of(against):
    """The precision that a text names; None: it names none."""
    return against if isinstance(against, str) and all(part.strip() in PRECISIONS for part in against.split(",")) else None
