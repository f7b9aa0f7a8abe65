#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shapes that an engine has not seen, beside onnxruntime, in turns of one run: new_shapes.py [--bin build/bin] [--rounds 7] [--threads 1,2]

The network has the form of a text recogniser: convolutions over a line of text that is 32 pixels high and of any width, and a matrix
product for each column. Each round starts both in processes of their own, from the model and without measuring, runs a width that
is none of the ten, and then the same ten one after the other, each twice. Printed are, least of the rounds, the milliseconds of all ten first runs and of all ten second
ones, by the clock and by processor time, and the ratios. Needs numpy, onnx and onnxruntime (.venv has them after `make test`)."""
import argparse
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
WIDTHS = (100, 132, 164, 96, 220, 260, 312, 180, 404, 148)
FILTERS = (64, 128, 256, 256, 512)

PEER = """
import sys, time
import numpy, onnxruntime
options = onnxruntime.SessionOptions()
options.intra_op_num_threads, options.inter_op_num_threads = int(sys.argv[2]), 1
session = onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
widths = [int(width) for width in sys.argv[3:]]
session.run(None, {"image": numpy.full((1, 1, 32, (min(widths) + max(widths)) // 2), 0.5, numpy.float32)})
for width in widths:
    x, figures = numpy.full((1, 1, 32, width), 0.5, numpy.float32), []
    for _ in range(2):
        begin, worked = time.perf_counter(), time.process_time()
        session.run(None, {"image": x})
        figures += [1e3 * (time.perf_counter() - begin), 1e3 * (time.process_time() - worked)]
    print(width, *figures)
"""


def write_model(path):
    random, nodes, weights, last, channels = np.random.default_rng(1), [], [], "image", 1

    def constant(*shape):
        weights.append(numpy_helper.from_array((random.standard_normal(shape) * 0.05).astype(np.float32), f"w{len(weights)}"))
        return weights[-1].name

    for number, filters in enumerate(FILTERS):
        nodes.append(helper.make_node("Conv", [last, constant(filters, channels, 3, 3), constant(filters)], [f"c{number}"], pads=[1] * 4))
        nodes.append(helper.make_node("Relu", [f"c{number}"], [f"r{number}"]))
        pool = [2, 2] if number < 2 else [2, 1]
        nodes.append(helper.make_node("MaxPool", [f"r{number}"], [f"p{number}"], kernel_shape=pool, strides=pool))
        last, channels = f"p{number}", filters
    axes = numpy_helper.from_array(np.array([2], np.int64), "axes")
    nodes += [helper.make_node("Squeeze", [last, "axes"], ["s"]), helper.make_node("Transpose", ["s"], ["t"], perm=[0, 2, 1]),
              helper.make_node("MatMul", ["t", constant(channels, 96)], ["m"]), helper.make_node("Softmax", ["m"], ["letters"], axis=-1)]
    floats = onnx.TensorProto.FLOAT
    graph = helper.make_graph(nodes, "recogniser", [helper.make_tensor_value_info("image", floats, [1, 1, 32, "width"])],
                              [helper.make_tensor_value_info("letters", floats, [1, "columns", 96])], weights + [axes])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def run(command):
    """The sums over all widths: first runs and second ones, by the clock and by processor time."""
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-len(WIDTHS):]
    rows = [[float(word) for word in line.split()[1:]] for line in lines]
    if len(rows) != len(WIDTHS) or any(len(row) != 4 for row in rows):
        sys.exit(f"failed: {command}")
    return [sum(column) for column in zip(*rows)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=f"{HERE}/../build/bin", help="where tenon-start is")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=lambda text: text.split(","), default=["1", "2"])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tenon-new-shapes.") as folder:
        model, widths = f"{folder}/recogniser.onnx", [str(width) for width in WIDTHS]
        write_model(model)
        print("| threads | | first runs, ms | processor time, ms | second runs, ms | processor time, ms |\n|-|-|-|-|-|-|")
        for threads in options.threads:
            commands = {"tenon": [f"{options.bin}/tenon-start", model, threads, "-", *widths],
                        "onnxruntime": [sys.executable, "-c", PEER, model, threads, *widths]}
            runs = {side: [] for side in commands}
            for number in range(options.rounds):
                for side in (commands if number % 2 else reversed(commands)):
                    runs[side].append(run(commands[side]))
            least = {side: [min(column) for column in zip(*rows)] for side, rows in runs.items()}
            for side, row in least.items():
                print(f"| {threads} | {side} | {' | '.join(f'{value:.1f}' for value in row)} |")
            ratios = " | ".join(f"{ours / theirs:.2f}" for ours, theirs in zip(least["tenon"], least["onnxruntime"]))
            print(f"| {threads} | ratio | {ratios} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
