# SPDX-License-Identifier: Apache-2.0
"""The networks of a session: one for any shapes, built with the session, and further ones for the shapes that come.

A model whose extents are numbers, or whose shapes all follow from named extents, has one network. Where shapes cannot be known before
a run, the network for any shapes runs operators' references and kernels that are not prepared. Of such a model the second run that has
nothing better builds a network for the shapes seen so far: extents that never changed are fixed, the others get a range. It serves
whatever lies within; the first run with other shapes never waits for a build.
"""

import threading

import tenon
from tenon._network import Network

LIMIT = 4  # networks beside the one for any shapes


def has_unknown_shapes(plan):
    """Whether the build left shapes open, so that kernels could not be chosen for them."""
    outputs = (output for node in plan.report["nodes"] if node["kind"] == "kernel" for output in node["outputs"])
    return any(output and output["shape"] is None for output in outputs)


class _Ranged:
    """A network for ranges of shapes, and of inputs whose values decide shapes for one value."""

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
    """`build(profiles)` answers a plan of the model; profiles None: for any shapes."""

    def __init__(self, ports, build, load):
        self._build, self._load = build, load
        plan = build(None)
        self.first = Network(plan, load(plan))
        is_free = any(port.shape is None or not all(isinstance(extent, int) for extent in port.shape) for port in ports)
        self._is_open = (is_free or any(port.is_value for port in ports)) and has_unknown_shapes(plan)
        self._value_names = [port.name for port in ports if port.is_value]
        self._ranged = []
        self._seen = []  # (shapes, values) of runs that had no network of their own
        self._waiting = 0
        self._lock = threading.Lock()

    def find(self, arrays):
        """The network that runs these inputs, a dict of arrays."""
        if not self._is_open:
            return self.first
        shapes = {name: tuple(array.shape) for name, array in arrays.items()}
        values = {name: arrays[name].tobytes() for name in self._value_names}
        found = next((ranged for ranged in self._ranged if ranged.accepts(shapes, values)), None)
        if found is None:
            with self._lock:
                found = self._make(shapes, values)
        return found.network if found else self.first

    def _make(self, shapes, values):
        """A network for these shapes, or None where this run is not to wait for one."""
        self._seen = [*self._seen, (shapes, values)][-8:]
        self._waiting += 1
        if self._waiting < 2 or len(self._ranged) >= LIMIT:
            return None
        self._waiting = 0
        for made in self._attempts(shapes, values):
            if made is not None:
                self._ranged.insert(0, made)
                return made
        return None

    def _attempts(self, shapes, values):
        """From the widest ranges to these shapes alone."""
        has_same_values = all(other == values for _, other in self._seen)
        for least, greatest in ((lambda low: 1, lambda high: 4 * high), (lambda low: low, lambda high: high)):
            ranges = {name: _range_of([seen[name] for seen, _ in self._seen], shape, least, greatest) for name, shape in shapes.items()}
            if all(ranges.values()):
                yield self._attempt(shapes, ranges, values if has_same_values else None)
        yield self._attempt(shapes, {name: (shape, shape) for name, shape in shapes.items()}, values)

    def _attempt(self, shapes, ranges, values):
        values = values or None
        profile = [(name, least, shapes[name], greatest, (values[name],) * 3 if values and name in values else None)
                   for name, (least, greatest) in ranges.items()]
        try:
            plan = self._build([profile])
            return None if has_unknown_shapes(plan) and not values else _Ranged(Network(plan, self._load(plan)), ranges, values)
        except tenon.Error:
            return None


def _range_of(seen, shape, least, greatest):
    """The range of an input: extents that were the same in all runs are fixed. None: its rank changed."""
    if any(len(other) != len(shape) for other in seen):
        return None
    columns = list(zip(*seen)) if shape else []
    return (tuple(low if low == max(column) else least(low) for low, column in ((min(column), column) for column in columns)),
            tuple(high if high == min(column) else greatest(high) for high, column in ((max(column), column) for column in columns)))
