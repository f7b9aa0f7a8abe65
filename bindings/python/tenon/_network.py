# SPDX-License-Identifier: Apache-2.0
"""tenon.load and Network: a network that is called like a function."""

from tenon import _build, _engine, _plan
from tenon._runtime import load_plugins

ENGINE_OPTIONS = ("threads", "device", "exact", "checked", "isolated", "allowed")


class Network:
    """A loaded network: net(x), net(a, b), net({"image": image}) or net(image=image).

    plan, engine: the tenon.Plan and tenon.Engine. inputs, outputs: tuples of tenon.Port.
    Calls from several threads run side by side, each on a context of its own.
    """

    def __init__(self, plan, engine):
        self.plan = plan
        self.engine = engine
        self._contexts = []
        self._one_output = engine.outputs[0].name if len(engine.outputs) == 1 else None

    @property
    def inputs(self):
        return self.engine.inputs

    @property
    def outputs(self):
        return self.engine.outputs

    def __call__(self, *arrays, **named):
        """Runs the network once: the output's array, or a dict of arrays where there are several outputs.

        Inputs are arrays in the order of `inputs`, one dict from names to arrays, or keywords: NumPy's, or what has the buffer
        protocol or DLPack, or nested lists. Types and shapes must be the inputs'. Raises tenon.Error.
        """
        inputs = named or (arrays[0] if len(arrays) == 1 and isinstance(arrays[0], dict) else arrays)
        if named and arrays:
            raise TypeError("inputs came by position and by name: give all by name")
        return self.run(inputs)

    def run(self, inputs, out=None):
        """As a call, with a dict or a tuple of inputs; `out` is a dict of arrays that outputs are written to."""
        results = self.run_named(inputs, out)
        return results if self._one_output is None else results[self._one_output]

    def run_named(self, inputs, out=None):
        """As run, but always a dict of arrays."""
        try:
            context = self._contexts.pop()
        except IndexError:
            context = self.engine.context()
        try:
            return context.run(inputs, out)
        finally:
            self._contexts.append(context)

    def save(self, path):
        """Writes the plan, which tenon.load reads again without building."""
        self.plan.save(path)

    def __repr__(self):
        def ports(them):
            return ", ".join(f"{port.name}: {port.type}{'' if port.shape is None else list(port.shape)}" for port in them)
        return f"<tenon.Network ({ports(self.inputs)}) -> ({ports(self.outputs)})>"


def load(model, plugins=(), shapes=None, *, runtime=None, threads=0, device=None, exact=False, checked=False, isolated=False,
         allowed=None, **options):
    """A tenon.Network of a plan (a file, its bytes, a tenon.Plan), or of a model, which is built first.

    model, plugins, shapes and options: those of tenon.build.
    exact, checked, isolated, allowed: those of tenon.Plan.engine. Raises tenon.Error.
    """
    if isinstance(model, _engine.Plan) or _plan.is_plan(model):
        wrong = sorted(options) + ["shapes"] * (shapes is not None)
        if wrong:
            raise TypeError(f"{model!r} is a plan, which is built already: {', '.join(wrong)} are for models")
        plan = model if isinstance(model, _engine.Plan) else _engine.Plan(model, runtime)
        load_plugins(plan.runtime, plugins)
    else:
        plan = _build.build(model, plugins, shapes, runtime=runtime, threads=threads, device=device, **options)
    return Network(plan, plan.engine(threads=threads, device=device, exact=exact, checked=checked, isolated=isolated,
                                     allowed=allowed))
