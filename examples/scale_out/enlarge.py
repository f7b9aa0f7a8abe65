#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Enlarges a folder of images with a plan, on all nodes of a Ray cluster: as many workers as there are CPUs, a bar for progress. Images whose
result is there already are left out, so a run that was killed is gone on with by the same command; one at a time writes to RESULTS.

    enlarge.py IMAGES RESULTS --plan srcnn.plan [--factor 2] [--address HOST:PORT | --nodes 3 --cpus 1]

The plan has the inputs `image` [1, 3, height, width] in 0..1 and `size` [1, 1, height, width] of the result, as models/srcnn_resize.onnx:

    tenon build models/srcnn_resize.onnx -o srcnn.plan --threads 1 \\
        --shape image=1x3x16x16:1x3x192x256:1x3x512x512 --shape size=1x1x16x16:1x1x384x512:1x1x1024x1024

--address is a cluster's that runs (`ray start`); IMAGES and RESULTS are then on a file system that all nodes have. Without it, --nodes
nodes of --cpus CPUs are started on this machine, and ended. Files that are no image, or too large for the plan, are named at the end,
and the exit status is 1.
"""

import argparse
import contextlib
import os
import socket
import sys
import time

import numpy as np
import ray
import tenon.ray
from PIL import Image

PART = ".part"  # ends the name of a result that is being written
ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".webp")
BAR = 30
FILES_A_BLOCK = 4


def result_of(path, results):
    return os.path.join(results, os.path.splitext(os.path.basename(path))[0] + ".png")


def read(path):
    """f32 (3, height, width) in 0..1."""
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"), np.float32).transpose(2, 0, 1) / 255


def write(array, path):
    """Beside the file, then renamed: what is there is whole."""
    pixels = (np.clip(array, 0, 1) * 255 + 0.5).astype(np.uint8).transpose(1, 2, 0)
    beside = f"{path}.{socket.gethostname()}.{os.getpid()}{PART}"
    Image.fromarray(pixels).save(beside, "PNG")
    os.replace(beside, path)


def check_names(paths, results):
    """Ends the program where two images would have one result."""
    sources = {}
    for path in paths:
        first = sources.setdefault(result_of(path, results), path)
        if first != path:
            sys.exit(f"{first} and {path} would both be written to {result_of(path, results)}: give one another name")


def remove_parts(results):
    """What workers that were killed had begun to write."""
    for name in os.listdir(results):
        if name.endswith(PART):
            os.remove(os.path.join(results, name))


def worker(plan, results, factor):
    """A class for map_batches: from the column path to path and error, "" where the result was written."""
    class Enlarge(tenon.ray.predictor(plan)):
        def __call__(self, batch):
            return {"path": batch["path"], "error": np.array([self.enlarge(path) for path in batch["path"]], object)}

        def enlarge(self, path):
            try:
                image = read(path)
                size = np.zeros((1, image.shape[1] * factor, image.shape[2] * factor), np.float32)
                outputs = super().__call__({"image": image[None], "size": size[None]})
                write(outputs["output"][0], result_of(path, results))
            except (OSError, ValueError, RuntimeError, Image.DecompressionBombError) as error:
                return str(error)[:500] or type(error).__name__
            return ""
    return Enlarge


def started(start, attempts=4):
    """What `start` starts. Ray gives a node 30 s, which is too little on a machine that does much else."""
    for _ in range(attempts - 1):
        try:
            return start()
        except Exception as error:
            if "timed out during startup" not in str(error):
                raise
    return start()


def start_here(nodes, cpus):
    from ray.cluster_utils import Cluster
    local = started(lambda: Cluster(initialize_head=True, head_node_args={"num_cpus": cpus, "include_dashboard": False}))
    for _ in range(nodes - 1):
        started(lambda: local.add_node(num_cpus=cpus))
    return local


@contextlib.contextmanager
def cluster(address, nodes, cpus):
    """The number of CPUs of a cluster that this program is connected to."""
    local = None if address else start_here(nodes, cpus)
    try:
        ray.init(address or local.address, log_to_driver=False)
        yield int(ray.cluster_resources().get("CPU", 1))
    finally:
        ray.shutdown()
        if local:
            local.shutdown()


def show(done, count, failed, seconds):
    filled = BAR * done // count
    text = f"[{'#' * filled}{'.' * (BAR - filled)}] {done}/{count}  {done / max(seconds, 1e-3):.1f} a second"
    print(f"\r{text}{f'  {failed} failed' if failed else ''}", end="", flush=True)


def enlarge(todo, plan, results, factor, workers):
    """[(path, error)] of those that failed."""
    rows = ray.data.from_items([{"path": path} for path in todo], override_num_blocks=-(-len(todo) // FILES_A_BLOCK))
    rows = rows.map_batches(worker(plan, results, factor), batch_size=1, compute=ray.data.ActorPoolStrategy(size=workers))
    failed, start = [], time.monotonic()
    for done, row in enumerate(rows.iter_rows(), 1):
        if row["error"]:
            failed.append((row["path"], row["error"]))
        show(done, len(todo), len(failed), time.monotonic() - start)
    print()
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], allow_abbrev=False)
    parser.add_argument("images", help="a folder")
    parser.add_argument("results", help="a folder, which is made where it is not there")
    parser.add_argument("--plan", required=True)
    parser.add_argument("--factor", type=int, default=2, choices=range(1, 9))
    parser.add_argument("--address", help="of a cluster that runs, or auto")
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--cpus", type=int, default=1, help="of each node that is started here")
    arguments = parser.parse_args()
    images, results = os.path.abspath(arguments.images), os.path.abspath(arguments.results)
    os.makedirs(results, exist_ok=True)
    paths = [os.path.join(images, name) for name in sorted(os.listdir(images)) if name.lower().endswith(ENDINGS)]
    check_names(paths, results)
    remove_parts(results)
    todo = [path for path in paths if not os.path.exists(result_of(path, results))]
    print(f"{len(paths)} images, {len(paths) - len(todo)} of them done before")
    if not todo:
        return 0
    ray.data.DataContext.get_current().enable_progress_bars = False  # ours counts files
    with cluster(arguments.address, arguments.nodes, arguments.cpus) as workers:
        failed = enlarge(todo, arguments.plan, results, arguments.factor, min(workers, len(todo)))
    for path, error in failed:
        print(f"{path}: {error}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
