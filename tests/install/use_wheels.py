#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Uses the wheels as they are installed in this interpreter's environment, from a checkout's models alone: networks of each format and
of fixed and free sizes beside reference outputs, the command line, a layer compiled against the package's headers, and what each
further wheel has. Prints a line for each and "N passed, N failed".

Usage: use_wheels.py MODELS [onednn] [cuda]    names: the wheels that are there beside tenon-engine; the others must not be
"""

import hashlib
import importlib.metadata
import json
import os
import subprocess
import sys
import tempfile
import traceback

import numpy as np
import tenon

MODELS, WHEELS = sys.argv[1], sys.argv[2:]
REFERENCE = os.path.join(MODELS, "reference")
LENET = {"input": [(1, 1, 28, 28), (1, 1, 28, 28), (64, 1, 28, 28)]}


def model(name):
    return os.path.join(MODELS, name)


def reference(name):
    return np.load(os.path.join(REFERENCE, name + ".npy"))


def program(*arguments):
    done = subprocess.run([sys.executable, "-m", "tenon", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def check_lenet(net):
    np.testing.assert_allclose(net(reference("lenet_input")), reference("lenet_output"), rtol=1e-4, atol=1e-5)


def check_srcnn(net):
    for size in ("36x51", "72x96"):
        found = net(image=reference("srcnn_image"), size=reference(f"srcnn_size_{size}"))
        np.testing.assert_allclose(found, reference(f"srcnn_output_{size}"), rtol=1e-4, atol=1e-4)


def is_in_environment():
    assert tenon.__file__.startswith(sys.prefix + os.sep), tenon.__file__


def onnx():
    check_lenet(tenon.load(model("lenet.onnx"), shapes=LENET))


def caffe():
    check_lenet(tenon.load(model("lenet.prototxt"), shapes=LENET, import_options={"weights": model("lenet.caffemodel")}))


def free_sizes():
    channels = reference("srcnn_image").shape[1]
    check_srcnn(tenon.load(model("srcnn_resize.onnx"), shapes={
        "image": [(1, channels, 1, 1), (1, channels, 24, 32), (1, channels, 64, 64)],
        "size": [(1, 1, 1, 1), (1, 1, 48, 64), (1, 1, 128, 128)]}))


def plan_of_the_command_line():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "lenet.plan")
        program("build", model("lenet.onnx"), "-o", path, "--shape", "input=1x1x28x28:1x1x28x28:64x1x28x28")
        check_lenet(tenon.load(path))


def layer():
    """With a function of the kit's library."""
    with tempfile.TemporaryDirectory() as folder:
        total = tenon.Plugin("Wheel::Total", ["x"], ["y"], directory=folder, shape={"y": ["1"]}, headers=["tenon/kit/reduce_rows.h"],
                             extra_include_dirs=[tenon.get_include()], extra_library_dirs=[tenon.get_library_dir()],
                             extra_libraries=["tenon_kit", "m"], forward="""
            *(float *)y->data = tn_reduce_baseline.lanes[TN_REDUCE_SUM](tn_layer_count(x), (const float *)x->data);""")
        np.testing.assert_array_equal(total(np.arange(6, dtype=np.float32)), [15])


def onednn():
    """Its kernels are there with its wheel alone, and share the engine's threads."""
    libraries = [line.split()[0] for line in program("doctor").splitlines() if line.startswith("  ")]
    assert ("onednn" in libraries) == ("onednn" in WHEELS), libraries
    if "onednn" in WHEELS:
        plan = tenon.build(model("lenet.onnx"), shapes=LENET, force_kernel="Conv=onednn")
        used = [node["kernel"] for node in plan.report["nodes"]]
        assert any("onednn" in str(each) for each in used), used
        check_lenet(tenon.load(plan))
        with open("/proc/self/maps", encoding="utf-8") as file:
            teams = {line.split()[-1] for line in file if "libgomp" in line}
        assert len(teams) == 1, teams


def licences():
    """Of each library that a wheel bundles, and of what is compiled in, the wheel has the licence and the version."""
    compiled_in = {"tenon-engine": {"libstb-dev"}, "tenon-engine-onednn": set(), "tenon-engine-cuda": {"cudart"}}
    least = {"tenon-engine": 2, "tenon-engine-onednn": 2, "tenon-engine-cuda": 0}
    for name in ["tenon-engine", *("tenon-engine-" + wheel for wheel in WHEELS)]:
        files = importlib.metadata.files(name)
        texts = {file.name: file.read_text() for file in files if file.parent.name == "licenses"}
        assert "Apache License" in texts["LICENSE"], texts.keys()
        bom = json.loads(next(file for file in files if file.name == "tenon.cdx.json").read_text())
        others = {each["name"]: each for each in bom["components"] if each["type"] == "library"}
        bundled = [file for file in files if file.parent.name.endswith(".libs")]
        assert len(bundled) >= least[name], (name, bundled)
        by_hash = {each["hashes"][0]["content"]: each["name"] for each in bom["components"] if "hashes" in each}
        has = compiled_in[name] | {by_hash[hashlib.sha256(file.read_binary()).hexdigest()] for file in bundled}
        for each in has:
            assert others[each]["version"], (name, each)
            assert len(texts[each + ".txt"]) > 500, (name, each)
        for file in (file for file in files if file.suffix == ".so" and file not in bundled):
            assert hashlib.sha256(file.read_binary()).hexdigest() in by_hash, (name, file)


def start():
    """Importing takes less than 30 ms of processor time beside NumPy; the least of several, for other work disturbs it."""
    code = "import numpy, time; start = time.process_time(); import tenon; print(time.process_time() - start)"
    times = [float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout) for _ in range(7)]
    print(f"start: {1000 * min(times):.1f} ms")
    assert min(times) < 0.03, times


def cuda():
    """Where the wheel is and a GPU is not, the error says what is missing."""
    try:
        net = tenon.load(model("lenet.onnx"), shapes=LENET, device="cuda")
    except tenon.Error as error:
        expected = "no NVIDIA driver" if "cuda" in WHEELS else "there is no device 'cuda'"
        assert expected in str(error), error
        print(f"cuda: {error}")
    else:
        assert "cuda" in WHEELS, net
        check_lenet(net)


def main():
    failed = 0
    checks = [is_in_environment, onnx, caffe, free_sizes, plan_of_the_command_line, layer, licences, start, onednn, cuda]
    for check in checks:
        try:
            check()
            print(f"PASS {check.__name__}")
        except Exception:
            failed += 1
            print(f"FAIL {check.__name__}\n{traceback.format_exc()}")
    print(f"{len(checks) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
