# SPDX-License-Identifier: Apache-2.0
"""A request to a deployment that is asked again when its replica, or the node of it, dies: a run changes nothing, so it may be repeated."""

import asyncio
import threading
import time

from ray.exceptions import NodeDiedError, ObjectLostError, RayActorError, WorkerCrashedError
from ray.serve.exceptions import BackPressureError, DeploymentUnavailableError
from tenon.serve import RequestError

# A result may be lost, too, with the object store of the node that computed it.
LOST = (RayActorError, NodeDiedError, WorkerCrashedError, ObjectLostError, DeploymentUnavailableError)
FIRST_PAUSE, LONGEST_PAUSE = 0.02, 1.0  # seconds, doubled each time: replicas that start elsewhere take some
# A handle makes its router when it is first used, without a lock: threads that do so at once make several of one name, whose reports hide
# each other's from Ray's controller, which then never scales the deployment.
FIRST_USE = threading.Lock()
MOST_DEAD = 5  # replicas: a request that ends the process that runs it would end them all


async def ask(handle, inputs, *, timeout=None, retry_seconds=60.0):
    """The outputs by name of a deployment's handle, for {input: array}.

    timeout: seconds in which the run must have ended, over all attempts and what waits before a replica takes the request
    (tenon.serve.RequestError with status 429 where that cannot be kept, 504 where it went by).
    retry_seconds: from the first loss on it is asked again for so long, until five replicas died that had it; 0: never. Raises
    tenon.serve.RequestError (429 beyond max_queued_requests, too), and Ray's own where the replicas are still lost then.
    """
    ends, lost, pause, dead = None if timeout is None else time.monotonic() + timeout, None, FIRST_PAUSE, set()
    while True:
        try:
            return await _once(handle, inputs, ends)
        except LOST as error:
            now = time.monotonic()
            lost = lost or now
            dead.add(getattr(error, "actor_id", None))
            if now + pause > lost + retry_seconds or len(dead - {None}) >= MOST_DEAD:
                raise
            if ends is not None and now + pause > ends:
                raise RequestError(504, "the deadline went by while replicas were lost") from None
        except BackPressureError as error:
            raise RequestError(429, f"{error}: ask later") from None
        await asyncio.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)


async def _once(handle, inputs, ends):
    with FIRST_USE:
        infer = handle.infer
    if ends is None:
        return await infer.remote(inputs)
    response = infer.remote(inputs, max(ends - time.monotonic(), 0))
    try:
        async with asyncio.timeout_at(asyncio.get_running_loop().time() + ends - time.monotonic()):
            return await response
    except TimeoutError:
        response.cancel()
        raise RequestError(504, "the deadline went by before the run had ended") from None
