# SPDX-License-Identifier: Apache-2.0
"""docs/first-layer.md and docs/tensorrt-step-by-step.md as their reader follows them: the files that they show, and each command, in
order. The layer in README.md and its commands likewise.

Usage: check_first_layer.py TENON, the installed program.
"""

import os
import re
import subprocess
import sys
import tempfile

import numpy
import onnx

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def soft_clip(x):
    return 6 / (1 + numpy.exp(-x))


def channel_shrink(x):
    """With the network's factors, which are 1."""
    return x - numpy.clip(x, -0.5, 0.5)


# page: (the project that it makes, what the layer computes, tolerance by the result's file, verbs of `tenon plugin` that it shows)
PAGES = {
    "first-layer.md": ("soft_clip", soft_clip, {"y.npy": 1e-5}, {"new", "build", "check", "show", "bench"}),
    "tensorrt-step-by-step.md": ("channel_shrink", channel_shrink, {"y.npy": 1e-5, "y_int8.npy": 0.04}, {"new", "build", "check"}),
}


def check_readme(program):
    """Compiles the README's layer by the command beside it and runs a network with it; yields (good, text)."""
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
        text = file.read()
    commands = re.findall(r"^    ((?:cc|tenon) .*leaky.*)$", text, re.M)
    yield len(commands) == 3, f"README.md shows {len(commands)} commands for its layer"
    with tempfile.TemporaryDirectory(prefix="tenon-readme.") as folder:
        with open(os.path.join(folder, "leaky.c"), "w", encoding="utf-8") as file:
            file.write(re.search(r"```c\n(.*?)```", text, re.S).group(1))
        ports = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [3, 4]) for name in "xy"]
        graph = onnx.helper.make_graph([onnx.helper.make_node("Leaky", ["x"], ["y"], domain="Mine", slope=0.5)], "net",
                                       ports[:1], ports[1:])
        opsets = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("Mine", 1)]
        onnx.save(onnx.helper.make_model(graph, opset_imports=opsets), os.path.join(folder, "net.onnx"))
        x = numpy.linspace(-1, 1, 12, dtype=numpy.float32).reshape(3, 4)
        numpy.save(os.path.join(folder, "x.npy"), x)
        environment = {**os.environ, "PATH": os.path.dirname(program) + os.pathsep + os.environ["PATH"]}
        prefix = os.path.dirname(os.path.dirname(program))
        run = "tenon run net.plan --plugin ./libleaky.so --input x=x.npy --output y=y.npy"
        for command in (*commands, run):
            done = subprocess.run(command.replace("PREFIX", prefix), shell=True, cwd=folder, env=environment, text=True,
                                  stdin=subprocess.DEVNULL, capture_output=True, timeout=300)
            yield done.returncode == 0, command + ("" if done.returncode == 0 else f": {done.stdout}{done.stderr}")
        result = os.path.join(folder, "y.npy")
        good = os.path.exists(result) and numpy.allclose(numpy.load(result), numpy.where(x < 0, x / 2, x))
        yield good, "README.md: its layer's results"


class Reader:
    """Follows a page in a folder of its own."""

    def __init__(self, page, where, environment):
        self.project, self.computed, self.tolerances, self.verbs = PAGES[page]
        self.folder, self.environment = where, environment
        with open(os.path.join(ROOT, "docs", page), encoding="utf-8") as file:
            self.text = file.read()
        self.commands = re.findall(r"^    ((?:tenon|cd) .*)$", self.text, re.M)

    def write(self, name, pattern):
        """A file from the first block of the page that the pattern has."""
        found = re.search(pattern, self.text, re.S)
        if found:
            with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
                file.write(found[1])

    def enter(self, folder):
        self.folder = os.path.join(self.folder, folder)
        self.write(self.project + ".c", r"```c\n(.*?)```")
        self.write("calibration.cache", r"`calibration.cache`[^`]*```text\n(.*?)```")

    def input(self, plan):
        """x.npy, of the plan's shape."""
        inspected = subprocess.run(["tenon", "inspect", plan], cwd=self.folder, env=self.environment, capture_output=True, text=True,
                                   check=True).stdout
        shape = [int(it) for it in re.search(r"\n  x  f32  \[([^]]*)\]", inspected).group(1).split(",")]
        self.x = numpy.linspace(-4, 4, numpy.prod(shape), dtype=numpy.float32).reshape(shape)
        numpy.save(os.path.join(self.folder, "x.npy"), self.x)

    def follow(self, command):
        """(good, text) of a command."""
        is_run = command.startswith("tenon run ")
        if is_run:
            self.input(command.split()[2])
        done = subprocess.run(command, shell=True, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=300)
        if done.returncode:
            return False, f"{command}: {done.stdout}{done.stderr}"
        if is_run:
            name = re.search(r"--output y=(\S+)", command)[1]
            y, expected = numpy.load(os.path.join(self.folder, name)), self.computed(self.x)
            if not numpy.allclose(y, expected, rtol=1e-5, atol=self.tolerances.pop(name)):
                return False, f"{command}: {numpy.abs(y - expected).max()} from what the layer computes"
        return True, command

    def findings(self):
        for command in self.commands:
            if command.startswith("cd "):
                self.enter(command[3:])
            else:
                yield self.follow(command)
        shown = {verb for verb in ("new", "build", "check", "show", "bench") if any(f"plugin {verb}" in it for it in self.commands)}
        yield shown == self.verbs and not self.tolerances, f"the page shows {sorted(shown)}, and all of its results"


def main():
    program = os.path.abspath(sys.argv[1])
    environment = {**os.environ, "LC_ALL": "C", "PATH": os.path.dirname(program) + os.pathsep + os.environ["PATH"]}
    failed = passed = 0
    for page in PAGES:
        with tempfile.TemporaryDirectory(prefix="tenon-first-layer.") as where:
            for good, text in Reader(page, where, environment).findings():
                passed, failed = passed + good, failed + (not good)
                print("PASS" if good else "FAIL", f"{page}: {text}", flush=True)
    for good, text in check_readme(program):
        passed, failed = passed + good, failed + (not good)
        print("PASS" if good else "FAIL", text, flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
