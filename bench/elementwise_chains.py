#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times chains of elementwise layers in turns, in one run: as Tenon builds them, with every layer by itself, and in onnxruntime.

Prints the best and median milliseconds of each on one thread, and the ratios to the first. Needs onnx and onnxruntime (.venv
has them after `make test`); the program is build/bin/tenon or $TENON."""
import os
import statistics
import subprocess
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from side_by_side import ROUNDS, tenon, time_onnxruntime, time_tenon

# Layers as (operator, name of a constant that is the second input, or None).
CHAINS = {
    "functions": [("Abs", None), ("Neg", None), ("Exp", None), ("Sigmoid", None), ("Mul", "two"), ("Add", "one"), ("Tanh", None)],
    "arithmetic": [("Mul", "scale"), ("Add", "shift"), ("Abs", None), ("Add", "one"), ("Sqrt", None), ("Div", "two"), ("Sub", "shift"),
                   ("Relu", None)],
}
CONSTANTS = {"one": np.float32(1), "two": np.float32(2), "scale": np.linspace(0.5, 2, 64, dtype=np.float32).reshape(64, 1, 1),
             "shift": np.linspace(-1, 1, 64, dtype=np.float32).reshape(64, 1, 1)}
SHAPES = {"small": (1, 64, 56, 56), "large": (8, 64, 112, 112)}


def make(chain, shape, path):
    nodes, last = [], "x"
    for i, (op, constant) in enumerate(chain):
        out = "y" if i + 1 == len(chain) else f"t{i}"
        nodes.append(helper.make_node(op, [last] + ([constant] if constant else []), [out]))
        last = out
    graph = helper.make_graph(
        nodes, "chain", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in CONSTANTS.items()
         if any(name == constant for _, constant in chain)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def main():
    os.sched_setaffinity(0, [os.cpu_count() - 1])
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    with tempfile.TemporaryDirectory() as folder:
        for name, chain in CHAINS.items():
            for size, shape in SHAPES.items():
                model, variants = f"{folder}/chain.onnx", {"fused": [], "alone": ["--no-fusion"]}
                make(chain, shape, model)
                for variant, flags in variants.items():
                    subprocess.run([tenon, "build", model, "-o", f"{folder}/{variant}.plan", "--threads", "1", *flags], check=True,
                                   stdout=subprocess.DEVNULL)
                session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
                feed = {"x": np.random.default_rng(1).random(shape, np.float32)}
                times = {"fused": [], "alone": [], "onnxruntime": []}
                for _ in range(ROUNDS):
                    for variant in variants:
                        times[variant].append(time_tenon(f"{folder}/{variant}.plan", 1, {"x": shape}))
                    times["onnxruntime"].append(time_onnxruntime(session, feed))
                best = {variant: min(t[0] for t in found) for variant, found in times.items()}
                median = {variant: statistics.median(t[1] for t in found) for variant, found in times.items()}
                print(f"{name} of {len(chain)}, {size}: " + ", ".join(f"{variant} {best[variant]:.4f} / {median[variant]:.4f} ms" for variant in times) +
                      f"; fused to alone {best['fused'] / best['alone']:.2f}, to onnxruntime {best['fused'] / best['onnxruntime']:.2f}")


if __name__ == "__main__":
    main()
