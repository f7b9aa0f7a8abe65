# SPDX-License-Identifier: Apache-2.0
"""What bad input gets from the program: one clear message, the right exit code, and no file left behind.

Usage: check_bad_input.py TENON INCLUDE, the program and the folder of the installed headers. Exit codes: 1 the input
or the machine is at fault, 2 wrong usage, 3 sound input that asks for what is not there.
"""

import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

from checks import ProgramChecks

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
MODELS = os.path.join(ROOT, "models")
PLUGIN_SOURCE = os.path.join(ROOT, "examples", "dynamic_resize", "dynamic_resize.c")
LENET = os.path.join(MODELS, "lenet.onnx")
DIGITS = os.path.join(MODELS, "reference", "lenet_input.npy")
SRCNN = os.path.join(MODELS, "srcnn_dynamic.onnx")
TINY = os.path.join(MODELS, "tiny", "tiny_dynamic.onnx")
LENET_SHAPE = ("--shape", "input=1x1x28x28:2x1x28x28:7x1x28x28")
TINY_SHAPES = ("--shape", "image=1x2x1x1:1x2x5x6:1x2x9x9", "--shape", "size=1x1x1x1:1x1x9x13:1x1x20x20")
FAULT, USAGE, UNSUPPORTED = 1, 2, 3
DAMAGED_COPIES = 60


def limit_file_size(size):
    """A disk that is full after so many bytes; the signal is left as a shell leaves it."""
    def apply():
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    return apply


class Checks(ProgramChecks):
    def __init__(self, tenon, include, folder):
        super().__init__(tenon, folder)
        self.include = include
        self.environment = {**os.environ, "LC_ALL": "C"}
        self.environment.pop("TENON_PLUGIN_PATH", None)

    def program(self, *arguments, prepare=None):
        return subprocess.run([self.tenon, *arguments], capture_output=True, text=True, errors="replace",
                              timeout=120, env=self.environment, cwd=self.folder, preexec_fn=prepare)

    def refused(self, text, code, parts, *arguments, prepare=None):
        """The program ends with this code, and its message holds the parts; nothing new lies in the folder."""
        before = set(os.listdir(self.folder))
        done = self.program(*arguments, prepare=prepare)
        left = set(os.listdir(self.folder)) - before
        missing = [part for part in parts if part not in done.stderr]
        good = done.returncode == code and not missing and not left and done.stderr.startswith("tenon: ")
        why = f"exit {done.returncode} instead of {code}; " if done.returncode != code else ""
        why += f"message without {missing}; " if missing else ""
        why += f"left {sorted(left)}; " if left else ""
        self.say(good, f"{text}: {why}{done.stderr.strip()[:300]}")

    def accepted(self, text, *arguments):
        done = self.program(*arguments)
        self.say(done.returncode == 0, f"{text}: exit {done.returncode} {done.stderr.strip()[:300]}")
        return done

    def compile_plugin(self, name, *flags):
        library = self.path(name)
        subprocess.run(["cc", "-std=c11", "-shared", "-fPIC", "-I", self.include, *flags, "-o", library,
                        PLUGIN_SOURCE, "-lm"], check=True)
        return library

    def cut(self, source, name, size):
        with open(source, "rb") as original, open(self.path(name), "wb") as copy:
            copy.write(original.read(size))
        return self.path(name)


def check_usage(checks):
    checks.refused("no such subcommand", USAGE, ["'bild'"], "bild")
    checks.refused("no model", USAGE, ["build"], "build")
    checks.refused("no output", USAGE, ["-o"], "build", LENET)
    checks.refused("no such option", USAGE, ["--fast"], "build", LENET, "-o", "a.plan", "--fast")
    checks.refused("no number", USAGE, ["threads", "'two'"], "build", LENET, "-o", "a.plan", "--threads", "two")
    checks.refused("no such shape", USAGE, ["1x-"], "build", LENET, "-o", "a.plan", "--shape", "input=1x-")


