#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a network of selections and comparisons: selection.py MODEL.onnx [ROWS COLUMNS]

Rows of token numbers are compared with a padding number, masked scores are chosen by Where, the best of each row are found by TopK
and gathered, and what comes out is cast, as decoders and detectors do it around their matrix products."""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

INPUTS = {"tokens": np.int64, "scores": np.float32, "table": np.float32}


def shapes(rows, columns):
    return {"tokens": (rows, columns), "scores": (rows, columns), "table": (1000, 64)}


def make(path, rows=64, columns=4096):
    constants = {"pad": np.int64(0), "low": np.float32(-1e9), "half": np.float32(0.5), "k": np.array([64], np.int64),
                 "one": np.int64(1), "size": np.int64(1000)}
    nodes = [
        ("Equal", ["tokens", "pad"], ["is_pad"], {}),
        ("Not", ["is_pad"], ["is_token"], {}),
        ("Greater", ["scores", "half"], ["is_high"], {}),
        ("And", ["is_token", "is_high"], ["is_kept"], {}),
        ("Where", ["is_kept", "scores", "low"], ["kept"], {}),
        ("TopK", ["kept", "k"], ["best", "indices"], {"axis": 1}),
        ("GatherElements", ["tokens", "indices"], ["chosen"], {"axis": 1}),
        ("Mod", ["chosen", "size"], ["rows"], {}),
        ("Gather", ["table", "rows"], ["vectors"], {}),
        ("Add", ["tokens", "one"], ["next"], {}),
        ("Where", ["is_pad", "tokens", "next"], ["shifted"], {}),
        ("Cast", ["shifted"], ["shifted32"], {"to": TensorProto.INT32}),
        ("Cast", ["is_kept"], ["mask"], {"to": TensorProto.FLOAT}),
        ("Cast", ["tokens"], ["numbers"], {"to": TensorProto.FLOAT}),
        ("Mul", ["mask", "numbers"], ["masked"], {}),
    ]
    types = {np.int64: TensorProto.INT64, np.float32: TensorProto.FLOAT}
    outputs = [("best", TensorProto.FLOAT, (rows, 64)), ("vectors", TensorProto.FLOAT, (rows, 64, 64)),
               ("shifted32", TensorProto.INT32, (rows, columns)), ("masked", TensorProto.FLOAT, (rows, columns))]
    graph = helper.make_graph(
        [helper.make_node(op, inputs, made, name=made[0], **fields) for op, inputs, made, fields in nodes], "selection",
        [helper.make_tensor_value_info(name, types[INPUTS[name]], shape) for name, shape in shapes(rows, columns).items()],
        [helper.make_tensor_value_info(*output) for output in outputs],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def values(rows, columns):
    """Inputs of which a tenth is padding."""
    generator = np.random.default_rng(1)
    tokens = generator.integers(0, 30000, (rows, columns)) * (generator.random((rows, columns)) > 0.1)
    return {"tokens": tokens.astype(np.int64), "scores": generator.random((rows, columns), np.float32),
            "table": generator.random((1000, 64), np.float32)}


if __name__ == "__main__":
    make(sys.argv[1], *map(int, sys.argv[2:]))
