# SPDX-License-Identifier: Apache-2.0
"""Arrays that the extension does not read as they are: other types, lists, strings, types that NumPy has not by itself."""

import numpy as np

from tenon._engine import Error

DTYPES = {
    "f64": "float64", "f32": "float32", "f16": "float16", "i64": "int64", "i32": "int32", "i16": "int16", "i8": "int8",
    "u64": "uint64", "u32": "uint32", "u16": "uint16", "u8": "uint8", "bool": "bool", "string": "object",
}
# The names in ml_dtypes, and what stands for them where it is not installed.
ML_DTYPES = {
    "bf16": ("bfloat16", "uint16"), "f8e4m3": ("float8_e4m3fn", "uint8"), "f8e4m3fnuz": ("float8_e4m3fnuz", "uint8"),
    "f8e5m2": ("float8_e5m2", "uint8"), "f8e5m2fnuz": ("float8_e5m2fnuz", "uint8"), "f8e8m0": ("float8_e8m0fnu", "uint8"),
    "f4e2m1": ("float4_e2m1fn", "uint8"), "i4": ("int4", "int8"), "u4": ("uint4", "uint8"), "i2": ("int2", "int8"),
    "u2": ("uint2", "uint8"),
}
# What NumPy calls an element type: what Tenon does.
OF_NUMPY = {text: name for name, text in DTYPES.items()} | {text: name for name, (text, _) in ML_DTYPES.items()}
BITS = {"f4e2m1": 4, "i4": 4, "u4": 4, "i2": 2, "u2": 2}
STRING = np.dtype([("offset", "u8"), ("bytes", "u8")])


def dtype(type_name):
    """The dtype of arrays whose elements are of Tenon's type."""
    if type_name in DTYPES:
        return np.dtype(DTYPES[type_name])
    name, raw = ML_DTYPES[type_name]
    try:
        import ml_dtypes
        return np.dtype(getattr(ml_dtypes, name))
    except (ImportError, AttributeError):
        return np.dtype(raw)


def error(code, message, mend=None):
    made = Error(f"{message}; {mend}" if mend else message)
    made.code, made.message, made.mend = code, str(made), mend
    return made


def described(array):
    """"float64 (1, 3)", as messages have it."""
    return f"{array.dtype} {array.shape}"


def prepare(given, type_name, kind, name):
    """An array of the type, or (bytes, shape), of an object that is not read as it is."""
    wanted = dtype(type_name)
    array = as_array(given, wanted, kind, name)
    if type_name == "string":
        return pack_strings(array, kind, name), array.shape
    if type_name in BITS:
        if array.dtype != wanted:
            raise refused(array, wanted, kind, name)
        return pack_bits(array, BITS[type_name]), array.shape
    if array.dtype != wanted:
        raise refused(array, wanted, kind, name)
    return raw(np.asarray(array, order="C"))  # ascontiguousarray has no rank 0


def prepare_output(given, type_name, kind, name):
    """The same of an array that is written to: nothing can be converted."""
    wanted = dtype(type_name)
    if not isinstance(given, np.ndarray):
        raise error("TN_ERROR_TYPE", f"{kind} '{name}': {type(given).__name__} came, a NumPy array or a DLPack tensor is wanted")
    if not given.flags.writeable:
        raise error("TN_ERROR_ARGUMENT", f"{kind} '{name}': the array is read-only", "give a copy: array.copy()")
    if given.dtype != wanted:
        raise refused(given, wanted, kind, name)
    if type_name in BITS or type_name == "string":
        raise error("TN_ERROR_UNSUPPORTED", f"{kind} '{name}': outputs of type {type_name} are not written to a given array",
                    "leave it out of `out`")
    if any(stride < 0 for stride in given.strides):
        raise error("TN_ERROR_ARGUMENT", f"{kind} '{name}': an array with negative strides {given.strides}",
                    "give a contiguous array, and flip the result")
    return raw(given)


def packed(given):
    """A contiguous copy of an array."""
    return np.array(given if isinstance(given, np.ndarray) else np.from_dlpack(given), order="C")


def raw(array):
    """The same memory in a dtype that the buffer protocol knows."""
    if array.dtype.kind != "V" and array.dtype.isbuiltin == 1:
        return array
    return array.view(f"uint{8 * array.dtype.itemsize}")


