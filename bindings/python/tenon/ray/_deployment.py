# SPDX-License-Identifier: Apache-2.0
"""A plan as an application of Ray Serve."""

import dataclasses
import re
import time

from ray import serve
from tenon.serve import Model, RequestError, _protocol
from tenon.serve._served import PlanBackend, Served, _sample

from . import _plans

PATH = re.compile(r"/v2(?:/models/(?P<name>[^/]+)(?:/versions/(?P<version>[^/]+))?)?(?P<what>/infer|/ready|/health/live|/health/ready)?/?\Z")


class Replica:
    """One replica: an engine with its contexts. Asked by a handle (infer), or over HTTP by the Open Inference Protocol."""

    def __init__(self, digest, fields, allow, plugins):
        import tenon
        from tenon._runtime import load_plugins
        runtime = tenon.Runtime(environment=False)
        load_plugins(runtime, plugins)
        model = Model(**fields)
        self._served = Served(model, digest[:16], PlanBackend(runtime, model, allow, _plans.load(_plans.find(digest), runtime)))
        self._sample = _sample(self._served.spec)

    async def infer(self, inputs, timeout=None):
        """{output: array} of {input: array}. timeout: seconds. Raises RequestError."""
        spec = self._served.spec
        for name in inputs:
            spec.input(name)
        spec.check(inputs)
        deadline = float("inf") if timeout is None else time.monotonic() + timeout
        return await self._served.run(_protocol.Request("", dict(inputs), {}), deadline)

    async def check_health(self):
        """A run of the network. What is busy is well; what does not answer, Serve ends."""
        if self._sample is not None:
            try:
                await self.infer(self._sample)
            except RequestError as error:
                if error.status == 500:
                    raise

    async def __call__(self, request):
        from starlette.responses import Response
        try:
            parts, length = await self._answer(request)
        except RequestError as error:
            return Response(_protocol.error_body(str(error)), error.status, media_type="application/json")
        headers = {} if length is None else {"Inference-Header-Content-Length": str(length)}
        kind = "application/json" if length is None else "application/octet-stream"
        return Response(b"".join(parts), 200, headers, kind)

    async def _answer(self, request):
        path = request.scope["path"].removeprefix(request.scope.get("root_path", "").rstrip("/"))
        match, served = PATH.match(path), self._served
        if not match:
            raise RequestError(404, f"{path[:256]}: no such path; POST /v2/models/{served.name}/infer runs the model")
        if match["name"] not in (None, served.name):
            raise RequestError(404, f"model '{match['name'][:128]}' is not served here: there are {served.name}")
        if match["version"] not in (None, served.version):
            raise RequestError(404, f"model '{served.name}' has no version '{match['version'][:128]}': there are {served.version}")
        if match["what"] == "/infer" and match["name"] and request.method == "POST":
            return await self._infer(request)
        if request.method == "GET" and match["what"] != "/infer":
            return [_protocol._dumps(served.metadata() if match["name"] and not match["what"] else {"name": "tenon", "ready": True})], None
        raise RequestError(404, f"{request.method} {path[:256]}: no such path")

    async def _infer(self, request):
        came, length = time.monotonic(), request.headers.get("inference-header-content-length")
        if length is not None and (not length.isascii() or not length.isdigit() or len(length) > 18):
            raise RequestError(400, "Inference-Header-Content-Length: a whole number is wanted")
        asked = _protocol.read(await request.body(), None if length is None else int(length), self._served.spec)
        deadline = came + asked.timeout_us / 1e6 if asked.timeout_us else float("inf")
        return _protocol.write(self._served.name, self._served.version, asked, await self._served.run(asked, deadline))


def deployment(plan, *, name="model", contexts=1, threads=1, device="", batch=False, batch_wait_ms=0, queue=128, allow=(), plugins=(), **options):
    """An application for ray.serve.run: serve.run(deployment("net.plan", num_replicas=2), name="digits", route_prefix="/digits").

    plan: a file, its bytes, or a tenon.Plan: it is kept in the cluster (forget() removes it), reaches each node once and is read there
    without a copy. Running the application again with another plan replaces its replicas one by one.
    name: of the model, within the protocol's paths. contexts: runs at the same time in a replica, of `threads` each. batch, batch_wait_ms,
    queue: as tenon-serve's settings. plugins: libraries, by their path on each node; allow: hashes or folders of those that the
    plan itself may load.
    options: those of serve.deployment: num_replicas, autoscaling_config, ray_actor_options, ... Unless they say otherwise, a replica has
    contexts x threads CPUs (and a GPU where `device` is cuda), and takes contexts + queue requests.
    Raises ValueError, OSError.
    """
    path = plan if isinstance(plan, str) else ""
    model = Model(name, path, contexts=contexts, threads=threads, device=device, batch=batch, batch_wait_ms=batch_wait_ms, queue=queue)
    model.check_bounds()
    digest = _plans.keep(_plans.read(plan))
    resources = {"num_cpus": contexts * threads, **({"num_gpus": 1} if device.startswith("cuda") else {})}
    settings = {"ray_actor_options": resources, "max_ongoing_requests": contexts + queue, "name": "Tenon", **options}
    return serve.deployment(Replica, **settings).bind(digest, dataclasses.asdict(model), list(allow), list(plugins))
