# SPDX-License-Identifier: Apache-2.0
"""Models read in a helper process (--isolate): the plans are those of reading without, byte for byte, with all kinds of options;
errors are the reader's own; and a reader that does its worst ends in an error that names file, node, importer and library.

Usage: check_isolated_reading.py TENON BUILD [--all]
BUILD is the folder of the build. Of ONNX's own cases of operators every eighth is built, or with --all each. Needs NumPy and onnx.
"""

import os
import subprocess
import sys
import tempfile
import warnings

import numpy as np

from checks import ProgramChecks

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
MODELS = os.path.join(ROOT, "models")
ONE_OF = 8
LAYERS = "values two.values\ninput x 3\ndense h x 3 2\nrelu y h\noutput y\n"


class Checks(ProgramChecks):
    def __init__(self, tenon, build, folder):
        super().__init__(tenon, folder)
        self.build = build

    def run(self, *options, **variables):
        environment = {name: value for name, value in os.environ.items() if name != "TENON_PLUGIN_PATH"}
        return subprocess.run([self.tenon, *options], capture_output=True, text=True, errors="replace", timeout=120, cwd=self.folder,
                              env={**environment, **variables})

    def says(self, text, done, code, *parts):
        printed = done.stdout + done.stderr
        missing = [part for part in parts if part not in printed]
        self.say(done.returncode == code and not missing, f"{text}: exit {done.returncode}" +
                 (f", without {missing}: {printed.strip()[:400]}" if missing or done.returncode != code else ""))

    def plugin(self, name):
        return os.path.join(self.build, "lib", "tenon", "plugins", name)

    def built(self, model, *options):
        """Exit code, what was said, and the plan of a build."""
        plan = self.path("out.plan")
        done = self.run("build", model, "-o", "out.plan", "--no-timing", "-t", "1", *options)
        data = None
        if done.returncode == 0:
            with open(plan, "rb") as file:
                data = file.read()
            os.remove(plan)
        return done.returncode, done.stdout + done.stderr, data

    def is_same(self, model, *options):
        here, there = self.built(model, *options), self.built(model, *options, "--isolate")
        return here == there, here[0], here[1] if here == there else f"{here[:2]} and {there[:2]}"

    def same(self, text, code, model, *options):
        good, got, said = self.is_same(model, *options)
        self.say(good and got == code, f"{text}: exit {got}, the same in both processes" if good and got == code else f"{text}: {said[:600]}")


def in_models(name):
    return os.path.join(MODELS, name)


def check_models(checks):
    resize, prelu = checks.plugin("libdynamic_resize.so"), checks.plugin("libcaffe_prelu.so")
    lenet = ("--weights", in_models("lenet.caffemodel"))
    cases = (("lenet.onnx", 0), ("srcnn_fixed.onnx", 0), ("srcnn_resize.onnx", 0), ("srcnn_dynamic.onnx", 0, "-p", resize),
             ("srcnn_dynamic.onnx", 3), ("tiny/tiny_dynamic.onnx", 0, "-p", resize), ("lenet.prototxt", 0, *lenet), ("lenet.prototxt", 1),
             ("digits_prelu.prototxt", 0, "--weights", in_models("digits_prelu.caffemodel"), "-p", prelu),
             ("lenet_nhwc.uff", 0, "-p", checks.plugin("libuff_pool.so")), ("lenet_nhwc.uff", 3),
             ("lenet_nhwc.uff", 0, "-p", checks.plugin("libuff_pool.so"), "--order", "nchw"),
             ("lenet_nhwc.uff", 1, "--order", "sideways"))
    for name, code, *options in cases:
        given, got, said = checks.is_same(in_models(name), *options)
        checks.say(given and (got == 0) == (code == 0), f"{name} {' '.join(map(os.path.basename, options))}: " +
                   (f"exit {got}, the same in both processes" if given else said[:600]))


def check_combinations(checks):
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    onnx, caffe = in_models("lenet.onnx"), in_models("lenet.prototxt")
    weights = ("--weights", in_models("lenet.caffemodel"))
    input_name = name_of_input(onnx)
    for text, model, *options in (
            ("--border", onnx, "--border", f"{input_name}=uint8"), ("--shape", onnx, "--shape", f"{input_name}=1x1x28x28:2x1x28x28:4x1x28x28"),
            ("--refit-all", onnx, "--refit-all"), ("--precision", onnx, "--precision", "bf16"), ("--checked", onnx, "--checked"),
            ("--weights and --output", caffe, *weights, "--output", "fc1"), ("--weights and --shape", caffe, *weights, "--shape", "input=3x1x28x28")):
        good, code, said = checks.is_same(model, *options)
        checks.say(good and code == 0, f"{text}: exit {code}" + ("" if good and code == 0 else f": {said[:600]}"))
    with open(checks.path("mean.binaryproto"), "wb") as file:
        file.write(mean_image(28))
    checks.same("--mean", 0, caffe, *weights, "--mean", "mean.binaryproto")
    checks.same("--mean that is not there", 1, caffe, *weights, "--mean", "none.binaryproto")
    np.save(checks.path("x.npy"), np.linspace(0, 1, 784, dtype=np.float32).reshape(1, 1, 28, 28))
    for isolate in ([], ["--isolate"]):
        done = checks.run("run", onnx, "--input", "x.npy", "--output", f"{len(isolate)}.npy", "--no-timing", "-t", "1", *isolate)
        checks.says(f"run {' '.join(isolate)}", done, 0)
    checks.say(np.array_equal(np.load(checks.path("0.npy")), np.load(checks.path("1.npy"))), "run --isolate computes the same")
    checks.says("bench --isolate", checks.run("bench", onnx, "--no-timing", "-t", "1", "--seconds", "0.1", "--isolate"), 0, "min_ms")
    checks.says("inspect --isolate", checks.run("inspect", onnx, "--isolate"), 0, "9 nodes")


