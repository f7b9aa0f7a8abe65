# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/run-from-c.md, compiled and run as they stand there.

Usage: check_run_from_c.py TENON [NAME...]: the program, beside whose folder lie lib and perhaps include; NAMEs choose examples.

A ```c block begins with `/* example: NAME */`, a ```cpp block with `// example: NAME`: each becomes the body of a function
whose parameters are `runtime`, `model`, `plan`, `folder`, `x` and `y` (see PARAMETERS). Functions that an example needs stand in a
block before it that begins with `/* functions of example: NAME */`. A block that is no code to run begins with
`/* not run: REASON */`. All examples of a language are one program, which is compiled once and runs each example in a
process and a folder of its own; an example must release what it makes.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DOCUMENT = os.path.join("docs", "run-from-c.md")
BLOCK = re.compile(r"^```(c|cpp)\n(.*?)^```$", re.M | re.S)
FIRST_LINE = {
    "c": re.compile(r"/\* (example|functions of example|not run): (.+) \*/$"),
    "cpp": re.compile(r"// (example|functions of example|not run): (.+)$"),
}
NAME = re.compile(r"[a-z][a-z0-9_-]*$")

# Both languages: an allocator that counts, so that what an example does not release is seen.
COMMON = r"""
#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/tenon.h>

#define CHECK(call) check_status((call), #call, __FILE__, __LINE__)
#define CHECK_THAT(condition) check_that((condition), #condition, __FILE__, __LINE__)

static void check_status(tn_status status, const char *call, const char *file, int line) {
    if (status == TN_OK) return;
    fprintf(stderr, "%s:%d: %s: %s: %s: %s\n", file, line, call, tn_status_name(status), tn_last_error()->where,
            tn_last_error()->message);
    exit(1);
}
static void check_that(bool is_true, const char *condition, const char *file, int line) {
    if (is_true) return;
    fprintf(stderr, "%s:%d: not so: %s\n", file, line, condition);
    exit(1);
}
static void *count_allocate(void *user, uint64_t bytes, uint64_t alignment) {
    void *memory = aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (memory) COUNT(user, 1);
    return memory;
}
static void count_deallocate(void *user, void *memory) {
    if (memory) COUNT(user, -1);
    free(memory);
}
"""
PARAMETERS = "const char *model, const char *plan, const char *folder, float *x, float *y"
UNUSED = "    (void)runtime, (void)model, (void)plan, (void)folder, (void)x, (void)y;\n"
MAIN = r"""
int main(int count, char **arguments) { /* EXAMPLE MODEL PLAN FOLDER */
    static float x[2 * 3 * 8 * 8] __attribute__((aligned(64))), y[2 * 10] __attribute__((aligned(64)));
    const tn_allocator allocator = {sizeof(tn_allocator), &live_count, count_allocate, count_deallocate};
    check_that(count == 5, "5 arguments", __FILE__, __LINE__);
    for (int i = 0; i < 2 * 3 * 8 * 8; i++) x[i] = (float)(i % 13) / 13 - 0.5f;
    for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++)
        if (strcmp(examples[i].name, arguments[1]) == 0) {
            if (!run_example(examples[i].run, &allocator, arguments, x, y)) return 1;
            if (live_count == 0) return 0;
            fprintf(stderr, "%ld allocations of the runtime's objects live after the example\n", (long)live_count);
        }
    return 1;
}
"""
C_START = ("#define _GNU_SOURCE\n#include <pthread.h>\n#define COUNT(user, change) atomic_fetch_add((atomic_long *)(user), (change))\n"
           + COMMON + "static atomic_long live_count;\n")
C_RUN = r"""
static bool run_example(example_function *run, const tn_allocator *allocator, char **arguments, float *x, float *y) {
    const tn_runtime_options options = {.size = sizeof(options), .allocator = allocator};
    tn_runtime *runtime;
    CHECK(tn_runtime_create(&options, &runtime));
    run(runtime, arguments[2], arguments[3], arguments[4], x, y);
    tn_runtime_release(runtime);
    return true;
}
"""
CPP_START = (r"""
#include <algorithm>
#include <array>
#include <atomic>
#include <string>
#include <string_view>
#include <thread>
#include <vector>
#include <tenon/tenon.hpp>
#define COUNT(user, change) static_cast<std::atomic<long> *>(user)->fetch_add(change)
""" + COMMON.replace("#include <stdatomic.h>\n", "").replace("static void check_status", "[[maybe_unused]] static void check_status")
    + "static std::atomic<long> live_count;\n")
CPP_RUN = r"""
static bool run_example(example_function *run, const tn_allocator *allocator, char **arguments, float *x, float *y) {
    try {
        tn_runtime_options options = {};
        options.size = sizeof(options);
        options.allocator = allocator;
        tenon::Runtime runtime(options);
        run(runtime, arguments[2], arguments[3], arguments[4], x, y);
        return true;
    } catch (const tenon::Error &error) {
        fprintf(stderr, "%s: %s\n", tn_status_name(error.status()), error.what());
        return false;
    }
}
"""


class Language:
    def __init__(self, key, title, runtime, start, run, compiler):
        self.key, self.title, self.compiler = key, title, compiler
        self.parameters = runtime + ", " + PARAMETERS
        self.start, self.run = start, run


LANGUAGES = (
    Language("c", "C", "tn_runtime *runtime", C_START, C_RUN, ["cc", "-std=gnu11"]),
    Language("cpp", "C++", "tenon::Runtime &runtime", CPP_START, CPP_RUN, ["c++", "-std=c++17"]),
)


class Example:
    def __init__(self, name, line, body):
        self.name, self.line, self.body = name, line, body
        self.function = "example_" + name.replace("-", "_")


