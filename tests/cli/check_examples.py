# SPDX-License-Identifier: Apache-2.0
"""Runs the examples that are programs with a verdict, as a user would, and makes them fail.

Usage: check_examples.py TENON UFF_PLUGIN_INT8 PRELU_CAFFE PRELU_LIBRARY, built from examples/uff_plugin_int8 and
examples/prelu_caffe. TensorRT's own network of that sample is tried where it is found: in the folder that
TENON_SHARED_DATA names, or ../shared/data beside the repository. Needs NumPy.
"""

import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np

from checks import ProgramChecks

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
MODELS = os.path.join(ROOT, "models")
SHARED = os.environ.get("TENON_SHARED_DATA", os.path.join(ROOT, "..", "shared", "data"))
MODES = (("f32", []), ("f16", ["--fp16"]), ("i8", ["--int8"]))


class Checks(ProgramChecks):
    def __init__(self, folder):
        super().__init__(None, folder)

    def run(self, *command):
        return subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=self.folder)

    def verdict(self, text, done, is_good, *wanted):
        """The exit status, the last line, and texts that must be in what was printed."""
        word = "PASSED" if is_good else "FAILED"
        printed = done.stdout + done.stderr
        last = done.stdout.strip().splitlines()[-1:] or [""]
        missing = [part for part in wanted if not re.search(part, printed, re.M)]
        good = done.returncode == (0 if is_good else 1) and last[0].startswith(f"&&&& {word}") and not missing
        self.say(good, f"{text}: exit {done.returncode}, {last[0]}" +
                 (f", without {missing}" if missing else "") + ("" if good else f"\n{done.stderr.strip()}"))


def check_uff(checks, program, text, pool, options):
    for kernel, mode in MODES:
        done = checks.run(program, *options, *mode)
        found = re.findall(r"^recognised as (\d)$", done.stdout, re.M)
        checks.verdict(f"{text} {kernel}", done, True, rf"^ +{pool} +{kernel}$", r"average over 10 runs 0\.\d+ ms$")
        checks.say(found == [str(digit) for digit in range(10)], f"{text} {kernel}: recognised {' '.join(found)}")
    drawn = [line for line in done.stdout.splitlines() if len(line) == 28 and re.fullmatch(r"[ .:\-=+*#%@]+", line)]
    checks.say(len(drawn) == 280 and len(set(drawn)) > 100, f"{text}: {len(drawn)} lines of drawings")


def copy_of_models(checks, name):
    folder = os.path.join(checks.folder, name)
    os.makedirs(folder)
    for file in ("lenet_nhwc.uff", "digits_prelu.prototxt", "digits_prelu.caffemodel"):
        shutil.copy(os.path.join(MODELS, file), folder)
    shutil.copytree(os.path.join(MODELS, "digits"), os.path.join(folder, "digits"))
    return folder


def check_failures(checks, program, prelu):
    checks.verdict("no such folder", checks.run(program, "--datadir", "nowhere"), False, "nowhere: neither")
    checks.verdict("unknown option", checks.run(program, "--int4"), False, "--int4: not understood", "^usage")
    checks.verdict("option without its folder", checks.run(program, "--datadir"), False, "--datadir: not understood")
    swapped = copy_of_models(checks, "swapped")
    shutil.copy(os.path.join(MODELS, "digits", "3.pgm"), os.path.join(swapped, "digits", "5.pgm"))
    checks.verdict("a wrong digit", checks.run(program, "--datadir", swapped), False, "recognised as 3, which is wrong")
    checks.verdict("a wrong digit, Caffe", checks.run(prelu, swapped), False, "^5.pgm: 3", "9 of 10 recognised")
    broken = copy_of_models(checks, "broken")
    with open(os.path.join(broken, "lenet_nhwc.uff"), "r+b") as file:
        file.truncate(100000)
    with open(os.path.join(broken, "digits_prelu.caffemodel"), "r+b") as file:
        file.truncate(10000)
    checks.verdict("half a network", checks.run(program, "--datadir", broken), False, r"building: .*lenet_nhwc\.uff")
    checks.verdict("half of the weights", checks.run(prelu, broken), False, r"building: .*digits_prelu")
    small = copy_of_models(checks, "small")
    with open(os.path.join(small, "digits", "7.pgm"), "wb") as file:
        file.write(b"P5\n27 28\n255\n" + bytes(27 * 28))
    checks.verdict("a picture of another size", checks.run(program, "--datadir", small), False, r"7\.pgm: cannot be read")
    checks.verdict("the same, Caffe", checks.run(prelu, small), False, r"7\.pgm: cannot be read")
    checks.verdict("no such folder, Caffe", checks.run(prelu, "nowhere"), False, "nowhere")
    checks.verdict("two folders, Caffe", checks.run(prelu, "a", "b"), False, "^usage")
    done = checks.run(program, "-h")
    checks.say(done.returncode == 0 and done.stdout.startswith("usage"), f"-h: exit {done.returncode}")


