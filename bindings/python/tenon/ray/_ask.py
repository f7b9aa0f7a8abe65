# SPDX-License-Identifier: Apache-2.0
"""A request to a deployment that is asked again when its replica, or the node of it, dies: a run changes nothing, so it may be repeated."""

import asyncio
import time

from ray.exceptions import NodeDiedError, ObjectLostError, RayActorError, WorkerCrashedError
from ray.serve.exceptions import DeploymentUnavailableError
from tenon.serve import RequestError

# A result may be lost, too, with the object store of the node that computed it.
LOST = (RayActorError, NodeDiedError, WorkerCrashedError, ObjectLostError, DeploymentUnavailableError)
FIRST_PAUSE, LONGEST_PAUSE = 0.02, 1.0  # seconds, doubled each time: replicas that start elsewhere take some


async def ask(handle, inputs, *, timeout=None, retry_seconds=60.0):
    """The outputs by name of a deployment's handle, for {input: array}.

    timeout: seconds in which the run must have ended, over all attempts (tenon.serve.RequestError with status 429 where that cannot be kept,
    504 where it went by).
    retry_seconds: from the first loss on it is asked again for so long; 0: never. Raises tenon.serve.RequestError, and Ray's own where
    the replicas are still lost then.
    """
    ends, lost, pause = None if timeout is None else time.monotonic() + timeout, None, FIRST_PAUSE
    while True:
        try:
            return await handle.infer.remote(inputs, None if ends is None else ends - time.monotonic())
        except LOST:
            now = time.monotonic()
            lost = lost or now
            if now + pause > lost + retry_seconds:
                raise
            if ends is not None and now + pause > ends:
                raise RequestError(504, "the deadline went by while replicas were lost") from None
        await asyncio.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)
