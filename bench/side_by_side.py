#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times a model in Tenon and in onnxruntime in turns, in one run: side_by_side.py MODEL.onnx [NAME=1x3x224x224 ...]

Prints the best and median milliseconds of each at 1 and 2 threads and the ratio. Needs onnxruntime (.venv has it after
`make test`); the program is build/bin/tenon or $TENON. Compare figures of one run only: clocks drift and machines are shared."""
import os
import re
import statistics
import subprocess
import sys
import time

import numpy as np
import onnxruntime

ROUNDS, SLICE = 6, 0.4
root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
tenon = os.environ.get("TENON", f"{root}/build/bin/tenon")


def shapes_of(session, given):
    """The inputs with extents from the command line, unknown ones 1."""
    shapes = {}
    for port in session.get_inputs():
        shapes[port.name] = [d if isinstance(d, int) else 1 for d in port.shape]
    for text in given:
        name, _, shape = text.partition("=")
        shapes[name] = [int(d) for d in shape.split("x")]
    return shapes


def time_onnxruntime(session, feed):
    times, end = [], time.perf_counter() + SLICE
    while time.perf_counter() < end or len(times) < 3:
        before = time.perf_counter()
        session.run(None, feed)
        times.append((time.perf_counter() - before) * 1e3)
    return min(times), statistics.median(times)


def figures_of(command):
    """The best and the median milliseconds that `tenon bench` prints."""
    last = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip().splitlines()[-1]
    found = dict(re.findall(r"(\w+)=([\d.]+)", last))
    return float(found["min_ms"]), float(found["median_ms"])


def time_tenon(plan, threads, shapes):
    command = [tenon, "bench", plan, "--threads", str(threads), "--seconds", str(SLICE)]
    for name, shape in shapes.items():
        command += ["--shape", f"{name}={'x'.join(map(str, shape))}"]
    return figures_of(command)


def main():
    model, given = sys.argv[1], sys.argv[2:]
    for threads in (1, 2):
        os.sched_setaffinity(0, list(range(os.cpu_count()))[-threads:])
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        shapes = shapes_of(session, given)
        feed = {name: np.random.default_rng(1).random(shape, np.float32) for name, shape in shapes.items()}
        plan = f"/tmp/tenon-side-by-side-{os.getpid()}.plan"
        command = [tenon, "build", model, "-o", plan, "--threads", str(threads)]
        for name, shape in shapes.items():
            command += ["--shape", f"{name}={'x'.join(map(str, shape))}"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        ours, theirs = [], []
        for _ in range(ROUNDS):
            theirs.append(time_onnxruntime(session, feed))
            ours.append(time_tenon(plan, threads, shapes))
        os.unlink(plan)
        best = [min(t[0] for t in side) for side in (ours, theirs)]
        median = [statistics.median(t[1] for t in side) for side in (ours, theirs)]
        print(f"{os.path.basename(model)} threads={threads} tenon {best[0]:.4f} / {median[0]:.4f} ms, "
              f"onnxruntime {best[1]:.4f} / {median[1]:.4f} ms, ratio {best[0] / best[1]:.2f} / {median[0] / median[1]:.2f}")


if __name__ == "__main__":
    main()
