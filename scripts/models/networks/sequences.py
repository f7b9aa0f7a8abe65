# SPDX-License-Identifier: Apache-2.0
"""Networks over time: a state-space model by Scan, linear attention, a translator with attention and beams in a Loop, speech to labels
from samples, wake words from state to state, transducers, audio codecs and vocoders."""

import numpy as np
from family import FIXED, TEXTS, Family
from net import BOOL, F32, I32, I64

FAMILY = Family()
SIGNALS = ({"batch": 1, "samples": 800}, {"batch": 2, "samples": 1333})
FRAMES = ({"batch": 1, "frames": 20}, {"batch": 2, "frames": 33})


def table(net, *shape):
    return net.constant(net.rng.uniform(-0.5, 0.5, shape).astype(np.float32))


def scan(net, states, slices, build, outputs, **fields):
    """A Scan of one body: build(body, states, slices) returns the new states and what is stacked. Ranks are those of all."""
    body = net.body()
    before = [body.input(f"{value}_before", shape) for value, shape in states]
    now = [body.input(f"{value}_now", shape) for value, shape in slices]
    for value in build(body, before, now):
        body.output(body.Identity(value))
    return net.Scan(*[value for value, _ in states], *[value for value, _ in slices], body=body.graph(), num_scan_inputs=len(slices),
                    outputs=outputs, **fields)


@FAMILY.add(TEXTS, (13, "script"), (17, "script"), (20, "dynamo"), quick=True)
def mamba(net):
    """A selective state-space layer: a causal convolution, steps and matrices that depend on the token, the recurrence as a Scan, a gate."""
    x = net.Gather(table(net, 30, 16), net.input("tokens", ["batch", "length"], I64, 0, 30)).of(16)
    for _ in range(2):
        inner, gate = net.split(net.linear(net.rms_norm(x), 48, bias=False), (24, 24), 2)
        u = net.Transpose(inner, perm=[0, 2, 1]).of(24)
        u = net.conv(u, 24, (4,), g=24, pads=[3, 3])
        u = net.slice(u, 0, net.extent(inner, 1), (2,))
        u = net.act(net.Transpose(u, perm=[0, 2, 1]), "silu").of(24)
        step, b, c = net.split(net.linear(u, 2 + 4 + 4, bias=False), (2, 4, 4), 2)
        step = net.act(net.linear(step, 24), "softplus")
        a = net.Neg(net.Exp(table(net, 24, 4)))
        decay = net.Exp(net.Mul(net.unsqueeze(step, 3), a))
        added = net.Mul(net.unsqueeze(net.Mul(step, u), 3), net.unsqueeze(b, 2))
        steps = [net.Transpose(value, perm=[1, 0, *range(2, 4)]) for value in (decay, added)] + [net.Transpose(c, perm=[1, 0, 2])]
        state = net.Expand(0.0, net.Concat(net.extent(x, 0), net.ints(24, 4), axis=0))

        def one(body, before, now):
            new = body.Add(body.Mul(before[0], now[0]), now[1])
            return new, body.squeeze(body.MatMul(new, body.unsqueeze(now[2], 2)), 2)
        last, y = scan(net, [(state, ["batch", 24, 4])], list(zip(steps, (["batch", 24, 4], ["batch", 24, 4], ["batch", 4]))), one, 2)
        y = net.Add(net.Transpose(y, perm=[1, 0, 2]), net.Mul(u, net.vector(24)))
        x = net.Add(x, net.linear(net.Mul(y, net.act(gate, "silu")).of(24), 16, bias=False)).of(16)
    net.output(net.linear(net.rms_norm(x), 30, bias=False), "logits")
    net.output(last, "state")


