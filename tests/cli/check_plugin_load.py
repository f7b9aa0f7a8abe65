# SPDX-License-Identifier: Apache-2.0
"""Plans and their libraries: moved, of other content, missing, broken, of other versions; what is said, and what mends it.

Usage: check_plugin_load.py TENON INCLUDE, the installed program and its headers. Compiles small libraries with cc.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile

import numpy
import onnx
from onnx import TensorProto, helper

from checks import ProgramChecks

# y = x + 1. What varies comes from the command line; a run of its code is marked in the file that TENON_TEST_MARK names.
SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
#include <tenon/plugin.h>
#ifdef WRONG_ABI
#undef TN_ABI_MAJOR
#define TN_ABI_MAJOR 9u
#endif
#ifdef DEPENDENCY
int absent_function(void);
#endif
__attribute__((constructor)) static void mark(void) {
    const char *name = getenv("TENON_TEST_MARK");
    FILE *file = name ? fopen(name, "a") : NULL;
    if (file) fputs(TAG "\n", file);
    if (file) fclose(file);
}
static tn_status infer(tn_call *call) {
    call->outputs[0]->rank = call->inputs[0]->rank;
    for (uint32_t i = 0; i < call->inputs[0]->rank; i++)
        call->outputs[0]->shape[i] = call->inputs[0]->shape[i];
    return TN_OK;
}
static tn_status reference(tn_call *call) {
    const float *x = call->inputs[0]->data;
    float *y = call->outputs[0]->data;
    for (uint64_t i = 0; i < call->inputs[0]->bytes / 4; i++)
        y[i] = x[i] + 1;
#ifdef DEPENDENCY
    y[0] += (float)absent_function();
#endif
    return TN_OK;
}
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "")};
static const char *const cases[] = {"| x=f32[3]"};
static const tn_operator add_one = {.size = sizeof(tn_operator), .since_version = VERSION, .state_version = 1, .domain = DOMAIN,
    .name = "AddOne", .doc = TAG, TN_NO_FIELDS, TN_INPUTS(inputs), TN_OUTPUTS(outputs), .infer = infer,
    .reference = reference, TN_CASES(cases)};
static const tn_operator *const operators[] = {&add_one};
static const tn_kernel *const kernels[] = {NULL};
TN_EXTERN_C TN_EXPORT tn_library *tenon_library_1(const tn_host *host);
tn_library *tenon_library_1(const tn_host *host) {
    static tn_library table = {.size = sizeof(tn_library), .abi_major = TN_ABI_MAJOR, .name = LIBRARY, .version = TAG,
                               .operator_count = 1, .operators = operators, .kernel_count = 0, .kernels = kernels};
    (void)host;
    return &table;
}
"""


class Checks(ProgramChecks):
    def __init__(self, tenon, include, folder):
        super().__init__(tenon, folder)
        self.include = include
        for name in ("TENON_PLUGIN_PATH", "TENON_TEST_MARK"):
            os.environ.pop(name, None)

    def run(self, *arguments, where=None, **environment):
        return subprocess.run([self.tenon, *arguments], cwd=where or self.folder, env={**os.environ, "LC_ALL": "C", **environment},
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)

    def expect(self, title, arguments, code, *words, never=(), where=None, is_silent=False, **environment):
        done = self.run(*arguments, where=where, **environment)
        said = done.stdout + done.stderr
        missing = [word for word in words if word not in said]
        wrong = [word for word in never if word in said]
        good = done.returncode == code and not missing and not wrong and not (is_silent and done.stderr)
        return self.say(good, title + ("" if good else f": exit {done.returncode}, missing {missing}, wrong {wrong}: {said}"))

    def library(self, path, tag="1.0", version=1, domain="Test", name="add_one", more=()):
        target = self.path(path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        source = self.path("add_one.c")
        with open(source, "w", encoding="utf-8") as file:
            file.write(SOURCE)
        subprocess.run(["cc", "-std=c11", "-shared", "-fPIC", "-fvisibility=hidden", "-D_GNU_SOURCE", "-I", self.include,
                        f'-DTAG="{tag}"', f"-DVERSION={version}", f'-DDOMAIN="{domain}"', f'-DLIBRARY="{name}"',
                        "-o", target, source, *more], check=True)
        return target

    def hash_of(self, library):
        listed = json.loads(self.run("plugin", "list", "--json", "--plugin", library).stdout)["libraries"]
        return [it["hash"] for it in listed if it["path"]][0]

    def model(self, name, version=1):
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])
        y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])
        nodes = [helper.make_node("AddOne", ["x"], ["m"], domain="Test", name="first"),
                 helper.make_node("AddOne", ["m"], ["y"], domain="Test", name="second")]
        graph = helper.make_graph(nodes, "g", [x], [y])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("Test", version)],
                                    ir_version=8), self.path(name))
        return name


