# SPDX-License-Identifier: Apache-2.0
"""What a call from Python costs more than one from C, with arrays of LeNet's sizes that are bound again in each call, and the same
of onnxruntime; and what `import tenon` costs beside NumPy's import. Rounds are interleaved, the least of them is printed.

Usage: PYTHONPATH=build/python .venv/bin/python bench/python_calls.py BUILD
"""

import os
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime
import tenon
from onnx import TensorProto, helper, numpy_helper

ROUNDS, CALLS, REPEATS = 40, 500, 7


def little_model():
    """(1, 1, 28, 28) to (1, 10), with little to compute: the ten elements in the middle, times two."""
    constants = [numpy_helper.from_array(np.array(value, np.int64), name)
                 for name, value in (("begin", [380]), ("end", [390]), ("axis", [1]))]
    nodes = [helper.make_node("Flatten", ["input"], ["flat"]), helper.make_node("Slice", ["flat", "begin", "end", "axis"], ["ten"]),
             helper.make_node("Add", ["ten", "ten"], ["output"])]
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in
             (("input", (1, 1, 28, 28)), ("output", (1, 10)))]
    return helper.make_model(helper.make_graph(nodes, "little", ports[:1], ports[1:], constants),
                             opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def least_ns(call):
    least = float("inf")
    for _ in range(ROUNDS):
        begin = time.perf_counter_ns()
        for _ in range(CALLS):
            call()
        least = min(least, (time.perf_counter_ns() - begin) / CALLS)
    return least


def from_c(program, plan):
    out = subprocess.run([program, plan, str(ROUNDS), str(CALLS)], check=True, capture_output=True, text=True).stdout
    return float(out.split("=")[1])


def import_ms(modules):
    """Milliseconds of the processor, which other programs on the machine change little."""
    code = f"import time; b = time.process_time(); import {modules}; print(1e3 * (time.process_time() - b))"
    return float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)


def rows(program, plan_path, session):
    net = tenon.load(plan_path, threads=1)
    context = net.engine.context()
    x = np.arange(784, dtype=np.float32).reshape(1, 1, 28, 28)
    y, named = np.zeros((1, 10), np.float32), {"input": x}
    out = {"output": y}
    assert np.array_equal(net(x), session.run(None, named)[0])
    return {"C": lambda: from_c(program, plan_path), "net(x)": lambda: least_ns(lambda: net(x)),
            "context.run(dict)": lambda: least_ns(lambda: context.run(named)),
            "context.run(dict, out)": lambda: least_ns(lambda: context.run(named, out)),
            "onnxruntime session.run": lambda: least_ns(lambda: session.run(None, named))}


def main():
    program = os.path.join(sys.argv[1], "bin", "tenon-bench-plan-calls")
    model = little_model()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "little.plan")
        tenon.build(model, threads=1).save(path)
        measured = rows(program, path, session)
        least = dict.fromkeys(measured, float("inf"))
        for _ in range(REPEATS):
            for name, measure in measured.items():
                least[name] = min(least[name], measure())
    for name, value in least.items():
        print(f"{name:26} {value:8.0f} ns  {value - least['C']:+8.0f} ns beside C")
    imports = [(import_ms("numpy"), import_ms("numpy, tenon")) for _ in range(REPEATS)]
    print(f"import, processor time: numpy {min(a for a, _ in imports):.1f} ms, with tenon {min(b for _, b in imports):.1f} ms")


if __name__ == "__main__":
    main()
