# SPDX-License-Identifier: Apache-2.0
"""Element types by the names of Tenon, onnxruntime and ONNX's numbers, and what describes inputs and outputs."""

import numpy as np

from tenon import _arrays

# Tenon's name: onnxruntime's, and the number in ONNX's TensorProto.DataType.
_TYPES = {
    "f32": ("float", 1), "u8": ("uint8", 2), "i8": ("int8", 3), "u16": ("uint16", 4), "i16": ("int16", 5), "i32": ("int32", 6),
    "i64": ("int64", 7), "string": ("string", 8), "bool": ("bool", 9), "f16": ("float16", 10), "f64": ("double", 11),
    "u32": ("uint32", 12), "u64": ("uint64", 13), "bf16": ("bfloat16", 16), "f8e4m3": ("float8e4m3fn", 17),
    "f8e4m3fnuz": ("float8e4m3fnuz", 18), "f8e5m2": ("float8e5m2", 19), "f8e5m2fnuz": ("float8e5m2fnuz", 20), "u4": ("uint4", 21),
    "i4": ("int4", 22), "f4e2m1": ("float4e2m1", 23), "f8e8m0": ("float8e8m0", 24), "u2": ("uint2", 25), "i2": ("int2", 26)}
_BY_NUMBER = {number: (tenon_name, name) for tenon_name, (name, number) in _TYPES.items()}


def type_string(tenon_name, kind="tensor", key_type=None):
    """'tensor(float)' of 'f32', 'seq(map(int64,tensor(float)))' of a sequence of maps."""
    text = f"tensor({_TYPES[tenon_name][0]})" if tenon_name in _TYPES else f"tensor({tenon_name})"
    if kind in ("map", "sequence of maps"):
        text = f"map({_TYPES[key_type][0] if key_type in _TYPES else key_type},{text})"
    if kind in ("sequence", "sequence of maps"):
        return f"seq({text})"
    return f"optional({text})" if kind == "optional" else text


def tenon_name_of(dtype):
    """'f32' of np.float32; None: no element type of tensors."""
    dtype = np.dtype(dtype)
    return "string" if dtype.kind in "US" else _arrays.OF_NUMPY.get(dtype.name)


def number_of(dtype):
    """ONNX's number of a NumPy dtype."""
    name = tenon_name_of(dtype)
    if name is None:
        raise TypeError(f"no element type of tensors is like NumPy's {np.dtype(dtype).name}")
    return _TYPES[name][1]


def dtype_of(element_type):
    """The dtype of what callers give: a NumPy type, or ONNX's number."""
    if not isinstance(element_type, (int, np.integer)):
        return np.dtype(element_type)
    if int(element_type) not in _BY_NUMBER:
        raise TypeError(f"element_type {element_type}: ONNX has no such number; a NumPy type like np.float32 would do, too")
    name = _BY_NUMBER[int(element_type)][0]
    return np.dtype(_arrays.DTYPES[name]) if name in _arrays.DTYPES else _extension_dtype(_arrays.ML_DTYPES[name][0])


def _extension_dtype(name):
    try:
        import ml_dtypes
    except ImportError as error:
        raise TypeError(f"arrays of {name} need the package ml_dtypes") from error
    return np.dtype(getattr(ml_dtypes, name))


class NodeArg:
    """An input or output: its name, its type ('tensor(float)'), and its shape, a list of numbers, names and None."""

    def __init__(self, name, kind, shape):
        self._parts = (name, kind, shape)

    name = property(lambda self: self._parts[0])
    type = property(lambda self: self._parts[1])
    shape = property(lambda self: list(self._parts[2]))

    def __str__(self):
        return f"NodeArg(name={self.name!r}, type={self.type!r}, shape={self.shape})"


class ModelMetadata:
    """What the model's file says of itself."""

    def __init__(self, info):
        self.producer_name = info.get("producer_name", "")
        self.graph_name = info.get("graph_name", "")
        self.domain = info.get("domain", "")
        self.description = info.get("doc", "")
        self.graph_description = info.get("graph_doc", "")
        self.version = info.get("model_version", 0)
        self.custom_metadata_map = dict(info.get("metadata", {}))
