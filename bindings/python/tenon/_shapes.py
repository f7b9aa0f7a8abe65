# SPDX-License-Identifier: Apache-2.0
"""What would mend the shape of an input: another order of the axes, an axis more, or the nearest shape that a plan takes."""

import itertools


def add_mend(error, engine, inputs):
    """Adds the mend to an error about shapes, where an input does not fit and something near to it does."""
    if error.code not in ("TN_ERROR_SHAPE", "TN_ERROR_RANGE") or error.mend:
        return
    given = inputs if isinstance(inputs, dict) else dict(zip([port.name for port in engine.inputs], inputs))
    for port in engine.inputs:
        extents = getattr(given.get(port.name), "shape", None)
        if port.kind != "tensor" or port.shape is None or extents is None:
            continue
        shape, choices = tuple(int(extent) for extent in extents), bounds_of(port, engine.profiles)
        if any(fits(shape, bounds) for bounds in choices):
            continue
        mend = next(filter(None, (mended(shape, bounds) for bounds in choices)), None)
        if mend:
            error.mend = mend
            error.args = (f"{error}; {mend}",)
            error.message = f"{error.message}; {mend}"
        return


def bounds_of(port, profiles):
    """Of each profile the (least, greatest) extents, None where any will do; of a plan without profiles what the port declares."""
    declared = [(extent, extent) if isinstance(extent, int) else (0, None) for extent in port.shape]
    ranges = [list(zip(shapes[0], shapes[2])) for profile in profiles if (shapes := profile.get(port.name))]
    return ranges or [declared]


def fits(shape, bounds):
    return len(shape) == len(bounds) and all(low <= extent and (high is None or extent <= high) for extent, (low, high) in zip(shape, bounds))


def mended(shape, bounds):
    """What to do with an array of this shape, as text; None: nothing is near."""
    for order in orders(len(shape)):
        turned = tuple(shape[axis] for axis in order)
        text = "" if order == tuple(range(len(shape))) else f".transpose{order}"
        for change, made in ("", turned), ("[None]", (1, *turned)), ("[0]", turned[1:] if turned[:1] == (1,) else ()):
            if (text or change) and fits(made, bounds):
                return f"array{text}{change} has a shape that fits, {made}"
    with_ones = tuple(low if low == high else max(low, 1) for low, high in bounds)
    if [extent for extent in with_ones if extent != 1] == [extent for extent in shape if extent != 1]:
        return f"array.reshape{with_ones} has a shape that fits"
    if len(shape) == len(bounds):
        nearest = tuple(max(low, extent if high is None else min(extent, high)) for extent, (low, high) in zip(shape, bounds))
        return f"the nearest shape is {nearest}"
    return None


def orders(rank):
    """The order of the axes as they are, then those with one axis moved: channels last, or first, and the like."""
    axes = range(rank)
    yield tuple(axes)
    for source, target in itertools.permutations(axes, 2):
        others = [axis for axis in axes if axis != source]
        yield (*others[:target], source, *others[target:])
