# SPDX-License-Identifier: Apache-2.0
"""Values of every kind in bodies: strings that branches, loops and scans capture, carry, slice and stack, sequences of strings, optionals
of sequences, and SequenceMap over several sequences; compared with onnxruntime, with the onnx package's reference where that has no
such values, or with Python's own; by kernels and by references, guarded, and twice in one context.

Usage: check_value_bodies.py TENON, with PYTHONPATH at the Python package. Needs NumPy, onnx and onnxruntime.
"""

import functools
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import tenon

F, I, B, S = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL, TensorProto.STRING
FORCED = "If=reference,Loop=reference,Scan=reference,SequenceMap=reference"
random = np.random.default_rng(11)


def info(name, kind, *shape):
    return helper.make_tensor_value_info(name, kind, None if shape == (None,) else list(shape))


def list_of(name, kind):
    return helper.make_value_info(name, helper.make_sequence_type_proto(helper.make_tensor_type_proto(kind, None)))


def maybe(name, kind):
    return helper.make_value_info(name, helper.make_optional_type_proto(helper.make_tensor_type_proto(kind, None)))


def maybe_list(name, kind):
    element = helper.make_sequence_type_proto(helper.make_tensor_type_proto(kind, None))
    return helper.make_value_info(name, helper.make_optional_type_proto(element))


def node(op, inputs, outputs, **fields):
    return helper.make_node(op, inputs.split(" ") if inputs else [], outputs.split(), name=f"{op}_{outputs.split()[0]}", **fields)


def constant(value, name):
    value = np.asarray(value)
    if value.dtype.kind in "UO":
        return helper.make_tensor(name, S, value.shape, [text.encode() for text in value.ravel()])
    return numpy_helper.from_array(value, name)


def graph(name, nodes, inputs, outputs, constants=()):
    return helper.make_graph(nodes, name, inputs, outputs, [constant(v, n) for n, v in constants])


def model(nodes, inputs, outputs, constants=(), opset=20):
    whole = graph("g", nodes, inputs, outputs, constants)
    return helper.make_model(whole, opset_imports=[helper.make_opsetid("", opset)], ir_version=10).SerializeToString()


def branches(condition, then_nodes, else_nodes, then_outputs, else_outputs, made):
    return node("If", condition, made, then_branch=graph("then", then_nodes, [], then_outputs),
                else_branch=graph("else", else_nodes, [], else_outputs))


def texts(*values):
    return np.array(values, dtype=object)


def floats(*shape):
    return random.standard_normal(shape).astype(np.float32)


COUNT = (info("i", I), info("go", B))
GOES_ON, KEEP = info("go_out", B), node("Identity", "go", "go_out")


# ---- strings --------------------------------------------------------------------------------------------------------

def chosen_words():
    """Branches that capture words and constants, whose results differ in shape."""
    return model([branches("c", [node("StringConcat", "x more", "t")], [node("Concat", "x y", "e", axis=0)], [info("t", S, None)],
                           [info("e", S, None)], "z"), node("Gather", "z zero", "first")],
                 [info("x", S, "n"), info("y", S, "m"), info("c", B)], [info("z", S, None), info("first", S)],
                 [("more", texts("!")), ("zero", np.int64(0))])


def growing_words():
    """Words that a loop carries: each becomes longer, and there are more of them; what it stacks is of one shape."""
    body = graph("body", [KEEP, node("StringConcat", "v tail", "longer"), node("Concat", "longer x", "w", axis=0),
                          node("Gather", "w i", "one")],
                 [*COUNT, info("v", S, None)], [GOES_ON, info("w", S, None), info("one", S)])
    return model([node("Loop", "n  x", "words each", body=body)], [info("x", S, "k"), info("tail", S), info("n", I)],
                 [info("words", S, None), info("each", S, "n")])


