# SPDX-License-Identifier: Apache-2.0
"""The tests of the Python package, with every warning an error.

Usage: run.py FOLDER [NAME...]: the folder that has the package (build/python), or `installed`; names of tests, as unittest has
them, or of a folder here whose tests need what others do not (pytorch).
"""

import os
import sys
import unittest


def main():
    folder, names = os.path.abspath(sys.argv[1]), sys.argv[2:]
    is_installed = sys.argv[1] == "installed"
    if not is_installed and not os.path.exists(os.path.join(folder, "tenon", "_engine.abi3.so")):
        print("SKIP python: the package was not built: Python's headers (Debian: python3-dev) were not there at configuration")
        print("0 passed, 0 failed, 1 skipped")
        return 0
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:0] = [here] if is_installed else [folder, here]
    loader = unittest.defaultTestLoader
    folders = [os.path.join(here, name) for name in names if os.path.isdir(os.path.join(here, name))]
    if folders:
        tests = unittest.TestSuite(loader.discover(each, top_level_dir=each) for each in folders)
    else:
        tests = loader.loadTestsFromNames(names) if names else loader.discover(here)
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2, warnings="error").run(tests)
    for test, reason in result.skipped:
        print(f"SKIP {test}: {reason}")
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    print(f"{result.testsRun - failed - len(result.skipped)} passed, {failed} failed, {len(result.skipped)} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
