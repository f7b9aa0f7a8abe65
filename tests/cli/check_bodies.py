# SPDX-License-Identifier: Apache-2.0
"""Networks with graphs in the fields of their nodes: branches, loops and scans of a test library, with what they capture, bodies
in bodies, functions; compared with the onnx package's reference, by kernels and by references, built beforehand and on the fly,
and damaged.

Usage: check_bodies.py TENON BODIES, where TENON is the program and BODIES the library of tests/bodies. Needs NumPy and onnx.
"""

import json
import os
import random
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, inliner, numpy_helper
from onnx.reference import ReferenceEvaluator

from checks import ProgramChecks

F, I, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
OPS = ("If", "Loop", "Scan")
FORCED = "If=reference,Loop=reference,While=reference,Scan=reference"
TRUE = ("true", np.array(True))  # the onnx package's loop does nothing without a condition


def info(name, kind, *shape):
    return helper.make_tensor_value_info(name, kind, None if shape == (None,) else list(shape))


def node(op, inputs, outputs, **fields):
    return helper.make_node(op, inputs.split(" ") if inputs else [], outputs.split(), name=f"{op}_{outputs.split()[0]}", **fields)


def graph(name, nodes, inputs, outputs, constants=()):
    return helper.make_graph(nodes, name, inputs, [info(o, k, *s) for o, k, *s in outputs],
                             [numpy_helper.from_array(v, n) for n, v in constants])


def model(whole, functions=()):
    opsets = [helper.make_opsetid("", 17)] + [helper.make_opsetid("Local", 1)] * bool(functions)
    return helper.make_model(whole, opset_imports=opsets, ir_version=9, functions=list(functions))


def branches(condition, then_nodes, else_nodes, output="y", constants=()):
    return node("If", condition, output, then_branch=graph("then", then_nodes, [], [("t", F, None)], constants),
                else_branch=graph("else", else_nodes, [], [("e", F, None)]))


def branch():
    """Both read the same outer tensor, one a constant of the outer graph."""
    return model(graph("g", [
        node("Relu", "x", "r"),
        branches("c", [node("Add", "r k", "t")], [node("Mul", "r r", "u"), node("Sub", "u x", "e")])],
        [info("x", F, 2, 3), info("c", B)], [("y", F, 2, 3)], [("k", np.array([1, 2, 3], np.float32))]))


def no_captures():
    constant = np.arange(6, dtype=np.float32).reshape(2, 3)
    return model(graph("g", [branches("c", [node("Constant", "", "t", value=numpy_helper.from_array(constant))],
                                      [node("Constant", "", "e", value=numpy_helper.from_array(-constant))])],
                       [info("c", B)], [("y", F, 2, 3)]))


def passed_through():
    """A branch without a node of its own: its result is what it captured."""
    return model(graph("g", [branches("c", [node("Identity", "x", "t")], [node("Neg", "x", "e")])],
                       [info("x", F, 5), info("c", B)], [("y", F, 5)]))


def shadowed():
    """The body has a name that the graph around it has as well, and defines it after a node that reads it."""
    inner = graph("then", [node("Add", "h x", "t"), node("Exp", "x", "h")][::-1], [], [("t", F, None)])
    other = graph("else", [node("Abs", "x", "e")], [], [("e", F, None)])
    nodes = [node("Neg", "x", "z"), node("If", "c", "w", then_branch=inner, else_branch=other), node("Add", "w z", "y")]
    return model(graph("g", nodes, [info("x", F, 4), info("c", B)], [("y", F, 4)]))


def nested():
    """A branch in a branch in a loop; the innermost reads a tensor of each level."""
    deepest = graph("deep", [node("Add", "carried x", "s1"), node("Add", "s1 m", "d")], [], [("d", F, None)])
    other = graph("other", [node("Sub", "m x", "o")], [], [("o", F, None)])
    middle = graph("middle", [node("Mul", "carried carried", "m"),
                              node("If", "flag", "mm", then_branch=deepest, else_branch=other)], [], [("mm", F, None)])
    plain = graph("plain", [node("Neg", "x", "p")], [], [("p", F, None)])
    body = graph("body", [node("Cast", "i", "fi", to=B), node("Identity", "fi", "flag"),
                          node("If", "c", "next", then_branch=middle, else_branch=plain),
                          node("Identity", "go", "go_out"), node("Identity", "next", "stacked")],
                 [info("i", I), info("go", B), info("carried", F, None)],
                 [("go_out", B), ("next", F, None), ("stacked", F, None)])
    return model(graph("g", [node("Loop", "n true x", "y ys", body=body)],
                       [info("x", F, 3), info("c", B)], [("y", F, 3), ("ys", F, 3, 3)], [("n", np.array(3, np.int64)), TRUE]))