def as_array(given, wanted, kind, name):
    """Python's own numbers take the wanted type; arrays keep theirs."""
    if isinstance(given, np.ndarray) or hasattr(given, "__array__") or hasattr(given, "__array_interface__"):
        return np.asarray(given)
    if hasattr(given, "__dlpack__"):
        return np.from_dlpack(given)
    if given is None:
        raise error("TN_ERROR_TYPE", f"{kind} '{name}': NoneType came, an array of {wanted} is wanted")
    try:
        return np.asarray(given, dtype=wanted)
    except (TypeError, ValueError, OverflowError) as reason:
        raise error("TN_ERROR_TYPE", f"{kind} '{name}': {type(given).__name__} came, which is no array of {wanted}: {reason}"
                    ) from None


def refused(array, wanted, kind, name):
    if array.dtype.newbyteorder("=") == wanted:
        return error("TN_ERROR_TYPE", f"{kind} '{name}': {described(array)} of the other byte order came, {wanted} is wanted",
                     f"array.astype('{wanted}') is that")
    return error("TN_ERROR_TYPE", f"{kind} '{name}': {described(array)} came, {wanted} is wanted",
                 f"array.astype('{wanted}') is that")


def refuse_names(names, given):
    """Raises the error of inputs that are not those of the network."""
    wanted = ", ".join(f"'{name}'" for name in names)
    if isinstance(given, tuple):
        raise error("TN_ERROR_ARGUMENT", f"{len(given)} inputs came, {len(names)} are wanted: {wanted}")
    missing = [name for name in names if name not in given]
    unknown = [name for name in given if name not in names]
    if unknown:
        raise unknown_name(unknown[0], names)
    raise error("TN_ERROR_ARGUMENT", f"input '{missing[0]}' is missing: {wanted} are wanted, "
                + (", ".join(f"'{name}'" for name in given) or "none") + " came")


def unknown_name(name, names):
    import difflib
    found = difflib.get_close_matches(str(name).lower(), [other.lower() for other in names], 1, 0.5)
    nearest = next((other for other in names if other.lower() in found), None)
    return error("TN_ERROR_NOT_FOUND", f"no input is called {name!r}: there are " + ", ".join(f"'{other}'" for other in names),
                 f"the nearest is '{nearest}'" if nearest else None)


def beginning(array, shape, name):
    """The part of a given output array that was written, in the output's shape."""
    count = int(np.prod(shape))
    if not array.flags.c_contiguous:
        raise error("TN_ERROR_SHAPE", f"output '{name}': {tuple(array.shape)} was given, {shape} is what came",
                    f"give an array of shape {shape}, or a contiguous one")
    return array.reshape(-1)[:count].reshape(shape)


def pack_strings(array, kind, name):
    """One block: elements that say where in the heap behind them each string is."""
    texts = []
    for item in array.ravel().tolist():
        if not isinstance(item, (str, bytes)):
            raise error("TN_ERROR_TYPE", f"{kind} '{name}': {type(item).__name__} came, texts are wanted")
        texts.append(item if isinstance(item, bytes) else item.encode("utf-8", "surrogateescape"))
    elements = np.zeros(len(texts), STRING)
    elements["bytes"] = [len(text) for text in texts]
    elements["offset"] = np.cumsum(elements["bytes"]) - elements["bytes"]
    return elements.tobytes() + b"".join(texts)


def of_strings(texts, shape):
    array = np.empty(len(texts), object)
    array[:] = texts
    return array.reshape(shape)


def pack_bits(array, bits):
    """Elements of `bits` bits, the first in the lowest bits of a byte."""
    per_byte = 8 // bits
    values = np.ascontiguousarray(array).view(np.uint8).ravel() & ((1 << bits) - 1)
    padded = np.zeros(-(-values.size // per_byte) * per_byte, np.uint8)
    padded[:values.size] = values
    shifts = np.arange(per_byte, dtype=np.uint8) * bits
    return np.bitwise_or.reduce(padded.reshape(-1, per_byte) << shifts, axis=1, dtype=np.uint8).tobytes()


def unpack(memory, type_name, shape):
    bits, wanted = BITS[type_name], dtype(type_name)
    count = int(np.prod(shape))
    shifts = np.arange(8 // bits, dtype=np.uint8) * bits
    values = ((np.frombuffer(memory, np.uint8)[:, None] >> shifts) & ((1 << bits) - 1)).ravel()[:count]
    if type_name.startswith("i"): # sign
        values = ((values ^ (1 << (bits - 1))).astype(np.int8) - (1 << (bits - 1)))
        return values.astype(wanted).reshape(shape)
    values = values.astype(np.uint8)
    return (values.view(wanted) if type_name.startswith("f") else values.astype(wanted)).reshape(shape)
