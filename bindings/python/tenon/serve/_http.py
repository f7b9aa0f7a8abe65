# SPDX-License-Identifier: Apache-2.0
"""The protocol over HTTP in front of MLServer's application: tensors as bytes, bounded bodies, the protocol's own errors.

Requests that run a model or change the repository end here; health, metadata and readiness are MLServer's.
"""

import asyncio
import http
import re
import time

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from . import _protocol
from ._bodies import Bodies, error_headers, header, number
from ._errors import RequestError

MODEL = r"/v2/models/(?P<name>[^/]+)(?:/versions/(?P<version>[^/]+))?"
INFER = re.compile(MODEL + r"/infer\Z")
CHANGE = re.compile(r"/v2/repository/models/(?P<name>[^/]+)/(?P<change>load|unload)\Z")
PASSED = re.compile(rf"/v2(?:/health/(?:live|ready)|{MODEL[3:]}(?:/ready)?|/?)\Z")
ABSENT = {"systemsharedmemory": "shared memory", "cudasharedmemory": "shared memory of CUDA", "trace": "tracing", "logging": "settings of the log",
          "generate": "generation", "generate_stream": "streams", "infer_stream": "streams", "stats": "statistics, which are at /metrics,"}
LENGTH = b"inference-header-content-length"
RETRY = "retry-after: 1\r\n"
MOST_AROUND = 64 << 10  # bytes of a request that are not its body
AROUND_A_BYTE = 8       # of a body may come in a chunk of its own: "1", the byte, and two ends of lines


class Application:
    """ASGI. `inner`: MLServer's."""

    def __init__(self, inner, repository, settings):
        self._inner = inner
        self._repository = repository
        self._settings = settings
        self._bodies = Bodies(settings)
        self._requests = 0

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            return await self._inner(scope, receive, send)
        path, method = scope["path"], scope["method"]
        if method == "GET" and PASSED.match(path):
            return await self._pass(scope, receive, send)
        metrics, start, status, held = None, time.monotonic(), 200, [0]
        self._requests += 1
        try:
            if self._requests > self._settings.max_requests:
                raise RequestError(503, f"{self._settings.max_requests} requests are being answered: ask later")
            match = INFER.match(path)
            if match and method == "POST":
                metrics, parts, length = await self._infer(match, scope, receive, held)
                await _send(send, 200, parts, length)
            else:
                await _send(send, 200, [await self._other(path, method, scope, receive, held)])
        except RequestError as error:
            status = error.status
            if status == 413:
                await self._bodies.discard(receive)
            await _send(send, status, [_protocol.error_body(str(error))])
            metrics = metrics or getattr(error, "metrics", None)
        finally:
            self._requests -= 1
            self._bodies.release(held)
            if metrics:
                metrics.answered("http", status, time.monotonic() - start)

    async def _pass(self, scope, receive, send):
        match = re.match(MODEL, scope["path"])
        if match: # errors of models that are not there are ours
            try:
                await self._repository.find(match["name"], match["version"])
            except RequestError as error:
                return await _send(send, error.status, [_protocol.error_body(str(error))])
        return await self._inner(scope, receive, send)

    async def _infer(self, match, scope, receive, held):
        came = time.monotonic()
        served = await self._repository.find(match["name"], match["version"])
        try:
            body = await self._bodies.read(scope, receive, held)
            header_bytes = number(header(scope, LENGTH), "Inference-Header-Content-Length")
            request = _protocol.read(body, header_bytes, served.spec)
            deadline = came + request.timeout_us / 1e6 if request.timeout_us else float("inf")
            results = await _until_disconnected(served.run(request, deadline), receive)
            return (served.metrics, *_protocol.write(served.name, served.version, request, results))
        except RequestError as error:
            error.metrics = served.metrics
            raise

    async def _other(self, path, method, scope, receive, held):
        change = CHANGE.match(path)
        if change and method == "POST":
            refuse_parameters(await self._object(scope, receive, held), change["change"])
            await (self._repository.load if change["change"] == "load" else self._repository.unload)(change["name"])
            return b"{}"
        if path == "/v2/repository/index" and method == "POST":
            ready = (await self._object(scope, receive, held)).get("ready", False)
            return _protocol._dumps(await self._repository.index(ready is True))
        for part in path.split("/"):
            if part in ABSENT:
                raise RequestError(501, f"{path[:256]}: {ABSENT[part]} is not had here")
        raise RequestError(404, f"{method} {path[:256]}: no such path; POST /v2/models/NAME/infer runs a model")

    async def _object(self, scope, receive, held):
        body = await self._bodies.read(scope, receive, held)
        return _protocol._json(body) if body.strip() else {}


