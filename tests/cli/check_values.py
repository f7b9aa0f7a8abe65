# SPDX-License-Identifier: Apache-2.0
"""Networks whose inputs and outputs are sequences, optionals and maps: compared with onnxruntime in Python, by onnxruntime's interface
and by `tenon run` with JSON; and wrong values, which are refused with what is wrong.

Usage: check_values.py TENON, with PYTHONPATH at the Python package. Needs NumPy, onnx and onnxruntime.
"""

import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import tenon
import tenon.onnxruntime

ML = "ai.onnx.ml"
F, D, I, S = TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT64, TensorProto.STRING
random = np.random.default_rng(7)


def tensor_type(kind):
    return helper.make_tensor_type_proto(kind, None)


def port(name, kind):
    return helper.make_value_info(name, kind)


def sequence(kind):
    return helper.make_sequence_type_proto(tensor_type(kind))


def map_of(key, value):
    return helper.make_map_type_proto(key, tensor_type(value))


def maps_of(key, value):
    return helper.make_sequence_type_proto(map_of(key, value))


def model(nodes, inputs, outputs, constants=()):
    graph = helper.make_graph(nodes, "g", inputs, outputs, [numpy_helper.from_array(np.array(v), n) for n, v in constants])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid(ML, 3), helper.make_opsetid("", 18)], ir_version=9)
    return made.SerializeToString()


def ml(op, inputs, outputs, **fields):
    return helper.make_node(op, inputs.split(), outputs.split(), name=op, domain=ML, **fields)


def core(op, inputs, outputs, **fields):
    return helper.make_node(op, inputs.split(), outputs.split(), name=f"{op}_{outputs.split()[0]}", **fields)


# ---- networks as converters write them ------------------------------------------------------------------------------

def linear_classifier(labels, columns=5):
    """As a logistic regression is exported: labels and a list of maps from labels to probabilities."""
    count = len(labels)
    named = {"classlabels_strings": labels} if isinstance(labels[0], str) else {"classlabels_int64s": labels}
    weights = {"classlabels_strings": labels} if isinstance(labels[0], str) else {"classlabels_ints": labels}
    nodes = [ml("LinearClassifier", "x", "label scores", coefficients=[float(v) for v in random.standard_normal(count * columns)],
                intercepts=[float(v) for v in random.standard_normal(count)], multi_class=1, post_transform="SOFTMAX", **weights),
             ml("Normalizer", "scores", "probabilities", norm="L1"), ml("ZipMap", "probabilities", "maps", **named)]
    key = S if isinstance(labels[0], str) else I
    return model(nodes, [helper.make_tensor_value_info("x", F, ["rows", columns])],
                 [helper.make_tensor_value_info("label", key, ["rows"]), port("maps", maps_of(key, F))])


def tree_classifier():
    """A stump as a tree ensemble is exported."""
    fields = {"nodes_treeids": [0, 0, 0], "nodes_nodeids": [0, 1, 2], "nodes_featureids": [1, 0, 0], "nodes_values": [0.25, 0.0, 0.0],
              "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"], "nodes_truenodeids": [1, 0, 0], "nodes_falsenodeids": [2, 0, 0],
              "class_treeids": [0] * 6, "class_nodeids": [1, 1, 1, 2, 2, 2], "class_ids": [0, 1, 2] * 2,
              "class_weights": [0.5, 0.25, 0.25, 0.0, 0.125, 0.875]}
    nodes = [ml("TreeEnsembleClassifier", "x", "label scores", classlabels_int64s=[4, 7, -9], **fields),
             ml("ZipMap", "scores", "maps", classlabels_int64s=[4, 7, -9])]
    return model(nodes, [helper.make_tensor_value_info("x", F, ["rows", 3])],
                 [helper.make_tensor_value_info("label", I, ["rows"]), port("maps", maps_of(I, F))])


def dict_regressor(vocabulary, key, value):
    """A DictVectorizer before a linear function."""
    named = {"string_vocabulary": vocabulary} if key == S else {"int64_vocabulary": vocabulary}
    nodes = [ml("DictVectorizer", "features", "row", **named)]
    outputs = [port("row", tensor_type(value))]
    if value == F:
        nodes.append(ml("LinearRegressor", "row", "y", coefficients=[0.5, -1.0, 2.0], intercepts=[0.125]))
        outputs = [helper.make_tensor_value_info("y", F, [1, 1])]
    return model(nodes, [port("features", map_of(key, value))], outputs)