@FAMILY.add(TEXTS, (13, "script"), (18, "dynamo"))
def rwkv(net):
    """Time mixing by a shift of one token, a weighted mean of the past with its largest exponent kept beside it, squared Relu."""
    x = net.Gather(table(net, 30, 16), net.input("tokens", ["batch", "length"], I64, 0, 30)).of(16)

    def mixed(value):
        before = net.slice(net.pad(value, (0, 1, 0, 0, 0, 0)), 0, -1, (1,))
        mix = net.vector(16, 0, 1)
        return net.Add(net.Mul(value, mix), net.Mul(before, net.Sub(1.0, mix))).of(16)
    h = net.layer_norm(x)
    k, v = (net.Transpose(net.linear(mixed(h), 16, bias=False), perm=[1, 0, 2]) for _ in range(2))
    r = net.Sigmoid(net.linear(mixed(h), 16, bias=False))
    decay, first = net.vector(16, -1, -0.1), net.vector(16)
    size = net.Concat(net.extent(x, 0), net.ints(16), axis=0)
    states = [(net.Expand(value, size), ["batch", 16]) for value in (0.0, 0.0, -1e30)]

    def one(body, before, now):
        (top, low, most), (key, value) = before, now
        new = body.Max(most, body.Add(first, key))
        e, f = body.Exp(body.Sub(most, new)), body.Exp(body.Sub(body.Add(first, key), new))
        y = body.Div(body.Add(body.Mul(e, top), body.Mul(f, value)), body.Add(body.Mul(e, low), f))
        new = body.Max(body.Add(most, decay), key)
        e, f = body.Exp(body.Sub(body.Add(most, decay), new)), body.Exp(body.Sub(key, new))
        return body.Add(body.Mul(e, top), body.Mul(f, value)), body.Add(body.Mul(e, low), f), new, y
    *_, y = scan(net, states, [(k, ["batch", 16]), (v, ["batch", 16])], one, 4)
    x = net.Add(x, net.linear(net.Mul(r, net.Transpose(y, perm=[1, 0, 2])).of(16), 16, bias=False)).of(16)
    h = net.layer_norm(x)
    y = net.Pow(net.Relu(net.linear(mixed(h), 32, bias=False)), 2.0).of(32)
    y = net.Mul(net.Sigmoid(net.linear(mixed(h), 16, bias=False)), net.linear(y, 16, bias=False))
    net.output(net.linear(net.layer_norm(net.Add(x, y).of(16)), 30, bias=False), "logits")


@FAMILY.add(TEXTS, (13, "script"), (18, "dynamo"))
def linear_attention(net):
    """Attention without a softmax: sums over the past by CumSum of outer products; and a retention with a decay for each head by a mask."""
    x = net.input("x", ["batch", "length", 12], channels=12)
    q, k, v = (net.heads(net.linear(x, 12, bias=False), 3) for _ in range(3))
    q, k = (net.Add(net.Elu(value), 1.0) for value in (q, k))
    outer = net.Mul(net.unsqueeze(k, 4), net.unsqueeze(v, 3))
    past, norm = net.CumSum(outer, net.scalar(2, np.int64)), net.CumSum(k, net.scalar(2, np.int64))
    top = net.squeeze(net.MatMul(net.unsqueeze(q, 3), past), 3)
    y = net.Div(top, net.Add(net.sum(net.Mul(q, norm), -1), 1e-6))
    net.output(net.join_heads(y, 12), "linear")
    steps = net.Range(net.scalar(0, np.int64), net.squeeze(net.extent(x, 1), 0), net.scalar(1, np.int64))
    apart = net.Cast(net.Sub(net.unsqueeze(steps, 1), net.unsqueeze(steps, 0)), to=F32)
    rates = net.constant(np.log(1 - 2.0 ** np.array([-2, -3, -4])).astype(np.float32).reshape(3, 1, 1))
    mask = net.Exp(net.Where(net.Less(apart, 0.0), -np.inf, net.Mul(apart, rates)))
    q, k, v = (net.heads(net.linear(x, 12, bias=False), 3, keys=n == 1) for n in range(3))
    y = net.MatMul(net.Mul(net.MatMul(q, k), mask), v)
    net.output(net.join_heads(y, 12), "retention")


