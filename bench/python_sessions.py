#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sessions of tenon.onnxruntime beside those of onnxruntime, in turns of one process.

    PYTHONPATH=build/python bench/python_sessions.py [lenet resnet50 mobilenet_v2 | MODEL.onnx:x=1x3x224x224[,x=1x3x256x256] ...]
        [--rounds 9] [--first [--before OTHER/build]]

Of each model: InferenceSession(...) without a cache, the first run, a run, the first run with another shape (where a second shape is
given), all by default options. Printed are the least milliseconds of each side over all rounds, and their ratio, Tenon's over
onnxruntime's; of the session also the processor time of all threads, which other work on the machine changes less. ResNet-50 and MobileNetV2 have random weights and a free batch; their other shape is a batch of 2. With `--first` each session is the
first of a process of its own, and only it is timed, with `--before` also another version's. Needs onnx and numpy (.venv has them after `make test`)."""
import argparse
import os
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(HERE)
import numpy as np  # noqa: E402
import onnx  # noqa: E402

STEPS = ("session", "session, processor time", "first run", "run", "new shape")
MADE = ("resnet50", "mobilenet_v2")


def made(name, folder):
    """A network of plan_quality with a free batch."""
    import plan_quality
    path = os.path.join(folder, f"{name}.onnx")
    network = plan_quality.Network(name)
    network.save(getattr(plan_quality, name)(network), path)
    model = onnx.load(path)
    for port in [*model.graph.input, *model.graph.output]:
        port.type.tensor_type.shape.dim[0].dim_param = "batch"
    del model.graph.value_info[:]
    onnx.save(model, path)
    return path


def feeds_of(path, texts):
    """The arrays of one or two sets of shapes; of inputs without a shape the model's, free extents 1, then 2."""
    import onnxruntime
    feeds = []
    inputs = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).get_inputs()
    given = {}
    for text in texts:
        name, shape = text.split("=")
        given.setdefault(name, []).append([int(extent) for extent in shape.split("x") if extent])
    free = any(not isinstance(extent, int) for port in inputs for extent in port.shape)
    sets = max(map(len, given.values())) if given else 1 + free
    for index in range(sets):
        feed = {}
        for port in inputs:
            shape = given[port.name][min(index, len(given[port.name]) - 1)] if port.name in given else [
                extent if isinstance(extent, int) else 1 + index for extent in port.shape]
            kinds = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(double)": np.float64}
            kind = kinds[port.type]
            values = np.random.default_rng(index).random(shape, np.float32)
            feed[port.name] = np.asarray(values * (1 if np.dtype(kind).kind == "f" else 100)).astype(kind)
        feeds.append(feed)
    return feeds


def timed(call):
    begin = time.perf_counter()
    answer = call()
    return time.perf_counter() - begin, answer


def one_round(module, path, feeds):
    """Seconds of each step; None: there is no other shape."""
    before = time.process_time()
    session_s, session = timed(lambda: module.InferenceSession(path, providers=["CPUExecutionProvider"]))
    processor_s = time.process_time() - before
    first_s, _ = timed(lambda: session.run(None, feeds[0]))
    session.run(None, feeds[0])
    run_s = min(timed(lambda: session.run(None, feeds[0]))[0] for _ in range(5))
    other_s = timed(lambda: session.run(None, feeds[1]))[0] if len(feeds) > 1 else None
    return session_s, processor_s, first_s, run_s, other_s


def compare(name, path, feeds, rounds):
    import onnxruntime
    import tenon.onnxruntime as ours
    onnxruntime.set_default_logger_severity(4)
    sides = {"tenon": (ours, []), "onnxruntime": (onnxruntime, [])}
    for index in range(rounds):
        for side in list(sides)[::1 if index % 2 else -1]:
            module, rows = sides[side]
            rows.append(one_round(module, path, feeds))
    for step, *columns in zip(STEPS, *(zip(*rows) for _, rows in sides.values())):
        if columns[0][0] is None:
            continue
        mine, other = (min(column) * 1000 for column in columns)
        print(f"| {name} | {step} | {mine:.2f} | {other:.2f} | {mine / other:.2f} |", flush=True)


FIRST = """
import resource, sys, time
import MODULE as module
def worked():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
begin, before = time.perf_counter(), worked()
session = module.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
print(time.perf_counter() - begin, worked() - before)
"""


def compare_first(name, path, before, rounds):
    """The first sessions of processes: least seconds by the clock and of the processor."""
    import tenon
    build = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(tenon.__file__))))
    sides = {"tenon": ("tenon.onnxruntime", build), "onnxruntime": ("onnxruntime", build)}
    if before:
        sides["before"] = ("tenon.onnxruntime", os.path.abspath(before))
    rows = {side: [] for side in sides}
    for index in range(rounds):
        for side in list(sides)[::1 if index % 2 else -1]:
            module, folder = sides[side]
            known = dict(os.environ, PYTHONPATH=f"{folder}/python", LD_LIBRARY_PATH=f"{folder}/lib")
            done = subprocess.run([sys.executable, "-c", FIRST.replace("MODULE", module), path], env=known, check=True,
                                  capture_output=True, text=True)
            rows[side].append([float(word) for word in done.stdout.split()])
    least = {side: [min(column) * 1000 for column in zip(*figures)] for side, figures in rows.items()}
    for side in ("before", "tenon"):
        for step, mine, other in zip(("clock", "processor time"), least.get(side, ()), least["onnxruntime"]):
            print(f"| {name} | {side}, {step} | {mine:.2f} | {other:.2f} | {mine / other:.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=["lenet", *MADE])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--first", action="store_true", help="the first session of a process")
    parser.add_argument("--before", help="with --first: the build folder of another version")
    arguments = parser.parse_args()
    if arguments.before and not arguments.first:
        parser.error("--before is used with --first alone")
    print("| model | step | Tenon, ms | onnxruntime, ms | ratio |\n|-|-|-|-|-|")
    with tempfile.TemporaryDirectory() as folder:
        for text in arguments.models:
            path, _, shapes = text.partition(":")
            name = os.path.basename(path)
            if path == "lenet":
                path = os.path.join(HERE, "..", "models", "lenet.onnx")
            elif path in MADE:
                path = made(path, folder)
            if arguments.first:
                compare_first(name, path, arguments.before, arguments.rounds)
                continue
            compare(name, path, feeds_of(path, shapes.split(",") if shapes else []), arguments.rounds)


if __name__ == "__main__":
    main()
