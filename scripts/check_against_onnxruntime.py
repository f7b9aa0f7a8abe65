# SPDX-License-Identifier: Apache-2.0
"""Compares Tenon with onnxruntime on the same models and inputs: LeNet at three batches, SRCNN at three sizes.

Usage: check_against_onnxruntime.py TENON PLUGIN, the program and the library of examples/dynamic_resize. Inputs are
random numbers in 0..1, not the stored ones. srcnn_dynamic.onnx, whose first node onnxruntime does not have, is compared
with its twin srcnn_resize.onnx. Relative tolerance 1e-3, absolute 1e-5.
"""

import os
import sys
import tempfile

import numpy as np
import onnxruntime

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "cli"))
import check_models  # noqa: E402

IMAGE = (41, 30)
SIZES = ((82, 60), (123, 47), (41, 30))
SHAPES = ("image=1x3x16x16:1x3x41x30:2x3x64x64", "size=1x1x8x8:1x1x82x60:1x1x128x128")


def reference(checks, model, inputs):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(checks.path(model), options, providers=["CPUExecutionProvider"])
    return session.run(["output"], inputs)[0]


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    numbers = np.random.default_rng(11)
    with tempfile.TemporaryDirectory(prefix="tenon-onnxruntime.") as folder:
        checks = check_models.Checks(*sys.argv[1:], folder)
        plan = checks.build("lenet.onnx", check_models.LENET_SHAPES)
        for count in (1, 2, 7) if plan else ():
            inputs = {"input": numbers.random((count, 1, 28, 28), dtype=np.float32)}
            text = f"lenet.onnx, batch {count}"
            checks.compare(text, checks.run(text, plan, inputs), reference(checks, "lenet.onnx", inputs))
        image = numbers.random((1, 3, *IMAGE), dtype=np.float32)
        for model in ("srcnn_resize.onnx", "srcnn_dynamic.onnx"):
            plan = checks.build(model, SHAPES)
            for height, width in SIZES if plan else ():
                inputs = {"image": image, "size": np.zeros((1, 1, height, width), dtype=np.float32)}
                text = f"{model}, {height}x{width}"
                expected = reference(checks, "srcnn_resize.onnx", inputs)
                checks.compare(text, checks.run(text, plan, inputs), expected)
    print(f"{checks.passed} passed, {checks.failed} failed")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
