# SPDX-License-Identifier: Apache-2.0
"""Speech and text in images: CRNN, wav2vec 2, Whisper, Tacotron 2, Conformer, TCN, WaveNet, front ends of STFT, a voice detector."""

import numpy as np
from family import FIXED, Family
from net import BOOL, F32, I32, I64

FAMILY = Family()
SIGNALS = ({"batch": 1, "samples": 800}, {"batch": 2, "samples": 1333})
FRAMES = ({"batch": 1, "frames": 20}, {"batch": 2, "frames": 33})


def table(net, *shape):
    return net.constant(net.rng.uniform(-0.5, 0.5, shape).astype(np.float32))


@FAMILY.add(({"batch": 1, "width": 64}, {"batch": 3, "width": 100}), (11, "script"), (14, "paddle"), quick=True)
def crnn(net):
    """Convolutions to one row, two LSTMs of both directions, a class a column."""
    x = net.conv(net.input("images", ["batch", 1, 16, "width"]), 8, act="relu")
    x = net.conv_bn(net.max_pool(x), 16)
    x = net.MaxPool(x, kernel_shape=[2, 2], strides=[2, 1], pads=[0, 1, 0, 1]).of(16)
    x = net.conv(x, 16, (4, 1), p=0, act="relu")
    x = net.Transpose(net.squeeze(x, 2), perm=[2, 0, 1]).of(16)
    for _ in range(2):
        x, _ = net.recurrent("LSTM", x, 12, directions=2)
    x = net.linear(x, 11)
    net.output(net.LogSoftmax(x, axis=2) if net.dialect == "script" else net.softmax(net.Transpose(x, perm=[1, 0, 2]), 2), "scores")


@FAMILY.add(({"batch": 1, "width": 64}, {"batch": 2, "width": 96}), (12, "paddle"))
def svtr(net):
    """A recogniser of mixed blocks: hard swish, depthwise convolutions, attention over columns."""
    x = net.conv_bn(net.input("x", ["batch", 3, 16, "width"]), 16, 3, 2, act="hard_swish")
    x = net.conv_bn(net.conv_bn(x, 16, g=16, act="hard_swish"), 24, 1, act="hard_swish")
    x = net.squeeze_excite(x, 8, "relu", "hard_sigmoid")
    x = net.AveragePool(x, kernel_shape=[8, 2], strides=[8, 2]).of(24)
    size = net.Shape(x)
    y = net.Transpose(net.Reshape(x, [0, 24, -1]), perm=[0, 2, 1]).of(24)
    y = net.encoder_layer(y, 3, 48, "silu")
    y = net.Reshape(net.Transpose(net.layer_norm(y), perm=[0, 2, 1]), size)
    y = net.conv_bn(net.Concat(x, y, axis=1).of(48), 16, 1, act="hard_swish")
    y = net.Transpose(net.squeeze(y, 2), perm=[0, 2, 1]).of(16)
    net.output(net.softmax(net.linear(y, 20)), "probabilities")


@FAMILY.add(SIGNALS, (12, "script"), (17, "script"))
def wav2vec(net):
    """Strided convolutions over the signal, normalised by group; positions by a grouped convolution whose last column is cut off."""
    x = net.input("input_values", ["batch", "samples"])
    x = net.unsqueeze(x, 1).of(1)
    x = net.conv(x, 16, (10,), 5, p=0, bias=False)
    y = net.InstanceNormalization(net.Reshape(x, [0, 16, -1]), np.ones(16, np.float32), np.zeros(16, np.float32), epsilon=1e-5)
    x = net.gelu(net.Add(net.Mul(y, table(net, 16, 1)), table(net, 16, 1))).of(16)
    for _ in range(2):
        x = net.conv(x, 16, (3,), 2, p=0, bias=False, act="gelu")
    x = net.linear(net.layer_norm(net.Transpose(x, perm=[0, 2, 1]).of(16)), 24)
    y = net.conv(net.Transpose(x, perm=[0, 2, 1]).of(24), 24, (8,), p=4, g=4)
    y = net.gelu(net.slice(y, 0, -1, (2,)))
    x = net.layer_norm(net.Add(x, net.Transpose(y, perm=[0, 2, 1])).of(24))
    x = net.encoder_layer(x, 3, 48, before=False)
    net.output(net.linear(x, 12), "logits")


