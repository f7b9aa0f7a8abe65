# SPDX-License-Identifier: Apache-2.0
"""tenon.debug.compare: where a network's numbers begin to be others than they should be."""

from tenon import _engine, _plan

import tenon

from . import _bodies, _models, _others, _table, _tensors

_WANTED = ('"onnxruntime", "reference", a precision like "fp32", a plan (a file, a tenon.Plan, Engine or Network), a dict of arrays, or a '
           "function from a dict of inputs to a dict of outputs")


class Sides:
    """A model on one side, what it is compared with on the other, and how far they may be apart."""

    def __init__(self, model, against, settings, rtol, atol, is_every):
        self.network = _tensors.Network(model, settings)
        self.model, self.against, self.settings, self.is_every = model, against, settings, is_every
        other = _others.precision_of(against)
        default = _table.tolerance(settings.options.get("precision", "fp32"), other)
        self.rtol, self.is_absolute = default[0] if rtol is None else rtol, atol is not None
        self.atol = default[1] if atol is None else atol
        self.given = (rtol, atol)
        self.name = against if isinstance(against, str) else ""
        self.function = None
        if against == "onnxruntime":
            if not _models.is_onnx(model):
                raise TypeError(f'against="onnxruntime" needs an ONNX model, not {model!r}; against="reference" takes any')
            self.onnx = _models.onnx_model(model, 'against="onnxruntime"')
            _models.need("onnxruntime", 'against="onnxruntime"')
            functions = {(function.domain, function.name) for function in self.onnx.functions}
            foreign = [node for node in self.onnx.graph.node if _others.is_foreign(node, functions)]
            # What they read is for references in NumPy.
            wanted = [name for node in foreign for name in [*node.output, *(node.input if _others.function_for(node, settings.plugins) else ())]]
            self.foreign = [name for name in dict.fromkeys(wanted) if name in self.network.names]
        elif against == "reference" or other:
            self.foreign = []
        else:
            found = _others.function_of(against)
            if found is None:
                raise ValueError(f"against: {against!r} came; {_WANTED} is wanted")
            self.name, self.function = found
            self.foreign = []

    def differ(self, got, wanted):
        return _table.difference(got, wanted, self.rtol, self.atol, self.is_absolute)

    def wanted(self, inputs, names, got):
        """Of tensors the values that are right, and who says so of those that the other side was given itself."""
        if self.function:
            return dict(self.function(inputs)), {}
        if self.against == "onnxruntime":
            found, given = _others.by_onnxruntime(self.onnx, inputs, names, got)
            # Layers that onnxruntime has not are held against their own references.
            if given:
                own, _ = self.network.every(inputs, True) if self.is_every else (self.network.load(inputs, given, True), [])
                values = _tensors.values(own, inputs)
                found.update({name: values[name] for name in values if name not in found})
                known = {**_bodies.constants(self.onnx.graph), **inputs, **got}
                found.update(_others.by_functions(self.onnx, self.settings.plugins, known))
            return found, {name: "reference" for name in given}
        if self.against == "reference":
            other = self.network.every(inputs, True)[0] if self.is_every else self.network.load(inputs, (), True)
        else:
            options = {"precision": self.against, "pins": ()}  # pins may ask for types that it does not allow
            other = self.network.every(inputs, **options)[0] if self.is_every else self.network.load(inputs, **options)
        return _tensors.values(other, inputs), {}

    def run(self, inputs):
        """(Comparison, the values that are right)."""
        plain = self.network.load(inputs, self.foreign)
        got = _tensors.values(plain, inputs)
        made, left = plain, []
        if self.is_every:
            made, left = self.network.every(inputs)
            every = _tensors.values(made, inputs)
        else:
            every = got
        wanted, sources = self.wanted(inputs, list(every), every)
        found = _table.Comparison(self.rows(every, wanted, sources, made), self.name)
        served = _tensors.kernels(plain)
        for port in self.network.outputs:
            if port.name in wanted:
                found.outputs.append(self.row(self.network.producer(port.name), port.name, got[port.name], wanted, sources, served))
        if left:
            found.notes.append("left out, for they are no tensors: " + ", ".join(left))
        if self.is_every and found.first is None and not found.ok:
            self.find_fused(found, inputs, wanted, sources)
        return found, wanted

    def row(self, node, name, array, wanted, sources, served):
        kernel, library = served.get(name, ("", ""))
        row = _table.Row("same", node.name if node else "", node.op if node else "", name, kernel, library, str(array.dtype),
                         array.shape, against=sources.get(name, ""))
        if name not in wanted:
            row.outcome = "alone"
        else:
            row.difference = self.differ(array, wanted[name])
            if row.difference:
                row.outcome = "differs"
        return row

    def rows(self, values, wanted, sources, made):
        rows, bad, served = [], set(), _tensors.kernels(made)
        for node in self.network.nodes:
            follows = any(name in bad for name in node.inputs)
            for name in filter(None, node.outputs):
                if name not in values:
                    bad.update([name] if follows else [])
                    continue
                row = self.row(node, name, values[name], wanted, sources, served)
                if row.outcome == "differs" or row.outcome == "alone" and follows:
                    bad.add(name)
                if row.outcome == "differs" and follows:
                    row.outcome = "follows"
                rows.append(row)
        return rows

    def find_fused(self, found, inputs, wanted, sources):
        """The outputs differ, and nothing does where every tensor is kept, which leaves fusion out: each tensor kept alone, the first
        that differs by bisection."""
        names = [row.tensor for row in found if row.tensor in wanted]
        low, high, best = 0, len(names) - 1, None
        while low <= high:
            middle = (low + high) // 2
            network = self.network.load(inputs, {names[middle], *self.foreign} - self.network.ends)
            name = names[middle]
            row = self.row(self.network.producer(name), name, _tensors.values(network, inputs)[name], wanted, sources,
                           _tensors.kernels(network))
            if row.difference:
                best, high = (row, network), middle - 1
            else:
                low = middle + 1
        found.notes.append("with every tensor kept nothing differs; as built, with nodes fused, the outputs do")
        if best is None:
            return
        row, network = best
        found[next(i for i, each in enumerate(found) if each.tensor == row.tensor)] = row
        step = next((step for step in network.plan.report["nodes"] for value in step["outputs"] if value and value["tensor"] == row.tensor),
                    {})
        if step.get("absorbed"):
            found.notes.append(f"'{row.tensor}' is computed by '{step['name']}' ({step['op']}) with "
                               + ", ".join(f"'{name}'" for name in step["absorbed"]) + " fused into it")
        found.notes += [f"{rule['name']} put '{row.node}' in place" for rule in network.plan.report["rewrites"]
                        if row.node in rule.get("nodes", ())]