def picture(path):
    with open(path, "rb") as file:
        return 1 - np.frombuffer(file.read()[-784:], np.uint8).reshape(28, 28).astype(np.float32) / 255


def check_prelu(checks, tenon, library):
    """The plugin's PReLU gives what the built-in one gives."""
    np.save(os.path.join(checks.folder, "digits.npy"),
            np.stack([picture(os.path.join(MODELS, "digits", f"{digit}.pgm")) for digit in range(10)])[:, None])
    results = []
    for options in ([], ["--plugin", library]):
        done = checks.run(tenon, "run", os.path.join(MODELS, "digits_prelu.prototxt"), "--weights",
                          os.path.join(MODELS, "digits_prelu.caffemodel"), "--input", "data=digits.npy", "--output",
                          "prob=prob.npy", "--shape", "data=10x1x28x28", "--no-timing", *options)
        checks.say(done.returncode == 0, f"tenon run {' '.join(options[:1])}: exit {done.returncode} {done.stderr.strip()}")
        if done.returncode == 0:
            results.append(np.load(os.path.join(checks.folder, "prob.npy")))
    if len(results) == 2:
        difference = np.abs(results[0] - results[1]).max()
        checks.say(difference < 1e-5 and (results[0].argmax(1) == np.arange(10)).all(),
                   f"PReLU of the plugin and built-in: largest difference {difference:.1e}")


def check_original(checks, program):
    """TensorRT's network, with the first digit of each class in MNIST's test set stored as that sample stores it."""
    network = os.path.join(SHARED, "lenet", "lenet5_custom_pool.uff")
    if not os.path.exists(network):
        checks.skipped += 1
        print(f"SKIP TensorRT's network of that sample is not in {SHARED} (TENON_SHARED_DATA)")
        return
    folder = os.path.join(checks.folder, "original")
    os.makedirs(folder)
    shutil.copy(network, folder)
    pixels, labels = (gzip.open(os.path.join(SHARED, "mnist", f"t10k-{name}.gz")).read()
                      for name in ("images-idx3-ubyte", "labels-idx1-ubyte"))
    images, labels = np.frombuffer(pixels, np.uint8)[16:].reshape(-1, 784), np.frombuffer(labels, np.uint8)[8:]
    for digit in range(10):
        with open(os.path.join(folder, f"{digit}.pgm"), "wb") as file:
            file.write(b"P5\n28 28\n255\n" + (255 - images[np.flatnonzero(labels == digit)[0]]).tobytes())
    check_uff(checks, program, "TensorRT's network", "maxpool2", ["--datadir", folder])


def main():
    tenon, program, prelu, library = (os.path.abspath(path) for path in sys.argv[1:5])
    with tempfile.TemporaryDirectory(prefix="tenon-examples-") as folder:
        checks = Checks(folder)
        check_uff(checks, program, "LeNet", "pool2", [])
        checks.verdict("PReLU", checks.run(prelu), True, r"^ +prelu1 +PReLU +planes$", "10 of 10 recognised")
        check_prelu(checks, tenon, library)
        check_failures(checks, program, prelu)
        check_original(checks, program)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
