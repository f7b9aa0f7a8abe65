#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ray Data with tenon.ray.predictor beside a plain loop over the same images: 1, 2 and 4 workers of one thread, and workers that are killed.

Usage: PYTHONPATH=build/python PYTHON bench/ray_data.py [MODEL.onnx] [--rows 20000] [--batch 256] [--workers 1,2,4] [--rounds 1] [--kill-seconds 5]
PYTHON: one with what tenon-engine[ray] needs. Without MODEL.onnx: a convolutional network of random weights for images of 3 x 32 x 32.

Each image has its number in its first element, and each result is compared bit by bit with the loop's. Seconds are from the first block's begin to
the last one's end, with all workers started before; the loop runs before each data set and after the last. The first efficiency is the loop's
seconds over the data set's, by the workers that have a CPU of their own; `processor` is the loop's processor time over that of the workers.
The simulation is of workers that each have a CPU of their own, beside one for Ray: blocks, in order, go to the worker that is free first; a block
takes its measured processor time and that of its worker between two blocks; the whole takes at least the driver's processor time for each block.
Last, a worker with work is killed every --kill-seconds: results must be the same, and what began more than once is counted.
"""

import argparse
import os
import random
import signal
import sys
import threading
import time

import numpy as np

STEP = 2.0**-16  # an image's number in its first element: exact, and small beside 1


def network():
    """3 x 32 x 32 to 10 by 64 million operations an image."""
    import tenon
    values, graph = np.random.default_rng(0), tenon.Graph()
    x = graph.input("image", "f32", ("rows", 3, 32, 32))
    for inputs, outputs, stride in ((3, 24, 1), (24, 48, 1), (48, 48, 2), (48, 96, 1), (96, 96, 2)):
        weights = (values.standard_normal((outputs, inputs, 3, 3)) / np.sqrt(inputs * 4.5)).astype(np.float32)
        x = graph.add("Relu", [graph.add("Conv", [x, graph.constant(weights)], pads=[1, 1, 1, 1], strides=[stride, stride])])
    x = graph.add("Flatten", [graph.add("GlobalAveragePool", [x])])
    graph.output(graph.add("MatMul", [x, graph.constant(values.standard_normal((96, 10)).astype(np.float32))]), "scores")
    return graph


def plan_of(model, batch):
    """(plan, its input's name, its output's, shape of an image)."""
    import tenon
    graph = tenon.Graph(model) if model else network()
    port = graph.inputs[0]
    row = tuple(extent if isinstance(extent, int) else 1 for extent in port.shape)[1:]
    shapes = {port.name: [(1, *row), (batch, *row), (batch, *row)]}
    plan = tenon.build(model, shapes=shapes, threads=1) if model else graph.build(shapes, threads=1)
    return plan, port.name, graph.outputs[0].name, row


def loop(plan, name, output, x, batch):
    """(seconds, processor seconds, results)."""
    context = plan.engine(threads=1).context()
    context.run({name: x[:batch]})
    start, cpu, results = time.perf_counter(), time.process_time(), []
    for begin in range(0, len(x), batch):
        results.append(context.run({name: x[begin:begin + batch]})[output])
    return time.perf_counter() - start, time.process_time() - cpu, np.concatenate(results)


class Log:
    """An actor: which workers have started, and which blocks began where."""

    def __init__(self):
        self._workers, self._begun = [], []

    def start(self, pid):
        self._workers.append(pid)

    def started(self):
        return len(self._workers)

    def begin(self, first, pid):
        self._begun.append((first, pid))

    def begun(self):
        return self._begun


def worker_of(plan, name, output, log, workers):
    """A class for map_batches: of each image its number, result, block's times, and worker; it waits until all workers have started."""
    import ray
    import tenon.ray

    class Timed(tenon.ray.predictor(plan, outputs={output: "result"}, keep=[], threads=1)):
        def __init__(self):
            super().__init__()
            ray.get(log.start.remote(os.getpid()))
            while ray.get(log.started.remote()) < workers:
                time.sleep(0.05)

        def __call__(self, batch):
            ids = np.round(batch[name].reshape(len(batch[name]), -1)[:, 0] / STEP).astype(np.int64)
            ray.get(log.begin.remote(int(ids[0]), os.getpid()))
            begin, cpu = time.time(), time.process_time()
            results = super().__call__(batch)
            times = {"begin": begin, "end": time.time(), "cpu_begin": cpu, "cpu_end": time.process_time(), "pid": os.getpid()}
            return {"id": ids, **results, **{key: np.full(len(ids), value) for key, value in times.items()}}
    return Timed


def kill(log, seconds, ends, killed):
    """Ends a worker that began one of the last blocks, every `seconds` where there is one."""
    import ray
    while not ends.wait(seconds):
        begun = ray.get(log.begun.remote())
        alive = [pid for _, pid in begun[-8:] if pid not in killed]
        if alive:
            killed.append(random.choice(alive))
            os.kill(killed[-1], signal.SIGKILL)


