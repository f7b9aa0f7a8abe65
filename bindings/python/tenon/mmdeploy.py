# SPDX-License-Identifier: Apache-2.0
"""What users of MMDeploy's TensorRT backend know, by the same names: a model is converted once, and a wrapper runs it on dicts."""

import numpy as np

from tenon._arrays import error
from tenon._build import build
from tenon._network import load
from tenon._runtime import default_runtime, load_plugins

BUILTIN = "builtin"


def is_available(device="cpu"):
    """Whether networks can run on the device: "cpu", "cuda", "cuda:1"."""
    try:
        default_runtime().find_device(device)
    except RuntimeError:
        return False
    return True


def load_plugin(*paths):
    """Loads libraries of operators into the process' runtime."""
    load_plugins(default_runtime(), paths)


def plugin_list():
    """The operators that loaded libraries have, as "DOMAIN::NAME"."""
    return sorted({f"{op['domain']}::{op['name']}" if op["domain"] else op["name"]
                   for op in default_runtime().operators if op["library"] != BUILTIN})


def from_onnx(onnx_model, output_file_prefix, input_shapes, *, plugins=(), **options):
    """Builds `output_file_prefix`.plan of an ONNX model (a path or onnx.ModelProto) and answers the tenon.Plan.

    input_shapes: {"input": {"min_shape": [...], "opt_shape": [...], "max_shape": [...]}}. options: those of tenon.build.
    """
    shapes = {name: tuple(tuple(shape[which]) for which in ("min_shape", "opt_shape", "max_shape"))
              for name, shape in input_shapes.items()}
    plan = build(onnx_model, plugins, shapes, **options)
    plan.save(f"{output_file_prefix}.plan")
    return plan


class Wrapper:
    """Runs a plan on dicts: torch tensors (then the outputs are such, on the host) or NumPy arrays.

    engine: a plan's file, or a tenon.Plan. output_names: which outputs are answered; None: all.
    """

    def __init__(self, engine, output_names=None, *, plugins=(), **options):
        self.network = load(engine, plugins, **options)
        names = [port.name for port in self.network.outputs]
        self.output_names = list(output_names or names)
        for name in self.output_names:
            if name not in names:
                raise error("TN_ERROR_NOT_FOUND", f"no output is called {name!r}: there are {', '.join(names)}")

    def forward(self, inputs):
        """A dict of outputs by name."""
        is_torch = any(hasattr(value, "detach") for value in inputs.values())
        arrays = {name: value.detach() if hasattr(value, "detach") else value for name, value in inputs.items()}
        results = self.network.run(arrays)
        if not isinstance(results, dict):
            results = {self.network.outputs[0].name: results}
        return {name: as_torch(results[name]) if is_torch else results[name] for name in self.output_names}

    __call__ = forward


def as_torch(array):
    import torch
    return torch.from_numpy(np.ascontiguousarray(array))
