# SPDX-License-Identifier: Apache-2.0
"""Batches of rows by a network: a dict of columns, whose axis 0 counts the rows, in runs as large as a profile allows."""

import difflib

import numpy as np


class Rows:
    """engine: a tenon.Engine. columns: {input: column}. Not for several threads at once."""

    def __init__(self, engine, columns=None):
        self._context = engine.context()
        self.columns = {port.name: port.name for port in engine.inputs}
        for name, column in (columns or {}).items():
            if name not in self.columns:
                raise ValueError(_unknown("input", name, self.columns))
            self.columns[name] = column
        self._least, self._most = _bounds(engine)

    def __call__(self, batch):
        """{output: array of all rows, or objects where their shapes differ}. Raises ValueError, tenon.Error."""
        columns = {name: self._column(batch, name) for name in self.columns}
        counts = {name: len(column) for name, column in columns.items()}
        if len(set(counts.values())) > 1:
            raise ValueError(f"columns have other numbers of rows: {counts}")
        count, results, begin = next(iter(counts.values())), [], 0
        while begin < count:
            end = self._end(columns, begin, count)
            results.append(self._run({name: _joined(column, begin, end) for name, column in columns.items()}, end - begin))
            begin = end
        return {name: _together([result[name] for result in results]) for name in results[0]} if results else {}

    def _column(self, batch, name):
        column = self.columns[name]
        if column not in batch:
            raise ValueError(_unknown("column", column, batch) + f"; input '{name}' reads it (inputs={{'{name}': COLUMN}})")
        return batch[column]

    def _end(self, columns, begin, count):
        """Behind the rows from `begin` on that fit into one run: at most so many, and of the same shapes."""
        end = min(begin + self._most, count)
        for column in columns.values():
            if column.dtype == object:
                same = (i for i in range(begin + 1, end) if np.shape(column[i]) != np.shape(column[begin]))
                end = next(same, end)
        return end

    def _run(self, arrays, rows):
        missing = self._least - rows
        if missing > 0:  # rows do not depend on each other: copies of the last one fill what a profile wants at least
            arrays = {name: np.concatenate([array, np.repeat(array[-1:], missing, 0)]) for name, array in arrays.items()}
        outputs = self._context.run(arrays)
        for name, array in outputs.items():
            if array.ndim == 0 or len(array) != max(rows, self._least):
                raise ValueError(f"output '{name}' has shape {list(array.shape)} for {max(rows, self._least)} rows: axis 0 must be that of the rows")
        return {name: array[:rows] for name, array in outputs.items()}


def _bounds(engine):
    """(least, most) rows of a run: what the first profile in which all inputs have the same bounds along axis 0 says."""
    fixed = {port.name: (port.shape,) * 3 for port in engine.inputs if port.shape and all(isinstance(extent, int) for extent in port.shape)}
    for profile in engine.profiles or [{}]:
        bounds = [profile.get(port.name) or fixed.get(port.name) for port in engine.inputs]
        rows = {(bound[0][0], bound[2][0]) if bound and bound[0] else None for bound in bounds}
        if len(rows) == 1 and None not in rows:
            return rows.pop()
    return 1, 1


def _joined(column, begin, end):
    return np.stack(list(column[begin:end])) if column.dtype == object else column[begin:end]


def _together(arrays):
    if len({array.shape[1:] for array in arrays}) == 1:
        return np.concatenate(arrays)
    rows = [row for array in arrays for row in array]
    objects = np.empty(len(rows), object)
    objects[:] = rows
    return objects


def _unknown(kind, name, names):
    nearest = difflib.get_close_matches(str(name), [str(each) for each in names], 1, 0.5)
    return f"no {kind} is called '{name}': there are {', '.join(map(repr, names))}" + (f"; the nearest is '{nearest[0]}'" if nearest else "")
