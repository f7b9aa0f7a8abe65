# SPDX-License-Identifier: Apache-2.0
"""Networks of other data than images and texts: graphs (scatter and gather), tables, sets of points, recommendations, planning, and what
control flow and sequences exporters write."""

import numpy as np
from family import FIXED, ROWS, Family
from net import BOOL, F32, I32, I64
from onnx import TensorProto

FAMILY = Family()
GRAPHS = ({"nodes": 6, "edges": 10}, {"nodes": 9, "edges": 31})


def edges(rng, shape):
    return rng.integers(0, 6, shape)


def scattered(net, messages, index, like, width, reduction="add"):
    """The sum of the messages to each node: zeros of a computed size, indices expanded to the messages' shape."""
    size = net.Concat(net.extent(like, 0), net.ints(width), axis=0)
    zeros = net.Expand(0.0, size)
    index = net.Expand(net.unsqueeze(index, 1), net.Shape(messages))
    if net.opset >= 16:
        return net.ScatterElements(zeros, index, messages, axis=0, reduction=reduction).of(width)
    return net.ScatterElements(zeros, index, messages, axis=0).of(width)


@FAMILY.add(GRAPHS, (16, "script"), (18, "dynamo"), quick=True)
def graph_convolution(net):
    """Degrees by ScatterElements, their inverse roots without infinities, weighted messages."""
    x = net.input("x", ["nodes", 8])
    index = net.input("edge_index", [2, "edges"], I64, values=edges)
    source, target = (net.squeeze(net.Gather(index, net.ints(i), axis=0), 0) for i in (0, 1))
    ones = net.Expand(1.0, net.Concat(net.extent(source, 0), net.ints(1), axis=0))
    degree = scattered(net, ones, target, x, 1)
    root = net.Where(net.Equal(degree, 0.0), 0.0, net.Pow(net.Max(degree, 1e-6), -0.5))
    weight = net.Mul(net.Gather(root, source, axis=0), net.Gather(root, target, axis=0))
    for width in (12, 5):
        y = net.linear(x, width, bias=False)
        y = scattered(net, net.Mul(net.Gather(y, source, axis=0), weight), target, x, width)
        x = net.Add(y, net.vector(width)).of(width)
        x = net.Relu(x) if width == 12 else x
    net.output(net.LogSoftmax(x, axis=1), "output")


@FAMILY.add(GRAPHS, (18, "dynamo"))
def graph_attention(net):
    """A softmax over each node's edges: the largest by ScatterElements with max, the sum by add."""
    x = net.input("x", ["nodes", 8])
    index = net.input("edge_index", [2, "edges"], I64, values=edges)
    source, target = (net.squeeze(net.Gather(index, net.ints(i), axis=0), 0) for i in (0, 1))
    h = net.linear(x, 6, bias=False)
    logit = net.Add(net.Gather(net.linear(h, 1), source, axis=0), net.Gather(net.linear(h, 1), target, axis=0))
    logit = net.LeakyRelu(logit, alpha=0.2)
    largest = scattered(net, logit, target, x, 1, "max")
    e = net.Exp(net.Sub(logit, net.Gather(largest, target, axis=0)))
    total = scattered(net, e, target, x, 1)
    alpha = net.Div(e, net.Add(net.Gather(total, target, axis=0), 1e-16))
    y = scattered(net, net.Mul(net.Gather(h, source, axis=0), alpha), target, x, 6)
    net.output(net.Elu(y), "output")
    pooled = net.ScatterND(net.constant(np.zeros((2, 6), np.float32)), net.constant(np.array([[0], [1]])),
                           net.Concat(net.sum(y, 0), net.maximum(y, 0), axis=0))
    net.output(pooled, "pooled")


