# SPDX-License-Identifier: Apache-2.0
"""tenon.debug.reduce: the smallest model that still shows a failure."""

import os
import time

import numpy as np

from . import _failures, _models, _pieces, _values


class Reduced:
    """What is left of a model. model: an onnx.ModelProto; inputs: a dict of arrays that it fails on; nodes, nodes_before: how many, those
    in bodies included; tries: models that were tried; why: what the failure says of it."""

    def __init__(self, piece, nodes_before, tries, why, settings):
        self.model, self.inputs = piece.model, piece.inputs
        self.nodes, self.nodes_before, self.tries, self.why = piece.count(), nodes_before, tries, why
        self._settings = settings

    def __str__(self):
        lines = [f"{self.nodes} of {self.nodes_before} nodes are left, after {self.tries} tries: {self.why}"]
        lines += [f"  input {name}: {array.dtype} {array.shape}" for name, array in self.inputs.items()]
        for node in self.model.graph.node:
            op = f"{node.domain}::{node.op_type}" if node.domain else node.op_type
            lines.append(f"  {node.name or '-'}: {', '.join(node.output)} = {op}({', '.join(node.input)})")
        return "\n".join(lines)

    __repr__ = __str__

    def save(self, folder):
        """Writes a folder in ONNX's layout of tests, which `tenon test` runs: model.onnx, and test_data_set_0 with the inputs and, where
        onnxruntime or the references compute them, the outputs that are right. Answers the model's path."""
        onnx = _models.need("onnx", "tenon.debug.reduce")
        data = os.path.join(folder, "test_data_set_0")
        os.makedirs(data, exist_ok=True)
        path = os.path.join(folder, "model.onnx")
        right = _values.outputs(self.model, self.inputs, self._settings)
        onnx.save(_with_ranks(self.model, right), path)
        for kind, names, arrays in (("input", [port.name for port in self.model.graph.input], self.inputs),
                                    ("output", [port.name for port in self.model.graph.output], right)):
            for index, name in enumerate(names):
                if name in arrays:
                    with open(os.path.join(data, f"{kind}_{index}.pb"), "wb") as file:
                        file.write(onnx.numpy_helper.from_array(np.ascontiguousarray(arrays[name]).reshape(arrays[name].shape),
                                                                name).SerializeToString())
        return path


def _with_ranks(model, arrays):
    """A copy whose outputs have a rank, as ONNX's checker wants them to; extents stay open."""
    made = type(model)()
    made.CopyFrom(model)
    for port in made.graph.output:
        kind = port.type.tensor_type
        if kind.elem_type and not kind.HasField("shape") and port.name in arrays:
            kind.shape.SetInParent()
            for _ in range(arrays[port.name].ndim):
                kind.shape.dim.add()
    return made


