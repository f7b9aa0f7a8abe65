# SPDX-License-Identifier: Apache-2.0
"""Runs cases of tiers 2 and 3 and holds the result against passed.txt: check.py [--update] TENON FOLDER...

passed.txt names the cases that pass, one a line, as KIND/NAME. A case that is named there and does not pass has
failed, and so has one that passes and is not named, so that the list stays true: --update writes it anew. A line that
begins with '?' names a case that may do either, with the reason behind the name.
"""

import os
import re
import subprocess
import sys

LIST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "passed.txt")
HEAD = ("# Cases of tiers 2 and 3 of ONNX's backend tests that pass. Written by check.py --update; lines with '?' by hand.\n")


def read_list():
    listed, either = set(), {}
    if os.path.exists(LIST):
        with open(LIST, encoding="utf-8") as file:
            for line in file:
                words = line.split(maxsplit=2)
                if not words or words[0] == "#":
                    continue
                if words[0] == "?":
                    either[words[1]] = line
                else:
                    listed.add(words[0])
    return listed, either


def write_list(passed, either):
    with open(LIST, "w", encoding="utf-8") as file:
        file.write(HEAD)
        file.writelines(sorted(either.values()))
        file.writelines(f"{name}\n" for name in sorted(passed - either.keys()))


def run(tenon, folders):
    """The cases that passed, and what was said of each other one."""
    kinds = [os.path.join(folder, kind) for folder in folders for kind in sorted(os.listdir(folder))
             if os.path.isdir(os.path.join(folder, kind))]
    done = subprocess.run([tenon, "test", *kinds], stdout=subprocess.PIPE, text=True, check=False)
    passed, others = set(), {}
    for line in done.stdout.splitlines():
        found = re.match(r"(PASS|FAIL|UNSUPPORTED) (.*?)(?:: (.*))?$", line)
        if not found:
            continue
        name = "/".join(os.path.normpath(found[2]).split(os.sep)[-2:])
        if found[1] == "PASS":
            passed.add(name)
        else:
            others[name] = line
    return passed, others


def main():
    words = sys.argv[1:]
    update = words[:1] == ["--update"]
    if len(words) - update < 2:
        sys.exit(__doc__.splitlines()[0])
    passed, others = run(words[update], words[update + 1:])
    listed, either = read_list()
    if update:
        write_list(passed, either)
        listed = passed - either.keys()
    missing, unlisted = sorted(listed - passed), sorted(passed - listed - either.keys())
    for name in missing:
        print(f"FAIL {name}: {others.get(name, 'was not run')}")
    for name in unlisted:
        print(f"FAIL {name}: passes, but is not listed: {os.path.basename(__file__)} --update")
    wrong = sorted(name for name, line in others.items() if line.startswith("FAIL") and name not in listed | either.keys())
    for name in wrong:
        print(others[name])
    failed = len(missing) + len(unlisted) + len(wrong)
    print(f"{len(listed & passed)} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
