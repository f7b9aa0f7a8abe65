#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What ten engines of one plan take over one: bench/shared_weights.py MODEL.onnx [--tenon build/bin/tenon] [--library build/lib/libtenon.so]

Builds the plan with and without packed weights in it, and loads each in a process of its own: once and ten times, from the file and from
bytes. Printed are the private and the file-backed resident memory and the peak, in MB."""
import argparse
import ctypes
import os
import subprocess
import sys
import tempfile

ENGINES = 10


def figures():
    wanted = {"RssAnon": 0, "RssFile": 0, "VmHWM": 0}
    with open("/proc/self/status", encoding="ascii") as status:
        for line in status:
            name = line.split(":")[0]
            if name in wanted:
                wanted[name] = int(line.split()[1]) / 1024
    return wanted


def load(library, plan, count, is_bytes):
    """In a process of its own: loads the engines and prints what the process takes."""
    tenon = ctypes.CDLL(library)
    runtime, data = ctypes.c_void_p(), None
    if tenon.tn_runtime_create(None, ctypes.byref(runtime)):
        sys.exit("no runtime")
    engines = [ctypes.c_void_p() for _ in range(count)]
    if is_bytes:
        with open(plan, "rb") as file:
            data = file.read()
    for engine in engines:
        if is_bytes:
            status = tenon.tn_engine_load_bytes(runtime, data, ctypes.c_uint64(len(data)), None, ctypes.byref(engine))
        else:
            status = tenon.tn_engine_load(runtime, plan.encode(), None, ctypes.byref(engine))
        if status:
            sys.exit("an engine was not loaded")
    del data
    found = figures()
    print(f"{found['RssAnon']:.1f} | {found['RssFile']:.1f} | {found['VmHWM']:.1f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", metavar="MODEL.onnx")
    parser.add_argument("--tenon", default="build/bin/tenon")
    parser.add_argument("--library", default="build/lib/libtenon.so")
    parser.add_argument("--load", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.load:
        plan, count, kind = options.load
        load(os.path.abspath(options.library), plan, int(count), kind == "bytes")
        return
    print("| plan | from | engines | private MB | of files MB | peak MB |\n|-|-|-|-|-|-|")
    with tempfile.TemporaryDirectory() as folder:
        for name, flags in (("packed", []), ("not packed", ["--no-packed-weights"])):
            plan = os.path.join(folder, "network.plan")
            subprocess.run([options.tenon, "build", options.model, "-t", "2", "--no-timing", "-o", plan, *flags], check=True,
                           stdout=subprocess.DEVNULL)
            for kind in ("file", "bytes"):
                for count in (1, ENGINES):
                    line = subprocess.run([sys.executable, __file__, options.model, "--library", options.library, "--load", plan,
                                           str(count), kind], check=True, capture_output=True, text=True).stdout.strip()
                    print(f"| {name} | {kind} | {count} | {line} |", flush=True)


if __name__ == "__main__":
    main()
