#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times networks and layers on a GPU in Tenon and in PyTorch in turns, in one run: gpu_side_by_side.py [NAME ...]

NAME is one of those below, or any of torchvision's classifiers of pictures (in 16 bits). Each is made here as a torch module with random
weights, exported to ONNX and built by Tenon, so that both compute the same. Printed are microseconds with inputs and outputs in the
GPU's memory (torch: one CUDA graph, replayed; eager and torch.compile, the better) and of a call of the host with copies in and out;
the ratio of the first; and the norm of the difference from torch's result in 32-bit floats on the processor over its norm, of Tenon
and of torch eager. In 8 bits torch has no side, and the network is calibrated with four random inputs. Needs torch with CUDA,
torchvision and onnx.
Programs are taken from $TENON_BIN, build/bin by default. --no-compile leaves torch.compile out, and --no-torch all of torch's
times; --precision P, given once or more, stands for the precisions that a network has here (fp16 and int8,fp16);
--timing-seconds S has builds measure for so long at most, as `tenon build` has it."""
import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import torch

from torch_graph import captured, replay_us
from torch_networks import Bicubic, Detector, ElementwiseChain, Encoder, LeNet, Pool, SRCNN, of_torchvision

ROUNDS, REPLAYS = 5, 50
root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
programs = os.environ.get("TENON_BIN", f"{root}/build/bin")


# name: (module, input's shape, precisions). Of layers alone, fp16 is the type of the input and the output, too. An input of rank 2 holds
# token ids.
LAYERS = ("max_pool", "chain")
NETWORKS = {
    "lenet": (LeNet, (1, 1, 28, 28), ("fp32",)),
    "srcnn": (SRCNN, (1, 3, 256, 256), ("fp32", "tf32", "fp16")),
    "resnet18": (of_torchvision("resnet18"), (1, 3, 224, 224), ("fp16",)),
    "resnet50": (of_torchvision("resnet50"), (1, 3, 224, 224), ("fp32", "tf32", "fp16", "int8", "int8,fp16")),
    "resnet50_b32": (of_torchvision("resnet50"), (32, 3, 224, 224), ("fp16", "int8,fp16")),
    "mobilenet_v2": (of_torchvision("mobilenet_v2"), (1, 3, 224, 224), ("fp16",)),
    "detector": (Detector, (1, 3, 320, 320), ("fp16",)),
    "encoder": (Encoder, (1, 128), ("tf32", "fp16")),
    "encoder_b32": (Encoder, (32, 128), ("fp16",)),
    "bicubic": (Bicubic, (1, 3, 256, 256), ("fp32",)),
    "bicubic_b32": (Bicubic, (32, 3, 256, 256), ("fp32",)),
    "max_pool": (Pool, (32, 64, 112, 112), ("fp16",)),
    "chain": (ElementwiseChain, (32, 64, 112, 112), ("fp32", "fp16")),
}


class Torch:
    """A module in one precision: a replayed graph, and calls with copies."""

    def __init__(self, module, x, precision, compiled):
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision == "tf32"
        torch.backends.cudnn.benchmark = True
        dtype = torch.float16 if "fp16" in precision else torch.float32
        layout = torch.channels_last if precision != "fp32" and x.dim() == 4 and x.shape[1] > 1 else torch.contiguous_format
        self.module = module.to(memory_format=layout).cuda().to(dtype)
        self.x = (x.cuda().to(dtype) if x.is_floating_point() else x.cuda()).contiguous(memory_format=layout)
        run = torch.compile(self.module, dynamic=False) if compiled else self.module
        self.pinned_x = self.x.cpu().pin_memory()
        self.graph, self.y = captured(lambda: run(self.x))
        self.pinned_y = torch.empty_like(self.y, device="cpu").pin_memory()

    def replay_us(self):
        return replay_us(self.graph, REPLAYS)

    def result(self):
        return self.y.cpu()

    def call_us(self):
        times = []
        for _ in range(REPLAYS):
            before = time.perf_counter()
            self.x.copy_(self.pinned_x, non_blocking=True)
            self.graph.replay()
            self.pinned_y.copy_(self.y, non_blocking=True)
            torch.cuda.synchronize()
            times.append((time.perf_counter() - before) * 1e6)
        return statistics.median(times)


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=400, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{os.path.basename(command[0])}: {(done.stderr or done.stdout).strip()[-300:]}")
    return dict(re.findall(r"(\w+)=([\d.]+)", done.stdout.strip().splitlines()[-1])) if done.stdout.strip() else {}


class Tenon:
    def __init__(self, model, x, precision, folder, options):
        self.plan, self.folder, self.x = f"{folder}/m.plan", folder, x
        options = ["--precision", precision, *options]
        if precision.startswith("int8"):
            os.mkdir(f"{folder}/samples")
            for i in range(4):
                np.save(f"{folder}/samples/{i}.npy", torch.rand(x.shape).numpy())
            options += ["--calibration", f"{folder}/samples"]
        before = time.perf_counter()
        run(f"{programs}/tenon", "build", model, "--device", "cuda", *options, "-o", self.plan)
        self.build_s = time.perf_counter() - before

    def replay_us(self):
        return float(run(f"{programs}/tenon-bench-replay-cuda", self.plan, str(REPLAYS))["median_us"])

    def call_us(self):
        return float(run(f"{programs}/tenon", "bench", self.plan, "--seconds", "0.3")["median_ms"]) * 1e3

    def result(self):
        np.save(f"{self.folder}/x.npy", self.x.numpy())
        run(f"{programs}/tenon", "run", self.plan, "--input", f"input={self.folder}/x.npy", "--output-dir", self.folder)
        return torch.from_numpy(np.load(f"{self.folder}/output.npy"))


def find(name):
    """The row of NETWORKS of a name, or one for a network of torchvision; None: there is no such network."""
    import torchvision
    if name in NETWORKS:
        return NETWORKS[name]
    return (of_torchvision(name), (1, 3, 224, 224), ("fp16",)) if name in torchvision.models.list_models(torchvision.models) else None


def distance(result, wanted):
    return float((result.float() - wanted).norm() / wanted.norm())


def measure(name, precision, is_beside, is_compiled, options):
    make, shape, _ = find(name)
    torch.manual_seed(1)
    module, x = make().eval(), torch.rand(shape) if len(shape) > 2 else torch.randint(30000, shape)
    with torch.no_grad(), tempfile.TemporaryDirectory() as folder:
        wanted = module(x)
        if name in LAYERS and precision == "fp16":
            x = x.half()
        model = f"{folder}/m.onnx"
        torch.onnx.export(module, (x,), model, input_names=["input"], output_names=["output"], opset_version=17, dynamo=False)
        ours = Tenon(model, x, precision, folder, options)
        sides = [Torch(module, x, precision, False)] if is_beside and not precision.startswith("int8") else []
        if is_compiled and sides:
            sides.append(Torch(make().eval(), x, precision, True))
        times = {side: ([], []) for side in (ours, *sides)}
        for _ in range(ROUNDS):
            for side, (replays, calls) in times.items():
                replays.append(side.replay_us())
                calls.append(side.call_us())
        medians = {side: [statistics.median(t) for t in pair] for side, pair in times.items()}
        mine = medians[ours]
        beside = "- | -"
        if sides:
            theirs = [min(medians[side][i] for side in sides) for i in range(2)]
            best = "compiled" if is_compiled and medians[sides[-1]][0] == theirs[0] else "eager"
            beside = f"{theirs[0]:.1f} / {theirs[1]:.1f} ({best}) | {mine[0] / theirs[0]:.2f}"
        errors = " / ".join(f"{distance(side.result(), wanted):.1e}" for side in (ours, *sides[:1]))
        print(f"| {name} | {precision} | {mine[0]:.1f} / {mine[1]:.1f} | {beside} | {errors} | {ours.build_s:.0f} s |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NETWORKS))
    parser.add_argument("--no-compile", action="store_true")
    parser.add_argument("--no-torch", action="store_true")
    parser.add_argument("--precision", action="append", metavar="P")
    parser.add_argument("--timing-seconds", type=float)
    arguments = parser.parse_args()
    options = ["--timing-seconds", f"{arguments.timing_seconds:g}"] if arguments.timing_seconds else []
    unknown = [name for name in arguments.names if not find(name)]
    if unknown:
        sys.exit(f"no network {unknown[0]}; there are {', '.join(NETWORKS)} and torchvision's classifiers")
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}")
    print("| network | precision | Tenon, µs: in memory / with copies | PyTorch | ratio | error | build |\n|-|-|-|-|-|-|-|")
    for name in arguments.names or NETWORKS:
        for precision in arguments.precision or find(name)[2]:
            try:
                measure(name, precision, not arguments.no_torch, not arguments.no_compile, options)
            except RuntimeError as error:
                print(f"| {name} | {precision} | {error} |", flush=True)


main()
