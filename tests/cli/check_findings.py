# SPDX-License-Identifier: Apache-2.0
"""What `tenon plugin check` says: of failures where and why, of skipped rules why, of options that select nothing what there is.

Usage: check_findings.py TENON FOLDER, the folder of the libraries that tests/bad_plugins makes.
"""

import json
import os
import re
import subprocess
import sys
import tempfile

from checks import ProgramChecks

CAUSES = ["load", "contract", "crash", "memory", "unwritten", "values", "other"]


class Checks(ProgramChecks):
    def check(self, name, *options):
        path = os.path.join(self.folder, f"lib{name}.so")
        done = subprocess.run([self.tenon, "plugin", "check", path, *options], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=200)
        return done.returncode, done.stdout, done.stderr

    def finds(self, text, name, pattern, *options):
        code, said, error = self.check(name, *options)
        is_good = code == 1 and re.search(pattern, said, re.S) is not None
        self.say(is_good, text + ("" if is_good else f": exit {code}: {said[:500]}{error}"))

    def refuses(self, text, code, words, *options):
        found, said, error = self.check("sound_elementwise", *options)
        self.say(found == code and words in error and "passed" not in said, f"{text}: {error.strip()}")


def failures(checks):
    checks.finds("an abort names the callback", "bad_aborts", r"kernel plain, f32 -> f32: in run: the process was aborted",
                 "--rule", "matches-reference")
    checks.finds("an assertion's text is shown", "bad_reshape_asserts",
                 r"in reshape: [^\n]*aborted[^\n]*Assertion `[^\n]*more than one row", "--rule", "other-shapes")
    checks.finds("and the shape that failed", "bad_reshape_asserts", r"case: \| x=f32\[1,5\]", "--rule", "other-shapes")
    checks.finds("an exception's text is shown", "bad_run_throws",
                 r"in run: [^\n]*runtime_error[^\n]*nothing to halve[^\n]*\n +case: \| x=f32\[0,5\]", "--rule", "other-shapes")
    checks.finds("what the C library says is shown", "bad_close_frees_twice", r"in close: [^\n]*double free", "--rule",
                 "matches-reference")
    checks.finds("a hang names the callback and the shape", "bad_hangs",
                 r"time-limit: [^\n]*in run: not done after 0.5 seconds\n +case: [^\n]*\| x=f32\[1?\]", "--rule", "other-shapes",
                 "--time-limit", "0.5")
    checks.finds("a crash in a callback of the engine's is named", "bad_impure_rule", r"shape-rule", "--rule", "shape-rule")
    checks.finds("a wrong result has the shape that failed", "bad_refuses_one", r"case: [^\n]*\| x=f32\[1?\]", "--rule",
                 "other-shapes")
    checks.finds("an unwritten element is named", "bad_one_row_of_indices",
                 r"FAIL writes-all: [^\n]*output 1, element 1 was not written", "--rule", "matches-reference")
    checks.finds("what load changes is named", "bad_load_changes_folder",
                 r"FAIL environment: the library: loading the library changes the process' folder to /")
    checks.finds("a lock that is taken twice is named at once", "bad_run_locks_twice",
                 r"time-limit: [^\n]*in run, in pthread_mutex_lock of a lock that this thread has taken itself: waits for a lock",
                 "--rule", "matches-reference", "--time-limit", "100")
    checks.finds("a wait without an end is known at once", "bad_run_waits_for_nobody",
                 r"time-limit: [^\n]*in run: waits for a lock or a condition that nobody gives[^\n]*\n +case: [^\n]*x=f32\[3,5\]",
                 "--rule", "matches-reference", "--time-limit", "100")
    checks.finds("so is a flag that nobody clears", "bad_run_keeps_flag",
                 r"time-limit: [^\n]*in run: repeats the same \d+ instructions", "--rule", "matches-reference", "--time-limit", "100")
    checks.finds("a worker that is left changed is told apart", "bad_range_flushes",
                 r"environment: [^\n]*run leaves a worker thread of parallel_for with another treatment of subnormal numbers",
                 "--rule", "threads")
    checks.finds("a lock that is kept is named", "bad_run_keeps_lock", r"environment: [^\n]*lock that it holds \(pthread_mutex_lock\)",
                 "--rule", "matches-reference")
    checks.finds("a file is named with its callback", "bad_run_writes_log",
                 r"leaks: [^\n]*run leaves a file behind: /tmp/tenon-bad-plugin.log, written in run", "--rule", "matches-reference")
    checks.finds("what unload leaves is named", "bad_unload_forgets_thread", r"a thread that was started in load is left",
                 "--rule", "unload")


