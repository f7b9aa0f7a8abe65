#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Is a version slower than the one before: before_after.py make FOLDER; before_after.py time BEFORE AFTER MODEL.onnx ... [--device cuda]

`make` writes ResNet-50 and MobileNetV2 with random weights (needs onnx and numpy). `time` builds a plan of each model by each program,
--builds times, takes each program's fastest, and runs both in turns, --pairs times. Printed are the medians of both in milliseconds and the median of
the pairs' ratios, after over before, with the quarter and three quarters of the pairs. BEFORE and AFTER are `tenon` programs. It needs nothing but Python."""
import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
SECONDS_A_RUN = "0.3"


def make(folder):
    import numpy as np
    import plan_quality

    class Network(plan_quality.Network):
        """Weights are kept in 8 bits with a factor, which a build folds: a quarter of the file."""

        def constant(self, values):
            values = np.asarray(values, np.float32)
            if values.size < 4096:
                return super().constant(values)
            scale = np.abs(values).max() / 127
            stored = f"w{len(self.weights)}"
            self.weights.append(plan_quality.numpy_helper.from_array(np.round(values / scale).astype(np.int8), stored))
            return self.add("Mul", [self.add("Cast", [stored], to=1), super().constant(scale)])

    for name, layers in {"resnet50": plan_quality.resnet50, "mobilenet_v2": plan_quality.mobilenet_v2}.items():
        network = Network(name)
        network.save(layers(network), os.path.join(folder, f"{name}.onnx"))


def median_ms(program, plan, options):
    command = [program, "bench", plan, "--seconds", SECONDS_A_RUN]
    if options.device == "cpu":
        command += ["--threads", str(options.threads)]
    last = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip().splitlines()[-1]
    return float(re.search(r"median_ms=([\d.]+)", last).group(1))


def fastest_plan(program, model, name, folder, options):
    plans = {}
    for build in range(options.builds):
        plan = os.path.join(folder, f"{name}-{build}.plan")
        command = [program, "build", model, "-o", plan, *options.build_options]
        command += ["--threads", str(options.threads)] if options.device == "cpu" else ["--device", options.device]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        plans[plan] = min(median_ms(program, plan, options) for _ in range(3))
    return min(plans, key=plans.get)


def time_pairs(model, options):
    sides = {"before": options.before, "after": options.after}
    with tempfile.TemporaryDirectory(prefix="tenon-before-after.") as folder:
        plans = {side: fastest_plan(program, model, side, folder, options) for side, program in sides.items()}
        times = {side: [] for side in sides}
        for pair in range(options.pairs):
            for side in (sides if pair % 2 == 0 else reversed(sides)):
                times[side].append(median_ms(sides[side], plans[side], options))
    ratios = sorted(after / before for before, after in zip(times["before"], times["after"]))
    quarters = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
    print(f"| {os.path.basename(model)} | {statistics.median(times['before']):.4f} | {statistics.median(times['after']):.4f} "
          f"| {quarters[1]:.3f} | {quarters[0]:.3f} to {quarters[2]:.3f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("make").add_argument("folder")
    timing = verbs.add_parser("time")
    timing.add_argument("before")
    timing.add_argument("after")
    timing.add_argument("models", nargs="+")
    timing.add_argument("--device", default="cpu")
    timing.add_argument("--threads", type=int, default=1)
    timing.add_argument("--builds", type=int, default=3)
    timing.add_argument("--pairs", type=int, default=20)
    timing.add_argument("--build-option", dest="build_options", action="append", default=[])
    options = parser.parse_args()
    if options.verb == "make":
        return make(options.folder)
    print("| model | before, ms | after, ms | ratio | half of the pairs |\n|-|-|-|-|-|", flush=True)
    for model in options.models:
        time_pairs(model, options)


if __name__ == "__main__":
    sys.exit(main())
