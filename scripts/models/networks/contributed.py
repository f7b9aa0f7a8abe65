# SPDX-License-Identifier: Apache-2.0
"""Transformers after onnxruntime's optimizer and its model builder: fused operators of the domain com.microsoft."""

import numpy as np
from family import TEXTS, Family
from net import I32, I64

FAMILY = Family()
WORDS, WIDTH, HEADS = 40, 24, 3
MS = "com.microsoft"


def ms(net, kind, *inputs, outputs=1, **attributes):
    return net.op(kind, *inputs, domain=MS, outputs=outputs, **attributes)


def table(net, *shape):
    return net.constant(net.rng.uniform(-0.5, 0.5, shape).astype(np.float32))


def gain(net, width):
    return net.vector(width, 0.5, 1.5)


@FAMILY.add(TEXTS, (11, "script"), (17, "script"), quick=True)
def fused_bert(net):
    """EmbedLayerNormalization, Attention with a mask of lengths, SkipLayerNormalization, BiasGelu or FastGelu."""
    tokens, kinds = (net.input(name, ["batch", "length"], I32, 0, high) for name, high in (("input_ids", WORDS), ("segment_ids", 2)))
    mask = net.input("input_mask", ["batch", "length"], I32, values=lambda rng, shape: np.ones(shape, np.int32))
    x, _ = ms(net, "EmbedLayerNormalization", tokens, kinds, table(net, WORDS, WIDTH), table(net, 32, WIDTH), table(net, 2, WIDTH),
              gain(net, WIDTH), net.vector(WIDTH), outputs=2, epsilon=1e-12)
    for act in ("BiasGelu", "FastGelu"):
        y = ms(net, "Attention", x, net.weight(WIDTH, 3 * WIDTH, fan=WIDTH), net.vector(3 * WIDTH), mask, num_heads=HEADS)
        y = net.MatMul(y, net.weight(WIDTH, WIDTH))
        x = ms(net, "SkipLayerNormalization", y, x, gain(net, WIDTH), net.vector(WIDTH), net.vector(WIDTH), epsilon=1e-12)
        y = ms(net, act, net.MatMul(x, net.weight(WIDTH, 48, fan=WIDTH)), net.vector(48))
        y = net.MatMul(y, net.weight(48, WIDTH, fan=48))
        x = ms(net, "SkipLayerNormalization", y, x, gain(net, WIDTH), net.vector(WIDTH), net.vector(WIDTH), epsilon=1e-12)
    net.output(x, "last_hidden_state")


@FAMILY.add(TEXTS, (14, "script"), quick=True)
def fused_vit(net):
    """MultiHeadAttention, FusedMatMul, QuickGelu, LayerNormalization of the default domain before opset 17."""
    x = net.input("hidden", ["batch", "length", WIDTH], channels=WIDTH)
    q, k, v = (net.MatMul(x, net.weight(WIDTH, WIDTH)) for _ in range(3))
    y = ms(net, "MultiHeadAttention", q, k, v, net.vector(3 * WIDTH), num_heads=HEADS)
    y = net.Add(x, net.Add(net.MatMul(y, net.weight(WIDTH, WIDTH)), net.vector(WIDTH)))
    y = net.LayerNormalization(y, gain(net, WIDTH), net.vector(WIDTH), axis=-1, epsilon=1e-5)
    y = ms(net, "QuickGelu", net.MatMul(y, net.weight(WIDTH, 48, fan=WIDTH)), alpha=1.702)
    y = net.MatMul(y, net.weight(48, WIDTH, fan=48))
    net.output(ms(net, "FusedMatMul", y, x, alpha=0.125, transB=1), "products")
    net.output(ms(net, "Gelu", y), "output")


STEPS = ({"batch": 1, "length": 5, "past": 0, "total": 5}, {"batch": 2, "length": 1, "past": 6, "total": 7})


