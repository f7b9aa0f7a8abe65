# SPDX-License-Identifier: Apache-2.0
"""Fields and ports of operators as an author declares them in Python, and values for fields."""

import dataclasses
import difflib
import keyword
import re

import numpy as np

from . import _types

FIELD_TYPES = {name: number + 1 for number, name in enumerate(
    "bool i32 i64 f32 f64 string bytes type enum tensor i64s f32s f64s strings".split())}
FIELD_C_TYPES = {"bool": "bool", "i32": "int32_t", "i64": "int64_t", "f32": "float", "f64": "double", "string": "const char *",
                 "bytes": "tn_bytes", "type": "tn_type", "enum": "uint32_t", "tensor": "const tn_tensor *", "i64s": "tn_i64s",
                 "f32s": "tn_f32s", "f64s": "tn_f64s", "strings": "tn_strings"}
PORT_FLAGS = {"optional": 1, "variadic": 2, "shape": 4, "value": 8, "sized_by_run": 16}
REQUIRED = 1
IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_MISSING = object()


def near(name, names):
    """', nearest is ...' for an error, or nothing."""
    found = difflib.get_close_matches(name, names, 1)
    return f"; the nearest is '{found[0]}'" if found else ""


def check_identifier(name, what):
    if not isinstance(name, str) or not IDENTIFIER.fullmatch(name):
        raise ValueError(f"{what} is named {name!r}: expected a name of C, at most 100 letters, digits and '_'")
    return name


def split_name(name):
    """'Mine::SoftClip' as ('Mine', 'SoftClip'); without '::' the domain is empty, ONNX's own."""
    if not isinstance(name, str):
        raise TypeError(f"an operator's name is a str like 'Mine::SoftClip', not {name!r}")
    domain, separator, op = name.rpartition("::")
    if separator and not domain:
        raise ValueError(f"the operator's name is {name!r}: expected DOMAIN::NAME, like 'Mine::SoftClip'")
    check_identifier(op, "the operator")
    return domain, op


@dataclasses.dataclass
class Field:
    """A parameter of an operator: its type, and what else is declared of it.

    `type` is one of bool, int, float, str, [int], [float], [str], or a name of Tenon's own: "i32", "f64", "f64s", "type", "tensor",
    "bytes". Without `default` the field is required. `choices` is "nearest|linear|cubic": in C the field is then the number of the
    choice (of type str: `uint32_t`). `minimum` and `maximum` bound a number, or each of a list."""

    type: object
    default: object = _MISSING
    minimum: float = 0
    maximum: float = 0
    choices: str | None = None
    doc: str = ""

    def __post_init__(self):
        self.kind = _kind_of(self.type, self.choices)
        if self.choices is not None and not isinstance(self.choices, str):
            self.choices = "|".join(self.choices)

    def row(self, name):
        """As the extension takes it."""
        fallback = None if self.default is _MISSING or self.default is None else text_of(self.default)
        flags = REQUIRED if self.default is _MISSING else 0
        return (FIELD_TYPES[self.kind], flags, name, fallback, self.choices, self.doc, float(self.minimum), float(self.maximum))


def _kind_of(type, choices):
    if isinstance(type, str):
        if type in FIELD_TYPES:
            return type
        raise ValueError(f"{type!r} is no type of a field{near(type, FIELD_TYPES)}: expected one of {', '.join(FIELD_TYPES)}")
    scalars = {bool: "bool", int: "i64", float: "f32", str: "string" if choices is None else "enum", bytes: "bytes", np.ndarray: "tensor"}
    lists = {int: "i64s", float: "f32s", str: "strings"}
    if isinstance(type, list) and len(type) == 1 and type[0] in lists:
        return lists[type[0]]
    if isinstance(type, dict) or not isinstance(type, list) and type in scalars:
        return scalars[type]
    raise TypeError(f"{type!r} is no type of a field: expected bool, int, float, str, [int], [float], [str], or one of "
                    f"{', '.join(FIELD_TYPES)}")


