#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times examples/uff_plugin_int8 and onnxruntime in turns, at 1 thread; and a plugin's pooling beside the built-in one.

    uff_sample.py PROGRAM PLUGIN.so [--datadir DIR]

PROGRAM and PLUGIN are the example's (build/bin/uff_plugin_int8 and build/lib/tenon/plugins/libuff_pool.so). The first
table has the average over 10 runs that the program prints for each precision, and the same average of onnxruntime for
models/lenet.onnx, which is the same network. The second takes that ONNX file twice, once with its second pooling
replaced by the plugin's, and compares the two plans. Needs onnx and onnxruntime (.venv has them after `make test`);
compare figures of one run only."""
import argparse
import os
import re
import statistics
import subprocess
import tempfile
import time

import numpy as np
import onnx
import onnxruntime
from onnx import helper

ROUNDS = 9
root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
tenon = os.environ.get("TENON", f"{root}/build/bin/tenon")
lenet = f"{root}/models/lenet.onnx"


def digits():
    folder = f"{root}/models/digits"
    return [1 - np.fromfile(f"{folder}/{d}.pgm", np.uint8)[-784:].reshape(1, 1, 28, 28).astype(np.float32) / 255
            for d in range(10)]


def time_onnxruntime(session, pictures):
    def pass_over():
        total = 0
        for picture in pictures:
            before = time.perf_counter()
            session.run(None, {"input": picture})
            total += time.perf_counter() - before
        return total * 1e3 / len(pictures)
    pass_over()
    return pass_over()


def time_example(program, options):
    done = subprocess.run([program, *options], capture_output=True, text=True)
    found = re.search(r"average over 10 runs ([\d.]+) ms", done.stdout)
    if done.returncode or not found:
        raise SystemExit(f"{program} {' '.join(options)}: exit {done.returncode}\n{done.stderr}")
    return float(found[1])


def precisions(options):
    session_options = onnxruntime.SessionOptions()
    session_options.intra_op_num_threads = session_options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(lenet, session_options, providers=["CPUExecutionProvider"])
    pictures, data = digits(), ["--datadir", options.datadir] if options.datadir else []
    times = {"onnxruntime": [], "fp32": [], "fp16": [], "int8": []}
    for _ in range(ROUNDS):
        times["onnxruntime"].append(time_onnxruntime(session, pictures))
        for name in ("fp32", "fp16", "int8"):
            times[name].append(time_example(options.program, data + ([] if name == "fp32" else [f"--{name}"])))
    theirs = statistics.median(times["onnxruntime"])
    for name, all_of in times.items():
        middle = statistics.median(all_of)
        print(f"{name:12} median {middle:.4f} ms, best {min(all_of):.4f}, of onnxruntime's median {middle / theirs:.2f}")


def with_plugin(path):
    """The network with its second pooling replaced."""
    model = onnx.load(lenet)
    node = next(node for node in model.graph.node if node.name == "pool2")
    node.domain = "UFF"
    del node.attribute[:]
    node.attribute.extend([helper.make_attribute("ksize", [1, 2, 2, 1]), helper.make_attribute("strides", [1, 2, 2, 1])])
    model.opset_import.append(helper.make_opsetid("UFF", 1))
    onnx.save(model, path)


def time_plan(plan, plugin):
    command = [tenon, "bench", plan, "--threads", "1", "--seconds", "0.3", "--plugin", plugin, "--profile"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    pool = next(float(line.split()[3]) for line in lines if line.startswith("pool2 "))
    return float(re.search(r"median_ms=([\d.]+)", lines[-1])[1]), pool


def pools(options):
    with tempfile.TemporaryDirectory() as folder:
        with_plugin(f"{folder}/plugin.onnx")
        plans = {"built-in": lenet, "plugin": f"{folder}/plugin.onnx"}
        cache = f"{folder}/timings"
        for name, model in plans.items():
            subprocess.run([tenon, "build", model, "-o", f"{folder}/{name}.plan", "--threads", "1", "--plugin", options.plugin,
                            "--shape", "input=1x1x28x28", "--timing-cache", cache], check=True, stdout=subprocess.DEVNULL)
        times = {name: [] for name in plans}
        for _ in range(ROUNDS):
            for name in plans:
                times[name].append(time_plan(f"{folder}/{name}.plan", options.plugin))
    ratios = [a[0] / b[0] for a, b in zip(times["plugin"], times["built-in"])]
    for name in plans:
        print(f"{name:12} network {statistics.median(t[0] for t in times[name]):.4f} ms, "
              f"pool2 alone {min(t[1] for t in times[name]):.2f} us")
    print(f"plugin / built-in: median {statistics.median(ratios):.3f}, lowest {min(ratios):.3f}, highest {max(ratios):.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("plugin")
    parser.add_argument("--datadir")
    options = parser.parse_args()
    precisions(options)
    pools(options)


main()
