# SPDX-License-Identifier: Apache-2.0
"""Calibrates networks in models/ from folders of digits, builds them in 8 bits, and compares with 32-bit floats.

Usage: check_quantization.py TENON, where TENON is the program. Needs NumPy alone. Builds choose by rule
(--no-timing), which takes the lower precision wherever a kernel has it: what is tested is then the same on every machine.
Caffe's LeNet with its table from TensorRT is tested where the folder is that TENON_SHARED_DATA names, or ../shared/data
beside the repository.
"""

import gzip
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

from checks import ProgramChecks

MODELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "models")
SHARED = os.environ.get("TENON_SHARED_DATA", os.path.join(MODELS, "..", "..", "shared", "data"))
LENET = os.path.join(MODELS, "lenet.onnx")
TWO_INPUTS = os.path.join(MODELS, "tiny", "tiny_resize.onnx")
CALIBRATION_COUNT = 200  # of the stored digits; the others were held out from training
LOST_DIGITS = 2          # that 8 bits may get wrong beyond 32-bit floats, of 449
SIZE = 28


def enlarge(small):
    """Bilinear, half-pixel centres, edges repeated: as the network was trained."""
    at = np.clip((np.arange(SIZE) + 0.5) * small.shape[-1] / SIZE - 0.5, 0, small.shape[-1] - 1)
    low = np.floor(at).astype(int)
    high, part = np.minimum(low + 1, small.shape[-1] - 1), (at - low).astype(np.float32)
    rows = small[:, low] * (1 - part)[None, :, None] + small[:, high] * part[None, :, None]
    return rows[:, :, low] * (1 - part) + rows[:, :, high] * part


def load_digits():
    small = np.load(os.path.join(MODELS, "reference", "lenet_digits_small.npy")).astype(np.float32) / 16
    labels = np.load(os.path.join(MODELS, "reference", "lenet_digits_labels.npy"))
    digits = np.ascontiguousarray(enlarge(small)[:, None], np.float32)
    assert digits.min() >= 0 and digits.max() <= 1 and len(digits) == len(labels)
    return digits[:CALIBRATION_COUNT], digits[CALIBRATION_COUNT:], labels[CALIBRATION_COUNT:]


class Checks(ProgramChecks):
    def program(self, *arguments):
        return subprocess.run([self.tenon, *arguments], capture_output=True, text=True, timeout=300)

    def build(self, text, model, *options):
        """The report of a build; its plan is `plan` in the folder."""
        done = self.program("build", model, "-o", self.path("plan"), "--no-timing", "--json", *options)
        self.say(done.returncode == 0, f"{text}: exit {done.returncode} {done.stderr.strip()}")
        return json.loads(done.stdout) if done.returncode == 0 else None

    def right_answers(self, digits, labels):
        np.save(self.path("input.npy"), digits)
        done = self.program("run", self.path("plan"), "--input", f"input={self.path('input.npy')}",
                            "--output", f"output={self.path('output.npy')}")
        if done.returncode != 0:
            self.say(False, f"run: exit {done.returncode} {done.stderr.strip()}")
            return -1
        return int((np.load(self.path("output.npy")).argmax(1) == labels).sum())

    def fails(self, text, code, part, *arguments):
        done = self.program(*arguments)
        self.say(done.returncode == code and part in done.stderr,
                 f"{text}: exit {done.returncode} (expected {code}) {' | '.join(done.stderr.splitlines())}")

    def folder_of(self, name, arrays):
        os.makedirs(self.path(name), exist_ok=True)
        for index, array in enumerate(arrays):
            np.save(self.path(name, f"{index:04}.npy"), array)
        return self.path(name)


def types_of(report):
    return {value["type"] for node in report["nodes"] for value in node["inputs"] + node["outputs"] if value}


def scales_of(report):
    return {value["tensor"]: value["scale"] for node in report["nodes"]
            for value in node["inputs"] + node["outputs"] if value and "scale" in value}