def text_of(value):
    """A value as the text of a default or of a test case."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (list, tuple, np.ndarray)):
        return "[" + ",".join(text_of(item) for item in value) + "]"
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    return str(value)


def read_fields(fields):
    """{name: Field} of {name: default, type or Field}."""
    result = {}
    for name, given in dict(fields or {}).items():
        check_identifier(name, "a field")
        try:
            result[name] = given if isinstance(given, Field) else _field_of(given)
        except (TypeError, ValueError) as error:
            raise type(error)(f"field '{name}': {error}") from None
    return result


def _field_of(given):
    if isinstance(given, type) or isinstance(given, str) and given in FIELD_TYPES:
        return Field(given)
    if isinstance(given, list) and len(given) == 1 and isinstance(given[0], type):
        return Field(given)
    if isinstance(given, (bool, int, float, str)):
        return Field(type(given), given)
    if isinstance(given, (list, tuple)) and given and all(isinstance(item, type(given[0])) for item in given):
        return Field([type(given[0])], list(given))
    raise TypeError(f"{given!r}: expected a default (False, 1, 0.5, 'cubic', [1, 2]), a type (float, [int]) or tenon.Field(...)")


PROTO = re.compile(r"\s*(repeated\s+|optional\s+|required\s+)?(\w+)\s+(\w+)\s*=\s*\d+\s*$")
PROTO_TYPES = {"int32": int, "int64": int, "uint32": int, "bool": bool, "float": float, "double": float, "string": str}


def read_proto(text):
    """The fields of declarations of protobuf: 'repeated int64 size = 100; string mode = 101;'."""
    fields = {}
    for line in filter(str.strip, text.split(";")):
        match = PROTO.match(line)
        if not match or match[2] not in PROTO_TYPES:
            raise ValueError(f"proto: {line.strip()!r}: expected TYPE NAME = NUMBER, TYPE one of {', '.join(PROTO_TYPES)}, "
                             "'repeated' before it or not")
        kind = PROTO_TYPES[match[2]]
        repeated = (match[1] or "").strip() == "repeated"
        fields[match[3]] = Field([int if kind is bool else kind], []) if repeated else Field(kind, kind())
    return fields


@dataclasses.dataclass
class Port:
    name: str
    types: str
    flags: int

    def row(self):
        return (self.name, self.types, self.flags, None, 0, 0)

    def has(self, word):
        return bool(self.flags & PORT_FLAGS[word])


def read_ports(ports, what):
    """Ports of ["x", "y"] or {"x": "T:f32|f64", "size": "any shape"}: types, then words of PORT_FLAGS."""
    if isinstance(ports, str):
        ports = [ports]
    items = ports.items() if isinstance(ports, dict) else [(port, "f32") for port in ports or []]
    result = []
    for name, text in items:
        check_identifier(name, f"an {what}")
        if keyword.iskeyword(name) or name in ("call", "fields", "self"):
            raise ValueError(f"an {what} is named '{name}', which means something else in code: choose another name")
        words = str(text).split() or ["f32"]
        unknown = [word for word in words[1:] if word not in PORT_FLAGS]
        if unknown:
            raise ValueError(f"{what} '{name}': {unknown[0]!r} is not known{near(unknown[0], PORT_FLAGS)}: behind the types may stand "
                             f"{', '.join(PORT_FLAGS)}")
        result.append(Port(name, words[0], sum(PORT_FLAGS[word] for word in words[1:])))
    if len({port.name for port in result}) < len(result):
        raise ValueError(f"two {what}s have the same name")
    return result


def attributes(values, declared=None, op=""):
    """Values as the extension takes attributes. With `declared` ({name: Field}) a name that is not there is refused here."""
    result = []
    for name, value in values.items():
        if declared is not None and name not in declared:
            raise TypeError(f"{op} has no field '{name}'{near(name, declared)}: expected "
                            f"{', '.join(declared) or 'none at all'}")
        if value is not None:
            result.append(_attribute(name, value))
    return result


def _attribute(name, value):
    kind = FIELD_TYPES
    if isinstance(value, (bool, np.bool_)):
        return name, kind["i64"], int(value)
    if isinstance(value, (int, np.integer)):
        return name, kind["i64"], int(value)
    if isinstance(value, (float, np.floating)):
        return name, kind["f64"], float(value)
    if isinstance(value, str):
        return name, kind["string"], value
    if isinstance(value, (bytes, bytearray)):
        return name, kind["bytes"], bytes(value)
    if isinstance(value, np.ndarray):
        return name, kind["tensor"], _types.as_tensor(value)
    if isinstance(value, (list, tuple)):
        if all(isinstance(item, (int, np.integer)) for item in value):
            return name, kind["i64s"], np.array(value, np.int64).tobytes()
        if all(isinstance(item, (int, float, np.number)) for item in value):
            return name, kind["f64s"], np.array(value, np.float64).tobytes()
        if all(isinstance(item, str) for item in value):
            return name, kind["strings"], list(value)
    raise TypeError(f"field '{name}' is {value!r}: expected a truth value, a number, a str, bytes, a list of these, or an array")
