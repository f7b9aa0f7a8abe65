# SPDX-License-Identifier: Apache-2.0
"""Plans with several profiles, on the command line: built, shown, run at shapes of each, isolated, guarded, with bodies, in 8 bits.

Usage: check_profiles.py TENON GUARDED BODIES, where TENON is the program, GUARDED the library guarded_layers of tests/guarded and
BODIES that of tests/bodies. Needs NumPy and onnx.
"""

import json
import os
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from checks import ProgramChecks

LENET = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "models", "tiny", "tiny_lenet.onnx")
ONE, MANY = "input=1x1x28x28", "input=8x1x28x28:16x1x28x28:32x1x28x28"
TWO = ("--shape", ONE, "--next-profile", "--shape", MANY)
F, B = TensorProto.FLOAT, TensorProto.BOOL


class Checks(ProgramChecks):
    def expect(self, text, code, parts, *arguments):
        """The exit code, and all of the parts in what is printed."""
        done = self.program(*arguments)
        missing = [part for part in parts if part not in done.stdout + done.stderr]
        self.say(done.returncode == code and not missing,
                 text + (f": exit {done.returncode}, without {missing}: {done.stderr[-500:]}"
                         if done.returncode != code or missing else ""))
        return done

    def result(self, plan, inputs, *options):
        """The first output, or none."""
        given = []
        for name, values in inputs.items():
            np.save(self.path(f"{name}.npy"), values)
            given += ["--input", f"{name}={name}.npy"]
        done = self.program("run", plan, *given, "--output", "out.npy", *options)
        if done.returncode != 0:
            print(done.stderr)
            return None
        return np.load(self.path("out.npy"))

    def same(self, text, plan, other, inputs, *options, atol=1e-5):
        a, b = self.result(plan, inputs, *options), self.result(other, inputs, *options)
        self.say(a is not None and b is not None and a.shape == b.shape and np.allclose(a, b, atol=atol), text)


def images(count):
    return {"input": np.random.RandomState(count).rand(count, 1, 28, 28).astype(np.float32)}


def check_build(checks):
    build = ("build", LENET, "--threads", "1", "--timing-seconds", "2")
    checks.expect("two profiles", 0, ["profile 0:", "profile 1:"], *build, "-o", "two.plan", *TWO, "--report", "two.html")
    checks.expect("one for all", 0, [], *build, "-o", "one.plan", "--shape", "input=1x1x28x28:4x1x28x28:32x1x28x28")
    with open(checks.path("two.html"), encoding="utf-8") as page:
        checks.say("<h2>Profiles</h2>" in page.read(), "the page has a table of profiles")
    report = json.loads(checks.program(*build, "-o", "again.plan", *TWO, "--json").stdout)
    optima = [profile["inputs"][0]["opt"][0] for profile in report["profiles"]]
    checks.say(optima == [1, 16] and report["profiles"][0]["nodes"] == report["nodes"], "the report has both")
    plan = json.loads(checks.program("inspect", "two.plan", "--json").stdout)
    checks.say([[i["max"][0] for i in p] for p in plan["profiles"]] == [[1], [32]] and
               [p["profile"] for p in plan["programs"]] == [0, 1], "inspect has both")
    checks.expect("inspect", 0, ["profile 1  input  16x1x28x28 (8x1x28x28 to 32x1x28x28)", "profile 1)"], "inspect", "two.plan")
    checks.expect("doctor", 0, ["profile 0: this machine", "profile 1: this machine"], "doctor", "two.plan")
    checks.expect("inspect's page", 0, [], "inspect", "two.plan", "--html", "plan.html")
    single = json.loads(checks.program("inspect", "one.plan", "--json").stdout)
    checks.say("profiles" not in single and "profile" not in single["programs"][0], "one profile is shown as before")
    for text, wrong in (("at the beginning", ("--next-profile", "--shape", ONE)), ("at the end", ("--shape", ONE, "--next-profile")),
                        ("twice", ("--shape", ONE, "--next-profile", "--next-profile", "--shape", MANY))):
        checks.expect(f"--next-profile {text}", 2, ["between the shapes of two profiles"], *build, "-o", "wrong.plan", *wrong)
    checks.expect("an input twice in one", 1, ["input 'input' has two profiles"], *build, "-o", "wrong.plan", "--shape", ONE,
                  "--shape", ONE)
    checks.expect("an unknown input in the second", 1, ["profile 1", "'inputt'"], *build, "-o", "wrong.plan", "--shape", ONE,
                  "--next-profile", "--shape", "inputt=1x1x28x28")