def name_of_input(model):
    import onnx
    graph = onnx.load(model).graph
    constants = {tensor.name for tensor in graph.initializer}
    return next(port.name for port in graph.input if port.name not in constants)


def varint(value):
    data = b""
    while value > 127:
        data, value = data + bytes([value % 128 + 128]), value // 128
    return data + bytes([value])


def mean_image(extent):
    """A BlobProto of 1 x 1 x extent x extent: num, channels, height, width (1 to 4) and data (5)."""
    values = np.full(extent * extent, 0.25, "<f4").tobytes()
    head = b"".join(bytes([field << 3]) + varint(value) for field, value in ((1, 1), (2, 1), (3, extent), (4, extent)))
    return head + bytes([5 << 3 | 2]) + varint(len(values)) + values


def check_layer_list(checks):
    with open(checks.path("two.values"), "wb") as file:
        file.write(np.arange(8, dtype=np.float32).tobytes())
    for name, text in (("two.layers", LAYERS), ("bad.layers", "values two.values\ninput x 3\ndense h y 3 2\n"),
                       ("outside.layers", "values ../two.values\n")):
        with open(checks.path(name), "w", encoding="utf-8") as file:
            file.write(text)
    library = checks.plugin("liblayer_list.so")
    checks.same("a third party's format, with a file that is kept", 0, "two.layers", "-p", library)
    checks.same("a mistake in its file", 1, "bad.layers", "-p", library)
    checks.same("a file outside", 1, "outside.layers", "-p", library)


def check_onnx_cases(checks, step):
    from onnx.backend.test import loader
    warnings.filterwarnings("ignore")
    cases = sorted(loader.load_model_tests(kind="node"), key=lambda case: case.name)
    built = refused = 0
    for case in cases[::step]:
        data = case.model.SerializeToString() if case.model is not None else None
        if data is None:
            continue
        with open(checks.path("case.onnx"), "wb") as file:
            file.write(data)
        good, code, said = checks.is_same("case.onnx")
        built, refused = built + (code == 0), refused + (code != 0)
        if not good:
            checks.say(False, f"{case.name}: {said[:600]}")
    checks.say(built > 0, f"ONNX's cases: {built} are built and {refused} refused, all the same in both processes")


def check_worst(checks):
    folder = os.path.join(checks.build, "tests", "isolated_reader")
    library = os.path.join(folder, "libworst_reader.so")
    position = "net.worst: byte 7: node 'conv1': the process that read it"
    where = f"in the importer 'worst' of library {library}"
    with open(checks.path("net.worst"), "w", encoding="utf-8") as file:
        file.write("hello")
    for what, *parts in (("crash", position, "was ended by signal 11 (Segmentation fault)", where), ("stack", position, "was ended by signal 11", where),
                         ("leave", position, "called exit(0)", where), ("give_up", position, "was ended by signal 6 (Aborted)", where),
                         ("hang", position, "was ended after 700 ms, which is its limit", where),
                         ("no_reason", "node 'conv1'", "the importer 'worst' returned 4 without a reason"), ("forged", "net.worst", "no reason")):
        done = checks.run("build", "net.worst", "-o", "w.plan", "-p", library, "--what", what, "--isolate-limit", "700")
        checks.says(f"a reader with {what}", done, 1, *parts)
    done = checks.run("build", "net.worst", "-o", "w.plan", "-p", library, "--what", "warns", "--isolate")
    checks.says("a warning of a reader", done, 0, "warning: an odd line")
    checks.says("a reader that leaves a process behind", checks.run("build", "net.worst", "-o", "w.plan", "-p", library, "--what", "child",
                                                                    "--isolate"), 0)
    checks.same("a reader that is sound", 0, "net.worst", "-p", library)


def main():
    tenon, build = (os.path.abspath(path) for path in sys.argv[1:3])
    with tempfile.TemporaryDirectory() as folder:
        checks = Checks(tenon, build, folder)
        check_models(checks)
        check_combinations(checks)
        check_layer_list(checks)
        check_worst(checks)
        check_onnx_cases(checks, 1 if "--all" in sys.argv else ONE_OF)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
