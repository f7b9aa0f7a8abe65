# SPDX-License-Identifier: Apache-2.0
"""Models of the domain ai.onnx.ml as converters of scikit-learn, LightGBM and XGBoost write them: scalers and encoders of columns,
linear models, support vector machines, forests, and what is written with ONNX's own operators. ZipMap is left out, as with zipmap=False."""

import numpy as np
from family import Family
from net import I64, STRING

FAMILY = Family()
ROWS = ({"N": 1}, {"N": 17})
ML = "ai.onnx.ml"


def ml(net, kind, *inputs, outputs=1, version=3, **attributes):
    net.domains[ML] = version
    return net.op(kind, *inputs, domain=ML, outputs=outputs, **attributes)


def forest(net, trees, depth, targets, features, prefix, missing=False):
    """Attributes of whole binary trees, node by node."""
    nodes = {name: [] for name in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids")}
    leaves = {name: [] for name in ("treeids", "nodeids", "ids", "weights")}
    inner = 2**depth - 1
    for tree in range(trees):
        for node in range(2**(depth + 1) - 1):
            is_leaf = node >= inner
            row = (tree, node, 0 if is_leaf else int(net.rng.integers(features)), 0.0 if is_leaf else float(np.float32(net.rng.normal() / 2)),
                   "LEAF" if is_leaf else "BRANCH_LEQ", 0 if is_leaf else 2 * node + 1, 0 if is_leaf else 2 * node + 2)
            for name, item in zip(nodes, row):
                nodes[name].append(item)
            for target in range(targets if is_leaf else 0):
                for name, item in zip(leaves, (tree, node, target, float(np.float32(net.rng.random() / trees)))):
                    leaves[name].append(item)
    attributes = {f"nodes_{name}": items for name, items in nodes.items()} | {f"{prefix}_{name}": items for name, items in leaves.items()}
    if missing:
        attributes["nodes_missing_value_tracks_true"] = [int(n) for n in net.rng.integers(0, 2, len(nodes["values"]))]
    return attributes


def with_gaps(rng, shape):
    x = rng.uniform(-1, 1, shape).astype(np.float32)
    x[rng.random(shape) < 0.2] = np.nan
    return x


@FAMILY.add(ROWS, (11, "script"), (17, "script"), quick=True)
def pipeline(net):
    """Columns of numbers, imputed and scaled, and of words, encoded; a forest behind."""
    numbers = net.input("numbers", ["N", 3], values=with_gaps)
    words = net.input("words", ["N", 1], STRING)
    x = ml(net, "Imputer", numbers, imputed_value_floats=[0.1, 0.2, 0.3], replaced_value_float=float("nan"))
    x = ml(net, "Scaler", x, offset=[0.1, 0.0, -0.1], scale=[1.5, 2.0, 0.5])
    hot = ml(net, "OneHotEncoder", words, cats_strings=[f"word{i}" for i in range(8)], zeros=1)
    x = net.Concat(x, net.Reshape(hot, [-1, 8]), axis=1)
    label, scores = ml(net, "TreeEnsembleClassifier", x, outputs=2, classlabels_int64s=[3, 5, 9], post_transform="NONE",
                       **forest(net, 12, 4, 3, 11, "class"))
    net.output(label, "output_label", I64)
    net.output(scores, "output_probability")


@FAMILY.add(ROWS, (9, "script"), (15, "script"))
def logistic_regression(net):
    x = ml(net, "Scaler", net.input("float_input", ["N", 4]), offset=[0.0] * 4, scale=[1.0, 2.0, 3.0, 4.0])
    label, scores = ml(net, "LinearClassifier", x, outputs=2, classlabels_strings=["setosa", "versicolor", "virginica"], multi_class=1,
                       coefficients=[float(v) for v in net.rng.normal(size=12)], intercepts=[0.1, -0.2, 0.3], post_transform="SOFTMAX")
    net.output(label, "label", STRING)
    net.output(ml(net, "Normalizer", scores, norm="L1"), "probabilities")


@FAMILY.add(ROWS, (12, "script"))
def linear_regression(net):
    x = ml(net, "FeatureVectorizer", net.input("a", ["N", 2]), net.input("b", ["N", 3]), inputdimensions=[2, 3])
    net.output(ml(net, "LinearRegressor", x, coefficients=[float(v) for v in net.rng.normal(size=5)], intercepts=[0.5]), "variable")


@FAMILY.add(ROWS, (12, "script"), (17, "script"))
def support_vectors(net):
    """Both kinds: kernels of radius and of a polynomial."""
    x = net.input("float_input", ["N", 4])
    common = {"support_vectors": [float(v) for v in net.rng.normal(size=9 * 4)], "kernel_params": [0.3, 0.5, 3.0]}
    net.output(ml(net, "SVMRegressor", x, kernel_type="POLY", coefficients=[float(v) for v in net.rng.normal(size=9)], n_supports=9, rho=[0.2],
                  **common), "variable")
    label, scores = ml(net, "SVMClassifier", x, outputs=2, classlabels_ints=[0, 1, 2], kernel_type="RBF", vectors_per_class=[3, 3, 3],
                       coefficients=[float(v) for v in net.rng.normal(size=18)], rho=[0.1, -0.2, 0.3], **common)
    net.output(label, "label", I64)
    net.output(scores, "scores")


@FAMILY.add(ROWS, (13, "script"))
def gradient_boosting(net):
    """LightGBM's binary classifier: margins by a regressor, a sigmoid, both classes' probabilities; missing values go to either branch."""
    x = net.input("input", ["N", 6], values=with_gaps)
    margin = ml(net, "TreeEnsembleRegressor", x, n_targets=1, aggregate_function="SUM", base_values=[0.1],
                **forest(net, 10, 3, 1, 6, "target", missing=True))
    one = net.Sigmoid(margin)
    both = net.Concat(net.Sub(1.0, one), one, axis=1)
    label = ml(net, "ArrayFeatureExtractor", net.constant(np.array([0, 1], np.int64)), net.Reshape(net.ArgMax(both, axis=1), [-1]))
    net.output(net.Cast(net.Reshape(label, [-1]), to=I64), "label", I64)
    net.output(both, "probabilities")


@FAMILY.add(ROWS, (15, "script"))
def neighbours(net):
    """Nearest neighbours with ONNX's own operators: distances by a product, TopK, votes by OneHot."""
    x = net.input("X", ["N", 4])
    known = net.constant(net.rng.normal(size=(30, 4)).astype(np.float32))
    labels = net.constant(net.rng.integers(0, 3, 30))
    square = net.Add(net.sum(net.Mul(x, x), 1), net.Reshape(net.sum(net.Mul(known, known), 1), [1, -1]))
    distance = net.Sqrt(net.Max(net.Sub(square, net.Mul(net.MatMul(x, net.Transpose(known, perm=[1, 0])), 2.0)), 0.0))
    _, index = net.TopK(distance, net.ints(5), axis=1, largest=0, sorted=1, outputs=2)
    votes = net.OneHot(net.Gather(labels, index), net.scalar(3, np.int64), net.constant(np.array([0, 1], np.float32)))
    total = net.sum(votes, 1, keepdims=0)
    net.output(net.Div(total, 5.0), "probabilities")
    net.output(net.ArgMax(total, axis=1, keepdims=0), "label", I64)


@FAMILY.add(ROWS, (15, "script"))
def mixture(net):
    """A Gaussian mixture and a naive Bayes' logarithms; principal components; bins."""
    x = net.input("X", ["N", 4])
    y = net.linear(net.Sub(x, net.vector(4)).of(4), 2, bias=False)
    net.output(y, "components")
    parts = []
    for _ in range(2):
        z = net.MatMul(net.Sub(x, net.vector(4)), net.weight(4, 4))
        parts.append(net.Mul(net.ReduceSumSquare(z, axes=[1], keepdims=1), -0.5))
    log = net.Add(net.Concat(*parts, axis=1), net.constant(np.log(np.array([[0.3, 0.7]], np.float32))))
    net.output(net.Sub(log, net.ReduceLogSumExp(log, axes=[1], keepdims=1)), "log_probabilities")
    net.output(ml(net, "Binarizer", x, threshold=0.25), "bins")


@FAMILY.add(ROWS, (13, "script"))
def labels(net):
    """Words to numbers and numbers to words."""
    words = net.input("words", ["N"], STRING)
    number = ml(net, "LabelEncoder", words, version=2, keys_strings=[f"word{i}" for i in range(6)], values_int64s=list(range(10, 16)), default_int64=-1)
    net.output(number, "numbers", I64)
    net.output(ml(net, "LabelEncoder", number, version=2, keys_int64s=[10, 12], values_strings=["ten", "twelve"], default_string="other"),
               "names", STRING)
