# SPDX-License-Identifier: Apache-2.0
"""Writes UFF files: protocol buffers by hand, a network as a list of nodes.

For write_uff.py and for the tests of the reader; needs NumPy alone. The format: docs/uff.md.
"""

import struct

import numpy as np

TYPES = {"int8": 0x10008, "int16": 0x10010, "int32": 0x10020, "int64": 0x10040,
         "float16": 0x20010, "float32": 0x20020}
FLOAT32 = TYPES["float32"]
UNNAMED = 7  # what the converter writes for all other types
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


def doubles(values):
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
    """Dimension orders from names like "N+C": what is written lists the tensor's axes by part."""
    parts = {"N": [0], "K": [0], "C": [1], "+": [2, INCREMENT], "-": [DECREMENT, 2]}
    out = b""
    for name in names:
        parts_in_order = [part for letter in name for part in parts[letter]]
        out += chunk(1, chunk(1, number(1, -1) + chunk(2, packed(parts_in_order))))
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
        return texts(value) if isinstance(value[0], str) else doubles(value)
    return integer(value)


# --- the text form ---

# Fields of the messages: number, name, and what is inside: a message, or how a value is written.
MESSAGES = {
    "MetaGraph": {1: ("version", "int"), 2: ("descriptor_core_version", "int"), 3: ("descriptors", "Descriptor"),
                  4: ("graphs", "Graph"), 5: ("referenced_data", "Entry")},
    "Descriptor": {1: ("id", "text"), 2: ("version", "int"), 3: ("optional", "int")},
    "Graph": {1: ("id", "text"), 2: ("nodes", "Node")},
    "Node": {1: ("id", "text"), 2: ("inputs", "text"), 3: ("operation", "text"), 4: ("fields", "Entry")},
    "Entry": {1: ("key", "text"), 2: ("value", "Data")},
    "Data": {1: ("s", "text"), 2: ("s_list", "Texts"), 3: ("d", "real"), 4: ("d_list", "Reals"), 5: ("b", "bool"),
             6: ("b_list", "Bools"), 7: ("i", "int"), 8: ("i_list", "Ints"), 9: ("blob", "text"), 100: ("ref", "text"),
             101: ("dtype", "type"), 102: ("dtype_list", "Types"), 104: ("dim_orders_list", "OrdersList")},
    "Texts": {1: ("val", "text")}, "Reals": {1: ("val", "real")}, "Bools": {1: ("val", "bool")},
    "Ints": {1: ("val", "int")}, "Types": {1: ("val", "type")}, "OrdersList": {1: ("val", "Orders")},
    "Orders": {1: ("orders", "OrderEntry")}, "OrderEntry": {1: ("key", "int"), 2: ("value", "Ints")},
}
SKIPPED_FROM = 32


def read_varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 0x80:
            return value, at


def word(kind, value):
    if kind == "type":
        return next((f"DT_{name.upper()}" for name, known in TYPES.items() if known == value), str(value))
    if kind == "bool":
        return "true" if value else "false"
    return str(value - (1 << 64) if value >> 63 else value)


def quoted(data):
    escapes = {ord("\""): "\\\"", ord("\\"): "\\\\", ord("\n"): "\\n"}
    return '"' + "".join(escapes.get(byte) or (chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}") for byte in data) + '"'


def values(data, kind):
    """The packed values of a list."""
    at = 0
    while at < len(data):
        if kind == "real":
            yield repr(struct.unpack_from("<d", data, at)[0])
            at += 8
        else:
            value, at = read_varint(data, at)
            yield word(kind, value)


def as_text(data, message="MetaGraph", skip_blobs=False, indent=""):
    """The text form of a file's bytes; with `skip_blobs` as the converter writes it for people, without weights."""
    out, at = [], 0
    while at < len(data):
        tag, at = read_varint(data, at)
        name, kind = MESSAGES[message][tag >> 3]
        if tag & 7 == 0:
            value, at = read_varint(data, at)
            out.append(f"{indent}{name}: {word(kind, value)}\n")
            continue
        length, at = (8, at) if tag & 7 == 1 else read_varint(data, at)
        inner, at = data[at:at + length], at + length
        if kind in MESSAGES:
            out.append(f"{indent}{name} {{\n{as_text(inner, kind, skip_blobs, indent + '  ')}{indent}}}\n")
        elif kind == "text":
            if name == "blob" and skip_blobs and length > SKIPPED_FROM:
                inner = f"(...{length} bytes skipped...)".encode()
            out.append(f"{indent}{name}: {quoted(inner)}\n")
        else:
            out += (f"{indent}{name}: {value}\n" for value in values(inner, kind))
    return "".join(out)


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
                         dtype=element_type(TYPES.get(array.dtype.name, UNNAMED)), shape=list(array.shape))

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
