#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times a network of Equal, Where, Cast, Gather and TopK (scripts/models/selection.py) in turns, in one run: Tenon, Tenon by its
references, and onnxruntime.

Prints the best and median milliseconds of each on one thread, and the ratio of the best. Both compute the same outputs first, which
are compared. Needs onnx and onnxruntime (.venv has them after `make test`); the program is build/bin/tenon or $TENON."""
import os
import statistics
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime

from side_by_side import ROUNDS, SLICE, figures_of, tenon, time_onnxruntime

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "scripts", "models"))
import selection  # noqa: E402

SIZES = {"small": (8, 512), "large": (64, 4096)}


def given(folder, feed):
    """The inputs as files, for the command line."""
    arguments = []
    for name, value in feed.items():
        np.save(f"{folder}/{name}.npy", value)
        arguments += ["--input", f"{name}={folder}/{name}.npy"]
    return arguments


def compare(folder, plan, inputs, session, feed):
    names = [port.name for port in session.get_outputs()]
    subprocess.run([tenon, "run", plan, *inputs, "--output-dir", f"{folder}/out"], check=True, stdout=subprocess.DEVNULL)
    for name, expected in zip(names, session.run(None, feed)):
        np.testing.assert_allclose(np.load(f"{folder}/out/{name}.npy"), expected, err_msg=name)


def main():
    os.sched_setaffinity(0, [os.cpu_count() - 1])
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    with tempfile.TemporaryDirectory() as folder:
        for size, extents in SIZES.items():
            model, feed = f"{folder}/selection.onnx", selection.values(*extents)
            selection.make(model, *extents)
            inputs, plans = given(folder, feed), {"kernels": [], "references": ["--reference"]}
            for name, flags in plans.items():
                subprocess.run([tenon, "build", model, "-o", f"{folder}/{name}.plan", "--threads", "1", *flags], check=True,
                               stdout=subprocess.DEVNULL)
            session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
            compare(folder, f"{folder}/kernels.plan", inputs, session, feed)
            times = {"kernels": [], "references": [], "onnxruntime": []}
            for _ in range(ROUNDS):
                for name in plans:
                    times[name].append(figures_of([tenon, "bench", f"{folder}/{name}.plan", "--threads", "1", "--seconds", str(SLICE),
                                                  *inputs]))
                times["onnxruntime"].append(time_onnxruntime(session, feed))
            best = {name: min(t[0] for t in found) for name, found in times.items()}
            median = {name: statistics.median(t[1] for t in found) for name, found in times.items()}
            print(f"{size}: " + ", ".join(f"{name} {best[name]:.4f} / {median[name]:.4f} ms" for name in times) +
                  f"; to onnxruntime {best['kernels'] / best['onnxruntime']:.2f}")


if __name__ == "__main__":
    main()
