# SPDX-License-Identifier: Apache-2.0
"""The models that the settings name, and their versions, in MLServer's registry.

Versions are loaded whole before the registry hears of them, so that one that fails leaves what is served as it is, and a new one
takes over between two requests. A request names models and versions; which files they are, the settings say alone.
"""

import asyncio
import dataclasses
import os

from mlserver import MLModel, ModelSettings
from mlserver.errors import ModelNotFound
from mlserver.registry import MultiModelRegistry
from mlserver.settings import ModelParameters
from mlserver.types import MetadataModelResponse

from ._errors import RequestError
from ._served import PlanBackend, Served

FIRST = "1"  # the version of a plan that is no folder


class ServedModel(MLModel):
    """MLServer's hold on a Served, which exists before it."""

    served = None

    async def unload(self):
        if self.served:
            self.served.closing = asyncio.ensure_future(self.served.pool.close())
            if self.served.metrics:
                self.served.metrics.forget()
        return True

    async def metadata(self):
        return MetadataModelResponse(**self.served.metadata())


def versions_of(model):
    """{version: plan} of a model's path. Raises ValueError."""
    if not os.path.isdir(model.path):
        return {FIRST: model.path}
    versions = {}
    for name in sorted(os.listdir(model.path)):
        folder = os.path.join(model.path, name)
        if not (name.isdecimal() and os.path.isdir(folder)):
            continue
        plans = [file for file in os.listdir(folder) if file.endswith(".plan")]
        if len(plans) != 1:
            raise ValueError(f"{folder}: one file *.plan is wanted, {len(plans)} are there")
        versions[name] = os.path.join(folder, plans[0])
    if not versions:
        raise ValueError(f"{model.path}: a folder for each version, as 1/net.plan, is wanted")
    return versions


def state_of(path):
    """What changes when a file does."""
    state = os.stat(path)
    return (path, state.st_ino, state.st_size, state.st_mtime_ns)


class Repository:
    """load, unload and index; find() is what requests ask. `backend`: makes what PlanBackend does of (model)."""

    def __init__(self, settings, backend=None, metrics=None):
        self._models = {model.name: model for model in settings.models}
        self._backend = backend or plan_backend(settings)
        self._metrics = metrics
        self._states = {}    # (name, version): state_of the file that is served
        self._reasons = {}   # name: why the last load failed
        self._prepared = {}  # (name, version): the Served that the registry is about to ask for
        self._lock = asyncio.Lock()
        self.registry = MultiModelRegistry(model_initialiser=self._make_model)

    def _make_model(self, settings):
        model = ServedModel(settings)
        model.served = self._prepared.pop((settings.name, settings.parameters.version))
        return model

    async def find(self, name, version=""):
        """The Served of a request. Raises RequestError."""
        try:
            model = await self.registry.get_model(name, version or None)
        except ModelNotFound:
            raise RequestError(404, await self._missing(name, version)) from None
        return model.served

    async def _missing(self, name, version):
        try:
            loaded = ", ".join(model.version for model in await self.registry.get_models(name))
            return f"model '{name}' has no version {str(version)[:64]!r}: there are {loaded}"
        except ModelNotFound:
            served = ", ".join(self._models)
            state = "is not loaded" if name in self._models else f"is not served here: there are {served}"
            return f"model {str(name)[:128]!r} {state}"

    async def load(self, name):
        """Serves what the model's path has now. Raises RequestError; what was served is served on then."""
        if name not in self._models:
            raise RequestError(404, await self._missing(name, ""))
        async with self._lock:
            try:
                found = await self._prepare(name)
            except (OSError, ValueError, RuntimeError) as error:
                self._reasons[name] = str(error)
                others = ", what was served is served on" if any(key[0] == name for key in self._states) else ""
                raise RequestError(400, f"model '{name}' is not loaded{others}: {error}") from None
            for version in list(found):
                if (name, version) in self._prepared:
                    await self.registry.load(self._settings(name, version))
                    self._states[name, version] = found[version]
            await self._unload_others(name, found)
            self._reasons.pop(name, None)

    async def _prepare(self, name):
        """Loads the versions that are new or whose files changed; answers {version: state}."""
        model, found = self._models[name], {}
        loop = asyncio.get_running_loop()
        prepared = {}
        for version, path in versions_of(model).items():
            found[version] = state_of(path)
            if self._states.get((name, version)) != found[version]:
                prepared[version] = await loop.run_in_executor(None, self._make, dataclasses.replace(model, path=path), version)
        for version, served in prepared.items():
            if served.metrics:
                served.metrics.watch(served.pool)
            self._prepared[name, version] = served
        return found

    def _make(self, model, version):
        try:
            return Served(model, version, self._backend(model), self._metrics and self._metrics.of(model.name, version))
        except (ValueError, RuntimeError) as error:
            raise ValueError(f"{model.path}: {str(error).removeprefix('plan in memory: ')}") from None

    @staticmethod
    def _settings(name, version):
        return ModelSettings(name=name, implementation=ServedModel, platform="tenon_plan", parameters=ModelParameters(version=version))

    async def _unload_others(self, name, found):
        for model in await self.registry.get_models(name):
            if model.version not in found:
                await self.registry.unload_version(name, model.version)
                self._states.pop((name, model.version), None)

    async def unload(self, name):
        """Takes all versions away; requests that came have their results first."""
        async with self._lock:
            try:
                await self.registry.unload(name)
            except ModelNotFound:
                raise RequestError(404, await self._missing(name, "")) from None
            self._states = {key: state for key, state in self._states.items() if key[0] != name}

    async def index(self, ready_only=False):
        """Of each model and version: name, version, state, reason."""
        items = []
        for name in self._models:
            try:
                loaded = [model.version for model in await self.registry.get_models(name)]
            except ModelNotFound:
                loaded = []
            reason = self._reasons.get(name, "")
            items += [{"name": name, "version": version, "state": "READY", "reason": reason} for version in loaded]
            if not loaded and not ready_only:
                items.append({"name": name, "version": "", "state": "UNAVAILABLE", "reason": reason or "unloaded"})
        return items

    async def close(self):
        for name in self._models:
            if name in {key[0] for key in self._states}:
                await self.unload(name)


def plan_backend(settings):
    """What makes a PlanBackend of a Model, in one runtime that has the settings' folders of libraries and no environment's."""
    import tenon
    runtime = tenon.Runtime(environment=False)
    for folder in settings.plugin_dirs:
        runtime.add_search_path(folder)
    return lambda model: PlanBackend(runtime, model, settings.allow)
