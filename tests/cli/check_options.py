# SPDX-License-Identifier: Apache-2.0
"""Every option of each subcommand, with each kind of file, and with each other option: it has an effect or is refused by name.

Usage: check_options.py TENON

USED says for each subcommand and kind of file which options have a use there; what a subcommand does not have is an unknown
option, all else must be refused before any work is done. Options that are used are then tried together, so that each pair
of them is in at least one run.
"""

import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "scripts", "models"))
import uff  # noqa: E402
from checks import ProgramChecks  # noqa: E402

MODELS = os.path.join(ROOT, "models")
DONE, FAULT, USAGE, UNSUPPORTED = 0, 1, 2, 3
SOURCE = r"""
#include <tenon/plugin.h>
static const tn_port ports[] = {TN_PORT("x", "f32", 0, "any shape")};
static tn_status infer(tn_call *call) {
    call->outputs[0]->rank = call->inputs[0]->rank;
    for (uint32_t i = 0; i < call->inputs[0]->rank; i++) call->outputs[0]->shape[i] = call->inputs[0]->shape[i];
    return TN_OK;
}
static tn_status reference(tn_call *call) {
    const float *x = (const float *)call->inputs[0]->data;
    float *y = (float *)call->outputs[0]->data;
    for (uint64_t i = 0; i < call->inputs[0]->bytes / sizeof(float); i++) y[i] = x[i] + 1;
    return TN_OK;
}
static const char *const cases[] = {"| x=f32[4]"};
static const tn_operator op = {.size = sizeof(tn_operator), .since_version = 1, .state_version = 1, .domain = "Test",
                               .name = OPERATOR, .doc = "adds one", TN_NO_FIELDS, TN_INPUTS(ports), TN_OUTPUTS(ports),
                               .infer = infer, .reference = reference, TN_CASES(cases)};
static const tn_operator *const operators[] = {&op};
static const tn_kernel *const kernels[] = {NULL};
TN_EXTERN_C TN_EXPORT tn_library *tenon_library_1(const tn_host *host);
tn_library *tenon_library_1(const tn_host *host) {
    static tn_library table = {.size = sizeof(tn_library), .abi_major = TN_ABI_MAJOR, .name = OPERATOR, .version = "1",
                               .operator_count = 1, .operators = operators, .kernel_count = 0, .kernels = kernels};
    (void)host;
    return &table;
}
"""


class Checks(ProgramChecks):
    prints_passes = False

    def __init__(self, tenon, folder):
        super().__init__(tenon, folder)
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith("TENON_")}
        self.environment["LC_ALL"] = "C"

    def run(self, *arguments, stdin=None, text=True, **environment):
        return subprocess.run([self.tenon, *arguments], cwd=self.folder, env={**self.environment, **environment}, input=stdin,
                              stdin=None if stdin is not None else subprocess.DEVNULL, capture_output=True, text=text,
                              timeout=120)

    def expect(self, title, arguments, code, *words, never=(), **more):
        done = self.run(*arguments, **more)
        said = done.stdout + done.stderr
        missing = [word for word in words if word not in said]
        wrong = [word for word in never if word in said]
        good = done.returncode == code and not missing and not wrong
        self.say(good, f"{title}: tenon {' '.join(arguments)}: exit {done.returncode} for {code}, missing {missing}, "
                       f"wrong {wrong}: {said[:500]}")
        return done


# ----------------------------------------------------------------------------------------------------------------------
# files

def small_model(path, extents, operator="Relu", domain=""):
    """x -> Conv -> Relu (or a layer) -> y, three channels."""
    generator = np.random.default_rng(1)
    weights = numpy_helper.from_array(generator.standard_normal((3, 3, 3, 3)).astype(np.float32), "w")
    nodes = [helper.make_node("Conv", ["x", "w"], ["m"], name="conv", pads=[1, 1, 1, 1]),
             helper.make_node(operator, ["m"], ["y"], name="last", domain=domain)]
    graph = helper.make_graph(nodes, "small", [helper.make_tensor_value_info("x", TensorProto.FLOAT, extents)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, extents)], [weights])
    opsets = [helper.make_opsetid("", 13)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)


def resize_model(path):
    """An image, and a tensor of which only the shape is read."""
    nodes = [helper.make_node("Shape", ["image"], ["image_shape"]), helper.make_node("Shape", ["size"], ["size_shape"]),
             helper.make_node("Slice", ["image_shape", "zero", "two"], ["front"]),
             helper.make_node("Slice", ["size_shape", "two", "four"], ["back"]),
             helper.make_node("Concat", ["front", "back"], ["sizes"], axis=0),
             helper.make_node("Resize", ["image", "", "", "sizes"], ["y"], mode="nearest")]
    values = [numpy_helper.from_array(np.array([number], np.int64), name)
              for name, number in (("zero", 0), ("two", 2), ("four", 4))]
    inputs = [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, "h", "w"]),
              helper.make_tensor_value_info("size", TensorProto.FLOAT, [1, 1, "H", "W"])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 3, "H", "W"])]
    graph = helper.make_graph(nodes, "resize", inputs, outputs, values)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)


def uff_model(path):
    net = uff.Network()
    net.input("input", [-1, 3, 8, 8])
    net.node("output", "Activation", ["input"], func="relu")
    net.output("output").write(path)


def write_files(checks):
    uff_model(checks.path("m.uff"))
    small_model(checks.path("m.onnx"), [1, 3, 8, 8])
    small_model(checks.path("open.onnx"), ["n", 3, "h", "w"])
    small_model(checks.path("layer.onnx"), [1, 3, 8, 8], "AddOne", "Test")
    resize_model(checks.path("resize.onnx"))
    generator = np.random.default_rng(2)
    os.makedirs(checks.path("samples"))
    for i in range(3):
        np.save(checks.path("samples", f"{i}.npy"), generator.standard_normal((1, 3, 8, 8)).astype(np.float32))
    np.save(checks.path("x.npy"), generator.standard_normal((1, 3, 8, 8)).astype(np.float32))
    pixels = generator.integers(0, 255, (8, 8, 3), np.uint8)
    os.makedirs(checks.path("pictures"))
    for name in ("x.ppm", "pictures/0.ppm"):
        with open(checks.path(name), "wb") as file:
            file.write(b"P6\n8 8\n255\n" + pixels.tobytes())
    with open(checks.path("digit.pgm"), "wb") as file:
        file.write(b"P5\n28 28\n255\n" + generator.integers(0, 255, (28, 28), np.uint8).tobytes())
    checks.expect("the plan", ["build", "m.onnx", "-o", "m.plan", "--no-timing", "-t", "1"], DONE)
    checks.expect("a plan to refit", ["build", "m.onnx", "-o", "refit.plan", "--no-timing", "--refit", "w"], DONE)
    np.save(checks.path("w.npy"), generator.standard_normal((3, 3, 3, 3)).astype(np.float32))
    checks.expect("a table", ["build", "m.onnx", "-o", "i.plan", "--no-timing", "--precision", "int8", "--calibration", "samples",
                              "--write-calibration", "table"], DONE)
    library(checks, "empty/libempty.so", "Empty")
    os.makedirs(checks.path("case", "test_data_set_0"))
    small_model(checks.path("case", "model.onnx"), [1, 3, 8, 8])
    x = np.load(checks.path("x.npy"))
    checks.expect("an output", ["run", "m.onnx", "-i", "x.npy", "-o", "y=y.npy"], DONE)
    for name, array in (("input_0", x), ("output_0", np.load(checks.path("y.npy")))):
        with open(checks.path("case", "test_data_set_0", name + ".pb"), "wb") as file:
            file.write(numpy_helper.from_array(array, name).SerializeToString())


