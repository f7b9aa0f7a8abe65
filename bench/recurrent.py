#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times recurrent layers and a spectrogram's front end in Tenon and in onnxruntime in turns, on one thread: recurrent.py [NAME]

Prints the best and median milliseconds of each and the ratio; with a name, of networks whose name has it. Needs onnx and
onnxruntime (.venv has them after `make test`); the program is build/bin/tenon or $TENON. Compare figures of one run only."""
import os
import statistics
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

from side_by_side import ROUNDS, root, tenon, time_onnxruntime, time_tenon

sys.path.insert(0, os.path.join(root, "scripts", "models"))
import signals  # noqa: E402

STEPS = 100


def networks():
    """Name, model, shapes."""
    for kind in ("LSTM", "GRU"):
        for depth, hidden in ((64, 128), (128, 256), (256, 512)):
            for batch in (1, 8):
                for directions in (1, 2) if hidden == 128 else (1,):
                    yield (f"{kind} {depth} to {hidden}, batch {batch}, directions {directions}",
                           signals.recurrent(kind, depth, hidden, directions, steps=STEPS, batch=batch), {"X": (STEPS, batch, depth)})
    yield "front end, 10 s of 16 kHz", signals.front_end(), {"signal": (1, 160000)}
    for length in (512, 400, 1000, 997, 65536):
        yield (f"DFT of 64 x {length}" if length < 65536 else f"DFT of {length}",
               signals.transform(onesided=1, extents=[64 if length < 65536 else 1, length, 1]),
               {"x": (64 if length < 65536 else 1, length, 1)})


def main():
    os.sched_setaffinity(0, [os.cpu_count() - 1])
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    with tempfile.TemporaryDirectory() as folder:
        path, plan = os.path.join(folder, "model.onnx"), os.path.join(folder, "model.plan")
        for name, model, shapes in networks():
            if wanted not in name:
                continue
            onnx.save(model, path)
            session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
            feed = {port: np.random.default_rng(1).random(shape, np.float32) for port, shape in shapes.items()}
            command = [tenon, "build", path, "-o", plan, "--threads", "1"]
            for port, shape in shapes.items():
                command += ["--shape", f"{port}={'x'.join(map(str, shape))}"]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            ours, theirs = [], []
            for _ in range(ROUNDS):
                theirs.append(time_onnxruntime(session, feed))
                ours.append(time_tenon(plan, 1, shapes))
            best = [min(t[0] for t in side) for side in (ours, theirs)]
            median = [statistics.median(t[1] for t in side) for side in (ours, theirs)]
            print(f"{name}: tenon {best[0]:.4f} / {median[0]:.4f} ms, onnxruntime {best[1]:.4f} / {median[1]:.4f} ms, "
                  f"ratio {best[0] / best[1]:.2f} / {median[0] / median[1]:.2f}", flush=True)


if __name__ == "__main__":
    main()
