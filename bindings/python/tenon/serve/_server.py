# SPDX-License-Identifier: Apache-2.0
"""MLServer with our repository and our two protocols in it."""

import asyncio
import contextlib
import logging
import resource
import signal
import socket
import time

import mlserver
import uvloop
from mlserver.metrics import server as metrics_server
from mlserver.rest import RESTServer, server as rest_server

from . import _grpc, _http
from ._errors import RequestError
from ._metrics import Metrics
from ._repository import Repository

log = logging.getLogger("tenon.serve")


def _leave_signals():
    """MLServer keeps uvicorn from signals by a method that uvicorn no longer calls. Each of the two servers would take them from the other, and hand
    them on when it has ended: some were lost, and the process stayed."""
    for module in (rest_server, metrics_server):
        module._NoSignalServer.capture_signals = lambda _: contextlib.nullcontext()


class RestServer(RESTServer):
    """MLServer's, behind _http.Application."""

    def __init__(self, mlserver_settings, data_plane, handlers, repository, settings):
        super().__init__(mlserver_settings, data_plane, handlers)
        self._repository = repository
        self._bounds = settings

    def _get_config(self):
        config = super()._get_config()
        config.app = _http.Application(config.app, self._repository, self._bounds)
        config.http = _http.bounded_protocol(self._bounds)
        config.ws = "none"
        config.timeout_graceful_shutdown = self._bounds.drain_seconds
        config.log_level = "warning"
        return config


class Server(mlserver.MLServer):
    """Serves settings.models; `backend` as Repository has it."""

    def __init__(self, settings, backend=None):
        self.bounds = settings
        self.repository = Repository(settings, backend, Metrics())
        self._serving = self._stopping = None
        _leave_signals()
        super().__init__(mlserver.Settings(
            host=settings.host, http_port=settings.http_port, grpc_port=settings.grpc_port, metrics_port=settings.metrics_port,
            parallel_workers=0, debug=False, load_models_at_startup=False, gzip_enabled=False, server_name="tenon",
            server_version=_version(), extensions=["binary_tensor_data", "model_repository"], tracing_server=None, kafka_enabled=False,
            cache_enabled=False, model_repository_implementation=None))

    def _create_model_registry(self):
        return self.repository.registry

    def _create_servers(self):
        self._kafka_server = None
        arguments = (self._settings, self._data_plane, self._model_repository_handlers, self.repository, self.bounds)
        self._rest_server = RestServer(*arguments)
        self._grpc_server = _grpc.Server(*arguments)

    def _add_signal_handlers(self):
        loop = asyncio.get_event_loop()
        for each in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(each, self._begin_to_stop, each)

    def _begin_to_stop(self, number):
        """Once: the loop alone would not keep the task. Before all listen there is nothing to end but the loading."""
        if not all(hasattr(each, "_server") for each in (self._rest_server, self._grpc_server, self._metrics_server)):
            self._serving.cancel()
        elif not self._stopping:
            self._stopping = asyncio.ensure_future(self.stop(number))

    async def serve(self):
        """Loads all models, then listens until a signal. Raises RequestError where a model is not loaded, OSError."""
        self._serving = asyncio.current_task()
        start = time.monotonic()
        for model in self.bounds.models:
            await self.repository.load(model.name)
        log.info("loaded %s in %.2f s", ", ".join(model.name for model in self.bounds.models), time.monotonic() - start)
        await self.start([])


def _version():
    import tenon
    return tenon.__version__


def _raise_file_limit():
    """Connections are files: as many as the system lets this process have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _check_ports(settings):
    """Raises OSError where a port cannot be listened on: the servers would say so one after the other, with tracebacks, when models are loaded."""
    for name in ("http_port", "grpc_port", "metrics_port"):
        try:
            family, kind, _, _, address = socket.getaddrinfo(settings.host, getattr(settings, name), type=socket.SOCK_STREAM)[0]
            with socket.socket(family, kind) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(address)
        except OSError as reason:
            raise OSError(f"{name}: {settings.host}:{getattr(settings, name)} cannot be listened on: {reason.strerror}") from None


def serve(settings, backend=None):
    """Until SIGINT or SIGTERM. Raises RequestError, OSError."""
    _check_ports(settings)
    _raise_file_limit()
    logging.getLogger("mlserver").propagate = False  # it has a handler of its own

    async def main():
        with contextlib.suppress(asyncio.CancelledError):  # by a signal before it listens
            await Server(settings, backend).serve()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())


__all__ = ["RequestError", "Server", "serve"]
