# SPDX-License-Identifier: Apache-2.0
"""Operators behind an output that its run sizes have kernels, by rule and in a build that measures, and compute what their references do.

Usage: check_open_shapes.py TENON. Needs NumPy and onnx, which write the networks of scripts/models/open_shapes.py.
"""

import json
import os
import sys
import tempfile

import numpy as np
import onnx

from checks import ProgramChecks

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts", "models"))
import open_shapes  # noqa: E402



class Checks(ProgramChecks):
    prints_passes = False

    def build(self, plan, *options, environment=None):
        done = self.program("build", "it.onnx", "-o", plan, "-t", "1", "--keep-half", "--report", "report.json", *options,
                            env={**os.environ, **(environment or {})})
        if done.returncode:
            return done.stderr
        with open(self.path("report.json")) as file:
            return {node["name"]: node.get("kernel") for node in json.load(file)["nodes"]}

    def run(self, plan, feed):
        given = [word for name in feed for word in ("--input", f"{name}={name}.npy")]
        for name, value in feed.items():
            np.save(self.path(f"{name}.npy"), value)
        done = self.program("run", plan, *given, "--output", "y=y.npy")
        return np.load(self.path("y.npy")) if done.returncode == 0 else done.stderr

    def kernel_of_run(self, plan, feed):
        """What a run has the node computed by: the reference where a kernel refuses its shape."""
        given = [word for name in feed for word in ("--input", f"{name}={name}.npy")]
        done = self.program("bench", plan, "-t", "1", "--seconds", "0.01", "--profile", "--json", *given)
        return {entry["node"]: entry["kernel"] for entry in json.loads(done.stdout)["profile"]} if done.returncode == 0 else done.stderr

    def check(self, name, operator, shape, model, feed):
        onnx.save(model, self.path("it.onnx"))
        plain = self.build("reference.plan", "--no-timing", environment={"TENON_FORCE_KERNEL": f"{operator}=reference"})
        ruled = self.build("it.plan", "--no-timing")
        if not self.report(f"{name} is built", isinstance(plain, dict) and isinstance(ruled, dict), (plain, ruled)):
            return
        self.report(f"{name} has a kernel", ruled["it"] != "reference" and plain["it"] == "reference", (plain, ruled))
        for kept in (feed["mask"], np.arange(shape[0]) % 2 == 0, np.zeros(shape[0], bool)):
            some = {**feed, "mask": kept}
            expected, found = self.run("reference.plan", some), self.run("it.plan", some)
            if isinstance(expected, str) and isinstance(found, str):
                continue  # a constant that goes with other rows
            self.report(f"{name} of {kept.sum()} rows", is_close(found, expected), f"{found} for {expected}")
        self.run("it.plan", feed)
        ran = self.kernel_of_run("it.plan", feed)
        self.report(f"{name} runs by it", isinstance(ran, dict) and ran.get("it") == ruled["it"], (ran, ruled))
        measured = self.build("measured.plan")
        self.report(f"{name} has the same one in a build that measures", isinstance(measured, dict) and measured["it"] == ruled["it"], (measured, ruled))


def is_close(found, expected):
    if isinstance(found, str) or isinstance(expected, str) or found.shape != expected.shape or found.dtype != expected.dtype:
        return False
    if found.dtype.kind in "ui":  # roundings of halves
        return np.abs(found.astype(np.int64) - expected.astype(np.int64)).max(initial=0) <= 1
    tolerance = 2e-2 if found.dtype == np.float16 else 2e-4
    return np.allclose(found, expected, rtol=tolerance, atol=tolerance, equal_nan=True)


def refused(checks):
    """A profile names the reference where a kernel for any shape refuses one: Scale that is broadcast along the lane."""
    shape = (3, 4)
    model, feed = open_shapes.model("LayerNormalization", shape, ["X", np.ones(1, np.float32)], open_shapes.floats, "", {})
    onnx.save(model, checks.path("it.onnx"))
    kernel = checks.build("it.plan", "--no-timing")
    checks.run("it.plan", feed)
    ran = checks.kernel_of_run("it.plan", feed)
    checks.report("a refused shape is the reference's", isinstance(ran, dict) and kernel["it"] != "reference" == ran["it"], (kernel, ran))


def main(tenon):
    with tempfile.TemporaryDirectory() as folder:
        checks = Checks(tenon, folder)
        for case in open_shapes.cases():
            checks.check(*case)
        refused(checks)
        return checks.end()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
