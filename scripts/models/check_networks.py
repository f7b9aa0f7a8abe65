# SPDX-License-Identifier: Apache-2.0
"""Runs networks by tenon and by onnxruntime, and compares: check_networks.py TENON [options] [FILE.onnx ...]

Without files these are the networks of scripts/models/networks/: one plan each, which runs with each set of extents. --shared has
those of peers/models.py, beside the repository or where TENON_SHARED says, and --light those of the package onnx. Relative tolerance
1e-3, absolute 1e-5 of the largest element; networks that round to fewer bits have their own. Of a file the extents that it leaves open
are 1 and 2 for the first axis and 64 and 128 for others, unless --extents NAME=1,2 gives them.
"""

import argparse
import concurrent.futures
import fnmatch
import glob
import importlib
import os
import re
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(HERE, "networks"), os.path.join(ROOT, "tests", "cli")]
from checks import ProgramChecks, execute  # noqa: E402

RELATIVE, ABSOLUTE, SMALLEST = 1e-3, 1e-5, 2e-7  # onnxruntime's Sigmoid differs by 1e-7 from the function near 0
ROUNDED = 5e-2  # of files that round to 8 bits: onnxruntime's own results with its optimizer and without differ by 3 percent in a ResNet
SHARED = os.environ.get("TENON_SHARED", os.path.join(ROOT, "..", "shared"))
LIGHT = os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data", "light", "*.onnx")


def families():
    """All networks by name, in the order of the modules' names."""
    networks = {}
    for path in sorted(glob.glob(os.path.join(HERE, "networks", "*.py"))):
        module = importlib.import_module(os.path.basename(path)[:-3])
        for name, network in getattr(module, "FAMILY", {}).items():
            assert name not in networks, f"two networks are called {name}"
            networks[name] = network
    return networks


def draw(rng, shape, kind, low, high):
    """Random elements of an input."""
    dtype = helper.tensor_dtype_to_np_dtype(kind)
    if kind == TensorProto.STRING:
        return np.array([f"word{n}" for n in rng.integers(0, 9, shape).ravel()], object).reshape(shape)
    if kind == TensorProto.BOOL:
        return rng.integers(0, 2, shape).astype(bool)
    if np.issubdtype(dtype, np.integer):
        return rng.integers(int(max(low, 0)), max(int(high), 2), shape).astype(dtype)
    return np.asarray(rng.uniform(low, high, shape)).astype(dtype)


class Case:
    """A model's bytes or path, and the inputs that it is run with."""

    def __init__(self, name, path, inputs, loose=None):
        self.name, self.path, self.inputs, self.loose = name, path, inputs, loose
        self.nodes = self.build_ms = 0
        self.worst, self.trouble, self.times = 0.0, [], ""


def ports(path):
    """The inputs of a file, and the types of its nodes."""
    graph = onnx.load(path, load_external_data=False).graph
    given = {tensor.name for tensor in graph.initializer}
    return [port for port in graph.input if port.name not in given], [node.op_type for node in graph.node]


def own_case(name, network, folder):
    """Of the list: writes the model."""
    net, path, rng = network.make(), os.path.join(folder, f"{name}.onnx"), np.random.default_rng(5)
    model = net.model()
    with open(path, "wb") as file:
        file.write(model.SerializeToString())
    inputs = []
    for extents in network.extents:
        values = {}
        for port in net.inputs:
            kind, low, high, drawn = net.values[port.name]
            dims = port.type.tensor_type.shape.dim
            shape = [extents[dim.dim_param] if dim.dim_param else dim.dim_value for dim in dims]
            values[port.name] = drawn(rng, shape) if drawn else draw(rng, shape, kind, low, high)
        inputs.append(values)
    return Case(name, path, inputs, network.loose)


def file_case(path, given, high, filled):
    """Of a file: draws inputs of the extents that it leaves open; those in `filled` have one value."""
    rng, inputs = np.random.default_rng(5), []
    found, kinds = ports(path)
    rounds = any("Quantize" in kind or kind.startswith("QLinear") for kind in kinds)
    for round in range(2):
        values, is_open = {}, False
        for port in found:
            tensor, shape = port.type.tensor_type, []
            for axis, dim in enumerate(tensor.shape.dim):
                is_open |= dim.dim_value <= 0
                drawn = given.get(dim.dim_param) or given.get(f"{port.name}.{axis}") or ((1, 2) if axis == 0 else (64, 128))
                shape.append(dim.dim_value if dim.dim_value > 0 else drawn[min(round, len(drawn) - 1)])
            values[port.name] = draw(rng, shape, tensor.elem_type, -1, high)
            if port.name in filled:
                values[port.name] = np.full(shape, filled[port.name], values[port.name].dtype)
        if round == 0 or is_open:
            inputs.append(values)
    return Case(os.path.basename(path)[:-5], path, inputs, ROUNDED if rounds else None)