def check_models(checks):
    checks.refused("missing model", FAULT, ["nothere.onnx", "No such file"], "build", "nothere.onnx", "-o", "a.plan")
    size = os.path.getsize(LENET)
    for part in (1, 20, 5000, size // 2, size - 1):
        cut = checks.cut(LENET, f"cut{part}.onnx", part)
        checks.refused(f"model cut to {part} bytes", FAULT, [os.path.basename(cut)], "build", cut, "-o", "a.plan")
    checks.cut(LENET, "empty.onnx", 0)
    checks.refused("empty model", FAULT, ["empty.onnx"], "build", "empty.onnx", "-o", "a.plan")
    checks.refused("a folder as model", FAULT, [os.path.basename(MODELS)], "build", MODELS, "-o", "a.plan")
    with open(checks.path("text.onnx"), "w", encoding="ascii") as file:
        file.write("this is no model\n" * 100)
    checks.refused("text as model", FAULT, ["text.onnx"], "build", "text.onnx", "-o", "a.plan")
    checks.refused("operator of no library", UNSUPPORTED, ["Test::DynamicTRTResize", "--plugin"],
                   "build", SRCNN, "-o", "a.plan")


def check_runs(checks):
    checks.accepted("build a plan", "build", LENET, "-o", "lenet.plan", *LENET_SHAPE)
    run = ("run", "lenet.plan", "--output", "output=result.npy")
    checks.refused("wrong input name", FAULT, ["'imput'", "'input'"], *run, "--input", f"imput={DIGITS}")
    checks.refused("wrong output name", FAULT, ["'outptu'", "'output'"], "run", "lenet.plan",
                   "--input", f"input={DIGITS}", "--output", "outptu=result.npy")
    checks.refused("missing input file", FAULT, ["none.npy"], *run, "--input", "input=none.npy")
    checks.refused("no input", FAULT, ["'input'"], *run)
    cut = checks.cut(DIGITS, "cut.npy", 1000)
    checks.refused("cut input", FAULT, ["cut.npy"], *run, "--input", f"input={cut}")
    labels = os.path.join(MODELS, "reference", "lenet_labels.npy")
    checks.refused("input of another type", FAULT, ["input"], *run, "--input", f"input={labels}")
    checks.accepted("build a plan for few", "build", LENET, "-o", "few.plan", "--shape", "input=1x1x28x28:2x1x28x28:3x1x28x28")
    checks.refused("shape outside the profile", FAULT, ["'input'", "axis 0", "7", "1 to 3"],
                   "run", "few.plan", "--input", f"input={DIGITS}", "--output", "output=result.npy")


def check_plans(checks):
    plan = checks.path("lenet.plan")
    size = os.path.getsize(plan)
    for part in (0, 1, 63, 4096, size // 2, size - 1):
        cut = checks.cut(plan, f"cut{part}.plan", part)
        checks.refused(f"plan cut to {part} bytes", FAULT, [os.path.basename(cut)],
                       "run", cut, "--input", f"input={DIGITS}", "--output", "output=result.npy")
    check_damaged(checks, plan)


def check_damaged(checks, plan):
    """One byte changed anywhere: an error or, in bytes that nothing depends on, the same result; never a signal."""
    numbers = random.Random(7)
    with open(plan, "rb") as file:
        original = file.read()
    bad = []
    for _ in range(DAMAGED_COPIES):
        offset = numbers.randrange(min(len(original), 16384) if numbers.random() < 0.7 else len(original))
        copy = bytearray(original)
        copy[offset] ^= 1 << numbers.randrange(8)
        with open(checks.path("damaged.plan"), "wb") as file:
            file.write(copy)
        done = checks.program("run", "damaged.plan", "--input", f"input={DIGITS}", "--output", "output=damaged.npy")
        if done.returncode not in (0, FAULT) or (done.returncode and not done.stderr.startswith("tenon: ")):
            bad.append(f"byte {offset}: exit {done.returncode}")
    checks.say(not bad, f"{DAMAGED_COPIES} plans with one bit changed: {'; '.join(bad)}")


def check_plugins(checks):
    library = checks.compile_plugin("libdynamic_resize.so", "-O2", "-fvisibility=hidden")
    checks.accepted("build with a plugin", "build", TINY, "-o", "tiny.plan", "--plugin", library, *TINY_SHAPES)
    inputs = [part for name in ("image", "size")
              for part in ("--input", f"{name}={MODELS}/tiny/tiny_dynamic_{name}.npy")]
    run = ("run", "tiny.plan", *inputs, "--output", "output=tiny.npy")
    checks.refused("missing library file", FAULT, ["none.so"], *run, "--plugin", "none.so")
    checks.refused("plan without its library", FAULT, ["dynamic_resize", "--plugin"], *run)
    checks.accepted("plan with its library", *run, "--plugin", library, "--exact")
    os.remove(checks.path("tiny.npy"))
    os.mkdir(checks.path("changed"))
    changed = checks.compile_plugin("changed/libdynamic_resize.so", "-O1", "-fvisibility=hidden")
    checks.refused("changed library, exactly", FAULT, ["dynamic_resize", "exact"], *run, "--plugin", changed, "--exact")
    done = checks.accepted("changed library", *run, "--plugin", changed)
    checks.say("dynamic_resize" in done.stderr, f"changed library: there is a notice: {done.stderr.strip()[:300]}")
    os.remove(checks.path("tiny.npy"))
    with open(checks.path("text.so"), "w", encoding="ascii") as file:
        file.write("no library\n")
    checks.refused("no library in the file", FAULT, ["text.so"], "build", TINY, "-o", "a.plan", "--plugin", "text.so")
    subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", checks.path("noentry.so")],
                   input=b"int nothing;", check=True)
    checks.refused("library without entry", FAULT, ["noentry.so", "tenon_library_1"],
                   "build", TINY, "-o", "a.plan", "--plugin", "noentry.so")


def check_full_disk(checks):
    checks.refused("full disk: plan", FAULT, ["full.plan"], "build", LENET, "-o", "full.plan", *LENET_SHAPE,
                   prepare=limit_file_size(100_000))
    checks.refused("full disk: result", FAULT, ["full.npy"], "run", "lenet.plan", "--input", f"input={DIGITS}",
                   "--output", "output=full.npy", prepare=limit_file_size(64))
    for option, path in (("-o", "nowhere/a.plan"), ("--report", "nowhere/a.json"), ("-o", f"{LENET}/a.plan")):
        checks.refused(f"no such folder, {option} {path}", FAULT, [path, "into the folder"], "build", LENET, option, path, *LENET_SHAPE,
                       *([] if option == "-o" else ["-o", "none.plan"]))
    checks.say(not os.path.exists(checks.path("none.plan")), "no such folder: known before the build")
    for words in (("--version",), ("help",), ("inspect", LENET)):
        with open("/dev/full", "wb") as full:
            code = subprocess.run([checks.tenon, *words], stdout=full, stderr=subprocess.PIPE, timeout=60, env=checks.environment, check=False).returncode
        checks.say(code == FAULT, f"full disk: {words[0]} exits with {code}")
    with open(checks.path("other.file"), "w", encoding="ascii") as file:
        file.write("not a timing cache")
    checks.refused("a timing cache that is another file", FAULT, ["other.file", "no timing cache"], "build", LENET, "-o", "none.plan", *LENET_SHAPE,
                   "--timing-cache", "other.file")
    with open(checks.path("other.file"), encoding="ascii") as file:
        checks.say(file.read() == "not a timing cache", "a timing cache that is another file: it is as it was")


def check_what_is_there(checks):
    """What is written over: a link stays one, and what is no regular file, as /dev/null is not, is written and not replaced."""
    run = ("run", LENET, "--input", DIGITS, "--print")
    for name, arguments in (("y.npy", (*run, "--output")), ("p.html", ("inspect", LENET, "--html")), ("c.json", ("plugin", "check", LENET, "--json"))):
        link, target, pipe = checks.path(f"link-{name}"), checks.path(f"target-{name}"), checks.path(f"pipe-{name}")
        with open(target, "w", encoding="ascii") as file:
            file.write("old")
        os.symlink(target, link)
        os.mkfifo(pipe)
        checks.program(*arguments, link)
        checks.say(os.path.islink(link) and os.path.getsize(target) > 3, f"{arguments[0]} writes what a link names")
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        checks.program(*arguments, pipe)
        checks.say(not os.path.isfile(pipe) and len(os.read(reader, 16)) == 16, f"{arguments[0]} writes to a pipe")
        os.close(reader)
    link, plan = checks.path("link.plan"), checks.path("target.plan")
    open(plan, "wb").close()
    os.symlink(plan, link)
    checks.accepted("a build to a link", "build", LENET, *LENET_SHAPE, "--no-timing", "-o", link)
    checks.say(os.path.islink(link) and os.path.getsize(plan) > 0, "a plan is written where a link leads")


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    folder = tempfile.mkdtemp(prefix="tenon-bad-input.")
    try:
        checks = Checks(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), folder)
        for check in (check_usage, check_models, check_runs, check_plans, check_plugins, check_full_disk, check_what_is_there):
            check(checks)
    finally:
        shutil.rmtree(folder)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
