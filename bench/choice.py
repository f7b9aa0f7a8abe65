#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How good a choice of kernels without measuring is, and one that was measured on a busy machine.

    bench/choice.py [NETWORK ...] [--bin build/bin] [--threads 2] [--seconds 10] [--level avx2] [--rounds 60] [--estimates]

NETWORK is a file, one of plan_quality.py's, or the name or pattern (`unet_*`) of definitions in scripts/models/networks/. Of each
network and number of threads are built: a plan without measuring (`--timing-seconds 0`, five times, of which the least time counts), one
with `--seconds` of
measuring, one with as much beside a process for each core that computes half of the time, and one for a lower level of the processor, which is
chosen again when it is loaded. The plans are timed in interleaved rounds in one process (tenon-bench-plans). Printed are the seconds
of the build without measuring, the milliseconds from a process's beginning to its first result with the plan for the other level
(tenon-start) and with the own one, the least milliseconds of a run of each plan, and two ratios: estimated over measured (bound:
1.15), and measured on a busy machine over the best of all (bound: 1.05). On one thread runs count by processor
time. `--estimates` leaves out the busy one. Needs numpy and
onnx (.venv has them after `make test`)."""
import argparse
import fnmatch
import os
import re
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "scripts", "models")]
import numpy as np  # noqa: E402
import plan_quality  # noqa: E402

MADE = ("resnet18", "resnet50", "mobilenet_v2")
SHIPPED = {"lenet": "../models/lenet.onnx", "srcnn": "../models/srcnn_fixed.onnx"}
COLUMNS = ("network", "threads", "build, s", "chosen again, ms", "own level, ms", "estimated", "measured", "busy",
           "estimated / measured", "busy / best")


def family_cases(pattern, folder):
    """Networks of the repository's definitions with all inputs in 32-bit floats: name, file, options that give their shapes."""
    import check_networks
    for name, network in check_networks.families().items():
        if not fnmatch.fnmatch(name, pattern):
            continue
        case = check_networks.own_case(name, network, folder)
        inputs = case.inputs[0]
        if any(value.dtype != np.float32 for value in inputs.values()):
            print(f"{name}: left out, not all inputs are 32-bit floats", file=sys.stderr)
            continue
        yield name, case.path, [word for port, value in inputs.items() for word in ("--shape", f"{port}={'x'.join(map(str, value.shape))}")]


def cases_of(name, folder):
    if os.path.exists(name):
        return [(os.path.basename(name).removesuffix(".onnx"), name, [])]
    if name in SHIPPED:
        return [(name, os.path.join(HERE, SHIPPED[name]), ["--shape", "input=1x1x28x28"] if name == "lenet" else [])]
    if name in MADE:
        path, network = f"{folder}/{name}.onnx", plan_quality.Network(name)
        network.save(getattr(plan_quality, name)(network), path)
        return [(name, path, [])]
    found = list(family_cases(name, folder))
    return found or sys.exit(f"there is no network '{name}'")


class Network:
    def __init__(self, options, name, path, shapes, threads, folder):
        self.options, self.name, self.path, self.shapes = options, name, path, shapes
        self.threads, self.folder = str(threads), folder

    def build(self, kind, *words, level=None):
        plan = f"{self.folder}/{kind}.plan"
        environment = {**os.environ, **({"TENON_CPU_LEVEL": level} if level else {})}
        begin = time.perf_counter()
        subprocess.run([f"{self.options.bin}/tenon", "build", self.path, "-o", plan, "-t", self.threads, *self.shapes, *words],
                       check=True, stdout=subprocess.DEVNULL, env=environment)
        return plan, time.perf_counter() - begin

    def start_ms(self, plan):
        """From the beginning of a process to its first result; the least of some."""
        found = []
        for _ in range(5):
            begin = time.clock_gettime(time.CLOCK_MONOTONIC) * 1e3
            words = subprocess.run([f"{self.options.bin}/tenon-start", plan, self.threads], check=True, capture_output=True, text=True).stdout.split()
            found.append(float(words[0]) - begin)
        return min(found)

    def run_ms(self, plans):
        command = [f"{self.options.bin}/tenon-bench-plans", "--threads", self.threads, "--rounds", str(self.options.rounds), *plans]
        least = {}
        for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines():
            path, _, figures = line.partition(" ")
            found = {name: float(value) for name, value in re.findall(r"(\w+)=([\d.]+)", figures)}
            least[path] = found["worked_ms" if self.threads == "1" else "min_ms"]
        return [least[plan] for plan in plans]

    def compare(self):
        options = self.options
        seconds = min(self.build("estimated", "--timing-seconds", "0")[1] for _ in range(5))
        plans = [f"{self.folder}/estimated.plan", self.build("measured", "--timing-seconds", str(options.seconds))[0]]
        if not options.estimates:
            with plan_quality.Load():
                plans.append(self.build("busy", "--timing-seconds", str(options.seconds))[0])
        other, _ = self.build("other", "--timing-seconds", "0", level=options.level)
        starts = [self.start_ms(other), self.start_ms(plans[0])]
        runs = self.run_ms(plans)
        busy = [f"{runs[2]:.3f}", f"{runs[2] / min(runs):.3f}"] if len(runs) > 2 else ["", ""]
        return [self.name, self.threads, f"{seconds:.3f}", *(f"{ms:.1f}" for ms in starts), f"{runs[0]:.3f}", f"{runs[1]:.3f}", busy[0],
                f"{runs[0] / runs[1]:.3f}", busy[1]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", default=[*MADE, *SHIPPED, "unet_17_script", "yolo_v8_17_script"])
    parser.add_argument("--bin", default=f"{HERE}/../build/bin", help="where tenon, tenon-start and tenon-bench-plans are")
    parser.add_argument("--threads", type=lambda text: [int(t) for t in text.split(",")], default=[2])
    parser.add_argument("--seconds", type=float, default=10, help="of measuring")
    parser.add_argument("--level", default="avx2", help="the other level, below this processor's")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--estimates", action="store_true", help="no plan that is measured on a busy machine")
    options = parser.parse_args()
    print(f"| {' | '.join(COLUMNS)} |\n|{'-|' * len(COLUMNS)}", flush=True)
    with tempfile.TemporaryDirectory(prefix="tenon-choice.") as folder:
        for name in options.networks:
            for case in cases_of(name, folder):
                for threads in options.threads:
                    print(f"| {' | '.join(Network(options, *case, threads, folder).compare())} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
