# SPDX-License-Identifier: Apache-2.0
"""Element types: their names, numbers, NumPy dtypes and types of C."""

import numpy as np

from . import _arrays

NUMBERS = {name: number for number, name in enumerate(
    "none f64 f32 f16 bf16 i64 i32 i16 i8 u64 u32 u16 u8 bool".split())}
NAMES = {number: name for name, number in NUMBERS.items()}
DTYPES = {name: np.dtype(text) for name, text in _arrays.DTYPES.items() if name != "string"}
OF_DTYPE = {dtype: name for name, dtype in DTYPES.items()}
# What a type variable is in the code of a layer.
OF_C = {"f64": "double", "f32": "float", "f16": "_Float16", "i64": "int64_t", "i32": "int32_t", "i16": "int16_t", "i8": "int8_t",
        "u64": "uint64_t", "u32": "uint32_t", "u16": "uint16_t", "u8": "uint8_t", "bool": "bool"}
GROUPS = {"float": ["f64", "f32", "f16", "bf16"], "signed": ["i64", "i32", "i16", "i8"],
          "integer": ["i64", "i32", "i16", "i8", "u64", "u32", "u16", "u8"]}
GROUPS["number"] = GROUPS["float"] + GROUPS["integer"]
GROUPS["any"] = GROUPS["number"] + ["bool"]


def name_of(what):
    """The name of an element type given as its name, a NumPy dtype or a type of Python."""
    if isinstance(what, str) and what in NUMBERS and what != "none":
        return what
    if what is float:
        return "f32"
    try:
        return OF_DTYPE[np.dtype(what)]
    except (TypeError, KeyError):
        raise TypeError(f"{what!r} is no element type: expected one of {', '.join(DTYPES)}, or a NumPy dtype of these") from None


def as_tensor(value, type=None):
    """(type, extents, array) as the extension takes a tensor, of anything that NumPy makes an array of; f64 is kept."""
    array = np.asarray(value)
    if type == "bf16" or type is None and array.dtype.name == "bfloat16":
        array = _bits_of_bf16(array)
        return NUMBERS["bf16"], array.shape, array
    if type is not None:
        array = array.astype(DTYPES[name_of(type)], copy=False)
    if array.dtype not in OF_DTYPE:
        raise TypeError(f"an array of {array.dtype}: expected one of {', '.join(DTYPES)}")
    extents = array.shape
    if not array.flags.c_contiguous:
        array = np.ascontiguousarray(array)
    return NUMBERS[OF_DTYPE[array.dtype]], extents, array


def _bits_of_bf16(array):
    """Elements as bfloat16, of which each is a uint16; uint16 are such elements already."""
    dtype = _arrays.dtype("bf16")
    if array.dtype != np.uint16 and dtype == np.uint16:
        raise TypeError(f"an array of {array.dtype} as bf16: install ml_dtypes, or give the elements' bits as uint16")
    return np.asarray(array if array.dtype == np.uint16 else array.astype(dtype).view(np.uint16), order="C")


def as_array(type, extents, buffer):
    """The NumPy array over a buffer that the extension hands out."""
    name = NAMES.get(type)
    if name not in DTYPES:
        raise TypeError(f"elements of type {name or type} have no NumPy dtype")
    return np.frombuffer(buffer, DTYPES[name], int(np.prod(extents, dtype=np.int64))).reshape(extents)