def counted_loop():
    body = graph("body", [node("Cast", "i", "f", to=F), node("Mul", "v w", "a"), node("Add", "a f", "v_out"),
                          node("Add", "s v", "s_out"), node("Identity", "go", "go_out"), node("ReduceSum", "v_out", "sum"), node("Reshape", "sum one", "total")],
                 [info("i", I), info("go", B), info("v", F, None), info("s", F, None)],
                 [("go_out", B), ("v_out", F, None), ("s_out", F, None), ("total", F, None)], [("one", np.array([1], np.int64))])
    return model(graph("g", [node("Tanh", "x", "w"), node("Loop", "n true x x", "y s t", body=body)],
                       [info("x", F, 2, 3)], [("y", F, 2, 3), ("s", F, 2, 3), ("t", F, 7, 1)], [("n", np.array(7, np.int64)), TRUE]))


def no_iteration():
    body = graph("body", [node("Neg", "v", "v_out"), node("Identity", "go", "go_out")],
                 [info("i", I), info("go", B), info("v", F, None)], [("go_out", B), ("v_out", F, None)])
    return model(graph("g", [node("Loop", "n true x", "y", body=body)],
                       [info("x", F, 4)], [("y", F, 4)], [("n", np.array(0, np.int64)), TRUE]))


def conditional_loop():
    """Ends when the sum passes a limit: its number of iterations is data."""
    body = graph("body", [node("Add", "v x", "v_out"), node("ReduceSum", "v_out", "sum", keepdims=0),
                          node("Less", "sum limit", "go_out"), node("Mul", "v_out two", "stacked")],
                 [info("i", I), info("go", B), info("v", F, None)],
                 [("go_out", B), ("v_out", F, None), ("stacked", F, None)], [("two", np.array(2, np.float32))])
    return model(graph("g", [node("Abs", "z", "x"), node("Loop", "n c x", "y t", body=body), node("ReduceMax", "t", "u")],
                       [info("z", F, 6), info("c", B)], [("y", F, 6), ("t", F, "n", 6), ("u", F, 1, 1)],
                       [("n", np.array(40, np.int64)), ("limit", np.array(30, np.float32))]))


def growing():
    """What is carried is longer after each iteration, up to a length that is data."""
    body = graph("body", [node("Concat", "v x", "v_out", axis=0), node("Shape", "v_out", "n_out"), node("Less", "n_out limit", "less"),
                          node("Squeeze", "less", "go_out")],
                 [info("i", I), info("go", B), info("v", F, None)], [("go_out", B), ("v_out", F, None)],
                 [("limit", np.array([19], np.int64))])
    return model(graph("g", [node("Neg", "x", "v"), node("Loop", "n c v", "y", body=body), node("Relu", "y", "z")],
                       [info("x", F, "length"), info("c", B)], [("y", F, "grown"), ("z", F, "grown")], [("n", np.array(6, np.int64))]))


def scan(shape=(5, 3)):
    body = graph("body", [node("MatMul", "h w", "a"), node("Add", "a s", "b"), node("Tanh", "b", "h_out"),
                          node("Mul", "h_out s2", "o")],
                 [info("h", F, None), info("s", F, None), info("s2", F, None)], [("h_out", F, None), ("o", F, None)])
    return model(graph("g", [node("Scan", "h0 x z", "h os", body=body, num_scan_inputs=2)],
                       [info("h0", F, 3), info("x", F, *shape), info("z", F, *shape)], [("h", F, 3), ("os", F, *shape)],
                       [("w", np.linspace(-1, 1, 9, dtype=np.float32).reshape(3, 3))]))


def unknown_extents():
    return scan(("length", 3))


def captured_shape():
    """The body reshapes to a shape that is computed around it, of an extent that only a run knows."""
    inner = graph("then", [node("Reshape", "x s", "t")], [], [("t", F, None)])
    other = graph("else", [node("Neg", "x", "n"), node("Reshape", "n s", "e")], [], [("e", F, None)])
    return model(graph("g", [node("Shape", "x", "all"), node("Gather", "all zero", "length"), node("Concat", "six length", "s", axis=0),
                             node("If", "c", "y", then_branch=inner, else_branch=other)],
                       [info("x", F, "length", 6), info("c", B)], [("y", F, 6, "length")],
                       [("zero", np.array([0], np.int64)), ("six", np.array([6], np.int64))]))


def many_captures():
    nodes = [node("Add" if i % 2 else "Mul", f"a{i} x", f"a{i + 1}") for i in range(20)]
    total = [node("Sum", " ".join(f"a{i}" for i in range(20)), "t")]
    first = node("Exp", "x", "a0")
    return model(graph("g", [first, *nodes, branches("c", total, [node("Neg", "a20", "e")])],
                       [info("x", F, 6), info("c", B)], [("y", F, 6)]))


