# SPDX-License-Identifier: Apache-2.0
"""Tensors in a GPU's memory: read and written where they are, on PyTorch's current stream. Skipped where PyTorch or Tenon has no GPU."""

import threading
import unittest

import numpy as np
import tenon
import tenon.torch
import torch
from torch import nn


def why_not():
    if not torch.cuda.is_available():
        return "PyTorch finds no GPU"
    try:
        tenon.default_runtime().find_device("cuda")
    except tenon.Error as error:
        return f"Tenon's CUDA device: {error}"
    return None


WHY_NOT = why_not()


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Gpu(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        net = tenon.Graph(opset=20)
        x = net.input("x", "f32", ["rows", 64])
        net.output(net.add("Relu", [x]), "y")
        net.output(net.add("MatMul", [x, np.eye(64, dtype=np.float32) * 2]), "z")
        cls.net = net.load(shapes={"x": [(1, 64), (256, 64), (4096, 64)]}, device="cuda", timing=False)

    def check(self, found, x):
        torch.testing.assert_close(found["y"], torch.relu(x))
        torch.testing.assert_close(found["z"], 2 * x, rtol=1e-3, atol=1e-3)

    def test_tensors_of_pytorch_come_and_go_on_the_gpu(self):
        self.assertEqual(self.net.engine.device, "cuda:0")
        for rows in 1, 256, 7, 4096:
            x = torch.randn(rows, 64, device="cuda")
            found = self.net(x)
            self.assertTrue(all(each.is_cuda and each.dtype == torch.float32 for each in found.values()))
            self.check(found, x)

    def test_nothing_is_copied_to_the_host(self):
        x = torch.randn(256, 64, device="cuda")
        for _ in range(3):
            self.net(x)
        context = self.net._streams[torch.cuda.current_stream().cuda_stream or 1][0]
        before = context.statistics["waits"]
        for _ in range(10):
            self.net(x)
        self.assertEqual(context.statistics["waits"], before)
        torch.cuda.synchronize()

    def test_outputs_lie_in_the_callers_tensors(self):
        x, y = torch.randn(5, 64, device="cuda"), torch.empty(5, 64, device="cuda")
        found = self.net.run({"x": x}, out={"y": y})
        self.assertIs(found["y"], y)
        self.check(found, x)

    def test_runs_on_the_current_stream_behind_what_is_there(self):
        """A long chain on a side stream makes the input; a network on another stream would read what was before."""
        stream = torch.cuda.Stream()
        made = torch.zeros(4096, 64, device="cuda")
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            big = torch.randn(4096, 4096, device="cuda")
            for _ in range(20):
                big = big @ big / 64
            made.copy_(torch.ones(4096, 64, device="cuda") + 0 * big[:, :64].nan_to_num(0, 0, 0))
            found = self.net(made)
            made.fill_(-1)  # behind the network's reads on the same stream
        stream.synchronize()
        self.assertTrue((found["y"] == 1).all())

    def test_other_producers_are_waited_for_on_a_stream_of_the_contexts_own(self):
        class Other:
            """A tensor by the protocol alone."""

            def __init__(self, tensor):
                self.tensor, self.streams = tensor, []

            def __dlpack__(self, **named):
                self.streams.append(named.get("stream"))
                return self.tensor.__dlpack__(**named)

            def __dlpack_device__(self):
                return self.tensor.__dlpack_device__()

        x = torch.randn(9, 64, device="cuda")
        other = Other(x)
        found = self.net(other)
        self.assertTrue(all(isinstance(each, np.ndarray) for each in found.values()))
        np.testing.assert_allclose(found["y"], torch.relu(x).cpu().numpy())
        self.assertGreater(other.streams[0], 2)

    def test_arrays_of_the_host_still_work(self):
        x = np.random.default_rng(1).standard_normal((3, 64), np.float32)
        np.testing.assert_array_equal(self.net(x)["y"], np.maximum(x, 0))
        mixed = self.net.run({"x": torch.from_numpy(x)})
        np.testing.assert_array_equal(mixed["y"], np.maximum(x, 0))

    def test_wrong_tensors_are_refused(self):
        x = torch.randn(8, 64, device="cuda")
        with self.assertRaisesRegex(tenon.Error, "gaps"):
            self.net(torch.randn(64, 8, device="cuda").t())
        with self.assertRaisesRegex(tenon.Error, "'x'.*f64 came, f32 is wanted"):
            self.net(x.double())
        with self.assertRaisesRegex(tenon.Error, "device's memory"):
            cpu = tenon.Graph()
            cpu.output(cpu.add("Relu", [cpu.input("x", "f32", ["n", 64])]), "y")
            cpu.load(timing=False, device="cpu")(x)
        context = self.net.engine.context()
        with self.assertRaisesRegex(ZeroDivisionError, "division"):
            context.run({"x": x}, None, lambda name, bytes: 1 / 0)
        with self.assertRaisesRegex(tenon.Error, "allocate"):
            context.run({"x": x}, None, lambda name, bytes: torch.empty(1, dtype=torch.uint8, device="cuda"))
        self.check(self.net(x), x)

    def test_threads_have_streams_of_their_own(self):
        failures = []

        def work(seed):
            try:
                stream = torch.cuda.Stream()
                with torch.cuda.stream(stream):
                    generator = torch.Generator("cuda").manual_seed(seed)
                    for _ in range(20):
                        x = torch.randn(64 + seed, 64, device="cuda", generator=generator)
                        self.check(self.net(x), x)
            except BaseException as error:  # noqa: BLE001: the test's thread raises it
                failures.append(error)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_a_captured_stream_has_the_network(self):
        x = torch.randn(256, 64, device="cuda")
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for _ in range(3):
                self.net(x)
        stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            found = self.net(x)
        for _ in range(2):
            x.copy_(torch.randn(256, 64, device="cuda"))
            graph.replay()
            torch.cuda.synchronize()
            self.check(found, x)

    def test_convert_follows_the_examples_device(self):
        torch.manual_seed(1)
        for dtype, tolerance in ((torch.float32, 1e-3), (torch.bfloat16, 4e-2), (torch.float16, 1e-2)):
            with self.subTest(dtype):
                module = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 64, 10)).cuda().eval().to(dtype)
                x = torch.randn(4, 3, 8, 8, device="cuda", dtype=dtype)
                made = tenon.torch.convert(module, (x,), timing=False)
                found = made(x)
                self.assertTrue(found.is_cuda)
                with torch.no_grad():
                    torch.testing.assert_close(found, module(x), rtol=tolerance, atol=tolerance)
                loaded = tenon.torch.Module()
                loaded.load_state_dict(made.state_dict())
                torch.testing.assert_close(loaded(x), found, rtol=tolerance, atol=tolerance)

    def test_compile_and_parts_of_pytorch_run_on_the_gpu(self):
        module = nn.Sequential(nn.Linear(6, 6), nn.ReLU()).cuda().eval()
        x = torch.randn(5, 6, device="cuda")
        with torch.no_grad():
            torch.testing.assert_close(torch.compile(module, backend="tenon")(x), module(x), rtol=1e-3, atol=1e-3)

        class Middle(nn.Module):
            def forward(self, x):
                return torch.linalg.qr(x.relu() + 1)[1].abs() * 2

        made = tenon.torch.convert(Middle(), (x,), fallback="torch", timing=False)
        torch.testing.assert_close(made(x), Middle()(x), rtol=1e-3, atol=1e-3)
        self.assertTrue(made(x).is_cuda)


if __name__ == "__main__":
    unittest.main()
