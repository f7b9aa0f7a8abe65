# SPDX-License-Identifier: Apache-2.0
"""docs/first-layer.md as its reader follows it: the source that it shows, and each command that it shows, in order. The layer
in README.md and its commands likewise.

Usage: check_first_layer.py TENON, the installed program.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

import numpy
import onnx

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PAGE = os.path.join(ROOT, "docs", "first-layer.md")


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


def main():
    program = os.path.abspath(sys.argv[1])
    text = open(PAGE, encoding="utf-8").read()
    source = re.search(r"```c\n(.*?)```", text, re.S).group(1)
    commands = re.findall(r"^    ((?:tenon|cd) .*)$", text, re.M)
    where = tempfile.mkdtemp(prefix="tenon-first-layer.")
    folder, failed, passed = where, 0, 0
    environment = {**os.environ, "LC_ALL": "C", "PATH": os.path.dirname(program) + os.pathsep + os.environ["PATH"]}
    try:
        for command in commands:
            if command.startswith("cd "):
                folder = os.path.join(folder, command[3:])
                with open(os.path.join(folder, "soft_clip.c"), "w", encoding="utf-8") as file:
                    file.write(source)
                continue
            if command.startswith("tenon run "):
                inspected = subprocess.run(["tenon", "inspect", "soft_clip.plan"], cwd=folder, env=environment,
                                           capture_output=True, text=True, check=True).stdout
                shape = [int(it) for it in re.search(r"\n  x  f32  \[([^]]*)\]", inspected).group(1).split(",")]
                x = numpy.linspace(-4, 4, numpy.prod(shape), dtype=numpy.float32).reshape(shape)
                numpy.save(os.path.join(folder, "x.npy"), x)
            done = subprocess.run(command, shell=True, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, timeout=300)
            good = done.returncode == 0
            if good and command.startswith("tenon run "):
                y = numpy.load(os.path.join(folder, "y.npy"))
                good = numpy.allclose(y, 6 / (1 + numpy.exp(-x)), rtol=1e-5)
            passed, failed = passed + good, failed + (not good)
            print("PASS" if good else "FAIL", command, "" if good else f": {done.stdout}{done.stderr}", flush=True)
    finally:
        shutil.rmtree(where, ignore_errors=True)
    verbs = {verb for verb in ("new", "build", "check", "show", "bench") if any(f"plugin {verb}" in it for it in commands)}
    if len(verbs) != 5:
        print("FAIL the page shows", sorted(verbs))
        failed += 1
    for good, text in check_readme(program):
        passed, failed = passed + good, failed + (not good)
        print("PASS" if good else "FAIL", text, flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