def swapped_words():
    """Two tensors of strings change places in each iteration, and one goes through as it is."""
    body = graph("body", [KEEP, node("Identity", "b", "a_out"), node("StringConcat", "a same", "b_out"), node("Identity", "same", "s_out"),
                          node("Equal", "a b", "is_same")],
                 [*COUNT, info("a", S, None), info("b", S, None), info("same", S, None)],
                 [GOES_ON, info("a_out", S, None), info("b_out", S, None), info("s_out", S, None), info("is_same", B, None)])
    return model([node("Loop", "n  x y z", "a b s equal", body=body)], [info("x", S, 2), info("y", S, 2), info("z", S, 1), info("n", I)],
                 [info("a", S, 2), info("b", S, 2), info("s", S, 1), info("equal", B, "n", 2)])


def until_a_word():
    """The condition follows from words; there may be no iteration."""
    body = graph("body", [node("StringConcat", "v tail", "w"), node("Equal", "w end", "is_end"), node("Not", "is_end", "go_out")],
                 [*COUNT, info("v", S)], [info("go_out", B), info("w", S), info("w", S)])
    return model([node("Loop", " c v", "last all", body=body)], [info("v", S), info("tail", S), info("end", S), info("c", B)],
                 [info("last", S), info("all", S, "k")])


def scanned_words(axis, direction, out_axis):
    """Slices of a matrix of words along an axis, from the last one or the first, stacked along another."""
    body = graph("body", [node("StringConcat", "state slice", "state_out"), node("StringConcat", "slice suffix", "o")],
                 [info("state", S, None), info("slice", S, None)], [info("state_out", S, None), info("o", S, None)])
    return model([node("Scan", "s0 x", "s o", body=body, num_scan_inputs=1, scan_input_axes=[axis], scan_input_directions=[direction],
                       scan_output_axes=[out_axis], scan_output_directions=[1 - direction])],
                 [info("s0", S, None), info("x", S, 2, 3), info("suffix", S)], [info("s", S, None), info("o", S, None, None)])


def swapped_words_by_hand(x, y, z, n):
    a, b, equal = x, y, []
    for _ in range(int(n)):
        equal.append(a == b)
        a, b = b, a + z
    return [a, b, z, np.array(equal, bool).reshape(int(n), 2)]


def scanned_words_by_hand(axis, direction, out_axis, s0, x, suffix):
    slices = [np.take(x, i, axis) for i in range(x.shape[axis])][::-1 if direction else 1]
    state = s0
    for piece in slices:
        state = state + piece
    made = [piece + suffix for piece in slices]
    return [state, np.stack(made[::1 if direction else -1], out_axis)]


def deep_words():
    """Three bodies deep, with captures from each level; the innermost one reads the outermost graph's words."""
    inner = branches("is_even", [node("StringConcat", "v x", "t3")], [node("StringConcat", "part y", "e3")], [info("t3", S, None)],
                     [info("e3", S, None)], "r3")
    scan = graph("scan", [node("Mod", "i two", "rest"), node("Equal", "rest zero", "is_even"), node("StringConcat", "s piece", "part"), inner],
                 [info("s", S), info("piece", S)], [info("part", S), info("r3", S, None)], [("two", np.int64(2)), ("zero", np.int64(0))])
    body = graph("body", [KEEP, node("Scan", "empty v", "whole parts", body=scan, num_scan_inputs=1), node("Gather", "parts at", "w")],
                 [*COUNT, info("v", S, None)], [GOES_ON, info("w", S, None), info("whole", S)], [("empty", texts("")[0]), ("at", np.int64(0))])
    return model([node("Loop", "n  x", "words whole", body=body)], [info("x", S, 2), info("y", S, 2), info("n", I)],
                 [info("words", S, None), info("whole", S, "n")])


def deep_words_by_hand(x, y, n):
    v, whole = list(x), []
    for i in range(int(n)):
        part, parts = "", []
        for piece in v:
            part += piece
            parts.append([a + b for a, b in zip(v, x)] if i % 2 == 0 else [part + b for b in y])
        v = parts[0]
        whole.append(part)
    return [texts(*v), texts(*whole)]