@FAMILY.add(({"batch": 1, "length": 1, "past": 3}, {"batch": 2, "length": 4, "past": 1}), (14, "script"), (18, "dynamo"), quick=True)
def whisper(net):
    """An encoder of 80 bands, and a decoder with past keys that also looks at the encoder's."""
    bands = net.input("input_features", ["batch", 20, 32])
    x = net.conv(net.conv(bands, 24, (3,), act="gelu"), 24, (3,), 2, act="gelu")
    x = net.Add(net.Transpose(x, perm=[0, 2, 1]), table(net, 16, 24)).of(24)
    memory = net.layer_norm(net.encoder_layer(x, 3, 48))
    tokens = net.input("decoder_input_ids", ["batch", "length"], I64, 0, 40)
    before = [net.input(f"past_key_values.0.decoder.{name}", ["batch", 3, "past", 8]) for name in ("key", "value")]
    start = net.extent(before[0], 2)
    end = net.Add(start, net.extent(tokens, 1))
    embedding = table(net, 40, 24)
    x = net.Add(net.Gather(embedding, tokens), net.slice(table(net, 30, 24), start, end, (0,))).of(24)
    y = net.layer_norm(x)
    q = net.heads(net.Mul(net.linear(y, 24), 8**-0.5).of(24), 3)
    k, v = (net.heads(net.linear(y, 24, bias=i == 1), 3) for i in range(2))
    k, v = (net.Concat(old, new, axis=2) for old, new in zip(before, (k, v)))
    net.output(k, "present.0.decoder.key")
    net.output(v, "present.0.decoder.value")
    rows = net.Range(net.squeeze(start, 0), net.squeeze(end, 0), net.scalar(1, np.int64))
    columns = net.Range(net.scalar(0, np.int64), net.squeeze(end, 0), net.scalar(1, np.int64))
    allowed = net.Not(net.Greater(net.unsqueeze(columns, 0), net.unsqueeze(rows, 1)))
    scores = net.Where(allowed, net.MatMul(q, net.Transpose(k, perm=[0, 1, 3, 2])), -65504.0)
    y = net.join_heads(net.MatMul(net.softmax(scores), v), 24)
    x = net.Add(x, net.linear(y, 24)).of(24)
    x = net.Add(x, net.attention(net.layer_norm(x), 3, memory)).of(24)
    x = net.Add(x, net.feed_forward(net.layer_norm(x), 48)).of(24)
    net.output(net.MatMul(net.layer_norm(x), net.Transpose(embedding, perm=[1, 0])), "logits")


@FAMILY.add(({"batch": 1, "length": 6}, {"batch": 3, "length": 11}), (11, "script"), (17, "script"))
def tacotron_encoder(net):
    """Convolutions, then an LSTM of both directions over texts of different lengths, padded."""
    tokens = net.input("sequences", ["batch", "length"], I64, 0, 30)
    lengths = net.input("sequence_lengths", ["batch"], I32, values=lambda rng, shape: np.arange(6, 6 - shape[0], -1, np.int32))
    x = net.Transpose(net.Gather(table(net, 30, 16), tokens), perm=[0, 2, 1]).of(16)
    for _ in range(2):
        x = net.Relu(net.batch_norm(net.conv(x, 16, (5,)))).of(16)
    x = net.Transpose(x, perm=[2, 0, 1]).of(16)
    y, (state, cell) = net.recurrent("LSTM", x, 8, directions=2, lengths=lengths)
    net.output(net.Transpose(y, perm=[1, 0, 2]), "memory")
    net.output(cell, "cell")