class Checks(ProgramChecks):
    prints_passes = False

    def __init__(self, tenon, folder, options):
        super().__init__(tenon, folder)
        self.options = options

    def run(self, case, plan, values, outputs, texts):
        """The outputs of one run by name, or None. Those of strings are read from what is printed."""
        files = {name: f"{plan}.{i}.npy" for i, name in enumerate(outputs) if name not in texts}
        arguments = []
        for i, (name, value) in enumerate(values.items()):
            path = f"{plan}.in{i}.npy" if value.dtype != object else f"{plan}.in{i}.pb"
            if value.dtype == object:
                with open(path, "wb") as file:
                    file.write(helper.make_tensor("", TensorProto.STRING, value.shape, [t.encode() for t in value.ravel()]).SerializeToString())
            else:
                np.save(path, value)
            arguments += ["--input", f"{name}={path}"]
        for name, path in files.items():
            arguments += ["--output", f"{name}={path}"]
        done = self.program("run", plan, *arguments, *(["--print"] if texts else []))
        if done.returncode != 0:
            case.trouble.append(f"run {shapes(values)}: exit {done.returncode} {done.stderr.strip()}")
            return None
        printed = {name: np.array(re.findall(r'"(.*?)"', rows), object) for name, rows in
                   re.findall(r"^(\S+): string\[.*?\]\n((?:  .*\n?)*)", done.stdout, re.M)} if texts else {}
        return {name: np.load(files[name]) if name in files else printed.get(name) for name in outputs}

    def compare(self, case, values, outputs, results, expected):
        for name, right in zip(outputs, expected):
            result, right = results[name], np.asarray(right)
            result = result.reshape(right.shape) if right.dtype == object and result is not None and result.size == right.size else result
            text = f"{name} of {shapes(values)}"
            if result.shape != right.shape or result.dtype != right.dtype:
                case.trouble.append(f"{text}: {result.dtype}{list(result.shape)}, expected {right.dtype}{list(right.shape)}")
                continue
            if right.dtype.kind not in "fc":
                different = int((result != right).sum())
                if different > (case.loose or 0) * right.size:
                    case.trouble.append(f"{text}: {different} of {right.size} elements differ")
                continue
            left, right = result.astype(np.float64), right.astype(np.float64)
            finite = right[np.isfinite(right)]
            largest = np.abs(finite).max(initial=0)
            apart = np.nan_to_num(np.abs(left - right), nan=0).max(initial=0)
            case.worst = max(case.worst, apart / largest if largest else apart)
            allowed = max((case.loose or ABSOLUTE) * largest, SMALLEST)
            good = np.allclose(left, right, rtol=case.loose or RELATIVE, atol=allowed, equal_nan=True)
            if not good:
                case.trouble.append(f"{text}: differs by {apart:.1e}, the largest element is {largest:.1e}")

    def check(self, case):
        """One network: by onnxruntime, built, and run with each set of inputs."""
        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads, settings.log_severity_level = 1, 4
        case.nodes = len(ports(case.path)[1])
        try:
            session = onnxruntime.InferenceSession(case.path, settings, providers=["CPUExecutionProvider"])
            outputs = [port.name for port in session.get_outputs()]
            texts = {port.name for port in session.get_outputs() if port.type == "tensor(string)"}
            expected = [session.run(outputs, values) for values in case.inputs]
        except Exception as error:  # of many types
            case.trouble.append(f"onnxruntime: {str(error)[:300]}")
            return case
        plan, start = os.path.join(self.folder, f"{case.name}.plan"), time.monotonic()
        done = self.program("build", case.path, "-o", plan, *self.options.build.split())
        case.build_ms = 1e3 * (time.monotonic() - start)
        if done.returncode != 0:
            case.trouble.append(f"build: exit {done.returncode} {done.stderr.strip()}")
            return case
        for values, right in zip(case.inputs, expected):
            results = self.run(case, plan, values, outputs, texts)
            if results:
                self.compare(case, values, outputs, results, right)
        if self.options.times and not case.trouble:
            self.measure(case, plan, session, outputs)
        if not self.options.keep:
            for path in glob.glob(glob.escape(plan) + "*"):
                os.remove(path)
        return case

    def measure(self, case, plan, session, outputs):
        """The median time of one inference on one thread, beside onnxruntime's, and the ratio."""
        values, rounds = case.inputs[0], []
        arguments = [word for i, name in enumerate(values) for word in ("--input", f"{name}={plan}.in{i}.npy")]
        for i, value in enumerate(values.values()):
            if value.dtype == object:
                return
            np.save(f"{plan}.in{i}.npy", value)
        done = self.program("bench", plan, "--threads", "1", "--seconds", "0.3", *arguments)
        found = re.search(r"median_ms=(\S+)", done.stdout)
        end = time.monotonic() + 0.3
        while time.monotonic() < end or len(rounds) < 3:
            start = time.perf_counter()
            session.run(outputs, values)
            rounds.append(1e3 * (time.perf_counter() - start))
        mine, theirs = float(found[1]) if found else float("nan"), float(np.median(rounds))
        case.times = f"{mine:9.3f} {theirs:9.3f} {mine / theirs:6.2f}"