def lists_of_words():
    """Sequences of strings: made, changed, split, put together, carried by a loop, chosen by a branch."""
    body = graph("body", [KEEP, node("SequenceAt", "parts i", "part"), node("StringConcat", "part tail", "longer"),
                          node("SequenceInsert", "list longer", "more")],
                 [*COUNT, list_of("list", S)], [GOES_ON, list_of("more", S)])
    return model([node("SplitToSequence", "x", "parts", axis=1), node("SequenceLength", "parts", "n"),
                  node("SequenceEmpty", "", "none", dtype=S), node("Loop", "n  none", "list", body=body),
                  node("ConcatFromSequence", "list", "whole", axis=1), node("ConcatFromSequence", "list", "stacked", axis=0, new_axis=1),
                  branches("c", [node("SequenceConstruct", "x tail", "t")], [node("SequenceErase", "list", "e")], [list_of("t", S)],
                           [list_of("e", S)], "chosen")],
                 [info("x", S, 2, "k"), info("tail", S), info("c", B)],
                 [info("whole", S, None), info("stacked", S, None), list_of("chosen", S), list_of("list", S)])


def lists_of_words_by_hand(x, tail, c):
    longer = np.array([[word + tail.item() for word in row] for row in x], object)
    parts = [longer[:, i:i + 1] for i in range(x.shape[1])]
    return [longer, np.stack(parts), [x, tail] if c else parts[:-1], parts]


# ---- optionals of sequences -----------------------------------------------------------------------------------------

def optional_list(kind):
    """An optional in and out; what is in it, or a list in its place."""
    return model([node("OptionalHasElement", "o", "has"),
                  branches("has", [node("OptionalGetElement", "o", "got")], [node("SequenceConstruct", "x x", "made")], [list_of("got", kind)],
                           [list_of("made", kind)], "list"),
                  node("SequenceLength", "list", "n"), node("Optional", "list", "again"), node("Identity", "o", "same")],
                 [maybe_list("o", kind), info("x", kind, "k")],
                 [info("has", B), list_of("list", kind), info("n", I), maybe_list("again", kind), maybe_list("same", kind)], opset=18)


def optional_list_by_hand(o, x):
    value = [x, x] if o is None else o
    return [np.array(o is not None), value, np.int64(len(value)), value, o]


def optional_in_a_loop():
    """A loop that begins with nothing, and has a list from the first iteration on, which grows."""
    nothing = helper.make_node("Optional", [], ["start"], name="nothing", type=helper.make_sequence_type_proto(
        helper.make_tensor_type_proto(F, None)))
    step = branches("has", [node("OptionalGetElement", "v", "old"), node("SequenceInsert", "old x", "t1"), node("Optional", "t1", "t")],
                    [node("SequenceEmpty", "", "none"), node("Optional", "none", "e")], [maybe_list("t", F)], [maybe_list("e", F)], "w")
    body = graph("body", [KEEP, node("OptionalHasElement", "v", "has"), step], [*COUNT, maybe_list("v", F)],
                 [GOES_ON, maybe_list("w", F), info("has", B)])
    return model([nothing, node("Loop", "n  start", "end had", body=body)], [info("x", F, 2), info("n", I)],
                 [maybe_list("end", F), info("had", B, "n")], opset=18)


def optional_in_a_loop_by_hand(x, n):
    n = int(n)
    return [None if n == 0 else [x] * (n - 1), np.arange(n) > 0]


def chosen_optionals():
    """Optionals of tensors and of sequences, that branches make and capture."""
    return model([branches("c", [node("Identity", "o", "t1"), node("Identity", "p", "t2")],
                           [node("Optional", "x", "e1"), node("SequenceConstruct", "x", "list"), node("Optional", "list", "e2")],
                           [maybe("t1", F), maybe_list("t2", F)], [maybe("e1", F), maybe_list("e2", F)], "a b")],
                 [maybe("o", F), maybe_list("p", F), info("x", F, 2), info("c", B)], [maybe("a", F), maybe_list("b", F)], opset=18)


# ---- SequenceMap ----------------------------------------------------------------------------------------------------