@FAMILY.add(({"batch": 1, "length": 5}, {"batch": 2, "length": 9}), (13, "script"))
def tacotron_decoder(net):
    """One step: a gated cell written out (as scripted LSTMCells are), attention aware of its position, a stop token."""
    memory = net.input("memory", ["batch", "length", 12], channels=12)
    last = net.input("decoder_input", ["batch", 8])
    hidden, cell = net.input("hidden", ["batch", 16]), net.input("cell", ["batch", 16])
    weights = net.input("attention_weights", ["batch", "length"], low=0)
    context = net.input("context", ["batch", 12])
    x = net.Concat(net.linear(last, 8, bias=False, act="relu"), context, axis=-1).of(20)
    gates = net.Add(net.linear(x, 64, gemm=True), net.linear(hidden, 64, gemm=True))
    i, f, g, o = net.split(gates, (16,) * 4, 1)
    cell = net.Add(net.Mul(net.Sigmoid(f), cell), net.Mul(net.Sigmoid(i), net.Tanh(g)))
    hidden = net.Mul(net.Sigmoid(o), net.Tanh(cell)).of(16)
    position = net.Transpose(net.conv(net.unsqueeze(weights, 1).of(1), 4, (5,), bias=False), perm=[0, 2, 1]).of(4)
    energy = net.Add(net.unsqueeze(net.linear(hidden, 8, bias=False), 1), net.linear(position, 8, bias=False))
    energy = net.Tanh(net.Add(energy, net.linear(memory, 8, bias=False))).of(8)
    weights = net.softmax(net.squeeze(net.linear(energy, 1, bias=False), -1), 1)
    context = net.squeeze(net.MatMul(net.unsqueeze(weights, 1), memory), 1)
    y = net.Concat(hidden, context, axis=1).of(28)
    for name, value in (("hidden_out", hidden), ("cell_out", cell), ("weights_out", weights), ("frame", net.linear(y, 8, gemm=True)),
                        ("stop", net.Sigmoid(net.linear(y, 1, gemm=True)))):
        net.output(value, name)


@FAMILY.add(FRAMES, (13, "script"), (20, "dynamo"))
def conformer(net):
    """Halved feed-forward parts, convolutions with gates (GLU), attention with relative positions by shifting a padded matrix."""
    lengths = net.input("length", ["batch"], I64, values=lambda rng, shape: np.array([20, 13][:shape[0]], np.int64))
    x = net.unsqueeze(net.input("audio_signal", ["batch", "frames", 20]), 1).of(1)
    x = net.conv(net.conv(x, 8, 3, 2, act="relu"), 8, 3, 2, act="relu")
    x = net.Transpose(x, perm=[0, 2, 1, 3])
    x = net.linear(net.reshape(x, net.extent(x, 0), net.extent(x, 1), 40).of(40), 16)
    count = net.extent(x, 1)
    shorter = net.Div(net.Add(net.Div(net.Add(lengths, net.scalar(1, np.int64)), net.scalar(2, np.int64)), net.scalar(1, np.int64)),
                      net.scalar(2, np.int64))
    positions = net.Range(net.scalar(0, np.int64), net.squeeze(count, 0), net.scalar(1, np.int64))
    valid = net.Less(net.unsqueeze(positions, 0), net.unsqueeze(shorter, 1))
    pair = net.And(net.unsqueeze(valid, 1), net.unsqueeze(valid, 2))
    x = net.Add(x, net.Mul(net.feed_forward(net.layer_norm(x), 32, "silu"), 0.5)).of(16)
    y = net.layer_norm(x)
    q, k, v = (net.heads(net.linear(y, 16), 2, keys=i == 1) for i in range(3))
    positions = net.MatMul(q, table(net, 1, 2, 8, 31))
    middle = net.Sub(net.ints(16), count)
    positions = net.slice(positions, middle, net.Sub(net.Add(middle, net.Add(count, count)), net.ints(1)), (3,))
    b, h, t, p = (net.extent(positions, i) for i in range(4))
    shifted = net.Pad(positions, [0, 0, 0, 1, 0, 0, 0, 0], 0.0)
    shifted = net.Reshape(shifted, net.Concat(b, h, net.ints(-1), t, axis=0))
    shifted = net.Reshape(net.slice(shifted, 1, 2**63 - 1, (2,)), net.Concat(b, h, t, p, axis=0))
    scores = net.Div(net.Add(net.MatMul(q, k), net.slice(shifted, 0, count, (3,))), 8**0.5)
    invalid = net.unsqueeze(net.Not(pair), 1)
    weights = net.Where(invalid, 0.0, net.softmax(net.Where(invalid, -10000.0, scores)))
    x = net.Add(x, net.linear(net.join_heads(net.MatMul(weights, v), 16), 16)).of(16)
    y = net.conv(net.Transpose(net.layer_norm(x), perm=[0, 2, 1]).of(16), 32, (1,))
    a, gate = net.split(y, (16, 16), 1)
    y = net.Where(net.unsqueeze(net.Not(valid), 1), 0.0, net.Mul(a, net.Sigmoid(gate))).of(16)
    y = net.conv(net.act(net.batch_norm(net.conv(y, 16, (5,), g=16)), "silu"), 16, (1,))
    x = net.layer_norm(net.Add(x, net.Transpose(y, perm=[0, 2, 1])).of(16))
    net.output(net.LogSoftmax(net.linear(x, 9), axis=-1), "logprobs")
    net.output(shorter, "encoded_lengths", I64)


