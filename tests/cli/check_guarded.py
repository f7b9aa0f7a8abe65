# SPDX-License-Identifier: Apache-2.0
"""Guarded and isolated running, as a user meets them: layers with one mistake each are named, and good networks compute
what they compute without.

Usage: check_guarded.py TENON LAYERS PLUGINS, where TENON is the program, LAYERS the library guarded_layers of
tests/guarded and PLUGINS the folder of the examples' plugins.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from checks import ProgramChecks

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
MODELS = os.path.join(ROOT, "models")
DOMAIN = "tests.guarded"
PATIENCE_SECONDS = 60  # a busy machine starts and ends processes late
FAULT = 1
SHAPE = (2, 3, 5)

# Each mistake of the kernel, and what the message of a checked run says of it.
FOUND_BY_CHECKING = {
    "overrun": "wrote 0 bytes past the end of output 0 'y' (120 bytes)",
    "far_overrun": "writes 20000 bytes past the end of output 0 'y'",
    "underrun": "wrote 1 bytes before the start of output 0 'y'",
    "read_past": "reads 8000 bytes past the end of input 0 'x'",
    "writes_input": "writes input 0 'x' (120 bytes), 4 bytes from its start",
    "writes_constant": "writes input 1 'w' (4 bytes), 0 bytes from its start",
    "unwritten": "left element [1, 2, 4] of output 0 'y' (120 bytes) unwritten",
    "nan": "element [1, 2, 4] of output 0 'y' (120 bytes) is nan, and all of its inputs are finite",
    "infinity": "element [1, 2, 3] of output 0 'y' (120 bytes) is inf",
    "workspace": "writes 8000 bytes past the end of the workspace (120 bytes",
    "segfault": "touched memory that is not there: signal 11 at address (nil), near null",
    "body_segfault": "touched memory that is not there",
    "thread_overrun": "writes 4096 bytes past the end of output 0 'y'",
    "stack_overflow": "touched memory that is not there",
    "division": "did arithmetic that faults",
    "abort": "was aborted",
    "descriptor": "changed the description of output 0 'y'",
    "fails": "it is meant to fail",
}

# Each mistake that ends or stops the helper process, and what the message of an isolated run says of it.
FOUND_BY_ISOLATION = {
    "segfault": "was ended by signal 11 (Segmentation fault), in run",
    "body_segfault": "was ended by signal 11 (Segmentation fault), in run",
    "stack_overflow": "was ended by signal 11 (Segmentation fault), in run",
    "division": "was ended by signal 8 (Floating point exception), in run",
    "abort": "was ended by signal 6 (Aborted), in run",
    "exit": "called exit(0), in run",
    "loop": "it did not return within 400 ms, in run",
    "fails": "it is meant to fail",
}


class Checks(ProgramChecks):
    def __init__(self, tenon, layers, plugins, folder):
        super().__init__(tenon, folder)
        self.layers, self.plugins = layers, plugins
        self.x = np.linspace(-1, 1, int(np.prod(SHAPE)), dtype=np.float32).reshape(SHAPE)
        np.save(self.path("x.npy"), self.x)

    def program(self, *arguments, timeout=120):
        return subprocess.run([self.tenon, *arguments], capture_output=True, text=True, timeout=timeout,
                              cwd=self.folder, check=False)

    def network(self, mistake, stage="run", operator="Faulty"):
        """Relu(x) * 1 -> the layer -> Neg: the layer's tensors are the network's own names x and y."""
        inputs = ["x", "w"] if operator == "Faulty" else ["x"]
        nodes = [helper.make_node("Abs", ["given"], ["x"], name="before"),
                 helper.make_node(operator, inputs, ["y"], name="bad", domain=DOMAIN, mistake=mistake, stage=stage),
                 helper.make_node("Neg", ["y"], ["out"], name="after")]
        constants = [numpy_helper.from_array(np.array([0.5], np.float32), "w")] if operator == "Faulty" else []
        out = SHAPE if operator == "Faulty" else ["n"]
        graph = helper.make_graph(nodes, "guarded",
                                  [helper.make_tensor_value_info("given", TensorProto.FLOAT, SHAPE)],
                                  [helper.make_tensor_value_info("out", TensorProto.FLOAT, out)], constants)
        model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17),
                                                                      helper.make_opsetid(DOMAIN, 1)])
        path = self.path(f"{operator}_{mistake}_{stage}.onnx")
        onnx.save(model, path)
        return path

    def run(self, model, *options, timeout=120):
        return self.program("run", model, "--plugin", self.layers, "--input", "given=x.npy", "--output", "out=out.npy",
                            *options, timeout=timeout)

    def expect_fault(self, title, done, *parts):
        missing = [part for part in parts if part not in done.stderr]
        self.say(done.returncode == FAULT and not missing,
                 f"{title}" + (f": exit {done.returncode}, without {missing}: {done.stderr.strip()[:500]}"
                               if done.returncode != FAULT or missing else ""))


WHERE = ("node 'bad': operator tests.guarded::Faulty: kernel mistaken (library guarded_layers)",)


def check_mistakes(checks):
    for mistake, text in FOUND_BY_CHECKING.items():
        for threads in ("1", "2") if mistake in ("body_segfault", "overrun") else ("2",):
            if mistake == "body_segfault" and threads == "1":
                continue  # one part, which begins at 0
            done = checks.run(checks.network(mistake), "--checked", "--threads", threads)
            checks.expect_fault(f"checked: {mistake} with {threads} threads", done, text, *WHERE)
    done = checks.run(checks.network("overrun", operator="Positive"), "--checked")
    checks.expect_fault("checked: overrun of an output sized by its run", done,
                        "wrote 0 bytes past the end of output 0 'y'", "node 'bad': operator tests.guarded::Positive")
    done = checks.run(checks.network("overrun", operator="Twice"), "--checked")
    checks.expect_fault("checked: overrun of an output without a bound", done,
                        "wrote 0 bytes past the end of output 0 'y'", "node 'bad': operator tests.guarded::Twice")


def check_dump(checks):
    model = checks.network("unwritten")
    shutil.rmtree(checks.path("tenon-checked"), ignore_errors=True)
    done = checks.run(model, "--checked")
    folder = checks.path("tenon-checked")
    checks.expect_fault("checked: the message says where the tensors are", done, "(its tensors are in tenon-checked)")
    files = {"bad_input0_x.npy": np.abs(checks.x), "bad_input1_w.npy": np.array([0.5], np.float32)}
    good = sorted(os.listdir(folder)) == sorted([*(name.replace("_", ".") for name in files), "bad.output0.y.npy"])
    for name, expected in files.items():
        good = good and np.array_equal(np.load(os.path.join(folder, name.replace("_", "."))), expected)
    output = np.load(os.path.join(folder, "bad.output0.y.npy")) if good else None
    expected = 2 * np.abs(checks.x) + 0.5
    checks.say(good and np.allclose(output.flat[:-1], expected.flat[:-1]) and np.isnan(output.flat[-1]),
               "checked: the bad node's tensors are as they were")
    done = checks.run(model, "--checked-dump", "elsewhere")
    checks.expect_fault("checked: --checked-dump names the folder", done, "(its tensors are in elsewhere)")
    checks.say(len(os.listdir(checks.path("elsewhere"))) == 3, "checked: the folder holds them")
    done = checks.run(model, "--checked-dump", "x.npy/none")
    checks.expect_fault("checked: a folder that cannot be made", done, "could not be kept", *WHERE)


def check_good(checks):
    expected = -(2 * np.abs(checks.x) + 0.5)
    for options in ((), ("--threads", "1"), ("--reference",)):
        done = checks.run(checks.network("none"), "--checked", *options)
        checks.say(done.returncode == 0 and np.allclose(np.load(checks.path("out.npy")), expected),
                   f"checked: a good layer {' '.join(options)}{done.stderr.strip()}")
    done = checks.run(checks.network("none", operator="Positive"), "--checked")
    found = np.abs(checks.x).ravel()
    checks.say(done.returncode == 0 and np.array_equal(np.load(checks.path("out.npy")), -found[found > 0]),
               f"checked: a good layer sized by its run {done.stderr.strip()}")
    twice = np.repeat(-found[found > 0], 2)
    for options in ((), ("--checked",), ("--reference",), ("--checked", "--reference")):
        done = checks.run(checks.network("none", operator="Twice"), *options)
        checks.say(done.returncode == 0 and np.array_equal(np.load(checks.path("out.npy")), twice),
                   f"a layer whose output has no bound {' '.join(options)}{done.stderr.strip()}")
    done = checks.run(checks.network("nan"), "--threads", "1")
    checks.say(done.returncode == 0 and np.isnan(np.load(checks.path("out.npy"))).sum() == 1,
               "unchecked: what is not looked for is not found")


def check_models(checks):
    """The same bits with guards and without."""
    digits = os.path.join(MODELS, "reference", "lenet_input.npy")
    photo = os.path.join(MODELS, "photo.png")
    networks = [("lenet.onnx", "input", digits, "--shape", "input=7x1x28x28"), ("srcnn_fixed.onnx", None, photo)]
    for name, port, data, *options in networks:
        plan = checks.path("plan")
        model = os.path.join(MODELS, name)
        if port is None:
            graph = onnx.load(model).graph
            port = graph.input[0].name
            extents = [dimension.dim_value or 1 for dimension in graph.input[0].type.tensor_type.shape.dim]
            np.save(checks.path("image.npy"), np.random.default_rng(1).random(extents, np.float32))
            data = checks.path("image.npy")
        else:
            shape = [int(n) for n in options[1].split("=")[1].split("x")]
            np.save(checks.path("some.npy"), np.resize(np.load(data), shape).astype(np.float32))
            data = checks.path("some.npy")
        made = checks.program("build", model, "-o", plan, "--checked", "--no-timing", *options)
        results = []
        for mode in ((), ("--checked",), ("--checked", "--threads", "1")):
            done = checks.program("run", plan, "--input", f"{port}={data}", "--output-dir", "out", *mode)
            names = sorted(os.listdir(checks.path("out"))) if done.returncode == 0 else []
            results.append([np.load(os.path.join(checks.path("out"), n)) for n in names])
        same = [all(np.array_equal(a, b) for a, b in zip(results[0], result)) and result for result in results[:2]]
        close = results[2] and all(np.allclose(a, b, 1e-4, 1e-5) for a, b in zip(results[0], results[2]))
        checks.say(made.returncode == 0 and all(same) and close,
                   f"checked: {name} computes the same {made.stderr.strip()}")


def check_build(checks):
    model, plan = checks.network("overrun"), checks.path("bad.plan")
    done = checks.program("build", model, "-o", plan, "--plugin", checks.layers, "--checked", "--no-timing")
    checks.expect_fault("build --checked without timing: the plan's run names it", done, "past the end of output 0",
                        *WHERE)
    checks.say(not os.path.exists(plan), "build --checked: no plan is written then")
    done = checks.program("build", model, "-o", plan, "--plugin", checks.layers, "--checked", "--checked-dump", "d")
    checks.say("past the end of output 0" in done.stderr, f"build --checked: the kernel is tried before it is timed "
               f"(exit {done.returncode})")


def check_commands(checks):
    model = checks.network("overrun")
    done = checks.program("bench", model, "--plugin", checks.layers, "--checked", "--no-timing", "--seconds", "0")
    checks.expect_fault("bench --checked", done, "past the end of output 0")
    folder = checks.path("case")
    os.makedirs(os.path.join(folder, "test_data_set_0"), exist_ok=True)
    for mistake, verdict in (("none", "PASS"), ("overrun", "FAIL")):
        shutil.copy(checks.network(mistake), os.path.join(folder, "model.onnx"))
        for name, value in (("input_0", checks.x), ("output_0", -(2 * np.abs(checks.x) + 0.5))):
            with open(os.path.join(folder, "test_data_set_0", f"{name}.pb"), "wb") as file:
                file.write(numpy_helper.from_array(value.astype(np.float32)).SerializeToString())
        done = checks.program("test", "case", "--plugin", checks.layers, "--checked")
        checks.say(done.stdout.startswith(f"{verdict} case"), f"test --checked: {mistake} {done.stdout.strip()}")


# --- isolation ---

def check_isolated_mistakes(checks):
    for mistake, text in FOUND_BY_ISOLATION.items():
        done = checks.run(checks.network(mistake), "--isolate-limit", "400", "--threads", "2")
        checks.expect_fault(f"isolated: {mistake}", done, text, *WHERE)
    for stage in ("prepare", "open", "reshape"):
        for mistake in ("segfault", "exit", "loop", "fails"):
            done = checks.run(checks.network(mistake, stage), "--isolate-limit", "400")
            text = FOUND_BY_ISOLATION[mistake].replace("in run", f"in {stage}")
            checks.expect_fault(f"isolated: {mistake} in {stage}", done, text, *WHERE)
    for stage in ("close", "release"):
        done = checks.run(checks.network("segfault", stage), "--isolate")
        checks.say(done.returncode == 0 and f"signal 11 (Segmentation fault), in {stage}" in done.stderr,
                   f"isolated: segfault in {stage} is a warning {done.stderr if done.returncode else ''}")
    for mistake in ("overrun", "segfault", "unwritten"):
        done = checks.run(checks.network(mistake), "--isolate", "--checked")
        checks.expect_fault(f"isolated and checked: {mistake}", done, FOUND_BY_CHECKING[mistake], *WHERE)


def check_isolated_good(checks):
    """The same bits here and there: static shapes, outputs sized by a run, references, several contexts."""
    for operator in ("Faulty", "Positive"):
        results = []
        for options in ((), ("--isolate",), ("--isolate", "--checked"), ("--isolate", "--threads", "2"),
                        ("--isolate", "--reference")):
            done = checks.run(checks.network("none", operator=operator), *options)
            results.append(np.load(checks.path("out.npy")) if done.returncode == 0 else done.stderr)
        checks.say(all(np.array_equal(results[0], result) for result in results),
                   f"isolated: {operator} computes the same {[r for r in results if isinstance(r, str)]}")
    done = checks.run(checks.network("none", operator="Twice"), "--isolate")
    checks.say(done.returncode == 3 and "node 'bad': output 'y' has no bound (TN_UNBOUNDED)" in done.stderr
               and "expected an engine that is not isolated" in done.stderr,
               f"isolated: an output without a bound is refused {done.stderr.strip()}")
    done = checks.program("bench", checks.network("none"), "--plugin", checks.layers, "--isolate", "--contexts", "3",
                          "--seconds", "0.2")
    found = re.search(r"^isolated: ([-0-9.]+) us a call, 1 calls a run", done.stdout, re.M)
    checks.say(done.returncode == 0 and found and done.stdout.splitlines()[-1].startswith("median_ms="),
               f"isolated: bench measures three contexts {done.stderr}")


def check_isolated_models(checks):
    rng = np.random.default_rng(2)
    np.save(checks.path("image.npy"), rng.random((1, 3, 20, 24), np.float32))
    cases = [("srcnn_dynamic.onnx", "libdynamic_resize.so", {"image": (1, 3, 20, 24), "size": (1, 1, 40, 48)}),
             ("digits_prelu.prototxt", "libcaffe_prelu.so", {"data": (1, 1, 28, 28)})]
    for name, library, shapes in cases:
        options = ["--plugin", os.path.join(checks.plugins, library)]
        if name.endswith(".prototxt"):
            options += ["--weights", os.path.join(MODELS, "digits_prelu.caffemodel")]
        for port, shape in shapes.items():
            np.save(checks.path(f"{port}.npy"), rng.random(shape, np.float32))
            options += ["--input", f"{port}={port}.npy"]
        results = []
        for mode in ((), ("--isolate",), ("--isolate", "--checked")):
            shutil.rmtree(checks.path("out"), ignore_errors=True)
            done = checks.program("run", os.path.join(MODELS, name), "--output-dir", "out", *options, *mode)
            names = sorted(os.listdir(checks.path("out"))) if done.returncode == 0 else []
            results.append([np.load(os.path.join(checks.path("out"), n)) for n in names])
        same = all(r and all(np.array_equal(a, b) for a, b in zip(results[0], r)) for r in results)
        checks.say(same, f"isolated: {name} computes the same {done.stderr.strip()}")


def children_of(parent):
    """The processes that have this parent; those that are over and not reaped among them."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8") as file:
                if int(file.read().rsplit(")", 1)[1].split()[1]) == parent:
                    found.append(int(entry))
        except OSError:
            continue
    return found


