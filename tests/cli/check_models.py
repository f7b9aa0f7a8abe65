# SPDX-License-Identifier: Apache-2.0
"""Runs the networks in models/ through build and run, as a user would, and compares with PyTorch's stored results.

Usage: check_models.py TENON PLUGIN, where TENON is the program and PLUGIN the library of examples/dynamic_resize.
One plan serves all sizes of a network. Needs NumPy alone; the comparison with another engine is
scripts/check_against_onnxruntime.py.
"""

import os
import subprocess
import sys
import tempfile

import numpy as np

from checks import ProgramChecks

MODELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "models")
RELATIVE, ABSOLUTE = 1e-3, 1e-5
SIZES = ((36, 51), (48, 64), (72, 96))
SRCNN_SHAPES = ("image=1x3x16x16:1x3x24x32:2x3x64x64", "size=1x1x8x8:1x1x48x64:1x1x128x128")
TINY_SHAPES = ("image=1x2x1x1:1x2x5x6:1x2x9x9", "size=1x1x1x1:1x1x9x13:1x1x20x20")
LENET_SHAPES = ("input=1x1x28x28:2x1x28x28:8x1x28x28",)


class Checks(ProgramChecks):
    def __init__(self, tenon, plugin, folder):
        super().__init__(tenon, folder)
        self.plugin = plugin

    def path(self, name):
        return os.path.join(MODELS, name)

    def program(self, text, *arguments):
        done = subprocess.run([self.tenon, *arguments], capture_output=True, text=True, timeout=300)
        self.say(done.returncode == 0, f"{text}: exit {done.returncode} {done.stderr.strip()}")
        return done.returncode == 0

    def build(self, model, shapes):
        plan = os.path.join(self.folder, os.path.basename(model) + ".plan")
        options = [part for shape in shapes for part in ("--shape", shape)]
        good = self.program(f"build {model}", "build", self.path(model), "-o", plan, "--plugin", self.plugin, *options)
        return plan if good else None

    def run(self, text, plan, inputs):
        """The output of one run; inputs are arrays by name."""
        result = os.path.join(self.folder, "result.npy")
        options = ["--output", f"output={result}"]
        for name, value in inputs.items():
            file = os.path.join(self.folder, f"{name}.npy")
            np.save(file, value)
            options += ["--input", f"{name}={file}"]
        if os.path.exists(result):
            os.remove(result)
        good = self.program(f"run {text}", "run", plan, "--plugin", self.plugin, *options)
        return np.load(result) if good else None

    def compare(self, text, result, expected):
        if result is None:
            return self.say(False, f"{text}: no result")
        same = result.shape == expected.shape and result.dtype == expected.dtype
        good = same and np.allclose(result, expected, rtol=RELATIVE, atol=ABSOLUTE)
        largest = np.abs(result - expected).max() if same else float("nan")
        return self.say(good, f"{text}: {result.dtype}{list(result.shape)}, largest difference {largest:.1e}")


def check_lenet(checks):
    digits, expected = (np.load(checks.path(f"reference/lenet_{name}.npy")) for name in ("input", "output"))
    plan = checks.build("lenet.onnx", LENET_SHAPES)
    for count in (1, 2, len(digits)) if plan else ():
        text = f"lenet.onnx, batch {count}"
        checks.compare(text, checks.run(text, plan, {"input": digits[:count]}), expected[:count])


def check_srcnn(checks, model):
    image = np.load(checks.path("reference/srcnn_image.npy"))
    plan = checks.build(model, SRCNN_SHAPES)
    for height, width in SIZES if plan else ():
        text = f"{model}, {height}x{width}"
        size = np.load(checks.path(f"reference/srcnn_size_{height}x{width}.npy"))
        expected = np.load(checks.path(f"reference/srcnn_output_{height}x{width}.npy"))
        checks.compare(text, checks.run(text, plan, {"image": image, "size": size}), expected)


def check_tiny(checks):
    image, size, expected = (np.load(checks.path(f"tiny/tiny_dynamic_{name}.npy")) for name in ("image", "size", "output"))
    for model in ("tiny/tiny_dynamic.onnx", "tiny/tiny_resize.onnx"):
        plan = checks.build(model, TINY_SHAPES)
        if plan:
            checks.compare(model, checks.run(model, plan, {"image": image, "size": size}), expected)
    plan = checks.build("tiny/tiny_lenet.onnx", LENET_SHAPES)
    if plan:
        digits, expected = (np.load(checks.path(f"tiny/tiny_lenet_{name}.npy")) for name in ("input", "output"))
        checks.compare("tiny_lenet.onnx", checks.run("tiny_lenet.onnx", plan, {"input": digits}), expected)


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="tenon-models.") as folder:
        checks = Checks(*sys.argv[1:], folder)
        check_lenet(checks)
        check_srcnn(checks, "srcnn_dynamic.onnx")
        check_srcnn(checks, "srcnn_resize.onnx")
        check_tiny(checks)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
