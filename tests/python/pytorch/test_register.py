# SPDX-License-Identifier: Apache-2.0
"""tenon.torch.register and torch.compile's backend: layers of Tenon in PyTorch."""

import atexit
import tempfile
import unittest
import warnings

import tenon
import tenon.torch
import torch
from torch import nn

CACHE = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
atexit.register(CACHE.cleanup)
TILE = tenon.Plugin("TestTorch::Tile", ["x"], ["y", "count"], {"k": 2, "scale": 1.0, "mode": tenon.Field(str, "plain", choices="plain|double")},
                    shape={"y": ["k", "x[0]", "x[1]"], "count": []}, directory=CACHE.name, forward="""
    const float factor = fields->scale * (fields->mode + 1);
    for (int64_t k = 0; k < fields->k; k++)
        for (int64_t i = 0; i < tn_layer_count(x); i++) ((float *)y->data)[k * tn_layer_count(x) + i] = factor * ((const float *)x->data)[i];
    if (count) *(float *)count->data = (float)fields->k;""")
SUM = tenon.Plugin("TestTorch::Sum", {"x": "f32 variadic"}, ["y"], directory=CACHE.name, shape="return tn_layer_set_shape(call, 0, call->inputs[0]->rank, call->inputs[0]->shape);", forward="""
    memset(y->data, 0, y->bytes);
    for (uint32_t k = 0; k < call->input_count; k++)
        for (int64_t i = 0; i < tn_layer_count(y); i++) ((float *)y->data)[i] += ((const float *)call->inputs[k]->data)[i];""")


class Tile(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)

    def forward(self, x):
        y, count = torch.ops.TestTorch.Tile(self.inner(x), k=3, scale=0.5)
        return torch.ops.TestTorch.Sum([y, y]) * count


class Register(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.names = tenon.torch.register(TILE) + tenon.torch.register(SUM.path)
        cls.x = torch.arange(8.0).reshape(2, 4)

    def test_operators_run_in_pytorch(self):
        self.assertEqual(self.names, ["TestTorch::Tile", "TestTorch::Sum"])
        y, count = torch.ops.TestTorch.Tile(self.x, mode="double")
        torch.testing.assert_close(y, 2 * self.x.expand(2, 2, 4))
        self.assertEqual(count.item(), 2)
        torch.testing.assert_close(torch.ops.TestTorch.Sum([self.x.t(), self.x.t(), self.x.t()]), 3 * self.x.t())
        tenon.torch.register(TILE)  # again is no error
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # of PyTorch 2.11's own classes
            torch.library.opcheck(torch.ops.TestTorch.Tile.default, (self.x,), {"k": 3})

    def test_export_and_convert_see_through_with_dynamic_shapes(self):
        module = Tile().eval()
        exported = torch.export.export(module, (self.x,), dynamic_shapes=({0: torch.export.Dim("n", min=2, max=64)},))
        self.assertEqual(str(next(iter(exported.graph.find_nodes(op="output"))).args[0][0].meta["val"].shape[0]), "3")
        made = tenon.torch.convert(module, (self.x,), shapes={"x": [(1, 4), (2, 4), (8, 4)]}, plugins=[TILE, SUM], timing=False)
        for rows in 1, 2, 7:
            x = torch.randn(rows, 4)
            torch.testing.assert_close(made(x), module(x))

    def test_errors_name_the_operator(self):
        with self.assertRaisesRegex(tenon.Error, "Tile.*f64"):
            torch.ops.TestTorch.Tile(self.x.double())
        with self.assertRaisesRegex(tenon.Error, "no_such"):
            tenon.torch.register("no_such.so")


class Backend(unittest.TestCase):
    def test_compiles_a_module(self):
        torch.manual_seed(2)
        module = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)).eval()
        compiled = torch.compile(module, backend="tenon", options={"timing": False})
        with torch.no_grad():
            for rows in 2, 5, 2:
                x = torch.randn(rows, 4)
                torch.testing.assert_close(compiled(x), module(x))
            module[0].weight.mul_(2)
            torch.testing.assert_close(compiled(x), module(x))
        x = torch.randn(2, 4, requires_grad=True)
        compiled(x).sum().backward()
        self.assertEqual(x.grad.shape, (2, 4))

    def test_what_has_no_converter_runs_in_pytorch_with_a_warning(self):
        compiled = torch.compile(lambda x: torch.linalg.qr(x)[1].abs(), backend="tenon")
        x = torch.randn(3, 3)
        with warnings.catch_warnings(record=True) as caught, torch.no_grad():
            warnings.simplefilter("always")
            torch.testing.assert_close(compiled(x), torch.linalg.qr(x)[1].abs())
        self.assertTrue(any("runs in PyTorch" in str(each.message) for each in caught))
