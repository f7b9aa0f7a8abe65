# SPDX-License-Identifier: Apache-2.0
"""Writes UFF files: protocol buffers by hand, a network as a list of nodes.

For write_uff.py and for the tests of the reader; needs NumPy alone. The format: docs/uff.md.
"""

import struct

import numpy as np

TYPES = {"int8": 0x10008, "int16": 0x10010, "int32": 0x10020, "int64": 0x10040,
         "float16": 0x20010, "float32": 0x20020}
FLOAT32 = TYPES["float32"]
INCREMENT, DECREMENT = 2147483647, -2147483648


# --- wire ---

def varint(value):
    value &= 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def chunk(field, data):
    data = data.encode() if isinstance(data, str) else bytes(data)
    return varint(field << 3 | 2) + varint(len(data)) + data


def packed(values):
    return chunk(1, b"".join(varint(value) for value in values)) if len(values) else b""


def entry(field, key, value):
    return chunk(field, chunk(1, key) + chunk(2, value))


# --- data ---

def text(value):
    return chunk(1, value)


def texts(values):
    return chunk(2, b"".join(chunk(1, value) for value in values))


def real(value):
    return varint(3 << 3 | 1) + struct.pack("<d", value)


def reals(values):
    return chunk(4, chunk(1, struct.pack(f"<{len(values)}d", *values)))


def truth(value):
    return number(5, value)


def integer(value):
    return number(7, value)


def integers(values):
    return chunk(8, packed(values))


def blob(data):
    return chunk(9, data)


def reference(key):
    return chunk(100, key)


def element_type(value):
    return number(101, value)


def element_types(values):
    return chunk(102, packed(values))


def orders(*names):
    """Dimension orders from names like "N+C": what is written walks the tensor's axes by part."""
    parts = {"N": [0], "K": [0], "C": [1], "+": [2, INCREMENT], "-": [DECREMENT, 2]}
    out = b""
    for name in names:
        walk = [part for letter in name for part in parts[letter]]
        out += chunk(1, chunk(1, number(1, -1) + chunk(2, packed(walk))))
    return chunk(104, out)


def data(value):
    """A field's data from a Python value; bytes are data already."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, bool):
        return truth(value)
    if isinstance(value, str):
        return text(value)
    if isinstance(value, float):
        return real(value)
    if isinstance(value, (list, tuple)):
        if all(isinstance(item, int) for item in value):
            return integers(value)
        return texts(value) if isinstance(value[0], str) else reals(value)
    return integer(value)


# --- networks ---

class Network:
    """Nodes in the order in which they are added; written last first, as the stock converter does."""

    def __init__(self):
        self.nodes, self.shared, self.outputs = [], {}, []

    def node(self, name, operation, inputs=(), **fields):
        out = chunk(1, name) + b"".join(chunk(2, item) for item in inputs) + chunk(3, operation)
        for key, value in fields.items():
            out += entry(4, key, data(value))
        self.nodes.append(out)
        return name

    def input(self, name, shape, dtype=FLOAT32):
        return self.node(name, "Input", dtype=element_type(dtype), shape=list(shape))

    def const(self, name, array):
        array = np.asarray(array)
        self.shared["weights_" + name] = blob(np.ascontiguousarray(array).tobytes())
        return self.node(name, "Const", values=reference("weights_" + name),
                         dtype=element_type(TYPES[array.dtype.name]), shape=list(array.shape))

    def orders(self, *names):
        key = "orders_" + "_".join(names)
        self.shared[key] = orders(*names)
        return reference(key)

    def output(self, *names):
        self.outputs += names
        return self

    def write(self, path):
        mark = [chunk(1, "MarkOutput_0") + b"".join(chunk(2, name) for name in self.outputs)
                + chunk(3, "MarkOutput")]
        graph = chunk(1, "main") + b"".join(chunk(2, node) for node in
                                            self.nodes[::-1] + (mark if self.outputs else []))
        extension = chunk(3, chunk(1, "custom") + number(2, 1))
        whole = number(1, 1) + number(2, 1) + extension + chunk(4, graph)
        whole += b"".join(entry(5, key, value) for key, value in self.shared.items())
        with open(path, "wb") as file:
            file.write(whole)
