# SPDX-License-Identifier: Apache-2.0
"""Networks of 16-bit floats: computed in 32-bit floats inside, nearer to double precision than in 16 bits, with the types of the model at
inputs and outputs; with refit, int8, pins, profiles and bodies; and --keep-half, which leaves them in 16 bits.

Usage: check_half.py TENON, where TENON is the program. Needs NumPy and onnx.
"""

import json
import os
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from checks import ProgramChecks

F16, F32, F64 = TensorProto.FLOAT16, TensorProto.FLOAT, TensorProto.DOUBLE
NUMPY = {F16: np.float16, F32: np.float32, F64: np.float64}
WIDENED = "16-bit floats computed in 32 bits: "


def weights(seed=1):
    random = np.random.default_rng(seed)
    return {"w": random.standard_normal((12, 3, 3, 3)) * 0.3, "b": random.standard_normal(12) * 0.3,
            "m": random.standard_normal((12, 10)) * 0.4}


def convolution(kind=F16, seed=1, batch=2):
    """Convolution, activation, mean, product, softmax."""
    constants = [numpy_helper.from_array(value.astype(np.float16).astype(NUMPY[kind]), name) for name, value in weights(seed).items()]
    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["c"], "conv", pads=[1, 1, 1, 1]),
             helper.make_node("Relu", ["c"], ["r"], "relu"),
             helper.make_node("GlobalAveragePool", ["r"], ["p"], "pool"),
             helper.make_node("Flatten", ["p"], ["f"], "flatten"),
             helper.make_node("MatMul", ["f", "m"], ["y"], "product")]
    return model(nodes, kind, [batch, 3, 16, 16], [batch, 10], constants)


def model(nodes, kind, shape, result, constants=(), result_kind=None):
    graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("x", kind, shape)],
                              [helper.make_tensor_value_info("y", result_kind or kind, result)], list(constants))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def chain(*nodes, kind=F16, result_kind=None, constants=()):
    return model([helper.make_node(op, inputs, outputs, outputs[0], **fields) for op, inputs, outputs, fields in nodes], kind, [4], [4],
                 constants, result_kind)


def large():
    """x * 400 / 400: in 16 bits infinite where x is 1000."""
    k = numpy_helper.from_array(np.float16(400), "k")
    return chain(("Mul", ["x", "k"], ["big"], {}), ("Div", ["big", "k"], ["y"], {}), constants=[k])


def branch(op):
    k = numpy_helper.from_array(np.float16(400), "k")
    nodes = [helper.make_node("Mul", ["x", "k"], [op + "_big"]), helper.make_node("Div", [op + "_big", "k"], [op + "_y"])]
    return helper.make_graph(nodes, op, [], [helper.make_tensor_value_info(op + "_y", F16, [4])], [k])


def conditional():
    zero = numpy_helper.from_array(np.float16(0), "zero")
    nodes = [helper.make_node("ReduceSum", ["x"], ["sum"], keepdims=0), helper.make_node("Greater", ["sum", "zero"], ["is"]),
             helper.make_node("If", ["is"], ["y"], then_branch=branch("yes"), else_branch=branch("no"))]
    return model(nodes, F16, [4], [4], [zero])


def loop():
    """The state is doubled three times; in the body it is multiplied by 400 and divided again."""
    k, two = numpy_helper.from_array(np.float16(400), "k"), numpy_helper.from_array(np.float16(2), "two")
    body = helper.make_graph(
        [helper.make_node("Mul", ["s", "k"], ["big"]), helper.make_node("Div", ["big", "k"], ["back"]),
         helper.make_node("Mul", ["back", "two"], ["s_out"]), helper.make_node("Identity", ["go"], ["go_out"])],
        "body", [helper.make_tensor_value_info("i", TensorProto.INT64, []), helper.make_tensor_value_info("go", TensorProto.BOOL, []),
                 helper.make_tensor_value_info("s", F16, [4])],
        [helper.make_tensor_value_info("go_out", TensorProto.BOOL, []), helper.make_tensor_value_info("s_out", F16, [4])], [k, two])
    count = numpy_helper.from_array(np.int64(3), "count")
    return model([helper.make_node("Loop", ["count", "", "x"], ["y"], "loop", body=body)], F16, [4], [4], [count])


