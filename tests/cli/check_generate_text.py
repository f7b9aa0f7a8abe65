# SPDX-License-Identifier: Apache-2.0
"""Generates text with examples/generate_text: check_generate_text.py TENON PROGRAM. Needs NumPy and onnx.

One plan with two profiles reads the text in a run and then a character a run, in caches that stay where they are. What comes out is what
the network's reference in double precision finds likeliest, computed anew over all characters each time, and nothing is allocated.
"""

import os
import re
import subprocess
import sys
import tempfile

import onnx
from checks import ProgramChecks

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "scripts", "models"))
import gpt  # noqa: E402

PROFILES = ["--shape", "tokens=1x1:1x32:1x64", "--next-profile", "--shape", "tokens=1x1"]


def expected(made, text, count):
    tokens = list(text.encode())
    for _ in range(count):
        tokens.append(gpt.likeliest(made, tokens))
    return bytes(tokens).decode("latin-1")


class Checks(ProgramChecks):
    def generate(self, program, plan, text, count):
        return subprocess.run([program, plan, text, str(count)], capture_output=True, timeout=120, cwd=self.folder)

    def text(self, program, plan, made, text, count):
        done = self.generate(program, plan, text, count)
        found, wanted = done.stdout.decode("latin-1"), expected(made, text, count) + "\n"
        self.say(done.returncode == 0 and found == wanted, f"{count} characters behind {text!r}: {found!r}" +
                 ("" if found == wanted else f" instead of {wanted!r}, {done.stderr.decode()}"))
        runs = re.search(rb"(\d+) runs of one character: (\d+) allocations", done.stderr)
        if count > 2:
            self.say(runs and runs.groups() == (str(count - 2).encode(), b"0"), f"behind {text!r}: {done.stderr.decode().strip()}")


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    program, made = os.path.abspath(sys.argv[2]), gpt.solve(gpt.weights())
    with tempfile.TemporaryDirectory(prefix="tenon-text.") as folder:
        checks = Checks(sys.argv[1], folder)
        onnx.save(gpt.model(made), os.path.join(folder, "gpt.onnx"))
        for threads in ("1", "2"):
            done = checks.program("build", "gpt.onnx", "-o", f"{threads}.plan", "--no-timing", "--threads", threads, *PROFILES)
            checks.say(done.returncode == 0 and "profile 1:" in done.stdout, f"a plan for {threads} threads: {done.stderr.strip()}")
        checks.text(program, "1.plan", made, gpt.TEXT[:9], 120)
        checks.text(program, "2.plan", made, gpt.TEXT[:60], 60)
        checks.text(program, "1.plan", made, "No text of ours", 40)
        checks.text(program, "1.plan", made, "x", 1)
        for text, count, wanted in ("x", gpt.CAPACITY, b"1 to 192 characters"), ("", 3, b"1 to 192 characters"), ("x", 0, b"usage"), (
                "y" * 65, 3, b"no profile has this shape"):
            done = checks.generate(program, "1.plan", text, count)
            checks.say(done.returncode in (1, 2) and wanted in done.stderr, f"{count} behind {len(text)}: {done.stderr.decode().strip()}")
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
