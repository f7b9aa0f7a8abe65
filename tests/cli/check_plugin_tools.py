# SPDX-License-Identifier: Apache-2.0
"""The author's tools, from the installed program: a layer of every kind is made, compiled and run, and what is wrong is told.

Usage: check_plugin_tools.py TENON, the installed program.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

import numpy

from checks import ProgramChecks

FIELDS = ("low:f32=0, high:f32=6, count:i64, mode:enum(slow|fast)=fast, on:bool=true, label:string, "
          "axes:i64s[2], factors:f32s=[0.5,2], names:strings, to:type=f16, table:tensor, exact:f64=1e-3, small:i32=3")


class Checks(ProgramChecks):
    def __init__(self, tenon, folder):
        super().__init__(tenon, folder)
        self.environment = {**os.environ, "LC_ALL": "C"}

    def run(self, *arguments, where=""):
        return subprocess.run([self.tenon, *arguments], cwd=os.path.join(self.folder, where), env=self.environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)

    def expect(self, title, arguments, code, *words, where=""):
        done = self.run(*arguments, where=where)
        said = done.stdout + done.stderr
        missing = [word for word in words if word not in said]
        return self.say(done.returncode == code and not missing,
                        f"{title}" + ("" if done.returncode == code and not missing else
                                      f": exit {done.returncode}, missing {missing}: {said[:400]}"))


def make_each_kind(checks):
    kinds = ["elementwise", "reduction", "pooling", "resize", "two-outputs", "sized-by-run"]
    for kind in kinds:
        name = "my_" + kind.replace("-", "_")
        library = f"build/lib{name}.so"
        checks.expect(f"new --like {kind}", ["plugin", "new", name, "--like", kind], 0, f"{name}/{name}.c")
        checks.expect(f"build {name}", ["plugin", "build", "."], 0, "built into", where=name)
        checks.expect(f"run {name}.onnx", ["bench", f"{name}.onnx", "--plugin", library, "--seconds", "0"], 0, "runs=1",
                      where=name)
        checks.expect(f"check {name}", ["plugin", "check", library], 0, " 0 failed", where=name)
        lines = sum(1 for _ in open(checks.path(name, name + ".c"), encoding="utf-8"))
        checks.say(lines <= 115, f"{name}.c is small ({lines} lines)")


def make_with_fields(checks):
    checks.expect("new with every type of field", ["plugin", "new", "many_fields", "--fields", FIELDS, "--inputs", "a, b, c",
                                                   "--outputs", "sum:like(b)", "--domain", "my.layers"], 0)
    checks.expect("its build", ["plugin", "build", "many_fields"], 0)
    checks.expect("its network", ["bench", "many_fields.onnx", "--plugin", "build/libmany_fields.so", "--seconds", "0"], 0,
                  where="many_fields")
    checks.expect("its check", ["plugin", "check", "build/libmany_fields.so"], 0, " 0 failed", where="many_fields")
    checks.expect("its table", ["plugin", "show", "my.layers::ManyFields", "--plugin", "build/libmany_fields.so"], 0,
                  "slow|fast", "1e-3", "[0.5,2]", where="many_fields")


def make_with_kit(checks):
    """Linked with the kernel kit: its headers are found, and its code is in the library."""
    checks.expect("new --kit", ["plugin", "new", "with_kit", "--kit"], 0)
    source = checks.path("with_kit", "with_kit.c")
    with open(source, encoding="utf-8") as file:
        text = file.read()
    with open(source, "w", encoding="utf-8") as file:
        file.write("#include <tenon/kit/matrix_kernel.h>\n" + text +
                   "\nint64_t floats(void);\nint64_t floats(void) { return tn_matrix_packed_floats(TN_KIT_BEST(tn_matrix), 1, 1); }\n")
    checks.expect("its build", ["plugin", "build", "with_kit"], 0)
    checks.expect("its check", ["plugin", "check", "with_kit/build/libwith_kit.so"], 0, " 0 failed")
    checks.expect("new --kit --expression", ["plugin", "new", "never", "--kit", "--expression", "x + 1"], 2, "no code")
    checks.say(not os.path.exists(checks.path("never")), "nothing is written")


def make_any_ports(checks):
    """Any number of inputs and outputs, with types of their own."""
    for name, inputs, outputs in (("typed", "boxes:f32,scores:f64,labels:i64,on:bool", "best,found:bool,n:i64,u:u8,s:like(scores)"),
                                  ("wide", ",".join(f"a{i}" for i in range(12)), ",".join(f"b{i}" for i in range(5))),
                                  ("whole", "a:i32,b:i8", "c:i16")):
        checks.expect(f"new {name}", ["plugin", "new", name, "--inputs", inputs, "--outputs", outputs, "--fields", "low:f32=0"], 0)
        checks.expect("its build", ["plugin", "build", name], 0)
        checks.expect("its check", ["plugin", "check", f"{name}/build/lib{name}.so"], 0, " 0 failed")
        checks.expect("its network", ["bench", f"{name}/{name}.onnx", "--plugin", f"{name}/build/lib{name}.so", "--seconds", "0"],
                      0)
    checks.expect("its types", ["inspect", "typed/typed.onnx", "--plugin", "typed/build/libtyped.so"], 0, "boxes   f32",
                  "labels  i64", "on      bool", "found  bool", "s      f64")
    for title, options, word in (("no such type", ["--inputs", "x:f17"], "NAME:TYPE with f32"),
                                 ("no inputs", ["--inputs", ","], "at least one"),
                                 ("a word of C", ["--inputs", "int"], "a word of C"), ("twice", ["--outputs", "y,y"], "named twice"),
                                 ("like nothing", ["--outputs", "y:like(q)"], "NAME:like(INPUT)"),
                                 ("types of a kind that has its own", ["--like", "pooling", "--inputs", "x:f32"], "like elementwise"),
                                 ("ports of a kind that has its own", ["--like", "pooling", "--outputs", "a,b"], "any number")):
        checks.expect(title, ["plugin", "new", "never", *options], 2, word)
    checks.expect("a name that the source has", ["plugin", "new", "run"], 2, "choose another one")
    checks.expect("CUDA for several outputs", ["plugin", "new", "never", "--devices", "cpu,cuda", "--outputs", "a,b"], 3,
                  "several outputs")
    checks.say(not os.path.exists(checks.path("never")), "nothing is written")


EXPRESSION = "low + (high - low) * sigmoid(x)"


def run_alike(checks):
    """In a process of its own, by the reference and by kernels, a library without code computes the same."""
    library = ("--plugin", "curve/build/libcurve.so")
    shape = [1, 3, 16, 16]
    x = numpy.linspace(-4, 4, numpy.prod(shape), dtype=numpy.float32).reshape(shape)
    numpy.save(checks.path("x.npy"), x)
    for title, options in (("kernels", []), ("isolated", ["--isolate"]), ("the reference", ["--reference"]),
                           ("the reference, isolated", ["--reference", "--isolate"])):
        checks.expect(f"curve by {title}", ["run", "curve/curve.onnx", *library, "--input", "x=x.npy", "--output", "y=y.npy", *options], 0)
        checks.say(numpy.allclose(numpy.load(checks.path("y.npy")), 6 / (1 + numpy.exp(-x)), rtol=1e-5), f"its values by {title}")


def make_expressions(checks):
    """A layer of one declaration: with each other option that there is, on its own network, and what is refused."""
    kinds = [("curve", ["--expression", EXPRESSION, "--fields", "low:f32=0, high:f64=6"], "low + (high - low)"),
             ("plain", ["--expression", "x * sigmoid(x)", "--domain", "ai.mine", "--like", "elementwise"], "ai.mine"),
             ("limit", ["--expression", "max(lo,\n\tmin(hi, a))", "--inputs", "a,lo,hi", "--outputs", "z"], "max(lo,  min(hi, a))"),
             ("above", ["--expression", "a >= t && on", "--inputs", "a:i64", "--outputs", "b:bool", "--fields", "t:i64, on:bool=1"],
              "T_NUMBERS"),
             ("own_y", ["--expression", "y - x"], "PLAIN")]
    for name, options, word in kinds:
        checks.expect(f"new {name}", ["plugin", "new", name, *options], 0, "all of it is its expression")
        text = open(checks.path(name, name + ".c"), encoding="utf-8").read()
        checks.say(word.replace("T_NUMBERS", "TN_NUMBERS") in text and text.count("tn_status") == 0, f"{name}.c has no function")
        checks.expect(f"build {name}", ["plugin", "build", name], 0)
        checks.expect(f"check {name}", ["plugin", "check", f"{name}/build/lib{name}.so"], 0, " 0 failed")
        checks.expect(f"run {name}", ["bench", f"{name}/{name}.onnx", "--plugin", f"{name}/build/lib{name}.so", "--seconds", "0"],
                      0, "runs=1")
    run_alike(checks)
    checks.expect("its kernels", ["plugin", "show", "Custom::Curve", "--plugin", "curve/build/libcurve.so"], 0, "kernel fused_baseline",
                  "T:float", "broadcast with the other inputs")
    checks.expect("an input named y", ["plugin", "show", "Custom::OwnY", "--plugin", "own_y/build/libown_y.so"], 0, "result = ")
    for title, options, word in (
            ("nothing behind a sign", ["low + * x"], "column 7: expected a name"),
            ("no such function", ["swish(x)"], "'swish' is no function"),
            ("no input", ["1 + low", "--fields", "low:f32=0"], "expected an input"),
            ("too many inputs", ["a+b+c+d+e+f+g"], "'g' is one input too many"),
            ("a quote", ['x + "'], "column 5"),
            ("a device", ["x + 1", "--devices", "cpu"], "leave the option out"),
            ("another kind", ["x + 1", "--like", "pooling"], "elementwise layers"),
            ("a field that is no number", ["x + 1", "--fields", "mode:string=a"], "expected a number"),
            ("a field that is not used", ["x + 1", "--fields", "low:f32"], "'low' is not in the expression"),
            ("an input that is not used", ["x + 1", "--inputs", "x,z"], "'z' is not in the expression"),
            ("an input that is not named", ["x + z", "--inputs", "x"], "'z' is neither in --inputs"),
            ("an input with a field's name", ["x + z", "--inputs", "x,z", "--fields", "z:f32"], "'z' is a field's name"),
            ("two outputs", ["x + 1", "--outputs", "a,b"], "has one, not 2"),
            ("a word of C", ["x + int"], "a word of C")):
        checks.expect(f"an expression with {title}", ["plugin", "new", "never", "--expression", *options], 2, word)
    checks.say(not os.path.exists(checks.path("never")), "nothing is written")


def build_only_what_changed(checks):
    source = checks.path("my_elementwise", "my_elementwise.c")
    start = time.time()
    checks.expect("a second build compiles nothing", ["plugin", "build", "my_elementwise"], 0, "no work to do")
    checks.say(time.time() - start < 5, "and is quick")
    checks.expect("--rebuild compiles", ["plugin", "build", "my_elementwise", "--rebuild"], 0, "Building C object")
    text = open(source, encoding="utf-8").read()
    line = text[:text.index("static tn_status infer")].count("\n") + 2
    with open(source, "w", encoding="utf-8") as file:
        file.write(text.replace("const tn_tensor *first = call->inputs[0];", "const tn_tensor *first = call->inputz[0];", 1))
    done = checks.run("plugin", "build", "my_elementwise")
    said = done.stdout + done.stderr
    checks.say(done.returncode == 1 and re.search(rf"my_elementwise\.c:{line}:\d+: error", said) is not None,
               "the compiler's error comes with file and line")
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    checks.expect("mended, it builds", ["plugin", "build", "my_elementwise"], 0)


def check_forms(checks):
    """What check says of a layer that is wrong, in its three forms."""
    source = checks.path("my_elementwise", "my_elementwise.c")
    text = open(source, encoding="utf-8").read()
    with open(source, "w", encoding="utf-8") as file:
        file.write(text.replace("y[i] = x[i];", "y[i] = x[i] + (i == 6 ? 1 : 0);", 1))
    checks.expect("a wrong kernel builds", ["plugin", "build", "my_elementwise"], 0)
    library = "my_elementwise/build/libmy_elementwise.so"
    done = checks.run("plugin", "check", library)
    again = re.search(r"again: (tenon plugin check \S+ --only \d+)", done.stdout)
    checks.say(done.returncode == 1 and "FAIL matches-reference: Custom::MyElementwise, kernel plain" in done.stdout
               and "element 6" in done.stdout and again, "its failure names rule, operator, kernel, element")
    if again:
        checks.expect("one test again", again.group(1).split()[1:], 1, "1 failed")
    checks.expect("one rule", ["plugin", "check", library, "--rule", "has-cases"], 0, "has-cases")
    checks.expect("one operator", ["plugin", "check", library, "--operator", "MyElementwise"], 1, "element 6")
    checks.expect("results in files", ["plugin", "check", library, "--json", "check.json", "--junit", "check.xml"], 1)
    results = json.load(open(checks.path("check.json"), encoding="utf-8"))
    failed = [it for it in results["results"] if it["outcome"] == "failed"]
    checks.say(results["failed"] == len(failed) > 0 and all(it["operator"] == "Custom::MyElementwise" for it in failed),
               "the JSON counts what it lists")
    suite = xml.etree.ElementTree.parse(checks.path("check.xml")).getroot()
    checks.say(int(suite.get("failures")) == len(failed) == len(suite.findall(".//failure")), "so does JUnit's form")
    with open(source, "w", encoding="utf-8") as file:
        file.write(text.replace("y[i] = x[i];", "y[i] = x[i + (i == 6 ? 1 << 20 : 0)];", 1))
    checks.expect("a kernel that reads outside builds", ["plugin", "build", "my_elementwise"], 0)
    checks.expect("and is caught", ["plugin", "check", library], 1, "FAIL ")
    with open(source, "w", encoding="utf-8") as file:
        file.write(text.replace("static tn_status run(tn_call *call) {",
                                "static tn_status run(tn_call *call) {\n    while (call->outputs[0]->bytes == 4) { }", 1))
    checks.expect("a kernel that hangs builds", ["plugin", "build", "my_elementwise"], 0)
    checks.expect("and is stopped", ["plugin", "check", library, "--time-limit", "0.3", "--rule", "matches-reference"], 1,
                  "FAIL time-limit", "not done after 0.3 seconds")
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    checks.expect("--sanitize compiles it so, and checks", ["plugin", "check",
                  "my_elementwise/build-sanitize/libmy_elementwise.so", "--sanitize", "my_elementwise"], 0, " 0 failed")
    checks.expect("no library", ["plugin", "check", "nothing.so"], 1, "there is no library 'nothing.so'")
    checks.expect("no library at all", ["plugin", "check", source], 1, "FAIL library-loads")
    checks.expect("the rules", ["plugin", "check", "--rules"], 0, "pointer-life")
    checks.expect("an unknown option", ["plugin", "check", "a.so", "--fast"], 2, "--fast")
    checks.expect("a bad time", ["plugin", "check", "a.so", "--time-limit", "soon"], 2, "soon")


def show(checks):
    """What show says of a library and of an operator, in its three forms."""
    library = "many_fields/build/libmany_fields.so"
    checks.expect("show of a library", ["plugin", "show", library], 0, "sum = my.layers::ManyFields(a, b, c; low=0, high=6",
                  "2 items", "kernel plain on cpu, library many_fields",
                  "deterministic", "cases", "  1  ")
    checks.expect("show as Markdown", ["plugin", "show", library, "--markdown"], 0, "## my.layers::ManyFields version 1",
                  "| low | f32 | 0 |", "slow\\|fast", "### Kernel plain", "1. `")
    done = checks.run("plugin", "show", library, "--json")
    op = json.loads(done.stdout)["operators"][0]
    fields = {field["name"]: field for field in op["fields"]}
    checks.say(done.returncode == 0 and op["domain"] == "my.layers" and len(op["inputs"]) == 3 and len(fields) == 13
               and fields["mode"]["choices"] == "slow|fast" and fields["axes"]["maximum_count"] == 2
               and op["kernels"] and op["kernels"][0]["combinations"] and op["cases"], "show as JSON has all of it")
    conv = json.loads(checks.run("plugin", "show", "Conv", "--json").stdout)["operators"][0]
    checks.say(any("tn.activation/1(relu" in kernel.get("absorbs", "") for kernel in conv["kernels"]),
               "show says what a kernel absorbs")
    checks.expect("show of nothing", ["plugin", "show", "Gelo"], 3, "the nearest is 'Gelu'")
    checks.expect("show of no file", ["plugin", "show", "./nothing.so"], 1, "there is no library file './nothing.so'")
    checks.expect("show in two forms", ["plugin", "show", "Conv", "--json", "--markdown"], 2, "not both")


def bench(checks):
    """The times of a library's kernels, as tables and as JSON; what fails or crashes is named."""
    quick = ["--seconds", "0.05", "--grow", "0.25"]
    library = "my_elementwise/build/libmy_elementwise.so"
    checks.expect("bench of a layer", ["plugin", "bench", library, *quick], 0, "this machine, 1 thread", "* plain",
                  "(the reference)", "grown", "/copy")
    done = checks.run("plugin", "bench", "builtin", "--operator", "MatMul", "--case", "| A=f32[8,16] B=f32[16,24]", "--json",
                      *quick)
    try:
        said = json.loads(done.stdout)
    except ValueError:
        said = {"cases": []}
    kernels = said["cases"][0]["kernels"] if len(said["cases"]) == 1 else []
    timed = [it for it in kernels if "best_ns" in it]
    checks.say(done.returncode == 0 and said["machine"]["operations_per_second"] > 1e8
               and any(it["reference"] for it in timed) and any(it["own"] for it in timed)
               and all(0 < it["best_ns"] <= it["median_ns"] and it["runs"] >= 1 for it in timed), "its JSON has the times")
    checks.say(said["cases"] and said["cases"][0]["bytes"] == 4 * (8 * 16 + 16 * 24 + 8 * 24), "and counts the bytes")
    checks.say(said["cases"] and said["cases"][0]["operations"] == 2 * 8 * 16 * 24, "and the operations")
    checks.say(all(it["bytes"] == said["cases"][0]["bytes"] for it in timed if it["combination"] == "f32, f32 -> f32"),
               "of each kernel as it stores them")
    checks.expect("a shape", ["plugin", "bench", library, "--case", "1", "--shape", "x=3x5x7", *quick], 0, "f32[3,5,7]")
    checks.expect("a shape that is none", ["plugin", "bench", library, "--case", "1", "--shape", "x=3xq", *quick], 1, "x=3xq")
    checks.expect("no such input", ["plugin", "bench", library, "--case", "1", "--shape", "q=3x3", *quick], 1, "q=3x3")
    checks.expect("no such case", ["plugin", "bench", library, "--case", "99", *quick], 1, "no case fits")
    checks.expect("an operator by its whole name", ["plugin", "bench", library, "--operator", "Custom::MyElementwise", *quick], 0,
                  "* plain")
    checks.expect("no such operator", ["plugin", "bench", library, "--operator", "Nothing"], 1, "no operator")
    checks.expect("no such type", ["plugin", "bench", library, "--type", "f33"], 1, "no element type")
    checks.expect("a bad case", ["plugin", "bench", library, "--case", "| q=f32[3]", *quick], 1, "no input 'q'")
    stub = os.path.join(os.path.dirname(os.path.dirname(checks.tenon)), "tests", "stub", "libtenon_stub.so")
    if os.path.exists(stub):  # a device without hardware
        checks.expect("a device's memory", ["doctor", "--plugin", stub], 0, "3.0 of 4.0 GiB free")
        on_stub = ["plugin", "bench", stub, "--device", "stub", "--operator", "Relu", *quick]
        checks.expect("bench on a device", on_stub, 0, "stub, a device without hardware: memory is copied at", "* stub",
                      "(the reference)", "left out, it is for another device: ", "/copy")
        said = json.loads(checks.run(*on_stub, "--json").stdout)
        timed = [it for case in said["cases"] for it in case["kernels"] if it["own"] and "best_ns" in it]
        checks.say(said["machine"]["device"] == "a device without hardware" and said["machine"]["copy_bytes_per_second"] > 0 and timed
                   and all(0 < it["best_ns"] <= it["median_ns"] and it["runs"] >= 1 for it in timed), "its JSON has the times of a device")
        checks.expect("bench on no device", ["plugin", "bench", stub, "--device", "stab"], 1, "no device 'stab'", "stub:0")
    checks.expect("bench of nothing", ["plugin", "bench", "nothing.so"], 1, "there is no library 'nothing.so'")
    checks.expect("bench with a wrong option", ["plugin", "bench", library, "--fast"], 2, "--fast")
    checks.expect("bench with a wrong number", ["plugin", "bench", library, "--threads", "many"], 2, "many")
    source = checks.path("my_elementwise", "my_elementwise.c")
    text = open(source, encoding="utf-8").read()
    with open(source, "w", encoding="utf-8") as file:
        file.write(text.replace("y[i] = x[i];", "*(volatile float *)(i + 1) = x[i];", 1))
    checks.expect("a kernel that crashes builds", ["plugin", "build", "my_elementwise"], 0)
    checks.expect("and bench names it", ["plugin", "bench", library, *quick], 1, "kernel plain", "signal 11", "plugin check")
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    checks.expect("mended again, it builds", ["plugin", "build", "my_elementwise"], 0)