def library(checks, path, operator):
    os.makedirs(os.path.dirname(checks.path(path)), exist_ok=True)
    with open(checks.path("layer.c"), "w", encoding="utf-8") as file:
        file.write(SOURCE)
    subprocess.run(["cc", "-std=c11", "-shared", "-fPIC", "-fvisibility=hidden", "-I", os.path.join(ROOT, "include"),
                    f'-DOPERATOR="{operator}"', "-o", checks.path(path), checks.path("layer.c")], check=True)


# ----------------------------------------------------------------------------------------------------------------------
# the table: each option with its value, and what else must be given for it to have a use

LENET = os.path.join(MODELS, "lenet")
INT8 = ["--precision", "int8", "--calibration", "samples"]
OPTIONS = {
    "plugin": ["--plugin", "empty/libempty.so"], "plugin-dir": ["--plugin-dir", "empty"], "shape": ["--shape", "SHAPE"],
    "threads": ["--threads", "1"], "device": ["--device", "cpu"], "precision": ["--precision", "fp16"],
    "input": ["--input", "INPUT"], "output": ["--output", "OUTPUT"], "output-dir": ["--output-dir", "results"],
    "timing-cache": ["--timing-cache", "cache"], "report": ["--report", "report.json"], "exact": ["--exact"],
    "allow-plugin": ["--allow-plugin", "ALLOWED"], "json": ["--json"], "seconds": ["--seconds", "0"],
    "contexts": ["--contexts", "2"], "shared-threads": ["--shared-threads", "2"], "profile": ["--profile"], "rtol": ["--rtol", "0.1"], "atol": ["--atol", "0.1"],
    "layout": ["--layout", "nchw"], "channels": ["--channels", "bgr"], "mean": ["--mean", "3"], "scale": ["--scale", "0.5"],
    "html": ["--html", "page.html"], "dot": ["--dot", "graph.dot"], "no-timing": ["--no-timing"], "no-fusion": ["--no-fusion"],
    "reference": ["--reference"], "verbose": ["--verbose"], "timing-seconds": ["--timing-seconds", "0.1"],
    "checked": ["--checked"], "checked-dump": ["--checked-dump", "dump"], "isolate": ["--isolate"],
    "isolate-limit": ["--isolate-limit", "5000"], "weights": ["--weights", LENET + ".caffemodel"],
    "calibration": ["--calibration", "samples"], "calibrator": ["--calibrator", "minmax"],
    "percentile": ["--percentile", "99"], "write-calibration": ["--write-calibration", "written"], "keep": ["--keep", "KEEP"],
    "max-accuracy-loss": ["--max-accuracy-loss", "1"], "markdown": ["--markdown"], "missing": ["--missing", "cpu"], "top": ["--top", "2"], "print": ["--print"], "range": ["--range", "RANGE"], "pin": ["--pin", "PIN"],
    "without-rewrite": ["--without-rewrite", "silu"], "border": ["--border", "BORDER"],
    "no-kernel-libraries": ["--no-kernel-libraries"], "no-packed-weights": ["--no-packed-weights"],
    "keep-half": ["--keep-half"],
    "embed-libraries": ["--embed-libraries"],
    "trust-embedded": ["--trust-embedded", "all"],
    "next-profile": ["--shape", "SHAPE", "--next-profile", "--shape", "SHAPE"], "use-profile": ["--use-profile", "0"],
    "refit": ["--refit", "REFIT"], "refit-all": ["--refit-all"], "from": ["--from", "m.onnx"],
}
NEEDS = {"calibration": ["--precision", "int8"], "calibrator": INT8, "percentile": INT8 + ["--calibrator", "percentile"],
         "write-calibration": INT8, "keep": INT8, "range": INT8, "max-accuracy-loss": INT8}
IMAGE = {"layout", "channels", "mean", "scale"}

BUILDING = {"plugin", "plugin-dir", "shape", "threads", "device", "precision", "timing-cache", "no-timing", "no-fusion",
            "reference", "verbose", "checked", "checked-dump", "calibration", "calibrator", "percentile", "write-calibration",
            "keep", "max-accuracy-loss", "range", "pin", "without-rewrite", "no-kernel-libraries", "border", "keep-half"}
RUNNING = {"plugin", "plugin-dir", "shape", "threads", "device", "input", "output", "output-dir", "allow-plugin", "json",
           "verbose", "checked", "checked-dump", "isolate", "isolate-limit"} | IMAGE
