# SPDX-License-Identifier: Apache-2.0
"""Language models: encoders, decoders with past keys and values, and both, of 2 layers."""

import math

import numpy as np
from family import TEXTS, Family
from net import BOOL, F32, I64

FAMILY = Family()
WIDTH, HEADS, WORDS = 24, 3, 60
STEPS = ({"batch": 1, "length": 5, "past": 0}, {"batch": 2, "length": 1, "past": 5}, {"batch": 2, "length": 3, "past": 9})


def table(net, *shape):
    return net.constant(net.rng.uniform(-0.5, 0.5, shape).astype(np.float32))


def arange(net, start, end):
    """Of tensors of one element."""
    return net.Range(net.squeeze(start, 0), net.squeeze(end, 0), net.scalar(1, np.int64))


def token_mask(rng, shape):
    """Ones, then zeros; the first text is whole."""
    mask = np.zeros(shape, np.int64)
    for row, count in enumerate(rng.integers(1, shape[1] + 1, shape[0])):
        mask[row, :count if row else shape[1]] = 1
    return mask


def additive_mask(net, mask):
    """[batch, length] of 1 and 0 to [batch, 1, 1, length] of 0 and the least number."""
    if net.dialect == "script":
        y = net.Cast(net.unsqueeze(net.unsqueeze(mask, 1), 2), to=F32)
        return net.Mul(net.Sub(1.0, y), float(np.finfo(np.float32).min))
    y = net.Cast(net.unsqueeze(mask, 1, 2), to=BOOL)
    return net.Where(y, 0.0, float(np.finfo(np.float32).min))


def bert(net, segments=True, act="gelu", pooled=True):
    tokens = net.input("input_ids", ["batch", "length"], I64, 0, WORDS)
    mask = net.input("attention_mask", ["batch", "length"], I64, values=token_mask)
    x = net.Gather(table(net, WORDS, WIDTH), tokens)
    length = net.extent(tokens, 1)
    positions = net.slice(net.constant(np.arange(32)[None]), 0, length, (1,))
    if segments:
        kinds = net.input("token_type_ids", ["batch", "length"], I64, 0, 2)
        x = net.Add(x, net.Gather(table(net, 2, WIDTH), kinds))
    x = net.layer_norm(net.Add(x, net.Gather(table(net, 32, WIDTH), positions)).of(WIDTH), 1e-12)
    mask = additive_mask(net, mask)
    for _ in range(2):
        x = net.encoder_layer(x, HEADS, 48, act, before=False, mask=mask)
    net.output(x, "last_hidden_state")
    if pooled:
        net.output(net.Tanh(net.linear(net.Gather(x, net.scalar(0, np.int64), axis=1).of(WIDTH), WIDTH, gemm=True)), "pooler_output")


@FAMILY.add(TEXTS, (11, "script"), (14, "script"))
def distilbert(net):
    """Masks by Where over an expanded Equal; answers' first and last tokens."""
    tokens = net.input("input_ids", ["batch", "length"], I64, 0, WORDS)
    mask = net.input("attention_mask", ["batch", "length"], I64, values=token_mask)
    positions = net.slice(net.constant(np.arange(32)[None]), 0, net.extent(tokens, 1), (1,))
    x = net.Add(net.Gather(table(net, WORDS, WIDTH), tokens), net.Gather(table(net, 32, WIDTH), positions))
    x = net.layer_norm(x.of(WIDTH))
    depth = WIDTH // HEADS
    q, k, v = (net.heads(net.linear(x, WIDTH), HEADS, keys=i == 1) for i in range(3))
    scores = net.MatMul(net.Div(q, math.sqrt(depth)), k)
    empty = net.reshape(net.Equal(mask, net.scalar(0, np.int64)), net.extent(x, 0), 1, 1, net.extent(x, 1))
    empty = net.Cast(net.Expand(net.Cast(empty, to=F32), net.Shape(scores)), to=BOOL)
    p = net.softmax(net.Where(empty, float(np.finfo(np.float32).min), scores), 3)
    y = net.linear(net.join_heads(net.MatMul(p, v), WIDTH), WIDTH)
    x = net.layer_norm(net.Add(y, x).of(WIDTH))
    first, last = net.split(net.linear(x, 2), (1, 1), -1)
    net.output(net.squeeze(first, -1), "start_logits")
    net.output(net.squeeze(last, -1), "end_logits")


