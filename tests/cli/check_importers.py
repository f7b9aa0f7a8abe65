# SPDX-License-Identifier: Apache-2.0
"""Readers of model formats as plugins: the example's format is read when a file asks for it, its results are NumPy's, mistakes in
the file are named with file, byte and node, and options of importers are those of the command line.

Usage: check_importers.py TENON LIBRARY, where LIBRARY is that of examples/layer_list. Needs NumPy.
"""

import os
import shutil
import subprocess
import sys
import tempfile

import numpy as np

from checks import ProgramChecks

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
MODELS = os.path.abspath(os.path.join(ROOT, "models"))
TEXT = "values two.values\ninput x 3\ndense h x 3 2\nrelu y h\noutput y\n"


class Checks(ProgramChecks):
    def __init__(self, tenon, library, folder):
        super().__init__(tenon, folder)
        self.library = library

    def run(self, *options, path=None):
        environment = {name: value for name, value in os.environ.items() if name != "TENON_PLUGIN_PATH"}
        if path:
            environment["TENON_PLUGIN_PATH"] = path
        return subprocess.run([self.tenon, *options], capture_output=True, text=True, timeout=120, cwd=self.folder, env=environment)

    def says(self, text, done, code, *parts):
        printed = done.stdout + done.stderr
        missing = [part for part in parts if part not in printed]
        self.say(done.returncode == code and not missing, f"{text}: exit {done.returncode}" +
                 (f", without {missing}: {printed.strip()[:300]}" if missing or done.returncode != code else ""))


def check_results(checks):
    weights = np.array([[1, 2, 3], [4, -1, 1], [0.5, -0.5, 0]], np.float32)[:2]
    bias = np.array([0.5, -0.5], np.float32)
    with open(os.path.join(checks.folder, "two.values"), "wb") as file:
        file.write(weights.tobytes() + bias.tobytes())
    checks.write("two.layers", TEXT)
    x = np.array([[1, -2, 3], [0, 1, -1]], np.float32)
    np.save(os.path.join(checks.folder, "x.npy"), x)
    expected = np.maximum(x @ weights.T + bias, 0)
    listed = os.path.join(checks.folder, "listed")
    os.makedirs(listed)
    for file in (checks.library, checks.library + ".importers"):
        shutil.copy(file, listed)
    for text, options, path in (("--plugin", ["--plugin", checks.library], None), ("the search path", [], listed),
                                ("--plugin-dir", ["--plugin-dir", listed], None)):
        done = checks.run("run", "two.layers", *options, "--input", "x=x.npy", "--output", "y=y.npy", "--shape", "x=2x3", "--no-timing",
                          path=path)
        checks.says(f"a model is read by {text}", done, 0)
        if done.returncode == 0:
            y = np.load(os.path.join(checks.folder, "y.npy"))
            checks.say(np.allclose(y, expected), f"and computes {y.tolist()}")
            os.remove(os.path.join(checks.folder, "y.npy"))
    shutil.copy(os.path.join(checks.folder, "two.layers"), os.path.join(checks.folder, "two.unknown"))
    done = checks.run("build", "two.unknown", "-o", "two.plan", "--no-timing")
    checks.says("where nothing knows a file the formats are listed", done, 1, "neither a model nor a plan", ".onnx", ".uff", ".prototxt")
    checks.says("the plan needs no importer", checks.run("build", "two.layers", "-o", "two.plan", "--plugin", checks.library, "--no-timing"), 0)
    checks.says("and runs", checks.run("run", "two.plan", "--input", "x=x.npy", "--shape", "x=2x3"), 0)


def check_mistakes(checks):
    cases = (("values two.values\ninput x 3\ndense h y 3 2\n", 1, "bad.layers: byte 28: node 'h': no line before this one makes 'y'"),
             ("values two.values\ninput x 3\ndense h x 3 90\n", 1, "byte 28: node 'h'", "too few values for 'h'"),
             ("values ../two.values\n", 1, "outside the model's folder"),
             ("values none.values\n", 1, "none.values", "No such file"),
             ("input x 3\ninput x 3\n", 1, "byte 10: node 'x'", "'x' already"),
             ("input x 3\nrelu x x\n", 1, "node 'x'", "'x' already"),
             ("values two.values\ninput x 4\ndense h x 3 2\noutput h\n", 1, "bad.layers", "h"),
             ("conv x 3\n", 1, "byte 0: node 'x'"),
             ("", 1, "bad.layers"))
    for text, code, *parts in cases:
        checks.write("bad.layers", text)
        done = checks.run("build", "bad.layers", "-o", "bad.plan", "--plugin", checks.library, "--no-timing")
        checks.says(f"{text.splitlines()[-1] if text else 'an empty file'}", done, code, *parts)


def check_options(checks):
    lenet = os.path.join(MODELS, "lenet.onnx")
    checks.says("-h lists options of importers", checks.run("build", "-h"), 0, "--weights", "caffe: ", "--order auto|nchw", "--without-weights")
    checks.says("an option of another importer", checks.run("build", lenet, "-o", "a.plan", "--order", "nchw"), 2,
                "--order has no use here: it goes with a UFF model", "is an ONNX model")
    checks.says("a value that is none", checks.run("build", os.path.join(MODELS, "lenet_nhwc.uff"), "-o", "a.plan", "--order", "nhcw"), 1,
                "nhcw")
    checks.says("no value", checks.run("build", lenet, "-o", "a.plan", "--order"), 2, "needs a value")
    checks.says("an option of no importer", checks.run("build", lenet, "-o", "a.plan", "--ordre", "x"), 2, "unknown option")


def main():
    tenon, library = (os.path.abspath(path) for path in sys.argv[1:3])
    with tempfile.TemporaryDirectory() as folder:
        checks = Checks(tenon, library, folder)
        check_results(checks)
        check_mistakes(checks)
        check_options(checks)
        done = checks.run("plugin", "check", library)
        checks.says("tenon plugin check", done, 0, "reads-samples", "reads-damage")
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
