# SPDX-License-Identifier: Apache-2.0
"""Networks with QuantizeLinear and DequantizeLinear beside onnxruntime and, where it is installed, OpenVINO: all in rounds of one
run, with the network in 32-bit floats beside them.

Usage: quantized_networks.py TENON FOLDER [--threads N] [--rounds N] [--seconds S] NAME...

FOLDER/NAME.onnx is a network in floats with one input of fixed shape and random weights. NAME.qdq.onnx is made beside it where it
is not there: onnxruntime's quantize_static with 8-bit weights, a scale a channel, and unsigned activations, their ranges from four
random inputs. Times are milliseconds, the least of all rounds and the least median of a round.
"""

import argparse
import os
import re
import subprocess
import time

import numpy as np
import onnx
import onnxruntime
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

try:
    import openvino
except ImportError:
    openvino = None


def shape_of(path):
    tensor = onnx.load(path, load_external_data=False).graph.input[0]
    return tensor.name, [d.dim_value for d in tensor.type.tensor_type.shape.dim]


class Samples(CalibrationDataReader):
    def __init__(self, name, shape):
        random = np.random.default_rng(99)
        self.left = iter([{name: random.standard_normal(shape).astype(np.float32)} for _ in range(4)])

    def get_next(self):
        return next(self.left, None)


def quantised(path):
    made = path[:-len(".onnx")] + ".qdq.onnx"
    if not os.path.exists(made):
        quantize_static(path, made, Samples(*shape_of(path)), quant_format=QuantFormat.QDQ, per_channel=True,
                        activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
    return made


def measure(function, seconds):
    function()
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 3:
        begin = time.perf_counter()
        function()
        times.append((time.perf_counter() - begin) * 1000)
    return min(times), float(np.median(times))


def plan_of(tenon, path, threads):
    plan = f"{path}.{threads}.plan"
    subprocess.run([tenon, "build", path, "-o", plan, "--threads", str(threads), "--timing-cache", path + ".timings"], check=True,
                   stdout=subprocess.DEVNULL)
    return plan


def bench(tenon, plan, threads, seconds):
    text = subprocess.run([tenon, "bench", plan, "--threads", str(threads), "--seconds", str(seconds)], check=True, capture_output=True,
                          text=True).stdout
    found = re.search(r"median_ms=(\S+) min_ms=(\S+)", text)
    return float(found[2]), float(found[1])


def onnxruntime_of(path, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 3
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def openvino_of(path, threads):
    options = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32"}
    return openvino.Core().compile_model(path, "CPU", options).create_infer_request()


def engines(tenon, path, threads, seconds):
    """By name, what measures one round."""
    name, shape = shape_of(path)
    x = np.random.default_rng(7).standard_normal(shape).astype(np.float32)
    made = {}
    for suffix, file in (("fp32", path), ("qdq", quantised(path))):
        plan = plan_of(tenon, file, threads)
        made[f"Tenon {suffix}"] = lambda plan=plan: bench(tenon, plan, threads, seconds)
        session = onnxruntime_of(file, threads)
        made[f"onnxruntime {suffix}"] = lambda s=session: measure(lambda: s.run(None, {name: x}), seconds)
        if openvino:
            request = openvino_of(file, threads)
            made[f"OpenVINO {suffix}"] = lambda r=request: measure(lambda: r.infer([x], share_inputs=True, share_outputs=True), seconds)
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tenon")
    parser.add_argument("folder")
    parser.add_argument("names", nargs="+")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1)
    options = parser.parse_args()
    print(f"onnxruntime {onnxruntime.__version__}, OpenVINO {openvino.__version__ if openvino else 'not installed'}, "
          f"{options.threads} thread(s)", flush=True)
    for name in options.names:
        made = engines(os.path.abspath(options.tenon), os.path.join(options.folder, name + ".onnx"), options.threads, options.seconds)
        times = {engine: [] for engine in made}
        for _ in range(options.rounds):
            for engine, run in made.items():
                times[engine].append(run())
        ours = min(t[0] for t in times["Tenon qdq"])
        for engine, rounds in times.items():
            least, median = min(t[0] for t in rounds), min(t[1] for t in rounds)
            print(f"{name:14s} {engine:18s} least {least:8.3f}  median {median:8.3f}  Tenon qdq / this {ours / least:5.2f}", flush=True)


if __name__ == "__main__":
    main()