@FAMILY.add(FRAMES, (11, "script"), (17, "script"))
def tcn(net):
    """Dilated causal convolutions: what is too many is cut off behind (chomp)."""
    x = net.input("input", ["batch", 8, "frames"])
    for d in (1, 2, 4):
        y = net.Relu(net.slice(net.conv(x, 12, (3,), p=2 * d, d=d), 0, -2 * d, (2,))).of(12)
        y = net.Relu(net.slice(net.conv(y, 12, (3,), p=2 * d, d=d), 0, -2 * d, (2,))).of(12)
        x = net.Relu(net.Add(y, net.conv(x, 12, (1,)) if x.channels != 12 else x)).of(12)
    net.output(net.linear(net.Gather(x, net.scalar(-1, np.int64), axis=2).of(12), 4, gemm=True), "output")


@FAMILY.add(FRAMES, (13, "script"))
def wavenet(net):
    """Gated dilated convolutions, padded on the left alone, conditioned by transposed convolutions; sums of what each layer skips."""
    x = net.conv(net.input("audio", ["batch", 1, "frames"]), 8, (1,))
    start = net.input("mel", ["batch", 6, "frames"])
    local = net.slice(net.conv_transpose(start, 16, 4, 2, 1), 0, net.extent(x, 2), (2,))
    skips = None
    for d in (1, 2, 4):
        y = net.conv(net.pad(x, (0, 0, d, 0, 0, 0)).of(8), 16, (2,), p=0, d=d)
        a, b = net.split(net.Add(y, local), (8, 8), 1)
        z = net.Mul(net.Tanh(a), net.Sigmoid(b)).of(8)
        skip = net.conv(z, 12, (1,))
        skips = skip if skips is None else net.Add(skips, skip).of(12)
        x = net.Mul(net.Add(x, net.conv(z, 8, (1,))), 0.5**0.5).of(8)
    net.output(net.softmax(net.conv(net.Relu(net.conv(net.Relu(skips).of(12), 12, (1,))).of(12), 16, (1,)), 1), "output")


@FAMILY.add(SIGNALS, (17, "script"), (20, "dynamo"), quick=True)
def log_mel(net):
    """An STFT of padded samples, bands, logarithm, normalised by the largest."""
    x = net.input("signal", ["batch", "samples"])
    x = net.squeeze(net.pad(net.unsqueeze(x, 1), (0, 0, 64, 0, 0, 64), mode="reflect"), 1)
    window = net.constant(np.hanning(129)[:-1].astype(np.float32))
    spectrum = net.STFT(net.unsqueeze(x, -1), net.scalar(32, np.int64), window, None, onesided=1)
    power = net.sum(net.Pow(spectrum, 2.0), -1, keepdims=0)
    y = net.MatMul(power, net.constant(net.rng.uniform(0, 1, (65, 20)).astype(np.float32)))
    y = net.Div(net.Log(net.Max(y, net.scalar(1e-4))), 2.302585)
    y = net.Max(y, net.Sub(net.maximum(y, 1, 2), 8.0))
    net.output(net.Div(net.Add(y, 4.0), 4.0), "features")