def measure(plan, name, output, x, batch, workers, wanted, kill_seconds=0):
    """Of a data set: seconds, processor seconds of each block, of its worker between two blocks, and of the driver a block; begun, killed."""
    import ray
    log, ends, killed = ray.remote(num_cpus=0)(Log).remote(), threading.Event(), []
    data = ray.data.from_numpy_refs([ray.put(x[begin:begin + batch]) for begin in range(0, len(x), batch)]).rename_columns({"data": name})
    data = data.map_batches(worker_of(plan, name, output, log, workers), batch_size=None, compute=ray.data.ActorPoolStrategy(size=workers))
    killer = threading.Thread(target=kill, args=(log, kill_seconds, ends, killed))
    if kill_seconds:
        killer.start()
    cpu, columns = [], {}
    try:
        for block in data.iter_batches(batch_size=None):
            cpu.append(time.process_time())
            for column, values in block.items():
                columns.setdefault(column, []).append(values)
    finally:
        ends.set()
    columns = {column: np.concatenate(values) for column, values in columns.items()}
    order = np.argsort(columns["id"])
    np.testing.assert_array_equal(columns["id"][order], np.arange(len(x)), "each image once")
    np.testing.assert_array_equal(columns["result"][order], wanted, "results of the loop")
    blocks = np.unique(np.stack([columns[key] for key in ("pid", "begin", "end", "cpu_begin", "cpu_end")], 1), axis=0)
    same = blocks[1:, 0] == blocks[:-1, 0]
    between = (blocks[1:, 3] - blocks[:-1, 4])[same]
    return {"seconds": blocks[:, 2].max() - blocks[:, 1].min(), "costs": blocks[:, 4] - blocks[:, 3],
            "between": between.mean() if len(between) else 0.0, "driver": (cpu[-1] - cpu[0]) / max(len(cpu) - 1, 1),
            "begun": ray.get(log.begun.remote()), "killed": killed}


def simulated(costs, between, driver, workers):
    """Seconds of blocks that are given, in order, to the worker that is free first; at least the driver's."""
    ends = [0.0] * workers
    for cost in costs:
        ends[ends.index(min(ends))] += cost + between
    return max(max(ends), driver * len(costs))


def report(arguments, loops, found, cpus):
    seconds, cpu = (float(np.median([each[i] for each in loops])) for i in range(2))
    one = found[min(found)][0]
    print(f"{arguments.model or 'a network of 5 convolutions'}: {arguments.rows} images in blocks of {arguments.batch}, {cpus} CPUs; a plain "
          f"loop {seconds:.1f} s ({min(each[0] for each in loops):.1f} to {max(each[0] for each in loops):.1f}), {cpu:.1f} s of processor time; of "
          f"a block {np.median(one['costs']) * 1e3:.0f} ms, between two {one['between'] * 1e3:.1f} ms, in the driver {one['driver'] * 1e3:.1f} ms")
    print("| workers | seconds | efficiency | processor | simulated seconds | efficiency |\n|-|-|-|-|-|-|")
    for count in sorted({*found, 8}):
        model = simulated(one["costs"], one["between"], one["driver"], count)
        clock = "| - | - | - "
        if count in found:
            best = min(found[count], key=lambda each: each["seconds"])
            spent = best["costs"].sum() + best["between"] * len(best["costs"])
            clock = f"| {best['seconds']:.1f} | {seconds / best['seconds'] / min(count, cpus):.2f} | {cpu / spent:.2f} "
        print(f"| {count} {clock}| {model:.2f} | {cpu / model / count:.2f} |")


def report_kills(killing, workers, seconds):
    blocks = [first for first, _ in killing["begun"]]
    again = len(blocks) - len(set(blocks))
    print(f"{workers} workers, one killed every {seconds:.0f} s: {len(killing['killed'])} killed in {killing['seconds']:.0f} s, no image lost, "
          f"each result as in the loop; {len(set(blocks))} blocks, begun {again} times more than once")
    if again > len(killing["killed"]):
        raise RuntimeError("more blocks began again than workers were killed")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("model", nargs="?")
    parser.add_argument("--workers", default="1,2,4")
    for name, default in (("rows", 20000), ("batch", 256), ("rounds", 1)):
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--kill-seconds", type=float, default=5, help="0: none is killed")
    arguments = parser.parse_args()
    import ray
    os.environ.setdefault("RAY_worker_niceness", "0")  # as the loop has
    counts = [int(count) for count in arguments.workers.split(",")]
    plan, name, output, row = plan_of(arguments.model, arguments.batch)
    x = np.random.default_rng(0).random((arguments.rows, *row), np.float32)
    x.reshape(len(x), -1)[:, 0] = np.arange(len(x)) * STEP
    ray.init(num_cpus=max(counts) + 1, log_to_driver=False, include_dashboard=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    cpus = len(os.sched_getaffinity(0))
    loops, found = [loop(plan, name, output, x, arguments.batch)], {count: [] for count in counts}
    wanted = loops[0][2]
    for _ in range(arguments.rounds):
        for count in counts:
            found[count].append(measure(plan, name, output, x, arguments.batch, count, wanted))
            loops.append(loop(plan, name, output, x, arguments.batch))
    report(arguments, loops, found, cpus)
    if arguments.kill_seconds:
        report_kills(measure(plan, name, output, x, arguments.batch, 2, wanted, arguments.kill_seconds), 2, arguments.kill_seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