@FAMILY.add(({"length": 4}, {"length": 9}), (13, "script"), (16, "script"), quick=True)
def translator(net):
    """An LSTM of both directions, and beams in a Loop: an LSTM's step of nodes, attention with a mask, TopK over beams and words, states
    gathered by Mod and Div, tokens appended to a tensor that grows."""
    beams, words, width = 3, 11, 8
    tokens = net.input("tokens", [1, "length"], I64, 0, words)
    lengths = net.Cast(net.extent(tokens, 1), to=I32)
    x = net.Transpose(net.Gather(table(net, words, 8), tokens), perm=[1, 0, 2]).of(8)
    memory, _ = net.recurrent("LSTM", x, 4, directions=2, lengths=lengths)
    memory = net.Expand(net.Transpose(memory, perm=[1, 0, 2]), net.Concat(net.ints(beams), net.extent(tokens, 1), net.ints(width), axis=0))
    embedding, out = table(net, words, 8), net.weight(2 * width, words, fan=16)
    w, r, b = net.weight(8, 4 * width), net.weight(width, 4 * width), net.vector(4 * width)
    body = net.body()
    body.input("step", [], I64)
    body.input("going", [], BOOL)
    history, score = body.input("history", [beams, "made"], I64), body.input("score", [beams, 1])
    h, c = body.input("h", [beams, width]), body.input("c", [beams, width])
    last = body.squeeze(body.slice(history, -1, 2**31 - 1, (1,)), 1)
    gates = body.Add(body.Add(body.MatMul(body.Gather(embedding, last), w), body.MatMul(h, r)), b)
    i, f, g, o = body.split(gates, (width,) * 4, 1)
    cell = body.Add(body.Mul(body.Sigmoid(f), c), body.Mul(body.Sigmoid(i), body.Tanh(g)))
    hidden = body.Mul(body.Sigmoid(o), body.Tanh(cell))
    energy = body.squeeze(body.MatMul(memory, body.unsqueeze(hidden, 2)), 2)
    context = body.squeeze(body.MatMul(body.unsqueeze(body.softmax(energy), 1), memory), 1)
    logits = body.MatMul(body.Concat(hidden, context, axis=1), out)
    total = body.Add(body.LogSoftmax(logits, axis=1), score)
    best, index = body.TopK(body.Reshape(total, [-1]), body.ints(beams), axis=0, outputs=2)
    beam = body.Div(index, body.scalar(words, np.int64))
    word = body.Mod(index, body.scalar(words, np.int64))
    longer = body.Concat(body.Gather(history, beam), body.unsqueeze(word, 1), axis=1)
    going = body.Less(body.ReduceMin(body.Cast(word, to=I32), keepdims=0), body.scalar(words - 1, np.int32))
    for value, kind, shape in ((going, BOOL, []), (longer, I64, [beams, "longer"]), (body.unsqueeze(best, 1), F32, [beams, 1]),
                               (body.Gather(hidden, beam), F32, [beams, width]), (body.Gather(cell, beam), F32, [beams, width]),
                               (energy, F32, [beams, "length"])):
        body.output(body.Identity(value), kind=kind, shape=shape)
    zeros = net.constant(np.zeros((beams, width), np.float32))
    loop = net.Loop(net.scalar(7, np.int64), net.constant(np.array(True)), net.constant(np.zeros((beams, 1), np.int64)),
                    net.constant(np.array([[0], [-1e9], [-1e9]], np.float32)), zeros, zeros, body=body.graph(), outputs=5)
    net.output(loop[0], "beams", I64)
    net.output(loop[1], "scores")
    net.output(loop[4], "attention")


@FAMILY.add(SIGNALS, (17, "script"), (20, "dynamo"))
def deep_speech(net):
    """Samples to labels: pre-emphasis, frames by STFT, decibels normalised for each sample, convolutions, GRUs of both directions, CTC's
    best path with repeats and blanks taken out."""
    x = net.input("signal", ["batch", "samples"])
    x = net.Sub(x, net.Mul(net.slice(net.pad(x, (0, 1, 0, 0)), 0, -1, (1,)), 0.97))
    window = net.constant(np.hamming(64).astype(np.float32))
    spectrum = net.STFT(net.unsqueeze(x, -1), net.scalar(32, np.int64), window, net.scalar(64, np.int64), onesided=1)
    power = net.sum(net.Mul(spectrum, spectrum), -1, keepdims=0)
    y = net.Mul(net.Log(net.Add(power, 1e-6)), 4.3429)
    y = net.Sub(y, net.mean(y, 1, 2))
    y = net.Div(y, net.Add(net.Sqrt(net.mean(net.Mul(y, y), 1, 2)), 1e-5))
    y = net.conv_bn(net.unsqueeze(net.Transpose(y, perm=[0, 2, 1]), 1).of(1), 4, (11, 5), s=(2, 1), act="relu6")
    y = net.Reshape(y, [0, 4 * 17, -1]).of(68)
    y = net.Transpose(y, perm=[2, 0, 1]).of(68)
    for _ in range(2):
        both, _ = net.recurrent("GRU", y, 10, directions=2, linear_before_reset=1)
        y = net.Add(*net.split(both, (10, 10), 2)).of(10)
    scores = net.LogSoftmax(net.linear(y, 9), axis=2)
    net.output(scores, "scores")
    best = net.ArgMax(scores, axis=2, keepdims=0)
    before = net.slice(net.pad(best, (1, 0, 0, 0), np.int64(-1)), 0, -1, (0,))
    kept = net.And(net.Not(net.Equal(best, before)), net.Not(net.Equal(best, net.scalar(0, np.int64))))
    net.output(net.Compress(net.Reshape(best, [-1]), net.Reshape(kept, [-1]), axis=0), "labels", I64)