USED = {
    "build": BUILDING | {"input", "output", "report", "json", "timing-seconds", "next-profile", "refit", "refit-all",
                         "no-packed-weights", "embed-libraries", "isolate", "isolate-limit"},
    "refit plan": {"plugin", "plugin-dir", "output", "from", "weights", "verbose", "isolate", "isolate-limit"},
    "run model": (BUILDING | RUNNING | {"top", "print"}) - {"no-timing", "write-calibration"} | {"no-timing"},
    "run plan": RUNNING | {"exact", "trust-embedded", "top", "print", "use-profile"},
    "bench model": (BUILDING | RUNNING | {"seconds", "contexts", "shared-threads", "profile", "html", "timing-seconds"}) - {"write-calibration"},
    "bench plan": RUNNING | {"exact", "trust-embedded", "seconds", "contexts", "shared-threads", "profile", "html", "use-profile"},
    "test": {"plugin", "plugin-dir", "threads", "device", "precision", "timing-cache", "rtol", "atol", "no-fusion", "reference",
             "exact", "allow-plugin", "verbose", "checked", "checked-dump", "isolate", "isolate-limit"},
    "inspect model": {"plugin", "plugin-dir", "shape", "threads", "json", "verbose", "html", "dot", "isolate", "isolate-limit"},
    "inspect plan": {"json", "verbose", "html", "dot"},
    "doctor model": {"plugin", "plugin-dir", "shape", "allow-plugin", "json", "verbose"},
    "doctor plan": {"plugin", "plugin-dir", "exact", "allow-plugin", "trust-embedded", "json", "verbose"},
    "doctor": {"plugin", "plugin-dir", "verbose"},
    "plugin list": {"plugin", "plugin-dir", "json", "verbose", "missing"},
    "plugin show": {"plugin", "plugin-dir", "json", "verbose", "markdown"},
}
# What a subcommand has for some kinds of file or some other options alone; elsewhere in it, it is refused by name.
KNOWN = {
    "build": {"weights", "mean", "scale", "layout", "channels"},
    "run": {"weights", "exact", "trust-embedded", "timing-cache", "use-profile"} | BUILDING - {"write-calibration"},
    "bench": {"weights", "exact", "trust-embedded", "timing-seconds", "use-profile"} | BUILDING - {"write-calibration"},
    "test": set(),
    "refit": set(),
    "inspect": {"plugin", "plugin-dir", "shape", "threads", "weights", "mean", "scale", "isolate", "isolate-limit"},
    "doctor": {"shape", "weights", "exact", "allow-plugin", "trust-embedded", "json"},
    "plugin": {"markdown", "missing"},
}


def files_of(kind):
    """A model's path, options that it cannot do without, and the values that depend on it."""
    small = {"SHAPE": "x=1x3x8x8", "INPUT": "x=x.npy", "OUTPUT": "y=out.npy", "PICTURE": "x=x.ppm", "KEEP": "conv",
             "RANGE": "m=7.5", "PIN": "last=reference", "BORDER": "y=fp32", "REFIT": "w"}
    digit = {"SHAPE": "input=1x1x28x28", "INPUT": "input=digit.pgm", "OUTPUT": "output=out.npy", "PICTURE": "input=digit.pgm",
             "KEEP": "none", "PIN": "fc1=reference", "BORDER": "output=fp32", "REFIT": "fc1/blobs[0]"}
    picture = {"SHAPE": "input=1x3x8x8", "INPUT": "input=x.ppm", "OUTPUT": "output=out.npy", "PICTURE": "input=x.ppm",
               "PIN": "output=reference", "BORDER": "output=fp32"}
    return {"onnx": ("m.onnx", [], small), "plan": ("m.plan", [], small),
            "caffe": (LENET + ".prototxt", ["--weights", LENET + ".caffemodel"], digit),
            "uff": ("m.uff", [], picture)}[kind]


def command_of(column, kind, option):
    """The shortest call of a subcommand that works, in which the option is tried."""
    command = column.split()[0]
    if command == "test":
        return ["test", "case"], {}
    if command == "plugin":
        return column.split() + (["Relu"] if column == "plugin show" else []), {}
    if kind is None:
        return [command], {}
    if command == "refit":
        return ["refit", "refit.plan", "--from", "m.onnx", "-o", "out.plan"], {"OUTPUT": "out.plan"}
    path, needs, values = files_of(kind)
    arguments = [command, path, *needs]
    if command == "build":
        arguments += ["-o", "out.plan"]
    if command == "run" and option != "input":
        arguments += ["-i", values["PICTURE" if option in IMAGE else "INPUT"]]
    if command == "bench" and option in IMAGE:
        arguments += ["-i", values["PICTURE"]]
    if command == "bench" and option != "seconds":
        arguments += ["--seconds", "0"]
    if command in ("build", "bench") and kind != "plan" and option not in ("no-timing", "timing-cache", "timing-seconds"):
        arguments += ["--no-timing"]
    return arguments, values


def option_text(option, values):
    text = OPTIONS[option]
    if len(text) != 2:
        return [values.get(part, part) for part in text]
    value = {"ALLOWED": "/", **values}.get(text[1], text[1])
    return [text[0], value.partition("=")[0] if option in ("input", "output") and values.get("is_build") else value]


def try_options(checks):
    columns = [(column, kind) for column in USED for kind in
               (("onnx", "uff", "caffe") if column.endswith("model") or column == "build" else
                ("plan",) if column.endswith("plan") else (None,))]
    for column, kind in columns:
        command = column.split()[0]
        for option in OPTIONS:
            arguments, values = command_of(column, kind, option)
            text = option_text(option, {**values, "is_build": command == "build"})
            used = option in USED[column] or (option == "weights" and kind == "caffe" and "weights" in KNOWN[command])
            title = f"{column} {kind}: --{option}"
            if option in NEEDS and kind in ("uff", "caffe"):
                continue  # the samples are the small network's
            if option == "refit" and kind == "uff":
                continue  # it has no constants
            if command == "refit" and option == "weights":
                checks.expect(title, arguments + ["--weights", "w=w.npy"], DONE)
                continue
            if used and option == "weights":
                checks.expect(title, arguments, DONE)
            elif used and column.startswith("bench") and option == "html":
                checks.expect(title, arguments + text, USAGE, "option --html has no use here: it goes with --profile")
                checks.expect(title, arguments + text + ["--profile"], DONE)
            elif used:
                checks.expect(title, arguments + NEEDS.get(option, []) * (kind != "plan") + text, DONE)
            elif option in KNOWN[command]:
                checks.expect(title, arguments + text, USAGE, f"option --{option} has no use here: it goes with")
            else:
                checks.expect(title, arguments + text, USAGE, "unknown option")


# ----------------------------------------------------------------------------------------------------------------------
# pairs

CONFLICTS = [{"json", "print"}, {"timing-cache", "no-timing"}, {"timing-cache", "reference"}, {"timing-cache", "isolate"},
             {"timing-cache", "isolate-limit"}, {"timing-seconds", "no-timing"}, {"timing-seconds", "reference"},
             {"timing-seconds", "isolate"}, {"timing-seconds", "isolate-limit"}, {"calibrator", "percentile"},
             {"json", "markdown"}, {"precision", "calibration"}, {"precision", "calibrator"}, {"precision", "percentile"},
             {"precision", "write-calibration"}, {"precision", "keep"}, {"precision", "max-accuracy-loss"}, {"precision", "range"},
             {"reference", "pin"}, {"reference", "without-rewrite"}, {"no-fusion", "without-rewrite"}, {"reference", "no-kernel-libraries"}, {"dot", "html"}, {"dot", "json"}, {"html", "json"},
             {"shape", "next-profile"}]


def fits(group, option):
    return all({option, other} not in CONFLICTS for other in group)


