# SPDX-License-Identifier: Apache-2.0
"""The program of examples/embedded, which is linked with the run-only library and with a layer of its own: plans of the installed
program give the same numbers there, and a plan for another library's kernels is refused by name.

Usage: check_embedded.py TENON FOLDER PROGRAM: the installed program, where a copy of the example was built by CMake, and its program
built by pkg-config. Needs NumPy and onnx.
"""

import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper

from checks import ProgramChecks

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
VALUE = 0.25


class Checks(ProgramChecks):
    def run(self, *arguments):
        return subprocess.run(arguments, capture_output=True, text=True, timeout=120, cwd=self.folder)

    def build(self, model, plan, *options):
        done = self.run(self.tenon, "build", model, "-o", plan, "--no-timing", *options)
        if done.returncode:
            self.say(False, f"{plan}: {done.stderr}")
        return done.returncode == 0

    def wanted(self, plan, shape, *options):
        """What the whole library computes."""
        np.save(os.path.join(self.folder, "x.npy"), np.full(shape, VALUE, np.float32))
        done = self.run(self.tenon, "run", plan, "-i", "x.npy", "-o", "y.npy", *options)
        if done.returncode:
            self.say(False, f"{plan}: {done.stderr}")
            return None
        return np.load(os.path.join(self.folder, "y.npy")).ravel()


def layer_network(path):
    """y = HardStep(x * weights) by the layer of the example."""
    weights = np.linspace(-1, 3, 12, dtype=np.float32).reshape(3, 4)
    nodes = [helper.make_node("Mul", ["x", "w"], ["m"]), helper.make_node("HardStep", ["m"], ["y"], domain="Test", threshold=0.25)]
    graph = helper.make_graph(nodes, "layer", [helper.make_tensor_value_info("x", TensorProto.FLOAT, (3, 4))],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, (3, 4))],
                              [onnx.numpy_helper.from_array(weights, "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("Test", 1)], ir_version=8), path)
    return (VALUE * weights >= 0.25).astype(np.float32).ravel()


def check_numbers(checks, title, program, plan, wanted):
    done = checks.run(program, plan, str(VALUE))
    found = np.array([float(line) for line in done.stdout.split()], np.float32)
    good = done.returncode == 0 and wanted is not None and found.shape == wanted.shape and np.array_equal(found, wanted)
    checks.say(good, title + ("" if good else f": {done.stderr or done.stdout[:200]}"))


def check_linked(checks, program):
    """What the dynamic loader would load for it."""
    done = checks.run("readelf", "-d", program)
    needed = [line.split("[")[1].split("]")[0] for line in done.stdout.splitlines() if "(NEEDED)" in line]
    checks.say(done.returncode == 0 and needed and not any("tenon" in name for name in needed), f"needs {needed}")


def main():
    tenon, built, by_pkg_config = sys.argv[1:4]
    with tempfile.TemporaryDirectory(prefix="tenon-embedded.") as folder:
        checks = Checks(tenon, folder)
        programs = {"CMake": os.path.join(os.path.abspath(built), "embedded"), "pkg-config": os.path.abspath(by_pkg_config)}
        library = os.path.join(os.path.abspath(built), "libhard_step.so")
        lenet = os.path.join(ROOT, "models", "lenet.onnx")
        steps = layer_network(os.path.join(folder, "layer.onnx"))
        checks.build(lenet, "lenet.plan", "--shape", "input=1x1x28x28", "--no-kernel-libraries")
        checks.build("layer.onnx", "layer.plan", "--plugin", library, "--no-kernel-libraries")
        digits = checks.wanted("lenet.plan", (1, 1, 28, 28))
        found = checks.wanted("layer.plan", (3, 4), "--plugin", library)
        checks.say(found is not None and np.array_equal(found, steps), "the layer as a library file")
        for name, program in programs.items():
            check_linked(checks, program)
            check_numbers(checks, f"LeNet, {name}", program, "lenet.plan", digits)
            check_numbers(checks, f"the layer linked in, {name}", program, "layer.plan", steps)
        companion = os.path.join(os.path.dirname(os.path.dirname(checks.tenon)), "lib", "tenon", "kernels", "libtenon_onednn.so")
        if os.path.exists(companion):
            checks.build(lenet, "onednn.plan", "--shape", "input=1x1x28x28", "--pin", "conv1=onednn")
            done = checks.run(programs["CMake"], "onednn.plan", str(VALUE))
            checks.say(done.returncode == 1 and "onednn" in done.stderr and not done.stdout,
                       "a kernel of another library is refused: " + done.stderr.split("\n")[0])
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
