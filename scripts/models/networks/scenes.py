# SPDX-License-Identifier: Apache-2.0
"""Networks that choose: experts by TopK, queries of a detector and windows that they look at, key points and their matches, tracks and
boxes matched in a Loop, prompts to masks, rays to colours, attention by buckets, lists of pictures in a Loop."""

import numpy as np
from family import FIXED, IMAGES, TEXTS, Family
from net import BOOL, F32, I64
from onnx import TensorProto, helper

FAMILY = Family()


def table(net, *shape):
    return net.constant(net.rng.uniform(-0.5, 0.5, shape).astype(np.float32))


@FAMILY.add(TEXTS, (16, "script"), (18, "dynamo"), quick=True)
def experts(net):
    """A mixture of experts as a loop over them was traced: the two best of four, rows found by NonZero, results added where they came from."""
    x = net.input("x", ["batch", "length", 8], channels=8)
    rows = net.Reshape(x, [-1, 8]).of(8)
    weight, chosen = net.TopK(net.softmax(net.linear(rows, 4, bias=False)), net.ints(2), axis=1, outputs=2)
    weight = net.Div(weight, net.sum(weight, 1))
    hot = net.OneHot(chosen, net.scalar(4, np.int64), net.constant(np.array([0, 1], np.int64)), axis=-1)
    hot = net.Transpose(hot, perm=[2, 1, 0])
    total = net.ConstantOfShape(net.Shape(rows), value=helper.make_tensor("zero", TensorProto.FLOAT, [1], [0.0]))
    for expert in range(4):
        which, row = (net.squeeze(part, 0) for part in net.split(net.NonZero(net.Gather(hot, net.scalar(expert, np.int64))), (1, 1), 0))
        mine = net.Gather(rows, row).of(8)
        y = net.linear(net.Mul(net.act(net.linear(mine, 12, bias=False), "silu"), net.linear(mine, 12, bias=False)).of(12), 8, bias=False)
        share = net.GatherND(weight, net.Concat(net.unsqueeze(row, 1), net.unsqueeze(which, 1), axis=1))
        y = net.Mul(y, net.unsqueeze(share, 1))
        if net.dialect == "script":
            total = net.ScatterND(total, net.unsqueeze(row, 1), y, reduction="add")
        else:
            total = net.ScatterElements(total, net.Expand(net.unsqueeze(row, 1), net.Shape(y)), y, axis=0, reduction="add")
    net.output(net.Reshape(total, net.Shape(x)), "y")


@FAMILY.add(IMAGES, (16, "script"), (20, "dynamo"), quick=True)
def query_detector(net):
    """The best of an encoder's positions become queries (TopK, GatherElements); deformable attention samples around their reference points
    by GridSample on two levels; boxes refined in logits."""
    image = net.input("image", ["batch", 3, "height", "width"])
    levels = [net.conv_bn(image, 8, s=4)]
    levels.append(net.conv_bn(levels[0], 8, s=2))
    flat = [net.Transpose(net.Reshape(level, [0, 8, -1]), perm=[0, 2, 1]) for level in levels]
    memory = net.Concat(*flat, axis=1).of(8)
    scores, boxes = net.linear(memory, 5), net.linear(memory, 4)
    _, best = net.TopK(net.maximum(scores, 2, keepdims=0), net.ints(6), axis=1, outputs=2)
    index = net.unsqueeze(best, 2)
    queries = net.GatherElements(memory, net.Tile(index, net.ints(1, 1, 8)), axis=1).of(8)
    reference = net.GatherElements(boxes, net.Tile(index, net.ints(1, 1, 4)), axis=1)
    points = net.Sigmoid(net.slice(reference, 0, 2, (2,)))
    queries = net.encoder_layer(queries, 2, 16, act="relu", before=False)
    offsets = net.Reshape(net.linear(queries, 2 * 2 * 3 * 2), [0, 6, 2, 2, 3, 2])  # batch, query, head, level, point, xy
    weights = net.Reshape(net.softmax(net.Reshape(net.linear(queries, 2 * 2 * 3), [0, 6, 2, 6])), [0, 6, 2, 2, 3])
    sampled = []
    for n, level in enumerate(levels):
        value = net.Reshape(level, net.Concat(net.ints(-1, 4), net.slice(net.Shape(level), 2, 4), axis=0))  # batch * head, 4, h, w
        size = net.Cast(net.Concat(net.extent(level, 3), net.extent(level, 2), axis=0), to=F32)
        offset = net.squeeze(net.slice(offsets, n, n + 1, (3,)), 3)
        where = net.Add(net.unsqueeze(points, 2, 3), net.Div(offset, size))
        grid = net.Transpose(net.Sub(net.Mul(where, 2.0), 1.0), perm=[0, 2, 1, 3, 4])
        y = net.GridSample(value, net.Reshape(grid, [-1, 6, 3, 2]), mode="bilinear" if net.opset < 20 else "linear", padding_mode="zeros",
                           align_corners=0)
        weight = net.Transpose(net.squeeze(net.slice(weights, n, n + 1, (3,)), 3), perm=[0, 2, 1, 3])
        y = net.Mul(y, net.unsqueeze(net.Reshape(weight, [-1, 6, 3]), 1))
        sampled.append(net.sum(y, 3, keepdims=0))
    y = net.Transpose(net.Reshape(net.Add(*sampled), [-1, 8, 6]), perm=[0, 2, 1]).of(8)
    queries = net.layer_norm(net.Add(queries, net.linear(y, 8)).of(8))
    logits = net.linear(queries, 5)
    x = net.clip(net.Sigmoid(reference), 1e-5, 1 - 1e-5)
    boxes = net.Sigmoid(net.Add(net.linear(queries, 4), net.Log(net.Div(x, net.Sub(1.0, x)))))
    values, index = net.TopK(net.Reshape(net.Sigmoid(logits), [0, -1]), net.ints(5), axis=1, outputs=2)
    net.output(values, "scores")
    net.output(net.Mod(index, net.scalar(5, np.int64)), "labels", I64)
    row = net.Tile(net.unsqueeze(net.Div(index, net.scalar(5, np.int64)), 2), net.ints(1, 1, 4))
    net.output(net.GatherElements(boxes, row, axis=1), "boxes")


