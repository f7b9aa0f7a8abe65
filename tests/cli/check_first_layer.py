# SPDX-License-Identifier: Apache-2.0
"""docs/first-layer.md as its reader follows it: the source that it shows, and each command that it shows, in order.

Usage: check_first_layer.py TENON, the installed program.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

import numpy

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "first-layer.md")


def main():
    program = os.path.abspath(sys.argv[1])
    text = open(PAGE, encoding="utf-8").read()
    source = re.search(r"```c\n(.*?)```", text, re.S).group(1)
    commands = re.findall(r"^    ((?:tenon|cd) .*)$", text, re.M)
    where = tempfile.mkdtemp(prefix="tenon-first-layer.")
    folder, failed, passed = where, 0, 0
    environment = {**os.environ, "LC_ALL": "C", "PATH": os.path.dirname(program) + os.pathsep + os.environ["PATH"]}
    try:
        for command in commands:
            if command.startswith("cd "):
                folder = os.path.join(folder, command[3:])
                with open(os.path.join(folder, "soft_clip.c"), "w", encoding="utf-8") as file:
                    file.write(source)
                continue
            if command.startswith("tenon run "):
                inspected = subprocess.run(["tenon", "inspect", "soft_clip.plan"], cwd=folder, env=environment,
                                           capture_output=True, text=True, check=True).stdout
                shape = [int(it) for it in re.search(r"name: x, type: f32, shape: \[([^]]*)\]", inspected).group(1).split(",")]
                x = numpy.linspace(-4, 4, numpy.prod(shape), dtype=numpy.float32).reshape(shape)
                numpy.save(os.path.join(folder, "x.npy"), x)
            done = subprocess.run(command, shell=True, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, timeout=300)
            good = done.returncode == 0
            if good and command.startswith("tenon run "):
                y = numpy.load(os.path.join(folder, "y.npy"))
                good = numpy.allclose(y, 6 / (1 + numpy.exp(-x)), rtol=1e-5)
            passed, failed = passed + good, failed + (not good)
            print("PASS" if good else "FAIL", command, "" if good else f": {done.stdout}{done.stderr}", flush=True)
    finally:
        shutil.rmtree(where, ignore_errors=True)
    verbs = {verb for verb in ("new", "build", "check", "show", "bench") if any(f"plugin {verb}" in it for it in commands)}
    if len(verbs) != 5:
        print("FAIL the page shows", sorted(verbs))
        failed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
