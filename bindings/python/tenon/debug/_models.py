# SPDX-License-Identifier: Apache-2.0
"""Models as tenon.debug has them: ONNX messages where the package onnx is needed, inputs as arrays."""

import os

import numpy as np

import tenon
from tenon import _engine, _plan


def need(module, what):
    """The module of an optional package; an ImportError says what it is needed for."""
    import importlib
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f"{what} needs the package {module}: pip install {module}", name=module) from error


def is_onnx(model):
    """Whether it is an ONNX model, or a file or bytes that may be."""
    if isinstance(model, (str, os.PathLike)):
        return os.fspath(model).endswith(".onnx")
    return hasattr(model, "SerializeToString") or isinstance(model, (bytes, bytearray, memoryview)) and not _plan.is_plan(model)


def onnx_model(model, what):
    """A copy of the model as an onnx.ModelProto."""
    onnx = need("onnx", what)
    if isinstance(model, (str, os.PathLike)) and is_onnx(model):
        return onnx.load(model)
    if isinstance(model, (bytes, bytearray, memoryview)):
        return onnx.load_from_string(bytes(model))
    if not isinstance(model, onnx.ModelProto):
        raise TypeError(f"{what} takes an ONNX model (a .onnx file, its bytes, an onnx.ModelProto), not {model!r}")
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    return copy


def as_inputs(ports, inputs):
    """A dict from inputs' names to NumPy arrays, of a dict, a tuple or one array; a missing one is an error."""
    from tenon import _arrays
    if not isinstance(inputs, dict):
        given = inputs if isinstance(inputs, (tuple, list)) and len(ports) > 1 else (inputs,)
        given = given[0] if len(given) == 1 and isinstance(given[0], (tuple, list)) and len(ports) == 1 and len(given[0]) == 1 and \
            hasattr(given[0][0], "shape") else given
        if len(given) != len(ports):
            _arrays.refuse_names([port.name for port in ports], tuple(given))
        inputs = dict(zip((port.name for port in ports), given))
    if set(inputs) != {port.name for port in ports}:
        _arrays.refuse_names([port.name for port in ports], inputs)
    return {port.name: _arrays.as_array(inputs[port.name], port.dtype or np.float32, "input", port.name) for port in ports}


def shapes_of(inputs):
    return {name: tuple(array.shape) for name, array in inputs.items()}


def graph(model, settings):
    """A tenon.Graph made anew of the model; one that the caller built serves as it is."""
    if isinstance(model, (tenon.Graph, _engine.Graph)):
        return model
    return tenon.Graph(model, settings.runtime, plugins=settings.plugins, **settings.reading)


class Settings:
    """What a call has beside the model and its inputs: how it is read, where it runs, how it is built."""

    READING = ("format", "folder", "import_options", "isolate_reading")

    def __init__(self, plugins, runtime, shapes, threads, device, options):
        self.plugins = [plugins] if isinstance(plugins, (str, bytes, os.PathLike)) or hasattr(plugins, "load_into") else list(plugins)
        self.runtime = runtime
        self.shapes = shapes
        self.threads = threads
        self.device = device
        self.reading = {name: options.pop(name) for name in self.READING if name in options}
        self.options = options

    def load(self, graph, inputs, **options):
        """A network of the graph, built as the caller wants it; its shapes are the inputs' where none are given."""
        shapes = self.shapes if self.shapes is not None else shapes_of(inputs)
        return tenon.load(graph, shapes=shapes, runtime=self.runtime, threads=self.threads, device=self.device,
                          **{**self.options, **options})

    def load_reference(self, graph, inputs):
        """The same by the operators' references, without kernels or fusion, on the processor."""
        shapes = self.shapes if self.shapes is not None else shapes_of(inputs)
        return tenon.load(graph, shapes=shapes, runtime=self.runtime, threads=self.threads, reference=True, fusion=False, timing=False)
