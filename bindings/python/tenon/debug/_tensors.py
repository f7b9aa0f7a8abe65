# SPDX-License-Identifier: Apache-2.0
"""A network with all of its tensors: nodes, and their values in a run by Tenon."""

import dataclasses

import tenon
from tenon import _engine

from . import _models

# Operators whose results are no tensors.
LISTS = {"SequenceConstruct", "SequenceEmpty", "SequenceErase", "SequenceInsert", "SequenceMap", "SplitToSequence", "Optional", "ZipMap"}


@dataclasses.dataclass
class Node:
    """A node: names of what it reads and computes; None for what is absent."""

    name: str
    op: str
    inputs: tuple
    outputs: tuple
    bodies: int = 0


class Network:
    """The nodes of a model in their order, and `names`, of every tensor that a node computes."""

    def __init__(self, model, settings):
        self.model, self.settings = model, settings
        self.graph = _models.graph(model, settings)
        handle = getattr(self.graph, "_graph", self.graph)
        self.inputs, self.outputs = handle.inputs, handle.outputs
        tensors = _engine.graph_tensors(handle)
        names = [name or f"#{number}" for number, (name, _, _) in enumerate(tensors)]

        def named(numbers):
            return tuple(None if number is None else names[number] for number in numbers)
        self.nodes = [Node(name, f"{domain}::{op}" if domain else op, named(inputs), named(outputs), bodies)
                      for name, domain, op, inputs, outputs, bodies in _engine.graph_nodes(handle)]
        self.numbers = {name: number for number, name in enumerate(names)}
        self.ends = {name for name, (_, _, is_output) in zip(names, tensors) if is_output}
        self.names = [name for node in self.nodes if node.op.split("::")[-1] not in LISTS for name in node.outputs if name]

    def producer(self, tensor):
        return next((node for node in self.nodes if tensor in node.outputs), None)

    def load(self, inputs, more=(), is_reference=False, **options):
        """A tenon.Network whose outputs are the model's and the tensors `more`."""
        graph = self.graph if not more else _models.graph(self.model, self.settings)
        handle = getattr(graph, "_graph", graph)
        if more and graph is self.graph:
            raise TypeError("every_node: a tenon.Graph that is built by hand has the outputs that it has; give an ONNX model")
        for name in more:
            if name not in self.ends:
                _engine.graph_output(handle, self.numbers[name], name)
        load = self.settings.load_reference if is_reference else self.settings.load
        return load(handle, inputs, **options)

    def every(self, inputs, is_reference=False, **options):
        """A network with as many of the tensors as outputs as can be, and the names of those that cannot."""
        more, left = [name for name in self.names if name not in self.ends], []
        while True:
            try:
                return self.load(inputs, more, is_reference, **options), left
            except tenon.Error as error:
                # An output that is a sequence, an optional or a map is refused by its name.
                bad = next((name for name in more if f"output '{name}'" in str(error)), None)
                if bad is None:
                    raise
                more.remove(bad)
                left.append(bad)


def values(network, inputs):
    """All outputs of a run."""
    return network.run_named({port.name: inputs[port.name] for port in network.inputs})


def kernels(network):
    """Of each tensor that a step writes: (kernel, library)."""
    return {value["tensor"]: (step.get("kernel") or "", step.get("library") or "") for step in network.plan.report["nodes"]
            for value in step["outputs"] if value}
