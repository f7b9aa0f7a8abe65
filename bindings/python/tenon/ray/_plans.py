# SPDX-License-Identifier: Apache-2.0
"""Plans in the object store: a node gets the bytes once, all its workers map them, and engines read them where they lie.

A job's own plan belongs to its driver (put_for_job). One that outlives the driver belongs to a detached actor on the head node, which
keeps a file beside it and so comes back when its process is killed (keep, find, forget).
"""

import hashlib
import os
import tempfile

import numpy as np
import ray
import tenon
from ray.exceptions import RayActorError

NAMESPACE = "tenon"
ALIGNMENT = 64  # of bytes that an engine reads without a copy
HEAD = "node:__internal_head__"


def read(plan):
    """The bytes of a plan as an array of uint8: of a file, of bytes, of a tenon.Plan. Raises OSError, ValueError."""
    data = plan if isinstance(plan, (bytes, bytearray, memoryview)) else None
    if isinstance(plan, tenon.Plan):
        data = plan.tobytes()
    elif data is None:
        with open(plan, "rb") as file:
            data = file.read()
    from tenon._plan import is_plan
    if not is_plan(data):
        raise ValueError(f"{str(plan)[:128]!r} is no plan: a file that tenon build wrote, its bytes, or a tenon.Plan is wanted")
    return np.frombuffer(data, np.uint8)


def digest_of(array):
    return hashlib.sha256(array).hexdigest()


def load(array, runtime=None):
    """The tenon.Plan over an array of the object store. Small ones, which Ray keeps elsewhere, may not be aligned: they are copied."""
    return tenon.Plan(array, runtime, borrow=array.ctypes.data % ALIGNMENT == 0 and not array.flags.writeable)


def put_for_job(array):
    """A reference that the driver owns."""
    return ray.put(array)


class _Keeper:
    """The owner of one plan. Its file is what a restarted process reads."""

    def __init__(self, digest):
        self._digest = digest
        self._path = os.path.join(_own_folder(), digest + ".plan")
        self._reference = None
        if os.path.exists(self._path):
            array = np.fromfile(self._path, np.uint8)
            if digest_of(array) == digest:
                self._reference = ray.put(array)

    def put(self, array):
        if self._reference is None:
            beside = self._path + ".new"
            array.tofile(beside)
            os.replace(beside, self._path)
            self._reference = ray.put(array)

    def reference(self):
        """In a list, for a bare reference would be resolved by Ray; empty where there is none."""
        return [] if self._reference is None else [self._reference]

    def forget(self):
        self._reference = None
        if os.path.exists(self._path):
            os.remove(self._path)


def _own_folder():
    """A folder that this user alone may enter."""
    folder = os.path.join(tempfile.gettempdir(), f"tenon-plans-{os.getuid()}")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    status = os.lstat(folder)
    if status.st_uid != os.getuid() or status.st_mode & 0o77:
        raise PermissionError(f"{folder} belongs to somebody else, or others may enter it")
    return folder


def _name(digest):
    return f"plan-{digest[:32]}"


def keep(array):
    """Puts a plan where it outlives this driver; its digest, by which find() has it."""
    digest = digest_of(array)
    keeper = ray.remote(_Keeper).options(name=_name(digest), namespace=NAMESPACE, lifetime="detached", get_if_exists=True, num_cpus=0,
                                         resources={HEAD: 0.001}, max_restarts=-1, max_task_retries=3).remote(digest)
    if not ray.get(keeper.reference.remote()):
        ray.get(keeper.put.remote(array))
    return digest


def find(digest):
    """The array of a plan that keep() put. Raises ValueError where none is kept."""
    try:
        references = ray.get(ray.get_actor(_name(digest), NAMESPACE).reference.remote())
    except (ValueError, RayActorError):
        references = []
    if not references:
        raise ValueError(f"the cluster keeps no plan {digest[:16]}: tenon.ray.deployment puts it there, tenon.ray.forget removes it")
    return ray.get(references[0])


def forget(plan):
    """Removes the plan of a deployment from the cluster, when no deployment needs it any more: replicas that start later fail.

    plan: the file, bytes or tenon.Plan that deployment() was given. True where it was there.
    """
    try:
        keeper = ray.get_actor(_name(digest_of(read(plan))), NAMESPACE)
    except ValueError:
        return False
    ray.get(keeper.forget.remote())
    ray.kill(keeper)
    return True