@FAMILY.add(SIGNALS, (11, "script"))
def stft_by_convolution(net):
    """Fourier's transform as a strided convolution with cosines and sines, and LSTM state carried from call to call."""
    x = net.pad(net.unsqueeze(net.input("input", ["batch", "samples"]), 1), (0, 0, 32, 0, 0, 32), mode="reflect")
    angle = 2 * np.pi * np.outer(np.arange(33), np.arange(64)) / 64
    basis = net.constant(np.concatenate((np.cos(angle), np.sin(angle)))[:, None].astype(np.float32))
    y = net.Conv(x, basis, kernel_shape=[64], strides=[32])
    real, imaginary = net.slice(y, 0, 33, (1,)), net.slice(y, 33, 66, (1,))
    y = net.Sqrt(net.Add(net.Pow(real, 2.0), net.Pow(imaginary, 2.0)))
    y = net.conv(net.Log(net.Add(net.Mul(y, 1048576.0), 1.0)).of(33), 16, (3,), act="relu")
    y, (state, cell) = net.recurrent("LSTM", net.Transpose(y, perm=[2, 0, 1]).of(16), 12)
    y = net.Sigmoid(net.conv(net.Relu(net.Transpose(y, perm=[1, 2, 0])).of(12), 1, (1,)))
    net.output(net.unsqueeze(net.mean(net.squeeze(y, 1), 1, keepdims=0), 1), "output")
    net.output(state, "hn")
    net.output(cell, "cn")


@FAMILY.add(FIXED, (16, "script"), quick=True)
def voice_detector(net):
    """A scripted network: by the sample rate one of two branches, each with its own weights, that see the signal outside."""
    x, rate = net.input("input", [1, 256]), net.input("sr", [], I64, values=lambda rng, shape: np.array(16000, np.int64))
    state = net.input("state", [2, 1, 8])
    wide = net.Equal(rate, net.scalar(16000, np.int64))
    bodies = []
    for step in (32, 16):
        body = net.body()
        y = body.conv(body.unsqueeze(x, 1).of(1), 12, (step,), step, p=0, act="relu")
        y = body.Transpose(y, perm=[2, 0, 1]).of(12)
        h, c = (body.slice(state, i, i + 1, (0,)) for i in (0, 1))
        w, r = body.weight(1, 32, 12), body.weight(1, 32, 8)
        _, h, c = body.LSTM(y, w, r, None, None, h, c, hidden_size=8, outputs=3)
        body.output(body.Concat(h, c, axis=0), kind=F32, shape=[2, 1, 8])
        bodies.append(body.graph())
    new = net.If(wide, then_branch=bodies[0], else_branch=bodies[1])
    net.output(new, "stateN")
    net.output(net.Sigmoid(net.mean(new, 0, 2, keepdims=0)), "output")


@FAMILY.add(({"length": 4}, {"length": 9}), (13, "script"))
def greedy_decoder(net):
    """A scripted Loop: a GRU's step from token to token until the end's token, results gathered by the loop."""
    memory = net.input("memory", ["length", 8])
    most, true = net.scalar(12, np.int64), net.constant(np.array(True))
    first = net.constant(np.zeros((1, 8), np.float32))
    embedding, w, r = table(net, 10, 8), net.weight(1, 24, 8), net.weight(1, 24, 8)
    out = net.weight(8, 10, fan=2)
    body = net.body()
    body.input("step", [], I64)
    body.input("going", [], BOOL)
    token, h = body.input("token", [1], I64), body.input("h", [1, 8])
    x = body.unsqueeze(body.Gather(embedding, token), 0).of(8)
    _, last = body.GRU(x, w, r, None, None, body.unsqueeze(h, 0), hidden_size=8, outputs=2)
    last = body.squeeze(last, 0)
    weights = body.softmax(body.MatMul(last, body.Transpose(memory, perm=[1, 0])))
    joined = body.Add(last, body.MatMul(weights, memory))
    scores = body.MatMul(joined, out)
    best = body.ArgMax(scores, axis=1, keepdims=0)
    going = body.Not(body.squeeze(body.Equal(best, body.ints(9)), 0))
    for value, kind, shape in ((going, BOOL, []), (best, I64, [1]), (joined, F32, [1, 8]), (scores, F32, [1, 10]), (best, I64, [1])):
        body.output(body.Identity(value), kind=kind, shape=shape)
    loop = net.Loop(most, true, net.ints(1), first, body=body.graph(), outputs=4)
    net.output(loop[2], "scores")
    net.output(net.squeeze(loop[3], 1), "tokens", I64)