@FAMILY.add(ROWS, (12, "script"), (17, "script"))
def points(net):
    """PointNet: a learnt rotation plus the identity, convolutions of width 1, the largest over the points, the nearest by TopK."""
    x = net.input("points", ["batch", 3, 20])
    y = net.conv_bn(net.conv_bn(x, 8, (1,)), 12, (1,))
    y = net.maximum(y, 2, keepdims=0).of(12) if net.opset >= 18 else net.ReduceMax(y, axes=[2], keepdims=0).of(12)
    rotation = net.Reshape(net.Add(net.linear(y, 9, gemm=True), net.constant(np.eye(3, dtype=np.float32).ravel())), [-1, 3, 3])
    t = net.Transpose(x, perm=[0, 2, 1])
    t = net.MatMul(t, rotation)
    square = net.sum(net.Mul(t, t), 2)
    distance = net.Add(net.Sub(square, net.Mul(net.MatMul(t, net.Transpose(t, perm=[0, 2, 1])), 2.0)), net.Transpose(square, perm=[0, 2, 1]))
    _, index = net.TopK(distance, net.ints(4), axis=2, largest=0, outputs=2)
    flat = net.Reshape(net.Expand(net.unsqueeze(index, -1), net.Concat(net.Shape(index), net.ints(3), axis=0)), [0, -1, 3])
    near = net.Reshape(net.GatherElements(t, flat, axis=1), [-1, 20, 4, 3])
    edge = net.Concat(net.Sub(near, net.unsqueeze(t, 2)), net.Expand(net.unsqueeze(t, 2), net.Shape(near)), axis=-1)
    y = net.ReduceMax(net.Relu(net.linear(edge.of(6), 10)), axes=[1, 2], keepdims=0).of(10)
    net.output(net.linear(y, 4, gemm=True), "output")


@FAMILY.add(ROWS, (11, "script"), (17, "script"))
def recommender(net):
    """Tables of categories, products of all pairs of them picked by GatherND, a tower of linear layers."""
    dense, sparse = net.input("dense", ["batch", 5]), net.input("sparse", ["batch", 3], I64, 0, 10)
    rows = [net.linear(dense, 8, gemm=True, act="relu")]
    for i in range(3):
        rows.append(net.Gather(net.weight(10, 8, scale=2), net.Gather(sparse, net.scalar(i, np.int64), axis=1), axis=0))
    t = net.Concat(*[net.unsqueeze(r, 1) for r in rows], axis=1)
    z = net.Transpose(net.MatMul(t, net.Transpose(t, perm=[0, 2, 1])), perm=[1, 2, 0])
    pairs = net.GatherND(z, net.constant(np.array([(i, j) for i in range(4) for j in range(i)])))
    y = net.Concat(rows[0], net.Transpose(pairs, perm=[1, 0]), axis=1).of(14)
    net.output(net.Sigmoid(net.linear(net.linear(y, 16, gemm=True, act="relu"), 1, gemm=True)), "output")


@FAMILY.add(ROWS, (13, "script"))
def tabnet(net):
    """Features chosen by a sparse softmax: sorted by TopK, cumulated, cut."""
    x = net.input("input", ["batch", 6])
    z = net.linear(x, 6, gemm=True)
    ordered, _ = net.TopK(z, net.ints(6), axis=1, outputs=2)
    position = net.constant(np.arange(1, 7, dtype=np.float32)[None])
    total = net.Sub(net.CumSum(ordered, net.scalar(1, np.int64)), 1.0)
    support = net.Greater(net.Mul(position, ordered), total)
    count = net.sum(net.Cast(support, to=I64), 1)
    tau = net.Div(net.GatherElements(total, net.Sub(count, net.scalar(1, np.int64)), axis=1), net.Cast(count, to=F32))
    mask = net.Max(net.Sub(z, tau), 0.0)
    a, gate = net.split(net.linear(net.Mul(x, mask).of(6), 8, gemm=True), (4, 4), 1)
    net.output(net.linear(net.Mul(a, net.Sigmoid(gate)).of(4), 2, gemm=True), "output")


@FAMILY.add(({"batch": 1, "length": 40}, {"batch": 2, "length": 33}), (14, "script"), (18, "dynamo"))
def forecaster(net):
    """Time series: standardised by their own moments, patches of overlapping windows, trend by a moving average."""
    x = net.input("series", ["batch", "length", 2], channels=2)
    mean = net.mean(x, 1)
    centred = net.Sub(x, mean)
    deviation = net.Sqrt(net.Add(net.mean(net.Mul(centred, centred), 1), 1e-5))
    y = net.Transpose(net.Div(centred, deviation), perm=[0, 2, 1]).of(2)
    first, last = net.slice(y, 0, 1, (2,)), net.slice(y, -1, 2**63 - 1, (2,))
    ends = [net.Tile(v, net.ints(1, 1, 2)) for v in (first, last)]
    trend = net.AveragePool(net.Concat(ends[0], y, ends[1], axis=2), kernel_shape=[5], strides=[1]).of(2)
    season = net.Sub(y, trend).of(2)
    windows = net.conv(season, 12, (8,), 4, p=0)
    z = net.encoder_layer(net.Transpose(windows, perm=[0, 2, 1]).of(12), 2, 24)
    out = net.unsqueeze(net.linear(net.mean(z, 1, keepdims=0).of(12), 5, gemm=True), 2)
    net.output(net.Add(net.Mul(out, deviation), mean), "forecast")