def compare_plan(model, inputs, against, plugins, rtol, atol, runtime):
    """A plan has outputs alone."""
    network = model if isinstance(model, tenon.Network) else tenon.load(model, plugins, runtime=runtime)
    found = _others.function_of(against)
    if found is None:
        raise ValueError("a plan has outputs alone: against a plan, a dict of arrays or a function; give the model for more")
    inputs = _models.as_inputs(network.inputs, inputs)
    default = _table.tolerance(*([] if network.plan.report is None else [{"f32": "fp32", "f16": "fp16", "i8": "int8"}.get(
        network.plan.report.get("precision"), network.plan.report.get("precision"))]))
    rows, wanted, served = _table.Comparison((), found[0]), found[1](inputs), {}
    for name, array in _tensors.values(network, inputs).items():
        row = _table.Row("alone", "", "output", name, *served.get(name, ("", "")), str(array.dtype), array.shape)
        if name in wanted:
            row.difference = _table.difference(array, wanted[name], default[0] if rtol is None else rtol,
                                               default[1] if atol is None else atol, atol is not None)
            row.outcome = "differs" if row.difference else "same"
        rows.append(row)
    rows.outputs = list(rows)
    return rows


def compare(model, inputs, against="onnxruntime", *, every_node=False, plugins=(), shapes=None, rtol=None, atol=None, runtime=None,
            threads=0, device=None, show=True, **options):
    """Runs a model on the same inputs by Tenon and by something else; prints the first node that differs and a table, and answers it.

    model: what tenon.build takes. inputs: a dict of arrays, a tuple, or one array.
    against: "onnxruntime" (which computes node by node here, without its optimizations); "reference" (the operators' references in
        Tenon: any model, and needs no other package); a precision, as "fp32" of a build in "int8"; a plan (a file, a tenon.Plan, Engine
        or Network); a dict of the outputs' arrays; a function from a dict of inputs to a dict of outputs. The last three have outputs
        alone.
    every_node: compare what every node computes. Each tensor is an output then, so that no nodes are fused; where only fusion makes
        the difference, it is found by keeping one tensor at a time. A node with bodies (If, Loop, Scan) that differs is looked into.
    rtol, atol: elements differ where |got - wanted| > atol + rtol |wanted|. Without atol it is a share of the tensor's largest
        magnitude, which follows from the precision as rtol does; whole numbers must be equal then.
    plugins, shapes, options: those of tenon.build; without shapes those of the inputs.

    Layers that onnxruntime does not have are compared with their own references, and it gets Tenon's results of them. Answers a
    tenon.debug.Comparison: rows with outcome, node, op, kernel, tensor, difference. Raises tenon.Error, and ImportError where a package
    is not installed.
    """
    settings = _models.Settings(plugins, runtime, shapes, threads, device, options)
    if isinstance(model, (tenon.Network, _engine.Plan)) or _plan.is_plan(model):
        if every_node or options or shapes is not None:
            raise TypeError("every_node, shapes and options of the build are for models; a plan has outputs alone")
        found = compare_plan(model, inputs, against, plugins, rtol, atol, runtime)
    else:
        sides = Sides(model, against, settings, rtol, atol, every_node)
        if every_node and sides.function:
            raise ValueError(f"every_node: {sides.name} has outputs alone; against \"onnxruntime\", \"reference\" or a precision")
        inputs = _models.as_inputs(sides.network.inputs, inputs)
        found, wanted = sides.run(inputs)
        if every_node and found.first is not None and _models.is_onnx(model):
            found.inside = _bodies.inside(sides, found.first, {**wanted, **inputs})
    if show:
        print(found)
    return found
