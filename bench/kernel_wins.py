#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which kernel wins where, and by how much. Three steps:

    kernel_wins.py make FOLDER                                      layers.onnx, and networks with random weights
    kernel_wins.py measure TENON MODEL.onnx ... -o TIMES.json       [--device cuda] [--level avx2] [--precision int8] [--builds 5]
    kernel_wins.py table TIMES.json ... [-o PAGE.md]                [--without onednn] [--problems]

`make` needs onnx and numpy, the others Python alone. layers.onnx has single layers beside each other, each with an input and an output of its own.

`measure` builds each model again and again without a timing cache and keeps, of each candidate in the builds' reports, the least time that was
measured. --level sets TENON_CPU_LEVEL and oneDNN's (repeatable), --precision is that of `tenon build`: int8 calibrates with MODEL.samples beside
the model, of which `make` writes one a network. --option is passed on to `tenon build`. A later call with the same output adds to it: the least
of both stays.

`table` merges files. A problem is a node's operator with its shapes, types and the nodes behind it that a kernel may absorb; equal nodes are
one. Only candidates that absorb as much as any does are compared, in whatever types and formats. A kernel that alone takes a problem wins it
by 5% (--drop-single leaves those out). A kernel's levels (_baseline, _avx2, _avx512)
count as one kernel in the first table; the second compares each level with the ones below it. "Without it" is the network that loses most when
a kernel is left out, by the sum over its nodes of the next kernel's time. A report has of a kernel's tactics the best one alone: the last table
counts how often it was which. --without counts once more without a library or kernel."""
import argparse
import collections
import datetime
import json
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
LEVELS = ("baseline", "avx2", "avx512", "avx512vnni")
MARGIN = 1.05
# What oneDNN may use at these levels, beside TENON_CPU_LEVEL, which is for Tenon's own kernels.
ONEDNN_LEVELS = {"baseline": "SSE41", "avx2": "AVX2"}

# Operator, attributes, the input's shape, those of its constants, and what follows. 'sizes': Resize's output. 'two': both are inputs.
LAYERS = [
    ("Conv", {}, [1, 1, 28, 28], [[20, 1, 5, 5], [20]], ""),
    ("Conv", {}, [1, 20, 12, 12], [[50, 20, 5, 5], [50]], ""),
    ("Conv", {"pads": [4] * 4}, [1, 3, 256, 256], [[64, 3, 9, 9], [64]], "Relu"),
    ("Conv", {}, [1, 64, 256, 256], [[32, 64, 1, 1], [32]], "Relu"),
    ("Conv", {"pads": [2] * 4}, [1, 32, 256, 256], [[3, 32, 5, 5], [3]], ""),
    ("Conv", {"pads": [3] * 4, "strides": [2, 2]}, [1, 3, 224, 224], [[64, 3, 7, 7], [64]], "Relu"),
    ("Conv", {"pads": [1] * 4, "strides": [2, 2]}, [1, 3, 224, 224], [[32, 3, 3, 3], [32]], "Relu"),
    ("Conv", {"pads": [1] * 4}, [1, 16, 112, 112], [[16, 16, 3, 3], [16]], "Relu"),
    ("Conv", {"pads": [1] * 4}, [1, 64, 56, 56], [[64, 64, 3, 3], [64]], "Relu"),
    ("Conv", {}, [1, 256, 56, 56], [[64, 256, 1, 1], [64]], "Relu"),
    ("Conv", {}, [1, 64, 56, 56], [[256, 64, 1, 1], [256]], "Relu"),
    ("Conv", {"strides": [2, 2]}, [1, 256, 56, 56], [[512, 256, 1, 1], [512]], ""),
    ("Conv", {"pads": [1] * 4, "strides": [2, 2]}, [1, 128, 56, 56], [[128, 128, 3, 3], [128]], "Relu"),
    ("Conv", {"pads": [1] * 4}, [1, 128, 28, 28], [[128, 128, 3, 3], [128]], "Relu"),
    ("Conv", {"pads": [1] * 4}, [1, 256, 14, 14], [[256, 256, 3, 3], [256]], "Relu"),
    ("Conv", {}, [1, 1024, 14, 14], [[256, 1024, 1, 1], [256]], "Relu"),
    ("Conv", {"pads": [1] * 4}, [1, 512, 7, 7], [[512, 512, 3, 3], [512]], "Relu"),
    ("Conv", {}, [1, 512, 7, 7], [[2048, 512, 1, 1], [2048]], ""),
    ("Conv", {"pads": [1] * 4}, [4, 64, 28, 28], [[64, 64, 3, 3], [64]], "Relu"),
    ("Conv", {"pads": [2] * 4, "dilations": [2, 2]}, [1, 64, 28, 28], [[64, 64, 3, 3], [64]], "Relu"),
    ("Conv", {"pads": [1] * 4, "group": 32}, [1, 128, 28, 28], [[128, 4, 3, 3], [128]], "Relu"),
    ("Conv", {"pads": [1] * 4, "group": 144}, [1, 144, 56, 56], [[144, 1, 3, 3], [144]], "Relu"),
    ("Conv", {"pads": [1] * 4, "strides": [2, 2], "group": 96}, [1, 96, 112, 112], [[96, 1, 3, 3], [96]], "Relu"),
    ("Conv", {"pads": [2] * 4, "group": 240}, [1, 240, 14, 14], [[240, 1, 5, 5], [240]], "Relu"),
    ("Conv", {}, [1, 64, 128], [[64, 64, 3], [64]], "Relu"),
    ("Conv", {"pads": [1] * 6}, [1, 16, 8, 28, 28], [[32, 16, 3, 3, 3], [32]], "Relu"),
    ("Conv", {}, [1, 2048, 1, 1], [[256, 2048, 1, 1], [256]], ""),
    ("ConvTranspose", {"strides": [2, 2], "pads": [1] * 4}, [1, 64, 28, 28], [[64, 32, 4, 4], [32]], "Relu"),
    ("ConvTranspose", {"strides": [2, 2]}, [1, 256, 28, 28], [[256, 128, 2, 2], [128]], ""),
    ("ConvTranspose", {"strides": [4, 4], "pads": [2] * 4}, [1, 21, 34, 34], [[21, 21, 8, 8]], ""),
    ("Gemm", {"transB": 1}, [1, 800], [[500, 800], [500]], "Relu"),
    ("Gemm", {"transB": 1}, [1, 500], [[10, 500], [10]], ""),
    ("Gemm", {"transB": 1}, [1, 2048], [[1000, 2048], [1000]], ""),
    ("Gemm", {"transB": 1}, [32, 2048], [[1000, 2048], [1000]], ""),
    ("MatMul", {}, [128, 768], [[768, 768]], ""),
    ("MatMul", {}, [1, 768], [[768, 3072]], ""),
    ("MatMul", {}, [12, 128, 64], "two", "12x64x128"),
    ("MatMul", {}, [12, 128, 128], "two", "12x128x64"),
    ("MatMul", {}, [8, 1, 64], "two", "8x64x256"),
    ("MaxPool", {"kernel_shape": [2, 2], "strides": [2, 2]}, [1, 20, 24, 24], [], ""),
    ("MaxPool", {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1] * 4}, [1, 64, 112, 112], [], ""),
    ("MaxPool", {"kernel_shape": [5, 5], "strides": [1, 1], "pads": [2] * 4}, [1, 128, 10, 10], [], ""),
    ("AveragePool", {"kernel_shape": [2, 2], "strides": [2, 2]}, [1, 64, 56, 56], [], ""),
    ("AveragePool", {"kernel_shape": [3, 3], "strides": [1, 1], "pads": [1] * 4}, [1, 192, 28, 28], [], ""),
    ("GlobalAveragePool", {}, [1, 512, 7, 7], [], ""),
    ("Resize", {"mode": "cubic"}, [1, 3, 256, 256], "sizes", "1x3x512x512"),
    ("Resize", {"mode": "cubic"}, [1, 3, 128, 128], "sizes", "1x3x333x333"),
    ("Resize", {"mode": "linear"}, [1, 64, 28, 28], "sizes", "1x64x56x56"),
    ("Resize", {"mode": "linear"}, [1, 3, 512, 512], "sizes", "1x3x224x224"),
    ("Resize", {"mode": "nearest"}, [1, 128, 20, 20], "sizes", "1x128x40x40"),
    ("Resize", {"mode": "nearest"}, [1, 16, 112, 112], "sizes", "1x16x224x224"),
    ("Softmax", {}, [1, 1000], [], ""),
    ("Softmax", {}, [12, 128, 128], [], ""),
]


def shape_of(text):
    return [int(extent) for extent in text.split("x")]


def write_samples(path, inputs):
    """Random inputs, enough for scales: a folder for each input."""
    import numpy as np
    random = np.random.default_rng(2)
    for name, shape in inputs.items():
        folder = os.path.join(os.path.splitext(path)[0] + ".samples", name)
        os.makedirs(folder, exist_ok=True)
        for number in range(2):
            np.save(os.path.join(folder, f"{number}.npy"), random.standard_normal(shape).astype(np.float32))


def make_layers(path):
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper, save
    random = np.random.default_rng(1)
    nodes, inputs, outputs, weights = [], [], [], []

    def constant(name, values):
        weights.append(numpy_helper.from_array(values, name))
        return name

    for number, (kind, attributes, shape, constants, after) in enumerate(LAYERS):
        name = f"{kind.lower()}_{number}"
        inputs.append(helper.make_tensor_value_info(f"{name}_x", TensorProto.FLOAT, shape))
        given = [f"{name}_x"]
        if constants == "sizes":
            given += ["", "", constant(f"{name}_sizes", np.array(shape_of(after), np.int64))]
        elif constants == "two":
            inputs.append(helper.make_tensor_value_info(f"{name}_b", TensorProto.FLOAT, shape_of(after)))
            given.append(f"{name}_b")
        else:
            for i, extents in enumerate(constants):
                values = random.standard_normal(extents) / max(1, np.prod(extents[1:])) ** 0.5
                given.append(constant(f"{name}_w{i}", values.astype(np.float32)))
        last = f"{name}_y"
        nodes.append(helper.make_node(kind, given, [last], name=name, **attributes))
        if after == "Relu":
            last = f"{name}_z"
            nodes.append(helper.make_node("Relu", [f"{name}_y"], [last], name=f"{name}_relu"))
        outputs.append(helper.make_tensor_value_info(last, TensorProto.FLOAT, None))
    graph = helper.make_graph(nodes, "layers", inputs, outputs, weights)
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    write_samples(path, {x.name: [axis.dim_value for axis in x.type.tensor_type.shape.dim] for x in inputs})


def make(options):
    import plan_quality
    make_layers(os.path.join(options.folder, "layers.onnx"))
    for name in ("resnet18", "resnet50", "mobilenet_v2"):
        network, path = plan_quality.Network(name), os.path.join(options.folder, f"{name}.onnx")
        network.save(getattr(plan_quality, name)(network), path)
        write_samples(path, {"image": [1, 3, 224, 224]})


def report_of(options, model, level, report):
    command = [options.program, "build", model, "-o", report + ".plan", "--report", report, "--timing-seconds", str(options.seconds)]
    command += ["--threads", str(options.threads)] if options.device == "cpu" else ["--device", options.device]
    if options.precision:
        command += ["--precision", options.precision]
    if "int8" in options.precision:
        command += ["--calibration", os.path.splitext(model)[0] + ".samples", "--calibrator", "minmax"]
    environment = dict(os.environ, TENON_CPU_LEVEL=level) if level else dict(os.environ)
    if level in ONEDNN_LEVELS:
        environment.update(dict.fromkeys(("ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"), ONEDNN_LEVELS[level]))
    subprocess.run(command + options.option, check=True, stdout=subprocess.DEVNULL, env=environment)
    os.unlink(report + ".plan")
    with open(report) as file:
        return json.load(file)


def value_text(value):
    return f"{value['type']}[{','.join(map(str, value['shape']))}]" if value and value.get("shape") is not None else "-"


def storage_text(value):
    return f"{value['type']}:{value['format']}" if value else "-"


def problem_of(node):
    """The operator with its shapes and types, and the longest chain that a candidate absorbs."""
    longest = max((c["absorbs"] for c in node["candidates"]), key=len, default=[])
    inputs = [re.sub(r"^\w+", "", value_text(value)) for value in node["inputs"] if value]
    outputs = [re.sub(r"^\w+", "", value_text(value)) for value in node["outputs"] if value]
    return f"{'+'.join([node['op'], *longest])} {' '.join(inputs)} -> {' '.join(outputs)}"


def candidate_of(c):
    return "\t".join([c["kernel"], c.get("library", "-"), str(len(c["absorbs"])), storage_text(c.get("input")), storage_text(c.get("output"))]
                     + ([str(c["tactic"])] if c["tactics"] > 1 else []))


def add_report(problems, report):
    """Equal nodes share their timings: each counts once a build, with how many there are."""
    counts = collections.Counter()
    for node in report["nodes"]:
        if not node.get("candidates"):
            continue
        key = problem_of(node)
        counts[key] += 1
        problem = problems.setdefault(key, {"nodes": 0, "times": {}, "chosen": {}})
        problem["nodes"] = max(problem["nodes"], counts[key])
        for c in node["candidates"]:
            if c["time"] == "measured" and c["ns"] > 0:
                candidate = candidate_of(c)
                problem["times"][candidate] = min(c["ns"], problem["times"].get(candidate, c["ns"]))
            if c["chosen"]:
                problem["chosen"][c["kernel"]] = problem["chosen"].get(c["kernel"], 0) + 1


def measure(options):
    found = {"runs": {}}
    if os.path.exists(options.output):
        with open(options.output) as file:
            found = json.load(file)
    with tempfile.TemporaryDirectory(prefix="tenon-kernel-wins-") as folder:
        for build in range(options.builds):
            for level in options.level or [""]:
                for model in options.models:
                    name = os.path.splitext(os.path.basename(model))[0]
                    where = " ".join([options.device, level, f"{options.threads} thread" if options.device == "cpu" else "",
                                      options.precision, *options.option])
                    run = found["runs"].setdefault(f"{' '.join(where.split())}\t{name}", {"builds": 0, "problems": {}})
                    report = report_of(options, model, level, os.path.join(folder, "report.json"))
                    run["device"], run["builds"] = report["device"], run["builds"] + 1
                    add_report(run["problems"], report)
                    print(f"{where} {name}: build {build + 1} of {options.builds}", file=sys.stderr, flush=True)
            with open(options.output + ".new", "w") as file:
                json.dump(found, file, indent=1)
            os.replace(options.output + ".new", options.output)


def level_of(kernel):
    base, _, level = kernel.rpartition("_")
    return (base, level) if level in LEVELS else (kernel, "")


class Problem:
    """One node problem: each kernel's least time among the candidates that absorb as much as any does."""

    def __init__(self, where, model, key, data):
        self.where, self.model, self.key, self.op = where, model, key, re.split(r"[+ ]", key)[0]
        self.nodes, self.chosen = data["nodes"], data["chosen"]
        self.levels, self.libraries, self.tactics = {}, {}, {}
        most = max((int(c.split("\t")[2]) for c in data["times"]), default=0)
        for candidate, ns in data["times"].items():
            kernel, library, absorbs, _, _, *tactic = candidate.split("\t")
            if int(absorbs) != most:
                continue
            if tactic and ns <= self.levels.get(kernel, ns):
                self.tactics[kernel] = tactic[0]
            self.levels[kernel] = min(ns, self.levels.get(kernel, ns))
            self.libraries[level_of(kernel)[0]] = library

    def ranking(self, without=None):
        """(least time, kernel) in order, levels as one kernel."""
        best = {}
        for kernel, ns in self.levels.items():
            base = level_of(kernel)[0]
            if base != without and self.libraries[base] != without:
                best[base] = min(ns, best.get(base, ns))
        return sorted((ns, kernel) for kernel, ns in best.items())


