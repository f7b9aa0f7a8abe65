# SPDX-License-Identifier: Apache-2.0
"""tenon.torch.convert beside PyTorch: each operator, whole modules, dynamic shapes, state dicts, and what has no converter."""

import atexit
import copy
import io
import tempfile
import unittest
import warnings

import tenon
import tenon.torch
import torch
from torch import nn
from torch.nn import functional as F

CACHE = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
atexit.register(CACHE.cleanup)


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def seeded(*shape, dtype=torch.float32):
    generator = torch.Generator().manual_seed(len(shape))
    if dtype == torch.bool:
        return torch.rand(shape, generator=generator) > 0.5
    if not dtype.is_floating_point:
        return torch.randint(-4, 5, shape, generator=generator, dtype=dtype)
    return torch.randn(shape, generator=generator).to(dtype)


X, Y = seeded(2, 3, 4), seeded(2, 3, 4) + 0.25
INTEGERS, INDEX = seeded(2, 3, 4, dtype=torch.int64), torch.tensor([[0, 2], [1, 1]])
IMAGE = seeded(2, 4, 9, 7)
UNARY = ("relu sigmoid tanh exp abs neg erf floor ceil round sin cos atan sinh asinh sign square silu gelu selu mish hardswish hardsigmoid relu6 "
         "leaky_relu elu celu softplus trunc").split()