def refuse(checks):
    cases = [
        (["no-name"], 2, "not a name like soft_clip"),
        (["Upper"], 2, "not a name like soft_clip"),
        ([], 2, "takes one name"),
        (["x1", "--like", "pool"], 2, "pooling"),
        (["x1", "--fields", "low:f33"], 2, "a type: bool"),
        (["x1", "--fields", "low"], 2, "NAME:TYPE"),
        (["x1", "--fields", "low:f32, low:i64"], 2, "twice"),
        (["x1", "--fields", "mode:enum"], 2, "choices"),
        (["x1", "--fields", 'label:string="quoted"'], 2, "without quotes"),
        (["x1", "--inputs", "a b"], 2, "list of"),
        (["x1", "--outputs", "y:like(q)"], 2, "like(INPUT)"),
        (["x1", "--like", "reduction", "--outputs", "y,z"], 2, "has 1"),
        (["x1", "--inputs", "a", "--outputs", "a"], 2, "an input and an output"),
        (["x1", "--like", "resize", "--inputs", "x"], 2, "has 2"),
        (["x1", "--devices", "tpu"], 2, "cpu,cuda"),
        (["x1", "--domain", "a::b"], 2, "not a domain"),
        (["x1", "--fieldz", "a:f32"], 2, "unknown option"),
        (["x1", "--fields"], 2, "needs a value"),
        (["my_elementwise"], 1, "is there already"),
    ]
    for arguments, code, word in cases:
        checks.expect(f"new {' '.join(arguments)}", ["plugin", "new", *arguments], code, word)
    checks.expect("build of no folder", ["plugin", "build", "nowhere"], 1, "nowhere/CMakeLists.txt")
    checks.expect("build of two", ["plugin", "build", "a", "b"], 2, "one folder")
    left = sorted(name for name in os.listdir(checks.folder) if name.startswith((".", "x1")))
    checks.say(not left, f"nothing is left behind {left or ''}")


def main():
    folder = tempfile.mkdtemp(prefix="tenon-plugin-tools.")
    checks = Checks(os.path.abspath(sys.argv[1]), folder)
    try:
        make_each_kind(checks)
        make_with_fields(checks)
        make_with_kit(checks)
        make_any_ports(checks)
        make_expressions(checks)
        build_only_what_changed(checks)
        check_forms(checks)
        show(checks)
        bench(checks)
        refuse(checks)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