def mapped():
    """Two sequences, a tensor, a captured one and a captured list, and three results; words among them."""
    body = graph("body", [node("Add", "a b", "sum"), node("Mul", "sum scale", "o1"), node("StringConcat", "word tail", "o2"),
                          node("SequenceAt", "others zero", "other"), node("Sub", "o1 other", "o3")],
                 [info("a", F, None), info("b", F, None), info("scale", F, None), info("word", S, None)],
                 [info("o1", F, None), info("o2", S, None), info("o3", F, None)], [("zero", np.int64(0))])
    return model([node("SequenceMap", "x y k words", "p q r", body=body)],
                 [list_of("x", F), list_of("y", F), info("k", F), list_of("words", S), list_of("others", F), info("tail", S)],
                 [list_of("p", F), list_of("q", S), list_of("r", F)])


def mapped_by_hand(x, y, k, words, others, tail):
    p = [(a + b) * k for a, b in zip(x, y)]
    return [p, [np.array([w + tail.item() for w in word], object) for word in words], [v - others[0] for v in p]]


def mapped_behind():
    """A list of a known shape and one that is not, and what reads the results."""
    body = graph("body", [node("Concat", "a b", "o", axis=0)], [info("a", F, None), info("b", F, None)], [info("o", F, None)])
    return model([node("SplitToSequence", "x", "parts", axis=0), node("SequenceMap", "parts y", "list", body=body),
                  node("ConcatFromSequence", "list", "whole", axis=0), node("Relu", "whole", "z")],
                 [info("x", F, "n", 3), list_of("y", F)], [info("z", F, None, 3)])


def mapped_behind_by_hand(x, y):
    return [np.maximum(np.concatenate([part for i, other in enumerate(y) for part in (x[i:i + 1], other)]), 0)]


WORDS = texts("one", "", "日本", "a b")
GRID = np.array([["a", "bb", "ccc"], ["", "é", "f"]], object)
ONE = np.array("|", object)
YES, NO = np.array(True), np.array(False)
PAIR = [floats(2), floats(3)]


def count(n):
    return np.array(n, np.int64)


# Name, model, the values by hand (or None: another engine's), and inputs of each run.
CASES = [
    ("chosen words", chosen_words(), None, *({"x": WORDS, "y": texts("y"), "c": c} for c in (YES, NO))),
    ("growing words", growing_words(), None, *({"x": texts("a", "日本", ""), "tail": ONE, "n": count(n)} for n in (0, 1, 3, 2))),
    ("swapped words", swapped_words(), swapped_words_by_hand, *({"x": texts("a", "b"), "y": texts("a", "c"), "z": texts("+"), "n": count(n)} for n in (0, 1, 4, 5))),
    ("until a word", until_a_word(), None, *({"v": np.array("a", object), "tail": np.array("b", object), "end": np.array("abbbb", object), "c": c}
                                             for c in (YES, NO))),
    *((f"scanned words {axis} {direction} {out}", scanned_words(axis, direction, out),
       functools.partial(scanned_words_by_hand, axis, direction, out), {"s0": texts(*"xyz"[:3 if axis == 0 else 2]), "x": GRID, "suffix": ONE})
      for axis in (0, 1) for direction in (0, 1) for out in (0, 1)),
    ("deep words", deep_words(), deep_words_by_hand, *({"x": texts("a", "b"), "y": texts("1", "2"), "n": count(n)} for n in (0, 1, 2, 3))),
    ("lists of words", lists_of_words(), lists_of_words_by_hand, {"x": GRID, "tail": ONE, "c": YES}, {"x": GRID[:, :2], "tail": ONE, "c": NO}),
    ("optional list", optional_list(F), optional_list_by_hand, *({"o": o, "x": floats(3)} for o in (None, [], PAIR, [floats(2, 2)]))),
    ("optional list of words", optional_list(S), optional_list_by_hand, *({"o": o, "x": WORDS} for o in ([WORDS, GRID], None, []))),
    ("optional in a loop", optional_in_a_loop(), optional_in_a_loop_by_hand, *({"x": floats(2), "n": count(n)} for n in (0, 1, 4))),
    ("chosen optionals", chosen_optionals(), lambda o, p, x, c: [o, p] if c else [x, [x]],
     *({"o": o, "p": p, "x": floats(2), "c": c} for o in (None, floats(3)) for p in (None, [], PAIR) for c in (YES, NO))),
    ("mapped", mapped(), mapped_by_hand, *(
        {"x": [floats(*s) for s in shapes], "y": [floats(*s) for s in shapes], "k": np.float32(2), "words": [WORDS] * len(shapes),
         "others": [np.float32(0.5)], "tail": ONE} for shapes in ([(2,), (2, 3)], [(3,)], [], [(1,), (4,), (2, 2)]))),
    ("mapped behind", mapped_behind(), mapped_behind_by_hand, {"x": floats(2, 3), "y": [floats(1, 3), floats(4, 3)]},
     {"x": floats(1, 3), "y": [floats(2, 3)]}),
]