@FAMILY.add(TEXTS, (14, "script"), (18, "dynamo"))
def sentence_encoder(net):
    """The mean over the tokens that are there, of length 1."""
    bert(net, act="relu", pooled=False)
    x = net.outputs.pop().name
    mask = net.Cast(net.Expand(net.unsqueeze(net.inputs[1].name, -1), net.Shape(x)), to=F32)
    count = net.clip(net.sum(mask, 1, keepdims=0), 1e-9, 3e38)
    y = net.Div(net.sum(net.Mul(x, mask), 1, keepdims=0), count)
    norm = net.clip(net.ReduceL2(y, axes=[1], keepdims=1) if net.opset < 18 else net.ReduceL2(y, [1], keepdims=1), 1e-12, 3e38)
    net.output(net.Div(y, net.Expand(norm, net.Shape(y))), "sentence_embedding")


def past_and_present(net, layer, k, v):
    """Keys and values of before, joined with those of now; and their outputs."""
    joined = []
    for name, now in (("key", k), ("value", v)):
        before = net.input(f"past_key_values.{layer}.{name}", ["batch", k.count, "past", now.depth])
        present = net.Concat(before, now, axis=-2)
        net.output(present, f"present.{layer}.{name}")
        joined.append(present)
    return joined


def with_heads(net, x, count):
    y = net.heads(x, count)
    y.count, y.depth = count, x.channels // count
    return y