CASES = {
    **{name: (getattr(torch, name, None) or getattr(F, name), X) for name in UNARY},
    **{name: (getattr(torch, name), X.abs() + 0.1) for name in ("log", "sqrt", "rsqrt", "log1p", "log2", "reciprocal")},
    "gelu-tanh": (lambda x: F.gelu(x, approximate="tanh"), X), "softplus-beta": (lambda x: F.softplus(x, 3.0, 2.0), X),
    "add-alpha": (lambda x, y: torch.add(x, y, alpha=2), X, Y), "rsub": (lambda x: 2 - x, X), "sub": (lambda x, y: torch.sub(x, y, alpha=3), X, Y),
    "mul-number": (lambda x: x * 3, X), "div": (torch.div, X, Y), "div-integers": (lambda x: x / 2, INTEGERS),
    "div-floor": (lambda x, y: torch.div(x, y, rounding_mode="floor"), X, Y), "div-trunc": (lambda x, y: torch.div(x, y, rounding_mode="trunc"), X, Y),
    "floor-integers": (lambda x: x // 3, INTEGERS), "pow": (lambda x: x ** 3, X), "pow-base": (lambda x: torch.pow(x.abs() + 1, 0.5), X),
    "remainder": (lambda x: torch.remainder(x, 0.7), X), "remainder-integers": (lambda x: x % 3, INTEGERS), "fmod": (lambda x: torch.fmod(x, 0.7), X),
    "maximum": (torch.maximum, X, Y), "minimum": (torch.minimum, X, Y), "clamp": (lambda x: x.clamp(-0.5, 0.75), X), "clamp-low": (lambda x: x.clamp(min=0.1), X),
    "compare": (lambda x, y: [x == y, x != y, x < y, x <= y, x > y, x >= 0.5], X, Y), "mixed": (lambda x, i: x + i * 2, X, INTEGERS),
    "logic": (lambda x, y: [(x > 0) & (y > 0), (x > 0) | (y > 0), ~(x > 0), torch.logical_xor(x > 0, y > 0)], X, Y),
    "where": (lambda x, y: torch.where(x > 0, x, y), X, Y), "masked-fill": (lambda x: x.masked_fill(x > 0, -1.5), X),
    "mean": (lambda x: [x.mean(), x.mean(1), x.mean((1, 2), keepdim=True)], X), "sum": (lambda x: [x.sum(), x.sum(-1), x.sum(0, keepdim=True)], X),
    "sum-integers": (lambda x: x.sum(1), INTEGERS), "amax": (lambda x: [x.amax(1), x.amin((0, 2)), x.amax()], X), "extremes": (lambda x: [x.max(), x.min()], X),
    "max-dim": (lambda x: list(x.max(1)) + list(x.min(2, keepdim=True)), X), "argmax": (lambda x: [x.argmax(1), x.argmin(-1, keepdim=True), x.argmax()], X),
    "prod": (lambda x: x.prod(1), X), "var": (lambda x: [x.var(1), x.std((1, 2))], X), "norm": (lambda x: x.norm(dim=1), X),
    "vector-norm": (lambda x: [torch.linalg.vector_norm(x, order, dim) for order, dim in ((2, None), (1, 1), (0, 1), (3, (0, 2)), (torch.inf, 2),
                                                                                          (-torch.inf, -1))], X),
    "topk": (lambda x: list(x.topk(2, 1)), X), "cumsum": (lambda x: x.cumsum(1), X), "softmax": (lambda x: [x.softmax(1), x.log_softmax(-1)], X),
    "logsumexp": (lambda x: x.logsumexp(1), X), "matmul": (lambda x, y: [x @ y.transpose(1, 2), x[0] @ y[0].t()], X, Y), "mv": (lambda x, y: x[0] @ y[0, 0], X, Y),
    "bmm": (lambda x, y: torch.bmm(x, y.mT), X, Y), "einsum": (lambda x, y: torch.einsum("bij,bkj->bik", x, y), X, Y),
    "addmm": (lambda x, y: torch.addmm(x[0, 0, :3], x[0], y[0].t(), beta=0.5, alpha=2), X, Y), "baddbmm": (lambda x, y: torch.baddbmm(x[:, :, :3], x, y.mT), X, Y),
    "reshape": (lambda x: [x.reshape(6, -1), x.flatten(1), x.flatten(), x.view(2, 12), x.unflatten(2, (2, 2))], X),
    "axes": (lambda x: [x.unsqueeze(1).squeeze(1), x.permute(2, 0, 1), x.transpose(0, 2), x[None].squeeze(), x[0].t()], X),
    "expand": (lambda x: [x[:, :1].expand(-1, 5, -1), x[:, :1].expand_as(x)], X), "slice": (lambda x: [x[:, 1:], x[..., ::2], x[:, -2], x[1, :, -1]], X),
    "narrow": (lambda x: x.narrow(2, 1, 2), X), "cat": (lambda x, y: [torch.cat([x, y], 1), torch.stack([x, y], 1)], X, Y),
    "split": (lambda x: [*x.split(3, 2), *x.split([1, 3], 2), *x.chunk(2, 1), *x.unbind(1)], X), "repeat": (lambda x: x.repeat(2, 1, 3, 1), X),
    "gather": (lambda x: [x.index_select(1, INDEX[0]), x[:, INDEX[0]], x[0].gather(1, INDEX)], X), "embedding": (lambda i: F.embedding(i, X[0]), INDEX),
    "flip": (lambda x: x.flip(1, 2), X), "pixel-shuffle": (lambda x: F.pixel_shuffle(x, 2), IMAGE), "tril": (lambda x: [x.tril(), x.triu(1)], X),
    "pad": (lambda x: [F.pad(x, (1, 2, 0, 1), value=3.0), F.pad(x, (1, 2, 2, 1), mode="reflect"), F.pad(x, (1, 2, 2, 1), mode="replicate")], IMAGE),
    "types": (lambda x: [x.double(), x.long(), x.int().float(), x.bool(), (x > 0).float()], X), "roll": (lambda x: x.roll(1, 2), X),
    "made": (lambda x: [x + torch.arange(4), x * torch.full((4,), 2.5), torch.zeros_like(x) + torch.ones(4), torch.full_like(x, 3)], X),
    "conv1d": (nn.Conv1d(3, 5, 3, padding=1, stride=2), X), "conv2d": (nn.Conv2d(4, 6, 3, padding=(1, 0), stride=2, groups=2), IMAGE),
    "conv2d-dilated": (nn.Conv2d(4, 6, (3, 2), dilation=2, bias=False), IMAGE), "conv2d-same": (nn.Conv2d(4, 6, 3, padding="same"), IMAGE),
    "conv3d": (nn.Conv3d(2, 3, 3, padding=1), seeded(1, 2, 4, 5, 6)), "conv-transpose": (nn.ConvTranspose2d(4, 2, 3, stride=2, padding=1, output_padding=1), IMAGE),
    "batch-norm": (nn.BatchNorm2d(4), IMAGE), "layer-norm": (nn.LayerNorm([3, 4]), X), "group-norm": (nn.GroupNorm(2, 4), IMAGE),
    "instance-norm": (nn.InstanceNorm2d(4, affine=True), IMAGE), "rms-norm": (nn.RMSNorm(4), X), "linear": (nn.Linear(4, 7), X), "linear-2d": (nn.Linear(4, 7), X[0]),
    "max-pool": (nn.MaxPool2d(3, 2, 1), IMAGE), "max-pool-ceil": (nn.MaxPool2d(2, ceil_mode=True), IMAGE), "avg-pool": (nn.AvgPool2d(3, 2, 1, count_include_pad=False), IMAGE),
    "adaptive": (lambda x: [F.adaptive_avg_pool2d(x, 1), F.adaptive_avg_pool2d(x[..., :8, :6], (4, 3))], IMAGE), "prelu": (nn.PReLU(4), IMAGE), "glu": (lambda x: F.glu(x, 1), IMAGE),
    "nearest": (lambda x: F.interpolate(x, scale_factor=2), IMAGE), "bilinear": (lambda x: F.interpolate(x, (5, 11), mode="bilinear"), IMAGE),
    "bicubic": (lambda x: [F.interpolate(x, (13, 11), mode="bicubic"), F.interpolate(x, (13, 11), mode="bicubic", align_corners=True)], IMAGE),
    "grid-sample": (lambda x: F.grid_sample(x, torch.sin(x[:, :2].permute(0, 2, 3, 1) * 2), align_corners=False), IMAGE),
    "attention": (lambda x, y: [F.scaled_dot_product_attention(x, y, x), F.scaled_dot_product_attention(x, y, x, is_causal=True)], X, Y),
    "attention-layer": (nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), X), "dropout": (nn.Dropout(0.5), X), "lstm": (nn.LSTM(4, 5, batch_first=True), X),
    "lstm-two-layers": (nn.LSTM(4, 5, 2, bidirectional=True), X), "lstm-no-biases": (nn.LSTM(4, 5, bias=False), X),
}


