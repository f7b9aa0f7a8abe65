# SPDX-License-Identifier: Apache-2.0
"""Networks with sequences and optionals between their nodes: compared with the onnx package's reference, by kernels and by references,
built beforehand and on the fly, guarded, in lower precision; and what is refused.

Usage: check_sequences.py TENON SEQUENCES STUB, where TENON is the program, SEQUENCES the library of tests/sequences and STUB that of a
device that is the processor's (tests/stub). Needs NumPy and onnx.
"""

import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from checks import ProgramChecks

F, I, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
OPS = ("SequenceConstruct", "SequenceEmpty", "SequenceInsert", "SequenceErase", "SequenceAt", "SequenceLength", "SplitToSequence",
       "ConcatFromSequence", "Optional", "OptionalHasElement", "OptionalGetElement")
FORCED = ",".join(f"{op}=reference" for op in OPS)


def info(name, kind, *shape):
    return helper.make_tensor_value_info(name, kind, list(shape))


def node(op, inputs, outputs, **fields):
    return helper.make_node(op, inputs.split(" ") if inputs else [], outputs.split(), name=f"{op}_{outputs.split()[0]}", **fields)


def model(nodes, inputs, outputs, constants=(), lists=(), optionals=()):
    """Names of sequences and optionals of floats are declared, as exporters do."""
    tensor = helper.make_tensor_type_proto(F, None)
    declared = [helper.make_value_info(n, helper.make_sequence_type_proto(tensor)) for n in lists]
    declared += [helper.make_value_info(n, helper.make_optional_type_proto(tensor)) for n in optionals]
    graph = helper.make_graph(nodes, "g", inputs, outputs, [numpy_helper.from_array(np.array(v), n) for n, v in constants],
                              value_info=declared)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def built_by_hand():
    return model([node("SequenceConstruct", "x z", "s"), node("Relu", "z", "r"), node("SequenceInsert", "s r one", "t"),
                  node("SequenceAt", "t minus", "a"), node("SequenceAt", "t one", "b"), node("Add", "a b", "c"),
                  node("SequenceLength", "t", "n")],
                 [info("x", F, 2, 3), info("z", F, 2, 3)], [info("c", F, 2, 3), info("n", I)],
                 [("one", np.int64(1)), ("minus", np.int64(-1))], ["s", "t"])


def pieces():
    """Of unequal lengths, without the second, joined again."""
    return model([node("Tanh", "x", "y"), node("SplitToSequence", "y lengths", "s", axis=1), node("SequenceErase", "s one", "t"),
                  node("ConcatFromSequence", "t", "j", axis=1), node("Exp", "j", "e"), node("ReduceSum", "e", "r", keepdims=0)],
                 [info("x", F, 2, 6)], [info("e", F, "a", "b"), info("r", F)],
                 [("lengths", np.array([1, 2, 3])), ("one", np.int64(1))], ["s", "t"])


def rows():
    """As many items as an open extent has; stacked along a new axis."""
    return model([node("SplitToSequence", "x", "s", keepdims=0), node("SequenceLength", "s", "n"),
                  node("ConcatFromSequence", "s", "j", axis=1, new_axis=1), node("MatMul", "w j", "p"), node("Relu", "p", "q")],
                 [info("x", F, "rows", 4)], [info("q", F, 2, "rows"), info("n", I)],
                 [("w", np.arange(8, dtype=np.float32).reshape(2, 4) - 3)], ["s"])


def collected():
    """Into an empty one, item by item; an item by a length."""
    return model([node("SequenceEmpty", "", "s0"), node("SequenceInsert", "s0 x", "s1"), node("Neg", "x", "m"),
                  node("SequenceInsert", "s1 m zero", "s2"), node("SequenceLength", "s1", "n"), node("Sub", "n one", "k"),
                  node("SequenceAt", "s2 k", "a"), node("Sigmoid", "a", "y"), node("ConcatFromSequence", "s2", "j", axis=-1)],
                 [info("x", F, 3, "n")], [info("y", F, 3, "n"), info("j", F, 3, "m")],
                 [("zero", np.int64(0)), ("one", np.int64(1))], ["s0", "s1", "s2"])


