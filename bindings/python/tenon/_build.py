# SPDX-License-Identifier: Apache-2.0
"""tenon.build: from a model to a plan."""

import operator
import os

from tenon import _engine
from tenon._runtime import load_plugins

PRECISIONS = {"fp32": 0, "tf32": 1, "bf16": 2, "fp16": 3, "int8": 4}


def graph_of(model, runtime=None, plugins=(), format=None, folder=None, import_options=None, isolate_reading=False):
    """A tenon.Graph of whatever a caller has: a Graph, a path, bytes, or an object with SerializeToString."""
    model = getattr(model, "_graph", model) # of a tenon.Graph
    if isinstance(model, _engine.Graph):
        return model
    if runtime is None:
        from tenon._runtime import default_runtime
        runtime = default_runtime()
    load_plugins(runtime, plugins)
    if hasattr(model, "SerializeToString"):
        model, format = model.SerializeToString(), format or "onnx"
    options = {name: option_text(value) for name, value in (import_options or {}).items()}
    return _engine.Graph(model, runtime, format=format, folder=folder, options=options, isolated=isolate_reading)


def option_text(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def one_shape(shape, what):
    try:
        return tuple(operator.index(extent) for extent in shape)
    except TypeError:
        raise TypeError(f"shapes: {what}: a tuple of whole numbers like (1, 3, 224, 224), or three of them for the least, the "
                        f"optimal and the greatest shape, is wanted, not {shape!r}") from None


def three_shapes(name, shape):
    """(minimum, optimum, maximum) of one shape or of three."""
    shape = tuple(shape) if not isinstance(shape, (int, str)) else (shape,)
    if shape and all(not hasattr(extent, "__index__") and not isinstance(extent, str) for extent in shape):
        if len(shape) == 3:
            return tuple(one_shape(part, f"'{name}'") for part in shape)
        raise ValueError(f"shapes: '{name}': {len(shape)} shapes came; one is wanted, or three: the least, the optimal and the "
                         "greatest")
    return (one_shape(shape, f"'{name}'"),) * 3


def profiles_of(shapes):
    """What the extension takes of `shapes`: a dict, or a list of dicts for several profiles."""
    if shapes is None:
        return None
    return [[(name, *three_shapes(name, shape), None) for name, shape in profile.items()]
            for profile in ([shapes] if hasattr(shapes, "items") else shapes)]


def precision_of(precision):
    """The numbers of "int8", or of "int8,fp16"."""
    parts = [part.strip() for part in precision.split(",")]
    unknown = [part for part in parts if part not in PRECISIONS]
    if unknown or len(parts) > 2:
        raise ValueError(f"precision: {precision!r} came; one of {', '.join(PRECISIONS)}, or int8,fp16 or int8,bf16, is wanted")
    return PRECISIONS[parts[0]], PRECISIONS[parts[1]] if len(parts) == 2 else 0


def build(model, plugins=(), shapes=None, *, runtime=None, device=None, threads=0, precision="fp32", keep=(), pins=(),
          timing_cache=None, timing_seconds=0.0, timing=True, fusion=True, reference=False, checked=False, packed_weights=True,
          force_kernel=None, without_rewrites=(), refit=(), progress=None, format=None, folder=None, import_options=None,
          isolate_reading=False):
    """Builds a plan: chooses kernels for the whole network by measured time. Answers a tenon.Plan.

    model: a file (.onnx, .uff, .prototxt), its bytes, an onnx.ModelProto, or a tenon.Graph.
    plugins: libraries with more operators and kernels: paths, or (path, domain).
    shapes: a dict from inputs' names to a shape, or to three: the least, the optimal and the greatest. A list of such dicts: several
        profiles, with kernels of their own.
    device: "cpu", "cuda", "cuda:1". threads: 0 is one for each core.
    precision: "fp32", "tf32", "bf16", "fp16", "int8" (or "int8,fp16"): the least exact type that tensors may be stored in.
    keep: names of nodes that stay in fp32. pins: "NODE=KERNEL" or "NODE=fp16".
    timing_cache: a file that keeps measured times. timing_seconds: a bound on measuring; 0: 20 seconds (90 on a device).
    timing, fusion, packed_weights: False leaves them out. reference, checked: for finding faults.
    refit: names of constants that other data may be given for, or True for all.
    progress: called with (stage, done, count); answers False to stop.

    Raises tenon.Error. Ctrl-C stops a build within one measured run of a kernel.
    """
    graph = graph_of(model, runtime, plugins, format, folder, import_options, isolate_reading)
    return build_graph(graph, profiles_of(shapes), device=device, threads=threads, precision=precision, keep=keep, pins=pins,
                       timing_cache=timing_cache, timing_seconds=timing_seconds, timing=timing, fusion=fusion, reference=reference,
                       checked=checked, packed_weights=packed_weights, force_kernel=force_kernel, without_rewrites=without_rewrites,
                       refit=refit, progress=progress)


def build_graph(graph, profiles, *, precision="fp32", timing=True, fusion=True, reference=False, checked=False, packed_weights=True,
                refit=(), **options):
    """build() of a graph. `profiles` is what the extension takes: None, or lists of (name, minimum, optimum, maximum, values), of which
    `values` is None, or the input's bytes at these three points."""
    first, second = precision_of(precision)
    flags = ((not timing) * 1 | (not fusion) * 2 | bool(reference) * 4 | bool(checked) * 8 | (refit is True) * 16
             | (not packed_weights) * 32)
    return graph._build(profiles=profiles, precision=first, second_precision=second, flags=flags, refit=() if refit is True else refit,
                        **options)