def check_accuracy(checks, calibration, held_out, labels):
    shape = ("--shape", f"input={len(held_out)}x1x{SIZE}x{SIZE}")
    folder = checks.folder_of("digits", [digit[None] for digit in calibration])
    if not checks.build("lenet.onnx, fp32", LENET, *shape):
        return
    floats = checks.right_answers(held_out, labels)
    checks.say(floats >= 0.98 * len(labels), f"fp32: {floats} of {len(labels)} right")
    one = ("--shape", f"input=1x1x{SIZE}x{SIZE}")
    for calibrator in ("entropy", "minmax", "percentile"):
        table = checks.path(f"{calibrator}.cache")
        first = checks.build(f"int8 by {calibrator}", LENET, *one, "--precision", "int8", "--calibration", folder,
                             "--calibrator", calibrator, "--write-calibration", table)
        if not first:
            continue
        accuracy, tensors = first["accuracy"], first["calibration"]["tensors"]
        checks.say(accuracy["batches"] == CALIBRATION_COUNT and accuracy["loss"] < 0.05,
                   f"int8 by {calibrator}: loss {accuracy['loss']:.2g} over {accuracy['batches']} inputs")
        checks.say(all(0 < t["scale"] and t["error"] < 0.05 and t["clipped"] < 0.01 for t in tensors),
                   f"int8 by {calibrator}: {len(tensors)} tensors have scales that fit")
        again = checks.build(f"int8 by {calibrator}'s table", LENET, *shape, "--precision", "int8",
                             "--calibration", table)
        if not again:
            continue
        checks.say("i8" in types_of(again), f"int8 by {calibrator}: types are {sorted(types_of(again))}")
        scales = {t["tensor"]: t["scale"] for t in tensors}
        kept = scales_of(again)
        checks.say(kept and all(abs(scale / scales[name] - 1) < 1e-6 for name, scale in kept.items()
                                if not name.startswith(("pool", "flatten"))),
                   f"int8 by {calibrator}: the plan has the scales of the table for {sorted(kept)}")
        right = checks.right_answers(held_out, labels)
        checks.say(right >= floats - LOST_DIGITS, f"int8 by {calibrator}: {right} of {len(labels)} right, fp32 {floats}")


def check_networks(checks):
    """A build with samples that measures runs the networks that it considers, as every other one does."""
    done = checks.program("build", LENET, "-o", checks.path("measured.plan"), "--shape", "input=1x1x28x28", "--precision", "int8",
                          "--calibration", checks.path("digits"), "--timing-seconds", "1", "--verbose")
    runs = done.stderr.count("the network takes")
    checks.say(done.returncode == 0 and runs >= 2, f"networks are run with samples, too: {runs}, exit {done.returncode}")


def check_table(checks):
    """A table that is read and written again is the same, and gives the same plan."""
    one = ("--shape", f"input=1x1x{SIZE}x{SIZE}", "--precision", "int8", "--calibration")
    plans = []
    for table, copy in (("entropy.cache", "copy.cache"), ("copy.cache", "third.cache")):
        checks.build(f"int8 from {table}", LENET, *one, checks.path(table), "--write-calibration", checks.path(copy))
        with open(checks.path("plan"), "rb") as file:
            plans.append(file.read())
    checks.say(plans[0] == plans[1], "a table that was read and written gives the same plan")
    with open(checks.path("entropy.cache"), encoding="utf-8") as file:
        lines = file.read().splitlines()
    checks.say(lines[0] == "TRT-8600-EntropyCalibration2" and lines[1:] == sorted(lines[1:]) and len(lines) > 8,
               f"the table begins with {lines[0]}, {len(lines) - 1} entries in order")
    with open(checks.path("part.cache"), "w", encoding="utf-8") as file:
        file.write("\r\n".join(line for line in lines if not line.startswith("input")))
    done = checks.program("build", LENET, "-o", checks.path("plan"), "--no-timing", *one, checks.path("part.cache"))
    checks.say(done.returncode == 0 and "tensor 'input'" in done.stderr and "calibrate" in done.stderr,
               f"a table without an entry: exit {done.returncode} {done.stderr.strip()}")


