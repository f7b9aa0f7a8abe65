# SPDX-License-Identifier: Apache-2.0
"""Holds random numbers against their distributions: check_random.py TENON."""

import os
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from checks import ProgramChecks  # noqa: E402

COUNT = 100000
SIZES = {"shape": [COUNT]}


def make_model():
    nodes = [helper.make_node("RandomNormal", [], ["normal"], mean=3.0, scale=2.0, seed=1.0, **SIZES),
             helper.make_node("RandomUniform", [], ["uniform"], low=-1.0, high=3.0, seed=1.0, **SIZES),
             helper.make_node("RandomUniform", [], ["other"], low=-1.0, high=3.0, seed=2.0, **SIZES),
             helper.make_node("RandomUniform", [], ["unseeded"], **SIZES),
             helper.make_node("RandomUniform", [], ["unseeded_too"], **SIZES),
             helper.make_node("Bernoulli", ["p"], ["ones"], seed=5.0),
             helper.make_node("Multinomial", ["weights"], ["classes"], sample_size=COUNT, seed=6.0)]
    outputs = [helper.make_tensor_value_info(n.output[0], TensorProto.INT32 if n.op_type == "Multinomial" else TensorProto.FLOAT,
                                             None) for n in nodes]
    inputs = [helper.make_tensor_value_info("p", TensorProto.FLOAT, [COUNT]),
              helper.make_tensor_value_info("weights", TensorProto.FLOAT, [1, 3])]
    return helper.make_model(helper.make_graph(nodes, "random", inputs, outputs),
                             opset_imports=[helper.make_opsetid("", 15)], ir_version=8)


def run(checks, threads):
    onnx.save(make_model(), checks.path("random.onnx"))
    np.save(checks.path("p.npy"), np.full(COUNT, 0.3, np.float32))
    np.save(checks.path("weights.npy"), np.log(np.array([[1, 2, 5]], np.float32)))
    done = checks.program("run", "random.onnx", "--input", "p=p.npy", "--input", "weights=weights.npy", "-O", ".", "-t",
                          str(threads))
    if not checks.report(f"runs on {threads} threads", done.returncode == 0, done.stderr):
        return {}
    names = "normal uniform other unseeded unseeded_too ones classes".split()
    return {name: np.load(checks.path(name + ".npy")) for name in names}


def near(value, wanted, deviation):
    """Within five standard deviations of a mean of COUNT numbers."""
    return abs(value - wanted) < 5 * deviation / COUNT ** 0.5


def main():
    with tempfile.TemporaryDirectory() as folder:
        checks = ProgramChecks(sys.argv[1], folder)
        first, second = run(checks, 1), run(checks, 2)
        if first and second:
            say = checks.say
            say(all(np.array_equal(first[n], second[n]) for n in first), "the same numbers in each run, on any threads")
            normal, uniform = first["normal"], first["uniform"]
            say(near(normal.mean(), 3, 2) and abs(normal.std() - 2) < 0.03, "normal: mean and deviation")
            say(near((normal < 1).mean(), 0.1587, 0.365) and near((normal > 7).mean(), 0.0228, 0.149), "normal: its tails")
            say(near(uniform.mean(), 1, 1.155) and uniform.min() >= -1 and uniform.max() <= 3, "uniform: mean and ends")
            say(np.histogram(uniform, 16, (-1, 3))[0].std() < 300, "uniform: as many everywhere")
            pairs = (("uniform", "other"), ("unseeded", "unseeded_too"), ("uniform", "unseeded"))
            say(all(abs(np.corrcoef(first[a], first[b])[0, 1]) < 0.02 for a, b in pairs), "other seeds and nodes: other numbers")
            say(near(first["ones"].mean(), 0.3, 0.458) and set(np.unique(first["ones"])) == {0, 1}, "Bernoulli: its share")
            share = np.bincount(first["classes"][0], minlength=3) / COUNT
            say(all(near(s, w, 0.5) for s, w in zip(share, (0.125, 0.25, 0.625))), "Multinomial: its shares")
        return checks.end()


if __name__ == "__main__":
    sys.exit(main())
