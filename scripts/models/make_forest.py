# SPDX-License-Identifier: Apache-2.0
"""Writes a random forest as scikit-learn's exports have it: make_forest.py FILE [--trees N] [--depth N] [--features N] [--classes N].

Nothing is trained: splits and leaves are random numbers with a fixed seed, so that the file is the same on every machine. A
node above the greatest depth is a leaf with a probability of --leaf, but not above --full levels. `--regressor` writes
TreeEnsembleRegressor with one target, `--mode` another comparison than BRANCH_LEQ."""

import argparse

import numpy as np
import onnx
from onnx import TensorProto, helper


class Forest:
    def __init__(self, options):
        self.options = options
        self.random = np.random.default_rng(options.seed)
        self.nodes = {name: [] for name in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids")}
        self.leaves = {name: [] for name in ("treeids", "nodeids", "ids", "weights")}

    def add_node(self, tree, number, mode, feature=0, value=0.0, children=(0, 0)):
        row = (tree, number, feature, value, mode, *children)
        for name, item in zip(self.nodes, row):
            self.nodes[name].append(item)

    def add_leaf(self, tree, number):
        count = self.options.classes
        weights = self.random.random(count, np.float32)
        if not self.options.regressor:
            weights /= weights.sum() * np.float32(self.options.trees)
        if count == 2 and not self.options.regressor:
            weights = weights[1:]
        for target, weight in enumerate(weights):
            for name, item in zip(self.leaves, (tree, number, target, float(weight))):
                self.leaves[name].append(item)

    def add_tree(self, tree):
        o = self.options
        queue, count = [(0, 0)], 1
        for number, depth in queue:
            if depth == o.depth or (depth >= o.full and self.random.random() < o.leaf):
                self.add_node(tree, number, "LEAF")
                self.add_leaf(tree, number)
                continue
            self.add_node(tree, number, o.mode, int(self.random.integers(o.features)), float(np.float32(self.random.normal())),
                          (count, count + 1))
            queue += [(count, depth + 1), (count + 1, depth + 1)]
            count += 2

    def model(self):
        o = self.options
        prefix = "target" if o.regressor else "class"
        attributes = {f"nodes_{name}": items for name, items in self.nodes.items()}
        attributes |= {f"{prefix}_{name}": items for name, items in self.leaves.items()}
        attributes |= {"n_targets": o.classes} if o.regressor else {"classlabels_int64s": list(range(o.classes))}
        outputs = ["y"] if o.regressor else ["label", "probabilities"]
        node = helper.make_node("TreeEnsembleRegressor" if o.regressor else "TreeEnsembleClassifier", ["x"], outputs,
                                domain="ai.onnx.ml", **attributes)
        scores = helper.make_tensor_value_info(outputs[-1], TensorProto.FLOAT, ["N", o.classes])
        labels = [] if o.regressor else [helper.make_tensor_value_info("label", TensorProto.INT64, ["N"])]
        graph = helper.make_graph([node], "forest", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", o.features])],
                                  labels + [scores])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("ai.onnx.ml", 3), helper.make_opsetid("", 17)],
                                 ir_version=8)


def make(path, trees=100, depth=10, features=30, classes=3, leaf=0.1, full=4, regressor=False, mode="BRANCH_LEQ", seed=7):
    options = argparse.Namespace(**{name: value for name, value in locals().items() if name != "path"})
    forest = Forest(options)
    for tree in range(trees):
        forest.add_tree(tree)
    onnx.save(forest.model(), path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", metavar="FILE")
    for name, value in (("trees", 100), ("depth", 10), ("features", 30), ("classes", 3), ("full", 4), ("seed", 7)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--leaf", type=float, default=0.1)
    parser.add_argument("--mode", default="BRANCH_LEQ")
    parser.add_argument("--regressor", action="store_true")
    make(**vars(parser.parse_args()))


if __name__ == "__main__":
    main()