def in_function():
    """The body is in a function that is called twice; it refers to the function's attribute and input."""
    then = graph("then", [helper.make_node("LeakyRelu", ["a"], ["t"], name="leaky")], [], [("t", F, None)],
                 [("unused", np.ones(2, np.float32))])
    ref = onnx.AttributeProto(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT)
    then.node[0].attribute.append(ref)
    other = graph("else", [node("Sub", "a b", "e")], [], [("e", F, None)])
    function = helper.make_function("Local", "Pick", ["a", "b", "c"], ["y"],
                                    [node("If", "c", "y", then_branch=then, else_branch=other)],
                                    [helper.make_opsetid("", 17)], ["slope"])
    calls = [helper.make_node("Pick", ["x", "w", "c"], ["m"], domain="Local", name="one", slope=0.25),
             helper.make_node("Pick", ["m", "x", "c"], ["y"], domain="Local", name="two", slope=0.5)]
    return model(graph("g", [node("Neg", "x", "w"), *calls], [info("x", F, 6), info("c", B)], [("y", F, 6)]), [function])


NETWORKS = {f.__name__: f for f in (branch, no_captures, passed_through, shadowed, nested, counted_loop, no_iteration, conditional_loop, growing,
                                    scan, unknown_extents, captured_shape, many_captures, in_function)}


def in_test_domain(whole):
    """The same network with the test library's operators; a loop whose condition is an input is a While."""
    def change(nodes):
        for n in nodes:
            if n.op_type in OPS and n.domain == "":
                n.domain = "Test"
                if n.op_type == "Loop" and n.input[1] == "c":
                    n.op_type = "While"
            for a in n.attribute:
                if a.type == onnx.AttributeProto.GRAPH:
                    change(a.g.node)
    copy = onnx.ModelProto()
    copy.CopyFrom(whole)
    change(copy.graph.node)
    copy.opset_import.append(helper.make_opsetid("Test", 1))
    for f in copy.functions:
        change(f.node)
        f.opset_import.append(helper.make_opsetid("Test", 1))
    return copy


def values_of(whole, condition, length=5):
    values, state = {}, np.random.RandomState(3)
    for item in whole.graph.input:
        shape = [d.dim_value if d.HasField("dim_value") else length for d in item.type.tensor_type.shape.dim]
        boolean = item.type.tensor_type.elem_type == B
        values[item.name] = np.array(condition) if boolean else state.randn(*shape).astype(np.float32)
    return values


