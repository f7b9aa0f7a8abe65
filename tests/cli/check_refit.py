# SPDX-License-Identifier: Apache-2.0
"""Plans whose weights are replaced: tenon build --refit, tenon refit --from and --weights, what they print, and what they refuse.

Usage: check_refit.py TENON. A refitted plan must compute what a build of the new checkpoint computes, in each precision.
"""

import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from checks import ProgramChecks

DONE, FAULT, USAGE = 0, 1, 2


class Checks(ProgramChecks):
    def run(self, title, code, *arguments, words=()):
        done = subprocess.run([self.tenon, *arguments], cwd=self.folder, capture_output=True, text=True, timeout=120)
        said = done.stdout + done.stderr
        missing = [word for word in words if word not in said]
        self.say(done.returncode == code and not missing, f"{title}: exit {done.returncode}, missing {missing}: {said.strip()[:300]}")
        return done.stdout

    def result(self, plan):
        self.run(f"running {plan}", DONE, "run", plan, "-i", "x=x.npy", "-o", "y=y.npy")
        return np.load(os.path.join(self.folder, "y.npy"))


def write_model(path, seed, hidden=24):
    """Convolution, normalisation, PRelu, pooling, two products, and a bias that is added."""
    generator = np.random.default_rng(seed)

    def weights(name, *shape, middle=0.0):
        return numpy_helper.from_array((middle + 0.3 * generator.standard_normal(shape)).astype(np.float32), name)

    constants = [weights("conv.w", 8, 3, 3, 3), weights("conv.b", 8), weights("bn.s", 8, middle=1), weights("bn.b", 8),
                 weights("bn.m", 8), numpy_helper.from_array(generator.uniform(0.5, 2, 8).astype(np.float32), "bn.v"),
                 weights("slope", 8, 1, 1), weights("fc1.w", hidden, 8 * 16), weights("fc1.b", hidden), weights("fc2.w", hidden, 10),
                 weights("fc2.b", 10)]
    nodes = [helper.make_node("Conv", ["x", "conv.w", "conv.b"], ["c"], name="conv", pads=[1, 1, 1, 1]),
             helper.make_node("BatchNormalization", ["c", "bn.s", "bn.b", "bn.m", "bn.v"], ["n"], name="bn"),
             helper.make_node("PRelu", ["n", "slope"], ["p"], name="prelu"),
             helper.make_node("MaxPool", ["p"], ["m"], name="pool", kernel_shape=[2, 2], strides=[2, 2]),
             helper.make_node("Flatten", ["m"], ["f"], name="flatten"),
             helper.make_node("Gemm", ["f", "fc1.w", "fc1.b"], ["g"], name="fc1", transB=1),
             helper.make_node("Relu", ["g"], ["r"], name="relu"),
             helper.make_node("MatMul", ["r", "fc2.w"], ["t"], name="fc2"),
             helper.make_node("Add", ["t", "fc2.b"], ["y"], name="add")]
    graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 8, 8])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 10])], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)], ir_version=8), path)
    return {constant.name: numpy_helper.to_array(constant) for constant in constants}


def check_precisions(checks):
    int8 = ["--precision", "int8", "--calibration", "table"]
    checks.run("a table", DONE, "build", "a.onnx", "-o", "t.plan", "--no-timing", "--precision", "int8", "--calibration", "samples",
               "--write-calibration", "table")
    for title, options in (("fp32", []), ("bf16", ["--precision", "bf16"]), ("int8", int8)):
        checks.run(f"{title}: build", DONE, "build", "a.onnx", "-o", "a.plan", "--no-timing", "--refit-all", *options,
                   words=["refit: 11 constants"])
        checks.run(f"{title}: build of the new one", DONE, "build", "b.onnx", "-o", "b.plan", "--no-timing", "--refit-all", *options)
        checks.run(f"{title}: refit", DONE, "refit", "a.plan", "--from", "b.onnx", "-o", "c.plan",
                   words=["c.plan: 11 of 11 constants are new in b.onnx"])
        before, expected, found = (checks.result(name + ".plan") for name in "abc")
        checks.say(np.array_equal(expected, found), f"{title}: a refitted plan computes what a build of its weights does")
        checks.say(not np.array_equal(before, found), f"{title}: which is something else than before")
        with open(checks.path("b.plan"), "rb") as one, open(checks.path("c.plan"), "rb") as other:
            checks.say(one.read() == other.read(), f"{title}: it has the bytes of a plan that was built with them")
    checks.run("plain", DONE, "build", "b.onnx", "-o", "plain.plan", "--no-timing")
    checks.run("back to fp32", DONE, "build", "a.onnx", "-o", "a.plan", "--no-timing", "--refit-all")
    checks.run("refit", DONE, "refit", "a.plan", "--from", "b.onnx", "-o", "c.plan")
    checks.say(np.allclose(checks.result("c.plan"), checks.result("plain.plan"), rtol=1e-4, atol=1e-4),
               "it computes what a build without --refit-all does")


