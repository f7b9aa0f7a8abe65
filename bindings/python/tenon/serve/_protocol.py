# SPDX-License-Identifier: Apache-2.0
"""Requests and responses of the Open Inference Protocol over HTTP: JSON, and tensors as bytes behind it (the binary extension).

read() gives arrays over the body's own memory where they came as bytes.
"""

import base64
import binascii
import dataclasses
import struct

import numpy as np

from ._errors import RequestError
from ._spec import DTYPES, OF_DTYPE, check_shape, count

try:
    import orjson
    _loads, _dumps = orjson.loads, orjson.dumps
except ImportError:
    import json
    _loads = json.loads

    def _dumps(value):
        return json.dumps(value, separators=(",", ":")).encode()


@dataclasses.dataclass
class Request:
    """arrays: by input; outputs: {name: whether it is wanted as bytes}, empty: all; timeout_us: 0: none."""

    id: str
    arrays: dict
    outputs: dict
    is_binary: bool = False  # outputs that are not named
    timeout_us: int = 0


def read(body, header_bytes, spec):
    """The Request in a body whose first `header_bytes` (None: all) are JSON. Raises RequestError."""
    if header_bytes is not None and not 0 < header_bytes <= len(body):
        raise RequestError(400, f"Inference-Header-Content-Length: {header_bytes}: 1 to the body's {len(body)} bytes are wanted")
    head = _json(body if header_bytes is None else memoryview(body)[:header_bytes])
    parameters = _parameters(head, "the request")
    request = Request(_text(head.get("id", ""), "id"), {}, {}, _is_true(parameters, "binary_data_output", "the request"),
                      _timeout(parameters))
    tail = memoryview(body)[len(body) if header_bytes is None else header_bytes:]
    for each in _tables(head, "inputs", True):
        name = _text(each.get("name"), "an input's name")
        if name in request.arrays:
            raise RequestError(400, f"input '{name}' came twice")
        array, tail = _input(name, each, tail, spec)
        request.arrays[name] = array
    if len(tail):
        raise RequestError(400, f"{len(tail)} bytes are left behind the last input: binary_data_size says how many each has")
    for each in _tables(head, "outputs", False):
        name = _text(each.get("name"), "an output's name")
        its = _parameters(each, f"output '{name}'")
        refuse_shared_memory(its, f"output '{name}'")
        request.outputs[name] = _is_true(its, "binary_data", f"output '{name}'", request.is_binary)
    spec.check(request.arrays)
    return request


def _json(text):
    try:
        head = _loads(bytes(text))
    except (ValueError, RecursionError) as reason:
        raise RequestError(400, f"the body is no JSON: {reason}; tensors as bytes need Inference-Header-Content-Length") from None
    if not isinstance(head, dict):
        raise RequestError(400, "a JSON object with 'inputs' is wanted")
    return head


