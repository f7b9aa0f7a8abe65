# SPDX-License-Identifier: Apache-2.0
"""ONNX networks of strings: initializers, nodes Constant, inputs from .pb files and outputs printed, by kernels and by references,
through a plan, guarded and isolated, and models whose strings are damaged; compared with Python's own strings.

Usage: check_strings.py TENON STRINGS, where TENON is the program and STRINGS the library of tests/strings. Needs NumPy and onnx.
"""

import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from checks import ProgramChecks

S, I = TensorProto.STRING, TensorProto.INT64
FORCED = "Join=reference,Select=reference"
ENDS = ["!", "", "été\n"]
WORDS = ["one", 'say "two"', "日本"]


def strings(name, values):
    return helper.make_tensor(name, S, [len(values)], [v.encode() for v in values])


def node(op, inputs, outputs, domain="Test", **fields):
    return helper.make_node(op, inputs.split(), outputs.split(), name=f"{op}_{outputs}", domain=domain, **fields)


def model(nodes, outputs, constants=()):
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", S, [3])],
                              [helper.make_tensor_value_info(name, kind, [3]) for name, kind in outputs], list(constants))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid("Test", 1)], ir_version=9)


def network():
    """Strings from an initializer and from the three forms of Constant; what is printed and what is numbers."""
    return model([
        helper.make_node("Constant", [], ["more"], value_strings=[b"1", b"22", b"333"]),
        helper.make_node("Constant", [], ["tensor"], value=strings("", WORDS)),
        node("Join", "x ends", "a"), node("Join", "a more", "joined"),
        node("Select", "joined at", "picked"), node("Length", "picked", "lengths"),
        node("LookUp", "x", "numbers", keys=["one", "two"]), node("Equal", "x tensor", "same")],
        [("joined", S), ("picked", S), ("lengths", I), ("numbers", I), ("same", TensorProto.BOOL)],
        [strings("ends", ENDS), numpy_helper.from_array(np.array([2, 0, 2]), "at")])


class Checker(ProgramChecks):
    prints_passes = False

    def __init__(self, tenon, library, folder):
        super().__init__(tenon, folder)
        self.library = library

    def call(self, *arguments, forced=None):
        environment = dict(os.environ, **({"TENON_FORCE_KERNEL": forced} if forced else {}))
        return subprocess.run([self.tenon, arguments[0], "--plugin", self.library, *arguments[1:]], capture_output=True, text=True,
                              timeout=120, cwd=self.folder, env=environment)

    def save(self, name, message):
        with open(os.path.join(self.folder, name), "wb") as file:
            file.write(message.SerializeToString())

    def check_printed(self, name, done, values):
        joined = [x + e + m for x, e, m in zip(values, ENDS, ["1", "22", "333"])]
        picked = [joined[2], joined[0], joined[2]]

        def shown(all_of_it):
            escaped = [v.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\x0a") for v in all_of_it]
            return [f'"{v}"' for v in escaped]
        wanted = [shown(joined), shown(picked), [str(len(v.encode())) for v in picked],
                  [str({"one": 0, "two": 1}.get(v, -1)) for v in values]]
        text = " ".join(done.stdout.split())
        missing = [w for w in wanted if "[" + " ".join(w) + "]" not in text.replace("[ ", "[")]
        self.report(name, done.returncode == 0 and not missing, f"{done.returncode}: {missing}: {done.stdout}{done.stderr}")

    def runs(self):
        self.save("m.onnx", network())
        for values in (["one", "two", "three"], ["", "one", "x"]):
            self.save("x.pb", strings("x", values))
            given = ("--input", "x=x.pb", "--print")
            self.check_printed("a model", self.call("run", "m.onnx", *given), values)
            self.check_printed("by references", self.call("run", "m.onnx", *given, forced=FORCED), values)
            self.call("build", "m.onnx", "-o", "m.plan")
            self.check_printed("a plan", self.call("run", "m.plan", *given), values)
            self.check_printed("guarded", self.call("run", "m.plan", "--checked", *given), values)
        done = self.call("run", "m.plan", "--isolate", *given)
        self.report("isolation is refused", done.returncode == 3 and "has no strings" in done.stderr, done.stderr)
        done = self.call("run", "m.plan", *given[:2], "--output", "joined=y.npy")
        self.report("a file is refused", done.returncode != 0 and "strings are written to no file" in done.stderr, done.stderr)
        done = self.call("inspect", "m.onnx")
        self.report("inspect names the type", "string" in done.stdout, done.stdout + done.stderr)

    def damaged(self):
        few = network()
        del few.graph.initializer[0].string_data[:]
        raw = network()
        del raw.graph.initializer[0].string_data[:]
        raw.graph.initializer[0].raw_data = b"123"
        for what, made, says in (("too few", few, "3 elements, but string_data has 0"), ("raw", raw, "string_data alone")):
            self.save("bad.onnx", made)
            done = self.call("inspect", "bad.onnx")
            self.report(what, done.returncode == 1 and says in done.stderr, f"{done.returncode}: {done.stderr}")
        self.save("x.pb", strings("x", ["one"]))
        done = self.call("run", "m.onnx", "--input", "x=x.pb")
        self.report("another shape", done.returncode != 0 and "[1]" in done.stderr + done.stdout, done.stderr)

    def tested(self):
        """Data sets as ONNX's own tests have them."""
        values = ["one", "two", "three"]
        joined = [x + e for x, e in zip(values, ENDS)]
        for name, wanted, is_right in (("right", joined, True), ("wrong", joined[::-1], False)):
            os.makedirs(os.path.join(self.folder, name, "test_data_set_0"))
            self.save(f"{name}/model.onnx", model([node("Join", "x ends", "y")], [("y", S)], [strings("ends", ENDS)]))
            self.save(f"{name}/test_data_set_0/input_0.pb", strings("x", values))
            self.save(f"{name}/test_data_set_0/output_0.pb", strings("y", wanted))
            done = self.call("test", name)
            self.report(f"test data, {name}", (done.returncode == 0) == is_right and (is_right or "expected" in done.stdout),
                        f"{done.returncode}: {done.stdout}{done.stderr}")

    def checked(self):
        done = subprocess.run([self.tenon, "plugin", "check", self.library], capture_output=True, text=True, timeout=300,
                              cwd=self.folder)
        self.report("plugin check", done.returncode == 0, done.stdout[-2000:] + done.stderr)


def main():
    with tempfile.TemporaryDirectory(prefix="tenon-strings.") as folder:
        checker = Checker(*(os.path.abspath(p) for p in sys.argv[1:3]), folder)
        checker.runs()
        checker.damaged()
        checker.tested()
        checker.checked()
    return checker.end()


if __name__ == "__main__":
    sys.exit(main())
