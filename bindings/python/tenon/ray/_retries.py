# SPDX-License-Identifier: Apache-2.0
"""Requests over HTTP that are asked again, within Ray Serve's proxy, when the replica that runs them dies.

A proxy ends a request whose replica died without a response, of which its server makes 500. Here, between the two, the request waits and is
handed to the proxy again. Only requests that run a model are: a run changes nothing.
"""

import asyncio
import re
import time

from tenon.serve import _protocol
from tenon.serve._bodies import error_headers

INFER = re.compile(r"/v2/models/[^/]+(?:/versions/[^/]+)?/infer/?\Z")
WAITED = b"tenon-waited-microseconds"  # since the request came, for its deadline
# Seconds: replicas that start elsewhere take some. Few, for a request that ends the process that runs it ends one each time.
PAUSES = (0.05, 0.2, 0.8, 3.2, 12.8)
MOST_BYTES = 64 << 20  # of a body that is kept to be sent again
MOST_KEPT = 512 << 20  # of all bodies


class Retries:
    """ASGI middleware of a proxy. `app`: what is inside it."""

    def __init__(self, app):
        self._app = app
        self._kept = 0

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http" or scope["method"] != "POST" or not INFER.search(scope["path"]):
            return await self._app(scope, receive, send)
        body = _Body(self, receive)
        try:
            await self._ask(scope, body, send)
        finally:
            body.forget()

    def keep(self, count):
        """Whether so many bytes more may be kept."""
        self._kept += count
        return self._kept <= MOST_KEPT

    async def _ask(self, scope, body, send):
        came, answer = time.monotonic(), _Answer(send)
        headers = [pair for pair in scope["headers"] if pair[0] != WAITED]
        for pause in (0, *PAUSES):
            await asyncio.sleep(pause)
            if pause and not body.repeat():
                break
            waited = int((time.monotonic() - came) * 1e6)
            await self._app({**scope, "headers": [*headers, (WAITED, str(waited).encode())]}, body.receive, answer.send)
            if answer.is_started or body.is_gone:
                return
        if not body.is_gone:
            await answer.lost("the replica that ran the request was lost" +
                              (f", and so were {len(PAUSES)} that were asked again" if body.is_kept else "; its body was too large to be kept"))


class _Body:
    """receive() of a request, whose messages are kept and come again after repeat()."""

    def __init__(self, owner, receive):
        self._owner, self._receive = owner, receive
        self._messages, self._next, self._bytes = [], 0, 0
        self.is_kept, self.is_gone = True, False

    async def receive(self):
        if self._next < len(self._messages):
            self._next += 1
            return self._messages[self._next - 1]
        message = await self._receive()
        self.is_gone = self.is_gone or message["type"] == "http.disconnect"
        count = len(message.get("body", b""))
        if self.is_kept and not self.is_gone:
            self._bytes += count
            self._messages.append(message)
            self._next += 1
            if not self._owner.keep(count) or self._bytes > MOST_BYTES:
                self.forget()
        return message

    def repeat(self):
        """Whether what came can come again; from the next receive() on it does."""
        self._next = 0
        return self.is_kept and not self.is_gone

    def forget(self):
        self._owner.keep(-self._bytes)
        self._messages, self._next, self._bytes, self.is_kept = [], 0, 0, False


class _Answer:
    """send() of a request, and whether it was called."""

    def __init__(self, send):
        self._send = send
        self.is_started = False

    async def send(self, message):
        self.is_started = True
        await self._send(message)

    async def lost(self, text):
        body = _protocol.error_body(text + ": ask again")
        await self._send({"type": "http.response.start", "status": 503, "headers": [
            (b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *error_headers(503)]})
        await self._send({"type": "http.response.body", "body": body})


def http_retries():
    """For Ray Serve's proxies: RAY_SERVE_HTTP_PROXY_CALLBACK_IMPORT_PATH=tenon.ray.http_retries in the environment of `ray start` on each
    node with a proxy. Requests over HTTP whose replica dies are asked again, five times within 17 seconds, then 503. A list of
    starlette.middleware.Middleware."""
    from starlette.middleware import Middleware
    return [Middleware(Retries)]