def problems_of(files):
    problems = {}
    for path in files:
        with open(path) as file:
            runs = json.load(file)["runs"]
        for run, data in runs.items():
            where, model = run.split("\t")
            for key, problem in data["problems"].items():
                mine = problems.setdefault((where, model, key), {"nodes": 0, "times": {}, "chosen": {}})
                mine["nodes"] = max(mine["nodes"], problem["nodes"])
                for candidate, ns in problem["times"].items():
                    mine["times"][candidate] = min(ns, mine["times"].get(candidate, ns))
                for kernel, count in problem["chosen"].items():
                    mine["chosen"][kernel] = mine["chosen"].get(kernel, 0) + count
    return [Problem(*key, data) for key, data in problems.items()]


def count_wins(problems, without=None):
    """Of each (operator, kernel): tried, won, won by the margin, chosen, the greatest lead. Equal problems of several models count once."""
    counts, seen = {}, set()
    for problem in problems:
        ranking = problem.ranking(without)
        for kernel in {level_of(kernel)[0] for kernel in problem.chosen}:
            counts.setdefault((problem.op, kernel), [0, 0, 0, 0, 1.0])[3] += 1
        if problem.key in seen or not ranking:
            continue
        seen.add(problem.key)
        for rank, (ns, kernel) in enumerate(ranking):
            count = counts.setdefault((problem.op, kernel), [0, 0, 0, 0, 1.0])
            count[0] += 1
            if rank == 0 and len(ranking) > 1:
                lead = ranking[1][0] / ns
                count[1] += 1
                count[2] += lead >= MARGIN
                count[4] = max(count[4], lead)
            elif rank == 0:
                count[1] += 1
                count[2] += 1
    return counts


