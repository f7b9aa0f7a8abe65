# SPDX-License-Identifier: Apache-2.0
"""tenon.torch.convert(..., fallback="torch"): what has no converter runs in PyTorch, between networks."""

import io
import unittest
import warnings

import tenon.torch
import torch
from torch import nn


class Middle(nn.Module):
    """Two parts of Tenon, one of PyTorch between them, with values that pass it by."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(6, 6), nn.Linear(6, 3)
        self.register_buffer("shift", torch.linspace(-1, 1, 6))

    def forward(self, x):
        y = torch.relu(self.first(x))
        q, r = torch.linalg.qr(y.mT @ y + torch.eye(6))
        return {"rows": y.flatten()[:x.shape[0]], "z": self.second(y @ q + self.shift), "r": r.abs()}


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def convert(module, *inputs, **options):
    return tenon.torch.convert(module.eval(), inputs, fallback="torch", timing=False, threads=1, **options)


class Parts(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(4)

    def same(self, made, module, *inputs):
        with torch.no_grad():
            torch.testing.assert_close(made(*inputs), module(*inputs), rtol=1e-4, atol=1e-5)

    def test_parts_alternate_and_pass_values_on(self):
        module = Middle()
        made = convert(module, torch.randn(5, 6), shapes={"x": [(2, 6), (5, 6), (9, 6)]})
        self.assertEqual([name for name, _ in made.in_pytorch], ["aten.linalg_qr.default"])
        self.assertRegex(made.in_pytorch[0][1], r"test_parts\.py:\d+")
        self.assertEqual(len(made.networks), 2)
        for rows in 2, 5, 9:
            self.same(made, module, torch.randn(rows, 6))
        with self.assertRaisesRegex(ValueError, "2 networks"):
            made.plan
        # The first part's profile is the caller's; the second's follows from it.
        minimum, _, maximum = made.networks[1].engine.profiles[0]["relu"]
        self.assertEqual((minimum, maximum), ((2, 6), (9, 6)))

    def test_a_state_dict_with_programs_is_loaded_on_request_alone(self):
        module, x = Middle(), torch.randn(5, 6)
        file = io.BytesIO()
        torch.save(convert(module, x).state_dict(), file)
        file.seek(0)
        state = torch.load(file)
        with self.assertRaisesRegex(RuntimeError, r"Module\(programs=True\)"):
            tenon.torch.Module().load_state_dict(state)
        loaded = tenon.torch.Module(programs=True)
        loaded.load_state_dict(state)
        self.same(loaded, module, x)
        self.assertEqual([name for name, _ in loaded.in_pytorch], ["aten.linalg_qr.default"])
        again = tenon.torch.Module(programs=True)
        again.load_state_dict(loaded.state_dict())
        self.same(again, module, x)

    def test_pytorch_alone_first_and_last(self):
        x = torch.randn(4, 4)
        for name, function in {"alone": lambda x: torch.linalg.qr(x)[1], "first": lambda x: torch.linalg.qr(x)[1].abs() * 2,
                               "last": lambda x: torch.linalg.qr(x + 1)[1], "two": lambda x: torch.linalg.qr(torch.linalg.qr(x)[1] @ x)[1],
                               "passed": lambda x: (x, torch.linalg.qr(x)[0])}.items():
            with self.subTest(name):
                self.same(convert(Function(function), x), Function(function), x)

    def test_constants_and_parameters_as_outputs(self):
        class Constant(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.randn(3))

            def forward(self, x):
                return torch.linalg.qr(x)[1], self.weight, None

        module, x = Constant(), torch.randn(3, 3)
        self.same(convert(module, x), module, x)

    def test_a_size_that_only_a_run_knows(self):
        module = Function(lambda x: torch.linalg.qr(x)[1][x[0] > 0] * 2)
        x = torch.randn(4, 4)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            made = convert(module, x)
        self.assertEqual(made.in_pytorch[1][0], "aten.index.Tensor")  # whose converter refuses truth values
        for _ in range(3):
            self.same(made, module, torch.randn(4, 4))

    def test_what_a_converter_refuses_runs_in_pytorch(self):
        module, x = Function(lambda x: (x * 2)[x[:, 0] > 0]), torch.randn(4, 3)
        made = convert(module, x)
        self.assertRegex(made.in_pytorch[0][1], "indexing by .* truth values")
        self.same(made, module, torch.randn(4, 3))

    def test_what_has_converters_is_one_network(self):
        made = convert(nn.Linear(4, 4), torch.randn(2, 4))
        self.assertEqual((len(made.networks), made.in_pytorch), (1, []))
        self.assertIs(made.plan, made.network.plan)


if __name__ == "__main__":
    unittest.main()