def check_files(checks, constants):
    checks.run("one name", DONE, "build", "a.onnx", "-o", "a.plan", "--no-timing", "--refit", "fc2.b", "--refit", "conv.w",
               "--report", "report.json", words=["refit: 2 constants", "left as they are: 'bn' (conv.w:"])
    with open(checks.path("report.json"), encoding="utf-8") as file:
        refit = json.load(file)["refit"]
    checks.say(refit["constants"] == ["conv.w", "fc2.b"] and [item["node"] for item in refit["left"]] == ["bn"],
               f"the report says it: {refit}")
    listed = checks.run("the list", DONE, "refit", "a.plan")
    checks.say(listed.split("\n")[:2] == ["conv.w f32[8,3,3,3]", "fc2.b f32[10]"], f"names, types and shapes: {listed!r}")
    inspected = json.loads(checks.run("inspect", DONE, "inspect", "a.plan", "--json"))
    marked = [constant["refit"] for constant in inspected["constants"] if "refit" in constant]
    checks.say(marked == ["conv.w", "fc2.b"], f"inspect marks them: {marked}")
    checks.run("inspect as text", DONE, "inspect", "a.plan", words=["refit: 2 constants"])
    bias = np.arange(10, dtype=np.float32)
    np.save(checks.path("bias.npy"), bias)
    bias.tofile(checks.path("bias.raw"))
    before = checks.result("a.plan")
    for name in ("bias.npy", "bias.raw"):
        checks.run(name, DONE, "refit", "a.plan", "--weights", f"fc2.b={name}", "-o", "c.plan", words=["1 constant from files"])
        checks.say(np.allclose(checks.result("c.plan"), before - constants["fc2.b"] + bias, atol=1e-4), f"{name} is used")
    checks.run("both", DONE, "refit", "a.plan", "--from", "b.onnx", "--weights", "fc2.b=bias.npy", "-o", "a.plan")  # in place


def check_refusals(checks):
    np.save(checks.path("wrong.npy"), np.zeros(9, np.float32))
    np.save(checks.path("double.npy"), np.zeros(10, np.float64))
    refit = ("refit", "a.plan", "-o", "none.plan", "--weights")
    checks.run("a name that is not there", FAULT, *refit, "fc2.c=bias.npy", words=["no constant 'fc2.c'", "'fc2.b'"])
    checks.run("another shape", FAULT, *refit, "fc2.b=wrong.npy", words=["has shape [10], the new data [9]"])
    checks.run("another type", FAULT, *refit, "fc2.b=double.npy", words=["is of f32, the new data of f64"])
    checks.run("a plan of all", DONE, "build", "a.onnx", "-o", "all.plan", "--no-timing", "--refit-all")
    checks.run("another network", FAULT, "refit", "all.plan", "--from", "wide.onnx", "-o", "none.plan",
               words=["has shape [24, 128], the new data [25, 128]"])
    checks.run("no name", USAGE, *refit, "bias.npy", words=["is not NAME=FILE"])
    checks.run("nothing new", USAGE, "refit", "a.plan", "-o", "none.plan", words=["--from MODEL or --weights"])
    checks.run("no output", USAGE, "refit", "a.plan", "--from", "b.onnx", words=["-o PLAN"])
    checks.run("a model", USAGE, "refit", "a.onnx", "-o", "none.plan", "--from", "b.onnx", words=["refit takes a plan"])
    checks.run("a folder that is not there", FAULT, "refit", "a.plan", "--from", "b.onnx", "-o", "no/such/c.plan", words=["no/such"])
    checks.run("a plan without", DONE, "build", "a.onnx", "-o", "plain.plan", "--no-timing")
    checks.run("nothing to refit", 3, "refit", "plain.plan", "--from", "b.onnx", "-o", "none.plan", words=["--refit-all"])
    checks.run("no such constant", FAULT, "build", "a.onnx", "-o", "none.plan", "--refit", "fc2.d", words=["nearest is 'fc2."])
    with open(checks.path("a.plan"), "rb") as file:
        data = bytearray(file.read())
    data[-1] ^= 1
    with open(checks.path("bad.plan"), "wb") as file:
        file.write(data)
    checks.run("a damaged plan", FAULT, "refit", "bad.plan", "--from", "b.onnx", "-o", "none.plan", words=["damaged"])
    checks.say(not os.path.exists(checks.path("none.plan")), "nothing is written where something is refused")


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="tenon-refit.") as folder:
        checks = Checks(os.path.abspath(sys.argv[1]), folder)
        constants = write_model(checks.path("a.onnx"), 1)
        write_model(checks.path("b.onnx"), 2)
        write_model(checks.path("wide.onnx"), 2, hidden=25)
        generator = np.random.default_rng(3)
        np.save(checks.path("x.npy"), generator.standard_normal((2, 3, 8, 8)).astype(np.float32))
        os.makedirs(checks.path("samples"))
        for index in range(3):
            np.save(checks.path(f"samples/{index}.npy"), generator.standard_normal((2, 3, 8, 8)).astype(np.float32))
        check_precisions(checks)
        check_files(checks, constants)
        check_refusals(checks)
        return checks.end()


if __name__ == "__main__":
    sys.exit(main())