def lists_of_items():
    """Of an item whose shape only the run knows."""
    return model([node("SplitToSequence", "x lengths", "s"), node("SequenceAt", "s one", "a"), node("Mul", "a a", "b"),
                  node("SplitToSequence", "b", "t", axis=1, keepdims=0), node("SequenceAt", "t one", "y"),
                  node("SequenceConstruct", "y y", "u"), node("ConcatFromSequence", "u", "j", axis=0), node("Shape", "j", "n")],
                 [info("x", F, 5, 3)], [info("y", F, "k"), info("j", F, "kk"), info("n", I, 1)],
                 [("one", np.int64(1)), ("lengths", np.array([1, 4]))], ["s", "t", "u"])


def optionals():
    return model([node("Optional", "x", "o"), node("OptionalHasElement", "o", "has"), node("OptionalGetElement", "o", "g"),
                  node("Abs", "g", "y")],
                 [info("x", F, 2, 2)], [info("has", B), info("y", F, 2, 2)], optionals=["o"])


def constants():
    """All that it is made of is known at build, and stays a run's work."""
    return model([node("SequenceConstruct", "a b", "s"), node("SequenceAt", "s one", "c"), node("Add", "x c", "y")],
                 [info("x", F, 2)], [info("y", F, 2)],
                 [("a", np.zeros(2, np.float32)), ("b", np.array([1, 2], np.float32)), ("one", np.int64(1))], ["s"])


NETWORKS = {f.__name__: f for f in (built_by_hand, pieces, rows, collected, lists_of_items, optionals, constants)}
# What the onnx package's reference does not compute.
KNOWN = {"optionals": lambda values: [True, np.abs(values["x"])]}


def in_test_domain(whole):
    copy = onnx.ModelProto()
    copy.CopyFrom(whole)
    for n in copy.graph.node:
        if n.op_type in OPS:
            n.domain = "Test"
    copy.opset_import.append(helper.make_opsetid("Test", 1))
    return copy


def values_of(whole, length=5):
    state = np.random.RandomState(3)
    return {item.name: state.randn(*[d.dim_value if d.HasField("dim_value") else length for d in item.type.tensor_type.shape.dim])
            .astype(np.float32) for item in whole.graph.input}


