# SPDX-License-Identifier: Apache-2.0
"""What tenon build prints of the plan that it made: nodes, times, memory, the loss, and what fell to the processor.

Usage: check_build_summary.py TENON STUB, where TENON is the program and STUB the library of the stub device. Needs NumPy and onnx.
"""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from checks import ProgramChecks

MODELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "models")
LENET = os.path.join(MODELS, "lenet.onnx")
SIZE = r"[0-9.]+ (bytes|kB|MB)"
WORK = rf"  (\d+) nodes in (\d+) kernels, \d+ conversions?; %s; {SIZE} of weights, {SIZE} for tensors in a run"
MEASURED, BY_RULE = r"[0-9.]+ (us|ms|s) as the sum of measured times", "chosen by rule, nothing was measured"


class Checks(ProgramChecks):
    def program(self, *arguments):
        return subprocess.run([self.tenon, "build", LENET, "-o", "net.plan", "--shape", "input=1x1x28x28", *arguments],
                              capture_output=True, text=True, timeout=300, cwd=self.folder)

    def lines(self, text, patterns, *arguments):
        """Each line that is printed is as its pattern says, and there are no more."""
        done = self.program(*arguments)
        found = done.stdout.splitlines()
        size = os.path.getsize(os.path.join(self.folder, "net.plan")) if done.returncode == 0 else 0
        good = done.returncode == 0 and len(found) == len(patterns) + 1 and found[0] == f"net.plan: {size} bytes"
        good = good and all(re.fullmatch(pattern, line) for pattern, line in zip(patterns, found[1:]))
        self.say(good, f"{text}: exit {done.returncode} {done.stderr.strip()} {' | '.join(found)}")
        return found


def save_slow_network(path):
    """Forty convolutions of which no two are equal: all of their kernels take more than a minute to measure."""
    width = [8 + i % 40 for i in range(41)]
    kernels = [numpy_helper.from_array(np.full((width[i + 1], width[i], 3, 3), 0.01, np.float32), f"w{i}") for i in range(40)]
    nodes = [helper.make_node("Conv", [f"x{i}", f"w{i}"], [f"x{i + 1}"], pads=[1] * 4) for i in range(40)]
    ends = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)] for name, shape in (("x0", [1, 8, 128, 128]), ("x40", None))]
    graph = helper.make_graph(nodes, "slow", *ends, kernels)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def read_some(terminal):
    """What a terminal shows; nothing once its other end is closed."""
    try:
        return os.read(terminal, 4096).decode()
    except OSError:
        return ""


def build_signalled(checks, number, model, *options):
    """A build that gets a signal once it measures: how it ends, what the terminal shows, and the files that it leaves."""
    ours, theirs = pty.openpty() # progress is shown on terminals
    before = set(os.listdir(checks.folder))
    files = ["-o", f"{number.name}.plan", "--timing-cache", f"{number.name}.cache"]
    building = subprocess.Popen([checks.tenon, "build", model, *files, "-t", "1", *options], cwd=checks.folder,
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    shown = ""
    while not re.search(r"measure [1-9]", shown) and (said := read_some(ours)):
        shown += said
    building.send_signal(number)
    while said := read_some(ours):
        shown += said
    code = building.wait(timeout=120)
    os.close(ours)
    return code, shown, {name.split(".", 1)[1] for name in set(os.listdir(checks.folder)) - before}


def has_terminals():
    """Bare machines have none where nobody has mounted /dev/pts."""
    try:
        for end in pty.openpty():
            os.close(end)
    except OSError:
        return False
    return True


def check_interrupt(checks):
    """A build that is stopped once it measures ends by that signal, without a plan, and keeps its timings. What is to be ignored is."""
    save_slow_network(checks.path("slow.onnx")) # the signal comes while it measures, however late this program reads that it does
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None) # programs get the default; a shell has those in the background ignore SIGINT
        code, shown, left = build_signalled(checks, number, "slow.onnx", "--timing-seconds", "120")
        checks.say(code == -number and "stopped by the caller" in shown and f"is kept in '{number.name}.cache'" in shown,
                   f"a build under {number.name}: {code} {shown[-300:]!r}")
        checks.say(left == {"cache", "cache.lock"}, f"a build under {number.name} leaves {left}")
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    code, shown, left = build_signalled(checks, signal.SIGHUP, LENET, "--timing-seconds", "2")
    checks.say(code == 0 and "stopped" not in shown and left == {"plan", "cache", "cache.lock"},
               f"a build that ignores SIGHUP: {code}, leaves {left}")


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="tenon-build-summary.") as folder:
        checks = Checks(os.path.abspath(sys.argv[1]), folder)
        os.makedirs(os.path.join(folder, "samples"))
        for index in range(4):
            np.save(os.path.join(folder, "samples", f"{index}.npy"),
                    np.random.RandomState(index).rand(1, 1, 28, 28).astype(np.float32))
        stub = ("--device", "stub", "--plugin", os.path.abspath(sys.argv[2]))
        int8 = ("--no-timing", "--precision", "int8", "--calibration", "samples")
        checks.lines("timed", [WORK % MEASURED], "--timing-seconds", "2")
        checks.lines("by rule", [WORK % BY_RULE], "--no-timing")
        checks.lines("without measuring", [WORK % BY_RULE], "--timing-seconds", "0")
        checks.lines("without measuring and with an empty cache", [WORK % BY_RULE], "--timing-seconds", "0", "--timing-cache", "new.cache")
        checks.lines("a cache is filled", [WORK % MEASURED], "--timing-seconds", "2", "--timing-cache", "full.cache")
        checks.lines("without measuring, by that cache", [WORK % MEASURED], "--timing-seconds", "0", "--timing-cache", "full.cache")
        loss = r"loss of accuracy [0-9.e-]+%s over 4 sample inputs"
        checks.lines("int8", [WORK % BY_RULE, rf"  int8: [1-9]\d* of \d+ kernels; {loss % ''}"], *int8)
        checks.lines("int8 with a bound",
                     [WORK % BY_RULE, rf"  int8: \d+ of \d+ kernels, [1-9]\d* nodes? back in fp32; {loss % ' .bound 1e-05.'}"],
                     *int8, "--max-accuracy-loss", "1e-5")
        checks.lines("fp16", [WORK % BY_RULE, r"  f16: \d+ of \d+ kernels"], "--no-timing", "--precision", "fp16")
        checks.lines("a device, by rule",
                     [WORK % BY_RULE, r"  on the processor: 1 of \d+ nodes \(Softmax 1\), 40 bytes in 1 copy, not measured"],
                     *stub, "--no-timing")
        checks.lines("a device, timed",
                     [WORK % MEASURED, r"  on the processor: 1 of \d+ nodes \(Softmax 1\), 40 bytes in 1 copy, "
                      r"(less than 1|\d+)% of the measured time"], *stub, "--timing-seconds", "2")
        for second in ("fp16", "bf16"):
            checks.lines(f"int8,{second} on a device, ranges from samples",
                         [WORK % BY_RULE, rf"  int8,{second}: \d+ of \d+ kernels; {loss % ''}", r"  on the processor: .*"],
                         *stub, "--no-timing", "--precision", f"int8,{second}", "--calibration", "samples")
        done = checks.program(*stub, "--no-timing", "--json")
        part = json.loads(done.stdout)["processor"]
        checks.say(part["nodes"] == 1 and part["operators"] == [{"op": "Softmax", "nodes": 1}] and part["share"] is None,
                   f"as JSON: {part}")
        if has_terminals():
            check_interrupt(checks)
        else:
            checks.skip("builds under signals: there are no pseudo-terminals, on which they show that they measure")
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