@FAMILY.add(FIXED, (11, "script"), (16, "script"), quick=True)
def scripted_lists(net):
    """A list of pieces: taken apart, read by index, extended, put together along an old axis and a new one."""
    x = net.input("x", [4, 6])
    parts = net.SplitToSequence(x, net.scalar(1, np.int64), axis=0)
    last = net.SequenceAt(parts, net.scalar(-1, np.int64))
    parts = net.SequenceInsert(net.SequenceErase(parts, net.scalar(0, np.int64)), net.Tanh(last))
    net.output(net.ConcatFromSequence(parts, axis=0), "y")
    net.output(net.SequenceLength(parts), "count", I64)
    pair = net.SequenceConstruct(net.Relu(x), net.Neg(x))
    net.output(net.ConcatFromSequence(pair, axis=-1, new_axis=1), "stacked")


@FAMILY.add(({"length": 5}, {"length": 2}), (13, "script"), (17, "script"))
def scan_filter(net):
    """Scan: a state and its history, forwards and backwards."""
    x = net.input("x", ["length", 4])
    body = net.body()
    state, now = body.input("state", [4]), body.input("now", [4])
    new = body.Add(body.Mul(state, 0.9), body.Mul(now, 0.1))
    body.output(body.Identity(new), shape=[4])
    body.output(body.Identity(new), shape=[4])
    zeros = net.constant(np.zeros(4, np.float32))
    last, history = net.Scan(zeros, x, body=body.graph(), num_scan_inputs=1, outputs=2)
    net.output(last, "last")
    net.output(history, "history")
    body = net.body()
    state, now = body.input("state2", [4]), body.input("now2", [4])
    body.output(body.Max(state, now), shape=[4])
    body.output(body.Sub(now, state), shape=[4])
    last, steps = net.Scan(zeros, x, body=body.graph(), num_scan_inputs=1, outputs=2, scan_input_directions=[1], scan_output_directions=[1])
    net.output(steps, "steps")
    net.output(last, "largest")


@FAMILY.add(({"count": 0}, {"count": 5}), (14, "script"))
def branches_of_sizes(net):
    """An If by whether there is anything, whose branches have different extents; results of NonZero."""
    x = net.input("x", ["count", 3])
    some = net.Greater(net.Size(x), net.scalar(0, np.int64))
    one, other = net.body(), net.body()
    y = one.Concat(x, one.Sub(x, one.mean(x, 0)), axis=0)
    one.output(y, shape=["rows", 3])
    other.output(other.Identity(other.constant(np.ones((1, 3), np.float32))), shape=[1, 3])
    y = net.If(some, then_branch=one.graph(), else_branch=other.graph())
    net.output(net.Mul(y, 2.0), "y")
    kept = net.Transpose(net.NonZero(net.Greater(y, 0.0)), perm=[1, 0])
    net.output(net.GatherND(y, kept), "positive")
    net.output(net.Compress(y, net.Greater(net.sum(y, 1, keepdims=0), 0.0), axis=0), "rows")


@FAMILY.add(ROWS, (12, "script"), (17, "script"))
def planner(net):
    """A policy: values and advantages, actions by ArgMax and OneHot, running statistics, a squashed Gaussian's mean, samples by Einsum."""
    x = net.input("observation", ["batch", 6])
    x = net.clip(net.Div(net.Sub(x, net.vector(6)), net.vector(6, 0.5, 1.5)), -5, 5).of(6)
    h = net.linear(net.linear(x, 16, gemm=True, act="tanh"), 16, gemm=True, act="elu")
    value, advantage = net.linear(h, 1, gemm=True), net.linear(h, 4, gemm=True)
    q = net.Sub(net.Add(value, advantage), net.mean(advantage, 1))
    action = net.ArgMax(q, axis=1, keepdims=0)
    net.output(action, "action", I64)
    hot = net.OneHot(action, net.scalar(4, np.int64), net.constant(np.array([0, 1], np.float32)))
    net.output(net.sum(net.Mul(q, hot), 1, keepdims=0), "q")
    mean, spread = net.split(net.linear(h, 6, gemm=True), (3, 3), 1)
    spread = net.Softplus(spread)
    net.output(net.Tanh(net.Mul(mean, spread)), "mean")
    net.output(net.Einsum(mean, spread, equation="bi,bj->bij"), "outer")