def wait_until(condition, seconds):
    end = time.time() + seconds
    while not condition() and time.time() < end:
        time.sleep(0.02)
    return condition()


def is_there(process):
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def lasting_children(parent, seconds):
    """Those that have been the same for so long, within a minute; others come and go before."""
    children, since = children_of(parent), time.time()

    def last():
        nonlocal children, since
        now = children_of(parent)
        if now != children or not now:
            children, since = now, time.time()
        return time.time() - since > seconds

    wait_until(last, PATIENCE_SECONDS)
    return children


def check_orphans(checks):
    """A helper in an endless loop ends when its parent is killed."""
    command = [checks.tenon, "run", checks.network("loop"), "--plugin", checks.layers, "--input", "given=x.npy",
               "--isolate"]
    with subprocess.Popen(command, cwd=checks.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as parent:
        helpers = lasting_children(parent.pid, 0.5)
        parent.send_signal(signal.SIGKILL)
    gone = wait_until(lambda: not any(is_there(helper) for helper in helpers), PATIENCE_SECONDS)
    checks.say(len(helpers) == 1 and gone, f"isolated: a helper ends with its parent, in an endless loop too: {len(helpers)} of them, gone {gone}")


def check_helper(checks):
    helper = os.path.join(os.path.dirname(checks.tenon), "..", "lib", "tenon", "tenon-isolate")
    if not os.path.exists(helper):
        helper = os.path.join(os.path.dirname(checks.tenon), "tenon-isolate")
    done = subprocess.run([helper], capture_output=True, text=True, timeout=10, check=False)
    checks.say(done.returncode == 2 and "which start it" in done.stderr, "isolated: the helper by hand says what it is")
    done = subprocess.run([helper, "serve"], capture_output=True, text=True, timeout=10, check=False)
    checks.say(done.returncode == 2, "isolated: the helper without a page says so too")
    for value in ("0", "x", "-5"):
        done = checks.run(checks.network("none"), "--isolate-limit", value)
        checks.say(done.returncode == 2 and "isolate-limit" in done.stderr, f"isolated: a limit of '{value}' is refused")


def main():
    folder = tempfile.mkdtemp(prefix="tenon-guarded-")
    try:
        checks = Checks(*(os.path.abspath(path) for path in sys.argv[1:4]), folder)
        check_good(checks)
        check_mistakes(checks)
        check_dump(checks)
        check_models(checks)
        check_build(checks)
        check_commands(checks)
        check_isolated_good(checks)
        check_isolated_mistakes(checks)
        check_isolated_models(checks)
        check_orphans(checks)
        check_helper(checks)
    finally:
        shutil.rmtree(folder)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