def losses_without(problems, without=None):
    """Of each (operator, kernel) the model that its absence slows most: (factor, model). Infinite where nothing else does a node."""
    sums = collections.defaultdict(float)
    extra = collections.defaultdict(float)
    for problem in problems:
        ranking = problem.ranking(without)
        if not ranking:
            continue
        sums[problem.model] += problem.nodes * ranking[0][0]
        next_ns = ranking[1][0] if len(ranking) > 1 else float("inf")
        extra[(problem.op, ranking[0][1], problem.model)] += problem.nodes * (next_ns - ranking[0][0])
    losses = {}
    for (op, kernel, model), ns in extra.items():
        if model != "layers":
            losses[(op, kernel)] = max(losses.get((op, kernel), (0, "")), (ns / sums[model], model))
    return losses


def loss_text(loss):
    if not loss:
        return "-"
    return f"no other, {loss[1]}" if loss[0] == float("inf") else f"+{100 * loss[0]:.1f}%, {loss[1]}"


def show_wins(lines, problems, options):
    sides = [("", None)] + [(f" without {name}", name) for name in options.without]
    lines.append("| operator | kernel | library | tried | won | by 5% | greatest lead | chosen | without it |"
                 + "".join(f" won{title} | by 5% | without it |" for title, _ in sides[1:]))
    lines.append("|-|-|-|-|-|-|-|-|-|" + "-|-|-|" * (len(sides) - 1))
    counts = [(count_wins(problems, name), losses_without(problems, name)) for _, name in sides]
    libraries = {}
    for problem in problems:
        libraries.update({(problem.op, kernel): library for kernel, library in problem.libraries.items()})
    for op, kernel in sorted(counts[0][0]):
        tried, won, by_margin, chosen, lead = counts[0][0][(op, kernel)]
        row = [op, kernel, libraries.get((op, kernel), "-"), tried, won, by_margin, f"{lead:.2f}", chosen,
               loss_text(counts[0][1].get((op, kernel)))]
        for wins, losses in counts[1:]:
            count = wins.get((op, kernel))
            row += [count[1], count[2], loss_text(losses.get((op, kernel)))] if count else ["-"] * 3
        lines.append("| " + " | ".join(map(str, row)) + " |")
    lines.append("")


