# SPDX-License-Identifier: Apache-2.0
"""A plan on another processor level or with another number of threads than it was built for: what is said, what is refused.

Usage: check_plan_fit.py TENON, where TENON is the program. Needs NumPy alone. TENON_CPU_LEVEL makes another processor of
this one, where it has more than the baseline.
"""

import json
import os
import subprocess
import sys
import tempfile

import numpy as np

from checks import ProgramChecks

MODELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "models")
LENET = os.path.join(MODELS, "lenet.onnx")
AGAIN = "kernels are chosen again, without timing: the plan was built "


class Checks(ProgramChecks):
    def program(self, *arguments, **environment):
        return subprocess.run([self.tenon, *arguments], capture_output=True, text=True, timeout=300, cwd=self.folder,
                              env={**os.environ, **environment})

    def expect(self, text, code, parts, *arguments, **environment):
        """The exit code, and each of the parts on one line of what is printed; none means silence on stderr."""
        done = self.program(*arguments, **environment)
        printed = (done.stderr + done.stdout).splitlines()
        good = done.returncode == code and all(any(part in line for line in printed) for part in parts)
        self.say(good and (parts or not done.stderr), f"{text}: exit {done.returncode} {' | '.join(done.stderr.splitlines())}")


def check_threads(checks):
    run = ("run", "net.plan", "--input", "input=input.npy")
    for more in ((), ("--threads", "1"), ("--exact",), ("--exact", "--threads", "1")):
        checks.expect(f"as it was built {more}", 0, [], *run, *more)
    checks.expect("with other threads", 0, [AGAIN + "for 1 thread, not 2"], *run, "--threads", "2")
    checks.expect("with other threads, exactly", 1, ["net.plan: ", "it was built for 1 thread, not 2"], *run, "--threads", "2",
                  "--exact")
    checks.expect("timed with other threads, exactly", 1, ["for 1 thread, not 2"], "bench", "net.plan", "--seconds", "0",
                  "--threads", "2", "--exact")


def check_processor(checks):
    baseline = {"TENON_CPU_LEVEL": "baseline"}
    run = ("run", "net.plan", "--input", "input=input.npy", "--output", "output=output.npy")
    checks.expect("on another processor", 0, [AGAIN + "with avx", "which this machine lacks"], *run, **baseline)
    lower = np.load(os.path.join(checks.folder, "output.npy"))
    checks.expect("as it was built", 0, [], *run)
    checks.say(np.allclose(lower, np.load(os.path.join(checks.folder, "output.npy")), atol=1e-4), "both compute the same")
    checks.expect("on another processor, exactly", 1, ["it was built with avx", "exact loading chooses none"], *run, "--exact",
                  **baseline)
    checks.expect("doctor on another processor", 0,
                  ["not this machine: built with avx", "none of them is this machine"], "doctor", "net.plan", **baseline)
    checks.expect("doctor on another processor, exactly", 1, ["--exact refuses"], "doctor", "net.plan", "--exact", **baseline)
    said = json.loads(checks.program("doctor", "net.plan", "--json", **baseline).stdout)
    checks.say(said["fitting"] == 0 and not said["programs"][0]["fits"] and "avx" in said["programs"][0]["why"],
               "doctor as JSON on another processor")
    said = json.loads(checks.program("inspect", "net.plan", "--json", **baseline).stdout)
    checks.say(said["programs"][0]["fits"] is False, "inspect on another processor")


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="tenon-plan-fit.") as folder:
        checks = Checks(os.path.abspath(sys.argv[1]), folder)
        np.save(os.path.join(folder, "input.npy"), np.random.RandomState(1).rand(1, 1, 28, 28).astype(np.float32))
        checks.expect("build", 0, ["net.plan"], "build", LENET, "-o", "net.plan", "--no-timing", "--threads", "1", "--shape",
                      "input=1x1x28x28")
        check_threads(checks)
        checks.expect("doctor", 0, ["1 thread: this machine", "kernels were chosen for"], "doctor", "net.plan")
        said = json.loads(checks.program("doctor", "net.plan", "--json").stdout)
        checks.say(said["fitting"] == 1 and said["programs"][0]["fits"] and said["programs"][0]["threads"] == 1,
                   "doctor as JSON")
        said = json.loads(checks.program("inspect", "net.plan", "--json").stdout)
        checks.say(said["programs"][0]["fits"] is True and said["programs"][0]["threads"] == 1, "inspect as JSON")
        if "avx" in checks.program("doctor").stdout.split("processor features:")[1].splitlines()[0]:
            check_processor(checks)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