def drawn(checks):
    checks.finds("a failure on drawn values has the seed and small shapes", "bad_wide_through_int",
                 r"on wide values \(seed 1\): [^\n]*\n +case: \| a=i64\[([1-5]),([1-6])\] b=i64\[\1,\2\]", "--rule",
                 "matches-reference")
    checks.finds("a wrong broadcast is shown where it is smallest", "bad_broadcasts_last_axis",
                 r"case: \| a=f32\[[1-3],[1-3],[1-3]\] b=f32\[[1-3],1,1\]", "--rule", "other-shapes")
    checks.finds("a chain is as short as it can be", "bad_activation_last", r"with relu and \w+ \(seed 1\)", "--rule", "absorbs")
    checks.finds("the command that repeats a failure has the seed", "bad_two_steps_alone",
                 r"with \w+, \w+ and \w+ \(seed 7\)[^\n]*\n[^\n]*\n +again: \S+ plugin check \S+ --seed 7 --effort 3 --only \d+",
                 "--rule", "absorbs", "--seed", "7", "--effort", "3")
    said = [checks.check("bad_two_steps_alone", "--rule", "absorbs", "--seed", seed)[1] for seed in ("3", "3", "4")]
    checks.say(said[0] == said[1] != said[2], "a seed draws the same every time, another one others")
    for option, text in ("--seed", "x"), ("--seed", "-1"), ("--effort", "0"), ("--effort", "1.5"):
        checks.refuses(f"{option} {text}", 2, f"option {option}: '{text}' is no number", option, text)


def order(checks, folder):
    _, said, _ = checks.check("bad_one_too_many", "--json", "-")
    results = {it["rule"]: it["cause"] for it in json.loads(said)["results"] if it["outcome"] == "failed"}
    checks.say(results["writes-inside"] == "memory", "a failure in the JSON has its cause")
    for name in "bad_run_grows", "bad_no_rank", "bad_adds_to_output":
        written = os.path.join(folder, f"{name}.json")  # of the same check: where a mistake writes differs from one to the next
        _, said, _ = checks.check(name, "--json", written)
        with open(written, encoding="utf-8") as file:
            causes = {it["rule"]: CAUSES.index(it["cause"]) for it in json.load(file)["results"] if it["outcome"] == "failed"}
        shown = re.findall(r"^FAIL (\S+): ", said, re.M)
        checks.say(len(shown) > 0 and [causes[rule] for rule in shown] == sorted(causes[rule] for rule in shown),
                   f"causes stand before what follows from them: {' '.join(shown)}")
        subjects = re.findall(r"^FAIL (\S+: [^:]+(?:::\w+)?(?:, kernel \w+)?)", said, re.M)
        checks.say(len(set(subjects)) == len(subjects) > 0, f"each once for an operator or a kernel: {len(subjects)}")


def until(checks):
    """What is waited for is tried first and ends the check; what is not found lets it go on. Numbers stay."""
    def numbers(*options):
        _, said, _ = checks.check("bad_one_too_many", *options, "--json", "-")
        results = json.loads(said)["results"]
        return [it["number"] for it in results], [it["rule"] for it in results if it["outcome"] == "failed"]
    whole, broken = numbers()
    some, found = numbers("--until", broken[0])
    checks.say(found[-1] == broken[0] and set(some) < set(whole), "--until ends at what it waits for")
    some, found = numbers("--until", f"{broken[0]},device-cases")
    checks.say((sorted(some), sorted(found)) == (sorted(whole), sorted(broken)), "and without it tries all")
    checks.refuses("a rule that there is not, to wait for", 2, "there is no rule 'pakced' (tenon plugin check --rules); the nearest is 'packed'",
                   "--until", "crash,pakced")


def skipped(checks):
    _, said, _ = checks.check("sound_elementwise", "--json", "-")
    results = json.loads(said)["results"]
    silent = {it["rule"] for it in results if it["outcome"] == "skipped" and not it["why"]}
    checks.say(any(it["outcome"] == "skipped" for it in results) and not silent, f"a skipped rule says why {sorted(silent) or ''}")
    _, said, _ = checks.check("sound_elementwise")
    checks.say("1, the kernel absorbs nothing: absorbs" in said, "in the text, too")


def selection(checks):
    checks.refuses("a rule that there is not", 2, "there is no rule 'nosuch'", "--rule", "nosuch")
    checks.refuses("the nearest rule", 2, "the nearest is 'leaks'", "--rule", "leek")
    checks.refuses("a rule that others find", 2, "rule 'crash' has no tests of its own", "--rule", "crash")
    checks.refuses("an operator that there is not", 1, "it has Ramp", "--operator", "NoSuch")
    checks.refuses("the nearest operator", 1, "the nearest is 'Ramp'", "--operator", "Rump")
    checks.refuses("a test that there is not", 1, "there is no test 99999: the last one is", "--only", "99999")
    checks.refuses("a rule without a test", 1, "rule 'device-cases' has no test in this library", "--rule", "device-cases")
    checks.refuses("a rule of several", 2, "there is no rule 'nosuch'", "--rule", "leaks,nosuch")
    _, said, _ = checks.check("sound_elementwise", "--rule", "has-cases,leaks", "--json", "-")
    tried = {it["test"] for it in json.loads(said)["results"]} - {"library-loads"}
    checks.say(tried == {"has-cases", "leaks"}, f"several rules: {' '.join(sorted(tried))}")
    code, said, _ = checks.check("sound_elementwise", "--operator", "Bad::Ramp", "--rule", "has-cases")
    checks.say(code == 0 and "2 passed" in said, "an operator by its whole name")


def main():
    checks = Checks(os.path.abspath(sys.argv[1]), sys.argv[2])
    failures(checks)
    drawn(checks)
    with tempfile.TemporaryDirectory() as folder:
        order(checks, folder)
    until(checks)
    skipped(checks)
    selection(checks)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