def show_levels(lines, problems):
    """A level of a kernel against the kernel's levels below it."""
    counts = {}
    for problem in problems:
        for kernel, ns in problem.levels.items():
            base, level = level_of(kernel)
            if not level:
                continue
            lower = [problem.levels.get(f"{base}_{other}") for other in LEVELS[:LEVELS.index(level)]]
            lower = [other for other in lower if other]
            if lower:
                count = counts.setdefault((problem.op, kernel), [0, 0, []])
                count[0] += 1
                count[1] += min(lower) / ns >= MARGIN
                count[2].append(min(lower) / ns)
    if not counts:
        return
    lines += ["| operator | kernel | problems | faster by 5% than the levels below | median | greatest |", "|-|-|-|-|-|-|"]
    for (op, kernel), (tried, faster, ratios) in sorted(counts.items()):
        ratios.sort()
        lines.append(f"| {op} | {kernel} | {tried} | {faster} | {ratios[len(ratios) // 2]:.2f} | {ratios[-1]:.2f} |")
    lines.append("")


def show_tactics(lines, problems):
    counts = collections.defaultdict(collections.Counter)
    for problem in problems:
        for kernel, tactic in problem.tactics.items():
            is_won = problem.ranking()[0][1] == level_of(kernel)[0]
            counts[(problem.op, kernel)][int(tactic)] += 1
            counts[(problem.op, kernel, "won")][int(tactic)] += is_won
    if not counts:
        return
    lines += ["| operator | kernel | its best tactic: problems, and of these won |", "|-|-|-|"]
    for key, tactics in sorted(counts.items()):
        if len(key) == 2:
            text = ", ".join(f"{tactic}: {count} and {counts[(*key, 'won')][tactic]}" for tactic, count in sorted(tactics.items()))
            lines.append(f"| {key[0]} | {key[1]} | {text} |")
    lines.append("")


