# SPDX-License-Identifier: Apache-2.0
"""Serving without a server: settings, requests, contexts and batches, one version of a model. tests/python/serve has the rest."""

import asyncio
import contextlib
import io
import json
import os
import struct
import sys
import tempfile
import threading
import types
import unittest
import unittest.mock

import numpy as np
import serve_nets
import tenon
from tenon.serve import Model, RequestError, _command, _protocol, _settings
from tenon.serve._pool import Pool
from tenon.serve._served import PlanBackend, Served
from tenon.serve._spec import Spec, Tensor

F32 = Spec((Tensor("x", "FP32", (-1, 2)),), (Tensor("y", "FP32", None),), ({"x": ((1, 2), (2, 2), (4, 2))},))


def spec_of(datatype):
    return Spec((Tensor("x", datatype, (-1,)),), (Tensor("y", datatype, (-1,)),))


def body(head, *blocks):
    text = json.dumps(head).encode()
    return text + b"".join(blocks), len(text)


class Read(unittest.TestCase):
    def read(self, table, *blocks, spec=F32, **head):
        return _protocol.read(*body({"inputs": [table], **head}, *blocks), spec)

    def refused(self, words, table, *blocks, spec=F32, status=400, **head):
        with self.assertRaises(RequestError) as caught:
            self.read(table, *blocks, spec=spec, **head)
        self.assertIn(words, str(caught.exception))
        self.assertEqual(caught.exception.status, status)

    def test_bytes_are_used_where_they_lie(self):
        x = np.arange(4, dtype="<f4").reshape(2, 2)
        text, header_bytes = body({"id": "7", "inputs": [{"name": "x", "datatype": "FP32", "shape": [2, 2],
                                                          "parameters": {"binary_data_size": 16}}]}, x.tobytes())
        request = _protocol.read(text, header_bytes, F32)
        self.assertTrue(np.array_equal(request.arrays["x"], x))
        self.assertTrue(np.shares_memory(request.arrays["x"], np.frombuffer(text, np.uint8)))
        self.assertEqual(request.id, "7")

    def test_lists_flat_and_nested(self):
        for data in ([1, 2.5, 3, 4], [[1, 2.5], [3, 4]]):
            request = self.read({"name": "x", "datatype": "FP32", "shape": [2, 2], "data": data})
            self.assertEqual(request.arrays["x"].tolist(), [[1, 2.5], [3, 4]])

    def test_every_type(self):
        for datatype, values in (("BOOL", [True, False]), ("INT8", [-128, 127]), ("UINT64", [0, 2**64 - 1]), ("INT64", [-2**63, 2**63 - 1]),
                                 ("FP16", [0.5, -2]), ("FP64", [1e300, 2]), ("BYTES", ["a", "é"])):
            array = self.read({"name": "x", "datatype": datatype, "shape": [2], "data": values}, spec=spec_of(datatype)).arrays["x"]
            wanted = [text.encode() for text in values] if datatype == "BYTES" else values
            self.assertEqual(array.tolist(), wanted, datatype)
            block = bytes(_protocol.to_bytes(array))
            again = self.read({"name": "x", "datatype": datatype, "shape": [2], "parameters": {"binary_data_size": len(block)}}, block,
                              spec=spec_of(datatype)).arrays["x"]
            self.assertEqual(again.tolist(), wanted, datatype)

    def test_names(self):
        table = {"datatype": "FP32", "shape": [1, 2], "data": [1, 2]}
        self.refused("no input is called 'z': there are 'x'", {"name": "z", **table})
        self.refused("an input's name: a text is wanted", {"name": 3, **table})
        with self.assertRaisesRegex(RequestError, "input 'x' is missing: 'x' are wanted, none came"):
            _protocol.read(*body({"inputs": []}), F32)
        with self.assertRaisesRegex(RequestError, "input 'x' came twice"):
            _protocol.read(*body({"inputs": [{"name": "x", **table}] * 2}), F32)
        with self.assertRaisesRegex(RequestError, "no output is called 'yy': there are 'y'; the nearest is 'y'"):
            F32.output_names({"yy": False})

    def test_types(self):
        self.refused("input 'x': FP64 came, FP32 is wanted", {"name": "x", "datatype": "FP64", "shape": [1, 2], "data": [1, 2]})
        self.refused("input 'x': BF16 is not had here, FP32 is wanted", {"name": "x", "datatype": "BF16", "shape": [1, 2]})
        for datatype, data in (("FP32", ["a", "b"]), ("FP32", [True, False]), ("FP32", [1, None]), ("FP32", [1e39, 1]), ("FP16", [70000, 1]),
                               ("INT8", [1.5, 2]), ("INT8", [128, 0]), ("UINT8", [-1, 0]), ("INT64", [2**63, 0]), ("UINT64", [2**64, 0]),
                               ("BOOL", [0, 1]), ("BYTES", [1, 2]), ("FP32", [[1], [2, 3]])):
            self.refused("input 'x': ", {"name": "x", "datatype": datatype, "shape": [2], "data": data}, spec=spec_of(datatype))

    def test_shapes(self):
        for shape in (None, [2, -1], [2.0], ["2"], [True], [1] * 9, [1 << 50]):
            self.refused("a list of at most 8 whole numbers", {"name": "x", "datatype": "FP32", "shape": shape, "data": []})
        self.refused("shape [5, 2] came, [1..4, 2] is wanted", {"name": "x", "datatype": "FP32", "shape": [5, 2], "data": [0] * 10})
        self.refused("shape [2] came, [1..4, 2] is wanted", {"name": "x", "datatype": "FP32", "shape": [2], "data": [0] * 2})
        self.refused("[2, 2] or as many in one list is wanted", {"name": "x", "datatype": "FP32", "shape": [2, 2], "data": [1, 2, 3]})
        self.refused("[2, 2] or as many in one list is wanted", {"name": "x", "datatype": "FP32", "shape": [2, 2], "data": [[1, 2, 3, 4]]})

    def test_sizes(self):
        def table(size):
            return {"name": "x", "datatype": "FP32", "shape": [2, 2], "parameters": {"binary_data_size": size}}
        self.refused("12 bytes came, FP32 [2, 2] has 16", table(12), b"x" * 12)
        self.refused("binary_data_size 17: 16 bytes are left", table(17), b"x" * 16)
        self.refused("binary_data_size -1", table(-1), b"x" * 16)
        self.refused("4 bytes are left behind the last input", table(16), b"x" * 20)
        self.refused("one is wanted", {**table(16), "data": [1]}, b"x" * 16)
        with self.assertRaisesRegex(RequestError, "Inference-Header-Content-Length: 99"):
            _protocol.read(b"{}", 99, F32)

    def test_texts(self):
        spec = spec_of("BYTES")

        def table(count, **more):
            return {"name": "x", "datatype": "BYTES", "shape": [count], **more}
        self.refused("element 0 of BYTES goes beyond", table(1, parameters={"binary_data_size": 6}), struct.pack("<I", 3) + b"ab", spec=spec)
        self.refused("element 0 of BYTES goes beyond", table(1, parameters={"binary_data_size": 2}), b"ab", spec=spec)
        self.refused("2 elements of BYTES came", table(1, parameters={"binary_data_size": 8}), bytes(8), spec=spec)
        self.refused("1 elements of BYTES came, its shape has 2", table(2, data=["a"]), spec=spec)
        self.refused("base64 is wanted", table(1, data=["a*b"], parameters={"content_type": "base64"}), spec=spec)
        self.refused("base64 is wanted", table(1, data=["YQ"], parameters={"content_type": "base64"}), spec=spec)
        array = self.read(table(1, data=["YWI="], parameters={"content_type": "base64"}), spec=spec).arrays["x"]
        self.assertEqual(array.tolist(), [b"ab"])

    def test_what_is_not_json(self):
        for text in (b"", b"[]", b"{", b'{"inputs": 3}', b'{"inputs": [3]}', b"\xff\xfe", b"[" * 100_000, b'{"inputs": [], "parameters": 3}',
                     b'{"inputs": [], "parameters": {"timeout": -1}}', b'{"inputs": [], "id": 3}'):
            with self.assertRaises(RequestError, msg=text[:40]):
                _protocol.read(text, None, F32)

    def test_deep_lists(self):
        deep = json.loads("[" * 400 + "1" + "]" * 400)
        for spec in (F32, spec_of("BYTES")):
            self.refused("input 'x'", {"name": "x", "datatype": spec.inputs[0].datatype, "shape": [1], "data": deep}, spec=spec)

    def test_shared_memory(self):
        self.refused("shared memory is not had here", {"name": "x", "datatype": "FP32", "shape": [1, 2],
                                                       "parameters": {"shared_memory_region": "a"}}, status=501)

    def test_several_profiles(self):
        spec = Spec((Tensor("a", "FP32", (-1,)), Tensor("b", "FP32", (-1,))), (),
                    ({"a": ((1,), (1,), (1,)), "b": ((1,), (1,), (1,))}, {"a": ((2,), (2,), (2,)), "b": ((2,), (2,), (2,))}))
        with self.assertRaisesRegex(RequestError, "but not within one: 'a' \\[1\\], 'b' \\[1\\]; or 'a' \\[2\\]"):
            spec.check({"a": np.zeros(1), "b": np.zeros(2)})


