# SPDX-License-Identifier: Apache-2.0
"""What is asked again when a replica dies, by handle and in a proxy, and a replica's own answers over HTTP; needs no cluster."""

import asyncio
import os
import tempfile
import threading
import time
import unittest
import unittest.mock

import numpy as np
import serve_nets
import tenon.ray
from ray.exceptions import ActorDiedError, ActorUnavailableError
from ray.serve.exceptions import BackPressureError
from starlette.requests import Request
from tenon.ray import _deployment, _plans, _retries
from tenon.serve import RequestError, _protocol


def scope(path="/net/v2/models/net/infer", method="POST", headers=()):
    return {"type": "http", "method": method, "path": path, "root_path": "/net", "headers": list(headers), "query_string": b""}


def receiver(*chunks, ends=True):
    """receive() of a body in chunks; then, as servers do, it waits."""
    messages = [{"type": "http.request", "body": chunk, "more_body": not ends or i + 1 < len(chunks)} for i, chunk in enumerate(chunks)]

    async def receive():
        if messages:
            return messages.pop(0)
        await asyncio.Event().wait()
    return receive


class Sent(list):
    async def __call__(self, message):
        self.append(message)

    @property
    def status(self):
        return self[0]["status"]

    @property
    def body(self):
        return b"".join(message.get("body", b"") for message in self)


class App:
    """A proxy whose first `losses` requests end without a response, when `read` messages of their body came."""

    def __init__(self, losses, read=1):
        self.losses, self.read, self.bodies, self.headers = losses, read, [], []

    async def __call__(self, scope, receive, send):
        self.headers.append(dict(scope["headers"]))
        self.bodies.append(b"")
        is_lost = len(self.bodies) <= self.losses
        is_more, count = True, 0
        while is_more and not (is_lost and count == self.read):
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            self.bodies[-1] += message["body"]
            is_more, count = message["more_body"], count + 1
        if not is_lost:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"done"})


@unittest.mock.patch.object(_retries, "PAUSES", (0.001, 0.002, 0.003))
class InAProxy(unittest.IsolatedAsyncioTestCase):
    async def asked(self, app, receive, **options):
        sent, self.retries = Sent(), _retries.Retries(app)
        await asyncio.wait_for(self.retries(scope(**options), receive, sent), 60)
        self.assertEqual(self.retries._kept, 0)
        return sent

    async def test_a_lost_request_is_sent_again_whole(self):
        for read in range(4):
            app = App(2, read)
            sent = await self.asked(app, receiver(b"one ", b"two ", b"three"), headers=[(_retries.WAITED, b"1"), (b"other", b"x")])
            self.assertEqual((sent.status, sent.body, app.bodies[2]), (200, b"done", b"one two three"))
            waited = [int(headers[_retries.WAITED]) for headers in app.headers]
            self.assertEqual([headers[b"other"] for headers in app.headers], [b"x"] * 3)
            self.assertEqual(waited, sorted(waited))
            self.assertGreaterEqual(waited[2], 3000)

    async def test_what_ends_its_replica_each_time_is_given_up(self):
        app = App(99)
        sent = await self.asked(app, receiver(b"x"))
        self.assertEqual((sent.status, len(app.bodies)), (503, 4))
        self.assertIn(b"and so were 3 that were asked again: ask again", sent.body)
        self.assertIn((b"retry-after", b"1"), sent[0]["headers"])

    async def test_nothing_else_is_sent_again(self):
        for options in ({"path": "/other"}, {"method": "GET"}, {"path": "/v2/repository/models/net/load"}):
            app = App(1)
            self.assertEqual((await self.asked(app, receiver(b"x"), **options), len(app.bodies)), ([], 1))

    async def test_a_client_that_went_away_is_not_asked_for(self):
        async def gone():
            return {"type": "http.disconnect"}
        app = App(9)
        self.assertEqual((await self.asked(app, gone), len(app.bodies)), ([], 1))

    async def test_bodies_that_are_kept_are_bounded(self):
        for bound in ("MOST_BYTES", "MOST_KEPT"):
            with unittest.mock.patch.object(_retries, bound, 6):
                app = App(1, 2)
                sent = await self.asked(app, receiver(b"1234", b"5678", b"9"))
                self.assertEqual((sent.status, len(app.bodies)), (503, 1))
                self.assertIn(b"too large to be kept", sent.body)
                sent = await self.asked(App(0), receiver(b"1234", b"5678", b"9"))
                self.assertEqual((sent.status, sent.body), (200, b"done"))


class Handle:
    """A deployment's, whose answers are results, exceptions, or seconds after which there is none yet."""

    def __init__(self, *answers):
        self.answers, self.infer, self.timeouts, self.cancelled = list(answers), self, [], 0

    def remote(self, inputs, timeout=None):
        self.timeouts.append(timeout)
        answer, handle = self.answers.pop(0), self

        class Response:
            def __await__(self):
                if isinstance(answer, Exception):
                    raise answer
                if isinstance(answer, float):
                    yield from asyncio.sleep(answer).__await__()
                return {"y": answer}

            def cancel(self):
                handle.cancelled += 1
        return Response()


class LazyHandle:
    """One that makes its router as Ray's does, when it is first used."""

    def __init__(self):
        self.routers, self._router = 0, None

    @property
    def infer(self):
        if self._router is None:
            time.sleep(0.05)
            self.routers += 1
            self._router = Handle(*range(9))
        return self._router