@FAMILY.add(({"height": 64, "width": 64}, {"height": 48, "width": 80}), (16, "script"), (20, "dynamo"))
def key_points(net):
    """Corners: a softmax over cells put back to pixels, the largest of windows kept, NonZero and TopK, descriptors sampled between pixels,
    normalised, and those of both pictures matched where each is the other's best."""
    def found(picture, weights):
        x = net.Relu(net.Conv(picture, weights[0], kernel_shape=[3, 3], pads=[1] * 4, strides=[4, 4]))
        x = net.Relu(net.Conv(x, weights[1], kernel_shape=[3, 3], pads=[1] * 4, strides=[2, 2]))
        cells = net.slice(net.softmax(net.Conv(x, weights[2], kernel_shape=[1, 1]), 1), 0, -1, (1,))
        heat = net.DepthToSpace(cells, blocksize=8, mode="CRD")
        largest = net.MaxPool(heat, kernel_shape=[5, 5], pads=[2] * 4, strides=[1, 1])
        heat = net.squeeze(net.Where(net.Equal(heat, largest), heat, 0.0), 0, 1)
        spots = net.Transpose(net.NonZero(net.Greater(heat, 0.005)), perm=[1, 0])
        count = net.Min(net.extent(spots, 0), net.ints(20))
        score, best = net.TopK(net.GatherND(heat, spots), count, axis=0, outputs=2)
        spots = net.Gather(spots, best)
        xy = net.Cast(net.Gather(spots, net.ints(1, 0), axis=1), to=F32)
        size = net.Cast(net.Gather(net.Shape(heat), net.ints(1, 0)), to=F32)
        grid = net.unsqueeze(net.Sub(net.Div(net.Mul(net.Add(xy, 0.5), 2.0), size), 1.0), 0, 1)
        coarse = net.Conv(x, weights[3], kernel_shape=[1, 1])
        y = net.GridSample(coarse, grid, mode="bilinear" if net.opset < 20 else "linear", align_corners=0)
        y = net.Transpose(net.squeeze(y, 0, 2), perm=[1, 0])
        return xy, score, net.Div(y, net.Max(net.along("ReduceL2", y, (1,), 18), 1e-6))
    weights = [net.weight(8, 1, 3, 3), net.weight(12, 8, 3, 3), net.weight(65, 12, 1, 1, scale=3), net.weight(6, 12, 1, 1)]
    pairs = [found(net.input(name, [1, 1, "height", "width"], low=0), weights) for name in ("first", "second")]
    near = net.MatMul(pairs[0][2], net.Transpose(pairs[1][2], perm=[1, 0]))
    there, back = net.ArgMax(near, axis=1, keepdims=0), net.ArgMax(near, axis=0, keepdims=0)
    rows = net.Range(net.scalar(0, np.int64), net.squeeze(net.extent(there, 0), 0), net.scalar(1, np.int64))
    mutual = net.Equal(net.Gather(back, there), rows)
    kept = net.Reshape(net.NonZero(mutual), [-1])
    for name, value in (("xy_first", net.Gather(pairs[0][0], kept)), ("xy_second", net.Gather(pairs[1][0], net.Gather(there, kept))),
                        ("near", net.GatherElements(net.maximum(near, 1, keepdims=0), kept, axis=0)), ("scores", pairs[0][1])):
        net.output(value, name)