def cast_map(value, **fields):
    to = {"TO_FLOAT": F, "TO_INT64": I, "TO_STRING": S}[fields.get("cast_to", "TO_FLOAT")]
    return model([ml("CastMap", "features", "row", **fields)], [port("features", map_of(I, value))], [port("row", tensor_type(to))])


def sequence_through(kind):
    """A list in, one item more, a list out and what is in it."""
    nodes = [core("SequenceInsert", "items x zero", "longer"), core("SequenceLength", "longer", "n"), core("SequenceAt", "items last", "at")]
    return model(nodes, [port("items", sequence(kind)), helper.make_tensor_value_info("x", kind, [2, "n"])],
                 [port("longer", sequence(kind)), helper.make_tensor_value_info("n", I, []), port("at", tensor_type(kind))],
                 [("zero", np.int64(0)), ("last", np.int64(-1))])


def untouched():
    """A list of which an output is the input itself."""
    nodes = [core("SequenceErase", "items", "shorter"), core("SequenceInsert", "shorter x", "longer")]
    return model(nodes, [port("items", sequence(F)), helper.make_tensor_value_info("x", F, [1])],
                 [port("shorter", sequence(F)), port("longer", sequence(F))])


def body(name, nodes, inputs, outputs, constants=()):
    return helper.make_graph(nodes, name, inputs, outputs, [numpy_helper.from_array(np.array(v), n) for n, v in constants])


def collected_in_a_loop(limit):
    """As exporters write a list that grows: a sequence is carried, a row of x is added in each iteration, and one is captured."""
    one = body("one", [core("Gather", "x i", "row"), core("SequenceInsert", "list row", "longer"), core("SequenceAt", "others zero", "first"),
                       core("Add", "sum first", "more"), core("Identity", "go", "goes_on"), core("SequenceLength", "longer", "n")],
               [helper.make_tensor_value_info("i", I, []), helper.make_tensor_value_info("go", TensorProto.BOOL, []),
                port("list", sequence(F)), helper.make_tensor_value_info("sum", F, None)],
               [helper.make_tensor_value_info("goes_on", TensorProto.BOOL, []), port("longer", sequence(F)),
                helper.make_tensor_value_info("more", F, None), helper.make_tensor_value_info("n", I, [])], [("zero", np.int64(0))])
    nodes = [core("SequenceEmpty", "", "none"), core("Loop", "limit yes none start", "list total lengths", body=one),
             core("SequenceLength", "list", "count")]
    return model(nodes, [helper.make_tensor_value_info("x", F, ["rows", 2]), port("others", sequence(F))],
                 [port("list", sequence(F)), helper.make_tensor_value_info("total", F, None), helper.make_tensor_value_info("lengths", I, ["k"]),
                  helper.make_tensor_value_info("count", I, [])],
                 [("limit", np.int64(limit)), ("yes", True), ("start", np.zeros((1,), np.float32))])


def handed_through_a_loop():
    """A list that a loop carries and leaves as it is, and a condition that ends it."""
    one = body("one", [core("Less", "i two", "goes_on"), core("Identity", "list", "same")],
               [helper.make_tensor_value_info("i", I, []), helper.make_tensor_value_info("go", TensorProto.BOOL, []), port("list", sequence(F))],
               [helper.make_tensor_value_info("goes_on", TensorProto.BOOL, []), port("same", sequence(F))], [("two", np.int64(2))])
    return model([core("Loop", "limit go items", "same", body=one)],
                 [port("items", sequence(F)), helper.make_tensor_value_info("go", TensorProto.BOOL, [])],
                 [port("same", sequence(F))], [("limit", np.int64(7))])


def one_of_two_lists():
    """Branches with lists as results, of captured ones."""
    then = body("then", [core("SequenceInsert", "items x", "longer")], [], [port("longer", sequence(F))])
    other = body("other", [core("SequenceConstruct", "x x", "pair")], [], [port("pair", sequence(F))])
    nodes = [core("If", "which", "list", then_branch=then, else_branch=other), core("SequenceLength", "list", "n")]
    return model(nodes, [helper.make_tensor_value_info("which", TensorProto.BOOL, []), port("items", sequence(F)),
                         helper.make_tensor_value_info("x", F, ["n"])], [port("list", sequence(F)), helper.make_tensor_value_info("n", I, [])])


