# SPDX-License-Identifier: Apache-2.0
"""Runs networks of other formats through build and run, as a user would, and compares with NumPy and with ONNX.

Usage: check_foreign_models.py TENON LAYERS, where TENON is the program and LAYERS the library
foreign_layers of tests/foreign, beside which other_layers lies. Networks that are not in the repository are tried where they are found: in the folder that
TENON_SHARED_DATA names, or ../shared/data beside the repository.
"""

import gzip
import json
import os
import random
import shutil
import sys
import tempfile

import numpy as np

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
MODELS = os.path.join(ROOT, "models")
sys.path.insert(0, os.path.join(ROOT, "scripts", "models"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import uff  # noqa: E402
import uff_cases  # noqa: E402
from checks import ProgramChecks  # noqa: E402

SHARED = os.environ.get("TENON_SHARED_DATA", os.path.join(ROOT, "..", "shared", "data"))
RELATIVE, ABSOLUTE = 1e-4, 2e-5
UNSUPPORTED = 3
DAMAGED_COPIES = 60


class Checks(ProgramChecks):
    def __init__(self, tenon, layers, folder):
        super().__init__(tenon, folder)
        self.layers = layers

    def run(self, model, inputs, options):
        """Results by name; None after a failure, which is said."""
        out = os.path.join(self.folder, "out")
        os.makedirs(out, exist_ok=True)
        for name in os.listdir(out):
            os.remove(os.path.join(out, name))
        arguments = ["run", model, "--no-timing", *options]
        if "--output" not in options:
            arguments += ["--output-dir", "out"]
        for name, value in inputs.items():
            path = os.path.join(self.folder, f"in_{name}.npy")
            np.save(path, np.ascontiguousarray(value))
            arguments += ["--input", f"{name}={path}"]
        done = self.program(*arguments)
        if done.returncode != 0:
            self.say(False, f"{os.path.basename(model)}: exit {done.returncode} {done.stderr.strip()}")
            return None
        where = out if "--output" not in options else self.folder
        return {name[:-4]: np.load(os.path.join(where, name)) for name in os.listdir(where)
                if name.endswith(".npy") and not name.startswith("in_")}

    def compare(self, text, found, expected):
        if found.shape != expected.shape:
            return self.say(False, f"{text}: shape {found.shape}, expected {expected.shape}")
        worst = np.max(np.abs(found - expected) - RELATIVE * np.abs(expected), initial=0)
        return self.say(worst <= ABSOLUTE, f"{text}: {worst:.2g} above the relative bound")


# --- UFF ---

def shape_option(inputs):
    return [part for name, value in inputs.items()
            for part in ("--shape", f"{name}={'x'.join(str(extent) for extent in value.shape)}")]


def range_option(inputs):
    """The batch axis is free: the reader does not know its extent."""
    options = []
    for name, value in inputs.items():
        rest = "".join(f"x{extent}" for extent in value.shape[1:])
        batch = value.shape[0]
        options += ["--shape", f"{name}=1{rest}:{batch}{rest}:{batch + 1}{rest}"]
    return options


def check_uff_case(checks, name, build, plugin, options):
    network, inputs, results = build()
    path = os.path.join(checks.folder, name + ".uff")
    network.write(path)
    variants = [("", [])] if "--shape" in options else [("", shape_option(inputs)),
                                                    (", any batch", range_option(inputs))]
    for variant, shapes in variants:
        given = [*options, *shapes, *(["--plugin", checks.layers] if plugin else [])]
        found = checks.run(path, inputs, given)
        for output, expected in results.items() if found is not None else ():
            if output not in found:
                checks.say(False, f"uff {name}{variant}: there is no output '{output}' among {sorted(found)}")
            else:
                checks.compare(f"uff {name} {output}{variant}", found[output], expected)


def check_uff_lenet(checks):
    """The repository's digits: the same network in ONNX, and in UFF with a custom layer."""
    digits = np.load(os.path.join(MODELS, "reference", "lenet_input.npy"))
    shape = ["--shape", "input=" + "x".join(str(extent) for extent in digits.shape)]
    first = checks.run(os.path.join(MODELS, "lenet.onnx"), {"input": digits}, shape)
    second = checks.run(os.path.join(MODELS, "lenet_nhwc.uff"), {"input": digits},
                        [*shape, "--plugin", checks.layers])
    if first and second:
        checks.compare("uff lenet_nhwc.uff against lenet.onnx", second["output"], first["output"])


def check_uff_messages(checks):
    model = os.path.join(MODELS, "lenet_nhwc.uff")
    done = checks.program("build", model, "-o", "x.plan")
    words = ("pool2", "MaxPool", "ksize=[1, 2, 2, 1]", "padding='VALID'", "T=f32", "--plugin")
    checks.say(done.returncode == UNSUPPORTED and all(word in done.stderr for word in words),
               f"uff without its layer: exit {done.returncode} {done.stderr.strip()}")
    done = checks.program("build", model, "-o", "x.plan", "--plugin", checks.layers, "--output", "outputs")
    checks.say(done.returncode == 1 and "'output'" in done.stderr, f"uff output of another name: {done.stderr.strip()}")
    other = checks.layers.replace("foreign_layers", "other_layers")
    done = checks.program("build", model, "-o", "x.plan", "--plugin", checks.layers, "--plugin", other)
    checks.say(done.returncode == UNSUPPORTED and "tests.foreign_layers::MaxPool" in done.stderr
               and "tests.other_layers::MaxPool" in done.stderr, f"uff layer of two libraries: {done.stderr.strip()}")
    done = checks.program("inspect", model, "--plugin", checks.layers, "--shape", "input=1x1x28x28")
    checks.say(done.returncode == 0 and "Transpose" not in done.stdout,
               "uff lenet_nhwc.uff is inspected, and nothing in it is transposed")


def check_uff_text(checks):
    """The text form, known by what is in it whatever the file is called, gives the same plan."""
    with open(os.path.join(MODELS, "lenet_nhwc.uff"), "rb") as file:
        binary = file.read()
    files = {"lenet.pbtxt": uff.as_text(binary), "lenet.txt": "# for a look\n\n" + uff.as_text(binary),
             "dump.uff.txt": uff.as_text(binary, skip_blobs=True)}
    for name, text in files.items():
        with open(os.path.join(checks.folder, name), "w", encoding="ascii") as file:
            file.write(text)
    options = ["--plugin", checks.layers, "--no-timing", "-o"]
    checks.program("build", os.path.join(MODELS, "lenet_nhwc.uff"), *options, "binary.plan")
    with open(os.path.join(checks.folder, "binary.plan"), "rb") as file:
        expected = file.read()
    for name in ("lenet.pbtxt", "lenet.txt"):
        done = checks.program("build", name, *options, name + ".plan")
        path = os.path.join(checks.folder, name + ".plan")
        same = done.returncode == 0 and open(path, "rb").read() == expected
        checks.say(same, f"uff text {name}: the same plan, {done.stderr.strip()}")
    done = checks.program("inspect", "lenet.txt", "--plugin", checks.layers)
    checks.say(done.returncode == 0 and "MaxPool" in done.stdout, f"uff text is inspected {done.stderr.strip()}")
    done = checks.program("build", "dump.uff.txt", *options, "dump.plan")
    checks.say(done.returncode == 1 and "bytes skipped" in done.stderr and "without weights" in done.stderr,
               f"uff text without weights, build: {done.stderr.strip()}")
    done = checks.program("inspect", "dump.uff.txt", "--plugin", checks.layers, "--json")
    shown = json.loads(done.stdout) if done.returncode == 0 else {}
    is_shown = {node["op"] for node in shown.get("nodes", [])} >= {"Conv", "MaxPool", "MatMul"}
    checks.say(is_shown and shown["weights"] == "not in the file" and "zeros stand for them" in done.stderr,
               f"uff text without weights, inspect: {done.stderr.strip()}")
    with open(os.path.join(checks.folder, "slip.pbtxt"), "w", encoding="ascii") as file:
        file.write(files["lenet.pbtxt"].replace("operation:", "operatoin:", 1))
    done = checks.program("inspect", "slip.pbtxt")
    checks.say(done.returncode == 1 and "line " in done.stderr and "'operation'" in done.stderr,
               f"uff text with a slip: {done.stderr.strip()}")


def check_damaged_uff(checks):
    """Cut anywhere, or with a byte changed outside the weights: an exit code and one message, or a sound plan."""
    with open(os.path.join(MODELS, "lenet_nhwc.uff"), "rb") as file:
        whole = file.read()
    chosen, bad = random.Random(7), []
    for number in range(DAMAGED_COPIES):
        damaged = bytearray(whole)
        if number % 3 == 0:
            del damaged[chosen.randrange(1, len(whole)):]
        else:
            damaged[chosen.randrange(2500)] ^= 1 << chosen.randrange(8)
        path = os.path.join(checks.folder, "damaged.uff")
        with open(path, "wb") as file:
            file.write(damaged)
        done = checks.program("build", path, "-o", "x.plan", "--no-timing", "--plugin", checks.layers,
                              "--shape", "input=1x1x28x28")
        if done.returncode not in (0, 1, UNSUPPORTED) or (done.returncode and "damaged.uff" not in done.stderr):
            bad.append(f"{number}: exit {done.returncode} {done.stderr.strip()}")
    checks.say(not bad, f"uff: {DAMAGED_COPIES} damaged copies: {'; '.join(bad)}")


# --- the choice of ports ---

def check_ports(checks):
    onnx, uff_model = (os.path.join(MODELS, name) for name in ("lenet.onnx", "lenet_nhwc.uff"))
    shape = ["--shape", "input=1x1x28x28"]

    def build(text, good, words, *arguments):
        done = checks.program("build", *arguments, "-o", "x.plan", "--no-timing")
        said = done.stdout + done.stderr
        if done.returncode == 0:
            said = checks.program("inspect", "x.plan").stdout
        checks.say((done.returncode == 0) == good and all(word in said for word in words),
                   f"ports: {text}: exit {done.returncode} {done.stderr.strip()}")
    build("an inner tensor of an ONNX model", True, ["outputs\n  relu1_output  f32  [1, 500]"],
          onnx, *shape, "--output", "relu1_output")
    build("an output that is not there", False, ["relu1_output"], onnx, *shape, "--output", "relu1_outputs")
    build("an input of an ONNX model", True, ["\n  input  f32  ["], onnx, *shape, "--input", "input")
    build("an input that is not there", False, ["no input 'inputs'"], onnx, *shape, "--input", "inputs")
    build("inner nodes of a UFF network", True, ["\n  pool1  f32  [1, 20, 12, 12]", "outputs\n  relu  f32"],
          uff_model, "--plugin", checks.layers, "--input", "pool1", "--shape", "pool1=1x20x12x12", "--output", "relu")
    build("an inner node without a shape", False, ["its shape is given"],
          uff_model, "--plugin", checks.layers, "--input", "pool1")


def check_test_folder(checks):
    """A folder of test data in ONNX's layout, with a UFF network in it."""
    onnx, folder = (os.path.join(MODELS, "lenet.onnx"), os.path.join(checks.folder, "case"))
    os.makedirs(os.path.join(folder, "test_data_set_0"))
    shutil.copy(os.path.join(MODELS, "lenet_nhwc.uff"), os.path.join(folder, "model.uff"))
    digits = np.load(os.path.join(MODELS, "reference", "lenet_input.npy"))
    found = checks.run(onnx, {"input": digits}, shape_option({"input": digits}))
    for name, value in (("input_0", digits), ("output_0", found["output"] if found else digits)):
        with open(os.path.join(folder, "test_data_set_0", name + ".pb"), "wb") as file:
            file.write(b"".join(uff.number(1, extent) for extent in value.shape)  # a TensorProto
                       + uff.number(2, 1) + uff.chunk(9, np.ascontiguousarray(value).tobytes()))
    done = checks.program("test", "case", "--plugin", checks.layers)
    checks.say(done.returncode == 0 and "1 passed, 0 failed" in done.stdout, f"test of a UFF network: {done.stdout.strip()}")
    for text, good, words, options in (
            ("exactly with its library", True, "1 passed", ["--exact"]),
            ("with a folder that is allowed", True, "1 passed", ["--allow-plugin", os.path.dirname(checks.layers)]),
            ("with another content allowed", False, "allowed", ["--allow-plugin", "0123456789abcdef"]),
            ("in 8 bits", True, "1 passed", ["--precision", "int8"]),
            ("as near as floats are", True, "1 passed", ["--rtol", "1e-4", "--atol", "1e-9"]),
            ("as near as floats are, in 8 bits", False, "differ", ["--precision", "int8", "--rtol", "1e-4", "--atol", "1e-9"])):
        done = checks.program("test", "case", "--plugin", checks.layers, *options)
        said = done.stdout + done.stderr
        checks.say((done.returncode == 0) == good and words in said, f"test {text}: exit {done.returncode} {said.strip()}")


# --- networks that the repository does not hold ---

def read_digits():
    with gzip.open(os.path.join(SHARED, "mnist", "t10k-images-idx3-ubyte.gz")) as file:
        images = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 1, 28, 28)
    with gzip.open(os.path.join(SHARED, "mnist", "t10k-labels-idx1-ubyte.gz")) as file:
        return images, np.frombuffer(file.read(), np.uint8, offset=8)


def check_shared_uff(checks):
    model = os.path.join(SHARED, "lenet", "lenet5_custom_pool.uff")
    if not os.path.exists(model):
        return checks.skip(f"the UFF network of NVIDIA's example is not in {SHARED} (TENON_SHARED_DATA)")
    images, labels = read_digits()
    digits = images.astype(np.float32) / np.float32(255)
    found = checks.run(model, {"in": digits}, [*shape_option({"in": digits}), "--plugin", checks.layers])
    if found is None:
        return None
    right = found["out"].argmax(1) == labels
    checks.say(right[:2000].sum() == 1977, f"uff example: {right[:2000].sum()} of the first 2000 are right, 1977 expected")
    checks.say(right.sum() == 9923, f"uff example: {right.sum()} of 10000 are right, 9923 expected")
    logits = np.array([-6.9156, -2.9222, -1.7858, 6.5042, -2.9527, -1.7079, -11.8253, 16.2226, -5.1592, 2.7025])
    return checks.say(np.abs(found["out"][0] - logits).max() < 2e-4, "uff example: the first image's ten values")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        checks = Checks(*map(os.path.abspath, sys.argv[1:]), folder)
        for name, build, plugin, options in uff_cases.CASES:
            check_uff_case(checks, name, build, plugin, options)
        check_uff_lenet(checks)
        check_uff_messages(checks)
        check_uff_text(checks)
        check_damaged_uff(checks)
        check_ports(checks)
        check_test_folder(checks)
        check_shared_uff(checks)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