def difference(expected, found):
    """What is different, or None."""
    if expected is None or found is None:
        return None if expected is None and found is None else f"{found!r}, expected {expected!r}"
    if isinstance(expected, list):
        if not isinstance(found, list) or len(found) != len(expected):
            return f"{found!r}, expected {expected!r}"
        return next((f"item {i}: {why}" for i, (a, b) in enumerate(zip(expected, found)) if (why := difference(a, b))), None)
    expected, found = np.asarray(expected), np.asarray(found)
    if found.shape != expected.shape or (expected.dtype.kind != "O" and expected.dtype.kind != "U" and found.dtype != expected.dtype):
        return f"{found.dtype} {found.shape}, expected {expected.dtype} {expected.shape}"
    is_equal = np.allclose(found, expected, 1e-5, 1e-6) if expected.dtype.kind == "f" else (found == expected).all()
    return None if is_equal else f"{found!r}, expected {expected!r}"


def expected_of(bytes_, inputs):
    try:
        return onnxruntime.InferenceSession(bytes_, providers=["CPUExecutionProvider"]).run(None, inputs)
    except Exception: # it has no such strings
        return ReferenceEvaluator(onnx.load_from_string(bytes_)).run(None, inputs)


def plain(value):
    """As JSON has it."""
    if value is None or isinstance(value, list):
        return value if value is None else [plain(item) for item in value]
    return np.asarray(value).tolist()