def moved_strings():
    """Rows and columns of strings picked, repeated and told apart: what moves numbers moves strings."""
    nodes = [core("Slice", "x from to columns", "part"), core("Transpose", "part", "turned", perm=[1, 0]), core("Split", "turned", "first second", num_outputs=2),
             core("Expand", "first wide", "many"), core("Tile", "second twice", "more"), core("Concat", "many more", "all", axis=0),
             core("GatherElements", "all at", "picked", axis=1), core("GatherND", "picked pairs", "few"), core("Compress", "few keep", "kept"),
             core("Unique", "x", "distinct where which counts"), core("ReverseSequence", "x lengths", "reversed")]
    outputs = ["all", "picked", "few", "kept", "distinct", "reversed"]
    return model(nodes, [helper.make_tensor_value_info("x", S, [3, 3]), helper.make_tensor_value_info("at", I, [4, 2])],
                 [helper.make_tensor_value_info(name, S, None) for name in outputs] + [helper.make_tensor_value_info(name, I, ["n"])
                                                                                       for name in ("where", "which", "counts")],
                 [("from", [1]), ("to", [3]), ("columns", [1]), ("wide", [2, 3]), ("twice", [2, 1]), ("pairs", [[0, 1], [3, 0], [-1, -1]]),
                  ("keep", [True, False, True]), ("lengths", [3, 1, 2])])


def array(*shape, dtype=np.float32):
    return (4 * random.standard_normal(shape)).astype(dtype)


CASES = {
    "linear classifier, integers": (linear_classifier([3, 1, 2]), {"x": array(4, 5)}),
    "linear classifier, strings": (linear_classifier(["no", "yes", "ä\"b\\"]), {"x": array(1, 5)}),
    "linear classifier, no rows": (linear_classifier([3, 1, 2]), {"x": array(0, 5)}),
    "tree classifier": (tree_classifier(), {"x": array(300, 3)}),
    "vectorizer, strings to floats": (dict_regressor(["b", "a", "cc"], S, F), {"features": {"a": 1.5, "zz": 9.0, "b": -2.0}}),
    "vectorizer, integers to floats": (dict_regressor([7, -1, 3], I, F), {"features": {3: 0.5, 7: 2.25}}),
    "vectorizer, integers to doubles": (dict_regressor([7, -1], I, D), {"features": {7: 0.1, 8: 2.25}}),
    "vectorizer, strings to doubles": (dict_regressor(["u", "v"], S, D), {"features": {"v": 0.1}}),
    "vectorizer, strings to integers": (dict_regressor(["u", "v"], S, I), {"features": {"v": 2**60 + 1}}),
    "vectorizer, integers to strings": (dict_regressor([1, 2], I, S), {"features": {2: "two", 3: "three"}}),
    "cast to floats": (cast_map(F), {"features": {5: 0.5, -1: 2.0, 3: -7.25}}),
    "cast to floats of strings": (cast_map(S), {"features": {5: "0.5", 1: "-3e2"}}),
    "cast to integers": (cast_map(F, cast_to="TO_INT64"), {"features": {5: 0.5, 1: -7.75}}),
    "cast to strings": (cast_map(F, cast_to="TO_STRING"), {"features": {5: 0.5, 1: -7.75}}),
    "cast sparse": (cast_map(F, map_form="SPARSE", max_map=6), {"features": {5: 0.5, 1: -7.75}}),
    "sequence": (sequence_through(F), {"items": [array(2, 3), array(2, 5)], "x": array(2, 1)}),
    "sequence of integers": (sequence_through(I), {"items": [array(2, 3, dtype=np.int64)], "x": array(2, 4, dtype=np.int64)}),
    "loop that collects": (collected_in_a_loop(5), {"x": array(6, 2), "others": [array(1), array(3)]}),
    "loop that collects nothing": (collected_in_a_loop(0), {"x": array(6, 2), "others": [array(1), array(3)]}),
    "loop that hands on": (handed_through_a_loop(), {"items": [array(3), array(1, 2)], "go": np.array(True)}),
    "loop that does not begin": (handed_through_a_loop(), {"items": [array(3), array(1, 2)], "go": np.array(False)}),
    "branch, the first": (one_of_two_lists(), {"which": np.array(True), "items": [array(3), array(4)], "x": array(2)}),
    "branch, the second": (one_of_two_lists(), {"which": np.array(False), "items": [array(3), array(4)], "x": array(2)}),
    "strings that are moved": (moved_strings(), {"x": np.array([["a", "b", "é"], ["a", "", "bb"], ["c", "b", "a"]], dtype=object),
                                                 "at": np.array([[0, 2], [1, -1], [2, 0], [0, 0]])}),
    "sequence that is kept": (untouched(), {"items": [array(3), array(0), array(2)], "x": array(1)}),
}


