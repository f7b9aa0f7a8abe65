# SPDX-License-Identifier: Apache-2.0
"""Contexts that requests wait for: in order, joined to batches, within their deadlines.

A Pool belongs to one event loop; runs are on threads of its own (_Threads). A request that cannot end in time, by the time that runs take
and what waits before it, is refused when it comes, not when it is too late.
"""

import asyncio
import collections
import contextlib
import dataclasses
import queue
import threading
import time

import numpy as np

from ._errors import RequestError, of_run

NEW_RUNS_WEIGHT = 0.1  # of the newest run in the mean: ten runs follow a change of load
# Seconds: a shorter run is on the event loop's own thread, for a thread's wake-up and the way back cost 0.1 to 0.3 ms.
SHORT_RUN_SECONDS = 2e-4


@dataclasses.dataclass(eq=False)
class Job:
    arrays: dict
    rows: int            # along axis 0; 1 where nothing is joined
    deadline: float      # by time.monotonic()
    future: asyncio.Future
    since: float


class Pool:
    """`contexts`: objects with run(dict of arrays) -> dict, and cancel(). `batch`: (optimal, greatest) rows or None."""

    def __init__(self, contexts, *, queue=128, batch=None, wait_ms=0.0, metrics=None):
        self._contexts = list(contexts)
        self._free = list(self._contexts)
        self._count = len(self._free)
        self._checks = {}       # by a context's id: the check that it runs before anything else
        self._waiting = collections.deque()
        self._most_waiting = queue
        self._batch = batch
        self._wait = wait_ms / 1e3
        self._metrics = metrics
        self._timer = None
        self._is_closed = False
        self.run_seconds = 0.0  # mean of a run
        self._short_size = -1   # inputs of at most so many elements have had short runs
        self._threads = _Threads(self._count)

    @property
    def waiting(self):
        return len(self._waiting)

    @property
    def running(self):
        return self._count - len(self._free)

    async def run(self, arrays, deadline=float("inf")):
        """The outputs by name. Raises RequestError: 429 refused at once, 504 the deadline went by, else of the run."""
        now = time.monotonic()
        if self._is_closed:
            raise RequestError(503, "this version of the model is being unloaded: ask again")
        if not self._free and len(self._waiting) >= self._most_waiting:
            raise RequestError(429, f"{len(self._waiting)} requests wait, more than the {self._most_waiting} that may: ask later")
        expected = self.expected_seconds()
        if now + expected > deadline:
            raise RequestError(429, f"the deadline in {max(deadline - now, 0) * 1e3:.1f} ms cannot be kept: "
                               f"{len(self._waiting)} requests wait and a run takes {self.run_seconds * 1e3:.1f} ms")
        job = Job(arrays, self._rows(arrays), deadline, asyncio.get_running_loop().create_future(), now)
        self._waiting.append(job)
        self._dispatch()
        try:
            return await job.future
        finally:
            if job in self._waiting:  # cancelled
                self._waiting.remove(job)

    async def check(self, arrays):
        """Runs each context once, ahead of what waits for it. Raises the RequestError of the first that fails; does not return while one
        does not."""
        now, jobs = time.monotonic(), []
        for context in self._contexts:
            jobs.append(Job(arrays, 0, float("inf"), asyncio.get_running_loop().create_future(), now))
            if context in self._free:
                self._free.remove(context)
                self._start(context, jobs[-1:])
            else:
                self._checks[id(context)] = jobs[-1]
        try:
            await asyncio.gather(*(job.future for job in jobs))
        finally:
            self._dispatch()

    def expected_seconds(self):
        """Until a request that came now would have its result."""
        rounds = 1 + (0 if self._free else 0.5 + len(self._waiting) / self._count / self._jobs_a_batch())
        return rounds * self.run_seconds

    def _jobs_a_batch(self):
        return max(self._batch[1] if self._batch else 1, 1)

    def _rows(self, arrays):
        rows = {array.shape[0] for array in arrays.values()} if self._batch else {1}
        return rows.pop() if len(rows) == 1 else 0  # 0: not joined with others

    def _dispatch(self):
        while self._free and self._waiting:
            jobs = self._take()
            if jobs is None:
                return
            if jobs:
                self._start(self._free.pop(), jobs)

    def _take(self):
        """The next jobs to run, empty where the first was too late; None: wait for more."""
        now = time.monotonic()
        first = self._waiting[0]
        if first.future.done():
            self._waiting.popleft()
            return []
        if first.deadline < now:
            self._waiting.popleft().future.set_exception(RequestError(504, "the deadline went by while the request waited"))
            return []
        jobs = self._joined(first)
        if self._wait and len(jobs) == len(self._waiting) and sum(job.rows for job in jobs) < self._batch[0]:
            rest = first.since + self._wait - now
            if rest > 0:
                self._wake(rest)
                return None
        for _ in jobs:
            self._waiting.popleft()
        return jobs

    def _wake(self, seconds):
        if self._timer is None:
            def dispatch():
                self._timer = None
                self._dispatch()
            self._timer = asyncio.get_running_loop().call_later(seconds, dispatch)

    def _joined(self, first):
        """The first and those behind it that fit into one batch with it."""
        jobs, rows = [first], first.rows
        if not self._batch or not first.rows:
            return jobs
        form = _form(first.arrays)
        for job in list(self._waiting)[1:self._batch[1]]:
            if not job.rows or rows + job.rows > self._batch[1] or job.future.done() or _form(job.arrays) != form:
                break
            jobs.append(job)
            rows += job.rows
        return jobs

    def _start(self, context, jobs):
        start = time.monotonic()
        size = sum(array.size for job in jobs for array in job.arrays.values())
        is_short = size <= self._short_size
        if not is_short:
            if len(jobs) == 1:
                jobs[0].future.add_done_callback(lambda future: future.cancelled() and context.cancel())
            self._threads.run(context, jobs, lambda *ended: self._returned(context, jobs, size, *ended))
        if self._metrics:
            self._metrics.started([start - job.since for job in jobs], sum(max(job.rows, 1) for job in jobs))
        if is_short:
            self._ended(context, jobs, size, *_run(context, jobs))

    def _returned(self, context, jobs, size, results, seconds):
        """A thread's run, on the loop's thread again."""
        self._ended(context, jobs, size, results, seconds)
        self._dispatch()

    def _ended(self, context, jobs, size, results, seconds):
        self.run_seconds += (seconds - self.run_seconds) * (NEW_RUNS_WEIGHT if self.run_seconds else 1)
        if seconds > SHORT_RUN_SECONDS:
            self._short_size = min(self._short_size, size - 1)
        elif size > self._short_size and self.run_seconds < SHORT_RUN_SECONDS:
            self._short_size = size
        self._finish(jobs, results)
        check = self._checks.pop(id(context), None)
        if check and not check.future.done():
            self._start(context, [check])
        else:
            self._free.append(context)
        if self._metrics:
            self._metrics.ran(seconds)

    @staticmethod
    def _finish(jobs, results):
        for job, result in zip(jobs, results):
            if job.future.done():
                continue
            if isinstance(result, Exception):
                job.future.set_exception(result if isinstance(result, RequestError) else of_run(result))
            else:
                job.future.set_result(result)

    async def close(self):
        """Refuses new requests, and returns when those that came have their results."""
        self._is_closed = True
        while self._waiting or self.running:
            await asyncio.sleep(0.01)
        self._threads.end()
        self._free.clear()