def cover(options):
    """Groups without conflicts in which each pair that may meet does."""
    left = {(a, b) for a in options for b in options if a < b and {a, b} not in CONFLICTS}
    while left:
        group = list(min(left))
        for option in sorted(options, key=lambda o: -sum((min(o, g), max(o, g)) in left for g in group)):
            if option not in group and fits(group, option):
                group.append(option)
        left -= {(a, b) for a in group for b in group}
        yield group


def try_pairs(checks):
    pairs = 0
    for column, kind in (("build", "onnx"), ("run model", "onnx"), ("run plan", "plan"), ("bench model", "onnx"),
                         ("bench plan", "plan"), ("test", None), ("inspect model", "onnx"), ("inspect plan", "plan"),
                         ("doctor model", "onnx"), ("doctor plan", "plan"), ("plugin list", None), ("plugin show", None)):
        options = sorted(USED[column])
        for group in cover(options):
            pairs += len(group) * (len(group) - 1) // 2
            arguments, values = command_of(column, kind, "layout" if IMAGE & set(group) else "")
            arguments = [word for word in arguments if word != "--no-timing"]
            if "input" in group and "-i" in arguments:
                del arguments[arguments.index("-i"):][:2]
                at = arguments.index("-i") if "-i" in arguments else len(arguments)
                arguments = arguments[:at] + arguments[at + 2:]
                values = {**values, "INPUT": values["PICTURE"] if IMAGE & set(group) else values["INPUT"]}
            for option in group:
                arguments += option_text(option, {**values, "is_build": column == "build"})
            if set(group) & {"calibration", "calibrator", "percentile", "write-calibration", "keep", "max-accuracy-loss",
                              "range"}:
                arguments += ["--precision", "int8"] + ["--calibration", "samples"] * ("calibration" not in group)
            if "html" in group and column.startswith("bench"):
                arguments += ["--profile"]
            if "percentile" in group:
                arguments += ["--calibrator", "percentile"]
            checks.expect(f"{column}: {len(group)} options together", arguments, DONE)
    print(f"{pairs} pairs of options that may meet did")
    for column, arguments in (("run", ["run", "m.onnx", "-i", "x.npy"]), ("bench", ["bench", "m.onnx", "--seconds", "0"])):
        for group in CONFLICTS[1:9]:
            if column == "run" and "timing-seconds" in group:
                continue
            first = "timing-cache" if "timing-cache" in group else "timing-seconds"
            checks.expect(f"{column}: a conflict", arguments + [word for option in group for word in OPTIONS[option]], USAGE,
                          f"option --{first} has no use here")


# ----------------------------------------------------------------------------------------------------------------------

def helps_and_slips(checks):
    """-h names each option that there is, and what is misspelt gets the nearest."""
    for command in ("build", "run", "bench", "test", "inspect", "doctor", "plugin"):
        help_text = checks.expect("-h", [command, "-h"], DONE, "usage: tenon " + command, "example: ").stdout
        has = set().union(*(USED[column] for column in USED if column.split()[0] == command), KNOWN[command])
        for option in sorted(has):
            checks.say("--" + option in help_text, f"{command} -h lacks --{option}")
        of_importers = {"level", "order", "stages", "without-weights", "zipmap"} # tried by check_importers.py and check_ml.py
        untried = set(re.findall(r"--([a-z][a-z-]+)", help_text)) - set(OPTIONS) - of_importers
        checks.say(not untried, f"{command} -h: options that nothing here tries: {sorted(untried)}")
        checks.say(checks.run("help", command).stdout == help_text, f"tenon help {command}")
        for line in help_text.splitlines():
            checks.say(len(line) <= 150, f"{command} -h: a line of {len(line)} characters: {line}")
    checks.expect("a slip", ["run", "m.onnx", "--tpo", "3"], USAGE, "unknown option '--tpo'", "nearest is '--top'")
    checks.expect("a slip", ["run", "m.onnx", "--shpae=x=1"], USAGE, "nearest is '--shape'")
    checks.expect("another subcommand's", ["run", "m.onnx", "--report", "f"], USAGE, "other subcommands have it, run does not")
    checks.expect("a subcommand", ["rnu"], USAGE, "no subcommand 'rnu'; the nearest is 'run'", "usage:")
    checks.expect("a verb", ["plugin", "chek"], USAGE, "no verb 'chek'; the nearest is 'check'")
    checks.expect("no verb", ["plugin"], USAGE, "tenon plugin new")
    for word in ("--version", "version", "-V"):
        checks.expect("the version", [word], DONE, "tenon ")


def refusals_come_first(checks):
    """Before libraries are loaded, networks built or files written."""
    for arguments in (["run", "m.onnx", "--mean", "3", "--plugin", "nowhere.so", "-i", "x.npy"],
                      ["build", "m.onnx", "-o", "never.plan", "--weights", "w"],
                      ["bench", "m.plan", "--no-fusion", "--plugin", "nowhere.so"]):
        checks.expect("refused first", arguments, USAGE, "has no use here", never=["nowhere"])
    checks.say(not os.path.exists(checks.path("never.plan")), "nothing is written")
    checks.expect("samples that are images", ["build", "m.onnx", "-o", "p.plan", "--no-timing", "--precision", "int8",
                                              "--calibration", "pictures", "--mean", "3", "--scale", "0.1"], DONE)
    checks.expect("samples that are not", ["build", "m.onnx", "-o", "p.plan", "--no-timing", *INT8, "--scale", "0.1"], USAGE,
                  "option --scale has no use here")
    checks.expect("a table is there", ["build", "m.onnx", "-o", "p.plan", "--precision", "int8", "--calibration", "table",
                                       "--calibrator", "minmax"], USAGE, "option --calibrator", "without a table")
    checks.expect("an output that is an image", ["run", "m.onnx", "-i", "x.npy", "-o", "y=y.png", "--scale", "2"], DONE)


