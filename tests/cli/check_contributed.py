# SPDX-License-Identifier: Apache-2.0
"""Operators that onnxruntime contributes to transformers' exports (importers/onnx/contributed.h), each by itself and in a block
of a decoder as exporters write it: compared with onnxruntime on the same models and inputs. And what is refused.

Usage: check_contributed.py TENON, the program. Needs NumPy, onnx and onnxruntime. Relative tolerance 1e-3, absolute 2e-5.
"""

import os
import sys
import tempfile

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from checks import ProgramChecks

MS = "com.microsoft"
RANDOM = np.random.default_rng(7)


def floats(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def angles(count, half):
    table = np.outer(np.arange(count), 0.5 ** np.arange(half))
    return np.cos(table).astype(np.float32), np.sin(table).astype(np.float32)


def single(op, inputs, outputs=1, domain=MS, constants=(), compared=None, **fields):
    """A model of one node. `inputs` are arrays or None; those whose index is in `constants` are initializers. Outputs are a number,
    or a list of those that are wanted; of them `compared` (a number) are outputs of the model."""
    wanted = range(outputs) if isinstance(outputs, int) else outputs
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
    made = [f"y{i}" if i in wanted else "" for i in range(max(wanted) + 1)]
    node = helper.make_node(op, names, made, name="n", domain=domain, **fields)
    return [node], {n: x for n, x in zip(names, inputs) if n}, [f"y{i}" for i in wanted][:compared], [f"x{i}" for i in constants]


def cases():
    h, b = floats(2, 5, 24), floats(24)
    yield "Gelu", single("Gelu", [h])
    yield "FastGelu", single("FastGelu", [h])
    yield "FastGelu with bias", single("FastGelu", [h, b])
    yield "BiasGelu", single("BiasGelu", [h, b])
    yield "QuickGelu", single("QuickGelu", [h], alpha=1.5)
    yield "FusedMatMul", single("FusedMatMul", [floats(2, 3, 4), floats(2, 5, 4)], alpha=0.25, transB=1)
    yield from fused_cases()
    yield "SkipLayerNormalization", single("SkipLayerNormalization", [h, floats(2, 5, 24), b, floats(24), floats(24)], [0, 3], epsilon=1e-5)
    yield "SkipLayerNormalization without bias", single("SkipLayerNormalization", [h, floats(2, 5, 24), b])
    yield "SkipSimplifiedLayerNormalization", single("SkipSimplifiedLayerNormalization", [h, floats(2, 5, 24), b], [0, 3], epsilon=1e-6)
    yield "SimplifiedLayerNormalization", single("SimplifiedLayerNormalization", [h, b], domain="", axis=-1, epsilon=1e-6)
    ids = RANDOM.integers(0, 9, (2, 5)).astype(np.int32)
    embed = [ids, ids % 2, floats(9, 24), floats(7, 24), floats(2, 24), b, floats(24)]
    yield "EmbedLayerNormalization", single("EmbedLayerNormalization", embed, 2)
    yield "EmbedLayerNormalization with mask", single("EmbedLayerNormalization", [*embed, (ids > 2).astype(np.int32)], 2)
    cosines, sines = angles(16, 4)
    positions = np.array([[3, 4, 5, 6, 7], [0, 1, 2, 3, 4]])
    yield "RotaryEmbedding", single("RotaryEmbedding", [h, positions, cosines, sines], constants=(2, 3))
    yield "RotaryEmbedding from one position on", single("RotaryEmbedding", [h, np.array([6]), cosines, sines], constants=(2, 3), interleaved=1)
    yield "RotaryEmbedding of heads", single("RotaryEmbedding", [floats(2, 3, 5, 8), positions, cosines, sines])
    yield from attention_cases()
    yield from quantized_cases()
    yield "a decoder's block", decoder_block()


def fused_cases():
    """What onnxruntime's optimizer writes into the files that it saves."""
    x, w, b, z = floats(2, 3, 6, 6), floats(4, 3, 3, 3) / 5, floats(4), floats(2, 4, 6, 6)
    for activation, numbers in (("Relu", ()), ("Sigmoid", ()), ("Tanh", ()), ("LeakyRelu", (0.2,)), ("Clip", (-0.25, 0.5)), ("HardSigmoid", (0.3, 0.4))):
        fields = {"activation": activation, **({"activation_params": numbers} if numbers else {})}
        yield f"FusedConv and {activation}", single("FusedConv", [x, w, b], constants=(1, 2), pads=[1] * 4, kernel_shape=[3, 3], **fields)
    yield "FusedConv, a sum and Relu", single("FusedConv", [x, w, b, z], constants=(1, 2), pads=[1] * 4, activation="Relu")
    yield "FusedConv and a sum", single("FusedConv", [x, w, b, z], constants=(1, 2), pads=[1] * 4)
    for activation, fields in (("Relu", {}), ("LeakyRelu", {"activation_alpha": 0.2}), ("Elu", {"activation_alpha": 1.5}), ("Softplus", {})):
        yield f"FusedGemm and {activation}", single("FusedGemm", [floats(5, 7), floats(4, 7), floats(4)], constants=(1, 2), transB=1, alpha=0.5,
                                                    activation=activation, **fields)
    a, b = floats(4, 2, 3, 5), floats(6, 2, 3, 5)
    yield "FusedMatMul of batches behind rows", single("FusedMatMul", [a, floats(2, 3, 5, 6)], transBatchA=1)
    yield "FusedMatMul, both so", single("FusedMatMul", [a, b], transBatchA=1, transBatchB=1, transB=1)
    yield "FusedMatMul, turned too", single("FusedMatMul", [floats(5, 2, 3, 4), b], transBatchA=1, transA=1, transBatchB=1, transB=1)
    yield "TransposeMatMul", single("TransposeMatMul", [floats(2, 4, 3), floats(2, 4, 5)], alpha=0.5, transA=1)


def attention_cases():
    x, w, b = floats(2, 5, 16), floats(16, 72), floats(72)
    mask = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], dtype=np.int32)
    yield "Attention", single("Attention", [x, w, b], num_heads=3)
    yield "Attention with mask", single("Attention", [x, w, b, mask], num_heads=3)
    yield "Attention with past", single("Attention", [x, w, b, None, floats(2, 2, 3, 4, 8)], 2, num_heads=3, unidirectional=1)
    lengths = {"lengths": [3, 5], "a mask of queries": RANDOM.integers(0, 2, (2, 5, 5)) | np.eye(5, dtype=int)}
    for name, value in lengths.items():
        yield f"Attention with {name}", single("Attention", [x, w, b, np.array(value, np.int32)], num_heads=3)
    yield "Attention with past and lengths", single("Attention", [x, w, b, np.array([7, 9], np.int32), floats(2, 2, 3, 4, 8)], 2, num_heads=3)
    q, k, v = floats(2, 4, 24), floats(2, 5, 24), floats(2, 5, 24)
    yield "MultiHeadAttention", single("MultiHeadAttention", [q, k, v], num_heads=3)
    yield "MultiHeadAttention with bias and mask", single("MultiHeadAttention", [q, k, v, b, mask], num_heads=3, scale=0.25)
    yield "MultiHeadAttention with scores' bias", single("MultiHeadAttention", [q, k, v, None, None, floats(2, 3, 4, 5)], num_heads=3)
    yield "MultiHeadAttention of another sequence", single("MultiHeadAttention", [q, floats(2, 3, 7, 8), floats(2, 3, 7, 8)], num_heads=3)
    yield "MultiHeadAttention with lengths", single("MultiHeadAttention", [q, k, v, None, np.array([2, 5], np.int32)], num_heads=3)
    past = [floats(2, 3, 6, 8), floats(2, 3, 6, 8)]
    yield "MultiHeadAttention with past", single("MultiHeadAttention", [q, k, v, None, None, None, *past], 3, num_heads=3)
    cosines, sines = angles(32, 8)
    for name, length, held, counts in (("first run", 5, 0, (5, 5)), ("one step", 1, 6, (7, 7)), ("steps of unlike samples", 1, 6, (7, 4))):
        for packed in (False, True):
            kv = [None, None] if packed else [floats(2, length, 32), floats(2, length, 32)]
            query = floats(2, length, 128 if packed else 64)
            pasts = [floats(2, 2, held, 16), floats(2, 2, held, 16)]
            counted = [np.array(counts, dtype=np.int32) - 1, np.array(max(counts), dtype=np.int32)]
            compared = None if counts[0] == counts[1] else 1  # what caches hold behind a sample's last key is not compared
            yield (f"GroupQueryAttention, {name}{', packed' if packed else ''}",
                   single("GroupQueryAttention", [query, *kv, *pasts, *counted, cosines, sines], 3, constants=(7, 8), compared=compared,
                          num_heads=4, kv_num_heads=2, do_rotary=1, local_window_size=3 if packed else -1,
                          softcap=2.0 if packed else 0.0))
            inputs = [query, *kv, *pasts, *counted, cosines, sines, None]
            fields = {"num_heads": 4, "kv_num_heads": 2, "do_rotary": 1, "local_window_size": 3 if packed else -1}
            yield (f"GroupQueryAttention with sinks, {name}{', packed' if packed else ''}",
                   single("GroupQueryAttention", [*inputs, None, floats(4)], 3, constants=(7, 8), compared=compared, **fields))
            yield (f"GroupQueryAttention, smooth, {name}{', packed' if packed else ''}",
                   single("GroupQueryAttention", inputs[:9], 3, constants=(7, 8), compared=compared, smooth_softmax=1, **fields))
            if not held:
                continue
            bias = floats(2, 1, length, max(counts))
            yield (f"GroupQueryAttention with sinks and a bias, {name}{', packed' if packed else ''}",
                   single("GroupQueryAttention", [*inputs, bias, floats(4)], 3, constants=(7, 8), compared=compared, **fields))


