# SPDX-License-Identifier: Apache-2.0
"""Batches of sample inputs: what calibrations read, in any order and more than once."""

import os

import numpy as np

from tenon import _arrays, _engine


def is_samples(calibration):
    """Whether it is batches, and neither a table nor its path."""
    return calibration is not None and not isinstance(calibration, (str, os.PathLike, _engine.Calibration))


def kept(batches):
    """Something with a length and an order: what can be read only once is kept."""
    if not is_samples(batches) or (hasattr(batches, "__len__") and hasattr(batches, "__getitem__")):
        return batches
    return list(batches)


def of(graph, batches):
    """What the extension takes: how many there are, and a function from an index to a tuple of arrays."""
    batches = kept(batches)
    ports = graph.inputs
    if isinstance(batches, dict):
        raise TypeError("calibration: one dict came; a list of batches is wanted, each a dict from inputs' names to arrays")

    def get(index):
        return arrays_of(ports, batches[index], index)
    return len(batches), get


def arrays_of(ports, batch, index):
    names = [port.name for port in ports]
    if isinstance(batch, dict):
        if batch.keys() != set(names):
            _arrays.refuse_names(names, batch)
        batch = tuple(batch[name] for name in names)
    elif not isinstance(batch, (tuple, list)) or isinstance(batch, list) and len(ports) == 1:
        batch = (batch,)
    if len(batch) != len(ports):
        raise _arrays.error("TN_ERROR_ARGUMENT", f"calibration: batch {index} has {len(batch)} arrays, {len(ports)} are wanted: "
                            + ", ".join(names))
    return tuple(np.ascontiguousarray(array) if isinstance(array, np.ndarray) else array for array in batch)