def shapes_of_plans(checks):
    """The optimum where nothing else is said, --shape where it is, and what does not fit is refused by name."""
    ranges = ["-s", "image=1x3x4x4:1x3x8x8:1x3x16x16", "-s", "size=1x1x6x6:1x1x12x10:1x1x32x32"]
    checks.expect("an open plan", ["build", "resize.onnx", "-o", "resize.plan", "--no-timing", *ranges], DONE)
    for file, more in (("resize.plan", []), ("resize.onnx", ranges)):
        checks.expect(f"{file} is timed at its optimum", ["bench", file, "--seconds", "0", "-o", "y=best.npy", *more], DONE)
        checks.say(np.load(checks.path("best.npy")).shape == (1, 3, 12, 10), f"{file}: the optimum's shape")
        checks.expect("a file, and an input of which only the shape is read", ["run", file, "-i", "image=x.npy", *more], DONE,
                      "y: f32[1, 3, 12, 10]")
        checks.expect("values are needed", ["run", file, *more], FAULT, "input 'image' is not bound", "--input NAME=FILE")
    checks.expect("the shape of an input without a file", ["run", "resize.plan", "-i", "image=x.npy", "-s", "size=1x1x20x30"],
                  DONE, "y: f32[1, 3, 20, 30]")
    checks.expect("and in a model", ["run", "resize.onnx", "-i", "image=x.npy", "-s", "size=1x1x20x30"], DONE,
                  "y: f32[1, 3, 20, 30]")
    checks.expect("nobody said a shape", ["run", "resize.onnx", "-i", "image=x.npy"], FAULT, "shape of input 'size' is not set",
                  "--shape NAME=")
    checks.expect("bench at another shape", ["bench", "resize.plan", "--seconds", "0", "-s", "size=1x1x9x7", "-o", "y=o.npy"], DONE)
    checks.say(np.load(checks.path("o.npy")).shape == (1, 3, 9, 7), "that shape")
    run = ["run", "resize.plan", "-i", "image=x.npy", "-s"]
    checks.expect("a name that is not there", [*run, "sise=1x1x9x7"], FAULT, "no input 'sise'", "nearest is 'size'")
    checks.expect("outside the profile", [*run, "size=1x1x5x7"], FAULT, "--shape", "axis 2 is 5", "built for 6 to 32")
    checks.expect("a range of a plan", [*run, "size=1x1x9x7:1x1x9x7:1x1x9x7"], USAGE, "one shape to run at")
    checks.expect("no shape", [*run, "size=1xq"], USAGE, "expected NAME=1x3x256x256")
    checks.expect("no name", [*run, "1x1x9x7"], USAGE, "has no name")
    checks.expect("another shape than the file's", [*run, "image=1x3x9x9"], FAULT, "x.npy: the shape is [1, 3, 8, 8]",
                  "--shape asks for [1, 3, 9, 9]")
    checks.expect("an input twice", [*run[:-1], "-i", "image=x.npy"], USAGE, "'image' is given twice")
    np.zeros((1, 3, 9, 9), np.float32).tofile(checks.path("raw.bin"))
    checks.expect("raw values of a shape", ["run", "resize.plan", "-i", "image=raw.bin", "-s", "image=1x3x9x9"], DONE)
    checks.expect("raw values of the optimum's", ["run", "resize.plan", "-i", "image=raw.bin"], FAULT, "needs 768")
    image = np.load(checks.path("x.npy"))
    np.save(checks.path("big.npy"), image.astype(">f4"))
    checks.expect("a .npy whose bytes are the other way round", [*run[:2], "-i", "image=big.npy", "-s", "size=1x1x20x30", "-o", "y=o.npy"], DONE)
    big = np.load(checks.path("o.npy"))
    checks.expect("and as they are here", [*run[:2], "-i", "image=x.npy", "-s", "size=1x1x20x30", "-o", "y=o.npy"], DONE)
    checks.say(np.array_equal(big, np.load(checks.path("o.npy"))), "a .npy whose bytes are the other way round: the same result")
    np.save(checks.path("pairs.npy"), np.zeros((1, 3, 8, 8), [("a", "<f4"), ("b", "<i4")]))
    np.save(checks.path("complex.npy"), np.zeros((1, 3, 8, 8), np.complex64))
    checks.expect("a .npy of records", [*run[:2], "-i", "image=pairs.npy"], FAULT, "pairs.npy", "are not supported")
    checks.expect("a .npy of complex values", [*run[:2], "-i", "image=complex.npy"], FAULT, "type <c8 are not supported")


def libraries_of_the_path(checks):
    """TENON_PLUGIN_PATH holds for models as --plugin-dir does, after what is named."""
    library(checks, "layers/libadd_one.so", "AddOne")
    with open(checks.path("layers", "libbroken.so"), "w", encoding="utf-8") as file:
        file.write("not a library")
    path = {"TENON_PLUGIN_PATH": "nowhere:layers"}
    checks.expect("without it", ["run", "layer.onnx", "-i", "x.npy"], UNSUPPORTED, "no operator 'Test::AddOne'")
    for arguments in (["run", "layer.onnx", "-i", "x.npy"], ["bench", "layer.onnx", "--seconds", "0", "--no-timing"],
                      ["build", "layer.onnx", "-o", "layer.plan", "--no-timing"], ["inspect", "layer.onnx"],
                      ["doctor", "layer.onnx"], ["plugin", "show", "Test::AddOne"]):
        checks.expect("with it", arguments, DONE, "layers/libbroken.so' is left out", never=["layers/libadd_one.so' is left"],
                      **path)
    checks.expect("a list", ["plugin", "list"], DONE, "libadd_one.so", **path)
    checks.expect("doctor", ["doctor"], DONE, "nowhere: there is no such folder", "layers: 2 libraries", **path)
    checks.expect("a plan that asks for nothing of it", ["run", "m.plan", "-i", "x.npy"], DONE, never=["left out"], **path)
    checks.expect("a plan that does", ["run", "layer.plan", "-i", "x.npy"], DONE, never=["left out"], **path)
    checks.expect("what is not allowed is not loaded", ["run", "layer.onnx", "-i", "x.npy", "--allow-plugin", "empty"],
                  UNSUPPORTED, "no operator 'Test::AddOne'", never=["left out"], **path)
    if not os.path.exists(os.path.join(os.path.dirname(checks.tenon), "../lib/tenon/kernels/libtenon_onednn.so")):
        print("no oneDNN here: skipped")
    else:
        checks.expect("a plan with a kernel library of Tenon's", ["build", "m.onnx", "-o", "own.plan", "--no-timing", "--pin", "conv=onednn"], DONE)
        checks.expect("what comes with Tenon is always allowed", ["run", "own.plan", "-i", "x.npy", "--allow-plugin", "empty", "--exact"], DONE,
                      never=["chosen again"])
    library(checks, "newer/libadd_one.so", "AddOne")
    with open(checks.path("newer", "libadd_one.so"), "ab") as file:
        file.write(b"other content")
    checks.expect("what is named goes first", ["run", "layer.onnx", "-i", "x.npy", "-p", "newer/libadd_one.so"], DONE, **path)


