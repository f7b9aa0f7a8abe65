# SPDX-License-Identifier: Apache-2.0
"""tenon.build and tenon.calibrate: from a model to a plan."""

import operator
import os

import numpy as np

from tenon import _arrays, _batches, _engine
from tenon._progress import reporting
from tenon._runtime import default_runtime, load_plugins

PRECISIONS = {"fp32": 0, "tf32": 1, "bf16": 2, "fp16": 3, "int8": 4}
CALIBRATORS = {"entropy": 0, "minmax": 1, "percentile": 2}
# What people and other tools call Tenon's types.
TYPE_NAMES = {"fp64": "f64", "fp32": "f32", "fp16": "f16", "bfloat16": "bf16",
              **{text: name for name, text in _arrays.DTYPES.items() if name not in ("bool", "string")}}


def graph_of(model, runtime=None, plugins=(), format=None, folder=None, import_options=None, isolate_reading=False):
    """A tenon.Graph of whatever a caller has: a Graph, a path, bytes, or an object with SerializeToString."""
    model = getattr(model, "_graph", model)  # of a tenon.Graph
    if isinstance(model, _engine.Graph):
        return model
    runtime = runtime or default_runtime()
    load_plugins(runtime, plugins)
    if hasattr(model, "SerializeToString"):
        model, format = model.SerializeToString(), format or "onnx"
    options = {name: option_text(value) for name, value in (import_options or {}).items()}
    return _engine.Graph(model, runtime, format=format, folder=folder, options=options, isolated=isolate_reading)


