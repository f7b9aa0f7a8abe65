# SPDX-License-Identifier: Apache-2.0
"""The networks of a session: one for any shapes, built with the session, and further ones for the shapes that come.

A model whose extents are numbers, or whose shapes all follow from named extents, has one network. Where shapes cannot be known before
a run, the network for any shapes runs operators' references and kernels that are not prepared. Of such a model the second run that has
nothing better builds a network for the shapes seen so far: extents that never changed are fixed, the others get a range. It serves
whatever lies within; the first run with other shapes never waits for a build. A model that is not built for any shapes, since its nodes
refuse the extents that are tried, is built for those of its first run.

Convolutions of images of any size run kernels that are not made anew for each size, which those for one size are faster than. Where a
size comes back RETURNS times in sequence, a network is built for it.
"""

import threading

import tenon
from tenon._network import Network

LIMIT = 4  # networks beside the one for any shapes, and builds in sequence that may come to nothing
RETURNS = 8  # runs of one size until a network for it pays: a build takes as long as some tens of runs, of which it saves a half
SIZES = 8  # builds for such sizes
RESIDENT_BYTES = 256 << 20  # of weights: a network more has them once more
BODIES = ("If", "Loop", "Scan")  # what they return may have another shape in each run, while all within is built for what they read


def _shapes_of(tensors):
    return [tensor["shape"] for tensor in tensors if tensor]


def has_unknown_shapes(plan, but=()):
    """Whether the build left shapes open, so that kernels could not be chosen for them. but: operators whose outputs may be open where
    their inputs are not."""
    return any(None in _shapes_of(node["outputs"]) and (node["op"] not in but or None in _shapes_of(node["inputs"]))
               for node in plan.report["nodes"] if node["kind"] == "kernel")


def may_be_faster_for_one_size(plan):
    """Whether kernels may be in it that are slower than those made for one size, and its weights are few enough to have twice."""
    return plan.report["totals"]["constant_bytes"] <= RESIDENT_BYTES and any("Conv" in node["op"] for node in plan.report["nodes"])


class _Ranged:
    """A network for ranges of shapes; `values`: of the inputs whose values decide shapes those that it was built for, or None."""

    def __init__(self, network, ranges, values):
        self.network = network
        self._ranges = ranges
        self._values = values

    def accepts(self, shapes, values):
        for name, (least, greatest) in self._ranges.items():
            shape = shapes[name]
            if len(shape) != len(least) or not all(a <= b <= c for a, b, c in zip(least, shape, greatest)):
                return False
        return self._values is None or self._values == values


class Networks:
    """The networks of a model with these input ports. build(shapes, values) answers a plan, as tenon.build has them (None: for any
    shapes), load(plan) an engine."""

    def __init__(self, ports, build, load):
        self._build, self._load = build, load
        ports = [port for port in ports if port.kind == "tensor"]  # nothing else has a shape
        self._names = [port.name for port in ports]
        is_free = any(port.shape is None or not all(isinstance(extent, int) for extent in port.shape) for port in ports)
        self._is_open = is_free or any(port.is_value for port in ports)  # until the second run has looked
        self._value_names = [port.name for port in ports if port.is_value]
        self._ranged = []
        self._seen = []  # (shapes, values) of runs that had no network of their own
        self._waiting = 0
        self._refused = 0  # builds since the last one that gave a network
        self._is_unknown = None  # whether the network for any shapes knows too little of them; None: nobody asked
        self._has_sizes = any(not isinstance(extent, int) for port in ports for extent in (port.shape or ())[1:])
        self._sizes_left = 0  # builds for sizes that come back
        self._lock = threading.Lock()
        try:
            self.first = self._network(None, None)
        except tenon.Error as error:
            if not is_free or error.code not in ("TN_ERROR_SHAPE", "TN_ERROR_RANGE"):
                raise
            self.first = None
        if not self._is_open:
            self._build = None  # which holds the model

    def _network(self, shapes, values):
        plan = self._build(shapes, values)
        return Network(plan, self._load(plan))

    def find(self, arrays):
        """The network that runs these inputs, a dict of arrays."""
        if not self._is_open:
            return self.first
        shapes = {name: tuple(arrays[name].shape) for name in self._names}
        values = {name: arrays[name].tobytes() for name in self._value_names}
        found = self._made(shapes, values)
        if found is None:
            found = self._find_or_make(shapes, values, arrays)
        return found.network if found else self.first

    def _find_or_make(self, shapes, values, arrays):
        """While one thread builds the others run what there is."""
        if not self._lock.acquire(blocking=self.first is None):
            return None
        try:
            return self._made(shapes, values) or (self._make(shapes, values, arrays) if self._build else None)
        finally:
            self._lock.release()

    def _made(self, shapes, values):
        return next((ranged for ranged in self._ranged if ranged.accepts(shapes, values)), None)

    def _make(self, shapes, values, arrays):
        """A network for these shapes, or None where this run is not to wait for one."""
        self._seen = [*self._seen, (shapes, values)][-RETURNS:]
        candidates = self._candidates(shapes, values)
        if self._comes_back(shapes, values):
            candidates = [*candidates][-1:]
        elif self.first and not self._is_worth_it():
            return None
        for ranges, fixed in candidates:
            try:
                three = {name: (least, shapes[name], greatest) for name, (least, greatest) in ranges.items()}
                made = _Ranged(self._network(three, {name: (arrays[name],) * 3 for name in fixed or ()}), ranges, fixed)
            except tenon.Error:
                if not self.first and all(least == greatest for least, greatest in ranges.values()):
                    raise  # nothing else is left to try
                continue
            if self.first and has_unknown_shapes(made.network.plan, but=BODIES):
                continue
            self._ranged, self._refused = [made, *self._ranged][:LIMIT], 0
            return made
        self._refused += 1
        return None

    def _comes_back(self, shapes, values):
        """Whether a network is to be built for this size of images."""
        if not self._sizes_left or len(self._seen) < RETURNS or any(seen != (shapes, values) for seen in self._seen):
            return False
        self._sizes_left -= 1
        return True

    def _is_worth_it(self):
        self._waiting += 1
        if self._waiting < 2:
            return False
        self._waiting = 0
        has_given_up = self._refused >= LIMIT
        if self._is_unknown is None:
            self._is_unknown = has_unknown_shapes(self.first.plan)
            self._sizes_left = SIZES if self._has_sizes and may_be_faster_for_one_size(self.first.plan) else 0
        is_worth_it = self._is_unknown and not has_given_up
        self._is_open = bool(self._ranged) or is_worth_it or self._sizes_left > 0
        if not is_worth_it and not self._sizes_left:
            self._build = None
        return is_worth_it

    def _candidates(self, shapes, values):
        """From the widest ranges to these shapes alone, each with the values of inputs that decide shapes, or None."""
        fixed = values if values and all(other == values for _, other in self._seen) else None
        for least, greatest in ((lambda low: min(low, 1), lambda high: 4 * high), (lambda low: low, lambda high: high)):
            ranges = {name: _range_of([seen[name] for seen, _ in self._seen], least, greatest) for name in shapes}
            if all(ranges.values()):
                yield ranges, fixed
        yield {name: (shape, shape) for name, shape in shapes.items()}, values or None


def _range_of(seen, least, greatest):
    """The range of an input: extents that were the same in all runs are fixed. None: its rank changed."""
    if any(len(shape) != len(seen[0]) for shape in seen):
        return None
    bounds = [(min(extents), max(extents)) for extents in zip(*seen)]
    return (tuple(low if low == high else least(low) for low, high in bounds),
            tuple(high if low == high else greatest(high) for low, high in bounds))
