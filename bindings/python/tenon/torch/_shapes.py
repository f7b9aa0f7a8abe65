# SPDX-License-Identifier: Apache-2.0
"""Converters of what moves elements, and of what makes tensors."""

import numpy as np
import torch

from tenon.torch._table import TYPES, Value, converter

SAME = ("contiguous", "clone", "detach", "alias", "dropout", "dropout_", "feature_dropout", "lift_fresh_copy", "native_dropout", "view_as")
END = 1 << 62
for _name in SAME:
    converter(f"aten.{_name}")(lambda net, x, *_: net.add("Identity", [x]))


@converter("aten.sym_size.int")
def sym_size(net, x, axis):
    axis = x.axis(axis)
    return net.add("Squeeze", [net.add("Shape", [x], start=axis, end=axis + 1), net.axes([0])])


@converter("aten.sym_numel")
def sym_numel(net, x):
    return net.add("Size", [x])


@converter("aten.reshape", "aten.view.default", "aten._unsafe_view")
def reshape(net, x, extents):
    return net.add("Reshape", [x, net.extents(extents)], allowzero=int(0 in [each for each in extents if isinstance(each, int)]))


@converter("aten.flatten.using_ints")
def flatten(net, x, start=0, end=-1):
    if x.rank == 0:
        return net.add("Reshape", [x, net.axes([1])])
    start, end = x.axis(start), x.axis(end)
    sizes = [int(extent) if isinstance(extent, int) else 0 for extent in x.val.shape]
    if 0 in sizes[end + 1:]:  # Reshape copies extents by their number, which is another one behind what was joined
        extents = [_extent(net, x, axis) for axis in range(start)] + [-1] + [_extent(net, x, axis) for axis in range(end + 1, x.rank)]
        return net.add("Reshape", [x, net.extents(extents)])
    return net.add("Reshape", [x, net.axes([0] * start + [-1] + sizes[end + 1:])])


def _extent(net, x, axis):
    return int(x.val.shape[axis]) if isinstance(x.val.shape[axis], int) else sym_size(net, x, axis)


@converter("aten.unflatten.int")
def unflatten(net, x, axis, sizes):
    axis = x.axis(axis)
    extents = [_extent(net, x, i) for i in range(axis)] + list(sizes) + [_extent(net, x, i) for i in range(axis + 1, x.rank)]
    return net.add("Reshape", [x, net.extents(extents)])


@converter("aten.squeeze", "aten.squeeze_", "aten.squeeze.dims")
def squeeze(net, x, axes=None):
    axes = range(x.rank) if axes is None else [axes] if isinstance(axes, int) else axes
    axes = [x.axis(axis) for axis in axes if isinstance(x.val.shape[axis], int) and x.val.shape[axis] == 1]
    return net.add("Squeeze", [x, net.axes(axes)]) if axes else net.add("Identity", [x])


converter("aten.unsqueeze", "aten.unsqueeze_")(lambda net, x, axis: net.add("Unsqueeze", [x, net.axes([axis])]))
converter("aten.permute")(lambda net, x, order: net.add("Transpose", [x], perm=[x.axis(axis) for axis in order]))
converter("aten.mT", "aten.adjoint")(lambda net, x: transpose(net, x, -1, -2))
converter("aten.t", "aten.numpy_T")(lambda net, x: net.add("Transpose", [x]) if x.rank else x)


@converter("aten.transpose.int", "aten.transpose_", "aten.swapaxes")
def transpose(net, x, first, second):
    order = list(range(x.rank))
    order[first], order[second] = order[second], order[first]
    return net.add("Transpose", [x], perm=order)


@converter("aten.expand")
def expand(net, x, extents, implicit=False):
    return net.add("Expand", [x, net.extents([1 if isinstance(each, int) and each == -1 else each for each in extents])])


converter("aten.expand_as")(lambda net, x, y: net.add("Expand", [x, net.add("Shape", [y])]))


@converter("aten.slice.Tensor")
def slice_(net, x, axis=0, start=None, end=None, step=1):
    if (start in (None, 0) and isinstance(end, (int, type(None))) and (end is None or end > END) and step == 1):
        return net.add("Identity", [x])
    ends = END if end is None else end
    return net.add("Slice", [x, net.extents([0 if start is None else start]), net.extents([ends]), net.axes([axis]), net.extents([step])])


converter("aten.narrow")(lambda net, x, axis, start, length: slice_(net, x, axis, start, _plus(net, start, length)))


def _plus(net, one, other):
    if isinstance(one, int) and isinstance(other, int):
        return one + other
    return net.add("Add", net.promoted(one, other, dtype=torch.int64))


@converter("aten.select.int")
def select(net, x, axis, index):
    return net.add("Gather", [x, index if isinstance(index, Value) else net.constant(np.int64(index))], axis=axis)


@converter("aten.cat", "aten.concat")
def cat(net, tensors, axis=0):
    kinds = [each.val for each in tensors]
    dtype = kinds[0].dtype
    for kind in kinds[1:]:
        dtype = torch.promote_types(dtype, kind.dtype)
    return net.add("Concat", [net.cast(each, dtype) for each in tensors], axis=axis)


@converter("aten.stack")
def stack(net, tensors, axis=0):
    return net.add("Concat", [net.add("Unsqueeze", [each, net.axes([axis])]) for each in tensors], axis=axis)


def _split(net, x, sizes, axis):
    return [slice_(net, x, axis, sum(sizes[:index]), sum(sizes[:index + 1])) for index in range(len(sizes))]


def _static(x, axis, what):
    extent = x.val.shape[axis]
    if not isinstance(extent, int):
        raise ValueError(f"{what} along an axis whose extent only a run knows: expected a known one")
    return extent


