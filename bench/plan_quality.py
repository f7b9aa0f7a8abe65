#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How good are plans that are built on a busy machine: plan_quality.py TENON [--baseline TENON2] [--builds 10] [--threads 1,2] [--output FILE.md]

Builds ResNet-18 and MobileNetV2 (random weights) again and again, without a timing cache, beside a process for each core that computes
half of the time in slices of 10 to 100 ms. Then the load stops, and all plans that differ are timed by the first program in interleaved
rounds. A plan's time is the least of its rounds; where a virtual machine's neighbours disturb, the medians say more. Prints for each build
the seconds that it took, its plan's time, the nodes that stayed beside a kernel that could absorb them, and which kernels differ between
builds; then the slowest plan over the best one. With a baseline both programs build alternately and all plans of both are timed in the same
rounds. --output FILE.md writes the page for bench/results.
Needs onnx and numpy (.venv has them after `make test`)."""
import argparse
import collections
import datetime
import json
import multiprocessing
import os
import platform
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
from onnx import helper, numpy_helper

MODELS = ("resnet18", "mobilenet_v2")


class Network:
    """Adds layers one after the other; weights are random, batch normalization is folded into them as exporters do."""

    def __init__(self, name):
        self.name, self.nodes, self.weights = name, [], []
        self.random = np.random.default_rng(1)

    def constant(self, values):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(values, np.float32), name))
        return name

    def add(self, kind, inputs, **attributes):
        output = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [output], name=f"{kind.lower()}_{len(self.nodes)}", **attributes))
        return output

    def convolution(self, x, channels, filters, kernel, stride=1, groups=1):
        shape = (filters, channels // groups, kernel, kernel)
        weight = self.constant(self.random.standard_normal(shape) * (2 / np.prod(shape[1:])) ** 0.5)
        return self.add("Conv", [x, weight, self.constant(self.random.standard_normal(filters) * 0.05)],
                        kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[kernel // 2] * 4, group=groups)

    def relu(self, x):
        return self.add("Relu", [x])

    def relu6(self, x):
        return self.add("Clip", [x, self.constant(0), self.constant(6)])

    def classify(self, x, channels):
        x = self.add("Flatten", [self.add("GlobalAveragePool", [x])], axis=1)
        weight = self.constant(self.random.standard_normal((1000, channels)) * channels ** -0.5)
        return self.add("Gemm", [x, weight, self.constant(np.zeros(1000))], transB=1)

    def save(self, output, path):
        floats = onnx.TensorProto.FLOAT
        graph = helper.make_graph(self.nodes, self.name, [helper.make_tensor_value_info("image", floats, [1, 3, 224, 224])],
                                  [helper.make_tensor_value_info(output, floats, [1, 1000])], self.weights)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def resnet18(network):
    x = network.relu(network.convolution("image", 3, 64, 7, 2))
    x = network.add("MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    channels = 64
    for filters in (64, 128, 256, 512):
        for block in range(2):
            stride = 2 if block == 0 and filters != 64 else 1
            shortcut = x if channels == filters else network.convolution(x, channels, filters, 1, stride)
            y = network.relu(network.convolution(x, channels, filters, 3, stride))
            x = network.relu(network.add("Add", [network.convolution(y, filters, filters, 3), shortcut]))
            channels = filters
    return network.classify(x, channels)


def resnet50(network):
    x = network.relu(network.convolution("image", 3, 64, 7, 2))
    x = network.add("MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    channels = 64
    for middle, blocks in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for block in range(blocks):
            stride = 2 if block == 0 and middle != 64 else 1
            shortcut = x if block else network.convolution(x, channels, 4 * middle, 1, stride)
            y = network.relu(network.convolution(x, channels, middle, 1))
            y = network.relu(network.convolution(y, middle, middle, 3, stride))
            x = network.relu(network.add("Add", [network.convolution(y, middle, 4 * middle, 1), shortcut]))
            channels = 4 * middle
    return network.classify(x, channels)


def mobilenet_v2(network):
    x, channels = network.relu6(network.convolution("image", 3, 32, 3, 2)), 32
    for expansion, filters, blocks, first_stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                                     (6, 160, 3, 2), (6, 320, 1, 1)):
        for block in range(blocks):
            stride, hidden = first_stride if block == 0 else 1, channels * expansion
            y = network.relu6(network.convolution(x, channels, hidden, 1)) if expansion > 1 else x
            y = network.relu6(network.convolution(y, hidden, hidden, 3, stride, hidden))
            y = network.convolution(y, hidden, filters, 1)
            x = network.add("Add", [x, y]) if stride == 1 and channels == filters else y
            channels = filters
    return network.classify(network.relu6(network.convolution(x, channels, 1280, 1)), 1280)


def keep_busy(core, seed):
    """One core, half of the time."""
    slices = random.Random(seed)
    os.sched_setaffinity(0, {core})
    while True:
        end = time.perf_counter() + slices.uniform(0.010, 0.100)
        while time.perf_counter() < end:
            pass
        time.sleep(slices.uniform(0.010, 0.100))


class Load:
    def __enter__(self):
        self.processes = [multiprocessing.Process(target=keep_busy, args=(core, core), daemon=True)
                          for core in sorted(os.sched_getaffinity(0))]
        for process in self.processes:
            process.start()

    def __exit__(self, *unused):
        for process in self.processes:
            process.kill()
            process.join()


def storage(value):
    return f"{value['type']}:{value['format']}" if value else "-"


def environment_of(program):
    """With the library beside the program: a copied program names its build tree's, and two programs would run one library."""
    beside = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(program))), "lib")
    return {**os.environ, "LD_LIBRARY_PATH": beside} if os.path.isdir(beside) else None


