#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cold start and peak memory of a network's plan, beside onnxruntime, in turns of one run.

    bench/cold_start.py MODEL.onnx [MODEL.onnx ...] [--tenon build/bin/tenon] [--before OTHER/bin/tenon] [--rounds 9]

A start is a whole process, from its beginning to the first result: the command line on a plan that lies in the page cache,
and a Python program that imports onnxruntime, makes a session and runs it once (`import` counts from that import on,
without the interpreter and NumPy). Plans are built before. Medians; a ratio is Tenon's over onnxruntime's.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

ONNXRUNTIME = """
import sys, time
import numpy as np
model, threads = sys.argv[1], int(sys.argv[2])
begin = time.monotonic()
import onnxruntime as ort
options = ort.SessionOptions()
options.intra_op_num_threads = threads
options.inter_op_num_threads = 1
session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
port = session.get_inputs()[0]
shape = [extent if isinstance(extent, int) else 1 for extent in port.shape]
x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
session.run(None, {port.name: x})
print(begin, time.monotonic(), flush=True)
"""

INPUT = """
import sys
import numpy as np
import onnx
port = onnx.load(sys.argv[1], load_external_data=False).graph.input[0]
shape = [axis.dim_value or 1 for axis in port.type.tensor_type.shape.dim]
np.random.default_rng(1).standard_normal(shape).astype(np.float32).tofile(sys.argv[2])
print(port.name)
"""


def start(arguments):
    """Milliseconds of the whole process, its output, and its peak memory in MB."""
    begin = time.monotonic()
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    text = process.stdout.read()
    end = time.monotonic()
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"failed: {' '.join(arguments)}")
    return (end - begin) * 1e3, text, usage.ru_maxrss / 1024, usage.ru_utime + usage.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="MODEL.onnx")
    parser.add_argument("--tenon", default="build/bin/tenon")
    parser.add_argument("--before", help="another build, to compare with")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--build", default="", help="further arguments of tenon build")
    options = parser.parse_args()
    builds = {"tenon": options.tenon} | ({"before": options.before} if options.before else {})
    with tempfile.TemporaryDirectory() as folder:
        for model in options.models:
            measure(model, builds, options, folder)


def measure(model, builds, options, folder):
    threads, plans, times = options.threads, {}, {}
    numbers = os.path.join(folder, "input.f32")
    # in a process of its own: what this one has in memory counts for those that it starts
    port = subprocess.run([sys.executable, "-c", INPUT, model, numbers], check=True, capture_output=True,
                          text=True).stdout.strip()
    for name, tenon in builds.items():
        plans[name] = os.path.join(folder, f"{name}.plan")
        extra = options.build.split() if name == "tenon" else []
        subprocess.run([tenon, "build", model, "-t", str(threads), "-o", plans[name], *extra], check=True,
                       stdout=subprocess.DEVNULL)
    for _ in range(options.rounds + 1):  # the first one fills the page cache
        for name, tenon in builds.items():
            took, _, peak, cpu = start([tenon, "run", plans[name], "-t", str(threads), "--input", f"{port}={numbers}"])
            times.setdefault(name, []).append((took, took, peak, cpu * 1e3))
        begin = time.monotonic()
        took, text, peak, cpu = start([sys.executable, "-c", ONNXRUNTIME, model, str(threads)])
        first, last = (float(word) for word in text.split())
        times.setdefault("onnxruntime", []).append(((last - begin) * 1e3, (last - first) * 1e3, peak, cpu * 1e3))
    print(f"{os.path.basename(model)}, {threads} threads, medians of {options.rounds} (least)")
    print("| | process start to first result, ms | from the import on, ms | processor time, ms | peak memory, MB |")
    print("|-|-|-|-|-|")
    medians = {}
    for name, runs in times.items():
        columns = list(zip(*runs[1:]))
        medians[name] = [statistics.median(column) for column in columns]
        print(f"| {name} | {medians[name][0]:.1f} ({min(columns[0]):.1f}) | {medians[name][1]:.1f} ({min(columns[1]):.1f}) |"
              f" {medians[name][3]:.0f} ({min(columns[3]):.0f}) | {medians[name][2]:.1f} |")
    theirs = medians["onnxruntime"]
    for name in builds:
        ours = medians[name]
        print(f"| {name} / onnxruntime | {ours[0] / theirs[0]:.2f} | {ours[1] / theirs[1]:.2f} | {ours[3] / theirs[3]:.2f} |"
              f" {ours[2] / theirs[2]:.2f} |")
    print(flush=True)


if __name__ == "__main__":
    main()
