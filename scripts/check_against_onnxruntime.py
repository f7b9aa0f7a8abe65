#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the project's networks with onnxruntime on random inputs in 0..1: check_against_onnxruntime.py TENON PLUGIN.so

LeNet at batches 1, 2 and 7; SRCNN at three sizes, its ONNX twin by both engines and the network with the plugin's
DynamicTRTResize against onnxruntime's twin; 1 and 2 threads. Within rtol 1e-3, atol 1e-5."""
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime

tenon, plugin = sys.argv[1:3]
root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
random = np.random.default_rng(7)
passed = failed = 0


def by_onnxruntime(model, feed):
    session = onnxruntime.InferenceSession(f"{root}/models/{model}", providers=["CPUExecutionProvider"])
    return session.run(None, feed)[0]


def by_tenon(model, feed, threads):
    with tempfile.TemporaryDirectory() as folder:
        command = [tenon, "run", f"{root}/models/{model}", "--plugin", plugin, "--threads", str(threads),
                   "--output", f"output={folder}/output.npy"]
        for name, value in feed.items():
            np.save(f"{folder}/{name}.npy", value)
            command += ["--input", f"{name}={folder}/{name}.npy"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return np.load(f"{folder}/output.npy")


def check(title, expected, found):
    global passed, failed
    if expected.shape == found.shape and np.allclose(found, expected, rtol=1e-3, atol=1e-5):
        passed += 1
        return
    failed += 1
    print(f"FAIL {title}: shapes {expected.shape} and {found.shape}, largest difference "
          f"{np.abs(expected - found).max() if expected.shape == found.shape else 'unknown'}")


for batch in (1, 2, 7):
    feed = {"input": random.random((batch, 1, 28, 28), np.float32)}
    expected = by_onnxruntime("lenet.onnx", feed)
    for threads in (1, 2):
        check(f"lenet batch {batch}, {threads} threads", expected, by_tenon("lenet.onnx", feed, threads))
for height, width in ((64, 48), (97, 131), (200, 200)):
    feed = {"image": random.random((1, 3, 64, 48), np.float32), "size": np.zeros((1, 1, height, width), np.float32)}
    expected = by_onnxruntime("srcnn_resize.onnx", feed)
    for threads in (1, 2):
        for model in ("srcnn_resize.onnx", "srcnn_dynamic.onnx"):
            check(f"{model} to {height}x{width}, {threads} threads", expected, by_tenon(model, feed, threads))
print(f"{passed} passed, {failed} failed")
sys.exit(failed != 0)
