# SPDX-License-Identifier: Apache-2.0
"""Libraries of one name: told apart by content, loaded under domains of their own, kept so by plans; and bad ones in a folder.

Usage: check_namespaces.py TENON INCLUDE, the program and its headers. Compiles small libraries with cc.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

from checks import ProgramChecks

# y = FACTOR * w * x, of a library that is always called gain; its kernel packs FACTOR * w under a key that is always the same.
SOURCE = r"""
#include <tenon/plugin.h>
static tn_status infer(tn_call *call) {
    call->outputs[0]->rank = call->inputs[0]->rank;
    for (uint32_t i = 0; i < call->inputs[0]->rank; i++)
        call->outputs[0]->shape[i] = call->inputs[0]->shape[i];
    return TN_OK;
}
static void apply(tn_call *call, float factor) {
    for (uint64_t i = 0; i < call->inputs[0]->bytes / 4; i++)
        ((float *)call->outputs[0]->data)[i] = factor * ((const float *)call->inputs[0]->data)[i];
}
static tn_status reference(tn_call *call) {
    apply(call, FACTOR * *(const float *)call->inputs[1]->data);
    return TN_OK;
}
static tn_status fill(void *user, void *data, uint64_t bytes) {
    (void)bytes;
    *(float *)data = FACTOR * *(const float *)user;
    return TN_OK;
}
static tn_status prepare(tn_call *call) {
    const void *packed = 0;
    tn_status status = call->host->packed(call, 1, "w", 4, fill, (void *)call->inputs[1]->data, &packed);
    call->state = (void *)packed;
    return status;
}
static void release(tn_call *call) { (void)call; }
static tn_status run(tn_call *call) {
    apply(call, *(const float *)call->state);
    return TN_OK;
}
static tn_status accepts(tn_call *call) { return call->inputs[1]->data ? TN_OK : TN_ERROR_UNSUPPORTED; }
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, ""), TN_PORT("w", "f32", TN_PORT_VALUE_NEEDED, "")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "")};
static const tn_operator gain = {.size = sizeof(tn_operator), .since_version = 1, .state_version = 1, .domain = DOMAIN,
    .name = "Gain", .doc = TAG, TN_NO_FIELDS, TN_INPUTS(inputs), TN_OUTPUTS(outputs), .infer = infer, .reference = reference};
static const tn_kernel kernel = {.size = sizeof(tn_kernel), .revision = 1, .domain = DOMAIN, .op = "Gain", .device = "cpu",
    .name = "fast", .accepts = accepts, .prepare = prepare, .release = release, .run = run};