def check_bound(checks):
    base = (LENET, "--shape", f"input=1x1x{SIZE}x{SIZE}", "--precision", "int8", "--calibration", checks.path("digits"))
    free = checks.build("int8 without a bound", *base)
    if not free:
        return
    bound = free["accuracy"]["loss"] / 2
    tight = checks.build("int8 with a bound", *base, "--max-accuracy-loss", f"{bound:.9g}")
    if not tight:
        return
    kept = [unit["nodes"][0] for unit in tight["accuracy"]["measured_alone"] if unit["kept"]]
    checks.say(tight["accuracy"]["loss"] <= bound and kept,
               f"int8 with a bound of {bound:.2g}: loss {tight['accuracy']['loss']:.2g}, back in fp32: {kept}")
    reasons = {node["name"]: node.get("stays", {}).get("why") for node in tight["nodes"]}
    checks.say(all(reasons[name] == "kept by the caller" for name in kept), "their reason is in the report")
    kept_report = checks.build("int8 with a node kept", *base, "--keep", "fc1")
    if kept_report:
        node = next(node for node in kept_report["nodes"] if node["name"] == "fc1")
        checks.say({value["type"] for value in node["inputs"]} == {"f32"}, "the node that is kept reads fp32")


def check_second(checks):
    """Two lower types beside floats, with everything that goes with one."""
    one = (LENET, "--shape", f"input=1x1x{SIZE}x{SIZE}", "--calibration")
    for second, calibrators in (("fp16", ("entropy", "minmax", "percentile")), ("bf16", ("entropy",))):
        both = ("--precision", f"int8,{second}")
        for calibrator in calibrators:
            table = checks.path(f"{second}.cache")
            report = checks.build(f"int8,{second} by {calibrator}", *one, checks.path("digits"), *both,
                                  "--calibrator", calibrator, "--write-calibration", table)
            if not report:
                continue
            with open(table, "rb") as file, open(checks.path(f"{calibrator}.cache"), "rb") as other:
                checks.say(file.read() == other.read(), f"int8,{second} by {calibrator}: the table is int8's")
            checks.say(report["accuracy"]["precision"] == f"int8,{second}" and "i8" in types_of(report),
                       f"int8,{second}: types are {sorted(types_of(report))}")
        checks.build(f"int8,{second} by a table", *one, checks.path("entropy.cache"), *both)
        report = checks.build(f"int8,{second} with table and folder", *one, checks.path("entropy.cache"),
                              "--calibration", checks.path("digits"), *both)
        if not report:
            continue
        bound = report["accuracy"]["loss"] / 2
        report = checks.build(f"int8,{second} with a bound and a node kept", *one, checks.path("digits"), *both,
                              "--max-accuracy-loss", f"{bound:.9g}", "--keep", "fc1")
        if report:
            node = next(node for node in report["nodes"] if node["name"] == "fc1")
            checks.say(report["accuracy"]["loss"] <= bound, f"int8,{second}: loss {report['accuracy']['loss']:.2g}")
            checks.say({value["type"] for value in node["inputs"]} == {"f32"}, "the node that is kept reads fp32")


def write_pgm(path, digit):
    with open(path, "wb") as file:
        file.write(b"P5\n%d %d\n255\n" % (SIZE, SIZE) + np.rint(digit[0] * 255).astype(np.uint8).tobytes())


