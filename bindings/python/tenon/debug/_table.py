# SPDX-License-Identifier: Apache-2.0
"""How far two arrays are apart, and the rows that say so."""

import dataclasses

import numpy as np

from tenon._findings import Table

# By the least exact type of either side: how far elements may be apart, as a share of the element's magnitude and of the tensor's
# largest. About ten roundings of the type; for int8 a step of the scale.
TOLERANCES = {"fp32": (1e-3, 1e-5), "tf32": (1e-2, 1e-3), "fp16": (1e-2, 1e-3), "bf16": (5e-2, 1e-2), "int8": (1e-1, 2e-2)}
FIRST, AROUND = 60, 12  # rows: a table of more is cut to those around the first that differs


def tolerance(*precisions):
    """Of the least exact precision among them."""
    kinds = [part for precision in precisions if precision for part in precision.split(",") if part in TOLERANCES]
    return max((TOLERANCES[kind] for kind in kinds), default=TOLERANCES["fp32"])


@dataclasses.dataclass
class Difference:
    """Two arrays, element by element. wrong: how many are apart by more than the tolerance; largest: the largest difference, at `at`;
    loss: sum |got - wanted| / sum |wanted|."""

    wrong: int = 0
    count: int = 0
    largest: float = 0.0
    loss: float = 0.0
    at: tuple = ()
    got: object = None
    wanted: object = None
    why: str = ""

    def __bool__(self):
        return bool(self.wrong or self.why)

    def __str__(self):
        if self.why or not self:
            return self.why or "none"
        return (f"{self.wrong} of {self.count} elements, the largest difference {self.largest:.3g} at {list(self.at)}: "
                f"{self.got!s} came, {self.wanted!s} is wanted")


def difference(got, wanted, rtol, atol, is_absolute):
    """The Difference of two arrays; a NaN is the same as a NaN, an infinity as one of its sign."""
    got, wanted = np.asarray(got), np.asarray(wanted)
    if got.shape != wanted.shape:
        return Difference(why=f"shape {got.shape} came, {wanted.shape} is wanted", loss=float("inf"))
    if got.dtype.kind in "OSU" or wanted.dtype.kind in "OSU":
        is_wrong = np.asarray(got.astype(str) != wanted.astype(str))
        apart = is_wrong.astype(np.float64)
        one, two = got, wanted
    else:
        one, two = (np.asarray(each).astype(np.complex128 if each.dtype.kind == "c" else np.float64) for each in (got, wanted))
        with np.errstate(invalid="ignore", over="ignore"):
            apart = np.where((one == two) | (np.isnan(one) & np.isnan(two)), 0.0, np.abs(one - two))
        apart = np.where(np.isnan(apart), np.inf, apart)
        sizes = np.where(np.isfinite(two), np.abs(two), 0.0)
        is_exact = not is_absolute and wanted.dtype.kind in "iub"
        largest = 1.0 if is_absolute else sizes.max(initial=0.0)
        is_wrong = apart > (0 if is_exact else atol * largest + rtol * sizes)
    if not got.size:
        return Difference()
    at = np.unravel_index(int(np.argmax(apart)), got.shape) if got.shape else ()
    total = float(np.abs(two).sum(where=np.isfinite(two))) if two.dtype.kind in "fc" else float(got.size)
    with np.errstate(over="ignore"):
        loss = float(apart.sum()) / total if total else float(apart.any()) and float("inf")
    return Difference(int(np.count_nonzero(is_wrong)), got.size, float(apart[at]), loss, tuple(int(i) for i in at), one[at], two[at])


@dataclasses.dataclass
class Row:
    """A tensor that a node computes. outcome: "same"; "differs"; "follows": it differs, as does what its node reads; "alone": the
    other side has no such tensor."""

    outcome: str
    node: str
    op: str
    tensor: str
    kernel: str = ""
    library: str = ""
    dtype: str = ""
    shape: tuple = ()
    difference: Difference = dataclasses.field(default_factory=Difference)
    against: str = ""

    def cells(self):
        """The row's cells in the table."""
        if self.outcome == "alone":
            return self.outcome, self.node, self.op, self.kernel or "-", self.tensor, f"{self.dtype} {self.shape}", "-", "-", "-"
        found = self.difference
        return (self.outcome, self.node, self.op, self.kernel or "-", self.tensor, f"{self.dtype} {self.shape}", f"{found.largest:.3g}",
                f"{found.loss:.2g}", found.why or f"{found.wrong}/{found.count}")


class Comparison(Table):
    """Rows in the order of the nodes. `first`: the first node that differs by itself, or None; `ok`: nothing differs; `outputs`: the
    rows of the network's outputs; `notes`: what else there is to know; `inside`: the comparison of the first node's body."""

    columns = ("outcome", "node", "operator", "kernel", "tensor", "type and shape", "largest", "loss", "wrong")

    def __init__(self, rows=(), against="", notes=()):
        super().__init__(rows)
        self.against = against
        self.notes = list(notes)
        self.outputs = []
        self.inside = None

    @property
    def first(self):
        return next((row for row in self if row.outcome == "differs"), None)

    @property
    def differing(self):
        return [row for row in self if row.outcome in ("differs", "follows")]

    @property
    def ok(self):
        return not self.differing and not any(row.difference for row in self.outputs)

    def shown(self):
        """The rows that are printed: all, or those around the first that differs."""
        if len(self) <= FIRST:
            return list(self)
        at = next((i for i, row in enumerate(self) if row.outcome == "differs"), 0)
        return self[max(0, at - AROUND):at + AROUND]

    def summary(self):
        """The first node that differs, and how many there are of each outcome."""
        counts = ", ".join(f"{sum(row.outcome == outcome for row in self)} {text}" for outcome, text in (
            ("same", "the same"), ("differs", "differ"), ("follows", "follow from these"), ("alone", "not to be compared"))
            if any(row.outcome == outcome for row in self))
        lines = [f"against {self.against}: {len(self)} tensors: {counts}" if self else f"against {self.against}"]
        first = self.first
        if first:
            served = f", kernel {first.kernel} of {first.library}" if first.kernel else ""
            lines.insert(0, f"first node that differs: '{first.node}' ({first.op}{served}), tensor '{first.tensor}'"
                         f"{' of the ' + first.against if first.against else ''}: {first.difference}")
        if len(self) > FIRST:
            lines.append(f"shown: {len(self.shown())} of {len(self)} rows, around the first that differs")
        lines += self.notes
        if self.inside is not None:
            lines += [f"inside of '{first.node if first else ''}':", str(self.inside)]
        return "\n".join(lines)
