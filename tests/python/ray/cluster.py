# SPDX-License-Identifier: Apache-2.0
"""A cluster of several nodes on this machine, one for a file of tests."""

import contextlib
import logging
import os
import signal
import tempfile
import unittest
import warnings

import ray
import serve_nets
import tenon
from ray.cluster_utils import Cluster

PACKAGE = os.path.dirname(os.path.dirname(tenon.__file__))
TESTS = os.path.dirname(serve_nets.__file__)


def started(start, attempts=4):
    """What `start` starts. Ray gives a node 30 s, which may be too little beside much other work."""
    for _ in range(attempts - 1):
        try:
            return start()
        except Exception as error:
            if "timed out during startup" not in str(error):
                raise
    return start()


class OnCluster(unittest.TestCase):
    """nodes: beside the head, which has no CPUs for work; each has `cpus`."""

    nodes, cpus = 2, 2

    @classmethod
    def setUpClass(cls):
        warnings.simplefilter("ignore")  # Ray's own
        os.environ["RAY_worker_niceness"] = "0"  # beside other work they would hardly start
        # A raylet ends where its agents take longer to start, and a proxy of Serve's is replaced.
        os.environ.update(RAY_agent_register_timeout_ms="300000", RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S="120",
                          RAY_SERVE_PROXY_HEALTH_CHECK_TIMEOUT_S="60")
        logging.getLogger("ray").setLevel(logging.ERROR)
        cls.folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        head = {"num_cpus": 1, "object_store_memory": 200 << 20, "include_dashboard": False}
        cls.cluster = started(lambda: Cluster(initialize_head=True, head_node_args=head))
        cls.addClassCleanup(cls._stop)
        cls.added = [cls.add_node() for _ in range(cls.nodes)]
        ray.init(cls.cluster.address, log_to_driver=False, runtime_env={"env_vars": {"PYTHONPATH": PACKAGE + os.pathsep + TESTS}})

    @classmethod
    def add_node(cls):
        return started(lambda: cls.cluster.add_node(num_cpus=cls.cpus, object_store_memory=200 << 20))

    @classmethod
    def _stop(cls):
        with contextlib.suppress(Exception):
            ray.shutdown()
        cls.cluster.shutdown()

    @classmethod
    def workers(cls, title, node=None):
        """Processes of this cluster's workers, or of a node's, whose title begins so."""
        nodes = cls.cluster.list_all_nodes() if node is None else [node]
        parents = {each.process.pid for node in nodes for each in node.all_processes.get("raylet", [])}
        found = []
        for name in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    is_one = file.read().startswith(title.encode())
                with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as file:
                    if is_one and int(file.read().rpartition(")")[2].split()[1]) in parents:
                        found.append(int(name))
        return found

    @classmethod
    def kill_node(cls, node):
        """All of its processes at once, as where a machine fails."""
        workers = cls.workers("ray::", node)
        for each in node.all_processes["raylet"]:
            os.kill(each.process.pid, signal.SIGKILL)
        for pid in workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        cls.cluster.remove_node(node, allow_graceful=False)
        cls.added.remove(node)

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder, name)

    @classmethod
    def scale(cls, factor, name="net.plan"):
        return serve_nets.scale(cls.path(name), factor)


@ray.remote(num_cpus=0, resources={"node:__internal_head__": 0.001})
class Counter:
    """What workers on all nodes tell; on the head, which no test kills."""

    def __init__(self):
        self._seen = []

    def add(self, item):
        self._seen.append(item)
        return len(self._seen)

    def all(self):
        return self._seen