def moved(checks):
    """The same content anywhere on the path; other content with a notice, and never with --exact."""
    right = checks.library("a/libadd_one.so")
    number = checks.hash_of(right)
    checks.expect("build", ["build", checks.model("net.onnx"), "-o", "net.plan", "--plugin", right], 0)
    numpy.save(checks.path("x.npy"), numpy.arange(4, dtype=numpy.float32))
    run = ["run", "net.plan", "--input", "x=x.npy", "--output", "y=y.npy"]
    checks.expect("the same library", [*run, "--plugin-dir", "a"], 0, is_silent=True)
    checks.say(numpy.array_equal(numpy.load(checks.path("y.npy")), [2, 3, 4, 5]), "and its result")
    os.makedirs(checks.path("b"))
    shutil.copy(right, checks.path("b/renamed.so"))
    checks.expect("moved and renamed, by TENON_PLUGIN_PATH", run, 0, is_silent=True, TENON_PLUGIN_PATH="b")
    checks.expect("moved and renamed, exactly", [*run, "--exact"], 0, is_silent=True, TENON_PLUGIN_PATH="nowhere:b")
    checks.expect("moved and renamed, by --plugin-dir", [*run, "--plugin-dir", "b"], 0, is_silent=True)
    os.makedirs(checks.path("elsewhere"))
    shutil.copy(checks.path("net.plan"), checks.path("elsewhere/net.plan"))
    shutil.copy(checks.path("x.npy"), checks.path("elsewhere"))
    checks.expect("a plan that was moved", [*run, "--plugin-dir", checks.path("a")], 0, is_silent=True,
                  where=checks.path("elsewhere"))
    shutil.copy(right, checks.path("elsewhere/libadd_one.so"))
    checks.expect("what lies beside it is not loaded", run, 1, "searched", where=checks.path("elsewhere"))
    other = checks.library("c/libadd_one.so", tag="1.1")
    changed = checks.hash_of(other)
    for title, more, environment in (("by the path", [], {"TENON_PLUGIN_PATH": "c"}), ("given", ["--plugin", other], {})):
        checks.expect(f"other content, {title}, with a notice", [*run, *more], 0, "warning", number, changed, **environment)
        checks.expect(f"other content, {title}, and --exact", [*run, *more, "--exact"], 1, "net.plan", "node 'first' and 1 more",
                      "operator Test::AddOne version 1", "needs library 'add_one'", f"content {number}", changed,
                      "exact loading refuses", "mend:", "tenon build MODEL", **environment)
    checks.expect("the right one behind another", run, 0, is_silent=True, TENON_PLUGIN_PATH="c:b")
    checks.library("other_name/libplus.so", name="plus")
    checks.expect("the operator of another library", [*run, "--plugin", "other_name/libplus.so"], 1, "needs library 'add_one'",
                  "mend:")
    return run, number, changed


def missing(checks, run, number):
    """Nothing found: what was wanted, searched and found, and what mends it."""
    wanted = ("net.plan", "node 'first' and 1 more", "operator Test::AddOne version 1", "needs library 'add_one'",
              "libadd_one.so", f"content {number}", "mend:", "--plugin", "tenon plugin build")
    checks.expect("missing", run, 1, *wanted, "searched")
    checks.expect("missing, in folders that are empty or not there", run, 1, *wanted, "no such folder", "0 libraries",
                  TENON_PLUGIN_PATH="nowhere:empty")
    os.makedirs(checks.path("f"), exist_ok=True)
    checks.library("f/libother.so", tag="2.0", name="other")
    checks.expect("another library has such an operator", run, 1, "libother.so' speaks of 'AddOne'", "--plugin f/libother.so",
                  TENON_PLUGIN_PATH="f")
    checks.expect("a model's operator", ["run", "net.onnx", "--input", "x=x.npy", "--output", "y=y.npy"], 3, "node 'first'",
                  "no operator 'Test::AddOne'", "--plugin LIB.so")
    checks.expect("a model's operator that the path has", ["run", "net.onnx", "--input", "x=x.npy", "--output", "y=y.npy"],
                  0, "y: f32[4]", TENON_PLUGIN_PATH="f")


