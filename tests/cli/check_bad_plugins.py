# SPDX-License-Identifier: Apache-2.0
"""The corpus of bad plugins: `tenon plugin check` refuses each by the right rule, and accuses none of the sound ones.

Usage: check_bad_plugins.py TENON FOLDER [--write] [--whole] [LIBRARY...]

FOLDER holds the libraries that tests/bad_plugins makes; LIBRARY... are sound ones beside them (the examples). The table in
docs/conformance.md must say what was found; --write puts it there. A bad plugin is checked until the rules that must name
it have; --whole goes on to the end of each. Many wait, for a time limit or for a thread, so more run than there are processors.
"""

import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = os.path.join(ROOT, "docs", "conformance.md")
LIMIT, SOUND_LIMIT = "2", "10"  # seconds a test; sound ones take longer where other tests run beside them


def read_mistakes():
    """(base, name, the rules that must name it, words) of each."""
    with open(os.path.join(ROOT, "tests", "bad_plugins", "mistakes.txt"), encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                base, name, rules, words = line.rstrip("\n").split(" ", 3)
                yield base, name, rules.split(","), words


JSON_TYPES = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool}


def schema_errors(schema, value, where="the document"):
    """What the part of JSON Schema that ours is written in has against the value."""
    if "type" in schema and not isinstance(value, JSON_TYPES[schema["type"]]):
        yield f"{where} is no {schema['type']}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where} is none of {schema['enum']}"
    if "pattern" in schema and not re.search(schema["pattern"], value):
        yield f"{where} is not like {schema['pattern']}"
    if value < schema["minimum"] if "minimum" in schema else False:
        yield f"{where} is below {schema['minimum']}"
    for name in schema.get("required", []):
        if name not in value:
            yield f"{where} has no '{name}'"
    for name, part in schema.get("properties", {}).items():
        if name in value:
            yield from schema_errors(part, value[name], f"{where}.{name}")
    for index, item in enumerate(value if "items" in schema else []):
        yield from schema_errors(schema["items"], item, f"{where}[{index}]")


class Checker:
    def __init__(self, tenon, folder, scratch, is_whole):
        self.tenon, self.folder, self.scratch, self.is_whole = tenon, folder, scratch, is_whole
        self.schema_errors = []
        with open(os.path.join(ROOT, "docs", "check.schema.json"), encoding="utf-8") as file:
            self.schema = json.load(file)

    def check(self, library, *options, limit=LIMIT):
        """Exit status, the results, what was said."""
        path = os.path.join(self.scratch, os.path.basename(library) + ".json")
        done = subprocess.run([self.tenon, "plugin", "check", library, "--time-limit", limit, "--json", path, *options],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=200, cwd=self.scratch)
        if not os.path.exists(path):
            return done.returncode, None, done.stdout + done.stderr
        with open(path, encoding="utf-8") as file:
            results = json.load(file)
        self.schema_errors.extend(schema_errors(self.schema, results, os.path.basename(path)))
        return done.returncode, results, done.stdout + done.stderr

    def check_sound(self, library):
        code, results, said = self.check(library, limit=SOUND_LIMIT)
        failed = [it for it in results["results"] if it["outcome"] == "failed"] if results else []
        why = "; ".join(f"{it['rule']} ({it['kernel']}, {it['case']}): {it['why']}" for it in failed[:3])
        is_good = code == 0 and results and not failed and results["passed"] > 0
        return is_good, f"{os.path.basename(library)} is not accused" + ("" if is_good else f": exit {code}: {why or said}"), None

    def check_bad(self, mistake):
        """What needs two threads at one moment has three attempts: other programs may have the processors."""
        for _ in range(3 if {"contexts", "threads"} & set(mistake[2]) else 1):
            verdict = self.check_bad_once(mistake)
            if verdict[0]:
                break
        return verdict

    def check_bad_once(self, mistake):
        _, name, rules, _ = mistake
        until = [] if self.is_whole else ["--until", ",".join(rules)]
        code, results, said = self.check(os.path.join(self.folder, f"libbad_{name}.so"), *until)
        failed = [it for it in results["results"] if it["outcome"] == "failed"] if results else []
        found = sorted({it["rule"] for it in failed})
        is_good = code == 1 and set(rules) <= set(found)
        text = f"{name} is refused by {', '.join(found) or 'nothing'}"
        return is_good, text + ("" if is_good else f", expected {' and '.join(rules)}: exit {code}: {said[:300]}"), failed