class Build:
    """A plan, and what the report says of it."""

    def __init__(self, program, model, threads, folder, name, options):
        self.plan = f"{folder}/{name}.plan"
        report = f"{folder}/{name}.json"
        before = time.perf_counter()
        subprocess.run([program, "build", model, "-o", self.plan, "--threads", str(threads), "--report", report, *options],
                       check=True, stdout=subprocess.DEVNULL, env=environment_of(program))
        self.seconds = time.perf_counter() - before
        with open(report) as file:
            self.report = json.load(file)
        self.nodes = self.report["nodes"]
        self.kernels = {node["name"]: f"{node['kernel']}/{node['tactic']}"
                        + (f"+{len(node['absorbed'])}" if node["absorbed"] else "")
                        + f" {storage(node['outputs'][0])}" for node in self.nodes}
        reformats = sorted((r["tensor"], r["from"], r["to"], r["from_type"], r["to_type"]) for r in self.report["reformats"])
        self.choice = json.dumps([[n["name"], n["library"], n["kernel"], n["tactic"], n["absorbed"],
                                   [storage(v) for v in n["inputs"] + n["outputs"]]] for n in self.nodes] + reformats)
        self.unfused = sum(node["op"] in ("Relu", "Clip", "Add") for node in self.nodes)
        self.reformats = len(reformats)

    def drop(self):
        os.unlink(self.plan)


def time_plans(plans, threads, options):
    """The least and the median milliseconds of each plan, and the least that the processor worked, in rounds over all of them."""
    program = os.path.join(os.path.dirname(os.path.realpath(options.program)), "tenon-bench-plans")
    command = [program, "--threads", str(threads), "--rounds", str(options.rounds), *plans.values()]
    times, choices = {}, {plan: choice for choice, plan in plans.items()}
    for line in subprocess.run(command, check=True, capture_output=True, text=True, env=environment_of(program)).stdout.splitlines():
        path, _, figures = line.partition(" ")
        found = {name: float(value) for name, value in re.findall(r"(\w+)=([\d.]+)", figures)}
        least = found["worked_ms"] if options.by_work else found["min_ms"]
        times[choices[path]] = (least, found["median_ms"])
    return times


def differing(builds):
    """Nodes whose kernel is not the same in all builds, with how often each was taken."""
    names = sorted({name for build in builds for name in build.kernels})
    found = {}
    for name in names:
        taken = collections.Counter(build.kernels.get(name, "(absorbed)") for build in builds)
        if len(taken) > 1:
            found[name] = taken
    return found


class Page:
    """Prints lines, and keeps them for the page of results."""

    def __init__(self):
        self.lines = []

    def add(self, line=""):
        print(line, flush=True)
        self.lines.append(line)