static const tn_operator *const operators[] = {&gain};
static const tn_kernel *const kernels[] = {&kernel};
#ifdef BY_LOAD
static tn_status load(const tn_host *host, tn_library *library) {
    tn_status status = host->register_kernel(host, library, &kernel);
    return status == TN_OK ? host->register_operator(host, library, &gain) : status;
}
TN_EXTERN_C TN_EXPORT tn_library *tenon_library_1(const tn_host *host);
tn_library *tenon_library_1(const tn_host *host) {
    static tn_library table = {.size = sizeof(tn_library), .abi_major = TN_ABI_MAJOR, .name = "gain", .version = TAG, .load = load};
    (void)host, (void)operators, (void)kernels;
    return &table;
}
#else
TN_LIBRARY("gain", TAG, operators, kernels)
#endif
"""
INPUT = numpy.array([1, 2, 3, 4], numpy.float32)


class Checks(ProgramChecks):
    prints_passes = False

    def __init__(self, tenon, include, folder):
        super().__init__(tenon, folder)
        self.include = include
        for name in ("TENON_PLUGIN_PATH", "TENON_FORCE_KERNEL"):
            os.environ.pop(name, None)
        numpy.save(self.path("x.npy"), INPUT)

    def run(self, *arguments, **environment):
        return subprocess.run([self.tenon, *arguments], cwd=self.folder, env={**os.environ, "LC_ALL": "C", **environment},
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)

    def expect(self, title, arguments, code, *words, never=(), **environment):
        done = self.run(*arguments, **environment)
        said = done.stdout + done.stderr
        good = done.returncode == code and all(word in said for word in words) and not any(word in said for word in never)
        self.say(good, f"{title}: exit {done.returncode}, expected {code} and {words}, not {never}: {said}")
        return said

    def library(self, path, domain, factor, tag="1.0", more=()):
        target = self.path(path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(self.path("gain.c"), "w", encoding="utf-8") as file:
            file.write(SOURCE)
        subprocess.run(["cc", "-std=c11", "-shared", "-fPIC", "-w", "-I", self.include, f'-DTAG="{tag}"', f'-DDOMAIN="{domain}"',
                        f"-DFACTOR={factor}.0f", "-o", target, self.path("gain.c"), *more], check=True)
        return target

    def model(self, name, *domains):
        x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in ("x", "y"))
        tensors = ["x", *(f"m{i}" for i in range(len(domains) - 1)), "y"]
        nodes = [helper.make_node("Gain", [tensors[i], "w"], [tensors[i + 1]], domain=domain, name=f"node{i}")
                 for i, domain in enumerate(domains)]
        graph = helper.make_graph(nodes, "g", [x], [y], [numpy_helper.from_array(numpy.array([5], numpy.float32), "w")])
        onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[
            helper.make_opsetid("", 17), *(helper.make_opsetid(domain, 1) for domain in set(domains))]), self.path(name))
        return name

    def result(self, title, arguments, factor, *words, never=(), **environment):
        if os.path.exists(self.path("y.npy")):
            os.remove(self.path("y.npy"))
        self.expect(title, ["run", *arguments, "--input", "x=x.npy", "--output", "y=y.npy"], 0, *words, never=never,
                    **environment)
        self.say(os.path.exists(self.path("y.npy")) and numpy.array_equal(numpy.load(self.path("y.npy")), factor * INPUT),
                 f"{title}: the result")


def same_name(checks):
    """Two libraries called gain, with an operator each."""
    a, b = checks.library("one/libgain_a.so", "A", 2), checks.library("one/libgain_b.so", "B", 3)
    model, both = checks.model("two.onnx", "A", "B"), ["--plugin", a, "--plugin", b]
    checks.expect("build", ["build", model, "-o", "two.plan", *both], 0)
    said = json.loads(checks.run("inspect", "two.plan", "--json").stdout or "{}")
    named = [it for it in said["libraries"] if it["name"] == "gain"]
    checks.say(len(named) == 2 and named[0]["hash"] != named[1]["hash"], f"inspect lists {named}")
    for title, more in (("both", both), ("both, the other way round", both[2:] + both[:2]), ("a folder", ["--plugin-dir", "one"]),
                        ("exactly", [*both, "--exact"]), ("checked", [*both, "--checked"]), ("isolated", [*both, "--isolate"]),
                        ("one of them on the path", ["--plugin", b, "--plugin-dir", "one"])):
        checks.result(title, ["two.plan", *more], 150, never=["warning"])
    checks.result("the model", [model, *both], 150)
    checks.result("by the path", ["two.plan"], 150, never=["warning"], TENON_PLUGIN_PATH="one")
    checks.expect("one is missing", ["run", "two.plan", "--input", "x=x.npy", "--plugin", a], 1, "B::Gain", "libgain_b.so")
    checks.expect("doctor", ["doctor", "two.plan", *both], 0)
    checks.expect("doctor without one", ["doctor", "two.plan", "--plugin", a], 1, "libgain_b.so")
    later = [checks.library(f"later/libgain_{name}.so", name.upper(), factor, "2.0") for name, factor in (("a", 7), ("b", 11))]
    for order in (later, later[::-1]):
        checks.result("both of other content", ["two.plan", *(word for it in order for word in ("--plugin", it))], 25 * 77,
                      "the plan was built with")


def same_operator(checks):
    """Two libraries with the same operator: one under a domain of its own."""
    one, two = checks.library("x/libone.so", "X", 2), checks.library("x/libtwo.so", "X", 3)
    said = checks.expect("both", ["build", checks.model("x.onnx", "X"), "-o", "x.plan", "--plugin", one, "--plugin", two], 1,
                         "X::Gain", "libone.so", "libtwo.so", "libtwo.so@DOMAIN", "mend:")
    checks.say(said.count("libone.so") == 1, said)
    model, both = checks.model("xo.onnx", "X", "Other"), ["--plugin", one, "--plugin", two + "@Other"]
    checks.expect("build", ["build", model, "-o", "xo.plan", *both], 0)
    said = json.loads(checks.run("inspect", "xo.plan", "--json").stdout or "{}")
    checks.say([it.get("domain") for it in said["libraries"] if it["name"] == "gain"] == [None, "Other"], f"inspect: {said}")
    checks.expect("list", ["plugin", "list", *both], 0, "Other::Gain", "X::Gain", "libtwo.so@Other")
    for title, more in (("both", both), ("isolated", [*both, "--isolate"]), ("checked", [*both, "--checked"]),
                        ("exactly", [*both, "--exact"]), ("another domain", ["--plugin", one, "--plugin", two + "@Third"]),
                        ("the folder, where the older one is left out", ["--plugin-dir", "x"])):
        checks.result(title, ["xo.plan", *more], 150)
    checks.result("by the path, quietly", ["xo.plan"], 150, never=["warning"], TENON_PLUGIN_PATH="x")
    checks.expect("doctor", ["doctor", "xo.plan", *both], 0, "Other")
    checks.expect("doctor of the model", ["doctor", model, *both], 0)
    same = checks.model("same.onnx", "P", "Q")
    checks.expect("one file under two domains", ["build", same, "-o", "same.plan", "--plugin", one + "@P", "--plugin", one + "@Q"], 0)
    checks.result("one file under two domains", ["same.plan", "--plugin", one], 100, never=["warning"])
    checks.expect("no domain", ["plugin", "list", "--plugin", one + "@a:b"], 1, "'a:b' is no domain")
    checks.expect("an empty domain", ["plugin", "list", "--plugin", one + "@"], 1, "libone.so@")
    shutil.copy(one, checks.path("x@y.so"))
    checks.expect("a file with an @", ["plugin", "list", "--plugin", "x@y.so"], 0, "X::Gain")
    checks.expect("a file with an @, under a domain", ["plugin", "list", "--plugin", "x@y.so@Z"], 0, "Z::Gain")


def registered_by_load(checks):
    """A library that registers its kernel, then its operator, in its load."""
    late = checks.library("late/liblate.so", "X", 13, more=["-DBY_LOAD"])
    checks.expect("build", ["build", checks.model("late.onnx", "Late"), "-o", "late.plan", "--plugin", late + "@Late"], 0)
    checks.expect("its kernel", ["inspect", "late.plan", "--json"], 0, '"fast"')
    checks.result("run", ["late.plan", "--plugin", late + "@Late"], 65, never=["warning"])


def bad_folder(checks):
    """A folder with bad libraries loads the others."""
    checks.library("mixed/libgood.so", "A", 2)
    with open(checks.path("mixed/libbroken.so"), "w", encoding="utf-8") as file:
        file.write("no library")
    subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "/dev/null", "-o", checks.path("mixed/libplain.so")], check=True)
    checks.result("a folder with bad ones", [checks.model("a.onnx", "A"), "--plugin-dir", "mixed"], 10, "libbroken.so", "libplain.so",
                  "left out")
    os.makedirs(checks.path("all_bad"))
    shutil.copy(checks.path("mixed/libbroken.so"), checks.path("all_bad"))
    checks.expect("a folder with bad ones alone", ["plugin", "list", "--plugin-dir", "all_bad"], 1, "libbroken.so")


def newest_of_folder(checks):
    """Versions of one library in a folder: the newest is taken, whatever the names; what is named goes before both."""
    old, new = checks.library("versions/liba.so", "V", 2), checks.library("versions/libb.so", "V", 3)
    model = checks.model("v.onnx", "V")
    for newest, factor in ((new, 15), (old, 10), (new, 15)):
        for library in (old, new):
            os.utime(library, (1000000000, 1000000000 + (library == newest)))
        other = os.path.basename(old if newest == new else new)
        checks.result(f"{newest} is the newest", [model, "--plugin-dir", "versions"], factor, other + "' is left out")
        checks.result(f"{other} is named", [model, "--plugin", "versions/" + other, "--plugin-dir", "versions"], 25 - factor,
                      os.path.basename(newest) + "' is left out", "already by")
    for library in (old, new):
        os.utime(library, (1000000000, 1000000000))
    checks.result("both of one time", [model, "--plugin-dir", "versions"], 10, "libb.so' is left out")


def main():
    with tempfile.TemporaryDirectory(prefix="tenon-namespaces.") as folder:
        checks = Checks(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), folder)
        same_name(checks)
        same_operator(checks)
        registered_by_load(checks)
        bad_folder(checks)
        newest_of_folder(checks)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