class Write(unittest.TestCase):
    def test_json_and_bytes_in_one_response(self):
        request = _protocol.Request("5", {}, {"a": True, "b": False})
        parts, header_bytes = _protocol.write("net", "1", request, {"a": np.float32([1, 2]), "b": np.int64([[3]])})
        head = json.loads(parts[0])
        self.assertEqual((head["id"], header_bytes), ("5", len(parts[0])))
        self.assertEqual(head["outputs"], [{"name": "a", "datatype": "FP32", "shape": [2], "parameters": {"binary_data_size": 8}},
                                           {"name": "b", "datatype": "INT64", "shape": [1, 1], "data": [3]}])
        self.assertEqual(bytes(parts[1]), np.float32([1, 2]).tobytes())

    def test_what_json_cannot_say(self):
        for array, words in ((np.float32([np.nan]), "not finite"), (np.array([b"\xff"], object), "no UTF-8")):
            with self.assertRaisesRegex(RequestError, words):
                _protocol.write("net", "1", _protocol.Request("", {}, {}), {"a": array})


class Clock:
    """The pool's clock within a with-statement: it stands still unless a test moves it, however slow the machine is."""

    def __init__(self):
        self.seconds = 1000.0

    def __enter__(self):
        self._patch = unittest.mock.patch("tenon.serve._pool.time", types.SimpleNamespace(monotonic=lambda: self.seconds))
        self._patch.start()
        return self

    def __exit__(self, *_):
        self._patch.stop()