def show_builds(page, sides, times):
    page.add("| program | build | seconds | plan | min ms | median ms | not absorbed | conversions |")
    page.add("|-|-|-|-|-|-|-|-|")
    letters = {choice: f"{number + 1}" for number, choice in enumerate(sorted(times, key=lambda c: times[c][0]))}
    for side, builds in sides.items():
        for number, build in enumerate(builds):
            least, median = times[build.choice]
            page.add(f"| {side} | {number + 1} | {build.seconds:.1f} | {letters[build.choice]} | {least:.3f} | {median:.3f} "
                     f"| {build.unfused} | {build.reformats} |")
    page.add()


def show_sums(page, sides, times):
    best = min(least for least, _ in times.values())
    for side, builds in sides.items():
        own, medians = zip(*(times[build.choice] for build in builds))
        page.add(f"- {side}: slowest / best of its plans **{max(own) / min(own):.3f}** (by medians {max(medians) / min(medians):.3f}), "
                 f"slowest / best of all {max(own) / best:.3f}, "
                 f"{len({build.choice for build in builds})} different plans in {len(builds)} builds, "
                 f"{statistics.mean(build.seconds for build in builds):.1f} s a build")
        for name, taken in differing(builds).items():
            page.add(f"  - {name}: " + ", ".join(f"{count} x {kernel}" for kernel, count in taken.most_common()))
    page.add()


def try_model(page, options, name, threads, folder):
    model, network = f"{folder}/{name}.onnx", Network(name)
    network.save(globals()[name](network), model)
    sides = {side: [] for side in (("new", "baseline") if options.baseline else ("new",))}
    programs = {"new": options.program, "baseline": options.baseline}
    plans = {}
    with Load():
        for number in range(options.builds):
            for side in sides if number % 2 == 0 else reversed(sides):
                build = Build(programs[side], model, threads, folder, f"{name}-{threads}-{side}-{number}", options.option)
                sides[side].append(build)
                if build.choice in plans:
                    build.drop()
                else:
                    plans[build.choice] = build.plan
    time.sleep(0.5)
    times = time_plans(plans, threads, options)
    for plan in plans.values():
        os.unlink(plan)
    page.add(f"## {name}, {threads} thread{'s' if threads > 1 else ''}")
    page.add()
    show_builds(page, sides, times)
    show_sums(page, sides, times)


def describe(page, options):
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.machine())
    page.add("# Plans that were built on a busy machine")
    page.add()
    page.add(f"{datetime.date.today()}, {len(os.sched_getaffinity(0))} cores ({cpu}), load average {os.getloadavg()[0]:.1f} before it began. "
             f"{options.builds} builds of each network beside a process for each core that computes half of the time; "
             f"the plans timed afterwards in {options.rounds} interleaved rounds" + (" by processor time. " if options.by_work else ". ") +
             "Plans with the same kernels, tactics and formats have one number and are timed once.")
    page.add()
    page.add("    bench/plan_quality.py " + " ".join(["TENON"] + (["--baseline", "TENON2"] if options.baseline else []) +
                                                    [f"--builds {options.builds} --threads {','.join(map(str, options.threads))} "
                                                     f"--rounds {options.rounds}" + (" --by-work" if options.by_work else "")]))
    page.add()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", metavar="TENON")
    parser.add_argument("--baseline", metavar="TENON2", help="another program, to compare with")
    parser.add_argument("--builds", type=int, default=10)
    parser.add_argument("--threads", type=lambda text: [int(t) for t in text.split(",")], default=[1, 2])
    parser.add_argument("--models", type=lambda text: text.split(","), default=list(MODELS))
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--by-work", action="store_true",
                        help="compare plans of one thread by processor time, where the machine is never quiet")
    parser.add_argument("--output", metavar="FILE.md")
    parser.add_argument("--option", action="append", default=[], help="passed on to `tenon build`")
    options = parser.parse_args()
    page = Page()
    describe(page, options)
    with tempfile.TemporaryDirectory(prefix="tenon-plan-quality-") as folder:
        for threads in options.threads:
            for name in options.models:
                try_model(page, options, name, threads, folder)
    if options.output:
        with open(options.output, "w") as file:
            file.write("\n".join(page.lines) + "\n")


if __name__ == "__main__":
    sys.exit(main())