class Checker(ProgramChecks):
    prints_passes = False

    def __init__(self, tenon, library, stub, folder):
        super().__init__(tenon, folder)
        self.library, self.stub = library, stub

    def call(self, *arguments, environment=None):
        return subprocess.run([self.tenon, *arguments, "--plugin", self.library], capture_output=True, text=True, timeout=120,
                              cwd=self.folder, env={**os.environ, **(environment or {})})

    def save(self, whole):
        onnx.save(whole, os.path.join(self.folder, "m.onnx"))

    def compare(self, name, whole, values, *options, source="m.onnx", environment=None, tolerance=1e-5):
        for key, value in values.items():
            np.save(os.path.join(self.folder, f"{key}.npy"), value)
        done = self.call("run", source, "--output-dir", ".", *options, *(a for k in values for a in ("--input", f"{k}={k}.npy")),
                         environment=environment)
        if done.returncode != 0:
            return self.report(name, False, f"exit {done.returncode}: {done.stderr.strip()}")
        known = KNOWN.get(name.split(",")[0])
        expected = known(values) if known else ReferenceEvaluator(whole).run(None, values)
        for item, value in zip(whole.graph.output, expected):
            found = np.load(os.path.join(self.folder, f"{item.name}.npy"))
            value = np.asarray(value)
            if found.shape != value.shape or not np.allclose(found, value, rtol=tolerance, atol=tolerance):
                return self.report(name, False, f"output {item.name}: {found.tolist()}, expected {value.tolist()}")
        return self.report(name, True)

    def network(self, name):
        whole = NETWORKS[name]()
        onnx.checker.check_model(whole)
        self.save(in_test_domain(whole))
        self.compare(name, whole, values_of(whole))
        self.compare(f"{name}, by references", whole, values_of(whole), environment={"TENON_FORCE_KERNEL": FORCED})
        self.compare(f"{name}, on a device", whole, values_of(whole), "--device", "stub", "--plugin", self.stub)
        done = self.call("build", "m.onnx", "-o", f"{name}.plan")
        if done.returncode != 0:
            return self.report(f"{name}, built", False, done.stderr)
        self.compare(f"{name}, guarded", whole, values_of(whole), "--checked", source=f"{name}.plan")
        for length in (1, 5, 9):
            self.compare(f"{name}, length {length}", whole, values_of(whole, length), source=f"{name}.plan")
        done = self.call("build", "m.onnx", "-o", "checked.plan", "--checked")
        self.report(f"{name}, built guarded", done.returncode == 0, done.stderr)
        done = self.call("build", "m.onnx", "-o", "lower.plan", "--precision", "bf16")
        self.report(f"{name}, built with less precision", done.returncode == 0, done.stderr)
        return self.compare(f"{name}, with less precision", whole, values_of(whole), source="lower.plan", tolerance=0.05)

    def refused(self, name, whole, *says, code=1):
        self.save(whole)
        done = self.call("build", "m.onnx", "-o", "refused.plan")
        missing = [text for text in says if text not in done.stderr]
        self.report(name, done.returncode == code and not missing, f"exit {done.returncode}: {done.stderr.strip()}")

    def hostile(self):
        made = [node("SequenceConstruct", "x", "s")]
        self.refused("a sequence for a dense tensor",
                     in_test_domain(model([*made, node("Relu", "s", "y")], [info("x", F, 2)], [info("y", F, 2)])),
                     "tensor 's') is a sequence; the port takes a dense tensor", "Relu")
        self.refused("items of another type",
                     in_test_domain(model([*made, node("SequenceInsert", "s i", "t"), node("SequenceLength", "t", "n")],
                                          [info("x", F, 2), info("i", I, 2)], [info("n", I)])), "is i64")

    def calibrated(self):
        whole = pieces()
        self.save(in_test_domain(whole))
        os.makedirs(os.path.join(self.folder, "samples"))
        for i in range(3):
            np.save(os.path.join(self.folder, "samples", f"{i}.npy"), values_of(whole)["x"] * (i + 1))
        done = self.call("build", "m.onnx", "-o", "int8.plan", "--precision", "int8", "--calibration", "samples")
        self.report("calibration", done.returncode == 0, f"exit {done.returncode}: {done.stderr.strip()}")
        self.compare("pieces, calibrated", whole, values_of(whole), source="int8.plan", tolerance=0.1)

    def checked(self):
        done = subprocess.run([self.tenon, "plugin", "check", self.library], capture_output=True, text=True, timeout=300, cwd=self.folder)
        self.report("plugin check", done.returncode == 0 and " 0 failed" in done.stdout, done.stdout)

    def timed(self):
        done = subprocess.run([self.tenon, "plugin", "bench", self.library], capture_output=True, text=True, timeout=60, cwd=self.folder)
        self.report("plugin bench", done.returncode > 0 and "not timed alone" in done.stderr, f"{done.returncode}: {done.stderr}")
        done = self.call("bench", "pieces.plan", "--seconds", "0.1")
        self.report("bench", done.returncode == 0, f"{done.returncode}: {done.stderr}")

    def isolated(self):
        whole = pieces()
        values = values_of(whole)
        done = self.call("run", "pieces.plan", "--isolate", "--output-dir", ".", *(a for k in values for a in ("--input", f"{k}={k}.npy")))
        self.report("isolation refuses", done.returncode == 3 and "dense tensors alone" in done.stderr, f"{done.returncode}: {done.stderr}")


def main():
    with tempfile.TemporaryDirectory(prefix="tenon-sequences.") as folder:
        checker = Checker(*(os.path.abspath(p) for p in sys.argv[1:4]), folder)
        for name in NETWORKS:
            checker.network(name)
        checker.hostile()
        checker.calibrated()
        checker.checked()
        checker.timed()
        checker.isolated()
    return checker.end()


if __name__ == "__main__":
    sys.exit(main())