# What is right where onnxruntime's Python cannot be asked.
BY_HAND = {"vectorizer, integers to doubles": [np.array([[0.1, 0.0]])], "vectorizer, strings to doubles": [np.array([[0.0, 0.1]])],
           "vectorizer, strings to integers": [np.array([[0, 2**60 + 1]])],
           "cast to floats of strings": [np.array([[-300, 0.5]], np.float32)],
           "vectorizer, integers to strings": [np.array([["", "two"]], dtype=object)]}


# ---- comparing ------------------------------------------------------------------------------------------------------

def difference(expected, found):
    """What is different, or None."""
    if isinstance(expected, list):
        if not isinstance(found, list) or len(found) != len(expected):
            return f"{type(found).__name__} of {len(found) if hasattr(found, '__len__') else '?'}, expected {len(expected)}"
        return next((f"item {i}: {why}" for i, (a, b) in enumerate(zip(expected, found)) if (why := difference(a, b))), None)
    if isinstance(expected, dict):
        if not isinstance(found, dict) or list(expected) != list(found) and set(expected) != set(found):
            return f"{found!r}, expected {expected!r}"
        return next((f"{key!r}: {found[key]!r}, expected {expected[key]!r}" for key in expected
                     if type(found[key]) is not type(expected[key]) or abs(found[key] - expected[key]) > 1e-5 * (1 + abs(expected[key]))), None)
    if not isinstance(found, np.ndarray) or found.dtype != expected.dtype or found.shape != expected.shape:
        return f"{getattr(found, 'dtype', type(found))} {getattr(found, 'shape', '')}, expected {expected.dtype} {expected.shape}"
    is_equal = (found == expected).all() if expected.dtype == object else np.allclose(found, expected, 1e-5, 1e-6)
    return None if is_equal else f"{found!r}, expected {expected!r}"


