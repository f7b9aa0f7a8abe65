# SPDX-License-Identifier: Apache-2.0
"""Networks that compute their own lengths from layers with weights, as speech synthesis does, or their own weights: such values are
computed by kernels in the run, and what they decide has the shapes and numbers that onnxruntime finds.

Usage: check_value_steps.py TENON, where TENON is the program. Needs NumPy, onnx and onnxruntime.
"""

import json
import os
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from checks import ProgramChecks

RANDOM = np.random.default_rng(3)
CHANNELS = 32


class Network:
    """Adds nodes, and constants where an input is an array."""

    def __init__(self):
        self.nodes, self.constants = [], []

    def add(self, op, *inputs, outputs=1, **fields):
        number = len(self.nodes)
        made = [f"{op.lower()}{number}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, [self.name(x) for x in inputs], made, f"{op.lower()}{number}", **fields))
        return made[0] if outputs == 1 else made

    def name(self, value):
        if isinstance(value, str):
            return value
        self.constants.append(numpy_helper.from_array(np.asarray(value), f"c{len(self.constants)}"))
        return self.constants[-1].name

    def save(self, path, shape, outputs):
        values = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
        results = [helper.make_empty_tensor_value_info(name) for name in outputs]
        graph = helper.make_graph(self.nodes, "lengths", values, results, self.constants)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def floats(*shape, scale=0.3):
    return (RANDOM.standard_normal(shape) * scale).astype(np.float32)


def lengths(net):
    """How long each of x's positions lasts, 1 to 6, and in all: from two convolutions."""
    hidden = net.add("Relu", net.add("Conv", "x", floats(CHANNELS, 16, 3), pads=[1, 1]))
    length = net.add("Sigmoid", net.add("Conv", hidden, floats(1, CHANNELS, 3, scale=0.5), pads=[1, 1]))
    length = net.add("Ceil", net.add("Add", net.add("Mul", length, np.float32(5)), np.float32(0.5)))
    total = net.add("ReduceSum", length, np.array([1, 2]), keepdims=0)
    return hidden, length, net.add("Cast", net.add("Clip", total, np.float32(1)), to=TensorProto.INT64)


def speech(path, shape):
    """Each position repeated for its length by a matrix of zeros and ones, and a convolution of what that gives."""
    net = Network()
    hidden, length, total = lengths(net)
    count = net.add("ReduceMax", total, keepdims=0)
    steps = net.add("Range", np.int64(0), count, np.int64(1))
    ends = net.add("CumSum", length, np.int64(2))
    later = net.add("Less", net.add("Cast", steps, to=TensorProto.FLOAT), net.add("Transpose", ends, perm=[0, 2, 1]))
    later = net.add("Cast", later, to=TensorProto.FLOAT)
    before = net.add("Slice", net.add("Pad", later, np.array([0, 1, 0, 0, 0, 0])), np.array([0]), np.array([-1]), np.array([1]))
    path_of = net.add("Sub", later, before)
    frames = net.add("MatMul", hidden, path_of)
    wave = net.add("Tanh", net.add("ConvTranspose", frames, floats(CHANNELS, 8, 4), strides=[2], pads=[1, 1]))
    net.save(path, shape, [net.add("Conv", wave, floats(4, 8, 3), pads=[1, 1]), total])


def expanded(path, shape):
    """A shape that is put together from a computed length and extents of x."""
    net = Network()
    hidden, _, total = lengths(net)
    extents = net.add("Gather", net.add("Shape", "x"), np.array([0]))
    wanted = net.add("Concat", extents, np.array([CHANNELS]), total, axis=0)
    mean = net.add("ReduceMean", hidden, axes=[2], keepdims=1)
    net.save(path, shape, [net.add("Mul", net.add("Expand", mean, wanted), np.float32(2))])


def scaled(path, shape):
    """Floats decide a shape themselves."""
    net = Network()
    hidden, length, _ = lengths(net)
    scale = net.add("Reshape", net.add("Ceil", net.add("ReduceMean", length, axes=[1, 2])), np.array([1]))
    scales = net.add("Concat", np.ones(2, np.float32), scale, axis=0)
    net.save(path, shape, [net.add("Resize", hidden, "", scales, mode="nearest", coordinate_transformation_mode="asymmetric",
                                   nearest_mode="floor")])


def chosen(path, shape):
    """So many as a classifier says, which is an index and no float."""
    net = Network()
    hidden, _, _ = lengths(net)
    best = net.add("ArgMax", net.add("ReduceMean", hidden, axes=[2], keepdims=0), axis=1, keepdims=0)
    count = net.add("Add", net.add("Mod", best, np.int64(7)), np.int64(1))
    values, indices = net.add("TopK", net.add("Reshape", hidden, np.array([-1])), count, outputs=2)
    net.save(path, shape, [values, indices])


def modulated(path, shape):
    """Weights of a convolution that follow from x, as in generators whose styles scale them."""
    net = Network()
    style = net.add("Reshape", net.add("ReduceMean", "x", axes=[2], keepdims=0), np.array([1, 16, 1]))
    weights = net.add("Mul", floats(8, 16, 3), net.add("Exp", style))
    net.save(path, shape, [net.add("Relu", net.add("Conv", "x", weights, floats(8), pads=[1, 1]))])


def windowed(path, shape):
    """Weights of a convolution that are as long as x, each length another window."""
    net = Network()
    weights = net.add("Mul", floats(8, 16, 1), net.add("Tanh", net.add("ReduceMean", "x", axes=[1], keepdims=1)))
    net.save(path, shape, [net.add("Relu", net.add("Conv", "x", weights, floats(8), auto_pad="SAME_UPPER"))])


def small(path, shape):
    """A length that follows from shapes and a few numbers is known before a run, as ever."""
    net = Network()
    extent = net.add("Cast", net.add("Gather", net.add("Shape", "x"), np.array([2])), to=TensorProto.FLOAT)
    count = net.add("Cast", net.add("Mul", extent, np.float32(1.5)), to=TensorProto.INT64)
    wanted = net.add("Concat", np.array([1, 16]), count, axis=0)
    pooled = net.add("ReduceMean", net.add("Conv", "x", floats(16, 16, 3), pads=[1, 1]), axes=[2], keepdims=1)
    net.save(path, shape, [net.add("Expand", pooled, wanted)])


NETWORKS = {"speech": speech, "expanded": expanded, "scaled": scaled, "chosen": chosen, "modulated": modulated, "windowed": windowed}


def compare(checks, name, plan, model, shape, *options, tolerance=1e-5):
    session = onnxruntime.InferenceSession(model)
    for number in range(3):
        x = floats(*shape, scale=1)
        np.save(checks.path("x.npy"), x)
        expected = session.run(None, {"x": x})
        names = [output.name for output in session.get_outputs()]
        files = [checks.path(f"y{i}.npy") for i in range(len(names))]
        given = [part for it in zip(names, files) for part in ("-o", f"{it[0]}={it[1]}")]
        done = checks.program("run", plan, "-i", f"x={checks.path('x.npy')}", *given, *options)
        made = [np.load(file) for file in files] if done.returncode == 0 else []
        shapes = [a.shape for a in expected]
        checks.say([a.shape for a in made] == shapes, f"{name}, run {number}: shapes {shapes} {done.stderr}")
        checks.say(len(made) == len(expected) and all(a.shape == b.shape and np.allclose(a, b, rtol=tolerance, atol=tolerance)
                                                      for a, b in zip(made, expected)), f"{name}, run {number}: numbers")


def steps_of(checks, plan):
    return json.loads(checks.program("inspect", plan, "--json").stdout)["programs"][0]["steps"]


def kernels(checks, name, plan):
    heavy = [s for s in steps_of(checks, plan) if s.get("op") in ("Conv", "ConvTranspose", "MatMul")]
    slow = [s["name"] for s in heavy if s["kind"] == "shape" or s["kernel"] == "reference"]
    checks.say(heavy and not slow, f"{name}: by kernels {slow or ''}")


def build(checks, name, write, shape, *options):
    model, plan = checks.path(f"{name}.onnx"), checks.path(f"{name}.plan")
    write(model, shape)
    done = checks.program("build", model, "-o", plan, "--no-timing", *options)
    checks.say(done.returncode == 0, f"{name} is built {done.stderr}")
    return model, plan


def main():
    with tempfile.TemporaryDirectory() as folder:
        checks = ProgramChecks(sys.argv[1], folder)
        for name, write in NETWORKS.items():
            model, plan = build(checks, name, write, [1, 16, 9])
            kernels(checks, name, plan)
            compare(checks, name, plan, model, [1, 16, 9])
            compare(checks, f"{name}, two threads", plan, model, [1, 16, 9], "--threads", "2")
            compare(checks, f"{name}, checked", plan, model, [1, 16, 9], "--checked")
            model, plan = build(checks, f"{name}-open", write, [1, 16, "t"])
            kernels(checks, f"{name} of any length", plan)
            for extent in (1, 12, 30):
                compare(checks, f"{name} of length {extent}", plan, model, [1, 16, extent])
            model, plan = build(checks, f"{name}-reference", write, [1, 16, 9], "--reference")
            compare(checks, f"{name} by references", plan, model, [1, 16, 9])
        model, plan = build(checks, "speech-half", speech, [1, 16, 9], "--precision", "fp16")
        kernels(checks, "speech in fp16", plan)
        model, plan = build(checks, "small", small, [1, 16, 9])
        said = json.loads(checks.program("inspect", plan, "--json").stdout)
        checks.say(said["outputs"][0]["shape"] == [1, 16, 13], f"a length from shapes is known: {said['outputs'][0]['shape']}")
        compare(checks, "small", plan, model, [1, 16, 9])
        return checks.end()


if __name__ == "__main__":
    sys.exit(main())