def check_runs(checks):
    for count in (1, 8, 16, 20, 32):
        checks.same(f"{count} images", "two.plan", "one.plan", images(count))
    checks.same("guarded", "two.plan", "one.plan", images(9), "--checked")
    checks.same("other threads", "two.plan", "one.plan", images(9), "--threads", "2")
    np.save(checks.path("gap.npy"), images(4)["input"])
    run = ("run", "two.plan", "--input")
    checks.expect("a gap", 1, ["no profile has this shape", "profile 1: input 'input' has shape [4, 1, 28, 28]: axis 0 is 4"], *run,
                  "gap.npy")
    np.save(checks.path("eight.npy"), images(8)["input"])
    checks.expect("the chosen one", 0, [], *run, "eight.npy", "--use-profile", "1")
    checks.expect("another one", 1, ["profile 1 has it, and profile 0 is chosen"], *run, "eight.npy", "--use-profile", "0")
    checks.expect("none", 1, ["there is no profile 2: the plan has 2"], *run, "eight.npy", "--use-profile", "2")
    checks.expect("no number", 2, ["the number of a profile"], *run, "eight.npy", "--use-profile", "x")
    checks.expect("of a model", 2, ["--use-profile"], "run", LENET, "--input", "eight.npy", "--use-profile", "0")
    for shape in ((), ("-s", "20x1x28x28"), ("--use-profile", "1")):
        checks.expect(f"bench {shape}", 0, ["median_ms"], "bench", "two.plan", "--seconds", "0.05", *shape)
    checks.expect("bench and its profile of times", 0, ["conv1"], "bench", "two.plan", "--seconds", "0.05", "--use-profile", "1",
                  "--profile")


def check_checked_build(checks):
    checks.expect("a checked build runs each", 0, [], "build", LENET, "-o", "checked.plan", "--threads", "1", "--no-timing",
                  "--checked", *TWO)


def check_isolated(checks, library):
    """A plugin's kernel between two of Tenon's, in a helper process for each profile."""
    graph = helper.make_graph(
        [helper.make_node("Abs", ["x"], ["a"]),
         helper.make_node("Faulty", ["a", "w"], ["b"], name="plugin", domain="tests.guarded", mistake="none", stage="run"),
         helper.make_node("Neg", ["b"], ["y"])], "isolated", [helper.make_tensor_value_info("x", F, ["n", 5])],
        [helper.make_tensor_value_info("y", F, ["n", 5])], [numpy_helper.from_array(np.array([0.5], np.float32), "w")])
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17),
                                                                    helper.make_opsetid("tests.guarded", 1)]),
              checks.path("isolated.onnx"))
    checks.expect("with a plugin", 0, [], "build", "isolated.onnx", "-o", "isolated.plan", "--plugin", library, "--threads", "1",
                  "--no-timing", "--shape", "x=1x5:2x5:3x5", "--next-profile", "--shape", "x=8x5", "--next-profile", "--shape",
                  "x=4x5:5x5:6x5")
    for rows in (2, 8, 5):
        inputs = {"x": np.random.RandomState(rows).rand(rows, 5).astype(np.float32) - 0.5}
        plain = checks.result("isolated.plan", inputs, "--plugin", library)
        apart = checks.result("isolated.plan", inputs, "--plugin", library, "--isolate")
        checks.say(plain is not None and apart is not None and np.array_equal(plain, apart), f"isolated, {rows} rows")


def check_bodies(checks, library):
    """Branches that are built once for all profiles."""
    add = helper.make_graph([helper.make_node("Add", ["x", "k"], ["t"])], "then", [], [helper.make_tensor_value_info("t", F, None)])
    mul = helper.make_graph([helper.make_node("Mul", ["x", "x"], ["e"])], "else", [], [helper.make_tensor_value_info("e", F, None)])
    graph = helper.make_graph([helper.make_node("If", ["c"], ["y"], domain="Test", then_branch=add, else_branch=mul)], "bodies",
                              [helper.make_tensor_value_info("x", F, ["n", 3]), helper.make_tensor_value_info("c", B, [])],
                              [helper.make_tensor_value_info("y", F, ["n", 3])],
                              [numpy_helper.from_array(np.array([1, 2, 3], np.float32), "k")])
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("Test", 1)]),
              checks.path("bodies.onnx"))
    checks.expect("with bodies", 0, [], "build", "bodies.onnx", "-o", "bodies.plan", "--plugin", library, "--threads", "1",
                  "--no-timing", "--shape", "x=2x3", "--next-profile", "--shape", "x=4x3:5x3:6x3")
    for rows in (2, 5):
        for choice in (True, False):
            x = np.random.RandomState(rows).rand(rows, 3).astype(np.float32)
            y = checks.result("bodies.plan", {"x": x, "c": np.array(choice)}, "--plugin", library)
            wanted = x + np.array([1, 2, 3], np.float32) if choice else x * x
            checks.say(y is not None and np.allclose(y, wanted), f"a branch, {rows} rows, {choice}")


def check_eight_bits(checks):
    os.makedirs(checks.path("samples"))
    for i in range(4):
        np.save(checks.path(f"samples/{i}.npy"), images(i + 50)["input"][:1])
    checks.expect("8 bits", 0, [], "build", LENET, "-o", "int8.plan", "--threads", "1", "--no-timing", "--precision", "int8",
                  "--calibration", "samples", *TWO)
    for count in (1, 8):
        checks.same(f"8 bits, {count} images", "int8.plan", "one.plan", images(count), atol=0.1)


def main():
    if len(sys.argv) != 4:
        print(__doc__, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="tenon-profiles.") as folder:
        tenon, guarded, bodies = (os.path.abspath(path) for path in sys.argv[1:4])
        checks = Checks(tenon, folder)
        check_build(checks)
        check_runs(checks)
        check_checked_build(checks)
        check_isolated(checks, guarded)
        check_bodies(checks, bodies)
        check_eight_bits(checks)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
