# SPDX-License-Identifier: Apache-2.0
"""A deployment over HTTP with tenon.ray.http_retries in Ray Serve's proxies: killed replicas and nodes, another plan, hostile requests."""

import json
import os
import socket
import time
import unittest

import serve_nets
from service import OnServe, ones, table

CALLBACK = "RAY_SERVE_HTTP_PROXY_CALLBACK_IMPORT_PATH"


class Retried(OnServe):
    @classmethod
    def setUpClass(cls):
        os.environ[CALLBACK] = "tenon.ray.http_retries"
        cls.addClassCleanup(os.environ.pop, CALLBACK)
        super().setUpClass()
        cls.layer = serve_nets.trouble()
        cls.plan = serve_nets.with_plugin(cls.path("trouble.plan"), cls.layer)

    def run_slow(self, **options):
        """A plan whose runs take 50 ms, so that what is killed has a request."""
        return self.run_path(self.plan, plugins=[self.layer.path], **options)

    def test_killed_replicas_lose_no_request(self):
        self.run_slow()
        killed = []
        values, errors = self.under_load(self.post_one, lambda: self.kill_replicas(3, killed))
        self.assertEqual(errors, [])
        self.assertEqual(set(values), {2.0})
        print(f"3 replicas killed: {len(values)} requests over HTTP, none lost")

    def test_a_killed_node_loses_no_request(self):
        self.run_slow(num_replicas=3)
        self.replicas(3)
        node = next(each for each in self.added if self.workers("ray::ServeReplica:app:", each))
        before = set(self.workers("ray::", node))
        lost = before & self.replicas(3)

        def kill():
            self.kill_node(node)
            self.replicas(3, before)
        values, errors = self.under_load(self.post_one, kill)
        self.added.append(self.add_node())
        self.assertGreater(len(lost), 0)
        self.assertEqual(errors, [])
        self.assertEqual(set(values), {2.0})
        print(f"a node with {len(lost)} of 3 replicas killed: {len(values)} requests over HTTP, none lost")

    def test_another_plan_while_requests_come(self):
        self.run_slow()
        values, errors = self.under_load(self.post_one, lambda: self.run_plan(3.0))
        self.assertEqual(errors, [])
        self.assertEqual(set(values), {2.0, 3.0})

    def test_a_request_that_ends_its_replicas_is_given_up(self):
        self.run_slow()
        status, answer, headers = self.post(table(888 * ones()))
        self.assertEqual((status, headers["retry-after"]), (503, "1"), answer)
        self.assertIn("were asked again: ask again", json.loads(answer)["error"])
        self.assertEqual(self.post_one(), 2)

    def test_a_body_that_never_ends_is_refused_while_others_go_on(self):
        self.run_plan(2.0, receive_seconds=2, max_request_mib=1)
        head = b"POST /net/v2/models/net/infer HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n"
        with socket.create_connection(("127.0.0.1", self.port), 60) as slow, socket.create_connection(("127.0.0.1", self.port), 60) as large:
            slow.sendall(head + b"1\r\n{\r\n")
            self.assertEqual(self.post_one(), 2)
            self.assertRegex(slow.recv(4096), rb"^HTTP/1.1 408 (?s:.)*did not come within 2 seconds|^HTTP/1.1 408 ")
            large.sendall(head + b"100001\r\n" + b"x" * (1 << 20) + b"y\r\n")
            self.assertRegex(large.recv(4096), rb"^HTTP/1.1 413 ")
        self.assertEqual(self.post_one(), 2)


if __name__ == "__main__":
    unittest.main()