class Fake:
    """A context that doubles x, and waits for `gate` first. A run takes `seconds` by `clock`."""

    def __init__(self, gate=None, clock=None, seconds=0.0):
        self.gate, self.clock, self.seconds, self.rows, self.cancelled = gate, clock, seconds, [], 0

    def run(self, arrays):
        if self.gate:
            self.gate.wait()
        if self.clock:
            self.clock.seconds += self.seconds
        self.rows.append(arrays["x"].shape[0])
        if (arrays["x"] < 0).any():
            raise ValueError("a negative number")
        return {"y": arrays["x"] * 2}

    def cancel(self):
        self.cancelled += 1


async def begun():
    """All tasks have come as far as they can without a thread's answer."""
    for _ in range(3):
        await asyncio.sleep(0)


def rows(*values):
    return {"x": np.array(values, np.float32).reshape(-1, 1)}


class Pools(unittest.IsolatedAsyncioTestCase):
    async def test_requests_that_wait_are_joined(self):
        gate = threading.Event()
        context = Fake(gate)
        pool = Pool([context], batch=(2, 4))
        first = asyncio.ensure_future(pool.run(rows(0)))
        await begun()
        others = [asyncio.ensure_future(pool.run(rows(*values))) for values in ((1,), (2, 3), (4, 5))]
        await begun()
        gate.set()
        results = await asyncio.gather(first, *others)
        self.assertEqual([result["y"].ravel().tolist() for result in results], [[0], [2], [4, 6], [8, 10]])
        self.assertEqual(context.rows, [1, 3, 2])  # 3 and 2 are more than 4 together

    async def test_a_fault_is_its_own_requests(self):
        gate = threading.Event()
        pool = Pool([Fake(gate)], batch=(4, 4))
        runs = [asyncio.ensure_future(pool.run(rows(value))) for value in (0, 1, -1, 2)]
        await begun()
        gate.set()
        results = await asyncio.gather(*runs, return_exceptions=True)
        self.assertEqual([result["y"].item() for result in (results[0], results[1], results[3])], [0, 2, 4])
        self.assertEqual((results[2].status, str(results[2])), (500, "a negative number"))

    async def test_an_incomplete_batch_waits_for_more(self):
        context = Fake()
        pool = Pool([context], batch=(3, 8), wait_ms=1e7)
        runs = [asyncio.ensure_future(pool.run(rows(value))) for value in range(2)]
        await begun()
        self.assertEqual((pool.waiting, context.rows), (2, []))
        await asyncio.wait_for(asyncio.gather(*runs, pool.run(rows(2))), 60)
        self.assertEqual(context.rows, [3])
        pool = Pool([context], batch=(3, 8), wait_ms=20)
        self.assertEqual((await asyncio.wait_for(pool.run(rows(1)), 60))["y"].item(), 2)

    async def test_a_full_queue_refuses(self):
        gate = threading.Event()
        pool = Pool([Fake(gate)], queue=2)
        runs = [asyncio.ensure_future(pool.run(rows(1))) for _ in range(3)]
        await begun()
        with self.assertRaisesRegex(RequestError, "2 requests wait") as caught:
            await pool.run(rows(1))
        self.assertEqual((caught.exception.status, caught.exception.grpc), (429, "RESOURCE_EXHAUSTED"))
        gate.set()
        await asyncio.gather(*runs)

    async def test_deadlines_that_cannot_be_kept_are_refused_at_once(self):
        clock = self.enterContext(Clock())
        context = Fake(clock=clock, seconds=0.05)
        pool = Pool([context])
        await pool.run(rows(1))
        self.assertAlmostEqual(pool.run_seconds, 0.05)
        with self.assertRaisesRegex(RequestError, "the deadline in 20.0 ms cannot be kept: 0 requests wait and a run takes 50.0 ms") as caught:
            await pool.run(rows(1), clock.seconds + 0.02)
        self.assertEqual((caught.exception.status, len(context.rows)), (429, 1))
        await pool.run(rows(1), clock.seconds + 0.06)

    async def test_a_deadline_that_goes_by_in_the_queue(self):
        clock, gate = self.enterContext(Clock()), threading.Event()
        pool = Pool([Fake(gate)])
        first, late = (asyncio.ensure_future(pool.run(rows(1), deadline)) for deadline in (float("inf"), clock.seconds + 1))
        await begun()
        self.assertEqual(pool.waiting, 1)
        clock.seconds += 2
        gate.set()
        await first
        with self.assertRaises(RequestError) as caught:
            await late
        self.assertEqual(caught.exception.status, 504)

    async def test_what_is_cancelled_leaves_the_queue_or_ends_its_run(self):
        gate = threading.Event()
        context = Fake(gate)
        pool = Pool([context])
        first, second = (asyncio.ensure_future(pool.run(rows(1))) for _ in range(2))
        await begun()
        second.cancel()
        first.cancel()
        await begun()
        self.assertEqual((pool.waiting, context.cancelled), (0, 1))
        gate.set()
        self.assertEqual((await pool.run(rows(3)))["y"].item(), 6)
        self.assertEqual(context.rows, [1, 1])

    async def test_a_check_runs_each_context_ahead_of_what_waits(self):
        gates = [threading.Event(), threading.Event()]
        busy, free = contexts = [Fake(gate) for gate in gates]
        pool = Pool(contexts)
        pool._free.reverse()  # the first request is on the first context
        runs = [asyncio.ensure_future(pool.run(rows(1, 2)))]
        await begun()
        check = asyncio.ensure_future(pool.check(rows(1)))
        await begun()
        self.assertEqual(pool.running, 2)
        runs += [asyncio.ensure_future(pool.run(rows(1, 2, 3))) for _ in range(2)]
        await begun()
        self.assertEqual(pool.waiting, 2)
        for gate in gates:
            gate.set()
        await asyncio.wait_for(asyncio.gather(check, *runs), 60)
        self.assertEqual((busy.rows[:2], free.rows[:1]), ([2, 1], [1]))
        self.assertEqual((pool.running, pool.waiting), (0, 0))

    async def test_a_check_fails_where_one_context_does(self):
        class Broken(Fake):
            def run(self, arrays):
                raise ValueError("broken")
        pool = Pool([Fake(), Broken(), Fake()])
        with self.assertRaisesRegex(RequestError, "broken"):
            await pool.check(rows(1))
        gate = threading.Event()
        pool = Pool([Fake(), Fake(gate)], queue=0)  # a full queue is no reason to be called well
        run = asyncio.ensure_future(pool.run(rows(1)))
        await begun()
        with self.assertRaises(TimeoutError):
            await asyncio.wait_for(pool.check(rows(1)), 0.1)
        gate.set()
        await asyncio.wait_for(asyncio.gather(run, pool.check(rows(1))), 60)

    async def test_close_ends_what_came(self):
        gate = threading.Event()
        pool = Pool([Fake(gate)])
        run = asyncio.ensure_future(pool.run(rows(1)))
        await begun()
        closing = asyncio.ensure_future(pool.close())
        await begun()
        with self.assertRaisesRegex(RequestError, "unloaded"):
            await pool.run(rows(1))
        gate.set()
        self.assertEqual((await run)["y"].item(), 2)
        await closing
        for thread in pool._threads._threads:
            thread.join(60)
            self.assertFalse(thread.is_alive())

    async def test_short_runs_take_no_thread(self):
        self.enterContext(Clock())
        threads = set()

        class Short(Fake):
            def run(self, arrays):
                threads.add(threading.current_thread())
                return {"y": arrays["x"]}
        pool = Pool([Short()])
        for _ in range(20):
            await pool.run(rows(1))
        self.assertIn(threading.current_thread(), threads)
        threads.clear()
        await pool.run(rows(*range(100)))  # larger than any that was short
        self.assertNotIn(threading.current_thread(), threads)


