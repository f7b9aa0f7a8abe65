# SPDX-License-Identifier: Apache-2.0
"""Outputs whose elements share a byte, on the command line: they are printed as numbers and written as their bytes, and refused by name
where a file has no such type.

Usage: check_packed.py TENON LIBRARY, the layers of tests/bad_plugins/nibbles.c without a mistake. Needs NumPy and onnx.
"""

import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper

VALUES = np.array([-20, -1.25, 0, 3.75, 9], np.float32)
PACKED = [-8, -1, 0, 4, 7]


def network(path):
    node = helper.make_node("Pack", ["x"], ["y"], domain="Bad")
    graph = helper.make_graph([node], "packed", [helper.make_tensor_value_info("x", TensorProto.FLOAT, (5,))],
                              [helper.make_tensor_value_info("y", TensorProto.INT4, (5,))])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("Bad", 1)], ir_version=10), path)


def main():
    tenon, library = (os.path.abspath(path) for path in sys.argv[1:3])
    passed = failed = 0

    def check(good, text):
        nonlocal passed, failed
        passed, failed = passed + bool(good), failed + (not good)
        print("PASS" if good else "FAIL", text)

    with tempfile.TemporaryDirectory(prefix="tenon-packed.") as folder:
        def run(*arguments):
            return subprocess.run([tenon, "run", "net.onnx", "--plugin", library, "-i", "x.npy", *arguments], capture_output=True,
                                  text=True, timeout=60, cwd=folder)

        network(os.path.join(folder, "net.onnx"))
        np.save(os.path.join(folder, "x.npy"), VALUES)
        done = run("--print")
        check(done.returncode == 0 and done.stdout.split("[", 2)[-1].strip("]\n").split() == [str(value) for value in PACKED],
              f"printed: {done.stdout.split()} {done.stderr}")
        done = run("-o", "y.raw")
        with open(os.path.join(folder, "y.raw"), "rb") as file:
            check(done.returncode == 0 and file.read() == bytes([0xF8, 0x40, 0x07]), "its bytes, the bits behind the last element zero")
        done = run("-o", "y.npy")
        check(done.returncode == 1 and "no elements of type i4" in done.stderr and not os.path.exists(os.path.join(folder, "y.npy")),
              f"no .npy: {done.stderr.strip()}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