@FAMILY.add(({"frames": 1}, {"frames": 12}), (11, "script"), (14, "script"), (20, "dynamo"), quick=True)
def wake_word(net):
    """From call to call: energies normalised by their running mean (a Scan), a convolution over kept frames, a GRU whose state is an input
    and an output, the largest score of all."""
    energy = net.input("energy", ["frames", 12], low=0)
    mean, kept = net.input("mean", [12], low=0.1), net.input("kept", [4, 12])
    state = net.input("state", [1, 1, 8])

    def one(body, before, now):
        new = body.Add(body.Mul(before[0], 0.975), body.Mul(now[0], 0.025))
        smooth = body.Div(now[0], body.Pow(body.Add(new, 1e-6), 0.98))
        return new, body.Sub(body.Pow(body.Add(smooth, 2.0), 0.5), 1.4142135)
    mean, y = scan(net, [(mean, [12])], [(energy, [12])], one, 2)
    frames = net.Concat(kept, y, axis=0)
    net.output(mean, "mean_out")
    net.output(net.slice(frames, -4, 2**31 - 1), "kept_out")
    y = net.unsqueeze(net.Transpose(frames, perm=[1, 0]), 0).of(12)
    y = net.Transpose(net.conv(y, 10, (5,), p=0, act="relu"), perm=[2, 0, 1]).of(10)
    w, r = net.weight(1, 24, 10), net.weight(1, 24, 8)
    y, last = net.GRU(y, w, r, net.constant(net.rng.uniform(-0.1, 0.1, (1, 48)).astype(np.float32)), None, state, hidden_size=8,
                      linear_before_reset=1, outputs=2)
    scores = net.Sigmoid(net.linear(net.squeeze(y, 1).of(8), 3))
    net.output(last, "state_out")
    net.output(net.maximum(scores, 0, 1, keepdims=0), "score")


@FAMILY.add(({"batch": 1, "frames": 6, "tokens": 3}, {"batch": 2, "frames": 9, "tokens": 1}), (14, "script"), (18, "dynamo"))
def transducer(net):
    """A predictor, an encoder of stacked frames, and a joint of every frame with every token."""
    frames = net.input("frames", ["batch", "frames", 8], channels=8)
    tokens = net.input("tokens", ["batch", "tokens"], I64, 0, 12)
    x = net.Transpose(frames, perm=[1, 0, 2]).of(8)
    x, _ = net.recurrent("LSTM", x, 10, activations=["Sigmoid", "Tanh", "Tanh"], clip=3.0)
    x = net.Transpose(net.layer_norm(x), perm=[1, 0, 2]).of(10)
    w, r, b = net.weight(1, 40, 6), net.weight(1, 40, 10), net.constant(np.zeros((1, 80), np.float32))
    y, h, c = net.LSTM(net.Transpose(net.Gather(table(net, 12, 6), tokens), perm=[1, 0, 2]), w, r, b, hidden_size=10, outputs=3)
    y = net.Transpose(net.squeeze(y, 1), perm=[1, 0, 2]).of(10)
    joint = net.Tanh(net.Add(net.unsqueeze(net.linear(x, 10), 2), net.unsqueeze(net.linear(y, 10), 1))).of(10)
    net.output(net.LogSoftmax(net.linear(joint, 13), axis=-1), "scores")
    net.output(h, "h")
    net.output(c, "c")


