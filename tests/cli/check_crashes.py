# SPDX-License-Identifier: Apache-2.0
"""Plugins that crash: the command line names node, kernel, library and callback, and ends as it would have.

Usage: check_crashes.py TENON INCLUDE, the installed program and its headers. Compiles a small library with cc.
"""

import os
import signal
import subprocess
import sys
import tempfile

import numpy
import onnx
from onnx import TensorProto, helper

from checks import ProgramChecks

# y = x + 1, in pieces of one. TENON_TEST_CRASH names the callback that crashes, TENON_TEST_SIGNAL how.
SOURCE = r"""
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/plugin.h>
static volatile int zero;
static int overflow(volatile char *before) {
    volatile char here[4096];
    here[0] = before ? before[0] : 0;
    return overflow(here) + here[0];
}
static void crash_now(void) {
    const char *how = getenv("TENON_TEST_SIGNAL");
    if (!how || !strcmp(how, "segv")) *(volatile int *)8 = 1;
    else if (!strcmp(how, "memcpy")) memcpy((void *)(uintptr_t)(8 + zero), how, 4096 + (size_t)zero);
    else if (!strcmp(how, "fpe")) zero = 100 / zero;
    else if (!strcmp(how, "ill")) __builtin_trap();
    else if (!strcmp(how, "bus")) raise(SIGBUS);
    else if (!strcmp(how, "overflow")) zero = overflow(NULL);
    else abort();
}
static int is_wanted(const char *callback) {
    const char *wanted = getenv("TENON_TEST_CRASH");
    return wanted && !strcmp(wanted, callback);
}
static void crash(const char *callback) {
    if (is_wanted(callback)) crash_now();
}
__attribute__((constructor)) static void construct(void) { crash("constructors"); }
static tn_status infer(tn_call *call) {
    crash("infer");
    call->outputs[0]->rank = call->inputs[0]->rank;
    for (uint32_t i = 0; i < call->inputs[0]->rank; i++)
        call->outputs[0]->shape[i] = call->inputs[0]->shape[i];
    return TN_OK;
}
static tn_status body(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const tn_call *call = user;
    if (thread) crash("worker");
    for (volatile int64_t k = 0; k < 2000000 && is_wanted("worker"); k = k + 1) {}
    for (int64_t i = begin; i < end; i++)
        ((float *)call->outputs[0]->data)[i] = ((const float *)call->inputs[0]->data)[i] + 1;
    return TN_OK;
}
static tn_status run(tn_call *call) {
    crash("run");
    return call->host->parallel_for(call, (int64_t)(call->inputs[0]->bytes / 4), 1, body, call);
}
static tn_status reference(tn_call *call) {
    crash("reference");
    return body(call, 0, (int64_t)(call->inputs[0]->bytes / 4), 0);
}
static tn_status facet(tn_call *call, uint32_t input, const char *name, tn_facet *out) {
    (void)call, (void)input, (void)name, (void)out;
    crash("facet");
    return TN_ERROR_UNSUPPORTED;
}
#define CALLBACK(name) static tn_status name(tn_call *call) { (void)call; crash(#name); return TN_OK; }
CALLBACK(accepts)
CALLBACK(prepare)
CALLBACK(open)
CALLBACK(reshape)
static void release(tn_call *call) { (void)call; crash("release"); }
static void close_(tn_call *call) { (void)call; crash("close"); }
static tn_status tactics(tn_call *call) { crash("tactics"); call->tactic_count = 2; return TN_OK; }
static tn_status load(const tn_host *host, tn_library *library) { (void)host, (void)library; crash("load"); return TN_OK; }
static void unload(const tn_host *host, tn_library *library) { (void)host, (void)library; crash("unload"); }
static const tn_port inputs[] = {TN_PORT("x", "f32", 0, "")};
static const tn_port outputs[] = {TN_PORT("y", "f32", 0, "")};
static const tn_operator add_one = {.size = sizeof(tn_operator), .since_version = 1, .state_version = 1, .domain = "Test",
    .name = "AddOne", .doc = "", TN_NO_FIELDS, TN_INPUTS(inputs), TN_OUTPUTS(outputs), .infer = infer,
    .reference = reference, .facet = facet};
static const tn_kernel kernel = {.size = sizeof(tn_kernel), .revision = 1, .domain = "Test", .op = "AddOne", .device = "cpu",
    .name = "adder", .accepts = accepts, .tactics = tactics, .prepare = prepare, .release = release, .open = open,
    .close = close_, .reshape = reshape, .run = run};
static const tn_operator *const operators[] = {&add_one};
static const tn_kernel *const kernels[] = {&kernel};
TN_EXTERN_C TN_EXPORT tn_library *tenon_library_1(const tn_host *host);
tn_library *tenon_library_1(const tn_host *host) {
    static tn_library table = {.size = sizeof(tn_library), .abi_major = TN_ABI_MAJOR, .name = "crasher", .version = "1",
                               .operator_count = 1, .operators = operators, .kernel_count = 1, .kernels = kernels,
                               .load = load, .unload = unload};
    (void)host;
    crash("entry");
    return &table;
}
"""
NODE = "node 'up': operator Test::AddOne"
KERNEL = NODE + ", kernel 'adder' of library 'crasher', in "
OPERATOR = NODE + " of library 'crasher', in "


