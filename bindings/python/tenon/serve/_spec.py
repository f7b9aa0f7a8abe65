# SPDX-License-Identifier: Apache-2.0
"""What a network takes and returns, in the words of the Open Inference Protocol."""

import dataclasses
import difflib
import math

import numpy as np

from ._errors import RequestError

DATATYPES = {"bool": "BOOL", "u8": "UINT8", "u16": "UINT16", "u32": "UINT32", "u64": "UINT64", "i8": "INT8", "i16": "INT16",
             "i32": "INT32", "i64": "INT64", "f16": "FP16", "f32": "FP32", "f64": "FP64", "string": "BYTES"}
DTYPES = {"BOOL": np.dtype("bool"), "UINT8": np.dtype("u1"), "UINT16": np.dtype("<u2"), "UINT32": np.dtype("<u4"),
          "UINT64": np.dtype("<u8"), "INT8": np.dtype("i1"), "INT16": np.dtype("<i2"), "INT32": np.dtype("<i4"),
          "INT64": np.dtype("<i8"), "FP16": np.dtype("<f2"), "FP32": np.dtype("<f4"), "FP64": np.dtype("<f8")}
OF_DTYPE = {dtype: name for name, dtype in DTYPES.items()}


@dataclasses.dataclass(frozen=True)
class Tensor:
    """An input or output: shape has -1 where an extent is known at run time; None: the rank is, too."""

    name: str
    datatype: str
    shape: tuple | None

    def metadata(self):
        return {"name": self.name, "datatype": self.datatype, "shape": list(self.shape if self.shape is not None else (-1,))}


def tensor_of(port, kind):
    """The Tensor of a tenon.Port. Raises ValueError for a type or kind of value that the protocol, or its clients, lack."""
    if port.kind != "tensor":
        raise ValueError(f"{kind} '{port.name}' is of the kind '{port.kind}', which requests cannot have: they have tensors alone; "
                         "take it apart within the network, with SequenceAt, ConcatFromSequence, OptionalGetElement, or without ZipMap")
    if port.type is None:
        datatype = ""  # an output's whose type is known when it has run
    elif port.type in DATATYPES:
        datatype = DATATYPES[port.type]
    else:
        raise ValueError(f"{kind} '{port.name}' is {port.type}, which requests cannot have: "
                         f"there are {', '.join(DATATYPES.values())}; cast it within the network (tenon build --border NAME=f32)")
    shape = None if port.shape is None else tuple(extent if isinstance(extent, int) else -1 for extent in port.shape)
    return Tensor(port.name, datatype, shape)


@dataclasses.dataclass(frozen=True)
class Spec:
    """A network's inputs and outputs, and its profiles: dicts from inputs' names to (least, optimal, greatest) shape or None."""

    inputs: tuple
    outputs: tuple
    profiles: tuple = ()

    def by_name(self):
        return {tensor.name: tensor for tensor in self.inputs}

    def input(self, name):
        for tensor in self.inputs:
            if tensor.name == name:
                return tensor
        raise unknown("input", name, self.inputs)

    def check_type(self, name, datatype):
        wanted = self.input(name).datatype
        if datatype != wanted:
            if datatype == "BF16":
                raise RequestError(400, f"input '{name}': BF16 is not had here, {wanted} is wanted")
            raise RequestError(400, f"input '{name}': {datatype[:32]} came, {wanted} is wanted")

    def check(self, arrays):
        """Raises the RequestError of inputs that are missing, or whose shapes no profile has."""
        missing = [tensor.name for tensor in self.inputs if tensor.name not in arrays]
        if missing:
            raise RequestError(400, f"input '{missing[0]}' is missing: {named(self.inputs)} are wanted, "
                               f"{', '.join(map(repr, arrays)) or 'none'} came")
        if self.profiles and not any(self._is_within(profile, arrays) for profile in self.profiles):
            raise self._outside(arrays)

    @staticmethod
    def _is_within(profile, arrays):
        return all(bounds is None or within(arrays[name].shape, bounds) for name, bounds in profile.items())

    def _outside(self, arrays):
        for tensor in self.inputs:
            shape = arrays[tensor.name].shape
            ranges = [profile.get(tensor.name) for profile in self.profiles]
            if None not in ranges and not any(within(shape, bounds) for bounds in ranges):
                return RequestError(400, f"input '{tensor.name}': shape {list(shape)} came, "
                                    f"{' or '.join(map(described, ranges))} is wanted")
        return RequestError(400, "shapes of the inputs are each within a profile, but not within one: " +
                            "; or ".join(", ".join(f"'{name}' {described(bounds)}" for name, bounds in profile.items() if bounds)
                                         for profile in self.profiles))

    def output_names(self, wanted):
        """The names of the outputs that a request asks for; all where it names none."""
        names = [tensor.name for tensor in self.outputs]
        for name in wanted:
            if name not in names:
                raise unknown("output", name, self.outputs)
        return list(wanted) or names

    def batch_rows(self):
        """(optimal, greatest) rows of axis 0 where all inputs share one that varies, else None."""
        if not self.inputs or any(tensor.shape is None or not tensor.shape or tensor.shape[0] != -1 for tensor in self.inputs):
            return None
        rows = []
        for profile in self.profiles:
            bounds = {(bound[1][0], bound[2][0]) if bound else None for bound in (profile.get(t.name) for t in self.inputs)}
            if len(bounds) == 1 and None not in bounds:
                rows.append(bounds.pop())
        best = max(rows, key=lambda it: it[1], default=None)
        return best if best and best[1] > 1 else None


def within(shape, bounds):
    least, _, greatest = bounds
    return len(shape) == len(least) and all(low <= extent <= high for low, extent, high in zip(least, shape, greatest))


def described(bounds):
    """"[1..8, 3, 28, 28]"."""
    least, _, greatest = bounds
    return "[" + ", ".join(str(low) if low == high else f"{low}..{high}" for low, high in zip(least, greatest)) + "]"


def named(tensors):
    return ", ".join(f"'{tensor.name}'" for tensor in tensors)


def unknown(kind, name, tensors):
    nearest = difflib.get_close_matches(str(name), [tensor.name for tensor in tensors], 1, 0.5)
    return RequestError(400, f"no {kind} is called {str(name)[:128]!r}: there are {named(tensors)}"
                        + (f"; the nearest is '{nearest[0]}'" if nearest else ""))


def check_shape(name, shape, most_rank=8):
    """The extents as a tuple of whole numbers."""
    if not isinstance(shape, (list, tuple)) or len(shape) > most_rank or \
            any(isinstance(extent, bool) or not isinstance(extent, int) or not 0 <= extent < 1 << 40 for extent in shape):
        raise RequestError(400, f"input '{name}': shape: a list of at most {most_rank} whole numbers from 0 is wanted")
    return tuple(shape)


def count(shape):
    return math.prod(shape)
