# SPDX-License-Identifier: Apache-2.0
"""Writes a small GPT as ONNX, for examples/generate_text: gpt.py FILE.onnx

Two layers of 4 heads over characters. Its layers have random weights; its last matrix is solved for by least squares, so that it
continues one text, TEXT, from any of its beginnings. Keys and values lie in caches of a fixed capacity, inputs and outputs that a
program binds to the same memory: a run writes its own positions from `start` on, and sees those before them.

    tokens [1, length] i64, start [1] i64, key.N and value.N [1, 4, CAPACITY, 16]
    -> next [1] i64: the likeliest character behind the last one; key.N and value.N with the new positions
"""

import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

TEXT = ("A layer is a plugin. The engine knows no layer by name: it asks each for its shapes, its kernels and its tests, "
        "measures what it finds, and keeps the fastest.\n")
CAPACITY, WIDTH, HEADS, LAYERS, HIDDEN, CHARACTERS = 192, 64, 4, 2, 128, 128
DEPTH = WIDTH // HEADS


def weights():
    """All matrices but the last, by name."""
    rng = np.random.default_rng(3)

    def draw(*shape, scale):
        return (rng.standard_normal(shape) * scale).astype(np.float32)

    made = {"embedding": draw(CHARACTERS, WIDTH, scale=1), "positions": draw(CAPACITY, WIDTH, scale=1)}
    for n in range(LAYERS):
        made[f"qkv.{n}"] = draw(WIDTH, 3 * WIDTH, scale=WIDTH**-0.5)
        made[f"joined.{n}"] = draw(WIDTH, WIDTH, scale=WIDTH**-0.5)
        made[f"up.{n}"] = draw(WIDTH, HIDDEN, scale=WIDTH**-0.5)
        made[f"down.{n}"] = draw(HIDDEN, WIDTH, scale=HIDDEN**-0.5)
    return made


def normalised(x):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)


def features(made, tokens):
    """What the last matrix sees of each of the tokens, in double precision: the network without caches."""
    w = {name: value.astype(np.float64) for name, value in made.items()}
    count = len(tokens)
    x = w["embedding"][tokens] + w["positions"][:count]
    for n in range(LAYERS):
        q, k, v = ((normalised(x) @ w[f"qkv.{n}"]).reshape(count, 3, HEADS, DEPTH).transpose(1, 2, 0, 3))
        scores = q @ k.transpose(0, 2, 1) / np.sqrt(DEPTH)
        scores = np.where(np.tril(np.ones((count, count), bool)), scores, -np.inf)
        p = np.exp(scores - scores.max(-1, keepdims=True))
        y = (p / p.sum(-1, keepdims=True)) @ v
        x = x + y.transpose(1, 0, 2).reshape(count, WIDTH) @ w[f"joined.{n}"]
        x = x + np.maximum(normalised(x) @ w[f"up.{n}"], 0) @ w[f"down.{n}"]
    # as many numbers as the text has characters and more, so that least squares meets each of them
    return np.maximum(normalised(x) @ w["wide"], 0)


def solve(made):
    """The last matrices, for which the network continues TEXT."""
    rng = np.random.default_rng(4)
    made["wide"] = (rng.standard_normal((WIDTH, 4 * HIDDEN)) * WIDTH**-0.5).astype(np.float32)
    tokens = np.frombuffer(TEXT.encode(), np.uint8)
    x, wanted = features(made, tokens[:-1]), np.eye(CHARACTERS)[tokens[1:]]
    made["output"] = np.linalg.solve(x.T @ x + 1e-4 * np.eye(x.shape[1]), x.T @ wanted).astype(np.float32)
    return made


class Net:
    def __init__(self, made):
        self.nodes, self.count = [], 0
        self.constants = [numpy_helper.from_array(value, name) for name, value in made.items()]

    def ints(self, *values, scalar=False):
        name = f"i{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.array(values[0] if scalar else values, np.int64), name))
        return name

    def __call__(self, op, *inputs, outputs=None, **fields):
        self.count += 1
        names = outputs or [f"t{self.count}"]
        self.nodes.append(helper.make_node(op, list(inputs), names, f"{op.lower()}_{self.count}", **fields))
        return names[0] if len(names) == 1 else names


def layer(net, n, x, start, length):
    cut = net.ints(0, -1, HEADS, DEPTH)
    qkv = net("MatMul", net("RMSNormalization", x, "ones", axis=-1, epsilon=1e-5), f"qkv.{n}")
    q, k, v = net("Split", qkv, outputs=[f"{part}.{n}" for part in "qkv"], axis=2, num_outputs=3)
    q, k, v = (net("Transpose", net("Reshape", part, cut), perm=[0, 2, 1, 3]) for part in (q, k, v))
    keys = net("TensorScatter", f"key.{n}", k, start, outputs=[f"next_key.{n}"], axis=2)
    values = net("TensorScatter", f"value.{n}", v, start, outputs=[f"next_value.{n}"], axis=2)
    y = net("Attention", q, keys, values, "", "", "", length, is_causal=1)
    y = net("Reshape", net("Transpose", y, perm=[0, 2, 1, 3]), net.ints(0, -1, WIDTH))
    x = net("Add", x, net("MatMul", y, f"joined.{n}"))
    y = net("MatMul", net("RMSNormalization", x, "ones", axis=-1, epsilon=1e-5), f"up.{n}")
    return net("Add", x, net("MatMul", net("Relu", y), f"down.{n}"))


def model(made):
    net = Net(dict(made, ones=np.ones(WIDTH, np.float32)))
    one, zero = net.ints(1, scalar=True), net.ints(0, scalar=True)
    count = net("Shape", "tokens", start=1)
    length = net("Add", "start", count)
    positions = net("Add", "start", net("Range", zero, net("Squeeze", count), one))
    x = net("Add", net("Gather", "embedding", "tokens"), net("Gather", "positions", positions))
    for n in range(LAYERS):
        x = layer(net, n, x, "start", length)
    last = net("Gather", x, net.ints(-1, scalar=True), axis=1)
    last = net("Relu", net("MatMul", net("RMSNormalization", last, "ones", axis=-1, epsilon=1e-5), "wide"))
    net("ArgMax", net("MatMul", last, "output"), outputs=["next"], axis=1, keepdims=0)
    cache = [1, HEADS, CAPACITY, DEPTH]
    caches = [f"{part}.{n}" for n in range(LAYERS) for part in ("key", "value")]

    def port(name, kind, shape):
        return helper.make_tensor_value_info(name, kind, shape)

    graph = helper.make_graph(
        net.nodes, "gpt", [port("tokens", TensorProto.INT64, [1, "length"]), port("start", TensorProto.INT64, [1]),
                           *(port(name, TensorProto.FLOAT, cache) for name in caches)],
        [port("next", TensorProto.INT64, [1]), *(port(f"next_{name}", TensorProto.FLOAT, cache) for name in caches)], net.constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)], ir_version=11)


def likeliest(made, tokens):
    """The character behind the tokens, by the reference in double precision."""
    return int((features(made, tokens)[-1] @ made["output"].astype(np.float64)).argmax())


def main():
    made = solve(weights())
    onnx.save(model(made), sys.argv[1])


if __name__ == "__main__":
    main()
