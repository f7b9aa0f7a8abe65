# SPDX-License-Identifier: Apache-2.0
"""Runs models/*.onnx in onnxruntime and compares with the stored results of PyTorch.

Networks with the custom node Test::DynamicTRTResize are not run (onnxruntime does not have it);
their weights are compared with their twins', which are run. It needs ONNX, NumPy, Pillow and
onnxruntime; no PyTorch. Exit code 0 when everything agrees.
"""

import argparse
import glob
import os
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper
from PIL import Image

MODELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "models")
RELATIVE, ABSOLUTE = 1e-3, 1e-5
LARGEST_FILE, LARGEST_REFERENCE = 2_000_000, 600_000
BORDER = 6


class Checks:
    def __init__(self, models):
        self.models, self.passed, self.failed = models, 0, 0

    def path(self, *parts):
        return os.path.join(self.models, *parts)

    def array(self, *parts):
        return np.load(self.path(*parts))

    def say(self, good, text):
        self.passed, self.failed = self.passed + bool(good), self.failed + (not good)
        print("PASS" if good else "FAIL", text)

    def run(self, name, inputs):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(self.path(name), options,
                                               providers=["CPUExecutionProvider"])
        return session.run(["output"], inputs)[0]

    def compare(self, text, result, expected):
        good = (result.shape == expected.shape
                and np.allclose(result, expected, rtol=RELATIVE, atol=ABSOLUTE))
        same_shape = result.shape == expected.shape
        largest = np.abs(result - expected).max() if same_shape else float("nan")
        self.say(good, f"{text}: {list(result.shape)}, largest difference {largest:.1e}")


def weights(path):
    return {t.name: numpy_helper.to_array(t) for t in onnx.load(path).graph.initializer
            if t.name != "sizes"}


def check_same_weights(checks, first, second):
    left, right = weights(checks.path(first)), weights(checks.path(second))
    good = left.keys() == right.keys() and all(np.array_equal(left[n], right[n]) for n in left)
    checks.say(good, f"{first} and {second} have the same weights")


def check_sizes(checks):
    for path in sorted(glob.glob(checks.path("**", "*.onnx"), recursive=True)):
        size = os.path.getsize(path)
        checks.say(size < LARGEST_FILE, f"{os.path.relpath(path, checks.models)}: {size} bytes")
    total = sum(os.path.getsize(p) for p in glob.glob(checks.path("reference", "*.npy")))
    checks.say(total < LARGEST_REFERENCE, f"reference: {total} bytes")


def check_lenet(checks):
    digits = checks.array("reference/lenet_input.npy")
    expected = checks.array("reference/lenet_output.npy")
    labels = checks.array("reference/lenet_labels.npy")
    for count in (1, 2, len(digits)):
        checks.compare(f"lenet.onnx, batch {count}",
                       checks.run("lenet.onnx", {"input": digits[:count]}), expected[:count])
    checks.say((expected.argmax(1) == labels).all(), f"lenet: labels {labels.tolist()}")
    checks.compare("tiny_lenet.onnx", checks.run("tiny/tiny_lenet.onnx", {
        "input": checks.array("tiny/tiny_lenet_input.npy")}),
        checks.array("tiny/tiny_lenet_output.npy"))


def check_srcnn(checks):
    image = checks.array("reference/srcnn_image.npy")
    for path in sorted(glob.glob(checks.path("reference", "srcnn_size_*.npy"))):
        size = np.load(path)
        expected = np.load(path.replace("_size_", "_output_"))
        checks.compare(f"srcnn_resize.onnx, to {size.shape[2]}x{size.shape[3]}",
                       checks.run("srcnn_resize.onnx", {"image": image, "size": size}), expected)
    checks.compare("tiny_resize.onnx", checks.run("tiny/tiny_resize.onnx", {
        "image": checks.array("tiny/tiny_dynamic_image.npy"),
        "size": checks.array("tiny/tiny_dynamic_size.npy")}),
        checks.array("tiny/tiny_dynamic_output.npy"))


def load_picture(path):
    with Image.open(path) as picture:
        return np.asarray(picture, np.float32).transpose(2, 0, 1)[None] / 255


def psnr(image, truth):
    inner = (..., slice(BORDER, -BORDER), slice(BORDER, -BORDER))
    error = (np.clip(image, 0, 1)[inner] - truth[inner]).astype(np.float64)
    return -10 * np.log10((error * error).mean())


def check_photograph(checks):
    """The network enlarges the demo's photograph better than Pillow's own bicubic (-0.5) does."""
    small, truth = load_picture(checks.path("photo.png")), load_picture(checks.path("photo_2x.png"))
    size = np.zeros((1, 1) + truth.shape[2:], np.float32)
    ours = checks.run("srcnn_resize.onnx", {"image": small, "size": size})
    with Image.open(checks.path("photo.png")) as picture:
        plain = picture.resize(truth.shape[:1:-1], Image.BICUBIC)
    plain = np.asarray(plain, np.float32).transpose(2, 0, 1)[None] / 255
    checks.say(psnr(ours, truth) > psnr(plain, truth),
               f"photo.png: bicubic (-0.5) {psnr(plain, truth):.2f} dB, "
               f"srcnn {psnr(ours, truth):.2f} dB")
    side = min(128, *small.shape[2:])
    corner = np.ascontiguousarray(small[..., :side, :side])
    fixed = checks.run("srcnn_fixed.onnx", {"image": corner})
    size = np.zeros((1, 1, 2 * side, 2 * side), np.float32)
    twin = checks.run("srcnn_resize.onnx", {"image": corner, "size": size})
    checks.compare("srcnn_fixed.onnx and srcnn_resize.onnx on photo.png's corner", fixed, twin)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default=MODELS, help="folder of the files to check")
    checks = Checks(parser.parse_args().models)
    check_sizes(checks)
    for twin in ("srcnn_resize.onnx", "srcnn_fixed.onnx"):
        check_same_weights(checks, "srcnn_dynamic.onnx", twin)
    check_same_weights(checks, "tiny/tiny_dynamic.onnx", "tiny/tiny_resize.onnx")
    check_lenet(checks)
    check_srcnn(checks)
    check_photograph(checks)
    print(f"{checks.passed} passed, {checks.failed} failed")
    sys.exit(1 if checks.failed else 0)


if __name__ == "__main__":
    main()