def missing_kernels(checks):
    """No operator of the processor is computed by its reference but those that need no kernel, each with a reason."""
    missing = ["plugin", "list", "--missing"]
    checks.expect("on the processor", [*missing, "cpu"], DONE, "0 operators have no kernel on cpu", "Reshape  a view")
    lists = json.loads(checks.expect("as JSON", [*missing, "cpu", "--json"], DONE).stdout)
    checks.say(lists["device"] == "cpu" and lists["missing"] == [], f"missing: {lists['missing']}")
    checks.say(len(lists["excepted"]) > 5 and all(entry["reason"] for entry in lists["excepted"]), f"{lists['excepted']}")
    library(checks, "missing/libadd_one.so", "AddOne")
    checks.expect("a library's", [*missing, "cpu", "--plugin", "missing/libadd_one.so"], DONE, "Test::AddOne\n",
                  "1 operators have no kernel")
    checks.expect("a device without kernels", [*missing, "tpu"], UNSUPPORTED, "has kernels for the device 'tpu'")
    checks.expect("elsewhere", ["plugin", "show", "Relu", "--missing", "cpu"], USAGE, "option --missing", "plugin list")


def types_of(report):
    """By node: its kernel, and the types that it reads and writes."""
    return {node["name"]: (node["kernel"], {value["type"] for value in node["inputs"] + node["outputs"] if value})
            for node in report["nodes"] if "name" in node}


def ranges_by_hand(checks):
    """Alone, and on top of a calibration, in the table and in the plan."""
    build = ["build", "m.onnx", "-o", "r.plan", "--no-timing", "--precision", "int8", "--json"]
    report = json.loads(checks.expect("a range", [*build, "--range", "x=2.54", "--range", "m=-1:12.7", "--pin", "conv=int8", "--write-calibration",
                                                  "by_hand"], DONE).stdout)
    scales = {value["tensor"]: value["scale"] for node in report["nodes"] for value in node["inputs"] + node["outputs"]
              if value and "scale" in value}
    checks.say(abs(scales.get("x", 0) - 0.02) < 1e-6, f"its scale: {scales}")
    with open(checks.path("by_hand"), encoding="utf-8") as file:
        written = dict(line.strip().split(": ") for line in file.readlines()[1:])
    checks.say(set(written) == {"x", "m"} and np.array([int(written["m"], 16)], np.uint32).view(np.float32)[0] == np.float32(0.1),
               f"and in the table: {written}")
    checks.expect("over a calibration", [*build, "--calibration", "samples", "--range", "x=25.4", "--write-calibration", "both"],
                  DONE)
    with open(checks.path("both"), encoding="utf-8") as file:
        written = dict(line.strip().split(": ") for line in file.readlines()[1:])
    checks.say(len(written) >= 3 and np.array([int(written["x"], 16)], np.uint32).view(np.float32)[0] == np.float32(0.2),
               f"the range goes before what was found: {written}")
    checks.expect("over a table", [*build, "--calibration", "table", "--range", "x=25.4"], DONE)
    checks.expect("no such tensor", [*build, "--range", "xx=1", "--calibration", "samples"], FAULT, "--range",
                  "no tensor 'xx'; the nearest is 'x'", never=["calibrate"])
    for wrong in ("x", "x=", "=1", "x=-1", "x=0", "x=2:1", "x=nan", "x=1e999", "x=1:2:3", "x=7.2.1"):
        checks.expect("no range", [*build, "--range", wrong], USAGE, f"option --range: '{wrong}'")


def inspect_as_tables(checks):
    """One aligned line an input, output and step, with types and shapes."""
    checks.expect("a plan", ["build", "open.onnx", "-o", "open.plan", "--timing-seconds", "0.2", "-s",
                             "x=1x3x4x4:1x3x8x8:2x3x16x16"], DONE)
    said = checks.expect("inspect", ["inspect", "open.plan"], DONE, "open.plan: graph 'small'",
                         "\n  x  f32  [n, 3, h, w]  1x3x8x8 (1x3x4x4 to 2x3x16x16)\n", "\noutputs\n  y  f32  [n, 3, h, w]\n",
                         "builtin  1", "\n  Conv  version 1").stdout
    lines = said[said.index("steps, in their order"):].splitlines()[1:]
    document = json.loads(checks.run("inspect", "open.plan", "--json").stdout)
    steps = document["programs"][0]["steps"]
    checks.say(len(lines) == len(steps) + 1, f"a line a step: {lines}")
    titles = [title for title in ("node", "operator", "kernel", "us", "reads", "writes")
              if title != "us" or any(step["ns"] for step in steps)]  # a busy machine has no time to measure
    checks.say(all(title in lines[0] for title in titles), f"titles: {lines[0]}")
    starts = [lines[0].index(title) for title in titles]
    for line, step in zip(lines[1:], steps):
        cells = [line[at:end].rstrip() for at, end in zip(starts, starts[1:] + [None])]
        good = cells[0] == (step["name"] or "-") and (step["kernel"] or step["kind"]) in cells[2] and "f32" in cells[-1]
        checks.say(good and all(at == 0 or line[at - 1] == " " for at in starts), f"aligned: {line} for {step['kernel']}")
    checks.say(document["outputs"] == [{"name": "y", "tensor": "y", "type": "f32", "shape": [-1, 3, -1, -1],
                                        "extent_names": ["n", "", "h", "w"]}], "as JSON")
    checks.expect("a fixed model", ["inspect", "m.onnx"], DONE, "\n  x  f32  [1, 3, 8, 8]\n", "\n  y  f32  [1, 3, 8, 8]\n",
                  "Conv + Relu")


def borders(checks):
    """Bytes with channels last in, 16 bits out: the values are those of the network as it is."""
    x = np.arange(1 * 3 * 8 * 8, dtype=np.uint8).reshape(1, 3, 8, 8)
    np.save(checks.path("bytes.npy"), np.ascontiguousarray(x.transpose(0, 2, 3, 1)))
    np.save(checks.path("floats.npy"), x.astype(np.float32))
    checks.expect("plain", ["run", "m.onnx", "-i", "x=floats.npy", "-o", "y=plain.npy"], DONE)
    border = ["--border", "x=uint8:nhwc", "--border", "y=fp16"]
    checks.expect("borders, built", ["build", "m.onnx", *border, "-o", "b.plan", "--no-timing"], DONE)
    checks.expect("and shown", ["inspect", "b.plan"], DONE, "\n  x  u8  [1, 8, 8, 3]\n", "\n  y  f16  ")
    for name, arguments in (("a plan", ["b.plan"]), ("a model", ["m.onnx", *border])):
        checks.expect(f"borders of {name}", ["run", *arguments, "-i", "x=bytes.npy", "-o", "y=b.npy"], DONE)
        y = np.load(checks.path("b.npy"))
        checks.say(y.dtype == np.float16 and np.allclose(y, np.load(checks.path("plain.npy")), rtol=1e-2, atol=1e-2), "the same result")
    for wrong, code, words in (("x=float", USAGE, ["NAME=TYPE"]), ("x=fp16:nchw", USAGE, ["NAME=TYPE"]), ("x", USAGE, ["NAME=TYPE"]),
                               ("xx=fp16", FAULT, ["no input or output 'xx'", "nearest is 'x'"])):
        checks.expect(f"--border {wrong}", ["build", "m.onnx", "-o", "w.plan", "--border", wrong], code, *words)