def died(number):
    error = ActorDiedError()
    error.actor_id = str(number)
    return error


class ByHandle(unittest.IsolatedAsyncioTestCase):
    async def test_lost_requests_are_asked_again(self):
        handle = Handle(died(0), ActorUnavailableError("net", None), died(1), 5)
        self.assertEqual(await tenon.ray.ask(handle, {}, retry_seconds=9999), {"y": 5})
        with self.assertRaises(ActorDiedError):
            await tenon.ray.ask(Handle(died(0)), {}, retry_seconds=0)

    async def test_what_ends_its_replica_each_time_is_given_up(self):
        handle = Handle(*(died(i) for i in range(9)))
        with self.assertRaises(ActorDiedError):
            await tenon.ray.ask(handle, {}, retry_seconds=9999)
        self.assertEqual(len(handle.timeouts), 5)
        one = Handle(*[died(0)] * 7, 1)  # whose death was not heard of
        self.assertEqual(await tenon.ray.ask(one, {}, retry_seconds=9999), {"y": 1})

    async def test_threads_that_use_a_handle_first_make_one_router(self):
        handle, barrier = LazyHandle(), threading.Barrier(4)

        def ask(timeout):
            barrier.wait()
            asyncio.run(tenon.ray.ask(handle, {}, timeout=timeout))
        await asyncio.gather(*(asyncio.to_thread(ask, timeout) for timeout in (None, None, 60, 60)))
        self.assertEqual((handle.routers, len(handle.infer.timeouts)), (1, 4))

    async def test_deadlines_hold_before_a_replica_has_the_request(self):
        handle = Handle(60.0)
        with self.assertRaisesRegex(RequestError, "the deadline went by") as caught:
            await tenon.ray.ask(handle, {}, timeout=0.02)
        self.assertEqual((caught.exception.status, handle.cancelled), (504, 1))
        handle = Handle(died(0), 3)
        self.assertEqual(await tenon.ray.ask(handle, {}, timeout=30), {"y": 3})
        self.assertLess(handle.timeouts[1], handle.timeouts[0] - 0.015)

    async def test_a_full_queue_of_the_handle_refuses(self):
        with self.assertRaisesRegex(RequestError, "ask later") as caught:
            await tenon.ray.ask(Handle(BackPressureError(8, 8)), {})
        self.assertEqual(caught.exception.status, 429)


class OverHttp(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        plan = _plans.read(serve_nets.scale(os.path.join(folder, "net.plan"), 2.0))
        self.enterContext(unittest.mock.patch.object(_plans, "find", lambda digest: plan))
        self.replica = _deployment.Replica("0" * 64, {"name": "net", "path": ""}, {"max_request_mib": 1, "receive_seconds": 0.1}, [], [])

    async def answer(self, *chunks, ends=True, **options):
        return await asyncio.wait_for(self.replica(Request(scope(**options), receiver(*chunks, ends=ends))), 60)

    async def test_bodies_are_bounded(self):
        part, most = b"x" * (1 << 19), str(1 << 20).encode()
        for status, words, chunks, headers in (
                (408, b"did not come within 0.1 seconds", [b"{"], []),
                (413, b"a body of more than " + most, [part, part, b"x", b"y"], []),
                (413, b"at most " + most, [b"x"], [(b"content-length", b"9999999")]),
                (415, b"identity is wanted", [b"x"], [(b"content-encoding", b"gzip")])):
            response = await self.answer(*chunks, ends=False, headers=headers)
            self.assertEqual(response.status_code, status)
            self.assertIn(words, response.body)
            self.assertEqual(response.headers.get("connection"), "close" if status in (408, 413) else None)
            self.assertEqual(self.replica._bodies._buffered, 0)

    async def test_deadlines_count_what_a_proxy_waited(self):
        body = _protocol._dumps({"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 4], "data": [1, 2, 3, 4]}],
                                 "parameters": {"timeout": 20_000_000}})
        response = await self.answer(body)
        self.assertEqual((response.status_code, self.replica._bodies._buffered), (200, 0), response.body)
        response = await self.answer(body, headers=[(_retries.WAITED, b"20000001")])
        self.assertEqual((response.status_code, response.headers["retry-after"]), (429, "1"), response.body)
        self.assertIn(b"cannot be kept", response.body)

    async def test_a_plan_that_fails_to_load_is_refused_before_a_replica_ends(self):
        whole = _plans.find("")
        cut = whole[:len(whole) // 2].tobytes()
        with unittest.mock.patch.object(_plans, "keep", side_effect=AssertionError("it was put into the cluster")):
            with self.assertRaisesRegex(ValueError, "model 'net': .*truncated|model 'net': .*bytes"):
                tenon.ray.deployment(cut, name="net")
            with self.assertRaisesRegex(ValueError, "batch = true"):
                tenon.ray.deployment(serve_nets.over_rows(os.path.join(tempfile.mkdtemp(), "rows.plan")), name="net", batch=True)
            with self.assertRaisesRegex(ValueError, "receive_seconds: 0 is not within"):
                tenon.ray.deployment(whole.tobytes(), receive_seconds=0)

    async def test_health_is_that_of_runs(self):
        await self.replica.check_health()
        pool = self.replica._served.pool
        pool._contexts = pool._free = [object()]  # no context at all
        with self.assertRaisesRegex(RequestError, "has no attribute 'run'"):
            await self.replica.check_health()


if __name__ == "__main__":
    unittest.main()
