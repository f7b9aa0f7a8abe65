# SPDX-License-Identifier: Apache-2.0
"""Networks without a profile run by the kernels that those have which were built for their shapes, and compute the same. And
networks that their data sizes stay on a device, where STUB is given.

Usage: check_shapes.py TENON [STUB], where TENON is the program and STUB the library of the stub device. Needs NumPy and onnx, which write the networks.
"""

import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT
random = np.random.default_rng(1)
passed = failed = 0


def check(name, is_good, detail=""):
    global passed, failed
    passed, failed = passed + bool(is_good), failed + (not is_good)
    if not is_good:
        print(f"FAIL {name}: {detail}")


def save(path, nodes, inputs, constants):
    values = [helper.make_tensor_value_info(name, FLOAT, shape) for name, shape in inputs.items()]
    outputs = [helper.make_tensor_value_info("y", FLOAT, None)]
    graph = helper.make_graph(nodes, "shapes", values, outputs,
                              [numpy_helper.from_array(np.asarray(v, np.float32), k) for k, v in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    onnx.save(model, path)


def call(*arguments):
    return subprocess.run(arguments, capture_output=True, text=True, timeout=120)


def run(tenon, folder, plan, arrays):
    arguments = [tenon, "run", plan, "--output", f"y={folder}/y.npy"]
    for name, array in arrays.items():
        np.save(f"{folder}/{name}.npy", array)
        arguments += ["--input", f"{name}={folder}/{name}.npy"]
    done = call(*arguments)
    return np.load(f"{folder}/y.npy") if done.returncode == 0 else done.stderr


def read_kernels(folder):
    with open(f"{folder}/report.json") as file:
        return [node.get("kernel") for node in json.load(file)["nodes"]]


def count_baseline(kernels):
    return sum(str(kernel).endswith("_baseline") for kernel in kernels)


def compare(tenon, folder, name, nodes, inputs, constants, shapes):
    """By as many kernels as a build for these shapes alone, for no less a processor, and with its results."""
    model, plan = f"{folder}/{name}.onnx", f"{folder}/{name}.plan"
    save(model, nodes, inputs, constants)
    built = call(tenon, "build", model, "-o", plan, "--no-timing", "--report", f"{folder}/report.json")
    check(f"{name} is built without a profile", built.returncode == 0, built.stderr)
    if built.returncode:
        return
    kernels = read_kernels(folder)
    for sizes in shapes:
        arrays = {k: random.standard_normal(s).astype(np.float32) for k, s in sizes.items()}
        fixed = f"{folder}/fixed"
        save(fixed + ".onnx", nodes, sizes, constants)
        done = call(tenon, "build", fixed + ".onnx", "-o", fixed + ".plan", "--no-timing", "--report", f"{folder}/report.json")
        check(f"{name} at {sizes} is built", done.returncode == 0, done.stderr)
        check(f"{name} has references where a fixed build at {sizes} has them alone",
              kernels.count("reference") <= read_kernels(folder).count("reference"), kernels)
        check(f"{name} has kernels for any processor where a fixed build at {sizes} has them alone",
              count_baseline(kernels) <= count_baseline(read_kernels(folder)), kernels)
        expected = run(tenon, folder, fixed + ".plan", arrays)
        found = run(tenon, folder, plan, arrays)
        is_same = isinstance(found, np.ndarray) and isinstance(expected, np.ndarray) \
            and found.shape == expected.shape and np.allclose(found, expected, rtol=1e-5, atol=1e-5)
        check(f"{name} at {sizes}", is_same, found if isinstance(found, str) else expected)


def main(tenon, folder):
    node = helper.make_node
    weights = {"cw": random.standard_normal((16, 3, 5, 5)) / 8, "cb": np.ones(16),
               "w": random.standard_normal((16, 8)) / 4, "b": np.ones(8)}
    image = [node("Conv", ["x", "cw", "cb"], ["c"], kernel_shape=[5, 5]), node("Relu", ["c"], ["r"]),
             node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]), node("GlobalAveragePool", ["p"], ["g"]),
             node("Flatten", ["g"], ["f"]), node("Gemm", ["f", "w", "b"], ["y"])]
    compare(tenon, folder, "image", image, {"x": ["n", 3, "h", "w"]}, weights,
            [{"x": [1, 3, 12, 9]}, {"x": [2, 3, 31, 40]}])
    strides = [node("Conv", ["x", "sw", "cb"], ["c"], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4),
               node("Sigmoid", ["c"], ["s"]), node("Mul", ["c", "s"], ["m"]),
               node("Conv", ["m", "tw", "cb"], ["y"], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)]
    compare(tenon, folder, "strides", strides, {"x": ["n", 3, "h", "w"]},
            {**weights, "sw": random.standard_normal((16, 3, 3, 3)), "tw": random.standard_normal((16, 16, 3, 3)) / 8},
            [{"x": [2, 3, 64, 64]}, {"x": [1, 3, 31, 40]}])
    joined = [node("Concat", ["a", "b"], ["c"], axis=0), node("Add", ["c", "z"], ["s"]), node("Relu", ["s"], ["y"])]
    compare(tenon, folder, "joined", joined, {"a": ["unk__1", 4], "b": ["unk__2", 4], "z": ["unk__3", 4]}, {},
            [{"a": [2, 4], "b": [3, 4], "z": [5, 4]}, {"a": [1, 4], "b": [6, 4], "z": [7, 4]}, {"a": [2, 4], "b": [3, 4], "z": [1, 4]}])
    added = [node("Relu", ["a"], ["r"]), node("Add", ["r", "b"], ["y"])]
    compare(tenon, folder, "added", added, {"a": ["n", 4], "b": ["m", 4]}, {},
            [{"a": [3, 4], "b": [3, 4]}, {"a": [3, 4], "b": [1, 4]}, {"a": [1, 4], "b": [3, 4]}])


