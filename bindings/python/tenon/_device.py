# SPDX-License-Identifier: Apache-2.0
"""Tensors in a GPU's memory, by the library that they are of: its current stream, on which a network runs, and its own memory, in which
outputs are. What another library has is read by DLPack, and outputs are NumPy arrays."""

import math
import sys

CUDA = 2  # DLPack's number of the kind of device
DEFAULT_STREAM = 1  # what stands for the stream 0 where 0 is none
DTYPES = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "i64": "int64", "i32": "int32", "i16": "int16",
          "i8": "int8", "u64": "uint64", "u32": "uint32", "u16": "uint16", "u8": "uint8", "bool": "bool"}


class _Torch:
    def __init__(self, tensor):
        self.torch, self.device = sys.modules["torch"], tensor.device

    def stream(self):
        return self.torch.cuda.current_stream(self.device).cuda_stream

    def allocate(self, name, bytes):
        return self.torch.empty(max(bytes, 1), dtype=self.torch.uint8, device=self.device)

    def dtype(self, type):
        return getattr(self.torch, DTYPES[type])


class _CuPy:
    def __init__(self, tensor):
        self.cupy, self.device = sys.modules["cupy"], tensor.device

    def stream(self):
        return self.cupy.cuda.get_current_stream(self.device.id).ptr

    def allocate(self, name, bytes):
        with self.device:
            return self.cupy.empty(max(bytes, 1), self.cupy.uint8)

    def dtype(self, type):
        return self.cupy.dtype(DTYPES[type])


LIBRARIES = {"torch": _Torch, "cupy": _CuPy}


def library_of(tensors):
    """The library of the first tensor in a GPU's memory; None where there is none, or it is not known."""
    for tensor in tensors:
        where = getattr(tensor, "__dlpack_device__", None)
        made = LIBRARIES.get(type(tensor).__module__.split(".")[0])
        if made and where and where()[0] == CUDA:
            return made(tensor)
    return None


def run(network, inputs, out):
    """network.run_named on an engine of a GPU. A context stays with its stream: a run may go on when the call returns, and the next one
    on the same memory is behind it there."""
    library = library_of(inputs.values() if isinstance(inputs, dict) else inputs)
    stream = library and (library.stream() or DEFAULT_STREAM)
    contexts = network._streams.setdefault(stream, [])
    context = _context(network, contexts, stream)
    try:
        found = context.run(inputs, out, library and library.allocate)
    finally:
        contexts.append(context)
    return {name: tensor_of(library, *value) if isinstance(value, tuple) else value for name, value in found.items()}


def _context(network, contexts, stream):
    try:
        return contexts.pop()
    except IndexError:
        context = network.engine.context()
        if stream is not None:
            context.set_stream(stream)
        return context


def tensor_of(library, block, type, shape):
    dtype = library.dtype(type)
    return block[:math.prod(shape) * dtype.itemsize].view(dtype).reshape(shape)