def pins_of_nodes(checks):
    """One node's kernel and type, in the report; what cannot be had is an error that names what there is."""
    build = ["build", "m.onnx", "-o", "p.plan", "--no-timing", "--json"]
    plain = types_of(json.loads(checks.run(*build).stdout))
    checks.say("last" not in plain, "unpinned, the activation is fused")
    report = json.loads(checks.expect("kernels", [*build, "--pin", "conv=reference", "--pin", "last=reference"], DONE).stdout)
    checks.say({name: kernel for name, (kernel, _) in types_of(report).items()} == {"conv": "reference", "last": "reference"},
               "pinned, both are nodes of their own")
    checks.say([node["pinned"] for node in report["nodes"] if "pinned" in node] == [{"kernel": "reference"}] * 2, "and reported")
    for arguments in (["run", "m.onnx", "-i", "x.npy", "-o", "y=p.npy"], ["bench", "m.onnx", "--seconds", "0", "--no-timing"]):
        checks.expect("pins", [*arguments, "--pin", "conv=direct_baseline"], DONE)
    checks.say(np.allclose(np.load(checks.path("p.npy")), np.load(checks.path("y.npy")), rtol=1e-3, atol=1e-5), "the same result")
    int8 = [*build, *INT8]
    for pin, wanted in (("conv=int8", True), ("conv=fp32", False)):
        done = checks.expect(pin, [*int8, "--pin", pin], DONE)
        found = types_of(json.loads(done.stdout))["conv"][1] if done.returncode == DONE else None
        checks.say(found and ("i8" in found) == wanted, f"{pin}: {found}")
    checks.expect("with a bound on the loss", [*int8, "--pin", "conv=int8", "--max-accuracy-loss", "1"], DONE)
    checks.expect("a combination", [*build, "--pin", "conv=direct_baseline:f32,f32,f32?->f32"], DONE)
    for pin, code, words in (("cnv=reference", FAULT, ["no node 'cnv'", "nearest is 'conv'"]),
                             ("conv=direct_base", FAULT, ["no kernel 'direct_base'", "direct_baseline", "reference"]),
                             ("conv=direct_baseline:f64 -> f64", UNSUPPORTED, ["its combinations: 'f32:strided, f32, f32? -> f32:strided'"]),
                             ("conv=fp16", FAULT, ["build with precision fp16"]), ("conv", FAULT, ["NODE=KERNEL"])):
        checks.expect("a pin that cannot be had", [*build, "--pin", pin], code, *words)


def results_on_the_screen(checks):
    expected = checks.path("y.npy")
    checks.expect("run", ["run", "m.onnx", "-i", "x.npy", "-o", "y=y.npy"], DONE)
    y = np.load(expected)
    said = checks.expect("--top", ["run", "m.onnx", "-i", "x.npy", "--top", "3"], DONE, "y: f32[1, 3, 8, 8]").stdout
    row = [line for line in said.splitlines() if line.startswith("  [0, 2, 5, :]")][0].split("]")[1].split()
    order = np.argsort(-y[0, 2, 5], kind="stable")[:3]
    checks.say([int(word[:-1]) for word in row[0::2]] == list(order), f"--top finds the largest: {row} for {order}")
    checks.say(np.allclose([float(word) for word in row[1::2]], y[0, 2, 5][order], rtol=1e-5), "and their values")
    top = json.loads(checks.run("run", "m.onnx", "-i", "x.npy", "--top", "9", "--json").stdout)["outputs"][0]["top"]
    checks.say(len(top) == 24 and top[3]["row"] == [0, 0, 3] and top[3]["indices"] == list(np.argsort(-y[0, 0, 3], kind="stable"))
               and np.array_equal(np.float32(top[3]["values"]), np.sort(y[0, 0, 3])[::-1]), "--top --json: all of a row at most")
    said = checks.run("run", "m.onnx", "-i", "x.npy", "--print").stdout
    numbers = [float(word) for word in said.split("\n", 1)[1].replace("[", " ").replace("]", " ").split()]
    checks.say(np.allclose(numbers, y.ravel(), rtol=1e-5, atol=1e-6), "--print: all of a small tensor, in its order")
    large = np.arange(2 * 3 * 40 * 50, dtype=np.float32).reshape(2, 3, 40, 50)
    np.save(checks.path("large.npy"), large)
    said = checks.run("run", "open.onnx", "-i", "large.npy", "--print").stdout
    checks.say(said.count("...") == 2 * 3 * (6 + 1) and len(said) < 4000, f"--print: the ends of a large one: {said[:300]}")
    done = checks.run("run", "m.onnx", "-i", "x.npy", "-o", "y=-", text=False)
    checks.say(done.returncode == DONE and done.stdout == open(expected, "rb").read(), "an output on stdout, and nothing else")
    with open(checks.path("x.npy"), "rb") as file:
        done = checks.run("run", "m.onnx", "-i", "-", "-o", "-", stdin=file.read(), text=False)
    checks.say(done.stdout == open(expected, "rb").read(), "an input from stdin")
    with open(checks.path("x.ppm"), "rb") as file:
        picture = file.read()
    piped = checks.run("run", "m.onnx", "-i", "x=-", "--print", stdin=picture, text=False).stdout
    checks.say(piped == checks.run("run", "m.onnx", "-i", "x=x.ppm", "--print", text=False).stdout, "an image from stdin")
    run = ["run", "m.onnx", "-i", "x.npy"]
    checks.expect("stdout is taken", [*run, "-o", "y=-", "--top", "2"], USAGE, "option --top has no use here")
    checks.expect("stdout is taken", [*run, "-o", "y=-", "--print"], USAGE, "option --print has no use here")
    checks.expect("stdout is taken", [*run, "-o", "y=-", "--json"], USAGE, "option --json has no use here")
    checks.expect("the times' stdout", ["bench", "m.plan", "-o", "y=-", "--seconds", "0"], USAGE, "option --output has no use")
    checks.expect("no number", [*run, "--top", "0"], USAGE, "--top")
    checks.expect("stdin twice", ["run", "resize.onnx", "-i", "image=-", "-i", "size=-"], USAGE, "stdin can be read once")
    checks.expect("stdin again", ["bench", "m.plan", "-i", "-", "--contexts", "2"], USAGE, "stdin can be read once")
    checks.expect("a plan on stdout", ["build", "m.onnx", "-o", "-"], USAGE, "a plan is a file")
    checks.expect("a picture on stdout", ["inspect", "m.plan", "--dot", "-"], DONE, "digraph tenon {")