def shapes(values):
    return ", ".join(f"{name} {list(value.shape)}" for name, value in values.items())


def cases_of(options, folder):
    if options.files:
        given = {name: [int(n) for n in numbers.split(",")] for name, numbers in (word.split("=", 1) for word in options.extents)}
        filled = {name: float(number) for name, number in (word.split("=", 1) for word in options.fill)}
        return [lambda path=path: file_case(path, given, options.high, filled) for path in options.files]
    if options.shared:
        done = execute(sys.executable, os.path.join(SHARED, "peers", "models.py"), folder)
        assert done.returncode == 0, done.stderr
    if options.shared or options.light:
        return [lambda path=path: file_case(path, {}, 1, {}) for path in sorted(glob.glob(LIGHT if options.light else os.path.join(folder, "*.onnx")))]
    return [lambda name=name, network=network: own_case(name, network, folder) for name, network in families().items()
            if (network.quick or not options.quick) and fnmatch.fnmatch(name, options.only)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tenon")
    parser.add_argument("files", nargs="*", metavar="FILE.onnx")
    parser.add_argument("--quick", action="store_true", help="a few of the list")
    parser.add_argument("--only", default="*", metavar="PATTERN", help="of the list, the names that match")
    parser.add_argument("--shared", action="store_true", help="the networks of peers/models.py")
    parser.add_argument("--light", action="store_true", help="the networks that the package onnx has")
    parser.add_argument("--times", action="store_true", help="one thread's milliseconds, onnxruntime's, and the ratio")
    parser.add_argument("--build", metavar="OPTIONS", help="options of tenon build; '': none. Else kernels are measured for a moment")
    parser.add_argument("--extents", action="append", default=[], metavar="NAME=N,N", help="of files: extents of a dimension")
    parser.add_argument("--fill", action="append", default=[], metavar="NAME=N", help="of files: an input of this value")
    parser.add_argument("--high", type=float, default=1, help="of files: elements of inputs are below this")
    parser.add_argument("--keep", metavar="FOLDER", help="keep models and plans there")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_intermixed_args()
    if options.build is None:
        options.build = "--no-timing" if options.quick else "--timing-seconds 0.1"
    options.files = [os.path.abspath(path) for path in options.files]
    if options.shared and not os.path.exists(os.path.join(SHARED, "peers", "models.py")):
        print(f"SKIP {SHARED}/peers/models.py is not there\n0 passed, 0 failed, 1 skipped")
        return 0
    with tempfile.TemporaryDirectory(prefix="tenon-networks.") as own:
        folder = os.path.abspath(options.keep or own)
        os.makedirs(folder, exist_ok=True)
        checks = Checks(options.tenon, folder, options)
        print(f"{'network':36} {'nodes':>5} {'build':>8} {'differs':>9}" + (f" {'tenon':>9} {'onnxrt':>9} {'ratio':>6}" if options.times else ""))
        with concurrent.futures.ThreadPoolExecutor(1 if options.times else options.jobs) as pool:
            for case in pool.map(lambda make: checks.check(make()), cases_of(options, folder)):
                print(f"{case.name:36} {case.nodes:5} {case.build_ms:5.0f} ms {case.worst:9.1e} {case.times}")
                checks.say(not case.trouble, f"{case.name}: " + "; ".join(case.trouble))
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
