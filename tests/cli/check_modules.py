# SPDX-License-Identifier: Apache-2.0
"""What scripts/check-layering counts with scripts/modules.py, on small trees that are built here: circles of files, arrows back
between modules, modules that are too large.

Usage: check_modules.py
"""

import os
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "scripts"))
import modules  # noqa: E402


def build(tree):
    """Files with what each includes."""
    for path, names in tree.items():
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(f'#include "{name}"\n' for name in names)


def figures(tree):
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        build(tree)
        found = modules.Includes()
        result = (modules.circles(found.graph(modules.unit)), modules.back_arrows(found.graph(os.path.dirname)),
                  modules.larger_than(2, *modules.TREES))
        os.chdir(ROOT)
    return result


def checks():
    plain = {"src/base/a.h": [], "src/run/b.c": ["b.h", "base/a.h"], "src/run/b.h": ["base/a.h"]}
    yield "a tree without faults has none", figures(plain) == ([], [], [])

    pair = {"src/run/a.c": ["run/b.h"], "src/run/a.h": [], "src/run/b.c": ["run/a.h"], "src/run/b.h": []}
    circles, back, large = figures(pair)
    yield "two units of a module are a circle", circles == [["src/run/a", "src/run/b"]] and back == []
    yield "four files are more than two", large == [("src/run", 4)]

    private = {"src/run/a.c": ["run/a_private.h"], "src/run/a_private.h": ["run/a.h"], "src/run/a.h": []}
    yield "a file and its private header are one unit", figures(private)[0] == []

    around = {"kit/a/x.h": ["kit/b/x.h"], "kit/b/x.h": ["kit/c/x.h"], "kit/c/x.h": ["kit/a/y.h"], "kit/a/y.h": []}
    circles, back, _ = figures(around)
    yield "modules in a ring run back though no file does", circles == [] and back == [
        ("kit/a", "kit/b"), ("kit/b", "kit/c"), ("kit/c", "kit/a")]

    inner = {"src/run/a.h": ["run/in/b.h"], "src/run/in/b.h": ["run/c.h"], "src/run/c.h": []}
    yield "a module within another is a module", len(figures(inner)[1]) == 2

    near = {"layers/conv/a.c": ["b.h"], "layers/conv/b.h": ["kit/m/v.h"], "kit/m/v.h": [], "src/b.h": ["layers/conv/a.c"]}
    with_arrows = figures(near)
    yield "a file's own folder goes first", with_arrows[1] == []
    yield "three files of one module and no more", with_arrows[2] == []


def main():
    results = list(checks())
    for name, is_so in results:
        print("PASS" if is_so else "FAIL", name)
    passed = sum(is_so for _, is_so in results)
    print(f"{passed} passed, {len(results) - passed} failed")
    return 0 if passed == len(results) else 1


if __name__ == "__main__":
    sys.exit(main())