def boxes_of(rng, shape):
    corner = rng.uniform(0, 40, (*shape[:-1], 2))
    return np.concatenate((corner, corner + rng.uniform(5, 30, corner.shape)), -1).astype(np.float32)


@FAMILY.add(({"tracks": 3, "found": 5}, {"tracks": 6, "found": 2}), (13, "script"), (18, "dynamo"), quick=True)
def tracker(net):
    """Boxes suppressed for each class, overlaps with tracks that a constant velocity moved on, matched greedily in a Loop that takes the
    best pair, strikes out its row and column, and stops where none overlaps; states updated where they were matched."""
    boxes = net.input("boxes", ["found", 4], values=boxes_of)
    scores = net.input("scores", ["found"], low=0)
    tracks = net.input("tracks", ["tracks", 4], values=boxes_of)
    speed = net.input("speed", ["tracks", 4])
    kept = net.NonMaxSuppression(net.unsqueeze(boxes, 0), net.unsqueeze(scores, 0, 1), net.ints(10), net.constant(np.array([0.7], np.float32)),
                                 net.constant(np.array([0.05], np.float32)))
    kept = net.squeeze(net.slice(kept, 2, 3, (1,)), 1)
    boxes = net.Gather(boxes, kept)
    moved = net.Add(tracks, speed)
    left, right = net.unsqueeze(moved, 1), net.unsqueeze(boxes, 0)
    low = net.Max(net.slice(left, 0, 2, (2,)), net.slice(right, 0, 2, (2,)))
    high = net.Min(net.slice(left, 2, 4, (2,)), net.slice(right, 2, 4, (2,)))

    def area(x):
        return net.ReduceProd(net.Relu(x), axes=[2], keepdims=0) if net.opset < 18 else net.ReduceProd(net.Relu(x), net.ints(2), keepdims=0)
    common = area(net.Sub(high, low))
    own = [area(net.Sub(net.slice(x, 2, 4, (2,)), net.slice(x, 0, 2, (2,)))) for x in (left, right)]
    overlap = net.Div(common, net.Sub(net.Add(*own), common))
    columns = net.extent(boxes, 0)
    body = net.body()
    body.input("step", [], I64)
    body.input("going", [], BOOL)
    free = body.input("free", ["tracks", "kept"])
    best = body.ReduceMax(free, keepdims=0)
    at = body.ArgMax(body.Reshape(free, [-1]), axis=0, keepdims=1)
    row, column = body.Div(at, columns), body.Mod(at, columns)
    struck = body.ScatterElements(free, body.Expand(body.unsqueeze(row, 1), body.Concat(body.ints(1), columns, axis=0)),
                                  body.Expand(-1.0, body.Concat(body.ints(1), columns, axis=0)), axis=0)
    struck = body.Transpose(struck, perm=[1, 0])
    size = body.Concat(body.ints(1), body.extent(free, 0), axis=0)
    struck = body.ScatterElements(struck, body.Expand(body.unsqueeze(column, 1), size), body.Expand(-1.0, size), axis=0)
    struck = body.Transpose(struck, perm=[1, 0])
    body.output(body.Greater(body.ReduceMax(struck, keepdims=0), 0.05), kind=BOOL, shape=[])
    body.output(body.Identity(struck), shape=["tracks", "kept"])
    body.output(body.Concat(row, column, axis=0), kind=I64, shape=[2])
    body.output(body.Identity(best), shape=[])
    most = net.Min(net.extent(tracks, 0), columns)
    going = net.Greater(net.maximum(net.Reshape(net.pad(overlap, (0, 0, 1, 1)), [-1]), 0, keepdims=0), 0.05)
    _, pairs, best = net.Loop(net.squeeze(most, 0), going, overlap, body=body.graph(), outputs=3)
    net.output(pairs, "pairs", I64)
    net.output(best, "overlaps")
    rows, taken = (net.slice(pairs, n, n + 1, (1,)) for n in (0, 1))
    seen = net.GatherND(boxes, taken)
    new = net.Add(net.Mul(net.GatherND(moved, rows), 0.3), net.Mul(seen, 0.7))
    net.output(net.ScatterND(moved, rows, new), "updated")


