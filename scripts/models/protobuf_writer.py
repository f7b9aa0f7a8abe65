# SPDX-License-Identifier: Apache-2.0
"""Protocol buffers' wire format, written by hand: bytes of fields, to be put one behind the other.

For the scripts that write networks in formats of which no library is at hand. Source: the Protocol Buffers
documentation, "Encoding".
"""

import struct

import numpy as np


def varint(value):
    """A whole number; a negative one takes ten bytes."""
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def integer(number, value):
    return varint(number << 3) + varint(int(value))


def real(number, value):
    return varint(number << 3 | 5) + struct.pack("<f", value)


def part(number, data):
    """A message or bytes."""
    return varint(number << 3 | 2) + varint(len(data)) + bytes(data)


def text(number, value):
    return part(number, value.encode("utf-8"))


def floats(number, values):
    return part(number, np.ascontiguousarray(values, "<f4").tobytes())


def doubles(number, values):
    return part(number, np.ascontiguousarray(values, "<f8").tobytes())


def integers(number, values):
    return part(number, b"".join(varint(int(value)) for value in values))