@converter("aten.split.Tensor")
def split(net, x, size, axis=0):
    extent = _static(x, axis, "split")
    return _split(net, x, [min(size, extent - at) for at in range(0, extent, size)], axis)


converter("aten.split.sizes", "aten.split_with_sizes")(lambda net, x, sizes, axis=0: _split(net, x, list(sizes), axis))
converter("aten.chunk")(lambda net, x, count, axis=0: split(net, x, -(-_static(x, axis, "chunk") // count), axis))


@converter("aten.unbind.int")
def unbind(net, x, axis=0):
    return [select(net, x, axis, index) for index in range(_static(x, axis, "unbind"))]


@converter("aten.repeat")
def repeat(net, x, counts):
    ones = len(counts) - x.rank
    if ones:
        x = net.add("Unsqueeze", [x, net.axes(list(range(ones)))])
    return net.add("Tile", [x, net.extents(counts)])


@converter("aten.index_select")
def index_select(net, x, axis, index):
    return net.add("Gather", [x, index], axis=axis)


converter("aten.gather")(lambda net, x, axis, index, *_: net.add("GatherElements", [x, index], axis=axis))
converter("aten.embedding")(lambda net, weight, index, *_: net.add("Gather", [weight, index], axis=0))


@converter("aten.index.Tensor")
def index(net, x, indices):
    """One index of integers, others whole."""
    given = [(axis, each) for axis, each in enumerate(indices) if each is not None]
    if len(given) != 1 or given[0][1].dtype == "bool":
        raise ValueError("indexing by several tensors, or by truth values: expected one tensor of integers")
    return net.add("Gather", [x, given[0][1]], axis=given[0][0])


@converter("aten.flip")
def flip(net, x, axes):
    count = len(axes)
    return net.add("Slice", [x, net.axes([-1] * count), net.axes([-END] * count), net.axes(axes), net.axes([-1] * count)])


@converter("aten.pad", "aten.constant_pad_nd")
def pad(net, x, amounts, mode="constant", value=None):
    if not isinstance(mode, str):  # constant_pad_nd(x, amounts, value)
        mode, value = "constant", mode
    pairs = [amounts[at:at + 2] for at in range(0, len(amounts), 2)][::-1]
    pads = net.extents([low for low, _ in pairs] + [high for _, high in pairs])
    names = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
    filled = net.cast(value or 0, x.dtype) if mode == "constant" else None
    return net.add("Pad", [x, pads, filled, net.axes(range(x.rank - len(pairs), x.rank))], mode=names[mode])


@converter("aten.pixel_shuffle")
def pixel_shuffle(net, x, factor):
    return net.add("DepthToSpace", [x], blocksize=factor, mode="CRD")


@converter("aten.tril", "aten.triu")
def tril(net, x, diagonal=0):
    return net.add("Trilu", [x, net.constant(np.int64(diagonal))], upper=0)


converter("aten.triu")(lambda net, x, diagonal=0: net.add("Trilu", [x, net.constant(np.int64(diagonal))], upper=1))

# --- types, and tensors that are made -------------------------------------------------------------


@converter("aten._to_copy", "aten.to.dtype", "aten.to.dtype_layout", "aten.to.device", "aten.type_as", "aten.to.other")
def to(net, x, *rest):
    dtype = next((each for each in rest if isinstance(each, torch.dtype)), None)
    other = next((each.dtype for each in rest if isinstance(each, Value)), None)
    made = net.cast(x, dtype or other or x.dtype)
    return net.add("Identity", [x], dtype=x.dtype) if made is x else made


for _name in ("float", "double", "half", "long", "int", "bool"):
    converter(f"python.{_name}")(lambda net, x, _name=_name: net.cast(x, getattr(torch, _name)))


def _filled(net, extents, value, dtype):
    name = TYPES[dtype or (torch.get_default_dtype() if isinstance(value, float) else torch.int64)]
    if not any(isinstance(each, Value) for each in extents):
        return net.constant(np.full([int(each) for each in extents], value), name)
    return net.add("Expand", [net.cast(value, name), net.extents(extents)])


@converter("aten.full")
def full(net, extents, value, dtype=None, *_):
    return _filled(net, extents, value, dtype)


converter("aten.zeros")(lambda net, extents, dtype=None, *_: _filled(net, extents, 0, dtype or torch.get_default_dtype()))
converter("aten.ones")(lambda net, extents, dtype=None, *_: _filled(net, extents, 1, dtype or torch.get_default_dtype()))
converter("aten.zeros_like")(lambda net, x, dtype=None, *_: _like(net, x, 0, dtype))
converter("aten.ones_like")(lambda net, x, dtype=None, *_: _like(net, x, 1, dtype))
converter("aten.full_like")(lambda net, x, value, dtype=None, *_: _like(net, x, value, dtype))


def _like(net, x, value, dtype):
    return net.add("Expand", [net.cast(value, dtype or x.dtype), net.add("Shape", [x])])


@converter("aten.arange.default")
def arange(net, end, dtype=None, *_):
    return arange_from(net, 0, end, 1, dtype)


@converter("aten.arange.start")
def arange_start(net, start, end, dtype=None, *_):
    return arange_from(net, start, end, 1, dtype)


@converter("aten.arange.start_step")
def arange_from(net, start, end, step=1, dtype=None, *_):
    dtype = dtype or (torch.get_default_dtype() if any(isinstance(each, float) for each in (start, end, step)) else torch.int64)
    if any(isinstance(each, Value) for each in (start, end, step)):
        return net.add("Range", [net.cast(each, dtype) for each in (start, end, step)])
    return net.constant(torch.arange(start, end, step, dtype=dtype).numpy())


@converter("aten.scalar_tensor")
def scalar_tensor(net, value, dtype=None, *_):
    return net.cast(value, dtype or torch.get_default_dtype())
