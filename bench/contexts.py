#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long the slowest runs take where several run at once, beside onnxruntime and OpenVINO, in turns of one run.

    bench/contexts.py [MODEL.onnx ...] [--bin build/bin] [--contexts 1,2,8,24] [--threads 2] [--seconds 1] [--rounds 1] [--build-option=--no-timing]

One engine (session, compiled model) of that many threads, which so many callers share, each on a thread of its own with a context (an infer
request) of its own, in a process of its own: first with the machine as it is, then beside a process for each processor that computes all the
time. "In order": an engine of one thread, whose runs share as many threads as there are processors (tn_threads) and begin in the order in
which they come. Printed are runs a second of all callers, the median and the 99th percentile of milliseconds, and the second over the first;
of several rounds the median of each. Without models LeNet; it takes a second and a half for each figure, half a minute to a minute in all. Needs numpy,
onnx and onnxruntime (.venv has them after `make test`); OpenVINO is left out where it is not installed."""
import argparse
import importlib.util
import os
import re
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TENON = ("tenon", "tenon in order")
COLUMNS = ("runs a second", "median, ms", "p99, ms", "p99 / median")

# Arguments: the engine's name, model, threads, callers, seconds. Prints runs a second, median and 99th percentile.
PEER = """
import sys, threading, time
import numpy
engine, model, threads, callers, seconds = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:5]), float(sys.argv[5])
if engine == "onnxruntime":
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    feed = {port.name: numpy.full([e if isinstance(e, int) else 1 for e in port.shape], 0.5, numpy.float32) for port in session.get_inputs()}
    make = lambda: lambda: session.run(None, feed)
else:
    import openvino
    compiled = openvino.Core().compile_model(model, "CPU", {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY",
                                                            "INFERENCE_PRECISION_HINT": "f32"})
    feed = [numpy.full([d.get_length() if d.is_static else 1 for d in port.partial_shape], 0.5, numpy.float32) for port in compiled.inputs]
    def make():
        request = compiled.create_infer_request()
        return lambda: request.infer(feed)
calls, times = [make() for _ in range(callers)], [[] for _ in range(callers)]
begin = threading.Barrier(callers)
def work(number):
    call, own = calls[number], times[number]
    call()
    begin.wait()
    now = time.perf_counter()
    end = now + seconds
    while now < end:
        call()
        now, before = time.perf_counter(), now
        own.append(now - before)
workers = [threading.Thread(target=work, args=(number,)) for number in range(callers)]
[worker.start() for worker in workers]
[worker.join() for worker in workers]
all_times = numpy.sort(numpy.concatenate(times)) * 1e3
print(len(all_times) / seconds, numpy.median(all_times), all_times[min(len(all_times) - 1, int(0.99 * len(all_times)))])
"""


class Load:
    """A process for each processor that does nothing but compute."""

    def __enter__(self):
        self.processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in os.sched_getaffinity(0)]

    def __exit__(self, *unused):
        for process in self.processes:
            process.kill()
            process.wait()


class Quiet:
    def __enter__(self):
        pass

    def __exit__(self, *unused):
        pass


PATIENCE = 60  # seconds, many times what a figure takes: peers were seen to stop for good beside the load


def output_of(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    if done.returncode:
        sys.exit(f"failed: {' '.join(command[:4])}\n{done.stdout}{done.stderr}")
    return done.stdout


def measure(engine, model, plan, callers, options):
    if engine not in TENON:
        return [float(word) for word in output_of([sys.executable, "-c", PEER, engine, model, str(options.threads), str(callers),
                                                   str(options.seconds)]).split()]
    in_order = [] if engine == "tenon" else ["--shared-threads", str(len(os.sched_getaffinity(0)))]
    text = output_of([f"{options.bin}/tenon", "bench", plan, "-t", str(1 if in_order else options.threads), "--contexts", str(callers),
                      "--seconds", str(options.seconds), *in_order])
    found = dict(re.findall(r"(\w+)=([\d.]+)", text.splitlines()[-1]))
    return [float(found["runs"]) / options.seconds, float(found["median_ms"]), float(found["p99_ms"])]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL.onnx", default=[f"{HERE}/../models/lenet.onnx"])
    parser.add_argument("--bin", default=f"{HERE}/../build/bin", help="where tenon is")
    parser.add_argument("--contexts", type=lambda text: [int(each) for each in text.split(",")], default=[1, 2, 8, 24])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--build-option", action="append", default=[], help="passed on to `tenon build`")
    options = parser.parse_args()
    engines = [*TENON, "onnxruntime"] + (["openvino"] if importlib.util.find_spec("openvino") else [])
    with tempfile.TemporaryDirectory(prefix="tenon-contexts.") as folder:
        for model in options.models:
            name, plan = os.path.basename(model).removesuffix(".onnx"), f"{folder}/network.plan"
            output_of([f"{options.bin}/tenon", "build", model, "-t", str(options.threads), "-o", plan, *options.build_option])
            print(f"{name}, {options.threads} threads, load average {os.getloadavg()[0]:.1f} before it began\n\n"
                  f"| beside | contexts | | {' | '.join(COLUMNS)} |\n|-|-|-{'|-' * len(COLUMNS)}|")
            for beside, load in (("nothing", Quiet), ("all processors at work", Load)):
                for callers in options.contexts:
                    rows = {engine: [] for engine in engines}
                    with load():
                        for number in range(options.rounds):
                            for engine in (engines if number % 2 else reversed(engines)):
                                try:
                                    rows[engine].append(measure(engine, model, plan, callers, options))
                                except subprocess.TimeoutExpired:
                                    print(f"{engine}, {callers} contexts, beside {beside}: no end within {PATIENCE} s", file=sys.stderr)
                    for engine in (each for each in engines if rows[each]):
                        runs, median, slow = (statistics.median(column) for column in zip(*rows[engine]))
                        print(f"| {beside} | {callers} | {engine} | {runs:.0f} | {median:.3f} | {slow:.3f} | {slow / median:.1f} |", flush=True)
            print()


if __name__ == "__main__":
    sys.exit(main())