def check_folders(checks, calibration):
    shape = ("--shape", f"input=1x1x{SIZE}x{SIZE}")
    os.makedirs(checks.path("images"))
    for index, digit in enumerate(calibration[:20]):
        write_pgm(checks.path("images", f"{index:03}.pgm"), digit)
    with open(checks.path("images", "labels.txt"), "w", encoding="utf-8") as file:
        file.write("not an input\n")
    report = checks.build("calibration from images", LENET, *shape, "--precision", "int8", "--scale", str(1 / 256),
                          "--calibration", checks.path("images"), "--calibrator", "minmax")
    if report:
        tensor = report["calibration"]["tensors"][0]
        checks.say(report["calibration"]["batches"] == 20 and abs(tensor["largest"] * 256 - 255) < 1e-3,
                   f"20 images: the largest value of '{tensor['tensor']}' is {tensor['largest']}")
    for text, options, largest in (("as they come", (), 1), ("not scaled", ("--scale", "1"), 255)):
        report = checks.build(f"images {text}", LENET, *shape, "--precision", "int8", *options, "--calibration",
                              checks.path("images"))
        if report:
            found = report["calibration"]["tensors"][0]["largest"]
            checks.say(abs(found / largest - 1) < 1e-6, f"images {text}: the largest value is {found}")
    folder = checks.folder_of("batch", [calibration[:30]])
    for text, options, expected in (("split into single ones", shape, 30), ("as one batch", (), 1)):
        report = checks.build(f"a file of 30 digits {text}", LENET, *options, "--precision", "int8",
                              "--calibration", folder)
        if report:
            checks.say(report["calibration"]["batches"] == expected, f"a file of 30 digits {text}: {expected}")
    random = np.random.RandomState(3)
    checks.folder_of("two/image", random.rand(4, 1, 2, 5, 6).astype(np.float32))
    checks.folder_of("two/size", np.zeros((4, 1, 1, 9, 13), np.float32))
    two = (TWO_INPUTS, "--shape", "image=1x2x5x6", "--shape", "size=1x1x9x13", "--precision", "int8",
           "--calibration", checks.path("two"))
    report = checks.build("two inputs, a sub-folder each", *two)
    if report:
        names = [tensor["tensor"] for tensor in report["calibration"]["tensors"]]
        checks.say(report["calibration"]["batches"] == 4 and "image" in names, f"two inputs: {names}")
    os.remove(checks.path("two", "size", "0002.npy"))
    checks.fails("a file that one input lacks", 1, "0002.npy", "build", *two, "-o", checks.path("plan"))


def check_page(checks):
    page = checks.path("report.html")
    done = checks.program("build", LENET, "-o", checks.path("plan"), "--no-timing", "--precision", "int8", "--shape",
                          f"input=1x1x{SIZE}x{SIZE}", "--calibration", checks.path("digits"), "--report", page)
    if not checks.say(done.returncode == 0, f"a report as a page: exit {done.returncode} {done.stderr.strip()}"):
        return
    with open(page, encoding="utf-8") as file:
        text = file.read()
    checks.say(text.count("<svg") == text.count("</svg>") >= 15 and "conv1" in text and "relu1_output" in text,
               f"the page has {text.count('<svg')} pictures and the layers' names")
    checks.say(not any(word in text for word in ("http", "src=", "href=", "url(", "@import", "nan", "inf\"")),
               "the page takes nothing from elsewhere and has no broken numbers")


def check_bad_input(checks, calibration):
    build = ("build", LENET, "-o", checks.path("plan"), "--precision", "int8")
    os.makedirs(checks.path("empty"))
    bad = checks.folder_of("bad", [calibration[0][None] * np.float32("nan")])
    wrong = checks.folder_of("wrong", [calibration[0][None, :, :20]])
    double = checks.folder_of("double", [calibration[0][None].astype(np.float64)])
    os.makedirs(checks.path("broken"))
    with open(checks.path("broken", "a.png"), "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\nno more")
    with open(checks.path("bad.cache"), "w", encoding="utf-8") as file:
        file.write("TRT-8600-EntropyCalibration2\ninput: 3c010204\nconv1_output: 4.5\n")
    for text, code, part, arguments in (
            ("int8 without calibration", 2, "--calibration DIRECTORY", build),
            ("an empty folder", 1, "no sample inputs", (*build, "--calibration", checks.path("empty"))),
            ("a path that is not there", 1, "nowhere", (*build, "--calibration", checks.path("nowhere"))),
            ("an image that cannot be read", 1, "a.png", (*build, "--calibration", checks.path("broken"))),
            ("a wrong shape", 1, "[1, 1, 20, 28], input 'input' takes [any, 1, 28, 28]", (*build, "--calibration", wrong)),
            ("a wrong type", 1, "f64", (*build, "--calibration", double)),
            ("values that are no numbers", 1, "tensor 'input' not a number", (*build, "--calibration", bad)),
            ("values that are no numbers, their file", 1, "sample input 0 is '" + os.path.join(bad, "0000.npy"),
             (*build, "--calibration", bad)),
            ("a damaged table", 1, "line 3", (*build, "--calibration", checks.path("bad.cache"))),
            ("no such precision", 2, "int4", (*build[:4], "--precision", "int4")),
            ("no such calibrator", 2, "entropy, minmax or percentile", (*build, "--calibrator", "best")),
            ("calibration without its precision", 2, "int8", (*build[:4], "--calibration", checks.path("digits"))),
            ("a bound without inputs", 2, "DIRECTORY",
             (*build, "--calibration", checks.path("entropy.cache"), "--max-accuracy-loss", "0.1")),
            ("no such node to keep", 1, "fc1", (*build, "--calibration", checks.path("entropy.cache"), "--keep", "fc11")),
            ("a precision for a plan", 2, "already", ("run", checks.path("plan"), "--precision", "int8"))):
        checks.fails(text, code, part, *arguments)
    done = checks.program(*build[:4], "--precision", "tf32", "--no-timing")
    checks.say(done.returncode == 0 and "changes nothing" in done.stderr, f"tf32 on the processor: {done.stderr.strip()}")