def ranking_text(ranking):
    """The fastest kernel's time in microseconds, and how many times as long the others take."""
    best = ranking[0][0]
    return ", ".join([f"{ranking[0][1]} {best / 1000:.4g}"] + [f"{kernel} x {ns / best:.2f}" for ns, kernel in ranking[1:]])


def show_problems(lines, problems):
    """A row for each problem that several kernels take, a column for each device, level and precision."""
    columns = sorted({problem.where for problem in problems})
    rows, networks = {}, {}
    for problem in problems:
        ranking = problem.ranking()
        if len(ranking) > 1:
            networks.setdefault(problem.key, {})[problem.model] = problem.nodes
            best = rows.setdefault(problem.key, {}).get(problem.where)
            if not best or ranking[0][0] < best[0][0]:
                rows[problem.key][problem.where] = ranking
    lines += ["## Problems", "", "The fastest kernel in microseconds, and how many times as long the others take.", ""]
    lines += ["| problem | nodes | " + " | ".join(columns) + " |", "|-|-|" + "-|" * len(columns)]
    for key, row in sorted(rows.items()):
        nodes = ", ".join(f"{count} {model}" for model, count in sorted(networks[key].items()))
        cells = [ranking_text(row[where]) if where in row else "" for where in columns]
        lines.append(f"| {key} | {nodes} | " + " | ".join(cells) + " |")
    lines.append("")