class _Threads:
    """Threads that run what an event loop hands them. An executor has two futures and two locks between a run's end and the loop's
    hearing of it; here it is one callback."""

    def __init__(self, count):
        self._count = count
        self._threads = []
        self._tasks = queue.SimpleQueue()

    def run(self, context, jobs, ended):
        """_run on a thread, then ended(results, seconds) on this one."""
        if len(self._threads) < self._count:
            self._threads.append(threading.Thread(target=self._work, args=(self._tasks,), name="tenon-serve", daemon=True))
            self._threads[-1].start()
        self._tasks.put((context, jobs, asyncio.get_running_loop(), ended))

    @staticmethod
    def _work(tasks):
        while (task := tasks.get()) is not None:
            context, jobs, loop, ended = task
            returned = _run(context, jobs)
            with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile: nobody waits
                loop.call_soon_threadsafe(ended, *returned)
            task = context = jobs = loop = ended = returned = None  # an idle thread keeps no plan in memory

    def end(self):
        for _ in self._threads:
            self._tasks.put(None)


def _form(arrays):
    """What must be equal of requests that are joined."""
    return {name: array.shape[1:] for name, array in arrays.items()}


def _run(context, jobs):
    """(a result, or an exception, for each job; seconds)."""
    start = time.monotonic()
    return _results(context, jobs), time.monotonic() - start


def _results(context, jobs):
    """A batch that fails is run again one by one: the fault is of one of them."""
    try:
        if len(jobs) == 1:
            return [context.run(jobs[0].arrays)]
        joined = {name: np.concatenate([job.arrays[name] for job in jobs]) for name in jobs[0].arrays}
        return _split(jobs, context.run(joined))
    except Exception as error:
        if len(jobs) == 1:
            return [error]
        return [_results(context, [job])[0] for job in jobs]


def _split(jobs, outputs):
    rows = sum(job.rows for job in jobs)
    for name, array in outputs.items():
        if array.ndim == 0 or array.shape[0] != rows:
            raise RequestError(500, f"output '{name}' has shape {list(array.shape)} of {rows} rows in a batch: "
                               "this model cannot be served with batch = true")
    results, begin = [], 0
    for job in jobs:
        results.append({name: array[begin:begin + job.rows] for name, array in outputs.items()})
        begin += job.rows
    return results