class Checks:
    def __init__(self, program, folder):
        self.program, self.folder, self.passed, self.failed = program, folder, 0, 0

    def expect(self, name, why):
        self.passed, self.failed = self.passed + (not why), self.failed + bool(why)
        if why:
            print(f"FAIL {name}: {why}", flush=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def case(self, name, bytes_, by_hand, runs):
        expected = [by_hand(**inputs) if by_hand else expected_of(bytes_, inputs) for inputs in runs]
        for how in ({}, {"checked": True}, {"fusion": False}, {"forced": True}):
            if how.pop("forced", False):
                os.environ["TENON_FORCE_KERNEL"] = FORCED
            try:
                network = tenon.load(bytes_, timing=False, **how)
                for number, (inputs, wanted) in enumerate([*zip(runs, expected)] * 2):
                    found = network.run_named(inputs)
                    for (key, value), want in zip(found.items(), wanted):
                        self.expect(f"{name} {how} {number} {os.environ.get('TENON_FORCE_KERNEL', '')}, {key}", difference(want, value))
            except (tenon.Error, TypeError) as error:
                self.expect(f"{name} {how} {os.environ.get('TENON_FORCE_KERNEL', '')}", str(error))
            os.environ.pop("TENON_FORCE_KERNEL", None)
        return expected

    def by_program(self, name, bytes_, runs, expected):
        """Optionals of sequences in JSON, from a plan."""
        model_path, plan = self.path("m.onnx"), self.path("m.plan")
        with open(model_path, "wb") as file:
            file.write(bytes_)
        done = subprocess.run([self.program, "build", model_path, "-o", plan, "--no-timing"], capture_output=True, text=True, check=False)
        self.expect(f"{name}, build", done.stderr if done.returncode else None)
        for inputs, wanted in zip(runs, expected):
            given = []
            for key, value in inputs.items():
                is_array = isinstance(value, (np.ndarray, np.generic)) and key not in "op" # those are optionals
                path = self.path(f"{key}.{'npy' if is_array else 'json'}")
                if is_array:
                    np.save(path, value)
                else:
                    with open(path, "w", encoding="utf-8") as file:
                        json.dump(plain(value), file)
                given += ["--input", f"{key}={path}"]
            done = subprocess.run([self.program, "run", plan, *given, "--json"], capture_output=True, text=True, check=False)
            self.expect(f"{name}, run", done.stderr if done.returncode else None)
            if done.returncode:
                continue
            for output, value in zip(json.loads(done.stdout)["outputs"], wanted):
                if "value" in output:
                    found = output["value"]
                    is_same = found is None if value is None else found is not None and difference(
                        plain(value) if isinstance(value, list) else value, np.float32(found) if not isinstance(value, list) else found) is None
                    self.expect(f"{name}, {output['name']}", None if is_same else f"{found}, expected {value}")

    def refused(self, name, bytes_, inputs, *said):
        try:
            tenon.load(bytes_, timing=False).run_named(inputs)
        except (tenon.Error, TypeError) as error:
            missing = [text for text in said if text not in str(error)]
            self.expect(name, f"{error} (without {missing})" if missing else None)
            return
        self.expect(name, "not refused")


def check_refusals(checks):
    some = {"x": [floats(2)] * 2, "y": [floats(2)] * 3, "k": np.float32(1), "words": [WORDS] * 2, "others": [np.float32(1)], "tail": ONE}
    checks.refused("sequences of unlike lengths", mapped(), some, "SequenceMap_p", "'y' has 3 items", "expected 2", "'x'")
    checks.refused("an optional without a list", model([node("OptionalGetElement", "o", "list")], [maybe_list("o", F)], [list_of("list", F)],
                                                       opset=18), {"o": None}, "OptionalGetElement_list", "no sequence")
    checks.refused("a tensor in place of a list", optional_list(F), {"o": floats(2), "x": floats(2)}, "'o'", "list")
    mixed = model([branches("c", [node("Optional", "x", "t")], [node("SequenceConstruct", "x", "e1"), node("Optional", "e1", "e")],
                            [maybe("t", F)], [maybe_list("e", F)], "y")], [info("x", F, 2), info("c", B)], [maybe("y", F)], opset=18)
    checks.refused("branches of unlike optionals", mixed, {"x": floats(2), "c": YES}, "If_y", "an optional of a sequence", "an optional")
    numbers = model([branches("c", [node("Identity", "x", "t")], [node("Identity", "y", "e")], [info("t", S, None)], [info("e", F, None)], "z")],
                    [info("x", S, 1), info("y", F, 1), info("c", B)], [info("z", S, 1)])
    checks.refused("words in one branch", numbers, {"x": texts("a"), "y": floats(1), "c": YES}, "If_z", "string in then_branch", "f32 in else_branch")
    body = graph("body", [node("StringConcat", "s x", "s_out"), node("Concat", "s x", "o", axis=0)], [info("s", S, None), info("x", S, None)],
                 [info("s_out", S, None), info("o", S, None)])
    wide = model([node("Scan", "s0 x", "s o", body=body, num_scan_inputs=1)], [info("s0", S, 1), info("x", S, 2, 3)],
                 [info("s", S, None), info("o", S, None)])
    checks.refused("a state of words that grows", wide, {"s0": texts("a"), "x": GRID}, "Scan_s", "state 0")


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__.splitlines()[0])
    with tempfile.TemporaryDirectory(prefix="tenon-value-bodies.") as folder:
        checks = Checks(sys.argv[1], folder)
        for name, bytes_, by_hand, *runs in CASES:
            expected = checks.case(name, bytes_, by_hand, runs)
            if name in ("optional list", "optional in a loop", "chosen optionals"):
                checks.by_program(name, bytes_, runs, expected)
        check_refusals(checks)
    print(f"{checks.passed} passed, {checks.failed} failed")
    return checks.failed != 0


if __name__ == "__main__":
    sys.exit(main())