FOREIGN = {  # name: (contents, words of the message, exit)
    "net.engine": (b"ftrt" + bytes(60), ["engine of TensorRT", "tenon build MODEL"], UNSUPPORTED),
    "net.plan": (b"ptrt" + bytes(60), ["engine of TensorRT"], UNSUPPORTED),
    "net.pt": (b"PK\x03\x04" + bytes(26) + b"net/data.pkl" + bytes(99), ["PyTorch", "torch.onnx.export"], UNSUPPORTED),
    "old.pth": (b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.", ["pickle", "torch.onnx.export"], UNSUPPORTED),
    "net.tflite": (b"\x1c\0\0\0TFL3" + bytes(60), ["TensorFlow Lite", "tf2onnx"], UNSUPPORTED),
    "frozen.pb": (b"\x0a\x18\x0a\x05input\x12\x0bPlaceholder\x22\0" + bytes(8), ["TensorFlow graph", "tf2onnx"], UNSUPPORTED),
    "saved_model.pb": (b"\x08\x01\x12\xff\x0f\x0a\x10" + bytes(60), ["SavedModel", "tf2onnx"], UNSUPPORTED),
    "graph.pbtxt": (b'node {\n  name: "x"\n  op: "Placeholder"\n}\n', ["TensorFlow graph in text"], UNSUPPORTED),
    "net.h5": (b"\x89HDF\r\n\x1a\n" + bytes(60), ["HDF5", "Keras"], UNSUPPORTED),
    "net.keras": (b"PK\x03\x04" + bytes(26) + b"metadata.json" + bytes(99), ["Keras model"], UNSUPPORTED),
    "net.xml": (b'<?xml version="1.0"?>\n<net name="n" version="11"><layers><layer id="0"/></layers></net>', ["OpenVINO"],
                UNSUPPORTED),
    "net.bin": (bytes(64), ["weights of an OpenVINO network"], UNSUPPORTED),
    "net.mlmodel": (b"\x08\x04\x12\x20\x0a\x10\x0a\x05image" + bytes(60), ["Core ML"], UNSUPPORTED),
    "weights.safetensors": (b"\x10\0\0\0\0\0\0\0{\"a\":{}}        " + bytes(60), ["safetensors", "no network"], UNSUPPORTED),
    "net.gguf": (b"GGUF\3\0\0\0" + bytes(60), ["GGUF"], UNSUPPORTED),
    "net.param": (b"7767517\n3 3\nInput x 0 1 x\n", ["ncnn"], UNSUPPORTED),
    "net.ort": (b"\x18\0\0\0ORTM" + bytes(60), ["ONNX Runtime"], UNSUPPORTED),
    "lfs.onnx": (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n", ["Git LFS", "git lfs pull"], FAULT),
    "empty.onnx": (b"", ["an empty file"], FAULT),
    "page.onnx": (b"\n<!DOCTYPE html>\n<html><body>Sign in</body></html>", ["a web page", "download"], FAULT),
    "net.onnx.gz": (b"\x1f\x8b\x08" + bytes(60), ["gzip", "unpack"], FAULT),
    "packed.onnx": (b"PK\x03\x04" + bytes(26) + b"net.onnx" + bytes(99), ["zip archive", "unpack"], FAULT),
    "picture.onnx": (b"\x89PNG\r\n\x1a\n" + bytes(60), ["image (PNG)", "--input"], FAULT),
    "photo": (b"\xff\xd8\xff\xe0" + bytes(60), ["image (JPEG)"], FAULT),
    "lib.so": (b"\x7fELF" + bytes(60), ["--plugin"], FAULT),
    "net.caffemodel": (b"\x0a\x05lenet" + bytes(60), ["weights of a Caffe network", "--weights"], FAULT),
    "notes.txt": (b"a text\n", ["neither a model nor a plan", ".onnx"], FAULT),
}


def other_formats(checks):
    """Named for what they are, with what to do, in each subcommand that has a model."""
    os.makedirs(checks.path("foreign", "saved"))
    for name, (contents, words, code) in FOREIGN.items():
        with open(checks.path("foreign", name), "wb") as file:
            file.write(contents)
    open(checks.path("foreign", "saved", "saved_model.pb"), "wb").close()
    rows = {**FOREIGN, "saved": (None, ["folder of a TensorFlow SavedModel"], UNSUPPORTED),
            "../samples": (None, ["a directory"], FAULT), "../x.npy": (None, ["NumPy array", "--input"], FAULT),
            "../x.ppm": (None, ["image (PPM)"], FAULT)}
    for name, (_, words, code) in rows.items():
        for command in (["build", "-o", "never.plan"], ["run"], ["bench"], ["inspect"], ["doctor"]):
            if command[0] != "run" and name in ("net.engine", "lfs.onnx", "notes.txt") or command[0] == "run":
                checks.expect(f"{command[0]} of {name}", [*command, "foreign/" + name], code, "foreign/" + name, *words)
    checks.expect("a plan where a model is wanted", ["build", "m.plan", "-o", "never.plan"], FAULT, "is a plan already")
    checks.expect("no such file", ["run", "nothing.onnx"], FAULT, "nothing.onnx", "No such file")
    for name, target in (("model", "m.onnx"), ("plan.onnx", "m.plan")):
        os.link(checks.path(target), checks.path(name))
        checks.expect(f"{target} by another name", ["run", name, "-i", "x.npy"], DONE)
    os.rename(checks.path("foreign", "lfs.onnx"), checks.path("lfs.npy"))
    checks.expect("a pointer in an input's stead", ["run", "m.onnx", "-i", "lfs.npy"], FAULT, "lfs.npy", "git lfs pull")


def main():
    with tempfile.TemporaryDirectory() as folder:
        checks = Checks(sys.argv[1], folder)
        write_files(checks)
        try_options(checks)
        try_pairs(checks)
        helps_and_slips(checks)
        refusals_come_first(checks)
        shapes_of_plans(checks)
        libraries_of_the_path(checks)
        missing_kernels(checks)
        ranges_by_hand(checks)
        results_on_the_screen(checks)
        borders(checks)
        pins_of_nodes(checks)
        inspect_as_tables(checks)
        other_formats(checks)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