def plain(value):
    """As JSON has it."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): item for key, item in value.items()}
    return value.tolist()


def close(a, b):
    if isinstance(a, list):
        return len(a) == len(b) and all(map(close, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(close(a[key], b[key]) for key in a)
    return a == b if isinstance(a, str) else abs(a - b) <= 1e-5 * (1 + abs(a))


class Checks:
    def __init__(self, program, folder):
        self.program, self.folder, self.failed, self.count = program, folder, 0, 0

    def expect(self, name, why):
        self.count += 1
        if why:
            print(f"FAIL {name}: {why}")
            self.failed += 1

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, *words):
        done = subprocess.run([self.program, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=120)
        return done.returncode, done.stdout

    def in_python(self, name, bytes_, inputs):
        session = onnxruntime.InferenceSession(bytes_, providers=["CPUExecutionProvider"])
        try:
            expected = session.run(None, inputs)
        except (onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument, RuntimeError): # its Python makes no such map
            expected = BY_HAND[name]
        names = [output.name for output in session.get_outputs()]
        for how in ({}, {"checked": True}, {"fusion": False}):
            network = tenon.load(bytes_, timing=False, **how)
            for _ in range(3):
                found = network.run_named(inputs)
                for output, value in zip(names, expected):
                    self.expect(f"{name} {how}, {output}", difference(value, found[output]))
        own = tenon.onnxruntime.InferenceSession(bytes_)
        for _ in range(4):
            found = own.run(None, inputs)
            self.expect(f"{name}, onnxruntime's interface", difference(expected, found))
        self.expect(f"{name}, types", None if [i.type for i in own.get_inputs()] == [i.type for i in session.get_inputs()]
                    else [i.type for i in own.get_inputs()])
        return names, expected

    def by_program(self, name, bytes_, inputs, names, expected):
        model_path, plan = self.path("m.onnx"), self.path("m.plan")
        with open(model_path, "wb") as file:
            file.write(bytes_)
        given = []
        for key, value in inputs.items():
            is_array = isinstance(value, np.ndarray)
            is_text = is_array and value.dtype == object
            path = self.path(f"{key}.{'pb' if is_text else 'npy' if is_array else 'json'}")
            if is_text:
                onnx.save_tensor(numpy_helper.from_array(value), path)
            elif is_array:
                np.save(path, value)
            else:
                with open(path, "w", encoding="utf-8") as file:
                    json.dump(plain(value), file)
            given += ["--input", f"{key}={path}"]
        code, text = self.run("build", model_path, "-o", plan, "--no-timing")
        self.expect(f"{name}, build", None if code == 0 else text)
        written = [f"--output={output}={self.path(output + '.json')}" for output, value in zip(names, expected)
                   if not isinstance(value, np.ndarray)]
        code, text = self.run("run", plan, *given, *written, "--json")
        self.expect(f"{name}, run", None if code == 0 else text)
        if code:
            return
        shown = {output["name"]: output for output in json.loads(text)["outputs"]}
        for output, value in zip(names, expected):
            if isinstance(value, np.ndarray):
                continue
            with open(self.path(f"{output}.json"), encoding="utf-8") as file:
                written = json.load(file)
            self.expect(f"{name}, {output}.json", None if close(plain(value), written) else written)
            self.expect(f"{name}, --json", None if close(plain(value), shown[output]["value"]) and shown[output]["length"] == len(value)
                        else shown[output])
        code, text = self.run("inspect", plan, "--json")
        types = {p["name"]: p["type"] for p in json.loads(text)["inputs"] + json.loads(text)["outputs"]}
        for key, value in list(inputs.items()) + list(zip(names, expected)):
            if not isinstance(value, np.ndarray):
                self.expect(f"{name}, inspect {key}", None if "(" in (types[key] or "") else types[key])

    def refused(self, name, network, inputs, *said):
        try:
            network.run_named(inputs)
        except (tenon.Error, TypeError) as error:
            missing = [text for text in said if text not in str(error)]
            self.expect(name, f"{error} (without {missing})" if missing else None)
            return
        self.expect(name, "not refused")

    def not_read(self, name, plan, key, text, *said):
        path = self.path("wrong.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        code, shown = self.run("run", plan, "--input", f"{key}={path}")
        missing = [word for word in said if word not in shown]
        self.expect(name, f"{code}: {shown}" if code != 1 or missing else None)

    def not_built(self, name, bytes_, *said):
        try:
            tenon.load(bytes_, timing=False)
        except tenon.Error as error:
            missing = [text for text in said if text not in str(error)]
            self.expect(name, f"{error} (without {missing})" if missing else None)
            return
        self.expect(name, "not refused")


def check_refusals(checks):
    vectorizer = tenon.load(dict_regressor(["b", "a", "cc"], S, F), timing=False)
    numbers = tenon.load(dict_regressor([7, -1, 3], I, F), timing=False)
    items = tenon.load(sequence_through(F), timing=False)
    x = array(2, 1)
    empty = vectorizer.run({"features": {}}) # onnxruntime refuses that
    checks.expect("an empty map", None if empty.tolist() == [[0.125]] else empty)
    checks.refused("a key that is a number", vectorizer, {"features": {3: 1.0}}, "features", "3")
    checks.refused("a key that is a text", numbers, {"features": {"3": 1.0}}, "features", "'3'")
    checks.refused("a key beyond 64 bits", numbers, {"features": {2**70: 1.0}}, "features", "64 bits")
    checks.refused("a value that is a text", vectorizer, {"features": {"a": "1"}}, "features", "'a'")
    checks.refused("a value that is a list", vectorizer, {"features": {"a": [1.0]}}, "features", "'a'")
    checks.refused("no map", vectorizer, {"features": [1.0]}, "features", "dict")
    checks.refused("no list", items, {"items": array(2, 3), "x": x}, "items", "list")
    checks.refused("an item of another type", items, {"items": [array(2, 3, dtype=np.float64)], "x": x}, "items", "float64")
    checks.refused("a list without the item", items, {"items": [], "x": x}, "SequenceAt")
    checks.refused("no value", items, {"x": x}, "items")
    found = items.run_named({"items": [np.full((1,), np.nan, np.float32)], "x": x})
    checks.expect("NaN goes through", None if np.isnan(found["at"]).all() else found["at"])
    checks.refused("a key that a sparse row has not", tenon.load(cast_map(F, map_form="SPARSE", max_map=3), timing=False),
                   {"features": {1: 1.0, 3: 2.0}}, "CastMap", "the key 3")
    checks.refused("a text that is no number", tenon.load(cast_map(S), timing=False), {"features": {1: "1x"}}, "CastMap", "1x")
    checks.refused("NaN as an integer", tenon.load(cast_map(F, cast_to="TO_INT64"), timing=False), {"features": {1: float("nan")}}, "CastMap")

    zip_of = lambda **fields: model([ml("ZipMap", "x", "maps", **fields)], [helper.make_tensor_value_info("x", F, [2, 2])],
                                    [port("maps", maps_of(I, F))])
    checks.not_built("labels twice", zip_of(classlabels_int64s=[4, 4]), "ZipMap", "4 is there twice")
    checks.not_built("other columns", zip_of(classlabels_int64s=[1, 2, 3]), "2 columns", "3 class labels")
    checks.not_built("no labels", zip_of(), "classlabels_strings")
    checks.not_built("both labels", zip_of(classlabels_int64s=[1, 2], classlabels_strings=["a", "b"]), "classlabels_strings")
    checks.refused("keys of another type", tenon.load(
        model([ml("DictVectorizer", "m", "y", string_vocabulary=["a"])], [port("m", map_of(I, F))], [port("y", tensor_type(F))]), timing=False),
                   {"m": {1: 1.0}}, "DictVectorizer", "keys of integers")
    checks.not_built("a map as a tensor", model([core("Relu", "m", "y")], [port("m", map_of(I, F))], [port("y", tensor_type(F))]), "is a map")
    checks.not_built("keys of floats", model([ml("DictVectorizer", "m", "y", string_vocabulary=["a"])], [port("m", map_of(F, F))],
                                             [port("y", tensor_type(F))]), "'m'", "keys")


def check_files(checks):
    model_path, plan = checks.path("v.onnx"), checks.path("v.plan")
    for bytes_, key, wrong in (
            (dict_regressor([7, -1, 3], I, F), "features",
             [('{"1": 1, "1": 2}', "the key 1 twice"), ('{"a": 1}', "expected an integer"), ('{"1": "x"}', "expected a number"),
              ('{"1": [2]}', "one value"), ("[1]", "expected an object"), ('{"99999999999999999999": 1}', "out of range"),
              ('{"1": 1', "no JSON"), ("", "no JSON")]),
            (sequence_through(F), "items",
             [("{}", "expected a list"), ("[[1, [2]]]", "different depths"), ("[[[1, 2], [3]]]", "different lengths"),
              ('[["a"]]', "expected a number"), ("[[true]]", "expected a number"), ("[[[[[[[[[[1]]]]]]]]]]", "too deep")])):
        with open(model_path, "wb") as file:
            file.write(bytes_)
        code, text = checks.run("build", model_path, "-o", plan, "--no-timing")
        checks.expect("build", text if code else None)
        for text, said in wrong:
            checks.not_read(f"{key} = {text}", plan, key, text, said)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__.splitlines()[0])
    with tempfile.TemporaryDirectory(prefix="tenon-values.") as folder:
        checks = Checks(sys.argv[1], folder)
        for name, (bytes_, inputs) in CASES.items():
            names, expected = checks.in_python(name, bytes_, inputs)
            checks.by_program(name, bytes_, inputs, names, expected)
        check_refusals(checks)
        check_files(checks)
    print(f"{checks.count - checks.failed} of {checks.count} passed")
    return checks.failed != 0


if __name__ == "__main__":
    sys.exit(main())
