#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ray Data with tenon.ray.predictor beside a plain loop over the same rows, with 1, 2 and 4 workers of one thread.

Usage: PYTHONPATH=build/python PYTHON bench/ray_data.py MODEL.onnx [--rows 20000] [--batch 256] [--workers 1,2,4] [--rounds 3]
PYTHON: one with what tenon-engine[ray] needs. Efficiency: the loop's seconds, by the workers that have a CPU of their own, over the data set's from its first
block to its last (workers start before). Beyond this machine's CPUs the seconds are simulated: the blocks' own processor time, which is measured,
spread over the workers in order, and the rest of what one worker took.
"""

import argparse
import os
import sys
import time

import numpy as np


def plan_of(model, batch):
    import tenon
    port = tenon.Graph(model).inputs[0]
    row = tuple(extent if isinstance(extent, int) else 1 for extent in port.shape)[1:]
    shapes = {port.name: [(1, *row), (batch, *row), (batch, *row)]}
    return tenon.build(model, shapes=shapes, threads=1), port.name, row


def loop(plan, name, x, batch):
    context = plan.engine(threads=1).context()
    context.run({name: x[:batch]})
    start = time.perf_counter()
    for begin in range(0, len(x), batch):
        context.run({name: x[begin:begin + batch]})
    return time.perf_counter() - start


def measure(plan, name, x, batch, workers):
    """(seconds from the first block's begin to the last one's end, processor seconds of each block)."""
    import ray
    import tenon.ray

    class Timed(tenon.ray.predictor(plan, keep=[])):
        def __call__(self, rows):
            begin, cpu = time.time(), time.process_time()
            count = len(rows[name])
            super().__call__(rows)
            return {"begin": np.array([begin]), "end": np.array([time.time()]), "cpu": np.array([time.process_time() - cpu]), "rows": np.array([count])}
    data = ray.data.from_numpy_refs([ray.put(x[begin:begin + batch]) for begin in range(0, len(x), batch)]).rename_columns({"data": name})
    blocks = data.map_batches(Timed, batch_size=None, compute=ray.data.ActorPoolStrategy(size=workers)).take_all()
    if sum(block["rows"] for block in blocks) != len(x):
        raise RuntimeError("rows were lost")
    return max(block["end"] for block in blocks) - min(block["begin"] for block in blocks), [block["cpu"] for block in blocks]


def simulated(costs, overhead, workers):
    """Seconds of blocks that are given, in order, to the worker that is free first."""
    ends = [0.0] * workers
    for cost in costs:
        ends[ends.index(min(ends))] += cost + overhead
    return max(ends)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("model")
    parser.add_argument("--workers", default="1,2,4")
    for name, default in (("rows", 20000), ("batch", 256), ("rounds", 3)):
        parser.add_argument("--" + name, type=int, default=default)
    arguments = parser.parse_args()
    import ray
    os.environ.setdefault("RAY_worker_niceness", "0")  # as the loop has
    counts = [int(count) for count in arguments.workers.split(",")]
    plan, name, row = plan_of(arguments.model, arguments.batch)
    x = np.random.default_rng(0).random((arguments.rows, *row), np.float32)
    ray.init(num_cpus=max(counts) + 1, log_to_driver=False, include_dashboard=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    cpus = len(os.sched_getaffinity(0))
    loops, found = [], {count: [] for count in counts}
    for _ in range(arguments.rounds):
        loops.append(loop(plan, name, x, arguments.batch))
        for count in counts:
            found[count].append(measure(plan, name, x, arguments.batch, count))
    one, costs = min(found[counts[0]], key=lambda each: each[0])
    overhead = max(one - sum(costs), 0) / len(costs) if counts[0] == 1 else 0.0
    print(f"{arguments.model}: {len(x)} rows in blocks of {arguments.batch}, {cpus} CPUs; a plain loop {min(loops):.2f} s; "
          f"a block {np.median(costs) * 1e3:.1f} ms of processor time, {overhead * 1e3:.1f} ms between blocks")
    print("| workers | seconds | efficiency | simulated seconds | efficiency |\n|-|-|-|-|-|")
    for count in counts:
        seconds, model = min(each[0] for each in found[count]), simulated(costs, overhead, count)
        print(f"| {count} | {seconds:.2f} | {min(loops) / seconds / min(count, cpus):.2f} | {model:.2f} | {min(loops) / model / count:.2f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