def no_images(tenon, folder):
    """Each kernel of a convolution in a network for any batch has nothing to do for a batch of 0."""
    for op, filters, shape in (("Conv", (8, 16, 3, 3), (0, 8, 6, 6)), ("ConvTranspose", (16, 8, 3, 3), (0, 8, 10, 10))):
        model, plan = f"{folder}/none.onnx", f"{folder}/none.plan"
        nodes = [helper.make_node(op, ["x", "w", "b"], ["c"], "n"), helper.make_node("Relu", ["c"], ["y"])]
        save(model, nodes, {"x": ["n", 16, 8, 8]}, {"w": np.ones(filters), "b": np.ones(8)})
        call(tenon, "build", model, "-o", plan, "--no-timing", "--report", f"{folder}/report.json")
        with open(f"{folder}/report.json") as file:
            kernels = {c["kernel"] for node in json.load(file)["nodes"] for c in node.get("candidates", ())}
        check(f"{op} has kernels", kernels, kernels)
        for kernel in sorted(kernels):
            if call(tenon, "build", model, "-o", plan, "--no-timing", "--pin", f"n={kernel}").returncode == 0:
                found = run(tenon, folder, plan, {"x": np.ones((0, 16, 8, 8), np.float32)})
                check(f"{op} by {kernel} of no images", isinstance(found, np.ndarray) and found.shape == shape, found)


def sized(tenon, folder, stub):
    """y = Concat(kept, kept), where NonMaxSuppression is the processor's, and Relu before it and Concat behind it the device's."""
    values = [helper.make_tensor_value_info("boxes", FLOAT, [1, 5, 4]), helper.make_tensor_value_info("scores", FLOAT, [1, 1, 5])]
    nodes = [helper.make_node("Relu", ["boxes"], ["positive"]),
             helper.make_node("NonMaxSuppression", ["positive", "scores", "most"], ["kept"], name="picks"),
             helper.make_node("Concat", ["kept", "kept"], ["y"], axis=1)]
    graph = helper.make_graph(nodes, "sized", values, [helper.make_tensor_value_info("y", TensorProto.INT64, None)],
                              [numpy_helper.from_array(np.asarray(3, np.int64), "most")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    onnx.save(model, f"{folder}/sized.onnx")
    corners = np.arange(5, dtype=np.float32)[:, None]
    apart = np.concatenate([2 * corners, 2 * corners, 2 * corners + 1, 2 * corners + 1], 1)[None]
    scores = np.asarray([[[0.5, 0.9, 0.7, 0.8, 0.6]]], np.float32)
    devices = {"cpu": (), "stub": ("--device", "stub", "--plugin", stub)}
    for boxes in (apart, np.repeat(apart[:, :1], 5, 1)):
        found = {}
        for device, options in devices.items():
            plan = f"{folder}/{device}.plan"
            built = call(tenon, "build", f"{folder}/sized.onnx", "-o", plan, "--no-timing", *options)
            if device == "stub":
                lines = built.stdout
                check("the build names the node that sizes",
                      "sized by its data: node 'picks'; in each run the host waits for its size" in lines and
                      "on the processor: 1 of 3 nodes (NonMaxSuppression 1)" in lines, lines + built.stderr)
            np.save(f"{folder}/boxes.npy", boxes)
            np.save(f"{folder}/scores.npy", scores)
            done = call(tenon, "run", plan, *options, "--input", f"boxes={folder}/boxes.npy", "--input", f"scores={folder}/scores.npy",
                        "--output", f"y={folder}/y.npy")
            found[device] = np.load(f"{folder}/y.npy") if done.returncode == 0 else done.stderr
        rows = 3 if boxes is apart else 1
        check(f"{rows} boxes on the device", isinstance(found["stub"], np.ndarray) and found["stub"].shape == (rows, 6)
              and np.array_equal(found["stub"], found["cpu"]), found)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        main(os.path.abspath(sys.argv[1]), temporary)
        no_images(os.path.abspath(sys.argv[1]), temporary)
        if len(sys.argv) > 2:
            sized(os.path.abspath(sys.argv[1]), temporary, os.path.abspath(sys.argv[2]))
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)
