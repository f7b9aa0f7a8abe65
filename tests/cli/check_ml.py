# SPDX-License-Identifier: Apache-2.0
"""Models of ONNX's domain ai.onnx.ml, with random constants, in Tenon and in onnxruntime: check_ml.py TENON.

Each is written as ONNX's test cases are, with what onnxruntime computes, and run by `tenon test`: by kernels, by references, and
checked. Models that are damaged in one field are refused with that field's name."""

import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

ML = "ai.onnx.ml"
MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]
TYPES = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.float64): TensorProto.DOUBLE, np.dtype(np.int64): TensorProto.INT64,
         np.dtype(np.int32): TensorProto.INT32, np.dtype(object): TensorProto.STRING}
random = np.random.default_rng(5)


def floats(*shape, scale=1.0):
    return [float(x) for x in (scale * random.standard_normal(shape)).astype(np.float32).ravel()]


def rows(count, columns, dtype=np.float32, scale=1.0):
    return (scale * random.standard_normal((count, columns))).astype(dtype)


def words(*texts):
    return np.array(texts, dtype=object)


def model_of(op, attributes, inputs, outputs, version, domain=ML):
    ports = [helper.make_tensor_value_info(f"x{i}", TYPES[x.dtype], x.shape) for i, x in enumerate(inputs)]
    node = helper.make_node(op, [port.name for port in ports], [f"y{i}" for i in range(outputs)], domain=domain, **attributes)
    results = [helper.make_empty_tensor_value_info(name) for name in node.output]
    opsets = [helper.make_opsetid(ML, version if domain else 3), helper.make_opsetid("", 20)]
    return helper.make_model(helper.make_graph([node], "g", ports, results), opset_imports=opsets, ir_version=9)


# ---- trees ----------------------------------------------------------------------------------------------------------

