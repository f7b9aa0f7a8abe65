# SPDX-License-Identifier: Apache-2.0
"""Bodies of requests over HTTP (ASGI), within bounds on bytes and time; those of tenon-serve and of Ray Serve's replicas."""

import asyncio
import contextlib

from ._errors import RequestError
from ._settings import MIB


class Bodies:
    """`settings`: max_request_mib, max_buffered_mib and receive_seconds of Settings. Belongs to one event loop."""

    def __init__(self, settings):
        self._settings = settings
        self._buffered = 0  # bytes of requests that are not answered yet

    async def read(self, scope, receive, held):
        """The whole body. `held`: [0], where what the request holds of max_buffered_mib is counted until release(). Raises RequestError."""
        if header(scope, b"content-encoding") not in (None, b"identity"):
            raise RequestError(415, "Content-Encoding: compressed requests are not had here, identity is wanted")
        most = self._settings.max_request_mib * MIB
        said = number(header(scope, b"content-length"), "Content-Length")
        if said is not None and said > most:
            raise RequestError(413, f"a body of {said} bytes; at most {most} are taken")
        try:
            async with asyncio.timeout(self._settings.receive_seconds):
                return await self._chunks(receive, most, held)
        except TimeoutError:
            raise RequestError(408, f"the body did not come within {self._settings.receive_seconds} seconds") from None

    def release(self, held):
        """When the request has its answer."""
        self._buffered -= held[0]

    async def discard(self, receive):
        """What is left of a body, as many bytes again as are taken: a client that still writes when the connection is closed would not
        see the answer."""
        left = self._settings.max_request_mib * MIB
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._settings.receive_seconds):
                while left > 0:
                    message = await receive()
                    left -= len(message.get("body", b""))
                    if not message.get("more_body", False):
                        return

    async def _chunks(self, receive, most, held):
        chunks, is_more = [], True
        while is_more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise RequestError(400, "the connection ended within the body")
            chunk, is_more = message.get("body", b""), message.get("more_body", False)
            held[0] += len(chunk)
            self._buffered += len(chunk)
            if held[0] > most:
                raise RequestError(413, f"a body of more than {most} bytes, which is the most that is taken")
            if self._buffered > self._settings.max_buffered_mib * MIB:
                raise RequestError(503, f"requests of {self._settings.max_buffered_mib} MiB are being received: ask later")
            chunks.append(chunk)
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def header(scope, name):
    for key, value in scope["headers"]:
        if key == name:
            return value
    return None


def number(text, name):
    """A header's whole number; None where there is none. Raises RequestError."""
    if text is None:
        return None
    if not text.isdigit() or len(text) > 18:
        raise RequestError(400, f"{name}: a whole number is wanted")
    return int(text)


def error_headers(status):
    """Of the response to a refused request: [(name, value)] of bytes."""
    headers = []
    if status in (408, 413):
        headers.append((b"connection", b"close"))  # what is left of the body is not read
    if status in (429, 503):
        headers.append((b"retry-after", b"1"))
    return headers
