# SPDX-License-Identifier: Apache-2.0
"""Options of the command line beside one another: --next-profile, --border, --no-packed-weights, --refit and --refit-all of tenon build,
tenon refit on what comes out, and --use-profile, --isolate and --checked of tenon run.

Usage: check_combinations.py TENON. Each plan computes what the plain build of the same checkpoint computes.
"""

import itertools
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from checks import ProgramChecks

ROWS = (2, 5)
PLAIN = ("--shape", "x=1x3x8x8:2x3x8x8:8x3x8x8")
BORDER = ("--shape", "x=1x8x8x3:2x8x8x3:8x8x8x3")
PROFILES = ("--shape", "x=1x3x8x8:2x3x8x8:2x3x8x8", "--next-profile", "--shape", "x=4x3x8x8:5x3x8x8:8x3x8x8")
BORDER_PROFILES = ("--shape", "x=1x8x8x3:2x8x8x3:2x8x8x3", "--next-profile", "--shape", "x=4x8x8x3:5x8x8x3:8x8x8x3")
REFIT = {"": (), "refit": ("--refit", "fc.w", "--refit", "conv.w", "--refit", "fc.b"), "refit-all": ("--refit-all",)}


class Checks(ProgramChecks):
    prints_passes = False

    def run(self, *arguments):
        done = subprocess.run([self.tenon, *arguments], cwd=self.folder, capture_output=True, text=True, timeout=120)
        return done.returncode, (done.stdout + done.stderr).strip()

    def result(self, plan, rows, border, options):
        image = np.load(os.path.join(self.folder, f"x{rows}.npy"))
        if border:
            np.save(os.path.join(self.folder, "last.npy"), image.transpose(0, 2, 3, 1).astype(np.float64))
        code, said = self.run("run", plan, "-i", "x=last.npy" if border else f"x=x{rows}.npy", "-o", "y=y.npy", *options)
        if code:
            self.say(False, f"{plan} with {' '.join(options)}: exit {code}: {said[:300]}")
            return None
        return np.load(os.path.join(self.folder, "y.npy"))


def write_model(path, seed):
    generator = np.random.default_rng(seed)
    constants = [numpy_helper.from_array(generator.standard_normal(shape).astype(np.float32), name)
                 for name, shape in (("conv.w", (8, 3, 3, 3)), ("fc.w", (8, 10)), ("fc.b", (10,)))]
    nodes = [helper.make_node("Conv", ["x", "conv.w"], ["c"], name="conv", pads=[1, 1, 1, 1]),
             helper.make_node("Relu", ["c"], ["r"], name="relu"),
             helper.make_node("GlobalAveragePool", ["r"], ["m"], name="mean"),
             helper.make_node("Flatten", ["m"], ["f"], name="flatten"),
             helper.make_node("Gemm", ["f", "fc.w", "fc.b"], ["y"], name="fc")]
    graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 8, 8])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 10])], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def check(checks, profiles, border, unpacked, refit, expected):
    name = "-".join(part for part in ("profiles" * profiles, "border" * border, "unpacked" * unpacked, refit) if part) or "plain"
    shapes = (BORDER_PROFILES if border else PROFILES) if profiles else BORDER if border else PLAIN
    options = [*shapes, *REFIT[refit], *(("--border", "x=fp64:nhwc") if border else ()), *(("--no-packed-weights",) if unpacked else ())]
    code, said = checks.run("build", "one.onnx", "-o", f"{name}.plan", "--threads", "1", "--timing-seconds", "0.2", *options)
    checks.say(code == 0, f"build {name}: {said[:300]}")
    if code:
        return
    plans = {f"{name}.plan": 1}
    code, said = checks.run("refit", f"{name}.plan", "--from", "two.onnx", "-o", f"{name}.2.plan")
    checks.say((code == 0) == bool(refit), f"refit {name}: exit {code}: {said[:300]}")
    if refit and code == 0:
        plans[f"{name}.2.plan"] = 2
    for plan, seed in plans.items():
        for index, rows in enumerate(ROWS):
            for run in ((), ("--use-profile", str(index)), ("--checked",), ("--isolate",), ("--checked", "--use-profile", str(index)),
                        ("--isolate", "--use-profile", str(index))):
                if "--use-profile" in run and not profiles:
                    continue
                found = checks.result(plan, rows, border, run)
                if found is not None:
                    wanted = expected[seed, rows]
                    good = found.shape == wanted.shape and np.allclose(found, wanted, rtol=1e-4, atol=1e-5)
                    checks.say(good, f"{plan} of {rows} rows with {' '.join(run)}: another result")
            if profiles:  # the other profile has not these shapes
                code, said = checks.run("run", plan, "-i", "x=last.npy" if border else f"x=x{rows}.npy", "-o", "y=y.npy",
                                        "--use-profile", str(1 - index))
                checks.say(code != 0 and "profile" in said, f"{plan} of {rows} rows in the other profile: exit {code}: {said[:200]}")
        code, said = checks.run("inspect", plan)
        checks.say(code == 0 and ("profile" in said or not profiles), f"inspect {plan}: {said[:200]}")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        checks = Checks(os.path.abspath(sys.argv[1]), folder)
        for seed, name in ((1, "one"), (2, "two")):
            write_model(os.path.join(folder, f"{name}.onnx"), seed)
        expected = {}
        for rows in ROWS:
            np.save(os.path.join(folder, f"x{rows}.npy"), np.random.default_rng(rows).standard_normal((rows, 3, 8, 8)).astype(np.float32))
        for seed, name in ((1, "one"), (2, "two")):
            code, said = checks.run("build", f"{name}.onnx", "-o", f"{name}.plan", "--threads", "1", *PLAIN)
            checks.say(code == 0, f"build {name}: {said[:300]}")
            for rows in ROWS:
                expected[seed, rows] = checks.result(f"{name}.plan", rows, False, ())
        for combination in itertools.product((False, True), (False, True), (False, True), REFIT):
            check(checks, *combination, expected)
        return checks.end()


if __name__ == "__main__":
    sys.exit(main())
