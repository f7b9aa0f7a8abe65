# SPDX-License-Identifier: Apache-2.0
"""One version of a model as it is served: an engine, its contexts, and what it takes."""

import itertools

import numpy as np

from ._pool import Pool
from ._spec import DTYPES, Spec, tensor_of

NO_LIBRARY = "0" * 16  # a hash that no library has: `allowed` with nothing in it


class PlanBackend:
    """A plan's engine. `runtime`: the server's. `plan`: a tenon.Plan of it; None: model.path, which is read, not mapped: a file that
    is overwritten hurts no run."""

    def __init__(self, runtime, model, allow, plan=None):
        if plan is None:
            import tenon
            from tenon._plan import is_plan
            with open(model.path, "rb") as file:
                data = file.read()
            if not is_plan(data):
                raise ValueError("this is no plan; tenon build makes one of a network")
            plan = tenon.Plan(data, runtime)
        self.engine = plan.engine(threads=model.threads, device=model.device or None, isolated=model.isolated,
                                  allowed=list(allow) or [NO_LIBRARY])
        self.spec = Spec(tuple(tensor_of(port, "input") for port in self.engine.inputs),
                         tuple(tensor_of(port, "output") for port in self.engine.outputs),
                         tuple(self._bounds(profile) for profile in self.engine.profiles or [{}]))

    def _bounds(self, profile):
        """A profile with the shapes of inputs that have one shape alone, of which it says nothing."""
        fixed = {port.name: (port.shape,) * 3 for port in self.engine.inputs
                 if port.shape is not None and all(isinstance(extent, int) for extent in port.shape)}
        return {port.name: profile.get(port.name) or fixed.get(port.name) for port in self.engine.inputs}

    def context(self):
        return self.engine.context()


class Served:
    """What a request runs on. `backend`: spec and context(), as PlanBackend has them. Raises tenon.Error, ValueError."""

    def __init__(self, model, version, backend, metrics=None):
        self.name, self.version = model.name, version
        self.spec = backend.spec
        contexts = [backend.context() for _ in range(model.contexts)]
        batch = self.spec.batch_rows() if model.batch else None
        if model.batch:
            _check_batch(model, self.spec, batch, contexts[0])
        sample = _sample(self.spec)
        is_run = [sample is not None and _warm(sample, context) for context in contexts]
        self.sample = sample if all(is_run) else None  # inputs that ran once
        self.metrics = metrics
        self.pool = Pool(contexts, queue=model.queue, batch=batch, wait_ms=model.batch_wait_ms, metrics=metrics)

    async def run(self, request, deadline=float("inf")):
        """The outputs that the request asks for."""
        names = self.spec.output_names(request.outputs)
        results = await self.pool.run(request.arrays, deadline)
        return {name: results[name] for name in names}

    def metadata(self):
        return {"name": self.name, "platform": "tenon_plan", "versions": [self.version],
                "inputs": [tensor.metadata() for tensor in self.spec.inputs],
                "outputs": [tensor.metadata() for tensor in self.spec.outputs]}


def _sample(spec, rows=None, random=None):
    """Inputs of the first profile's optimal shapes, with `rows` along axis 0; None where values or shapes are not known."""
    arrays = {}
    for tensor in spec.inputs:
        bounds = spec.profiles[0].get(tensor.name) if spec.profiles else None
        if bounds is None or tensor.datatype == "BYTES":
            return None
        shape = list(bounds[1])
        if rows is not None:
            shape[0] = rows
        dtype = DTYPES[tensor.datatype]
        arrays[tensor.name] = np.zeros(shape, dtype) if random is None else random.random(shape).astype(dtype)
    return arrays


def _warm(sample, context):
    """One run, so that the first request finds memory and kernels prepared. Zeros may be no valid values: that is no fault, but False."""
    try:
        context.run(sample)
    except RuntimeError:
        return False
    return True


def _check_batch(model, spec, batch, context):
    """Whether rows that are joined get the results that they get alone, tried on random values."""
    if batch is None:
        raise ValueError(f"model '{model.name}': batch = true, but its inputs share no axis 0 that a profile lets vary")
    random = np.random.default_rng(0)
    joined = _sample(spec, 2, random)
    if joined is None or min(profile_rows(spec)) > 1 or batch[1] < 2:
        raise ValueError(f"model '{model.name}': batch = true needs a first profile with 1 and 2 rows, and inputs of numbers")
    try:
        together = context.run(joined)
        alone = [context.run({name: array[i:i + 1] for name, array in joined.items()}) for i in range(2)]
    except RuntimeError as error:
        raise ValueError(f"model '{model.name}': batch = true, but a batch of 2 fails: {error}") from None
    for name, row in itertools.product(together, range(2)):
        array, single = together[name], alone[row][name]
        if array.shape[:1] != (2,) or single.shape[:1] != (1,) or not _is_near(array[row:row + 1], single):
            raise ValueError(f"model '{model.name}': batch = true, but output '{name}' of a row depends on the rows beside it")


def _is_near(a, b):
    if a.shape != b.shape or a.dtype.kind not in "fiub":
        return False
    # Kernels of other shapes sum in another order; a row that depends on others is off by far more.
    return np.allclose(a.astype("f8"), b.astype("f8"), rtol=1e-2, atol=1e-3 * float(np.abs(b).max(initial=1e-30)))


def profile_rows(spec):
    return [bounds[0][0] for bounds in spec.profiles[0].values() if bounds]
