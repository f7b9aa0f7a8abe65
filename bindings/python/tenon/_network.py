# SPDX-License-Identifier: Apache-2.0
"""tenon.load and Network: a network that is called like a function."""

import threading

import numpy as np

from tenon import _build, _engine, _picture, _plan
from tenon._profile import Profile
from tenon._runtime import load_plugins


class Network:
    """A loaded network: net(x), net(a, b), net({"image": image}) or net(image=image).

    plan, engine: the tenon.Plan and tenon.Engine. inputs, outputs: tuples of tenon.Port.
    Calls from several threads run side by side, each on a context of its own.
    On a GPU, inputs may be tensors in its memory, by DLPack and without a copy. Of PyTorch's and CuPy's, the network runs on their current
    stream, outputs are tensors of theirs, and a call returns before it is done, as theirs do.
    """

    def __init__(self, plan, engine):
        self.plan = plan
        self.engine = engine
        self._weights = []  # that the plan does not have: refit's, in their order
        self._contexts = []
        self._streams = {}  # contexts that run on streams of a GPU's, by the stream
        self._on_device = engine.device != "cpu"
        self._executor = None
        self._lock = threading.Lock()
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
        if named:
            if arrays:
                raise TypeError(f"inputs came by position and by name ({', '.join(map(repr, named))}): give all by name; run() has the options")
            arrays = named
        elif len(arrays) == 1 and isinstance(arrays[0], dict):
            arrays = arrays[0]
        return self._only(self._run(arrays, None))

    def run(self, inputs, out=None):
        """As a call, with a dict or a tuple of inputs, or the one that there is; outputs are written to `out`, a dict of arrays, or the
        array of the one output."""
        return self._only(self.run_named(inputs, out))

    def run_named(self, inputs, out=None):
        """As run, but always a dict of arrays."""
        return self._run(*self._arguments(inputs, out))

    def _arguments(self, inputs, out):
        if not isinstance(inputs, (dict, tuple)):
            inputs = (inputs,)
        if out is not None and self._one_output is not None and not isinstance(out, dict):
            out = {self._one_output: out}
        return inputs, out

    def _only(self, results):
        return results if self._one_output is None else results[self._one_output]

    def _run(self, inputs, out):
        if self._on_device:
            from tenon import _device
            return _device.run(self, inputs, out)
        context = self._context()
        try:
            return context.run(inputs, out)
        finally:
            self._contexts.append(context)

    async def run_async(self, inputs, out=None):
        """As run, on a thread of its own, while the event loop goes on; outputs are NumPy arrays. Cancelling the task ends the run before
        its next node."""
        import asyncio
        context = self._context()
        future = self._threads().submit(context.run, *self._arguments(inputs, out))
        future.add_done_callback(lambda done: self._contexts.append(context))
        try:
            results = await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            context.cancel()
            raise
        return self._only(results)

    def _context(self):
        """One that no thread has; whoever is done with it appends it to the list again."""
        try:
            return self._contexts.pop()
        except IndexError:
            return self.engine.context()

    def _threads(self):
        from concurrent.futures import ThreadPoolExecutor
        with self._lock:
            if self._executor is None:
                self._executor = ThreadPoolExecutor(thread_name_prefix="tenon")
            return self._executor

    def profile(self, inputs, runs=10):
        """Runs the network `runs` times with each step timed; answers a table (Profile)."""
        context = self.engine.context()
        context.set_profiling(True)
        inputs, _ = self._arguments(inputs, None)
        for _ in range(runs):
            context.run(inputs)
        return Profile(context.profile())

    def refit(self, weights):
        """A tenon.Network with other data for constants; this one stays as it is. The plan must have been built with refit=.

        weights: a dict from constants' names to arrays of their types and shapes, or another checkpoint of the model (a file, its bytes,
            an onnx.ModelProto, a tenon.Graph), which has all of them. Raises tenon.Error.
        """
        made = Network(self.plan, self.engine.refit(weights))
        if isinstance(weights, dict):
            made._weights = self._weights + [{name: np.array(data) for name, data in weights.items()}]
        else:
            made._weights = [weights]
        return made

    def save(self, path, embed=False):
        """Writes the plan, which tenon.load reads again without building; with the weights of refit (a file of them is read again).

        embed: the plugin libraries that it needs go into it; load(path, trust=...) loads them from there. Raises ValueError where the
            plan was not built here, tenon.Error.
        """
        plan = self.plan.embed_libraries() if embed else self.plan
        if not self._weights:
            plan.save(path)
        for weights in self._weights:
            plan = plan.refit(weights, path)

    def __repr__(self):
        def ports(them):
            return ", ".join(f"{port.name}: {port.type}{'' if port.shape is None else list(port.shape)}" for port in them)
        return f"<tenon.Network ({ports(self.inputs)}) -> ({ports(self.outputs)})>"

    def _repr_html_(self):
        return _picture.frame(self.plan)


def load(model, plugins=(), shapes=None, *, runtime=None, threads=0, device=None, exact=False, checked=False, isolated=False,
         allowed=None, trust=None, **options):
    """A tenon.Network of a plan (a file, its bytes, a tenon.Plan), or of a model, which is built first.

    model, plugins, shapes and options: those of tenon.build.
    exact, checked, isolated, allowed, trust: those of tenon.Plan.engine. Raises tenon.Error.
    """
    if isinstance(model, _engine.Plan) or _plan.is_plan(model):
        wrong = sorted(options) + ["shapes"] * (shapes is not None)
        if wrong:
            raise TypeError(f"{model!r} is a plan, which is built already; of models alone: {', '.join(wrong)}")
        plan = model if isinstance(model, _engine.Plan) else _engine.Plan(model, runtime)
        load_plugins(plan.runtime, plugins)
    else:
        plan = _build.build(model, plugins, shapes, runtime=runtime, threads=threads, device=device, **options)
    return Network(plan, plan.engine(threads=threads, device=device, exact=exact, checked=checked, isolated=isolated,
                                     allowed=allowed, trust=trust))