def broken(checks, run, number):
    """Found, but it does not load, or has not what the plan needs."""
    checks.library("abi/libadd_one.so", more=["-DWRONG_ABI"])
    checks.expect("of another ABI, on the path", run, 1, "node 'first' and 1 more", f"content {number}", "does not load",
                  "ABI version 9", "mend:", "--rebuild", TENON_PLUGIN_PATH="abi")
    checks.expect("of another ABI, given", [*run, "--plugin", "abi/libadd_one.so"], 1, "abi/libadd_one.so", "ABI version 9.0",
                  "this is 1.")
    with open(checks.path("absent.c"), "w", encoding="utf-8") as file:
        file.write("int absent_function(void);\nint absent_function(void) { return 0; }\n")
    absent = checks.path("libtenon_test_absent.so")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", absent, checks.path("absent.c")], check=True)
    checks.library("depends/libadd_one.so", more=["-DDEPENDENCY", absent])
    os.remove(absent)
    checks.expect("without a shared library that it needs", run, 1, "does not load", "libtenon_test_absent.so", "mend:",
                  "operator Test::AddOne version 1", TENON_PLUGIN_PATH="depends")
    with open(checks.path("depends/libadd_one.so"), "w", encoding="utf-8") as file:
        file.write("not a library")
    checks.expect("that is no library", run, 1, "does not load", "mend:", TENON_PLUGIN_PATH="depends")
    checks.library("newer/libadd_one.so", version=2)
    checks.expect("a newer version of the operator", run, 3, "has versions 2; version 1 was asked for", "library 'add_one'",
                  f"content {number}", "mend:", TENON_PLUGIN_PATH="newer")
    checks.expect("build with the newer", ["build", checks.model("net2.onnx", 2), "-o", "net2.plan", "--plugin-dir", "newer"], 0)
    checks.expect("an older version of the operator", ["run", "net2.plan", *run[2:]], 3,
                  "has versions 1; version 2 was asked for", "mend:", TENON_PLUGIN_PATH="a")
    checks.library("domain/libadd_one.so", domain="Tset")
    checks.expect("another domain", run, 3, "no operator 'Test::AddOne'", "'Tset::AddOne'", "mend:", TENON_PLUGIN_PATH="domain")


def trust(checks, run, number, changed):
    """What is allowed runs, what is not does not: none of its code, not even what runs when a library is opened."""
    mark = checks.path("mark")

    def marks():
        text = open(mark, encoding="utf-8").read() if os.path.exists(mark) else ""
        if text:
            os.remove(mark)
        return text.split()

    checks.expect("the content is allowed", [*run, "--plugin-dir", "a", "--allow-plugin", number], 0, is_silent=True)
    checks.expect("the folder is allowed", [*run, "--plugin-dir", "a", "--allow-plugin", "a"], 0, is_silent=True)
    checks.expect("the folder above is allowed", [*run, "--plugin-dir", "a", "--allow-plugin", checks.folder], 0, is_silent=True)
    marks()
    checks.expect("other content than the allowed one", [*run, "--plugin-dir", "c", "--allow-plugin", number], 1, changed,
                  "is not among the allowed ones", f"--allow-plugin {changed}", TENON_TEST_MARK=mark)
    checks.say(not marks(), "and its code did not run")
    checks.expect("the right content in a folder that is not allowed", [*run, "--plugin-dir", "b", "--allow-plugin", "a"], 1,
                  "has that content, but is not among the allowed ones", f"--allow-plugin {number}", TENON_TEST_MARK=mark)
    checks.say(not marks(), "and its code did not run either")
    os.makedirs(checks.path("both"), exist_ok=True)
    shutil.copy(checks.path("a/libadd_one.so"), checks.path("both/z.so"))
    shutil.copy(checks.path("c/libadd_one.so"), checks.path("both/libadd_one.so"))
    checks.expect("the allowed one of two", [*run, "--plugin-dir", "both", "--allow-plugin", number], 0, is_silent=True,
                  TENON_TEST_MARK=mark)
    checks.say(marks() == ["1.0"], "and only its code ran")
    checks.expect("the other content is allowed", [*run, "--plugin-dir", "c", "--allow-plugin", changed], 0, "warning", changed)
    checks.expect("given, but not allowed", [*run, "--plugin", "a/libadd_one.so", "--allow-plugin", changed], 1,
                  "is not among the allowed ones")
    os.symlink(checks.path("c"), checks.path("a/inside"))
    checks.expect("a link out of an allowed folder", [*run, "--allow-plugin", "a"], 1, "is not among the allowed ones",
                  TENON_PLUGIN_PATH="a/inside")
    os.remove(checks.path("a/inside"))
    checks.expect("a folder whose name begins like an allowed one", [*run, "--allow-plugin", "a"], 1,
                  "is not among the allowed ones", TENON_PLUGIN_PATH="a2")