def table(options):
    problems = [p for p in problems_of(options.files) if not options.operator or p.op in options.operator]
    if options.drop_single:
        problems = [p for p in problems if len(p.ranking()) > 1]
    lines = ["# Which kernel wins where", "", f"Printed {datetime.date.today()}. How to measure and how to read it: `bench/kernel_wins.py`.", ""]
    for where in sorted({problem.where for problem in problems}):
        here = [problem for problem in problems if problem.where == where]
        lines += [f"## {where}", ""]
        show_wins(lines, here, options)
        show_levels(lines, here)
        show_tactics(lines, here)
    if options.problems:
        show_problems(lines, problems)
    text = "\n".join(lines)
    if options.output:
        with open(options.output, "w") as file:
            file.write(text)
    else:
        print(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    making = verbs.add_parser("make")
    making.add_argument("folder")
    measuring = verbs.add_parser("measure")
    measuring.add_argument("program", metavar="TENON")
    measuring.add_argument("models", nargs="+", metavar="MODEL.onnx")
    measuring.add_argument("--device", default="cpu")
    measuring.add_argument("--level", action="append", choices=("baseline", "avx2", "avx512"))
    measuring.add_argument("--precision", default="")
    measuring.add_argument("--threads", type=int, default=1)
    measuring.add_argument("--builds", type=int, default=5)
    measuring.add_argument("--seconds", type=float, default=60, help="of one build's measuring, at most")
    measuring.add_argument("--option", action="append", default=[], help="passed on to `tenon build`")
    measuring.add_argument("-o", "--output", required=True, metavar="TIMES.json")
    showing = verbs.add_parser("table")
    showing.add_argument("files", nargs="+", metavar="TIMES.json")
    showing.add_argument("--without", action="append", default=[], metavar="LIBRARY|KERNEL", help="count once more without it")
    showing.add_argument("--operator", action="append", default=[], help="of these operators alone")
    showing.add_argument("--drop-single", action="store_true", help="without problems that one kernel alone takes")
    showing.add_argument("--problems", action="store_true", help="list each problem, too")
    showing.add_argument("-o", "--output", metavar="PAGE.md")
    options = parser.parse_args()
    {"make": make, "measure": measure, "table": table}[options.verb](options)


if __name__ == "__main__":
    sys.exit(main())
