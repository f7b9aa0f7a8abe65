# SPDX-License-Identifier: Apache-2.0
"""A plan for ray.data.Dataset.map_batches."""

import ray

from . import _plans
from ._rows import Rows


def _rows(array, inputs, options):
    engine = _plans.load(array).engine(**options)
    return Rows(engine, inputs), [port.name for port in engine.outputs]


def predictor(plan, *, inputs=None, outputs=None, keep=None, threads=1, device=None, plugins=(), allowed=None):
    """A class for map_batches: dataset.map_batches(predictor("net.plan"), batch_size=32, compute=ray.data.ActorPoolStrategy(size=4)).

    plan: a file, its bytes, or a tenon.Plan. It is put into the object store here, reaches each node once, and is read there without a
    copy. It is loaded here, too, so that what is wrong with it is said before a worker starts.
    inputs: {input: column} where a column is not called as the input; a column's rows are the input's along axis 0.
    outputs: {output: column} of those that are wanted; None: all, by their names. A column of that name is replaced.
    keep: names of columns that are passed on; None: all.
    threads, device, plugins, allowed: those of tenon.Plan.engine. Raises tenon.Error, ValueError, OSError.

    Rows are run as many at a time as the plan's profile allows, one by one where their shapes differ.
    """
    array = _plans.read(plan)
    options = {"threads": threads, "device": device, "plugins": plugins, "allowed": allowed}
    _, names = _rows(array, inputs, options)
    wanted = dict(outputs) if outputs is not None else {name: name for name in names}
    for name in wanted:
        if name not in names:
            raise ValueError(f"no output is called '{name}': there are {', '.join(map(repr, names))}")
    reference = _plans.put_for_job(array)

    class PlanPredictor:
        """One worker's network."""

        def __init__(self):
            self._rows, _ = _rows(ray.get(reference), inputs, options)

        def __call__(self, batch):
            results = self._rows(batch)
            kept = batch if keep is None else {name: batch[name] for name in keep}
            return {**kept, **{column: results[name] for name, column in wanted.items() if results}}

    return PlanPredictor