@FAMILY.add(SIGNALS, (13, "script"), (18, "dynamo"))
def codec(net):
    """An audio codec: strided causal convolutions padded to whole frames, LSTMs, a residual quantiser with two tables (the nearest entry by
    ArgMin, what is left to the next), and back."""
    x = net.unsqueeze(net.input("signal", ["batch", "samples"]), 1)
    length = net.extent(x, 2)
    missing = net.Mod(net.Neg(length), net.ints(8))
    x = net.Pad(x, net.Concat(net.ints(0, 0, 0, 0, 0), missing, axis=0), 0.0, mode="constant").of(1)
    x = net.act(net.conv(x, 8, (7,), pads=[6, 0]), "elu")
    for stride in (2, 4):
        x = net.act(net.conv(net.Add(x, net.conv(x, x.channels, (3,), pads=[4, 0], d=2)).of(x.channels), x.channels * 2, (2 * stride,),
                             s=stride, pads=[stride, 0]), "elu")
    y = net.Transpose(x, perm=[2, 0, 1]).of(32)
    y = net.Add(y, net.recurrent("LSTM", y, 32)[0])
    y = net.conv(net.Transpose(y, perm=[1, 2, 0]).of(32), 6, (3,))
    left = net.Transpose(y, perm=[0, 2, 1])
    total, codes = None, []
    for _ in range(2):
        entries = table(net, 16, 6)
        squares = net.sum(net.Mul(entries, entries), 1, keepdims=0)
        far = net.Add(net.Sub(net.sum(net.Mul(left, left), -1), net.Mul(net.MatMul(left, net.Transpose(entries, perm=[1, 0])), 2.0)), squares)
        code = net.ArgMin(far, axis=-1, keepdims=0)
        found = net.Gather(entries, code)
        left, total = net.Sub(left, found), found if total is None else net.Add(total, found)
        codes.append(net.unsqueeze(code, 0))
    net.output(net.Concat(*codes, axis=0), "codes", I64)
    y = net.conv(net.Transpose(total, perm=[0, 2, 1]).of(6), 32, (7,))
    for stride in (4, 2):
        y = net.conv_transpose(net.act(y, "elu"), y.channels // 2, 2 * stride, stride)
        y = net.slice(y, 0, -stride, (2,)).of(y.channels)
    y = net.Tanh(net.conv(net.act(y, "elu"), 1, (7,), pads=[6, 0]))
    net.output(net.slice(y, 0, length, (2,)), "decoded")


@FAMILY.add(FRAMES, (11, "script"), (17, "script"))
def vocoder(net):
    """A generator of samples: transposed convolutions, residual stacks of several dilations averaged, a spectrum's inverse by products and
    overlapping sums, divided by the windows' sum."""
    x = net.conv(net.input("mel", ["batch", 10, "frames"]), 16, (7,))
    for stride in (4, 2):
        x = net.conv_transpose(net.act(x, "leaky"), x.channels // 2, 2 * stride, stride, p=stride // 2)
        stacks = []
        for kernel in (3, 5):
            y = x
            for d in (1, 3):
                y = net.Add(y, net.conv(net.act(y, "leaky"), x.channels, (kernel,), d=d)).of(x.channels)
            stacks.append(y)
        x = net.Div(net.Add(*stacks), 2.0).of(x.channels)
    both = net.conv(net.act(x, "leaky"), 18, (7,))
    size, phase = net.Exp(net.slice(both, 0, 9, (1,))), net.Sin(net.slice(both, 9, 18, (1,)))
    parts = net.Concat(net.Mul(size, net.Cos(phase)), net.Mul(size, net.Sin(phase)), axis=1)
    angle, window = 2 * np.pi * np.outer(np.arange(9), np.arange(16)) / 16, np.hanning(17)[:-1]
    basis = (np.concatenate((np.cos(angle), -np.sin(angle))) * window / 16)[:, None].astype(np.float32)
    y = net.ConvTranspose(parts, net.constant(basis), kernel_shape=[16], strides=[4])
    ones = net.Add(net.Mul(net.slice(size, 0, 1, (1,)), 0.0), 1.0)
    sums = net.ConvTranspose(ones, net.constant((window ** 2)[None, None].astype(np.float32)), kernel_shape=[16], strides=[4])
    net.output(net.slice(net.Div(y, net.Add(sums, 1e-3)), 8, -8, (2,)), "samples")


@FAMILY.add(FIXED, (13, "script"), (17, "script"))
def sort_and_search(net):
    """What sorts: TopK of everything, ArgMax of cumulated weights, ranks by sorting twice, runs by Unique, histograms by OneHot."""
    x = net.input("x", [40])
    values, order = net.TopK(x, net.ints(40), axis=0, largest=0, outputs=2)
    _, rank = net.TopK(net.Cast(order, to=F32), net.ints(40), axis=0, largest=0, outputs=2)
    net.output(net.Gather(values, rank), "same")
    share = net.CumSum(net.softmax(net.Mul(values, 3.0)), net.scalar(0, np.int64))
    kept = net.Less(share, 0.9)
    net.output(net.Compress(order, kept, axis=0), "nucleus", I64)
    marks = net.constant(np.linspace(-0.9, 0.9, 7).astype(np.float32))
    bins = net.ReduceSum(net.Cast(net.GreaterOrEqual(net.unsqueeze(x, 1), marks), to=I64), net.ints(1), keepdims=0)
    found, first, inverse, counts = net.Unique(bins, sorted=1, outputs=4)
    for name, value in (("found", found), ("first", first), ("inverse", inverse), ("counts", counts)):
        net.output(value, name, I64)
    hot = net.OneHot(bins, net.scalar(8, np.int64), net.constant(np.array([0, 1], np.float32)))
    net.output(net.sum(hot, 0, keepdims=0), "histogram")