@FAMILY.add(({"points": 1}, {"points": 4}), (13, "script"), (18, "dynamo"))
def prompts(net):
    """Masks from points: coordinates as sines by a random matrix, labels chosen by Where, attention both ways, a picture's features scaled up
    with normalised channels, a product of tokens and pixels, the best mask gathered by its estimated quality."""
    features = net.input("features", [1, 16, 8, 8])
    points, labels = net.input("points", [1, "points", 2], low=0, high=64), net.input("labels", [1, "points"], I64, 0, 2)
    gauss = table(net, 2, 8)

    def encoded(xy):
        angle = net.Mul(net.MatMul(net.Sub(net.Mul(xy, 2.0), 1.0), gauss), 2 * np.pi)
        return net.Concat(net.Sin(angle), net.Cos(angle), axis=-1)
    codes = encoded(net.Div(net.Add(points, 0.5), 64.0))
    kind = net.unsqueeze(labels, 2)
    for value in (0, 1):
        codes = net.Where(net.Equal(kind, net.scalar(value, np.int64)), net.Add(codes, net.vector(16)), codes)
    tokens = net.Concat(table(net, 1, 4, 16), codes, axis=1).of(16)
    y, x = np.meshgrid((np.arange(8) + 0.5) / 8, (np.arange(8) + 0.5) / 8, indexing="ij")
    grid = encoded(net.constant(np.stack((x, y), -1).reshape(1, 64, 2).astype(np.float32)))
    pixels = net.Transpose(net.Reshape(features, [1, 16, 64]), perm=[0, 2, 1]).of(16)
    for _ in range(2):
        tokens = net.layer_norm(net.Add(tokens, net.attention(tokens, 2)).of(16))
        tokens = net.layer_norm(net.Add(tokens, net.attention(tokens, 4, memory=net.Add(pixels, grid).of(16))).of(16))
        pixels = net.layer_norm(net.Add(pixels, net.attention(pixels, 4, memory=tokens)).of(16))
    picture = net.Reshape(net.Transpose(pixels, perm=[0, 2, 1]), [1, 16, 8, 8]).of(16)
    up = net.conv_transpose(picture, 8, (2, 2), 2)
    centred = net.Sub(up, net.mean(up, 1))
    up = net.Div(centred, net.Sqrt(net.Add(net.mean(net.Pow(centred, 2.0), 1), 1e-6)))
    up = net.gelu(net.conv_transpose(net.gelu(up).of(8), 4, (2, 2), 2))
    masks = net.MatMul(net.linear(net.slice(tokens, 1, 4, (1,)).of(16), 4), net.Reshape(up, [1, 4, -1]))
    masks = net.Reshape(masks, [1, 3, 32, 32])
    quality = net.linear(net.linear(net.squeeze(net.slice(tokens, 0, 1, (1,)), 1).of(16), 12, act="relu"), 3)
    best = net.ArgMax(quality, axis=1, keepdims=1)
    index = net.Concat(net.constant(np.array([[0]])), best, axis=1)
    mask = net.unsqueeze(net.GatherND(masks, index), 1)
    net.output(quality, "quality")
    net.output(net.resize(mask, 2, mode="linear"), "mask")


@FAMILY.add(({"rays": 4}, {"rays": 9}), (13, "script"), (18, "dynamo"))
def rays(net):
    """Colours along rays: positions as sines of many frequencies, a skip connection, transparency by an exclusive CumSum of logarithms,
    and samples drawn again where the weights are, by comparing with their cumulated sum."""
    origin, direction = net.input("origin", ["rays", 3]), net.input("direction", ["rays", 3])
    depth = net.constant(np.linspace(0.5, 3, 8).astype(np.float32))
    where = net.Add(net.unsqueeze(origin, 1), net.Mul(net.unsqueeze(direction, 1), net.unsqueeze(depth, 1)))
    waves = net.Mul(net.unsqueeze(where, 3), net.constant((2.0 ** np.arange(4)).astype(np.float32)))
    code = net.Reshape(net.Concat(net.Sin(waves), net.Cos(waves), axis=3), [0, 8, 24])
    code = net.Concat(where, code, axis=2).of(27)
    h = net.linear(net.linear(code, 16, act="relu"), 16, act="relu")
    h = net.linear(net.concat(code, h, axis=-1), 16, act="relu")
    density, colour = net.act(net.squeeze(net.linear(h, 1), 2), "softplus"), net.Sigmoid(net.linear(h, 3))
    passed = net.Neg(net.Mul(density, 0.35))
    left = net.Exp(net.CumSum(passed, net.scalar(1, np.int64), exclusive=1))
    weight = net.Mul(left, net.Sub(1.0, net.Exp(passed)))
    net.output(net.sum(net.Mul(net.unsqueeze(weight, 2), colour), 1, keepdims=0), "colour")
    share = net.CumSum(net.Div(weight, net.Add(net.sum(weight, 1), 1e-5)), net.scalar(1, np.int64))
    marks = net.constant(np.linspace(0.05, 0.95, 5).astype(np.float32))
    index = net.sum(net.Cast(net.Less(net.unsqueeze(share, 1), net.unsqueeze(marks, 1)), to=I64), 2, keepdims=0)
    index = net.Min(index, net.scalar(7, np.int64))
    net.output(net.Gather(depth, index), "depths")