def quantized_cases():
    def quantized(*shape):
        return [RANDOM.integers(0, 255, shape).astype(np.uint8), np.float32(0.02), np.uint8(120)]
    result = [np.float32(0.03), np.uint8(128)]
    a, b = quantized(2, 3, 4, 4), quantized(2, 3, 4, 4)
    yield "QLinearAdd", single("QLinearAdd", [*a, *b, *result], constants=(1, 2, 4, 5, 6, 7))
    yield "QLinearMul", single("QLinearMul", [*a, *b, *result], constants=(1, 2, 4, 5, 6, 7))
    yield "QLinearSigmoid", single("QLinearSigmoid", [*a, np.float32(1 / 256), np.uint8(0)], constants=(1, 2, 3, 4))
    yield "QLinearLeakyRelu", single("QLinearLeakyRelu", [*a, *result], constants=(1, 2, 3, 4), alpha=0.2)
    yield "QLinearConcat", single("QLinearConcat", [*result, *a, *b], constants=(0, 1, 3, 4, 6, 7), axis=1)
    yield "QLinearGlobalAveragePool", single("QLinearGlobalAveragePool", [*a, *result], constants=(1, 2, 3, 4))
    yield "DynamicQuantizeMatMul", single("DynamicQuantizeMatMul", [floats(2, 5, 16), a[0][0, 0].reshape(16, 1), np.float32(0.02),
                                                                    np.uint8(120), floats(1)], constants=(1, 2, 3))
    yield from blocked_cases((4, 16, 40, True), (4, 32, 64, False), (8, 16, 32, True))
    yield "QLinearAveragePool", single("QLinearAveragePool", [*a, *result], constants=(1, 2, 3, 4), kernel_shape=[2, 2], strides=[2, 2])
    half = [floats(2, 40).astype(np.float16), RANDOM.integers(0, 256, (6, 3, 8)).astype(np.uint8), (np.abs(floats(18)) / 100).astype(np.float16)]
    yield "MatMulNBits of 16-bit floats", single("MatMulNBits", half, constants=(1, 2), K=40, N=6, bits=4, block_size=16)
    yield from table_cases()
    yield from dynamic_lstm_cases()
    yield from operator_format_cases()
    yield from blocked_cases((2, 16, 80, True), (2, 32, 64, False))