@FAMILY.add(STEPS, (18, "dynamo"), quick=True)
def model_builder(net):
    """A decoder as onnxruntime's model builder has it: GroupQueryAttention with rotation, RMS normalisation with the skipped sum,
    weights of 4 bits in blocks."""
    heads, key_heads, depth = 4, 2, 16
    width = heads * depth

    def product(x, out):
        width = x.channels
        packed = net.constant(net.rng.integers(0, 256, (out, width // 16, 8)).astype(np.uint8))
        scales = net.constant(net.rng.uniform(0.01, 0.05, out * (width // 16)).astype(np.float32))
        return ms(net, "MatMulNBits", x, packed, scales, K=width, N=out, bits=4, block_size=16).of(out)

    tokens = net.input("input_ids", ["batch", "length"], I64, 0, WORDS)
    mask = net.input("attention_mask", ["batch", "total"], I64, values=lambda rng, shape: np.ones(shape, np.int64))
    past = [net.input(f"past_key_values.0.{name}", ["batch", key_heads, "past", depth]) for name in ("key", "value")]
    last = net.Sub(net.sum(mask, 1, keepdims=0), net.scalar(1, np.int64))
    lengths = net.Cast(last, to=I32)
    total = net.Cast(net.Gather(net.Shape(mask), net.scalar(1, np.int64), axis=0), to=I32)
    angles = np.outer(np.arange(32), 10000.0**(-np.arange(depth // 2) / (depth // 2)))
    cos, sin = (net.constant(f(angles).astype(np.float32)) for f in (np.cos, np.sin))
    x = net.Gather(table(net, WORDS, width), tokens)
    y = net.SimplifiedLayerNormalization(x, gain(net, width), axis=-1, epsilon=1e-5, stash_type=1).of(width)
    q, k, v = (product(y, n * depth) for n in (heads, key_heads, key_heads))
    y, key, value = ms(net, "GroupQueryAttention", q, k, v, *past, lengths, total, cos, sin, num_heads=heads, kv_num_heads=key_heads,
                       do_rotary=1, rotary_interleaved=0, outputs=3)
    y = product(y.of(width), width)
    y, _, _, x = ms(net, "SkipSimplifiedLayerNormalization", x, y, gain(net, width), epsilon=1e-5, outputs=4)
    net.nodes[-1].output[1:3] = ["", ""]
    y = y.of(width)
    gate, up = product(y, 96), product(y, 96)
    y = net.Mul(net.Mul(gate, net.Sigmoid(gate)), up).of(96)
    y = ms(net, "SkipSimplifiedLayerNormalization", x, product(y, width), gain(net, width), epsilon=1e-5)
    net.output(product(y.of(width), WORDS), "logits")
    net.output(key, "present.0.key")
    net.output(value, "present.0.value")


@FAMILY.add(TEXTS, (13, "script"))
def dynamic_bert(net):
    """After onnxruntime's quantisation without samples: DynamicQuantizeMatMul."""
    x = net.input("hidden", ["batch", "length", WIDTH], channels=WIDTH)
    for out in (48, WIDTH):
        w = net.constant(net.rng.integers(-64, 65, (x.channels, out)).astype(np.int8))
        x = ms(net, "DynamicQuantizeMatMul", x, w, net.constant(np.float32(0.006)), net.constant(np.array(0, np.int8)), net.vector(out)).of(out)
    net.output(net.layer_norm(x), "output")


@FAMILY.add(TEXTS, (13, "script"), (17, "script"), loose=2e-2)
def dynamic_tagger(net):
    """The same of an LSTM of both directions: DynamicQuantizeLSTM, and one behind it of one direction with a scale a column."""
    x = net.Transpose(net.Gather(table(net, 20, 8), net.input("tokens", ["batch", "length"], I64, 0, 20)), perm=[1, 0, 2])
    for depth, directions in ((8, 2), (20, 1)):
        w, r = (net.constant(net.rng.integers(-64, 65, (directions, n, 40)).astype(np.int8)) for n in (depth, 10))
        shape = (2,) if directions == 2 else (1, 40)
        scale, zero = net.constant(net.rng.uniform(0.003, 0.008, shape).astype(np.float32)), net.constant(np.zeros(shape, np.int8))
        bias = net.constant(net.rng.uniform(-0.1, 0.1, (directions, 80)).astype(np.float32))
        y, *_ = ms(net, "DynamicQuantizeLSTM", x, w, r, bias, None, None, None, None, scale, zero, scale, zero, outputs=3, hidden_size=10,
                   direction="bidirectional" if directions == 2 else "forward")
        x = net.Reshape(net.Transpose(y, perm=[0, 2, 1, 3]), [0, 0, -1])
    net.output(net.linear(x.of(10), 5), "tags")
