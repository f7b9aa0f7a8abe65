#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a library of kernels wins: least times of networks by builds of Tenon with different ones, and without any, in turns of one run.

    bench/kernel_libraries.py NAME=BUILD[/bin] ... MODEL.onnx ... [--threads 1] [--levels avx2,avx512] [--rounds 4] [--seconds 0.3]

Each BUILD has libraries of its own (cmake -DDNNL_INCLUDE=DIR -DDNNL_LIBRARY=FILE for another oneDNN); the last column, "none", is the first
one's with --no-kernel-libraries. Each builds its own plan, by measuring, for each level of the processor, which is that of a library's kernels too.
Printed are milliseconds, and each over the least of its row. It takes about a minute a network and level."""
import argparse
import os
import re
import subprocess
import sys
import tempfile

ONEDNN_LEVELS = {"avx2": "AVX2", "avx512": "AVX512_CORE"}  # 2.6 and 3.2 name them alike


def output_of(command, environment):
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        sys.exit(f"failed: {' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def environment_of(build, level):
    isa = ONEDNN_LEVELS[level]
    return dict(os.environ, LD_LIBRARY_PATH=os.path.join(build, "lib"), TENON_CPU_LEVEL=level, ONEDNN_MAX_CPU_ISA=isa, DNNL_MAX_CPU_ISA=isa)


def measure(options, builds, model, level, folder):
    """By name, the least milliseconds of all rounds."""
    least, plans = {}, {}
    for name, build, arguments in builds:
        plans[name] = os.path.join(folder, f"{len(plans)}.plan")
        output_of([f"{build}/bin/tenon", "build", model, "-t", str(options.threads), "-o", plans[name], *arguments], environment_of(build, level))
    for number in range(options.rounds):
        for name, build, _ in builds if number % 2 else reversed(builds):
            text = output_of([f"{build}/bin/tenon", "bench", plans[name], "-t", str(options.threads), "--seconds", str(options.seconds)],
                             environment_of(build, level))
            found = float(re.search(r"min_ms=([\d.]+)", text)[1])
            least[name] = min(found, least.get(name, found))
    return least


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("builds", nargs="+", metavar="NAME=BUILD or MODEL.onnx")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--levels", type=lambda text: text.split(","), default=list(ONEDNN_LEVELS))
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=0.3)
    options = parser.parse_args()
    models = [each for each in options.builds if "=" not in each]
    builds = [(name, os.path.abspath(path.removesuffix("/bin")), []) for name, path in
              (each.split("=", 1) for each in options.builds if "=" in each)]
    if not builds or not models:
        parser.error("at least one NAME=BUILD and one MODEL.onnx")
    builds.append(("none", builds[0][1], ["--no-kernel-libraries"]))
    names = [name for name, _, _ in builds]
    print(f"{options.threads} threads\n\n| network | level | {' | '.join(names)} |\n|-|-{'|-' * len(names)}|")
    with tempfile.TemporaryDirectory(prefix="tenon-libraries.") as folder:
        for model in models:
            for level in options.levels:
                least = measure(options, builds, model, level, folder)
                best = min(least.values())
                cells = " | ".join(f"{least[name]:.4g} ({least[name] / best:.2f})" for name in names)
                print(f"| {os.path.basename(model).removesuffix('.onnx')} | {level} | {cells} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
