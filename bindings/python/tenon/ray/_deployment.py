# SPDX-License-Identifier: Apache-2.0
"""A plan as an application of Ray Serve."""

import dataclasses
import os
import re
import time

import tenon
from ray import serve
from tenon._runtime import load_plugins
from tenon.serve import Model, RequestError, _protocol
from tenon.serve._bodies import Bodies, error_headers, header, number
from tenon.serve._served import PlanBackend, Served
from tenon.serve._settings import Settings

from . import _plans
from ._retries import WAITED

PATH = re.compile(r"/v2(?:/models/(?P<name>[^/]+)(?:/versions/(?P<version>[^/]+))?)?(?P<what>/infer|/ready|/health/live|/health/ready)?/?\Z")

LENGTH = b"inference-header-content-length"


def _served(array, model, version, allow, plugins):
    runtime = tenon.Runtime(environment=False)
    known = len(runtime.libraries)
    load_plugins(runtime, plugins)
    named = [f"{library['hash']:016x}" for library in runtime.libraries[known:]]  # those that are loaded by name are allowed
    return Served(model, version, PlanBackend(runtime, model, [*allow, *named], _plans.load(array, runtime)))


class Replica:
    """One replica: an engine with its contexts. Asked by a handle (infer), or over HTTP by the Open Inference Protocol."""

    def __init__(self, digest, model, bounds, allow, plugins):
        self._served = _served(_plans.find(digest), Model(**model), digest[:16], allow, plugins)
        self._bodies = Bodies(Settings(**bounds))

    async def infer(self, inputs, timeout=None):
        """{output: array} of {input: array}. timeout: seconds. Raises RequestError."""
        spec = self._served.spec
        for name in inputs:
            spec.input(name)
        spec.check(inputs)
        deadline = float("inf") if timeout is None else time.monotonic() + timeout
        return await self._served.run(_protocol.Request("", dict(inputs), {}), deadline)

    async def check_health(self):
        """A run in each context, ahead of what waits. Serve ends what fails three times, or does not answer as often."""
        if self._served.sample is not None:
            await self._served.pool.check(self._served.sample)

    async def __call__(self, request):
        from starlette.responses import Response
        held = [0]
        try:
            parts, length = await self._answer(request, held)
        except RequestError as error:
            if error.status == 413:
                await self._bodies.discard(request.receive)
            response = Response(_protocol.error_body(str(error)), error.status, media_type="application/json")
            response.raw_headers.extend(error_headers(error.status))
            return response
        finally:
            self._bodies.release(held)
        headers = {} if length is None else {"Inference-Header-Content-Length": str(length)}
        kind = "application/json" if length is None else "application/octet-stream"
        return Response(b"".join(parts), 200, headers, kind)

    async def _answer(self, request, held):
        path = request.scope["path"].removeprefix(request.scope.get("root_path", "").rstrip("/"))
        match, served = PATH.match(path), self._served
        if not match:
            raise RequestError(404, f"{path[:256]}: no such path; POST /v2/models/{served.name}/infer runs the model")
        if match["name"] not in (None, served.name):
            raise RequestError(404, f"model '{match['name'][:128]}' is not served here: there are {served.name}")
        if match["version"] not in (None, served.version):
            raise RequestError(404, f"model '{served.name}' has no version '{match['version'][:128]}': there are {served.version}")
        if match["what"] == "/infer" and match["name"] and request.method == "POST":
            return await self._infer(request, held)
        if request.method == "GET" and match["what"] != "/infer":
            return [_protocol._dumps(served.metadata() if match["name"] and not match["what"] else {"name": "tenon", "ready": True})], None
        raise RequestError(404, f"{request.method} {path[:256]}: no such path")

    async def _infer(self, request, held):
        came, scope = time.monotonic(), request.scope
        came -= (number(header(scope, WAITED), WAITED.decode()) or 0) / 1e6
        body = await self._bodies.read(scope, request.receive, held)
        asked = _protocol.read(body, number(header(scope, LENGTH), "Inference-Header-Content-Length"), self._served.spec)
        deadline = came + asked.timeout_us / 1e6 if asked.timeout_us else float("inf")
        return _protocol.write(self._served.name, self._served.version, asked, await self._served.run(asked, deadline))


def _try(array, model, allow, plugins):
    """Loads the plan here as a replica will, so that what is wrong with it is said before one is replaced. What this machine lacks, a device or
    a library, nodes may have: of that the replicas say what they find."""
    if model.device.startswith("cuda") or not all(map(os.path.exists, plugins)):
        return
    try:
        _served(array, dataclasses.replace(model, contexts=1), "", allow, plugins)
    except tenon.Error as error:
        if error.code != "TN_ERROR_NOT_FOUND":
            raise ValueError(f"model '{model.name}': {str(error).removeprefix('borrowed plan: ').removeprefix('plan in memory: ')}") from None


def deployment(plan, *, name="model", contexts=1, threads=1, device="", batch=False, batch_wait_ms=0, queue=128, max_request_mib=64,
               receive_seconds=30, allow=(), plugins=(), **options):
    """An application for ray.serve.run: serve.run(deployment("net.plan", num_replicas=2), name="digits", route_prefix="/digits").

    plan: a file, its bytes, or a tenon.Plan: it is kept in the cluster (forget() removes it), reaches each node once and is read there
    without a copy. It is loaded here, too, where this machine has what it needs. Running the application again with another plan replaces its
    replicas one by one.
    name: of the model, within the protocol's paths. contexts: runs at the same time in a replica, of `threads` each. batch, batch_wait_ms,
    queue, max_request_mib, receive_seconds: as tenon-serve's settings. plugins: libraries, by their path on each node; allow: hashes or folders of those that the
    plan itself may load.
    options: those of serve.deployment: num_replicas, autoscaling_config, ray_actor_options, ... Unless they say otherwise, a replica has
    contexts x threads CPUs (and a GPU where `device` is cuda), and takes contexts + queue requests.
    Raises ValueError, OSError.
    """
    path = plan if isinstance(plan, str) else ""
    model = Model(name, path, contexts=contexts, threads=threads, device=device, batch=batch, batch_wait_ms=batch_wait_ms, queue=queue)
    model.check_bounds()
    bounds = {"max_request_mib": max_request_mib, "receive_seconds": receive_seconds}
    Settings(**bounds).check_bounds()
    array, allow, plugins = _plans.read(plan), list(allow), list(plugins)
    _try(array, model, allow, plugins)
    resources = {"num_cpus": contexts * threads, **({"num_gpus": 1} if device.startswith("cuda") else {})}
    settings = {"ray_actor_options": resources, "max_ongoing_requests": contexts + queue, "name": "Tenon", **options}
    return serve.deployment(Replica, **settings).bind(_plans.keep(array), dataclasses.asdict(model), bounds, allow, plugins)
