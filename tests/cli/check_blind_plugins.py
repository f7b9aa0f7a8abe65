# SPDX-License-Identifier: Apache-2.0
"""`tenon plugin check` judged by a corpus that was written without knowledge of its rules' insides: plugins with one
mistake each, which it has to find and to name, and right ones, which it may not accuse.

Usage: check_blind_plugins.py TENON FOLDER [--table FILE] [--bars CAUGHT,NAMED] [--only ID ...]

FOLDER holds the libraries of the table, tests/blind_plugins/mistakes.tsv unless told, as `ninja blind_plugins` makes them. A mistake is caught
where the check fails, and named where one of its findings has a rule that the table accepts; "first" counts those where
the very first finding has. Without --bars each mistake that is not caught and each right plugin that is accused is a
failure; with --bars 95,90 the percentages of caught and named ones are what has to be reached, and none may be accused.
"""

import argparse
import concurrent.futures
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "blind_plugins", "mistakes.tsv")
LIMIT_S = 300


def read_table(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def run(command, folder):
    """Exit status, what was said to the standard error, seconds of processor time with all children that were waited for."""
    with tempfile.TemporaryFile() as said:
        child = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said)
        timer = threading.Timer(LIMIT_S, child.kill)
        timer.start()
        _, status, usage = os.wait4(child.pid, 0)
        timer.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        return child.returncode, said.read().decode(errors="replace"), usage.ru_utime + usage.ru_stime


def check(program, library):
    """What the check of one library found: the rules of its findings in their order, seconds, seconds of processor time, and
    what went wrong."""
    with tempfile.TemporaryDirectory(prefix="tenon-blind.") as folder:
        results = os.path.join(folder, "results.json")
        begin = time.monotonic()
        code, said, processor = run([program, "plugin", "check", library, "--json", results], folder)
        seconds = time.monotonic() - begin, processor
        if code not in (0, 1):
            return [], seconds, f"exit {code} after {seconds[0]:.0f} s: {said.strip()[-200:]}"
        try:
            with open(results, encoding="utf-8") as file:
                tests = json.load(file)["results"]
        except (OSError, ValueError, KeyError) as error:
            return [], seconds, f"no results: {error}"
        rules = [test["rule"] for test in tests if test["outcome"] == "failed"]
        if bool(rules) != (code == 1):
            return rules, seconds, f"exit {code} with {len(rules)} findings"
        return rules, seconds, None


def judge(row, rules, trouble):
    """What is said of a plugin, and whether that is as it should be."""
    found = ", ".join(dict.fromkeys(rules))
    if trouble:
        return "broken", f"{row['id']}: {trouble}"
    if row["cause"] == "good":
        return ("accused" if rules else "good"), f"{row['id']}: {row['what']}; accused by {found}"
    if not rules:
        return "missed", f"{row['id']} ({row['cause']}): {row['what']}; expected {row['rules']}"
    if not set(rules) & set(row["rules"].split()):
        return "misnamed", f"{row['id']} ({row['cause']}): {row['what']}; expected {row['rules']}, found {found}"
    return "named", row["id"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("folder")
    parser.add_argument("--table", default=TABLE)
    parser.add_argument("--bars", type=lambda text: [float(it) for it in text.split(",", 1)])
    parser.add_argument("--only", nargs="+", default=[])
    options = parser.parse_args()
    program, folder = os.path.abspath(options.program), os.path.abspath(options.folder)
    rows = [row for row in read_table(options.table) if not options.only or row["id"] in options.only]
    if not rows:
        parser.error("--only names no plugin of the table")
    libraries = [os.path.join(folder, row["id"] + ".so") for row in rows]
    lost = [it for it in libraries if not os.path.exists(it)]
    if lost:
        parser.error(f"{len(lost)} libraries are not built, like {lost[0]}: ninja blind_plugins")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        checked = list(pool.map(lambda it: check(program, it), libraries))

    counts = dict.fromkeys(("named", "misnamed", "missed", "good", "accused", "broken"), 0)
    first, causes = 0, {}
    for row, (rules, _, trouble) in zip(rows, checked):
        verdict, text = judge(row, rules, trouble)
        counts[verdict] += 1
        first += verdict == "named" and rules[0] in row["rules"].split()
        if row["cause"] != "good":
            caught, all_of_cause = causes.get(row["cause"], (0, 0))
            causes[row["cause"]] = (caught + (verdict in ("named", "misnamed")), all_of_cause + 1)
        if verdict in ("missed", "misnamed", "accused", "broken"):
            print(f"{verdict:8} {text}", flush=True)
    print("caught by cause:", ", ".join(f"{cause} {a} of {b}" for cause, (a, b) in causes.items()))
    bad = sum(row["cause"] != "good" for row in rows)
    caught = counts["named"] + counts["misnamed"]
    median, processor = (statistics.median(seconds[k] for _, seconds, _ in checked) for k in (0, 1))
    print(f"caught {caught} of {bad}, named {counts['named']} (first: {first}), accused {counts['accused']} of "
          f"{len(rows) - bad}, broken {counts['broken']}, median {median:.2f} s, {processor:.2f} s of processor time")
    failed = counts["accused"] + counts["broken"]
    if options.bars:
        failed += bad > 0 and caught * 100 < options.bars[0] * bad
        failed += bad > 0 and counts["named"] * 100 < options.bars[1] * bad
    else:
        failed += counts["missed"]
    print(f"{len(rows) - min(failed, len(rows))} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
