#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times examples/deformable_convolution beside onnxruntime's DeformConv, in turns, in one run, on one thread.

Prints the best and median milliseconds of each and the ratio, layer by layer, with random offsets of up to two pixels. Needs
onnx and onnxruntime (.venv has them after `make test`); the program is build/bin/tenon or $TENON, with the example in
lib/tenon/plugins beside it. Compare figures of one run only: clocks drift and machines are shared."""
import os
import statistics
import subprocess
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from side_by_side import ROUNDS, SLICE, figures_of, tenon, time_onnxruntime

# channels, height, width, outputs, groups, parts with offsets of their own; windows of 3x3, zeros around
LAYERS = [(64, 56, 56, 64, 1, 1), (128, 28, 28, 128, 1, 1), (256, 14, 14, 256, 1, 4), (64, 32, 32, 64, 8, 8), (3, 64, 64, 16, 1, 1)]

PLUGIN = ["--plugin", os.path.join(os.path.dirname(tenon), "..", "lib", "tenon", "plugins", "libdeformable_convolution.so")]


def save(path, domain, version, name, order, fields, given, weight, outputs):
    node = helper.make_node(name, order, ["out"], domain=domain, **fields)
    image = given["input"].shape
    graph = helper.make_graph(
        [node], "layer", [helper.make_tensor_value_info(key, TensorProto.FLOAT, value.shape) for key, value in given.items()],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, (1, outputs, *image[2:]))],
        [numpy_helper.from_array(weight, "weight"), numpy_helper.from_array(np.zeros(outputs, np.float32), "bias")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid(domain, version)], ir_version=8), path)


def time_layer(folder, layer):
    channels, height, width, outputs, groups, parts = layer
    numbers = np.random.default_rng(1)
    weight = (numbers.standard_normal((outputs, channels // groups, 3, 3)) / 24).astype(np.float32)
    given = {"input": numbers.standard_normal((1, channels, height, width)).astype(np.float32),
             "offset": numbers.uniform(-2, 2, (1, parts * 18, height, width)).astype(np.float32),
             "mask": numbers.uniform(0, 1, (1, parts * 9, height, width)).astype(np.float32)}
    ours, theirs, plan = (f"{folder}/{name}" for name in ("ours.onnx", "theirs.onnx", "ours.plan"))
    save(ours, "mmcv", 1, "MMCVModulatedDeformConv2d", ["input", "offset", "mask", "weight", "bias"],
         {"stride": [1, 1], "padding": [1, 1], "dilation": [1, 1], "groups": groups, "deform_groups": parts}, given, weight, outputs)
    save(theirs, "", 19, "DeformConv", ["input", "weight", "offset", "bias", "mask"],
         {"pads": [1] * 4, "group": groups, "offset_group": parts}, given, weight, outputs)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(theirs, options, providers=["CPUExecutionProvider"])
    subprocess.run([tenon, "build", ours, "-o", plan, "--threads", "1", *PLUGIN], check=True, stdout=subprocess.DEVNULL)
    bench = [tenon, "bench", plan, "--threads", "1", *PLUGIN, "--output", f"out={folder}/out.npy"]
    for key, value in given.items():
        np.save(f"{folder}/{key}.npy", value)
        bench += ["--input", f"{key}={folder}/{key}.npy"]
    times = [], []
    for _ in range(ROUNDS):
        times[0].append(figures_of([*bench, "--seconds", str(SLICE)]))
        times[1].append(time_onnxruntime(session, given))
    expected = session.run(None, given)[0]
    difference = np.abs(np.load(f"{folder}/out.npy") - expected).max() / np.abs(expected).max()
    best = [min(t[0] for t in side) for side in times]
    median = [statistics.median(t[1] for t in side) for side in times]
    print(f"{channels}x{height}x{width} to {outputs}, groups {groups}, {parts}: tenon {best[0]:.3f} / {median[0]:.3f} ms, "
          f"onnxruntime {best[1]:.3f} / {median[1]:.3f} ms, ratio {best[0] / best[1]:.2f} / {median[0] / median[1]:.2f}, "
          f"largest difference {difference:.0e}", flush=True)


if __name__ == "__main__":
    os.sched_setaffinity(0, [os.cpu_count() - 1])
    with tempfile.TemporaryDirectory() as work_folder:
        for one in LAYERS:
            time_layer(work_folder, one)
