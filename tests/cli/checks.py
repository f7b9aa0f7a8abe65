# SPDX-License-Identifier: Apache-2.0
"""What the checks of programs have in common: counting what is right, a folder of their own, the program and its environment."""

import os
import subprocess


class ProgramChecks:
    """`tenon` is the program, or none; `folder` is where it runs, and where what it reads and writes lies."""

    prints_passes = True

    def __init__(self, tenon, folder):
        self.tenon = tenon and os.path.abspath(tenon)
        self.folder = folder
        self.passed = self.failed = self.skipped = 0

    def say(self, good, text):
        """Counts one check. A failure is always printed."""
        self.passed, self.failed = self.passed + bool(good), self.failed + (not good)
        if self.prints_passes or not good:
            print("PASS" if good else "FAIL", text, flush=True)
        return bool(good)

    def report(self, name, good, why=""):
        """As `say`, with the reason where it failed."""
        return self.say(good, name if good else f"{name}: {why}")

    def skip(self, text):
        self.skipped += 1
        print("SKIP", text, flush=True)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def write(self, name, content):
        """A file of the folder, from a text or bytes; its path."""
        with open(self.path(name), "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        return self.path(name)

    def program(self, *arguments, **options):
        """Runs the program in the folder; options are those of subprocess.run. It reads no terminal."""
        return execute(self.tenon, *arguments, **{"cwd": self.folder, **options})

    def end(self):
        """Prints the line that scripts/parts.sh reads. The exit status: a check that tried nothing has failed."""
        print(f"{self.passed} passed, {self.failed} failed" + (f", {self.skipped} skipped" if self.skipped else ""))
        return 1 if self.failed or self.passed + self.skipped == 0 else 0


def execute(*command, **options):
    given = {} if "input" in options else {"stdin": subprocess.DEVNULL}
    return subprocess.run(command, **{"capture_output": True, "text": True, "errors": "replace", "timeout": 300, "check": False, **given, **options})
