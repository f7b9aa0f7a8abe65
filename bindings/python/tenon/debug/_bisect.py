# SPDX-License-Identifier: Apache-2.0
"""tenon.debug.bisect: the nodes that cost the accuracy in a lower precision."""

import dataclasses

import numpy as np

from tenon import _batches, _build
from tenon._findings import Table

from . import _models, _table, _tensors

LOWER = {"f16", "bf16", "i8", "u8", "f8e4m3", "f8e5m2"}


@dataclasses.dataclass
class Cost:
    """A node in the lower precision. loss: of the outputs where it alone, or its group of `group` nodes, is in the lower precision;
    is_kept: it is among those that must stay in 32 bits."""

    node: str
    op: str
    kernel: str
    loss: float
    group: int = 1
    is_kept: bool = False

    def cells(self):
        """The row's cells in the table."""
        return ("keep" if self.is_kept else "", self.node, self.op, self.kernel or "-", f"{self.loss:.3g}",
                "" if self.group == 1 else f"with {self.group - 1} more")


class Costs(Table):
    """Nodes, the most costly first. `keep`: names of those that must stay in 32 bits, as build(keep=...) takes them; `loss`: of the
    whole network in the lower precision; `kept_loss`: with these kept; `bound`; `builds`: how many were made."""

    columns = ("", "node", "operator", "kernel", "loss alone", "")

    def __init__(self, rows=(), bound=0.0, precision=""):
        super().__init__(rows)
        self.bound, self.precision = bound, precision
        self.loss = self.kept_loss = 0.0
        self.keep, self.builds = [], 0

    @property
    def ok(self):
        return self.kept_loss <= self.bound

    def shown(self):
        """The rows that are printed: those to keep, and the most costly of the others."""
        return [row for row in self if row.is_kept] + [row for row in self if not row.is_kept][:20]

    def summary(self):
        """The losses, and what to keep."""
        lines = [f"loss in {self.precision}: {self.loss:.3g}, {self.bound:.3g} is the bound"]
        if self.keep:
            lines.append(f"with keep={self.keep!r}: {self.kept_loss:.3g}")
        if not self.ok:
            lines.append("more than the bound with every node kept: the loss is of the borders, or of the bound's smallness")
        return "\n".join(lines + [f"{self.builds} builds"])


class _Search:
    """Builds of one model with some nodes kept in 32 bits, and their losses on the samples."""

    def __init__(self, model, batches, settings, precision):
        self.network = _tensors.Network(model, settings)
        self.settings, self.precision, self.builds = settings, precision, 0
        self.batches = [_models.as_inputs(self.network.inputs, batch) for batch in batches]
        if not self.batches:
            raise ValueError("inputs: no batch came")
        right = self.network.load(self.batches[0], precision="fp32", **self._without_calibration())
        self.wanted = [_tensors.values(right, batch) for batch in self.batches]

    def _without_calibration(self):
        return {name: None for name in ("calibration", "ranges") if name in self.settings.options}

    def load(self, keep):
        self.builds += 1
        return self.network.load(self.batches[0], precision=self.precision, keep=keep)

    def loss(self, network):
        """The largest over the outputs of sum |y - y32| / sum |y32|, over all batches."""
        apart, total = {}, {}
        for batch, wanted in zip(self.batches, self.wanted):
            for name, array in _tensors.values(network, batch).items():
                found = _table.difference(array, wanted[name], 0.0, 0.0, True)
                size = float(np.abs(np.asarray(wanted[name], np.float64)).sum()) if array.dtype.kind not in "OSU" else array.size
                apart[name] = apart.get(name, 0.0) + (found.loss * size if size else found.loss)
                total[name] = total.get(name, 0.0) + size
        return max((apart[name] / total[name] if total[name] else apart[name] for name in apart), default=0.0)


def _lowered(network):
    """Steps that have a tensor in less than 32 bits: (names of their nodes, operator, kernel)."""
    found = []
    for step in network.plan.report["nodes"]:
        values = [value for value in step["inputs"] + step["outputs"] if value]
        if any(value["type"] in LOWER for value in values):
            found.append(((step["name"], *step["absorbed"]), step["op"], step.get("kernel") or ""))
    return found


