# SPDX-License-Identifier: Apache-2.0
"""Runs the onnx package's backend tests, unchanged, on tenon.backend: check_backend.py [--part N] [-v] (with the package on PYTHONPATH).

A case of tier 1 or ml must pass, one of tiers 2 and 3 if passed.txt names it, as by `tenon test`; of the others (sequences, optionals,
maps) each passes or is refused by a tenon.Error, and those with random outputs have no right result. --part N runs each Nth case. Two
processes share the cases.
"""

import argparse
import collections
import contextlib
import functools
import importlib.util
import io
import multiprocessing
import sys
import unittest
import warnings

import onnx

import check
import export
import tiers

PROCESSES = 2
KINDS = {"Node": "node", "Simple": "simple", "PyTorchConverted": "pytorch-converted", "PyTorchOperator": "pytorch-operator",
         "Real": "real"}
CASES = []  # as cases() makes them; the processes that are forked have them, too


def cases(part):
    """The backend tests of the processor: (KIND/NAME, test, the case that it was made of)."""
    from onnx.backend.test import BackendTest, runner

    import tenon.backend
    runner.load_model_tests = functools.cache(runner.load_model_tests)  # making the node tests takes seconds
    suite = BackendTest(tenon.backend, __name__)
    found = []
    for category, tests in sorted(suite.test_cases.items()):
        kind = KINDS[category.removeprefix("OnnxBackend").removesuffix("ModelTest")]
        made_of = {case.name: case for case in runner.load_model_tests(kind=kind)}
        for name in unittest.defaultTestLoader.getTestCaseNames(tests):
            if name.endswith("_cpu"):
                case = name.removesuffix("_cpu")
                found.append((f"{kind}/{case}", tests(name), made_of[case]))
    return found[::part]


def tier_of(case):
    facts = tiers.Facts(onnx.ModelProto.FromString(export.model_bytes(case)))
    if tiers.has_random_output(case.name) or any(op in tiers.RANDOM for _, op in facts.operators):
        return "random"
    if tiers.is_core(case.name, facts):
        return tiers.tier(facts)
    return "ml" if tiers.is_ml(case.name, facts) else "other"


def run_case(test):
    """"passed", "refused" or "failed", and what was said."""
    import tenon
    result = unittest.TestResult()
    said = []

    def note(_, error):
        said.append(error)
    result.addError = result.addFailure = note
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        test.run(result)
    if result.skipped:
        return "skipped", result.skipped[0][1]
    if not said:
        return "passed", ""
    kind, error, _ = said[0]
    text = " ".join(str(error).split())[:300]
    if kind is TypeError and text.startswith("Unable to compare expected type"):
        return "skipped", "the package's runner asks for the length of a list's items, which scalars have not; tenon test compares them"
    return ("refused" if issubclass(kind, tenon.Error) else "failed"), f"{kind.__name__}: {text}"


def run_share(share, answer):
    answer.send([(name, tier_of(case), *run_case(test)) for name, test, case in CASES[share::PROCESSES]])


def run_all():
    """The rows of all shares. EOFError where a process dies. By pipes alone: pools want semaphores, which not every machine lets its
    users make."""
    forks = multiprocessing.get_context("fork")  # the cases are made once
    answers = []
    for share in range(PROCESSES):
        ours, theirs = forks.Pipe(duplex=False)
        forks.Process(target=run_share, args=(share, theirs)).start()
        theirs.close()
        answers.append(ours)
    return [row for ours in answers for row in ours.recv()]


def is_right(name, tier, outcome, listed, either):
    if tier == "random":
        return True
    if tier == "other":
        return outcome in ("passed", "refused", "skipped")  # skipped: is_compatible refuses it
    if name in either:
        return True
    return (outcome == "passed") == (tier in (1, "ml") or name in listed)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--part", type=int, default=1)
    parser.add_argument("-v", "--verbose", action="store_true")
    arguments = parser.parse_args()
    if importlib.util.find_spec("tenon") is None:
        print("SKIP tenon.backend: the Python package was not built, or is not on PYTHONPATH")
        print("0 passed, 0 failed, 1 skipped")
        return 0
    CASES.extend(cases(arguments.part))
    answers = run_all()
    listed, either = check.read_list()
    counts = collections.Counter((tier, outcome) for _, tier, outcome, _ in answers)
    wrong = [row for row in answers if not is_right(*row[:3], listed, either)]
    for name, tier, outcome, why in sorted(answers if arguments.verbose else wrong):
        print(f"{'FAIL' if (name, tier, outcome, why) in wrong else outcome} {name} (tier {tier}): {outcome}: {why}")
    for tier in sorted({tier for tier, _ in counts}, key=str):
        print(f"tier {tier}: " + ", ".join(f"{counts[tier, outcome]} {outcome}" for outcome in ("passed", "refused", "failed", "skipped")))
    print(f"{len(answers) - len(wrong)} passed, {len(wrong)} failed")
    return 1 if wrong or not answers else 0


if __name__ == "__main__":
    sys.exit(main())
