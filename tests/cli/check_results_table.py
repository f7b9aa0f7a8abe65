# SPDX-License-Identifier: Apache-2.0
"""What scripts/results-table keeps of several runs, and when scripts/check-gpu-table warns or fails, in a repository that is made here.

Usage: check_results_table.py
"""

import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TABLE = "bench/results/gpu-test.md"
SOURCE = "layers/relu/cuda_relu.cu"
ABOVE = "# Tests on a GPU\n\nWhat stands above the table.\n\n"


class Repository:
    """A small one with the scripts, a CUDA source, and a table without rows."""

    def __init__(self, folder):
        self.folder = folder
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "TENON_"))}
        self.git("init", "-q")
        for path in ("scripts/results-table", "scripts/check-gpu-table"):
            with open(os.path.join(ROOT, path), encoding="utf-8") as file:
                self.write(path, file.read())
            os.chmod(os.path.join(folder, path), 0o755)
        self.write(TABLE, ABOVE)
        self.write(SOURCE, "first\n")
        self.write("src/base/text.c", "first\n")
        self.commit()

    def run(self, *command, given="", **environment):
        return subprocess.run(command, cwd=self.folder, input=given, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              check=False, env=self.environment | environment)

    def git(self, *arguments):
        done = self.run("git", "-c", "user.name=test", "-c", "user.email=test@localhost", *arguments)
        if done.returncode != 0:
            raise RuntimeError(f"git {arguments}: {done.stdout}")
        return done.stdout.strip()

    def write(self, path, text):
        path = os.path.join(self.folder, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "a change")
        return self.git("rev-parse", "--short", "HEAD")

    def put(self, *rows):
        return self.run("scripts/results-table", "put", TABLE, given="".join("\t".join(row) + "\n" for row in rows))

    def table(self):
        with open(os.path.join(self.folder, TABLE), encoding="utf-8") as file:
            return file.read()

    def rows(self):
        lines = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in self.table().splitlines() if line.startswith("| ")]
        return {cells[0]: cells[1:] for cells in lines[1:]}

    def check(self, **environment):
        done = self.run("scripts/check-gpu-table", **environment)
        word = "FAIL" if "FAIL" in done.stdout else "WARN" if "WARN" in done.stdout else "none"
        return word, done.returncode


def check_table(it):
    first = it.git("rev-parse", "--short", "HEAD")
    it.put(("soak", "1", "0", "0", "600.4"), ("fuzz", "10", "1", "2", "59"))
    rows = it.rows()
    yield "rows have the parts' figures, and minutes", rows["soak"][:4] == ["1", "0", "0", "10:00"] and rows["fuzz"][:4] == ["10", "1", "2", "0:59"]
    yield "rows have the commit, unmarked, and a machine", rows["soak"][5] == first and "cores" in rows["soak"][6]
    yield "what stands above the table stays", it.table().startswith(ABOVE)
    second = it.commit()
    it.put(("fuzz", "11", "0", "2", "61"))
    rows = it.rows()
    yield "a run replaces its parts' rows", rows["fuzz"][:4] == ["11", "0", "2", "1:01"] and rows["fuzz"][5] == second
    yield "and leaves the others, in their order", rows["soak"][5] == first and list(rows) == ["soak", "fuzz"]
    it.write("src/base/text.c", "second\n")
    it.put(("tidy", "1", "0", "0", "1"))
    yield "changes in the tree are marked", it.rows()["tidy"][5] == second + ", with changes"
    yield "those of the table itself are none", it.rows()["fuzz"][5] == second
    it.git("checkout", "-q", "src")
    it.put(("packed", "1", "0", "0", "1", "2026-01-02", "0123456", "another one"))
    yield "a row may have its date, commit and machine", it.rows()["packed"][4:] == ["2026-01-02", "0123456, not in this history", "another one"]
    it.commit()
    it.git("checkout", "-q", "-b", "beside", first)
    it.write(TABLE, it.git("show", "master:" + TABLE) + "\n")
    it.put(("soak", "1", "0", "0", "60"))
    yield "a commit that HEAD does not come from is marked", it.rows()["fuzz"][5] == second + ", not in this history"
    done = it.put(("soak", "1"))
    yield "a row that lacks figures is refused", done.returncode != 0 and it.rows()["soak"][3] == "1:00"


def check_warning(it):
    yield "without rows nothing is known to be old", it.check() == ("none", 0)
    it.put(("conformance", "5", "0", "0", "60"))
    it.commit()
    yield "a table of these sources is current", it.check() == ("none", 0)
    it.write("src/base/text.c", "second\n")
    it.commit()
    yield "other sources may change", it.check() == ("none", 0)
    for path in (SOURCE, "src/device/cuda/stream.c", "kit/cuda/iteration.c", "include/tenon/kit/cuda/number.cuh", "layers/conv/cuda/tile.h",
                 "examples/prelu_caffe/cuda.cu"):
        it.write(path, "second\n")
        it.commit()
        yield f"{path} may not: a warning", it.check() == ("WARN", 0)
        yield f"{path}: an error on a release", it.check(TENON_RELEASE="1") == ("FAIL", 1)
        it.put(("conformance", "5", "0", "0", "60"))
        yield f"{path}: a run after it mends that", it.check(TENON_RELEASE="1") == ("none", 0)
        it.commit()
    it.write(SOURCE, "third\n")
    yield "so does a change that is not committed", it.check() == ("WARN", 0)
    it.commit()
    it.git("tag", "v1")
    yield "a tag is a release", it.check() == ("FAIL", 1)
    os.remove(os.path.join(it.folder, TABLE))
    yield "a table that is gone is an error", it.check() == ("FAIL", 1)


def main():
    count = {True: 0, False: 0}
    for check in (check_table, check_warning):
        with tempfile.TemporaryDirectory() as folder:
            it = Repository(folder)
            it.git("branch", "-m", "master")
            for name, good in check(it):
                count[good] += 1
                print("PASS" if good else "FAIL", name)
    print(f"{count[True]} passed, {count[False]} failed")
    return 1 if count[False] else 0


if __name__ == "__main__":
    sys.exit(main())
