# SPDX-License-Identifier: Apache-2.0
"""Layers with a planted mistake, and models with them, that the tests of tenon.debug find."""

import atexit
import tempfile

import numpy as np
import tenon
from models import model
from onnx import TensorProto, helper

CACHE = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
atexit.register(CACHE.cleanup)
F = TensorProto.FLOAT
LOOP = "for (int64_t i = 0; i < tn_layer_count(x); i++) ((float *)y->data)[i] = {};"
INPUT = "((const float *)x->data)[i]"


def layer(name, code, right=None, **options):
    """A layer whose kernel computes `code` and whose reference `right`, both of `v`, an element."""
    def loop(text):
        return LOOP.format(text.replace("v", INPUT)) if isinstance(text, str) else text
    return tenon.Plugin(f"Test::{name}", ["x"], ["y"], forward=loop(code), reference=loop(right), directory=CACHE.name, **options)


# 1 too much in element 5; right on small tensors.
BAD = layer("Bad", "v + (i == 5)", "v")
# The same, its reference in NumPy, by a field.
BAD_SCALE = layer("BadScale", "(float)fields->k * v + (i == 2)", lambda x, k: x * np.float32(k), fields={"k": 2.0})
SOUND = layer("Sound", "v * 2", "v * 2")
CRASHING = layer("Crashing", "v + (i == 5 ? (__builtin_trap(), 1) : 0)", "v")


def node(op, inputs, outputs, name, **fields):
    domain, _, op = op.rpartition("::")
    return helper.make_node(op, inputs.split(), outputs.split(), name, domain=domain, **fields)


def network(nodes, shape=(3, 4), constants=(), outputs=("y",)):
    made = model(nodes, [("x", F, shape)], [(name, F, None) for name in outputs], constants)
    made.opset_import.append(helper.make_opsetid("Test", 1))
    return made


def chain(op="Test::Bad", count=6, at=3, shape=("n", 4)):
    """count nodes in a row, one of which is `op`."""
    kinds = ["Sigmoid", "Neg", "Tanh", "Abs"]
    names = ["x", *(f"t{i}" for i in range(1, count)), "y"]
    return network([node(op if i == at else kinds[i % 4], names[i], names[i + 1], f"node{i}") for i in range(count)], shape)


def loop(op="Test::Bad", count=3, break_at=None):
    """A Loop around `op` that captures a tensor; with `break_at` the mistake needs an iteration of that number."""
    port = helper.make_tensor_value_info
    nodes = [node(op, "s", "t", "inner"), node("Add", "t a", "s2", "add"), node("Identity", "c", "c2", "id")]
    body = helper.make_graph(nodes, "body", [port("i", TensorProto.INT64, []), port("c", TensorProto.BOOL, []), port("s", F, (3, 4))],
                             [port("c2", TensorProto.BOOL, []), port("s2", F, (3, 4))])
    return network([node("Relu", "x", "a", "relu"), helper.make_node("Loop", ["count", "", "a"], ["b"], "loop", body=body),
                    node("Neg", "b", "y", "neg")], constants={"count": np.array(count)})


def branch(op="Test::Bad"):
    """An If on the sum of x; `op` is in its else branch."""
    port = helper.make_tensor_value_info
    one = helper.make_graph([node("Identity", "a", "one", "id")], "one", [], [port("one", F, (3, 4))])
    two = helper.make_graph([node("Neg", "a", "u", "before"), node(op, "u", "two", "inner")], "two", [], [port("two", F, (3, 4))])
    return network([node("Relu", "x", "a", "relu"), node("ReduceSum", "x", "s", "sum", keepdims=0), node("Less", "s zero", "c", "less"),
                    helper.make_node("If", ["c"], ["b"], "if", then_branch=one, else_branch=two), node("Neg", "b", "y", "neg")],
                   constants={"zero": np.float32(-1e9)})


def scan(op="Test::Bad"):
    port = helper.make_tensor_value_info
    body = helper.make_graph([node("Add", "s e", "s2", "add"), node(op, "s2", "o", "inner")], "body",
                             [port("s", F, (8,)), port("e", F, (8,))], [port("s2", F, (8,)), port("o", F, (8,))])
    return network([node("ReduceMin", "x zero", "a", "least", keepdims=0),
                    helper.make_node("Scan", ["a", "x"], ["z", "b"], "scan", body=body, num_scan_inputs=1), node("Neg", "b", "y", "neg")],
                   (3, 8), {"zero": np.array([0])})


def sample(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape, np.float32)