@FAMILY.add(({"batch": 1, "length": 12}, {"batch": 2, "length": 20}), (13, "script"), (18, "dynamo"))
def local_attention(net):
    """Attention of blocks to themselves and their neighbours by padding and concatenated slices, positions sorted into buckets by hashing
    (ArgMax of projections, a stable order by TopK), gathered, attended to, and put back."""
    x = net.input("x", ["batch", "length", 12], channels=12)
    blocks = [net.Reshape(net.linear(x, 12, bias=False), [0, -1, 4, 12]) for _ in range(3)]
    q, k, v = blocks

    def around(value):
        padded = net.pad(value, (0, 1, 0, 0, 0, 1, 0, 0))
        return net.Concat(net.slice(padded, 0, -2, (1,)), net.slice(padded, 1, -1, (1,)), net.slice(padded, 2, 2**31 - 1, (1,)), axis=2)
    there = around(net.Add(net.Mul(net.slice(q, 0, 1, (3,)), 0.0), 1.0))
    score = net.Einsum(q, around(k), equation="bnqd,bnkd->bnqk")
    score = net.Where(net.Equal(net.Transpose(there, perm=[0, 1, 3, 2]), 0.0), -1e9, score)
    y = net.Einsum(net.softmax(score), around(v), equation="bnqk,bnkd->bnqd")
    y = net.Reshape(y, [0, -1, 12]).of(12)
    net.output(y, "local")
    turned = net.MatMul(y, table(net, 12, 3))
    bucket = net.ArgMax(net.Concat(turned, net.Neg(turned), axis=2), axis=2, keepdims=0)
    length = net.extent(y, 1)
    index = net.Range(net.scalar(0, np.int64), net.squeeze(length, 0), net.scalar(1, np.int64))
    rank = net.Add(net.Mul(bucket, length), index)
    _, order = net.TopK(rank, length, axis=1, largest=0, outputs=2)
    _, undo = net.TopK(order, length, axis=1, largest=0, outputs=2)

    def taken(value, index):
        return net.GatherElements(value, net.Expand(net.unsqueeze(index, 2), net.Shape(value)), axis=1)
    chunks = net.Reshape(taken(y, order), [0, -1, 4, 12])
    p = net.softmax(net.Div(net.MatMul(chunks, net.Transpose(chunks, perm=[0, 1, 3, 2])), 3.4641016))
    net.output(taken(net.Reshape(net.MatMul(p, chunks), [0, -1, 12]), undo), "hashed")


@FAMILY.add(FIXED, (13, "script"), (17, "script"))
def list_in_loop(net):
    """Masks pasted one by one: a Loop that carries a list of tensors of different sizes, and what reads it afterwards."""
    masks = net.input("masks", [3, 4, 4])
    sizes = net.constant(np.array([[1, 1, 6, 5], [1, 1, 4, 9], [1, 1, 7, 7]]))
    body = net.body()
    step = body.input("step", [], I64)
    body.input("going", [], BOOL)
    body.inputs.append(helper.make_tensor_sequence_value_info("done", TensorProto.FLOAT, None))
    mask = body.Gather(masks, step)
    size = body.Gather(sizes, step)
    large = body.Resize(body.unsqueeze(mask, 0, 1), None, None, size, mode="linear", coordinate_transformation_mode="half_pixel")
    more = body.SequenceInsert("done", body.squeeze(large, 0, 1))
    body.output(body.Identity(body.constant(np.array(True))), kind=BOOL, shape=[])
    body.outputs.append(helper.make_tensor_sequence_value_info(more, TensorProto.FLOAT, None))
    done = net.Loop(net.scalar(3, np.int64), net.constant(np.array(True)), net.SequenceEmpty(dtype=F32), body=body.graph())
    net.output(net.SequenceLength(done), "count", I64)
    for n in range(3):
        net.output(net.SequenceAt(done, net.scalar(n, np.int64)), f"mask_{n}")