class Checker(ProgramChecks):
    prints_passes = False

    def __init__(self, tenon, library, folder):
        super().__init__(tenon, folder)
        self.library = library

    def call(self, *arguments, environment=None):
        return subprocess.run([self.tenon, *arguments, "--plugin", self.library], capture_output=True, text=True, timeout=120,
                              cwd=self.folder, env={**os.environ, **(environment or {})})

    def save(self, whole, name="m.onnx"):
        onnx.save(whole, os.path.join(self.folder, name))

    def compare(self, name, whole, values, *options, source="m.onnx", environment=None):
        for key, value in values.items():
            np.save(os.path.join(self.folder, f"{key}.npy"), value)
        done = self.call("run", source, "--output-dir", ".", *options, *(a for k in values for a in ("--input", f"{k}={k}.npy")),
                         environment=environment)
        if done.returncode != 0:
            return self.report(name, False, f"exit {done.returncode}: {done.stderr.strip()}")
        expected = ReferenceEvaluator(inliner.inline_local_functions(whole)).run(None, values)
        for item, value in zip(whole.graph.output, expected):
            found = np.load(os.path.join(self.folder, f"{item.name}.npy"))
            value = np.asarray(value)
            if found.shape != value.shape or not np.allclose(found, value, rtol=1e-4, atol=1e-5):
                return self.report(name, False, f"output {item.name}: {found.tolist()}, expected {value.tolist()}")
        return self.report(name, True)

    def network(self, name):
        whole = NETWORKS[name]()
        onnx.checker.check_model(whole)
        self.save(in_test_domain(whole))
        for condition in (True, False) if name != "conditional_loop" else (True,):  # onnx's loop stacks nothing only at its peril
            values = values_of(whole, condition)
            self.compare(f"{name} ({condition})", whole, values)
        self.compare(f"{name}, by references", whole, values_of(whole, True), environment={"TENON_FORCE_KERNEL": FORCED})
        done = self.call("build", "m.onnx", "-o", f"{name}.plan")
        if done.returncode != 0:
            return self.report(f"{name}, built", False, done.stderr)
        self.compare(f"{name}, built", whole, values_of(whole, True), source=f"{name}.plan")
        self.compare(f"{name}, guarded", whole, values_of(whole, True), "--checked", source=f"{name}.plan")
        if name in ("unknown_extents", "captured_shape", "growing"):
            for length in (1, 9):
                self.compare(f"{name}, length {length}", whole, values_of(whole, True, length), source=f"{name}.plan")
        return None

    def refused(self, name, whole, *says, code=1):
        self.save(whole)
        done = self.call("build", "m.onnx", "-o", "refused.plan")
        missing = [text for text in says if text not in done.stderr]
        self.report(name, done.returncode == code and not missing, f"exit {done.returncode}: {done.stderr.strip()}")

    def hostile(self):
        def broken(then_nodes, *, constants=()):
            return in_test_domain(model(graph("g", [branches("c", then_nodes, [node("Neg", "x", "e")], constants=constants)],
                                              [info("x", F, 4), info("c", B)], [("y", F, 4)])))
        self.refused("what no graph has", broken([node("Add", "x nowhere", "t")]), "'nowhere'")
        self.refused("a cycle", broken([node("Add", "x b", "a"), node("Add", "a x", "b"), node("Neg", "b", "t")]), "cycle")
        self.refused("a result of nobody", broken([node("Neg", "x", "other")]), "'t'")
        self.refused("an operator of nobody", broken([helper.make_node("Nothing", ["x"], ["t"])]), "Nothing", code=3)
        self.refused("its own result", broken([node("Add", "x y", "t")]), "cycle")
        self.refused("other shapes", broken([node("Concat", "x x", "t", axis=0)]), "another shape")
        inner = node("Neg", "x", "t")
        for depth in range(20):
            inner = branches("c", [inner], [node("Neg", "x", "e")], output="t")
        self.refused("too deep", in_test_domain(model(graph("g", [inner], [info("x", F, 4), info("c", B)], [("t", F, 4)]))), "deep")
        loop = in_test_domain(counted_loop())
        next(n for n in loop.graph.node if n.op_type == "Loop").input.append("x")
        self.refused("too many carried", loop, "are carried")

    def damaged(self):
        """Bytes of the plan within the plan: the checksums say so."""
        inputs = [a for k in values_of(nested(), True) for a in ("--input", f"{k}={k}.npy")]
        with open(os.path.join(self.folder, "nested.plan"), "rb") as file:
            plan = file.read()
        inner = plan.find(plan[:8], 8)
        self.report("a plan in the plan", inner > 0, "not found")
        state = random.Random(5)
        crashed = []
        for _ in range(25):
            at = state.randrange(inner, len(plan))
            with open(os.path.join(self.folder, "damaged.plan"), "wb") as file:
                file.write(plan[:at] + bytes([plan[at] ^ 1 << state.randrange(8)]) + plan[at + 1:])
            done = self.call("run", "damaged.plan", *inputs)
            if done.returncode != 1:
                crashed.append((at, done.returncode))
        self.report("damaged plans", not crashed, crashed)

    def checked(self):
        done = subprocess.run([self.tenon, "plugin", "check", self.library], capture_output=True, text=True, timeout=120, cwd=self.folder)
        self.report("plugin check", done.returncode == 0 and "10 skipped" in done.stdout, done.stdout)

    def inspected(self):
        done = subprocess.run([self.tenon, "inspect", "nested.plan", "--json"], capture_output=True, text=True, timeout=60, cwd=self.folder)
        found = [n["fields"]["body"] for n in json.loads(done.stdout or "{}").get("nodes", []) if "body" in n.get("fields", {})]
        self.report("inspect shows the body", len(found) == 1 and found[0].pop("bytes") > 0 and found[0] ==
                    {"graph": "body", "nodes": 5, "inputs": 3, "captured": 2, "outputs": 3}, found or done.stderr)

    def isolated(self):
        values = values_of(branch(), True)
        for key, value in values.items():
            np.save(os.path.join(self.folder, f"{key}.npy"), value)
        self.save(in_test_domain(branch()))
        self.call("build", "m.onnx", "-o", "reference.plan", environment={"TENON_FORCE_KERNEL": FORCED})
        for plan in ("branch.plan", "reference.plan"):
            self.isolate(plan, values)

    def isolate(self, plan, values):
        done = self.call("run", plan, "--isolate", "--output-dir", ".", *(a for k in values for a in ("--input", f"{k}={k}.npy")))
        self.report(f"isolation refuses {plan}", done.returncode == 3 and "helper process" in done.stderr, f"{done.returncode}: {done.stderr}")


def main():
    with tempfile.TemporaryDirectory(prefix="tenon-bodies.") as folder:
        checker = Checker(*(os.path.abspath(p) for p in sys.argv[1:3]), folder)
        for name in NETWORKS:
            checker.network(name)
        checker.hostile()
        checker.damaged()
        checker.inspected()
        checker.checked()
        checker.isolated()
    return checker.end()


if __name__ == "__main__":
    sys.exit(main())