def operator_format_cases():
    """What onnxruntime's quantize_static writes beside QLinearConv, and pairs of Q and DQ of 16 and 4 bits before ONNX had these."""
    def integers(kind, *shape):
        info = np.iinfo(kind)
        return RANDOM.integers(info.min // 2, info.max // 2 + 1, shape).astype(kind)
    a = [integers(np.uint8, 5, 12), np.float32(0.02), np.uint8(60)]
    bias, result = RANDOM.integers(-900, 900, 7).astype(np.int32), [np.float32(0.05), np.uint8(128)]
    columns = (1 + np.arange(7, dtype=np.float32)) / 500
    for name, kind, scale, zero, fields in (("", np.int8, np.float32(0.01), np.int8(0), {}),
                                            (" with a scale a column", np.int8, columns, np.zeros(7, np.int8), {"transB": 1}),
                                            (" of unsigned weights", np.uint8, np.float32([0.0103]), np.uint8([50]), {"alpha": 0.5})):
        b = integers(kind, *((7, 12) if fields.get("transB") else (12, 7)))
        inputs = [*a, b, scale, zero, bias]
        yield "QGemm" + name, single("QGemm", [*inputs, *result], constants=range(1, 9), **fields)
        yield f"QGemm{name}, into floats", single("QGemm", inputs, constants=range(1, 7), **fields)
        yield f"QGemm{name}, without C", single("QGemm", [*inputs[:6], None, *result], constants=(1, 2, 3, 4, 5, 7, 8), **fields)
    x = [integers(np.uint8, 2, 3, 10), np.float32(0.06), np.uint8(120)]
    for opset, axis in ((11, 1), (13, 1), (13, -1)):
        yield f"QLinearSoftmax of opset {opset}, axis {axis}", single("QLinearSoftmax", [*x, np.float32(1 / 256), np.uint8(0)],
                                                                      constants=(1, 2, 3, 4), opset=opset, axis=axis)
    where = [RANDOM.integers(0, 2, (3, 10)) > 0, *x, integers(np.uint8, 10), np.float32(0.03), np.uint8(100), *result]
    yield "QLinearWhere", single("QLinearWhere", where, constants=(2, 3, 5, 6, 7, 8))
    for kind, zero in ((np.uint16, 30000), (np.int16, 0), (np.uint8, 128), (np.int8, -3)):
        scale, wide = np.float32(0.0001 if np.iinfo(kind).max > 255 else 0.02), kind(zero)
        name = np.dtype(kind).name
        yield f"QuantizeLinear into {name}", single("QuantizeLinear", [floats(3, 7), scale, wide], constants=(1, 2))
        yield f"DequantizeLinear of {name}", single("DequantizeLinear", [integers(kind, 3, 7), scale, wide], constants=(1, 2))
    yield "DequantizeLinear along an axis", single("DequantizeLinear", [integers(np.int16, 3, 7), columns[:3], np.zeros(3, np.int16)],
                                                   constants=(1, 2), axis=0)
    yield "DequantizeLinear of 32 bits", single("DequantizeLinear", [bias, np.float32(0.001)], constants=(1,))
    x = [integers(np.uint8, 2, 5, 12), integers(np.int8, 12, 36), floats(36), np.float32(0.02), np.float32(0.01)]
    keys = np.array([[1, 1, 1, 1, 0], [1, 1, 1, 1, 1]], np.int32)
    yield "QAttention", single("QAttention", [*x, keys, np.uint8(120), np.int8(0)], constants=(1, 2, 3, 4, 6, 7), num_heads=3)
    past = [None, np.uint8(120), np.int8(0), floats(2, 2, 3, 4, 4)]
    yield "QAttention after a past", single("QAttention", [*x, *past], 2, constants=(1, 2, 3, 4, 6, 7), num_heads=3, unidirectional=1)


def blocked_cases(*cases_of_bits):
    for bits, block, depth, has_zeros in cases_of_bits:
        blocks = -(-depth // block)
        packed = RANDOM.integers(0, 256, (6, blocks, block * bits // 8)).astype(np.uint8)
        zeros = RANDOM.integers(0, 256, 6 * -(-blocks * bits // 8)).astype(np.uint8) if has_zeros else None
        scales = np.abs(floats(6 * blocks)) / 100
        yield (f"MatMulNBits of {bits} bits, {depth} in blocks of {block}",
               single("MatMulNBits", [floats(2, 3, depth), packed, scales, zeros], constants=(1, 2, 3) if has_zeros else (1, 2), K=depth,
                      N=6, bits=bits, block_size=block))


def table_cases():
    """Tables of words in blocks, as onnxruntime's model builder writes them."""
    ids = np.array([[3, 0, 6, 2, 5]])
    for bits, shape in ((4, (7, 32)), (8, (7, 64))):
        table, scales = RANDOM.integers(0, 256, shape).astype(np.uint8), np.abs(floats(7, 4)) / 20
        zeros = RANDOM.integers(0, 256, (7, 4 * bits // 8)).astype(np.uint8)
        fields = {"block_size": 16, "bits": bits, "quantize_axis": 1, "gather_axis": 0}
        yield f"GatherBlockQuantized of {bits} bits", single("GatherBlockQuantized", [table, ids, scales], constants=(0, 2), **fields)
        yield f"GatherBlockQuantized of {bits} bits with zeros", single("GatherBlockQuantized", [table, ids, scales, zeros], constants=(0, 2, 3), **fields)
    for kind in ("int4", "uint4"):
        low = -8 if kind == "int4" else 0
        values = [RANDOM.integers(low, low + 16, (7, n)).astype(np.int8 if low else np.uint8).astype(getattr(ml_dtypes, kind)) for n in (32, 2)]
        yield f"GatherBlockQuantized of {kind}", single("GatherBlockQuantized", [values[0], ids[0], np.abs(floats(7, 2)), values[1]],
                                                        constants=(0, 2, 3), block_size=16, quantize_axis=-1)
    packed, scales = RANDOM.integers(0, 256, (6, 4, 8)).astype(np.uint8), np.abs(floats(24)) / 100
    order = RANDOM.permutation(np.arange(64, dtype=np.int32) // 16)
    x, fields = floats(2, 3, 64), {"K": 64, "N": 6, "bits": 4, "block_size": 16}
    yield "MatMulNBits with an order of blocks", single("MatMulNBits", [x, packed, scales, None, order], constants=(1, 2, 4), **fields)
    yield "MatMulNBits with zeros that are floats", single("MatMulNBits", [x, packed, scales, 7 + floats(24)], constants=(1, 2, 3), **fields)


def dynamic_lstm_cases():
    """Weights of either type, a scale a direction or a column; 'lengths' are of a batch of 3. Signed ones have 7 bits: on processors
    without VNNI onnxruntime's products of pairs saturate at 16 bits otherwise."""
    def weights(kind, *shape):
        low, high = (-64, 64) if kind == np.int8 else (0, 255)
        return RANDOM.integers(low, high, shape).astype(kind)
    for name, kind, directions, scales, lengths in (("", np.int8, 1, (1,), None), (" of both directions", np.uint8, 2, (2,), None),
                                                    (" with a scale a column", np.int8, 1, (1, 32), None),
                                                    (" with lengths", np.uint8, 1, (1,), np.array([4, 3, 1], np.int32))):
        w, r = weights(kind, directions, 6, 32), weights(kind, directions, 8, 32)
        zero = np.full(scales, 120 if kind == np.uint8 else 0, kind)
        scale = np.full(scales, 0.006, np.float32) * (1 + np.arange(scales[-1], dtype=np.float32) / 50)
        values = [floats(4, 3, 6), w, r, floats(directions, 64), lengths, floats(directions, 3, 8), floats(directions, 3, 8), None,
                  scale, zero, scale, zero]
        fields = {"direction": "bidirectional"} if directions == 2 else {}
        yield "DynamicQuantizeLSTM" + name, single("DynamicQuantizeLSTM", values, 3, constants=(1, 2, 3, 8, 9, 10, 11), hidden_size=8, **fields)


def decoder_block():
    """Normalisation, projections, attention over a cache, output projection, and a gated feed-forward part; as Optimum and
    onnxruntime's model builder export a layer of a Llama."""
    width, cosines, sines = 32, *angles(32, 8)
    weights = {"n1": floats(width), "n2": floats(width), "wq": floats(width, 64) / 6, "wk": floats(width, 32) / 6,
               "wv": floats(width, 32) / 6, "wo": floats(64, width) / 8, "wg": floats(width, 48) / 6, "wu": floats(width, 48) / 6,
               "wd": floats(48, width) / 7, "cosines": cosines, "sines": sines}
    data = {"x": floats(2, 1, width), "pk": floats(2, 2, 9, 16), "pv": floats(2, 2, 9, 16),
            "counts": np.array([9, 9], dtype=np.int32), "total": np.array(10, dtype=np.int32)}
    make = helper.make_node
    nodes = [make("SimplifiedLayerNormalization", ["x", "n1"], ["h"], axis=-1, epsilon=1e-5),
             *[make("MatMul", ["h", f"w{p}"], [p]) for p in "qkv"],
             make("GroupQueryAttention", ["q", "k", "v", "pk", "pv", "counts", "total", "cosines", "sines"], ["a", "k2", "v2"],
                  domain=MS, num_heads=4, kv_num_heads=2, do_rotary=1),
             make("MatMul", ["a", "wo"], ["o"]),
             make("SkipSimplifiedLayerNormalization", ["x", "o", "n2"], ["m", "", "", "s"], domain=MS, epsilon=1e-5),
             make("MatMul", ["m", "wg"], ["g"]), make("MatMul", ["m", "wu"], ["u"]), make("Sigmoid", ["g"], ["t"]),
             make("Mul", ["g", "t"], ["gt"]), make("Mul", ["gt", "u"], ["gu"]), make("MatMul", ["gu", "wd"], ["d"]),
             make("Add", ["s", "d"], ["y"])]
    return nodes, {**weights, **data}, ["y", "k2", "v2"], list(weights)


def packed_cases():
    """Models that onnxruntime has no kernel for on the processor, each with one of the same results."""
    q, k, v = floats(2, 4, 24), floats(2, 5, 24), floats(2, 5, 24)
    heads = [x.reshape(2, -1, 3, 1, 8) for x in (q, k, v)]
    yield ("MultiHeadAttention of packed keys and values", single("MultiHeadAttention", [q, np.concatenate(heads[1:], 3)], num_heads=3),
           single("MultiHeadAttention", [q, k, v], num_heads=3))
    packed, bias = np.concatenate([x[:, :4] for x in heads], 3), floats(72)
    yield ("MultiHeadAttention, all packed", single("MultiHeadAttention", [packed, None, None, bias], num_heads=3),
           single("MultiHeadAttention", [q, k[:, :4], v[:, :4], bias], num_heads=3))


REFUSED = (
    ("a mask of four axes", single("Attention", [floats(2, 5, 16), floats(16, 72), floats(72), np.ones((2, 1, 9, 9), np.int32)], num_heads=3),
     "four axes"),
    ("sinks and a cap", single("GroupQueryAttention", [floats(2, 1, 64), floats(2, 1, 32), floats(2, 1, 32), None, None, np.array([0, 0], np.int32),
                                                       np.array(1, np.int32)], num_heads=4, kv_num_heads=2, smooth_softmax=1, softcap=2.0), "sinks"),
    ("no heads", single("MultiHeadAttention", [floats(2, 5, 24)] * 3), "num_heads"),
    ("statistics", single("SkipLayerNormalization", [floats(2, 5), floats(2, 5), floats(5)], 2), "statistics"),
    ("another layout", single("QLinearGlobalAveragePool", [np.zeros((1, 2, 2, 3), np.uint8), np.float32(1), np.uint8(0), np.float32(1),
                                                           np.uint8(0)], constants=(1, 2, 3, 4), channels_last=1), "channels_last"),
)


def make_model(nodes, values, outputs, constants):
    inputs = [n for n in values if n not in constants]
    kinds = {n: helper.np_dtype_to_tensor_dtype(np.asarray(x).dtype) for n, x in values.items()}
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info(n, kinds[n], np.asarray(values[n]).shape) for n in inputs],
        [helper.make_tensor_value_info(n, TensorProto.UNDEFINED, None) for n in outputs],
        [numpy_helper.from_array(np.asarray(values[n]), n) for n in constants])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid(MS, 1)], ir_version=10)
    for output in model.graph.output:
        output.ClearField("type")
    return model, inputs


class Checks(ProgramChecks):
    prints_passes = False

    def write_case(self, name, parts):
        """The folder of a case without outputs, and its model."""
        model, inputs = make_model(*parts)
        folder = self.path(name.replace(" ", "_").replace(",", "").replace("'", ""))
        os.makedirs(os.path.join(folder, "test_data_set_0"))
        onnx.save(model, os.path.join(folder, "model.onnx"))
        for i, n in enumerate(inputs):
            self.write_tensor(folder, f"input_{i}.pb", np.asarray(parts[1][n]), n)
        return folder, model, inputs

    @staticmethod
    def write_tensor(folder, file, value, name):
        with open(os.path.join(folder, "test_data_set_0", file), "wb") as to:
            to.write(numpy_helper.from_array(value, name).SerializeToString())

    def compare(self, name, parts, same=None):
        """With `same`, a model of the same results, onnxruntime runs that."""
        folder, model, inputs = self.write_case(name, parts)
        parts = same or parts
        if same:
            model, inputs = make_model(*same)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        results = session.run(parts[2], {n: parts[1][n] for n in inputs})
        for i, value in enumerate(results):
            self.write_tensor(folder, f"output_{i}.pb", value, parts[2][i])
        done = self.program("test", folder, "--rtol", "1e-3", "--atol", "2e-5")
        self.report(name, done.returncode == 0 and "1 passed" in done.stdout, done.stdout + done.stderr)

    def refuse(self, name, parts, words):
        folder, _, _ = self.write_case(name, parts)
        done = self.program("build", os.path.join(folder, "model.onnx"), "-o", "none.plan")
        said = done.stdout + done.stderr
        self.report(f"refused: {name}", done.returncode > 0 and words in said and "'n'" in said, said)


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="tenon-contributed.") as folder:
        checks = Checks(sys.argv[1], folder)
        for name, parts in cases():
            checks.compare(name, parts)
        for name, parts, same in packed_cases():
            checks.compare(name, parts, same)
        for name, parts, words in REFUSED:
            checks.refuse(name, parts, words)
        return checks.end()


if __name__ == "__main__":
    sys.exit(main())
