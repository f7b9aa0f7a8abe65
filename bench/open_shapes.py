#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times operators behind an output that its run sizes, by their references and by the kernels that a build takes: open_shapes.py [TEXT ...]

Prints a row a network of scripts/models/open_shapes.py, with TEXT those whose names have one of them: X, the kernel, and the least milliseconds of the
node in `tenon bench PLAN -t 1 --profile`. --seconds S (0.3) of each. The program is build/bin/tenon or $TENON."""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx

from side_by_side import root, tenon

sys.path.insert(0, os.path.join(root, "scripts", "models"))
import open_shapes  # noqa: E402


def measure(folder, feed, seconds, environment):
    """The kernel of the node `it`, and its least milliseconds."""
    plan = os.path.join(folder, "it.plan")
    subprocess.run([tenon, "build", os.path.join(folder, "it.onnx"), "-o", plan, "-t", "1", "--no-timing", "--keep-half"], check=True,
                   env={**os.environ, **environment}, capture_output=True)
    given = []
    for name, value in feed.items():
        np.save(os.path.join(folder, f"{name}.npy"), value)
        given += ["--input", f"{name}={folder}/{name}.npy"]
    done = subprocess.run([tenon, "bench", plan, "-t", "1", "--seconds", str(seconds), "--profile", "--json", *given], check=True,
                          capture_output=True, text=True)
    entry = next(entry for entry in json.loads(done.stdout)["profile"] if entry["node"] == "it")
    return entry["kernel"], entry["min_ns"] * 1e-6


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("texts", nargs="*")
    parser.add_argument("--seconds", type=float, default=0.3)
    options = parser.parse_args()
    print("| operator | X | kernel | reference, ms | kernel, ms |\n|-|-|-|-|-|")
    with tempfile.TemporaryDirectory() as folder:
        for name, operator, shape, model, feed in open_shapes.cases(is_large=True):
            if options.texts and not any(text in name for text in options.texts):
                continue
            onnx.save(model, os.path.join(folder, "it.onnx"))
            _, plain = measure(folder, feed, options.seconds, {"TENON_FORCE_KERNEL": f"{operator}=reference"})
            kernel, own = measure(folder, feed, options.seconds, {})
            print(f"| {name} | {' x '.join(map(str, shape))} | {kernel} | {plain:.3f} | {own:.3f} |", flush=True)


if __name__ == "__main__":
    main()