class Plans(unittest.IsolatedAsyncioTestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = serve_nets.scale(os.path.join(cls.folder.name, "net.plan"), 3.0)
        cls.runtime = tenon.Runtime(environment=False)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def served(self, path=None, allow=(), **options):
        model = Model("net", path or self.path, **options)
        return Served(model, "1", PlanBackend(self.runtime, model, allow))

    async def test_a_plan(self):
        served = self.served(contexts=2, batch=True)
        self.assertEqual(served.metadata()["inputs"], [{"name": "x", "datatype": "FP32", "shape": [-1, 4]}])
        x = np.arange(8, dtype=np.float32).reshape(2, 4)
        results = await asyncio.gather(*(served.run(_protocol.Request("", {"x": x + i}, {})) for i in range(20)))
        for i, result in enumerate(results):
            self.assertTrue(np.array_equal(result["y"], 3 * (x + i)))

    async def test_rows_that_depend_on_each_other_are_not_joined(self):
        path = serve_nets.over_rows(os.path.join(self.folder.name, "rows.plan"))
        with self.assertRaisesRegex(ValueError, "output 'y' of a row depends on the rows beside it"):
            self.served(path, batch=True)
        self.served(path)

    async def test_a_list_is_refused_by_name(self):
        path = serve_nets.with_list(os.path.join(self.folder.name, "list.plan"))
        with self.assertRaisesRegex(ValueError, "output 'both' is of the kind 'sequence', which requests cannot have"):
            self.served(path)

    async def test_no_batch_without_rows(self):
        path = serve_nets.scale(os.path.join(self.folder.name, "one.plan"), 3.0, 1, 1)
        with self.assertRaisesRegex(ValueError, "share no axis 0"):
            self.served(path, batch=True)

    async def test_a_file_that_is_overwritten_hurts_nothing(self):
        path = serve_nets.scale(os.path.join(self.folder.name, "overwritten.plan"), 5.0)
        served = self.served(path)
        with open(path, "r+b") as file:
            file.write(bytes(os.path.getsize(path)))
        x = np.ones((1, 4), np.float32)
        self.assertEqual((await served.run(_protocol.Request("", {"x": x}, {})))["y"].tolist(), [[5] * 4])

    async def test_libraries_are_found_by_hash_among_the_allowed(self):
        layer = serve_nets.plugin()
        path = serve_nets.with_plugin(os.path.join(self.folder.name, "plugin.plan"), layer)
        folder = os.path.dirname(layer.path)
        self.runtime.add_search_path(folder)
        with self.assertRaisesRegex(tenon.Error, "(?i)allowed|Served::Next"):
            self.served(path)
        served = self.served(path, [folder])
        x = np.ones((1, 4), np.float32)
        self.assertEqual((await served.run(_protocol.Request("", {"x": x}, {})))["y"].tolist(), [[2] * 4])


class SettingsOf(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.plan = os.path.join(self.folder.name, "net.plan")
        open(self.plan, "w").close()

    def settings(self, *arguments):
        return _command.settings_of(_command.parser().parse_args(arguments))

    def test_the_command_line(self):
        settings = self.settings(f"model={self.plan}", "--contexts", "2", "--http-port", "9000", "--batch", "--allow-plugin", "0" * 16)
        self.assertEqual((settings.host, settings.http_port, settings.grpc_port), ("127.0.0.1", 9000, 8081))
        self.assertEqual(settings.models, [Model("model", self.plan, contexts=2, batch=True)])
        self.assertEqual(settings.allow, ["0" * 16])

    def test_a_file(self):
        path = os.path.join(self.folder.name, "serve.toml")

        def write(text):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        write('http_port = 9000\nallow = ["0123456789abcdef", "libraries"]\n[[model]]\nname = "a"\npath = "net.plan"\nthreads = 1\n')
        settings = self.settings("--settings", path, "--http-port", "9100")
        self.assertEqual((settings.http_port, settings.models), (9100, [Model("a", self.plan, threads=1)]))
        self.assertEqual(settings.allow, ["0123456789abcdef", os.path.join(self.folder.name, "libraries")])
        model = '[[model]]\nname = "a"\npath = "net.plan"\n'
        for text, words in (("port = 1\n", "no setting is called 'port'"), ('http_port = "a"\n', "http_port: int is wanted"),
                            ('http_port = true\n' + model, "int is wanted"), ("[[model]]\nname = \"a\"\n", "'path' is missing"), ("", "no model"),
                            (model + model, "there twice"), (model + "contexts = 0\n", "contexts: 0 is not within"), ("[", "Invalid|Expected"),
                            (model.replace('"a"', '"a/b"'), "a name is of letters"), (model.replace("net", "no"), "is not there"),
                            ("model = 3\n", r"tables \[\[model\]\]"), ("allow = [3]\n" + model, "a list of texts")):
            write(text)
            with self.assertRaisesRegex(ValueError, words):
                self.settings("--settings", path)
        with self.assertRaisesRegex(ValueError, "--contexts is for models NAME=PLAN"):
            write(model)
            self.settings("--settings", path, "--contexts", "2")

    def test_what_is_wrong_is_said_on_one_line(self):
        for arguments, words in (([], "no model"), (["net.plan"], "NAME=PLAN is wanted"), (["a=/no/such.plan"], "is not there"),
                                 ([f"a={self.plan}", "--http-port", "8081"], "three ports"), (["--settings", "/no/such.toml"], "No such file"),
                                 (["--settings", "/"], "/: Is a directory"), (["--settings", sys.executable], f"{sys.executable}: no TOML")):
            error = io.StringIO()
            with contextlib.redirect_stderr(error):
                self.assertEqual(_command.main(arguments), 2)
            self.assertIn(words, error.getvalue())
            self.assertTrue(error.getvalue().startswith("tenon-serve: "))
        self.assertEqual(_settings.Settings().max_connections, 1024)


if __name__ == "__main__":
    unittest.main()