def _costs(search, steps, every, share):
    """Of each step its loss where no other is lowered: groups whose loss is below `share` of the bound are not divided further."""
    rows, groups = [], [steps]
    while groups:
        group = groups.pop()
        inside = {name for names, _, _ in group for name in names}
        loss = search.loss(search.load([name for name in every if name not in inside]))
        if len(group) == 1 or loss <= share:
            rows += [Cost(names[0], op, kernel, loss, len(group)) for names, op, kernel in group]
            continue
        middle = len(group) // 2
        groups += [group[middle:], group[:middle]]
    return sorted(rows, key=lambda row: (row.group > 1, -row.loss))


def bisect(model, inputs, precision="bf16", *, max_loss=0.01, plugins=(), shapes=None, runtime=None, threads=0, device=None, show=True,
           **options):
    """Finds the nodes that cost the accuracy in a lower precision; prints and answers them, with those that must be kept in 32 bits.

    model: what tenon.build takes. inputs: a dict of arrays, a tuple, one array, or a list of such batches.
    precision: "tf32", "bf16", "fp16", "int8" (with calibration= or ranges=, as tenon.build has them; the samples themselves serve where
        neither is given) or "int8,fp16".
    max_loss: the bound on sum |y - y32| / sum |y32|, of the output where that is largest, over all batches.
    plugins, shapes, options: those of tenon.build.

    First every node's own loss, by halving: a group of nodes that, lowered alone, loses next to nothing is not divided. Then nodes are
    kept, the most costly first, until the bound holds, and those given up again that it holds without. About 2 k log2(n) builds for k
    costly nodes among n. Answers a tenon.debug.Costs, whose `keep` is for tenon.build. Raises tenon.Error.
    """
    if precision == "fp32":
        raise ValueError("precision: 'fp32' came; a lower one is wanted, like 'bf16'")
    _build.precision_of(precision)
    if "keep" in options:
        raise TypeError("keep is what bisect finds")
    batches = inputs if isinstance(inputs, list) else [inputs]
    settings = _models.Settings(plugins, runtime, shapes, threads, device, options)
    if "int8" in precision and options.get("calibration") is None and not options.get("ranges"):
        options["calibration"] = batches
    if options.get("calibration") is not None and _batches.is_samples(options["calibration"]):
        first = _tensors.Network(model, settings)
        given = _models.as_inputs(first.inputs, batches[0])
        options["calibration"] = _build.calibrate(
            first.graph, options["calibration"], shapes=settings.shapes or _models.shapes_of(given), threads=threads,
            calibrator=options.pop("calibrator", "entropy"), percentile=options.pop("percentile", None))
    search = _Search(model, batches, settings, precision)
    found = _find(search, max_loss, precision)
    if show:
        print(found)
    return found


def _find(search, bound, precision):
    whole = search.load([])
    loss = search.loss(whole)
    found = Costs((), bound, precision)
    found.loss = found.kept_loss = loss
    steps = _lowered(whole)
    if loss > bound and steps:
        every = [node.name for node in search.network.nodes if node.name]
        found.extend(_costs(search, steps, every, bound / 10))
        _keep(search, found, {names[0]: names for names, _, _ in steps})
    else:
        found.extend(Cost(names[0], op, kernel, loss, len(steps)) for names, op, kernel in steps)
    found.builds = search.builds
    return found


def _keep(search, found, names_of):
    """Keeps the most costly until the bound holds: how many is found by halving; then each of them is tried without."""
    def loss_with(rows):
        return search.loss(search.load([name for row in rows for name in names_of[row.node]]))
    low, high = 0, len(found)
    at_high = loss_with(found)
    while high - low > 1 and at_high <= found.bound:
        middle = (low + high) // 2
        loss = loss_with(found[:middle])
        if loss <= found.bound:
            high, at_high = middle, loss
        else:
            low = middle
    kept = found[:high]
    for row in list(reversed(kept)) if len(kept) <= 16 else ():
        fewer = [each for each in kept if each is not row]
        loss = loss_with(fewer) if fewer else found.loss
        if loss <= found.bound:
            kept, at_high = fewer, loss
    for row in kept:
        row.is_kept = True
    found.keep, found.kept_loss = [name for row in kept for name in names_of[row.node]], at_high