def describe(mistakes, found):
    """The table for the page: each mistake, the rules that name it, and the tests that met them."""
    lines = ["| the mistake | in a layer like | rule |", "|-|-|-|"]
    for base, name, rules, words in mistakes:
        named = [rule for rule in rules if any(it["rule"] == rule for it in found[name])]
        lines.append(f"| {words} (`{name}`) | {base.replace('_', ' ')} | {', '.join(f'`{rule}`' for rule in named) or '**none**'} |")
    caught = sum(all(any(it["rule"] == rule for it in found[name]) for rule in rules) for _, name, rules, _ in mistakes)
    lines += ["", f"Caught: {caught} of {len(mistakes)}."]
    return lines


def between(text, name, lines):
    """The page with what stands between the markers replaced."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.S)
    if not pattern.search(text):
        raise SystemExit(f"{PAGE} has no markers '{begin}' and '{end}'")
    return pattern.sub(lambda _: begin + "\n" + "\n".join(lines) + "\n" + end, text)


def rules_table(tenon):
    done = subprocess.run([tenon, "plugin", "check", "--rules"], capture_output=True, text=True, check=True)
    rules = [line.split("\t", 1) for line in done.stdout.splitlines()]
    return [rule for rule, _ in rules], ["| rule | what it asks |", "|-|-|"] + [f"| `{rule}` | {words} |" for rule, words in rules]


def check_page(tenon, mistakes, found, is_written):
    rules, rules_lines = rules_table(tenon)
    with open(PAGE, encoding="utf-8") as file:
        text = file.read()
    wanted = between(between(text, "rules", rules_lines), "mistakes", describe(mistakes, found))
    if is_written and wanted != text:
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(wanted)
    known = {rule for _, _, named, _ in mistakes for rule in named}
    yield is_written or wanted == text, "docs/conformance.md says what was found (--write mends it)"
    # A device's rule is broken by tests/device on the stub device.
    unbroken = set(rules) - {"device-cases"} - known - {it[name] for failed in found.values() for it in failed for name in ("rule", "test")}
    yield not unbroken, f"every rule is broken by a plugin {sorted(unbroken) or ''}"
    yield not known - set(rules), f"every rule that is named is there {sorted(known - set(rules)) or ''}"


def results_like():
    texts = ("rule", "test", "operator", "kernel", "combination", "case", "why")
    return {"number": 1, "outcome": "passed", "seconds": 0.5, "constants": False, **{name: "x" for name in texts}}


def main():
    options = {"--write", "--whole"} & set(sys.argv[1:])
    arguments = [os.path.abspath(argument) for argument in sys.argv[1:] if argument not in options]
    tenon, folder, others = os.path.abspath(arguments[0]), arguments[1], arguments[2:]
    mistakes = list(read_mistakes())
    sound = [os.path.join(folder, f"libsound_{base}.so") for base in sorted({mistake[0] for mistake in mistakes})] + others
    verdicts, found, start = [], {}, time.time()
    with tempfile.TemporaryDirectory(prefix="tenon-bad-plugins.") as scratch, ThreadPoolExecutor(2 * (os.cpu_count() or 1)) as pool:
        checker = Checker(tenon, folder, scratch, "--whole" in options)
        for is_good, text, _ in pool.map(checker.check_sound, sound):
            verdicts.append((is_good, text))
        for mistake, (is_good, text, failed) in zip(mistakes, pool.map(checker.check_bad, mistakes)):
            verdicts.append((is_good, text))
            found[mistake[1]] = failed
    for path in glob.glob("/tmp/tenon-bad-plugin.*") + glob.glob("/tmp/tenon-lend.??????"):  # what mistakes about files leave
        os.remove(path)
    broken = {**results_like(), "outcome": "lost"}, {**results_like(), "rule": 7}, {"number": 1}
    verdicts.append((not checker.schema_errors, f"all results keep to docs/check.schema.json {checker.schema_errors[:3] or ''}"))
    verdicts.append((all(list(schema_errors(checker.schema["properties"]["results"]["items"], it)) for it in broken),
                     "which refuses others"))
    verdicts.extend(check_page(tenon, mistakes, found, "--write" in options))
    for is_good, text in verdicts:
        print("PASS" if is_good else "FAIL", text)
    failed = sum(not is_good for is_good, _ in verdicts)
    print(f"{len(verdicts) - failed} passed, {failed} failed, {time.time() - start:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
