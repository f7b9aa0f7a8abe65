# SPDX-License-Identifier: Apache-2.0
"""Values of a model's tensors from whatever can compute them, for tenon.debug.reduce."""

import numpy as np

from . import _bodies, _models, _others, _tensors


def _numpy_type(kind):
    return np.dtype(_models.need("onnx", "tenon.debug.reduce").helper.tensor_dtype_to_np_dtype(kind))


def _random(generator, kind, shape):
    """Small values of a type; whole numbers are 0 and 1, which most operators can do with."""
    if kind.kind == "f" or kind.name in ("bfloat16",):
        return generator.standard_normal(shape).astype(kind)
    if kind.kind == "O":
        return np.full(shape, "", object)
    return generator.integers(0, 2, shape).astype(kind)


def inputs_of(model, inputs):
    """The inputs by name; random ones where none are given and all shapes are declared."""
    ports = [port for port in model.graph.input if port.name not in {tensor.name for tensor in model.graph.initializer}]
    names = [port.name for port in ports]
    if inputs is not None:
        if not isinstance(inputs, dict):
            inputs = dict(zip(names, inputs if isinstance(inputs, (tuple, list)) and len(names) > 1 else (inputs,)))
        if set(inputs) != set(names):
            from tenon import _arrays
            _arrays.refuse_names(names, inputs)
        return {port.name: np.asarray(inputs[port.name], None if hasattr(inputs[port.name], "dtype") else
                                      _numpy_type(port.type.tensor_type.elem_type)) for port in ports}
    generator, found = np.random.default_rng(0), {}
    for port in ports:
        shape = [dimension.dim_value if dimension.HasField("dim_value") else 1 for dimension in port.type.tensor_type.shape.dim]
        if not port.type.tensor_type.HasField("shape"):
            raise ValueError(f"inputs: '{port.name}' has no declared shape: give an array")
        found[port.name] = _random(generator, _numpy_type(port.type.tensor_type.elem_type), shape)
    return found


def _by_onnxruntime(model, inputs, names):
    functions = {(function.domain, function.name) for function in model.functions}
    if any(_others.is_foreign(node, functions) for node in model.graph.node):
        raise ValueError("onnxruntime does not have all of its operators")
    return _others.by_onnxruntime(model, inputs, names, {})[0]


def _by_references(model, inputs, settings, is_every):
    network = _tensors.Network(model, settings)
    made = network.every(inputs, True)[0] if is_every else network.load(inputs, (), True)
    return _tensors.values(made, inputs)


def _by_inference(model, names):
    """Random values of the types and shapes that follow from the model."""
    onnx = _models.need("onnx", "tenon.debug.reduce")
    generator, found = np.random.default_rng(0), {}
    for info in onnx.shape_inference.infer_shapes(model).graph.value_info:
        kind = info.type.tensor_type
        shape = [dimension.dim_value for dimension in kind.shape.dim]
        if info.name in names and kind.elem_type and kind.HasField("shape") and all(shape):
            found[info.name] = _random(generator, _numpy_type(kind.elem_type), shape)
    return found


def every(model, inputs, settings):
    """As many tensors' values as can be had: by onnxruntime, by Tenon's references, else random ones of the inferred shapes."""
    names = [name for node in model.graph.node for name in node.output if name and node.op_type not in _tensors.LISTS]
    known = {**_bodies.constants(model.graph), **inputs}
    # Each of them may refuse the model for reasons of its own, which are not this call's.
    for source in (lambda: _by_onnxruntime(model, inputs, names), lambda: _by_references(model, inputs, settings, True),
                   lambda: _by_inference(model, set(names))):
        try:
            return {**known, **source()}
        except Exception:
            continue
    return known


def outputs(model, inputs, settings):
    """The outputs that are right, where onnxruntime or the references compute them."""
    for source in (lambda: _by_onnxruntime(model, inputs, []), lambda: _by_references(model, inputs, settings, False)):
        try:
            return source()
        except Exception:
            continue
    return {}
