# SPDX-License-Identifier: Apache-2.0
"""The kernel kit as authors of plugins have it, from an installed package: the examples of docs/kernel-kit.md compile as C and
C++ and compute what they say; two plugins and Tenon, each with a copy of the kit, work in one process.

Usage: check_kernel_kit.py TENON FOLDER, the installed program and a copy of examples/kernel_kit built against its package (in
FOLDER/build). Needs NumPy and onnx; nvcc for the CUDA example, which is left out without it.
"""

import ctypes
import glob
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from checks import ProgramChecks

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "kernel-kit.md")
# What a block declares and its reader writes.
REST = """#include <tenon/kit/int8_matrix.h>
bool example_read_node(const tn_call *call, tn_matrix_problem *out_problem);
bool example_read_node(const tn_call *call, tn_matrix_problem *out_problem) { (void)call, (void)out_problem; return false; }
"""


class Checks(ProgramChecks):
    def __init__(self, tenon, folder):
        super().__init__(tenon, folder)
        self.prefix = os.path.dirname(os.path.dirname(tenon))
        configuration = glob.glob(os.path.join(self.prefix, "lib*", "**", "tenon-kit.pc"), recursive=True)
        self.environment = {**os.environ, "LC_ALL": "C", "PKG_CONFIG_PATH": os.path.dirname((configuration or [""])[0])}

    def run(self, *arguments):
        return subprocess.run(arguments, capture_output=True, text=True, timeout=600, cwd=self.folder, env=self.environment)

    def expect(self, text, *arguments):
        done = self.run(*arguments)
        self.say(done.returncode == 0, text if done.returncode == 0 else f"{text}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
        return done.stdout


def compile_page(checks):
    """All examples in one library, linked so that nothing is left undefined."""
    with open(PAGE, encoding="utf-8") as file:
        page = file.read()
    flags = checks.expect("pkg-config tenon-kit", "pkg-config", "--cflags", "tenon-kit").split()
    libraries = checks.expect("its libraries", "pkg-config", "--libs", "tenon-kit").split()
    blocks = re.findall(r"^```c\n(.*?)^```", page, re.M | re.S)
    checks.say(len(blocks) >= 12, f"{len(blocks)} examples in C")
    objects = []
    for number, block in enumerate([*blocks, REST]):
        source = checks.write(f"block{number}.c", block)
        subject = (re.search(r"<tenon/kit/(\S+)>", block) or [None, "?"])[1]
        checks.expect(f"{subject} as C11", "cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-O2", "-fPIC", *flags, "-c", source)
        objects.append(f"block{number}.o")
        checks.expect(f"{subject} as C++17", "c++", "-std=c++17", "-Wall", "-Werror", "-O2", "-fPIC", *flags, "-x", "c++",
                      "-c", source, "-o", "other.o")
    checks.expect("linked", "cc", "-shared", "-Wl,-z,defs", *objects, *libraries, "-o", "libpage.so")
    names = checks.run("nm", "-D", "--defined-only", "libpage.so").stdout
    checks.say("example_gelu" in names and not re.search(r" tn_", names), "no symbol of the kit is exported")
    cuda = re.findall(r"^```cuda\n(.*?)^```", page, re.M | re.S)
    nvcc = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    for number, block in enumerate(cuda if nvcc else []):
        source = checks.write(f"cuda{number}.cu", block)
        checks.expect("the example for CUDA", nvcc, "-std=c++17", "-arch=compute_80", *flags, "-c", source, "-o", "cuda.o")
    if not nvcc:
        print("SKIP the example for CUDA: there is no nvcc")


def link_with_run_only(checks):
    """A program with the run-only library, which has the kit's objects too."""
    checks.write("main.c", """#include <tenon/tenon.h>
void example_gelu(int64_t count, const float *x, float *y);
int main(void) {
    tn_runtime *runtime = 0;
    float value = 0;
    example_gelu(1, &value, &value);
    if (tn_runtime_create(NULL, &runtime) != TN_OK) return 1;
    tn_runtime_release(runtime);
    return 0;
}
""")
    blocks = sorted(glob.glob(os.path.join(checks.folder, "block*.o")))
    for order in (("tenon-run", "tenon-kit"), ("tenon-kit", "tenon-run")):
        flags = checks.run("pkg-config", "--cflags", "--libs", *order).stdout.split()
        checks.expect(f"linked with {' and '.join(order)}", "cc", "main.c", *blocks, *flags, "-o", "main")
        checks.expect("its run", "sh", "-c", "./main")


def run_page(checks):
    page = ctypes.CDLL(os.path.join(checks.folder, "libpage.so"))
    numbers = np.random.default_rng(7)
    address = lambda array: array.ctypes.data_as(ctypes.c_void_p)
    count = ctypes.c_int64
    for length in (0, 1, 17, 1000):
        x, y = numbers.standard_normal(length).astype(np.float32), np.zeros(length, np.float32)
        for name, function in (("gelu", lambda v: 0.5 * v * (1 + math.erf(v / math.sqrt(2)))), ("silu", lambda v: v / (1 + math.exp(-v)))):
            getattr(page, "example_" + name)(count(length), address(x), address(y))
            checks.say(np.allclose(y, [function(v) for v in x.astype(float)], atol=1e-6), f"{name} of {length}")
    page.example_root_mean_square.restype = ctypes.c_float
    found = page.example_root_mean_square(count(1000), address(x))
    checks.say(abs(found - np.sqrt(np.mean(x.astype(float)**2))) < 1e-5, f"root mean square: {found}")
    a, b, sums, turned = x.reshape(8, 125), x[:125].copy(), np.zeros((8, 125), np.float32), np.zeros((125, 8), np.float32)
    page.example_add(count(8), count(125), address(a), address(b), address(sums))
    checks.say(np.array_equal(sums, a + b), "a row added to each row")
    page.example_transpose(count(8), count(125), address(a), address(turned))
    checks.say(np.array_equal(turned, a.T), "transposed")
    page.example_packed_bytes.restype = ctypes.c_uint64
    checks.say(page.example_packed_bytes(count(100), count(10)) >= 1000 and page.example_packed_bytes(count(1 << 20), count(10)) == 0,
               "bytes of packed weights")
    index, weight = np.array([[0, 0, 1, 1], [0, 1, 1, 2]], np.int32), np.full((2, 4), 0.5, np.float32)
    image, large = numbers.standard_normal((3, 3)).astype(np.float32), np.zeros((4, 4), np.float32)
    matrix = np.zeros((4, 3))
    for tap in range(2):
        matrix[range(4), index[tap]] += weight[tap]
    page.example_resize.restype = ctypes.c_bool
    good = page.example_resize(count(3), count(4), count(2), address(index), address(weight), address(image), address(large))
    checks.say(good and np.allclose(large, matrix @ image @ matrix.T, atol=1e-6), "resized")


def check_versions(checks):
    with open(os.path.join(checks.prefix, "include", "tenon", "kit", "version.h"), encoding="utf-8") as file:
        header = ".".join(re.findall(r"define TN_KIT_(?:MAJOR|MINOR) (\d+)", file.read()))
    package = checks.run("pkg-config", "--modversion", "tenon-kit").stdout.strip()
    checks.say(header == package, f"version {header} of the headers, {package} of pkg-config")


def second_plugin(checks, example):
    """The same plugin under other names, with a copy of the kit of its own."""
    other = os.path.join(checks.folder, "second")
    shutil.copytree(example, other, ignore=shutil.ignore_patterns("build"))
    path = os.path.join(other, "kernel_kit.c")
    with open(path, encoding="utf-8") as file:
        text = file.read().replace('"kit"', '"kat"').replace('TN_LIBRARY("kernel_kit"', 'TN_LIBRARY("second_kit"')
    checks.write(path, text)
    lists = os.path.join(other, "CMakeLists.txt")
    with open(lists, encoding="utf-8") as file:
        text = file.read()
    checks.write(lists, text + '\nif(NOT tenon_KIT_VERSION)\n    message(FATAL_ERROR "no version")\nendif()\n')
    configure = ["cmake", "-G", "Ninja", "-S", other, "-DCMAKE_PREFIX_PATH=" + checks.prefix, "-Dtenon_has_cuda=OFF"]
    checks.expect("a second plugin: configured", *configure, "-B", os.path.join(other, "build"))
    checks.expect("a second plugin: built", "cmake", "--build", os.path.join(other, "build"))
    for wrong, said in (("baseline avx3", "there is no level 'avx3'"), ("avx2", "the first level is baseline")):
        checks.write(lists, text.replace("baseline avx2 avx512", wrong))
        done = checks.run(*configure, "-B", os.path.join(other, "wrong"))
        checks.say(done.returncode and said in " ".join(done.stderr.split()), f"levels {wrong}: {said}")
    return os.path.join(other, "build", "libkernel_kit.so")


def check_together(checks, libraries):
    """Both plugins' and Tenon's own operators in one network, what follows a product absorbed."""
    numbers = np.random.default_rng(5)
    weights, bias = numbers.standard_normal((70, 90)).astype(np.float32), numbers.standard_normal(90).astype(np.float32)
    nodes, outputs = [], []
    for domain in ("", "kit", "kat"):
        name = domain or "tenon"
        nodes += [helper.make_node("MatMul", ["x", "w"], [name + "_m"], name + "_m", domain=domain),
                  helper.make_node("Add", [name + "_m", "b"], [name + "_a"], name + "_a"),
                  helper.make_node("Relu", [name + "_a"], [name + "_r"], name + "_r"),
                  helper.make_node("Softmax", [name + "_r"], [name], name + "_s", domain=domain, axis=-1)]
        outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, None))
    graph = helper.make_graph(nodes, "together", [helper.make_tensor_value_info("x", TensorProto.FLOAT, (5, 70))], outputs,
                              [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(bias, "b")])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("kit", 1), helper.make_opsetid("kat", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), os.path.join(checks.folder, "together.onnx"))
    x = numbers.standard_normal((5, 70)).astype(np.float32)
    np.save(os.path.join(checks.folder, "x.npy"), x)
    plugins = [part for library in libraries for part in ("--plugin", library)]
    checks.expect("a network of both", checks.tenon, "run", "together.onnx", *plugins, "--input", "x=x.npy", "--output-dir", ".",
                  "--threads", "2")
    values = np.maximum(x.astype(float) @ weights + bias, 0)
    exponentials = np.exp(values - values.max(-1, keepdims=True))
    for name in ("tenon", "kit", "kat"):
        path = os.path.join(checks.folder, name + ".npy")
        found = np.load(path) if os.path.exists(path) else np.zeros(1)
        checks.say(found.shape == values.shape and np.allclose(found, exponentials / exponentials.sum(-1, keepdims=True), atol=1e-5),
                   f"values of {name}")
    text = checks.expect("its profile", checks.tenon, "bench", "together.onnx", *plugins, "--profile", "--json", "--seconds", "0",
                         "--threads", "1", "--no-kernel-libraries", "--timing-seconds", "0")
    profile = json.loads(text or '{"profile": []}')["profile"]
    steps = [step["node"] for step in profile if step["node"].split("_")[0] == "kit"]
    kernels = {step["kernel"] for step in profile if step["node"].startswith("k")}
    checks.say(len(steps) == 2, f"Add and Relu are absorbed by the product: {steps}")
    checks.say(all(kernel.startswith(("packed_", "lanes_")) for kernel in kernels), f"kernels {sorted(kernels)}")


def main():
    tenon, example = (os.path.abspath(path) for path in sys.argv[1:3])
    with tempfile.TemporaryDirectory(prefix="tenon-kernel-kit-") as folder:
        checks = Checks(tenon, folder)
        compile_page(checks)
        if os.path.exists(os.path.join(folder, "libpage.so")):
            run_page(checks)
            link_with_run_only(checks)
        check_versions(checks)
        check_together(checks, [os.path.join(example, "build", "libkernel_kit.so"), second_plugin(checks, example)])
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