def _tables(head, key, is_needed):
    tables = head.get(key, None if is_needed else [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise RequestError(400, f"'{key}': a list of objects is wanted")
    return tables


def _parameters(table, where):
    parameters = table.get("parameters") or {}
    if not isinstance(parameters, dict):
        raise RequestError(400, f"{where}: parameters: an object is wanted")
    return parameters


def _text(value, what):
    if not isinstance(value, str):
        raise RequestError(400, f"{what}: a text is wanted")
    return value


def _is_true(parameters, name, where, default=False):
    value = parameters.get(name, default)
    if not isinstance(value, bool):
        raise RequestError(400, f"{where}: {name}: true or false is wanted")
    return value


def _timeout(parameters):
    timeout = parameters.get("timeout", 0)
    if isinstance(timeout, bool) or not isinstance(timeout, int) or timeout < 0:
        raise RequestError(400, "timeout: whole microseconds from 0 are wanted")
    return timeout


def refuse_shared_memory(parameters, where):
    if "shared_memory_region" in parameters:
        raise RequestError(501, f"{where}: shared memory is not had here: send the tensor in the request")


def _input(name, table, tail, spec):
    datatype = _text(table.get("datatype"), f"input '{name}': datatype")
    spec.check_type(name, datatype)
    shape = check_shape(name, table.get("shape"))
    parameters = _parameters(table, f"input '{name}'")
    refuse_shared_memory(parameters, f"input '{name}'")
    if "binary_data_size" not in parameters:
        return from_list(name, datatype, shape, table.get("data"), parameters.get("content_type")), tail
    size = parameters["binary_data_size"]
    if isinstance(size, bool) or not isinstance(size, int) or not 0 <= size <= len(tail):
        raise RequestError(400, f"input '{name}': binary_data_size {size!r}: {len(tail)} bytes are left behind the JSON")
    if "data" in table:
        raise RequestError(400, f"input '{name}' has data and binary_data_size: one is wanted")
    return from_bytes(name, datatype, shape, tail[:size]), tail[size:]


def from_bytes(name, datatype, shape, data):
    """The array over memory with elements in order, little-endian; of BYTES each behind its length in 4 bytes."""
    if datatype == "BYTES":
        return _objects(shape, _split(name, data, count(shape)))
    wanted = count(shape) * DTYPES[datatype].itemsize
    if len(data) != wanted:
        raise RequestError(400, f"input '{name}': {len(data)} bytes came, {datatype} {list(shape)} has {wanted}")
    return np.frombuffer(data, DTYPES[datatype]).reshape(shape)


def _split(name, data, wanted):
    texts, offset, data = [], 0, bytes(data)
    while offset < len(data) and len(texts) <= wanted:
        end = offset + 4
        if end <= len(data):
            end += struct.unpack_from("<I", data, offset)[0]
        if end > len(data):
            raise RequestError(400, f"input '{name}': element {len(texts)} of BYTES goes beyond the tensor's {len(data)} bytes")
        texts.append(data[offset + 4:end])
        offset = end
    return _counted(name, "BYTES", texts, wanted)


def _counted(name, datatype, items, wanted):
    if len(items) != wanted:
        raise RequestError(400, f"input '{name}': {len(items)} elements of {datatype} came, its shape has {wanted}")
    return items


def _objects(shape, texts):
    array = np.empty(len(texts), object)
    array[:] = texts
    return array.reshape(shape)


def from_list(name, datatype, shape, data, content_type=None):
    """The array of JSON's data: a list, flat or nested as the shape is."""
    if not isinstance(data, list):
        raise RequestError(400, f"input '{name}': data (a list), or binary_data_size and bytes behind the JSON, is wanted")
    if datatype == "BYTES":
        return _objects(shape, [_bytes(name, item, content_type) for item in _counted(name, datatype, _flat(data, len(shape)), count(shape))])
    try:
        array, exact = _numbers(datatype, data)
    except (TypeError, ValueError, OverflowError) as reason:
        raise RequestError(400, f"input '{name}': data is no {datatype}: {reason}") from None
    if array.ndim > 1 and array.shape != shape or array.size != count(shape):
        raise RequestError(400, f"input '{name}': data is of shape {list(array.shape)}, {list(shape)} or as many in one list is wanted")
    return exact.reshape(shape)


def _numbers(datatype, data):
    """(the list as an array, the same in the datatype). Raises TypeError, ValueError, OverflowError."""
    is_integer = "INT" in datatype
    array = np.asarray(data)
    if is_integer and array.dtype.kind in "fO" and array.size: # NumPy has no integer type for 0 and 2^64 - 1 together
        array = np.asarray(data, object)
        if not all(type(item) is int for item in array.flat):
            raise ValueError("elements are of another type")
        return array, array.astype(DTYPES[datatype])
    if array.dtype.kind not in ("b" if datatype == "BOOL" else "iu" if is_integer else "iuf") and array.size:
        raise ValueError("elements are of another type")
    with np.errstate(over="ignore"):
        exact = array.astype(DTYPES[datatype], copy=False)
    if not (np.isfinite(exact).all() if exact.dtype.kind == "f" else np.array_equal(exact, array)):
        raise ValueError("elements are out of its range")
    return array, exact


def _flat(data, depth):
    flat = []
    for item in data:
        flat.extend(_flat(item, depth - 1)) if isinstance(item, list) and depth > 1 else flat.append(item)
    return flat


def _bytes(name, item, content_type):
    if not isinstance(item, str):
        raise RequestError(400, f"input '{name}': texts are wanted")
    if content_type != "base64":
        return item.encode("utf-8", "surrogatepass")
    try:
        return base64.b64decode(item, validate=True)
    except (binascii.Error, ValueError) as reason:
        raise RequestError(400, f"input '{name}': base64 is wanted: {reason}") from None


def to_bytes(array):
    """An output's elements as the binary extension has them, and gRPC's raw contents."""
    if array.dtype != object:
        return np.ascontiguousarray(array).data.cast("B") if array.size else b""
    texts = [text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape") for text in array.ravel().tolist()]
    return b"".join(struct.pack("<I", len(text)) + text for text in texts)


def datatype_of(array):
    return "BYTES" if array.dtype == object else OF_DTYPE[array.dtype]


def write(name, version, request, results):
    """(parts of the body, bytes of its JSON or None where all is JSON)."""
    outputs, blocks = [], []
    for output, array in results.items():
        table = {"name": output, "datatype": datatype_of(array), "shape": list(array.shape)}
        if request.outputs.get(output, request.is_binary):
            block = to_bytes(array)
            blocks.append(block)
            table["parameters"] = {"binary_data_size": len(block)}
        else:
            table["data"] = _to_list(output, array)
        outputs.append(table)
    head = {"model_name": name, "model_version": version, "outputs": outputs}
    if request.id:
        head["id"] = request.id
    text = _dumps(head)
    return ([text, *blocks], len(text)) if blocks else ([text], None)


def _to_list(name, array):
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise RequestError(500, f"output '{name}' has values that are not finite, which JSON cannot say: ask for it as bytes")
    items = array.ravel().tolist()
    if array.dtype != object:
        return items
    try:
        return [text if isinstance(text, str) else text.decode() for text in items]
    except UnicodeDecodeError:
        raise RequestError(500, f"output '{name}' is no UTF-8, which JSON cannot say: ask for it as bytes") from None


def error_body(text):
    return _dumps({"error": text})
