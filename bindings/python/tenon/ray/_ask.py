# SPDX-License-Identifier: Apache-2.0
"""A request to a deployment that is asked again when its replica dies: a run changes nothing, so it may be repeated."""

from ray.exceptions import ActorUnavailableError, NodeDiedError, RayActorError, WorkerCrashedError

LOST = (RayActorError, ActorUnavailableError, NodeDiedError, WorkerCrashedError)


async def ask(handle, inputs, *, timeout=None, attempts=5):
    """The outputs by name of a deployment's handle, for {input: array}.

    timeout: seconds in which the run must have ended (tenon.serve.RequestError with status 429 where that cannot be kept).
    attempts: how often it is asked where a replica dies. Raises tenon.serve.RequestError, and Ray's own where all attempts were lost.
    """
    for attempt in range(attempts):
        try:
            return await handle.infer.remote(inputs, timeout)
        except LOST:
            if attempt + 1 == attempts:
                raise
    raise ValueError(f"attempts: {attempts}: at least 1 is wanted")