class Checks(ProgramChecks):
    prints_passes = False

    def save(self, name, net):
        onnx.save(net, self.path(name))
        return name

    def build(self, title, name, *options):
        done = self.program("build", name, "-o", "net.plan", "--threads", "1", "--no-timing", "--report", "net.json", *options)
        self.say(done.returncode == 0, f"{title}: {done.stderr.strip()}")
        return done.stdout

    def run(self, title, x, plan="net.plan"):
        np.save(self.path("x.npy"), x)
        done = self.program("run", plan, "-i", "x=x.npy", "-o", "y=y.npy")
        self.say(done.returncode == 0, f"running {title}: {done.stderr.strip()}")
        return np.load(self.path("y.npy"))

    def near(self, title, found, expected, bound):
        error = np.abs(found.astype(np.float64) - expected).max()
        self.say(found.dtype == np.float16 and error <= bound, f"{title}: {found.dtype}, error {error:.3g}, at most {bound:.3g}")
        return error

    def convolution(self):
        x = np.random.default_rng(2).standard_normal((2, 3, 16, 16)).astype(np.float16)
        expected = ReferenceEvaluator(convolution(F64)).run(None, {"x": x.astype(np.float64)})[0]
        half = float(np.abs(expected).max()) * 2 ** -11  # what one rounding of the result leaves
        name = self.save("half.onnx", convolution())
        said = self.build("a network of 16 bits", name)
        self.say(WIDENED + "5 nodes" in said, f"the build says how many nodes: {said}")
        self.near("a network of 16 bits", self.run("it", x), expected, 1.01 * half)
        with open(self.path("net.json"), encoding="utf-8") as file:
            report = json.load(file)
        self.say(report["inputs"][0]["type"] == "f16" and sorted(report["widened"]) == ["conv", "flatten", "pool", "product", "relu"],
                 f"the report: {report['inputs']}, {report['widened']}")
        done = self.program("inspect", "net.plan")
        self.say(done.returncode == 0 and "f16" in done.stdout, f"inspect: {done.stderr} {done.stdout[:300]}")
        for title, options in (("pinned", ["--pin", "conv=fp32", "--precision", "fp16"]), ("in fp16 where faster", ["--precision", "fp16"]),
                               ("a pinned kernel", ["--pin", "relu=reference"]), ("checked", ["--checked"]),
                               ("kept", ["--keep", "conv", "--precision", "fp16"]), ("not fused", ["--no-fusion"]),
                               ("with borders of 32 bits inside", ["--border", "x=fp32"])):
            self.build(title, name, *options)
            value = x.astype(np.float32) if "--border" in options else x
            self.near(title, self.run(title, value), expected, (8 if "fp16" in options else 1.01) * half)
        said = self.build("kept in 16 bits", name, "--keep-half")
        self.say(WIDENED not in said, f"--keep-half: {said}")
        self.near("kept in 16 bits", self.run("it", x), expected, 8 * half)

    def refit(self):
        x = np.random.default_rng(3).standard_normal((2, 3, 16, 16)).astype(np.float16)
        self.build("to be refitted", self.save("half.onnx", convolution()), "--refit-all")
        self.save("next.onnx", convolution(seed=5))
        done = self.program("refit", "net.plan", "--from", "next.onnx", "-o", "next.plan")
        self.say(done.returncode == 0, f"refit: {done.stderr}")
        expected = ReferenceEvaluator(convolution(F64, seed=5)).run(None, {"x": x.astype(np.float64)})[0]
        self.near("refitted", self.run("it", x, "next.plan"), expected, 1.01 * float(np.abs(expected).max()) * 2 ** -11)

    def int8(self):
        os.makedirs(self.path("samples"), exist_ok=True)
        random = np.random.default_rng(4)
        for i in range(4):
            np.save(self.path("samples", f"{i}.npy"), random.standard_normal((2, 3, 16, 16)).astype(np.float16))
        said = self.build("int8", self.save("half.onnx", convolution()), "--precision", "int8", "--calibration", "samples",
                          "--calibrator", "minmax", "--write-calibration", "table")
        self.say(" int8: " in said and " int8: 0 of" not in said, f"some kernel is in 8 bits: {said}")
        x = np.load(self.path("samples", "0.npy"))
        expected = ReferenceEvaluator(convolution(F64)).run(None, {"x": x.astype(np.float64)})[0]
        self.near("int8", self.run("it", x), expected, 0.05 * float(np.abs(expected).max()))

    def profile(self):
        self.build("a range of batches", self.save("open.onnx", convolution(batch="n")), "--shape", "x=1x3x16x16:2x3x16x16:5x3x16x16")
        for batch in (1, 2, 4):
            x = np.random.default_rng(batch).standard_normal((batch, 3, 16, 16)).astype(np.float16)
            expected = ReferenceEvaluator(convolution(F64, batch=batch)).run(None, {"x": x.astype(np.float64)})[0]
            self.near(f"batch {batch}", self.run("it", x), expected, 1.01 * float(np.abs(expected).max()) * 2 ** -11)

    def range(self):
        x = np.array([1, -1000, 1000, 0.5], np.float16)
        for title, net, expected in (("a chain", large(), x), ("branches", conditional(), x), ("a loop", loop(), 8 * x)):
            name = self.save("range.onnx", net)
            self.build(title, name)
            found = self.run(title, x)
            self.say(np.array_equal(found, expected), f"{title}, what 16 bits cannot hold between nodes: {found}")
            self.build(title, name, "--keep-half")
            found = self.run(title, x)
            self.say(np.isinf(found[1:3]).all(), f"{title}, kept in 16 bits, is infinite: {found}")

    def casts(self):
        """What a node of the model rounds to 16 bits, and shows, is rounded."""
        net = chain(("Cast", ["x"], ["y"], {"to": F16}), kind=F32, result_kind=F16)
        self.build("a conversion that is an output", self.save("cast.onnx", net))
        found = self.run("it", np.array([1, 1e6, 0.1, -3], np.float32))
        self.say(np.array_equal(found, np.array([1, np.inf, 0.1, -3], np.float16)), f"a conversion that is an output: {found}")
        net = chain(("Cast", ["x"], ["h"], {"to": F16}), ("Relu", ["h"], ["r"], {}), ("Cast", ["r"], ["y"], {"to": F32}), kind=F32)
        self.build("two conversions", self.save("cast.onnx", net))
        x = np.array([1, 0.1, 3e-8, -3], np.float32)
        found = self.run("it", x)
        error = np.abs(found - np.maximum(x, 0)).max()
        self.say(found.dtype == np.float32 and error <= 0.1 * 2 ** -11, f"two conversions: {found}")


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="tenon-half.") as folder:
        checks = Checks(sys.argv[1], folder)
        for part in (checks.convolution, checks.refit, checks.int8, checks.profile, checks.range, checks.casts):
            part()
        return checks.end()


if __name__ == "__main__":
    sys.exit(main())