def convert(module, *inputs, **options):
    return tenon.torch.convert(module if isinstance(module, nn.Module) else Function(module), inputs, timing=False, threads=1, **options)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())
        self.head = nn.Linear(8, 4)

    def forward(self, image, size):
        x = self.features(image)
        x = F.interpolate(x, size.shape[-2:], mode="bicubic")
        x = x + x.reshape(x.shape[0], -1).mean(1)[:, None, None, None]
        return {"classes": self.head(x.mean((2, 3))), "pixels": x.flatten(1)[:, ::2]}


class Convert(unittest.TestCase):
    def same(self, one, other, **tolerance):
        torch.testing.assert_close(one, other, **{"rtol": 1e-4, "atol": 1e-5, **tolerance})

    def test_each_operator(self):
        for name, (module, *inputs) in CASES.items():
            with self.subTest(name), warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # torch.export's, of an LSTM's own attributes
                module = module if isinstance(module, nn.Module) else Function(module)
                module.eval()
                with torch.no_grad():
                    wanted = module(*inputs)
                self.same(convert(module, *inputs)(*inputs), wanted)

    def test_each_operator_in_bfloat16(self):
        """Results are those of PyTorch's own bfloat16, to a few of its steps: intermediate results are rounded at other nodes."""
        tried = 0
        for name, (module, *inputs) in CASES.items():
            inputs = [each.bfloat16() if each.is_floating_point() else each for each in inputs]
            if name == "grid-sample" or not any(each.is_floating_point() for each in inputs):
                continue  # rounded coordinates are other pixels
            with self.subTest(name), warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                module = copy.deepcopy(module if isinstance(module, nn.Module) else Function(module)).eval().bfloat16()
                with torch.no_grad():
                    wanted = module(*inputs)
                self.same(convert(module, *inputs)(*inputs), wanted, rtol=4e-2, atol=4e-2)
                tried += 1
        self.assertGreater(tried, 100)

    def test_a_state_dict_has_bfloat16(self):
        module = nn.Sequential(nn.Linear(4, 3), nn.LayerNorm(3)).eval().bfloat16()
        file = io.BytesIO()
        torch.save(convert(module, X[0].bfloat16()).state_dict(), file)
        file.seek(0)
        loaded = tenon.torch.Module()
        loaded.load_state_dict(torch.load(file))
        self.same(loaded(X[0].bfloat16()), module(X[0].bfloat16()), rtol=2e-2, atol=2e-2)

    def test_dynamic_shapes_outputs_as_a_dict_and_a_state_dict(self):
        torch.manual_seed(1)
        module = Net().eval()
        shapes = {"image": [(1, 3, 4, 4), (2, 3, 8, 8), (4, 3, 16, 16)], "size": [(1, 1, 8, 8), (1, 1, 16, 17), (1, 1, 32, 32)]}
        made = convert(module, torch.zeros(2, 3, 8, 8), torch.zeros(1, 1, 16, 17), shapes=shapes)
        file = io.BytesIO()
        torch.save(made.state_dict(), file)
        loaded = tenon.torch.Module()
        file.seek(0)
        loaded.load_state_dict(torch.load(file))
        for image, size in ((2, 8, 8), (16, 17)), ((1, 5, 9), (9, 31)):
            image, size = seeded(image[0], 3, *image[1:]), seeded(1, 1, *size)
            wanted = module(image, size)
            for each in made, loaded:
                self.same(each(image, size), wanted)
            self.same(made(size=size, image=image), wanted)

    def test_what_has_no_converter_is_named_all_at_once_with_its_module(self):
        class Wrong(nn.Module):
            def forward(self, x):
                return torch.linalg.eigvals(x @ x.mT).real, torch.linalg.qr(x)[0]

        class Around(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = Wrong()

            def forward(self, x):
                return self.inner(x)

        with self.assertRaises(tenon.torch.MissingConverters) as caught:
            convert(Around(), X)
        names = {name.split(".")[1] for name, _ in caught.exception.missing}
        self.assertLessEqual({"linalg_eig", "linalg_qr"}, names)
        self.assertRegex(str(caught.exception), r"aten\.linalg_qr\.default: inner \(.*test_convert\.py:\d+\)")

    def test_a_converter_with_a_plugin(self):
        layer = tenon.Plugin("Test::Doubled", directory=CACHE.name,
                             forward="for (int64_t i = 0; i < tn_layer_count(x); i++) ((float *)y->data)[i] = 2 * ((const float *)x->data)[i];")
        found = dict(tenon.torch.converters)
        self.addCleanup(tenon.torch.converters.update, found)

        @tenon.torch.converter("aten.sinh")
        def sinh(net, x):
            return net.add(layer, [x])

        self.same(convert(torch.sinh, X, plugins=[layer])(X), 2 * X)

    def test_by_onnx(self):
        try:
            import onnxscript  # noqa: F401
        except ImportError:
            self.skipTest("the package onnxscript is not installed")
        found = dict(tenon.torch.converters)
        self.addCleanup(tenon.torch.converters.update, found)
        del tenon.torch.converters["aten.sinh"]
        self.same(convert(torch.sinh, X, fallback="onnx")(X), torch.sinh(X))

    def test_wrong_arguments(self):
        module = Net()
        size = torch.zeros(1, 1, 8, 8)
        with self.assertRaisesRegex(TypeError, "expected a tuple"):
            tenon.torch.convert(module, X)
        with self.assertRaisesRegex(ValueError, "shapes names 'imge', and forward has image, size"):
            tenon.torch.convert(module, (IMAGE, size), shapes={"imge": (1,)})
        with self.assertRaisesRegex(ValueError, "'image'.* has 1 extents"):
            tenon.torch.convert(module, (IMAGE, size), shapes={"image": [(1,), (2,), (3,)]})
        with self.assertRaisesRegex(ValueError, "fallback='onx'"):
            tenon.torch.convert(module, (IMAGE, size), fallback="onx")
        with self.assertRaisesRegex(ValueError, "expected NAMESPACE.NAME"):
            tenon.torch.converter("sinh")
        with self.assertRaisesRegex(RuntimeError, "no plan yet"):
            tenon.torch.Module()(X)
        made = convert(torch.exp, X)
        with self.assertRaisesRegex(TypeError, "2 inputs came"):
            made(X, X)
        with self.assertRaisesRegex(tenon.Error, "float64"):
            made(X.double())
        self.assertTrue(module.training)
