# SPDX-License-Identifier: Apache-2.0
"""Tries the gate of the binary interface: makes changes to headers that must pass and others that must be stopped.

Usage: check_gate.py. Needs cc, abidw, abidiff.
"""

import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
GATE = os.path.join(ROOT, "scripts", "check-abi")

# (what is done, header, old text, new text, compiler flags; what the gate says: None for "passes")
CHANGES = [
    ("nothing", None, "", "", [], None),
    ("a function is added", None, "", "", ["-DGATE_MORE"], None),
    ("a member is appended to a table", None, "", "", ["-DAPPEND_TABLE"], None),
    ("a member is appended to options", None, "", "", ["-DAPPEND_OPTION"], None),
    ("a member is appended to what is strided", "plugin.h", "} tn_port;", "    uint64_t more;\n} tn_port;", [], None),
    ("a constant is added", "plugin.h", "TN_ERROR_INTERNAL = 14", "TN_ERROR_INTERNAL = 14, TN_ERROR_MORE = 15", [], None),
    ("the minor version is raised", "plugin.h", "#define TN_ABI_MINOR 0u", "#define TN_ABI_MINOR 1u", [], None),
    ("a function is gone", None, "", "", ["-DGATE_FEWER"], "tn_runtime_load_library"),
    ("a function's argument changes", "runtime.h", "tn_runtime_load_library(tn_runtime *runtime, const char *path)",
     "tn_runtime_load_library(tn_runtime *runtime, const void *path)", ["-Dpath_type"], "tn_runtime_load_library"),
    ("a member is inserted", "plugin.h", "    uint64_t params_bytes; /* of the parameter struct",
     "    uint64_t inserted;\n    uint64_t params_bytes; /* of the parameter struct", ["-DTN_UNFROZEN"], "inserted"),
    ("a member is inserted and one is appended", "builder.h", "    const char *device; /* null",
     "    const char *inserted;\n    const char *device; /* null", ["-DAPPEND_OPTION"], "inserted"),
    ("a member goes", "builder.h", "    uint32_t threads;   /* kernels are timed", "    /* kernels are timed", [], "threads"),
    ("members are swapped", "graph.h", "    const char *domain, *op;", "    const char *op, *domain;", [], "domain"),
    ("a member gets another type", "builder.h", "    double timing_seconds;", "    uint64_t timing_seconds;", [],
     "timing_seconds"),
    ("a member gets another type and one is appended", "builder.h", "    double timing_seconds;",
     "    uint64_t timing_seconds;", ["-DAPPEND_OPTION"], "timing_seconds"),
    ("a callback gets another argument", "plugin.h", "void (*destroy_params)(void *user, void *params) TN_NOEXCEPT;",
     "void (*destroy_params)(void *user, void *params, uint32_t more) TN_NOEXCEPT;", [], "destroy_params"),
    ("a constant changes", "plugin.h", "TN_ERROR_SHAPE = 7,", "TN_ERROR_SHAPE = 70,", [], "TN_ERROR_SHAPE"),
    ("a constant is gone", "plugin.h", "TN_OPERATOR_COMMUTATIVE = 32u", "TN_OPERATOR_SYMMETRIC = 32u", [],
     "TN_OPERATOR_COMMUTATIVE"),
    ("the entry gets another name", "plugin.h", '#define TN_LIBRARY_SYMBOL "tenon_library_1"',
     '#define TN_LIBRARY_SYMBOL "tenon_library_2"', [], "TN_LIBRARY_SYMBOL"),
    ("a member takes what was padding", "runtime.h", "    uint32_t flags;       /* TN_RUNTIME_... */",
     "    uint32_t flags, more; /* TN_RUNTIME_... */", [], "tn_runtime_options.more"),
    ("a list that is embedded grows", "plugin.h", "    const float *items;\n} tn_f32s;",
     "    const float *items;\n    uint64_t capacity;\n} tn_f32s;", [], "sizeof(tn_f32s)"),
]


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def replace(path, old, new):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if text.count(old) < 1:
        sys.exit(f"{path} no longer has: {old}")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace(old, new, 1))


def append_to(path, struct):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    end = text.index("\n};", text.index(struct + " {"))
    with open(path, "w", encoding="utf-8") as file:
        file.write(text[:end] + "\n    uint64_t more;" + text[end:])


def make(folder, header, old, new, flags):
    """Headers with the change, and a library of them; answers its path and the headers' folder."""
    headers = os.path.join(folder, "include")
    shutil.copytree(os.path.join(ROOT, "include"), headers)
    source = os.path.join(folder, "gate.c")
    shutil.copy(os.path.join(ROOT, "tests", "abi", "gate.c"), source)
    if "-DAPPEND_OPTION" in flags:
        replace(os.path.join(headers, "tenon", "builder.h"), "} tn_builder_options;", "    uint64_t more;\n} tn_builder_options;")
    if "-DAPPEND_TABLE" in flags:
        append_to(os.path.join(headers, "tenon", "plugin.h"), "struct tn_operator")
    if header:
        replace(os.path.join(headers, "tenon", header), old, new)
    if "-Dpath_type" in flags:
        replace(source, "const char *path", "const void *path")
    if "-DTN_UNFROZEN" in flags: # or the headers' own assertions stop it first
        replace(os.path.join(headers, "tenon", "plugin.h"), "TN_STATIC_ASSERT(offsetof(type, member) == (at),",
                "TN_STATIC_ASSERT((at) > 0 || sizeof(type),")
    library = os.path.join(folder, "libgate.so")
    done = run("cc", "-std=c11", "-g", "-shared", "-fPIC", *flags, "-I", headers, "-o", library, source)
    if done.returncode != 0:
        sys.exit(f"the gate's library does not compile:\n{done.stderr}")
    return library, headers


def main():
    passed = failed = 0
    with tempfile.TemporaryDirectory() as work:
        baseline = os.path.join(work, "baseline")
        os.makedirs(baseline)
        library, headers = make(os.path.join(work, "before"), None, "", "", [])
        done = run(GATE, library, "--headers", headers, "--baseline", baseline, "--update")
        if done.returncode != 0:
            sys.exit(done.stdout + done.stderr)
        for number, (what, header, old, new, flags, says) in enumerate(CHANGES):
            library, headers = make(os.path.join(work, str(number)), header, old, new, flags)
            done = run(GATE, library, "--headers", headers, "--baseline", baseline)
            text = done.stdout + done.stderr
            good = done.returncode == (1 if says else 0) and (not says or ("FAIL" in text and says in text))
            passed, failed = passed + good, failed + (not good)
            print("PASS" if good else "FAIL", f"{what}: {'stopped' if done.returncode else 'let through'}")
            if not good:
                print(text)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
