# SPDX-License-Identifier: Apache-2.0
"""The networks of a session: one for any shapes, built with the session, and further ones for the shapes that come.

A model whose extents are numbers, or whose shapes all follow from named extents, has one network. Where shapes cannot be known before
a run, the network for any shapes runs operators' references and kernels that are not prepared. Of such a model the second run that has
nothing better builds a network for the shapes seen so far: extents that never changed are fixed, the others get a range. It serves
whatever lies within; the first run with other shapes never waits for a build. A model that is not built for any shapes, since its nodes
refuse the extents that are tried, is built for those of its first run.
"""

import threading

import tenon
from tenon._network import Network

LIMIT = 4  # networks beside the one for any shapes, and builds in sequence that may come to nothing
BODIES = ("If", "Loop", "Scan")  # what they return may have another shape in each run, while all within is built for what they read


def _shapes_of(tensors):
    return [tensor["shape"] for tensor in tensors if tensor]


def has_unknown_shapes(plan, but=()):
    """Whether the build left shapes open, so that kernels could not be chosen for them. but: operators whose outputs may be open where
    their inputs are not."""
    return any(None in _shapes_of(node["outputs"]) and (node["op"] not in but or None in _shapes_of(node["inputs"]))
               for node in plan.report["nodes"] if node["kind"] == "kernel")


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
            with self._lock:
                found = self._made(shapes, values) or self._make(shapes, values, arrays)
        return found.network if found else self.first

    def _made(self, shapes, values):
        return next((ranged for ranged in self._ranged if ranged.accepts(shapes, values)), None)

    def _make(self, shapes, values, arrays):
        """A network for these shapes, or None where this run is not to wait for one."""
        self._seen = [*self._seen, (shapes, values)][-8:]
        if self.first and not self._is_worth_it():
            return None
        for ranges, fixed in self._candidates(shapes, values):
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

    def _is_worth_it(self):
        self._waiting += 1
        if self._waiting < 2:
            return False
        self._waiting = 0
        has_given_up = self._refused >= LIMIT
        self._is_open = bool(self._ranged) or not has_given_up and has_unknown_shapes(self.first.plan)
        if has_given_up or not self._is_open:
            self._build = None
        return self._is_open and not has_given_up

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
