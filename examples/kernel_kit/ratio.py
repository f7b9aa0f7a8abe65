#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The time of this library's kernels against that of Tenon's own, in one run of one network that has each operator twice.

Usage: ratio.py TENON LIBRARY [option of `tenon bench`]..., like --threads 2. Needs NumPy and onnx."""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

PAIRS = {
    "MatMul of 1 x 1024 by 1024 x 1024": ("MatMul", (1, 1024), (1024, 1024)),
    "MatMul of 64 x 512 by 512 x 512": ("MatMul", (64, 512), (512, 512)),
    "Softmax of 256 x 1000": ("Softmax", (256, 1000), None),
}


def network():
    nodes, inputs, outputs, constants = [], [], [], []
    for number, (op, shape, weights) in enumerate(PAIRS.values()):
        if weights:
            values = np.random.default_rng(number).standard_normal(weights).astype(np.float32)
            constants.append(numpy_helper.from_array(values, f"w{number}"))
        for domain in ("", "kit"):
            name = f"{domain or 'tenon'}{number}"
            inputs.append(helper.make_tensor_value_info("x_" + name, TensorProto.FLOAT, shape))
            nodes.append(helper.make_node(op, ["x_" + name] + ([f"w{number}"] if weights else []), [name], name, domain=domain))
            outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, None))
    graph = helper.make_graph(nodes, "twice", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("kit", 1)], ir_version=8)


def main():
    tenon, library = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "twice.onnx")
        onnx.save(network(), path)
        text = subprocess.run([tenon, "bench", path, "--plugin", library, "--profile", "--json", *sys.argv[3:]], check=True,
                              stdout=subprocess.PIPE, text=True).stdout
    # Steps that copy a tensor to or from a device have their node's name, too.
    nodes = {step["node"]: step for step in json.loads(text)["profile"] if step["kernel"] != "convert"}
    for number, pair in enumerate(PAIRS):
        built_in, ours = nodes[f"tenon{number}"], nodes[f"kit{number}"]
        print(f"{pair}: kit::{ours['operator']} ({ours['kernel']}) {ours['min_ns'] / 1000:.1f} us, built-in ({built_in['kernel']})"
              f" {built_in['min_ns'] / 1000:.1f} us, ratio {ours['min_ns'] / built_in['min_ns']:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
