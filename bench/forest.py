#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times random forests of 100 trees (scripts/models/make_forest.py) in turns, in one run: in Tenon and in onnxruntime.

Prints the best and median microseconds of each on one thread for 1 and 1,000 rows, and the ratio of the best ones. Needs onnx and
onnxruntime (.venv has them after `make test`); the program is build/bin/tenon or $TENON."""
import os
import statistics
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime

from side_by_side import ROUNDS, tenon, time_onnxruntime, time_tenon

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "scripts", "models"))
import make_forest  # noqa: E402

FEATURES = 30
FORESTS = {
    "classes 3, depth 8": {"depth": 8},
    "classes 3, depth 10": {"depth": 10},
    "classes 3, depth 12": {"depth": 12},
    "classes 2, depth 10": {"depth": 10, "classes": 2},
    "regressor, depth 10": {"depth": 10, "classes": 1, "regressor": True},
}


def main():
    os.sched_setaffinity(0, [os.cpu_count() - 1])
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    with tempfile.TemporaryDirectory() as folder:
        for name, parameters in FORESTS.items():
            model, plan = f"{folder}/forest.onnx", f"{folder}/forest.plan"
            make_forest.make(model, features=FEATURES, **parameters)
            subprocess.run([tenon, "build", model, "-o", plan, "--threads", "1", "--shape", f"x=1x{FEATURES}:1x{FEATURES}:1000x{FEATURES}"],
                           check=True, stdout=subprocess.DEVNULL)
            session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
            for rows in (1, 1000):
                feed = {"x": np.random.default_rng(1).standard_normal((rows, FEATURES), np.float32)}
                times = {"tenon": [], "onnxruntime": []}
                for _ in range(ROUNDS):
                    times["tenon"].append(time_tenon(plan, 1, {"x": (rows, FEATURES)}))
                    times["onnxruntime"].append(time_onnxruntime(session, feed))
                best = {way: 1000 * min(t[0] for t in found) for way, found in times.items()}
                median = {way: 1000 * statistics.median(t[1] for t in found) for way, found in times.items()}
                print(f"{name}, rows {rows}: " + ", ".join(f"{way} {best[way]:.1f} / {median[way]:.1f} us" for way in times) +
                      f"; tenon to onnxruntime {best['tenon'] / best['onnxruntime']:.3f}", flush=True)


if __name__ == "__main__":
    main()
