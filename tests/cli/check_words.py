# SPDX-License-Identifier: Apache-2.0
"""What scripts/check-words finds in a line, and what it lets through.

Usage: check_words.py
"""

import importlib.machinery
import importlib.util
import os
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LOADER = importlib.machinery.SourceFileLoader("check_words_script", os.path.join(ROOT, "scripts", "check-words"))
SCRIPT = importlib.util.module_from_spec(importlib.util.spec_from_loader(LOADER.name, LOADER))
LOADER.exec_module(SCRIPT)

FOUND = {
    "static size_t value_place(uint32_t value);": "place", "tn_status tn_walk_run(tn_context *context);": "walk",
    "/* The Places of all elements. */": "Places", "enum { MOST_WAYS = 4 };": "WAYS", "three ways to compute it": "ways",
    "for (int turn = 0; turn < 4; turn++)": "turn", "a room of src/": "room", "a layer of a stranger's": "stranger",
    "the library brings a device": "brings", "memory that lives as long as the graph": "lives as long",
}
PASSED = ("it is computed in place", "bool is_in_place;", "within a few units in the last place", "there is room for four items",
          "no way to know", "the other way round", "for where, folders, names in os.walk(tree):", "replacement, always, broom, sidewalks",
          "const tn_import_place *place", "each in turn", "two threads take turns")


def find(line):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "line.c")
        with open(path, "w", encoding="utf-8") as file:
            file.write(line + "\n")
        return list(SCRIPT.findings(path))


def checks():
    for line, word in FOUND.items():
        found = find(line)
        yield f"finds '{word}'", len(found) == 1 and f":1: '{word}': " in found[0]
    for line in PASSED:
        yield f"lets through: {line}", find(line) == []


def main():
    results = list(checks())
    for name, is_so in results:
        print("PASS" if is_so else "FAIL", name)
    passed = sum(is_so for _, is_so in results)
    print(f"{passed} passed, {len(results) - passed} failed")
    return 0 if passed == len(results) else 1


if __name__ == "__main__":
    sys.exit(main())