@FAMILY.add(STEPS, (11, "script"), (17, "script"), quick=True)
def gpt2(net):
    """A causal mask cut out of a table of booleans; positions that begin behind the past."""
    tokens = net.input("input_ids", ["batch", "length"], I64, 0, WORDS)
    embedding = table(net, WORDS, WIDTH)
    x, masks = net.Gather(embedding, tokens), net.constant(np.tril(np.ones((1, 1, 32, 32), bool)))
    positions = layer_mask = None
    for layer in range(2):
        if layer == 0:
            first = net.input("past_length_probe", ["batch", HEADS, "past", WIDTH // HEADS])
            start = net.extent(first, 2)
            end = net.Add(start, net.extent(tokens, 1))
            positions = net.unsqueeze(arange(net, start, end), 0)
            x = net.Add(x, net.Gather(table(net, 32, WIDTH), positions)).of(WIDTH)
            layer_mask = net.slice(net.slice(masks, start, end, (2,)), 0, end, (3,))
        y = net.layer_norm(x)
        q, k, v = net.split(net.linear(y, 3 * WIDTH), (WIDTH,) * 3, 2)
        k, v = past_and_present(net, layer, with_heads(net, k, HEADS), with_heads(net, v, HEADS))
        scores = net.Div(net.MatMul(net.heads(q, HEADS), net.Transpose(k, perm=[0, 1, 3, 2])), net.Cast(net.Sqrt(8.0), to=F32))
        p = net.softmax(net.Where(layer_mask, scores, -10000.0))
        x = net.Add(x, net.linear(net.join_heads(net.MatMul(p, v), WIDTH), WIDTH)).of(WIDTH)
        x = net.Add(x, net.feed_forward(net.layer_norm(x), 48, "gelu_tanh")).of(WIDTH)
    net.output(net.MatMul(net.layer_norm(x), net.Transpose(embedding, perm=[1, 0])), "logits")


def rotate(net, x, cos, sin):
    """Rotary positions by two halves."""
    depth = x.depth
    if net.dialect == "script":
        half = net.Div(net.Gather(net.Shape(x), net.scalar(3, np.int64), axis=0), net.scalar(2, np.int64))
        half = net.unsqueeze(net.Cast(net.Cast(half, to=F32), to=I64), 0)
    else:
        half = net.ints(depth // 2)
    first, last = net.slice(x, 0, half, (3,)), net.slice(x, half, 2**63 - 1, (3,))
    y = net.Add(net.Mul(x, cos), net.Mul(net.Concat(net.Neg(last), first, axis=-1), sin))
    y.count, y.depth = x.count, depth
    return y


@FAMILY.add(STEPS, (14, "script"), (18, "dynamo"), (23, "dynamo"), quick=True)
def llama(net):
    """Rotary positions, fewer heads of keys than of queries, RMS normalisation, gates."""
    heads, key_heads, depth = 4, 2, 6
    tokens = net.input("input_ids", ["batch", "length"], I64, 0, WORDS)
    first = net.input("past_length_probe", ["batch", 1, "past", 1])
    start = net.extent(first, 2)
    end = net.Add(start, net.extent(tokens, 1))
    positions = arange(net, start, end)
    frequencies = net.constant((10000.0**(-np.arange(0, depth, 2) / depth)).astype(np.float32)[None])
    angles = net.Mul(net.unsqueeze(net.Cast(positions, to=F32), 1), frequencies)
    angles = net.Concat(angles, angles, axis=-1)
    cos, sin = net.Cos(angles), net.Sin(angles)
    later = net.Greater(net.unsqueeze(arange(net, net.ints(0), end), 0), net.unsqueeze(positions, 1))
    mask = net.Where(later, float(np.finfo(np.float32).min), 0.0)
    x = net.Gather(table(net, WORDS, WIDTH), tokens).of(WIDTH)
    for layer in range(2):
        y = net.rms_norm(x)
        q, k, v = (with_heads(net, net.linear(y, n * depth, bias=False), n) for n in (heads, key_heads, key_heads))
        q, k = rotate(net, q, cos, sin), rotate(net, k, cos, sin)
        k, v = past_and_present(net, layer, k, v)
        if net.opset >= 23:
            y = net.Attention(q, k, v, mask, q_num_heads=None, kv_num_heads=None)
        else:
            k, v = (repeat_heads(net, item, key_heads, heads // key_heads, depth) for item in (k, v))
            y = net.MatMul(net.scores(q, net.Transpose(k, perm=[0, 1, 3, 2]), depth, mask=mask), v)
        x = net.Add(x, net.linear(net.join_heads(y, WIDTH), WIDTH, bias=False)).of(WIDTH)
        y = net.rms_norm(x)
        y = net.Mul(net.act(net.linear(y, 48, bias=False), "silu"), net.linear(y, 48, bias=False)).of(48)
        x = net.Add(x, net.linear(y, WIDTH, bias=False)).of(WIDTH)
    net.output(net.linear(net.rms_norm(x), WORDS, bias=False), "logits")


def repeat_heads(net, x, count, times, depth):
    """Each head of keys for several heads of queries: Unsqueeze, Expand, Reshape."""
    size = net.Shape(x)
    wanted = net.Concat(net.slice(size, 0, 1), net.ints(count, times), net.slice(size, 2, 3), net.ints(depth), axis=0)
    y = net.Expand(net.unsqueeze(x, 2), wanted)
    return net.Reshape(y, net.Concat(net.slice(size, 0, 1), net.ints(count * times), net.slice(size, 2, 3), net.ints(depth), axis=0))


def relative_bias(net, length, both_sides):
    """T5's buckets of distances, by logarithm and Where."""
    positions = arange(net, net.ints(0), length)
    distance = net.Sub(net.unsqueeze(positions, 0), net.unsqueeze(positions, 1))
    buckets = 16
    offset = None
    if both_sides:
        buckets //= 2
        offset = net.Mul(net.Cast(net.Greater(distance, net.scalar(0, np.int64)), to=I64), net.scalar(buckets, np.int64))
        distance = net.Abs(distance)
    else:
        distance = net.Neg(net.Min(distance, net.scalar(0, np.int64)))
    exact = buckets // 2
    near = net.Less(distance, net.scalar(exact, np.int64))
    ratio = net.Div(net.Log(net.Div(net.Cast(distance, to=F32), float(exact))), math.log(128 / exact))
    far = net.Add(net.Cast(net.Mul(ratio, float(buckets - exact)), to=I64), net.scalar(exact, np.int64))
    far = net.Min(far, net.scalar(buckets - 1, np.int64))
    bucket = net.Where(near, distance, far)
    bucket = net.Add(offset, bucket) if offset is not None else bucket
    return net.unsqueeze(net.Transpose(net.Gather(table(net, 16, HEADS), bucket), perm=[2, 0, 1]), 0)


@FAMILY.add(({"batch": 1, "length": 7, "target": 1}, {"batch": 2, "length": 13, "target": 4}), (12, "script"), (18, "dynamo"))
def t5(net):
    """An encoder and a decoder with biases by relative position; attention without scale."""
    tokens = net.input("input_ids", ["batch", "length"], I64, 0, WORDS)
    mask = net.input("attention_mask", ["batch", "length"], I64, values=token_mask)
    targets = net.input("decoder_input_ids", ["batch", "target"], I64, 0, WORDS)
    embedding, mask = table(net, WORDS, WIDTH), additive_mask(net, mask)

    def layer(x, memory, bias):
        y = net.rms_norm(x)
        source = y if memory is None else memory
        q, k, v = (net.linear(item, WIDTH, bias=False) for item in (y, source, source))
        p = net.softmax(net.Add(net.MatMul(net.heads(q, HEADS), net.heads(k, HEADS, keys=True)), bias))
        return net.Add(x, net.linear(net.join_heads(net.MatMul(p, net.heads(v, HEADS)), WIDTH), WIDTH, bias=False)).of(WIDTH)

    def feed_forward(x):
        y = net.rms_norm(x)
        return net.Add(x, net.linear(net.linear(y, 48, bias=False, act="relu"), WIDTH, bias=False)).of(WIDTH)

    x = net.Gather(embedding, tokens).of(WIDTH)
    memory = net.rms_norm(feed_forward(layer(x, None, net.Add(relative_bias(net, net.extent(tokens, 1), True), mask))))
    length = net.extent(targets, 1)
    square = net.Concat(length, length, axis=0)
    later = net.Trilu(net.Expand(-1e9, square), net.scalar(1, np.int64), upper=1) if net.opset >= 14 else None
    if later is None:
        positions = arange(net, net.ints(0), length)
        earlier = net.LessOrEqual(net.unsqueeze(positions, 0), net.unsqueeze(positions, 1))
        later = net.Mul(net.Sub(1.0, net.Cast(earlier, to=F32)), -1e9)
    x = layer(net.Gather(embedding, targets).of(WIDTH), None, net.Add(relative_bias(net, length, False), later))
    x = net.rms_norm(feed_forward(layer(x, memory, mask)))
    net.output(net.MatMul(net.Mul(x, WIDTH**-0.5), net.Transpose(embedding, perm=[1, 0])), "logits")
    net.output(memory, "encoder_last_hidden_state")


@FAMILY.add(TEXTS, (17, "script"))
def deberta(net):
    """Attention of content to position by GatherElements over expanded indices."""
    tokens = net.input("input_ids", ["batch", "length"], I64, 0, WORDS)
    x = net.layer_norm(net.Gather(table(net, WORDS, WIDTH), tokens).of(WIDTH))
    q, k, v = (net.heads(net.linear(x, WIDTH), HEADS, keys=i == 1) for i in range(3))
    keys = net.constant(net.rng.uniform(-1, 1, (1, HEADS, WIDTH // HEADS, 16)).astype(np.float32))
    positional = net.MatMul(q, keys)
    positions = arange(net, net.ints(0), net.extent(tokens, 1))
    index = net.Add(net.Sub(net.unsqueeze(positions, 1), net.unsqueeze(positions, 0)), net.scalar(8, np.int64))
    index = net.Clip(index, net.scalar(0, np.int64), net.scalar(15, np.int64))
    scores = net.MatMul(q, k)
    picked = net.GatherElements(positional, net.Expand(index, net.Shape(scores)), axis=3)
    p = net.softmax(net.Div(net.Add(scores, picked), math.sqrt(3 * WIDTH / HEADS)))
    x = net.layer_norm(net.Add(x, net.linear(net.join_heads(net.MatMul(p, v), WIDTH), WIDTH)).of(WIDTH))
    net.output(x, "last_hidden_state")


@FAMILY.add(TEXTS, (20, "dynamo"))
def bert_functions(net):
    """The newer exporter without its optimizer: local functions that call others' results."""
    def gelu(inner, x):
        return inner.gelu(x.of(None))

    def linear(inner, x, weight, bias):
        return inner.Add(inner.MatMul(x, inner.Transpose(weight, perm=[1, 0])), bias)

    tokens = net.input("input_ids", ["batch", "length"], I64, 0, WORDS)
    x = net.layer_norm(net.Gather(table(net, WORDS, WIDTH), tokens).of(WIDTH))
    x = net.Add(x, net.attention(x, HEADS)).of(WIDTH)
    y = net.call("aten_linear_bias", linear, x, net.weight(48, WIDTH), net.vector(48)).of(48)
    y = net.call("aten_gelu", gelu, y)
    y = net.call("aten_linear_bias", linear, y, net.weight(WIDTH, 48), net.vector(WIDTH))
    net.output(net.layer_norm(net.Add(x, y).of(WIDTH)), "last_hidden_state")


FAMILY.each(TEXTS, (11, "script"), (13, "script"), (17, "script"), (20, "dynamo"), quick=("bert",), bert=(bert,),
            roberta=(bert, False, "gelu_tanh", False))
