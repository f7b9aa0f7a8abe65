# SPDX-License-Identifier: Apache-2.0
"""What check() and bench() of a layer find: rows that print as tables. The rules run in processes of their own, by `tenon plugin`."""

import dataclasses
import html
import json
import subprocess

import numpy as np

from . import _engine, _fields, _types
from ._files import program


class Table(list):
    """A list of rows that prints as a table, in notebooks too."""

    columns = ()

    def _cells(self):
        return [[str(cell) for cell in row.cells()] for row in self.shown()]

    def shown(self):
        return list(self)

    def summary(self):
        return ""

    def __str__(self):
        rows = [list(self.columns)] + self._cells()
        widths = [max(len(row[column].split("\n")[0]) for row in rows) for column in range(len(self.columns))]
        lines = ["  ".join(cell.split("\n")[0].ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
        return "\n".join(([] if len(rows) == 1 else lines) + ([self.summary()] if self.summary() else []))

    __repr__ = __str__

    def _repr_html_(self):
        def line(cells, tag):
            return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"
        rows = "".join(line(cells, "td") for cells in self._cells())
        return f"<table>{line(self.columns, 'th')}{rows}</table><p>{html.escape(self.summary())}</p>"


@dataclasses.dataclass
class Finding:
    """One rule on one case. outcome: "passed", "failed", "skipped"; why: what was found, or why the rule cannot be applied."""

    outcome: str
    rule: str
    case: str = ""
    kernel: str = ""
    why: str = ""
    cause: str = ""

    def cells(self):
        return self.outcome, self.rule, self.kernel or "reference", self.case, self.why


class Findings(Table):
    """All findings of a check; as a table those that failed, each reason once, and a line with the counts."""

    columns = ("outcome", "rule", "kernel", "case", "why")

    def _of(self, outcome):
        return [finding for finding in self if finding.outcome == outcome]

    @property
    def failed(self):
        return self._of("failed")

    @property
    def passed(self):
        return self._of("passed")

    @property
    def skipped(self):
        return self._of("skipped")

    def shown(self):
        """Each reason once, with its first case."""
        first = {}
        for finding in self.failed:
            first.setdefault((finding.rule, finding.kernel, finding.why), finding)
        return list(first.values())

    def summary(self):
        return f"{len(self.passed)} passed, {len(self.failed)} failed, {len(self.skipped)} skipped"


class CheckFailed(AssertionError):
    """A layer breaks a rule. `findings` has all of them; the text is their table."""

    def __init__(self, findings):
        super().__init__("\n" + str(findings))
        self.findings = findings


def check(library, rules=()):
    command = [program(), "plugin", "check", library, "--json", "-"] + (["--rule", ",".join(rules)] if rules else [])
    found = _run(command, (0, 1))
    return Findings(Finding(row["outcome"], row["rule"], row["case"], row["kernel"], row["why"], row.get("cause", ""))
                    for row in found["results"])


def _run(command, codes):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        if done.returncode in codes:
            return json.loads(done.stdout)
    except ValueError:
        pass
    raise _engine.Error(done.stderr.strip() or f"`{' '.join(command[1:3])}` answers {done.returncode}")


@dataclasses.dataclass
class Time:
    """One kernel's time on one case, in seconds."""

    kernel: str
    case: str
    seconds: float
    gigabytes_per_second: float
    fields: dict

    def cells(self):
        return self.kernel, self.case, f"{self.seconds * 1e6:.2f} us", f"{self.gigabytes_per_second:.2f}"


class Times(Table):
    columns = ("kernel", "case", "time", "GB/s")


def bench(library, threads, case):
    command = [program(), "plugin", "bench", library, "--json", "--threads", str(threads), "--seconds", "0.1"]
    found = _run(command + (["--case", case] if case else []), (0,))
    return Times(Time(kernel["kernel"], each["case"], kernel["best_ns"] * 1e-9, kernel["bytes_per_second"] * 1e-9, kernel)
                 for each in found["cases"] for kernel in each["kernels"] if "best_ns" in kernel)


# --- cases ----------------------------------------------------------------------------------------


def case_of(operator, arrays, fields):
    """A case with the types and shapes of these arrays, and the elements of inputs whose values matter."""
    _fields.attributes(fields, operator.fields, operator.name)
    words = []
    for index, array in enumerate(operator._arrays(arrays)):
        port = operator.inputs[min(index, len(operator.inputs) - 1)]
        if array is not None:
            type, extents, data = array
            values = "{" + ",".join(_fields.text_of(value) for value in data.ravel()) + "}" if port.has("value") else ""
            words.append(f"{port.name}={_types.NAMES[type]}[{','.join(map(str, extents))}]{values}")
    given = {name: value for name, value in fields.items() if value is not None}
    return " ".join([f"{name}={_fields.text_of(value)}" for name, value in given.items()] + ["|"] + words)


def default_cases(operator):
    """Cases of a layer whose outputs have its first input's shape, required fields at their least value or 1."""
    if operator.shape is not None or any(port.flags for port in operator.inputs):
        raise ValueError(f"{operator.name} has a shape rule of its own and no cases: give check() arrays that fit it, or the layer "
                         "cases=[\"| x=f32[2,3]\"]")
    fields = " ".join(f"{name}={_least(field)}" for name, field in operator.fields.items() if field.row(name)[1])
    types = (operator.inputs[0].types.rpartition(":")[2]).split("|") if operator.inputs else ["f32"]
    types = [each for word in types for each in _types.GROUPS.get(word, [word])]
    return [f"{fields} | " + " ".join(f"{port.name}={each}[{shape}]" for port in operator.inputs).strip()
            for each in types for shape in ("2,3,5", "1", "0,4")]


def _least(field):
    if field.choices:
        return field.choices.split("|")[0].split("=")[0]
    number = field.minimum if field.minimum or field.maximum else 1
    number = number if field.kind.startswith("f") else int(number)
    return {"bool": "true", "string": "x"}.get(field.kind, f"[{number}]" if field.kind.endswith("s") else number)


# --- a reference in NumPy -------------------------------------------------------------------------

TOLERANCES = {"f64": 1e-9, "f32": 1e-5, "f16": 2e-3}


def compare(plugin, cases, examples):
    """The kernel beside the reference in NumPy: on arrays that were given, and on arrays of the cases' types and shapes."""
    findings = []
    for arrays, fields in examples + [example for example in map(lambda case: _arrays_of(plugin, case), cases) if example]:
        case = case_of(plugin, arrays, fields)
        try:
            why = _difference(plugin, arrays, fields)
        except Exception as error:  # of the author's function
            why = f"{type(error).__name__}: {error}"
        findings.append(Finding("failed" if why else "passed", "matches-python-reference", case, "compiled", why, "values" if why else ""))
    return findings


def _arrays_of(plugin, case):
    """Arrays for a case's text; None of one with fields or values, which examples are better for."""
    fields, _, inputs = case.partition("|")
    words = dict(word.split("=", 1) for word in inputs.split("|")[0].split())
    if fields.strip() or "{" in inputs or any(port.name not in words for port in plugin.inputs):
        return None
    random, arrays = np.random.default_rng(1), []
    for port in plugin.inputs:
        name, extents = words[port.name].rstrip("]").split("[")
        values = random.standard_normal([int(extent) for extent in extents.split(",") if extent]) * 4
        arrays.append(values.astype(_types.DTYPES[name]))
    return arrays, {}


def _difference(plugin, arrays, fields):
    found = plugin(*arrays, **fields)
    expected = plugin.python_reference(*arrays, **fields)
    pairs = zip(found, expected) if len(plugin.outputs) > 1 else [(found, expected)]
    for port, (one, other) in zip(plugin.outputs, pairs):
        other = np.asarray(other)
        if one.shape != other.shape:
            return f"output '{port.name}' has shape {one.shape}, the reference {other.shape}"
        tolerance = TOLERANCES.get(_types.OF_DTYPE.get(one.dtype), 0)
        is_near = np.isclose(one, other, tolerance, tolerance, equal_nan=True) if one.dtype.kind == "f" else one == other
        if not is_near.all():
            at = np.unravel_index(int(np.argmin(is_near)), one.shape)
            return f"output '{port.name}'{list(map(int, at))} is {one[at]}, the reference {other[at]}"
    return ""