def load_mnist():
    def read(name, skipped):
        with gzip.open(os.path.join(SHARED, "mnist", name)) as file:
            return np.frombuffer(file.read()[skipped:], np.uint8)
    return read("t10k-images-idx3-ubyte.gz", 16).reshape(-1, 1, SIZE, SIZE), read("t10k-labels-idx1-ubyte.gz", 8)


def count_right(checks, images, labels):
    right = []
    for at in range(0, len(images), 1000):
        np.save(checks.path("input.npy"), images[at:at + 1000].astype(np.float32) * np.float32(1 / 256))
        done = checks.program("run", checks.path("plan"), "--input", f"data={checks.path('input.npy')}", "--output",
                              f"prob={checks.path('output.npy')}")
        if done.returncode != 0:
            checks.say(False, f"run: exit {done.returncode} {done.stderr.strip()}")
            return 0, 0
        answers = np.load(checks.path("output.npy")).reshape(-1, 10).argmax(1)
        right.append(int((answers == labels[at:at + 1000]).sum()))
    return sum(right[:2]), sum(right)


def check_caffe(checks):
    """Right answers on the first 2,000 digits and on all 10,000, at least."""
    folder = os.path.join(SHARED, "lenet")
    if not os.path.exists(os.path.join(folder, "LegacyCalibrationTable")):
        checks.skipped += 1
        print(f"SKIP Caffe's LeNet: there is no {folder}")
        return
    images, labels = load_mnist()
    os.makedirs(checks.path("mnist"))
    for index in range(len(images) - 500, len(images)):
        with open(checks.path("mnist", f"{index}.pgm"), "wb") as file:
            file.write(b"P5\n%d %d\n255\n" % (SIZE, SIZE) + images[index].tobytes())
    model = (os.path.join(folder, "lenet.prototxt"), "--weights", os.path.join(folder, "lenet_iter_10000.caffemodel"),
             "--shape", f"data=1x1x{SIZE}x{SIZE}:1000x1x{SIZE}x{SIZE}:1000x1x{SIZE}x{SIZE}")
    int8 = ("--precision", "int8", "--calibration")
    for text, options, first, least in (
            ("fp32", (), 1973, 9914),
            ("int8 with TensorRT's table", (*int8, os.path.join(folder, "LegacyCalibrationTable")), 1971, 9905),
            ("int8 by our own calibration", (*int8, checks.path("mnist"), "--scale", str(1 / 256)), 1969, 9894)):
        report = checks.build(f"Caffe's LeNet, {text}", *model, *options)
        if not report:
            continue
        found = count_right(checks, images, labels)
        checks.say(found[0] >= first and found[1] >= least and (not options or "i8" in types_of(report)),
                   f"Caffe's LeNet, {text}: {found[0]} of 2000 and {found[1]} of 10000 right, {sorted(types_of(report))}")


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    calibration, held_out, labels = load_digits()
    with tempfile.TemporaryDirectory(prefix="tenon-quantization.") as folder:
        checks = Checks(sys.argv[1], folder)
        check_accuracy(checks, calibration, held_out, labels)
        check_table(checks)
        check_networks(checks)
        check_bound(checks)
        check_second(checks)
        check_folders(checks, calibration)
        check_page(checks)
        check_bad_input(checks, calibration)
        check_caffe(checks)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