def trees(count, depth, features, modes=("BRANCH_LEQ",), tracks=False, prefix="class", targets=3, ids=None, positive=False):
    nodes = {name: [] for name in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids")}
    leaves = {name: [] for name in ("treeids", "nodeids", "ids", "weights")}
    missing = []
    for tree in range(count):
        queue, last = [(0, 0)], 1
        for number, level in queue:
            is_leaf = level == depth or (level > 1 and random.random() < 0.2)
            for name, item in zip(nodes, (tree, number, int(random.integers(features)), float(np.float32(random.integers(-4, 5) / 4)),
                                          "LEAF" if is_leaf else str(random.choice(modes)), *((0, 0) if is_leaf else (last, last + 1)))):
                nodes[name].append(item)
            missing.append(int(tracks and random.random() < 0.5))
            if is_leaf:
                for target in (range(targets) if ids is None else ids):
                    weight = floats(1)[0]
                    for name, item in zip(leaves, (tree, number, target, abs(weight) if positive else weight)):
                        leaves[name].append(item)
            else:
                queue += [(last, level + 1), (last + 1, level + 1)]
                last += 2
    found = {f"nodes_{name}": items for name, items in nodes.items()} | {f"{prefix}_{name}": items for name, items in leaves.items()}
    return found | ({"nodes_missing_value_tracks_true": missing} if tracks else {})


def tree_rows(count, features, dtype=np.float32, with_nan=False):
    x = (random.integers(-8, 9, (count, features)) / 4).astype(dtype)
    if with_nan:
        x[random.random(x.shape) < 0.1] = np.nan
    return x


def tree_cases():
    int_labels, texts = {"classlabels_int64s": [7, 3, 9]}, {"classlabels_strings": ["a", "bc", ""]}
    for name, modes in (("leq", MODES[:1]), ("order", MODES[:4]), ("all", MODES)):
        for tracks in (False, True):
            yield (f"classifier_{name}_{tracks}", "TreeEnsembleClassifier", trees(11, 5, 6, modes, tracks) | int_labels,
                   [tree_rows(37, 6, with_nan=True)], 2, 3)
    for post in ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"):
        yield (f"classifier_{post}", "TreeEnsembleClassifier", trees(5, 4, 6) | texts | {"post_transform": post}, [tree_rows(9, 6)], 2, 1)
    for dtype in (np.float64, np.int64, np.int32):
        yield (f"classifier_{np.dtype(dtype)}", "TreeEnsembleClassifier", trees(7, 4, 6) | int_labels, [tree_rows(70, 6, dtype)], 2, 3)
    for post in ("NONE", "LOGISTIC"):
        binary = {"classlabels_int64s": [0, 1], "post_transform": post}
        yield f"binary_{post}", "TreeEnsembleClassifier", trees(5, 4, 6, ids=[0]) | binary, [tree_rows(50, 6)], 2, 1
        yield (f"binary_base_{post}", "TreeEnsembleClassifier", trees(5, 4, 6, ids=[0]) | binary | {"base_values": [0.25]},
               [tree_rows(50, 6)], 2, 1)
    yield ("binary_positive", "TreeEnsembleClassifier", trees(5, 4, 6, ids=[0], positive=True) | {"classlabels_strings": ["no", "yes"]},
           [tree_rows(50, 6)], 2, 1)
    yield ("classifier_base", "TreeEnsembleClassifier", trees(3, 4, 6) | int_labels | {"base_values": [1.0, 2.0, 3.0]},
           [tree_rows(20, 6)], 2, 1)
    double = trees(7, 4, 6)
    for name in ("nodes_values", "class_weights"):
        double[f"{name}_as_tensor"] = numpy_helper.from_array(np.array(double.pop(name), np.float64) / 3)
    yield "classifier_double", "TreeEnsembleClassifier", double | int_labels, [rows(70, 6, np.float64)], 2, 3
    for aggregate in ("SUM", "AVERAGE", "MIN", "MAX"):
        for targets in (1, 3):
            found = trees(9, 4, 5, MODES[:4], prefix="target", targets=targets)
            found |= {"n_targets": targets, "aggregate_function": aggregate, "base_values": floats(targets)}
            yield f"regressor_{aggregate}_{targets}", "TreeEnsembleRegressor", found, [tree_rows(33, 5)], 1, 3
    yield ("regressor_many", "TreeEnsembleRegressor", trees(100, 8, 20, prefix="target", targets=1) | {"n_targets": 1},
           [tree_rows(1500, 20)], 1, 3)
    yield "regressor_one_row", "TreeEnsembleRegressor", trees(100, 8, 20, prefix="target", targets=1) | {"n_targets": 1}, [tree_rows(1, 20)], 1, 3


def tensor(values, dtype=np.float32):
    return numpy_helper.from_array(np.array(values, dtype))


def ensemble(**changes):
    """Two trees of opset 5, one with a membership test."""
    found = {"tree_roots": [0, 2], "nodes_featureids": [0, 1, 2], "nodes_splits": tensor([0.5, -0.25, np.nan]),
             "nodes_modes": tensor([0, 3, 6], np.uint8), "nodes_truenodeids": [1, 0, 2], "nodes_trueleafs": [0, 1, 1],
             "nodes_falsenodeids": [1, 3, 4], "nodes_falseleafs": [1, 1, 1], "membership_values": tensor([1.0, 0.25, np.nan]),
             "leaf_targetids": [0, 1, 0, 1, 0], "leaf_weights": tensor(floats(5)), "n_targets": 2}
    return {name: value for name, value in (found | changes).items() if value is not None}


def ensemble_cases():
    yield "tree_ensemble", "TreeEnsemble", ensemble(), [tree_rows(40, 3)], 1, 5
    yield "tree_ensemble_min", "TreeEnsemble", ensemble(aggregate_function=2), [tree_rows(40, 3)], 1, 5


# ---- others ---------------------------------------------------------------------------------------------------------

def linear_cases():
    for post in ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"):
        three = {"coefficients": floats(3, 21), "intercepts": floats(3), "post_transform": post}
        yield f"linear_{post}", "LinearClassifier", three | {"classlabels_ints": [4, 5, 6]}, [rows(50, 21)], 2, 1
    for post in ("NONE", "LOGISTIC"):
        one = {"coefficients": floats(5), "intercepts": floats(1), "post_transform": post, "classlabels_strings": ["n", "y"]}
        yield f"linear_binary_{post}", "LinearClassifier", one, [rows(50, 5)], 2, 1
    yield ("linear_regressor", "LinearRegressor", {"coefficients": floats(2, 21), "intercepts": floats(2), "targets": 2},
           [rows(50, 21)], 1, 1)
    for kernel in ("LINEAR", "POLY", "RBF", "SIGMOID"):
        common = {"kernel_type": kernel, "kernel_params": [0.3, 0.2, 2.0]}
        yield (f"svm_regressor_{kernel}", "SVMRegressor",
               common | {"coefficients": floats(9), "support_vectors": floats(9, 4), "rho": [0.3], "n_supports": 9}, [rows(30, 4)], 1, 1)
        three = common | {"support_vectors": floats(9, 4), "coefficients": floats(2, 9), "rho": floats(3),
                          "vectors_per_class": [4, 2, 3], "classlabels_ints": [2, 0, 1]}
        yield f"svm_{kernel}", "SVMClassifier", three, [rows(30, 4)], 2, 1
        yield f"svm_{kernel}_proba", "SVMClassifier", three | {"prob_a": [-1.0, -2.0, -0.5], "prob_b": [0.1, 0.0, -0.2]}, [rows(30, 4)], 2, 1
    two = {"kernel_type": "RBF", "kernel_params": [0.3, 0.2, 2.0], "support_vectors": floats(5, 4), "coefficients": [1.0, 0.5, -0.5, -0.75, -0.25],
           "rho": [0.1], "vectors_per_class": [2, 3], "classlabels_strings": ["a", "b"]}
    yield "svm_two", "SVMClassifier", two, [rows(30, 4)], 2, 1
    yield "svm_two_proba", "SVMClassifier", two | {"prob_a": [-1.5], "prob_b": [0.2]}, [rows(30, 4)], 2, 1
    yield ("svm_linear", "SVMClassifier", {"kernel_type": "LINEAR", "kernel_params": [0.0, 0.0, 0.0], "coefficients": floats(3, 4), "rho": [0.25], "classlabels_ints": [3, 1, 2]}, [rows(30, 4)], 2, 1)


def feature_cases():
    yield "scaler", "Scaler", {"offset": floats(7), "scale": floats(7)}, [rows(20, 7)], 1, 1
    yield "scaler_one", "Scaler", {"offset": floats(1), "scale": floats(1)}, [rows(20, 7, np.float64)], 1, 1
    for norm in ("MAX", "L1", "L2"):
        yield f"normalizer_{norm}", "Normalizer", {"norm": norm}, [rows(20, 7)], 1, 1
    yield "binarizer", "Binarizer", {"threshold": 0.5}, [rows(20, 7)], 1, 1
    missing = rows(20, 3)
    missing[random.random(missing.shape) < 0.3] = np.nan
    yield ("imputer", "Imputer", {"imputed_value_floats": [1.0, 2.0, 3.0], "replaced_value_float": float("nan")}, [missing], 1, 1)
    yield ("imputer_int", "Imputer", {"imputed_value_int64s": [9], "replaced_value_int64": 0}, [rows(9, 3, np.int64, 2)], 1, 1)
    yield "vectorizer", "FeatureVectorizer", {"inputdimensions": [2, 3]}, [rows(5, 2), rows(5, 3)], 1, 1
    yield "extractor", "ArrayFeatureExtractor", {}, [rows(5, 6), np.array([1, 5, 1])], 1, 1
    yield ("extractor_text", "ArrayFeatureExtractor", {}, [words("a", "b", "c", "d").reshape(2, 2), np.array([1])], 1, 1)
    yield "one_hot", "OneHotEncoder", {"cats_int64s": [3, 1, 2]}, [random.integers(0, 5, 30)], 1, 1
    yield "one_hot_text", "OneHotEncoder", {"cats_strings": ["a", "bb"]}, [words("bb", "x", "a", "a")], 1, 1
    yield ("mapper", "CategoryMapper", {"cats_strings": ["a", "b"], "cats_int64s": [5, 6]}, [words("b", "x", "a")], 1, 1)
    yield ("mapper_back", "CategoryMapper", {"cats_strings": ["a", "b"], "cats_int64s": [5, 6]}, [np.array([6, 7, 5])], 1, 1)


def encoder_cases():
    keys = {"strings": ["a", "bc", ""], "int64s": [3, -1, 7], "floats": [0.5, -2.0, float("nan")]}
    inputs = {"strings": words("bc", "x", "", "a"), "int64s": np.array([7, 0, 3]), "floats": np.array([0.5, 1, np.nan, -2], np.float32)}
    for key in keys:
        for value in keys:
            values = {"strings": ["u", "v", "w"], "int64s": [4, 5, 6], "floats": [1.5, 2.5, 3.5]}[value]
            yield (f"encoder_{key}_{value}", "LabelEncoder", {f"keys_{key}": keys[key], f"values_{value}": values}, [inputs[key]], 1, 4)
    yield ("encoder_tensors", "LabelEncoder",
           {"keys_tensor": tensor([1.5, 2.5], np.float64), "values_tensor": tensor([7, 8], np.int64), "default_tensor": tensor([-3], np.int64)},
           [np.array([2.5, 1.5, 0.0])], 1, 4)
    yield "encoder_1", "LabelEncoder", {"classes_strings": ["p", "q"]}, [words("q", "x", "p")], 1, 1


def string_cases():
    yield "concat", "StringConcat", {}, [words("a", "b"), words("c", "")], 1, ""
    yield "tf_idf", "TfIdfVectorizer", {"mode": "TFIDF", "ngram_counts": [0, 3], "ngram_indexes": [0, 1, 2, 3, 4], "max_skip_count": 1,
                                        "pool_strings": ["a", "b", "c", "a", "b", "b", "c"], "weights": [0.5, 1.0, 2.0, 3.0, 4.0],
                                        "min_gram_length": 1, "max_gram_length": 2}, [words(*"abcabbac").reshape(2, 4)], 1, ""
    texts = words("ab", "aab", "bcd", "BCD", "abcbc", "x", "a x", "aa", "c", "")
    for pattern in ("a+b?", "(?i)[b-d]*", "(a|bc)*", "\\w{2,3}", ".*\\bx", "[^a]", "a{2}|c$"):
        yield f"match_{pattern.encode().hex()}", "RegexFullMatch", {"pattern": pattern}, [texts], 1, ""
    yield "split", "StringSplit", {"delimiter": ","}, [words("a,b,c", ",", "x")], 2, ""


# ---- running --------------------------------------------------------------------------------------------------------

def write_values(folder, prefix, values):
    for i, value in enumerate(values):
        with open(os.path.join(folder, f"{prefix}_{i}.pb"), "wb") as file:
            file.write(numpy_helper.from_array(np.asarray(value)).SerializeToString())


def write_case(folder, name, op, attributes, inputs, outputs, version):
    model = model_of(op, attributes, inputs, outputs, version or 1, domain=ML if version else "")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    data = os.path.join(folder, name, "test_data_set_0")
    os.makedirs(data)
    onnx.save(model, os.path.join(folder, name, "model.onnx"))
    write_values(data, "input", inputs)
    write_values(data, "output", session.run(None, {f"x{i}": x for i, x in enumerate(inputs)}))


def write_cases(folder):
    for make in (tree_cases, ensemble_cases, linear_cases, feature_cases, encoder_cases, string_cases):
        for case in make():
            write_case(folder, *case)


def damaged():
    """Of each: what is said, the operator, its fields and input."""
    x = [tree_rows(3, 6)]
    labels = {"classlabels_int64s": [0, 1, 2]}

    def classifier(version=3, **changes):
        found = trees(2, 3, 6) | labels
        for name, change in changes.items():
            found[name] = change(list(found[name])) if callable(change) else change
        return "TreeEnsembleClassifier", {name: value for name, value in found.items() if value is not None}, x, 2, version

    def put(index, value):
        return lambda items: items[:index] + [value] + items[index + 1:]

    yield "nodes_truenodeids", *classifier(nodes_truenodeids=put(0, 0))
    yield "nodes_falsenodeids", *classifier(nodes_falsenodeids=put(0, 10**12))
    yield "nodes_truenodeids", *classifier(nodes_truenodeids=put(1, 2))
    yield "nodes_nodeids", *classifier(nodes_nodeids=put(1, 0))
    yield "nodes_modes", *classifier(nodes_modes=put(0, "BRANCH"))
    yield "nodes_values", *classifier(nodes_values=lambda items: items[:-1])
    yield "NaN", *classifier(nodes_values=put(0, float("nan")))
    yield "nodes_featureids", *classifier(nodes_featureids=put(0, -1))
    yield "nodes_featureids", *classifier(nodes_featureids=put(0, 2**62))
    yield "class_ids", *classifier(class_ids=put(0, 3))
    yield "class_ids", *classifier(class_ids=put(0, -1))
    yield "class_nodeids", *classifier(class_nodeids=put(0, 0))
    yield "class_treeids", *classifier(class_treeids=lambda items: items[:-1])
    yield "classlabels", *classifier(classlabels_strings=["a"])
    yield "base_values", *classifier(base_values=[1.0, 2.0])
    yield "n_targets", "TreeEnsembleRegressor", trees(1, 2, 6, prefix="target", targets=1) | {"n_targets": 2**40}, x, 1, 3
    yield "nodes_truenodeids", "TreeEnsemble", ensemble(nodes_truenodeids=[0, 0, 2]), [tree_rows(3, 3)], 1, 5
    yield "tree_roots", "TreeEnsemble", ensemble(tree_roots=[0, 7]), [tree_rows(3, 3)], 1, 5
    yield "tree_roots", "TreeEnsemble", ensemble(tree_roots=[0, 0]), [tree_rows(3, 3)], 1, 5
    yield "membership_values", "TreeEnsemble", ensemble(membership_values=None), [tree_rows(3, 3)], 1, 5
    yield "membership_values", "TreeEnsemble", ensemble(membership_values=tensor([1, np.nan, np.nan])), [tree_rows(3, 3)], 1, 5
    yield "nodes_modes", "TreeEnsemble", ensemble(nodes_modes=tensor([0, 3, 9], np.uint8)), [tree_rows(3, 3)], 1, 5
    yield "leaf_targetids", "TreeEnsemble", ensemble(leaf_targetids=[0, 1, 0, 2, 0]), [tree_rows(3, 3)], 1, 5
    yield "coefficients", "LinearRegressor", {"coefficients": [1.0, 2.0]}, x, 1, 1
    yield "support_vectors", "SVMRegressor", {"coefficients": [1.0], "support_vectors": [1.0], "rho": [0.0], "n_supports": 2**31 - 1}, x, 1, 1
    yield "vectors_per_class", "SVMClassifier", {"coefficients": [1.0], "vectors_per_class": [2**62, 2**62, 2**62], "classlabels_ints": [0, 1, 2],
                                                 "rho": [0.0]}, x, 2, 1
    yield "keys", "LabelEncoder", {"keys_int64s": [1, 2], "values_int64s": [1]}, [np.array([1])], 1, 2
    yield "offset", "Scaler", {"offset": [1.0, 2.0]}, x, 1, 1
    for pattern in ("(a", "a)", "a**", "[b-a]", "a{2,1}", "(?x)", "\\pL", "(a{1000}){1000}", "(" * 5000, "[a"):
        yield "pattern", "RegexFullMatch", {"pattern": pattern}, [words("a")], 1, ""
    yield "ngram_counts", "TfIdfVectorizer", {"mode": "TF", "ngram_counts": [0, 9], "ngram_indexes": [0], "max_skip_count": 0,
                                              "pool_int64s": [1], "min_gram_length": 1, "max_gram_length": 1}, [np.array([1])], 1, ""


def refused(tenon, folder):
    wrong = 0
    for number, (said, op, attributes, inputs, outputs, version) in enumerate(damaged()):
        path = os.path.join(folder, f"damaged_{number}.onnx")
        onnx.save(model_of(op, attributes, inputs, outputs, version or 1, domain=ML if version else ""), path)
        done = subprocess.run([tenon, "build", path, "-o", f"{path}.plan"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False, timeout=60)
        if done.returncode not in (1, 2, 3) or said not in done.stdout:
            print(f"FAIL {op} with a wrong '{said}' ({path}): {done.returncode}: {done.stdout.strip()}")
            wrong += 1
    return wrong


# ---- ZipMap, plans, isolated reading -------------------------------------------------------------------------------

def with_zip_map(path):
    """A classifier that ends in ZipMap, as converters write it."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, 6])
    labels = {"classlabels_int64s": [0, 1, 2]}
    nodes = [helper.make_node("TreeEnsembleClassifier", ["x"], ["label", "scores"], domain=ML, **trees(3, 3, 6), **labels),
             helper.make_node("ZipMap", ["scores"], ["maps"], domain=ML, **labels)]
    maps = helper.make_value_info("maps", helper.make_sequence_type_proto(helper.make_map_type_proto(
        TensorProto.INT64, helper.make_tensor_type_proto(TensorProto.FLOAT, []))))
    graph = helper.make_graph(nodes, "g", [x], [helper.make_tensor_value_info("label", TensorProto.INT64, [3]), maps])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid(ML, 3), helper.make_opsetid("", 20)], ir_version=9), path)


def zip_maps(tenon, folder):
    """Built as it is; with the option dropped with a warning, and the plan finds the library by itself."""
    model, plan = os.path.join(folder, "zip_map.onnx"), os.path.join(folder, "zip_map.plan")
    data = os.path.join(folder, "x.npy")
    with_zip_map(model)
    np.save(data, tree_rows(3, 6))
    wrong = 0
    for words, code, said in ((["build", model, "-o", plan], 0, ""),
                              (["build", model, "-o", plan, "--zipmap", "drop"], 0, "ZipMap is dropped"),
                              (["build", model, "-o", plan, "--zipmap", "drop", "--isolate"], 0, ""),
                              (["run", plan, "--input", f"x={data}"], 0, "label"),
                              (["run", plan, "--input", f"x={data}", "--isolate"], 0, "label")):
        done = subprocess.run([tenon, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=60)
        if (done.returncode != 0) != (code != 0) or said not in done.stdout:
            print(f"FAIL {' '.join(words)}: {done.returncode}: {done.stdout.strip()}")
            wrong += 1
    return wrong


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__.splitlines()[0])
    tenon, failed = sys.argv[1], 0
    with tempfile.TemporaryDirectory(prefix="tenon-ml.") as folder:
        folder = sys.argv[2] if len(sys.argv) > 2 else folder
        write_cases(os.path.join(folder, "cases"))
        for options in ([], ["--reference"], ["--checked"], ["--threads", "3"]):
            done = subprocess.run([tenon, "test", os.path.join(folder, "cases"), "--atol", "1e-5", *options], stdout=subprocess.PIPE, text=True,
                                  check=False)
            lines = done.stdout.splitlines()
            print("\n".join(line for line in lines if not line.startswith("PASS")))
            failed += done.returncode != 0 or any(line.startswith("UNSUPPORTED") for line in lines)
        failed += refused(tenon, folder)
        failed += zip_maps(tenon, folder)
    print("failed" if failed else "passed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
