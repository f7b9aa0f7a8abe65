# SPDX-License-Identifier: Apache-2.0
"""Libraries inside plans: embedded on request, executed on request alone, refused where they are not what the plan names.

Usage: check_embedded_libraries.py TENON INCLUDE, the installed program and its headers. Compiles small libraries with cc.
"""

import hashlib
import json
import os
import shutil
import stat
import struct
import sys
import tempfile

import numpy

from check_plugin_load import Checks as LoadChecks

LIBRARIES = 4  # the kind of section


class Checks(LoadChecks):
    def __init__(self, tenon, include, folder):
        super().__init__(tenon, include, folder)
        os.environ["XDG_CACHE_HOME"] = self.path("cache")

    def code_ran(self):
        return os.path.exists(self.path("mark"))

    def expect_marked(self, title, arguments, code, *words, runs=False, never=()):
        """As expect; code of the library runs or it does not."""
        if self.code_ran():
            os.remove(self.path("mark"))
        self.expect(title, arguments, code, *words, never=never, TENON_TEST_MARK=self.path("mark"))
        self.say(self.code_ran() == runs, f"{title}: {'its code ran' if runs else 'none of its code ran'}")


def sections(data):
    """(index, kind, offset, bytes) of a plan's table."""
    count, = struct.unpack_from("<I", data, 12)
    for i in range(count):
        kind, _, offset, size, _ = struct.unpack_from("<IIQQQ", data, 32 + 32 * i)
        yield i, kind, offset, size


def built(checks):
    right = checks.library("a/libadd_one.so")
    model = checks.model("net.onnx")
    checks.expect("build without", ["build", model, "-o", "bare.plan", "--plugin", right], 0)
    checks.expect("build", ["build", model, "-o", "net.plan", "--plugin", right, "--embed-libraries"], 0)
    with open(right, "rb") as file:
        content = file.read()
    shutil.move(checks.path("a"), checks.path("gone"))
    with open(checks.path("net.plan"), "rb") as file:
        plan = file.read()
    found = [plan[offset:offset + size] for _, kind, offset, size in sections(plan) if kind == LIBRARIES]
    checks.say(found == [content], "the plan has the library's bytes")
    numpy.save(checks.path("x.npy"), numpy.arange(4, dtype=numpy.float32))
    return plan, hashlib.sha256(content).hexdigest(), len(content)


def shown(checks, digest, size):
    checks.expect_marked("inspect", ["inspect", "net.plan"], 0, f"embedded: {size} bytes, SHA-256 {digest}")
    found = json.loads(checks.run("inspect", "net.plan", "--json").stdout)["libraries"]
    checks.say([it["embedded_bytes"] for it in found if it.get("sha256") == digest] == [size], "inspect --json")
    checks.expect_marked("doctor", ["doctor", "net.plan"], 1, f"embedded with SHA-256 {digest}", "MISSING",
                         f"--trust-embedded {digest}")
    checks.expect_marked("doctor, trusting", ["doctor", "net.plan", "--trust-embedded", digest], 0, "the same content",
                         runs=True)


def trusted(checks, digest):
    run = ["run", "net.plan", "--input", "x=x.npy", "--output", "y=y.npy"]
    checks.expect_marked("without trust", run, 1, "needs library 'add_one'", f"the plan embeds it, SHA-256 {digest}", "mend:",
                         f"--trust-embedded {digest}", "tn_runtime_load_embedded")
    other = "0" * 64
    checks.expect_marked("another one is trusted", [*run, "--trust-embedded", other], 1, f"--trust-embedded {digest}")
    checks.expect_marked("no SHA-256", [*run, "--trust-embedded", "yes"], 1, "'yes' is no SHA-256")
    shutil.rmtree(checks.path("cache"))
    checks.expect_marked("trusted by its SHA-256", [*run, "--trust-embedded", other, "--trust-embedded", digest.upper()], 0,
                         runs=True)
    checks.say(numpy.array_equal(numpy.load(checks.path("y.npy")), [2, 3, 4, 5]), "and its result")
    checks.expect_marked("all are trusted, exactly", [*run, "--exact", "--trust-embedded", "all"], 0, runs=True)
    checks.expect_marked("trusted, not allowed", [*run, "--trust-embedded", "all", "--allow-plugin", "0" * 16], 1,
                         "not among the allowed ones", runs=True)
    checks.expect("a plan that embeds nothing", ["run", "bare.plan", *run[2:], "--trust-embedded", "all"], 1,
                  "needs library 'add_one'", never=("--trust-embedded",))
    checks.expect("of a model", ["run", "net.onnx", *run[2:], "--trust-embedded", "all"], 2, "--trust-embedded")


def cached(checks, digest):
    """The cache folder is the user's own; what is wrong in it is written anew."""
    run = ["run", "net.plan", "--input", "x=x.npy", "--output", "y=y.npy", "--trust-embedded", digest]
    folder = checks.path("cache/tenon/embedded")
    path = os.path.join(folder, digest + ".so")
    checks.say(stat.S_IMODE(os.stat(folder).st_mode) == 0o700, "the cache folder is private")
    checks.say(os.listdir(folder) == [digest + ".so"], "and has the library alone")
    os.remove(path)
    with open(path, "wb") as file:
        file.write(b"other bytes")
    checks.expect_marked("another file of that name", run, 0, runs=True)
    with open(path, "rb") as file:
        checks.say(hashlib.sha256(file.read()).hexdigest() == digest, "is replaced")
    os.chmod(folder, 0o777)
    checks.expect_marked("a folder that others write", run, 1, "may be written by others")
    os.chmod(folder, 0o700)


def damaged(checks, plan, digest):
    """A changed byte, a shorter section; with the checksums as they were, and a digest that was changed with them by hand."""
    run = ["run", "bad.plan", "--input", "x=x.npy", "--trust-embedded", "all"]
    index, _, offset, size = [it for it in sections(plan) if it[1] == LIBRARIES][0]

    def write(data):
        with open(checks.path("bad.plan"), "wb") as file:
            file.write(data)

    changed = bytearray(plan)
    changed[offset + size // 2] ^= 1
    write(changed)
    checks.expect_marked("a changed byte", run, 1, "bad.plan", f"section {index}", "does not have its checksum")
    write(plan[:-100])
    checks.expect_marked("cut off", run, 1, "bad.plan", "cut off")
    checks.say(plan.count(bytes.fromhex(digest)) == 1, "the SHA-256 is in the plan once")
    write(plan.replace(bytes.fromhex(digest), bytes(32)))
    checks.expect_marked("another SHA-256", run, 1, "does not have its checksum")


def main():
    tenon, include = (os.path.abspath(it) for it in sys.argv[1:3])
    with tempfile.TemporaryDirectory() as folder:
        checks = Checks(tenon, include, folder)
        plan, digest, size = built(checks)
        shown(checks, digest, size)
        trusted(checks, digest)
        cached(checks, digest)
        damaged(checks, plan, digest)
        return checks.end()


if __name__ == "__main__":
    sys.exit(main())