class Checks(ProgramChecks):
    prints_passes = False

    def __init__(self, tenon, include, folder):
        super().__init__(tenon, folder)
        self.library, self.plan = self.path("libcrasher.so"), self.path("net.plan")
        with open(self.path("crasher.c"), "w") as file:
            file.write(SOURCE)
        subprocess.run(["cc", "-O1", "-fPIC", "-shared", "-I", include, "-o", self.library, self.path("crasher.c")],
                       check=True)
        x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [64]) for name in ("x", "y"))
        graph = helper.make_graph([helper.make_node("Sqrt", ["x"], ["m"], name="root"),
                                   helper.make_node("AddOne", ["m"], ["y"], name="up", domain="Test")], "net", [x], [y])
        onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[
            helper.make_opsetid("", 17), helper.make_opsetid("Test", 1)]), self.path("net.onnx"))
        numpy.save(self.path("x.npy"), numpy.ones(64, numpy.float32))

    def run(self, *arguments, crash=None, how=None, force=None):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("TENON_")}
        environment.update({"TENON_TEST_CRASH": crash or "", "TENON_TEST_SIGNAL": how or "segv", "TENON_FORCE_KERNEL": force or ""})
        done = subprocess.run([self.tenon, *arguments], capture_output=True, text=True, timeout=120, check=False,
                              env=environment, cwd=self.folder)
        return done.returncode, done.stderr

    def build(self, *more, **how):
        return self.run("build", "net.onnx", "-o", self.plan, "--plugin", self.library, *more, **how)

    def run_plan(self, *more, **how):
        return self.run("run", self.plan, "--plugin", self.library, "--input", "x=x.npy", "--output-dir", "out", *more,
                        **how)

    def expect(self, what, done, number, *texts):
        status, error = done
        self.say(status == -number, f"{what}: exits with {status}: {error}")
        for text in texts:
            self.say(text in error, f"{what}: '{text}' is not in: {error}")

    def check_build(self):
        for callback in ("infer", "facet"):
            self.expect(f"build, {callback}", self.build(crash=callback), signal.SIGSEGV, OPERATOR + callback,
                        "tenon: Segmentation fault (SIGSEGV) at address 0x8", "libcrasher.so at offset 0x",
                        "--checked", "tenon plugin check")
        for callback in ("accepts", "tactics", "prepare", "release", "open", "reshape", "close", "run"):
            self.expect(f"build, {callback}", self.build(crash=callback), signal.SIGSEGV, KERNEL + callback)
        for callback in ("constructors", "entry", "load", "unload"):
            self.expect(f"build, {callback}", self.build(crash=callback), signal.SIGSEGV,
                        f"library '{self.library}', in {callback}")

    def check_run(self):
        self.expect("build", self.build(), 0)
        self.expect("run", self.run_plan(), 0)
        for callback in ("run", "reshape", "close"):
            self.expect(f"run, {callback}", self.run_plan(crash=callback), signal.SIGSEGV, KERNEL + callback, "--isolate",
                        "--checked")
        self.expect("bench", self.run("bench", self.plan, "--plugin", self.library, "--profile", "--seconds", "0", crash="run"),
                    signal.SIGSEGV, KERNEL + "run")
        self.expect("list", self.run("plugin", "list", "--plugin", self.library, crash="load"), signal.SIGSEGV,
                    "in load", "tenon plugin check")

    def check_reference(self):
        self.expect("build, by the reference", self.build(force="Test::AddOne=reference"), 0)
        self.expect("run, the reference", self.run_plan(crash="reference"), signal.SIGSEGV, OPERATOR + "the reference")

    def check_signals(self):
        for how, number, text in (("fpe", signal.SIGFPE, "Arithmetic fault (SIGFPE)"),
                                  ("ill", signal.SIGILL, "Illegal instruction (SIGILL)"),
                                  ("bus", signal.SIGBUS, "Bus error (SIGBUS)"),
                                  ("abort", signal.SIGABRT, "Abort (SIGABRT)"),
                                  ("memcpy", signal.SIGSEGV, "Segmentation fault (SIGSEGV)"),
                                  ("overflow", signal.SIGSEGV, "Segmentation fault (SIGSEGV)")):
            self.expect(f"run, {how}", self.run_plan(crash="run", how=how), number, text, KERNEL + "run")

    def check_worker(self):
        self.expect("build, a worker", self.build("--threads", "4"), 0)
        self.expect("a worker", self.run_plan("--threads", "4", crash="worker"), signal.SIGSEGV, "in a thread of " + KERNEL)

    def check_advice(self):
        """What the message advises works."""
        status, error = self.run_plan("--isolate", crash="run")
        self.say(status == 1 and "node 'up'" in error, f"--isolate exits with {status}: {error}")
        status, error = self.run_plan("--checked", crash="run")
        self.say(status == 1 and "node 'up'" in error and "tenon: Segm" not in error,
                 f"--checked exits with {status}: {error}")
        status, error = self.build("--checked", crash="run")
        self.say(status == 0 or (status == 1 and "node 'up'" in error), f"build --checked exits with {status}: {error}")


def main():
    tenon, include = (os.path.abspath(path) for path in sys.argv[1:3])
    with tempfile.TemporaryDirectory() as folder:
        checks = Checks(tenon, include, folder)
        checks.check_build()
        checks.check_run()
        checks.check_signals()
        checks.check_worker()
        checks.check_advice()
        checks.check_reference()
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