class Checks:
    def __init__(self):
        self.passed, self.failed = 0, 0

    def say(self, good, text):
        self.passed, self.failed = self.passed + bool(good), self.failed + (not good)
        print("PASS" if good else "FAIL", text, flush=True)


def read_blocks(checks, text):
    """The examples of each language and the functions that stand before them, each with its line in the document."""
    examples, functions = {"c": [], "cpp": []}, {"c": [], "cpp": []}
    for match in BLOCK.finditer(text):
        language, body = match.groups()
        line = text.count("\n", 0, match.start()) + 2
        first, _, rest = body.partition("\n")
        marker = FIRST_LINE[language].match(first)
        where = f"{DOCUMENT}:{line}"
        if not marker:
            checks.say(False, f"{where}: a {language} block begins with '{first}': expected 'example: NAME' or 'not run: REASON' as a comment")
            continue
        kind, name = marker.groups()
        if kind == "not run":
            continue
        block = Example(name, line + 1, rest)
        if not NAME.match(name) or kind == "example" and name in [each.name for each in examples[language]]:
            checks.say(False, f"{where}: '{name}' is no name, or there are two of it")
        else:
            (examples if kind == "example" else functions)[language].append(block)
    return examples, functions


def source_of(language, examples, functions):
    def placed(block):
        return f'#line {block.line} "{DOCUMENT}"\n{block.body}'

    parts = [language.start]
    for each in examples:
        parts += [placed(block) for block in functions if block.name == each.name]
        parts.append(f"static void {each.function}({language.parameters}) {{\n{UNUSED}    {{\n{placed(each)}    }}\n}}\n")
    table = "".join(f'    {{"{each.name}", {each.function}}},\n' for each in examples)
    parts.append(f"typedef void example_function({language.parameters});\n"
                 "static const struct { const char *name; example_function *run; } examples[] = {\n" + table + "};\n")
    return "".join(parts) + language.run + MAIN


def write_model(path):
    """x [N,3,8,8] -> Conv, Relu, GlobalAveragePool, Flatten, Gemm -> y [N,10]."""
    random = np.random.default_rng(7)
    weights = {"w": (4, 3, 3, 3), "b": (4,), "v": (10, 4), "c": (10,)}
    constants = [numpy_helper.from_array(random.standard_normal(shape).astype(np.float32), name) for name, shape in weights.items()]
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["conv"], name="conv1", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["conv"], ["relu"], name="relu1"),
        helper.make_node("GlobalAveragePool", ["relu"], ["pool"], name="pool1"),
        helper.make_node("Flatten", ["pool"], ["flat"], name="flatten1"),
        helper.make_node("Gemm", ["flat", "v", "c"], ["y"], name="gemm1", transB=1),
    ]
    graph = helper.make_graph(nodes, "small", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ("N", 3, 8, 8))],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ("N", 10))], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, **options)
    return done.returncode, done.stdout + done.stderr


def compile_examples(language, source, program, tenon):
    base = os.path.dirname(os.path.dirname(tenon))
    headers = os.path.join(base, "include")
    if not os.path.exists(os.path.join(headers, "tenon")):
        headers = os.path.join(ROOT, "include")
    path = program + "." + language.key
    with open(path, "w", encoding="utf-8") as file:
        file.write(source)
    library = os.path.join(base, "lib")
    return run(*language.compiler, "-O1", "-g0", "-Wall", "-Wextra", "-Werror", "-I", headers, "-o", program, path, "-L", library,
               "-ltenon", "-Wl,-rpath," + library, "-pthread", "-lm")


def check_language(checks, language, examples, functions, tenon, folder):
    names = [each.name for each in examples]
    for block in functions:
        if block.name not in names:
            checks.say(False, f"{DOCUMENT}:{block.line}: functions of '{block.name}', which is no example")
    if not examples:
        return
    program = os.path.join(folder, "examples_" + language.key)
    status, text = compile_examples(language, source_of(language, examples, functions), program, tenon)
    checks.say(status == 0, f"the {language.title} examples compile" + (f":\n{text}" if status else ""))
    if status:
        return
    for each in examples:
        own = os.path.join(folder, language.key, each.name)
        os.makedirs(own)
        status, text = run(program, each.name, os.path.join(folder, "small.onnx"), os.path.join(folder, "small.plan"), own, cwd=own)
        checks.say(status == 0, f"{each.name} in {language.title}" + (f": exits with {status}: {text}" if status else ""))


def main():
    tenon, chosen = os.path.abspath(sys.argv[1]), sys.argv[2:]
    checks = Checks()
    with open(os.path.join(ROOT, DOCUMENT), encoding="utf-8") as file:
        examples, functions = read_blocks(checks, file.read())
    for name in chosen:
        if name not in [each.name for each in examples["c"] + examples["cpp"]]:
            checks.say(False, f"there is no example '{name}'")
    folder = tempfile.mkdtemp(prefix="tenon-run-from-c.")
    try:
        model = os.path.join(folder, "small.onnx")
        write_model(model)
        status, text = run(tenon, "build", model, "-o", os.path.join(folder, "small.plan"), "--shape", "x=1x3x8x8:2x3x8x8:4x3x8x8")
        checks.say(status == 0, "the plan is built" + (f": {text}" if status else ""))
        for language in LANGUAGES if status == 0 else ():
            selected = [each for each in examples[language.key] if not chosen or each.name in chosen]
            wanted = [each for each in functions[language.key] if not chosen or each.name in chosen]
            check_language(checks, language, selected, wanted, tenon, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{checks.passed} passed, {checks.failed} failed")
    return checks.failed != 0


if __name__ == "__main__":
    sys.exit(main())
