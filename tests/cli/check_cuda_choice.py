# SPDX-License-Identifier: Apache-2.0
"""The choice of CUDA kernels on a machine without a GPU: networks are built by rule for a device 'cuda' that is the stub device under
another name, so that every kernel's combinations and its callbacks accepts, tactics and prepare are asked. Nothing is run.

Usage: check_cuda_choice.py TENON CUDA STUB FOLDER..., where CUDA is the library of CUDA kernels, STUB the stub device called cuda, and the
networks are all model.onnx below the FOLDERs, one in three. Needs nothing but Python."""

import concurrent.futures
import glob
import os
import re
import subprocess
import sys
import tempfile

MODELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "models")
# What a kernel says that needs a GPU to be prepared: it was chosen.
NEEDS_GPU = "cuDNN: making a handle"


def build(tenon, libraries, model, folder):
    plan = os.path.join(folder, re.sub(r"\W", "_", model)[-100:] + ".plan")
    plugins = [word for library in libraries for word in ("--plugin", library)]
    done = subprocess.run([tenon, "build", model, "-o", plan, "--device", "cuda", "--no-timing", *plugins], capture_output=True, text=True,
                          timeout=120)
    shown = ""
    if done.returncode == 0:
        shown = subprocess.run([tenon, "inspect", plan], capture_output=True, text=True, timeout=120).stdout
        os.remove(plan)
    return done, shown


def main():
    tenon, cuda, stub, *folders = sys.argv[1:]
    models = sorted(path for folder in folders for path in glob.glob(os.path.join(folder, "**", "model.onnx"), recursive=True)
                    if "/real/" not in path)[::3]
    models += [os.path.join(MODELS, name) for name in ("lenet.onnx", "srcnn_fixed.onnx", "tiny/tiny_lenet.onnx", "tiny/tiny_resize.onnx")]
    passed = failed = on_device = 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for model, (done, shown) in zip(models, pool.map(lambda m: build(tenon, (cuda, stub), m, folder), models)):
            good = done.returncode == 0 or (done.returncode == 1 and NEEDS_GPU in done.stderr)
            on_device += NEEDS_GPU in done.stderr or "  cuda/" in shown
            passed, failed = passed + good, failed + (not good)
            if not good:
                print("FAIL", model, done.returncode, done.stderr.strip()[-300:])
    good = 3 * on_device > len(models)
    print("PASS" if good else "FAIL", f"{on_device} of {len(models)} networks have a node in a CUDA kernel")
    print(f"{passed + good} passed, {failed + (not good)} failed")
    return 1 if failed or not good else 0


if __name__ == "__main__":
    sys.exit(main())
