#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cold start and peak memory beside onnxruntime, in turns of one run.

    bench/cold_start.py [resnet50 mobilenet_v2 lenet srcnn | MODEL.onnx ...] [--bin build/bin] [--before OTHER/build/bin] [--rounds 21]
                        [--from-model]

A start is a whole process, from its beginning to its first result, two threads, files in the page cache: a C program on a plan
(bench/start/start_tenon.c), and one that hands the same model to onnxruntime's C interface (start_onnxruntime.c; the library is that
of this Python's onnxruntime, whose import plays no part). Plans are built before; in each round every side starts once, in changing
order. Printed are the medians (the least) of milliseconds, of processor time and of VmHWM when the result is there, the median, least
and greatest of the rounds' ratios, Tenon's over onnxruntime's, and the ratio of the least ones, for machines that do other work too. ResNet-50 and MobileNetV2 have random weights. `--before` is a build of another
version, which loads a plan of its own. With `--from-model`
Tenon begins with the model too, which it builds without measuring. Needs onnx, numpy and onnxruntime (.venv has them after `make test`)."""
import argparse
import glob
import importlib.util
import os
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
SHIPPED = {"lenet": "../models/lenet.onnx", "srcnn": "../models/srcnn_fixed.onnx"}
MADE = ("resnet50", "mobilenet_v2")
COLUMNS = ("ms", "processor time, ms", "peak memory, MB", "private MB", "of files MB")

# In a process of its own, so that this one stays small: what it has in memory would slow down the start of others.
PREPARE = """
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import numpy, onnx, plan_quality
name, model, numbers = sys.argv[2:]
if model.startswith(":"):
    network = plan_quality.Network(name)
    network.save(getattr(plan_quality, name)(network), model[1:])
    model = model[1:]
graph = onnx.load(model).graph
known = {tensor.name for tensor in graph.initializer}
port, = [p for p in graph.input if p.name not in known]
shape = [axis.dim_value or 1 for axis in port.type.tensor_type.shape.dim]
numpy.random.default_rng(1).standard_normal(shape).astype(numpy.float32).tofile(numbers)
print(port.name, graph.output[0].name, "x".join(map(str, shape)))
"""


def start(arguments):
    """The figures of one start, and the numbers that it printed of its result."""
    read, write = os.pipe()
    begin = time.monotonic()
    child = os.posix_spawn(arguments[0], arguments, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, write, 1)])
    os.close(write)
    with os.fdopen(read) as pipe:
        words = pipe.read().split()
    if os.waitpid(child, 0)[1] or len(words) < 6:
        sys.exit(f"failed: {' '.join(arguments)}")
    at, worked, peak, private, files, *result = map(float, words)
    return (at - begin * 1e3, worked, peak / 1024, private / 1024, files / 1024), result


def measure(name, model, sides, options, folder):
    numbers = f"{folder}/{name}.f32"
    made = f"{folder}/{name}.onnx"
    words = subprocess.run([sys.executable, "-c", PREPARE, HERE, name, model or f":{made}", numbers], check=True,
                           capture_output=True, text=True).stdout.split()
    model, threads, commands = model or made, str(options.threads), {}
    for side, binaries in sides.items():
        plan = f"{folder}/{name}.{side}.plan"
        if not options.from_model:
            subprocess.run([f"{binaries}/tenon", "build", model, "-t", threads, "-o", plan], check=True, stdout=subprocess.DEVNULL)
        commands[side] = [f"{binaries}/tenon-start", model if options.from_model else plan, threads, numbers]
        if side == "before":
            commands[side] = ["/usr/bin/env", f"LD_LIBRARY_PATH={binaries}/../lib", *commands[side]]
    commands["onnxruntime"] = [f"{options.bin}/onnxruntime-start", options.library, model, threads, numbers, *words]
    runs = {side: [] for side in commands}
    for round_index in range(-1, options.rounds):  # the first one fills the page cache
        for side in (commands if round_index % 2 else reversed(commands)):
            figures, result = start(commands[side])
            if round_index >= 0:
                runs[side].append(figures)
            elif side == "onnxruntime":
                expected = result
            else:
                ours = result
    scale = max(map(abs, expected))
    if len(ours) != len(expected) or any(abs(a - b) > 1e-3 * scale for a, b in zip(ours, expected)):
        sys.exit(f"{name}: the results differ: {ours}, {expected}")
    print(f"{name}, {threads} threads, {options.rounds} rounds\n| | {' | '.join(COLUMNS)} |\n|-{'|-' * len(COLUMNS)}|")
    for side, rows in runs.items():
        print(f"| {side} | {' | '.join(f'{statistics.median(column):.1f} ({min(column):.1f})' for column in zip(*rows))} |")
    for side in sides:
        pairs = zip(zip(*runs[side]), zip(*runs["onnxruntime"]))
        ratios = [sorted(a / b for a, b in zip(*pair)) for pair in pairs]
        cells = (f"{statistics.median(r):.3f} ({r[0]:.2f} to {r[-1]:.2f})" for r in ratios)
        print(f"| {side} / onnxruntime | {' | '.join(cells)} |")
        leasts = (min(ours) / min(theirs) for ours, theirs in zip(zip(*runs[side]), zip(*runs["onnxruntime"])))
        print(f"| the least ones' | {' | '.join(f'{least:.3f}' for least in leasts)} |")
    print(flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", default=[*MADE, *SHIPPED])
    parser.add_argument("--bin", default=f"{HERE}/../build/bin", help="where tenon, tenon-start and onnxruntime-start are")
    parser.add_argument("--before", help="the same of another version")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--from-model", action="store_true", help="without a plan: from the model to the first result")
    parser.add_argument("--rounds", type=int, default=21)
    options = parser.parse_args()
    options.bin = os.path.abspath(options.bin)
    package = importlib.util.find_spec("onnxruntime")  # found, not imported
    libraries = glob.glob(f"{package.submodule_search_locations[0]}/capi/libonnxruntime.so*") if package else []
    if not libraries:
        sys.exit("onnxruntime is not installed for this Python")
    options.library = libraries[0]
    sides = {"tenon": options.bin} | ({"before": os.path.abspath(options.before)} if options.before else {})
    with tempfile.TemporaryDirectory(prefix="tenon-cold-start.") as folder:
        for model in options.models:
            name = os.path.basename(model).removesuffix(".onnx")
            path = None if model in MADE else os.path.abspath(f"{HERE}/{SHIPPED[model]}" if model in SHIPPED else model)
            measure(name, path, sides, options, folder)


if __name__ == "__main__":
    main()