def either(net, condition, *makers):
    """An If without declared results, as scripted networks have it; each maker adds a branch's nodes and returns its results."""
    graphs = []
    for make in makers:
        body = net.body()
        results = make(body)
        for value in results:
            body.output(body.Identity(value), kind=TensorProto.UNDEFINED)
            body.outputs[-1].ClearField("type")
        graphs.append(body.graph())
    return net.If(condition, then_branch=graphs[0], else_branch=graphs[1], outputs=len(results))


@FAMILY.add(tuple({"count": n} for n in (1, 2, 3, 4, 5, 6)), (13, "script"), (17, "script"))
def branches_of_ranks(net):
    """Scripted squeezing: branches whose ranks differ by the data, and in them branches, loops and scans that read the results, of which
    before the run not even types are written down."""
    x = net.input("x", ["count", 1])
    some, many = (net.Greater(net.squeeze(net.Slice(net.Reshape(x, [-1]), net.ints(i), net.ints(i + 1 or 2**63 - 1)), 0), 0.0)
                  for i in (0, -1))

    def kept(body, value):
        """Squeezed or not, as float and as integers of what follows from it alone."""
        return either(body, some, lambda b: [b.squeeze(value, 1), b.Cast(b.Size(value), to=BOOL)],
                      lambda b: [b.Identity(value), b.Greater(b.Size(value), b.scalar(0, np.int64))])

    def repeated(body, value, times):
        inner = body.body()
        inner.input("step", [], I64)
        inner.input("going", [], BOOL)
        now = inner.input("now", None)
        twice = inner.Add(now, inner.Tanh(value))
        inner.output(inner.Identity("going"), kind=BOOL, shape=[])
        inner.output(either(inner, many, lambda b: [b.Mul(twice, 0.5)], lambda b: [b.Neg(twice)]))
        inner.output(inner.Cast(value, to=I32), kind=I32)
        return body.Loop(times, body.constant(np.array(True)), body.Sub(value, 1.0), body=inner.graph(), outputs=2)

    def scanned(body, value):
        inner = body.body()
        state, now = inner.input("state", []), inner.input("slice", None)
        inner.output(inner.Add(state, inner.Sum(inner.ReduceMax(now, keepdims=0), inner.ReduceMin(value, keepdims=0))), shape=[])
        inner.output(inner.ReduceMin(inner.Abs(now), keepdims=0), shape=[])
        return body.Scan(body.scalar(0), value, body=inner.graph(), num_scan_inputs=1, outputs=2)

    def matched(body, value):
        """Right for one combination of ranks in each branch: whatever ranks are taken as an example, both refuse them."""
        other = either(body, body.Not(some), lambda b: [b.squeeze(x, 1)], lambda b: [b.Identity(x)])
        flat = [(value, other), (other, value)]
        sums = [lambda b, u=u, v=v: [b.Add(b.Transpose(u, perm=[0]), b.squeeze(b.Transpose(v, perm=[1, 0]), 0))] for u, v in flat]
        return either(body, some, *sums)

    def first(body):
        value, there = kept(body, body.Exp(x))
        low, whole = repeated(body, value, body.scalar(3, np.int64))
        chosen = either(body, there, lambda b: [b.Relu(low)], lambda b: [b.Sub(value, low)])
        flat = matched(body, value)
        chosen = either(body, many, lambda b: [b.Mul(chosen, b.ReduceMax(flat, keepdims=0))], lambda b: [b.Cast(b.Cast(flat, to=I32), to=F32)])
        return [chosen, body.Cast(whole, to=F32)]

    def second(body):
        value, there = kept(body, x)
        total, slices = scanned(body, value)
        chosen = either(body, body.Not(there), lambda b: [b.Mul(b.Sin(slices), value)], lambda b: [b.Add(value, total)])
        return [chosen, body.unsqueeze(chosen, 0)]

    y, stacked = either(net, many, first, second)
    net.output(net.Mul(y, 2.0), "y", shape=None)
    net.output(stacked, "stacked", shape=None)
    net.output(net.Shape(stacked), "shape", I64)