class _Search:
    """Tries pieces, and keeps each that still fails."""

    def __init__(self, piece, failure, settings, seconds):
        self.piece, self.failure, self.settings = piece, failure, settings
        self.end = time.monotonic() + seconds
        self.tries = 0
        self.seen = set()

    def is_over(self):
        return time.monotonic() > self.end

    def take(self, piece):
        """Whether the piece fails as well; it is the one to go on with then."""
        if piece is None or self.is_over():
            return False
        text = piece.model.SerializeToString(deterministic=True) + b"".join(array.tobytes() for array in piece.inputs.values())
        if hash(text) in self.seen:
            return False
        self.seen.add(hash(text))
        self.tries += 1
        if not self.failure.shows(piece):
            return False
        self.piece = piece
        return True

    def refresh(self):
        """Values of the piece's tensors, by which it can be cut."""
        if not self.piece.values:
            self.piece.values = _values.every(self.piece.model, self.piece.inputs, self.settings)

    def outputs(self):
        """One output, as early as possible."""
        self.refresh()
        names = [name for node in self.piece.nodes for name in node.output if name]
        if len(names) == 1:
            return False
        piece, changed = self.piece, False
        everything = range(len(piece.nodes))
        ends = [port.name for port in piece.model.graph.output]
        if len(ends) > 1:
            changed = any(self.take(_pieces.part(piece, everything, [name])) for name in ends)
        low, high = 0, len(names) - 1
        while low < high:
            middle = (low + high) // 2
            if self.take(_pieces.part(piece, everything, [names[middle]])):
                high, changed = middle, True
            else:
                low = middle + 1
        return changed

    def nodes(self):
        """Fewer nodes: chunks are left out, halves first, then less."""
        changed, size = False, max(1, len(self.piece.nodes) // 2)
        while True:
            self.refresh()
            start = 0
            while start < len(self.piece.nodes):
                count = len(self.piece.nodes)
                kept = [index for index in range(count) if not start <= index < start + size]
                if self._without(kept):
                    changed = True
                else:
                    start += size
            if size == 1:
                return changed
            size //= 2

    def _without(self, kept):
        graph = self.piece.model.graph
        computed = {name for index in kept for name in graph.node[index].output}
        ends = [port.name for port in graph.output if port.name in computed]
        # Where no output is left, what the nodes that are left compute for others is one.
        lost = {name for index in range(len(graph.node)) if index not in set(kept) for name in graph.node[index].input}
        return self.take(_pieces.part(self.piece, kept, ends or [name for name in computed if name in lost]))

    def any_of(self, pieces):
        """Tries pieces made of the present one, and begins anew with each that fails."""
        changed = False
        while any(self.take(made) for made in pieces(self.piece)):
            changed = True
            if pieces is not _pieces.smaller:
                self.refresh()
        return changed

    def run(self):
        while not self.is_over():
            changed = self.outputs()
            changed = self.nodes() or changed
            changed = self.any_of(_pieces.bodies) or changed
            if not changed:
                break
        self.any_of(_pieces.without_details)
        self.any_of(_pieces.smaller)


def reduce(model, inputs=None, failure="differs from onnxruntime", *, plugins=(), shapes=None, rtol=None, atol=None, runtime=None,
           threads=0, device=None, seconds=300.0, show=True, **options):
    """Makes the smallest model that still shows a failure; prints and answers it (tenon.debug.Reduced).

    model: an ONNX model (a file, its bytes, an onnx.ModelProto). inputs: what it is run on: a dict of arrays, a tuple, or one array;
        None: random ones of the declared shapes.
    failure: "differs from onnxruntime", "differs from reference" (rtol and atol are those of compare), "fails to build" (with an error of
        the same code on the same operator), "crashes" (each model runs in a process of its own, and one that ends by a signal or takes
        more than a minute is it), or a function of (onnx.ModelProto, dict of arrays) that answers whether the failure shows; an exception
        from it on a smaller model is a no.
    seconds: how long is searched at most. plugins, shapes, options: those of tenon.build; kernels are chosen without measuring, so that
        each model gets the same, unless timing=True.

    Outputs, nodes, bodies of control flow, attributes and extents are left out as long as the failure shows; what a node read becomes an
    input with the value that it has in the run of the whole. Raises ValueError where the whole model does not show the failure.
    """
    options.setdefault("timing", False)
    settings = _models.Settings(plugins, runtime, shapes, threads, device, options)
    message = _models.onnx_model(model, "tenon.debug.reduce")
    message.graph.ClearField("doc_string")
    arrays = _values.inputs_of(message, inputs)
    piece = _pieces.Piece(message, arrays, {})
    shown = _failures.of(failure, settings, rtol, atol)
    shown.begin(piece)
    before = piece.count()
    search = _Search(piece, shown, settings, seconds)
    search.run()
    if shown.shows(search.piece):  # of the last one, not of one that was tried behind it
        why = shown.why
    else:
        why = "the failure does not show each time"
    found = Reduced(search.piece, before, search.tries, why, settings)
    if show:
        print(found)
    return found