def refuse_parameters(table, change):
    """Triton's overrides of a model's settings and files: they would let a request say what the server loads."""
    parameters = {name for name in _protocol._parameters(table, change)} - {"unload_dependents"}
    if parameters:
        raise RequestError(501, f"{change}: parameter '{sorted(parameters)[0]}' is not had here: what is loaded, the server's settings say")


async def _until_disconnected(coroutine, receive):
    """Its result; it is cancelled where the caller goes away meanwhile."""
    run = asyncio.ensure_future(coroutine)
    gone = asyncio.ensure_future(receive())
    try:
        await asyncio.wait((run, gone), return_when=asyncio.FIRST_COMPLETED)
        if not run.done():
            raise RequestError(400, "the connection ended")
        return run.result()
    finally:
        run.cancel()
        gone.cancel()


async def _send(send, status, parts, header_bytes=None):
    kind = b"application/json" if header_bytes is None else b"application/octet-stream"
    headers = [(b"content-type", kind), (b"content-length", str(sum(map(len, parts))).encode())]
    if header_bytes is not None:
        headers.append((LENGTH, str(header_bytes).encode()))
    headers += error_headers(status)
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": parts[0] if len(parts) == 1 else b"".join(parts)})


def bounded_protocol(settings):
    """Connections of HTTP: at most settings.max_connections; a request's line and headers must have come within receive_seconds after the connection,
    or after the response before, and are bounded, as is what comes around a body: lengths of chunks, headers behind it."""
    class Bounded(HttpToolsProtocol):
        is_refused = False
        _clock = None
        _around = 0     # bytes since a message ended that are not its body
        _body = 0       # of the newest read
        _is_end = False # a message ended in the newest read

        def connection_made(self, transport):
            super().connection_made(transport)
            if len(self.connections) > settings.max_connections:
                self._refuse(503, f"{settings.max_connections} connections are open: ask later")
            else:
                self._watch()

        def data_received(self, data):
            if self.is_refused:
                return
            self._body, self._is_end = 0, False
            super().data_received(data)
            self._around = 0 if self._is_end else self._around + max(len(data) - AROUND_A_BYTE * self._body, 0)
            if self._around > MOST_AROUND and not self.is_refused:
                self._refuse(431, f"a request's line, headers and lengths of chunks have at most {MOST_AROUND} bytes")

        def on_body(self, body):
            self._body += len(body)
            super().on_body(body)

        def on_message_complete(self):
            self._is_end = True
            super().on_message_complete()

        def on_response_complete(self):
            super().on_response_complete()
            self._watch()

        def connection_lost(self, exc):
            self._clock and self._clock.cancel()
            super().connection_lost(exc)

        def send_400_response(self, msg):
            self._refuse(400, "this is no request of HTTP/1.1")

        def _watch(self):
            self._clock and self._clock.cancel()
            self._clock = self.loop.call_later(settings.receive_seconds, self._end_if_silent)

        def _end_if_silent(self):
            if self.cycle is None or self.cycle.response_complete:
                self.transport.close()

        def _refuse(self, status, text):
            self.is_refused = True
            if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
                self.transport.write(_refusal(status, _protocol.error_body(text)))
            self.transport.close()

    return Bounded


def _refusal(status, body):
    """A whole response, before which no application was."""
    return (f"HTTP/1.1 {status} {http.HTTPStatus(status).phrase}\r\ncontent-type: application/json\r\nconnection: close\r\n"
            f"{RETRY if status == 503 else ''}content-length: {len(body)}\r\n\r\n").encode() + body