def option_text(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def one_of(value, choices, what):
    if value not in choices:
        raise ValueError(f"{what}: {value!r} came; one of {', '.join(choices)} is wanted")
    return choices[value]


def one_shape(shape, what):
    try:
        return tuple(operator.index(extent) for extent in shape)
    except TypeError:
        raise TypeError(f"shapes: {what}: a tuple of whole numbers like (1, 3, 224, 224), or three of them for the least, the "
                        f"optimal and the greatest shape, is wanted, not {shape!r}") from None


def three_shapes(name, shape):
    """(minimum, optimum, maximum) of one shape or of three."""
    if not hasattr(shape, "__iter__") or isinstance(shape, str):
        return (one_shape(shape, f"'{name}'"),) * 3
    shape = tuple(shape)
    if not shape or any(hasattr(extent, "__index__") for extent in shape):
        return (one_shape(shape, f"'{name}'"),) * 3
    if len(shape) != 3:
        raise ValueError(f"shapes: '{name}': {len(shape)} shapes came; one is wanted, or three: the least, the optimal and the "
                         "greatest")
    return tuple(one_shape(part, f"'{name}'") for part in shape)


def value_bytes(port, values):
    """The values of an input at the three points, for which its shape follows."""
    if len(values) != 3:
        raise ValueError(f"values: '{port.name}': {len(values)} came; three are wanted: least, optimal, greatest")
    arrays = [np.asarray(value, port.dtype) for value in values]
    if len({array.shape for array in arrays}) != 1:
        raise ValueError(f"values: '{port.name}': the three have different shapes")
    return arrays[0].shape, tuple(array.tobytes() for array in arrays)


def one_profile(graph, shapes, values):
    rows = {name: (name, *three_shapes(name, shape), None) for name, shape in shapes.items()}
    for name, three in values.items():
        port = next((port for port in graph.inputs if port.name == name), None)
        if port is None:
            raise _arrays.unknown_name(name, [port.name for port in graph.inputs])
        shape, data = value_bytes(port, three)
        rows[name] = (name, shape, shape, shape, data)
    return list(rows.values())


def profiles_of(graph, shapes, values=None):
    """What the extension takes of `shapes`: a dict, or a list of dicts for several profiles."""
    if shapes is None and not values:
        return None
    several = [shapes or {}] if shapes is None or hasattr(shapes, "items") else list(shapes)
    return [one_profile(graph, profile, values or {}) for profile in several]


def precision_of(precision):
    """The numbers of "int8", or of "int8,fp16"."""
    parts = [part.strip() for part in precision.split(",")]
    if len(parts) > 2 or any(part not in PRECISIONS for part in parts):
        raise ValueError(f"precision: {precision!r} came; one of {', '.join(PRECISIONS)}, or int8,fp16 or int8,bf16, is wanted")
    return PRECISIONS[parts[0]], PRECISIONS[parts[1]] if len(parts) == 2 else 0


def borders_of(borders):
    """{"x": "uint8", "y": "nhwc", "z": "uint8:nhwc"} as (name, type, channels last)."""
    rows = []
    for name, text in (borders or {}).items():
        parts = [part for part in text.split(":") if part]
        types = [TYPE_NAMES.get(part, part) for part in parts if part != "nhwc"]
        if not parts or len(types) > 1 or any(kind not in _arrays.DTYPES and kind not in _arrays.ML_DTYPES for kind in types):
            raise ValueError(f"borders: '{name}': {text!r} came; a type, 'nhwc', or 'TYPE:nhwc' is wanted, like 'uint8:nhwc'")
        rows.append((name, types[0] if types else "", "nhwc" in parts))
    return rows


def apply_ranges(calibration, ranges):
    for tensor, bound in ranges.items():
        low, high = bound if isinstance(bound, (tuple, list)) else (-bound, bound)
        calibration[tensor] = max(abs(low), abs(high)) / 127


def table_of(graph, calibration, options, calibrator, percentile, ranges):
    """The tenon.Calibration of what a caller gave, and the samples among it."""
    if calibration is None and ranges:
        calibration = _engine.Calibration(None, graph.runtime)
    if isinstance(calibration, (str, os.PathLike)):
        calibration = _engine.Calibration(calibration, graph.runtime)
    elif calibration is not None and not isinstance(calibration, _engine.Calibration):
        calibration, _ = calibrate_graph(graph, calibration, options, calibrator, percentile)
    apply_ranges(calibration, ranges or {}) if calibration is not None else None
    return calibration


def calibrate_graph(graph, batches, options, calibrator, percentile):
    return graph._calibrate(**options, batches=_batches.of(graph, batches), percentile=percentile or 0.0,
                            calibrator=one_of(calibrator, CALIBRATORS, "calibrator"))


def calibrate(model, batches, plugins=(), shapes=None, *, calibrator="entropy", percentile=None, runtime=None, threads=0,
              progress=None, format=None, folder=None, import_options=None):
    """Runs a model over sample inputs and answers a tenon.Calibration for build(precision="int8", calibration=...).

    batches: a sequence or an iterable; each batch is a dict from inputs' names to arrays, a tuple of arrays, or one array.
    calibrator: "entropy", "minmax" or "percentile" (of `percentile` of 100 values; 99.99 where it is not given).
    """
    graph = graph_of(model, runtime, plugins, format, folder, import_options)
    with reporting(progress) as report:
        options = {"profiles": profiles_of(graph, shapes), "threads": threads, "progress": report}
        return calibrate_graph(graph, batches, options, calibrator, percentile)[0]


def build(model, plugins=(), shapes=None, *, values=None, runtime=None, device=None, threads=0, precision="fp32", calibration=None,
          calibrator="entropy", percentile=None, ranges=None, write_calibration=None, max_accuracy_loss=None, samples=None, keep=(),
          pins=(), borders=None, timing_cache=None, timing_seconds=0.0, timing=True, fusion=True, reference=False, checked=False,
          packed_weights=True, force_kernel=None, without_rewrites=(), refit=(), progress=None, format=None, folder=None,
          import_options=None, isolate_reading=False, embed_libraries=False, keep_half=False):
    """Builds a plan: chooses kernels for the whole network by measured time. Answers a tenon.Plan.

    model: a file (.onnx, .uff, .prototxt), its bytes, an onnx.ModelProto, or a tenon.Graph.
    plugins: libraries with more operators and kernels: paths, or (path, domain).
    shapes: a dict from inputs' names to a shape, or to three: the least, the optimal and the greatest. A list of such dicts: several
        profiles, with kernels of their own.
    values: a dict from names of inputs whose values decide shapes to three arrays: the least, the optimal and the greatest values.
    device: "cpu", "cuda", "cuda:1". threads: 0 is one for each core.
    precision: "fp32", "tf32", "bf16", "fp16", "int8" (or "int8,fp16"): the least exact type that tensors may be stored in.
    calibration: for int8: batches of sample inputs (see calibrate), a tenon.Calibration, or the path of a table; ranges: a dict from
        tensors' names to their largest magnitude or (low, high), which goes before. write_calibration: where the table is kept.
    max_accuracy_loss: a bound on sum |y - y32| / sum |y32| over `samples` (batches; those of the calibration where it has some):
        nodes go back to fp32 until it holds. keep: names of nodes that stay in fp32.
    keep_half: 16-bit floats of the model are computed in 16 bits on the processor, too, where they are in 32 otherwise.
    pins: "NODE=KERNEL" or "NODE=fp16". borders: a dict from names of inputs and outputs to a type, "nhwc" or "TYPE:nhwc".
    timing_cache: a file that keeps measured times. timing_seconds: a bound on measuring; 0: 20 seconds (90 on a device).
    timing, fusion, packed_weights: False leaves them out. reference, checked: for finding faults.
    refit: names of constants that other data may be given for, or True for all.
    embed_libraries: the plugin libraries that the plan needs go into it (tenon.Plan.embed_libraries).
    progress: True for a bar (tqdm's where it is installed), or a function of (stage, done, count); False from it stops the build.
    format, folder, import_options: how the model is read: the importer, where its further files lie, the importer's own options.

    Raises tenon.Error. Ctrl-C stops a build within one measured run of a kernel.
    """
    graph = graph_of(model, runtime, plugins, format, folder, import_options, isolate_reading)
    first, second = precision_of(precision)
    flags = ((not timing) * 1 | (not fusion) * 2 | bool(reference) * 4 | bool(checked) * 8 | (refit is True) * 16
             | (not packed_weights) * 32 | bool(keep_half) * 64)
    calibration = _batches.kept(calibration)
    if samples is None and _batches.is_samples(calibration):
        samples = calibration
    with reporting(progress) as report:
        options = {"profiles": profiles_of(graph, shapes, values), "device": device, "threads": threads,
                   "timing_cache": timing_cache, "timing_seconds": timing_seconds, "force_kernel": force_kernel, "flags": flags,
                   "keep": keep, "pins": pins, "without_rewrites": without_rewrites, "refit": () if refit is True else refit,
                   "borders": borders_of(borders), "progress": report}
        if first == PRECISIONS["int8"]:
            calibration = table_of(graph, calibration, options, calibrator, percentile, ranges)
            if calibration is None:
                raise ValueError("precision int8 needs the range of every tensor: calibration= batches of sample inputs, a table, "
                                 "or ranges={tensor: largest}")
            if write_calibration is not None:
                calibration.save(write_calibration)
            options["calibration"] = calibration
        if max_accuracy_loss is not None:
            if samples is None:
                raise ValueError("max_accuracy_loss needs samples= batches of inputs to measure the loss with")
            options.update(batches=_batches.of(graph, samples), max_loss=max_accuracy_loss)
        plan = graph._build(**options, precision=first, second_precision=second)
    return plan.embed_libraries() if embed_libraries else plan