def doctor(checks, number, changed):
    """The same ahead of time."""
    checks.expect("doctor, all there", ["doctor", "net.plan", "--plugin-dir", "a"], 0, f"content {number}", "the same content",
                  "Test::AddOne version 1: found in library add_one", "all 1 operators found")
    checks.expect("doctor, other content", ["doctor", "net.plan", "--plugin-dir", "c"], 0, f"OTHER content {changed}")
    checks.expect("doctor, other content, exactly", ["doctor", "net.plan", "--exact"], 1, "MISSING", "exact loading refuses",
                  "1 of 1 operators missing", TENON_PLUGIN_PATH="c")
    checks.expect("doctor, missing", ["doctor", "net.plan"], 1, "Test::AddOne version 1: MISSING, of library add_one",
                  f"content {number}", "searched", "mend:", "1 of 1 operators missing")
    checks.expect("doctor, another version", ["doctor", "net.plan"], 1, "OTHER content", "version 1 was asked for", "MISSING",
                  TENON_PLUGIN_PATH="newer")
    checks.expect("doctor, not allowed", ["doctor", "net.plan", "--allow-plugin", changed], 1, "allowed ones",
                  TENON_PLUGIN_PATH="a")
    done = checks.run("doctor", "net.plan", "--json", TENON_PLUGIN_PATH="a:c")
    said = json.loads(done.stdout)
    checks.say(done.returncode == 0 and said["missing"] == 0 and said["operators"][0]["found_in"] == "add_one" and any(
        it["state"] == "same" and it["found_hash"] == it["hash"] == number and it["found_path"].endswith("a/libadd_one.so")
        for it in said["libraries"]), "doctor as JSON")
    done = checks.run("doctor", "net.plan", "--json")
    said = json.loads(done.stdout)
    checks.say(done.returncode == 1 and said["missing"] == 1 and "mend:" in said["operators"][0]["why"], "and what is missing")
    checks.expect("doctor of a model", ["doctor", "net.onnx", "--plugin-dir", "a"], 0, "found in library add_one")
    checks.expect("doctor of a model without its library", ["doctor", "net.onnx"], 1, "no operator 'Test::AddOne'")
    checks.expect("doctor of a model whose library the path has", ["doctor", "net.onnx"], 0, "found in library add_one",
                  TENON_PLUGIN_PATH="c")
    checks.expect("doctor of no file", ["doctor", "nothing.plan"], 1, "nothing.plan")
    checks.expect("doctor of two files", ["doctor", "net.plan", "net.onnx"], 2, "one model or plan")
    data = bytearray(open(checks.path("net.plan"), "rb").read())
    data[200] ^= 1
    with open(checks.path("damaged.plan"), "wb") as file:
        file.write(data)
    checks.expect("doctor of a damaged plan", ["doctor", "damaged.plan"], 1, "damaged.plan")


def kernel_libraries(checks, program):
    """Those beside the program are listed, though no network has asked for them."""
    beside = os.path.join(os.path.dirname(os.path.dirname(program)), "lib", "tenon", "kernels")
    listed = subprocess.run([program, "doctor"], capture_output=True, text=True, check=True).stdout
    for name in os.listdir(beside) if os.path.isdir(beside) else []:
        if name.endswith(".so"):
            checks.say(name in listed, f"doctor lists {name}")


def main():
    folder = tempfile.mkdtemp(prefix="tenon-plugin-load.")
    checks = Checks(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), folder)
    try:
        os.makedirs(checks.path("empty"))
        run, number, changed = moved(checks)
        missing(checks, run, number)
        broken(checks, run, number)
        shutil.copytree(checks.path("c"), checks.path("a2"))
        trust(checks, run, number, changed)
        doctor(checks, number, changed)
        kernel_libraries(checks, os.path.abspath(sys.argv[1]))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
